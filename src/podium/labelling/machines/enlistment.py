"""Enlistment: a machine becomes an assessor of a store, with tasks and a record of its model and prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.errors import DataError, UsageError
from podium.labelling.events import data_text
from podium.labelling.machines.chat_completions import CompletionSettings
from podium.labelling.machines.endpoint import Endpoint
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.session_judge import AssessmentSettings
from podium.labelling.pools import Pool
from podium.labelling.tasks import FIVE_GRADES, GradeTask, PreferenceTask, Task, make_tasks

if TYPE_CHECKING:
    from podium.labelling.store import Store


@dataclass(frozen=True)
class TaskPlan:
    """The tasks of a machine; None takes the setting of the store's other tasks.

    Parameters
    ----------
    queries
        Ids; all queries of the store by default.
    k, prior, strategy, confidence
        As in `PreferenceTask`. The strategy is ``"bayesian"`` by default, because machines err.
    seed
        The seed of the order of documents.
    """

    queries: Sequence[str] | None = None
    k: int | None = None
    prior: bool = False
    strategy: str = "bayesian"
    seed: int = 0
    confidence: float | None = None


def machine_record(
    endpoint: Endpoint,
    prompts: QuestionPrompts,
    settings: AssessmentSettings,
    completion: CompletionSettings,
) -> dict[str, Any]:
    """Return what makes a machine assessor: another record is another assessor."""
    version = 0 if prompts.guidelines is None else prompts.guidelines.version
    return {
        "model": endpoint.model,
        "endpoint": endpoint.host,
        "prompt": prompts.template(settings.kind).label,
        "guidelines": version,
        "ask": settings.ask,
        "both_orders": settings.both_orders,
        "set_size": settings.set_size if settings.ask == "sets" else None,
        "document_characters": prompts.document_characters,
        "fields": dict(completion.fields),
    }


def plan_tasks(
    store: Store, name: str, record: dict[str, Any], tool: str, plan: TaskPlan
) -> list[Task]:
    """Return the tasks of a machine; the store is not changed.

    An assessor of this name must be the same machine with the same prompt: answers of two machines are
    not mixed under one name.
    """
    _check_name(store, name, record)
    pool = store.pool()
    queries = [query.id for query in pool] if plan.queries is None else list(plan.queries)
    _check_texts(pool, queries)
    states = [state.task for state in store.session_states()]
    preferences = [task for task in states if isinstance(task, PreferenceTask)]
    grades = next((task.grades for task in states if isinstance(task, GradeTask)), FIVE_GRADES)
    k = plan.k or max((task.k for task in preferences), default=10)
    return make_tasks(
        [(name, query, tool) for query in queries], pool, k=k, strategy=plan.strategy,
        prior=plan.prior, grades=grades, seed=plan.seed, confidence=plan.confidence,
    )  # fmt: skip


def enlist(store: Store, name: str, record: dict[str, Any], tasks: Sequence[Task]) -> int:
    """Add a machine and its planned tasks to a store; return the number of new tasks."""
    from podium.labelling.store import StoreMember

    if all(member.id != name for member in store.members()):
        store.add_members([StoreMember(name, machine=data_text(record))])
    return store.add_tasks(tasks)


def _check_name(store: Store, name: str, record: dict[str, Any]) -> None:
    """Raise if a name belongs to a person, or to another machine."""
    member = {m.id: m for m in store.members()}.get(name)
    if name == "admin" or (member is not None and not member.is_machine):
        raise UsageError(
            f"the member {name!r:.60} is a person; choose another name for the machine"
        ).advise(python="", command_line="use --name")
    if member is not None and member.machine != data_text(record):
        raise UsageError(
            f"the assessor {name!r:.60} is another machine: {_difference(member.machine, record)}; "
            "choose another name, and compare the two afterwards"
        ).advise(python="", command_line="use --name")


def _difference(stored: str, record: dict[str, Any]) -> str:
    """Return the first field that differs, for an error."""
    try:
        before = json.loads(stored)
    except ValueError:
        return "its record is damaged"
    for field, value in json.loads(data_text(record)).items():
        if before.get(field) != value:
            return f"{field} is {before.get(field)!r:.80}, not {value!r:.80}"
    return "its record has other fields"


def _check_texts(pool: Pool, queries: Sequence[str]) -> None:
    for query in queries:
        image = next((d for d in pool[query].documents if d.kind == "image"), None)
        if image is not None:
            raise DataError(
                f"document {image.id!r:.60} of query {query!r:.60} is an image, which machine "
                "assessors cannot see; leave the query out"
            )
