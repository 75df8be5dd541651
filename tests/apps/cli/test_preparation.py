"""Preparation on the command line: --impute and its kin in training, nothing to repeat afterwards."""

import json

import numpy as np
import pytest

import podium
from podium.data import RankingData, make_synthetic, read_letor, scale_by_query, split, write_letor
from tests.support.cli import answer, flat, run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of train, valid and test: with holes, as LETOR text of others and of podium, as Parquet."""
    folder = tmp_path_factory.mktemp("holes")
    data = make_synthetic(n_queries=40, n_docs=(5, 9), n_features=3, seed=3)
    X = np.exp(data.X)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    holes = RankingData.from_arrays(
        X, data.y, qid=data.groups.codes, feature_names=["price", "clicks", "age"], missing="nan"
    )
    for name, part in zip(("train", "valid", "test"), split(holes, [0.5, 0.25, 0.25]), strict=True):
        write_letor(part, folder / f"{name}.txt")
        part.to_parquet(folder / f"{name}.parquet")
    foreign = (folder / "test.txt").read_text().splitlines(keepends=True)[1:]
    (folder / "foreign.txt").write_text("".join(foreign))
    return folder


STEPS = ("--impute", "median", "--indicators", "--scale", "zscore", "--log1p", "price,clicks",
         "--clip", "age=0:20")  # fmt: skip


@pytest.fixture(scope="module")
def model(files):
    path = files / "model.podium"
    run("train", "ranksvm", files / "train.txt", "--valid", files / "valid.txt", "-o", path, *STEPS)
    return path


def test_train_keeps_the_steps_in_the_model(files, model, tmp_path):
    out = tmp_path / "m.podium"
    told = answer("train", "ranksvm", files / "train.txt", "-o", out, *STEPS, "--json")
    assert told["ranker"] == "ranksvm"
    assert told["preparation"] == (
        "clipped 1 feature, log1p of 2 features, missing values filled in, indicators of 3 features, "
        "scaled (zscore)"
    )
    ranker = podium.load(out)
    expected = podium.Prepared(
        podium.RankSVM(), impute="median", indicators=True, scale="zscore",
        log1p=("price", "clicks"), clip={"age": (0.0, 20.0)},
    )  # fmt: skip
    assert repr(ranker) == repr(expected)
    data = read_letor(files / "test.txt")
    np.testing.assert_array_equal(
        ranker.predict(data), expected.fit(read_letor(files / "train.txt")).predict(data)
    )


@pytest.mark.parametrize("file", ["test.txt", "test.parquet", "foreign.txt"])
def test_predict_needs_no_option(files, model, file):
    data = read_letor(files / "test.txt")
    assert np.isnan(data.X).any()
    told = answer("predict", model, files / file, "--json")
    if file == "foreign.txt":  # it has no feature names; scores are the same
        np.testing.assert_allclose(told["scores"], podium.load(model).predict(data))
    else:
        assert told["scores"] == podium.load(model).predict(data).tolist()


def test_a_file_of_podium_says_that_values_are_missing(files, tmp_path):
    for file in ("train.txt", "train.parquet"):
        told = answer("train", "lambdamart", files / file, "-o", tmp_path / "m.podium",
                      "--set", "trees=3", "--json", "--force")  # fmt: skip
        assert told["documents"] == len(read_letor(files / "train.txt"))
    result = run(
        "predict", tmp_path / "m.podium", files / "foreign.txt", "--missing", "error", code=1
    )
    assert "--missing nan" in result.stderr


def test_explain_shows_the_sign_of_a_prepared_linear_model(files, model):
    told = answer("explain", model, "--json")
    assert (told["ranker"], told["model"], told["measure"]) == ("ranksvm", "linear", "weight")
    ranker = podium.load(model)
    names = ranker.model_.prepared_names(["price", "clicks", "age"])
    assert "price is missing" in names
    assert told["features"] == dict(zip(names, ranker.model_.model.weights.tolist(), strict=True))
    shown = flat(run("explain", model).stdout)
    assert f"price {told['features']['price']:+.6g}" in shown.replace("│", " ").replace("  ", " ")


def test_explain_is_about_the_raw_features(files, model):
    told = answer("explain", model, "--json")
    assert "scaled (zscore)" in told["preparation"]
    assert "ranksvm, trained on" in flat(run("explain", model).stdout)
    query = read_letor(files / "test.txt").qids[0]
    told = answer("explain", model, "--data", files / "test.txt", "--query", query, "--json")
    for document in told["documents"]:
        assert sum(document["contributions"].values()) == pytest.approx(document["score"])


def test_tune_prepares_features(files, tmp_path):
    told = answer(
        "tune", "ranksvm", files / "train.txt", "--valid", files / "valid.txt", "-o",
        tmp_path / "m.podium", "--grid", "C=0.01,1", "--impute", "mean", "--json",
    )  # fmt: skip
    assert told["ranker"] == "ranksvm"
    ranker = podium.load(tmp_path / "m.podium")
    assert (ranker.impute, ranker.scale, ranker.ranker.C) == ("mean", "none", told["settings"]["C"])


def test_compare_prepares_features(files, model, tmp_path):
    told = answer(
        "compare", files / "train.txt", "--rankers", "regression,ranksvm", "--no-tune", "--folds", 3,
        "--impute", "zero", "--scale", "query-zscore", "--fixed", model, "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert told["failed"] == []
    assert set(told["rankers"]) == {"regression", "ranksvm", "model"}
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "Prepared(" in json.dumps(report)


def test_compare_keeps_the_settings_of_the_user(files, tmp_path):
    run("compare", files / "train.txt", "--rankers", "ranksvm", "--set", "ranksvm.C=0.5", "--folds", 3,
        "--impute", "zero", "--out", tmp_path / "out")  # fmt: skip
    text = (tmp_path / "out" / "report.json").read_text()
    assert "RankSVM(C=0.5" in text
    assert "RankSVM(C=0.01" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--clip", "price"), "expected --clip NAME=LOW:HIGH, as in price=0:100"),
        (("--clip", "price=a:b"), "expected --clip NAME=LOW:HIGH"),
        (("--clip", "price=:"), "expected --clip NAME=LOW:HIGH"),
        (("--clip", "price=1:2", "--clip", "price=1:3"), "expected --clip price once"),
        (("--clip", "price=2:1"), "as in --clip price=0:100"),
        (("--impute", "modus"), "'modus' is not one of"),
        (("--impute", "mean", "--log1p", "prise"), "unknown feature to prepare 'prise'"),
        (("--feedback", "LOG", "--impute", "mean"), "got ranksvm"),
    ],
)
def test_wrong_options_are_told_in_the_words_of_the_command_line(files, tmp_path, options, message):
    log = tmp_path / "log.ndjson"
    log.write_text("")
    options = [log if option == "LOG" else option for option in options]
    result = run("train", "ranksvm", files / "train.txt", "-o", tmp_path / "m", *options, code=2)
    assert message in flat(result.stderr)
    assert "clip={" not in result.stderr


def test_log1p_of_negative_values_advises_clip(tmp_path):
    data = make_synthetic(n_queries=10, n_features=2, seed=0)
    write_letor(data, tmp_path / "raw.txt")
    result = run(
        "train", "ranksvm", tmp_path / "raw.txt", "-o", tmp_path / "m", "--log1p", "f1", code=1
    )
    assert "expected values above -1 for log1p" in flat(result.stderr)
    assert "--clip price=0:" in result.stderr


# --- scaling by query ---


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scaled")
    data = make_synthetic(n_queries=20, n_features=3, seed=0)
    write_letor(data, folder / "raw.txt")
    write_letor(scale_by_query(data), folder / "minmax.txt")
    for name in ("raw", "minmax"):
        run("train", "ranksvm", folder / f"{name}.txt", "-o", folder / f"{name}.podium")
    return folder


@pytest.mark.parametrize(
    ("trained", "data", "message"),
    [
        ("raw", "minmax", "expected features not scaled by query"),
        ("minmax", "raw", "podium data convert --scale minmax"),
    ],
)
def test_data_scaled_otherwise_is_refused_in_both_directions(scaled, trained, data, message):
    model, file = scaled / f"{trained}.podium", scaled / f"{data}.txt"
    query = read_letor(file).qids[0]
    for command in (("predict", model, file), ("explain", model, "--data", file, "--query", query)):
        result = run(*command, code=1)
        assert message in flat(result.stderr)
        assert "--ignore-scaling skips this check" in flat(result.stderr)
        assert "ignore_scaling=" not in result.stderr
        run(*command, "--ignore-scaling")


def test_validation_data_scaled_otherwise_is_refused(scaled, tmp_path):
    for command in (("train", "ranknet"), ("tune", "ranksvm", "--grid", "C=1")):
        options = (
            *command,
            scaled / "minmax.txt",
            "--valid",
            scaled / "raw.txt",
            "-o",
            tmp_path / "m",
            "--force",
        )
        assert "in the validation data" in flat(run(*options, code=1).stderr)
        run(*options, "--ignore-scaling")


def test_compare_refuses_a_fixed_model_of_other_data(scaled, tmp_path):
    command = ("compare", scaled / "raw.txt", "--rankers", "regression", "--folds", 3, "--no-tune",
               "--fixed", scaled / "minmax.podium", "--json")  # fmt: skip
    told = answer(*command, "--out", tmp_path / "one")
    assert {cell["ranker"] for cell in told["failed"]} == {"minmax"}
    told = answer(*command, "--ignore-scaling", "--out", tmp_path / "two")
    assert told["failed"] == []
