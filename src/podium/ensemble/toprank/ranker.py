"""TopRank, supervised re-ranking: a base ranker orders all documents, and voters re-rank its head."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from podium.aggregation import Aggregator, SupervisedKemeny, make_aggregator
from podium.data import RankingData
from podium.data.query_lookup import query_number
from podium.ensemble.base_rankers import make_base_ranker
from podium.ensemble.toprank.head_explanation import HeadExplanation, explain_head
from podium.ensemble.toprank.list_voters import ListVoter, VotedTopRank
from podium.ensemble.toprank.reranked_model import Member, RerankedModel
from podium.ensemble.toprank.vote_weights import (
    BEST_VOTERS,
    PAPER_VOTERS,
    MemberSpec,
    check_vote_weights,
    vote_weights,
)
from podium.errors import NotConvergedWarning, NothingLearnedWarning, UsageError
from podium.losses.head_hinge import head_measure
from podium.metrics import Metric, evaluate
from podium.rankers import Ranker, tune
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Model
from podium.rankers.parameters import Count, Range, Seed
from podium.rankers.topslack import PAPER_C_VALUES
from podium.task_runner import current_runner
from podium.typing import Floats

MODE_AGGREGATORS: dict[str, Aggregator] = {
    "best": SupervisedKemeny(),
    "paper": SupervisedKemeny(literal=True),
}
BEST_T = 50
"""The number of documents that mode "best" re-ranks."""
PAPER_T = 100
"""The maximum number of documents that mode "paper" re-ranks."""


@dataclass(kw_only=True, eq=False, repr=False)
class TopRank(Ranker):
    """The first t documents of a base ranker, re-ranked by the votes of several rankers.

    The base orders all documents of a query. Each voter a orders the first t of them, and an
    aggregator combines these orders with weights p_a. Documents below keep the base's order. A
    query with n < t documents is re-ranked as a whole. Cheng, Sun, Xie, TopRank: a novel top-k
    ranking method based on rank aggregation, Sections 3.2 and 4.1.3.

    ``mode="best"``: the base and voters of other families vote, and complete orders of the first 50
    are aggregated. With measured weights, the base alone decides if it beats the vote by two
    standard errors on the validation queries.

    ``mode="paper"``: t = min(100, the shortest training list), and the first k = t/2 of each order
    count. The base gives the initial order mu and has no vote. There are three voters (regression,
    ranksvm, listnet), with p_a proportional to NDCG@10 (or P@10) on validation.

    Scores are minus the places, and depend on the other documents of the query: ``predict`` takes
    RankingData, or an array with ``qid=``.

    Parameters
    ----------
    base
        The ranker that orders all documents: a name in ``podium.rankers.RANKERS`` or a ranker;
        None: topslack, in mode "paper" with the paper's search and its path of C.
    rankers
        The voters that re-rank, as names or rankers; None: those of the mode.
    aggregator
        A name in ``podium.aggregation.AGGREGATORS`` or an aggregator; None: supervised Kemeny, in
        mode "paper" as printed in the paper.
    mode
        The defaults of base, rankers, aggregator, t and depth, and whether the base votes.
    t
        How many documents are re-ranked; None: the number of the mode.
    depth
        How many of each voter's first documents count; None: all t ("best"), t/2 ("paper").
    weights
        The weight of each vote: "measured" (proportional to the metric on validation), "equal", or
        one number per voter, the base first if it votes.
    tuned
        Whether rankers passed by name are tuned over their grids on the validation queries; ranker
        objects are fitted with their own settings.
    metric
        The metric on the validation queries.
    validation_fraction
        The share of the queries held out if there is no validation data.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=60, seed=0)
    >>> ranker = TopRank(base=RankSVM(C=0.1), rankers=("regression", "listnet"), t=10).fit(data)
    >>> [member.name for member in ranker.model_.members], ranker.model_.t
    (['ranksvm', 'regression', 'listnet'], 10)
    >>> bool(ranker.score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "toprank"
    paper: ClassVar[str] = "Cheng, Sun, Xie, TopRank"
    grid: ClassVar[dict[str, Any]] = {"t": (10, 20, 50, 100)}
    warm_start_along: ClassVar[str | None] = "t"

    # Heads need query ids: predict requests them, too.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 - read by scikit-learn

    base: str | Ranker | None = None
    rankers: Sequence[str | Ranker] | None = None
    aggregator: str | Aggregator | None = None
    mode: Literal["best", "paper"] = "best"
    t: Count | None = None
    depth: Count | None = None
    weights: Literal["measured", "equal"] | Sequence[float] = "measured"
    tuned: bool = True
    metric: str = "NDCG@10"
    validation_fraction: Annotated[float, Range(0.01, 0.9)] = 0.2
    seed: Seed = 0

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, ignore_scaling: bool = False
    ) -> Floats:
        """Return minus the place of each row in its query, in the order of the rows.

        Parameters
        ----------
        X
            RankingData; or an array or a data frame, together with `qid`.
        qid
            The query of each row.
        ignore_scaling
            Whether to accept RankingData that is scaled differently from the training data.
        """
        if qid is None:
            return super().predict(X, ignore_scaling=ignore_scaling)
        return self.predict_by_query(X, qid)

    def explain(self, data: RankingData, query: str | int | None = None) -> HeadExplanation:  # type: ignore[override]
        """Explain one query's head: the order of each ranker, the weight of its vote, the final order.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> data = make_synthetic(n_queries=40, n_docs=6, seed=0)
        >>> rankers = ("regression", "listnet")
        >>> ranker = TopRank(base="ranksvm", rankers=rankers, aggregator="borda", t=3, weights="equal")
        >>> ranker.fit(data).explain(data, "q2")
        query q2: the first 3 of 6 documents by borda
        document  place  label  ranksvm  regression  listnet
        weight                    0.333       0.333    0.333
        q2-d4         1      1        1           1        1
        q2-d5         2      0        3           2        2
        q2-d6         3      0        2           3        3
        below, in the order of ranksvm: 3
        """
        check_is_fitted(self, "model_")
        number, model = query_number(data, query), self.model_
        assert isinstance(model, RerankedModel)
        documents, first_row = data.subset([number]), int(data.groups.offsets[number])
        return explain_head(model, documents, self.predict(documents), first_row)

    def with_voter(self, voter: ListVoter, weight: float) -> VotedTopRank:
        """Return the fitted ranker with one more voter, such as a machine, for predictions.

        Parameters
        ----------
        voter
            Orders the documents of a head by their ids.
        weight
            Its share of all votes, between 0 and 1.
        """
        check_is_fitted(self, "model_")
        assert isinstance(self.model_, RerankedModel)
        return VotedTopRank(self.model_, self._features, voter, weight)

    def check_settings(self) -> None:
        """Raise if settings do not fit together."""
        names = [spec.ranker.name for spec in self._member_specs()]
        self._aggregator()
        check_vote_weights(self.weights, names if self._base_has_vote() else names[1:])

    def _has_measured_weights(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "measured"

    def _base_has_vote(self) -> bool:
        return self.mode == "best"

    def _member_specs(self) -> list[MemberSpec]:
        """Return the rankers to fit, the base first."""
        rankers, base = self.rankers, self._base_spec()
        if rankers is None:
            voters = BEST_VOTERS if self.mode == "best" else PAPER_VOTERS
            return [base, *(self._make_spec(name, **fixed) for name, fixed in voters)]
        if isinstance(rankers, str | Ranker):  # a single ranker, as from a command line
            rankers = (rankers,)
        if not isinstance(rankers, Sequence) or not len(rankers):
            raise UsageError(
                "expected rankers to be a list of rankers or names, such as ['ranksvm', "
                f"'listnet'], got {rankers!r}"
            )
        return [base, *(self._make_spec(ranker) for ranker in rankers)]

    def _base_spec(self) -> MemberSpec:
        if self.base is not None:
            return self._make_spec(self.base)
        if self.mode == "best":
            return self._make_spec("topslack")
        spec = self._make_spec("topslack", oracle="paper", measure=self._base_measure())
        return replace(spec, grid=spec.grid and {"C": PAPER_C_VALUES}, label="topslack")

    def _base_measure(self) -> str:
        """Return the measure of the paper's base: the metric if it is NDCG or precision, else NDCG@10."""
        try:
            return str(head_measure(self.metric))
        except UsageError:
            return "NDCG@10"

    def _make_spec(self, ranker: Any, **fixed: Any) -> MemberSpec:
        """Return a ranker unchanged, or the one of this name with this ranker's metric and seed."""
        if isinstance(ranker, Ranker):
            return MemberSpec(ranker)
        if not isinstance(ranker, str):
            raise UsageError(
                f"expected a ranker or its name, as in RankSVM() or 'ranksvm', got {ranker!r}"
            )
        member = make_base_ranker(ranker, metric=self.metric, seed=self.seed, **fixed)
        grid = {name: values for name, values in member.grid.items() if name not in fixed}
        label = " ".join([ranker, *(value for value in fixed.values() if isinstance(value, str))])
        return MemberSpec(member, grid if self.tuned else None, label)

    def _aggregator(self) -> Aggregator:
        aggregator = MODE_AGGREGATORS[self.mode] if self.aggregator is None else self.aggregator
        return make_aggregator(aggregator) if isinstance(aggregator, str) else aggregator

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data."""
        return True

    @property
    def keeps_best(self) -> bool:
        """Whether the best step on validation is kept: no, the last one, in which all members vote."""
        return False

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return len(self._member_specs())

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Fit the base and its voters."""
        # Along a path of t, keep the members of the last fit: only the vote changes.
        earlier = {m.spec: m for m in start.members} if isinstance(start, RerankedModel) else {}
        members: list[Member] = []
        for member in self._fit_members(earlier, train, monitor):
            members.append(member)
            self._add_step(members, train, monitor)
            if member.reason == "interrupted":
                raise KeyboardInterrupt
        reasons = [f"{m.name}: {m.reason}" for m in members if m.reason]
        assert monitor.model is not None
        return FitResult(monitor.model, not reasons, "; ".join(reasons))

    def _fit_members(
        self, earlier: Mapping[str, Member], train: RankingData, monitor: FitMonitor
    ) -> Iterator[Member]:
        """Yield the members in order; fit those of no earlier fit, on the cluster in use if any."""
        specs = self._member_specs()
        calls = (
            delayed(_fit_member)(spec, train, monitor.valid, monitor.metric, self.metric)
            for spec in specs
            if str(spec) not in earlier
        )
        runner = current_runner()
        fitted: Iterator[Member] = (
            (fit(*args, **kwargs) for fit, args, kwargs in calls)
            if runner is None
            else runner.run(calls)
        )
        for spec in specs:
            yield earlier.get(str(spec)) or next(fitted)

    def _add_step(self, members: Sequence[Member], train: RankingData, monitor: FitMonitor) -> None:
        """Report the vote of the current members, or the base alone if it is clearly better."""
        model = self._make_model(tuple(members), train)
        data = train if monitor.valid is None else monitor.valid
        scores = model.scores(data.X, data.groups)
        if monitor.valid is not None and self._base_has_vote() and self._has_measured_weights():
            base_alone = replace(model, weights=(1.0,) + (0.0,) * (len(members) - 1))
            base_scores = base_alone.scores(data.X, data.groups)
            if _is_clearly_better(data, base_scores, scores, monitor.metric):
                model, scores = base_alone, base_scores
        value = evaluate(data, scores, monitor.metric)[monitor.metric].mean
        monitor(1 - value, model, None if monitor.valid is None else scores)

    def _make_model(self, members: tuple[Member, ...], train: RankingData) -> RerankedModel:
        sizes = train.groups.sizes[train.groups.sizes > 0]
        t = self.t or (BEST_T if self.mode == "best" else min(PAPER_T, int(sizes.min())))
        depth = self.depth or (t if self.mode == "best" else max(1, t // 2))
        # Kemeny's local search ends better if it starts from a Borda count than from the base's
        # order.
        from_base = not self._base_has_vote()
        weights = vote_weights(self.weights, members, self._base_has_vote())
        return RerankedModel(members, weights, t, min(depth, t), self._aggregator(), from_base)


def _fit_member(
    spec: MemberSpec, train: RankingData, valid: RankingData | None, measure: Metric, metric: str
) -> Member:
    """Fit one member; its reason says if it stopped early, and the whole fit warns of it."""
    reason = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", NothingLearnedWarning)
        if spec.grid is not None and valid is not None:
            tuning = tune(spec.ranker, train, valid, metric, spec.grid)
            ranker, reason = tuning.ranker, "" if tuning.finished else "interrupted"
        else:
            ranker = clone(spec.ranker).fit_data(train, valid)
    return Member(
        name=spec.label or ranker.name,
        settings=repr(ranker),
        model=ranker.model_,
        value=_validation_value(ranker.model_, valid, measure),
        spec=str(spec),
        reason=reason or ("" if ranker.converged_ else ranker.stopped_),
        certificate=ranker.certificate_,
    )


def _is_clearly_better(data: RankingData, scores: Floats, others: Floats, metric: Metric) -> bool:
    """Whether scores rank better than others by two standard errors of the difference."""
    gain = evaluate(data, scores, metric)[metric].per_query
    gain = gain - evaluate(data, others, metric)[metric].per_query
    gain = gain[np.isfinite(gain)]
    return len(gain) > 1 and float(gain.mean()) > 2 * float(gain.std(ddof=1)) / len(gain) ** 0.5


def _validation_value(model: Model, valid: RankingData | None, metric: Metric) -> float | None:
    """Return the metric of one member, to six digits, because the order of rows must not change a weight."""
    if valid is None:
        return None
    value = evaluate(valid, model.scores(valid.X, valid.groups), metric)[metric].mean
    return round(value, 6) if np.isfinite(value) else None
