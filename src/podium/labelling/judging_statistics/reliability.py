"""Reliability: self-consistency, agreement on grades, and the overlap of the top k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np

from podium.labelling.judging_statistics.agreement import mean_kappa, none_if_nan
from podium.labelling.judging_statistics.kappa_alpha import cohen_kappa, krippendorff_alpha
from podium.labelling.judging_statistics.shared_judgments import (
    SharedJudgments,
    count_answer_pairs,
)
from podium.labelling.judgments import JudgedTopK


@dataclass(frozen=True)
class GradeReliability:
    """Agreement of assessors on grades.

    Parameters
    ----------
    documents
        Documents that two assessors graded, once for each two assessors.
    same
        The share of documents with the same grade.
    kappa
        The mean of Cohen's kappa over each two assessors, weighted by their documents.
    nominal, ordinal
        Krippendorff's nominal and ordinal alpha.
    """

    documents: int
    same: float
    kappa: float
    nominal: float
    ordinal: float

    def to_dict(self) -> dict[str, float | int | None]:
        """Return JSON, with None for what is not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items()}


def grade_reliability(graded: SharedJudgments) -> GradeReliability:
    """Return kappa and alpha of grades, also of unfinished sessions."""
    between, table, _, coincidences = count_answer_pairs(graded.first_standing())
    total = int(table.sum())
    return GradeReliability(
        documents=total,
        same=float(np.trace(table.sum(axis=0)) / total) if total else float("nan"),
        kappa=mean_kappa(between, table),
        nominal=krippendorff_alpha(coincidences, "nominal"),
        ordinal=krippendorff_alpha(coincidences, "ordinal"),
    )


@dataclass(frozen=True)
class SelfConsistency:
    """Agreement of assessors with themselves on repeated questions.

    Parameters
    ----------
    repeats
        Repeated questions whose first answer counts.
    same
        The share with the same answer.
    opposite
        The share with the opposite preference, or a grade that differs by two or more.
    kappa
        Cohen's kappa of the first and the second answers.
    """

    repeats: int
    same: float
    opposite: float
    kappa: float

    def to_dict(self) -> dict[str, float | int | None]:
        """Return JSON, with None for what is not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items()}


def self_consistency(judged: SharedJudgments) -> SelfConsistency:
    """Return the self-consistency of assessors on repeated questions."""
    first, repeated = judged.first_standing(), judged.keep(judged.repeated)
    n_tasks = int(judged.task.max(initial=0)) + 1
    key, repeated_key = first.unit * n_tasks + first.task, repeated.unit * n_tasks + repeated.task
    at = np.minimum(np.searchsorted(key, repeated_key), max(0, len(key) - 1))
    has_first = (
        np.zeros(len(repeated_key), dtype=np.bool_) if len(key) == 0 else key[at] == repeated_key
    )
    first_values, second_values = first.value[at[has_first]], repeated.value[has_first]
    repeats, n = int(has_first.sum()), judged.n_values
    table = np.bincount(first_values * n + second_values, minlength=n * n).reshape(n, n)
    return SelfConsistency(
        repeats=repeats,
        same=float(np.mean(first_values == second_values)) if repeats else float("nan"),
        opposite=float(np.mean(np.abs(first_values - second_values) >= 2))
        if repeats
        else float("nan"),
        kappa=cohen_kappa(table),
    )


@dataclass(frozen=True)
class TopKOverlap:
    """How much of the top k two assessors have in common.

    Parameters
    ----------
    pairs
        All pairs of assessors of the same query.
    mean, least
        The mean and the smallest overlap 2 |A and B| / (|A| + |B|).
    first
        The share of pairs with a common document at the first place.
    """

    pairs: int
    mean: float
    least: float
    first: float

    def to_dict(self) -> dict[str, float | int | None]:
        """Return JSON, with None for what is not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items()}


def top_k_overlap(results: Sequence[tuple[str, JudgedTopK]]) -> TopKOverlap:
    """Return the overlap of the top k between the assessors of each query.

    If both have k documents, it is the share of common documents. Two empty results overlap
    completely.

    Parameters
    ----------
    results
        (query, top k), one per assessor.

    Examples
    --------
    >>> ann, bob = JudgedTopK((("x",), ("y",)), 2, 3), JudgedTopK((("x",), ("z",)), 2, 3)
    >>> top_k_overlap([("q", ann), ("q", bob)])
    TopKOverlap(pairs=1, mean=0.5, least=0.5, first=1.0)
    """
    shares, first = [], []
    ordered = sorted(results, key=lambda result: result[0])
    for _, group in groupby(ordered, key=lambda result: result[0]):
        for (_, a), (_, b) in combinations(group, 2):
            left, right = set(a.order), set(b.order)
            size = len(left) + len(right)
            shares.append(2 * len(left & right) / size if size else 1.0)
            first.append(not size or not set(a.levels[:1] and a.levels[0]).isdisjoint(
                b.levels[:1] and b.levels[0]
            ))  # fmt: skip
    if not shares:
        return TopKOverlap(0, float("nan"), float("nan"), float("nan"))
    return TopKOverlap(len(shares), float(np.mean(shares)), min(shares), float(np.mean(first)))
