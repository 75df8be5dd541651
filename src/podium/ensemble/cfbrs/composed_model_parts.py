"""Parts of a composed model in its file: blocks, weights, models. Keys are those of the first version."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.ensemble.cfbrs.block_weights import TEMPERATURES, BlockModels, BlockWeights
from podium.ensemble.cfbrs.composition_plan import Features
from podium.ensemble.cfbrs.feature_blocks import BlockCombination
from podium.ensemble.nested_model_files import (
    check_nesting,
    parts_by_model,
    read_aggregator,
    read_nested_model,
    read_number,
)
from podium.errors import ModelFileError
from podium.rankers.models import Linear, Model, Part, vector
from podium.typing import Floats

MAX_BLOCKS = 1 << 20
"""The maximum number of blocks in a model file; more could be an attack."""
MAX_WEIGHT = 1e100
"""The largest gain or weight in a model file, so that sums are finite."""


def describe_weights(weights: BlockWeights) -> dict[str, Any]:
    """Return weights as JSON, without their gains."""
    trials: dict[str, Any] = {}
    if weights.trial_sums is not None:
        trials = {"trials": weights.trial_sums.tolist(), "tried": weights.n_trial_queries}
    return {
        "name": weights.name,
        "mass": weights.mass,
        "temperature": _finite_or_none(weights.temperature),
        "queries": weights.queries,
        "error": _finite_or_none(weights.error),
        "own": weights.models is not None,
        **trials,
    }


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def read_blocks(parts: dict[str, Part], width: int) -> tuple[Features, ...]:
    """Return the features of each block."""
    sizes, features = vector(parts, "sizes", np.int64), vector(parts, "features", np.int64)
    if not 1 <= len(sizes) <= MAX_BLOCKS or sizes.min() < 1:
        raise ModelFileError(f"expected 1 to {MAX_BLOCKS} blocks of 1 feature or more")
    if int(sizes.sum()) != len(features):
        raise ModelFileError("the number of features must be that of the blocks")
    blocks = tuple(tuple(block.tolist()) for block in np.split(features, np.cumsum(sizes)[:-1]))
    for block in blocks:
        if block[0] < 0 or block[-1] >= width or any(a >= b for a, b in itertools.pairwise(block)):
            raise ModelFileError(f"expected blocks of ascending features 0 to {width - 1}")
    if len(set(features.tolist())) != width:
        raise ModelFileError("every feature must be in a block")
    return blocks


def read_prior(parts: dict[str, Part], n_blocks: int) -> Floats:
    """Return the weight of each block before any measurement."""
    prior = vector(parts, "prior")
    if len(prior) != n_blocks or prior.min() < 0 or not prior.any():
        raise ModelFileError("expected one weight of 0 or more per block")
    if prior.max() > MAX_WEIGHT:
        raise ModelFileError("the blocks' weights are too large: their sum is not finite")
    return prior


def own_models(ensemble: Mapping[str, Any]) -> list[int]:
    """Return the places in "standings" of the classes that have their own models."""
    own = [j for j, entry in enumerate(ensemble["standings"]) if entry.get("own", False)]
    if 0 in own:
        raise ModelFileError("the entry of all users must not have its own models")
    return own


def read_models(
    ensemble: Mapping[str, Any],
    parts: dict[str, Part],
    blocks: Sequence[Features],
    known_kinds: Mapping[str, type[Model]],
) -> list[BlockModels]:
    """Return the models of all users, then those of each class that has its own."""
    n, n_sets, kinds = len(blocks), 1 + len(own_models(ensemble)), ensemble["models"]
    sizes = [len(block) for block in blocks] * n_sets
    if kinds is None:
        weights = vector(parts, "weights")
        if len(weights) != sum(sizes):
            raise ModelFileError("expected one weight per feature of a block")
        split = np.split(weights, np.cumsum(sizes)[:-1])
        models: BlockModels = tuple(Linear(np.ascontiguousarray(w)) for w in split)
    else:
        models = _read_nested_models(kinds, parts, sizes, known_kinds)
    return [models[n * i : n * (i + 1)] for i in range(n_sets)]


def _read_nested_models(
    kinds: Any, parts: dict[str, Part], sizes: Sequence[int], known_kinds: Mapping[str, type[Model]]
) -> BlockModels:
    check_nesting(parts)
    if len(kinds) != len(sizes) or not all(kind in known_kinds for kind in kinds):
        raise ModelFileError("expected a known kind of model for each block")
    own = parts_by_model(parts)
    models = tuple(
        read_nested_model(kind, own.get(i, {}), known_kinds) for i, kind in enumerate(kinds)
    )
    if any(model.n_features != size for model, size in zip(models, sizes, strict=True)):
        raise ModelFileError("expected models with as many features as their blocks")
    return models


def read_combination(ensemble: Mapping[str, Any]) -> BlockCombination:
    """Return how the blocks' scores are combined."""
    name, normalise = ensemble["aggregator"], ensemble["normalise"]
    if normalise not in (None, "zscore"):
        raise ModelFileError(f"unknown normalisation: {normalise!r:.80}")
    aggregator = None if name is None else read_aggregator(name, ensemble["options"])
    return BlockCombination(aggregator, normalise)


def read_all_weights(
    entries: Sequence[Mapping[str, Any]], parts: dict[str, Part], n_blocks: int
) -> list[BlockWeights]:
    """Return the weights of all users, then those of each class."""
    gains = vector(parts, "gains")
    if not entries or len(gains) != len(entries) * n_blocks:
        raise ModelFileError("expected one gain per block, for all users and for each class")
    names = [entry["name"] for entry in entries]
    if names[0] is not None or not all(isinstance(name, str) for name in names[1:]):
        raise ModelFileError(
            "the first entry must be for all users, and the others must have the names of classes"
        )
    if len(set(names)) != len(names):
        raise ModelFileError("the names of the classes must differ")
    rows = gains.reshape(len(entries), n_blocks)
    return [_read_weights(entry, row) for entry, row in zip(entries, rows, strict=True)]


def _read_weights(entry: Mapping[str, Any], gains: Floats) -> BlockWeights:
    mass, trials = read_number(entry["mass"], 0.0), entry.get("trials")
    if mass > 0 and float(np.max(np.abs(gains))) > MAX_WEIGHT * mass:
        raise ModelFileError("the gains are too large: their mean is not finite")
    if trials is not None and len(trials) != len(TEMPERATURES):
        raise ModelFileError(f"expected trials of {len(TEMPERATURES)} temperatures")
    return BlockWeights(
        entry["name"],
        np.ascontiguousarray(gains),
        mass,
        math.inf if entry["temperature"] is None else _read_positive(entry["temperature"]),
        int(read_number(entry["queries"], 0.0)),
        math.nan if entry["error"] is None else read_number(entry["error"]),
        trial_sums=None if trials is None else np.array([read_number(sum_) for sum_ in trials]),
        n_trial_queries=int(read_number(entry.get("tried", 0), 0.0)),
    )


def _read_positive(value: object) -> float:
    number = read_number(value, 0.0)
    if number == 0:
        raise ValueError("a temperature of 0")
    return number
