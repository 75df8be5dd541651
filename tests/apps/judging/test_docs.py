"""docs/judging.md as a newcomer follows it: every command, in order, from an empty folder."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.paths import DOCS
from tools.examples import _run_console, _run_python, run_line
from tools.forks import ForkedCommand

PAGE = DOCS / "judging.md"
BLOCKS = re.compile(r"^```(python|console|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PODIUM_LINE = re.compile(r"^(podium .*)$", re.MULTILINE)
SERVES = ("podium judge serve", "podium judge demo")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def serve(line):
    """Start a server, wait until it says that it serves, and stop it as Ctrl-C does."""
    words = [*shlex.split(line, comments=True)[1:], "--port", "0"]
    errors = Path("stderr.txt")
    process = ForkedCommand(words, dict(os.environ), errors)
    try:
        said = []
        while "Ctrl-C stops" not in "".join(said[-1:]):
            said.append(process.stdout.readline())
            assert said[-1], (line, errors.read_text())
        process.terminate()
        process.wait(20)
    finally:
        process.kill()
        process.stdout.close()
    return said


def follow(script):
    """Run a block, its lines with podium one by one."""
    for part in filter(str.strip, PODIUM_LINE.split(script)):
        code, printed = run_line(part if part.startswith("podium ") else f"set -e\n{part}")
        assert code == 0, (part, printed)


def test_every_command_of_the_page_works(shell):
    session = {"__name__": "__main__"}
    served = 0
    for kind, block in BLOCKS.findall(PAGE.read_text()):
        if kind == "python":
            assert _run_python(block, session) == block
        elif kind == "console":
            assert _run_console(block) == block
        elif any(word in block for word in SERVES):
            for line in block.splitlines():
                if line.startswith(SERVES):
                    assert any("/enter/" in said for said in serve(line))
                    served += 1
                else:
                    follow(line)
        else:
            follow(block)
    assert served == 3
    for name in (
        "train.txt",
        "judged.podium",
        "top.csv",
        "truth.parquet",
        "preferences.csv.gz",
        "run.db",
    ):
        assert (shell / name).stat().st_size > 0


def test_readers_are_told_all_names_that_are_read():
    from podium.labelling import pool_records

    page = PAGE.read_text()
    names = [*pool_records.QUERY_ID, *pool_records.QUERY_TEXT, *pool_records.DESCRIPTION]
    names += [*pool_records.DOCUMENT_ID, *pool_records.TITLE, "score"]
    names += [name for of_kind in pool_records.CONTENTS.values() for name in of_kind]
    assert [name for name in names if f"`{name}`" not in page] == []
