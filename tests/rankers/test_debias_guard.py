"""The guard: plain click rates stay unless held-out sessions show that a candidate is better."""

import numpy as np
import pytest

import podium
from podium.clicks import LabelSettings, PolicySettings, simulate, true_model
from podium.errors import UsageError
from podium.rankers import (
    ClickLearning,
    GuardSettings,
    choose_debiasing,
    debias_guard,
    fit_to_clicks,
    fit_with_guard,
)
from tests.support.case_counts import soak_cases

QUICK = GuardSettings(policy=PolicySettings(resamples=300))
DRAWS = soak_cases(200, usual=20)


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=200, n_docs=10, n_features=5, seed=2)


@pytest.fixture(scope="module")
def log(data):
    return simulate(data, 3, "pbm", 20_000, swap=0.1, seed=2)


def test_a_better_candidate_is_chosen_and_fitted_to_all_sessions(data, log):
    ranker, report = fit_with_guard(podium.ListNet(), data, log, [ClickLearning("dr")], QUICK)
    assert report.chosen == "dr"
    assert report.differences["dr"].interval.low > 0
    assert (report.n_train, report.n_held_out) == (16_000, 4_000)
    assert report.reason.startswith("dr earns +")
    assert "plain click rates" in report.reason
    whole = fit_to_clicks(podium.ListNet(), data, log, ClickLearning("dr"))
    assert np.array_equal(ranker.predict(data), whole.predict(data))
    assert report.to_dict()["differences"]["dr"]["value"] > 0


def test_the_best_of_several_is_chosen_by_wider_intervals(data, log):
    candidates = [ClickLearning("ips"), ClickLearning("dr")]
    report = choose_debiasing(podium.ListNet(), data, log, candidates, QUICK)
    assert report.chosen == max(report.differences, key=lambda n: report.differences[n].value)
    assert {e.interval.level for e in report.differences.values()} == {0.975}
    one = choose_debiasing(podium.ListNet(), data, log, candidates[:1], QUICK)
    widths = [r.differences["ips"].interval for r in (one, report)]
    assert widths[0].high - widths[0].low < widths[1].high - widths[1].low


def test_few_sessions_keep_click_rates(data, log):
    ranker, report = fit_with_guard(
        podium.ListNet(), data, log.take(np.arange(400)), settings=QUICK
    )
    assert report.chosen == "none"
    assert "no candidate is better" in report.reason
    naive = fit_to_clicks(podium.ListNet(), data, log.take(np.arange(400)), ClickLearning("none"))
    assert np.array_equal(ranker.predict(data), naive.predict(data))


def test_without_swaps_nothing_can_be_compared(data):
    log = simulate(data, 3, "pbm", 2000, seed=1)
    ranker, report = fit_with_guard(podium.ListNet(), data, log, [ClickLearning("model")], QUICK)
    assert report.chosen == "none"
    assert report.differences == {}
    assert report.reason.startswith("nothing can be compared: one ranker, no swaps")
    assert ranker.score(data) > 0


def test_equal_candidates_are_rarely_taken(data):
    # Users without position bias: ips has nothing to gain, so it may win in at most 2.5% of the logs.
    wins = 0
    for seed in range(DRAWS):
        log = simulate(data, 3, "document-rates", 2000, swap=0.3, seed=seed)
        report = choose_debiasing(podium.ListNet(), data, log, [ClickLearning("ips")], QUICK)
        wins += report.chosen != "none"
    assert wins <= DRAWS * 0.025 + 3 * (DRAWS * 0.025) ** 0.5


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="between 0 and 1"):
        GuardSettings(holdout=1.0)


def test_candidates_of_the_same_method_are_refused(data, log):
    twice = [ClickLearning("dr"), ClickLearning("dr", labels=LabelSettings(clip=0.3))]
    with pytest.raises(UsageError, match="different debiasing methods, got dr, dr"):
        fit_with_guard(podium.ListNet(), data, log, twice, QUICK)


def test_intervals_of_few_queries_choose_nothing(monkeypatch):
    # The bootstrap interval of one query has no width, so any difference is above 0.
    data = podium.make_synthetic(n_queries=1, n_docs=10, n_features=5, seed=0)
    log = simulate(data, 3, "pbm", 2000, swap=0.2, seed=0)
    candidate = ClickLearning("ips", true_model(data, "pbm"))
    reports = []
    for least in (debias_guard.MIN_QUERIES_TO_CHOOSE, 0):
        monkeypatch.setattr(debias_guard, "MIN_QUERIES_TO_CHOOSE", least)
        reports.append(choose_debiasing(podium.ListNet(), data, log, [candidate], QUICK))
    careful, careless = reports
    assert careless.chosen == "ips"
    assert careful.chosen == "none"
    assert careful.reason == (
        "ips may be better, but the clicks are of 1.0 effective queries; expected at least 10"
    )


def test_one_session_keeps_click_rates(data, log):
    clicked = np.flatnonzero(log.groups.reduce(np.add, log.clicked.astype(int)))[:1]
    ranker, report = fit_with_guard(podium.ListNet(), data, log.take(clicked), settings=QUICK)
    assert report.chosen == "none"
    assert report.reason.startswith("nothing can be compared: 1 session cannot")
    assert np.isfinite(ranker.predict(data)).all()


def test_held_out_sessions_without_clicks_measure_nothing(data, log):
    order = np.random.default_rng(QUICK.seed).permutation(len(log))  # as ClickSessions.split
    is_held_out = np.isin(np.arange(len(log)), order[round(0.8 * len(log)) :])
    clicked = log.clicked & ~np.asarray(log.groups.spread(is_held_out))
    report = choose_debiasing(
        podium.ListNet(), data, log.with_clicks(clicked), [ClickLearning("dr")], QUICK
    )
    assert report.chosen == "none"
    assert report.reason.endswith("those that measure have no click")
