"""AutoRanker: the best list within a budget, by a search over rankers and their combinations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData, concatenate
from podium.data.query_lookup import query_number
from podium.ensemble.auto.budget import Budget
from podium.ensemble.auto.candidates import make_candidates
from podium.ensemble.auto.combinations import TopRankVote
from podium.ensemble.auto.data_shape import DataShape
from podium.ensemble.auto.final_model import FinalMember, make_vote_model, sum_members
from podium.ensemble.auto.fit_runner import FitRunner, PreparedQueries
from podium.ensemble.auto.fit_store import FitStore, search_fingerprint
from podium.ensemble.auto.fold_fits import FitTask
from podium.ensemble.auto.nested_validation import ChosenCombination, choose_combination
from podium.ensemble.auto.query_folds import choose_fold_count
from podium.ensemble.auto.search import CandidateSearch
from podium.ensemble.auto.search_clock import SearchClock
from podium.ensemble.auto.search_progress import LeaderboardRow, SearchStep, interval
from podium.ensemble.auto.search_results import make_report
from podium.ensemble.toprank.head_explanation import HeadExplanation, explain_head
from podium.ensemble.toprank.reranked_model import RerankedModel
from podium.errors import DataError, SmallBudgetWarning, UnknownNameError, UsageError
from podium.rankers import MODELS, RANKERS, Explanation, Ranker
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult, Learner
from podium.rankers.learning_curve import Callback
from podium.rankers.models import Model
from podium.rankers.parameters import Count, Seed
from podium.rankers.preparation_statistics import learn_preparation
from podium.rankers.training_queries import contrasting_queries, drop_weightless_queries
from podium.typing import Floats, Path_

MIN_QUERIES = 2
"""A search needs queries to learn from and others to validate on."""
N_LEADERS = 5
"""The number of candidates on a leaderboard."""


@dataclass(kw_only=True, eq=False, repr=False)
class AutoRanker(Ranker):
    """The best ranker within a budget: a race of candidates, then a combination of the finalists.

    Candidates (trees, linear rankers, stumps, networks) are chosen by the shape of the data. They
    race by successive halving over folds of the queries. Each finalist is the mean of its fold
    models, and has scores for queries that it did not see. These scores choose a combination: the
    mean, the best finalist alone, greedy selection (Caruana et al., 2004), non-negative stacking
    (Breiman, 1996) or TopRank's vote. Nested validation measures each, and the simplest within one
    standard error of the best wins. The result is one model; sums of trees and of linear models are
    merged. `report_` has all that was tried.

    Parameters
    ----------
    budget
        The wall time ("10m", "90s", "1h", or a number of seconds), the processor time ("10m cpu"),
        on which other work has no effect, or the number of fits ("200fits"). The result of a number of
        fits does not depend on the machine.
    metric
        The metric to maximise.
    k
        The number of places that count for trees (truncation).
    seed
        The seed of folds, drawn settings and fits.
    without
        Names of rankers that are not tried, as in ("catboost",), which is tried if its extra is
        installed.
    learns_from_valid
        Whether models learn from the validation queries, too: the search validates inside, on
        queries that a fit did not see. False: they only help to choose the iterations of fits.
    n_jobs
        The number of fits at a time: None or 1: one; -1: one per core. joblib's backends can spread
        them over a cluster. The result of a number of fits does not depend on it.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=40, seed=0)
    >>> ranker = AutoRanker(budget="6fits").fit(data)
    >>> ranker.report_.fits, ranker.report_.folds
    (6, 2)
    >>> bool(ranker.score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "auto"
    paper: ClassVar[str] = "Caruana et al., 2004; Cheng, Sun, Xie, TopRank"
    accepts_missing: ClassVar[bool] = True
    is_search: ClassVar[bool] = True
    machine_parameters: ClassVar[tuple[str, ...]] = ("n_jobs",)

    # The vote needs query ids: predict requests them, too.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 - read by scikit-learn

    budget: str | float = "10m"
    metric: str = "NDCG@10"
    k: Count = 10
    seed: Seed = 0
    without: Sequence[str] = ()
    learns_from_valid: bool = True
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        checkpoints: Path_ | None = None,
        sample_weight: ArrayLike | None = None,
        valid: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Search for the best ranker; see `Ranker.fit`.

        Parameters
        ----------
        X, y, qid, sample_weight
            The training queries.
        checkpoints
            A folder for finished fits. A search that was interrupted continues with them; a search
            that ends removes them.
        valid
            More queries. Models learn from them, too, unless `learns_from_valid` is False; so they
            do not say how good the result is.
        callback
            Called with a `SearchStep` after each fit.
        """
        train = self.ranking_data(X, y, qid, sample_weight)
        validation = None if valid is None else self.ranking_data(valid, scaled=train.scaled)
        return self.fit_data(train, validation, callback, learn=self.learner(checkpoints))

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, ignore_scaling: bool = False
    ) -> Floats:
        """Return one score per row, in the order of the rows.

        Parameters
        ----------
        X
            RankingData; or an array or a data frame. If the model is a vote, these need `qid`.
        qid
            The query of each row.
        ignore_scaling
            Whether to accept RankingData that is scaled differently from the training data.
        """
        if qid is None:
            return super().predict(X, ignore_scaling=ignore_scaling)
        return self.predict_by_query(X, qid)

    def explain(  # type: ignore[override]
        self, data: RankingData, query: str | int | None = None
    ) -> Explanation | HeadExplanation:
        """Explain one query's list: what each feature adds, or the votes if the model is a vote."""
        check_is_fitted(self, "model_")
        model = self.model_
        if not isinstance(model, RerankedModel):
            return super().explain(data, query)
        number = query_number(data, query)
        documents, first_row = data.subset([number]), int(data.groups.offsets[number])
        return explain_head(model, documents, self.predict(documents), first_row)

    def check_settings(self) -> None:
        """Raise if the budget or the number of processes is wrong."""
        budget = Budget.parse(self.budget)
        for name in (names := self._left_out_names()):
            if name not in RANKERS:
                raise UnknownNameError("ranker in without", str(name), RANKERS)
        if set(names) >= set(RANKERS):
            raise UsageError("expected a ranker to try, but without names all of them")
        if self.n_jobs == 0:
            raise UsageError(
                "expected n_jobs of auto to be 1 or more, below 0 (-1: all cores) or None, got 0"
            )
        if budget.clock == "processor" and (n := effective_n_jobs(self.n_jobs)) != 1:
            raise UsageError(
                f"a budget of processor time counts the time of one process, got {n} fits at a time"
            ).advise(
                python="use n_jobs=1, or a budget of wall time, as in '10m'",
                command_line="use --jobs 1, or a budget of wall time, as in --budget 10m",
            )

    def _left_out_names(self) -> Sequence[str]:
        """Return the names of `without`; a command line gives a single name as text."""
        return (self.without,) if isinstance(self.without, str) else self.without

    def check_training(self, data: RankingData) -> None:
        """Raise if there are too few queries for a search."""
        super().check_training(data)
        n = int(contrasting_queries(data).sum())
        if n < MIN_QUERIES:
            raise DataError(
                f"auto needs at least {MIN_QUERIES} queries with different labels, to learn from some "
                f"and to validate on others, got {n}"
            )

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is kept: no, the model after the last one."""
        return False

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Search without checkpoints."""
        return self._search(train, monitor, start)

    def learner(self, checkpoints: Path_ | None) -> Learner:
        """Return `learn` with a folder for finished fits, also for a ranker around this one."""
        return partial(self._search, checkpoints=checkpoints)

    def _search(
        self,
        train: RankingData,
        monitor: FitMonitor,
        start: Model | None,
        checkpoints: Path_ | None = None,
    ) -> FitResult:
        """Race, fit the finalists more often and combine; if interrupted, end with the best so far."""
        search = self._start_search(train, monitor, checkpoints)
        is_interrupted = not _run_until_interrupted(search.race, search.fit_more_divisions)
        if search.best() is None:
            if is_interrupted:
                raise KeyboardInterrupt
            raise _nothing_fitted(search)
        if not (search.finalists or is_interrupted):
            _warn_of_small_budget(search)
        combination = self._choose_combination(search)
        weights = _member_weights(search, combination)
        if not is_interrupted:
            is_interrupted = not _run_until_interrupted(lambda: search.fit_more_bags(list(weights)))
        members = [_final_member(search, number, weight) for number, weight in weights.items()]
        method = combination.method if combination is not None else None
        model: Model = (
            make_vote_model(members, method)
            if isinstance(method, TopRankVote)
            else sum_members(members)
        )
        report = make_report(search, combination, members)
        value = _unseen_value(combination, members)
        monitor.record(1 - (value or 0.0), value, model)
        if not is_interrupted:
            search.runner.store.remove()
        return FitResult(
            model, not is_interrupted, "interrupted" if is_interrupted else "", report=report
        )

    def _start_search(
        self, train: RankingData, monitor: FitMonitor, checkpoints: Path_ | None
    ) -> CandidateSearch:
        train, valid = self._learning_queries(train, monitor.valid)
        shape, budget = DataShape.of(train), Budget.parse(self.budget)
        candidates = make_candidates(
            shape, metric=self.metric, k=self.k, seed=self.seed, without=self._left_out_names()
        )
        n_folds = choose_fold_count(train, budget.fits)
        settings = f"{self.metric} {self.k} {self.seed} {n_folds}"
        store = FitStore(checkpoints, search_fingerprint(train, valid, settings), MODELS)
        runner = FitRunner(
            queries=_prepare_queries(train, valid, shape),
            candidates=candidates,
            metric=monitor.metric,
            n_folds=n_folds,
            seed=self.seed,
            clock=SearchClock(budget),
            store=store,
            n_jobs=self.n_jobs,
            on_fit=lambda task: None,
        )
        search = CandidateSearch(runner, on_stage=monitor.begin)
        # The runner reports to the search, which needs the runner first.
        runner.on_fit = partial(_report_fit, search, monitor)
        return search

    def _learning_queries(
        self, train: RankingData, valid: RankingData | None
    ) -> tuple[RankingData, RankingData | None]:
        """Return the queries of the folds, and those that only choose iterations."""
        if valid is None:
            return train, None
        # A validation query may have the id of a training query.
        ids = np.array([f"valid {qid}" for qid in valid.qids.tolist()], dtype=object)
        valid = replace(valid, qids=ids)
        if not self.learns_from_valid:
            return train, valid
        return concatenate([train, drop_weightless_queries(valid)]), None

    def _choose_combination(self, search: CandidateSearch) -> ChosenCombination | None:
        """Return the combination of the finalists; None without finalists."""
        if not search.finalists:
            return None
        search.on_stage("combining")
        out_of_fold = search.out_of_fold().sample(self.seed)
        return choose_combination(out_of_fold, search.runner.metric)


def _run_until_interrupted(*stages: Callable[[], object]) -> bool:
    """Run the stages of a search; return whether they came to their end."""
    try:
        for stage in stages:
            stage()
    except KeyboardInterrupt:
        return False
    return True


def _member_weights(
    search: CandidateSearch, combination: ChosenCombination | None
) -> dict[int, float]:
    """Return the weights of the members by number, the largest first.

    Without finalists, the best candidate so far is the only member.
    """
    if combination is None:
        best = search.best()
        assert best is not None
        return {best: 1.0}
    weights = zip(search.finalists, combination.weights.tolist(), strict=True)
    return dict(sorted(((n, w) for n, w in weights if w > 0), key=lambda pair: -pair[1]))


def _prepare_queries(
    train: RankingData, valid: RankingData | None, shape: DataShape
) -> PreparedQueries:
    """Return the queries with the preparation that linear rankers need; labels do not enter it."""
    has_missing = shape.has_missing or (valid is not None and bool(np.isnan(valid.X).any()))
    if not (has_missing or shape.has_uneven_features):
        return PreparedQueries(train, valid, None, train, valid)
    steps = learn_preparation(
        train.X,
        train.names(),
        impute="median" if has_missing else "none",
        scale="zscore" if shape.has_uneven_features else "none",
    )

    def prepare(data: RankingData) -> RankingData:
        return data.with_features(steps.apply(data.X), steps.output_names(data.names()))

    prepared_valid = None if valid is None else prepare(valid)
    return PreparedQueries(train, valid, steps, prepare(train), prepared_valid)


def _final_member(search: CandidateSearch, number: int, weight: float) -> FinalMember:
    candidate, value = search.runner.candidates[number], search.value(number)
    return FinalMember(
        candidate.label, repr(candidate.ranker), weight,
        value if np.isfinite(value) else None, search.fits_of(number),
    )  # fmt: skip


def _unseen_value(
    combination: ChosenCombination | None, members: Sequence[FinalMember]
) -> float | None:
    """Return the metric of the result on queries that it did not see, by nested validation."""
    if combination is None:
        return members[0].value
    return next(result.value for result in combination.results if result.is_chosen)


def _nothing_fitted(search: CandidateSearch) -> DataError:
    errors = [fit.error for fit in search.runner.fits.values() if fit.error]
    reason = (
        f"; the first error: {errors[0]}" if errors else "; the budget is too small for one fit"
    )
    return DataError(f"no candidate of auto could be fitted{reason}")


def _warn_of_small_budget(search: CandidateSearch) -> None:
    """Warn that no candidate was fitted on all folds, so that the result was measured on few queries."""
    runner, best = search.runner, search.best()
    n_folds = 0 if best is None else len(search.fits_of(best))
    warnings.warn(
        f"the budget of {runner.clock.budget} was too small to fit one candidate on all {runner.n_folds} "
        f"folds: the result was measured on {n_folds}, and nothing was combined; a budget of minutes, such "
        "as 10m, is better",
        SmallBudgetWarning,
        stacklevel=2,
    )


def _report_fit(search: CandidateSearch, monitor: FitMonitor, task: FitTask) -> None:
    """Call the user's callback with the leaderboard."""
    if monitor.callback is None:
        return
    clock = search.runner.clock
    leaders = _leaderboard(search)
    left = clock.seconds_left()
    monitor.callback(
        SearchStep(
            ranker="auto",
            iteration=clock.fits,
            total=clock.budget.fits,
            objective=1 - leaders[0].value if leaders else float("nan"),
            metric=str(search.runner.metric),
            valid=leaders[0].value if leaders else None,
            stage=monitor.stage,
            leaders=tuple(leaders),
            seconds=clock.seconds,
            seconds_left=left if np.isfinite(left) else None,
        )
    )


def _leaderboard(search: CandidateSearch) -> list[LeaderboardRow]:
    """Return the best candidates so far, those with the most folds first."""
    rows = []
    for number, candidate in enumerate(search.runner.candidates):
        per_query, weight = search.per_query(number)
        if len(per_query):
            value, low, high = interval(per_query, weight)
            folds = len(search.fits_of(number))
            rows.append(LeaderboardRow(candidate.label, value, low, high, folds))
    return sorted(rows, key=lambda row: (-row.folds, -row.value))[:N_LEADERS]
