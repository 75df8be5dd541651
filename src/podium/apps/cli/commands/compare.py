"""``podium compare``: rankers over folds, a table while it runs, a report when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from podium.apps.cli.error_reports import fail, warnings_in_one_line
from podium.apps.cli.inputs.bagged_rankers import bag_ranker
from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.prepared_rankers import (
    encode_categories,
    missing_for,
    prepare_ranker,
)
from podium.apps.cli.inputs.ranker_settings import build_ranker
from podium.apps.cli.inputs.set_option import parse_settings
from podium.apps.cli.options.compare import CompareOptions
from podium.apps.cli.outputs.feature_table import scale_advice
from podium.apps.cli.outputs.printing import (
    print_json,
    print_notes,
    print_table,
    printable,
    stderr_console,
)
from podium.apps.cli.outputs.report_folder import check_report_folder
from podium.data import Fold, RankingData
from podium.data.atomic_files import make_folder
from podium.data.collections.manifest import is_collection
from podium.data.text_files import stem
from podium.errors import UnknownNameError, UsageError, require
from podium.experiments import report_tables
from podium.experiments.compare import ComparisonProgress
from podium.experiments.compare import compare as compare_rankers
from podium.experiments.compared_metrics import DEFAULT_METRICS
from podium.experiments.report import Report
from podium.experiments.single_feature import SingleFeature
from podium.rankers import Prepared, Ranker, innermost_ranker
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.parameters import parameter_types
from podium.registry import RANKERS, compared_rankers, load


def run_compare(options: CompareOptions) -> None:
    """Train rankers on every fold, compare them on the test queries and write a report."""
    contestants = _build_contestants(options)
    metrics = _check_metrics(options.metric)
    _check_jobs_and_baseline(options.jobs, options.baseline, contestants)
    for library in (
        "jinja2",
        "matplotlib.figure",
    ):  # missing ones are reported now, not after an hour
        require(library, "report", "writing report.html")
    check_report_folder(options.out, options.data, options.force)
    make_folder(options.out)
    data = _read(options, contestants)
    _check_baseline_feature(options.baseline_feature, data)
    if options.ignore_scaling:
        _ignore_scaling(contestants, data)
    contestants = _with_categories(contestants, data)
    if not options.json:
        learners = [r for r in contestants.values() if innermost_ranker(r).name in RANKERS]
        print_notes(scale_advice(data[0].train if isinstance(data, list) else data, learners))
    n_folds = len(data) if isinstance(data, list) else options.folds or 5
    with warnings_in_one_line(), _progress_display(list(contestants), n_folds, metrics[0]) as watch:
        try:
            report = compare_rankers(
                data, contestants, metrics, folds=n_folds, seed=options.seed, tune=options.tune,
                baseline=options.baseline, correction=options.correction, n_jobs=options.jobs,
                out=options.out, progress=watch, name=_data_name(options.data), failures="report",
            )  # fmt: skip
        except KeyboardInterrupt:
            fail(
                f"interrupted; finished work is kept in {options.out}, and the same command resumes",
                130,
            )
    report.save(options.out)
    if options.json:
        print_json(_as_json(report, options.out))
    else:
        _print(report, options.out)
    for text in report_tables.failures(report):
        typer.echo(f"podium: warning: {printable(text)}", err=True)
    if len(report.failed) == len(report.cells):
        fail("every ranker failed in every fold; nothing is compared", 1)


def _build_contestants(options: CompareOptions) -> dict[str, Ranker]:
    """Return the rankers to train, prepared as the options say, and the models of --fixed, by name."""
    plain = _build_rankers(options.rankers, options.setting, options.seed)
    prepared = {
        name: prepare_ranker(bag_ranker(ranker, options, seed=options.seed), options)
        for name, ranker in plain.items()
    }
    models = _load_models(options.fixed or [], options.rankers)
    return _feature_baseline(options, [*prepared, *models]) | prepared | models


def _feature_baseline(options: CompareOptions, others: Sequence[str]) -> dict[str, Ranker]:
    """Return the ranking by --baseline-feature, which is the baseline because it comes first.

    Only missing values are prepared: other steps could make different values equal.
    """
    feature = options.baseline_feature
    if feature is None:
        return {}
    if feature in others:
        raise UsageError(
            f"expected a baseline with a name of its own, got the feature and the ranker {feature}"
        )
    impute = "median" if options.impute in (None, "none") else options.impute
    return {feature: Prepared(SingleFeature(feature=feature), impute=impute, scale="none")}


def _check_baseline_feature(feature: str | None, data: RankingData | list[Fold]) -> None:
    """Raise if the data lacks the feature of the baseline, or if it is words."""
    sample = data[0].train if isinstance(data, list) else data
    numbers = [name for name in sample.names() if name not in sample.categories]
    if feature is not None and feature not in numbers:
        raise UnknownNameError("numeric feature in --baseline-feature", feature, numbers)


def _with_categories(
    contestants: dict[str, Ranker], data: RankingData | list[Fold]
) -> dict[str, Ranker]:
    """Return rankers that make numbers of the data's categories."""
    sample = data[0].train if isinstance(data, list) else data
    return {name: encode_categories(ranker, sample) for name, ranker in contestants.items()}


