"""The check of rules before they are used: unknown names, conflicts, rules without effect."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from podium.data.trec import Run
from podium.errors import UnknownNameError
from podium.postranking.binding import FieldTypes, type_notes
from podium.postranking.hidden_pins import hidden_findings
from podium.postranking.list_input import Catalogue
from podium.postranking.listing import unknown_field
from podium.postranking.places.placement import SEARCH_LIMIT
from podium.postranking.rule_index import field_names, selects_by_field
from podium.postranking.rule_trial import Finding, RuleTrial, TrialProgress
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.rules.files import RuleFile
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import DEFAULT_CLASSES, Settings, check_day, check_rules
from podium.typing import Document


def locate_finding(finding: Finding, file: RuleFile) -> tuple[int | None, str]:
    """Return the line of a finding's first rule, and a sentence with labels and lines of all its rules."""
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
    classes: Sequence[str] = DEFAULT_CLASSES,
    limit: int = SEARCH_LIMIT,
    progress: TrialProgress = lambda done, total: None,
) -> tuple[Finding, ...]:
    """Return everything in rules that is wrong or looks wrong.

    Errors are documents and fields that `fields` does not have, and hard rules that contradict each
    other on every list with their documents, unless one of them has the lowest priority. Warnings are hard
    rules of which one gives way, rules that never act, soft rules that contradict each other, equal rules,
    fields that are compared with another type than they have, and pinned documents that another rule hides.
    Notes name pinned documents that another rule hides once their fields change, such as a stock.

    Parameters
    ----------
    rules
        The rules, as `read_rules` returns them.
    run, queries, fields
        The lists for which the rules are meant, with queries and fields as in `postrank_batch`.
    today
        The day for rules with dates; rules that start later are also tried on their first days.
    classes
        The classes of rules, the strongest first; a rule of another class is an error.
    limit
        The maximum number of steps of the search for an order under hard rules.
    progress
        Called with the number of finished lists and queries, and with the total.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK
    >>> day = datetime.date(2026, 12, 24)
    >>> examine_rules([TopK("a", 3, ends=datetime.date(2026, 11, 30))], today=day)
    (Finding(level='warning', rules=(0,), message='never acts: ended on 2026-11-30'),)
    """
    checked, day = check_rules(rules), check_day(today)
    findings = [
        *_ended_findings(checked, day),
        *_class_findings(checked, classes),
        *_repeated_findings(checked),
        *unknown_findings(checked, fields),
    ]
    wrong_rules = {
        number for finding in findings for number in finding.rules if finding.level == "error"
    }
    settings = Settings(missing="report", limit=limit, classes=tuple(classes))
    trial = RuleTrial(checked, settings, progress)
    days = _days(checked, day)
    trial.run_over(days, run, queries, fields, wrong_rules)
    conflicts = {tuple(sorted(numbers)) for numbers, _ in trial.conflicts}
    hidden = [*hidden_findings(checked, fields, days, conflicts, classes)]
    notes = [finding for finding in hidden if finding.level == "note"]
    findings += [finding for finding in hidden if finding.level != "note"]
    return tuple(findings + trial.findings() + notes)


def _ended_findings(rules: Sequence[Rule], day: datetime.date) -> Iterator[Finding]:
    for number, rule in enumerate(rules):
        if rule.ends is not None and rule.ends < day:
            yield Finding("warning", (number,), f"never acts: ended on {rule.ends}")
        elif not rule.hard and rule.weight == 0:
            yield Finding("warning", (number,), "never acts: its weight is 0")


def _class_findings(rules: Sequence[Rule], classes: Sequence[str]) -> Iterator[Finding]:
    for number, rule in enumerate(rules):
        if rule.class_ and rule.class_ not in classes:
            problem = UnknownNameError("class of rules", rule.class_, classes)
            yield Finding("error", (number,), f"{problem}; without one of these it is the weakest")


def _repeated_findings(rules: Sequence[Rule]) -> Iterator[Finding]:
    first: dict[Rule, int] = {}
    for number, rule in enumerate(rules):
        bare = replace(
            rule, name="", query=None if rule.query is None else normalise_query(rule.query)
        )
        if first.setdefault(bare, number) != number:
            yield Finding("warning", (number, first[bare]), "say the same")


def unknown_findings(rules: Sequence[Rule], fields: Catalogue | None) -> Iterator[Finding]:
    """Yield findings on documents and fields that the catalogue lacks, or has in another type."""
    if fields is None:
        for number, rule in enumerate(rules):
            if selects_by_field(rule):
                yield Finding(
                    "warning",
                    (number,),
                    "selects by fields, but no fields are given",
                )
        return
    names, types = (
        {name for values in fields.values() for name in values},
        FieldTypes(fields.values()),
    )
    for number, rule in enumerate(rules):
        unknown = [doc for doc in rule.named_docs if doc not in fields]
        if unknown:
            listed = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
            yield Finding("error", (number,), f"names unknown documents: {listed}")
        for name in field_names(rule):
            if name not in names:
                problem = unknown_field(name, names, rule.selectors)
                yield Finding("error", (number,), f"the rule does nothing: {problem}")
        for note in type_notes(rule, types):
            yield Finding("warning", (number,), note)


def uncovered_documents(
    docs: Iterable[Document], fields: Catalogue, source: str, catalogue: str
) -> str:
    """Return how many documents of a source have no entry in a catalogue; empty if all have one.

    Examples
    --------
    >>> uncovered_documents(["a", "b", "c"], {"a": {"stock": 0}}, "test.run", "shop.csv")
    "2 of 3 documents of test.run are not in shop.csv, such as 'b'; rules on fields do not see them"
    """
    distinct = sorted(set(docs), key=str)
    missing = [doc for doc in distinct if doc not in fields]
    if not missing:
        return ""
    return (
        f"{len(missing):,} of {len(distinct):,} documents of {source} are not in {catalogue}, such as "
        f"{missing[0]!r}; rules on fields do not see them"
    )


def _days(rules: Sequence[Rule], day: datetime.date) -> list[datetime.date]:
    """Return today and the later days on which rules start."""
    later = {rule.starts for rule in rules if rule.starts is not None and rule.starts > day}
    return [day, *sorted(later)]
