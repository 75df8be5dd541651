"""Placements of queries into parts: they change neither fits nor evaluations; a cut query is an error."""

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data import Collection, RankingData, make_synthetic, open_collection
from podium.data.collections.collection import align
from podium.data.collections.manifest import Manifest, PartRecord, file_fingerprint
from podium.data.collections.partition import join_layouts, layout_of
from podium.data.parquet_writer import write_parquet_blocks
from podium.errors import DataError
from podium.metrics import evaluate_stream
from tests.support.case_counts import soak_cases

DATA = make_synthetic(n_queries=24, n_docs=(2, 14), n_features=6, seed=8)
PLACEMENTS = range(soak_cases(100, usual=15))


def write_collection(folder: Path, parts: list[list[RankingData]]) -> Collection:
    """Write parts, each with these blocks."""
    folder.mkdir()
    layout = join_layouts([layout_of(block) for part in parts for block in part])
    records = []
    for number, part in enumerate(parts):
        path = folder / f"part-{number}.parquet"
        write_parquet_blocks((align(block, layout) for block in part), path)
        labels = np.concatenate([block.y for block in part])
        records.append(
            PartRecord(
                path.name, len(labels), sum(block.n_queries for block in part),
                (float(labels.min()), float(labels.max())), path.stat().st_size, file_fingerprint(path),
            )
        )  # fmt: skip
    Manifest(layout, tuple(records)).write(folder)
    return open_collection(folder)


