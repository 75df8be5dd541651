"""LightGBM's text models: trees as they are, whatever their objective was.

Scores are those of ``Booster.predict(raw_score=True)``: sums of the trees, also of a random forest.
"""

from __future__ import annotations

from podium.errors import UsageError
from podium.exchange.lightgbm_text import read_forest, trees_model
from podium.exchange.lines import Lines
from podium.exchange.sources.content import Found


def lightgbm(lines: Lines, n_features: int | None = None) -> Found:
    """A file of ``Booster.save_model``; nothing of it reaches LightGBM but checked numbers."""
    forest, names = read_forest(lines)
    if n_features not in (None, forest.width):
        raise UsageError(
            f"expected {forest.width} features, as the model says, got n_features={n_features}"
        )
    told = next((line for line in lines if line.startswith("objective=")), "objective=trees")
    own = None if all(n == f"Column_{j}" for j, n in enumerate(names)) else names
    return Found(trees_model(forest), told.removeprefix("objective=").split(" ")[0], own)
