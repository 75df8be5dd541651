"""Ranking in the service: features of one query in, order and scores out, after rules if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import RankAnswer, RankDocument, RankRequest, Value
from podium.apps.serving.feature_values import feature_matrix
from podium.apps.serving.postranking import (
    RuledList,
    ServedRules,
    apply_rules,
    check_documents,
    check_ids,
)
from podium.apps.serving.served_models import LoadedModel
from podium.postranking.work_budget import check_time
from podium.typing import Floats

MAX_LISTED_NAMES = 20
"""Names that an error lists."""
EXPLAINED_ROWS = 1_000
"""Documents whose scores are explained between two checks of the deadline."""


def rank_answer(request: RankRequest, model: LoadedModel, served_rules: ServedRules) -> RankAnswer:
    """Return the answer to one query: the order of the model, or of the rules if asked for."""
    X, ids = features_of(request, model), ids_of(request)
    scores, user_class = model.scores(X, request.user_class)
    order = np.argsort(-scores, kind="stable")
    ruled = None
    if request.rules is not False:
        ruled = _apply_rules(request, order, scores, ids, served_rules)
        row = {id_: at for at, id_ in enumerate(ids or ())}
        order = np.array([row[id_] for id_ in ruled.ids], dtype=np.int64)
    order = order[: request.k]
    top_scores: list[float] = scores[order].tolist()
    contributions = (
        _contributions(model, model.prepare(X)[order], user_class) if request.explain else None
    )
    return RankAnswer(
        model=model.name,
        version=model.version,
        order=order.tolist(),
        scores=top_scores,
        ids=None if ids is None else [ids[row] for row in order.tolist()],
        id=request.id,
        user_class=user_class,
        hidden=(ruled.hidden or None) if ruled else None,
        yielded=(ruled.yielded or None) if ruled else None,
        moves=ruled.moves if ruled else None,
        rules=ruled.rules if ruled else None,
        contributions=contributions,
        # What the contributions leave of a score is the same for every row, so the first row tells it.
        base=top_scores[0] - sum(contributions[0].values()) if contributions else None,
    )


def features_of(request: RankRequest, model: LoadedModel) -> Floats:
    """Return one row per document, with the model's columns; 422 if a value is not one it takes."""
    if (request.documents is None) == (request.features is None):
        got = "neither" if request.documents is None else "both"
        raise Refusal(422, "bad_request", f"expected documents or features, got {got}")
    if request.documents is not None:
        if request.feature_names is not None or request.ids is not None:
            message = "expected feature_names and ids beside features; documents have their own"
            raise Refusal(422, "bad_request", message)
        X = _matrix_by_name(request.documents, model)
    else:
        X = _matrix(request.features or [], request.feature_names, model)
    _check_values(X, model)
    return X


def _matrix(
    rows: Sequence[Sequence[Value]], names: Sequence[str] | None, model: LoadedModel
) -> Floats:
    n = len(model.feature_names)
    columns = None if names is None else _columns(names, model)
    if any(len(row) != n for row in rows):
        at = next(at for at, row in enumerate(rows) if len(row) != n)
        message = (
            f"expected {n} features in each row, as model {model.name!r} has, got {len(rows[at])} "
            f"in features[{at}]"
        )
        raise Refusal(422, "wrong_features", message, at=f"features[{at}]")

    def place_of(row: int, column: int) -> str:
        return f"features[{row}][{column}]"

    X = feature_matrix(rows, names or model.feature_names, model.categories, place_of)
    return X if columns is None else np.ascontiguousarray(X[:, columns])


def _columns(names: Sequence[str], model: LoadedModel) -> list[int]:
    """Return the columns of a request in the model's order."""
    columns = {name: column for column, name in enumerate(names)}
    if len(columns) < len(names):
        twice = next(name for column, name in enumerate(names) if columns[name] != column)
        message = f"expected each of feature_names once, got {twice!r:.200} twice"
        raise Refusal(422, "wrong_features", message, at="feature_names")
    if columns.keys() != set(model.feature_names):
        raise _wrong_features(names, model, "feature_names")
    return [columns[name] for name in model.feature_names]


def _matrix_by_name(documents: Sequence[RankDocument], model: LoadedModel) -> Floats:
    n, pick = len(model.feature_names), model.pick_values
    rows: list[Any] = []
    for at, document in enumerate(documents):
        values = document.features
        if model.fills_missing and values.keys() < set(model.feature_names):
            rows.append([values.get(name) for name in model.feature_names])
            continue
        try:
            rows.append(pick(values))
        except KeyError:
            raise _wrong_features(list(values), model, f"documents[{at}].features") from None
        if len(values) != n:
            raise _wrong_features(list(values), model, f"documents[{at}].features")

    def place_of(row: int, column: int) -> str:
        return f"documents[{row}].features.{model.feature_names[column]}"

    return feature_matrix(rows, model.feature_names, model.categories, place_of)


def _wrong_features(names: Sequence[str], model: LoadedModel, at: str) -> Refusal:
    """Return 422 with the names of missing features, and of those that the model does not have."""
    request_names, model_names = set(names), set(model.feature_names)
    missing = [name for name in model.feature_names if name not in request_names]
    extra = [name[:200] for name in names if name not in model_names]
    got = " and ".join(
        f"{word} {', '.join(wrong[:5])}" + (", ..." if len(wrong) > 5 else "")
        for word, wrong in (("no", missing), ("also", extra))
        if wrong
    )
    return Refusal(
        422,
        "wrong_features",
        f"expected the {len(model_names)} features of model {model.name!r} in {at}, got {got}",
        at=at,
        missing=missing[:MAX_LISTED_NAMES],
        extra=extra[:MAX_LISTED_NAMES],
    )


def _check_values(X: Floats, model: LoadedModel) -> None:
    """Raise 422 if a value is infinite, or missing for a model that takes no missing values."""
    if np.isfinite(X).all():
        return
    wrong = ~np.isfinite(X) if not model.ranker.accepts_missing else np.isinf(X)
    if not wrong.any():
        return
    row, column = (int(place) for place in np.argwhere(wrong)[0])
    got = "nothing" if np.isnan(X[row, column]) else "infinity"
    name = model.feature_names[column]
    message = f"expected a finite number as feature {name!r} of document {row}, got {got}"
    raise Refusal(422, "not_finite", message, at=f"{row}.{name}")


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
) -> RuledList:
    """Apply the rules of the request, or of the service, to the model's order."""
    rules = served_rules.choose(request.rules)
    if ids is None:
        if len(order):
            message = "expected ids of documents, by which rules name them, got none"
            raise Refusal(422, "wrong_ids", message)
        ids = []
    check_ids(ids)
    fields = [doc.fields for doc in request.documents or ()] or [None] * len(ids)
    check_documents(fields)
    records = served_rules.records([ids[row] for row in order], [fields[row] for row in order])
    return apply_rules(records, rules, request, scores[order].tolist())


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
