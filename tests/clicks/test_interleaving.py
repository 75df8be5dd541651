"""Interleaving: every list that a method can serve is enumerated, with its probability."""

import itertools

import numpy as np
import pytest

from podium.clicks.hashed_draws import hashed_draws, swap_neighbours
from podium.clicks.interleaving import (
    INTERLEAVING_METHODS,
    InterleavedList,
    interleave,
    interleave_by_draws,
    outcome,
    outcome_of_rows,
)
from podium.clicks.optimised_lists import allowed_lists, list_distribution
from podium.errors import DataError, UnknownNameError, UsageError

DOCS = "abcd"
ORDERS = ["".join(order) for order in itertools.permutations("abc")]
PAIRS = [*itertools.product(ORDERS, ORDERS)]
PAIRS += [
    ("abcd", "dcba"),
    ("abcd", "bcda"),
    ("abcd", "badc"),
    ("abxy", "abcd"),
    ("ab", "cd"),
    ("a", "abc"),
]


def every_list(first, second, method, depth=None):
    """Every list that a method serves, with its probability."""
    if method == "optimised":
        n = min(len({*first, *second}), depth or 10)
        names = list(dict.fromkeys([*first[:n], *second[:n]]))
        distribution = list_distribution(
            min(n, len(first)), tuple(names.index(d) for d in second[:n]), n
        )
        ends = (0.0, *distribution.cumulative)
        for low, high in itertools.pairwise(ends):
            yield (
                interleave_by_draws(first, second, method, depth, lambda m=(low + high) / 2: m),
                high - low,
            )
        return
    n_coins = len({*first, *second}) if method == "team-draft" else 1
    for coins in itertools.product((0.0, 0.5), repeat=n_coins):
        yield interleave_by_draws(first, second, method, depth, iter(coins).__next__), 0.5**n_coins


def subsets(n):
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1))


@pytest.mark.parametrize("method", INTERLEAVING_METHODS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_list_has_every_document_once_and_probabilities_are_1(method, first, second):
    total = 0.0
    for shown, probability in every_list(first, second, method):
        assert sorted(shown.docs) == sorted({*first, *second})
        assert len(shown.teams) == len(shown.docs)
        total += probability
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("method", "first", "second"),
    [("optimised", *pair) for pair in PAIRS]
    # A team without documents left cannot draw even.
    + [("team-draft", *pair) for pair in PAIRS if sorted(pair[0]) == sorted(pair[1])],
)
def test_clicks_that_do_not_look_at_documents_prefer_neither_ranking(method, first, second):
    """For each set of clicked ranks, the expected outcome over all lists is 0."""
    lists = list(every_list(first, second, method))
    for ranks in subsets(len(lists[0][0].docs)):
        expected = sum(p * outcome_of_rows(shown, ranks) for shown, p in lists)
        assert expected == pytest.approx(0.0, abs=1e-9)


def test_team_draft_is_fair_at_a_depth_that_both_rankings_have():
    lists = list(every_list("abxyz", "cdabe", "team-draft", 3))
    for ranks in subsets(3):
        assert sum(p * outcome_of_rows(shown, ranks) for shown, p in lists) == pytest.approx(0.0)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_teams_of_a_draft_choose_in_turn_and_take_their_best(first, second):
    for shown, _ in every_list(first, second, "team-draft"):
        rankings, placed = (first, second), set()
        for doc, team in zip(shown.docs, shown.teams, strict=True):
            assert doc == next(d for d in rankings[team] if d not in placed)
            placed.add(doc)
        if len(first) == len(second) == len(shown.docs):
            for start in range(0, len(shown.teams) - 1, 2):
                assert sorted(shown.teams[start : start + 2]) == [0, 1]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_each_prefix_of_a_balanced_list_has_the_tops_of_both_to_the_same_depth(first, second):
    if len(first) != len(second):
        return
    for shown, _ in every_list(first, second, "balanced"):
        for n in range(1, len(shown.docs) + 1):
            prefix = set(shown.docs[:n])
            assert any(
                prefix == {*first[:i], *second[:j]}
                for i in range(len(first) + 1)
                for j in range(len(second) + 1)
                if abs(i - j) <= 1
            )


def test_balanced_prefers_the_second_of_abc_and_bca_in_two_of_three_clicks():
    lists = list(every_list("abc", "bca", "balanced"))
    values = [p * outcome_of_rows(shown, [row]) for shown, p in lists for row in range(3)]
    assert sum(values) / 3 == pytest.approx((2 - 1) / 3)


