"""``podium postrank``: a run and rules in, a run out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from podium.apps.cli.error_reports import fail
from podium.apps.cli.inputs.postrank_inputs import (
    LocatedRules,
    read_lookups,
    read_rules_with_lines,
    read_run_file,
    uncovered_text,
)
from podium.apps.cli.options.postrank import PostrankOptions
from podium.apps.cli.outputs.printing import print_json, print_table, printable
from podium.apps.cli.outputs.progress import counting_bar
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data import Run, write_run
from podium.data.atomic_files import check_target
from podium.data.trec import run_lines
from podium.errors import ConflictError, DataError, UnknownNameError, UsageError
from podium.postranking import (
    MMR,
    PostRankedRun,
    PostRanking,
    Rule,
    RuleOutcome,
    XQuAD,
    postrank_batch,
)
from podium.postranking.methods.problem import Method
from podium.postranking.postrank import make_method
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.settings import Settings

MAX_REASONS_PER_MOVE = 3
"""How many rules the table of one query names as the reason of a move; JSON has all."""


def run_postrank(options: PostrankOptions) -> None:
    """Apply rules to the lists of a run."""
    settings = _settings(options)
    if options.out is not None:
        lookups = (path for path in (options.queries, options.docs) if path is not None)
        check_target(options.out, options.run, options.rules, *lookups)
        check_not_replaced([options.out], options.force)
    rules = read_rules_with_lines(options.rules)
    texts, fields = read_lookups(options.queries, options.docs, options.decimal, options.thousands)
    rules.warn_of_types(fields)
    lists = read_run_file(options.run)
    uncovered = uncovered_text(rules.rules, lists, options.run, fields, options.docs)
    if uncovered:
        typer.echo(f"podium: warning: {printable(uncovered)}", err=True)
    query = None if options.explain is None else find_query(lists, options.explain, texts)
    if query is not None:
        lists = select_query(lists, query)
    started = time.perf_counter()
    try:
        with counting_bar("post-ranking") as progress:
            n_done = itertools.count(1)
            ranked = postrank_batch(
                lists, rules.rules, queries=texts, fields=fields, today=options.today,
                progress=lambda n: progress(next(n_done), len(lists.groups)), **settings,
            )  # fmt: skip
    except ConflictError as error:  # of the rules, not of the command line
        fail(rules.conflict_text(error), 1)
    except UnknownNameError as error:
        fail(rules.unknown_field_text(error), 1)
    seconds = time.perf_counter() - started
    rules.warn_of_unused(ranked.rules, has_texts=texts is not None)
    unsolved = sum(not result.converged for result in ranked.values())
    if unsolved:
        typer.echo(f"podium: {unsolved:,} lists were not solved to the end", err=True)
    if query is not None:
        _explain(ranked[query], query, rules, options.json)
    else:
        _write(ranked, options.out, rules, seconds, options.json)


def _settings(options: PostrankOptions) -> dict[str, Any]:
    """Return the settings of post-ranking, checked before any data is read."""
    settings: dict[str, Any] = {
        "prior": options.prior, "base": options.base, "pairs": options.pairs,
        "scale": options.scale, "conflicts": options.conflicts,
        "method": make_soft_method(options.method, options.field, options.trade_off, options.docs),
    }  # fmt: skip
    Settings(**settings, missing="report")
    return settings


def _write(
    ranked: PostRankedRun, out: Path | None, rules: LocatedRules, seconds: float, json: bool
) -> None:
    """Write the run to a file with a summary of its rules, or to stdout."""
    if out is not None:
        write_run(ranked.run, out)
    if json:
        print_json({"file": None if out is None else str(out), **_facts(ranked, rules, seconds)})
    elif out is None:
        typer.echo("".join(run_lines(ranked.run)), nl=False)
    else:
        _print_summary(str(out), ranked, rules, seconds)


def make_soft_method(
    name: str, field: str | None, trade_off: float | None, docs: Path | None
) -> Method:
    """Return a method by name; mmr and xquad need a field of the documents."""
    if name not in ("mmr", "xquad"):
        if field is not None or trade_off is not None:
            raise UsageError(
                f"expected --method mmr or xquad with --field and --trade-off, got {name}"
            )
        return make_method(name)
    if field is None or docs is None:
        got = "no --field" if field is None else "no --docs"
        raise UsageError(
            f"expected --field and --docs with --method {name}, got {got}; vectors, matrices and "
            "functions are for Python (podium.postranking.MMR and XQuAD)"
        )
    balance = 0.5 if trade_off is None else trade_off
    return MMR(field, balance) if name == "mmr" else XQuAD(field, balance)


def find_query(run: Run, wording: str, texts: Mapping[str, str] | None) -> str:
    """Return the id of the query that has this id or this text."""
    qids = run.qids.tolist()
    if wording in qids:
        return wording
    texts = {} if texts is None else texts
    matches = [
        qid
        for qid in qids
        if qid in texts and normalise_query(texts[qid]) == normalise_query(wording)
    ]
    if len(matches) == 1:
        return str(matches[0])
    if matches:
        raise DataError(
            f"expected one query, got {wording!r}, the text of {', '.join(matches[:20])}"
        )
    examples = ", ".join(qids[:5]) + (", ..." if len(qids) > 5 else "")
    hint = "" if texts else "; with --queries it may be the text of one"
    raise DataError(f"expected a query of the run (its id: {examples}), got {wording!r}{hint}")


def select_query(run: Run, query: str) -> Run:
    """Return one query of a run."""
    numbers = np.flatnonzero(run.qids == query)
    groups, rows = run.groups.take(numbers)
    return Run(run.qids[numbers], groups, run.docids.take(rows), run.values[rows])


def _facts(ranked: PostRankedRun, rules: LocatedRules, seconds: float) -> dict[str, Any]:
    lists = ranked.values()
    return {
        "queries": len(ranked),
        "changed": sum(len(result.moved) > 0 for result in lists),
        "hidden": sum(len(result.moves) - len(result) for result in lists),
        "not_converged": sum(not result.converged for result in lists),
        "rules": [
            {
                "rule": counts.rule.label, "index": number, "line": line, "lists": counts.lists,
                "held": counts.satisfied, "violated": counts.violated, "yielded": counts.yielded,
                "note": counts.note,
            }
            for number, (counts, line) in enumerate(zip(ranked.rules, rules.lines, strict=True))
        ],
        "seconds": round(seconds, 3),
    }  # fmt: skip


def _print_summary(title: str, ranked: PostRankedRun, rules: LocatedRules, seconds: float) -> None:
    facts = _facts(ranked, rules, seconds)
    rows = [
        [rule["rule"], *(f"{rule[key]:,}" for key in ("lists", "held", "violated")), _note(rule)]
        for rule in facts["rules"]
    ]
    counts = f"queries: {facts['queries']:,}, changed: {facts['changed']:,}"
    if facts["hidden"]:
        counts += f", documents hidden: {facts['hidden']:,}"
    print_table(
        f"{title}, {counts}", ["rule", "lists", "held", "violated", "note"], rows, text_last=True
    )


def _note(rule: Mapping[str, Any]) -> str:
    """Return why a rule never acted, or on how many lists it gave way."""
    return rule["note"] or (f"gave way on {rule['yielded']:,}" if rule["yielded"] else "")


def _explain(result: PostRanking, query: str, rules: LocatedRules, json: bool) -> None:
    if json:
        print_json(_json_explanation(result, query, rules))
        return
    rows = [
        [str(move.doc), str(move.origin), "hidden" if move.to is None else str(move.to),
         _reasons(move.because)]
        for move in result.moves
    ]  # fmt: skip
    changed = f"documents: {len(result.moves):,}, moved: {len(result.moved):,}"
    print_table(
        f"Query {query}, {changed}", ["document", "from", "to", "why"], rows, text_last=True
    )
    outcomes = [
        [outcome.rule.label, "-" if not outcome.acted else "yes" if outcome.satisfied else "no",
         str(outcome.slack) if outcome.acted else "-",
         outcome.note or _gave_way(outcome)]
        for outcome in result.rules
    ]  # fmt: skip
    if outcomes:
        print_table("Its rules", ["rule", "held", "slack", "note"], outcomes, text_last=True)


def _gave_way(outcome: RuleOutcome) -> str:
    """Return the rules that a rule gave way to, or an empty text."""
    if not outcome.yielded:
        return ""
    return f"gave way to {_reasons(outcome.yielded_to)}" if outcome.yielded_to else "gave way"


def _reasons(rules: Sequence[Rule]) -> str:
    """Return the first reasons, and how many more there are."""
    names = [rule.label for rule in rules[:MAX_REASONS_PER_MOVE]]
    return "; ".join(names) + (
        f"; and {len(rules) - MAX_REASONS_PER_MOVE} more" if rules[MAX_REASONS_PER_MOVE:] else ""
    )


def _json_explanation(result: PostRanking, query: str, rules: LocatedRules) -> dict[str, Any]:
    return {
        "query": query,
        "documents": [
            {"document": str(move.doc), "from": move.origin, "to": move.to,
             "because": [{"rule": rule.label, **rules.location(rule)} for rule in move.because]}
            for move in result.moves
        ],
        "rules": [
            {"rule": outcome.rule.label, **rules.location(outcome.rule),
             "satisfied": outcome.satisfied, "slack": outcome.slack,
             "note": outcome.note, "yielded": outcome.yielded,
             "undecided": outcome.undecided,
             "yielded_to": [{"rule": rule.label, **rules.location(rule)} for rule in outcome.yielded_to]}
            for outcome in result.rules
        ],
        "kendall": result.kendall,
        "converged": result.converged,
        "proved_optimal": result.proved_optimal,
    }  # fmt: skip
