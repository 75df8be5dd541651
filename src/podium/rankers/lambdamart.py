"""LambdaMART and any other loss over boosted trees, by LightGBM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.data import RankingData
from podium.errors import DataError, ModelFileError, UnknownNameError, UsageError
from podium.losses import LOSSES, Loss
from podium.metrics import evaluate
from podium.metrics.lists import check_exponent
from podium.optim import Patience, is_forked_child, openmp_after_fork
from podium.optim.linear import check_finite
from podium.rankers.history import Watch
from podium.rankers.models import Floats, Model, Part, count
from podium.rankers.objective import Objective
from podium.rankers.parameters import Count, NonNegative, Positive, Range, Seed
from podium.rankers.ranker import Learned, Ranker
from podium.rankers.tree_text import check_trees, trees_alone

LONGEST = 10_000
"""Documents a query may have in LightGBM's own ranking objectives."""

_OWN = {"lambdarank": "lambdarank", "xendcg": "rank_xendcg"}


def lightgbm() -> Any:
    """LightGBM, or an error that names the system library it misses."""
    try:
        import lightgbm
    except OSError as error:
        raise UsageError(
            f"LightGBM cannot be loaded ({error}); install the system package libgomp1"
        ) from error
    return lightgbm


@dataclass(frozen=True, eq=False)
class Trees(Model):
    """A sum of regression trees, as LightGBM's text (the trees alone)."""

    kind = "trees"
    text: str
    width: int

    @cached_property
    def booster(self) -> Any:
        """LightGBM's own object."""
        library = lightgbm()
        with openmp_after_fork():
            return library.Booster(model_str=self.text)

    @property
    def n_features(self) -> int:
        """Features of a row."""
        return self.width

    def predict(self, X: NDArray[Any]) -> Floats:
        """The sum of the trees' leaves."""
        scores = self._predict(X, raw_score=True)
        return np.asarray(scores, dtype=np.float64)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Each feature's Shapley value (LightGBM's TreeSHAP)."""
        shap = self._predict(X, pred_contrib=True)
        return np.asarray(shap, dtype=np.float64)[:, : self.width]

    def _predict(self, X: NDArray[Any], **options: bool) -> Any:
        with openmp_after_fork():
            return self.booster.predict(X, num_threads=_threads(X), **options)

    def importance(self) -> Floats:
        """The gain of all splits on a feature."""
        return np.asarray(self.booster.feature_importance("gain"), dtype=np.float64)

    def parts(self) -> dict[str, Part]:
        """LightGBM's text."""
        return {"trees": self.text, "width": np.array([self.width])}

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From LightGBM's text, whose trees are checked before LightGBM sees them."""
        text, width = parts.get("trees"), count(parts, "width")
        if not isinstance(text, str):
            raise ModelFileError("expected the text of a tree model, got none")
        check_trees(text, width)
        model = cls(text, width)
        try:
            _ = model.booster
        except lightgbm().basic.LightGBMError as error:
            raise ModelFileError(f"expected trees that LightGBM reads ({error})") from error
        return model


