"""Reload: files that the service reads again when they change; an invalid file changes nothing."""

from __future__ import annotations

import datetime
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from podium.apps.serving.checked_rules import CheckedRules, read_served_rules
from podium.apps.serving.editing.editors_file import Editors, read_editors
from podium.apps.serving.experiment_file import Experiment, read_experiment_file
from podium.apps.serving.model_arguments import ModelFile, model_files
from podium.apps.serving.postranking import ServedRules
from podium.apps.serving.samples import Samples, demo_samples, read_samples
from podium.apps.serving.served_models import ServedModels
from podium.apps.serving.settings import ServingSettings
from podium.errors import CorruptFileError, DataError, PodiumError
from podium.postranking import read_fields
from podium.rule_history.live_rules import live_rules, live_signature
from podium.rule_history.rule_folder import RuleFolder

Signature = tuple[object, ...]

_READ_ERRORS = (PodiumError, OSError, MemoryError)


@dataclass(frozen=True, eq=False)
class ServedState:
    """The data that answers requests. It is replaced as a whole, so that each request sees one state."""

    models: ServedModels
    rules: ServedRules
    samples: Samples
    reasons: tuple[str, ...] = ()
    """Why the current files cannot be used."""
    warnings: tuple[str, ...] = ()
    experiment: Experiment | None = None
    swap: float = 0.0
    """Rules that clash, or name documents or fields that no file has; documents that --docs lacks."""
    editors: Editors | None = None


class ServedFile:
    """A file, what was read from it last, and why it could not be read since.

    Parameters
    ----------
    title
        What people call it, such as ``model shop``.
    path
        The path of the file.
    read
        Returns the contents of a file.
    copies_folder
        A folder for a copy of the last valid file; a worker that starts while the file is broken reads it.
    """

    def __init__(
        self, title: str, path: str, read: Callable[[str], Any], copies_folder: str | None = None
    ) -> None:
        self.title, self.path, self._read = title, path, read
        self.value: Any = None
        self.reason: str | None = None
        self._signature: Signature | None = None
        # Endings of names say what a file is.
        digest = hashlib.sha256(f"{title} {path}".encode()).hexdigest()[:16]
        self._copy = (
            None if copies_folder is None else Path(copies_folder) / f"{digest}-{Path(path).name}"
        )

    def start(self) -> None:
        """Read the file, or else its copy; raise if there is neither."""
        try:
            self.load()
        except _READ_ERRORS as error:
            if self._copy is None or not self._copy.exists():
                raise
            self.value, self.reason = self._read(str(self._copy)), self._explain(error)

    def sign(self) -> Signature | None:
        """Return values that differ if the contents change; None if there is no file."""
        return signature(self.path)

    def write_copy(self, path: Path) -> None:
        """Write the contents to a file."""
        shutil.copyfile(self.path, path)

    def load(self) -> None:
        """Read the file, or raise."""
        self._signature = self.sign()
        value = self._read(self.path)
        with self._copying() as keep_copy:
            if self.sign() != self._signature:
                raise CorruptFileError("expected a whole file, got one that is being written")
            keep_copy()
        self.value, self.reason = value, None

    @contextmanager
    def _copying(self) -> Iterator[Callable[[], object]]:
        """Copy the file beside its last copy; the function that this yields replaces the last copy."""
        if self._copy is None:
            yield lambda: None
            return
        last_copy = self._copy
        new_copy = last_copy.with_name(f"{os.getpid()}-{last_copy.name}")
        self.write_copy(new_copy)
        try:
            yield lambda: os.replace(new_copy, last_copy)
        finally:
            new_copy.unlink(missing_ok=True)

    def refresh(self, always: bool) -> bool | None:
        """Read a changed file; return whether it is valid, or None if it was not read."""
        if not always and self.sign() == self._signature:
            return None
        last_reason = self.reason
        try:
            self.load()
        except PodiumError as error:
            self.reason = self._explain(error)
        except (OSError, MemoryError) as error:
            self.reason = self._explain(error)
            self._signature = None  # a system error may go away without a change of the file
            if self.reason == last_reason:
                return None
        return self.reason is None

    def _explain(self, error: Exception) -> str:
        """Return what is wrong, without the folder."""
        name = Path(self.path).name
        if isinstance(error, OSError):
            return f"{self.title}: cannot read {name}: {error.strerror or 'no such file'}"
        text = " ".join(str(error).split()).replace(self.path, name)
        return f"{self.title}: {text}"


