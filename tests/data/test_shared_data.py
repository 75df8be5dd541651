"""The LETOR data sets as they are published: counts, round trips, and the metric conventions."""

import lzma
import math
import re

import lightgbm
import numpy as np
import pytest

import podium
from podium import errors, evaluate
from podium.data import concatenate, read_letor, read_parquet, rotate, scale_by_query, write_letor
from podium.metrics import ConversionFacts, convert
from tests.support.paths import DOCS

pytestmark = pytest.mark.needs("shared data")

N_QUERIES, N_BLANK = 784, 220


def paths(folder, name, letter="S"):
    return [folder / name / f"{letter}{i}.txt.xz" for i in range(1, 6)]


@pytest.fixture(scope="module")
def mq2008_parts(shared_data):
    return [read_letor(path) for path in paths(shared_data, "MQ2008")]


@pytest.fixture(scope="module")
def mq2008(mq2008_parts):
    return concatenate(mq2008_parts)


@pytest.fixture(scope="module")
def aggregation(shared_data):
    return read_letor(paths(shared_data, "MQ2008-agg", "A"), missing="nan")


@pytest.fixture(scope="module")
def scores(mq2008):
    return mq2008.X[:, 39]  # feature 40: a language model on the whole document


def counts(data):
    return np.bincount(data.y.astype(int)).tolist()


def test_mq2008(mq2008, mq2008_parts):
    assert [part.n_queries for part in mq2008_parts] == [157, 157, 157, 157, 156]
    assert (mq2008.n_queries, len(mq2008), mq2008.n_features) == (N_QUERIES, 15_211, 46)
    assert counts(mq2008) == [12_279, 2_001, 931]
    assert mq2008.docids[0] == "GX008-86-4444840"
    assert mq2008.comments[0] == "docid = GX008-86-4444840 inc = 1 prob = 0.086622"
    assert (mq2008.groups.sizes.min(), mq2008.groups.sizes.max()) == (5, 121)


def test_several_files_are_their_concatenation(shared_data, mq2008):
    assert read_letor(paths(shared_data, "MQ2008")).equals(mq2008)


def test_ohsumed(shared_data):
    data = read_letor(paths(shared_data, "OHSUMED"))
    assert (data.n_queries, len(data), data.n_features) == (106, 16_140, 45)
    assert counts(data) == [11_303, 2_585, 2_252]
    # LETOR's QueryLevelNorm is minmax: scaling once more changes nothing but roundings.
    np.testing.assert_allclose(scale_by_query(data).X, data.X, atol=2e-6)


def test_rank_aggregation(aggregation, mq2008):
    assert (aggregation.n_queries, len(aggregation), aggregation.n_features) == (784, 15_211, 25)
    assert round(np.isnan(aggregation.X).mean(), 2) == 0.65
    assert np.nanmin(aggregation.X) == 1
    assert aggregation.docid_column == mq2008.docid_column
    assert aggregation.qids.tolist() == mq2008.qids.tolist()
    assert (aggregation.y == mq2008.y).all()


def test_rank_aggregation_has_missing_values(shared_data):
    path = paths(shared_data, "MQ2008-agg", "A")[0]
    with pytest.raises(errors.MissingValueError) as caught:
        read_letor(path)
    with lzma.open(path, "rt") as file:
        lines = [number for number, line in enumerate(file, start=1) if ":NULL" in line]
    assert caught.value.line == lines[0]
    assert str(caught.value).startswith(f"{path}:{lines[0]}: expected a number, got '")


def test_values_are_those_of_the_text(shared_data, mq2008_parts):
    with lzma.open(paths(shared_data, "MQ2008")[4], "rt") as file:
        lines = file.read().splitlines()
    data = mq2008_parts[4]
    assert len(lines) == len(data)
    for row in range(0, len(lines), 97):
        body, _, comment = lines[row].partition("#")
        label, qid, *features = body.split()
        assert data.y[row] == float(label)
        assert data.qids[data.groups.codes[row]] == qid.removeprefix("qid:")
        assert data.X[row].tolist() == [float(f.partition(":")[2]) for f in features]
        assert data.comments[row] == comment


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_mq2008_reads_back_the_same(tmp_path, mq2008_parts, ending):
    write_letor(mq2008_parts[0], tmp_path / f"S1.txt{ending}")
    assert read_letor(tmp_path / f"S1.txt{ending}").equals(mq2008_parts[0])


def test_missing_values_read_back_the_same(tmp_path, shared_data):
    data = read_letor(paths(shared_data, "MQ2008-agg", "A")[0], missing="nan")
    write_letor(data, tmp_path / "A1.txt")
    assert read_letor(tmp_path / "A1.txt", missing="nan").equals(data)


def test_mq2008_as_parquet(tmp_path, mq2008):
    mq2008.to_parquet(tmp_path / "mq2008.parquet")
    assert read_parquet(tmp_path / "mq2008.parquet").equals(mq2008)


def test_letors_folds(mq2008_parts):
    folds = rotate(mq2008_parts)
    sizes = [[part.n_queries for part in fold] for fold in folds]
    assert sizes == [
        [3 * 157, 157, 156],
        [3 * 157, 156, 157],
        [2 * 157 + 156, 157, 157],
        [2 * 157 + 156, 157, 157],
        [2 * 157 + 156, 157, 157],
    ]
    for i, fold in enumerate(folds):
        assert fold.test.equals(mq2008_parts[(i + 4) % 5])
        assert fold.valid.equals(mq2008_parts[(i + 3) % 5])


