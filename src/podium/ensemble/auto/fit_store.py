"""The store of finished fits: an interrupted search continues with them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from podium import kernels
from podium.data import RankingData
from podium.data.atomic_files import make_folder
from podium.data.zip_archives import (
    CONTENT_DAMAGE_ERRORS,
    array_bytes,
    check_part,
    open_archive,
    read_array,
    read_manifest,
    read_part,
    write_archive,
)
from podium.rankers.models import Model, Part
from podium.typing import Floats, Path_

FORMAT, VERSION = "podium-fit", 1
MAX_FIT_BYTES = 2 << 30
FIT_ENDING = ".fit"
SCORES = "held-out scores"
"""The part that holds the scores of the held-out queries; no model has a part of this name."""


@dataclass(frozen=True, eq=False)
class StoredFit:
    """A finished fit: its model and scores, or why it failed, and the time of the search so far."""

    model: Model | None
    scores: Floats
    seconds: float
    elapsed: float
    is_cut: bool = False
    error: str = ""


@dataclass(frozen=True)
class FitStore:
    """Finished fits in a folder, one file per fit; the files are data. Without a folder nothing is kept.

    Parameters
    ----------
    folder
        Where the files are.
    fingerprint
        What all fits depend on; files of another search are ignored.
    models
        The kinds of model by name.
    """

    folder: Path_ | None
    fingerprint: str
    models: Mapping[str, type[Model]]

    def save(self, name: str, fit: StoredFit) -> None:
        """Write a fit, all or nothing."""
        if self.folder is None:
            return
        make_folder(self.folder)
        parts = {} if fit.model is None else {**fit.model.parts(), SCORES: fit.scores}
        facts: dict[str, Any] = {
            "format": FORMAT, "version": VERSION, "fingerprint": self.fingerprint, "name": name,
            "model": None if fit.model is None else fit.model.kind, "seconds": fit.seconds,
            "elapsed": fit.elapsed, "is_cut": fit.is_cut, "error": fit.error,
        }  # fmt: skip
        files = {_file_name(part, value): _encode(value) for part, value in parts.items()}
        write_archive(self._path(name), facts, files)

    def load(self, name: str) -> StoredFit | None:
        """Return the fit of this name; None if there is none, or if the file is damaged."""
        if self.folder is None or not os.path.exists(self._path(name)):
            return None
        try:
            with open_archive(self._path(name), MAX_FIT_BYTES) as archive:
                facts = read_manifest(archive, FORMAT, VERSION)
                if facts["fingerprint"] != self.fingerprint or facts["name"] != name:
                    return None
                parts = dict(_read_part(archive, file, d) for file, d in facts["parts"].items())
                scores = np.asarray(parts.pop(SCORES, np.empty(0)), dtype=np.float64)
                kind = facts["model"]
                model = None if kind is None else self.models[kind].read(parts, self.models)
            return StoredFit(
                model, scores, float(facts["seconds"]), float(facts["elapsed"]),
                bool(facts["is_cut"]), str(facts["error"]),
            )  # fmt: skip
        except (*CONTENT_DAMAGE_ERRORS, OSError):
            return None  # the fit runs again

    def remove(self) -> None:
        """Remove the fits of the folder, and the folder if nothing else is in it."""
        if self.folder is None or not os.path.isdir(self.folder):
            return
        for path in Path(self.folder).glob(f"*{FIT_ENDING}"):
            path.unlink(missing_ok=True)
        if not os.listdir(self.folder):
            shutil.rmtree(self.folder)

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        return Path(self.folder) / f"{digest}{FIT_ENDING}"


def search_fingerprint(data: RankingData, valid: RankingData | None, settings: str) -> str:
    """Return the SHA-256 of what all fits of a search depend on, including versions and kernels."""
    versions = [version(name) for name in ("podium-ltr", "numpy", "scipy", "lightgbm")]
    contents = [None if part is None else part.fingerprint for part in (data, valid)]
    inputs = [*versions, kernels.BACKEND, contents, settings]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _file_name(name: str, part: Part) -> str:
    return f"{name}.txt" if isinstance(part, str) else f"{name}.npy"


def _encode(part: Part) -> bytes:
    return part.encode() if isinstance(part, str) else array_bytes(part)


def _read_part(archive: Any, file: str, digest: object) -> tuple[str, Part]:
    data = read_part(archive, file)
    check_part(file, data, digest)
    name, _, ending = file.rpartition(".")
    return name, data.decode() if ending == "txt" else read_array(data, "fi").copy(order="C")
