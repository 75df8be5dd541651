"""Checking many rules: in seconds, each conflict that there is, and nothing in silence."""

import random
import time

import pytest

import podium
from podium.data import Run
from podium.errors import UnknownNameError
from podium.postranking import (
    Apart,
    Before,
    Hide,
    NotTopK,
    Pin,
    Together,
    TopK,
    Where,
    examine_rules,
    postrank,
    rule_trial,
)
from podium.postranking.listing import Listing


def conflicts(findings):
    return {one.rules for one in findings if "cannot hold" in one.message}


def test_rules_for_ten_thousand_queries_take_seconds():
    run = podium.Run.from_scores(*_scored(5))
    rules = [TopK(f"d{at % 20}", 3, hard=True, query=f"other {at}") for at in range(10_000)]
    started = time.process_time()
    found = examine_rules(rules, run)
    assert time.process_time() - started < 30
    assert [one.message for one in found] == [
        f"never acts: no query is 'other {at}', compared with ids such as 'q5', because the texts of "
        "queries are not known"
        for at in range(10_000)
    ]
    odd = [
        *rules,
        Pin("d3", 9, hard=True, query="other 3"),
        Pin("d9", 1, hard=True, query="other 9"),
    ]
    started = time.process_time()
    assert conflicts(examine_rules(odd)) == {(3, 10_000)}
    assert time.process_time() - started < 30


def _scored(n_queries):
    data = podium.make_synthetic(n_queries=n_queries, n_docs=20, seed=0)
    return data, data.X[:, 0]


def test_ten_thousand_rules_on_the_same_lists_take_seconds():
    data, scores = _scored(5)
    rng = random.Random(0)
    rules = []
    for at in range(10_000):
        query = rng.choice(data.qids.tolist())
        doc, other = (f"{query}-d{number}" for number in rng.sample(range(1, 21), 2))
        kind = rng.choice([TopK, NotTopK, Pin, Before])
        second = other if kind is Before else rng.randint(1, 19)
        rules.append(kind(doc, second, hard=at % 2 == 0, query=query))
    started = time.process_time()
    found = examine_rules(rules, podium.Run.from_scores(data, scores))
    assert time.process_time() - started < 60
    assert rule_trial.MAX_CONFLICTS <= len(conflicts(found)) <= 3 * rule_trial.MAX_CONFLICTS
    notes = [one.message for one in found if not one.rules]
    assert notes[0].startswith("the check stopped after 20 conflicts of hard rules")
    for numbers in conflicts(found):
        docs = [f"{rules[numbers[0]].query}-d{number}" for number in range(1, 21)]
        alone = [type(rules[number])(*rules[number].selectors, *rules[number].numbers, hard=True)
                 for number in numbers]  # fmt: skip
        with pytest.raises(podium.errors.ConflictError):
            postrank([*docs, *range(60)], alone)


def test_sets_that_are_alike_are_tried_once(monkeypatch):
    tried = []
    real = rule_trial.find_conflict
    monkeypatch.setattr(
        rule_trial,
        "find_conflict",
        lambda prepared, settings: tried.append(1) or real(prepared, settings),
    )
    pairs = [(Pin(f"a{q}", 1, hard=True, query=f"q{q}"), Pin(f"b{q}", 1, hard=True, query=f"q{q}"))
             for q in range(15)]  # fmt: skip
    found = examine_rules([rule for pair in pairs for rule in pair])
    assert conflicts(found) == {(2 * q, 2 * q + 1) for q in range(15)}
    assert len(tried) == 2  # the conflict, and that there is no other


@pytest.mark.parametrize("seed", range(8))
def test_what_is_remembered_changes_no_answer(seed, monkeypatch):
    rng = random.Random(seed)
    rules = []
    for _ in range(30):
        doc, other = rng.sample("abcde", 2)
        kind = rng.choice([TopK, NotTopK, Pin, Before, Together, Apart, Hide])
        given = {
            Before: (doc, other), Together: ([doc, other],), Apart: ([doc, other], 2), Hide: (doc,),
        }.get(kind, (doc, rng.randint(1, 4)))  # fmt: skip
        rules.append(kind(*given, hard=True, query=f"q{rng.randrange(12)}"))
    found = conflicts(examine_rules(rules))
    monkeypatch.setattr(rule_trial, "_rename_documents", lambda meanings: (object(),))
    assert found == conflicts(examine_rules(rules))


