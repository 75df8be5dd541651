"""MachineClient: asks a machine, within caps and at the pace of the endpoint; asks nothing twice."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from podium.errors import EndpointError, UsageError
from podium.labelling.machines.answer_cache import (
    ANSWERED,
    AnswerCache,
    CachedAnswer,
    content_key,
)
from podium.labelling.machines.answer_schema import AnswerSchema, UnreadableAnswerError
from podium.labelling.machines.call_budget import CallBudget, Spending, estimate_tokens
from podium.labelling.machines.call_pace import CallPace, back_off
from podium.labelling.machines.chat_completions import (
    Completion,
    CompletionSettings,
    is_model,
    read_completion,
)
from podium.labelling.machines.endpoint import Endpoint
from podium.labelling.machines.http_exchange import FailedExchangeError, exchange
from podium.labelling.machines.prompt_templates import Prompt

LONGEST_REQUESTED_WAIT = 600.0
"""If an endpoint asks to wait longer, the run stops; another one may go on later."""

MAX_REFUSALS = 5
"""After so many refused questions without a single answer, the run stops."""

MAX_MODEL_NAME = 200
"""So many characters of the model's name are kept."""


@dataclass(frozen=True)
class MachineAnswer:
    """An answer.

    Parameters
    ----------
    value
        One of the values of the schema; None if the machine gave none that can be read.
    model
        The model, as the endpoint names it.
    key
        The key of the answer in the cache.
    """

    value: str | None
    model: str
    key: str


@dataclass(frozen=True)
class CallRules:
    """How calls are made.

    Parameters
    ----------
    seconds
        How long one call may take.
    retries
        How often a call is repeated that failed on its way.
    asks
        How often a question is asked whose answer cannot be read.
    """

    seconds: float = 60.0
    retries: int = 6
    asks: int = 3

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.retries < 0 or self.asks < 1:
            raise UsageError(
                "expected more than 0 seconds, 0 or more retries and 1 or more asks, got "
                f"{self.seconds}, {self.retries}, {self.asks}"
            )


