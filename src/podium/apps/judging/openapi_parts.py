"""Parts of the OpenAPI description: operations, pages, bodies and schemas of the judging app."""

from __future__ import annotations

from typing import Any

from podium.apps.http.openapi import (
    GATE_STATUSES,
    STATUS_TEXTS,
    Schema,
    describe_operation,
    json_content,
    schema_reference,
)
from podium.apps.judging.sign_in_checks import TOKEN_HEADER

ERROR_TEXTS = STATUS_TEXTS | {
    400: "The request, or an event in it, is not understood.",
    401: "Nobody is signed in with this browser: open a personal link.",
    403: "The task, page or link is not for this person, or another site sent the request.",
    404: "Nothing is here.",
    409: "The session went on meanwhile: go on with the step of the answer.",
    429: "Too many requests or wrong links from this address: wait as Retry-After says.",
    503: "The store cannot be used at the moment, or is busy: send again as Retry-After says.",
}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
OBJECT: Schema = {"type": "object"}
HTML_CONTENT = {"text/html": {"schema": TEXT}}
ASSESSOR: list[Any] = [{"assessor": []}]
ADMIN: list[Any] = [{"admin": []}]
MEMBER: list[Any] = [{"assessor": []}, {"admin": []}]


def parameter(name: str, place: str, description: str) -> Schema:
    """Return the description of a parameter; those of the query may be left out."""
    required = {} if place == "query" else {"required": True}
    return {
        "name": name, "in": place, **required, "schema": {"type": "string"}, "description": description,
    }  # fmt: skip


VERSION_PARAMETER = parameter("version", "query", "The number of a version; the latest by default.")
TASK_ID = parameter("task_id", "path", "The id of a task of the assessor.")
LINK_TOKEN = parameter("token", "path", "The secret part of a personal link.")
PAGE_TOKEN = parameter(
    TOKEN_HEADER, "header", 'The token of the page that sends: <meta name="podium-token">.'
)
IMAGE_PATH = parameter("path", "path", "A signed address from a document.")


def operation(
    summary: str, name: str, answer: dict[str, Any], statuses: tuple[int, ...], **more: Any
) -> dict[str, Any]:
    """Return the description of a request, with the refusals of these statuses and of the gate."""
    errors = {status: ERROR_TEXTS[status] for status in (*GATE_STATUSES, *statuses)}
    return describe_operation(
        summary, name, answer, errors, schema_reference("ErrorAnswer"), **more
    )


def json_operation(
    summary: str,
    name: str,
    schema: str,
    statuses: tuple[int, ...],
    security: list[Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the description of a request whose answer is JSON."""
    answer = {"200": json_content("The answer.", schema_reference(schema))}
    if security is not None:
        more["security"] = security
    return operation(summary, name, answer, statuses, **more)


def page_operation(
    summary: str,
    name: str,
    statuses: tuple[int, ...],
    security: list[Any] | None = None,
    redirects: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return the description of a page."""
    answer: dict[str, Any] = {"200": {"description": "A page.", "content": HTML_CONTENT}}
    if redirects:
        answer["303"] = {"description": "Signed in already: on to the start page."}
    if security is not None:
        more["security"] = security
    return operation(summary, name, answer, statuses, **more)


def body_of(content_type: str, schema: str) -> dict[str, Any]:
    """Return the description of a body."""
    return {"required": True, "content": {content_type: {"schema": schema_reference(schema)}}}


def object_schema(description: str, required: dict[str, Schema], **optional: Schema) -> Schema:
    """Return the schema of an object with these fields."""
    return {
        "type": "object",
        "description": description,
        "required": list(required),
        "properties": {**required, **optional},
    }


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}
