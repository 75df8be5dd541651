"""A trial of rules on lists, and its findings: rules that never act or contradict each other."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from podium.data.trec import Run
from podium.errors import UndecidedError
from podium.postranking.conflict_reasons import conflict_reason
from podium.postranking.conflicts import find_conflict
from podium.postranking.list_input import Catalogue
from podium.postranking.listing import Listing
from podium.postranking.preparation import PreparedList, prepare_listing
from podium.postranking.query_lists import errors_naming, lists_of
from podium.postranking.rule_index import RuleIndex, selects_by_field
from podium.postranking.rule_strength import YIELD_TEXTS, StrengthOrder, YieldReason
from podium.postranking.rules.rule import Rule, counts
from podium.postranking.rules.selectors import ids
from podium.postranking.sample_requests import TrialRequest, sample_requests
from podium.postranking.settings import Settings
from podium.work_budget import check_time

MAX_IDEAL_LIST = 5000
"""The maximum number of documents of an ideal list, on which rules are tried without a run."""
MAX_CONFLICTS = 20
"""The maximum number of conflicts of each kind that the trial looks for."""
MAX_WORK = 2_000_000
"""The number of rules and documents that are tried for conflicts; then the trial ends and says so."""
LIKENESS_COST_DIVISOR = 8
"""Comparing a set of rules with others costs one part in this many of trying it."""

TrialProgress = Callable[[int, int], object]
"""A function that is called with the number of finished lists and queries, and with the total."""
RuleNumbers = tuple[int, ...]
TrialKind = Literal["ideal", "list", "soft"]
"""Hard rules on an ideal list or on a list of the run; soft and hard rules on an ideal list."""
Shape = tuple[object, ...]
"""A key of a set of rules on a list; it does not depend on the names of documents."""


@dataclass(frozen=True)
class Finding:
    """An error, a warning or a note about rules, which are identified by their numbers.

    A finding without rules is about the check itself.
    """

    level: Literal["error", "warning", "note"]
    rules: tuple[int, ...]
    message: str
    gives_way: bool = field(default=False, repr=False, compare=False)
    """Whether hard rules contradict each other and one of them gives way when the list is served."""


@dataclass
class RuleTrial:
    """Rules that are tried on lists, the conflicts, and the rules that never acted."""

    rules: tuple[Rule, ...]
    settings: Settings
    progress: TrialProgress
    total: int = 0
    n_done: int = 0
    work: int = field(default_factory=lambda: MAX_WORK)
    """The number of rules and documents that may still be tried."""
    untried: int = 0
    """The number of lists and queries that were not tried."""
    conflicts_by_shape: dict[Shape, list[RuleNumbers]] = field(default_factory=dict)
    conflicts: dict[tuple[RuleNumbers, TrialKind], list[str]] = field(default_factory=dict)
    """Contradicting rules and the kind of list -> the queries of the conflict."""
    reasons: dict[tuple[RuleNumbers, TrialKind], str] = field(default_factory=dict)
    """Why rules contradict each other on the first list of a conflict, if that is known."""
    undecided: dict[RuleNumbers, str] = field(default_factory=dict)
    unused: dict[int, str] = field(default_factory=dict)
    """Why each rule acts on no list; empty if it acts."""

    def run_over(
        self,
        days: Sequence[datetime.date],
        run: Run | None,
        queries: Mapping[str, str] | None,
        fields: Catalogue | None,
        wrong_rules: Collection[int],
    ) -> None:
        """Try the rules on every list of a run and on ideal lists, on each of these days."""
        samples = sample_requests(self.rules)
        self.total = len(days) * (len(samples) + (0 if run is None else len(run.groups)))
        for number, day in enumerate(days):
            if run is not None and (number == 0 or self._take_work(len(run.docids))):
                self.on_run(run, queries, fields, day, wrong_rules)
            self.on_ideal_lists(samples, day)

    def on_run(
        self,
        run: Run,
        queries: Mapping[str, str] | None,
        fields: Catalogue | None,
        day: datetime.date,
        wrong_rules: Collection[int],
    ) -> None:
        """Try the rules on every list of a run."""
        usable = [
            number
            for number, rule in enumerate(self.rules)
            if number not in wrong_rules and not (fields is None and selects_by_field(rule))
        ]
        index = RuleIndex(
            tuple(self.rules[number] for number in usable), day, has_texts=bool(queries)
        )
        for query_list in lists_of(run, None, queries, fields):
            candidates = index.candidates(query_list.text, query_list.listing.docs)
            with errors_naming(query_list.qid):
                rules = tuple(index.rules[number] for number in candidates)
                prepared = prepare_listing(
                    query_list.listing, query_list.scores, rules, self.settings, None, fields
                )
            index.count_prepared(candidates, prepared)
            if prepared.hard_numbers:
                numbers = tuple(usable[number] for number in candidates)
                self._try(prepared, _hard_shape(prepared), numbers, query_list.qid, "list")
            self._step()
        for number, usage in zip(usable, index.usage(), strict=True):
            if usage.lists:
                self.unused[number] = ""
            elif not usage.rule.reason_off_today(day):
                self.unused.setdefault(number, usage.note)

    def on_ideal_lists(self, samples: Sequence[TrialRequest], day: datetime.date) -> None:
        """Try rules that name documents by id on long lists of these documents."""
        index = RuleIndex(self.rules, day, every=True)
        simple = [self._is_simple(rule) for rule in self.rules]
        tried: set[RuleNumbers] = set()
        for query, values in samples:
            self._step()
            candidates = index.candidates(query, (), values)
            numbers = tuple(number for number in candidates if simple[number])
            if numbers in tried:
                continue
            tried.add(numbers)
            must = tuple(number for number in numbers if self.rules[number].hard)
            if not self._take_work(len(numbers) // LIKENESS_COST_DIVISOR):
                self.untried += 1
                continue
            if must:
                self._try_ideal(must, query, "ideal")
            if len(must) < len(numbers):
                self._try_ideal(numbers, query, "soft")

    def _step(self) -> None:
        check_time()
        self.n_done += 1
        self.progress(self.n_done, self.total)

    def _take_work(self, work: int) -> bool:
        """Subtract work from what may still be tried; return whether there was enough."""
        self.work -= work
        return self.work >= 0

    def _is_simple(self, rule: Rule) -> bool:
        small = all(getattr(rule, what) <= MAX_IDEAL_LIST // 2 for what in counts(type(rule)))
        return small and not selects_by_field(rule) and (rule.hard or rule.weight > 0)

    def _try_ideal(self, numbers: RuleNumbers, query: str, kind: TrialKind) -> None:
        rules = [self.rules[number] for number in numbers]
        meanings = [(rule.kind, tuple(map(ids, rule.selectors)), rule.numbers) for rule in rules]
        self._try(
            lambda: self._ideal(numbers),
            ("ideal", *_rename_documents(meanings)),
            numbers,
            query,
            kind,
        )

    def _ideal(self, numbers: Sequence[int]) -> PreparedList:
        """Prepare these rules, all as hard, on a list of their documents and enough others."""
        rules = tuple(replace(self.rules[number], hard=True) for number in numbers)
        docs = dict.fromkeys(doc for rule in rules for doc in rule.named_docs)
        room = max(
            (getattr(rule, what) for rule in rules for what in counts(type(rule))), default=0
        )
        others = min((room + 1) * 2 + sum(_width(rule) for rule in rules), MAX_IDEAL_LIST)
        listing = Listing.of([*docs, *(("filler", at) for at in range(others))])
        return prepare_listing(listing, None, rules, self.settings)

    def _try(
        self,
        prepare: PreparedList | Callable[[], PreparedList],
        shape: Shape,
        numbers: RuleNumbers,
        query: str,
        kind: TrialKind,
    ) -> None:
        """Collect every conflict of rules; rules that differ only in names of documents are tried once."""
        conflicts = self.conflicts_by_shape.get(shape)
        if conflicts is None:
            if self._is_full(kind):
                return
            prepared = prepare if isinstance(prepare, PreparedList) else prepare()
            if not self._take_work(len(numbers) + len(prepared.listing.docs)):
                self.untried += 1
                return
            conflicts = self.conflicts_by_shape[shape] = self._find_conflicts(
                prepared, numbers, query, kind
            )
        for conflict in conflicts:
            at = tuple(numbers[number] for number in conflict)
            if kind != "soft" or (at, "ideal") not in self.conflicts:
                self.conflicts.setdefault((at, kind), []).append(query)

    def _find_conflicts(
        self, prepared: PreparedList, numbers: RuleNumbers, query: str, kind: TrialKind
    ) -> list[RuleNumbers]:
        """Return conflicts by rule numbers; each leaves out the last rule of every earlier conflict."""
        check_time()
        conflicts: list[RuleNumbers] = []
        room = MAX_CONFLICTS - self._count(kind)
        while len(conflicts) < room:
            last = {conflict[-1] for conflict in conflicts}
            rest = tuple(pair for pair in prepared.bound_rules if pair[0] not in last)
            try:
                conflict = find_conflict(replace(prepared, bound_rules=rest), self.settings)
            except UndecidedError as error:
                self._take_work(MAX_WORK // MAX_CONFLICTS)
                self.undecided.setdefault(numbers, f"query {query!r}: {error}")
                break
            if not conflict:
                break
            conflicts.append(tuple(conflict))
            at = tuple(numbers[number] for number in conflict)
            self.reasons.setdefault((at, kind), conflict_reason(prepared, conflict))
        return conflicts

    def _count(self, kind: TrialKind) -> int:
        return sum(other == kind for _, other in self.conflicts)

    def _is_full(self, kind: TrialKind) -> bool:
        """Whether enough conflicts were found."""
        return self._count(kind) >= MAX_CONFLICTS

    def _conflict_findings(self) -> Iterator[Finding]:
        """Yield the conflicts; one that also occurs on a list of the run has the run's queries."""
        for (numbers, kind), queries in self.conflicts.items():
            if kind == "ideal" and (numbers, "list") in self.conflicts:
                continue
            what = "cannot hold on this list" if len(numbers) == 1 else "cannot hold together"
            message = what + _for_queries(queries)
            reason = self.reasons.get((numbers, kind))
            if reason:
                message += f"; in {queries[0]!r}, {reason}" if queries[1:] else f"; {reason}"
            rules = [self.rules[number] for number in numbers]
            if not all(rule.hard for rule in rules):
                yield Finding("warning", numbers, message)
                continue
            conditions = [str(rule.condition) for rule in rules if rule.condition is not None]
            if conditions:
                message += f", for requests where {' and '.join(dict.fromkeys(conditions))}"
            weakest, why = StrengthOrder(self.settings.classes).find_weakest(rules)
            if (
                not conditions
                and why not in ("class", "priority")
                and (kind != "list" or (numbers, "ideal") in self.conflicts)
            ):
                yield Finding("error", numbers, message)
            else:
                message += _yields(rules, weakest, why)
                yield Finding("warning", numbers, message, gives_way=True)

    def findings(self) -> list[Finding]:
        """Return the findings of the trial."""
        findings = [*self._conflict_findings()]
        findings += [
            Finding(
                "warning", numbers, f"it is undecided whether they contradict each other: {why}"
            )
            for numbers, why in self.undecided.items()
        ]
        findings += self._ended_early()
        return findings + [
            Finding("warning", (number,), f"never acts: {why}")
            for number, why in self.unused.items()
            if why and (self.rules[number].hard or self.rules[number].weight > 0)
        ]

    def _ended_early(self) -> Iterator[Finding]:
        hard_is_full = self._is_full("ideal") or self._is_full("list")
        for is_full, what in ((hard_is_full, "hard"), (self._is_full("soft"), "soft")):
            if is_full:
                yield Finding(
                    "warning",
                    (),
                    f"the check stopped after {MAX_CONFLICTS} conflicts of {what} rules; "
                    "correct these and check again",
                )
        if self.work < 0:
            yield Finding(
                "warning",
                (),
                f"there are too many rules to try all: {self.untried:,} lists and queries "
                "were not checked for conflicts; check fewer rules at a time",
            )


