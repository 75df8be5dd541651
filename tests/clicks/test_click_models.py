"""Click models: equations as arithmetic, likelihood by enumeration, recovery of the truth, twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import podium
from podium.clicks import (
    CLICK_MODELS,
    CascadeModel,
    ClickSessions,
    DependentClickModel,
    DocumentClickRates,
    DynamicBayesianModel,
    FitSettings,
    PairValues,
    PositionBasedModel,
    RankClickRates,
    UserBrowsingModel,
    fit_click_model,
    simulate,
    true_model,
)
from podium.errors import DataError, EmptyDataError, NotConvergedWarning, UnknownNameError
from podium.kernels import reference


def one_list(*clicks, n=3):
    """Sessions with the same list of n documents a, b, c, ... and these clicks."""
    docs = [chr(97 + i) for i in range(n)]
    return ClickSessions.from_lists(
        ["q"] * len(clicks), [docs] * len(clicks), [[*c] for c in clicks]
    )


def values_of(sessions, *values, default=0.1):
    return PairValues(sessions.pairs[0], np.array(values, dtype=float), default)


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=30, n_docs=(6, 9), n_features=4, seed=1)


# --- equations


def test_the_dbn_is_its_equation():
    sessions = one_list("a", "b", "")
    model = DynamicBayesianModel(
        attraction=values_of(sessions, 0.5, 0.4, 0.2), satisfaction=values_of(sessions, 0.6, 0.3, 0.1),
        continuation=0.9,
    )  # fmt: skip
    goes_on_a = 0.9 * (1 - 0.6)  # after a click on a
    skipped_a = 0.9  # a was examined and skipped
    after_b = goes_on_a * (1 - 0.4) / (1 - goes_on_a * 0.4)  # b was skipped, or not examined
    skipped_b = skipped_a * (1 - 0.4) / (1 - skipped_a * 0.4)
    expected = [
        [0.5, goes_on_a * 0.4, 0.9 * after_b * 0.2],
        [0.5, skipped_a * 0.4, 0.9 * (1 - 0.3) * 0.2],
        [0.5, skipped_a * 0.4, 0.9 * skipped_b * 0.2],
    ]
    got = model.conditional_probabilities(sessions).reshape(3, 3)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    first = [0.5, 0.9 * (1 - 0.5 * 0.6) * 0.4, 0.9**2 * (1 - 0.5 * 0.6) * (1 - 0.4 * 0.3) * 0.2]
    np.testing.assert_allclose(model.click_probabilities(sessions)[:3], first, rtol=1e-12)


def test_pbm_cascade_dcm_and_ubm_are_their_equations():
    sessions = one_list("a")
    attraction = values_of(sessions, 0.5, 0.4, 0.2)
    pbm = PositionBasedModel(attraction=attraction, by_rank=np.array([1, 0.5, 0.25]))
    assert pbm.conditional_probabilities(sessions).tolist() == [0.5, 0.4 * 0.5, 0.2 * 0.25]
    cascade = CascadeModel(attraction=attraction)
    assert cascade.conditional_probabilities(sessions).tolist() == [0.5, 0, 0]
    dcm = DependentClickModel(attraction=attraction, stopping=np.array([0.3, 0.2, 0.1]))
    skip = 0.7 * (1 - 0.4) / (1 - 0.7 * 0.4)
    np.testing.assert_allclose(
        dcm.conditional_probabilities(sessions), [0.5, 0.7 * 0.4, skip * 0.2], rtol=1e-12
    )
    table = np.array([[1.0, 1, 1], [0.6, 0.9, 1], [0.3, 0.5, 0.8]])
    ubm = UserBrowsingModel(attraction=attraction, by_last_click=table)
    np.testing.assert_allclose(
        ubm.conditional_probabilities(sessions), [0.5, 0.9 * 0.4, 0.5 * 0.2], rtol=1e-12
    )
    second = 0.5 * 0.9 + 0.5 * 0.6  # a was clicked, or not
    third = 0.5 * (1 - 0.6 * 0.4) * 0.3 + 0.5 * (1 - 0.9 * 0.4) * 0.5 + second * 0.4 * 0.8
    np.testing.assert_allclose(ubm.examination(sessions), [1, second, third], rtol=1e-12)


def random_model(name, sessions, rng):
    """A model with random parameters for a list of 4 documents."""
    pairs = sessions.pairs[0]
    parameters = {
        "rank-rates": {"by_rank": rng.random(4)}, "document-rates": {"by_rank": np.ones(1)},
        "pbm": {"by_rank": rng.random(4)}, "cascade": {}, "dcm": {"stopping": rng.random(4)},
        "ubm": {"by_last_click": rng.random((4, 4))},
        "sdbn": {"satisfaction": rng.random(4), "other": np.array([0.5, 1.0])},
        "dbn": {"satisfaction": rng.random(4), "other": np.array([0.5, rng.random()])},
    }[name]  # fmt: skip
    if "other" in parameters:
        parameters["default_and_continuation"] = parameters.pop("other")
    attraction = PairValues(pairs, rng.uniform(0.05, 0.95, 4), 0.1)
    return CLICK_MODELS[name].from_parameters(attraction, parameters, None)


@pytest.mark.parametrize("name", CLICK_MODELS)
def test_probabilities_of_all_clicks_add_up_to_one(name):
    patterns = [
        "".join(d for d, clicked in zip("abcd", bits, strict=True) if clicked)
        for bits in itertools.product([False, True], repeat=4)
    ]
    sessions = one_list(*patterns, n=4)
    model = random_model(name, sessions, np.random.default_rng(3))
    chance, clicked = model.conditional_probabilities(sessions), sessions.clicked
    likelihood = np.where(clicked, chance, 1 - chance).reshape(16, 4).prod(axis=1)
    assert likelihood.sum() == pytest.approx(1)
    # The probability of a click at a rank is the sum over all patterns with that click.
    by_rank = (likelihood[:, None] * clicked.reshape(16, 4)).sum(axis=0)
    np.testing.assert_allclose(model.click_probabilities(sessions)[:4], by_rank, rtol=1e-9)


@pytest.mark.parametrize("name", CLICK_MODELS)
def test_drawn_clicks_have_the_probabilities_of_the_model(name):
    sessions = one_list(*[""] * 40_000, n=4)
    model = random_model(name, sessions, np.random.default_rng(5))
    clicked = model.draw_clicks(sessions, seed=1).reshape(-1, 4)
    expected = model.click_probabilities(sessions)[:4]
    # 5 standard errors of a mean of 40,000 draws
    np.testing.assert_allclose(clicked.mean(axis=0), expected, atol=5 * 0.5 / 40_000**0.5)


def test_perplexity_is_its_formula():
    sessions = one_list("a", "", n=1)
    model = PositionBasedModel(attraction=values_of(sessions, 0.25), by_rank=np.ones(1))
    expected = 2 ** (-(np.log2(0.25) + np.log2(0.75)) / 2)
    assert model.perplexity(sessions).tolist() == [pytest.approx(expected)]
    assert model.log_likelihood(sessions).tolist() == pytest.approx([np.log(0.25), np.log(0.75)])


# --- fits


@pytest.mark.parametrize("name", CLICK_MODELS)
def test_a_fit_recovers_the_truth(data, name):
    truth = true_model(data, name)
    sessions = simulate(data, 0, name, 60_000, seed=2, shuffle=10)
    model = fit_click_model(sessions, name)
    assert model.summary.converged
    # Maximum likelihood is above the truth by about half the number of parameters (here 230 or more).
    gain = (model.log_likelihood(sessions) - truth.log_likelihood(sessions)).sum()
    assert gain > 0
    error = model.click_probabilities(sessions) - truth.click_probabilities(sessions)
    assert np.sqrt((error**2).mean()) < 0.02
    assert model.summary.log_likelihood == pytest.approx(
        model.log_likelihood(sessions).sum(), rel=1e-9
    )


def test_a_fit_recovers_each_parameter(data):
    rank = np.arange(1.0, 10)
    sessions = {
        m: simulate(data, 0, m, 100_000, seed=3, shuffle=10) for m in ("pbm", "dcm", "ubm", "dbn")
    }
    pbm, dcm, ubm, dbn = (fit_click_model(s, m) for m, s in sessions.items())
    np.testing.assert_allclose(pbm.propensities, 1 / rank, atol=0.02)
    # No list goes on after rank 9, so stopping there is not observed.
    stopping = 1 - 0.8 * 0.9 ** (rank[:8] - 1)
    np.testing.assert_allclose(dcm.stopping[:8], stopping, atol=0.05)
    np.testing.assert_allclose(
        ubm.by_last_click[:, 0] / ubm.by_last_click[0, 0], 1 / rank, atol=0.02
    )
    np.testing.assert_allclose(ubm.by_last_click[4, :4], 1 / (5 - np.arange(4)), atol=0.07)
    assert dbn.continuation == pytest.approx(0.9, abs=0.02)
    pairs, _ = sessions["dbn"].pairs
    truth = true_model(data, "dbn")
    relevant = truth.attraction.of(pairs) > 0.5  # enough clicks to measure satisfaction
    error = (dbn.satisfaction.of(pairs) - truth.satisfaction.of(pairs))[relevant]
    assert np.sqrt((error**2).mean()) < 0.06


@pytest.mark.parametrize("name", ["pbm", "ubm", "dcm", "sdbn", "dbn"])
def test_the_simulators_model_fits_best_on_other_sessions(data, name):
    train, test = simulate(data, 0, name, 60_000, seed=4, shuffle=10).split(0.5, seed=0)
    fits = {
        m: fit_click_model(train, m).log_likelihood(test).sum() for m in ("rank-rates", "pbm", name)
    }
    if name != "pbm":
        assert fits[name] > fits["pbm"]
    assert fits[name] > fits["rank-rates"]


def test_click_rates_are_counts():
    sessions = one_list("a", "ab", "", n=2)
    exact = FitSettings(smoothing=0)
    rank = RankClickRates.fit(sessions)
    np.testing.assert_allclose(rank.by_rank, [2 / 3, 1 / 3])
    document = DocumentClickRates.fit(sessions, settings=exact)
    np.testing.assert_allclose(document.click_probabilities(sessions)[:2], [2 / 3, 1 / 3])
    smooth = DocumentClickRates.fit(sessions)  # one impression more, with the overall rate of 3 / 6
    np.testing.assert_allclose(
        smooth.click_probabilities(sessions)[:2], [(2 + 0.5) / 4, (1 + 0.5) / 4]
    )
    other = ClickSessions.from_lists(["q"], [["z"]], [[]])
    assert smooth.click_probabilities(other).tolist() == [3 / 6]


@pytest.mark.parametrize("name", CLICK_MODELS)
def test_a_weight_of_two_is_the_session_twice(name):
    sessions = one_list("a", "b", "ac", "", "c")
    twice = sessions.take([0, 1, 2, 3, 4, 1, 3, 3])
    tight = FitSettings(tolerance=1e-12)
    one = CLICK_MODELS[name].fit(sessions, weight=np.array([1.0, 2, 1, 3, 1]), settings=tight)
    other = CLICK_MODELS[name].fit(twice, settings=tight)
    np.testing.assert_allclose(
        one.click_probabilities(sessions), other.click_probabilities(sessions), rtol=1e-4
    )
    assert one.summary.log_likelihood == pytest.approx(other.summary.log_likelihood, rel=1e-6)


def test_wrong_calls_are_refused():
    sessions = one_list("a")
    with pytest.raises(UnknownNameError, match=r"click model 'pmb'.*pbm"):
        fit_click_model(sessions, "pmb")
    with pytest.raises(DataError, match="expected 1 weights"):
        fit_click_model(sessions, "pbm", weight=np.ones(2))
    with pytest.raises(EmptyDataError, match="expected sessions"):
        fit_click_model(sessions.take([]), "pbm")
    with pytest.warns(NotConvergedWarning, match="max_steps"):
        fit_click_model(one_list("a", "b", "ab", ""), "pbm", settings=FitSettings(max_steps=1))


def test_the_prior_of_attraction_is_on_its_scale():
    """The mean click rate is 0.15 of attraction here, and documents have about 20 impressions."""
    data = podium.make_synthetic(n_queries=200, n_docs=(8, 14), n_features=6, seed=1)
    sessions = simulate(data, logger=0, model="pbm", sessions=40_000, swap=0.05, seed=1)
    model = fit_click_model(sessions, "pbm")
    assert model.by_rank[0] == 1
    error = model.by_rank[:10] - 1 / np.arange(1, 11)
    assert np.sqrt((error**2).mean()) < 0.04
    expected = sessions.clicked.sum() / model.examination(sessions).sum()
    assert model.attraction.default == pytest.approx(expected)


@pytest.mark.parametrize("name", ["pbm", "cascade", "dcm", "ubm", "sdbn", "dbn"])
def test_clicks_on_new_documents_are_as_frequent(name):
    data = podium.make_synthetic(n_queries=200, n_docs=8, n_features=4, seed=2)
    sessions = simulate(data, 0, name, 20_000, seed=1, shuffle=8)
    is_new = sessions.query.codes >= 100
    train, test = (sessions.take(np.flatnonzero(part)) for part in (~is_new, is_new))
    predicted = fit_click_model(train, name).click_probabilities(test).mean()
    assert predicted == pytest.approx(test.clicked.mean(), rel=0.15)


def test_ubm_sets_the_examination_of_rank_1_to_1(data):
    model = fit_click_model(simulate(data, 0, "ubm", 5000, seed=2, shuffle=10), "ubm")
    assert model.by_last_click[0, 0] == 1


def test_one_deep_list_costs_no_contexts():
    docs = [f"d{i}" for i in range(300)]
    sessions = ClickSessions.from_lists(
        ["q"] * 3, [docs, docs[:2], docs[:2]], [docs[:1], [], docs[:1]]
    )
    model = fit_click_model(sessions, "ubm")
    assert model.by_last_click.shape == (50, 50)
    assert np.isfinite(model.log_likelihood(sessions)).all()


# --- kernels


@st.composite
def logs(draw):
    """Sessions of a few queries as the kernels take them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_queries, n_docs = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    sessions = [draw(st.integers(0, 5)) for _ in range(n_queries)]
    pair, sizes = [], []
    for query, n in enumerate(sessions):
        for _ in range(n):
            sizes.append(int(rng.integers(0, n_docs + 1)))
            pair += (query * n_docs + rng.permutation(n_docs)[: sizes[-1]]).tolist()
    clicked = rng.random(len(pair)) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    return (
        np.array(pair, dtype=np.int64), clicked, rng.random(len(sizes)),
        np.cumsum([0, *sizes], dtype=np.int64), np.cumsum([0, *sessions], dtype=np.int64),
        rng.uniform(1e-9, 1 - 1e-9, n_queries * n_docs), n_docs,
    )  # fmt: skip


