"""Words of a query marked in a document, without breaking its markup."""

from __future__ import annotations

import html
import re
from functools import lru_cache

MAX_WORDS = 40
"""Words of a query that are marked."""

# Words that stand in any text: to mark them helps nobody.
_COMMON_WORDS = """
a an and are as at be by can do does for from how i if in is it its me my of on or that the this to was what
when where which who why will with you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"\w+")
_TAG = re.compile(r'(<(?:"[^"]*"|[^">])*>)')
# Scripts without spaces between words: a word of the query may stand anywhere.
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def query_words(query: str) -> tuple[str, ...]:
    """The words worth marking; all of them where none would be.

    Examples
    --------
    >>> query_words("How to sort a list of lists?")
    ('sort', 'list', 'lists')
    >>> query_words("The Who")
    ('the', 'who')
    """
    words = list(dict.fromkeys(_WORD.findall(query.casefold())))
    rare = [word for word in words if word not in _COMMON]
    return tuple((rare or words)[:MAX_WORDS])


def mark(markup: str, words: tuple[str, ...]) -> str:
    """Well-formed markup with words between ``<mark>`` and ``</mark>``; tags stay as they are.

    A word is also found with up to three letters more (list, lists, listing) if it has four at least.

    Examples
    --------
    >>> mark('<a title="list">Lists &amp; tuples</a>', ("list",))
    '<a title="list"><mark>Lists</mark> &amp; tuples</a>'
    """
    pattern = _pattern(words)
    if pattern is None:
        return markup
    parts = _TAG.split(markup)
    # Text and tags take turns; the text comes first.
    parts[::2] = [_mark_text(html.unescape(text), pattern) if text else "" for text in parts[::2]]
    return "".join(parts)


def _mark_text(text: str, pattern: re.Pattern[str]) -> str:
    pieces, last = [], 0
    for found in pattern.finditer(text):
        pieces.append(html.escape(text[last : found.start()], quote=False))
        pieces.append(f"<mark>{html.escape(found[0], quote=False)}</mark>")
        last = found.end()
    return "".join((*pieces, html.escape(text[last:], quote=False)))


@lru_cache(maxsize=512)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    if not words:
        return None
    # The longest first, so that of two words that begin alike the longer one is found.
    forms = [_form(word) for word in sorted(words, key=len, reverse=True)]
    return re.compile("|".join(forms), re.IGNORECASE)


def _form(word: str) -> str:
    if _UNSPACED.search(word):
        return re.escape(word)
    ending = r"\w{0,3}" if len(word) >= 4 else ""
    return rf"\b{re.escape(word)}{ending}\b"
