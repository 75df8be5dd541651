"""Import: turn a model file of another program into a ranker."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from podium.errors import ModelFileError, TruncationWarning, UnknownNameError, UsageError
from podium.exchange.importers.catboost import read_catboost
from podium.exchange.importers.foreign_model import ForeignModel
from podium.exchange.importers.lightgbm import read_lightgbm
from podium.exchange.importers.ranklib import read_ranklib
from podium.exchange.importers.svmrank import read_svmrank
from podium.exchange.importers.xgboost import read_xgboost
from podium.exchange.model_text_lines import MAX_FEATURES, ModelLines
from podium.rankers.imported_ranker import ImportedRanker
from podium.typing import Path_

IMPORTERS: dict[str, Callable[[ModelLines, int | None], ForeignModel]] = {
    "ranklib": read_ranklib,
    "lightgbm": read_lightgbm,
    "xgboost": read_xgboost,
    "catboost": read_catboost,
    "svmrank": read_svmrank,
}
"""Every importer by the name of its program."""


def import_model(
    path: Path_,
    source: str,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> ImportedRanker:
    """Return a model of another program as a ranker that predicts, ranks, explains and saves.

    Scores are the raw scores of the other program, without the constant of a weighted sum. Nothing
    in the file is executed. A `TruncationWarning` says if the file may be truncated.

    Parameters
    ----------
    path
        The file, as the program saved it, compressed or not.
    source
        "ranklib", "lightgbm", "xgboost", "catboost" or "svmrank".
    n_features
        The number of features per row, if the file does not state it (RankLib, weights); None: the
        highest feature that the model uses.
    feature_names
        One name per feature; None: those in the file, if any.

    Examples
    --------
    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/model.txt"
    >>> with open(path, "w") as file:
    ...     _ = file.write("## Coordinate Ascent\\n1:0.5 3:-0.5\\n")
    >>> import_model(path, "ranklib").predict([[2.0, 9.0, 4.0]]).tolist()
    [-1.0]
    """
    if source not in IMPORTERS:
        raise UnknownNameError("program", str(source), IMPORTERS)
    if n_features is not None and not 1 <= n_features <= MAX_FEATURES:
        raise UsageError(f"expected 1 to {MAX_FEATURES} features, got {n_features}")
    if n_features is None and feature_names is not None and source in ("ranklib", "svmrank"):
        n_features = len(feature_names)
    lines = ModelLines.read(path)
    if not any(lines):
        raise ModelFileError(f"{lines.path}: the file is empty; expected a model of {source}")
    foreign = IMPORTERS[source](lines, n_features)
    if foreign.warning is not None:
        warnings.warn(f"{lines.path}: {foreign.warning}", TruncationWarning, stacklevel=2)
    names = foreign.feature_names if feature_names is None else tuple(feature_names)
    width = foreign.model.n_features
    if names is not None and (len(names) != width or len(set(names)) != width):
        raise UsageError(
            f"expected {width} different feature names, got {len(set(names))} in {len(names)}"
        )
    return ImportedRanker.from_model(foreign.model, f"{source} {foreign.algorithm}", names)
