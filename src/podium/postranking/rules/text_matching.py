"""Texts of requests, word by word: without accents, stemmed, and with a few wrong letters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import combinations

from podium.features.stemmers import STEMMERS
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.work_budget import spend

MAX_EDITS = 2
"""The largest number of wrong letters of a word."""
LETTERS_PER_EDIT = 3
"""A word of 3 letters may have 1 wrong letter, and a word of 6 letters 2; a shorter one has none."""
PIECE_LENGTHS = (16, 12, 8, 6, 4, 3, 2, 1)
"""The lengths of pieces of texts by which an index finds patterns."""
MAX_START_LENGTH = 7
"""The number of letters of a word by which an index finds similar words."""
MAX_WORDS = 100
"""The number of words of a request that conditions look at; the others do not count."""

_WORD = re.compile(r"\w+")
_WILDCARDS = re.compile(r"[*?]+")


@lru_cache(maxsize=1_000)
def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without accents and punctuation.

    Examples
    --------
    >>> split_words("Café-Uhr, 2 ft")
    ('cafe', 'uhr', '2', 'ft')
    """
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return tuple(_WORD.findall(bare))[:MAX_WORDS]


@lru_cache(maxsize=10_000)
def stem_word(stemmer: str, word: str) -> str:
    """Return the stem of a word by a stemmer of `podium.features.stemmers`."""
    return STEMMERS[stemmer](word)


@lru_cache(maxsize=1_000)
def stem_words(stemmer: str, text: str) -> tuple[str, ...]:
    """Return the stems of the words of a text.

    Examples
    --------
    >>> stem_words("english", "Running clocks")
    ('run', 'clock')
    """
    words = split_words(text)
    spend(4 * len(words))
    return words if stemmer == "none" else tuple(stem_word(stemmer, word) for word in words)


def allowed_edits(word: str, edits: int) -> int:
    """Return how many wrong letters a word may have.

    Examples
    --------
    >>> [allowed_edits(word, 2) for word in ("go", "clock", "clocks")]
    [0, 1, 2]
    """
    return min(edits, len(word) // LETTERS_PER_EDIT)


def are_similar(word: str, other: str, edits: int) -> bool:
    """Whether one word becomes the other by so many edits or fewer.

    An edit inserts, removes or replaces a letter, or exchanges two neighbours (the optimal string
    alignment distance).

    Examples
    --------
    >>> are_similar("clock", "lcock", 1), are_similar("clock", "cock", 1), are_similar("clock", "cook", 1)
    (True, True, False)
    """
    if word == other or edits == 0:
        return word == other
    return abs(len(word) - len(other)) <= edits and edit_distance(word, other) <= edits


def edit_distance(a: str, b: str) -> int:
    """Return the optimal string alignment distance of two words.

    Examples
    --------
    >>> edit_distance("chess", "chses"), edit_distance("ca", "abc")
    (1, 3)
    """
    spend(1 + len(a) * len(b) // 2)
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        two_before, before, row = before, row, [i]
        for j, y in enumerate(b, start=1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
    return row[-1]


def shortened_words(word: str, edits: int) -> frozenset[str]:
    """Return the start of a word with up to so many letters left out.

    Two words within so many edits share one: leave out the letters of both that an edit touches
    (Mor and Fraenkel, *A hash code method for detecting and correcting spelling errors*, 1982).

    Examples
    --------
    >>> sorted(shortened_words("abcd", 1))
    ['abc', 'abcd', 'abd', 'acd', 'bcd']
    >>> sorted(shortened_words("clock", 1) & shortened_words("lcock", 1))
    ['cock', 'lock']
    """
    return _shortened_starts(word[:MAX_START_LENGTH], edits)


@lru_cache(maxsize=2_000)
def _shortened_starts(start: str, edits: int) -> frozenset[str]:
    spend(len(start) ** edits // 2)
    least = max(len(start) - edits, 0)
    return frozenset(
        "".join(letters)
        for size in range(least, len(start) + 1)
        for letters in combinations(start, size)
    )


def piece_of_pattern(pattern: str) -> str:
    """Return a text that every match of a pattern contains; empty if there is none.

    Examples
    --------
    >>> piece_of_pattern("a chess*"), piece_of_pattern("*")
    ('a ches', '')
    """
    runs = _WILDCARDS.split(normalise_query(pattern))
    longest = max((run.strip() for run in runs), key=len)
    return longest[: next((size for size in PIECE_LENGTHS if size <= len(longest)), 0)]


def pieces_of_text(text: str, lengths: frozenset[int]) -> set[str]:
    """Return all pieces of a text that have one of these lengths.

    Examples
    --------
    >>> sorted(pieces_of_text("abc", frozenset({2})))
    ['ab', 'bc']
    """
    spend(1 + len(text) * len(lengths) // 4)
    return {text[at : at + size] for size in lengths for at in range(len(text) - size + 1)}
