"""The cost of rules: what each rule, and all together, change in lists, quality, clicks and money."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import Run
from podium.errors import UsageError
from podium.html_tables import html_table
from podium.metrics import Interval, bootstrap_interval
from podium.postranking.batch import PostRankedRun, postrank_batch
from podium.postranking.list_figures import JUDGED, ListFigures
from podium.postranking.result import PostRanking
from podium.postranking.rule_check import unknown_findings
from podium.postranking.rule_trial import TrialProgress
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.selectors import Where
from podium.postranking.settings import check_rules
from podium.typing import Document, Floats

RuledLists = Mapping[str, PostRanking]
"""Lists after rules, by query."""

MIN_LISTS = 2
"""The fewest lists with a figure that have an interval."""


@dataclass(frozen=True)
class Change:
    """What rules change in a figure: its mean with them minus its mean without, over judged lists."""

    mean: float
    interval: Interval | None
    lists: int

    @classmethod
    def between(cls, after: Floats, before: Floats, weight: Floats, resamples: int) -> Change:
        """Return the change over lists; lists without a value are left out."""
        differences = after - before
        has_value = ~np.isnan(differences) & (weight > 0)
        n = int(has_value.sum())
        if not n:
            return cls(np.nan, None, 0)
        mean = float(np.average(differences[has_value], weights=weight[has_value]))
        interval = None
        if n >= MIN_LISTS:
            interval = bootstrap_interval(differences, weight=weight, resamples=resamples)
        return cls(mean, interval, n)


@dataclass(frozen=True)
class ListChanges:
    """What rules change in lists: in how many, how many documents of the first k, and each figure.

    `lists` is the number of lists on which the rules acted, `changed` of those with other first k
    documents than without them, and `moved` of the documents there that they move, bring in or take
    out.
    """

    lists: int
    changed: int
    moved: int
    figures: Mapping[str, Change]


@dataclass(frozen=True)
class RuleCost:
    """What a rule changes on the lists on which it acts, while the other rules stay.

    `fights` are rules that would hold without this one, and on how many lists. `note` says why it
    never acted.
    """

    rule: Rule
    changes: ListChanges
    fights: tuple[tuple[Rule, int], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class RuleCostReport:
    """The cost of rules on the lists of a run.

    Parameters
    ----------
    total
        What all rules change together, over all lists.
    rules
        What each rule changes, in the order of the rules.
    outdated
        The rules that name documents, fields or values which the catalogue does not have, and what
        is missing.
    queries
        The number of lists.
    k
        The number of first places that count.
    judged
        The share of judged documents among the first k, without and with the rules; NaN without
        judgments.
    """

    total: ListChanges
    rules: tuple[RuleCost, ...]
    outdated: tuple[tuple[Rule, str], ...]
    queries: int
    k: int
    judged: tuple[float, float]

    @property
    def unused(self) -> tuple[RuleCost, ...]:
        """The rules that never acted."""
        return tuple(cost for cost in self.rules if not cost.changes.lists)

    def __repr__(self) -> str:
        changes = "".join(
            f", {name} {change.mean:+.4f}"
            for name, change in self.total.figures.items()
            if change.lists
        )
        return (
            f"RuleCostReport({len(self.rules):,} rules, {len(self.unused):,} never acted, "
            f"{self.total.changed:,} of {self.queries:,} lists changed{changes})"
        )

    def _repr_html_(self) -> str:
        """Return the costs as a table for notebooks."""
        names = tuple(self.total.figures)
        rows = [("all rules", self.total, "")]
        rows += [(cost.rule.label, cost.changes, cost.note) for cost in self.rules]

        def cells(i: int) -> tuple[object, ...]:
            label, changes, note = rows[i]
            means = (changes.figures[name].mean for name in names)
            return (label, changes.lists, changes.changed, changes.moved, *means, note)

        headers = ("rule", "lists", "changed", "documents moved", *names, "note")
        title = f"Cost of {len(self.rules):,} rules on {self.queries:,} lists"
        return html_table(title, headers, len(rows), cells)


def rule_costs(
    run: Run,
    rules: Iterable[Rule],
    figures: ListFigures | None = None,
    *,
    k: int = 10,
    traffic: Mapping[str, float] | None = None,
    resamples: int = 10_000,
    progress: TrialProgress = lambda done, total: None,
    **settings: Any,
) -> RuleCostReport:
    """Return what each rule of a set changes on the lists of a run, while the other rules stay.

    For a rule R of the set S, a figure f and the lists L on which R acts, the cost is the mean over
    L of f(lists under S) - f(lists under S without R), with a bootstrap interval over queries. Hard
    rules that contradict each other give way, as when they are served.

    Parameters
    ----------
    run
        The lists before the rules.
    rules
        The rules.
    figures
        What is measured, and the judgments it is measured by; None: only which documents move.
    k
        The number of first places that count, without `figures`.
    traffic
        How often each query is searched, as weights of means; 1 by default, and 0 for queries that
        are not in it.
    resamples
        The number of resamples of the intervals.
    progress
        Called with the number of rules done, and of all rules.
    settings
        Other settings of `postrank_batch`, by name, such as ``queries``, ``fields`` and ``today``.

    Examples
    --------
    >>> from podium.data import Qrels, make_synthetic
    >>> from podium.postranking import NotTopK
    >>> data = make_synthetic(n_queries=30, seed=0)
    >>> run = Run.from_scores(data, data.truth(data.X))
    >>> bury = [NotTopK(run.docids[0], 10, hard=True)]
    >>> report = rule_costs(run, bury, ListFigures(Qrels.from_data(data)))
    >>> report.total.lists, report.rules[0].changes.figures["NDCG@10"].mean < 0
    (1, True)
    """
    if not isinstance(run, Run):
        raise UsageError(f"expected a Run, got {type(run).__name__}; podium.read_run reads one")
    study = _CostStudy(
        run, _distinct(rules), figures, k if figures is None else figures.k, traffic, resamples,
        progress, {"conflicts": "yield", **settings, "explain": False},
    )  # fmt: skip
    return study.report()


@dataclass(frozen=True, eq=False)
class _CostStudy:
    """A run and rules, whose lists are compared with and without each rule."""

    run: Run
    rules: tuple[Rule, ...]
    figures: ListFigures | None
    k: int
    traffic: Mapping[str, float] | None
    resamples: int
    progress: TrialProgress
    settings: Mapping[str, Any]

    def report(self) -> RuleCostReport:
        """Return the costs of all rules."""
        everything = self._postrank(self.run, self.rules)
        original = self._postrank(self.run, ())
        # Rules may be equal, so they are told apart by identity.
        numbers = {id(rule): number for number, rule in enumerate(self.rules)}
        lists_of_rule: dict[int, list[str]] = defaultdict(list)
        for qid, result in everything.items():
            for outcome in result.rules:
                lists_of_rule[numbers[id(outcome.rule)]].append(qid)
        costs = []
        for number in range(len(self.rules)):
            costs.append(self._cost(number, lists_of_rule[number], everything))
            self.progress(number + 1, len(self.rules))
        n_acted = sum(map(_any_acted, everything.values()))
        total = self._compare(n_acted, everything, original)
        judged = (np.nan, np.nan)
        if self.figures is not None:
            before, after = (
                self.figures.measure(_orders(lists))[JUDGED] for lists in (original, everything)
            )
            judged = (_mean(before), _mean(after))
        return RuleCostReport(
            total, tuple(costs), self._outdated(), len(everything), self.k, judged
        )

    def _postrank(self, run: Run, rules: Sequence[Rule]) -> PostRankedRun:
        fields = self.settings.get("fields") if rules else None  # no rule, no unknown field
        settings = {**self.settings, "fields": fields}
        return postrank_batch(run, rules, **settings)

    def _cost(self, number: int, qids: Sequence[str], everything: PostRankedRun) -> RuleCost:
        """Return what a rule changes on the lists that it is for."""
        rule, note = self.rules[number], everything.rules[number].note
        own = {qid: everything[qid] for qid in qids if _acted(rule, everything[qid])}
        if not own:
            return RuleCost(rule, self._compare(0, {}, {}), (), note)
        near = {id(outcome.rule) for result in own.values() for outcome in result.rules}
        others = [other for other in self.rules if id(other) in near and other is not rule]
        without = self._postrank(self.run.select(own), others)
        return RuleCost(rule, self._compare(len(own), own, without), _fights(own, without))

    def _compare(self, n_acted: int, after: RuledLists, before: RuledLists) -> ListChanges:
        """Return what changes from the lists before to the lists after."""
        moved = [self._moved(after[qid].order, before[qid].order) for qid in after]
        return ListChanges(
            n_acted, sum(n > 0 for n in moved), sum(moved), self._changes(after, before)
        )

    def _moved(self, after: Sequence[Document], before: Sequence[Document]) -> int:
        """Return how many documents have another place among the first k, on either side."""
        places = {doc: place for place, doc in enumerate(before[: self.k])}
        new_places = {doc: place for place, doc in enumerate(after[: self.k])}
        return sum(places.get(doc) != new_places.get(doc) for doc in {*places, *new_places})

    def _changes(self, after: RuledLists, before: RuledLists) -> dict[str, Change]:
        if self.figures is None:
            return {}
        weight = np.array([1.0 if self.traffic is None else self.traffic.get(q, 0) for q in after])
        new = self.figures.measure(_orders(after))
        old = self.figures.measure(_orders({qid: before[qid] for qid in after}))
        return {
            name: Change.between(new[name], old[name], weight, self.resamples)
            for name in self.figures.names
        }

    def _outdated(self) -> tuple[tuple[Rule, str], ...]:
        """Return the rules that the catalogue does not match any more."""
        fields = self.settings.get("fields")
        if fields is None:
            return ()
        problems = [
            (self.rules[number], finding.message)
            for finding in unknown_findings(self.rules, fields)
            for number in finding.rules
        ]
        problems += [
            (rule, f"no document of the catalogue meets {selector.condition}")
            for rule in self.rules
            for selector in rule.selectors
            if isinstance(selector, Where) and not any(map(selector.meets, fields.values()))
        ]
        return tuple(problems)


def _distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules, with a copy for each repeat of the same object: results tell rules by identity."""
    used: set[int] = set()
    own = []
    for rule in check_rules(rules):
        own.append(copy(rule) if id(rule) in used else rule)
        used.add(id(rule))
    return tuple(own)


def _fights(after: RuledLists, before: RuledLists) -> tuple[tuple[Rule, int], ...]:
    """Return the rules that hold before and not after, and on how many lists, the most first."""
    lists: Counter[int] = Counter()
    rules: dict[int, Rule] = {}
    for qid, result in after.items():
        satisfied = {id(outcome.rule): outcome.satisfied for outcome in result.rules}
        for outcome in before[qid].rules:
            if outcome.satisfied and not satisfied[id(outcome.rule)]:
                lists[id(outcome.rule)] += 1
                rules[id(outcome.rule)] = outcome.rule
    return tuple((rules[key], n) for key, n in lists.most_common())


def _acted(rule: Rule, result: PostRanking) -> bool:
    return any(outcome.rule is rule and outcome.acted for outcome in result.rules)


def _any_acted(result: PostRanking) -> bool:
    return any(outcome.acted for outcome in result.rules)


def _orders(lists: RuledLists) -> dict[str, tuple[Document, ...]]:
    return {qid: result.order for qid, result in lists.items()}


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else np.nan
