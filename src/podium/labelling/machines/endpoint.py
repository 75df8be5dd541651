"""Endpoint: the address of a machine, the model to ask, and the key, which nothing ever shows."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit, urlunsplit

from podium.errors import UsageError

KEY_VARIABLE = "PODIUM_MACHINE_KEY"
"""The environment variable of the key; keys come from nowhere else."""

COMPLETIONS_PATH = "/chat/completions"
"""The path of the interface below the base address, as most servers of models have it."""


class ApiKey:
    """A key that no text shows: not its repr, no error and no file.

    Parameters
    ----------
    value
        The key: printable ASCII without blanks, as a header needs it.

    Examples
    --------
    >>> key = ApiKey("sk-123456")
    >>> key, key.scrub("wrong key sk-123456")
    (ApiKey(hidden), 'wrong key [key]')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not value or not all("!" <= character <= "~" for character in value):
            raise UsageError(
                f"expected a key of printable ASCII characters without blanks, got {len(value)} "
                "characters of another kind; check the variable that holds it"
            )
        self._value = value

    def __repr__(self) -> str:
        return "ApiKey(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled: it stays in the process that read it")

    @property
    def authorization(self) -> str:
        """The value of the header Authorization."""
        return f"Bearer {self._value}"

    def scrub(self, text: str) -> str:
        """Return a text without the key, in large or small letters."""
        # Without case, because hosts are read in small letters.
        return re.sub(re.escape(self._value), "[key]", text, flags=re.IGNORECASE)


def read_key(
    variable: str = KEY_VARIABLE, environment: Mapping[str, str] | None = None
) -> ApiKey | None:
    """Return the key in a variable of the environment; None if it is not set.

    Examples
    --------
    >>> read_key("MY_KEY", {"MY_KEY": "sk-1"}), read_key("MY_KEY", {})
    (ApiKey(hidden), None)
    """
    value = (os.environ if environment is None else environment).get(variable, "").strip()
    return ApiKey(value) if value else None


@dataclass(frozen=True)
class Endpoint:
    """A server of models with an OpenAI-compatible interface (chat completions).

    Parameters
    ----------
    url
        The base address, such as ``https://api.example.org/v1``, or the address of the completions. It
        must be https, except on loopback.
    model
        The name of the model.
    key
        The key, or None.

    Examples
    --------
    >>> Endpoint("http://127.0.0.1:8080/v1", "small").url
    'http://127.0.0.1:8080/v1/chat/completions'
    >>> Endpoint("http://models.example.org/v1", "small")
    Traceback (most recent call last):
    podium.errors.UsageError: expected an endpoint with https://, except on this machine, got \
'http://models.example.org/v1'
    """

    url: str
    model: str
    key: ApiKey | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        parts = _split(self.url)
        path = parts.path.rstrip("/")
        if not path.endswith(COMPLETIONS_PATH):
            path += COMPLETIONS_PATH
        whole = urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        object.__setattr__(self, "url", whole)
        if not self.model or len(self.model) > 200 or not self.model.isprintable():
            raise UsageError(f"expected the name of a model, got {self.model!r:.60}")

    @property
    def host(self) -> str:
        """The host, for messages."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether texts stay on this machine."""
        return is_loopback(self.host)

    def scrub(self, text: str) -> str:
        """Return a text without the key."""
        return text if self.key is None else self.key.scrub(text)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("127.example.org")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult:
    """Return the parts of a checked address; messages never show what stands before an @."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise UsageError("expected the address of an endpoint, got one that is malformed") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"expected an address without a password, got one for {host!r}; keys come from the "
            f"environment variable {KEY_VARIABLE}"
        )
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or " " in url:
        raise UsageError(f"expected an address such as https://HOST/v1, got {url!r:.80}")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(
            f"expected an endpoint with https://, except on this machine, got {url!r:.80}"
        )
    return parts
