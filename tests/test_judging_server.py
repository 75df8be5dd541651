"""The judging server: who is let in, what is asked and kept, and what happens when something is wrong."""

import json
import re
import sqlite3
from collections import Counter
from datetime import timedelta
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from browser import Browser, Site, fill, lower_is_better, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.apps.judging import JudgingSettings, Links, make_app
from podium.apps.judging.headers import HEADERS
from podium.errors import StoreError, UsageError
from podium.labelling import GradeQuestion, Question, TopK, statistics
from podium.labelling.store import Member, Store


@pytest.fixture
def site(tmp_path):
    with serving(tmp_path, repeats=0.0) as (site, tasks):
        site.tasks = tasks
        yield site


@pytest.fixture
def ann(site):
    return site.browser("ann")


@pytest.fixture
def task(site):
    return site.tasks["ann", "q1"]


# Who is let in.


def test_a_link_makes_a_cookie_and_leads_to_the_tasks(site):
    browser = Browser(site)
    answer = browser.get(f"/enter/{site.links.token('ann', 'assessor')}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=lax", "path=/", "max-age="))
    assert "secure" not in cookie
    page = browser.get("/")
    assert page.status_code == 200
    assert "cool jazz" in page.text


def test_the_admin_s_link_leads_to_the_admin_s_page(site):
    browser = site.browser("boss", "admin")
    assert browser.get("/").headers["location"] == "/admin"
    assert browser.get("/admin").status_code == 200


def test_cookies_are_secure_behind_https(tmp_path):
    with serving(tmp_path, base_url="https://judge.test") as (site, _):
        answer = Browser(site).get(f"/enter/{site.links.token('ann', 'assessor')}")
        assert "secure" in answer.headers["set-cookie"].lower()
        assert "max-age" in answer.headers["strict-transport-security"]


def bad_tokens(links):
    good = links.token("ann", "assessor")
    yield links.token("ann", "assessor", timedelta(seconds=-1))  # too old
    yield Links("another secret of another server").token("ann", "assessor")
    yield links.token("eve", "assessor")  # not in the store
    yield links.token("ann", "admin")  # not in this role
    yield from (
        good[:-2],
        good + "x",
        good[1:],
        good.replace(".", ""),
        "x" * 5000,
        "a/b/c",
        "☃",
        "\0",
    )
    payload, signature = good.rsplit(".", 1)
    yield f"{payload[:-3]}AAA.{signature}"
    yield links.cookie(links.read(good))  # a cookie is no link


def test_links_that_do_not_work_all_say_the_same(site):
    answers = [Browser(site).get(f"/enter/{quote(token)}") for token in bad_tokens(site.links)]
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.text for answer in answers}) == 1
    assert not any("set-cookie" in answer.headers for answer in answers)
    assert not any(name in answers[0].text for name in ("ann", "bob", "boss", "q1"))


def test_without_a_link_nothing_is_to_be_seen(site, task):
    browser = Browser(site)
    for path in ("/", f"/judge/{task.id}", f"/api/tasks/{task.id}", "/admin", "/images/a.png",
                 "/admin/progress.json", "/admin/statistics.json"):  # fmt: skip
        answer = browser.get(path)
        assert answer.status_code == 401, path
        assert "jazz" not in answer.text
    assert browser.send(task, browser.event("pause")).json()["error"]["code"] == "no_session"
    for cookie in ("", "x", site.links.token("ann", "assessor"), "☃"):
        answer = browser.get("/", headers={"Cookie": f"podium_assessor={cookie}".encode()})
        assert answer.status_code == 401


def test_an_assessor_is_no_admin_and_the_other_way_round(site, task, ann):
    assert ann.get("/admin").status_code == 401
    boss = site.browser("boss", "admin")
    assert boss.get(f"/api/tasks/{task.id}").status_code == 401
    # The cookie of one role is not that of another.
    value = ann.client.cookies["podium_assessor"]
    assert (
        Browser(site).get("/admin", headers={"Cookie": f"podium_admin={value}"}).status_code == 401
    )


