"""MMR and xQuAD: diverse lists, chosen one document after another.

They weigh a document's relevance against what the documents above it already offer. Relevance is
the model's score, scaled from 0 (the lowest of the list) to 1 (the highest); without scores it is
the rank.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import LengthMismatchError, NonFiniteError, UsageError
from podium.postranking.listing import Listing
from podium.postranking.methods.problem import (
    Method,
    PostRankingProblem,
    Solution,
    descending,
)
from podium.postranking.number_input import is_number, to_floats
from podium.postranking.rules.field_conditions import short_repr
from podium.postranking.rules.rule import Rule
from podium.typing import Document, Floats

Similarity = (
    str
    | Sequence[str]
    | Mapping[Document, ArrayLike]
    | Callable[[Any, Any], float]
    | NDArray[np.float64]
)
SimilarityRow = Callable[[int], Floats]
"""Returns the similarity of a row to every row."""


class GreedyMethod(Method):
    """A method that chooses one document after another, from the top."""

    def solve(self, problems: Sequence[PostRankingProblem]) -> list[Solution]:
        """Return scores n..1 of each list in the chosen order."""
        return [Solution(descending(self._choose_rows(p) if p.n else [])) for p in problems]

    def takes(self, rule: Rule) -> bool:
        """Return False, because soft rules are refused."""
        return False

    @abstractmethod
    def _choose_rows(self, problem: PostRankingProblem) -> list[int]:
        """Return the rows of a list, best first."""


@dataclass(frozen=True, eq=False)
class MMR(GreedyMethod):
    """Maximal marginal relevance (MMR): relevant documents that differ from all above them.

    The next document d has the highest lambda rel(d) - (1 - lambda) max_{e above} sim(d, e); ties
    keep the original order (Carbonell, Goldstein, SIGIR 1998). This takes O(n k) similarities. Soft
    rules are refused; hard ones restrict the places.

    Parameters
    ----------
    similarity
        One of these. Names of fields: similarity is the mean Jaccard index of the two documents'
        values, 0 for a document without the field. None: all fields. A mapping of documents to
        vectors: their cosine. A symmetric matrix, in the order of the input. A function of two
        documents of the input.
    trade_off
        lambda: 1 is relevance alone (the original order); 0 is diversity alone.
    k
        How many places are chosen; the other documents follow in their original order. None: all
        places.

    Examples
    --------
    >>> from podium.postranking import postrank
    >>> shoes = [{"id": "a", "brand": "x"}, {"id": "b", "brand": "x"}, {"id": "c", "brand": "y"}]
    >>> postrank(shoes, [], scores=[3.0, 2.9, 2.5], method=MMR("brand")).order
    ('a', 'c', 'b')
    """

    name: ClassVar[str] = "mmr"
    similarity: Similarity | None = None
    trade_off: float = 0.5
    k: int | None = None

    def __post_init__(self) -> None:
        _check_parameters(self.name, self.trade_off, self.k)

    def _choose_rows(self, problem: PostRankingProblem) -> list[int]:
        gain = self.trade_off * relevance(problem)
        alike = _similarity(self.similarity, problem.listing)
        nearest: Floats | None = None

        def value(last: int | None) -> Floats:
            nonlocal nearest
            if last is None:
                return gain
            near = alike(last)
            nearest = near if nearest is None else np.maximum(nearest, near)
            return gain - (1 - self.trade_off) * nearest

        return _choose_greedily(problem, self.name, value, self.k)


@dataclass(frozen=True, eq=False)
class XQuAD(GreedyMethod):
    """Explicit query aspects (xQuAD): relevant documents with aspects that nothing above covers.

    The next document d has the highest (1 - lambda) rel(d) + lambda sum_a P(a) P(d|a) prod_{e
    above} (1 - P(e|a)); ties keep the original order (Santos, Macdonald, Ounis, WWW 2010). Soft
    rules are refused; hard ones restrict the places.

    Parameters
    ----------
    aspects
        The name of a field: each value is an aspect, which the documents with this value cover
        (P(d|a) is 1 or 0; a document without the field covers none). Or a matrix of P(d|a), with
        one row per document in the order of the input and one column per aspect.
    trade_off
        lambda: 0 is relevance alone (the original order); 1 is diversity alone.
    k
        How many places are chosen; the other documents follow in their original order. None: all
        places.
    weights
        P(a), up to a factor: a mapping from values of the field (others weigh 0), or one weight per
        column of the matrix. None: equal weights.

    Examples
    --------
    >>> from podium.postranking import postrank
    >>> shoes = [{"id": "a", "brand": "x"}, {"id": "b", "brand": "x"}, {"id": "c", "brand": "y"}]
    >>> postrank(shoes, [], scores=[3.0, 2.9, 2.5], method=XQuAD("brand", 0.7)).order
    ('a', 'c', 'b')
    """

    name: ClassVar[str] = "xquad"
    aspects: str | NDArray[np.float64] | None = None
    trade_off: float = 0.5
    k: int | None = None
    weights: Mapping[Any, float] | Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.aspects is None:
            raise UsageError("expected aspects, as in XQuAD('brand'), got none")
        _check_parameters(self.name, self.trade_off, self.k)

    def _choose_rows(self, problem: PostRankingProblem) -> list[int]:
        covers, uncovered = self._covers(
            problem.listing
        )  # P(d|a), and P(a) times what is left of a
        gain = (1 - self.trade_off) * relevance(problem)

        def value(last: int | None) -> Floats:
            if last is not None:
                np.multiply(uncovered, 1 - covers[last], out=uncovered)
            # Not a dot product, because BLAS adds in another order with many threads.
            return np.asarray(gain + self.trade_off * (covers * uncovered).sum(axis=1))

        return _choose_greedily(problem, self.name, value, self.k)

    def _covers(self, listing: Listing) -> tuple[Floats, Floats]:
        """Return P(d|a) by row and aspect, and P(a)."""
        if isinstance(self.aspects, str):
            index = listing.groups(self.aspects)
            covers = np.zeros((len(listing.docs), len(index)))
            for column, rows in enumerate(index.values()):
                covers[rows, column] = 1
            by_value = self.weights
            if by_value is not None and not isinstance(by_value, Mapping):
                raise UsageError("expected weights by value of the field, as a mapping")
            aspect_weights: Any = [
                1.0 if by_value is None else by_value.get(value, 0.0) for value in index
            ]
        else:
            covers = _rows_in_list_order(to_floats(self.aspects, "aspects"), listing, "aspects")
            if ((covers < 0) | (covers > 1)).any():
                raise UsageError("expected probabilities from 0 to 1 as aspects")
            aspect_weights = np.ones(covers.shape[1]) if self.weights is None else self.weights
        weights = (
            None if isinstance(aspect_weights, Mapping) else to_floats(aspect_weights, "weights")
        )
        if weights is None or weights.shape != covers.shape[1:]:
            raise UsageError(f"expected a weight for each of {covers.shape[1]} aspects")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise UsageError("expected weights of 0 or more for the aspects")
        total = weights.sum()
        return covers, weights / total if total > 0 else weights


def relevance(problem: PostRankingProblem) -> Floats:
    """Return the model's scores scaled to 0..1, or ranks if there are no scores; 1 if all are equal.

    Examples
    --------
    >>> relevance(PostRankingProblem(Listing.of("abc"), np.array([5.0, 4.0, 1.0]), ()))
    array([1.  , 0.75, 0.  ])
    >>> relevance(PostRankingProblem(Listing.of("abc"), None, ()))
    array([1. , 0.5, 0. ])
    """
    scores = problem.scores
    if scores is None:
        scores = np.arange(problem.n, 0, -1, dtype=np.float64)
    # Halves, because the difference of two finite numbers may be infinite.
    spread = scores.max() / 2 - scores.min() / 2 if len(scores) else 0.0
    if spread == 0:
        return np.ones(problem.n)
    return np.asarray((scores / 2 - scores.min() / 2) / spread)


def _choose_greedily(
    problem: PostRankingProblem, name: str, value: Callable[[int | None], Floats], k: int | None
) -> list[int]:
    """Return k rows, each with the highest value after those before it, then the other rows in order."""
    if problem.rules:
        raise UsageError(
            f"{name} takes hard rules only, got the soft rule "
            f"{problem.rules[0].rule}; make it hard or use another method"
        )
    chosen: list[int] = []
    left = np.ones(problem.n, dtype=bool)
    last: int | None = None
    for _ in range(problem.n if k is None else min(k, problem.n)):
        last = int(np.argmax(np.where(left, value(last), -np.inf)))
        left[last] = False
        chosen.append(last)
    return chosen + np.flatnonzero(left).tolist()


def _similarity(similarity: Similarity | None, listing: Listing) -> SimilarityRow:
    if similarity is None:
        names = {name for fields in listing.fields or () for name in fields}
        similarity = tuple(sorted(names - {"id"}))
    if isinstance(similarity, str):
        similarity = (similarity,)
    if callable(similarity):
        return _by_function(similarity, listing)
    if isinstance(similarity, Mapping):
        return _by_cosine(similarity, listing)
    if isinstance(similarity, Sequence) and all(isinstance(name, str) for name in similarity):
        if not similarity:
            raise UsageError(
                "mmr needs documents with fields, or another similarity, as in MMR(similarity=...)"
            )
        return _by_fields(similarity, listing)
    return _by_matrix(to_floats(similarity, "similarities"), listing)


def _by_function(function: Callable[[Any, Any], float], listing: Listing) -> SimilarityRow:
    docs: Sequence[Any] = listing.docs if listing.fields is None else listing.fields

    def alike(row: int) -> Floats:
        similarities = to_floats([function(docs[row], other) for other in docs], "similarities")
        if similarities.ndim != 1:
            raise UsageError(
                f"expected a number as similarity, got {short_repr(similarities[0].tolist())}"
            )
        _check_finite(similarities, "similarities")
        return similarities

    return alike


def _by_matrix(matrix: Floats, listing: Listing) -> SimilarityRow:
    own = _rows_in_list_order(matrix, listing, "similarities")
    columns = np.arange(len(own)) if listing.input_rows is None else np.asarray(listing.input_rows)
    if matrix.shape[0] != matrix.shape[1]:
        raise LengthMismatchError(f"expected a square matrix of similarities, got {matrix.shape}")
    return lambda row: own[row, columns]


def _by_cosine(vectors: Mapping[Document, ArrayLike], listing: Listing) -> SimilarityRow:
    for doc in listing.docs:
        if doc not in vectors:
            raise UsageError(f"expected a vector for each document, got none for {doc!r}")
    rows = [to_floats(vectors[doc], "vectors") for doc in listing.docs]
    if len({vector.shape for vector in rows}) > 1 or rows[0].ndim != 1:
        raise LengthMismatchError("expected vectors of the same length for all documents")
    own = np.array(rows)
    _check_finite(own, "vectors")
    # Divide by the largest element first: squares of huge or tiny numbers overflow or vanish.
    size = np.abs(own).max(axis=1, initial=0.0, keepdims=True)
    own = own / np.where(size > 0, size, 1)
    length = np.sqrt((own**2).sum(axis=1, keepdims=True))
    own = own / np.where(length > 0, length, 1)
    return lambda row: np.asarray((own * own[row]).sum(axis=1))


def _by_fields(names: Sequence[str], listing: Listing) -> SimilarityRow:
    """Return the mean over fields of |A and B| / |A or B|, from the rows that share each value."""
    n = len(listing.docs)
    shared: list[list[list[NDArray[np.int64]]]] = []
    sizes = np.zeros((len(names), n))
    for at, name in enumerate(names):
        sharers: list[list[NDArray[np.int64]]] = [[] for _ in range(n)]
        for group in listing.groups(name).values():
            rows = np.array(group)
            sizes[at, rows] += 1
            for row in group:
                sharers[row].append(rows)
        shared.append(sharers)

    def alike(row: int) -> Floats:
        total = np.zeros(n)
        for size, sharers in zip(sizes, shared, strict=True):
            both = np.zeros(n)
            for rows in sharers[row]:
                both[rows] += 1
            either = size + size[row] - both
            total += both / np.where(either > 0, either, 1)
        return total / len(names)

    return alike


def _rows_in_list_order(matrix: Floats, listing: Listing, what: str) -> Floats:
    """Return the rows of the user's matrix in the order of the list."""
    n = len(listing.docs)
    rows = range(n) if listing.input_rows is None else listing.input_rows
    if matrix.ndim != 2 or max(rows, default=-1) >= len(matrix) or len(matrix) < n:
        raise LengthMismatchError(
            f"expected {what} for each of {n} documents, got a matrix of {matrix.shape}"
        )
    _check_finite(matrix, what)
    return matrix[list(rows)]


def _check_parameters(name: str, trade_off: float, k: int | None) -> None:
    if not is_number(trade_off) or not 0 <= trade_off <= 1:
        raise UsageError(
            f"expected a trade-off from 0 to 1 for {name}, got {short_repr(trade_off)}"
        )
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise UsageError(f"expected k of 1 or more for {name}, got {short_repr(k)}")


def _check_finite(values: Floats, what: str) -> None:
    if not np.isfinite(values).all():
        raise NonFiniteError(f"expected finite {what}, got {values[~np.isfinite(values)][0]}")
