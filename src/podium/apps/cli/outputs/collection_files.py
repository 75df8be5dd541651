"""Files made from a collection block by block, in little memory: converted, sampled, split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.options.data import DataSampleOptions, DataSplitOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.apps.cli.outputs.ranking_data_files import (
    check_ranking_data_targets,
    ranking_data_writer,
)
from podium.counted_nouns import count_text, count_texts
from podium.data import RankingData
from podium.data.atomic_files import make_folder
from podium.data.random_queries import cut_queries, fold_cuts, fraction_cuts, sample_queries
from podium.data.splits_and_folds import HELD_OUT_SHARES


@dataclass
class FileCounts:
    """What a file that was written in blocks has."""

    queries: int = 0
    documents: int = 0
    features: int = 0

    def add(self, data: RankingData) -> None:
        """Count a block."""
        self.queries += data.n_queries
        self.documents += len(data)
        self.features = data.n_features

    def __str__(self) -> str:
        return count_texts(query=self.queries, document=self.documents, feature=self.features)

    def facts(self, path: Path) -> dict[str, Any]:
        """Return the counts as JSON has them."""
        return {"file": str(path), **vars(self)}


def sample_collection(files: InputFiles, options: DataSampleOptions) -> FileCounts:
    """Write random queries of a collection."""
    qids = files.open_collection(options.inputs).query_ids()
    chosen = set(sample_queries(qids, options.queries, options.seed))
    blocks = (_with_queries(block, chosen) for block in files.blocks(options.inputs))
    return write_blocks(options.out, blocks)


def write_blocks(path: Path, blocks: Iterable[RankingData | None]) -> FileCounts:
    """Write blocks to a file in the format of its ending; None is an empty block."""
    counts = FileCounts()
    with ranking_data_writer(path) as write:
        for block in blocks:
            if block is not None:
                write(block)
                counts.add(block)
    return counts


def split_collection(files: InputFiles, options: DataSplitOptions) -> dict[Path, FileCounts]:
    """Write the parts or folds of a collection in one pass.

    The files have the queries that a split in memory gives them, in the order of the collection.
    """
    qids = files.open_collection(options.inputs).query_ids()
    pieces = _pieces_of(qids, options)
    ending = (options.ending or ".parquet").removeprefix(".")
    paths = {options.out / f"{name}.{ending}": chosen for name, chosen in pieces.items()}
    check_ranking_data_targets(list(paths), options.force)
    counts = {path: FileCounts() for path in paths}
    with ExitStack() as stack:
        writers = {}
        for path in paths:
            make_folder(path.parent)
            writers[path] = stack.enter_context(ranking_data_writer(path))
        for block in files.blocks(options.inputs):
            for path, chosen in paths.items():
                own = _with_queries(block, chosen)
                if own is not None:
                    writers[path](own)
                    counts[path].add(own)
    return counts


def report_split(counts: dict[Path, FileCounts], json: bool) -> None:
    """Print the files of a split and their sizes."""
    if json:
        print_json([own.facts(path) for path, own in counts.items()])
        return
    rows = [[str(p), f"{own.queries:,}", f"{own.documents:,}"] for p, own in counts.items()]
    print_table(count_text(len(rows), "file"), ["file", "queries", "documents"], rows)


def _pieces_of(qids: Sequence[str], options: DataSplitOptions) -> dict[str, set[str]]:
    """Return the queries of each file, by its name without ending."""
    seed, n = options.seed, len(qids)
    if options.fractions is not None:
        shares = [float(share) for share in options.fractions.split(",")]
        names = ("train", "test") if len(shares) == 2 else ("train", "vali", "test")
        parts = cut_queries(qids, fraction_cuts(shares, n), seed)
        return {name: _ids(qids, part) for name, part in zip(names, parts, strict=True)}
    k = options.folds or 0
    parts = cut_queries(qids, fold_cuts(k, n), seed)
    pieces: dict[str, set[str]] = {}
    for i in range(k):
        turn = [_ids(qids, parts[(i + j) % k]) for j in range(k)]
        rounds = (set().union(*turn[:-2]), turn[-2], turn[-1]) if k > 2 else _two(turn, seed)
        for name, chosen in zip(("train", "vali", "test"), rounds, strict=True):
            pieces[f"Fold{i + 1}/{name}"] = chosen
    return pieces


def _two(turn: Sequence[set[str]], seed: int) -> tuple[set[str], set[str], set[str]]:
    """Return a round of two folds: a quarter of the training queries is held out."""
    learn = sorted(turn[0])
    train, valid = cut_queries(learn, fraction_cuts(HELD_OUT_SHARES, len(learn)), seed)
    return _ids(learn, train), _ids(learn, valid), turn[1]


def _ids(qids: Sequence[str], numbers: Any) -> set[str]:
    return {qids[number] for number in numbers.tolist()}


def _with_queries(block: RankingData, chosen: set[str]) -> RankingData | None:
    """Return the chosen queries of a block; None without any."""
    numbers = np.flatnonzero([qid in chosen for qid in block.qids.tolist()])
    return block.subset(numbers) if len(numbers) else None
