"""The page of a click log: its numbers are those of the log, and nothing on it comes from the network."""

import json

import numpy as np
import pytest

import podium
from podium.clicks import ClickSessions, estimate_propensities, save_sessions, simulate
from podium.data import write_scores
from podium.experiments.click_log_page import render_click_log
from tests.support.cli import flat, run


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=60, n_docs=6, n_features=3, seed=1)


@pytest.fixture(scope="module")
def log(data):
    return simulate(data, 0, "pbm", 4000, swap=0.1, seed=1)


def test_the_page_has_the_numbers_of_the_log(log):
    page = render_click_log(log, "Shop <1>")
    assert "<h1>Shop &lt;1&gt;</h1>" in page
    rate = log.clicked[log.positions == 2].mean()
    assert f'<td class="">{rate:.4f}</td>' in page
    estimate = estimate_propensities(log)
    for value in (estimate.values[1], estimate.low[2], estimate.high[3]):
        assert f"{value:.3f}</td>" in page
    assert "800 sessions held out" in page
    assert "No session was set aside" in page
    assert page.count("<svg") == 3
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_log_that_cannot_say_says_why(data):
    page = render_click_log(simulate(data, 0, "pbm", 500, seed=1))
    assert "one ranker, no swaps" in page
    assert page.count("<svg") == 2
    one = ClickSessions.from_lists(["q"], [["a", "b"]], [["a"]])
    assert "one session only" in render_click_log(one)


def test_the_same_log_gives_the_same_page(log):
    assert render_click_log(log) == render_click_log(log)


def test_the_command_writes_the_page(tmp_path, monkeypatch, data, log):
    monkeypatch.chdir(tmp_path)
    save_sessions(log, "log.clicks")
    podium.write_letor(data, "shop.txt")
    write_scores(np.asarray(data.X[:, 1]), "new.scores")
    run("clicks", "report", "log.clicks", "-o", "log.html")
    assert "What rankings would have earned" not in (tmp_path / "log.html").read_text()
    words = ["--data", "shop.txt", "--scores", "new.scores", "--title", "Shop", "--force"]
    answer = run("clicks", "report", "log.clicks", "-o", "log.html", "--json", *words)
    assert json.loads(answer.stdout)["page"] == "log.html"
    page = (tmp_path / "log.html").read_text()
    assert "<h1>Shop</h1>" in page
    assert "What rankings would have earned" in page
    assert "new.scores" in page
    error = run("clicks", "report", "log.clicks", "-o", "p.html", "--data", "shop.txt", code=2)
    assert "expected --scores and --data together" in flat(error.stderr)
