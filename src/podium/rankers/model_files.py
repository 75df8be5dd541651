"""Model files: archives of a ranker's settings and its model's parts. They are data; no code runs.

manifest.json     {"format": "podium-model", "version": 1 or 2, "ranker": "listnet", "parameters": {...},
                   "trained": {...}, "history": {...}, "model": "linear", ...}

A model that prepares its features is written as version 2, all others as version 1.
"""

from __future__ import annotations

import dataclasses
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium.data.text_files import open_regular
from podium.data.zip_archives import (
    ARCHIVE_DAMAGE_ERRORS,
    array_bytes,
    check_part,
    open_archive,
    read_array,
    read_manifest,
    read_part,
    write_archive,
)
from podium.errors import CorruptFileError, ModelFileError, UnknownNameError
from podium.rankers.fit_result import TrainingSummary
from podium.rankers.learning_curve import FitStep, History
from podium.rankers.models import Model, Part
from podium.rankers.optimality_certificate import CERTIFICATES, Certificate
from podium.rankers.parameter_json import from_json, parameters_to_json
from podium.rankers.parameters import check_parameters
from podium.rankers.preparation import has_preparation
from podium.rankers.ranking_estimator import RankingEstimator
from podium.rankers.selection_report import SelectionReport
from podium.typing import Path_

R = TypeVar("R", bound=RankingEstimator)

FORMAT = "podium-model"
PLAIN_VERSION, PREPARED_VERSION = 1, 2
"""The version of a model without preparation, and that of one that prepares its features."""
NEWEST_VERSION = PREPARED_VERSION
"""The newest version that this podium reads."""
MAX_FILE_BYTES = 2 << 30
"""A larger model file is a mistake or an attack."""


def save(ranker: RankingEstimator, path: Path_) -> None:
    """Write a fitted ranker, all or nothing; the same ranker gives the same bytes."""
    check_is_fitted(ranker, "model_")
    parts = ranker.model_.parts()
    manifest = {
        "format": FORMAT,
        "version": PREPARED_VERSION if has_preparation(parts) else PLAIN_VERSION,
        "ranker": ranker.name,
        "parameters": parameters_to_json(ranker),
        "trained": dataclasses.asdict(ranker.trained_),
        "history": _history_columns(ranker.history_),
        "converged": ranker.converged_,
        "stopped": ranker.stopped_,
        "certificate": None if ranker.certificate_ is None else ranker.certificate_.to_dict(),
        "model": ranker.model_.kind,
    }
    report = getattr(ranker, "report_", None)  # a ranker of another package may lack it
    if report is not None:
        manifest["report"] = report.to_dict()
    files = {_part_file(name, part): _encode(part) for name, part in parts.items()}
    write_archive(path, manifest, files)


def load(path: Path_, rankers: Mapping[str, type[R]], models: Mapping[str, type[Model]]) -> R:
    """Read a ranker; `rankers` and `models` have the classes by name."""
    name = os.fspath(path)
    try:
        with open_archive(path, MAX_FILE_BYTES) as archive:
            return _load(archive, rankers, models)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error.args[0]}").keep_advice(error) from error
    except CorruptFileError as error:  # a folder, a pipe or a device
        raise ModelFileError(str(error)) from error
    except ARCHIVE_DAMAGE_ERRORS as error:
        damage = ModelFileError(
            f"{name}: this is not a podium model file, or it is truncated or damaged ({error})"
        )
        raise damage if _begins_as_archive(path) else damage.advise(**_DATA_ADVICE) from error


_DATA_ADVICE = {
    "python": "use podium.read_table or podium.read_letor to read data",
    "command_line": "podium train makes a model; where a command takes data, too, the model comes first",
}


def _begins_as_archive(path: Path_) -> bool:
    with open_regular(path) as file:
        return file.read(2) == b"PK"


