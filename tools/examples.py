"""The examples in the README and the docs, run as printed.

python -m tools.examples --write    puts the real outputs into the pages
python -m tools.examples --check    fails where a page prints something else

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
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def pages() -> Iterator[Path]:
    """Every page with examples; generated pages have theirs elsewhere."""
    yield ROOT / "README.md"
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path.name not in ("cli.md", "benchmarks.md", "results.md"):
            yield path


def rerun(text: str) -> str:
    """The page with the outputs its examples really have."""
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
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in block.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                ["sh", "-c", line[2:]], env=environment, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            printed = "".join(f"{text.rstrip()}\n" for text in done.stdout.splitlines())
            out.append(f"{line}\n{printed}")
    return "".join(out)


def main() -> None:
    """Write or check the outputs of every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    wanted = parser.parse_args()
    for page in pages():
        text = page.read_text()
        real = rerun(text)
        if real != text and wanted.write:
            page.write_text(real)
        elif real != text:
            sys.exit(
                f"{page.name}: an example prints something else; python -m tools.examples --write"
            )


if __name__ == "__main__":
    main()
