"""LETOR text in and out: nothing lost, nothing made up, and every complaint names its line."""

import bz2
import gzip
import lzma
import os
import re
import stat

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from podium import errors, kernels
from podium.data import (
    RankingData,
    Strings,
    concatenate,
    make_synthetic,
    read_letor,
    row_allocation,
    text_files,
    write_letor,
)
from podium.data.groups import Groups
from tests.support.case_counts import soak_cases

COMPRESS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda text: zstandard.ZstdCompressor().compress(text),
}
ENDINGS = ["", *COMPRESS]

TEXT = (
    b"2 qid:10 1:0.5 3:1 #docid = A inc = 1 prob = 2\n"
    b"0 qid:10 2:0.25 #docid = B\n"
    b"1 qid:11 1:-1e-3 2:7 #docid = C\n"
)


@pytest.fixture
def put(tmp_path):
    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def squeeze(text, ending):
    return COMPRESS[ending](text) if ending else text


def random_text(n_rows=200, seed=0, n_features=9):
    """Sparse lines of queries that lie apart, with docids; wider and wider features."""
    rng = np.random.default_rng(seed)
    lines = []
    for row in range(n_rows):
        ids = np.flatnonzero(rng.random(1 + row * n_features // n_rows) < 0.6) + 1
        features = " ".join(f"{j}:{rng.normal():.6g}" for j in ids)
        lines.append(f"{rng.integers(0, 3)} qid:{rng.integers(0, 20)} {features} #docid = d{row}\n")
    return "".join(lines).encode()


# What a line may look like.


def test_the_fields_of_a_line(put):
    data = read_letor(put(TEXT))
    assert data.X.tolist() == [[0.5, 0, 1], [0, 0.25, 0], [-0.001, 7, 0]]
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.y.tolist() == [2, 0, 1]
    assert data.qids.tolist() == ["10", "11"]
    assert data.groups == Groups.from_sizes([2, 1])
    assert data.docids.tolist() == ["A", "B", "C"]
    assert data.comments[0] == "docid = A inc = 1 prob = 2"
    assert data.source_rows is None
    assert data.missing == "error"
    assert data.feature_names is data.topk is data.query_weight is data.query_text is None


@pytest.mark.parametrize(
    ("comment", "docid"),
    [
        ("#docid = GX008-86-4444840 inc = 1 prob = 0.086622", "GX008-86-4444840"),
        ("# docid = A", "A"),
        ("#docid=A", "A"),
        ("#docid= A", "A"),
        ("#inc = 1 docid\t=\tA", "A"),
        ("#244338", "244338"),
        ("#  one  ", "one"),
        ("#A#B", "A#B"),
        ("#docid = A#B", "A#B"),
        ("#docid", "docid"),
        ("#docid =", ""),
        ("#mydocid = A", ""),
        ("#two words", ""),
        ("#", ""),
        ("", ""),
    ],
)
def test_comments_give_docids(put, comment, docid):
    data = read_letor(put(f"1 qid:1 1:1 {comment}\n0 qid:1 1:0 #last\n"))
    assert data.docids.tolist() == [docid, "last"]
    assert data.comments.tolist() == [comment.removeprefix("#"), "last"]


def test_comments_that_only_name_documents_are_no_comments(put):
    data = read_letor(put("1 qid:1 1:1 #docid = A\n0 qid:1 1:0\n"))
    assert data.docids.tolist() == ["A", ""]
    assert data.comments is None


def test_no_comments_no_docids(put):
    data = read_letor(put("1 qid:1 1:1\n0 qid:1 1:0 #\n"))
    assert data.docids is None
    assert data.comments is None
    assert data.docid_column is None


def test_sparse_ids_in_any_order(put):
    data = read_letor(put("1 qid:1 5:5 2:2\n0 qid:1\n0 qid:1 007:7\n"))
    assert data.X.tolist() == [[0, 2, 0, 0, 5, 0, 0], [0] * 7, [0, 0, 0, 0, 0, 0, 7]]


def test_no_features_at_all(put):
    assert read_letor(put("1 qid:1\n0 qid:1\n")).X.shape == (2, 0)


@pytest.mark.parametrize(
    "qid", ["7", "007", "GX-1", "a:b", "q=1", "é", "-1", "1.5", "qid:1", "日本"]
)
def test_a_qid_is_any_token(put, qid):
    assert read_letor(put(f"1 qid:{qid} 1:1\n")).qids.tolist() == [qid]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b" ", b"\t").replace(b"docid\t=\t", b"docid = "),
        TEXT.replace(b" ", b"  ").replace(b"docid  =  ", b"docid = "),
        b"  " + TEXT,
        b"\n\n" + TEXT.replace(b"\n", b"\n \t\r\n\n"),
        b"# a comment\n" + TEXT.replace(b"\n", b"\n  # another 1 qid:9 1:1\n"),
        TEXT.rstrip(b"\n"),
        TEXT + b"\n",
        TEXT.replace(b"\n", b"\r\r\n"),
    ],
    ids=[
        "CRLF",
        "tabs",
        "spaces",
        "indented",
        "blank",
        "comments",
        "no-end",
        "blank-end",
        "CRCRLF",
    ],
)
def test_white_space_and_line_ends(put, text):
    data, plain = read_letor(put(text)), read_letor(put(TEXT, "plain.txt"))
    assert data.X.tolist() == plain.X.tolist()
    assert data.y.tolist() == plain.y.tolist()
    assert data.qids.tolist() == plain.qids.tolist()
    assert data.docids.tolist() == plain.docids.tolist()


