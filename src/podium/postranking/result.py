"""The result of post-ranking: the new order, the moves, and the outcome of each rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from podium import kernels
from podium.aggregation import DocumentOrder
from podium.errors import UsageError
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.postranking.bump_chart import draw_moves
from podium.postranking.rules.rule import Rule
from podium.typing import Document


class RuleOutcome(NamedTuple):
    """The outcome of a rule on a list.

    `slack` says how far it is violated, in places, or in documents for AtMost and AtLeast; 0 if it
    holds. `note` says why it did not act: it is off, names nothing in the list, or has no effect.
    `yielded` marks a hard rule that gave way to others and became soft. `absent` are documents that
    it names by id and that are not in the list; a rule that should move an absent or hidden
    document up does not hold. `undecided` marks a rule that gave way because the search reached its
    limit. `yielded_to` are the rules with which a rule that gave way conflicts.
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
        """Whether the rule is on, has its documents in the list, and may have an effect."""
        return not self.note


class Move(NamedTuple):
    """The original and the new place of a document, both from 1, and the rules that moved it.

    `origin` is None for a document that a rule inserted. `to` is None for a hidden document.
    `because` is empty for a document that only closed the gap of a hidden one, and for all
    documents with ``explain=False``.
    """

    doc: Document
    origin: int | None
    to: int | None
    because: tuple[Rule, ...]


# Builds a move from its four values without a Python call per document.
_make_move = partial(tuple.__new__, Move)


@dataclass(frozen=True, repr=False)
class PostRanking(DocumentOrder):
    """A list after its rules: the documents best first, their moves, and the outcome of each rule.

    Moves and `kendall` are computed at first use.

    Parameters
    ----------
    order
        The documents, best first, without the hidden ones.
    scores
        Their scores by the method, in the same order; hard rules may place a document above one
        with a higher score.
    rules
        The outcome of each rule, in the order of the rules.
    hidden
        The documents that hard rules hide, in their original order.
    origins
        The original place, from 1, of each document of `order`, then of each hidden one.
    because
        The rules that moved each of these documents; empty with ``explain=False``.
    inserted
        The documents that rules added to the list.
    proved_optimal
        Whether it is proved that no order within the hard rules has a lower sum of score times
        place.
    """

    order: tuple[Document, ...]
    scores: tuple[float, ...]
    rules: tuple[RuleOutcome, ...]
    hidden: tuple[Document, ...]
    origins: tuple[int, ...]
    because: tuple[tuple[Rule, ...], ...]
    method: str
    value: float
    iterations: int
    gradient_norm: float
    converged: bool
    proved_optimal: bool = True
    inserted: tuple[Document, ...] = ()

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """The move of each document and the rules behind it, as in `order`; hidden documents come last."""
        docs = chain(self.order, self.hidden)
        places = chain(range(1, len(self.order) + 1), repeat(None, len(self.hidden)))
        because = self.because or repeat((), len(self.origins))
        return tuple(map(_make_move, zip(docs, self._old_places, places, because, strict=True)))

    @cached_property
    def _old_places(self) -> tuple[int | None, ...]:
        """The original places; None for inserted documents."""
        if not self.inserted:
            return self.origins
        inserted = set(self.inserted)
        docs = chain(self.order, self.hidden)
        return tuple(
            None if doc in inserted else place
            for doc, place in zip(docs, self.origins, strict=True)
        )

    @cached_property
    def kendall(self) -> int:
        """The number of pairs of documents that have changed their order; inserted ones do not count."""
        listed = [place for place in self._old_places[: len(self.order)] if place is not None]
        n = len(listed)
        places = np.array(listed, dtype=np.float64).reshape(n, 1)
        return int(kernels.disagreements(places, np.arange(n), np.array([0, n]))[0, 0, 0])

    @cached_property
    def moved(self) -> tuple[Move, ...]:
        """The moves of the documents that rules moved or hid.

        Documents that only closed the gap of a hidden one are not included: their place among the
        visible documents is the same.
        """
        origins_of_visible = (move.origin for move in self.moves if move.to is not None)
        origins = sorted(origin for origin in origins_of_visible if origin is not None)
        closed_up: dict[int | None, int] = {
            origin: place for place, origin in enumerate(origins, start=1)
        }
        return tuple(
            move
            for move in self.moves
            if move.to not in (move.origin, closed_up.get(move.origin, 0))
        )

    @property
    def violated(self) -> tuple[RuleOutcome, ...]:
        """The rules that do not hold."""
        return tuple(outcome for outcome in self.rules if not outcome.satisfied)

    def _repr_html_(self) -> str:
        """Return the documents with their moves, and the outcomes of the rules, for notebooks."""

        def move_cells(i: int) -> tuple[object, ...]:
            move = self.moves[i]
            reasons = ", ".join(map(str, move.because))
            origin = "inserted" if move.origin is None else move.origin
            return ("hidden" if move.to is None else move.to, str(move.doc), origin, reasons)

        def rule_cells(i: int) -> tuple[object, ...]:
            outcome = self.rules[i]
            return str(outcome.rule), outcome.satisfied, outcome.slack, outcome.note

        title = f"Post-ranking of {len(self.moves):,} documents, {self.kendall:,} pairs reversed"
        moves = html_table(
            title, ("place", "document", "original place", "moved by"), len(self.moves), move_cells
        )
        headers = ("rule", "holds", "slack", "note")
        return moves + html_table("Rules", headers, len(self.rules), rule_cells)

    def plot(self, ax: Any = None, *, documents: int = 20) -> Any:
        """Draw a bump chart: each document from its original place to its new one; return the axes.

        Documents that rules moved or hid are coloured; a cross ends the line of a hidden one.

        Parameters
        ----------
        documents
            The number of places to draw, before and after.
        """
        if documents < 1:
            raise UsageError(f"expected 1 document or more, got {documents!r}")
        ax = new_axes("drawing the moves of documents") if ax is None else ax
        moved = {move.origin or len(self.moves) for move in self.moved}
        draw_moves(
            ax,
            [(str(m.doc), m.origin or len(self.moves), m.to) for m in self.moves],
            moved,
            documents,
        )
        return ax

    def __repr__(self) -> str:
        n_on = sum(outcome.acted or not outcome.satisfied for outcome in self.rules)
        n_satisfied = n_on - len(self.violated)
        verb = "holds" if 1 in (n_satisfied, n_on) else "hold"
        rules = f"{n_on} rule{'s' * (n_on != 1)} {verb}"
        pairs = f"{self.kendall} pair{'s' * (self.kendall != 1)} reversed"
        return f"PostRanking({self.preview()}, {n_satisfied} of {rules}, {pairs})"
