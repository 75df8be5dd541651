"""A folder of rules: numbered versions that never change, drafts, and an audit log.

The newest version is the one that is served. `rules.yaml` is version 0: what is served before the first
save. A version appears whole or not at all, by one hard link, so of two saves at once one is first.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.data.atomic_files import create_once, lock_within, make_folder
from podium.errors import DataError, UsageError
from podium.postranking.rules.files import parse_rules, rule_records
from podium.rule_history.audit_log import AuditLog
from podium.rule_history.git_commits import commit_versions, is_work_tree
from podium.rule_history.rule_changes import RuleRecord, rule_changes
from podium.rule_history.version_header import (
    Author,
    VersionHeader,
    digest,
    one_line,
    split_header,
    time_text,
)
from podium.typing import Path_

VERSION_NAME = re.compile(r"([0-9]{6,9})\.yaml")
FIRST_NAME = "rules.yaml"
LOCK_NAME, AUDIT_NAME = ".podium.lock", "audit.ndjson"
LOCK_SECONDS = 5.0
MAX_CHANGES = 1_000
"""Changed rules in one entry of the audit log."""


class EditConflictError(UsageError):
    """A save that was made from another revision than the newest one."""


@dataclass(frozen=True)
class RuleVersion:
    """A version: its number, its header and its rules as text."""

    number: int
    header: VersionHeader
    text: str

    @property
    def revision(self) -> str:
        """The number and the beginning of the SHA-256 of the rules."""
        return f"{self.number}-{digest(self.text)[:8]}"


class RuleFolder:
    """Versions of a rule set in a folder, which several processes may read and change.

    Parameters
    ----------
    folder
        The folder; it is made if it does not exist.
    """

    def __init__(self, folder: Path_) -> None:
        self.folder = Path(folder)
        make_folder(self.folder)
        self.audit = AuditLog(self.folder / AUDIT_NAME)

    # --- reading ---

    def numbers(self) -> list[int]:
        """Return the numbers of all versions, the oldest first."""
        names = os.listdir(self.folder)
        numbers = [int(match[1]) for match in map(VERSION_NAME.fullmatch, names) if match]
        first = [0] if FIRST_NAME in names else []
        return sorted({*first, *(number for number in numbers if number)})

    def newest_number(self) -> int:
        """Return the number of the version that is served; 0 if there is none."""
        return max(self.numbers(), default=0)

    def path(self, number: int) -> Path:
        """Return the path of a version."""
        return self.folder / (f"{number:06}.yaml" if number else FIRST_NAME)

    def version(self, number: int) -> RuleVersion:
        """Return a version; version 0 without `rules.yaml` has no rules."""
        try:
            text = self.path(number).read_bytes().decode()  # line ends stay as they are
        except FileNotFoundError:
            if number:
                raise UsageError(f"expected a version of the rules, got {number}") from None
            text = "version: 1\nrules: []\n"
        except UnicodeDecodeError:
            raise DataError("expected UTF-8 text", path=str(self.path(number))) from None
        return RuleVersion(number, *split_header(text))

    def newest(self) -> RuleVersion:
        """Return the version that is served."""
        return self.version(self.newest_number())

    def revision(self) -> str:
        """Return the revision that is served, such as ``12-0ab34cd5``."""
        return self.newest().revision

    def rules_at(self, revision: str) -> RuleVersion | None:
        """Return the version of a revision; None if its file was changed by hand since."""
        number, _, _ = revision.partition("-")
        if not number.isascii() or not number.isdigit() or len(number) > 9:
            raise UsageError(f"expected a revision such as 12-0ab34cd5, got {revision!r:.100}")
        version = self.version(int(number))
        return version if version.revision == revision else None

    # --- writing ---

    def save(
        self,
        text: str,
        author: Author,
        reason: str = "",
        *,
        base: str,
        action: str = "save",
        changes: Sequence[dict[str, Any]] = (),
        now: datetime.datetime | None = None,
    ) -> RuleVersion:
        """Write the next version and its entry of the audit log; raises EditConflictError.

        Parameters
        ----------
        text
            The text of a rule file, checked by the caller.
        base
            The revision that was changed; it must be the newest one.
        action
            What makes the version, for its header and the audit log.
        changes
            The changed rules, for the audit log.
        """
        with self.locked():
            self.complete_audit()
            newest = self.newest()
            if base != newest.revision:
                raise EditConflictError(
                    f"expected a change of the newest rules ({newest.revision}), got one of {base:.50}"
                )
            moment = time_text(now or datetime.datetime.now(datetime.UTC))
            header = VersionHeader(
                author.name, author.email, moment, one_line(reason), base, action
            )
            number = newest.number + 1
            whole = header.lines(f"version {number}") + text
            if not create_once(self.path(number), whole.encode()):
                raise EditConflictError(f"version {number} was just written by hand; load it first")
            version = RuleVersion(number, header, text)
            self.audit.append(self._entry(version, changes))
            self._commit()
            return version

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from changing the folder."""
        file = os.open(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o640)
        try:
            lock_within(file, LOCK_SECONDS)
            yield
        finally:
            os.close(file)

    def recover(self) -> None:
        """Add what a killed save did not reach: entries of the audit log and commits."""
        with self.locked():
            self.complete_audit()
            self._commit()

    def complete_audit(self) -> None:
        """Add entries for versions without one: a save was killed, or a file was put here by hand."""
        last = next((entry for entry in self.audit.newest() if "version" in entry), None)
        logged = last["version"] if last else -1
        if last and logged == self.newest_number():
            version = self.version(logged)
            if digest(version.text) != last["sha256"]:
                self.audit.append({**self._entry(version, ()), "action": "changed by hand"})
        for number in self.numbers():
            if number > logged:
                version = self.version(number)
                before = self.version(number - 1) if number - 1 in self.numbers() else None
                changes = _changes_between(before, version) if version.header.author else ()
                self.audit.append(self._entry(version, changes))

    def _entry(self, version: RuleVersion, changes: Sequence[dict[str, Any]]) -> dict[str, Any]:
        header = version.header
        return {
            "time": header.time or time_text(datetime.datetime.now(datetime.UTC)),
            "editor": header.author or "(by hand)",
            "action": header.action or "added by hand",
            "version": version.number,
            "base": header.base,
            "reason": header.reason,
            "sha256": digest(version.text),
            "changes": list(changes[:MAX_CHANGES]),
        }

    def _commit(self) -> None:
        """Commit versions that git does not track, if the folder lies in a work tree."""
        if not is_work_tree(self.folder):
            return
        wrong = commit_versions(self.folder, VERSION_NAME, [AUDIT_NAME])
        if wrong:
            moment = time_text(datetime.datetime.now(datetime.UTC))
            self.audit.append(
                {"time": moment, "editor": "", "action": "commit failed", "reason": wrong}
            )


def _changes_between(before: RuleVersion | None, after: RuleVersion) -> list[dict[str, Any]]:
    """Return the changed rules of two versions; none if one of them cannot be read."""
    try:
        old = records_of(before.text) if before else []
        return [change.record() for change in rule_changes(old, records_of(after.text))]
    except DataError:
        return []


def records_of(text: str, name: str = "rules.yaml") -> list[RuleRecord]:
    """Return the rules of a file's text as records."""
    return [*rule_records(parse_rules(text, name))]


def count_changes(changes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many rules were added, removed and changed.

    Examples
    --------
    >>> count_changes([{"change": "added"}, {"change": "added"}])
    {'added': 2}
    """
    return dict(Counter(change["change"] for change in changes))
