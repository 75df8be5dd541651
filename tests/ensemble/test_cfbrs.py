"""CFBRS: the ensemble over all compositions is what adding them up one by one gives."""

import hashlib
import io
import itertools
import json
import warnings
import zipfile
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from podium.aggregation import Borda, Footrule, KemenyLocal, Rankings
from podium.data import Groups, RankingData, make_synthetic, split, zip_archives
from podium.ensemble import CFBRS, ComposedModel, Compositions, LinearComposedModel, block_spans
from podium.ensemble.cfbrs import feature_blocks
from podium.ensemble.cfbrs import ranker as cfbrs_ranker
from podium.ensemble.cfbrs.block_weights import Evidence
from podium.ensemble.cfbrs.composed_model import ensemble_of
from podium.ensemble.cfbrs.composition_boosting import boost_compositions
from podium.ensemble.cfbrs.composition_choice import make_plan
from podium.ensemble.cfbrs.composition_feedback import CompositionFeedback
from podium.ensemble.cfbrs.feature_blocks import BlockCombination, zscores
from podium.ensemble.cfbrs.user_classes import votes_and_gains
from podium.errors import (
    DataError,
    DivergedError,
    ModelFileError,
    NotConvergedWarning,
    SlowWarning,
    UsageError,
)
from podium.feedback import SimulatedFeedback, UniformFeedback
from podium.metrics import evaluate, parse
from podium.rankers import LeastSquares, RankBoost, RankNet, RankSVM, feature_weights
from podium.rankers.models import Linear
from podium.rankers.training_queries import contrasting_queries
from podium.registry import load
from tests.support.paths import GOLDEN
from tests.support.small_rankers import qid_of, small

COMPOSED = GOLDEN / "composed-linear-v1.podium"
STANDING = {"name": None, "mass": 1.0, "temperature": 1.0, "queries": 1, "error": 0.5}


def npy(values):
    buffer = io.BytesIO()
    np.save(buffer, np.array(values))
    return buffer.getvalue()


def told(**changes):
    """The golden file's JSON with changes, and gains for as many standings."""
    with zipfile.ZipFile(COMPOSED) as archive:
        whole = json.loads(archive.read("ensemble.txt")) | changes
    gains = npy([0.5] * 6 * len(whole["standings"]))
    return {"ensemble.txt": json.dumps(whole).encode(), "gains.npy": gains}


DATA = make_synthetic(n_queries=30, n_docs=(2, 9), n_features=9, noise=1.0, seed=4)
TRAIN, VALID, TEST = split(DATA, [0.5, 0.25, 0.25], seed=0)
NAMES = [f"f{j}" for j in range(1, 10)]


def alone(block, data=TRAIN, base=LeastSquares):
    """A ranker fitted on a block by itself."""
    a, b = block
    return base().fit(data.with_features(data.X[:, a:b]))


def brute_force(alpha, vote, d=9, m=2, on=TEST):
    """sum_c alpha_c sum_{b in c} n_b / N vote(scores of b) / sum_c alpha_c, composition by composition."""
    total, mass = np.zeros(len(on)), 0.0
    for composition in Compositions(d, m):
        weight = alpha(composition)
        for a, b in block_spans(composition):
            scores = alone((a, b)).predict(on.X[:, a:b])
            total += weight * (b - a) / d * vote(scores, on)
        mass += weight
    return total / mass


def raw(scores, data):
    return scores


def borda(scores, data):
    return Borda()(Rankings.from_scores(data.groups, scores[:, None])).scores


def zscore(scores, data):
    return zscores(scores[:, None], data.groups)[:, 0]


HOW = {
    "score": (raw, {}),
    "borda": (borda, {"combine": "borda"}),
    "zscore": (zscore, {"normalise": "zscore"}),
}
SIMULATED = SimulatedFeedback(variance=0.05, seed=3)
FEEDBACK = {
    "none": (lambda c: 1.0, None),
    "uniform": (lambda c: 0.3, UniformFeedback(0.3)),
    "simulated": (SIMULATED.alpha, SIMULATED),
}


class ByLength:
    """Feedback that is no sum over blocks: it must be asked composition by composition."""

    def alpha(self, sizes):
        return 1 / len(sizes)


class TwoBlocks:
    """Only compositions of two blocks are liked."""

    def alpha(self, sizes):
        return float(len(sizes) == 2)


class Same:
    """The same feedback on all, told composition by composition."""

    def alpha(self, sizes):
        return 0.7


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("feedback", [*FEEDBACK, "asked"])
def test_the_exhaustive_ensemble_is_the_sum_over_all_compositions(how, feedback):
    vote, settings = HOW[how]
    alpha, source = FEEDBACK.get(feedback, (ByLength().alpha, ByLength()))
    ranker = CFBRS(base="least-squares", min_block=2, **settings).fit(TRAIN, feedback=source)
    want = brute_force(alpha, vote)
    np.testing.assert_allclose(ranker.predict(TEST), want, atol=1e-10, rtol=0)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["products", "sums", "both"])
