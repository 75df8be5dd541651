"""Combination of models: the simplest model that equals a weighted sum of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from podium.data.groups import Groups
from podium.ensemble.score_sum import ScoreSum, SummedMember
from podium.errors import UsageError
from podium.rankers.merged_trees import WeightedTrees, merge_trees
from podium.rankers.models import Linear, Model, Part, Stumps
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.tree_model import Trees
from podium.typing import Floats


def offset_and_scale(scores: Floats, groups: Groups) -> tuple[float, float]:
    """Return the two numbers that standardise a member's scores: their mean, and their spread in a query.

    The spread is the square root of the mean variance within a query, over queries with two documents
    or more. Differences between queries do not change any order, so they do not count. A member whose
    scores are equal in each query has spread 1.

    Examples
    --------
    >>> offset_and_scale(np.array([0.0, 4.0, 100.0, 104.0]), Groups.from_sizes([2, 2]))
    (52.0, 2.0)
    """
    sizes = np.maximum(groups.sizes, 1)
    means = groups.reduce(np.add, scores) / sizes
    variances = groups.reduce(np.add, (scores - groups.spread(means)) ** 2) / sizes
    compared = variances[groups.sizes > 1]
    scale = math.sqrt(compared.mean()) if len(compared) else 0.0
    return float(scores.mean()), scale if scale > 0 else 1.0


def combine_models(
    models: Sequence[Model],
    weights: Sequence[float],
    offsets: Sequence[float],
    scales: Sequence[float],
) -> Model:
    """Return the simplest model that orders as sum_m weight_m (s_m(x) - offset_m) / scale_m does.

    Linear models become one linear model, trees one sum of trees, stumps one sum of stumps. Models
    after one and the same preparation are combined behind it. Anything else becomes a `ScoreSum`. The
    scores of merged models lack the constant sum_m weight_m offset_m / scale_m, which is the same for
    all documents; a single model with a positive weight keeps its own scores. Models of weight 0 are
    left out.

    Parameters
    ----------
    models
        Models of the same features.
    weights
        One weight per model.
    offsets, scales
        Two numbers per model that standardise its scores, as `offset_and_scale` returns them.

    Examples
    --------
    >>> models = Linear(np.array([1.0, 2.0])), Linear(np.array([0.0, 3.0]))
    >>> combine_models(models, weights=[1.0, 2.0], offsets=[0.5, 0.0], scales=[2.0, 1.0]).weights.tolist()
    [0.5, 7.0]
    """
    lengths = {len(weights), len(offsets), len(scales)}
    if lengths != {len(models)} or not models:
        raise UsageError(
            f"expected one weight, offset and scale per model, got {len(models)} models, "
            f"{len(weights)} weights, {len(offsets)} offsets and {len(scales)} scales"
        )
    rows = zip(models, weights, offsets, scales, strict=True)
    members = [SummedMember(m, float(w), float(o), float(s)) for m, w, o, s in rows]
    return combine_members(members, models[0].n_features)


def combine_members(members: Sequence[SummedMember], width: int) -> Model:
    """Return the simplest model that orders as the sum of these members does; see `combine_models`."""
    _check_members(members, width)
    used = [member for member in members if member.weight != 0]
    if not used:
        raise UsageError("expected a member with a weight other than 0, got none")
    first = used[0]
    if len(used) == 1 and first.columns is None and first.factor > 0:
        return first.model
    models = [member.model for member in used]
    if all(isinstance(model, Linear) for model in models):
        return _sum_linear(used, width)
    if all(isinstance(model, Stumps) for model in models):
        return _sum_stumps(used, width)
    if all(isinstance(model, Trees) for model in models):
        return _sum_trees(used, width)
    if _share_preparation(used):
        return _sum_behind_preparation(used)
    if any(isinstance(model, PreparedModel) and model.encoding is not None for model in models):
        raise UsageError(
            "the members turn the words of categories into numbers, each in its own way; expected "
            "one preparation around the whole sum, as in Prepared(...)"
        )
    return ScoreSum(tuple(used), width)


def _check_members(members: Sequence[SummedMember], width: int) -> None:
    for member in members:
        if not all(map(math.isfinite, (member.weight, member.offset, member.scale))):
            raise UsageError("expected finite weights, offsets and scales of models")
        if not member.scale > 0 or not math.isfinite(member.factor):
            raise UsageError(f"expected scales of models above 0, got {member.scale!r}")
        expected = width if member.columns is None else len(member.columns)
        if member.model.n_features != expected:
            raise UsageError(
                f"expected models of {expected} features, got one of {member.model.n_features}"
            )


def _sum_linear(members: Sequence[SummedMember], width: int) -> Linear:
    total = np.zeros(width)
    for member in members:
        assert isinstance(member.model, Linear)
        total += member.widen(member.factor * member.model.weights, width)
    return Linear(total)


def _sum_stumps(members: Sequence[SummedMember], width: int) -> Stumps:
    features, thresholds, alphas = [], [], []
    for member in members:
        assert isinstance(member.model, Stumps)
        own = member.model.features
        features.append(own if member.columns is None else np.array(member.columns)[own])
        thresholds.append(member.model.thresholds)
        alphas.append(member.factor * member.model.alphas)
    return Stumps(
        width, np.concatenate(features), np.concatenate(thresholds), np.concatenate(alphas)
    )


def _sum_trees(members: Sequence[SummedMember], width: int) -> Trees:
    """Return one sum of trees; its gains are shares, so that each member counts by its weight."""
    terms = []
    for member in members:
        assert isinstance(member.model, Trees)
        share = abs(member.weight)
        terms.append(WeightedTrees(member.model, member.factor, member.columns, share))
    return merge_trees(terms, width)


def _share_preparation(members: Sequence[SummedMember]) -> bool:
    """Whether all members have the same preparation of all features."""
    models = [member.model for member in members if member.columns is None]
    prepared = [model for model in models if isinstance(model, PreparedModel)]
    if len(prepared) != len(members):
        return False
    first = _preparation_parts(prepared[0])
    return all(_are_equal(first, _preparation_parts(model)) for model in prepared[1:])


def _preparation_parts(model: PreparedModel) -> dict[str, Part]:
    words = {} if model.encoding is None else model.encoding.parts()
    return {**words, **model.preparation.parts()}


def _are_equal(parts: dict[str, Part], others: dict[str, Part]) -> bool:
    return parts.keys() == others.keys() and all(
        np.array_equal(part, others[name]) for name, part in parts.items()
    )


def _sum_behind_preparation(members: Sequence[SummedMember]) -> PreparedModel:
    """Return the sum of the models behind one preparation."""
    first = members[0].model
    assert isinstance(first, PreparedModel)
    inner = []
    for member in members:
        assert isinstance(member.model, PreparedModel)
        inner.append(replace(member, model=member.model.model))
    return replace(first, model=combine_members(inner, first.preparation.n_outputs))
