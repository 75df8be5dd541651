"""`PostRanker`: a ranker whose lists are post-ranked under rules."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium.data import Collection, RankingData
from podium.data.query_lookup import query_number
from podium.errors import MissingDocidsError, UsageError
from podium.postranking.batch import PostRankedRun, postrank_batch
from podium.postranking.list_input import Catalogue
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Method
from podium.postranking.places.placement import SEARCH_LIMIT
from podium.postranking.postrank import make_method
from podium.postranking.result import PostRanking
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import (
    DEFAULT_CLASSES,
    Conflicts,
    MissingDocuments,
    Settings,
    check_day,
    check_rules,
)
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult, Learner
from podium.rankers.learning_curve import Callback
from podium.rankers.models import Model
from podium.rankers.ranked_lists import RankedList, check_k, stream_lists
from podium.rankers.ranker import Ranker
from podium.typing import Floats, Path_


@dataclass(eq=False, repr=False)
class PostRanker(Ranker):
    """A ranker with rules. It is itself a ranker, which can be evaluated, tuned and compared.

    Scores are minus the places after post-ranking; hidden documents come last. Rules name documents
    by their ids, so `predict` needs RankingData with document ids.

    Parameters
    ----------
    model
        The ranker whose lists are post-ranked. A fitted ranker is used directly; ``fit`` fits a
        copy.
    rules
        The rules for every list; see `postrank_batch` for these and the settings below.
    prior, base, pairs, scale, method, missing, conflicts, limit, classes
        How lists are post-ranked.
    queries, fields
        The text of queries and the fields of documents by their ids. The default: the texts of the
        data.
    today
        The day for rules with dates; None: the day of the call.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.postranking import TopK
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=20, seed=0)
    >>> model = RankSVM().fit(data)
    >>> ruled = PostRanker(model, [TopK("q1-d9", 1, weight=30)])
    >>> model.rank(data, k=2)[0], ruled.rank(data, k=2)[0]
    (RankedList(q1: q1-d5, q1-d31), RankedList(q1: q1-d9, q1-d5))
    """

    name: ClassVar[str] = "postranker"
    paper: ClassVar[str] = "Wu et al., CIKM 2014"

    model: Ranker
    rules: Sequence[Rule] = ()
    prior: float = 0.1
    base: Base = "uniform"
    pairs: Pairs = "without"
    scale: Scale = "rule"
    method: str | Method = "bradley-terry"
    queries: Mapping[str, str] | None = None
    fields: Catalogue | None = None
    today: datetime.date | None = None
    missing: MissingDocuments = "report"
    conflicts: Conflicts = "error"
    limit: int = SEARCH_LIMIT
    classes: Sequence[str] = DEFAULT_CLASSES

    @property
    def ranker(self) -> Ranker:
        """The ranker that makes the lists: the one fitted here, or else `model`."""
        fitted: Ranker | None = self.__dict__.get("ranker_")
        return self.model if fitted is None else fitted

    def fit_data(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> Self:
        """Fit the ranker under the rules."""
        self.check_settings()
        ranker = clone(self.model).fit_data(data, valid, callback, start, learn)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        # Take over what the ranker has learned.
        for name, value in vars(ranker).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.ranker_ = ranker
        return self

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Raise: the ranker under the rules learns instead."""
        raise AssertionError("a PostRanker does not learn; its ranker does")

    def check_settings(self) -> None:
        """Raise if settings do not fit together."""
        if not isinstance(self.model, Ranker):
            raise UsageError(f"expected a ranker as model of PostRanker, got {self.model!r}")
        check_rules(self.rules)
        check_day(self.today)
        Settings(
            self.prior, self.base, self.pairs, self.scale, make_method(self.method), self.missing,
            self.conflicts, self.limit, tuple(self.classes),
        )  # fmt: skip

    def result_parameters(self) -> dict[str, Any]:
        """Return what the result depends on besides the data."""
        return {**super().result_parameters(), "today": self.today or datetime.date.today()}

    def ranking_data(self, X: Any, *columns: Any, **options: Any) -> RankingData:
        """Return ranking data as the model takes it."""
        return self.model.ranking_data(X, *columns, **options)

    def postrank(self, data: RankingData) -> PostRankedRun:
        """Return the lists of ranking data after their rules, with the use of each rule."""
        return self._postrank(data, explain=True)

    def _postrank(
        self, data: RankingData, *, explain: bool, ignore_scaling: bool = False
    ) -> PostRankedRun:
        self.check_settings()
        if not isinstance(data, RankingData):
            raise MissingDocidsError(
                "rules name documents by id, so PostRanker needs RankingData with document "
                f"ids, got {type(data).__name__}; use RankingData.from_arrays(X, y, qid=qid, "
                "docid=docid)"
            )
        data.require_docids("post-ranking")
        options = {"ignore_scaling": True} if ignore_scaling else {}
        return postrank_batch(
            data, self.rules, self.ranker.predict(data, **options), self.prior, self.base, self.pairs,
            scale=self.scale, method=self.method, queries=self.queries, fields=self.fields,
            today=self.today, missing=self.missing, conflicts=self.conflicts, limit=self.limit,
            classes=self.classes, explain=explain,
        )  # fmt: skip

    def predict(self, X: Any, *, ignore_scaling: bool = False) -> Floats:
        """Return minus the place of each row in its query after the rules; hidden documents come last."""
        return self._places(X, self._postrank(X, explain=False, ignore_scaling=ignore_scaling))

    def _places(self, data: RankingData, ruled: PostRankedRun) -> Floats:
        docids, scores = list(data.require_docids("post-ranking")), np.empty(len(data))
        for qid, rows in data.queries():
            place = {move.doc: at for at, move in enumerate(ruled[qid].moves, start=1)}
            scores[rows] = [-place[docids[row]] for row in range(rows.start, rows.stop)]
        return scores

    def rank(  # type: ignore[override]
        self, X: Any, k: int | None = None, *, qid: ArrayLike | None = None
    ) -> list[RankedList] | Iterator[RankedList]:
        """Return the top k of each query after the rules, best first, without hidden documents."""
        check_k(k)
        if isinstance(X, Collection):
            return stream_lists(X, self, lambda ranker, block: list(ranker.rank(block, k)))
        ruled = self._postrank(X, explain=False)
        scores, docids = self._places(X, ruled), X.docids
        order, lists = X.groups.order(scores), []
        for query, places in X.queries():
            top = order[places][: len(ruled[query])][:k]
            lists.append(RankedList(query, top, tuple(docids[top].tolist()), scores[top]))
        return lists

    def explain(self, data: RankingData, query: str | int | None = None) -> PostRanking:  # type: ignore[override]
        """Return one query's list after the rules, with the moves of documents and their reasons."""
        number = query_number(data, query)
        return self.postrank(data.subset([number]))[str(data.qids[number])]

    def save(self, path: Path_) -> NoReturn:
        """Raise, because rules change without the model and are kept in their own file."""
        raise UsageError(
            "a PostRanker cannot be saved as one file; save its ranker "
            "(postranker.ranker.save('model.podium')) and its rules "
            "(write_rules(postranker.rules, 'rules.yaml')), and combine them again after loading"
        )
