"""Top-k truth: a total order of the best k documents of a query; all others are below them.

As labels, the document at position p of the truth has y = k + 1 - p, the others 0
(Niu, Guo, Lan, Cheng: Top-k learning to rank, SIGIR 2012, section 3.2.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.argument_checks import check_seed, to_array
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.errors import MissingTruthError, UsageError


def position_labels(positions: ArrayLike, k: int) -> NDArray[np.float64]:
    """Return labels y = k + 1 - position inside the top k, else 0.

    Examples
    --------
    >>> position_labels([1, 3, 2, 4], k=2).tolist()
    [2.0, 0.0, 1.0, 0.0]
    """
    if k < 1:
        raise UsageError(f"expected k of 1 or more, got {k}")
    labels = np.array(positions, dtype=np.float64)
    np.subtract(k + 1, labels, out=labels)
    return np.maximum(labels, 0.0, out=labels)


def draw_order(
    data: RankingData, seed: int = 0, tie_break: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Return positions (from 1) of a total order that agrees with the labels.

    Documents with equal labels are ordered by `tie_break` (larger first; for example the Borda
    consensus of several rankers) and then at random. The draw depends on the seed, the query and the
    document: its id, or its features if it has no id. Documents alike in both keep their row order.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 2, 1, 2], qid=[1] * 4, docid=list("abcd"))
    >>> places = draw_order(data, tie_break=[0.1, 0.2, 0.3, 0.4])
    >>> places.tolist(), data.with_labels(1 / places).y.round(2).tolist()
    ([4, 2, 3, 1], [0.25, 0.5, 0.33, 1.0])
    """
    check_seed(seed)
    if tie_break is None:
        order = data.groups.order(data.y, document_noise(data, seed))
    else:
        noise = document_noise(data, seed)
        preference = to_array(tie_break, "tie_break", np.float64)
        data.groups.check(preference, "values in tie_break")
        order = np.lexsort((noise, -preference, -data.y, data.groups.codes))
    return data.groups.positions(order)


def draw_truth(
    data: RankingData, k: int, seed: int = 0, tie_break: ArrayLike | None = None
) -> RankingData:
    """Return the data with top-k truth drawn from graded labels, ties as in ``draw_order``.

    Every query gets a first place. If its labels are all 0, the whole order is drawn.

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
    """Return top-k truth of a larger k cut to this k; truth of a smaller k stays as it is.

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
    """Return the rows of each query's top k, best first, from position labels.

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
    """Return a uniform number in [0, 1) for each document, which seed, query and document decide."""
    return data.per_document(f"noise, seed {seed}", lambda source: _noise(source, seed))


def _noise(data: RankingData, seed: int) -> NDArray[np.float64]:
    # Without an id, a document is its features.
    ids = data.docid_column
    mixed = data.hash_features(seed) if ids is None else ids.hash(seed)
    queries = Strings.of(data.qids.tolist()).hash(seed)
    mixed ^= np.asarray(data.groups.spread(queries))
    # Hash once more, as 8-byte strings: the xor alone keeps too much of its parts.
    packed = Strings(mixed.view(np.uint8), np.arange(0, 8 * len(mixed) + 1, 8, dtype=np.int64))
    bits = packed.hash(seed)
    bits >>= np.uint64(11)
    noise = bits.astype(np.float64)
    noise *= 2.0**-53
    return noise
