"""Orders: labels as lists of rows, best first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import RankingData
from podium.errors import DataError, LengthMismatchError, UsageError
from podium.multitask import Orders, draw_orders


def data_of(*lists, **more):
    """Lists of labels as data with one feature."""
    qid = np.repeat(np.arange(len(lists)), [len(labels) for labels in lists])
    y = np.concatenate(lists)
    return RankingData.from_arrays(np.arange(len(y), dtype=float)[:, None], y, qid=qid, **more)


LABELS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=5)


@given(LABELS, st.none() | st.integers(1, 8), st.integers(0, 99))
def test_higher_labels_come_first(lists, k, seed):
    orders = draw_orders(data_of(*lists), k, seed)
    assert len(orders) == len(lists)
    for labels, rows, depth, start in zip(
        lists, np.split(orders.rows, orders.offsets[1:-1]), orders.depth, orders.offsets[:-1],
        strict=True,
    ):  # fmt: skip
        places = (rows - start).tolist()
        assert sorted(places) == list(range(len(labels)))
        assert [labels[p] for p in places] == sorted(labels, reverse=True)
        assert depth == (len(labels) if k is None else min(k, len(labels)))


def test_equal_labels_are_drawn():
    data = data_of([1] * 6, [0, 2])
    drawn = {tuple(draw_orders(data, seed=seed).rows[:6].tolist()) for seed in range(20)}
    assert len(drawn) > 10
    assert draw_orders(data).rows.tolist() == draw_orders(data).rows.tolist()


def test_a_truth_is_ordered_as_deep_as_it_goes():
    data = data_of([0, 3, 0, 2, 1], [0, 0, 3], topk=3)
    orders = draw_orders(data)
    assert orders.depth.tolist() == [3, 1]
    assert orders.rows[[0, 1, 2, 5]].tolist() == [1, 3, 4, 7]
    assert draw_orders(data, k=2).depth.tolist() == [2, 1]
    assert draw_orders(data, k=9).depth.tolist() == [3, 1]


def test_k_must_be_a_depth():
    with pytest.raises(UsageError, match=r"k of 1 or more.*got 0"):
        draw_orders(data_of([0, 1]), k=0)


@given(LABELS)
def test_arrange_and_restore_are_inverse(lists):
    data = data_of(*lists)
    orders = draw_orders(data)
    arranged = orders.arrange(data.X)
    assert arranged.flags.c_contiguous
    assert arranged[:, 0].tolist() == orders.rows.tolist()
    assert np.array_equal(orders.restore(arranged), data.X)


def test_lists_may_leave_rows_out():
    orders = Orders([4, 2, 0], [0, 2, 3], [2, 1], n_rows=6)
    assert orders.arrange(np.arange(10, 16)).tolist() == [14, 12, 10]
    assert orders.restore(np.array([7, 8, 9]), -1).tolist() == [9, -1, 8, -1, 7, -1]
    assert repr(orders) == "Orders(2 lists, 3 objects)"
    with pytest.raises(LengthMismatchError, match="expected 6 values, got 3"):
        orders.arrange(np.arange(3))


@pytest.mark.parametrize(
    ("rows", "offsets", "depth", "error", "message"),
    [
        ([0, 1, 1], [0, 3], [3], DataError, "must be different numbers from 0 to 2"),
        ([0, 1, 7], [0, 3], [3], DataError, "different numbers from 0 to 2"),
        ([0, -1, 2], [0, 3], [3], DataError, "different numbers from 0 to 2"),
        ([0, 1], [0, 3], [3], LengthMismatchError, "3 rows"),
        ([0, 1, 2], [0, 1, 3], [3], LengthMismatchError, "2 depths"),
        ([0, 1, 2], [0, 1, 3], [1, 3], DataError, "above the length of its list"),
        ([0, 1, 2], [1, 3], [2], DataError, "starts at 0"),
    ],
)
def test_what_is_no_order_is_refused(rows, offsets, depth, error, message):
    with pytest.raises(error, match=message):
        Orders(rows, offsets, depth)


def test_orders_do_not_change():
    orders = Orders([1, 0], [0, 2], [2])
    with pytest.raises(ValueError, match="read-only"):
        orders.rows[0] = 0


def test_only_ranking_data_is_ordered():
    with pytest.raises(UsageError, match="draw_orders needs RankingData, got ndarray"):
        draw_orders(np.zeros((3, 2)))
