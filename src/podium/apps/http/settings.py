"""Access settings of both web apps: trusted hosts and proxies, and how often a client may send requests."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from podium.apps.http.hosts import check_host_name
from podium.errors import UsageError


@dataclass(frozen=True)
class AccessSettings:
    """Settings of both web apps about their clients.

    A client is an IPv4 address or an IPv6 network of 64 bits.

    Parameters
    ----------
    allowed_hosts
        Host names that requests may use, besides localhost; ``*`` allows all. Without any, names are
        checked only on loopback.
    trusted_proxies
        Addresses or networks of proxies; their headers X-Forwarded-For and X-Forwarded-Proto are believed.
    client_connections
        Connections that one client may have at the same time, at most half of all; 0: half of all.
    client_requests
        Requests per second that one client may make in the long run, ten times as many at once; 0: no limit.
    wrong_tries
        Wrong tokens or links per minute that one client may try; 0: no limit.

    Examples
    --------
    >>> AccessSettings(trusted_proxies=("10.0.0.0/8",)).client_connections
    2000
    """

    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    client_connections: int = 2_000
    client_requests: float = 500.0
    wrong_tries: int = 30

    def __post_init__(self) -> None:
        for name in ("client_connections", "client_requests", "wrong_tries"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"expected {name} of 0 or more, got {getattr(self, name)}")
        for host in self.allowed_hosts:
            check_host_name(host)
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise UsageError(
                    "expected the address of a proxy, such as 10.0.0.7, or a network, such as 10.0.0.0/8, "
                    f"got {proxy!r:.100}"
                ) from None