def test_weights_that_are_products_or_sums_over_blocks(how, kind):
    vote, settings = HOW[how]
    ranker = CFBRS(base="least-squares", min_block=2, **settings).fit(TRAIN)
    plan, composed = ranker.plan(), ensemble_of(ranker.model_)
    rng = np.random.default_rng(0)
    g = rng.uniform(0.5, 2.0, len(plan.blocks)) if kind != "sums" else None
    h = rng.uniform(0.0, 1.0, len(plan.blocks)) if kind != "products" else None

    def weight(composition):
        members = plan.block_numbers(0, composition)
        return (1.0 if g is None else np.prod(g[members])) * (
            1.0 if h is None else h[members].sum()
        )

    prior = plan.shares(g, h) * plan.size_shares
    found = replace(composed, prior=prior).scores(TEST.X, TEST.groups)
    np.testing.assert_allclose(found, brute_force(weight, vote), atol=1e-10, rtol=0)


@pytest.mark.parametrize("aggregator", [KemenyLocal(), Footrule()])
def test_distances_add_up_too(aggregator):
    """All blocks of all compositions as voters: each block once, with the weight of all its votes."""
    ranker = CFBRS(base="least-squares", min_block=3, combine=aggregator).fit(TRAIN)
    columns, weights = [], []
    for composition in Compositions(9, 3):
        for a, b in block_spans(composition):
            columns.append(alone((a, b)).predict(TEST.X[:, a:b]))
            weights.append((b - a) / 9)
    every = aggregator(Rankings.from_scores(TEST.groups, np.stack(columns, axis=1)), weights)
    assert len(columns) > len(ranker.plan().blocks)
    np.testing.assert_array_equal(ranker.predict(TEST), every.scores)


def test_compositions_that_are_listed():
    listed = [(9,), (4, 5), (2, 3, 4), (4, 5)]
    ranker = CFBRS(base="least-squares", compositions=listed).fit(TRAIN)
    want = np.zeros(len(TEST))
    for composition in listed:
        for a, b in block_spans(composition):
            want += (b - a) / 9 * alone((a, b)).predict(TEST.X[:, a:b]) / len(listed)
    np.testing.assert_allclose(ranker.predict(TEST), want, atol=1e-12)
    assert ranker.plan().n_compositions == 4
    assert len(ranker.plan().blocks) == 6


def test_listing_all_of_them_is_all_of_them():
    every = CFBRS(base="least-squares", min_block=2).fit(TRAIN, feedback=SIMULATED)
    listed = CFBRS(base="least-squares", compositions=list(Compositions(9, 2)))
    listed.fit(TRAIN, feedback=SIMULATED)
    np.testing.assert_allclose(listed.predict(TEST), every.predict(TEST), atol=1e-12)


def test_first_compositions():
    plan = CFBRS(min_block=4, compositions="first").plan(NAMES)
    assert [c for _, c in plan.selection] == [(4, 5), *[(9,)] * 5]  # of 4, and of 5 to 9
    assert set(plan.blocks) == {(0, 1, 2, 3), (4, 5, 6, 7, 8), tuple(range(9))}


# --- each block once ---


@pytest.mark.parametrize(
    "settings", [{}, {"compositions": 40}, {"ensemble": "boosting"}, {"permutations": 3}]
)
def test_each_block_is_fitted_once(settings, monkeypatch):
    fitted = []
    own = feature_blocks._fit_block

    def counting(ranker, train, *rest):
        fitted.append(train.feature_names)
        return own(ranker, train, *rest)

    monkeypatch.setattr(feature_blocks, "_fit_block", counting)
    data = TRAIN.with_features(TRAIN.X, NAMES)
    ranker = CFBRS(min_block=2, **settings).fit(data)
    assert len(set(fitted)) == len(ranker.plan().blocks)
    assert len(fitted) == len(set(fitted))


def test_warm_starts_lead_to_the_same_ensemble():
    ranker = CFBRS(base=RankSVM(tol=1e-10), min_block=2).fit(TRAIN)
    want = np.zeros(9)
    plan = ranker.plan()
    for share, block in zip(plan.shares() * plan.size_shares, plan.blocks, strict=True):
        a, b = block[0], block[-1] + 1
        want[a:b] += share * alone((a, b), base=lambda: RankSVM(tol=1e-10)).model_.weights
    np.testing.assert_allclose(ranker.model_.weights, want, atol=1e-7)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_number_of_jobs_changes_no_bit(backend):
    one = CFBRS(min_block=2, base="ranknet").fit(TRAIN, valid=VALID)
    with joblib.parallel_config(backend=backend):
        two = CFBRS(min_block=2, base="ranknet", n_jobs=2).fit(TRAIN, valid=VALID)
    assert one.predict(TEST).tobytes() == two.predict(TEST).tobytes()


