"""Indexed runs: lists read from the file when they are needed, equal to those of the whole run."""

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.aggregation import AGGREGATORS, Rankings, make_aggregator
from podium.data import IndexedRun, Qrels, Run, make_synthetic, partition, read_run, write_run
from podium.errors import CorruptFileError, DataError, EmptyDataError, MalformedLineError
from podium.metrics import evaluate, evaluate_stream
from podium.postranking import AtMost, Each, TopK, postrank_batch, postrank_stream


def lines_of(queries, seed=0):
    """One line per document of these queries, in this order."""
    rng = np.random.default_rng(seed)
    return [f"q{q} Q0 d{i} 1 {rng.normal():.6f} tag\n" for i, q in enumerate(queries)]


def same(ours: Run, theirs: Run) -> bool:
    return (
        ours.qids.tolist() == theirs.qids.tolist()
        and ours.groups == theirs.groups
        and list(ours.docids) == list(theirs.docids)
        and ours.values.tolist() == theirs.values.tolist()
    )


@settings(max_examples=40)
@given(
    queries=st.lists(st.integers(0, 6), min_size=1, max_size=40),
    blanks=st.sets(st.integers(0, 39)),
    mark=st.booleans(),
    packed=st.booleans(),
    newline=st.booleans(),
    chunk=st.integers(1, 50),
)
def test_lists_are_those_of_the_whole_run(
    tmp_path_factory, queries, blanks, mark, packed, newline, chunk
):
    lines = lines_of(queries)
    for blank in sorted(blanks, reverse=True):
        lines.insert(blank, " \t\n")
    text = "".join(lines)
    text = text if newline else text.rstrip("\n")
    content = b"\xef\xbb\xbf" * mark + text.encode()
    path = tmp_path_factory.mktemp("runs") / ("a.run.gz" if packed else "a.run")
    path.write_bytes(gzip.compress(content) if packed else content)
    whole, indexed = read_run(path), IndexedRun(path)
    assert indexed.qids == tuple(whole.qids.tolist())
    assert len(indexed) == len(whole)
    for qid, size in zip(whole.qids.tolist(), whole.groups.sizes.tolist(), strict=True):
        assert indexed.size(qid) == size
        assert same(indexed.read([qid]), whole.select([qid]))
    backwards = [*reversed(indexed.qids), "absent"]
    assert same(indexed.read(backwards), whole.select(backwards))
    chunks = list(indexed.chunks(chunk))
    assert list(itertools.chain.from_iterable(c.qids for c in chunks)) == list(indexed.qids)
    assert list(itertools.chain.from_iterable(c.docids for c in chunks)) == list(whole.docids)
    assert len(indexed.read(["absent"])) == 0


def test_lines_over_many_blocks_of_text(tmp_path, monkeypatch):
    monkeypatch.setattr("podium.data.text_files.BLOCK_BYTES", 64)
    path = tmp_path / "a.run"
    path.write_text("".join(lines_of(np.repeat([3, 1, 2, 3], 20))))
    indexed, whole = IndexedRun(path), read_run(path)
    assert same(indexed.read(indexed.qids), whole)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", EmptyDataError, "at least one line"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d2\n", MalformedLineError, r"a\.run:2: "),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 high t\n", MalformedLineError, "'high'"),
    ],
)
def test_problems_are_named_when_the_run_is_opened(tmp_path, text, error, message):
    (tmp_path / "a.run").write_text(text)
    with pytest.raises(error, match=message):
        IndexedRun(tmp_path / "a.run")


