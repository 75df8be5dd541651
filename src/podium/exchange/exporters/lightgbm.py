"""LightGBM's text: trees in float64, which LightGBM and every program that embeds it read."""

from __future__ import annotations

from podium.errors import CannotExpressError, UsageError
from podium.exchange.exporters.engine_limits import single_form
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.portable_model import PortableModel
from podium.rankers.forest import Forest
from podium.rankers.forest_text import write_forest


def export_lightgbm(model: PortableModel, name: str) -> ExportedModel:
    """Export trees as ``Booster(model_file=...)`` reads them; raw scores are equal."""
    form, names = single_form(model, "LightGBM"), model.names
    if not isinstance(form, Forest):
        raise CannotExpressError(
            f"LightGBM's text has trees only, but {model.ranker} is a weighted sum or a network; "
            "nearest: export a weighted sum to xgboost or ranklib, a network to onnx"
        )
    for feature in names:
        if feature.split() != [feature] or any(letter in feature for letter in '",:[]{}'):
            raise UsageError(
                f"{feature!r} is not a name of a feature in LightGBM, which takes no spaces and none of "
                '" , : [ ] { }'
            ).advise(
                python="rename it with feature_names", command_line="rename it with --feature-names"
            )
    return ExportedModel("lightgbm", "tree", name, names, write_forest(form, names))
