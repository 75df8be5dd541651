"""Products with the feature matrix: the native ones equal NumPy's, with any number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.kernels import reference

SHAPES = st.tuples(st.integers(0, 70), st.integers(1, 50), st.integers(0, 2**32 - 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(shape=SHAPES)
def test_products_equal_the_sums_they_are(dtype, shape):
    n, d, seed = shape
    rng = np.random.default_rng(seed)
    X, w, g = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=d), rng.normal(size=n)
    wide = X.astype(np.float64)
    np.testing.assert_allclose(kernels.matvec(X, w), (wide * w).sum(axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        kernels.rmatvec(X, g), (wide * g[:, None]).sum(axis=0), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(kernels.matvec(X, w), reference.matvec(X, w), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernels.rmatvec(X, g), reference.rmatvec(X, g), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(shape=SHAPES, n_chosen=st.integers(0, 90))
def test_products_of_chosen_rows_equal_those_of_a_copy(dtype, shape, n_chosen):
    n, d, seed = shape[0] + 1, *shape[1:]
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(n, d)).astype(dtype), rng.integers(0, n, n_chosen)
    w, g = rng.normal(size=d), rng.normal(size=n_chosen)
    for kernel, vector in ((kernels.matvec, w), (kernels.rmatvec, g)):
        assert kernel(X, vector, rows).tobytes() == kernel(X[rows], vector).tobytes()
    np.testing.assert_allclose(
        kernels.rmatvec(X, g, rows), reference.rmatvec(X, g, rows), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        kernels.matvec(X, w, rows), reference.matvec(X, w, rows), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("list_length", [7, 100, 3_000])
def test_chosen_rows_of_many_blocks_and_windows(list_length):
    rng = np.random.default_rng(list_length)
    n, d = 9_000, 70
    X, w, g = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=n)
    lists = np.arange(n) // list_length
    rows = np.lexsort((rng.random(n), rng.permutation(lists.max() + 1)[lists]))
    for kernel, vector in ((kernels.matvec, w), (kernels.rmatvec, g)):
        assert kernel(X, vector, rows).tobytes() == kernel(X[rows], vector).tobytes()


def test_many_blocks_and_any_number_of_threads():
    rng = np.random.default_rng(0)
    n = 1_100_022  # long enough for threads
    X, w, g = rng.random((n, 37)), rng.normal(size=37), rng.normal(size=n)
    with threadpool_limits(2):
        many = _products(X, w, g)
    with threadpool_limits(1):
        one = _products(X, w, g)
    for a, b in zip(many, one, strict=True):
        assert a.tobytes() == b.tobytes()
    np.testing.assert_allclose(many[1], X.T @ g, rtol=1e-8, atol=1e-8)


def _products(X, w, g):
    rows = np.arange(len(X)).reshape(-1, 11)[:, ::-1].ravel()
    return (
        kernels.matvec(X, w), kernels.rmatvec(X, g),
        kernels.matvec(X, w, rows), kernels.rmatvec(X, g, rows),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chosen_rows_without_columns(dtype):
    X, rows = np.zeros((4, 0), dtype), np.array([1, 0, 3])
    assert kernels.matvec(X, np.zeros(0), rows).tolist() == [0, 0, 0]
    assert kernels.rmatvec(X, np.ones(3), rows).tolist() == []
