"""The admin's page: progress, statistics and comments."""

import pytest
from browser import Site, lower_is_better, serving

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
