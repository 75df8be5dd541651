"""LETOR text in the shape of MQ2008, generated fast and always the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from podium import make_synthetic

N_FEATURES = 46
NON_ZERO = 0.6
"""Share of feature values that are not 0; zeros are written, as in MQ2008."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_PAD = 0
_QUERIES_AT_ONCE = 500
_FIRST_QID = 10_000


def write_mq2008(path: Path, size: int, seed: int = 0) -> int:
    """Write at least `size` bytes of text; return the number of lines."""
    rng = np.random.default_rng(seed)
    lines, qid = 0, _FIRST_QID
    with open(path, "wb") as file:
        while file.tell() < size:
            n_docs = _list_sizes(int(rng.integers(1 << 31)))
            file.write(_text(rng, qid + np.repeat(np.arange(len(n_docs)), n_docs)))
            lines += int(n_docs.sum())
            qid += len(n_docs)
    return lines


def _list_sizes(seed: int) -> Ints:
    data = make_synthetic(_QUERIES_AT_ONCE, n_docs="mq2008", n_features=1, seed=seed)
    return data.groups.sizes


def _text(rng: np.random.Generator, qids: Ints) -> bytes:
    """Return one line per query id: join columns of equal width, then drop the padding."""
    n = len(qids)
    labels = rng.choice(3, n, p=(0.8, 0.15, 0.05))
    columns = [_digits(labels, 1), _constant(n, " qid:"), _digits(qids, 7, pad=True)]
    for feature in range(1, N_FEATURES + 1):
        columns += [_constant(n, f" {feature}:"), _fraction(_feature(rng, n), 6)]
    columns += [*_comment(rng, n), _constant(n, "\n")]
    text = np.hstack(columns).ravel()
    return text[text != _PAD].tobytes()


def _feature(rng: np.random.Generator, n: int) -> Ints:
    """Draw values from 0 to 1, in millionths."""
    return np.where(rng.random(n) < NON_ZERO, rng.integers(1, 1_000_001, n), 0)


def _comment(rng: np.random.Generator, n: int) -> Sequence[Bytes]:
    """Return comments such as `#docid = GX008-86-4444840 inc = 1 prob = 0.086622`.

    Every other line has a long inc.
    """
    inc = _fraction(rng.integers(10**14, 10**15, n), 16)
    whole = np.full_like(inc, _PAD)
    whole[:, 0] = ord("1")
    return [
        _constant(n, " #docid = GX"),
        _digits(rng.integers(0, 273, n), 3),
        _constant(n, "-"),
        _digits(rng.integers(0, 100, n), 2),
        _constant(n, "-"),
        _digits(rng.integers(1_000_000, 20_000_000, n), 8, pad=True),
        _constant(n, " inc = "),
        np.where(rng.random((n, 1)) < 0.5, inc, whole),
        _constant(n, " prob = "),
        _fraction(rng.integers(1, 1_000_000, n), 6),
    ]


def _constant(n: int, text: str) -> Bytes:
    return np.tile(np.frombuffer(text.encode(), dtype=np.uint8), (n, 1))


def _fraction(values: Ints, decimals: int) -> Bytes:
    """Return the digits of values below 10 in units of 10^-decimals."""
    digits = _digits(values, decimals + 1)
    return np.hstack([digits[:, :1], _constant(len(values), "."), digits[:, 1:]])


def _digits(values: Ints, width: int, pad: bool = False) -> Bytes:
    """Return decimal digits, one per column; `pad` marks leading zeros for removal."""
    out = np.empty((len(values), width), dtype=np.uint8)
    rest = values
    for column in range(width - 1, -1, -1):
        rest, digit = np.divmod(rest, 10)
        out[:, column] = digit + ord("0")
    if pad:
        leading = np.cumsum(out != ord("0"), axis=1) == 0
        out[leading] = _PAD
    return out
