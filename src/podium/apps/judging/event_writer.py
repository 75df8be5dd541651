"""EventWriter: one thread that writes the events of waiting requests in one transaction."""

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

Result = TypeVar("Result")

MAX_REQUESTS_PER_TRANSACTION = 64
"""The largest number of requests whose events are written together."""


@dataclass(frozen=True)
class _Job:
    task_id: str
    ids: Sequence[str]
    work: Callable[[EventBatch], Any]
    until: float
    done: Future[Any] = field(default_factory=Future)


class EventWriter:
    """Writes the events of requests in order; a request is answered after its transaction.

    SQLite has one writer at a time anyway. Requests wait in a queue, not in threads that other requests
    need. The more requests wait, the more are written at once, so that the queue stays short.

    Parameters
    ----------
    store
        Where events are written.
    seconds
        How long a request waits for its turn. Then it is refused, and its page sends it again.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    async def run(
        self, task_id: str, ids: Sequence[str], work: Callable[[EventBatch], Result]
    ) -> Result:
        """Run `work` in a transaction, for the session of one task and events of these ids."""
        job = _Job(task_id, ids, work, time.monotonic() + self._seconds)
        self._start()
        self._queue.put(job)
        answer: Result = await asyncio.wrap_future(job.done)
        return answer

    def close(self) -> None:
        """Write what waits, then stop the thread."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._write_queue, name="judging-writer", daemon=True
                )
                self._thread.start()

    def _write_queue(self) -> None:
        while waiting := self._next_jobs():
            # A request that was cancelled, for example by a time limit, is left out. From here on a
            # request can no longer be cancelled.
            jobs = [job for job in waiting if job.done.set_running_or_notify_cancel()]
            now = time.monotonic()
            for job in jobs:
                if now > job.until:
                    job.done.set_exception(busy())
            self._write([job for job in jobs if now <= job.until])

    def _next_jobs(self) -> list[_Job]:
        """Wait for a job and return all that wait, up to a limit; an empty list means stop."""
        jobs: list[_Job] = []
        while len(jobs) < MAX_REQUESTS_PER_TRANSACTION:
            try:
                job = self._queue.get(block=not jobs)
            except Empty:
                break
            if job is None:
                if jobs:  # write these first, then stop
                    self._queue.put(None)
                break
            jobs.append(job)
        return jobs

    def _write(self, jobs: Sequence[_Job]) -> None:
        """Write jobs in one transaction; if it fails because of one of them, write each alone."""
        if not jobs:
            return
        answers: list[tuple[_Job, Any, Exception | None]] = []
        try:
            ids = [event_id for job in jobs for event_id in job.ids]
            with self._store.batch((job.task_id for job in jobs), ids) as batch:
                answers = [(job, *_run_job(job, batch)) for job in jobs]
        except Exception as error:
            if len(jobs) > 1 and not _is_database_failure(error):
                for job in jobs:
                    self._write([job])
            else:
                for job in jobs:
                    job.done.set_exception(error)
            return
        for job, answer, job_error in answers:
            if job_error is None:
                job.done.set_result(answer)
            else:
                job.done.set_exception(job_error)


def _run_job(job: _Job, batch: EventBatch) -> tuple[Any, Exception | None]:
    """Run one job; return its answer or its error, so that other jobs go on."""
    try:
        return job.work(batch), None
    except Exception as error:
        return None, error


def _is_database_failure(error: Exception) -> bool:
    """Return whether the database itself failed: it would fail again for each job alone."""
    cause = error.__cause__
    return isinstance(error, StoreError) and isinstance(cause, exc.OperationalError | OSError)
