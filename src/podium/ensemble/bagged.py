"""Bagged rankers: any ranker, fitted to several draws of queries and features, as one sum."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from joblib import Parallel, delayed
from sklearn.base import clone

from podium.data import RankingData
from podium.ensemble.combined_models import combine_members, offset_and_scale
from podium.ensemble.nested_model_files import MAX_MEMBERS
from podium.ensemble.query_bags import QueryBag, draw_bag
from podium.ensemble.score_sum import SummedMember
from podium.errors import NotConvergedWarning, UsageError
from podium.metrics import evaluate
from podium.rankers import Ranker
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Model
from podium.rankers.parameters import Range, Seed
from podium.rankers.wrapped_ranker import WrappedRanker
from podium.task_runner import current_runner


@dataclass(kw_only=True, eq=False, repr=False)
class Bagged(WrappedRanker):
    """A ranker fitted to several bags of queries and features; the score is the mean of their scores.

    s(x) = 1/B sum_b (s_b(x) - m_b) / d_b: each member's scores are standardised by two numbers that
    are learned on the training queries, their mean m_b and their spread within a query d_b. So the
    sum of linear members is one linear model, and that of trees is one sum of trees. Breiman,
    Bagging predictors, 1996; Ho, The random subspace method, 1998; without replacement: Buhlmann,
    Yu, Analyzing bagging, 2002.

    Each bag draws whole queries without replacement. A bootstrap would draw some queries twice. That
    needs query weights, which not all rankers take. One and the same validation data stops every
    member.

    Parameters
    ----------
    ranker
        The ranker that is fitted to each bag, or its name, as in "lambdamart".
    bags
        The number of bags.
    query_fraction
        The share of the training queries in each bag.
    feature_fraction
        The share of the features in each bag; features with one value only are never drawn.
    n_jobs
        How many bags joblib fits at a time, with any backend; the result does not depend on it.
    seed
        The seed of the draws; each bag's ranker gets its own seed.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import LambdaMART
    >>> data = make_synthetic(n_queries=100, n_features=5, truth="nonlinear", seed=0)
    >>> ranker = Bagged(LambdaMART(trees=10, learning_rate=0.2), bags=3).fit(data)
    >>> ranker.model_.kind, len(ranker.history_)
    ('trees', 3)
    """

    name: ClassVar[str] = "bagged"
    paper: ClassVar[str] = "any ranker, averaged over bags of queries"

    bags: Annotated[int, Range(1, MAX_MEMBERS)] = 8
    query_fraction: Annotated[float, Range(0, 1, open=True)] = 0.8
    feature_fraction: Annotated[float, Range(0, 1, open=True)] = 1.0
    n_jobs: int | None = None
    seed: Seed = 0

    def check_settings(self) -> None:
        """Raise if the settings, or those of the ranker, are wrong."""
        if isinstance(self.ranker, Bagged):
            raise UsageError("the ranker is bagged already; expected a ranker without bags")
        if self.n_jobs == 0:
            raise UsageError(
                "expected n_jobs of bagged to be 1 or more, below 0 (-1: all cores) or None, got 0"
            )
        super().check_settings()

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        super().check_training(data)
        self.ranker.check_training(data)

    @property
    def keeps_best(self) -> bool:
        """Whether the best step on validation is kept: no, the last one, which has all bags."""
        return False

    def total_iterations(self) -> int | None:
        """Return the number of bags, for progress bars."""
        return int(self.bags)

    def result_parameters(self) -> dict[str, Any]:
        """Return what the result depends on besides the data: all parameters but n_jobs."""
        return {k: v for k, v in super().result_parameters().items() if k != "n_jobs"}

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Fit the ranker to each bag; report the sum of the members so far after each."""
        bags = [self._draw_bag(train, number) for number in range(self.bags)]
        tasks = (
            delayed(_fit_bag)(self._member_ranker(bag), bag, train, monitor.valid) for bag in bags
        )
        members: list[SummedMember] = []
        reasons: list[str] = []
        for bag, result in zip(bags, _run(tasks, self.n_jobs), strict=True):
            scores = result.model.scores(bag.take_features(train).X, train.groups)
            offset, scale = offset_and_scale(scores, train.groups)
            members.append(SummedMember(result.model, 1.0, offset, scale, bag.columns))
            if not result.converged:
                reasons.append(f"bag {len(members)}: {result.reason}")
            self._add_step(members, train, monitor)
            if result.reason == "interrupted":
                reasons = ["interrupted"]
                break
        assert monitor.model is not None
        return FitResult(monitor.model, not reasons, "; ".join(reasons))

    def _add_step(
        self, members: list[SummedMember], train: RankingData, monitor: FitMonitor
    ) -> None:
        """Report the mean of the members so far."""
        model = _mean_model(members, train.n_features)
        data = train if monitor.valid is None else monitor.valid
        scores = model.scores(data.X, data.groups)
        value = evaluate(data, scores, monitor.metric)[monitor.metric].mean
        monitor(1 - value, model, None if monitor.valid is None else scores)

    def _draw_bag(self, train: RankingData, number: int) -> QueryBag:
        entropy = [self.seed, self._inner_seed(), number]
        return draw_bag(train, self.query_fraction, self.feature_fraction, entropy)

    def _inner_seed(self) -> int:
        if not self.ranker.has_parameter("seed"):
            return 0
        return int(self.ranker.get_params()[self.ranker.parameter_path("seed")])

    def _member_ranker(self, bag: QueryBag) -> Ranker:
        """Return the ranker of one bag."""
        ranker: Ranker = clone(self.ranker)
        if ranker.has_parameter("seed"):
            ranker.set_params(**{ranker.parameter_path("seed"): bag.seed})
        return ranker


def _mean_model(members: list[SummedMember], width: int) -> Model:
    """Return the mean of the members' standardised scores."""
    share = 1 / len(members)
    equal = [
        SummedMember(member.model, share, member.offset, member.scale, member.columns)
        for member in members
    ]
    return combine_members(equal, width)


def _fit_bag(
    ranker: Ranker, bag: QueryBag, train: RankingData, valid: RankingData | None
) -> FitResult:
    """Fit one member; its reason says if it stopped early, and the whole fit warns of it."""
    own_valid = None if valid is None else bag.take_features(valid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        try:
            return ranker.train_model(bag.take(train), own_valid)[0]
        except UsageError as error:
            if bag.columns is None:
                raise
            raise UsageError(
                f"{error} (a bag has {len(bag.columns)} of {train.n_features} features; use "
                "feature_fraction=1 with settings that name features)"
            ) from error


def _run(tasks: Iterable[Any], n_jobs: int | None) -> Iterable[FitResult]:
    """Return the results in the order of the tasks, each as soon as it is there."""
    if (runner := current_runner()) is not None:
        return runner.run(tasks)
    try:
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator")
    except ValueError:  # a backend that returns all results at once
        parallel = Parallel(n_jobs=n_jobs, batch_size=1)
    results: Iterable[FitResult] = parallel(tasks)
    return results
