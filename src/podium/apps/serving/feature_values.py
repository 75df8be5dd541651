"""Feature values of a request as a matrix with the model's columns; 422 if a feature is missing or wrong."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import RankDocument, RankRequest, Value
from podium.apps.serving.served_models import LoadedModel
from podium.data.categories import Category, category_word, listed_words
from podium.data.data_frames import TRUTH_NUMBERS
from podium.typing import Floats

MAX_LISTED_NAMES = 20
"""Names that an error lists."""

PlaceOf = Callable[[int, int], str]
"""Row and column of a value -> its place in the request."""


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


def feature_matrix(
    rows: Sequence[Sequence[Any]],
    names: Sequence[str],
    categories: Mapping[str, Category],
    place_of: PlaceOf,
) -> Floats:
    """Return rows as a matrix: null is NaN, true and "yes" are 1, false and "no" are 0, a word is its place.

    A word that training did not see is -1, which is 0 in all features of the category. 422 for other
    text where the model has a number, and for a word outside of the order of a category.

    Examples
    --------
    >>> brand = Category(("Acme", "Zenith"))
    >>> feature_matrix([[9.5, "Zenith"], [2, "Bolt"]], ["price", "brand"], {"brand": brand}, str).tolist()
    [[9.5, 1.0], [2.0, -1.0]]
    >>> feature_matrix([["yes", True], ["no", None]], ["fresh", "new"], {}, str).tolist()
    [[1.0, 1.0], [0.0, nan]]
    """
    if categories:
        rows = _encode_words(rows, names, categories, place_of)
    pack = struct.Struct(f"{len(names)}d").pack
    try:  # twice as fast as NumPy, and it takes no text for a number
        packed = bytearray().join([pack(*row) for row in rows])
    except struct.error:  # a value is null, or text
        numbers = _truth_numbers(rows, names, place_of)
        return np.array(numbers, dtype=np.float64).reshape(len(rows), len(names))
    return np.frombuffer(packed, np.float64).reshape(len(rows), len(names))


def _encode_words(
    rows: Sequence[Sequence[Any]],
    names: Sequence[str],
    categories: Mapping[str, Category],
    place_of: PlaceOf,
) -> list[list[Any]]:
    encoded = [list(row) for row in rows]
    for j, name in enumerate(names):
        category = categories.get(name)
        if category is None:
            continue
        words = [category_word(row[j]) for row in rows]
        codes = category.encode(words)
        if category.is_ordered and (codes < 0).any():
            i = int(np.argmax(codes < 0))
            got = f"expected one of {listed_words(category.words)} as feature {name!r:.200}"
            raise Refusal(
                422, "wrong_type", f"{got}, got {words[i]!r:.80}", at=place_of(i, j)[:200]
            )
        for row, code in zip(encoded, codes.tolist(), strict=True):
            row[j] = code
    return encoded


def _truth_numbers(
    rows: Sequence[Sequence[Any]], names: Sequence[str], place_of: PlaceOf
) -> list[list[Any]]:
    """Return the rows with 1 for yes and true, 0 for no and false, as tables are read; 422 at other text."""
    numbers = [list(row) for row in rows]
    for i, row in enumerate(numbers):
        for j, value in enumerate(row):
            if not isinstance(value, str):
                continue
            number = TRUTH_NUMBERS.get(value.strip().lower())
            if number is None:
                place = place_of(i, j)[:200]
                message = (
                    f"{place}: expected a number, yes, no or null as feature {names[j]!r:.200}, got the text "
                    f"{value!r:.80}"
                )
                raise Refusal(422, "wrong_type", message, at=place)
            row[j] = number
    return numbers
