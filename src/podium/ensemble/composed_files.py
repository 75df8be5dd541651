"""An ensemble of blocks as the parts of a model file, and back, trusting nothing."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.archives import read_json
from podium.ensemble.reranked import DEEPEST, Reranked, aggregator_of, by_member, number
from podium.ensemble.standing import TEMPERATURES, Standing
from podium.ensemble.votes import Combination
from podium.errors import ModelFileError
from podium.rankers.model_files import MODELS
from podium.rankers.models import Floats, Linear, Model, Part, count, vector

if TYPE_CHECKING:
    from podium.ensemble.composed import Composed

MOST_BLOCKS = 1 << 20
"""What a model file may hold; more is taken for an attack."""
LARGEST = 1e100
"""Gains and weights beyond this are none: their sums would not be numbers."""


def to_parts(composed: Composed) -> dict[str, Part]:
    """Blocks, weights and sums as arrays, the rest as JSON, models that are not linear by number."""
    standings = (composed.population, *composed.classes)
    parts: dict[str, Part] = {
        "ensemble": json.dumps(_told(composed, standings), indent=1, allow_nan=False),
        "width": np.array([composed.width]),
        "sizes": np.array([len(block) for block in composed.blocks]),
        "features": np.array(list(itertools.chain(*composed.blocks))),
        "prior": composed.prior,
        "gains": np.concatenate([standing.gains for standing in standings]),
    }
    models = _every_model(composed)
    if _all_linear(models):
        weights = [m.weights for m in models if isinstance(m, Linear)]
        return parts | {"weights": np.concatenate(weights)}
    for i, model in enumerate(models):
        parts |= {f"{i}/{name}": part for name, part in model.parts().items()}
    return parts


def _every_model(composed: Composed) -> list[Model]:
    """Everybody's, then those of the classes that have their own."""
    own = (standing.models for standing in composed.classes if standing.models is not None)
    return [*composed.models, *itertools.chain(*own)]


def _all_linear(models: Sequence[Model]) -> bool:
    return all(type(model) is Linear for model in models)


def _told(composed: Composed, standings: Sequence[Standing]) -> dict[str, Any]:
    how, models = composed.how, _every_model(composed)
    return {
        "aggregator": None if how.aggregator is None else how.aggregator.name,
        "options": {} if how.aggregator is None else dataclasses.asdict(how.aggregator),
        "normalise": how.normalise,
        "models": None if _all_linear(models) else [m.kind for m in models],
        "standings": [
            {
                "name": s.name,
                "mass": s.mass,
                "temperature": _or_none(s.temperature),
                "queries": s.queries,
                "error": _or_none(s.error),
                "own": s.models is not None,
                **_trials(s),
            }
            for s in standings
        ],
    }


def _trials(standing: Standing) -> dict[str, Any]:
    if standing.trials is None:
        return {}
    return {"trials": standing.trials.tolist(), "tried": standing.tried}


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def from_parts(parts: dict[str, Part]) -> dict[str, Any]:
    """The fields of a `Composed`; raises ModelFileError where the parts do not fit."""
    text = parts.get("ensemble")
    if not isinstance(text, str):
        raise ModelFileError("expected a text named 'ensemble' in the model")
    width, sizes = count(parts, "width"), vector(parts, "sizes", np.int64)
    if not 1 <= len(sizes) <= MOST_BLOCKS or sizes.min() < 1:
        raise ModelFileError(f"expected 1 to {MOST_BLOCKS} blocks of 1 feature or more")
    features = vector(parts, "features", np.int64)
    if int(sizes.sum()) != len(features):
        raise ModelFileError("expected as many features as the blocks have")
    ends = np.cumsum(sizes)[:-1]
    blocks = tuple(tuple(block.tolist()) for block in np.split(features, ends))
    for block in blocks:
        if block[0] < 0 or block[-1] >= width or any(a >= b for a, b in itertools.pairwise(block)):
            raise ModelFileError(f"expected blocks of ascending features 0 to {width - 1}")
    if len(set(features.tolist())) != width:
        raise ModelFileError("expected each feature in some block")
    prior = vector(parts, "prior")
    if len(prior) != len(blocks) or prior.min() < 0 or not prior.any():
        raise ModelFileError("expected what each block counts, 0 or more")
    if prior.max() > LARGEST:
        raise ModelFileError("expected what blocks count to add up to a number")
    try:
        told = read_json(text)
        standings = _standings(told["standings"], vector(parts, "gains"), len(blocks))
        own = [j for j, one in enumerate(told["standings"]) if one.get("own", False)]
        if 0 in own:
            raise ModelFileError("expected everybody's models for all users")
        models = _models(told["models"], parts, np.tile(sizes, 1 + len(own)))
        n = len(blocks)
        for turn, j in enumerate(own, start=1):
            mine = models[n * turn : n * (turn + 1)]
            standings[j] = dataclasses.replace(standings[j], models=mine)
        return {
            "width": width,
            "blocks": blocks,
            "models": models[:n],
            "prior": prior,
            "how": _combination(told),
            "population": standings[0],
            "classes": tuple(standings[1:]),
        }
    except ModelFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"expected blocks and how they are combined in the model, got something else ({error})"
        ) from error


