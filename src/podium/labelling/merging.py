"""Several assessors, one truth: by majority, by Bradley-Terry with ties, or by any aggregator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from podium.aggregation import AGGREGATORS, Aggregator, aggregate
from podium.aggregation.aggregator import rounded
from podium.aggregation.davidson import fit_davidson
from podium.errors import (
    DataError,
    EmptyDataError,
    LengthMismatchError,
    UnknownNameError,
    UsageError,
)
from podium.labelling.judgments import Answer, Document, JudgedTopK, Judgment


def mergers() -> tuple[str, ...]:
    """Return the names of ways to merge a top k."""
    return "majority", "bradley-terry", *AGGREGATORS


PRIOR = 1e-3
"""Of Bradley-Terry. A session asks few pairs, those of neighbours among them; a strong prior then moves
documents past others that nobody preferred them to. See docs/judging.md for what it changes."""

Scores = dict[Document, float]
Judgments = Sequence[Judgment]


def merge_top_k(
    results: Sequence[JudgedTopK],
    method: str | Aggregator = "majority",
    *,
    judgments: Sequence[Judgments] | None = None,
    weights: Sequence[float] | None = None,
    k: int | None = None,
    prior: float = PRIOR,
) -> JudgedTopK:
    """One top k of a query from those of several assessors.

    Only documents that somebody has in the top k can be in it. Documents that come out equal share a
    level, which is taken whole where it reaches over the cut. The top k of a single assessor stays as
    it is.

    Parameters
    ----------
    results
        What each assessor found.
    method
        ``"majority"``: x beats y where more assessors prefer it; the order is by victories less defeats
        (Copeland), so that cycles share a level. ``"bradley-terry"``: by strengths that explain the
        judgments best, ties included (`bradley_terry`). An aggregator of `podium.aggregation`, or its
        name: of the assessors' levels as partial rankings.
    judgments
        For bradley-terry: what each assessor said of pairs. Without them the pairs of the results are
        taken, but those of two documents outside the top k.
    weights
        How much each assessor counts; all the same unless given.
    k
        How many documents are wanted, at most what every assessor looked for, which is the default.
    prior
        Of bradley-terry.

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
        of_assessor = judgments or [_pairs(top, candidates) for top in results]
        if len(of_assessor) != len(results):
            raise LengthMismatchError(
                f"expected judgments of {len(results)} assessors, got {len(of_assessor)}"
            )
        scores = bradley_terry(of_assessor, candidates, weights=shares, prior=prior)
    else:
        scores = _aggregated(results, candidates, method, shares)
    return JudgedTopK(
        _levels({document: scores[document] for document in candidates}, k), k, judged
    )


def bradley_terry(
    judgments: Iterable[Judgments],
    documents: Iterable[Document] = (),
    *,
    weights: Sequence[float] | None = None,
    prior: float = PRIOR,
) -> Scores:
    """Log-strengths of documents from what assessors said of pairs.

    "Both bad" is a defeat of both by the border between good and bad, an item of its own. Who has called
    documents bad has by the other answers called the better one of two, or both where they tied, not bad:
    these beat the border. So a document that most reject is below one that most accept, whatever it was
    shown beside.

    Parameters
    ----------
    judgments
        Of each assessor.
    documents
        Documents that need not be among the judged: one without a judgment has strength 0.
    weights
        How much each assessor counts.
    prior
        See `podium.aggregation.davidson`. As it falls to 0 an order on which all agree is kept: the
        strengths then go the way of the widest margin between the documents of every judgment.

    Examples
    --------
    >>> ann = [Judgment("x", "y", ">"), Judgment("y", "z", ">")]
    >>> bob = [Judgment("x", "y", "~"), Judgment("x", "z", ">")]
    >>> strength = bradley_terry([ann, bob])
    >>> sorted(strength, key=strength.get, reverse=True)
    ['x', 'y', 'z']
    """
    of_assessor = list(judgments)
    shares = _check_weights(weights, len(of_assessor))
    judged = {d for own in of_assessor for one in own for d in (one.a, one.b)}
    all_documents = sorted(judged.union(documents))
    place = {document: i for i, document in enumerate(all_documents)}
    border = len(place)
    counts: Counter[tuple[int, int, str]] = Counter()
    for own, share in zip(of_assessor, shares, strict=True):
        for one in own:
            judgment = one if one.a < one.b else one.flipped()
            if judgment.answer != "bad":
                counts[place[judgment.a], place[judgment.b], judgment.answer] += share  # type: ignore[assignment]
        for document, answer in _against_border(own).items():
            counts[place[document], border, answer] += share  # type: ignore[assignment]
    pairs = sorted({key[:2] for key in counts})
    wins, ties, losses = (
        [float(counts[(*pair, answer)]) for pair in pairs] for answer in (">", "~", "<")
    )
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    n = border + bool((second == border).any())
    fit = fit_davidson(n, first, second, wins, losses, ties, prior=prior)
    return dict(zip(all_documents, fit.theta[:border].tolist(), strict=True))


