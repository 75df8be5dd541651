"""Prepare a list for post-ranking: the rows that each rule names, the rows shown, the hard rules."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking.binding import FieldTypes, bind, type_notes
from podium.postranking.list_input import Catalogue, look_up, read_list
from podium.postranking.listing import Listing
from podium.postranking.methods.problem import PostRankingProblem
from podium.postranking.places.constraints import Constraint
from podium.postranking.rules.context_values import ContextValues
from podium.postranking.rules.rule import BoundRule, NumberedRule, Rule
from podium.postranking.rules.rule_kinds import Hide
from podium.postranking.settings import MissingDocuments, Settings
from podium.rankers.ranked_lists import RankedList
from podium.typing import Floats
from podium.work_budget import spend

ShownConstraints = tuple[int, Mapping[int, Sequence[Constraint]]]
"""The number of visible documents, and the constraints of each hard rule on them, by its number."""
MAX_CACHED_HIDES = 2
"""The number of sets of hiding rules whose constraints are cached, for the search for a conflict."""


@dataclass(frozen=True, eq=False)
class PreparedList:
    """A list and its rules, bound to rows; a rule is identified by its number in `rules`.

    `bound_rules` are the rules that may have an effect. Hard rules without an effect are among them,
    because their documents must be shown. A rule with `Each` is bound several times with the same
    number.
    """

    listing: Listing
    scores: Floats | None
    bound_rules: tuple[NumberedRule, ...]
    notes: Mapping[int, str]
    """Why a rule is off, names too few documents or has no effect, by its number."""
    rules: tuple[Rule, ...]
    unmatched_rules: tuple[NumberedRule, ...] = ()
    """Rules that name too few documents of the list."""
    n_inserted: int = 0
    """The number of documents at the end that rules added to the list."""
    yielded: frozenset[int] = frozenset()
    """The numbers of the hard rules that gave way to others and count as soft."""
    undecided: frozenset[int] = frozenset()
    """The numbers of the rules that gave way because the search reached its limit."""
    yielded_to: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each rule that gave way, the rules that it conflicts with; none if the search reached its limit."""
    _constraints: dict[frozenset[int], ShownConstraints] = field(
        init=False, default_factory=dict, repr=False
    )

    def is_hard(self, number: int) -> bool:
        """Whether a rule is hard and did not give way."""
        return self.rules[number].hard and number not in self.yielded

    @cached_property
    def hard_numbers(self) -> list[int]:
        """The numbers of the hard rules."""
        return sorted({number for number, _ in self.bound_rules if self.is_hard(number)})

    def visible_rows(self, numbers: Collection[int]) -> NDArray[np.int64]:
        """Return the rows of the documents that these rules do not hide."""
        rows = np.arange(len(self.listing.docs))
        hidden: set[int] = set()
        for number, bound_rule in self.bound_rules:
            if number in numbers and isinstance(bound_rule.rule, Hide):
                hidden.update(bound_rule.rows)
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
        """Return the place of every row if the visible rows are in this order; hidden rows come after n."""
        place = np.empty(len(self.listing.docs), dtype=np.int64)
        place[self.shown_rows[order]] = np.arange(1, len(self.shown_rows) + 1)
        if len(self.hidden_rows):
            place[self.hidden_rows] = len(place) + np.arange(1, len(self.hidden_rows) + 1)
        return place

    @cached_property
    def hard_rules(self) -> tuple[NumberedRule, ...]:
        """The hard rules, with rows of the whole list, including hidden documents."""
        return tuple(pair for pair in self.bound_rules if self.is_hard(pair[0]))

    @cached_property
    def soft_rules(self) -> tuple[NumberedRule, ...]:
        """The soft rules, with rows of the whole list, including hidden documents."""
        return tuple(pair for pair in self.bound_rules if not self.is_hard(pair[0]))

    @cached_property
    def rules_on_shown(self) -> tuple[NumberedRule, ...]:
        """The bound rules restricted to the documents that are shown."""
        return self.rules_on(self.shown_rows)

    @property
    def unmatched_on_shown(self) -> tuple[NumberedRule, ...]:
        """The unmatched rules restricted to the documents that are shown."""
        return self._restrict(self.unmatched_rules, self.shown_rows)

    def rules_on(self, rows: NDArray[np.int64]) -> tuple[NumberedRule, ...]:
        """Return the bound rules restricted to these rows; rows get new numbers, rules keep theirs."""
        return self._restrict(self.bound_rules, rows)

    def _restrict(
        self, rules: tuple[NumberedRule, ...], rows: NDArray[np.int64]
    ) -> tuple[NumberedRule, ...]:
        if len(rows) == len(self.listing.docs):  # nothing is left out
            return rules
        new_row = {row: at for at, row in enumerate(rows.tolist())}
        return tuple((number, bound_rule.restrict(new_row)) for number, bound_rule in rules)

    def constraints(self, numbers: Collection[int]) -> tuple[int, list[Constraint]]:
        """Return the number of visible documents under these hard rules, and the constraints on them."""
        if not numbers:
            return len(self.listing.docs), []
        hides = frozenset(n for n in numbers if isinstance(self.rules[n], Hide))
        n_shown, by_rule = self.constraints_by_rule(hides)
        return n_shown, [c for n in sorted(numbers) for c in by_rule.get(n, ())]

    def constraints_by_rule(self, hides: frozenset[int]) -> ShownConstraints:
        """Return the number of visible documents under these rules, and the constraints of all hard rules."""
        if hides not in self._constraints:
            rows = self.visible_rows(hides)
            by_rule: dict[int, list[Constraint]] = {}
            for number, bound_rule in self.rules_on(rows):
                if self.rules[number].hard:
                    by_rule.setdefault(number, []).extend(bound_rule.rule.constraints(bound_rule))
            if len(self._constraints) == MAX_CACHED_HIDES:
                self._constraints.clear()
            self._constraints[hides] = len(rows), by_rule
        return self._constraints[hides]

    def problem(self, settings: Settings) -> PostRankingProblem:
        """Return the visible documents and the soft rules as a problem for methods."""
        listing, scores = self.listing, self.scores
        if len(self.shown_rows) < len(listing.docs):
            listing = listing.take(self.shown_rows.tolist())
            scores = None if scores is None else scores[self.shown_rows]
        soft = tuple(
            bound_rule
            for number, bound_rule in self.rules_on_shown
            if not self.is_hard(number)
            and all(bound_rule.parts)
            and (number not in self.yielded or settings.method.takes(bound_rule.rule))
        )
        return PostRankingProblem(
            listing,
            scores,
            soft,
            settings.prior,
            settings.base,
            settings.pairs,
            settings.scale,
            moves_later=bool(self.hard_numbers),
        )


