"""Several assessors as one: Davidson's fit against scipy, majority and aggregators against loops."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from podium.aggregation import Borda, aggregate, fit_davidson
from podium.aggregation.davidson import _likelihood
from podium.errors import (
    DataError,
    DivergedError,
    EmptyDataError,
    LengthMismatchError,
    UnknownNameError,
    UsageError,
)
from podium.labelling import (
    JudgedTopK,
    Judgment,
    StrategyRun,
    bradley_terry,
    merge_grades,
    merge_top_k,
)
from podium.labelling.merging import mergers

COMPARISONS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 4), *[st.integers(0, 3)] * 3),
    min_size=1,
    max_size=8,
)


def columns(comparisons):
    """first, second, wins, losses, ties of items 0..4, no item against itself."""
    a, step, *counts = map(np.array, zip(*comparisons, strict=True))
    return a, (a + step) % 5, *counts


def naive_loss(x, first, second, wins, losses, ties, prior):
    """Davidson's likelihood as printed, one comparison at a time."""
    tied = sum(ties) > 0
    theta = x[:-1] if tied else x
    pi, nu = np.exp(theta), math.exp(x[-1]) if tied else 0.0
    loss = 0.5 * prior * float(np.dot(x, x))
    for i, j, won, lost, t in zip(first, second, wins, losses, ties, strict=True):
        root = nu * math.sqrt(pi[i] * pi[j])
        total = pi[i] + pi[j] + root
        loss -= won * math.log(pi[i] / total) + lost * math.log(pi[j] / total)
        loss -= t * math.log(root / total) if t else 0.0
    return loss


@given(COMPARISONS)
def test_davidsons_fit_is_scipys_minimum(comparisons):
    first, second, wins, losses, ties = columns(comparisons)
    found = fit_davidson(5, first, second, wins, losses, ties, prior=0.3)
    n = 5 + bool(ties.any())
    expected = minimize(
        naive_loss, np.zeros(n), (first, second, wins, losses, ties, 0.3), tol=1e-12
    )
    assert found.loss == pytest.approx(expected.fun, rel=1e-8, abs=1e-8)
    assert found.theta == pytest.approx(expected.x[:5], abs=2e-4)
    assert found.theta.sum() == pytest.approx(0, abs=1e-9)
    assert found.tie == pytest.approx(math.exp(expected.x[5]) if n == 6 else 0.0, abs=1e-3)


@given(COMPARISONS, st.lists(st.floats(-2, 2), min_size=6, max_size=6))
def test_gradient_and_hessian_by_finite_differences(comparisons, x):
    first, second, wins, losses, ties = columns(comparisons)
    counts = np.stack([wins, ties, losses], axis=1).astype(float)
    at = np.array(x[: 5 + bool(ties.any())])
    given_ = (first, second, counts, 0.3)
    value, gradient, hessian = _likelihood(at, *given_)
    assert value == pytest.approx(naive_loss(at, first, second, wins, losses, ties, 0.3))
    assert gradient == pytest.approx(
        approx_fprime(at, lambda y: _likelihood(y, *given_)[0], 1e-6), abs=1e-3
    )
    for i in range(len(at)):
        slope = approx_fprime(at, lambda y, i=i: _likelihood(y, *given_)[1][i], 1e-6)
        assert hessian[i] == pytest.approx(slope, abs=1e-3)


def test_two_items_are_solved_by_hand():
    # 3 wins, 1 loss, 2 ties: p = 1/2, 1/6, 1/3, so theta_0 - theta_1 = log 3 and
    # nu = p_tie / sqrt(p_win p_loss) = (1/3) / sqrt(1/12); nearly without a prior.
    found = fit_davidson(2, [0], [1], [3], [1], [2], prior=1e-9)
    assert found.theta[0] - found.theta[1] == pytest.approx(math.log(3), abs=1e-6)
    assert found.tie == pytest.approx((1 / 3) / math.sqrt(1 / 12), abs=1e-6)
    assert found.probabilities(0, 1) == pytest.approx((1 / 2, 1 / 3, 1 / 6), abs=1e-6)
    assert found.probabilities(1, 0) == pytest.approx((1 / 6, 1 / 3, 1 / 2), abs=1e-6)


