"""The strength of hard rules: which one gives way if they contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from podium.postranking.conflicts import rule_sort_key
from podium.postranking.rules.placing_kinds import Insert
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.rule_kinds import Hide, Pin
from podium.postranking.settings import DEFAULT_CLASSES

YieldReason = Literal["class", "priority", "pin", "name"]
"""Why a rule gives way: its class or priority, a pin against a hide, or a name that sorts last."""
YIELD_TEXTS: dict[YieldReason, str] = {
    "class": "its class is the weakest",
    "priority": "its priority is the lowest",
    "pin": "a pin gives way to a hide",
    "name": "its name sorts last",
}
"""Each reason in words."""


@dataclass(frozen=True)
class StrengthOrder:
    """The order of rules by strength: by class, by priority, a hide before a pin, then by label.

    Parameters
    ----------
    classes
        The classes of rules, the strongest first. A rule without a class, or with another one, is
        weaker than all of these.

    Examples
    --------
    >>> rules = [Pin("a", 1, class_="campaign", priority=9), Hide("a", class_="stock")]
    >>> StrengthOrder().find_weakest(rules)
    (0, 'class')
    """

    classes: tuple[str, ...] = DEFAULT_CLASSES

    def sort_key(self, rule: Rule) -> tuple[object, ...]:
        """Return a key; smaller is stronger."""
        return *self._level(rule), rule.label, *rule_sort_key(rule)

    def beats(self, rule: Rule, hide: Rule) -> bool:
        """Whether a rule is stronger than one that hides."""
        if isinstance(rule, Pin | Insert) and self._level(rule) == self._level(hide):
            return False
        return self.sort_key(rule) < self.sort_key(hide)

    def find_weakest(self, rules: Sequence[Rule]) -> tuple[int, YieldReason]:
        """Return the index of the rule of a minimal conflict that gives way, and why it does."""
        ranked = sorted(range(len(rules)), key=lambda at: self.sort_key(rules[at]))
        hides = [at for at in ranked if isinstance(rules[at], Hide)]
        others = [at for at in ranked if at not in hides]
        weakest = others[-1] if others else hides[-1]
        beaten = [
            hide for hide in hides if hide != weakest and self.beats(rules[weakest], rules[hide])
        ]
        loser = beaten[-1] if beaten else weakest
        return loser, self._reason(rules[loser], rules)

    def _reason(self, loser: Rule, rules: Sequence[Rule]) -> YieldReason:
        own_class, own_level = self._class_level(loser), self._level(loser)
        if len(rules) > 1 and sum(self._class_level(rule) == own_class for rule in rules) == 1:
            return "class"
        equals = [rule for rule in rules if self._level(rule) == own_level]
        if len(equals) == 1 < len(rules):
            return "priority"
        if isinstance(loser, Pin | Insert) and any(isinstance(rule, Hide) for rule in equals):
            return "pin"
        return "name"

    def _class_level(self, rule: Rule) -> int:
        return self.classes.index(rule.class_) if rule.class_ in self.classes else len(self.classes)

    def _level(self, rule: Rule) -> tuple[int, int]:
        return self._class_level(rule), -rule.priority
