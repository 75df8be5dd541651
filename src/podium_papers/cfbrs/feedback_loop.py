"""Feedback loop of the CFBRS paper: rankings learn from each batch of feedback until NDCG converges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Fold, RankingData
from podium.ensemble import CFBRS, FeedbackBatch
from podium.feedback import Feedback, make_log, parse_ubi
from podium.metrics import evaluate
from podium.rankers import RankSVM, tune
from podium.typing import Floats
from podium_papers.cfbrs.fitted_blocks import METRIC, mean
from podium_papers.cfbrs.user_classes import (
    CLASS_FEATURES,
    ClassFeatures,
    ClassJudgments,
    draw_population,
)
from podium_papers.curve_figures import FigureLine, LineFigure

FEEDBACK_BATCHES, LISTS_PER_CLASS = 40, 10
"""Number of batches of feedback, and of lists that each class sees in one batch."""
LOOP_TOLERANCE, LOOP_PATIENCE = 2e-3, 3
"""The loop stops after this many batches in a row that change NDCG@10 by less than the tolerance."""


@dataclass(frozen=True)
class FeedbackLoop:
    """NDCG@10 after each batch of feedback.

    `clicks` is measured on the clicks of held-out lists and decides when to stop. `test` is measured on
    the classes' own grades of the test queries, before the first batch and after each. `shared` is the
    value of the shared model there. `stopped` is the batch after which the loop ended, or 0 if it did not.
    """

    seed: int
    lists: int
    clicks: tuple[float, ...]
    test: tuple[float, ...]
    shared: float
    stopped: int
    reason: str


def run_loop(
    fold: Fold, seed: int, *, batches: int = FEEDBACK_BATCHES, lists: int = LISTS_PER_CLASS,
    min_block: int = 5, class_features: ClassFeatures = CLASS_FEATURES,
) -> FeedbackLoop:  # fmt: skip
    """Fit blocks on pooled grades of half of the training queries; learn weights from clicks on the others.

    Users of each class see lists of ten and click by their grades. Their clicks pass through a log of
    UBI events.
    """
    train, valid, test = draw_population(fold, seed, class_features)
    first_queries, later = _halve(train)
    shared = tune(RankSVM(), first_queries, valid.data, METRIC).ranker
    assert isinstance(shared, RankSVM)
    batches_of_clicks = [
        _simulate_clicks(later, lists, class_features, [seed, b]) for b in range(batches)
    ]
    held_out = FeedbackBatch(
        valid.data, _simulate_clicks(valid, 10 * lists, class_features, [seed, batches])
    )

    def fit_blocks() -> CFBRS:
        return CFBRS(base=RankSVM(C=shared.C), min_block=min_block).fit(first_queries)

    test_values: list[float] = []

    def stream(ranker: CFBRS) -> Iterator[FeedbackBatch]:
        """Yield the batches; measure the ranker on the test queries before each batch."""
        for clicks in batches_of_clicks:
            test_values.append(_test_ranker(ranker, test, class_features))
            yield FeedbackBatch(later.data, clicks)

    ranker = fit_blocks()
    history = ranker.learn_until_converged(stream(ranker), held_out, tol=0.0)
    test_values.append(_test_ranker(ranker, test, class_features))
    loop = fit_blocks().learn_until_converged(
        (FeedbackBatch(later.data, clicks) for clicks in batches_of_clicks),
        held_out,
        tol=LOOP_TOLERANCE,
        patience=LOOP_PATIENCE,
    )
    baseline = mean([_class_ndcg(test, name, shared.predict(test.data)) for name in class_features])
    return FeedbackLoop(
        seed, lists * len(class_features), history.values, tuple(test_values), baseline,
        len(loop) if loop.converged else 0, loop.reason,
    )  # fmt: skip


def _halve(train: ClassJudgments) -> tuple[RankingData, ClassJudgments]:
    """Return the first half of the queries, and the judgments of the others."""
    n, half = train.data.n_queries, train.data.n_queries // 2
    rows = train.data.groups.codes >= half
    later = ClassJudgments(
        train.data.subset(np.arange(half, n)),
        train.names[half:],
        {name: grades[rows] for name, grades in train.grades.items()},
    )
    return train.data.subset(np.arange(half)), later


def _simulate_clicks(
    judged: ClassJudgments,
    lists: int,
    class_features: ClassFeatures,
    seed: Sequence[int],
) -> Feedback:
    """Return the clicks of each class's users on some lists, through a log."""
    lines: list[str] = []
    for number, name in enumerate(class_features):
        draw = int(np.random.default_rng([*seed, number]).integers(2**31))
        data = judged.data.with_labels(judged.grades[name])
        lines += make_log(data, n_lists=lists, user_class=name, seed=draw).lines()
    return parse_ubi(lines, user_class="query_attributes.user_class")


def _test_ranker(ranker: CFBRS, test: ClassJudgments, class_features: ClassFeatures) -> float:
    """Return the mean over classes of NDCG@10 on their own grades.

    The ranking for all users serves a class that the ranker has no weights for.
    """
    class_names = {row.name for row in ranker.classes_}
    return mean(
        [
            _class_ndcg(
                test, n, ranker.predict(test.data, user_class=n if n in class_names else None)
            )
            for n in class_features
        ]
    )


def _class_ndcg(test: ClassJudgments, name: str, scores: Floats) -> float:
    return evaluate(test.data.with_labels(test.grades[name]), scores, METRIC)[METRIC].mean


def loop_figure(loops: Sequence[FeedbackLoop]) -> LineFigure:
    """Return the figure of NDCG@10 by batch, with a dot where the loop ends."""
    lines = []
    for loop in loops:
        x = tuple(float(n) for n in range(len(loop.test)))
        stop = (float(loop.stopped),) if loop.stopped else ()
        lines.append(FigureLine(f"draw {loop.seed}: class rankings", x, loop.test, marks=stop))
        ends = (0.0, x[-1])
        name = f"draw {loop.seed}: shared model"
        lines.append(FigureLine(name, ends, (loop.shared, loop.shared), dashed=True))
    title = "Feedback in batches: test NDCG@10 on the classes' own grades"
    return LineFigure(title, f"batches of {loops[0].lists} lists", "NDCG@10", tuple(lines))
