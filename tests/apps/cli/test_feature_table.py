"""The table of features that ``podium data info`` prints."""

import json

import numpy as np
import pytest

import podium
from podium.data import RankingData
from podium.data.data_description import MAX_LISTED_FEATURES
from tests.support.cli import run

QID = np.repeat(np.arange(6), 4)
Y = np.tile([0.0, 2.0, 1.0, 0.0], 6)
RNG = np.random.default_rng(0)


@pytest.fixture
def leak(tmp_path):
    X = np.column_stack([RNG.normal(size=24), 1000 * RNG.normal(size=24), np.ones(24), Y])
    X[3, 0] = np.nan
    names = ["ctr", "sales", "flat", "copy"]
    data = RankingData.from_arrays(X, Y, qid=QID, feature_names=names, missing="nan")
    path = tmp_path / "leak.txt"
    podium.write_letor(data, path)
    return path, data


def test_info_lists_every_feature_with_what_looks_wrong(leak):
    path, data = leak
    done = run("data", "info", path)
    lines = {line.split()[1]: line for line in done.stdout.splitlines() if line.startswith("│")}
    assert "│       1 │" in lines["ctr"]
    assert f"{np.nanmedian(data.X[:, 1]):.4g}" in lines["sales"]
    assert "constant" in lines["flat"]
    assert "same order as the label in every query: a leak?" in lines["copy"]
    assert "podium: note: copy: the order of the label in every query" in done.stderr
    assert "use --scale zscore with podium train" in done.stderr
    assert "use --impute median with podium train" in done.stderr


def test_json_has_every_feature(leak):
    path, data = leak
    table = json.loads(run("data", "info", path, "--json").stdout)["feature_table"]
    assert [feature["name"] for feature in table] == list(data.names())
    assert [feature["missing"] for feature in table] == [1, 0, 0, 0]
    assert table[3]["max"] == Y.max()
    assert table[2]["flags"] == ["constant"]


def test_many_features_are_cut_and_flagged_ones_stay(tmp_path):
    n = MAX_LISTED_FEATURES + 5
    X = RNG.normal(size=(24, n))
    X[:, -1] = 7.0
    data = RankingData.from_arrays(X, Y, qid=QID)
    podium.write_letor(data, tmp_path / "wide.txt")
    out = run("data", "info", tmp_path / "wide.txt").stdout
    assert f"... and {n - MAX_LISTED_FEATURES} more (--json lists all)" in out
    assert f"│ f{n} " in out
    assert f"│ f{MAX_LISTED_FEATURES - 1} " in out
    assert f"│ f{MAX_LISTED_FEATURES} " not in out
    table = json.loads(run("data", "info", tmp_path / "wide.txt", "--json").stdout)["feature_table"]
    assert len(table) == n


def test_compare_notes_a_perfect_mean(tmp_path):
    X = np.column_stack([Y, RNG.normal(size=24)])
    podium.write_letor(RankingData.from_arrays(X, Y, qid=QID), tmp_path / "copy.txt")
    done = run(
        "compare", tmp_path / "copy.txt", "--rankers", "regression", "--no-tune", "--folds", 3,
        "-m", "NDCG@10", "--out", tmp_path / "out",
    )  # fmt: skip
    question = "every query is perfect (NDCG@10 = 1). Does a feature hold the label?"
    assert question in done.stdout
    assert question in (tmp_path / "out/report.md").read_text()
