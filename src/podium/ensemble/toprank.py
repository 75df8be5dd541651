"""TopRank: a base ranker orders all documents, and several rankers vote on its first t."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium.aggregation import Aggregator, SupervisedKemeny, make_aggregator
from podium.data import RankingData
from podium.ensemble.reranked import Member, Reranked, shares
from podium.errors import NotConvergedWarning, UnknownNameError, UsageError
from podium.losses.head_hinge import head_measure
from podium.metrics import Metric, evaluate
from podium.rankers import RANKERS, Ranker, tune
from podium.rankers.history import Watch
from podium.rankers.models import Floats, Model
from podium.rankers.parameters import Count, Range, Seed
from podium.rankers.ranker import Learned
from podium.rankers.topslack import PAPER_PATH

if TYPE_CHECKING:
    from podium.ensemble.explanation import HeadExplanation

OWN_AGGREGATOR: dict[str, Aggregator] = {
    "best": SupervisedKemeny(),
    "paper": SupervisedKemeny(literal=True),
}
VOTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lambdamart", {"loss": "lambdarank"}),
    ("lambdamart", {"loss": "xendcg"}),
    ("focused-boost", {}),
    ("topk-listmle", {}),
)
"""Rankers of several families, and with a base that is another one an odd number of votes."""
PAPER_VOTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("regression", {}),
    ("ranksvm", {}),
    ("listnet", {}),
)
T = 50
PAPER_T = 100


@dataclass(frozen=True)
class Asked:
    """A ranker to fit as it is, or with the best settings of a grid."""

    ranker: Ranker
    grid: Mapping[str, Sequence[Any]] | None = None
    label: str = ""
    """What it is called among the members."""

    def __str__(self) -> str:
        return f"{self.ranker!r}" + ("" if self.grid is None else " tuned")


@dataclass(kw_only=True, eq=False, repr=False)
class TopRank(Ranker):
    """The first t documents of a base ranker, re-ranked by the votes of several rankers.

    The base orders all documents of a query. Its first t are ordered by each voter, and an
    aggregator makes one order of theirs, voter a counting p_a; the documents below keep the base's
    order. A query of n < t documents is re-ranked whole. Cheng, Sun, Xie, TopRank: a novel top-k
    ranking method based on rank aggregation, Sections 3.2 and 4.1.3.

    ``mode="best"``: the base votes, too, beside voters of other families, and whole orders of the
    first 50 are aggregated; with measured weights the base alone decides where it is better than
    the vote by two standard errors on the validation queries. ``mode="paper"``: t = min(100, the
    shortest training list), of each order the first k = t/2 count, the base gives the initial order
    mu and has no vote, three voters (regression, ranksvm, listnet), p_a proportional to NDCG@10 (or
    P@10) on validation.

    Scores are minus the places, and depend on the other documents of the query: ``predict`` takes
    RankingData, or an array with ``qid=``.

    Parameters
    ----------
    base
        The ranker that orders all documents: a name in ``podium.rankers.RANKERS`` or a ranker;
        None: topslack, in "paper" with that paper's search and its path of C.
    rankers
        Those that re-rank, names or rankers; None: the mode's own.
    aggregator
        A name in ``podium.aggregation.AGGREGATORS`` or an aggregator; None: supervised Kemeny, in
        "paper" as it is printed there.
    mode
        What is meant where t, depth and rankers are None, and whether the base votes.
    t
        Documents that are re-ranked; None: the mode's rule.
    depth
        How many of each voter's first documents count; None: all t ("best"), t/2 ("paper").
    weights
        What each vote counts: "measured" (in proportion to the metric on validation), "equal", or
        a number for each voter, the base first where it votes.
    tuned
        Whether rankers given by name are chosen from their own grids on the validation queries;
        rankers given as such are fitted as they are.
    metric
        What is measured on the validation queries.
    validation_fraction
        Share of the queries held out where no validation data is given.

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

    # Heads are known by the query ids alone: predict asks for them, too.
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

    def predict(self, X: Any, *, qid: ArrayLike | None = None) -> Floats:
        """Minus the place of each row in its query, in the rows' order.

        Parameters
        ----------
        X
            RankingData; or an array or a data frame, with
        qid
            the query of each row.
        """
        if qid is None:
            return super().predict(X)
        if isinstance(X, RankingData):
            raise UsageError("expected RankingData alone, got query ids beside it")
        self._features(X)  # another number of features, or other names, are told as such
        data = self._documents(X, qid)
        return np.asarray(data.restore(super().predict(data)))

    def explain(self, data: RankingData, query: str | int) -> HeadExplanation:  # type: ignore[override]
        """One query's head as each ranker orders it, what their votes count, and the final order."""
        from podium.ensemble.explanation import explain_head

        return explain_head(self, data, query)

    def check_settings(self) -> None:
        """Raise if settings do not fit together."""
        members = self._asked()
        self._aggregator()
        n_voters = len(members) - (not self._base_votes())
        given = self.weights
        if isinstance(given, str):
            if given not in ("measured", "equal"):
                raise UsageError(
                    f"expected weights of toprank to be 'measured', 'equal' or numbers, got {given!r}"
                )
        elif np.shape(given) != (n_voters,):
            raise UsageError(
                f"expected {n_voters} weights, one for each voter ({self._voters_text()}), "
                f"got {given!r}"
            )
        elif not all(_is_weight(w) for w in given) or not any(given):
            raise UsageError(f"expected weights of 0 or more, one above 0, got {given!r}")

    def _are_measured(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "measured"

    def _base_votes(self) -> bool:
        return self.mode == "best"

    def _voters_text(self) -> str:
        names = [asked.ranker.name for asked in self._asked()]
        return ", ".join(names if self._base_votes() else names[1:])

    def _asked(self) -> list[Asked]:
        """The rankers to fit, the base first."""
        given, base = self.rankers, self._base()
        if given is None:
            own = VOTERS if self.mode == "best" else PAPER_VOTERS
            return [base, *(self._made(name, **fixed) for name, fixed in own)]
        if isinstance(given, str | Ranker):  # one alone, as from a command line
            given = (given,)
        if not isinstance(given, Sequence) or not len(given):
            raise UsageError(
                f"expected names of rankers, or rankers, as those that re-rank, got {given!r}"
            )
        return [base, *(self._made(ranker) for ranker in given)]

    def _base(self) -> Asked:
        if self.base is not None:
            return self._made(self.base)
        if self.mode == "best":
            return self._made("topslack")
        asked = self._made("topslack", oracle="paper", measure=self._measure())
        return replace(asked, grid=asked.grid and {"C": PAPER_PATH}, label="topslack")

    def _measure(self) -> str:
        """The paper's base learns what is measured, NDCG or precision."""
        try:
            return str(head_measure(self.metric))
        except UsageError:
            return "NDCG@10"

    def _made(self, given: Any, **fixed: Any) -> Asked:
        """A ranker as given, or by name with this one's metric and seed."""
        if isinstance(given, Ranker):
            return Asked(given)
        if not isinstance(given, str):
            raise UsageError(f"expected the name of a ranker or a ranker, got {given!r}")
        if given not in RANKERS:
            raise UnknownNameError("ranker", given, RANKERS)
        made = RANKERS[given](**fixed)
        own = {"metric": self.metric, "seed": self.seed}
        made.set_params(**{k: v for k, v in own.items() if k in made.get_params(deep=False)})
        grid = {name: values for name, values in made.grid.items() if name not in fixed}
        label = " ".join([given, *(str(value) for value in fixed.values())])
        return Asked(made, grid if self.tuned else None, label)

    def _aggregator(self) -> Aggregator:
        given = OWN_AGGREGATOR[self.mode] if self.aggregator is None else self.aggregator
        return make_aggregator(given) if isinstance(given, str) else given

    def needs_validation(self) -> bool:
        """Whether queries are held out where no validation data is given."""
        return True

    @property
    def keeps_best(self) -> bool:
        """All members vote: the last step, not the one that validates best."""
        return False

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return len(self._asked())

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Fit the base and its voters."""
        # Along a path of t the members are those of the last fit: only the vote is another one.
        known = {m.asked: m for m in start.members} if isinstance(start, Reranked) else {}
        members: list[Member] = []
        for asked in self._asked():
            member = known.get(str(asked)) or self._fitted(asked, train, watch)
            members.append(member)
            self._step(members, train, watch)
            if member.reason == "interrupted":
                raise KeyboardInterrupt
        reasons = [f"{m.name}: {m.reason}" for m in members if m.reason]
        assert watch.model is not None
        return Learned(watch.model, not reasons, "; ".join(reasons))

    def _fitted(self, asked: Asked, train: RankingData, watch: Watch) -> Member:
        """A member; that it is not done, where that is so, is told by the whole."""
        valid, reason = watch.valid, ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            if asked.grid is not None and valid is not None:
                found = tune(asked.ranker, train, valid, self.metric, asked.grid)
                ranker, reason = found.ranker, "" if found.finished else "interrupted"
            else:
                ranker = clone(asked.ranker).fit_data(train, valid)
        return Member(
            name=asked.label or ranker.name,
            settings=repr(ranker),
            model=ranker.model_,
            value=_value(ranker.model_, valid, watch.metric),
            asked=str(asked),
            reason=reason or ("" if ranker.converged_ else ranker.stopped_),
            certificate=ranker.certificate_,
        )

    def _step(self, members: Sequence[Member], train: RankingData, watch: Watch) -> None:
        """The vote of the members so far, or the base alone where it is clearly better."""
        model = self._vote(tuple(members), train)
        data = train if watch.valid is None else watch.valid
        scores = model.scores(data.X, data.groups)
        if watch.valid is not None and self._base_votes() and self._are_measured():
            alone = replace(model, weights=(1.0,) + (0.0,) * (len(members) - 1))
            base = alone.scores(data.X, data.groups)
            if _clearly_better(data, base, scores, watch.metric):
                model, scores = alone, base
        value = evaluate(data, scores, watch.metric)[watch.metric].mean
        watch(1 - value, model, None if watch.valid is None else scores)

    def _vote(self, members: tuple[Member, ...], train: RankingData) -> Reranked:
        sizes = train.groups.sizes[train.groups.sizes > 0]
        t = self.t or (T if self.mode == "best" else min(PAPER_T, int(sizes.min())))
        depth = self.depth or (t if self.mode == "best" else max(1, t // 2))
        # Kemeny's local search ends better from a Borda count than from the base's order.
        from_base = not self._base_votes()
        weights, aggregator = self._weights(members), self._aggregator()
        return Reranked(members, weights, t, min(depth, t), aggregator, from_base)

    def _weights(self, members: Sequence[Member]) -> tuple[float, ...]:
        """p_a; the base alone orders as it does, whether it votes later or not."""
        first = 0 if self._base_votes() or len(members) == 1 else 1
        voters = members[first:]
        if not isinstance(self.weights, str):
            given = list(self.weights)[: len(voters)]
            p = given if any(given) else [1.0] * len(voters)
        elif self._are_measured():
            p = [m.value or 0.0 for m in voters]
            p = p if all(m.value is not None for m in voters) and any(p) else [1.0] * len(voters)
        else:
            p = [1.0] * len(voters)
        return (0.0,) * first + shares(p)


def _clearly_better(data: RankingData, one: Floats, other: Floats, metric: Metric) -> bool:
    """Whether one ranking is better than another by two standard errors of the difference."""
    gain = evaluate(data, one, metric)[metric].per_query
    gain = gain - evaluate(data, other, metric)[metric].per_query
    gain = gain[np.isfinite(gain)]
    return len(gain) > 1 and float(gain.mean()) > 2 * float(gain.std(ddof=1)) / len(gain) ** 0.5


def _is_weight(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return math.isfinite(value) and float(value) >= 0


def _value(model: Model, valid: RankingData | None, metric: Metric) -> float | None:
    """What a member comes to alone; six digits, so that the order of rows changes no weight."""
    if valid is None:
        return None
    value = evaluate(valid, model.scores(valid.X, valid.groups), metric)[metric].mean
    return round(value, 6) if np.isfinite(value) else None
