"""CatBoost's JSON models: symmetric trees, or trees of any shape, on numeric features."""

from __future__ import annotations

from podium.errors import ModelFileError, UsageError
from podium.exchange.importers.foreign_model import ForeignModel
from podium.exchange.model_text_lines import ModelLines
from podium.rankers.catboost_json import read_catboost_json
from podium.rankers.forest_text import model_from_forest


def read_catboost(lines: ModelLines, n_features: int | None = None) -> ForeignModel:
    """Read a file of ``save_model("model.json", format="json")``; scores are raw formula values."""
    try:
        model = read_catboost_json(lines.text)
    except ModelFileError as error:
        raise ModelFileError(f"{lines.path}: {error}") from None
    width = model.forest.width
    if n_features not in (None, width):
        raise UsageError(
            f"the model has {width} features, but n_features is {n_features}; leave it out"
        )
    return ForeignModel(model_from_forest(model.forest), model.loss, model.feature_names)
