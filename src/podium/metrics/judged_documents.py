"""Judged and unjudged documents: the documents of a run joined with the labels of qrels.

A document without a judgment has label 0, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import Groups, Qrels, Run
from podium.errors import DataError
from podium.typing import Bools, Floats


@dataclass(frozen=True, eq=False)
class JudgedDocuments:
    """The labels of judged documents, ranked or not, for the ideal and for recall."""

    labels: Floats
    groups: Groups
    is_ranked: Bools


def join_judgments(run: Run, qrels: Qrels) -> tuple[Run, Floats, JudgedDocuments]:
    """Return the run in the queries' order, the label of each of its documents, and all judged documents."""
    ranked = _in_query_order(run, qrels.qids)
    at = kernels.match_strings(*ranked.packed(), *qrels.packed())
    labels = np.zeros(len(qrels) + 1)  # unjudged documents have row -1, the last one
    np.maximum(qrels.values, 0, out=labels[:-1])
    is_ranked = np.zeros(len(labels), dtype=bool)
    is_ranked[at] = True
    return ranked, labels[at], JudgedDocuments(labels[:-1], qrels.groups, is_ranked[:-1])


def _in_query_order(run: Run, qids: NDArray[np.object_]) -> Run:
    """Return the lists of these queries in this order; queries that the run lacks get empty lists."""
    run_qids, qrels_qids = run.qids.tolist(), qids.tolist()
    if run_qids == qrels_qids:
        return run
    if not run_qids:  # a part of a run that has other queries
        return Run(qids, Groups.from_sizes(np.zeros(len(qids), np.int64)), run.docids, run.values)
    check_shared_queries(run_qids, qrels_qids)
    number = {qid: q for q, qid in enumerate(run_qids)}
    queries = np.array([number.get(qid, -1) for qid in qrels_qids], dtype=np.int64)
    has_list = queries >= 0
    groups = Groups.from_sizes(np.where(has_list, run.groups.sizes[queries], 0))
    if np.array_equal(queries[has_list], np.arange(len(run_qids))):
        return Run(qids, groups, run.docids, run.values)
    _, rows = run.groups.take(queries[has_list])
    return Run(qids, groups, run.docids.take(rows), run.values[rows])


def check_shared_queries(run_qids: Sequence[str], judged_qids: Sequence[str]) -> None:
    """Raise if a run has none of the judged queries."""
    if set(run_qids).isdisjoint(judged_qids):
        raise DataError(
            f"the run and the qrels have no query in common (run: {run_qids[0]!r}, qrels: "
            f"{judged_qids[0]!r}, ...); check the query ids"
        )
