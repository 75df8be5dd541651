"""The OpenAPI description of the judging app: its routes, what they need, and what they answer."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from podium.apps.http.openapi import (
    Schema,
    describe_api,
    json_content,
    openapi_page,
    schema_reference,
)
from podium.apps.judging.openapi_admin import ADMIN_PATHS, ADMIN_SCHEMAS
from podium.apps.judging.openapi_parts import (
    ASSESSOR,
    COUNT,
    HTML_CONTENT,
    IMAGE_PATH,
    LINK_TOKEN,
    MEMBER,
    NUMBER,
    OBJECT,
    PAGE_TOKEN,
    TASK_ID,
    TEXT,
    VERSION_PARAMETER,
    body_of,
    json_operation,
    list_of,
    object_schema,
    operation,
    page_operation,
)
from podium.apps.judging.refusals import JSON, is_json_path
from podium.labelling.events import KINDS

INTERFACE_VERSION = "1"
"""The version of the description; it does not reveal the version of podium to strangers."""

_SIGN_IN_PATHS: dict[str, Any] = {
    "/enter/{token}": {
        "get": page_operation(
            "The page of a personal link; its button signs in.", "ask", (403, 503),
            parameters=[LINK_TOKEN], redirects=True,
        ),
        "post": operation(
            "Sign in with a personal link, as its page does.", "enter",
            {"303": {"description": "Signed in: a cookie, and on to the tasks or to /admin."}},
            (403, 408, 413, 415, 503), parameters=[LINK_TOKEN],
            requestBody=body_of("application/x-www-form-urlencoded", "SignInForm"),
        ),
    },
}  # fmt: skip
_ASSESSOR_PATHS: dict[str, Any] = {
    "/": {"get": page_operation("The tasks of the assessor.", "tasks", (401, 503), ASSESSOR, redirects=True)},
    "/judge/{task_id}": {
        "get": page_operation(
            "The page on which a task is judged.", "judge", (401, 403, 503), ASSESSOR,
            parameters=[TASK_ID],
        )
    },
    "/guidelines": {
        "get": page_operation(
            "The guidelines, the latest or an older version.", "guidelines", (401, 404, 503),
            MEMBER, parameters=[VERSION_PARAMETER],
        )
    },
    "/images/{path}": {
        "get": operation(
            "An image of a document.", "image",
            {"200": {"description": "The image.", "content": {"image/*": {"schema": {}}}}},
            (401, 404, 503), security=MEMBER, parameters=[IMAGE_PATH],
        )
    },
    "/api/tasks/{task_id}": {
        "get": json_operation(
            "A task and where it stands.", "task", "TaskState", (401, 403, 503), ASSESSOR,
            parameters=[TASK_ID],
        )
    },
    "/api/tasks/{task_id}/events": {
        "post": json_operation(
            "Keep events, one after the other, up to the first that cannot be kept.", "events",
            "EventsAnswer", (401, 403, 408, 409, 413, 415, 503), ASSESSOR,
            parameters=[TASK_ID, PAGE_TOKEN], requestBody=body_of("application/json", "EventsRequest"),
        )
    },
}  # fmt: skip
_OPEN_PATHS: dict[str, Any] = {
    "/help": {"get": page_operation("How to judge.", "help", (503,))},
    "/healthz": {"get": json_operation("Whether the store can be read.", "healthz", "Health", (503,))},
    "/openapi.json": {
        "get": operation(
            "This description.", "openapi_json",
            {"200": json_content("The description.", {"type": "object"})}, (),
        )
    },
    "/static/api.html": {"get": page_operation("This description as a page.", "api_page", ())},
}  # fmt: skip

_ID_OR_NULL: Schema = {"type": ["string", "null"]}

_SESSION: dict[str, Schema] = {
    "step": {
        "anyOf": [schema_reference(name) for name in ("QuestionStep", "DocumentStep", "DoneStep")]
    },
    "progress": object_schema(
        "Judgments made and expected, and the expected recall of the list if the strategy knows it.",
        {"done": COUNT, "remaining": NUMBER},
        certainty=NUMBER,
    ),
    "idle_seconds": NUMBER
    | {"description": "After so long without a sign of life the clock stops."},
    "paused": {"type": "boolean"},
    "last": _ID_OR_NULL | {"description": "The id of the last judgment, which an undo names."},
    "events": COUNT,
    "guidelines": COUNT | {"description": "The version of the latest guidelines; 0 for none."},
}
_DOCUMENT = schema_reference("Document")
_QUESTION = TEXT | {"description": "The name of the question, which events repeat."}

_SCHEMAS: dict[str, Schema] = {
    "EventsRequest": object_schema(
        "Events of one session.", {"events": list_of(schema_reference("Event"))}
    ),
    "Event": object_schema(
        "Something that happened in a session; an event that is sent twice is kept once.",
        {
            "id": TEXT | {"description": "Made by the page, such as a UUID."},
            "kind": {"enum": list(KINDS)},
            "at": {"type": "integer", "description": "Milliseconds since 1970 (UTC)."},
        },
        data=OBJECT
        | {"description": "By kind: question, answer or grade, segments, guidelines, judgment, text."},
    ),
    "EventsAnswer": object_schema(
        "The ids of the events that are kept, and where the session stands.",
        {"accepted": list_of(TEXT), **_SESSION},
    ),
    "TaskState": object_schema(
        "A task and where its session stands.", {"task": schema_reference("Task"), **_SESSION}
    ),
    "Task": object_schema(
        "A query to be judged.",
        {
            "kind": {"enum": ["preference", "grade"]},
            "query": TEXT,
            "description": TEXT,
            "grades": {"anyOf": [list_of(TEXT), {"type": "null"}]},
            "k": {"type": ["integer", "null"]},
        },
    ),
    "QuestionStep": object_schema(
        "Two documents: which is better?",
        {"kind": {"const": "question"}, "question": _QUESTION, "left": _DOCUMENT, "right": _DOCUMENT},
    ),
    "DocumentStep": object_schema(
        "One document to be graded.",
        {"kind": {"const": "document"}, "question": _QUESTION, "document": _DOCUMENT},
    ),
    "DoneStep": object_schema(
        "The finished task: levels, best first, or graded documents.",
        {"kind": {"const": "done"}},
        levels=list_of(list_of(object_schema("A document.", {"id": TEXT, "title": TEXT}))),
        graded=list_of(
            object_schema("A document.", {"id": TEXT, "title": TEXT, "grade": {"type": "integer"}})
        ),
    ),
    "Document": object_schema(
        "A document as it is shown, with sanitised HTML or an image.",
        {"id": TEXT, "title": TEXT, "title_html": TEXT},
        html=TEXT,
        image=TEXT,
    ),
    "SignInForm": object_schema("The form of the page of a personal link.", {"form_token": TEXT}),
    "Health": object_schema("The store can be read.", {"status": {"const": "ok"}}),
    "ErrorAnswer": object_schema(
        "A refusal; 400 and 409 to events also say what was kept and where the session stands.",
        {
            "error": object_schema(
                "A code for programs, a sentence for people.", {"code": TEXT, "message": TEXT}
            )
        },
        accepted=list_of(TEXT),
        refused=_ID_OR_NULL,
        **_SESSION,
    ),
}  # fmt: skip


def openapi() -> dict[str, Any]:
    """Return the description as values of JSON."""
    paths = {**_SIGN_IN_PATHS, **_ASSESSOR_PATHS, **ADMIN_PATHS, **_OPEN_PATHS}
    return describe_api(
        "Podium judging app",
        INTERFACE_VERSION,
        "Assessors judge documents in the browser. A personal link signs in and sets a cookie.",
        {
            path: methods if is_json_path(path) else _refuse_by_page(methods)
            for path, methods in paths.items()
        },
        _SCHEMAS | ADMIN_SCHEMAS,
        {
            "assessor": _cookie("podium_assessor", "the cookie of an assessor's personal link"),
            "admin": _cookie("podium_admin", "the cookie of an admin's personal link"),
        },
    )


def make_openapi_routes() -> APIRouter:
    """Return the routes of the description and of the page to read it; both are the same for everybody."""
    routes = APIRouter()
    description = openapi()
    page = openapi_page(description)

    @routes.get("/openapi.json")
    async def openapi_json() -> Response:
        return JSON(description)

    @routes.get("/static/api.html")
    async def api_page() -> Response:
        return HTMLResponse(page)

    return routes


def _refuse_by_page(methods: dict[str, Any]) -> dict[str, Any]:
    """Return the methods of a path for people, whose refusals are pages."""
    return {
        method: operation
        | {
            "responses": {
                status: response | {"content": HTML_CONTENT} if int(status) >= 400 else response
                for status, response in operation["responses"].items()
            }
        }
        for method, operation in methods.items()
    }


def _cookie(name: str, description: str) -> dict[str, str]:
    return {"type": "apiKey", "in": "cookie", "name": name, "description": description}
