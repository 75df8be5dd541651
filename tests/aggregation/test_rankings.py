"""Rankings: places from lists, scores, places with gaps and runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.aggregation import Rankings
from podium.data import Groups, Run, Strings
from podium.errors import DataError, MissingDocidsError, NonFiniteError, PodiumError, UsageError

NAN = float("nan")


def run(lists):
    """query -> {document: score}."""
    sizes = [len(documents) for documents in lists.values()]
    names = [d for documents in lists.values() for d in documents]
    values = np.array([v for documents in lists.values() for v in documents.values()], float)
    return Run(
        np.array(list(lists), dtype=object), Groups.from_sizes(sizes), Strings.of(names), values
    )


def same(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


def test_a_tie_shares_the_mean_of_its_places():
    rankings = Rankings.of([["a", ["b", "c"], "d"], {"a": 1.0, "b": 1.0, "d": 3.0}])
    assert same(rankings.places, [[1, 2.5], [2.5, 2.5], [2.5, NAN], [4, 1]])
    assert rankings.lengths.tolist() == [[4, 3]]


def test_what_is_not_ranked_shares_the_places_left():
    rankings = Rankings.of([["a"], ["b", "c", "d", "a"]])
    assert same(rankings.filled[:, 0], [1, 3, 3, 3])  # (2 + 3 + 4) / 3
    assert rankings.ranked.tolist() == [[True, True]] + [[False, True]] * 3


def test_scores_are_kept_only_where_all_gave_some():
    assert Rankings.of([{"a": 2.0}, {"a": 1.0}]).scores.tolist() == [[2.0, 1.0]]
    assert Rankings.of([{"a": 2.0}, ["a"]]).scores is None


def test_places_with_gaps_are_places_in_the_query_and_positions_in_the_list():
    groups = Groups.from_sizes([2, 2])
    rankings = Rankings.from_places(groups, [[70, NAN], [3, NAN], [5, 5], [NAN, 5]])
    assert same(rankings.places, [[2, NAN], [1, NAN], [1, 1.5], [NAN, 1.5]])
    assert same(rankings.listed_at, [[70, NAN], [3, NAN], [5, 5], [NAN, 5]])


def test_depth_takes_a_tie_at_the_border_whole():
    rankings = Rankings.of([["a", ["b", "c"], "d"]])
    assert same(rankings.top(2).places[:, 0], [1, 2.5, 2.5, NAN])
    assert same(rankings.top(1).places[:, 0], [1, NAN, NAN, NAN])
    assert rankings.top(None) is rankings
    kept = Rankings.from_scores(Groups.from_sizes([2]), [[1.0], [2.0]]).top(1)
    assert same(kept.scores[:, 0], [NAN, 2.0])
    listed = Rankings.from_places(Groups.from_sizes([2]), [[9], [4]]).top(1)
    assert same(listed.positions[:, 0], [NAN, 4])


@pytest.mark.parametrize("depth", [0, -1, 1.5, "x"])
def test_a_wrong_depth_is_refused(depth):
    with pytest.raises(UsageError, match="depth"):
        Rankings.of([["a"]]).top(depth)


def test_runs_are_joined_on_query_and_document():
    joined = Rankings.from_runs(
        [
            run({"q1": {"a": 2, "b": 3}, "q2": {"a": 1}}),
            run({"q3": {"x": 1}, "q1": {"c": 5, "a": 1}}),
        ]
    )
    assert joined.qids.tolist() == ["q1", "q2", "q3"]
    assert joined.groups.sizes.tolist() == [3, 1, 1]
    assert list(joined.docids) == ["a", "b", "c", "a", "x"]
    assert same(joined.scores, [[2, 1], [3, NAN], [NAN, 5], [1, NAN], [NAN, 1]])
    assert same(joined.places, [[2, 2], [1, NAN], [NAN, 1], [1, NAN], [NAN, 1]])


documents = st.dictionaries(st.sampled_from("abcdef"), st.integers(-3, 3), min_size=1)
runs_of = st.lists(
    st.dictionaries(st.sampled_from("qrs"), documents, min_size=1), min_size=1, max_size=4
)


@given(runs_of)
def test_joined_runs_say_what_each_run_says(given_runs):
    joined = Rankings.from_runs([run(lists) for lists in given_runs])
    queries = np.asarray(joined.groups.spread(joined.qids)).tolist()
    rows = list(zip(queries, joined.docids, strict=True))
    assert len(set(rows)) == len(rows)
    for column, lists in enumerate(given_runs):
        said = {(q, d): v for q, found in lists.items() for d, v in found.items()}
        told = {
            row: v for row, v in zip(rows, joined.scores[:, column], strict=True) if not np.isnan(v)
        }
        assert told == said
    assert set(rows) == {(q, d) for lists in given_runs for q, f in lists.items() for d in f}


def test_a_ranking_of_runs_is_a_run_again():
    joined = Rankings.from_runs([run({"q": {"a": 2, "b": 3}}), run({"q": {"c": 1}})])
    out = joined.run(np.array([0.1, 0.3, 0.2]), k=2)
    assert list(out.docids) == ["b", "c"]
    assert out.values.tolist() == [0.3, 0.2]
    with pytest.raises(UsageError, match="k of 1"):
        joined.run(np.zeros(3), k=0)
    with pytest.raises(MissingDocidsError):
        Rankings.of([["a"]]).run(np.zeros(1))


def test_ranking_data_of_places():
    data = podium.RankingData.from_arrays(
        [[3, 1], [1, np.nan]], [1, 0], qid=[7, 7], docid=["x", "y"], missing="nan"
    )
    rankings = Rankings.from_data(data)
    assert same(rankings.places, [[2, 1], [1, NAN]])
    assert (rankings.qids.tolist(), list(rankings.docids)) == (["7"], ["x", "y"])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Rankings.from_places(Groups.from_sizes([1]), [[0]]), DataError),
        (lambda: Rankings.from_places(Groups.from_sizes([1]), [[np.inf]]), NonFiniteError),
        (lambda: Rankings.from_scores(Groups.from_sizes([1]), [[-np.inf]]), NonFiniteError),
        (lambda: Rankings.from_scores(Groups.from_sizes([1]), [1.0]), DataError),
        (lambda: Rankings.from_scores(Groups.from_sizes([2]), [[1.0]]), DataError),
        (lambda: Rankings.from_runs([]), DataError),
        (lambda: Rankings.of([]), DataError),
        (lambda: Rankings.of([["a"], []]), DataError),
        (lambda: Rankings.of([["a", "a"]]), DataError),
        (lambda: Rankings.of("ab"), PodiumError),
        (lambda: Rankings.of([{"a": np.nan}]), DataError),
    ],
)
def test_what_is_no_ranking_is_refused(make, error):
    with pytest.raises(error, match="expected"):
        make()
