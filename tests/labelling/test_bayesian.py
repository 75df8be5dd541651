"""The bayesian strategy: exact without errors, calibrated with them, and the same at every replay."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from podium.errors import DataError, UsageError
from podium.labelling import (
    STRATEGIES,
    Assessor,
    JudgedTopK,
    JudgingEvent,
    Judgment,
    PreferenceTask,
    Question,
    Session,
    StrategyRun,
    simulate,
)
from podium.labelling.screen_questions import current_question
from podium.labelling.strategies.answer_errors import AnswerErrors
from podium.labelling.strategies.pair_answers import collect_answers
from podium.labelling.strategies.place_belief import infer_places, memberships, place_priors
from tests.support.case_counts import soak_cases
from tests.support.true_assessors import answer, judge, true_top, weak_orders

BOUND = STRATEGIES["bayesian"].bound


def documents(n):
    return [f"d{i}" for i in range(n)]


def finish(run, noise, rng, levels):
    """Answer all questions, with errors and with sides."""
    while isinstance(run.step, Question):
        a, b = run.step.a, run.step.b
        says = answer(levels, a, b)
        if rng.random() < noise:
            says = {">": "<", "<": ">", "~": "~"}[says]
        run.judge(says, left=rng.choice([a, b]))
    return run.step


def test_all_orders_of_up_to_four_documents_are_exact():
    for n in range(1, 5):
        for order in itertools.permutations(range(n)):
            levels = dict(zip(documents(n), order, strict=True))
            best = sorted(levels, key=levels.get)
            for k in range(1, n + 1):
                top = judge(StrategyRun("bayesian", documents(n), k), levels)
                assert top.levels == tuple((d,) for d in best[:k])
                assert top.judged <= BOUND(n, k)


def test_all_orders_with_ties_of_up_to_four_documents_are_exact():
    for n in range(1, 5):
        for levels in weak_orders(documents(n)):
            for k in range(1, n + 1):
                top = judge(StrategyRun("bayesian", documents(n), k), levels)
                assert [set(level) for level in top.levels] == true_top(levels, k)


@pytest.mark.parametrize(("n", "k"), [(12, 4), (30, 5), (40, 40)])
def test_longer_lists_are_exact_with_and_without_a_prior(n, k):
    rng = random.Random(n)
    for prior in (None, documents(n), rng.sample(documents(n), n)):
        levels = dict(zip(documents(n), rng.sample(range(n), n), strict=True))
        top = judge(StrategyRun("bayesian", documents(n), k, prior), levels)
        assert top.order == tuple(sorted(levels, key=levels.get)[:k])


def test_no_errors_cost_at_most_a_quarter_more_than_the_tournament():
    bayesian, tournament = (
        simulate(name, 100, 10, runs=soak_cases(6)) for name in ("bayesian", "tournament")
    )
    assert bayesian.recall == bayesian.overlap == 1
    assert bayesian.mean <= 1.25 * tournament.mean


@pytest.mark.parametrize(("n", "size"), [(30, 3), (30, 5), (50, 5), (50, 10)])
def test_sets_take_fewer_calls_than_pairs_and_no_set_comes_again_and_again(n, size):
    rng, calls = random.Random(n + size), {}
    levels = dict(zip(documents(n), rng.sample(range(n), n), strict=True))
    for width in (2, size):
        run, asked = StrategyRun("bayesian", documents(n), 10), Counter()
        while chosen := run.best_of(width):
            asked[frozenset(chosen)] += 1
            best = min(chosen, key=levels.get)
            for other in set(chosen) - {best}:
                run.add(Judgment(best, other, ">"))
        assert run.step.order == tuple(sorted(levels, key=levels.get)[:10])
        calls[width] = asked.total()
        assert max(asked.values()) <= 2, "a belief that an answer may be wrong asks twice at most"
    assert calls[size] < 0.85 * calls[2]


def test_errors_cost_far_less_recall_than_in_a_tournament():
    bayesian, tournament = (
        simulate(name, 40, 5, noise=0.1, runs=soak_cases(10, usual=6))
        for name in ("bayesian", "tournament")
    )
    assert bayesian.recall >= tournament.recall + 0.15
    assert bayesian.mean < 4 * tournament.mean


def test_what_it_expects_is_what_it_finds():
    """Runs have the recall that they state, within three standard errors, or up to .1 more.

    They go on for the order when the top k is certain enough, so short lists are better than they state.
    """
    runs = soak_cases(24, usual=8)
    for noise in (0.1, 0.2):
        simulation = simulate("bayesian", 30, 5, noise=noise, runs=runs)
        spread = 3 * simulation.recalls.std() / runs**0.5
        surplus = simulation.recall - simulation.certainty
        assert -spread - 0.01 <= surplus <= spread + 0.1
        assert 0.75 < simulation.calibration < 0.99


def test_errors_between_close_documents_are_not_taken_for_errors_everywhere():
    """Close documents are confused, others are not: the belief expects errors where they are."""
    rng, quality = np.random.default_rng(0), np.sort(np.random.default_rng(1).normal(size=30))[::-1]
    judgments = []
    for _ in range(900):
        i, j = rng.choice(30, 2, replace=False)
        is_right = rng.random() < 1 / (1 + np.exp((quality[j] - quality[i]) / 0.3))
        judgments.append(Judgment(f"d{i}", f"d{j}", ">" if is_right else "<"))
    answers = collect_answers(documents(30), judgments)
    belief = infer_places(answers, np.arange(31.0), 30)
    wrong = np.mean([(int(j.a[1:]) < int(j.b[1:])) == (j.answer == "<") for j in judgments])
    assert belief.replies[0, 1:].sum() / 2 < 0.75 * wrong, "errors between distant documents"
    assert belief.errors == pytest.approx(wrong, abs=0.05)


def test_sources_of_an_answer_have_shares_that_a_fit_counts():
    judgments = [
        Judgment("a", "b", ">", "a"),
        Judgment("a", "b", "<", "a"),
        Judgment("c", "b", ">"),
    ]
    answers = collect_answers("abc", judgments)
    errors = AnswerErrors(np.array([[0.7, 0.2, 0.1]]), 0.5, np.array([6.0, 1.0, 1.0]))
    close = np.array([1.0, 0.0])
    right, guess, both = errors.shares(answers, close)
    assert right.tolist() == pytest.approx([0.35, 0.35, 0.7])
    assert guess.tolist() == pytest.approx([0.1, 0.05, 0.15]), "left, right, and nobody knows"
    assert both.tolist() == pytest.approx([0.25, 0.25, 0.0])
    less, more = errors.likelihoods(answers, close)
    assert less[0] / more[0] == pytest.approx((0.7 / 0.35) / (0.65 / 0.3))
    assert less[1] / more[1] == pytest.approx(0.15 / 0.85), "b is first in its pair with c"
    sure = errors.fit(answers, close, np.array([1.0, 0.0]))
    first_right, third_right = 0.35 / 0.7, 0.7 / 0.85
    assert sure.replies[0, 0] == pytest.approx(
        (6 + first_right + third_right) / (8 + 3 - (1 - first_right) * 0.25 / 0.35 - 0.25 / 0.3)
    )
    assert sure.close == pytest.approx((1 + (1 - first_right) * 0.25 / 0.35 + 0.25 / 0.3) / (2 + 2))


def test_the_share_of_close_guesses_is_a_probability():
    """So many contradictions about a pair that is hardly close exceed all answers about equal ones."""
    contradiction = [Judgment("a", "b", ">"), Judgment("a", "b", "<")]
    answers = collect_answers("ab", contradiction * 20)
    errors = AnswerErrors(np.array([[0.98, 0.01, 0.01]]), 1.0, np.array([6.0, 1.0, 1.0]))
    fitted = errors.fit(answers, np.array([0.05]), np.array([0.5]))
    share = 0.05 / 2 / (0.05 / 2 + 0.95 * 0.01)  # of wrong answers, with sides that nobody knows
    right = 0.95 * 0.98 / (0.95 * 0.98 + 0.95 * 0.01 + 0.05 / 2)
    assert 1 + 40 * (1 - right / 2) * share > 2 + 40 * 0.05
    assert fitted.close == 1.0


def test_a_confidence_ends_a_run_early_and_is_kept_by_undo():
    levels = {d: i for i, d in enumerate(documents(30))}
    judged = {}
    for confidence in (0.6, 0.9, None):
        run = StrategyRun("bayesian", documents(30), 5, confidence=confidence)
        top = judge(run, levels)
        judged[confidence] = top.judged
        if confidence is not None:
            assert run.certainty >= confidence > run.undo().certainty
            assert run.undo().confidence == confidence
    assert judged[0.6] < judged[0.9] < judged[None]


@pytest.mark.parametrize("confidence", [0, 1, -0.5, float("nan"), "0.9"])
def test_a_confidence_is_a_probability(confidence):
    with pytest.raises(UsageError, match="above 0 and below 1"):
        StrategyRun("bayesian", "abc", 1, confidence=confidence)


def test_memberships_add_up_and_leave_out_what_is_bad():
    run = StrategyRun.replay("bayesian", documents(6), 2, [Judgment("d0", "d1", "bad")])
    chances = run.memberships
    assert chances["d0"] == chances["d1"] == 0
    assert sum(chances.values()) == pytest.approx(2, abs=0.2)
    assert StrategyRun("heap", "abc", 1).memberships is None


@pytest.mark.parametrize(
    "pairs", [[("d0", "d1"), ("d1", "d2")], [("d0", "d1"), ("d0", "d2"), ("d0", "d3")],
              [("d0", "d1")] * 3 + [("d1", "d0"), ("d2", "d1")]],
)  # fmt: skip
def test_propagation_is_exact_on_a_tree_of_pairs(pairs):
    """Enumerate the places of all documents; repeated questions about a pair are one factor."""
    judgments = [Judgment(a, b, ">") for a, b in pairs]
    n, edges = 4, np.array([0.0, 1.0, 2.5, 4.0])
    answers = collect_answers(documents(n), judgments)
    belief = infer_places(answers, edges, n)
    # The belief of the last sweep holds for the error rate before it, which the likelihoods have.
    expected = np.zeros((n, 3))
    for cells in itertools.product(range(3), repeat=n):
        weight = np.prod([np.diff(edges)[c] / n for c in cells])
        for t, (u, v) in enumerate(zip(answers.first, answers.second, strict=True)):
            x, y = cells[u], cells[v]
            less, more = belief.less[t], belief.more[t]
            weight *= less if x < y else more if x > y else (less + more) / 2
        for document, cell in enumerate(cells):
            expected[document, cell] += weight
    expected /= expected.sum(axis=1, keepdims=True)
    # The messages of earlier sweeps had other error rates; on these trees they are replaced in time.
    again = infer_places(answers, edges, n, sweeps=12)
    assert np.abs(belief.beliefs - expected).max() < 0.02
    assert np.abs(again.beliefs - belief.beliefs).max() < 0.02


def test_membership_is_the_chance_of_few_better_ones():
    beliefs = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    one, all_three = memberships(beliefs, np.ones(3), [1, 3])
    assert (all_three == 1).all()
    assert one[0, 0] > 0.5 > one[1, 1]


def test_a_prior_is_a_distribution_for_every_trust():
    priors = place_priors(5, np.array([0.0, 1.0, 2.0, 5.0]), tuple((i,) for i in range(5)), True)
    np.testing.assert_allclose(priors.sum(axis=2), 1.0)
    np.testing.assert_allclose(priors[0], np.tile([0.2, 0.2, 0.6], (5, 1)), atol=1e-12)
    assert priors[-1, 0, 0] > 0.7 > 0.2 > priors[-1, 4, 0]


def test_a_good_prior_saves_questions_and_a_random_one_costs_few():
    good, none, useless = (
        simulate("bayesian", 40, 5, noise=0.1, runs=soak_cases(8, usual=3), prior_tau=tau)
        for tau in (0.7, None, 0.0)
    )
    assert good.mean < 0.9 * none.mean
    assert useless.mean < 1.3 * none.mean


def test_replay_and_undo_give_the_same_questions_and_results():
    rng = random.Random(3)
    names, levels = documents(15), {f"d{i}": i for i in range(15)}
    run, steps = StrategyRun("bayesian", names, 4), []
    while not run.finished:
        steps.append(run.step)
        says = answer(levels, run.step.a, run.step.b)
        run.judge(says if rng.random() > 0.15 else {">": "<", "<": ">"}[says], left=run.step.a)
    steps.append(run.step)
    judgments = run.judgments
    for judged in range(0, len(judgments) + 1, 7):
        replayed = StrategyRun.replay("bayesian", names, 4, judgments[:judged])
        undone = run.undo(len(judgments) - judged)
        assert replayed.step == undone.step == steps[judged]
        assert replayed.remaining == undone.remaining
        assert replayed.certainty == undone.certainty


def test_the_same_seed_gives_the_same_runs():
    one, other = (simulate("bayesian", 20, 4, noise=0.1, runs=4, seed=5) for _ in range(2))
    assert one.judgments.tolist() == other.judgments.tolist()
    assert one.certainties.tolist() == other.certainties.tolist()


def test_a_replay_takes_judgments_of_any_pairs_and_after_the_end():
    logged = [Judgment("c", "a", ">"), Judgment("c", "a", ">"), Judgment("b", "a", ">")]
    run = StrategyRun.replay("bayesian", "abc", 1, logged)
    assert run.judgments == tuple(logged)
    end = finish(run, 0, random.Random(0), {"c": 0, "b": 1, "a": 2})
    assert end.order == ("c",)
    run.add(Judgment("a", "b", "<"))
    assert len(run.judgments) == end.judged + 1
    with pytest.raises(DataError, match="a document of the run"):
        run.add(Judgment("a", "x", "<"))


def test_a_doubtful_pair_is_asked_again():
    rng = random.Random(0)
    run = StrategyRun("bayesian", documents(20), 3)
    finish(run, 0.25, rng, {d: i for i, d in enumerate(documents(20))})
    pairs = [frozenset((j.a, j.b)) for j in run.judgments]
    assert len(set(pairs)) < len(pairs)


def test_documents_tied_more_often_than_not_are_one():
    judgments = [Judgment("a", "b", text) for text in "~~>"] + [Judgment("c", "d", t) for t in "~>"]
    answers = collect_answers("abcd", judgments)
    assert answers.tied == ((0, 1), (2,), (3,))
    assert answers.pair.tolist() == [0], "the preference within the tied pair says nothing"


def test_all_tied_takes_one_judgment_less_than_documents():
    top = judge(StrategyRun("bayesian", documents(9), 3), dict.fromkeys(documents(9), 0))
    assert len(top.levels) == 1
    assert set(top.order) == set(documents(9))
    assert top.judged == 9 - 1


def test_a_tie_at_the_cut_ends_with_both():
    levels = {f"d{i}": i for i in range(12)} | {"d3": 2}
    top = judge(StrategyRun("bayesian", documents(12), 3), levels)
    assert [set(level) for level in top.levels] == [{"d0"}, {"d1"}, {"d2", "d3"}]


def test_all_bad_leaves_none():
    run = StrategyRun("bayesian", documents(6), 2)
    while not run.finished:
        run.judge("bad")
    assert run.step == JudgedTopK((), 2, 3), "3 judgments of 2 documents each"


def test_bad_documents_and_worse_ones_are_out():
    """From d3 on documents are bad; one of them may stay that never met another one."""
    levels = {f"d{i}": i for i in range(10)}
    run = StrategyRun("bayesian", documents(10), 5)
    while not run.finished:
        a, b = run.step.a, run.step.b
        run.judge("bad" if levels[a] > 2 and levels[b] > 2 else answer(levels, a, b))
    assert run.step.order[:3] == ("d0", "d1", "d2")
    assert len(run.step.order) <= 4


def test_contradicting_answers_still_reject_what_is_probably_worse():
    judgments = [Judgment("d0", f"d{i}", ">") for i in range(1, 6)]
    judgments += [Judgment(f"d{i}", "d5", ">") for i in range(1, 5)] * 4
    judgments += [Judgment("d0", "d1", ">"), Judgment("d1", "d0", ">"), Judgment("d3", "d4", "bad")]
    run = StrategyRun.replay("bayesian", documents(6), 4, judgments)
    top = finish(run, 0, random.Random(0), {d: i for i, d in enumerate(documents(6))})
    assert not {"d3", "d4"} & set(top.order)


def test_sides_are_learned():
    """An assessor who often clicks left: answers for the right are worth more."""
    rng = np.random.default_rng(0)
    judgments = []
    for _ in range(300):
        i, j = rng.choice(12, 2, replace=False)
        a, b = f"d{min(i, j)}", f"d{max(i, j)}"
        left = a if rng.random() < 0.5 else b
        winner = left if rng.random() < 0.4 else a
        judgments.append(Judgment(a, b, ">" if winner == a else "<", left))
    belief = infer_places(collect_answers(documents(12), judgments), np.arange(13.0), 12)
    right_answers, guesses_left, guesses_right = belief.replies[0]
    assert right_answers == pytest.approx(0.6, abs=0.1)
    assert guesses_left == pytest.approx(0.4, abs=0.1)
    assert guesses_right < 0.06


def test_assessors_have_their_own_error_rates():
    rng, judgments = np.random.default_rng(1), []
    for turn in range(400):
        i, j = sorted(rng.choice(12, 2, replace=False))
        is_wrong = rng.random() < (0.05, 0.3)[turn % 2]
        judgments.append(Judgment(f"d{i}", f"d{j}", "<" if is_wrong else ">", None, "ab"[turn % 2]))
    belief = infer_places(collect_answers(documents(12), judgments), np.arange(13.0), 12)
    errors = belief.replies[:, 1:].sum(axis=1) / 2
    assert errors[0] == pytest.approx(0.05, abs=0.04)
    assert errors[1] == pytest.approx(0.3, abs=0.07)


def test_what_remains_falls_to_nothing():
    rng, names = random.Random(2), documents(40)
    run, expected = StrategyRun("bayesian", names, 5), []
    levels = {d: i for i, d in enumerate(rng.sample(names, 40))}
    while not run.finished:
        expected.append(run.remaining)
        run.judge(answer(levels, run.step.a, run.step.b))
    assert run.remaining == 0
    assert 0.4 * len(expected) < expected[0] < 2.5 * len(expected)
    assert min(expected) >= 1
    assert np.mean(expected[-10:]) < np.mean(expected[:10]) / 3


def event(number, a, b, says, left):
    data = {"a": a, "b": b, "answer": says, "left": left}
    return JudgingEvent(f"e{number}", "t", "judgment", 1000 * number, data)


def test_a_session_keeps_sides_swaps_them_and_takes_any_pair():
    task = PreferenceTask("t", "q", "ann", tuple(documents(8)), k=2, strategy="bayesian")
    session = Session(task)
    session.apply(event(1, "d6", "d2", ">", "d2"))
    assert session.judgments[0].left == "d2"
    session.apply(JudgingEvent("u", "t", "undo", 5000, {"judgment": "e1"}))
    assert session.judgments == ()
    pair = session.step
    first = current_question(session, repeats=0, gap=5).documents
    session.apply(event(2, pair.a, pair.b, ">", first[0]))
    session.apply(event(3, pair.b, pair.a, ">", first[0]))
    assert {session.step.a, session.step.b} == {pair.a, pair.b}, "contradicting answers"
    session.apply(event(4, pair.a, pair.b, ">", first[0]))
    session.apply(event(5, pair.b, pair.a, ">", first[0]))
    again = current_question(session, repeats=0, gap=5).documents
    assert set(again) != set(first) or again == first, "an even number of answers: same sides"
    assert Session.replay(task, []).certainty is not None


def test_an_assessor_who_judges_at_random_comes_to_an_end():
    rng = random.Random(0)
    run = StrategyRun("bayesian", documents(8), 2)
    while not run.finished:
        run.judge(rng.choice("<>"))
    assert run.step.judged <= BOUND(8, 2)


def test_a_document_is_not_compared_with_itself():
    run = StrategyRun("bayesian", "ab", 1)
    with pytest.raises(DataError, match="two documents"):
        run.add(Judgment("a", "a", ">"))


def test_a_strategy_without_a_belief_has_no_certainty():
    assert StrategyRun("tournament", "abc", 1).certainty is None
    assert Assessor({"a": 0, "b": 1}).judge(StrategyRun("tournament", "ab", 1)).order == ("a",)
