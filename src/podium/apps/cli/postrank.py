"""``podium postrank``: a run and rules in, a run out."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    advancing,
    fail,
    print_json,
    print_table,
    reading,
    reports_errors,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from podium.data import Run
    from podium.errors import ConflictError, UnknownNameError
    from podium.postranking import Outcome, PostRankedRun, PostRanking, Rule
    from podium.postranking.lists import Catalogue
    from podium.postranking.methods.problem import Method

REASONS = 3
"""Rules that the table of one query gives as the reason of a move; JSON has all."""

EXAMPLE = """Example: podium postrank bm25.run --rules rules.yaml --docs docs.jsonl -o new.run

Rules are YAML; podium rules schema describes it, podium rules list says what rules there are, podium
rules check finds what is wrong with a file. Without --queries, rules for some queries are compared
with query ids.

The scores of the result are places counted from the end of each list: they keep the new order. With
--explain Q1 one query is shown instead: where its documents came from, went to, and why."""

RunFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, metavar="RUN", help="A TREC run.")
]
Queries = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False,
        help="The text of queries: qid<TAB>text a line, or JSON lines with qid and text.",
    ),
]  # fmt: skip
Docs = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False,
        help="The fields of documents, with an id each: JSON lines (.jsonl), or a table (.csv, .tsv).",
    ),
]  # fmt: skip
Today = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="The day for rules with dates; today without it."),
]


@reports_errors
def postrank(
    run: RunFile,
    rules: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="The rules, such as rules.yaml.")
    ],
    queries: Queries = None,
    docs: Docs = None,
    base: Annotated[
        str,
        typer.Option(
            help="How pairs of the original order count: uniform, or margin, by the run's scores."
        ),
    ] = "uniform",
    prior: Annotated[
        float, typer.Option(help="What keeps the scores finite, times the length of the list.")
    ] = 0.1,
    pairs: Annotated[
        str,
        typer.Option(help="Ranks in rules count without their document, or as in the paper, printed."),
    ] = "without",
    scale: Annotated[
        str, typer.Option(help="Whether a weight is that of a rule, or of every pair.")
    ] = "rule",
    method: Annotated[
        str,
        typer.Option(
            help="How soft rules act: bradley-terry, paper, radical, moderate, conservative, "
            "proportional; or lists that differ, under hard rules alone: mmr, xquad."
        ),
    ] = "bradley-terry",
    field: Annotated[
        str | None,
        typer.Option(help="For mmr and xquad: the field of --docs by which documents differ."),
    ] = None,
    trade_off: Annotated[
        float | None,
        typer.Option(help="For mmr and xquad: lambda; 0.5 unless given.", min=0, max=1),
    ] = None,
    today: Today = None,
    conflicts: Annotated[
        str,
        typer.Option(
            help="Hard rules that cannot hold together are an error, or yield: the lower priority gives "
            "way, then a pin to a hide, then the rule whose name sorts last."
        ),
    ] = "error",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the run goes; else to stdout.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY", help="Show what became of one query instead: its id, or its text."
        ),
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Put the lists of a run under rules."""
    from podium.data.files import check_target
    from podium.errors import ConflictError, UnknownNameError
    from podium.postranking import postrank_batch
    from podium.postranking.settings import Settings

    options: dict[str, Any] = {
        "prior": prior, "base": base, "pairs": pairs, "scale": scale,
        "method": method_of(method, field, trade_off, docs), "conflicts": conflicts,
    }  # fmt: skip
    Settings(**options, missing="report")  # a wrong name should not wait for the data
    if out is not None:
        check_target(out, run, rules, *(path for path in (queries, docs) if path is not None))
    book = read_book(rules)
    texts, fields = read_lookups(queries, docs)
    lists = read_one_run(run)
    if explain is not None:
        explain = query_of(lists, explain, texts)
        lists = only(lists, explain)
    started = time.perf_counter()
    try:
        with advancing("post-ranking") as progress:
            n_done = itertools.count(1)
            ruled = postrank_batch(
                lists, book.rules, queries=texts, fields=fields, today=today,
                progress=lambda n: progress(next(n_done), len(lists.groups)), **options,
            )  # fmt: skip
    except ConflictError as error:  # of the rules, not of the command line
        fail(book.conflict(error), 1)
    except UnknownNameError as error:
        fail(book.unknown(error), 1)
    seconds = time.perf_counter() - started
    unsolved = sum(not result.converged for result in ruled.values())
    if unsolved:
        typer.echo(f"podium: {unsolved:,} lists were not solved to the end", err=True)
    if explain is not None:
        _explain(ruled[explain], explain, book, json)
    else:
        _write(ruled, out, book, seconds, json)


def _write(ruled: PostRankedRun, out: Path | None, book: Book, seconds: float, json: bool) -> None:
    """Write the run to a file with a summary of its rules, or to stdout."""
    from podium.data import write_run
    from podium.data.trec import run_lines

    if out is not None:
        write_run(ruled.run, out)
    if json:
        print_json({"file": None if out is None else str(out), **_facts(ruled, book, seconds)})
    elif out is None:
        typer.echo("".join(run_lines(ruled.run)), nl=False)
    else:
        _summary(str(out), ruled, book, seconds)


def method_of(name: str, field: str | None, trade_off: float | None, docs: Path | None) -> Method:
    """A method by name, with what it needs."""
    from podium.errors import UsageError
    from podium.postranking import MMR, XQuAD
    from podium.postranking.postrank import make_method

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


