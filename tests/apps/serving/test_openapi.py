"""The OpenAPI description: complete, true of every answer; and no request made from it breaks the service."""

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.apps.serving.openapi import openapi
from podium.apps.serving.routes import OPERATIONS
from podium.postranking import RULES
from tests.support.case_counts import soak_cases
from tests.support.ranking_service import ask, get, post, rows, save, service

FILE = """\
version: 1
rules:
  - {rule: top-k, docs: b, k: 1, weight: 50}
  - {rule: at-most, each: brand, m: 1, k: 3, weight: 5}
  - {rule: hide, where: stock == 0, hard: true}
"""


def made(folder):
    (folder / "rules.yaml").write_text(FILE)
    _, path = save(folder)
    _, other = save(folder, "lambdamart", "trees.podium")
    return service(
        path, other, rules=str(folder / "rules.yaml"), events=str(folder / "events.ndjson")
    )


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return made(tmp_path_factory.mktemp("serving"))


@pytest.fixture(scope="module")
def told(app):
    return get(app, "/openapi.json").json()


def test_every_operation_is_described(told):
    assert set(told["paths"]) == {*OPERATIONS, "/metrics"}
    for path, operation in OPERATIONS.items():
        assert set(told["paths"][path]) == {operation.method.lower()}


def test_every_reference_leads_somewhere(told):
    def references(node):
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    names = {ref.removeprefix("#/components/schemas/") for ref in references(told)}
    assert names <= set(told["components"]["schemas"])
    assert {"RankRequest", "RankAnswer", "Rule", "Rule-top-k", "ErrorAnswer"} <= names


def check(told, name, value):
    schema = {"$ref": f"#/components/schemas/{name}", "components": told["components"]}
    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)


IDS = list("abcde")


@pytest.mark.parametrize(
    ("path", "request_", "asked", "answered"),
    [
        ("/v1/rank", {"features": rows().tolist(), "ids": IDS, "explain": True, "rules": True},
         "RankRequest", "RankAnswer"),
        ("/v1/rank/batch", {"queries": [{"features": []}]}, "RankBatch", "RankAnswers"),
        ("/v1/postrank", {"documents": ["a", {"id": "b", "fields": {"x": 1}}], "explain": True},
         "PostrankRequest", "PostrankAnswer"),
        ("/v1/postrank/batch",
         {"queries": [{"documents": IDS, "rules": [{"rule": "top-k", "docs": "c", "k": 1}]}]},
         "PostrankBatch", "PostrankAnswers"),
        ("/v1/events", {"query_id": "q", "action_name": "search"}, "UbiRecord", "EventsAnswer"),
    ],
)  # fmt: skip
def test_requests_and_answers_are_as_described(app, told, path, request_, asked, answered):
    check(told, asked, request_)
    response = post(app, path, request_)
    assert response.status_code == 200, response.text
    check(told, answered, response.json())


@pytest.mark.parametrize("path", ["/v1/models", "/healthz"])
def test_what_is_read_is_as_described(app, told, path):
    check(told, OPERATIONS[path].answer.__name__, get(app, path).json())


def test_errors_are_as_described(app, told):
    response = post(app, "/v1/rank", {"documents": [{"features": {"x": 1}}]})
    check(told, "ErrorAnswer", response.json())


@pytest.fixture(scope="module")
def api():
    """What makes requests from a description; imported here, as its import takes a second."""
    from schemathesis import openapi as from_openapi

    return from_openapi.from_dict(openapi("0"))


@pytest.fixture(scope="module")
def flat_api():
    """The same without conditions inside conditions, whose opposites schemathesis cannot make."""
    from schemathesis import openapi as from_openapi

    description = openapi("0")
    description["components"]["schemas"]["Rule-when"] = {"type": "object"}
    return from_openapi.from_dict(description)


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("path", sorted({*OPERATIONS, "/metrics"}))
def test_no_request_breaks_the_service(app, told, api, flat_api, path, mode):
    """Requests that the description allows, and ones that it does not: never a 5xx, always as described."""
    method = "POST" if path in OPERATIONS and OPERATIONS[path].body is not None else "GET"
    if method == "GET" and mode == "negative":
        assert get(app, path, params={"x": "y"}).status_code == 200
        return

    from schemathesis import GenerationMode

    requests = flat_api if mode == "negative" else api

    @given(requests[path][method].as_strategy(generation_mode=GenerationMode(mode)))
    @settings(
        max_examples=soak_cases(100, 10), deadline=None, suppress_health_check=list(HealthCheck)
    )
    def ask_anything(case):
        asked = case.as_transport_kwargs(base_url="http://podium")
        headers = {**(asked.get("headers") or {})}
        headers = {name: value for name, value in headers.items() if name.lower() != "user-agent"}
        response = ask(
            app, asked["method"], asked["url"], headers=headers, json=asked.get("json"),
            content=asked.get("data"),
        )  # fmt: skip
        assert response.status_code < 500, response.text
        known = told["paths"][path][method.lower()]["responses"]
        assert str(response.status_code) in known, response.text
        if response.status_code >= 400:
            check(told, "ErrorAnswer", response.json())
        elif path in OPERATIONS:
            check(told, OPERATIONS[path].answer.__name__, response.json())

    ask_anything()


RULE_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5), st.lists(st.text(max_size=2), max_size=2),
)  # fmt: skip


@given(
    st.lists(
        st.fixed_dictionaries(
            {"rule": st.sampled_from(sorted(RULES))},
            optional={
                "docs": st.sampled_from(["a", ["b", "c"], "z"]), "first": st.just("a"),
                "second": st.just("b"), "k": st.integers(1, 6), "m": st.integers(0, 3),
                "position": st.integers(1, 6), "hard": st.booleans(), "weight": st.floats(0, 100),
                "where": st.sampled_from(["x == 1", "x > 0 and y in (1, 2)", "x ==", "y < 'b'"]),
                "each": st.sampled_from(["x", "y"]), "pattern": st.text(max_size=4),
            },
        ),
        max_size=4,
    ),
    st.lists(
        st.dictionaries(st.sampled_from(["x", "y", "id"]), RULE_VALUES, max_size=2), max_size=6
    ),
)  # fmt: skip
@settings(max_examples=soak_cases(150), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_rules_and_no_fields_break_the_service(app, rules, fields):
    documents = [{"id": id_, "fields": own} for id_, own in zip("abcdef", fields, strict=False)]
    request = {"documents": documents, "rules": rules, "explain": True, "query": "q"}
    response = post(app, "/v1/postrank", request)
    assert response.status_code in (200, 409, 422), response.text
    if response.status_code == 409:
        assert response.json()["error"]["code"] == "conflict"
    if response.status_code == 200:
        answer = response.json()
        shown, hidden = answer["ids"], answer.get("hidden", [])
        assert sorted(shown + hidden) == [document["id"] for document in documents]
        plain = post(app, "/v1/postrank", {**request, "explain": False}).json()
        assert (plain["ids"], plain.get("hidden", [])) == (shown, hidden)
