"""Contracts: a broken clause is an error that names the part and the clause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, make_synthetic
from podium.errors import ContractError


@dataclass(frozen=True)
class Contract:
    """The contract of a part; errors name the part as `subject`."""

    subject: str

    def require(self, holds: bool, clause: str) -> None:
        """Raise if a clause does not hold."""
        if not holds:
            raise ContractError(f"{self.subject}: {clause}")

    def require_equal(self, got: Any, expected: Any, clause: str, tolerance: float = 0.0) -> None:
        """Raise if two arrays differ by more than a tolerance."""
        got, expected = np.asarray(got), np.asarray(expected)
        same_shape = got.shape == expected.shape
        self.require(same_shape, f"{clause}; expected shape {expected.shape}, got {got.shape}")
        gap = float(np.max(np.abs(got - expected))) if got.size else 0.0
        self.require(gap <= tolerance, f"{clause}; expected a difference of 0, got {gap:.3g}")

    def require_error(
        self, kind: type[Exception], action: Callable[[], object], clause: str
    ) -> None:
        """Raise if an action does not raise an error of this kind."""
        try:
            action()
        except kind:
            return
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
        else:
            got = "no error"
        raise ContractError(f"{self.subject}: {clause}; expected {kind.__name__}, got {got}")


def small_data(n_queries: int = 12, n_features: int = 4, seed: int = 1) -> RankingData:
    """Return graded queries of 3 to 12 documents."""
    return make_synthetic(
        n_queries=n_queries,
        n_docs=(3, 12),
        n_features=n_features,
        seed=seed,
        grades=(0.5, 0.3, 0.2),
    )


def query_ids(data: RankingData) -> NDArray[Any]:
    """Return the query id of each row."""
    return np.repeat(np.asarray(data.qids), data.groups.sizes)


def reorder(data: RankingData, seed: int = 0) -> tuple[RankingData, NDArray[np.int64]]:
    """Return the data with queries and documents in another order, and the old row of each row."""
    rng = np.random.default_rng(seed)
    slices = list(data.groups.slices())
    queries = rng.permutation(data.n_queries).tolist()
    rows = np.concatenate([rng.permutation(np.arange(len(data))[slices[q]]) for q in queries])
    docids = None if data.docids is None else data.docids[rows]
    moved = RankingData.from_arrays(
        data.X[rows], data.y[rows], qid=query_ids(data)[rows], docid=docids, topk=data.topk
    )
    return moved, rows
