"""FocusedSVM's tolerance, quality and time: ``python -m benchmarks.focused_svm [--data LETOR_DIR]``.

LETOR_DIR holds MQ2008 and MQ2008-agg, as for `podium reproduce`. The truth is MQ2008's grades with ties
broken by the Borda consensus of MQ2008-agg's rankers, k = 10, as in `podium reproduce topk`: beta is chosen
on validation queries, each value is the mean over the test queries of five folds. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import DATA
from podium.data import Fold, concatenate, draw_truth
from podium.experiments.folds import read_folds
from podium.rankers import FocusedSVM
from podium_papers.data_sets import read_rankings
from podium_papers.markdown import table
from podium_papers.topk.rankers import BETAS, contestants, run_fold
from podium_papers.total_orders import consensus_folds

K = 10
METRIC = "kNDCG@10"
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


class RankerMeasurement(NamedTuple):
    """Values of all test queries, test means by fold and beta, and seconds per fold."""

    values: NDArray[np.float64]
    curves: NDArray[np.float64]
    seconds: float


def measure(folds: list[Fold], ranker: str, **settings: object) -> RankerMeasurement:
    """Run one ranker of the top-k paper over all folds."""
    contestant = contestants("top-k", K)[ranker]
    contestant.ranker.set_params(**settings)
    values, curves, start = [], [], time.process_time()
    for fold in folds:
        [tested] = run_fold(fold, "top-k", {ranker: contestant})
        values.extend(tested.values[METRIC])
        curves.append(tested.curves.get(METRIC, ()))
    seconds = (time.process_time() - start) / len(folds)
    return RankerMeasurement(np.array(values), np.array(curves), seconds)


def truth_folds(folder: Path) -> list[Fold]:
    """Read MQ2008's folds with the first k places of the Borda order as truth."""
    rankings = concatenate(read_rankings(folder / "MQ2008-agg"))
    orders = consensus_folds(read_folds(folder / "MQ2008"), rankings)
    return [Fold(*(draw_truth(part, K, 0) for part in fold)) for fold in orders]


def lead(measured: RankerMeasurement, base: RankerMeasurement) -> str:
    """Return the mean difference from the base and its standard error over queries."""
    difference = measured.values - base.values
    return f"{difference.mean():+.4f} ({difference.std(ddof=1) / np.sqrt(len(difference)):.4f})"


def tolerances(folds: list[Fold], base: RankerMeasurement) -> list[str]:
    """Return a table of the tolerances: with beta chosen, and the move of each beta from the tightest fit."""
    by_eps = {eps: measure(folds, "focused-svm", eps=eps) for eps in TOLERANCES}
    tightest = by_eps[TOLERANCES[-1]].curves
    rows = []
    for eps, measured in by_eps.items():
        moved = np.abs(measured.curves - tightest)
        rows.append(
            [f"{eps:g}", f"{measured.values.mean():.4f}", lead(measured, base),
             f"{moved.mean():.4f}", f"{moved.max():.4f}", f"{measured.seconds / len(BETAS):.3f}"]
        )  # fmt: skip
    headers = ["eps", METRIC, "lead on `ranksvm` (standard error)", "mean move", "largest move",
               "seconds per fit"]  # fmt: skip
    return table(headers, rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.focused_svm", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, metavar="LETOR_DIR")
    folds = truth_folds(parser.parse_args().data)
    base = measure(folds, "ranksvm")
    print(
        f"ranksvm {base.values.mean():.4f}, svm-map {measure(folds, 'svm-map').values.mean():.4f}"
    )
    print("\n".join(tolerances(folds, base)), flush=True)
    # The contestants of the paper have a larger tolerance, that of the saved results.
    scaled = measure(folds, "focused-svm", scale_pairs=True, eps=FocusedSVM().eps)
    print(f"scale_pairs=True: {scaled.values.mean():.4f}")
    print(f"lead {lead(scaled, base)}, {scaled.seconds / len(BETAS):.3f} seconds per fit")


if __name__ == "__main__":
    main()
