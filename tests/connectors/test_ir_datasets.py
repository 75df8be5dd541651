"""Datasets of ir_datasets: small ones in files, and what cannot be read."""

from typing import NamedTuple

import pytest

from podium.errors import DataError, UsageError
from podium.features import Index, make_features

DOCUMENTS = {"a": "Lift of wings.", "b": "Heat in slabs.", "c": "Wings and heat."}
QUERIES = {"1": "wings", "2": "heat"}


@pytest.fixture(scope="module")
def ir_datasets(load):
    return load("ir_datasets")


@pytest.fixture(scope="module")
def make_source(load):
    return load("podium.connectors.ir_datasets_source").DatasetSource


@pytest.fixture
def dataset(tmp_path, ir_datasets):
    texts = {
        "docs.tsv": "".join(f"{i}\t{text}\n" for i, text in DOCUMENTS.items()),
        "queries.tsv": "".join(f"{i}\t{text}\n" for i, text in QUERIES.items()),
        "qrels.txt": "1 0 a 2\n1 0 c 1\n2 0 b 1\n2 0 a 0\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return ir_datasets.create_dataset(*(str(tmp_path / name) for name in texts))


class ScoredDocument(NamedTuple):
    query_id: str
    doc_id: str
    score: float


@pytest.fixture
def with_run(dataset, monkeypatch):
    rows = [
        ScoredDocument("2", "b", 1.0),
        ScoredDocument("1", "c", 0.5),
        ScoredDocument("2", "c", 3.0),
    ]
    monkeypatch.setattr(type(dataset), "has_scoreddocs", lambda self: True, raising=False)
    monkeypatch.setattr(type(dataset), "scoreddocs_iter", lambda self: iter(rows), raising=False)
    return dataset


def test_queries_judgments_and_documents(make_source, dataset):
    source = make_source(dataset)
    assert source.queries() == QUERIES
    qrels = source.qrels()
    assert qrels.qids.tolist() == ["1", "2"]
    assert [*zip(qrels.docids, qrels.values, strict=True)] == [
        ("a", 2),
        ("c", 1),
        ("b", 1),
        ("a", 0),
    ]
    assert {document.id: dict(document.fields) for document in source.documents()} == {
        i: {"text": text} for i, text in DOCUMENTS.items()
    }


def test_from_a_dataset_to_training_data(make_source, dataset):
    source = make_source(dataset)
    data = make_features(Index.build(source.documents()), source.queries(), 10, source.qrels())
    labels = {
        (qid, docid): label
        for qid, rows in zip(data.qids, data.groups.slices(), strict=True)
        for docid, label in zip(list(data.docids)[rows], data.y[rows], strict=True)
    }
    assert labels == {("1", "a"): 2, ("1", "c"): 1, ("2", "b"): 1, ("2", "c"): 0}


def test_the_run_of_a_dataset(make_source, with_run):
    run = make_source(with_run).run()
    assert run.qids.tolist() == ["2", "1"]
    assert [*zip(run.docids, run.values, strict=True)] == [("b", 1.0), ("c", 3.0), ("c", 0.5)]


def test_a_pool_has_the_best_of_the_run_with_texts(make_source, with_run):
    pool = make_source(with_run).pool(k=1)
    assert [(query.id, query.text) for query in pool] == [("2", "heat"), ("1", "wings")]
    assert [(d.id, d.content, d.score) for query in pool for d in query.documents] == [
        ("c", "Wings and heat.", 3.0), ("c", "Wings and heat.", 0.5),
    ]  # fmt: skip


def test_a_pool_of_judged_documents(make_source, dataset):
    source = make_source(dataset)
    pool = source.pool(source.qrels())
    assert [d.id for d in pool["1"].documents] == ["a", "c"]
    assert [d.id for d in pool["2"].documents] == ["b", "a"]


def test_what_a_dataset_lacks_is_named(make_source, dataset, ir_datasets):
    source = make_source(dataset)
    with pytest.raises(UsageError, match="has no scoreddocs"):
        source.run()
    with pytest.raises(UsageError, match="k of 1 or more"):
        source.pool(source.qrels(), k=0)
    queries_only = make_source(ir_datasets.create_dataset(queries_tsv=dataset.queries_path()))
    with pytest.raises(UsageError, match="has no docs"):
        next(queries_only.documents())


def test_a_run_of_other_documents_is_refused(make_source, dataset, load):
    rows = load("podium.connectors.document_columns")
    source = make_source(dataset)
    with pytest.raises(DataError, match="no document 'z'"):
        source.pool(rows.run_of([("1", "z", 1.0)], "a run"))
    with pytest.raises(DataError, match="no query '9'"):
        source.pool(rows.run_of([("9", "a", 1.0)], "a run"))


def test_names_are_those_of_ir_datasets(make_source):
    assert "vaswani" in repr(make_source("vaswani"))  # reads nothing yet
    with pytest.raises(KeyError, match="no-such-dataset"):
        make_source("no-such-dataset")
