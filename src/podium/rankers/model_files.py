"""Model files: archives whose parts are those of the model. Data, never code: reading one runs nothing.

manifest.json     {"format": "podium-model", "version": 1, "ranker": "listnet", "parameters": {...},
                   "trained": {...}, "history": {...}, "model": "linear", ...}
"""

from __future__ import annotations

import dataclasses
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import losses
from podium.aggregation import AGGREGATORS, Aggregator, make_aggregator
from podium.data.archives import (
    array_bytes,
    check_part,
    open_archive,
    read_array,
    read_manifest,
    read_part,
    write_archive,
)
from podium.data.files import Path_
from podium.errors import CorruptFileError, ModelFileError, UnknownNameError, UsageError
from podium.losses import LOSSES, Loss
from podium.rankers.certificate import CERTIFICATES, Certificate
from podium.rankers.history import History, Step
from podium.rankers.lambdamart import Trees
from podium.rankers.mlp import MLP, Network
from podium.rankers.models import Linear, Model, Part, Stumps
from podium.rankers.ordinal import OrdinalModel
from podium.rankers.parameters import check_parameters
from podium.rankers.ranker import Ranker, Trained

FORMAT, VERSION = "podium-model", 1
MAX_FILE_BYTES = 2 << 30
"""A larger model file is taken for a mistake or an attack."""

_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, MemoryError,
)  # fmt: skip
"""What zipfile raises, depending on which byte of a file is wrong; and what asks for too much."""

MODELS: dict[str, type[Model]] = {
    "linear": Linear,
    "stumps": Stumps,
    "mlp": Network,
    "trees": Trees,
    "ordinal": OrdinalModel,
}


def save(ranker: Ranker, path: Path_) -> None:
    """Write a fitted ranker, all or nothing; the same ranker gives the same bytes."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(ranker, "model_")
    about = {
        "format": FORMAT,
        "version": VERSION,
        "ranker": ranker.name,
        "parameters": _parameters(ranker),
        "trained": dataclasses.asdict(ranker.trained_),
        "history": _columns(ranker.history_),
        "converged": ranker.converged_,
        "stopped": ranker.stopped_,
        "certificate": None if ranker.certificate_ is None else ranker.certificate_.to_dict(),
        "model": ranker.model_.kind,
    }
    parts = {_file(name, part): _encode(part) for name, part in ranker.model_.parts().items()}
    write_archive(path, about, parts)


def load(
    path: Path_, rankers: Mapping[str, type[Ranker]], models: Mapping[str, type[Model]] = MODELS
) -> Ranker:
    """Read a ranker; `rankers` and `models` say which class has which name."""
    name = os.fspath(path)
    try:
        with open_archive(path, MAX_FILE_BYTES) as archive:
            return _load(archive, rankers, models)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    except CorruptFileError as error:  # no file at all
        raise ModelFileError(str(error)) from error
    except _DAMAGE as error:
        raise ModelFileError(
            f"{name}: expected a podium model file, got one that is truncated, damaged or something "
            f"else ({error})"
        ) from error


def _load(
    archive: zipfile.ZipFile,
    rankers: Mapping[str, type[Ranker]],
    models: Mapping[str, type[Model]],
) -> Ranker:
    manifest = _manifest(archive)
    name, kind = manifest.get("ranker"), manifest.get("model")
    if not isinstance(name, str) or name not in rankers:
        raise ModelFileError(str(UnknownNameError("ranker", f"{name!s:.80}", rankers)))
    if not isinstance(kind, str) or kind not in models:
        raise ModelFileError(str(UnknownNameError("kind of model", f"{kind!s:.80}", models)))
    digests = manifest.get("parts")
    if not isinstance(digests, dict):
        raise ModelFileError("expected the model's parts in the manifest, got none")
    parts = dict(_part(archive, file, digest) for file, digest in digests.items())
    try:
        ranker = rankers[name](
            **{key: from_json(value, rankers) for key, value in manifest["parameters"].items()}
        )
        ranker.model_ = models[kind].from_parts(parts)
        ranker.trained_ = _trained(manifest["trained"])
        ranker.history_ = _history(manifest["history"])
        ranker.converged_, ranker.stopped_ = (
            _flag(manifest["converged"]),
            _text(manifest["stopped"]),
        )
        ranker.certificate_ = _certificate(manifest.get("certificate"))
        check_parameters(ranker, name)
    except ModelFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"expected the settings of a {name} ranker, got others ({error!s:.500})"
        ) from error
    ranker.n_features_in_ = ranker.model_.n_features
    if ranker.n_features_in_ < 1:
        raise ModelFileError("expected a model of 1 feature or more, got none")
    if ranker.trained_.feature_names is not None:
        if len(ranker.trained_.feature_names) != ranker.n_features_in_:
            raise ModelFileError("expected one name a feature")
        ranker.feature_names_in_ = np.array(ranker.trained_.feature_names, dtype=object)
    return ranker


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        return read_manifest(archive, FORMAT, VERSION)
    except KeyError:
        raise ModelFileError("expected a podium model file, got a zip without a manifest") from None
    except ValueError as error:
        raise ModelFileError(f"expected a podium model file, got {error}") from error


def _part(archive: zipfile.ZipFile, file: str, digest: object) -> tuple[str, Part]:
    try:
        data = read_part(archive, file)
    except KeyError:
        raise ModelFileError(f"expected a part {file!r:.200}, got none") from None
    name, _, ending = file.rpartition(".")
    try:
        check_part(file, data, digest)
        return name, data.decode() if ending == "txt" else read_array(data, "fi").copy(order="C")
    except ValueError as error:
        raise ModelFileError(
            f"expected a text or an array in {file!r:.200} as it was written ({error})"
        ) from error


def _file(name: str, part: Part) -> str:
    return f"{name}.txt" if isinstance(part, str) else f"{name}.npy"


def _encode(part: Part) -> bytes:
    if isinstance(part, str):
        return part.encode()
    return array_bytes(part)


def to_json(value: Any, name: str = "parameter") -> Any:
    """A parameter as JSON: numbers, texts, lists, settings of an MLP, a loss, an aggregator, a ranker."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"mapping": {str(k): to_json(v, name) for k, v in value.items()}}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_json(v, name) for v in value]
    if isinstance(value, MLP):
        return {"mlp": _fields(value)}
    if isinstance(value, Loss):
        return {"loss": value.spec()} if _is_known(value) else value.name
    if isinstance(value, Aggregator) and AGGREGATORS.get(value.name) is type(value):
        return {"aggregator": value.name, "parameters": _fields(value)}
    if isinstance(value, Ranker):
        return {"ranker": value.name, "parameters": _parameters(value)}
    raise UsageError(f"expected parameters a file can hold, got {name}={value!r}")


