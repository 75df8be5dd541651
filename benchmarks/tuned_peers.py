"""LightGBM, XGBoost and CatBoost, each tuned by a random search within a budget of processor time.

Each peer has its own space of settings. The first trial has the library's defaults, the others are drawn by
the seed, until the budget is used. NDCG@10 on the validation queries stops each fit, by the library's own
early stopping, and chooses the trial. A fit that reaches the end of the budget keeps its best round.
"""

from __future__ import annotations

import importlib
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

import podium
from podium.data import Fold, RankingData
from podium.typing import Floats

METRIC = "NDCG@10"
MAX_ROUNDS, PATIENCE = 2000, 50


@dataclass(frozen=True)
class ProcessorTimer:
    """The end of a budget of this process's processor time; `earlier` seconds are used already."""

    seconds: float
    earlier: float = 0.0
    started: float = field(default_factory=lambda: time.process_time())

    @property
    def used(self) -> float:
        """The processor time so far."""
        return self.earlier + time.process_time() - self.started

    @property
    def is_over(self) -> bool:
        """Whether the budget is used."""
        return self.used >= self.seconds


@dataclass(frozen=True, eq=False)
class PeerFit:
    """One trial: scores of validation and test queries at the best round."""

    valid: Floats
    test: Floats
    rounds: int


class Peer(ABC):
    """A library with its space of settings."""

    name: ClassVar[str]
    defaults: ClassVar[dict[str, Any]]

    def __init__(self, fold: Fold) -> None:
        self.fold = fold

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw settings."""

    @abstractmethod
    def fit(self, settings: dict[str, Any], timer: ProcessorTimer, seed: int) -> PeerFit:
        """Fit with these settings until validation stops the fit or the budget is used."""


@dataclass(frozen=True)
class PeerSearch:
    """The state of a random search: the best trial, and what the search has cost.

    Parameters
    ----------
    valid
        The metric of the best trial on the validation queries.
    settings, rounds, fit_seconds
        Its settings, its number of trees, and the processor time of its fit.
    """

    trials: int = 0
    seconds: float = 0.0
    valid: float = -math.inf
    settings: dict[str, Any] = field(default_factory=dict)
    rounds: int = 0
    fit_seconds: float = 0.0

    def run(self, peer: Peer, seconds: float, seed: int) -> tuple[PeerSearch, Floats | None]:
        """Continue until the budget is used; return the test scores, too, if a better trial is there."""
        timer, rng = ProcessorTimer(seconds, self.seconds), np.random.default_rng(seed)
        for _ in range(self.trials - 1):  # the earlier search drew these
            peer.draw(rng)
        best, scores = self, None
        while not timer.is_over:
            settings = peer.draw(rng) if best.trials else peer.defaults
            before = timer.used
            fit = peer.fit(settings, timer, seed + best.trials)
            value = float(podium.evaluate(peer.fold.valid, fit.valid, METRIC)[METRIC].mean)
            if value > best.valid:
                cost = timer.used - before
                best = PeerSearch(best.trials, 0.0, value, settings, fit.rounds, cost)
                scores = fit.test
            best = replace(best, trials=best.trials + 1, seconds=timer.used)
        return best, scores


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{rng.uniform(low, high):.3g}")


def _log_between(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def _is_short(data: RankingData) -> int:
    """Return the largest useful minimum of documents per leaf."""
    return max(1, len(data) // 50)


class LightGBMPeer(Peer):
    """LightGBM's own training with one of its two ranking objectives."""

    objective: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {"learning_rate": 0.1}

    def __init__(self, fold: Fold) -> None:
        super().__init__(fold)
        self._lightgbm = importlib.import_module("lightgbm")
        fixed = {"feature_pre_filter": False, "num_threads": 1, "verbosity": -1}
        self._train = self._dataset(fold.train, params=fixed)
        self._valid = self._dataset(fold.valid, reference=self._train, params=fixed)

    def _dataset(self, data: RankingData, **more: Any) -> Any:
        return self._lightgbm.Dataset(data.X, data.y, group=data.groups.sizes, **more)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw settings."""
        top = {"lambdarank_truncation_level": int(rng.integers(10, 31))}
        return {
            "learning_rate": _log_between(rng, 0.01, 0.3),
            "num_leaves": int(_log_between(rng, 4, 128)),
            "min_data_in_leaf": min(int(_log_between(rng, 5, 200)), _is_short(self.fold.train)),
            "feature_fraction": _between(rng, 0.3, 1),
            "bagging_fraction": _between(rng, 0.5, 1),
            "bagging_freq": 1,
            "bagging_by_query": bool(rng.integers(0, 2)),
            "lambda_l2": _log_between(rng, 1e-3, 100),
            **(top if self.objective == "lambdarank" else {}),
        }

    def fit(self, settings: dict[str, Any], timer: ProcessorTimer, seed: int) -> PeerFit:
        """Fit with these settings until validation stops the fit or the budget is used."""
        lgb = self._lightgbm
        rounds: list[float] = []

        def stop_at_end(step: Any) -> None:
            rounds.append(step.evaluation_result_list[0][2])
            if timer.is_over:
                raise lgb.callback.EarlyStopException(step.iteration, step.evaluation_result_list)

        parameters = {
            "objective": self.objective, "metric": "ndcg", "eval_at": [10], "num_threads": 1,
            "seed": seed, "verbosity": -1, "feature_pre_filter": False, **settings,
        }  # fmt: skip
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        booster = lgb.train(
            parameters, self._train, MAX_ROUNDS, valid_sets=[self._valid], callbacks=[stop, stop_at_end]
        )  # fmt: skip
        best = int(np.argmax(rounds)) + 1
        predict = [booster.predict(p.X, num_iteration=best, num_threads=1) for p in self.fold[1:]]
        return PeerFit(*predict, best)


class LambdaRankPeer(LightGBMPeer):
    """LightGBM's lambdarank."""

    name = "LightGBM lambdarank"
    objective = "lambdarank"


