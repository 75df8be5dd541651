"""The post-ranking paper's protocol: rules, choices, tests, claims, pictures."""

import itertools
import json
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from podium import kernels
from podium.data import Fold, RankingData, make_synthetic, read_letor, rotate, split
from podium.errors import UsageError
from podium.experiments import save_figure
from podium.experiments.checkpoints import RunProgress
from podium.metrics import correct, evaluate, paired_test
from podium.postranking import NotTopK, TopK, postrank
from podium.postranking.methods.paper_descent import PaperDescent
from podium.rankers import LambdaMART
from podium_papers.comparisons import RankerScores
from podium_papers.rankopt import experiments as rankopt
from podium_papers.rankopt.claims import (
    BASE,
    BASELINE_MODES,
    FORMS,
    HEURISTICS,
    IF_VIOLATED,
    NAMES,
    RULE_COMBINATIONS,
    STUDIED_METHODS,
    STUDY_CASE,
    STUDY_CASES,
    TUNED_FORMS,
    WEIGHT_GRID,
    ExampleList,
    RankOptReproduction,
    convergence_claims,
    weight_case,
)
from podium_papers.rankopt.convergence import RHOS, Convergence, count_converged
from podium_papers.rankopt.drawn_rules import NO_ROW, RuleCase, RuleDraw
from podium_papers.rankopt.experiments import CONTENDERS, choose, reproduce, run_fold
from podium_papers.rankopt.figures import (
    combination_figure,
    depths_figure,
    examples_figure,
    types_figure,
    weights_figure,
    wrong_figure,
)
from podium_papers.rankopt.lists_under_rules import MEASURES, ListsUnderRules
from podium_papers.rankopt.page import figure_label
from podium_papers.rankopt.summary import RankOptSummary, pack_summary, unpack_summary

PARTS = split(make_synthetic(n_queries=30, n_docs=12, noise=0.5, seed=0), [1 / 3] * 3)
PAPER_STEPS = []


@pytest.fixture(scope="module")
def found():
    PAPER_STEPS.clear()
    return reproduce({"one": rotate(PARTS)}, quick=True, callback=PAPER_STEPS.append)


@pytest.fixture(scope="module")
def ragged():
    """Lists of 1 to 14 documents, ties among labels and scores, and a base ranker's scores."""
    rng = np.random.default_rng(3)
    sizes = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    data = RankingData.from_arrays(rng.random((len(qid), 2)), rng.integers(0, 3, len(qid)), qid=qid)
    return data, rng.integers(0, 9, len(qid)) / 4


def made_up(high=("margin",)):
    """A reproduction of all cases, `high` above all others on every query."""
    values = np.linspace(0.3, 0.5, 16)

    def outcome(mode, method):
        own = tuple((values + 0.2 * (method in high)).tolist())
        return RankerScores(
            "one", mode, method, dict.fromkeys(MEASURES, own), {"chosen": ("",)}, {}
        )

    outcomes = [outcome("", BASE)]
    outcomes += [outcome(str(c), m) for c in RULE_COMBINATIONS for m in NAMES if m != BASE]
    outcomes += [outcome(str(c), m) for c in STUDY_CASES for m in STUDIED_METHODS]
    weights = itertools.product(("rho_t", "rho_n"), WEIGHT_GRID, FORMS)
    outcomes += [outcome(weight_case(w, v), form) for w, v, form in weights]
    example = ExampleList(
        "one", "wrong", str(STUDY_CASE), "7", {BASE: ((2, ""), (0, "t"), (1, "n"))}
    )
    return RankOptReproduction(False, 0, tuple(outcomes), (example,))


# Rules


def test_rules_come_from_the_top_and_the_rest_of_a_perfect_ranking(ragged):
    data, _ = ragged
    for seed, (top, rest) in itertools.product(range(20), itertools.product((1, 3, 5), (5, 10))):
        up, down = RuleDraw.of(data, seed).rows(RuleCase(top, rest))
        for q, rows in enumerate(data.groups.slices()):
            y, n = data.y[rows], rows.stop - rows.start
            ideal = np.sort(y)[::-1]
            assert (up[q] == NO_ROW) == (top >= n)
            assert (down[q] == NO_ROW) == (rest >= n)
            if up[q] != NO_ROW:
                assert data.y[up[q]] in ideal[:top]
                assert rows.start <= up[q] < rows.stop
            if down[q] != NO_ROW:
                assert data.y[down[q]] in ideal[rest:]
                assert up[q] != down[q]


