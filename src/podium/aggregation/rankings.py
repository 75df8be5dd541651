"""Rankings to aggregate: the places of each query's documents by several rankers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.counted_nouns import count_texts
from podium.data import Groups, RankingData, Run, Strings, match_documents
from podium.data.argument_checks import to_array
from podium.errors import DataError, MissingDocidsError, NonFiniteError, UsageError
from podium.typing import Document, Floats

Ranking = Sequence[Any] | Mapping[Any, float]
"""Documents best first, with a tie as a nested list, tuple or set; or documents with their scores."""


@dataclass(frozen=True, eq=False, repr=False)
class Rankings:
    """Places of documents (rows) by rankers (columns): 1 is the best of the query, NaN means not ranked.

    Documents that a ranker ties share the mean of their places.

    Parameters
    ----------
    places
        One row per document, one column per ranker.
    groups
        The rows of each query.
    scores
        The scores behind the places, if there are any; NaN if not ranked.
    positions
        Places in the rankers' whole lists, if the lists have documents that are not among the rows.
    qids, docids
        Ids of the queries and documents, if they are known.

    Examples
    --------
    >>> Rankings.of([["a", "b", "c"], ["c", ["a", "b"]]]).places.tolist()
    [[1.0, 2.5], [2.0, 2.5], [3.0, 1.0]]
    """

    places: Floats
    groups: Groups
    scores: Floats | None = None
    positions: Floats | None = None
    qids: NDArray[np.object_] | None = None
    docids: Strings | None = None

    @classmethod
    def of(
        cls, rankings: Sequence[Ranking], documents: Sequence[Document] | None = None
    ) -> Rankings:
        """Return the rankings of one query; rows are its documents in the order of `documents_of`."""
        rows = {d: i for i, d in enumerate(documents or documents_of(rankings))}
        values = np.full((len(rows), len(rankings)), np.nan)
        for column, ranking in enumerate(rankings):
            for value, tied in _tie_groups(ranking):
                for document in tied:
                    values[rows[document], column] = value
        scored = all(isinstance(r, Mapping) or hasattr(r, "to_dict") for r in rankings)
        return cls.from_scores(Groups.from_sizes([len(rows)]), values, keep=scored)

    @classmethod
    def from_scores(cls, groups: Groups, scores: ArrayLike, *, keep: bool = True) -> Rankings:
        """Return rankings from one column of scores per ranker; the highest is best, NaN means not ranked.

        With keep=False, only the order of the scores counts, and the rankings have no scores.
        """
        if not isinstance(groups, Groups):
            raise UsageError(f"expected the Groups of the data, got {type(groups).__name__}")
        values = to_array(scores, "scores", np.float64)
        if values.ndim != 2:
            raise DataError(
                f"expected one column of scores per ranker, got an array of shape {values.shape}"
            )
        groups.check(values, "rows of scores")
        if np.isinf(values).any():
            raise NonFiniteError(
                "a score is infinite; expected finite scores, or NaN for documents that are "
                "not ranked"
            )
        columns = [_places(groups, values[:, j]) for j in range(values.shape[1])]
        places = np.stack(columns, axis=1) if columns else np.empty_like(values)
        return cls(places, groups, values if keep else None)

    @classmethod
    def from_places(cls, groups: Groups, places: ArrayLike) -> Rankings:
        """Return rankings from one column of places per ranker, in lists that may have other documents.

        Examples
        --------
        >>> rankings = Rankings.from_places(Groups.from_sizes([3]), [[7, 1], [30, np.nan], [8, 2]])
        >>> rankings.places.tolist()
        [[1.0, 1.0], [3.0, nan], [2.0, 2.0]]
        """
        positions = to_array(places, "places", np.float64)
        if (positions < 1).any():
            raise DataError(f"expected places from 1, got {positions[positions < 1][0]:g}")
        return replace(cls.from_scores(groups, -positions, keep=False), positions=positions)

    @classmethod
    def from_data(cls, data: RankingData) -> Rankings:
        """Return rankings from data whose features are places, one per ranker (LETOR's aggregation sets).

        A missing value (``read_letor(..., missing="nan")``) means not ranked.
        """
        ranked = cls.from_places(data.groups, data.X)
        return replace(ranked, qids=data.qids, docids=data.docid_column)

    @classmethod
    def from_runs(cls, runs: Sequence[Run]) -> Rankings:
        """Return rankings from TREC runs, joined on query and document; equal scores are ties.

        Queries and documents are those of all runs, in the order of first mention. A run that lacks
        a query ranks none of its documents.

        Examples
        --------
        >>> from podium.data import Run
        >>> def run(docids, scores):
        ...     groups = Groups.from_sizes([len(docids)])
        ...     return Run(np.array(["q"], dtype=object), groups, Strings.of(docids), np.array(scores))
        >>> joined = Rankings.from_runs([run("ab", [2.0, 1.0]), run("bc", [0.9, 0.3])])
        >>> list(joined.docids), joined.places.tolist()
        (['a', 'b', 'c'], [[1.0, nan], [2.0, 1.0], [nan, 2.0]])
        """
        if not runs:
            raise DataError("there are no runs; expected at least one")
        for run in runs:
            if not isinstance(run, Run):
                raise UsageError(f"expected runs, such as read_run(...) returns, got {run!r}")
        number: dict[str, int] = {}
        for run in runs:
            for qid in run.qids.tolist():
                number.setdefault(qid, len(number))
        codes = np.concatenate(
            [run.groups.spread(np.array([number[q] for q in run.qids], np.int64)) for run in runs]
        )
        docids = Strings.concatenate([run.docids for run in runs])
        first = match_documents(
            codes, docids, codes, docids
        )  # the row of each document's first mention
        mentions = np.flatnonzero(first == np.arange(len(first)))
        groups, order = Groups.from_codes(codes[mentions], len(number))
        mentions = mentions if order is None else mentions[order]
        row = np.empty(len(first), dtype=np.int64)
        row[mentions] = np.arange(len(mentions))
        scores = np.full((len(mentions), len(runs)), np.nan)
        column = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        scores[row[first], column] = np.concatenate([run.values for run in runs])
        qids = np.array(list(number), dtype=object)
        return replace(cls.from_scores(groups, scores), qids=qids, docids=docids.take(mentions))

    def run(self, scores: Floats, k: int | None = None) -> Run:
        """Return documents by score as a TREC run: the top k of each query, or all documents."""
        if self.qids is None or self.docids is None:
            raise MissingDocidsError("a run needs query and document ids; use Rankings.from_runs")
        depth = self.groups.n_rows if k is None else k
        if depth < 1:
            raise UsageError(f"expected k of 1 or more, got {k}")
        rows = self.groups.order(scores)[self.groups.places < depth]
        groups = Groups.from_sizes(np.minimum(self.groups.sizes, depth))
        return Run(self.qids, groups, self.docids.take(rows), scores[rows])

    def __repr__(self) -> str:
        share = self.ranked.mean() if self.ranked.size else 0.0
        sizes = count_texts(
            ranker=self.n_rankers, query=len(self.groups), document=self.groups.n_rows
        )
        return f"Rankings({sizes}, {share:.0%} ranked)"

    @property
    def n_rankers(self) -> int:
        """The number of rankers (columns)."""
        return int(self.places.shape[1])

    @cached_property
    def ranked(self) -> NDArray[np.bool_]:
        """Whether each ranker ranks each document."""
        return ~np.isnan(self.places)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of ranked documents, one row per query and one column per ranker."""
        return np.asarray(self.groups.reduce(np.add, self.ranked.astype(np.int64)))

    @property
    def listed_at(self) -> Floats:
        """Places in the rankers' whole lists, or among the rows if only these are known."""
        return self.places if self.positions is None else self.positions

    @cached_property
    def filled(self) -> Floats:
        """The places; unranked documents share the mean of the remaining places."""
        n = self.groups.sizes[:, None]
        left = self.groups.spread((self.lengths + 1 + n) / 2)
        return np.where(self.ranked, self.places, left)

    def top(self, depth: int | None) -> Rankings:
        """Return the first `depth` documents of each ranker; a tie that starts within them is kept whole."""
        if depth is None:
            return self
        if not isinstance(depth, int | np.integer) or depth < 1:
            raise UsageError(f"expected a depth of 1 or more, got {depth!r}")
        keep = np.empty(self.places.shape, dtype=bool)
        for j, column in enumerate(self.places.T):
            order, ties = _ties(self.groups, -column)
            first = self.groups.places[ties.offsets[:-1]]  # of each tie, from 0
            keep[order, j] = ties.spread(first) < depth
        keep &= self.ranked

        def cut(values: Floats | None) -> Floats | None:
            return None if values is None else np.where(keep, values, np.nan)

        return replace(
            self,
            places=np.where(keep, self.places, np.nan),
            scores=cut(self.scores),
            positions=cut(self.positions),
        )


def documents_of(rankings: Iterable[Ranking]) -> list[Document]:
    """Return every document once, in the order of first mention; raise if a value is not a ranking."""
    if isinstance(rankings, str | Mapping | Iterator) or not isinstance(rankings, Iterable):
        raise UsageError(f"expected a list of rankings, got {type(rankings).__name__}")
    documents: dict[Document, None] = {}
    count = 0
    for count, ranking in enumerate(rankings, start=1):
        own: set[Document] = set()
        for _, tied in _tie_groups(ranking):
            for document in tied:
                if not isinstance(document, Hashable):
                    raise DataError(
                        f"expected hashable ids as documents, got {document!r} in ranking {count}"
                    )
                if document in own:
                    raise DataError(
                        f"ranking {count} has {document!r} twice; expected each document once"
                    )
                own.add(document)
                documents.setdefault(document)
        if not own:
            raise DataError(f"ranking {count} is empty; expected at least one document")
    if count == 0:
        raise DataError("there are no rankings; expected at least one")
    return list(documents)


def _tie_groups(ranking: Ranking) -> Iterable[tuple[float, Iterable[Document]]]:
    """Yield tied documents with a number that is higher for better ones."""
    if hasattr(ranking, "to_dict"):  # a data frame's column, documents as its index
        ranking = ranking.to_dict()
    elif getattr(ranking, "docids", None) is not None:  # the result of a ranker's `rank`
        ranking = list(ranking.docids)  # type: ignore[union-attr]
    if isinstance(ranking, Mapping):
        for document, score in ranking.items():
            if not _is_finite(score):
                raise DataError(f"expected finite scores, got {score!r} for {document!r}")
            yield float(score), (document.item() if isinstance(document, np.generic) else document,)
        return
    unordered = isinstance(ranking, str | AbstractSet | Iterator)
    if unordered or not isinstance(ranking, Iterable):
        raise UsageError(
            "expected a ranking as a list of documents, best first, or documents with scores, "
            f"got {ranking!r}"
        )
    for place, entry in enumerate(ranking):
        if isinstance(entry, AbstractSet):
            entry = sorted(entry, key=repr)  # the order of a set changes from run to run
        tied = entry if isinstance(entry, list | tuple) else (entry,)
        yield -float(place), [d.item() if isinstance(d, np.generic) else d for d in tied]


def _is_finite(score: Any) -> bool:
    try:
        return math.isfinite(score)
    except (TypeError, OverflowError):
        return False


def _places(groups: Groups, scores: Floats) -> Floats:
    """Return the mean place of each row's score in its query; NaN stays NaN."""
    order, ties = _ties(groups, scores)
    places = np.empty(len(order))
    places[order] = ties.spread(ties.reduce(np.add, groups.places) / np.maximum(ties.sizes, 1)) + 1
    return np.where(np.isnan(scores), np.nan, places)


def _ties(groups: Groups, scores: Floats) -> tuple[NDArray[np.int64], Groups]:
    """Return rows best first, query by query, and the runs of equal scores; NaN come last, each alone."""
    order = groups.order(np.where(np.isnan(scores), -np.inf, scores))
    return order, groups.runs(scores[order])
