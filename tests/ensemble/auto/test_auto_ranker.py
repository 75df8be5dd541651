"""AutoRanker: one model from a search, the same for the same budget of fits."""

import json
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

import podium
from podium.data import RankingData, concatenate, make_synthetic, split
from podium.ensemble import AutoRanker, RerankedModel, SearchStep
from podium.ensemble.auto import ranker as auto
from podium.ensemble.auto.budget import Budget
from podium.ensemble.auto.combinations import TopRankVote
from podium.ensemble.auto.fit_store import FIT_ENDING, FitStore, StoredFit
from podium.ensemble.auto.fit_times import FitTimes
from podium.ensemble.auto.fold_fits import FitTask, FoldFit
from podium.ensemble.auto.racing import whole_race
from podium.ensemble.auto.search import CandidateSearch
from podium.ensemble.auto.search_progress import interval
from podium.ensemble.auto.search_results import make_report
from podium.errors import (
    DataError,
    ModelFileError,
    NotConvergedWarning,
    PodiumError,
    SmallBudgetWarning,
    UsageError,
)
from podium.rankers import MODELS, Linear
from podium.rankers.selection_report import SelectionReport
from podium.testing import check_ranker

DATA = make_synthetic(n_queries=30, n_docs=(4, 10), n_features=4, grades=(0.5, 0.3, 0.2), seed=1)


def with_features(X):
    qid = DATA.groups.spread(np.arange(DATA.n_queries))
    return RankingData.from_arrays(X, DATA.y, qid=qid, missing="nan")


def test_auto_keeps_the_contract_of_a_ranker():
    check_ranker(AutoRanker(budget="4fits"))


def saved(ranker, tmp_path, name="model"):
    ranker.save(tmp_path / name)
    return (tmp_path / name).read_bytes()


def test_a_number_of_fits_gives_the_same_bytes_for_any_number_of_processes(tmp_path):
    one = AutoRanker(budget="12fits").fit(DATA)
    two = AutoRanker(budget="12fits", n_jobs=2).fit(DATA)
    assert saved(one, tmp_path, "one") == saved(two, tmp_path, "two")
    other = AutoRanker(budget="12fits", seed=1).fit(DATA)
    assert saved(other, tmp_path) != saved(one, tmp_path)


def test_a_race_counts_its_fits_and_says_what_it_left_out():
    report = AutoRanker(budget="12fits").fit(DATA).report_
    assert report.fits == sum(c.fits for c in report.candidates) <= 12
    assert report.budget == "12 fits"
    assert "candidates were not fitted" in report.left_out[0]
    n_fits = whole_race(len(report.candidates), report.folds)
    assert report.left_out[0].endswith(f"a race of all takes about {n_fits} fits")
    assert sum(c.weight for c in report.candidates) == pytest.approx(1)
    assert {m.outcome for m in report.members} == {"member"}
    assert report.combination in {c.name for c in report.combinations}
    for candidate in report.candidates:
        assert (candidate.value is None) == (candidate.fits == 0)


def test_the_report_is_kept_in_the_file(tmp_path):
    ranker = AutoRanker(budget="6fits").fit(DATA)
    ranker.save(tmp_path / "model.podium")
    loaded = podium.load(tmp_path / "model.podium")
    assert loaded.report_ == ranker.report_.without_times()
    assert loaded.budget == "6fits"
    assert loaded.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    headers, rows = loaded.report_.candidate_table()
    assert all(len(row) == len(headers) for row in rows)
    assert "auto" not in repr(loaded.report_)
    assert loaded.report_.members[0].label in repr(loaded.report_)
    assert "<table" in loaded.report_._repr_html_()


@pytest.mark.parametrize("damage", [{"fits": "many"}, {"candidates": [3]}, {"metric": None}])
def test_a_damaged_report_is_refused(damage):
    stored = AutoRanker(budget="4fits").fit(DATA).report_.to_dict()
    assert SelectionReport.from_dict(json.loads(json.dumps(stored))).fits == stored["fits"]
    with pytest.raises(ValueError, match="damaged report"):
        SelectionReport.from_dict({**stored, **damage})


