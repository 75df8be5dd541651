"""Export: turn a fitted ranker into a file for an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from podium.errors import UnknownNameError, UsageError
from podium.exchange.engine_versions import EngineVersion
from podium.exchange.exporters.elasticsearch import export_elasticsearch, export_opensearch
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.exporters.lightgbm import export_lightgbm
from podium.exchange.exporters.onnx import export_onnx
from podium.exchange.exporters.podium_json import export_json
from podium.exchange.exporters.ranklib import export_ranklib
from podium.exchange.exporters.solr import export_solr
from podium.exchange.exporters.vespa import export_vespa
from podium.exchange.exporters.xgboost import export_xgboost
from podium.exchange.normalizers import scaled_by_query_error
from podium.exchange.portable_model import PortableModel, make_portable
from podium.plugins import Registry, check_function

EXPORTERS: Registry[Callable[[PortableModel, str], ExportedModel]] = Registry(
    "podium.exporters",
    {
        "elasticsearch": export_elasticsearch,
        "opensearch": export_opensearch,
        "solr": export_solr,
        "vespa": export_vespa,
        "onnx": export_onnx,
        "lightgbm": export_lightgbm,
        "xgboost": export_xgboost,
        "ranklib": export_ranklib,
        "json": export_json,
    },
    check_function,
)
"""Every exporter by the name of its engine."""
_SCALED_BY_CALLER = ("onnx", "lightgbm", "xgboost", "ranklib", "json")
"""Targets that get their features from a user's program, which can scale them first."""


def export_model(
    model: Any,
    to: str,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | Mapping[str, str] | None = None,
    normalizers: Any = None,
    member: str | None = None,
    user_class: str | None = None,
    complete_features: bool = False,
) -> ExportedModel:
    """Return a fitted ranker in the format of an engine, with the same scores up to float32 rounding.

    Raises a `CannotExpressError` if the engine, or this version of it, cannot express the model; the
    error says why, and names the nearest alternative.

    Parameters
    ----------
    model
        A fitted ranker, or a scikit-learn pipeline of a scaler and one.
    to
        "elasticsearch", "opensearch", "solr", "vespa", "onnx", "lightgbm", "xgboost", "ranklib" or
        "json". Search engines take a version, as in "opensearch@3.5".
    name
        The name of the model in the engine; None: the ranker's name.
    feature_names
        The names of the features in the engine, in order, or {name here: name there}.
    normalizers
        How the features were scaled before training: {feature: Standard(...) or MinMax(...)}, or a
        fitted scaler of scikit-learn. The engine then scales them itself.
    member
        The ranker of a toprank to export.
    user_class
        The class of users of a cfbrs whose weights to export.
    complete_features
        Whether every document has every feature in the engine: then versions that would score
        documents that lack one wrongly are right, too.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> ranker = RankSVM().fit(make_synthetic(n_queries=20, n_features=2, seed=0))
    >>> export_model(ranker, "solr", name="shop", feature_names=["title", "clicks"])
    ExportedModel(target='solr', kind='LinearModel', name='shop', features=('title', 'clicks'), notes=())
    """
    engine, _, number = str(to).partition("@")
    if engine not in EXPORTERS:
        raise UnknownNameError("target", engine, EXPORTERS)
    version = EngineVersion.parse(to) if number or to != engine else None
    portable = make_portable(
        model, feature_names=feature_names, normalizers=normalizers, member=member,
        user_class=user_class,
    )  # fmt: skip
    model_name = portable.ranker.replace(" ", "-") if name is None else name
    if not model_name.strip() or any(ord(letter) < 32 for letter in model_name):
        raise UsageError(f"expected a name for the model, got {model_name!r}")
    if portable.scaled is not None and engine not in _SCALED_BY_CALLER:
        raise scaled_by_query_error(portable.scaled)
    exported = EXPORTERS[engine](portable, model_name)
    if version is not None:
        version.check(portable, complete_features)
        exported = replace(exported, notes=version.notes(portable), version=to.partition("@")[2])
    exported = replace(exported, notes=(*exported.notes, *portable.notes))
    if portable.scaled is None:
        return exported
    note = f"scale the features of each query first ({portable.scaled}), as in training"
    return replace(exported, notes=(*exported.notes, note))
