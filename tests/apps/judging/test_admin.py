"""The admin's page: progress, statistics and comments."""

import re
import time
from datetime import UTC, datetime

from podium.labelling import statistics
from podium.labelling.store import Store, StoreMember
from tests.support.judging_client import Site, lower_is_better, serving


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
        store.add_members([StoreMember("boss", role="admin")])
        site = Site(store)
        boss = site.browser("boss", "admin")
        assert boss.get("/admin").status_code == 200
        assert boss.get("/admin/progress.json").json()["total"]["tasks"] == 0
        site.close()


def test_the_latest_comments_are_the_latest(site, task, ann):
    graded = site.tasks["ann", "q2"]
    ann.open(task)
    for i in range(60):
        ann.tell(graded, "comment", text=f"remark {i} of many")
    time.sleep(0.002)
    ann.tell(task, "comment", text="the newest of all")
    page = site.browser("boss", "admin").get("/admin").text
    assert page.index("the newest of all") < page.index("remark 59 of many")
    assert "remark 11 of many" in page
    assert "remark 10 of many" not in page  # fifty are enough


def test_statistics_say_of_when_they_are(site, task, ann):
    boss = site.browser("boss", "admin")
    before = datetime.now(UTC).replace(microsecond=0)
    told = boss.get("/admin/statistics.json").json()
    assert before <= datetime.fromisoformat(told["as_of"]) <= datetime.now(UTC)
    page = boss.get("/admin").text
    assert re.search(r"As of <time datetime=\"[-+:T0-9]+\">\d\d:\d\d:\d\d</time>", page)


class Clock:
    """Stands still; statistics take as long as one says, and are counted."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds, self.made = 0.0, seconds, 0
        monkeypatch.setattr("podium.apps.judging.admin_routes.monotonic", lambda: self.now)
        monkeypatch.setattr("podium.apps.judging.admin_routes.statistics", self.statistics)

    def statistics(self, store):
        self.made += 1
        self.now += self.seconds
        return statistics(store)


def test_a_small_campaign_is_of_one_state(tmp_path, monkeypatch):
    """The numbers on top and the statistics, though statistics may be an hour old."""
    clock = Clock(monkeypatch, 0.01)
    with serving(tmp_path, repeats=0.0, statistics_seconds=3600.0) as (site, tasks):
        task, ann, boss = tasks["ann", "q1"], site.browser("ann"), site.browser("boss", "admin")
        state = ann.open(task)
        for _ in range(3):
            assert boss.get("/admin/statistics.json").status_code == 200
            state = ann.judge(task, state, lower_is_better)
            clock.now += 0.5  # many times as long as they take
            judged = sum(
                m["judgments"] for m in boss.get("/admin/statistics.json").json()["methods"]
            )
            assert judged == boss.get("/admin/progress.json").json()["total"]["judged"]


def test_statistics_that_take_long_are_kept_for_a_while(tmp_path, monkeypatch):
    clock = Clock(monkeypatch, 2.0)
    with serving(tmp_path, statistics_seconds=60.0) as (site, _):
        boss = site.browser("boss", "admin")
        made = []
        for _ in range(6):
            boss.get("/admin/statistics.json")
            made.append(clock.made)
            clock.now += 15
    assert made == [1, 1, 1, 2, 2, 2]  # twenty times as long as they take: 40 s
