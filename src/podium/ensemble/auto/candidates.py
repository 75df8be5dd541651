"""Candidates: the rankers that a search tries, by the shape of the data."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from podium.ensemble.auto.data_shape import DataShape
from podium.ensemble.base_rankers import make_base_ranker
from podium.errors import UsageError
from podium.losses import YetiLoss
from podium.losses.head_hinge import head_measure
from podium.metrics.naming import parse
from podium.rankers import RANKERS, LambdaMART, Ranker

Family = Literal["trees", "symmetric trees", "linear", "stumps", "network"]

MAX_CANDIDATES = 64
"""More candidates would be chosen by chance."""
MAX_NETWORK_VALUES = 20_000_000
"""Networks on more feature values take too long beside the other candidates."""

_LINEAR: tuple[tuple[str, dict[str, Any]], ...] = (
    ("topslack", {"C": 10.0}),
    ("listnet", {"l2": 1e-3}),
    ("ranksvm", {"C": 1e-3}),
    ("topk-listmle", {"l2": 1e-3}),
    ("least-squares", {"C": 1e-2}),
    ("topslack", {"C": 1.0}),
    ("listnet", {"l2": 1e-2}),
    ("ranksvm", {"C": 1e-1}),
    ("topslack", {"C": 100.0}),
    ("topmargin", {"C": 10.0}),
    ("listmle", {"l2": 1e-2}),
    ("focused-svm", {"beta": 0.25}),
    ("focused-net", {"beta": 0.5}),
    ("ordinal", {"l2": 1e-2}),
    ("listnet", {"l2": 1e-1}),
    ("ranknet", {"l2": 1e-3}),
    ("ranksvm", {"C": 1e-5}),
    ("topk-listmle", {"l2": 1e-1}),
    ("regression", {"l2": 1e-2}),
)
"""Linear rankers: the middle of each ranker's own grid first, then its ends."""
_STUMPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("rankboost", {}),
    ("focused-boost", {"beta": 0.25}),
    ("focused-boost", {"beta": 0.75}),
)
_NETWORKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("listnet", {"scorer": "mlp"}),
    ("focused-net", {"scorer": "mlp"}),
)
_SYMMETRIC_TREES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("catboost", {"depth": 6}),
    ("catboost", {"depth": 4}),
    ("catboost", {"depth": 8}),
)
"""Candidates if the extra is installed."""
TREE_LOSSES = ("yetiloss", "xendcg", "lambdarank")
_TREE_L2 = {"yetiloss": 5.0, "xendcg": 10.0, "lambdarank": 0.0}
"""Penalties of fixed settings. The first two losses have small curvatures, so that leaves need one."""
_TREE_RATE = 0.1
"""The learning rate of fixed settings: twice the ranker's own, for half of the time."""
_TREES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("yetiloss", {"leaves": 15}),
    ("xendcg", {"leaves": 15}),
    ("yetiloss", {"leaves": 15, "feature_fraction": 0.5}),
    ("yetiloss", {"leaves": 31, "random_thresholds": True}),
    ("lambdarank", {"leaves": 15}),
    ("yetiloss", {"leaves": 31, "node_feature_fraction": 0.2}),
    ("xendcg", {"leaves": 15, "feature_fraction": 0.5}),
    ("yetiloss", {"leaves": 7, "feature_fraction": 0.5}),
    ("xendcg", {"leaves": 31, "random_thresholds": True}),
    ("yetiloss", {"leaves": 31, "feature_fraction": 0.5}),
    ("lambdarank", {"leaves": 15, "feature_fraction": 0.5}),
    ("xendcg", {"leaves": 7, "feature_fraction": 0.5}),
)
"""Losses and sizes. Trees with few features, or with random thresholds, differ more from each other."""
_DRAWN_LEAVES, _DRAWN_MIN_LEAF, _DRAWN_L2 = (
    (4, 7, 15, 31, 63),
    (5, 10, 20, 50, 100),
    (0.0, 1.0, 5.0, 20.0),
)
_DRAWN_RANDOM_THRESHOLDS = 0.25
"""The share of drawn settings with random thresholds."""
_DRAWS = 1
"""Permutations of YetiLoss per query and tree: each tree draws new ones, so one is enough."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A ranker to try; `label` names it among the others."""

    label: str
    family: Family
    ranker: Ranker

    @property
    def takes_raw_features(self) -> bool:
        """Whether the ranker gets features as they are: trees do; other rankers get prepared features."""
        return self.family in ("trees", "symmetric trees")


