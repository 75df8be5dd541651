"""`postrank`: apply rules to a list in four steps: prepare, solve, place, make the result."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from podium.errors import UnknownNameError
from podium.postranking.explanation import make_post_ranking
from podium.postranking.list_input import Catalogue, read_insertable
from podium.postranking.methods.baselines import Conservative, Moderate, Proportional, Radical
from podium.postranking.methods.bradley_terry import BradleyTerry
from podium.postranking.methods.mmr_xquad import MMR, XQuAD
from podium.postranking.methods.paper_descent import PaperDescent
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Method
from podium.postranking.ordering import place_documents, solve
from podium.postranking.places.placement import SEARCH_LIMIT
from podium.postranking.preparation import prepare
from podium.postranking.result import PostRanking
from podium.postranking.rule_request import read_request
from podium.postranking.rule_store import RuleStore
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import (
    DEFAULT_CLASSES,
    Conflicts,
    MissingDocuments,
    Settings,
    check_rules,
)
from podium.rankers.ranked_lists import RankedList
from podium.typing import Document

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
    docs: Sequence[Document] | Sequence[Mapping[str, Any]] | RankedList,
    rules: Iterable[Rule] | RuleStore,
    scores: ArrayLike | None = None,
    prior: float = 0.1,
    base: Base = "uniform",
    pairs: Pairs = "without",
    *,
    scale: Scale = "rule",
    method: str | Method = "bradley-terry",
    query: str | None = None,
    context: Mapping[str, Any] | None = None,
    fields: Catalogue | None = None,
    insertable: Sequence[Document] | Sequence[Mapping[str, Any]] | None = None,
    today: datetime.date | None = None,
    missing: MissingDocuments = "error",
    conflicts: Conflicts = "error",
    classes: Sequence[str] = DEFAULT_CLASSES,
    limit: int = SEARCH_LIMIT,
    explain: bool = True,
) -> PostRanking:
    """Post-rank one list under rules.

    Parameters
    ----------
    docs
        The documents, best first, each once: ids, or mappings with an ``id`` and fields that rules
        select by. Or a list that ``rank`` of a ranker returns, with its scores.
    rules
        The rules; their order does not matter. Of many rules for some requests only, make a
        `RuleStore` once.
    scores
        The model's scores, one per document. They give the original order; documents of equal score
        keep the order of `docs`.
    prior
        A weak pull of all scores to 0, which keeps them finite: c in tau = c n.
    base
        The weight of pairs of the original order: ``uniform``, as in the paper, or ``margin``, by
        the difference of the model's scores.
    pairs
        ``without``: the ranks of a rule are counted without its document. ``printed``: they are
        counted with it, as in the paper; then a promoted document stops one place short.
    scale
        ``rule``: a rule's weight is spread over its pairs; ``pair``: every pair has this weight, as in
        the paper.
    method
        A name of `METHODS`, or a method.
    query
        The text of the query, for rules that are for some queries only.
    context
        What else the request carries, for rules with a condition (``when``): a mapping such as
        ``{"device": "mobile", "filters": {"brand": "DGT"}}``. ``time`` is the time of the request;
        the default is now.
    fields
        The fields of documents by their ids, if `docs` are ids. Rules may insert its documents.
    insertable
        Other documents that rules may insert, as `docs`.
    today
        The day for rules with dates; None: the day of the call.
    missing
        What to do with a rule that names a document which is not in the list: ``error``, or
        ``report`` it in the result.
    conflicts
        What to do if hard rules contradict each other: ``error``, or ``yield``: the rule of the
        weaker class gives way and becomes soft, then the rule of lower priority. At equal priority
        a pin gives way to a hide, else the rule whose label sorts last. With ``yield`` there is
        always a list.
    classes
        The classes of rules, the strongest first.
    limit
        The maximum number of steps of the search for an order under hard rules.
    explain
        Whether moves name the rules behind them; False is faster.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK
    >>> result = postrank(list("abcdef"), [TopK("e", 2, weight=30), NotTopK("a", 3, weight=30)])
    >>> "".join(result)
    'ebcdfa'
    """
    settings = Settings(
        prior, base, pairs, scale, make_method(method), missing, conflicts, limit, tuple(classes)
    )
    request = read_request(query, context, today)
    if isinstance(rules, RuleStore):
        numbers = rules.active_numbers(query, request.day, request.values)
        listed = tuple(rules.rules[number] for number in numbers)
    else:
        listed = check_rules(rules)
    prepared = prepare(
        docs,
        listed,
        scores,
        settings,
        query,
        request.day,
        fields,
        request.values,
        read_insertable(insertable, fields),
    )
    # Soft rules give the scores; hard rules restrict the places.
    (solution,) = solve([prepared], settings)
    placed = place_documents(prepared, solution, settings)
    return make_post_ranking(placed, settings, explain=explain)


def make_method(method: str | Method) -> Method:
    """Return a method: the one of this name, or the given one."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS)
    return METHODS[method]()
