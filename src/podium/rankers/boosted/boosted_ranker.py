"""Boosted rankers: the base of RankBoost, AdaRank and FocusedBoost, one weak ranker per round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.errors import DataError
from podium.rankers.boosted.rounds import Round
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Linear, Model, Stumps
from podium.rankers.parameters import Count
from podium.rankers.ranker import Ranker
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedRanker(Ranker):
    """A sum of weak rankers; validation queries choose how many.

    Parameters
    ----------
    rounds
        The maximum number of weak rankers.
    """

    rounds: Count = 300

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return int(self.rounds)

    @abstractmethod
    def _rounds(self, train: RankingData) -> Iterator[Round]:
        """Yield the rounds, one after another."""

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Add one weak ranker per round."""
        self._follow(self._rounds(train), train, monitor)
        return self._result(monitor)

    def _follow(self, steps: Iterator[Round], train: RankingData, monitor: FitMonitor) -> None:
        """Report the sum of the weak rankers after each round."""
        rounds: list[Round] = []
        scores = None if monitor.valid is None else np.zeros(len(monitor.valid))
        for one_round in steps:
            rounds.append(one_round)
            if monitor.valid is not None and scores is not None:
                scores += _weak_scores(one_round, monitor.valid.feature_column(one_round.feature))
            model = _prefix_model(rounds, len(rounds), train.n_features)
            monitor(one_round.objective, model, scores)

    def _result(self, monitor: FitMonitor) -> FitResult:
        """Return the kept model; raise if there was no round."""
        if monitor.model is None:
            raise DataError(
                f"no feature separates the labels, so {self.name} cannot learn; expected at "
                "least one feature that does"
            )
        return FitResult(monitor.model)


def _weak_scores(weak: Round, x: Any) -> Floats:
    x = x.astype(np.float64)
    return np.asarray(weak.alpha * (x if weak.threshold is None else x > weak.threshold))


def _prefix_model(rounds: list[Round], n: int, width: int) -> Callable[[], Model]:
    """Return a function that builds the model of the first n rounds."""
    return lambda: sum_of_rounds(rounds[:n], width)


def sum_of_rounds(rounds: list[Round], width: int) -> Model:
    """Return the model of some rounds: linear for single features, stumps for thresholds."""
    features = np.array([r.feature for r in rounds], dtype=np.int64)
    alphas = np.array([r.alpha for r in rounds])
    if rounds[0].threshold is None:
        return Linear(np.bincount(features, alphas, width).astype(np.float64))
    return Stumps(width, features, np.array([r.threshold for r in rounds]), alphas)
