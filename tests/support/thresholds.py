"""What the tests of exports share: rows on thresholds and beside them, and how far float32 may be off."""

import numpy as np

from podium.exchange import MinMax
from podium.exchange.portable_model import WeightedSum, make_portable, scale_columns
from podium.rankers.float32 import floor32
from podium.rankers.forest import Forest

EPS = float(np.finfo(np.float32).eps)


def thresholds(form):
    """Each feature's thresholds."""
    found = [set() for _ in range(form.width)]
    for tree in form.trees:
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            found[feature].add(float(threshold))
    return [np.array(sorted(values)) for values in found]


def hard_rows(form, width, n=10_000, seed=0, missing=0.0):
    """Random float32 rows; trees get half of the values on their thresholds or right beside them."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, width)) * 2).astype(np.float32)
    if isinstance(form, Forest):
        for j, edges in enumerate(thresholds(form)):
            if not len(edges):
                continue
            on, step = floor32(rng.choice(edges, n)), rng.integers(-2, 3, n)
            for _ in range(2):
                far = np.where(step > 0, np.inf, -np.inf).astype(np.float32)
                with np.errstate(over="ignore", under="ignore"):
                    on = np.where(step == 0, on, np.nextafter(on, far))
                step = step - np.sign(step)
            sharp = (rng.random(n) < 0.5) & np.isfinite(on)
            X[:, j] = np.where(sharp, on, X[:, j])
    X[rng.random(X.shape) < missing] = np.nan
    return X


def bound(form, X):
    """How far float32 arithmetic may be from float64's, a row: roundings times the terms' sizes."""
    return _roundings(form, X) + 1e-37  # what is smaller still has fewer digits


def _roundings(form, X):
    X = X.astype(np.float64)
    if isinstance(form, WeightedSum):
        terms = np.abs(form.weights) * _sizes(X, form.normalizers)
        return EPS * (len(form.weights) + 4) * terms.sum(axis=1)
    if isinstance(form, Forest):
        largest = sum(np.abs(tree.value).max() for tree in form.trees)
        return np.full(len(X), EPS * (len(form.trees) + 2) * largest)
    size = (np.abs(X) + np.abs(form.mean)) / form.scale  # no activation is steeper than 1
    roundings = 4
    for W, b in zip(form.weights, form.biases, strict=True):
        size = size @ np.abs(W) + np.abs(b)
        roundings += len(W) + 4
    return EPS * roundings * size[:, 0]


def _sizes(X, normalizers):
    sizes = np.abs(scale_columns(X, normalizers))
    for j, n in enumerate(normalizers):
        if n is not None:
            ends = np.abs([n.minimum, n.maximum]).sum() if isinstance(n, MinMax) else 0.0
            sizes[:, j] *= 1 + ends / n.divisor  # maximum - minimum, too, is rounded
            sizes[:, j] += (np.abs(X[:, j]) + abs(n.shift)) / n.divisor
    return sizes


def assert_same(form, X, expected, scores):
    """Scores equal to float32 rounding, and orders but among scores within it."""
    allowed = bound(form, X)
    wrong = np.abs(expected - scores) > allowed
    assert not wrong.any(), (expected[wrong][:3], scores[wrong][:3], allowed[wrong][:3])
    order = np.argsort(-expected, kind="stable")
    # What stands lower by more than both may be off stands lower there, too.
    lows = np.asarray(scores, dtype=np.float64)[order]
    gap = expected[order][:-1] - expected[order][1:]
    apart = gap > allowed[order][:-1] + allowed[order][1:]
    assert (lows[:-1][apart] > lows[1:][apart]).all()


def form_of(model, **options):
    return make_portable(model, **options).form
