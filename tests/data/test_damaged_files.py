"""Damaged files and arrays: an error of podium that says what is wrong, never another one."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import podium
from podium.aggregation import Rankings
from podium.data import Groups, RankingData, read_scores, write_scores
from podium.data.zip_archives import array_bytes, read_array
from podium.errors import CorruptFileError, DataError, PodiumError
from podium.features import Index
from podium.feedback import feedback_files, load_feedback
from podium.metrics import paired_test
from tests.support.case_counts import soak_cases
from tests.support.paths import GOLDEN, ROOT
from tests.support.small_rankers import small

TIMES = soak_cases(300)
DATA = small(8, n_features=3)
RAGGED = [[1.0, 2.0, 3.0], [1.0, 2.0]]
RANKER = podium.RankSVM().fit(DATA)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of every format that is not text."""
    folder = tmp_path_factory.mktemp("files")
    pq = pytest.importorskip("pyarrow.parquet")
    DATA.to_parquet(folder / "data.parquet")
    table = pq.read_table(folder / "data.parquet")
    pq.write_table(table.append_column("score", table["f1"]), folder / "data.parquet")
    write_scores(np.arange(20.0), folder / "scores.npy")
    golden = ("index-v1.index", "feedback-v1.npz", "composed-v1.podium", "trees-v1.podium")
    return [*sorted(folder.iterdir()), *(GOLDEN / name for name in golden)]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in /proc")
def test_random_damage_gives_podium_errors(files):
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.damaged_files", str(TIMES), *map(str, files)],
        capture_output=True, text=True, timeout=280, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    came = json.loads(done.stdout)
    assert {name: result["wrong"] for name, result in came.items()} == {f.name: [] for f in files}
    assert all(result["refused"] > TIMES / 2 for result in came.values())


# --- files ---


@pytest.mark.parametrize("shape", ["(True,)", "(-1,)", "(1_0,)", "[3]", "3", "(4,)", "(3, 2)"])
def test_shapes_that_numpy_does_not_write(shape):
    data = array_bytes(np.arange(3.0))
    other = data.replace(b"(3,)", shape.encode())
    length = len(other) - len(data) + int.from_bytes(data[8:10], "little")
    with pytest.raises(ValueError, match=r"a header that NumPy|numbers of shape"):
        read_array(other[:8] + length.to_bytes(2, "little") + other[10:], "f")


@pytest.mark.parametrize("array", [
    np.arange(3.0), np.zeros((2, 3), order="F"), np.zeros((0, 4)), np.array(1.5), np.zeros(5, "<f4"),
    np.arange(4, dtype=np.uint8), np.zeros((2, 1, 3), dtype=np.int32),
], ids=lambda a: f"{a.dtype}{a.shape}")  # fmt: skip
def test_every_array_comes_back(array):
    again = read_array(array_bytes(array), "fiu")
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype


def with_metadata(path, value):
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"podium": value}), path)


@pytest.mark.parametrize(
    "value", [b"\xff\xfe", b"{", b"[]", b"3", b'{"features": NaN}', b"[" * 10_000]
)
def test_parquet_metadata_that_is_not_podiums(value, tmp_path):
    DATA.to_parquet(tmp_path / "x.parquet")
    with_metadata(tmp_path / "x.parquet", value)
    with pytest.raises(CorruptFileError, match="what podium writes into Parquet"):
        podium.read_parquet(tmp_path / "x.parquet")


def test_parquet_text_that_is_not_utf_8_names_the_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    text = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(
        pa.table({"qid": text, "label": [0.0, 1.0], "f1": [1.0, 2.0]}), tmp_path / "x.pq"
    )
    with pytest.raises(CorruptFileError, match=r"x\.pq: expected a Parquet file .*UTF8"):
        podium.read_parquet(tmp_path / "x.pq", query="qid", features=["f1"])


READ = [podium.load, Index.load, load_feedback, podium.read_parquet, podium.read_rules,
        podium.read_letor, podium.read_run, podium.read_qrels, read_scores]  # fmt: skip


@pytest.mark.parametrize("read", READ, ids=lambda f: f.__qualname__)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file_is_refused_at_once(read, kind, tmp_path):
    path = tmp_path / "x.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(PodiumError, match=f"expected a file, got a {kind}"):
        read(path)


@pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
def test_scores_from_a_device_are_refused(name, tmp_path):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(CorruptFileError, match="got a device"):
        read_scores(tmp_path / name)


def test_feedback_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(feedback_files, "MAX_UNPACKED_BYTES", 100)
    with pytest.raises(CorruptFileError, match="arrays of more than"):
        load_feedback(GOLDEN / "feedback-v1.npz")


# --- arrays ---


def from_arrays(X=((1.0, 2.0), (3.0, 4.0)), y=(0, 1), qid=(1, 1), **options):
    return RankingData.from_arrays(X, y, qid=qid, **options)


@pytest.mark.parametrize("make", [
    lambda: from_arrays(RAGGED), lambda: from_arrays(y=[[0], [1, 2]]),
    lambda: from_arrays(qid=[[1], [1, 2]]), lambda: from_arrays(query_weight=[[1], [1, 2]]),
    lambda: RANKER.predict(RAGGED), lambda: RANKER.rank(RAGGED, qid=[1, 1]),
    lambda: RANKER.score(RAGGED, [0, 1], qid=[1, 1]), lambda: RANKER.fit(RAGGED, [0, 1], qid=[1, 1]),
    lambda: podium.evaluate(DATA, RAGGED, "NDCG@10"), lambda: DATA.regroup(RAGGED),
    lambda: DATA.restore(RAGGED), lambda: DATA.subset(RAGGED), lambda: DATA.with_labels(RAGGED),
    lambda: DATA.with_features(RAGGED), lambda: Rankings.from_scores(DATA.groups, RAGGED),
    lambda: Rankings.from_places(DATA.groups, RAGGED), lambda: Groups.from_sizes(RAGGED),
    lambda: write_scores(RAGGED, "scores.txt"), lambda: paired_test(RAGGED, RAGGED),
])  # fmt: skip
def test_lists_of_different_lengths(make):
    with pytest.raises(DataError, match="as an array, got lists of different lengths"):
        make()


@pytest.mark.parametrize("make", [
    lambda: from_arrays([["a", "b"], ["c", "d"]]), lambda: from_arrays(y=["a", "b"]),
    lambda: from_arrays([{}, {}]), lambda: from_arrays(query_weight=["a"]),
    lambda: RANKER.predict([["a", "b", "c"]]),
    lambda: podium.evaluate(DATA, ["a"] * len(DATA), "NDCG@10"),
])  # fmt: skip
def test_what_is_no_number(make):
    with pytest.raises(DataError, match=r"as numbers, got (something else|the word)"):
        make()


def damaged(kind, **changes):
    matrix = scipy.sparse.csr_array(np.eye(4)).asformat(kind)
    for name, values in changes.items():
        if kind == "coo":
            matrix.coords = tuple(np.array(v, dtype=np.int32) for v in values)
        else:
            setattr(matrix, name, np.array(values, dtype=np.int32))
    return matrix


SPARSE = [
    ("csr", {"indices": [0, 1, 2, 10**6]}), ("csr", {"indices": [0, 1, 2, -(10**6)]}),
    ("csr", {"indptr": [0, 1, 2, 3, 10**6]}), ("csr", {"indptr": [0, 4, 2, 3, 4]}),
    ("csr", {"indptr": [0, 1]}), ("csc", {"indices": [0, 1, 2, 10**6]}),
    ("bsr", {"indices": [0, 1, 2, 10**6]}), ("coo", {"coords": ([0, 1, 2, 10**6], [0, 1, 2, 3])}),
    ("coo", {"coords": ([0, 1, 2, 3], [0, 1, -5, 3])}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changes"), SPARSE, ids=str)
def test_a_damaged_sparse_matrix_is_refused_before_it_is_used(kind, changes):
    """SciPy would write outside the dense matrix, which ends the process."""
    X = damaged(kind, **changes)
    with pytest.raises(DataError, match="expected a sound sparse matrix X, got a damaged one"):
        RankingData.from_arrays(X, np.zeros(4), qid=[1] * 4)
    with pytest.raises(DataError, match="expected a sound sparse matrix"):
        RANKER.predict(X)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_sparse_matrices_that_are_sound(kind):
    data = RankingData.from_arrays(damaged(kind), np.zeros(4), qid=[1] * 4)
    np.testing.assert_array_equal(data.X, np.eye(4))
