"""`postrank`: a list and rules in, a list out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.errors import UndecidedError, UnknownNameError
from podium.postranking.lists import Catalogue
from podium.postranking.methods.baselines import Conservative, Moderate, Proportional, Radical
from podium.postranking.methods.bradley_terry import BradleyTerry, by_score
from podium.postranking.methods.diversity import MMR, XQuAD
from podium.postranking.methods.paper_descent import PaperDescent
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Method, Solution
from podium.postranking.places.constraints import Constraint
from podium.postranking.places.placement import LIMIT, Placement, place
from podium.postranking.posing import (
    Conflicts,
    Missing,
    Posed,
    Settings,
    check_day,
    check_rules,
    pose,
)
from podium.postranking.reasons import Story
from podium.postranking.result import Move, Outcome, PostRanking
from podium.postranking.rules.kinds import Hide
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.selectors import Document
from podium.postranking.yielding import Agreement, conflict_error, give_way

METHODS: dict[str, type[Method]] = {
    "bradley-terry": BradleyTerry,
    "paper": PaperDescent,
    "radical": Radical,
    "moderate": Moderate,
    "conservative": Conservative,
    "proportional": Proportional,
    "mmr": MMR,
    "xquad": XQuAD,
}
"""Every method by name."""


def postrank(
    docs: Sequence[Document] | Sequence[Mapping[str, Any]],
    rules: Iterable[Rule],
    scores: ArrayLike | None = None,
    prior: float = 0.1,
    base: Base = "uniform",
    pairs: Pairs = "without",
    *,
    scale: Scale = "rule",
    method: str | Method = "bradley-terry",
    query: str | None = None,
    fields: Catalogue | None = None,
    today: datetime.date | None = None,
    missing: Missing = "error",
    conflicts: Conflicts = "error",
    limit: int = LIMIT,
) -> PostRanking:
    """One list under rules.

    Parameters
    ----------
    docs
        The documents, best first, each once: ids, or mappings with an ``id`` and fields that rules
        select by.
    rules
        Of `RULES`; their order does not matter.
    scores
        The model's scores, one for each document; then they give the original order, and documents
        of equal score stay as they are.
    prior
        c of tau = c n, what keeps the scores finite.
    base
        How pairs of the original order are weighted: ``uniform`` (the paper), or ``margin``, by how
        far apart the model's scores are.
    pairs
        ``without``: ranks that a rule names are counted without the document; ``printed``: with it,
        as in the paper, where a promoted document stops one place short.
    scale
        Whether a rule's weight is spread over its pairs (``rule``) or that of every pair (``pair``,
        the paper).
    method
        A name of `METHODS`, or a method.
    query
        The text of the query, for rules that are for some queries only.
    fields
        The fields of documents by their ids, where `docs` are ids.
    today
        For rules that hold between dates; the day of the call unless given.
    missing
        What to do with a rule that names a document that is not in the list: ``error``, or ``report``
        it in the result.
    conflicts
        What to do with hard rules that cannot hold together: ``error``, or ``yield``: the rule of lower
        priority gives way and becomes soft; at equal priority a pin gives way to a hide, else the rule
        whose label sorts last. Then there is always a list.
    limit
        How far the search for an order under hard rules goes before it is undecided.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK
    >>> result = postrank(list("abcdef"), [TopK("e", 2, weight=30), NotTopK("a", 3, weight=30)])
    >>> "".join(result)
    'ebcdfa'
    """
    settings = Settings(prior, base, pairs, scale, make_method(method), missing, conflicts, limit)
    posed = pose(docs, check_rules(rules), scores, settings, query, check_day(today), fields)
    return describe(settled(posed, settings), settings)


def make_method(method: str | Method) -> Method:
    """A method by name."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS)
    return METHODS[method]()


class Settled(NamedTuple):
    """A list whose order is found: the rules as they held in the end, the places, the scores."""

    posed: Posed
    placed: Placement
    solution: Solution

    @property
    def order(self) -> list[Document]:
        """The documents shown, best first."""
        rows = self.posed.shown[self.placed.order].tolist()
        return [*map(self.posed.listing.docs.__getitem__, rows)]

    @property
    def hidden(self) -> list[Document]:
        """The others."""
        return [*map(self.posed.listing.docs.__getitem__, self.posed.hidden.tolist())]


def settled(posed: Posed, settings: Settings) -> Settled:
    """The order alone, for who does not ask why."""
    (solution,) = settings.method.solve([posed.problem(settings)])
    return settle(posed, solution, settings)


def finish(posed: Posed, solution: Solution, settings: Settings) -> PostRanking:
    """The order that follows the scores and meets the hard rules, and what is to be said of it."""
    return describe(settle(posed, solution, settings), settings)


