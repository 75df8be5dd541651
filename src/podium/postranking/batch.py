"""`postrank_batch`: every list of a run under the same rules, solved together."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium.data.groups import Groups
from podium.data.ranking_data import RankingData
from podium.data.strings import Strings
from podium.data.trec import Run
from podium.errors import (
    ConflictError,
    DataError,
    NonFiniteError,
    UndecidedError,
    UsageError,
)
from podium.postranking.binding import Listing, unknown_field
from podium.postranking.lists import Catalogue, look_up, read_list
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Floats, Method
from podium.postranking.places.placement import LIMIT
from podium.postranking.posing import (
    Conflicts,
    Missing,
    Posed,
    Settings,
    check_day,
    check_rules,
    meet,
)
from podium.postranking.postrank import finish, make_method
from podium.postranking.result import PostRanking
from podium.postranking.rules.conditions import Fields
from podium.postranking.rules.rule import Rule, plain
from podium.postranking.rules.selectors import BY_FIELD, Document, Each, Where

Lists = Mapping[str, Sequence[Any]]
"""Documents best first, ids or records, by query id."""
BLOCK = 100_000
"""Documents that are solved together: enough for all threads, little memory."""


@dataclass(frozen=True)
class Tally:
    """What became of a rule over all lists.

    It acted on `lists` of them, held on `held`, gave way as a hard rule on `yielded`; where it never
    acted, `note` says why.
    """

    rule: Rule
    lists: int
    held: int
    yielded: int = 0
    note: str = ""

    @property
    def violated(self) -> int:
        """On how many lists it acted and does not hold."""
        return self.lists - self.held


@dataclass(frozen=True, eq=False, repr=False)
class PostRankedRun(Mapping[str, PostRanking]):
    """Lists after their rules, by query id.

    A list's own `rules` are those that name something in it and are for its query.

    Parameters
    ----------
    lists
        A `PostRanking` for each query id.
    rules
        What became of each rule over all lists, as given.
    """

    lists: Mapping[str, PostRanking]
    rules: tuple[Tally, ...]

    def __getitem__(self, qid: str) -> PostRanking:
        return self.lists[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)

    def __repr__(self) -> str:
        moved = sum(len(one.moved) > 0 for one in self.lists.values())
        idle = sum(not tally.lists for tally in self.rules)
        return (
            f"PostRankedRun({len(self):,} queries, {moved:,} changed, "
            f"{len(self.rules):,} rules, {idle:,} never acted)"
        )

    @cached_property
    def run(self) -> Run:
        """The documents shown, as a run: scores fall by one a place, so that files keep the order."""
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
    missing: Missing = "report",
    conflicts: Conflicts = "error",
    limit: int = LIMIT,
    progress: Callable[[int], object] | None = None,
) -> PostRankedRun:
    """Every list of a run under the same rules; the settings are those of `postrank`.

    Parameters
    ----------
    run
        Ranked lists; or as a mapping of query ids to documents, best first, each list as `postrank`
        takes it; or ranking data with document ids, and
    scores
        their scores.
    queries
        The text of each query by its id, which rules for some queries are compared with; a query
        without one goes by its id. Of ranking data, its own texts unless given.
    fields
        The fields of documents by their ids; of ranking data, its own texts unless given.
    missing
        A rule that names documents which are not in a list is left out there, or with ``error`` an
        error.
    progress
        Called with the number of lists done since the last call.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.postranking import AtMost, Each, TopK
    >>> data = make_synthetic(n_queries=20, seed=0)
    >>> found = postrank_batch(data, [TopK("q3-d7", 1, weight=30)], data.truth(data.X))
    >>> found["q3"][0], found.rules[0].lists
    ('q3-d7', 1)
    """
    settings = Settings(prior, base, pairs, scale, make_method(method), missing, conflicts, limit)
    book = RuleBook(check_rules(rules), check_day(today), every=missing == "error")
    book.check_fields(_own_fields(run) if fields is None else fields)
    results: dict[str, PostRanking] = {}
    for block in _blocks(lists_of(run, scores, queries, fields)):
        posed = [_posed(one, book, settings) for one in block]
        solutions = settings.method.solve([p.problem(settings) for _, p in posed])
        for one, (numbers, p), solution in zip(block, posed, solutions, strict=True):
            with naming(one.qid):
                result = finish(p, solution, settings)
            results[one.qid] = result
            book.count(numbers, result)
            if progress is not None:
                progress(1)
    return PostRankedRun(results, book.tallies())


class OneList(NamedTuple):
    """A query's list, best first."""

    qid: str
    text: str
    listing: Listing
    scores: Floats | None


