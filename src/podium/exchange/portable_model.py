"""A fitted ranker in the forms that engines support: a weighted sum, trees, a network, or their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from podium.ensemble import (
    CFBRS,
    ComposedModel,
    LinearComposedModel,
    RerankedModel,
    ScoreSum,
)
from podium.errors import CannotExpressError, UnknownNameError, UsageError
from podium.exchange.float32 import LARGEST_FLOAT32, largest_argument
from podium.exchange.lightgbm_text import forest_from_model
from podium.exchange.normalizers import Normalizer, read_normalizers, scaled_by_query_error
from podium.exchange.prepared_features import (
    encoded_features,
    fill_missing,
    fill_notes,
    normalizers_of,
    split_preparation,
)
from podium.exchange.trees import DEFAULT_LEFT, MISSING_NAN, Forest, Tree
from podium.multitask import RPCMTLModel
from podium.rankers.mlp import Network
from podium.rankers.models import Linear, Model, Stumps
from podium.rankers.preparation import Preparation
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.ranker import Ranker
from podium.rankers.tree_model import Trees
from podium.rankers.wrapped_ranker import innermost_ranker
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum sum_j w_j n_j(x_j); n_j is the normalizer of feature j, or none.

    Examples
    --------
    >>> WeightedSum(np.array([2.0, 1.0]), (None, None)).predict(np.array([[1.0, 3.0]])).tolist()
    [5.0]
    """

    weights: Floats
    normalizers: tuple[Normalizer | None, ...]

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return one score per row."""
        return np.asarray(scale_columns(X, self.normalizers) @ self.weights, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SumOfForms:
    """A sum of forms over the same features.

    Examples
    --------
    >>> forest = Forest(1, (Tree.stump(0, 0.5, 0.0, 2.0),))
    >>> form = SumOfForms((WeightedSum(np.array([3.0]), (None,)), forest))
    >>> form.predict(np.array([[0.0], [1.0]])).tolist()
    [0.0, 5.0]
    """

    terms: tuple[WeightedSum | Forest | Network, ...]

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return one score per row."""
        return np.asarray(np.sum([term.predict(X) for term in self.terms], axis=0))

    def describe(self) -> str:
        """Return the terms in words."""
        return " and ".join(_FORM_WORDS[type(term)] for term in self.terms)


_FORM_WORDS = {WeightedSum: "a weighted sum", Forest: "trees", Network: "a network"}
Form = WeightedSum | Forest | Network | SumOfForms


@dataclass(frozen=True, eq=False)
class PortableModel:
    """The model that exporters take: its form, the names of its features and of its ranker.

    `scaled` names the scaling within queries of the data it was trained on, if any; `notes` say what
    a user of the engine has to do.
    """

    form: Form
    names: tuple[str, ...]
    ranker: str
    scaled: str | None = None
    notes: tuple[str, ...] = ()


def make_portable(
    model: Any,
    *,
    feature_names: Sequence[str] | Mapping[str, str] | None = None,
    normalizers: Any = None,
    member: str | None = None,
    user_class: str | None = None,
) -> PortableModel:
    """Return the form of a fitted ranker, or of a pipeline of a scaler and one; see `export_model`.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> model = make_portable(RankSVM().fit(make_synthetic(n_queries=20, n_features=2, seed=0)))
    >>> type(model.form).__name__, model.names
    ('WeightedSum', ('f1', 'f2'))
    """
    ranker, scaler = _split_pipeline(model)
    if scaler is not None and normalizers is not None:
        raise UsageError(
            "the pipeline has a scaler, and normalizers are given, too; use only one of them"
        )
    preparation, learned = split_preparation(ranker.model_)
    if preparation is not None and (scaler is not None or normalizers is not None):
        raise UsageError(
            "the model prepares its features, and normalizers are given, too; use only one of them"
        )
    ranker_name = innermost_ranker(ranker).name
    if member is not None:
        learned, ranker_name = _find_member(learned, member, ranker_name)
        preparation, learned = _prepared_once(preparation, learned)
    if user_class is not None:
        learned = _model_of_class(ranker, learned, user_class)
    own_names, word_notes = encoded_features(ranker)
    names = _rename_features(own_names, scaler, feature_names)
    by_feature = read_normalizers(normalizers if scaler is None else scaler, names)
    if preparation is not None:
        by_feature = normalizers_of(preparation)
    if any(by_feature) and ranker.trained_.scaled is not None:
        # It is unknown whether the data was scaled before or after them.
        raise scaled_by_query_error(ranker.trained_.scaled)
    form, notes = form_of(learned, ranker_name), tuple[str, ...]()
    if preparation is not None:
        form = _fill_trees(form, preparation)
        notes = () if isinstance(form, Forest) else fill_notes(preparation, names)
    form = _with_normalizers(form, by_feature)
    return PortableModel(form, names, ranker_name, ranker.trained_.scaled, (*word_notes, *notes))


