"""The judging server: who is let in, and where changes come from."""

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from podium.apps.http.security_headers import HEADERS
from podium.apps.judging import JudgingSettings, Links, make_app
from podium.apps.judging.secret_files import secret_of
from podium.errors import UsageError
from podium.labelling.store import Store, StoreMember
from tests.support.cli import answer as ask
from tests.support.judging_client import Browser, Site, fill, form_token, lower_is_better, serving

# Who is let in.


def test_a_link_makes_a_cookie_and_leads_to_the_tasks(site):
    browser = Browser(site)
    answer = browser.enter(f"/enter/{site.links.token('ann', 'assessor')}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=lax", "path=/", "max-age="))
    assert "secure" not in cookie
    page = browser.get("/")
    assert page.status_code == 200
    assert "cool jazz" in page.text


def entry(site, member="ann", role="assessor"):
    return f"/enter/{site.links.token(member, role)}"


def test_to_open_a_link_signs_nobody_in(site):
    browser, path = Browser(site), entry(site)
    for method in ("GET", "HEAD"):
        answer = browser.ask(method, path)
        assert answer.status_code == 200
        assert "podium_assessor" not in answer.headers.get("set-cookie", "")
        assert browser.get("/").status_code == 401
    page = browser.get(path).text
    assert page.count("<form") == page.count("<button") == 1
    assert 'method="post"' in page
    assert 'Hello, <span class="name">ann</span>' in page


def test_the_button_needs_the_visit_of_the_same_browser(site):
    path, other = entry(site), entry(site, "bob")
    mallory = Browser(site)  # has a link, and knows what its page says
    token = form_token(mallory.get(path).text)
    for who, where in ((Browser(site), path), (mallory, other)):
        answer = who.ask("POST", where, data={"form_token": token})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    ann = Browser(site)
    page = ann.get(path)
    assert form_token(page.text) != token
    for form in (
        {"form_token": token},
        {"other": "x"},
        {"form_token": ["x", "x"]},
        {"form_token": "é"},
    ):
        answer = ann.ask("POST", path, data=form)
        assert (answer.status_code, "out of date" in answer.text) == (403, True)
    cookie = page.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/enter/"))
    assert ann.enter(path).status_code == 303


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://judge.test", "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_the_button_is_on_our_own_page(site, headers, status):
    answer = Browser(site).enter(entry(site), headers=headers)
    assert answer.status_code == status
    assert ("set-cookie" in answer.headers) == (status == 303)


def test_a_form_is_small(site):
    path = entry(site)
    answer = Browser(site).ask("POST", path, data={"form_token": "x" * 2_000})
    assert answer.status_code == 413
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = Browser(site).ask("POST", path, content=b"\xff=1", headers=headers)
    assert answer.status_code == 400


def test_wrong_links_have_no_button(site):
    for token in bad_tokens(site.links):
        answer = Browser(site).ask("POST", f"/enter/{quote(token)}", data={"form_token": "x"})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_who_is_signed_in_needs_no_button(site, ann):
    token = site.links.token("ann", "assessor")
    first = Browser(site)
    first.enter(f"/enter/{token}")
    assert first.get(f"/enter/{token}").headers["location"] == "/"
    later = site.links.token(
        "ann", "assessor", timedelta(days=90)
    )  # works for longer than the cookie
    assert first.get(f"/enter/{later}").status_code == 200
    assert first.get(entry(site, "bob")).status_code == 200


def test_head_is_answered_as_get_is(site, ann, task):
    for path in (
        "/",
        f"/judge/{task.id}",
        f"/api/tasks/{task.id}",
        "/healthz",
        "/help",
        "/nothing",
    ):
        got, head = ann.get(path), ann.ask("HEAD", path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]


def test_a_method_that_is_refused_is_told_which_are_not(site, ann):
    for method, path in (("DELETE", "/"), ("OPTIONS", "/admin"), ("POST", "/help")):
        answer = ann.ask(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
        assert answer.headers["x-frame-options"] == "DENY"


def test_the_admin_s_link_leads_to_the_admin_s_page(site):
    browser = site.browser("boss", "admin")
    assert browser.get("/").headers["location"] == "/admin"
    assert browser.get("/admin").status_code == 200


def test_cookies_are_secure_behind_https(tmp_path):
    with serving(tmp_path, base_url="https://judge.test") as (site, _):
        answer = Browser(site, "https://judge.test").enter(
            f"/enter/{site.links.token('ann', 'assessor')}"
        )
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
    yield links.cookie_value(links.read(good))  # a cookie is no link


def test_links_that_do_not_work_all_say_the_same(site):
    answers = [Browser(site).get(f"/enter/{quote(token)}") for token in bad_tokens(site.links)]
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.text for answer in answers}) == 1
    assert not any("set-cookie" in answer.headers for answer in answers)
    assert not re.search(r"\b(ann|bob|boss|q1)\b", answers[0].text)


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
    page = ann.get("/admin")
    assert (page.status_code, "for the admin only" in page.text) == (403, True)
    boss = site.browser("boss", "admin")
    assert boss.get(f"/api/tasks/{task.id}").status_code == 401
    # The cookie of one role is not that of another.
    value = ann.client.cookies["podium_assessor"]
    assert (
        Browser(site).get("/admin", headers={"Cookie": f"podium_admin={value}"}).status_code == 401
    )


