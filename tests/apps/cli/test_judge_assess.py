"""The command judge assess."""

import pytest

from podium.labelling import write_pool
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from podium.labelling.store import Store
from tests.support.cli import answer, flat, run
from tests.support.machines import KEY, judge_numbers, numbered_pool


@pytest.fixture
def store(tmp_path):
    write_pool(numbered_pool(2, 5), tmp_path / "pool.jsonl")
    path = tmp_path / "judgments.db"
    run("judge", "import", path, "--pool", tmp_path / "pool.jsonl", "-a", "ann", "--top", 2)
    return path


def test_a_dry_run_prices_the_campaign_and_changes_nothing(store):
    options = ("--endpoint", "https://models.example.org/v1", "--model", "small", "--dry-run")
    price = answer("judge", "assess", store, *options, "--price-in", 2, "--price-out", 8)
    assert price["tasks"] == 2
    assert price["cost"] == (2 * price["tokens_of_prompts"] + 8 * price["tokens_of_answers"]) / 1e6
    assert price["tokens_of_answers"] == 200 * price["calls"]
    out = run("judge", "assess", store, *options)
    assert f"calls {price['calls']} " in flat(out.stdout)
    assert "nothing was sent" in out.stderr
    with Store.open(store) as opened:
        assert [member.id for member in opened.members()] == ["ann"]
    assert not store.with_name("judgments.db.answers").exists()


def test_a_campaign_against_an_endpoint(store, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    with SimulatedEndpoint(judge_numbers(), key=KEY) as server:
        options = ("--endpoint", server.url, "--model", "small", "--key-variable", "MY_KEY")
        first = run("judge", "assess", store, *options, "--max-calls", 3)
        assert "the cap of 3 calls is reached" in first.stderr
        assert "tasks finished 0 of 2" in flat(first.stdout)
        rest = answer("judge", "assess", store, *options, "--price-in", 1, "--price-out", 1)
        assert (rest["assessor"], rest["finished"], rest["stopped"]) == ("small", 2, "")
        assert rest["calls"] == {"answered": server.requests}
        assert rest["cost"] == (rest["tokens_in"] + rest["tokens_out"]) / 1e6
        run("judge", "assess", store, *options, "--name", "grader", "--ask", "grades")
        failed = run("judge", "assess", store, "--endpoint", server.url, "--model", "other", code=1)
    assert "check the key" in failed.stderr
    for file in store.parent.iterdir():
        assert KEY.encode() not in file.read_bytes()
    with Store.open(store) as opened:
        results = opened.results().values()
        assert {result.order for result in results if hasattr(result, "order")} == {("d4", "d3")}
    assert "small" not in run("judge", "links", store).stdout  # machines have no links


def test_texts_leave_only_with_consent_and_by_https(store):
    url = ("--endpoint", "https://models.example.org/v1")
    refused = run("judge", "assess", store, *url, "--model", "small", code=2)
    assert "--send-documents" in refused.stderr
    assert "models.example.org" in refused.stderr
    plain = ("--endpoint", "http://models.example.org/v1", "--model", "m", "--send-documents")
    assert "https://" in run("judge", "assess", store, *plain, code=2).stderr


def test_wrong_options_are_named(store, tmp_path):
    simulated = ("judge", "assess", store, "--endpoint", "simulated")
    assert "--model" in run("judge", "assess", store, "--endpoint", "https://h", code=2).stderr
    assert "--price-out" in run(*simulated, "--price-in", 1, code=2).stderr
    assert "--price-in" in run(*simulated, "--max-cost", 1, code=2).stderr
    assert "bayesian" in run(*simulated, "--ask", "sets", "--strategy", "heap", code=2).stderr
    assert "--name" in run(*simulated, "--name", "ann", code=2).stderr
    assert "messages" in run(*simulated, "--set", "messages=1", code=2).stderr
    (tmp_path / "own.md").write_text("no header")
    assert "own.md" in run(*simulated, "--prompt", tmp_path / "own.md", code=1).stderr


def test_help_shows_an_example():
    assert "podium judge assess judgments.db" in flat(run("judge", "assess", "--help").stdout)