# --- one linear model ---


def test_linear_blocks_make_a_linear_model():
    ranker = CFBRS(min_block=2).fit(DATA.with_features(DATA.X, NAMES))
    model = ranker.model_
    assert isinstance(model, LinearComposedModel)
    assert isinstance(model, Linear)
    composed = model.composed
    shares = composed.shares
    blocks_say = composed.block_scores(TEST.X, TEST.groups, np.arange(len(shares)))
    np.testing.assert_allclose(ranker.predict(TEST.X), blocks_say @ shares, atol=1e-12)
    assert type(composed.linear()) is Linear
    assert set(feature_weights(ranker)) == set(NAMES)
    found = ranker.explain(DATA, DATA.qids[0])
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores, atol=1e-12)


@pytest.mark.parametrize("settings", [{"combine": "borda"}, {"normalise": "zscore"}])
def test_ranked_and_normalised_blocks_need_the_queries(settings):
    ranker = CFBRS(min_block=3, **settings).fit(TRAIN)
    assert isinstance(ranker.model_, ComposedModel)
    found = ranker.predict(TEST)
    np.testing.assert_array_equal(ranker.predict(TEST.X, qid=qid_of(TEST)), found)
    mixed = np.random.default_rng(0).permutation(len(TEST))
    one = ranker.predict(TEST.X[mixed], qid=qid_of(TEST)[mixed])
    np.testing.assert_allclose(one, found[mixed], atol=1e-12)
    with pytest.raises(UsageError, match=r"predict\(X, qid=qid\)"):
        ranker.predict(TEST.X)
    with pytest.raises(UsageError, match="normalised or ranked"):
        ranker.explain(TEST, TEST.qids[0])
    assert ranker.model_.importance().sum() == pytest.approx(1.0)


def test_blocks_of_other_models():
    ranker = CFBRS(base=RankBoost(rounds=4), min_block=4).fit(TRAIN)
    assert isinstance(ranker.model_, ComposedModel)
    found = ranker.explain(TEST, TEST.qids[0])
    spread = found.scores - found.contributions.sum(axis=1)
    np.testing.assert_allclose(spread, spread[0], atol=1e-12)
    assert np.isfinite(ranker.predict(TEST.X)).all()


# --- blocks without a say ---


@pytest.mark.parametrize("base", ["ranksvm", "least-squares", "rankboost", "lambdamart"])
@pytest.mark.parametrize("settings", [{}, {"combine": "borda"}, {"normalise": "zscore"}])
def test_constant_blocks_say_nothing(base, settings):
    X = np.hstack([np.full((len(TRAIN), 3), 7.0), TRAIN.X[:, :3]])
    data = TRAIN.with_features(X)
    ranker = CFBRS(base=base, min_block=3, compositions=[(3, 3)], **settings).fit(data)
    kept = CFBRS(base=base, min_block=3, compositions=[(3,)], **settings)
    kept.fit(data.with_features(X[:, 3:]))
    one, other = ranker.predict(data), kept.predict(data.with_features(X[:, 3:]))
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(data.groups.order(one), data.groups.order(other))


def test_zscores_of_a_query_that_is_all_ties():
    scores = np.array([[0.1 + 0.2], [0.3], [1.0], [3.0], [5.0]])
    found = zscores(scores, Groups.from_sizes([2, 3]))
    np.testing.assert_allclose(found[:, 0], [0, 0, -np.sqrt(1.5), 0, np.sqrt(1.5)])


# --- the least-squares base ---


def test_least_squares_solves_its_problem():
    data, C = small(8, 3), 0.1
    ranker = LeastSquares(C=C).fit(data)
    w = ranker.model_.weights
    gaps = [
        data.X[u] - data.X[v]
        for rows in data.groups.slices()
        for u, v in itertools.permutations(range(rows.start, rows.stop), 2)
        if data.y[u] > data.y[v]
    ]
    gaps = np.array(gaps)
    np.testing.assert_allclose(w - 2 * C * gaps.T @ (1 - gaps @ w), 0, atol=1e-10)
    want = 0.5 * w @ w + C * np.sum((1 - gaps @ w) ** 2)
    assert ranker.history_.objective == [pytest.approx(want, rel=1e-12)]


