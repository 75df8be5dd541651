"""Labels that are too large for the gain 2^label - 1 of NDCG and ERR, and what to do about them."""

from __future__ import annotations

import warnings

import numpy as np

from podium.errors import LargeLabelsWarning
from podium.typing import Floats

MAX_USUAL_LABEL = 31
"""Beyond it, one document of the best grade has the gain of billions of others."""
MAX_LISTED_GRADES = 10


def warn_of_large_labels(labels: Floats, topk: int | None = None) -> None:
    """Warn if labels are too large for the gain of NDCG and ERR; see `large_labels_problem`."""
    problem = large_labels_problem(labels, topk)
    if problem is not None:
        warnings.warn(
            f"{problem}; use small grades, or measure with 'NDCG(gain=linear)@10'",
            LargeLabelsWarning,
            stacklevel=3,
        )


def large_labels_problem(labels: Floats, topk: int | None = None) -> str | None:
    """Return what is wrong with large labels; None if they are small, or positions (`topk`).

    Examples
    --------
    >>> large_labels_problem(np.array([0.0, 100.0]))
    'labels are up to 100, so the gain 2^label - 1 of NDCG and ERR counts little but the best grade'
    """
    largest = float(labels.max(initial=0.0))
    if topk is not None or not largest > MAX_USUAL_LABEL:
        return None
    return (
        f"labels are up to {largest:g}, so the gain 2^label - 1 of NDCG and ERR counts little but the "
        "best grade"
    )


def large_labels_advice(labels: Floats, topk: int | None = None) -> str | None:
    """Return what is wrong with large labels, and the options that help; None if they are small.

    Examples
    --------
    >>> print(large_labels_advice(np.array([0.0, 50.0, 100.0])).replace("; ", ";\\n"))
    labels are up to 100, so the gain 2^label - 1 of NDCG and ERR counts little but the best grade;
    use small grades (in a table: --grades 0=0,50=1,100=2), or measure with -m "NDCG(gain=linear)@10"
    """
    problem = large_labels_problem(labels, topk)
    if problem is None:
        return None
    grades = np.unique(labels)
    example = ""
    if len(grades) <= MAX_LISTED_GRADES:
        listed = ",".join(f"{grade:g}={place}" for place, grade in enumerate(grades))
        example = f" (in a table: --grades {listed})"
    return f'{problem}; use small grades{example}, or measure with -m "NDCG(gain=linear)@10"'
