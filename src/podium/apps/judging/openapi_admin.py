"""The admin's part of the OpenAPI description: pages, and requests that change something."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.apps.http.openapi import Schema, schema_reference
from podium.apps.judging.admin_bodies import AdminBody
from podium.apps.judging.openapi_parts import (
    ADMIN,
    COUNT,
    NUMBER,
    OBJECT,
    PAGE_TOKEN,
    TEXT,
    body_of,
    json_operation,
    list_of,
    object_schema,
    operation,
    page_operation,
    parameter,
)

_READING = (401, 403, 503)
_CHANGING = (401, 403, 408, 409, 413, 415, 503)
_TASK_PARAMETERS = [
    parameter("assessor", "query", "Whose tasks; by default all."),
    parameter("page", "query", "The page of the list: 1, 2, ..."),
]
_QUERY_PARAMETERS = [
    parameter(
        "query", "query", "The id of a query; by default the first with an open disagreement."
    ),
    parameter("place", "query", "Which disagreement of the query: 1, 2, ..."),
]


def _action(summary: str, name: str, body: str, schema: str) -> dict[str, Any]:
    """Return the description of a request that changes something; the audit log notes it."""
    action = json_operation(
        summary, name, schema, _CHANGING, ADMIN, parameters=[PAGE_TOKEN],
        requestBody=body_of("application/json", body),
    )  # fmt: skip
    return {"post": action}


ADMIN_PATHS: dict[str, Any] = {
    "/admin": {"get": page_operation("Progress and statistics.", "admin", _READING, ADMIN)},
    "/admin/progress.json": {
        "get": json_operation(
            "Progress by query and by assessor.", "progress_json", "Progress", _READING, ADMIN
        )
    },
    "/admin/statistics.json": {
        "get": json_operation(
            "Costs, agreement and consistency of the judgments.", "statistics_json", "Statistics",
            _READING, ADMIN,
        )
    },
    "/admin/assessors": {
        "get": page_operation(
            "Assessors and tasks.", "assessors_page", _READING, ADMIN, parameters=_TASK_PARAMETERS
        )
    },
    "/admin/disagreements": {
        "get": page_operation(
            "Disagreements, side by side.", "disagreements_page", (401, 403, 404, 503), ADMIN,
            parameters=_QUERY_PARAMETERS,
        )
    },
    "/admin/guidelines": {
        "get": page_operation("Edit the guidelines.", "guidelines_editor", _READING, ADMIN)
    },
    "/admin/certainty": {
        "get": page_operation("How sure the lists are.", "certainty_page", _READING, ADMIN)
    },
    "/admin/certainty.json": {
        "get": json_operation("How sure the lists are.", "certainty_json", "Certainty", _READING, ADMIN)
    },
    "/admin/audit": {"get": page_operation("Exports and the audit log.", "audit_page", _READING, ADMIN)},
    "/admin/audit.json": {
        "get": json_operation("The whole audit log.", "audit_json", "AuditLog", _READING, ADMIN)
    },
    "/api/admin/assessors": _action(
        "Add an assessor.", "add_assessor", "NewAssessorBody", "AssessorRecord"
    ),
    "/api/admin/assessors/disable": _action(
        "Let an assessor sign in no more.", "disable_assessor", "AssessorBody", "AssessorRecord"
    ),
    "/api/admin/assessors/enable": _action(
        "Let an assessor sign in again.", "enable_assessor", "AssessorBody", "AssessorRecord"
    ),
    "/api/admin/assessors/link": _action(
        "Make a new personal link; older ones become void.", "renew_link", "AssessorBody", "AssessorRecord"
    ),
    "/api/admin/tasks/assign": _action(
        "Give an assessor a query, or all queries.", "assign", "AssignmentBody", "TaskIds"
    ),
    "/api/admin/tasks/reassign": _action(
        "Give an unfinished task to another assessor.", "reassign", "ReassignmentBody", "TaskIds"
    ),
    "/api/admin/tasks/priority": _action(
        "Set the priority of a task or a query.", "set_priority", "PriorityBody", "ChangedTasks"
    ),
    "/api/admin/guidelines": _action(
        "Save guidelines as a new version.", "save_guidelines", "GuidelinesBody", "SavedVersion"
    ),
    "/api/admin/settlements": _action(
        "Settle a disagreement.", "settle", "SettlementBody", "SettlementRecord"
    ),
    "/api/admin/export": {
        "post": operation(
            "Download an export.", "download_export",
            {"200": {"description": "The file.", "content": {"*/*": {"schema": {}}}}},
            _CHANGING, security=ADMIN, parameters=[PAGE_TOKEN],
            requestBody=body_of("application/json", "ExportBody"),
        )
    },
}  # fmt: skip

_, _BODY_SCHEMAS = msgspec.json.schema_components(
    AdminBody.__subclasses__(), ref_template="#/components/schemas/{name}"
)

ADMIN_SCHEMAS: dict[str, Schema] = _BODY_SCHEMAS | {
    "Progress": object_schema(
        "Progress of all tasks.",
        {
            "total": schema_reference("ProgressLine"),
            "queries": list_of(schema_reference("ProgressLine")),
            "assessors": list_of(schema_reference("ProgressLine")),
        },
    ),
    "ProgressLine": object_schema(
        "Progress of some tasks together.",
        {
            "name": TEXT, "text": TEXT, "tasks": COUNT, "finished": COUNT, "judged": COUNT,
            "remaining": NUMBER, "active_seconds": NUMBER, "changed": {"type": "integer"},
            "share": NUMBER,
        },
    ),
    "Statistics": object_schema(
        "Statistics of the judgments, as `podium judge stats --json` prints them.",
        {
            "methods": list_of(OBJECT), "assessors": list_of(OBJECT), "agreement": OBJECT,
            "tools": {"type": ["object", "null"]}, "reliability": OBJECT, "overlap": OBJECT,
            "consistency": OBJECT, "as_of": TEXT,
        },
    ),
    "AssessorRecord": object_schema(
        "An assessor after a change; a new link is in this answer only.",
        {"assessor": TEXT, "disabled": {"type": "boolean"}},
        link=TEXT,
    ),
    "TaskIds": object_schema("The ids of new tasks.", {"tasks": list_of(TEXT)}),
    "ChangedTasks": object_schema("How many tasks have the priority.", {"changed": COUNT}),
    "SavedVersion": object_schema("The version of the guidelines.", {"version": COUNT}),
    "SettlementRecord": object_schema(
        "A decision, with who made it and when.",
        {
            "query": TEXT, "documents": list_of(TEXT), "answer": {"type": ["string", "null"]},
            "grade": {"type": ["integer", "null"]}, "admin": TEXT, "at": {"type": "integer"},
            "note": TEXT,
        },
    ),
    "Certainty": object_schema(
        "How sure the lists of strategies with a belief are: first of all queries, then of each.",
        {
            "rows": list_of(
                object_schema(
                    "The mean numbers of judgments, expected recalls, and judgments that levels took.",
                    {
                        "query": TEXT, "tasks": COUNT, "judged": NUMBER, "certainty": NUMBER,
                        "price": list_of(
                            object_schema(
                                "After how many judgments tasks were so sure, and how many were.",
                                {
                                    "certainty": NUMBER, "judgments": {"type": ["number", "null"]},
                                    "tasks": COUNT,
                                },
                            )
                        ),
                    },
                )
            )
        },
    ),
    "AuditLog": object_schema(
        "What admins did, the latest first.",
        {
            "entries": list_of(
                object_schema(
                    "One act, with the values before and after.",
                    {
                        "number": COUNT, "at": {"type": "integer"}, "who": TEXT, "action": TEXT,
                        "subject": TEXT, "before": {"type": ["object", "null"]},
                        "after": {"type": ["object", "null"]},
                    },
                )
            )
        },
    ),
}  # fmt: skip
