"""Exports: what is written reads back as what was judged."""

import csv
import gzip
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import podium
from podium.aggregation import Borda
from podium.errors import (
    DataError,
    EmptyDataError,
    MissingDocidsError,
    UnknownNameError,
    UsageError,
)
from podium.labelling import (
    GradeTask,
    JudgedTopK,
    JudgedTruth,
    Judgment,
    PreferenceTask,
    export,
    merge_top_k,
    position_truth,
    top_k_truth,
)
from podium.labelling.export import preference_columns
from podium.labelling.store import Store, StoreMember
from tests.support import judged_stores


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store") / "judgments.db") as opened:
        judged_stores.small(opened)
        yield opened


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store") / "judgments.db") as opened:
        yield judged_stores.generated(opened)


@pytest.fixture
def features():
    """Features of both queries, one document more than was judged, and a query nobody judged."""
    qid = ["q2"] * 5 + ["q1"] * 5 + ["q9"]
    docid = [*"zyxwv", *"vwxyz", "w"]
    return podium.RankingData.from_arrays(
        np.arange(22.0).reshape(11, 2), np.zeros(11), qid=qid, docid=docid, feature_names=["f", "g"]
    )


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def labels_of(data):
    qid = data.qids[data.groups.codes]
    return {(q, d): y for q, d, y in zip(qid, data.docids, data.y, strict=True)}


# ann: w > x (> y > z), bob: x > w (> y ~ z): merged w ~ x with label k - 0 = 2 each.
Q1 = {("q1", "w"): 2, ("q1", "x"): 2, ("q1", "y"): 0, ("q1", "z"): 0}
# ann w4 x3 y3 z0, bob w3 x3 y4 z0; of two grades equally often given the lower
Q2 = {("q2", "w"): 3, ("q2", "x"): 3, ("q2", "y"): 3, ("q2", "z"): 0}


def test_labels_as_csv(store, tmp_path):
    done = export(store, tmp_path / "labels.csv", "labels", "csv")
    rows = read_csv(tmp_path / "labels.csv")
    assert list(rows[0]) == ["query", "document", "label"]
    assert {(r["query"], r["document"]): int(r["label"]) for r in rows} == Q1
    assert (done.queries, done.rows, done.sessions, done.unfinished) == (1, 4, 2, 1)


def test_labels_as_qrels(store, tmp_path):
    export(store, tmp_path / "labels.qrels", "labels", "qrels")
    qrels = podium.read_qrels(tmp_path / "labels.qrels")
    found = dict(zip(qrels.docids, qrels.values, strict=True))
    assert found == {d: y for (_, d), y in Q1.items()}
    assert (tmp_path / "labels.qrels").read_text().splitlines()[0] == "q1 0 w 2"


def test_top_k_has_ranks_and_only_its_documents(store, tmp_path):
    export(store, tmp_path / "topk.csv", "topk", "csv")
    rows = read_csv(tmp_path / "topk.csv")
    assert [(r["query"], r["rank"], r["document"], r["label"]) for r in rows] == [
        ("q1", "1", "w", "2"),
        ("q1", "1", "x", "2"),
    ]
    export(store, tmp_path / "topk.qrels", "topk", "qrels")
    assert len(podium.read_qrels(tmp_path / "topk.qrels")) == 2


def test_grades_as_parquet(store, tmp_path):
    export(store, tmp_path / "grades.parquet", "grades", "parquet")
    rows = pq.read_table(tmp_path / "grades.parquet").to_pylist()
    assert {(r["query"], r["document"]): r["grade"] for r in rows} == Q2
    export(store, tmp_path / "mean.parquet", "grades", "parquet", merge="mean")
    rows = pq.read_table(tmp_path / "mean.parquet").to_pylist()
    assert {r["document"]: r["grade"] for r in rows} == {"w": 3.5, "x": 3.0, "y": 3.5, "z": 0.0}


def test_labels_as_letor_rows_with_features(store, features, tmp_path):
    done = export(store, tmp_path / "train.txt", "labels", "letor", features=features)
    data = podium.read_letor(tmp_path / "train.txt")
    assert labels_of(data) == Q1
    assert (data.topk, data.feature_names, done.rows) == (2, ("f", "g"), 4)
    by_document = dict(zip(data.docids, data.X.tolist(), strict=True))
    assert by_document["w"] == [12.0, 13.0]  # row 6 of the features


@pytest.mark.parametrize(
    ("rows", "expected"), [([], "error"), ([6], "nan"), ([10], "error")]
)  # row 6 is judged, row 10 is not
def test_a_file_says_that_values_are_missing_only_if_it_has_such(
    store, features, tmp_path, rows, expected
):
    X = features.X.copy()
    X[rows] = np.nan
    lacking = replace(features, X=X, missing="nan")
    export(store, tmp_path / "train.txt", "labels", "letor", features=lacking)
    assert podium.read_letor(tmp_path / "train.txt").missing == expected


