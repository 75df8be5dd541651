"""What is served, read from files, and read again when they change; what cannot be read changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from podium.apps.serving.models import ModelFile, Models, model_files
from podium.apps.serving.rules import RuleBook
from podium.apps.serving.samples import Samples, demo_samples, read_samples
from podium.apps.serving.settings import ServingSettings
from podium.errors import CorruptFileError, PodiumError
from podium.postranking import read_fields, read_rules

Signature = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class State:
    """All that requests are answered from; replaced as a whole, so that each request sees one of them."""

    models: Models
    book: RuleBook
    samples: Samples
    reasons: tuple[str, ...] = ()
    """Why files as they are now could not be taken."""


class Source:
    """A file, what was read from it last, and why it could not be read since."""

    def __init__(self, what: str, path: str, read: Callable[[str], Any]) -> None:
        self.what, self.path, self._read = what, path, read
        self.value: Any = None
        self.reason: str | None = None
        self._seen: Signature | None = None

    def load(self) -> None:
        """Read the file, or raise."""
        self._seen = signature(self.path)
        self.value = self._read(self.path)
        if signature(self.path) != self._seen:
            raise CorruptFileError("expected a whole file, got one that is being written")
        self.reason = None

    def refresh(self, always: bool) -> bool | None:
        """Read a file that has changed: whether that went well, None where it was not tried."""
        if not always and signature(self.path) == self._seen:
            return None
        before = self.value
        try:
            self.load()
        except (PodiumError, OSError, MemoryError) as error:
            self.value, self.reason = before, self._told(error)
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
            Source(f"model {file.name}", file.path, _loader(file))
            for file in model_files(settings.models)
        ]
        self._rules = _source("rules", settings.rules, read_rules)
        self._fields = _source("docs", settings.docs, read_fields)
        self._samples = _source("samples", settings.samples, read_samples)
        self._lock = Lock()
        for source in self.sources:
            source.load()
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
        rules, fields = (
            None if source is None else source.value for source in (self._rules, self._fields)
        )
        reasons = (source.reason for source in self.sources)
        samples = demo_samples() if self._samples is None else self._samples.value
        return State(models, RuleBook(rules, fields), samples, tuple(filter(None, reasons)))


def _loader(file: ModelFile) -> Callable[[str], Any]:
    return lambda _: file.load()


def _source(what: str, path: str | None, read: Callable[[str], Any]) -> Source | None:
    return None if path is None else Source(what, path, read)


def signature(path: str) -> Signature | None:
    """What changes when a file does; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
