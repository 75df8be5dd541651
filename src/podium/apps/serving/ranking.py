"""One query's documents -> an answer: features into the model's columns, scores, order, rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.apps.serving.bodies import RankAnswer, RankDocument, RankRequest
from podium.apps.serving.errors import Refusal
from podium.apps.serving.models import Floats, LoadedModel
from podium.apps.serving.rules import (
    Ruled,
    ServedRules,
    apply_rules,
    check_documents,
    check_ids,
)
from podium.postranking.work_budget import check_time

SHOWN = 20
"""Names that an error lists."""
ROWS_EXPLAINED = 1_000
"""Documents whose scores are explained between two looks at the clock."""


def rank_answer(request: RankRequest, model: LoadedModel, served_rules: ServedRules) -> RankAnswer:
    """The answer to one query: the model's order, or the rules' where they are asked for."""
    X, ids = features_of(request, model), ids_of(request)
    scores, served = model.scores(X, request.user_class)
    order = np.argsort(-scores, kind="stable")
    ruled = None
    if request.rules is not False:
        ruled = _apply_rules(request, order, scores, ids, served_rules)
        row = {id_: at for at, id_ in enumerate(ids or ())}
        order = np.array([row[id_] for id_ in ruled.ids], dtype=np.int64)
    order = order[: request.k]
    top_scores: list[float] = scores[order].tolist()
    contributions = _contributions(model, X[order], served) if request.explain else None
    return RankAnswer(
        model=model.name,
        version=model.version,
        order=order.tolist(),
        scores=top_scores,
        ids=None if ids is None else [ids[row] for row in order.tolist()],
        id=request.id,
        user_class=served,
        hidden=(ruled.hidden or None) if ruled else None,
        yielded=(ruled.yielded or None) if ruled else None,
        moves=ruled.moves if ruled else None,
        rules=ruled.rules if ruled else None,
        contributions=contributions,
        # What trees give a document of which nothing is known; 0 of a weighted sum.
        base=top_scores[0] - sum(contributions[0].values()) if contributions else None,
    )


def features_of(request: RankRequest, model: LoadedModel) -> Floats:
    """One row a document, columns as the model has them, every value a number it takes."""
    if (request.documents is None) == (request.features is None):
        got = "neither" if request.documents is None else "both"
        raise Refusal(422, "bad_request", f"expected documents or features, got {got}")
    if request.documents is not None:
        if request.feature_names is not None or request.ids is not None:
            said = "expected feature_names and ids beside features; documents have their own"
            raise Refusal(422, "bad_request", said)
        X = _by_name(request.documents, model)
    else:
        X = _matrix(request.features or [], request.feature_names, model)
    _check_values(X, model)
    return X


def _matrix(
    rows: Sequence[Sequence[float | None]], names: Sequence[str] | None, model: LoadedModel
) -> Floats:
    n = len(model.feature_names)
    columns = None if names is None else _columns(names, model)
    try:
        X = np.array(rows, dtype=np.float64) if rows else np.empty((0, n))
    except (ValueError, OverflowError):  # rows of different lengths
        X = np.empty((0, 0))
    if X.ndim != 2 or X.shape[1] != n:
        at = next(at for at, row in enumerate(rows) if len(row) != n)
        said = (
            f"expected {n} features in each row, as model {model.name!r} has, got {len(rows[at])}"
        )
        raise Refusal(422, "wrong_features", f"{said} in features[{at}]", at=f"features[{at}]")
    return X if columns is None else np.ascontiguousarray(X[:, columns])


def _columns(names: Sequence[str], model: LoadedModel) -> list[int]:
    """Where the model's features stand in a request."""
    where = {name: at for at, name in enumerate(names)}
    if len(where) < len(names):
        twice = next(name for at, name in enumerate(names) if where[name] != at)
        said = f"expected each of feature_names once, got {twice!r:.200} twice"
        raise Refusal(422, "wrong_features", said, at="feature_names")
    if where.keys() != set(model.feature_names):
        raise _other_features(names, model, "feature_names")
    return [where[name] for name in model.feature_names]


