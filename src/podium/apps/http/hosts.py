"""Host names that a server answers to.

A page of another site can let its own name lead to 127.0.0.1 (DNS rebinding). A browser then takes this
server for that site and lets the page read all answers. The header Host still has the name of that site.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from urllib.parse import urlsplit

from podium.errors import UsageError

ANY_HOST = "*"
_IN_BRACKETS = re.compile(r"\[[^\]]*\](:\d*)?")


class AllowedHosts:
    """The host names by which a server may be asked, with any port.

    Requests that arrive at a loopback address must name this machine (localhost, 127.0.0.1, [::1], its own
    name), or a host from either list. Requests at other addresses are checked only if `names` has some.

    Parameters
    ----------
    names
        Names from the settings; ``*`` allows all.
    own
        Names that the server is known by, such as that of its base URL.

    Examples
    --------
    >>> hosts = AllowedHosts()
    >>> hosts.allows("127.0.0.1", "localhost:8000"), hosts.allows("127.0.0.1", "evil.example.org:8000")
    (True, False)
    >>> hosts.allows("192.168.0.7", "shop.example.org")
    True
    """

    def __init__(self, names: tuple[str, ...] = (), own: tuple[str, ...] = ()) -> None:
        own = (*own, "localhost", socket.gethostname())  # no other site can have these
        self._names = {host_name(name) for name in (*names, *own)}
        self._checks_all, self._allows_all = bool(names), ANY_HOST in names
        self.allows = lru_cache(1024)(self._allows)

    def _allows(self, server: str, host: str) -> bool:
        """Return whether a request may name this host, at this address of the server."""
        if self._allows_all or not (self._checks_all or is_loopback(server)):
            return True
        name = host_name(host)
        return name is not None and (name in self._names or is_loopback(name))


def host_name(host: str) -> str | None:
    """Return the name in a header Host, in small letters and without its port; None if it is malformed.

    Examples
    --------
    >>> host_name("Shop.example.org.:8000"), host_name("[::1]:8000"), host_name("::1"), host_name("a/b")
    ('shop.example.org', '::1', '::1', None)
    """
    text = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
    if text.startswith("[") and not _IN_BRACKETS.fullmatch(text):
        return None  # urlsplit would leave out what follows the brackets
    try:
        parts = urlsplit(f"//{text}")
        _ = parts.port  # raises if it is no number
    except ValueError:
        return None
    is_plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return parts.hostname.rstrip(".") if is_plain and parts.hostname else None


def is_loopback(address: str) -> bool:
    """Return whether an address is one of this machine alone."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(
        parsed, "ipv4_mapped", None
    )  # before Python 3.13 such an address is never loopback
    return (mapped or parsed).is_loopback


def check_host_name(name: str) -> None:
    """Raise if a setting is neither a host name nor ``*``."""
    if name != ANY_HOST and host_name(name) is None:
        raise UsageError(
            f"expected the name of a host, such as shop.example.org, got {name!r:.100}"
        )
