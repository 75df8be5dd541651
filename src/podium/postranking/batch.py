"""`postrank_batch`: post-rank every list of a run under the same rules, many lists at once."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from podium.data.groups import Groups
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.data.trec import Run
from podium.postranking.explanation import make_result
from podium.postranking.list_input import Catalogue
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Method
from podium.postranking.ordering import place_documents, solve
from podium.postranking.places.placement import SEARCH_LIMIT
from podium.postranking.postrank import make_method
from podium.postranking.preparation import PreparedList, prepare_listing
from podium.postranking.query_lists import Lists, QueryList, errors_naming, lists_of, own_fields
from podium.postranking.result import PostRanking
from podium.postranking.rule_index import RuleIndex, RuleUsage
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import (
    Conflicts,
    MissingDocuments,
    Settings,
    check_day,
    check_rules,
)

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
            f"PostRankedRun({len(self):,} queries, {moved:,} changed, "
            f"{len(self.rules):,} rules, {unused:,} never acted)"
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
    fields: Catalogue | None = None,
    today: datetime.date | None = None,
    missing: MissingDocuments = "report",
    conflicts: Conflicts = "error",
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
    settings = Settings(prior, base, pairs, scale, make_method(method), missing, conflicts, limit)
    index = RuleIndex(
        check_rules(rules), check_day(today), every=missing == "error", has_texts=bool(queries)
    )
    index.check_fields(own_fields(run) if fields is None else fields)
    results: dict[str, PostRanking] = {}
    for block in _blocks(lists_of(run, scores, queries, fields)):
        prepared = [_prepare(query_list, index, settings) for query_list in block]
        solutions = solve([prepared_list for _, prepared_list in prepared], settings)
        for query_list, (numbers, prepared_list), solution in zip(
            block, prepared, solutions, strict=True
        ):
            with errors_naming(query_list.qid):
                placed = place_documents(prepared_list, solution, settings)
            result = make_result(placed, settings, explain=explain)
            results[query_list.qid] = result
            index.count(numbers, result)
            if progress is not None:
                progress(1)
    return PostRankedRun(results, index.usage())


def _prepare(
    query_list: QueryList, index: RuleIndex, settings: Settings
) -> tuple[list[int], PreparedList]:
    """Return the numbers of the rules that can act on a list, and the prepared list."""
    listing = query_list.listing
    numbers = index.candidates(query_list.text, listing.docs)
    rules = tuple(index.rules[number] for number in numbers)
    with errors_naming(query_list.qid):
        return numbers, prepare_listing(listing, query_list.scores, rules, settings)


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