def draw_placement(seed: int) -> list[list[RankingData]]:
    """Cut the queries into parts, and the parts into blocks, at random places."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, 24), rng.integers(0, 12), replace=False))
    blocks = [DATA.subset(q) for q in np.split(np.arange(24), cuts)]
    ends = np.flatnonzero(rng.random(len(blocks) - 1) < 0.5) + 1
    return [list(part) for part in _split(blocks, ends.tolist())]


def _split(blocks, ends):
    bounds = [0, *ends, len(blocks)]
    return [blocks[a:b] for a, b in itertools.pairwise(bounds)]


RANKERS = [podium.ListNet(early_stopping=False), podium.RankSVM(), podium.LeastSquares()]


@pytest.fixture(scope="module")
def expected():
    """The weights and the evaluation in memory."""
    weights = [clone_of(ranker).fit(DATA).model_.parts() for ranker in RANKERS]
    return weights, podium.evaluate(DATA, DATA.X[:, 0], ["NDCG@10", "ERR", "MAP"])


def clone_of(ranker):
    return type(ranker)(**ranker.get_params(deep=False))


@pytest.mark.parametrize("seed", PLACEMENTS)
def test_weights_and_metrics_do_not_depend_on_the_placement(seed, expected, tmp_path):
    weights, evaluation = expected
    collection = write_collection(tmp_path / "parts", draw_placement(seed))
    for ranker, parts in zip(RANKERS, weights, strict=True):
        ours = clone_of(ranker).fit(collection).model_.parts()
        assert all(np.array_equal(ours[name], part) for name, part in parts.items())
    metrics = list(evaluation)
    found = podium.evaluate(collection, DATA.X[:, 0], metrics)
    blocks = [(block, block.X[:, 0]) for block in collection.blocks()]
    streamed = evaluate_stream(blocks, metrics, top_label=DATA.y.max())
    for metric in metrics:
        assert found[metric].per_query.tolist() == evaluation[metric].per_query.tolist()
        assert streamed[metric].mean == pytest.approx(evaluation[metric].mean, rel=1e-13)


@pytest.mark.parametrize("seed", PLACEMENTS)
def test_a_cut_query_is_caught_before_work(seed, tmp_path):
    rng = np.random.default_rng(seed)
    collection = write_collection(tmp_path / "parts", draw_placement(seed))
    long = np.flatnonzero(DATA.groups.sizes > 1)
    qid = DATA.qids[rng.choice(long)]
    cut = cut_query(collection, str(qid), rng, tmp_path / "cut")
    work = [
        lambda: next(cut.blocks()), cut.read, cut.mapped, cut.query_ids,
        lambda: podium.evaluate(cut, np.zeros(len(cut)), "MAP"), lambda: podium.ListNet().fit(cut),
    ]  # fmt: skip
    with pytest.raises(DataError, match=f"expected each query in one part, got '{qid}' in part-"):
        work[seed % len(work)]()


def cut_query(collection: Collection, qid: str, rng, folder: Path) -> Collection:
    """Write the collection anew with the last rows of a query in a part of their own, somewhere."""
    parts = [[block] for block in collection.blocks()]
    number = next(i for i, (block,) in enumerate(parts) if qid in block.qids)
    (block,) = parts[number]
    query = block.qids.tolist().index(qid)
    rows = np.arange(*block.groups.offsets[query : query + 2])
    moved = rows[rng.integers(1, len(rows)) :]
    left = np.setdiff1d(np.arange(len(block)), moved)
    parts[number] = [take(block, left)]
    parts.insert(int(rng.integers(0, len(parts) + 1)), [take(block, moved)])
    return write_collection(folder, parts)


def take(data: RankingData, rows) -> RankingData:
    """Return these rows of the data."""
    docids = None if data.docid_column is None else data.docid_column.take(rows)
    return RankingData.from_arrays(
        data.X[rows], data.y[rows], qid=data.qids[data.groups.codes[rows]],
        docid=None if docids is None else list(docids),
    )  # fmt: skip


@pytest.mark.parametrize("seed", PLACEMENTS)
def test_a_query_cut_by_a_row_group_of_its_part_is_caught(seed, tmp_path):
    rng = np.random.default_rng(seed)
    at = int(rng.integers(1, DATA.n_queries - 1))
    rows = DATA.groups.offsets[at]
    if DATA.groups.sizes[at] == 1:
        at = int(np.flatnonzero(DATA.groups.sizes > 1)[0])
        rows = DATA.groups.offsets[at]
    rows += rng.integers(1, DATA.groups.sizes[at])
    halves = [take(DATA, np.arange(rows)), take(DATA, np.arange(rows, len(DATA)))]
    collection = write_collection(tmp_path / "parts", [halves])
    with pytest.raises(DataError, match=rf"'{DATA.qids[at]}' in part-0\.parquet and in part-0"):
        next(collection.blocks())


def test_a_part_of_another_version_is_named(tmp_path):
    collection = write_collection(tmp_path / "parts", draw_placement(0))
    import pyarrow.parquet as pq

    path = collection.folder / "part-0.parquet"
    table = pq.read_table(path).replace_schema_metadata({b"podium": json.dumps({"v": 9})})
    pq.write_table(table, path)
    part = replace(
        collection.manifest.parts[0], n_bytes=path.stat().st_size, sha256=file_fingerprint(path)
    )
    parts = (part, *collection.manifest.parts[1:])
    replace(collection.manifest, parts=parts).write(collection.folder)
    with pytest.raises(DataError, match=r"part-0\.parquet: expected what podium writes"):
        next(open_collection(collection.folder).blocks())


def test_a_folder_that_cannot_be_written_is_evaluated_and_fitted(tmp_path, monkeypatch):
    collection = write_collection(tmp_path / "parts", draw_placement(1))

    def refuse(*_, **__):
        raise PermissionError("read-only")

    monkeypatch.setattr("podium.data.collections.row_cache.atomic_path", refuse)
    monkeypatch.setattr("podium.data.collections.collection.atomic_path", refuse)
    ours, theirs = (podium.evaluate(d, DATA.X[:, 1], "MAP")["MAP"].mean for d in (collection, DATA))
    assert ours == theirs
    assert podium.Regression().fit(collection).n_features_in_ == 6
    assert sorted(p.name[:4] for p in collection.folder.iterdir() if "part" not in p.name) == [
        "coll"
    ]


def test_a_lost_manifest_is_an_error(tmp_path):
    collection = write_collection(tmp_path / "parts", draw_placement(2))
    shutil.move(collection.folder / "collection.json", tmp_path / "away.json")
    with pytest.raises(DataError, match=r"expected a folder with collection\.json"):
        open_collection(collection.folder)