def test_models_learn_from_validation_queries(tmp_path):
    train, valid = split(DATA, [0.7, 0.3], seed=0)
    ranker = AutoRanker(budget="8fits").fit(train, valid=valid)
    both = concatenate([train, replace(valid, qids=renamed(valid))])
    whole = AutoRanker(budget="8fits").fit(both)
    assert ranker.predict(DATA).tobytes() == whole.predict(DATA).tobytes()
    chosen = next(c for c in ranker.report_.combinations if c.is_chosen)
    # The metric of the result on queries that it did not see.
    assert ranker.history_.steps[-1].valid == chosen.value


def test_tuning_takes_the_value_of_a_search_on_queries_that_it_did_not_see():
    train, valid = split(DATA, [0.7, 0.3], seed=0)
    tuning = podium.tune(AutoRanker(budget="4fits"), train, valid, grid={"seed": [0, 1]})
    assert [trial.value for trial in tuning.trace] == [
        AutoRanker(budget="4fits", seed=seed).fit(train, valid=valid).history_.steps[-1].valid
        for seed in (0, 1)
    ]


def test_validation_queries_only_choose_iterations_if_models_do_not_learn_from_them():
    train, valid = split(DATA, [0.7, 0.3], seed=0)
    ranker = AutoRanker(budget="8fits", learns_from_valid=False)
    search = ranker._start_search(train, monitor_of(train, valid), None)
    assert search.runner.queries.raw.n_queries == train.n_queries
    assert search.runner.queries.raw_valid.qids.tolist() == renamed(valid).tolist()


def test_validation_queries_without_a_weight_teach_nothing():
    train, valid = split(DATA, [0.7, 0.3], seed=0)
    weight = np.arange(valid.n_queries) % 2.0
    search = AutoRanker()._start_search(
        train, monitor_of(train, replace(valid, query_weight=weight)), None
    )
    assert search.runner.queries.raw.n_queries == train.n_queries + int(weight.sum())


def renamed(valid):
    return np.array([f"valid {qid}" for qid in valid.qids.tolist()], dtype=object)


def test_steps_have_a_leaderboard():
    steps = []
    AutoRanker(budget="6fits").fit(DATA, callback=steps.append)
    own = [step for step in steps if isinstance(step, SearchStep)]
    assert [step.iteration for step in own] == [1, 2, 3, 4, 5, 6]
    assert {step.total for step in own} == {6}
    assert own[-1].seconds_left is None
    for step in own:
        assert step.valid == step.leaders[0].value
        assert all(row.low <= row.value <= row.high for row in step.leaders)


def test_missing_values_and_uneven_features_are_prepared():
    X = DATA.X * [1.0, 1.0, 1.0, 1e5]
    X[::7, 1] = np.nan
    qid = np.repeat(DATA.qids, DATA.groups.sizes)
    ranker = AutoRanker(budget="8fits").fit(X, DATA.y, qid=qid)
    assert np.isfinite(ranker.predict(X, qid=qid)).all()
    assert ranker.score(X, DATA.y, qid=qid) > 0.75


def test_rankers_can_be_left_out():
    report = AutoRanker(budget="4fits", without="lambdamart").fit(DATA).report_
    assert not [c for c in report.candidates if c.label.startswith("lambdamart")]


# --- budgets in time ---


@pytest.mark.filterwarnings("ignore::podium.errors.SmallBudgetWarning")  # on a busy machine
def test_a_budget_in_time_ends_and_names_what_is_left_out():
    ranker = AutoRanker(budget=0.5).fit(DATA)
    assert ranker.report_.seconds is not None
    assert not ranker.report_.counts_fits
    assert ranker.report_.fits < 64 * 2
    assert ranker.report_.members


def test_a_tiny_budget_warns_that_no_candidate_was_measured_on_all_folds():
    with pytest.warns(SmallBudgetWarning, match=r"of 0.0001 s was too small .* measured on 1, and"):
        report = AutoRanker(budget=0.0001).fit(DATA).report_
    assert report.fits == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmallBudgetWarning)
        AutoRanker(budget="4fits").fit(DATA)  # two folds: the folds follow a budget of fits


