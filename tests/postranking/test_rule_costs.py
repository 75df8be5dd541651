"""What rules cost: each figure by its formula, and each rule by taking it away."""

import json
import math

import numpy as np
import pytest

import podium
from podium.clicks import ClickSessions, LoggedLists
from podium.data import Qrels, RankingData, Run
from podium.errors import DataError, UsageError
from podium.postranking import (
    AtMost,
    Each,
    Hide,
    ListFigures,
    NotTopK,
    Pin,
    TopK,
    Where,
    postrank_batch,
    rule_costs,
)
from tests.support.cli import flat
from tests.support.cli import run as run_podium

DOCS = [f"d{i}" for i in range(6)]
FIELDS = {doc: {"brand": "ab"[i % 2], "price": 10.0 * i, "stock": i} for i, doc in enumerate(DOCS)}


def judged(labels_of_queries):
    """Ranking data and a run that shows d0, d1, ... in this order for each query."""
    queries = [qid for qid in labels_of_queries for _ in DOCS]
    labels = [label for labels in labels_of_queries.values() for label in labels]
    scores = np.tile(np.arange(len(DOCS), 0, -1.0), len(labels_of_queries))
    data = RankingData.from_arrays(
        scores[:, None], labels, qid=queries, docid=DOCS * len(labels_of_queries)
    )
    return Qrels.from_data(data), Run.from_scores(data, scores)


def expected_clicks(docs, labels, k, top, worth=None):
    """Return sum_{r <= k} (2^label - 1) / 2^top * worth / log2(r + 1)."""
    worth = worth or dict.fromkeys(DOCS, 1.0)
    return sum(
        (2 ** labels[DOCS.index(doc)] - 1) / 2**top * worth[doc] / math.log2(place + 1)
        for place, doc in enumerate(docs[:k], start=1)
    )


def test_figures_are_their_formulas():
    labels = {"x": [0, 1, 2, 0, 3, 0], "y": [1, 0, 0, 0, 0, 1]}
    qrels, _ = judged(labels)
    figures = ListFigures(qrels, k=3, fields=FIELDS, value="price")
    lists = {"x": ["d4", "d0", "d2", "d1"], "nobody judged this": ["d0"], "y": ["d1", "new", "d5"]}
    measured = figures.measure(lists)
    prices = {doc: fields["price"] for doc, fields in FIELDS.items()}
    for at, qid in ((0, "x"), (2, "y")):
        known = [doc for doc in lists[qid] if doc in DOCS]
        if qid == "x":
            clicks = expected_clicks(known, labels[qid], 3, top=3)
            money = expected_clicks(known, labels[qid], 3, top=3, worth=prices)
        else:  # the second document is not judged
            clicks = (2**1 - 1) / 2**3 / math.log2(3 + 1)
            money = clicks * prices["d5"]
        assert measured["clicks"][at] == pytest.approx(clicks, rel=1e-12)
        assert measured["price"][at] == pytest.approx(money, rel=1e-12)
    assert np.isnan([measured[name][1] for name in (*figures.names, "judged")]).all()
    assert measured["judged"][2] == 2 / 3
    shown = Run.from_scores(
        RankingData.from_arrays(np.zeros((4, 1)), [0] * 4, qid=["x"] * 4, docid=lists["x"]),
        [4.0, 3.0, 2.0, 1.0],
    )
    own = podium.evaluate(qrels.select(["x"]), shown, "NDCG@3")["NDCG@3"].per_query[0]
    assert measured["NDCG@3"][0] == pytest.approx(own, rel=1e-12)


def test_labels_up_to_1_are_click_probabilities():
    qrels, _ = judged({"x": [0.25, 0.5, 0, 0, 0, 0]})
    clicks = ListFigures(qrels, k=2, metric="DCG(gain=linear)@2").measure({"x": ["d1", "d0"]})[
        "clicks"
    ]
    assert clicks[0] == pytest.approx(0.5 / 1 + 0.25 / math.log2(3), rel=1e-12)


def test_rates_of_0_and_1_are_click_probabilities_too():
    qrels, _ = judged({"x": [1, 0, 0, 0, 0, 0]})
    rates = ListFigures(qrels, k=2, are_rates=True).measure({"x": ["d1", "d0"]})["clicks"]
    assert rates[0] == pytest.approx(1 / math.log2(3), rel=1e-12)
    grades, _ = judged({"x": [2, 0, 0, 0, 0, 0]})
    with pytest.raises(DataError, match="at most 1, got 2"):
        ListFigures(grades, are_rates=True).measure({"x": ["d1"]})


