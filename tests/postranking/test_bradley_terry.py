"""Bradley-Terry scores: the native kernel, its twin, the dense objective and SciPy agree."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.errors import UsageError
from podium.kernels import reference
from podium.postranking import NotTopK, Together, TopK, postrank
from podium.postranking.listing import Listing
from podium.postranking.methods.bradley_terry import (
    BradleyTerry,
    by_score,
    kernel_arguments,
    margin_weights,
)
from podium.postranking.methods.paper_descent import PaperDescent, PaperObjective
from podium.postranking.methods.preferences import Preferences
from podium.postranking.methods.problem import PostRankingProblem
from tests.support.case_counts import soak_cases

TOL = 1e-8


def posed(scores, base="uniform", prior=0.1):
    """A list without rules, by its scores, best first."""
    scores = np.sort(np.asarray(scores, dtype=np.float64))[::-1]
    return PostRankingProblem(Listing.of(range(len(scores))), scores, (), prior, base)


def wishes_of(n, stars=(), springs=()):
    wish = Preferences(n)
    for doc, lo, hi, weight in stars:
        wish.add_star(doc, lo, hi, weight)
    wish.springs += springs
    return wish


def random_wish(rng, n, n_rules, high=2.0):
    """Top-k and not-top-k rules with weights from 0.1 to 10^high."""
    wish = Preferences(n)
    for _ in range(n_rules):
        rows, k, weight = (
            (int(rng.integers(n)),),
            int(rng.integers(1, 11)),
            10 ** rng.uniform(-1, high),
        )
        if rng.random() < 0.5:
            wish.promote(rows, k, weight)
        else:
            wish.demote(rows, k, weight)
    return wish


def off(f, s):
    """How far s can be from the minimum of f, which is as convex as (least eigenvalue of Q) |s|^2 / 2."""
    gradient = f.gradient(s)
    convex = np.linalg.eigvalsh(f.Q)[0] if len(s) else 1.0
    # Sums of n weights are known to some n eps of the largest.
    rounding = 8 * np.finfo(float).eps * len(s) * (f.A.sum() + np.abs(f.Q @ s).sum())
    return (np.linalg.norm(gradient) + rounding) / convex


# The kernel and its twin.

WEIGHT = st.floats(0.01, 300) | st.floats(-300, -0.01)


@st.composite
def problems_and_wishes(draw):
    base = draw(st.sampled_from(["uniform", "margin"]))
    out = []
    for n in draw(st.lists(st.integers(1, 12) | st.sampled_from([31, 32, 33, 40, 70]), max_size=5)):
        seed = draw(st.integers(0, 2**32 - 1))
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 5, n) if draw(st.booleans()) else rng.normal(size=n) ** 3
        prior = draw(st.sampled_from([0.001, 0.1, 1.0, 20.0]))
        row = st.integers(0, n - 1)
        run = st.tuples(row, row).map(lambda ends: (min(ends), max(ends) + 1))
        stars = [
            (doc, *ends, weight)
            for doc, ends, weight in draw(st.lists(st.tuples(row, run, WEIGHT), max_size=6))
        ]
        held = st.lists(row, min_size=2, max_size=6, unique=True) if n > 1 else st.nothing()
        springs = draw(st.lists(st.tuples(held, st.floats(0.01, 100)), max_size=2)) if n > 1 else []
        out.append((posed(scores, base, prior), wishes_of(n, stars, springs)))
    return [p for p, _ in out], [w for _, w in out]


@given(problems_and_wishes())
@settings(max_examples=soak_cases(150))
def test_twins(native, drawn):
    problems, wishes = drawn
    if not problems:
        return
    given_ = (*kernel_arguments(problems, wishes), TOL, 100)
    ours, twin = native.bradley_terry(*given_), reference.bradley_terry(*given_)
    for a, b in zip(ours, twin, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
    for q, (problem, wish) in enumerate(zip(problems, wishes, strict=True)):
        rows = slice(given_[1][q], given_[1][q + 1])
        f = PaperObjective(problem, wish)
        s, other = ours[0][rows], twin[0][rows]
        assert np.linalg.norm(s - other) <= off(f, s) + off(f, other)
        assert ours[1][q] == pytest.approx(f.value(s), rel=1e-11, abs=1e-11)
        assert ours[1][q] == pytest.approx(twin[1][q], rel=1e-11, abs=1e-11)
        rounding = 2e-15 * problem.n * (f.A.sum() + 1)  # both sums round
        assert ours[2][q] == pytest.approx(np.abs(f.gradient(s)).max(), abs=rounding)
        assert ours[2][q] <= max(TOL, rounding)


def test_no_lists(native):
    empty, zero = np.zeros(0), np.zeros(1, dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    given_ = (
        empty,
        zero,
        empty,
        empty,
        empty,
        none,
        none,
        none,
        empty,
        zero,
        none,
        zero,
        empty,
        zero,
    )
    for backend in (native, reference):
        assert [len(a) for a in backend.bradley_terry(*given_, TOL, 100)] == [0, 0, 0, 0]


def test_empty_lists_among_others(native):
    offsets = np.array([0, 0, 2, 2])
    none, zeros = np.zeros(0, dtype=np.int64), np.zeros(4, dtype=np.int64)
    given_ = (
        np.zeros(2), offsets, np.ones(3), np.zeros(3), np.ones(3), none, none, none, np.zeros(0),
        zeros, none, zeros[:1], np.zeros(0), zeros, TOL, 100,
    )  # fmt: skip
    for backend in (native, reference):
        s, value, norm, _ = backend.bradley_terry(*given_)
        assert s[0] == pytest.approx(-s[1])
        # The gradient of log(1 + e^-2x) + x^2 vanishes.
        assert s[0] * (1 + np.exp(2 * s[0])) == pytest.approx(1)
        assert value[[0, 2]].tolist() == norm[[0, 2]].tolist() == [0, 0]


@pytest.mark.parametrize("base", ["uniform", "margin"])
@pytest.mark.parametrize("n", [33, 128, 129, 161, 500, 1000])
def test_long_lists_have_the_gradient_of_all_pairs(native, n, base):
    rng = np.random.default_rng(n)
    problem, wish = posed(rng.normal(size=n), base), random_wish(rng, n, 5)
    s, value, norm, _ = native.bradley_terry(*kernel_arguments([problem], [wish]), TOL, 100)
    f = PaperObjective(problem, wish)
    assert norm[0] <= TOL
    assert np.abs(f.gradient(s)).max() == pytest.approx(norm[0], abs=1e-10)
    assert value[0] == pytest.approx(f.value(s), rel=1e-13)


# Not easy.


@pytest.mark.parametrize("base", ["uniform", "margin"])
@pytest.mark.parametrize("n", [1, 2, 3, 19, 60, 300])
@pytest.mark.parametrize(
    ("prior", "high"), [(1e-6, 2.0), (0.1, 6.0), (1e-6, 6.0), (1e4, 2.0), (0.1, 12.0)]
)
def test_huge_weights_and_tiny_priors(native, n, base, prior, high):
    assert native.__name__ == "podium.kernels._native"
    rng = np.random.default_rng(n)
    problem = posed(rng.normal(size=n), base, prior)
    wish = random_wish(rng, n, 5, high)
    (solution,) = BradleyTerry().minimise([problem], [wish])
    assert np.isfinite(solution.scores).all()
    assert np.isfinite(solution.value)
    assert solution.converged
    f = PaperObjective(problem, wish)
    rounding = 1e-15 * n * (f.A.sum() + 1)
    assert solution.gradient_norm == pytest.approx(
        np.abs(f.gradient(solution.scores)).max(), abs=rounding
    )


@pytest.mark.parametrize("base", ["uniform", "margin"])
@pytest.mark.parametrize("n", [32, 140])
def test_scores_further_apart_than_exponentials_reach(native, n, base):
    """Almost no prior: neighbours part until their pulls vanish."""
    problem, wish = (
        posed(np.arange(n), base, 1e-30),
        wishes_of(n, [(7, 20, n, 1.0), (9, 0, 2, -1.0)]),
    )
    s, value, norm, _ = native.bradley_terry(*kernel_arguments([problem], [wish]), 1e-12, 500)
    f = PaperObjective(problem, wish)
    assert np.ptp(s) > 700
    assert by_score(s).tolist() == list(range(n))
    assert norm[0] <= 1e-9
    assert np.abs(f.gradient(s)).max() == pytest.approx(norm[0], abs=1e-13 * n)
    # Up to a thousand a pair, half of which goes up and half comes down.
    assert value[0] == pytest.approx(f.value(s), abs=1e-13 * n * np.abs(f.A @ s).sum())


def test_not_converged_says_so():
    n = 50
    wish = random_wish(np.random.default_rng(1), n, 5)
    (solution,) = BradleyTerry(max_iter=1).minimise([posed(np.zeros(n))], [wish])
    assert (solution.iterations, solution.converged) == (1, False)
    assert solution.gradient_norm > TOL


# The objective, and the minimum.


@given(problems_and_wishes(), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_gradient_by_differences(drawn, seed):
    rng = np.random.default_rng(seed)
    for problem, wish in zip(*drawn, strict=True):
        f, s, h = PaperObjective(problem, wish), rng.normal(size=problem.n), 1e-5
        i = int(rng.integers(problem.n))
        step = h * np.eye(problem.n)[i]
        slope = (f.value(s + step) - f.value(s - step)) / (2 * h)
        # The third derivative of f is at most a tenth of the weights; f is known to eps.
        error = h**2 * f.A.sum() + 4e-16 * f.value(s) * problem.n / h
        assert f.gradient(s)[i] == pytest.approx(slope, abs=error + 1e-9)


def best_of_scipy(f, start):
    return minimize(
        f.value, start, jac=f.gradient, method="L-BFGS-B",
        options={"ftol": 0, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000, "maxcor": 30},
    )  # fmt: skip


def test_two_hundred_problems_as_scipy():
    rng = np.random.default_rng(0)
    problems, wishes = [], []
    for _ in range(200):
        n = int(rng.integers(2, 50))
        base = "uniform" if rng.random() < 0.5 else "margin"
        problems.append(posed(rng.normal(size=n), base, 10 ** rng.uniform(-2, 1)))
        wishes.append(random_wish(rng, n, int(rng.integers(6))))
    for problem, wish, ours in zip(
        problems, wishes, BradleyTerry().minimise(problems, wishes), strict=True
    ):
        f = PaperObjective(problem, wish)
        theirs = best_of_scipy(f, np.zeros(problem.n))
        assert ours.converged
        assert abs(ours.value - theirs.fun) <= 1e-8 * theirs.fun
        assert np.linalg.norm(ours.scores - theirs.x) <= off(f, ours.scores) + off(f, theirs.x)


@pytest.mark.parametrize("base", ["uniform", "margin"])
def test_the_same_minimum_from_twenty_starts(base):
    rng = np.random.default_rng(3)
    n = 30
    problem, wish = posed(rng.normal(size=n), base), random_wish(rng, n, 5)
    (ours,) = BradleyTerry().minimise([problem], [wish])
    f = PaperObjective(problem, wish)
    assert off(f, ours.scores) < 1e-6
    for _ in range(20):
        other = best_of_scipy(f, 5 * rng.normal(size=n)).x
        assert np.linalg.norm(other - ours.scores) <= off(f, other) + off(f, ours.scores)
    for seed in range(20):
        method = PaperDescent(seed, max_iter=3000, tol=1e-6)
        (slow,) = method.minimise([problem], [wish])
        assert slow.converged
        assert np.linalg.norm(slow.scores - ours.scores) <= off(f, slow.scores) + off(
            f, ours.scores
        )


# What the scores mean.


def outlier(n):
    return np.r_[1e6, np.zeros(n - 1)]


@pytest.mark.parametrize("base", ["uniform", "margin"])
@pytest.mark.parametrize("n", [1, 2, 5, 33, 130, 500, 2000])
@pytest.mark.parametrize("kind", ["normal", "ties", "equal", "outlier", "both ends"])
def test_without_rules_the_original_order(n, base, kind):
    if kernels.BACKEND == "reference":
        n = min(n, 130)
    rng = np.random.default_rng(n)
    scores = {
        "normal": rng.normal(size=n), "ties": rng.integers(0, 4, n), "equal": np.ones(n),
        "outlier": outlier(n), "both ends": outlier(n) - outlier(n)[::-1],
    }[kind]  # fmt: skip
    (solution,) = BradleyTerry().minimise([posed(scores, base)], [Preferences(n)])
    assert solution.converged
    assert by_score(solution.scores).tolist() == list(range(n))


@pytest.mark.parametrize("base", ["uniform", "margin"])
@pytest.mark.parametrize("n", [10, 60, 200])
def test_a_document_moves_with_its_weight(n, base):
    rng = np.random.default_rng(n)
    problem, row = posed(rng.normal(size=n), base), n // 2
    weights = 10 ** np.linspace(-2, 3, 21)
    for way in ("promote", "demote"):
        wishes = [Preferences(n) for _ in weights]
        for wish, weight in zip(wishes, weights, strict=True):
            getattr(wish, way)((row,), 3 if way == "promote" else n - 3, weight)
        found = BradleyTerry().minimise([problem] * len(wishes), wishes)
        places = [by_score(s.scores).tolist().index(row) for s in found]
        moves = np.diff(places) if way == "demote" else -np.diff(places)
        assert (moves >= 0).all()
        assert moves.sum() > 0
        # Heavy enough, it is there or beyond: third, or behind all but two.
        assert places[-1] <= 2 if way == "promote" else places[-1] >= n - 3


def test_rules_of_one_document_add_up(native):
    n = 50
    problem = posed(np.zeros(n))
    one = wishes_of(n, [(7, 0, 30, 2.0), (7, 20, 50, -3.0), (9, 0, 50, 1.0)])
    parts = [(7, lo, lo + 1, 0.5) for lo in range(30) if lo != 7] * 4
    parts += [(7, lo, 50, -1.0) for lo in (20, 20, 20)] + [(9, 0, 9, 1.0), (9, 9, 50, 1.0)]
    np.random.default_rng(0).shuffle(parts)
    a, b = (
        native.bradley_terry(*kernel_arguments([problem], [w]), TOL, 100)
        for w in (one, wishes_of(n, parts))
    )
    f = PaperObjective(problem, one)
    assert np.linalg.norm(a[0] - b[0]) <= off(f, a[0]) + off(f, b[0])
    assert a[1] == pytest.approx(b[1], rel=1e-13)


@pytest.mark.parametrize("base", ["uniform", "margin"])
def test_ten_thousand_rules(native, base):
    n = 200
    rng = np.random.default_rng(0)
    problem, wish = posed(rng.normal(size=n), base), random_wish(rng, n, 10_000)
    assert len(wish.doc) >= 10_000
    s, _, norm, steps = native.bradley_terry(*kernel_arguments([problem], [wish]), TOL, 100)
    assert steps[0] < 50
    f = PaperObjective(problem, wish)
    # All of the ten thousand weights lie on documents of 200: what rounding leaves.
    assert norm[0] <= max(TOL, 1e-14 * f.A.sum(axis=1).max())
    assert np.abs(f.gradient(s)).max() <= max(TOL, 1e-13 * f.A.sum(axis=1).max())


def many_lists():
    rng = np.random.default_rng(0)
    problems = [
        posed(rng.normal(size=n), base)
        for n in [*rng.integers(1, 60, 200), 400, 1500]
        for base in ("uniform", "margin")
    ]
    return problems, [random_wish(rng, p.n, 5) for p in problems]


def test_threads_change_nothing(native):
    problems, wishes = many_lists()

    def output(threads):
        with threadpool_limits(threads):
            found = BradleyTerry().minimise(problems, wishes)
        return [(solution.scores.tobytes(), solution.value) for solution in found]

    one = output(1)
    assert len(one) == len(problems)
    assert one == output(2)


# Algorithm 1 as printed.


def test_algorithm_1_falls_as_printed():
    rng = np.random.default_rng(0)
    n = 19
    problem, wish = posed(rng.normal(size=n), prior=0.0), random_wish(rng, n, 2)
    f = PaperObjective(problem, wish)
    found = [PaperDescent(max_iter=t).minimise([problem], [wish])[0] for t in range(12)]
    for now, then in itertools.pairwise(found):
        gradient = f.gradient(now.scores)
        step = now.scores - then.scores
        gamma = step @ gradient / (gradient @ gradient)
        assert np.log2(gamma) == pytest.approx(round(np.log2(gamma)))
        assert then.value <= now.value - gamma / 2 * (gradient @ gradient)
    assert [s.iterations for s in found] == list(range(12))
    assert not found[10].converged


def test_algorithm_1_depends_on_its_seed_and_on_nothing_else():
    n = 19
    problem, wish = posed(np.zeros(n), prior=0.0), random_wish(np.random.default_rng(0), n, 2)

    def scores(seed):
        return PaperDescent(seed).minimise([problem], [wish])[0].scores

    assert scores(1).tobytes() == scores(1).tobytes()
    assert scores(1).tobytes() != scores(2).tobytes()


def test_as_printed_there_is_no_minimum_where_no_rule_leads_back_to_the_first():
    """f falls for ever as the scores spread."""
    n = 8
    problem, wish = posed(np.zeros(n), prior=0.0), wishes_of(n, [(5, 2, 8, 3.0)])
    found = [PaperDescent(max_iter=t).minimise([problem], [wish])[0] for t in (10, 100, 1000)]
    assert found[0].value > found[1].value > found[2].value
    assert np.ptp(found[0].scores) < np.ptp(found[1].scores) < np.ptp(found[2].scores)
    with_prior = replace(problem, prior=0.1)
    settled = [PaperDescent(max_iter=t).minimise([with_prior], [wish])[0] for t in (1000, 2000)]
    assert settled[0].converged
    assert settled[0].scores.tobytes() == settled[1].scores.tobytes()


def test_as_printed_there_is_a_minimum_where_rules_lead_back_to_the_first():
    """Six documents, not-top-5 on the first, top-1 on the last: every start ends in one point."""
    rules = [NotTopK("a", 5), TopK("f", 1)]
    found = [
        postrank(
            list("abcdef"), rules, prior=0, pairs="printed", scale=scale,
            method=PaperDescent(seed=seed, max_iter=10_000, tol=1e-6),
        )
        for scale in ("pair", "rule")
        for seed in (0, 1, 2)
    ]  # fmt: skip
    assert all(one.converged for one in found)
    scores = np.array([one.scores for one in found])
    centred = scores - scores.mean(axis=1, keepdims=True)
    assert np.ptp(centred[:3], axis=0).max() < 1e-5
    assert np.ptp(centred[3:], axis=0).max() < 1e-5


@pytest.mark.parametrize("rules", [[], [TopK("f", 3)], [TopK("f", 1)], [NotTopK("a", 5)]])
def test_a_small_gradient_is_no_convergence_where_there_is_no_minimum(rules):
    found = postrank(
        list("abcdef"), rules, prior=0, pairs="printed", scale="pair",
        method=PaperDescent(max_iter=20_000),
    )  # fmt: skip
    assert found.gradient_norm <= PaperDescent().tol
    assert not found.converged


def random_stars(rng, n):
    """Up to four stars on random rows, and sometimes a spring."""
    wish = Preferences(n)
    for _ in range(rng.integers(5)):
        lo, hi = sorted(rng.integers(0, n + 1, 2).tolist())
        doc = int(rng.integers(n))
        if not lo <= doc < hi:
            wish.add_star(doc, lo, hi, float(rng.choice([-1.0, 1.0])))
    if rng.random() < 0.3:
        wish.spring(rng.choice(n, 2, replace=False).tolist(), 1.0)
    return wish


def test_strong_connection_is_that_of_the_graph():
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(500):
        n = int(rng.integers(2, 8))
        wish = random_stars(rng, n)
        f = PaperObjective(posed(np.zeros(n), prior=0.0), wish)
        edges = (f.A > 0) | (f.Q < 0)
        pieces, _ = connected_components(edges, connection="strong")
        answers.append(wish.is_strongly_connected())
        assert answers[-1] == (pieces == 1)
    assert 50 < sum(answers) < 450


def test_margin_weights_are_one_on_average():
    scores = np.sort(np.random.default_rng(0).normal(size=20))[::-1]
    floor, slope = margin_weights(scores)
    above, below = np.triu_indices(20, 1)
    assert np.mean(floor + slope * (scores[above] - scores[below])) == pytest.approx(1)
    assert margin_weights(np.ones(5)) == (1.0, 0.0)


# --- what is out of range ---


@pytest.mark.parametrize("scores", [[2e-320, 1e-320, 0.0], [1e308, 0.0, -1e308], [5.0, 5.0, 5.0]])
def test_margins_of_any_size_weigh_alike(scores):
    found = postrank(list("abc"), [TopK("c", 1, weight=50)], scores=scores, base="margin")
    assert found.converged
    assert np.isfinite(found.scores).all()
    assert found.order[0] == "c"


def test_a_prior_of_0_is_refused_for_the_reason_that_holds():
    with pytest.raises(UsageError, match=r"prior above 0.*up to a constant"):
        postrank(list("abc"), [TopK("c", 1)], prior=0)
    with pytest.raises(UsageError, match=r"prior above 0.*no minimum for this list"):
        postrank(list("abc"), [TopK("c", 2)], prior=0)
    assert len(postrank(list("abc"), [TopK("c", 1)], prior=0, method="paper")) == 3


@pytest.mark.parametrize("weight", [1e6, 1e9])
def test_the_heaviest_springs_converge_to_rounding(weight):
    found = postrank(list("abcdef"), [Together(["a", "f"], weight=weight)])
    assert found.converged
    score = dict(zip(found.order, found.scores, strict=True))
    assert abs(score["a"] - score["f"]) < 1e-5


def test_without_time_left_the_scores_so_far_are_returned(native):
    """No Newton step is done, and the norm says that it is not the minimum."""
    problem = PostRankingProblem(Listing.of(list(range(20))), None, ())
    wish = Preferences(20)
    wish.promote([19], 1, 1000.0)
    for backend in (native, reference):
        _, _, norm, steps = backend.bradley_terry(
            *kernel_arguments([problem], [wish]), TOL, 100, 0.0
        )
        assert steps.tolist() == [0]
        assert norm[0] > TOL
