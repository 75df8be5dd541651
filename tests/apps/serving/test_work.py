"""Hostile requests: what a request may cost, how deep it may be, and that no thread outlives its time."""

import asyncio
import json
import sys
import time

import httpx
import numpy as np
import pytest

from podium.apps.http.json_bodies import MAX_DEPTH
from podium.apps.serving.body_types import ListedDocument
from podium.apps.serving.postranking import (
    MAX_DOCUMENTS,
    MAX_FIELD_VALUES,
    MAX_STEPS,
)
from podium.apps.serving.quick_requests import has_small_fields
from podium.apps.serving.routes import OPERATIONS
from podium.work_budget import spend
from tests.support.ranking_service import NAMES, error, post, rows, service

FREE_SECONDS = 10
"""How long threads may go on after the answers, also on a machine that has more to do."""
HIDE = [{"rule": "hide", "where": "a in b", "hard": True}]


def blocking(n):
    """The request of two list fields; without limits its work is n * n comparisons."""
    return {"documents": [{"id": "a", "fields": {"a": [0] * n, "b": [1] * n}}, "b"], "rules": HIDE}


@pytest.fixture(scope="module")
def app(path, tmp_path_factory):
    return service(path, events=str(tmp_path_factory.mktemp("log") / "events.ndjson"))


def together(app, *requests):
    """The answers to requests that are sent at once, and whether all threads are free soon after."""

    async def asking():
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://podium", timeout=120
        ) as client:
            answers = await asyncio.gather(
                *(client.post(path, json=body) for path, body in requests)
            )
            end = time.monotonic() + FREE_SECONDS
            while app.is_busy and time.monotonic() < end:
                await asyncio.sleep(0.01)
            return answers, not app.is_busy

    return asyncio.run(asking())


# --- work ---


def test_four_requests_with_long_lists_leave_the_service_free(app):
    batch = {"queries": [{"features": rows(3).tolist()}]}
    attack = ("/v1/postrank", blocking(15_000))
    answers, is_free = together(app, *[attack] * 4, ("/v1/rank/batch", batch))
    assert [answer.status_code for answer in answers] == [413] * 4 + [200]
    assert is_free
    told = error(answers[0], 413, "too_many")
    assert told["at"] == "documents[0].fields.a"
    assert f"at most {MAX_FIELD_VALUES:,} values" in told["message"]


def test_lists_as_long_as_they_may_be_are_compared(app):
    request = blocking(MAX_FIELD_VALUES)
    assert post(app, "/v1/postrank", request).json()["ids"] == ["a", "b"]
    request["documents"][0]["fields"]["b"][-1] = 0.0
    assert post(app, "/v1/postrank", request).json()["ids"] == ["b"]


@pytest.mark.parametrize("value", [[[0] * 600, [0] * 600], {"x": [0] * 2000}, [{"x": [[0] * 999]}]])
def test_values_of_lists_in_lists_count(app, value):
    request = {"documents": [{"id": "a", "fields": {"a": value}}], "rules": HIDE}
    error(post(app, "/v1/postrank", request), 413, "too_many")
    ranked = {"id": "a", "features": dict.fromkeys(NAMES, 1.0), "fields": {"a": value}}
    error(post(app, "/v1/rank", {"documents": [ranked], "rules": HIDE}), 413, "too_many")


def test_too_many_documents_are_refused(app):
    request = {"documents": [str(at) for at in range(MAX_DOCUMENTS + 1)], "rules": []}
    error(post(app, "/v1/postrank", request), 413, "too_many")


LONG = " or ".join(f"x == {at}" for at in range(1, 150))
EVEN, ODD = ([f"{at}" for at in range(first, 400, 2)] for first in (0, 1))


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "top-k", "k": 1, "where": LONG},  # 400 documents, 149 comparisons each
        {"rule": "not-top-k", "docs": EVEN, "k": 400},  # 200 documents, 200 stars each
        {"rule": "before", "first": EVEN, "second": ODD},  # 200 * 200 pairs
    ],
)
def test_rules_that_take_too_much_work_are_refused(app, rule, monkeypatch):
    documents = [{"id": f"{at}", "fields": {"x": 0}} for at in range(400)]
    request = {"documents": documents, "rules": [rule]}
    assert post(app, "/v1/postrank", request).status_code == 200
    monkeypatch.setattr("podium.apps.serving.postranking.MAX_STEPS", 200 * 1000)
    told = error(post(app, "/v1/postrank", request), 413, "too_much_work")
    assert "more than the allowed 200,000 steps on this list" in told["message"]


