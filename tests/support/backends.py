"""The kernels that are there: native where it was built, and the reference."""

import pytest

from podium.kernels import reference

try:
    from podium.kernels import _native
except ImportError:
    BACKENDS = [reference]
else:
    BACKENDS = [_native, reference]

backends = pytest.mark.parametrize("backend", BACKENDS, ids=lambda m: m.__name__.split(".")[-1])
