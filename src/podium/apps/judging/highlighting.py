"""Highlighting: the words of a query between ``<mark>`` tags in a document's HTML."""

from __future__ import annotations

import html
import re
from functools import lru_cache

MAX_HIGHLIGHTED_WORDS = 40
"""Words of a query that are highlighted."""

# Words that occur in any text: highlighting them helps nobody.
_COMMON_WORDS = """
a an and are as at be by can do does for from how i if in is it its me my of on or that the this to was what
when where which who why will with you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"\w+")
_TAG = re.compile(r'(<(?:"[^"]*"|[^">])*>)')
# Scripts without spaces between words: a word of the query may begin anywhere.
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def query_words(query: str) -> tuple[str, ...]:
    """Return the words worth highlighting; all words of a query that has only common ones.

    Examples
    --------
    >>> query_words("How to sort a list of lists?")
    ('sort', 'list', 'lists')
    >>> query_words("The Who")
    ('the', 'who')
    """
    words = list(dict.fromkeys(_WORD.findall(query.casefold())))
    rare = [word for word in words if word not in _COMMON]
    return tuple((rare or words)[:MAX_HIGHLIGHTED_WORDS])


def highlight(markup: str, words: tuple[str, ...]) -> str:
    """Return well-formed HTML with words between ``<mark>`` and ``</mark>``; tags stay as they are.

    A word of four letters or more also matches with up to three letters more (list, lists, listing).

    Examples
    --------
    >>> highlight('<a title="list">Lists &amp; tuples</a>', ("list",))
    '<a title="list"><mark>Lists</mark> &amp; tuples</a>'
    """
    pattern = _pattern(words)
    if pattern is None:
        return markup
    parts = _TAG.split(markup)
    # Text and tags alternate; the first part is text.
    parts[::2] = [
        _highlight_text(html.unescape(text), pattern) if text else "" for text in parts[::2]
    ]
    return "".join(parts)


def _highlight_text(text: str, pattern: re.Pattern[str]) -> str:
    parts, last = [], 0
    for match in pattern.finditer(text):
        parts.append(html.escape(text[last : match.start()], quote=False))
        parts.append(f"<mark>{html.escape(match[0], quote=False)}</mark>")
        last = match.end()
    return "".join((*parts, html.escape(text[last:], quote=False)))


@lru_cache(maxsize=512)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    if not words:
        return None
    # The longest first, so that of two words that begin alike the longer one matches.
    patterns = [_word_pattern(word) for word in sorted(words, key=len, reverse=True)]
    return re.compile("|".join(patterns), re.IGNORECASE)


def _word_pattern(word: str) -> str:
    if _UNSPACED.search(word):
        return re.escape(word)
    ending = r"\w{0,3}" if len(word) >= 4 else ""
    return rf"\b{re.escape(word)}{ending}\b"
