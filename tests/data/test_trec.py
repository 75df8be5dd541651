"""TREC files: qrels and runs in and out, and documents matched by their ids."""

import gzip
import os
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import podium
from podium import errors
from podium.data import (
    Groups,
    Qrels,
    RankingData,
    Run,
    Strings,
    make_synthetic,
    match_documents,
    read_qrels,
    read_run,
    text_files,
    write_qrels,
    write_run,
)

QRELS = "q2 0 d1 1\nq1 0 d1 0\nq2 0 d9 -1\nq1\t0\td3  2.5\r\n\n"
RUN = "q1 Q0 d3 1 0.9 me\nq1 Q0 d1 2 0.8 me\nq2 Q0 d9 1 -1e-3 me\n"


@pytest.fixture
def put(tmp_path):
    def write(text, name="table.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def as_dict(table):
    """{(query, document): value}"""
    qids = table.groups.spread(table.qids).tolist()
    return dict(zip(zip(qids, table.docids, strict=True), table.values.tolist(), strict=True))


def assert_same(a, b):
    assert type(a) is type(b)
    assert a.qids.tolist() == b.qids.tolist()
    assert a.groups == b.groups
    assert a.docids == b.docids
    assert a.values.tobytes() == b.values.tobytes()


# Reading.


def test_read_qrels(put):
    qrels = read_qrels(put(QRELS))
    assert isinstance(qrels, Qrels)
    assert qrels.qids.tolist() == ["q2", "q1"]
    assert qrels.groups == Groups.from_sizes([2, 2])
    assert list(qrels.docids) == ["d1", "d9", "d1", "d3"]
    assert qrels.values.tolist() == [1, -1, 0, 2.5]
    assert len(qrels) == 4
    assert repr(qrels) == "Qrels(2 queries, 4 documents)"


def test_read_run(put):
    run = read_run(put(RUN))
    assert isinstance(run, Run)
    assert as_dict(run) == {("q1", "d3"): 0.9, ("q1", "d1"): 0.8, ("q2", "d9"): -0.001}


def test_compressed_and_without_a_last_newline(put):
    assert_same(read_qrels(put(gzip.compress(QRELS.encode()), "q.gz")), read_qrels(put(QRELS)))
    assert_same(read_run(put(RUN.rstrip("\n"))), read_run(put(RUN, "other.txt")))


@pytest.mark.parametrize("block", [1, 16, 50])
def test_blocks_of_any_size_give_the_same(put, monkeypatch, block):
    rng = np.random.default_rng(0)
    lines = [f"q{rng.integers(9)} 0 d{i} {rng.integers(4)}\n" for i in range(200)]
    path = put("".join(lines))
    whole = read_qrels(path)
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    assert_same(read_qrels(path), whole)
    assert len(whole) == 200


def test_other_bytes_survive(put, tmp_path):
    text = b"q\xff 0 caf\xe9 1\n" + "qé 0 日本 0\n".encode()
    qrels = read_qrels(put(text))
    assert list(qrels.docids) == ["caf\udce9", "日本"]
    write_qrels(qrels, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == text


FOUR = "4 columns: query 0 document label"
SIX = "6 columns: query Q0 document rank score tag"


@pytest.mark.parametrize(
    ("read", "line", "error", "expected", "got"),
    [
        (read_qrels, "q1 0 d1", errors.MalformedLineError, FOUR, "q1 0 d1"),
        (read_qrels, "  q1 0 d1 1 x \r", errors.MalformedLineError, FOUR, "q1 0 d1 1 x"),
        (read_qrels, "word", errors.MalformedLineError, FOUR, "word"),
        (read_qrels, "q1 0 d1 one", errors.MalformedLineError, "a finite label", "one"),
        (read_qrels, "q1 0 d1 nan", errors.NonFiniteError, "a finite label", "nan"),
        (read_qrels, "q1 0 d1 -Inf", errors.NonFiniteError, "a finite label", "-Inf"),
        (read_qrels, "q1 0 d1 1e999", errors.NonFiniteError, "a finite label", "1e999"),
        (read_run, "q1 0 d1 1", errors.MalformedLineError, SIX, "q1 0 d1 1"),
        (read_run, "q1 Q0 d1 1 0.5", errors.MalformedLineError, SIX, "q1 Q0 d1 1 0.5"),
        (read_run, "a b c d 5 f g", errors.MalformedLineError, SIX, "a b c d 5 f g"),
        (read_run, "q1 Q0 d1 1 0,5 me", errors.MalformedLineError, "a finite score", "0,5"),
        (read_run, "q1 Q0 d1 1 NaN me", errors.NonFiniteError, "a finite score", "NaN"),
        (read_run, "q1 Q0 d1 1 inf me", errors.NonFiniteError, "a finite score", "inf"),
        (read_run, "q1 Q0 d1 1 -1e999 me", errors.NonFiniteError, "a finite score", "-1e999"),
        (read_qrels, "x" * 50, errors.MalformedLineError, FOUR, "x" * 40 + "..."),
    ],
)
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_bad_lines(put, monkeypatch, block, read, line, error, expected, got):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    good = "q0 0 d0 1\n" if read is read_qrels else "q0 Q0 d0 1 0.5 me\n"
    path = put(f"{good}\n{line}\n")
    with pytest.raises(errors.DataError) as caught:
        read(path)
    assert type(caught.value) is error
    assert str(caught.value) == f"{path}:3: expected {expected}, got {got!r}"


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize("text", ["", "\n", " \t\r\n\n"])
def test_empty_files(put, read, text):
    path = put(text)
    with pytest.raises(errors.EmptyDataError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: expected at least one line, got an empty file"


@pytest.mark.parametrize("read", [read_qrels, read_run])
def test_missing_and_broken_files(put, tmp_path, read):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.txt")
    with pytest.raises(errors.CorruptFileError):
        read(put(QRELS, "plain.gz"))
    with pytest.raises(errors.TruncatedFileError):
        read(put(gzip.compress(QRELS.encode())[:-3], "half.gz"))


def test_a_document_twice(put):
    path = put("q1 0 d1 1\nq2 0 d1 1\nq1 0 d2 0\nq1 0 d1 1\n")
    message = f"{path}: expected each document once per query, got 'd1' twice for query 'q1'"
    with pytest.raises(errors.DataError, match=re.escape(message)):
        read_qrels(path)
    with pytest.raises(errors.DataError, match="'d' twice for query 'q'"):
        read_run(put("q Q0 d 1 2 t\nq Q0 d 2 1 t\n"))


# Writing.

WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\r\n"), min_size=1, max_size=5
) | st.sampled_from(["#", "0", "\udcff"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-2, 4).map(float)


@st.composite
def tables(draw, kind):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    qids = draw(st.lists(WORDS, min_size=len(sizes), max_size=len(sizes), unique=True))
    docids = [draw(st.lists(WORDS, min_size=n, max_size=n, unique=True)) for n in sizes]
    n = sum(sizes)
    values = draw(st.lists(NUMBERS, min_size=n, max_size=n))
    return kind(
        np.array([*qids, None], dtype=object)[:-1],
        Groups.from_sizes(sizes),
        Strings.of(d for part in docids for d in part),
        np.array(values),
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(Qrels), ending=st.sampled_from(["", ".gz", ".zst"]))
def test_qrels_read_back_the_same(tmp_path, table, ending):
    path = tmp_path / f"qrels{ending}"
    write_qrels(table, path)
    assert_same(read_qrels(path), table)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(Run), ending=st.sampled_from(["", ".xz", ".bz2"]))
def test_runs_read_back_the_same(tmp_path, table, ending):
    path = tmp_path / f"run{ending}"
    write_run(table, path, tag="tag")
    rows = table.groups.order(table.values)  # best first, whatever the order in memory
    ranked = Run(table.qids, table.groups, table.docids.take(rows), table.values[rows])
    assert_same(read_run(path), ranked)


def test_infinite_scores_have_no_place_in_a_run(tmp_path):
    data = make_synthetic(1, n_docs=2, seed=0)
    with pytest.raises(errors.DataError, match="finite"):
        write_run(Run.from_scores(data, [1.0, -np.inf]), tmp_path / "x.run")
    assert os.listdir(tmp_path) == []


def test_a_document_twice_is_refused_before_it_is_joined():
    data = RankingData.from_arrays([[0.0]] * 2, [1, 0], qid=[1, 1], docid=["d", "d"])
    for make in (Qrels.from_data, lambda d: Run.from_scores(d, [1.0, 0.0])):
        with pytest.raises(errors.DataError, match="'d' twice"):
            make(data)


def test_weights_and_top_k_truth_come_along_with_qrels():
    data = RankingData.from_arrays(
        [[0.0]] * 4, [2, 1, 0, 2], qid=[1, 1, 2, 2], docid=list("abcd"), query_weight=[1, 9], topk=2
    )
    scores = [1.0, 0.0, 1.0, 0.0]
    run, qrels = Run.from_scores(data, scores), Qrels.from_data(data)
    for metric in ("MRR", "kNDCG@2"):
        expected = podium.evaluate(data, scores, metric)[metric].mean
        assert podium.evaluate(qrels, run, metric)[metric].mean == expected


def test_what_is_written(tmp_path):
    data = RankingData.from_arrays(
        [[0.0]] * 4, [2, 0, 0.5, 1], qid=["a", "a", "b", "a"], docid=["x", "y", "z", "w"]
    )
    write_qrels(data, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "a 0 x 2\na 0 y 0\na 0 w 1\nb 0 z 0.5\n"
    write_run(Run.from_scores(data, [0.5, 2, 1, 7]), tmp_path / "run", tag="t")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == ["a Q0 y 1 2.0 t", "a Q0 w 2 1.0 t", "a Q0 x 3 0.5 t", "b Q0 z 1 7.0 t"]
    write_run(Run.from_scores(data, [0.5, 2, 1, 7]), tmp_path / "run")
    assert (tmp_path / "run").read_text().splitlines()[3] == "b Q0 z 1 7.0 podium"


def test_qrels_from_data(tmp_path):
    data = make_synthetic(5, seed=1)
    qrels = Qrels.from_data(data)
    assert as_dict(qrels) == {
        (qid, data.docids[row]): data.y[row]
        for qid, rows in data.queries()
        for row in range(rows.start, rows.stop)
    }
    write_qrels(data, tmp_path / "a")
    write_qrels(qrels, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\nb", "a\rb", ""])
@pytest.mark.parametrize("column", ["qid", "docid"])
def test_ids_that_cannot_be_written(tmp_path, word, column):
    ids = {"qid": ["q"], "docid": ["d"], column: [word]}
    data = RankingData.from_arrays([[0.0]], [1], **ids)
    for write in (
        lambda path: write_qrels(data, path),
        lambda path: write_run(Run.from_scores(data, [1.0]), path),
    ):
        with pytest.raises(errors.DataError, match="id without spaces in a TREC file") as caught:
            write(tmp_path / "out")
        assert (repr(word) if word else "got none") in str(caught.value)
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("tag", ["my run", "", "a\nb", "a\tb"])
def test_tags_that_cannot_be_written(tmp_path, tag):
    run = Run.from_scores(make_synthetic(2, seed=0), np.zeros(len(make_synthetic(2, seed=0))))
    with pytest.raises(errors.PodiumError, match=r"tag|spaces"):
        write_run(run, tmp_path / "out", tag=tag)
    assert os.listdir(tmp_path) == []


# Runs from scores.


@pytest.mark.parametrize("k", [None, 1, 3, 1000])
def test_runs_from_scores(k):
    data = make_synthetic(20, seed=2)
    scores = np.random.default_rng(0).integers(0, 5, len(data)) / 4
    run = Run.from_scores(data, scores, k)
    assert run.qids.tolist() == data.qids.tolist()
    docids, docs = data.docids, list(run.docids)
    for q, (rows, kept) in enumerate(zip(data.groups.slices(), run.groups.slices(), strict=True)):
        by_hand = sorted(range(rows.start, rows.stop), key=lambda row: (-scores[row], row))[:k]
        assert docs[kept] == [docids[row] for row in by_hand], q
        assert run.values[kept].tolist() == [scores[row] for row in by_hand]
    assert len(run) == sum(min(k or 10**9, n) for n in data.groups.sizes.tolist())


@pytest.mark.parametrize("k", [0, -1])
def test_runs_of_no_documents(k):
    data = make_synthetic(2, seed=0)
    with pytest.raises(errors.UsageError, match=f"k .*1 or more, got {k}"):
        Run.from_scores(data, np.zeros(len(data)), k=k)


def test_bad_scores():
    data = make_synthetic(2, n_docs=3, seed=0)
    with pytest.raises(errors.LengthMismatchError, match="expected 6 scores"):
        Run.from_scores(data, [1.0, 2.0])
    with pytest.raises(errors.NonFiniteError, match="nan"):
        Run.from_scores(data, [1.0, np.nan, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(errors.DataError, match="shape"):
        Run.from_scores(data, np.zeros((6, 2)))
    with pytest.raises(errors.MissingDocidsError, match="a run needs document ids"):
        Run.from_scores(RankingData.from_arrays([[0.0]], [1], qid=[1]), [1.0])
    with pytest.raises(errors.MissingDocidsError, match="judging by qrels needs document ids"):
        Qrels.from_data(RankingData.from_arrays([[0.0]], [1], qid=[1]))


# Matching.


def by_hand(codes, docids, in_codes, in_docids):
    places = {}
    for place, key in enumerate(zip(in_codes.tolist(), in_docids, strict=True)):
        places.setdefault(key, place)
    return [places.get(key, -1) for key in zip(codes.tolist(), docids, strict=True)]


PAIRS = st.lists(st.tuples(st.integers(0, 3), st.text("ab", max_size=3)), max_size=30)


@given(PAIRS, PAIRS)
def test_match_against_a_dict(wanted, among):
    def columns(pairs):
        return np.array([c for c, _ in pairs], dtype=np.int64), Strings.of(d for _, d in pairs)

    found = match_documents(*columns(wanted), *columns(among))
    assert found.dtype == np.int64
    assert found.tolist() == by_hand(*columns(wanted), *columns(among))


def test_match_many():
    rng = np.random.default_rng(0)
    codes, in_codes = rng.integers(0, 50, 3000), rng.integers(0, 50, 2000)
    docids = Strings.of(f"d{i}" for i in rng.integers(0, 100, 3000))
    in_docids = Strings.of(f"d{i}" for i in rng.integers(0, 100, 2000))
    found = match_documents(codes, docids, in_codes, in_docids)
    assert found.tolist() == by_hand(codes, docids, in_codes, in_docids)
    assert 0 < (found < 0).sum() < 3000


def test_a_document_twice_in_a_query(put):
    assert len(read_qrels(put("q 0 a 1\nq 0 b 1\nr 0 a 1\n"))) == 3
    with pytest.raises(errors.DataError, match="'a' twice"):
        read_qrels(put("q 0 a 1\nq 0 a 1\nr 0 a 1\n"))
