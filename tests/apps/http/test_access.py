"""Who may ask the web apps, by which host name, and how often."""

import asyncio
import contextlib
import json
import socket
from contextlib import contextmanager

import httpx
import pytest

from podium.apps.http.access_gate import MAX_HEADERS, SINGLE_HEADERS
from podium.apps.http.connections import ConnectionCounter, uvicorn_config
from podium.apps.http.hosts import AllowedHosts, host_name
from podium.apps.http.rate_limits import Allowance, ProxyAddresses, client_name
from podium.apps.http.settings import AccessSettings
from podium.apps.judging import JudgingSettings, make_app
from podium.errors import UsageError
from podium.labelling.store import Store
from tests.support.judging_client import SECRET, Browser, fill
from tests.support.judging_client import serving as judging
from tests.support.loopback_server import serve_in_thread
from tests.support.ranking_service import TOKEN, eventually, running, save, service


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save(tmp_path_factory.mktemp("models"))[1]


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


def ask(
    app, path="/healthz", client="192.0.2.1", server=("192.0.2.9", 80), headers=(), method="GET"
):
    """The status, the headers and the body of an ASGI app's answer; headers may come twice."""
    sent = []
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"podium"), *headers] if not _has_host(headers) else list(headers),
        "client": (client, 5), "server": server, "scheme": "http", "http_version": "1.1", "root_path": "",
    }  # fmt: skip

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body


def _has_host(headers):
    return any(name == b"host" for name, _ in headers)


def code(body):
    return json.loads(body)["error"]["code"]


@contextmanager
def judging_app(folder, **access):
    with Store.open(folder / "judgments.db") as store:
        fill(store)
        settings = JudgingSettings(access=AccessSettings(**access))
        yield make_app(store, secret=SECRET, settings=settings)


# Allowances.


def test_an_allowance_is_a_burst_and_a_rate():
    clock = Clock()
    allowance = Allowance(2, 5, clock=clock)
    assert [allowance.take("ann") for _ in range(5)] == [0.0] * 5
    assert allowance.take("ann") == pytest.approx(1 / 2)
    assert allowance.take("bob") == 0  # others have their own
    clock.now += 1 / 2
    assert allowance.take("ann") == 0
    assert allowance.take("ann") == pytest.approx(1 / 2)  # what was refused did not count
    clock.now += 5 / 2
    assert [allowance.take("ann") for _ in range(5)] == [0.0] * 5


def test_an_allowance_of_0_is_no_limit():
    allowance = Allowance(0, 0)
    assert {allowance.take("ann") for _ in range(1_000)} == {0.0}
    assert len(allowance) == 0


def test_memory_is_bounded():
    clock = Clock()
    allowance = Allowance(1, 1, 100, clock)
    for i in range(1_000):
        allowance.take(str(i))
    assert len(allowance) == 100
    assert allowance.take("999") == 1
    assert allowance.take("899") == 0  # forgotten


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::ffff", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("unix", "unix"),
    ],
)
def test_what_a_client_is_counted_by(address, name):
    assert client_name(address) == name


@pytest.mark.parametrize(
    ("address", "is_proxy"),
    [("10.1.2.3", True), ("::ffff:10.1.2.3", True), ("::ffff:192.0.2.7", False), ("unix", False)],
)
def test_proxies_of_an_ipv6_socket_are_trusted_too(address, is_proxy):
    assert ProxyAddresses(["10.0.0.0/8"]).has(address) is is_proxy


# Requests.


def test_the_service_limits_requests_of_a_client(model):
    app = service(model, access=AccessSettings(client_requests=0.1))  # at once: 10 * 0.1 = 1
    assert ask(app)[0] == 200
    status, headers, body = ask(app)
    assert (status, code(body)) == (429, "too_many_requests")
    assert 1 <= int(headers[b"retry-after"]) <= 10
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert ask(app, client="192.0.2.2")[0] == 200
    # Headers that anybody can send change nothing.
    assert ask(app, headers=[(b"x-forwarded-for", b"192.0.2.3")])[0] == 429


def test_the_judging_app_limits_requests_of_a_client(tmp_path):
    with judging_app(tmp_path, client_requests=0.1) as app:
        assert ask(app)[0] == 200
        status, headers, body = ask(app)
        assert (status, code(body)) == (429, "too_many_requests")
        assert 1 <= int(headers[b"retry-after"]) <= 10
        status, headers, body = ask(app, "/")  # people are told in words
        assert (status, b"Too many requests" in body) == (429, True)
        assert headers[b"x-frame-options"] == b"DENY"
        assert ask(app, client="192.0.2.2")[0] == 200


def test_defaults_suit_200_assessors_behind_one_address():
    access = AccessSettings()
    assert access.client_requests >= 200  # a judgment per second of each
    assert access.client_requests * 10 >= 200 * 20  # all of them open a page with its files at once
    assert access.client_connections >= 200 * 6  # a browser has 6 connections at most


# Headers.


