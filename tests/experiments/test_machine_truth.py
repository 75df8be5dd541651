"""Truth of machines in comparisons: warnings, reports, and the effect on the ranking of systems."""

import warnings

import numpy as np
import pytest

import podium
from podium.data import RankingData, Run
from podium.errors import DataError, MachineJudgedWarning
from podium.experiments.agreement_page import render_agreement
from podium.experiments.report import Report
from podium.experiments.truth_effect import read_truths, systems_of_rankers, systems_of_runs
from podium.labelling.machine_agreement.agreement_with_people import machine_agreement
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from podium.labelling.store import Store
from tests.support.judged_by_machines import let_people_judge
from tests.support.machines import assess, client_of, judge_numbers, numbered_pool


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    pool = numbered_pool(7, 6)
    with Store.open(folder / "judgments.db") as opened:
        opened.add_pool(pool)
        let_people_judge(opened, pool, names=("ann",), queries=6)
        model = judge_numbers(noise=0.4)
        with SimulatedEndpoint(model) as server, client_of(server.url, folder) as client:
            assess(opened, client)
        yield opened


def compare(judged_by):
    data = podium.make_synthetic(n_queries=12, n_docs=5, n_features=3, seed=0)
    data = RankingData.from_arrays(
        data.X, data.y, qid=data.qids[data.groups.codes], judged_by=judged_by
    )
    return podium.compare(data, ["regression"], "NDCG@5", folds=3, tune=False)


@pytest.mark.parametrize(("judged_by", "who"), [("machines", "Machines"), ("both", "People and")])
def test_a_comparison_on_machines_truth_warns_and_says_so(tmp_path, judged_by, who):
    with pytest.warns(MachineJudgedWarning, match=f"{who}.* judged the test data"):
        report = compare(judged_by)
    assert report.judged_by == judged_by
    assert Report.from_json(report.to_json()).judged_by == judged_by
    for text in (str(report), report.to_markdown(), report.to_html(), report._repr_html_()):
        assert "judged the test data" in text


def test_a_comparison_on_peoples_truth_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error", MachineJudgedWarning)
        for judged_by in ("people", None):
            report = compare(judged_by)
            assert report.judged_by == judged_by
            assert "judged the test data" not in str(report)


def run_of(order):
    """A run of all queries with the documents in this order."""
    data = RankingData.from_arrays(
        np.zeros((36, 1)), np.zeros(36), qid=[f"q{q}" for q in range(6) for _ in range(6)],
        docid=[f"d{i}" for i in range(6)] * 6,
    )  # fmt: skip
    return Run.from_scores(data, np.tile(order, 6).astype(float))


def test_truths_have_the_queries_that_both_finished(store):
    people, machine = read_truths(store)
    assert sorted(people.labels) == sorted(machine.labels) == [f"q{i}" for i in range(6)]
    assert people.labels["q0"] == {"d5": 3, "d4": 2, "d3": 1, "d0": 0, "d1": 0, "d2": 0}
    assert machine.labels != people.labels


def test_systems_by_two_truths(store):
    truths = read_truths(store)
    runs = {
        "worst": run_of([5, 4, 3, 2, 1, 0]), "best": run_of([0, 1, 2, 3, 4, 5]),
        "middle": run_of([0, 1, 2, 5, 4, 3]),
    }  # fmt: skip
    result = systems_of_runs(truths, runs, "NDCG@3")
    assert result.systems == ("best", "middle", "worst")
    assert result.people[0] == 1.0
    assert result.machine[0] < 1.0
    qrels = truths[1].qrels()
    expected = [
        podium.evaluate(qrels, runs[name], "NDCG@3")["NDCG@3"].mean for name in result.systems
    ]
    assert np.allclose(result.machine, expected)
    assert systems_of_runs((truths[0], truths[0]), runs, "NDCG@3").tau == (1.0, 1.0, 1.0)


def test_rankers_trained_with_either_truth(store):
    random = np.random.default_rng(0)
    worth = np.tile(np.arange(6.0), 7)
    data = RankingData.from_arrays(
        np.stack([worth, random.normal(size=42)], axis=1), np.zeros(42),
        qid=[f"q{q}" for q in range(7) for _ in range(6)], docid=[f"d{i}" for i in range(6)] * 7,
    )  # fmt: skip
    result = systems_of_rankers(read_truths(store), data, ["regression", "ranksvm"], "NDCG@3")
    assert sorted(result.systems) == ["ranksvm", "regression"]
    assert result.queries == 6
    assert min(result.people) > 0.95


def test_the_page_shows_every_section_and_escapes_names(store):
    systems = systems_of_runs(
        read_truths(store), {"<b>a": run_of(range(6)), "b": run_of([5, 4, 3, 2, 1, 0])}, "NDCG@3"
    )
    page = render_agreement(machine_agreement(store, systems=systems, resamples=50))
    for anchor in ("agreement", "advice", "biases", "drift", "systems"):
        assert f'<h2 id="{anchor}">' in page
    assert page.count('<div role="img" aria-label=') >= 5
    assert "<b>a" not in page
    assert "&lt;b&gt;a" in page
    assert "default-src 'none'" in page


def test_two_common_queries_are_needed(tmp_path):
    pool = numbered_pool(2, 4)
    with Store.open(tmp_path / "judgments.db") as opened:
        opened.add_pool(pool)
        let_people_judge(opened, pool, names=("ann",), queries=1)
        with (
            SimulatedEndpoint(judge_numbers()) as server,
            client_of(server.url, tmp_path) as client,
        ):
            assess(opened, client)
        with pytest.raises(DataError, match="2 or more queries"):
            read_truths(opened)
        assert "agreement" in render_agreement(machine_agreement(opened, resamples=5))
