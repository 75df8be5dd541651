"""What the tests of commands share: run one, read its answer."""

import json
import os
from pathlib import Path

from typer.testing import CliRunner

from podium.apps.cli import app
from tools.forks import ForkedCommand

runner = CliRunner()


def run(*arguments, code=0, **options):
    arguments = [str(a) for a in arguments]
    result = runner.invoke(app, arguments, env={"COLUMNS": "200"}, **options)
    assert result.exit_code == code, result.output
    return result


def answer(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


def flat(text):
    return " ".join(text.replace("│", " ").split())


def errors_in_a_pipe(folder, *words):
    """Return what a command writes as errors in a process without a terminal."""
    errors = Path(folder, "errors.txt")
    command = ForkedCommand(list(words), dict(os.environ), errors)
    with command.stdout as out:
        out.read()
    assert command.wait() == 0
    return errors.read_text()
