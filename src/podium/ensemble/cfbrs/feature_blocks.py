"""Feature blocks: a ranker for each block, and the combination of the blocks' scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from podium.aggregation import Aggregator, PointAggregator, Rankings
from podium.aggregation.aggregator import round_scores, weighted_sum
from podium.data import RankingData
from podium.data.groups import Groups
from podium.data.scaling import SCALERS
from podium.ensemble.cfbrs.composition_plan import CompositionPlan, Features
from podium.errors import NotConvergedWarning, NothingLearnedWarning, UsageError
from podium.rankers.least_squares import LeastSquares, nested_weights, pair_moments
from podium.rankers.models import Linear, Model
from podium.rankers.ranker import Ranker
from podium.task_runner import current_runner
from podium.typing import Floats

LossFactor = Callable[[int], float]
"""Size of a block -> the factor on its loss."""


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A block's model, and why its fit stopped early; the reason is empty if it converged."""

    model: Model
    reason: str = ""


def fit_blocks(
    base: Ranker,
    plan: CompositionPlan,
    train: RankingData,
    valid: RankingData | None = None,
    *,
    loss_factor: LossFactor | None = None,
    n_jobs: int | None = None,
) -> list[BlockFit]:
    """Fit a ranker on each block of a plan, in the plan's order.

    Blocks with the same start are a chain: each fit starts from the weights of the last one if the
    ranker converges to an optimum. joblib fits chains in parallel, with any backend, or the cluster in use
    does. Chains are
    independent, so the number of jobs does not change the result. Least squares needs one Gram
    matrix, and one factorisation per chain.

    Parameters
    ----------
    loss_factor
        The factor on the loss, by the size of a block; None: 1.
    """
    if isinstance(base, LeastSquares) and loss_factor is None:
        chains = _solve_least_squares(base, plan, train)
    else:
        varying = _varying_features(train)
        keep = base.keeps_best or base.needs_validation()
        tasks = (
            delayed(_fit_chain)(
                base, [plan.orders[number][start, end] for end in ends], varying, train,
                valid if keep else None, loss_factor,
            )
            for number, start, ends in plan.chains
        )  # fmt: skip
        runner = current_runner()
        chains = Parallel(n_jobs=n_jobs)(tasks) if runner is None else list(runner.run(tasks))
    return [fit for fits in chains for fit in fits]


def estimate_seconds(
    base: Ranker, plan: CompositionPlan, train: RankingData, valid: RankingData | None = None
) -> float:
    """Return about how long all blocks take on one core, from a fit of three blocks of typical sizes."""
    by_size = sorted(plan.blocks, key=len)
    typical = [by_size[round(share * (len(by_size) - 1))] for share in (0.1, 0.5, 0.9)]
    started = time.perf_counter()
    keep = base.keeps_best or base.needs_validation()
    varying = _varying_features(train)
    for block in typical:
        _fit_chain(base, [block], varying, train, valid if keep else None, None)
    return (time.perf_counter() - started) / len(typical) * len(plan.blocks)


def _solve_least_squares(
    base: LeastSquares, plan: CompositionPlan, train: RankingData
) -> list[list[BlockFit]]:
    """Solve every chain by least squares."""
    gram, moment = pair_moments(train)
    chains = []
    for number, start, ends in plan.chains:
        features = np.array(plan.orders[number].features[start : ends[-1]])
        sizes = [end - start for end in ends]
        weights = nested_weights(gram, moment, base.C, features, sizes)
        chains.append([BlockFit(Linear(w[np.argsort(features[: len(w)])])) for w in weights])
    return chains


def _varying_features(data: RankingData) -> NDArray[np.bool_]:
    """Return which features vary within a query; other features cannot rank."""
    X, groups = data.X, data.groups
    return np.asarray((groups.reduce(np.fmax, X) > groups.reduce(np.fmin, X)).any(axis=0))


def _fit_chain(
    base: Ranker,
    blocks: Sequence[Features],
    varying: NDArray[np.bool_],
    train: RankingData,
    valid: RankingData | None,
    loss_factor: LossFactor | None,
) -> list[BlockFit]:
    fits: list[BlockFit] = []
    last_weights: dict[int, float] = {}
    for block in blocks:
        columns = np.array(block)
        if not varying[columns].any():  # all documents are tied, whatever the ranker
            fits.append(BlockFit(Linear(np.zeros(len(block)))))
            continue
        ranker = clone(base)
        if loss_factor is not None:
            ranker.set_params(**scaled_loss_settings(base, loss_factor(len(block))))
        start = None
        if last_weights:
            start = Linear(np.array([last_weights.get(j, 0.0) for j in block]))
        own_valid = valid and _select_features(valid, columns)
        fit = _fit_block(ranker, _select_features(train, columns), own_valid, start)
        if isinstance(fit.model, Linear) and not ranker.keeps_best:
            last_weights = dict(zip(block, fit.model.weights.tolist(), strict=True))
        fits.append(fit)
    return fits


