"""The result of post-ranking: the new order, the moves, and the outcome of each rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

from podium.postranking.rules.rule import Rule
from podium.postranking.rules.selectors import Document


class RuleOutcome(NamedTuple):
    """What became of a rule.

    `slack` is by how much it is violated: places, or documents for AtMost and AtLeast; 0 where it
    holds. `note` says why it did not act: it is off, names nothing in the list, or cannot bite.
    `yielded` marks a hard rule that gave way to others and was taken as soft. `absent` are documents it
    names by id that are not in the list; a rule that wants one of them, or a hidden one, higher up does
    not hold. `undecided` marks a rule that gave way because the search for an order reached its limit.
    `yielded_to` are the rules that a rule which gave way clashes with.
    """

    rule: Rule
    satisfied: bool
    slack: int
    note: str = ""
    yielded: bool = False
    absent: tuple[Document, ...] = ()
    undecided: bool = False
    yielded_to: tuple[Rule, ...] = ()

    @property
    def acted(self) -> bool:
        """Whether the rule took part."""
        return not self.note


class Move(NamedTuple):
    """Where a document came from and went to, both from 1, and the rules that moved it.

    `to` is None for a hidden document. A document that only closed up, because documents above it are
    hidden, has no rules in `because`; nor has any with ``explain=False``.
    """

    doc: Document
    origin: int
    to: int | None
    because: tuple[Rule, ...]


@dataclass(frozen=True, repr=False)
class PostRanking(Sequence[Any]):
    """A list after its rules: the documents best first, their moves, and the outcome of each rule.

    Parameters
    ----------
    order
        The documents, best first, without the hidden ones.
    scores
        Their Bradley-Terry scores, in the same order; hard rules may place a document above one of
        a higher score.
    rules
        What became of each rule, as given.
    moves
        Where each document came from and went to and because of which rules, as in `order`, the hidden
        ones last.
    kendall
        How many pairs of documents have changed their order.
    proved_optimal
        Whether no order that meets the hard rules has a higher sum of score by place.
    """

    order: tuple[Document, ...]
    scores: tuple[float, ...]
    rules: tuple[RuleOutcome, ...]
    moves: tuple[Move, ...]
    kendall: int
    method: str
    value: float
    iterations: int
    gradient_norm: float
    converged: bool
    proved_optimal: bool = True

    @cached_property
    def moved(self) -> tuple[Move, ...]:
        """The documents that rules moved or hid.

        A document that only closed up, because documents above it are hidden, is not among them: its
        place among the documents that are shown is the same.
        """
        origins = sorted(move.origin for move in self.moves if move.to is not None)
        closed_up = {origin: place for place, origin in enumerate(origins, start=1)}
        return tuple(
            move
            for move in self.moves
            if move.to not in (move.origin, closed_up.get(move.origin, 0))
        )

    @property
    def hidden(self) -> tuple[Document, ...]:
        """The documents that hard rules hide, in their original order."""
        return tuple(move.doc for move in self.moves[len(self.order) :])

    @property
    def violated(self) -> tuple[RuleOutcome, ...]:
        """The rules that do not hold."""
        return tuple(outcome for outcome in self.rules if not outcome.satisfied)

    def __repr__(self) -> str:
        names = [repr(document) for document in self.order[:10]]
        more = [] if len(self.order) <= 10 else [f"... {len(self.order)} documents"]
        n_on = sum(outcome.acted or not outcome.satisfied for outcome in self.rules)
        n_satisfied = n_on - len(self.violated)
        summary = f"{n_satisfied} of {n_on} rules hold, {self.kendall} pairs turned"
        return f"PostRanking([{', '.join(names + more)}], {summary})"

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.order[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)
