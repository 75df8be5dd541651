"""`RuleRequest`: what a request says that the conditions of rules read."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podium.postranking.rules.context_values import ContextValues, read_context
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import check_day, check_query


@dataclass(frozen=True)
class RuleRequest:
    """A request as the conditions of rules read it; `read_request` makes one.

    Parameters
    ----------
    query
        The text of the query.
    day
        The day for rules with dates.
    values
        The values of the context, by name.
    """

    query: str | None
    day: datetime.date
    values: ContextValues

    def reason_off(self, rule: Rule) -> str:
        """Return why a rule is off for the request, empty if it is on."""
        return rule.reason_off(self.query, self.day, self.values)


def read_request(
    query: str | None = None,
    context: Mapping[str, Any] | None = None,
    today: datetime.date | None = None,
) -> RuleRequest:
    """Return a request for rules; raise `UsageError` if its query, context or day is wrong.

    Parameters
    ----------
    query, context, today
        As `postrank` takes them. The day is `today`, else that of the context's ``time``, else today's.

    Examples
    --------
    >>> from podium.postranking import Hide
    >>> request = read_request("chess clock", {"device": "mobile", "time": "2026-11-19T12:00:00+00:00"})
    >>> request.day.isoformat(), request.reason_off(Hide("a", when={"device": "mobile"}))
    ('2026-11-19', '')
    """
    own_day = None if today is None else check_day(today)
    values = read_context(context, check_query(query), own_day)
    return RuleRequest(query, own_day or check_day(values.day), values)
