"""What is wrong with rules before anything is served: unknown names, conflicts, rules without effect."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from podium.data.trec import Run
from podium.errors import UndecidedError
from podium.postranking.binding import Listing, unknown_field
from podium.postranking.lists import Catalogue
from podium.postranking.places.placement import LIMIT
from podium.postranking.posing import Posed, Settings, check_day, check_rules, meet
from podium.postranking.rulebook import RuleBook, by_fields, field_names
from podium.postranking.rules.files import RuleFile
from podium.postranking.rules.rule import Rule, counts, ids, plain
from podium.postranking.runs import lists_of, naming
from podium.postranking.work import check_time
from podium.postranking.yielding import Reason, find_conflict, find_weakest

LONGEST = 5000
"""Documents of the list on which rules are tried where there is no run."""
MOST = 20
"""Conflicts looked for among hard rules on ideal lists, on lists of the run, and among all rules."""
WORK = 2_000_000
"""Rules and documents that are tried for conflicts; then the search ends and says so."""
LIGHT = 8
"""To tell whether a set of rules is like another costs this part of trying it."""

Progress = Callable[[int, int], object]
"""Called with how much is done, and of how much."""


@dataclass(frozen=True)
class Finding:
    """Something about rules, given by their numbers: an error, or only a warning.

    Without rules it is about the check itself.
    """

    level: Literal["error", "warning"]
    rules: tuple[int, ...]
    message: str


def locate_finding(finding: Finding, file: RuleFile) -> tuple[int | None, str]:
    """Return the line of a finding's first rule and a sentence with the labels and lines of all of them."""
    if not finding.rules:
        return None, finding.message
    first, *others = finding.rules
    labels = [f"{file.rules[other].label} (line {file.lines[other]})" for other in others]
    together = f" and {', '.join(labels)}" if labels else ""
    return file.lines[first], f"{file.rules[first].label}{together}: {finding.message}"


def examine_rules(
    rules: Iterable[Rule],
    run: Run | None = None,
    *,
    queries: Mapping[str, str] | None = None,
    fields: Catalogue | None = None,
    today: datetime.date | None = None,
    limit: int = LIMIT,
    progress: Progress = lambda done, total: None,
) -> tuple[Finding, ...]:
    """Everything that is wrong with rules, or looks so.

    Errors: documents and fields that are unknown to `fields`, hard rules that cannot hold together on
    any list with their documents, unless one of them has the lowest priority. Warnings: hard rules of
    which one gives way, there or on a list of the run; rules that never act; soft rules that contradict
    each other; the same rule twice.

    Parameters
    ----------
    rules
        Such as `read_rules` reads.
    run, queries, fields
        The lists they are for, and what `postrank_batch` knows of queries and documents.
    today
        For rules with dates; rules that start later are tried on their first days, too.
    limit
        How far the search for an order under hard rules goes before it is undecided.
    progress
        Called with how much is done, and of how much.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK
    >>> day = datetime.date(2026, 12, 24)
    >>> examine_rules([TopK("a", 3, ends=datetime.date(2026, 11, 30))], today=day)
    (Finding(level='warning', rules=(0,), message='never acts: ended on 2026-11-30'),)
    """
    given, day = check_rules(rules), check_day(today)
    findings = [*_ended(given, day), *_twice(given), *_unknown(given, fields)]
    strangers = {
        number for finding in findings for number in finding.rules if finding.level == "error"
    }
    settings = Settings(missing="report", limit=limit)
    trial = Trial(given, settings, progress)
    trial.run_over(_days(given, day), run, queries, fields, strangers)
    return tuple(findings + trial.findings())


def _ended(rules: Sequence[Rule], day: datetime.date) -> Iterator[Finding]:
    for number, rule in enumerate(rules):
        if rule.ends is not None and rule.ends < day:
            yield Finding("warning", (number,), f"never acts: ended on {rule.ends}")
        elif not rule.hard and rule.weight == 0:
            yield Finding("warning", (number,), "never acts: its weight is 0")


