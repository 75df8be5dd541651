"""The ranking service as an ASGI app, without a framework, so that requests are fast."""

from __future__ import annotations

import asyncio
import difflib
import logging
import re
import time
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from podium import __version__
from podium.apps.http.access_gate import Gate, client_of
from podium.apps.http.openapi import openapi_page
from podium.apps.http.refusals import Refusal
from podium.apps.http.request_bodies import (
    ClientGone,
    body_too_large,
    check_content_type,
    discard_body,
    read_body,
)
from podium.apps.http.security_headers import encode_headers, security_headers
from podium.apps.serving.decoding import BodyDecoder
from podium.apps.serving.editing.editors_file import Editor
from podium.apps.serving.editing.recent_requests import RecentRequests
from podium.apps.serving.editing.sign_in import check_editing, find_editor
from podium.apps.serving.error_answers import error_body
from podium.apps.serving.event_log import EventLog
from podium.apps.serving.list_log import ListLog, list_log_path
from podium.apps.serving.openapi import openapi
from podium.apps.serving.operations import EditingContext, Operation, RequestContext
from podium.apps.serving.pages import Page, read_pages
from podium.apps.serving.prometheus_metrics import CONTENT_TYPE, ServingMetrics
from podium.apps.serving.quick_requests import INLINE_BODY_BYTES
from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.routes import OPERATIONS
from podium.apps.serving.service_token import TokenCheck
from podium.apps.serving.settings import ServingSettings
from podium.apps.serving.thread_limiter import ThreadLimiter
from podium.rule_history import RuleFolder

log = logging.getLogger("podium.serving")

PLAIN_PATH = re.compile(r"[A-Za-z0-9_/-]{1,100}")
JSON = b"application/json"
HTML = b"text/html; charset=utf-8"
DISK_THREADS = 32
"""Threads that wait for the disk: the number of requests that may share one sync of the event log."""
_DECODERS = {
    path: BodyDecoder(operation.body)
    for path, operation in OPERATIONS.items()
    if operation.body is not None
}
_encode = msgspec.json.Encoder().encode


