"""The rankings that ``podium aggregate`` reads: TREC runs, or files of places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from podium.aggregation import Rankings
from podium.apps.cli.inputs.argument_order import advice_on_order
from podium.apps.cli.inputs.input_files import InputFiles, reading_bar
from podium.apps.cli.options.tables import TableOptions
from podium.data import RankingData, Run, read_run
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


def read_runs(paths: Sequence[Path], initial: Path | None) -> PooledRankings:
    """Read TREC runs, and the run to start from."""
    every_path = [*paths, *([] if initial is None else [initial])]
    with reading_bar(every_path) as progress, advice_on_order(RUN_ADVICE):
        read = [read_run(path, progress) for path in every_path]
    names = [path.name for path in paths]
    names = names if len(set(names)) == len(names) else [str(path) for path in paths]
    if initial is None:
        return PooledRankings(Rankings.from_runs(read), names)
    *runs, first = read
    order = first.groups.order(first.values)  # ties keep the order of rows
    first = Run(first.qids, first.groups, first.docids.take(order), first.values[order])
    joined = Rankings.from_runs([first, *runs])
    assert joined.scores is not None
    start = -joined.filled[:, 0]
    rankings = replace(joined, places=joined.places[:, 1:], scores=joined.scores[:, 1:])
    return PooledRankings(rankings, names, start=np.ascontiguousarray(start))
