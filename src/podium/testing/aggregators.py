"""The contract of an aggregator: it turns rankings into one score per document."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.aggregation import Aggregator, aggregate
from podium.testing.contract import Contract

PARTIAL: list[list[Any]] = [["a", "b", "c", "d"], ["b", "a"], [["c", "a"], "d", "b"], ["d"]]
"""Rankings that list different documents, one of them with a tie."""


def check_aggregator(aggregator: Aggregator) -> None:
    """Check that an aggregator keeps a common order and treats all rankings and documents equally.

    Examples
    --------
    >>> from podium.aggregation import MC4
    >>> check_aggregator(MC4())
    """
    contract = Contract(type(aggregator).__name__)
    contract.require(bool(getattr(aggregator, "name", "")), "name must be set")
    _check_agreement(contract, aggregator)
    _check_output(contract, aggregator)
    _check_weights(contract, aggregator)


def _check_agreement(contract: Contract, aggregator: Aggregator) -> None:
    order = list("dacbe")
    for count in (1, 3):
        result = list(aggregate([order] * count, aggregator))
        contract.require(
            result == order,
            f"the result of {count} equal rankings must be that ranking, got {result}",
        )


def _check_output(contract: Contract, aggregator: Aggregator) -> None:
    result = aggregate(PARTIAL, aggregator)
    contract.require(set(result.order) == set("abcd"), "every listed document must be ranked")
    contract.require(bool(np.isfinite(result.scores).all()), "scores must be finite")
    falling = all(np.diff(result.scores) <= 0)
    contract.require(falling, "the scores must fall along the ranking")
    again = aggregate(PARTIAL, aggregator)
    contract.require(again == result, "the same rankings must give the same result")
    renamed = [[_renamed(entry) for entry in ranking] for ranking in PARTIAL]
    other = aggregate(renamed, aggregator, initial=[_renamed(d) for d in "abcd"])
    same = aggregate(PARTIAL, aggregator, initial=list("abcd"))
    clause = "the names of documents must not change the result"
    contract.require(list(other) == [_renamed(d) for d in same], clause)


def _renamed(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_renamed(document) for document in entry]
    return {"a": "z", "b": "y", "c": "x", "d": "w"}[str(entry)]


def _check_weights(contract: Contract, aggregator: Aggregator) -> None:
    rankings = [list("abcd"), list("dcba"), list("bacd")]
    weighted = list(aggregate(rankings, aggregator, weights=[1, 0, 0]))
    contract.require(weighted == list("abcd"), "a ranking of weight 0 must not change the result")
    once = aggregate(rankings, aggregator, weights=[3, 1, 2])
    scaled = aggregate(rankings, aggregator, weights=[30, 10, 20])
    contract.require(
        list(once) == list(scaled), "only the proportions of weights may change the result"
    )