def test_one_browser_can_be_both(site):
    browser = site.browser("ann")
    browser.get(f"/enter/{site.links.token('boss', 'admin')}")
    assert (browser.get("/").status_code, browser.get("/admin").status_code) == (200, 200)


def test_an_admin_who_is_none_any_more_is_out_at_once(site):
    boss = site.browser("boss", "admin")
    site.store.add_members([Member("boss", role="assessor")])
    assert boss.get("/admin").status_code == 403
    assert boss.get("/admin/statistics.json").json()["error"]["code"] == "not_admin"


def test_a_secret_must_be_long(site):
    with pytest.raises(UsageError, match="16 bytes or more, got 5"):
        make_app(site.store, secret="short")


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "judge.test"}, {"base_url": "https://judge.test/path"}, {"base_url": "ftp://a"},
        {"base_url": "http://a:b"}, {"repeats": 0.9}, {"max_body": 0}, {"images": "no such folder"},
        {"busy_seconds": float("nan")},
    ],
)  # fmt: skip
def test_wrong_settings_are_named(wrong):
    with pytest.raises(UsageError, match="expected"):
        JudgingSettings(**wrong)


# What every answer has.


def test_every_answer_has_the_headers(site, task, ann, monkeypatch):
    def broken(*_):
        raise RuntimeError("a mistake with a secret in it")

    ann.open(task)
    answers = [
        ann.get(path)
        for path in ("/", f"/judge/{task.id}", f"/api/tasks/{task.id}", "/nothing", "/healthz", "/help",
                     "/static/judge.js", "/static/nothing", "/enter/x", "/images/x.png")
    ]  # fmt: skip
    answers.append(ann.send(task, ann.event("pause")))
    answers.append(ann.ask("DELETE", "/"))
    monkeypatch.setattr(site.store, "standings", broken)
    answers.append(ann.get("/"))
    assert answers[-1].status_code == 500
    assert "secret" not in answers[-1].text
    for answer in answers:
        for name, value in HEADERS.items():
            found = answer.headers[name.lower()]
            assert found == value or name == "Cache-Control", (answer.url, name)
        if "/static/" not in str(answer.url):
            assert answer.headers["cache-control"] == "no-store"
    assert "unsafe-inline" not in HEADERS["Content-Security-Policy"]


def test_pages_have_no_script_or_style_of_their_own(site, task, ann):
    boss = site.browser("boss", "admin")
    state = ann.open(task)
    while state["step"]["kind"] != "done":
        state = ann.judge(task, state, lower_is_better)
    for page in (ann.get("/"), ann.get(f"/judge/{task.id}"), boss.get("/admin"), ann.get("/help")):
        assert re.search(r"<script(?![^>]*\bsrc=)", page.text) is None
        assert "<style" not in page.text
        assert re.search(r"\s(style|on\w+)=", page.text) is None
        assert re.search(r'(src|href)="(https?:)?//', page.text) is None


def test_what_people_wrote_is_text_on_pages(site, ann):
    graded = site.tasks["ann", "q2"]
    ann.open(graded)
    ann.tell(graded, "comment", text="<img src=x onerror=alert(1)> \ud800 ☃")
    boss = site.browser("boss", "admin")
    for page in (ann.get("/"), ann.get(f"/judge/{graded.id}"), boss.get("/admin")):
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.text
    assert "☃" in page.text


# Where changes come from.


