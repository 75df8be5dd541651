"""Strategies that trust answers find the true top k, with ties and bad documents, and ask nothing twice.

With PODIUM_CASES of 100000 or more whole runs are run for every k in all orders of up to 7 documents;
else of up to 5, and of 6 for one k each. Strategies by themselves are tried in all orders of up to 8 or 7.
"""

import itertools
import math
import random

import pytest

from podium.errors import DataError, UnknownNameError, UsageError
from podium.labelling import (
    STRATEGIES,
    JudgedTopK,
    Judgment,
    Question,
    StrategyRun,
    strategy_named,
)
from tests.support.case_counts import IS_SOAK
from tests.support.true_assessors import answer, judge, true_top, weak_orders

MOST_DOCUMENTS = 8 if IS_SOAK else 7
ANSWERS = (">", "~", "<", "bad")
EACH = pytest.mark.parametrize(
    "strategy", [name for name, strategy in STRATEGIES.items() if strategy.trusts_answers]
)


def documents(n):
    return [chr(ord("a") + i) for i in range(n)]


def shuffled(n, rng):
    return rng.sample([str(i) for i in range(n)], n)


def compared(strategy, order, k, prior):
    """The strategy itself, told true answers; what it finds, and after how many."""
    play = STRATEGIES[strategy](order, k, prior).find_top_k()
    judged = 0
    try:
        a, b = next(play)
        while True:
            judged += 1
            a, b = play.send(1 if a < b else -1)
    except StopIteration as stop:
        return stop.value, judged


@EACH
@pytest.mark.parametrize("k", range(1, MOST_DOCUMENTS + 1))
def test_all_orders_of_few_documents(strategy, k):
    # What `sort` asks does not depend on k.
    fewer = strategy == "sort" and 1 < k < MOST_DOCUMENTS
    for n in range(k, MOST_DOCUMENTS + (0 if fewer else 1)):
        best, most = list(range(k)), 0
        for order in itertools.permutations(range(n)):
            found, judged = compared(strategy, order, k, prior=False)
            assert found == best, order
            most = max(most, judged)
        bound = STRATEGIES[strategy].bound(n, k)
        assert most <= bound
        if strategy != "heap":
            assert most == bound, "the bound is reached"


@EACH
def test_all_priors_of_up_to_six_documents(strategy):
    for n in range(1, 7):
        for k in range(1, n + 1):
            bound = STRATEGIES[strategy].bound(n, k, prior=True)
            for order in itertools.permutations(range(n)):
                found, judged = compared(strategy, order, k, prior=True)
                assert found == list(range(k)), order
                assert judged <= bound


@EACH
def test_whole_races_in_all_orders(strategy):
    for n in range(1, 8 if IS_SOAK else 7):
        best = documents(n)
        levels = {document: i for i, document in enumerate(best)}
        for order in itertools.permutations(best):
            some_k = 1 + sum(i * ord(document) for i, document in enumerate(order)) % n
            for k in range(1, n + 1) if n < 6 or IS_SOAK else (some_k,):
                top = judge(StrategyRun(strategy, order, k), levels)
                assert top.levels == tuple((d,) for d in best[:k])


@EACH
@pytest.mark.parametrize("n", [7, 8, 20])
def test_whole_races_in_some_orders(strategy, n):
    rng = random.Random(n)
    for _ in range(60):
        order = shuffled(n, rng)
        levels = {d: int(d) for d in order}
        prior = rng.sample(order, rng.randint(0, n)) if rng.random() < 0.5 else None
        k = rng.randint(1, n)
        top = judge(StrategyRun(strategy, order, k, prior, rng.random() < 0.5), levels)
        assert top.order == tuple(str(i) for i in range(k))


@EACH
@pytest.mark.parametrize("skip_implied", [True, False])
def test_all_orders_with_ties(strategy, skip_implied):
    for n in range(1, 6):
        for levels in weak_orders(documents(n)):
            for k in range(1, n + 1):
                run = StrategyRun(strategy, documents(n), k, skip_implied=skip_implied)
                top = judge(run, levels)
                assert [set(level) for level in top.levels] == true_top(levels, k)
                assert top.judged <= STRATEGIES[strategy].bound(n, k)
                better = {
                    d: sum(other < own for other in levels.values()) for d, own in levels.items()
                }
                assert top.labels(levels) == {d: max(0, k - better[d]) for d in levels}


