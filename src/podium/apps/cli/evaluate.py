"""``podium evaluate``: scores against labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    MissingChoice,
    Seed,
    busy,
    print_json,
    print_table,
    reading,
    reports_errors,
)

if TYPE_CHECKING:
    from podium.data import Qrels, RankingData
    from podium.metrics import Evaluation, PairedTest

EXAMPLE = """Example: podium evaluate test.txt ranknet.scores listnet.scores -m NDCG@10 -m P@10

Scores follow the order of DATA's lines. Several score files are each compared with the first:
▲ and ▼ mark a difference with p < 0.05 after correction."""

DEFAULT_METRICS = ["NDCG@10", "P@10", "MAP"]


@reports_errors
def evaluate(
    data: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, metavar="DATA", help="LETOR text, Parquet or TREC qrels."
        ),
    ],
    scores: Annotated[
        list[Path],
        typer.Argument(
            exists=True, dir_okay=False, metavar="SCORES...",
            help="One number a line, .npy, Parquet (column score), or a TREC run.",
        ),
    ],
    metric: Annotated[
        list[str], typer.Option("--metric", "-m", help="A metric; may be given several times.")
    ] = DEFAULT_METRICS,
    missing: Missing = "error",
    per_query: Annotated[bool, typer.Option("--per-query", help="Add every query's values.")] = False,
    test: Annotated[
        Literal["permutation", "t"], typer.Option(help="The paired test against the first scores.")
    ] = "permutation",
    correction: Annotated[
        Literal["holm", "bonferroni", "bh", "none"], typer.Option(help="For many comparisons.")
    ] = "holm",
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Evaluate scores on labelled data; several score files are compared with the first."""
    from podium.errors import UsageError
    from podium.metrics.naming import parse

    for name in metric:  # a wrong name should not wait for the data
        parse(name).check_cutoff()
    if len({path.resolve() for path in scores}) < len(scores):
        raise UsageError("expected different score files, got one of them twice")
    with reading([data]) as progress:
        judged = _read(data, missing, progress)
    with busy("evaluating"):
        evaluations = {str(path): _evaluate(judged, path, metric) for path in scores}
        tests = _tests(list(evaluations.values()), test, correction, seed)
    if json:
        print_json(_as_json(evaluations, tests, per_query))
        return
    _print_means(data, evaluations, tests)
    if len(evaluations) > 1:
        _print_tests(evaluations, tests, f"{test} test, correction: {correction}")
    if per_query:
        for path, evaluation in evaluations.items():
            _print_queries(path, evaluation)


def _read(path: Path, missing: MissingChoice, progress: Any) -> RankingData | Qrels:
    from podium.data import read_judged

    return read_judged(path, missing=missing, progress=progress)


def _evaluate(judged: RankingData | Qrels, path: Path, metrics: list[str]) -> Evaluation:
    from podium.data import Qrels, detect_format, read_run, read_scores
    from podium.errors import DataError, UsageError
    from podium.metrics import evaluate

    if detect_format(path) == "run":
        qrels = judged if isinstance(judged, Qrels) else Qrels.from_data(judged)
        return evaluate(qrels, read_run(path), metrics)
    if isinstance(judged, Qrels):
        raise UsageError(f"expected a TREC run to judge by qrels, got plain scores in {path}")
    values = read_scores(path)
    if len(values) != len(judged):
        raise DataError(
            f"expected {len(judged)} scores, one for each document, got {len(values)}",
            path=str(path),
        )
    return evaluate(judged, judged.regroup(values), metrics)


Tests = list[dict[str, tuple["PairedTest", float]]]


def _tests(evaluations: Sequence[Evaluation], test: str, correction: str, seed: int) -> Tests:
    """For every system after the first and every metric: the test, and p corrected per metric.

    A metric that too few queries have a value for is left out.
    """
    from podium.errors import DataError
    from podium.metrics import correct, paired_test

    first, *others = evaluations
    out: Tests = [{} for _ in others]
    for name in first if others else ():
        weight = first[name].weight
        try:
            found = [
                paired_test(
                    e[name].per_query, first[name].per_query, test, weight=weight, seed=seed
                )
                for e in others
            ]
        except DataError:
            continue
        adjusted = correct([t.p_value for t in found], correction)
        for entry, result, p in zip(out, found, adjusted, strict=True):
            entry[name] = result, p
    return out


def _print_means(data: Path, evaluations: dict[str, Evaluation], tests: Tests) -> None:
    first = next(iter(evaluations.values()))
    rows = []
    for i, (path, evaluation) in enumerate(evaluations.items()):
        marks = {name: _mark(*found) for name, found in tests[i - 1].items()} if i else {}
        means = [f"{evaluation[name].mean:.4f}{marks.get(name, '')}" for name in evaluation]
        rows.append([path, *means])
    print_table(f"{data}, queries: {len(first.qids):,}", ["scores", *first], rows)


def _mark(test: PairedTest, p: float) -> str:
    return "" if p >= 0.05 else "▲" if test.difference > 0 else "▼"


def _print_tests(evaluations: dict[str, Evaluation], tests: Tests, how: str) -> None:
    first, *others = evaluations
    rows = [
        [path, name, f"{t.difference:+.4f}", f"{p:.4f}", f"{t.wins}/{t.ties}/{t.losses}"]
        for path, entry in zip(others, tests, strict=True)
        for name, (t, p) in entry.items()
    ]
    headers = ["scores", "metric", "difference", "p", "wins/ties/losses"]
    if rows:
        print_table(f"Against {first} ({how})", headers, rows, text_columns=2)
    else:
        typer.echo("Not compared: a test needs at least 2 queries with a value in both.")


def _print_queries(path: str, evaluation: Evaluation) -> None:
    rows = [
        [str(qid), *(f"{evaluation[name].per_query[q]:.4f}" for name in evaluation)]
        for q, qid in enumerate(evaluation.qids.tolist())
    ]
    print_table(path, ["query", *evaluation], rows)


def _as_json(evaluations: dict[str, Evaluation], tests: Tests, per_query: bool) -> dict[str, Any]:
    out: dict[str, Any] = {path: e.to_dict(per_query) for path, e in evaluations.items()}
    for path, entry in zip(list(evaluations)[1:], tests, strict=True):
        out[path]["against_first"] = {
            name: {
                "difference": t.difference,
                "p_value": t.p_value,
                "p_corrected": p,
                "wins": t.wins,
                "ties": t.ties,
                "losses": t.losses,
            }
            for name, (t, p) in entry.items()
        }
    return out