@given(logs(), st.booleans(), st.sampled_from([0.0, 1e-9, 0.4, 1.0]))
@settings(max_examples=60, deadline=None)
def test_click_chain_pass(native, log, by_rank, continuation):
    *columns, attraction, n_docs = log
    stopping = attraction[::-1].copy() if not by_rank else attraction[:n_docs].copy()
    arguments = (*columns, attraction, stopping, continuation, by_rank)
    for a, b in zip(
        native.click_chain_pass(*arguments), reference.click_chain_pass(*arguments), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@given(logs(), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_click_cells_pass(native, log, n_contexts):
    pair, clicked, _, _, _, attraction, _ = log
    order = np.argsort(pair, kind="stable")
    offsets = np.searchsorted(pair[order], np.arange(len(attraction) + 1)).astype(np.int64)
    rng = np.random.default_rng(len(pair))
    impressions = rng.integers(1, 9, len(pair)).astype(float)
    clicks = np.where(clicked, rng.integers(0, 9, len(pair)), 0.0).clip(0, impressions)
    context = rng.integers(0, n_contexts, len(pair))
    examination = rng.uniform(1e-9, 1 - 1e-9, n_contexts)
    arguments = (offsets, context, impressions, clicks, attraction, examination)
    for a, b in zip(
        native.click_cells_pass(*arguments), reference.click_cells_pass(*arguments), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["chain by rank", "chain by document", "cells"])
def test_passes_do_not_depend_on_threads(native, kind):
    """So many rows that kernels share them out among threads: all that a fit computes in parallel."""
    n_queries, n_sessions, n_docs = 3000, 30_000, 10
    rng, n_pairs, n_rows = np.random.default_rng(0), n_queries * n_docs, n_sessions * n_docs
    pair = np.repeat(np.sort(rng.integers(0, n_queries, n_sessions)), n_docs) * n_docs
    pair += np.tile(rng.permutation(n_docs), n_sessions)
    clicked, weight = rng.random(n_rows) < 0.2, rng.random(n_sessions)
    attraction = rng.uniform(0.1, 0.9, n_pairs)

    def output(threads):
        with threadpool_limits(threads):
            if kind == "cells":
                offsets = np.searchsorted(np.sort(pair), np.arange(n_pairs + 1))
                counts = (rng_of(1, n_rows) * 9, rng_of(2, n_rows))
                arrays = native.click_cells_pass(
                    offsets, np.tile(np.arange(n_docs), n_sessions), *counts, attraction,
                    attraction[:n_docs].copy(),
                )  # fmt: skip
            else:
                by_rank = kind == "chain by rank"
                by_query = np.bincount(pair[::n_docs] // n_docs, minlength=n_queries)
                arrays = native.click_chain_pass(
                    pair, clicked, weight, np.arange(n_sessions + 1) * n_docs,
                    np.concatenate([[0], np.cumsum(by_query)]), attraction,
                    attraction[: n_docs if by_rank else n_pairs].copy(), 0.9, by_rank,
                )  # fmt: skip
        return [np.asarray(array).tobytes() for array in arrays]

    assert output(1) == output(3)


def rng_of(seed, n):
    """Generated numbers from 0 to 1."""
    return np.random.default_rng(seed).random(n)
