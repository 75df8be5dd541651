"""Files of editors: who may save rules, by the hash of a token or by the user name of a proxy."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.apps.http.rate_limits import ProxyAddresses
from podium.data.atomic_files import atomic_writer
from podium.errors import DataError
from podium.postranking.rules.plain_yaml import YamlList, YamlMapping, parse_yaml
from podium.rule_history import Author
from podium.typing import Path_

MAX_EDITORS = 1_000
HASH = re.compile(r"sha256:[0-9a-f]{64}")
HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
EDITOR_KEYS = ("name", "email", "token", "user")
PROXY_KEYS = ("header", "addresses")
FIRST_LINES = "version: 1\neditors:\n"


@dataclass(frozen=True)
class Editor:
    """A person who may save rules.

    Parameters
    ----------
    author
        Name and address, for versions, the audit log and commits.
    token
        ``sha256:`` and the SHA-256 of the token; empty if the editor has none.
    user
        The name that a proxy sends; empty if no proxy signs the editor in.
    """

    author: Author
    token: str = ""
    user: str = ""


@dataclass(frozen=True, eq=False)
class Editors:
    """All editors, and the proxy whose header with a user name is believed."""

    editors: tuple[Editor, ...]
    header: bytes = b""
    addresses: tuple[str, ...] = ()

    def with_token(self, token: bytes) -> Editor | None:
        """Return the editor with a token, in a time that does not depend on the token."""
        own = hash_token(token)
        result = None
        for editor in self.editors:
            if hmac.compare_digest(own, editor.token or "-" * len(own)):
                result = editor
        return result

    def with_user(self, user: str, peer: str) -> Editor | None:
        """Return the editor that a proxy names; None if the connection does not come from the proxy."""
        if not user or not ProxyAddresses(self.addresses).has(peer):
            return None
        return next((editor for editor in self.editors if editor.user == user), None)


def hash_token(token: bytes) -> str:
    """Return a token as files of editors have it."""
    return f"sha256:{hashlib.sha256(token).hexdigest()}"


def read_editors(path: Path_) -> Editors:
    """Read a file of editors; raises DataError with the line of what is wrong."""
    return EditorsReader(str(path), Path(path).read_bytes()).editors()


def add_editor(path: Path_, name: str, email: str = "", user: str = "") -> str:
    """Add an editor to a file, which is made if it does not exist; return the new token.

    An editor with a `user` is signed in by a proxy and has no token; the result is then empty.
    """
    file = Path(path)
    token = "" if user else secrets.token_urlsafe(32)
    old = file.read_bytes().decode() if file.exists() else FIRST_LINES
    values = {
        "name": name,
        "email": email,
        "user": user,
        "token": token and hash_token(token.encode()),
    }
    entry = [f"{key}: {quoted(value)}" for key, value in values.items() if value]
    lines = old.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if line.rstrip() == "editors:"), None)
    if at is None:
        raise DataError("expected a line `editors:` with a list below it", path=str(path))
    lines.insert(at + 1, "  - " + "\n    ".join(entry) + "\n")
    text = "".join(lines)
    EditorsReader(str(path), text.encode()).editors()
    with atomic_writer(file) as write:
        write(text.encode())
    return token


def quoted(text: str) -> str:
    """Return text between single quotes, as YAML has it."""
    return "'" + text.replace("'", "''") + "'"


class EditorsReader:
    """Reads the entries of a file of editors."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        tree = parse_yaml(data, path)
        if not isinstance(tree, YamlMapping):
            raise DataError("expected version: 1 and a list under editors:", path=path, line=1)
        self.tree = tree

    def error(self, message: str, line: int | None) -> DataError:
        """Return an error with its place."""
        return DataError(message, path=self.path, line=line)

    def editors(self) -> Editors:
        """Return the editors of the file."""
        self._check_keys(self.tree, ("version", "editors", "proxy"))
        if self.tree.get("version") != "1":
            raise self.error("expected version: 1", self.tree.lines.get("version", 1))
        entries = self.tree.get("editors")
        if not isinstance(entries, YamlList) or not entries or len(entries) > MAX_EDITORS:
            line = self.tree.lines.get("editors", 1)
            raise self.error(f"expected a list of 1 to {MAX_EDITORS:,} editors", line)
        header, addresses = self._proxy()
        editors = tuple(self._editor(entry, bool(header)) for entry in entries)
        self._check_unique(editors)
        return Editors(editors, header.lower().encode(), addresses)

    def _editor(self, entry: Any, has_proxy: bool) -> Editor:
        if not isinstance(entry, YamlMapping):
            raise self.error("expected an editor as a mapping with name and token", None)
        self._check_keys(entry, EDITOR_KEYS)
        values = {key: entry.get(key, "") for key in EDITOR_KEYS}
        for key, value in values.items():
            if not isinstance(value, str) or len(value) > 300:
                raise self.error(f"expected text for {key}", entry.lines.get(key, entry.line))
        if not values["name"].strip():
            raise self.error("expected a name", entry.lines.get("name", entry.line))
        if values["token"] and not HASH.fullmatch(values["token"]):
            raise self.error(
                "expected token: sha256: and 64 hexadecimal digits; `podium rules editor` writes it",
                entry.lines["token"],
            )
        if bool(values["token"]) == bool(values["user"]):
            raise self.error("expected a token, or a user of the proxy", entry.line)
        if values["user"] and not has_proxy:
            raise self.error("expected proxy: with header and addresses for a user", entry.line)
        return Editor(Author(values["name"], values["email"]), values["token"], values["user"])

    def _proxy(self) -> tuple[str, tuple[str, ...]]:
        """Return the header with the user name, and the addresses from which it is believed."""
        entry = self.tree.get("proxy")
        if entry is None:
            return "", ()
        line = self.tree.lines["proxy"]
        if not isinstance(entry, YamlMapping):
            raise self.error("expected proxy: with header and addresses", line)
        self._check_keys(entry, PROXY_KEYS)
        header, addresses = entry.get("header"), entry.get("addresses")
        if not isinstance(header, str) or not HEADER_NAME.fullmatch(header):
            raise self.error("expected the name of a header, such as X-Forwarded-User", line)
        if not isinstance(addresses, YamlList) or not addresses:
            raise self.error("expected a list of addresses, such as [10.0.0.7]", line)
        for address in addresses:
            try:
                ipaddress.ip_network(str(address))
            except ValueError:
                raise self.error(
                    f"expected an address or a network such as 10.0.0.0/8, got {address!r:.100}",
                    line,
                ) from None
        return header, tuple(map(str, addresses))

    def _check_keys(self, entry: YamlMapping, keys: tuple[str, ...]) -> None:
        for key in entry:
            if key not in keys:
                line = entry.lines.get(key)
                raise self.error(
                    f"unknown key {key!r:.100}; expected one of {', '.join(keys)}", line
                )

    def _check_unique(self, editors: tuple[Editor, ...]) -> None:
        for own in ("token", "user"):
            values = [value for editor in editors if (value := getattr(editor, own))]
            if len(set(values)) < len(values):
                raise self.error(f"expected each {own} once, got one twice", None)
        names = [editor.author.name for editor in editors]
        if len(set(names)) < len(names):
            raise self.error("expected each name once: the audit log names editors", None)
