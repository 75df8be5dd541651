"""Rate limits (429): how often each client may do something, in bounded memory."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache

from podium.apps.http.refusals import Refusal

MAX_CLIENTS = 10_000
"""The largest number of remembered clients; beyond it, the least recent client is forgotten."""

BURST_SECONDS = 10
"""A burst may have the requests of this many seconds: browsers load a page with all its files at once."""


@lru_cache(4096)
def client_name(address: str) -> str:
    """Return the name that a client is counted by: an IPv4 address, or the first 64 bits of an IPv6 address.

    A home or a phone has a whole network of 64 bits, so its addresses count as one.

    Examples
    --------
    >>> client_name("192.0.2.7"), client_name("::ffff:192.0.2.7"), client_name("2001:db8::1")
    ('192.0.2.7', '192.0.2.7', '2001:db8::')
    """
    try:
        parsed = _unmapped(address.partition("%")[0])
    except ValueError:
        return address  # what a proxy says
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)).network_address)


def _unmapped(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; an IPv4 address that is mapped to IPv6 (``::ffff:192.0.2.7``) becomes IPv4."""
    parsed = ipaddress.ip_address(address)
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return parsed if mapped is None else mapped


class ProxyAddresses:
    """Addresses and networks of proxies that are trusted."""

    def __init__(self, proxies: Sequence[str]) -> None:
        self._networks = [ipaddress.ip_network(proxy) for proxy in proxies]

    def has(self, address: str) -> bool:
        """Return whether an address is that of a proxy."""
        try:
            parsed = _unmapped(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)


class Allowance:
    """How often each client may do something: `burst` times at once, `per_second` times in the long run.

    The allowance keeps one number per client: the time at which its allowance is full again (the generic
    cell rate algorithm). A client that waits long enough can use its whole burst again.

    Parameters
    ----------
    per_second, burst
        As above; with 0 per second there is no limit.
    max_clients
        Clients that are remembered.
    clock
        Returns the time in seconds; tests replace it.

    Examples
    --------
    >>> allowance = Allowance(0.5, 2)
    >>> allowance.take("ann"), allowance.take("ann"), round(allowance.take("ann")), allowance.take("bob")
    (0.0, 0.0, 2, 0.0)
    """

    def __init__(
        self,
        per_second: float,
        burst: float,
        max_clients: int = MAX_CLIENTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = 1 / per_second if per_second else 0.0
        self._slack = (max(burst, 1) - 1) * self._interval
        self._max_clients, self._clock = max_clients, clock
        self._paid_at: OrderedDict[str, float] = OrderedDict()

    def take(self, client: str) -> float:
        """Return how many seconds a client must wait; 0 means that the request is allowed and counted."""
        if not self._interval:
            return 0.0
        now = self._clock()
        paid_at = max(self._paid_at.get(client, now), now)
        seconds = paid_at - self._slack - now
        if seconds > 0:
            return seconds
        self._paid_at[client] = paid_at + self._interval
        self._paid_at.move_to_end(client)
        if len(self._paid_at) > self._max_clients:
            self._paid_at.popitem(last=False)
        return 0.0

    def __len__(self) -> int:
        """Return how many clients are remembered."""
        return len(self._paid_at)


def request_allowance(per_second: float) -> Allowance:
    """Return the allowance for requests."""
    return Allowance(per_second, per_second * BURST_SECONDS)


def wrong_try_allowance(per_minute: int) -> Allowance:
    """Return the allowance for wrong tokens or links: those of a minute at once, then one by one."""
    return Allowance(per_minute / 60, per_minute)


def retry_seconds(wait: float) -> int:
    """Return whole seconds for the header Retry-After."""
    return max(1, math.ceil(wait))


def too_many_requests(wait: float) -> Refusal:
    """Return 429 for a client that asks too often."""
    seconds = retry_seconds(wait)
    message = f"expected fewer requests from this address; try again after {seconds} s"
    return Refusal(429, "too_many_requests", message, retry_seconds=seconds)