def test_all_blocks_by_one_gram_matrix():
    ranker = CFBRS(base=LeastSquares(C=0.01), min_block=2, permutations=2, seed=5).fit(TRAIN)
    composed = ensemble_of(ranker.model_)
    for block, model in zip(composed.blocks, composed.models, strict=True):
        own = LeastSquares(C=0.01).fit(TRAIN.with_features(TRAIN.X[:, list(block)]))
        np.testing.assert_allclose(model.weights, own.model_.weights, atol=1e-12)


# --- orders of the features ---


def test_permutations_share_blocks_and_the_first_is_as_given():
    plan = make_plan(NAMES, min_block=4, permutations=3, seed=1)
    assert plan.orders[0].features == tuple(range(9))
    assert len({order.features for order in plan.orders}) == 3
    assert all(sorted(order.features) == list(range(9)) for order in plan.orders)
    assert plan.blocks.count(tuple(range(9))) == 1
    each_feature = np.zeros(9)
    for share, block in zip(plan.shares(), plan.blocks, strict=True):
        each_feature[list(block)] += share
    np.testing.assert_allclose(each_feature, 1.0)


def test_permuted_features_are_the_ensembles_of_each_order():
    ranker = CFBRS(base="least-squares", min_block=3, permutations=2, seed=1).fit(TRAIN)
    want = np.zeros(len(TEST))
    for order in ranker.plan().orders:
        columns = list(order.features)
        part = CFBRS(base="least-squares", min_block=3)
        part.fit(TRAIN.with_features(TRAIN.X[:, columns]))
        want += part.predict(TEST.X[:, columns]) / 2
    np.testing.assert_allclose(ranker.predict(TEST), want, atol=1e-10)


def test_groups_are_never_cut():
    groups = {"title": ["f9", "f2", "f3"], "body": ["f1", "f4"]}
    plan = make_plan(NAMES, min_block=2, groups=groups)
    assert plan.orders[0].features == (8, 1, 2, 0, 3, 4, 5, 6, 7)
    assert plan.n_compositions == 4  # cut or not after each of two groups
    together = [{8, 1, 2}, {0, 3}, {4, 5, 6, 7}]
    for block in plan.blocks:
        assert all(part <= set(block) or not part & set(block) for part in together)
    turned = make_plan(NAMES, min_block=2, groups=groups, permutations=3, seed=2)
    assert len({order.features for order in turned.orders}) > 1
    for block in turned.blocks:
        assert all(part <= set(block) or not part & set(block) for part in together)


@pytest.mark.parametrize(
    "groups", ["x", ["f1"], ("{'a': ['f1']", "'b'}"), {}, {"a": None}, {"a": [1.5]}, {"a": True}]
)
def test_groups_that_are_none(groups):
    with pytest.raises(
        UsageError, match="expected groups of cfbrs to be a mapping of names to lists"
    ):
        CFBRS(base="least-squares", min_block=2, groups=groups).fit(TRAIN)
    with pytest.raises(UsageError, match="groups=") as caught:
        make_plan(NAMES, min_block=2, groups=groups)
    assert "--set groups.title=f1,f6" in caught.value.on_command_line()


def test_groups_by_number():
    plan = make_plan(NAMES, min_block=2, groups={"a": (1, 2), "b": np.int64(0)})
    assert plan.orders[0].features == (1, 2, 0, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_jobs": 0}, "expected n_jobs of cfbrs to be 1 or more"),
        ({"sampling": "stratified"}, "a number of compositions to draw, got compositions='all'"),
    ],
)
def test_settings_that_mean_nothing(settings, message):
    with pytest.raises(UsageError, match=message):
        CFBRS(base="least-squares", min_block=2, **settings).fit(TRAIN)


GROUPS = {"a": ["f1", "f2", "f3", "f4"], "b": ["f5", "f6"], "c": ["f7"], "d": ["f8", "f9"]}


@pytest.mark.parametrize(
    ("feedback", "alpha"),
    [(None, lambda sizes: 1.0), (Same(), Same().alpha), (SIMULATED, SIMULATED.alpha)],
    ids=["none", "same", "simulated"],
)
def test_orders_with_more_compositions_count_more(feedback, alpha):
    plan = make_plan(NAMES, min_block=3, groups=GROUPS, permutations=5, seed=1)
    assert len({order.compositions.count for order in plan.orders}) > 1
    want, mass = np.zeros(len(plan.blocks)), 0.0
    for number, sizes in plan.all_compositions():
        mass += alpha(sizes)
        for b in plan.block_numbers(number, sizes):
            want[b] += alpha(sizes) * len(plan.blocks[b]) / 9
    np.testing.assert_allclose(CompositionFeedback(feedback, plan).prior(), want / mass, atol=1e-12)


# --- drawing compositions ---