@EACH
def test_all_orders_with_bad_documents(strategy):
    """From some level on documents are bad; "both bad" is said of two of them."""
    for n in range(1, 6):
        for levels, bad_from in itertools.product(weak_orders(documents(n)), range(n)):
            good = {d: level for d, level in levels.items() if level < bad_from}
            for k in range(1, n + 1):
                run = StrategyRun(strategy, documents(n), k)
                while not run.finished:
                    a, b = run.step.a, run.step.b
                    run.judge("bad" if a not in good and b not in good else answer(levels, a, b))
                found = [set(level) for level in run.step.levels]
                # One that never met another bad one cannot be known to be bad.
                alone = [level for level in found if not level & good.keys()]
                assert len(alone) <= 1
                assert all(len(level) == 1 for level in alone)
                assert [level for level in found if level & good.keys()] == true_top(good, k)
                if alone:
                    assert len(good) < k
                    assert found[-1] == alone[0]


@EACH
def test_all_bad_leaves_none(strategy):
    run = StrategyRun(strategy, documents(6), 2)
    while not run.finished:
        run.judge("bad")
    assert run.step == JudgedTopK((), 2, 3), "3 judgments of 2 documents each"


@EACH
def test_all_tied_takes_one_judgment_less_than_documents(strategy):
    run = StrategyRun(strategy, documents(9), 3)
    top = judge(run, dict.fromkeys(documents(9), 0))
    assert len(top.levels) == 1
    assert set(top.order) == set(documents(9))
    assert top.judged == 9 - 1


def test_a_tie_never_displaces_the_root_of_the_heap():
    top = judge(StrategyRun("heap", documents(5), 2), {"a": 0, "b": 1, "c": 1, "d": 1, "e": 2})
    assert top.levels == (("a",), ("b", "c", "d"))
    assert top.order[:2] == ("a", "b"), "b was there first"
    assert top.labels("abcde") == {"a": 2, "b": 1, "c": 1, "d": 1, "e": 0}


def closed(judgments):
    """Pairs (a, b) with a at least as good as b: a plain closure."""
    weak = set()
    for j in judgments:
        weak |= {(j.a, j.b)} if j.answer in (">", "~") else set()
        weak |= {(j.b, j.a)} if j.answer in ("<", "~") else set()
    everyone = {d for pair in weak for d in pair}
    for via, a, b in itertools.product(everyone, repeat=3):
        if (a, via) in weak and (via, b) in weak:
            weak.add((a, b))
    return weak


@EACH
@pytest.mark.parametrize("prior", [False, True])
def test_nothing_implied_is_asked_and_nobody_who_left(strategy, prior):
    rng = random.Random(5)
    for _ in range(40):
        n = rng.randint(2, 10)
        order = documents(n)
        levels = {d: rng.randrange(n) for d in order}
        bad = rng.choice((0.0, 0.3))
        run = StrategyRun(
            strategy, order, rng.randint(1, n), rng.sample(order, n) if prior else None
        )
        left = set()
        while not run.finished:
            a, b = run.step.a, run.step.b
            weak = closed(run.judgments)
            assert (a, b) not in weak
            assert (b, a) not in weak
            assert not {a, b} & left
            says = "bad" if rng.random() < bad else answer(levels, a, b)
            run.judge(says)
            if says == "bad":
                left |= {a, b}
                left |= {d for own, d in weak if own in (a, b)}
        assert run.step.judged <= STRATEGIES[strategy].bound(n, run.k, prior)


@EACH
@pytest.mark.parametrize("skip_implied", [True, False])
@pytest.mark.parametrize("prior", [False, True])
def test_next_step_is_the_race_at_every_step(strategy, skip_implied, prior):
    """Random answers, which contradict each other where implied pairs are asked."""
    rng = random.Random(11)
    for _ in range(12):
        n = rng.randint(1, 12)
        order = documents(n)
        options = {"prior": rng.sample(order, n) if prior else None, "skip_implied": skip_implied}
        run = StrategyRun(strategy, order, rng.randint(1, n + 2), **options)
        steps = [run.step]
        while not run.finished:
            run.judge(rng.choices(ANSWERS, (4, 2, 4, 1))[0])
            steps.append(run.step)
        judgments = run.judgments
        assert len(judgments) == run.step.judged <= STRATEGIES[strategy].bound(n, run.k, prior)
        for done, step in enumerate(steps):
            said = [j.flipped() if rng.random() < 0.5 else j for j in judgments[:done]]
            assert StrategyRun.replay(strategy, order, run.k, said, **options).step == step
            assert run.undo(len(judgments) - done).step == step
        for level, worse in itertools.combinations(run.step.levels, 2):
            pairs = itertools.product(level, worse)
            assert all(run.implied_preferences.answer(a, b) == ">" for a, b in pairs)


