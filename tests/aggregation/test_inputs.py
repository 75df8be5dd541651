"""What people hand to the aggregators: frames' columns, ranked lists, NumPy ids, long lists."""

import itertools

import numpy as np
import pandas as pd
import pytest

import podium
from podium.aggregation import Borda, Kemeny, Rankings, aggregate, kendall, optimised_weights
from podium.aggregation.linear_ordering import MAX_PROGRAMME_DOCUMENTS
from podium.data import Groups, make_synthetic
from podium.errors import DataError, UsageError


def test_a_column_of_a_frame_is_scores_by_document():
    columns = [pd.Series({"a": 3.0, "b": 2.0}), pd.Series({"b": 3.0, "a": 1.0, "c": 0.5})]
    assert list(aggregate(columns, "combsum")) == list(
        aggregate([dict(c.items()) for c in columns], "combsum")
    )
    assert kendall(columns[0], ["a", "b"]) == 0


def test_what_rank_gives_can_be_aggregated():
    data = make_synthetic(n_queries=10, n_docs=5, n_features=3, seed=0)
    lists = [podium.RankSVM().fit(data).rank(data)[0], podium.ListNet().fit(data).rank(data)[0]]
    found = aggregate(lists, "borda")
    assert sorted(found) == sorted(lists[0].docids)
    assert list(found) == list(aggregate([r.docids for r in lists], "borda"))


def test_numpy_ids_come_back_as_numbers_and_texts():
    assert repr(aggregate(np.array([[1, 2], [1, 2]])).order) == "(1, 2)"
    assert repr(aggregate([np.array(["a", "b"])], "borda").order) == "('a', 'b')"


@pytest.mark.parametrize("method", ["rrf", "borda", "combsum", "combmnz"])
def test_the_order_of_the_rankers_decides_nothing(method):
    cycle = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    orders = {
        aggregate(rankings, method, initial=["a", "b", "c"]).order
        for rankings in itertools.permutations(cycle)
    }
    assert orders == {("a", "b", "c")}


def test_things_that_are_no_rankings_say_what_is_expected():
    with pytest.raises(UsageError, match=r"expected Rankings, such as Rankings\.of.* got list"):
        Borda()([["a", "b"]])
    with pytest.raises(UsageError, match="expected the Groups of the data, got ndarray"):
        Rankings.from_scores(np.array([1, 1]), np.zeros((2, 1)))
    with pytest.raises(
        UsageError, match=r"expected runs, such as read_run.* returns, got 'a\.run'"
    ):
        Rankings.from_runs(["a.run"])


def test_short_reprs():
    rankings = Rankings.of([["a", "b"], ["a"]])
    assert repr(rankings) == "Rankings(2 rankers, 1 query, 2 documents, 75% ranked)"
    assert repr(Kemeny()(rankings)) == "Consensus(2 documents, 1 queries proved optimal)"
    assert repr(optimised_weights(rankings, [1, 0], "borda")).startswith("LearnedWeights([")


def test_queries_without_judgments_do_not_change_learned_weights():
    data = make_synthetic(n_queries=60, n_docs=(5, 12), n_features=4, noise=1.0, seed=0)
    some, labels = data.subset(range(30)), data.y.copy()
    labels[data.groups.offsets[30] :] = 0
    alone = optimised_weights(Rankings.from_scores(some.groups, some.X), some, "rrf")
    among = optimised_weights(Rankings.from_scores(data.groups, data.X), labels, "rrf")
    np.testing.assert_allclose(alone.weights, among.weights, atol=1e-6)


def test_labels_that_are_all_zero_teach_nothing():
    rankings = Rankings.of([["a", "b"], ["b", "a"]])
    with pytest.raises(DataError, match="no query has a value of"):
        optimised_weights(rankings, [0, 0])


def test_too_many_documents_for_a_proof_keep_the_local_order_and_a_bound():
    rng = np.random.default_rng(0)
    n = MAX_PROGRAMME_DOCUMENTS + 100
    places = np.stack([rng.permutation(n) + 1.0 for _ in range(3)], axis=1)
    rankings = Rankings.from_places(Groups.from_sizes([n]), places)
    found = Kemeny(time_limit=0.5)(rankings)
    assert found.optimal.tolist() == [False]
    assert 0 < found.bound[0] < found.distance[0]


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("kemeny-local", {"seed": -1}), ("kemeny-local", {"restarts": True}),
        ("kemeny", {"time_limit": "x"}), ("rrf", {"k": 10**400}), ("rrf", {"k": None}),
        ("supervised-kemeny", {"literal": "no"}), ("mc4", {"alpha": float("nan")}),
    ],
)  # fmt: skip
def test_options_of_the_wrong_kind(method, option):
    with pytest.raises(UsageError, match=f"expected {next(iter(option))} of {method} to be"):
        aggregate([["a", "b"], ["b", "a"]], method, **option)


def test_initial_orders_that_are_none():
    for wrong in ({"a", "b"}, "ab", [["a"], "b"]):
        with pytest.raises(UsageError, match="initial order"):
            aggregate([["a", "b"]], initial=wrong)


def test_equal_sums_are_ties():
    """3/6 of 1 and (2 + 1)/6 of 1 are the same, however they are added up."""
    rankings = [list("abc"), list("acb"), list("acb")]
    found = aggregate(rankings, "borda", weights=[3, 2, 1], initial=["c", "b", "a"])
    assert found.order == ("a", "c", "b")
    assert found.scores[1] == found.scores[2] == 0.5
