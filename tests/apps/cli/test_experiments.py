"""The command podium clicks interleaving."""

import msgspec
import pytest

from podium.clicks.experiment_records import ListAttributes, ListRecord
from podium.clicks.hashed_draws import hashed_draws
from tests.support.cli import answer, flat, run


def a_log(path, n, share_new, method="team-draft"):
    """Lists of two documents, one by each model; of every list a document is clicked."""
    draw, records = hashed_draws("log"), []
    for i in range(n):
        arm = i % 2
        attributes = ListAttributes(
            experiment="x", method=method, models=("old", "new"), teams=(0, 1),
            arm=arm if method == "ab" else None,
        )  # fmt: skip
        record = ListRecord(
            query_id=f"q{i}",
            timestamp=1_760_000_000_000 + i,
            query_response_hit_ids=("a", "b"),
            query_attributes=attributes,
        )
        records.append(record)
        doc = "ab"[draw() < share_new]
        if method == "ab" and (doc == "a" or arm == 0):
            continue
        click = {"object": {"object_id": doc}}
        records.append({"action_name": "click", "query_id": f"q{i}", "event_attributes": click})
    path.write_bytes(msgspec.json.Encoder().encode_lines(records))


def test_the_better_model_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_log(tmp_path / "events.ndjson", 400, 0.7)
    text = flat(run("clicks", "interleaving", "events.ndjson").stdout)
    assert "new beats old" in text
    facts = answer("clicks", "interleaving", tmp_path)
    assert (facts["winner"], facts["lists"], facts["ties"]) == ("new", 400, 0)
    assert facts["wins"] + facts["losses"] == 400


def test_what_is_needed_is_said_while_nothing_is_decided(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_log(tmp_path / "events.ndjson", 100, 0.55)
    assert "more sessions are needed" in flat(run("clicks", "interleaving", "events.ndjson").stdout)


def test_ab_tests_have_a_rate_for_each_arm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_log(tmp_path / "events.ndjson", 400, 0.7, "ab")
    text = flat(run("clicks", "interleaving", "events.ndjson").stdout)
    assert "lists with a click, old" in text
    assert "new beats old" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["events.ndjson", "--experiment", "y"], "expected an experiment of the logs (x), got 'y'"),
        (["empty"], "expected logs (*.ndjson) in the folder empty, got none"),
    ],
)
def test_wrong_arguments(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    a_log(tmp_path / "events.ndjson", 10, 0.5)
    (tmp_path / "empty").mkdir()
    result = run("clicks", "interleaving", *arguments, code=2)
    assert message in flat(result.output)
