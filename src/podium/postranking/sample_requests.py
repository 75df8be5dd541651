"""Sample requests for a trial of rules: queries and contexts that meet the conditions of rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

from podium.errors import UsageError
from podium.postranking.rules.context_values import QUERY, ContextValues, read_context
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.rules.request_conditions import merge_examples
from podium.postranking.rules.rule import Rule

MAX_PAIRED_RULES = 60
"""The largest number of hard rules with conditions of which every two are tried together."""


class TrialRequest(NamedTuple):
    """The query and the values of a request."""

    query: str
    values: ContextValues


def sample_requests(rules: Sequence[Rule]) -> list[TrialRequest]:
    """Return a request that no condition names, and requests for each rule and for pairs of rules.

    A pair is two hard rules with conditions that one request may meet.

    Examples
    --------
    >>> from podium.postranking import Hide
    >>> rules = [Hide("a", query="Chess"), Hide("b", when={"device": "mobile"})]
    >>> [(sample.query, sample.values.texts.get("device")) for sample in sample_requests(rules)]
    [('', None), ('chess', None), ('', ('mobile',))]
    """
    samples: dict[str, TrialRequest] = {}
    for example in _examples(rules):
        rest = {name: value for name, value in example.items() if name != QUERY}
        query = normalise_query(str(example.get(QUERY, "")))
        try:
            values = read_context(rest, query)
        except UsageError:
            continue  # a name such as a.b.c may have no context of its own
        samples.setdefault(repr((query, rest)), TrialRequest(query, values))
    return list(samples.values())


def example_request(rules: Sequence[Rule]) -> dict[str, Any] | None:
    """Return the example of a request for which rules are on; None if none is known."""
    merged = merge_examples([r.condition.example() for r in rules if r.condition is not None])
    for rule in rules:
        text = rule.query or rule.pattern
        if merged is not None and text:
            merged = merged | {QUERY: text}
    return merged


def _examples(rules: Sequence[Rule]) -> Iterator[dict[str, Any]]:
    yield {}
    for rule in rules:
        if rule.query or rule.pattern:
            yield {QUERY: rule.query or rule.pattern}
    conditioned = [rule for rule in rules if rule.condition is not None]
    for rule in conditioned:
        yield example_request([rule]) or {}
    hard = islice((rule for rule in conditioned if rule.hard), MAX_PAIRED_RULES)
    for pair in combinations(hard, 2):
        yield example_request(pair) or {}
