"""Sample queries for the playground: lists to try rules on, from a file or the demo's."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from podium.apps.serving.bodies import (
    SampleAnswer,
    SampleDocument,
    SampleLine,
    SamplesAnswer,
    SampleTold,
)
from podium.apps.serving.errors import Refusal, told_of_shape
from podium.apps.serving.rules import ServedRules
from podium.data.files import Path_
from podium.data.records import read_json_lines
from podium.errors import DataError, EmptyDataError

DEMO = Path(__file__).with_name("demo.jsonl")
"""Twelve queries of the demo and what its ranker finds; made by ``python -m tools.playground DEMO``."""
MOST = 10_000
"""Queries of a sample: a page lists them all."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Queries with their documents, by their ids."""

    queries: dict[str, SampleLine]
    is_demo: bool = False

    def told(self) -> SamplesAnswer:
        """Which queries there are."""
        listed = [
            SampleTold(id=id_, query=line.query or id_, documents=len(line.documents))
            for id_, line in self.queries.items()
        ]
        return SamplesAnswer(demo=self.is_demo, queries=listed)

    def find(self, id_: str, book: ServedRules) -> SampleAnswer:
        """One query's documents with all their fields, as rules see them; 404 without it."""
        line = self.queries.get(id_)
        if line is None:
            said = f"expected a query of the sample, got {id_!r:.200}"
            raise Refusal(404, "unknown_sample", said, known=list(self.queries)[:20])
        given = [_document(doc) for doc in line.documents]
        records = book.records([doc.id for doc in given], [doc.fields for doc in given])
        documents = [
            SampleDocument(
                id=doc.id,
                features=doc.features,
                score=doc.score,
                fields={name: value for name, value in record.items() if name != "id"} or None,
            )
            for doc, record in zip(given, records, strict=True)
        ]
        return SampleAnswer(id=id_, query=line.query or id_, documents=documents)


def read_samples(path: Path_) -> Samples:
    """The queries of a sample file: JSON lines as `podium rank` reads them, or lists of any engine.

    A line's ``id`` is its number unless it has one; its documents have ids, and ``features`` by name,
    or a ``score``, or only their order. What else a request may bring is left alone.
    """
    name = os.fspath(path)
    found: dict[str, SampleLine] = {}
    for number, line in _lines(name):
        id_ = line.id or str(number)
        if id_ in found:
            raise DataError(f"expected each id once, got {id_!r} again", path=name, line=number)
        if len(found) == MOST:
            raise DataError(f"expected at most {MOST:,} queries", path=name, line=number)
        found[id_] = line
    if not found:
        raise EmptyDataError("expected at least one query, got none", path=name)
    return Samples(found)


@cache
def demo_samples() -> Samples:
    """The demo's queries, for a service without a sample file."""
    return Samples(read_samples(DEMO).queries, is_demo=True)


def _lines(name: str) -> Iterator[tuple[int, SampleLine]]:
    for number, record in read_json_lines(name):
        try:
            line = msgspec.convert(record, SampleLine)
        except msgspec.ValidationError as error:
            _, said = told_of_shape(error, SampleLine)
            raise DataError(said, path=name, line=number) from None
        wrong = _wrong(line)
        if wrong:
            raise DataError(wrong, path=name, line=number)
        yield number, line


def _wrong(line: SampleLine) -> str:
    """What is wrong with the documents of a query; nothing where all is well."""
    documents = [_document(doc) for doc in line.documents]
    seen: set[str] = set()
    for doc in documents:
        if doc.id in seen:
            return f"expected each document once, got {doc.id!r:.200} twice"
        seen.add(doc.id)
    scores = [doc.score for doc in documents if doc.score is not None]
    if scores and len(scores) < len(documents):
        return "expected a score for every document, or for none"
    if not all(map(math.isfinite, scores)):
        return "expected finite scores, got others"
    return ""


def _document(given: str | SampleDocument) -> SampleDocument:
    return SampleDocument(id=given) if isinstance(given, str) else given