class RankingService:
    """Answers requests with models, rules and documents, and reloads their files when they change.

    Parameters
    ----------
    settings
        See ServingSettings.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self.settings = settings
        self.files = ServedFiles(settings)
        self.metrics = ServingMetrics()
        self.metrics.set_degraded(bool(self.files.state.reasons))
        self.is_draining = False
        self._event_log = (
            None
            if settings.events is None
            else EventLog(settings.events, settings.max_log, settings.durability)
        )
        self._list_log = (
            ListLog(list_log_path(settings.events), settings.max_log)
            if settings.events is not None and (settings.experiment is not None or settings.swap)
            else None
        )
        self._gate = Gate(settings.access)
        self._token = TokenCheck(settings.token, settings.access.wrong_tries)
        self._threads = ThreadLimiter(settings.seconds)
        # These have their own threads, so that a slow disk does not delay rankings.
        self._disk_threads = ThreadLimiter(settings.seconds, DISK_THREADS)
        self._pages = read_pages()
        description = openapi(__version__)
        self._pages["/openapi.json"] = Page(JSON, _encode(description))
        self._pages["/static/api.html"] = Page(HTML, openapi_page(description).encode())
        self._recent = RecentRequests()
        self._rule_folder = (
            RuleFolder(settings.rules) if settings.editors and settings.rules else None
        )
        if self._rule_folder is not None:
            self._rule_folder.recover()
        self._watch: asyncio.Task[None] | None = None
        self._refreshing: set[asyncio.Task[None]] = set()

    # --- requests ---

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._handle_request(scope, receive, send)

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the answer or the refusal, count the request, and send it."""
        start, path = time.perf_counter(), scope["path"]
        status, content_type, refusal = 200, JSON, None
        try:
            content_type, body = await self._dispatch(scope, receive)
        except ClientGone:
            self.metrics.count_request(_counted_path(path), 499, time.perf_counter() - start)
            return
        except Refusal as error:
            refusal = error
        except Exception:
            log.exception("%s failed", path)
            message = "something went wrong on the server; its log has the details"
            refusal = Refusal(500, "failed", message)
        if refusal is not None:
            status, body = refusal.status, error_body(refusal)
        # Count first: the metrics then include every answer, even if the worker dies after it.
        self.metrics.count_request(_counted_path(path), status, time.perf_counter() - start)
        headers = [
            (b"content-type", content_type),
            (b"content-length", str(len(body)).encode()),
            *security_headers(scope),
        ]
        await self._send(receive, send, status, headers, body, refusal)

    async def _dispatch(self, scope: Scope, receive: Receive) -> tuple[bytes, bytes]:
        """Check the client; return the content type and the bytes of a page or of an operation's answer."""
        self._gate.check(scope)
        path, method = scope["path"], scope["method"]
        operation = OPERATIONS.get(path)
        if operation is None:
            return self._find_page(scope, path, method)
        headers = dict(scope["headers"])
        editors = self.files.state.editors
        editor = None if editors is None else find_editor(editors, scope, headers)
        if not operation.is_open and editor is None:
            self._token.check(headers, client_of(scope))
        _check_method(method, operation.method)
        if operation.for_editors and editors is not None:
            check_editing(editor, scope, headers, self._token)
        body = None
        if operation.body is not None:
            self._check_body_headers(headers)
            settings = self.settings
            body = await read_body(receive, settings.max_body, settings.body_seconds)
        return JSON, await self._run_operation(operation, body, editor)

    def _check_body_headers(self, headers: dict[bytes, bytes]) -> None:
        """Raise 415 if a body is not plain JSON, and 413 if its header says that it is too large."""
        check_content_type(headers.get(b"content-type", b"").decode("latin-1"))
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding != b"identity":
            got = encoding[:100].decode("latin-1") or "none"
            message = f"expected a body that is not compressed (header Content-Encoding), got {got}"
            raise Refusal(415, "encoded", message)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.settings.max_body:
            raise body_too_large(self.settings.max_body)

    def _context(self, editor: Editor | None) -> RequestContext:
        """Return the data that answers a request of this moment."""
        editing = None
        if self._rule_folder is not None:
            editing = EditingContext(self._rule_folder, self._recent, self.files.refresh, editor)
        return RequestContext(
            self.files.state, self.metrics, self._event_log, self._list_log, editing
        )

    async def _run_operation(
        self, operation: Operation, body: bytes | None, editor: Editor | None
    ) -> bytes:
        """Decode the body, run the operation and encode its answer; long work runs in a thread."""
        context = self._context(editor)
        threads = self._disk_threads if operation.waits_for_disk else self._threads

        def decode() -> Any:
            return None if body is None else _DECODERS[operation.path].decode(body)

        def run(request: Any) -> bytes:
            return _encode(operation.run(context, request))

        if body is not None and len(body) > INLINE_BODY_BYTES:
            return await threads.run(lambda: run(decode()))
        request = decode()
        if operation.is_quick(context, request):
            return threads.run_without_thread(lambda: run(request))
        return await threads.run(lambda: run(request))

    def _find_page(self, scope: Scope, path: str, method: str) -> tuple[bytes, bytes]:
        page = self._pages.get(path)
        if page is None and path != "/metrics":
            raise _unknown_path(path)
        _check_method(method, "GET")
        if page is not None:
            return page.content_type, page.data
        self._token.check(dict(scope["headers"]), client_of(scope))
        return CONTENT_TYPE.encode(), self.metrics.page()

    async def _send(
        self,
        receive: Receive,
        send: Send,
        status: int,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        refusal: Refusal | None,
    ) -> None:
        own = {} if refusal is None else dict(refusal.headers)
        is_unread = refusal is not None and refusal.code == "too_large"
        if is_unread or self.is_draining:
            own["Connection"] = "close"
        headers += encode_headers(own)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if is_unread:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await discard_body(receive)
            body = b""
        await send({"type": "http.response.body", "body": body})

    @property
    def is_busy(self) -> bool:
        """Whether a thread is still at work."""
        return self._threads.is_busy or self._disk_threads.is_busy

    def drain(self) -> None:
        """Close each connection with its next answer, because the service stops."""
        self.is_draining = True

    # --- files that change ---

    def start_refresh(self) -> None:
        """Start reading all files again, in the running event loop."""
        task = asyncio.ensure_future(self.refresh(always=True))
        self._refreshing.add(task)  # the event loop keeps only a weak reference
        task.add_done_callback(self._refreshing.discard)

    async def refresh(self, always: bool = False) -> None:
        """Read files that have changed, or all of them; requests go on meanwhile."""
        loop = asyncio.get_running_loop()
        reloads = await loop.run_in_executor(None, self.files.refresh, always)
        for source, is_valid in reloads.items():
            self.metrics.count_reload(source, is_valid)
            log.info("%s: %s", source, "taken" if is_valid else "refused")
        state = self.files.state
        if reloads:
            self.metrics.set_degraded(bool(state.reasons))
            for reason in state.reasons:
                log.warning("the last good version stays in service: %s", reason)
        if any(reloads.get(title) for title in ("rules", "docs", "samples")):
            for warning in state.warnings:
                log.warning("warning: %s", warning)

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(self.settings.reload_seconds)
            try:
                await self.refresh()
            except Exception:
                log.exception("checking the files for changes failed")

    async def _live(self, receive: Receive, send: Send) -> None:
        """Watch files from the start of the server to its end."""
        await receive()
        if self.settings.reload_seconds:
            self._watch = asyncio.create_task(self._watch_files())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._watch is not None:
            self._watch.cancel()
        self._threads.close()
        self._disk_threads.close()
        if self._event_log is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._event_log.close)
        if self._list_log is not None:
            self._list_log.close()
        await send({"type": "lifespan.shutdown.complete"})


def make_service(settings: ServingSettings) -> RankingService:
    """Return the ranking service, an ASGI app; raises if a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> path = f"{tempfile.mkdtemp()}/shop.podium"
    >>> RankSVM().fit(make_synthetic(n_queries=20, seed=0)).save(path)
    >>> make_service(ServingSettings((path,))).files.state.models.models[0].name
    'shop'
    """
    return RankingService(settings)


def _check_method(got: str, expected: str) -> None:
    if got != expected and not (got == "HEAD" and expected == "GET"):
        message = f"expected {expected} here, got {got:.20}"
        raise Refusal(405, "method_not_allowed", message, headers={"Allow": expected})


def _unknown_path(path: str) -> Refusal:
    """Return 404 with the path, and the operation that it resembles."""
    ending = path.rstrip("/") or "/"
    same_end = [operation for operation in OPERATIONS if operation.endswith(ending)]
    near = same_end or difflib.get_close_matches(path[:100], OPERATIONS, 1, 0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    # Only plain paths are repeated: others may be long, or try what an answer gives away.
    name = f"path {path}" if PLAIN_PATH.fullmatch(path) else "such path"
    message = f"there is no {name}; {hint}/openapi.json lists all paths"
    return Refusal(404, "not_found", message)


def _counted_path(path: str) -> str:
    """Return the path for the metrics; all unknown paths count as one."""
    return path if path in OPERATIONS or path in ("/", "/metrics", "/openapi.json") else "other"
