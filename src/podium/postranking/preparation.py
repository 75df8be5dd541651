"""Prepare a list for post-ranking: what each rule names in it, who is shown, which rules are hard."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking.binding import Acting, BoundRule, Listing, bind, text_for_numbers
from podium.postranking.lists import Catalogue, read_list
from podium.postranking.methods.problem import Floats, PostRankingProblem
from podium.postranking.places.constraints import Constraint
from podium.postranking.rules.kinds import Hide
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import Missing, Settings


@dataclass(frozen=True, eq=False)
class PreparedList:
    """A list and its rules: the documents that each rule names, and why a rule does not act."""

    listing: Listing
    scores: Floats | None
    acting: tuple[Acting, ...]
    notes: Mapping[int, str]
    """Why a rule, by its number, does not act, or changes nothing."""
    rules: tuple[Rule, ...]
    idle: tuple[Acting, ...] = ()
    """Rules that name nothing in the list."""
    yielded: frozenset[int] = frozenset()
    """Hard rules, by their numbers, that gave way to others and are taken as soft."""
    undecided: frozenset[int] = frozenset()
    """Those of them that gave way because the search reached its limit."""
    yielded_to: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For a rule that gave way, the rules that it clashes with; none where the search did not end."""

    def is_hard(self, number: int) -> bool:
        """Whether a rule must hold: it is hard and did not give way."""
        return self.rules[number].hard and number not in self.yielded

    @cached_property
    def hard_numbers(self) -> list[int]:
        """The numbers of the hard rules."""
        return sorted({number for number, _ in self.acting if self.is_hard(number)})

    def visible_rows(self, numbers: Collection[int]) -> NDArray[np.int64]:
        """Return the rows of the documents that these rules do not hide."""
        rows = np.arange(len(self.listing.docs))
        hidden: set[int] = set()
        for number, bound in self.acting:
            if number in numbers and isinstance(bound.rule, Hide):
                hidden.update(bound.rows)
        return np.delete(rows, sorted(hidden)) if hidden else rows

    @cached_property
    def shown_rows(self) -> NDArray[np.int64]:
        """The rows of the documents that are shown."""
        return self.visible_rows(self.hard_numbers)

    @cached_property
    def hidden_rows(self) -> NDArray[np.int64]:
        """The rows of the documents that hard rules hide."""
        n = len(self.listing.docs)
        return (
            np.setdiff1d(np.arange(n), self.shown_rows)
            if len(self.shown_rows) < n
            else self.shown_rows[:0]
        )

    def places(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of every row if those shown are in this order and hidden ones behind them."""
        place = np.empty(len(self.listing.docs), dtype=np.int64)
        place[self.shown_rows[order]] = np.arange(1, len(self.shown_rows) + 1)
        if len(self.hidden_rows):
            place[self.hidden_rows] = len(place) + np.arange(1, len(self.hidden_rows) + 1)
        return place

    @cached_property
    def hard_acting(self) -> tuple[Acting, ...]:
        """The hard rules on the whole list."""
        return tuple(one for one in self.acting if self.is_hard(one[0]))

    @cached_property
    def soft_acting(self) -> tuple[Acting, ...]:
        """The soft rules on the whole list."""
        return tuple(one for one in self.acting if not self.is_hard(one[0]))

    def rules_on(self, rows: NDArray[np.int64]) -> tuple[Acting, ...]:
        """Return the rules on these documents alone, which are numbered anew."""
        if len(rows) == len(self.listing.docs):
            return self.acting
        return self._rules_on_shown if rows is self.shown_rows else self._restrict(rows)

    @cached_property
    def _rules_on_shown(self) -> tuple[Acting, ...]:
        return self._restrict(self.shown_rows)

    def _restrict(self, rows: NDArray[np.int64]) -> tuple[Acting, ...]:
        new_row = {row: at for at, row in enumerate(rows.tolist())}
        return tuple((number, bound.among(new_row)) for number, bound in self.acting)

    @cached_property
    def constraints_by_rule(self) -> list[tuple[int, list[Constraint]]]:
        """The constraints of each hard rule, by its number, while no document is hidden."""
        return [
            (number, list(bound.rule.constraints(bound)))
            for number, bound in self.acting
            if self.rules[number].hard
        ]

    def constraints(self, numbers: Collection[int]) -> tuple[int, list[Constraint]]:
        """Return how many documents these hard rules show, and the constraints on their places."""
        numbers = frozenset(numbers)
        if not numbers:
            return len(self.listing.docs), []
        rows = self.visible_rows(numbers)
        by_rule = self.constraints_by_rule
        if len(rows) < len(self.listing.docs):
            by_rule = [
                (number, list(bound.rule.constraints(bound)))
                for number, bound in self.rules_on(rows)
                if number in numbers
            ]
        return len(rows), [
            constraint for number, own in by_rule if number in numbers for constraint in own
        ]

    def problem(self, settings: Settings) -> PostRankingProblem:
        """Return the documents shown and the soft rules, as methods take them."""
        listing, scores = self.listing, self.scores
        if len(self.shown_rows) < len(listing.docs):
            listing = listing.take(self.shown_rows.tolist())
            scores = None if scores is None else scores[self.shown_rows]
        soft = tuple(
            bound
            for number, bound in self.rules_on(self.shown_rows)
            if not self.is_hard(number)
            and all(bound.parts)
            and (number not in self.yielded or settings.method.takes(bound.rule))
        )
        return PostRankingProblem(
            listing, scores, soft, settings.prior, settings.base, settings.pairs, settings.scale
        )


def prepare(
    docs: Sequence[Any],
    rules: tuple[Rule, ...],
    scores: ArrayLike | None,
    settings: Settings,
    query: str | None,
    today: datetime.date,
    fields: Catalogue | None = None,
) -> PreparedList:
    """Read a list and find out what each rule names in it and which rules are off."""
    listing, model = read_list(docs, scores, fields)
    if query is not None and not isinstance(query, str):
        raise UsageError(f"expected the text of a query, got {query!r}")
    reasons = ((number, rule.reason_off(query, today)) for number, rule in enumerate(rules))
    off = {number: reason for number, reason in reasons if reason}
    return prepare_listing(listing, model, rules, settings, off)


def prepare_listing(
    listing: Listing,
    scores: Floats | None,
    rules: tuple[Rule, ...],
    settings: Settings,
    off: Mapping[int, str] | None = None,
) -> PreparedList:
    """Find out what each rule names in a list; `off` has the reasons of those that are off."""
    if settings.base == "margin" and scores is None:
        raise UsageError("expected scores for base='margin', got none")
    notes, acting, idle = dict(off or {}), [], []
    # A list without documents has none that a rule could name: that is no mistake.
    missing: Missing = settings.missing if listing.docs else "report"
    for number, rule in enumerate(rules):
        if number in notes:
            continue
        bounds, empty, note = _bind_present(rule, listing, missing)
        idle += [(number, bound) for bound in empty]
        if note:
            notes[number] = note
            continue
        reasons = [rule.idle(bound) for bound in bounds]
        if all(reasons):
            notes[number] = reasons[0]
        # Hard rules that change nothing still say that their documents are not hidden.
        acting += [
            (number, bound)
            for bound, reason in zip(bounds, reasons, strict=True)
            if rule.hard or not reason
        ]
    return PreparedList(listing, scores, tuple(acting), notes, rules, tuple(idle))


def _bind_present(
    rule: Rule, listing: Listing, missing: Missing
) -> tuple[list[BoundRule], list[BoundRule], str]:
    """Return a rule on the documents it names, then on too few to act; and why if the first is empty."""
    try:
        bounds = bind(rule, listing)
    except UnknownNameError as error:
        if missing == "error":
            raise
        return [], [], str(error)
    absent = bounds[0].absent if bounds else ()
    if absent and missing == "error":
        raise DataError(
            f"expected documents of the list in {rule}, got {listing.stranger(absent[0], hints=True)}"
        )
    # A hard rule that asks for more than is there cannot hold, or it is left out with a note.
    lacking = [rule.hard and rule.lacks(bound) for bound in bounds]
    if not any(lacking) and all(all(bound.parts) for bound in bounds):
        return bounds, [], "" if bounds else "names nothing in the list"
    strict = missing == "error" and any(lacking)
    present = [
        bound
        for bound, lacks in zip(bounds, lacking, strict=True)
        if strict or (all(bound.parts) and not lacks)
    ]
    idle = [bound for bound in bounds if bound not in present]
    if present:
        return present, idle, ""
    few = "has too few documents" if any(map(all, (b.parts for b in bounds))) else "names nothing"
    names = ", ".join(map(listing.stranger, absent[:3]))
    typed = text_for_numbers(rule, listing)
    return [], idle, f"{few} in the list" + (names and f": {names}") + typed
