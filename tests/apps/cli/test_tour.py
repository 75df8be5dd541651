"""The tour: every step explains a command, runs it and shows its output."""

import contextlib
import re
import shlex
from functools import cache
from types import SimpleNamespace

import pytest

from podium.apps.cli.commands import tour
from podium.apps.cli.commands.tour import STEPS, TourStep
from podium.data import read_letor, read_run
from podium.experiments.demo import RULES
from podium.postranking import read_rules
from tests.support.cli import answer, run
from tools.examples import run_line


@pytest.fixture(autouse=True, scope="module")
def _prepared_once():
    """The documents of the library are read and indexed once for each number of queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tour, "Demo", SimpleNamespace(prepare=cache(tour.Demo.prepare)))
        yield


def run_fork(arguments, folder):
    """A command of the tour in a fork; one test starts a new process, as the tour does."""
    with contextlib.chdir(folder):
        code, printed = run_line(f"podium {shlex.join(arguments)}")
    assert code == 0, printed
    return printed


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """The folder of a tour, and what it printed."""
    folder = tmp_path_factory.mktemp("tour") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tour, "run_podium", run_fork)
        return folder, run("tour", folder, "--queries", 60).stdout


def test_every_step_shows_its_command_and_output(walk):
    folder, printed = walk
    parts = re.split(r"^\d of \d: ", printed, flags=re.MULTILINE)[1:]
    assert [part.splitlines()[0] for part in parts] == [step.title for step in STEPS]
    for step, part in zip(STEPS, parts, strict=True):
        command, output = part.split("\n$ podium ")[1].split("\n", 1)
        assert command.split()[0] == step.arguments(folder)[0]
        assert output.strip()
    assert "Press Enter" not in printed  # stdin is no terminal


def test_the_files_of_the_tour_are_what_it_says(walk):
    folder, printed = walk
    data, test = read_letor(folder / "library.txt"), read_letor(folder / "parts/test.txt")
    assert (data.n_queries, test.n_queries) == (60, 60 * 0.2)
    assert set(read_run(folder / "listnet.run").qids) == set(map(str, test.qids))
    assert read_rules(folder / "rules.yaml") == RULES
    assert f"Files go to {folder}" in printed


def test_a_folder_with_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("keep me")
    printed = run("tour", tmp_path, "--yes", code=2).output
    assert "expected an empty or new folder" in printed
    assert "podium tour DIR" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_that_nobody_names_is_a_temporary_one(monkeypatch, tmp_path):
    monkeypatch.setattr(tour.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tour, "STEPS", STEPS[:1])
    run("tour", "--queries", 40)
    (folder,) = tmp_path.glob("podium-tour-*")
    assert (folder / "library.txt").exists()


@pytest.mark.parametrize(("options", "waits"), [([], 2), (["--yes"], 0)])
def test_a_terminal_waits_for_enter_before_each_command(monkeypatch, tmp_path, options, waits):
    monkeypatch.setattr(tour, "STEPS", STEPS[:2])
    monkeypatch.setattr(tour, "run_podium", run_fork)
    monkeypatch.setattr(tour, "is_terminal", lambda: True)
    monkeypatch.setattr(tour.typer, "prompt", lambda text, **_: print(text))
    printed = run("tour", tmp_path / "new", "--queries", 40, *options).stdout
    assert printed.count("Press Enter") == waits


def test_a_step_that_fails_ends_the_tour_with_its_error(monkeypatch, tmp_path):
    broken = TourStep("Broken", "It fails.", lambda folder: ["data", "info", "none.txt"])
    monkeypatch.setattr(tour, "STEPS", (broken, *STEPS))
    printed = run("tour", tmp_path / "new", "--queries", 40, code=1).output
    assert "none.txt" in printed
    assert STEPS[0].title not in printed


def test_json_has_every_step_with_its_command_and_output(monkeypatch, tmp_path):
    monkeypatch.setattr(tour, "STEPS", STEPS[:1])
    monkeypatch.setattr(tour, "run_podium", run_fork)
    told = answer("tour", tmp_path / "new", "--queries", 40)
    (step,) = told["steps"]
    assert told["folder"] == str(tmp_path / "new")
    assert (step["title"], step["command"]) == (STEPS[0].title, "podium data info library.txt")
    assert re.search(r"queries +│ 40", step["output"])
