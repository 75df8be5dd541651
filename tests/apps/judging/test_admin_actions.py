"""What the admin does over HTTP: who may, what is checked, what assessors notice, what is audited."""

import csv
import io
import json
import re

import pytest

from podium.apps.judging.openapi import openapi
from podium.labelling import make_judgments
from podium.labelling.store import StoreAdmin
from tests.apps.judging.test_openapi import check, check_refusal
from tests.support.judging_client import lower_is_better

DESCRIPTION = openapi()
ACTIONS = [path for path in DESCRIPTION["paths"] if path.startswith("/api/admin/")]
BODIES = {
    "/api/admin/assessors": {"assessor": "dan", "name": "Dan"},
    "/api/admin/assessors/disable": {"assessor": "bob"},
    "/api/admin/assessors/enable": {"assessor": "bob"},
    "/api/admin/assessors/link": {"assessor": "bob"},
    "/api/admin/tasks/assign": {"assessor": "bob", "query": "q2", "tool": "grade"},
    "/api/admin/tasks/reassign": {"assessor": "dan", "task": "?"},
    "/api/admin/tasks/priority": {"query": "q1", "priority": "high"},
    "/api/admin/guidelines": {"text": "Read.", "grades": {"Bad": "off"}, "base": 0},
    "/api/admin/settlements": {"query": "q1", "documents": ["d0", "d1"], "answer": ">"},
    "/api/admin/export": {"what": "judgments", "format": "csv"},
}


@pytest.fixture
def boss(site):
    boss = site.browser("boss", "admin")
    page = boss.get("/admin/assessors").text
    boss.token = re.search(r'name="podium-token" content="(\w+)"', page)[1]
    return boss


