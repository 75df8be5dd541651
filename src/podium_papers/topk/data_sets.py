"""Data sets of the top-k paper's experiments: graded folds and their top-k truth.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 4.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium.data import Fold, RankingData, concatenate
from podium.errors import DataError
from podium.experiments import read_folds
from podium_papers.data_sets import PaperSource, read_rankings
from podium_papers.topk.claims import TopkReproduction
from podium_papers.topk.experiments import RANDOM, Truths, reproduce
from podium_papers.total_orders import consensus_folds, row_ids


class ListedFolds(NamedTuple):
    """Folds of the documents that have both a grade and a place: with grades, and with orders."""

    graded: list[Fold]
    orders: list[Fold]


def listed_folds(folds: Sequence[Fold], lists: Sequence[Fold]) -> ListedFolds:
    """Join graded folds and total orders, as MQ2007 and MQ2007-list, on the documents they share.

    Rows are joined on query and document. Queries stay in the parts of `folds`, whatever the parts of
    `lists` are.

    Parameters
    ----------
    lists
        Folds whose larger labels are better, as LETOR's ``-list`` sets.

    Examples
    --------
    >>> def part(labels):
    ...     return RankingData.from_arrays(np.eye(3), labels, qid=["q"] * 3, docid=list("abc"))
    >>> graded = part([2, 1, 1]).subset([0])
    >>> result = listed_folds([Fold(graded, graded, graded)], [Fold(*[part([700, 2, 90])] * 3)])
    >>> result.orders[0].test.y.tolist()
    [700.0, 2.0, 90.0]
    """
    places: dict[tuple[object, object], float] = {}
    for fold in lists:
        for part in fold:
            places |= zip(row_ids(part), part.y.tolist(), strict=True)
    join_names = [[_join_part(part, places) for part in fold] for fold in folds]
    return ListedFolds(
        *([Fold(*(pair[i] for pair in fold)) for fold in join_names] for i in range(2))
    )


def _join_part(
    part: RankingData, places: dict[tuple[object, object], float]
) -> tuple[RankingData, RankingData]:
    pairs = row_ids(part)
    rows = np.array([i for i, pair in enumerate(pairs) if pair in places], dtype=np.int64)
    if len(rows) == 0:
        raise DataError(
            f"expected documents with a grade and a place in a list, got none in {part}; are the "
            "lists of the same queries?"
        )
    return _select_rows(part, rows, part.y[rows]), _select_rows(
        part, rows, [places[pairs[i]] for i in rows]
    )


def _select_rows(part: RankingData, rows: np.ndarray, y: ArrayLike) -> RankingData:
    """Return some rows with these labels."""
    assert part.docid_column is not None
    return RankingData.from_arrays(
        part.X[rows], y, qid=np.asarray(part.groups.spread(part.qids))[rows],
        docid=part.docid_column.take(rows), feature_names=part.feature_names, scaled=part.scaled,
        missing=part.missing,
    )  # fmt: skip


class TopkProblem(NamedTuple):
    """Graded folds and their truths, as `reproduce` takes them."""

    folds: list[Fold]
    truths: Truths


def graded_problem(folder: Path) -> TopkProblem:
    """Read grades alone; the top-k truth is drawn at random."""
    return TopkProblem(read_folds(folder), {RANDOM: None})


def listed_problem(folder: Path, lists: Path | None) -> TopkProblem:
    """Read grades, and the truth of a ``-list`` set, on the documents that both have."""
    if lists is None:
        return graded_problem(folder)
    listed = listed_folds(read_folds(folder), read_folds(lists))
    return TopkProblem(listed.graded, {"list": listed.orders})


def consensus_problem(folder: Path, places: Path | None) -> TopkProblem:
    """Read grades; the truth is by the consensus of an ``-agg`` set's rankers, and at random."""
    if places is None:
        return graded_problem(folder)
    folds = read_folds(folder)
    consensus = consensus_folds(folds, concatenate(read_rankings(places)))
    return TopkProblem(folds, {"Borda": consensus, RANDOM: None})


SOURCES = (
    PaperSource(
        "MQ2007", ("MQ2007",), listed_problem, is_papers_own=True, optional_data=("MQ2007-list",)
    ),
    PaperSource("MQ2008", ("MQ2008",), consensus_problem, optional_data=("MQ2008-agg",)),
    PaperSource("OHSUMED", ("OHSUMED",), graded_problem),
    PaperSource("TD2003", ("TD2003",), graded_problem),
)
"""Sources of the paper. Its own TD2003 has other grades than LETOR's."""


def any_source(name: str) -> PaperSource:
    """Return the source of a data set that the paper does not use."""
    return PaperSource(name, (name,), graded_problem)


def run(data: Mapping[str, TopkProblem], **settings: Any) -> TopkReproduction:
    """Run the experiments on the data of the sources."""
    return reproduce(
        {name: problem.folds for name, problem in data.items()},
        truths={name: problem.truths for name, problem in data.items()},
        **settings,
    )