def test_drawn_compositions():
    one = CFBRS(base="least-squares", min_block=2, compositions=7, seed=1)
    assert one.plan(NAMES).selection == one.plan(NAMES).selection
    other = CFBRS(base="least-squares", min_block=2, compositions=7, seed=2)
    assert one.plan(NAMES).selection != other.plan(NAMES).selection
    every = CFBRS(min_block=2, compositions=30, sampling="stratified").plan(NAMES)
    assert {len(c) for _, c in every.selection} == {1, 2, 3, 4}
    many = CFBRS(base="least-squares", min_block=2, compositions=4000).fit(TRAIN)
    exact = CFBRS(base="least-squares", min_block=2).fit(TRAIN)
    np.testing.assert_allclose(many.model_.weights, exact.model_.weights, rtol=0.15, atol=0.01)


def test_beyond_max_blocks_compositions_are_drawn():
    """9 features in blocks of 2 or more: within a budget of all blocks all, below it a draw."""
    n_blocks = 1 + 6 + 6 + (4 + 3 + 2 + 1)  # whole, at the left end, at the right end, between
    free, within, below = (
        CFBRS(base=RankSVM(), min_block=2, max_blocks=n) for n in (None, n_blocks, 12)
    )
    assert len(free.plan(NAMES).blocks) == n_blocks
    assert within.plan(NAMES).selection is None
    assert within.plan(NAMES).blocks == free.plan(NAMES).blocks
    drawn = below.plan(NAMES)
    assert 1 <= len(drawn.blocks) <= 12
    assert set(drawn.blocks) <= set(free.plan(NAMES).blocks)
    assert drawn.selection == below.plan(NAMES).selection
    other = CFBRS(base=RankSVM(), min_block=2, max_blocks=12, seed=1)
    assert other.plan(NAMES).selection != drawn.selection
    ranker = below.fit(TRAIN)
    assert len(ensemble_of(ranker.model_).blocks) == len(drawn.blocks)


def test_one_composition_is_drawn_however_small_the_budget():
    assert CFBRS(min_block=2, max_blocks=1).plan(NAMES).n_compositions == 1


def test_least_squares_needs_no_budget():
    plan = CFBRS(base="least-squares", min_block=2, max_blocks=1).plan(NAMES)
    assert len(plan.blocks) == 1 + 6 + 6 + (4 + 3 + 2 + 1)


def test_many_blocks_say_what_they_cost_before_they_are_fitted(monkeypatch):
    monkeypatch.setattr(cfbrs_ranker, "SLOW_BLOCKS", 10)
    stages = []
    slow = CFBRS(base=RankSVM(), min_block=2, max_blocks=20)
    with pytest.warns(SlowWarning, match=r"fits \d+ blocks, about [\d,]+ s on one core; \d+ comp"):
        slow.fit(TRAIN, callback=lambda step: stages.append((step.iteration, step.stage)))
    n = len(slow.plan(NAMES).blocks)
    assert stages[0][0] == 0
    assert stages[0][1].startswith(f"{n} blocks, about ")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowWarning)
        CFBRS(base="least-squares", min_block=2).fit(TRAIN)
        CFBRS(base=RankSVM(), min_block=5).fit(TRAIN)  # 1 block


# --- boosting ---


@pytest.mark.parametrize("compositions", ["all", 20, [(9,), (4, 5), (3, 3, 3)]])
def test_boosting(compositions):
    ranker = CFBRS(base="least-squares", min_block=2, ensemble="boosting", rounds=8,
                   compositions=compositions)  # fmt: skip
    ranker.fit(TRAIN)
    assert 1 <= len(ranker.history_) <= 8
    assert all(0 < loss < 1 for loss in ranker.history_.objective)
    curve = ranker.history_.objective
    assert curve[ranker.history_.best - 1] == min(curve)
    again = clone(ranker).fit(TRAIN)
    assert again.predict(TEST).tobytes() == ranker.predict(TEST).tobytes()
    validated = CFBRS(base="least-squares", min_block=2, ensemble="boosting").fit(
        TRAIN, valid=VALID
    )
    values = validated.history_.valid
    assert validated.history_.best == int(np.argmax(values)) + 1
    metric = "NDCG(ties='average')@10"
    mine = evaluate(VALID, validated.predict(VALID), metric)[metric].mean
    assert mine == pytest.approx(max(values), abs=1e-12)


