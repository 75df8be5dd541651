"""The admin's pages besides the progress: assessors and tasks, disagreements, guidelines, the audit log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.http.refusals import Refusal
from podium.apps.judging.guidelines_html import guidelines_view
from podium.apps.judging.judging_service import JudgingService
from podium.apps.judging.refusals import JSON
from podium.apps.judging.rendering import Pages
from podium.apps.judging.sign_in_checks import SignInChecks
from podium.labelling.disagreements import Disagreement, find_disagreements
from podium.labelling.judging_statistics.certainty_curves import (
    LEVELS,
    CertaintyCurve,
    certainty_curve,
    certainty_rows,
)
from podium.labelling.store import SessionState, Store
from podium.labelling.store.administration import PRIORITIES
from podium.labelling.strategies.strategy_run import strategy_named
from podium.labelling.tasks import FIVE_GRADES, GradeTask, PreferenceTask, Task

MAX_AUDIT_ROWS = 200
"""Entries of the audit log on the page; ``/admin/audit.json`` has all."""

TASKS_PER_PAGE = 100
"""Tasks on one page of the list."""

MAX_DISAGREEMENT_ROWS = 500
"""Disagreements of a query in the list below the documents."""

MAX_CERTAINTY_TASKS = 200
"""Tasks whose certainty is computed for one page."""

_WORDS = {">": "1 is better", "<": "2 is better", "~": "Tie", "bad": "Both bad"}


def make_admin_pages(service: JudgingService, checks: SignInChecks, pages: Pages) -> APIRouter:
    """Make the routes ``GET /admin/...`` of the pages on which the admin acts."""
    routes = APIRouter()
    store = service.store

    async def show(
        request: Request, template: str, read: Callable[..., Mapping[str, Any]], *arguments: Any
    ) -> Response:
        admin = await checks.require_admin(request)
        values = await run_in_threadpool(read, *arguments)
        return pages.page(template, role="admin", csrf=checks.links.csrf_token(admin), **values)

    @routes.get("/admin/assessors")
    async def assessors_page(request: Request, assessor: str = "", page: str = "1") -> Response:
        return await show(request, "assessors.html", _people, store, assessor, page)

    @routes.get("/admin/disagreements")
    async def disagreements_page(request: Request, query: str = "", place: str = "1") -> Response:
        return await show(request, "disagreements.html", _disagreements, service, query, place)

    @routes.get("/admin/guidelines")
    async def guidelines_editor(request: Request) -> Response:
        return await show(request, "edit_guidelines.html", _editor, store)

    _add_certainty_routes(routes, store, checks, show)

    @routes.get("/admin/audit")
    async def audit_page(request: Request) -> Response:
        return await show(request, "audit.html", _audit, store)

    @routes.get("/admin/audit.json")
    async def audit_json(request: Request) -> Response:
        await checks.require_admin(request)
        entries = await run_in_threadpool(store.audit_log)
        return JSON({"entries": [asdict(entry) for entry in entries]})

    return routes


def _add_certainty_routes(
    routes: APIRouter, store: Store, checks: SignInChecks, show: Callable[..., Awaitable[Response]]
) -> None:
    """Add the page and the JSON that say how sure the lists are."""
    curve = lru_cache(maxsize=4 * MAX_CERTAINTY_TASKS)(partial(_curve, store))

    @routes.get("/admin/certainty")
    async def certainty_page(request: Request) -> Response:
        return await show(request, "certainty.html", _certainty, store, curve)

    @routes.get("/admin/certainty.json")
    async def certainty_json(request: Request) -> Response:
        await checks.require_admin(request)
        values = await run_in_threadpool(_certainty, store, curve)
        return JSON({"rows": [row.to_dict() for row in values["rows"]]})


def _audit(store: Store) -> dict[str, Any]:
    has_machines = any(member.is_machine for member in store.members())
    return {"entries": store.audit_log(MAX_AUDIT_ROWS), "has_machines": has_machines}


def _curve(store: Store, task: str, judged: int) -> CertaintyCurve | None:
    """Return the curve of a task; `judged` is there for caches, because a new judgment makes a new curve."""
    return certainty_curve(store.session(task))


def _certainty(store: Store, curve: Callable[[str, int], CertaintyCurve | None]) -> dict[str, Any]:
    """Return how sure the lists are, and what that took, for the tasks with the latest judgments."""
    beliefs = [state for state in store.session_states() if _has_belief(state.task)]
    latest = sorted(beliefs, key=lambda state: -state.changed)
    chosen = {state.task.id for state in latest[:MAX_CERTAINTY_TASKS]}
    curves = [curve(s.task.id, s.judged) for s in beliefs if s.task.id in chosen]
    return {
        "rows": certainty_rows(one for one in curves if one is not None),
        "levels": LEVELS,
        "texts": store.query_texts(),
        "n_left_out": len(beliefs) - len(chosen),
    }


def _has_belief(task: Task) -> bool:
    return isinstance(task, PreferenceTask) and not strategy_named(task.strategy).trusts_answers


def _people(store: Store, assessor: str, page: str) -> dict[str, Any]:
    """Return the assessors, and a page of their tasks: of all, or of one assessor."""
    states, texts = store.session_states(), store.query_texts()
    members = [m for m in store.members() if m.role == "assessor" and not m.is_machine]
    own = [state for state in states if assessor in ("", state.task.assessor)]
    n_pages = max(1, -(-len(own) // TASKS_PER_PAGE))
    number = _place(page, n_pages)
    rows = own[(number - 1) * TASKS_PER_PAGE : number * TASKS_PER_PAGE]
    finished = Counter(state.task.assessor for state in states if state.finished)
    return {
        "members": members,
        "tasks": [_task_row(state, texts) for state in rows],
        "task_counts": Counter(state.task.assessor for state in states),
        "finished_counts": finished,
        "queries": {query: text or query for query, text in texts.items()},
        "tools": sorted({state.task.tool for state in states}) or ["preference"],
        "priorities": list(PRIORITIES),
        "assessor": assessor,
        "page": number,
        "n_pages": n_pages,
    }


def _task_row(state: SessionState, texts: Mapping[str, str]) -> dict[str, Any]:
    names = {number: name for name, number in PRIORITIES.items()}
    return {
        "id": state.task.id,
        "text": texts.get(state.task.query) or state.task.query,
        "assessor": state.task.assessor,
        "tool": state.task.tool,
        "judged": state.judged,
        "finished": state.finished,
        "priority": names.get(state.priority, "normal"),
    }


def _place(text: str, last: int) -> int:
    """Return the place in an address if it is from 1 to the last one; otherwise 1."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 8
    return min(max(int(text), 1), max(last, 1)) if is_number else 1