def settle(posed: Posed, solution: Solution, settings: Settings) -> Settled:
    """The order that follows the scores and meets the hard rules."""
    _, constraints = posed.constraints(posed.hard)
    if not constraints:
        return Settled(posed, Placement(by_score(solution.scores).tolist(), True), solution)
    yields = settings.conflicts == "yield"
    placed = _placed(solution, constraints, settings, may_give_up=yields)
    if placed is not None:
        return Settled(posed, placed, solution)
    if not yields:
        raise conflict_error(posed, settings)
    return _settle_without(give_way(posed, settings), settings)


def _settle_without(agreement: Agreement, settings: Settings) -> Settled:
    """The order without the rules that gave way; at worst the one that showed that the others can hold."""
    posed = agreement.posed
    (solution,) = settings.method.solve([posed.problem(settings)])
    _, constraints = posed.constraints(posed.hard)
    placed = _placed(solution, constraints, settings, may_give_up=True)
    return Settled(posed, placed or Placement(agreement.order, False), solution)


def _placed(
    solution: Solution, constraints: Sequence[Constraint], settings: Settings, may_give_up: bool
) -> Placement | None:
    """An order that meets constraints; None where there is none, or the search may give up and does."""
    try:
        return place(solution.scores, constraints, settings.limit)
    except UndecidedError:
        if may_give_up:
            return None
        raise


# A document's move without a call of a Python function for each.
_move = partial(tuple.__new__, Move)


def describe(found: Settled, settings: Settings) -> PostRanking:
    """What is to be said of an order of the documents shown."""
    posed, placed, solution = found
    new = np.array(placed.order, dtype=np.int64)
    order, hidden = posed.shown[new], posed.hidden
    rows = np.concatenate([order, hidden])
    to = posed.places(new)
    docs = [*map(posed.listing.docs.__getitem__, rows.tolist())]
    because = _story(posed, solution, to).told(rows, moved=to != np.arange(1, len(to) + 1))
    places = [*range(1, len(order) + 1), *[None] * len(hidden)]
    return PostRanking(
        order=tuple(docs[: len(order)]),
        scores=tuple(solution.scores[new].tolist()),
        rules=tuple(_outcomes(posed, to)),
        moves=tuple(map(_move, zip(docs, (rows + 1).tolist(), places, because, strict=True))),
        kendall=inversions(order),
        method=settings.method.name,
        value=float(solution.value),
        iterations=int(solution.iterations),
        gradient_norm=float(solution.gradient_norm),
        converged=bool(solution.converged),
        proved_optimal=placed.proved_optimal,
    )


def _story(posed: Posed, solution: Solution, to: NDArray[np.int64]) -> Story:
    """Why each document moved: hidden ones made room, soft rules gave scores, hard ones places."""
    story = Story(len(to), posed.rules)
    at = first = np.arange(1, len(to) + 1)
    if not posed.hard_acting:
        story.stage(posed.soft_acting, first, to)
        return story
    if len(posed.hidden):
        at = posed.places(np.arange(len(posed.shown)))
        story.stage([one for one in posed.hard_acting if isinstance(one[1].rule, Hide)], first, at)
    scored = posed.places(by_score(solution.scores))
    story.stage(posed.soft_acting, at, scored)
    place = scored[posed.shown].tolist()
    broken = {k for k, b in posed.among(posed.shown) if posed.is_hard(k) and b.slack(place)}
    story.stage([one for one in posed.hard_acting if one[0] in broken], scored, to)
    return story


def _outcomes(posed: Posed, to: NDArray[np.int64]) -> Iterator[Outcome]:
    """What became of each rule where every document is at this place, hidden ones behind the rest."""
    place = to[posed.shown].tolist()
    slack, absent = [0] * len(posed.rules), {}
    for number, bound in chain(posed.among(posed.shown), posed.idle):
        slack[number] = max(slack[number], bound.slack(place))
        if bound.absent:
            absent[number] = bound.absent
    for number, rule in enumerate(posed.rules):
        note, by = posed.notes.get(number, ""), slack[number]
        yielded, undecided = number in posed.yielded, number in posed.undecided
        others = tuple(posed.rules[other] for other in posed.yielded_to.get(number, ()))
        yield Outcome(rule, by == 0, by, note, yielded, absent.get(number, ()), undecided, others)


def inversions(order: NDArray[np.int64]) -> int:
    """How many pairs of rows stand the other way round."""
    n = len(order)
    places = order.astype(np.float64).reshape(n, 1)
    return int(kernels.disagreements(places, np.arange(n), np.array([0, n]))[0, 0, 0])
