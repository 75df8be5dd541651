"""Sample queries for the playground: lists to try rules on, from a file or the demo's."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import msgspec

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import (
    SampleAnswer,
    SampleDocument,
    SampleInfo,
    SampleLine,
    SamplesAnswer,
)
from podium.apps.serving.decoding import explain_shape
from podium.apps.serving.postranking import ServedRules
from podium.data.json_lines import read_json_lines
from podium.data.tables import is_table
from podium.data.text_files import stem
from podium.errors import DataError, EmptyDataError
from podium.typing import Path_

DEMO_SAMPLES = Path(__file__).with_name("demo.jsonl")
"""Twelve queries of the demo and the results of its ranker; made by ``python -m tools.playground DEMO``."""
MAX_SAMPLES = 10_000
"""Queries of a sample: a page lists them all."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Queries with their documents, by their ids."""

    queries: dict[str, SampleLine]
    is_demo: bool = False

    @cached_property
    def document_ids(self) -> frozenset[str]:
        """The ids of all documents."""
        return frozenset(doc.id for line in self.queries.values() for doc in _documents(line))

    @cached_property
    def field_names(self) -> frozenset[str]:
        """The names of all fields that documents have; none for the demo's, which nobody serves."""
        lines = () if self.is_demo else self.queries.values()
        return frozenset(
            name for line in lines for doc in _documents(line) for name in doc.fields or ()
        )

    def info(self) -> SamplesAnswer:
        """Return the list of queries."""
        queries = [
            SampleInfo(id=id_, query=line.query or id_, documents=len(line.documents))
            for id_, line in self.queries.items()
        ]
        return SamplesAnswer(demo=self.is_demo, queries=queries)

    def find(self, id_: str, served_rules: ServedRules) -> SampleAnswer:
        """Return one query's documents with all their fields, as rules see them; 404 if there is none."""
        line = self.queries.get(id_)
        if line is None:
            message = f"expected a query of the sample, got {id_!r:.200}"
            raise Refusal(404, "unknown_sample", message, known=list(self.queries)[:20])
        sampled = _documents(line)
        ids, fields = [doc.id for doc in sampled], [doc.fields for doc in sampled]
        records = served_rules.records(ids, fields)
        documents = [
            SampleDocument(
                id=doc.id,
                features=doc.features,
                score=doc.score,
                fields={name: value for name, value in record.items() if name != "id"} or None,
            )
            for doc, record in zip(sampled, records, strict=True)
        ]
        return SampleAnswer(id=id_, query=line.query or id_, documents=documents)


def read_samples(path: Path_) -> Samples:
    """Read the queries of a sample file: JSON lines as `podium rank` reads them, or lists of any engine.

    A line without an ``id`` has its number as one. Its documents have ids, and ``features`` by name, a
    ``score``, or only their order. Other fields of a request are ignored.
    """
    name = os.fspath(path)
    if is_table(name) and not stem(name).endswith((".jsonl", ".ndjson")):
        remedy = f"podium predict MODEL {name} -o samples.jsonl makes them of a table"
        raise DataError("expected JSON lines, got a table", path=name).advise(
            python=remedy, command_line=remedy
        )
    queries: dict[str, SampleLine] = {}
    for number, line in _lines(name):
        id_ = line.id or str(number)
        if id_ in queries:
            raise DataError(f"expected each id once, got {id_!r} again", path=name, line=number)
        if len(queries) == MAX_SAMPLES:
            raise DataError(f"expected at most {MAX_SAMPLES:,} queries", path=name, line=number)
        queries[id_] = line
    if not queries:
        raise EmptyDataError("expected at least one query, got none", path=name)
    return Samples(queries)


@cache
def demo_samples() -> Samples:
    """Return the demo's queries, for a service without a sample file."""
    return Samples(read_samples(DEMO_SAMPLES).queries, is_demo=True)


def _lines(name: str) -> Iterator[tuple[int, SampleLine]]:
    for number, record in read_json_lines(name):
        try:
            line = msgspec.convert(record, SampleLine)
        except msgspec.ValidationError as error:
            _, message = explain_shape(error, SampleLine)
            raise DataError(message, path=name, line=number) from None
        fault = _find_fault(line)
        if fault:
            raise DataError(fault, path=name, line=number)
        yield number, line


def _find_fault(line: SampleLine) -> str:
    """Return what is wrong with the documents of a query; empty if nothing is."""
    documents = _documents(line)
    ids: set[str] = set()
    for doc in documents:
        if doc.id in ids:
            return f"expected each document once, got {doc.id!r:.200} twice"
        ids.add(doc.id)
    scores = [doc.score for doc in documents if doc.score is not None]
    if scores and len(scores) < len(documents):
        return "expected a score for every document, or for none"
    if not all(map(math.isfinite, scores)):
        return "expected finite scores, got others"
    return ""


def _documents(line: SampleLine) -> list[SampleDocument]:
    return [SampleDocument(id=doc) if isinstance(doc, str) else doc for doc in line.documents]