def _disagreements(service: JudgingService, query: str, place: str) -> dict[str, Any]:
    """Return the number of disagreements of each query, and one disagreement side by side."""
    store = service.store
    by_query: dict[str, list[Disagreement]] = {}
    for disagreement in find_disagreements(store):
        by_query.setdefault(disagreement.query, []).append(disagreement)
    if query and query not in by_query:
        if query not in store.query_texts():
            raise Refusal(404, "not_found", "There is no such query.")
        by_query[query] = []
    texts = store.query_texts()
    chosen = query or _first_open(by_query)
    own = by_query.get(chosen, [])
    number = _place(place, len(own))
    current = own[number - 1] if own else None
    return {
        "queries": [_query_row(name, texts, group) for name, group in by_query.items()],
        "query": chosen,
        "text": texts.get(chosen) or chosen,
        "rows": [_disagreement_row(one) for one in own[:MAX_DISAGREEMENT_ROWS]],
        "n_rows": len(own),
        "place": number,
        "current": None if current is None else _side_by_side(service, current),
    }


def _first_open(by_query: Mapping[str, Sequence[Disagreement]]) -> str:
    """Return the first query with an open disagreement, or else the first query."""
    is_open = (q for q, group in by_query.items() if any(d.settlement is None for d in group))
    return next(is_open, next(iter(by_query), ""))


def _query_row(
    query: str, texts: Mapping[str, str], group: Sequence[Disagreement]
) -> dict[str, Any]:
    remaining = sum(disagreement.settlement is None for disagreement in group)
    return {"id": query, "text": texts.get(query) or query, "n": len(group), "open": remaining}


def _disagreement_row(disagreement: Disagreement) -> dict[str, Any]:
    """Return a disagreement for the list: the documents, who answered what, and the decision."""
    settlement = disagreement.settlement
    decision = None
    if settlement is not None:
        decision = {
            "text": _decision_text(disagreement),
            "admin": settlement.admin,
            "at": settlement.at,
            "note": settlement.note,
        }
    return {
        "documents": disagreement.documents,
        "answers": [
            asdict(answer)
            | {"text": _WORDS.get(answer.answer, answer.answer), "is_judged": answer.is_judged}
            for answer in disagreement.answers
        ],
        "grades": disagreement.grades,
        "decision": decision,
    }


def _decision_text(disagreement: Disagreement) -> str:
    """Return the decision in words, for the documents in the order of the page."""
    settlement = disagreement.settlement
    assert settlement is not None
    if settlement.grade is not None:
        return disagreement.grades[settlement.grade]
    judgment = settlement.judgment
    if settlement.documents != disagreement.documents:
        judgment = judgment.flipped()
    return _WORDS[judgment.answer]


def _side_by_side(service: JudgingService, disagreement: Disagreement) -> dict[str, Any]:
    views = [service.cached_document_view(disagreement.query, d) for d in disagreement.documents]
    description = service.query(disagreement.query).description
    return _disagreement_row(disagreement) | {"views": views, "description": description}


def _editor(store: Store) -> dict[str, Any]:
    """Return the latest guidelines, with a line for each grade that tasks have."""
    guidelines = store.guidelines()
    tasks = [state.task for state in store.session_states()]
    names = dict.fromkeys(
        name for task in tasks if isinstance(task, GradeTask) for name in task.grades
    )
    names = names or dict.fromkeys(FIVE_GRADES)
    names |= dict.fromkeys(guidelines.grades)
    return {
        "guidelines": guidelines_view(guidelines),
        "definitions": {name: guidelines.grades.get(name, "") for name in names},
    }
