"""Machines held against people: each number against an independent computation."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from podium.errors import DataError, UnknownNameError
from podium.labelling.judging_statistics.kappa_alpha import cohen_kappa, krippendorff_alpha
from podium.labelling.judging_statistics.shared_judgments import SharedJudgments
from podium.labelling.machine_agreement.agreement_intervals import (
    Estimate,
    estimate_share,
    measure_agreement,
    pair_answers,
    resample_queries,
)
from podium.labelling.machine_agreement.agreement_tables import agreement_tables
from podium.labelling.machine_agreement.agreement_with_people import machine_agreement
from podium.labelling.machine_agreement.answer_biases import (
    StatedPreference,
    length_bias,
    session_preferences,
    side_bias,
)
from podium.labelling.machine_agreement.judgments_needed import (
    AdviceInputs,
    advise,
    more_answers,
    wilson_interval,
)
from podium.labelling.machine_agreement.system_ranking import system_agreement
from podium.labelling.machines.enlistment import TaskPlan
from podium.labelling.machines.session_judge import AssessmentSettings
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from podium.labelling.store import Store
from tests.support.judged_by_machines import let_people_judge
from tests.support.machines import assess, client_of, judge_numbers, numbered_pool

ASSESSORS = ("ann", "bob", "m", "zoe")
PEOPLE = {"ann", "bob", "zoe"}


def random_judgments(seed, n_values=3, n_queries=5, n_questions=12):
    """Each assessor answers most questions of each query, once."""
    random = np.random.default_rng(seed)
    rows = [
        (query, assessor, query * n_questions + question, int(random.integers(n_values)))
        for query in range(n_queries)
        for assessor in range(len(ASSESSORS))
        for question in range(n_questions)
        if random.random() < 0.7
    ]
    query, assessor, unit, value = (np.array(column) for column in zip(*rows, strict=True))
    names = tuple(f"q{i}" for i in range(n_queries))
    yes = np.ones(len(rows), dtype=bool)
    task = query * len(ASSESSORS) + assessor
    return SharedJudgments(
        names, ASSESSORS, query, assessor, task, unit, value, yes, ~yes, n_values
    )


def answers_of(judged, assessor):
    place = ASSESSORS.index(assessor)
    rows = np.flatnonzero(judged.assessor == place)
    return {int(judged.unit[row]): int(judged.value[row]) for row in rows}


@pytest.mark.parametrize("n_values", [3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_agreement_of_a_machine_and_people_by_hand(seed, n_values):
    judged = random_judgments(seed, n_values)
    level = "nominal" if n_values == 3 else "ordinal"
    pairs = pair_answers(judged, {"m"}, PEOPLE)
    measured = measure_agreement(pairs, level, resamples=50)
    machine, tables = answers_of(judged, "m"), []
    for person in sorted(PEOPLE):
        table = np.zeros((n_values, n_values), dtype=int)
        for unit, value in answers_of(judged, person).items():
            if unit in machine:
                table[machine[unit], value] += 1
        tables.append(table)
    total = sum(tables)
    assert measured.table.tolist() == total.tolist()
    assert measured.answers == total.sum()
    assert math.isclose(measured.same.value, np.trace(total) / total.sum())
    weighted = sum(cohen_kappa(table) * table.sum() for table in tables)
    assert math.isclose(measured.kappa.value, weighted / total.sum())
    assert math.isclose(measured.alpha.value, krippendorff_alpha(total + total.T, level))
    assert sum(agreed for agreed, _ in measured.by_query.values()) == np.trace(total)
    rows = total / total.sum(axis=1, keepdims=True)
    assert np.allclose(measured.shares, rows)


def test_people_among_themselves_count_each_two_once():
    judged = random_judgments(3)
    pairs = pair_answers(judged, PEOPLE, PEOPLE)
    expected = sum(
        len(answers_of(judged, a).keys() & answers_of(judged, b).keys())
        for a, b in combinations(sorted(PEOPLE), 2)
    )
    assert len(pairs) == expected
    assert len(pair_answers(judged, {"m"}, {"m"})) == 0


def test_intervals_resample_whole_queries():
    judged = random_judgments(4)
    measured = measure_agreement(pair_answers(judged, {"m"}, PEOPLE), resamples=200, seed=7)
    counts = np.array([measured.by_query[f"q{i}"] for i in range(5)])
    shares = []
    for times in resample_queries(5, 200, 7).astype(int):
        drawn = np.repeat(counts, times, axis=0)
        assert times.sum() == 5
        shares.append(drawn[:, 0].sum() / drawn[:, 1].sum())
    low, high = np.quantile(shares, [0.025, 0.975])
    assert np.allclose(measured.same, (counts[:, 0].sum() / counts[:, 1].sum(), low, high))
    assert measured.kappa.low < measured.kappa.value < measured.kappa.high
    one_query = judged.keep(judged.query == 0)
    alone = measure_agreement(pair_answers(one_query, {"m"}, PEOPLE))
    assert alone.same.is_defined
    assert math.isnan(alone.same.low)
    assert str(alone.same) == f"{alone.same.value:.3f}"
    nothing = measure_agreement(pair_answers(judged, {"m"}, set()))
    assert (nothing.answers, str(nothing.same), nothing.to_dict()["kappa"]["value"]) == (
        0,
        "-",
        None,
    )


def test_a_share_weighs_queries_by_what_they_have():
    share = estimate_share(
        np.array([0, 1, 1]), np.array([1.0, 0, 1]), np.array([1.0, 1, 2]), resamples=400
    )
    assert share.value == 2 / 4
    assert (share.low, share.high) == (1 / 3, 1.0)  # only one of the queries is drawn
    assert not estimate_share(np.zeros(0, int), np.zeros(0), np.zeros(0)).is_defined


def test_side_bias_by_hand():
    rows = [StatedPreference("q", "x", "y", left) for left in ("x", "x", "y", None)]
    bias = side_bias(rows)
    assert (bias.preferences, bias.left.value) == (3, 2 / 3)


def test_length_bias_is_the_difference_from_people_on_the_same_pairs():
    lengths = {("q", "x"): 100, ("q", "y"): 200, ("q", "z"): 200, ("p", "x"): 10, ("p", "y"): 30}
    machine = [
        StatedPreference("q", "y", "x"), StatedPreference("q", "z", "x"),
        StatedPreference("q", "z", "y"),  # equally long
        StatedPreference("p", "x", "y"), StatedPreference("p", "x", "unknown"),
    ]  # fmt: skip
    people = [
        StatedPreference("q", "x", "y"), StatedPreference("q", "y", "x"),
        StatedPreference("p", "x", "y"),
    ]  # fmt: skip
    bias = length_bias(machine, people, lengths)
    assert (bias.preferences, bias.longer.value, bias.shared) == (3, 2 / 3, 2)
    assert bias.difference.value == ((1 - 0.5) + (0 - 0)) / 2
    assert bias.by_ratio[2] == (2, 1.0)  # twice as long, preferred
    assert bias.by_ratio[3] == (1, 0.0)  # three times as long, not preferred
    assert bias.to_dict()["by_ratio"][0]["longer"] is None


@pytest.mark.parametrize("seed", range(3))
def test_tau_of_systems_as_scipy_has_it(seed):
    random = np.random.default_rng(seed)
    people = {f"s{i}": random.integers(0, 4, 6) / 4 for i in range(6)}
    machine = {name: random.integers(0, 4, 6) / 4 for name in people}
    result = system_agreement("P@1", people, machine, resamples=60, seed=seed)
    means = [[float(truth[name].mean()) for name in people] for truth in (people, machine)]
    assert math.isclose(result.tau.value, kendalltau(*means).statistic)
    values = []
    for times in resample_queries(6, 60, seed):
        drawn = [[float(times @ truth[name]) for name in people] for truth in (people, machine)]
        values.append(kendalltau(*np.round(drawn, 9)).statistic)
    assert np.allclose((result.tau.low, result.tau.high), np.nanquantile(values, [0.025, 0.975]))
    by_people, by_machine = (dict(zip(people, row, strict=True)) for row in means)
    flips = {
        frozenset((a, b))
        for a, b in combinations(people, 2)
        if (by_people[a] - by_people[b]) * (by_machine[a] - by_machine[b]) < -1e-12
    }
    assert {frozenset(pair) for pair in result.flips} == flips
    assert all(by_people[a] > by_people[b] for a, b in result.flips)
    assert list(result.people) == sorted(result.people, reverse=True)


def test_systems_without_a_common_query_are_refused():
    with pytest.raises(DataError, match="two or more systems"):
        system_agreement("MAP", {"a": [1.0]}, {"a": [1.0]})
    with pytest.raises(DataError, match="queries with a value"):
        system_agreement("MAP", {"a": [np.nan], "b": [1.0]}, {"a": [1.0], "b": [1.0]})


def test_advice_names_the_queries_that_part_and_counts_what_is_missing():
    by_query = {"bad": (1, 10), "good": (19, 20), "fine": (18, 20), "few": (0, 2)}
    inputs = AdviceInputs(
        Estimate(38 / 52, 0.63, 0.83), by_query, ["free", "bad", "good", "fine", "few"],
        {"bad": 4}, frozenset({"good", "fine"}), 12.5,
    )  # fmt: skip
    advice = advise(inputs, 0.05)
    assert advice.more_answers == 52 * (0.1 / 0.05) ** 2 - 52
    assert [(row.query, row.reason, row.judgments) for row in advice.queries] == [
        ("bad", "part", 13 - 4), ("free", "unjudged", 13), ("few", "unjudged", 13),
    ]  # fmt: skip
    assert advice.judgments == 9 + 13 + 13
    assert advise(inputs, 0.1).more_answers == 0
    assert more_answers(Estimate(), 85, 0.05) == math.ceil((1.96 / 0.1) ** 2) - 85


def test_a_few_equal_answers_are_not_enough():
    independent = math.ceil((1.96 / 0.1) ** 2)
    for width in (0.0, 1e-17):
        assert more_answers(Estimate(1.0, 1.0 - 2 * width, 1.0), 6, 0.05) == independent - 6
    same = Estimate(1.0, 1.0, 1.0)
    inputs = AdviceInputs(same, {"a": (3, 3), "b": (3, 3)}, ["a", "b"], {}, frozenset(), 3.0)
    assert [row.query for row in advise(inputs, 0.05).queries] == ["a", "b"]
    assert more_answers(same, independent, 0.05) == 0


def test_wilson_solves_its_equation():
    low, high = wilson_interval(7, 20)
    z = norm.ppf(0.975)
    for bound in (low, high):
        assert math.isclose(
            abs(7 / 20 - bound), z * math.sqrt(bound * (1 - bound) / 20), rel_tol=1e-3
        )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """People judge four of six queries; a machine that errs to the left judges all, another grades."""
    folder = tmp_path_factory.mktemp("agreement")
    pool = numbered_pool(6, 9)
    with Store.open(folder / "judgments.db") as opened:
        opened.add_pool(pool)
        let_people_judge(opened, pool, queries=4, noise=0.05)
        let_people_judge(opened, pool, names=("eve", "fay"), queries=4, tool="grade", noise=0.2)
        model = judge_numbers(noise=0.3, left_share=1.0)
        with SimulatedEndpoint(model) as server, client_of(server.url, folder) as client:
            assess(opened, client, settings=AssessmentSettings(repeats=0.3))
            plan = TaskPlan(queries=["q0", "q1", "q2", "q3"])
            settings = AssessmentSettings(ask="grades")
            assess(opened, client, name="grader", settings=settings, plan=plan)
            assess(opened, client, name="again", plan=TaskPlan(k=3, queries=["q0", "q1"], seed=5))
        yield opened


def test_a_campaign_held_to_account(store):
    report = machine_agreement(store, "m", resamples=200)
    assert report.people == ("ann", "bob")
    assert report.judged.machine.answers > 20
    assert report.judged.people.same.value > 0.8 > 0.5 < report.judged.machine.same.value
    assert report.results.people.answers == 4 * 9 * 8 / 2
    assert report.results.machine.answers == 2 * report.results.people.answers
    gap = report.judged.difference
    assert math.isclose(
        gap.value, report.judged.machine.same.value - report.judged.people.same.value
    )
    assert gap.low <= gap.value <= gap.high
    assert report.side.left.low > 0.5  # the bias is seen
    assert report.people_side.left.low < 0.5 < report.people_side.left.high
    assert report.consistency.repeats > 10
    assert report.people_consistency.repeats == 0
    assert {row.version.assessor for row in report.versions} == {"m", "again"}
    (change,) = report.changes
    assert change.shared > 5
    assert 0 < change.same.value < 1
    assert report.advice.more_answers > 0
    assert {"q4", "q5"} <= {row.query for row in report.advice.queries}
    assert "agree" in report.verdict()
    text = " ".join(str(table) for table in agreement_tables(report))
    assert "machine and people" in text
    assert machine_agreement(store, "m", resamples=200).to_dict() == report.to_dict()


def test_the_versions_agree_with_people_as_the_whole_does(store):
    report = machine_agreement(store, "m", resamples=10)
    row = next(row for row in report.versions if row.version.assessor == "m")
    assert row.shared == report.judged.machine.answers
    assert math.isclose(row.same.value, report.judged.machine.same.value)


def test_grades_have_a_matrix_by_grade(store):
    report = machine_agreement(store, "grader", resamples=50)
    assert report.values == ("Bad", "Fair", "Good", "Excellent", "Perfect")
    assert report.judged.machine.answers == 2 * 4 * 9
    assert report.judged.machine.table.shape == (5, 5)
    assert report.judged.people.answers == 4 * 9
    assert report.judged.machine.alpha.value > report.judged.machine.kappa.value  # ordinal
    titles = {table.title: table for table in agreement_tables(report)}
    assert len(titles["Answers"].rows) == 5


def test_graded_documents_give_a_preference_for_each_two(store):
    task = next(s.task for s in store.session_states("grader"))
    session = store.session(task.id)
    grades = session.step.labels
    rows = session_preferences(session)
    expected = {
        (max(pair, key=grades.get), min(pair, key=grades.get))
        for pair in combinations(sorted(grades), 2)
        if len({grades[d] for d in pair}) == 2
    }
    assert {(row.better, row.worse) for row in rows} == expected


def test_the_machine_must_be_named_and_known(store):
    with pytest.raises(DataError, match="again, grader, m"):
        machine_agreement(store)
    with pytest.raises(UnknownNameError, match="ann"):
        machine_agreement(store, "ann")


def test_without_people_there_is_nothing_to_compare(tmp_path):
    with Store.open(tmp_path / "judgments.db") as opened:
        opened.add_pool(numbered_pool(2, 5))
        with (
            SimulatedEndpoint(judge_numbers()) as server,
            client_of(server.url, tmp_path) as client,
        ):
            assess(opened, client)
        report = machine_agreement(opened)
    assert "no question in common" in report.verdict()
    assert report.advice.more_answers == 385
    assert [row.reason for row in report.advice.queries] == ["unjudged"] * 2
    assert report.to_dict()["judged"]["difference"]["value"] is None
