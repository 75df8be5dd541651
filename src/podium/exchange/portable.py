"""A fitted ranker as one of three things that engines know: a weighted sum, trees, a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from podium.ensemble import CFBRS, Composed, LinearComposed, Reranked
from podium.errors import CannotExpressError, UnknownNameError, UsageError
from podium.exchange.floats import LARGEST, largest_below
from podium.exchange.forest import DEFAULT_LEFT, MISSING_NAN, Forest, Tree
from podium.exchange.lightgbm_text import trees_of
from podium.exchange.normalizers import Normalizer, read_normalizers, scaled_by_query
from podium.multitask.combined import Combined
from podium.rankers.explanation import names_of
from podium.rankers.lambdamart import Trees
from podium.rankers.mlp import Network
from podium.rankers.models import Floats, Linear, Model, Stumps
from podium.rankers.ranker import Ranker


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """sum_j w_j n_j(x_j), each feature scaled by a normalizer of its own, or as it is.

    Examples
    --------
    >>> WeightedSum(np.array([2.0, 1.0]), (None, None)).predict(np.array([[1.0, 3.0]])).tolist()
    [5.0]
    """

    weights: Floats
    normalizers: tuple[Normalizer | None, ...]

    def predict(self, X: NDArray[Any]) -> Floats:
        """One score a row."""
        return np.asarray(scaled(X, self.normalizers) @ self.weights, dtype=np.float64)


Form = WeightedSum | Forest | Network


@dataclass(frozen=True, eq=False)
class Portable:
    """What is exported: a form, the features' names, what it came from, and how the features it was
    trained on were scaled within queries."""

    form: Form
    names: tuple[str, ...]
    ranker: str
    scaled: str | None = None


def portable(
    model: Any,
    *,
    feature_names: Sequence[str] | Mapping[str, str] | None = None,
    normalizers: Any = None,
    member: str | None = None,
    user_class: str | None = None,
) -> Portable:
    """A fitted ranker, or a pipeline of a scaler and one, as a form; see ``export_model``.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> found = portable(RankSVM().fit(make_synthetic(n_queries=20, n_features=2, seed=0)))
    >>> type(found.form).__name__, found.names
    ('WeightedSum', ('f1', 'f2'))
    """
    ranker, scaler = _ranker(model)
    if scaler is not None and normalizers is not None:
        raise UsageError("expected the pipeline's scaler or normalizers, got both")
    learned, told = ranker.model_, ranker.name
    if member is not None:
        learned, told = _member(learned, member, ranker.name)
    if user_class is not None:
        learned = _of_class(ranker, learned, user_class)
    names = _names(ranker, scaler, feature_names)
    each = read_normalizers(normalizers if scaler is None else scaler, names)
    if any(each) and ranker.trained_.scaled is not None:
        raise scaled_by_query(ranker.trained_.scaled)  # before them, or after? Nobody knows
    form = _scaled_form(form_of(learned, told), each)
    return Portable(form, names, told, ranker.trained_.scaled)


def _ranker(model: Any) -> tuple[Ranker, Any]:
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
            "engines scale features once; nearest: a pipeline of one scaler and a ranker, got "
            f"{len(model)} steps"
        )
    raise UsageError(
        "expected a fitted ranker, or a pipeline of a scaler and a ranker, got "
        f"{type(model).__name__}"
    )


def _names(
    ranker: Ranker, scaler: Any, given: Sequence[str] | Mapping[str, str] | None
) -> tuple[str, ...]:
    own = names_of(ranker)
    if scaler is not None:  # the ranker saw an array without names
        own = tuple(getattr(scaler, "feature_names_in_", own))
    if isinstance(given, str):
        raise UsageError(f"expected a list of feature names, got the text {given!r}")
    if isinstance(given, Mapping):
        for name in given:
            if name not in own:
                raise UnknownNameError("feature", str(name), own)
        names = tuple(given.get(name, name) for name in own)
    else:
        names = tuple(own if given is None else given)
    if len(names) != len(own):
        raise UsageError(f"expected {len(own)} feature names, one a feature, got {len(names)}")
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError(f"expected feature names that are texts, got {list(names)!r:.200}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"expected feature names of their own, got {twice!r} twice")
    return names


def form_of(model: Model, told: str) -> Form:
    """A model as a form, before any scaling."""
    if isinstance(model, Linear):
        return WeightedSum(model.weights, (None,) * model.n_features)
    if isinstance(model, Stumps):
        return Forest.of_stumps(model)
    if isinstance(model, Trees):
        return trees_of(model)
    if isinstance(model, Network):
        return model
    if isinstance(model, Composed):
        return _added(model, told)
    if isinstance(model, Reranked):
        names = ", ".join(member.name for member in model.members)
        raise CannotExpressError(
            f"{told} orders the first {model.t} documents of a query by a vote "
            f"({model.how}), and engines score one document at a time; nearest: one of its "
            f"rankers, member={model.base.name!r} (of {names})"
        )
    if isinstance(model, Combined):
        raise CannotExpressError(
            f"{told} joins the probabilities of {model.n_clusters} degrees with an order within each, "
            "and engines know weighted sums, trees and networks; nearest: ordinal, which is the "
            "degrees alone, or n_clusters=1, which is listmle"
        )
    raise CannotExpressError(
        f"a {model.kind} model of {told} is no weighted sum, trees or network, which is what "
        "engines know; nearest: train one of those (linear rankers, lambdamart, an mlp scorer) on "
        "its scores"
    )


def _added(model: Composed, told: str) -> Form:
    """Blocks whose scores are added, as one form."""
    if not model.how.is_linear:
        way = "normalised" if model.how.aggregator is None else "ranked"
        raise CannotExpressError(
            f"blocks of {told} are {way} within each query, and engines score one document at a "
            "time; nearest: fit it with combine='score' and normalise=None, whose scores add up"
        )
    if (one := model.linear()) is not None:
        return WeightedSum(one.weights, (None,) * model.width)
    trees: list[Tree] = []
    for share, block, part in zip(model.shares, model.blocks, model.models, strict=True):
        form = form_of(part, told)
        if not isinstance(form, Forest):
            raise CannotExpressError(
                f"blocks of {told} are networks, and engines have no sum of several; nearest: a "
                "base that is linear or made of trees"
            )
        if share > 0:
            trees += form.times(float(share)).on(block, model.width).trees
    return Forest(model.width, tuple(trees))


def _member(model: Model, name: str, told: str) -> tuple[Model, str]:
    if not isinstance(model, Reranked):
        raise UsageError(f"expected member= with a toprank, whose rankers vote, got {told}")
    found = {member.name: member.model for member in reversed(model.members)}
    if name not in found:
        raise UnknownNameError("member", name, found)
    return found[name], name


def _of_class(ranker: Ranker, model: Model, name: str) -> Model:
    composed = model.composed if isinstance(model, LinearComposed) else model
    if not isinstance(composed, Composed) or not isinstance(ranker, CFBRS):
        raise UsageError(f"expected user_class= with a cfbrs, got {ranker.name}")
    standing, reason = ranker.class_weights(name)
    if reason is not None:
        raise UsageError(f"expected a class of users with weights of its own, got {reason}")
    return replace(composed.serving(standing), population=standing)


# --- scaling ---


def scaled(X: NDArray[Any], normalizers: Sequence[Normalizer | None]) -> Floats:
    """Rows as the model sees them."""
    out = np.array(X, dtype=np.float64)
    for j, normalizer in enumerate(normalizers):
        if normalizer is not None:
            out[:, j] = normalizer(out[:, j])
    return out


def _scaled_form(form: Form, normalizers: tuple[Normalizer | None, ...]) -> Form:
    if isinstance(form, WeightedSum):
        return WeightedSum(form.weights, normalizers)
    if not any(normalizers):
        return form
    if isinstance(form, Forest):
        return replace(form, trees=tuple(_scaled_tree(tree, normalizers) for tree in form.trees))
    # (n(x) - mean) / scale with n(x) = (x - a) / b is (x - (a + b mean)) / (b scale).
    shift = np.array([0.0 if n is None else n.shift for n in normalizers])
    divisor = np.array([1.0 if n is None else n.divisor for n in normalizers])
    return replace(form, mean=shift + divisor * form.mean, scale=divisor * form.scale)


def _scaled_tree(tree: Tree, normalizers: tuple[Normalizer | None, ...]) -> Tree:
    """n(x) <= t is x <= the largest number for which that holds."""
    threshold = tree.threshold.copy()
    # NaN stays where it went, though 0 before scaling is another number than 0 after it.
    decision = np.where(tree.knows_missing, tree.decision, _side(tree.nan_left))
    for node, feature in enumerate(tree.feature.tolist()):
        if (normalizer := normalizers[feature]) is not None:
            edge = largest_below(threshold[node : node + 1], _of(normalizer))
            if not normalizer(np.float64(-LARGEST)) <= threshold[node]:
                raise CannotExpressError(
                    "a threshold lies below all float32 numbers, once unscaled"
                )
            threshold[node] = edge[0]
    return replace(tree, threshold=threshold, decision=decision)


def _side(left: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(left, DEFAULT_LEFT, 0) | MISSING_NAN


def _of(normalizer: Normalizer) -> Callable[[Floats], Floats]:
    return lambda x: np.asarray(normalizer(x))
