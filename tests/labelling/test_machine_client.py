"""Asking a machine: addresses, keys, replies of every kind, caps, pace, and the cache."""

import http.server
import json
import socket
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import EndpointError, StoreError, UsageError
from podium.labelling import PoolDocument, PoolQuery
from podium.labelling.machines.answer_cache import AnswerCache, CachedAnswer
from podium.labelling.machines.answer_schema import (
    AnswerSchema,
    UnreadableAnswerError,
    grade_schema,
    pair_schema,
    set_schema,
)
from podium.labelling.machines.call_budget import (
    BudgetSpentError,
    CallBudget,
    CallCaps,
    Spending,
    TokenPrices,
)
from podium.labelling.machines.call_pace import CallPace
from podium.labelling.machines.chat_completions import CompletionSettings, is_model
from podium.labelling.machines.endpoint import ApiKey, Endpoint, read_key
from podium.labelling.machines.http_exchange import FailedExchangeError, exchange
from podium.labelling.machines.machine_client import CallRules, MachineClient
from podium.labelling.machines.prompt_templates import Prompt
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from tests.support.case_counts import soak_cases
from tests.support.machines import EVERY_FAULT, KEY, client_of, judge_numbers

QUERY = PoolQuery(
    "q", "query", documents=(PoolDocument("x", "worth 0.9"), PoolDocument("y", "worth 0.1"))
)
PAIR = QuestionPrompts().pair(QUERY, *QUERY.documents)


# --- addresses and keys


@pytest.mark.parametrize(
    "url",
    ["http://models.example.org/v1", "http://192.168.0.1/v1", "http://localhost.example.org/",
     "ftp://127.0.0.1/", "127.0.0.1:80", "https://", "http://127.0.0.1:port/", "https://h/ö",
     "https://h/a b"],
)  # fmt: skip
def test_an_address_is_https_or_on_this_machine(url):
    with pytest.raises(UsageError):
        Endpoint(url, "small")


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("https://h/v1", "https://h/v1/chat/completions"),
        ("https://h/v1/", "https://h/v1/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1?api-version=2", "https://h/v1/chat/completions?api-version=2"),
        ("http://[::1]:8/v1", "http://[::1]:8/v1/chat/completions"),
        ("http://127.8.0.1/", "http://127.8.0.1/chat/completions"),
    ],
)
def test_the_path_of_completions_is_added(url, whole):
    assert Endpoint(url, "small").url == whole


def test_an_address_with_a_password_is_refused_without_showing_it():
    with pytest.raises(UsageError) as caught:
        Endpoint(f"https://ann:{KEY}@example.org/v1", "small")
    assert KEY not in str(caught.value)
    assert "example.org" in str(caught.value)