def test_an_item_that_never_lost_and_one_never_compared():
    found = fit_davidson(3, [0], [1], [50], [0], [0], prior=1e-3)
    assert found.theta[0] > 3
    assert found.theta[2] == pytest.approx(0, abs=1e-9)
    assert found.tie == 0
    assert fit_davidson(2, [], [], [], [], []).theta.tolist() == [0, 0]


def test_a_fit_of_many_items_converges():
    rng = np.random.default_rng(0)
    n, m = 300, 3000
    theta = rng.normal(size=n) * 3
    a = rng.integers(0, n, m)
    b = (a + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(theta[b] - theta[a]))
    tied = rng.random(m) < 0.2
    found = fit_davidson(n, a, b, won & ~tied, ~won & ~tied, tied)
    assert found.iterations < 15
    assert np.corrcoef(found.theta, theta)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("comparison", "error", "told"),
    [
        (([0], [0], [1], [0], [0]), DataError, "item 0 is compared with itself"),
        (([0], [3], [1], [0], [0]), DataError, "from 0 to 2"),
        (([0], [-1], [1], [0], [0]), DataError, "from 0 to 2"),
        (([0], [1], [-1], [0], [0]), DataError, "0 or more"),
        (([0], [1], [math.nan], [0], [0]), DataError, "0 or more"),
        (
            ([0, 1], [1], [1], [0], [0]),
            LengthMismatchError,
            "must have the same length: one entry per comparison",
        ),
    ],
)
def test_comparisons_that_cannot_be(comparison, error, told):
    with pytest.raises(error, match=told):
        fit_davidson(3, *comparison)


def test_a_prior_is_above_zero_and_not_converging_is_an_error():
    with pytest.raises(UsageError, match="prior above 0"):
        fit_davidson(2, [0], [1], [1], [0], [0], prior=0)
    with pytest.raises(DivergedError, match="within 1 Newton"):
        fit_davidson(2, [0], [1], [90], [1], [3], prior=1e-6, max_iter=1)


# Top k


def top(levels, k=3):
    return JudgedTopK(tuple(map(tuple, levels)), k, 5)


@st.composite
def tops(draw, k=3):
    """What several assessors found among six documents."""
    found = []
    for _ in range(draw(st.integers(2, 4))):
        order = draw(st.permutations("abcdef"))
        levels, size = [], 0
        while size < k:
            n = draw(st.integers(1, 2))
            levels.append(tuple(order[size : size + n]))
            size += n
        found.append(JudgedTopK(tuple(levels), k, 5))
    return found


def naive_majority(results):
    documents = sorted({d for found in results for d in found.order})
    labels = [found.labels(documents) for found in results]
    score = Counter(dict.fromkeys(documents, 0))
    for x, y in itertools.permutations(documents, 2):
        votes = sum((one[x] > one[y]) - (one[x] < one[y]) for one in labels)
        score[x] += (votes > 0) - (votes < 0)
    levels, size = [], 0
    for value in sorted(set(score.values()), reverse=True):
        if size < results[0].k:
            levels.append({d for d in documents if score[d] == value})
            size += len(levels[-1])
    return levels


@given(tops())
def test_majority_is_victories_less_defeats(results):
    assert [set(level) for level in merge_top_k(results).levels] == naive_majority(results)


@given(tops(), st.sampled_from(mergers()))
def test_every_merger_gives_a_top_k_of_what_assessors_found(results, method):
    merged = merge_top_k(results, method)
    found = {d for one in results for d in one.order}
    assert set(merged.order) <= found
    assert len(merged.order) == len(set(merged.order)) >= min(3, len(found))
    assert len(merged.order) - len(merged.levels[-1]) < 3  # no level more than reaches the cut
    assert merged.k == 3
    assert merged.judged == 5 * len(results)
    assert merged == merge_top_k(results, method)


@pytest.mark.parametrize("method", mergers())
def test_assessors_who_agree_are_their_merger(method):
    results = [top(["a", "b", "c"])] * 3
    assert merge_top_k(results, method).order == ("a", "b", "c")
    assert merge_top_k(results[:1], method) is results[0]


