"""The judging server: what is asked and what is kept."""

import math
import re
from collections import Counter

import pytest

from podium.labelling import GradeQuestion, JudgedTopK, Pool, PoolQuery, Question, statistics
from podium.labelling.store import Store
from tests.support.judging_client import POOL, Site, fill, lower_is_better, serving


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
    assert session.step == JudgedTopK((("d0",), ("d1",), ("d2",)), 3, n)
    assert session.active_seconds == (2.5,) * n
    assert "finished" in ann.get("/").text or "done" in ann.get("/").text.lower()
    answer = ann.send(task, ann.event(question="0-1-0-x", answer="left"))
    assert (answer.status_code, answer.json()["step"]["kind"]) == (409, "done")


def test_the_list_of_tasks_and_the_page_of_a_task_count_alike(tmp_path):
    """Both round up: 12.4 judgments to go are about 13."""
    with serving(tmp_path, k=4, repeats=0.0) as (site, tasks):
        check_counts(site.browser("ann"), tasks["ann", "q1"])


def check_counts(ann, task):
    """The page of a task rounds up what the server sends, and so does the list of tasks."""
    state, fractions = ann.open(task), set()
    while state["step"]["kind"] == "question":
        remaining = state["progress"]["remaining"]
        fractions.add(remaining % 1)
        expected = (
            f"about {math.ceil(remaining)} {'to go' if state['progress']['done'] else 'judgment'}"
        )
        assert expected in " ".join(ann.get("/").text.split())
        state = ann.judge(task, state, lower_is_better)
    assert any(0 < fraction < 0.5 for fraction in fractions)  # rounding to the nearest would differ


@pytest.mark.parametrize(("text", "shows_ids"), [("cool jazz", True), ("folk", False)])
def test_queries_with_equal_texts_have_their_ids_in_the_list(tmp_path, text, shows_ids):
    documents = POOL.queries[0].documents
    pool = Pool(
        (
            PoolQuery("q1", "cool jazz", documents=documents),
            PoolQuery("q2", text, documents=documents),
        )
    )
    with serving(tmp_path, pool) as (site, _):
        page = site.browser("ann").get("/").text
    assert [f"<small>({query})</small>" in page for query in ("q1", "q2")] == [shows_ids] * 2


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
    state = ann.undo(task, ann.undo(task, state))
    assert state["progress"]["done"] == 2
    assert isinstance(site.store.session(task.id).step, GradeQuestion)


def test_undo_brings_the_question_back(site, task, ann):
    first = ann.open(task)
    second = ann.judge(task, first, lower_is_better)
    third = ann.judge(task, second, lower_is_better)
    back = ann.undo(task, third)
    assert (back["step"], back["last"]) == (second["step"], second["last"])
    back = ann.undo(task, back)
    assert (back["step"], back["last"]) == (first["step"], None)
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
