"""The machine that a command line names: its endpoint, its cache of answers, and its caps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from podium.apps.cli.inputs.set_option import parse_settings
from podium.apps.cli.options.machines import MachineOptions
from podium.errors import UsageError
from podium.labelling.machines.answer_cache import AnswerCache
from podium.labelling.machines.call_budget import CallBudget, CallCaps, TokenPrices
from podium.labelling.machines.call_pace import CallPace
from podium.labelling.machines.chat_completions import CompletionSettings
from podium.labelling.machines.endpoint import Endpoint, read_key
from podium.labelling.machines.machine_client import CallRules, MachineClient
from podium.labelling.machines.prompt_templates import PromptTemplate, QuestionKind, read_template
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint, SimulatedModel

SIMULATED = "simulated"
"""The endpoint that needs no model."""

SIMULATED_NOISE = 0.1
"""The share of random answers of the simulated endpoint."""


def check_consent(options: MachineOptions) -> None:
    """Raise if texts would leave this machine without a consent."""
    if options.endpoint == SIMULATED:
        return
    endpoint = _named_endpoint(options)
    if not endpoint.is_loopback and not options.send_documents:
        raise UsageError(
            f"the texts of queries and documents would be sent to {endpoint.host}; expected "
            "--send-documents, which says that you may and want to send them"
        )


def read_prices(options: MachineOptions) -> TokenPrices | None:
    """Return the prices of tokens; both are needed, or none."""
    if (options.price_in is None) != (options.price_out is None):
        raise UsageError("expected --price-in and --price-out, or none of them")
    if options.price_in is None or options.price_out is None:
        return None
    return TokenPrices(options.price_in, options.price_out)


def read_completion_settings(options: MachineOptions) -> CompletionSettings:
    """Return how requests look."""
    return CompletionSettings(options.constrain, options.answer_tokens, parse_settings(options.set))


def read_templates(
    options: MachineOptions, kind: QuestionKind
) -> dict[QuestionKind, PromptTemplate]:
    """Return the template of --prompt, by its kind."""
    return {} if options.prompt is None else {kind: read_template(options.prompt, kind)}


@contextmanager
def open_endpoint(options: MachineOptions) -> Iterator[Endpoint]:
    """Give the endpoint; a simulated one serves until the block ends."""
    if options.endpoint != SIMULATED:
        yield _named_endpoint(options)
        return
    model = SimulatedModel(noise=SIMULATED_NOISE)
    with SimulatedEndpoint(model) as server:
        yield Endpoint(server.url, options.model or model.name)


def _named_endpoint(options: MachineOptions) -> Endpoint:
    if options.model is None:
        raise UsageError("expected --model with the name of the model to ask")
    return Endpoint(options.endpoint, options.model, read_key(options.key_variable))


@contextmanager
def open_client(
    options: MachineOptions, endpoint: Endpoint, cache: Path, campaign: str
) -> Iterator[MachineClient]:
    """Give a client whose caps count all earlier runs of a campaign."""
    with ExitStack() as stack:
        answers = stack.enter_context(AnswerCache(cache))
        caps = CallCaps(
            options.max_calls, options.max_tokens, options.max_cost, options.max_seconds
        )
        budget = CallBudget(caps, read_prices(options), answers.spending(campaign))
        yield MachineClient(
            endpoint, answers, budget, settings=read_completion_settings(options),
            pace=CallPace(options.per_minute),
            rules=CallRules(options.timeout, options.retries, options.asks), campaign=campaign,
        )  # fmt: skip