@pytest.mark.parametrize("method", ["majority", "bradley-terry", "borda", "kemeny"])
def test_weights_decide(method):
    results = [top(["a", "b", "c"]), top(["c", "b", "a"])]
    assert merge_top_k(results, method, weights=[3, 1]).order[0] == "a"
    assert merge_top_k(results, method, weights=[1, 3]).order[0] == "c"


def test_an_aggregator_may_be_passed_in():
    results = [top(["a", "b", "c"]), top(["b", "d", "a"]), top(["d", "b", "a"])]
    rankings = [[list(level) for level in found.levels] for found in results]
    expected = list(aggregate(rankings, "borda", initial=list("abcd")))[:3]
    assert list(merge_top_k(results, Borda()).order[:3]) == expected


def test_fewer_than_k_where_all_else_was_bad():
    assert merge_top_k([top(["a"]), top(["a"])]).levels == (("a",),)
    assert merge_top_k([top([]), top([])]).levels == ()
    for method in mergers():
        assert merge_top_k([top([]), top(["a"])], method).order == ("a",)


def test_bradley_terry_hears_what_was_said():
    # Both found the same order; what they said of b and c decides.
    results = [top(["a", "b", "c"]), top(["a", "c", "b"])]
    said = [
        [Judgment("a", "b", ">"), Judgment("a", "c", ">"), Judgment("b", "c", ">")],
        [Judgment("a", "b", ">"), Judgment("a", "c", ">"), Judgment("c", "b", ">"), Judgment("d", "c", "~")],
    ]  # fmt: skip
    merged = merge_top_k(results, "bradley-terry", judgments=[*said[:1], [*said[1], *said[1][2:3]]])
    assert merged.order == ("a", "c", "b")
    with pytest.raises(LengthMismatchError, match="judgments of 2 assessors"):
        merge_top_k(results, "bradley-terry", judgments=said[:1])


def test_strengths_do_not_depend_on_sides():
    told = ("a", "b", ">"), ("c", "b", "<"), ("a", "c", "~"), ("c", "d", "bad")
    said = [Judgment(*one) for one in told]
    flipped = [judgment.flipped() for judgment in said]
    assert bradley_terry([said]) == bradley_terry([flipped])
    assert bradley_terry([[]], ["x", "y"]) == {"x": 0.0, "y": 0.0}


def test_both_bad_counts_against_both():
    """Davidson's fit with the border between good and bad as one item more, by hand."""
    ann = [Judgment("a", "b", ">"), Judgment("b", "c", "~"), Judgment("c", "d", "bad")]
    bob = [Judgment("a", "c", "<")]  # has called nothing bad, so the border is unknown
    a, b, c, d, border = range(5)
    first, second = [a, b, a, a, b, c, d], [b, c, c, border, border, border, border]
    #               a > b   b ~ c   a < c   a, b: ann called them good   c, d: bad
    wins, losses, ties = [1, 0, 0, 1, 1, 0, 0], [0, 0, 1, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0, 0]
    expected = fit_davidson(5, first, second, wins, losses, ties, prior=0.5)
    found = bradley_terry([ann, bob], prior=0.5)
    assert list(found.values()) == pytest.approx(expected.theta[:4].tolist())
    assert found["d"] < min(found[x] for x in "abc")


def judged(strategy, documents, k, answer, rng):
    run = StrategyRun(strategy, [documents[i] for i in rng.permutation(len(documents))], k)
    while not run.finished:
        run.judge(answer(run.step.a, run.step.b))
    return run.step, run.judgments


def test_a_document_that_most_reject_does_not_get_in():
    """Two of three call d04 bad, one has it fifth: with "bad" as a tie it was in 56 of 200 times."""
    documents = [f"d{i:02d}" for i in range(20)]

    def says(level):
        def answer(a, b):
            if level[a] >= 8 and level[b] >= 8:
                return "bad"
            return ">" if level[a] < level[b] else "<"

        return answer

    common = {d: i for i, d in enumerate(documents)}
    rejects = says(common | {"d04": 99})
    for seed in range(60):
        rng = np.random.default_rng(seed)
        told = [
            judged("tournament", documents, 5, answer, rng)
            for answer in (rejects, rejects, says(common))
        ]
        results, said = zip(*told, strict=True)
        merged = merge_top_k(results, "bradley-terry", judgments=said)
        assert merged.order[:5] == ("d00", "d01", "d02", "d03", "d05"), seed


