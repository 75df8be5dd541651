"""CFBRS: an ensemble over compositions of the feature set, driven by user feedback."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium.aggregation import Aggregator, make_aggregator
from podium.data import RankingData
from podium.ensemble.adaptation import Adaptation, adapt
from podium.ensemble.alpha import Alpha
from podium.ensemble.blocks import fit_blocks, scaled_loss, told
from podium.ensemble.class_table import ClassTable, PersonalList
from podium.ensemble.composed import Composed, as_model, ensemble_of
from podium.ensemble.composition_boosting import boost
from podium.ensemble.plan import Plan, check_compositions, check_groups, make_plan
from podium.ensemble.standing import Evidence, Standing
from podium.ensemble.users import Batch, has_labels, per_query_names
from podium.ensemble.votes import Combination
from podium.ensemble.weighing import (
    Models,
    add_to_population,
    learn_classes,
    votes_and_gains,
    weigh_population,
)
from podium.errors import (
    DataError,
    NotConvergedWarning,
    NothingLearnedWarning,
    UnknownClassWarning,
    UnknownNameError,
    UsageError,
)
from podium.metrics import Metric, evaluate
from podium.metrics.naming import parse
from podium.rankers import RANKERS, Ranker
from podium.rankers.explanation import names_of
from podium.rankers.history import Callback, Watch
from podium.rankers.models import Floats, Linear, Model
from podium.rankers.parameters import Count, Range, Seed, Share
from podium.rankers.ranker import Learned

NO_CLASSES = (
    "nothing was learned from users, for only classes of them have weights of their own, and none is "
    "named: say whose queries they are (user_class=; read_ubi(..., user_class=); --classes)"
)


@dataclass(kw_only=True, eq=False, repr=False)
class CFBRS(Ranker):
    """Rankers on blocks of features: an ensemble over the ways to cut the features into blocks.

    A composition cuts the features, in their order, into contiguous blocks; a ranker is fitted on
    each block, and a composition's score is sum_k alpha n_k / N s_k(x), the feedback alpha on it
    divided among its blocks by their sizes n_k of N features. The ensemble adds up compositions:

        f(x) = sum_c sum_{b in c} alpha_c n_b / N s_b(x) / sum_c alpha_c = sum_b weight(b) s_b(x)

    A block's ranker depends on the block alone, so each distinct block is fitted once (603 for 46
    features in blocks of 5 or more, instead of 51,320 compositions), and the sum over all compositions
    is a recurrence over the cut points. Without normalisation an ensemble of linear rankers is one
    linear model, and is kept as one (``model_.weights``).

    Feedback enters where scores are combined. (The paper also divides the loss by alpha n_k / N: that
    changes no minimiser of a loss without penalty; ``scale_loss=True`` does it.) Classes of users
    have weights of their own, weight(b) exp(NDCG_class(b) / T), on the same blocks, or on blocks of
    their own. Ahmad, Doja, Ahmad, Compositional feature subset based ranking system (CFBRS) for
    learning to rank with user feedback.

    Parameters
    ----------
    base
        The ranker of a block: a name in ``podium.rankers.RANKERS`` or a ranker. "least-squares" takes
        all blocks from one Gram matrix.
    min_block
        Features of the smallest block.
    compositions
        "all"; how many to draw; "first": (m, ..., m, rest) for each m from min_block on, the paper's
        Table 1; or a list of block sizes, as in [(5, 41), (23, 23)], whatever min_block.
    sampling
        How they are drawn: "uniform", each as likely as any other; "stratified": every number of
        blocks at least once.
    probabilities
        Of 1, 2, 3, ... blocks, in proportion, for stratified draws; None: all the same.
    ensemble
        "bagging": compositions add up as they are; "boosting": one after the other, each for the
        queries that are ranked badly so far.
    rounds
        Compositions that boosting takes at most.
    combine
        "score", or an aggregator of the blocks' rankings (a name in
        ``podium.aggregation.AGGREGATORS``, such as "borda", "kemeny", "footrule", or an aggregator).
        Distances add up like scores: the aggregator sees every block once, with its weight.
    normalise
        "zscore": a block's scores have mean 0 and standard deviation 1 in each query before they are
        added; none: as they are.
    weights
        "size": n_b / N, the paper's; "validation": that times exp(metric(b) / T), the metric of each
        block on the validation queries, which choose T, too.
    scale_loss
        Whether the loss of a block counts N / (alpha n_k) times (a base with C or l2).
    permutations
        Orders of the features that are cut: as given, then random ones; groups are permuted whole.
    groups
        Features that stay together, by name, as in {"title": ["f1", "f6"], ...}: cuts fall between
        groups. Features in none are a last group.
    class_blocks
        "shared": classes of users weigh blocks that were fitted on everybody's labels; "own": the
        blocks are fitted anew on what each class judged or clicked in ``fit``, for classes that
        disagree about what is good.
    max_error
        Classes of users with a higher training error (1 - metric on their own labels) are served as
        all users are.
    metric
        What is measured of blocks and classes.
    validation_fraction
        Share of the queries held out where weights need them and none are given.
    n_jobs
        Blocks that joblib fits at a time, by any of its backends; the result is the same.

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
    # What fits any number of features and any way to combine blocks.
    grid: ClassVar[dict[str, Any]] = {
        "weights": ("size", "validation"),
        "ensemble": ("bagging", "boosting"),
    }

    # Normalised scores and ranks are known by the query ids alone.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 - read by scikit-learn

    base: str | Ranker = "ranksvm"
    min_block: Count = 5
    compositions: Literal["all", "first"] | Count | Sequence[Sequence[int]] = "all"
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
        """Learn from labelled queries, and from what users made of their lists.

        Parameters
        ----------
        X, y, qid, sample_weight, valid, callback
            As every ranker has them.
        user_class
            Whose labels each query has, one a query or one a row: each class gets weights of its own.
        feedback
            alpha of compositions (``podium.feedback.UniformFeedback``, ``SimulatedFeedback``, anything
            with ``alpha(sizes)``), or a log (``podium.feedback.read_ubi``), whose classes get weights
            of their own by what they clicked. A log without user classes changes nothing (but the
            loss, where ``scale_loss`` is on), and a ``NothingLearnedWarning`` says so.
        """
        data = self.ranking_data(X, y, qid, sample_weight)
        personal = user_class is not None or has_labels(feedback)
        evidence = Batch(data, feedback, user_class).evidence() if personal else {}
        if personal and not evidence:
            raise DataError(
                "expected feedback on queries and documents of the data that tells some of them "
                "apart, got none; see podium.feedback.Feedback.labels"
            )
        held_out = None if valid is None else self.ranking_data(valid, scaled=data.scaled)
        self.fit_data(data, held_out, callback, learn=partial(self._learn_with, feedback))
        if evidence:
            self._learn_users(evidence, self._own_blocks(evidence, feedback))
            if has_labels(feedback):  # other labels are those that the blocks were fitted on
                self._learn_population(evidence)
            if not _names_classes(evidence) and self.weights == "size" and not self.scale_loss:
                warnings.warn(NO_CLASSES, NothingLearnedWarning, stacklevel=2)
        return self

    def plan(self, names: Sequence[str] | None = None) -> Plan:
        """The compositions asked for and the blocks they share, on features of these names.

        Examples
        --------
        >>> plan = CFBRS(min_block=5).plan([f"f{j}" for j in range(1, 47)])
        >>> plan.n_compositions, len(plan.blocks)
        (51320, 603)
        """
        if names is None:
            check_is_fitted(self, "model_")
            names = names_of(self)
        return make_plan(
            names, min_block=self.min_block, compositions=self.compositions,
            sampling=self.sampling, probabilities=self.probabilities,
            permutations=self.permutations, groups=self.groups, seed=self.seed,
        )  # fmt: skip

    def check_settings(self) -> None:
        """Raise if settings do not fit together."""
        base = self._base()
        self._combination()
        if self.normalise is not None and self.combine != "score":
            raise UsageError(
                "expected normalise with combine='score', for ranks have no scale, got "
                f"normalise={self.normalise!r} and combine={self.combine!r}"
            )
        if self.scale_loss:
            scaled_loss(base, 1.0)
        check_compositions(self.compositions)
        check_groups(self.groups)
        if self.sampling == "stratified" and not isinstance(self.compositions, int | np.integer):
            raise UsageError(
                "expected sampling='stratified' with a number of compositions to draw, got "
                f"compositions={self.compositions!r}"
            )
        if self.n_jobs == 0:
            raise UsageError(
                "expected n_jobs of cfbrs to be 1 or more, below 0 (-1: all cores) or None, got 0"
            )
        if self.probabilities is not None and self.sampling != "stratified":
            raise UsageError("expected probabilities with sampling='stratified', got 'uniform'")

    def _base(self) -> Ranker:
        """The ranker of a block; one given by name has this one's metric and seed."""
        given = self.base
        if isinstance(given, CFBRS):
            raise UsageError("expected a base that is no ensemble of blocks itself, got a cfbrs")
        if isinstance(given, Ranker):
            return given
        if given not in RANKERS:
            raise UnknownNameError("ranker", given, RANKERS)
        made = RANKERS[given]()
        own = {"metric": self.metric, "seed": self.seed}
        made.set_params(**{k: v for k, v in own.items() if k in made.get_params(deep=False)})
        return made

    def _combination(self) -> Combination:
        given = self.combine
        if isinstance(given, Aggregator):
            return Combination(given)
        return Combination(None if given == "score" else make_aggregator(given), self.normalise)

    def needs_validation(self) -> bool:
        """Whether queries are held out where no validation data is given."""
        return self.weights != "size"

    @property
    def keeps_best(self) -> bool:
        """Of boosting the round that validates best; bagging has one step."""
        return self.ensemble == "boosting"

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return self.rounds if self.ensemble == "boosting" else 1

    def tie_averaged_metric(self) -> Metric:
        """Return the metric, averaged over the orders of equal scores."""
        return parse(self.metric).averaging_ties()

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Fit the blocks, then weigh them by bagging or boosting."""
        return self._learn_with(None, train, watch, start)

    def _learn_with(
        self, feedback: Any, train: RankingData, watch: Watch, start: Model | None
    ) -> Learned:
        plan = self.plan(train.names())
        alpha = Alpha(feedback, plan)
        prior = alpha.prior()
        strength = alpha.strength if self.scale_loss else None
        fits = fit_blocks(
            self._base(), plan, train, watch.valid, strength=strength, n_jobs=self.n_jobs
        )
        models, n = tuple(fit.model for fit in fits), len(plan.blocks)
        composed = Composed(
            train.n_features, plan.blocks, models, prior, self._combination(), Standing.blank(n)
        )
        if self.ensemble == "boosting":
            composed = self._boosted(composed, plan, alpha, train, watch)
        if self.weights == "validation" and watch.valid is not None:
            composed = weigh_population(composed, watch.valid, watch.metric)
        if self.ensemble == "bagging":
            scores = composed.scores(train.X, train.groups)
            loss = 1 - evaluate(train, scores, watch.metric)[watch.metric].mean
            watch(loss, as_model(composed))
        return Learned(as_model(composed), not told(fits), told(fits))

    def _boosted(
        self, composed: Composed, plan: Plan, alpha: Alpha, train: RankingData, watch: Watch
    ) -> Composed:
        """The blocks' weights by boosting, of the round that validates best or has the least loss."""
        evidence, metric = Evidence.of(train), watch.metric
        if evidence is None:
            return composed
        votes, gains = votes_and_gains(composed, evidence, metric)
        given = plan.sizes, gains, evidence, votes, metric, self.rounds
        for one in boost(plan, *given, alphas=alpha.differing):
            watch(one.loss, as_model(replace(composed, prior=one.weights)))
        return composed if watch.model is None else ensemble_of(watch.model)

    # --- classes of users ---

    def _learn_users(
        self, evidence: Mapping[str | None, Evidence], models: Mapping[str, Models] | None = None
    ) -> None:
        composed = ensemble_of(self.model_)
        composed = learn_classes(composed, evidence, self.tie_averaged_metric(), self.seed, models)
        self.model_ = as_model(composed)

    def _learn_population(self, evidence: Mapping[str | None, Evidence]) -> None:
        """What speaks for all users, added to what was measured for them."""
        if None in evidence and self.weights == "validation":
            composed = ensemble_of(self.model_)
            composed = add_to_population(composed, evidence[None], self.tie_averaged_metric())
            self.model_ = as_model(composed)

    def _own_blocks(
        self, evidence: Mapping[str | None, Evidence], feedback: Any
    ) -> dict[str, Models]:
        """The blocks of each class, fitted on its own queries, where that is asked for.

        A base that needs validation holds out some of these: validation queries have everybody's
        labels, with which the class may disagree.
        """
        if self.class_blocks == "shared":
            return {}
        base, plan = self._base(), self.plan()
        strength = Alpha(feedback, plan).strength if self.scale_loss else None
        fits = {
            name: fit_blocks(base, plan, own.weighted(), strength=strength, n_jobs=self.n_jobs)
            for name, own in evidence.items()
            if name is not None
        }
        if reason := told(list(itertools.chain(*fits.values()))):
            self.converged_, self.stopped_ = False, f"for classes: {reason}"
            warnings.warn(
                f"{self.name} stopped before it was done ({self.stopped_})",
                NotConvergedWarning, stacklevel=3,
            )  # fmt: skip
        return {name: tuple(fit.model for fit in own) for name, own in fits.items()}

    @property
    def classes_(self) -> ClassTable:
        """The classes of users: how many queries spoke for each, and their training error.

        After updates the error is the mean, over all queries, of what each cost when it came, with
        the weights of that time.
        """
        return ClassTable.of(ensemble_of(self.model_).classes, self.metric, self.max_error)

    def class_weights(self, user_class: str | None) -> tuple[Standing, str | None]:
        """Whose weights a class is served with, and why they are not its own, where they are not."""
        composed = ensemble_of(self.model_)
        found = composed.standing(user_class)
        if found is None:
            known = ", ".join(str(s.name) for s in composed.classes) or "none"
            return composed.population, f"unknown user class {user_class!r} (known: {known})"
        if found.name is not None and found.error > self.max_error:
            return composed.population, (
                f"user class {user_class!r} has a training error of {found.error:.3f}, "
                f"above max_error={self.max_error:g}"
            )
        return found, None

    def told(self) -> str:
        """The ensemble in words.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> CFBRS(min_block=3).fit(make_synthetic(n_queries=20, n_features=12, seed=0)).told()
        '25 blocks of 19 compositions, one linear model'
        """
        composed, n = ensemble_of(self.model_), self.plan().n_compositions
        text = f"{len(composed.blocks):,} blocks of {n:,} compositions"
        text += ", one linear model" if isinstance(self.model_, Linear) else ""
        return text + (f", {len(composed.classes)} classes" if composed.classes else "")

    # --- use ---

    def predict(
        self,
        X: Any,
        *,
        qid: ArrayLike | None = None,
        user_class: ArrayLike | Sequence[str | None] | None = None,
    ) -> Floats:
        """One score a row, in the rows' order, for all users or for a class of them.

        Parameters
        ----------
        X
            RankingData; or an array or a data frame, with
        qid
            the query of each row, where blocks are normalised or ranked or classes differ by query.
        user_class
            A class for all queries, or one a query. One that is unknown, or has too high an error,
            is served as all users are, with an ``UnknownClassWarning``.
        """
        if qid is not None:
            if isinstance(X, RankingData):
                raise UsageError("expected RankingData alone, got query ids beside it")
            self._features(X)  # another number of features, or other names, are told as such
            data = self._documents(X, qid)
            return np.asarray(data.restore(self.predict(data, user_class=user_class)))
        population = super().predict(X)
        if user_class is None:
            return population
        if not isinstance(X, RankingData):
            if not isinstance(user_class, str) or not ensemble_of(self.model_).how.is_linear:
                raise UsageError("expected qid= or RankingData, to know whose rows are whose")
            X = self._documents(X, np.zeros(np.shape(X)[0], dtype=int))
        return self._personal(X, per_query_names(X, user_class), population)

    def _personal(
        self, data: RankingData, names: Sequence[str | None], population: Floats
    ) -> Floats:
        out, composed = population.copy(), ensemble_of(self.model_)
        for name in dict.fromkeys(names):
            standing, reason = self.class_weights(name)
            if reason is not None:
                warnings.warn(f"{reason}: served as all users are", UnknownClassWarning, 3)
            if standing.name is not None:
                mine = data.groups.spread(np.array([other == name for other in names]))
                weights = standing.weights(composed.prior)
                serving = composed.serving(standing)
                out[mine] = serving.scores_with(weights, data.X, data.groups)[mine]
        return out

    def rank(  # type: ignore[override]
        self,
        X: Any,
        k: int | None = None,
        *,
        qid: ArrayLike | None = None,
        user_class: ArrayLike | Sequence[str | None] | None = None,
    ) -> Sequence[PersonalList]:
        """The top k of each query, best first; each list says for which class it was made."""
        if user_class is None:
            return [PersonalList.of(one, None, None) for one in super().rank(X, k, qid=qid)]
        data = X if isinstance(X, RankingData) else self._documents(X, qid)
        asked = per_query_names(data, user_class)
        lists = self._lists(X, k, qid, lambda data: self.predict(data, user_class=asked))
        served = {name: self.class_weights(name)[0].name for name in dict.fromkeys(asked)}
        return [
            PersonalList.of(one, name, served[name]) for one, name in zip(lists, asked, strict=True)
        ]

    def update(
        self, data: Any, *, feedback: Any = None, user_class: ArrayLike | None = None
    ) -> Self:
        """New feedback changes what blocks count, for its classes and for all users; no block is refitted.

        What was seen before counts on: updates one after the other are as one with all of them, but
        for T of a class, which each of them tries on its queries with what was known before. All
        users' weights change where they are by what was measured (``weights`` not "size"). Where they
        are not, feedback without user classes changes nothing, and a ``NothingLearnedWarning`` says so.

        Parameters
        ----------
        data
            The queries whose lists were shown.
        feedback, user_class
            As in ``fit``; without feedback the data's labels count.
        """
        batch = (
            data
            if isinstance(data, Batch)
            else Batch(self.ranking_data(data), feedback, user_class)
        )
        self.check_fitted_on(batch.data)
        if batch.feedback is not None and not has_labels(batch.feedback):
            raise UsageError(
                "expected a log as podium.feedback.read_ubi reads it to update by, got "
                f"{batch.feedback!r}"
            )
        evidence = batch.evidence()
        if not evidence:
            raise UsageError("expected a query with documents of different labels, got none")
        self._learn_users(evidence)
        if not _names_classes(evidence) and self.weights == "size":
            warnings.warn(NO_CLASSES, NothingLearnedWarning, stacklevel=2)
        self._learn_population(evidence)
        return self

    def learn_until_converged(
        self,
        batches: Iterable[Any],
        valid: Any = None,
        *,
        tol: float = 1e-3,
        patience: int = 2,
    ) -> Adaptation:
        """Update with one batch of feedback after the other until the metric changes no more.

        Parameters
        ----------
        batches
            ``podium.ensemble.Batch`` each: queries and their feedback; RankingData: its labels.
        valid
            Another one to measure on; None: each batch is measured before it is learned from.
        tol, patience
            The end: so many batches in a row change the metric by less than this.
        """
        return adapt(self, batches, valid, tol=tol, patience=patience)

    def check_fitted_on(self, data: RankingData) -> None:
        """Raise if the ranker is not fitted, or not on such features."""
        check_is_fitted(self, "model_")
        self._features(data)


def _names_classes(evidence: Mapping[str | None, Evidence]) -> bool:
    return any(name is not None for name in evidence)
