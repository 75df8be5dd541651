"""The effect of truth: the same systems, measured by people's truth and by a machine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from podium.data import RankingData, Run
from podium.errors import DataError
from podium.experiments.compare import compare
from podium.labelling.grading import Grades
from podium.labelling.judged_truth import JudgedTruth, grade_truth, position_truth, top_k_truth
from podium.labelling.judgments import JudgedTopK
from podium.labelling.machine_agreement.agreement_with_people import choose_machine
from podium.labelling.machine_agreement.system_ranking import SystemAgreement, system_agreement
from podium.labelling.tasks import Task
from podium.metrics import evaluate
from podium.typing import Floats

if TYPE_CHECKING:
    from podium.labelling.store import Store

LEAST_QUERIES = 2
"""The number of queries that people and the machine must both have finished."""


def read_truths(store: Store, machine: str | None = None) -> tuple[JudgedTruth, JudgedTruth]:
    """Return people's truth and a machine's, of the queries that both finished."""
    log, results = store.judgments(), store.results()
    name = choose_machine(log.machines, machine)
    tools = [task.tool for task in log.tasks if task.assessor == name]
    tool = max(sorted(set(tools)), key=tools.count)
    rows = [(t, results[t.id]) for t in log.tasks if t.id in results and t.tool == tool]
    own = [row for row in rows if row[0].assessor == name]
    people = [row for row in rows if row[0].assessor not in log.machines]
    both = {task.query for task, _ in own} & {task.query for task, _ in people}
    if len(both) < LEAST_QUERIES:
        raise DataError(
            f"expected {LEAST_QUERIES} or more queries that people and {name!r:.40} finished, to rank "
            f"systems by both truths, got {len(both)}"
        )
    depth = min((r.k for _, r in [*own, *people] if isinstance(r, JudgedTopK)), default=0)
    by_people, by_machine = (
        _truth([(task, result) for task, result in side if task.query in both], depth)
        for side in (people, own)
    )
    return by_people, by_machine


def _truth(rows: Sequence[tuple[Task, JudgedTopK | Grades]], depth: int) -> JudgedTruth:
    """Return the truth of these results, cut to the same depth."""
    if not depth:
        return grade_truth(rows)
    documents = {task.query: list(task.documents) for task, _ in rows}
    return position_truth(top_k_truth(rows, k=depth), documents)


def systems_of_runs(
    truths: tuple[JudgedTruth, JudgedTruth], runs: Mapping[str, Run], metric: str, *,
    resamples: int = 1_000, seed: int = 0,
) -> SystemAgreement:  # fmt: skip
    """Return how people's truth and a machine's rank systems, from their runs."""
    values: list[dict[str, Floats]] = []
    for truth in truths:
        qrels = truth.qrels().select(sorted(truth.labels))
        values.append({
            name: np.asarray(evaluate(qrels, run, metric)[metric].per_query)
            for name, run in runs.items()
        })  # fmt: skip
    return system_agreement(metric, *values, resamples=resamples, seed=seed)


def systems_of_rankers(
    truths: tuple[JudgedTruth, JudgedTruth], features: RankingData, rankers: Sequence[str],
    metric: str, *, folds: int = 3, resamples: int = 1_000, seed: int = 0,
) -> SystemAgreement:  # fmt: skip
    """Return how people's truth and a machine's rank rankers that are trained and measured with each.

    Both comparisons cut the same queries into the same folds.
    """
    values: list[dict[str, Floats]] = []
    for truth in truths:
        data = truth.join(features)
        report = compare(data, list(rankers), metric, folds=folds, seed=seed, tune=False)
        order = np.argsort([qid for fold in report.folds for qid in fold.qids], kind="stable")
        values.append({name: report.per_query(name)[order] for name in report.rankers})
    return system_agreement(metric, *values, resamples=resamples, seed=seed)