def _twice(rules: Sequence[Rule]) -> Iterator[Finding]:
    first: dict[Rule, int] = {}
    for number, rule in enumerate(rules):
        bare = replace(rule, name="", query=None if rule.query is None else plain(rule.query))
        if first.setdefault(bare, number) != number:
            yield Finding("warning", (number, first[bare]), "say the same")


def _unknown(rules: Sequence[Rule], fields: Catalogue | None) -> Iterator[Finding]:
    """Documents and fields that the catalogue does not have."""
    if fields is None:
        for number, rule in enumerate(rules):
            if by_fields(rule):
                yield Finding(
                    "warning",
                    (number,),
                    "chooses by fields, and no fields are given to check it by",
                )
        return
    known = {name for values in fields.values() for name in values}
    for number, rule in enumerate(rules):
        strangers = [doc for doc in rule.named if doc not in fields]
        if strangers:
            names = ", ".join(map(repr, strangers[:3])) + (", ..." if len(strangers) > 3 else "")
            yield Finding("error", (number,), f"names unknown documents: {names}")
        for name in field_names(rule):
            if name not in known:
                text = str(unknown_field(name, known, rule.selectors))
                yield Finding("error", (number,), text)


def _days(rules: Sequence[Rule], day: datetime.date) -> list[datetime.date]:
    """Today, and the days on which more rules start."""
    later = {rule.starts for rule in rules if rule.starts is not None and rule.starts > day}
    return [day, *sorted(later)]


Numbers = tuple[int, ...]
Where = Literal["ideal", "list", "soft"]
"""Hard rules on an ideal list or on a list of the run; soft and hard rules on an ideal list."""
Shape = tuple[object, ...]
"""What tells sets of rules on lists apart, whatever their documents are called."""


