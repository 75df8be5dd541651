"""Commands are imported when they are run, completed or asked for help, and not before."""

import inspect
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer.main

from podium.apps.cli import app
from podium.apps.cli.command_table import COMMANDS
from podium.apps.cli.lazy_group import CommandEntry, GroupEntry
from podium.apps.cli.options.postrank import USUAL_CLASSES
from podium.postranking.settings import DEFAULT_CLASSES
from tests.support.cli import flat, run

HEAVY = ("numpy", "scipy", "sklearn", "lightgbm", "matplotlib", "pandas", "fastapi", "sqlalchemy")


def entries(table=COMMANDS, path=()):
    for name, entry in table.items():
        if isinstance(entry, GroupEntry):
            yield from entries(entry.commands, (*path, name))
        else:
            yield (*path, name), entry


def imported_by(*arguments, **environment):
    """Run a command line; return its output, the modules of commands and the heavy modules it imported."""
    code = (
        "import json, sys\nfrom podium.apps.cli import main\n"
        f"sys.argv = ['podium', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print(json.dumps([sorted(m for m in sys.modules if m.startswith('podium.apps.cli.')"
        f" and m.count('.') > 3), [m for m in {HEAVY!r} if m in sys.modules]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    *lines, modules = done.stdout.splitlines()
    return "\n".join(lines), *json.loads(modules)


@pytest.mark.parametrize("arguments", [("--help",), ("judge", "--help"), ("data",), ()])
def test_a_list_of_commands_imports_no_command(arguments):
    out, commands, heavy = imported_by(*arguments)
    assert "Usage: podium" in out
    assert (commands, heavy) == ([], [])


@pytest.mark.parametrize(
    ("words", "names"),
    [("podium tr", ["train"]), ("podium judge s", ["simulate", "stats", "serve"])],
)
def test_completing_a_name_imports_no_command(words, names):
    completion = {"_PODIUM_COMPLETE": "complete_bash", "COMP_WORDS": words}
    count = {"COMP_CWORD": str(words.count(" "))}
    out, commands, heavy = imported_by(**completion, **count)
    assert out.split() == names
    assert (commands, heavy) == ([], [])


def test_completing_an_option_imports_the_options_of_its_command():
    completion = {"_PODIUM_COMPLETE": "complete_bash", "COMP_WORDS": "podium train --pl"}
    out, commands, heavy = imported_by(**completion, COMP_CWORD="2")
    assert out.split() == ["--plot"]
    assert "podium.apps.cli.options.train" in commands
    assert heavy == []


def test_the_help_of_a_command_imports_its_options_and_nothing_else():
    out, commands, heavy = imported_by("evaluate", "--help")
    assert "Example: podium evaluate" in out
    assert commands == ["podium.apps.cli.options.evaluate", "podium.apps.cli.options.tables"]
    assert heavy == []


def test_options_import_nothing_of_the_library():
    modules = sorted({f"podium.apps.cli.options.{entry.module}" for _, entry in entries()})
    code = (
        f"import sys, importlib\nfor m in {modules!r}: importlib.import_module(m)\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_options_repeat_the_usual_classes_of_rules():
    assert USUAL_CLASSES.split(",") == list(DEFAULT_CLASSES)


@pytest.mark.parametrize(("path", "entry"), list(entries()))
def test_the_table_agrees_with_the_command(path, entry):
    words = [word for part in path for word in part.split("-")]
    name = "".join(map(str.capitalize, words)) + "Options"
    options = getattr(import_module(f"podium.apps.cli.options.{entry.module}"), name)
    assert flat(inspect.cleandoc(options.__doc__).split("\n\n")[0]) == entry.help
    work = getattr(
        import_module(f"podium.apps.cli.commands.{entry.module}"), f"run_{'_'.join(words)}"
    )
    assert list(inspect.signature(work).parameters) == ["options"]


def test_a_wrong_name_is_refused_with_the_nearest_one():
    error = flat(run("trian", code=2).stderr)
    assert "No such command 'trian'" in error
    assert "Did you mean 'train'" in error
    assert "No such command 'nope'" in flat(run("judge", "nope", code=2).stderr)


def test_groups_and_commands_are_what_the_table_says():
    root = typer.main.get_command(app)
    assert list(root.commands) == list(COMMANDS)
    assert isinstance(COMMANDS["train"], CommandEntry)
    assert list(root.commands["judge"].commands) == list(COMMANDS["judge"].commands)


@pytest.mark.parametrize("folder", ["commands", "options"])
def test_a_folder_of_commands_has_no_other_modules(folder):
    package = import_module(f"podium.apps.cli.{folder}")
    modules = {path.stem for path in Path(package.__file__).parent.glob("*.py")} - {"__init__"}
    shared = (
        {"bagging", "click_learning", "machines", "preparation", "tables", "web_access", "judge"}
        if folder == "options"
        else set()
    )
    assert modules - shared == {entry.module for _, entry in entries()}