@pytest.mark.parametrize("method", INTERLEAVING_METHODS)
def test_clicks_on_the_good_documents_prefer_the_ranking_that_has_them_higher(method):
    """A user clicks the good document; one ranking has it higher."""
    for worse, better in (("abcd", "dabc"), ("abcd", "bacd"), ("cabd", "abcd")):
        good = max(DOCS, key=lambda d: worse.index(d) - better.index(d))
        both = [
            sum(p * outcome(shown, [good]) for shown, p in every_list(*pair, method))
            for pair in ((worse, better), (better, worse))
        ]
        assert both[0] > 0 > both[1]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_optimised_lists_are_those_that_are_allowed_and_no_mixture_is_more_sensitive(first, second):
    """Vertices of the programme, by brute force, for lists of three: bases of four lists at most."""
    if len(first) != 3 or len(second) != 3:
        return
    lists = allowed_lists((0, 1, 2), tuple("abc".index(d) for d in _in_names(first, second)), 3)
    distribution = list_distribution(3, tuple("abc".index(d) for d in _in_names(first, second)), 3)
    assert set(distribution.lists) <= set(lists)
    credit = np.array(distribution.credits)[np.array(lists)]
    best = max(_vertices(credit), default=None)
    p = np.diff([0.0, *distribution.cumulative])
    own = sum(
        weight * _sensitivity(credit[lists.index(shown)])
        for shown, weight in zip(distribution.lists, p, strict=True)
    )
    assert best is not None
    assert own == pytest.approx(best, abs=1e-7)


def _in_names(first, second):
    names = dict(zip(first, "abc", strict=True))
    return [names[doc] for doc in second]


def _sensitivity(credit):
    weight = np.array([1, 1 / 2, 1 / 3]) / (1 + 1 / 2 + 1 / 3)
    win, loss = weight[credit > 0].sum(), weight[credit < 0].sum()
    if not win or not loss:
        return 0.0
    share = win / (win + loss)
    return (win + loss) * -(share * np.log2(share) + (1 - share) * np.log2(1 - share))


def _vertices(credit):
    """The sensitivity of each basic solution."""
    A = np.vstack([np.ones(len(credit)), credit.T])
    for size in range(1, min(4, len(credit)) + 1):
        for basis in itertools.combinations(range(len(credit)), size):
            p, *_ = np.linalg.lstsq(A[:, basis], np.array([1.0, 0, 0, 0]), rcond=None)
            if (p >= -1e-9).all() and np.allclose(A[:, basis] @ p, [1, 0, 0, 0], atol=1e-9):
                yield sum(w * _sensitivity(credit[b]) for w, b in zip(p, basis, strict=True))


@pytest.mark.parametrize("method", INTERLEAVING_METHODS)
def test_documents_below_the_depth_follow_in_the_first_order_without_a_team(method):
    first, second = "abcdefgh", "hgfedcba"
    shown = interleave(first, second, method, depth=3, seed=4)
    rest = [d for d in first if d not in shown.docs[:3]]
    assert list(shown.docs[3:]) == rest
    assert set(shown.teams[3:]) == {-1}
    assert outcome(shown, rest) == 0
    assert outcome(shown, []) == 0


def test_the_same_seed_gives_the_same_list_and_seeds_differ():
    lists = [interleave("abcdef", "fedcba", seed=seed) for seed in range(20)]
    assert lists == [interleave("abcdef", "fedcba", seed=seed) for seed in range(20)]
    assert len({shown.docs for shown in lists}) > 5


def test_outcomes_are_arithmetic():
    shown = InterleavedList(tuple("abc"), (1, 0, 1), credits=(0.2, -0.5, 0.1))
    assert outcome(shown, "ab") == pytest.approx(0.2 - 0.5)
    # b is the lowest click; its best rank is 1, in the second: a is not in that part of either.
    ranks = ((1, 2, 3), (3, 1, 2))
    assert (
        outcome(InterleavedList(tuple("abc"), (0, 1, 1), ranks=ranks), "ab") == 0
    )  # a: first, b: second
    assert outcome(InterleavedList(tuple("abc"), (0, 1, 1), ranks=ranks), "b") == 1
    assert outcome(InterleavedList(tuple("abc"), (0, 1, 1), ranks=ranks), "bc") == 2 - 1


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((["a", "a"], ["a"], "team-draft"), DataError, "without repeats"),
        ((["a"], ["a"], "draft"), UnknownNameError, "interleaving method"),
    ],
)
def test_wrong_arguments(arguments, kind, message):
    with pytest.raises(kind, match=message):
        interleave(*arguments)
    with pytest.raises(UsageError, match="depth"):
        interleave("ab", "ba", depth=0)


def test_swaps_exchange_each_pair_with_the_probability_and_none_moves_by_two():
    n, swap = 20_000, 0.2
    draw = hashed_draws("swaps")
    orders = np.array([swap_neighbours(4, swap, draw) for _ in range(n)])
    assert (np.abs(orders - np.arange(4)) <= 1).all()
    for pair in range(3):
        share = (orders[:, pair] == pair + 1).mean()
        assert abs(share - swap) < 4 * np.sqrt(swap * (1 - swap) / n)
    with pytest.raises(UsageError, match=r"from 0 to 0\.5"):
        swap_neighbours(3, 0.6, draw)


def test_names_decide_draws_evenly():
    draws = [hashed_draws("x", str(user))() for user in range(4_000)]
    assert abs(np.mean(np.array(draws) < 0.3) - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4_000)
    assert draws[:3] == [hashed_draws("x", user)() for user in "012"]


@pytest.mark.parametrize("method", INTERLEAVING_METHODS)
def test_a_depth_of_all_documents_loses_none(method):
    for seed in range(4):
        assert sorted(interleave("ab", "cd", method, depth=4, seed=seed).docs) == [*"abcd"]