def _load(
    archive: zipfile.ZipFile, rankers: Mapping[str, type[R]], models: Mapping[str, type[Model]]
) -> R:
    manifest = _manifest(archive)
    name, kind = manifest.get("ranker"), manifest.get("model")
    if not isinstance(name, str) or name not in rankers:
        raise ModelFileError(str(UnknownNameError("ranker", f"{name!s:.80}", rankers)))
    if not isinstance(kind, str) or kind not in models:
        raise ModelFileError(str(UnknownNameError("kind of model", f"{kind!s:.80}", models)))
    digests = manifest.get("parts")
    if not isinstance(digests, dict):
        raise ModelFileError("the manifest does not list the model's parts")
    parts = dict(_part(archive, file, digest) for file, digest in digests.items())
    try:
        ranker = rankers[name](
            **{key: from_json(value, rankers) for key, value in manifest["parameters"].items()}
        )
        ranker.model_ = models[kind].read(parts, models)
        ranker.trained_ = _training_summary(manifest["trained"])
        ranker.history_ = _history(manifest["history"])
        ranker.converged_, ranker.stopped_ = (
            _flag(manifest["converged"]),
            _text(manifest["stopped"]),
        )
        ranker.certificate_ = _certificate(manifest.get("certificate"))
        ranker.report_ = _report(manifest.get("report"))
        check_parameters(ranker, name)
        ranker.check_settings()
    except ModelFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"the settings in the file are not those of a {name} ranker ({error!s:.500})"
        ) from error
    ranker.n_features_in_ = ranker.model_.n_features
    if ranker.n_features_in_ < 1:
        raise ModelFileError("the model has no features; expected 1 or more")
    if ranker.trained_.feature_names is not None:
        if len(ranker.trained_.feature_names) != ranker.n_features_in_:
            raise ModelFileError("expected one name per feature")
        ranker.feature_names_in_ = np.array(ranker.trained_.feature_names, dtype=object)
    return ranker


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        return read_manifest(archive, FORMAT, NEWEST_VERSION)
    except KeyError:
        raise ModelFileError(
            "this zip file has no manifest.json; expected a podium model file"
        ) from None
    except ValueError as error:
        raise ModelFileError(f"expected a podium model file, got {error}") from error


def _part(archive: zipfile.ZipFile, file: str, digest: object) -> tuple[str, Part]:
    try:
        data = read_part(archive, file)
    except KeyError:
        raise ModelFileError(f"the model file has no part {file!r:.200}") from None
    name, _, ending = file.rpartition(".")
    try:
        check_part(file, data, digest)
        return name, data.decode() if ending == "txt" else read_array(data, "fi").copy(order="C")
    except ValueError as error:
        raise ModelFileError(
            f"the part {file!r:.200} of the model file is damaged ({error})"
        ) from error


def _part_file(name: str, part: Part) -> str:
    return f"{name}.txt" if isinstance(part, str) else f"{name}.npy"


def _encode(part: Part) -> bytes:
    if isinstance(part, str):
        return part.encode()
    return array_bytes(part)


def _certificate(stored: dict[str, Any] | None) -> Certificate | None:
    """Return the certificate of a file; old files have none."""
    return None if stored is None else CERTIFICATES[stored["kind"]].from_dict(stored)


def _report(stored: dict[str, Any] | None) -> SelectionReport | None:
    """Return the report of a search; most files have none."""
    return None if stored is None else SelectionReport.from_dict(stored)


def _training_summary(stored: dict[str, Any]) -> TrainingSummary:
    names, scaled = stored["feature_names"], stored.get("scaled")
    if not isinstance(names, list | None):
        raise TypeError(f"{names!r:.80} instead of a list of features")
    return TrainingSummary(
        n_queries=_count(stored["n_queries"]),
        n_documents=_count(stored["n_documents"]),
        fingerprint=_text(stored["fingerprint"]),
        topk=None if stored["topk"] is None else _count(stored["topk"]),
        feature_names=None if names is None else tuple(map(_text, names)),
        scaled=None if scaled is None else _text(scaled),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} instead of a text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.80} instead of true or false")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise TypeError(f"{value!r:.80} instead of a count")
    return value


def _history_columns(history: History) -> dict[str, Any]:
    first = next(iter(history), None)
    return {
        "ranker": None if first is None else first.ranker,
        "metric": None if first is None else first.metric,
        "total": None if first is None else first.total,
        "objective": history.objective,
        "valid": [None if v is None or np.isnan(v) else v for v in history.valid],
        "best": history.best,
        **({} if first is None or not first.stage else {"stage": first.stage}),
    }


def _history(stored: dict[str, Any]) -> History:
    curve = list(zip(stored["objective"], stored["valid"], strict=True))
    best, total, stage = stored["best"], stored["total"], _text(stored.get("stage", ""))
    total = None if total is None else _count(total)
    # A curve without steps has no ranker and no metric.
    ranker, metric = (_text(stored[key]) if curve else "" for key in ("ranker", "metric"))
    steps = tuple(
        FitStep(
            ranker, number, total, _finite(objective), metric,
            None if valid is None else _finite(valid), stage,
        )
        for number, (objective, valid) in enumerate(curve, start=1)
    )  # fmt: skip
    if best is not None and not 1 <= _count(best) <= len(steps):
        raise ValueError(f"iteration {best} of {len(steps)}")
    return History(steps, best)


def _finite(value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80} on the learning curve")
    return float(value)