@pytest.mark.parametrize("value", ["with blank", "zeilen\numbruch", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(value):
    with pytest.raises(UsageError) as caught:
        ApiKey(value)
    assert value not in str(caught.value)


def test_a_key_comes_from_the_environment(monkeypatch):
    monkeypatch.delenv("PODIUM_MACHINE_KEY", raising=False)
    assert read_key() is None
    monkeypatch.setenv("PODIUM_MACHINE_KEY", f" {KEY}\n")
    key = read_key()
    assert key.authorization == f"Bearer {KEY}"
    assert KEY not in repr(key)
    assert KEY not in repr(Endpoint("https://h/v1", "small", key))


# --- strict answers


@pytest.mark.parametrize(
    "text",
    ["", "A", '"A"', "[]", '["better", "A"]', '[["better", "A"]]', '{"better": "C"}', '{"better": "a"}',
     '{"better": 1}', '{"better": ["A"]}', '{"Better": "A"}', '{"better": "A", "why": "x"}',
     '{"better": "A", "better": "B"}', '```json\n{"better": "A"}\n```', 'A: {"better": "A"}',
     '{"better": "A"} {"better": "A"}', '{"better": "A"', "[" * 1990, '{"better": null}',
     '{"better": "A"}' + " " * 2000],
)  # fmt: skip
def test_anything_but_the_answer_is_unreadable(text):
    with pytest.raises(UnreadableAnswerError):
        pair_schema().read(text)


@pytest.mark.parametrize("value", ["A", "B", "tie", "bad"])
def test_the_answer_is_read(value):
    assert pair_schema().read(f'\n {{"better" : "{value}"}} ') == value


JSON = st.recursive(
    st.text() | st.integers() | st.none(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
)


@settings(max_examples=soak_cases(90, 30))
@given(st.text() | JSON.map(json.dumps))
def test_no_text_escapes_the_schema(text):
    for schema in (pair_schema(), set_schema(5), grade_schema(("Bad", "Good"))):
        with suppress(UnreadableAnswerError):
            assert schema.read(text) in schema.values


@pytest.mark.parametrize(
    ("answered", "requested", "same"),
    [
        ("gpt-4-0613", "gpt-4", True), ("m-20241022", "m", True), ("m@20241022", "m", True),
        ("m-002", "m", True), ("m-2026-01-31", "m", True), ("llama-3-8b", "llama-3", False),
        ("claude-3-5-sonnet", "claude-3", False), ("qwen2-0.5b", "qwen2", False),
        ("llama3:70b", "llama3", False), ("m-002", "m-003", False), ("m-002\n", "m", False),
    ],
)  # fmt: skip
def test_a_version_is_the_model_and_a_size_is_another(answered, requested, same):
    assert is_model(answered, requested) == same


# --- caps


def test_every_cap_is_checked_before_a_call():
    call = Spending(1, 600, 400)
    now = [0.0]
    prices = TokenPrices(1000.0, 2000.0)  # 0.6 + 0.8 for a call
    for caps, allowed in (
        (CallCaps(calls=3), 3),
        (CallCaps(tokens=2999), 2),
        (CallCaps(cost=2.8), 2),
        (CallCaps(seconds=5), 5),
        (CallCaps(calls=0), 0),
    ):
        now[0] = 0.0
        budget = CallBudget(caps, prices, clock=lambda: now[0])
        for _ in range(allowed):
            budget.reserve(call)
            now[0] += 1.0
        with pytest.raises(BudgetSpentError):
            budget.reserve(call)


class SimulatedTime:
    """A clock that a sleep moves; `events` happen during sleeps."""

    def __init__(self, events=()):
        self.now, self.events = 0.0, sorted(events)

    def sleep(self, seconds):
        end = self.now + seconds
        while self.events and self.events[0][0] <= end:
            self.now, happen = self.events.pop(0)
            happen()
        self.now = end


def test_a_hold_reaches_threads_that_wait_already():
    timer = SimulatedTime()
    pace = CallPace(6, clock=lambda: timer.now, sleep=timer.sleep)
    pace.wait_for_turn()
    timer.events = [(1.0, lambda: pace.hold(24.0))]  # while the next thread sleeps until 10
    calls = []
    for _ in range(2):
        pace.wait_for_turn()
        calls.append(timer.now)
    assert calls == [25.0, 35.0]


def test_the_cap_on_time_is_checked_after_the_wait(tmp_path):
    timer = SimulatedTime()
    with (
        scripted(reply(429, headers=["Retry-After: 500"])) as (url, received),
        AnswerCache(tmp_path / "answers.db") as cache,
    ):
        budget = CallBudget(CallCaps(seconds=10), clock=lambda: timer.now)
        pace = CallPace(clock=lambda: timer.now, sleep=timer.sleep)
        client = MachineClient(Endpoint(url, "small"), cache, budget, pace=pace)
        with pytest.raises(BudgetSpentError, match="10 seconds"):
            client.ask(*PAIR)
        assert len(received) == 1
        assert budget.spent.calls == 1, "nothing is reserved for a call that was not made"


def test_what_calls_really_took_frees_the_rest():
    budget = CallBudget(CallCaps(tokens=1000))
    budget.reserve(Spending(1, 600, 400))
    budget.replace_estimate(Spending(1, 600, 400), Spending(1, 90, 10))
    assert budget.spent == Spending(1, 90, 10)
    budget.reserve(Spending(1, 500, 400))


def test_a_cap_on_money_needs_prices():
    with pytest.raises(UsageError, match="prices"):
        CallBudget(CallCaps(cost=1.0))


# --- the cache


def test_a_question_is_asked_once(tmp_path):
    with SimulatedEndpoint(judge_numbers()) as server:
        for _ in range(2):
            with client_of(server.url, tmp_path) as client:
                answers = [client.ask(*PAIR, repetition=i % 2) for i in range(4)]
        assert [answer.value for answer in answers] == ["A"] * 4
        assert server.requests == 2  # two repetitions
        assert dict(client.counts) == {"cached": 4}


def test_the_key_of_an_answer_is_its_content(tmp_path):
    with SimulatedEndpoint(judge_numbers()) as server:
        for settings in (
            None,
            CompletionSettings(fields={"temperature": 0.5}),
            CompletionSettings("json"),
        ):
            with client_of(server.url, tmp_path, settings=settings) as client:
                client.ask(*PAIR)
        with client_of(server.url, tmp_path) as client:
            client.ask(Prompt(PAIR[0].system + " New guidelines.", PAIR[0].user), PAIR[1])
        assert server.requests == 4


def test_two_processes_do_not_share_a_cache(tmp_path):
    with AnswerCache(tmp_path / "answers.db"), pytest.raises(StoreError, match="another process"):
        AnswerCache(tmp_path / "answers.db")
    AnswerCache(tmp_path / "answers.db").close()


def test_a_cache_is_private_and_names_what_is_wrong(tmp_path):
    with AnswerCache(tmp_path / "answers.db") as cache:
        number = cache.begin_call("k", "c", Spending(1, 10, 5))
        cache.end_call(number, "answered", 0.1, Spending(1, 8, 2), CachedAnswer("yes", "small"))
    for name in ("answers.db", "answers.db.lock"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    (tmp_path / "broken.db").write_bytes(b"not a database, but long enough to be read as one" * 30)
    with pytest.raises(StoreError, match=r"broken\.db"):
        AnswerCache(tmp_path / "broken.db")
    with pytest.raises(StoreError, match="cannot be opened"):
        AnswerCache(tmp_path / "missing" / "answers.db")
    AnswerCache(tmp_path / "answers.db").close()


def test_a_call_on_its_way_is_counted_as_lost(tmp_path):
    with AnswerCache(tmp_path / "answers.db") as cache:
        cache.begin_call("k", "c", Spending(1, 10, 5))
        assert cache.outcomes("c") == {"lost": 1}
        assert cache.spending("c") == Spending(1, 10, 5)
        assert cache.spending("another") == Spending()


# --- replies of every kind


def test_faults_are_repeated_until_there_is_an_answer(tmp_path):
    model = judge_numbers(faults=dict.fromkeys(EVERY_FAULT, 0.06), seed=3)
    rules = CallRules(asks=12, retries=12)
    with (
        SimulatedEndpoint(model, key=KEY) as server,
        client_of(server.url, tmp_path, rules=rules) as client,
    ):
        answers = [client.ask(*PAIR, repetition=i) for i in range(100)]
        assert {answer.value for answer in answers} == {"A"}
        assert set(server.faults) == set(EVERY_FAULT)
        outcomes = client.cache.outcomes("m")
    assert outcomes.pop("answered") == 100
    assert outcomes == {
        "rate limited": server.faults["rate limited"],
        "server error": server.faults["server error"],
        "cut off": server.faults["cut off"],
        "malformed": server.faults["no JSON"] + server.faults["not a completion"],
        "unreadable": server.faults["wrong words"] + server.faults["wrong choice"],
        "other model": server.faults["other model"],
    }


def test_a_slow_reply_is_given_up(tmp_path):
    model = judge_numbers(faults={"slow": 1.0})
    rules = CallRules(seconds=0.1, retries=1)
    with SimulatedEndpoint(model) as server, client_of(server.url, tmp_path, rules=rules) as client:
        with pytest.raises(EndpointError, match=r"no reply within 0\.1 seconds"):
            client.ask(*PAIR)
        assert client.cache.outcomes("m") == {"slow": 2}


@pytest.mark.parametrize("fault", ["wrong words", "wrong choice", "other model"])
def test_what_cannot_be_read_is_asked_again_then_counted_never_guessed(tmp_path, fault):
    model = judge_numbers(faults={fault: 1.0})
    with SimulatedEndpoint(model) as server, client_of(server.url, tmp_path) as client:
        assert client.ask(*PAIR).value is None
        assert client.ask(*PAIR).value is None  # not asked again in this run
        assert server.requests == 3
        assert client.counts["unanswered"] == 1
        with sqlite3.connect(tmp_path / "answers.db") as file:
            assert file.execute("SELECT count(*) FROM answers").fetchone() == (0,)


def test_a_wrong_key_ends_at_once_and_is_shown_nowhere(tmp_path):
    with SimulatedEndpoint(judge_numbers(), key="another") as server:
        with client_of(server.url, tmp_path) as client, pytest.raises(EndpointError) as caught:
            client.ask(*PAIR)
        assert server.requests == 1
    assert "check the key" in str(caught.value)
    assert KEY not in repr(caught.value)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_reply_in_pieces_has_no_more_time():
    def drip(listener, piece, ended):
        connection, _ = listener.accept()
        end = time.monotonic() + 2.0
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not ended.wait(0.05) and time.monotonic() < end:
                connection.sendall(piece)

    for piece in (b"X-Header: value\r\n", b"\r\n"):  # headers without an end; a body without an end
        ended = threading.Event()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=drip, args=(listener, piece, ended))
            thread.start()
            start = time.monotonic()
            endpoint = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", "small")
            with pytest.raises(
                FailedExchangeError, match=r"no reply within 0\.3 seconds"
            ) as caught:
                exchange(endpoint, {}, 0.3)
            assert time.monotonic() - start < 1.5
            ended.set()
            thread.join()
        assert caught.value.problem == "slow"


class Scripted(http.server.BaseHTTPRequestHandler):
    """Sends the bytes `raw` of its class, and adds what it receives to `received`."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).received.append((self.path, dict(self.headers), body))
        self.wfile.write(self.raw)
        self.close_connection = True

    def log_message(self, *args):
        pass


@contextmanager
def scripted(raw):
    """The address of a server that answers every request with these bytes; what it received."""
    handler = type("OneAnswer", (Scripted,), {"raw": raw, "received": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", handler.received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def reply(status, body=b"", headers=()):
    lines = [f"HTTP/1.0 {status} X", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def test_a_redirect_is_not_followed_and_never_carries_the_key():
    with scripted(reply(200, b"{}")) as (elsewhere, stolen):
        location = f"Location: {elsewhere}/chat/completions"
        for status in (301, 302, 303, 307, 308):
            with scripted(reply(status, headers=[location])) as (url, _):
                with pytest.raises(EndpointError, match=r"redirects to '127\.0\.0\.1'") as caught:
                    exchange(Endpoint(url, "small", ApiKey(KEY)), {}, 5)
                assert not isinstance(caught.value, FailedExchangeError)
                assert KEY not in str(caught.value)
        assert stolen == []


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (reply(200, b'{"a": 1'), "malformed"),
        (reply(200, b'{"a": 1', ["Content-Length: 50"]), "cut off"),
        (reply(200, b"[1]"), "malformed"),
        (reply(200, b'{"a": 1e999}'), "malformed"),
        (reply(200, b"\xff"), "malformed"),
        (reply(200, b"[" * 100_000), "malformed"),
        (b"", "cut off"),
        (b"SSH-2.0\r\n", "cut off"),
        (reply(429, headers=["Retry-After: 7"]), "rate limited"),
        (reply(503), "server error"),
        (reply(400, b'{"error": {"message": "too long"}}'), "refused"),
        (reply(200, b" " * (4 << 20) + b"12"), "too large"),
    ],
)
def test_every_wrong_reply_has_a_name(raw, problem):
    with scripted(raw) as (url, _), pytest.raises(FailedExchangeError) as caught:
        exchange(Endpoint(url, "small"), {}, 5)
    assert caught.value.problem == problem
    assert caught.value.wait == (7.0 if problem == "rate limited" else None)


def test_an_error_that_shows_the_key_is_scrubbed():
    body = json.dumps({"error": {"message": f"Incorrect key: {KEY}\n\x1b[31mgo"}}).encode()
    with scripted(reply(401, body)) as (url, received):
        with pytest.raises(EndpointError) as caught:
            exchange(Endpoint(url, "small", ApiKey(KEY)), {"model": "small"}, 5)
        assert received[0][1]["Authorization"] == f"Bearer {KEY}"
    assert "Incorrect key: [key]" in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_long_error_is_cut_after_it_is_scrubbed():
    body = json.dumps({"error": {"message": "x" * 180 + " " + KEY + "y" * 90}}).encode()
    with scripted(reply(401, body)) as (url, _), pytest.raises(EndpointError) as caught:
        exchange(Endpoint(url, "small", ApiKey(KEY)), {}, 5)
    assert "x" * 180 + " [key]" in str(caught.value)
    assert KEY[:6] not in str(caught.value)
    assert "y" * 15 not in str(caught.value)


@pytest.mark.parametrize(
    "location", [f"https://{KEY}.example.org/", f"https://{KEY.upper()}", "//["]
)
def test_a_redirect_does_not_show_the_key(location):
    key = KEY.replace("secret", "Secret")
    with (
        scripted(reply(302, headers=[f"Location: {location}"])) as (url, _),
        pytest.raises(EndpointError, match="redirects to") as caught,
    ):
        exchange(Endpoint(url, "small", ApiKey(key)), {}, 5)
    assert KEY not in str(caught.value).lower()


def test_the_name_of_a_model_does_not_show_the_key(tmp_path):
    message = {"role": "assistant", "content": '{"better": "A"}'}
    body = {"model": "small-20241022", "choices": [{"message": message}]}
    with (
        scripted(reply(200, json.dumps(body).encode())) as (url, received),
        client_of(url, tmp_path, key="20241022") as client,
    ):
        answers = [client.ask(*PAIR) for _ in range(2)]
    assert [answer.model for answer in answers] == ["small-[key]"] * 2
    assert len(received) == 1


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(FailedExchangeError, match="cannot be reached") as caught:
        exchange(Endpoint(f"http://127.0.0.1:{port}", "small"), {}, 5)
    assert caught.value.problem == "unreachable"


@pytest.mark.parametrize("host", ["a..b", "a" * 70 + ".example.org"])
def test_a_host_that_cannot_be(host):
    with pytest.raises(FailedExchangeError, match="cannot be reached: Unicode") as caught:
        exchange(Endpoint(f"https://{host}/v1", "small"), {}, 5)
    assert caught.value.problem == "unreachable"


def test_an_endpoint_that_refuses_everything_stops_the_run(tmp_path):
    with scripted(reply(400, b'{"error": "no schema here"}')) as (url, received):
        with (
            client_of(url, tmp_path) as client,
            pytest.raises(EndpointError, match="no schema here"),
        ):
            assert [client.ask(*PAIR, repetition=i).value for i in range(10)] == []
        assert len(received) == 5


def test_a_long_wait_ends_the_run(tmp_path):
    with scripted(reply(429, headers=["Retry-After: 7200"])) as (url, received):
        with (
            client_of(url, tmp_path) as client,
            pytest.raises(EndpointError, match="7,200 seconds"),
        ):
            client.ask(*PAIR)
        assert len(received) == 1


def test_a_request_has_the_schema_and_the_settings():
    body = CompletionSettings(fields={"temperature": None, "top_p": 0.5}).body("small", *PAIR, 2)
    assert (
        body["response_format"]["json_schema"]["schema"]
        == AnswerSchema("better", ("A", "B", "tie", "bad")).json_schema
    )
    assert (body["seed"], body["top_p"], "temperature" in body) == (2, 0.5, False)
    with pytest.raises(UsageError, match="'messages'"):
        CompletionSettings(fields={"messages": []})
