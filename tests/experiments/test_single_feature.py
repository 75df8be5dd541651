"""A ranking by one feature, as a ranker and as the baseline of ``podium compare``."""

import json

import numpy as np
import pytest

import podium
from podium.data import RankingData
from podium.errors import UnknownNameError
from podium.experiments.single_feature import SingleFeature
from tests.support.cli import run

QID = np.repeat(np.arange(9), 3)
Y = np.tile([0.0, 1.0, 2.0], 9)
GOOD = Y + 0.5
BAD = -Y
NAMES = ["good", "bad"]


@pytest.fixture
def data():
    return RankingData.from_arrays(np.c_[GOOD, BAD], Y, qid=QID, feature_names=NAMES)


def test_the_score_is_the_feature(data):
    ranker = SingleFeature(feature="bad").fit(data)
    np.testing.assert_array_equal(ranker.predict(data), BAD)


def test_an_unknown_feature_is_named(data):
    with pytest.raises(UnknownNameError, match=r"goood.*did you mean good"):
        SingleFeature(feature="goood").fit(data)


def compare(path, out, *options, code=0):
    return run(
        "compare", path, "--rankers", "regression", "--no-tune", "--folds", 3, "-m", "NDCG@3",
        "--out", out, *options, code=code,
    )  # fmt: skip


def test_a_feature_is_the_baseline_of_a_comparison(data, tmp_path):
    podium.write_letor(data, tmp_path / "d.txt")
    told = compare(tmp_path / "d.txt", tmp_path / "out", "--baseline-feature", "bad", "--json")
    report = json.loads(told.stdout)
    worst = ((2**1 - 1) / np.log2(3) + (2**2 - 1) / np.log2(4)) / (3 / np.log2(2) + 1 / np.log2(3))
    assert report["baseline"] == "bad"
    assert report["rankers"]["bad"]["NDCG@3"]["mean"] == pytest.approx(worst)
    gain = report["rankers"]["regression"]["NDCG@3"]["against_baseline"]["difference"]
    assert gain == pytest.approx(1 - worst)


def test_missing_values_and_categories_beside_the_feature(tmp_path):
    rows = [f"{q},{y:g},{s},{'' if i % 5 == 0 else i % 7},{'ab'[i % 2]}"
            for i, (q, y, s) in enumerate(zip(QID, Y, GOOD, strict=True))]  # fmt: skip
    path = tmp_path / "d.csv"
    path.write_text("\n".join(["qid,label,score,other,brand", *rows]) + "\n")
    options = ("--baseline-feature", "score", "--categories", "brand", "--impute", "median")
    report = json.loads(compare(path, tmp_path / "out", *options, "--json").stdout)
    assert report["rankers"]["score"]["NDCG@3"]["mean"] == 1


@pytest.mark.parametrize(
    ("feature", "told"), [("goood", "did you mean good"), ("regression", "of its own")]
)
def test_wrong_baselines(data, tmp_path, feature, told):
    podium.write_letor(data, tmp_path / "d.txt")
    failed = compare(tmp_path / "d.txt", tmp_path / "out", "--baseline-feature", feature, code=2)
    assert told in " ".join(failed.stderr.split())
