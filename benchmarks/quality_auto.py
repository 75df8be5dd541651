"""`auto` beside tuned libraries, each with the same processor time: ``python -m benchmarks.quality_auto``.

Each cell is one contender on one fold with a budget of processor seconds and one thread, so that other
work on the machine does not matter. Finished cells are kept in results/quality_auto; a run measures only
those that are missing, and several runs may work at a time on different contenders. --fits measures single
fits with default settings instead: the losses with and without bagging. --docs only writes the tables.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import podium
from benchmarks.generated_problems import GENERATED
from benchmarks.quality import DATA, HERE
from benchmarks.tuned_peers import PEERS, PeerSearch
from podium.data import Fold
from podium.data.atomic_files import atomic_path
from podium.ensemble import AutoRanker, Bagged
from podium.experiments.folds import read_folds
from podium.rankers import CatBoostTrees, LambdaMART, Ranker
from podium.typing import Floats

CELLS = HERE / "results" / "quality_auto"
SETS = ("MQ2008", "OHSUMED")
METRICS = ("NDCG@10", "MAP")
DIGITS = 6
SEED = 0

AUTO, AUTO_STOPPED = "auto", "auto, validation queries only stop"
"""`auto`, which learns from all queries, and with validation queries that only choose iterations."""
WITHOUT = ("catboost",)
CONTENDERS = (*PEERS, AUTO, AUTO_STOPPED)

SINGLE_FITS: dict[str, Callable[[], Ranker]] = {
    "lambdarank": lambda: LambdaMART(loss="lambdarank"),
    "xendcg": lambda: LambdaMART(loss="xendcg"),
    "yetiloss": lambda: LambdaMART(loss="yetiloss"),
    "lambdarank, 8 bags": lambda: Bagged(LambdaMART(loss="lambdarank")),
    "xendcg, 8 bags": lambda: Bagged(LambdaMART(loss="xendcg")),
    "yetiloss, 8 bags": lambda: Bagged(LambdaMART(loss="yetiloss")),
    "yetiloss, random thresholds": lambda: _random_trees(),
    "yetiloss, random thresholds, 8 bags": lambda: Bagged(_random_trees()),
    "catboost YetiRank": lambda: CatBoostTrees(threads=1),
}


def _random_trees() -> LambdaMART:
    """Return the trees with random thresholds that `auto` tries, and their larger steps."""
    return LambdaMART(loss="yetiloss", leaves=31, random_thresholds=True, l2=5.0, learning_rate=0.1)


@dataclass(frozen=True)
class StudyCell:
    """One contender on one fold of one problem.

    Parameters
    ----------
    seconds
        The budget of processor time; None: one fit with default settings.
    """

    problem: str
    fold: int
    contender: str
    seconds: float | None

    @property
    def path(self) -> Path:
        """Return the file of the result."""
        folder = "fits" if self.seconds is None else f"{self.seconds:g}s"
        name = re.sub("[^A-Za-z0-9]+", "-", f"{self.problem} {self.fold + 1} {self.contender}")
        return CELLS / folder / f"{name}.json"

    def load(self) -> dict[str, Any] | None:
        """Return the result; None if it is not measured."""
        return json.loads(self.path.read_text()) if self.path.exists() else None

    def smaller(self) -> dict[str, Any] | None:
        """Return the result of the largest smaller budget; None if there is none."""
        budgets = sorted(float(folder.name[:-1]) for folder in CELLS.glob("*[0-9]s"))
        cells = [StudyCell(self.problem, self.fold, self.contender, b) for b in budgets]
        done = [c.load() for c in cells if c.seconds < self.seconds and c.path.exists()]  # type: ignore[operator]
        return done[-1] if done else None

    def measure(self, fold: Fold) -> dict[str, Any]:
        """Return the result of the contender."""
        if self.seconds is None:
            return _single_fit(SINGLE_FITS[self.contender](), fold)
        if self.contender in PEERS:
            return _tuned_peer(self, fold)
        return _auto(self.seconds, fold, learns_from_valid=self.contender == AUTO)

    def save(self, result: dict[str, Any]) -> None:
        """Keep the result."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        facts = {"date": datetime.now(UTC).date().isoformat(), "podium": podium.__version__}
        with atomic_path(self.path) as path:
            Path(path).write_text(json.dumps({**asdict(self), **facts, **result}) + "\n")


