"""Many rankers on blocks of features as one model: what CFBRS has learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.ensemble.plan import Features
from podium.ensemble.standing import Standing
from podium.ensemble.votes import Combination
from podium.errors import ModelFileError, UsageError
from podium.rankers.models import Floats, Linear, Model, Part


@dataclass(frozen=True, eq=False)
class Composed(Model):
    """Models of blocks of features, and what each counts: for all users, and for classes of them.

    Parameters
    ----------
    width
        Features in all.
    blocks, models
        The features of each block, ascending, and its model of them.
    prior
        What each block counts before anything is measured: its share in the compositions times its
        size.
    how
        How the blocks' scores become one.
    population, classes
        What was learned of the blocks, for all users and for each class.
    """

    kind: ClassVar[str] = "composed"

    width: int
    blocks: tuple[Features, ...]
    models: tuple[Model, ...]
    prior: Floats
    how: Combination
    population: Standing
    classes: tuple[Standing, ...] = ()

    @property
    def n_features(self) -> int:
        """Features in all."""
        return self.width

    @cached_property
    def shares(self) -> Floats:
        """What each block counts for all users; they add up to 1."""
        return self.population.weights(self.prior)

    def standing(self, user_class: str | None) -> Standing | None:
        """What was learned for a class of users; None where it is unknown."""
        found = (s for s in self.classes if s.name == user_class)
        return self.population if user_class is None else next(found, None)

    def serving(self, standing: Standing) -> Composed:
        """The ensemble with the blocks' models that these users have."""
        return self if standing.models is None else replace(self, models=standing.models)

    @cached_property
    def has_linear_blocks(self) -> bool:
        """Whether all blocks' models are linear."""
        return all(type(model) is Linear for model in self.models)

    def linear(self, shares: Floats | None = None) -> Linear | None:
        """The ensemble as one linear model, where it is one."""
        if not (self.has_linear_blocks and self.how.is_linear):
            return None
        total = np.zeros(self.width)
        every = zip(
            self.shares if shares is None else shares, self.blocks, self.models, strict=True
        )
        for share, block, model in every:
            assert isinstance(model, Linear)
            total[list(block)] += share * model.weights
        return Linear(total)

    def block_scores(self, X: NDArray[Any], groups: Groups, some: NDArray[Any]) -> Floats:
        """The scores of these blocks, one column each."""
        out = np.empty((len(X), len(some)))
        for column, b in enumerate(some.tolist()):
            out[:, column] = self._block_scores(b, X, groups)
        return out

    def _block_scores(self, b: int, X: NDArray[Any], groups: Groups) -> Floats:
        columns, model = list(self.blocks[b]), self.models[b]
        if type(model) is Linear:  # no copy of the columns
            weights = np.zeros(self.width)
            weights[columns] = model.weights
            return kernels.matvec(X, weights)
        return model.scores(np.ascontiguousarray(X[:, columns]), groups)

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """The ensemble's scores for all users."""
        return self.scores_with(self.shares, X, groups)

    def scores_with(self, shares: Floats, X: NDArray[Any], groups: Groups) -> Floats:
        """The ensemble's scores where blocks count this much."""
        one = self.linear(shares)
        if one is not None:
            return one.predict(X)
        used = np.flatnonzero(shares)
        return self.how.votes(self.block_scores(X, groups, used), groups)(shares[used])

    def predict(self, X: NDArray[Any]) -> Floats:
        """Scores that depend on the other documents of a query need the queries."""
        if not self.how.is_linear:
            raise UsageError(
                "expected to know which rows are a query's, within which blocks are normalised or "
                "ranked: give a RankingData, or an array with query ids, as in "
                "predict(X, qid=qid); got features alone"
            )
        return self.scores(X, Groups.from_sizes([len(X)]))

    def contributions(self, X: NDArray[Any]) -> Floats:
        """What each feature adds through its blocks, where scores are added."""
        if not self.how.is_linear:
            raise UsageError(
                "expected blocks whose scores are added to explain by contributions, got ones that are "
                "normalised or ranked in each query; permutation_importance tells which features "
                "they need"
            )
        out = np.zeros(X.shape)
        for share, block, model in zip(self.shares, self.blocks, self.models, strict=True):
            columns = list(block)
            if share > 0:
                out[:, columns] += share * model.contributions(np.ascontiguousarray(X[:, columns]))
        return out

    def importance(self) -> Floats:
        """The features' shares in each block's model, weighted as the blocks are."""
        total = np.zeros(self.width)
        for share, block, model in zip(self.shares, self.blocks, self.models, strict=True):
            own = model.importance()
            total[list(block)] += share * own / (own.sum() or 1.0)
        return total

    def parts(self) -> dict[str, Part]:
        """See `composed_files`."""
        from podium.ensemble.composed_files import to_parts

        return to_parts(self)

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """See `composed_files`."""
        from podium.ensemble.composed_files import from_parts

        return cls(**from_parts(parts))


@dataclass(frozen=True, eq=False)
class LinearComposed(Linear):
    """An ensemble of linear rankers whose scores are added is one linear model, w = sum_b share(b) w_b.

    It is used as one; the blocks are kept, for classes of users and for feedback to come.

    Examples
    --------
    >>> blocks = (0,), (0, 1)
    >>> models = Linear(np.array([2.0])), Linear(np.array([0.0, 4.0]))
    >>> prior = np.array([1.0, 1.0])
    >>> ensemble = Composed(2, blocks, models, prior, Combination(), Standing.blank(2))
    >>> LinearComposed.of(ensemble).weights.tolist()
    [1.0, 2.0]
    """

    kind: ClassVar[str] = "composed-linear"

    composed: Composed

    @classmethod
    def of(cls, composed: Composed) -> Self:
        """The ensemble as one linear model."""
        one = composed.linear()
        assert one is not None
        return cls(one.weights, composed)

    def parts(self) -> dict[str, Part]:
        """Those of the ensemble."""
        return self.composed.parts()

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From those of an ensemble of linear rankers."""
        composed = Composed.from_parts(parts)
        if composed.linear() is None:
            raise ModelFileError("expected linear blocks whose scores are added")
        return cls.of(composed)


def as_model(composed: Composed) -> Composed | LinearComposed:
    """The ensemble as what it is."""
    return composed if composed.linear() is None else LinearComposed.of(composed)


def ensemble_of(model: Model) -> Composed:
    """The ensemble behind a model of this room."""
    if isinstance(model, LinearComposed):
        return model.composed
    assert isinstance(model, Composed)
    return model
