"""Composed model, the fitted model of CFBRS: many rankers on blocks of features."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.ensemble.cfbrs.block_weights import BlockModels, BlockWeights
from podium.ensemble.cfbrs.composed_model_parts import (
    describe_weights,
    own_models,
    read_all_weights,
    read_blocks,
    read_combination,
    read_models,
    read_prior,
)
from podium.ensemble.cfbrs.composition_plan import Features
from podium.ensemble.cfbrs.feature_blocks import BlockCombination
from podium.ensemble.nested_model_files import (
    number_parts,
)
from podium.ensemble.toprank.reranked_model import RerankedModel
from podium.errors import ModelFileError, UsageError
from podium.rankers import MODELS
from podium.rankers.models import Linear, Model, Part, count, json_part
from podium.typing import Floats


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
            "standings": [describe_weights(weights) for weights in everybody],
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
        blocks = read_blocks(parts, width)
        prior = read_prior(parts, len(blocks))
        with json_part(parts, "ensemble", "the blocks of the model") as ensemble:
            population, *classes = read_all_weights(ensemble["standings"], parts, len(blocks))
            models, *own = read_models(ensemble, parts, blocks, kinds)
            for turn, j in enumerate(own_models(ensemble)):
                classes[j - 1] = replace(classes[j - 1], models=own[turn])
            combination = read_combination(ensemble)
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
