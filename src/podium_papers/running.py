"""A paper's experiments on the data sets of a folder: found, read, run, and kept as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from podium.data import Path_
from podium.errors import DataError
from podium.experiments import DataFacts, MissingData, ProgressCallback, fingerprint
from podium_papers.data_sets import DATA_SETS, PaperSource, absent, find
from podium_papers.registry import PAPERS, Data, Paper
from podium_papers.rpc_mtl.data import ScoredTable
from podium_papers.topk.sources import TopkProblem


@dataclass(frozen=True)
class PaperRecord:
    """What a paper's experiments came to, and on what: the same seed, the same bytes.

    `own` names the data sets that the paper itself has; `found` is the paper's own result.
    """

    paper: str
    version: str
    quick: bool
    seed: int
    data: tuple[DataFacts, ...]
    own: tuple[str, ...]
    absent: tuple[MissingData, ...]
    found: Any

    def to_json(self) -> str:
        """For a file."""
        content = {
            name: getattr(self, name) for name in ("paper", "version", "quick", "seed", "own")
        }
        content["data"] = [asdict(one) for one in self.data]
        content["absent"] = [asdict(one) for one in self.absent]
        return json_lines({**content, "found": self.found.to_dict()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """What `to_json` gave."""
        content = json.loads(text)
        content["data"] = tuple(DataFacts(**one) for one in content["data"])
        content["absent"] = tuple(MissingData(**one) for one in content["absent"])
        content["own"] = tuple(content["own"])
        return cls(**{**content, "found": PAPERS[content["paper"]].read(content["found"])})


@dataclass(frozen=True)
class RunFacts:
    """When and how a record was made, and the times that the paper speaks of."""

    command: str
    date: str
    seconds: int
    times: Any = None
    note: str = ""


There = list[tuple[PaperSource, list[Path | None]]]
"""Sources that are there, with the paths that they are read from."""


def available(paper: Paper, folder: Path_) -> tuple[There, list[MissingData]]:
    """The sources of a paper that are in a folder, with their paths, and those that are not.

    None at all is an error that says what was looked for.
    """
    paths = find(folder)
    sources = list(paper.sources)
    if paper.any_folds is not None:
        sources += [paper.any_folds(name) for name in paths if name not in DATA_SETS]
    there = [
        (source, [paths.get(name) for name in (*source.needs, *source.also)])
        for source in sources
        if all(name in paths for name in source.needs)
    ]
    if paper.single:
        there = there[:1]
    missing = absent(sources, paths)
    if not there:
        wanted = "; or ".join(one.needs for one in missing)
        raise DataError(f"expected data for {paper.name} in {folder}, got none of: {wanted}")
    return there, missing


def read(sources: There) -> dict[str, Any]:
    """Name -> data of each source."""
    return {source.name: source.read(*paths) for source, paths in sources}


def run(
    paper: Paper,
    sources: There,
    data: Data,
    missing: list[MissingData],
    *,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
) -> PaperRecord:
    """The paper's experiments; pieces that are done are kept in a folder, to go on from."""
    # A quick run, or one of another seed, leaves the pieces of the others alone.
    own = None if keep is None else Path(keep) / f"{'quick' if quick else 'full'}-{seed}"
    with one_thread_each():
        outcome = paper.run(
            data, quick=quick, n_jobs=n_jobs, keep=own, callback=callback, seed=seed
        )
    facts = tuple(_facts(name, own) for name, own in data.items())
    papers_own = tuple(source.name for source, _ in sources if source.own)
    return PaperRecord(
        paper.name, version("podium-ltr"), quick, seed, facts, papers_own, tuple(missing), outcome
    )


def one_thread_each() -> AbstractContextManager[Any]:
    """Pieces side by side, each on one thread: more would wait, and BLAS would round by their number."""
    stack = ExitStack()
    stack.enter_context(threadpool_limits(1))
    stack.enter_context(parallel_config(backend="loky", inner_max_num_threads=1))
    return stack


def _facts(name: str, data: Any) -> DataFacts:
    if isinstance(data, ScoredTable):
        table_fingerprint = fingerprint([data.X.tolist(), data.score.tolist()])
        return DataFacts(name, 0, len(data.X), data.X.shape[1], table_fingerprint)
    return DataFacts.of(data.folds if isinstance(data, TopkProblem) else data, name)


def json_lines(value: Any) -> str:
    """JSON with a line for each list or object of plain values: short, and a change shows where it is.

    Examples
    --------
    >>> print(json_lines({"k": [[1, 2], [3, 4]]}), end="")
    {
     "k": [
      [1, 2],
      [3, 4]
     ]
    }
    """

    def nested(value: Any) -> bool:
        return isinstance(value, list | tuple | Mapping)

    def text(value: Any, indent: int) -> str:
        inner = "\n" + " " * (indent + 1)
        end = "\n" + " " * indent
        if isinstance(value, Mapping) and any(map(nested, value.values())):
            items = [f"{json.dumps(k)}: {text(v, indent + 1)}" for k, v in value.items()]
            return "{" + inner + f",{inner}".join(items) + end + "}"
        if isinstance(value, list | tuple) and any(map(nested, value)):
            return "[" + inner + f",{inner}".join(text(v, indent + 1) for v in value) + end + "]"
        return json.dumps(value, allow_nan=False)

    return text(value, 0) + "\n"
