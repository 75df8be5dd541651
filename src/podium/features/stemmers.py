"""Stemmers: words without their endings, so that "wings" finds "wing"."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import local
from typing import Any

import snowballstemmer

_thread = local()


def keep_word(word: str) -> str:
    """Return the word unchanged."""
    return word


def s_stem(word: str) -> str:
    """Return the singular of a plural; nothing else changes.

    D. Harman, "How effective is suffixing?", JASIS 42 (1991): of the rules ``-ies -> -y`` (not
    after a, e), ``-es -> -e`` (not after a, e, o) and ``-s ->`` (not after s, u), the first that
    applies is used.

    Examples
    --------
    >>> [s_stem(word) for word in ("queries", "wings", "shoes", "gas", "analysis", "gases", "bus")]
    ['query', 'wing', 'shoe', 'gas', 'analysi', 'gase', 'bus']
    """
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    return word if word[-2] in "su" else word[:-1]


def porter_stem(word: str) -> str:
    """Return the word without suffixes, in five steps; words of one or two letters do not change.

    M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980). The result need not be a word.

    Examples
    --------
    >>> [porter_stem(word) for word in ("generalizations", "hopping", "relational", "sky", "is")]
    ['gener', 'hop', 'relat', 'sky', 'is']
    """
    return word if len(word) < 3 else snowball_stem("porter", word)


def snowball_stem(algorithm: str, word: str) -> str:
    """Return the stem by one of Snowball's algorithms, most of which are named after a language.

    Examples
    --------
    >>> snowball_stem("german", "flügel"), snowball_stem("french", "avions")
    ('flugel', 'avion')
    """
    # A stemmer stores the word it works on, so each thread has its own.
    stemmers: dict[str, Any] = _thread.__dict__
    if algorithm not in stemmers:
        stemmers[algorithm] = snowballstemmer.stemmer(algorithm)
    return str(stemmers[algorithm].stemWord(word))


STEMMERS: dict[str, Callable[[str], str]] = {
    "none": keep_word,
    "s": s_stem,
    **{name: partial(snowball_stem, name) for name in snowballstemmer.algorithms()},
    "porter": porter_stem,
}
"""Stemmers by name: ``none``, ``s``, ``porter``, and Snowball's for each language."""
