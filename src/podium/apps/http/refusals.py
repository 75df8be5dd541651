"""Refusals: answers of both web apps that say why a request was refused."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from typing import Any

RETRY_SECONDS = 1
"""When a client may ask again after 429 or 503, unless the refusal names another time."""


class Refusal(Exception):  # noqa: N818 - an answer, not a mistake
    """An answer other than 200: a status, a code for programs, a sentence for people.

    Each app writes it in its own form.

    Parameters
    ----------
    status, code, message
        The status, the code and the message of the answer.
    headers
        Headers of this answer only.
    retry_seconds
        For the header Retry-After, with 429 and 503.
    details
        Further fields of the JSON.

    Examples
    --------
    >>> refusal = Refusal(429, "too_many_requests", "expected fewer requests", retry_seconds=3)
    >>> refusal.headers
    {'Retry-After': '3'}
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        retry_seconds: int = RETRY_SECONDS,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details = status, code, message, details
        self.headers = dict(headers or {})
        if status in (429, 503):
            self.headers["Retry-After"] = str(retry_seconds)
        if status == 408:  # the server would take the rest of this request as the next one
            self.headers["Connection"] = "close"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the fields, for answers of workers."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]