@pytest.mark.parametrize("name", sorted(SINGLE_HEADERS))
def test_headers_that_come_twice_are_refused(model, tmp_path, name):
    twice = [(name, b"podium"), (name, b"podium")]
    with judging_app(tmp_path) as judging_:
        for app in (service(model), judging_):
            status, headers, body = ask(app, headers=twice)
            assert (status, code(body)) == (400, "repeated_header")
            assert name.decode().title() in json.loads(body)["error"]["message"]
            assert headers[b"x-content-type-options"] == b"nosniff"


def test_two_tokens_are_refused_though_one_is_right(model):
    app = service(model, token=TOKEN)
    right, wrong = (b"authorization", f"Bearer {TOKEN}".encode()), (b"authorization", b"Bearer x")
    assert ask(app, "/v1/models", headers=[right])[0] == 200
    for headers in ([right, wrong], [wrong, right], [right, right]):
        assert ask(app, "/v1/models", headers=headers)[0] == 400


def test_headers_that_may_come_twice_pass(model, tmp_path):
    several = [(b"x-forwarded-for", b"192.0.2.3"), (b"x-forwarded-for", b"192.0.2.4")]
    with judging_app(tmp_path) as judging_:
        assert [ask(app, headers=several)[0] for app in (service(model), judging_)] == [200, 200]


def test_too_many_headers_are_refused(model, tmp_path):
    with judging_app(tmp_path) as judging_:
        for app in (service(model), judging_):
            for n, status in ((MAX_HEADERS - 1, 200), (MAX_HEADERS, 431)):  # one more is Host
                assert ask(app, headers=[(b"x-%d" % i, b"") for i in range(n)])[0] == status


# Host names.


@pytest.mark.parametrize("server", ["127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True), ("LocalHost:8000", True), ("localhost.:80", True), ("127.0.0.1:1", True),
        ("[::1]", True), ("[::1]:8000", True), (socket.gethostname(), True), ("shop.example.org:81", True),
        ("evil.example.org", False), ("127.0.0.1.evil.example.org", False), ("localhost.evil.org", False),
        ("", False), ("192.168.0.1", False), ("localhost@evil.org", False), ("evil.org/localhost", False),
        ("localhost:x", False), ("[::1", False), ("[::1].evil.org", False), ("[::1]evil.org:80", False),
        ("localhost evil", False),
    ],
)  # fmt: skip
def test_on_loopback_only_own_names_are_answered(server, host, allowed):
    assert AllowedHosts(own=("shop.example.org",)).allows(server, host) is allowed


def test_at_other_addresses_names_are_checked_if_some_are_set():
    assert AllowedHosts().allows("192.168.0.7", "anything")
    hosts = AllowedHosts(("Shop.example.org", "[2001:db8::1]"))
    expected = {
        "shop.example.org:8000": True, "[2001:db8::1]:80": True, "localhost": True,
        "evil.example.org": False, "192.168.0.7": False,
    }  # fmt: skip
    assert {host: hosts.allows("192.168.0.7", host) for host in expected} == expected
    assert AllowedHosts(("*",)).allows("127.0.0.1", "evil.example.org")
    assert host_name("2001:db8::1") == "2001:db8::1"


def test_both_apps_refuse_foreign_names_on_loopback(model, tmp_path):
    with judging_app(tmp_path) as judging_:
        for app in (service(model), judging_):
            for host, status in ((b"localhost:1", 200), (b"evil.example.org", 421), (b"", 421)):
                found = ask(app, server=("127.0.0.1", 1), headers=[(b"host", host)])
                assert found[0] == status
            assert code(found[2]) == "wrong_host"
        status, _, body = ask(judging_, "/", server=("::1", 1))
        assert (status, b"This server has another name" in body) == (421, True)


def test_the_base_url_is_a_name_of_the_judging_app(tmp_path):
    settings = JudgingSettings(base_url="https://judge.example.org")
    with Store.open(tmp_path / "judgments.db") as store:
        app = make_app(store, secret=SECRET, settings=settings)
        for host, status in ((b"judge.example.org", 200), (b"evil.example.org", 421)):
            found = ask(app, server=("127.0.0.1", 1), headers=[(b"host", host)])
            assert found[0] == status


# Wrong tokens.


def bearer(token):
    return [(b"authorization", f"Bearer {token}".encode())]


def models_status(app, token, client="192.0.2.1"):
    return ask(app, "/v1/models", client, headers=bearer(token) if token else [])[0]


def test_wrong_tokens_are_limited_and_the_right_one_is_not(model):
    app = service(model, token=TOKEN, access=AccessSettings(wrong_tries=3))
    assert [models_status(app, f"wrong {i}") for i in range(5)] == [401, 401, 401, 429, 429]
    status, headers, body = ask(app, "/v1/models", headers=bearer("wrong"))
    assert (status, code(body)) == (429, "too_many_wrong_tokens")
    assert 1 <= int(headers[b"retry-after"]) <= 60 / 3
    assert models_status(app, TOKEN) == 200  # nobody behind the address is locked out
    assert models_status(app, "wrong") == 429
    assert models_status(app, "wrong", "192.0.2.2") == 401  # each address has its own tries
    assert ask(app)[0] == 200  # and /healthz is for everybody


