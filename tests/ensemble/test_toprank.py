"""TopRank: heads re-ranked by votes, the rest as the base has it."""

import dataclasses
import json
import zipfile

import matplotlib as mpl
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium.aggregation import Borda, ReciprocalRank, SupervisedKemeny
from podium.data import RankingData, make_synthetic, split
from podium.data.groups import Groups
from podium.ensemble import HeadExplanation, Heads, Member, RerankedModel, TopRank
from podium.errors import ModelFileError, NotConvergedWarning, UnknownNameError, UsageError
from podium.metrics import evaluate, scorer
from podium.rankers import (
    LambdaMART,
    ListNet,
    RankBoost,
    RankSVM,
    Regression,
    feature_importance,
    permutation_importance,
    tune,
)
from podium.rankers.models import Linear
from podium.registry import load
from tests.rankers.test_model_files import change, contents, refused, rewrite  # noqa: F401 - a fixture
from tests.rankers.test_tuning import Impatient
from tests.support.small_rankers import arrays, cheap, permutation, qid_of, remade, small

mpl.use("Agg")
TRAIN, VALID = split(small(30, seed=6), [0.6, 0.4])
LONG = make_synthetic(n_queries=20, n_docs=(8, 30), n_features=4, seed=1)


def order(data, scores):
    """The rows of each query, best first."""
    return data.groups.order(scores).tolist()


def model(weights, *rankings, t=3, depth=None, aggregator=None, base=None):
    """A vote of linear models whose scores are columns of the features."""
    n = len(rankings) + 1
    columns = np.eye(n)
    members = tuple(Member(f"m{a}", "", Linear(columns[a])) for a in range(n))
    X = np.stack([base, *rankings], axis=1).astype(float)
    vote = RerankedModel(members, weights, t, depth or t, aggregator or Borda())
    return vote, X, Groups.from_sizes([len(X)])


# --- heads ---


def test_below_the_head_the_base_keeps_its_order():
    for t in (1, 3, 7):
        ranker = cheap("toprank", t=t).fit(LONG)
        base = ranker.model_.base.model.predict(LONG.X)
        final, before = order(LONG, ranker.predict(LONG)), order(LONG, base)
        for rows in LONG.groups.slices():
            assert final[rows][t:] == before[rows][t:]
            assert sorted(final[rows][:t]) == sorted(before[rows][:t])
    assert final != before


def test_a_head_longer_than_the_list_is_the_list():
    short = cheap("toprank", t=12).fit(TRAIN, valid=VALID)
    long = cheap("toprank", t=10_000).fit(TRAIN, valid=VALID)
    assert TRAIN.groups.sizes.max() <= 12
    np.testing.assert_array_equal(short.predict(VALID), long.predict(VALID))
    single = RankingData.from_arrays(VALID.X[:1], VALID.y[:1], qid=["alone"])
    assert long.predict(single).tolist() == [-1.0]


def test_scores_are_minus_the_places():
    found = cheap("toprank").fit(TRAIN).predict(VALID)
    for rows in VALID.groups.slices():
        n = rows.stop - rows.start
        assert sorted(found[rows]) == [-float(p) for p in range(n, 0, -1)]


def test_a_tie_that_does_not_fit_is_left_out():
    groups = Groups.from_sizes([5])
    for t, size in ((1, 1), (2, 1), (3, 1), (4, 4), (5, 5)):
        heads = Heads.of(groups, np.array([1.0, 2.0, 1.0, 0.0, 1.0]), t)
        assert heads.groups.sizes.tolist() == [size]
    assert Heads.of(groups, np.zeros(5), 4).rows.tolist() == []


def test_documents_equal_to_all_share_a_place():
    base, other = [3, 2, 2, 1], [0, 1, 1, 2]
    vote, X, groups = model((0.5, 0.5), other, base=base, t=4)
    assert vote.scores(X, groups).tolist() == [-1.0, -2.0, -2.0, -4.0]  # all have equal points