def slow_requests():
    """Requests that take many seconds, and are within every other limit."""
    rng = np.random.default_rng(0)
    groups = [[f"{at}" for at in rng.permutation(200)[:20]] for _ in range(200)]
    hard = [
        {"rule": kind, "docs": docs, "m": 2, "k": k, "hard": True}
        for docs in groups
        for kind, k in (("at-most", 30), ("at-least", 40))
    ]
    listed = {"documents": [f"{at}" for at in range(200)], "rules": hard}
    patterns = [
        {"rule": "top-k", "docs": f"{at}", "k": 1, "pattern": f"*{at}*"} for at in range(10_000)
    ]
    text = "version: 1\nrules:\n" + "- {rule: hide, docs: a}\n" * 20_000
    conditions = [
        {"documents": ["a"], "rules": [{"rule": "hide", "where": f"y == {at} or {LONG}"}]}
        for at in range(3000)
    ]
    pulls = [
        {
            "rule": "before",
            "first": f"{at}",
            "second": f"{at + 9000}",
            "weight": 10.0 ** (at % 19 - 9),
        }
        for at in rng.permutation(9000)[:100].tolist()
    ]
    ill = {"documents": [f"{at}" for at in range(50_000)], "rules": pulls, "prior": 1e-12}
    tops = [
        {"rule": "top-k", "docs": [f"{at}" for at in rng.permutation(100_000)[:200]], "k": 10}
        for _ in range(50)
    ]
    stars = {"documents": [f"{at}" for at in range(100_000)], "rules": tops}
    long_pattern = "*" + "a" * 998 + "b"
    likes = [{"rule": "top-k", "docs": "a", "k": 1, "pattern": long_pattern}] * 1_000
    matching = {"documents": ["a"], "rules": likes, "query": "a" * 10_000}
    return {
        "stars": ("/v1/postrank", stars),
        "matching": ("/v1/postrank", matching),
        "solver": ("/v1/postrank", ill),
        "search": ("/v1/postrank", {**listed, "conflicts": "error"}),
        "patterns": ("/v1/rules/check", {"rules": patterns}),
        "yaml": ("/v1/rules/check", {"yaml": text}),
        "conditions": ("/v1/postrank/batch", {"queries": conditions}),
        **slow_kinds(),
    }


def slow_kinds():
    """Requests with rules about every prefix, places, inserts and conditions."""
    rng = np.random.default_rng(0)
    ids = [f"{at}" for at in range(1000)]
    many = [f"{at}" for at in range(100_000)]
    ratios = [(at % 7, 1 + at % 3, 7 + at % 5) for at in range(60)]
    mixes = [
        {"rule": "mix", "docs": ids[start::7], "m": m, "of": of, "k": 1000}
        for start, m, of in ratios
    ]
    hard_mixes = [{**rule, "hard": True} for rule in mixes]
    brands = [
        {"id": id_, "fields": {f"f{at}": int(id_) % (200 + at) for at in range(60)}} for id_ in ids
    ]
    turns = [{"rule": "take-turns", "each": f"f{at}", "k": 1000, "hard": True} for at in range(60)]
    shares = [
        {"rule": "fair-share", "docs": ids[500:], "k": 1000, "share": 0.3 + at / 3000}
        for at in range(200)
    ]
    exposures = [
        {"rule": "exposure", "docs": many[90_000::7], "k": 1000, "least": 0.9, "hard": True}
    ]
    moves = [
        {"rule": kind, "docs": rng.permutation(ids)[:500].tolist(), "factor": 2 + at, "hard": True}
        for at in range(200)
        for kind in ("boost", "bury")
    ]
    inserts = [
        {"rule": "insert", "docs": f"new {at}", "position": 1 + at % 90, "to": 100}
        for at in range(240)
    ]
    letters = ["".join(word) for word in rng.choice(list("abcde"), (100, 8))]
    words = [" ".join(rng.permutation(letters)[:20]) + " x" for _ in range(40)]
    wrong = {"query": {"words": words, "edits": 2, "stem": "english"}}
    typos = [{"rule": "hide", "docs": "a", "when": wrong}] * 300
    return {
        "mixes": ("/v1/postrank", {"documents": ids, "rules": mixes}),
        "hard mixes": ("/v1/postrank", {"documents": ids, "rules": hard_mixes}),
        "turns": ("/v1/postrank", {"documents": brands, "rules": turns}),
        "shares": ("/v1/postrank", {"documents": ids, "rules": shares}),
        "exposures": ("/v1/postrank", {"documents": many, "rules": exposures}),
        "moves": ("/v1/postrank", {"documents": ids, "rules": moves, "conflicts": "error"}),
        "inserts": (
            "/v1/postrank",
            {
                "documents": many[:20_000],
                "rules": inserts,
                "insertable": [f"new {at}" for at in range(240)],
            },
        ),
        "typos": ("/v1/postrank", {"documents": ["a"], "rules": typos, "query": " ".join(letters)}),
    }


