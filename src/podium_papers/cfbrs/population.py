"""Four classes of users who look at different features: whom do rankings by class serve better?

A population on real features (MQ2008): each class owns a block of them and judges by it alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.data import Fold, RankingData
from podium.ensemble import CFBRS
from podium.errors import NotConvergedWarning
from podium.feedback import CLICK_CHANCES
from podium.metrics import evaluate
from podium.rankers import RankSVM, tune
from podium_papers.cfbrs.blocks import METRIC, Floats, mean
from podium_papers.outcomes import RankerOutcome

OWNED: Mapping[str, tuple[int, int]] = {
    "a": (10, 20), "b": (20, 28), "c": (28, 36), "d": (36, 46),
}  # fmt: skip
"""Class -> its features, from 0, of MQ2008's 46."""
NOISE = 0.1
BEST, GOOD = 0.1, 0.3
"""The share of a query's documents of grade 2, and of 1 or more."""

RANKERS = {
    "shared": "shared model, pooled labels",
    "pooled": "cfbrs, pooled blocks, class weights",
    "own": "cfbrs, class-trained blocks",
    "plain": "plain ranker on the class's data",
    "known-pooled": "knows the features, pooled labels",
    "known-own": "knows the features, class's data",
}
"""Every ranker, and what tables call it; the last two know which features a class looks at."""


@dataclass(frozen=True)
class LearningCase:
    """What rankers learn from: grades or clicks, of all training queries or a share of them."""

    name: str
    clicks: bool
    share: float


CASES = (
    LearningCase("grades", False, 1.0),
    LearningCase("grades, a tenth of the queries", False, 0.1),
    LearningCase("clicks", True, 1.0),
    LearningCase("clicks, a tenth of the queries", True, 0.1),
)


@dataclass(frozen=True)
class Personal:
    """NDCG@10 of a ranker on each class's own grades of all test queries, for one draw."""

    case: str
    seed: int
    ranker: str
    by_class: tuple[float, ...]
    temperatures: tuple[float | None, ...] = ()
    """None: the weights stay as they are, T is without bound."""

    @property
    def mean(self) -> float:
        """Over the classes."""
        return mean(self.by_class)


class JudgedByClass(NamedTuple):
    """Queries, each judged by one class, and every class's grades of all of them."""

    data: RankingData
    names: NDArray[np.str_]
    grades: Mapping[str, Floats]

    def of(self, name: str) -> RankingData:
        """The queries that a class judged."""
        return self.data.subset(np.flatnonzero(self.names == name))

    def share(self, share: float, rng: np.random.Generator) -> JudgedByClass:
        """Some of each class's queries, two at least."""
        mixed = rng.permutation(self.data.n_queries)
        own = [mixed[self.names[mixed] == name] for name in sorted(set(self.names.tolist()))]
        kept = np.sort(np.concatenate([q[: max(2, round(share * len(q)))] for q in own]))
        return JudgedByClass(self.data.subset(kept), self.names[kept], {})

    def clicked(self, rng: np.random.Generator) -> JudgedByClass:
        """Clicks instead of grades: 1 with the chance of the grade."""
        chance = np.array(CLICK_CHANCES)[self.data.y.astype(np.int64)]
        clicks = (rng.random(len(chance)) < chance).astype(np.float64)
        return self._replace(data=self.data.with_labels(clicks))


def population(
    fold: Fold, seed: int, owned: Mapping[str, tuple[int, int]] = OWNED
) -> tuple[JudgedByClass, JudgedByClass, JudgedByClass]:
    """Training, validation and test queries judged by classes of users.

    A class's utility is (x_block / sd) . v, v ~ N(0, I), with mean 0 and standard deviation 1, plus
    0.1 N(0, 1); of each query the best tenth has grade 2, the next fifth grade 1. Each query is
    judged by one class, drawn at random, all classes equally often.
    """
    rng = np.random.default_rng(seed)
    sd = fold.train.X.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    tastes = {name: rng.standard_normal(b - a) for name, (a, b) in owned.items()}

    def judged(data: RankingData) -> JudgedByClass:
        grades = {}
        for name, (a, b) in owned.items():
            utility = (data.X[:, a:b] / sd[a:b]) @ tastes[name]
            spread = utility.std() or 1.0
            utility = (utility - utility.mean()) / spread
            grades[name] = _graded(data, utility + NOISE * rng.standard_normal(len(data)))
        names = np.array(sorted(owned))[rng.permutation(data.n_queries) % len(owned)]
        row_names = data.groups.spread(names)
        y = np.select([row_names == name for name in owned], [grades[name] for name in owned])
        return JudgedByClass(data.with_labels(y), names, grades)

    train, valid, test = (judged(data) for data in fold)
    return train, valid, test


