"""Simulated logs: what the settings say, counted."""

import numpy as np
import pytest

import podium
from podium.clicks import ClickSessions, simulate, true_model
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=20, n_docs=(3, 12), n_features=4, seed=1)


def ranking(data, scores, query, depth=10):
    rows = np.arange(*data.groups.offsets[query : query + 2])
    return [data.docids[row] for row in rows[np.argsort(-scores[rows], kind="stable")]][:depth]


def documents(sessions, session):
    rows = slice(*sessions.groups.offsets[session : session + 2])
    return [sessions.doc.table[code] for code in sessions.doc.codes[rows]]


def test_lists_are_the_loggers(data):
    scores = data.X[:, 2]
    sessions = simulate(data, 2, sessions=60, seed=1)
    for logger in (data.feature_names[2] if data.feature_names else 2, scores):
        other = simulate(data, logger, sessions=60, seed=1)
        assert (other.doc.codes == sessions.doc.codes).all()
    qids = [str(qid) for qid in data.qids]
    for number in range(60):
        query = qids.index(sessions.query.table[sessions.query.codes[number]])
        assert documents(sessions, number) == ranking(data, scores, query)
    assert np.bincount(sessions.query.codes).tolist() == [3] * 20
    assert sessions.base_positions is None


def test_a_ranker_may_be_the_logger(data):
    ranker = podium.RankSVM().fit(data)
    sessions, other = (
        simulate(data, ranker, sessions=40),
        simulate(data, ranker.predict(data), sessions=40),
    )
    assert (sessions.doc.codes == other.doc.codes).all()


def test_several_loggers_are_variants(data):
    sessions = simulate(data, {"a": 0, "b": 1}, sessions=2000, seed=1)
    assert sessions.variant.table == ("a", "b")
    share = np.bincount(sessions.variant.codes) / 2000
    np.testing.assert_allclose(share, 0.5, atol=5 * 0.5 / 2000**0.5)


def test_each_adjacent_pair_is_swapped_as_often(data):
    long = podium.make_synthetic(n_queries=2, n_docs=6, n_features=2, seed=1)
    n = 100_000
    sessions = simulate(long, 0, sessions=n, swap=0.05, seed=1)
    moves = (sessions.positions - sessions.base_positions).reshape(n, 6)
    assert set(np.unique(moves)) == {-1, 0, 1}
    swapped = (moves[:, :-1] == -1) & (moves[:, 1:] == 1)
    assert (swapped.sum() * 2) == (moves != 0).sum()
    np.testing.assert_allclose(swapped.mean(axis=0), 0.05, atol=5 * (0.05 / n) ** 0.5)


def test_a_shuffle_is_uniform_at_the_top():
    data = podium.make_synthetic(n_queries=1, n_docs=5, n_features=2, seed=1)
    n = 30_000
    sessions = simulate(data, 0, sessions=n, shuffle=3, seed=1)
    base = sessions.base_positions.reshape(n, 5)
    assert (base[:, 3:] == [4, 5]).all()
    counts = np.array([[(base[:, place] == b).mean() for b in (1, 2, 3)] for place in range(3)])
    np.testing.assert_allclose(counts, 1 / 3, atol=5 * 0.5 / n**0.5)


def test_zipf_traffic_and_user_classes(data):
    models = {"novice": "pbm", "expert": true_model(data, "document-rates")}
    sessions = simulate(
        data,
        0,
        models,
        20_000,
        seed=1,
        traffic="zipf",
        class_shares={"novice": 0.25, "expert": 0.75},
    )
    counts = np.sort(np.bincount(sessions.query.codes))[::-1] / 20_000
    share = 1 / np.arange(1, 21)
    np.testing.assert_allclose(counts[:3], (share / share.sum())[:3], atol=0.02)
    assert sessions.user_class.table == ("expert", "novice")
    is_novice = sessions.user_class.codes == 1
    assert is_novice.mean() == pytest.approx(0.25, abs=0.02)
    rates = []
    for own in (is_novice, ~is_novice):
        part = sessions.take(np.flatnonzero(own))
        rates.append(part.clicked[part.positions >= 5].mean())
    assert rates[1] > 2 * rates[0]  # experts examine every rank


def test_attraction_is_its_formula(data):
    model = true_model(data, "pbm", noise=0.2, eta=2, depth=3)
    assert model.by_rank.tolist() == [1, 1 / 4, 1 / 9]
    expected = {0: 0.2, 1: 0.2 + 0.8 * 1 / 3, 2: 1.0}
    sessions = simulate(data, 0, model, 20)
    values = model.row_attraction(sessions)
    assert {round(v, 12) for v in values.tolist()} <= {round(v, 12) for v in expected.values()}


def test_same_seed_same_log(data):
    one, same, other = (
        simulate(data, 0, "dbn", 200, seed=seed, swap=0.1, traffic="zipf") for seed in (1, 1, 2)
    )
    for name in ("click_order", "time", "base_positions"):
        assert getattr(one, name).tobytes() == getattr(same, name).tobytes()
    assert one.click_order.tobytes() != other.click_order.tobytes()


def test_wrong_settings_are_refused(data):
    shares = {"class_shares": {"a": 1.0}, "model": {"b": "pbm"}}
    numbers = ({"swap": 0.6}, {"sessions": 0}, {"depth": 0}, {"noise": 1.0}, {"logger": 99})
    for wrong in (*numbers, {"traffic": "all"}, {"logger": "no"}, shares):
        with pytest.raises(UsageError):
            simulate(data, **wrong)
    with pytest.raises(UnknownNameError):
        simulate(data, model="pmb")
    with pytest.raises(DataError, match="finite"):
        simulate(data, np.full(len(data), np.nan))


def test_sessions_are_columns():
    sessions = ClickSessions.from_lists(["b", "a"], [["x", "y"], ["y"]], [["y", "x"], []])
    assert sessions.click_order.tolist() == [2, 1, 0]
    by_query, queries = sessions.by_query()
    assert [by_query.query.table[c] for c in by_query.query.codes] == ["a", "b"]
    assert queries.sizes.tolist() == [1, 1]
    pairs, number = sessions.pairs
    names = [
        (pairs.queries[q], pairs.docs[d])
        for q, d in zip(pairs.query_codes, pairs.doc_codes, strict=True)
    ]
    assert names == [("a", "y"), ("b", "x"), ("b", "y")]
    assert number.tolist() == [1, 2, 0]
    with pytest.raises(EmptyDataError):
        sessions.take([]).require_sessions()
    with pytest.raises(DataError, match="without repeats"):
        ClickSessions.from_lists(["a"], [["x", "x"]], [[]])
    with pytest.raises(UsageError, match="both parts"):
        sessions.split(1.0)
