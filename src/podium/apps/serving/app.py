"""The ranking service as an ASGI app: small enough to be one, and a request costs little."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import MutableMapping
from typing import Any

import msgspec

from podium import __version__
from podium.apps.http.gate import Gate, client_of
from podium.apps.http.json_keys import JsonDecoder, RepeatedKeyError
from podium.apps.serving.errors import Refusal, not_decoded, repeated_key
from podium.apps.serving.event_log import EventLog
from podium.apps.serving.headers import HEADERS
from podium.apps.serving.limits import Bench, Gone, Limits, Receive, Send, check_depth, linger
from podium.apps.serving.metrics import CONTENT_TYPE, ServingMetrics
from podium.apps.serving.openapi import openapi
from podium.apps.serving.operations import OPERATIONS, Context, Operation
from podium.apps.serving.pages import Page, read_pages
from podium.apps.serving.settings import ServingSettings
from podium.apps.serving.shelf import Shelf

log = logging.getLogger("podium.serving")

Scope = MutableMapping[str, Any]

JSON = b"application/json"
INLINE = 1 << 18
"""Bytes of a body that are decoded in no time."""
DISK_THREADS = 32
"""Threads that wait for the disk."""
_DECODERS = {
    path: JsonDecoder(operation.body)
    for path, operation in OPERATIONS.items()
    if operation.body is not None
}
_encode = msgspec.json.Encoder().encode


class RankingService:
    """Serves requests; what they are answered from is replaced when files change.

    Parameters
    ----------
    settings
        See ServingSettings.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self.settings = settings
        self.shelf = Shelf(settings)
        self.metrics = ServingMetrics()
        self.metrics.degraded(bool(self.shelf.state.reasons))
        self.is_draining = False
        self._log = (
            None
            if settings.events is None
            else EventLog(settings.events, settings.max_log, settings.durability)
        )
        self._gate = Gate(settings.access)
        self._limits = Limits(settings)
        self._bench = Bench(settings.seconds)
        # As many as may share one sync of the event log; a slow disk holds up no ranking.
        self._disk_bench = Bench(settings.seconds, threads=DISK_THREADS)
        self._pages = read_pages()
        self._pages["/openapi.json"] = Page(JSON, _encode(openapi(__version__)))
        self._watch: asyncio.Task[None] | None = None

    # --- requests ---

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or begin and end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        start, path = time.perf_counter(), scope["path"]
        status, kind = 200, JSON
        more: tuple[tuple[bytes, bytes], ...] = ()
        try:
            kind, body = await self._answer(scope, receive)
        except Gone:
            self.metrics.answered(_known(path), 499, time.perf_counter() - start)
            return
        except Refusal as refusal:
            status, body, more = refusal.status, refusal.body(), refusal.headers
        except Exception:
            log.exception("%s failed", path)
            failed = Refusal(
                500, "failed", "something went wrong on the server; its log has the details"
            )
            status, body = 500, failed.body()
        # Counted first: what a client has seen is in the figures, though its worker die with the last byte.
        self.metrics.answered(_known(path), status, time.perf_counter() - start)
        await self._send(send, status, kind, body, more, receive)

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[bytes, bytes]:
        """The kind and the bytes of the answer to a request."""
        self._check_gate(scope)
        path, method = scope["path"], scope["method"]
        operation = OPERATIONS.get(path)
        if operation is None:
            return self._page(scope, path, method)
        headers = dict(scope["headers"])
        if not operation.is_open:
            self._limits.check_token(headers, client_of(scope))
        _check_method(method, operation.method)
        if operation.body is None:
            return JSON, await self._run(operation, self._context(), None)
        self._limits.check_headers(headers)
        return JSON, await self._reply(operation, await self._limits.body(receive))

    def _check_gate(self, scope: Scope) -> None:
        denial = self._gate.check(scope)
        if denial is not None:
            raise Refusal(
                denial.status, denial.code, denial.message, retry_seconds=denial.retry_seconds
            )

    async def _reply(self, operation: Operation, body: bytes) -> bytes:
        """The answer to a body; a large one is also decoded in a thread."""
        context = self._context()
        if len(body) > INLINE:
            return await self._bench_of(operation).run(
                lambda: _encode(operation.run(context, _decode(operation, body)))
            )
        return await self._run(operation, context, _decode(operation, body))

    async def _run(self, operation: Operation, context: Context, request: Any) -> bytes:
        """The answer to a request; what may take longer is done in a thread."""
        bench = self._bench_of(operation)

        def work() -> bytes:
            return _encode(operation.run(context, request))

        return (
            bench.run_inline(work)
            if operation.is_quick(context, request)
            else await bench.run(work)
        )

    def _bench_of(self, operation: Operation) -> Bench:
        return self._disk_bench if operation.waits_for_disk else self._bench

    def _page(self, scope: Scope, path: str, method: str) -> tuple[bytes, bytes]:
        page = self._pages.get(path)
        if page is None and path != "/metrics":
            raise Refusal(
                404, "not_found", "expected a path that /openapi.json lists, got another one"
            )
        _check_method(method, "GET")
        if page is not None:
            return page.kind, page.data
        self._limits.check_token(dict(scope["headers"]), client_of(scope))
        return CONTENT_TYPE.encode(), self.metrics.page()

    def _context(self) -> Context:
        return Context(self.shelf.state, self.metrics, self._log)

    async def _send(
        self, send: Send, status: int, kind: bytes, body: bytes, more: Any, receive: Receive
    ) -> None:
        headers = [
            (b"content-type", kind), (b"content-length", str(len(body)).encode()), *HEADERS, *more,
        ]  # fmt: skip
        if self.is_draining and b"connection" not in dict(more):
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if status == 413 and (b"connection", b"close") in more:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await linger(receive)
            body = b""
        await send({"type": "http.response.body", "body": body})

    @property
    def is_busy(self) -> bool:
        """Whether a thread is still at work."""
        return self._bench.is_busy or self._disk_bench.is_busy

    # --- files that change ---

    async def refresh(self, always: bool = False) -> None:
        """Read files that have changed, or all of them; requests go on meanwhile."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, self.shelf.refresh, always)
        for source, taken in found.items():
            self.metrics.reloaded(source, taken)
            log.info("%s: %s", source, "taken" if taken else "refused")
        if found:
            reasons = self.shelf.state.reasons
            self.metrics.degraded(bool(reasons))
            for reason in reasons:
                log.warning("the last good one serves on: %s", reason)
        if found.get("rules") and self.shelf.state.warning:
            log.warning("%s", self.shelf.state.warning)

    async def _watching(self) -> None:
        while True:
            await asyncio.sleep(self.settings.reload_seconds)
            try:
                await self.refresh()
            except Exception:
                log.exception("files could not be looked at")

    async def _live(self, receive: Receive, send: Send) -> None:
        """Watch files from the beginning to the end."""
        await receive()
        if self.settings.reload_seconds:
            self._watch = asyncio.create_task(self._watching())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._watch is not None:
            self._watch.cancel()
        self._bench.close()
        self._disk_bench.close()
        if self._log is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._log.close)
        await send({"type": "lifespan.shutdown.complete"})


def make_service(settings: ServingSettings) -> RankingService:
    """The ranking service of some settings, an ASGI app; raises where a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> path = f"{tempfile.mkdtemp()}/shop.podium"
    >>> RankSVM().fit(make_synthetic(n_queries=20, seed=0)).save(path)
    >>> make_service(ServingSettings((path,))).shelf.state.models.listed[0].name
    'shop'
    """
    return RankingService(settings)


def _decode(operation: Operation, body: bytes) -> Any:
    check_depth(body)
    try:
        return _DECODERS[operation.path].decode(body)
    except RepeatedKeyError as error:
        raise repeated_key(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise not_decoded(error, body, operation.body) from None


def _check_method(got: str, expected: str) -> None:
    if got != expected and not (got == "HEAD" and expected == "GET"):
        said = f"expected {expected} here, got {got:.20}"
        raise Refusal(405, "method_not_allowed", said, allow=expected)


def _known(path: str) -> str:
    """A path as it is counted: strangers' paths are one."""
    return path if path in OPERATIONS or path in ("/", "/metrics", "/openapi.json") else "other"
