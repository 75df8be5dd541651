"""LambdaMART: boosted trees for a ranking loss, by LightGBM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.data import RankingData
from podium.data.row_selection import select_queries
from podium.errors import DataError, UnknownNameError, UsageError
from podium.losses import LOSSES, Loss
from podium.metrics.repeated_metric import RepeatedMetric
from podium.optim import Patience, is_forked_child, openmp_after_fork
from podium.optim.linear_problem import check_finite
from podium.rankers.binned_features import (
    SMALLEST_VALUE,
    TrainingColumns,
    bin_training_rows,
    bin_validation_rows,
    has_splits,
    tiny_features,
)
from podium.rankers.boosted_trees import BoostedTrees
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.lambdamart_on_workers import boost_on_workers
from podium.rankers.lightgbm_checks import trees_alone
from podium.rankers.lightgbm_rounds import follow, kept_scores, label_gains
from podium.rankers.models import Model
from podium.rankers.parameters import Count, NonNegative, Positive, Range, Seed
from podium.rankers.remote_rows import remote_rows
from podium.rankers.training_objective import TrainingObjective
from podium.rankers.tree_model import Trees, lightgbm, thread_count
from podium.typing import Floats, Rows

MAX_LIGHTGBM_LIST = 10_000
"""The maximum number of documents per query in LightGBM's own ranking objectives."""

MAX_MEASURED_DOCUMENTS = 100_000
"""The most training documents that the learning curve is measured on: more take longer than they tell."""
MAX_XENDCG_LABEL = 31
"""The largest label for which the default loss is xendcg: it computes 2^y without a limit."""

_LIGHTGBM_OBJECTIVES = {"lambdarank": "lambdarank", "xendcg": "rank_xendcg"}


