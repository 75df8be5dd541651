"""Machine assessors for tests: a simulated model, a client of it, and a pool that it can judge."""

from contextlib import contextmanager

from podium.labelling import Pool, PoolDocument, PoolQuery
from podium.labelling.machines.answer_cache import AnswerCache
from podium.labelling.machines.assessment import MachineAssessor
from podium.labelling.machines.call_budget import CallBudget, CallCaps
from podium.labelling.machines.call_pace import CallPace
from podium.labelling.machines.chat_completions import CompletionSettings
from podium.labelling.machines.endpoint import ApiKey, Endpoint
from podium.labelling.machines.enlistment import TaskPlan, enlist, machine_record, plan_tasks
from podium.labelling.machines.machine_client import CallRules, MachineClient
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.session_judge import AssessmentSettings
from podium.labelling.machines.simulated_endpoint import SimulatedModel

KEY = "sk-secret-0123456789"
EVERY_FAULT = (
    "rate limited", "server error", "cut off", "no JSON", "not a completion", "wrong words",
    "wrong choice", "other model",
)  # fmt: skip
"""All faults of a simulated endpoint but slowness, which costs time."""


def number_in(query, text):
    """The quality of a document that says it: "worth 0.25"."""
    return float(text.split("worth ")[1].split()[0])


def judge_numbers(**options):
    return SimulatedModel(quality=number_in, name="small", **options)


def numbered_pool(n_queries=3, n_documents=7):
    """Document d3 is worth more than d2."""
    return Pool(
        tuple(
            PoolQuery(f"q{i}", f"query {i}", documents=numbered_documents(i, n_documents))
            for i in range(n_queries)
        )
    )


def numbered_documents(query, n):
    """Documents of a query, worth 0 to 1."""
    return tuple(PoolDocument(f"d{j}", f"document of {query}, worth {j / n:.3f}") for j in range(n))


@contextmanager
def client_of(url, folder, *, caps=None, rules=None, settings=None, campaign="m", key=KEY):
    """A client that never sleeps."""
    endpoint = Endpoint(url, "small", ApiKey(key))
    with AnswerCache(folder / "answers.db") as cache:
        budget = CallBudget(caps or CallCaps(), None, cache.spending(campaign))
        yield MachineClient(
            endpoint, cache, budget, pace=CallPace(sleep=lambda seconds: None),
            rules=rules or CallRules(), settings=settings, campaign=campaign,
        )  # fmt: skip


def assess(store, client, name="m", settings=None, plan=None, prompts=None):
    """Enlist the machine, and let it judge as far as it can."""
    settings, prompts = settings or AssessmentSettings(), prompts or QuestionPrompts()
    record = machine_record(client.endpoint, prompts, settings, CompletionSettings())
    tasks = plan_tasks(store, name, record, settings.tool, plan or TaskPlan(k=3))
    enlist(store, name, record, tasks)
    return MachineAssessor(store, client, prompts, settings).assess(name)