def test_a_short_examination_of_a_log_goes_on_with_its_last_value():
    lists = [["a", "b", "c"]] * 10
    sessions = ClickSessions.from_lists(["q"] * 10, lists, [["c"], *[[]] * 9])
    logged = LoggedLists.of(sessions, [1.0, 0.5])
    rates = dict(zip(logged.judgments.docids, logged.judgments.values.tolist(), strict=True))
    assert rates == {"a": 0, "b": 0, "c": pytest.approx(1 / (10 * 0.5))}
    with pytest.raises(UsageError, match="got none"):
        LoggedLists.of(sessions, [])


def test_places_beyond_the_examination_are_not_looked_at():
    qrels, _ = judged({"x": [1, 1, 1, 0, 0, 0]})
    figures = ListFigures(qrels, k=3, examination=[1.0, 0.25])
    assert figures.measure({"x": DOCS})["clicks"].tolist() == [(1 + 0.25) / 2]


def test_a_rule_costs_what_taking_it_away_changes():
    rng = np.random.default_rng(1)
    qrels, shown = judged({f"q{i}": rng.integers(0, 3, 6).tolist() for i in range(12)})
    rules = [
        Hide(Where("stock == 0"), hard=True),
        AtMost(Each("brand"), 1, 2, hard=True),
        TopK("d5", 1, weight=3),
        NotTopK("d2", 4, weight=9, query="q3"),
    ]
    figures = ListFigures(qrels, k=3)
    report = rule_costs(shown, rules, figures, fields=FIELDS, resamples=200)
    everything = postrank_batch(shown, rules, fields=FIELDS, conflicts="yield")
    for number, cost in enumerate(report.rules):
        others = rules[:number] + rules[number + 1 :]
        without = postrank_batch(shown, others, fields=FIELDS, conflicts="yield")
        qids = ["q3"] if number == 3 else list(everything)
        new, old = (
            figures.measure({qid: ruled[qid].order for qid in qids})
            for ruled in (everything, without)
        )
        assert cost.changes.lists == len(qids)
        for name in figures.names:
            change = cost.changes.figures[name]
            assert change.mean == pytest.approx(np.mean(new[name] - old[name]), abs=1e-12)
            assert change.lists == len(qids)
            if len(qids) > 1:
                assert change.interval.low <= change.mean <= change.interval.high
            else:
                assert change.interval is None
        heads = [(everything[qid].order[:3], without[qid].order[:3]) for qid in qids]
        assert cost.changes.changed == sum(a != b for a, b in heads)
        moved = sum(
            (a.index(doc) if doc in a else None) != (b.index(doc) if doc in b else None)
            for a, b in heads
            for doc in {*a, *b}
        )
        assert cost.changes.moved == moved
    bare = postrank_batch(shown, [])
    total = figures.measure({qid: everything[qid].order for qid in everything})["clicks"]
    total -= figures.measure({qid: bare[qid].order for qid in bare})["clicks"]
    assert report.total.figures["clicks"].mean == pytest.approx(total.mean(), abs=1e-12)


def test_the_same_rule_twice_has_two_costs():
    _, shown = judged({"x": [0] * 6})
    rule = NotTopK("d0", 3, hard=True)
    first, second = rule_costs(shown, [rule, rule]).rules
    assert (first.changes.lists, second.changes.lists) == (1, 1)
    assert (first.note, first.changes.changed, second.changes.changed) == ("", 0, 0)


def test_traffic_weighs_queries():
    qrels, shown = judged(
        {"x": [1, 0, 0, 0, 0, 0], "y": [0, 0, 0, 0, 0, 1], "z": [1, 1, 0, 0, 0, 0]}
    )
    rules = [Pin("d5", 1, hard=True)]
    figures = ListFigures(qrels, k=1)
    plain = rule_costs(shown, rules, figures).rules[0].changes.figures["clicks"]
    # x and z lose the click on d0 at place 1, y wins one; a click is (2^1 - 1) / 2^1.
    assert plain.mean == pytest.approx((-1 + 1 - 1) / 2 / 3)
    busy = rule_costs(shown, rules, figures, traffic={"x": 1, "y": 3}).rules[0].changes
    assert busy.figures["clicks"].mean == pytest.approx((-1 * 1 + 1 * 3) / 2 / 4)
    assert busy.figures["clicks"].lists == 2


