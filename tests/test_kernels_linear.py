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


def test_many_blocks_and_any_number_of_threads():
    rng = np.random.default_rng(0)
    n = 1_100_011  # long enough for threads
    X, w, g = rng.random((n, 37)), rng.normal(size=37), rng.normal(size=n)
    with threadpool_limits(2):
        many = kernels.matvec(X, w), kernels.rmatvec(X, g)
    with threadpool_limits(1):
        one = kernels.matvec(X, w), kernels.rmatvec(X, g)
    for a, b in zip(many, one, strict=True):
        assert a.tobytes() == b.tobytes()
    np.testing.assert_allclose(many[1], X.T @ g, rtol=1e-8, atol=1e-8)
