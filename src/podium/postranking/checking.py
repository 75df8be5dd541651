"""Check rules before they serve: unknown names, conflicts, rules without effect."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from podium.data.trec import Run
from podium.postranking.binding import unknown_field
from podium.postranking.findings import Finding
from podium.postranking.lists import Catalogue
from podium.postranking.places.placement import LIMIT
from podium.postranking.rule_index import by_fields, field_names
from podium.postranking.rule_trial import Progress, RuleTrial
from podium.postranking.rules.files import RuleFile
from podium.postranking.rules.rule import Rule, plain
from podium.postranking.settings import Settings, check_day, check_rules


def locate_finding(finding: Finding, file: RuleFile) -> tuple[int | None, str]:
    """Return the line of a finding's first rule and a sentence with the labels and lines of all of them."""
    if not finding.rules:
        return None, finding.message
    first, *others = finding.rules
    labels = [f"{file.rules[other].label} (line {file.lines[other]})" for other in others]
    together = f" and {', '.join(labels)}" if labels else ""
    return file.lines[first], f"{file.rules[first].label}{together}: {finding.message}"


def examine_rules(
    rules: Iterable[Rule],
    run: Run | None = None,
    *,
    queries: Mapping[str, str] | None = None,
    fields: Catalogue | None = None,
    today: datetime.date | None = None,
    limit: int = LIMIT,
    progress: Progress = lambda done, total: None,
) -> tuple[Finding, ...]:
    """Everything that is wrong with rules, or looks so.

    Errors: documents and fields that are unknown to `fields`, hard rules that cannot hold together on
    any list with their documents, unless one of them has the lowest priority. Warnings: hard rules of
    which one gives way, there or on a list of the run; rules that never act; soft rules that contradict
    each other; the same rule twice.

    Parameters
    ----------
    rules
        Such as `read_rules` reads.
    run, queries, fields
        The lists they are for, and what `postrank_batch` knows of queries and documents.
    today
        For rules with dates; rules that start later are tried on their first days, too.
    limit
        How far the search for an order under hard rules goes before it is undecided.
    progress
        Called with how much is done, and of how much.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK
    >>> day = datetime.date(2026, 12, 24)
    >>> examine_rules([TopK("a", 3, ends=datetime.date(2026, 11, 30))], today=day)
    (Finding(level='warning', rules=(0,), message='never acts: ended on 2026-11-30'),)
    """
    checked, day = check_rules(rules), check_day(today)
    findings = [*_ended(checked, day), *_twice(checked), *_unknown(checked, fields)]
    strangers = {
        number for finding in findings for number in finding.rules if finding.level == "error"
    }
    settings = Settings(missing="report", limit=limit)
    trial = RuleTrial(checked, settings, progress)
    trial.run_over(_days(checked, day), run, queries, fields, strangers)
    return tuple(findings + trial.findings())


def _ended(rules: Sequence[Rule], day: datetime.date) -> Iterator[Finding]:
    for number, rule in enumerate(rules):
        if rule.ends is not None and rule.ends < day:
            yield Finding("warning", (number,), f"never acts: ended on {rule.ends}")
        elif not rule.hard and rule.weight == 0:
            yield Finding("warning", (number,), "never acts: its weight is 0")


def _twice(rules: Sequence[Rule]) -> Iterator[Finding]:
    first: dict[Rule, int] = {}
    for number, rule in enumerate(rules):
        bare = replace(rule, name="", query=None if rule.query is None else plain(rule.query))
        if first.setdefault(bare, number) != number:
            yield Finding("warning", (number, first[bare]), "say the same")


def _unknown(rules: Sequence[Rule], fields: Catalogue | None) -> Iterator[Finding]:
    """Documents and fields that the catalogue does not have."""
    if fields is None:
        for number, rule in enumerate(rules):
            if by_fields(rule):
                yield Finding(
                    "warning",
                    (number,),
                    "chooses by fields, and no fields are given to check it by",
                )
        return
    names = {name for values in fields.values() for name in values}
    for number, rule in enumerate(rules):
        strangers = [doc for doc in rule.named if doc not in fields]
        if strangers:
            listed = ", ".join(map(repr, strangers[:3])) + (", ..." if len(strangers) > 3 else "")
            yield Finding("error", (number,), f"names unknown documents: {listed}")
        for name in field_names(rule):
            if name not in names:
                text = str(unknown_field(name, names, rule.selectors))
                yield Finding("error", (number,), text)


def _days(rules: Sequence[Rule], day: datetime.date) -> list[datetime.date]:
    """Today, and the days on which more rules start."""
    later = {rule.starts for rule in rules if rule.starts is not None and rule.starts > day}
    return [day, *sorted(later)]
