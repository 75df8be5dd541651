"""Comparisons: nothing chooses on test queries, runs go on, failures stay in their cell."""

import dataclasses
import datetime
import importlib.util
import json
import os
import signal
import sys
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import podium
from podium.data import Fold, RankingData, kfold, make_synthetic, split, write_letor
from podium.errors import DataError, PodiumError, RankerFailedWarning, UnknownNameError, UsageError
from podium.experiments import fold_results as cells_module
from podium.experiments.compare import ComparisonProgress, compare
from podium.experiments.contestants import read_contestants
from podium.experiments.fingerprint_inputs import plain_value
from podium.experiments.folds import make_folds, read_folds
from podium.experiments.html_report import verdict
from podium.experiments.parallel_tasks import run_tasks
from podium.experiments.report import Report
from podium.losses import QueryLoss
from podium.metrics import correct, evaluate, paired_test
from podium.postranking import NotTopK, PostRanker
from podium.rankers import LambdaMART, ListNet, Prepared, RankSVM, Regression, feature_weights, tune
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.models import Linear

DATA = make_synthetic(n_queries=30, n_docs=(4, 9), n_features=4, noise=1.0, seed=3)
METRICS = ("NDCG@5", "MAP")
GRIDS = {"ranksvm": {"C": (1e-4, 1e-2, 1.0)}}


def small(rankers=("regression", "ranksvm"), data=DATA, **options):
    options = {"folds": 3, "tune": False, "failures": "report", **options}
    return compare(data, rankers, METRICS, **options)


class Fails(RankSVM):
    """Fails where it is not trained on query q1."""

    def learn(self, train, monitor, start):
        if "q1" not in train.qids.tolist():
            raise RuntimeError("no q1\nto learn from")
        return super().learn(train, monitor, start)


class Interrupted(RankSVM):
    """Ctrl-C comes while it learns from query q1 not."""

    def learn(self, train, monitor, start):
        if "q1" not in train.qids.tolist():
            raise KeyboardInterrupt
        return super().learn(train, monitor, start)


# --- the protocol


def test_a_cell_is_tuned_on_validation_and_measured_on_test():
    report = compare(DATA, ["ranksvm"], METRICS, folds=3, tune=GRIDS)
    fold = kfold(DATA, 3, seed=0)[1]
    found = tune(RankSVM(), fold.train, fold.valid, "NDCG@5", GRIDS["ranksvm"])
    result = evaluate(fold.test, found.ranker.predict(fold.test), METRICS)
    cell = report.cells_of("ranksvm")[1]
    assert cell.chosen == repr(found.ranker)
    assert [t.settings["C"] for t in cell.tried] == [1e-4, 1e-2, 1.0]
    assert [t.value for t in cell.tried] == [trial.value for trial in found.trace]
    assert {m: list(v) for m, v in cell.values.items()} == {
        m: result[m].per_query.tolist() for m in METRICS
    }


def test_weights_of_linear_rankers_keep_their_signs_also_behind_preparation():
    data = DATA.with_features(DATA.X * [1, -1, 100, 1])
    rankers = {"raw": RankSVM(), "scaled": Prepared(RankSVM(), scale="zscore")}
    report = compare(data, rankers, METRICS, folds=2, tune=False)
    for name, ranker in rankers.items():
        cell = report.cells_of(name)[0]
        fold = kfold(data, 2, seed=0)[0]
        weights = feature_weights(clone(ranker).fit(fold.train, valid=fold.valid))
        assert cell.signed
        assert cell.features == weights
        assert min(cell.features.values()) < 0 < max(cell.features.values())


def test_nothing_that_chooses_is_given_the_test_queries(monkeypatch):
    seen = []

    def spy(ranker, train, valid, metric, grid):
        seen.append((set(train.qids), set(valid.qids)))
        return tune(ranker, train, valid, metric, grid)

    monkeypatch.setattr(cells_module, "tune", spy)

    class Spy(RankSVM):
        def fit_data(self, data, valid=None, callback=None, start=None):
            seen.append((set(data.qids), set(valid.qids)))
            return super().fit_data(data, valid, callback, start)

        def predict(self, X):
            predicted.append(set(X.qids))
            return super().predict(X)

    predicted = []
    folds = kfold(DATA, 3, seed=0)
    compare(folds[:1], {"spy": Spy()}, METRICS, tune={"spy": GRIDS["ranksvm"]})
    tested = set(folds[0].test.qids)
    assert len(seen) == 1 + len(GRIDS["ranksvm"]["C"])
    assert all(not tested & part for parts in seen for part in parts)
    # The test queries are predicted once, after the last validation.
    assert [bool(tested & part) for part in predicted] == [False] * 3 + [True]


