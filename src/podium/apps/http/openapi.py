"""OpenAPI: the description of the paths of both web apps, and a page that shows it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

GATE_STATUSES = (400, 421, 429, 431)
"""Statuses of the gate, which every path can return."""

STATUS_TEXTS = {
    400: "The body is not JSON, an object in it has a key twice, or a header comes twice.",
    405: "The path has no such method.",
    408: "The body took too long to arrive.",
    413: "The body is too large.",
    415: "The body is of another type.",
    421: "The header Host has no name of this server.",
    429: "Too many requests or wrong tokens from this address: wait as Retry-After says.",
    431: "The request has too many headers.",
    503: "Busy, or the answer took too long: try again as Retry-After says.",
}
"""The meanings of the statuses that both apps use."""


def describe_api(
    title: str,
    version: str,
    description: str,
    paths: Mapping[str, Any],
    schemas: Mapping[str, Schema],
    security_schemes: Mapping[str, Any],
) -> dict[str, Any]:
    """Return an OpenAPI 3.1 description that JSON can hold."""
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": description},
        "paths": dict(paths),
        "components": {"schemas": dict(schemas), "securitySchemes": dict(security_schemes)},
    }


def describe_operation(
    summary: str,
    name: str,
    answer: Mapping[str, Any],
    errors: Mapping[int, str],
    error_schema: Schema,
    **more: Any,
) -> dict[str, Any]:
    """Return the description of one method of a path: its answer, and its refusals by status."""
    refusals = {
        str(status): json_content(errors[status], error_schema) for status in sorted(errors)
    }
    return {
        "summary": summary, "operationId": name, "responses": {**answer, **refusals}, **more,
    }  # fmt: skip


def json_content(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of an answer of JSON."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def schema_reference(name: str) -> Schema:
    """Return a reference to a schema by its name.

    Examples
    --------
    >>> schema_reference("RankRequest")
    {'$ref': '#/components/schemas/RankRequest'}
    """
    return {"$ref": f"#/components/schemas/{name}"}


# --- the page ---


def openapi_page(description: Mapping[str, Any]) -> str:
    """Return a description as an HTML page, which needs no script and loads nothing from other servers."""
    info, components = description["info"], description["components"]
    operations = [
        _operation(path, method, operation, components["securitySchemes"])
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in components["schemas"].items()]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{_text(info["title"])}: API</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/base.css">
<link rel="stylesheet" href="/static/api.css">
</head>
<body>
<main>
<p><a href="/">Start page</a></p>
<h1>{_text(info["title"])}: API</h1>
<p>{_text(info["description"])} For clients and tools: <a href="/openapi.json">openapi.json</a>.</p>
<h2>Requests</h2>
{"".join(operations)}<h2>Types</h2>
{"".join(schemas)}</main>
</body>
</html>
"""


def _operation(path: str, method: str, operation: Mapping[str, Any], schemes: Any) -> str:
    parameters = [
        (f"{parameter['name']} ({parameter['in']})", _type(parameter["schema"]),
         _text(parameter.get("description", "")))
        for parameter in operation.get("parameters", ())
    ]  # fmt: skip
    for content_type, content in operation.get("requestBody", {}).get("content", {}).items():
        parameters.append(("body", _type(content["schema"]), _text(content_type)))
    answers = [
        (status, ", ".join(map(_content, answer.get("content", {}).items())), _text(answer["description"]))
        for status, answer in operation["responses"].items()
    ]  # fmt: skip
    return (
        f'<section id="{_text(operation["operationId"])}">'
        f"<h3><code>{method.upper()} {_text(path)}</code></h3>\n<p>{_text(operation['summary'])}</p>\n"
        f"{_security(operation.get('security', ()), schemes)}"
        f"{_table(('takes', 'type', ''), parameters)}{_table(('answers', 'type', ''), answers)}</section>\n"
    )


def _security(security: Sequence[Mapping[str, Any]], schemes: Mapping[str, Any]) -> str:
    """Return the credentials that a request needs; an empty choice means that they are optional."""
    texts = [schemes[name]["description"] for choice in security for name in choice]
    return f"<p>Needs: {_text(' or '.join(texts))}</p>\n" if texts else ""


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (field, _type(kind) + ("" if field in required else ", optional"), _text(kind.get("description", "")))
        for field, kind in schema.get("properties", {}).items()
    ]  # fmt: skip
    about = schema.get("description", "")
    body = _table(("field", "type", ""), rows) if rows else f"<p>{_type(schema)}</p>\n"
    return (
        f'<section id="type-{_text(name)}"><h3><code>{_text(name)}</code></h3>\n'
        f"<p>{_text(about)}</p>\n{body}</section>\n"
    )


def _content(content: tuple[str, Mapping[str, Any]]) -> str:
    content_type, value = content
    return _type(value["schema"]) if content_type == "application/json" else _text(content_type)


def _type(schema: Mapping[str, Any]) -> str:
    """Return a schema in a few words of HTML; types of the description are links."""
    if "$ref" in schema:
        name = _text(schema["$ref"].rpartition("/")[2])
        return f'<a href="#type-{name}">{name}</a>'
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return " or ".join(map(_type, schema[choices]))
    if "enum" in schema or "const" in schema:
        return " or ".join(f"<q>{_text(v)}</q>" for v in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of ({_type(schema.get('items', {}))})"
    kinds = schema.get("type", "any value")
    return _text(kinds if isinstance(kinds, str) else " or ".join(kinds))


def _table(titles: Iterable[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first cell of a row is text, the others are HTML."""
    if not rows:
        return ""
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(
        f"<tr><td><code>{_text(first)}</code></td>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>\n"
        for first, *rest in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>\n'


def _text(value: object) -> str:
    return html.escape(str(value))
