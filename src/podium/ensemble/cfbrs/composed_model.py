"""Composed model, the fitted model of CFBRS: many rankers on blocks of features, and its file form."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.ensemble.cfbrs.block_weights import TEMPERATURES, BlockWeights
from podium.ensemble.cfbrs.composition_plan import Features
from podium.ensemble.cfbrs.feature_blocks import BlockCombination
from podium.ensemble.nested_model_files import (
    check_nesting,
    number_parts,
    parts_by_model,
    read_aggregator,
    read_nested_model,
    read_number,
)
from podium.ensemble.toprank.reranked_model import RerankedModel
from podium.errors import ModelFileError, UsageError
from podium.rankers import MODELS
from podium.rankers.models import Linear, Model, Part, count, json_part, vector
from podium.typing import Floats

BlockModels = tuple[Model, ...]
"""One model per block."""

MAX_BLOCKS = 1 << 20
"""The maximum number of blocks in a model file; more could be an attack."""
MAX_WEIGHT = 1e100
"""The largest gain or weight in a model file, so that sums are finite."""


@dataclass(frozen=True, eq=False)
class ComposedModel(Model):
    """Models of blocks of features, and their weights for all users and for classes of users.

    Parameters
    ----------
    width
        The number of features.
    blocks, models
        The features of each block, ascending, and the model of each block.
    prior
        The weight of each block before any measurement: its share in the compositions times its
        size.
    combination
        How the blocks' scores are combined.
    population, classes
        The block weights of all users, and of each class.
    """

    kind: ClassVar[str] = "composed"

    width: int
    blocks: tuple[Features, ...]
    models: BlockModels
    prior: Floats
    combination: BlockCombination
    population: BlockWeights
    classes: tuple[BlockWeights, ...] = ()

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.width

    @cached_property
    def shares(self) -> Floats:
        """The weight of each block for all users; the weights add up to 1."""
        return self.population.shares(self.prior)

    def weights_of(self, user_class: str | None) -> BlockWeights | None:
        """Return the weights of a class of users; None if it is unknown."""
        if user_class is None:
            return self.population
        return next((weights for weights in self.classes if weights.name == user_class), None)

    def for_users(self, weights: BlockWeights) -> ComposedModel:
        """Return the ensemble for users with these weights, and with their own models if they have any."""
        models = self.models if weights.models is None else weights.models
        return replace(self, models=models, population=weights)

    @cached_property
    def has_linear_blocks(self) -> bool:
        """Whether all blocks' models are linear."""
        return _are_linear(self.models)

    def linear(self) -> Linear | None:
        """Return the ensemble as one linear model; None if it is not linear."""
        if not (self.has_linear_blocks and self.combination.is_linear):
            return None
        total = np.zeros(self.width)
        for share, block, model in zip(self.shares, self.blocks, self.models, strict=True):
            assert isinstance(model, Linear)
            total[list(block)] += share * model.weights
        return Linear(total)

    def block_scores(self, X: NDArray[Any], groups: Groups, numbers: NDArray[Any]) -> Floats:
        """Return the scores of the blocks of these numbers, one column per block."""
        scores = np.empty((len(X), len(numbers)))
        for column, b in enumerate(numbers.tolist()):
            scores[:, column] = self._scores_of_block(b, X, groups)
        return scores

    def _scores_of_block(self, b: int, X: NDArray[Any], groups: Groups) -> Floats:
        columns, model = list(self.blocks[b]), self.models[b]
        if type(model) is Linear:  # no copy of the columns
            weights = np.zeros(self.width)
            weights[columns] = model.weights
            return kernels.matvec(X, weights)
        return model.scores(np.ascontiguousarray(X[:, columns]), groups)

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return the ensemble's scores for all users."""
        linear = self.linear()
        if linear is not None:
            return linear.predict(X)
        used = np.flatnonzero(self.shares)
        votes = self.combination.votes(self.block_scores(X, groups, used), groups)
        return votes(self.shares[used])

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return the scores for all users; raise if scores depend on the other documents of the query."""
        if not self.combination.is_linear:
            raise UsageError(
                "the blocks are normalised or ranked within queries, but the query ids are "
                "missing; use a RankingData, or an array with query ids, as in predict(X, qid=qid)"
            )
        return self.scores(X, Groups.from_sizes([len(X)]))

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return what each feature adds through its blocks; raise if the blocks' scores are not summed."""
        if not self.combination.is_linear:
            raise UsageError(
                "the blocks are normalised or ranked in each query, so features have no "
                "contributions; permutation_importance measures which features matter"
            )
        total = np.zeros(X.shape)
        for share, block, model in zip(self.shares, self.blocks, self.models, strict=True):
            columns = list(block)
            if share > 0:
                own = model.contributions(np.ascontiguousarray(X[:, columns]))
                total[:, columns] += share * own
        return total

    def importance(self) -> Floats:
        """Return the features' shares in each block's model, weighted by the blocks' weights."""
        total = np.zeros(self.width)
        for share, block, model in zip(self.shares, self.blocks, self.models, strict=True):
            own = model.importance()
            total[list(block)] += share * own / (own.sum() or 1.0)
        return total

    def parts(self) -> dict[str, Part]:
        """Return blocks, weights and sums as arrays, non-linear models by number, and the rest as JSON."""
        everybody = (self.population, *self.classes)
        own = (weights.models for weights in self.classes if weights.models is not None)
        models = [*self.models, *itertools.chain(*own)]
        is_linear, aggregator = _are_linear(models), self.combination.aggregator
        ensemble = {
            "aggregator": None if aggregator is None else aggregator.name,
            "options": {} if aggregator is None else dataclasses.asdict(aggregator),
            "normalise": self.combination.normalise,
            "models": None if is_linear else [model.kind for model in models],
            "standings": [_describe_weights(weights) for weights in everybody],
        }
        parts: dict[str, Part] = {
            "ensemble": json.dumps(ensemble, indent=1, allow_nan=False),
            "width": np.array([self.width]),
            "sizes": np.array([len(block) for block in self.blocks]),
            "features": np.array(list(itertools.chain(*self.blocks))),
            "prior": self.prior,
            "gains": np.concatenate([weights.gains for weights in everybody]),
        }
        if is_linear:
            linear = [model.weights for model in models if isinstance(model, Linear)]
            return parts | {"weights": np.concatenate(linear)}
        return parts | number_parts(models)

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts; blocks have models of ``podium.rankers``, or re-ranked ones."""
        return cls.read(parts, {**MODELS, RerankedModel.kind: RerankedModel})

    @classmethod
    def read(cls, parts: dict[str, Part], kinds: Mapping[str, type[Model]]) -> Self:
        """Build the model from its parts; raise ModelFileError if they do not fit each other."""
        width = count(parts, "width")
        blocks = _read_blocks(parts, width)
        prior = _read_prior(parts, len(blocks))
        with json_part(parts, "ensemble", "the blocks of the model") as ensemble:
            population, *classes = _read_all_weights(ensemble["standings"], parts, len(blocks))
            models, *own = _read_models(ensemble, parts, blocks, kinds)
            for turn, j in enumerate(_own_models(ensemble)):
                classes[j - 1] = replace(classes[j - 1], models=own[turn])
            combination = _read_combination(ensemble)
        return cls(width, blocks, models, prior, combination, population, tuple(classes))


def _are_linear(models: Sequence[Model]) -> bool:
    return all(type(model) is Linear for model in models)


@dataclass(frozen=True, eq=False)
class LinearComposedModel(Linear):
    """An ensemble of linear rankers whose scores are added: one linear model, w = sum_b share(b) w_b.

    It computes scores like a linear model. The blocks are kept for classes of users and later
    feedback.

    Examples
    --------
    >>> blocks = (0,), (0, 1)
    >>> models = Linear(np.array([2.0])), Linear(np.array([0.0, 4.0]))
    >>> prior, population = np.array([1.0, 1.0]), BlockWeights.empty(2)
    >>> ensemble = ComposedModel(2, blocks, models, prior, BlockCombination(), population)
    >>> LinearComposedModel.of(ensemble).weights.tolist()
    [1.0, 2.0]
    """

    kind: ClassVar[str] = "composed-linear"

    composed: ComposedModel

    @classmethod
    def of(cls, composed: ComposedModel) -> Self:
        """Return the ensemble as one linear model."""
        linear = composed.linear()
        assert linear is not None
        return cls(linear.weights, composed)

    def parts(self) -> dict[str, Part]:
        """Return the parts of the ensemble."""
        return self.composed.parts()

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from the parts of an ensemble; raise ModelFileError if it is not linear."""
        composed = ComposedModel.from_parts(parts)
        if composed.linear() is None:
            raise ModelFileError("expected linear blocks whose scores are added")
        return cls.of(composed)