@pytest.mark.parametrize(
    ("strategy", "n", "k"),
    [("tournament", 50, 10), ("heap", 50, 10), ("sort", 50, 10), ("sort", 100, 20)],
)
def test_an_order_on_which_all_agree_is_kept(strategy, n, k):
    """Few pairs are asked: a prior of 0.1 moved documents past their betters in up to half the cases."""
    documents = [f"d{i:03d}" for i in range(n)]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        told = [
            judged(strategy, documents, k, lambda a, b: ">" if a < b else "<", rng)
            for _ in range(2)
        ]
        results, said = zip(*told, strict=True)
        merged = merge_top_k(results, "bradley-terry", judgments=said)
        assert merged.order == tuple(documents[:k]), seed


def test_merging_finds_more_of_the_truth_than_one_assessor():
    """Assessors who see through noise: bradley-terry on what they said is the best of these."""
    recall = Counter()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        documents = [f"d{i:02d}" for i in range(30)]
        results, said = [], []
        for _ in range(4):
            run = StrategyRun("tournament", [documents[i] for i in rng.permutation(30)], 6)
            while not run.finished:
                gap = int(run.step.b[1:]) - int(run.step.a[1:]) + 5 * rng.normal()
                run.judge("~" if abs(gap) < 1 else ">" if gap > 0 else "<")
            results.append(run.step)
            said.append(run.judgments)
        merged = {
            "one": results[0],
            "majority": merge_top_k(results),
            "said": merge_top_k(results, "bradley-terry", judgments=said),
        }
        for name, found in merged.items():
            recall[name] += len(set(found.order[:6]) & set(documents[:6])) / 6 / 12
    assert recall["one"] < recall["majority"]
    assert recall["one"] < recall["said"]


@pytest.mark.parametrize(
    ("results", "options", "error", "told"),
    [
        ([], {}, EmptyDataError, "at least one assessor"),
        ([top("ab", 2), top("ab", 3)], {}, DataError, "different k: 2, 3"),
        ([top("ab", 2)] * 2, {"k": 0}, UsageError, "k of 1"),
        ([top("ab", 2), top("abc", 3)], {"k": 3}, UsageError, "at most 2, got 3"),
        ([top("ab", 2)], {"k": 3}, UsageError, "at most 2, got 3"),
        ([top("ab", 2)] * 2, {"method": "bordas"}, UnknownNameError, "borda"),
        ([top("ab", 2)], {"method": "bordas"}, UnknownNameError, "borda"),
        ([top("ab", 2)] * 2, {"weights": [1]}, LengthMismatchError, "2 weights"),
        ([top("ab", 2)] * 2, {"weights": [0, 0]}, UsageError, "at least one of them above 0"),
    ],
)
def test_mergers_that_cannot_be(results, options, error, told):
    with pytest.raises(error, match=told):
        merge_top_k(results, **options)


def test_another_k_cuts_the_merged_list():
    assert merge_top_k([top("ab", 2), top("abc", 3)], k=1).levels == (("a",),)


# Grades


def test_grades_merge_by_majority_median_and_mean():
    given_ = [{"x": 4, "y": 0, "z": 1}, {"x": 3, "y": 1, "z": 4}, {"x": 3, "y": 4}]
    assert merge_grades(given_) == {"x": 3.0, "y": 1.0, "z": 1.0}  # y: 5/3 is nearest to 1
    assert merge_grades(given_, "median") == {"x": 3.0, "y": 1.0, "z": 1.0}
    assert merge_grades(given_, "mean") == {"x": 10 / 3, "y": 5 / 3, "z": 5 / 2}
    with pytest.raises(UnknownNameError, match="way to merge grades"):
        merge_grades(given_, "mode")