def _graded(data: RankingData, utility: Floats) -> Floats:
    """2 for the best tenth of each query, at least one; 1 for the next fifth."""
    places, n = data.groups.ranks(utility), data.groups.spread(data.groups.sizes)
    best = np.maximum(1, np.rint(BEST * n))
    good = np.maximum(best, np.rint(GOOD * n))
    return np.where(places <= best, 2.0, np.where(places <= good, 1.0, 0.0))


class SimulatedRun(NamedTuple):
    """One case of one draw: the means, and the value of each test query by ranker."""

    found: list[Personal]
    per_query: dict[str, tuple[float, ...]]


def run_case(
    fold: Fold, seed: int, case: LearningCase, *, min_block: int = 5,
    owned: Mapping[str, tuple[int, int]] = OWNED,
) -> SimulatedRun:  # fmt: skip
    """Every ranker: learned from what the case gives, tested on the classes' own grades.

    Each has C chosen on the validation queries that it may see; temperatures are chosen within the
    class's training queries. Validation queries are judged or clicked as the training queries are.
    """
    train, valid, test = population(fold, seed, owned)
    rng = np.random.default_rng([seed, 1])
    if case.clicks:
        train, valid = train.clicked(rng), valid.clicked(rng)
    if case.share < 1:
        train, valid = train.share(case.share, rng), valid.share(case.share, rng)
    personal, per_query = [], {}
    for ranker, (scores, temperatures) in _rankings(train, valid, test, min_block, owned).items():
        values = {
            name: np.nan_to_num(
                evaluate(test.data.with_labels(test.grades[name]), own, METRIC)[METRIC].per_query
            )
            for name, own in scores.items()
        }
        per_query[ranker] = tuple(np.mean(list(values.values()), axis=0).tolist())
        means = tuple(mean(v) for v in values.values())
        chosen_temperatures = tuple(float(t) if np.isfinite(t) else None for t in temperatures)
        personal.append(Personal(case.name, seed, ranker, means, chosen_temperatures))
    return SimulatedRun(personal, per_query)


Rankings = dict[str, tuple[dict[str, Floats], Sequence[float]]]


def _rankings(
    train: JudgedByClass,
    valid: JudgedByClass,
    test: JudgedByClass,
    min_block: int,
    owned: Mapping[str, tuple[int, int]],
) -> Rankings:
    """Ranker -> the scores of the test queries for each class, and the temperatures chosen."""
    data = test.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        shared = _tuned(train.data, valid.data)
        pooled = CFBRS(base=RankSVM(C=shared.C), min_block=min_block)
        pooled.fit(train.data, user_class=train.names)
        plain, own, known_pooled, known_own = {}, {}, {}, {}
        for name, features in owned.items():
            mine, check = train.of(name), valid.of(name)
            plain[name] = _tuned(mine, check)
            blocks = CFBRS(base=RankSVM(C=plain[name].C), min_block=min_block)
            own[name] = blocks.fit(mine, user_class=name)
            known_pooled[name] = _tuned(_cut(train.data, features), _cut(check, features))
            known_own[name] = _tuned(_cut(mine, features), _cut(check, features))

    def known(rankers: Mapping[str, RankSVM]) -> dict[str, Floats]:
        return {n: rankers[n].predict(_cut(data, features)) for n, features in owned.items()}

    return {
        "shared": (dict.fromkeys(owned, shared.predict(data)), ()),
        "pooled": (
            {n: pooled.predict(data, user_class=n) for n in owned},
            [row.temperature for row in pooled.classes_],
        ),
        "own": (
            {n: own[n].predict(data, user_class=n) for n in owned},
            [own[n].classes_[n].temperature for n in owned],
        ),
        "plain": ({n: plain[n].predict(data) for n in owned}, ()),
        "known-pooled": (known(known_pooled), ()),
        "known-own": (known(known_own), ()),
    }


def _tuned(train: RankingData, valid: RankingData) -> RankSVM:
    """Ranking SVM, C chosen on validation queries."""
    ranker = tune(RankSVM(), train, valid, METRIC).ranker
    assert isinstance(ranker, RankSVM)
    return ranker


def _cut(data: RankingData, features: tuple[int, int]) -> RankingData:
    return data.with_features(data.X[:, slice(*features)])


def outcome(case: str, runs: Sequence[SimulatedRun]) -> list[RankerOutcome]:
    """Each ranker's value of each test query, in the mean over classes and draws."""
    return [
        RankerOutcome(case, "", ranker, {METRIC: tuple(np.mean(
            [run.per_query[ranker] for run in runs], axis=0).tolist())}, {}, {})
        for ranker in RANKERS
    ]  # fmt: skip