def test_changes_need_the_token_of_a_page(site, task, ann):
    ann.open(task)
    boss_token = site.links.csrf(site.links.read(site.links.token("boss", "admin")))
    bob = site.browser("bob")
    bob.open(site.tasks["bob", "q1"])
    for token in ("", "x", boss_token, bob.token, "é".encode()):
        answer = ann.send(task, ann.event("pause"), headers={"X-Podium-Token": token})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "bad_token")
    assert site.store.events(task.id) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://judge.test"}, 200),
        ({"Origin": "HTTP://JUDGE.TEST", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "http://judge.test.evil.test"}, 403),
        ({"Origin": "http://judge.test:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_changes_come_from_our_own_pages(site, task, ann, headers, status):
    ann.open(task)
    assert ann.send(task, ann.event("pause"), headers=headers).status_code == status
    assert len(site.store.events(task.id)) == (status == 200)


def test_behind_a_proxy_the_origin_is_the_base_url(tmp_path):
    with serving(tmp_path, base_url="https://judge.test") as (site, tasks):
        task = tasks["ann", "q1"]
        browser = Browser(site, "https://judge.test")
        browser.get(f"/enter/{site.links.token('ann', 'assessor')}")
        browser.open(task)
        inside = {"Host": "127.0.0.1:8400"}
        for origin, status in (("https://judge.test", 200), ("https://evil.test", 403)):
            answer = browser.send(task, browser.event("pause"), headers=inside | {"Origin": origin})
            assert answer.status_code == status


def test_large_requests_are_refused(tmp_path):
    with serving(tmp_path, max_body=2_000, max_events=3) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        ann.open(task)
        answer = ann.send(task, ann.event("comment", text="x" * 2_000))
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        answer = ann.send(task, *(ann.event("pause") for _ in range(4)))
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_many")
        assert ann.send(task, *(ann.event("pause") for _ in range(3))).status_code == 200


# What is asked, and what is kept.


def test_a_whole_query_is_judged(site, task, ann):
    state = ann.open(task)
    assert state["task"] == {
        "kind": "preference", "query": "cool jazz", "description": "what is <b>cool</b>", "grades": None,
        "k": 3,
    }  # fmt: skip
    assert state["events"] == 0
    n = 0
    while state["step"]["kind"] == "question":
        assert state["progress"]["done"] == n
        state, n = ann.judge(task, state, lower_is_better), n + 1
    levels = [[document["id"] for document in level] for level in state["step"]["levels"]]
    assert levels == [["d0"], ["d1"], ["d2"]]
    assert state["progress"] == {"done": n, "remaining": 0.0}
    session = site.store.session(task.id)
    assert session.step == TopK((("d0",), ("d1",), ("d2",)), 3, n)
    assert session.active_seconds == (2.5,) * n
    assert "finished" in ann.get("/").text or "done" in ann.get("/").text.lower()
    answer = ann.send(task, ann.event(question="0-1-0-x", answer="left"))
    assert (answer.status_code, answer.json()["step"]["kind"]) == (409, "done")


def test_a_question_stays_when_the_page_is_loaded_again(site, task, ann, tmp_path):
    state = ann.judge(task, ann.open(task), lower_is_better)
    assert ann.open(task)["step"] == state["step"]
    # In another process, too: nothing but the store and the secret decides.
    with Store.open(tmp_path / "judgments.db") as store:
        other = Site(store, repeats=0.0)
        assert other.browser("ann").open(task)["step"] == state["step"]
        other.close()


def test_sides_are_drawn_and_the_event_says_which_was_which(site, task, ann):
    state, first_left = ann.open(task), Counter()
    for browser, mine in ((ann, task), (site.browser("bob"), site.tasks["bob", "q1"])):
        state = browser.open(mine)
        while state["step"]["kind"] == "question":
            asked, step = site.store.session(mine.id).step, state["step"]
            assert isinstance(asked, Question)
            left, right = step["left"]["id"], step["right"]["id"]
            assert {left, right} == {asked.a, asked.b}
            first_left[left == asked.a] += 1
            state = browser.judge(mine, state, lower_is_better)
            data = site.store.events(mine.id)[-1].data
            assert (data["a"], data["b"], data["left"]) == (left, right, left)
            assert data["answer"] == (">" if left < right else "<")
    assert min(first_left[True], first_left[False]) >= 3


@pytest.mark.parametrize(("said", "kept"), [("tie", "~"), ("bad", "bad")])
def test_ties_and_bad_documents(site, task, ann, said, kept):
    ann.judge(task, ann.open(task), lambda left, right: said)
    assert site.store.session(task.id).judgments[0].answer == kept


def test_documents_are_graded(site, ann):
    task = site.tasks["ann", "q2"]
    state = ann.open(task)
    assert state["task"]["grades"] == ["Bad", "Fair", "Good", "Excellent", "Perfect"]
    first = state["step"]["document"]["id"]
    state = ann.tell(task, "skip", question=state["step"]["question"])
    assert state["step"]["document"]["id"] != first
    for grade in (4, 0, 2, 1):
        state = ann.tell(task, "judgment", question=state["step"]["question"], grade=grade)
    assert [graded["grade"] for graded in state["step"]["graded"]] == [4, 0, 2, 1]
    assert state["step"]["graded"][-1]["id"] == first
    state = ann.tell(task, "undo", steps=2)
    assert state["progress"]["done"] == 2
    assert isinstance(site.store.session(task.id).step, GradeQuestion)


def test_undo_brings_the_question_back(site, task, ann):
    first = ann.open(task)
    second = ann.judge(task, first, lower_is_better)
    ann.judge(task, second, lower_is_better)
    assert ann.tell(task, "undo")["step"] == second["step"]
    assert ann.tell(task, "undo", steps=1)["step"] == first["step"]
    answer = ann.send(task, ann.event("undo"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_asked")
    # The question can be judged again, though it has the name it had.
    assert ann.judge(task, first, lower_is_better)["step"] == second["step"]


def test_a_repeated_request_changes_nothing(site, task, ann):
    state = ann.open(task)
    shown = ann.event("shown", question=state["step"]["question"])
    event = ann.event(question=state["step"]["question"], answer="left", segments=[[0, 1000]])
    answers = [ann.send(task, shown, event) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["accepted"] == [shown["id"], event["id"]]
    later = ann.judge(task, answers[0].json(), lower_is_better)
    again = ann.send(task, shown, event)
    assert (again.status_code, again.json()["step"]) == (200, later["step"])
    assert [e.kind for e in site.store.events(task.id)] == ["shown", "judgment", "judgment"]


def test_a_reused_id_is_refused_with_the_current_step(site, task, ann):
    state = ann.open(task)
    event = ann.event(question=state["step"]["question"], answer="left")
    after = ann.send(task, event).json()
    other = event | {"data": event["data"] | {"answer": "right"}}
    answer = ann.send(task, ann.event("pause", id="p1"), other, ann.event("resume", id="r1"))
    told = answer.json()
    assert (answer.status_code, told["error"]["code"]) == (409, "reused_id")
    assert (told["accepted"], told["refused"]) == (["p1"], event["id"])
    assert told["step"] == after["step"]
    # An id of somebody else's event is taken, too, and says nothing of it.
    bob, mine = site.browser("bob"), site.tasks["bob", "q1"]
    question = bob.open(mine)["step"]["question"]
    answer = bob.send(mine, bob.event(id=event["id"], question=question, answer="left"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "reused_id")
    assert site.store.session(mine.id).n_events == 0


def test_a_judgment_for_a_question_not_asked(site, task, ann):
    first = ann.open(task)["step"]
    ann.judge(task, {"step": first}, lower_is_better)
    now = ann.open(task)["step"]
    bobs = site.browser("bob").open(site.tasks["bob", "q1"])["step"]["question"]
    graded = ann.open(site.tasks["ann", "q2"])["step"]["question"]
    forged = re.sub(r"^\d+-\d+", "0-1", now["question"])
    forged = forged if forged != now["question"] else re.sub(r"^\d+-\d+", "1-0", now["question"])
    names = (
        first["question"],
        bobs,
        graded,
        forged,
        "",
        "x",
        7,
        None,
        [],
        "--",
        "1-2-3-4",
        "9" * 90,
    )
    for name in names:
        answer = ann.send(task, ann.event(question=name, answer="left"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_asked"), name
        assert answer.json()["step"] == now
    assert site.store.session(task.id).progress.judged == 1


def test_of_two_windows_one_judges(site, task, ann):
    state = ann.open(task)
    other = site.browser("ann")
    assert other.open(task) == state
    ann.judge(task, state, lower_is_better)
    late = other.send(task, other.event(question=state["step"]["question"], answer="tie"))
    assert late.status_code == 409
    assert late.json()["step"]["question"] != state["step"]["question"]
    assert len(site.store.session(task.id).judgments) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": "up"}, {"answer": ">"}, {"answer": None}, {"answer": ["left"]}, {},
        {"grade": 1}, {"a": "d0", "b": "d1", "answer": ">"},
    ],
)  # fmt: skip
def test_answers_that_are_none(site, task, ann, wrong):
    question = ann.open(task)["step"]["question"]
    answer = ann.send(task, ann.event(question=question, **wrong))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_event")
    assert answer.json()["step"]["question"] == question


def test_a_browser_has_no_say_in_what_the_server_knows(site, task, ann):
    step = ann.open(task)["step"]
    told = {"a": "d9", "b": "d8", "left": "x", "document": "y", "repeat": True}
    ann.tell(task, "judgment", question=step["question"], answer="left", **told)
    data = site.store.events(task.id)[0].data
    assert (data["a"], data["b"]) == (step["left"]["id"], step["right"]["id"])
    assert "repeat" not in data
    assert "document" not in data
    assert site.store.session(task.id).progress.judged == 1


def test_another_s_task_is_as_none_at_all(site, ann):
    ann.open(site.tasks["ann", "q1"])
    theirs = site.tasks["bob", "q1"]
    for method, path in (
        ("GET", "/judge/{}"),
        ("GET", "/api/tasks/{}"),
        ("POST", "/api/tasks/{}/events"),
    ):
        body = {"json": {"events": []}, "headers": {"X-Podium-Token": ann.token}}
        answers = [
            ann.ask(method, path.format(name), **(body if method == "POST" else {}))
            for name in (theirs.id, "nothing", "☃", "a%2Fb", "%00", "x" * 300)
        ]
        assert {answer.status_code for answer in answers} == {403}
        assert len({answer.text for answer in answers}) == 1
    assert site.store.session(theirs.id).n_events == 0


def test_pauses_and_comments(site, task, ann):
    ann.open(task)
    assert ann.tell(task, "pause")["paused"]
    state = ann.tell(task, "resume")
    assert not state["paused"]
    ann.tell(task, "comment", text="the second one is odd", question=state["step"]["question"])
    answer = ann.send(task, ann.event("comment", text=7))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_event")
    assert site.store.session(task.id).comments[0].data["text"] == "the second one is odd"


def test_an_event_that_is_none_refuses_all_before_any_is_kept(site, task, ann):
    ann.open(task)
    good = ann.event("pause")
    for bad in (
        7, None, {}, {"id": "x"}, good | {"id": ""}, good | {"id": "x\n"}, good | {"at": "now"},
        good | {"at": 1.5}, good | {"kind": "drop table"}, good | {"data": []}, good | {"more": 1},
        good | {"session": task.id}, good | {"at": 10**30}, good | {"id": "\ud800"},
    ):  # fmt: skip
        answer = ann.send(task, good, bad)
        assert answer.status_code == 400, bad
        assert answer.json()["error"]["code"] == "bad_event"
    for body in (
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"events": {}}',
        b"\xff",
        b"[" * 100_000,
        b'{"events": 1e999}',
    ):
        headers = {"X-Podium-Token": ann.token, "Content-Type": "application/json"}
        answer = ann.ask("POST", f"/api/tasks/{task.id}/events", content=body, headers=headers)
        assert answer.status_code == 400, body[:20]
    assert site.store.events(task.id) == []


# Questions asked again.


def test_some_questions_come_again_with_the_sides_swapped(tmp_path):
    with serving(tmp_path, repeats=0.5, repeat_gap=2, k=8) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        state, asked = ann.open(task), []
        while state["step"]["kind"] == "question":
            asked.append((state["step"]["left"]["id"], state["step"]["right"]["id"]))
            assert ann.open(task)["step"] == state["step"]
            state = ann.judge(task, state, lower_is_better)
        session = site.store.session(task.id)
        repeats = [pair for i, pair in enumerate(asked) if pair[::-1] in asked[: max(0, i - 1)]]
        assert len(repeats) == len(session.repeats) >= 4
        assert len({frozenset(pair) for pair in repeats}) == len(repeats)
        # The truth does not hear of them, statistics do.
        assert session.step.order == tuple(f"d{i}" for i in range(8))
        told = statistics(site.store).consistency["preference"]
        assert (told.repeats, told.same) == (len(repeats), 1.0)


def test_a_repetition_counts_once(tmp_path):
    with serving(tmp_path, repeats=0.5, repeat_gap=1, k=8) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        state = ann.open(task)
        while not site.store.session(task.id).repeats:
            before, state = state, ann.judge(task, state, lower_is_better)
        answer = ann.send(task, ann.event(question=before["step"]["question"], answer="tie"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_asked")
        assert len(site.store.session(task.id).repeats) == 1


def test_grades_are_asked_again_too(tmp_path):
    with serving(tmp_path, repeats=0.5, repeat_gap=1) as (site, tasks):
        task, ann = tasks["ann", "q2"], site.browser("ann")
        state = ann.open(task)
        while state["step"]["kind"] == "document":
            state = ann.tell(task, "judgment", question=state["step"]["question"], grade=3)
        session = site.store.session(task.id)
        assert len(session.judgments) == 4
        assert len(session.repeats) >= 1


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

    monkeypatch.setattr(site.store, "standings", gone)
    monkeypatch.setattr(site.store, "members", gone)
    page = ann.get("/")
    assert page.status_code == 503
    assert "<h1>Judgments cannot be kept at the moment</h1>" in page.text
    assert "secret" not in page.text
    assert ann.get("/healthz").json()["error"]["code"] == "store_unavailable"


def test_health(site):
    assert Browser(site).get("/healthz").json() == {"status": "ok"}


# The admin's page.


def test_progress_and_statistics(site, task, ann):
    for browser, mine in ((ann, task), (site.browser("bob"), site.tasks["bob", "q1"])):
        state = browser.open(mine)
        while state["step"]["kind"] != "done":
            state = browser.judge(mine, state, lower_is_better)
    boss = site.browser("boss", "admin")
    told = boss.get("/admin/progress.json").json()
    assert (told["total"]["tasks"], told["total"]["finished"]) == (3, 2)
    assert [(q["name"], q["finished"], q["tasks"]) for q in told["queries"]] == [
        ("q1", 2, 2),
        ("q2", 0, 1),
    ]
    judged = {a["name"]: a["judged"] for a in told["assessors"]}
    assert judged["bob"] == len(site.store.session(site.tasks["bob", "q1"].id).judgments)
    assert told["total"]["active_seconds"] == 2.5 * sum(judged.values())
    numbers = boss.get("/admin/statistics.json").json()
    assert numbers["agreement"]["preferences"]["overall"] == 1.0
    page = boss.get("/admin").text
    assert page.count("<svg") == 4  # two matrices, times by method and by assessor
    assert "cool jazz" in page
    assert "Costs by method" in page


def test_the_admin_s_page_of_an_empty_store(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        store.add_members([Member("boss", role="admin")])
        site = Site(store)
        boss = site.browser("boss", "admin")
        assert boss.get("/admin").status_code == 200
        assert boss.get("/admin/progress.json").json()["total"]["tasks"] == 0
        site.close()


# Both databases.


def test_judging_works_on_both_databases(store_url):
    with Store.open(store_url) as store:
        task = fill(store)["ann", "q1"]
        site = Site(store, repeats=0.2)
        ann = site.browser("ann")
        state = ann.open(task)
        while state["step"]["kind"] != "done":
            state = ann.judge(task, state, lower_is_better)
        assert [level[0]["id"] for level in state["step"]["levels"]] == ["d0", "d1", "d2"]
        site.close()


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


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
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


@settings(max_examples=150)
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
