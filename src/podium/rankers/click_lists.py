"""Fit a ranker to click labels: weighted lists with one relevant document each."""

from __future__ import annotations

import numpy as np

from podium.clicks.click_labels import ClickLabels
from podium.data import RankingData
from podium.rankers.learning_curve import Callback
from podium.rankers.ranker import Ranker
from podium.rankers.training_queries import hold_out
from podium.rankers.wrapped_ranker import innermost_ranker
from podium.typing import Bools


def fit_to_labels(
    ranker: Ranker,
    labels: ClickLabels,
    *,
    valid: RankingData | None = None,
    callback: Callback | None = None,
) -> Ranker:
    """Fit a ranker to ``labels.lists()``, and return it.

    A search, such as auto, divides queries itself: it gets graded labels, one list per query. If a ranker
    needs validation queries and there are none, some of the log are held out, with graded labels.
    """
    if innermost_ranker(ranker).is_search:
        return ranker.fit(labels.graded(), valid=valid, callback=callback)
    if valid is None and innermost_ranker(ranker).needs_validation():
        is_held_out = held_out_queries(ranker, labels)
        if is_held_out.any():
            valid = labels.take(is_held_out).graded()
            labels = labels.take(~is_held_out)
    return ranker.fit(labels.lists(), valid=valid, callback=callback)


def held_out_queries(ranker: Ranker, labels: ClickLabels) -> Bools:
    """Return the queries that validate: a share of those whose documents differ in relevance."""
    inner = innermost_ranker(ranker)
    _, valid = hold_out(labels.graded(), inner.validation_fraction, int(getattr(inner, "seed", 0)))
    if valid is None:
        return np.zeros(labels.data.n_queries, dtype=bool)
    return np.isin(labels.data.qids.astype(str), valid.qids.astype(str))