def test_grades_as_letor_with_documents_that_were_not_judged(store, features, tmp_path):
    export(store, tmp_path / "t.txt.gz", "grades", "letor", features=features, unjudged="zero")
    data = podium.read_letor(tmp_path / "t.txt.gz")
    assert labels_of(data) == Q2 | {("q2", "v"): 0}
    assert data.topk is None
    export(store, tmp_path / "t.parquet", "grades", "parquet", features=features)
    assert labels_of(podium.read_parquet(tmp_path / "t.parquet")) == Q2


def test_every_preference_is_there(store, tmp_path):
    done = export(store, tmp_path / "raw.csv.gz", "preferences", "csv")
    with gzip.open(tmp_path / "raw.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert done.rows == len(rows)
    for name in ("ann", "bob", "cat"):
        session = store.session(f"{name}-q1")
        mine = [Judgment(r["a"], r["b"], r["answer"]) for r in rows if r["assessor"] == name]
        assert mine == list(session.judgments)
    assert {r["seconds"] for r in rows if r["assessor"] == "bob"} == {"4.0"}
    assert {r["undone"] for r in rows} == {"False"}


def test_preferences_as_parquet_have_types(store, tmp_path):
    export(store, tmp_path / "raw.parquet", "preferences", "parquet")
    table = pq.read_table(tmp_path / "raw.parquet")
    assert table.to_pydict() == preference_columns(store.judgments())
    assert str(table.schema.field("repeated").type) == "bool"


def test_assessors_kept_apart(store, tmp_path):
    export(store, tmp_path / "own.csv", "labels", "csv", merge=None)
    rows = read_csv(tmp_path / "own.csv")
    found = {(r["assessor"], r["document"]): int(r["label"]) for r in rows}
    assert found == {("ann", "w"): 2, ("ann", "x"): 1, ("ann", "y"): 0, ("ann", "z"): 0} | {
        ("bob", "x"): 2, ("bob", "w"): 1, ("bob", "y"): 0, ("bob", "z"): 0,
    }  # fmt: skip


@pytest.mark.parametrize("merge", ["majority", "bradley-terry", "kemeny", Borda()])
def test_merged_labels_are_those_of_merge_top_k(large, merge, tmp_path):
    results = large.results()
    by_query = {}
    for state in large.session_states():
        if isinstance(state.result, JudgedTopK):
            by_query.setdefault(state.task.query, []).append(state.task)
    export(large, tmp_path / "labels.csv", "labels", "csv", merge=merge)
    rows = read_csv(tmp_path / "labels.csv")
    assert len(rows) == 8 * 12
    for query, tasks in by_query.items():
        said = [large.session(task.id).judgments for task in tasks]
        judgments = said if merge == "bradley-terry" else None
        merged = merge_top_k([results[task.id] for task in tasks], merge, judgments=judgments)
        expected = merged.labels(tasks[0].documents)
        assert {r["document"]: int(r["label"]) for r in rows if r["query"] == query} == expected


def test_broken_ties_fill_exactly_k_places(large, tmp_path):
    export(large, tmp_path / "labels.csv", "labels", "csv", ties="broken")
    rows = read_csv(tmp_path / "labels.csv")
    for query in {r["query"] for r in rows}:
        labels = Counter(int(r["label"]) for r in rows if r["query"] == query)
        assert labels == {4: 1, 3: 1, 2: 1, 1: 1, 0: 8}


def test_another_k(large, tmp_path):
    export(large, tmp_path / "labels.csv", "labels", "csv", k=1, ties="broken")
    rows = read_csv(tmp_path / "labels.csv")
    assert Counter(r["label"] for r in rows) == {"1": 8, "0": 8 * 11}


def test_labels_of_ties_and_of_bad_documents():
    tops = {"q": JudgedTopK((("b", "c"), ("a",)), 5, 3)}
    shared = position_truth(tops, {"q": "abcdef"})
    assert shared.labels["q"] == {"b": 5, "c": 5, "a": 3, "d": 0, "e": 0, "f": 0}
    broken = position_truth(tops, {"q": "abcdef"}, ties="broken")
    assert broken.labels["q"] == {"b": 5, "c": 4, "a": 3, "d": 0, "e": 0, "f": 0}
    assert len(broken) == 6


@pytest.mark.parametrize(
    ("what", "form", "options", "error", "told"),
    [
        ("lists", "csv", {}, UnknownNameError, "what to export"),
        ("labels", "xml", {}, UnknownNameError, "format"),
        ("preferences", "qrels", {}, UsageError, "parquet or csv for preferences"),
        ("labels", "qrels", {"merge": None}, UsageError, "one label per document"),
        ("labels", "letor", {}, UsageError, "LETOR rows need features"),
        ("labels", "csv", {"ties": "random"}, UnknownNameError, "way with ties"),
        ("labels", "csv", {"merge": "mean"}, UnknownNameError, "way to merge"),
        ("grades", "csv", {"merge": "borda"}, UnknownNameError, "way to merge grades"),
        ("grades", "csv", {"merge": Borda()}, UsageError, "name of a method to merge grades"),
    ],
)  # fmt: skip
def test_exports_that_cannot_be(store, tmp_path, what, form, options, error, told):
    with pytest.raises(error, match=told):
        export(store, tmp_path / "out", what, form, **options)
    assert list(tmp_path.iterdir()) == []


def test_features_that_do_not_fit(store, features, tmp_path):
    with pytest.raises(UsageError, match="got labels in the format csv; use what='labels'"):
        export(store, tmp_path / "out", "labels", "csv", features=features)
    with pytest.raises(UnknownNameError, match="unjudged"):
        export(store, tmp_path / "out", "labels", "letor", features=features, unjudged="keep")
    with pytest.raises(DataError, match="the features lack 1 judged queries, such as 'q1'"):
        export(store, tmp_path / "out", "labels", "letor", features=features.subset([0, 2]))
    few = podium.RankingData.from_arrays([[1.0]], [0], qid=["q1"], docid=["w"])
    with pytest.raises(DataError, match="lack 3 judged documents of query 'q1', such as 'x'"):
        export(store, tmp_path / "out", "labels", "letor", features=few)
    nameless = podium.RankingData.from_arrays([[1.0]], [0], qid=["q1"])
    with pytest.raises(MissingDocidsError, match="joining labels"):
        export(store, tmp_path / "out", "labels", "letor", features=nameless)


def test_nothing_finished_is_an_error(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        store.add_pool(judged_stores.pool_of(["q"], "ab"))
        store.add_members([StoreMember("ann")])
        store.add_tasks(
            [PreferenceTask("s", "q", "ann", ("a", "b")), GradeTask("t", "q", "ann", ("a", "b"))]
        )
        for what in ("topk", "labels", "grades"):
            for merge in ("majority", None):
                with pytest.raises(EmptyDataError):
                    export(store, tmp_path / "out", what, "csv", merge=merge)
        assert export(store, tmp_path / "out", "preferences", "csv").rows == 0


def test_assessors_with_another_k_need_one():
    tasks = [PreferenceTask(f"s{k}", "q", f"u{k}", tuple("abc"), k=k) for k in (1, 2)]
    results = [
        (tasks[0], JudgedTopK((("a",),), 1, 2)),
        (tasks[1], JudgedTopK((("a",), ("b",)), 2, 3)),
    ]
    with pytest.raises(DataError, match="query 'q': the results have different k"):
        top_k_truth(results)
    assert top_k_truth(results, k=1)["q"].levels == (("a",),)
    tops = {"q": results[0][1], "r": results[1][1]}
    with pytest.raises(UsageError, match="queries have different k: 1, 2"):
        position_truth(tops, {"q": "abc", "r": "abc"})


def test_qrels_of_no_positive_label_are_an_error():
    with pytest.raises(EmptyDataError, match="there are no labelled documents"):
        JudgedTruth({"q": {"a": 0}}).qrels(positive=True)


def test_a_session_that_ends_while_exporting_is_not_finished_yet(tmp_path):
    """Results are read before judgments: the other way round one had a result without its judgments."""
    with Store.open(tmp_path / "judgments.db") as store:
        tasks = judged_stores.small(store)
        read = store.judgments

        def judgments(details=False):
            judged_stores.answer_by(store, tasks["cat-q1"], ["z", "y", "x", "w"])
            return read(details)

        store.judgments = judgments
        export(store, tmp_path / "late.csv", "labels", "csv", merge="bradley-terry")
        store.judgments = read
        written = export(store, tmp_path / "after.csv", "labels", "csv", merge="bradley-terry")
    assert written.unfinished == 0
    early = (tmp_path / "late.csv").read_text()
    assert early != (tmp_path / "after.csv").read_text()
    with Store.open(tmp_path / "before.db") as store:
        judged_stores.small(store)
        export(store, tmp_path / "before.csv", "labels", "csv", merge="bradley-terry")
    assert early == (tmp_path / "before.csv").read_text()


def test_to_join_looks_the_queries_up_once():
    """Not once for every query: 8,000 of them took two seconds."""
    n, looked = 40, []

    class Qids(np.ndarray):
        def tolist(self):
            looked.append(len(self))
            return super().tolist()

    qids = [f"q{i}" for i in range(n)]
    data = podium.RankingData.from_arrays(np.ones((n, 1)), np.zeros(n), qid=qids, docid=["d"] * n)
    object.__setattr__(data, "qids", data.qids.view(Qids))
    truth = JudgedTruth({query: {"d": 1.0} for query in qids}, topk=1)
    assert truth.join(data).y.tolist() == [1.0] * n
    assert len(looked) < 10


def test_documents_with_features_that_nobody_judged_are_counted(store, features, tmp_path):
    for unjudged, rows in (("drop", 4), ("zero", 5)):
        written = export(
            store, tmp_path / "train.txt", "labels", "letor", features=features, unjudged=unjudged
        )
        assert (written.queries, written.rows, written.unjudged) == (1, rows, 1)  # v of q1
    assert export(store, tmp_path / "labels.csv", "labels", "csv").unjudged == 0


def test_no_more_than_was_looked_for(store, tmp_path):
    for merge in ("majority", "bradley-terry", None):
        with pytest.raises(UsageError, match=r"k must be at most 2, got 3.*use k=2 or less"):
            export(store, tmp_path / "x.csv", "topk", "csv", merge=merge, k=3)
