"""Experiments in logs: lists and clicks in any order, repeated lines, several experiments."""

import json
import random

import pytest

from podium.clicks.experiment_log import read_experiment
from podium.clicks.experiment_result import experiment_result
from podium.errors import EmptyDataError, UsageError


def a_list(query_id, teams=(0, 1, 0), time="2026-03-01T10:00:00Z", experiment="x", **other):
    attributes = {"experiment": experiment, "method": "team-draft", "models": ["old", "new"],
                  "unit": "session", "teams": list(teams), "variant": experiment}  # fmt: skip
    record = {"query_id": query_id, "timestamp": time, "query_response_hit_ids": ["a", "b", "c"]}
    attributes |= other.pop("attributes", {})
    return {**record, **other, "query_attributes": attributes}


def a_click(query_id, doc):
    attributes = {"object": {"object_id": doc}}
    return {"action_name": "click", "query_id": query_id, "event_attributes": attributes}


def write(path, records):
    path.write_text("".join(json.dumps(r) + "\n" if isinstance(r, dict) else r for r in records))
    return path


def test_outcomes_by_list_in_the_order_of_time(tmp_path):
    path = write(tmp_path / "log.ndjson", [
        a_click("q2", "b"), a_list("q2", time="2026-03-01T11:00:00Z", session_id="s1"),
        a_list("q1", session_id="s1"), a_list("q3", time="2026-03-02T11:00:00Z"), a_click("q1", "a"),
    ])  # fmt: skip
    log = read_experiment(path)
    assert (log.name, log.method, log.models) == ("x", "team-draft", ("old", "new"))
    assert log.outcome.tolist() == [-1, 1, 0]
    assert log.unit.tolist() == [0, 0, 1]


def test_neither_the_order_of_lines_nor_repeats_change_the_log(tmp_path):
    records = [a_list(f"q{i}", time=1_760_000_000_000 + i) for i in range(30)]
    records += [a_click(f"q{i}", "abc"[i % 3]) for i in range(20)]
    one = read_experiment(write(tmp_path / "one.ndjson", records))
    again = records + records[:7] + records[-3:]
    random.Random(0).shuffle(again)
    other = read_experiment(
        [write(tmp_path / "a.ndjson", again[:30]), write(tmp_path / "b.ndjson", again[30:])]
    )
    assert one.outcome.tolist() == other.outcome.tolist()
    assert one.unit.tolist() == other.unit.tolist()
    assert other.counts["repeated lists"] == 7


def test_ab_lists_have_their_arm_and_whether_they_were_clicked(tmp_path):
    ab = {"method": "ab", "unit": "user", "share": 0.3, "teams": []}
    path = write(tmp_path / "log.ndjson", [
        a_list("q1", client_id="ann", attributes={**ab, "arm": 1}),
        a_list("q2", client_id="bob", time="2026-03-01T10:00:01Z", attributes={**ab, "arm": 0}),
        a_click("q1", "c"), a_click("q1", "a"),
    ])  # fmt: skip
    log = read_experiment(path)
    assert (log.outcome.tolist(), log.arm.tolist(), log.share) == ([1, 0], [1, 0], 0.3)


def test_what_does_not_count_is_counted(tmp_path):
    path = write(tmp_path / "log.ndjson", [
        a_list("q1"), a_click("q1", "zebra"), a_click("q9", "a"), '{"action_name": "click"\n',
        {"query_id": "q5", "user_query": "a list of no experiment"}, a_click(None, "a"),
    ])  # fmt: skip
    counts = read_experiment(path).counts
    assert counts["clicks on documents that the list lacks"] == 1
    assert counts["clicks on unknown lists"] == 1
    assert counts["malformed lines"] == 2
    assert counts["clicks"] == 2


def test_several_experiments_and_none(tmp_path):
    path = write(tmp_path / "log.ndjson", [a_list("q1"), a_list("q2", experiment="y")])
    with pytest.raises(UsageError, match="logs of several: x, y"):
        read_experiment(path)
    assert len(read_experiment(path, "y")) == 1
    with pytest.raises(UsageError, match=r"of the logs \(x, y\), got 'z'"):
        read_experiment(path, "z")
    with pytest.raises(EmptyDataError, match="give both logs"):
        read_experiment(write(tmp_path / "empty.ndjson", [a_click("q1", "a")]))


def test_logs_that_mix_experiments_of_one_name_say_so(tmp_path):
    ab = {"method": "ab", "unit": "session", "teams": []}
    records = [
        a_list(f"q{i}", session_id=f"s{i}", time=1_760_000_000_000 + i,
               attributes={**ab, "share": 0.5, "seed": "0", "arm": i % 2})
        for i in range(6)
    ]  # fmt: skip
    clean = experiment_result(read_experiment(write(tmp_path / "one.ndjson", records)))
    assert clean.messages == ()
    records += [
        a_list(f"r{i}", session_id=f"s{i}", time=1_760_000_001_000 + i,
               attributes={**ab, "share": 0.5, "seed": "1", "arm": 0})
        for i in range(4)
    ]  # fmt: skip
    log = read_experiment(write(tmp_path / "two.ndjson", records))
    assert log.counts["lists of other settings"] == 4
    mixed, both = experiment_result(log).messages
    assert mixed.startswith("4 lists have other models, shares, unit or seed")
    assert both == "2 sessions or users have lists of both arms; each counts for its first arm"
