"""The paper's loop: rankings learned again and again as feedback arrives, until NDCG converges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Fold
from podium.ensemble import CFBRS, Batch
from podium.feedback import Feedback, make_log, parse_ubi
from podium.metrics import evaluate
from podium.rankers import RankSVM, tune
from podium_papers.cfbrs.blocks import METRIC, Floats, mean
from podium_papers.cfbrs.population import OWNED, JudgedByClass, population
from podium_papers.curves import FigureLine, LineFigure

BATCHES, LISTS = 40, 10
"""Batches of feedback, and the lists that each class is shown in one."""
TOL, PATIENCE = 2e-3, 3


@dataclass(frozen=True)
class Loop:
    """NDCG@10 by the batch of feedback.

    `clicks` is measured on the clicks of held-out lists, and decides when to stop; `test` on the
    classes' own grades of the test queries, before the first batch and after each; `shared` is the
    shared model there. `stopped` is the batch after which the loop ended, 0: it never did.
    """

    seed: int
    lists: int
    clicks: tuple[float, ...]
    test: tuple[float, ...]
    shared: float
    stopped: int
    reason: str


def run_loop(
    fold: Fold, seed: int, *, batches: int = BATCHES, lists: int = LISTS, min_block: int = 5,
    owned: Mapping[str, tuple[int, int]] = OWNED,
) -> Loop:  # fmt: skip
    """Blocks fitted on half of the training queries, pooled grades; weights from clicks on the others.

    Users of each class see lists of ten and click by their grades; what they do passes
    through a log of UBI events.
    """
    train, valid, test = population(fold, seed, owned)
    half = train.data.n_queries // 2
    first, then = np.arange(half), np.arange(half, train.data.n_queries)
    first_queries, asked = train.data.subset(first), train.data.subset(then)
    shared = tune(RankSVM(), first_queries, valid.data, METRIC).ranker
    assert isinstance(shared, RankSVM)
    rows = train.data.groups.codes >= half
    later = JudgedByClass(asked, train.names[half:], {n: g[rows] for n, g in train.grades.items()})
    feedback = [_clicks(later, lists, owned, [seed, b]) for b in range(batches)]
    held_out = Batch(valid.data, _clicks(valid, 10 * lists, owned, [seed, batches]))

    def fresh() -> CFBRS:
        return CFBRS(base=RankSVM(C=shared.C), min_block=min_block).fit(first_queries)

    tested: list[float] = []

    def stream(ranker: CFBRS) -> Iterator[Batch]:
        """The batches; what the ranker has learned so far is tested before each."""
        for one in feedback:
            tested.append(_tested(ranker, test, owned))
            yield Batch(asked, one)

    whole = fresh()
    history = whole.learn_until_converged(stream(whole), held_out, tol=0.0)
    tested.append(_tested(whole, test, owned))
    ended = fresh().learn_until_converged(
        (Batch(asked, one) for one in feedback), held_out, tol=TOL, patience=PATIENCE
    )
    baseline = mean([_value(test, name, shared.predict(test.data)) for name in owned])
    return Loop(
        seed, lists * len(owned), history.values, tuple(tested), baseline,
        len(ended) if ended.converged else 0, ended.reason,
    )  # fmt: skip


def _clicks(
    judged: JudgedByClass, lists: int, owned: Mapping[str, tuple[int, int]], seed: Sequence[int]
) -> Feedback:
    """What users of each class did with some lists, through a log."""
    lines: list[str] = []
    for number, name in enumerate(owned):
        draw = int(np.random.default_rng([*seed, number]).integers(2**31))
        own = judged.data.with_labels(judged.grades[name])
        lines += make_log(own, n_lists=lists, user_class=name, seed=draw).lines()
    return parse_ubi(lines, user_class="query_attributes.user_class")


def _tested(ranker: CFBRS, test: JudgedByClass, owned: Mapping[str, tuple[int, int]]) -> float:
    """NDCG@10 of each class's ranking on its own grades; all users' where it is not known yet."""
    class_names = {row.name for row in ranker.classes_}
    return mean(
        [
            _value(test, n, ranker.predict(test.data, user_class=n if n in class_names else None))
            for n in owned
        ]
    )


def _value(test: JudgedByClass, name: str, scores: Floats) -> float:
    return evaluate(test.data.with_labels(test.grades[name]), scores, METRIC)[METRIC].mean


def loop_figure(loops: Sequence[Loop]) -> LineFigure:
    """NDCG@10 by batch; a dot where the loop ends."""
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
