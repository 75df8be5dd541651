"""Passes over the features equal their products and losses, with any number of threads."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.kernels import reference

PASSES = [
    name for name in kernels.KERNELS if name.endswith("_pass") and not name.startswith("click_")
]
SIZES = st.lists(st.integers(0, 9), max_size=6)


def problem(sizes, n_features, seed, dtype=np.float64, n_levels=5):
    """Features, weights, and everything that a pass may take."""
    rng = np.random.default_rng(seed)
    n, offsets = sum(sizes), np.cumsum([0, *sizes], dtype=np.int64)
    scores = rng.normal(size=n)
    levels = np.zeros(n, dtype=np.int64)
    for a, b in itertools.pairwise(offsets.tolist()):
        levels[a:b] = np.unique(rng.integers(0, n_levels, b - a), return_inverse=True)[1]
    by_level = reference.order(levels.astype(np.float64), None, offsets)
    members = np.flatnonzero(levels > n_levels // 2)
    n_members = np.diff(np.searchsorted(members, offsets))
    return {
        "x": rng.normal(size=(n + 3, n_features)).astype(dtype),
        "w": rng.normal(size=n_features),
        "rows": rng.permutation(n + 3)[:n],
        "weight": rng.random(len(sizes)),
        "offsets": offsets,
        "target": rng.random(n),
        "stages": rng.integers(0, 12, len(sizes)),
        "scores": scores,
        "levels": levels,
        "by_level": by_level,
        "members": members,
        "member_offsets": np.cumsum([0, *n_members], dtype=np.int64),
        "shares": rng.random((2, len(sizes))),
    }


def run(kernel_module, name, d, rows):
    """Call a pass with its own arguments."""
    arguments = {
        "softmax_cross_entropy_pass": {"target": d["target"]},
        "plackett_luce_pass": {"order": d["by_level"], "stages": d["stages"]},
        "logistic_pairs_pass": {"levels": d["levels"], "by_level": d["by_level"]},
        "softmax_and_logistic_pass": {
            "target": d["target"][d["members"]],
            "members": d["members"],
            "member_offsets": d["member_offsets"],
            "list_weight": d["shares"][0],
            "levels": d["levels"],
            "by_level": d["by_level"],
            "pair_weight": d["shares"][1],
        },
        "hinge_pairs_product_pass": {
            "scores": d["scores"],
            "levels": d["levels"],
            "order": reference.order(d["scores"], None, d["offsets"]),
        },
    }[name]
    X = d["x"] if rows is not None else np.ascontiguousarray(d["x"][d["rows"]])
    kernel = getattr(kernel_module, name)
    return kernel(X, d["w"], rows, d["weight"], **arguments, offsets=d["offsets"])


@pytest.mark.parametrize("name", PASSES)
@given(sizes=SIZES, n_features=st.integers(0, 20), seed=st.integers(0, 2**32 - 1))
def test_twins(native, name, sizes, n_features, seed):
    for dtype in (np.float32, np.float64):
        d = problem(sizes, n_features, seed, dtype)
        for rows in (None, d["rows"]):
            for a, b in zip(run(native, name, d, rows), run(reference, name, d, rows), strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n_levels", [2, 8, 9, 30])
def test_the_product_with_any_number_of_levels(native, n_levels):
    d = problem([40, 0, 1, 70], 6, n_levels, n_levels=n_levels)
    for a, b in zip(
        run(native, "hinge_pairs_product_pass", d, None),
        run(reference, "hinge_pairs_product_pass", d, None),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


LONG_SIZES = [1, 3000, 0, 20, *[40] * 900, 2500]  # queries shorter and longer than a block


@pytest.fixture(scope="module")
def long_problem():
    """Enough rows for threads."""
    return problem(LONG_SIZES, 700, 0, np.float32)


@pytest.mark.parametrize("name", PASSES)
def test_blocks_of_any_queries_and_any_number_of_threads(native, name, long_problem):
    d, sizes = long_problem, LONG_SIZES
    with threadpool_limits(2):
        many = run(native, name, d, d["rows"])
    with threadpool_limits(1):
        one = run(native, name, d, d["rows"])
    copied = run(native, name, d, None)
    for a, b, c in zip(many, one, copied, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()
    scores = kernels.matvec(d["x"], d["w"], d["rows"])
    if name == "softmax_cross_entropy_pass":
        values, g, _ = kernels.softmax_cross_entropy(scores, d["target"], d["offsets"])
        gradient = kernels.rmatvec(d["x"], g * np.repeat(d["weight"], sizes), d["rows"])
        np.testing.assert_allclose(many[0], values, rtol=1e-12)
        np.testing.assert_allclose(many[1], gradient, rtol=1e-8, atol=1e-8)