def _prepared_once(
    preparation: Preparation | None, member: Model
) -> tuple[Preparation | None, Model]:
    """Return the preparation of a member, or of its ensemble, and the model after it."""
    own, model = split_preparation(member)
    if own is not None and preparation is not None:
        raise CannotExpressError(
            "engines scale features once, but both this member and its ensemble prepare them; "
            "nearest: only one preparation"
        )
    return own or preparation, model


def _split_pipeline(model: Any) -> tuple[Ranker, Any]:
    """Return the ranker of a model and the scaler before it, if any."""
    if isinstance(model, Ranker):
        check_is_fitted(model, "model_")
        return model, None
    if isinstance(model, Pipeline) and isinstance(model[-1], Ranker):
        check_is_fitted(model[-1], "model_")
        if len(model) == 1:
            return model[-1], None
        if len(model) == 2:
            return model[-1], model[0]
        raise CannotExpressError(
            f"engines scale features once, but the pipeline has {len(model)} steps; nearest: "
            "a pipeline of one scaler and a ranker"
        )
    raise UsageError(
        "expected a fitted ranker, or a pipeline of a scaler and a ranker, got "
        f"{type(model).__name__}"
    )


def _rename_features(
    own: tuple[str, ...], scaler: Any, new_names: Sequence[str] | Mapping[str, str] | None
) -> tuple[str, ...]:
    """Return the names of the features in the engine."""
    if scaler is not None:  # the ranker saw an array without names
        own = tuple(getattr(scaler, "feature_names_in_", own))
    if isinstance(new_names, str):
        raise UsageError(f"expected a list of feature names, got the text {new_names!r}")
    if isinstance(new_names, Mapping):
        for name in new_names:
            if name not in own:
                raise UnknownNameError("feature", str(name), own)
        names = tuple(new_names.get(name, name) for name in own)
    else:
        names = tuple(own if new_names is None else new_names)
    if len(names) != len(own):
        raise UsageError(f"expected {len(own)} feature names, one per feature, got {len(names)}")
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError(f"expected text as feature names, got {list(names)!r:.200}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"expected each feature name once, got {twice!r} twice")
    return names


def form_of(model: Model, ranker_name: str) -> Form:
    """Return the form of a model, before any scaling; `ranker_name` is for errors."""
    if isinstance(model, Linear):
        return WeightedSum(model.weights, (None,) * model.n_features)
    if isinstance(model, Stumps):
        return Forest.of_stumps(model)
    if isinstance(model, Trees):
        return forest_from_model(model)
    if isinstance(model, Network):
        return model
    if isinstance(model, ComposedModel):
        return _sum_blocks(model, ranker_name)
    if isinstance(model, ScoreSum):
        return _sum_members(model, ranker_name)
    if isinstance(model, RerankedModel):
        names = ", ".join(member.name for member in model.members)
        raise CannotExpressError(
            f"{ranker_name} orders the first {model.t} documents of a query by a vote "
            f"({model.aggregator_text}), but engines score one document at a time; nearest: "
            f"one of its rankers, member={model.base.name!r} (of {names})"
        )
    if isinstance(model, RPCMTLModel):
        raise CannotExpressError(
            f"{ranker_name} combines the probabilities of {model.n_clusters} degrees with an "
            "order within each, but engines support only weighted sums, trees and networks; "
            "nearest: ordinal, which has the degrees alone, or n_clusters=1, which is listmle"
        )
    raise CannotExpressError(
        f"a {model.kind} model of {ranker_name} is not a weighted sum, trees or a network, "
        "but engines support nothing else; nearest: train one of those (linear rankers, "
        "lambdamart, an mlp scorer) on its scores"
    )


def _sum_blocks(model: ComposedModel, ranker_name: str) -> Form:
    """Return one form for blocks whose scores are summed."""
    if not model.combination.is_linear:
        way = "normalised" if model.combination.aggregator is None else "ranked"
        raise CannotExpressError(
            f"blocks of {ranker_name} are {way} within each query, but engines score one "
            "document at a time; nearest: fit it with combine='score' and normalise=None"
        )
    if (linear := model.linear()) is not None:
        return WeightedSum(linear.weights, (None,) * model.width)
    trees: list[Tree] = []
    for share, block, part in zip(model.shares, model.blocks, model.models, strict=True):
        form = form_of(part, ranker_name)
        if not isinstance(form, Forest):
            raise CannotExpressError(
                f"blocks of {ranker_name} are networks, but engines cannot sum several "
                "networks; nearest: a base with a linear model or trees"
            )
        if share > 0:
            trees += form.scale(float(share)).with_columns(block, model.width).trees
    return Forest(model.width, tuple(trees))


def _sum_members(model: ScoreSum, ranker_name: str) -> Form:
    """Return the sum of the members' forms, with the constant of their offsets as a tree."""
    terms: list[WeightedSum | Forest | Network] = []
    for member in model.members:
        form = _member_form(member.model, ranker_name)
        parts = form.terms if isinstance(form, SumOfForms) else (form,)
        scaled = (_scale_form(part, member.factor) for part in parts)
        terms += [_widen_form(part, member.columns, model.width) for part in scaled]
    constant = -sum(member.factor * member.offset for member in model.members)
    if constant:
        terms.append(Forest(model.width, (Tree.of([], [], [], [constant]),)))
    return join_forms(terms)


def join_forms(terms: Sequence[WeightedSum | Forest | Network]) -> Form:
    """Return the sum of forms: one weighted sum of raw features, one forest, and the others."""
    raw = [term for term in terms if isinstance(term, WeightedSum) and not any(term.normalizers)]
    forests = [term for term in terms if isinstance(term, Forest)]
    joined = [term for term in terms if term not in raw and term not in forests]
    if raw:
        weights = np.sum([term.weights for term in raw], axis=0)
        joined.append(WeightedSum(weights, raw[0].normalizers))
    if forests:
        trees = tuple(tree for forest in forests for tree in forest.trees)
        joined.append(Forest(forests[0].width, trees))
    return joined[0] if len(joined) == 1 else SumOfForms(tuple(joined))


def _member_form(model: Model, ranker_name: str) -> Form:
    """Return the form of a member, whose preparation becomes normalizers."""
    preparation, inner = split_preparation(model)
    form = form_of(inner, ranker_name)
    if preparation is None:
        return form
    if isinstance(model, PreparedModel) and model.encoding is not None:
        raise CannotExpressError(
            f"members of {ranker_name} turn words into numbers, each in its own way; nearest: "
            "Prepared(...) around the whole sum"
        )
    form = _fill_trees(form, preparation)
    if preparation.fill is not None and not isinstance(form, Forest):
        raise CannotExpressError(
            f"members of {ranker_name} fill in missing values, each by its own numbers, but engines "
            "have one value per feature; nearest: Prepared(...) around the whole sum"
        )
    return _with_normalizers(form, normalizers_of(preparation))


def _fill_trees(form: Form, preparation: Preparation) -> Form:
    """Return the form with trees that send a missing value to the side of its fill value."""
    if isinstance(form, Forest):
        return fill_missing(form, preparation)
    if isinstance(form, SumOfForms):
        filled = (
            fill_missing(term, preparation) if isinstance(term, Forest) else term
            for term in form.terms
        )
        return SumOfForms(tuple(filled))
    return form


def _scale_form(
    form: WeightedSum | Forest | Network, factor: float
) -> WeightedSum | Forest | Network:
    """Return the form with all scores times a factor."""
    if isinstance(form, WeightedSum):
        return replace(form, weights=form.weights * factor)
    if isinstance(form, Forest):
        return form.scale(factor)
    *weights, last_weights = form.weights
    *biases, last_bias = form.biases
    return replace(
        form,
        weights=(*weights, last_weights * factor),
        biases=(*biases, last_bias * factor),
    )


def _widen_form(
    form: WeightedSum | Forest | Network, columns: tuple[int, ...] | None, width: int
) -> WeightedSum | Forest | Network:
    """Return the form on wider rows, in which feature j is column columns[j]."""
    if columns is None:
        return form
    if isinstance(form, Forest):
        return form.with_columns(columns, width)
    places = list(columns)
    if isinstance(form, WeightedSum):
        weights = np.zeros(width)
        weights[places] = form.weights
        own = dict(zip(places, form.normalizers, strict=True))
        return WeightedSum(weights, tuple(own.get(j) for j in range(width)))
    mean, scale = np.zeros(width), np.ones(width)
    mean[places], scale[places] = form.mean, form.scale
    first = np.zeros((width, form.weights[0].shape[1]))
    first[places] = form.weights[0]
    return replace(form, mean=mean, scale=scale, weights=(first, *form.weights[1:]))


def _find_member(model: Model, name: str, ranker_name: str) -> tuple[Model, str]:
    """Return the model of a toprank's member and its name."""
    if not isinstance(model, RerankedModel):
        raise UsageError(
            f"member= is for toprank, whose rankers vote, not for {ranker_name}; leave it out"
        )
    members = {member.name: member.model for member in reversed(model.members)}
    if name not in members:
        raise UnknownNameError("member", name, members)
    return members[name], name


def _model_of_class(ranker: Ranker, model: Model, name: str) -> Model:
    """Return the model of a cfbrs for a class of users."""
    composed = model.composed if isinstance(model, LinearComposedModel) else model
    if not isinstance(composed, ComposedModel) or not isinstance(ranker, CFBRS):
        raise UsageError(f"user_class= is for cfbrs, not for {ranker.name}; leave it out")
    weights, reason = ranker.class_weights(name)
    if reason is not None:
        raise UsageError(f"expected a class of users with its own weights: {reason}")
    return composed.for_users(weights)


# --- scaling ---


def scale_columns(X: NDArray[Any], normalizers: Sequence[Normalizer | None]) -> Floats:
    """Return rows as the model sees them."""
    out = np.array(X, dtype=np.float64)
    for j, normalizer in enumerate(normalizers):
        if normalizer is not None:
            out[:, j] = normalizer(out[:, j])
    return out


def _with_normalizers(form: Form, normalizers: tuple[Normalizer | None, ...]) -> Form:
    """Return the form that takes raw features instead of scaled ones."""
    if isinstance(form, SumOfForms):
        return SumOfForms(tuple(_normalize_term(term, normalizers) for term in form.terms))
    return _normalize_term(form, normalizers)


def _normalize_term(
    form: WeightedSum | Forest | Network, normalizers: tuple[Normalizer | None, ...]
) -> WeightedSum | Forest | Network:
    if isinstance(form, WeightedSum):
        if any(form.normalizers) and any(normalizers):
            raise CannotExpressError(
                "engines scale features once, but both the members and their sum prepare them; "
                "nearest: only one preparation"
            )
        if not any(normalizers):
            return form
        return WeightedSum(form.weights, normalizers)
    if not any(normalizers):
        return form
    if isinstance(form, Forest):
        return replace(
            form, trees=tuple(_with_raw_thresholds(tree, normalizers) for tree in form.trees)
        )
    # (n(x) - mean) / scale with n(x) = (x - a) / b is (x - (a + b mean)) / (b scale).
    shift = np.array([0.0 if n is None else n.shift for n in normalizers])
    divisor = np.array([1.0 if n is None else n.divisor for n in normalizers])
    return replace(form, mean=shift + divisor * form.mean, scale=divisor * form.scale)


def _with_raw_thresholds(tree: Tree, normalizers: tuple[Normalizer | None, ...]) -> Tree:
    """Return the tree on raw features: n(x) <= t becomes x <= the largest x with n(x) <= t."""
    threshold = tree.threshold.copy()
    # NaN keeps its side. Without its own side it followed 0, which has another place among raw
    # features.
    side = np.where(tree.nan_goes_left, DEFAULT_LEFT, 0) | MISSING_NAN
    decision = np.where(tree.has_missing_side, tree.decision, side)
    for node, feature in enumerate(tree.feature.tolist()):
        if (normalizer := normalizers[feature]) is not None:
            edge = largest_argument(threshold[node : node + 1], normalizer)
            if not normalizer(np.float64(-LARGEST_FLOAT32)) <= threshold[node]:
                raise CannotExpressError("a threshold on raw features is below all float32 numbers")
            threshold[node] = edge[0]
    return replace(tree, threshold=threshold, decision=decision)
