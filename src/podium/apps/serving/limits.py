"""How much a request may bring, how long it may take, and who may ask."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from podium.apps.http.client_limits import retry_seconds, wrong_try_allowance
from podium.apps.serving.errors import Refusal
from podium.apps.serving.settings import ServingSettings
from podium.postranking.work_budget import bounded_time

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = dict[bytes, bytes]
Result = TypeVar("Result")

MAX_DEPTH = 32
"""Levels of lists and objects in a body."""
_BRACKETS = bytes.maketrans(b"[]{}", b"\x01\xff\x01\xff")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))

LINGER_SECONDS, LINGER_BYTES = 10.0, 1 << 28
"""How much of a body that is too large is read, and thrown away, for its sender to hear of it."""


class Gone(Exception):  # noqa: N818 - nobody is there any more
    """The sender went away before the request was complete."""


class Limits:
    """What a request must keep to."""

    def __init__(self, settings: ServingSettings) -> None:
        self._settings = settings
        token = settings.token
        self._token = None if token is None else _digest(token.encode())
        self._wrong_tokens = wrong_try_allowance(settings.access.wrong_tries)

    def check_token(self, headers: Headers, client: str) -> None:
        """401 without the token; how long that takes says nothing about it.

        The right token always lets in, and a wrong one answers 429 after too many: nobody is locked out by
        others behind the same address. A token has 16 characters or more, which nobody guesses.
        """
        if self._token is None:
            return
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        is_right = hmac.compare_digest(_digest(token.strip()), self._token)
        if is_right and scheme.lower() == b"bearer":
            return
        if token and (
            wait := self._wrong_tokens.take(client)
        ):  # a browser asks without a token first
            raise _too_many_wrong_tokens(wait)
        said = "expected the service's token in the header Authorization: Bearer TOKEN"
        raise Refusal(401, "bad_token", said)

    def check_headers(self, headers: Headers) -> None:
        """415 for what is not JSON, 413 for what says that it is too large."""
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            got = kind[:100].decode("latin-1") or "none"
            said = f"expected a body of type application/json (header Content-Type), got {got}"
            raise Refusal(415, "not_json", said)
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding != b"identity":
            got = encoding[:100].decode("latin-1") or "none"
            said = f"expected a body that is not compressed (header Content-Encoding), got {got}"
            raise Refusal(415, "encoded", said)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._settings.max_body:
            raise self._too_large()

    async def body(self, receive: Receive) -> bytes:
        """The body of a request, not too large and in time."""
        chunks, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while more:
                    message = _there(await receive())
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    more = message.get("more_body", False)
                    if size > self._settings.max_body:
                        raise self._too_large()
        except TimeoutError:
            raise self._too_slow() from None
        return b"".join(chunks)

    def _too_large(self) -> Refusal:
        most = self._settings.max_body
        return Refusal(413, "too_large", f"expected a body of at most {most:,} bytes")

    def _too_slow(self) -> Refusal:
        seconds = self._settings.body_seconds
        return Refusal(408, "too_slow", f"expected the whole request within {seconds:g} seconds")


def _too_many_wrong_tokens(wait: float) -> Refusal:
    seconds = retry_seconds(wait)
    message = f"expected fewer wrong tokens from this address; try again after {seconds} s"
    return Refusal(429, "too_many_wrong_tokens", message, retry_seconds=seconds)


def check_depth(body: bytes) -> None:
    """Raise 422 where lists and objects of a body are nested too deep."""
    # So few opening brackets cannot be too deep, also if some stand in texts. Else texts are left out:
    # closing brackets in a text would hide the depth of what follows.
    n_opening = body.count(b"[") + body.count(b"{")
    if n_opening > MAX_DEPTH and _depth(_without_texts(body)) > MAX_DEPTH:
        said = f"expected at most {MAX_DEPTH} levels of lists and objects in each other, got more"
        raise Refusal(422, "too_deep", said)


def _depth(body: bytes) -> int:
    """How deep brackets are nested."""
    steps = np.frombuffer(body.translate(_BRACKETS, _OTHERS), dtype=np.int8)
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _without_texts(body: bytes) -> bytes:
    """A body without what stands in quotes, in time that grows with its length alone."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    letters = np.frombuffer(plain, dtype=np.uint8)
    is_text = np.bitwise_xor.accumulate(letters == ord('"'))
    return letters[~is_text].tobytes()


def _there(message: Message) -> Message:
    if message["type"] == "http.disconnect":
        raise Gone
    return message


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


async def linger(receive: Receive) -> None:
    """Read on what nobody wants: a connection that is closed on its sender loses the answer."""
    size = 0
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while size < LINGER_BYTES:
                message = _there(await receive())
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except (TimeoutError, Gone):
        return


class Bench:
    """Threads for what takes longer, so many at a time, and no longer than it may.

    Long loops end at the deadline by themselves (`podium.postranking.work_budget`). What does not ask
    goes on in its thread, and keeps its place until it is done. Where all places are taken the service
    says that it is busy.
    """

    def __init__(self, seconds: float, threads: int = 4, waiting: int = 64) -> None:
        self._seconds, self._room = seconds, threads + waiting
        self._most = self._room
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="podium")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do it in a thread; 503 where there is no room, or no time left."""
        if self._room <= 0:
            raise Refusal(503, "busy", "the service is busy; try again")
        self._room -= 1
        loop = asyncio.get_running_loop()
        start = time.monotonic()

        def in_time() -> Result:
            if time.monotonic() > start + self._seconds:
                raise TimeoutError  # it has been answered: nobody waits for it
            with bounded_time(self._seconds, start):
                return work()

        done = loop.run_in_executor(self._pool, in_time)
        done.add_done_callback(self._free)
        await asyncio.wait((done,), timeout=self._seconds)
        if not done.done() or isinstance(done.exception(), TimeoutError):
            message = f"this request takes longer than the {self._seconds:g} seconds it may"
            raise Refusal(503, "too_slow", message)
        return done.result()

    def run_inline(self, work: Callable[[], Result]) -> Result:
        """Do what takes no time here, without a thread; it has the same deadline."""
        with bounded_time(self._seconds):
            return work()

    def _free(self, done: asyncio.Future[Any]) -> None:
        self._room += 1
        if not done.cancelled():
            done.exception()  # looked at, also where nobody waits for it any more

    @property
    def is_busy(self) -> bool:
        """Whether a thread is at work, or something waits for one."""
        return self._room < self._most

    def close(self) -> None:
        """Let threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
