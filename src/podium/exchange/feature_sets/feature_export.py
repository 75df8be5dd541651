"""Feature export: the files that set up declared features and a model in an engine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from podium.data.atomic_files import atomic_path, make_folder
from podium.errors import UnknownNameError, UsageError
from podium.exchange.engine_versions import EngineVersion
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.feature_sets.declared_features import FeatureSet
from podium.exchange.feature_sets.elasticsearch_features import elasticsearch_feature_set
from podium.exchange.feature_sets.engine_calls import engine_calls
from podium.exchange.feature_sets.features_file import FEATURE_ENGINES
from podium.exchange.feature_sets.solr_features import solr_feature_store
from podium.exchange.feature_sets.vespa_features import vespa_model_profile, vespa_profile
from podium.typing import Path_

DEFAULT_MODEL_NAME = "podium_model"
"""The name that calls have for a model that is not exported yet."""


@dataclass(frozen=True)
class ExportedFeatures:
    """Declared features for an engine: files by name, and notes for their users."""

    target: str
    name: str
    features: tuple[str, ...]
    files: dict[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """The file that defines the features."""
        return next(iter(self.files.values()))

    def save(self, folder: Path_) -> None:
        """Write the files into a folder, each all or nothing."""
        make_folder(Path(folder))
        for name, content in self.files.items():
            with atomic_path(Path(folder, name)) as temporary:
                temporary.write_bytes(content.encode())


def export_features(
    features: FeatureSet, to: str, model: ExportedModel | None = None
) -> ExportedFeatures:
    """Return declared features in the format of an engine, with its calls and, if named, a model.

    Parameters
    ----------
    features
        The declared features.
    to
        "elasticsearch", "opensearch", "solr" or "vespa", also with a version, as in "opensearch@3.5".
    model
        A model that was exported to the same engine, whose features are all declared.

    Examples
    --------
    >>> from podium.exchange.feature_sets.declared_features import FieldNumber, TextScore
    >>> shop = FeatureSet("shop", {"title": TextScore(("title",)), "price": FieldNumber("price", 0.0)})
    >>> print(export_features(shop, "vespa").content)
    rank-profile shop inherits default {
        function title() {
            expression: bm25(title)
        }
        function price() {
            expression: if (isNan(attribute(price)) == 1, 0.0, attribute(price))
        }
        first-phase {
            expression: bm25(title)
        }
        match-features {
            title
            price
        }
    }
    <BLANKLINE>
    """
    engine, _, number = to.partition("@")
    if engine not in FEATURE_ENGINES:
        raise UnknownNameError("engine of feature sets", engine, FEATURE_ENGINES)
    version = EngineVersion.parse(to) if number or to != engine else None
    if model is not None:
        check_model_features(features, model)
    files = _feature_files(features, engine, version)
    notes = _notes(features)
    if model is not None:
        files |= _model_files(features, engine, model)
    name = DEFAULT_MODEL_NAME if model is None else model.name
    if not re.fullmatch(r"[A-Za-z0-9_][\w.-]*", name):
        raise UsageError(
            f"expected a name of letters, digits, _, . and - for the model, got {name!r}"
        )
    files["calls.sh"] = engine_calls(features, engine, name)
    return ExportedFeatures(engine, features.name, tuple(features.features), files, notes)


def check_model_features(features: FeatureSet, model: ExportedModel) -> None:
    """Raise if the model needs a feature that is not declared."""
    missing = [name for name in model.features if name not in features.features]
    if missing:
        raise UsageError(
            f"the model needs {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}, but the "
            f"feature set {features.name} has {', '.join(features.features)}"
        ).advise(
            python="train on these features, or rename the model's with feature_names=",
            command_line="train on these features, or rename the model's with --feature-names",
        )


def _feature_files(
    features: FeatureSet, engine: str, version: EngineVersion | None
) -> dict[str, str]:
    if engine == "vespa":
        return {f"{features.name.replace('-', '_')}.profile": vespa_profile(features)}
    if engine == "solr":
        keeps_missing = version is None or version.branch == "node"
        return {"features.json": _json(solr_feature_store(features, keeps_missing))}
    return {"features.json": _json(elasticsearch_feature_set(features, engine))}


def _model_files(features: FeatureSet, engine: str, model: ExportedModel) -> dict[str, str]:
    if model.target != engine or not isinstance(model.content, str):
        raise UsageError(f"expected a model exported to {engine}, got one for {model.target}")
    if engine == "vespa":
        if model.name == features.name.replace("-", "_"):
            raise UsageError(
                f"expected another name for the model than {model.name}, its feature set's"
            )
        profile = vespa_model_profile(features, model.name, model.kind, model.content)
        files = {f"{model.name}.profile": profile}
        return files | (
            {f"{model.name}.json": model.content} if model.kind == "LightGBM dump" else {}
        )
    if engine == "solr":
        document = json.loads(model.content)
        return {"model.json": _json({"store": features.name, **document})}
    return {"model.json": model.content}


def _notes(features: FeatureSet) -> tuple[str, ...]:
    lacking = features.lacking()
    if not lacking:
        return ()
    names = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
    return (f"documents may lack {names}; a default gives every document a value",)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
