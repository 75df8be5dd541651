"""`aggregate`: rankings of one query in, one ranking out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from podium.aggregation.aggregator import Aggregator, Consensus, check_weights
from podium.aggregation.assignment import Footrule
from podium.aggregation.distances import distance_to
from podium.aggregation.kemeny import Kemeny, KemenyLocal, SupervisedKemeny
from podium.aggregation.markov import MC4
from podium.aggregation.positional import Borda, ReciprocalRank
from podium.aggregation.rankings import Document, Ranking, Rankings, documents_of
from podium.aggregation.scores import CombMNZ, CombSUM
from podium.errors import DataError, UnknownNameError, UsageError
from podium.plugins import Registry, subclasses_of

AGGREGATORS: Registry[type[Aggregator]] = Registry(
    "podium.aggregators",
    {
        "supervised-kemeny": SupervisedKemeny,
        "kemeny": Kemeny,
        "kemeny-local": KemenyLocal,
        "borda": Borda,
        "footrule": Footrule,
        "mc4": MC4,
        "rrf": ReciprocalRank,
        "combsum": CombSUM,
        "combmnz": CombMNZ,
    },
    subclasses_of(Aggregator),
)
"""Every aggregator by name."""


@dataclass(frozen=True, repr=False)
class Aggregate(Sequence[Any]):
    """One ranking made of many: the documents best first, and what is known of it.

    `distance` is the weighted mean Kendall distance to the rankings (`distance_to`), of `footrule` the
    footrule distance that it minimises; `bound` is what no order can go below, where the aggregator
    proves one.
    """

    order: tuple[Document, ...]
    scores: tuple[float, ...]
    method: str
    weights: tuple[float, ...]
    distance: float
    bound: float | None = None

    @property
    def optimal(self) -> bool | None:
        """Whether no order is nearer to the rankings; None where nothing is proved."""
        if self.bound is None:
            return None
        consensus = Consensus(np.empty(0), np.array([self.distance]), np.array([self.bound]))
        return bool(np.all(consensus.optimal))

    def __repr__(self) -> str:
        shown = [repr(document) for document in self.order[:10]]
        more = [] if len(self.order) <= 10 else [f"... {len(self.order)} documents"]
        known = f"{self.method}, distance {self.distance:.6g}"
        if self.bound is not None:
            gap = f"at most {self.distance - self.bound:.2g} above the least"
            known += f", {'proved optimal' if self.optimal else gap}"
        return f"Aggregate([{', '.join(shown + more)}], {known})"

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.order[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)


def make_aggregator(method: str, **options: Any) -> Aggregator:
    """An aggregator by name.

    Examples
    --------
    >>> make_aggregator("rrf", k=10)
    ReciprocalRank(k=10)
    """
    if method not in AGGREGATORS:
        raise UnknownNameError("aggregator", method, AGGREGATORS)
    known = [option.name for option in fields(AGGREGATORS[method])]
    for option in options:
        if not known:
            raise UsageError(f"expected no options for {method}, got {option!r}")
        if option not in known:
            raise UnknownNameError(f"option of {method}", option, known)
    return AGGREGATORS[method](**options)


def aggregate(
    rankings: Sequence[Ranking],
    method: str | Aggregator = "supervised-kemeny",
    weights: ArrayLike | None = None,
    depth: int | None = None,
    initial: Sequence[Document] | None = None,
    **options: Any,
) -> Aggregate:
    """One ranking of many.

    Parameters
    ----------
    rankings
        Each a sequence of documents, best first, where a tie is a nested list, tuple or set; or a
        mapping of documents to scores. They need not list the same documents: one that a ranking
        lists is better, to it, than one that it does not.
    method
        A name of `AGGREGATORS`, or an aggregator.
    weights
        How much each ranking counts, 0 or more; all the same unless given.
    depth
        How many of each ranking count; all unless given. A tie that starts within is taken whole.
    initial
        All documents, best first: the order to start from, where a method starts from one, and
        among documents it holds equal. Documents that no ranking lists may be in it, and are ranked.
        Without it, methods start from weighted Borda, ties as first mentioned.
    options
        The method's own, such as ``time_limit`` of kemeny.

    Examples
    --------
    >>> rankings = [["a", "b", "c"], ["b", "a", "c"], ["b", "d"]]
    >>> list(aggregate(rankings))
    ['b', 'a', 'c', 'd']
    >>> aggregate(rankings, "kemeny", weights=[3, 1, 1])
    Aggregate(['a', 'b', 'c', 'd'], kemeny, distance 0.9, proved optimal)
    >>> aggregate(rankings, "borda", depth=1, initial=["d", "c", "b", "a"]).order
    ('b', 'a', 'd', 'c')
    """
    aggregator = _aggregator(method, options)
    documents = documents_of(rankings)
    if initial is not None:
        documents = _all_documents(initial, documents)
    given = Rankings.of(rankings, documents).top(depth)
    start = None if initial is None else -np.arange(len(documents), dtype=np.float64)
    consensus = aggregator(given, weights, start)
    distance = consensus.distance
    if distance is None:
        distance = distance_to(given, consensus.scores, weights)
    order = given.groups.order(consensus.scores).tolist()
    return Aggregate(
        tuple(documents[row] for row in order),
        tuple(consensus.scores[order].tolist()),
        aggregator.name,
        tuple(check_weights(weights, given).tolist()),
        float(distance[0]),
        None if consensus.bound is None else float(consensus.bound[0]),
    )


def _aggregator(method: str | Aggregator, options: Mapping[str, Any]) -> Aggregator:
    if isinstance(method, str):
        return make_aggregator(method, **options)
    if not isinstance(method, Aggregator):
        raise UsageError(f"expected an aggregator or its name, got {method!r}")
    if options:
        raise UsageError(
            f"expected options in {method!r} itself, got {', '.join(options)} beside it"
        )
    return method


def _all_documents(initial: Sequence[Document], ranked: Iterable[Document]) -> list[Document]:
    """The documents of the initial order, each once, and none missing that a ranking lists."""
    if isinstance(initial, str | Mapping | Set) or not isinstance(initial, Iterable):
        raise UsageError(f"expected the initial order as a list of documents, got {initial!r}")
    documents = [d.item() if isinstance(d, np.generic) else d for d in initial]
    for document in documents:
        if not isinstance(document, Hashable):
            raise UsageError(f"expected an initial order without ties, got {document!r} in it")
    known = set(documents)
    if len(known) < len(documents):
        twice = next(d for i, d in enumerate(documents) if d in documents[:i])
        raise DataError(f"expected each document once in the initial order, got {twice!r} twice")
    for document in ranked:
        if document not in known:
            raise DataError(
                f"expected rankings of documents in the initial order, got {document!r}, which is not"
            )
    return documents
