"""Data sets of the RPC-MTL paper's experiments: from folders, generated, and from scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes

from podium.data import Fold, Path_, concatenate, make_opposed, read_letor
from podium.errors import DataError
from podium.experiments import fold_files, read_folds
from podium_papers.data_sets import SCORED_TABLE, PaperSource, read_rankings
from podium_papers.rpc_mtl.claims import RpcMtlReproduction
from podium_papers.rpc_mtl.experiments import reproduce
from podium_papers.rpc_mtl.scored_tables import ScoredTable, scored_table
from podium_papers.total_orders import consensus_folds, relevance

ORDERS, SHORT, LONG, TABLE = (
    "MQ2008 orders",
    "opposed, 40 a list",
    "opposed, 700 a list",
    "diabetes",
)
GENERATED_LISTS = {SHORT: (200, 40), LONG: (60, 700)}
"""Numbers of training lists (validation and test have as many), and of documents in each."""


def opposed_fold(n_lists: int, n_docs: int, seed: int = 0) -> Fold:
    """Make lists by `make_opposed`, as many for training as for validation and for test."""
    return Fold(*(make_opposed(n_lists, n_docs, seed=3 * seed + i) for i in range(3)))


def read_lists(folder: Path_, seed: int = 0) -> list[Fold]:
    """Read the folds of a LETOR ``-list`` folder: Fold1, Fold2, ... with train.txt, vali.txt and test.txt.

    Files may be compressed. Labels are degrees, the larger the better; only their order counts.
    """
    files = [triple for triple in fold_files(folder) if isinstance(triple, tuple)]
    if not files:
        raise DataError(
            f"expected folders Fold1, Fold2, ... in {folder}, got none: point to the folder of a data "
            "set such as MQ2007-list"
        )
    return [Fold(*(relevance(read_letor(path), seed) for path in triple)) for triple in files]


def generated_lists() -> dict[str, list[Fold]]:
    """Make the generated lists, which need no data."""
    return {name: [opposed_fold(*sizes)] for name, sizes in GENERATED_LISTS.items()}


def diabetes() -> ScoredTable:
    """Return the scored items that come with scikit-learn."""
    bunch = load_diabetes()
    return ScoredTable(bunch.data, bunch.target, tuple(bunch.feature_names))


def read_orders(graded: Path, places: Path) -> list[Fold]:
    """Read graded folds as total orders: within a grade by the consensus of the second folder's rankers."""
    return consensus_folds(read_folds(graded), concatenate(read_rankings(places)))


SOURCES = (
    PaperSource("MQ2007-list", ("MQ2007-list",), read_lists, is_papers_own=True),
    PaperSource("MQ2008-list", ("MQ2008-list",), read_lists, is_papers_own=True),
    PaperSource(ORDERS, ("MQ2008", "MQ2008-agg"), read_orders),
    PaperSource("scored items", (SCORED_TABLE,), scored_table),
)


def run(data: Mapping[str, Any], **settings: Any) -> RpcMtlReproduction:
    """Run the experiments on the data sources, on generated lists and on scikit-learn's table.

    The ablations use the total orders and the shorter generated lists.
    """
    tables = {name: source for name, source in data.items() if isinstance(source, ScoredTable)}
    lists = {name: source for name, source in data.items() if name not in tables}
    return reproduce(
        {**lists, **generated_lists()},
        ablated=[*lists, SHORT],
        tables={**tables, TABLE: diabetes()},
        **settings,
    )
