"""The command rerank."""

import json

import pytest

from podium.data import read_run
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from tests.support.cli import answer, flat, run
from tests.support.machines import KEY, judge_numbers


@pytest.fixture
def files(tmp_path):
    """Two lists of eight documents, the best last, and the texts."""
    with open(tmp_path / "bm25.run", "w") as lines, open(tmp_path / "docs.jsonl", "w") as texts:
        for q in range(2):
            for i in range(8):
                lines.write(f"q{q} Q0 q{q}d{i} {i + 1} {8 - i} bm25\n")
                texts.write(json.dumps({"id": f"q{q}d{i}", "text": f"worth {i / 10}"}) + "\n")
    (tmp_path / "queries.tsv").write_text("q0\tfirst\nq1\tsecond\n")
    return tmp_path


def command(files, *options):
    return ("rerank", files / "bm25.run", "--documents", files / "docs.jsonl",
            "--queries", files / "queries.tsv", "--top", 3, *options)  # fmt: skip


def orders(path):
    ranked = read_run(path)
    names = list(ranked.docids)
    return [names[rows] for rows in ranked.groups.slices()]


def test_heads_are_in_the_machines_order_and_the_rest_in_the_runs(files, monkeypatch):
    monkeypatch.setenv("PODIUM_MACHINE_KEY", KEY)
    with SimulatedEndpoint(judge_numbers(), key=KEY) as server:
        url = ("--endpoint", server.url, "--model", "small")
        out = run(*command(files, *url, "--depth", 6, "-o", files / "new.run"))
        requests = server.requests
        again = run(*command(files, *url, "--depth", 6))
        assert server.requests == requests, "the cache has every answer"
    for q, names in enumerate(orders(files / "new.run")):
        assert names == [f"q{q}d{i}" for i in (5, 4, 3, 0, 1, 2, 6, 7)]
    assert again.stdout == (files / "new.run").read_text()
    assert f"{requests} calls in all runs" in flat(out.stderr)
    assert (files / "bm25.run.answers").exists()
    for file in files.iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_a_budget_and_a_cap_keep_probable_orders(files):
    with SimulatedEndpoint(judge_numbers()) as server:
        url = ("--endpoint", server.url, "--model", "small")
        few = answer(*command(files, *url, "--questions", 2, "--price-in", 1, "--price-out", 1))
        assert (few["lists"], few["certain"], few["questions"], few["calls"]) == (2, 0, 4, 4)
        assert few["cost"] == (few["tokens_in"] + few["tokens_out"]) / 1e6
        assert {r["stopped"] for r in few["rankings"]} == {"the budget of 2 questions is spent"}
        capped = run(*command(files, *url, "--max-calls", 6, "--threads", 1))
        assert server.requests == 6
    assert "2 lists ended with a probable order: the cap of 6 calls is reached" in flat(
        capped.stderr
    )


def test_a_dry_run_sends_nothing(files):
    options = ("--endpoint", "https://models.example.org/v1", "--model", "small", "--dry-run")
    price = answer(*command(files, *options, "--questions", 5))
    assert (price["lists"], price["calls"]) == (2, 10)
    assert not (files / "bm25.run.answers").exists()


def test_wrong_options_are_named(files):
    away = ("--endpoint", "https://models.example.org/v1", "--model", "small")
    assert "--send-documents" in run(*command(files, *away), code=2).stderr
    simulated = ("--endpoint", "simulated")
    assert "heap" in run(*command(files, *simulated, "--strategy", "heap"), code=2).stderr
    there = run(*command(files, *simulated, "-o", files / "docs.jsonl", "--force"), code=1)
    assert "docs.jsonl" in there.stderr
    (files / "docs.jsonl").write_text('{"id": "q0d0", "text": "alone"}\n')
    assert "no document 'q0d1'" in run(*command(files, *simulated), code=1).stderr


def test_help_shows_an_example():
    assert "podium rerank bm25.run" in flat(run("rerank", "--help").stdout)
