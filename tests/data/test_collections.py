"""Collections: parts of whole queries on disk, equal to the data in memory."""

import itertools
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium.data import RankingData, make_synthetic, partition, read_table, write_csv, write_letor
from podium.data.collections import partition as partition_module
from podium.data.collections.collection import CHECKED_NAME
from podium.data.collections.manifest import MANIFEST_NAME
from podium.data.collections.partition import join_layouts, layout_of
from podium.data.collections.whole_queries import ScatteredQueryError, whole_queries
from podium.data.query_lookup import find_block
from podium.errors import (
    CorruptFileError,
    DataError,
    MemoryLimitError,
    UnknownNameError,
    UsageError,
)


def assert_same(ours: RankingData, theirs: RankingData) -> None:
    assert ours.qids.tolist() == theirs.qids.tolist()
    assert np.array_equal(ours.X, theirs.X, equal_nan=True)
    assert ours.y.tolist() == theirs.y.tolist()
    assert ours.groups == theirs.groups
    assert (ours.docids is None) == (theirs.docids is None)
    if ours.docids is not None and theirs.docids is not None:
        assert ours.docids.tolist() == theirs.docids.tolist()
    assert dict(ours.categories) == dict(theirs.categories)


def shuffle_lines(source: Path, target: Path, seed: int) -> None:
    lines = source.read_text().splitlines()
    order = np.random.default_rng(seed).permutation(len(lines))
    target.write_text("".join(f"{lines[i]}\n" for i in order))


@pytest.fixture
def data() -> RankingData:
    return make_synthetic(n_queries=60, seed=3)


@pytest.mark.parametrize("name", ["data.txt", "data.txt.gz", "data.parquet", "data.csv"])
def test_the_parts_have_the_documents_of_the_file(data, name, tmp_path):
    path = tmp_path / name
    if name.endswith("parquet"):
        data.to_parquet(path)
    elif name.endswith("csv"):
        write_csv(data, path)
    else:
        write_letor(data, path)
    collection = partition([path], tmp_path / "parts", rows=200)
    assert_same(collection.read(), data)
    sizes = data.groups.sizes
    assert all(part.rows <= max(200, sizes.max()) for part in collection.manifest.parts)
    assert len(collection.manifest.parts) >= len(data) // 200
    assert (len(collection), collection.n_queries) == (len(data), data.n_queries)


@pytest.mark.parametrize("seed", range(3))
def test_scattered_queries_are_put_together_in_order_of_first_row(data, seed, tmp_path):
    write_letor(data, tmp_path / "sorted.txt")
    shuffle_lines(tmp_path / "sorted.txt", tmp_path / "shuffled.txt", seed)
    in_memory = podium.read_letor(tmp_path / "shuffled.txt")
    collection = partition([tmp_path / "shuffled.txt"], tmp_path / "parts", rows=150)
    assert_same(collection.read(), in_memory)
    assert sorted(os.listdir(tmp_path / "parts")) == sorted(
        [CHECKED_NAME, MANIFEST_NAME, *(part.file for part in collection.manifest.parts)]
    )


@settings(max_examples=30)
@given(
    runs=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=30),
    cuts=st.sets(st.integers(1, 60)),
)
def test_a_stream_cut_anywhere_gives_whole_queries_or_says_that_they_are_scattered(runs, cuts):
    codes = np.repeat([q for q, _ in runs], [n for _, n in runs])
    bounds = [0, *sorted(cut for cut in cuts if cut < len(codes)), len(codes)]
    pieces = [
        RankingData.from_arrays(np.arange(a, b)[:, None], np.zeros(b - a), qid=codes[a:b])
        for a, b in itertools.pairwise(bounds)
    ]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if len(starts) > len(set(codes.tolist())):
        with pytest.raises(ScatteredQueryError):
            list(whole_queries(pieces))
        return
    blocks = list(whole_queries(pieces))
    assert [qid for block in blocks for qid in block.qids.tolist()] == [
        str(codes[start]) for start in starts
    ]
    rows = np.concatenate([block.X[:, 0] for block in blocks])
    assert rows.tolist() == list(range(len(codes)))