def prepare(
    docs: Sequence[Any] | RankedList,
    rules: tuple[Rule, ...],
    scores: ArrayLike | None,
    settings: Settings,
    query: str | None,
    today: datetime.date,
    fields: Catalogue | None = None,
    values: ContextValues | None = None,
    insertable: Catalogue | None = None,
) -> PreparedList:
    """Read a list and bind the active rules to it."""
    listing, sorted_scores = read_list(docs, scores, fields)
    reasons = ((number, rule.reason_off(query, today, values)) for number, rule in enumerate(rules))
    off = {number: reason for number, reason in reasons if reason}
    return prepare_listing(
        listing, sorted_scores, rules, settings, off, fields if insertable is None else insertable
    )


def prepare_listing(
    listing: Listing,
    scores: Floats | None,
    rules: tuple[Rule, ...],
    settings: Settings,
    off: Mapping[int, str] | None = None,
    insertable: Catalogue | None = None,
) -> PreparedList:
    """Bind rules to a list; `off` has the reason why a rule is off, by its number.

    Rules that insert documents take them from `insertable`.
    """
    if settings.base == "margin" and scores is None:
        raise UsageError(
            "base='margin' needs the model's scores; use scores=..., or base='uniform'"
        )
    notes = dict(off or {})
    n_listed = len(listing.docs)
    if insertable and any(rule.inserts and n not in notes for n, rule in enumerate(rules)):
        on = (rule for number, rule in enumerate(rules) if number not in notes)
        listing, scores = _insert_documents(listing, scores, on, insertable)
    active: list[NumberedRule] = []
    unmatched: list[NumberedRule] = []
    # In an empty list every document is absent; this is not an error of a rule.
    missing: MissingDocuments = settings.missing if listing.docs else "report"
    for number, rule in enumerate(rules):
        if number in notes:
            continue
        bound_rules, lacking_documents, note = _bind_present(rule, listing, missing)
        unmatched += [(number, bound_rule) for bound_rule in lacking_documents]
        if note:
            notes[number] = note
            continue
        reasons = [rule.reason_no_effect(bound_rule) for bound_rule in bound_rules]
        if all(reasons):
            notes[number] = reasons[0]
        # Hard rules without effect still require that their documents are not hidden.
        active += [
            (number, bound_rule)
            for bound_rule, reason in zip(bound_rules, reasons, strict=True)
            if rule.hard or not reason
        ]
    return PreparedList(
        listing, scores, tuple(active), notes, rules, tuple(unmatched), len(listing.docs) - n_listed
    )


