"""CatBoost: boosted symmetric trees for a ranking loss; the model is a sum of ordinary trees."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from podium.data import RankingData
from podium.data.parallel import thread_count as core_count
from podium.errors import DataError, UnknownNameError, UsageError, require
from podium.metrics.repeated_metric import RepeatedMetric
from podium.optim import Patience, is_forked_child
from podium.rankers.boosted_trees import BoostedTrees
from podium.rankers.catboost_json import MAX_DEPTH, read_catboost_json
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.float32 import LARGEST_FLOAT32
from podium.rankers.forest_text import model_from_forest
from podium.rankers.models import Model
from podium.rankers.parameters import Count, NonNegative, Positive, Range, Seed
from podium.rankers.tree_model import Trees, thread_count
from podium.typing import Floats

CATBOOST_LOSSES = (
    "YetiRank", "YetiRankPairwise", "StochasticRank", "LambdaMart", "QueryRMSE", "QuerySoftMax",
    "PairLogit", "PairLogitPairwise",
)  # fmt: skip
"""CatBoost's ranking losses; a colon and their own settings may follow."""


@dataclass(kw_only=True, eq=False, repr=False)
class CatBoostTrees(BoostedTrees):
    """Boosted symmetric trees for a ranking loss, by CatBoost; validation queries choose how many.

    Gulin, Kuralenok, Pavlov, Winning the transfer learning track of Yahoo!'s learning to rank
    challenge with YetiRank, 2011; Prokhorenkova et al., CatBoost, 2018. All nodes on one level of a
    tree share one split. A fit needs the extra ``catboost``. The fitted model is an ordinary sum of
    trees: files, scores, explanations and exports do not need CatBoost. Features count in float32.

    Parameters
    ----------
    loss
        "YetiRank", "YetiRankPairwise", "StochasticRank:metric=NDCG", "LambdaMart", "QueryRMSE",
        "QuerySoftMax", "PairLogit" or "PairLogitPairwise", with CatBoost's own settings after a
        colon, as in "YetiRank:mode=NDCG;top=10".
    trees
        The maximum number of trees.
    learning_rate
        The share of each tree that is added.
    depth
        The number of levels of a tree; at most 8 for pairwise losses.
    l2
        The strength of the penalty on the values of leaves.
    random_strength
        The amount of noise that is added to the scores of splits when they are chosen.
    bagging_temperature
        Weights of documents are drawn for each tree, more unequal as this grows; 0: none are drawn.
        None: CatBoost's own sampling for the loss.
    threads
        The number of threads; 0: all cores if the data is large. The result does not depend on it.
    metric
        The metric by which validation queries choose the number of trees.
    patience
        Training stops after this many rounds without a better metric; the best round is kept.
    validation_fraction
        The share of queries held out if there is no validation data.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=80, n_features=5, truth="nonlinear", seed=0)
    >>> ranker = CatBoostTrees(trees=30, learning_rate=0.2).fit(data)
    >>> bool(ranker.score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "catboost"
    paper: ClassVar[str] = "Gulin et al., 2011"
    grid: ClassVar[dict[str, Any]] = {"depth": (4, 6, 8)}
    extra: ClassVar[str | None] = "catboost"

    loss: str = "YetiRank"
    trees: Count = 500
    learning_rate: Positive = 0.05
    depth: Annotated[int, Range(1, MAX_DEPTH)] = 6
    l2: NonNegative = 3.0
    random_strength: NonNegative = 1.0
    bagging_temperature: NonNegative | None = None
    metric: str = "NDCG@10"
    patience: Count = 50
    validation_fraction: Annotated[float, Range(0.01, 0.9)] = 0.2
    threads: Annotated[int, Range(0)] = 0
    seed: Seed = 0

    def check_settings(self) -> None:
        """Raise if the loss is unknown."""
        loss = self.loss.partition(":")[0]
        if loss not in CATBOOST_LOSSES:
            raise UnknownNameError(f"loss of {self.name}", loss, CATBOOST_LOSSES)

    def check_training(self, data: RankingData) -> None:
        """Raise if CatBoost is not installed, or nothing can be learned from the data."""
        _catboost()
        super().check_training(data)

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Grow symmetric trees along the gradient of the loss."""
        library = _catboost()
        booster = library.CatBoost(self._parameters(train))
        watch = _Watch(
            booster, monitor, RepeatedMetric(train, monitor.metric), Patience(self.patience)
        )
        booster.set_params(eval_metric=watch)
        valid = None if monitor.valid is None else _pool(monitor.valid)
        try:
            booster.fit(_pool(train), eval_set=valid, callbacks=[watch])
        except library.CatBoostError as error:
            raise self._refusal(str(error), train) from error
        if watch.error is not None:
            raise watch.error
        model = monitor.model
        assert model is not None  # the first tree is always recorded
        return FitResult(model)

    def _parameters(self, train: RankingData) -> dict[str, Any]:
        sampling: dict[str, Any] = {}
        if self.bagging_temperature == 0:
            sampling = {"bootstrap_type": "No"}
        elif self.bagging_temperature is not None:
            sampling = {
                "bootstrap_type": "Bayesian",
                "bagging_temperature": self.bagging_temperature,
            }
        return {
            "loss_function": self.loss,
            "iterations": self.trees,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "l2_leaf_reg": self.l2,
            "random_strength": self.random_strength,
            "random_seed": self.seed % 2**31,
            "thread_count": self._thread_count(train),
            "use_best_model": False,  # podium's metric chooses
            "allow_writing_files": False,
            "logging_level": "Silent",
            **sampling,
        }

    def _thread_count(self, train: RankingData) -> int:
        if is_forked_child():
            return 1
        is_large = thread_count(len(train) * train.n_features) == 0
        return self.threads or (core_count() if is_large else 1)

    def _refusal(self, message: str, train: RankingData) -> DataError | UsageError:
        """Return podium's error for an error of CatBoost."""
        if "All features are either constant or ignored" in message:
            return DataError(
                f"{self.name} cannot split the data: each of its {train.n_features} features has one "
                f"value in all {len(train)} documents"
            )
        reason = message.partition(": ")[2] or message  # without the place in CatBoost's source
        return UsageError(f"CatBoost refuses the settings of {self.name}: {reason:.300}")