def _models(kinds: Any, parts: dict[str, Part], sizes: NDArray[np.int64]) -> tuple[Model, ...]:
    """A model for each block, everybody's and then the classes' own."""
    ends = np.cumsum(sizes)[:-1]
    if kinds is None:
        weights = vector(parts, "weights")
        if len(weights) != int(sizes.sum()):
            raise ModelFileError("expected one weight for each feature of a block")
        return tuple(Linear(np.ascontiguousarray(w)) for w in np.split(weights, ends))
    if any(name.count("/") > DEEPEST for name in parts):
        raise ModelFileError(f"expected models within models {DEEPEST} deep at most")
    known: dict[str, type[Model]] = {**MODELS, Reranked.kind: Reranked}
    if len(kinds) != len(sizes) or not all(kind in known for kind in kinds):
        raise ModelFileError("expected a known kind of model for each block")
    own = by_member(parts)
    made = tuple(known[kind].from_parts(own.get(i, {})) for i, kind in enumerate(kinds))
    if any(model.n_features != size for model, size in zip(made, sizes.tolist(), strict=True)):
        raise ModelFileError("expected models with as many features as their blocks")
    return made


def _combination(told: Mapping[str, Any]) -> Combination:
    name, normalise = told["aggregator"], told["normalise"]
    if normalise not in (None, "zscore"):
        raise ModelFileError(f"expected a known way to normalise, got {normalise!r:.80}")
    return Combination(None if name is None else aggregator_of(name, told["options"]), normalise)


def _standings(told: Sequence[Mapping[str, Any]], gains: Floats, n: int) -> list[Standing]:
    if not told or len(gains) != len(told) * n:
        raise ModelFileError("expected one gain for each block, for all users and for each class")
    names = [one["name"] for one in told]
    if names[0] is not None or not all(isinstance(name, str) for name in names[1:]):
        raise ModelFileError("expected what holds for all users, then classes with names")
    if len(set(names)) != len(names):
        raise ModelFileError("expected classes with names of their own")
    rows = gains.reshape(len(told), n)
    return [_standing(one, row) for one, row in zip(told, rows, strict=True)]


def _standing(told: Mapping[str, Any], gains: Floats) -> Standing:
    mass, trials = number(told["mass"], 0.0), told.get("trials")
    if mass > 0 and float(np.max(np.abs(gains))) > LARGEST * mass:
        raise ModelFileError("expected gains whose mean is a number")
    if trials is not None and len(trials) != len(TEMPERATURES):
        raise ModelFileError(f"expected trials of {len(TEMPERATURES)} temperatures")
    return Standing(
        told["name"],
        np.ascontiguousarray(gains),
        mass,
        math.inf if told["temperature"] is None else _positive(told["temperature"]),
        int(number(told["queries"], 0.0)),
        math.nan if told["error"] is None else number(told["error"]),
        trials=None if trials is None else np.array([number(value) for value in trials]),
        tried=int(number(told.get("tried", 0), 0.0)),
    )


def _positive(value: object) -> float:
    found = number(value, 0.0)
    if found == 0:
        raise ValueError("a temperature of 0")
    return found