def test_work_ends_and_says_so(monkeypatch):
    monkeypatch.setattr(rule_trial, "MAX_WORK", 40)  # 1 rule, 2 + 2 (k + 1) documents: 9 + 11 + 13
    rules = [TopK([f"a{q}", "b"], q + 2, hard=True, query=f"q{q}") for q in range(20)]
    (note,) = examine_rules(rules)
    assert note.rules == ()
    assert "too many rules to try all: 17 lists and queries were not checked" in note.message


def test_progress_comes_to_its_end():
    told = []
    rules = [TopK("a", 2, query=f"q{q}") for q in range(5)]
    data, scores = _scored(3)
    examine_rules(rules, podium.Run.from_scores(data, scores), progress=lambda *at: told.append(at))
    assert told == [(at, 9) for at in range(1, 10)]


def test_text_without_quotes_is_told_from_a_field():
    docs = [{"id": "a", "brand": "acme", "price": 3}, {"id": "b", "brand": "other", "price": 4}]
    with pytest.raises(UnknownNameError, match="'acme'; put text in quotes: \"acme\"; ") as caught:
        postrank(docs, [Hide(Where("brand == acme"))])
    assert caught.value.name == "acme"
    for condition in ("prise > 3", "brand == 'acme' and prise", "'acme' in brnad"):
        with pytest.raises(UnknownNameError) as caught:
            postrank(docs, [Hide(Where(condition))])
        assert "quotes" not in str(caught.value)
    fields = {doc["id"]: doc for doc in docs}
    (one,) = examine_rules([Hide(Where("brand != acme"), hard=True)], fields=fields)
    assert "put text in quotes" in one.message


def test_strangers_have_near_names():
    listing = Listing.of(["dgt3000", "dgt2010", 7])
    assert listing.describe_absent("dgt300") == "'dgt300'"
    assert "did you mean 'dgt3000'" in listing.describe_absent("dgt300", hints=True)
    assert "missing='report'" in listing.describe_absent("leap", hints=True)
    assert "but 7 is" in listing.describe_absent("7", hints=True)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ('in_stock == "false"', 'in_stock is true or false in 2 documents, and the rule compares it with the '
         'text "false"; write false, without quotes'),
        ('"yes" == in_stock', 'in_stock is true or false in 2 documents, and the rule compares it with the '
         'text "yes"; write true, without quotes'),
        ('price > "20"', 'price is a number in 2 documents, and the rule compares it with the text "20"; '
         "write 20, without quotes"),
        ('price in ["cheap"]',
         'price is a number in 2 documents, and the rule compares it with the text "cheap"'),
        ("size == true", "size is text in 1 document, and the rule compares it with true or false; "
         'its texts are "S"; write one of them, in double quotes'),
        ("brand == 3", "brand is text in 2 documents, and the rule compares it with a number; "
         'its texts are "Acme", "Bolt"; write one of them, in double quotes'),
        ("sale == false", "sale is text in 2 documents, and the rule compares it with true or false; "
         'write sale == "No" (its texts are "yes", "No")'),
        ("sale == 1", "sale is text in 2 documents, and the rule compares it with a number; "
         'write sale == "yes" (its texts are "yes", "No")'),
        ("in_stock == 1", None),
        ('price in ["20", 20]', None),
        ('tags == "x"', None),
        ('"Ac" in brand', None),
        ("mixed == 3", None),
        ("mixed > 3", 'mixed is text in 1 of 2 documents, for example "x", and the rule compares it with a '
         "number; write a number there, or leave the field out"),
        ("cost > 1000", 'cost is text in 1 of 2 documents, for example "1,788.30", and the rule compares it '
         "with a number; write 1788.30 there, without thousands marks and with a decimal point"),
        ("cost == 1788.3", 'cost is text in 1 of 2 documents, for example "1,788.30", and the rule compares '
         "it with a number; write 1788.30 there, without thousands marks and with a decimal point"),
        ("width > 3", 'width is text in 2 documents, for example "12,5", and the rule compares it with a '
         "number; write 12.5 there, without thousands marks and with a decimal point"),
    ],
)  # fmt: skip
def test_fields_of_another_type_are_warnings_that_say_what_to_write(condition, message):
    fields = {
        "a": {
            "brand": "Acme",
            "sale": "yes",
            "price": 2.5,
            "in_stock": True,
            "size": "S",
            "tags": [1],
            "mixed": 1,
            "cost": 295.59,
            "width": "wide",
        },
        "b": {"brand": "Bolt", "sale": "No", "price": 30, "in_stock": False, "tags": [2], "mixed": "x",
              "cost": "1,788.30", "width": "12,5"},
    }  # fmt: skip
    findings = examine_rules([Hide(Where(condition), hard=True)], fields=fields)
    assert [(f.level, f.message) for f in findings] == ([("warning", message)] if message else [])
    (outcome,) = postrank(["a", "b"], [Hide(Where(condition), hard=True)], fields=fields).rules
    assert (message or "") in outcome.note


