"""Emulation of engines: the scores that an engine computes for an exported model, in its arithmetic.

Emulators follow the engines' own rules and share no code with the exporters. An emulator reads,
refuses, rounds and compares exactly like its engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.exchange.emulators.elasticsearch import score_elasticsearch, score_opensearch
from podium.exchange.emulators.onnx import score_onnx
from podium.exchange.emulators.other_programs import (
    score_lightgbm,
    score_ranklib,
    score_xgboost,
)
from podium.exchange.emulators.podium_json import score_podium_json
from podium.exchange.emulators.solr import score_solr
from podium.exchange.emulators.vespa import score_vespa
from podium.exchange.engine_versions import EngineVersion
from podium.exchange.exporters.exported_model import ExportedModel

EMULATORS: dict[str, Callable[..., NDArray[np.floating]]] = {
    "elasticsearch": score_elasticsearch,
    "opensearch": score_opensearch,
    "solr": score_solr,
    "vespa": score_vespa,
    "onnx": score_onnx,
    "lightgbm": score_lightgbm,
    "xgboost": score_xgboost,
    "ranklib": score_ranklib,
    "json": score_podium_json,
}
"""The emulator of every target: (content, feature names of X's columns, X) -> one score per row."""


def emulate(
    exported: ExportedModel, X: ArrayLike, features: Sequence[str] | None = None
) -> NDArray[np.floating]:
    """Return the scores of an engine for these rows.

    Columns are the features of the export, or `features`. NaN means that a document lacks a
    feature; it counts as in the version of the export, or in the newest that podium knows.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.exchange import export_model
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=20, n_features=2, seed=0)
    >>> ranker = RankSVM().fit(data)
    >>> scores = emulate(export_model(ranker, "elasticsearch"), data.X)
    >>> scores.dtype, bool(np.allclose(scores, ranker.predict(data), rtol=1e-5, atol=1e-6))
    (dtype('float32'), True)
    """
    names = tuple(exported.features if features is None else features)
    settings = {}
    if exported.version is not None and exported.target in ("elasticsearch", "opensearch"):
        version = EngineVersion.parse(f"{exported.target}@{exported.version}")
        settings["missing"] = version.branch
    return EMULATORS[exported.target](exported.content, names, np.asarray(X), **settings)