def make_candidates(
    shape: DataShape,
    *,
    metric: str,
    k: int,
    seed: int,
    max_candidates: int = MAX_CANDIDATES,
    without: Container[str] = (),
) -> list[Candidate]:
    """Return the candidates for data of this shape, those of most promise first.

    Families take turns, so that a small budget tries all of them. After the fixed settings come
    settings of trees that are drawn at random by the seed.

    Parameters
    ----------
    max_candidates
        The maximum number of candidates.
    without
        Names of rankers that are left out.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> shape = DataShape.of(make_synthetic(n_queries=50, seed=0))
    >>> candidates = make_candidates(
    ...     shape, metric="NDCG@10", k=10, seed=0, max_candidates=3, without=["catboost"]
    ... )
    >>> [candidate.label for candidate in candidates]
    ['lambdamart loss=yetiloss leaves=15', 'topslack C=10', 'lambdamart loss=xendcg leaves=15']
    """
    maker = _CandidateMaker(shape, metric, k, seed)
    fixed_trees, linear = maker.trees(), maker.of_family("linear", _LINEAR)
    others = itertools.chain(
        maker.of_family("stumps", _STUMPS),
        maker.of_family("network", _NETWORKS) if shape.n_values <= MAX_NETWORK_VALUES else (),
    )
    symmetric = maker.of_family("symmetric trees", _SYMMETRIC_TREES if _has_catboost() else ())
    turns = _take_turns(fixed_trees, symmetric, linear, _every_other(others))
    drawn = itertools.islice(maker.drawn_trees(), max_candidates)
    allowed = (c for c in itertools.chain(turns, drawn) if c.ranker.name not in without)
    return list(itertools.islice(allowed, max_candidates))


def _has_catboost() -> bool:
    """Whether the ranker of CatBoost is there, and its extra is installed."""
    return "catboost" in RANKERS and find_spec("catboost") is not None


@dataclass(frozen=True)
class _CandidateMaker:
    """Makes candidates with the metric and the seed of a search."""

    shape: DataShape
    metric: str
    k: int
    seed: int

    def of_family(
        self, family: Family, settings: tuple[tuple[str, dict[str, Any]], ...]
    ) -> Iterator[Candidate]:
        for name, fixed in settings:
            extra = {"measure": self._measure()} if name in ("topslack", "topmargin") else {}
            ranker = make_base_ranker(name, metric=self.metric, seed=self.seed, **fixed, **extra)
            yield Candidate(_label(name, fixed), family, ranker)

    def trees(self) -> Iterator[Candidate]:
        for loss, size in _TREES:
            if loss in self._tree_losses():
                fixed = {"loss": loss, **size}
                yield self._tree(fixed, learning_rate=_TREE_RATE, l2=_TREE_L2[loss])

    def drawn_trees(self) -> Iterator[Candidate]:
        """Yield trees with settings drawn by the seed, without end."""
        rng = np.random.default_rng(self.seed)
        while True:
            loss, leaves = str(rng.choice(self._tree_losses())), int(rng.choice(_DRAWN_LEAVES))
            rate = float(np.round(0.2 ** rng.uniform(1, 2.5), 3))
            drawn: dict[str, Any] = {
                "loss": loss,
                "leaves": leaves,
                "learning_rate": rate,
                "min_leaf": int(rng.choice(_DRAWN_MIN_LEAF)),
                "feature_fraction": float(np.round(rng.uniform(0.2, 1.0), 2)),
                "l2": float(rng.choice(_DRAWN_L2)),
            }
            if rng.random() < _DRAWN_RANDOM_THRESHOLDS:
                drawn["random_thresholds"] = True
            yield self._tree(drawn)

    def _tree(self, fixed: dict[str, Any], **more: float) -> Candidate:
        """Return trees with these settings; `fixed` ones are in the label."""
        settings = {"k": self.k, **fixed, **more}
        settings |= _rounds(settings["learning_rate"])
        if settings["loss"] == "yetiloss":
            settings["loss"] = self._yetiloss()
        # Leaves of a small data set must be small, or there are no splits.
        max_min_leaf = max(1, self.shape.n_documents // 50)
        settings["min_leaf"] = min(settings.get("min_leaf", 20), max_min_leaf)
        ranker = make_base_ranker("lambdamart", metric=self.metric, seed=self.seed, **settings)
        return Candidate(_label("lambdamart", fixed), "trees", ranker)

    def _tree_losses(self) -> list[str]:
        return [loss for loss in TREE_LOSSES if loss != "xendcg" or self.shape.has_whole_labels]

    def _yetiloss(self) -> YetiLoss:
        """Return the loss of the metric, or of NDCG@k if an exchange has no simple effect on it."""
        try:
            return YetiLoss(self.metric, draws=_DRAWS)
        except UsageError:
            return YetiLoss(f"NDCG@{self.k}", draws=_DRAWS)

    def _measure(self) -> str:
        """Return the measure of TopSlack: the metric if it is NDCG or precision, else NDCG@k."""
        try:
            return str(head_measure(str(parse(self.metric))))
        except UsageError:
            return f"NDCG@{self.k}"


def _rounds(learning_rate: float) -> dict[str, int]:
    """Return the number of trees and the patience: small steps need more of them."""
    factor = max(1.0, LambdaMART.learning_rate / learning_rate)
    return {
        "trees": round(LambdaMART.trees * factor), "patience": round(LambdaMART.patience * factor)
    }  # fmt: skip


def _label(name: str, settings: dict[str, Any]) -> str:
    texts = (
        f"{key}={value}" if isinstance(value, str | bool) else f"{key}={value:g}"
        for key, value in settings.items()
    )
    return " ".join([name, *texts])


def _take_turns(*sources: Iterator[Candidate | None]) -> Iterator[Candidate]:
    """Yield one candidate of each source in turn, until all are exhausted."""
    for turn in itertools.zip_longest(*sources):
        yield from (candidate for candidate in turn if candidate is not None)


def _every_other(source: Iterator[Candidate]) -> Iterator[Candidate | None]:
    """Yield a candidate in every other turn only."""
    for candidate in source:
        yield None
        yield candidate
