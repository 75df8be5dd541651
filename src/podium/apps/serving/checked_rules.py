"""The rule file of the service: checked when it is read, with warnings about what it will not do."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from podium.apps.serving.samples import Samples
from podium.errors import DataError, PodiumError
from podium.postranking import Finding, examine_rules
from podium.postranking.list_input import Catalogue
from podium.postranking.rule_check import locate_finding, uncovered_documents, unknown_findings
from podium.postranking.rule_index import field_names, selects_by_field
from podium.postranking.rules.files import RuleFile, parse_rule_file, read_rule_file
from podium.postranking.settings import DEFAULT_CLASSES
from podium.rule_history.live_rules import live_rules
from podium.rule_history.rule_folder import RuleFolder

MAX_HARD_WARNINGS = 10
"""The most hard rules with unknown fields or documents that have a line of their own."""


class CheckedRules(NamedTuple):
    """The rules of a file, and the hard rules that clash, if one of them gives way."""

    file: RuleFile
    conflicts: tuple[Finding, ...]
    name: str
    notes: tuple[str, ...] = ()
    """Why drafts that are scheduled for now are not served."""

    def warnings(self, fields: Catalogue | None, samples: Samples) -> tuple[str, ...]:
        """Return lines on hard rules that name what --docs lacks, on other findings, and on unseen fields."""
        unknown = [] if fields is None else [*unknown_findings(self.file.rules, fields)]
        unseen = self._unseen_fields(samples) if fields is None else ()
        is_hard = [any(self.file.rules[n].hard for n in finding.rules) for finding in unknown]
        hard = [finding for finding, hard in zip(unknown, is_hard, strict=True) if hard]
        soft = [finding for finding, hard in zip(unknown, is_hard, strict=True) if not hard]
        lines = [self._line(finding) for finding in hard[:MAX_HARD_WARNINGS]]
        lines += [self._first([*self.conflicts, *hard[MAX_HARD_WARNINGS:], *soft])]
        lines += [self._first([*unseen])]
        if fields is not None:
            lines.append(self._uncovered(fields, samples))
        return tuple(filter(None, [*self.notes, *lines]))

    def _first(self, findings: Sequence[Finding]) -> str:
        """Return one line on the first finding, and how many there are."""
        if not findings:
            return ""
        others = len(findings) - 1
        return self._line(findings[0]) + f"; `podium rules check` lists {others} more" * (
            others > 0
        )

    def _line(self, finding: Finding) -> str:
        line, message = locate_finding(finding, self.file)
        return f"{self.name}:{line}: {message}"

    def _unseen_fields(self, samples: Samples) -> Iterator[Finding]:
        """Yield rules on fields that no file has: they act only on requests that bring these fields."""
        names = samples.field_names
        where = "there is no --docs" if samples.is_demo else "neither --docs nor --samples has it"
        for number, rule in enumerate(self.file.rules):
            unseen = [name for name in field_names(rule) if name not in names]
            if unseen:
                message = (
                    f"uses the field {unseen[0]!r}, and {where}; the rule does nothing unless requests have "
                    f'it in the "fields" of documents (a feature is not a field), or --docs FILE has it'
                )
                yield Finding("warning", (number,), message)

    def _uncovered(self, fields: Catalogue, samples: Samples) -> str:
        """Return how many documents of the samples --docs lacks, if rules select by fields."""
        if samples.is_demo or not any(map(selects_by_field, self.file.rules)):
            return ""
        return uncovered_documents(samples.document_ids, fields, "--samples", "--docs")


def read_served_rules(path: str, classes: Sequence[str] = DEFAULT_CLASSES) -> CheckedRules:
    """Read a rule file, or what a folder of versions serves now; raises as `check_served_rules` does."""
    if not os.path.isdir(path):
        return check_served_rules(read_rule_file(path), path, classes)
    now = datetime.datetime.now(datetime.UTC)
    folder = RuleFolder(path)
    live = live_rules(folder, now)
    name = os.path.join(path, live.name)
    try:
        checked = check_served_rules(parse_rule_file(live.text, name, folder=path), name, classes)
    except PodiumError as error:
        if not live.drafts:
            raise
        newest = parse_rule_file(folder.newest().text, name, folder=path)
        reason = f"the drafts {', '.join(live.drafts)} are not served: {error}"
        return check_served_rules(newest, name, classes)._replace(notes=(*live.reasons, reason))
    return checked._replace(notes=live.reasons)


def check_served_rules(
    file: RuleFile, path: str, classes: Sequence[str] = DEFAULT_CLASSES
) -> CheckedRules:
    """Return checked rules; raise if hard rules can never hold together and priorities do not decide."""
    if file.errors:
        raise file.errors[0]
    conflicts = _hard_rule_conflicts(file, classes)
    for conflict in conflicts:
        if conflict.level == "error":
            line, message = locate_finding(conflict, file)
            advice = (
                "`podium rules check` finds every conflict; change or remove one of the rules, or give "
                "one a lower priority"
            )
            raise DataError(
                f"expected hard rules that can hold together, got {message}; {advice}",
                path=path,
                line=line,
            )
    return CheckedRules(file, tuple(conflicts), Path(path).name)


def _hard_rule_conflicts(file: RuleFile, classes: Sequence[str]) -> list[Finding]:
    """Find the hard rules of a file that cannot hold together on any list with their documents."""
    hard = [number for number, rule in enumerate(file.rules) if rule.hard]
    findings = examine_rules([file.rules[number] for number in hard], classes=classes)
    return [
        replace(finding, rules=tuple(hard[number] for number in finding.rules))
        for finding in findings
        if finding.level == "error" or finding.message.startswith("cannot hold")
    ]