@pytest.mark.parametrize("name", slow_requests())
def test_no_thread_works_beyond_the_deadline(path, name):
    # Short, so that no machine answers the quickest of these requests in time.
    app = service(path, seconds=0.05)
    answers, is_free = together(app, *[slow_requests()[name]] * 4)
    assert {answer.status_code for answer in answers} <= {503, 422, 413}
    codes = {answer.json()["error"]["code"] for answer in answers}
    others = {"search": {"undecided"}, "stars": {"too_much_work"}, "matching": {"too_much_work"}}
    assert codes <= {"too_slow"} | others.get(name, set())
    assert is_free


def test_rules_cost_as_many_steps_as_they_have_pairs(app):
    """50 rules times 200 documents times nearly 100,000 others would be 8 GB."""
    where, request = slow_requests()["stars"]
    error(post(app, where, request), 413, "too_much_work")


def test_patterns_cost_what_they_compare(app):
    rules = [{"rule": "top-k", "docs": "a", "k": 1, "pattern": "*" + "a" * 998 + "b"}] * 300
    request = {"documents": ["a"], "rules": rules, "query": "a" * 10_000}
    error(post(app, "/v1/postrank", request), 413, "too_much_work")
    request["query"] = "a" * 100
    assert post(app, "/v1/postrank", request).json()["ids"] == ["a"]


@pytest.mark.parametrize(("field", "most"), [("pattern", 1_000), ("query", 10_000)])
def test_long_patterns_and_queries_of_rules_are_refused(app, field, most):
    rule = {"rule": "top-k", "docs": "a", "k": 1, field: "a" * most}
    request = {"documents": ["a"], "rules": [rule]}
    assert post(app, "/v1/postrank", request).json()["ids"] == ["a"]
    rule[field] += "a"
    message = error(post(app, "/v1/postrank", request), 422, "bad_request")["message"]
    assert f"at most {most:,} characters as {field}" in message
    assert f"got {most + 1:,}" in message


def test_a_hundred_rules_of_ten_documents_order_a_thousand(app):
    """The solver then has 100 * 10 documents times almost 1,000 others, below 20 million pairs."""
    rules = [
        {"rule": "top-k", "docs": [f"{at}" for at in range(first, 1_000, 100)], "k": 10}
        for first in range(100)
    ]
    request = {"documents": [f"{at}" for at in range(1_000)], "rules": rules}
    assert len(post(app, "/v1/postrank", request).json()["ids"]) == 1_000


# --- what runs without a thread ---


@pytest.mark.parametrize(
    ("value", "is_small"),
    [
        ([0] * 990, True),
        (["red", "blue"], True),
        ([[0] * 990], False),
        ([{"x": 1}], False),
        ({"x": [0] * 990}, False),
        (["a" * 30_000], False),
        ("a" * 30_000, False),
    ],
)
def test_fields_within_fields_are_looked_at_in_a_thread(value, is_small):
    assert has_small_fields([ListedDocument(id="a", fields={"x": value})]) == is_small