@pytest.mark.parametrize(
    ("budget", "text"), [("4fits", ""), ("100s", ", 8m"), ("100s cpu", ", 8m of processor time")]
)
def test_the_report_says_how_much_would_do(monkeypatch, budget, text):
    search = AutoRanker(budget=budget)._start_search(DATA, monitor_of(DATA), None)
    n = len(search.runner.candidates)
    n_fits = whole_race(n, search.runner.n_folds)
    seconds = [465 / n_fits - 1, 465 / n_fits + 1]  # 465 s: 7.75 minutes
    fits = [FoldFit.failed("", s) for s in seconds]
    search.runner.fits.update({FitTask(0, 0, fold): fit for fold, fit in enumerate(fits)})
    report = make_report(search, None, [])
    assert report.left_out[0] == (
        f"{n - 1} of {n} candidates were not fitted on all their folds; a race of all takes about "
        f"{n_fits} fits{text}"
    )
    assert "nothing was combined" in report.left_out[1]
    search.runner.fits[FitTask(0, 0, 0)] = replace(fits[0], is_cut=True)
    if text:
        cut = make_report(search, None, []).left_out[0]
        assert cut.endswith(text.replace(", ", ", at least "))


@pytest.mark.parametrize(
    ("data", "constant"),
    [
        (make_synthetic(n_queries=3, n_docs=4, n_features=1, seed=0), False),
        (with_features(np.full(DATA.X.shape, np.nan)), True),
        (with_features(np.ones(DATA.X.shape)), True),
        (with_features(DATA.X * 1e200), False),
    ],
    ids=["tiny", "all values missing", "constant features", "huge values"],
)
def test_strange_data_have_a_result(data, constant):
    ranker = AutoRanker(budget="10fits").fit(data)
    scores = ranker.predict(data)
    assert np.isfinite(scores).all()
    assert (np.ptp(scores) == 0) == constant


@pytest.mark.parametrize(
    ("y", "match"),
    [(np.ones(len(DATA)), "the same label"), (None, "one document only")],
    ids=["equal labels", "one document per query"],
)
def test_data_without_a_contrast_are_refused(y, match):
    data = DATA.with_labels(y) if y is not None else one_document_each()
    with pytest.raises(DataError, match=match):
        AutoRanker(budget="4fits").fit(data)


def one_document_each():
    n = 8
    return RankingData.from_arrays(DATA.X[:n], DATA.y[:n], qid=np.arange(n))


def test_no_fit_starts_that_is_predicted_to_take_too_long(monkeypatch):
    search = AutoRanker(budget="1h")._start_search(DATA, monitor_of(DATA), None)
    runner = search.runner
    monkeypatch.setattr(runner, "predicted_seconds", lambda number: 1e6 if number else 0.0)
    runner.run([FitTask(0, 0, 0), FitTask(1, 0, 0)])
    assert list(runner.fits) == [FitTask(0, 0, 0)]


def test_times_are_predicted_from_fits_of_the_same_kind_or_from_a_sample(monkeypatch):
    monkeypatch.setattr("podium.ensemble.auto.fit_runner.SAMPLE_VALUES", 100)
    runner = AutoRanker(budget="1h")._start_search(DATA, monitor_of(DATA), None).runner
    assert runner.predicted_seconds(0) == 0
    runner.measure_sample_times([0, 1], 1.0)
    assert runner.predicted_seconds(0) == runner.times.samples[runner.timing_kind(0)] > 0
    runner.run([FitTask(0, 0, 0)])
    assert runner.predicted_seconds(0) == runner.fits[FitTask(0, 0, 0)].seconds
    alike = next(i for i in range(1, 64) if runner.timing_kind(i) == runner.timing_kind(0))
    assert runner.predicted_seconds(alike) == runner.predicted_seconds(0)


def test_a_search_has_a_result_even_if_every_fit_is_predicted_to_take_too_long(monkeypatch):
    monkeypatch.setattr(
        "podium.ensemble.auto.fit_runner.FitRunner.predicted_seconds", lambda self, number: 1e6
    )
    with pytest.warns(SmallBudgetWarning, match=r"of 3600 s was too small .* measured on 1, and"):
        report = AutoRanker(budget="1h").fit(DATA).report_
    assert report.fits == 1
    assert [member.weight for member in report.members] == [1.0]


