"""LightGBM's text models: trees of any objective.

Scores are those of ``Booster.predict(raw_score=True)``: sums of the trees, also of a random forest.
"""

from __future__ import annotations

from podium.errors import UsageError
from podium.exchange.importers.foreign_model import ForeignModel
from podium.exchange.lightgbm_text import read_forest
from podium.exchange.model_text_lines import ModelLines
from podium.rankers.forest_text import model_from_forest


def read_lightgbm(lines: ModelLines, n_features: int | None = None) -> ForeignModel:
    """Read a file of ``Booster.save_model``; only checked numbers of it reach LightGBM."""
    forest, names = read_forest(lines)
    if n_features not in (None, forest.width):
        raise UsageError(
            f"the model has {forest.width} features, but n_features is {n_features}; leave it out"
        )
    line = next((line for line in lines if line.startswith("objective=")), "objective=trees")
    objective = line.removeprefix("objective=").split(" ")[0]
    has_names = any(name != f"Column_{j}" for j, name in enumerate(names))
    return ForeignModel(model_from_forest(forest), objective, names if has_names else None)
