"""Reproductions that ``podium reproduce`` runs: a paper's experiments on a folder of data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from podium.data import Path_
from podium.errors import DataError
from podium.experiments import (
    DataFacts,
    MissingData,
    ProgressCallback,
    ReproductionResult,
    RunProgress,
    fingerprint,
)
from podium_papers import pages
from podium_papers.data_sets import DATA_SETS, PaperSource, find_data_sets, missing_data
from podium_papers.records import PaperRecord, RunFacts
from podium_papers.registry import PAPERS, Data, Paper
from podium_papers.rpc_mtl.scored_tables import ScoredTable
from podium_papers.topk.data_sets import TopkProblem

AvailableSources = list[tuple[PaperSource, list[Path | None]]]
"""Sources that are there, with the paths to read them from."""


def find_sources(paper: Paper, folder: Path_) -> tuple[AvailableSources, list[MissingData]]:
    """Return the sources of a paper that are in a folder, with their paths, and the missing data.

    Raises an error that names the expected data if there is none.
    """
    paths = find_data_sets(folder)
    sources = list(paper.sources)
    if paper.any_folds is not None:
        sources += [paper.any_folds(name) for name in paths if name not in DATA_SETS]
    there = [
        (source, [paths.get(name) for name in (*source.needs, *source.optional_data)])
        for source in sources
        if all(name in paths for name in source.needs)
    ]
    if paper.single:
        there = there[:1]
    missing = missing_data(sources, paths)
    if not there:
        raise _no_data(paper, folder, sources)
    return there, missing


def _no_data(paper: Paper, folder: Path_, sources: Sequence[PaperSource]) -> DataError:
    """Return the error for a folder without data that a paper can use; each layout stands once."""
    names: dict[str, list[str]] = {}
    for source in sources:
        layout = DATA_SETS[source.needs[0]].layout
        names.setdefault(layout, []).append(" and ".join(source.needs))
    listed = "; or ".join(f"{' or '.join(sets)} {layout}" for layout, sets in names.items())
    return DataError(
        f"expected data for {paper.name} in {folder}, got none; put one of these there (docs/reproduce.md "
        f"says how): {listed}"
    )


def read_sources(sources: AvailableSources) -> dict[str, Any]:
    """Return the name and the data of each source."""
    return {source.name: source.read(*paths) for source, paths in sources}


def run_paper(
    paper: Paper,
    sources: AvailableSources,
    data: Data,
    missing: list[MissingData],
    *,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
) -> PaperRecord:
    """Run a paper's experiments. Finished pieces stay in the folder `keep`, where a later run finds them."""
    # Runs that are quick or have another seed keep their pieces apart.
    folder = None if keep is None else Path(keep) / f"{'quick' if quick else 'full'}-{seed}"
    with single_threaded_workers():
        result = paper.run(
            data, quick=quick, n_jobs=n_jobs, keep=folder, callback=callback, seed=seed
        )
    facts = tuple(_data_facts(name, source) for name, source in data.items())
    papers_own = tuple(source.name for source, _ in sources if source.is_papers_own)
    return PaperRecord(
        paper.name, version("podium-ltr"), quick, seed, facts, papers_own, tuple(missing), result
    )


def single_threaded_workers() -> AbstractContextManager[Any]:
    """Give each worker process one thread.

    More threads would wait for each other, and BLAS rounds differently with another number of threads.
    """
    stack = ExitStack()
    stack.enter_context(threadpool_limits(1))
    stack.enter_context(parallel_config(backend="loky", inner_max_num_threads=1))
    return stack


def _data_facts(name: str, data: Any) -> DataFacts:
    if isinstance(data, ScoredTable):
        table_fingerprint = fingerprint([data.X.tolist(), data.score.tolist()])
        return DataFacts(name, 0, len(data.X), data.X.shape[1], table_fingerprint)
    return DataFacts.of(data.folds if isinstance(data, TopkProblem) else data, name)


class PaperReproduction:
    """Experiments of a paper on the data sets of a folder; raises if the paper can use none of them."""

    def __init__(self, name: str, folder: Path, quick: bool, seed: int) -> None:
        self.paper = PAPERS[name]
        self.quick, self.seed = quick, seed
        self.sources, self.missing = find_sources(self.paper, folder)
        self.data: dict[str, Any] = {}
        self.record: PaperRecord | None = None
        self.times: Any = None

    @property
    def title(self) -> str:
        """Title of the paper's page."""
        return self.paper.title

    @property
    def source_names(self) -> list[str]:
        """Names of the data sets that are there."""
        return [source.name for source, _ in self.sources]

    @property
    def measures_times(self) -> bool:
        """Whether the paper reports times."""
        return self.paper.times is not None

    def read(self) -> None:
        """Read the data."""
        self.data = read_sources(self.sources)

    def run(
        self, *, n_jobs: int, keep: Path | None, callback: Callable[[RunProgress], object] | None
    ) -> None:
        """Run the experiments. Finished pieces stay in the folder `keep`, where a later run finds them."""
        self.record = run_paper(
            self.paper, self.sources, self.data, self.missing, quick=self.quick, seed=self.seed,
            n_jobs=n_jobs, keep=keep, callback=callback,
        )  # fmt: skip

    def measure_times(self) -> None:
        """Measure the times that the paper reports."""
        if self.paper.times is not None:
            self.times = self.paper.times(self.data, self.quick, self.seed)

    def write(
        self, folder: Path, *, command: str, date: str, seconds: int, note: str
    ) -> ReproductionResult:
        """Write the page, its figures and tables into a folder."""
        assert self.record is not None, "call run first"
        facts = RunFacts(command, date, seconds, self.times, note)
        files = pages.write(self.record, facts, folder)
        claims = self.paper.claims(self.record.found)
        return ReproductionResult(self.record.data, self.record.absent, claims, files)


# pyproject.toml has an entry point for each.
reproduce_toprank = partial(PaperReproduction, "toprank")
reproduce_topk = partial(PaperReproduction, "topk")
reproduce_cfbrs = partial(PaperReproduction, "cfbrs")
reproduce_rankopt = partial(PaperReproduction, "rankopt")
reproduce_rpc_mtl = partial(PaperReproduction, "rpc-mtl")