def test_only_as_many_candidates_go_on_as_the_time_allows(monkeypatch):
    search = AutoRanker(budget=1000.0)._start_search(DATA, monitor_of(DATA), None)
    monkeypatch.setattr(search.runner, "predicted_seconds", lambda number: 50.0)
    # 0.85 * 1000 s are left for the race; 50 s * (7 + 5 + 4) = 800 s, 50 s * (8 + 5 + 4) = 850 s
    assert search._affordable_size(range(8), [8, 5, 4]) == 7


def test_a_fit_is_cut_when_its_time_is_over():
    from podium.ensemble.auto.fold_fits import fit_fold
    from podium.rankers import LambdaMART

    held_out = np.arange(DATA.n_queries) % 3 == 0
    metric = podium.metrics.parse("NDCG@10").averaging_ties()
    fit = fit_fold(LambdaMART(min_leaf=1, threads=1), DATA, held_out, None, metric, seconds=0.0)
    assert fit.is_cut
    assert fit.model is not None


def monitor_of(data, valid=None):
    from podium.rankers.fit_monitor import FitMonitor

    return FitMonitor("auto", podium.metrics.parse("NDCG@10").averaging_ties(), valid)


def test_a_budget_of_processor_time_does_not_count_the_time_of_others():
    def sleep(step):
        if isinstance(step, SearchStep):
            time.sleep(0.05)

    started = time.perf_counter()
    report = AutoRanker(budget="1s cpu", without=("catboost",)).fit(DATA, callback=sleep).report_
    assert report.budget == "1 s of processor time"
    # The time asleep does not count: it is part of the wall time alone.
    assert report.seconds < time.perf_counter() - started - 0.05 * report.fits


def test_a_budget_of_processor_time_needs_one_process():
    with pytest.raises(UsageError, match="counts the time of one process, got 2 fits") as caught:
        AutoRanker(budget="10m cpu", n_jobs=2).fit(DATA)
    assert "use --jobs 1" in caught.value.on_command_line()


def test_the_time_that_a_fit_may_use_leaves_time_for_ten(monkeypatch):
    runner = AutoRanker(budget="100s")._start_search(DATA, monitor_of(DATA), None).runner
    assert runner._fit_limit(90.0) == 100 / 10
    assert runner._fit_limit(3.0) == 3.0
    assert runner._fit_limit(-1.0) == 0.0
    monkeypatch.setattr(runner, "n_workers", lambda: 2)
    assert runner._fit_limit(90.0) == 100 / 8
    monkeypatch.setattr(runner, "n_workers", lambda: 64)
    assert runner._fit_limit(90.0) == 100 / 8  # each fold needs a turn, and the end


def test_times_of_fits_are_means_of_the_candidate_or_of_its_kind():
    times = FitTimes({"trees": 9.0, "network": 7.0})
    assert times.predict(0, "trees") == 9.0
    for number, seconds in ((0, 1.0), (0, 3.0), (1, 8.0)):
        times.add(number, "trees", seconds)
    assert times.predict(0, "trees") == (1 + 3) / 2
    assert times.predict(2, "trees") == (1 + 3 + 8) / 3
    assert (times.predict(3, "network"), times.predict(3, "linear")) == (7.0, 0.0)


def test_times_are_predicted_in_a_thread_while_fits_come_in():
    times, done = FitTimes(), threading.Event()

    def predict():
        seen = set()
        while not done.is_set():
            seen.add(times.predict(-1, "trees"))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(predict) for _ in range(2)]
        for number in range(20_000):
            times.add(number, "trees", 2.0)
        done.set()
        # A mean that was read half replaced would be neither.
        assert set.union(*(reader.result() for reader in readers)) <= {0.0, 2.0}


def test_fits_in_threads_give_the_result_of_fits_one_by_one(tmp_path):
    one = AutoRanker(budget="12fits").fit(DATA)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        threads = AutoRanker(budget="12fits", n_jobs=3).fit(DATA)
    assert saved(one, tmp_path, "one") == saved(threads, tmp_path, "threads")


# --- the race ---


