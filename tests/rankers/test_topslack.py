"""TopSlack and TopMargin: what they minimise, what they prove, and when they do not call it proved."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.optimize

import podium
from podium.data import RankingData, make_synthetic
from podium.errors import DataError, NotConvergedWarning, NothingLearnedWarning
from podium.losses import HeadHinge
from podium.metrics import evaluate
from podium.rankers import TopMargin, TopSlack, tune
from podium.rankers.topslack import PAPER_C_VALUES, tie_order_weights
from tests.support.small_rankers import small

BOTH = pytest.mark.parametrize("cls", [TopSlack, TopMargin])
DATA = make_synthetic(n_queries=30, n_docs=(3, 12), n_features=4, grades=(0.5, 0.3, 0.2), noise=1.0)


def objective(ranker, data, w, ideal=None):
    """1/2 |w|^2 + C/m sum of losses against the ideal rankings that w itself makes, by definition."""
    search = "margin" if isinstance(ranker, TopMargin) else "hull"
    loss = HeadHinge(ranker.measure, search).bind(data)
    scores = data.X @ w
    values, _, _ = loss.most_violated(loss.ideal_places(scores) if ideal is None else ideal, scores)
    return w @ w / 2 + ranker.C * values[loss.active].mean()


@BOTH
@pytest.mark.parametrize("measure", ["NDCG@3", "NDCG", "P@2"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_certificate_recomputed_from_w_alone_agrees(cls, measure, C):
    ranker = cls(measure=measure, C=C).fit(DATA)
    certificate, w = ranker.certificate_, ranker.model_.weights
    assert ranker.converged_
    assert certificate.converged
    assert certificate.value == pytest.approx(objective(ranker, DATA, w), rel=1e-9)
    assert certificate.at_zero == pytest.approx(objective(ranker, DATA, np.zeros(4)), rel=1e-9)
    assert certificate.value < certificate.at_zero
    assert 0 <= certificate.gap <= ranker.eps * C
    # The bound holds for the convex problem that has the ideal of w: no other start gets below it.
    loss = HeadHinge(measure).bind(DATA)
    ideal = loss.ideal_places(DATA.X @ w)
    for seed in range(3):
        start = w + np.random.default_rng(seed).normal(size=4) * np.abs(w).max() * 0.3
        other = scipy.optimize.minimize(
            lambda v: objective(ranker, DATA, v, ideal), start, method="Nelder-Mead",
            options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12},
        )  # fmt: skip
        assert other.fun >= certificate.bound - 1e-9 * C


def brute_objective(ranker, data, w):
    """The slack-scaled objective over rankings, not mixtures: every permutation of every query."""
    loss = HeadHinge(ranker.measure).bind(data)
    scores = data.X @ w
    ideal, total = loss.ideal_places(scores), 0.0
    for q, rows in enumerate(data.groups.slices()):
        if not loss.active[q]:
            continue
        n, cut, most = rows.stop - rows.start, int(loss.cuts[q]), 0.0
        for head in itertools.permutations(range(n), cut):
            psi = np.zeros(n)
            psi[list(head)] = loss.discount[:cut]
            lead = 1 + (psi - ideal[rows]) @ scores[rows]
            most = max(most, (1 - psi @ loss.worth[rows]) * lead)
        total += most
    return w @ w / 2 + ranker.C * total / loss.active.sum()


def test_the_relaxation_gap_brackets_the_objective_over_rankings():
    data = make_synthetic(n_queries=20, n_docs=(2, 6), n_features=3, grades=(0.4, 0.3, 0.3), seed=2)
    for C in (0.1, 10.0):
        ranker = TopSlack(measure="NDCG@3", C=C).fit(data)
        c = ranker.certificate_
        exact = brute_objective(ranker, data, ranker.model_.weights)
        assert c.value - c.relaxation_gap - 1e-9 <= exact <= c.value + 1e-9
        assert c.relaxation_gap <= 0.05 * C  # short lists have few rankings to mix


@BOTH
def test_rounds_lower_the_objective_and_end_at_an_ideal_of_their_own(cls):
    one = cls(measure="NDCG@5", C=10.0, max_rounds=1)
    with pytest.warns(
        NotConvergedWarning, match="orders the ties of the ideal ranking differently"
    ):
        one.fit(DATA)
    many = cls(measure="NDCG@5", C=10.0).fit(DATA)
    assert not one.converged_
    assert many.certificate_.rounds > 1
    first, last = (objective(r, DATA, r.model_.weights) for r in (one, many))
    assert last <= first + 1e-3 * 10.0


@BOTH
def test_the_convex_cut_takes_one_round(cls):
    ranker = cls(ideal="cut", measure="NDCG@10", C=1.0).fit(DATA)
    assert ranker.converged_
    assert ranker.certificate_.rounds == 1
    search = "margin" if cls is TopMargin else "hull"
    loss = HeadHinge("NDCG@10", search, ideal="mean").bind(DATA)
    w = ranker.model_.weights
    values, _ = loss(DATA.X @ w)
    expected = w @ w / 2 + values[loss.active].mean()
    assert ranker.certificate_.value == pytest.approx(expected, rel=1e-9)


def test_too_few_passes_are_no_certificate():
    ranker = TopSlack(C=1000.0, max_iter=2)
    with pytest.warns(
        NotConvergedWarning, match="topslack stopped after 2 iterations before it converged"
    ):
        ranker.fit(DATA)
    assert not ranker.converged_
    assert not ranker.certificate_.converged
    assert ranker.certificate_.gap > ranker.eps * ranker.C


@BOTH
def test_an_optimal_w_zero_is_proved_and_nothing_is_called_learned(cls):
    """Both documents of both queries alike but for their labels, which are opposed: nothing to learn."""
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    data = RankingData.from_arrays(X, [1, 0, 0, 1], qid=[1, 1, 2, 2])
    ranker = cls(measure="NDCG@1", C=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConvergedWarning)
        with pytest.warns(NothingLearnedWarning, match="w = 0 is optimal"):
            ranker.fit(data)
    c = ranker.certificate_
    assert ranker.converged_
    assert c.value >= c.at_zero
    assert c.gap <= ranker.eps * ranker.C


@BOTH
@pytest.mark.parametrize("case", [(20.0, 5, "NDCG@1"), (2.0, 5, "P@5"), (20.0, 1, "NDCG@10")])
def test_no_alarm_says_that_a_proved_gap_has_not_converged(cls, case):
    """On noisy labels w = 0 is optimal: the gap was proved, and the fit still called itself unfinished."""
    noise, n_features, measure = case
    for C in (0.01, 10.0, 1000.0):
        data = make_synthetic(
            n_queries=10, n_docs=20, n_features=n_features, noise=noise, grades=(0.9, 0.1),
            features="levels", seed=35,
        )  # fmt: skip
        ranker = cls(measure=measure, C=C)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingLearnedWarning)
            warnings.simplefilter("error", NotConvergedWarning)
            ranker.fit(data)
        assert ranker.certificate_.gap <= ranker.eps * C


def test_if_w_zero_is_optimal_the_order_of_the_first_round_is_kept():
    """The steps near w = 0 had an arbitrary order, of NDCG@10 .131, where ListNet's has .371."""
    data = make_synthetic(
        n_queries=10, n_docs=60, n_features=5, noise=2.0, grades=(0.9, 0.1), features="levels",
        seed=57,
    )  # fmt: skip
    ranker = TopMargin(measure="P@5")
    with pytest.warns(NothingLearnedWarning, match="the order of the first round is kept"):
        ranker.fit(data)
    first = tie_order_weights(data, 0, None)
    w = ranker.model_.weights
    assert w @ first == pytest.approx(np.linalg.norm(w) * np.linalg.norm(first), rel=1e-12)
    assert ranker.certificate_.gap <= ranker.eps * ranker.C
    assert ranker.score(data) > 0.3


