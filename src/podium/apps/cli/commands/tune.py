"""``podium tune``: settings chosen on validation queries."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from podium.apps.cli.error_reports import fail, warnings_in_one_line
from podium.apps.cli.inputs.bagged_rankers import bag_ranker
from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.prepared_rankers import (
    encode_categories,
    missing_for,
    prepare_ranker,
    with_scaling,
)
from podium.apps.cli.inputs.ranker_settings import build_grid, build_ranker
from podium.apps.cli.inputs.set_option import flatten, parse_grid, parse_settings, settings_text
from podium.apps.cli.options.tune import TuneOptions
from podium.apps.cli.outputs.feature_table import scale_advice
from podium.apps.cli.outputs.printing import finite_or_none, print_json, print_notes, print_table
from podium.apps.cli.outputs.progress import training_bar
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced, model_name_note
from podium.data.atomic_files import check_target
from podium.rankers import Ranker, Trial, Tuning, innermost_ranker
from podium.rankers import tune as tune_ranker


def run_tune(options: TuneOptions) -> None:
    """Train a ranker with every setting of a grid and keep the best on the validation data."""
    plain, values = _plan(options.ranker, options.setting, options.grid)
    learner = prepare_ranker(bag_ranker(plain, options, jobs=options.jobs), options)
    check_metric(options.metric)
    check_target(options.out, *options.inputs, *options.valid)
    check_not_replaced([options.out], options.force)
    missing = missing_for(options.missing, learner)
    files = InputFiles(missing, options, is_quiet=options.json, learns=True, ranker=learner)
    train = files.read(options.inputs)
    learner = encode_categories(learner, train)
    if not options.json:
        print_notes(scale_advice(train, [learner]))
    held_out = files.read_validation(options.valid, train)
    if options.ignore_scaling:
        held_out = with_scaling(held_out, train.scaled)
    started, n_done = time.perf_counter(), 0
    total = math.prod(map(len, values.values()))
    with warnings_in_one_line(), training_bar(f"{options.ranker} 1/{total}") as (advance, rename):

        def count_trial(trial: Trial, total: int) -> None:
            nonlocal n_done
            n_done += 1
            rename(f"{options.ranker} {min(n_done + 1, total)}/{total}")

        tuning = tune_ranker(
            learner, train, held_out, options.metric, values, warm=options.warm, callback=advance,
            trial_callback=count_trial,
        )  # fmt: skip
    tuning.ranker.save(options.out)
    if options.json:
        print_json(_as_json(tuning, options.out, time.perf_counter() - started))
    else:
        _print(tuning, options.out)
        print_notes(model_name_note(options.out))
    if not tuning.finished:
        fail(
            f"interrupted after {len(tuning.trace)} of {total} settings; "
            f"the best model so far is in {options.out}",
            130,
        )


def _plan(
    ranker: str, setting: list[str] | None, grid: list[str] | None
) -> tuple[Ranker, dict[str, Any]]:
    """Return the ranker, and the values to try."""
    settings, values_to_try = parse_settings(setting), parse_grid(grid)
    learner = build_ranker(ranker, settings)
    # A parameter that --set fixes is not tried; a metric that --set fixes is not replaced by --metric.
    own = {name: values for name, values in learner.grid.items() if name not in settings}
    values = build_grid(ranker, settings, values_to_try) if values_to_try else own
    if "metric" in settings:
        values = {"metric": (settings["metric"],), **values}
    return learner, values


def _print(tuning: Tuning, out: Path) -> None:
    rows = [
        [
            settings_text(trial.settings),
            f"{trial.value:.4f}{'*' if trial.settings == tuning.settings else ' '}",
            f"{trial.iterations:,}" + ("" if trial.converged else "!"),
        ]
        for trial in tuning.trace
    ]
    headers = ["settings", f"{tuning.metric} ", "iterations"]
    print_table(f"{innermost_ranker(tuning.ranker).name}, validation; * is in {out}", headers, rows)


def _as_json(tuning: Tuning, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "model": str(out),
        "ranker": innermost_ranker(tuning.ranker).name,
        "metric": tuning.metric,
        "settings": flatten(tuning.settings),
        "validation": finite_or_none(tuning.value),
        "trace": [
            {
                "settings": flatten(trial.settings),
                "validation": finite_or_none(trial.value),
                "iterations": trial.iterations,
                "converged": trial.converged,
            }
            for trial in tuning.trace
        ],
        "finished": tuning.finished,
        "seconds": round(seconds, 3),
    }