def boosted_by_hand(ranker, alpha, rounds):
    """Boosting composition by composition, each scored block by block; the weights of the blocks."""
    plan, composed = ranker.plan(), ensemble_of(ranker.model_)
    metric = "NDCG(ties='average')@10"
    data = TRAIN.subset(contrasting_queries(TRAIN))
    chance = evaluate(data, np.zeros(len(data)), metric)[metric].per_query

    def edge(scores):
        return (evaluate(data, scores, metric)[metric].per_query - chance) / (1 - chance)

    scores = composed.block_scores(data.X, data.groups, np.arange(len(plan.blocks)))
    alone = [edge(np.array(column)) for column in scores.T]
    D, total, used = np.full(data.n_queries, 1 / data.n_queries), np.zeros(len(plan.blocks)), []
    for _ in range(rounds):
        best, chosen = -np.inf, None
        for sizes in Compositions(9, 3):
            members = plan.block_numbers(0, sizes)
            value = sum(len(plan.blocks[b]) / 9 * np.sum(D * alone[b]) for b in members)
            if sizes not in used and alpha(sizes) > 0 and alpha(sizes) * value > best + 1e-12:
                best, chosen = alpha(sizes) * value, sizes
        if chosen is None:
            break
        own = np.zeros(len(plan.blocks))
        for b in plan.block_numbers(0, chosen):
            own[b] = len(plan.blocks[b]) / 9
        r = np.sum(D * edge(scores @ own))
        if r <= 0:
            break
        total += alpha(chosen) * 0.5 * np.log((1 + r) / (1 - r)) * own
        D = np.exp(-edge(scores @ total))
        D /= D.sum()
        used.append(chosen)
    return total, used


@pytest.mark.parametrize(
    ("feedback", "alpha"),
    [
        (None, lambda sizes: 1.0),
        (Same(), Same().alpha),
        (ByLength(), ByLength().alpha),
        (SIMULATED, SIMULATED.alpha),
        (TwoBlocks(), TwoBlocks().alpha),
    ],
    ids=["none", "same", "by length", "simulated", "two blocks"],
)
@pytest.mark.parametrize("rounds", [1, 4])
def test_boosting_is_boosting_composition_by_composition(feedback, alpha, rounds):
    ranker = CFBRS(base="least-squares", min_block=3, ensemble="boosting", rounds=rounds)
    ranker.fit(TRAIN, feedback=feedback)
    want, used = boosted_by_hand(ranker, alpha, rounds)
    plan, composed = ranker.plan(), ensemble_of(ranker.model_)
    evidence = Evidence.of(TRAIN)
    metric = parse("NDCG@10").averaging_ties()
    votes, gains = votes_and_gains(composed, evidence, metric)
    alphas = CompositionFeedback(feedback, plan).varying_alphas
    found = list(
        boost_compositions(plan, plan.size_shares, gains, evidence, votes, metric, rounds, alphas)
    )
    assert [one.composition for one in found] == [(0, sizes) for sizes in used]
    np.testing.assert_allclose(found[-1].weights, want, atol=1e-12)
    np.testing.assert_allclose(ranker.history_.objective, [one.loss for one in found], atol=1e-12)
    kept = found[ranker.history_.best - 1]
    np.testing.assert_allclose(composed.prior, kept.weights, atol=1e-12)


def test_boosting_takes_only_compositions_that_are_liked():
    ranker = CFBRS(base="least-squares", min_block=3, ensemble="boosting")
    ranker.fit(TRAIN, feedback=TwoBlocks())
    composed = ensemble_of(ranker.model_)
    counted = [block for block, w in zip(composed.blocks, composed.prior, strict=True) if w > 0]
    assert counted
    assert all(len(block) < 9 and (0 in block or 8 in block) for block in counted)
    plain = CFBRS(base="least-squares", min_block=3, ensemble="boosting").fit(TRAIN)
    same = CFBRS(base="least-squares", min_block=3, ensemble="boosting")
    same.fit(TRAIN, feedback=Same())
    np.testing.assert_allclose(same.predict(TEST), plain.predict(TEST), atol=1e-12)


# --- weights that are measured ---


def test_measured_weights():
    ranker = CFBRS(base="least-squares", min_block=3, weights="validation")
    composed = ensemble_of(ranker.fit(TRAIN, valid=VALID).model_)
    metric = "NDCG(ties='average')@10"
    seen = VALID.subset(contrasting_queries(VALID))
    scores = composed.block_scores(seen.X, seen.groups, np.arange(len(composed.blocks)))
    values = [evaluate(seen, np.array(s), metric)[metric].mean for s in scores.T]
    T = composed.population.temperature
    want = composed.prior * np.exp((np.array(values) - max(values)) / T)
    np.testing.assert_allclose(composed.shares, want / want.sum(), rtol=2e-3)
    assert composed.population.queries == seen.n_queries


def test_measured_weights_hold_out_queries_by_themselves():
    ranker = CFBRS(base="least-squares", min_block=3, weights="validation").fit(TRAIN)
    assert 0 < ensemble_of(ranker.model_).population.queries < TRAIN.n_queries / 2


# --- the loss scaled by feedback ---


