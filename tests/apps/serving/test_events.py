"""Events over HTTP: whole lines in a log that podium feedback reads, or an error and nothing kept."""

import errno
import fcntl
import os
import signal
import threading
from contextlib import contextmanager

import httpx
import msgspec
import numpy as np
import pytest

from podium.apps.http.refusals import Refusal
from podium.apps.serving.event_checking import check_events
from podium.apps.serving.event_log import EventLog
from podium.feedback import make_log, read_ubi
from podium.work_budget import bounded_time
from tests.support.forked_code import ForkedCode
from tests.support.ranking_service import (
    error,
    eventually,
    get,
    lines,
    post,
    rows,
    running,
    service,
)

CLICK = {
    "action_name": "click", "query_id": "q1", "timestamp": "2026-01-31T12:00:00Z",
    "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 1}},
}  # fmt: skip
QUERY = {
    "query_id": "q1", "user_query": "clocks", "timestamp": 1_741_000_000_000,
    "query_response_hit_ids": ["d1", "d2"],
}  # fmt: skip


@pytest.fixture
def log(tmp_path):
    return tmp_path / "events.ndjson"


@pytest.fixture
def app(path, log):
    return service(path, events=str(log))


@pytest.mark.parametrize(
    ("body", "n"), [(CLICK, 1), ([QUERY, CLICK], 2), ({"events": [QUERY, CLICK]}, 2), ([], 0)]
)
def test_events_come_alone_or_together(app, log, body, n):
    response = post(app, "/v1/events", body)
    assert (response.status_code, response.json()) == (200, {"accepted": n})
    given = body["events"] if "events" in body else body if isinstance(body, list) else [body]
    assert lines(log.read_text()) == given


def test_the_log_is_what_feedback_reads(app, log, tmp_path):
    made = make_log(n_lists=30, seed=0)
    made.write(tmp_path / "given.ndjson")
    records = lines((tmp_path / "given.ndjson").read_text())
    for start in range(0, len(records), 50):
        assert post(app, "/v1/events", records[start : start + 50]).status_code == 200
    kept, given = read_ubi(log, strict=True), read_ubi(tmp_path / "given.ndjson", strict=True)
    assert len(kept) == len(given) == 30
    assert np.array_equal(kept.reactions, given.reactions, equal_nan=True)
    assert kept.counts.actions == given.counts.actions


def test_the_command_line_reads_the_log(app, log):
    from tests.support.cli import answer

    post(app, "/v1/events", [QUERY, CLICK])
    told = answer("feedback", "summarise", log, "--strict")
    assert "clocks" in str(told)


def test_an_event_without_a_time_has_that_of_its_arrival(app, log):
    for event in (
        {**CLICK, "timestamp": None},
        {k: v for k, v in CLICK.items() if k != "timestamp"},
    ):
        assert post(app, "/v1/events", event).status_code == 200
    assert all(event["timestamp"].startswith("20") for event in lines(log.read_text()))
    assert len(read_ubi(log, strict=True)) == 1


def changed(**changes):
    return {**CLICK, **changes}


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (7, "events[1]"),
        ([], "events[1]"),
        ({}, "events[1].query_id"),
        (changed(query_id=""), "events[1].query_id"),
        (changed(query_id=1.5), "events[1].query_id"),
        (changed(timestamp="soon"), "events[1].timestamp"),
        (changed(timestamp=[]), "events[1].timestamp"),
        (changed(action_name=""), "events[1].action_name"),
        (changed(action_name=None), "events[1].action_name"),
        (changed(action_name="x" * 101), "events[1].action_name"),
        (changed(event_attributes=[]), "events[1].event_attributes"),
        (changed(event_attributes=None), "events[1].event_attributes.object.object_id"),
        (changed(event_attributes={"object": 3}), "events[1].event_attributes.object.object_id"),
        ({**QUERY, "user_query": 3}, "events[1].user_query"),
        ({**QUERY, "query_response_hit_ids": "d1"}, "events[1].query_response_hit_ids"),
    ],
)
def test_one_event_that_is_none_refuses_all(app, log, event, at):
    told = error(post(app, "/v1/events", [CLICK, event]), 422, "bad_event")
    assert told["at"] == at
    assert log.read_bytes() == b""


def test_actions_of_ones_own_are_kept(app, log):
    event = {"action_name": "opened_map", "query_id": 7}
    assert post(app, "/v1/events", event).status_code == 200
    assert lines(log.read_text())[0]["action_name"] == "opened_map"


