"""Bodies of requests: their type, their size, and the time they may take to arrive."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

from podium.apps.http.refusals import Refusal

JSON_TYPE = "application/json"

DISCARD_SECONDS, DISCARD_BYTES = 10.0, 1 << 28
"""How many bytes of a body that is too large are read and dropped, so that the client reads the answer."""


class ClientGone(Exception):  # noqa: N818 - an event, not an error
    """The client went away before its request was complete."""


def check_content_type(
    content_type: str, expected: str = JSON_TYPE, code: str = "not_json"
) -> None:
    """Raise 415 if the header Content-Type names another type than expected.

    Examples
    --------
    >>> check_content_type("Application/JSON; charset=utf-8")
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != expected:
        got = media_type[:100] or "none"
        message = f"expected a body of type {expected} (header Content-Type), got {got}"
        raise Refusal(415, code, message)


async def read_body(receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """Return the body of a request; 413 if it is too large, 408 if it takes too long.

    Raises ClientGone if its client goes away.
    """
    chunks, size, has_more = [], 0, True
    try:
        async with asyncio.timeout(seconds):
            while has_more:
                message = await _receive(receive)
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                has_more = message.get("more_body", False)
                if size > max_bytes:
                    raise body_too_large(max_bytes)
    except TimeoutError:
        message_text = f"expected the whole request within {seconds:g} seconds"
        raise Refusal(408, "too_slow", message_text) from None
    return b"".join(chunks)


def body_too_large(max_bytes: int) -> Refusal:
    """Return 413 for a body of too many bytes."""
    return Refusal(413, "too_large", f"expected a body of at most {max_bytes:,} bytes")


async def discard_body(receive: Receive) -> None:
    """Read the rest of a body and drop it.

    If the connection were closed while the client still sends, the client would lose the answer.
    """
    size = 0
    try:
        async with asyncio.timeout(DISCARD_SECONDS):
            while size < DISCARD_BYTES:
                message = await _receive(receive)
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except (TimeoutError, ClientGone):
        return


async def _receive(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message