def test_a_document_twice_is_an_error_when_its_list_is_read(tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 0.5 t\nq2 Q0 d1 1 0.5 t\nq1 Q0 d1 2 0.1 t\n")
    indexed = IndexedRun(tmp_path / "a.run")
    assert len(indexed.read(["q2"])) == 1
    with pytest.raises(DataError, match="got 'd1' twice for query 'q1'"):
        indexed.read(["q1"])


def test_a_file_that_changes_meanwhile_is_an_error(tmp_path):
    path = tmp_path / "a.run"
    first = "".join(f"q1 Q0 d{i} 1 0.5 t\n" for i in range(1000))
    path.write_text(first + "q2 Q0 d1 1 0.5 t\nq4 Q0 d1 1 0.5 t\n")
    indexed = IndexedRun(path)
    with path.open("r+") as file:
        file.seek(len(first))
        file.write("q3 Q0 d1 1 0.5 t\nq4 Q0-d1")
    for qid in ("q2", "q4"):
        with pytest.raises(CorruptFileError, match="changed while it was read"):
            indexed.read([qid])


@pytest.fixture
def judged(tmp_path):
    data = make_synthetic(n_queries=30, n_docs=(3, 9), seed=4)
    run = Run.from_scores(data, data.X[:, 0])
    order = np.random.default_rng(0).permutation(30)[:25]  # five queries have no list
    path = tmp_path / "a.run"
    numbers = order.tolist()
    shown = run.select([run.qids[q] for q in numbers])
    write_run(shown, path)
    return data, path


def test_a_run_is_evaluated_chunk_by_chunk_as_a_whole(judged, tmp_path, monkeypatch):
    data, path = judged
    metrics = ["NDCG@10", "ERR", "MAP", "P@5"]
    qrels, whole = Qrels.from_data(data), read_run(path)
    expected = evaluate(qrels, whole, metrics)
    data.to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=40)
    monkeypatch.setattr("podium.data.indexed_runs.DOCUMENTS_PER_CHUNK", 20)
    for judgments, run in [
        (qrels, IndexedRun(path)),
        (collection, IndexedRun(path)),
        (collection, whole),
    ]:
        ours = evaluate(judgments, run, metrics)
        assert ours.qids.tolist() == expected.qids.tolist()
        for metric in metrics:
            assert ours[metric].per_query.tolist() == expected[metric].per_query.tolist()
            assert ours[metric].mean == expected[metric].mean


def test_blocks_without_a_list_count_as_0_and_a_run_of_other_queries_is_an_error(tmp_path):
    data = make_synthetic(n_queries=20, n_docs=5, seed=4)
    path = tmp_path / "a.run"
    write_run(Run.from_scores(data, data.y).select(["q20", "q3"]), path)
    data.to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=10)
    for judgments in (collection, Qrels.from_data(data)):
        values = evaluate(judgments, IndexedRun(path), "NDCG@10")["NDCG@10"].per_query
        assert values.tolist() == [float(qid in ("q3", "q20")) for qid in data.qids]
        path2 = tmp_path / "other.run"
        path2.write_text("x1 Q0 d1 1 0.5 t\n")
        for run in (IndexedRun(path2), read_run(path2)):
            with pytest.raises(DataError, match=r"no query in common \(run: 'x1', qrels: 'q1'"):
                evaluate(judgments, run, "MAP")


def test_lists_are_post_ranked_chunk_by_chunk_as_together(judged):
    data, path = judged
    rules = [
        TopK("q3-d1", 1, weight=30), AtMost(Each("brand"), 1, k=3), TopK("nobody", 2),
    ]  # fmt: skip
    fields = {doc: {"brand": "xyz"[at % 3]} for at, doc in enumerate(data.docids)}
    together = postrank_batch(read_run(path), rules, fields=fields, prior=0.2)
    batches = list(postrank_stream(IndexedRun(path).chunks(20), rules, fields=fields, prior=0.2))
    assert len(batches) > 3
    ours = {qid: list(batch[qid]) for batch in batches for qid in batch}
    assert ours == {qid: list(result) for qid, result in together.items()}
    assert batches[-1].rules == together.rules


@pytest.mark.parametrize("method", AGGREGATORS)
def test_an_aggregator_sees_one_query_at_a_time(judged, method):
    data, _ = judged
    runs = [Run.from_scores(data, data.X[:, j]) for j in range(3)]
    aggregator = make_aggregator(method)
    together = aggregator(Rankings.from_runs(runs), [0.5, 0.3, 0.2]).scores
    scores = []
    for first in range(0, 30, 4):
        qids = data.qids[first : first + 4].tolist()
        chunk = Rankings.from_runs([run.select(qids) for run in runs])
        scores += aggregator(chunk, [0.5, 0.3, 0.2]).scores.tolist()
    assert scores == together.tolist()


def test_a_stream_has_the_means_of_the_whole():
    data = make_synthetic(n_queries=50, n_docs=(1, 9), seed=6)
    scores = data.X[:, 0]
    metrics = ["NDCG@10", "ERR", "MAP"]
    expected = evaluate(data, scores, metrics)
    blocks = []
    for first in range(0, 50, 7):
        numbers = np.arange(first, min(first + 7, 50))
        rows = data.groups.take(numbers)[1]
        blocks.append((data.subset(numbers), scores[rows]))
    ours = evaluate_stream(blocks, metrics, top_label=data.y.max())
    for name, mean in ours.items():
        values = expected[name].per_query
        assert mean.mean == pytest.approx(values.mean(), rel=1e-13)
        # The standard error of a mean of n values is their deviation, by n - 1, over the root of n.
        assert mean.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(50), rel=1e-12)
        assert mean.n_queries == 50
    assert np.isnan(evaluate_stream([], "MAP")["MAP"].mean)
