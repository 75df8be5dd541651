"""The demo: the standard library searched, every ranker compared, rules applied, a report written."""

import json

import numpy as np
import pytest

from podium.apps.serving.jsonl_filter import filter_lines
from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.settings import ServingSettings
from podium.data import kfold
from podium.experiments.demo import CANDIDATES, REMOVED_MODULES, RULES, Demo
from podium.metrics import evaluate
from podium.postranking import read_rules
from podium.registry import compared_rankers
from tests.support.cli import flat, run


@pytest.fixture(scope="module")
def demo():
    return Demo.prepare(n_queries=40)


@pytest.fixture(scope="module")
def few(demo):
    """The demo with three rankers instead of all."""

    class Few(Demo):
        def rankers(self):
            every = super().rankers()
            return {name: every[name] for name in ("bm25", "ranksvm", "least-squares")}

    return Few(demo.problem, demo.data, demo.folds, demo.seed)


@pytest.fixture(scope="module")
def report(few):
    return few.compare()


def test_bm25_is_the_first_stage(demo):
    """Its order is the one that candidates come in: features are scaled, and keep it."""
    data = demo.data
    scores = demo.rankers()["bm25"].fit(data).predict(data)
    for rows in data.groups.slices():
        assert (np.diff(scores[rows]) <= 0).all()
        assert rows.stop - rows.start <= CANDIDATES


def test_every_ranker_takes_part(demo):
    assert list(demo.rankers()) == ["bm25", *compared_rankers()]


def test_good_answers_that_are_found_are_counted(demo):
    found = total = 0
    texts = {q.id: q for q in demo.problem.queries}
    for qid, rows in demo.data.queries():
        good = {name for name, grade in texts[qid].grades.items() if grade >= 2}
        total += len(good)
        found += len(good & set(demo.data.docids[rows]))
    assert demo.first_stage_recall == pytest.approx(found / total)


def test_labels_are_the_grades(demo):
    texts = {q.id: q for q in demo.problem.queries}
    for qid, rows in demo.data.queries():
        for doc, label in zip(demo.data.docids[rows], demo.data.y[rows], strict=True):
            assert label == texts[qid].grades.get(doc, 0)


def test_the_comparison_is_of_test_queries(demo, few, report):
    assert report.baseline == "bm25"
    measured = report.measured["NDCG@10"]
    by_hand = [
        evaluate(
            fold.test, demo.rankers()["ranksvm"].fit(fold.train, valid=fold.valid).predict(fold.test),
            measured,
        )[measured].per_query
        for fold in kfold(few.data, 5, seed=0)
    ]  # fmt: skip
    np.testing.assert_allclose(report.per_query("ranksvm"), np.concatenate(by_hand))


def test_three_queries_gained_middling_and_lost(few, report):
    shown = few.examples(report)
    gains = np.sort(report.per_query(report.ranking()[0]) - report.per_query("bm25"))
    assert [one.gain for one in shown] == [gains[-1], gains[::-1][len(gains) // 2], gains[0]]
    for one in shown:
        names = [doc for doc, _ in one.ruled]
        assert not {name.split(".")[0] for name in names} & REMOVED_MODULES
        assert set(names) <= {move.doc for move in one.outcome.moves}


def test_what_is_kept_can_be_served(few, report, tmp_path):
    few.save(report, tmp_path)
    assert read_rules(tmp_path / "rules.yaml") == RULES
    state = ServedFiles(ServingSettings((str(tmp_path / "model.podium"),))).state
    lines = (tmp_path / "samples.jsonl").read_bytes().splitlines()
    answers = [json.loads(answer) for answer, _ in filter_lines(lines, state)]
    test, best = few.folds[0].test, report.ranking()[0]
    best = best if best != "bm25" else report.ranking()[1]
    ranker = few.rankers()[best].fit(few.folds[0].train, valid=few.folds[0].valid)
    assert len(answers) == test.n_queries
    for answer, (qid, rows) in zip(answers, test.queries(), strict=True):
        assert answer["id"] == qid
        assert sorted(answer["ids"]) == sorted(test.docids[rows])
        scores = np.sort(ranker.predict(test)[rows])[::-1]
        np.testing.assert_allclose(answer["scores"], scores, rtol=1e-4, atol=1e-5)


def test_the_command_prints_and_writes(monkeypatch, tmp_path):
    """With two rankers: the others are tried by the comparison's own tests."""
    every = Demo.rankers

    def two(self):
        return {name: every(self)[name] for name in ("bm25", "ranksvm")}

    monkeypatch.setattr(Demo, "rankers", two)
    told = run("demo", "--queries", 30, "--out", tmp_path / "d", "--jobs", 1).stdout
    assert "ranksvm" in told
    assert "after rules" in told
    assert str(tmp_path / "d" / "report.html") in told
    assert (tmp_path / "d" / "report.html").stat().st_size > 10_000
    kept = [tmp_path / "d" / name for name in ("model.podium", "rules.yaml", "samples.jsonl")]
    assert f"podium serve {kept[0]} --rules {kept[1]} --samples {kept[2]}" in told
    assert all(path.is_file() for path in kept)
    again = json.loads(
        run("demo", "--queries", 30, "--out", tmp_path / "e", "--jobs", 1, "--json").stdout
    )
    assert set(again["rankers"]) == {"bm25", "ranksvm"}
    assert len(again["queries"]) == 3
    assert (tmp_path / "d" / "report.json").read_bytes() == (
        tmp_path / "e" / "report.json"
    ).read_bytes()


def test_what_cannot_be_written_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(Demo, "prepare", lambda *_, **__: pytest.fail("it began to work"))
    (tmp_path / "file").write_text("")
    out = run("demo", "--out", tmp_path / "file" / "demo", code=1)
    assert "Not a directory" in out.stderr


@pytest.mark.parametrize("name", ["report.html", "model.podium"])
def test_an_earlier_demo_is_replaced_only_on_demand(tmp_path, monkeypatch, name):
    monkeypatch.setattr(Demo, "prepare", lambda *_, **__: pytest.fail("it began to work"))
    (tmp_path / name).write_text("mine")
    error = run("demo", "--out", tmp_path, code=2).stderr
    assert f"{tmp_path / name} already exists; --force replaces it" in flat(error)
    with pytest.raises(pytest.fail.Exception, match="it began to work"):
        run("demo", "--out", tmp_path, "--force")
