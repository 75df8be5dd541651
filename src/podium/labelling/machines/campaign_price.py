"""The price of a campaign before its first call: questions, tokens and money, as estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podium.labelling.machines.answer_schema import AnswerSchema
from podium.labelling.machines.call_budget import Spending, TokenPrices, estimate_tokens
from podium.labelling.machines.prompt_templates import Prompt
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.reranking import RerankSettings
from podium.labelling.machines.session_judge import AssessmentSettings
from podium.labelling.pools import Pool, PoolQuery
from podium.labelling.session import Session
from podium.labelling.tasks import GradeTask, Task

if TYPE_CHECKING:
    from podium.labelling.store import Store


@dataclass(frozen=True)
class CampaignPrice:
    """What open tasks or lists will probably take, without answers in the cache.

    Parameters
    ----------
    tasks
        Open tasks, or lists.
    spending
        Calls, tokens of prompts, and tokens of answers at their longest.
    cost
        The price of the tokens; None without prices.
    """

    tasks: int
    spending: Spending
    cost: float | None


def price_campaign(
    store: Store,
    tasks: Sequence[Task],
    prompts: QuestionPrompts,
    settings: AssessmentSettings,
    answer_tokens: int,
    prices: TokenPrices | None = None,
) -> CampaignPrice:
    """Estimate what tasks will still take; the store need not have them. Nothing is sent.

    The number of questions is what the strategy expects. Tokens are estimated from the texts, rather too
    high.
    """
    states = {state.task.id: state for state in store.session_states()}
    total, n_open = Spending(), 0
    for task in tasks:
        if task.id in states and states[task.id].finished:
            continue
        session = store.session(task.id) if task.id in states else Session(task)
        calls = _expected_calls(session, settings)
        tokens = _mean_tokens(store.query(task.query), session, prompts, settings)
        total += Spending(calls, calls * tokens, calls * answer_tokens)
        n_open += 1
    return CampaignPrice(n_open, total, None if prices is None else prices.cost(total))


def price_lists(
    pool: Pool,
    prompts: QuestionPrompts,
    settings: RerankSettings,
    answer_tokens: int,
    prices: TokenPrices | None = None,
) -> CampaignPrice:
    """Estimate what `MachineReranker` will take for the lists of a pool. Nothing is sent."""
    total, judging = Spending(), settings.judging
    for query in pool:
        session = Session(settings.task(query))
        calls = _expected_calls(session, judging)
        if settings.questions is not None:
            calls = min(calls, settings.questions)
        tokens = _mean_tokens(query, session, prompts, judging)
        total += Spending(calls, calls * tokens, calls * answer_tokens)
    return CampaignPrice(len(pool), total, None if prices is None else prices.cost(total))


def _expected_calls(session: Session, settings: AssessmentSettings) -> int:
    """Return how many calls a session will probably take."""
    left = session.progress.remaining * (1 + settings.repeats)
    if settings.ask == "sets":  # the best of c documents tells log c bits at most
        left = session.progress.remaining / math.log2(settings.set_size)
    trusts = session.run is not None and session.run.trusts_answers
    return math.ceil(left * (2 if settings.both_orders and trusts else 1))


def _mean_tokens(
    query: PoolQuery, session: Session, prompts: QuestionPrompts, settings: AssessmentSettings
) -> int:
    """Return the mean tokens of a prompt, from prompts that together have every document once or more."""
    documents = query.documents
    size = {"pairs": 2, "sets": settings.set_size, "grades": 1}[settings.ask]
    size = min(size, len(documents))
    filled: list[tuple[Prompt, AnswerSchema]] = []
    for start in range(0, len(documents), size):
        chosen = [documents[(start + i) % len(documents)] for i in range(size)]
        if isinstance(session.task, GradeTask):
            filled.append(prompts.grade(query, chosen[0], session.task.grades))
        elif settings.ask == "pairs" and size == 2:
            filled.append(prompts.pair(query, chosen[0], chosen[1]))
        elif size >= 2:
            filled.append(prompts.best(query, chosen))
    tokens = [estimate_tokens(p.system) + estimate_tokens(p.user) for p, _ in filled]
    return math.ceil(sum(tokens) / max(1, len(tokens)))