def test_ties_of_the_perfect_ranking_are_random_and_fair():
    data = RankingData.from_arrays(np.zeros((4, 1)), [1, 1, 1, 0], qid=[0] * 4)
    drawn = [RuleDraw.of(data, seed).rows(RuleCase(1, 3)) for seed in range(600)]
    counts = np.bincount([int(up[0]) for up, _ in drawn], minlength=4)
    assert counts[3] == 0
    assert (abs(counts[:3] - 200) < 60).all()
    assert all(down[0] == 3 for _, down in drawn)


def test_the_same_seed_draws_the_same_rules(ragged):
    data, _ = ragged
    first, again, other = (
        RuleDraw.of(data, *seed).rows(STUDY_CASE) for seed in [(0, 1), (0, 1), (0, 2)]
    )
    assert [r.tolist() for r in first] == [r.tolist() for r in again]
    assert [r.tolist() for r in first] != [r.tolist() for r in other]


def test_a_larger_share_of_wrong_rules_keeps_those_of_a_smaller(ragged):
    data, _ = ragged
    draw = RuleDraw.of(data, 0)
    right = draw.rows(STUDY_CASE)
    before = np.zeros((2, data.n_queries), dtype=bool)
    for share in (0.1, 0.3, 0.5, 1.0):
        wrong = draw.rows(RuleCase(3, 5, share))
        changed = np.array([w != r for w, r in zip(wrong, right, strict=True)])
        assert (before <= changed).all()
        before = changed
    assert before.any()


def test_wrong_rules_name_documents_of_the_wrong_kind(ragged):
    data, _ = ragged
    for seed in range(30):
        up, down = RuleDraw.of(data, seed).rows(RuleCase(3, 5, 1.0))
        for q, rows in enumerate(data.groups.slices()):
            y = data.y[rows]
            if up[q] == NO_ROW or down[q] == NO_ROW:
                continue
            assert up[q] != down[q]
            if (y == 0).sum() > 1:
                assert data.y[up[q]] == 0
            if (y > 0).sum() > 1:
                assert data.y[down[q]] > 0


# Lists


def test_all_lists_at_once_are_each_by_itself(ragged):
    data, scores = ragged
    ranked = ListsUnderRules.of(data, scores, draws=2, seed=1)
    for name, settings in CONTENDERS.items():
        weights = (3.0, 10.0) if name in TUNED_FORMS else (None, None)
        new = ranked.solve(STUDY_CASE, settings, weights)
        top, rest = ranked.rows(STUDY_CASE)
        for q, rows in enumerate(ranked.lists.groups.slices()):
            n = rows.stop - rows.start
            rules = []
            if top[q] != NO_ROW:
                rules.append(TopK(int(top[q]), 3, weight=weights[0] or 1.0))
            if rest[q] != NO_ROW:
                rules.append(NotTopK(int(rest[q]), 5, weight=weights[1] or 1.0))
            alone = postrank(
                list(range(n)), rules, ranked.lists.scores[rows], settings.prior, settings.base,
                settings.pairs, scale=settings.scale, method=settings.method,
            )  # fmt: skip
            order = np.argsort(-new[rows], kind="stable").tolist()
            assert order == (list(alone) if rules else list(range(n))), name


def test_values_are_those_of_evaluate(ragged):
    data, scores = ragged
    ranked = ListsUnderRules.of(data, scores, draws=3)
    plain = evaluate(data, scores, MEASURES)
    for measure, values in ranked.values().items():
        assert values.tolist() == pytest.approx(plain[measure].per_query.tolist())
    new = ranked.solve(STUDY_CASE, CONTENDERS["radical"])
    by_hand = []
    for d, draw in enumerate(ranked.draws):
        moved = scores.astype(float)
        up, down = draw.rows(STUDY_CASE)
        moved[up[up != NO_ROW]], moved[down[down != NO_ROW]] = 99, -99
        by_hand.append(evaluate(data, moved, "NDCG@3")["NDCG@3"].per_query)
        assert d < 3
    assert ranked.values(new)["NDCG@3"].tolist() == pytest.approx(np.mean(by_hand, axis=0).tolist())


