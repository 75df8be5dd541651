"""Processes that are forks of one that has imported podium: its imports take longer than most commands.

A process has the environment and the folder in which the first one was started, unless it changes them.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

PRELOADED_COMMANDS = ("compare", "judge_import", "judge_serve", "predict", "serve", "train")
PRELOADED_LIBRARIES = ("distributed",)
"""What each worker of a local cluster imports."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [*(f"podium.apps.cli.commands.{name}" for name in PRELOADED_COMMANDS), *PRELOADED_LIBRARIES]
)


class ForkedCommand:
    """``podium WORDS`` in a fork, with those methods of `subprocess.Popen` that a server needs.

    Its errors go to a file: a pipe that nobody reads would stop it when it is full.
    """

    def __init__(
        self, words: list[str], environment: dict[str, str], errors: Path | None = None
    ) -> None:
        reader, writer = FORKS.Pipe(duplex=False)
        arguments = (words, os.getcwd(), environment, writer, str(errors or os.devnull))
        self._process = FORKS.Process(target=_run_command, args=arguments, daemon=True)
        self._process.start()
        writer.close()
        self.stdout = os.fdopen(os.dup(reader.fileno()), encoding="utf-8")
        reader.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while the command runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code; TimeoutExpired if it does not come."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("podium", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the command still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the command to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the command at once."""
        self.send_signal(signal.SIGKILL)


def _run_command(
    words: list[str], folder: str, environment: dict[str, str], output: Connection, errors: str
) -> None:
    """Run podium in this process, which is a fresh one."""
    os.dup2(output.fileno(), 1)
    output.close()
    with open(errors, "ab") as file:
        os.dup2(file.fileno(), 2)
    run_podium(words, folder, environment)


def run_podium(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run ``podium WORDS`` in this process, which is a fresh one, as its entry point does."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["podium", *words]
    from podium.apps.cli import app

    try:
        app(prog_name="podium")
    finally:
        atexit._run_exitfuncs()  # a fork ends without them
