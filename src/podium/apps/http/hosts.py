"""Host names that a server answers to.

Another site can point its own name to 127.0.0.1 (DNS rebinding). The browser then believes that this
server is that site and lets its page read all answers. But the header Host still has the site's name.
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
    """The host names that requests to a server may use, with any port.

    Requests that arrive at a loopback address must name this machine (localhost, 127.0.0.1, [::1], its own
    name), or a host from either list. Requests at other addresses are checked only if `names` has some.

    Parameters
    ----------
    names
        Names from the settings; ``*`` allows all.
    own
        Names of the server itself, such as that of its base URL.

    Examples
    --------
    >>> hosts = AllowedHosts()
    >>> hosts.allows("127.0.0.1", "localhost:8000"), hosts.allows("127.0.0.1", "evil.example.org:8000")
    (True, False)
    >>> hosts.allows("192.168.0.7", "shop.example.org")
    True
    """

    def __init__(self, names: tuple[str, ...] = (), own: tuple[str, ...] = ()) -> None:
        own = (*own, "localhost", socket.gethostname())  # no other site can have these names
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
        return None  # urlsplit would ignore text after the brackets
    try:
        parts = urlsplit(f"//{text}")
        _ = parts.port  # raises if it is no number
    except ValueError:
        return None
    is_plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return parts.hostname.rstrip(".") if is_plain and parts.hostname else None


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address."""
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
