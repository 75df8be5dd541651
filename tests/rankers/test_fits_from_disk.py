"""Fits over a collection: the models of a fit in memory, to the byte, without its memory."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import podium
from podium.data import Collection, RankingData, free_memory, make_synthetic, partition
from podium.data.groups import Groups
from podium.data.mapped_arrays import mapped_file
from podium.data.row_selection import SelectedData
from podium.errors import MemoryLimitError
from podium.rankers import MLP, RANKERS, Prepared
from podium.rankers.models import Linear


def write_parts(data: RankingData, folder, missing="error") -> Collection:
    data.to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=300, missing=missing)


def single(data: RankingData) -> RankingData:
    return replace(data, X=data.X.astype(np.float32))


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Collection:
    data = single(make_synthetic(n_queries=60, n_features=20, seed=0))
    return write_parts(data, tmp_path_factory.mktemp("fits"))


@pytest.fixture(scope="module")
def weighted(tmp_path_factory) -> Collection:
    """Weighted queries, some without weight, and missing values."""
    data = make_synthetic(n_queries=60, n_features=5, seed=1)
    X, weight = np.array(data.X), np.arange(60) % 4
    X[::7, 3] = np.nan
    data = replace(data, X=X, missing="nan", query_weight=weight.astype(float))
    return write_parts(data, tmp_path_factory.mktemp("weighted"), "nan")


def assert_same_model(ranker, collection, valid=None) -> None:
    in_memory = clone(ranker).fit(collection.read(), valid=valid and valid.read())
    from_disk = clone(ranker).fit(collection, valid=valid)
    parts = from_disk.model_.parts()
    for name, part in in_memory.model_.parts().items():
        assert np.array_equal(part, parts[name]), name
    assert in_memory.trained_ == from_disk.trained_
    assert in_memory.history_.best == from_disk.history_.best


FROM_DISK = [
    podium.Regression(), podium.LeastSquares(), podium.RankSVM(), podium.RankSVM(power=1),
    podium.FocusedSVM(), podium.SVMMAP(), podium.RankNet(), podium.ListNet(), podium.ListMLE(),
    podium.TopkListMLE(), podium.FocusedNet(), podium.Ordinal(),
    podium.Ordinal(loss="proportional-odds"),
    podium.ListNet(scorer=MLP(hidden=(8,), epochs=3)), podium.RankNet(scorer=MLP(hidden=(4,), epochs=2)),
    podium.LambdaMART(trees=10), podium.LambdaMART(trees=5, loss="listnet"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::podium.errors.NotConvergedWarning")
@pytest.mark.parametrize("ranker", FROM_DISK, ids=str)
def test_the_model_is_that_of_the_fit_in_memory(ranker, collection, monkeypatch):
    assert ranker.fits_from_disk
    assert_same_model(ranker, collection)
    monkeypatch.setattr(SelectedData, "X", property(lambda data: pytest.fail("rows were copied")))
    monkeypatch.setattr(Collection, "read", lambda *_, **__: pytest.fail("rows were read"))
    clone(ranker).fit(collection)


@pytest.mark.parametrize(
    "ranker",
    [podium.Regression(), podium.ListNet(), podium.LambdaMART(trees=10), podium.Ordinal()],
    ids=str,
)
@pytest.mark.parametrize("scale", ["none", "zscore", "robust", "query-zscore", "query-minmax"])
def test_prepared_features_are_those_of_the_fit_in_memory(ranker, scale, weighted, monkeypatch):
    prepared = Prepared(ranker, impute="median", indicators=True, scale=scale)
    assert_same_model(prepared, weighted)
    monkeypatch.setattr(Collection, "read", lambda *_, **__: pytest.fail("rows were read"))
    files = []
    learn = type(ranker).learn

    def note_file(self, train, monitor, start):
        files.append(mapped_file(train.stored_features()[0]))
        return learn(self, train, monitor, start)

    monkeypatch.setattr(type(ranker), "learn", note_file)
    clone(prepared).fit(weighted)
    assert files[0] is not None
    assert files[0].parent == weighted.folder


def test_validation_parts_choose_the_same_iteration(collection, tmp_path):
    other = write_parts(single(make_synthetic(n_queries=20, n_features=20, seed=5)), tmp_path)
    for ranker in (podium.ListNet(), podium.LambdaMART(trees=10)):
        assert_same_model(ranker, collection, other)


def test_more_rows_than_a_sample_of_bins_and_a_batch(tmp_path, monkeypatch):
    monkeypatch.setattr("podium.rankers.binned_features.ROWS_PER_BATCH", 100)
    data = make_synthetic(n_queries=200, n_features=6, seed=2)
    assert_same_model(
        podium.LambdaMART(trees=5, validation_fraction=0.5), write_parts(data, tmp_path)
    )


def test_a_ranker_that_needs_memory_says_so_before_it_reads(collection, monkeypatch):
    monkeypatch.setattr(free_memory, "free_memory", lambda: 1000)
    monkeypatch.setattr(Collection, "read", lambda *_, **__: pytest.fail("rows were read"))
    n_bytes = 2 * len(collection) * 20 * 4
    with pytest.raises(MemoryLimitError) as caught:
        podium.AdaRank().fit(collection)
    assert f"adarank needs all rows of {collection.folder} in memory" in str(caught.value)
    names = str(caught.value).replace(" and ", ", ").replace(")", ",")
    assert f"about {n_bytes / 1e9:,.1f} GB; 0.0 GB are free" in str(caught.value)
    for name, ranker in RANKERS.items():
        assert (f" {name}," in names or f"({name}," in names) == ranker.fits_from_disk
    assert podium.Regression().fit(collection).model_.kind == "linear"


@pytest.mark.parametrize("ranker", [podium.AdaRank(), podium.RankBoost(rounds=2)], ids=str)
def test_a_ranker_that_needs_memory_reads_what_fits(ranker, collection):
    assert not ranker.fits_from_disk
    assert_same_model(ranker, collection)


def test_free_memory_is_the_least_of_machine_and_container(tmp_path, monkeypatch):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    monkeypatch.setattr(free_memory, "_MEMINFO", write("info", "MemAvailable:  2000 kB\n"))
    monkeypatch.setattr(free_memory, "_GROUP_LIMIT", write("max", "900000\n"))
    monkeypatch.setattr(free_memory, "_GROUP_USE", write("current", "500000\n"))
    statistics = write("stat", "anon 1\ninactive_file 100000\n")
    monkeypatch.setattr(free_memory, "_GROUP_STATISTICS", statistics)
    assert free_memory.free_memory() == 900000 - 500000 + 100000
    write("max", "max\n")
    assert free_memory.free_memory() == 2000 * 1024


@pytest.mark.parametrize("n_rows", [1, 2, 5, 100])
def test_blocks_of_groups_are_whole_queries_in_order(n_rows):
    sizes = [3, 1, 1, 7, 2]
    blocks = list(Groups.from_sizes(sizes).blocks(n_rows))
    assert [q for b in blocks for q in range(5)[b.queries]] == list(range(5))
    assert [r for b in blocks for r in range(14)[b.rows]] == list(range(14))
    for block in blocks:
        assert block.groups.sizes.tolist() == sizes[block.queries]
        assert block.groups.n_rows <= n_rows or len(block.groups) == 1


def test_selected_documents_have_the_scores_of_their_rows(monkeypatch):
    monkeypatch.setattr("podium.rankers.models.ROWS_PER_BLOCK", 50)
    data = make_synthetic(n_queries=20, n_features=4, seed=0)
    queries = np.arange(19, -1, -1)
    model = Linear(np.arange(4.0))
    selected = SelectedData(data, queries, data.groups.take(queries)[1])
    expected = model.predict(data.subset(queries).X)
    assert model.score_documents(selected).tolist() == expected.tolist()


OWN_MEMORY = """
import re, sys, podium
collection = podium.open_collection(sys.argv[1])
collection.mapped()
def own():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
small = podium.make_synthetic(n_queries=20, n_features=300, seed=0)
rankers = [podium.ListNet(max_iter=3), podium.RankSVM(max_iter=2), podium.Ordinal(max_iter=3)]
import warnings; warnings.simplefilter("ignore")
for ranker in rankers:
    ranker.fit(small)  # modules and pools of threads
before, most = own(), 0
def note(step):
    global most
    most = max(most, own())
for ranker in rankers:
    ranker.fit(collection, callback=note)
print(max(most, own()) - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="own memory is read from /proc")
def test_own_memory_is_a_share_of_the_data(tmp_path):
    n, d = 25_000, 300
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    data = RankingData.from_arrays(X, np.arange(n) % 3, qid=np.arange(n) // 50)
    collection = write_parts(data, tmp_path)
    command = [sys.executable, "-c", OWN_MEMORY, str(collection.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # In memory it would be 30 MB (X.nbytes) and more.
    assert int(done.stdout) < 0.1 * X.nbytes + 15e6