@dataclass
class RuleBook:
    """Rules by what they are for: a list meets only those that can act on it.

    With `every`, also those that name nothing in it.
    """

    rules: tuple[Rule, ...]
    today: datetime.date
    every: bool = False
    always: list[int] = field(default_factory=list)
    by_query: dict[str, list[int]] = field(default_factory=dict)
    by_doc: dict[Document, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lists, self.held, self.yielded = ([0] * len(self.rules) for _ in range(3))
        self.notes = [rule.closed(self.today) for rule in self.rules]
        for number, rule in enumerate(self.rules):
            named = rule.named
            if self.notes[number]:
                continue
            if rule.query is not None:
                self.by_query.setdefault(plain(rule.query), []).append(number)
            elif self.every or not named or by_fields(rule):
                self.always.append(number)
            else:
                for doc in named:
                    self.by_doc.setdefault(doc, []).append(number)

    def meeting(self, query: str, docs: Iterable[Document]) -> list[int]:
        """The numbers of the rules for a query that can name one of these documents."""
        found = {*self.always, *self.by_query.get(plain(query), ())}
        if self.by_doc:
            for doc in docs:
                found.update(self.by_doc.get(doc, ()))
        rules = self.rules
        return [
            number
            for number in sorted(found)
            if rules[number].pattern is None or not rules[number].holds(query, self.today)
        ]

    def check_fields(self, fields: Catalogue | None) -> None:
        """Raise where a rule is on a field that no document has."""
        if fields is None:
            return
        look_up(fields, list(fields) if isinstance(fields, Mapping) else ())
        wanted = {name: rule for rule in reversed(self.rules) for name in field_names(rule)}
        for values in fields.values():
            if not wanted:
                return
            for name in [name for name in wanted if name in values]:
                del wanted[name]
        if wanted:
            known = {str(name) for values in fields.values() for name in values}
            name, rule = next(reversed(wanted.items()))
            raise unknown_field(name, known, rule.selectors)

    def count(self, numbers: Sequence[int], result: PostRanking) -> None:
        """What became of these rules on a list."""
        for number, outcome in zip(numbers, result.rules, strict=True):
            self.lists[number] += outcome.acted
            self.held[number] += outcome.acted and outcome.satisfied
            self.yielded[number] += outcome.yielded
            self.notes[number] = self.notes[number] or outcome.note

    def note(self, numbers: Sequence[int], posed: Posed) -> None:
        """Which of these rules act on a list, solved or not."""
        for at, number in enumerate(numbers):
            self.lists[number] += at not in posed.notes
            self.notes[number] = self.notes[number] or posed.notes.get(at, "")

    def tallies(self) -> tuple[Tally, ...]:
        """What became of each rule."""
        return tuple(
            Tally(
                rule, self.lists[k], self.held[k], self.yielded[k],
                "" if self.lists[k] else self.notes[k] or self._why_never(rule),
            )
            for k, rule in enumerate(self.rules)
        )  # fmt: skip

    def _why_never(self, rule: Rule) -> str:
        if rule.query is not None:
            return f"no query is {rule.query!r}"
        if rule.pattern is not None:
            return f"no query like {rule.pattern!r} has its documents"
        return "names nothing in any list"


def by_fields(rule: Rule) -> bool:
    """Whether a rule chooses documents by their fields."""
    return any(isinstance(selector, BY_FIELD) for selector in rule.selectors)


def field_names(rule: Rule) -> Iterator[str]:
    """The fields a rule speaks of."""
    for selector in rule.selectors:
        if isinstance(selector, Where):
            yield from selector.names
        elif isinstance(selector, Each):
            yield selector.field


@contextmanager
def naming(qid: str) -> Iterator[None]:
    """Errors that say which query they are about."""
    try:
        yield
    except ConflictError as error:
        raise ConflictError(f"query {qid!r}: {error}", error.rules) from error
    except (UndecidedError, DataError) as error:
        kind = UndecidedError if isinstance(error, UndecidedError) else DataError
        raise kind(f"query {qid!r}: {error}") from error


def _posed(one: OneList, book: RuleBook, settings: Settings) -> tuple[list[int], Posed]:
    numbers = book.meeting(one.text, one.listing.docs)
    with naming(one.qid):
        rules = tuple(book.rules[number] for number in numbers)
        return numbers, meet(one.listing, one.scores, rules, {}, settings)


def _blocks(lists: Iterable[OneList]) -> Iterator[list[OneList]]:
    block: list[OneList] = []
    n = 0
    for one in lists:
        block.append(one)
        n += len(one.listing.docs)
        if n >= BLOCK:
            yield block
            block, n = [], 0
    if block:
        yield block


def lists_of(
    run: Run | RankingData | Lists,
    scores: ArrayLike | None,
    queries: Mapping[str, str] | None,
    fields: Catalogue | None,
) -> Iterator[OneList]:
    """Every list of a run, best first."""
    if isinstance(run, Mapping):
        yield from _mapped(run, scores, queries, fields)
        return
    values, docids = _columns(run, scores)
    order = run.groups.order(values)
    own = run.query_text if isinstance(run, RankingData) else None
    texts = _texts(run.qids.tolist(), queries, own)
    rows_fields = _row_fields(run) if fields is None else None
    for qid, text, places in zip(run.qids.tolist(), texts, run.groups.slices(), strict=True):
        rows = order[places].tolist()
        docs = [docids[row] for row in rows]
        records: Sequence[Fields] | None = None
        if fields is not None:
            records = look_up(fields, docs)
        elif rows_fields is not None:
            records = [rows_fields[row] for row in rows]
        with naming(qid):
            listing = Listing.of(docs, records)
        yield OneList(qid, text, listing, values[rows])


def _columns(run: Run | RankingData, scores: ArrayLike | None) -> tuple[Floats, list[str]]:
    """Scores and document ids, one a row."""
    if isinstance(run, RankingData):
        if scores is None:
            raise UsageError("expected scores beside ranking data, got none")
        return run.check_scores(scores), list(run.require_docids("post-ranking"))
    if not isinstance(run, Run):
        raise UsageError(
            f"expected a Run, RankingData with scores, or lists by query id, got {type(run).__name__}; "
            "one list alone is for postrank"
        )
    if scores is not None:
        raise UsageError("expected a run alone, got scores beside it")
    if not np.isfinite(run.values).all():
        raise NonFiniteError("expected finite scores in the run, got an infinite one or NaN")
    return run.values, list(run.docids)


def _mapped(
    run: Lists,
    scores: ArrayLike | None,
    queries: Mapping[str, str] | None,
    fields: Catalogue | None,
) -> Iterator[OneList]:
    """Every list of a mapping, without scores."""
    if scores is not None:
        raise UsageError("expected lists alone, best first, got scores beside them")
    for qid in run:
        if not isinstance(qid, str):
            raise UsageError(f"expected text as ids of queries, got {qid!r}")
    for qid, text in zip(run, _texts(list(run), queries), strict=True):
        with naming(qid):
            listing, _ = read_list(run[qid], None, fields)
        yield OneList(qid, text, listing, None)


def _texts(
    qids: list[str], queries: Mapping[str, str] | None, own: Iterable[str] | None = None
) -> list[str]:
    if queries is None:
        return qids if own is None else list(own)
    if not isinstance(queries, Mapping):
        raise UsageError(
            f"expected queries as a mapping of ids to texts, got {type(queries).__name__}"
        )
    texts = [queries.get(qid, qid) for qid in qids]
    for qid, text in zip(qids, texts, strict=True):
        if not isinstance(text, str):
            raise UsageError(f"expected text for query {qid!r}, got {text!r}")
    return texts


def _row_fields(run: Run | RankingData) -> list[Fields] | None:
    """The texts of ranking data as fields, one record a row."""
    texts = run.doc_text if isinstance(run, RankingData) else {}
    if not texts:
        return None
    columns = [list(column) for column in texts.values()]
    return [dict(zip(texts, row, strict=True)) for row in zip(*columns, strict=True)]


def _own_fields(run: Run | RankingData | Lists) -> Catalogue | None:
    """What fields ranking data has, as if all documents had them."""
    texts = run.doc_text if isinstance(run, RankingData) else {}
    return {None: dict(texts)} if texts else None
