"""Merging assessors: by majority, by Bradley-Terry with ties, or by any aggregator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from podium.aggregation import AGGREGATORS, Aggregator, aggregate
from podium.aggregation.aggregator import round_scores
from podium.aggregation.davidson import fit_davidson
from podium.errors import (
    DataError,
    EmptyDataError,
    LengthMismatchError,
    UnknownNameError,
    UsageError,
)
from podium.labelling.judgments import Answer, DocumentId, JudgedTopK, Judgment


def mergers() -> tuple[str, ...]:
    """Return the names of all methods to merge a top k."""
    return "majority", "bradley-terry", *AGGREGATORS


BRADLEY_TERRY_PRIOR = 1e-3
"""The weight of the prior. A session asks few pairs, so a strong prior would move documents past
better ones. See docs/judging.md for the effect."""

DocumentScores = dict[DocumentId, float]
Judgments = Sequence[Judgment]


def merge_top_k(
    results: Sequence[JudgedTopK],
    method: str | Aggregator = "majority",
    *,
    judgments: Sequence[Judgments] | None = None,
    weights: Sequence[float] | None = None,
    k: int | None = None,
    prior: float = BRADLEY_TERRY_PRIOR,
) -> JudgedTopK:
    """Return one top k of a query from those of several assessors.

    Only documents in the top k of an assessor can be in it. Documents with equal scores share a
    level; the last level is never cut. The top k of a single assessor does not change.

    Parameters
    ----------
    results
        The top k of each assessor.
    method
        ``"majority"``: x beats y if more assessors prefer it; the order is by victories minus
        defeats (Copeland), so that cycles share a level. ``"bradley-terry"``: by the strengths that
        explain the judgments best, ties included (`bradley_terry`). An aggregator of
        `podium.aggregation`, or its name: it aggregates the assessors' levels as partial rankings.
    judgments
        The judgments of each assessor, for bradley-terry. Without them it uses the pairs of the results,
        except pairs of two documents outside the top k.
    weights
        The weight of each assessor; by default all have the same.
    k
        How many documents to return; at most, and by default, the smallest k of the assessors.
    prior
        The weight of the prior of bradley-terry.

    Examples
    --------
    >>> ann, bob, cat = (JudgedTopK(tuple(map(tuple, levels)), 2, 3) for levels in ("xy", "yx", "yz"))
    >>> merge_top_k([ann, bob, cat]).levels
    (('y',), ('x',))
    >>> merge_top_k([ann, bob, cat], "bradley-terry").levels
    (('y',), ('x',))
    >>> merge_top_k([ann, bob], "borda").levels
    (('x', 'y'),)
    """
    k = _check_k(results, k)
    shares = _check_weights(weights, len(results))
    candidates = sorted({document for top in results for document in top.order})
    judged = sum(top.judged for top in results)
    if (
        len(results) == 1
        and results[0].k == k
        and (method in mergers() or isinstance(method, Aggregator))
    ):
        return results[0]
    if not candidates:
        return JudgedTopK((), k, judged)
    if method == "majority":
        scores = _copeland([top.labels(candidates) for top in results], candidates, shares)
    elif method == "bradley-terry":
        by_assessor = judgments or [_pairs(top, candidates) for top in results]
        if len(by_assessor) != len(results):
            raise LengthMismatchError(
                f"expected judgments of {len(results)} assessors, got {len(by_assessor)}"
            )
        scores = bradley_terry(by_assessor, candidates, weights=shares, prior=prior)
    else:
        scores = _aggregate(results, candidates, method, shares)
    return JudgedTopK(
        _levels({document: scores[document] for document in candidates}, k), k, judged
    )


def bradley_terry(
    judgments: Iterable[Judgments],
    documents: Iterable[DocumentId] = (),
    *,
    weights: Sequence[float] | None = None,
    prior: float = BRADLEY_TERRY_PRIOR,
) -> DocumentScores:
    """Return log-strengths of documents from the judgments of assessors.

    The border between good and bad is an additional item. "Both bad" means that both documents lose
    to the border. If an assessor calls any documents bad, the better document of each other pair,
    or both if they tie, beats the border. So a document that most assessors reject is below one
    that most accept, whatever the other document of the pair was.

    Parameters
    ----------
    judgments
        The judgments of each assessor.
    documents
        More documents; one without a judgment has strength 0.
    weights
        The weight of each assessor.
    prior
        See `podium.aggregation.davidson`. As it falls to 0, an order on which all agree is kept: the
        strengths then maximise the smallest margin between the documents of a judgment.

    Examples
    --------
    >>> ann = [Judgment("x", "y", ">"), Judgment("y", "z", ">")]
    >>> bob = [Judgment("x", "y", "~"), Judgment("x", "z", ">")]
    >>> strength = bradley_terry([ann, bob])
    >>> sorted(strength, key=strength.get, reverse=True)
    ['x', 'y', 'z']
    """
    by_assessor = list(judgments)
    shares = _check_weights(weights, len(by_assessor))
    judged = {d for own in by_assessor for judgment in own for d in (judgment.a, judgment.b)}
    all_documents = sorted(judged.union(documents))
    place = {document: i for i, document in enumerate(all_documents)}
    border = len(place)
    counts: Counter[tuple[int, int, str]] = Counter()
    for own, share in zip(by_assessor, shares, strict=True):
        for judgment in own:
            pair = judgment if judgment.a < judgment.b else judgment.flipped()
            if pair.answer != "bad":
                counts[place[pair.a], place[pair.b], pair.answer] += share  # type: ignore[assignment]
        for document, answer in _border_answers(own).items():
            counts[place[document], border, answer] += share  # type: ignore[assignment]
    pairs = sorted({key[:2] for key in counts})
    wins, ties, losses = (
        [float(counts[(*pair, answer)]) for pair in pairs] for answer in (">", "~", "<")
    )
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    n = border + bool((second == border).any())
    fit = fit_davidson(n, first, second, wins, losses, ties, prior=prior)
    return dict(zip(all_documents, fit.theta[:border].tolist(), strict=True))


def _border_answers(judgments: Judgments) -> dict[DocumentId, Answer]:
    """Return which documents an assessor called bad (<) and not bad (>); empty if none is bad."""
    bad = {
        d for judgment in judgments if judgment.answer == "bad" for d in (judgment.a, judgment.b)
    }
    if not bad:
        return {}
    answers: dict[DocumentId, Answer] = dict.fromkeys(sorted(bad), "<")
    for judgment in judgments:
        a, b = judgment.a, judgment.b
        accepted = {">": (a,), "<": (b,), "~": (a, b)}.get(judgment.answer, ())
        for document in accepted:
            answers.setdefault(document, ">")
    return answers


def merge_grades(
    grades: Sequence[Mapping[DocumentId, int]], method: str = "majority"
) -> dict[DocumentId, float]:
    """Return one grade per document from those of several assessors.

    Parameters
    ----------
    grades
        The grades of each assessor; not every assessor need have graded every document.
    method
        ``"majority"``: the most frequent grade; if there are several, the one nearest to the mean,
        then the lower one. ``"median"`` (the lower one) or ``"mean"``.

    Examples
    --------
    >>> merge_grades([{"x": 4, "y": 0}, {"x": 3, "y": 1}, {"x": 3}])
    {'x': 3.0, 'y': 0.0}
    """
    if method not in GRADE_MERGERS:
        raise UnknownNameError("way to merge grades", method, GRADE_MERGERS)
    by_document: dict[DocumentId, list[int]] = {}
    for own in grades:
        for document, grade in own.items():
            by_document.setdefault(document, []).append(grade)
    return {document: float(GRADE_MERGERS[method](all_)) for document, all_ in by_document.items()}


def _most_frequent(grades: list[int]) -> float:
    counts = Counter(grades)
    mean = sum(grades) / len(grades)
    return min(counts, key=lambda grade: (-counts[grade], abs(grade - mean), grade))


GRADE_MERGERS: dict[str, Callable[[list[int]], float]] = {
    "majority": _most_frequent,
    "median": lambda grades: sorted(grades)[(len(grades) - 1) // 2],
    "mean": lambda grades: sum(grades) / len(grades),
}
"""Methods to merge grades."""


def _copeland(
    labels: Sequence[Mapping[DocumentId, int]],
    documents: Sequence[DocumentId],
    weights: Sequence[float],
) -> DocumentScores:
    """Return the victories minus the defeats of each document in the votes on all pairs."""
    table = np.array([[own[document] for document in documents] for own in labels])
    votes = np.einsum("a,axy->xy", weights, np.sign(table[:, :, None] - table[:, None, :]))
    victories = np.sign(round_scores(votes)).sum(axis=1)
    return dict(zip(documents, victories.tolist(), strict=True))


def _pairs(top: JudgedTopK, documents: Sequence[DocumentId]) -> list[Judgment]:
    """Return the judgments that a result implies, except pairs of two documents outside it."""
    labels = top.labels(documents)
    return [
        Judgment(a, b, ">" if labels[a] > labels[b] else "<" if labels[a] < labels[b] else "~")
        for a, b in combinations(documents, 2)
        if labels[a] or labels[b]
    ]


def _aggregate(
    results: Sequence[JudgedTopK],
    documents: Sequence[DocumentId],
    method: str | Aggregator,
    weights: Sequence[float],
) -> DocumentScores:
    if isinstance(method, str) and method not in AGGREGATORS:
        raise UnknownNameError("way to merge", method, mergers())
    # An assessor who rejected all documents has no order.
    weighted = [(top, weight) for top, weight in zip(results, weights, strict=True) if top.levels]
    rankings = [[list(level) for level in top.levels] for top, _ in weighted]
    shares = [weight for _, weight in weighted]
    ranking = aggregate(rankings, method, shares if any(shares) else None, initial=documents)
    return dict(zip(map(str, ranking.order), ranking.scores, strict=True))


def _levels(scores: DocumentScores, k: int) -> tuple[tuple[DocumentId, ...], ...]:
    """Return levels of documents with equal scores, best first, until there are k documents."""
    values = dict(zip(scores, round_scores(np.array(list(scores.values()))).tolist(), strict=True))
    levels: list[tuple[DocumentId, ...]] = []
    n_placed = 0
    for value in sorted(set(values.values()), reverse=True):
        if n_placed >= k:
            break
        levels.append(tuple(document for document, own in values.items() if own == value))
        n_placed += len(levels[-1])
    return tuple(levels)


def _check_k(results: Sequence[JudgedTopK], k: int | None) -> int:
    if not results:
        raise EmptyDataError("there are no results; expected those of at least one assessor")
    ks = {top.k for top in results}
    if k is None and len(ks) > 1:
        raise DataError(
            f"the results have different k: {', '.join(map(str, sorted(ks)))}; set k to at "
            f"most {min(ks)}"
        ).advise(python="use k=", command_line="use --top")
    least = min(ks)
    k = least if k is None else k
    if k < 1:
        raise UsageError(f"expected k of 1 or more, got {k}")
    if k > least:
        raise UsageError(
            f"an assessor judged only the top {least}, so k must be at most {least}, got {k}"
        ).advise(python=f"use k={least} or less", command_line=f"use --top {least} or less")
    return k


def _check_weights(weights: Sequence[float] | None, n: int) -> list[float]:
    shares = [1.0] * n if weights is None else [float(weight) for weight in weights]
    if len(shares) != n:
        raise LengthMismatchError(f"expected {n} weights, one per assessor, got {len(shares)}")
    if n and (not all(np.isfinite(shares)) or min(shares) < 0 or max(shares) == 0):
        raise UsageError(
            f"expected weights of 0 or more, at least one of them above 0, got {shares}"
        )
    return shares
