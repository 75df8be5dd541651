"""What ``podium reproduce`` runs: each paper's experiments, prepared on a folder of data sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from podium.experiments import ReproductionResult, RunProgress
from podium_papers import pages, running
from podium_papers.registry import PAPERS


class PaperReproduction:
    """A paper's experiments on the data sets of a folder; raises if the paper can use none of them."""

    def __init__(self, name: str, folder: Path, quick: bool, seed: int) -> None:
        self.paper = PAPERS[name]
        self.quick, self.seed = quick, seed
        self.sources, self.missing = running.available(self.paper, folder)
        self.data: dict[str, Any] = {}
        self.record: running.PaperRecord | None = None
        self.times: Any = None

    @property
    def title(self) -> str:
        """The title of the paper's page."""
        return self.paper.title

    @property
    def source_names(self) -> list[str]:
        """The data sets that are there."""
        return [source.name for source, _ in self.sources]

    @property
    def measures_times(self) -> bool:
        """Whether the paper speaks of time."""
        return self.paper.times is not None

    def read(self) -> None:
        """Read the data."""
        self.data = running.read(self.sources)

    def run(
        self, *, n_jobs: int, keep: Path | None, callback: Callable[[RunProgress], object] | None
    ) -> None:
        """Run the experiments; finished parts are kept in a folder, from which a later run goes on."""
        self.record = running.run(
            self.paper, self.sources, self.data, self.missing, quick=self.quick, seed=self.seed,
            n_jobs=n_jobs, keep=keep, callback=callback,
        )  # fmt: skip

    def measure_times(self) -> None:
        """Measure the times that the paper speaks of."""
        if self.paper.times is not None:
            self.times = self.paper.times(self.data, self.quick, self.seed)

    def write(
        self, folder: Path, *, command: str, date: str, seconds: int, note: str
    ) -> ReproductionResult:
        """Write the page, its figures and tables into a folder."""
        assert self.record is not None, "call run first"
        made = running.RunFacts(command, date, seconds, self.times, note)
        files = pages.write(self.record, made, folder)
        claims = self.paper.claims(self.record.found)
        return ReproductionResult(self.record.data, self.record.absent, claims, files)


# One entry point each, in pyproject.toml.
reproduce_toprank = partial(PaperReproduction, "toprank")
reproduce_topk = partial(PaperReproduction, "topk")
reproduce_cfbrs = partial(PaperReproduction, "cfbrs")
reproduce_rankopt = partial(PaperReproduction, "rankopt")
reproduce_rpc_mtl = partial(PaperReproduction, "rpc-mtl")
