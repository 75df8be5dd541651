"""Categories: features that are words. Data holds the place of each word; a model makes numbers of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import DataError, MissingValueError, UsageError
from podium.typing import Floats

ONE_HOT = "onehot"
"""How `Columns.categories` names a category without an order."""
MAX_WORDS = 1_000
"""Different words of one category: more than these are ids or free text."""

CategoryForm = str | tuple[str, ...]
"""What is said about a category: "onehot", or its words in order."""
LineOf = Callable[[int], int | None]
"""Returns the line of a row, or None if it is not known."""


@dataclass(frozen=True)
class Category:
    """The words of a feature: X has the place of the word of each document, from 0.

    Parameters
    ----------
    words
        The words, each once.
    is_ordered
        Whether their order has a meaning (S, M, L), so that the place is a number to learn from.

    Examples
    --------
    >>> Category(("S", "M", "L"), is_ordered=True).encode(["M", None, "XL"]).tolist()
    [1.0, nan, -1.0]
    """

    words: tuple[str, ...]
    is_ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        _check_words(self.words)

    @property
    def form(self) -> CategoryForm:
        """What `Columns.categories` says about such a category."""
        return self.words if self.is_ordered else ONE_HOT

    def encode(self, values: Iterable[str | None]) -> Floats:
        """Return the place of each word: NaN where there is none, -1 where it is not among `words`."""
        place: dict[str | None, float] = {word: float(i) for i, word in enumerate(self.words)}
        place[None] = np.nan
        return np.fromiter((place.get(value, -1.0) for value in values), np.float64)

    def decode(self, code: float) -> str:
        """Return the word of a place; nothing ("") for a missing value."""
        return "" if np.isnan(code) else self.words[int(code)]

    def to_record(self) -> dict[str, Any]:
        """Return the category as JSON has it."""
        return {"words": list(self.words), "ordered": self.is_ordered}

    @classmethod
    def from_record(cls, record: Any) -> Category:
        """Make a category of its JSON; raise a TypeError or ValueError if it is none."""
        words, is_ordered = record["words"], record["ordered"]
        if not isinstance(words, list) or type(is_ordered) is not bool or len(record) != 2:
            raise TypeError(f"{record!r:.80} instead of the words of a category")
        return cls(tuple(words), is_ordered)

    def translate(self, codes: NDArray[Any], other: Category) -> Floats:
        """Return places in `other` for places here; -1 where it has no such word."""
        is_missing = np.isnan(codes)
        # The last place is that of missing values.
        places = np.append(other.encode(self.words), np.nan)
        translated: Floats = places[np.where(is_missing, len(self.words), codes).astype(np.int64)]
        return translated


def category_word(value: Any) -> str | None:
    """Return a value of a table or a request as the word of a category; None where there is none.

    True, 17.0 and " Acme" are the words "true", "17" and "Acme", in every format.

    Examples
    --------
    >>> [category_word(value) for value in (True, "TRUE", 17.0, " Acme", "", None)]
    ['true', 'true', '17', 'Acme', None, None]
    """
    if value is None or value != value:
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    word = str(value).strip()
    return word.lower() if word.lower() in ("true", "false") else word or None


def check_forms(categories: Any) -> dict[str, CategoryForm]:
    """Return what is said about each category; raise if it is not "onehot" or a list of words.

    Examples
    --------
    >>> check_forms(["brand"]), check_forms({"size": ["S", "M", "L"]})
    ({'brand': 'onehot'}, {'size': ('S', 'M', 'L')})
    """
    if isinstance(categories, str) or not isinstance(categories, Mapping | Iterable):
        raise UsageError(f"expected a list of categories, got {categories!r:.80}").advise(
            python="as in ['brand'] or {'brand': 'onehot', 'size': ['S', 'M', 'L']}",
            command_line="as in --categories brand,size=S:M:L",
        )
    if not isinstance(categories, Mapping):
        return dict.fromkeys(map(str, categories), ONE_HOT)
    return {str(name): _check_form(str(name), form) for name, form in categories.items()}


def _check_form(name: str, form: Any) -> CategoryForm:
    if form == ONE_HOT:
        return ONE_HOT
    is_list = isinstance(form, Sequence) and not isinstance(form, str)
    if not is_list or not form or not all(isinstance(word, str) for word in form):
        raise UsageError(
            f"expected {ONE_HOT!r} or words in order as category {name!r}, got {form!r:.80}"
        ).advise(
            python="as in {'size': ['S', 'M', 'L']}",
            command_line="as in --categories size=S:M:L, or in a file of columns: size: ['S', 'M']; "
            "words such as yes, no and 1 need quotes there",
        )
    words = tuple(category_word(word) or "" for word in form)
    try:
        _check_words(words)
    except DataError as error:
        raise UsageError(f"category {name!r}: {error}") from None
    return words


def _check_words(words: Sequence[str]) -> None:
    if not all(isinstance(word, str) and word for word in words):
        raise DataError(f"expected the words of a category, got {list(words)!r:.80}")
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise DataError(f"expected each word of a category once, got {twice!r:.80} twice")
    if len(words) > MAX_WORDS:
        raise DataError(f"expected at most {MAX_WORDS:,} words of a category, got {len(words):,}")


def read_category(
    values: Iterable[Any],
    form: CategoryForm,
    name: str,
    *,
    keep_missing: bool,
    path: str | None = None,
    line_of: LineOf = lambda row: None,
) -> tuple[Category, Floats]:
    """Return the words of a column and the place of each value among them.

    Raises at the first empty field, unless missing values are kept, and at the first word that is
    not among those in order. Without an order the words are sorted.
    """
    words = [category_word(value) for value in values]
    if form == ONE_HOT:
        present = sorted({word for word in words if word is not None})
        _check_count(len(present), name, path)
        category = Category(tuple(present))
    else:
        category = Category(tuple(form), is_ordered=True)
    codes = category.encode(words)
    wrong = (codes < 0) if keep_missing else ~(codes >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise wrong_word(words[row], category.words, name, path, line_of(row), row)
    return category, codes


def _check_count(n_words: int, name: str, path: str | None) -> None:
    if n_words > MAX_WORDS:
        raise DataError(
            f"expected at most {MAX_WORDS:,} different words in a category, got {n_words:,}; the "
            "column seems to have ids or free text",
            path=path, column=name,
        ).advise(
            python=f"leave it out with ignore=[{name!r}]",
            command_line=f"leave it out with --ignore {shlex.quote(name)}",
        )  # fmt: skip


def wrong_word(
    word: str | None,
    order: Sequence[str],
    name: str,
    path: str | None,
    line: int | None,
    row: int,
) -> DataError:
    """Return the error for a word that is not in the order of a category, or for an empty field."""
    place = "" if line is not None else f" in row {row}"
    if word is None:
        return MissingValueError(
            f"expected a word, got an empty field{place}", path=path, line=line, column=name
        ).advise(
            python="missing='nan' keeps it as a missing value",
            command_line="--missing nan keeps it as a missing value",
        )
    listed = listed_words(order)
    advice = f"correct the word, or add it to the order of {name}"
    return DataError(
        f"expected one of {listed}, got {word!r:.80}{place}", path=path, line=line, column=name
    ).advise(python=advice, command_line=advice)


def listed_words(words: Sequence[str]) -> str:
    """Return the first words of a category, for a message."""
    first = ", ".join(word[:40] for word in words[:10])
    return first if len(words) <= 10 else f"{first} and {len(words) - 10:,} more"
