"""The gate of both web apps: it checks the rate, the headers and the host of each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.apps.http.hosts import AllowedHosts
from podium.apps.http.rate_limits import client_name, request_allowance, too_many_requests
from podium.apps.http.refusals import Refusal
from podium.apps.http.settings import AccessSettings

MAX_HEADERS = 100
"""The largest number of headers in a request; browsers send about 20."""

SINGLE_HEADERS = frozenset(
    {
        b"authorization", b"content-encoding", b"content-length", b"content-type", b"cookie", b"host",
        b"origin", b"sec-fetch-site", b"transfer-encoding", b"x-podium-token",
    }
)  # fmt: skip
"""Headers that may occur only once: with two of them, a proxy may have checked the other one."""


class Gate:
    """Checks how often a client sends requests, under which host name, and that no header is repeated.

    Parameters
    ----------
    settings
        See AccessSettings.
    own_hosts
        Host names of the server.
    """

    def __init__(self, settings: AccessSettings, own_hosts: tuple[str, ...] = ()) -> None:
        self._requests = request_allowance(settings.client_requests)
        self._hosts = AllowedHosts(settings.allowed_hosts, own_hosts)

    def check(self, scope: Mapping[str, Any]) -> None:
        """Raise a Refusal if a check fails: 429, 431, 400 or 421."""
        wait = self._requests.take(client_of(scope))
        if wait:
            raise too_many_requests(wait)
        _check_headers(scope["headers"])
        self._check_host(scope)

    def _check_host(self, scope: Mapping[str, Any]) -> None:
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        server = scope.get("server") or ("", None)
        if not self._hosts.allows(server[0], host[:300].decode("latin-1")):
            name = host[:100].decode("latin-1")
            raise Refusal(
                421,
                "wrong_host",
                f"expected a host name of this server (header Host), got {name!r}; "
                "start the server with --allowed-host NAME to allow another name",
            )


def client_of(scope: Mapping[str, Any]) -> str:
    """Return the name of the client; all clients of a Unix socket count as one."""
    client = scope.get("client")
    return client_name(client[0][:64]) if client else ""


def _check_headers(headers: list[tuple[bytes, bytes]]) -> None:
    if len(headers) > MAX_HEADERS:
        message = f"expected at most {MAX_HEADERS} headers, got {len(headers):,}"
        raise Refusal(431, "too_many_headers", message)
    names = [name for name, _ in headers]
    if len(set(names)) == len(names):
        return
    repeated = sorted(name for name in SINGLE_HEADERS if names.count(name) > 1)
    if repeated:
        message = f"expected the header {repeated[0].decode().title()} once, got it several times"
        raise Refusal(400, "repeated_header", message)