@dataclass(kw_only=True, eq=False, repr=False)
class LambdaMART(BoostedTrees):
    """Boosted trees for a ranking loss; validation queries choose how many.

    Burges, From RankNet to LambdaRank to LambdaMART, 2010; trees and the losses "lambdarank" and
    "xendcg" by LightGBM. There may be any number of labels, which may be real-valued (their gain is
    2^y - 1); lists may have any length. Beyond the limits of LightGBM's lambdarank, that of
    ``podium.losses`` is used. ("xendcg" takes whole labels and lists of up to 10,000 documents.)
    ``loss_`` is the loss of the fit.

    Parameters
    ----------
    loss
        "lambdarank", "xendcg", the name of any loss in ``podium.losses.LOSSES`` ("focused",
        "listnet", ...), or your own Loss; None: "xendcg" if it takes the data (whole labels from 0
        to 31, lists of up to 10,000 documents), else "lambdarank".
    k
        Truncation: pairs that do not reach the first k + 3 places do not count (lambdarank).
    trees
        The maximum number of trees.
    learning_rate
        The share of each tree that is added.
    leaves
        The maximum number of leaves per tree.
    min_leaf
        The minimum number of documents in a leaf.
    l2
        The strength of the penalty on the values of leaves.
    feature_fraction
        The share of the features that each tree sees.
    node_feature_fraction
        The share of these among which each split is chosen, drawn for each split.
    random_thresholds
        Whether each split tries one threshold per feature, drawn at random, instead of all. Geurts,
        Ernst, Wehenkel, Extremely randomized trees, 2006.
    monotone
        For each feature 1 (more is better), -1 or 0; or {feature name: 1 or -1}.
    metric
        The metric by which validation queries choose the number of trees.
    patience
        Training stops after this many rounds without a better metric; the best round is kept.
    validation_fraction
        The share of queries held out if there is no validation data.
    threads
        The number of threads; 0: all cores if the data is large. The result does not depend on it.

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
    fits_from_disk: ClassVar[bool] = True
    grid: ClassVar[dict[str, Any]] = {"loss": ("lambdarank", "xendcg"), "leaves": (7, 15, 31)}

    loss: str | Loss | None = None
    k: Count = 10
    trees: Count = 500
    learning_rate: Positive = 0.05
    leaves: Annotated[int, Range(2, 131_072)] = 15
    min_leaf: Count = 20
    l2: NonNegative = 0.0
    feature_fraction: Annotated[float, Range(0, 1, open=True)] = 1.0
    node_feature_fraction: Annotated[float, Range(0, 1, open=True)] = 1.0
    random_thresholds: bool = False
    monotone: Sequence[int] | Mapping[str, int] | None = None
    metric: str = "NDCG@10"
    patience: Count = 50
    validation_fraction: Annotated[float, Range(0.01, 0.9)] = 0.2
    threads: Annotated[int, Range(0)] = 0
    seed: Seed = 0

    def fits_on_workers(self) -> bool:
        """Whether rows may stay on workers: yes, LightGBM adds up histograms."""
        return True

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Grow trees along the gradient of the loss."""
        lightgbm()
        if remote_rows(train) is not None:
            return boost_on_workers(self, train, monitor)
        with openmp_after_fork():
            return self._boost(train, monitor)

    def _boost(
        self, train: RankingData, monitor: FitMonitor, positions: Rows | None = None
    ) -> FitResult:
        own, custom = self._objective(train, has_positions=positions is not None)
        booster = self._booster(train, own, monitor.valid, positions)
        stop = Patience(self.patience)
        measured = train if monitor.valid is None else _measured_queries(train)
        measure = RepeatedMetric(measured, monitor.metric)
        for rounds in range(1, self.trees + 1):
            objective = None if custom is None else custom.redraw(rounds)
            value, finished = _update(booster, objective, measure)
            check_finite(value, rounds)
            if finished:  # no split improves the loss any more
                break
            scores = None if monitor.valid is None else kept_scores(booster.eval_valid)
            metric = monitor(value, _prefix_model(booster, rounds, train.n_features), scores)
            if metric is not None and stop(metric):
                break
        model = monitor.model  # made when it is asked for
        if model is None:
            raise self._no_splits(train)
        return FitResult(model)

    def _objective(
        self, train: RankingData, has_positions: bool
    ) -> tuple[str | None, TrainingObjective | None]:
        """Return the name of an objective of LightGBM, or an objective of podium."""
        if has_positions:
            return "lambdarank", None
        loss = self.choose_loss(train)
        if isinstance(loss, str):
            return loss, None
        return None, TrainingObjective.from_loss(loss, train, seed=self.seed, reduction="sum")

    def choose_loss(self, train: RankingData) -> str | Loss:
        """Return the name of an objective of LightGBM, or a loss of podium; note it as `loss_`."""
        self.loss_ = loss = _default_loss(train) if self.loss is None else self.loss
        if isinstance(loss, Loss):
            return loss
        if loss == "xendcg" and (train.y != np.floor(train.y)).any():
            raise UsageError(
                "the loss xendcg takes whole labels only; use loss='lambdarank', "
                "which takes any labels"
            )
        if loss in _LIGHTGBM_OBJECTIVES and train.groups.sizes.max() <= MAX_LIGHTGBM_LIST:
            return _LIGHTGBM_OBJECTIVES[loss]
        if loss == "xendcg":
            raise UsageError(
                f"the loss xendcg takes at most {MAX_LIGHTGBM_LIST:,} documents per query, "
                f"got {train.groups.sizes.max():,}; use loss='lambdarank', which takes any number"
            )
        if loss == "lambdarank":
            return losses.LambdaRankLoss(k=self.k)
        if loss in LOSSES:
            return LOSSES[loss]()
        raise UnknownNameError("loss", loss, [*_LIGHTGBM_OBJECTIVES, *LOSSES])

    def learn_with_positions(
        self, train: RankingData, monitor: FitMonitor, start: Model | None, *, positions: Rows
    ) -> FitResult:
        """Grow trees for sessions with clicks; LightGBM learns the effect of each position, too.

        Parameters
        ----------
        positions
            The position from 0 of each document, whose id is its place in `positions`.
        """
        if self.loss not in (None, "lambdarank"):
            raise UsageError(
                "expected the loss lambdarank, the only one for which LightGBM learns the effect of "
                f"positions, got {self.loss!r}"
            )
        self.loss_ = "lambdarank"
        places = np.array([int(d) for d in train.require_docids("positions")], dtype=np.int64)
        with openmp_after_fork():
            lightgbm()
            return self._boost(train, monitor, positions[places])

    def boosting_parameters(self, train: RankingData, own: str | None) -> dict[str, Any]:
        """Return LightGBM's parameters for training rows and an objective of its own, or none."""
        threads = thread_count(len(train) * train.n_features)
        parameters: dict[str, Any] = {
            "objective": own or "none",
            "metric": "none",  # LightGBM's own costs a pass per round and takes 31 grades only
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "min_sum_hessian_in_leaf": 1e-3 if own else 1e-6,
            "lambda_l2": self.l2,
            "feature_fraction": self.feature_fraction,
            "feature_fraction_bynode": self.node_feature_fraction,
            "extra_trees": self.random_thresholds,
            "seed": self.seed % 2**31,
            "num_threads": 1 if is_forked_child() else self.threads or threads,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        if own == "lambdarank":
            parameters["lambdarank_truncation_level"] = self.k + 3
        if (signs := self._signs(train)) is not None:
            parameters["monotone_constraints"] = signs
        return parameters

    def _booster(
        self, train: RankingData, own: str | None, valid: RankingData | None, positions: Rows | None
    ) -> Any:
        lgb = lightgbm()
        labels: NDArray[Any] = train.y
        parameters = self.boosting_parameters(train, own)
        if own == "lambdarank":
            labels, parameters["label_gain"] = _codes(train.y)
        columns = TrainingColumns(labels, None, None)  # podium's objective weights queries itself
        if own:
            weight = train.query_weight
            spread = None if weight is None else train.groups.spread(weight)
            columns = TrainingColumns(labels, train.groups.sizes, spread)
        try:
            dataset = bin_training_rows(train, columns, parameters)
            if not has_splits(dataset, train.n_features):
                raise self._no_splits(train)
            if positions is not None:
                dataset.set_position(positions.astype(np.int32))
            booster = lgb.Booster(parameters, dataset)
        except lgb.basic.LightGBMError as error:
            raise UsageError(f"LightGBM refuses the settings of {self.name}: {error}") from error
        if valid is not None:
            # Each new tree adds to the scores of the validation queries, without a walk from its root.
            booster.add_valid(bin_validation_rows(dataset, valid, parameters), "valid")
        return booster

    def _no_splits(self, train: RankingData) -> DataError:
        if names := tiny_features(train):
            return DataError(
                f"{self.name} cannot split the data: LightGBM takes values nearer to 0 than "
                f"{SMALLEST_VALUE:g} for 0, and the feature {names[0]!r:.80} has no others; multiply "
                "the feature by a large number"
            )
        return DataError(
            f"{self.name} cannot split the data: each leaf needs {self.min_leaf} documents "
            f"(min_leaf), and there are {len(train)}"
        ).advise(
            python="use a smaller min_leaf, as in min_leaf=1, or more data",
            command_line="use a smaller one, as in --set min_leaf=1, or more data",
        )

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


def _codes(labels: Floats) -> tuple[NDArray[np.int64], list[float]]:
    """Return labels as 0, 1, 2, ..., which LightGBM requires, and the gain 2^y - 1 of each."""
    values, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), label_gains(values)


