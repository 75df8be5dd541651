"""Position debiasing of LightGBM: lambdamart learns an effect of each position together with the trees.

Each session with a click is a list, with the clicks as labels. LightGBM adds a number for the position to
each score while it learns (`position` of its data sets), and leaves it out of the model.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from podium.clicks.click_labels import ClickLabels, ShownDocuments
from podium.data import RankingData
from podium.errors import DataError, UsageError
from podium.rankers.click_lists import held_out_queries
from podium.rankers.lambdamart import LambdaMART
from podium.rankers.learning_curve import Callback
from podium.rankers.ranker import Ranker
from podium.rankers.wrapped_ranker import WrappedRanker, innermost_ranker
from podium.typing import Bools, Ints


def learn_with_positions(
    ranker: Ranker,
    join: ShownDocuments,
    labels: ClickLabels,
    *,
    valid: RankingData | None = None,
    callback: Callback | None = None,
) -> Ranker:
    """Fit lambdamart to sessions with their positions, and return it.

    Parameters
    ----------
    labels
        Labels of the held-out queries that choose the number of trees, if `valid` does not.
    """
    inner = innermost_ranker(ranker)
    if not isinstance(inner, LambdaMART) or _is_bagged(ranker):
        raise UsageError(
            f"expected lambdamart for the debiasing method position, which is LightGBM's, got {ranker.name}"
        )
    is_used = np.ones(labels.data.n_queries, dtype=bool)
    if valid is None:
        is_held_out = held_out_queries(ranker, labels)
        if is_held_out.any():
            valid, is_used = labels.take(is_held_out).graded(), ~is_held_out
    sessions, positions = session_lists(join, is_used)
    learn = partial(inner.learn_with_positions, positions=positions)
    return ranker.fit_data(sessions, valid, callback, learn=learn)


def _is_bagged(ranker: Ranker) -> bool:
    return isinstance(ranker, WrappedRanker) and ranker.name == "bagged"


def session_lists(join: ShownDocuments, queries: Bools) -> tuple[RankingData, Ints]:
    """Return each session of these queries with clicks as a list, and the position of each row from 0.

    The ids of the documents are their places in the positions, which so follow the rows wherever they go.
    """
    log, data = join.log, join.data
    is_known = join.row >= 0
    clicks = log.groups.reduce(np.add, (log.clicked & is_known).astype(np.int64))
    is_chosen = queries[join.query_of_session()] & (clicks > 0)
    used = np.flatnonzero(np.asarray(log.groups.spread(is_chosen)) & is_known)
    if not len(used):
        raise DataError("expected sessions with clicks on documents of the data, got none")
    lists = RankingData.from_arrays(
        data.X[join.row[used]], log.clicked[used].astype(np.float64),
        qid=np.asarray(log.groups.codes)[used], docid=np.arange(len(used)),
        feature_names=data.feature_names, scaled=data.scaled, missing=data.missing,
        categories=data.categories,
    )  # fmt: skip
    return lists, log.positions[used] - 1
