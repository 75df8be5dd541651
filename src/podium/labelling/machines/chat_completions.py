"""Chat completions: the body of a request in the interface of OpenAI, and the strict reading of a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from podium.errors import UnknownNameError, UsageError
from podium.labelling.machines.answer_schema import AnswerSchema
from podium.labelling.machines.http_exchange import FailedExchangeError
from podium.labelling.machines.prompt_templates import Prompt

AnswerConstraint = Literal["schema", "json", "none"]
"""How the endpoint is asked to keep to the form: by a JSON Schema, as any JSON, or by words alone."""

_OWN_FIELDS = ("model", "messages", "stream", "n", "response_format", "tools", "functions")

_VERSION = re.compile("[-@:][0-9]{3,8}(-[0-9]{2}){0,2}")
"""A date or a number, as in -2026-01-31, @20241022, -0613 and -002; never a size, as in -8b."""


@dataclass(frozen=True)
class CompletionSettings:
    """What a request has beside the prompt.

    Parameters
    ----------
    constraint
        How the endpoint is asked to keep to the form of an answer. Answers are read in the same strict
        way, whatever it is.
    max_tokens
        The most tokens of an answer.
    fields
        More fields of the body, such as ``{"temperature": 0.2}``; None leaves a field out.
    """

    constraint: AnswerConstraint = "schema"
    max_tokens: int = 200
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.constraint not in get_args(AnswerConstraint):
            raise UnknownNameError("constraint", str(self.constraint), get_args(AnswerConstraint))
        if self.max_tokens < 1:
            raise UsageError(f"expected answers of at least 1 token, got {self.max_tokens}")
        if clash := [name for name in self.fields if name in _OWN_FIELDS]:
            raise UsageError(f"expected fields that podium does not set itself, got {clash[0]!r}")

    def body(
        self, model: str, prompt: Prompt, schema: AnswerSchema, repetition: int
    ) -> dict[str, Any]:
        """Return the body of a request; the number of the repetition is its seed."""
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        body: dict[str, Any] = {"model": model, "messages": messages, "temperature": 0}
        body |= {"max_tokens": self.max_tokens, "seed": repetition}
        if self.constraint == "schema":
            description = {"name": "judgment", "strict": True, "schema": schema.json_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": description}
        elif self.constraint == "json":
            body["response_format"] = {"type": "json_object"}
        return {n: v for n, v in (body | dict(self.fields)).items() if v is not None}


@dataclass(frozen=True)
class Completion:
    """A reply: the text, the model that wrote it, and the tokens if the endpoint counts them."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None


def read_completion(reply: Mapping[str, Any]) -> Completion:
    """Return the completion of a reply.

    Examples
    --------
    >>> message = {"role": "assistant", "content": "yes"}
    >>> read_completion({"model": "small", "choices": [{"message": message, "finish_reason": "stop"}]})
    Completion(text='yes', model='small', tokens_in=None, tokens_out=None)
    """
    try:
        (choice,) = reply["choices"]
        text, model = choice["message"]["content"], reply.get("model", "")
    except (KeyError, TypeError, ValueError):
        raise FailedExchangeError("malformed", "the reply is not one chat completion") from None
    if not isinstance(text, str) or not isinstance(model, str):
        raise FailedExchangeError("malformed", "the reply has no text") from None
    usage = reply.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    return Completion(
        text, model, _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 40 else None


def is_model(answered: str, requested: str) -> bool:
    """Return whether a reply is of the model that was asked: its name, or a dated version of it.

    Examples
    --------
    >>> is_model("gpt-x-2026-01-31", "gpt-x"), is_model("gpt-x-mini", "gpt-x"), is_model("", "gpt-x")
    (True, False, True)
    >>> is_model("llama-3-8b", "llama-3"), is_model("claude-3-5-sonnet", "claude-3")
    (False, False)
    """
    if not answered or answered == requested:
        return True
    ending = answered[len(requested) :]
    return answered.startswith(requested) and _VERSION.fullmatch(ending) is not None
