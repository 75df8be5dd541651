"""The OpenAPI description of the service, written from its operations and the types of its bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.apps.serving.bodies import ErrorAnswer
from podium.apps.serving.operations import OPERATIONS, Operation
from podium.postranking import RULES, schema

_SAID = {
    400: "The body is no JSON, an object in it has a key twice, or a header comes twice.",
    401: "The token is missing or wrong.",
    404: "No such model, user class, query of the sample or log.",
    408: "The body took too long to arrive.",
    409: "Hard rules cannot hold together.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "The header Host has no name of this server.",
    422: "The body is JSON, and not what was expected.",
    429: "Too many requests or wrong tokens from this address: wait as Retry-After says.",
    431: "The request has too many headers.",
    503: "Busy, or the answer took too long: try again.",
}
_ALWAYS = (400, 421, 429, 431)
_WITH_BODY = (401, 408, 413, 415, 422, 503)

UBI_RECORD: dict[str, Any] = {
    "title": "UbiRecord",
    "description": "A UBI event (with action_name) or query record, as podium feedback reads it.",
    "type": "object",
    "required": ["query_id"],
    "properties": {
        "query_id": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]},
        "action_name": {"type": "string", "minLength": 1, "maxLength": 100},
        "timestamp": {"type": ["string", "number", "null"]},
        "user_query": {"type": "string"},
        "query_response_hit_ids": {"type": "array"},
        "event_attributes": {"type": ["object", "null"]},
    },
}


def openapi(version: str) -> dict[str, Any]:
    """The description, as JSON can hold it."""
    types = [op.body for op in OPERATIONS.values() if op.body not in (None, Any)]
    types += [operation.answer for operation in OPERATIONS.values()] + [ErrorAnswer]
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    for name in ("RankRequest", "PostrankRequest", "RulesCheck"):
        for choice in components[name]["properties"]["rules"]["anyOf"]:
            if choice["type"] == "array":
                choice["items"] = {"$ref": "#/components/schemas/Rule"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Podium ranking service",
            "version": version,
            "description": "Documents in, ranked lists out; rules over any list; events for feedback.",
        },
        "paths": {path: _path(operation) for path, operation in OPERATIONS.items()} | _PAGES,
        "components": {
            "schemas": components | _rules() | {"UbiRecord": UBI_RECORD},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _rules() -> dict[str, Any]:
    """The kinds of rules, as the schema of rule files has them."""
    kinds = {kind: schema()["$defs"][kind] for kind in RULES}
    one_of = [{"$ref": f"#/components/schemas/Rule-{kind}"} for kind in kinds]
    return {"Rule": {"anyOf": one_of}} | {f"Rule-{kind}": told for kind, told in kinds.items()}


def _path(operation: Operation) -> dict[str, Any]:
    statuses = (*_ALWAYS, *operation.statuses, *(_WITH_BODY if operation.body is not None else ()))
    if operation.body is None and not operation.is_open:
        statuses = (*statuses, 401)
    answers: dict[str, Any] = {"200": _json("The answer.", _ref(operation.answer))}
    for status in sorted(set(statuses)):
        answers[str(status)] = _json(_SAID[status], _ref(ErrorAnswer))
    told: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": operation.path.strip("/").replace("/", "_"),
        "responses": answers,
    }
    if not operation.is_open:
        told["security"] = [{}, {"token": []}]
    if operation.body is not None:
        schema = _events() if operation.body is Any else _ref(operation.body)
        told["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return {operation.method.lower(): told}


def _ref(kind: Any) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _events() -> dict[str, Any]:
    one = {"$ref": "#/components/schemas/UbiRecord"}
    several = {"type": "array", "items": one, "maxItems": 10_000}
    named = {
        "type": "object",
        "required": ["events"],
        "properties": {"events": several},
        "additionalProperties": False,
    }
    return {"anyOf": [one, several, named]}


def _json(said: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": said, "content": {"application/json": {"schema": schema}}}


_PAGES: dict[str, Any] = {
    "/metrics": {
        "get": {
            "summary": "Figures for Prometheus, summed over all workers.",
            "operationId": "metrics",
            "security": [{}, {"token": []}],
            "responses": {
                "200": {
                    "description": "Prometheus' text format.",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                "401": _json(_SAID[401], _ref(ErrorAnswer)),
            },
        }
    }
}