class XendcgPeer(LightGBMPeer):
    """LightGBM's rank_xendcg."""

    name = "LightGBM rank_xendcg"
    objective = "rank_xendcg"


class XGBoostPeer(Peer):
    """XGBoost's rank:ndcg."""

    name = "XGBoost rank:ndcg"
    defaults: ClassVar[dict[str, Any]] = {"eta": 0.1}

    def __init__(self, fold: Fold) -> None:
        super().__init__(fold)
        self._xgboost = xgb = importlib.import_module("xgboost")
        train, valid, test = fold
        self._train = xgb.QuantileDMatrix(train.X, train.y, group=train.groups.sizes, nthread=1)
        self._valid = xgb.QuantileDMatrix(
            valid.X, valid.y, group=valid.groups.sizes, ref=self._train, nthread=1
        )
        self._matrices = [xgb.DMatrix(part.X, nthread=1) for part in (valid, test)]

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw settings."""
        by_head = bool(rng.integers(0, 2))
        pairs = int(rng.integers(8, 33)) if by_head else int(rng.integers(1, 9))
        return {
            "eta": _log_between(rng, 0.01, 0.3),
            "max_depth": int(rng.integers(3, 9)),
            "min_child_weight": _log_between(rng, 1e-2, 30),
            "subsample": _between(rng, 0.5, 1),
            "colsample_bytree": _between(rng, 0.3, 1),
            "reg_lambda": _log_between(rng, 1e-1, 100),
            "lambdarank_pair_method": "topk" if by_head else "mean",
            "lambdarank_num_pair_per_sample": pairs,
        }

    def fit(self, settings: dict[str, Any], timer: ProcessorTimer, seed: int) -> PeerFit:
        """Fit with these settings until validation stops the fit or the budget is used."""
        xgb = self._xgboost

        class EndOfBudget(xgb.callback.TrainingCallback):  # type: ignore[name-defined]
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return timer.is_over

        parameters = {
            "objective": "rank:ndcg", "eval_metric": "ndcg@10", "tree_method": "hist", "nthread": 1,
            "seed": seed, "verbosity": 0, **settings,
        }  # fmt: skip
        booster = xgb.train(
            parameters, self._train, MAX_ROUNDS, evals=[(self._valid, "valid")],
            early_stopping_rounds=PATIENCE, callbacks=[EndOfBudget()], verbose_eval=False,
        )  # fmt: skip
        best = booster.best_iteration + 1
        return PeerFit(
            *(booster.predict(m, iteration_range=(0, best)) for m in self._matrices), best
        )


class CatBoostPeer(Peer):
    """CatBoost's YetiRank."""

    name = "CatBoost YetiRank"
    defaults: ClassVar[dict[str, Any]] = {"learning_rate": 0.1}

    def __init__(self, fold: Fold) -> None:
        super().__init__(fold)
        self._catboost = importlib.import_module("catboost")
        self._pools = [self._pool(part) for part in fold]

    def _pool(self, data: RankingData) -> Any:
        X = data.X.astype(np.float32)
        return self._catboost.Pool(X, data.y, group_id=data.groups.codes, thread_count=1)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw settings."""
        by_weight = {"bootstrap_type": "Bayesian", "bagging_temperature": _between(rng, 0, 1.5)}
        by_rows = {"bootstrap_type": "Bernoulli", "subsample": _between(rng, 0.5, 1)}
        return {
            "learning_rate": _log_between(rng, 0.01, 0.3),
            "depth": int(rng.integers(3, 9)),
            "l2_leaf_reg": _log_between(rng, 0.5, 50),
            "random_strength": _between(rng, 0, 2),
            "rsm": _between(rng, 0.3, 1),
            **(by_weight if rng.integers(0, 2) else by_rows),
        }

    def fit(self, settings: dict[str, Any], timer: ProcessorTimer, seed: int) -> PeerFit:
        """Fit with these settings until validation stops the fit or the budget is used."""

        class EndOfBudget:
            def after_iteration(self, _: Any) -> bool:
                return not timer.is_over

        booster = self._catboost.CatBoost(
            {
                "loss_function": "YetiRank",
                "iterations": MAX_ROUNDS,
                "random_seed": seed,
                "eval_metric": "NDCG:top=10;type=Exp;hints=skip_train~true",
                "use_best_model": True,
                "od_type": "Iter",
                "od_wait": PATIENCE,
                "thread_count": 1,
                "logging_level": "Silent",
                "allow_writing_files": False,
                **settings,
            }
        )
        train, valid, test = self._pools
        booster.fit(train, eval_set=valid, callbacks=[EndOfBudget()])
        predict = [booster.predict(pool, thread_count=1) for pool in (valid, test)]
        return PeerFit(*predict, int(booster.tree_count_))


PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (CatBoostPeer, LambdaRankPeer, XendcgPeer, XGBoostPeer)
}