class ServedRuleFolder(ServedFile):
    """The newest version in a folder of rules, with the drafts that are scheduled for now."""

    def sign(self) -> Signature | None:
        """Return values that differ if other rules are served."""
        return live_signature(RuleFolder(self.path), _now())

    def write_copy(self, path: Path) -> None:
        """Write the rules that are served to a file."""
        path.write_text(live_rules(RuleFolder(self.path), _now()).text, encoding="utf-8")


class ServedFiles:
    """Models, rules, fields and samples, from the files of some settings."""

    def __init__(self, settings: ServingSettings) -> None:
        folder = settings.copies_folder
        self._models = [
            ServedFile(f"model {file.name}", file.path, _loader(file), folder)
            for file in model_files(settings.models)
        ]
        self._rules = _rules_source(settings, folder)
        read_docs = partial(read_fields, decimal=settings.decimal, thousands=settings.thousands)
        self._fields = _optional_file("docs", settings.docs, read_docs, folder)
        self._samples = _optional_file("samples", settings.samples, read_samples, folder)
        self._experiment = _optional_file(
            "experiment", settings.experiment, self._read_experiment, folder
        )
        self._editors = _optional_file("editors", settings.editors, read_editors, folder)
        self._swap, self._classes = settings.swap, settings.classes
        self._lock = Lock()
        for file in self.files:
            file.start()
        self.state = self._make_state()

    @property
    def files(self) -> list[ServedFile]:
        """Every file."""
        others = (self._rules, self._fields, self._samples, self._experiment, self._editors)
        return [*self._models, *(file for file in others if file is not None)]

    def refresh(self, always: bool = False) -> dict[str, bool]:
        """Read changed files, or all files; return for each file that was read whether it is valid."""
        with self._lock:
            results = {file.title: file.refresh(always) for file in self.files}
            reloads = {
                title: is_valid for title, is_valid in results.items() if is_valid is not None
            }
            if reloads:
                self.state = self._make_state()
            return reloads

    def _read_experiment(self, path: str) -> Experiment:
        """Read the experiment; raise if it names a model that is not served."""
        last = None if self._experiment is None else self._experiment.value
        experiment = read_experiment_file(path, last)
        models = ServedModels(tuple(file.value for file in self._models))
        for served in experiment.served:
            if models.get(served) is None:
                names = ", ".join(f"{model.name}@{model.version}" for model in models.models)
                raise DataError(
                    f"expected models that are served ({names or 'none'}), got {served!r}",
                    path=path,
                )
        return experiment

    def _make_state(self) -> ServedState:
        models = ServedModels(tuple(file.value for file in self._models))
        fields = None if self._fields is None else self._fields.value
        checked: CheckedRules | None = None if self._rules is None else self._rules.value
        reasons = (file.reason for file in self.files)
        samples = demo_samples() if self._samples is None else self._samples.value
        rules = None if checked is None else checked.file.rules
        served_rules = ServedRules(rules, fields, self._classes)
        served_rules.store.build_index()  # now, and not in the time of a request
        return ServedState(
            models,
            served_rules,
            samples,
            tuple(filter(None, reasons)),
            () if checked is None else checked.warnings(fields, samples),
            None if self._experiment is None else self._experiment.value,
            self._swap,
            None if self._editors is None else self._editors.value,
        )


def _rules_source(settings: ServingSettings, copies_folder: str | None) -> ServedFile | None:
    """Return the rule file of the settings, or the folder of versions."""
    path = settings.rules
    read = partial(read_served_rules, classes=settings.classes)
    if path is None or not (os.path.isdir(path) or settings.editors is not None):
        return _optional_file("rules", path, read, copies_folder)
    RuleFolder(path)  # makes a folder that does not exist yet
    return ServedRuleFolder("rules", path, read, copies_folder)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _loader(file: ModelFile) -> Callable[[str], Any]:
    return lambda path: replace(file, path=path).load()


def _optional_file(
    title: str, path: str | None, read: Callable[[str], Any], copies_folder: str | None
) -> ServedFile | None:
    return None if path is None else ServedFile(title, path, read, copies_folder)


def signature(path: str) -> Signature | None:
    """Return values that differ if a file changes; None if the file does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
