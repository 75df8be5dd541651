"""Feature values of a request as a matrix: numbers, and words where the model has categories."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from podium.apps.http.refusals import Refusal
from podium.data.categories import Category, category_word, listed_words
from podium.typing import Floats

PlaceOf = Callable[[int, int], str]
"""Row and column of a value -> its place in the request."""


def feature_matrix(
    rows: Sequence[Sequence[Any]],
    names: Sequence[str],
    categories: Mapping[str, Category],
    place_of: PlaceOf,
) -> Floats:
    """Return rows as a matrix: null is NaN, true and false are 1 and 0, a word is its place.

    A word that training did not see is -1, which is 0 in all features of the category. 422 for text
    where the model has a number, and for a word outside of the order of a category.

    Examples
    --------
    >>> brand = Category(("Acme", "Zenith"))
    >>> feature_matrix([[9.5, "Zenith"], [2, "Bolt"]], ["price", "brand"], {"brand": brand}, str).tolist()
    [[9.5, 1.0], [2.0, -1.0]]
    """
    if categories:
        rows = _encode_words(rows, names, categories, place_of)
    pack = struct.Struct(f"{len(names)}d").pack
    try:  # twice as fast as NumPy, and it takes no text for a number
        packed = bytearray().join([pack(*row) for row in rows])
    except struct.error:  # a value is null, or text
        _check_numbers(rows, names, place_of)
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
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


def _check_numbers(rows: Sequence[Sequence[Any]], names: Sequence[str], place_of: PlaceOf) -> None:
    """Raise 422 at the first text."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if isinstance(value, str):
                place = place_of(i, j)[:200]
                message = (
                    f"{place}: expected a number or null as feature {names[j]!r:.200}, got the text "
                    f"{value!r:.80}"
                )
                raise Refusal(422, "wrong_type", message, at=place)
