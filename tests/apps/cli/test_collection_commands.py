"""Commands on a collection give what they give on its file."""

from dataclasses import replace

import numpy as np
import pytest

import podium
from podium.data import make_synthetic, read_parquet, write_letor
from tests.support.cli import answer, flat, run

DATA = make_synthetic(n_queries=40, n_docs=(3, 12), seed=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_letor(DATA, tmp_path / "data.txt")
    monkeypatch.chdir(tmp_path)
    run("data", "partition", "data.txt", "-o", "parts", "--rows", "70")
    return tmp_path


@pytest.fixture
def model(folder):
    run("train", "regression", "data.txt", "-o", "m.podium")
    return folder


@pytest.mark.parametrize("name", ["s.txt", "s.txt.gz", "s.npy", "s.run", "s.jsonl"])
def test_predictions_have_the_bytes_of_those_of_the_file(model, name):
    run("predict", "m.podium", "parts", "-o", name)
    run("predict", "m.podium", "data.txt", "-o", f"file-{name}")
    assert (model / name).read_bytes() == (model / f"file-{name}").read_bytes()


def test_predictions_in_parquet_have_the_columns_of_those_of_the_file(model):
    run("predict", "m.podium", "parts", "-o", "s.parquet")
    run("predict", "m.podium", "data.txt", "-o", "file.parquet")
    import pyarrow.parquet as pq

    ours, theirs = (pq.read_table(model / name) for name in ("s.parquet", "file.parquet"))
    assert ours.to_pydict() == theirs.to_pydict()


def test_predictions_on_stdout_and_probabilities(model):
    assert (
        run("predict", "m.podium", "parts").stdout == run("predict", "m.podium", "data.txt").stdout
    )
    run("train", "ordinal", "data.txt", "-o", "o.podium")
    run("predict", "o.podium", "parts", "-o", "p.npy", "--probabilities")
    run("predict", "o.podium", "data.txt", "-o", "q.npy", "--probabilities")
    assert np.array_equal(np.load("p.npy"), np.load("q.npy"))
    assert np.load("p.npy").shape[0] == len(DATA)


def test_a_run_is_evaluated_on_the_parts(model):
    run("predict", "m.podium", "parts", "-o", "s.run")
    names = ["-m", "NDCG@10", "-m", "ERR", "-m", "MAP"]
    ours = answer("evaluate", "parts", "s.run", *names, "--per-query")["s.run"]
    assert ours == answer("evaluate", "data.txt", "s.run", *names, "--per-query")["s.run"]
    lines = (model / "s.run").read_text().splitlines(keepends=True)
    (model / "short.run").write_text("".join(x for x in lines if not x.startswith("q7 ")))
    result = run("evaluate", "parts", "short.run", "-m", "MAP")
    assert "has no documents for 1 of 40 judged queries, such as q7" in flat(result.stderr)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("out.txt", []),
        ("out.csv", []),
        ("out.tsv.gz", []),
        ("out.qrels", []),
        ("out.txt", ["--scale", "minmax"]),
        ("out.txt", ["--scaled", "zscore"]),
        ("out.csv", ["--topk", "3", "--seed", "4"]),
    ],
)
def test_a_collection_is_converted_as_its_file(folder, name, options):
    run("data", "convert", "parts", name, *options)
    run("data", "convert", "data.txt", f"file-{name}", *options)
    assert (folder / name).read_bytes() == (folder / f"file-{name}").read_bytes()


def test_a_collection_converted_to_parquet_has_its_documents(folder):
    run("data", "convert", "parts", "out.parquet", "--topk", "2")
    run("data", "convert", "data.txt", "file.parquet", "--topk", "2")
    assert read_parquet("out.parquet").equals(read_parquet("file.parquet"))


def test_texts_that_letor_keeps_in_its_header_need_another_format(folder):
    texts = [f"query {q}" for q in range(DATA.n_queries)]
    podium.RankingData.from_arrays(
        DATA.X, DATA.y, qid=DATA.groups.codes, query_text=texts
    ).to_parquet("texts.parquet")
    run("data", "partition", "texts.parquet", "-o", "texts")
    result = run("data", "convert", "texts", "texts.txt", code=1)
    assert "name a .parquet or .csv file" in flat(result.stderr)
    assert not (folder / "texts.txt").exists()
    run("data", "convert", "texts", "texts.csv")
    assert "query 39" in (folder / "texts.csv").read_text()


def is_same(ours, theirs):
    """Whether both have the same documents; sample and split of text allow missing values."""
    return replace(ours, missing="nan").equals(replace(theirs, missing="nan"))


