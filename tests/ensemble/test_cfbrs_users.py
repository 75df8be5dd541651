"""CFBRS: classes of users with weights of their own, and feedback that arrives over time."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from podium.apps.cli.inputs.ranker_settings import build_ranker
from podium.apps.cli.inputs.set_option import parse_settings
from podium.data import RankingData, make_synthetic, shuffled_queries, split, write_letor
from podium.ensemble import CFBRS, FeedbackBatch
from podium.ensemble.cfbrs.block_weights import (
    FALLBACK_TEMPERATURE,
    TEMPERATURES,
    TRIAL_FOLDS,
    BlockWeights,
    Evidence,
    tempered_weights,
)
from podium.ensemble.cfbrs.composed_model import ensemble_of
from podium.ensemble.cfbrs.user_classes import learn_classes, votes_and_gains
from podium.errors import (
    DataError,
    LengthMismatchError,
    NotConvergedWarning,
    NothingLearnedWarning,
    UnknownClassWarning,
    UsageError,
)
from podium.feedback import UniformFeedback, make_log, parse_ubi, read_ubi
from podium.metrics import evaluate, parse
from podium.rankers import LeastSquares, RankNet
from podium.registry import load
from tests.support.cli import run
from tests.support.small_rankers import qid_of

OWNED = {"left": slice(0, 4), "right": slice(4, 8)}
"""Two classes, each of which sees one half of the features."""


def judged(data, user_class, seed=0):
    """Labels as a class gives them: the best tenth 2, the next fifth 1."""
    own = data.X[:, OWNED[user_class]]
    utility = own.sum(axis=1) + 0.1 * np.random.default_rng(seed).standard_normal(len(data))
    place = data.groups.ranks(utility) / data.groups.spread(data.groups.sizes)
    return data.with_labels(np.where(place <= 0.1, 2.0, np.where(place <= 0.3, 1.0, 0.0)))


def population(data, seed=0):
    """Each query labelled by one of the classes."""
    names = np.random.default_rng(seed).choice(sorted(OWNED), data.n_queries)
    mine = data.groups.spread(names == "left")
    y = np.where(mine, judged(data, "left").y, judged(data, "right").y)
    return data.with_labels(y), names.tolist()


DATA = make_synthetic(n_queries=150, n_docs=(10, 20), n_features=8, seed=2)
TRAIN, VALID, TEST = split(DATA, [0.6, 0.2, 0.2], seed=0)
POOLED, CLASSES = population(TRAIN)
POOLED_VALID, VALID_CLASSES = population(VALID, seed=1)


def ndcg(data, scores):
    return evaluate(data, scores, "NDCG@10")["NDCG@10"].mean


@pytest.fixture(scope="module")
def ranker():
    return CFBRS(base="least-squares", min_block=2).fit(POOLED, user_class=CLASSES)


# --- classes ---


@pytest.mark.parametrize("name", OWNED)
def test_a_class_is_ranked_for_as_it_judges(ranker, name):
    own = judged(TEST, name)
    assert ndcg(own, ranker.predict(own, user_class=name)) > ndcg(own, ranker.predict(own)) + 0.1


def test_the_table_of_classes(ranker):
    table = ranker.classes_
    assert [row.name for row in table] == ["left", "right"]
    assert [row.queries for row in table] == [CLASSES.count("left"), CLASSES.count("right")]
    for row in table:
        mine = POOLED.subset([q for q, name in enumerate(CLASSES) if name == row.name])
        value = evaluate(mine, ranker.predict(mine, user_class=row.name), "NDCG@10")["NDCG@10"]
        assert row.error == pytest.approx(1 - value.mean, abs=1e-9)
    assert "own weights" in repr(table)
    assert table["left"] is table[0]
    with pytest.raises(KeyError):
        table["nobody"]


def test_weights_of_a_class_are_a_softmax_of_its_own_values(ranker):
    composed = ensemble_of(ranker.model_)
    mine = POOLED.subset([q for q, name in enumerate(CLASSES) if name == "left"])
    scores = composed.block_scores(mine.X, mine.groups, np.arange(len(composed.blocks)))
    metric = "NDCG(ties='average')@10"
    values = np.array([evaluate(mine, np.array(s), metric)[metric].mean for s in scores.T])
    standing = composed.weights_of("left")
    want = tempered_weights(composed.prior, values, standing.temperature)
    np.testing.assert_allclose(standing.shares(composed.prior), want, rtol=1e-3)


def test_the_population_does_not_depend_on_the_classes(ranker):
    plain = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    np.testing.assert_array_equal(plain.predict(TEST), ranker.predict(TEST))
    assert len(plain.classes_) == 0


def test_a_class_for_each_query(ranker):
    names = ["left", "right", None] * 10
    found = ranker.predict(TEST, user_class=names)
    for name in set(names):
        mine = TEST.groups.spread(np.array([n == name for n in names]))
        whole = ranker.predict(TEST) if name is None else ranker.predict(TEST, user_class=name)
        np.testing.assert_array_equal(found[mine], whole[mine])
    rows = np.random.default_rng(0).permutation(len(TEST))
    by_row = np.array(names, dtype=object)[TEST.groups.codes]
    one = ranker.predict(TEST.X[rows], qid=qid_of(TEST)[rows], user_class=by_row[rows])
    np.testing.assert_array_equal(one, found[rows])
    np.testing.assert_array_equal(
        ranker.predict(TEST.X, user_class="left"), ranker.predict(TEST, user_class="left")
    )


def test_an_unknown_class_is_served_as_all_users_and_it_is_said(ranker):
    with pytest.warns(
        UnknownClassWarning, match=r"unknown user class 'new' \(known: left, right\)"
    ):
        found = ranker.predict(TEST, user_class="new")
    np.testing.assert_array_equal(found, ranker.predict(TEST))
    with pytest.warns(UnknownClassWarning):
        lists = ranker.rank(TEST, 3, user_class="new")
    assert {(top.user_class, top.served) for top in lists} == {("new", None)}
    lists = ranker.rank(TEST, 3, user_class="left")
    assert {(top.user_class, top.served) for top in lists} == {("left", "left")}
    scores = ranker.predict(TEST, user_class="left")
    np.testing.assert_array_equal(lists[0].scores, scores[lists[0].rows])
    assert ranker.rank(TEST, 3)[0].served is None


def test_classes_with_too_high_an_error_are_served_as_all_users(ranker):
    strict = CFBRS(base="least-squares", min_block=2, max_error=0.0)
    strict.fit(POOLED, user_class=CLASSES)
    assert not any(row.served for row in strict.classes_)
    with pytest.warns(UnknownClassWarning, match="training error of .* above max_error=0"):
        found = strict.predict(TEST, user_class="left")
    np.testing.assert_array_equal(found, strict.predict(TEST))


@pytest.mark.parametrize("settings", [{"combine": "borda"}, {"normalise": "zscore"}])
def test_classes_of_ranked_and_normalised_blocks(settings):
    ranker = CFBRS(base="least-squares", min_block=2, **settings)
    ranker.fit(POOLED, user_class=CLASSES)
    own = judged(TEST, "left")
    assert ndcg(own, ranker.predict(own, user_class="left")) > ndcg(own, ranker.predict(own)) + 0.05
    with pytest.raises(UsageError, match="qid="):
        ranker.predict(TEST.X, user_class="left")


def test_the_order_of_rows_means_nothing_to_classes():
    rows = np.concatenate([np.arange(len(POOLED))[s][::-1] for s in POOLED.groups.slices()][::-1])
    turned = RankingData.from_arrays(
        POOLED.X[rows], POOLED.y[rows], qid=qid_of(POOLED)[rows], docid=POOLED.docids[rows]
    )
    one = CFBRS(base="least-squares", min_block=2).fit(POOLED, user_class=CLASSES)
    other = CFBRS(base="least-squares", min_block=2).fit(turned, user_class=CLASSES[::-1])
    np.testing.assert_allclose(
        one.predict(TEST, user_class="left"), other.predict(TEST, user_class="left"), atol=1e-9
    )


def test_wrong_classes(ranker):
    with pytest.raises(LengthMismatchError, match="expected user_class to have 90 entries"):
        CFBRS(base="least-squares", min_block=2).fit(POOLED, user_class=["left"])
    mixed = np.array(["left", "right"])[np.arange(len(POOLED)) % 2]
    with pytest.raises(UsageError, match="one class per query"):
        CFBRS(base="least-squares", min_block=2).fit(POOLED, user_class=mixed)


def test_files_keep_classes(ranker, tmp_path):
    ranker.save(tmp_path / "model.podium")
    again = load(tmp_path / "model.podium")
    assert repr(again.classes_) == repr(ranker.classes_)
    one, other = (r.predict(TEST, user_class="right") for r in (ranker, again))
    assert one.tobytes() == other.tobytes()
    again.update(POOLED_VALID, user_class=VALID_CLASSES)
    assert again.classes_["left"].queries > ranker.classes_["left"].queries


def test_nan_is_no_class():
    some = [name if q % 3 else None for q, name in enumerate(CLASSES)]
    want = CFBRS(base="least-squares", min_block=2).fit(POOLED, user_class=some)
    nans = [np.nan if name is None else name for name in some]
    rows = POOLED.groups.spread(np.array(nans, dtype=object))
    for given in (nans, rows):
        made = CFBRS(base="least-squares", min_block=2).fit(POOLED, user_class=given)
        assert made.classes_ == want.classes_
    mixed = want.predict(POOLED, user_class=nans)
    np.testing.assert_array_equal(mixed, want.predict(POOLED, user_class=some))


# --- feedback from a log ---


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """What both classes clicked in 600 lists."""
    path = tmp_path_factory.mktemp("log") / "events.ndjson"
    lines = []
    for seed, name in enumerate(OWNED):
        made = make_log(judged(TRAIN, name), n_lists=300, depth=20, user_class=name, seed=seed)
        lines += made.lines()
    path.write_text("\n".join(lines))
    return path


PATH = "query_attributes.user_class"


def test_clicks_make_classes(log):
    feedback = read_ubi(log, user_class=PATH)
    ranker = CFBRS(base="least-squares", min_block=2).fit(POOLED, feedback=feedback)
    assert [row.name for row in ranker.classes_] == ["left", "right"]
    for name in OWNED:
        own = judged(TEST, name)
        gain = ndcg(own, ranker.predict(own, user_class=name)) - ndcg(own, ranker.predict(own))
        assert gain > 0.05


@pytest.mark.parametrize("weights", ["size", "validation"])
def test_a_log_in_fit_is_one_in_an_update(log, weights):
    feedback = read_ubi(log, user_class=PATH)
    fitted, updated = (CFBRS(base="least-squares", min_block=2, weights=weights) for _ in range(2))
    fitted.fit(POOLED, valid=POOLED_VALID, feedback=feedback)
    updated.fit(POOLED, valid=POOLED_VALID)
    before = ensemble_of(updated.model_).population
    updated.update(POOLED, feedback=feedback)
    one, other = ensemble_of(fitted.model_), ensemble_of(updated.model_)
    for name in (None, *OWNED):
        np.testing.assert_array_equal(one.weights_of(name).gains, other.weights_of(name).gains)
        assert one.weights_of(name).mass == other.weights_of(name).mass
        assert one.weights_of(name).temperature == other.weights_of(name).temperature
    assert (one.population.queries > before.queries) == (weights == "validation")
    np.testing.assert_array_equal(fitted.predict(TEST), updated.predict(TEST))


class Clicks:
    """A log of one class: the last document of a query was not shown, alphas differ."""

    classes = ("all",)

    def alpha(self, sizes):
        return 0.5

    def labels(self, data, user_class=None):
        labels = data.y.copy()
        labels[data.groups.offsets[1:] - 1] = np.nan
        return labels

    def query_alphas(self, data, user_class=None):
        return np.linspace(0.1, 0.9, data.n_queries)


def test_what_was_clicked_counts_by_alpha_and_by_weight():
    data = judged(TEST, "left")
    weight = np.linspace(2.0, 1.0, data.n_queries)
    alphas = np.linspace(0.1, 0.9, data.n_queries)
    plain = FeedbackBatch(data, Clicks()).evidence()["all"]
    np.testing.assert_allclose(plain.alpha, alphas)
    assert len(plain.data) == len(data) - data.n_queries
    found = FeedbackBatch(replace(data, query_weight=weight), Clicks()).evidence()["all"]
    np.testing.assert_allclose(found.alpha, alphas * weight)
    composed = ensemble_of(CFBRS(base="least-squares", min_block=2).fit(POOLED).model_)
    metric = parse("NDCG@10").averaging_ties()
    learned = learn_classes(composed, {"all": found}, metric, 0).weights_of("all")
    _, gains = votes_and_gains(composed, found, metric)
    want = sum(a * w * row for a, w, row in zip(alphas, weight, gains, strict=True))
    np.testing.assert_allclose(learned.gains, want, rtol=1e-12)
    assert learned.mass == pytest.approx(np.sum(alphas * weight))


def test_only_how_alphas_differ_weighs_queries():
    data = judged(TEST, "left")
    n = data.n_queries
    same, nearly = np.full(n, 0.2), np.full(n, 0.2)
    nearly[0] = 0.2001
    assert Evidence.of(data, same).training_data().query_weight is None
    weights = Evidence.of(data, nearly).training_data().query_weight
    np.testing.assert_allclose(weights, 1.0, atol=1e-3)
    assert weights[0] / weights[1] == pytest.approx(0.2001 / 0.2)
    given = replace(data, query_weight=np.linspace(1.0, 3.0, n))
    np.testing.assert_allclose(Evidence.of(given).training_data().query_weight, given.query_weight)
    half = Evidence.of(given, np.full(n, 0.5)).training_data().query_weight
    np.testing.assert_allclose(half, given.query_weight)


def test_alphas_of_queries(log):
    feedback = read_ubi(log, user_class=PATH)
    found = feedback.query_alphas(TRAIN, "left")
    own = feedback.of_class("left")
    for q, qid in enumerate(TRAIN.qids.tolist()):
        mine = own.alphas[own.queries == qid]
        want = mine.mean() if len(mine) else np.nan
        np.testing.assert_allclose(found[q], want)


def test_feedback_on_other_queries_is_told(log):
    feedback = read_ubi(log, user_class=PATH)
    other = RankingData.from_arrays(
        TRAIN.X, POOLED.y, qid=np.char.add("x", qid_of(TRAIN).astype(str)), docid=TRAIN.docids
    )
    with pytest.raises(
        DataError, match="the feedback does not distinguish any documents of the data"
    ):
        CFBRS(base="least-squares", min_block=2).fit(other, feedback=feedback)
    with pytest.raises(UsageError, match="use feedback or user_class, not both"):
        CFBRS(base="least-squares", min_block=2).fit(POOLED, feedback=feedback, user_class=CLASSES)


def test_feedback_on_the_command_line(log, tmp_path):
    write_letor(POOLED, tmp_path / "train.txt")
    model, scores = tmp_path / "model.podium", tmp_path / "left.npy"
    done = run(
        "train", "cfbrs", tmp_path / "train.txt", "-o", model, "--set", "min_block=2",
        "--set", "base=least-squares", "--feedback", log, "--classes", PATH, "--json",
    )  # fmt: skip
    assert "2 classes" in done.stdout
    joined = (~np.isnan(read_ubi(log).labels(POOLED)))[:, None]
    n = sum(
        joined[rows].any() for rows in np.split(np.arange(len(POOLED)), POOLED.groups.offsets[1:-1])
    )
    told = f"podium: feedback: 600 lists, {n} of {POOLED.n_queries} queries joined"
    assert done.stderr == f"{told}\n"
    broken = tmp_path / "broken.ndjson"
    broken.write_text(log.read_text() + '\n{broken\n{"action_name": "hover"}\n')
    done = run(
        "train", "cfbrs", tmp_path / "train.txt", "-o", model, "--set", "min_block=2",
        "--set", "base=least-squares", "--feedback", broken, "--classes", PATH, "--force",
    )  # fmt: skip
    assert done.stderr == f"{told}; unknown actions 1 (hover 1); malformed 1\n"
    run("predict", model, tmp_path / "train.txt", "-o", scores, "--user-class", "left")
    want = load(model).predict(POOLED, user_class="left")
    np.testing.assert_allclose(np.load(scores), want, atol=1e-5)
    done = run(
        "predict", model, tmp_path / "train.txt", "-o", scores, "--user-class", "nobody", "--force"
    )
    assert "unknown user class 'nobody'" in done.stderr
    for arguments in (("ranksvm", "--feedback", log), ("cfbrs", "--classes", PATH)):
        out = tmp_path / "other.podium"
        done = run("train", *arguments, tmp_path / "train.txt", "-o", out, code=2)
        assert "--feedback" in done.stderr
    plain = tmp_path / "plain.podium"
    run("train", "ranksvm", tmp_path / "train.txt", "-o", plain)
    done = run("predict", plain, tmp_path / "train.txt", "--user-class", "left", code=2)
    assert "model of cfbrs" in done.stderr


def test_a_log_without_classes_changes_nothing_and_it_is_said(log, tmp_path):
    feedback, made = read_ubi(log), CFBRS(base="least-squares", min_block=2)
    with pytest.warns(
        NothingLearnedWarning, match="no class is named; name the class of each query"
    ):
        made.fit(POOLED, feedback=feedback)
    plain = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    np.testing.assert_array_equal(made.predict(TEST), plain.predict(TEST))
    with pytest.warns(NothingLearnedWarning, match="nothing was learned"):
        made.update(POOLED, feedback=feedback)
    with pytest.warns(NothingLearnedWarning, match="nothing was learned"):
        made.update(POOLED)
    np.testing.assert_array_equal(made.predict(TEST), plain.predict(TEST))
    measured = CFBRS(base="least-squares", min_block=2, weights="validation").fit(TRAIN)
    before = measured.predict(TEST)
    measured.update(POOLED)  # without a warning: all users' weights change
    assert (before != measured.predict(TEST)).any()
    write_letor(POOLED, tmp_path / "train.txt")
    done = run(
        "train", "cfbrs", tmp_path / "train.txt", "-o", tmp_path / "model.podium",
        "--set", "min_block=2", "--set", "base=least-squares", "--feedback", log,
    )  # fmt: skip
    assert "podium: warning: nothing was learned from users" in done.stderr


# --- feedback over time ---


@pytest.mark.parametrize("weights", ["size", "validation"])
def test_updates_refit_no_block_and_add_up(weights, monkeypatch):
    def made():
        found = CFBRS(base="least-squares", min_block=2, weights=weights)
        return found.fit(POOLED, valid=POOLED_VALID, user_class=CLASSES)

    stepwise, at_once = made(), made()
    before = ensemble_of(stepwise.model_)
    monkeypatch.setattr("podium.ensemble.cfbrs.ranker.fit_blocks", None)  # no block is fitted again
    more, names = population(TEST, seed=3)
    for queries in np.array_split(np.arange(more.n_queries), 3):
        stepwise.update(more.subset(queries), user_class=[names[q] for q in queries])
    at_once.update(more, user_class=names)
    after, whole = ensemble_of(stepwise.model_), ensemble_of(at_once.model_)
    assert after.models is before.models
    for name in (None, *OWNED):
        one, other = after.weights_of(name), whole.weights_of(name)
        assert one.queries == other.queries
        np.testing.assert_allclose(one.gains, other.gains, rtol=1e-12)
        same = np.array_equal(one.shares(after.prior), before.weights_of(name).shares(before.prior))
        assert same == (name is None and weights == "size")


def test_a_new_class_arrives(ranker):
    found = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    with pytest.warns(UnknownClassWarning):
        found.predict(TEST, user_class="left")
    found.update(POOLED, user_class=CLASSES)
    np.testing.assert_allclose(
        found.predict(TEST, user_class="left"), ranker.predict(TEST, user_class="left"), atol=1e-12
    )


def test_one_list_is_enough_for_a_class():
    found = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    one = judged(TEST, "left").subset([0])
    found.update(one, user_class=["left"])
    assert found.classes_["left"].queries == 1
    assert np.isfinite(found.predict(TEST, user_class="left")).all()


def per_query(data, composed, weights):
    metric = "NDCG(ties='average')@10"
    population = BlockWeights.empty(len(weights))
    own = replace(composed, prior=weights, population=population)
    scores = own.scores(data.X, data.groups)
    return evaluate(data, scores, metric)[metric].per_query


def test_temperatures_are_tried_on_queries_that_are_left_out():
    mine = judged(TRAIN, "left")
    made = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    made.update(mine, user_class="left")
    composed = ensemble_of(made.model_)
    _, gains = votes_and_gains(composed, Evidence.of(mine), parse("NDCG@10").averaging_ties())
    fold = np.empty(mine.n_queries, dtype=int)
    fold[shuffled_queries(mine, made.seed)] = np.arange(mine.n_queries) % TRIAL_FOLDS
    want = np.zeros(len(TEMPERATURES))
    for t, T in enumerate(TEMPERATURES):
        for k in range(TRIAL_FOLDS):
            values = gains[fold != k].mean(axis=0)
            weights = tempered_weights(composed.prior, values, T)
            want[t] += per_query(mine, composed, weights)[fold == k].sum()
    standing = composed.weights_of("left")
    np.testing.assert_allclose(standing.trial_sums, want, rtol=1e-9)
    assert standing.n_trial_queries == mine.n_queries
    assert standing.temperature == TEMPERATURES[int(np.argmax(np.round(want, 6)))]


def test_a_temperature_that_few_queries_could_not_choose_is_chosen_later(tmp_path):
    mine = judged(TEST, "left").subset(range(12))
    made = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    prior, seen = ensemble_of(made.model_).prior, []
    want, metric = np.zeros(len(TEMPERATURES)), parse("NDCG@10").averaging_ties()
    for q in range(mine.n_queries):
        one = mine.subset([q])
        composed = ensemble_of(made.model_)
        if seen:  # with what the queries before it said
            values = np.mean(seen, axis=0)
            shares = [tempered_weights(prior, values, T) for T in TEMPERATURES]
            want += [per_query(one, composed, weights)[0] for weights in shares]
        made.update(one, user_class="left")
        seen.append(votes_and_gains(composed, Evidence.of(one), metric)[1][0])
        row = made.classes_["left"]
        if q < TRIAL_FOLDS:
            assert row.temperature == FALLBACK_TEMPERATURE
        else:
            assert row.temperature == TEMPERATURES[int(np.argmax(np.round(want, 9)))]
        if q == 8:  # what was tried is kept in files
            made.save(tmp_path / "model.podium")
            made = load(tmp_path / "model.podium")
    standing = ensemble_of(made.model_).weights_of("left")
    np.testing.assert_allclose(standing.trial_sums, want, rtol=1e-9)
    assert (standing.n_trial_queries, standing.queries) == (11, 12)


@pytest.mark.parametrize(
    ("values", "batches"),
    [
        ([0.1, 0.1, 0.5, 0.5, 0.9, 0.9, 0.9, 0.9], 6),  # two in a row, not two in all
        ([0.1, 0.1, 0.1, 0.5], 2),
    ],
)
@pytest.mark.filterwarnings("ignore::podium.errors.NothingLearnedWarning")
def test_a_change_starts_the_waiting_again(values, batches, monkeypatch):
    measured = iter(values)
    measure = "podium.ensemble.cfbrs.personal_ranker.measure_classes"
    monkeypatch.setattr(measure, lambda *arguments: next(measured))
    found = CFBRS(base="least-squares", min_block=4).fit(POOLED)
    held_out = FeedbackBatch(POOLED_VALID, user_class=VALID_CLASSES)
    adapted = found.learn_until_converged([POOLED.subset([0, 1])] * 9, held_out, patience=2)
    assert adapted.converged
    assert len(adapted) == batches


def test_learning_until_nothing_changes():
    found = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    stream, names = population(TRAIN, seed=7)
    batches = [
        FeedbackBatch(stream.subset(queries), user_class=[names[q] for q in queries])
        for queries in np.array_split(np.arange(stream.n_queries), 9)
    ]
    held_out = FeedbackBatch(POOLED_VALID, user_class=VALID_CLASSES)
    told = found.learn_until_converged(batches, held_out, tol=0.02, patience=2)
    assert told.converged
    assert told.reason == "NDCG@10 changed by less than 0.02 in 2 batches"
    assert 2 <= len(told) < 9
    assert len(told.values) == len(told) + 1
    assert told.values[-1] > told.values[0] + 0.05
    again = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    never = again.learn_until_converged(iter(batches), held_out, tol=0.0)
    assert not never.converged
    assert never.reason == "no more batches"
    assert never.queries == tuple(b.data.n_queries for b in batches)
    fresh = CFBRS(base="least-squares", min_block=2).fit(POOLED)
    progressive = fresh.learn_until_converged(batches, tol=0.0)
    assert len(progressive.values) == len(batches)
    assert progressive.values[-1] > progressive.values[0]


def test_wrong_updates(ranker):
    with pytest.raises(NotFittedError):
        CFBRS().update(POOLED)
    with pytest.raises(DataError, match="expected 8 features"):
        ranker.update(POOLED.with_features(POOLED.X[:, :3]))
    with pytest.raises(UsageError, match="all documents have the same label"):
        ranker.update(POOLED.with_labels(np.zeros(len(POOLED))))
    with pytest.raises(UsageError, match="tol >= 0 and patience >= 1"):
        ranker.learn_until_converged([POOLED], tol=-1.0)
    for wrong in (5, "events.ndjson", UniformFeedback(0.5)):
        with pytest.raises(UsageError, match="update needs a log from podium"):
            ranker.update(POOLED, feedback=wrong)


def test_evidence_weighs_queries_by_alpha():
    data = judged(TEST, "left").subset([0, 1])
    evidence = Evidence.of(data, np.array([1.0, 3.0]))
    scores = np.random.default_rng(0).standard_normal(len(data))
    per_query = evaluate(data, scores, "NDCG@10")["NDCG@10"].per_query
    want = (per_query[0] + 3 * per_query[1]) / 4
    assert evidence.mean(scores, parse("NDCG@10")) == pytest.approx(want)
    assert Evidence.of(data, np.zeros(2)) is None


def test_nothing_is_warned_of_where_classes_are_known(ranker):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ranker.rank(TEST, 2, user_class=["left", "right"] * 15)) == 30


def test_a_log_of_lines_is_read_alike(log):
    feedback = parse_ubi(log.read_text().splitlines(), user_class=PATH)
    assert feedback.classes == ("left", "right")


@pytest.mark.parametrize(
    ("text", "want"),
    [("compositions=10", 10), ("compositions=3,5", (3, 5)), ("compositions=first", "first"),
     ("probabilities=1", (1,)), ("groups.title=f1,f2", {"title": ("f1", "f2")}),
     ("groups.a=1,2", {"a": (1, 2)})],
)  # fmt: skip
def test_settings_on_the_command_line(text, want):
    drawn = ["sampling=stratified", "compositions=10"] if "probabilities" in text else []
    settings = parse_settings([text, *drawn])
    ranker = build_ranker("cfbrs", settings)
    assert getattr(ranker, text.partition("=")[0].partition(".")[0]) == want


# --- blocks of a class's own ---


def disagreeing(data, seed=0):
    """One class likes what the other one does not, by the same features."""
    names = np.random.default_rng(seed).choice(["likes", "hates"], data.n_queries)
    sign = np.where(data.groups.spread(names) == "likes", 1.0, -1.0)
    return data.with_labels(data.groups.ranks(sign * data.X[:, :4].sum(axis=1)) <= 3), names


def test_classes_that_disagree_need_blocks_of_their_own():
    chosen, names = disagreeing(TRAIN)
    later, later_names = disagreeing(TEST, seed=1)
    shared, own = (
        CFBRS(base="least-squares", min_block=2, class_blocks=which).fit(chosen, user_class=names)
        for which in ("shared", "own")
    )
    values = [ndcg(later, r.predict(later, user_class=later_names)) for r in (shared, own)]
    assert values[1] > 0.9 > values[0] + 0.1
    np.testing.assert_array_equal(shared.predict(later), own.predict(later))


@pytest.mark.parametrize("base", ["least-squares", "ranksvm"])
def test_own_blocks_are_those_fitted_on_the_class_alone(base):
    ranker = CFBRS(base=base, min_block=2, class_blocks="own").fit(POOLED, user_class=CLASSES)
    for name in OWNED:
        mine = POOLED.subset([q for q, other in enumerate(CLASSES) if other == name])
        alone = CFBRS(base=base, min_block=2).fit(mine, user_class=name)
        found = ranker.predict(TEST, user_class=name)
        want = alone.predict(TEST, user_class=name)
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
        assert ranker.classes_[name] == alone.classes_[name]


@pytest.mark.parametrize(
    "settings", [{}, {"normalise": "zscore"}, {"combine": "borda"}, {"base": "rankboost"}]
)
def test_files_keep_own_blocks(settings, tmp_path):
    given = {"base": "least-squares", "min_block": 4, "class_blocks": "own", **settings}
    ranker = CFBRS(**given).fit(POOLED, user_class=CLASSES)
    ranker.save(tmp_path / "model.podium")
    again = load(tmp_path / "model.podium")
    for name in (None, *OWNED):
        found, want = (r.predict(TEST, user_class=name) for r in (again, ranker))
        np.testing.assert_array_equal(found, want)
    more, names = population(TEST, seed=3)
    for one in (ranker, again):
        one.update(more, user_class=names)
    np.testing.assert_array_equal(
        again.predict(TEST, user_class="left"), ranker.predict(TEST, user_class="left")
    )
    again.save(tmp_path / "two.podium")
    ranker.save(tmp_path / "model.podium")
    assert (tmp_path / "two.podium").read_bytes() == (tmp_path / "model.podium").read_bytes()


def test_the_loss_of_own_blocks_is_scaled_too():
    base = LeastSquares(C=0.01)
    ranker = CFBRS(base=base, min_block=4, class_blocks="own", scale_loss=True)
    ranker.fit(POOLED, user_class=CLASSES, feedback=UniformFeedback(0.5))
    composed = ensemble_of(ranker.model_)
    mine = POOLED.subset([q for q, name in enumerate(CLASSES) if name == "left"])
    for block, model in zip(composed.blocks, composed.weights_of("left").models, strict=True):
        own = LeastSquares(C=0.01 * 8 / (0.5 * len(block)))
        own.fit(mine.with_features(mine.X[:, list(block)]))
        np.testing.assert_allclose(model.weights, own.model_.weights, atol=1e-12)


def test_updates_of_own_blocks_weigh_what_the_class_has():
    ranker = CFBRS(base="least-squares", min_block=2, class_blocks="own")
    ranker.fit(POOLED, user_class=CLASSES)
    before = ensemble_of(ranker.model_).weights_of("left")
    more, names = population(TEST, seed=3)
    ranker.update(more, user_class=[*names[:-1], "new"])
    composed = ensemble_of(ranker.model_)
    after = composed.weights_of("left")
    assert after.models is before.models
    assert after.n_trial_queries == after.queries
    assert after.queries == before.queries + names[:-1].count("left")
    mine = more.subset([q for q, name in enumerate(names[:-1]) if name == "left"])
    every = np.arange(len(composed.blocks))
    scores = composed.for_users(after).block_scores(mine.X, mine.groups, every)
    gains = Evidence.of(mine).gains(scores, parse("NDCG@10").averaging_ties())
    np.testing.assert_allclose(after.gains - before.gains, gains.sum(axis=0), atol=1e-9)
    assert composed.weights_of("new").models is None


def test_own_blocks_by_clicks():
    logs = [
        make_log(judged(TRAIN, name), n_lists=150, depth=20, user_class=name, seed=seed)
        for seed, name in enumerate(OWNED)
    ]
    feedback = parse_ubi(
        (line for log in logs for line in log.lines()), user_class="query_attributes.user_class"
    )
    ranker = CFBRS(base="least-squares", min_block=2, class_blocks="own")
    ranker.fit(POOLED, feedback=feedback)
    for name in OWNED:
        own = judged(TEST, name)
        assert (
            ndcg(own, ranker.predict(own, user_class=name)) > ndcg(own, ranker.predict(own)) + 0.1
        )


def test_fits_of_own_blocks_that_stop_early_are_told():
    ranker = CFBRS(base=RankNet(max_iter=1), min_block=4, class_blocks="own")
    with pytest.warns(NotConvergedWarning) as told:
        ranker.fit(POOLED, user_class=CLASSES)
    assert ["for classes: " in str(one.message) for one in told] == [False, True]
    assert not ranker.converged_
    assert ranker.stopped_.startswith("for classes: ")
