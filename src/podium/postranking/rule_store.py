"""`RuleStore`: many rules, of which a request needs only those whose conditions it meets."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from functools import cached_property

from podium.postranking.condition_index import ConditionIndex
from podium.postranking.rules.context_values import ContextValues
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import check_rules


class RuleStore:
    """Rules with an index of their conditions, for many requests.

    `postrank` takes it in the place of rules. The result then has only the rules that are on.

    Parameters
    ----------
    rules
        The rules; their order does not matter.

    Examples
    --------
    >>> from podium.postranking import Hide, postrank
    >>> store = RuleStore([Hide("a", hard=True, when={"device": "mobile"}), Hide("b", query="chess")])
    >>> len(store), postrank(["a", "b"], store, context={"device": "mobile"})
    (2, PostRanking(['b'], 1 of 1 rule holds, 0 pairs reversed))
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = check_rules(rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @cached_property
    def index(self) -> ConditionIndex:
        """The index of the conditions, made when it is first needed."""
        return ConditionIndex(self.rules, has_days=True)

    def build_index(self) -> None:
        """Make the index now: of many rules it takes a second."""
        assert self.index is not None

    def active_numbers(
        self, query: str | None, today: datetime.date, values: ContextValues
    ) -> list[int]:
        """Return the numbers of the rules that are on for a request on a day."""
        rules = self.rules
        return [
            number
            for number in self.index.candidates(values, today)
            if not rules[number].reason_off(query, today, values)
        ]
