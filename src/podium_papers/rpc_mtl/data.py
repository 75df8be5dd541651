"""Total orders for the RPC-MTL paper's experiments: from grades, folders of lists, scored tables.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3. Everywhere the document at rank r of n has relevance (n - r) / (n - 1).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.aggregation import Borda, Rankings
from podium.data import Fold, Path_, RankingData, draw_order, make_opposed, read_letor, rotate
from podium.errors import DataError, UnknownNameError, UsageError
from podium.experiments import fold_files

Floats = NDArray[np.float64]

LIST_DOCS, FOLDS = 15, 5
"""Of the paper's image data: photos a list, and parts."""


def relevance(data: RankingData, seed: int = 0, tie_break: ArrayLike | None = None) -> RankingData:
    """Labels of any kind -> (n - r) / (n - 1) of the document at rank r of n.

    Equal labels are ordered by `tie_break`, the larger first, and then at random.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [1500, 2, 900], qid=[1] * 3)
    >>> relevance(data).y.tolist()
    [1.0, 0.0, 0.5]
    """
    n = data.groups.spread(data.groups.sizes)
    return data.with_labels((n - draw_order(data, seed, tie_break)) / np.maximum(n - 1, 1))


def consensus_orders(
    parts: Sequence[RankingData], rankings: RankingData, seed: int = 0
) -> list[RankingData]:
    """Graded parts as total orders: within a grade by the Borda consensus of other rankings.

    Parameters
    ----------
    parts
        With grades, as MQ2008.
    rankings
        Of the same queries and documents; each feature is a ranker, its value the rank, as MQ2008-agg.
    seed
        Of the order where the consensus is a tie too.
    """
    scores = Borda()(Rankings.from_data(rankings)).scores
    score_of_row = dict(zip(named_rows(rankings), scores.tolist(), strict=True))
    out = []
    for part in parts:
        missing = next((pair for pair in named_rows(part) if pair not in score_of_row), None)
        if missing is not None:
            raise DataError(
                f"expected rankings of all documents, got none of {missing[1]!r} of query {missing[0]!r}"
            )
        out.append(relevance(part, seed, [score_of_row[pair] for pair in named_rows(part)]))
    return out


def named_rows(data: RankingData) -> list[tuple[Any, Any]]:
    """Query and document of each row."""
    if data.docids is None:
        raise DataError(
            "expected ids of documents, which grades and rankings are joined on, got none"
        )
    return list(zip(data.groups.spread(data.qids).tolist(), data.docids, strict=True))


def opposed_fold(n_lists: int, n_docs: int, seed: int = 0) -> Fold:
    """Lists by `make_opposed`: as many to train on, to validate on and to test on."""
    return Fold(*(make_opposed(n_lists, n_docs, seed=3 * seed + i) for i in range(3)))


def read_lists(folder: Path_, seed: int = 0) -> list[Fold]:
    """The folds of a LETOR ``-list`` folder: Fold1, Fold2, ... with train.txt, vali.txt and test.txt.

    Files may be compressed. Labels are degrees, the larger the better, and only their order counts.
    """
    files = [triple for triple in fold_files(folder) if isinstance(triple, tuple)]
    if not files:
        raise DataError(
            f"expected folders Fold1, Fold2, ... in {folder}, got none: point to the folder of a data "
            "set such as MQ2007-list"
        )
    return [Fold(*(relevance(read_letor(path), seed) for path in triple)) for triple in files]


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """Scored items: features, and a score each, the larger the better."""

    X: Floats
    score: Floats
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.score.shape != self.X.shape[:1]:
            raise DataError(
                f"expected a score for each row, got {self.score.shape} for {self.X.shape}"
            )
        if not (np.isfinite(self.X).all() and np.isfinite(self.score).all()):
            raise DataError("expected finite numbers in the table, got others")


def scored_table(table: Any, score: str | None = None) -> ScoredTable:
    """A table of scored items from a CSV file with a header, or a data frame.

    Parameters
    ----------
    table
        A path, or anything with ``columns`` and ``to_numpy``.
    score
        The column with the score; the last one, unless given.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> bunch = load_diabetes()
    >>> ScoredTable(bunch.data, bunch.target, tuple(bunch.feature_names)).X.shape
    (442, 10)
    """
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        names, rows = [str(name) for name in table.columns], table.to_numpy()
    else:
        names, rows = _csv(table)
    wanted = names[-1] if score is None else score
    if wanted not in names:
        raise UnknownNameError("column", wanted, names)
    try:
        values = np.asarray(rows, dtype=np.float64).reshape(-1, len(names))
    except (TypeError, ValueError) as error:
        raise DataError(f"expected numbers in all columns of the table ({error})") from error
    at = names.index(wanted)
    features = tuple(name for name in names if name != wanted)
    return ScoredTable(np.delete(values, at, axis=1), values[:, at].copy(), features)


def _csv(path: Path_) -> tuple[list[str], list[list[str]]]:
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise DataError(f"expected a header and rows in {path}, got {len(rows)} lines")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise DataError(
                f"{path}, row {number}: expected {len(rows[0])} columns, got {len(row)}"
            )
    return rows[0], rows[1:]


def table_folds(
    table: ScoredTable, seed: int, n_docs: int = LIST_DOCS, n_folds: int = FOLDS
) -> list[Fold]:
    """The items in a random order, cut into lists, the lists into parts, which are rotated.

    Rows that are left over are left out. Features are standardised by the training lists.
    """
    n_lists = len(table.X) // n_docs
    if n_lists < n_folds:
        raise UsageError(
            f"expected at least {n_folds * n_docs} rows, {n_folds} lists of {n_docs}, "
            f"got {len(table.X)}"
        )
    rows = np.random.default_rng(seed).permutation(len(table.X))[: n_lists * n_docs]
    # Named so that a list of one repeat is never taken for one of another.
    qid = np.repeat([f"{seed}-{i}" for i in range(n_lists)], n_docs)
    docid = [str(row) for row in rows]
    score = table.score - table.score.min()  # labels are 0 or more, and only their order counts
    data = relevance(
        RankingData.from_arrays(
            table.X[rows], score[rows], qid=qid, docid=docid, feature_names=table.names
        ),
        seed,
    )
    parts = np.array_split(np.arange(n_lists), n_folds)
    return [_standardised(fold) for fold in rotate([data.subset(part) for part in parts])]


def _standardised(fold: Fold) -> Fold:
    mean, spread = fold.train.X.mean(axis=0), fold.train.X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return Fold(*(part.with_features((part.X - mean) / spread) for part in fold))