def _select_features(data: RankingData, columns: NDArray[np.int64]) -> RankingData:
    names = data.feature_names
    selected = None if names is None else [names[j] for j in columns.tolist()]
    return data.with_features(data.X[:, columns], selected)


def _fit_block(
    ranker: Ranker, train: RankingData, valid: RankingData | None, start: Model | None
) -> BlockFit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", NothingLearnedWarning)
        learned, _ = ranker.train_model(train, valid, start=start)
    if learned.reason == "interrupted":
        raise KeyboardInterrupt
    return BlockFit(learned.model, "" if learned.converged else learned.reason or "not converged")


def scaled_loss_settings(base: Ranker, factor: float) -> dict[str, Any]:
    """Return the settings of a ranker that multiply its loss by `factor`."""
    settings = base.get_params(deep=False)
    if "C" in settings:
        return {"C": settings["C"] * factor}
    if "l2" in settings:
        return {"l2": settings["l2"] / factor}
    raise UsageError(
        f"{base.name} has no parameter C or l2, so its loss cannot be scaled; use "
        "scale_loss=False or another base"
    )


def describe_unfinished(fits: Sequence[BlockFit]) -> str:
    """Return how many fits stopped early, and why the first did; empty if none did."""
    reasons = [fit.reason for fit in fits if fit.reason]
    return f"{len(reasons)} of {len(fits)} blocks, the first: {reasons[0]}" if reasons else ""


# --- the scores of many blocks as one ---


@dataclass(frozen=True)
class BlockCombination:
    """How the scores of blocks are combined: summed, or as ranks, by an aggregator.

    All ways are sums over compositions: sum_c W(c) sum_{b in c} u(b) v_b is sum_b weight(b) v_b,
    where v_b are a block's scores, its Borda points or its distance to an order. So one weight per
    block replaces any number of compositions.

    Parameters
    ----------
    aggregator
        The aggregator of the blocks' rankings; None: scores are summed.
    normalise
        "zscore": scores are scaled to mean 0 and standard deviation 1 in each query before they are
        summed. A block that ties all documents of a query adds nothing to that query.
    """

    aggregator: Aggregator | None = None
    normalise: Literal["zscore"] | None = None

    @property
    def is_linear(self) -> bool:
        """Whether an ensemble of linear blocks is linear."""
        return self.aggregator is None and self.normalise is None

    def votes(self, scores: Floats, groups: Groups) -> BlockVotes:
        """Return the votes of the blocks, whose scores have one column per block."""
        if self.aggregator is None:
            if self.normalise == "zscore":
                scores = zscores(scores, groups)
            return BlockVotes(scores)
        rankings = Rankings.from_scores(groups, scores, keep=False)
        if isinstance(self.aggregator, PointAggregator):
            return BlockVotes(self.aggregator.points(rankings), digits=12)
        return BlockVotes(None, rankings, self.aggregator)


@dataclass(frozen=True, eq=False)
class BlockVotes:
    """The votes of blocks on documents; a call with the blocks' weights returns one score per document."""

    points: Floats | None
    rankings: Rankings | None = None
    aggregator: Aggregator | None = None
    digits: int | None = None

    def __call__(self, weights: Floats) -> Floats:
        """Return the weighted mean of the points, or the aggregator's order of the rankings."""
        used = np.flatnonzero(weights)
        shares = weights[used] / np.sum(weights)
        if self.points is not None:
            scores = weighted_sum(self.points[:, used], shares)
            return scores if self.digits is None else round_scores(scores)
        assert self.rankings is not None
        assert self.aggregator is not None
        rankings = Rankings(self.rankings.places[:, used], self.rankings.groups)
        return self.aggregator(rankings, shares).scores


def zscores(scores: Floats, groups: Groups) -> Floats:
    """Return (s - mean) / sd in each query; 0 if all scores are equal up to rounding.

    Examples
    --------
    >>> scores = np.array([[1.0, 0.1 + 0.2], [3.0, 0.3]])
    >>> zscores(scores, Groups.from_sizes([2])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    scaled = np.asarray(SCALERS["zscore"](groups, scores), dtype=np.float64)
    low, high = groups.reduce(np.minimum, scores), groups.reduce(np.maximum, scores)
    size = np.maximum(np.abs(low), np.abs(high))
    scaled[groups.spread(high - low <= 1e-12 * size)] = 0.0
    return scaled
