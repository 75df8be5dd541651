"""One exchange with an endpoint: a JSON body is sent, a reply comes back. Redirects are never followed."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from podium.data.strict_json import read_json
from podium.errors import EndpointError
from podium.labelling.machines.endpoint import Endpoint

MAX_REPLY_BYTES = 4 << 20
"""The largest reply that is read."""

ExchangeProblem = Literal[
    "unreachable", "slow", "cut off", "too large", "rate limited", "server error", "malformed",
    "refused",
]  # fmt: skip
"""What can be wrong with one exchange. All but ``"refused"`` may be different next time."""


class FailedExchangeError(EndpointError):
    """An exchange without a usable reply.

    Parameters
    ----------
    problem
        What was wrong.
    message
        The same for people.
    wait
        How many seconds the endpoint asks to wait; None if it says nothing.
    """

    def __init__(self, problem: ExchangeProblem, message: str, wait: float | None = None) -> None:
        self.problem, self.wait = problem, wait
        super().__init__(message)


@dataclass(frozen=True)
class HttpReply:
    """The status, the headers (names in small letters) and the body of a reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def exchange(endpoint: Endpoint, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Send a body and return the JSON object of the reply.

    Raises
    ------
    FailedExchangeError
        The exchange failed, and another one may succeed; or this body is refused.
    EndpointError
        No exchange can succeed: the key is wrong, there is no such model, or it redirects.
    """
    reply = _post(endpoint, json.dumps(dict(body)).encode(), seconds)
    if reply.status != 200:
        raise _failure(endpoint, reply)
    try:
        value = read_json(reply.body.decode())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise FailedExchangeError("malformed", f"{endpoint.host} sent no JSON object")
    return value


def _post(endpoint: Endpoint, body: bytes, seconds: float) -> HttpReply:
    parts, end = urlsplit(endpoint.url), time.monotonic() + seconds
    connection = _connection(parts.scheme, parts.hostname or "", parts.port, seconds)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers |= {"Accept-Encoding": "identity", "User-Agent": "podium", "Connection": "close"}
    if endpoint.key is not None:
        headers["Authorization"] = endpoint.key.authorization
    try:
        with _time_limit(connection, end):
            connection.request("POST", target, body, headers)
            with connection.getresponse() as response:
                content = _read_body(response)
    except ssl.SSLCertVerificationError as error:
        reason = endpoint.scrub(str(error.verify_message))
        raise EndpointError(f"the certificate of {endpoint.host} is not valid: {reason}") from None
    except TimeoutError:
        raise FailedExchangeError(
            "slow", f"{endpoint.host} sent no reply within {seconds:g} seconds"
        ) from None
    except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
        raise FailedExchangeError("cut off", f"{endpoint.host} ended its reply early") from None
    except (OSError, UnicodeError) as error:  # UnicodeError: a host that no name server can have
        reason = endpoint.scrub(getattr(error, "strerror", None) or type(error).__name__)
        raise FailedExchangeError(
            "unreachable", f"{endpoint.host} cannot be reached: {reason}"
        ) from None
    finally:
        connection.close()
    names = {name.lower(): value for name, value in response.getheaders()}
    return HttpReply(response.status, names, content)


def _connection(
    scheme: str, host: str, port: int | None, seconds: float
) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=seconds)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)


@contextmanager
def _time_limit(connection: http.client.HTTPConnection, end: float) -> Iterator[None]:
    """Connect, and end the exchange at a time: a reply in small pieces has no more time than a whole one.

    The timeout of a socket is one of each piece, so a timer ends the connection.
    """
    connection.connect()
    timer = threading.Timer(max(0.0, end - time.monotonic()), _shut_down, [connection.sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    except (http.client.HTTPException, OSError):
        if time.monotonic() < end:
            raise
    finally:
        timer.cancel()
    if time.monotonic() >= end:
        raise TimeoutError


def _shut_down(connected: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        # Not the method of ssl sockets: it takes their state away from the thread that reads.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _read_body(response: http.client.HTTPResponse) -> bytes:
    """Return the body."""
    blocks, size = [], 0
    while block := response.read1(65536):
        blocks.append(block)
        size += len(block)
        if size > MAX_REPLY_BYTES:
            raise FailedExchangeError(
                "too large", f"a reply has more than {MAX_REPLY_BYTES:,} bytes"
            )
    if response.length:  # bytes that the header announced and nobody sent
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(blocks)


def _failure(endpoint: Endpoint, reply: HttpReply) -> EndpointError:
    """Return the error of a reply that is not 200."""
    status = reply.status
    reason = endpoint.scrub(_error_text(reply.body))[
        :200
    ]  # the cut must not leave a part of the key
    says = f"{endpoint.host} answers {status}" + (f": {reason}" if reason else "")
    if 300 <= status < 400:
        target = _host(endpoint.scrub(reply.headers.get("location", ""))) or "another address"
        return EndpointError(
            f"{endpoint.host} redirects to {target!r:.100}; podium follows no redirect, because it would "
            "carry texts and the key elsewhere; give the address itself if you trust it"
        )
    if status == 429:
        return FailedExchangeError("rate limited", says, wait_seconds(reply.headers))
    if status in (408, 409, 425) or status >= 500:
        return FailedExchangeError("server error", says, wait_seconds(reply.headers))
    if status in (400, 413, 422):
        return FailedExchangeError("refused", says)
    if status in (401, 403):
        return EndpointError(f"{says}; check the key in the environment")
    return EndpointError(f"{says}; check the address and the model {endpoint.model!r:.80}")


def _host(address: str) -> str | None:
    """Return the host of an address; None if it names none, or is malformed."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _error_text(body: bytes) -> str:
    """Return what the endpoint says about an error: one line of printable text."""
    try:
        value = read_json(body.decode())
        error = value.get("error", value)
        text = error.get("message", "") if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        return ""
    line = " ".join(str(text).split()) if isinstance(text, str) else ""
    return "".join(c for c in line if c.isprintable())


def wait_seconds(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that Retry-After asks to wait: a number, or a date.

    Examples
    --------
    >>> wait_seconds({"retry-after": "2.5"}), wait_seconds({"retry-after-ms": "300"}), wait_seconds({})
    (2.5, 0.3, None)
    >>> wait_seconds({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=50.0)
    10.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        date = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, date.timestamp() - (time.time() if now is None else now))
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