@pytest.mark.parametrize(
    "record", [CLICK, QUERY, changed(query_id=10**18), changed(extra="\n\u2028\0")]
)
def test_what_is_accepted_is_one_line_that_feedback_accepts(log, record):
    kept = EventLog(str(log))
    kept.append(check_events(record))
    assert log.read_bytes().count(b"\n") == 1
    assert len(read_ubi(log, strict=True)) == 1
    assert msgspec.json.decode(log.read_bytes()) == record


def test_too_many_events_are_refused(app, log):
    error(post(app, "/v1/events", [CLICK] * 10_001), 413, "too_many")
    assert log.read_bytes() == b""


def test_a_service_without_a_log_says_so(path):
    error(post(service(path), "/v1/events", CLICK), 404, "no_event_log")


def test_a_log_that_cannot_be_written_is_found_at_the_start(path, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        service(path, events=str(tmp_path / "nowhere" / "events.ndjson"))


def test_events_are_counted(app):
    post(app, "/v1/events", [CLICK, QUERY])
    assert "podium_events_total 2.0" in get(app, "/metrics").text


def test_a_full_disk_leaves_the_log_as_it_was(app, log, monkeypatch):
    post(app, "/v1/events", CLICK)
    before, write = log.read_bytes(), os.write

    def full(file, data):
        if len(data) < 50:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", full)
    told = error(post(app, "/v1/events", [CLICK] * 3), 503, "log_failed")
    assert "No space left" in told["message"]
    assert log.read_bytes() == before


def test_a_line_that_a_crash_cut_short_does_not_spoil_the_next(app, log):
    log.write_bytes(b'{"action_na')
    post(app, "/v1/events", CLICK)
    assert log.read_bytes().splitlines()[0] == b'{"action_na'
    assert lines(log.read_text().split("\n", 1)[1]) == [CLICK]


def test_a_log_that_is_too_large_is_put_aside(log):
    size = len(msgspec.json.encode(CLICK)) + 1
    kept = EventLog(str(log), max_bytes=2 * size)
    for _ in range(5):
        kept.append([CLICK])
    aside = sorted(log.parent.glob("events-*.ndjson"))
    assert [path.stat().st_size for path in (*aside, log)] == [2 * size, 2 * size, size]
    assert len(read_ubi([*aside, log]).counts.actions) == 1


def test_events_larger_than_the_limit_have_a_log_of_their_own(log):
    kept = EventLog(str(log), max_bytes=10)
    kept.append([CLICK, CLICK])
    kept.append([CLICK])
    assert len(list(log.parent.iterdir())) == 2


WRITER = """
import sys
from podium.apps.serving.event_log import EventLog
log = EventLog(sys.argv[1], max_bytes=int(sys.argv[3]), durability="batch")
for n in range(200):
    log.append([{"who": sys.argv[2], "n": n, "text": "x" * 300}] * 2)
"""


@pytest.mark.parametrize("max_bytes", [0, 20_000])
def test_several_processes_write_whole_lines(log, max_bytes):
    writers = [ForkedCode(WRITER, str(log), name, str(max_bytes)) for name in "abc"]
    assert [writer.communicate() for writer in writers] == [("", "")] * 3
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    found = [one for path in log.parent.iterdir() for one in lines(path.read_text())]
    assert sorted((one["who"], one["n"]) for one in found) == sorted(
        (who, n) for who in "abc" for n in range(200) for _ in range(2)
    )
    assert (len(list(log.parent.iterdir())) > 5) == (max_bytes > 0)


def test_several_threads_write_whole_lines(log):
    kept = EventLog(str(log), max_bytes=5_000)
    threads = [
        threading.Thread(target=lambda: [kept.append([CLICK]) for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(lines(path.read_text())) for path in log.parent.iterdir()) == 200


# --- a file that another process has locked ---


@contextmanager
def locked(path):
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_log_that_stays_locked_refuses_events(log):
    kept = EventLog(str(log), lock_seconds=0.1)
    with (
        locked(log),
        pytest.raises(Refusal, match=r"kept the file locked for 0\.1 seconds") as refused,
    ):
        kept.append([{"n": 0}])
    assert (refused.value.status, refused.value.code) == (503, "log_failed")
    kept.append([{"n": 1}])
    assert lines(log.read_text()) == [{"n": 1}]


def test_events_that_are_refused_in_time_are_not_written_later(log):
    kept = EventLog(str(log), lock_seconds=60)
    with locked(log), bounded_time(0.2), pytest.raises(Refusal, match="the log is busy"):
        kept.append([{"n": 0}])
    kept.append([{"n": 1}])
    assert lines(log.read_text()) == [{"n": 1}]


def test_a_locked_log_does_not_keep_the_service_from_its_end(path, log):
    options = ("--events", log, "--seconds", 1)
    with running(path, *options, fork=False) as (process, url), locked(log):
        answer = httpx.post(f"{url}/v1/events", json=CLICK, timeout=60)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "log_failed")
        process.terminate()
        assert process.wait(60) in (0, -signal.SIGTERM)
    assert log.read_bytes() == b""


# --- when events are synced ---


class SlowDisk:
    """A disk whose syncs wait until they may go on; `fails` says what they come to."""

    def __init__(self, monkeypatch):
        self.syncs, self.fails, self.may_go_on = [], None, threading.Event()
        self.may_go_on.set()
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor):
        self.syncs.append(os.fstat(descriptor).st_ino)
        self.may_go_on.wait(60)
        if self.fails:
            raise OSError(errno.EIO, self.fails)

    def files(self, path):
        """How often a file was synced."""
        return self.syncs.count(path.stat().st_ino)


@pytest.fixture
def disk(monkeypatch):
    return SlowDisk(monkeypatch)


def test_events_that_wait_for_a_sync_share_the_next_one(log, disk):
    kept, answered = EventLog(str(log)), []
    kept.append([{"n": 0}])
    disk.may_go_on.clear()

    def append(n):
        kept.append([{"n": n}])
        answered.append(n)

    threads = [threading.Thread(target=append, args=(n,)) for n in range(1, 21)]
    threads[0].start()
    eventually(lambda: disk.files(log) == 2)  # it syncs, and all others wait
    for thread in threads[1:]:
        thread.start()
    eventually(lambda: kept._queue.qsize() == 19)
    assert answered == []
    disk.may_go_on.set()
    for thread in threads:
        thread.join()
    assert sorted(one["n"] for one in lines(log.read_text())) == list(range(21))
    assert disk.files(log) == 1 + 1 + 1  # the first event, the one that synced, and the 19


def test_a_sync_that_fails_refuses_its_events_and_leaves_none_of_them(app, log, disk):
    assert post(app, "/v1/events", CLICK).status_code == 200
    before, disk.fails = log.read_bytes(), "Input/output error"
    told = error(post(app, "/v1/events", [CLICK, QUERY]), 503, "log_failed")
    assert "Input/output error" in told["message"]
    assert log.read_bytes() == before
    disk.fails = None
    assert post(app, "/v1/events", QUERY).status_code == 200
    assert lines(log.read_text()) == [CLICK, QUERY]


def test_batches_are_synced_by_time(log, disk):
    kept = EventLog(str(log), durability="batch", batch_seconds=0.01)
    kept.append([CLICK])
    eventually(lambda: disk.files(log) == 1 and kept._n_unsynced == 0)
    kept.close()


def test_batches_are_synced_by_number_and_at_the_end(log, disk):
    kept = EventLog(str(log), durability="batch", batch_events=3, batch_seconds=1000)
    for n, syncs in enumerate([0, 0, 1, 1, 1, 2, 2]):
        kept.append([{"n": n}])
        assert disk.files(log) == syncs
    kept.close()
    assert disk.files(log) == 2 + 1


def test_while_batches_cannot_be_synced_no_event_is_acknowledged(log, disk, caplog):
    kept = EventLog(str(log), durability="batch", batch_seconds=0.01)
    disk.fails = "Input/output error"
    kept.append([CLICK])
    eventually(lambda: "cannot be synced" in caplog.text)
    with pytest.raises(Refusal, match="Input/output error"):
        kept.append([QUERY])
    disk.fails = None
    kept.append([QUERY])
    kept.close()
    assert lines(log.read_text()) == [CLICK, QUERY]
    assert caplog.text.count("cannot be synced") == 1


def test_off_never_waits_for_the_disk(log, disk):
    kept = EventLog(str(log), max_bytes=200, durability="off")
    for _ in range(5):
        kept.append([CLICK])
    kept.close()
    assert disk.syncs == []


def test_a_slow_disk_holds_up_no_ranking(path, log, disk):
    app = service(path, events=str(log))
    disk.may_go_on.clear()
    posts = [
        threading.Thread(target=post, args=(app, "/v1/events", CLICK), daemon=True)
        for _ in range(8)
    ]
    for thread in posts:
        thread.start()
    eventually(lambda: len(disk.syncs) == 1)
    body = {"queries": [{"features": rows().tolist()}]}
    assert post(app, "/v1/rank/batch", body).status_code == 200
    disk.may_go_on.set()
    for thread in posts:
        thread.join()
    assert len(lines(log.read_text())) == 8


def test_the_policy_is_an_option(path, log):
    with running(path, "--events", log, "--durability", "batch") as (_, address):
        answer = httpx.post(f"{address}/v1/events", json=CLICK, timeout=60)
        assert answer.json() == {"accepted": 1}
    assert lines(log.read_text()) == [CLICK]
