"""Ranking in the service: features of one query in, order and scores out, after rules if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import RankAnswer, RankRequest
from podium.apps.serving.feature_values import features_of
from podium.apps.serving.postranking import (
    ServedRules,
    apply_active_rules,
    check_documents,
    check_ids,
)
from podium.apps.serving.rule_outcomes import RuledList
from podium.apps.serving.served_models import LoadedModel
from podium.apps.serving.treatments import Treatment
from podium.apps.serving.unapplied_rules import FieldSources
from podium.clicks.experiment_records import ListRecord
from podium.postranking import Hide
from podium.typing import Floats
from podium.work_budget import check_time

T = TypeVar("T")
MAX_LOGGED_RULES = 100
"""The most rules that the log of lists names for a list."""
EXPLAINED_ROWS = 1_000
"""Documents whose scores are explained between two checks of the deadline."""


def rank_answer(request: RankRequest, model: LoadedModel, served_rules: ServedRules) -> RankAnswer:
    """Return the answer to one query: the order of the model, or of the rules if asked for."""
    return treated_answer(request, Treatment(model), served_rules)[0]


def treated_answer(
    request: RankRequest, treatment: Treatment, served_rules: ServedRules
) -> tuple[RankAnswer, ListRecord | None]:
    """Return the answer to one query under a treatment, and its record if the treatment changed the list.

    The rules apply to the interleaved list. Swaps come last, except where a hard rule says how documents
    stand: such a list has no positions before the swaps.
    """
    model = treatment.model
    X, ids = features_of(request, model), ids_of(request)
    scores, user_class = model.score_rows(X, request.user_class)
    order = np.argsort(-scores, kind="stable")
    mixed = treatment.mix(order, X, request)
    if mixed is not None:
        order = _with_top(order, mixed.docs)
    ruled: RuledList | None = None
    if request.rules is not False and not (request.rules is True and treatment.without_rules):
        ruled, order = _rule_order(request, order, scores, ids, model, served_rules)
    order = order[: request.k]
    order, swaps = _swap(order, treatment, may_swap=_may_swap(request, treatment, served_rules))
    rows = [row if row < len(scores) else None for row in order.tolist()]
    listed = order[order < len(scores)]
    top_scores: list[float] = scores[listed].tolist()
    contributions = (
        _contributions(model, model.prepare(X)[listed], user_class) if request.explain else None
    )
    answer = RankAnswer(
        model=model.name,
        version=model.version,
        order=rows,
        scores=_at_rows(top_scores, rows),
        ids=None if ids is None else _ids_at(ids, ruled, order),
        id=request.id,
        user_class=user_class,
        **_rule_parts(ruled),
        contributions=None if contributions is None else _at_rows(contributions, rows),
        # The score minus its contributions is the same for every row, so the first row is enough.
        base=top_scores[0] - sum(contributions[0].values()) if contributions else None,
        experiment=treatment.info(order.tolist(), mixed),
        base_positions=None if swaps is None else [place + 1 for place in swaps],
    )
    if treatment.experiment is None and swaps is None:
        return answer, None
    rules = _rules_on(request, treatment, served_rules)
    return answer, treatment.record(request, answer, mixed, rules)


def _rules_on(
    request: RankRequest, treatment: Treatment, served_rules: ServedRules
) -> tuple[str, ...] | None:
    """Return the names of the service's rules that are on, in both arms; None if no arm is without rules."""
    experiment = treatment.experiment
    if experiment is None or not experiment.holds_out_rules or request.rules is not True:
        return None
    return tuple(rule.label for rule in served_rules.activate(request).active[:MAX_LOGGED_RULES])


def _rule_parts(ruled: RuledList | None) -> dict[str, Any]:
    """Return what an answer says about its rules; nothing without rules."""
    if ruled is None:
        return {}
    return {
        "inserted": ruled.inserted or None,
        "hidden": ruled.hidden or None,
        "degraded": ruled.is_degraded or None,
        "reason": ruled.reason,
        "yielded": ruled.yielded or None,
        "unapplied": ruled.unapplied_rules or None,
        "moves": ruled.moves,
        "rules": ruled.rules,
    }


def _ids_at(ids: Sequence[str], ruled: RuledList | None, order: NDArray[np.int64]) -> list[str]:
    """Return the ids of rows; inserted documents come after the rows of the request."""
    every = [*ids, *(ruled.inserted if ruled else ())]
    return [every[row] for row in order.tolist()]


