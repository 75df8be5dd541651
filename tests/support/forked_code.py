"""``python -c CODE`` in a fork that has imported podium's libraries, as their import takes a second.

Podium itself, and what an import of podium may or must not bring, is imported anew.
"""

import atexit
import os
import signal
import subprocess
import sys

from tools.forks import FORKS

KEPT = "podium.kernels._native"  # a library of C++ can be loaded once
FORGOTTEN = frozenset(
    ["podium", "podium_papers", "lightgbm", "uvicorn", "prometheus_client", "fastapi", "sqlalchemy",
     "jinja2", "matplotlib", "pyarrow", "onnx"]
)  # fmt: skip


class ForkedCode:
    """A process with what the tests need of `subprocess.Popen`; its streams are pipes of text."""

    def __init__(self, code, *words, cwd=None, env=None):
        pipes = [FORKS.Pipe(duplex=False) for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        environment = dict(os.environ) if env is None else env
        arguments = (code, words, theirs, str(cwd or os.getcwd()), environment)
        self.process = FORKS.Process(target=_run, args=arguments, daemon=True)
        self.process.start()
        self.pid = self.process.pid
        self.stdin, self.stdout, self.stderr = (
            os.fdopen(os.dup(end.fileno()), mode, encoding="utf-8")
            for end, mode in zip(ours, "wrr", strict=True)
        )
        for end in (*theirs, *ours):
            end.close()

    @property
    def returncode(self):
        return self.process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def communicate(self, text="", timeout=60):
        """Write, read to the end and wait; what was printed and the errors."""
        self.stdin.write(text)
        self.stdin.close()
        printed = "" if self.stdout.closed else self.stdout.read()
        errors = self.stderr.read()
        self.stdout.close()
        self.stderr.close()
        self.process.join(timeout)
        assert self.returncode is not None, "the process does not end"
        return printed, errors


def run_code(code, text="", **options):
    """What `subprocess.run` gives, with both streams as text."""
    process = ForkedCode(code, **options)
    printed, errors = process.communicate(text)
    return subprocess.CompletedProcess(code, process.returncode, printed, errors)


def _run(code, words, pipes, folder, environment):
    """Be the process of some code."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - they stay open
        for number, mode in enumerate("rww")
    )
    for name in list(sys.modules):
        if name.partition(".")[0] in FORGOTTEN and name != KEPT:
            del sys.modules[name]
    # A shell starts background jobs deaf to SIGINT, and their children inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *words]
    try:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    finally:
        atexit._run_exitfuncs()  # a fork ends without them
