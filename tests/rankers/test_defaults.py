"""Every ranker's defaults on generated problems of many shapes: never terrible without a warning."""

import json

import numpy as np
import pytest

from benchmarks import defaults
from benchmarks.defaults import SHAPES, DefaultsResult, ProblemShape, values_per_query
from podium.registry import compared_rankers

RECORD = json.loads(defaults.RESULTS.read_text())["shapes"]
SLOW = ("toprank", "coordinate-ascent", "cfbrs", "rpc-mtl")
"""Rankers that take seconds per fit; the study measures them."""
FAST = [name for name in compared_rankers() if name not in (*SLOW, defaults.BASELINE)]
SMALL = ProblemShape(n_train=40, settings={"n_features": 5, "grades": (0.6, 0.3, 0.1)})


def test_the_study_has_every_ranker_on_every_shape():
    assert list(RECORD) == list(SHAPES)
    for by_ranker in RECORD.values():
        assert set(by_ranker) == set(compared_rankers())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_docs_warn_of_every_default_that_loses(shape):
    page = defaults.PAGE.read_text().split(defaults.BEGIN)[1].split(defaults.END)[0]
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {shape} |")]
    for name, values in RECORD[shape].items():
        result = DefaultsResult(**values)
        assert (f"`{name}` {result.difference:+.3f}" in row) == result.needs_warning


def test_a_warning_needs_a_loss_and_its_significance():
    assert DefaultsResult(0.5, -0.011, 0.049).needs_warning
    assert not DefaultsResult(0.5, -0.009, 0.001).needs_warning
    assert not DefaultsResult(0.5, -0.1, 0.06).needs_warning
    assert not DefaultsResult(0.5, 0.1, 0.001).needs_warning


@pytest.fixture(scope="module")
def small_problem():
    """A small problem, and the NDCG@10 of a random order and of the baseline on it."""
    fold = SMALL.fold(seed=0, n_test=60)
    draws = np.random.default_rng(0).random((20, len(fold.test)))
    by_chance = np.mean([defaults.evaluate_queries(fold.test, s).mean() for s in draws])
    return fold, by_chance, values_per_query(defaults.BASELINE, fold).mean()


@pytest.mark.parametrize("name", FAST)
def test_no_default_is_near_chance(name, small_problem):
    """At least three quarters of the way from a random order to ranksvm."""
    fold, by_chance, baseline = small_problem
    value = values_per_query(name, fold).mean()
    assert value - by_chance >= 0.75 * (baseline - by_chance)
