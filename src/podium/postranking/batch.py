"""`postrank_batch`: post-rank every list of a run under the same rules, many lists at once."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.counted_nouns import count_text
from podium.data.groups import Groups
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.data.trec import Run
from podium.postranking.explanation import make_post_ranking
from podium.postranking.list_input import Catalogue
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Method
from podium.postranking.ordering import place_documents, solve
from podium.postranking.places.placement import SEARCH_LIMIT
from podium.postranking.postrank import make_method
from podium.postranking.preparation import PreparedList, prepare_listing
from podium.postranking.query_lists import Lists, QueryList, errors_naming, lists_of, own_fields
from podium.postranking.result import PostRanking
from podium.postranking.rule_index import RuleCounts, RuleIndex, RuleUsage
from podium.postranking.rule_request import read_request
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import (
    DEFAULT_CLASSES,
    Conflicts,
    MissingDocuments,
    Settings,
    check_rules,
)
from podium.task_runner import current_runner, map_items

DOCUMENTS_PER_BLOCK = 100_000
"""The number of documents that are solved together: enough for all threads, in little memory."""


@dataclass(frozen=True, eq=False, repr=False)
class PostRankedRun(Mapping[str, PostRanking]):
    """Lists after their rules, by query id.

    The `rules` of a list are those for its query that name something in the list.

    Parameters
    ----------
    lists
        A `PostRanking` for each query id.
    rules
        The use of each rule over all lists, in the order of the rules.
    """

    lists: Mapping[str, PostRanking]
    rules: tuple[RuleUsage, ...]

    def __getitem__(self, qid: str) -> PostRanking:
        return self.lists[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)

    def __repr__(self) -> str:
        moved = sum(len(one.moved) > 0 for one in self.lists.values())
        unused = sum(not usage.lists for usage in self.rules)
        return (
            f"PostRankedRun({count_text(len(self), 'query')}, {moved:,} changed, "
            f"{count_text(len(self.rules), 'rule')}, {unused:,} never acted)"
        )

    @cached_property
    def run(self) -> Run:
        """The documents shown, as a run; scores fall by one per place, so that files keep the order."""
        sizes = [len(one) for one in self.lists.values()]
        docids = Strings.of(str(doc) for one in self.lists.values() for doc in one)
        scores = [
            np.arange(len(one.moves), len(one.moves) - len(one), -1.0)
            for one in self.lists.values()
        ]
        values = np.concatenate([*scores, np.empty(0)])
        return Run(np.array([*self.lists], dtype=object), Groups.from_sizes(sizes), docids, values)


def postrank_batch(
    run: Run | RankingData | Lists,
    rules: Iterable[Rule],
    scores: ArrayLike | None = None,
    prior: float = 0.1,
    base: Base = "uniform",
    pairs: Pairs = "without",
    *,
    scale: Scale = "rule",
    method: str | Method = "bradley-terry",
    queries: Mapping[str, str] | None = None,
    context: Mapping[str, Any] | None = None,
    fields: Catalogue | None = None,
    today: datetime.date | None = None,
    missing: MissingDocuments = "report",
    conflicts: Conflicts = "error",
    classes: Sequence[str] = DEFAULT_CLASSES,
    limit: int = SEARCH_LIMIT,
    explain: bool = True,
    progress: Callable[[int], object] | None = None,
) -> PostRankedRun:
    """Post-rank every list of a run under the same rules.

    The other settings are those of `postrank`, except that `missing` is ``report`` by default.

    Parameters
    ----------
    run
        A run; or a mapping of query ids to documents, best first, each list as `postrank` takes it;
        or ranking data with document ids.
    scores
        The scores of ranking data, one per row.
    queries
        The text of each query by its id, for rules that are for some queries. A query without a
        text uses its id. The default for ranking data: its own texts.
    context
        What all requests carry besides their queries, as `postrank` takes it.
    fields
        The fields of documents by their ids. The default for ranking data: its own texts.
    missing
        ``report``: a rule that names documents which are not in a list is left out for that list;
        ``error``: it is an error. Few rules name documents of every list.
    progress
        Called with the number of lists done since the last call.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.postranking import AtMost, Each, TopK
    >>> data = make_synthetic(n_queries=20, seed=0)
    >>> ruled = postrank_batch(data, [TopK("q3-d7", 1, weight=30)], data.truth(data.X))
    >>> ruled["q3"][0], ruled.rules[0].lists
    ('q3-d7', 1)
    """
    settings = Settings(
        prior, base, pairs, scale, make_method(method), missing, conflicts, limit, tuple(classes)
    )
    job = _BatchJob.start(rules, settings, queries, context, fields, today, explain, progress)
    return job.postrank(run, scores)


def postrank_stream(
    runs: Iterable[Run | Lists],
    rules: Iterable[Rule],
    *,
    queries: Mapping[str, str] | None = None,
    context: Mapping[str, Any] | None = None,
    fields: Catalogue | None = None,
    today: datetime.date | None = None,
    explain: bool = True,
    progress: Callable[[int], object] | None = None,
    **settings: Any,
) -> Iterator[PostRankedRun]:
    """Yield the lists of each run after the rules; only one run is in memory at a time.

    The `rules` of each result count the use of each rule in all runs so far. The runs are parts of
    one run: each query is in one of them. Together they give the lists of `postrank_batch`. On a
    cluster, each worker post-ranks whole runs.

    Parameters
    ----------
    runs
        Runs, such as ``IndexedRun(path).chunks()``.
    queries, context, fields, today, explain, progress
        As in `postrank_batch`.
    settings
        The other settings of `postrank_batch`, by name.

    Examples
    --------
    >>> from podium.postranking import TopK
    >>> parts = [{"q1": ["a", "b"]}, {"q2": ["c", "b"]}]
    >>> ruled = list(postrank_stream(parts, [TopK("b", 1, weight=30)]))
    >>> ruled[1]["q2"][0], ruled[0].rules[0].lists, ruled[1].rules[0].lists
    ('b', 1, 2)
    """
    method = make_method(settings.pop("method", "bradley-terry"))
    checked = Settings(**{"missing": "report", **settings}, method=method)
    job = _BatchJob.start(rules, checked, queries, context, fields, today, explain, progress)
    return job.stream(runs)


@dataclass(frozen=True, eq=False)
class _BatchJob:
    """Rules and settings under which runs are post-ranked, one after the other."""

    settings: Settings
    index: RuleIndex
    queries: Mapping[str, str] | None
    fields: Catalogue | None
    explain: bool
    progress: Callable[[int], object] | None

    @classmethod
    def start(
        cls,
        rules: Iterable[Rule],
        settings: Settings,
        queries: Mapping[str, str] | None,
        context: Mapping[str, Any] | None,
        fields: Catalogue | None,
        today: datetime.date | None,
        explain: bool,
        progress: Callable[[int], object] | None,
    ) -> _BatchJob:
        """Return a job; raise for wrong rules."""
        request = read_request(None, context, today)
        index = RuleIndex(
            check_rules(rules), request.day,
            every=settings.missing == "error", has_texts=bool(queries), values=request.values,
        )  # fmt: skip
        return cls(settings, index, queries, fields, explain, progress)

    def stream(self, runs: Iterable[Run | Lists]) -> Iterator[PostRankedRun]:
        """Yield the lists of each run: here, or by the workers of the cluster in use."""
        if current_runner() is None:
            yield from (self.postrank(run, None) for run in runs)
            return
        sent = replace(self, index=self.index.without_counts(), progress=None)
        for results, counts in map_items(_postrank_run, [sent], runs):
            self.index.add_counts(counts)
            if self.progress is not None:
                for _ in results:
                    self.progress(1)
            yield PostRankedRun(results, self.index.usage())

    def postrank(self, run: Run | RankingData | Lists, scores: ArrayLike | None) -> PostRankedRun:
        """Return the lists of a run, and the use of the rules so far."""
        self.index.check_fields(own_fields(run) if self.fields is None else self.fields)
        results: dict[str, PostRanking] = {}
        for block in _blocks(lists_of(run, scores, self.queries, self.fields)):
            self._solve(block, results)
        return PostRankedRun(results, self.index.usage())

    def _solve(self, block: Sequence[QueryList], results: dict[str, PostRanking]) -> None:
        """Add the results of some lists."""
        prepared = [
            _prepare(query_list, self.index, self.settings, self.fields) for query_list in block
        ]
        solutions = solve([prepared_list for _, prepared_list in prepared], self.settings)
        for query_list, (numbers, prepared_list), solution in zip(
            block, prepared, solutions, strict=True
        ):
            with errors_naming(query_list.qid):
                placed = place_documents(prepared_list, solution, self.settings)
            result = make_post_ranking(placed, self.settings, explain=self.explain)
            results[query_list.qid] = result
            self.index.count(numbers, result)
            if self.progress is not None:
                self.progress(1)


def _postrank_run(job: _BatchJob, run: Run | Lists) -> tuple[dict[str, PostRanking], RuleCounts]:
    """Return the lists of a run, and the counts of the rules on them; a worker of a cluster does so."""
    own = replace(job, index=job.index.without_counts())
    return dict(own.postrank(run, None).lists), own.index.counts()


def _prepare(
    query_list: QueryList, index: RuleIndex, settings: Settings, insertable: Catalogue | None
) -> tuple[list[int], PreparedList]:
    """Return the numbers of the rules that can act on a list, and the prepared list."""
    listing = query_list.listing
    numbers = index.candidates(query_list.text, listing.docs)
    rules = tuple(index.rules[number] for number in numbers)
    with errors_naming(query_list.qid):
        return numbers, prepare_listing(
            listing, query_list.scores, rules, settings, insertable=insertable
        )


def _blocks(lists: Iterable[QueryList]) -> Iterator[list[QueryList]]:
    """Yield lists in blocks that are solved together."""
    block: list[QueryList] = []
    n = 0
    for query_list in lists:
        block.append(query_list)
        n += len(query_list.listing.docs)
        if n >= DOCUMENTS_PER_BLOCK:
            yield block
            block, n = [], 0
    if block:
        yield block
