"""``podium judge assess``: a machine judges as an assessor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium.apps.cli.inputs.judgment_store import choose_store, open_store, store_name
from podium.apps.cli.inputs.machine_client import (
    SIMULATED,
    check_consent,
    open_client,
    open_endpoint,
    read_completion_settings,
    read_prices,
    read_templates,
)
from podium.apps.cli.options.judge_assess import JudgeAssessOptions
from podium.apps.cli.outputs.machine_price import print_price
from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.apps.cli.outputs.progress import counting_bar
from podium.counted_nouns import count_text
from podium.errors import UsageError
from podium.labelling.machines.assessment import AssessmentSummary, MachineAssessor
from podium.labelling.machines.call_budget import TokenPrices
from podium.labelling.machines.campaign_price import price_campaign
from podium.labelling.machines.endpoint import Endpoint
from podium.labelling.machines.enlistment import TaskPlan, enlist, machine_record, plan_tasks
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.session_judge import AssessmentSettings
from podium.labelling.store import Store
from podium.labelling.store.database import parse_url
from podium.labelling.tasks import Task


def run_judge_assess(options: JudgeAssessOptions) -> None:
    """Let a machine judge as an assessor, within caps."""
    name = choose_store(options.store, options.store_)
    settings = AssessmentSettings(
        options.ask, options.both_orders, options.set_size, options.repeats, batch=options.batch,
        threads=options.threads,
    )  # fmt: skip
    if not options.dry_run:
        check_consent(options)
    cache, prices = _cache(options, name), read_prices(options)
    with open_endpoint(options) as endpoint, open_store(name) as store:
        assessor = options.name or endpoint.model
        prompts = QuestionPrompts(
            read_templates(options, settings.kind), store.guidelines(), options.document_chars
        )
        record, tasks = _plan(store, assessor, endpoint, prompts, settings, options)
        if options.dry_run:
            price = price_campaign(store, tasks, prompts, settings, options.answer_tokens, prices)
            print_price(price, options.json, {"store": store_name(name)}, "tasks")
            return
        enlist(store, assessor, record, tasks)
        with (
            open_client(options, endpoint, cache, assessor) as client,
            counting_bar(f"{assessor} judges") as progress,
        ):
            summary = MachineAssessor(store, client, prompts, settings).assess(assessor, progress)
    _print_summary(summary, prices, options.json, store_name(name), assessor)


def _cache(options: JudgeAssessOptions, store: str) -> Path:
    """Return the file of answers: beside the store by default."""
    if options.cache is not None:
        return options.cache
    url = parse_url(store)
    if url.get_backend_name() != "sqlite":
        raise UsageError("expected --cache FILE for the answers, because the store is on a server")
    return Path(f"{url.database}.answers")


def _plan(
    store: Store, assessor: str, endpoint: Endpoint, prompts: QuestionPrompts,
    settings: AssessmentSettings, options: JudgeAssessOptions,
) -> tuple[dict[str, Any], list[Task]]:  # fmt: skip
    """Return the record of the machine, and its tasks."""
    record = machine_record(endpoint, prompts, settings, read_completion_settings(options))
    if options.endpoint == SIMULATED:
        record |= {"endpoint": SIMULATED}
    plan = TaskPlan(
        options.query,
        options.top,
        options.prior,
        options.strategy,
        options.seed,
        options.confidence,
    )
    if settings.ask == "sets" and options.strategy != "bayesian":
        raise UsageError(
            f"expected --strategy bayesian for sets, because {options.strategy} asks for two documents "
            "at a time"
        )
    return record, plan_tasks(store, assessor, record, settings.tool, plan)


def _print_summary(
    summary: AssessmentSummary, prices: TokenPrices | None, json: bool, store: str, assessor: str
) -> None:
    cost = None if prices is None else prices.cost(summary.spent)
    facts: dict[str, Any] = {
        "assessor": assessor, "tasks": summary.tasks, "finished": summary.finished,
        "judgments": summary.judgments, "questions": summary.questions, "calls": summary.calls,
        "tokens_in": summary.spent.tokens_in, "tokens_out": summary.spent.tokens_out, "cost": cost,
        "stopped": summary.stopped,
    }  # fmt: skip
    if json:
        print_json({"store": store, **facts})
        return
    rows = [
        ["tasks finished", f"{summary.finished:,} of {summary.tasks:,}"],
        ["new judgments", f"{summary.judgments:,}"],
        *([f"questions: {n}", f"{v:,}"] for n, v in summary.questions.items()),
        *([f"all calls: {n}", f"{v:,}"] for n, v in summary.calls.items()),
        ["all tokens of prompts", f"{summary.spent.tokens_in:,}"],
        ["all tokens of answers", f"{summary.spent.tokens_out:,}"],
        *([] if cost is None else [["all cost", f"{cost:,.4f}"]]),
    ]
    print_table(f"{store}: {assessor}", ["what", "number"], rows)
    print_notes(_notes(summary))


def _notes(summary: AssessmentSummary) -> list[str]:
    notes = []
    if summary.stopped:
        notes.append(f"{summary.stopped}; a run with a higher cap goes on from here")
    if unanswered := summary.questions.get("unanswered", 0):
        notes.append(
            f"{count_text(unanswered, 'question')} got no answer that can be read: their tasks are not "
            "finished, and another run asks again"
        )
    if lost := summary.calls.get("lost", 0):
        notes.append(
            f"{count_text(lost, 'call')} of earlier runs were cut off by a kill, and are counted"
        )
    return notes