@dataclass(frozen=True)
class Book:
    """The rules of a file and the line each starts on."""

    path: Path
    rules: tuple[Rule, ...]
    lines: tuple[int, ...]

    def place(self, rule: object) -> dict[str, int]:
        """Which rule it is: its number in the file from 0, and its line."""
        at = self._numbers[id(rule)]
        return {"index": at, "line": self.lines[at]}

    @cached_property
    def _numbers(self) -> dict[int, int]:
        # By identity: two rules may say the same.
        return {id(rule): at for at, rule in enumerate(self.rules)}

    def conflict(self, error: ConflictError) -> str:
        """A conflict with the lines of its rules."""
        lines = sorted(self.place(rule)["line"] for rule in error.rules)
        among = f" (lines {', '.join(map(str, lines[:20]))})" if len(lines) > 1 else ""
        text = str(error).replace("conflicts='yield'", "--conflicts yield")
        return f"{self.path}:{lines[0]}: {text}{among}"

    def unknown(self, error: UnknownNameError) -> str:
        """An unknown field with the line of the rule that names it."""
        from podium.postranking.rule_index import field_names

        named = zip(self.rules, self.lines, strict=True)
        line = next((f":{line}" for rule, line in named if error.name in field_names(rule)), "")
        return f"{self.path}{line}: {error}"


def read_book(path: Path) -> Book:
    """The rules of a file; what is wrong with one is an error."""
    from podium.postranking.rules.files import read_rule_file

    file = read_rule_file(path)
    if file.errors:
        raise file.errors[0]
    return Book(path, file.rules, file.lines)


def read_lookups(
    queries: Path | None, docs: Path | None
) -> tuple[dict[str, str] | None, Catalogue | None]:
    """The texts of queries and the fields of documents, where there are files of them."""
    from podium.postranking import read_fields, read_queries

    return (
        None if queries is None else read_queries(queries),
        None if docs is None else read_fields(docs),
    )


def read_one_run(path: Path) -> Run:
    """A run, with a progress bar."""
    from podium.data import read_run

    with reading([path]) as progress:
        return read_run(path, progress)


def query_of(run: Run, wording: str, texts: Mapping[str, str] | None) -> str:
    """The id of a query that is given by its id or its text."""
    from podium.errors import DataError
    from podium.postranking.rules.rule import plain

    qids = run.qids.tolist()
    if wording in qids:
        return wording
    texts = {} if texts is None else texts
    matches = [qid for qid in qids if qid in texts and plain(texts[qid]) == plain(wording)]
    if len(matches) == 1:
        return str(matches[0])
    if matches:
        raise DataError(
            f"expected one query, got {wording!r}, the text of {', '.join(matches[:20])}"
        )
    examples = ", ".join(qids[:5]) + (", ..." if len(qids) > 5 else "")
    hint = "" if texts else "; with --queries it may be the text of one"
    raise DataError(f"expected a query of the run (its id: {examples}), got {wording!r}{hint}")


def only(run: Run, query: str) -> Run:
    """One query of a run."""
    import numpy as np

    from podium.data import Run

    numbers = np.flatnonzero(run.qids == query)
    groups, rows = run.groups.take(numbers)
    return Run(run.qids[numbers], groups, run.docids.take(rows), run.values[rows])


def _facts(ruled: PostRankedRun, book: Book, seconds: float) -> dict[str, Any]:
    lists = ruled.values()
    return {
        "queries": len(ruled),
        "changed": sum(len(one.moved) > 0 for one in lists),
        "hidden": sum(len(one.moves) - len(one) for one in lists),
        "not_converged": sum(not one.converged for one in lists),
        "rules": [
            {
                "rule": tally.rule.label, "index": at, "line": line, "lists": tally.lists,
                "held": tally.held, "violated": tally.violated, "yielded": tally.yielded,
                "note": tally.note,
            }
            for at, (tally, line) in enumerate(zip(ruled.rules, book.lines, strict=True))
        ],
        "seconds": round(seconds, 3),
    }  # fmt: skip


def _summary(title: str, ruled: PostRankedRun, book: Book, seconds: float) -> None:
    facts = _facts(ruled, book, seconds)
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
    """Why a rule never acted, or on how many lists it gave way."""
    return rule["note"] or (f"gave way on {rule['yielded']:,}" if rule["yielded"] else "")


def _explain(result: PostRanking, query: str, book: Book, json: bool) -> None:
    if json:
        print_json(_json_explanation(result, query, book))
        return
    rows = [
        [str(move.doc), str(move.origin), "hidden" if move.to is None else str(move.to),
         _why(move.because)]
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


def _gave_way(outcome: Outcome) -> str:
    """The rules that a rule gave way to; nothing where it did not."""
    if not outcome.yielded:
        return ""
    return f"gave way to {_why(outcome.yielded_to)}" if outcome.yielded_to else "gave way"


def _why(rules: Sequence[Rule]) -> str:
    """The first reasons, and how many more there are."""
    names = [rule.label for rule in rules[:REASONS]]
    return "; ".join(names) + (f"; and {len(rules) - REASONS} more" if rules[REASONS:] else "")


def _json_explanation(result: PostRanking, query: str, book: Book) -> dict[str, Any]:
    return {
        "query": query,
        "documents": [
            {"document": str(move.doc), "from": move.origin, "to": move.to,
             "because": [{"rule": rule.label, **book.place(rule)} for rule in move.because]}
            for move in result.moves
        ],
        "rules": [
            {"rule": outcome.rule.label, **book.place(outcome.rule),
             "satisfied": outcome.satisfied, "slack": outcome.slack,
             "note": outcome.note, "yielded": outcome.yielded,
             "undecided": outcome.undecided,
             "yielded_to": [{"rule": rule.label, **book.place(rule)} for rule in outcome.yielded_to]}
            for outcome in result.rules
        ],
        "kendall": result.kendall,
        "converged": result.converged,
        "proved_optimal": result.proved_optimal,
    }  # fmt: skip
