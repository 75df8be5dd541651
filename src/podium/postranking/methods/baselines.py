"""Four rules of thumb that move the documents rules name, and nothing else (Wu et al., section 5.1).

Every target is computed on the original list; those places are filled and the others keep their order.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from podium.errors import UnknownNameError, UsageError
from podium.postranking.binding import BoundRule
from podium.postranking.methods.problem import Method, PostRankingProblem, Solution, descending
from podium.postranking.rules.kinds import NotTopK, TopK
from podium.postranking.rules.rule import Rule

When = Literal["always", "violated"]
WHENS: tuple[When, ...] = ("always", "violated")


@dataclass(frozen=True)
class Heuristic(Method):
    """A document goes to the place that its rule, its own place and the list's length give.

    For soft `TopK` and `NotTopK` alone. Weights do not count, but a weight of 0 is no rule. A k beyond
    the end of the list is its end. A document under several rules goes to the mean of their places;
    documents that want the same place stand around it in their original order.

    Parameters
    ----------
    when
        ``always``, as printed: also a document that meets its rule is moved, up or down; ``violated``:
        only those that do not meet it are.
    """

    when: When = "always"

    def __post_init__(self) -> None:
        if self.when not in WHENS:
            raise UnknownNameError("time to move a document", str(self.when), WHENS)

    @abstractmethod
    def promoted(self, place: int, k: int, n: int) -> int:
        """Where a document from this place goes that belongs in the top k of n."""

    @abstractmethod
    def demoted(self, place: int, k: int, n: int) -> int:
        """Where a document from this place goes that does not belong in the top k of n."""

    def solve(self, problems: Sequence[PostRankingProblem]) -> list[Solution]:
        """Each list with its documents moved."""
        return [
            Solution(descending(filled(self._targets(problem), problem.n))) for problem in problems
        ]

    def takes(self, rule: Rule) -> bool:
        """TopK and NotTopK alone."""
        return isinstance(rule, TopK | NotTopK)

    def _targets(self, problem: PostRankingProblem) -> dict[int, int]:
        """The place that each moved row goes to."""
        targets: dict[int, list[int]] = {}
        for bound in problem.rules:
            if bound.rule.weight > 0:
                for row, target in self._moves(bound, problem.n):
                    targets.setdefault(row, []).append(target)
        # Halves go down.
        return {row: (2 * sum(t) + len(t)) // (2 * len(t)) for row, t in targets.items()}

    def _moves(self, bound: BoundRule, n: int) -> list[tuple[int, int]]:
        rule = bound.rule
        if not isinstance(rule, TopK | NotTopK):
            raise UsageError(f"expected soft TopK and NotTopK alone for {self.name}, got {rule}")
        k, up = min(rule.k, n), isinstance(rule, TopK)
        move = self.promoted if up else self.demoted
        return [
            (row, min(move(row + 1, k, n), n))
            for row in bound.rows
            if self.when == "always" or (row >= k) == up
        ]


@dataclass(frozen=True)
class Radical(Heuristic):
    """To the first place, or the last.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="radical"))
    'eacdfb'
    """

    name: ClassVar[str] = "radical"

    def promoted(self, place: int, k: int, n: int) -> int:
        """1."""
        return 1

    def demoted(self, place: int, k: int, n: int) -> int:
        """n."""
        return n


@dataclass(frozen=True)
class Moderate(Heuristic):
    """To the middle of the top k, or of the rest: ceil(k / 2), or k + ceil((n - k) / 2).

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="moderate"))
    'aecdbf'
    """

    name: ClassVar[str] = "moderate"

    def promoted(self, place: int, k: int, n: int) -> int:
        """The middle of 1..k, the upper one where there are two."""
        return _ceil(k, 2)

    def demoted(self, place: int, k: int, n: int) -> int:
        """The middle of k + 1..n, the upper one where there are two."""
        return k + _ceil(n - k, 2)


@dataclass(frozen=True)
class Conservative(Heuristic):
    """No further than the rule asks: to k, or k + 1.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="conservative"))
    'acebdf'
    """

    name: ClassVar[str] = "conservative"

    def promoted(self, place: int, k: int, n: int) -> int:
        """k."""
        return k

    def demoted(self, place: int, k: int, n: int) -> int:
        """k + 1."""
        return k + 1


@dataclass(frozen=True)
class Proportional(Heuristic):
    """As far into the top k, or the rest, as it was into the list.

    ceil(k place / n), or ceil(k + place (1 - k / n)).

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="proportional"))
    'acebdf'
    """

    name: ClassVar[str] = "proportional"

    def promoted(self, place: int, k: int, n: int) -> int:
        """ceil(k place / n)."""
        return _ceil(k * place, n)

    def demoted(self, place: int, k: int, n: int) -> int:
        """ceil(k + place (1 - k / n)), in whole numbers: halves of rounding move nobody."""
        return k + _ceil(place * (n - k), n)


def filled(targets: Mapping[int, int], n: int) -> list[int]:
    """Rows best first: the moved ones at the free places nearest to their targets, the others in order.

    Of two places equally near, the higher.

    Examples
    --------
    >>> filled({4: 1, 0: 3}, 5)
    [4, 1, 0, 2, 3]
    >>> filled({3: 1, 4: 1}, 5)  # both want the first place
    [3, 4, 0, 1, 2]
    """
    free, slots = list(range(1, n + 1)), []
    for target in sorted(targets.values()):
        at = bisect_left(free, target)
        if at == len(free) or (at > 0 and target - free[at - 1] <= free[at] - target):
            at -= 1
        slots.append(free.pop(at))
    # Places are found one after another, and given out in order: nobody overtakes on the way.
    movers = sorted(targets, key=lambda row: (targets[row], row))
    mover_at = dict(zip(sorted(slots), movers, strict=True))
    others = (row for row in range(n) if row not in targets)
    return [mover_at[slot] if slot in mover_at else next(others) for slot in range(1, n + 1)]


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