@pytest.mark.parametrize(
    "options", [["--folds", "5"], ["--folds", "2"], ["--fractions", "0.6,0.2,0.2"]]
)
def test_a_split_has_the_queries_of_a_split_in_memory(folder, options):
    ours = answer("data", "split", "parts", "ours", *options, "--seed", "3")
    theirs = answer(
        "data", "split", "data.txt", "theirs", *options, "--seed", "3", "--ending", "parquet"
    )
    assert len(ours) == len(theirs) == (3 if options[0] == "--fractions" else 3 * int(options[1]))
    for own, other in zip(ours, theirs, strict=True):
        assert own["file"].replace("ours", "theirs") == other["file"]
        a, b = read_parquet(own["file"]), read_parquet(other["file"])
        assert set(a.qids) == set(b.qids)
        assert is_same(a.subset([a.qids.tolist().index(q) for q in b.qids]), b)


def test_a_sample_has_the_same_queries_from_any_source(folder):
    run("data", "sample", "parts", "-o", "a.parquet", "--queries", "7", "--seed", "5")
    run("data", "sample", "data.txt", "-o", "b.parquet", "--queries", "7", "--seed", "5")
    chosen = read_parquet("a.parquet")
    assert chosen.n_queries == 7
    assert is_same(chosen, read_parquet("b.parquet"))
    assert podium.open_collection("parts").sample(7, seed=5).equals(chosen)
    result = run("data", "sample", "parts", "-o", "c.parquet", "--queries", "41", code=2)
    assert "expected 1 to 40 queries, as many as there are, got 41" in flat(result.stderr)


def test_every_query_is_sampled_equally_often():
    counts = dict.fromkeys(DATA.qids, 0)
    for seed in range(400):
        for qid in podium.data.sample(DATA, 10, seed=seed).qids:
            counts[qid] += 1
    # 400 x 10 / 40 = 100 on average, with a standard deviation of sqrt(400 x 0.25 x 0.75) = 8.7.
    assert min(counts.values()) > 100 - 5 * 8.7
    assert max(counts.values()) < 100 + 5 * 8.7


def test_settings_are_chosen_on_collections_as_on_files(folder):
    write_letor(make_synthetic(n_queries=15, seed=9), folder / "valid.txt")
    run("data", "partition", "valid.txt", "-o", "valid")
    grid = ["--grid", "l2=0.01,0.1", "--metric", "MAP"]
    ours = answer("tune", "listnet", "parts", "--valid", "valid", *grid, "-o", "a.podium")
    theirs = answer("tune", "listnet", "data.txt", "--valid", "valid.txt", *grid, "-o", "b.podium")
    assert ours["trace"] == theirs["trace"]
    run("predict", "a.podium", "data.txt", "-o", "a.txt")
    run("predict", "b.podium", "data.txt", "-o", "b.txt")
    assert (folder / "a.txt").read_text() == (folder / "b.txt").read_text()
    assert (folder / "parts" / ".rows").exists()  # the rows stayed on disk


@pytest.mark.parametrize("rankers", ["regression,listnet", "regression,rankboost"])
def test_rankers_are_compared_on_a_collection_as_on_its_file(folder, rankers):
    options = ["--rankers", rankers, "--folds", "3", "--no-tune"]
    ours = answer("compare", "parts", *options, "--out", "ours")
    theirs = answer("compare", "data.txt", *options, "--out", "theirs")
    assert ours["rankers"] == theirs["rankers"]
    assert ours["failed"] == []
    assert (folder / "parts" / ".rows").exists() == ("rankboost" not in rankers)


def test_a_query_of_a_collection_is_explained_as_in_its_file(model):
    ours = answer("explain", "m.podium", "parts", "--query", "q33")
    assert ours == answer("explain", "m.podium", "data.txt", "--query", "q33")
    assert ours["documents"][0]["row"] > 70
    assert "q99" in run("explain", "m.podium", "parts", "--query", "q99", code=2).stderr
    explanation = podium.load("m.podium").explain(podium.open_collection("parts"), "q33")
    in_memory = podium.load("m.podium").explain(podium.read_letor("data.txt"), "q33")
    assert explanation.rows.tolist() == in_memory.rows.tolist()


def test_the_importance_of_features_is_that_in_the_file(model):
    options = ["--importance", "--repeats", "2", "--metric", "MAP"]
    ours = answer("explain", "m.podium", "parts", *options)
    assert ours == answer("explain", "m.podium", "data.txt", *options)
