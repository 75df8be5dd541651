"""Top-k truth: a total order of the best k documents of a query, the others below them all.

As labels, a document at position p of the truth has y = k + 1 - p, the others 0
(Niu, Guo, Lan, Cheng: Top-k learning to rank, SIGIR 2012, section 3.2.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.checks import check_seed, to_array
from podium.data.ranking_data import RankingData
from podium.data.strings import Strings
from podium.errors import MissingTruthError, UsageError


def position_labels(positions: ArrayLike, k: int) -> NDArray[np.float64]:
    """y = k + 1 - position inside the top k, else 0.

    Examples
    --------
    >>> position_labels([1, 3, 2, 4], k=2).tolist()
    [2.0, 0.0, 1.0, 0.0]
    """
    if k < 1:
        raise UsageError(f"expected k of 1 or more, got {k}")
    return np.maximum(0.0, k + 1 - np.asarray(positions, dtype=np.float64))


def draw_order(
    data: RankingData, seed: int = 0, tie_break: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Positions (from 1) of a total order consistent with the labels.

    Documents with equal labels are ordered by `tie_break` (larger first; say, the Borda consensus
    of several rankers) and then at random. A draw depends on the seed, the query and the document
    (its id, or its features where it has none; what is alike in both keeps the order of the rows).

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 2, 1, 2], qid=[1] * 4, docid=list("abcd"))
    >>> places = draw_order(data, tie_break=[0.1, 0.2, 0.3, 0.4])
    >>> places.tolist(), data.with_labels(1 / places).y.round(2).tolist()
    ([4, 2, 3, 1], [0.25, 0.5, 0.33, 1.0])
    """
    check_seed(seed)
    wish = (
        np.zeros(len(data)) if tie_break is None else to_array(tie_break, "tie_break", np.float64)
    )
    data.groups.check(wish, "values in tie_break")
    order = np.lexsort((document_noise(data, seed), -wish, -data.y, data.groups.codes))
    positions = np.empty(len(data), dtype=np.int64)
    positions[order] = data.groups.places + 1
    return positions


def draw_truth(
    data: RankingData, k: int, seed: int = 0, tie_break: ArrayLike | None = None
) -> RankingData:
    """Graded labels -> top-k truth, ties drawn as in ``draw_order``.

    Every query gets a first place, also one whose labels are all 0: there all of it is drawn.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 2, 1, 2], qid=[1] * 4, docid=list("abcd"))
    >>> truth = draw_truth(data, k=2, seed=0)
    >>> truth, sorted(truth.y.tolist())
    (RankingData(1 query, 4 documents, 1 feature, top-2 truth), [0.0, 0.0, 1.0, 2.0])
    """
    return data.with_labels(position_labels(draw_order(data, seed, tie_break), k), topk=k)


def cut_truth(data: RankingData, k: int) -> RankingData:
    """Top-k truth of a larger k, cut to this one; of a smaller k as it is.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 3, [1, 3, 2], qid=[1] * 3, topk=3)
    >>> cut_truth(data, 2).y.tolist()
    [0.0, 2.0, 1.0]
    """
    if data.topk is None:
        raise MissingTruthError("expected data with top-k truth, got graded labels; see draw_truth")
    if data.topk <= k:
        return data
    return data.with_labels(np.maximum(0.0, data.y - (data.topk - k)), topk=k)


def top_k(data: RankingData) -> list[NDArray[np.int64]]:
    """Position labels -> the truth itself: for each query the rows of its top k, best first.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 3, [1, 0, 2], qid=[1] * 3, topk=2)
    >>> [rows.tolist() for rows in top_k(data)]
    [[2, 0]]
    """
    if data.topk is None:
        raise MissingTruthError("expected data with top-k truth, got graded labels; see draw_truth")
    order = data.groups.order(data.y)
    return [order[rows][data.y[order[rows]] > 0] for rows in data.groups.slices()]


def document_noise(data: RankingData, seed: int) -> NDArray[np.float64]:
    """A uniform number in [0, 1) for each document, keyed by seed, query and document."""
    if data.docid_column is not None:
        documents = data.docid_column
    else:  # without ids a document is its features
        bounds = np.arange(len(data) + 1, dtype=np.int64) * data.X[:1].nbytes
        documents = Strings(data.X.view(np.uint8).reshape(-1), bounds)
    queries = Strings.of(data.qids.tolist()).hash(seed)
    mixed = documents.hash(seed) ^ np.asarray(data.groups.spread(queries))
    # Once more through the mixer, as 8-byte strings: a plain xor keeps too much of its parts.
    packed = Strings(mixed.view(np.uint8), np.arange(len(mixed) + 1, dtype=np.int64) * 8)
    return (packed.hash(seed) >> np.uint64(11)).astype(np.float64) / 2**53
