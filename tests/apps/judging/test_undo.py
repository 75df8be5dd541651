"""The judging server: what an undo takes back, questions asked again, and the pages around."""

import pytest

from podium.labelling import JudgingEvent
from tests.support.judging_client import Browser, lower_is_better, serving


def test_an_undo_of_another_judgment_is_refused_with_where_the_task_stands(site, task, ann):
    state = ann.open(task)
    assert state["last"] is None
    first = ann.judge(task, state, lower_is_better)
    second = ann.judge(task, first, lower_is_better)
    for data in (
        {"judgment": first["last"]},
        {"judgment": "nothing"},
        {"judgment": None},
        {},
        {"steps": 1},
    ):
        answer = ann.send(task, ann.event("undo", **data))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_asked"), data
        assert (answer.json()["step"], answer.json()["last"]) == (second["step"], second["last"])
    event = ann.event("undo", judgment=second["last"])
    assert ann.send(task, event).json()["step"] == first["step"]
    assert ann.send(task, event).status_code == 200  # sent again, it is the same
    assert site.store.session(task.id).progress.judged == 1


def test_an_undo_that_was_kept_before_it_had_to_name_one_can_be_sent_again(site, task, ann):
    ann.judge(task, ann.open(task), lower_is_better)
    old = ann.event("undo", steps=1)
    site.store.append(JudgingEvent(old["id"], task.id, "undo", old["at"], old["data"]))
    assert ann.send(task, old).status_code == 200
    assert len(site.store.events(task.id)) == 2


def until_repeat(site, task, browser):
    """Where a task stands when something is asked again, and where it stood before."""
    before, state = None, browser.open(task)
    while True:
        asked = site.store.session(task.id).step
        step = state["step"]
        on_screen = {step[s]["id"] for s in ("left", "right", "document") if s in step}
        if on_screen != {getattr(asked, n) for n in ("a", "b", "document") if hasattr(asked, n)}:
            return before, state
        before = state
        told = {"grade": 2} if "document" in step else {"answer": "tie"}
        state = browser.tell(task, "judgment", question=step["question"], **told)


@pytest.mark.parametrize("query", ["q1", "q2"])
def test_an_undo_takes_back_a_repetition(tmp_path, query):
    with serving(tmp_path, repeats=0.5, repeat_gap=1, k=8) as (site, tasks):
        task, ann = tasks["ann", query], site.browser("ann")
        _, state = until_repeat(site, task, ann)
        judged = state["progress"]["done"]
        told = {"grade": 0} if query == "q2" else {"answer": "left"}
        after = ann.tell(task, "judgment", question=state["step"]["question"], **told)
        assert len(site.store.session(task.id).repeats) == 1
        back = ann.undo(task, after)
        assert (back["step"], back["last"]) == (state["step"], state["last"])
        assert back["progress"]["done"] == judged
        assert site.store.session(task.id).repeats == ()
        # And once more, now a judgment that was no repetition.
        assert ann.undo(task, back)["progress"]["done"] == judged - 1


def test_later_puts_a_repetition_off(tmp_path):
    with serving(tmp_path, repeats=0.5, repeat_gap=1) as (site, tasks):
        task, ann = tasks["ann", "q2"], site.browser("ann")
        _, state = until_repeat(site, task, ann)
        shown = state["step"]["document"]["id"]
        after = ann.tell(task, "skip", question=state["step"]["question"])
        assert after["step"]["document"]["id"] != shown
        assert after["step"]["document"]["id"] == site.store.session(task.id).step.document
        # It is not asked for now any more, so neither a skip nor a grade of it is taken.
        for kind, data in (("skip", {}), ("judgment", {"grade": 1})):
            late = ann.event(kind, question=state["step"]["question"], **data)
            answer = ann.send(task, late)
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_asked")
        state, graded = after, 0
        while state["step"]["kind"] == "document":
            state = ann.tell(task, "judgment", question=state["step"]["question"], grade=3)
            graded += 1
        assert len(site.store.session(task.id).judgments) == 4


def test_times_that_were_made_up_do_not_count(site, task, ann):
    state, year_2191 = ann.open(task), 6_974_000_000_000
    claimed = [
        [year_2191 + i * 1_900_000, year_2191 + i * 1_900_000 + 1_800_000] for i in range(700)
    ]
    for _ in range(2):
        told = {"question": state["step"]["question"], "answer": "left", "segments": claimed}
        state = ann.tell(task, "judgment", **told)
    session = site.store.session(task.id)
    assert session.active_ms == 0
    assert [time.flaws for time in session.times] == [700, 700]
    assert site.store.events(task.id)[0].data["segments"] == claimed  # as they were sent


def test_the_list_of_tasks_reads_no_documents(site, ann, monkeypatch):
    def read(*_):
        raise AssertionError("documents are read")

    monkeypatch.setattr(site.store, "query", read)
    page = Browser(site)
    page.client.cookies = ann.client.cookies
    answer = page.get("/")
    assert (answer.status_code, "cool jazz" in answer.text) == (200, True)


def test_the_next_query_is_one_that_is_not_done(site, ann):
    pairs, grades = site.tasks["ann", "q1"], site.tasks["ann", "q2"]
    assert f'href="/judge/{grades.id}">Next query' in ann.get(f"/judge/{pairs.id}").text
    assert f'href="/judge/{pairs.id}">Next query' in ann.get(f"/judge/{grades.id}").text
    state = ann.open(grades)
    while state["step"]["kind"] == "document":
        state = ann.tell(grades, "judgment", question=state["step"]["question"], grade=3)
    page = ann.get(f"/judge/{pairs.id}").text
    assert "Next query" not in page
    assert 'href="/">All queries' in page


def test_one_query_is_one_query(site):
    bob, task = site.browser("bob"), site.tasks["bob", "q1"]
    state = bob.open(task)
    while state["step"]["kind"] == "question":
        state = bob.judge(task, state, lower_is_better)
    assert "Your query is done." in " ".join(bob.get("/").text.split())