def simplest_model(composed: ComposedModel) -> ComposedModel | LinearComposedModel:
    """Return the ensemble, as a linear model if it is one."""
    return composed if composed.linear() is None else LinearComposedModel.of(composed)


def ensemble_of(model: Model) -> ComposedModel:
    """Return the ensemble of a model that `simplest_model` returned."""
    if isinstance(model, LinearComposedModel):
        return model.composed
    assert isinstance(model, ComposedModel)
    return model


# --- the file form; keys are those of the first version ---


def _describe_weights(weights: BlockWeights) -> dict[str, Any]:
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


def _read_blocks(parts: dict[str, Part], width: int) -> tuple[Features, ...]:
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


def _read_prior(parts: dict[str, Part], n_blocks: int) -> Floats:
    prior = vector(parts, "prior")
    if len(prior) != n_blocks or prior.min() < 0 or not prior.any():
        raise ModelFileError("expected one weight of 0 or more per block")
    if prior.max() > MAX_WEIGHT:
        raise ModelFileError("the blocks' weights are too large: their sum is not finite")
    return prior


def _own_models(ensemble: Mapping[str, Any]) -> list[int]:
    """Return the places in "standings" of the classes that have their own models."""
    own = [j for j, entry in enumerate(ensemble["standings"]) if entry.get("own", False)]
    if 0 in own:
        raise ModelFileError("the entry of all users must not have its own models")
    return own


def _read_models(
    ensemble: Mapping[str, Any],
    parts: dict[str, Part],
    blocks: Sequence[Features],
    known_kinds: Mapping[str, type[Model]],
) -> list[BlockModels]:
    """Return the models of all users, then those of each class that has its own."""
    n, n_sets, kinds = len(blocks), 1 + len(_own_models(ensemble)), ensemble["models"]
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


def _read_combination(ensemble: Mapping[str, Any]) -> BlockCombination:
    name, normalise = ensemble["aggregator"], ensemble["normalise"]
    if normalise not in (None, "zscore"):
        raise ModelFileError(f"unknown normalisation: {normalise!r:.80}")
    aggregator = None if name is None else read_aggregator(name, ensemble["options"])
    return BlockCombination(aggregator, normalise)


def _read_all_weights(
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
