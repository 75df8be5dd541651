"""Conditions: 10,000 rules in a store, of which five apply, next to these five rules alone."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

from benchmarks.measure import Contender, Report, slowdown
from podium.postranking import NotTopK, Rule, RuleStore, TopK, postrank

N_STORED, N_DOCUMENTS, N_CALLS = 10_000, 100, 20
MAX_RATIO = 1.3
"""How many times as long as five rules alone a store may take."""
FIVE = (
    TopK("d50", 10, when={"device": "mobile"}), NotTopK("d3", 5, when={"device": "mobile"}),
    TopK("d70", 20, when={"device": "mobile"}), NotTopK("d1", 3, when={"device": "mobile"}),
    TopK("d90", 30, when={"device": "mobile"}),
)  # fmt: skip
CONTEXT = {"device": "mobile", "price": 5, "time": "2026-11-21T23:30:00+00:00"}
LETTERS = "eeeeeeetttttaaaaoooiiinnnssshhrrrddlllcuummwwffggyyppbbvk"
"""Letters about as often as in English."""


def measure_conditions(report: Report, n_calls: int) -> None:
    """Measure lists under rules of each kind of condition."""
    rng = random.Random(1)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(4, 10))) for _ in range(3_000)]
    queries = [" ".join(rng.choices(words, k=3)) for _ in range(n_calls)]
    alone = RuleStore(FIVE)
    for name, make_when in _kinds(rng, words).items():
        others = [_rule(n, make_when(n)) for n in range(N_STORED - len(FIVE))]
        store = RuleStore([*others, *FIVE])
        store.build_index()
        contenders = [_calls(f"{name}, {len(own):,}", own, queries) for own in (store, alone)]
        timings = report.time_in_turn(contenders)
        ours, theirs = (timings[contender.name] for contender in contenders)
        what = f"{n_calls} lists of {N_DOCUMENTS}, {N_STORED:,} rules with conditions ({name}), five apply"
        report.rows.append(slowdown(what, ours, theirs, at_most=MAX_RATIO))
    report.notes.append("Conditions: queries are three words of 4 to 10 letters, of 3,000 words.")


def _rule(n: int, when: dict[str, Any] | None) -> Rule:
    if when is None:
        return TopK(
            f"d{n % 100}", 10, starts=datetime.date(2100, 1, 1) + datetime.timedelta(n % 300)
        )
    return TopK(f"d{n % 100}", 10, when=when)


def _kinds(rng: random.Random, words: list[str]) -> dict[str, Callable[[int], Any]]:
    """Return conditions of each kind that requests do not meet, or very few."""

    def two() -> str:
        return " ".join(rng.choices(words, k=2))

    days = ("monday", "tuesday", "wednesday", "thursday", "friday")
    return {
        "query": lambda n: {"query": f"{two()} {n}"},
        "stemmed words": lambda n: {"query": {"words": two(), "stem": "english"}},
        "pattern": lambda n: {"query": {"glob": f"*{two()}*"}},
        "1 edit": lambda n: {"query": {"words": two(), "edits": 1}},
        "2 edits": lambda n: {"query": {"words": two(), "edits": 2, "stem": "english"}},
        "category and device": lambda n: {"category": f"c{n % 500}", "device": "tablet"},
        "any": lambda n: {"any": [{"locale": f"l{n}"}, {"segment": f"s{n}"}]},
        "times": lambda n: {
            "time": {"hours": f"{n % 22:02}:00 to {n % 22:02}:{1 + n % 58:02}", "days": days[n % 5]}
        },
        "numbers": lambda n: {"price": {"at-least": 1000 + n, "at-most": 1001 + n}},
        "not a device": lambda n: {"not": {"device": "mobile"}},
        "not a number": lambda n: {"not": {"price": {"at-most": 50 + n}}},
        "dates": lambda n: None,
    }


def _calls(name: str, store: RuleStore, queries: list[str]) -> Contender:
    docs = [f"d{at}" for at in range(N_DOCUMENTS)]

    def call() -> None:
        for query in queries:
            postrank(docs, store, query=query, context=CONTEXT, explain=False)

    return Contender(name, call)
