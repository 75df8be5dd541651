"""CFBRS: an ensemble over compositions of the feature set, driven by user feedback."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium.aggregation import Aggregator, make_aggregator
from podium.data import RankingData
from podium.ensemble.base_rankers import make_base_ranker
from podium.ensemble.cfbrs.block_weights import BlockModels, BlockWeights, Evidence
from podium.ensemble.cfbrs.composed_model import (
    ComposedModel,
    ensemble_of,
    simplest_model,
)
from podium.ensemble.cfbrs.composition_boosting import boost_compositions
from podium.ensemble.cfbrs.composition_choice import check_compositions, check_groups, make_plan
from podium.ensemble.cfbrs.composition_feedback import CompositionFeedback
from podium.ensemble.cfbrs.composition_plan import CompositionPlan
from podium.ensemble.cfbrs.feature_blocks import (
    BlockCombination,
    describe_unfinished,
    estimate_seconds,
    fit_blocks,
    scaled_loss_settings,
)
from podium.ensemble.cfbrs.personal_ranker import NO_CLASSES_MESSAGE, PersonalRanker
from podium.ensemble.cfbrs.user_classes import (
    FeedbackBatch,
    has_classes,
    is_feedback_log,
    votes_and_gains,
    weigh_population,
)
from podium.errors import (
    DataError,
    NotConvergedWarning,
    NothingLearnedWarning,
    SlowWarning,
    UsageError,
)
from podium.metrics import evaluate
from podium.rankers import Ranker
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.importance import feature_names_of
from podium.rankers.learning_curve import Callback
from podium.rankers.least_squares import LeastSquares
from podium.rankers.models import Linear, Model
from podium.rankers.parameters import Count, Range, Seed, Share

SLOW_BLOCKS = 1000
"""Beyond this many blocks, a fit says before it starts what it will cost."""


@dataclass(kw_only=True, eq=False, repr=False)
class CFBRS(PersonalRanker):
    """Rankers on blocks of features: an ensemble over the ways to cut the features into blocks.

    A composition cuts the features, in their order, into contiguous blocks. A ranker is fitted on
    each block. A composition's score is sum_k alpha n_k / N s_k(x): its feedback alpha is divided
    among its blocks by their sizes n_k out of N features. The ensemble is a sum over compositions:

        f(x) = sum_c sum_{b in c} alpha_c n_b / N s_b(x) / sum_c alpha_c = sum_b weight(b) s_b(x)

    A block's ranker depends only on the block, so each distinct block is fitted once (603 for 46
    features in blocks of 5 or more, instead of 51,320 compositions). The sum over all compositions
    is a recurrence over the cut points. Without normalisation an ensemble of linear rankers is one
    linear model (``model_.weights``).

    Feedback is used when scores are combined. The paper also divides the loss by alpha n_k / N, as
    ``scale_loss=True`` does; this does not change the minimum of a loss without penalty. Classes of
    users have their own weights, weight(b) exp(NDCG_class(b) / T), on the shared blocks or on their
    own blocks. Ahmad, Doja, Ahmad, Compositional feature subset based ranking system (CFBRS) for
    learning to rank with user feedback.

    Parameters
    ----------
    base
        The ranker of a block: a name in ``podium.rankers.RANKERS`` or a ranker. "least-squares" solves
        all blocks from one Gram matrix.
    min_block
        The number of features of the smallest block.
    compositions
        "all"; the number to draw; "first": (m, ..., m, rest) for each m from min_block on, as in
        the paper's Table 1; or a list of block sizes, as in [(5, 41), (23, 23)], for any min_block.
    max_blocks
        The maximum number of blocks per order of the features. If all compositions have more,
        compositions are drawn uniformly, up to this number of blocks (by seed); None: no limit.
        2,000 is enough for all compositions of 74 features with ``min_block=5``. The base
        "least-squares" needs no limit.
    sampling
        How compositions are drawn: "uniform": all are equally likely; "stratified": every number of
        blocks occurs at least once.
    probabilities
        The probabilities of 1, 2, 3, ... blocks, up to a factor, for stratified draws; None: all
        equal.
    ensemble
        "bagging": all compositions are summed; "boosting": one composition after another, each for
        the queries that are still ranked badly.
    rounds
        The maximum number of compositions for boosting.
    combine
        "score", or an aggregator of the blocks' rankings (a name in
        ``podium.aggregation.AGGREGATORS``, such as "borda", "kemeny", "footrule", or an
        aggregator). Distances are summed like scores: the aggregator sees every block once, with
        its weight.
    normalise
        "zscore": a block's scores are scaled to mean 0 and standard deviation 1 in each query
        before they are summed; none: no scaling.
    weights
        "size": n_b / N, as in the paper; "validation": n_b / N times exp(metric(b) / T), with the
        metric of each block on the validation queries, which also choose T.
    scale_loss
        Whether the loss of a block is multiplied by N / (alpha n_k), for a base with C or l2.
    permutations
        The number of orders of the features that are cut: first the original order, then random
        ones; groups are permuted as a whole.
    groups
        Features that stay together, by name, as in {"title": ["f1", "f6"], ...}: cuts are only
        between groups. Features without a group form the last group.
    class_blocks
        "shared": classes of users weight blocks that were fitted on the labels of all users; "own":
        ``fit`` fits blocks again on the labels or clicks of each class, for classes that disagree.
    max_error
        Classes of users with a higher training error (1 - metric on their own labels) get the
        ranking of all users.
    metric
        The metric of blocks and classes.
    validation_fraction
        The share of the queries held out if weights need validation queries and there are none.
    n_jobs
        How many blocks joblib fits at a time, with any backend; the result does not depend on it.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=60, n_features=12, seed=0)
    >>> ranker = CFBRS(min_block=3).fit(data)
    >>> ranker.plan().n_compositions, len(ranker.plan().blocks), ranker.model_.kind
    (19, 25, 'composed-linear')
    >>> bool(ranker.score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "cfbrs"
    paper: ClassVar[str] = "Ahmad, Doja, Ahmad, CFBRS"
    # Settings that fit any number of features and any way to combine blocks.
    grid: ClassVar[dict[str, Any]] = {
        "weights": ("size", "validation"),
        "ensemble": ("bagging", "boosting"),
    }

    base: str | Ranker = "ranksvm"
    min_block: Count = 5
    compositions: Literal["all", "first"] | Count | Sequence[Sequence[int]] = "all"
    max_blocks: Count | None = 2000
    sampling: Literal["uniform", "stratified"] = "uniform"
    probabilities: Sequence[float] | None = None
    ensemble: Literal["bagging", "boosting"] = "bagging"
    rounds: Count = 30
    combine: str | Aggregator = "score"
    normalise: Literal["zscore"] | None = None
    weights: Literal["size", "validation"] = "size"
    scale_loss: bool = False
    permutations: Count = 1
    groups: Mapping[str, Sequence[str]] | None = None
    class_blocks: Literal["shared", "own"] = "shared"
    max_error: Share = 1.0
    metric: str = "NDCG@10"
    validation_fraction: Annotated[float, Range(0.01, 0.9)] = 0.2
    n_jobs: int | None = None
    seed: Seed = 0

    # --- fit ---

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        valid: Any = None,
        callback: Callback | None = None,
        user_class: ArrayLike | None = None,
        feedback: Any = None,
    ) -> Self:
        """Learn from labelled queries, and from the feedback of users on their lists.

        Parameters
        ----------
        X, y, qid, sample_weight, valid, callback
            As for every ranker.
        user_class
            The class of users behind the labels of each query, one per query or one per row; each
            class gets its own weights.
        feedback
            alpha of compositions (``podium.feedback.UniformFeedback``, ``SimulatedFeedback``,
            anything with ``alpha(sizes)``), or a log (``podium.feedback.read_ubi``), whose classes
            get their own weights from their clicks. A log without user classes changes nothing
            (except the loss with ``scale_loss``), and a ``NothingLearnedWarning`` says so.
        """
        data = self.ranking_data(X, y, qid, sample_weight)
        personal = user_class is not None or is_feedback_log(feedback)
        evidence = FeedbackBatch(data, feedback, user_class).evidence() if personal else {}
        if personal and not evidence:
            raise DataError(
                "the feedback does not distinguish any documents of the data; check that it "
                "has the same query and document ids (podium.feedback.Feedback.labels shows "
                "what it has)"
            )
        held_out = None if valid is None else self.ranking_data(valid, scaled=data.scaled)
        self.fit_data(data, held_out, callback, learn=partial(self._learn_with, feedback))
        if evidence:
            self.learn_classes(evidence, self._fit_class_blocks(evidence, feedback))
            if is_feedback_log(feedback):  # otherwise the blocks were fitted on the labels
                self.learn_population(evidence)
            if not has_classes(evidence) and self.weights == "size" and not self.scale_loss:
                warnings.warn(NO_CLASSES_MESSAGE, NothingLearnedWarning, stacklevel=2)
        return self

    def plan(self, names: Sequence[str] | None = None) -> CompositionPlan:
        """Return the compositions of the ensemble and their blocks, for features with these names.

        Examples
        --------
        >>> plan = CFBRS(min_block=5).plan([f"f{j}" for j in range(1, 47)])
        >>> plan.n_compositions, len(plan.blocks)
        (51320, 603)
        """
        if names is None:
            check_is_fitted(self, "model_")
            names = feature_names_of(self)
        return make_plan(
            names, min_block=self.min_block, compositions=self.compositions,
            sampling=self.sampling, probabilities=self.probabilities,
            permutations=self.permutations, groups=self.groups, seed=self.seed,
            max_blocks=None if self._has_one_gram_matrix() else self.max_blocks,
        )  # fmt: skip

    def _has_one_gram_matrix(self) -> bool:
        """Whether one Gram matrix solves all blocks, so that their number hardly counts."""
        return isinstance(self._base(), LeastSquares) and not self.scale_loss

    def check_settings(self) -> None:
        """Raise if settings do not fit together."""
        base = self._base()
        self._combination()
        if self.normalise is not None and self.combine != "score":
            raise UsageError(
                "normalise needs combine='score', because ranks have no scale; got "
                f"normalise={self.normalise!r} and combine={self.combine!r}"
            )
        if self.scale_loss:
            scaled_loss_settings(base, 1.0)
        check_compositions(self.compositions, self.sampling, self.probabilities)
        check_groups(self.groups)
        if self.n_jobs == 0:
            raise UsageError(
                "expected n_jobs of cfbrs to be 1 or more, below 0 (-1: all cores) or None, got 0"
            )

    def _base(self) -> Ranker:
        """Return the ranker of a block; a ranker by name gets this ranker's metric and seed."""
        if isinstance(self.base, CFBRS):
            raise UsageError("cfbrs cannot be its own base; choose another ranker as base")
        if isinstance(self.base, Ranker):
            return self.base
        return make_base_ranker(self.base, metric=self.metric, seed=self.seed)

    def _combination(self) -> BlockCombination:
        if isinstance(self.combine, Aggregator):
            return BlockCombination(self.combine)
        aggregator = None if self.combine == "score" else make_aggregator(self.combine)
        return BlockCombination(aggregator, self.normalise)

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data."""
        return self.weights != "size"

    @property
    def keeps_best(self) -> bool:
        """Whether the best step on validation is kept: a round of boosting; bagging has one step."""
        return self.ensemble == "boosting"

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return self.rounds if self.ensemble == "boosting" else 1

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Fit the blocks, then weight them by bagging or boosting."""
        return self._learn_with(None, train, monitor, start)

    def _learn_with(
        self, feedback: Any, train: RankingData, monitor: FitMonitor, start: Model | None
    ) -> FitResult:
        plan = self.plan(train.names())
        on_compositions = CompositionFeedback(feedback, plan)
        prior = on_compositions.prior()
        loss_factor = on_compositions.loss_factor if self.scale_loss else None
        base = self._base()
        self._announce_cost(base, plan, train, monitor)
        fits = fit_blocks(
            base, plan, train, monitor.valid, loss_factor=loss_factor, n_jobs=self.n_jobs
        )
        models, population = tuple(fit.model for fit in fits), BlockWeights.empty(len(fits))
        composed = ComposedModel(
            train.n_features, plan.blocks, models, prior, self._combination(), population
        )
        if self.ensemble == "boosting":
            composed = self._boost(composed, on_compositions, train, monitor)
        if self.weights == "validation" and monitor.valid is not None:
            composed = weigh_population(composed, monitor.valid, monitor.metric)
        if self.ensemble == "bagging":
            scores = composed.scores(train.X, train.groups)
            loss = 1 - evaluate(train, scores, monitor.metric)[monitor.metric].mean
            monitor(loss, simplest_model(composed))
        unfinished = describe_unfinished(fits)
        return FitResult(simplest_model(composed), not unfinished, unfinished)

    def _announce_cost(
        self, base: Ranker, plan: CompositionPlan, train: RankingData, monitor: FitMonitor
    ) -> None:
        """Say before the fit how many blocks it has, and about how long many of them take."""
        n_blocks = len(plan.blocks)
        if n_blocks <= SLOW_BLOCKS or self._has_one_gram_matrix():
            return
        seconds = estimate_seconds(base, plan, train, monitor.valid)
        text = f"{n_blocks:,} blocks, about {seconds:,.0f} s on one core"
        monitor.begin(text)
        if self.compositions == "all" and plan.selection is not None:
            text += (
                f"; {plan.n_compositions:,} compositions are drawn, because all of them have more "
                f"than max_blocks={self.max_blocks:,}"
            )
        warnings.warn(
            f"cfbrs fits {text}; a smaller max_blocks or base='least-squares' is faster",
            SlowWarning, stacklevel=6,
        )  # fmt: skip

    def _boost(
        self,
        composed: ComposedModel,
        feedback: CompositionFeedback,
        train: RankingData,
        monitor: FitMonitor,
    ) -> ComposedModel:
        """Weight the blocks by the round of boosting with the best validation or the lowest loss."""
        evidence, metric, plan = Evidence.of(train), monitor.metric, feedback.plan
        if evidence is None:
            return composed
        votes, gains = votes_and_gains(composed, evidence, metric)
        for step in boost_compositions(
            plan, plan.size_shares, gains, evidence, votes, metric, self.rounds,
            alphas=feedback.varying_alphas,
        ):  # fmt: skip
            monitor(step.loss, simplest_model(replace(composed, prior=step.weights)))
        return composed if monitor.model is None else ensemble_of(monitor.model)

    def describe(self) -> str:
        """Return the ensemble in words.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> data = make_synthetic(n_queries=20, n_features=12, seed=0)
        >>> CFBRS(min_block=3).fit(data).describe()
        '25 blocks of 19 compositions, one linear model'
        """
        composed, n = ensemble_of(self.model_), self.plan().n_compositions
        text = f"{len(composed.blocks):,} blocks of {n:,} compositions"
        text += ", one linear model" if isinstance(self.model_, Linear) else ""
        return text + (f", {len(composed.classes)} classes" if composed.classes else "")

    # --- classes of users ---

    def _fit_class_blocks(
        self, evidence: Mapping[str | None, Evidence], feedback: Any
    ) -> dict[str, BlockModels]:
        """Fit the blocks of each class on its own queries, if ``class_blocks`` is "own".

        A base that needs validation holds out some of these queries, because validation queries
        have the labels of all users, with which the class may disagree.
        """
        if self.class_blocks == "shared":
            return {}
        base, plan = self._base(), self.plan()
        loss_factor = CompositionFeedback(feedback, plan).loss_factor if self.scale_loss else None
        fits = {
            name: fit_blocks(
                base, plan, own.training_data(), loss_factor=loss_factor, n_jobs=self.n_jobs
            )
            for name, own in evidence.items()
            if name is not None
        }
        if reason := describe_unfinished(list(itertools.chain(*fits.values()))):
            self.converged_, self.stopped_ = False, f"for classes: {reason}"
            warnings.warn(
                f"{self.name} stopped before it converged ({self.stopped_})",
                NotConvergedWarning, stacklevel=3,
            )  # fmt: skip
        return {name: tuple(fit.model for fit in own) for name, own in fits.items()}
