"""The commands of podium clicks."""

import pytest

import podium
from podium.clicks import (
    PolicySettings,
    estimate_propensities,
    evaluate_policy,
    fit_click_model,
    load_click_model,
    load_sessions,
    read_sessions,
    save_sessions,
    simulate,
)
from podium.data import write_scores
from podium.feedback import make_log
from tests.support.cli import answer, flat, run


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=120, n_docs=6, n_features=3, seed=1)


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    save_sessions(simulate(data, 0, "pbm", 6000, swap=0.1, seed=1), "log.clicks")
    save_sessions(simulate(data, 0, "pbm", 500, seed=1), "fixed.clicks")
    podium.write_letor(data, "shop.txt")
    for feature in (0, 1):
        write_scores(data.X[:, feature], f"{feature}.scores")
    return tmp_path


def test_sessions_are_counted_and_saved(folder):
    make_log(n_lists=30, seed=1).write("events.ndjson")
    lines = (folder / "events.ndjson").read_text()
    (folder / "events.ndjson").write_text(lines + "{broken\n" + lines.splitlines()[1] + "\n")
    out = run("clicks", "sessions", "events.ndjson", "-o", "out.clicks")
    assert "sessions 30" in flat(out.stdout).replace("┃", "")
    assert "records left out that cannot be read: 1" in out.stderr
    assert "records left out that came before: 1" in out.stderr
    saved, direct = load_sessions("out.clicks"), read_sessions("events.ndjson")
    assert saved.click_order.tolist() == direct.click_order.tolist()
    facts = answer("clicks", "sessions", "out.clicks")
    assert facts["sessions"] == 30
    assert facts["counts"]["malformed"] == 1
    assert (
        "out.clicks"
        in run("clicks", "sessions", "events.ndjson", "-o", "out.clicks", code=2).stderr
    )


def test_sessions_from_tables_with_other_names(folder):
    (folder / "t.csv").write_text("sid,q,d,pos,c\n1,tea,a,1,0\n1,tea,b,2,1\n")
    names = ["session=sid", "query=q", "doc=d", "position=pos", "clicked=c"]
    options = [word for name in names for word in ("--column", name)]
    assert answer("clicks", "sessions", "t.csv", *options)["clicks"] == 1
    assert "--column session=NAME" in run("clicks", "sessions", "t.csv", code=1).stderr
    assert (
        "--column ROLE=NAME" in run("clicks", "sessions", "t.csv", "--column", "x", code=2).stderr
    )


def test_a_log_without_sessions_is_an_error(folder):
    (folder / "empty.ndjson").write_text("")
    assert "expected sessions, got none" in run("clicks", "sessions", "empty.ndjson", code=1).stderr


def test_fit_compares_models_on_held_out_sessions(folder):
    rows = answer("clicks", "fit", "log.clicks", "--model", "pbm", "--model", "rank-rates")
    train, test = load_sessions("log.clicks").split(0.8, seed=0)
    expected = fit_click_model(train, "pbm").log_likelihood(test).mean()
    assert rows[0]["model"] == "pbm"
    assert rows[0]["log_likelihood"] == pytest.approx(expected)
    out = run("clicks", "fit", "log.clicks", "--model", "rank-rates", "--model", "pbm").stdout
    assert out.index("│ pbm") < out.index("│ rank-rates")


def test_fit_writes_a_model(folder):
    run("clicks", "fit", "log.clicks", "--model", "dcm", "-o", "m.model")
    expected = fit_click_model(load_sessions("log.clicks"), "dcm")
    assert load_click_model("m.model").stopping.tolist() == expected.stopping.tolist()
    assert "one --model" in run("clicks", "fit", "log.clicks", "-o", "n.model", code=2).stderr
    assert "did you mean pbm" in run("clicks", "fit", "log.clicks", "--model", "pbn", code=2).stderr


def test_propensity(folder, data):
    facts = answer("clicks", "propensity", "log.clicks")
    estimate = estimate_propensities(load_sessions("log.clicks"))
    assert facts == estimate.to_dict()
    out = run("clicks", "propensity", "log.clicks", "--method", "harvest", "--level", "0.9").stdout
    assert "harvest, 6,000 sessions, 90% intervals" in out
    error = run("clicks", "propensity", "fixed.clicks", code=1).stderr
    assert "serve with --swap 0.05 for a week" in flat(error)
    by_features = answer(
        "clicks", "propensity", "fixed.clicks", "--method", "regression-em", "--data", "shop.txt"
    )
    assert by_features["low"] == [None] * 6
    assert (
        "--data"
        in run("clicks", "propensity", "log.clicks", "--method", "regression-em", code=2).stderr
    )


def test_evaluate(folder, data):
    facts = answer("clicks", "evaluate", "log.clicks", "--data", "shop.txt", "--scores", "1.scores",
                   "--scores", "0.scores", "--metric", "dcg", "--estimator", "ips")  # fmt: skip
    sessions = load_sessions("log.clicks")
    settings = PolicySettings(metric="dcg", estimator="ips")
    expected = evaluate_policy(sessions, data, 1, estimate_propensities(sessions), settings)
    assert facts["1.scores"] == expected.to_dict()
    difference = facts["1.scores"]["value"] - facts["0.scores"]["value"]
    assert facts["difference"]["value"] == pytest.approx(difference)


def test_evaluate_with_a_click_model(folder):
    run("clicks", "fit", "fixed.clicks", "--model", "dbn", "-o", "m.model")
    scores = ["--data", "shop.txt", "--scores", "0.scores"]
    out = run("clicks", "evaluate", "fixed.clicks", *scores, "--model", "m.model")
    assert "clicks per session by doubly-robust, 500 sessions" in out.stdout
    assert "effective sample size" in out.stderr
    wrong = run("clicks", "evaluate", "fixed.clicks", *scores, "--model", "log.clicks", code=1)
    assert "not a saved click model" in flat(wrong.stderr)
    three = run("clicks", "evaluate", "log.clicks", *scores, *scores[2:], *scores[2:], code=2)
    assert "one or two --scores" in three.stderr