def post(browser, path, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", "X-Podium-Token": browser.token} | headers
    return browser.ask("POST", path, content=content, headers=sent)


def test_every_action_is_tried_here():
    assert sorted(ACTIONS) == sorted(BODIES)


@pytest.mark.parametrize("path", ACTIONS)
def test_only_the_admin_acts_and_only_from_our_pages(site, boss, path):
    ann = site.browser("ann")
    ann.open(site.tasks["ann", "q1"])
    refused = {
        401: post(site.browser(), path, BODIES[path]),
        403: post(ann, path, BODIES[path]),
    }
    ann.token = boss.token
    tries = [
        post(ann, path, BODIES[path]),  # the admin's token without the admin's cookie
        post(boss, path, BODIES[path], **{"X-Podium-Token": "0" * 40}),
        post(boss, path, BODIES[path], Origin="https://evil.example"),
        post(boss, path, BODIES[path], **{"Sec-Fetch-Site": "cross-site"}),
    ]
    for status, answer in refused.items():
        assert answer.status_code == status
        check_refusal(path, "post", answer)
    assert [answer.status_code for answer in tries] == [403] * 4
    assert site.store.audit_log() == []


@pytest.mark.parametrize("path", ACTIONS)
def test_bodies_are_checked_strictly(site, boss, path):
    body = BODIES[path]
    first = next(iter(body))
    wrong = [
        b"", b"{", b"[]", b"null", json.dumps({}).encode(), {**body, "extra": 1}, {**body, first: 7},
        {**body, first: None}, {**body, first: "\0"}, {**body, first: "\ud800"}, {**body, first: ["x"] * 3},
        json.dumps(body)[:-1].encode() + f', "{first}": "twice"}}'.encode(),
    ]  # fmt: skip
    for content in wrong:
        answer = post(boss, path, content)
        assert answer.status_code == 400, (content, answer.text)
        check_refusal(path, "post", answer)
    assert post(boss, path, body, **{"Content-Type": "text/plain"}).status_code == 415
    assert post(boss, path, b" " * (1 << 20) + b"{}").status_code == 413
    assert site.store.audit_log() == []


def test_a_new_assessor_gets_a_link_that_works_once_shown(site, boss):
    answer = post(boss, "/api/admin/assessors", BODIES["/api/admin/assessors"])
    check("AssessorRecord", answer.json())
    link = answer.json()["link"]
    assert link.startswith("http://judge.test/enter/")
    dan = site.browser()
    assert dan.enter(link.removeprefix("http://judge.test")).status_code == 303
    assert "Nothing is assigned" in dan.get("/").text
    tasks = post(boss, "/api/admin/tasks/assign", {"assessor": "dan", "tool": "preference"}).json()
    check("TaskIds", tasks)
    assert tasks["tasks"][0] in dan.get("/").text
    again = post(boss, "/api/admin/assessors", BODIES["/api/admin/assessors"])
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
    check_refusal("/api/admin/assessors", "post", again)
    for page in ("/admin/assessors", "/admin/audit", "/admin/audit.json"):
        assert "/enter/" not in boss.get(page).text
    newer = post(boss, "/api/admin/assessors/link", {"assessor": "dan"}).json()["link"]
    assert dan.get("/").status_code == 401  # the older link is void, and its cookie
    assert dan.enter(link.removeprefix("http://judge.test")).status_code == 403
    assert dan.enter(newer.removeprefix("http://judge.test")).status_code == 303


def test_a_disabled_assessor_is_out_at_once_and_comes_back_by_a_new_link(site, boss):
    ann, task = site.browser("ann"), site.tasks["ann", "q1"]
    state = ann.judge(task, ann.open(task), lower_is_better)
    assert post(boss, "/api/admin/assessors/disable", {"assessor": "ann"}).json()["disabled"]
    question = state["step"]["question"]
    event = ann.event(question=question, answer="left")
    assert ann.send(task, event).status_code == 401
    assert ann.enter(f"/enter/{site.links.token('ann', 'assessor')}").status_code == 403
    enabled = post(boss, "/api/admin/assessors/enable", {"assessor": "ann"}).json()
    assert not enabled["disabled"]
    assert ann.enter(enabled["link"].removeprefix("http://judge.test")).status_code == 303
    ann.open(task)
    assert ann.send(task, event).json()["accepted"] == [event["id"]]  # as the page sends it again


def test_a_task_that_is_given_away_is_closed_to_its_assessor(site, boss):
    ann, task = site.browser("ann"), site.tasks["ann", "q2"]
    state = ann.open(task)
    body = {"task": task.id, "assessor": "bob"}
    (given,) = post(boss, "/api/admin/tasks/reassign", body).json()["tasks"]
    event = ann.event(question=state["step"]["question"], grade=1)
    assert ann.send(task, event).status_code == 403
    assert ann.get(f"/api/tasks/{task.id}").status_code == 403
    assert ann.get(f"/judge/{task.id}").status_code == 403
    assert task.id not in ann.get("/").text
    assert given in site.browser("bob").get("/").text
    assert post(boss, "/api/admin/tasks/reassign", body).status_code == 409


def test_priorities_order_the_list(site, boss):
    ann, task = site.browser("ann"), site.tasks["ann", "q2"]
    answer = post(boss, "/api/admin/tasks/priority", {"task": task.id, "priority": "high"})
    check("ChangedTasks", answer.json())
    page = ann.get("/").text
    assert page.index(task.id) < page.index(site.tasks["ann", "q1"].id)
    assert "first, please" in page


def test_guidelines_are_sanitised_versioned_and_never_lost(site, boss):
    text = "# Rules\n<script>alert(1)</script>\n[x](javascript:alert(1)) ![i](https://evil.example/i.png)"
    saved = post(
        boss, "/api/admin/guidelines", {"text": text, "grades": {"Bad": "<b>off</b>"}, "base": 0}
    )
    check("SavedVersion", saved.json())
    stale = post(boss, "/api/admin/guidelines", {"text": "mine", "grades": {}, "base": 0})
    assert stale.status_code == 409
    post(boss, "/api/admin/guidelines", {"text": "New *rules*", "grades": {}, "base": 1})
    ann = site.browser("ann")
    page = ann.get("/guidelines?version=1").text
    assert "<h1>Rules</h1>" in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;off&lt;/b&gt;" in page
    assert "javascript:" not in re.sub(r"\[x\]\(.*?\)", "", page)
    assert "evil.example" not in page
    assert "<em>rules</em>" in ann.get("/guidelines").text
    for version in ("0", "3", "-1", "x", "1" * 50):
        assert ann.get(f"/guidelines?version={version}").status_code == 404
    assert site.browser().get("/guidelines").status_code == 401
    task = site.tasks["ann", "q1"]
    state = ann.open(task)
    assert state["guidelines"] == 2
    ann.send(task, ann.event(question=state["step"]["question"], answer="left", guidelines=1))
    refused = ann.send(task, ann.event("comment", text="x", guidelines=3))
    assert refused.status_code == 400
    assert site.store.judgments(details=True).guidelines.tolist() == [1]


def test_disagreements_are_settled_and_exports_say_so(site, boss):
    make_judgments(site.store, seed=1, noise=0.4)
    page = boss.get("/admin/disagreements").text
    documents = re.findall(r'name="documents" value="(\w+)"', page)
    assert len(documents) == 2
    assert "Who answered what" in page
    assert re.search(r"<b>ann</b>: (1 is better|2 is better|Tie|Both bad)", page)
    better, worse = documents[::-1]
    decision = {"query": "q1", "documents": documents, "answer": "<", "note": "Clear."}
    answer = post(boss, "/api/admin/settlements", decision)
    check("SettlementRecord", answer.json())
    page = boss.get("/admin/disagreements?query=q1").text
    assert "by boss" in page
    assert "Clear." in page
    file = post(boss, "/api/admin/export", {"what": "labels", "format": "csv"})
    assert file.headers["content-disposition"] == 'attachment; filename="labels.csv"'
    assert file.headers["content-type"].startswith("text/csv")
    labels = {
        row["document"]: float(row["label"]) for row in csv.DictReader(io.StringIO(file.text))
    }
    assert labels[better] > labels[worse] or labels[better] == labels[worse] == 0
    assert boss.get("/admin/disagreements?query=nowhere").status_code == 404
    assert boss.get("/admin/disagreements?query=q1&place=999999999999").status_code == 200


@pytest.mark.parametrize("what", ["labels", "topk", "grades", "preferences", "judgments"])
@pytest.mark.parametrize("kind", ["csv", "qrels", "parquet"])
def test_exports_are_those_of_the_command_line(site, boss, tmp_path, what, kind):
    make_judgments(site.store, seed=1)
    answer = post(boss, "/api/admin/export", {"what": what, "format": kind})
    if kind == "qrels" and what in ("preferences", "judgments"):
        assert answer.status_code == 400
        check_refusal("/api/admin/export", "post", answer)
        return
    from podium.labelling import export

    path = tmp_path / f"out.{kind}"
    export(site.store, path, what, kind)
    assert answer.content == path.read_bytes()
    (entry,) = site.store.audit_log()
    assert (entry.who, entry.action, entry.after["format"]) == ("boss", "download export", kind)


def test_the_audit_log_has_every_act(site, boss):
    post(boss, "/api/admin/assessors", BODIES["/api/admin/assessors"])
    post(boss, "/api/admin/assessors/disable", {"assessor": "dan"})
    StoreAdmin(site.store, "command line").set_priority("low", query="q1")
    log = boss.get("/admin/audit.json").json()
    check("AuditLog", log)
    assert [(e["who"], e["action"]) for e in log["entries"]] == [
        ("command line", "set priority"), ("boss", "disable assessor"), ("boss", "add assessor"),
    ]  # fmt: skip
    page = boss.get("/admin/audit").text
    assert page.index("set priority") < page.index("add assessor")
    pages = ("audit", "audit.json", "assessors", "disagreements", "guidelines")
    for path in (f"/admin/{name}" for name in pages):
        assert site.browser("ann").get(path).status_code == 403
        refused = site.browser().get(path)
        assert refused.status_code == 401
        check_refusal(path, "get", refused)
        assert "default-src 'none'" in boss.get(path).headers["content-security-policy"]
