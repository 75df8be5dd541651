"""Classes of users who look at different features, and the rankers that serve them.

The population is generated on real features (MQ2008): each class judges by a block of features of its own.
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
from podium.typing import Floats
from podium_papers.cfbrs.fitted_blocks import METRIC, mean
from podium_papers.comparisons import RankerScores

ClassFeatures = Mapping[str, tuple[int, int]]
"""Class of users -> the first of its features, and the end."""
CLASS_FEATURES: ClassFeatures = {
    "a": (10, 20), "b": (20, 28), "c": (28, 36), "d": (36, 46),
}  # fmt: skip
"""Features of each class, from 0, of MQ2008's 46."""
GRADE_NOISE_SD = 0.1
BEST_SHARE, GOOD_SHARE = 0.1, 0.3
"""Shares of a query's documents that have grade 2, and grade 1 or more."""

RANKERS = {
    "shared": "shared model, pooled labels",
    "pooled": "cfbrs, pooled blocks, class weights",
    "own": "cfbrs, class-trained blocks",
    "plain": "plain ranker on the class's data",
    "known-pooled": "knows the features, pooled labels",
    "known-own": "knows the features, class's data",
}
"""Every ranker, and its name in tables; the last two know which features a class looks at."""


@dataclass(frozen=True)
class LearningCase:
    """Data that rankers learn from: grades or clicks, of all training queries or a share of them."""

    name: str
    clicks: bool
    share: float


LEARNING_CASES = (
    LearningCase("grades", False, 1.0),
    LearningCase("grades, a tenth of the queries", False, 0.1),
    LearningCase("clicks", True, 1.0),
    LearningCase("clicks, a tenth of the queries", True, 0.1),
)


@dataclass(frozen=True)
class ClassScores:
    """NDCG@10 of a ranker on each class's own grades of all test queries, for one draw."""

    case: str
    seed: int
    ranker: str
    by_class: tuple[float, ...]
    temperatures: tuple[float | None, ...] = ()
    """None means that T has no bound: the weights stay unchanged."""

    @property
    def mean(self) -> float:
        """Mean over the classes."""
        return mean(self.by_class)


class ClassJudgments(NamedTuple):
    """Queries that are judged by one class each, and the grades that every class would give."""

    data: RankingData
    names: NDArray[np.str_]
    grades: Mapping[str, Floats]

    def of(self, name: str) -> RankingData:
        """Return the queries that a class judged."""
        return self.data.subset(np.flatnonzero(self.names == name))

    def share(self, share: float, rng: np.random.Generator) -> ClassJudgments:
        """Draw a share of each class's queries, at least two."""
        shuffled = rng.permutation(self.data.n_queries)
        class_queries = [
            shuffled[self.names[shuffled] == name] for name in sorted(set(self.names.tolist()))
        ]
        chosen = np.sort(
            np.concatenate([q[: max(2, round(share * len(q)))] for q in class_queries])
        )
        return ClassJudgments(self.data.subset(chosen), self.names[chosen], {})

    def with_clicks(self, rng: np.random.Generator) -> ClassJudgments:
        """Replace grades by clicks: 1 with the chance that the grade has."""
        chance = np.array(CLICK_CHANCES)[self.data.y.astype(np.int64)]
        clicks = (rng.random(len(chance)) < chance).astype(np.float64)
        return self._replace(data=self.data.with_labels(clicks))


def draw_population(
    fold: Fold, seed: int, class_features: ClassFeatures = CLASS_FEATURES
) -> tuple[ClassJudgments, ClassJudgments, ClassJudgments]:
    """Draw the judgments of all classes on the training, validation and test queries.

    A class's utility is (x_block / sd) . v, v ~ N(0, I), with mean 0 and standard deviation 1, plus
    0.1 N(0, 1). In each query the best tenth has grade 2 and the next fifth grade 1. One class judges
    each query; it is drawn at random, all classes equally often.
    """
    rng = np.random.default_rng(seed)
    sd = fold.train.X.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    tastes = {name: rng.standard_normal(b - a) for name, (a, b) in class_features.items()}

    def judge(data: RankingData) -> ClassJudgments:
        grades = {}
        for name, (a, b) in class_features.items():
            utility = (data.X[:, a:b] / sd[a:b]) @ tastes[name]
            utility = (utility - utility.mean()) / (utility.std() or 1.0)
            grades[name] = _grade(data, utility + GRADE_NOISE_SD * rng.standard_normal(len(data)))
        names = np.array(sorted(class_features))[
            rng.permutation(data.n_queries) % len(class_features)
        ]
        row_names = data.groups.spread(names)
        y = np.select(
            [row_names == name for name in class_features],
            [grades[name] for name in class_features],
        )
        return ClassJudgments(data.with_labels(y), names, grades)

    train, valid, test = (judge(data) for data in fold)
    return train, valid, test