def test_choices_do_not_change_when_the_test_queries_do():
    folds = kfold(DATA, 3, seed=0)
    other = make_synthetic(n_queries=10, n_docs=7, n_features=4, noise=5.0, seed=99)
    other = RankingData.from_arrays(
        -50 * other.X, other.y, qid=np.repeat([f"z{i}" for i in range(10)], 7)
    )
    changed = [
        Fold(fold.train, fold.valid, part)
        for fold, part in zip(folds, split(other, [1 / 3] * 3), strict=True)
    ]
    rankers = {"ranksvm": "ranksvm", "listnet": ListNet(), "lambdamart": forest()}
    one, two = (compare(given, rankers, METRICS) for given in (folds, changed))
    told = [
        [(c.chosen, c.validation, c.tried, c.learning, c.features) for c in report.cells]
        for report in (one, two)
    ]
    assert told[0] == told[1]
    assert one.standings != two.standings


def forest():
    return LambdaMART(
        trees=6, min_leaf=2, leaves=4, learning_rate=0.3, threads=1, loss="lambdarank"
    )


class Rounded(RankSVM):
    """Scores by the first feature, cut down to whole numbers: most documents share theirs."""

    def predict(self, X):
        return np.floor(X.X[:, 0])


def shuffled(data, seed=0):
    """The same documents in another order within their queries."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([a.start + rng.permutation(a.stop - a.start) for _, a in data.queries()])
    return RankingData.from_arrays(
        data.X[rows], data.y[rows], qid=np.repeat(data.qids, data.groups.sizes),
        docid=data.docids[rows],
    )  # fmt: skip


def test_the_order_of_rows_within_a_query_is_not_measured():
    folds = kfold(DATA, 3, seed=0)
    moved = [Fold(fold.train, fold.valid, shuffled(fold.test)) for fold in folds]
    metrics = ["NDCG@5", "ERR@5", "MAP", "P@1"]
    one, two = (compare(given, {"r": Rounded()}, metrics, tune=False) for given in (folds, moved))
    for metric in metrics:
        np.testing.assert_allclose(one.per_query("r", metric), two.per_query("r", metric))
    assert one.curve_of("r") == pytest.approx(two.curve_of("r"))
    heads = [[(q.qid, q.lists, q.best) for q in report.hardest] for report in (one, two)]
    assert heads[0] == heads[1]
    assert one.measured["P@1"] == "P(ties='average')@1"
    # Which is the mean over the orders of those that share the best score.
    expected = []
    for fold in folds:
        for _, rows in fold.test.queries():
            score = np.floor(fold.test.X[rows, 0])
            expected.append((fold.test.y[rows][score == score.max()] > 0).mean())
    assert one.per_query("r", "P@1") == pytest.approx(expected)
    assert "Metrics are means over the orders of equal scores (ties='average')." in str(one)


def test_a_name_that_says_how_ties_count_is_taken_as_it_is():
    metrics = ["NDCG(ties='stable')@5", "MAP(rule='trec')", "Tau", "NDCG@5"]
    report = compare(DATA, {"r": Rounded()}, metrics, folds=3, tune=False)
    assert report.metrics == tuple(metrics)
    assert list(report.measured.values()) == [
        "NDCG@5", "MAP(rule='trec')", "Tau", "NDCG(ties='average')@5"
    ]  # fmt: skip
    assert report.curve == "NDCG(ties='stable')"
    for metric, measured in report.measured.items():
        found = [
            evaluate(fold.test, Rounded().predict(fold.test), measured)[measured].per_query
            for fold in kfold(DATA, 3, seed=0)
        ]
        assert report.per_query("r", metric).tolist() == np.concatenate(found).tolist()
    assert "means over the orders of equal scores in NDCG@5 (ties='average')" in str(report)


def test_a_query_that_is_tested_and_trained_on_is_refused():
    train, valid, test = split(DATA, [0.5, 0.25, 0.25])
    with pytest.raises(DataError, match="fold 1 uses query 'q1' both to test and to train"):
        small(data=[Fold(train, valid, train)])
    with pytest.raises(DataError, match="fold 2 uses query 'q18' both to test and to validate"):
        small(data=[Fold(train, valid, test), Fold(train, test, test)])


def test_a_query_that_is_tested_twice_is_refused(tmp_path):
    folds = kfold(DATA, 3, seed=0)
    qid = folds[0].test.qids[0]
    with pytest.raises(DataError, match=f"folds 1 and 3 both test query '{qid}'"):
        small(data=[*folds[:2], folds[0]])
    for i in (1, 2):
        write_fold(tmp_path / f"Fold{i}", folds[0])
    with pytest.raises(DataError, match="folds 1 and 2 both test query"):
        small(data=tmp_path)


def test_standings_are_means_and_tests_over_all_test_queries():
    report = small(["regression", "ranksvm", "listnet"], baseline="ranksvm")
    values = {r: report.per_query(r, "MAP") for r in report.rankers}
    expected = [
        paired_test(values[r], values["ranksvm"], resamples=10_000)
        for r in ("regression", "listnet")
    ]
    found = [report.standing(r, "MAP") for r in ("regression", "listnet")]
    adjusted = correct([test.p_value for test in expected], "holm")
    for standing, test, p in zip(found, expected, adjusted, strict=True):
        assert standing.mean == pytest.approx(values[standing.ranker].mean(), abs=1e-12)
        assert standing.low < standing.mean < standing.high
        assert standing.difference.mean == test.difference
        assert (standing.difference.p_value, standing.difference.adjusted) == (test.p_value, p)
        assert standing.difference.wins == (values[standing.ranker] > values["ranksvm"]).sum()
    assert report.standing("ranksvm", "MAP").difference is None
    sizes = [len(part.qids) for part in report.folds]
    assert sizes == [10, 10, 10]
    folds = np.split(values["listnet"], np.cumsum(sizes)[:-1])
    assert report.standing("listnet", "MAP").per_fold == pytest.approx([f.mean() for f in folds])


def test_another_baseline_is_the_same_as_comparing_with_it():
    assert (
        small().with_baseline("ranksvm").without_times()
        == small(baseline="ranksvm").without_times()
    )


def test_curves_are_means_over_all_queries_also_weighted_ones():
    weight = np.random.default_rng(0).integers(1, 4, DATA.n_queries).astype(float)
    data = RankingData.from_arrays(
        DATA.X, DATA.y, qid=np.repeat(DATA.qids, DATA.groups.sizes), query_weight=weight
    )
    report = small(["regression"], data)
    by_qid = dict(zip(data.qids, weight, strict=True))
    weights = np.array([by_qid[qid] for part in report.folds for qid in part.qids])
    values = report.per_query("regression", "NDCG@5")
    mean = (values * weights).sum() / weights.sum()
    assert report.standing("regression").mean == pytest.approx(mean)
    assert report.curve_of("regression")[4] == pytest.approx(mean)
    assert len(report.curve_of("regression")) == 10


def test_curves_are_means_over_the_queries_that_count():
    y = np.where(np.isin(np.repeat(DATA.qids, DATA.groups.sizes), DATA.qids[::3]), 0, DATA.y)
    data = RankingData.from_arrays(DATA.X, y, qid=np.repeat(DATA.qids, DATA.groups.sizes))
    report = compare(data, "regression", "NDCG(empty='skip')@5", folds=3, tune=False)
    values = report.per_query("regression")
    skipped = [np.isnan(part).sum() for part in np.split(values, 3)]
    assert len(set(skipped)) > 1
    assert report.curve_of("regression")[4] == pytest.approx(np.nanmean(values))


def test_the_hardest_queries_have_the_lowest_means_and_real_lists():
    report = small()
    values = np.mean([report.per_query(r) for r in report.rankers], axis=0)
    qids = [qid for part in report.folds for qid in part.qids]
    told = {qid: DATA.y[rows] for qid, rows in DATA.queries()}
    order = [q for q in np.argsort(values, kind="stable") if len(set(told[qids[q]])) > 1]
    assert [query.qid for query in report.hardest] == [qids[q] for q in order[:8]]
    query = report.hardest[0]
    fold = kfold(DATA, 3, seed=0)[query.fold - 1]
    ranker = tune(Regression(), fold.train, fold.valid, "NDCG@5", {}).ranker
    [ranked] = [one for one in ranker.rank(fold.test, k=5) if one.qid == query.qid]
    assert tuple(doc.doc for doc in query.lists["regression"]) == ranked.docids
    labels = [doc.label for doc in query.best]
    assert labels == sorted(told[query.qid], reverse=True)[:5]


def test_top_k_truth_is_compared_by_kndcg_with_the_best_first():
    data = podium.data.draw_truth(DATA, 3, seed=0)
    report = compare(data, ["regression"], ["kERR"], folds=3, tune=False)
    assert report.curve == "kNDCG"
    assert [doc.label for doc in report.hardest[0].best][:3] == [1, 2, 3]


# --- who takes part


def test_rankers_come_by_name_as_they_are_or_labelled():
    assert [e.label for e in read_contestants(["ranksvm", ListNet()])] == ["ranksvm", "listnet"]
    assert [e.label for e in read_contestants({"a": "ranksvm", "b": ListNet()})] == ["a", "b"]
    assert read_contestants("ranksvm")[0].ranker.C == RankSVM().C
    [net] = read_contestants("listnet", seed=7)
    assert net.ranker.seed == 7
    assert read_contestants(ListNet(seed=3), seed=7)[0].ranker.seed == 3
    given = RankSVM()
    assert read_contestants([given])[0].ranker is not given


def test_what_is_set_is_not_tried():
    assert list(read_contestants(RankSVM(C=5))[0].grid) == []
    assert list(read_contestants(podium.FocusedSVM(k=3))[0].grid) == ["beta"]
    assert read_contestants(ListNet(metric="MAP"))[0].grid["metric"] == ("MAP",)
    assert list(read_contestants(RankSVM(C=5), tune={"ranksvm": {"C": (1, 2)}})[0].grid) == ["C"]
    assert all(
        not contestant.grid for contestant in read_contestants(["ranksvm", "listnet"], tune=False)
    )


def test_a_ranker_with_rules_is_compared_as_any_other():
    rules = [NotTopK(doc, 2, weight=9) for doc in DATA.docids[::9]]
    ruled = PostRanker(RankSVM(), rules, prior=0.5)
    [contestant] = read_contestants(
        {"ruled": ruled}, tune={"ruled": {"base": ("uniform", "margin")}}
    )
    assert list(contestant.grid) == ["base"]
    report = small({"plain": "ranksvm", "ruled": ruled})
    assert not report.failed
    fold = kfold(DATA, 3, seed=0)[0]
    scores = PostRanker(RankSVM().fit(fold.train), rules, prior=0.5).predict(fold.test)
    expected = evaluate(fold.test, scores, "MAP")["MAP"].per_query
    assert report.cells_of("ruled")[0].values["MAP"] == tuple(expected.tolist())


def test_nothing_to_choose_from_is_nothing_tuned():
    assert not compare(DATA, [RankSVM(C=5)], METRICS, folds=3).tuned
    report = compare(DATA, [ListNet(l2=0.1, metric="MAP")], METRICS, folds=3)
    assert not report.tuned
    assert "not tuned" in str(report)
    assert compare(DATA, ["ranksvm"], METRICS, folds=3, tune=GRIDS).tuned


@pytest.mark.parametrize(
    ("rankers", "options", "error", "match"),
    [
        ([], {}, UsageError, "there is no ranker to compare"),
        (["ranksvn"], {}, UnknownNameError, "ranksvm"),
        (["ranksvm", "ranksvm"], {}, UsageError, "two rankers have the label ranksvm"),
        ({1: "ranksvm", "1": "listnet"}, {}, UsageError, "two rankers have the label 1"),
        ({"a\n": "ranksvm", "a": "listnet"}, {}, UsageError, "two rankers have the label a"),
        ([3], {}, UsageError, "got 3"),
        (3, {}, UsageError, "got 3"),
        (["ranksvm"], {"baseline": "listnet"}, UnknownNameError, "baseline"),
        (["ranksvm"], {"correction": "hol"}, UnknownNameError, "holm"),
        (["ranksvm"], {"tune": {"listnet": {}}}, UnknownNameError, "listnet"),
        (["ranksvm"], {"tune": None}, UsageError, "got None"),
        (["ranksvm"], {"tune": "no"}, UsageError, "got 'no'"),
        (["ranksvm"], {"folds": 1}, UsageError, "2 folds"),
        (["ranksvm"], {"seed": -1}, UsageError, "seed"),
        (["ranksvm"], {"n_jobs": 0}, UsageError, "n_jobs"),
        (["ranksvm"], {"data": 5}, UsageError, "got int"),
        (["ranksvm"], {"data": []}, UsageError, "there are no folds to compare on"),
        (["ranksvm"], {"data": [(DATA, DATA)]}, UsageError, "fold 1"),
        (["ranksvm"], {"data": "nowhere"}, DataError, "no folder nowhere"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(rankers, options, error, match):
    with pytest.raises(error, match=match):
        small(rankers, **{"data": DATA, **options})


@pytest.mark.parametrize(
    ("metrics", "match"),
    [
        ([], "at least one"),
        (["P"], "cutoff"),
        (["X"], "X"),
        (3, "got 3"),
        (None, "got None"),
        ([None], "got None"),
    ],
)
def test_wrong_metrics_are_refused(metrics, match):
    with pytest.raises(UsageError, match=match):
        compare(DATA, "ranksvm", metrics)


# --- folders


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".txt.xz"])
def test_parts_of_a_letor_folder_are_rotated(tmp_path, ending):
    parts = split(DATA, [0.2] * 5)
    for i, part in enumerate(parts, start=1):
        write_letor(part, tmp_path / f"S{i}{ending}")
    folds = read_folds(tmp_path)
    assert len(folds) == 5
    assert folds[0].test.qids.tolist() == parts[4].qids.tolist()
    assert folds[1].valid.qids.tolist() == parts[4].qids.tolist()
    assert folds[1].test.qids.tolist() == parts[0].qids.tolist()
    report = compare(tmp_path, "regression", "NDCG@5", tune=False)
    assert report.data.name == tmp_path.name
    assert report.data.n_queries == DATA.n_queries


def write_fold(folder, parts, names=("train", "vali", "test")):
    folder.mkdir()
    for name, part in zip(names, parts, strict=True):
        write_letor(part, folder / f"{name}.txt")


def test_folds_of_a_letor_folder_are_read_in_their_order(tmp_path):
    for i, fold in enumerate(kfold(DATA, 11, seed=0), start=1):
        write_fold(tmp_path / f"Fold{i}", fold)
    folds = read_folds(tmp_path)
    expected = kfold(DATA, 11, seed=0)
    assert [f.test.qids.tolist() for f in folds] == [f.test.qids.tolist() for f in expected]
    assert [f.train.qids.tolist() for f in folds] == [f.train.qids.tolist() for f in expected]


def test_a_file_that_leaves_out_its_last_features_is_as_wide_as_the_others(tmp_path):
    for i in range(1, 4):
        last = "" if i == 2 else " 3:0.5"
        (tmp_path / f"S{i}.txt").write_text(f"1 qid:{i} 1:1{last}\n0 qid:{i} 1:2{last}\n")
    assert {part.n_features for fold in read_folds(tmp_path) for part in fold} == {3}


def test_a_file_is_cut_into_folds(tmp_path):
    write_letor(DATA, tmp_path / "all.txt")
    folds = make_folds(tmp_path / "all.txt", 3, seed=1)
    assert [f.test.qids.tolist() for f in folds] == [
        f.test.qids.tolist() for f in kfold(DATA, 3, seed=1)
    ]


def test_a_folder_that_is_not_one_is_told(tmp_path):
    with pytest.raises(DataError, match="Fold1, Fold2"):
        read_folds(tmp_path)
    write_letor(DATA, tmp_path / "S1.txt")
    write_letor(DATA, tmp_path / "S3.txt")
    with pytest.raises(DataError, match=r"without a gap.*S1\.txt, S3\.txt"):
        read_folds(tmp_path)
    write_fold(tmp_path / "Fold1", split(DATA, [0.5, 0.5]), ("train", "test"))
    with pytest.raises(DataError, match=r"has no validation file; expected vali\.txt"):
        read_folds(tmp_path)


# --- the same bytes, whoever runs it


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_processes():
    rankers = {"svm": "ranksvm", "net": ListNet(), "forest": forest()}
    one = small(rankers, tune=True)
    assert small(rankers, tune=True).to_json() == one.to_json()
    assert small(rankers, tune=True, n_jobs=2).to_json() == one.to_json()
    with joblib.parallel_config(backend="threading"):
        assert small(rankers, tune=True, n_jobs=2).to_json() == one.to_json()
    assert small(rankers, tune=True, seed=1).to_json() != one.to_json()


def test_a_backend_that_answers_all_at_once_will_do(monkeypatch):
    from joblib._parallel_backends import ThreadingBackend

    monkeypatch.setattr(ThreadingBackend, "supports_return_generator", False)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = small(n_jobs=2)
    assert found.to_json() == small().to_json()


# --- runs that go on


def states(**options):
    told: list[ComparisonProgress] = []
    report = small(progress=told.append, **options)
    return report, [(p.ranker, p.fold, p.state) for p in told if p.state != "running"]


def test_a_run_goes_on_from_the_cells_that_are_done(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        small({"a": "regression", "b": Interrupted()}, out=tmp_path)
    done = sorted(path.name for path in (tmp_path / "cells").iterdir())
    assert 0 < len(done) < 6
    report, told = states(rankers={"a": "regression", "b": RankSVM()}, out=tmp_path)
    kept = [f"{ranker}.fold{fold}.json" for ranker, fold, state in told if state == "kept"]
    assert sorted(kept) == [name for name in done if name.startswith("a.")]
    assert report.to_json() == small({"a": "regression", "b": RankSVM()}).to_json()


def test_finished_cells_are_taken_as_they_are(tmp_path):
    first, _ = states(out=tmp_path)
    again, told = states(out=tmp_path)
    assert {state for *_, state in told} == {"kept"}
    assert again == first  # times included: they are those of the run that trained


@pytest.mark.parametrize(
    "changed",
    [
        {"tune": GRIDS}, {"rankers": {"regression": "regression", "ranksvm": RankSVM(C=0.5)}},
        {"data": DATA.with_features(DATA.X * 2)}, {"seed": 1},
    ],
)  # fmt: skip
def test_changed_data_or_settings_are_run_anew(tmp_path, changed):
    small(out=tmp_path)
    report, told = states(**changed, out=tmp_path)
    assert ("ranksvm", 1, "done") in told
    assert report.to_json() == small(**changed).to_json()


def with_texts(docids=None, titles=None, queries=None):
    return RankingData.from_arrays(
        DATA.X, DATA.y, qid=np.repeat(DATA.qids, DATA.groups.sizes),
        docid=DATA.docids if docids is None else docids,
        query_text=None if queries is None else queries,
        doc_text=None if titles is None else {"title": titles},
    )  # fmt: skip


def test_other_ids_and_texts_are_run_anew(tmp_path):
    titles, queries = ["wing"] * len(DATA), ["lift"] * DATA.n_queries
    versions = [
        with_texts(),
        with_texts([f"new-{i}" for i in range(len(DATA))]),
        with_texts(titles=titles),
        with_texts(titles=[*titles[:-1], "wings"]),
        with_texts(titles=titles, queries=queries),
        with_texts(titles=titles, queries=[*queries[:-1], "lifts"]),
    ]
    for data in versions:
        assert ("regression", 1, "done") in states(data=data, out=tmp_path)[1]
    assert {state for *_, state in states(data=versions[-1], out=tmp_path)[1]} == {"kept"}


@dataclasses.dataclass(eq=False, repr=False)
class Holds(RankSVM):
    """A ranker with a parameter of any kind."""

    held: object = None


def test_settings_that_cannot_be_told_apart_are_run_anew(tmp_path):
    long = np.array([*["x"] * 2000], dtype=object)
    other = long.copy()
    other[1000] = "y"
    for held in (long, other, scipy.sparse.eye(3).tocsr(), scipy.sparse.eye(3).tocsr()):
        _, told = states(rankers={"a": Holds(held=held)}, out=tmp_path)
        assert {state for *_, state in told} == {"done"}
    states(rankers={"a": Holds(held=long)}, out=tmp_path)
    _, told = states(rankers={"a": Holds(held=long.copy())}, out=tmp_path)
    assert {state for *_, state in told} == {"kept"}
    assert plain_value({1: 2}) != plain_value({"1": 2})


def test_rules_without_a_day_are_those_of_the_day(monkeypatch):
    class Tomorrow(datetime.date):
        @classmethod
        def today(cls):
            return datetime.date(2100, 1, 1)

    bare = PostRanker(RankSVM(), ())
    dated = PostRanker(RankSVM(), (), today=datetime.date(2030, 1, 1))
    before = plain_value(bare), plain_value(dated)
    monkeypatch.setattr("podium.postranking.postranker.datetime", SimpleNamespace(date=Tomorrow))
    assert plain_value(bare) != before[0]
    assert plain_value(bare) == plain_value(
        PostRanker(RankSVM(), (), today=datetime.date(2100, 1, 1))
    )
    assert plain_value(dated) == before[1]


def test_another_version_is_run_anew(tmp_path, monkeypatch):
    small(out=tmp_path)
    monkeypatch.setattr("podium.experiments.compare.version", lambda name: "99.0")
    _, told = states(out=tmp_path)
    assert {state for *_, state in told} == {"done"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b'{"fingerprint": "x"}'])
def test_a_damaged_cell_is_run_anew(tmp_path, content):
    first = small(out=tmp_path)
    (tmp_path / "cells" / "ranksvm.fold2.json").write_bytes(content)
    again, told = states(out=tmp_path)
    assert [(r, f) for r, f, state in told if state == "done"] == [("ranksvm", 2)]
    assert again.to_json() == first.to_json()


def test_labels_that_are_no_file_names_have_cells_of_their_own(tmp_path):
    rankers = {"../a b": "regression", "../a?b": "ranksvm"}
    small(rankers, out=tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    _, told = states(rankers=rankers, out=tmp_path / "run")
    assert [state for *_, state in told] == ["kept"] * 6


# --- failures


def test_a_ranker_that_fails_in_a_fold_is_reported_there():
    report = small({"svm": "ranksvm", "bad": Fails()})
    without = [i for i, fold in enumerate(kfold(DATA, 3, seed=0), 1) if "q1" not in fold.train.qids]
    assert 0 < len(without) < 3
    assert [(c.ranker, c.fold) for c in report.failed] == [("bad", i) for i in without]
    assert report.failed[0].error == "RuntimeError: no q1 to learn from"
    standing = report.standing("bad")
    assert [value is None for value in standing.per_fold] == [i in without for i in (1, 2, 3)]
    known = ~np.isnan(report.per_query("bad"))
    assert known.sum() == 10 * (3 - len(without))
    # Tested over the queries that both have.
    d = standing.difference
    assert d.wins + d.ties + d.losses == known.sum()
    assert report.ranking()[-1] == "bad"
    assert "bad failed in fold" in str(report)
    assert Report.from_json(report.to_json()) == report.without_times()


@dataclass(eq=False)
class Killed(RankSVM):
    """Its process is killed where it is not trained on query q1; where it is, only the first time."""

    spent: str = ""

    def learn(self, train, monitor, start):
        spent = Path(self.spent)
        if "q1" not in train.qids.tolist() or not spent.exists():
            spent.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().learn(train, monitor, start)


def test_a_killed_process_costs_its_cell_alone(tmp_path):
    rankers = {"svm": "ranksvm", "killed": Killed(spent=str(tmp_path / "spent"))}
    report = small(rankers, n_jobs=2, out=tmp_path)
    without = [i for i, fold in enumerate(kfold(DATA, 3, seed=0), 1) if "q1" not in fold.train.qids]
    assert [(c.ranker, c.fold) for c in report.failed] == [("killed", i) for i in without]
    assert report.failed[0].error == "its process was killed, perhaps out of memory"
    assert report.per_query("svm").tolist() == small(["ranksvm"]).per_query("ranksvm").tolist()
    kept = sorted(path.name for path in (tmp_path / "cells").iterdir())
    assert len(kept) == 6 - len(without)


def test_a_killed_process_without_a_handler_is_an_error():
    tasks = {"bad": joblib.delayed(os._exit)(9), "good": joblib.delayed(abs)(-2)}
    with pytest.raises(PodiumError, match="bad has no result: its process was killed"):
        list(run_tasks(tasks, n_jobs=2))


class NoRoom(RankSVM):
    """Fails where it is not trained on query q1, while there is no room."""

    full = True
    fits = count()

    def learn(self, train, monitor, start):
        next(self.fits)
        if self.full and "q1" not in train.qids.tolist():
            raise OSError("no room")
        return super().learn(train, monitor, start)


def test_what_failed_is_tried_again(tmp_path, monkeypatch):
    first = small({"a": NoRoom()}, out=tmp_path)
    assert 0 < len(first.failed) < 3
    monkeypatch.setattr(NoRoom, "full", False)
    monkeypatch.setattr(NoRoom, "fits", count())
    report, told = states(rankers={"a": NoRoom()}, out=tmp_path)
    assert not report.failed
    done = [(ranker, fold) for ranker, fold, state in told if state == "done"]
    assert done == [(cell.ranker, cell.fold) for cell in first.failed]
    assert next(NoRoom.fits) == len(done)


def test_wrong_settings_of_one_ranker_leave_the_others():
    report = small({"good": "regression", "bad": RankSVM(C=-1)})
    assert [c.ranker for c in report.failed] == ["bad"] * 3
    assert "C" in report.failed[0].error
    assert report.standing("bad").mean is None
    assert report.standing("bad").difference is None
    assert report.seconds("bad") is None
    assert report.standing("good").mean is not None
    assert "there are no tests against it" not in report.to_markdown()
    rebased = report.with_baseline("bad")
    assert verdict(rebased).endswith("Nothing was tested.")
    assert verdict(report).endswith("It is the baseline.")
    assert rebased.standing("good").difference is None
    assert "bad failed in every fold, so there are no tests against it" in rebased.to_markdown()


# --- the report as a value


def test_a_report_survives_json_and_a_folder(tmp_path):
    report = small(["ranksvm", "listnet"], tune=True)
    assert Report.from_json(report.to_json(times=True)) == report
    assert Report.from_json(report.to_json()) == report.without_times()
    report.save(tmp_path / "out")
    assert Report.load(tmp_path / "out") == report
    (tmp_path / "out" / "times.json").write_text("no")
    assert Report.load(tmp_path / "out") == report.without_times()
    with pytest.raises(DataError, match="JSON of a report"):
        Report.from_json("{}")
    assert "times" not in json.loads(report.to_json()) or not json.loads(report.to_json())["times"]


def test_a_report_is_frozen_and_knows_its_names():
    report = small()
    with pytest.raises(AttributeError):
        report.seed = 1
    with pytest.raises(UnknownNameError, match="ranksvm"):
        report.standing("ranksvn")
    with pytest.raises(UnknownNameError, match="MAP"):
        report.standing("ranksvm", "MAO")
    assert replace(report, seed=9).seed == 9


def test_every_ranker_of_the_registry_can_take_part():
    from tests.support.small_rankers import cheap

    data = make_synthetic(
        n_queries=18, n_docs=(6, 12), n_features=4, grades=(0.5, 0.3, 0.2), seed=1
    )
    rankers = {name: cheap(name) for name in podium.RANKERS}
    report = compare(data, rankers, "NDCG@5", folds=3, tune=False)
    assert [cell.error for cell in report.failed] == []
    assert Report.from_json(report.to_json()) == report.without_times()
    assert "<svg" in report.to_html()


# --- what one brings along


class OwnFit(RankSVM):
    """A fit of its own, which turns everything round."""

    def fit(self, X, y=None, **more):
        super().fit(X, y, **more)
        self.model_ = Linear(-self.model_.weights)
        return self


def test_a_fit_of_ones_own_is_called():
    report = small({"svm": "ranksvm", "turned": OwnFit()}, tune=False)
    found = [v for cell in report.cells_of("turned") for v in cell.values["MAP"]]
    expected = []
    for fold in kfold(DATA, 3, seed=0):
        scores = OwnFit().fit(fold.train, valid=fold.valid).predict(fold.test)
        told = podium.evaluate(fold.test, scores, ["MAP(ties='average')"])
        expected += told["MAP(ties='average')"].per_query.tolist()
    np.testing.assert_allclose(found, expected)
    assert np.mean(expected) < report.standing("svm", "MAP").mean


def test_code_of_ones_own_is_part_of_a_cell(tmp_path):
    code = "from podium.rankers import RankSVM\n\nclass Mine(RankSVM):\n    turn = {}\n"
    code += (
        "    def predict(self, X, **more):\n        return self.turn * super().predict(X, **more)\n"
    )
    told = []
    for turn in (1, 1, -1):
        name = f"mine{turn + 1}"
        (tmp_path / f"{name}.py").write_text(code.format(turn))
        made = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        module = importlib.util.module_from_spec(made)
        sys.modules[name] = module
        made.loader.exec_module(module)
        module.Mine.__module__ = "elsewhere"  # only what it says differs
        sys.modules["elsewhere"] = module
        told.append(plain_value(module.Mine()))
    assert told[0] == told[1] != told[2]


def test_a_loss_of_ones_own_is_the_same_each_time():
    assert plain_value(LambdaMART(loss=OwnLoss(2.0))) == plain_value(LambdaMART(loss=OwnLoss(2.0)))
    assert plain_value(LambdaMART(loss=OwnLoss(2.0))) != plain_value(LambdaMART(loss=OwnLoss(3.0)))


class OwnLoss(QueryLoss):
    """Half the squared distance from the labels, times a factor."""

    def __init__(self, factor):
        self.factor = factor

    def query(self, scores, labels):
        return self.factor * ((scores - labels) ** 2).sum() / 2, self.factor * (scores - labels)


def test_a_model_from_elsewhere_is_measured_as_it_is(tmp_path):
    trained = RankSVM().fit(DATA)
    fixed = ImportedRanker.from_model(trained.model_, "elsewhere")
    report = small({"svm": "ranksvm", "mine": fixed}, baseline="mine", out=tmp_path)
    assert not report.failed
    parts = [fold.test for fold in kfold(DATA, 3, seed=0)]
    expected = [
        podium.evaluate(part, trained.predict(part), ["MAP(ties='average')"]) for part in parts
    ]
    found = [v for cell in report.cells_of("mine") for v in cell.values["MAP"]]
    known = [v for e in expected for v in e["MAP(ties='average')"].per_query]
    np.testing.assert_allclose(found, known)
    other = ImportedRanker.from_model(Linear(trained.model_.weights + 1), "elsewhere")
    assert plain_value(other) != plain_value(fixed)


def test_failures_are_a_warning_and_an_error_if_nothing_is_left():
    with pytest.warns(
        RankerFailedWarning, match="bad failed in all 3 folds: .*its values are missing"
    ):
        small({"good": "regression", "bad": RankSVM(C=-1)}, failures="raise")
    with pytest.raises(
        DataError, match="every ranker failed in every fold: bad failed in all 3 folds"
    ):
        small({"bad": RankSVM(C=-1)}, failures="raise")
