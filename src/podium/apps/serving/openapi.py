"""The OpenAPI description of the service, from its operations and the types of its bodies."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.apps.http.openapi import (
    GATE_STATUSES,
    STATUS_TEXTS,
    describe_api,
    describe_operation,
    json_content,
    schema_reference,
)
from podium.apps.serving.body_types import ErrorAnswer
from podium.apps.serving.operations import Operation
from podium.apps.serving.routes import OPERATIONS
from podium.postranking import RULES, schema

_ERRORS = STATUS_TEXTS | {
    401: "The token is missing or wrong.",
    403: "The page of another site sent the request.",
    404: "No such model, user class, query of the sample or log; or the service has no editors.",
    409: "Hard rules cannot hold together, or somebody else saved rules first.",
    415: "The body is not application/json.",
    422: "The body is JSON, and not what was expected.",
}
_WITH_BODY = (401, 408, 413, 415, 422, 503)
_TOKEN_IF_SET: list[Any] = [{}, {"token": []}]
_ERROR = schema_reference("ErrorAnswer")
_TOKEN_TEXT = "the service's token, if it has one (Authorization: Bearer TOKEN)"

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
    """Return the description as values of JSON."""
    types = [op.body for op in OPERATIONS.values() if op.body not in (None, Any)]
    types += [operation.answer for operation in OPERATIONS.values()] + [ErrorAnswer]
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    for name in ("RankRequest", "PostrankRequest", "RulesCheck"):
        for choice in components[name]["properties"]["rules"]["anyOf"]:
            if choice["type"] == "array":
                choice["items"] = schema_reference("Rule")
    return describe_api(
        "Podium ranking service",
        version,
        "Documents in, ranked lists out; rules over any list; events for feedback.",
        {path: _describe(operation) for path, operation in OPERATIONS.items()} | _METRICS,
        components | _rule_schemas() | {"UbiRecord": UBI_RECORD},
        {"token": {"type": "http", "scheme": "bearer", "description": _TOKEN_TEXT}},
    )


def _rule_schemas() -> dict[str, Any]:
    """Return the kinds of rules, as the schema of rule files has them."""
    definitions = schema()["$defs"]
    kinds = {name: definitions[name] for name in definitions if name != "rule"}
    choices = [schema_reference(f"Rule-{kind}") for kind in RULES]
    schemas = {f"Rule-{name}": _renamed(kind) for name, kind in kinds.items()}
    return {"Rule": {"anyOf": choices}, **schemas}


def _renamed(node: Any) -> Any:
    """Return a schema with references to components of the description."""
    if isinstance(node, list):
        return [_renamed(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: value.replace("#/$defs/", "#/components/schemas/Rule-")
        if key == "$ref"
        else _renamed(value)
        for key, value in node.items()
    }


def _describe(operation: Operation) -> dict[str, Any]:
    statuses = (*GATE_STATUSES, *operation.statuses)
    if operation.body is not None:
        statuses = (*statuses, *_WITH_BODY)
    elif not operation.is_open:
        statuses = (*statuses, 401)
    more: dict[str, Any] = {} if operation.is_open else {"security": _TOKEN_IF_SET}
    if operation.body is not None:
        schema = _events_schema() if operation.body is Any else _reference(operation.body)
        more["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    described = describe_operation(
        operation.summary,
        operation.path.strip("/").replace("/", "_"),
        {"200": json_content("The answer.", _reference(operation.answer))},
        {status: _ERRORS[status] for status in statuses},
        _ERROR,
        **more,
    )
    return {operation.method.lower(): described}


def _reference(kind: Any) -> dict[str, str]:
    return schema_reference(kind.__name__)


def _events_schema() -> dict[str, Any]:
    record = schema_reference("UbiRecord")
    records = {"type": "array", "items": record, "maxItems": 10_000}
    in_object = {
        "type": "object",
        "required": ["events"],
        "properties": {"events": records},
        "additionalProperties": False,
    }
    return {"anyOf": [record, records, in_object]}


_METRICS: dict[str, Any] = {
    "/metrics": {
        "get": describe_operation(
            "Figures for Prometheus, summed over all workers.",
            "metrics",
            {
                "200": {
                    "description": "Prometheus' text format.",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                }
            },
            {401: _ERRORS[401]},
            _ERROR,
            security=_TOKEN_IF_SET,
        )
    }
}