@EACH
@pytest.mark.parametrize(("n", "k"), [(50, 10), (100, 10), (30, 30), (20, 1)])
@pytest.mark.parametrize("skip_implied", [True, False])
def test_what_remains_is_expected_rightly(strategy, n, k, skip_implied):
    rng = random.Random(n)
    expected, true, rises = {}, {}, []
    for _ in range(30):
        order = shuffled(n, rng)
        run, told = StrategyRun(strategy, order, k, skip_implied=skip_implied), []
        while not run.finished:
            told.append(run.remaining)
            run.judge(answer({d: int(d) for d in order}, run.step.a, run.step.b))
        assert run.remaining == 0
        assert min(told) >= 1
        assert told[-1] < 6
        rises.append(max((b - a for a, b in itertools.pairwise(told)), default=0))
        for quarter in range(4):
            at = quarter * len(told) // 4
            expected.setdefault(quarter, []).append(told[at])
            true.setdefault(quarter, []).append(len(told) - at)
    for quarter in range(4):
        mean, truth = (sum(x[quarter]) / len(x[quarter]) for x in (expected, true))
        near = 0.2 if strategy == "heap" else 0.1
        assert mean == pytest.approx(truth, rel=near, abs=1), quarter
    assert max(rises) <= (4 * math.log2(n) if strategy == "heap" else 2)


@EACH
def test_what_remains_falls_as_documents_leave(strategy):
    run = StrategyRun(strategy, shuffled(40, random.Random(0)), 5)
    before = run.remaining
    for _ in range(10):
        run.judge("bad")
    assert run.remaining < before - 10


def test_a_prior_orders_documents_and_the_others_come_after():
    assert StrategyRun("heap", "abcd", 1, prior=["d", "b"]).step == Question("b", "d")
    run = StrategyRun("heap", "abcd", 1, prior=["d", "b"])
    asked = [run.judge(">") and run.step.a for _ in range(2)]
    assert asked == ["a", "c"]


def test_more_places_than_documents_sorts_them_all():
    top = judge(StrategyRun("tournament", "bac", 10), {"a": 0, "b": 1, "c": 2})
    assert top.order == ("a", "b", "c")
    assert top.labels("abc") == {"a": 10, "b": 9, "c": 8}
    assert strategy_named("tournament").bound(3, 10) == strategy_named("tournament").bound(3, 3)


def test_one_document_needs_no_judgment():
    for strategy in STRATEGIES:
        assert StrategyRun(strategy, ["a"], 1).step == JudgedTopK((("a",),), 1, 0)


def test_bounds_as_the_papers_have_them():
    tournament = 50 - 10 + sum(math.ceil(math.log2(j)) for j in range(42, 51))
    assert STRATEGIES["tournament"].bound(50, 10) == tournament == 94
    sort = [sum(math.ceil(math.log2(3 * j / 4)) for j in range(1, n + 1)) for n in (5, 11, 21)]
    assert [STRATEGIES["sort"].bound(n, 1) for n in (5, 11, 21)] == sort == [7, 26, 66]
    # Levels below the 5 inner places, 40 challengers who all sink, pops from heaps of 9 to 1.
    heap = 2 * (3 + 2 + 2 + 1 + 1) + 40 * (1 + 2 * 3) + 2 * (2 * 3 + 4 * 2 + 2 * 1)
    assert STRATEGIES["heap"].bound(50, 10) == heap


@EACH
def test_errors_say_what_is_wrong(strategy):
    with pytest.raises(UnknownNameError, match="did you mean"):
        StrategyRun(strategy[:-1], "abc", 1)
    for k in (0, -1, 2.5):
        with pytest.raises(UsageError, match=f"k of 1 or more, got {k}"):
            StrategyRun(strategy, "abc", k)
    with pytest.raises(DataError, match="the prior has 'x', which is not a document"):
        StrategyRun(strategy, "abc", 1, prior="ax")
    with pytest.raises(DataError, match="the prior has 'a' twice"):
        StrategyRun(strategy, "abc", 1, prior="aa")
    run = StrategyRun(strategy, "ab", 1)
    with pytest.raises(UsageError, match="got 'better'"):
        run.judge("better")
    assert run.judgments == ()
    run.judge(">")
    with pytest.raises(UsageError, match="the run is finished"):
        run.judge(">")
    with pytest.raises(UsageError, match="there are 1 judgments to undo, got 2"):
        run.undo(2)


def test_a_judgment_of_another_question_is_refused():
    said = [Judgment("a", "b", ">"), Judgment("a", "d", ">")]
    with pytest.raises(
        DataError, match=r"judgment 2 must be of 'c' and 'd', .* got one of 'a' and 'd'"
    ):
        StrategyRun.replay("tournament", "abcd", 1, said)
    with pytest.raises(
        DataError, match=r"finished after 1 judgments, .* judgment 2 of 'b' and 'a'"
    ):
        StrategyRun.replay(
            "tournament", "ab", 1, [Judgment("a", "b", ">"), Judgment("b", "a", "<")]
        )