def test_a_query_of_equal_documents_has_no_head():
    ranker = cheap("toprank", t=2).fit(TRAIN)
    X = np.repeat(VALID.X[:1], 4, axis=0)
    assert ranker.predict(X, qid=[1, 1, 1, 1]).tolist() == [-1.0] * 4


@given(st.lists(st.integers(0, 6), min_size=0, max_size=5), st.integers(1, 8), st.integers(0, 99))
def test_heads_by_brute_force(sizes, t, seed):
    rng = np.random.default_rng(seed)
    groups = Groups.from_sizes(sizes)
    scores = rng.integers(0, 4, groups.n_rows).astype(float)
    consensus = rng.integers(0, 3, groups.n_rows).astype(float)
    heads = Heads.of(groups, scores, t)
    found = heads.place_on_top(groups, consensus[heads.rows], scores)
    for rows in groups.slices():
        s, c = scores[rows], consensus[rows]
        head = np.array([(s >= x).sum() <= t for x in s], dtype=bool)
        keys = [(h, v if h else 0.0, x) for h, v, x in zip(head, c, s, strict=True)]
        want = [-1.0 - sum(other > key for other in keys) for key in keys]
        assert found[rows].tolist() == want
        assert set(heads.rows.tolist()) & set(range(rows.start, rows.stop)) == {
            rows.start + i for i in np.flatnonzero(head)
        }


# --- the vote ---


def test_one_voter_alone_orders_the_head():
    for weights in ((0.0, 1.0), (0.0, 0.2)):
        vote, X, groups = model(weights, [1, 2, 3, 9], base=[9, 8, 7, 1], t=3)
        assert order_of(vote, X, groups) == [2, 1, 0, 3]


def order_of(vote, X, groups):
    return groups.order(vote.scores(X, groups)).tolist()


def test_voters_of_one_mind_keep_the_order():
    base = [4, 3, 2, 1]
    for aggregator in (Borda(), ReciprocalRank()):
        vote, X, groups = model((0.2, 0.3, 0.5), base, base, base=base, aggregator=aggregator)
        assert order_of(vote, X, groups) == [0, 1, 2, 3]


def test_what_the_vote_holds_equal_stands_as_the_base_has_it():
    vote, X, groups = model((1 / 3,) * 3, [1, 2, 3], [2, 2, 2], base=[3, 2, 1])
    assert order_of(vote, X, groups) == [0, 1, 2]


def test_only_the_first_of_each_voter_count():
    # Points of places 1 and 2 of 4; the places left are shared: (3 + 4) / 2.
    vote, X, groups = model((0.0, 0.5, 0.5), [4, 3, 2, 1], [1, 2, 4, 3], base=[4, 3, 2, 1], t=4)
    points = [3 + 0, 2 + 1, 1 + 3, 0 + 2]
    assert order_of(vote, X, groups) == sorted(range(4), key=lambda i: -points[i])
    cut = dataclasses.replace(vote, depth=1)
    points = [3 + 1, 1 + 1, 1 + 3, 1 + 1]
    assert order_of(cut, X, groups) == sorted(range(4), key=lambda i: -points[i])


def test_nobody_scores_what_is_below_the_head():
    seen = []

    class Counting(Linear):
        def predict(self, X):
            seen.append(len(X))
            return super().predict(X)

    vote, X, groups = model((0.5, 0.5), [1, 2, 3, 4], base=[4, 3, 2, 1], t=3)
    members = tuple(dataclasses.replace(m, model=Counting(m.model.weights)) for m in vote.members)
    dataclasses.replace(vote, members=members).scores(X, groups)
    assert seen == [4, 3]


# --- the paper's set-up ---