def test_scaled_losses():
    ranker = CFBRS(base=LeastSquares(C=0.01), min_block=4, scale_loss=True)
    ranker.fit(TRAIN, feedback=UniformFeedback(0.5))
    composed = ensemble_of(ranker.model_)
    for block, model in zip(composed.blocks, composed.models, strict=True):
        C = 0.01 * 9 / (0.5 * len(block))
        own = LeastSquares(C=C).fit(TRAIN.with_features(TRAIN.X[:, list(block)]))
        np.testing.assert_allclose(model.weights, own.model_.weights, atol=1e-12)
    net = CFBRS(base=RankNet(l2=0.1, tol=1e-9), min_block=9, scale_loss=True)
    net.fit(TRAIN, feedback=UniformFeedback(0.5))
    own = RankNet(l2=0.1 * 0.5, tol=1e-9).fit(TRAIN)
    np.testing.assert_allclose(net.predict(TEST), own.predict(TEST), atol=1e-6)
    with pytest.raises(UsageError, match="scale_loss needs feedback above 0"):
        ranker.fit(TRAIN, feedback=UniformFeedback(0.0))


class Wild:
    def __init__(self, value):
        self.value = value

    def alpha(self, sizes):
        return self.value

    def by_size(self, d):
        return np.full(d, self.value)


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_feedback_outside_0_to_1(value):
    with pytest.raises(UsageError, match=r"feedback alpha in \[0, 1\], got"):
        CFBRS(min_block=3).fit(TRAIN, feedback=Wild(value))


def test_feedback_that_is_none():
    with pytest.raises(
        UsageError, match=r"feedback with a method alpha\(sizes\).* got 'events.ndjson'"
    ):
        CFBRS(min_block=3).fit(TRAIN, feedback="events.ndjson")


class Asked:
    def __init__(self, value):
        self.value = value

    def alpha(self, sizes):
        return self.value


@pytest.mark.parametrize("value", ["x", "0.5", None, [0.5, 0.5]])
def test_feedback_that_is_no_number(value):
    with pytest.raises(UsageError, match=r"feedback alpha in \[0, 1\], got"):
        CFBRS(min_block=3).fit(TRAIN, feedback=Asked(value))


@pytest.mark.parametrize("length", [0, 3, 10])
def test_feedback_by_size_for_other_sizes(length):
    feedback = Wild(0.5)
    feedback.by_size = lambda d: np.full(length, 0.5)
    with pytest.raises(UsageError, match=f"9 values, for blocks of 1 to 9 features, got {length}"):
        CFBRS(min_block=3).fit(TRAIN, feedback=feedback)


def test_an_ensemble_of_ensembles_is_refused():
    with pytest.raises(UsageError, match="cfbrs cannot be its own base"):
        CFBRS(base=CFBRS(min_block=2), min_block=4).fit(TRAIN)


@pytest.mark.parametrize("sizes", [(11, -1), (-1, 11), (0, 9)])
def test_blocks_of_no_size(sizes):
    with pytest.raises(UsageError, match="add up to 9"):
        CFBRS(base="least-squares", compositions=[(9,), sizes], min_block=2).fit(TRAIN)


def test_large_features_that_are_alike_are_told():
    X = np.column_stack([TRAIN.X[:, 0] * 1e9] * 3 + [TRAIN.X[:, 1]])
    with pytest.raises(DivergedError, match="scale the features"):
        LeastSquares(C=1.0).fit(TRAIN.with_features(X))


def test_feedback_that_cannot_be_added_up_is_refused():
    data = make_synthetic(n_queries=5, n_features=40, seed=0)
    ranker = CFBRS(base="least-squares", min_block=1, compositions="all")
    with pytest.raises(UsageError, match="too many to list; use feedback with by_size"):
        ranker.fit(data, feedback=ByLength())
    boosted = CFBRS(base="least-squares", min_block=1, ensemble="boosting", rounds=2)
    with pytest.raises(
        UsageError, match="the same feedback for all compositions, or ensemble='bagging'"
    ):
        boosted.fit(data, feedback=SIMULATED)
    boosted.fit(data, feedback=UniformFeedback(0.3))
    assert len(boosted.history_) == 2
    few = CFBRS(base="least-squares", min_block=1, compositions=20)
    assert np.isfinite(few.fit(data, feedback=ByLength()).predict(data)).all()


def test_not_converged_is_told():
    with pytest.warns(NotConvergedWarning, match=r"of \d+ blocks, the first: the gradient norm"):
        ranker = CFBRS(base=RankSVM(max_iter=1, tol=1e-12), min_block=4).fit(TRAIN)
    assert not ranker.converged_


def test_a_block_that_is_larger_than_the_data():
    with pytest.raises(UsageError, match="at most 9, the number of features, got 10"):
        CFBRS(min_block=10).fit(TRAIN)


