"""``podium rules report``: what each rule costs on the lists of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from podium.apps.cli.inputs.aggregate_weights import read_qrels_file
from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.inputs.postrank_inputs import (
    LocatedRules,
    read_classes,
    read_context_pairs,
    read_lookups,
    read_rules_with_lines,
    read_run_file,
)
from podium.apps.cli.inputs.propensity_files import read_propensities
from podium.apps.cli.options.rules_report import RulesReportOptions
from podium.apps.cli.outputs.printing import (
    finite_or_none,
    print_json,
    print_notes,
    print_table,
    printable,
)
from podium.apps.cli.outputs.progress import counting_bar
from podium.clicks import LoggedLists, read_sessions
from podium.data import Qrels, Run
from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking import (
    Change,
    ListChanges,
    ListFigures,
    RuleCost,
    RuleCostReport,
    rule_costs,
)
from podium.postranking.list_input import Catalogue
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.rule_history.live_rules import rules_path

LOW_JUDGED = 0.8
"""A smaller share of judged documents at the head of lists is told."""


def run_rules_report(options: RulesReportOptions) -> None:
    """Say what each rule of a file costs on the lists of a run."""
    rules = read_rules_with_lines(rules_path(options.rules))
    texts, fields = read_lookups(options.queries, options.docs, options.decimal, options.thousands)
    examination = None if options.examination is None else read_propensities(options.examination)
    logged = None if options.log is None else _read_log(options.log, examination)
    run = _run(options, logged)
    if logged is not None:
        logged = _by_query_ids(logged, run, texts)
    judgments = _judgments(options, logged)
    figures = None if judgments is None else _figures(options, fields, judgments, examination)
    traffic = None if logged is None else logged.searches
    if options.traffic is not None:
        traffic = _read_traffic(options.traffic)
    with counting_bar("measuring") as progress:
        try:
            report = rule_costs(
                run, rules.rules, figures, k=options.k, traffic=traffic, queries=texts,
                fields=fields, today=options.today, progress=progress,
                context=read_context_pairs(options.context), classes=read_classes(options.classes),
            )  # fmt: skip
        except UnknownNameError as error:
            raise UsageError(rules.unknown_field_text(error)) from error
    if options.json:
        print_json(_as_json(report, rules))
        return
    _print_costs(report, rules, options)
    _print_notes(report, rules, has_texts=texts is not None or options.run is None)


def _read_log(path: Path, examination: Sequence[float] | None) -> LoggedLists:
    """Read the lists and clicks of an event log."""
    with reading_bar([path]) as progress:
        sessions = read_sessions(path, progress=progress)
    if not len(sessions):
        raise DataError(f"{path}: expected sessions with clicks or impressions, got none")
    return LoggedLists.of(sessions, examination)


def _run(options: RulesReportOptions, logged: LoggedLists | None) -> Run:
    """Return the lists before the rules: of the run, or of the log."""
    if options.run is not None:
        return read_run_file(options.run)
    if logged is None:
        raise UsageError(
            "expected --run FILE or --log FILE with the lists before the rules, got none"
        )
    return logged.run


def _by_query_ids(logged: LoggedLists, run: Run, texts: Mapping[str, str] | None) -> LoggedLists:
    """Return the log by the query ids of a run; the log has the texts of queries."""
    if run is logged.run:
        return logged
    query_texts = [(qid, normalise_query((texts or {}).get(qid, qid))) for qid in run.qids.tolist()]
    code = {normalise_query(text): text for text in logged.judgments.qids.tolist()}
    matches = [(qid, code[text]) for qid, text in query_texts if text in code]
    judgments = logged.judgments.select([text for _, text in matches])
    own = replace(judgments, qids=np.array([qid for qid, _ in matches], dtype=object))
    searches = {qid: logged.searches[text] for qid, text in matches}
    return LoggedLists(run, own, searches)


def _judgments(options: RulesReportOptions, logged: LoggedLists | None) -> Qrels | None:
    """Return the labels of documents: of the file, or of the log; None without either."""
    if options.judged is None and logged is None:
        wrong = [
            f"--{name}"
            for name in ("metric", "value", "examination", "traffic")
            if getattr(options, name) is not None
        ]
        if wrong:
            raise UsageError(f"expected --judged FILE with {' and '.join(wrong)}, got none")
        return None
    if options.judged is None and logged is not None:
        return logged.judgments
    assert options.judged is not None
    judgments = read_qrels_file(options.judged)
    return judgments if isinstance(judgments, Qrels) else Qrels.from_data(judgments)


def _figures(
    options: RulesReportOptions,
    fields: Catalogue | None,
    judgments: Qrels,
    examination: Sequence[float] | None,
) -> ListFigures:
    """Return what is measured."""
    if options.value is not None and fields is None:
        raise UsageError(f"expected --docs FILE with the field {options.value!r} of --value")
    if options.value is not None and fields is not None:
        _check_value(options.value, fields, options.docs)
    return ListFigures(
        judgments,
        options.k,
        options.metric,
        examination,
        fields,
        options.value,
        are_rates=options.judged is None,
    )


def _check_value(name: str, fields: Catalogue, path: Path | None) -> None:
    """Raise if no document has a number in a field."""
    values = [one[name] for one in fields.values() if name in one]
    if not any(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        got = f"{values[0]!r:.40}" if values else "no such field"
        raise DataError(f"{path}: expected numbers in the field {name!r} of --value, got {got}")


def _read_traffic(path: Path) -> dict[str, float]:
    """Read the number of searches of each query."""
    traffic: dict[str, float] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        qid, _, text = line.partition("\t")
        try:
            searches = float(text)
        except ValueError:
            searches = math.nan
        if not (searches >= 0 and math.isfinite(searches)):
            raise DataError(
                f"{path}:{number}: expected qid<TAB>number of searches, got {line!r:.80}"
            )
        traffic[qid] = searches
    return traffic


def _print_costs(report: RuleCostReport, rules: LocatedRules, options: RulesReportOptions) -> None:
    """Print a row for all rules together, and one for each."""
    names = list(report.total.figures)
    rows = [["all rules", "", *_counts(report.total, names), ""]]
    rows += [
        [cost.rule.label, str(line), *_counts(cost.changes, names), cost.note]
        for cost, line in zip(report.rules, rules.lines, strict=True)
    ]
    headers = ["rule", "line", "lists", "changed", "moved", *names, "note"]
    print_table(
        f"{options.run or options.log}, lists: {report.queries:,}, first {report.k} places", headers, rows,
        text_last=True,
    )  # fmt: skip


def _counts(changes: ListChanges, names: Sequence[str]) -> list[str]:
    numbers = (changes.lists, changes.changed, changes.moved)
    return [f"{number:,}" for number in numbers] + [_change_text(changes.figures[n]) for n in names]


def _change_text(change: Change) -> str:
    """Return a mean with its interval; a dash without a judged list."""
    if not change.lists:
        return "-"
    mean = f"{change.mean:+.4f}"
    if change.interval is None:
        return mean
    return f"{mean} ({change.interval.low:+.4f} to {change.interval.high:+.4f})"


def _print_notes(report: RuleCostReport, rules: LocatedRules, *, has_texts: bool) -> None:
    """Say what the table does not show: fights, rules out of date, documents without judgments."""
    for cost in report.rules:
        for other, lists in cost.fights:
            line, noun = rules.location(other)["line"], "list" if lists == 1 else "lists"
            typer.echo(
                printable(
                    f"{rules.path}:{rules.location(cost.rule)['line']}: {cost.rule.label} works against "
                    f"{other.label} (line {line}), which would hold without it on {lists:,} {noun}"
                )
            )
    for rule, problem in report.outdated:
        typer.echo(
            printable(f"{rules.path}:{rules.location(rule)['line']}: {rule.label}: {problem}")
        )
    before, after = report.judged
    if after < LOW_JUDGED:
        print_notes(
            [
                f"of the first {report.k} documents {before:.0%} are judged without the rules and "
                f"{after:.0%} with them; documents without a judgment count as not relevant"
            ],
            kind="warning",
        )
    rules.warn_of_unused(report.rules, has_texts)


def _as_json(report: RuleCostReport, rules: LocatedRules) -> dict[str, Any]:
    """Return the report for machines."""
    return {
        "queries": report.queries,
        "k": report.k,
        "judged": [finite_or_none(share) for share in report.judged],
        "all": _changes_as_json(report.total),
        "rules": [_cost_as_json(cost, rules) for cost in report.rules],
        "outdated": [
            {"rule": rule.label, **rules.location(rule), "problem": problem}
            for rule, problem in report.outdated
        ],
    }


def _changes_as_json(changes: ListChanges) -> dict[str, Any]:
    figures = {
        name: {
            "mean": finite_or_none(change.mean),
            "low": None if change.interval is None else change.interval.low,
            "high": None if change.interval is None else change.interval.high,
            "lists": change.lists,
        }
        for name, change in changes.figures.items()
    }
    counts = {"lists": changes.lists, "changed": changes.changed, "moved": changes.moved}
    return {**counts, "figures": figures}


def _cost_as_json(cost: RuleCost, rules: LocatedRules) -> dict[str, Any]:
    place = {"rule": cost.rule.label, **rules.location(cost.rule)}
    fights = [{"rule": o.label, **rules.location(o), "lists": n} for o, n in cost.fights]
    return {**place, **_changes_as_json(cost.changes), "fights": fights, "note": cost.note}
