"""Aggregation of the rankings of one query into one ranking: `aggregate` and the methods by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.aggregation.aggregator import Aggregator, Consensus, check_weights
from podium.aggregation.borda import Borda
from podium.aggregation.combsum_combmnz import CombMNZ, CombSUM
from podium.aggregation.distances import distance_to
from podium.aggregation.document_order import DocumentOrder
from podium.aggregation.footrule_aggregation import Footrule
from podium.aggregation.kemeny import Kemeny, KemenyLocal
from podium.aggregation.mc4 import MC4
from podium.aggregation.rankings import Ranking, Rankings, documents_of
from podium.aggregation.reciprocal_rank_fusion import ReciprocalRank
from podium.aggregation.supervised_kemeny import SupervisedKemeny
from podium.errors import DataError, UnknownNameError, UsageError
from podium.plugins import Registry, subclasses_of
from podium.typing import Document

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
class Aggregate(DocumentOrder):
    """One ranking of many: the documents best first, with scores, distance and bound.

    `distance` is the weighted mean Kendall distance to the rankings (`distance_to`); for `footrule`
    it is the footrule distance. `bound` is a proved lower bound for all orders, if the aggregator
    has one.
    """

    order: tuple[Document, ...]
    scores: tuple[float, ...]
    method: str
    weights: tuple[float, ...]
    distance: float
    bound: float | None = None

    @property
    def optimal(self) -> bool | None:
        """Whether it is proved that no order is nearer to the rankings; None without a bound."""
        if self.bound is None:
            return None
        consensus = Consensus(np.empty(0), np.array([self.distance]), np.array([self.bound]))
        return bool(np.all(consensus.optimal))

    def __repr__(self) -> str:
        summary = f"{self.method}, distance {self.distance:.6g}"
        if self.bound is not None:
            gap = f"at most {self.distance - self.bound:.2g} above the minimum"
            summary += f", {'proved optimal' if self.optimal else gap}"
        return f"Aggregate({self.preview()}, {summary})"


def make_aggregator(method: str, **options: Any) -> Aggregator:
    """Return an aggregator by name.

    Examples
    --------
    >>> make_aggregator("rrf", k=10)
    ReciprocalRank(k=10)
    """
    if method not in AGGREGATORS:
        raise UnknownNameError("aggregator", method, AGGREGATORS)
    names = [option.name for option in fields(AGGREGATORS[method])]
    for option in options:
        if not names:
            raise UsageError(f"{method} takes no options, got {option!r}")
        if option not in names:
            raise UnknownNameError(f"option of {method}", option, names)
    return AGGREGATORS[method](**options)


def aggregate(
    rankings: Sequence[Ranking],
    method: str | Aggregator = "supervised-kemeny",
    weights: ArrayLike | None = None,
    depth: int | None = None,
    initial: Sequence[Document] | None = None,
    **options: Any,
) -> Aggregate:
    """Combine many rankings into one.

    Parameters
    ----------
    rankings
        Each ranking is a sequence of documents, best first, in which a tie is a nested list, tuple
        or set; or a mapping of documents to scores. Rankings need not list the same documents: a
        ranking prefers the documents that it lists to all others.
    method
        A name of `AGGREGATORS`, or an aggregator.
    weights
        The weight of each ranking, 0 or more; by default all are equal.
    depth
        How many documents of each ranking count; by default all. A tie that starts within the depth
        counts as a whole.
    initial
        All documents, best first: the order to start from, if a method starts from one, and the
        order of ties. It may have documents that no ranking lists; they are ranked, too. By default
        methods start from the weighted Borda count, with ties in the order of first mention.
    options
        Options of the method, such as ``time_limit`` of kemeny.

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
    aggregator = _resolve_method(method, options)
    documents = documents_of(rankings)
    if initial is not None:
        documents = _check_initial(initial, documents)
    columns = Rankings.of(rankings, documents).top(depth)
    start = None if initial is None else -np.arange(len(documents), dtype=np.float64)
    consensus = aggregator(columns, weights, start)
    distance = consensus.distance
    if distance is None:
        distance = distance_to(columns, consensus.scores, weights)
    order = columns.groups.order(consensus.scores).tolist()
    return Aggregate(
        tuple(documents[row] for row in order),
        tuple(consensus.scores[order].tolist()),
        aggregator.name,
        tuple(check_weights(weights, columns).tolist()),
        float(distance[0]),
        None if consensus.bound is None else float(consensus.bound[0]),
    )


def _resolve_method(method: str | Aggregator, options: Mapping[str, Any]) -> Aggregator:
    if isinstance(method, str):
        return make_aggregator(method, **options)
    if not isinstance(method, Aggregator):
        raise UsageError(f"expected an aggregator or its name, got {method!r}")
    if options:
        raise UsageError(
            f"an aggregator object takes no further options, got {', '.join(options)}; set "
            f"them on {method!r} itself"
        )
    return method


def _check_initial(initial: Sequence[Document], ranked: Iterable[Document]) -> list[Document]:
    """Return the documents of the initial order; raise unless it has each ranked document once."""
    if isinstance(initial, str | Mapping | Set) or not isinstance(initial, Iterable):
        raise UsageError(f"expected the initial order as a list of documents, got {initial!r}")
    documents = [d.item() if isinstance(d, np.generic) else d for d in initial]
    for document in documents:
        if not isinstance(document, Hashable):
            raise UsageError(
                f"the initial order has the tie {document!r}; expected an order without ties"
            )
    initial_documents = set(documents)
    if len(initial_documents) < len(documents):
        twice = next(d for i, d in enumerate(documents) if d in documents[:i])
        raise DataError(f"the initial order has {twice!r} twice; expected each document once")
    for document in ranked:
        if document not in initial_documents:
            raise DataError(
                f"the initial order lacks the ranked document {document!r}; expected all "
                "ranked documents"
            )
    return documents
