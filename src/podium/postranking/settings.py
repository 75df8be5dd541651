"""Settings of post-ranking, and the checks of rules and of the day."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from podium.errors import UnknownNameError, UsageError
from podium.postranking.methods.bradley_terry import BradleyTerry
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Method
from podium.postranking.number_input import is_number
from podium.postranking.places.placement import SEARCH_LIMIT
from podium.postranking.rules.field_conditions import short_repr
from podium.postranking.rules.rule import Rule

MissingDocuments = Literal["error", "report"]
Conflicts = Literal["error", "yield"]
CHOICES: dict[str, tuple[str, ...]] = {
    "base": get_args(Base),
    "pairs": get_args(Pairs),
    "scale": get_args(Scale),
    "missing": get_args(MissingDocuments),
    "conflicts": get_args(Conflicts),
}
"""The choices of each setting that is a word."""


DEFAULT_CLASSES = ("legal", "stock", "campaign")
"""The classes of rules, the strongest first."""
MAX_CLASSES = 20
"""The largest number of classes."""
MAX_PRIOR = 1e9
"""The largest prior; above it, only the prior would count."""


@dataclass(frozen=True)
class Settings:
    """The settings of post-ranking; see `postrank`."""

    prior: float = 0.1
    base: Base = "uniform"
    pairs: Pairs = "without"
    scale: Scale = "rule"
    method: Method = field(default_factory=BradleyTerry)
    missing: MissingDocuments = "error"
    conflicts: Conflicts = "error"
    limit: int = SEARCH_LIMIT
    classes: tuple[str, ...] = DEFAULT_CLASSES

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise UnknownNameError(name, str(getattr(self, name)), choices)
        if not is_number(self.prior) or not 0 <= self.prior <= MAX_PRIOR:
            raise UsageError(
                f"expected a prior of 0 to {MAX_PRIOR:g}, got {short_repr(self.prior)}"
            )
        object.__setattr__(self, "classes", check_classes(self.classes))
        if type(self.limit) is not int or self.limit < 1:
            raise UsageError(f"expected a limit of 1 step or more, got {short_repr(self.limit)}")


def check_classes(classes: Iterable[str]) -> tuple[str, ...]:
    """Return classes of rules as a tuple; raise `UsageError` if they are not different words.

    Examples
    --------
    >>> check_classes(["legal", "stock"])
    ('legal', 'stock')
    """
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise UsageError(
            f"expected classes as a list, the strongest first, got {short_repr(classes)}"
        )
    listed = tuple(classes)
    for class_ in listed:
        if not isinstance(class_, str) or not class_:
            raise UsageError(f"expected words as classes, got {short_repr(class_)}")
    if len(set(listed)) < len(listed) or len(listed) > MAX_CLASSES:
        raise UsageError(
            f"expected at most {MAX_CLASSES} different classes, got {short_repr(list(listed))}"
        )
    return listed


def check_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules as a tuple; raise `UsageError` if one is not a rule."""
    if isinstance(rules, Rule | str) or not isinstance(rules, Iterable):
        hint = "; read_rules('rules.yaml') reads a rule file" if isinstance(rules, str) else ""
        raise UsageError(f"expected a list of rules, got {rules!r}{hint}")
    listed = tuple(rules)
    for rule in listed:
        if not isinstance(rule, Rule):
            raise UsageError(f"expected rules, such as TopK('a', 3), got {rule!r}")
    return listed


def check_day(today: datetime.date | None) -> datetime.date:
    """Return the day, or today if it is None."""
    if today is None:
        return datetime.date.today()
    if isinstance(today, datetime.datetime):
        return today.date()
    if not isinstance(today, datetime.date):
        raise UsageError(f"expected today to be a datetime.date, got {today!r}")
    return today


def check_query(query: str | None) -> str | None:
    """Return the text of a query; raise `UsageError` if it is something else."""
    if query is not None and not isinstance(query, str):
        raise UsageError(f"expected the text of a query, got {query!r}")
    return query
