"""Objects of JSON with a key twice: refused by both apps, at any depth."""

import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.apps.http import json_keys
from podium.apps.http.json_keys import JsonDecoder, RepeatedKeyError, check_json_keys
from tests.support.judging_client import serving as judging
from tests.support.ranking_service import error, post, save, service

REPEATED = [
    b'{"k": 1, "k": 1}',
    b'[[{"a": {"b": [1, {"k": 1, "x": 2, "k": 3}]}}]]',
    b'{"k": 1, "\\u006b": 2}',  # the same key, escaped
    b'{"k" \n: 1, "x": "\\u003a", "k": 2}',  # an escaped colon makes up for the one that is lost
    b'{"k": ":", "k": ""}',
    b'{"": 1, "": 2}',
    b'{"a": {"k": 1}, "b": {"k": 1, "k": 2}}',
    b'{"k": 123456789012345678901234567890, "k": 1e400}',
    b'{"x": [' + b'{"a": 1}, ' * 600 + b'{"k": 1, "k": 2}]}',
]
UNIQUE = [
    b"{}",
    b'{"a": {"k": 1}, "b": {"k": 1}, "c": "k", "k": ["k", "k"]}',
    b'[{"k": ":"}, {"k": "\\u003a"}, {"\\"k\\": ": "{"}]',
    b'{"a:b": "a:", "a": "b"}',
    b'{"x": [' + b'{"a": 1}, ' * 600 + b'{"k": 1}]}',
    b'{"k": 1, "k": ',  # no JSON: whoever decodes it says so
    b"\xff\xfe",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", REPEATED)
def test_a_repeated_key_is_found(body):
    with pytest.raises(RepeatedKeyError, match="once, got"):
        check_json_keys(body)


@pytest.mark.parametrize("body", UNIQUE, ids=range(len(UNIQUE)))
def test_other_bodies_pass(body):
    assert check_json_keys(body) is None


texts = st.text(alphabet='ab:"\\{}k', max_size=3)
values = st.recursive(
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(texts, inner), max_size=3).map(tuple),
    max_leaves=12,
)  # fmt: skip


def written(value, escapes):
    """A JSON text; tuples are objects, whose keys may come twice."""
    if isinstance(value, tuple):
        pairs = (f"{written(key, escapes)}:{written(item, escapes)}" for key, item in value)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, escapes) for item in value) + "]"
    text = json.dumps(value)
    return text.replace(":", "\\u003a") if escapes else text


def repeats(value):
    if isinstance(value, tuple):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(repeats(item) for _, item in value)
    return isinstance(value, list) and any(map(repeats, value))


@given(values, st.booleans())
def test_repeated_keys_are_found_exactly_where_they_are(value, escapes):
    body = written(value, escapes).encode()
    for check in (check_json_keys, JsonDecoder(Any).decode):
        if repeats(value):
            with pytest.raises(RepeatedKeyError):
                check(body)
        else:
            check(body)


class Inner(msgspec.Struct, omit_defaults=True):
    features: dict[str, float | None]
    id: str | None = None
    tags: list[str] = msgspec.field(default_factory=list)
    flag: bool = False


class Outer(msgspec.Struct):
    documents: list[str | Inner] | None = None
    rows: list[list[float]] | None = None
    rules: bool | list[dict[str, Any]] = False
    note: Annotated[str, msgspec.Meta(max_length=100)] = "none"


@pytest.mark.parametrize(
    ("body", "is_quick"),
    [
        (b'{"rows": [[1, 2], [3, 4]], "note": "a:b"}', True),
        (b'{"documents": ["a:b", {"features": {"x": 1, "y": null}, "id": "c"}]}', True),
        (b'{"rules": [{"rule": "pin", "where": {"a": ["b:c", {"d": 1}]}}]}', True),
        (b'{"documents": [{"features": {"x:y": 1}}]}', False),  # a colon in a key
        (b'{"rules": false}', False),  # a default that is sent
        (b'{"documents": [{"features": {}, "tags": []}]}', False),
        (b'{"note": "\\u003a"}', False),
    ],
)
def test_usual_bodies_are_decoded_once(monkeypatch, body, is_quick):
    again = []
    monkeypatch.setattr(json_keys, "check_json_keys", again.append)
    JsonDecoder(Outer).decode(body)
    assert again == ([] if is_quick else [body])


@pytest.mark.parametrize(
    "body",
    [
        b'{"documents": [{"features": {"x": 1, "x": 2}}]}',
        b'{"documents": [{"features": {"x": 1}, "features": {"x": 1}}]}',
        b'{"documents": [{"features": {}, "flag": true, "flag": true}]}',
        b'{"documents": [], "documents": ["a"], "rules": false}',
        b'{"rows": "wrong", "rows": [[1]]}',
        b'{"rules": [{"a": {"b": 1, "b": 1}}]}',
    ],
)
def test_repeated_keys_are_found_in_bodies_of_a_type(body):
    with pytest.raises(RepeatedKeyError):
        JsonDecoder(Outer).decode(body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/rank", b'{"features": [[1, 2, 3, 4]], "k": 1, "k": 2}'),
        ("/v1/rank", b'{"documents": [{"features": {"bm25": 1, "bm25": 2}}]}'),
        ("/v1/rank/batch", b'{"queries": [], "queries": []}'),
        ("/v1/postrank", b'{"documents": [{"id": "a", "fields": {"x": [{"y": 1, "y": 2}]}}]}'),
        ("/v1/events", b'{"action_name": "click", "query_id": "q", "query_id": "r"}'),
    ],
)
def test_the_ranking_service_refuses_repeated_keys(tmp_path, path, body):
    _, model = save(tmp_path)
    app = service(model, events=str(tmp_path / "events.ndjson"))
    message = error(post(app, path, body), 400, "repeated_key")["message"]
    assert "expected each key of an object once, got" in message


def test_lines_with_repeated_keys_are_refused_as_requests_are(tmp_path):
    from podium.apps.serving.jsonl_filter import filter_lines

    _, model = save(tmp_path)
    lines = [b'{"features": [[1, 2, 3, 4]], "k": 1, "k": 2}', b'{"features": [[1, 2, 3, 4]]}']
    (_, refused), (answer, none) = filter_lines(lines, service(model).files.state)
    assert refused.code == "repeated_key"
    assert none is None
    assert json.loads(answer)["order"] == [0]


def test_the_judging_app_refuses_repeated_keys(tmp_path):
    with judging(tmp_path) as (site, tasks):
        task, ann = tasks["ann", "q1"], site.browser("ann")
        ann.open(task)
        whole = json.dumps({"events": [ann.event("pause")]})
        inner = whole.replace('"kind"', '"id": "other", "kind"')
        outer = whole.replace('{"events"', '{"events": [], "events"')
        headers = {"X-Podium-Token": ann.token, "Content-Type": "application/json"}
        path = f"/api/tasks/{task.id}/events"
        for body in (inner, outer):
            answer = ann.ask("POST", path, content=body, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "repeated_key")
        for body in (whole.encode("utf-16"), b"\xff"):
            answer = ann.ask("POST", path, content=body, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_json")
        assert site.store.events(task.id) == []
        assert ann.ask("POST", path, content=whole, headers=headers).status_code == 200