GONE = "the second rule hides 'a', so the first rule has no effect"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([Pin("a", 1, hard=True), Hide(Where("stock == 0"), hard=True)], [((0, 1), GONE)]),
        ([Hide(Where("stock == 0"), hard=True), TopK("a", 2)], [((1, 0), GONE)]),
        ([TopK(["a", "b"], 2), Hide(Where("stock == 0"), hard=True)],
         [((0, 1), "the second rule hides 'a'")]),
        ([Pin("a", 1, query="hat"), Hide(Where("stock == 0"), hard=True, query="shoe")], []),
        (
            [Pin("a", 1), Hide(Where("stock == 0"), hard=True, query="shoe")],
            [((0, 1), "the second rule hides 'a' for query 'shoe', so the first rule has no effect")],
        ),
        ([Pin("b", 1), Hide(Where("stock == 0"), hard=True)], []),
        ([Pin("a", 1), Hide(Where("stock == 0"))], []),
        ([NotTopK("a", 1), Hide(Where("stock == 0"), hard=True)], []),
        ([Pin("a", 1, hard=True), Hide("a", hard=True)], [((0, 1), "cannot hold together")]),
    ],
)  # fmt: skip
def test_a_pinned_document_that_another_rule_hides_is_a_warning(rules, expected):
    fields = {"a": {"stock": 0}, "b": {"stock": 3}, "c": {"stock": 4}}
    findings = [f for f in examine_rules(rules, fields=fields) if f.level != "note"]
    assert [(f.rules, f.message) for f in findings] == expected
    lists = Run.from_scores(
        podium.RankingData.from_arrays([[0.0]] * 3, [0] * 3, qid=["hat"] * 3, docid=list("abc")),
        [3, 2, 1],
    )
    with_run = [
        f
        for f in examine_rules(rules, lists, fields=fields)
        if "never acts" not in f.message and f.level != "note"
    ]
    assert [f.rules for f in with_run] == [numbers for numbers, _ in expected]


SOLD_OUT = Hide(Where("stock == 0"), hard=True)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([Pin("b", 1, hard=True), SOLD_OUT],
         [((1, 0), "may hide 'b' once fields change: the other rule then gives way")]),
        ([Pin("b", 1, hard=True, priority=5), SOLD_OUT],
         [((1, 0), "may hide 'b' once fields change: this rule then gives way to the other")]),
        ([Pin("b", 1, hard=True, class_="legal"), SOLD_OUT, TopK(["c", "a"], 3)],
         [((1, 2), "may hide 'c', 'a' once fields change: the other rule then gives way"),
          ((1, 0), "may hide 'b' once fields change: this rule then gives way to the other")]),
        ([Pin("b", 1, query="hat"), Hide(Where("stock == 0"), hard=True, query="shoe")], []),
        ([Pin(Where("own"), 1, hard=True), SOLD_OUT], []),
        ([Pin("b", 1, hard=True), Hide(Where("stock == 0"))], []),
    ],
)  # fmt: skip
def test_a_pinned_document_that_may_be_hidden_once_fields_change_is_a_note(rules, expected):
    notes = [f for f in examine_rules(rules) if f.level == "note"]
    assert [(f.rules, f.message) for f in notes] == expected


def test_documents_hidden_now_are_a_warning_and_the_others_a_note():
    fields = {"a": {"stock": 0}, "b": {"stock": 3}}
    rules = [TopK(["a", "b"], 2), SOLD_OUT]
    found = [(f.level, f.message) for f in examine_rules(rules, fields=fields)]
    assert found == [
        ("warning", "the second rule hides 'a'"),
        ("note", "may hide 'b' once fields change: the other rule then gives way"),
    ]
