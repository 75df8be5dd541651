"""Rows of ranking data in an order of their own: the same data as a copy, without the copy."""

import dataclasses
import pickle

import numpy as np
import pytest

from podium.data import RankingData, draw_order, ranking_data, shuffle
from podium.data.row_selection import SelectedData, select_queries
from podium.optim import LinearProblem, linear_problem


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    qid = np.repeat(["a", "b", "c"], [4, 1, 5])
    return RankingData.from_arrays(
        rng.normal(size=(10, 3)), rng.integers(0, 3, 10), qid=qid, docid=[f"d{i}" for i in range(10)],
        query_weight=[1.0, 2.0, 3.0], doc_text={"title": [f"t{i}" for i in range(10)]},
    )  # fmt: skip


def test_selected_queries_equal_a_subset(data):
    queries = np.array([2, 0])
    assert select_queries(data, queries).equals(data.subset(queries))
    assert data.subset(queries).equals(select_queries(data, queries))


def test_a_selection_of_a_selection_reads_the_first_source(data):
    once = select_queries(data, np.array([2, 0]))
    twice = SelectedData(once, np.array([1]), np.array([8, 5, 6, 7]))
    assert twice.source is data
    assert twice.rows.tolist() == [3, 0, 1, 2]
    assert twice.docids.tolist() == ["d3", "d0", "d1", "d2"]


def test_a_shuffle_copies_no_features(data):
    shuffled = shuffle(data, seed=0)
    X, rows = shuffled.stored_features()
    assert X is data.X
    assert sorted(rows.tolist()) == list(range(10))
    assert "X" not in vars(shuffled)
    assert shuffled.X.tobytes() == data.X[rows].tobytes()
    assert not shuffled.X.flags.writeable


def test_a_shuffle_is_that_of_any_order_of_rows(data):
    order = np.array([9, 3, 4, 0, 5, 1, 2, 8, 6, 7])
    qid = data.qids[data.groups.codes]
    other = RankingData.from_arrays(
        data.X[order], data.y[order], qid=qid[order], docid=data.docids[order].tolist()
    )
    assert shuffle(other, seed=3).X.tobytes() == shuffle(data, seed=3).X.tobytes()


def test_a_replaced_column_gives_data_of_its_own(data):
    shuffled = shuffle(data, seed=0)
    heavy = dataclasses.replace(shuffled, query_weight=np.array([4.0, 5.0, 6.0]))
    assert type(heavy) is RankingData
    assert heavy.query_weight.tolist() == [4, 5, 6]
    assert dataclasses.replace(heavy, query_weight=shuffled.query_weight).equals(shuffled)


def test_values_that_another_thread_clears_at_once_are_returned(data):
    class Cleared(dict):
        def __setitem__(self, name, values):
            """Lose what is stored, as if another thread cleared it."""

    vars(data)["_per_document"] = Cleared()
    assert data.per_document("number", lambda d: np.arange(len(d))).tolist() == list(range(10))


def test_a_drawn_order_follows_the_rows(data):
    shuffled = shuffle(data, seed=1)
    assert draw_order(shuffled, 5).tolist() == draw_order(data, 5)[shuffled.rows].tolist()


def test_a_pickled_selection_is_data_of_its_own(data):
    chosen = select_queries(data, np.array([1, 2]))
    copy = pickle.loads(pickle.dumps(chosen))
    assert type(copy) is RankingData
    assert copy.equals(data.subset([1, 2]))


def test_a_linear_problem_of_chosen_rows_equals_that_of_a_copy(data):
    rows = np.array([7, 1, 4])

    def squared(s):
        return 0.5 * float(np.sum(s**2)), s

    def product(s, d):
        return d

    w = np.array([1.0, -2.0, 0.5])
    chosen = LinearProblem(data.X, squared, 0.1, product, product, rows=rows)
    copied = LinearProblem(data.X[rows], squared, 0.1, product, product)
    assert chosen(w)[0] == copied(w)[0]
    assert chosen(w)[1].tobytes() == copied(w)[1].tobytes()
    assert chosen.hessian(w[:3]).tobytes() == copied.hessian(w[:3]).tobytes()


def test_large_features_enter_the_fingerprint_by_their_hashes(data, monkeypatch):
    monkeypatch.setattr(ranking_data, "MAX_DIGESTED_BYTES", 0)
    changed = data.X.copy()
    changed[9, 2] += 1e-12
    prints = {d.fingerprint for d in (data.with_features(data.X), data.with_features(changed))}
    assert len(prints) == 2
    narrow = data.with_features(data.X.astype(np.float32))
    assert narrow.fingerprint not in prints
    assert data.with_features(data.X.copy()).fingerprint in prints


def test_blocks_of_a_hessian_are_narrow_for_mapped_rows_only(tmp_path, monkeypatch):
    monkeypatch.setattr(linear_problem, "HESSIAN_BYTES", 0)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(20, 100)))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for X, expected in ((np.array(mapped), [64, 36]), (mapped, [4] * 25)):
        widths = []

        def products(scores, columns, widths=widths):
            widths.append(columns.shape[1])
            return columns

        problem = LinearProblem(X, lambda s: (0.0, s), 0.0, products=products)
        assert problem.hessian(np.zeros(20)) == pytest.approx(mapped.T @ mapped)
        assert widths == expected