def _grade(data: RankingData, utility: Floats) -> Floats:
    """Return grade 2 for the best tenth of each query, at least one; 1 for the next fifth."""
    places, n = data.groups.ranks(utility), data.groups.spread(data.groups.sizes)
    best = np.maximum(1, np.rint(BEST_SHARE * n))
    good = np.maximum(best, np.rint(GOOD_SHARE * n))
    return np.where(places <= best, 2.0, np.where(places <= good, 1.0, 0.0))


class PopulationRun(NamedTuple):
    """Result of one case of one draw: the means, and the value of each test query by ranker."""

    class_scores: list[ClassScores]
    per_query: dict[str, tuple[float, ...]]


def run_case(
    fold: Fold, seed: int, case: LearningCase, *, min_block: int = 5,
    class_features: ClassFeatures = CLASS_FEATURES,
) -> PopulationRun:  # fmt: skip
    """Train every ranker on the case's data; test it on the classes' own grades.

    Each has C chosen on the validation queries that it may see. Temperatures are chosen within the
    class's training queries. Validation queries have grades or clicks as the training queries have.
    """
    train, valid, test = draw_population(fold, seed, class_features)
    rng = np.random.default_rng([seed, 1])
    if case.clicks:
        train, valid = train.with_clicks(rng), valid.with_clicks(rng)
    if case.share < 1:
        train, valid = train.share(case.share, rng), valid.share(case.share, rng)
    class_scores, per_query = [], {}
    for ranker, (scores, temperatures) in _rank_test_queries(
        train, valid, test, min_block, class_features
    ).items():
        values = {
            name: np.nan_to_num(
                evaluate(test.data.with_labels(test.grades[name]), test_scores, METRIC)[
                    METRIC
                ].per_query
            )
            for name, test_scores in scores.items()
        }
        per_query[ranker] = tuple(np.mean(list(values.values()), axis=0).tolist())
        means = tuple(mean(v) for v in values.values())
        chosen_temperatures = tuple(float(t) if np.isfinite(t) else None for t in temperatures)
        class_scores.append(ClassScores(case.name, seed, ranker, means, chosen_temperatures))
    return PopulationRun(class_scores, per_query)


TestScores = dict[str, tuple[dict[str, Floats], Sequence[float]]]
"""Ranker -> the scores of the test queries for each class, and the temperatures chosen."""


def _rank_test_queries(
    train: ClassJudgments,
    valid: ClassJudgments,
    test: ClassJudgments,
    min_block: int,
    class_features: ClassFeatures,
) -> TestScores:
    """Fit every ranker and score the test queries."""
    data = test.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        shared = _tune(train.data, valid.data)
        pooled = CFBRS(base=RankSVM(C=shared.C), min_block=min_block)
        pooled.fit(train.data, user_class=train.names)
        plain, own_blocks, known_pooled, known_own = {}, {}, {}, {}
        for name, features in class_features.items():
            class_train, class_valid = train.of(name), valid.of(name)
            plain[name] = _tune(class_train, class_valid)
            blocks = CFBRS(base=RankSVM(C=plain[name].C), min_block=min_block)
            own_blocks[name] = blocks.fit(class_train, user_class=name)
            check = _keep_features(class_valid, features)
            known_pooled[name] = _tune(_keep_features(train.data, features), check)
            known_own[name] = _tune(_keep_features(class_train, features), check)

    def predict_with_known_features(rankers: Mapping[str, RankSVM]) -> dict[str, Floats]:
        return {
            n: rankers[n].predict(_keep_features(data, features))
            for n, features in class_features.items()
        }

    return {
        "shared": (dict.fromkeys(class_features, shared.predict(data)), ()),
        "pooled": (
            {n: pooled.predict(data, user_class=n) for n in class_features},
            [row.temperature for row in pooled.classes_],
        ),
        "own": (
            {n: own_blocks[n].predict(data, user_class=n) for n in class_features},
            [own_blocks[n].classes_[n].temperature for n in class_features],
        ),
        "plain": ({n: plain[n].predict(data) for n in class_features}, ()),
        "known-pooled": (predict_with_known_features(known_pooled), ()),
        "known-own": (predict_with_known_features(known_own), ()),
    }


def _tune(train: RankingData, valid: RankingData) -> RankSVM:
    """Return a Ranking SVM whose C is chosen on validation queries."""
    ranker = tune(RankSVM(), train, valid, METRIC).ranker
    assert isinstance(ranker, RankSVM)
    return ranker


def _keep_features(data: RankingData, features: tuple[int, int]) -> RankingData:
    return data.with_features(data.X[:, slice(*features)])


def population_scores(case: str, runs: Sequence[PopulationRun]) -> list[RankerScores]:
    """Return each ranker's value of each test query, averaged over classes and draws."""
    return [
        RankerScores(case, "", ranker, {METRIC: tuple(np.mean(
            [run.per_query[ranker] for run in runs], axis=0).tolist())}, {}, {})
        for ranker in RANKERS
    ]  # fmt: skip