@dataclass(eq=False)
class _Watch:
    """CatBoost's metric and callback in one: it takes scores of each round to the monitor.

    CatBoost asks for the metric of the training rows, then of the validation rows, then calls back.
    An error must not pass through CatBoost, which would turn it into its own and lose the trees.
    """

    booster: Any
    monitor: FitMonitor
    measure: RepeatedMetric
    stop: Patience
    scores: list[Floats] = field(default_factory=list)
    error: BaseException | None = None
    no_jit = True  # CatBoost would compile `evaluate`

    def __deepcopy__(self, _: Any) -> _Watch:
        return self  # CatBoost copies its parameters, and scores must come here

    def is_max_optimal(self) -> bool:
        """Whether larger values are better; podium does not use CatBoost's answer."""
        return True

    def evaluate(self, approxes: Sequence[Floats], *_: Any) -> tuple[float, float]:
        """Keep the scores that CatBoost asks to measure."""
        self.scores.append(np.array(approxes[0], dtype=np.float64))
        return 0.0, 1.0

    def get_final_error(self, error: float, _: float) -> float:
        """Return the value that CatBoost reports."""
        return error

    def after_iteration(self, info: Any) -> bool:
        """Record a round; return whether to go on."""
        try:
            return self._record(int(info.iteration))
        except BaseException as error:
            self.error = error
            return False

    def _record(self, rounds: int) -> bool:
        learned, *valid = self.scores
        self.scores.clear()
        metric = self.monitor(
            1 - self.measure(learned),
            lambda: _model(self.booster, rounds),
            valid[0] if valid else None,
        )
        return metric is None or not self.stop(metric)


def _catboost() -> Any:
    return require("catboost", "catboost", "training catboost")


def _pool(data: RankingData) -> Any:
    """Return CatBoost's data set of all rows."""
    X, rows = data.stored_features()
    weight = data.query_weight
    return _catboost().Pool(
        # A value beyond float32 would be infinite, which CatBoost's files cannot hold.
        np.clip(X if rows is None else X[rows], -LARGEST_FLOAT32, LARGEST_FLOAT32).astype(
            np.float32
        ),
        data.y,
        group_id=data.groups.codes,
        group_weight=None if weight is None else data.groups.spread(weight),
    )


def _model(booster: Any, rounds: int) -> Trees:
    """Return the first trees of a fitted booster as podium's model."""
    if not booster.is_fitted():  # CatBoost gives no trees of a fit that a signal ended
        raise KeyboardInterrupt
    with tempfile.TemporaryDirectory(prefix="podium-catboost-") as folder:
        path = Path(folder) / "model.json"
        booster.save_model(str(path), format="json")
        text = path.read_text(encoding="utf-8")
    return model_from_forest(read_catboost_json(text, rounds).forest)