def _at_rows(values: Sequence[T], rows: Sequence[int | None]) -> list[T | None]:
    """Return values of the listed rows, in their order; None for inserted documents."""
    rest = iter(values)
    return [None if row is None else next(rest) for row in rows]


def _rule_order(
    request: RankRequest, order: NDArray[np.int64], scores: Floats, ids: list[str] | None,
    model: LoadedModel, served_rules: ServedRules,
) -> tuple[RuledList, NDArray[np.int64]]:  # fmt: skip
    """Return the list of the rules, and the rows in its order."""
    sources = served_rules.sources(model.feature_names)
    ruled = _apply_rules(request, order, scores, ids, served_rules, sources)
    # Inserted documents have no rows; they count on from the last one.
    row = {id_: at for at, id_ in enumerate([*(ids or ()), *ruled.inserted])}
    return ruled, np.array([row[id_] for id_ in ruled.ids], dtype=np.int64)


def _with_top(order: NDArray[np.int64], top: Sequence[int]) -> NDArray[np.int64]:
    """Return an order with these rows at the top; the others follow as they were."""
    is_below = np.ones(len(order), dtype=bool)
    is_below[list(top)] = False
    return np.concatenate([np.array(top, dtype=np.int64), order[is_below[order]]])


def _swap(
    order: NDArray[np.int64], treatment: Treatment, *, may_swap: bool
) -> tuple[NDArray[np.int64], list[int] | None]:
    """Return an order with the swaps of a treatment, and the place that each row had before."""
    swaps = treatment.swaps(len(order)) if may_swap else None
    return (order, None) if swaps is None else (order[swaps], swaps)


def _may_swap(request: RankRequest, treatment: Treatment, served_rules: ServedRules) -> bool:
    """Return whether no hard rule of a request says how documents stand."""
    if not treatment.swap or request.rules is False:
        return True
    active = served_rules.activate(request).active
    return not any(rule.hard and not isinstance(rule, Hide) for rule in active)


def ids_of(request: RankRequest) -> list[str] | None:
    """Return the documents' ids; None if none has one, 422 if only some have."""
    if request.documents is None:
        ids, n = request.ids, len(request.features or ())
        if ids is not None and len(ids) != n:
            message = f"expected an id for each of {n} rows of features, got {len(ids)}"
            raise Refusal(422, "wrong_ids", message, at="ids")
        return ids
    ids = [document.id for document in request.documents if document.id is not None]
    if ids and len(ids) < len(request.documents):
        at = next(at for at, document in enumerate(request.documents) if document.id is None)
        message = f"expected an id for every document, or for none, got none at documents[{at}]"
        raise Refusal(422, "wrong_ids", message, at=f"documents[{at}]")
    return ids or None


def _apply_rules(
    request: RankRequest,
    order: NDArray[np.int64],
    scores: Floats,
    ids: list[str] | None,
    served_rules: ServedRules,
    sources: FieldSources,
) -> RuledList:
    """Apply the rules of the request, or of the service, to the model's order."""
    chosen = served_rules.activate(request)
    if ids is None:
        if len(order):
            message = "expected ids of documents, by which rules name them, got none"
            raise Refusal(422, "wrong_ids", message)
        ids = []
    check_ids(ids)
    fields = [doc.fields for doc in request.documents or ()] or [None] * len(ids)
    check_documents(fields)
    records = served_rules.records([ids[row] for row in order], [fields[row] for row in order])
    insertable = served_rules.insertable(chosen, request)
    return apply_active_rules(records, chosen, request, scores[order].tolist(), sources, insertable)


def _contributions(model: LoadedModel, X: Floats, user_class: str | None) -> list[dict[str, float]]:
    """Return what each feature adds to the scores of these rows."""
    if not model.explains or user_class is not None:
        kind = f"of user class {user_class!r}" if user_class is not None else "by features"
        message = f"expected a model that explains its scores {kind}, got {model.name!r}"
        raise Refusal(422, "not_explained", message)
    if not len(X):
        return []
    names = model.feature_names
    contributions: list[dict[str, float]] = []
    for start in range(0, len(X), EXPLAINED_ROWS):
        check_time()  # trees take long
        rows = model.contributions(X[start : start + EXPLAINED_ROWS]).tolist()
        contributions += [dict(zip(names, row, strict=True)) for row in rows]
    return contributions
