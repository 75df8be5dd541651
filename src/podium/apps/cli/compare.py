"""``podium compare``: rankers over folds, a table while it runs, a report when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    MissingChoice,
    Seed,
    fail,
    print_json,
    print_table,
    printable,
    read_files,
    reading,
    reports_errors,
    warnings_in_one_line,
)
from podium.apps.cli.settings import build_ranker, parse_settings

if TYPE_CHECKING:
    from podium.data import Fold, RankingData
    from podium.experiments.compare import ComparisonProgress
    from podium.experiments.report import Report
    from podium.rankers import Ranker

EXAMPLE = """Example: podium compare MQ2008 --rankers ranksvm,listnet --baseline ranksvm --out mq2008

A run that was stopped goes on where it was when the same command is given again. Settings are chosen
on validation queries, by the first metric. In --out: report.html, .md, .tex, .csv, .json, times.json."""

Correction = Literal["holm", "bonferroni", "bh", "none"]


@reports_errors
def compare(
    data: Annotated[
        list[Path],
        typer.Argument(
            exists=True, metavar="DATA...",
            help="A LETOR folder (S1.txt ... or Fold1 ... with train.txt, vali.txt, test.txt), or files "
            "of LETOR text or Parquet, whose queries are cut into folds.",
        ),
    ],
    rankers: Annotated[
        str, typer.Option(help="Rankers by name, with commas between; or all. See podium rankers.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", file_okay=False, metavar="DIR", help="Where it is written.")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", help="May be given several times; the first one chooses settings. "
            "NDCG@10, ERR@10 and MAP without it.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=3, help="Into how many parts files are cut: 5. A folder has its own."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The ranker the others are tested against: the first.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="RANKER.NAME=VALUE",
            help="A parameter of one of the rankers, as in lambdamart.trees=200; it is not tuned then.",
        ),
    ] = None,
    fixed: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="MODEL",
            help="A model file that is measured as it is, not trained, under the name of the file: of "
            "podium train or podium import. May be given several times.",
        ),
    ] = None,
    tune: Annotated[bool, typer.Option(help="Choose settings on validation queries.")] = True,
    correction: Annotated[
        Correction, typer.Option(help="Of p-values, for the number of rankers.")
    ] = "holm",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Cells at a time; -1: a core each.")] = 1,
    missing: Missing = "error",
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Train rankers on every fold, compare them on the test queries and write a report."""
    from podium.data.durability import make_folder
    from podium.errors import UsageError, require
    from podium.experiments.compare import compare as compare_rankers

    contestants = _rankers(rankers, setting, seed) | _fixed(fixed or [], rankers)
    metrics = _metrics(metric)
    _check(jobs, baseline, contestants)
    if folds is not None and any(path.is_dir() for path in data):
        raise UsageError(f"expected --folds for files; a folder has its own, got --folds {folds}")
    for library in ("jinja2", "matplotlib.figure"):  # not after an hour
        require(library, "report", "writing report.html")
    make_folder(out)
    given = _read(data, missing)
    parts = _n_folds(given, folds)
    with warnings_in_one_line(), _watching(list(contestants), parts, metrics[0]) as watch:
        try:
            report = compare_rankers(
                given, contestants, metrics, folds=parts, seed=seed, tune=tune, baseline=baseline,
                correction=correction, n_jobs=jobs, out=out, progress=watch, name=_name(data),
            )  # fmt: skip
        except KeyboardInterrupt:
            fail(f"interrupted; what is done is kept in {out}, and the same command goes on", 130)
    report.save(out)
    if json:
        print_json(_as_json(report, out))
    else:
        _print(report, out)
    for cell in report.failed:
        text = f"{cell.ranker} failed in fold {cell.fold}: {cell.error}"
        typer.echo(f"podium: warning: {printable(text)}", err=True)
    if len(report.failed) == len(report.cells):
        fail("every ranker failed in every fold; nothing is compared", 1)


def _rankers(names: str, settings: list[str] | None, seed: int) -> dict[str, Ranker]:
    """The rankers by name, with the settings that are theirs."""
    from podium.errors import UnknownNameError, UsageError
    from podium.rankers.parameters import hints
    from podium.registry import RANKERS

    wanted = list(RANKERS) if names == "all" else [n.strip() for n in names.split(",") if n.strip()]
    twice = next((name for name in wanted if wanted.count(name) > 1), None)
    if not wanted or twice is not None:
        got = f"{twice} twice" if twice else repr(names)
        raise UsageError(f"expected --rankers a,b,... each once, got {got}")
    own: dict[str, dict[str, Any]] = {name: {} for name in wanted}
    for key, value in parse_settings(settings).items():
        ranker, dot, parameter = key.partition(".")
        if not dot or ranker not in own:
            raise UnknownNameError("ranker in --set RANKER.NAME=VALUE", ranker, own)
        own[ranker][parameter] = value
    for name, given in own.items():
        if name in RANKERS and "seed" in hints(RANKERS[name]):
            given.setdefault("seed", seed)
    return {name: build_ranker(name, given) for name, given in own.items()}


