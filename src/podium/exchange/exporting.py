"""A fitted ranker in, a file for an engine out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from podium.errors import UnknownNameError, UsageError
from podium.exchange.normalizers import scaled_by_query
from podium.exchange.portable import Portable, portable
from podium.exchange.targets.content import Exported
from podium.exchange.targets.elasticsearch import elasticsearch, opensearch
from podium.exchange.targets.onnx import onnx
from podium.exchange.targets.plain import plain
from podium.exchange.targets.solr import solr
from podium.exchange.targets.vespa import vespa
from podium.plugins import Registry, functions

EXPORTERS: Registry[Callable[[Portable, str], Exported]] = Registry(
    "podium.exporters",
    {
        "elasticsearch": elasticsearch,
        "opensearch": opensearch,
        "solr": solr,
        "vespa": vespa,
        "onnx": onnx,
        "json": plain,
    },
    functions,
)
"""Every engine by name."""
_FED = ("onnx", "json")
"""Where one's own program hands over the features, and may scale them first."""


def export_model(
    model: Any,
    to: str,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | Mapping[str, str] | None = None,
    normalizers: Any = None,
    member: str | None = None,
    user_class: str | None = None,
) -> Exported:
    """A fitted ranker as an engine takes it: the same scores to the rounding of float32.

    What the engine cannot express raises a ``CannotExpressError`` that says why, and what is nearest.

    Parameters
    ----------
    model
        A fitted ranker, or a scikit-learn pipeline of a scaler and one.
    to
        "elasticsearch", "opensearch", "solr", "vespa", "onnx" or "json".
    name
        What the model is called there; None: the ranker's name.
    feature_names
        What the features are called there, in order, or {name here: name there}.
    normalizers
        How the features were scaled before training: {feature: Standard(...) or MinMax(...)}, or a
        fitted scaler of scikit-learn. The engine then scales them itself.
    member
        Of a toprank: the ranker to export.
    user_class
        Of a cfbrs: the class of users whose weights to export.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> ranker = RankSVM().fit(make_synthetic(n_queries=20, n_features=2, seed=0))
    >>> export_model(ranker, "solr", name="shop", feature_names=["title", "clicks"])
    Exported(target='solr', kind='LinearModel', name='shop', features=('title', 'clicks'), notes=())
    """
    if to not in EXPORTERS:
        raise UnknownNameError("target", str(to), EXPORTERS)
    found = portable(
        model, feature_names=feature_names, normalizers=normalizers, member=member,
        user_class=user_class,
    )  # fmt: skip
    called = found.ranker.replace(" ", "-") if name is None else name
    if not called.strip() or any(ord(letter) < 32 for letter in called):
        raise UsageError(f"expected a name for the model, got {called!r}")
    if found.scaled is not None and to not in _FED:
        raise scaled_by_query(found.scaled)
    return _with_scaling(EXPORTERS[to](found, called), found.scaled)


def _with_scaling(made: Exported, scaled: str | None) -> Exported:
    """An export that says how its features are to be scaled first."""
    if scaled is None:
        return made
    note = f"scale the features of each query first ({scaled}): the model was trained on such"
    return replace(made, notes=(*made.notes, note))