def _default_loss(train: RankingData) -> str:
    """Return "xendcg" if it takes the labels and lists, else "lambdarank", which takes all."""
    y = train.y
    takes_labels = bool(((y == np.floor(y)) & (y <= MAX_XENDCG_LABEL)).all())
    takes_lists = train.groups.sizes.max() <= MAX_LIGHTGBM_LIST
    return "xendcg" if takes_labels and takes_lists else "lambdarank"


def _update(
    booster: Any, custom: TrainingObjective | None, measure: RepeatedMetric
) -> tuple[float, bool]:
    """Add a tree; return the objective, and whether no split was possible.

    LightGBM does not report the value of its own objectives: 1 - the metric on training queries
    replaces it.
    """
    if custom is not None:
        finished, value = follow(booster, custom)
        return value, finished
    finished = bool(booster.update())
    scores = kept_scores(booster.eval_train)[: len(measure.data)]
    return 1 - measure(scores), finished


def _measured_queries(train: RankingData) -> RankingData:
    """Return the first training queries: a random sample, because they are shuffled."""
    offsets = train.groups.offsets
    n = max(1, int(np.searchsorted(offsets, MAX_MEASURED_DOCUMENTS, side="right")) - 1)
    return train if n == train.n_queries else select_queries(train, np.arange(n))


def _prefix_model(booster: Any, rounds: int, width: int) -> Callable[[], Trees]:
    """Return a function that builds the model of the first rounds."""
    return lambda: Trees(trees_alone(booster.model_to_string(num_iteration=rounds)), width)
