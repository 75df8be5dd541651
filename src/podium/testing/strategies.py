"""The contract of a labelling strategy: the right top k, within its stated bound."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from podium.labelling import StrategyRun
from podium.labelling.simulation import Assessor
from podium.labelling.strategies.strategy import Strategy
from podium.testing.contract import Contract


def check_strategy(strategy: type[Strategy], max_documents: int = 5) -> None:
    """Check a strategy on every order of up to `max_documents`, and on some longer lists.

    Examples
    --------
    >>> from podium.labelling import STRATEGIES
    >>> check_strategy(STRATEGIES["heap"], max_documents=4)
    """
    contract = Contract(strategy.__name__)
    contract.require(bool(getattr(strategy, "name", "")), "name must be set")
    for n in range(1, max_documents + 1):
        documents = [f"d{i}" for i in range(n)]
        for order in permutations(range(n)):
            levels = dict(zip(documents, order, strict=True))
            for k in range(1, n + 1):
                _check_session(contract, strategy, levels, k)
    _check_ties(contract, strategy)
    _check_long_lists(contract, strategy)


def _check_session(
    contract: Contract, strategy: type[Strategy], levels: dict[str, int], k: int
) -> None:
    run = StrategyRun(strategy, list(levels), k)
    expected = run.remaining
    assessor = Assessor(levels)
    top = assessor.judge(run)
    contract.require(expected >= 0, "the number of remaining judgments must be 0 or more")
    best = sorted(levels, key=lambda document: levels[document])[:k]
    case = f"top {k} of {len(levels)} documents"
    contract.require(list(top.order) == best, f"{case}: expected {best}, got {list(top.order)}")
    bound = strategy.bound(len(levels), k)
    n_judgments = len(run.judgments)
    clause = f"{case}: bound says {bound} judgments, got {n_judgments}"
    contract.require(n_judgments <= bound, clause)
    with_prior = StrategyRun(strategy, list(levels), k, prior=list(levels)[::-1])
    assessor.judge(with_prior)
    bound, n_judgments = strategy.bound(len(levels), k, prior=True), len(with_prior.judgments)
    clause = f"{case} with a prior: bound says {bound}, got {n_judgments}"
    contract.require(n_judgments <= bound, clause)
    replayed = StrategyRun.replay(strategy, list(levels), k, run.judgments)
    contract.require(
        replayed.step == top, f"{case}: a replay must end in the same state as the session"
    )


def _check_ties(contract: Contract, strategy: type[Strategy]) -> None:
    levels = {"a": 0, "b": 1, "c": 1, "d": 2}
    top = Assessor(levels).judge(StrategyRun(strategy, list(levels), 2))
    clause = f"a document tied at the cut must stay in the top 2, got {list(top.order)}"
    is_kept = "a" in top.order and {"b", "c"} & set(top.order) and "d" not in top.order
    contract.require(bool(is_kept), clause)


def _check_long_lists(contract: Contract, strategy: type[Strategy]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        levels = {f"d{i}": int(level) for i, level in enumerate(rng.permutation(40))}
        _check_session(contract, strategy, levels, 5)
