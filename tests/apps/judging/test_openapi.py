"""The OpenAPI description of the judging app: complete, true of its answers, and readable in a browser."""

import re

import jsonschema

from podium.apps.judging.openapi import openapi
from tests.support.judging_client import lower_is_better

DESCRIPTION = openapi()


def check(name, value):
    schema = {
        "$ref": f"#/components/schemas/{name}",
        "components": DESCRIPTION["components"],
    }
    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)


def check_refusal(path, method, answer):
    """An error answer whose status the description has."""
    responses = DESCRIPTION["paths"][path][method]["responses"]
    assert str(answer.status_code) in responses, answer.text
    kinds = list(responses[str(answer.status_code)]["content"])
    assert answer.headers["content-type"].startswith(kinds[0])
    if kinds == ["application/json"]:
        check("ErrorAnswer", answer.json())


def test_every_route_is_described_and_nothing_else(site):
    routes = {
        (path, method)
        for path, methods in site.app.openapi()["paths"].items()  # as FastAPI finds them
        for method in methods
    }
    described = {
        (path, method) for path, methods in DESCRIPTION["paths"].items() for method in methods
    }
    assert described == routes
    names = [
        operation["operationId"]
        for methods in DESCRIPTION["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(names)) == len(names)


def test_references_lead_somewhere():
    references = set(re.findall(r"'#/components/schemas/(\w+)'", str(DESCRIPTION)))
    assert references == set(DESCRIPTION["components"]["schemas"])


def test_tasks_and_events_are_as_described(site):
    ann, boss = site.browser("ann"), site.browser("boss", "admin")
    for query in ("q1", "q2"):
        task = site.tasks["ann", query]
        state = ann.open(task)
        check("TaskState", state)
        kinds = [state["step"]["kind"]]
        while state["step"]["kind"] != "done":
            step = state["step"]
            data = {"question": step["question"]}
            if step["kind"] == "question":
                data["answer"] = lower_is_better(step["left"]["id"], step["right"]["id"])
            else:
                data["grade"] = 2
            event = ann.event(**data)
            check("EventsRequest", {"events": [event]})
            answer = ann.send(task, event)
            assert answer.status_code == 200
            check("EventsAnswer", answer.json())
            state = answer.json()
            kinds.append(state["step"]["kind"])
        assert set(kinds) == {"question" if query == "q1" else "document", "done"}
    check("Progress", boss.get("/admin/progress.json").json())
    check("Statistics", boss.get("/admin/statistics.json").json())
    check("Health", boss.get("/healthz").json())


def test_what_needs_a_login_says_so(site):
    task = site.tasks["ann", "q1"]
    values = {"task_id": task.id, "token": "x", "path": "x.png"}
    ann, stranger = site.browser("ann"), site.browser()
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            answer = stranger.ask(method.upper(), path.format(**values))
            security = operation.get("security", [])
            assert (answer.status_code == 401) is bool(security), path
            if answer.status_code >= 400:
                check_refusal(path, method, answer)
            if security == [{"admin": []}]:
                answer = ann.ask(method.upper(), path.format(**values))
                assert answer.status_code == 403
                check_refusal(path, method, answer)


def test_refused_events_are_as_described(site):
    task, ann = site.tasks["ann", "q1"], site.browser("ann")
    state, path = ann.open(task), "/api/tasks/{task_id}/events"
    question = state["step"]["question"]
    json_headers = {"Content-Type": "application/json", "X-Podium-Token": ann.token}
    url = f"/api/tasks/{task.id}/events"
    answers = [
        ann.send(task, ann.event(question=question, answer="up")),
        ann.send(task, ann.event(question="0-1-0-x", answer="left")),
        ann.send(task, ann.event("pause"), headers={"X-Podium-Token": "wrong"}),
        ann.ask("POST", url, content=b"{", headers=json_headers),
        ann.ask("POST", url, content=b"{}", headers=json_headers | {"Content-Type": "text/plain"}),
        ann.ask("POST", url, content=b" " * (2 << 20), headers=json_headers),
    ]
    assert [answer.status_code for answer in answers] == [400, 409, 403, 400, 415, 413]
    for answer in answers:
        check_refusal(path, "post", answer)


def test_the_description_is_for_everybody_and_says_nothing_of_this_server(site):
    stranger = site.browser()
    answer = stranger.get("/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == DESCRIPTION
    page = stranger.get("/static/api.html")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for text in (answer.text, page.text):
        for secret in ("ann", "bob", "boss", "cool jazz", site.tasks["ann", "q1"].id):
            assert not re.search(rf"\b{re.escape(secret)}\b", text)


def test_the_page_is_read_in_a_browser(browser, server):
    page = browser.new_page()
    faults = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url)
            if not request.url.startswith(f"{server.address}/") else None)  # fmt: skip
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.goto(f"{server.start().address if not server.is_up else server.address}/static/api.html")
    assert page.get_by_role("heading", level=1).inner_text() == "Podium judging app: API"
    section = page.locator("#events")
    assert "POST /api/tasks/{task_id}/events" in section.inner_text()
    assert "Needs: the cookie of an assessor's personal link" in section.inner_text()
    section.get_by_role("link", name="EventsAnswer").click()
    assert page.url.endswith("#type-EventsAnswer")
    assert page.locator("#type-EventsAnswer").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none"
    assert faults == []
    page.close()