def test_fights_are_rules_that_hold_when_a_rule_is_taken_away():
    _, shown = judged({"x": [0] * 6, "y": [0] * 6})
    pin, bury = TopK("d5", 1, hard=True), NotTopK("d5", 3, weight=1)
    report = rule_costs(shown, [pin, bury])
    assert report.rules[0].fights == ((bury, 2),)
    assert report.rules[1].fights == ()
    assert report.rules[1].changes.figures == {}


def test_equal_rules_are_told_apart():
    _, shown = judged({"x": [0] * 6})
    report = rule_costs(shown, [TopK("d5", 1, hard=True), TopK("d5", 1, hard=True)])
    # Either alone moves all six documents, so taking one away changes nothing.
    assert [cost.changes.moved for cost in report.rules] == [0, 0]
    assert report.total.moved == 6


def test_unused_and_outdated_rules_are_named():
    _, shown = judged({"x": [0] * 6})
    rules = [
        TopK("gone", 1, weight=2),
        TopK(Where('brand == "z"'), 1, weight=2),
        Pin("d1", 1, hard=True),
    ]
    report = rule_costs(shown, rules, fields=FIELDS)
    assert [cost.rule for cost in report.unused] == rules[:2]
    assert [rule for rule, _ in report.outdated] == rules[:2]
    assert "'gone'" in report.outdated[0][1]
    assert repr(report) == "RuleCostReport(3 rules, 2 never acted, 1 of 1 lists changed)"
    assert "all rules" in report._repr_html_()


def test_wrong_figures_are_refused():
    qrels, _ = judged({"x": [0] * 6})
    with pytest.raises(UsageError, match="k of 1 or more, got 0"):
        ListFigures(qrels, k=0)
    with pytest.raises(UsageError, match="money only with fields"):
        ListFigures(qrels, value="price")
    with pytest.raises(UsageError, match=r"from 0 to 1, got \[2\]"):
        ListFigures(qrels, examination=[2]).measure({"x": DOCS})
    with pytest.raises(UsageError, match="expected a Run, got dict"):
        rule_costs({"x": DOCS}, [])


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qrels, shown = judged({"x": [0, 1, 0, 0, 0, 2], "y": [2, 0, 0, 0, 0, 0]})
    podium.write_run(shown, "b.run")
    (tmp_path / "qrels.txt").write_text("".join(podium.data.trec.qrels_lines(qrels)))
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"id": doc, **fields}) + "\n" for doc, fields in FIELDS.items())
    )
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n- {rule: top-k, docs: d5, k: 1, hard: true}\n"
        "- {rule: not-top-k, docs: d5, k: 3}\n- {rule: hide, docs: gone}\n"
    )
    (tmp_path / "traffic.tsv").write_text("x\t3\ny\t1\n")
    (tmp_path / "looks.json").write_text(json.dumps({"values": [1.0, 0.5, None]}))


def test_the_command_prints_costs_and_problems(shop):
    arguments = ["rules", "report", "rules.yaml", "--run", "b.run", "--judged", "qrels.txt"]
    arguments += ["--docs", "docs.jsonl", "--value", "price", "--traffic", "traffic.tsv"]
    out = run_podium(*arguments, "--examination", "looks.json", "-k", "3").stdout
    assert "b.run, lists: 2, first 3 places" in out
    assert (
        "rules.yaml:3: TopK('d5', 1) works against NotTopK('d5', 3) (line 4), which would hold without "
        "it on 2 lists" in out
    )
    assert "rules.yaml:5: Hide('gone'): names unknown documents: 'gone'" in out
    facts = json.loads(
        run_podium(*arguments, "--examination", "looks.json", "-k", "3", "--json").stdout
    )
    # With the pin: d5 d0 d1, without: d0 d1 d2. Probabilities of a click: 3/4 and 1/4; looks 1, 1/2.
    x, y = 3 / 4 - 1 / 4 / 2, 3 / 4 / 2 - 3 / 4
    assert facts["rules"][0]["figures"]["clicks"]["mean"] == pytest.approx((3 * x + y) / 4)
    assert facts["rules"][0]["fights"] == [
        {"rule": "NotTopK('d5', 3)", "index": 1, "line": 4, "lists": 2}
    ]
    assert facts["judged"] == [1.0, 1.0]