def test_the_papers_arithmetic():
    ranker = TopRank(mode="paper", base="ranksvm").fit(TRAIN, valid=VALID)
    vote = ranker.model_
    assert [m.name for m in vote.members] == ["ranksvm", "regression", "ranksvm", "listnet"]
    t = min(100, int(TRAIN.groups.sizes.min()))
    assert (vote.t, vote.depth) == (t, max(1, t // 2))
    assert vote.from_base
    metric = "NDCG(ties='average')@10"
    values = [
        round(evaluate(VALID, m.model.predict(VALID.X), metric)[metric].mean, 6)
        for m in vote.members
    ]
    assert [m.value for m in vote.members] == values
    assert vote.weights[0] == 0.0
    np.testing.assert_allclose(vote.weights[1:], np.array(values[1:]) / sum(values[1:]))


def test_the_papers_rule_for_long_lists():
    data = make_synthetic(n_queries=6, n_docs=130, n_features=3, seed=0)
    vote = cheap("toprank", mode="paper", t=None).fit(data).model_
    assert (vote.t, vote.depth) == (100, 50)
    vote = cheap("toprank", mode="paper", t=30).fit(data).model_
    assert (vote.t, vote.depth) == (30, 15)
    vote = cheap("toprank", mode="paper", t=30, depth=40).fit(data).model_
    assert (vote.t, vote.depth) == (30, 30)


def test_weights_by_precision():
    ranker = cheap("toprank", mode="paper", metric="P@10").fit(TRAIN, valid=VALID)
    metric = "P(ties='average')@10"
    values = [
        evaluate(VALID, m.model.predict(VALID.X), metric)[metric].mean
        for m in ranker.model_.members[1:]
    ]
    np.testing.assert_allclose(ranker.model_.weights[1:], np.array(values) / sum(values), atol=1e-6)
    assert {step.metric for step in ranker.history_} == {metric}


# --- the better set-up ---


def test_the_base_is_among_the_voters():
    vote = cheap("toprank", t=None).fit(TRAIN, valid=VALID).model_
    assert (vote.t, vote.depth) == (50, 50)
    assert all(weight > 0 for weight in vote.weights)
    assert sum(vote.weights) == pytest.approx(1)
    equal = cheap("toprank", weights="equal").fit(TRAIN, valid=VALID).model_
    assert equal.weights == (1 / 3, 1 / 3, 1 / 3)
    given = cheap("toprank", weights=(1, 0, 3)).fit(TRAIN, valid=VALID).model_
    assert given.weights == (0.25, 0.0, 0.75)


def test_a_vote_that_is_clearly_worse_than_the_base_is_not_taken():
    rng = np.random.default_rng(0)
    y = np.tile([0.0, 0, 0, 1, 2, 0], 60)
    X = np.stack([y + 0.1 * rng.standard_normal(360), rng.standard_normal(360)], axis=1)
    data = RankingData.from_arrays(X, y, qid=np.arange(360) // 6)
    train, valid = split(data, [0.5, 0.5])
    noise = LambdaMART(trees=1, monotone=[-1, 0], min_leaf=2, leaves=2)
    bad = (noise, LambdaMART(trees=1, monotone=[-1, 1], min_leaf=2, leaves=2))
    ranker = TopRank(base=RankSVM(), rankers=bad, aggregator="borda").fit(train, valid=valid)
    assert ranker.model_.weights == (1.0, 0.0, 0.0)
    np.testing.assert_array_equal(
        order(valid, ranker.predict(valid)), order(valid, RankSVM().fit(train).predict(valid))
    )
    told = TopRank(base=RankSVM(), rankers=bad, aggregator="borda", weights="equal")
    assert told.fit(train, valid=valid).model_.weights == (1 / 3, 1 / 3, 1 / 3)


def test_members_given_by_name_are_tuned():
    ranker = TopRank(base=RankSVM(C=7.0), rankers=("regression", ListNet())).fit(TRAIN, valid=VALID)
    best = tune(Regression(), TRAIN, VALID)
    settings = [m.settings for m in ranker.model_.members]
    assert settings == ["RankSVM(C=7.0)", repr(best.ranker), "ListNet()"]
    assert ranker.model_.members[1].value == round(best.value, 6)
    assert cheap("toprank").fit(TRAIN, valid=VALID).model_.members[1].settings == "Regression()"


def test_members_hear_of_metric_and_seed():
    ranker = TopRank(base="listnet", rankers=("focused-net",), metric="MAP", seed=3, tuned=False)
    base, other = (a.ranker for a in ranker._member_specs())
    assert (base.metric, base.seed) == ("MAP", 3)
    assert (other.metric, other.seed) == ("MAP", 3)


def test_without_validation_queries_are_held_out():
    ranker = cheap("toprank").fit(TRAIN)
    assert all(m.value is not None for m in ranker.model_.members)
    assert all(value is not None for value in ranker.history_.valid)
    one = TRAIN.subset([0])
    alone = cheap("toprank").fit(one)
    assert [m.value for m in alone.model_.members] == [None] * 3
    assert alone.model_.weights == (1 / 3, 1 / 3, 1 / 3)
    assert alone.history_.valid == [None] * 3


def test_the_base_can_be_any_ranker_a_toprank_included():
    inner = cheap("toprank", t=4)
    ranker = TopRank(base=inner, rankers=(RankBoost(rounds=5),), t=3).fit(TRAIN, valid=VALID)
    alone = cheap("toprank", t=4).fit(TRAIN, valid=VALID)
    base = ranker.model_.base.model.scores(VALID.X, VALID.groups)
    np.testing.assert_array_equal(base, alone.predict(VALID))
    assert ranker.model_.base.name == "toprank"


# --- arrays, rows, scikit-learn ---


def test_the_order_of_rows_means_nothing():
    ranker = cheap("toprank").fit(TRAIN)
    rows = permutation(VALID)
    shuffled = remade(VALID, rows)
    X, _, qid = arrays(VALID, rows)
    want = ranker.predict(VALID)[rows]
    np.testing.assert_array_equal(shuffled.restore(ranker.predict(shuffled)), want)
    apart = np.random.default_rng(0).permutation(len(VALID))
    X, _, qid = arrays(VALID, apart)
    np.testing.assert_array_equal(ranker.predict(X, qid=qid), ranker.predict(VALID)[apart])


def test_an_array_without_query_ids_is_refused():
    ranker = cheap("toprank").fit(TRAIN)
    with pytest.raises(UsageError, match=r"predict\(X, qid=qid\)"):
        ranker.predict(VALID.X)
    with pytest.raises(UsageError, match="RankingData already has query ids"):
        ranker.predict(VALID, qid=qid_of(VALID))
    X, y, qid = arrays(VALID)
    assert ranker.score(X, y, qid=qid) == pytest.approx(ranker.score(VALID))
    assert [top.qid for top in ranker.rank(X, 2, qid=qid)] == VALID.qids.tolist()


def test_parameters_of_members_are_reached():
    ranker = TopRank(base=RankSVM(C=1.0), rankers=(Regression(l2=2.0), "listnet"))
    copy = clone(ranker).set_params(base__C=3.0, t=9)
    assert (copy.base.C, ranker.base.C, copy.t) == (3.0, 1.0, 9)
    assert copy.rankers[0].l2 == 2.0
    assert copy.rankers[0] is not ranker.rankers[0]
    ranker.fit(TRAIN)
    assert not hasattr(ranker.base, "model_")  # what is given is not fitted itself


def test_searches_and_pipelines():
    X, y, qid = arrays(TRAIN)
    ranker = TopRank(base=RankSVM(), rankers=(Regression(),), aggregator="borda")
    with sklearn.config_context(enable_metadata_routing=True):
        for scoring in (None, scorer("MAP")):
            search = GridSearchCV(
                ranker, {"base__C": [1e-3, 1.0], "t": [2, 6]}, cv=GroupKFold(2), scoring=scoring,
                error_score="raise",
            )  # fmt: skip
            search.fit(X, y, qid=qid, groups=qid)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        pipe = make_pipeline(StandardScaler(), ranker).fit(X, y, qid=qid)
        scaled = StandardScaler().fit_transform(X)
        want = clone(ranker).fit(scaled, y, qid=qid).predict(scaled, qid=qid)
        np.testing.assert_array_equal(pipe.predict(X, qid=qid), want)
        data = RankingData.from_arrays(X, y, qid=qid)
        value = evaluate(data, data.regroup(want), "MAP")["MAP"].mean
        assert scorer("MAP").score(pipe, X, y, qid=qid) == value


# --- fits: path, convergence, ctrl-C ---


def test_along_a_path_of_t_members_are_fitted_once(monkeypatch):
    fits = []
    learn = Regression.learn
    monkeypatch.setattr(Regression, "learn", lambda *a: (fits.append(1), learn(*a))[1])
    found = tune(cheap("toprank"), TRAIN, VALID, grid={"t": [2, 4, 8]})
    assert len(fits) == 1
    for trial in found.trace:
        alone = cheap("toprank", **trial.settings).fit(TRAIN, valid=VALID)
        metric = found.metric
        assert evaluate(VALID, alone.predict(VALID), metric)[metric].mean == trial.value


def test_a_step_is_the_vote_so_far():
    ranker = cheap("toprank").fit(TRAIN, valid=VALID)
    history = ranker.history_
    assert len(history) == history.best == 3
    assert {step.total for step in history} == {3}
    assert history.valid[0] == pytest.approx(ranker.model_.members[0].value, abs=1e-6)
    metric = "NDCG(ties='average')@10"
    assert history.valid[-1] == evaluate(VALID, ranker.predict(VALID), metric)[metric].mean
    np.testing.assert_allclose(history.objective, 1 - np.array(history.valid))


def test_a_member_that_is_not_done_is_told():
    ranker = TopRank(base=RankSVM(), rankers=(ListNet(max_iter=2, l2=1e-6, early_stopping=False),))
    with pytest.warns(NotConvergedWarning, match=r"toprank stopped .*listnet: ") as caught:
        ranker.fit(TRAIN, valid=VALID)
    assert len(caught) == 1
    assert not ranker.converged_
    assert ranker.certificate_ is None  # a vote has none of its own
    assert ranker.model_.base.certificate is not None


def test_ctrl_c_keeps_the_members_that_are_done():
    for after in (1, 2):
        ranker = cheap("toprank")
        with pytest.warns(NotConvergedWarning, match="interrupted"):
            ranker.fit(TRAIN, valid=VALID, callback=Impatient(after))
        assert len(ranker.model_.members) == after
        assert np.isfinite(ranker.predict(VALID)).all()


def test_ctrl_c_within_a_member_ends_the_whole(monkeypatch):
    class Stubborn(RankBoost):
        def learn(self, train, monitor, start):
            monitor.callback = Impatient(2)
            return super().learn(train, monitor, start)

    ranker = TopRank(base=RankSVM(), rankers=(Stubborn(rounds=9), Regression()))
    with pytest.warns(NotConvergedWarning, match="interrupted"):
        ranker.fit(TRAIN, valid=VALID)
    assert [m.name for m in ranker.model_.members] == ["ranksvm", "rankboost"]
    assert ranker.model_.members[1].reason == "interrupted"

    def never(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankSVM, "learn", never)
    with pytest.raises(KeyboardInterrupt):
        clone(ranker).fit(TRAIN, valid=VALID)


# --- explanation ---


def test_a_head_is_explained():
    ranker = cheap("toprank", t=4).fit(LONG)
    found = ranker.explain(LONG, "q3")
    assert isinstance(found, HeadExplanation)
    part = LONG.subset([LONG.qids.tolist().index("q3")])
    first = int(LONG.groups.offsets[LONG.qids.tolist().index("q3")])
    scores = ranker.predict(part)
    final = part.groups.order(scores)
    np.testing.assert_array_equal(found.rows, final + first)
    assert found.docids == tuple(part.docids[final])
    np.testing.assert_array_equal(found.scores, scores[final])
    np.testing.assert_array_equal(found.labels, part.y[final])
    assert found.rankers == ("ranksvm", "regression", "listnet")
    assert found.weights == ranker.model_.weights
    assert found.n_head == 4
    base = ranker.model_.base.model.predict(part.X)
    head = part.groups.order(base)[:4]
    np.testing.assert_array_equal(found.order(0), head + first)
    for a in (1, 2):
        own = ranker.model_.members[a].model.predict(part.X[head])
        np.testing.assert_array_equal(found.order(a), head[np.argsort(-own)] + first)
    assert np.isnan(found.places[4:, 1:]).all()
    np.testing.assert_array_equal(np.sort(found.places[:, 0]), np.arange(1, len(part) + 1))
    text = repr(found)
    assert text.startswith(f"query q3: the first 4 of {len(part)} documents by borda\n")
    assert all(name in text for name in (*found.rankers, *found.docids[:4]))
    assert found.docids[4] not in text
    assert f"{found.weights[1]:.3f}" in text


def test_points_of_an_explanation_give_its_order():
    """Borda's points from the places that are shown are in the final order."""
    found = cheap("toprank", t=6).fit(LONG).explain(LONG, "q5")
    places, weights = found.places[: found.n_head], np.array(found.weights)
    points = (found.n_head - places) @ weights
    assert (np.diff(points) <= 1e-9).all()


def test_the_orders_are_drawn():
    found = cheap("toprank", t=4).fit(LONG).explain(LONG, "q3")
    ax = found.plot()
    assert len(ax.lines) == found.n_head
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [*found.places[0], 1])
    assert ax.lines[0].get_xdata()[-1] == len(found.rankers)
    ax.figure.canvas.draw()


def test_what_is_not_explained():
    ranker = cheap("toprank").fit(LONG)
    with pytest.raises(UnknownNameError, match="unknown query 'q99'"):
        ranker.explain(LONG, "q99")
    with pytest.raises(UsageError, match="explain of its ranker shows the votes"):
        ranker.model_.contributions(LONG.X)


def test_features_that_voters_use():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.digitize(X[:, 1], [0.0, 1.0])
    data = RankingData.from_arrays(X, y, qid=np.arange(300) // 15, feature_names=list("abc"))
    ranker = cheap("toprank", t=15).fit(data)
    found = feature_importance(ranker)
    assert next(iter(found)) == "b"
    assert sum(found.values()) == pytest.approx(1)
    assert permutation_importance(ranker, data, repeats=1).top(1)[0][0] == "b"


# --- files ---


@pytest.fixture
def saved(tmp_path):
    ranker = TopRank(
        base=RankSVM(C=0.1),
        rankers=("regression", LambdaMART(trees=3, min_leaf=2, threads=1), RankBoost(rounds=4)),
        aggregator=ReciprocalRank(k=7.0), t=4, depth=3, weights=(1, 2, 3, 0),
    )  # fmt: skip
    ranker.fit(TRAIN.with_features(TRAIN.X, list("abcd"))).save(tmp_path / "x.podium")
    return ranker, tmp_path / "x.podium"


def test_all_of_it_is_in_the_file(saved, tmp_path):
    ranker, path = saved
    again = load(path)
    assert again.predict(VALID).tobytes() == ranker.predict(VALID).tobytes()
    assert repr(again) == repr(ranker)
    assert again.aggregator == ReciprocalRank(k=7.0)
    assert again.base.get_params() == ranker.base.get_params()
    assert again.weights == (1, 2, 3, 0)
    told = [(m.name, m.settings, m.value) for m in again.model_.members]
    assert told == [(m.name, m.settings, m.value) for m in ranker.model_.members]
    assert repr(again.explain(VALID, VALID.qids[0])) == repr(ranker.explain(VALID, VALID.qids[0]))
    again.save(tmp_path / "y.podium")
    assert (tmp_path / "y.podium").read_bytes() == path.read_bytes()
    refit = again.fit(TRAIN.with_features(TRAIN.X, list("abcd")))
    assert refit.predict(VALID).tobytes() == ranker.predict(VALID).tobytes()
    names = zipfile.ZipFile(path).namelist()
    assert {"vote.txt", "0/weights.npy", "2/trees.txt", "3/alphas.npy"} <= set(names)


def test_a_toprank_in_a_toprank_is_in_the_file(tmp_path):
    ranker = TopRank(base=cheap("toprank"), rankers=(Regression(),), t=3).fit(TRAIN)
    ranker.save(tmp_path / "x.podium")
    again = load(tmp_path / "x.podium")
    assert again.predict(VALID).tobytes() == ranker.predict(VALID).tobytes()
    assert isinstance(again.base, TopRank)


VOTE = {"members": [], "t": 3, "depth": 3, "aggregator": "borda", "options": {}, "from_base": False}


@pytest.mark.parametrize(("edit", "message"), [
    (lambda v: v.update(members=[]), "no member of the model has a vote"),
    (lambda v: v.update(members=3), "the members of the model are damaged"),
    (lambda v: v.update(t=0), "0 is not a count"),
    (lambda v: v.update(t=True), "True is not a count"),
    (lambda v: v.update(depth=2**40), "is not a count"),
    (lambda v: v.update(aggregator="nothing"), "unknown aggregator in the model file: 'nothing'"),
    (lambda v: v.update(options={"k": 3}), "the members of the model are damaged"),
    (lambda v: v.update(options=[1]), "the members of the model are damaged"),
    (lambda v: v.pop("from_base"), "from_base"),
    (lambda v: v["members"][0].update(weight=-1.0), "-1.0 is below 0"),
    (lambda v: v["members"][0].update(weight="1"), "'1' is not a number"),
    (lambda v: v["members"][0].update(model="pickle"), "unknown kind of model of a member: 'pickle'"),
    (lambda v: v["members"][0].update(model="stumps"), "width"),
    (lambda v: v["members"][0].update(model="reranked"), "a text named 'vote'"),
    (lambda v: [m.update(weight=0) for m in v["members"]], "no member of the model has a vote"),
    (lambda v: v["members"].append(dict(v["members"][0])), "a vector of float64 named 'weights'"),
    (lambda v: v["members"][0].pop("name"), "name"),
])  # fmt: skip
def test_a_vote_that_is_none_is_refused(edit, message, change):  # noqa: F811
    path = change("reranked")
    vote = json.loads(contents(path)["vote.txt"])
    edit(vote)
    refused(change("reranked", {"vote.txt": json.dumps(vote).encode()}), message)


def test_members_of_other_widths_are_refused(change):  # noqa: F811
    from tests.rankers.test_model_files import npy

    refused(change("reranked", {"1/weights.npy": npy(np.ones(5))}), "the same number of features")
    refused(change("reranked", {"vote.txt": b"{"}), "the members of the model are damaged")
    refused(
        change("reranked", {"vote.txt": b"[" * 100_000}), "the members of the model are damaged"
    )
    refused(change("reranked", {"2/alphas.npy": None}), "the model file has no part '2/alphas.npy'")


def test_parameters_that_no_file_can_hold(tmp_path):
    class Mine(Borda):
        name = "mine"

    ranker = cheap("toprank", aggregator=Mine()).fit(TRAIN)
    with pytest.raises(UsageError, match=r"a model file cannot hold aggregator=.*Mine"):
        ranker.save(tmp_path / "x.podium")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("base", [
    {"ranker": "nothing", "parameters": {}}, {"ranker": "ranksvm"},
    {"ranker": "ranksvm", "parameters": {"nonsense": 1}}, {"ranker": ["ranksvm"], "parameters": {}},
    {"aggregator": "nothing", "parameters": {}}, {"unknown": 1},
])  # fmt: skip
def test_parameters_that_are_none_are_refused(base, change):  # noqa: F811
    manifest = json.loads(contents(change("reranked"))["manifest.json"])
    with pytest.raises(
        ModelFileError, match="the settings in the file are not those of a toprank ranker"
    ):
        load(change("reranked", parameters={**manifest["parameters"], "base": base}))


# --- what it is for ---


def test_diverse_voters_are_better_than_their_base():
    """A truth that a line and trees each see a part of."""
    data = make_synthetic(n_queries=300, n_docs=25, n_features=6, truth="nonlinear", seed=2)
    train, valid, test = split(data, [0.5, 0.2, 0.3], seed=0)
    trees = LambdaMART(trees=60, threads=1)
    ranker = TopRank(base=RankSVM(), rankers=(trees, RankBoost())).fit(train, valid=valid)
    base = evaluate(test, ranker.model_.base.model.predict(test.X), "NDCG@10")["NDCG@10"].mean
    assert ranker.score(test) > base + 0.01


def test_the_papers_base_and_aggregator_are_its_own():
    for metric, measure in (("NDCG@10", "NDCG@10"), ("P@10", "P@10"), ("MAP", "NDCG@10")):
        base, *voters = TopRank(mode="paper", metric=metric)._member_specs()
        assert (base.ranker.name, base.ranker.oracle) == ("topslack", "paper")
        assert base.ranker.measure == measure
        assert base.grid == {"C": tuple(10.0**e for e in range(-5, 6))}
        assert [spec.ranker.name for spec in voters] == ["regression", "ranksvm", "listnet"]
    assert TopRank(mode="paper")._aggregator() == SupervisedKemeny(literal=True)
    assert TopRank()._aggregator() == SupervisedKemeny()
    assert TopRank()._member_specs()[0].ranker.oracle == "hull"


def test_places_that_do_not_count_are_in_brackets():
    ranker = TopRank(
        base="ranksvm", rankers=("regression", "listnet"), mode="paper", t=4, depth=2, tuned=False
    ).fit(TRAIN, valid=VALID)
    found = ranker.explain(VALID, VALID.qids[0])
    assert found.title().endswith("by supervised-kemeny literal=True, of each voter's first 2")
    _, (_, *rows) = found.table()
    assert sorted(row[3] for row in rows) == ["(3)", "(4)", "1", "2"]


def test_the_vote_is_told_in_words():
    ranker = TopRank(base="ranksvm", rankers=("regression",), t=7, weights=(3, 1), tuned=False)
    model = ranker.fit(TRAIN, valid=VALID).model_
    assert model.describe() == (
        "on the first 7 of ranksvm by supervised-kemeny: ranksvm 0.750, regression 0.250"
    )
    alone = dataclasses.replace(model, weights=(1.0, 0.0))
    assert alone.describe() == "none: ranksvm alone orders the first 7"


def test_members_of_one_kind_have_names_of_their_own():
    names = [spec.label for spec in TopRank()._member_specs()]
    assert names == [
        "topslack", "lambdamart lambdarank", "lambdamart xendcg", "focused-boost", "topk-listmle",
    ]  # fmt: skip


def test_weights_may_be_an_array():
    made = {"base": "ranksvm", "rankers": ("regression",), "t": 7, "tuned": False}
    one, two = (
        TopRank(weights=w, **made).fit(TRAIN, valid=VALID)
        for w in (np.array([3.0, 1.0]), (3.0, 1.0))
    )
    assert one.predict(VALID).tobytes() == two.predict(VALID).tobytes()