def test_requests_without_a_token_are_no_tries(model):
    app = service(model, token=TOKEN, access=AccessSettings(wrong_tries=3))
    assert {models_status(app, "") for _ in range(10)} == {401}
    assert models_status(app, TOKEN) == 200


# Wrong links.


def test_wrong_links_are_limited_and_right_ones_are_not(tmp_path):
    with judging(tmp_path, access=AccessSettings(wrong_tries=3)) as (site, _):
        path = f"/enter/{site.links.token('ann', 'assessor')}"
        answers = [Browser(site).get(f"{path}{i}") for i in range(5)]
        assert [answer.status_code for answer in answers] == [403, 403, 403, 429, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60 / 3
        assert "from your network do not work" in answers[-1].text
        assert Browser(site).enter(path).status_code == 303


# Under uvicorn.


@contextmanager
def served(tmp_path, **access):
    """The judging app on loopback, as the command serves it."""
    with judging_app(tmp_path, **access) as app:
        config = uvicorn_config(app, access=AccessSettings(**access))
        with serve_in_thread(config) as address:
            yield address


def test_forwarded_addresses_are_believed_of_trusted_proxies_only(tmp_path):
    statuses = {}
    for proxies in ((), ("127.0.0.0/8",)):
        folder = tmp_path / str(len(proxies))
        folder.mkdir()
        with (
            served(folder, client_requests=0.1, trusted_proxies=proxies) as (host, port),
            httpx.Client(base_url=f"http://{host}:{port}", trust_env=False) as client,
        ):
            forwarded = ("192.0.2.1", "192.0.2.2", "192.0.2.2, 192.0.2.1")
            statuses[proxies] = [
                client.get("/healthz", headers={"X-Forwarded-For": address}).status_code
                for address in forwarded
            ]
    assert statuses == {(): [200, 429, 429], ("127.0.0.0/8",): [200, 200, 429]}


def is_closed(connection):
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_one_client_has_so_many_connections(tmp_path):
    with served(tmp_path, client_connections=5) as address, contextlib.ExitStack() as stack:
        open_ = [stack.enter_context(socket.create_connection(address, 5)) for _ in range(12)]
        eventually(lambda: sum(map(is_closed, open_)) == 12 - 5)
        for connection in open_:
            connection.close()
        url = f"http://{address[0]}:{address[1]}/healthz"
        eventually(lambda: _answers(url))


def _answers(url):
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(url, trust_env=False).status_code == 200
    return False


def test_connections_are_counted_by_client():
    clients = ConnectionCounter(AccessSettings(client_connections=2), max_connections=100)
    assert [clients.add("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert clients.add("192.0.2.2")
    for _ in range(2):
        clients.remove("192.0.2.1")
    assert clients.add("192.0.2.1")


def test_one_client_has_half_of_all_connections_at_most():
    for limit in (0, 1_000):
        clients = ConnectionCounter(AccessSettings(client_connections=limit), max_connections=10)
        assert [clients.add("192.0.2.1") for _ in range(6)] == [True] * 5 + [False]


def test_connections_of_a_proxy_are_everybody_s():
    access = AccessSettings(client_connections=1, trusted_proxies=("10.0.0.0/8",))
    clients = ConnectionCounter(access, max_connections=10)
    assert all(clients.add("10.0.0.7") for _ in range(20))
    clients.remove("10.0.0.7")


# The commands.


def test_the_service_as_a_process_keeps_to_its_options(model, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    options = [
        "--token-file",
        tmp_path / "token",
        "--wrong-tries",
        2,
        "--allowed-host",
        "shop.test",
    ]
    with (
        running(model, *options) as (_, address),
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        found = {
            host: client.get("/healthz", headers={"Host": host}).status_code
            for host in ("localhost", "shop.test:80", "evil.test")
        }
        assert found == {"localhost": 200, "shop.test:80": 200, "evil.test": 421}
        wrong = {"Authorization": "Bearer wrong"}
        tries = [client.get("/v1/models", headers=wrong).status_code for _ in range(3)]
        assert tries == [401, 401, 429]
        host, _, port = address.removeprefix("http://").partition(":")
        twice = f"Authorization: Bearer {TOKEN}\r\n" * 2
        with socket.create_connection((host, int(port)), 20) as connection:
            head = f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n{twice}\r\n"
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "wrong",
    [
        {"allowed_hosts": ("a/b",)}, {"allowed_hosts": ("",)}, {"trusted_proxies": ("proxy",)},
        {"trusted_proxies": ("10.0.0.1/8",)}, {"client_connections": -1}, {"client_requests": float("nan")},
        {"wrong_tries": -1},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(UsageError, match="expected"):
        AccessSettings(**wrong)
