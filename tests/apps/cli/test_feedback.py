"""The command feedback summarise."""

import json
import sys

import pytest

from podium.feedback import FACTORS, Phi, make_log, read_ubi
from tests.support.cli import answer, errors_in_a_pipe, flat, run

CLASSES = ["--classes", "query_attributes.user_class"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_log(n_lists=40, user_class="novice", seed=1).write("novice.ndjson.gz")
    make_log(n_lists=20, user_class="expert", seed=2).write("expert.ndjson", bulk=True)
    (tmp_path / "users.csv").write_text("user,class\nu1,first\nu2,second\n")
    (tmp_path / "empty.ndjson").write_text("")
    (tmp_path / "text.ndjson").write_text("hello\nworld\n")
    whole = (tmp_path / "expert.ndjson").read_text()
    (tmp_path / "broken.ndjson").write_text(whole + "{broken\n")
    return tmp_path


LOGS = ["novice.ndjson.gz", "expert.ndjson"]


def test_tables_by_query_and_class(folder):
    out = run("feedback", "summarise", *LOGS, *CLASSES, "-k", "3").stdout
    assert "By user class" in out
    assert "By query, 3 with most lists of 19" in out
    feedback = read_ubi(LOGS, user_class=CLASSES[1])
    alpha = feedback.of_class("expert").alphas.mean()
    row = next(
        line for line in out.splitlines() if "expert" in line and "20" in line and "0." in line
    )
    assert f"{alpha:.4f}" in row
    assert all(name in out for name in FACTORS)
    assert "lists 60" in flat(out)


def test_json_tells_the_same(folder):
    told = answer("feedback", "summarise", *LOGS, *CLASSES)
    feedback = read_ubi(LOGS, user_class=CLASSES[1])
    assert told["lists"] == 60
    assert told["alpha"] == feedback.alphas.mean()
    assert [row["class"] for row in told["by_class"]] == ["expert", "novice"]
    assert told["by_class"][1]["factors"]["clicks"] == pytest.approx(
        feedback.of_class("novice").factors[:, 0].mean()
    )
    assert told["queries"] == len(told["by_query"]) == 19
    assert told["counts"]["events"] == feedback.counts.events
    only = answer("feedback", "summarise", *LOGS, *CLASSES, "--class", "novice")
    assert only["lists"] == 40
    table = answer("feedback", "summarise", *LOGS, "--classes", "users.csv")
    assert [row["class"] for row in table["by_class"]] == [None, "first", "second"]


def test_json_has_the_queries_with_most_lists_first(folder):
    whole = answer("feedback", "summarise", *LOGS, "-k", "100")["by_query"]
    told = answer("feedback", "summarise", *LOGS, "-k", "2")
    assert told["by_query"] == sorted(whole, key=lambda row: -row["lists"])[:2]
    assert told["queries"] == len(whole) > 2


def test_factors_that_are_not_carried_are_shown_as_such(folder):
    line = {"action_name": "impression", "query_id": "1", "timestamp": 1741000000000,
            "event_attributes": {"object": {"object_id": "a"}}}  # fmt: skip
    (folder / "one.ndjson").write_text(
        json.dumps(line) + "\n" + json.dumps(line | {"action_name": "hm"})
    )
    out = flat(run("feedback", "summarise", "one.ndjson").stdout)
    assert "(no text) 1 - - - - - - - - 0.5000" in out
    assert "unknown actions 1 (hm 1)" in out
    told = answer("feedback", "summarise", "one.ndjson", "--action", "hm=bookmark")
    assert told["carried"] == ["bookmarks"]
    assert told["factors"]["bookmarks"] == 1
    assert told["factors"]["clicks"] is None


def test_what_is_wrong_is_counted_or_stops(folder):
    out = flat(run("feedback", "summarise", "broken.ndjson").stdout)
    assert "malformed 1" in out
    lines = len((folder / "broken.ndjson").read_text().splitlines())
    error = run("feedback", "summarise", "broken.ndjson", "--strict", code=1).stderr
    assert f"broken.ndjson:{lines}: expected JSON, got '{{broken'" in error


def test_closed_within(folder):
    short, long = (
        answer("feedback", "summarise", "expert.ndjson", "--closed-within", s)["factors"]["closed"]
        for s in (0.001, 3600)
    )
    assert short == 0
    assert long > 0


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_plot(folder, ending):
    pytest.importorskip("matplotlib")
    run("feedback", "summarise", *LOGS, *CLASSES, "--plot", f"out.{ending}")
    first = (folder / f"out.{ending}").read_bytes()
    assert len(first) > 5000
    if ending == "svg":
        assert b"novice" in first
        run("feedback", "summarise", *LOGS, *CLASSES, "--plot", "out.svg", "--force")
        assert (folder / "out.svg").read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "EVENTS"),
        (["nothing.ndjson"], 2, "nothing.ndjson"),
        (["empty.ndjson"], 1, "empty.ndjson: expected UBI queries and events, got none"),
        (
            ["text.ndjson"],
            1,
            "2 other lines (text.ndjson:1: expected JSON, got 'hello')",
        ),
        (["text.ndjson", "--strict"], 1, "text.ndjson:1: expected JSON"),
        (
            [*LOGS, *CLASSES, "--class", "nobody"],
            1,
            "'nobody' has no feedback; expected one of: expert, novice",
        ),
        ([*LOGS, "--class", "nobody"], 1, "'nobody' has no feedback"),
        ([*LOGS, "--classes", "query_attributes.sort"], 1, "query_attributes.sort, got none"),
        (
            [*LOGS, "--classes", "other.csv"],
            1,
            "other.csv: expected a CSV file of user,class lines",
        ),
        ([*LOGS, "--classes", "a..b"], 2, "path such as"),
        ([*LOGS, "--action", "buy"], 2, "--action NAME=KIND"),
        ([*LOGS, "--action", "buy=bokmark"], 2, "did you mean bookmark"),
        ([*LOGS, "--closed-within", "-1"], 2, "closed-within"),
        ([*LOGS, "--window", "1"], 2, "window"),
        ([*LOGS, "--plot", "x.txt"], 2, ".svg"),
        ([*LOGS, "--plot", "no/x.svg"], 1, "no folder"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, arguments, code, message):
    result = run("feedback", "summarise", *arguments, code=code)
    assert message in flat(result.output)
    if code == 1:
        assert result.stderr.count("\n") == 1


