"""The judging server: what happens when the store fails, and with garbage."""

import json
import sqlite3
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.errors import StoreError
from tests.support.case_counts import soak_cases
from tests.support.judging_client import Browser, serving

# When the store fails.


def test_a_locked_database_is_a_503_and_pages_are_still_read(tmp_path):
    with serving(tmp_path, timeout=0.2) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        state = ann.open(task)
        event = ann.event(question=state["step"]["question"], answer="left")
        other = sqlite3.connect(tmp_path / "judgments.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = ann.send(task, event)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_locked")
        assert int(answer.headers["retry-after"]) > 0
        assert str(tmp_path) not in answer.text
        assert ann.get("/").status_code == 200
        assert ann.open(task) == state
        other.rollback()
        other.close()
        assert ann.send(task, event).json()["accepted"] == [event["id"]]
        assert len(site.store.session(task.id).judgments) == 1


def test_a_full_disk_is_a_503_and_nothing_is_half_kept(tmp_path):
    with serving(tmp_path) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        state = ann.open(task)
        engine, full = site.store.database.engine, [True]

        @sa.event.listens_for(engine, "checkout")
        def limit(connection, *_):
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages if full[0] else 2**30}")

        comment = ann.event("comment", text="x" * 60_000)
        event = ann.event(question=state["step"]["question"], answer="left")
        answer = ann.send(task, comment, event)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "disk_full")
        assert site.store.events(task.id) == []
        full[0] = False
        again = ann.send(task, comment, event)
        assert again.json()["accepted"] == [comment["id"], event["id"]]
        assert len(site.store.events(task.id)) == 2


def test_a_store_that_cannot_be_read_is_a_page(site, ann, monkeypatch):
    def gone(*_):
        raise StoreError("the store could not be read: /secret/place is gone")

    monkeypatch.setattr(site.store, "session_states", gone)
    monkeypatch.setattr(site.store, "members", gone)
    page = ann.get("/")
    assert page.status_code == 503
    assert "<h1>Judgments cannot be stored at the moment</h1>" in page.text
    assert "secret" not in page.text
    assert ann.get("/healthz").json()["error"]["code"] == "store_unavailable"


def test_health(site):
    assert Browser(site).get("/healthz").json() == {"status": "ok"}


# Garbage.

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
kinds = st.sampled_from(["shown", "judgment", "pause", "resume", "undo", "skip", "comment", "x"])
keys = st.sampled_from(
    ["question", "answer", "grade", "segments", "steps", "text", "a", "b", "document"]
)
likely = st.sampled_from(["QUESTION", "left", "right", "tie", "bad", 0, 1, [[0, 1]], "d0"])
events = st.fixed_dictionaries(
    {"id": st.text(min_size=1, max_size=5) | junk, "kind": kinds, "at": st.integers() | junk},
    optional={"data": st.dictionaries(keys, likely | junk, max_size=5) | junk},
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("fuzz"), repeats=0.5, repeat_gap=1) as (site, tasks):
        ann = site.browser("ann")
        ann.open(tasks["ann", "q1"])
        yield site, tasks, ann


@settings(max_examples=soak_cases(150), suppress_health_check=[HealthCheck.too_slow])
@given(sent=st.lists(events | junk, max_size=5), which=st.sampled_from(["q1", "q2"]))
def test_no_event_breaks_the_server(fuzzed, sent, which):
    site, tasks, ann = fuzzed
    task = tasks["ann", which]
    step = ann.get(f"/api/tasks/{task.id}").json()["step"]
    body = json.dumps({"events": sent}).replace('"QUESTION"', json.dumps(step.get("question", "")))
    headers = {"X-Podium-Token": ann.token, "Content-Type": "application/json"}
    answer = ann.ask("POST", f"/api/tasks/{task.id}/events", content=body, headers=headers)
    assert answer.status_code in (200, 400, 409), answer.text
    assert answer.status_code == 200 or answer.json()["error"]["code"]
    # What the store has is a session that can be replayed.
    assert type(site.store.session(task.id)).replay(task, site.store.events(task.id)).step == (
        site.store.session(task.id).step
    )


@settings(max_examples=soak_cases(150))
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE"]),
    start=st.sampled_from(
        ["/", "/enter/", "/judge/", "/api/tasks/", "/images/", "/static/", "/admin/"]
    ),
    rest=st.text(max_size=30),
    body=st.binary(max_size=50),
    header=st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=20),
)
def test_no_request_breaks_the_server(fuzzed, method, start, rest, body, header):
    ann = fuzzed[2]
    headers = {"X-Podium-Token": header.encode("latin-1"), "Origin": header.encode("latin-1")}
    path = start + rest.replace("?", "").replace("#", "")
    answer = ann.ask(
        method, quote(path.encode("utf-8", "replace"), safe="/"), content=body, headers=headers
    )
    assert answer.status_code < 500, (path, answer.text)