def event_log(path, clicks=(("x", "d0"), ("x", "d5"), ("y", "d0"))):
    """A list for each query and clicked document, as UBI events."""
    lines = []
    for number, (query, clicked) in enumerate(clicks):
        for place, doc in enumerate(DOCS, start=1):
            seen = {"object": {"object_id": doc}, "position": {"ordinal": place}}
            shared = {"query_id": f"q{number}", "user_query": query, "client_id": f"u{number}"}
            lines += [
                {
                    "action_name": action,
                    **shared,
                    "timestamp": 1_700_000_000_000 + number,
                    "event_attributes": seen,
                }
                for action in ("impression", "click")[: 1 + (doc == clicked)]
            ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_command_takes_lists_clicks_and_traffic_from_a_log(shop, tmp_path):
    event_log(tmp_path / "events.ndjson")
    arguments = [
        "rules",
        "report",
        "rules.yaml",
        "-k",
        "6",
        "--examination",
        "looks6.json",
        "--json",
    ]
    (tmp_path / "looks6.json").write_text(json.dumps({"values": [1, 1, 1, 1, 0.5, 0.5]}))
    facts = json.loads(run_podium(*arguments, "--log", "events.ndjson").stdout)
    # d0 of x: 1 click of 2 looks; d5: 1 click of 2 * 0.5 looks; d0 of y: 1 click of 1 look. The pin on d5
    # gives up a look at d4 for d5: +0.5 for x, 0 for y; x has two sessions.
    assert facts["rules"][0]["figures"]["clicks"]["mean"] == pytest.approx((2 * 0.5 + 0) / 3)
    assert facts["queries"] == 2
    (tmp_path / "texts.tsv").write_text("x\tX\n")
    of_run = [*arguments, "--log", "events.ndjson", "--run", "b.run", "--queries", "texts.tsv"]
    assert json.loads(run_podium(*of_run).stdout)["rules"][0] == facts["rules"][0]


def test_rates_of_a_log_that_are_all_0_or_1_are_not_grades(shop, tmp_path):
    event_log(tmp_path / "events.ndjson", [("x", "d5")])
    (tmp_path / "looks6.json").write_text(json.dumps({"values": [1, 1, 1, 1, 0.5, 0.5]}))
    arguments = "rules report rules.yaml -k 6 --examination looks6.json --log events.ndjson --json"
    facts = json.loads(run_podium(*arguments.split()).stdout)
    # The click rate of d5 is 1; the pin moves it from a place with 0.5 looks to one with 1.
    assert facts["rules"][0]["figures"]["clicks"]["mean"] == pytest.approx(1 - 0.5)


def test_the_command_takes_the_context_and_the_classes_of_rules(shop, tmp_path):
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n- {rule: top-k, docs: d5, k: 1, hard: true, when: {device: mobile}, class: b}\n"
        "- {rule: top-k, docs: d4, k: 1, hard: true, class: a}\n"
    )
    arguments = ["rules", "report", "rules.yaml", "--run", "b.run", "-k", "3", "--json"]
    facts = json.loads(run_podium(*arguments).stdout)
    assert [rule["lists"] for rule in facts["rules"]] == [0, 2]
    arguments += ["--context", "device=mobile", "--classes"]
    for classes, changed in (("a,b", [0, 2]), ("b,a", [2, 0])):
        facts = json.loads(run_podium(*arguments, classes).stdout)
        assert [rule["lists"] for rule in facts["rules"]] == [2, 2]
        assert [rule["changed"] for rule in facts["rules"]] == changed


@pytest.mark.parametrize(
    ("code", "arguments", "advice"),
    [
        (2, ("--value", "price"), "expected --judged FILE with --value, got none"),
        (
            2,
            ("--judged", "qrels.txt", "--value", "price"),
            "expected --docs FILE with the field 'price'",
        ),
        (
            1,
            ("--judged", "qrels.txt", "--docs", "docs.jsonl", "--value", "brand"),
            "docs.jsonl: expected numbers in the field 'brand' of --value, got 'a'",
        ),
        (
            1,
            ("--judged", "qrels.txt", "--traffic", "rules.yaml"),
            "rules.yaml:1: expected qid<TAB>number of searches, got 'version: 1'",
        ),
        (
            1,
            ("--judged", "qrels.txt", "--examination", "rules.yaml"),
            "rules.yaml: expected the JSON of podium clicks propensity --json",
        ),
    ],
)
def test_wrong_options_of_the_command_have_advice(shop, code, arguments, advice):
    done = run_podium("rules", "report", "rules.yaml", "--run", "b.run", *arguments, code=code)
    assert advice in flat(done.stderr)