def test_lists_too_short_for_a_rule_stay_as_they_are(ragged):
    data, scores = ragged
    ranked = ListsUnderRules.of(data, scores)
    for settings in CONTENDERS.values():
        new = ranked.solve(RuleCase(5, 10), settings)
        for rows in ranked.lists.groups.slices():
            if rows.stop - rows.start <= 5:
                assert (np.diff(new[rows]) < 0).all()
    assert set(ranked.problems(RuleCase(None, 10), CONTENDERS["margin"])) == {9, 10, 11}


# Choices


def test_weights_are_the_best_on_validation_and_of_equal_ones_the_larger(ragged):
    data, scores = ragged
    valid = ListsUnderRules.of(data, scores, draws=2)
    grid = (0.1, 3.0, 1000.0, 2000.0)

    def mean(weights):
        values = valid.values(valid.solve(STUDY_CASE, CONTENDERS["margin"], weights))
        return np.mean([values[m].mean() for m in MEASURES])

    tried = {w: mean(w) for w in itertools.product(grid, grid)}
    chosen = choose(valid, STUDY_CASE, CONTENDERS["margin"], grid)
    best = max(tried.values())
    assert tried[chosen] == pytest.approx(best, abs=1e-9)
    assert chosen == max(w for w, value in tried.items() if abs(value - best) < 1e-9)
    single = choose(valid, RuleCase(3, None), CONTENDERS["margin"], grid)
    assert single[1] is None
    assert single[0] in grid


def test_nothing_is_chosen_by_the_test_labels():
    fold = rotate(PARTS)[0]
    turned = replace(fold.test, y=np.random.default_rng(0).permutation(fold.test.y))
    seen = run_fold(fold, quick=True)
    other = run_fold(Fold(fold.train, fold.valid, turned), quick=True)
    assert [(t.mode, t.ranker, t.settings) for t in seen.tested] == [
        (t.mode, t.ranker, t.settings) for t in other.tested
    ]
    assert all(a.values != b.values for a, b in zip(seen.tested, other.tested, strict=True))


# The run


def test_every_method_has_a_value_for_each_query_in_each_combination(found):
    keys = [(o.mode, o.ranker) for o in found.ranker_scores]
    assert keys == [("", BASE), *((str(c), m) for c in RULE_COMBINATIONS for m in CONTENDERS)]
    for outcome in found.ranker_scores:
        assert {m: len(v) for m, v in outcome.values.items()} == dict.fromkeys(MEASURES, 30)
        assert len(outcome.settings["chosen"]) == 3
    assert [RunProgress(i, 3, f"one, fold {i}") for i in (1, 2, 3)] == PAPER_STEPS


def test_with_a_top_1_rule_all_baselines_are_the_same(found):
    for case in ("top-1, not-top-5", "top-1, not-top-10"):
        first = [found.scores_of("one", case, h).values["NDCG@1"] for h in HEURISTICS]
        assert all(values == first[0] for values in first)


def test_the_same_seed_is_the_same_bytes_whatever_the_number_of_processes(found):
    again = reproduce({"one": rotate(PARTS)}, quick=True, n_jobs=2)
    assert json.dumps(asdict(again)) == json.dumps(asdict(found))
    other = reproduce({"one": rotate(PARTS)}, quick=True, seed=1)
    assert other.ranker_scores != found.ranker_scores


def test_studies_cover_every_case(monkeypatch):
    monkeypatch.setattr(rankopt, "WEIGHT_GRID", (1.0, 30.0))
    monkeypatch.setattr(rankopt, "WIDE_WEIGHT_GRID", (1.0, 1000.0))
    monkeypatch.setattr(rankopt, "DRAWS", 1)
    cell = run_fold(rotate(PARTS)[0])
    modes = {(t.mode, t.ranker) for t in cell.tested}
    assert {(str(case), m) for case in STUDY_CASES for m in STUDIED_METHODS} <= modes
    assert {
        (weight_case(w, v), form) for w in ("rho_t", "rho_n") for v in (1, 30) for form in FORMS
    } <= modes
    chosen = {t.settings for t in cell.tested if (t.mode, t.ranker) == ("top-3", "margin")}
    assert chosen <= {"rho_t=1", "rho_t=30"}


def test_results_survive_json(found):
    for result in (found, made_up()):
        summary = RankOptSummary.of(result)
        plain = json.loads(json.dumps(pack_summary(summary)))
        assert msgspec.convert(unpack_summary(plain), RankOptSummary) == summary


# Tests and claims


