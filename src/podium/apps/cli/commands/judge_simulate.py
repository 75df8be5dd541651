"""``podium judge simulate``: count the judgments of simulated assessors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from podium import labelling
from podium.apps.cli.options.judge_simulate import JudgeSimulateOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.labelling import Simulation


def run_judge_simulate(options: JudgeSimulateOptions) -> None:
    """Print how many judgments finding the top k takes, with simulated assessors."""
    names = list(dict.fromkeys(options.strategies or labelling.STRATEGIES))
    strategies = [labelling.strategy_named(name) for name in names]
    if all(strategy.trusts_answers for strategy in strategies):
        labelling.check_confidence(options.confidence, names[0])
    rates = options.noise or [0.0]
    noise = rates[0] if len(rates) == 1 else rates
    with spinner("simulating"):
        simulations = [
            labelling.simulate(
                name,
                options.documents,
                options.top,
                noise,
                options.ties,
                options.seed,
                not options.ask_implied,
                options.runs,
                options.prior_tau,
                options.errors,  # type: ignore[arg-type]
                options.left_share,
                None if strategy.trusts_answers else options.confidence,
            )
            for name, strategy in zip(names, strategies, strict=True)
        ]
    if options.json:
        print_json([_describe(simulation) for simulation in simulations])
    else:
        size = f"the top {options.top:,} of {options.documents:,} documents"
        _print(simulations, f"Judgments for {size}, {options.runs:,} runs")


def _describe(simulation: Simulation) -> dict[str, Any]:
    settings = (
        "strategy", "n", "k", "noise", "ties", "seed", "skip_implied", "runs", "prior_tau", "errors",
        "left_share", "confidence", "mean", "bound", "recall", "overlap", "gain",
    )  # fmt: skip
    return {
        **{name: getattr(simulation, name) for name in settings},
        "expected_recall": None if math.isnan(simulation.certainty) else simulation.certainty,
        "calibration": None if math.isnan(simulation.calibration) else simulation.calibration,
        "quantiles": {str(share): value for share, value in simulation.quantiles.items()},
        "most": int(simulation.judgments.max()),
        "judgments": simulation.judgments.tolist(),
    }


def _print(simulations: Sequence[Simulation], title: str) -> None:
    rows = [
        [
            simulation.strategy,
            f"{simulation.mean:,.1f}",
            *(f"{simulation.quantiles[share]:,.0f}" for share in (0.05, 0.5, 0.95)),
            f"{simulation.judgments.max():,}",
            f"{simulation.bound:,}",
            f"{simulation.recall:.4f}",
            f"{simulation.overlap:.3f}",
            f"{simulation.gain:.3f}",
            "" if math.isnan(simulation.certainty) else f"{simulation.certainty:.3f}",
            "" if math.isnan(simulation.calibration) else f"{simulation.calibration:.3f}",
        ]
        for simulation in simulations
    ]
    headers = [
        "strategy",
        "mean",
        "5 %",
        "50 %",
        "95 %",
        "most",
        "bound",
        "recall",
        "overlap",
        "gain",
        "expected",
        "at 90 %",
    ]
    print_table(title, headers, rows)