def _rename_documents(
    rules: Iterable[tuple[str, Sequence[Sequence[object]], tuple[float, ...]]],
) -> Shape:
    """Return rules with their documents numbered in the order of their first use."""
    name: dict[object, int] = {}
    return tuple(
        (
            kind,
            tuple(tuple(name.setdefault(doc, len(name)) for doc in part) for part in parts),
            places,
        )
        for kind, parts, places in rules
    )


def _hard_shape(prepared: PreparedList) -> Shape:
    """Return the shape of the hard rules of a list; the order of its documents does not matter."""
    hard = [
        (number, bound_rule)
        for number, bound_rule in prepared.bound_rules
        if prepared.is_hard(number)
    ]
    meanings = _rename_documents(
        (bound_rule.rule.kind, bound_rule.parts, bound_rule.rule.numbers) for _, bound_rule in hard
    )
    kinds = tuple((number, selects_by_field(bound_rule.rule)) for number, bound_rule in hard)
    return len(prepared.listing.docs), kinds, meanings


def _width(rule: Rule) -> int:
    """Return how many other documents a rule may need between its documents."""
    gap: int = getattr(rule, "gap", 0)
    return gap * len(rule.named_docs)


def _for_queries(queries: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(queries))
    if "" in distinct:  # for every query
        return ""
    more = f" and {len(distinct) - 1} more" if len(distinct) > 1 else ""
    return f", for query {distinct[0]!r}{more}"


def _yields(rules: Sequence[Rule], weakest: int, why: YieldReason) -> str:
    """Return which rule of a conflict gives way when the list is served, and why."""
    if len(rules) == 1:
        return "; it gives way when the list is served"
    return f"; {rules[weakest].label} gives way when the list is served: {YIELD_TEXTS[why]}"