def test_a_family_far_behind_makes_room_for_others(monkeypatch):
    def search(value_of_others):
        def measure(self, number):
            is_linear = self.runner.candidates[number].family == "linear"
            return np.full(8, 0.9 if is_linear else value_of_others), None

        monkeypatch.setattr(CandidateSearch, "per_query", measure)
        return AutoRanker(budget="20fits", without=("catboost",)).fit(DATA).report_

    alike, behind = search(0.9), search(0.4)
    n_pilots = 2
    for family in ("trees", "stumps"):
        own = [c for c in behind.candidates if c.family == family]
        assert sum(c.fits > 0 for c in own) <= n_pilots
        assert all("family is far behind" in c.outcome for c in own[n_pilots:])
    linear = [
        sum(c.fits > 0 for c in r.candidates if c.family == "linear") for r in (alike, behind)
    ]
    assert linear[0] < linear[1]
    assert {c.family for c in behind.members} == {"linear"}
    assert not [c for c in alike.candidates if "far behind" in c.outcome]


def test_the_best_finalists_are_fitted_on_more_divisions(monkeypatch):
    search = AutoRanker(budget=1000.0)._start_search(DATA, monitor_of(DATA), None)
    n_folds = search.runner.n_folds
    search.finalists, search.divisions = [3, 1, 2], 1
    monkeypatch.setattr(search.runner, "predicted_seconds", lambda number: 60.0)
    # 0.95 * 1000 s are left for 60 s * folds of each finalist
    assert search._finalists_in_budget() == [3, 1, 2][: int(950 // (60 * n_folds))]
    monkeypatch.setattr(search.runner, "predicted_seconds", lambda number: 1e4)
    assert search._finalists_in_budget() == []
    search.runner.clock.budget = Budget(fits=2 * n_folds + 1)
    assert search._finalists_in_budget() == [3, 1]


def test_members_are_fitted_more_often_if_the_budget_does_not_allow_a_whole_division(monkeypatch):
    search = AutoRanker(budget="50fits")._start_search(DATA, monitor_of(DATA), None)
    runner, n_folds, ran = search.runner, search.runner.n_folds, []
    monkeypatch.setattr(runner, "run", lambda tasks, share: ran.extend(tasks))
    search.fit_more_bags([4, 2])
    assert not ran  # no division is complete
    search.divisions, runner.clock.fits = 1, 47
    search.fit_more_bags([4, 2])
    assert ran == [FitTask(4, 1, 0), FitTask(2, 1, 0), FitTask(4, 1, 1)]
    runner.clock.fits = 50
    search.fit_more_bags([4, 2])
    search.divisions, runner.clock.fits = 4, 0
    search.fit_more_bags([4, 2])
    assert len(ran) == 3
    # These fits join the mean of the member, but not its scores of unseen queries.
    search.divisions = 1
    whole = [FitTask(4, 0, fold) for fold in range(n_folds)]
    fits = {task: SimpleNamespace(model="model") for task in (*whole, *ran)}
    runner.fits.update(fits)
    assert search.fits_of(4) == [fits[task] for task in (*whole, ran[0], ran[2])]


# --- interrupted searches ---


def interrupt_after(n):
    calls = []

    def callback(step):
        if isinstance(step, SearchStep):
            calls.append(step)
            if len(calls) == n:
                raise KeyboardInterrupt

    return callback


def test_an_interrupted_search_ends_with_the_best_so_far():
    with pytest.warns(NotConvergedWarning, match="interrupted"):
        ranker = AutoRanker(budget="12fits").fit(DATA, callback=interrupt_after(3))
    assert ranker.stopped_ == "interrupted"
    assert ranker.report_.fits == 3
    assert [m.weight for m in ranker.report_.members] == [1.0]
    assert np.isfinite(ranker.predict(DATA)).all()


def test_an_interrupted_search_continues_where_it_was(tmp_path):
    folder = tmp_path / "model.work"
    with pytest.warns(NotConvergedWarning, match="interrupted"):
        AutoRanker(budget="8fits").fit(DATA, callback=interrupt_after(5), checkpoints=folder)
    kept = sorted(folder.glob(f"*{FIT_ENDING}"))
    assert len(kept) == 5
    before = {path: path.stat().st_mtime_ns for path in kept}
    kept[0].write_bytes(b"damaged")
    fresh, after = [], {}

    def follow(step):
        if isinstance(step, SearchStep):
            fresh.append(step)
            after.update({p: p.stat().st_mtime_ns for p in folder.glob(f"*{FIT_ENDING}")})

    continued = AutoRanker(budget="8fits").fit(DATA, checkpoints=folder, callback=follow)
    assert {path for path in kept if after[path] != before[path]} == {kept[0]}
    assert not folder.exists()
    whole = AutoRanker(budget="8fits").fit(DATA)
    assert saved(continued, tmp_path, "one") == saved(whole, tmp_path, "two")


def test_a_killed_process_is_an_error_that_says_where_finished_fits_are(monkeypatch, tmp_path):
    def kill(*arguments, **settings):
        raise TerminatedWorkerError("killed")

    monkeypatch.setattr("podium.ensemble.auto.fit_runner._run_task", kill)
    with pytest.raises(PodiumError) as caught:
        AutoRanker(budget="4fits").fit(DATA)
    assert "kept" not in str(caught.value)
    assert str(caught.value).endswith(
        "perhaps out of memory; run fewer fits at a time, as in n_jobs=2"
    )
    with pytest.raises(PodiumError) as caught:
        AutoRanker(budget="4fits").fit(DATA, checkpoints=tmp_path)
    assert f"finished fits are kept in {tmp_path}" in str(caught.value)
    assert caught.value.on_command_line().endswith("as in --jobs 2")


def test_fits_of_another_search_are_ignored(tmp_path):
    store = FitStore(tmp_path / "work", "one", MODELS)
    store.save("a", StoredFit(Linear(np.array([1.0, 2.0])), np.array([4.0]), 0.5, 3.0))
    store.save("b", StoredFit(None, np.empty(0), 0.5, 3.0, error="no splits"))
    kept = store.load("a")
    assert kept.model.weights.tolist() == [1.0, 2.0]
    assert kept.scores.tolist() == [4.0]
    assert (kept.seconds, kept.elapsed, store.load("b").error) == (0.5, 3.0, "no splits")
    assert FitStore(tmp_path / "work", "two", MODELS).load("a") is None
    assert store.load("c") is None
    (tmp_path / "work" / "mine.txt").write_text("keep")
    store.remove()
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["mine.txt"]


# --- the model ---


def test_a_vote_is_a_re_ranked_model(monkeypatch, tmp_path):
    methods = (TopRankVote(t=5),)
    choose = auto.choose_combination
    monkeypatch.setattr(auto, "choose_combination", lambda m, metric: choose(m, metric, methods))
    ranker = AutoRanker(budget="8fits").fit(DATA)
    assert isinstance(ranker.model_, RerankedModel)
    assert ranker.report_.combination == "supervised Kemeny"
    qid = np.repeat(DATA.qids, DATA.groups.sizes)
    np.testing.assert_array_equal(ranker.predict(DATA.X, qid=qid), ranker.predict(DATA))
    assert "supervised-kemeny" in repr(ranker.explain(DATA, "q1"))
    ranker.save(tmp_path / "vote.podium")
    loaded = podium.load(tmp_path / "vote.podium")
    assert loaded.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    with pytest.raises(podium.errors.UnknownNameError, match="query"):
        ranker.explain(DATA, "none")
    texts = [f"text of {name}" for name in DATA.qids.tolist()]
    named = RankingData.from_arrays(DATA.X, DATA.y, qid=qid, query_text=texts)
    assert repr(ranker.explain(named, "Text of  q1")) == repr(ranker.explain(named, "q1"))


def test_a_sum_is_the_weighted_mean_of_its_members_standardised_scores(monkeypatch):
    searches = []
    choose_for = AutoRanker._choose_combination

    def remember(self, search):
        searches.append(search)
        return choose_for(self, search)

    monkeypatch.setattr(AutoRanker, "_choose_combination", remember)
    choose = auto.choose_combination
    from podium.ensemble.auto.combinations import EqualMean

    monkeypatch.setattr(
        auto, "choose_combination", lambda m, metric: choose(m, metric, [EqualMean()])
    )
    ranker = AutoRanker(budget="20fits").fit(DATA)
    search = searches[0]
    expected = np.zeros(len(DATA))
    for number in search.finalists:
        fits = search.fits_of(number)
        for fit in fits:
            scores = fit.model.scores(DATA.X, DATA.groups)
            expected += (scores - fit.offset) / fit.scale / len(fits) / len(search.finalists)
    difference = ranker.predict(DATA) - expected
    assert np.ptp(difference) < 1e-9 * np.ptp(expected)  # a constant changes no order


# --- wrong input ---


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="expected a budget, '10m'"):
        AutoRanker(budget="soon").fit(DATA)
    with pytest.raises(podium.errors.UnknownNameError, match="lambdamart"):
        AutoRanker(budget="4fits", without=("lambdamrt",)).fit(DATA)
    with pytest.raises(UsageError, match="n_jobs of auto"):
        AutoRanker(budget="4fits", n_jobs=0).fit(DATA)
    with pytest.raises(DataError, match="at least 2 queries with different labels"):
        AutoRanker(budget="4fits").fit(DATA.subset([0]))


def test_candidates_that_all_fail_are_an_error(monkeypatch):
    def fail(*args, **kwargs):
        raise DataError("no such data")

    monkeypatch.setattr("podium.ensemble.auto.fold_fits.fit_model", fail)
    with pytest.raises(DataError, match=r"no candidate of auto could be fitted; .*no such data"):
        AutoRanker(budget="4fits").fit(DATA)


def test_a_report_of_the_wrong_form_is_no_model_file(tmp_path):
    ranker = AutoRanker(budget="4fits").fit(DATA)

    class Wrong:
        def to_dict(self):
            return {"fits": 3}

    ranker.report_ = Wrong()
    ranker.save(tmp_path / "m.podium")
    with pytest.raises(ModelFileError, match="damaged report"):
        podium.load(tmp_path / "m.podium")


def test_data_frames_and_single_queries_work():
    small = RankingData.from_arrays(
        [[0.0], [1.0], [0.5], [2.0]], [0, 1, 0, 1], qid=["a", "a", "b", "b"]
    )
    ranker = AutoRanker(budget="4fits").fit(small)
    assert ranker.predict(small)[1] > ranker.predict(small)[0]


def test_values_missing_in_the_validation_queries_alone_are_filled_in():
    X = np.array(DATA.X)
    X[::7, 0] = np.nan
    valid = RankingData.from_arrays(X, DATA.y, qid=DATA.groups.codes, missing="nan")
    report = AutoRanker(budget="12fits", without=("catboost",)).fit(DATA, valid=valid).report_
    assert [c.label for c in report.candidates if "missing" in c.outcome] == []


def test_the_interval_of_a_weighted_mean_is_that_of_repeated_values():
    values, weight = np.array([0.0, 1.0, 0.5, np.nan]), np.array([2.0, 1.0, 1.0, 9.0])
    mean = (2 * 0.0 + 1.0 + 0.5) / 4
    squares = (0.5**2 * mean**2) + 0.25**2 * ((1 - mean) ** 2 + (0.5 - mean) ** 2)
    half = 1.96 * (3 / 2 * squares) ** 0.5
    np.testing.assert_allclose(interval(values, weight), (mean, mean - half, mean + half))
    equal = interval(values)
    sd = np.std([0.0, 1.0, 0.5], ddof=1)
    np.testing.assert_allclose(equal, (0.5, 0.5 - 1.96 * sd / 3**0.5, 0.5 + 1.96 * sd / 3**0.5))


def test_a_number_of_fits_does_not_take_fits_that_a_time_limit_cut(tmp_path, monkeypatch):
    load = FitStore.load

    def load_as_cut(store, name):
        stored = load(store, name)
        return None if stored is None else replace(stored, is_cut=True)

    folder = tmp_path / "model.work"
    with pytest.warns(NotConvergedWarning, match="interrupted"):
        AutoRanker(budget="8fits").fit(DATA, callback=interrupt_after(3), checkpoints=folder)
    before = {path: path.stat().st_mtime_ns for path in folder.glob(f"*{FIT_ENDING}")}
    after = {}
    monkeypatch.setattr(FitStore, "load", load_as_cut)

    def follow(step):
        after.update({p: p.stat().st_mtime_ns for p in folder.glob(f"*{FIT_ENDING}")})

    AutoRanker(budget="8fits").fit(DATA, checkpoints=folder, callback=follow)
    assert len(before) == 3
    assert all(after[path] != before[path] for path in before)  # fitted again