def _by_name(documents: Sequence[RankDocument], model: LoadedModel) -> Floats:
    n, pick = len(model.feature_names), model.pick
    rows: list[Any] = []
    for at, document in enumerate(documents):
        values = document.features
        try:
            rows.append(pick(values))
        except KeyError:
            raise _other_features(list(values), model, f"documents[{at}].features") from None
        if len(values) != n:
            raise _other_features(list(values), model, f"documents[{at}].features")
    return np.array(rows, dtype=np.float64).reshape(len(rows), n)


def _other_features(names: Sequence[str], model: LoadedModel, at: str) -> Refusal:
    """422 with the names of features that are missing, and of those that the model does not have."""
    given, known = set(names), set(model.feature_names)
    missing = [name for name in model.feature_names if name not in given]
    extra = [name[:200] for name in names if name not in known]
    said = " and ".join(
        f"{what} {', '.join(found[:5])}" + (", ..." if len(found) > 5 else "")
        for what, found in (("no", missing), ("also", extra))
        if found
    )
    return Refusal(
        422,
        "wrong_features",
        f"expected the {len(known)} features of model {model.name!r} in {at}, got {said}",
        at=at,
        missing=missing[:SHOWN],
        extra=extra[:SHOWN],
    )


def _check_values(X: Floats, model: LoadedModel) -> None:
    """Raise where a value is none, unless the model takes missing ones."""
    if np.isfinite(X).all():
        return
    wrong = ~np.isfinite(X) if not model.ranker.accepts_missing else np.isinf(X)
    if not wrong.any():
        return
    row, column = (int(place) for place in np.argwhere(wrong)[0])
    got = "nothing" if np.isnan(X[row, column]) else "infinity"
    name = model.feature_names[column]
    said = f"expected a finite number as feature {name!r} of document {row}, got {got}"
    raise Refusal(422, "not_finite", said, at=f"{row}.{name}")


def ids_of(request: RankRequest) -> list[str] | None:
    """The documents' ids, all of them or none."""
    if request.documents is None:
        ids, n = request.ids, len(request.features or ())
        if ids is not None and len(ids) != n:
            said = f"expected an id for each of {n} rows of features, got {len(ids)}"
            raise Refusal(422, "wrong_ids", said, at="ids")
        return ids
    found = [document.id for document in request.documents if document.id is not None]
    if found and len(found) < len(request.documents):
        at = next(at for at, document in enumerate(request.documents) if document.id is None)
        said = f"expected an id for every document, or for none, got none at documents[{at}]"
        raise Refusal(422, "wrong_ids", said, at=f"documents[{at}]")
    return found or None


def _apply_rules(
    request: RankRequest,
    order: NDArray[np.int64],
    scores: Floats,
    ids: list[str] | None,
    served_rules: ServedRules,
) -> Ruled:
    """Put the model's order under the rules of the request or of the service."""
    rules = served_rules.choose(request.rules)
    if ids is None:
        if len(order):
            message = "expected ids of documents, which rules name them by, got none"
            raise Refusal(422, "wrong_ids", message)
        ids = []
    check_ids(ids)
    fields = [doc.fields for doc in request.documents or ()] or [None] * len(ids)
    check_documents(fields)
    records = served_rules.records([ids[row] for row in order], [fields[row] for row in order])
    return apply_rules(records, rules, request, scores[order].tolist())


def _contributions(model: LoadedModel, X: Floats, served: str | None) -> list[dict[str, float]]:
    """What each feature adds to the scores of these rows."""
    if not model.explains or served is not None:
        what = f"of user class {served!r}" if served is not None else "by features"
        said = f"expected a model that explains its scores {what}, got {model.name!r}"
        raise Refusal(422, "not_explained", said)
    if not len(X):
        return []
    names = model.feature_names
    told: list[dict[str, float]] = []
    for start in range(0, len(X), ROWS_EXPLAINED):
        check_time()  # trees take long
        rows = model.contributions(X[start : start + ROWS_EXPLAINED]).tolist()
        told += [dict(zip(names, row, strict=True)) for row in rows]
    return told