def test_the_exhaustive_ensemble_of_46_features():
    data = make_synthetic(n_queries=40, n_features=46, seed=0)
    ranker = CFBRS(base="least-squares").fit(data)
    assert ranker.describe() == "603 blocks of 51,320 compositions, one linear model"


# --- files ---


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"combine": "borda"},
        {"normalise": "zscore", "weights": "validation"},
        {"base": RankBoost(rounds=3), "compositions": [(4, 5)]},
        {"combine": KemenyLocal(), "permutations": 2},
        {"groups": {"a": ["f1", "f2", "f3"]}, "ensemble": "boosting"},
    ],
)
def test_files(settings, tmp_path):
    train = TRAIN.with_features(TRAIN.X, NAMES)
    ranker = CFBRS(min_block=3, **settings).fit(train, valid=VALID)
    ranker.save(tmp_path / "one.podium")
    again = load(tmp_path / "one.podium")
    assert again.predict(TEST).tobytes() == ranker.predict(TEST).tobytes()
    again.save(tmp_path / "two.podium")
    assert (tmp_path / "one.podium").read_bytes() == (tmp_path / "two.podium").read_bytes()
    assert again.describe() == ranker.describe()


HOSTILE = {
    "no text": {"ensemble.txt": None},
    "no JSON": {"ensemble.txt": b"{"},
    "a list": {"ensemble.txt": b"[]"},
    "no blocks": {"sizes.npy": npy([])},
    "a block of none": {"sizes.npy": npy([0, 2, 1, 2, 1, 3])},
    "too many features": {"features.npy": npy([0])},
    "features below 0": {"features.npy": npy([-1, 0, 1, 0, 1, 2, 1, 1, 2, 2])},
    "features beyond": {"features.npy": npy([0, 0, 1, 0, 1, 9, 1, 1, 2, 2])},
    "features that fall": {"features.npy": npy([0, 1, 0, 0, 1, 2, 1, 1, 2, 2])},
    "a width of many": {"width.npy": npy([2**40])},
    "a width of none": {"width.npy": npy([0])},
    "weights below 0": {"prior.npy": npy([-1.0, 1, 1, 1, 1, 1])},
    "weights of 0": {"prior.npy": npy([0.0] * 6)},
    "few weights": {"prior.npy": npy([1.0])},
    "few gains": {"gains.npy": npy([1.0])},
    "few coefficients": {"weights.npy": npy([1.0])},
    "no numbers": {"weights.npy": npy([np.nan] * 10)},
    "an unknown aggregator": told(aggregator="nobody"),
    "an aggregator of blocks that are added": told(aggregator="borda"),
    "a way to normalise": told(normalise="softmax"),
    "kinds of models": told(models=["code"] * 6),
    "few kinds of models": told(models=["linear"]),
    "models that are not there": told(models=["linear"] * 6),
    "no standings": told(standings=[]),
    "a class first": told(standings=[{"name": "x"}] * 3),
    "a temperature of 0": told(standings=[{**STANDING, "temperature": 0}] * 1),
    "a mass below 0": told(standings=[{**STANDING, "mass": -1}] * 1),
    "a mass of hardly any": told(standings=[{**STANDING, "mass": 1e-320}] * 1),
    "weights beyond numbers": {"prior.npy": npy([1e308] * 6)},
    "one class twice": told(standings=[STANDING, *[{**STANDING, "name": "x"}] * 2]),
    "few trials": told(standings=[{**STANDING, "trials": [0.5], "tried": 1}]),
    "trials that are none": told(standings=[{**STANDING, "trials": ["x"] * 10}]),
    "trials below 0": told(standings=[{**STANDING, "trials": [0.5] * 10, "tried": -1}]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name, tmp_path):
    with zipfile.ZipFile(COMPOSED) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    files.update(HOSTILE[name])
    manifest = json.loads(files.pop("manifest.json"))
    files = {n: data for n, data in files.items() if data is not None}
    manifest["parts"] = {n: hashlib.sha256(data).hexdigest() for n, data in files.items()}
    manifest["digest"] = zip_archives.digest(manifest)
    path = tmp_path / "hostile.podium"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for n, data in files.items():
            archive.writestr(n, data)
    with pytest.raises(
        ModelFileError, match=r"expected|must|damaged|unknown|too large|nested at most"
    ):
        load(path)


def test_missing_values_are_told_by_the_base():
    X = TRAIN.X.copy()
    X[0, 0] = np.nan
    data = RankingData.from_arrays(X, TRAIN.y, qid=qid_of(TRAIN), missing="nan")
    with pytest.raises(DataError, match="the features have missing values"):
        CFBRS(min_block=3).fit(data)


def test_combinations_say_what_they_are():
    assert BlockCombination().is_linear
    assert not BlockCombination(Borda()).is_linear
    assert not BlockCombination(None, "zscore").is_linear
