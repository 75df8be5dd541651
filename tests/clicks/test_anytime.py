"""Tests that may be looked at at any time: wealth by brute force, errors, intervals."""

import itertools
import math

import numpy as np
import pytest

from podium.clicks.anytime_tests import BET_SHARES, anytime_estimate
from podium.clicks.experiment_log import ExperimentLog
from podium.clicks.experiment_result import experiment_result, weighted_outcomes
from podium.errors import DataError, UsageError


def wealth(outcomes, mean, side, bound=1.0):
    """The wealth of the gambler, by the definition."""
    products = [
        math.prod(1 + side * share * (x - mean) / (2 * bound) for x in outcomes)
        for share in BET_SHARES
    ]
    return sum(products) / len(products)


def test_the_p_value_is_two_over_the_larger_wealth():
    outcomes = [1, 1, -1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    estimate = anytime_estimate(outcomes)
    assert estimate.p_value == pytest.approx(min(1, 2 / wealth(outcomes, 0, 1)))
    assert estimate.mean == pytest.approx(9 / 12)


def test_the_ends_of_the_interval_are_where_the_wealth_is_2_over_alpha():
    outcomes = np.random.default_rng(0).uniform(-0.5, 2, size=300)
    estimate = anytime_estimate(outcomes, 2.0, level=0.9)
    assert wealth(outcomes, estimate.low, 1, 2.0) == pytest.approx(2 / 0.1, rel=1e-6)
    assert wealth(outcomes, estimate.high, -1, 2.0) == pytest.approx(2 / 0.1, rel=1e-6)
    assert estimate.low < estimate.mean < estimate.high


def test_a_fair_game_is_fair_in_every_round():
    """The mean wealth over all sequences of outcomes with mean 0 is 1."""
    sequences = itertools.product((-1, 0, 1), repeat=4)
    probability = {-1: 0.3, 0: 0.4, 1: 0.3}
    expected = sum(
        math.prod(probability[x] for x in sequence) * wealth(sequence, 0, 1)
        for sequence in sequences
    )
    assert expected == pytest.approx(1.0)


def test_daily_looks_do_not_inflate_errors():
    """28 looks at 300 games without a winner: the bound is 5%, plus four standard errors."""
    rng = np.random.default_rng(1)
    games = rng.choice([-1.0, 0.0, 1.0], p=[0.25, 0.5, 0.25], size=(300, 28 * 50))
    largest = np.zeros((300, 28))
    for side in (1, -1):
        growth = np.log1p(side * BET_SHARES[:, None, None] / 2 * games).cumsum(axis=2)
        largest = np.maximum(largest, np.exp(growth[:, :, 49::50]).mean(axis=0))
    is_decided = (largest >= 2 / 0.05).any(axis=1)
    assert is_decided.mean() <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 300)
    for game in (int(is_decided.argmax()), int(is_decided.argmin())):
        looks = [anytime_estimate(games[game, : 50 * day]).is_decided for day in range(1, 29)]
        assert looks == (largest[game] >= 2 / 0.05).tolist()


def test_a_clear_winner_is_named_and_what_is_needed_is_about_right():
    rng = np.random.default_rng(2)
    game = rng.choice([-1.0, 1.0], p=[0.4, 0.6], size=20_000)
    early = anytime_estimate(game[:200])
    assert early.more is not None
    total = next(n for n in range(100, 20_000, 50) if anytime_estimate(game[:n]).is_decided)
    assert anytime_estimate(game).more == 0
    assert anytime_estimate(game).low > 0
    assert total / 5 < 200 + early.more < total * 20
    assert anytime_estimate(-game).high < 0


def test_no_outcomes_say_nothing():
    estimate = anytime_estimate([])
    assert (estimate.low, estimate.high, estimate.p_value, estimate.more) == (-1, 1, 1, None)
    assert anytime_estimate([0.0] * 50).more is None


def test_wrong_outcomes():
    with pytest.raises(DataError, match="from -1 to 1"):
        anytime_estimate([2.0])
    with pytest.raises(DataError, match="from -1 to 1"):
        anytime_estimate([math.nan])
    with pytest.raises(UsageError, match="level"):
        anytime_estimate([0.0], level=1.0)


def test_weighted_outcomes_have_the_difference_of_the_arms_as_mean():
    """Over all assignments of four units, weighted by their probabilities."""
    y, share = {0: [1, 0, 0.5, 0], 1: [1, 1, 0.5, 0.25]}, 0.3
    expected = 0.0
    for arms in itertools.product((0, 1), repeat=4):
        values = np.array([y[arm][unit] for unit, arm in enumerate(arms)], dtype=float)
        p = math.prod(share if arm else 1 - share for arm in arms)
        expected += p * float(weighted_outcomes(values, np.array(arms), share).mean())
    assert expected == pytest.approx((sum(y[1]) - sum(y[0])) / 4)


def a_log(method, outcome, unit=None, arm=None, share=0.5):
    n = len(outcome)
    return ExperimentLog(
        "x", method, ("old", "new"), np.arange(n) if unit is None else np.array(unit),
        np.array(outcome, dtype=float), np.zeros(n, dtype=int) if arm is None else np.array(arm),
        share, {},
    )  # fmt: skip


def test_lists_of_a_unit_count_as_one():
    result = experiment_result(a_log("team-draft", [1, 1, -1, 0, -1], unit=[0, 0, 0, 1, 2]))
    assert (result.lists, result.units) == (5, 3)
    assert (result.wins, result.losses, result.ties) == (1, 1, 1)
    assert result.estimate.mean == pytest.approx((1 / 3 + 0 - 1) / 3)


def test_an_ab_test_finds_the_better_arm_and_says_when_arms_are_lost():
    rng = np.random.default_rng(3)
    arm = (rng.random(4_000) < 0.5).astype(int)
    clicks = rng.random(4_000) < 0.3 + 0.2 * arm
    result = experiment_result(a_log("ab", clicks, arm=arm))
    assert result.winner == "new"
    assert result.rates == (clicks[arm == 0].mean(), clicks[arm == 1].mean())
    assert result.estimate.low < 0.2 < result.estimate.high
    assert result.messages == ()
    kept = (arm == 0) | (rng.random(4_000) < 0.7)
    lost = experiment_result(a_log("ab", clicks[kept], arm=arm[kept]))
    assert "lists of an arm are lost" in lost.messages[0]


def test_one_busy_session_is_named():
    result = experiment_result(a_log("team-draft", [1.0] * 200, unit=[0] * 100 + [*range(1, 101)]))
    assert result.units == 101
    assert "has 50% of the lists" in result.messages[0]
