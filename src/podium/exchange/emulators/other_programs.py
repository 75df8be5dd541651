"""LightGBM, XGBoost and RankLib, as the importers read their files.

The importers follow the programs' rules for thresholds, rounding and missing values; constants, which
they leave out, are added here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.exchange.importers.foreign_model import ForeignModel
from podium.exchange.importers.lightgbm import read_lightgbm
from podium.exchange.importers.ranklib import read_ranklib
from podium.exchange.importers.xgboost import read_xgboost
from podium.exchange.model_text_lines import ModelLines
from podium.rankers.models import Linear
from podium.typing import Floats

_RANKLIB_FEATURE = re.compile(r"## Feature [0-9]+ = (.*)")


def score_lightgbm(content: str, features: Sequence[str], X: NDArray[Any]) -> Floats:
    """Return raw scores of LightGBM."""
    foreign = read_lightgbm(_lines(content))
    names = foreign.feature_names or tuple(f"Column_{j}" for j in range(foreign.model.n_features))
    return _predict(foreign, _columns(X, features, names))


def score_xgboost(content: str, features: Sequence[str], X: NDArray[Any]) -> Floats:
    """Return margins of XGBoost, which computes in float32; gblinear skips missing values."""
    foreign = read_xgboost(_lines(content))
    x = _columns(X, features, foreign.feature_names or ())
    if not isinstance(foreign.model, Linear):
        return _predict(foreign, x)
    constant = json.loads(content)["learner"]["gradient_booster"]["model"]["weights"][-1]
    return _predict(foreign, np.nan_to_num(x)) + float(constant)


def score_ranklib(content: str, features: Sequence[str], X: NDArray[Any]) -> Floats:
    """Return scores of RankLib, which takes 0 for a missing feature."""
    names = _RANKLIB_FEATURE.findall(content)
    foreign = read_ranklib(_lines(content), len(names))
    constant = re.search(r"^0:(\S+)", content, re.MULTILINE)
    x = np.where(np.isnan(X), 0.0, X)
    scores = _predict(foreign, _columns(x, features, names))
    return scores + (float(constant[1]) if constant else 0.0)


def _lines(content: str) -> ModelLines:
    return ModelLines.from_text(content, "the export")


def _columns(X: NDArray[Any], features: Sequence[str], names: Sequence[str]) -> Floats:
    """Return the columns of the model's features, in its order."""
    return np.ascontiguousarray(X[:, [list(features).index(n) for n in names]], dtype=np.float64)


def _predict(foreign: ForeignModel, x: Floats) -> Floats:
    return np.asarray(foreign.model.predict(x), dtype=np.float64)
