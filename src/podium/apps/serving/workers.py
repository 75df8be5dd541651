"""Worker processes on one socket: started, restarted when they die, and stopped."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
from prometheus_client.multiprocess import mark_process_dead

from podium.apps.http.draining import stop_new_connections
from podium.apps.serving.prometheus_metrics import SHARED_FOLDER_VARIABLE
from podium.apps.serving.settings import ServingSettings
from podium.errors import UsageError

log = logging.getLogger("podium.serving")

Worker = subprocess.Popen[bytes]


def run_workers(
    settings: ServingSettings, n: int, sock: socket.socket, ready: Callable[[], object]
) -> None:
    """Serve with n processes until SIGTERM or SIGINT; SIGHUP reaches all of them."""
    if not hasattr(os, "fork"):
        raise UsageError(f"expected one worker on this system, got {n}")
    with tempfile.TemporaryDirectory(prefix="podium-serve-") as folder:
        copies = Path(folder) / "copies"
        copies.mkdir()
        Workers(replace(settings, copies_folder=str(copies)), sock, Path(folder)).run(n, ready)


class Workers:
    """Worker processes, and the folder of their figures."""

    def __init__(self, settings: ServingSettings, sock: socket.socket, folder: Path) -> None:
        self._settings, self._sock, self._folder = settings, sock, folder
        self._running: list[Worker] = []
        self._is_ending = False

    def run(self, n: int, ready: Callable[[], object]) -> None:
        """Start n workers and watch them until a signal."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._begin_end)
        signal.signal(signal.SIGHUP, self._pass_hangup)
        try:
            self._running = [self._start() for _ in range(n)]
            if all(map(_is_ready, self._running)):
                ready()
                self._watch()
            elif not self._is_ending:
                raise ChildProcessError(
                    "expected every worker to begin, got one that ended; its own message says why"
                )
        finally:
            self._stop()

    def _start(self) -> Worker:
        worker = subprocess.Popen(
            [sys.executable, "-m", "podium.apps.serving.worker", str(self._sock.fileno())],
            pass_fds=[self._sock.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, SHARED_FOLDER_VARIABLE: str(self._folder)},
            start_new_session=True,  # so that a terminal's signals reach workers only once, from here
            preexec_fn=_ignore_hangups,
        )
        assert worker.stdin is not None
        worker.stdin.write(msgspec.json.encode(self._settings) + b"\n")
        worker.stdin.flush()
        return worker

    def _watch(self) -> None:
        """Start a new worker for each one that dies."""
        while not self._is_ending:
            time.sleep(0.1)
            for at, worker in enumerate(self._running):
                if worker.poll() is not None and not self._is_ending:
                    log.warning(
                        "worker %d ended with %s; a new worker replaces it",
                        worker.pid,
                        worker.returncode,
                    )
                    mark_process_dead(worker.pid, str(self._folder))  # type: ignore[no-untyped-call]
                    time.sleep(0.5)  # so that a worker that always dies does not restart constantly
                    self._running[at] = self._start()

    def _begin_end(self, *_: object) -> None:
        self._is_ending = True

    def _pass_hangup(self, *_: object) -> None:
        for worker in self._running:
            if worker.poll() is None:
                worker.send_signal(signal.SIGHUP)

    def _stop(self) -> None:
        """Block new connections, then let all workers finish; the last one takes the waiting connections."""
        stop_new_connections(self._sock)
        self._sock.close()
        for worker in self._running:
            if worker.poll() is None:
                worker.terminate()
        end = time.monotonic() + self._settings.drain_seconds + self._settings.seconds + 5
        for worker in self._running:
            try:
                worker.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()


def _ignore_hangups() -> None:
    """Ignore SIGHUP, which would kill a worker before it installs its handler."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _is_ready(worker: Worker) -> bool:
    """Wait until a worker listens; return False if it ended instead."""
    assert worker.stdout is not None
    return worker.stdout.readline() == b"ready\n"
