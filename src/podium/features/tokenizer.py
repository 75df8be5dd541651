"""Tokenizer: turns text into terms: lower-case words, optionally without stop words and endings."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from podium.errors import UnknownNameError
from podium.features.stemmers import STEMMERS

_ENGLISH = (
    "a about above after again against all also am an and any are as at be because been before being "
    "below between both but by can cannot could d did do does doing down during each few for from further "
    "had has have having he her here hers herself him himself his how i if in into is it its itself just "
    "ll m may me might more most must my myself no nor not now of off on once only or other our ours "
    "ourselves out over own re s same shall she should so some such t than that the their theirs them "
    "themselves then there these they this those through to too under until up upon ve very was we were "
    "what when where which while who whom whose why will with would you your yours yourself yourselves "
)

STOP_WORDS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "english": frozenset(_ENGLISH.split()),
}
"""Stop words by language: articles, pronouns, prepositions, auxiliaries."""

_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"\w+(?:\.\w+)*")
# Places to split: underscores, dots, and before a capital that begins a word (foo|Bar,
# HTTP|Server).
_WORD_BOUNDARY = re.compile(r"[_.]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

IDENTIFIER_MODES = ("keep", "split", "both")
"""Ways to treat identifiers such as ``os.path.join``, ``snake_case`` and ``CamelCase``."""


@dataclass(frozen=True)
class Tokenizer:
    """Turns text into terms, in the same way for documents and queries.

    Words are runs of letters, digits and underscores, normalised (NFKC) and in lower case.

    Parameters
    ----------
    stop_words
        ``none``, or ``english``: words to leave out.
    stemmer
        ``none``, ``s`` (plurals only), ``porter``, or a language of Snowball, such as ``german``.
    identifiers
        ``keep``: a word stays whole. ``split``: ``snake_case`` and ``CamelCase`` become their
        parts. ``both``: the parts, and the whole name with its dots.

    Examples
    --------
    >>> Tokenizer()("The wings of a bird.")
    ['the', 'wings', 'of', 'a', 'bird']
    >>> Tokenizer(stop_words="english", stemmer="s")("The wings of a bird.")
    ['wing', 'bird']
    >>> Tokenizer(identifiers="split")("os.path.join, HTTPServer")
    ['os', 'path', 'join', 'http', 'server']
    >>> Tokenizer(identifiers="both")("os.path.join, read_csv")
    ['os', 'path', 'join', 'os.path.join', 'read', 'csv', 'read_csv']
    """

    stop_words: str = "none"
    stemmer: str = "none"
    identifiers: str = "keep"

    def __post_init__(self) -> None:
        for what, name, choices in (
            ("list of stop words", self.stop_words, STOP_WORDS),
            ("stemmer", self.stemmer, STEMMERS),
            ("way with identifiers", self.identifiers, IDENTIFIER_MODES),
        ):
            if name not in choices:
                raise UnknownNameError(what, str(name), choices)

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text, in order."""
        return [term for word in self.words(text) if (term := self.term(word))]

    def words(self, text: str) -> list[str]:
        """Return the words of a text in lower case, including stop words and endings."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        if self.identifiers == "keep":
            return _WORD.findall(text.lower())
        return [word for name in _IDENTIFIER.findall(text) for word in self._identifier_parts(name)]

    def term(self, word: str) -> str:
        """Return the term of a word; empty for a stop word."""
        return "" if word in STOP_WORDS[self.stop_words] else STEMMERS[self.stemmer](word)

    def _identifier_parts(self, name: str) -> list[str]:
        parts = [
            part for part in _WORD_BOUNDARY.split(name.lower() if name.islower() else name) if part
        ]
        words = [part.lower() for part in parts]
        if self.identifiers == "both" and len(words) > 1:
            words.append(name.lower())
        return words