def test_a_missing_matplotlib_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = run("feedback", "summarise", *LOGS, "--plot", "x.svg", code=2).stderr
    assert "podium-ltr[report]" in error
    assert not (folder / "x.svg").exists()


def test_help_has_an_example():
    out = flat(run("feedback", "summarise", "--help").stdout)
    assert "Example: podium feedback summarise" in out


def test_no_progress_bar_in_a_pipe(folder):
    assert errors_in_a_pipe(folder, "feedback", "summarise", *LOGS) == ""


def test_weights_and_scales_of_phi(folder):
    options = ["--phi-weight", "dwell=0", "--phi-weight", "clicks=3", "--phi-scale", "ignored=0.5"]
    told = answer("feedback", "summarise", *LOGS, *options)
    phi = Phi(weights=(3, 1, 0, 1, 1, 1, 1, 1), scales=(0.1, 0.1, 10.0, 0.1, 0.1, 0.5, 0.1, 0.1))
    assert told["alpha"] == read_ubi(LOGS, phi=phi).alphas.mean()
    assert told["alpha"] != read_ubi(LOGS).alphas.mean()
    done = run("feedback", "summarise", *LOGS, "--phi-weight", "clicks=-1", code=2)
    assert "8 weights of phi, 0 or more" in flat(done.stderr)


def test_errors_of_alpha_name_its_argument():
    done = run("feedback", "alpha", "simlated", "--features", "5", code=2)
    assert "unknown feedback in SOURCE 'simlated'" in flat(done.stderr)
    assert "--alpha" not in done.stderr


def test_alpha_without_a_log():
    told = answer("feedback", "alpha", "simulated=0", "--features", "5")
    assert told["by_size"] == [0.5, 1.0, 1.0, 0.5, 0.1]  # 5, 10, 10, 5, 1 subsets of 10 at most
    told = answer("feedback", "alpha", "uniform=0.5", "--features", "8", "--blocks", "1,3,4")
    assert told["alpha"] == 0.5
    assert told["shares"] == [0.5 * 1 / 8, 0.5 * 3 / 8, 0.5 * 4 / 8]
    out = flat(run("feedback", "alpha", "simulated=0", "--features", "5", "--blocks", "1,4").stdout)
    assert "alpha 0.5000" in out
    assert "4 0.4000" in out
    for blocks, message in (("1,x", "whole numbers, as in 5,5,36"), ("2,2", "which is 4")):
        done = run("feedback", "alpha", "uniform", "--features", "5", "--blocks", blocks, code=2)
        assert message in flat(done.stderr)
