"""Examples of the README and the docs, run as printed.

python -m tools.examples --write    puts the real outputs into the pages
python -m tools.examples --check    fails where a page prints something else
python -m tools.examples --write --connectors    pages of connectors, in the environment of `make connectors`

A page's ```python blocks (with >>>) share one session, its ```console blocks (with $) one folder;
both start empty. ```sh blocks are for reading only.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.forks import FORKS, run_podium

ROOT = Path(__file__).resolve().parent.parent
CONNECTORS = ROOT / "docs" / "connectors"
"""Pages whose examples need the packages of `make connectors`."""
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

_PODIUM = re.compile(
    r"podium (?P<words>[^|<>;&$`*?#]*?)"
    r"(?P<files>(?: (?:2>&1|2?[<>] ?[^\s|<>;&$`*?#]+))*)"
    r"(?: \|(?P<rest>.*)|(?P<echo>; echo \"exit code \$\?\"))?"
)
"""A line that a fork can run: podium, files for its streams, and a pipe into programs or its exit code."""


def pages() -> Iterator[Path]:
    """Yield every page with examples; those of generated pages and of connectors are tested elsewhere."""
    yield ROOT / "README.md"
    for path in sorted((ROOT / "docs").rglob("*.md")):
        is_generated = path.name in ("cli.md", "benchmarks.md", "results.md")
        if not is_generated and path.parent.name != CONNECTORS.name:
            yield path


def rerun(text: str) -> str:
    """Return the page with the real outputs of its examples."""
    session: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return _BLOCK.sub(lambda m: f"```{m[1]}\n{_run(m[1], m[2], session)}```", text)
        finally:
            os.chdir(before)


def _run(kind: str, block: str, session: dict[str, Any]) -> str:
    return _run_python(block, session) if kind == "python" else _run_console(block)


def _run_python(block: str, session: dict[str, Any]) -> str:
    out = []
    for example in doctest.DocTestParser().get_examples(block):
        first, *rest = example.source.rstrip("\n").split("\n")
        out.append("\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in rest)]) + "\n")
        out.append(_execute(example.source, session))
    return "".join(out)


def _execute(source: str, session: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(source, "<example>", "single"), session)
        except Exception as error:
            last = traceback.format_exception_only(error)[-1]
            printed.write(f"Traceback (most recent call last):\n    ...\n{last}")
    return printed.getvalue()


def _run_console(block: str) -> str:
    out = []
    for line in block.splitlines():
        if line.startswith("$ "):
            _, printed = run_line(line[2:])
            out.append("\n".join([line, *map(str.rstrip, printed.splitlines())]) + "\n")
    return "".join(out)


def run_line(line: str) -> tuple[int | None, str]:
    """Run a line of the shell; return its exit code and what it printed."""
    # On one core joblib starts no processes, after which a fork would not clean up.
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "LOKY_MAX_CPU_COUNT": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if match := _PODIUM.fullmatch(line):
        return _fork_podium(match, environment)
    return _run_shell(line, environment)


def _run_shell(line: str, environment: dict[str, str], stdin: int | None = None) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", line], env=environment, check=False, stdin=stdin,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


def _fork_podium(line: re.Match[str], environment: dict[str, str]) -> tuple[int | None, str]:
    """Run podium in a fork, and the rest of a pipe on what it printed."""
    with (
        tempfile.NamedTemporaryFile("r", encoding="utf-8") as output,
        tempfile.NamedTemporaryFile("r", encoding="utf-8") as errors,
    ):
        shown = errors.name if line["rest"] else output.name
        streams = {"<": os.devnull, ">": output.name, "2>": shown}
        streams.update(re.findall(r"(2?[<>]) ?(\S+)", line["files"]))
        if streams["2>"] == "&1":
            streams["2>"] = streams[">"]
        arguments = (shlex.split(line["words"]), os.getcwd(), environment, streams)
        process = FORKS.Process(target=_podium, args=arguments)
        process.start()
        process.join()
        if line["echo"]:
            return 0, f"{output.read()}exit code {process.exitcode}\n"
        if line["rest"] is None:
            return process.exitcode, output.read()
        code, printed = _run_shell(line["rest"], environment, output.fileno())
        return code, errors.read() + printed


def _podium(
    words: list[str], folder: str, environment: dict[str, str], streams: dict[str, str]
) -> None:
    """Run podium in this process, which is a fresh one, with files as its streams."""
    os.chdir(folder)
    for sign in (">", "2>"):
        Path(streams[sign]).write_bytes(b"")
    for number, (sign, mode) in enumerate((("<", "rb"), (">", "ab"), ("2>", "ab"))):
        with open(streams[sign], mode) as file:
            os.dup2(file.fileno(), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    run_podium(words, folder, environment)


def main() -> None:
    """Write or check the outputs of every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--connectors", action="store_true")
    parser.add_argument("names", nargs="*", metavar="PAGE", help="such as tutorial.md; all if none")
    options = parser.parse_args()
    listed = sorted(CONNECTORS.glob("*.md")) if options.connectors else list(pages())
    if unknown := {*options.names} - {page.name for page in listed}:
        parser.error(f"expected names of pages with examples, got {', '.join(sorted(unknown))}")
    for page in listed:
        if options.names and page.name not in options.names:
            continue
        text, start = page.read_text(), time.perf_counter()
        print(f"examples of {page.name} ...", end=" ", flush=True)
        real = rerun(text)
        print(f"{time.perf_counter() - start:.0f} s")
        if real != text and options.write:
            page.write_text(real)
        elif real != text:
            sys.exit(
                f"{page.name}: an example prints something else; python -m tools.examples --write"
            )


if __name__ == "__main__":
    main()
