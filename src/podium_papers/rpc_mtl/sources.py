"""The data of the RPC-MTL paper's reproduction: from folders, generated, and from scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes

from podium.data import Fold, concatenate
from podium.experiments import read_folds
from podium_papers.data_sets import TABLE as SCORED
from podium_papers.data_sets import PaperSource, read_rankings
from podium_papers.rpc_mtl.claims import RpcMtlReproduction
from podium_papers.rpc_mtl.data import (
    ScoredTable,
    opposed_fold,
    read_lists,
    scored_table,
)
from podium_papers.rpc_mtl.experiments import reproduce
from podium_papers.topk.data import consensus_folds

ORDERS, SHORT, LONG, TABLE = (
    "MQ2008 orders",
    "opposed, 40 a list",
    "opposed, 700 a list",
    "diabetes",
)
LISTS = {SHORT: (200, 40), LONG: (60, 700)}
"""Lists to train on (and as many to validate and to test on), and documents in each."""


def generated() -> dict[str, list[Fold]]:
    """Lists that need no data at hand."""
    return {name: [opposed_fold(*sizes)] for name, sizes in LISTS.items()}


def diabetes() -> ScoredTable:
    """Scored items that come with scikit-learn."""
    bunch = load_diabetes()
    return ScoredTable(bunch.data, bunch.target, tuple(bunch.feature_names))


def orders(graded: Path, places: Path) -> list[Fold]:
    """Graded folds as total orders: within a grade the consensus of the rankers in the second folder."""
    return consensus_folds(read_folds(graded), concatenate(read_rankings(places)))


SOURCES = (
    PaperSource("MQ2007-list", ("MQ2007-list",), read_lists, own=True),
    PaperSource("MQ2008-list", ("MQ2008-list",), read_lists, own=True),
    PaperSource(ORDERS, ("MQ2008", "MQ2008-agg"), orders),
    PaperSource("scored items", (SCORED,), scored_table),
)


def run(data: Mapping[str, Any], **settings: Any) -> RpcMtlReproduction:
    """The experiments on what was read, on generated lists and on scikit-learn's table.

    Parts are left out on the total orders and on the shorter generated lists.
    """
    tables = {name: own for name, own in data.items() if isinstance(own, ScoredTable)}
    lists = {name: own for name, own in data.items() if name not in tables}
    return reproduce(
        {**lists, **generated()},
        ablated=[*lists, SHORT],
        tables={**tables, TABLE: diabetes()},
        **settings,
    )
