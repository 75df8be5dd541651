"""Bags on the command line: --bag of train, tune and compare."""

import pytest

import podium
from podium.data import make_synthetic, split, write_letor
from podium.rankers import LambdaMART
from tests.support.cli import answer, flat, run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bags")
    data = make_synthetic(n_queries=24, n_docs=(4, 9), n_features=4, seed=0)
    for name, part in zip(("train", "vali"), split(data, [0.7, 0.3]), strict=True):
        write_letor(part, folder / f"{name}.txt")
    return folder / "train.txt", folder / "vali.txt"


def test_train_bags_a_ranker(files, tmp_path):
    train, vali = files
    told = answer(
        "train", "lambdamart", train, "--valid", vali, "--bag", 3, "--bag-queries", 0.7,
        "--bag-features", 0.5, "--set", "trees=5", "--set", "min_leaf=2", "--seed", 4,
        "-o", tmp_path / "m.podium",
    )  # fmt: skip
    assert (told["ranker"], told["bags"]) == ("lambdamart", "3, in one model (trees)")
    assert (told["iterations"], told["kept_iteration"]) == (3, 3)
    ranker = podium.load(tmp_path / "m.podium")
    same = podium.Bagged(
        LambdaMART(trees=5, min_leaf=2, seed=4), bags=3, query_fraction=0.7, feature_fraction=0.5,
        seed=4,
    ).fit(podium.read_letor(train), valid=podium.read_letor(vali))  # fmt: skip
    data = podium.read_letor(vali)
    assert ranker.predict(data).tobytes() == same.predict(data).tobytes()
    shown = flat(run("explain", tmp_path / "m.podium").stdout)
    assert "lambdamart, trained on 17 queries" in shown
    run("export", tmp_path / "m.podium", "--to", "json", "-o", tmp_path / "m.json")


def test_preparation_is_around_the_bags(files, tmp_path):
    told = answer(
        "train", "ranksvm", files[0], "--bag", 2, "--scale", "zscore", "-o", tmp_path / "m.podium"
    )
    assert told["bags"] == "2, in one model (linear)"
    ranker = podium.load(tmp_path / "m.podium")
    assert isinstance(ranker, podium.Prepared)
    assert isinstance(ranker.ranker, podium.Bagged)


def test_tune_and_compare_bag_rankers(files, tmp_path):
    train, vali = files
    told = answer("tune", "ranksvm", train, "--valid", vali, "--bag", 2, "--grid", "C=0.01,1",
                  "-o", tmp_path / "m.podium")  # fmt: skip
    ranker = podium.load(tmp_path / "m.podium")
    assert (ranker.bags, ranker.ranker.C) == (2, told["settings"]["C"])
    told = answer("compare", train, "--rankers", "ranksvm,regression", "--bag", 2, "--folds", 2,
                  "--no-tune", "--metric", "NDCG@10", "--out", tmp_path / "out")  # fmt: skip
    assert told["failed"] == []
    assert set(told["rankers"]) == {"ranksvm", "regression"}
    assert "Bagged(bags=2" in (tmp_path / "out" / "report.json").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bag-queries", "0.5"), "expected --bag N with --bag-queries"),
        (("--bag", "0"), "--bag"),
        (("--bag", "2", "--bag-features", "2"), "feature_fraction of bagged"),
        (("--bag", "2", "--jobs", "0"), "n_jobs of bagged"),
    ],
)
def test_wrong_options_are_refused(files, options, message, tmp_path):
    shown = run("train", "ranksvm", files[0], "-o", tmp_path / "m.podium", *options, code=2)
    assert message in flat(shown.stderr)


def test_feedback_and_bags_exclude_each_other(files, tmp_path):
    shown = run("train", "cfbrs", files[0], "--alpha", "uniform", "--bag", 2, "-o", tmp_path / "m",
                code=2)  # fmt: skip
    assert "expected feedback or --bag, got both" in flat(shown.stderr)
