"""Documents come in one at a time; out come the counts of their terms."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from podium.data import Strings
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from podium.features.documents import Document
from podium.features.postings import Postings
from podium.features.tokenizer import Tokenizer

WHOLE = "whole"
"""All fields of a document together."""


class Counting:
    """The terms of documents so far, numbered in the order they are met; number 0 is no term."""

    def __init__(
        self, tokenizer: Tokenizer, fields: Sequence[str] | None, keep: Sequence[str]
    ) -> None:
        if fields is not None and (isinstance(fields, str) or not fields):
            raise UsageError(f"expected names of fields, such as ['title', 'body'], got {fields!r}")
        if isinstance(keep, str):
            raise UsageError(f"expected names of fields to keep, such as ['title'], got {keep!r}")
        self.tokenizer, self.chosen = tokenizer, fields
        self.docids: dict[str, None] = {}
        self.numbers: dict[str, int] = {"": 0}
        self._of_word: dict[str, int] = {}  # each word is stemmed once
        self._tokens: dict[str, array[int]] = {name: array("i") for name in fields or ()}
        self._lengths: dict[str, array[int]] = {name: array("q") for name in fields or ()}
        self._kept: dict[str, list[str]] = {name: [] for name in keep}
        self._met: dict[str, None] = {}
        self._odd: dict[str, tuple[str, object]] = {}

    def add(self, document: Document) -> None:
        """Count the terms of one more document."""
        if document.id in self.docids:
            raise DataError(f"expected each document once, got {document.id!r} twice")
        texts = self._texts(document)
        for name in texts:
            if name not in self._tokens and self.chosen is None:
                self._tokens[name] = array("i")
                self._lengths[name] = array("q", bytes(8 * len(self.docids)))
        for name, lengths in self._lengths.items():
            terms = self._terms(texts.get(name, ""))
            self._tokens[name].extend(terms)
            lengths.append(len(terms))
        for name, column in self._kept.items():
            column.append(texts.get(name, ""))
        self.docids[document.id] = None

    def check(self) -> None:
        """Raise where no index can be made of what came."""
        if not self.docids:
            raise EmptyDataError("expected at least one document, got none")
        if not self._tokens:
            raise DataError("expected documents with fields of text, got none with any")
        if WHOLE in self._tokens:
            raise DataError(f"expected another name for field {WHOLE!r}: it means all together")
        for name in (*self._tokens, *self._kept):
            if name not in self._met:
                raise UnknownNameError("field", name, self._met)
            if name in self._odd:
                docid, value = self._odd[name]
                raise DataError(
                    f"expected text in field {name!r}, got {value!r:.60} in document {docid!r}; "
                    "only text is counted or kept, as in fields=['title'] (--field title)"
                )

    def postings(self) -> dict[str, Postings]:
        """The counts by field."""
        return {
            name: Postings.of_tokens(tokens, self._lengths[name], len(self.numbers))
            for name, tokens in self._tokens.items()
        }

    def texts(self) -> dict[str, Strings]:
        """The texts of fields that are kept."""
        return {name: Strings.of(column) for name, column in self._kept.items()}

    def _texts(self, document: Document) -> dict[str, str]:
        """The fields with text; others are remembered, should they turn out to be wanted."""
        texts = {}
        for name, value in document.fields.items():
            self._met[name] = None
            if isinstance(value, str):
                texts[name] = value
            elif value is not None:
                self._odd.setdefault(name, (document.id, value))
        return texts

    def _terms(self, text: str) -> list[int]:
        terms = []
        for word in self.tokenizer.words(text):
            number = self._of_word.get(word)
            if number is None:
                number = self.numbers.setdefault(self.tokenizer.term(word), len(self.numbers))
                self._of_word[word] = number
            if number:
                terms.append(number)
        return terms
