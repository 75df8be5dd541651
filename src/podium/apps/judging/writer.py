"""One thread that writes: what waits is kept together, in one transaction."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import exc

from podium.apps.judging.refusals import busy
from podium.errors import StoreError
from podium.labelling.store import EventBatch, Store

Answer = TypeVar("Answer")

MOST = 64
"""Requests in one transaction."""


@dataclass(frozen=True)
class _Job:
    session: str
    ids: Sequence[str]
    work: Callable[[EventBatch], Any]
    until: float
    done: Future[Any] = field(default_factory=Future)


class Writer:
    """Runs what is to be written, in order; a request is answered once its transaction is done.

    SQLite has one writer at a time anyway. Requests wait in a queue, not in threads that others may need,
    and the more of them wait the more are kept at once, so that a crowd is served as fast as it comes.

    Parameters
    ----------
    store
        Where to.
    seconds
        How long a request waits for its turn; then it is refused, and its page sends it again.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    async def run(
        self, session: str, ids: Sequence[str], work: Callable[[EventBatch], Answer]
    ) -> Answer:
        """Run `work` in a transaction for one session and events of these ids."""
        job = _Job(session, ids, work, time.monotonic() + self._seconds)
        self._start()
        self._queue.put(job)
        answer: Answer = await asyncio.wrap_future(job.done)
        return answer

    def close(self) -> None:
        """Finish what waits."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._serve, name="judging-writer", daemon=True
                )
                self._thread.start()

    def _serve(self) -> None:
        while waiting := self._waiting():
            # Whoever went away, as a server's time limit makes it, is not served; from here on nobody can.
            jobs = [job for job in waiting if job.done.set_running_or_notify_cancel()]
            now = time.monotonic()
            for job in jobs:
                if now > job.until:
                    job.done.set_exception(busy())
            self._keep([job for job in jobs if now <= job.until])

    def _waiting(self) -> list[_Job]:
        """All that waits, up to a limit, one at least; nothing at the end."""
        jobs: list[_Job] = []
        while len(jobs) < MOST:
            try:
                job = self._queue.get(block=not jobs)
            except Empty:
                break
            if job is None:
                if jobs:  # they come first
                    self._queue.put(None)
                break
            jobs.append(job)
        return jobs

    def _keep(self, jobs: Sequence[_Job]) -> None:
        """Keep what some jobs write at once, or one by one where that could not be."""
        if not jobs:
            return
        answers: list[tuple[_Job, Any, Exception | None]] = []
        try:
            ids = [name for job in jobs for name in job.ids]
            with self._store.batch((job.session for job in jobs), ids) as batch:
                answers = [(job, *_answer(job, batch)) for job in jobs]
        except Exception as error:
            if len(jobs) > 1 and not _is_of_all(error):
                for job in jobs:
                    self._keep([job])
            else:
                for job in jobs:
                    job.done.set_exception(error)
            return
        for job, answer, refused in answers:
            if refused is None:
                job.done.set_result(answer)
            else:
                job.done.set_exception(refused)


def _answer(job: _Job, batch: EventBatch) -> tuple[Any, Exception | None]:
    """What a job says, or what is wrong with it, which is no concern of others."""
    try:
        return job.work(batch), None
    except Exception as error:
        return None, error


def _is_of_all(error: Exception) -> bool:
    """Whether the database itself failed, and would fail again for each alone."""
    cause = error.__cause__
    return isinstance(error, StoreError) and isinstance(cause, exc.OperationalError | OSError)
