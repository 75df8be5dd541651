"""The rankings that ``podium aggregate`` reads: TREC runs, or files of places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from podium.aggregation import Rankings
from podium.apps.cli.inputs.argument_order import advice_on_order
from podium.apps.cli.inputs.input_files import InputFiles, reading_bar
from podium.apps.cli.options.tables import TableOptions
from podium.data import IndexedRun, RankingData, Run
from podium.data.indexed_runs import chunks_of_queries
from podium.data.parallel import read_ahead
from podium.typing import Floats

RUN_ADVICE = (
    "podium predict MODEL DATA -o name.run writes a run; --places takes a table whose features are "
    "places"
)


@dataclass(frozen=True)
class PooledRankings:
    """The rankings to aggregate, the names of the rankers, and the data that places came from."""

    rankings: Rankings
    names: list[str]
    data: RankingData | None = None
    start: Floats | None = None


def read_places(paths: Sequence[Path], options: TableOptions) -> PooledRankings:
    """Read files whose features are places; the options name the columns of tables."""
    data = InputFiles("nan", options).read(paths, labelled=False)
    return PooledRankings(Rankings.from_data(data), list(data.names()), data)


@dataclass(frozen=True)
class RunPool:
    """Runs in files whose lists are joined some queries at a time, in the order of first mention.

    Parameters
    ----------
    names
        The names of the runs.
    runs
        The runs, and before them the run to start from, if there is one.
    has_start
        Whether there is one.
    """

    names: list[str]
    runs: tuple[IndexedRun, ...]
    has_start: bool

    @cached_property
    def qids(self) -> list[str]:
        """The queries of all runs."""
        return list(dict.fromkeys(qid for run in self.runs for qid in run.qids))

    def chunks(self) -> Iterator[PooledRankings]:
        """Return the rankings of all queries in chunks of about as many documents, read ahead."""
        chunks = chunks_of_queries(self.qids, lambda qid: sum(r.size(qid) for r in self.runs))
        return read_ahead(map(self.read, chunks))

    def read(self, qids: Sequence[str]) -> PooledRankings:
        """Return the rankings of these queries."""
        read = [run.read(qids) for run in self.runs]
        if not self.has_start:
            return PooledRankings(Rankings.from_runs(read), self.names)
        first, *runs = read
        order = first.groups.order(first.values)  # ties keep the order of rows
        first = Run(first.qids, first.groups, first.docids.take(order), first.values[order])
        joined = Rankings.from_runs([first, *runs])
        assert joined.scores is not None
        start = -joined.filled[:, 0]
        rankings = replace(joined, places=joined.places[:, 1:], scores=joined.scores[:, 1:])
        return PooledRankings(rankings, self.names, start=np.ascontiguousarray(start))


def open_runs(paths: Sequence[Path], initial: Path | None) -> RunPool:
    """Index TREC runs, and the run to start from, with a progress bar."""
    every_path = [*([] if initial is None else [initial]), *paths]
    with reading_bar(every_path) as progress, advice_on_order(RUN_ADVICE):
        runs = tuple(IndexedRun(path, progress) for path in every_path)
    names = [path.name for path in paths]
    names = names if len(set(names)) == len(names) else [str(path) for path in paths]
    return RunPool(names, runs, initial is not None)