def _against_border(judgments: Judgments) -> dict[Document, Answer]:
    """Which documents an assessor has called bad (<) and not bad (>); nothing from who called none bad."""
    bad = {d for one in judgments if one.answer == "bad" for d in (one.a, one.b)}
    if not bad:
        return {}
    answers: dict[Document, Answer] = dict.fromkeys(sorted(bad), "<")
    for one in judgments:
        accepted = {">": (one.a,), "<": (one.b,), "~": (one.a, one.b)}.get(one.answer, ())
        for document in accepted:
            answers.setdefault(document, ">")
    return answers


def merge_grades(
    grades: Sequence[Mapping[Document, int]], method: str = "majority"
) -> dict[Document, float]:
    """One grade a document from those of several assessors.

    Parameters
    ----------
    grades
        What each assessor gave; documents that only some have graded are graded by these.
    method
        ``"majority"``: the grade given most often; of several such, the one nearest to the mean, the
        lower in doubt. ``"median"`` (the lower one) or ``"mean"``.

    Examples
    --------
    >>> merge_grades([{"x": 4, "y": 0}, {"x": 3, "y": 1}, {"x": 3}])
    {'x': 3.0, 'y': 0.0}
    """
    if method not in GRADE_MERGERS:
        raise UnknownNameError("way to merge grades", method, GRADE_MERGERS)
    by_document: dict[Document, list[int]] = {}
    for one in grades:
        for document, grade in one.items():
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
"""Ways to merge grades."""


def _copeland(
    labels: Sequence[Mapping[Document, int]],
    documents: Sequence[Document],
    weights: Sequence[float],
) -> Scores:
    """Victories less defeats in the votes of all pairs."""
    table = np.array([[of_one[document] for document in documents] for of_one in labels])
    votes = np.einsum("a,axy->xy", weights, np.sign(table[:, :, None] - table[:, None, :]))
    victories = np.sign(rounded(votes)).sum(axis=1)
    return dict(zip(documents, victories.tolist(), strict=True))


def _pairs(top: JudgedTopK, documents: Sequence[Document]) -> list[Judgment]:
    """What a result says of pairs; nothing of two documents outside it."""
    labels = top.labels(documents)
    return [
        Judgment(a, b, ">" if labels[a] > labels[b] else "<" if labels[a] < labels[b] else "~")
        for a, b in combinations(documents, 2)
        if labels[a] or labels[b]
    ]


def _aggregated(
    results: Sequence[JudgedTopK],
    documents: Sequence[Document],
    method: str | Aggregator,
    weights: Sequence[float],
) -> Scores:
    if isinstance(method, str) and method not in AGGREGATORS:
        raise UnknownNameError("way to merge", method, mergers())
    # Who found nothing good says nothing of the order.
    weighted = [(top, weight) for top, weight in zip(results, weights, strict=True) if top.levels]
    rankings = [[list(level) for level in top.levels] for top, _ in weighted]
    shares = [weight for _, weight in weighted]
    ranking = aggregate(rankings, method, shares if any(shares) else None, initial=documents)
    return dict(zip(map(str, ranking.order), ranking.scores, strict=True))


def _levels(scores: Scores, k: int) -> tuple[tuple[Document, ...], ...]:
    """Documents of equal score on a level, best first, until k are reached."""
    values = dict(zip(scores, rounded(np.array(list(scores.values()))).tolist(), strict=True))
    levels: list[tuple[Document, ...]] = []
    n_placed = 0
    for value in sorted(set(values.values()), reverse=True):
        if n_placed >= k:
            break
        levels.append(tuple(document for document, own in values.items() if own == value))
        n_placed += len(levels[-1])
    return tuple(levels)


def _check_k(results: Sequence[JudgedTopK], k: int | None) -> int:
    if not results:
        raise EmptyDataError("expected the results of at least one assessor, got none")
    wanted = {top.k for top in results}
    if k is None and len(wanted) > 1:
        raise DataError(
            f"expected results of one k, got {', '.join(map(str, sorted(wanted)))}; say how many documents "
            f"to take, at most {min(wanted)} (k=, on the command line --top)"
        )
    least = min(wanted)
    k = least if k is None else k
    if k < 1:
        raise UsageError(f"expected k of 1 or more, got {k}")
    if k > least:
        raise UsageError(
            f"expected k (--top) of at most {least}, got {k}: an assessor looked for no more, so nothing is "
            "known of who comes next"
        )
    return k


def _check_weights(weights: Sequence[float] | None, n: int) -> list[float]:
    shares = [1.0] * n if weights is None else [float(weight) for weight in weights]
    if len(shares) != n:
        raise LengthMismatchError(f"expected {n} weights, one for each assessor, got {len(shares)}")
    if n and (not all(np.isfinite(shares)) or min(shares) < 0 or max(shares) == 0):
        raise UsageError(f"expected weights of 0 or more and not all 0, got {shares}")
    return shares