class MachineClient:
    """Asks one model at one endpoint. Any number of threads may use it.

    Parameters
    ----------
    endpoint, settings
        Where to ask, and how requests look.
    cache
        Where answers are kept.
    budget, pace, rules
        Caps, calls per minute, and how often to try.
    campaign
        The name of the work in the log of calls.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        cache: AnswerCache,
        budget: CallBudget,
        *,
        settings: CompletionSettings | None = None,
        pace: CallPace | None = None,
        rules: CallRules | None = None,
        campaign: str = "",
    ) -> None:
        self.endpoint, self.cache, self.budget, self.campaign = endpoint, cache, budget, campaign
        self.settings = settings or CompletionSettings()
        self._pace, self._rules = pace or CallPace(), rules or CallRules()
        self._lock = threading.Lock()
        self._unanswered: set[str] = set()  # keys, which this run does not ask again
        self.counts: Counter[str] = Counter()
        """Questions of this run: ``"cached"``, ``"answered"``, ``"unanswered"``; failed calls by problem."""

    def ask(self, prompt: Prompt, schema: AnswerSchema, repetition: int = 0) -> MachineAnswer:
        """Return the answer to a question: from the cache, or from the endpoint.

        Raises
        ------
        BudgetSpentError
            The next call would exceed a cap.
        EndpointError
            The endpoint does not answer, or not as it should.
        """
        body = self.settings.body(self.endpoint.model, prompt, schema, repetition)
        key = content_key(body, repetition)
        cached = self.cache.answer(key)
        if cached is not None:
            self._count("cached")
            return MachineAnswer(schema.read(cached.text), cached.model, key)
        if key in self._unanswered:
            return MachineAnswer(None, "", key)
        tokens_in = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        estimate = Spending(1, tokens_in, self.settings.max_tokens)
        for _ in range(self._rules.asks):
            try:
                completion = self._call_until_reply(body, key, estimate, schema)
            except FailedExchangeError as error:
                if error.problem != "refused":
                    raise
                self._check_refusals(error)
                break
            if completion is not None:
                self._count("answered")
                return MachineAnswer(schema.read(completion.text), completion.model, key)
        self._count("unanswered")
        self._unanswered.add(key)
        return MachineAnswer(None, "", key)

    def _call_until_reply(
        self, body: Mapping[str, Any], key: str, estimate: Spending, schema: AnswerSchema
    ) -> Completion | None:
        """Call, again after failures on the way; return None for an answer that cannot be read."""
        for failures in range(1, self._rules.retries + 2):
            self.budget.reserve(estimate)
            number = 0
            try:
                self._pace.wait_for_turn()
                self.budget.check_time()  # again, because the wait takes time too
                number = self.cache.begin_call(key, self.campaign, estimate)
                return self._call(body, number, estimate, schema)
            except FailedExchangeError as error:
                if error.problem == "refused" or failures > self._rules.retries:
                    raise
                self._hold_back(error, failures, key)
            except BaseException:
                if number == 0:  # nothing was sent
                    self.budget.replace_estimate(estimate, Spending())
                raise
        raise AssertionError("a loop without an end")

    def _call(
        self, body: Mapping[str, Any], number: int, estimate: Spending, schema: AnswerSchema
    ) -> Completion | None:
        """Make one call, and log its outcome and its answer before anybody uses it."""
        start, outcome, spending, answer = time.monotonic(), "failed", Spending(1), None
        completion: Completion | None = None
        try:
            completion = read_completion(exchange(self.endpoint, body, self._rules.seconds))
            spending = _spending(completion, estimate)
            outcome = self._judge_reply(completion, schema)
            if outcome == ANSWERED:
                completion = replace(
                    completion, model=self.endpoint.scrub(completion.model)[:MAX_MODEL_NAME]
                )
                answer = CachedAnswer(completion.text, completion.model)
            else:
                completion = None
        except FailedExchangeError as error:
            outcome = error.problem
            if outcome not in ("unreachable", "rate limited", "refused"):
                spending = estimate  # something may have been computed
            raise
        finally:
            if outcome != ANSWERED:
                self._count(outcome)
            self.budget.replace_estimate(estimate, spending)
            self.cache.end_call(number, outcome, time.monotonic() - start, spending, answer)
        return completion

    def _judge_reply(self, completion: Completion, schema: AnswerSchema) -> str:
        """Return the outcome of a reply."""
        if not is_model(completion.model, self.endpoint.model):
            return "other model"
        try:
            schema.read(completion.text)
        except UnreadableAnswerError:
            return "unreadable"
        return ANSWERED

    def _hold_back(self, error: FailedExchangeError, failures: int, key: str) -> None:
        """Keep all threads from calling for as long as the endpoint says, or for longer and longer."""
        if error.wait is not None and error.wait > LONGEST_REQUESTED_WAIT:
            raise EndpointError(
                f"{error}; it asks to wait {error.wait:,.0f} seconds; run the command again then"
            ) from None
        jitter = int(key[failures % 32 : failures % 32 + 6], 16) / 16**6
        wait = back_off(failures, jitter)
        self._pace.hold(wait if error.wait is None else max(error.wait, 0.0))

    def _check_refusals(self, error: FailedExchangeError) -> None:
        """Raise if the endpoint refuses everything."""
        with self._lock:
            refused, answered = (
                self.counts["refused"],
                self.counts["answered"] + self.counts["cached"],
            )
        if refused >= MAX_REFUSALS and not answered:
            raise EndpointError(
                f"{error}; it refused the first {refused} questions; check the settings of the request"
            ) from None

    def _count(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1


def _spending(completion: Completion, estimate: Spending) -> Spending:
    """Return the tokens of a call as the endpoint counts them, or as estimated."""
    tokens_in, tokens_out = completion.tokens_in, completion.tokens_out
    return Spending(
        1,
        estimate.tokens_in if tokens_in is None else tokens_in,
        estimate_tokens(completion.text) if tokens_out is None else tokens_out,
    )
