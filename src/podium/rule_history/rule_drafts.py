"""Drafts of a rule folder: changed rule sets that are not served, or only from one time until another."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podium.data.atomic_files import atomic_writer, make_folder, sync_folder
from podium.errors import DataError, UsageError
from podium.rule_history.rule_folder import EditConflictError, RuleFolder
from podium.rule_history.version_header import (
    Author,
    VersionHeader,
    digest,
    moment,
    one_line,
    split_header,
    time_text,
)

DRAFT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
MAX_DRAFTS = 500


@dataclass(frozen=True)
class RuleDraft:
    """A draft: its name, its header and its rules as text; `header.base` is the version it changes."""

    name: str
    header: VersionHeader
    text: str

    @property
    def revision(self) -> str:
        """The beginning of the SHA-256 of the draft."""
        return digest(f"{self.header}{self.text}")[:8]


class RuleDrafts:
    """The drafts of a folder, as files `drafts/NAME.yaml`.

    Examples
    --------
    >>> import tempfile
    >>> drafts = RuleDrafts(RuleFolder(tempfile.mkdtemp()))
    >>> header = VersionHeader(base="0-12345678", starts="2026-11-27", ends="2026-11-28")
    >>> draft = drafts.save("friday", header, "version: 1\\nrules: []\\n", Author("Ann"))
    >>> draft.header.is_active(moment("2026-11-27T12:00")), draft.header.is_active(moment("2026-11-28"))
    (True, False)
    """

    def __init__(self, folder: RuleFolder) -> None:
        self.rules = folder
        self.folder = folder.folder / "drafts"

    def names(self) -> list[str]:
        """Return the names of all drafts."""
        if not self.folder.is_dir():
            return []
        names = (
            name.removesuffix(".yaml") for name in os.listdir(self.folder) if name.endswith(".yaml")
        )
        return sorted(name for name in names if DRAFT_NAME.fullmatch(name))

    def read(self, name: str) -> RuleDraft:
        """Return a draft; raises if there is none."""
        _check_name(name)
        try:
            text = (self.folder / f"{name}.yaml").read_bytes().decode()
        except FileNotFoundError:
            raise UsageError(f"expected a draft, got {name!r}; {self._list()}") from None
        except UnicodeDecodeError:
            raise DataError("expected UTF-8 text", path=f"drafts/{name}.yaml") from None
        return RuleDraft(name, *split_header(text))

    def save(
        self,
        name: str,
        header: VersionHeader,
        text: str,
        author: Author,
        *,
        revision: str = "",
        changes: Sequence[dict[str, Any]] = (),
    ) -> RuleDraft:
        """Write a draft; `revision` is the one that is changed, empty for a new draft."""
        _check_name(name)
        _check_period(header)
        with self.rules.locked():
            self._check_revision(name, revision)
            if not revision and len(self.names()) >= MAX_DRAFTS:
                raise UsageError(f"expected at most {MAX_DRAFTS} drafts; remove some first")
            now = time_text(datetime.datetime.now(datetime.UTC))
            whole = VersionHeader(
                author.name, author.email, now, one_line(header.reason), header.base, "draft",
                header.starts, header.ends,
            )  # fmt: skip
            make_folder(self.folder)
            with atomic_writer(self.folder / f"{name}.yaml") as write:
                write(f"{whole.lines(f'draft {name}')}{text}".encode())
            period = {"from": header.starts, "until": header.ends}
            self._log(
                whole, "draft saved", name, changes=list(changes), sha256=digest(text), **period
            )
            return RuleDraft(name, whole, text)

    def remove(self, name: str, author: Author, *, revision: str, reason: str = "") -> None:
        """Remove a draft; the audit log has the entry first."""
        with self.rules.locked():
            self._check_revision(name, revision)
            now = time_text(datetime.datetime.now(datetime.UTC))
            header = VersionHeader(author.name, author.email, now, reason)
            self._log(header, "draft removed", name)
            (self.folder / f"{name}.yaml").unlink()
            sync_folder(self.folder)

    def scheduled(self, now: datetime.datetime) -> list[RuleDraft]:
        """Return the drafts that are served now, the first to begin first."""
        active = [draft for draft in map(self.read, self.names()) if is_active(draft, now)]
        return sorted(active, key=lambda draft: (moment(draft.header.starts), draft.name))

    def _check_revision(self, name: str, revision: str) -> None:
        exists = name in self.names()
        current = self.read(name).revision if exists else ""
        if current != revision:
            who = (
                f"{self.read(name).header.author or 'somebody'} changed"
                if exists
                else "somebody removed"
            )
            raise EditConflictError(f"{who} the draft {name!r} since; load it again")

    def _log(self, header: VersionHeader, action: str, name: str, **more: Any) -> None:
        entry = {"time": header.time, "editor": header.author, "action": action, "draft": name}
        self.rules.audit.append({**entry, "base": header.base, "reason": header.reason, **more})

    def _list(self) -> str:
        return f"there are {', '.join(self.names()[:10]) or 'none'}"


def is_active(draft: RuleDraft, now: datetime.datetime) -> bool:
    """Return whether a draft is served now; one whose times cannot be read is not."""
    try:
        return draft.header.is_active(now)
    except UsageError:
        return False


def _check_name(name: str) -> None:
    if not DRAFT_NAME.fullmatch(name):
        raise UsageError(
            f"expected a name of letters, digits, _ and -, at most 60, got {name!r:.100}"
        )


def _check_period(header: VersionHeader) -> None:
    if header.ends and not header.starts:
        raise UsageError("expected from together with until, got until alone")
    if header.starts and header.ends and moment(header.ends) <= moment(header.starts):
        raise UsageError(f"expected until after from, got {header.starts} to {header.ends}")
    if header.starts:
        moment(header.starts)
