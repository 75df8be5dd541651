"""Who moved a document: the kernel, its twin, and the definition pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.kernels import reference


@st.composite
def moves(draw):
    n = draw(st.integers(1, 12))
    before, after = (
        np.array(draw(st.permutations(range(1, n + 1))), dtype=np.int64) for _ in range(2)
    )
    moved = np.flatnonzero(before != after).tolist()
    rows = draw(st.lists(st.sampled_from(moved), unique=True)) if moved else []
    own = [draw(st.integers(1, 2**63 - 1)) for _ in rows]
    return before, after, np.array(rows, dtype=np.int64), np.array(own, dtype=np.int64)


@given(moves())
def test_twins(native, data):
    got, other = native.sets_of_movers(*data), reference.sets_of_movers(*data)
    assert (got.dtype, got.tolist()) == (other.dtype, other.tolist())


@given(moves())
def test_a_row_has_the_sets_of_those_that_passed_it_the_other_way(data):
    before, after, rows, own = data
    sets = [0] * len(before)
    for row, its in zip(rows.tolist(), own.tolist(), strict=True):
        for x in range(len(before)):
            up_past = before[x] < before[row] and after[row] < after[x] and after[x] > before[x]
            down_past = before[x] > before[row] and after[row] > after[x] and after[x] < before[x]
            if (after[row] < before[row] and up_past) or (after[row] > before[row] and down_past):
                sets[x] |= its
    for row, its in zip(rows.tolist(), own.tolist(), strict=True):
        sets[row] = its
    assert reference.sets_of_movers(*data).tolist() == sets


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_one_document_from_the_end_to_the_front(backend, request):
    module = reference if backend == "reference" else request.getfixturevalue("native")
    before, after = np.array([1, 2, 3]), np.array([2, 3, 1])
    assert module.sets_of_movers(before, after, np.array([2]), np.array([5])).tolist() == [5, 5, 5]