def test_several_files_make_one_collection(data, tmp_path):
    write_letor(data.subset(range(20)), tmp_path / "a.txt")
    write_letor(data.subset(range(20, 60)), tmp_path / "b.txt")
    collection = partition([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "parts", rows=300)
    assert_same(collection.read(), data)


def test_features_that_come_late_are_0_before(tmp_path):
    lines = [f"1 qid:{q} 1:0.5\n" for q in range(5)] + ["0 qid:9 1:1 3:2\n"]
    (tmp_path / "a.txt").write_text("".join(lines[:3]))
    (tmp_path / "b.txt").write_text("".join(lines[3:]))
    collection = partition([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "parts", rows=2)
    assert collection.n_features == 3
    assert collection.read().X.tolist() == [[0.5, 0.0, 0.0]] * 5 + [[1.0, 0.0, 2.0]]


def test_categories_are_places_among_the_words_of_all_parts(tmp_path):
    words = ["red", "blue", "green", "red", "amber", "blue"]
    rows = [f"{i // 2},{word},{i % 2},{i}\n" for i, word in enumerate(words)]
    path = tmp_path / "shop.csv"
    path.write_text("query_id,colour,label,price\n" + "".join(rows))
    columns = podium.data.Columns(categories={"colour": "onehot"})
    collection = partition([path], tmp_path / "parts", rows=2, columns=columns)
    in_memory = read_table(path, categories=["colour"])
    assert_same(collection.read(), in_memory)
    assert len(collection.manifest.parts) == 3
    for part in collection.manifest.parts:  # each part is a Parquet file of its own
        assert podium.read_parquet(tmp_path / "parts" / part.file).n_queries == 1


def test_scores_and_metrics_of_a_collection_are_those_of_the_data(data, tmp_path):
    write_letor(data, tmp_path / "data.txt")
    collection = partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    ranker = podium.ListNet().fit(collection)
    scores = ranker.predict(collection)
    assert scores.tolist() == ranker.predict(data).tolist()
    ours = podium.evaluate(collection, scores, ["NDCG@10", "MAP"])
    theirs = podium.evaluate(data, scores, ["NDCG@10", "MAP"])
    assert ours.qids.tolist() == theirs.qids.tolist()
    for metric in theirs:
        assert ours[metric].per_query.tolist() == theirs[metric].per_query.tolist()
        assert ours[metric].mean == theirs[metric].mean
    with pytest.raises(DataError, match=f"expected {len(data):,} scores"):
        podium.evaluate(collection, scores[1:], "MAP")


def test_metrics_that_need_the_scale_of_all_labels_get_it(tmp_path):
    labels = [0, 1, 0, 1, 0, 4]  # only the last part has the top grade
    data = RankingData.from_arrays(np.zeros((6, 1)), labels, qid=[0, 0, 1, 1, 2, 2])
    data.to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=2)
    scores, names = np.arange(6.0), [*podium.METRICS, "ERR(r_max='query')"]
    metrics = [
        name if "(" in name or name in ("ERR", "MAP", "MRR") else f"{name}@2" for name in names
    ]
    for metric in metrics:
        try:
            in_memory = podium.evaluate(data, scores, metric)
        except podium.PodiumError:  # a metric of top-k truth
            continue
        blocks = podium.evaluate(collection, scores, metric)
        assert blocks[metric].per_query.tolist() == in_memory[metric].per_query.tolist()
    # Only the first document of the first query counts, with (2^1 - 1) / 2^4.
    assert podium.evaluate(collection, scores, "ERR")["ERR"].per_query[0] == 1 / 16


def test_weights_of_queries_are_kept(data, tmp_path):
    weight = np.arange(1.0, 61.0)
    weighted = RankingData.from_arrays(
        data.X, data.y, qid=data.groups.codes, query_weight=np.repeat(weight, data.groups.sizes)
    )
    weighted.to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=250)
    ours = podium.evaluate(collection, data.y, "P@5")["P@5"]
    assert ours.mean == podium.evaluate(weighted, data.y, "P@5")["P@5"].mean
    assert collection.read().query_weight.tolist() == weight.tolist()


@pytest.fixture
def collection(data, tmp_path):
    write_letor(data, tmp_path / "data.txt")
    return partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)


def test_a_missing_part_is_named_when_the_collection_is_opened(collection):
    (collection.folder / "part-00002.parquet").unlink()
    with pytest.raises(CorruptFileError, match=r"part-00002\.parquet: .*it is missing"):
        podium.open_collection(collection.folder)


def test_a_changed_byte_is_found_before_any_block_is_read(collection):
    list(collection.blocks())
    path = collection.folder / "part-00001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"part-00001\.parquet: .*contents have changed"):
        next(collection.blocks())


def test_a_query_in_two_parts_is_named(collection):
    manifest = collection.folder / MANIFEST_NAME
    record = json.loads(manifest.read_text())
    shutil.copy(collection.folder / "part-00000.parquet", collection.folder / "copy.parquet")
    record["parts"].append({**record["parts"][0], "file": "copy.parquet"})
    manifest.write_text(json.dumps(record))
    qid = next(collection.blocks()).qids[0]
    with pytest.raises(DataError, match=rf"'{qid}' in part-00000\.parquet and in copy\.parquet"):
        next(podium.open_collection(collection.folder).blocks())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record | {"version": 2}, "version 1, got version 2"),
        (lambda record: record | {"format": "tar"}, "manifest of a collection"),
        (lambda record: record | {"parts": [{"file": "../x"}]}, "manifest of a collection"),
        (lambda record: record | {"layout": {}}, "manifest of a collection"),
        (lambda record: [], "manifest of a collection"),
    ],
)
def test_a_wrong_manifest_is_refused(collection, change, message):
    manifest = collection.folder / MANIFEST_NAME
    manifest.write_text(json.dumps(change(json.loads(manifest.read_text()))))
    with pytest.raises(DataError, match=message):
        podium.open_collection(collection.folder)


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(CorruptFileError, match=rf"expected a folder with {MANIFEST_NAME}"):
        podium.open_collection(tmp_path)