# The conventions: the same scores, the numbers other tools would print.


def naive_ndcg(labels, scores, k, discount):
    def dcg(ranked):
        return sum((2**y - 1) * discount(place) for place, y in enumerate(ranked[:k], start=1))

    ranked = [labels[i] for i in sorted(range(len(labels)), key=lambda i: (-scores[i], i))]
    ideal = dcg(sorted(labels, reverse=True))
    return dcg(ranked) / ideal if ideal else 0.0


def by_query(data, scores):
    return [(data.y[rows].tolist(), scores[rows].tolist()) for rows in data.groups.slices()]


def test_ndcg_against_a_loop(mq2008, scores):
    expected = [
        naive_ndcg(y, s, 10, lambda j: 1 / math.log2(1 + j)) for y, s in by_query(mq2008, scores)
    ]
    result = evaluate(mq2008, scores, "NDCG@10")["NDCG@10"]
    assert result.per_query == pytest.approx(expected, abs=1e-12)
    assert result.mean == pytest.approx(sum(expected) / N_QUERIES, abs=1e-12)


def test_letors_rule_against_a_loop(mq2008, scores):
    expected = [
        naive_ndcg(y, s, 10, lambda j: 1 / math.log2(max(j, 2))) if len(y) >= 10 else 0.0
        for y, s in by_query(mq2008, scores)
    ]
    name = "NDCG(rule='letor')@10"
    assert evaluate(mq2008, scores, name)[name].per_query == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("column", [0, 24, 39])
@pytest.mark.parametrize(
    ("bare", "one", "skip"),
    [
        ("NDCG@10", "NDCG(empty=1)@10", "NDCG(empty='skip')@10"),
        ("NDCG@1", "NDCG(rule='lightgbm')@1", "NDCG(empty='skip')@1"),
        ("MAP", "MAP(empty=1)", "MAP(empty='skip')"),
        ("MRR", "MRR(empty=1)", "MRR(empty='skip')"),
        ("ERR@10", "ERR(empty=1)@10", "ERR(empty='skip')@10"),
    ],
)
def test_queries_without_answer(mq2008, column, bare, one, skip):
    result = evaluate(mq2008, mq2008.X[:, column], [bare, one, skip])
    share = N_BLANK / N_QUERIES
    assert result[one].mean == pytest.approx(result[bare].mean + share, abs=1e-12)
    assert result[skip].mean == pytest.approx(result[bare].mean / (1 - share), abs=1e-12)
    assert int(np.isnan(result[skip].per_query).sum()) == N_BLANK
    facts = ConversionFacts.of(mq2008, bare)
    assert facts.blank == share
    assert convert(result[bare].mean, bare, one, facts) == pytest.approx(
        result[one].mean, abs=1e-12
    )
    assert convert(result[one].mean, one, skip, facts) == pytest.approx(
        result[skip].mean, abs=1e-12
    )


def test_perfect_and_reversed_scores(mq2008):
    names = ["NDCG@10", "MAP", "MRR"]
    best, worst = evaluate(mq2008, mq2008.y, names), evaluate(mq2008, -mq2008.y, names)
    for name in names:
        assert best[name].mean == pytest.approx(1 - N_BLANK / N_QUERIES, abs=1e-12)
        assert worst[name].mean < 0.5


def test_borda_counts(aggregation):
    def quality(ranks):
        points = np.zeros(len(aggregation))
        for rows in aggregation.groups.slices():  # one for each document a ranker puts below
            points[rows] = (ranks[rows, None] < ranks[None, rows]).sum(axis=(1, 2))
        return evaluate(aggregation, points, "NDCG@10")["NDCG@10"].mean

    assert quality(aggregation.X) == pytest.approx(0.503, abs=0.001)  # 1 is the best rank
    assert quality(-aggregation.X) < 0.4


def test_one_model_has_four_ndcgs(shared_data):
    """The table of docs/conventions.md; other tools' models of this kind lie within .01 of it."""
    names = [
        "NDCG(rule='letor')@10",
        "NDCG@10",
        "NDCG(empty='skip')@10",
        "NDCG(rule='lightgbm')@10",
    ]
    parts = [podium.read_letor(shared_data / f"MQ2008/S{i}.txt.xz") for i in range(1, 6)]
    settings = {
        "objective": "lambdarank", "lambdarank_truncation_level": 13, "learning_rate": 0.05,
        "num_leaves": 15, "min_data_in_leaf": 50, "metric": "ndcg", "eval_at": [10],
        "deterministic": True, "seed": 0, "verbose": -1,
    }  # fmt: skip
    means = []
    for train, valid, test in rotate(parts):
        sets = [lightgbm.Dataset(d.X, d.y, group=d.groups.sizes) for d in (train, valid)]
        model = lightgbm.train(
            settings, sets[0], 300, valid_sets=[sets[1]],
            callbacks=[lightgbm.early_stopping(50, verbose=False)],
        )  # fmt: skip
        result = podium.evaluate(test, model.predict(test.X), names)
        means.append([result[name].mean for name in names])
    assert np.mean(means, axis=0) == pytest.approx([0.232, 0.502, 0.698, 0.783], abs=0.012)
    pages = (DOCS / "conventions.md").read_text()
    for mean in np.mean(means, axis=0):
        printed = [float(number) for number in re.findall(r"^\| (0\.\d+) \|", pages, re.MULTILINE)]
        assert min(abs(mean - number) for number in printed) < 0.002
