"""podium train --clicks: learning from a log, the guard and its report."""

import numpy as np
import pytest

import podium
from podium.clicks import (
    LabelSettings,
    estimate_propensities,
    load_sessions,
    save_sessions,
    simulate,
)
from podium.rankers import ClickLearning, fit_to_clicks
from tests.support.cli import answer, flat, run


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=150, n_docs=8, n_features=4, seed=1)


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    save_sessions(simulate(data, 0, "pbm", 15_000, swap=0.1, seed=1), "log.clicks")
    save_sessions(simulate(data, 0, "pbm", 500, seed=1), "fixed.clicks")
    podium.write_letor(data.with_labels(np.zeros(len(data))), "shop.txt")  # labels are not used
    return tmp_path


def train(*words, ranker="listnet", log="log.clicks", code=0):
    return run(
        "train", ranker, "shop.txt", "--clicks", log, "-o", "m.podium", "--force", *words, code=code
    )


def test_clicks_train_a_ranker_with_the_guard(folder, data):
    out = train("--debias", "dr")
    assert "debias dr" in flat(out.stdout)
    assert "3,000 held-out sessions" in out.stdout
    assert "dr earns +" in out.stderr
    assert "the model is that of --debias dr" in out.stderr
    ranker = podium.load("m.podium")
    sessions = load_sessions("log.clicks")
    own = fit_to_clicks(
        podium.ListNet(), podium.read_letor("shop.txt"), sessions,
        ClickLearning("dr", estimate_propensities(sessions)),
    )  # fmt: skip
    assert ranker.predict(data) == pytest.approx(own.predict(data))


def test_the_report_as_json(folder):
    facts = answer(
        "train", "listnet", "shop.txt", "--clicks", "log.clicks", "-o", "m.podium", "--json",
        "--debias", "ips", "--debias", "dr",
    )  # fmt: skip
    assert facts["debias"] == facts["guard"]["chosen"] in ("ips", "dr")
    assert set(facts["guard"]["differences"]) == {"ips", "dr"}
    assert facts["guard"]["sessions_held_out"] == 3000


def test_ips_is_the_default_and_the_clip_counts(folder, data):
    out = train("--no-guard", "--propensity-clip", "0.4")
    assert "debias ips" in flat(out.stdout)
    assert "held-out" not in out.stdout
    sessions = load_sessions("log.clicks")
    learning = ClickLearning("ips", estimate_propensities(sessions), LabelSettings(clip=0.4))
    own = fit_to_clicks(podium.ListNet(), podium.read_letor("shop.txt"), sessions, learning)
    assert podium.load("m.podium").predict(data) == pytest.approx(own.predict(data))


@pytest.mark.parametrize(
    ("ranker", "least", "words"),
    [
        ("lambdamart", 0.6, ["--debias", "position", "--set", "trees=20"]),
        ("ranknet", 0.8, ["--debias", "dual"]),
        ("ranksvm", 0.8, ["--debias", "model", "--examination", "ubm"]),
        ("ranksvm", 0.8, ["--debias", "dr", "--examination", "dbn"]),
        ("listnet", 0.6, ["--debias", "none"]),
        ("listnet", 0.8, ["--debias", "ips", "--scale", "zscore"]),
    ],
)
def test_every_way_to_debias(folder, data, ranker, least, words):
    train("--no-guard", *words, ranker=ranker)
    assert podium.load("m.podium").score(data) > least


def test_a_folder_of_logs_and_bags(folder, data):
    (folder / "log").mkdir()
    (folder / "log.clicks").rename(folder / "log" / "log.clicks")
    train("--no-guard", "--bag", "2", log="log")
    assert podium.load("m.podium").score(data) > 0.8
    (folder / "empty").mkdir()
    assert "which has no files" in train(log="empty", code=2).stderr


def test_logs_that_cannot_say_are_refused(folder):
    error = train("--no-guard", log="fixed.clicks", code=1).stderr
    assert "one ranker, no swaps: positions and relevance cannot be told apart" in flat(error)
    out = train("--debias", "model", log="fixed.clicks")
    assert "nothing can be compared" in out.stderr
    assert "plain click rates" in out.stderr


def test_options_that_do_not_fit_are_refused(folder):
    error = run("train", "listnet", "shop.txt", "-o", "m.podium", "--debias", "ips", code=2).stderr
    assert "expected --debias together with --clicks" in flat(error)
    assert "expected lambdamart" in flat(train("--debias", "position", "--no-guard", code=2).stderr)
    two = train("--debias", "ips", "--debias", "dr", "--no-guard", code=2).stderr
    assert "expected one --debias with --no-guard" in flat(two)
    bags = train("--debias", "position", "--no-guard", "--bag", "2", ranker="lambdamart", code=2)
    assert "expected lambdamart" in flat(bags.stderr)
    auto = train(ranker="auto", code=2).stderr
    assert "give --no-guard" in flat(auto)
