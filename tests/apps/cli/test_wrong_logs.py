"""Wrong logs: podium clicks sessions counts what is wrong, and says what follows."""

import json
import random

import pytest

from tests.support.cli import answer, flat, run

T0, MINUTE = 1_741_000_000_000, 60_000
N_LISTS, DOCS = 40, [f"d{i}" for i in range(6)]


def lists(n=N_LISTS, *, clicks=True, impressions=True, user=str, text="query {}", times=True):
    """Return n lists of six hits, of which three have impressions; every second list has a click on d1."""
    records = []
    for i in range(n):
        head = {"query_id": str(i), "client_id": user(i), "timestamp": T0 + i * MINUTE}
        query = head | {"user_query": text.format(i % 10), "query_response_hit_ids": DOCS}
        places = range(1, 4) if impressions else ()
        events = [("impression", place, place) for place in places]
        events += [("click", 2, 5000)] if clicks and i % 2 else []
        records += [query, *(_event(head, *one) for one in events)]
    if not times:
        records = [{k: v for k, v in record.items() if k != "timestamp"} for record in records]
    return records


def _event(head, action, place, delay):
    attributes = {"object": {"object_id": DOCS[place - 1]}, "position": {"ordinal": place}}
    time = head["timestamp"] + delay
    return head | {"action_name": action, "timestamp": time, "event_attributes": attributes}


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Return the counts of a log, and what the command prints about it; the exit code may be 1."""
    monkeypatch.chdir(tmp_path)

    def read(records, *options, code=0):
        (tmp_path / "log.ndjson").write_text("".join(json.dumps(r) + "\n" for r in records))
        out = run("clicks", "sessions", "log.ndjson", *options, code=code)
        if code:
            return {}, flat(out.stderr)
        return answer("clicks", "sessions", "log.ndjson", *options), flat(out.stdout + out.stderr)

    return read


def test_a_good_log_has_no_notes(notes):
    facts, text = notes(lists())
    assert (facts["sessions"], facts["impressions"], facts["clicks"]) == (40, 120, 20)
    assert facts["messages"] == []
    assert "note" not in text


def test_no_positions(notes):
    records = lists()
    for record in records:
        record.get("event_attributes", {}).pop("position", None)
    _, text = notes(records, code=1)
    assert "expected sessions, got none" in text
    assert "40 sessions set aside: no position for a document: log the rank" in text
    half = records[: len(records) // 2] + lists()[len(records) // 2 :]
    facts, text = notes(half)
    assert facts["counts"]["missing_positions"] == 20
    assert "50% of the sessions were set aside" in text


def test_shuffled_clocks(notes):
    records = lists(400)
    times = [record["timestamp"] + i * 10 * MINUTE for i, record in enumerate(records)]
    random.Random(1).shuffle(times)
    for record, time in zip(records, times, strict=True):
        record["timestamp"] = time
    facts, text = notes(records, "--max-user-sessions", "1000")
    wrong = facts["counts"]["clock_errors"]
    assert 150 < wrong <= 200
    assert facts["sessions"] == 400 - wrong
    assert (
        f"{wrong} sessions set aside: a click comes before its query, or more than a day later"
        in text
    )
    share = wrong / 200
    assert (
        f"{share:.0%} of the sessions with clicks were set aside, and 0% of those without" in text
    )
    assert "the click rates of the rest are too low" in text


def test_one_query_has_most_of_the_traffic(notes):
    records = [r | {"user_query": "tea"} if "user_query" in r and int(r["query_id"]) % 10 else r
               for r in lists()]  # fmt: skip
    facts, text = notes(records)
    assert facts["counts"]["largest_query_share"] == 0.9
    assert "the query 'tea' has 90% of the sessions: estimates describe this query" in text


def test_bots(notes):
    facts, text = notes(
        lists(user=lambda i: "bot" if i < 30 else str(i)), "--max-user-sessions", "20"
    )
    assert facts["counts"]["busy_users"] == 30
    assert facts["sessions"] == 10
    assert "30 sessions set aside: the user has more sessions than a person: a bot" in text
    # Bots are no faults of the log: without them click rates are those of people.
    assert "click rates of the rest" not in text
    greedy = lists(1)[:1] + [_event(lists(1)[0], kind, place, 9) for kind in ("impression", "click")
                             for place in range(1, 7)]  # fmt: skip
    facts, text = notes([*greedy, *lists()[1:]])
    assert "every document was clicked: a bot, or a test" in text


def test_positions_beyond_the_list(notes):
    records = lists()
    for record in records:
        position = record.get("event_attributes", {}).get("position", {})
        if position.get("ordinal") == 3 and int(record["query_id"]) < 4:
            position["ordinal"] = 57
    facts, text = notes(records)
    assert facts["counts"]["positions_beyond_list"] == 4
    assert "4 sessions set aside: a position is beyond the end of the list" in text


def test_duplicated_sessions(notes):
    again = [record | {"query_id": f"copy {record['query_id']}"} for record in lists(10)]
    facts, text = notes([*lists(), *again])
    assert (facts["sessions"], facts["counts"]["duplicate_sessions"]) == (40, 10)
    assert "10 sessions set aside: the same user, query, time, documents and clicks" in text
    unknown = [
        {k: v for k, v in record.items() if k != "client_id"} for record in [*lists(), *again]
    ]
    facts, text = notes(unknown)
    assert (facts["sessions"], facts["counts"]["repeats_without_user"]) == (50, 10)
    assert "repeat the query, time, documents and clicks of another: 10" in text
    twice, text = notes([*lists(), *lists(10)])
    assert (twice["sessions"], twice["clicks"]) == (40, 20)
    assert "records left out that came before: 35" in text


def test_no_impressions(notes):
    facts, text = notes(lists(impressions=False))
    assert (facts["impressions"], facts["counts"]["without_impressions"]) == (240, 40)
    assert "sessions without impressions: 40; all their hits count as shown" in text
    assert "--visible" in text
    facts, text = notes(lists(impressions=False), "--visible", "3")
    assert (facts["impressions"], facts["clicks"]) == (120, 20)
    assert "their first 3 hits count as shown" in text
    facts, text = notes(lists(impressions=False), "--visible", "1")
    assert (facts["impressions"], facts["clicks"], facts["sessions"]) == (40, 0, 40)
    assert "clicks beyond, left out: 20" in text
    # Impressions say themselves what was shown.
    assert notes(lists(), "--visible", "1")[0]["impressions"] == 120


def test_no_times(notes):
    facts, text = notes(lists(times=False, user=lambda _: "ann"), "--max-user-sessions", "50")
    assert facts["counts"]["untimed"] == 40
    assert (
        "sessions without a time: 40; all of them that belong to one user count as one day" in text
    )
    _, text = notes(lists(times=False, user=lambda _: "ann"), "--max-user-sessions", "20", code=1)
    assert "40 sessions set aside: the user has more sessions than a person" in text
    assert "sessions without a time: 40" in text
