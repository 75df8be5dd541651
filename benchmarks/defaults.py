"""Every ranker's defaults on generated problems of many shapes: ``python -m benchmarks.defaults``.

NDCG@10 on test queries, pooled over seeds, minus that of ranksvm on the same queries. A ranker that is
significantly below ranksvm by more than MAX_LOSS needs a warning in docs/choosing.md; the table there is
the warning. It takes about 5 minutes on one core. Writes results/defaults.json and the table; with
--docs only the table, from the saved results.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import podium
from podium.data import Fold, RankingData
from podium.errors import NotConvergedWarning, NothingLearnedWarning
from podium.metrics import paired_test
from podium.registry import compared_rankers, make_ranker
from podium.typing import Floats
from podium_papers.markdown import table

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "defaults.json"
PAGE = HERE.parent / "docs" / "choosing.md"
BEGIN, END = "<!-- defaults: begin -->\n", "<!-- defaults: end -->"

METRIC = "NDCG@10"
BASELINE = "ranksvm"
MAX_LOSS = 0.01
"""A ranker may be this much below the baseline without a warning."""
MAX_P_VALUE = 0.05
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class ProblemShape:
    """A kind of generated problem: how many training queries, and the settings of `make_synthetic`."""

    n_train: int = 100
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fold(self, seed: int, n_test: int = 200) -> Fold:
        """Generate training, validation (half as many) and test queries with one truth."""
        n_valid = self.n_train // 2
        settings = {"n_docs": 20, "n_features": 20, "noise": 0.5, **self.settings}
        data = podium.make_synthetic(
            n_queries=self.n_train + n_valid + n_test, seed=seed, **settings
        )
        ends = np.cumsum([self.n_train, n_valid, n_test])
        parts = [data.subset(q) for q in np.split(np.arange(ends[-1]), ends[:-1])]
        return Fold(*parts)


SHAPES: dict[str, ProblemShape] = {
    "three grades": ProblemShape(),
    "binary labels": ProblemShape(settings={"grades": (0.7, 0.3)}),
    "five grades": ProblemShape(settings={"grades": (0.5, 0.2, 0.15, 0.1, 0.05)}),
    "one relevant document": ProblemShape(settings={"grades": (0.95, 0.05)}),
    "few queries": ProblemShape(n_train=20),
    "many features": ProblemShape(settings={"n_features": 150}),
    "short lists": ProblemShape(settings={"n_docs": (2, 8)}),
    "long lists": ProblemShape(n_train=40, settings={"n_docs": 200}),
    "sparse features": ProblemShape(settings={"features": "sparse"}),
    "heavy ties": ProblemShape(settings={"features": "levels"}),
    "skewed features": ProblemShape(settings={"features": "skewed"}),
    "noisy labels": ProblemShape(settings={"noise": 2.0}),
    "half of the queries blank": ProblemShape(settings={"blank": 0.5}),
    "nonlinear truth": ProblemShape(settings={"truth": "nonlinear", "n_features": 5}),
}
"""The shapes by the names that the docs use."""


class DefaultsResult(NamedTuple):
    """A ranker's mean metric on one shape, its difference to the baseline, and the p-value of a t-test."""

    mean: float
    difference: float
    p_value: float

    @property
    def needs_warning(self) -> bool:
        """Whether the ranker is significantly below the baseline by more than MAX_LOSS."""
        return self.difference < -MAX_LOSS and self.p_value < MAX_P_VALUE


def values_per_query(ranker: str, fold: Fold) -> Floats:
    """Return the metric of each test query for a ranker with its defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", NothingLearnedWarning)
        fitted = make_ranker(ranker).fit(fold.train, valid=fold.valid)
    return evaluate_queries(fold.test, fitted.predict(fold.test))


def evaluate_queries(data: RankingData, scores: Floats) -> Floats:
    """Return the metric of each query."""
    return np.asarray(podium.evaluate(data, scores, METRIC)[METRIC].per_query)


def compare_to_baseline(values: Floats, baseline: Floats) -> DefaultsResult:
    """Return the comparison of the metric of each query with that of the baseline."""
    if np.array_equal(values, baseline):
        return DefaultsResult(float(values.mean()), 0.0, 1.0)
    test = paired_test(values, baseline)
    return DefaultsResult(float(values.mean()), float(test.difference), float(test.p_value))


def measure(rankers: Sequence[str], shapes: Sequence[str], jobs: int) -> dict[str, Any]:
    """Return all comparisons as plain values for JSON."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    names = [BASELINE, *(name for name in rankers if name != BASELINE)]
    cells = [(shape, ranker) for shape in shapes for ranker in names]
    pooled = Parallel(n_jobs=jobs, verbose=5)(
        delayed(_pooled_values)(shape, ranker) for shape, ranker in cells
    )
    values = dict(zip(cells, pooled, strict=True))
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "python": platform.python_version(),
        "shapes": {
            shape: {
                name: compare_to_baseline(values[shape, name], values[shape, BASELINE])._asdict()
                for name in names
            }
            for shape in shapes
        },
    }


def _pooled_values(shape: str, ranker: str) -> Floats:
    return np.concatenate([values_per_query(ranker, SHAPES[shape].fold(seed)) for seed in SEEDS])


def section(result: dict[str, Any]) -> str:
    """Return the text between the marks of docs/choosing.md."""
    shapes = result["shapes"]
    first = next(iter(shapes.values()))
    heads = ["shape", "`ranksvm`", "significantly below by more than .01"]
    rows = []
    for shape, by_ranker in shapes.items():
        results = {name: DefaultsResult(**value) for name, value in by_ranker.items()}
        worse = sorted((r.difference, name) for name, r in results.items() if r.needs_warning)
        text = ", ".join(f"`{name}` {difference:+.3f}" for difference, name in worse) or "none"
        rows.append([shape, f"{results[BASELINE].mean:.3f}", text])
    return "\n".join(
        [
            f"Made by `python -m benchmarks.defaults` with podium {result['podium']} on Python "
            f"{result['python']}, {result['date']}: {len(first)} rankers, {len(SEEDS)} problems of each "
            "shape, 200 test queries each.",
            "",
            *table(heads, rows),
            "",
        ]
    )


def insert_table(page: str, result: dict[str, Any]) -> str:
    """Return the page with the table between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + section(result) + END + rest.split(END)[1]


def main() -> None:
    """Measure and write the table; with RANKER or --shape only print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("rankers", nargs="*", metavar="RANKER", help="by default all; print only")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="print only")
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--docs", action="store_true", help="only write the table")
    options = parser.parse_args()
    if not options.docs:
        result = measure(
            options.rankers or list(compared_rankers()), options.shape or list(SHAPES), options.jobs
        )
        if options.rankers or options.shape:
            print(json.dumps(result["shapes"], indent=1))
            return
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    PAGE.write_text(insert_table(PAGE.read_text(), json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
