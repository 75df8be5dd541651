"""Bodies of requests: type, size, time, depth; and the refusals and headers of answers."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.apps.http import request_bodies
from podium.apps.http.json_bodies import MAX_DEPTH, check_depth, load_json
from podium.apps.http.refusals import Refusal
from podium.apps.http.request_bodies import ClientGone, check_content_type, discard_body, read_body
from podium.apps.http.security_headers import HEADERS, SecurityHeaders
from tests.support.judging_client import serving as judging
from tests.support.ranking_service import get, save, service


def receiver(*chunks, ends=True):
    """The messages of a request; without an end the last one is never followed by another."""
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    if ends:
        messages[-1]["more_body"] = False
    left = iter(messages)

    async def receive():
        for message in left:
            return message
        return await asyncio.Event().wait()

    return receive


def refusal(work):
    with pytest.raises(Refusal) as caught:
        work()
    return caught.value


# Bodies.


def test_a_body_is_all_of_its_chunks():
    assert asyncio.run(read_body(receiver(b"ab", b"", b"c"), 3, 1.0)) == b"abc"


def test_a_body_that_is_too_large_is_refused_before_its_end():
    too_large = refusal(lambda: asyncio.run(read_body(receiver(b"abcd", ends=False), 3, 9.0)))
    assert (too_large.status, too_large.code) == (413, "too_large")
    assert "at most 3 bytes" in too_large.message


def test_a_body_that_does_not_end_is_refused_in_time():
    late = refusal(lambda: asyncio.run(read_body(receiver(b"a", ends=False), 3, 0.05)))
    assert (late.status, late.code) == (408, "too_slow")
    assert late.headers == {"Connection": "close"}


def test_a_client_that_goes_away_is_no_refusal():
    async def receive():
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        asyncio.run(read_body(receive, 3, 1.0))
    asyncio.run(discard_body(receive))


def test_the_rest_of_a_body_is_read_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(request_bodies, "DISCARD_BYTES", 5)
    monkeypatch.setattr(request_bodies, "DISCARD_SECONDS", 60.0)
    taken = []

    async def receive():
        taken.append(1)
        return {"type": "http.request", "body": b"abc", "more_body": True}

    asyncio.run(discard_body(receive))
    assert len(taken) == 2  # 3 bytes are less than 5, 6 are not


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON ; charset=utf-8"])
def test_the_type_of_a_body(kind):
    check_content_type(kind)
    wrong = refusal(lambda: check_content_type(kind, "text/plain", "not_text"))
    assert (wrong.status, wrong.code) == (415, "not_text")
    assert (
        "expected a body of type text/plain (header Content-Type), got application/json"
        in wrong.message
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "not_json"),
        (b"\xff", "not_json"),
        ("[]".encode("utf-16"), "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"a": 1, "a": 2}', "repeated_key"),
    ],
)
def test_what_is_no_json_is_refused(body, code):
    wrong = refusal(lambda: load_json(body))
    assert (wrong.status, wrong.code) == (400, code)


# Depth.


def nested(depth, inner="", before=""):
    return (before + "[" * depth + inner + "]" * depth).encode()


@pytest.mark.parametrize(
    "hidden",
    [
        "",
        '"]]]]]]]]]]]]]]"',
        r'"\"]]]]]]]]]]]]]"',
        r'"\\", "]]]]]]"',
        '"", "a]", ""',
        '"[", "]", "[["',
    ],
)
def test_brackets_in_texts_neither_hide_nor_add_depth(hidden):
    before = "[" + hidden + ("," if hidden else "")
    check_depth((before + "[" * (MAX_DEPTH - 1) + "]" * MAX_DEPTH).encode())
    deep = (before + "[" * MAX_DEPTH + "]" * (MAX_DEPTH + 1)).encode()
    assert refusal(lambda: check_depth(deep)).code == "too_deep"


@given(
    st.recursive(
        st.text(alphabet='ab[]{}"\\', max_size=4) | st.integers(),
        lambda inner: st.lists(inner, max_size=4)
        | st.dictionaries(st.text('k["', max_size=2), inner, max_size=3),
        max_leaves=60,
    ),
    st.integers(0, MAX_DEPTH),
)  # fmt: skip
def test_depth_is_that_of_the_value(value, n):
    import json

    def depth(part):
        if isinstance(part, list | dict):
            return 1 + max(map(depth, part.values() if isinstance(part, dict) else part), default=0)
        return 0

    for _ in range(n):
        value = [value, "]["]
    body = json.dumps(value).encode()
    if depth(value) > MAX_DEPTH:
        assert refusal(lambda: check_depth(body)).status == 422
    else:
        check_depth(body)


# Refusals and headers.


@pytest.mark.parametrize(
    ("status", "headers"),
    [(404, {}), (408, {"Connection": "close"}), (429, {"Retry-After": "7"}), (503, {"Retry-After": "7"})],
)  # fmt: skip
def test_a_refusal_has_the_headers_of_its_status(status, headers):
    assert Refusal(status, "code", "message", retry_seconds=7).headers == headers
    own = Refusal(status, "code", "message", headers={"Allow": "GET"}, retry_seconds=7, at="x")
    assert (own.headers, own.details) == ({"Allow": "GET", **headers}, {"at": "x"})


def answered(scheme="http", own=(), **options):
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": list(own)})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "scheme": scheme}
    asyncio.run(SecurityHeaders(app, **options)(scope, None, send))
    return [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]


def test_every_answer_has_the_headers_once_and_its_own_first():
    headers = answered(
        own=[(b"Cache-Control", b"private"), (b"set-cookie", b"a"), (b"set-cookie", b"b")]
    )
    expected = {name.lower(): value for name, value in HEADERS.items()} | {
        "cache-control": "private"
    }
    assert {name.lower(): value for name, value in headers if name != "set-cookie"} == expected
    assert len(headers) == len(HEADERS) + 2


def test_https_is_asked_for_where_it_is_spoken():
    hsts = "strict-transport-security"
    assert hsts not in dict(answered())
    assert (
        dict(answered("https"))[hsts] == dict(answered(is_https=True))[hsts] == "max-age=31536000"
    )


def test_both_apps_send_the_same_headers(tmp_path):
    app = service(save(tmp_path)[1])
    with judging(tmp_path) as (site, _):
        for response in (get(app, "/"), get(app, "/nothing"), site.browser().get("/nothing")):
            for name, value in HEADERS.items():
                assert response.headers.get_list(name) == [value]
            assert "strict-transport-security" not in response.headers
    secure = get(app, "https://podium/healthz")
    assert secure.headers["strict-transport-security"] == "max-age=31536000"