@pytest.mark.parametrize(
    ("number", "value"),
    [
        *[("1", 1.0), ("1.", 1.0), (".5", 0.5), ("+2", 2.0), ("-0.5", -0.5), ("1e3", 1000.0)],
        *[("1E-2", 0.01), ("1e-400", 0.0), ("0e999", 0.0), ("5e-324", 5e-324), ("007", 7.0)],
        *[("0.1", 0.1), ("123456789012345678901234567890", 123456789012345678901234567890.0)],
        *[("0.30000000000000004", 0.1 + 0.2), ("9007199254740993", 2.0**53), ("1e308", 1e308)],
    ],
)
def test_numbers_are_rounded_once(put, number, value):
    data = read_letor(put(f"1 qid:1 1:{number}\n"))
    assert data.X.item() == value


def test_utf8_and_other_bytes_survive(put, tmp_path):
    text = "1 qid:é 1:1 #docid = café\n".encode() + b"0 qid:\xff 1:2 #docid = caf\xe9\n"
    path = put(text)
    data = read_letor(path)
    assert data.qids.tolist() == ["é", "\udcff"]
    assert data.docids.tolist() == ["café", "caf\udce9"]
    write_letor(data, tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == text


# Where the text comes from.


@pytest.mark.parametrize("ending", ENDINGS)
def test_compressed_files(put, ending):
    data = read_letor(put(squeeze(TEXT, ending), "data.txt" + ending))
    assert data.equals(read_letor(put(TEXT, "plain.txt")))


@pytest.mark.parametrize("ending", COMPRESS)
def test_several_compressed_members_are_one_text(put, ending):
    parts = [squeeze(part, ending) for part in (TEXT[:20], TEXT[20:70], TEXT[70:])]
    data = read_letor(put(b"".join(parts), "data.txt" + ending))
    assert data.equals(read_letor(put(TEXT, "plain.txt")))


def test_a_large_compressed_file_in_many_chunks(put, monkeypatch):
    monkeypatch.setattr(text_files, "_CHUNK_BYTES", dict.fromkeys(text_files.COMPRESSIONS, 7))
    text = random_text()
    for ending in COMPRESS:
        data = read_letor(put(squeeze(text, ending), "data.txt" + ending))
        assert data.equals(read_letor(put(text, "plain.txt")))


def test_several_files_make_one_data_set(put):
    a = put("1 qid:1 1:1 #docid = a\n0 qid:2 1:2\n", "a.txt")
    b = put("2 qid:1 3:3 #docid = b\n", "b.txt")
    for data in (read_letor(a, b), read_letor([a, str(b)]), read_letor([a], b)):
        assert data.qids.tolist() == ["1", "2"]
        assert data.X.tolist() == [[1, 0, 0], [0, 0, 3], [2, 0, 0]]
        assert data.y.tolist() == [1, 2, 0]
        assert data.docids.tolist() == ["a", "b", ""]
        assert data.source_rows.tolist() == [0, 2, 1]


def test_several_files_keep_their_headers(tmp_path):
    parts = [
        RankingData.from_arrays(
            np.array([[1, 2], [3, 4]], dtype=np.float32), [2, 1], qid=[name] * 2, topk=2,
            feature_names=["bm25", "length"], query_weight=[0.5], query_text=[f"text {name}"],
        )
        for name in "ab"
    ]  # fmt: skip
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for part, path in zip(parts, paths, strict=True):
        write_letor(part, path)
    assert read_letor(paths).equals(concatenate(parts))


def test_queries_that_lie_apart(put):
    text = "0 qid:b 1:1 #r0\n1 qid:a 1:2 #r1\n2 qid:b 1:3 #r2\n0 qid:c 1:4 #r3\n1 qid:a 1:5 #r4\n"
    data = read_letor(put(text))
    assert data.qids.tolist() == ["b", "a", "c"]
    assert data.docids.tolist() == ["r0", "r2", "r1", "r4", "r3"]
    assert data.X.ravel().tolist() == [1, 3, 2, 5, 4]
    assert data.source_rows.tolist() == [0, 2, 1, 4, 3]
    values = np.arange(5) * 10
    assert data.regroup(values).tolist() == [0, 20, 10, 40, 30]
    assert data.restore(data.regroup(values)).tolist() == values.tolist()
    assert data.regroup(data.restore(values)).tolist() == values.tolist()
    assert data.restore(data.X.ravel()).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("n_features", [None, 9, 30])
@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("block", [1, 64, 1000])
def test_blocks_of_any_size_give_the_same(put, monkeypatch, block, ending, n_features):
    path = put(squeeze(b"# first\n\n" + random_text(), ending), "data.txt" + ending)
    whole = read_letor(path, n_features=n_features)
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    pieces = read_letor(path, n_features=n_features)
    assert pieces.equals(whole)
    assert pieces.source_rows.tolist() == whole.source_rows.tolist()
    assert whole.X.shape == (200, n_features or 9)


def test_blocks_are_small_in_the_test_above(put, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    text = random_text()
    sizes = [len(block) for block in text_files.read_blocks(os.fspath(put(text)))]
    assert sum(sizes) == len(text)
    assert len(sizes) > 50


def test_a_line_longer_than_a_block(put, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    long = "1 qid:1 " + " ".join(f"{j}:{j}" for j in range(1, 400)) + " #docid = " + "x" * 300
    data = read_letor(put(f"0 qid:1 1:1\n{long}\n2 qid:2 400:7\n"))
    assert data.X.shape == (3, 400)
    assert data.X[1].tolist() == [*range(1, 400), 0]
    assert (data.X[2, 399], data.docids[1]) == (7, "x" * 300)


@pytest.mark.parametrize("in_flight", [1, 2, 4])
def test_blocks_stay_as_they_are_while_in_flight(put, monkeypatch, in_flight):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 16)
    text = b"".join(bytes([65 + i % 26]) * (900 if i % 5 == 4 else 9) + b"\n" for i in range(60))
    held, joined = [], b""
    for block in text_files.read_blocks(os.fspath(put(text)), in_flight=in_flight):
        held = [*held, (block, block.tobytes())][-in_flight:]
        joined += block.tobytes()
        assert all(array.tobytes() == then for array, then in held)
    assert joined == text


def test_progress_counts_the_bytes(put, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 500)
    text, seen = random_text(), []
    read_letor(put(gzip.compress(text), "data.txt.gz"), progress=seen.append)
    assert sum(seen) == len(text)
    assert len(seen) > 1


def test_scikit_learn_reads_the_same(put):
    path = put(random_text(300, seed=3))
    data = read_letor(path)
    X, y, qid = load_svmlight_file(os.fspath(path), query_id=True, zero_based=False)
    np.testing.assert_array_equal(data.X, data.regroup(X.toarray()))
    np.testing.assert_array_equal(data.y, data.regroup(y))
    assert data.groups.spread(data.qids).tolist() == [str(q) for q in data.regroup(qid)]


def test_scikit_learn_reads_what_is_written(put, tmp_path):
    data = read_letor(put(random_text(50, seed=4)))
    write_letor(data, tmp_path / "out.txt")
    X, y, _ = load_svmlight_file(os.fspath(tmp_path / "out.txt"), query_id=True, zero_based=False)
    np.testing.assert_array_equal(data.X, X.toarray())
    np.testing.assert_array_equal(data.y, y)


# Options.


def test_null_as_nan(put):
    path = put("1 qid:1 1:NULL 2:3\n0 qid:1 2:NULL\n")
    data = read_letor(path, missing="nan")
    np.testing.assert_array_equal(data.X, [[np.nan, 3], [0, np.nan]])
    assert data.missing == "nan"


def test_null_is_an_error_by_default(put):
    path = put("1 qid:1 1:3\n0 qid:1 1:NULL\n")
    with pytest.raises(errors.MissingValueError) as caught:
        read_letor(path)
    assert str(caught.value) == (
        f"{path}:2: expected a number, got '1:NULL'; missing='nan' keeps it as NaN"
    )


def test_n_features(put):
    path = put("1 qid:1 1:1 3:3\n")
    assert read_letor(path, n_features=3).X.tolist() == [[1, 0, 3]]
    assert read_letor(path, n_features=5).X.tolist() == [[1, 0, 3, 0, 0]]
    with pytest.raises(errors.FeatureIdError) as caught:
        read_letor(path, n_features=2)
    assert str(caught.value) == f"{path}:1: expected a feature id from 1 to 2, got '3:3'"


@pytest.mark.parametrize("n_features", [0, -1, 1_000_001])
def test_bad_n_features(put, n_features):
    with pytest.raises(errors.UsageError, match=f"expected n_features from 1 .* got {n_features}"):
        read_letor(put(TEXT), n_features=n_features)


def test_bad_missing(put):
    with pytest.raises(errors.UsageError, match="missing='error' or 'nan', got 'zero'"):
        read_letor(put(TEXT), missing="zero")


def test_no_path():
    with pytest.raises(errors.UsageError, match="at least one path"):
        read_letor()


def test_float32(put):
    path = put("1 qid:1 1:0.1 2:3.4028235677973362e38\n")
    data = read_letor(path, dtype="float32")
    assert data.X.dtype == np.float32
    assert data.X.tolist() == [[np.float32(0.1), np.finfo(np.float32).max]]
    assert read_letor(path, dtype=np.float64).X.tolist() == [[0.1, 3.4028235677973362e38]]


@pytest.mark.parametrize("dtype", ["int32", "float16", "complex128"])
def test_other_dtypes(put, dtype):
    with pytest.raises(errors.UsageError, match=f"float32 or float64, got .*{dtype}"):
        read_letor(put(TEXT), dtype=dtype)


def test_max_bytes(put):
    path = put("1 qid:1 1000:1\n0 qid:1 1:1\n")
    assert read_letor(path, max_bytes=2 * 1000 * 8).X.nbytes == 2 * 1000 * 8
    with pytest.raises(errors.MemoryLimitError, match=r"2 rows x 1,000 features") as caught:
        read_letor(path, max_bytes=2 * 1000 * 8 - 1)
    assert caught.value.path == os.fspath(path)
    assert read_letor(path, max_bytes=2 * 1000 * 4, dtype=np.float32).X.nbytes == 2 * 1000 * 4


def test_max_bytes_across_blocks(put, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    lines = [f"1 qid:1 {j}:1\n" for j in (1, 2, 3, 100, 5, 6, 7, 8, 9, 200)]
    path = put("".join(lines))
    assert read_letor(path, max_bytes=10 * 200 * 8).X.shape == (10, 200)
    with pytest.raises(errors.MemoryLimitError):
        read_letor(path, max_bytes=10 * 200 * 8 - 1)


def test_one_wide_line_is_refused_early(put):
    with pytest.raises(errors.MemoryLimitError, match="1,000,000 features"):
        read_letor(put("1 qid:1 1000000:1\n" * 3000))


# What cannot be read.

NOT_A_LABEL = "a label (a number) at the start of the line"
NO_QID = "qid:<query id> after the label"
NOT_A_FEATURE = "a feature as <id>:<value>"
NOT_A_VALUE = "a number as the feature's value"
NOT_AN_ID = "a feature id from 1 to 1000000"
BAD_LINES = [
    ("x qid:1 1:1", errors.MalformedLineError, NOT_A_LABEL, "x"),
    ("qid:1 1:1", errors.MalformedLineError, NOT_A_LABEL, "qid:1"),
    ("1,5 qid:1 1:1", errors.MalformedLineError, NOT_A_LABEL, "1,5"),
    ("0x1 qid:1 1:1", errors.MalformedLineError, NOT_A_LABEL, "0x1"),
    ("1_0 qid:1 1:1", errors.MalformedLineError, NOT_A_LABEL, "1_0"),
    ("NULL qid:1 1:1", errors.MalformedLineError, NOT_A_LABEL, "NULL"),
    ("1", errors.MalformedLineError, NO_QID, "the end of the line"),
    ("1 #qid:1", errors.MalformedLineError, NO_QID, "the end of the line"),
    ("1 1:1", errors.MalformedLineError, NO_QID, "1:1"),
    ("1 qid: 1:1", errors.MalformedLineError, NO_QID, "qid:"),
    ("1 QID:1 1:1", errors.MalformedLineError, NO_QID, "QID:1"),
    ("1 qid:1 1", errors.MalformedLineError, NOT_A_FEATURE, "1"),
    ("1 qid:1 :1", errors.MalformedLineError, NOT_A_FEATURE, ":1"),
    ("1 qid:1 a:1", errors.MalformedLineError, NOT_A_FEATURE, "a:1"),
    ("1 qid:1 -1:1", errors.MalformedLineError, NOT_A_FEATURE, "-1:1"),
    ("1 qid:1 1.5:1", errors.MalformedLineError, NOT_A_FEATURE, "1.5:1"),
    ("1 qid:1 1 :1", errors.MalformedLineError, NOT_A_FEATURE, "1"),
    ("1 qid:1 1:", errors.MalformedLineError, NOT_A_VALUE, "1:"),
    ("1 qid:1 1:a", errors.MalformedLineError, NOT_A_VALUE, "1:a"),
    ("1 qid:1 1:1,5", errors.MalformedLineError, NOT_A_VALUE, "1:1,5"),
    ("1 qid:1 1:1_0", errors.MalformedLineError, NOT_A_VALUE, "1:1_0"),
    ("1 qid:1 1:0x10", errors.MalformedLineError, NOT_A_VALUE, "1:0x10"),
    ("1 qid:1 1:1:2", errors.MalformedLineError, NOT_A_VALUE, "1:1:2"),
    ("1 qid:1 1:1e", errors.MalformedLineError, NOT_A_VALUE, "1:1e"),
    ("1 qid:1 1:null", errors.MalformedLineError, NOT_A_VALUE, "1:null"),
    (
        "1 qid:1 1:" + "9" * 50 + "x",
        errors.MalformedLineError,
        NOT_A_VALUE,
        "1:" + "9" * 38 + "...",
    ),
    ("nan qid:1 1:1", errors.NonFiniteError, "a finite label", "nan"),
    ("-Inf qid:1 1:1", errors.NonFiniteError, "a finite label", "-Inf"),
    ("1e999 qid:1 1:1", errors.NonFiniteError, "a finite label", "1e999"),
    ("1 qid:1 1:NaN", errors.NonFiniteError, "a finite feature value", "1:NaN"),
    ("1 qid:1 1:inf", errors.NonFiniteError, "a finite feature value", "1:inf"),
    ("1 qid:1 1:-infinity", errors.NonFiniteError, "a finite feature value", "1:-infinity"),
    ("1 qid:1 1:1e999", errors.NonFiniteError, "a finite feature value", "1:1e999"),
    ("1 qid:1 1:-1e999", errors.NonFiniteError, "a finite feature value", "1:-1e999"),
    ("-1 qid:1 1:1", errors.NegativeLabelError, "a label of 0 or more", "-1"),
    ("-1e-300 qid:1 1:1", errors.NegativeLabelError, "a label of 0 or more", "-1e-300"),
    ("1 qid:1 1:1 1:1", errors.DuplicateFeatureError, "each feature id once per line", "1:1"),
    ("1 qid:1 2:1 02:3", errors.DuplicateFeatureError, "each feature id once per line", "02:3"),
    (
        "1 qid:1 90:1 1:1 90:2",
        errors.DuplicateFeatureError,
        "each feature id once per line",
        "90:2",
    ),
    ("1 qid:1 0:1", errors.FeatureIdError, NOT_AN_ID, "0:1"),
    ("1 qid:1 1000001:1", errors.FeatureIdError, NOT_AN_ID, "1000001:1"),
    ("1 qid:1 99999999999999999999:1", errors.FeatureIdError, NOT_AN_ID, "99999999999999999999:1"),
]


@pytest.mark.parametrize(("line", "error", "expected", "got"), BAD_LINES)
def test_bad_lines(put, line, error, expected, got):
    path = put(f"1 qid:1 1:0.5\n\n{line}\n1 qid:1 1:1\n")
    with pytest.raises(errors.DataError) as caught:
        read_letor(path)
    assert type(caught.value) is error
    assert str(caught.value) == f"{path}:3: expected {expected}, got {got!r}"
    assert (caught.value.path, caught.value.line) == (os.fspath(path), 3)


@pytest.mark.parametrize("block", [1, 64, 300])
@pytest.mark.parametrize("bad", [1, 2, 77, 200])
def test_line_numbers_across_blocks(put, monkeypatch, block, bad):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    lines = random_text().splitlines(keepends=True)
    lines[0] = b"# a comment\n" if bad > 1 else lines[0]
    lines[bad - 1] = b"1 qid:1 1:oops\r\n"
    path = put(b"".join(lines))
    with pytest.raises(errors.MalformedLineError, match=re.escape(f"{path}:{bad}: ")):
        read_letor(path)


def test_the_first_of_several_bad_lines_is_named(put, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    path = put("1 qid:1 1:1\n" * 40 + "-1 qid:1 1:1\n" + "x\n" * 40)
    with pytest.raises(errors.NegativeLabelError) as caught:
        read_letor(path)
    assert caught.value.line == 41


def test_the_right_file_of_several_is_named(put):
    good, bad = put(TEXT, "good.txt"), put("1 qid:1 1:1\nx\n", "bad.txt")
    with pytest.raises(errors.MalformedLineError) as caught:
        read_letor(good, bad)
    assert (caught.value.path, caught.value.line) == (os.fspath(bad), 2)


def test_too_large_for_float32(put):
    path = put("1 qid:1 1:1e39\n")
    with pytest.raises(errors.NonFiniteError) as caught:
        read_letor(path, dtype=np.float32)
    assert str(caught.value) == f"{path}:1: expected a finite feature value, got '1:1e39'"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("text", [b"", b"\n", b"# only a comment\n\n \t\r\n"])
def test_empty_files(put, text, ending):
    path = put(squeeze(text, ending), "data.txt" + ending)
    with pytest.raises(errors.EmptyDataError) as caught:
        read_letor(path)
    assert str(caught.value) == f"{path}: expected at least one document, got none"


@pytest.mark.parametrize("ending", COMPRESS)
def test_truncated_files(put, ending):
    whole = squeeze(TEXT, ending)
    for size in range(len(whole)):
        path = put(whole[:size], "data.txt" + ending)
        with pytest.raises(errors.TruncatedFileError) as caught:
            read_letor(path)
        assert str(caught.value) == (
            f"{path}: expected a complete {ending} file, got one that ends too early; "
            "is the download whole?"
        )


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_truncated_second_member(put, ending):
    path = put(squeeze(TEXT, ending) + squeeze(TEXT, ending)[:-5], "data.txt" + ending)
    with pytest.raises(errors.TruncatedFileError):
        read_letor(path)


@pytest.mark.parametrize("ending", COMPRESS)
def test_files_that_are_not_what_they_are_called(put, ending):
    path = put(TEXT, "data.txt" + ending)
    start = f"{path}: expected {ending} compressed text, got something else ("
    with pytest.raises(errors.CorruptFileError, match=re.escape(start)):
        read_letor(path)


@pytest.mark.parametrize("ending", COMPRESS)
def test_damage_inside_a_compressed_file(put, ending):
    whole = bytearray(squeeze(random_text(), ending))
    middle = len(whole) // 2
    whole[middle : middle + 40] = bytes(40)
    path = put(bytes(whole), "data.txt" + ending)
    with pytest.raises(
        (errors.CorruptFileError, errors.TruncatedFileError, errors.MalformedLineError)
    ):
        read_letor(path)


def test_a_missing_file(tmp_path):
    for name in ("none.txt", "none.txt.gz"):
        with pytest.raises(FileNotFoundError, match=re.escape(name)):
            read_letor(tmp_path / name)


@pytest.mark.parametrize(
    "header",
    [
        *("{", "[]", "1", "", '{"topk": "x"}', '{"topk": []}', '{"dtype": "x"}'),
        *('{"dtype": "int32"}', '{"query_weight": ["x"]}', '{"query_text": 5}'),
        *('{"doc_text": []}', '{"feature_names": 1}', '{"scaled": 1}', '{"scaled": ""}'),
    ],
)
def test_a_damaged_header(put, header):
    path = put(f"#podium {header}\n1 qid:1 1:1\n")
    start = f"{path}:1: expected JSON after '#podium ', got something else ("
    with pytest.raises(errors.CorruptFileError, match=re.escape(start)):
        read_letor(path)


@pytest.mark.parametrize(
    "header", ['{"feature_names": ["a", "b"]}', '{"query_weight": [1, 2]}', '{"query_text": []}']
)
def test_a_header_for_other_data(put, header):
    with pytest.raises(errors.LengthMismatchError, match=r"expected 1 .* got"):
        read_letor(put(f"#podium {header}\n1 qid:1 1:1\n"))


# Writing.


def test_what_is_written(put, tmp_path):
    write_letor(read_letor(put(TEXT)), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == (
        b"2 qid:10 1:0.5 2:0 3:1 #docid = A inc = 1 prob = 2\n"
        b"0 qid:10 1:0 2:0.25 3:0 #docid = B\n"
        b"1 qid:11 1:-0.001 2:7 3:0 #docid = C\n"
    )


def test_docids_without_comments_are_written(tmp_path):
    data = RankingData.from_arrays([[1.0], [2.0]], [0, 1], qid=[1, 1], docid=["A", ""])
    write_letor(data, tmp_path / "out.txt")
    lines = (tmp_path / "out.txt").read_bytes().splitlines()
    assert [line for line in lines if not line.startswith(b"#")] == [
        b"0 qid:1 1:1 #docid = A",
        b"1 qid:1 1:2",
    ]


TOKENS = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\r\n#"), min_size=1, max_size=6
) | st.sampled_from(["1", "a:b", "=", "docid", "\udcff", "é"])
TEXTS = st.text(max_size=10) | st.sampled_from(["", '"quoted"', "two\nlines", "# a b\t", "\udc80"])
COMMENTS = st.one_of(
    st.tuples(
        TOKENS, st.sampled_from(["docid = {} inc = 1 prob = 2", " docid={}", "x y docid\t= {}"])
    ),
    st.tuples(TOKENS.filter(lambda t: not t.startswith("docid=")), st.sampled_from(["{}", " {} "])),
    st.tuples(st.just(""), st.sampled_from(["", "two words", " # "[:1] + "a b"])),
)


def column(draw, strategy, n):
    return draw(st.lists(strategy, min_size=n, max_size=n))


@st.composite
def ranking_data(draw):
    """Any data LETOR text can hold, all optional parts there or not."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n, q, d = sum(sizes), len(sizes), draw(st.integers(0, 4))
    dtype, width = draw(st.sampled_from([(np.float64, 64), (np.float32, 32)]))
    missing = draw(st.sampled_from(["error", "nan"]))
    number = st.floats(width=width, allow_nan=missing == "nan", allow_infinity=False)
    topk = draw(st.none() | st.integers(1, 5))
    label = st.floats(0, 1e300) | st.integers(0, 4) if topk is None else st.integers(0, topk)
    qids = draw(st.lists(TOKENS, min_size=q, max_size=q, unique=True))
    scaled = draw(st.sampled_from([None, "minmax", "zscore"]))
    options = {"topk": topk, "scaled": scaled, "missing": missing}
    kind = draw(st.sampled_from(["comments", "docids", "nothing"]))
    if kind == "comments":
        pairs = column(draw, COMMENTS, n)
        comments, docids = [form.format(token) for token, form in pairs], [t for t, _ in pairs]
        options["comment_column"] = Strings.of(comments) if any(comments) else None
        options["docid_column"] = Strings.of(docids) if any(docids) else None
    if kind == "docids":
        options["docid_column"] = Strings.of(
            [draw(TOKENS), *column(draw, st.just("") | TOKENS, n - 1)]
        )
    if draw(st.booleans()):
        options["feature_names"] = tuple(column(draw, TEXTS, d))
    if draw(st.booleans()):
        options["query_weight"] = [draw(st.floats(0.1, 9)), *column(draw, st.floats(0, 9), q - 1)]
    if draw(st.booleans()):
        options["query_text"] = Strings.of(column(draw, TEXTS, q))
    if draw(st.booleans()):
        names = draw(st.lists(TEXTS, max_size=2, unique=True))
        options["doc_text"] = {name: Strings.of(column(draw, TEXTS, n)) for name in names}
    return RankingData(
        X=np.array(column(draw, number, n * d), dtype=dtype).reshape(n, d),
        y=np.array(column(draw, label, n), dtype=np.float64),
        groups=Groups.from_sizes(sizes),
        qids=np.array([*qids, None], dtype=object)[:-1],
        **options,
    )


@pytest.mark.filterwarnings("ignore::podium.errors.DuplicateDocumentWarning")
@settings(max_examples=soak_cases(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=ranking_data(), ending=st.sampled_from(ENDINGS))
def test_what_is_written_reads_back_the_same(tmp_path, data, ending):
    path, twin = tmp_path / f"data.txt{ending}", tmp_path / f"other.txt{ending}"
    write_letor(data, path)
    again = read_letor(path, missing=data.missing)
    assert again.equals(data)
    known = ~np.isnan(data.X)
    assert again.X[known].tobytes() == data.X[known].tobytes()  # -0.0 is not 0.0
    write_letor(again, twin)
    assert twin.read_bytes() == path.read_bytes()


def test_docids_alone_read_back_the_same(tmp_path):
    data = RankingData.from_arrays([[1.0], [2.0]], [0, 1], qid=[1, 1], docid=["A", "B"])
    write_letor(data, tmp_path / "data.txt")
    assert read_letor(tmp_path / "data.txt").equals(data)


def test_more_rows_than_a_batch(tmp_path):
    n = 25_000
    data = RankingData.from_arrays(
        np.arange(n)[:, None] / 8, np.arange(n) % 3, qid=np.arange(n) // 7
    )
    write_letor(data, tmp_path / "data.txt")
    assert read_letor(tmp_path / "data.txt").equals(data)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text("ab #=docid\t\r\n1:", max_size=12), kind=st.sampled_from(["docid", "comment"]))
@example(text="two words", kind="docid")
@example(text="x\n1 qid:9 1:1", kind="docid")
@example(text="x\n1 qid:9 1:1", kind="comment")
@example(text="x\r", kind="comment")
def test_odd_docids_and_comments_are_kept_or_refused(tmp_path, text, kind):
    data = RankingData(
        X=np.ones((2, 1)),
        y=np.zeros(2),
        groups=Groups.from_sizes([2]),
        qids=np.array(["q"], dtype=object),
        **{
            f"{kind}_column": Strings.of(
                ["plain and simple" if kind == "comment" else "plain", text]
            )
        },
    )
    path = tmp_path / "data.txt"
    path.unlink(missing_ok=True)
    try:
        write_letor(data, path)
    except errors.DataError:
        assert not path.exists()
    else:
        again = read_letor(path)
        assert getattr(again, f"{kind}_column") == getattr(data, f"{kind}_column")
        assert len(again) == len(data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_same_data_same_bytes(put, tmp_path, monkeypatch, ending):
    data = read_letor(put(random_text()))
    write_letor(data, tmp_path / f"a.txt{ending}")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write_letor(data, tmp_path / f"another.txt{ending}")
    first = (tmp_path / f"a.txt{ending}").read_bytes()
    assert first == (tmp_path / f"another.txt{ending}").read_bytes()
    assert read_letor(tmp_path / f"a.txt{ending}").equals(data)
    assert ending == "" or len(first) < len(random_text())


@pytest.mark.parametrize("qid", ["a b", "a\tb", "a\nb", "a\rb", "a#b", ""])
def test_query_ids_that_cannot_be_written(tmp_path, qid):
    data = RankingData.from_arrays([[1.0]], [1], qid=[qid])
    with pytest.raises(
        errors.DataError, match="query ids without spaces or '#' for LETOR text, got"
    ) as caught:
        write_letor(data, tmp_path / "data.txt")
    assert repr(qid) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("old", [None, b"precious"])
def test_a_failure_half_way_leaves_no_trace(tmp_path, monkeypatch, ending, old):
    path, real, calls = tmp_path / f"data.txt{ending}", kernels.format_letor, []
    if old is not None:
        path.write_bytes(old)

    def fails_the_second_time(*arguments):
        calls.append(path.exists())
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    n = 25_000
    data = RankingData.from_arrays(np.ones((n, 1)), np.zeros(n), qid=np.arange(n) // 5)
    monkeypatch.setattr(kernels, "format_letor", fails_the_second_time)
    with pytest.raises(KeyboardInterrupt):
        write_letor(data, path)
    assert len(calls) >= 2  # the file was never there (or the old one always was) while writing
    assert set(calls) == {old is not None}
    assert [(p, p.read_bytes()) for p in tmp_path.iterdir()] == ([(path, old)] if old else [])


def test_a_refused_write_keeps_the_old_file(put):
    path = put(TEXT)
    with pytest.raises(errors.DataError):
        write_letor(RankingData.from_arrays([[1.0]], [1], qid=["a b"]), path)
    assert path.read_bytes() == TEXT
    assert list(path.parent.iterdir()) == [path]


def test_a_write_replaces_the_old_file_and_others_may_read_it(put):
    path = put("something else")
    old = os.umask(0o022)
    try:
        write_letor(RankingData.from_arrays([[1.0]], [1], qid=[1]), path)
    finally:
        os.umask(old)
    assert path.read_bytes() == b"1 qid:1 1:1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_letor(RankingData.from_arrays([[1.0]], [1], qid=[1]), tmp_path / "none" / "data.txt")
    assert list(tmp_path.iterdir()) == []


def test_the_memory_limit_counts_all_files_and_the_final_width(put):
    text = "0 qid:1 1000:1\n"
    first, second = put(text, "a.txt"), put(text.replace("qid:1", "qid:2"), "b.txt")
    assert len(read_letor(first, max_bytes=8000)) == 1
    with pytest.raises(errors.MemoryLimitError):
        read_letor(first, second, max_bytes=8000)
    with pytest.raises(errors.MemoryLimitError):
        read_letor(put("0 qid:1 1:1\n"), n_features=1001, max_bytes=8000)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.CorruptFileError, match="expected a file, got a pipe; save"):
        read_letor(tmp_path / "pipe")


def test_a_byte_order_mark_is_no_label(put):
    assert read_letor(put(b"\xef\xbb\xbf1 qid:1 1:2\n")).y.tolist() == [1]


@pytest.mark.parametrize(
    "header",
    ['{"topk": 1e400}', '{"topk": 1.5}', '{"feature_names": [1]}', '{"query_weight": [[1], [2]]}',
     "[" * 10000, '{"docids": "x"}', "{", "[1]", '{"dtype": "int8"}'],
)  # fmt: skip
def test_odd_headers_are_corrupt(put, header):
    with pytest.raises(errors.CorruptFileError, match=":1: expected JSON after"):
        read_letor(put(f"#podium {header}\n0 qid:1 1:1\n"))


def test_a_header_does_not_cost_a_copy(put, monkeypatch):
    found, real = [], row_allocation._are_adjacent
    monkeypatch.setattr(
        row_allocation, "_are_adjacent", lambda parts: found.append(real(parts)) or found[-1]
    )
    data = read_letor(put('#podium {"dtype": "float32"}\n' + "0 qid:1 1:1\n1 qid:1 1:2\n"))
    assert data.X.dtype == np.float32
    assert data.X.tolist() == [[1], [2]]
    assert found == [True]


def test_writing_through_a_link_keeps_the_link(tmp_path):
    data = make_synthetic(2, seed=0)
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_letor(data, tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert read_letor(tmp_path / "real.txt").equals(data)


def test_only_files_are_written(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="not a file"):
        write_letor(make_synthetic(2, seed=0), tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_letor(make_synthetic(2, seed=0), tmp_path / "nowhere" / "x.txt")


def test_a_header_says_that_values_are_missing(tmp_path):
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    data = RankingData.from_arrays(X, [0, 1], qid=[1, 1], missing="nan")
    write_letor(data, tmp_path / "holes.txt")
    again = read_letor(tmp_path / "holes.txt")  # without missing="nan"
    assert again.missing == "nan"
    np.testing.assert_array_equal(again.X, X)
    (tmp_path / "whole.txt").write_text("1 qid:2 1:1 2:2\n")
    both = read_letor(tmp_path / "holes.txt", tmp_path / "whole.txt")
    assert both.missing == "nan"


def test_a_header_with_another_meaning_of_missing_is_corrupt(tmp_path):
    (tmp_path / "bad.txt").write_text('#podium {"missing": "zero"}\n1 qid:1 1:1\n')
    with pytest.raises(errors.CorruptFileError, match="missing 'zero'"):
        read_letor(tmp_path / "bad.txt")
