"""Baselines Radical, Moderate, Conservative and Proportional (Wu et al., section 5.1).

Each moves the documents that rules name to a target place, which is computed on the original list. All
other documents keep their order.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from podium.errors import UnknownNameError, UsageError
from podium.postranking.methods.problem import Method, PostRankingProblem, Solution, descending
from podium.postranking.rules.rule import BoundRule, Rule
from podium.postranking.rules.rule_kinds import NotTopK, TopK

Occasion = Literal["always", "violated"]
WHEN_CHOICES: tuple[Occasion, ...] = ("always", "violated")


@dataclass(frozen=True)
class Baseline(Method):
    """A baseline: the target place of a document depends on its rule, its place and the length of the list.

    Baselines take soft `TopK` and `NotTopK` only. Weights do not count, except that a rule of
    weight 0 is ignored. A k beyond the end of the list counts as its end. A document with several
    rules goes to the mean of their places. Documents with the same target stand around it in their
    original order.

    Parameters
    ----------
    when
        ``always``: every document with a rule is moved, as in the paper; ``violated``: only
        documents that do not meet their rule are moved.
    """

    when: Occasion = "always"

    def __post_init__(self) -> None:
        if self.when not in WHEN_CHOICES:
            raise UnknownNameError("time to move a document", str(self.when), WHEN_CHOICES)

    @abstractmethod
    def promotion_target(self, place: int, k: int, n: int) -> int:
        """Return the target of a document at this place that belongs in the top k of n."""

    @abstractmethod
    def demotion_target(self, place: int, k: int, n: int) -> int:
        """Return the target of a document at this place that does not belong in the top k of n."""

    def solve(self, problems: Sequence[PostRankingProblem]) -> list[Solution]:
        """Return scores n..1 of each list with its documents moved."""
        return [
            Solution(descending(fill_places(self._targets(problem), problem.n)))
            for problem in problems
        ]

    def takes(self, rule: Rule) -> bool:
        """Whether the rule is a TopK or NotTopK."""
        return isinstance(rule, TopK | NotTopK)

    def _targets(self, problem: PostRankingProblem) -> dict[int, int]:
        """Return the target of each row that moves."""
        targets: dict[int, list[int]] = {}
        for bound_rule in problem.rules:
            if bound_rule.rule.weight > 0:
                for row, target in self._moves(bound_rule, problem.n):
                    targets.setdefault(row, []).append(target)
        # Halves go down.
        return {row: (2 * sum(t) + len(t)) // (2 * len(t)) for row, t in targets.items()}

    def _moves(self, bound_rule: BoundRule, n: int) -> list[tuple[int, int]]:
        rule = bound_rule.rule
        if not isinstance(rule, TopK | NotTopK):
            raise UsageError(
                f"{self.name} takes only TopK and NotTopK as soft rules, got "
                f"{rule}; make it hard or use another method"
            )
        k, up = min(rule.k, n), isinstance(rule, TopK)
        move = self.promotion_target if up else self.demotion_target
        return [
            (row, min(move(row + 1, k, n), n))
            for row in bound_rule.rows
            if self.when == "always" or (row >= k) == up
        ]


@dataclass(frozen=True)
class Radical(Baseline):
    """Radical: to the first place, or to the last.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="radical"))
    'eacdfb'
    """

    name: ClassVar[str] = "radical"

    def promotion_target(self, place: int, k: int, n: int) -> int:
        """Return 1."""
        return 1

    def demotion_target(self, place: int, k: int, n: int) -> int:
        """Return n."""
        return n


@dataclass(frozen=True)
class Moderate(Baseline):
    """Moderate: to the middle of the top k, or of the rest: ceil(k / 2), or k + ceil((n - k) / 2).

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="moderate"))
    'aecdbf'
    """

    name: ClassVar[str] = "moderate"

    def promotion_target(self, place: int, k: int, n: int) -> int:
        """Return the middle of 1..k, the upper one of two."""
        return _ceil(k, 2)

    def demotion_target(self, place: int, k: int, n: int) -> int:
        """Return the middle of k + 1..n, the upper one of two."""
        return k + _ceil(n - k, 2)


@dataclass(frozen=True)
class Conservative(Baseline):
    """Conservative: only as far as the rule requires, to k or k + 1.

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="conservative"))
    'acebdf'
    """

    name: ClassVar[str] = "conservative"

    def promotion_target(self, place: int, k: int, n: int) -> int:
        """Return k."""
        return k

    def demotion_target(self, place: int, k: int, n: int) -> int:
        """Return k + 1."""
        return k + 1


@dataclass(frozen=True)
class Proportional(Baseline):
    """Proportional: as far into the top k, or into the rest, as the document was into the list.

    ceil(k place / n), or ceil(k + place (1 - k / n)).

    Examples
    --------
    >>> from podium.postranking import NotTopK, TopK, postrank
    >>> "".join(postrank(list("abcdef"), [TopK("e", 3), NotTopK("b", 3)], method="proportional"))
    'acebdf'
    """

    name: ClassVar[str] = "proportional"

    def promotion_target(self, place: int, k: int, n: int) -> int:
        """Return ceil(k place / n)."""
        return _ceil(k * place, n)

    def demotion_target(self, place: int, k: int, n: int) -> int:
        """Return ceil(k + place (1 - k / n)), in whole numbers, so that rounding does not move documents."""
        return k + _ceil(place * (n - k), n)


def fill_places(targets: Mapping[int, int], n: int) -> list[int]:
    """Return rows best first: moved rows at the free places nearest to their targets, the others in order.

    If two places are equally near, the higher one is taken.

    Examples
    --------
    >>> fill_places({4: 1, 0: 3}, 5)
    [4, 1, 0, 2, 3]
    >>> fill_places({3: 1, 4: 1}, 5)  # both want the first place
    [3, 4, 0, 1, 2]
    """
    free, slots = list(range(1, n + 1)), []
    for target in sorted(targets.values()):
        at = bisect_left(free, target)
        if at == len(free) or (at > 0 and target - free[at - 1] <= free[at] - target):
            at -= 1
        slots.append(free.pop(at))
    # Places are chosen one by one but assigned in order, so that no row overtakes another.
    movers = sorted(targets, key=lambda row: (targets[row], row))
    mover_at = dict(zip(sorted(slots), movers, strict=True))
    others = (row for row in range(n) if row not in targets)
    return [mover_at[slot] if slot in mover_at else next(others) for slot in range(1, n + 1)]


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
