"""Bodies of the admin's requests: their fields and types, checked strictly."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from podium.apps.http.refusals import Refusal
from podium.data.judged_by import JudgedBy
from podium.labelling.export import What
from podium.labelling.judgments import Answer
from podium.labelling.tasks import Tool

DownloadFormat = Literal["csv", "parquet", "qrels"]
"""Formats that need no features; LETOR rows come from the command line."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Body = TypeVar("Body", bound="AdminBody")


class AdminBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body of JSON with exactly these fields."""


class NewAssessorBody(AdminBody, frozen=True):
    """An assessor to add."""

    assessor: Name
    name: Annotated[str, msgspec.Meta(max_length=200)] = ""


class AssessorBody(AdminBody, frozen=True):
    """An assessor to disable, to enable, or to give a new link."""

    assessor: Name


class AssignmentBody(AdminBody, frozen=True):
    """A query for an assessor; without a query, all queries."""

    assessor: Name
    tool: Tool
    query: Annotated[str, msgspec.Meta(max_length=1_000)] = ""


class ReassignmentBody(AdminBody, frozen=True):
    """A task for another assessor."""

    task: Name
    assessor: Name


class PriorityBody(AdminBody, frozen=True):
    """The priority of a task, or of all tasks of a query."""

    priority: Literal["low", "normal", "high"]
    query: str | None = None
    task: str | None = None


class GuidelinesBody(AdminBody, frozen=True):
    """New guidelines, and the version that was edited."""

    text: str
    grades: dict[str, str]
    base: Annotated[int, msgspec.Meta(ge=0)]


class SettlementBody(AdminBody, frozen=True):
    """A decision about two documents, or the grade of one."""

    query: str
    documents: Annotated[list[str], msgspec.Meta(min_length=1, max_length=2)]
    answer: Answer | None = None
    grade: int | None = None
    note: str = ""


class ExportBody(AdminBody, frozen=True):
    """What to export, in which format, and how to merge assessors."""

    what: What
    format: DownloadFormat
    merge: Annotated[str, msgspec.Meta(max_length=100)] = "majority"
    judged_by: JudgedBy | None = None


def decode_body(body: Any, kind: type[Body]) -> Body:
    """Return a body with its fields checked; 400 says which field is wrong.

    Examples
    --------
    >>> decode_body({"assessor": "ann"}, AssessorBody)
    AssessorBody(assessor='ann')
    """
    _check_text(body)
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise Refusal(400, "bad_request", str(error)) from None


def _check_text(body: Any) -> None:
    """Raise 400 for a NUL or half of a surrogate pair, which a database cannot store."""
    text = json.dumps(body, ensure_ascii=False)
    if "\\u0000" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Refusal(
            400, "bad_request", "expected text that can be stored, got a control character"
        )
