"""Simulated assessors: what strategies cost, and whether they find the truth."""

import math

import numpy as np
import pytest

from podium.aggregation import kendall
from podium.errors import UnknownNameError, UsageError
from podium.labelling import STRATEGIES, Assessor, Question, StrategyRun, simulate
from podium.labelling.simulation import _prior

EACH = pytest.mark.parametrize("strategy", STRATEGIES)


def test_the_heap_as_printed_and_without_implied_pairs():
    printed = simulate("heap", 50, 10, skip_implied=False, runs=400)
    assert printed.mean == pytest.approx(151.8, rel=0.05)
    assert simulate("heap", 50, 10, runs=400).mean <= 135


def test_the_tournament_takes_the_fewest_and_keeps_its_bound():
    simulation = simulate("tournament", 50, 10, runs=1000)
    assert simulation.mean <= 92
    assert simulation.judgments.max() <= 94 == simulation.bound
    assert simulation.judgments.min() >= math.log2(math.perm(50, 10)) - 10


@pytest.mark.parametrize("seed", range(3))
def test_a_prior_saves_judgments(seed):
    simulation = simulate("tournament", 50, 10, prior_tau=0.6, runs=200, seed=seed)
    assert simulation.mean <= 82
    assert simulation.judgments.max() <= simulation.bound


def mallows(n, q, rng):
    """A permutation with inversions drawn as in Mallows' model, best first."""
    order = []
    for j in range(n):
        p = q ** np.arange(j + 1)
        order.insert(j - int(rng.choice(j + 1, p=p / p.sum())), str(j))
    return order


def swapped(n, rng, tau):
    """Random swaps until tau is reached."""
    order = list(range(n))
    while inversions(order) < (1 - tau) / 2 * math.comb(n, 2):
        i, j = rng.choice(n, 2, replace=False)
        order[i], order[j] = order[j], order[i]
    return [str(i) for i in order]


def inversions(order):
    values = np.array(order, dtype=int)
    return int(np.triu(values[:, None] > values[None, :]).sum())


@pytest.mark.parametrize("kind", ["mallows", "swaps"])
def test_priors_that_err_in_other_ways_save_as_much(kind):
    rng = np.random.default_rng(0)
    documents = [str(i) for i in range(50)]
    assessor = Assessor({d: int(d) for d in documents})
    judged, taus = [], []
    for _ in range(100):
        prior = mallows(50, 0.868, rng) if kind == "mallows" else swapped(50, rng, 0.6)
        taus.append(1 - 2 * inversions(prior) / math.comb(50, 2))
        run = StrategyRun("tournament", rng.permutation(documents).tolist(), 10, prior)
        judged.append(assessor.judge(run).judged)
    assert np.mean(taus) == pytest.approx(0.6, abs=0.04)
    assert np.mean(judged) <= 85


def test_a_prior_has_the_tau_asked_for():
    rng = np.random.default_rng(0)
    documents = [f"d{i}" for i in range(40)]
    for tau in (-0.5, 0.0, 0.6, 1.0):
        found = []
        for _ in range(60):
            quality = rng.standard_normal(40)
            true = [documents[i] for i in np.argsort(-quality)]
            prior = _prior(documents, quality, tau, rng)
            found.append(1 - 2 * kendall(true, prior) / math.comb(40, 2))
        assert np.mean(found) == pytest.approx(tau, abs=0.05)


@EACH
@pytest.mark.parametrize("ties", [0.0, 0.3, 1.0])
def test_a_consistent_assessor_is_understood(strategy, ties):
    simulation = simulate(strategy, 20, 5, ties=ties, runs=30)
    assert simulation.recall == 1
    assert simulation.judgments.max() <= simulation.bound
    if ties == 1:
        assert simulation.judgments.tolist() == [20 - 1] * 30


@pytest.mark.parametrize("strategy", ["tournament", "heap", "sort"])
def test_errors_cost_recall(strategy):
    exact, noisy, wild = (
        simulate(strategy, 30, 5, noise=noise, runs=60).recall for noise in (0, 0.1, 0.5)
    )
    assert exact == 1 > noisy > wild


def test_an_assessor_who_always_errs_says_the_opposite():
    rng = np.random.default_rng(0)
    assessor = Assessor({"a": 0, "b": 1, "c": 1}, 1.0, rng)
    assert {assessor.answer(Question("a", "b")) for _ in range(20)} == {"<"}
    assert {assessor.answer(Question("b", "c")) for _ in range(20)} == {"<", ">"}
    assert assessor.top(1) == {"a"}
    assert assessor.top(2) == assessor.top(9) == {"a", "b", "c"}


@EACH
def test_the_same_seed_gives_the_same_races(strategy):
    options = {"noise": 0.1, "ties": 0.1, "prior_tau": 0.3}
    few, many, other = (
        simulate(strategy, 20, 5, **options, runs=runs, seed=seed).judgments.tolist()
        for runs, seed in ((3, 1), (6, 1), (3, 2))
    )
    assert many[:3] == few != other


def test_the_summary_is_of_the_counts():
    simulation = simulate("heap", 30, 5, runs=40)
    counts = sorted(simulation.judgments.tolist())
    assert simulation.mean == sum(counts) / 40
    # The least count that at least the share of runs does not exceed.
    assert simulation.quantiles == {
        share: counts[math.ceil(share * 40) - 1] for share in (0.05, 0.25, 0.5, 0.75, 0.95)
    }
    assert f"{simulation.mean:.1f} judgments" in repr(simulation)
    assert simulation.judgments.dtype == np.int64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n of 1 or more, got 0"),
        ({"k": 0}, "k of 1 or more, got 0"),
        ({"runs": 0}, "runs of 1 or more, got 0"),
        ({"noise": 1.5}, r"noise as a probability in \[0, 1\], got 1.5"),
        ({"ties": -0.1}, "ties as a probability"),
        ({"noise": math.nan}, "noise as a probability"),
        ({"prior_tau": 2}, r"prior_tau in \[-1, 1\], got 2"),
        ({"seed": -1}, "seed"),
    ],
)
def test_errors_say_what_is_wrong(options, message):
    with pytest.raises(UsageError, match=message):
        simulate("heap", **({"n": 10, "k": 3} | options))


def test_an_unknown_strategy_names_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean tournament"):
        simulate("turnament", 10, 3)
