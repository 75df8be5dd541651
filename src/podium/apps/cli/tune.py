"""``podium tune``: settings chosen on validation queries."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    fail,
    print_json,
    print_table,
    read_files,
    reports_errors,
    training,
    warnings_in_one_line,
)
from podium.apps.cli.settings import (
    Grid,
    Set,
    build_grid,
    build_ranker,
    flatten,
    parse_grid,
    parse_settings,
    settings_text,
)
from podium.apps.cli.train import (
    Out,
    RankerName,
    TrainFiles,
    check_measure,
    finite,
)

if TYPE_CHECKING:
    from podium.rankers import Ranker, Trial, Tuning

EXAMPLE = """Example: podium tune ranksvm train.txt --valid vali.txt -o best.podium --grid C=0.01,0.1,1

Without --grid the ranker's own grid is tried, its paper's (podium rankers)."""


@reports_errors
def tune(
    ranker: RankerName,
    inputs: TrainFiles,
    out: Out,
    valid: Annotated[
        list[Path],
        typer.Option(exists=True, dir_okay=False, help="Validation data; it chooses."),
    ],
    grid: Grid = None,
    setting: Set = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="What is maximised on the validation data.")
    ] = "NDCG@10",
    warm: Annotated[
        bool,
        typer.Option(
            help="Start each fit from the last one on its path, or anew, as podium train does."
        ),
    ] = True,
    missing: Missing = "error",
    json: Json = False,
) -> None:
    """Train a ranker with every setting of a grid and keep the best on the validation data."""
    from podium.data.files import check_target
    from podium.rankers import tune as tune_ranker

    learner, values = _plan(ranker, setting, grid)
    check_measure(metric)
    check_target(out, *inputs, *valid)
    train, held_out = read_files(inputs, missing), read_files(valid, missing)
    started, done = time.perf_counter(), 0
    total = math.prod(len(tried) for tried in values.values())
    with warnings_in_one_line(), training(f"{ranker} 1/{total}") as (advance, say):

        def each(trial: Trial, total: int) -> None:
            nonlocal done
            done += 1
            say(f"{ranker} {min(done + 1, total)}/{total}")

        found = tune_ranker(
            learner, train, held_out, metric, values, warm=warm, callback=advance, each=each
        )  # fmt: skip
    found.ranker.save(out)
    if json:
        print_json(_as_json(found, out, time.perf_counter() - started))
    else:
        _print(found, out)
    if not found.finished:
        fail(
            f"interrupted after {len(found.trace)} of {total} settings; "
            f"the best model so far is in {out}",
            130,
        )


def _plan(
    ranker: str, setting: list[str] | None, grid: list[str] | None
) -> tuple[Ranker, dict[str, Any]]:
    """The ranker, and the values to try."""
    settings, tried = parse_settings(setting), parse_grid(grid)
    learner = build_ranker(ranker, settings)
    # What is fixed by --set is not tried; a metric set there is not replaced by --metric.
    own = {name: values for name, values in learner.grid.items() if name not in settings}
    values = build_grid(ranker, settings, tried) if tried else own
    if "metric" in settings:
        values = {"metric": (settings["metric"],), **values}
    return learner, values


def _print(found: Tuning, out: Path) -> None:
    rows = [
        [
            settings_text(trial.settings),
            f"{trial.value:.4f}{'*' if trial.settings == found.settings else ' '}",
            f"{trial.iterations:,}" + ("" if trial.converged else "!"),
        ]
        for trial in found.trace
    ]
    headers = ["settings", f"{found.metric} ", "iterations"]
    print_table(f"{found.ranker.name}, validation; * is in {out}", headers, rows)


def _as_json(found: Tuning, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "model": str(out),
        "ranker": found.ranker.name,
        "metric": found.metric,
        "settings": flatten(found.settings),
        "validation": finite(found.value),
        "trace": [
            {
                "settings": flatten(trial.settings),
                "validation": finite(trial.value),
                "iterations": trial.iterations,
                "converged": trial.converged,
            }
            for trial in found.trace
        ],
        "finished": found.finished,
        "seconds": round(seconds, 3),
    }