def _fixed(paths: Sequence[Path], rankers: str) -> dict[str, Ranker]:
    """Models as they are, by the names of their files."""
    from podium.errors import UsageError
    from podium.rankers.imported import Imported
    from podium.registry import load

    found: dict[str, Ranker] = {}
    for path in paths:
        if path.stem in found or path.stem in rankers.split(","):
            raise UsageError(f"expected names that differ, got {path.stem} twice; rename {path}")
        made = load(path)
        trained = made.trained_
        found[path.stem] = Imported.of(
            made.model_, made.name, trained.feature_names, trained.scaled
        )
    return found


def _metrics(given: list[str] | None) -> list[str]:
    from podium.apps.cli.train import check_measure
    from podium.experiments.measures import DEFAULT_METRICS

    metrics = given or list(DEFAULT_METRICS)
    for metric in metrics:
        check_measure(metric)
    return metrics


def _check(jobs: int, baseline: str | None, rankers: Sequence[str] | dict[str, Ranker]) -> None:
    from podium.errors import UnknownNameError, UsageError

    if jobs == 0:
        raise UsageError("expected --jobs of 1 or more, or -1 for all cores, got 0")
    if baseline is not None and baseline not in rankers:
        raise UnknownNameError("baseline among the rankers", baseline, rankers)


def _read(paths: list[Path], missing: MissingChoice) -> RankingData | list[Fold]:
    from podium.errors import UsageError
    from podium.experiments.folds import fold_files, read_folds

    if not any(path.is_dir() for path in paths):
        return read_files(paths, missing)
    if len(paths) > 1:
        raise UsageError(f"expected one folder, or files, got {len(paths)} paths with a folder")
    files = [f for one in fold_files(paths[0]) for f in (one if isinstance(one, tuple) else (one,))]
    with reading(files) as progress:
        return read_folds(paths[0], missing=missing, progress=progress)


def _n_folds(given: RankingData | list[Fold], folds: int | None) -> int:
    return len(given) if isinstance(given, list) else folds or 5


def _name(paths: list[Path]) -> str:
    from podium.data.files import stem

    path = paths[0].resolve()
    return path.name if path.is_dir() else stem(path)


_STATES = {"waiting": ("·", "dim"), "running": ("…", "cyan"), "failed": ("failed", "red")}


@contextmanager
def _watching(
    rankers: list[str], n_folds: int, metric: str
) -> Iterator[Callable[[ComparisonProgress], None]]:
    """A table of all cells that fills while they are run."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda told: None
        return
    found: dict[tuple[str, int], ComparisonProgress] = {}
    table = _progress_table(rankers, n_folds, metric, found)
    with Live(table, console=console, transient=True, refresh_per_second=8) as live:

        def note(told: ComparisonProgress) -> None:
            found[told.ranker, told.fold] = told
            live.update(_progress_table(rankers, n_folds, metric, found))

        yield note


def _progress_table(
    rankers: Sequence[str],
    n_folds: int,
    metric: str,
    found: dict[tuple[str, int], ComparisonProgress],
) -> Any:
    from rich.table import Table

    over = sum(told.state != "running" for told in found.values())
    table = Table(title=f"{over} of {len(rankers) * n_folds} cells, {metric} on test")
    table.add_column("ranker")
    for fold in range(1, n_folds + 1):
        table.add_column(f"fold {fold}", justify="right", no_wrap=True)
    for ranker in rankers:
        table.add_row(ranker, *(_cell(found.get((ranker, f + 1))) for f in range(n_folds)))
    return table


def _cell(told: ComparisonProgress | None) -> Any:
    from rich.text import Text

    if told is not None and told.value is not None:
        return Text(f"{told.value:.4f}", "green" if told.state == "done" else "dim green")
    return Text(*_STATES["waiting" if told is None else told.state])


def _print(report: Report, out: Path) -> None:
    from podium.experiments import tables

    print_table(tables.headline(report), *tables.means(report))
    if len(report.rankers) > 1:
        how = f"paired permutation test, correction: {report.correction}"
        headers, rows = tables.tests(report)
        print_table(f"Against {report.baseline} ({how})", headers, rows, text_columns=2)
    for note in tables.notes(report):
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
        d = standing.difference
        if d is not None:
            out[metric]["against_baseline"] = {
                "difference": d.mean, "p_value": d.p_value, "p_corrected": d.adjusted,
                "wins": d.wins, "ties": d.ties, "losses": d.losses,
            }  # fmt: skip
    return out