@dataclass
class Trial:
    """Rules tried on lists, and what came of it."""

    rules: tuple[Rule, ...]
    settings: Settings
    progress: Progress
    total: int = 0
    done: int = 0
    work: int = field(default_factory=lambda: WORK)
    """Rules and documents that may still be tried."""
    untried: int = 0
    """Lists and queries that were not tried any more."""
    known: dict[Shape, list[Numbers]] = field(default_factory=dict)
    conflicts: dict[tuple[Numbers, Where], list[str]] = field(default_factory=dict)
    """Rules that cannot hold together, where they were tried, and the queries it is so for."""
    undecided: dict[Numbers, str] = field(default_factory=dict)
    idle: dict[int, str] = field(default_factory=dict)
    """Why a rule acted on no list."""

    def run_over(
        self,
        days: Sequence[datetime.date],
        run: Run | None,
        queries: Mapping[str, str] | None,
        fields: Catalogue | None,
        strangers: Collection[int],
    ) -> None:
        """The rules on every list of a run, and on ideal lists, on each of these days."""
        samples = self._sample_queries()
        self.total = len(days) * (len(samples) + (0 if run is None else len(run.groups)))
        for number, day in enumerate(days):
            if run is not None and (number == 0 or self._spend(len(run.docids))):
                self.on_run(run, queries, fields, day, strangers)
            self.on_ideal_lists(samples, day)

    def on_run(
        self,
        run: Run,
        queries: Mapping[str, str] | None,
        fields: Catalogue | None,
        day: datetime.date,
        strangers: Collection[int],
    ) -> None:
        """The rules on every list of a run."""
        kept = [
            number
            for number, rule in enumerate(self.rules)
            if number not in strangers and not (fields is None and by_fields(rule))
        ]
        book = RuleBook(tuple(self.rules[number] for number in kept), day)
        for one in lists_of(run, None, queries, fields):
            met = book.meeting(one.text, one.listing.docs)
            with naming(one.qid):
                rules = tuple(book.rules[number] for number in met)
                posed = meet(one.listing, one.scores, rules, {}, self.settings)
            book.note(met, posed)
            if posed.hard:
                numbers = tuple(kept[number] for number in met)
                self._try(posed, _met(posed), numbers, one.qid, "list")
            self._step()
        for number, tally in zip(kept, book.tallies(), strict=True):
            if tally.lists:
                self.idle[number] = ""
            elif not tally.rule.closed(day):
                self.idle.setdefault(number, tally.note)

    def on_ideal_lists(self, samples: Sequence[str], day: datetime.date) -> None:
        """The rules that name documents by id, on lists in which they are and that are long enough."""
        book = RuleBook(self.rules, day, every=True)
        simple = [self._is_simple(rule) for rule in self.rules]
        done: set[Numbers] = set()
        for query in samples:
            self._step()
            numbers = tuple(number for number in book.meeting(query, ()) if simple[number])
            if numbers in done:
                continue
            done.add(numbers)
            must = tuple(number for number in numbers if self.rules[number].hard)
            if not self._spend(len(numbers) // LIGHT):
                self.untried += 1
                continue
            if must:
                self._try_ideal(must, query, "ideal")
            if len(must) < len(numbers):
                self._try_ideal(numbers, query, "soft")

    def _step(self) -> None:
        check_time()
        self.done += 1
        self.progress(self.done, self.total)

    def _spend(self, work: int) -> bool:
        """Whether there is still time for so much work."""
        self.work -= work
        return self.work >= 0

    def _sample_queries(self) -> list[str]:
        """A query that no rule names, and one for every query and every pattern."""
        named = [plain(rule.query or rule.pattern or "") for rule in self.rules]
        return ["", *dict.fromkeys(name for name in named if name)]

    def _is_simple(self, rule: Rule) -> bool:
        small = all(getattr(rule, what) <= LONGEST // 2 for what in counts(type(rule)))
        return small and not by_fields(rule) and (rule.hard or rule.weight > 0)

    def _try_ideal(self, numbers: Numbers, query: str, where: Where) -> None:
        told = [self.rules[number] for number in numbers]
        named = [(rule.kind, tuple(map(ids, rule.selectors)), rule.numbers) for rule in told]
        self._try(lambda: self._ideal(numbers), ("ideal", *_renamed(named)), numbers, query, where)

    def _ideal(self, numbers: Sequence[int]) -> Posed:
        """All of them hard, on their documents and as many others as their numbers ask for."""
        rules = tuple(replace(self.rules[number], hard=True) for number in numbers)
        docs = dict.fromkeys(doc for rule in rules for doc in rule.named)
        room = max(
            (getattr(rule, what) for rule in rules for what in counts(type(rule))), default=0
        )
        others = min((room + 1) * 2 + sum(_width(rule) for rule in rules), LONGEST)
        listing = Listing.of([*docs, *(("filler", at) for at in range(others))])
        return meet(listing, None, rules, {}, self.settings)

    def _try(
        self,
        pose: Posed | Callable[[], Posed],
        shape: Shape,
        numbers: Numbers,
        query: str,
        where: Where,
    ) -> None:
        """Every conflict of rules; rules alike but for their documents' names are tried once."""
        found = self.known.get(shape)
        if found is None:
            if self._is_full(where):
                return
            posed = pose if isinstance(pose, Posed) else pose()
            if not self._spend(len(numbers) + len(posed.listing.docs)):
                self.untried += 1
                return
            found = self.known[shape] = self._conflicts(posed, numbers, query, where)
        for conflict in found:
            at = tuple(numbers[number] for number in conflict)
            if where != "soft" or (at, "ideal") not in self.conflicts:
                self.conflicts.setdefault((at, where), []).append(query)

    def _conflicts(self, posed: Posed, numbers: Numbers, query: str, where: Where) -> list[Numbers]:
        """Conflicts by their rules' numbers here, each without the last rule of those before it."""
        check_time()
        found: list[Numbers] = []
        room = MOST - self._count(where)
        while len(found) < room:
            last = {conflict[-1] for conflict in found}
            acting = tuple(pair for pair in posed.acting if pair[0] not in last)
            try:
                conflict = find_conflict(replace(posed, acting=acting), self.settings)
            except UndecidedError as error:
                self._spend(WORK // MOST)
                self.undecided.setdefault(numbers, f"query {query!r}: {error}")
                break
            if not conflict:
                break
            found.append(tuple(conflict))
        return found

    def _count(self, where: Where) -> int:
        return sum(other == where for _, other in self.conflicts)

    def _is_full(self, where: Where) -> bool:
        """Whether enough conflicts are known."""
        return self._count(where) >= MOST

    def _clashes(self) -> Iterator[Finding]:
        """The conflicts; one that is also on a list of the run is told with the run's queries."""
        for (numbers, where), queries in self.conflicts.items():
            if where == "ideal" and (numbers, "list") in self.conflicts:
                continue
            what = "cannot hold on this list" if len(numbers) == 1 else "cannot hold together"
            message = what + _for_queries(queries)
            rules = [self.rules[number] for number in numbers]
            if not all(rule.hard for rule in rules):
                yield Finding("warning", numbers, message)
                continue
            weakest, why = find_weakest(rules)
            if why != "priority" and (where != "list" or (numbers, "ideal") in self.conflicts):
                yield Finding("error", numbers, message)
            else:
                yield Finding("warning", numbers, message + _yields(rules, weakest, why))

    def findings(self) -> list[Finding]:
        """What came of it."""
        found = [*self._clashes()]
        found += [
            Finding("warning", numbers, f"not decided whether they can hold together: {why}")
            for numbers, why in self.undecided.items()
        ]
        found += self._ended_early()
        return found + [
            Finding("warning", (number,), f"never acts: {why}")
            for number, why in self.idle.items()
            if why and (self.rules[number].hard or self.rules[number].weight > 0)
        ]

    def _ended_early(self) -> Iterator[Finding]:
        hard_is_full = self._is_full("ideal") or self._is_full("list")
        for is_full, what in ((hard_is_full, "hard"), (self._is_full("soft"), "soft")):
            if is_full:
                yield Finding(
                    "warning",
                    (),
                    f"{MOST} conflicts of {what} rules were found and no more looked for: there may "
                    "be others; correct these and check again",
                )
        if self.work < 0:
            yield Finding(
                "warning",
                (),
                f"too many rules to try all: on {self.untried:,} lists and queries it is not known "
                "whether they can hold together; check fewer rules at a time",
            )


def _renamed(rules: Iterable[tuple[str, Sequence[Sequence[object]], Numbers]]) -> Shape:
    """Rules with their documents numbered as they come."""
    name: dict[object, int] = {}
    return tuple(
        (
            kind,
            tuple(tuple(name.setdefault(doc, len(name)) for doc in part) for part in parts),
            said,
        )
        for kind, parts, said in rules
    )


def _met(posed: Posed) -> Shape:
    """The hard rules of a list as they count for conflicts: the order of its documents does not."""
    hard = [(number, bound) for number, bound in posed.acting if posed.is_hard(number)]
    told = _renamed((bound.rule.kind, bound.parts, bound.rule.numbers) for _, bound in hard)
    kinds = tuple((number, by_fields(bound.rule)) for number, bound in hard)
    return len(posed.listing.docs), kinds, told


def _width(rule: Rule) -> int:
    """How many others a rule may need between its documents."""
    gap: int = getattr(rule, "gap", 0)
    return gap * len(rule.named)


def _for_queries(queries: Sequence[str]) -> str:
    named = list(dict.fromkeys(queries))
    if "" in named:  # for every query
        return ""
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f", for query {named[0]!r}{more}"


def _yields(rules: Sequence[Rule], weakest: int, why: Reason) -> str:
    """Which rule of a clash gives way where lists are served, and why."""
    if len(rules) == 1:
        return "; it gives way where the list is served"
    reasons = {
        "priority": "its priority is the lowest",
        "pin": "a pin gives way to a hide",
        "name": "its name sorts last",
    }
    return f"; {rules[weakest].label} gives way where the list is served: {reasons[why]}"
