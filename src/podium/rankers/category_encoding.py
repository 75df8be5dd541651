"""Encoding of categories: the model turns the words of the training data into numeric features."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data import MAX_DENSE_BYTES, RankingData
from podium.data.categories import Category, listed_words
from podium.data.feature_matrix import check_memory
from podium.errors import DataError
from podium.rankers.models import Part, check_categories, json_part
from podium.typing import Floats

MAX_ENCODED_FEATURES = 1 << 20


@dataclass(frozen=True, eq=False)
class CategoryEncoding:
    """Turns features with categories into numeric features.

    A category without an order becomes one feature per word: 1 if the document has the word, else
    0. A missing value, or a word that the training data lacks, is 0 in all of them. A category with
    an order becomes the place of its word, from 0; a word outside the order is an error.

    Parameters
    ----------
    n_features
        The number of features before the encoding.
    categories
        Feature number -> its words, in the order of the numbers.

    Examples
    --------
    >>> encoding = CategoryEncoding(2, {1: Category(("Acme", "Zenith"))})
    >>> encoding.output_names(["price", "brand"])
    ['price', 'brand=Acme', 'brand=Zenith']
    >>> encoding.apply(np.array([[9.5, 1.0], [2.0, -1.0]])).tolist()
    [[9.5, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """

    n_features: int
    categories: Mapping[int, Category]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of output features of each feature."""
        widths = [1] * self.n_features
        for j, category in self.categories.items():
            widths[j] = 1 if category.is_ordered else len(category.words)
        return tuple(widths)

    @property
    def n_outputs(self) -> int:
        """The number of output features."""
        return self.starts[-1]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first output of each feature, and the number of outputs at the end."""
        return tuple(accumulate(self.widths, initial=0))

    def output_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the output features."""
        out: list[str] = []
        for j, name in enumerate(names):
            category = self.categories.get(j)
            if category is None or category.is_ordered:
                out.append(name)
            else:
                out += [f"{name}={word}" for word in category.words]
        return out

    def describe(self) -> str:
        """Return the encoding in words.

        Examples
        --------
        >>> CategoryEncoding(2, {1: Category(("Acme", "Zenith"))}).describe()
        '1 category as 2 features'
        """
        n, width = len(self.categories), sum(self.widths[j] for j in self.categories)
        return (
            f"{n} categor{'y' if n == 1 else 'ies'} as {width:,} feature{'s' if width != 1 else ''}"
        )

    # --- use ---

    def apply(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the output features of rows whose categories are places of words."""
        check_memory(len(X), self.n_outputs, X.dtype.itemsize, MAX_DENSE_BYTES)
        out = np.zeros((len(X), self.n_outputs), X.dtype)
        for j, start in enumerate(self.starts[:-1]):
            category = self.categories.get(j)
            if category is None or category.is_ordered:
                out[:, start] = X[:, j]
            else:
                rows = np.flatnonzero((X[:, j] >= 0) & (X[:, j] < len(category.words)))
                out[rows, start + X[rows, j].astype(np.int64)] = 1
        return out

    def fold(self, values: Floats) -> Floats:
        """Sum the numbers of each category's words, along the last axis."""
        parts = [values[..., start:end].sum(axis=-1) for start, end in pairwise(self.starts)]
        return np.stack(parts, axis=-1)

    def align(self, data: RankingData) -> NDArray[Any]:
        """Return the features of data with the places of this encoding's words; raise if they do not fit."""
        names = data.names()
        expected = {names[j]: category for j, category in self.categories.items()}
        check_categories(data.categories, expected)
        if all(data.categories[name] == category for name, category in expected.items()):
            return data.X
        X: NDArray[Any] = np.array(data.X)
        for j, category in self.categories.items():
            own = data.categories[names[j]]
            codes = own.translate(X[:, j], category)
            if category.is_ordered and (codes < 0).any():
                row = int(np.argmax(codes < 0))
                raise _unknown_word(own.decode(float(X[row, j])), category, names[j])
            X[:, j] = codes
        return X

    # --- files ---

    def parts(self) -> dict[str, Part]:
        """Return the words as JSON."""
        records = [[j, category.to_record()] for j, category in self.categories.items()]
        return {"categories": json.dumps({"features": self.n_features, "categories": records})}

    @classmethod
    def from_parts(cls, parts: Mapping[str, Part]) -> Self | None:
        """Build the encoding from its part, None without one; raise a ModelFileError if it is invalid."""
        if "categories" not in parts:
            return None
        with json_part(parts, "categories", "the categories of the model") as record:
            n, records = record["features"], record["categories"]
            if type(n) is not int or not 1 <= n <= MAX_ENCODED_FEATURES:
                raise ValueError(f"{n!r:.80} features")
            encoding = cls(n, _read_categories(records, n))
            if not 1 <= encoding.n_outputs <= MAX_ENCODED_FEATURES:
                raise ValueError(f"{encoding.n_outputs} features after the encoding")
        return encoding


def _read_categories(records: Any, n: int) -> dict[int, Category]:
    if not isinstance(records, list) or not records:
        raise TypeError(f"{records!r:.80} instead of categories")
    categories: dict[int, Category] = {}
    for j, record in records:
        if type(j) is not int or not max(categories, default=-1) < j < n:
            raise ValueError(f"{j!r:.80} as the number of a category")
        categories[j] = Category.from_record(record)
    return categories


def learn_encoding(data: RankingData) -> CategoryEncoding | None:
    """Learn the words of the training queries; None if the data has no categories.

    Words without a row in the training queries get no feature.
    """
    if not data.categories:
        return None
    categories = {}
    for j, category in sorted(data.category_columns()):
        if not category.is_ordered:
            codes = data.X[:, j]
            used = np.unique(codes[~np.isnan(codes)]).astype(np.int64)
            category = Category(tuple(category.words[place] for place in used.tolist()))
        categories[j] = category
    encoding = CategoryEncoding(data.n_features, categories)
    _check_output_names(encoding, data.names())
    return encoding


def _check_output_names(encoding: CategoryEncoding, names: Sequence[str]) -> None:
    """Raise if the feature of a category's word would have the name of another feature."""
    outputs = Counter(encoding.output_names(names))
    name, n = outputs.most_common(1)[0] if outputs else ("", 0)
    if n > 1:
        raise DataError(
            f"{n} features are named {name!r:.80}; expected different names. Each word of a "
            "category becomes a feature named CATEGORY=WORD: rename one of the columns or "
            "leave it out"
        )


def _unknown_word(word: str | None, category: Category, name: str) -> DataError:
    """Return the error for a word that is not in the order of a category."""
    return DataError(
        f"the model was not trained with {word!r:.80} as {name!r:.80}; expected one of "
        f"{listed_words(category.words)}"
    )
