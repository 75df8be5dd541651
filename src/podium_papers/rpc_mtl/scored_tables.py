"""Scored tables of the RPC-MTL paper, such as photos with a score each, cut into lists.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import Fold, Path_, RankingData, rotate
from podium.errors import DataError, UnknownNameError, UsageError
from podium.typing import Floats
from podium_papers.total_orders import relevance

LIST_DOCUMENTS, N_FOLDS = 15, 5
"""Photos per list, and folds, of the paper's image data."""


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """Scored items: features, and one score per item, the larger the better."""

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
    """Read a table of scored items from a CSV file with a header, or from a data frame.

    Parameters
    ----------
    table
        A path, or anything with ``columns`` and ``to_numpy``.
    score
        Name of the column with the score; by default the last column.

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
        names, rows = _read_csv(table)
    score_name = names[-1] if score is None else score
    if score_name not in names:
        raise UnknownNameError("column", score_name, names)
    try:
        values = np.asarray(rows, dtype=np.float64).reshape(-1, len(names))
    except (TypeError, ValueError) as error:
        raise DataError(f"expected numbers in all columns of the table ({error})") from error
    column = names.index(score_name)
    features = tuple(name for name in names if name != score_name)
    return ScoredTable(np.delete(values, column, axis=1), values[:, column].copy(), features)


def _read_csv(path: Path_) -> tuple[list[str], list[list[str]]]:
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
    table: ScoredTable, seed: int, n_docs: int = LIST_DOCUMENTS, n_folds: int = N_FOLDS
) -> list[Fold]:
    """Cut the items, in a random order, into lists, and the lists into parts, which are rotated.

    Rows that do not fill a list are left out. Features are standardised by the training lists.
    """
    n_lists = len(table.X) // n_docs
    if n_lists < n_folds:
        raise UsageError(
            f"expected at least {n_folds * n_docs} rows, {n_folds} lists of {n_docs}, "
            f"got {len(table.X)}"
        )
    rows = np.random.default_rng(seed).permutation(len(table.X))[: n_lists * n_docs]
    # The names of lists differ between repeats, so that they are never confused.
    qid = np.repeat([f"{seed}-{i}" for i in range(n_lists)], n_docs)
    docid = [str(row) for row in rows]
    score = (
        table.score - table.score.min()
    )  # labels must not be negative, and only their order counts
    data = relevance(
        RankingData.from_arrays(
            table.X[rows], score[rows], qid=qid, docid=docid, feature_names=table.names
        ),
        seed,
    )
    parts = np.array_split(np.arange(n_lists), n_folds)
    return [_standardise(fold) for fold in rotate([data.subset(part) for part in parts])]


def _standardise(fold: Fold) -> Fold:
    mean, sd = fold.train.X.mean(axis=0), fold.train.X.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    return Fold(*(part.with_features((part.X - mean) / sd) for part in fold))