@dataclass(kw_only=True, eq=False, repr=False)
class LambdaMART(Ranker):
    """Boosted trees that follow a ranking loss; validation queries stop them in time.

    Burges, From RankNet to LambdaRank to LambdaMART, 2010; trees and the losses "lambdarank" and
    "xendcg" by LightGBM. Labels may be real-valued and of any number (their gain is 2^y - 1), and
    lists of any length: where LightGBM's lambdarank has limits, that of ``podium.losses`` takes
    over. ("xendcg" takes whole labels and lists of up to 10,000 documents.)

    Parameters
    ----------
    loss
        "lambdarank", "xendcg", the name of any loss in ``podium.losses.LOSSES`` ("focused",
        "listnet", ...), or a Loss of your own.
    k
        Truncation: pairs that do not reach the first k + 3 places do not count (lambdarank).
    trees
        Rounds at most.
    learning_rate
        The part of each tree that is taken.
    leaves
        Leaves of a tree at most.
    min_leaf
        Documents in a leaf at least.
    l2
        Penalty on the leaves' values.
    feature_fraction
        Share of the features that each tree sees.
    monotone
        For each feature 1 (more is better), -1 or 0; or {feature name: 1 or -1}.
    metric
        What validation queries choose the number of trees by.
    patience
        Rounds without a better value of it before it stops; the best round is kept.
    validation_fraction
        Share of the queries held out for that where no validation data is given.
    threads
        0: all cores where the data is large enough for them to pay. The result does not depend on it.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=100, n_features=5, truth="nonlinear", seed=0)
    >>> ranker = LambdaMART(trees=30, learning_rate=0.2).fit(data)
    >>> bool(ranker.score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "lambdamart"
    paper: ClassVar[str] = "Burges, 2010"
    grid: ClassVar[dict[str, Any]] = {"loss": ("lambdarank", "xendcg"), "leaves": (7, 15, 31)}
    accepts_missing: ClassVar[bool] = True

    loss: str | Loss = "lambdarank"
    k: Count = 10
    trees: Count = 500
    learning_rate: Positive = 0.05
    leaves: Annotated[int, Range(2, 131_072)] = 15
    min_leaf: Count = 20
    l2: NonNegative = 0.0
    feature_fraction: Annotated[float, Range(0, 1, open=True)] = 1.0
    monotone: Sequence[int] | Mapping[str, int] | None = None
    metric: str = "NDCG@10"
    patience: Count = 50
    validation_fraction: Annotated[float, Range(0.01, 0.9)] = 0.2
    threads: Annotated[int, Range(0)] = 0
    seed: Seed = 0

    def needs_validation(self) -> bool:
        """Whether queries are held out where no validation data is given."""
        return True

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # ties of the first round's scores are broken by place

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return int(self.trees)

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Grow trees along the gradient of the loss."""
        lightgbm()
        with openmp_after_fork():
            return self._boost(train, watch)

    def _boost(self, train: RankingData, watch: Watch) -> Learned:
        own, custom = self._objective(train)
        booster = self._booster(train, own)
        stop = Patience(self.patience)
        scores = None if watch.valid is None else np.zeros(len(watch.valid))
        for rounds in range(1, self.trees + 1):
            value, finished = _update(booster, train, custom, watch)
            check_finite(value, rounds)
            if finished:  # no split improves the loss any more
                break
            if watch.valid is not None and scores is not None:
                scores += booster.predict(
                    watch.valid.X, start_iteration=rounds - 1, num_iteration=1, raw_score=True,
                    num_threads=_threads(watch.valid.X),
                )  # fmt: skip
            found = watch(value, _first(booster, rounds, train.n_features), scores)
            if found is not None and stop(found):
                break
        if watch.model is None:
            raise DataError(
                f"expected data a tree can split, got none for {self.name}: every leaf needs "
                f"{self.min_leaf} documents (min_leaf) of {len(train)}"
            )
        return Learned(watch.model)

    def _objective(self, train: RankingData) -> tuple[str | None, Objective | None]:
        """LightGBM's own objective by name, or a loss of ours."""
        loss = self.loss
        if isinstance(loss, Loss):
            return None, Objective.of(loss, train, seed=self.seed, over="sum")
        if loss == "xendcg" and (train.y != np.floor(train.y)).any():
            raise UsageError("expected whole labels for the loss xendcg; lambdarank takes any")
        if loss in _OWN and train.groups.sizes.max() <= LONGEST:
            return _OWN[loss], None
        if loss == "xendcg":
            raise UsageError(
                f"expected at most {LONGEST:,} documents a query for the loss xendcg, got "
                f"{train.groups.sizes.max():,}; lambdarank takes any number"
            )
        if loss == "lambdarank":
            ours: Loss = losses.LambdaRankLoss(k=self.k)
        elif loss in LOSSES:
            ours = LOSSES[loss]()
        else:
            raise UnknownNameError("loss", loss, [*_OWN, *LOSSES])
        return None, Objective.of(ours, train, seed=self.seed, over="sum")

    def _booster(self, train: RankingData, own: str | None) -> Any:
        lgb = lightgbm()
        labels: NDArray[Any] = train.y
        parameters: dict[str, Any] = {
            "objective": own or "none",
            "metric": "none",  # its own would cost a pass a round and refuse more than 31 grades
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "min_sum_hessian_in_leaf": 1e-3 if own else 1e-6,
            "lambda_l2": self.l2,
            "feature_fraction": self.feature_fraction,
            "seed": self.seed % 2**31,
            "num_threads": 1 if is_forked_child() else self.threads or _threads(train.X),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        if own == "lambdarank":
            labels, gains = _codes(train.y)
            parameters |= {"lambdarank_truncation_level": self.k + 3, "label_gain": gains}
        if (signs := self._signs(train)) is not None:
            parameters["monotone_constraints"] = signs
        weight = None if train.query_weight is None else train.groups.spread(train.query_weight)
        dataset = lgb.Dataset(
            train.X,
            labels,
            group=train.groups.sizes if own else None,
            weight=weight if own else None,  # ours weighs queries itself
            params=parameters,
            free_raw_data=True,
        )
        try:
            return lgb.Booster(parameters, dataset)
        except lgb.basic.LightGBMError as error:
            raise UsageError(f"LightGBM refuses the settings of {self.name}: {error}") from error

    def _signs(self, train: RankingData) -> list[int] | None:
        if self.monotone is None:
            return None
        names = train.names()
        if isinstance(self.monotone, Mapping):
            for name in self.monotone:
                if name not in names:
                    raise UnknownNameError("feature", str(name), names)
            signs = [self.monotone.get(name, 0) for name in names]
        else:
            signs = list(self.monotone)
        if len(signs) != train.n_features or any(sign not in (-1, 0, 1) for sign in signs):
            raise UsageError(
                f"expected monotone to give 1, -1 or 0 for each of {train.n_features} features, "
                f"got {self.monotone!r}"
            )
        return [int(sign) for sign in signs]


def _threads(X: NDArray[Any]) -> int:
    """LightGBM's 0 is all cores; trees on a few thousand documents grow faster on one."""
    return 0 if X.size > 4_000_000 and not is_forked_child() else 1


def _codes(labels: Floats) -> tuple[NDArray[np.int64], list[float]]:
    """Labels as numbers 0, 1, 2, ... and the gain 2^y - 1 of each: LightGBM takes no other labels."""
    values, codes = np.unique(labels, return_inverse=True)
    check_exponent(float(values.max()))
    return codes.astype(np.int64), (np.exp2(values) - 1).tolist()


def _update(
    booster: Any, train: RankingData, custom: Objective | None, watch: Watch
) -> tuple[float, bool]:
    """One more tree; returns the objective and whether nothing could be split.

    LightGBM's own objectives have no value, so 1 - the metric on the training queries stands in.
    """
    value = 0.0

    def follow(scores: Floats, _: Any) -> tuple[Floats, Floats]:
        nonlocal value
        assert custom is not None
        value, gradient, curvature = custom.derivatives(scores)
        return gradient, np.maximum(curvature, 1e-9)

    if custom is not None:
        finished = bool(booster.update(fobj=follow))
        return value, finished
    finished = bool(booster.update())

    def measure(scores: Floats, _: Any) -> tuple[str, float, bool]:
        return "loss", 1 - evaluate(train, scores, watch.metric)[watch.metric].mean, False

    value = float(booster.eval_train(measure)[-1][2])
    return value, finished


def _first(booster: Any, rounds: int, width: int) -> Callable[[], Trees]:
    return lambda: Trees(trees_alone(booster.model_to_string(num_iteration=rounds)), width)
