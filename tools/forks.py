"""Processes that are forks of one that has imported podium: its imports take longer than most commands.

A process has the environment and the folder in which the first one was started, unless it changes them.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace

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


class ForkedModule:
    """``python -m MODULE WORDS`` in a fork of this process, with what workers need of `subprocess.Popen`."""

    def __init__(
        self, arguments: list[str], *, pass_fds: Sequence[int], env: dict[str, str],
        preexec_fn: Callable[[], None], **_: object,
    ) -> None:  # fmt: skip
        stdin, self_stdin = os.pipe()
        self_stdout, stdout = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become_module(arguments[2:], (stdin, stdout), pass_fds, env, preexec_fn)
        os.close(stdin)
        os.close(stdout)
        self.stdin, self.stdout = os.fdopen(self_stdin, "wb"), os.fdopen(self_stdout, "rb")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while the module runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        """Wait for the end and return the exit code; TimeoutExpired if it does not come."""
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("podium", timeout)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if the module still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the module to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the module at once."""
        self.send_signal(signal.SIGKILL)


def fork_workers() -> None:
    """Let the service of this process start its workers as forks."""
    from podium.apps.serving import workers

    forking = SimpleNamespace(**{**vars(subprocess), "Popen": ForkedModule})
    vars(workers)["subprocess"] = forking


def _become_module(
    words: list[str], pipes: tuple[int, int], kept: Sequence[int], environment: dict[str, str],
    prepare: Callable[[], None],
) -> None:  # fmt: skip
    """Run a module in this process, which is a fork, and end it."""
    code = 1
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        prepare()
        for descriptor, pipe in enumerate(pipes):
            os.dup2(pipe, descriptor)
        # Another worker would not see the end of its input while this one has the other end.
        for descriptor in set(map(int, os.listdir("/dev/fd"))) - {0, 1, 2, *kept}:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        os.environ.clear()
        os.environ.update(environment)
        # Its figures are kept where the environment says when it is imported.
        for name in [name for name in sys.modules if name.startswith(_IMPORTED_BY_EACH_WORKER)]:
            del sys.modules[name]
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = _exit_code(end)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        _leave(code)


_IMPORTED_BY_EACH_WORKER = ("prometheus_client", "podium.apps.serving")


def _exit_code(end: SystemExit) -> int:
    """Return the code of an exit; a message goes to stderr, as Python writes it."""
    if isinstance(end.code, str):
        sys.stderr.write(end.code + "\n")
        return 1
    return end.code or 0


def _leave(code: int) -> None:
    """End a fork without the clean-up of the process that it was forked from."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run_command(
    words: list[str], folder: str, environment: dict[str, str], output: Connection, errors: str
) -> None:
    """Run podium in this process, which is a fresh one."""
    os.dup2(output.fileno(), 1)
    output.close()
    with open(errors, "ab") as file:
        os.dup2(file.fileno(), 2)
    if "--workers" in words:
        fork_workers()
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
