"""Assessors see how sure their list is, and the admin how many judgments bought how much certainty."""

from contextlib import closing

import pytest

from podium.labelling import Pool, PoolDocument, PoolQuery, make_tasks
from podium.labelling.judging_statistics.certainty_curves import (
    MAX_POINTS,
    certainty_curve,
    certainty_rows,
)
from podium.labelling.store import Store, StoreMember
from tests.support.judging_client import Site, lower_is_better

POOL = Pool(
    tuple(
        PoolQuery(f"q{q}", f"query {q}", documents=tuple(PoolDocument(f"d{i}") for i in range(6)))
        for q in range(2)
    )
)


@pytest.fixture
def site(tmp_path):
    """Ann judges q0 by the bayesian strategy and q1 by the tournament."""
    with Store.open(tmp_path / "judgments.db") as store:
        store.add_pool(POOL)
        store.add_members([StoreMember("ann"), StoreMember("boss", role="admin")])
        for query, strategy in (("q0", "bayesian"), ("q1", "tournament")):
            plan = [("ann", query, "preference")]
            store.add_tasks(make_tasks(plan, POOL, k=2, strategy=strategy))
        with closing(Site(store, repeats=0.0)) as made:
            made.ann = made.browser("ann")
            yield made


def judge_all(site, query):
    """Judge the task of a query as a browser does; the progress after each judgment."""
    ann = site.ann
    task = next(s.task for s in site.store.session_states() if s.task.query == query)
    state = ann.open(task)
    steps = [state["progress"]]
    while state["step"]["kind"] == "question":
        state = ann.judge(task, state, lower_is_better)
        steps.append(state["progress"])
    levels = [[document["id"] for document in level] for level in state["step"]["levels"]]
    return task, steps, levels


def test_a_bayesian_task_is_judged_and_says_how_sure_it_is(site):
    task, steps, levels = judge_all(site, "q0")
    assert levels == [["d0"], ["d1"]]
    certainty = [step["certainty"] for step in steps]
    assert certainty[0] == pytest.approx(2 / 6, abs=0.05), "nothing is known: two of six"
    assert certainty[-1] > 0.85 > certainty[1]
    assert certainty[-1] == round(site.store.session(task.id).certainty, 3)


def test_a_strategy_that_trusts_answers_says_nothing_of_certainty(site):
    _, steps, levels = judge_all(site, "q1")
    assert levels == [["d0"], ["d1"]]
    assert all(set(step) == {"done", "remaining"} for step in steps)


def test_the_admin_sees_what_certainty_costs(site):
    boss = site.browser("boss", "admin")
    before = boss.get("/admin/certainty.json").json()["rows"]
    assert [(row["query"], row["tasks"], row["judged"]) for row in before] == [
        ("", 1, 0),
        ("q0", 1, 0),
    ]
    assert [price["judgments"] for price in before[0]["price"]] == [None] * 3
    _, steps, _ = judge_all(site, "q0")
    judge_all(site, "q1")
    after = boss.get("/admin/certainty.json").json()["rows"]
    assert [row["query"] for row in after] == ["", "q0"], "the tournament has no belief"
    assert after[1]["judged"] == steps[-1]["done"]
    assert round(after[1]["certainty"], 3) == steps[-1]["certainty"]
    first = after[1]["price"][0]
    expected = next(n for n, step in enumerate(steps) if step["certainty"] >= 0.8)
    assert (first["certainty"], first["judgments"], first["tasks"]) == (0.8, expected, 1)
    page = boss.get("/admin/certainty").text
    assert "query 0" in page
    assert f"{expected} (1)" in page
    assert site.ann.get("/admin/certainty.json").status_code == 403


def test_a_curve_is_the_certainty_along_the_replay(site):
    task, steps, _ = judge_all(site, "q0")
    curve = certainty_curve(site.store.session(task.id))
    assert len(curve.judged) <= MAX_POINTS + 2
    for judged, certainty in zip(curve.judged, curve.certainty, strict=True):
        assert round(certainty, 3) == steps[judged]["certainty"]
    assert certainty_rows([]) == ()
    total, own = certainty_rows([curve])
    assert (total.query, own.query, total.certainty) == ("", "q0", own.certainty)