def _is_known(loss: Loss) -> bool:
    """Whether a loss and its parts are podium's; one's own is code, and kept by name only."""
    if LOSSES.get(loss.name) is not type(loss) or not dataclasses.is_dataclass(loss):
        return False
    parts = (getattr(loss, f.name) for f in dataclasses.fields(loss))
    return all(_is_known(part) for part in parts if isinstance(part, Loss))


def _fields(value: Any) -> dict[str, Any]:
    return {f.name: to_json(getattr(value, f.name), f.name) for f in dataclasses.fields(value)}


def _parameters(ranker: Ranker) -> dict[str, Any]:
    return {name: to_json(v, name) for name, v in ranker.get_params(deep=False).items()}


def from_json(value: Any, rankers: Mapping[str, type[Ranker]]) -> Any:
    """A parameter back from JSON; `rankers` says which class has which name."""
    if isinstance(value, list):
        return tuple(from_json(v, rankers) for v in value)
    if not isinstance(value, dict):
        return value

    def inner(name: str) -> dict[str, Any]:
        return {k: from_json(v, rankers) for k, v in value[name].items()}

    if "mapping" in value:
        return inner("mapping")
    if "mlp" in value:
        scorer = MLP(**inner("mlp"))
        scorer.check()
        return scorer
    if "aggregator" in value:
        return make_aggregator(value["aggregator"], **inner("parameters"))
    if "ranker" in value:
        made = rankers[value["ranker"]](**inner("parameters"))
        check_parameters(made, made.name)
        return made
    return losses.make(value["loss"])


def _certificate(told: dict[str, Any] | None) -> Certificate | None:
    """A certificate back; files of before there were any have none."""
    return None if told is None else CERTIFICATES[told["kind"]].from_dict(told)


def _trained(stored: dict[str, Any]) -> Trained:
    names, scaled = stored["feature_names"], stored.get("scaled")
    if not isinstance(names, list | None):
        raise TypeError(f"{names!r:.80} instead of a list of features")
    return Trained(
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


def _columns(history: History) -> dict[str, Any]:
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
        Step(
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
