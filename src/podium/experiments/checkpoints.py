"""Pieces of a long run side by side, each kept as a file when it is done: a killed run goes on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from podium import kernels
from podium.data.durability import make_folder
from podium.data.files import atomic_writer
from podium.errors import PodiumError

Piece = TypeVar("Piece")
DIED = "its process was killed, perhaps out of memory"


@dataclass(frozen=True)
class CheckpointStore(Generic[Piece]):
    """Finished pieces in a folder, one JSON file each, with a fingerprint of all they depend on.

    A file that is cut short, or whose fingerprint is another one, is as good as none.

    Examples
    --------
    >>> import tempfile
    >>> store = CheckpointStore(Path(tempfile.mkdtemp()) / "cells", dict[str, float])
    >>> store.save("ranksvm", "of these settings", {"NDCG@10": 0.5})
    >>> store.load("ranksvm", "of these settings"), store.load("ranksvm", "of others")
    ({'NDCG@10': 0.5}, None)
    """

    folder: Path | None
    kind: Any
    """The type of a piece: dataclasses, tuples and mappings of plain values."""

    def load(self, name: str, fingerprint: str) -> Piece | None:
        """The piece, if there is one with this fingerprint."""
        if self.folder is None:
            return None
        try:
            content = msgspec.json.decode(self._path(name).read_bytes())
            if content["fingerprint"] != fingerprint:
                return None
            piece: Piece = msgspec.convert(content["piece"], self.kind)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
            return None
        return piece

    def save(self, name: str, fingerprint: str, piece: Piece) -> None:
        """Write it, whole or not at all."""
        if self.folder is None:
            return
        make_folder(self.folder)
        with atomic_writer(self._path(name)) as write:
            write(msgspec.json.encode({"fingerprint": fingerprint, "piece": piece}))

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
        if plain != name or len(name) > 80 or name.startswith("."):
            plain = f"{plain[:60].lstrip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return self.folder / f"{plain}.json"


def side_by_side(
    tasks: Mapping[str, Any],
    n_jobs: int,
    starting: Callable[[str], object] | None = None,
    died: Callable[[str], Any] | None = None,
) -> Iterator[tuple[str, Any]]:
    """(name, result) of joblib's delayed tasks as they are done, in whatever order.

    `starting` is told the name of a task that is handed out. Where a process is killed, out of memory
    or by someone, what is left runs one task at a time, each in a process of its own; a task whose
    process is killed again comes to what `died` says of it, or to an error.

    Examples
    --------
    >>> from joblib import delayed
    >>> sorted(side_by_side({"two": delayed(abs)(-2), "three": delayed(abs)(-3)}, n_jobs=1))
    [('three', 3), ('two', 2)]
    """

    left = dict(tasks)

    def handed_out() -> Iterator[Any]:
        for name, task in tasks.items():
            if starting is not None:
                starting(name)
            yield delayed(_named)(name, task)

    try:
        # One task a process: who waits for its turn is not handed out yet.
        answers: Iterable[tuple[str, Any]] = _workers(n_jobs)(handed_out())
        for name, result in answers:
            del left[name]
            yield name, result
    except TerminatedWorkerError:
        for name, task in left.items():
            if starting is not None:
                starting(name)
            yield name, _alone(name, task, died)


def _alone(name: str, task: Any, died: Callable[[str], Any] | None) -> Any:
    """The result of a task in a process of its own."""
    with ProcessPoolExecutor(max_workers=1) as process:
        try:
            return process.submit(_named, name, task).result()[1]
        except TerminatedWorkerError:
            if died is None:
                raise PodiumError(f"{name} came to nothing: {DIED}; what is done is kept") from None
            return died(name)


def _named(name: str, task: Any) -> tuple[str, Any]:
    function, args, kwargs = task
    return name, function(*args, **kwargs)


def _workers(n_jobs: int) -> Any:
    settings = {"n_jobs": n_jobs, "batch_size": 1, "pre_dispatch": "n_jobs"}
    try:
        return Parallel(**settings, return_as="generator_unordered")
    except ValueError:  # a backend that gives all results at once
        return Parallel(**settings)


@dataclass(frozen=True)
class RunProgress:
    """How far a run is, and which piece of work is done."""

    done: int
    total: int
    what: str


ProgressCallback = Callable[[RunProgress], object]


def run_or_load(
    work: Mapping[str, Any],
    store: CheckpointStore[Piece],
    prints: str | Mapping[str, str],
    n_jobs: int = 1,
    callback: ProgressCallback | None = None,
) -> dict[str, Piece]:
    """Name -> piece of joblib's delayed tasks: loaded from the store, or run side by side and kept.

    Parameters
    ----------
    prints
        A fingerprint of what the pieces depend on, for all of them or for each: see `cache_key`.
    callback
        Called after each piece that is run.

    Examples
    --------
    >>> from joblib import delayed
    >>> told = []
    >>> run_or_load({"two": delayed(abs)(-2)}, CheckpointStore(None, int), "", callback=told.append)
    {'two': 2}
    >>> told
    [RunProgress(done=1, total=1, what='two')]
    """
    own = dict.fromkeys(work, prints) if isinstance(prints, str) else prints
    kept = {name: store.load(name, own[name]) for name in work}
    pieces: dict[str, Piece] = {name: piece for name, piece in kept.items() if piece is not None}
    left = {name: task for name, task in work.items() if name not in pieces}
    for name, piece in side_by_side(left, n_jobs):
        pieces[name] = piece
        store.save(name, own[name], piece)
        if callback is not None:
            callback(RunProgress(len(pieces), len(work), name))
    return {name: pieces[name] for name in work}


_CONTROLS = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]")


def readable(text: object) -> str:
    """Text that every file can hold: bytes that were not UTF-8 and control characters as escapes.

    Tabs and ends of lines stay, which whoever shows it folds.

    Examples
    --------
    >>> readable("caf\\udce9")
    'caf\\\\udce9'
    >>> readable("bell\\a")
    'bell\\\\x07'
    """
    plain = str(text).encode("utf-8", "backslashreplace").decode()
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", plain)


def fingerprint(values: object) -> str:
    """SHA-256 of plain values as JSON, keys in order."""
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def cache_key(dependencies: object) -> str:
    """The fingerprint of what pieces depend on, versions and kernels included."""
    versions = [version(name) for name in ("podium-ltr", "numpy", "scipy", "lightgbm")]
    return fingerprint([*versions, kernels.BACKEND, dependencies])