def _insert_documents(
    listing: Listing, scores: Floats | None, rules: Iterable[Rule], insertable: Catalogue
) -> tuple[Listing, Floats | None]:
    """Return a list with the documents that rules insert at its end, with the lowest score."""
    inserts = dict.fromkeys(doc for rule in rules if rule.inserts for doc in rule.named_docs)
    docs = [doc for doc in inserts if doc not in listing.row and doc in insertable]
    spend(len(inserts) + (len(listing.docs) if docs else 0))
    if docs and scores is not None:
        lowest = float(scores[-1]) if len(scores) else 0.0
        scores = np.concatenate([scores, np.full(len(docs), lowest)])
    return listing.extend(docs, look_up(insertable, docs)), scores


def _bind_present(
    rule: Rule, listing: Listing, missing: MissingDocuments
) -> tuple[list[BoundRule], list[BoundRule], str]:
    """Return a rule bound to the documents that it needs, bound to too few, and a note if only to too few."""
    try:
        bound_rules = bind(rule, listing)
    except UnknownNameError as error:
        if missing == "error":
            raise
        return [], [], str(error)
    absent = bound_rules[0].absent if bound_rules else ()
    if absent and missing == "error":
        raise DataError(
            f"{rule} names a document that is not in the list: "
            f"{listing.describe_absent(absent[0], hints=True)}"
        )
    if not bound_rules:
        return [], [], "names nothing in the list"
    lacking = [rule.hard and rule.lacks_documents(bound_rule) for bound_rule in bound_rules]
    if missing == "error" and any(lacking):
        # Kept, though the rule cannot hold: placement raises ConflictError and names it, or it gives way.
        return bound_rules, [], ""
    present: list[BoundRule] = []
    unmatched: list[BoundRule] = []
    for bound_rule, lacks in zip(bound_rules, lacking, strict=True):
        (unmatched if lacks or not all(bound_rule.parts) else present).append(bound_rule)
    return present, unmatched, "" if present else _unmatched_note(rule, bound_rules, listing)


def _unmatched_note(rule: Rule, bound_rules: Sequence[BoundRule], listing: Listing) -> str:
    """Return why a rule that is bound to too few documents does not act."""
    names_some = any(all(bound_rule.parts) for bound_rule in bound_rules)
    note = "has too few documents in the list" if names_some else "names nothing in the list"
    names = ", ".join(map(listing.describe_absent, bound_rules[0].absent[:3]))
    spend(len(listing.docs))
    notes = "".join(f"; {note}" for note in type_notes(rule, FieldTypes(listing.fields or ())))
    return note + (names and f"; absent: {names}") + notes
