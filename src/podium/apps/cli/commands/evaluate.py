"""``podium evaluate``: scores against labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.inputs.argument_order import advice_on_order
from podium.apps.cli.inputs.chosen_cluster import check_is_collection
from podium.apps.cli.inputs.input_files import InputFiles, reading_bar
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.options.evaluate import EvaluateOptions
from podium.apps.cli.outputs.printing import print_json, print_table, printable
from podium.apps.cli.outputs.progress import spinner
from podium.data import Collection, IndexedRun, Qrels, RankingData, detect_format, read_scores
from podium.errors import DataError, UsageError
from podium.metrics import Evaluation, PairedTest, correct, evaluate, paired_test

EVALUATE_ORDER = (
    "the labelled data comes first, then scores: podium evaluate DATA SCORES; podium predict MODEL DATA "
    "-o SCORES writes scores"
)


def run_evaluate(options: EvaluateOptions) -> None:
    """Evaluate scores on labelled data; several score files are compared with the first."""
    for name in options.metric:
        check_metric(name, takes_several=True)
    if options.cluster is not None:
        check_is_collection([options.data])
    if len({path.resolve() for path in options.scores}) < len(options.scores):
        raise UsageError("expected different score files, got one of them twice")
    files = InputFiles(options.missing, options, is_quiet=options.json)
    with advice_on_order(EVALUATE_ORDER):
        judged = _read_judged(files, options)
    with advice_on_order(EVALUATE_ORDER):
        evaluations = {
            str(path): _evaluate(judged, path, options.metric) for path in options.scores
        }
        tests = _test_against_first(
            list(evaluations.values()), options.test, options.correction, options.seed
        )
    if options.json:
        print_json(_as_json(evaluations, tests, options.per_query))
        return
    _print_means(options.data, evaluations, tests)
    if len(evaluations) > 1:
        _print_tests(evaluations, tests, f"{options.test} test, correction: {options.correction}")
    if options.per_query:
        for path, evaluation in evaluations.items():
            _print_queries(path, evaluation)


Judged = RankingData | Qrels | Collection


def _read_judged(files: InputFiles, options: EvaluateOptions) -> Judged:
    """Return the labels; a collection stays on disk."""
    if options.data.is_dir():
        return files.open_collection([options.data])
    return files.read_judgments(options.data)


def _evaluate(judged: Judged, path: Path, metrics: list[str]) -> Evaluation:
    if detect_format(path) == "run":
        if isinstance(judged, RankingData):
            judged = Qrels.from_data(judged)
        run = IndexedRun(path)
        evaluation = _evaluate_on(judged, run, metrics)
        _warn_of_queries(evaluation.qids.tolist(), run, path)
        return evaluation
    if isinstance(judged, Qrels):
        raise UsageError(f"expected a TREC run to judge by qrels, got plain scores in {path}")
    values = read_scores(path)
    if len(values) != len(judged):
        raise DataError(
            f"expected {len(judged)} scores, one for each document, got {len(values)}; score the same "
            f"data again, as in: podium predict MODEL DATA -o {path}",
            path=str(path),
        )
    return _evaluate_on(
        judged, judged.regroup(values) if isinstance(judged, RankingData) else values, metrics
    )


def _evaluate_on(judged: Judged, scores: Any, metrics: list[str]) -> Evaluation:
    """Evaluate, with a progress bar if the labels are read meanwhile."""
    if not isinstance(judged, Collection):
        with spinner("evaluating"):
            return evaluate(judged, scores, metrics)
    with reading_bar([], judged.n_bytes) as progress:
        return evaluate(judged, scores, metrics, progress=progress)


def _warn_of_queries(judged: list[str], run: IndexedRun, path: Path) -> None:
    """Warn of judged queries that a run lacks: they count as 0."""
    absent = [qid for qid in judged if qid not in run]
    if not absent:
        return
    count = f"{len(absent):,} of {len(judged):,} judged queries"
    text = f"{path} has no documents for {count}, such as {min(absent)}; they count as 0"
    typer.echo(f"podium: warning: {printable(text)}", err=True)


TestsByMetric = list[dict[str, tuple[PairedTest, float]]]


def _test_against_first(
    evaluations: Sequence[Evaluation], test: str, correction: str, seed: int
) -> TestsByMetric:
    """Test every system after the first on every metric; p is corrected per metric.

    A metric is left out if too few queries have a value.
    """
    first, *others = evaluations
    tests: TestsByMetric = [{} for _ in others]
    for name in first if others else ():
        weight = first[name].weight
        try:
            paired_tests = [
                paired_test(
                    e[name].per_query, first[name].per_query, test, weight=weight, seed=seed
                )
                for e in others
            ]
        except DataError:
            continue
        adjusted = correct([t.p_value for t in paired_tests], correction)
        for entry, result, p in zip(tests, paired_tests, adjusted, strict=True):
            entry[name] = result, p
    return tests


def _print_means(data: Path, evaluations: dict[str, Evaluation], tests: TestsByMetric) -> None:
    first = next(iter(evaluations.values()))
    rows = []
    for i, (path, evaluation) in enumerate(evaluations.items()):
        marks = (
            {name: _significance_mark(*result) for name, result in tests[i - 1].items()}
            if i
            else {}
        )
        means = [f"{evaluation[name].mean:.4f}{marks.get(name, '')}" for name in evaluation]
        rows.append([path, *means])
    print_table(f"{data}, queries: {len(first.qids):,}", ["scores", *first], rows)


def _significance_mark(test: PairedTest, p: float) -> str:
    return "" if p >= 0.05 else "▲" if test.difference > 0 else "▼"


def _print_tests(evaluations: dict[str, Evaluation], tests: TestsByMetric, title: str) -> None:
    first, *others = evaluations
    rows = [
        [path, name, f"{t.difference:+.4f}", f"{p:.4f}", f"{t.wins}/{t.ties}/{t.losses}"]
        for path, entry in zip(others, tests, strict=True)
        for name, (t, p) in entry.items()
    ]
    headers = ["scores", "metric", "difference", "p", "wins/ties/losses"]
    if rows:
        print_table(f"Against {first} ({title})", headers, rows, text_columns=2)
    else:
        typer.echo("Not compared: a test needs at least 2 queries with a value in both.")


def _print_queries(path: str, evaluation: Evaluation) -> None:
    rows = [
        [str(qid), *(f"{evaluation[name].per_query[q]:.4f}" for name in evaluation)]
        for q, qid in enumerate(evaluation.qids.tolist())
    ]
    print_table(path, ["query", *evaluation], rows)


def _as_json(
    evaluations: dict[str, Evaluation], tests: TestsByMetric, per_query: bool
) -> dict[str, Any]:
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