def test_comparisons_are_corrected_t_tests(found):
    for form, when in itertools.product(FORMS, BASELINE_MODES):
        tests = found.comparisons(str(STUDY_CASE), form, when)
        others = (BASE, *BASELINE_MODES[when])
        assert [(c.measure, c.other) for c in tests] == list(itertools.product(MEASURES, others))
        plain = [
            paired_test(
                found.scores_of("one", str(STUDY_CASE), form).values[c.measure],
                found.scores_of("one", str(STUDY_CASE), c.other).values[c.measure],
                "t",
            )
            for c in tests
        ]
        assert [c.p_value for c in tests] == [p.p_value for p in plain]
        assert [c.adjusted for c in tests] == correct([p.p_value for p in plain], "holm")


def test_claims_hold_where_the_method_is_ahead():
    claims = made_up().claims()
    ahead = [c for c in claims if c.text == "RankOpt is better than all four baselines"]
    assert {(c.form, c.when): c.holds for c in ahead} == {
        (form, when): form == "margin" for form in TUNED_FORMS for when in BASELINE_MODES
    }
    assert {c.found for c in ahead if c.form == "margin"} == {"36 of 36 (+36, -0)"}
    assert {c.found for c in ahead if c.form == "uniform"} == {"0 of 36 (+0, -0)"}
    equal = {c.form: c for c in claims if c.text.startswith("With a top-1 rule")}
    assert not equal["margin"].holds
    assert equal["uniform"].holds
    assert equal["margin"].found == "+0.2000 at most"


def test_claims_of_the_studies():
    claims = {(c.text, c.form, c.when): c for c in made_up(("margin", "radical")).claims()}
    peak = claims["RankOpt is at its best around k = 5 of the not-top-k rule", "margin", ""]
    assert (peak.holds, peak.found) == (False, "best at k = 1")
    alone = claims["A top-5 rule alone improves the ranking", "margin", ""]
    assert (alone.holds, alone.found) == (True, "+0.2000, +0.2000, +0.2000")
    both = claims["Both rules are better than the top-5 rule alone", "margin", ""]
    assert not both.holds
    steady = claims["RankOpt is not sensitive to rho_t", "uniform", ""]
    assert (steady.holds, steady.found) == (True, "0.0000, 0.0000, 0.0000 from worst to best")
    depth = [c for (text, form, when), c in claims.items()
             if "for all k of the top-k" in text and form == "uniform" and when == "always"]  # fmt: skip
    assert [c.found for c in depth] == ["0 of 10 values of k, least -0.2000"]
    text = next(text for text, _, _ in claims if text.startswith("Radical hurts"))
    assert not claims[text, "", "always"].holds
    assert claims[text, "", "always"].found == "+0.2000"
    wrong = next(text for text, _, _ in claims if text.startswith("RankOpt loses less by wrong"))
    assert not claims[wrong, "margin", "always"].holds
    assert claims[wrong, "margin", "violated"].holds


@pytest.mark.skipif(kernels.BACKEND == "reference", reason="the same numbers, in minutes")
def test_margin_is_above_all_baselines_on_mq2008(shared_data):
    """The five folds, weights chosen on validation; the whole protocol is in docs/results.md."""
    parts = [read_letor(shared_data / "MQ2008" / f"S{i}.txt.xz") for i in range(1, 6)]
    means = {}
    for fold in rotate(parts):
        base = LambdaMART(loss="lambdarank", leaves=7, seed=0).fit(fold.train, valid=fold.valid)
        valid, test = (ListsUnderRules.of(p, base.predict(p), 3) for p in (fold.valid, fold.test))
        case = RuleCase(5, 10)
        for name in ("margin", *HEURISTICS, *IF_VIOLATED):
            settings = CONTENDERS[name]
            weights = (
                choose(valid, case, settings, (3.0, 30.0)) if name in TUNED_FORMS else (None, None)
            )
            means.setdefault(name, []).append(test.values(test.solve(case, settings, weights)))
        for name in ("margin", *HEURISTICS):
            values = test.values(test.solve(RuleCase(1, 5), CONTENDERS[name], (100.0, 100.0)))
            means.setdefault(f"top-1 {name}", []).append(values)
    for measure in MEASURES:
        found = {m: np.concatenate([v[measure] for v in own]).mean() for m, own in means.items()}
        for other in (*HEURISTICS, *IF_VIOLATED):
            assert found["margin"] > found[other], (measure, other)
        for other in HEURISTICS:
            assert found["top-1 margin"] == pytest.approx(found[f"top-1 {other}"], abs=1e-9)


