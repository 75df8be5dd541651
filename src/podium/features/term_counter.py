"""Counter of terms: it reads one document at a time and returns the postings of each field."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from podium.data import Strings
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from podium.features.documents import Document
from podium.features.postings import Postings
from podium.features.tokenizer import Tokenizer

WHOLE_DOCUMENT = "whole"
"""The name that means all fields of a document together."""


class TermCounter:
    """Counts of the terms of documents. Terms are numbered from 1 in the order of their first occurrence."""

    def __init__(
        self, tokenizer: Tokenizer, fields: Sequence[str] | None, keep: Sequence[str]
    ) -> None:
        if fields is not None and (isinstance(fields, str) or not fields):
            raise UsageError(f"expected names of fields, such as ['title', 'body'], got {fields!r}")
        if isinstance(keep, str):
            raise UsageError(f"expected names of fields to keep, such as ['title'], got {keep!r}")
        self.tokenizer, self.fields = tokenizer, fields
        self.docids: dict[str, None] = {}
        self.term_numbers: dict[str, int] = {"": 0}
        self._number_of_word: dict[str, int] = {}  # each word is stemmed once
        self._tokens: dict[str, array[int]] = {name: array("i") for name in fields or ()}
        self._lengths: dict[str, array[int]] = {name: array("q") for name in fields or ()}
        self._stored_texts: dict[str, list[str]] = {name: [] for name in keep}
        self._field_names: dict[str, None] = {}
        self._non_texts: dict[str, tuple[str, object]] = {}

    def add(self, document: Document) -> None:
        """Count the terms of one more document."""
        if document.id in self.docids:
            raise DataError(f"document {document.id!r} occurs twice; expected each document once")
        texts = self._text_fields(document)
        for name in texts:
            if name not in self._tokens and self.fields is None:
                self._tokens[name] = array("i")
                self._lengths[name] = array("q", bytes(8 * len(self.docids)))
        for name, lengths in self._lengths.items():
            terms = self._terms(texts.get(name, ""))
            self._tokens[name].extend(terms)
            lengths.append(len(terms))
        for name, column in self._stored_texts.items():
            column.append(texts.get(name, ""))
        self.docids[document.id] = None

    def check(self) -> None:
        """Raise if the documents cannot be indexed."""
        if not self.docids:
            raise EmptyDataError("there are no documents; expected at least one")
        if not self._tokens:
            raise DataError("no document has a field of text; expected at least one")
        if WHOLE_DOCUMENT in self._tokens:
            raise DataError(
                f"the field name {WHOLE_DOCUMENT!r} is reserved for all fields together; "
                "rename the field"
            )
        for name in (*self._tokens, *self._stored_texts):
            if name not in self._field_names:
                raise UnknownNameError("field", name, self._field_names)
            if name in self._non_texts:
                docid, value = self._non_texts[name]
                raise DataError(
                    f"expected text in field {name!r}, got {value!r:.60} in document {docid!r}"
                ).advise(
                    python="choose fields of text, as in fields=['title']",
                    command_line="choose fields of text, as in --field title",
                )

    def postings(self) -> dict[str, Postings]:
        """Return the counts by field."""
        return {
            name: Postings.of_tokens(tokens, self._lengths[name], len(self.term_numbers))
            for name, tokens in self._tokens.items()
        }

    def texts(self) -> dict[str, Strings]:
        """Return the texts of the fields in `keep`."""
        return {name: Strings.of(column) for name, column in self._stored_texts.items()}

    def _text_fields(self, document: Document) -> dict[str, str]:
        """Return the fields with text; remember the others for an error in `check`."""
        texts = {}
        for name, value in document.fields.items():
            self._field_names[name] = None
            if isinstance(value, str):
                texts[name] = value
            elif value is not None:
                self._non_texts.setdefault(name, (document.id, value))
        return texts

    def _terms(self, text: str) -> list[int]:
        terms = []
        for word in self.tokenizer.words(text):
            number = self._number_of_word.get(word)
            if number is None:
                number = self.term_numbers.setdefault(
                    self.tokenizer.term(word), len(self.term_numbers)
                )
                self._number_of_word[word] = number
            if number:
                terms.append(number)
        return terms
