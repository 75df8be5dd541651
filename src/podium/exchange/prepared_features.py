"""The preparation of a model for engines: normalizers, sides of missing values, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from podium.data.categories import Category, listed_words
from podium.errors import CannotExpressError
from podium.exchange.normalizers import MinMax, Normalizer, Standard
from podium.rankers.forest import DEFAULT_LEFT, MISSING_NAN, Forest, Tree
from podium.rankers.importance import feature_names_of
from podium.rankers.models import Model
from podium.rankers.preparation import Preparation
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.ranker import Ranker
from podium.typing import Floats

MAX_LISTED_FILLS = 20
"""The number of features whose fill values a note lists."""


def split_preparation(model: Model) -> tuple[Preparation | None, Model]:
    """Return the preparation of a model, if it has one, and the model that sees prepared features."""
    if not isinstance(model, PreparedModel):
        return None, model
    return model.preparation, model.model


def encoded_features(ranker: Ranker) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the numeric features, and notes on categories that the engine must compute."""
    names, model = feature_names_of(ranker), ranker.model_
    encoding = model.encoding if isinstance(model, PreparedModel) else None
    if encoding is None:
        return names, ()
    notes = tuple(_category_note(names[j], words) for j, words in encoding.categories.items())
    return tuple(encoding.output_names(names)), notes


def _category_note(name: str, category: Category) -> str:
    if category.is_ordered:
        places = ", ".join(f"{word} {i}" for i, word in enumerate(category.words))
        return f"the engine must compute feature {name!r} as a number: {places}"
    first = category.words[0] if category.words else "..."
    return (
        f"the engine must compute one feature per word of {name!r}: {f'{name}={first}'!r} is 1 for "
        f"documents whose {name} is {first!r}, else 0; words: {listed_words(category.words)}"
    )


def normalizers_of(preparation: Preparation) -> tuple[Normalizer | None, ...]:
    """Return the scaling over the training data as normalizers; raise for steps that engines lack."""
    if preparation.needs_groups:
        raise CannotExpressError(
            f"the model scales within queries ({preparation.scale}), which needs all "
            "documents of a query, but engines score one document at a time"
        ).advise(
            python="nearest: scale='zscore' or 'minmax', which are over the training data",
            command_line="nearest: --scale zscore or minmax, which are over the training data",
        )
    steps = {"log1p": preparation.log1p, "clip": preparation.clip}
    for step, features in steps.items():
        if features:
            raise CannotExpressError(
                f"engines scale features by two numbers each, but this model also uses {step}"
            ).advise(
                python=f"nearest: let the engine compute such features, and train without {step}=",
                command_line="nearest: let the engine compute such features, and train without "
                f"--{step}",
            )
    if preparation.indicators:
        raise CannotExpressError("engines have no indicators of missing values").advise(
            python="nearest: train without indicators",
            command_line="nearest: train without --indicators",
        )
    if preparation.shift is None or preparation.divisor is None:
        return (None,) * preparation.n_features
    numbers = zip(preparation.shift.tolist(), preparation.divisor.tolist(), strict=True)
    return tuple(_normalizer(preparation.scale, shift, divisor) for shift, divisor in numbers)


def _normalizer(scale: str, shift: float, divisor: float) -> Normalizer | None:
    if (shift, divisor) == (0.0, 1.0):
        return None
    is_exact = (shift + divisor) - shift == divisor
    return (
        MinMax(shift, shift + divisor)
        if scale == "minmax" and is_exact
        else Standard(shift, divisor)
    )


def fill_missing(forest: Forest, preparation: Preparation) -> Forest:
    """Return trees that send a missing value to the side of its fill value."""
    if preparation.fill is None:
        return forest
    fill = np.array(preparation.fill)
    if preparation.shift is not None and preparation.divisor is not None:
        fill = (fill - preparation.shift) / preparation.divisor
    return replace(forest, trees=tuple(_fill_tree(tree, fill) for tree in forest.trees))


def _fill_tree(tree: Tree, fill: Floats) -> Tree:
    goes_left = fill[tree.feature] <= tree.threshold
    return replace(tree, decision=np.where(goes_left, DEFAULT_LEFT, 0) | MISSING_NAN)


def fill_notes(preparation: Preparation, names: Sequence[str]) -> tuple[str, ...]:
    """Return notes on missing values for an engine that does not fill them in."""
    if preparation.fill is None:
        return ()
    values = [
        f"{name} {value:.9g}" for name, value in zip(names, preparation.fill.tolist(), strict=True)
    ]
    more = ", ..." if len(values) > MAX_LISTED_FILLS else ""
    return (
        "the model fills in missing values, but the engine does not; give documents that "
        f"lack a feature its fill value: {', '.join(values[:MAX_LISTED_FILLS])}{more}",
    )
