"""Settlements: an admin's decisions where assessors disagree. Judgments do not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from podium.errors import ChangeConflictError, UsageError
from podium.labelling.implied_preferences import ImpliedPreferences
from podium.labelling.judgments import Answer, DocumentId, JudgedTopK, Judgment, check_answer
from podium.labelling.pools import first_repeated

MAX_NOTE_CHARACTERS = 2_000
"""The maximum number of characters of an admin's reason."""


@dataclass(frozen=True)
class Settlement:
    """A decision about a pair of documents, or about the grade of one document.

    Parameters
    ----------
    query
        The id of the query.
    documents
        Two documents, or one.
    answer
        Which of two documents is better; None for a grade.
    grade
        The grade of one document, 0 is the worst; None for a pair.
    admin, at
        Who decided, and when: milliseconds since 1970.
    note
        The reason, for people.

    Examples
    --------
    >>> Settlement("q1", ("x", "y"), answer=">").judgment
    Judgment(a='x', b='y', answer='>')
    """

    query: str
    documents: tuple[DocumentId, ...]
    answer: Answer | None = None
    grade: int | None = None
    admin: str = ""
    at: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        n_documents = 1 if self.answer is None else 2
        if len(self.documents) != n_documents or first_repeated(self.documents) is not None:
            raise UsageError("expected an answer for two documents, or a grade for one")
        if (self.answer is None) == (self.grade is None):
            raise UsageError("expected either an answer or a grade")
        if self.answer is not None:
            check_answer(self.answer)
        if len(self.note) > MAX_NOTE_CHARACTERS or not self.note.replace("\n", " ").isprintable():
            raise UsageError(f"expected a note of at most {MAX_NOTE_CHARACTERS:,} characters")

    @property
    def judgment(self) -> Judgment:
        """The decision about a pair as a judgment."""
        assert self.answer is not None
        a, b = self.documents
        return Judgment(a, b, self.answer)

    @property
    def key(self) -> tuple[str, frozenset[DocumentId]]:
        """The query and its documents: if two settlements have the same key, the later one counts."""
        return self.query, frozenset(self.documents)


def settlements_by_query(settlements: Iterable[Settlement]) -> dict[str, list[Settlement]]:
    """Return settlements by the id of their query."""
    by_query: dict[str, list[Settlement]] = {}
    for settlement in settlements:
        by_query.setdefault(settlement.query, []).append(settlement)
    return by_query


def check_settlement(new: Settlement, others: Iterable[Settlement]) -> None:
    """Raise ChangeConflictError if a settlement of a pair contradicts the others.

    A document settled as bad must not be settled as better than another document, or as tied with one.
    """
    pairs = [s.judgment for s in others if s.answer and s.query == new.query and s.key != new.key]
    if new.answer is None or not pairs:
        return
    before, after = _implied(pairs, new.documents), _implied([*pairs, new.judgment], new.documents)
    # Older stores may contain contradictions; only new ones are refused.
    for pair in (new.judgment, *pairs):
        answer = after.answer(pair.a, pair.b)
        was_right = pair == new.judgment or before.answer(pair.a, pair.b) == pair.answer
        if was_right and answer != pair.answer:
            raise _contradiction(new, pair, answer)


def _contradiction(new: Settlement, pair: Judgment, answer: Answer | None) -> ChangeConflictError:
    """Return the error for a settlement after which another answer follows for a settled pair."""
    a, b = new.documents
    cause = (
        f"{answer} follows from them"
        if pair == new.judgment
        else f"{pair.a!r:.60} {pair.answer} {pair.b!r:.60} is settled"
    )
    return ChangeConflictError(
        f"{a!r:.60} {new.answer} {b!r:.60} contradicts the other settlements of query "
        f"{new.query!r:.60}: {cause}; change those first"
    )


def settle_top_k(top: JudgedTopK, settlements: Sequence[Settlement]) -> JudgedTopK:
    """Return a merged top k that follows every settlement.

    The better document moves up, just before the best one that it beats. Tied documents share the better
    level of the two. Documents settled as bad leave the top k, whatever else is settled about them. All
    others keep their order. The order of the settlements does not matter.

    Examples
    --------
    >>> top = JudgedTopK((("b",), ("c",)), k=2, judged=3)
    >>> settle_top_k(top, [Settlement("q", ("a", "b"), ">")]).levels
    (('a',), ('b',))
    >>> settle_top_k(top, [Settlement("q", ("b", "c"), "~")]).levels
    (('b', 'c'),)
    """
    pairs = [settlement.judgment for settlement in settlements if settlement.answer]
    if not pairs:
        return top
    implied = _implied(pairs, top.order)
    n_levels = len(top.levels)
    level_of = {document: i for i, level in enumerate(top.levels) for document in level}
    remaining = [d for d in implied.documents if d not in implied.rejected_documents]
    places: dict[tuple[int, int, int], list[DocumentId]] = {}
    for document in remaining:
        place = _settled_place(document, remaining, level_of, implied, n_levels)
        if place[0] < n_levels:
            places.setdefault(place, []).append(document)
    levels: list[tuple[DocumentId, ...]] = []
    for place in sorted(places):
        if sum(map(len, levels)) >= top.k:
            break
        levels.append(tuple(places[place]))
    return JudgedTopK(tuple(levels), top.k, top.judged)


def _settled_place(
    document: DocumentId,
    documents: Sequence[DocumentId],
    level_of: Mapping[DocumentId, int],
    implied: ImpliedPreferences,
    n_levels: int,
) -> tuple[int, int, int]:
    """Return the level of a document, how far it moves up before that level, and where it comes from.

    A chain a > b > c that moves before one level stays in order, because a beats more documents
    than b. Documents that move equally far keep their order.
    """
    own = min(level_of.get(tied, n_levels) for tied in implied.tied_documents(document))
    beaten = [d for d in documents if d != document and implied.answer(document, d) == ">"]
    best_beaten = min((level_of.get(d, n_levels) for d in beaten), default=n_levels + 1)
    return (own, 0, own) if own < best_beaten else (best_beaten, -len(beaten), own)


def _implied(pairs: Sequence[Judgment], documents: Sequence[DocumentId]) -> ImpliedPreferences:
    """Return what the settlements imply together, for their documents and these.

    "Bad" comes first: only the documents with that answer are rejected, not those that they beat.
    """
    names = dict.fromkeys(documents)
    names |= dict.fromkeys(sorted(document for pair in pairs for document in (pair.a, pair.b)))
    implied = ImpliedPreferences(names)
    for pair in sorted(pairs, key=lambda pair: pair.answer != "bad"):
        implied.add(pair)
    return implied
