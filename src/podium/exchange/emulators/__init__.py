"""What the engines compute, in their arithmetic: the oracle that exports are held against.

Written from the engines' own rules, apart from the exporters: an emulator reads the file as the engine
does, refuses what the engine refuses, rounds where it rounds and compares as it compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.exchange.emulators.elasticsearch import score_elasticsearch, score_opensearch
from podium.exchange.emulators.onnx import score_onnx
from podium.exchange.emulators.plain import score_plain
from podium.exchange.emulators.solr import score_solr
from podium.exchange.emulators.vespa import score_vespa
from podium.exchange.targets.content import Exported

EMULATORS: dict[str, Callable[..., NDArray[np.floating]]] = {
    "elasticsearch": score_elasticsearch,
    "opensearch": score_opensearch,
    "solr": score_solr,
    "vespa": score_vespa,
    "onnx": score_onnx,
    "json": score_plain,
}
"""Every target's evaluator: (file, feature names of X's columns, X) -> one score a row."""


def emulate(
    exported: Exported, X: ArrayLike, features: Sequence[str] | None = None
) -> NDArray[np.floating]:
    """The scores an engine would give these rows, whose columns are the export's features.

    NaN is a feature that a document lacks. The newest known version of the engine says what it counts as.

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
    return EMULATORS[exported.target](exported.content, names, np.asarray(X))


__all__ = ["EMULATORS", "emulate"]
