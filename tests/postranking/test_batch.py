"""A whole run under rules: the same as list by list, and what became of each rule."""

import datetime
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import podium
from podium.data import Groups, RankingData, Run
from podium.data.packed_strings import Strings
from podium.errors import (
    ConflictError,
    DataError,
    MissingDocidsError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
from podium.postranking import (
    AtMost,
    Before,
    Each,
    Hide,
    Insert,
    NotTopK,
    Pin,
    TopK,
    Where,
    batch,
    postrank,
    postrank_batch,
)

DAY = datetime.date(2026, 11, 15)


def make_run(lists):
    """A run of {qid: documents, best first}, its rows in another order than the places."""
    docs, values, sizes = [], [], []
    for listed in lists.values():
        scored = sorted(
            zip(listed, range(len(listed), 0, -1), strict=True), key=lambda pair: pair[0]
        )
        docs += [doc for doc, _ in scored]
        values += [float(score) for _, score in scored]
        sizes.append(len(listed))
    qids = np.array([*lists], dtype=object)
    return Run(qids, Groups.from_sizes(sizes), Strings.of(docs), np.array(values))


LISTS = {"q1": list("abcdefgh"), "q2": list("bdfhj"), "q3": list("hgfedcba")}
TEXTS = {"q1": "Chess engine", "q2": "chess  clock", "q3": "go board"}
FIELDS = {doc: {"brand": "xyz"[at % 3], "price": at} for at, doc in enumerate("abcdefgh")}
RULES = [
    TopK("f", 1, weight=30),
    NotTopK("b", 3, weight=30, query="chess engine"),
    Hide("h", hard=True, pattern="chess*"),
    AtMost(Each("brand"), 1, 3, weight=10),
    TopK(Where("price > 5"), 3, weight=3),
    Before("j", "b", weight=30),
    TopK("nobody", 1),
    Hide("a", ends=datetime.date(2026, 1, 1)),
]


@pytest.mark.parametrize("condition", [{}, {"query": "q"}, {"pattern": "q*"}])
@pytest.mark.parametrize(
    "rule", [Hide("new", hard=True), Pin("new", 3, hard=True), NotTopK("new", 2, hard=True)]
)
@pytest.mark.parametrize("is_rule_conditioned", [False, True])
def test_rules_act_on_documents_that_other_rules_insert(condition, rule, is_rule_conditioned):
    insert = Insert("new", 1, **condition)
    rules = [insert, replace(rule, pattern="q*") if is_rule_conditioned else rule]
    fields = {"new": {}, "a": {}, "b": {}, "c": {}}
    alone = postrank(["a", "b", "c"], rules, query="q", fields=fields)
    found = postrank_batch({"q": ["a", "b", "c"]}, rules, fields=fields)
    assert found["q"].order == alone.order
    assert found.rules[1].lists == 1
    assert "new" not in alone.order[:2]


def outcome(found):
    return found.order, found.scores, found.moves, found.kendall, found.value


def test_a_run_is_as_its_lists_one_by_one():
    found = postrank_batch(make_run(LISTS), RULES, queries=TEXTS, fields=FIELDS, today=DAY)
    assert list(found) == list(LISTS)
    for qid, docs in LISTS.items():
        alone = postrank(
            docs, RULES, range(len(docs), 0, -1), query=TEXTS[qid], fields=FIELDS, today=DAY,
            missing="report",
        )  # fmt: skip
        np.testing.assert_allclose(found[qid].scores, alone.scores, atol=1e-9)
        assert found[qid].order == alone.order
        assert found[qid].moves == alone.moves
        assert found[qid].kendall == alone.kendall
        acted = [one for one in alone.rules if one.acted]
        assert [one for one in found[qid].rules if one.acted] == acted


def test_what_became_of_each_rule():
    found = postrank_batch(make_run(LISTS), RULES, queries=TEXTS, fields=FIELDS, today=DAY)
    tallies = found.rules
    assert [tally.rule for tally in tallies] == RULES
    assert [tally.lists for tally in tallies] == [3, 1, 2, 3, 3, 1, 0, 0]
    for number, tally in enumerate(tallies):
        held = [
            one.satisfied
            for lst in found.values()
            for one in lst.rules
            if one.acted and one.rule == RULES[number]
        ]
        assert tally.satisfied == sum(held)
        assert tally.violated == len(held) - sum(held)
    assert [tally.note for tally in tallies[6:]] == [
        "names nothing in any list",
        "ended on 2026-01-01",
    ]
    assert "3 queries" in repr(found)
    assert "8 rules, 2 never acted" in repr(found)


def test_the_reason_why_a_rule_never_acted():
    rules = [
        TopK("a", 1, query="ludo"),
        TopK("a", 1, pattern="lud*"),
        TopK("a", 99),
        TopK("a", 1, weight=0),
    ]
    found = postrank_batch(make_run(LISTS), rules, queries=TEXTS)
    assert [tally.note for tally in found.rules] == [
        "no query is 'ludo'", "no list of a query like 'lud*' has its documents",
        "all 8 documents of the list are in the top 99", "its weight is 0",
    ]  # fmt: skip


def test_without_texts_queries_go_by_their_ids():
    found = postrank_batch(make_run(LISTS), [Hide("f", hard=True, query="Q2")])
    assert [len(found[qid]) for qid in LISTS] == [8, 4, 8]
    partly = postrank_batch(
        make_run(LISTS), [Hide("f", hard=True, query="q2")], queries={"q1": "q2"}
    )
    assert [len(partly[qid]) for qid in LISTS] == [7, 4, 8]


def test_the_new_run_keeps_the_order_in_a_file(tmp_path):
    found = postrank_batch(make_run(LISTS), RULES, queries=TEXTS, fields=FIELDS, today=DAY)
    path = tmp_path / "new.run"
    podium.write_run(found.run, path)
    again = podium.read_run(path)
    assert again.qids.tolist() == list(LISTS)
    for qid, rows in zip(again.qids, again.groups.slices(), strict=True):
        values = again.values[rows]
        assert (np.diff(values) < 0).all()
        assert tuple(again.docids[rows]) == found[qid].order
    assert found.run.values[0] == 8  # places counted from the end of the list, hidden ones included


def test_ranking_data_brings_its_own_texts():
    data = RankingData.from_arrays(
        np.zeros((4, 1)), [0, 1, 2, 0], qid=["q"] * 4, docid=list("abcd"), query_text=["Chess"],
        doc_text={"title": ["Chess set", "Go set", "Chess clock", "Ludo"]},
    )  # fmt: skip
    rules = [Hide(Where('"Chess" in title'), hard=True, query="chess")]
    assert postrank_batch(data, rules, [1, 2, 3, 4])["q"].order == ("d", "b")
    with pytest.raises(UnknownNameError, match="unknown field 'titel'; did you mean title"):
        postrank_batch(data, [Hide(Where("titel == 'x'"))], [1, 2, 3, 4])


def test_blocks_and_progress(monkeypatch):
    data = podium.make_synthetic(n_queries=30, seed=1)
    rules = [TopK(doc, 2, weight=5) for doc in list(data.docids)[::7]]
    whole = postrank_batch(data, rules, data.X[:, 0])
    monkeypatch.setattr(batch, "DOCUMENTS_PER_BLOCK", 40)
    done = []
    parts = postrank_batch(data, rules, data.X[:, 0], progress=done.append)
    assert sum(done) == 30
    assert [outcome(one) for one in parts.values()] == [outcome(one) for one in whole.values()]
    assert parts.rules == whole.rules


@given(st.data())
def test_a_rule_index_finds_every_rule_that_can_act(data):
    docs = list("abcdef")
    queries = st.sampled_from(["chess", "Chess ", "go", "go board", "chess go"])
    kinds = st.sampled_from(
        [{}, {"query": "chess"}, {"query": " GO"}, {"pattern": "*go*"}, {"pattern": "c*"}]
    )
    rules = [
        TopK(data.draw(st.sampled_from(docs)), 2, **data.draw(kinds))
        for _ in range(data.draw(st.integers(0, 8)))
    ]
    query = data.draw(queries)
    listed = data.draw(st.lists(st.sampled_from(docs), unique=True, min_size=1))
    index = batch.RuleIndex(tuple(rules), DAY)
    acting = index.candidates(query, listed)
    can_act = {
        number
        for number, rule in enumerate(rules)
        if not rule.reason_off(query, DAY) and rule.doc in listed
    }
    assert can_act <= set(acting)
    assert all(not rules[number].reason_off(query, DAY) for number in acting)
    assert acting == sorted(set(acting))


def test_many_rules_for_many_queries_take_time_for_their_own_lists_only():
    n = 3000
    lists = {f"q{at}": [f"d{at}-{i}" for i in range(3)] for at in range(n)}
    rules = [TopK(f"d{at}-2", 1, weight=30, query=f"q{at}") for at in range(n)]
    rules += [NotTopK(f"d{at}-0", 1, weight=30) for at in range(n)]
    started = time.process_time()
    index = batch.RuleIndex(tuple(rules), DAY)
    acting = [index.candidates(qid, docs) for qid, docs in lists.items()]
    assert time.process_time() - started < 5
    assert [len(numbers) for numbers in acting] == [2] * n


# --- what is wrong ---


def test_wrong_input():
    run = make_run(LISTS)
    data = podium.make_synthetic(n_queries=3)
    with pytest.raises(UsageError, match=r"expected a Run, .* or lists by query id, got list"):
        postrank_batch([*LISTS], [])
    with pytest.raises(
        UsageError, match="lists by query id are best first already; leave out scores"
    ):
        postrank_batch({"q1": ["a"]}, [], [1.0])
    with pytest.raises(UsageError, match="text as ids of queries, got 3"):
        postrank_batch({3: ["a"]}, [])
    with pytest.raises(DataError, match="query 'q1': document 'a' is in the list twice"):
        postrank_batch({"q1": ["a", "a"]}, [])
    with pytest.raises(UsageError, match="base='margin' needs the model's scores"):
        postrank_batch({"q1": ["a"]}, [], base="margin")
    with pytest.raises(UsageError, match="ranking data needs scores"):
        postrank_batch(data, [])
    with pytest.raises(UsageError, match="a run already has scores"):
        postrank_batch(run, [], [1.0] * 21)
    bare = RankingData.from_arrays(np.zeros((2, 1)), [0, 1], qid=[1, 1])
    with pytest.raises(MissingDocidsError):
        postrank_batch(bare, [], [1, 2])
    with pytest.raises(NonFiniteError, match="a score of the run is infinite or NaN"):
        postrank_batch(Run(run.qids, run.groups, run.docids, np.full(21, np.nan)), [])
    with pytest.raises(UsageError, match="mapping of ids to texts"):
        postrank_batch(run, [], queries=["chess"])
    with pytest.raises(UsageError, match="text for query 'q1', got 3"):
        postrank_batch(run, [], queries={"q1": 3})
    with pytest.raises(UsageError, match="mapping of ids to fields"):
        postrank_batch(run, [], fields=[])
    with pytest.raises(UnknownNameError, match="unknown field 'brnad'; did you mean brand"):
        postrank_batch(run, [AtMost(Each("brnad"), 1, 2)], fields=FIELDS)
    with pytest.raises(UsageError, match="the documents are ids without fields"):
        postrank_batch(run, [AtMost(Each("brand"), 1, 2)])
    with pytest.raises(UnknownNameError, match="unknown base"):
        postrank_batch(run, [], base="even")


def test_a_document_that_a_list_does_not_have_can_be_an_error():
    with pytest.raises(
        DataError, match=r"query 'q2': TopK\('a', 1\) names a document that is not in the list: 'a'"
    ):
        postrank_batch(make_run(LISTS), [TopK("a", 1)], missing="error")


def test_a_document_twice_in_a_list_is_named_with_its_query():
    twice = Run(
        np.array(["q7"], dtype=object), Groups.from_sizes([2]), Strings.of("aa"), np.ones(2)
    )
    with pytest.raises(DataError, match="query 'q7': document 'a' is in the list twice"):
        postrank_batch(twice, [])


def test_a_conflict_names_its_query():
    rules = [Pin("a", 1, hard=True), Pin("b", 1, hard=True, query="q3", name="B first")]
    with pytest.raises(ConflictError, match=r"query 'q3': .*Pin\('a', 1\).*B first") as caught:
        postrank_batch(make_run(LISTS), rules)
    assert set(caught.value.rules) == set(rules)


def test_a_hard_rule_that_gives_way_is_counted():
    rules = [Pin("a", 1, hard=True, priority=1), Pin("b", 1, hard=True, query="q3")]
    found = postrank_batch(make_run(LISTS), rules, conflicts="yield")
    assert found["q3"][0] == "a"
    assert [tally.yielded for tally in found.rules] == [0, 1]


def test_the_number_of_threads_changes_no_bit():
    data = podium.make_synthetic(n_queries=40, seed=3)
    rules = [
        kind(doc, 3, weight=weight)
        for doc in list(data.docids)[::9]
        for kind, weight in ((TopK, 9), (NotTopK, 2))
    ]

    def output(threads):
        with threadpool_limits(threads):
            found = postrank_batch(data, rules, data.X[:, 0], base="margin")
        return [(list(order.order), list(order.scores)) for order in found.values()]

    assert output(1) == output(2)


def test_lists_by_query_id():
    rules = [
        TopK("c", 1, weight=30, query="chess"), TopK(2, 1, weight=30),
        Hide(Where("brand == 'x'"), hard=True),
    ]  # fmt: skip
    records = [{"id": 1, "brand": "y"}, {"id": 2, "brand": "y"}, {"id": 3, "brand": "x"}]
    letters = [{"id": doc, "brand": "y"} for doc in "abc"]
    found = postrank_batch({"q1": letters, "q2": records}, rules, queries={"q1": "Chess"})
    assert (
        list(found["q1"]) == list(postrank(["a", "b", "c"], rules[:1], query="chess")) == [*"cab"]
    )
    assert list(found["q2"]) == [2, 1]
    assert [tally.lists for tally in found.rules] == [1, 1, 1]
    assert list(found.run.docids) == ["c", "a", "b", "2", "1"]
    fields = {"a": {"brand": "x"}}
    assert list(postrank_batch({"q1": ["a", "b"]}, rules[2:], fields=fields)["q1"]) == ["b"]
    assert len(postrank_batch({}, rules)) == 0