def test_a_folder_that_exists_is_not_replaced(collection, data, tmp_path):
    with pytest.raises(UsageError, match="which exists"):
        partition([tmp_path / "data.txt"], collection.folder)


def test_only_a_collection_is_replaced_if_that_is_asked_for(collection, data, tmp_path):
    write_letor(data.subset([0, 1]), tmp_path / "two.txt")
    replaced = partition([tmp_path / "two.txt"], collection.folder, replace_collection=True)
    assert_same(replaced.read(), data.subset([0, 1]))
    assert {path.name for path in tmp_path.iterdir()} == {"data.txt", "two.txt", "parts"}
    other = tmp_path / "precious"
    other.mkdir()
    (other / "note.txt").write_text("keep")
    with pytest.raises(UsageError, match="which exists"):
        partition([tmp_path / "two.txt"], other, replace_collection=True)
    assert (other / "note.txt").read_text() == "keep"


def test_features_beyond_the_limit_are_not_read_into_memory(collection, data):
    n_bytes = data.X.nbytes
    with pytest.raises(MemoryLimitError, match=f"{n_bytes:,} in"):
        collection.read(max_bytes=n_bytes - 1)
    assert len(collection.read(max_bytes=n_bytes)) == len(data)


def test_an_interrupted_call_goes_on_with_its_finished_parts(data, tmp_path, monkeypatch):
    write_letor(data, tmp_path / "data.txt")
    write = partition_module.write_parquet_blocks
    written: list[str] = []

    def stop_at_the_third(blocks, path):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path.name)
        write(blocks, path)

    monkeypatch.setattr(partition_module, "write_parquet_blocks", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    assert not (tmp_path / "parts").exists()
    resumed: list[str] = []

    def record(blocks, path):
        resumed.append(path.name)
        write(blocks, path)

    monkeypatch.setattr(partition_module, "write_parquet_blocks", record)
    collection = partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    assert written + resumed == [part.file for part in collection.manifest.parts]
    assert_same(collection.read(), data)
    assert not (tmp_path / "parts.partial").exists()


def test_other_settings_start_from_scratch(data, tmp_path, monkeypatch):
    write_letor(data, tmp_path / "data.txt")
    draft = tmp_path / "parts.partial"
    draft.mkdir()
    (draft / "settings.json").write_text('{"format": "podium collection draft"}')
    (draft / "part-00000.parquet").write_bytes(b"rubbish")
    assert_same(partition([tmp_path / "data.txt"], tmp_path / "parts").read(), data)


def test_float32_takes_half_the_space(data, tmp_path):
    write_letor(data, tmp_path / "data.txt")
    collection = partition([tmp_path / "data.txt"], tmp_path / "parts", dtype="float32")
    assert collection.read().X.dtype == np.float32
    assert np.array_equal(collection.read().X, data.X.astype(np.float32))
    with pytest.raises(UsageError, match="float32"):
        partition([tmp_path / "data.txt"], tmp_path / "other", dtype="int8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"has_names": True}, "expected files that all name their features, or none that does"),
        (
            {"dtype": "float32"},
            "expected features of one type, got float64 and float32; set dtype=",
        ),
        ({"topk": 3}, "expected labels of one kind, got grades and positions up to 3"),
        ({"scaled": "query"}, "got scaling by nothing and by query; start from files"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(data, change, message):
    layout = layout_of(data)
    assert join_layouts([layout, layout]) == layout
    with pytest.raises(DataError, match=message):
        join_layouts([layout, replace(layout, **change)])


def test_the_text_of_queries_in_two_blocks_is_an_error(tmp_path):
    data = RankingData.from_arrays(
        np.zeros((6, 1)), np.zeros(6), qid=["a", "a", "b", "b", "c", "c"],
        query_text=["red shoes", "blue hat", "Red  shoes"],
    )  # fmt: skip
    data.to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=2)
    assert find_block(collection, "blue hat")[0] == 2
    assert find_block(collection, "c")[0] == 4
    with pytest.raises(UsageError, match="the text of 2 queries; name one by its id: a, c"):
        find_block(collection, "red shoes")
    with pytest.raises(UnknownNameError):
        find_block(collection, "green coat")
