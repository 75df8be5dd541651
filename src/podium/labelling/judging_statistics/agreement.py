"""Agreement of assessors (Tables 2 and 3): the answers of one assessor, given those of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.errors import DataError
from podium.labelling.judging_statistics.kappa_alpha import cohen_kappa, krippendorff_alpha
from podium.typing import Floats, Ints

PREFERENCES = (">", "~", "<")
"""The rows and columns of an agreement matrix."""

_MAX_PAIRS_AT_ONCE = 1 << 22  # bounds the memory of a comparison


class Opinion(NamedTuple):
    """The final labels that an assessor gives the documents of a query; higher is better.

    A label is that of the top k (0 outside it, so that two documents there are tied), or a grade.
    """

    query: str
    assessor: str
    labels: Mapping[str, int]


@dataclass(frozen=True, eq=False, repr=False)
class AssessorAgreement:
    """The answers of every two assessors to the same pairs of documents.

    Parameters
    ----------
    queries, assessors
        Their ids.
    query
        For each query and two assessors who judged it: the query, a place in `queries`.
    between
        The two assessors, places in `assessors`, the smaller one first.
    counts
        How often the first answered with the row and the second with the column of >, ~, <
        (PREFERENCES). The first of two documents is the one with the smaller id.
    coincidences
        Krippendorff's matrix of coincidences: how often two answers occur for one pair, weighted.
    """

    queries: tuple[str, ...]
    assessors: tuple[str, ...]
    query: Ints
    between: Ints
    counts: Ints
    coincidences: Floats

    def __repr__(self) -> str:
        return (
            f"AssessorAgreement({self.n_pairs:,} pairs, {self.overall:.4f} agreed, "
            f"{self.without_ties:.4f} without ties)"
        )

    @property
    def table(self) -> Ints:
        """The sum of all counts, with both orders of each two assessors: a symmetric table."""
        once = self.counts.sum(axis=0)
        return np.asarray(once + once.T)

    @property
    def matrix(self) -> Floats:
        """The share of another assessor's answers (column), given the answer of one (row).

        Rows add up to 1. A row is nan if nobody gave that answer.
        """
        table = self.table.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return np.asarray(table / table.sum(axis=1, keepdims=True))

    @property
    def n_pairs(self) -> int:
        """Pairs of documents that two assessors judged, once for each two assessors."""
        return int(self.counts.sum())

    @property
    def agreed(self) -> int:
        """Pairs with the same answer."""
        return int(np.trace(self.counts.sum(axis=0)))

    @property
    def strict(self) -> tuple[int, int]:
        """Pairs with the same preference, and pairs where neither assessor said tie."""
        once = self.counts.sum(axis=0)
        return int(once[0, 0] + once[2, 2]), int(once[::2, ::2].sum())

    @property
    def overall(self) -> float:
        """The share of pairs with the same answer."""
        return _share(self.agreed, self.n_pairs)

    @property
    def without_ties(self) -> float:
        """The share of pairs with the same preference, where neither assessor said tie."""
        return _share(*self.strict)

    @property
    def kappa(self) -> float:
        """The mean of Cohen's kappa over each two assessors, weighted by their pairs of documents.

        Light, Measures of response agreement for qualitative data, 1971, unweighted.
        """
        return mean_kappa(self.between, self.counts)

    @property
    def alpha(self) -> float:
        """Krippendorff's nominal alpha of the answers."""
        return krippendorff_alpha(self.coincidences)

    def by_query(self) -> dict[str, tuple[int, int]]:
        """Return agreed pairs and all pairs of every query."""
        agreed, total = (
            np.bincount(self.query, values, len(self.queries)).astype(np.int64).tolist()
            for values in (
                np.trace(self.counts, axis1=1, axis2=2),
                self.counts.sum(axis=(1, 2)),
            )
        )
        return {
            query: (agreed[i], total[i]) for i, query in enumerate(self.queries) if total[i] > 0
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        rows = zip(PREFERENCES, self.matrix.tolist(), strict=True)
        return {
            "queries": len(self.by_query()),
            "pairs": self.n_pairs,
            "matrix": {
                row: {c: none_if_nan(v) for c, v in zip(PREFERENCES, values, strict=True)}
                for row, values in rows
            },
            "counts": self.table.tolist(),
            "overall": none_if_nan(self.overall),
            "without_ties": none_if_nan(self.without_ties),
            "kappa": none_if_nan(self.kappa),
            "alpha": none_if_nan(self.alpha),
        }


def none_if_nan(value: float) -> float | None:
    """Return a number, or None for nan."""
    return None if value != value else value


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _sum_by_assessors(between: Ints, counts: Ints) -> Ints:
    """Return the counts of each two assessors, over all their queries."""
    pairs, place = np.unique(between, axis=0, return_inverse=True)
    total = np.zeros((len(pairs), *counts.shape[1:]), dtype=counts.dtype)
    np.add.at(total, place.reshape(-1), counts)
    return total


def mean_kappa(between: Ints, counts: Ints) -> float:
    """Return the mean of Cohen's kappa over each two assessors, weighted by what both judged.

    Assessors for whom kappa is not defined are left out.
    """
    tables = _sum_by_assessors(between, counts)
    kappas = np.array([cohen_kappa(table) for table in tables])
    weights = np.array([table.sum() for table in tables], dtype=np.float64)
    defined = ~np.isnan(kappas)
    if not defined.any():
        return float("nan")
    return float(np.average(kappas[defined], weights=weights[defined]))


def agreement(opinions: Iterable[Opinion]) -> AssessorAgreement:
    """Return the agreement on all pairs of the final results.

    It compares all pairs of documents that all assessors of a query had, for each two assessors. A
    document with the higher label is preferred; equal labels are a tie, as for two documents outside the
    top k. *Top-k Learning to Rank* (Niu et al., SIGIR 2012), section 4.1, after Carterette et
    al., Here or there: preference judgments for relevance, ECIR 2008.

    Parameters
    ----------
    opinions
        One opinion per query and assessor.

    Examples
    --------
    >>> ann = Opinion("q", "ann", {"x": 2, "y": 1, "z": 0})      # x > y > z
    >>> bob = Opinion("q", "bob", {"x": 2, "y": 0, "z": 0})      # x > y ~ z
    >>> both = agreement([ann, bob])
    >>> both
    AssessorAgreement(3 pairs, 0.6667 agreed, 1.0000 without ties)
    >>> both.matrix[0].tolist()                                 # given that one said A > B
    [0.8, 0.2, 0.0]
    """
    ordered = sorted(opinions, key=lambda opinion: opinion[:2])
    names = sorted({opinion.assessor for opinion in ordered})
    place = {name: i for i, name in enumerate(names)}
    queries: list[str] = []
    rows: list[tuple[int, int, int, list[int], list[int], int]] = []
    for query, group in groupby(ordered, key=lambda opinion: opinion.query):
        shared = _shared_labels(list(group))
        if len(shared) >= 2:
            rows += [
                (len(queries), place[a.assessor], place[b.assessor], left, right, len(shared))
                for (a, left), (b, right) in combinations(shared, 2)
            ]
            queries.append(query)
    counts = np.zeros((len(rows), 3, 3), dtype=np.int64)
    sizes = np.array([len(row[3]) for row in rows], dtype=np.int64)
    for n in np.unique(sizes).tolist():
        rows_of_size = np.flatnonzero(sizes == n)
        step = max(1, _MAX_PAIRS_AT_ONCE // max(1, n * (n - 1) // 2))
        for at in range(0, len(rows_of_size), step):
            chosen = rows_of_size[at : at + step]
            left, right = (np.array([rows[i][side] for i in chosen]) for side in (3, 4))
            counts[chosen] = _compare(left, right)
    once = np.zeros((3, 3))
    if rows:
        weight = 1.0 / (np.array([row[5] for row in rows]) - 1)
        once = np.einsum("r,rcd->cd", weight, counts)
    return AssessorAgreement(
        queries=tuple(queries),
        assessors=tuple(names),
        query=np.array([row[0] for row in rows], dtype=np.int64),
        between=np.array([row[1:3] for row in rows], dtype=np.int64).reshape(-1, 2),
        counts=counts,
        coincidences=once + once.T,
    )


def _shared_labels(opinions: Sequence[Opinion]) -> list[tuple[Opinion, list[int]]]:
    """Return each assessor's labels of the documents that all of them had, sorted by document id."""
    for a, b in pairwise(opinions):
        if a.assessor == b.assessor:
            raise DataError(f"{a.assessor!r} has two opinions on query {a.query!r}; expected one")
    if len(opinions) < 2:
        return []
    shared = sorted(set(opinions[0].labels).intersection(*(o.labels for o in opinions[1:])))
    return [(opinion, [opinion.labels[d] for d in shared]) for opinion in opinions]


def _compare(left: Ints, right: Ints) -> NDArray[np.int64]:
    """Count (preference in left, preference in right) over all pairs of columns: one table per row."""
    i, j = np.triu_indices(left.shape[1], 1)
    answer_pair = 3 * _preference(left[:, i], left[:, j]) + _preference(right[:, i], right[:, j])
    return np.stack([(answer_pair == cell).sum(axis=1) for cell in range(9)], axis=1).reshape(
        -1, 3, 3
    )


def _preference(a: Ints, b: Ints) -> NDArray[np.int8]:
    """Return places in PREFERENCES: 0 if a is better, 1 for a tie, 2 if b is better."""
    return np.asarray((a < b).astype(np.int8) - (a > b) + np.int8(1), dtype=np.int8)
