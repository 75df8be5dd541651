"""Beliefs about places: both backends compute the same, and what enumeration gives."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from podium import kernels
from podium.kernels import reference


@st.composite
def judged_pairs(draw):
    """Beliefs of some documents, pairs of them with likelihoods, and memberships of two cuts."""
    n, cells = draw(st.integers(2, 7)), draw(st.integers(1, 11))
    every = list(itertools.combinations(range(n), 2))
    pairs = draw(st.lists(st.sampled_from(every), unique=True, max_size=9))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    beliefs = rng.dirichlet(np.ones(cells), n)
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
    less, more = rng.uniform(0.01, 1, (2, len(pairs)))
    messages = rng.uniform(0.1, 1, (2, len(pairs), cells))
    members = rng.uniform(0, 1, (2, n, cells))
    return beliefs, messages, first, second, less, more, members


@given(judged_pairs())
def test_both_backends_sweep_alike(native, data):
    beliefs, messages, first, second, less, more, _ = data
    args = (beliefs, messages, first, second, less, more)
    before = [array.copy() for array in args]
    for one, other in zip(native.sweep_places(*args), reference.sweep_places(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for array, copy in zip(args, before, strict=True):
        assert (array == copy).all(), "the arguments stay as they are"


@given(judged_pairs(), st.floats(0.001, 0.49))
def test_both_backends_find_the_same_information(native, data, errors):
    beliefs, messages, first, second, less, more, members = data
    weights = np.array([1.0, 0.1])
    np.testing.assert_allclose(
        native.pair_information(beliefs, members, weights, errors),
        reference.pair_information(beliefs, members, weights, errors),
        rtol=1e-7, atol=1e-9,
    )  # fmt: skip
    args = (beliefs, messages, first, second, less, more, members, weights, errors)
    np.testing.assert_allclose(
        native.judged_pair_information(*args), reference.judged_pair_information(*args),
        rtol=1e-7, atol=1e-9,
    )  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 16), st.integers(1, 3)), min_size=1, max_size=8),
    st.integers(0, 6),
    st.integers(0, 2),
)
def test_both_backends_condition_on_the_number_of_members(native, groups, low, room):
    members = np.array([member / 16 for member, _ in groups])
    sizes = np.array([size for _, size in groups], dtype=np.int64)
    args = (members, sizes, low, low + room)
    np.testing.assert_allclose(
        native.members_by_count(*args), reference.members_by_count(*args), rtol=1e-7, atol=1e-9
    )


def test_the_number_of_members_by_enumeration():
    members, sizes = np.array([0.9, 0.5, 0.2, 0.4]), np.array([1, 2, 1, 1])
    total, inside = 0.0, np.zeros(4)
    for chosen in itertools.product((0, 1), repeat=4):
        if 2 <= sum(c * s for c, s in zip(chosen, sizes, strict=True)) <= 3:
            weight = np.prod([m if c else 1 - m for m, c in zip(members, chosen, strict=True)])
            total += weight
            inside += weight * np.array(chosen)
    expected = inside / total
    for twin in (kernels, reference):
        np.testing.assert_allclose(twin.members_by_count(members, sizes, 2, 3), expected)


def test_the_information_about_a_membership_by_enumeration():
    """Two documents, two cells, an answer that is wrong with probability .1: all cases summed."""
    beliefs = np.array([[0.7, 0.3], [0.4, 0.6]])
    within = np.array([[[1.0, 0.25], [0.75, 0.0]]])
    joint = np.zeros((2, 2, 2))  # document, member or not, answer
    for x, y in itertools.product(range(2), repeat=2):
        first_better = 1.0 if x < y else 0.0 if x > y else 0.5
        says = 0.9 * first_better + 0.1 * (1 - first_better)
        for document, cell in enumerate((x, y)):
            for member in (0, 1):
                inside = within[0, document, cell]
                weight = beliefs[0, x] * beliefs[1, y] * (inside if member else 1 - inside)
                joint[document, member] += weight * np.array([says, 1 - says])
    expected = 0.0
    for table in joint:
        independent = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
        expected += (table * np.log2(table / independent)).sum()
    for twin in (kernels, reference):
        found = twin.pair_information(beliefs, within, np.array([2.0]), 0.1)
        np.testing.assert_allclose(found, 2 * expected * (1 - np.eye(2)), atol=1e-12)
        judged = twin.judged_pair_information(
            beliefs, np.ones((2, 1, 2)), np.array([0]), np.array([1]), np.ones(1), np.ones(1),
            within, np.array([2.0]), 0.1,
        )  # fmt: skip
        np.testing.assert_allclose(judged, 2 * expected)