def _tuned_peer(cell: StudyCell, fold: Fold) -> dict[str, Any]:
    """Tune a peer; a larger budget continues the search of a smaller one."""
    assert cell.seconds is not None
    earlier = cell.smaller()
    begin = PeerSearch() if earlier is None else PeerSearch(**earlier["search"])
    best, scores = begin.run(PEERS[cell.contender](fold), cell.seconds, SEED + 1000 * cell.fold)
    if scores is None:
        assert earlier is not None
        return {"search": asdict(best), "per_query": earlier["per_query"]}
    return {"search": asdict(best), "per_query": _values(fold, scores)}


def _auto(seconds: float, fold: Fold, *, learns_from_valid: bool) -> dict[str, Any]:
    started = time.process_time()
    ranker = AutoRanker(
        budget=f"{seconds:g}s cpu", without=WITHOUT, learns_from_valid=learns_from_valid
    )
    ranker.fit(fold.train, valid=fold.valid)
    used = time.process_time() - started
    report = ranker.report_.to_dict()
    return {
        "report": report,
        "used": used,
        "per_query": _values(fold, ranker.predict(fold.test)),
    }


def _single_fit(ranker: Ranker, fold: Fold) -> dict[str, Any]:
    started = time.process_time()
    ranker.fit(fold.train, valid=fold.valid)
    used = time.process_time() - started
    return {"used": used, "per_query": _values(fold, ranker.predict(fold.test))}


def _values(fold: Fold, scores: Floats) -> dict[str, list[float]]:
    """Return the metrics of each test query."""
    result = podium.evaluate(fold.test, scores, METRICS)
    return {metric: result[metric].per_query.round(DIGITS).tolist() for metric in METRICS}


@cache
def problem_folds(problem: str, data: Path) -> Sequence[Fold]:
    """Return the folds of a LETOR set or of a generated problem."""
    return read_folds(data / problem) if problem in SETS else GENERATED[problem].folds()


def fold_count(problem: str) -> int:
    """Return the number of folds of a problem."""
    return 5 if problem in SETS else GENERATED[problem].n_folds


def measure_missing(cells: Sequence[StudyCell], data: Path) -> None:
    """Measure the cells without a result, in order."""
    for number, cell in enumerate(cells, start=1):
        if cell.path.exists():
            continue
        with warnings.catch_warnings(action="ignore"):
            cell.save(cell.measure(problem_folds(cell.problem, data)[cell.fold]))
        moment = datetime.now(UTC).strftime("%H:%M:%S")
        print(f"{moment} {number}/{len(cells)} {cell.path.relative_to(CELLS)}", flush=True)


def plan(options: argparse.Namespace) -> list[StudyCell]:
    """Return the cells of the options, fold by fold."""
    seconds = None if options.fits else options.seconds
    names = SINGLE_FITS if options.fits else CONTENDERS
    wanted = [name for name in names if not options.contenders or name in options.contenders]
    return [
        StudyCell(problem, fold, contender, seconds)
        for problem in options.problems
        for fold in range(fold_count(problem))
        if not options.folds or fold + 1 in options.folds
        for contender in wanted
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality_auto", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PODIUM_LETOR") or DATA))
    parser.add_argument("--seconds", type=float, default=600.0, help="processor time per cell")
    parser.add_argument("--fits", action="store_true", help="single fits instead of searches")
    parser.add_argument("--contenders", nargs="*", help="only these")
    parser.add_argument("--problems", nargs="*", default=SETS, help=", ".join((*SETS, *GENERATED)))
    parser.add_argument("--folds", nargs="*", type=int, help="only these, from 1")
    parser.add_argument("--docs", action="store_true", help="only write the tables")
    return parser.parse_args()


def main() -> None:
    """Measure what is missing and write the tables."""
    options = _options()
    # One thread, whatever the size of the data: processor time is what all contenders share.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if not options.docs:
        with threadpool_limits(1):
            measure_missing(plan(options), options.data)
    importlib.import_module("benchmarks.quality_auto_tables").write_tables()


if __name__ == "__main__":
    main()
