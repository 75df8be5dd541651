"""A file of another program in, a ranker out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from podium.data.files import Path_
from podium.errors import ModelFileError, TruncationWarning, UnknownNameError, UsageError
from podium.exchange.lines import MOST_FEATURES, Lines
from podium.exchange.sources.content import Found
from podium.exchange.sources.lightgbm import lightgbm
from podium.exchange.sources.ranklib import ranklib
from podium.exchange.sources.svmrank import svmrank
from podium.exchange.sources.xgboost import xgboost
from podium.rankers.imported import Imported

IMPORTERS: dict[str, Callable[[Lines, int | None], Found]] = {
    "ranklib": ranklib,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "svmrank": svmrank,
}
"""Every program by name."""


def import_model(
    path: Path_,
    source: str,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> Imported:
    """A model of another program as a ranker that predicts, ranks, explains and saves.

    Scores are the other program's raw ones; a constant that a weighted sum adds to all documents is
    left out. Nothing in the file is run. A ``TruncationWarning`` says where a file may be cut off.

    Parameters
    ----------
    path
        The file, as the program saved it, compressed or not.
    source
        "ranklib", "lightgbm", "xgboost" or "svmrank".
    n_features
        Features a row has, where the file does not say it (RankLib, weights); None: as many as the
        largest it uses.
    feature_names
        One a feature; None: those in the file, if any.

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
    if n_features is not None and not 1 <= n_features <= MOST_FEATURES:
        raise UsageError(f"expected 1 to {MOST_FEATURES} features, got {n_features}")
    if n_features is None and feature_names is not None and source in ("ranklib", "svmrank"):
        n_features = len(feature_names)
    lines = Lines.read(path)
    if not any(lines):
        raise ModelFileError(f"{lines.path}: expected a model of {source}, got an empty file")
    found = IMPORTERS[source](lines, n_features)
    if found.doubt is not None:
        warnings.warn(f"{lines.path}: {found.doubt}", TruncationWarning, stacklevel=2)
    names = found.names if feature_names is None else tuple(feature_names)
    width = found.model.n_features
    if names is not None and (len(names) != width or len(set(names)) != width):
        raise UsageError(f"expected {width} feature names of their own, got {len(names)}")
    return Imported.of(found.model, f"{source} {found.algorithm}", names)
