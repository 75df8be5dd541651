"""Several processes on one socket: begun, told of signals, begun again when they die, and ended."""

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

from podium.apps.serving.draining import shut
from podium.apps.serving.metrics import SHARED
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
        kept = Path(folder) / "kept"
        kept.mkdir()
        Workers(replace(settings, kept=str(kept)), sock, Path(folder)).run(n, ready)


class Workers:
    """Processes that serve, and the folder of their figures."""

    def __init__(self, settings: ServingSettings, sock: socket.socket, folder: Path) -> None:
        self._settings, self._sock, self._folder = settings, sock, folder
        self._running: list[Worker] = []
        self._is_ending = False

    def run(self, n: int, ready: Callable[[], object]) -> None:
        """From the first worker to the last."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, self._tell)
        try:
            self._running = [self._start() for _ in range(n)]
            if all(map(_is_ready, self._running)):
                ready()
                self._watch()
            elif not self._is_ending:
                raise ChildProcessError(
                    "expected every worker to begin, got one that ended; it said why"
                )
        finally:
            self._stop()

    def _start(self) -> Worker:
        worker = subprocess.Popen(
            [sys.executable, "-m", "podium.apps.serving.worker", str(self._sock.fileno())],
            pass_fds=[self._sock.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, SHARED: str(self._folder)},
            start_new_session=True,  # a terminal's signals come from here, once
            preexec_fn=_ignore_hangups,
        )
        assert worker.stdin is not None
        worker.stdin.write(msgspec.json.encode(self._settings) + b"\n")
        worker.stdin.flush()
        return worker

    def _watch(self) -> None:
        """Begin anew what dies."""
        from prometheus_client.multiprocess import mark_process_dead

        while not self._is_ending:
            time.sleep(0.1)
            for at, worker in enumerate(self._running):
                if worker.poll() is not None and not self._is_ending:
                    log.warning(
                        "worker %d ended with %s, begun anew", worker.pid, worker.returncode
                    )
                    mark_process_dead(worker.pid, str(self._folder))  # type: ignore[no-untyped-call]
                    time.sleep(0.5)  # one that cannot live is not begun all the time
                    self._running[at] = self._start()

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _tell(self, *_: object) -> None:
        for worker in self._running:
            if worker.poll() is None:
                worker.send_signal(signal.SIGHUP)

    def _stop(self) -> None:
        """Let all end what they have begun; the socket first, so that the last of them takes the rest."""
        shut(self._sock)
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
    """Until it has files to read again, a worker would die of SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _is_ready(worker: Worker) -> bool:
    """Wait until a worker listens; False where it ended instead, having said why."""
    assert worker.stdout is not None
    return worker.stdout.readline() == b"ready\n"
