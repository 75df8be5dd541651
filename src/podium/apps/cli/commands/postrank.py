"""``podium postrank``: a run and rules in, a run out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.error_reports import fail
from podium.apps.cli.inputs.postrank_inputs import (
    LocatedRules,
    open_run_file,
    read_classes,
    read_context_pairs,
    read_lookups,
    read_rules_with_lines,
    uncovered_text,
)
from podium.apps.cli.options.postrank import PostrankOptions
from podium.apps.cli.outputs.printing import print_json, print_table, printable
from podium.apps.cli.outputs.progress import counting_bar
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.apps.cli.outputs.spooled_output import spooled_stdout
from podium.data.atomic_files import atomic_writer, check_target
from podium.data.trec import run_lines
from podium.errors import ConflictError, DataError, UnknownNameError, UsageError
from podium.postranking import (
    MMR,
    PostRankedRun,
    PostRanking,
    Rule,
    RuleOutcome,
    RuleUsage,
    XQuAD,
    postrank_stream,
)
from podium.postranking.methods.problem import Method
from podium.postranking.postrank import make_method
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.settings import Settings

MAX_REASONS_PER_MOVE = 3
"""How many rules the table of one query names as the reason of a move; JSON has all."""


def run_postrank(options: PostrankOptions) -> None:
    """Apply rules to the lists of a run."""
    settings, context = _settings(options), read_context_pairs(options.context)
    if options.out is not None:
        lookups = (path for path in (options.queries, options.docs) if path is not None)
        check_target(options.out, options.run, options.rules, *lookups)
        check_not_replaced([options.out], options.force)
    rules = read_rules_with_lines(options.rules)
    texts, fields = read_lookups(options.queries, options.docs, options.decimal, options.thousands)
    rules.warn_of_types(fields)
    run = open_run_file(options.run)
    uncovered = uncovered_text(rules.rules, run.chunks(), options.run, fields, options.docs)
    if uncovered:
        typer.echo(f"podium: warning: {printable(uncovered)}", err=True)
    query = None if options.explain is None else find_query(run.qids, options.explain, texts)
    try:
        with counting_bar("post-ranking") as progress:
            n_done, total = itertools.count(1), len(run.qids) if query is None else 1
            batches = postrank_stream(
                run.chunks() if query is None else [run.read([query])], rules.rules, queries=texts,
                fields=fields, today=options.today, context=context,
                progress=lambda n: progress(next(n_done), total), **settings,
            )  # fmt: skip
            if query is not None:
                ranked = next(batches)
            else:
                summary = _write_batches(batches, options.out, options.json)
    except ConflictError as error:  # of the rules, not of the command line
        fail(rules.conflict_text(error), 1)
    except UnknownNameError as error:
        fail(rules.unknown_field_text(error), 1)
    if query is not None:
        summary = BatchSummary().add(ranked)
    rules.warn_of_unused(summary.usage, has_texts=texts is not None)
    _warn_of_unsolved(summary)
    if query is not None:
        _explain(ranked[query], query, rules, options.json)
    else:
        _report(summary, options.out, rules, options.json)


@dataclass
class BatchSummary:
    """What post-ranking did, over all batches of lists so far."""

    queries: int = 0
    changed: int = 0
    hidden: int = 0
    not_converged: int = 0
    usage: tuple[RuleUsage, ...] = ()
    seconds: float = 0.0

    def add(self, ranked: PostRankedRun) -> BatchSummary:
        """Count the lists of a batch."""
        lists = ranked.values()
        self.queries += len(ranked)
        self.changed += sum(len(result.moved) > 0 for result in lists)
        self.hidden += sum(len(result.moves) - len(result) for result in lists)
        self.not_converged += sum(not result.converged for result in lists)
        self.usage = ranked.rules
        return self


def _warn_of_unsolved(summary: BatchSummary) -> None:
    if summary.not_converged:
        typer.echo(f"podium: {summary.not_converged:,} lists were not solved to the end", err=True)


def _write_batches(batches: Iterator[PostRankedRun], out: Path | None, json: bool) -> BatchSummary:
    """Write the lists batch by batch, all or nothing: to a file, or to stdout unless JSON goes there."""
    summary, started = BatchSummary(), time.perf_counter()
    target = atomic_writer(out) if out is not None else spooled_stdout(is_shown=not json)
    with target as write:
        for ranked in batches:
            for line in run_lines(ranked.run):
                write(line.encode("utf-8", "surrogateescape"))
            summary.add(ranked)
    summary.seconds = time.perf_counter() - started
    return summary


def _settings(options: PostrankOptions) -> dict[str, Any]:
    """Return the settings of post-ranking, checked before any data is read."""
    settings: dict[str, Any] = {
        "prior": options.prior, "base": options.base, "pairs": options.pairs,
        "scale": options.scale, "conflicts": options.conflicts,
        "classes": read_classes(options.classes),
        "method": make_soft_method(options.method, options.field, options.trade_off, options.docs),
    }  # fmt: skip
    Settings(**settings, missing="report")
    return settings


def _report(summary: BatchSummary, out: Path | None, rules: LocatedRules, json: bool) -> None:
    """Print what was done, unless the lists are on stdout."""
    if json:
        print_json({"file": None if out is None else str(out), **_facts(summary, rules)})
    elif out is not None:
        _print_summary(str(out), summary, rules)


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


def find_query(qids: Sequence[str], wording: str, texts: Mapping[str, str] | None) -> str:
    """Return the id of the query that has this id or this text."""
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
            f"expected the text of one query, got {wording!r:.80}, which is the text of {len(matches)} "
            f"queries; name one by its id: {', '.join(matches[:20])}"
        )
    examples = ", ".join(qids[:5]) + (", ..." if len(qids) > 5 else "")
    hint = "" if texts else "; with --queries it may be the text of one"
    raise DataError(f"expected a query of the run (its id: {examples}), got {wording!r}{hint}")


def _facts(summary: BatchSummary, rules: LocatedRules) -> dict[str, Any]:
    return {
        "queries": summary.queries,
        "changed": summary.changed,
        "hidden": summary.hidden,
        "not_converged": summary.not_converged,
        "rules": [
            {
                "rule": counts.rule.label, "index": number, "line": line, "lists": counts.lists,
                "held": counts.satisfied, "violated": counts.violated, "yielded": counts.yielded,
                "note": counts.note,
            }
            for number, (counts, line) in enumerate(zip(summary.usage, rules.lines, strict=True))
        ],
        "seconds": round(summary.seconds, 3),
    }  # fmt: skip


def _print_summary(title: str, summary: BatchSummary, rules: LocatedRules) -> None:
    facts = _facts(summary, rules)
    rows = [
        [rule["rule"], *(f"{rule[key]:,}" for key in ("lists", "held", "violated")),
         _note(rule) or _weight_advice(counts)]
        for rule, counts in zip(facts["rules"], summary.usage, strict=True)
    ]  # fmt: skip
    counts = f"queries: {facts['queries']:,}, changed: {facts['changed']:,}"
    if facts["hidden"]:
        counts += f", documents hidden: {facts['hidden']:,}"
    print_table(
        f"{title}, {counts}", ["rule", "lists", "held", "violated", "note"], rows, text_last=True
    )


def _note(rule: Mapping[str, Any]) -> str:
    """Return why a rule never acted, or on how many lists it gave way."""
    return rule["note"] or (f"gave way on {rule['yielded']:,}" if rule["yielded"] else "")


def _weight_advice(counts: RuleUsage) -> str:
    """Return how a soft rule that is violated holds on more lists."""
    is_light = counts.violated and not counts.rule.hard
    return "soft: raise its weight, or set hard: true" if is_light else ""


def _explain(result: PostRanking, query: str, rules: LocatedRules, json: bool) -> None:
    if json:
        print_json(_json_explanation(result, query, rules))
        return
    rows = [
        [str(move.doc), str(move.origin or "inserted"), "hidden" if move.to is None else str(move.to),
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
