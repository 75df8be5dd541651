"""Problems of data files, one line each on stderr."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import typer

from podium.apps.cli.inputs.input_files import InputFiles
from podium.data import Columns
from podium.data.csv_problems import find_csv_problems
from podium.data.tables import is_csv
from podium.errors import DataError, PodiumError


def fail_with_problems(error: DataError, paths: Sequence[Path], files: InputFiles) -> NoReturn:
    """Print the problems of files that could not be read, and exit with 1.

    `error` is the first problem. Of other files than CSV it is the only one that is known.
    """
    problems: list[str] = []
    columns = files.named_columns or Columns()
    for path in paths:
        if not is_csv(path):
            continue
        try:
            report = find_csv_problems(str(path), columns, missing=files.missing)
        except PodiumError as other:
            problems.append(other.on_command_line())
            continue
        columns = replace(columns, features=report.columns.features)
        problems += [problem.on_command_line() for problem in report.listed]
        if report.n_others:
            bound = "" if report.is_complete else "at least "
            problems.append(f"{path}: and {bound}{report.n_others:,} more")
    if not problems or error.path is None or not is_csv(error.path):
        raise error
    for problem in problems:
        typer.echo(f"podium: {' '.join(problem.split())}", err=True)
    raise typer.Exit(1)