# Pictures


def test_figures_draw_every_value():
    run = made_up()
    means = run.means()
    tests = run.comparisons(str(STUDY_CASE), "margin")
    bars = combination_figure(STUDY_CASE, [*means[""], *means[str(STUDY_CASE)]], tests)
    assert len(bars.plot().axes[0].patches) == len(bars.names) * 3
    assert bars.rankers == (BASE, *HEURISTICS, "algorithm-1", "uniform", "margin")
    kinds = types_figure(*run.compare_rule_types("margin"))
    heights = sorted(p.get_height() for p in kinds.plot().axes[0].patches)
    assert heights == pytest.approx([0.4] * 3 + [0.6] * 9)
    for figure, points in ((depths_figure(means), 10), (wrong_figure(means), 6)):
        plot = figure.plot()
        for ax, panel in zip(plot.axes, figure.panels, strict=True):
            drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
            assert set(drawn) == {NAMES[m] for m in (BASE, *HEURISTICS, *FORMS)}
            assert all(len(y) == points for y in drawn.values())
            assert drawn[NAMES["margin"]].tolist() == list(panel.curves["margin"])
    weights = weights_figure(means)
    assert [line.get_label() for line in weights.plot().axes[0].get_lines()] == list(MEASURES)
    assert weights.panels[0].curves["NDCG@1"] == pytest.approx([0.6] * 7)


def test_examples_show_each_document_once_and_its_mark(found):
    for example in found.examples:
        for ranking in example.rankings.values():
            assert sorted(ranking) == sorted(example.rankings[BASE])
            assert sorted(mark for _, mark in ranking if mark) == ["n", "t"]
        promoted = next(label for label, mark in example.rankings[BASE] if mark == "t")
        assert (promoted > 0) == (example.kind == "helpful")
    assert found.examples
    figure = examples_figure(found.examples)
    blocks = sum(len(r) for e in found.examples for r in e.rankings.values())
    assert sum(len(ax.patches) for ax in figure.axes) == blocks


def test_the_same_figure_is_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save_figure(wrong_figure(made_up().means()).plot(), tmp_path / f"{name}.svg")
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert len(first) > 1_000


def test_wrong_questions_are_refused(found):
    with pytest.raises(UsageError, match="at least one data set"):
        reproduce({})
    with pytest.raises(UsageError, match="seed"):
        reproduce({"one": rotate(PARTS)}, seed=-1)
    with pytest.raises(UsageError, match="data, case and method of this reproduction"):
        found.scores_of("one", "top-2", "margin")


# --- iterations ---


def test_lists_are_counted_as_the_methods_solve_them():
    """Ten steps of Algorithm 1 as printed, and of the default, on every list long enough for a rule."""
    fold = rotate(PARTS)[0]
    ranker = LambdaMART(loss="lambdarank", seed=0).fit(fold.train, valid=fold.valid)
    ranked = ListsUnderRules.of(fold.test, ranker.predict(fold.test))
    found = count_converged(ranked)
    assert [c.rho for c in found] == list(RHOS)
    printed = list(ranked.problems(RuleCase(5, 10), CONTENDERS["algorithm-1"], (1.0, 1.0)).values())
    solved = PaperDescent(tol=0.0).solve(printed)
    assert found[0].lists == len(printed) > 0
    assert found[0].within["0.1"] == sum(s.gradient_norm <= 0.1 for s in solved)
    assert found[0].newton == found[0].lists


def test_convergence_is_a_claim_for_both_methods():
    counts = [
        Convergence("one", 1.0, 10, 2, {"0.1": 6, "0.01": 1}, 3, 10),
        Convergence("one", 10.0, 10, 2, {"0.1": 5, "0.01": 1}, 3, 6),
    ]
    descent, newton = convergence_claims(counts)
    assert (descent.form, descent.holds) == ("algorithm-1", False)  # 5 of 10 are not most
    assert (newton.form, newton.holds) == ("uniform", True)
    assert (
        "gradient 0.1 on 6, gradient 0.01 on 1 of 10 lists; f has a minimum on 2" in descent.found
    )
    [better, _] = convergence_claims(counts[:1])
    assert better.holds
    assert figure_label(descent.figure) == "Table 2"
