"""A ranker for every block of features, each fitted once, chains of growing blocks side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from podium.data import RankingData
from podium.ensemble.plan import Features, Plan
from podium.errors import NotConvergedWarning, UsageError
from podium.rankers.least_squares import LeastSquares, nested, pair_moments
from podium.rankers.models import Linear, Model
from podium.rankers.ranker import Ranker

Strength = Callable[[int], float]
"""What the loss of a block of so many features counts, against what it counts by itself."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A block's model, and why its fit stopped, where that was too early."""

    model: Model
    reason: str = ""


def fit_blocks(
    base: Ranker,
    plan: Plan,
    train: RankingData,
    valid: RankingData | None = None,
    *,
    strength: Strength | None = None,
    n_jobs: int | None = None,
) -> list[Fitted]:
    """A model for each block of a plan, in the plan's order.

    Blocks that begin alike are a chain: each fit starts from the last one's weights where the
    ranker goes to an optimum of its own accord. Chains are fitted in parallel by joblib, whatever
    its backend; they do not depend on each other, so their number is all the same. Least squares
    need one Gram matrix, and one factorisation a chain.

    Parameters
    ----------
    strength
        Factor on the loss, for blocks of each size; 1 unless given.
    """
    if isinstance(base, LeastSquares) and strength is None:
        chains = _solved(base, plan, train)
    else:
        lively = _lively(train)
        keep = base.keeps_best or base.needs_validation()
        tasks = (
            delayed(_fit_chain)(
                base, [plan.orders[number][start, end] for end in ends], lively, train,
                valid if keep else None, strength,
            )
            for number, start, ends in plan.chains
        )  # fmt: skip
        chains = Parallel(n_jobs=n_jobs)(tasks)
    return [fit for fits in chains for fit in fits]


def _solved(base: LeastSquares, plan: Plan, train: RankingData) -> list[list[Fitted]]:
    """Every chain by least squares."""
    gram, moment = pair_moments(train)
    chains = []
    for number, start, ends in plan.chains:
        features = np.array(plan.orders[number].features[start : ends[-1]])
        sizes = [end - start for end in ends]
        weights = nested(gram, moment, base.C, features, sizes)
        chains.append([Fitted(Linear(w[np.argsort(features[: len(w)])])) for w in weights])
    return chains


def _lively(data: RankingData) -> NDArray[np.bool_]:
    """Features that differ within some query; no others can rank."""
    X, groups = data.X, data.groups
    return np.asarray((groups.reduce(np.fmax, X) > groups.reduce(np.fmin, X)).any(axis=0))


def _fit_chain(
    base: Ranker,
    blocks: Sequence[Features],
    lively: NDArray[np.bool_],
    train: RankingData,
    valid: RankingData | None,
    strength: Strength | None,
) -> list[Fitted]:
    fits: list[Fitted] = []
    last: dict[int, float] = {}
    for block in blocks:
        columns = np.array(block)
        if not lively[columns].any():  # all ties, whatever the ranker
            fits.append(Fitted(Linear(np.zeros(len(block)))))
            continue
        ranker = clone(base)
        if strength is not None:
            ranker.set_params(**scaled_loss(base, strength(len(block))))
        start = Linear(np.array([last.get(j, 0.0) for j in block])) if last else None
        fit = _fit(ranker, _part(train, columns), valid and _part(valid, columns), start)
        if isinstance(fit.model, Linear) and not ranker.keeps_best:
            last = dict(zip(block, fit.model.weights.tolist(), strict=True))
        fits.append(fit)
    return fits


def _part(data: RankingData, columns: NDArray[np.int64]) -> RankingData:
    names = data.feature_names
    some = None if names is None else [names[j] for j in columns.tolist()]
    return data.with_features(data.X[:, columns], some)


def _fit(
    ranker: Ranker, train: RankingData, valid: RankingData | None, start: Model | None
) -> Fitted:
    """Return the model of one block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        learned, _ = ranker.train_model(train, valid, start=start)
    if learned.reason == "interrupted":
        raise KeyboardInterrupt
    return Fitted(learned.model, "" if learned.converged else learned.reason or "not converged")


def scaled_loss(base: Ranker, factor: float) -> dict[str, Any]:
    """The settings of a ranker whose loss counts `factor` times as much against its penalty."""
    settings = base.get_params(deep=False)
    if "C" in settings:
        return {"C": settings["C"] * factor}
    if "l2" in settings:
        return {"l2": settings["l2"] / factor}
    raise UsageError(
        f"expected a base with a parameter C or l2 to scale its loss, got {base.name}; "
        "use scale_loss=False"
    )


def told(fits: Sequence[Fitted]) -> str:
    """Which fits were not done, in words; nothing where all were."""
    open_ = [fit.reason for fit in fits if fit.reason]
    return f"{len(open_)} of {len(fits)} blocks, the first: {open_[0]}" if open_ else ""
