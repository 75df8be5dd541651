"""Kemeny's orders: exact ones equal brute force, the others keep their promises."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import podium
from podium.aggregation import (
    AGGREGATORS,
    Aggregate,
    Borda,
    Kemeny,
    KemenyLocal,
    Rankings,
    SupervisedKemeny,
    aggregate,
    distance_to,
    kendall,
    linear_ordering,
)
from podium.aggregation.kemeny import MAX_RESTARTS
from podium.data import Groups
from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)

SCORE = st.sampled_from([1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan, np.nan])
WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, np.pi])


SIZES = st.lists(st.integers(0, 6), min_size=1, max_size=4)


@st.composite
def problems(draw, sizes=SIZES):
    """Rankings with ties and partial lists, weights, and scores to start from."""
    sizes, m = draw(sizes), draw(st.integers(1, 6))
    n = sum(sizes)
    scores = np.array(draw(st.lists(SCORE, min_size=n * m, max_size=n * m)), dtype=np.float64)
    weights = draw(st.lists(WEIGHT, min_size=m, max_size=m).filter(any))
    initial = np.array(draw(st.permutations(range(n))), dtype=np.float64)
    rankings = Rankings.from_scores(Groups.from_sizes(sizes), scores.reshape(n, m))
    return rankings, np.array(weights), initial


def uniform(n, rankers, rng):
    """Rankings drawn at random: the hardest to agree on."""
    return np.stack([rng.permutation(n) + 1.0 for _ in range(rankers)], axis=1)


def mallows(n, rankers, spread, rng):
    """Rankings around one order: each document is inserted d places too high with weight spread^d."""
    columns = []
    for _ in range(rankers):
        order: list[int] = []
        for i in range(n):
            chances = spread ** np.arange(i, -1, -1.0)
            order.insert(rng.choice(i + 1, p=chances / chances.sum()), i)
        columns.append(np.argsort(order) + 1.0)
    return np.stack(columns, axis=1)


def one_query(places):
    return Rankings.from_places(Groups.from_sizes([len(places)]), places)


def least_distance(rankings, weights):
    """By trying all orders."""
    n = rankings.groups.n_rows
    orders = (np.argsort(order) * -1.0 for order in itertools.permutations(range(n)))
    return min(float(distance_to(rankings, scores, weights)[0]) for scores in orders)


@given(problems(sizes=st.tuples(st.integers(1, 5))))
@settings(max_examples=40)
def test_exact_equals_brute_force(problem):
    rankings, weights, initial = problem
    found = Kemeny()(rankings, weights, initial)
    assert found.distance[0] == pytest.approx(least_distance(rankings, weights), abs=1e-12)
    assert found.bound[0] == pytest.approx(found.distance[0], abs=1e-12)
    assert found.optimal.tolist() == [True]


@pytest.mark.parametrize("seed", range(6))
def test_the_programme_equals_brute_force_too(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    places = uniform(6, (3, 4, 5)[seed % 3], rng)
    places[rng.random(places.shape) < 0.2] = np.nan
    weights = rng.dirichlet(np.ones(places.shape[1])) if seed % 2 else None
    least = least_distance(one_query(places), weights)
    monkeypatch.setattr(linear_ordering, "MAX_SUBSET_DOCUMENTS", 0)
    found = Kemeny()(one_query(places), weights)
    assert found.distance[0] == pytest.approx(least, abs=1e-12)
    assert found.optimal.tolist() == [True]


@pytest.mark.parametrize("n", [9, 11, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_subsets_and_the_programme_agree(monkeypatch, n, weighted):
    rng = np.random.default_rng(n)
    rankings = Rankings.from_places(
        Groups.from_sizes([n] * 12), np.concatenate([uniform(n, 5, rng) for _ in range(12)])
    )
    weights = rng.dirichlet(np.ones(5)) if weighted else None
    by_subsets = Kemeny()(rankings, weights)
    monkeypatch.setattr(linear_ordering, "MAX_SUBSET_DOCUMENTS", 0)
    by_programme = Kemeny()(rankings, weights)
    np.testing.assert_allclose(by_subsets.distance, by_programme.distance, atol=1e-9)
    assert by_subsets.optimal.all()
    assert by_programme.optimal.all()


def test_branching_proves_what_the_relaxation_does_not(monkeypatch):
    """Branch from the start, with no cut in the programme: the triangles enter then."""
    rng = np.random.default_rng(0)
    rankings = one_query(uniform(14, 5, rng))
    expected = Kemeny()(rankings).distance
    monkeypatch.setattr(linear_ordering._Programme, "relax", lambda self: None)
    monkeypatch.setattr(linear_ordering, "MAX_SUBSET_DOCUMENTS", 0)
    branched = Kemeny()(rankings)
    np.testing.assert_allclose(branched.distance, expected, atol=1e-9)
    assert branched.optimal.all()


@pytest.mark.parametrize("weighted", [False, True])
def test_twenty_documents_of_hard_rankings_are_proved(weighted):
    rng = np.random.default_rng(7)
    drawn = [uniform(20, 25, rng) for _ in range(4)] + [
        mallows(20, 25, 0.95, rng) for _ in range(4)
    ]
    rankings = Rankings.from_places(Groups.from_sizes([20] * 8), np.concatenate(drawn))
    weights = rng.dirichlet(np.ones(25)) if weighted else None
    found = Kemeny()(rankings, weights)
    assert found.optimal.all()
    assert (found.distance <= KemenyLocal(restarts=3)(rankings, weights).distance + 1e-9).all()
    again = Kemeny()(rankings, weights)
    assert again.scores.tobytes() == found.scores.tobytes()


def test_bounds_are_never_above_the_least_distance():
    """Duals of any quality prove a bound: random ones too."""
    rng = np.random.default_rng(3)
    places = uniform(9, 5, rng)
    weights = np.full(5, 0.2)
    votes = podium.kernels.majority_tables(places, weights, np.array([0, 9]), False).reshape(9, 9)
    least = linear_ordering.opposing_votes(votes, podium.kernels.best_order(votes))
    limits = linear_ordering.SearchLimits(0.0, np.inf, 0.0)
    for _ in range(50):
        programme = linear_ordering._Programme(places, weights, votes, limits)
        programme.add_cuts(rng.random(36))
        programme.use_duals(rng.exponential(0.05, size=len(programme.b)))
        assert programme.bound <= least + 1e-9


def test_when_the_time_is_over_the_best_order_comes_with_its_gap():
    rng = np.random.default_rng(0)
    rankings = one_query(uniform(70, 25, rng))
    start = time.monotonic()
    found = Kemeny(time_limit=0.05)(rankings)
    assert time.monotonic() - start < 30
    assert found.optimal.tolist() == [False]
    assert found.bound[0] < found.distance[0]
    assert found.distance[0] <= KemenyLocal()(rankings).distance[0] + 1e-9
    one = aggregate([list(np.argsort(c)) for c in rankings.places.T], "kemeny", time_limit=0.05)
    assert "above the minimum" in repr(one)
    assert one.optimal is False


def test_a_gap_may_be_enough():
    rankings = one_query(uniform(25, 25, np.random.default_rng(5)))
    found = Kemeny(gap=0.2)(rankings)
    exact = Kemeny(time_limit=None)(rankings)
    assert exact.optimal.all()
    assert (found.bound <= exact.distance + 1e-9).all()
    assert (found.distance - found.bound <= 0.2 * found.distance).all()


def test_components_follow_each_other():
    cycle, clear = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]], ["x", "y"]
    votes = [[*clear, *order, "z"] for order in cycle]
    found = aggregate(votes, "kemeny")
    assert found.order[:2] == ("x", "y")
    assert set(found.order[2:5]) == {"a", "b", "c"}
    assert found.order[5] == "z"
    # Two of three cyclic pairs of the cycle hold, each against 1 of 3; the third against 2 of 3.
    assert found.distance == pytest.approx(1 / 3 + 1 / 3 + 2 / 3)
    assert found.optimal


@given(problems())
@example((Rankings.from_scores(Groups.from_sizes([]), np.empty((0, 2))), [1, 1], np.empty(0)))
def test_supervised_kemeny_is_never_worse_than_where_it_starts(problem):
    rankings, weights, initial = problem
    found = SupervisedKemeny()(rankings, weights, initial)
    assert (found.distance <= distance_to(rankings, initial, weights) + 1e-12).all()
    assert found.bound is None
    np.testing.assert_array_equal(found.distance, distance_to(rankings, found.scores, weights))
    from_borda = SupervisedKemeny()(rankings, weights)
    borda = distance_to(rankings, Borda()(rankings, weights).scores, weights)
    assert (from_borda.distance <= borda + 1e-12).all()
    local = KemenyLocal()(rankings, weights, initial)
    assert (local.distance <= found.distance + 1e-12).all()
    shaken = KemenyLocal(restarts=3)(rankings, weights, initial)
    assert (shaken.distance <= local.distance + 1e-12).all()


@given(problems())
@settings(max_examples=50)
def test_literal_ends_in_a_permutation(problem):
    rankings, weights, initial = problem
    found = SupervisedKemeny(literal=True)(rankings, weights, initial)
    for rows in rankings.groups.slices():
        assert sorted(found.scores[rows].tolist()) == list(range(rows.stop - rows.start))


def test_literal_is_as_printed():
    # No list holds a and d both, so neither is told from the other; corrected, the listed one wins.
    rankings, start = [["b", "a"], ["c", "a"]], ["d", "a", "b", "c"]
    assert aggregate(rankings, initial=start, literal=True).order == ("d", "b", "c", "a")
    assert aggregate(rankings, initial=start).order == ("a", "b", "c", "d")


def test_supervised_kemeny_is_near_the_best_of_three_rankers():
    rng = np.random.default_rng(11)
    sizes = rng.integers(3, 12, size=1000)
    rankings = Rankings.from_places(
        Groups.from_sizes(sizes), np.concatenate([uniform(n, 3, rng) for n in sizes])
    )
    supervised, exact = SupervisedKemeny()(rankings).distance, Kemeny()(rankings).distance
    assert (supervised[exact == 0] == 0).all()  # where all three agree
    ratio = supervised[exact > 0] / exact[exact > 0]
    print(f"supervised Kemeny / exact: mean {ratio.mean():.4f}, maximum {ratio.max():.4f}")
    assert ratio.min() >= 1 - 1e-12
    assert ratio.mean() <= 1.05
    assert ratio.max() <= 1.5


@pytest.mark.parametrize("method", ["supervised-kemeny", "kemeny", "kemeny-local"])
@given(problem=problems(sizes=st.tuples(st.integers(1, 6))), data=st.data())
@settings(max_examples=30)
def test_rows_may_come_in_any_order(method, problem, data):
    rankings, weights, initial = problem
    shuffled = np.array(data.draw(st.permutations(range(len(initial)))))
    other = Rankings(rankings.places[shuffled], rankings.groups)
    aggregator = AGGREGATORS[method]()
    a = aggregator(rankings, weights, initial)
    b = aggregator(other, weights, initial[shuffled])
    if method == "kemeny":  # of several best orders, another may be found
        np.testing.assert_allclose(a.distance, b.distance, atol=1e-12)
    else:
        np.testing.assert_array_equal(a.scores[shuffled], b.scores)


@pytest.mark.parametrize("method", ["supervised-kemeny", "kemeny", "kemeny-local"])
def test_queries_do_not_know_of_each_other(method):
    rng = np.random.default_rng(2)
    sizes = [7, 0, 1, 14, 2]
    places = np.concatenate([uniform(n, 5, rng) for n in sizes])
    rankings = Rankings.from_places(Groups.from_sizes(sizes), places)
    aggregator = AGGREGATORS[method](**({"restarts": 3} if method == "kemeny-local" else {}))
    together = aggregator(rankings)
    for q, rows in enumerate(rankings.groups.slices()):
        alone = aggregator(one_query(places[rows]))
        np.testing.assert_array_equal(together.scores[rows], alone.scores)
        assert together.distance[q] == alone.distance[0]


def test_where_the_start_is_already_best_it_stays():
    # Every order of a tie is best; the initial one is kept.
    for method in ("supervised-kemeny", "kemeny", "kemeny-local"):
        for start in itertools.permutations("abc"):
            assert aggregate([[["a", "b", "c"]]], method, initial=start).order == start


# aggregate()


def test_aggregate_tells_distance_and_proof():
    votes = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    found = aggregate(votes, "kemeny")
    assert isinstance(found, Aggregate)
    assert found.distance == pytest.approx(sum(kendall(found.order, vote) for vote in votes) / 3)
    assert found.bound == pytest.approx(found.distance)
    assert repr(found) == f"Aggregate({list(found)}, kemeny, distance 1.33333, proved optimal)"
    assert aggregate(votes).method == "supervised-kemeny"
    assert aggregate(votes, "borda").distance == pytest.approx(4 / 3)
    assert aggregate(votes, "borda").optimal is None
    assert repr(aggregate([range(20)])).endswith(
        "9, ... 20 documents], supervised-kemeny, distance 0)"
    )
    assert podium.aggregate is aggregate
    assert podium.AGGREGATORS is AGGREGATORS


@pytest.mark.parametrize("method", sorted(AGGREGATORS))
def test_ids_of_any_kind(method):
    votes = [["a", 1, (2, "b")], [1, "a", None], [frozenset("x"), "a"]]
    if method.startswith("comb"):
        votes = [{d: -i for i, d in enumerate(["a", 1, None])}, {1: 0.5, "a": 0.2}]
    found = aggregate(votes, method)
    assert {"a", 1, None} <= set(found.order)
    assert aggregate(votes, method, initial=[*found.order, "nobody"]).order[-1] == "nobody"


def test_a_set_is_a_tie():
    assert aggregate([[{"a", "b"}, "c"], ["b"]]).order == ("b", "a", "c")


def test_depth_is_the_papers_k():
    votes = [["a", "b", "c"], ["b", "c", "a"]]
    assert aggregate(votes, depth=1, initial=["c", "b", "a"]).order == ("b", "a", "c")
    assert aggregate(votes, depth=99).order == aggregate(votes).order


@pytest.mark.parametrize("method", sorted(AGGREGATORS))
@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (DataError, "ranking 2 is empty", {"rankings": [["a"], []]}),
        (DataError, "there are no rankings", {"rankings": []}),
        (DataError, "ranking 1 has 'a' twice", {"rankings": [["a", "b", "a"]]}),
        (DataError, "ranking 2 has 'a' twice", {"rankings": [["a"], [["a", "b"], "a"]]}),
        (DataError, r"hashable ids as documents, got \{'x': 1\}", {"rankings": [[{"x": 1}]]}),
        (DataError, "got nan for 'a'", {"rankings": [{"a": np.nan}]}),
        (DataError, "finite scores, got 'high' for 'a'", {"rankings": [{"a": "high"}]}),
        (UsageError, "got 'ab'", {"rankings": ["ab"]}),
        (UsageError, "a list of rankings, got str", {"rankings": "ab"}),
        (UsageError, "a list of rankings, got NoneType", {"rankings": None}),
        (UsageError, "a list of rankings, got generator", {"rankings": (x for x in [["a"]])}),
        (UsageError, "best first", {"rankings": [{"a", "b"}]}),
        (UsageError, "best first", {"rankings": [iter("ab")]}),
        (UsageError, "best first", {"rankings": [7]}),
        (DataError, "the initial order lacks the ranked document 'b'", {"initial": ["a"]}),
        (DataError, "the initial order has 'a' twice", {"initial": ["a", "b", "a"]}),
        (UsageError, "initial order as a list", {"initial": "ab"}),
        (UsageError, "0 or more, got -1", {"weights": [1, -1]}),
        (UsageError, "0 or more, got nan", {"weights": [1, np.nan]}),
        (UsageError, "0 or more, got inf", {"weights": [1, np.inf]}),
        (UsageError, "all weights are 0", {"weights": [0, 0]}),
        (UsageError, "numbers as weights", {"weights": ["a", "b"]}),
        (LengthMismatchError, "expected 2 weights, .* got 3", {"weights": [1, 1, 1]}),
        (UsageError, "depth of 1 or more, got 0", {"depth": 0}),
        (UsageError, "depth of 1 or more, got 1.5", {"depth": 1.5}),
        (UsageError, "option", {"no_such": 1}),
    ],
)
def test_bad_input_says_what_is_wrong(method, error, message, arguments):
    good = {"rankings": [{"a": 2.0, "b": 1.0}, {"b": 1.0}], "method": method}
    with pytest.raises(error, match=message):
        aggregate(**good | arguments)


def test_names_and_options_are_checked():
    votes = [["a", "b"]]
    with pytest.raises(UnknownNameError, match="unknown aggregator 'kemmeny'; did you mean kemeny"):
        aggregate(votes, "kemmeny")
    with pytest.raises(
        UnknownNameError, match="option of kemeny 'timelimit'; did you mean time_limit"
    ):
        aggregate(votes, "kemeny", timelimit=3)
    with pytest.raises(UsageError, match="borda takes no options, got 'k'"):
        aggregate(votes, "borda", k=3)
    with pytest.raises(UsageError, match="takes no further options, got literal"):
        aggregate(votes, SupervisedKemeny(), literal=True)
    with pytest.raises(UsageError, match="an aggregator or its name, got 3"):
        aggregate(votes, 3)
    for wrong in (
        {"time_limit": 0}, {"time_limit": -1.0}, {"time_limit": np.nan}, {"gap": -0.1}, {"gap": 1.0},
        {"gap": np.nan},
    ):  # fmt: skip
        with pytest.raises(UsageError, match=r"expected (a|time_limit|gap) "):
            Kemeny(**wrong)
    for restarts in (-1, 1.5):
        with pytest.raises(
            UsageError, match="restarts of kemeny-local to be a whole number of 0 or more"
        ):
            KemenyLocal(restarts=restarts)
    assert KemenyLocal(restarts=MAX_RESTARTS).restarts == 100_000
    with pytest.raises(UsageError, match="at most 100,000 restarts of kemeny-local, got 100,001"):
        KemenyLocal(restarts=MAX_RESTARTS + 1)


def test_what_to_start_from_is_checked():
    rankings = Rankings.of([["a", "b"]])
    with pytest.raises(LengthMismatchError, match="expected 2 initial scores"):
        SupervisedKemeny()(rankings, initial=np.zeros(3))
    with pytest.raises(NonFiniteError, match="NaN in row 1"):
        SupervisedKemeny()(rankings, initial=np.array([0, np.nan]))
    with pytest.raises(UsageError, match="numbers as initial scores"):
        SupervisedKemeny()(rankings, initial=["x", "y"])
    nobody = Rankings(np.empty((2, 0)), Groups.from_sizes([2]))
    with pytest.raises(UsageError, match="there are no rankings"):
        SupervisedKemeny()(nobody)


def test_huge_weights_are_weights():
    assert aggregate([["a", "b"], ["b", "a"]], weights=[1e308, 1.5e308]).order == ("b", "a")
    assert aggregate([["a", "b"], ["b", "a"]], weights=[5e-324, 0]).order == ("a", "b")


@pytest.mark.needs("the LETOR data")
def test_the_real_queries_are_proved(shared_data):
    data = podium.read_letor(shared_data / "MQ2008-agg" / "A1.txt.xz", missing="nan")
    rankings = Rankings.from_places(data.groups, data.X)
    exact, supervised = Kemeny()(rankings), SupervisedKemeny()(rankings)
    assert exact.optimal.all()
    assert (exact.distance <= supervised.distance + 1e-9).all()
    assert supervised.distance.sum() <= 1.01 * exact.distance.sum()


def test_supervised_kemeny_is_no_2_approximation():
    """Three rankers of equal weight: 31 disagreements on pairs, and 11 of the best order."""
    rankings = [list("abefdc"), list("bedcaf"), list("ecabfd")]
    mu = list("fdcabe")
    reached = aggregate(rankings, initial=mu)
    best = aggregate(rankings, "kemeny")
    assert reached.order == tuple(mu)  # each majority between neighbours is obeyed
    assert best.optimal
    assert reached.distance == pytest.approx(31 / 3)
    assert best.distance == pytest.approx(11 / 3)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_from_the_footrule_order_supervised_kemeny_is_a_2_approximation(data):
    n, r = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 5))
    rankings = [data.draw(st.permutations(range(n))) for _ in range(r)]
    start = aggregate(rankings, "footrule").order
    reached = aggregate(rankings, initial=start).distance
    assert reached <= 2 * aggregate(rankings, "kemeny").distance + 1e-9