def test_what_runs_without_a_thread_has_a_deadline_too(tmp_path, path):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"version": 1, "rules": [{"rule": "hide", "where": "x == 1"}]}))
    app = service(path, rules=str(rules), seconds=1e-9)
    request = {"documents": [{"id": "a", "fields": {"x": 1}}]}
    request["rules"] = [{"rule": "hide", "where": "x == 1"}]
    message = error(post(app, "/v1/postrank", request), 503, "too_slow")["message"]
    assert message == "the request exceeded the limit of 1e-09 seconds"
    # Rules of the service leave the list as it is.
    del request["rules"]
    answer = post(app, "/v1/postrank", request).json()
    assert (answer["ids"], answer["reason"]["code"]) == (["a"], "too_slow")


def test_the_reasons_for_moves_count_as_work(app, monkeypatch):
    """The steps of a description are counted; with the first step refused, so is the request."""
    module = sys.modules["podium.postranking.postrank"]  # the package has the function by this name
    monkeypatch.setattr(module, "make_post_ranking", lambda *_, **__: spend(MAX_STEPS + 1))
    request = {"documents": ["a", "b"], "rules": HIDE, "explain": True}
    error(post(app, "/v1/postrank", request), 413, "too_much_work")


def test_a_search_that_takes_its_share_of_the_time_answers_a_list(path, monkeypatch):
    monkeypatch.setattr("podium.work_budget.SEARCH_SHARE", 0.01)
    where, request = slow_requests()["search"]
    app = service(path, seconds=100)
    answer = post(app, where, {**request, "conflicts": "yield"})
    assert answer.status_code == 200
    assert len(answer.json()["ids"]) == 200
    assert answer.json()["yielded"]


# --- depth ---


def nested(depth):
    return json.loads("[" * depth + "]" * depth)


@pytest.mark.parametrize("depth", [MAX_DEPTH, 400, 5000, 200_000])
@pytest.mark.parametrize("to", [path for path, one in OPERATIONS.items() if one.body is not None])
def test_every_path_refuses_what_is_nested_too_deep(app, to, depth):
    body = b'{"documents": ' + b"[" * depth + b"]" * depth + b"}"
    error(post(app, to, body), 422, "too_deep")


def test_closing_brackets_in_a_text_do_not_hide_depth(app):
    deep = b"[" * 950 + b"]" * 950
    text = b"]" * 1_000
    body = b'{"query": "%b", "documents": [{"id": "a", "fields": {"x": %b}}], "rules": []}' % (
        text,
        deep,
    )
    error(post(app, "/v1/postrank", body), 422, "too_deep")


@pytest.mark.parametrize("where", ["x == 1", "1 in x", "x in x", "x == x", "x < 2", "not x"])
def test_fields_as_deep_as_they_may_be_are_compared(app, where):
    document = {"id": "a", "fields": {"x": nested(MAX_DEPTH - 4)}}  # in documents[...].fields
    request = {"documents": [document], "rules": [{"rule": "hide", "where": where, "hard": True}]}
    assert post(app, "/v1/postrank", request).status_code == 200
    document["fields"]["x"] = nested(MAX_DEPTH - 3)
    error(post(app, "/v1/postrank", request), 422, "too_deep")


def test_brackets_in_text_are_text(app):
    text = '[{"' * 100 + "\\"
    request = {"documents": [{"id": "a", "fields": {"x": text}}], "rules": [], "query": text}
    assert post(app, "/v1/postrank", request).json()["ids"] == ["a"]
    event = {"query_id": text, "action_name": "search", "timestamp": 0}
    assert post(app, "/v1/events", event).json() == {"accepted": 1}


@pytest.mark.parametrize("text", ['"', '\\"', '"\\', '["\\\\', "[" * 40 + '"\\"', '{"["'])
def test_text_without_end_is_refused_at_once(app, text):
    """Looking for brackets outside of text takes time of the length, whatever the text is."""
    start = time.process_time()
    answer = post(app, "/v1/postrank", (b"[" * 40 + text.encode() * (1 << 21))[: 15 << 20])
    assert answer.status_code in (400, 422)
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    "where", ["(" * 900 + "x" + ")" * 900, "not " * 499 + "x", "x == " + "[" * 900 + "]" * 900,
              "-" * 1990 + "1 == x", "x" + ".a" * 900],
)  # fmt: skip
def test_deep_conditions_are_refused(app, where):
    request = {"documents": ["a"], "rules": [{"rule": "hide", "where": where}]}
    error(post(app, "/v1/postrank", request), 422, "bad_request")