def test_one_browser_can_be_both(site):
    browser = site.browser("ann")
    browser.enter(f"/enter/{site.links.token('boss', 'admin')}")
    assert (browser.get("/").status_code, browser.get("/admin").status_code) == (200, 200)


def test_an_admin_who_is_none_any_more_is_out_at_once(site):
    boss = site.browser("boss", "admin")
    site.store.add_members([StoreMember("boss", role="assessor")])
    assert boss.get("/admin").status_code == 401
    assert boss.get("/admin/statistics.json").json()["error"]["code"] == "no_session"


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
                     "/static/main.js", "/static/clock.js", "/static/nothing", "/enter/x", "/images/x.png")
    ]  # fmt: skip
    answers.append(ann.send(task, ann.event("pause")))
    answers.append(ann.ask("DELETE", "/"))
    monkeypatch.setattr(site.store, "session_states", broken)
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
    boss_token = site.links.csrf_token(site.links.read(site.links.token("boss", "admin")))
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
        browser.enter(f"/enter/{site.links.token('ann', 'assessor')}")
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


# Who is not let in any more.


def test_an_assessor_who_is_none_any_more_is_out(tmp_path):
    with serving(tmp_path, members_seconds=0) as (site, tasks):
        task, ann, bob = tasks["ann", "q1"], site.browser("ann"), site.browser("bob")
        ann.open(task)
        site.store.add_members([StoreMember("ann", role="admin")])
        assert ann.get(f"/api/tasks/{task.id}").status_code == 401
        assert ann.send(task, ann.event("pause")).json()["error"]["code"] == "no_session"
        assert ann.get("/").status_code == 401
        assert bob.get("/").status_code == 200
        assert site.store.events(task.id) == []


def test_one_link_can_be_made_void(tmp_path):
    with serving(tmp_path, members_seconds=0) as (site, tasks):
        task, ann, bob = tasks["ann", "q1"], site.browser("ann"), site.browser("bob")
        ann.open(task)
        old = site.links.token("ann", "assessor")
        (renewed,) = site.store.renew_links(["ann"])
        assert renewed == StoreMember("ann", generation=1)
        assert ann.send(task, ann.event("pause")).status_code == 401
        assert ann.get(f"/enter/{old}").status_code == 403
        assert bob.get("/").status_code == 200
        new = site.links.token(renewed.id, renewed.role, generation=renewed.generation)
        assert ann.enter(f"/enter/{new}").status_code == 303
        # The page that was open before can go on.
        assert ann.send(task, ann.event("pause")).status_code == 200


def test_links_from_before_there_were_generations_still_work(site):
    old = site.links._serializers["link"].dumps(["ann", "assessor", 4_000_000_000])
    assert Browser(site).enter(f"/enter/{old}").status_code == 303
    site.store.renew_links(["ann"])
    assert Browser(site).get(f"/enter/{old}").status_code == 403


def test_members_are_read_now_and_then(tmp_path, monkeypatch):
    with serving(tmp_path, members_seconds=60) as (site, _):
        ann, read, members = site.browser("ann"), [], site.store.members
        monkeypatch.setattr(site.store, "members", lambda: read.append(1) or members())
        for _ in range(20):
            assert ann.get("/").status_code == 200
        assert len(read) <= 1
        # Somebody new does not wait.
        site.store.add_members([StoreMember("cat")])
        assert site.browser("cat").get("/").status_code == 200


# How long a request may take.


def test_a_body_that_does_not_come_is_given_up(tmp_path):
    with serving(tmp_path, body_seconds=0.2) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        ann.open(task)

        async def slowly():
            yield b'{"events": ['
            await asyncio.sleep(30)

        headers = {"X-Podium-Token": ann.token, "Content-Type": "application/json"}
        path = f"/api/tasks/{task.id}/events"
        start = time.monotonic()
        answer = ann.ask("POST", path, content=slowly(), headers=headers)
        assert time.monotonic() - start < 10
        assert (answer.status_code, answer.json()["error"]["code"]) == (408, "too_slow")
        assert answer.headers["connection"] == "close"
        assert ann.send(task, ann.event("pause")).status_code == 200


# The secret.


def test_servers_that_start_at_once_have_one_secret(tmp_path):
    for i in range(20):
        store = str(tmp_path / f"{i}.db")
        with ThreadPoolExecutor(8) as pool:
            found = set(pool.map(lambda _, store=store: secret_of(store), range(8)))
        assert len(found) == 1
        file = Path(f"{store}.secret")
        assert file.read_text().strip() == found.pop()
        assert file.stat().st_mode & 0o777 == 0o600
    assert len(list(tmp_path.iterdir())) == 20


def test_the_command_renews_one_link(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        fill(store)
        command = ("judge", "links", "--store", tmp_path / "judgments.db")
        before = {one["member"]: one["link"] for one in ask(*command)["links"]}
        after = {one["member"]: one["link"] for one in ask(*command, "--renew", "ann")["links"]}
        site = Site(store)
        site.app = make_app(store, secret=secret_of(str(tmp_path / "judgments.db")))
        statuses = {
            (who, when): Browser(site).enter(urlsplit(links[who]).path).status_code
            for when, links in (("before", before), ("after", after))
            for who in ("ann", "bob")
        }
        site.close()
    assert statuses.pop(("ann", "before")) == 403
    assert set(statuses.values()) == {303}
