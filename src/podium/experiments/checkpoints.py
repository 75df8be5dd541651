"""Checkpoints of long runs: finished parts are kept as files, so that a killed run can continue."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from podium import kernels
from podium.data.atomic_files import atomic_writer, make_folder
from podium.experiments.parallel_tasks import run_tasks
from podium.typing import Path_

Result = TypeVar("Result")

CHECKPOINT_START = b'{"fingerprint":'
"""How the file of a part begins."""


@dataclass(frozen=True)
class CheckpointStore(Generic[Result]):
    """The finished parts of a run in a folder, one JSON file per part.

    Each file has a fingerprint of everything that the part depends on. A truncated file, or one
    with another fingerprint, is ignored. Without a folder nothing is kept.

    Examples
    --------
    >>> import tempfile
    >>> store = CheckpointStore(Path(tempfile.mkdtemp()) / "cells", dict[str, float])
    >>> store.save("ranksvm", "of these settings", {"NDCG@10": 0.5})
    >>> store.load("ranksvm", "of these settings"), store.load("ranksvm", "of others")
    ({'NDCG@10': 0.5}, None)
    """

    folder: Path_ | None
    kind: Any
    """The type of a part: dataclasses, tuples and mappings of plain values."""

    def load(self, name: str, fingerprint: str) -> Result | None:
        """Return the part of this name and fingerprint, or None."""
        if self.folder is None:
            return None
        try:
            content = msgspec.json.decode(self._path(name).read_bytes())
            if content["fingerprint"] != fingerprint:
                return None
            part: Result = msgspec.convert(content["piece"], self.kind)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
            return None
        return part

    def save(self, name: str, fingerprint: str, part: Result) -> None:
        """Write a part, all or nothing."""
        if self.folder is None:
            return
        make_folder(self.folder)
        with atomic_writer(self._path(name)) as write:
            write(msgspec.json.encode({"fingerprint": fingerprint, "piece": part}))

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        file_name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
        if file_name != name or len(name) > 80 or name.startswith("."):
            file_name = (
                f"{file_name[:60].lstrip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
            )
        return Path(self.folder) / f"{file_name}.json"


def is_checkpoint(path: Path) -> bool:
    """Whether a file is a part that a store wrote, by its first bytes; it may be truncated."""
    try:
        with path.open("rb") as file:
            return CHECKPOINT_START.startswith(file.read(len(CHECKPOINT_START)))
    except OSError:
        return False


@dataclass(frozen=True)
class RunProgress:
    """The number of finished parts of a run, and the last finished part."""

    done: int
    total: int
    what: str


ProgressCallback = Callable[[RunProgress], object]
"""A function that is called after each part."""


def run_or_load(
    work: Mapping[str, Any],
    store: CheckpointStore[Result],
    prints: str | Mapping[str, str],
    n_jobs: int = 1,
    callback: ProgressCallback | None = None,
) -> dict[str, Result]:
    """Return the result of each of joblib's delayed tasks: loaded from the store, or run and stored.

    Parameters
    ----------
    work
        The tasks by the names of their parts.
    prints
        A fingerprint of everything that the parts depend on, one for all parts or one per name: see
        `cache_key`.
    callback
        Called after each part that is run.

    Examples
    --------
    >>> from joblib import delayed
    >>> reports = []
    >>> run_or_load({"two": delayed(abs)(-2)}, CheckpointStore(None, int), "", callback=reports.append)
    {'two': 2}
    >>> reports
    [RunProgress(done=1, total=1, what='two')]
    """
    print_of = dict.fromkeys(work, prints) if isinstance(prints, str) else prints
    loaded = {name: store.load(name, print_of[name]) for name in work}
    parts: dict[str, Result] = {name: part for name, part in loaded.items() if part is not None}
    remaining = {name: task for name, task in work.items() if name not in parts}
    for name, part in run_tasks(remaining, n_jobs):
        parts[name] = part
        store.save(name, print_of[name], part)
        if callback is not None:
            callback(RunProgress(len(parts), len(work), name))
    return {name: parts[name] for name in work}


def fingerprint(values: object) -> str:
    """Return the SHA-256 of plain values as JSON, with sorted keys."""
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def cache_key(dependencies: object) -> str:
    """Return the fingerprint of what parts depend on, including versions and kernels."""
    versions = [version(name) for name in ("podium-ltr", "numpy", "scipy", "lightgbm")]
    return fingerprint([*versions, kernels.BACKEND, dependencies])
