"""What is served, read from files, and read again when they change; what cannot be read changes nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from podium.apps.serving.models import ModelFile, Models, model_files
from podium.apps.serving.rules import ServedRules
from podium.apps.serving.samples import Samples, demo_samples, read_samples
from podium.apps.serving.settings import ServingSettings
from podium.errors import CorruptFileError, DataError, PodiumError
from podium.postranking import Finding, Rule, examine_rules, read_fields
from podium.postranking.checking import locate_finding
from podium.postranking.rules.files import RuleFile, read_rule_file

Signature = tuple[int, ...]

_UNREADABLE = (PodiumError, OSError, MemoryError)


@dataclass(frozen=True, eq=False)
class State:
    """All that requests are answered from; replaced as a whole, so that each request sees one of them."""

    models: Models
    book: ServedRules
    samples: Samples
    reasons: tuple[str, ...] = ()
    """Why files as they are now could not be taken."""
    warning: str = ""
    """Which hard rules of the rule file clash, where one of them gives way."""


class Source:
    """A file, what was read from it last, and why it could not be read since.

    In the folder `kept` it has a copy of what was read last, for a worker that is begun while the file
    itself is broken.
    """

    def __init__(
        self, what: str, path: str, read: Callable[[str], Any], kept: str | None = None
    ) -> None:
        self.what, self.path, self._read = what, path, read
        self.value: Any = None
        self.reason: str | None = None
        self._seen: Signature | None = None
        # Endings of names say what a file is.
        own = f"{hashlib.sha256(f'{what} {path}'.encode()).hexdigest()[:16]}-{Path(path).name}"
        self._kept = None if kept is None else Path(kept) / own

    def begin(self) -> None:
        """Read the file, or else its copy; raise where there is neither."""
        try:
            self.load()
        except _UNREADABLE as error:
            if self._kept is None or not self._kept.exists():
                raise
            self.value, self.reason = self._read(str(self._kept)), self._told(error)

    def load(self) -> None:
        """Read the file, or raise."""
        self._seen = signature(self.path)
        value = self._read(self.path)
        with self._copying() as keep:
            if signature(self.path) != self._seen:
                raise CorruptFileError("expected a whole file, got one that is being written")
            keep()
        self.value, self.reason = value, None

    @contextmanager
    def _copying(self) -> Iterator[Callable[[], object]]:
        """Copy the file; what is given makes the copy the one that is kept."""
        if self._kept is None:
            yield lambda: None
            return
        copy = self._kept.with_name(f"{os.getpid()}-{self._kept.name}")
        shutil.copyfile(self.path, copy)
        try:
            yield lambda: os.replace(copy, self._kept or copy)
        finally:
            copy.unlink(missing_ok=True)

    def refresh(self, always: bool) -> bool | None:
        """Read a file that has changed: whether that went well, None where it was not tried."""
        if not always and signature(self.path) == self._seen:
            return None
        before = self.reason
        try:
            self.load()
        except PodiumError as error:
            self.reason = self._told(error)
        except (OSError, MemoryError) as error:
            self.reason = self._told(error)
            self._seen = None  # trouble of the system may pass without a change of the file
            if self.reason == before:
                return None
        return self.reason is None

    def _told(self, error: Exception) -> str:
        """What is wrong, without the folder."""
        if isinstance(error, OSError):
            return f"{self.what}: cannot read {Path(self.path).name}: {error.strerror or 'no such file'}"
        text = " ".join(str(error).split()).replace(self.path, Path(self.path).name)
        return f"{self.what}: {text}"


class Shelf:
    """Models, rules, fields and samples, from the files of some settings."""

    def __init__(self, settings: ServingSettings) -> None:
        self._models = [
            Source(f"model {file.name}", file.path, _loader(file), settings.kept)
            for file in model_files(settings.models)
        ]
        self._rules = _source("rules", settings.rules, served_rules, settings.kept)
        self._fields = _source("docs", settings.docs, read_fields, settings.kept)
        self._samples = _source("samples", settings.samples, read_samples, settings.kept)
        self._lock = Lock()
        for source in self.sources:
            source.begin()
        self.state = self._state()

    @property
    def sources(self) -> list[Source]:
        """Every file."""
        others = (self._rules, self._fields, self._samples)
        return [*self._models, *(source for source in others if source is not None)]

    def refresh(self, always: bool = False) -> dict[str, bool]:
        """Read what has changed, or everything; says of what was read whether it was taken."""
        with self._lock:
            tried = {source.what: source.refresh(always) for source in self.sources}
            found = {what: taken for what, taken in tried.items() if taken is not None}
            if found:
                self.state = self._state()
            return found

    def _state(self) -> State:
        models = Models(tuple(source.value for source in self._models))
        rules, warning = (None, "") if self._rules is None else self._rules.value
        fields = None if self._fields is None else self._fields.value
        reasons = (source.reason for source in self.sources)
        samples = demo_samples() if self._samples is None else self._samples.value
        served = ServedRules(rules, fields)
        return State(models, served, samples, tuple(filter(None, reasons)), warning)


class CheckedRules(NamedTuple):
    """The rules of a file, and a line on hard rules that clash, where one of them gives way."""

    rules: tuple[Rule, ...]
    warning: str


def served_rules(path: str) -> CheckedRules:
    """Read a rule file; raise where hard rules can never hold together and priorities do not decide."""
    file = read_rule_file(path)
    if file.errors:
        raise file.errors[0]
    clashes = _hard_clashes(file)
    for clash in clashes:
        if clash.level == "error":
            line, message = locate_finding(clash, file)
            advice = (
                "`podium rules check` finds every conflict; change or remove one of the rules, or give "
                "one a lower priority"
            )
            raise DataError(
                f"expected hard rules that can hold together, got {message}; {advice}",
                path=path,
                line=line,
            )
    return CheckedRules(file.rules, _warning(clashes, file, Path(path).name))


def _hard_clashes(file: RuleFile) -> list[Finding]:
    """Find the hard rules of a file that cannot hold together on any list with their documents."""
    hard = [number for number, rule in enumerate(file.rules) if rule.hard]
    findings = examine_rules([file.rules[number] for number in hard])
    return [
        replace(finding, rules=tuple(hard[number] for number in finding.rules))
        for finding in findings
        if finding.level == "error" or finding.message.startswith("cannot hold")
    ]


def _warning(clashes: Sequence[Finding], file: RuleFile, name: str) -> str:
    """Return one line on the first clash, with the number of others."""
    if not clashes:
        return ""
    line, message = locate_finding(clashes[0], file)
    others = len(clashes) - 1
    more = f"; `podium rules check` lists {others} more" if others else ""
    return f"{name}:{line}: {message}{more}"


def _loader(file: ModelFile) -> Callable[[str], Any]:
    return lambda path: replace(file, path=path).load()


def _source(
    what: str, path: str | None, read: Callable[[str], Any], kept: str | None
) -> Source | None:
    return None if path is None else Source(what, path, read, kept)


def signature(path: str) -> Signature | None:
    """What changes when a file does; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