def _ignore_scaling(contestants: dict[str, Ranker], data: RankingData | list[Fold]) -> None:
    """Let the models of --fixed accept the data as if it were scaled like their training data."""
    scaled = data[0].test.scaled if isinstance(data, list) else data.scaled
    for model in contestants.values():
        if isinstance(model, ImportedRanker):
            model.trained_ = replace(model.trained_, scaled=scaled)


def _build_rankers(names: str, settings: list[str] | None, seed: int) -> dict[str, Ranker]:
    """Return the rankers by name, with their settings."""
    listed = [n.strip() for n in names.split(",") if n.strip()]
    listed = compared_rankers() if names == "all" else listed
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if not listed or twice is not None:
        got = f"{twice} twice" if twice else repr(names)
        raise UsageError(f"expected --rankers a,b,... each once, got {got}")
    own: dict[str, dict[str, Any]] = {name: {} for name in listed}
    for key, value in parse_settings(settings).items():
        ranker, dot, parameter = key.partition(".")
        if not dot or ranker not in own:
            raise UnknownNameError("ranker in --set RANKER.NAME=VALUE", ranker, own)
        own[ranker][parameter] = value
    for name, parameters in own.items():
        if name in RANKERS and "seed" in parameter_types(RANKERS[name]):
            parameters.setdefault("seed", seed)
    return {name: build_ranker(name, parameters) for name, parameters in own.items()}


def _load_models(paths: Sequence[Path], rankers: str) -> dict[str, Ranker]:
    """Return models that are not trained again, by the names of their files."""
    models: dict[str, Ranker] = {}
    for path in paths:
        if path.stem in models or path.stem in rankers.split(","):
            raise UsageError(f"expected names that differ, got {path.stem} twice; rename {path}")
        ranker = load(path)
        fixed = ImportedRanker.from_model(ranker.model_, ranker.name, ranker.trained_.feature_names)
        fixed.trained_ = ranker.trained_
        models[path.stem] = fixed
    return models


def _check_metrics(names: list[str] | None) -> list[str]:
    """Return the metrics, by default those of a comparison; raise if a name is wrong."""
    metrics = names or list(DEFAULT_METRICS)
    for metric in metrics:
        check_metric(metric, takes_several=True)
    return metrics


def _check_jobs_and_baseline(
    jobs: int, baseline: str | None, rankers: Sequence[str] | dict[str, Ranker]
) -> None:
    if jobs == 0:
        raise UsageError("expected --jobs of 1 or more, or -1 for all cores, got 0")
    if baseline is not None and baseline not in rankers:
        raise UnknownNameError("baseline among the rankers", baseline, rankers).advise(
            python="",
            command_line=f"a baseline is one of --rankers; if it is a feature: --baseline-feature {baseline}",
        )