def test_the_papers_search_is_certified_by_the_hull_or_not_at_all():
    for C in (0.1, 10.0, 1000.0):
        hull, paper = (
            TopSlack(measure="NDCG@5", C=C),
            TopSlack(measure="NDCG@5", C=C, oracle="paper"),
        )
        hull.fit(DATA)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            paper.fit(DATA)
        w, c = paper.model_.weights, paper.certificate_
        assert not np.array_equal(w, tie_order_weights(DATA, 0, None))  # something was learned
        assert c.value < c.at_zero
        assert c.gap >= 0
        assert c.converged == (c.gap <= 1e-3 * C and paper.converged_)
        if c.converged:
            assert c.value == pytest.approx(objective(hull, DATA, w), rel=1e-9)


def test_tune_takes_the_path_and_the_cut_by_default():
    train, valid = small(seed=1), small(seed=2)
    found = tune(TopSlack(), train, valid)
    tried = {(t.settings["measure"], t.settings["C"]) for t in found.trace}
    path = [10.0**e for e in range(-2, 4)]
    assert tried == set(itertools.product(("NDCG@10", "NDCG@100", "NDCG"), path))
    assert tuple(10.0**e for e in range(-5, 6)) == PAPER_C_VALUES


def test_warm_starts_take_fewer_passes():
    cold, start = 0, None
    warm = 0
    for C in (1.0, 3.0, 10.0, 30.0):
        again = TopSlack(C=C).fit_data(DATA, start=start)
        warm += again.certificate_.rounds
        start = again.model_
        cold += TopSlack(C=C).fit(DATA).certificate_.rounds
    assert warm <= cold


@BOTH
def test_a_known_truth_is_found(cls):
    data = make_synthetic(n_queries=200, n_features=8, noise=0.0, seed=1)
    train, test = data.subset(range(120)), data.subset(range(120, 200))
    scores = cls(measure="NDCG@10", C=100.0).fit(train).predict(test)
    assert evaluate(test, scores, "NDCG@10")["NDCG@10"].mean > 0.99


def test_precision_of_short_lists_says_nothing():
    data = make_synthetic(n_queries=5, n_docs=(2, 4), n_features=2, seed=0)
    with pytest.raises(DataError, match="the loss of topslack cannot distinguish"):
        TopSlack(measure="P@10").fit(data)


@BOTH
def test_the_certificate_is_in_the_file(cls, tmp_path):
    ranker = cls(C=1.0).fit(DATA)
    ranker.save(tmp_path / "model.podium")
    again = podium.load(tmp_path / "model.podium")
    assert again.certificate_ == ranker.certificate_
    assert again.certificate_.passes == ranker.certificate_.iterations > 1
