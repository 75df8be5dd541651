"""``podium evaluate``: scores against labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    ExistingFile,
    Json,
    Missing,
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

DATA is LETOR text, Parquet or TREC qrels; SCORES is one number a line, a .npy vector or a TREC run."""

DEFAULT_METRICS = ["NDCG@10", "P@10", "MAP"]


@reports_errors
def evaluate(
    data: ExistingFile,
    scores: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False)],
    metric: Annotated[
        list[str], typer.Option("--metric", "-m", help="A metric; may be given several times.")
    ] = DEFAULT_METRICS,
    missing: Missing = "error",
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Add every query's values.")
    ] = False,
    test: Annotated[
        str, typer.Option(help="Test against the first scores: permutation or t.")
    ] = "permutation",
    correction: Annotated[
        str, typer.Option(help="For many comparisons: holm, bonferroni, bh or none.")
    ] = "holm",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Evaluate scores on labelled data; several score files are compared with the first."""
    from podium.metrics.naming import parse

    for name in metric:
        parse(name)  # a wrong name should not wait for the data
    judged = _read(data, missing)
    with busy("evaluating"):
        evaluations = {str(path): _evaluate(judged, path, metric) for path in scores}
        tests = _tests(list(evaluations.values()), test, correction, seed)
    if json:
        print_json(_as_json(evaluations, tests, per_query))
        return
    _print_means(data, evaluations, tests)
    if per_query:
        for path, evaluation in evaluations.items():
            _print_queries(path, evaluation)


def _read(path: Path, missing: str) -> RankingData | Qrels:
    from podium.data import read_judged

    with reading([path]) as progress:
        return read_judged(path, missing=missing, progress=progress)  # type: ignore[arg-type]


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
    """For every system after the first and every metric: the test, and p corrected per metric."""
    from podium.errors import UnknownNameError
    from podium.metrics import CORRECTIONS, TESTS, correct, paired_test

    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, CORRECTIONS)
    first, *others = evaluations
    out: Tests = [{} for _ in others]
    for name in first if others else ():
        found = [
            paired_test(e[name].per_query, first[name].per_query, test, seed=seed) for e in others
        ]
        adjusted = correct([t.p_value for t in found], correction)
        for entry, result, p in zip(out, found, adjusted, strict=True):
            entry[name] = result, p
    return out


def _print_means(data: Path, evaluations: dict[str, Evaluation], tests: Tests) -> None:
    first = next(iter(evaluations.values()))
    rows = []
    for i, (path, evaluation) in enumerate(evaluations.items()):
        row = [path]
        for name in evaluation:
            mark = ""
            if i and tests[i - 1][name][1] < 0.05:
                mark = "▲" if tests[i - 1][name][0].difference > 0 else "▼"
            row.append(f"{evaluation[name].mean:.4f}{mark}")
        rows.append(row)
    print_table(f"{data}: {len(first.qids):,} queries", ["scores", *first], rows)
    if tests:
        typer.echo(f"▲▼ differs from {next(iter(evaluations))}, p < 0.05, corrected")


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
