"""The header of a version: comments above its rules that say who saved it, when and why."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass

from podium.errors import UsageError

KEYS = ("author", "email", "time", "reason", "base", "action", "from", "until")
MAX_TEXT = 1_000
"""Characters of a name or a reason."""


@dataclass(frozen=True)
class Author:
    """A person who saves rules."""

    name: str
    email: str = ""

    def __post_init__(self) -> None:
        if not one_line(self.name):
            raise UsageError("expected the name of an author, got none")


@dataclass(frozen=True)
class VersionHeader:
    """Who saved a version, when, why, and from which version it was made.

    Parameters
    ----------
    author, email, time, reason
        As written; the time is ISO 8601 in UTC. All are empty for a file without a header.
    base
        The revision that was changed, such as ``12-0ab34cd5``.
    action
        What made the version, such as ``save`` or ``rollback to 9``.
    starts, ends
        For a scheduled draft: ``from`` and ``until``, ISO 8601.
    """

    author: str = ""
    email: str = ""
    time: str = ""
    reason: str = ""
    base: str = ""
    action: str = ""
    starts: str = ""
    ends: str = ""

    def lines(self, title: str) -> str:
        """Return the header as comments of YAML.

        Examples
        --------
        >>> print(VersionHeader("Ann", reason="c3 is sold out").lines("version 12"), end="")
        # podium rules, version 12
        # author: Ann
        # reason: c3 is sold out
        """
        values = zip(KEYS, self._values(), strict=True)
        lines = [f"# {key}: {one_line(value)}" for key, value in values if one_line(value)]
        return "\n".join([f"# podium rules, {one_line(title)}", *lines, ""])

    def _values(self) -> tuple[str, ...]:
        return (
            self.author, self.email, self.time, self.reason, self.base, self.action, self.starts, self.ends
        )  # fmt: skip

    def is_active(self, now: datetime.datetime) -> bool:
        """Return whether a scheduled draft is served at a time; a draft without ``from`` never is."""
        if not self.starts:
            return False
        return moment(self.starts) <= now and (not self.ends or now < moment(self.ends))


def split_header(text: str) -> tuple[VersionHeader, str]:
    """Return the header of a version's text, and the text below it.

    Examples
    --------
    >>> header, body = split_header(VersionHeader("Ann").lines("version 1") + "version: 1\\nrules: []\\n")
    >>> header.author, body
    ('Ann', 'version: 1\\nrules: []\\n')
    """
    if not text.startswith("# podium rules, "):
        return VersionHeader(), text
    values: dict[str, str] = {}
    first, *lines = text.split("\n")
    n_lines = 1
    for line in lines:
        key, separator, value = line.removeprefix("# ").partition(": ")
        if not line.startswith("# ") or not separator or key not in KEYS or key in values:
            break
        values[key] = value
        n_lines += 1
    body = "\n".join([first, *lines][n_lines:])
    return VersionHeader(*(values.get(key, "") for key in KEYS)), body


def one_line(text: str) -> str:
    """Return text on one line, without control characters, cut to a limit."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * MAX_TEXT])
    return " ".join(plain.split())[:MAX_TEXT]


def moment(text: str) -> datetime.datetime:
    """Return the time that ISO 8601 text names; UTC unless it says otherwise."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"expected a date or a time such as 2026-11-27T09:00+01:00, got {text!r:.100}"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def time_text(time: datetime.datetime) -> str:
    """Return a time as versions and the audit log have it.

    Examples
    --------
    >>> time_text(datetime.datetime(2026, 11, 19, 4, 5, tzinfo=datetime.UTC))
    '2026-11-19T04:05:00Z'
    """
    return f"{time.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def digest(text: str) -> str:
    """Return the beginning of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