def _read(options: CompareOptions, rankers: dict[str, Ranker]) -> RankingData | list[Fold]:
    paths, missing = options.data, missing_for(options.missing, *rankers.values())
    reader = InputFiles(
        missing, options, is_quiet=options.json, learns=True,
        maps_rows=all(ranker.fits_from_disk for ranker in rankers.values()),
    )  # fmt: skip
    if not any(path.is_dir() for path in paths) or any(is_collection(path) for path in paths):
        return reader.read(paths)
    if len(paths) > 1:
        raise UsageError(f"expected one folder, or files, got {len(paths)} paths with a folder")
    return reader.read_folds(paths[0]) if options.folds is None else reader.read_folder(paths[0])


def _data_name(paths: list[Path]) -> str:
    names = [path.resolve().name if path.is_dir() else stem(path) for path in paths]
    return ", ".join(names)


STATE_MARKS = {"waiting": ("·", "dim"), "running": ("…", "cyan"), "failed": ("failed", "red")}


@contextmanager
def _progress_display(
    rankers: list[str], n_folds: int, metric: str
) -> Iterator[Callable[[ComparisonProgress], None]]:
    """Show a table of all cells that fills while they run."""
    console = stderr_console()
    if not console.is_terminal:
        yield lambda progress: None
        return
    cells: dict[tuple[str, int], ComparisonProgress] = {}
    table = _progress_table(rankers, n_folds, metric, cells)
    with Live(table, console=console, transient=True, refresh_per_second=8) as live:

        def note(progress: ComparisonProgress) -> None:
            cells[progress.ranker, progress.fold] = progress
            live.update(_progress_table(rankers, n_folds, metric, cells))

        yield note


def _progress_table(
    rankers: Sequence[str],
    n_folds: int,
    metric: str,
    cells: dict[tuple[str, int], ComparisonProgress],
) -> Any:
    n_finished = sum(progress.state != "running" for progress in cells.values())
    table = Table(title=f"{n_finished} of {len(rankers) * n_folds} cells, {metric} on test")
    table.add_column("ranker")
    for fold in range(1, n_folds + 1):
        table.add_column(f"fold {fold}", justify="right", no_wrap=True)
    for ranker in rankers:
        table.add_row(ranker, *(_cell_text(cells.get((ranker, f + 1))) for f in range(n_folds)))
    return table


def _cell_text(progress: ComparisonProgress | None) -> Any:
    if progress is not None and progress.value is not None:
        return Text(f"{progress.value:.4f}", "green" if progress.state == "done" else "dim green")
    return Text(*STATE_MARKS["waiting" if progress is None else progress.state])


def _print(report: Report, out: Path) -> None:
    print_table(report_tables.headline(report), *report_tables.means(report))
    if len(report.rankers) > 1:
        test = f"paired permutation test, correction: {report.correction}"
        headers, rows = report_tables.tests(report)
        print_table(f"Against {report.baseline} ({test})", headers, rows, text_columns=2)
    for note in report_tables.notes(report):
        typer.echo(printable(note))
    typer.echo(f"Written: {out / 'report.html'} and .md, .tex, .csv, .json beside it")


def _as_json(report: Report, out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "data": report.data.name,
        "queries": report.data.n_queries,
        "folds": len(report.folds),
        "baseline": report.baseline,
        "measured": dict(report.measured),
        "rankers": {ranker: _ranker_json(report, ranker) for ranker in report.rankers},
        "failed": [
            {"ranker": cell.ranker, "fold": cell.fold, "error": cell.error}
            for cell in report.failed
        ],
    }


def _ranker_json(report: Report, ranker: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for metric in report.metrics:
        standing = report.standing(ranker, metric)
        out[metric] = {"mean": standing.mean, "low": standing.low, "high": standing.high}
        difference = standing.difference
        if difference is not None:
            out[metric]["against_baseline"] = {
                "difference": difference.mean, "p_value": difference.p_value,
                "p_corrected": difference.adjusted, "wins": difference.wins,
                "ties": difference.ties, "losses": difference.losses,
            }  # fmt: skip
    return out
