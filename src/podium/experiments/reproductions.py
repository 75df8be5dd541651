"""Reproductions of papers, which installed packages register for ``podium reproduce``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from podium.experiments.checkpoints import RunProgress
from podium.experiments.comparison_result import DataFacts
from podium.plugins import Registry, check_function


@dataclass(frozen=True)
class MissingData:
    """A missing data set, and how to get it."""

    name: str
    needs: str


@dataclass(frozen=True)
class ReproductionResult:
    """The result of a paper's experiments: the data, the claims and the files."""

    data: Sequence[DataFacts]
    missing: Sequence[MissingData]
    claims: Sequence[bool]
    """Whether each claim of the paper holds, in each case."""
    files: Sequence[Path]


class PreparedReproduction(Protocol):
    """A paper's experiments on the data of a folder: call its methods in this order."""

    @property
    def title(self) -> str:
        """The title of the paper's page."""

    @property
    def source_names(self) -> Sequence[str]:
        """The available data sets."""

    def read(self) -> None:
        """Read the data."""

    def run(
        self, *, n_jobs: int, keep: Path | None, callback: Callable[[RunProgress], object] | None
    ) -> None:
        """Run the experiments; finished parts are kept in a folder, so that a killed run can continue."""

    @property
    def measures_times(self) -> bool:
        """Whether the paper reports times."""

    def measure_times(self) -> None:
        """Measure the times that the paper reports."""

    def write(
        self, folder: Path, *, command: str, date: str, seconds: int, note: str
    ) -> ReproductionResult:
        """Write the page, its figures and tables into a folder."""


Prepare = Callable[[Path, bool, int], PreparedReproduction]
"""A function: a folder of data sets, whether the run is quick, and a seed -> the prepared experiments."""

REPRODUCTIONS: Registry[Prepare] = Registry("podium.reproductions", {}, check_function)
"""The papers that installed packages reproduce, by name."""
