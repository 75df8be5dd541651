"""Every ranker with the same measurements: ``python -m benchmarks.choosing [--data DIR] [--docs]``.

Quality over folds by `podium.compare`, and for one fit its time, the time to score and the size
of the model. It takes about 7 minutes on one core. Writes results/choosing.json,
docs/figures/choosing.svg and the table in docs/choosing.md; with --docs only figure and table, from the
saved results.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import podium
from benchmarks.quality import HERE, options_of
from podium.data import Fold, rotate
from podium.errors import NotConvergedWarning
from podium.experiments import PALETTE, save_figure
from podium.experiments.compare import ComparisonProgress
from podium.experiments.demo import Demo
from podium.experiments.report import Report
from podium.registry import compared_rankers, make_ranker
from podium_papers.markdown import table

RESULTS = HERE / "results" / "choosing.json"
PAGE = HERE.parent / "docs" / "choosing.md"
PICTURE = HERE.parent / "docs" / "figures" / "choosing.svg"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->"

LETOR = ("MQ2008", "OHSUMED")
LIBRARY = "library"
METRICS = ("NDCG@10", "MAP")
BASELINE = "ranksvm"
REPEATS = 9


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Return all measurements as plain values for JSON."""
    # Each process has one thread: more threads would only wait for each other.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    folds = {name: letor(data / name) for name in LETOR}
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "python": platform.python_version(),
        "alone": {
            name: measure_alone(name, folds["MQ2008"][0])
            for name in compared_rankers(with_extras=True)
        },
        "quality": {
            **{
                name: summarise(compare_rankers(name, parts, jobs)) for name, parts in folds.items()
            },
            LIBRARY: summarise(compare_on_library(jobs)),
        },
    }


def compare_rankers(name: str, folds: list[Fold], jobs: int) -> Report:
    """Compare every ranker with its defaults; a run that was stopped continues."""
    return podium.compare(
        folds, compared_rankers(with_extras=True), METRICS, tune=False, baseline=BASELINE, n_jobs=jobs,
        progress=print_progress, out=Path(tempfile.gettempdir()) / "podium-choosing" / name, name=name,
    )  # fmt: skip


def compare_on_library(jobs: int) -> Report:
    """Compare BM25 and every ranker on the demo's corpus, with the demo's settings."""
    demo = Demo.prepare()
    rankers = {
        **{name: make_ranker(name) for name in compared_rankers(with_extras=True)},
        **demo.rankers(),
    }
    return podium.compare(
        demo.folds, rankers, METRICS, tune=False, baseline=BASELINE, seed=demo.seed, n_jobs=jobs,
        progress=print_progress, name=LIBRARY,
    )  # fmt: skip


def letor(folder: Path) -> list[Fold]:
    """Read LETOR's own five folds."""
    return rotate([podium.read_letor(folder / f"S{i}.txt.xz") for i in range(1, 6)])


def summarise(report: Report) -> dict[str, Any]:
    """Return means over test queries, and whether they differ from the baseline's."""
    assert not report.failed
    return {
        ranker: {
            "mean": {metric: report.standing(ranker, metric).mean for metric in report.metrics},
            "mark": {metric: report.standing(ranker, metric).mark for metric in report.metrics},
        }
        for ranker in report.rankers
    }


def print_progress(step: ComparisonProgress) -> None:
    if step.state != "running":
        print(f"{step.done}/{step.total} {step.ranker} {step.fold} {step.state}", flush=True)


def measure_alone(name: str, fold: Fold) -> dict[str, float]:
    """Return the cost of a fit with defaults: processor seconds, ms per 1,000 documents, bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        seconds, ranker = processor_time(
            lambda: make_ranker(name).fit(fold.train, valid=fold.valid)
        )
    scored = [processor_time(lambda: ranker.predict(fold.test))[0] for _ in range(REPEATS)]
    with tempfile.TemporaryDirectory() as folder:
        ranker.save(Path(folder) / "model.podium")
        n_bytes = (Path(folder) / "model.podium").stat().st_size
    return {
        "fit": seconds,
        "predict": statistics.median(scored) * 1e6 / len(fold.test.y),
        "bytes": n_bytes,
    }


def processor_time(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call, which other work does not change, and its result."""
    started = time.process_time()
    value = run()
    return time.process_time() - started, value


def draw(result: dict[str, Any]) -> None:
    """Draw docs/figures/choosing.svg: quality against the time of a fit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    for i, ranker in enumerate(
        sorted(compared_rankers(with_extras=True), key=lambda of: result["alone"][of]["fit"])
    ):
        x = result["alone"][ranker]["fit"]
        y = result["quality"]["MQ2008"][ranker]["mean"]["NDCG@10"]
        axes.plot([x], [y], "o", markersize=4, color=PALETTE[5])
        is_name_on_top = i % 2 == 0  # neighbours have their names on different sides
        axes.annotate(
            ranker, (x, y), (0, 4 if is_name_on_top else -4), textcoords="offset points", fontsize=7,
            ha="center", va="bottom" if is_name_on_top else "top",
        )  # fmt: skip
    axes.set(xscale="log", xlabel="processor seconds of a fit, MQ2008", ylabel="NDCG@10")
    axes.margins(0.1)
    axes.grid(alpha=0.25)
    save_figure(figure, PICTURE)


def section(result: dict[str, Any]) -> str:
    """Return the text between the marks of docs/choosing.md."""
    heads = ["ranker"]
    heads += [f"{name} {metric}" for name in LETOR for metric in METRICS]
    heads += ["library NDCG@10", "fit, s", "1,000 documents, ms", "model, kB"]
    rows = []
    for name in compared_rankers(with_extras=True):
        cells = {data: result["quality"][data][name] for data in (*LETOR, LIBRARY)}
        own = result["alone"][name]
        row = [f"`{name}`"]
        row += [cell_text(cells[data], metric) for data in LETOR for metric in METRICS]
        row.append(cell_text(cells[LIBRARY], "NDCG@10"))
        row += [f"{own['fit']:.2f}", f"{own['predict']:.2f}", f"{own['bytes'] / 1000:,.0f}"]
        rows.append(row)
    first = result["quality"][LIBRARY]["bm25"]
    rows.append(["BM25", "", "", "", "", cell_text(first, "NDCG@10"), "", "", ""])
    return "\n".join(
        [
            f"Made by `python -m benchmarks.choosing` with podium {result['podium']} on Python "
            f"{result['python']}, {result['date']}.",
            "",
            *table(heads, rows),
            "",
        ]
    )


def cell_text(cell: dict[str, Any], metric: str) -> str:
    """Return a mean, and whether it differs from the baseline's."""
    return f"{cell['mean'][metric]:.4f} {cell['mark'][metric]}".strip()


def insert_table(page: str, result: dict[str, Any]) -> str:
    """Return the page with the measured table between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + section(result) + END + rest.split(END)[1]


def main() -> None:
    """Measure, draw and write the table."""
    options = options_of("choosing", __doc__)
    if not options.docs:
        RESULTS.write_text(json.dumps(measure(options.data, options.jobs), indent=1) + "\n")
    result = json.loads(RESULTS.read_text())
    draw(result)
    PAGE.write_text(insert_table(PAGE.read_text(), result))


if __name__ == "__main__":
    main()
