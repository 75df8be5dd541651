"""Conditions of rules on requests: what they say, their form in files, and the index over them."""

import datetime
import itertools

import numpy as np
import pytest

from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking import (
    Hide,
    Pin,
    RuleStore,
    TopK,
    examine_rules,
    postrank,
    postrank_batch,
    read_rules,
    rules_from,
)
from podium.postranking.condition_index import ConditionIndex
from podium.postranking.rules.context_values import read_context
from podium.postranking.rules.files import parse_rules, rule_records, rules_text
from podium.postranking.rules.text_matching import (
    are_similar,
    edit_distance,
    shortened_words,
    split_words,
)
from podium.postranking.rules.when_entries import read_when

DAY, NOON = datetime.date(2026, 11, 19), "2026-11-19T12:00:00+00:00"
FILE = "version: 1\nrules:\n- {rule: hide, docs: a, when: {query: %s}}\n"


def met(when, query=None, **context):
    return read_when(when).is_met(read_context(context, query))


@pytest.mark.parametrize(
    ("when", "query", "context", "expected"),
    [
        ({"query": "Chess  Clock"}, " chess clock", {}, True),
        ({"query": "chess clock"}, "chess clocks", {}, False),
        ({"query": ["clock", "board"]}, "Board", {}, True),
        ({"query": {"glob": "chess*"}}, "Chess set", {}, True),
        ({"query": {"glob": "chess*"}}, "a chess set", {}, False),
        ({"query": {"words": "clock chess"}}, "a chess, or clock", {}, True),
        ({"query": {"words": "clock chess"}}, "a clock", {}, False),
        ({"query": {"phrase": "chess clock"}}, "a chess-clock!", {}, True),
        ({"query": {"phrase": "chess clock"}}, "a clock chess", {}, False),
        ({"query": {"is": "café", "stem": "none"}}, "Cafe!", {}, True),
        ({"query": {"is": "café"}}, "cafe", {}, False),
        ({"query": {"is": "chess clock", "stem": "english"}}, "Chess clocks", {}, True),
        ({"query": {"is": "chess clock", "stem": "english"}}, "my chess clocks", {}, False),
        ({"query": {"words": "clock", "edits": 1}}, "a lcock", {}, True),
        ({"query": {"words": "clock", "edits": 1}}, "a cook", {}, False),
        ({"query": {"words": "clocks", "edits": 2}}, "colcksx", {}, True),
        ({"query": {"words": "go", "edits": 2}}, "to", {}, False),
        ({"device": "mobile"}, None, {"device": "Mobile"}, True),
        ({"device": "mobile"}, None, {}, False),
        ({"not": {"device": "mobile"}}, None, {}, True),
        ({"segment": "vip"}, None, {"segment": ["new", "vip"]}, True),
        ({"filters.brand": "dgt"}, None, {"filters": {"brand": "DGT"}}, True),
        ({"level": 3}, None, {"level": 3.0}, True),
        ({"member": "true"}, None, {"member": True}, True),
        ({"basket": {"at-least": 50}}, None, {"basket": 50}, True),
        ({"basket": {"at-least": 50, "at-most": 60}}, None, {"basket": 61.5}, False),
        ({"basket": {"at-most": 60}}, None, {"basket": "50"}, False),
        ({"any": [{"a": "x"}, {"b": "y"}]}, None, {"b": "y"}, True),
        ({"all": [{"a": "x"}, {"b": "y"}]}, None, {"b": "y"}, False),
        ({"a": "x", "not": {"b": "y"}}, None, {"a": "x", "b": "y"}, False),
        ({"locale": {"glob": "de*"}}, None, {"locale": "de-AT"}, True),
    ],
)
def test_a_condition_is_met_exactly_if_the_request_has_what_it_says(when, query, context, expected):
    assert met(when, query, **context) is expected
    assert met({"not": when}, query, **context) is not expected


@pytest.mark.parametrize(
    ("spans", "time", "expected"),
    [
        ({"hours": "08:00 to 20:00"}, "2026-11-19T08:00:00+00:00", True),
        ({"hours": "08:00 to 20:00"}, "2026-11-19T20:00:00+00:00", False),
        ({"hours": "08:00 to 24:00"}, "2026-11-19T23:59:00+00:00", True),
        ({"hours": "08:00 to 20:00", "zone": "Europe/Berlin"}, "2026-11-19T07:30:00+00:00", True),
        # Summer time: eight in Berlin is six in UTC, not seven.
        ({"hours": "08:00 to 20:00", "zone": "Europe/Berlin"}, "2026-07-01T06:00:00+00:00", True),
        ({"days": "friday to monday"}, "2026-11-22T12:00:00+00:00", True),
        ({"days": ["tuesday", "thursday"]}, "2026-11-19T12:00:00+00:00", True),
        ({"days": "friday"}, "2026-11-19T12:00:00+00:00", False),
        ({"days": "friday", "zone": "Asia/Tokyo"}, "2026-11-19T16:00:00+00:00", True),
        ({"days": "friday", "hours": "22:00 to 06:00"}, "2026-11-21T05:59:00+00:00", True),
        ({"days": "friday", "hours": "22:00 to 06:00"}, "2026-11-20T05:59:00+00:00", False),
        ({"dates": "2026-11-27 to 2026-11-30"}, "2026-11-30T23:00:00+00:00", True),
        ({"dates": ["2026-11-27", "2026-12-24"]}, "2026-11-28T00:00:00+00:00", False),
    ],
)
def test_times_count_in_their_zone(spans, time, expected):
    assert met({"time": spans}, time=time) is expected


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ({}, "expected a condition"),
        ({"query": []}, "expected 1 to 10,000 values as query"),
        ({"query": {"glob": "a", "words": "b"}}, "expected one of is, glob, words, phrase"),
        ({"query": {"glob": "a*", "edits": 1}}, "got glob"),
        ({"query": {"words": "a", "edits": 3}}, "expected 0 to 2 as edits"),
        ({"query": {"words": "!"}}, "expected words as query"),
        ({"query": ["x" * 1_001]}, "expected 1 to 1,000 characters"),
        ({"basket": {"at-least": 3, "at-most": 2}}, "at-least 3 or more"),
        ({"time": {"zone": "UTC"}}, "expected days, hours or dates"),
        ({"time": {"hours": "8 to 9"}}, "expected hours such as"),
        ({"time": {"hours": "08:00 to 08:00"}}, "expected hours such as"),
        ({"time": {"dates": "2026-13-01"}}, "expected dates such as"),
        ({"time": {"days": "monday", "zone": "Mars/One"}}, "expected a time zone"),
        ({"any": []}, "expected a list of conditions"),
        ({"any": [{"a": "x"}] * 51}, "at most 50 conditions"),
        ({"all": [{"any": [{"a": str(n)} for n in range(30)]}] * 2}, "at most 50 tests"),
        ({"not": {"not": {"not": {"not": {"not": {"a": "x"}}}}}}, "at most 5 levels"),
    ],
)
def test_wrong_conditions_are_refused_with_their_bound(when, message):
    with pytest.raises(UsageError, match=message):
        Hide("a", when=when)


@pytest.mark.parametrize(
    "when",
    [{"query": {"word": "x"}}, {"time": {"days": "fryday"}}, {"query": {"is": "a", "stem": "x"}}],
)
def test_unknown_names_in_conditions_are_refused(when):
    with pytest.raises(UnknownNameError):
        Hide("a", when=when)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"query": "x"}, "apart from the context"),
        ({"time": "2026-11-19T08:00:00"}, "with its offset"),
        ({"device": object()}, "expected text, numbers, true or false as device"),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "at most 4 levels"),
        ({"a": ["x"] * 1_001}, "at most 1,000 values"),
        ({"a": "x" * 10_001}, "at most 10,000 characters"),
        (["device"], "expected a context as a mapping"),
    ],
)
def test_wrong_contexts_are_refused_with_their_bound(context, message):
    with pytest.raises(UsageError, match=message):
        postrank(["a"], [], context=context)


def brute_distance(a, b):
    """The optimal string alignment distance, by its definition without a table."""
    if not a or not b:
        return len(a) + len(b)
    ways = [
        brute_distance(a[1:], b) + 1,
        brute_distance(a, b[1:]) + 1,
        brute_distance(a[1:], b[1:]) + (a[0] != b[0]),
    ]
    if len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0]:
        ways.append(brute_distance(a[2:], b[2:]) + 1)
    return min(ways)


def test_the_distance_of_words_equals_its_definition():
    words = ["".join(letters) for n in range(4) for letters in itertools.product("ab", repeat=n)]
    for a, b in itertools.product(words, words):
        assert edit_distance(a, b) == brute_distance(a, b)
        assert are_similar(a, b, 1) == (brute_distance(a, b) <= 1)


def drawn_when(rng, depth=0):
    """A condition by chance, over few words, so that many requests meet it."""
    words = ["chess", "chess clock", "clocks", "board", "set", "uhr"]
    word = str(rng.choice(words))
    kind = rng.integers(13 if depth < 2 else 10)
    if kind == 0:
        return {"query": word}
    if kind == 1:
        return {"query": {"glob": f"*{word[1:4]}*"}}
    if kind == 2:
        return {"query": {"words": word, "edits": int(rng.integers(3))}}
    if kind == 3:
        return {"query": {"phrase": [word, "go"], "stem": "english"}}
    if kind == 4:
        return {"device": ["mobile", "tablet"][: int(rng.integers(1, 3))]}
    if kind == 5:
        return {"time": {"hours": "08:00 to 20:00"}}
    if kind == 6:
        low, high = sorted(rng.integers(0, 40, 2).tolist())
        bounds = {"at-least": low / 2, "at-most": high / 2}
        for bound in ("at-least", "at-most"):
            if len(bounds) > 1 and rng.random() < 0.3:
                del bounds[bound]
        return {"price": bounds}
    if kind == 7:
        day = str(rng.choice(["monday", "friday to sunday", "sunday"]))
        return {"time": {"days": day, "hours": str(rng.choice(["22:00 to 06:00", "00:00 to 12:00"])),
                         "zone": str(rng.choice(["UTC", "Asia/Tokyo", "America/New_York"]))}}  # fmt: skip
    if kind == 8:
        dates = str(
            rng.choice(["2026-11-19", "2026-11-20 to 2026-11-22", "2026-11-01 to 2026-11-18"])
        )
        return {
            "time": {"dates": dates, **({"hours": "20:00 to 04:00"} if rng.random() < 0.5 else {})}
        }
    if kind == 9:
        return {"query": {"words": [word, "clocks"], "edits": 2}, "device": "mobile"}
    if kind == 10:
        return {"not": drawn_when(rng, depth + 1)}
    parts = [drawn_when(rng, depth + 1) for _ in range(2)]
    return {"any" if kind == 11 else "all": parts}


def misspelt(rng, text):
    at = int(rng.integers(len(text)))
    return [text, text[:at] + text[at + 1 :], text[:at] + "x" + text[at:], text[:at] + text[at + 1 : at + 2]
            + text[at : at + 1] + text[at + 2 :]][int(rng.integers(4))]  # fmt: skip


def test_the_index_loses_no_rule_and_a_store_acts_as_its_rules_do():
    rng = np.random.default_rng(5)
    rules = [Hide("a", name=str(n), when=drawn_when(rng)) for n in range(300)]
    rules += [
        Hide(
            "a",
            name=f"day {n}",
            starts=DAY + datetime.timedelta(n - 3),
            ends=DAY + datetime.timedelta(n),
        )
        for n in range(4)
    ]
    rules += [
        Hide("a", name="q", query="Chess clock"),
        Hide("a", name="p", pattern="*clock*"),
        Hide("a", name="u"),
    ]
    store, index = RuleStore(rules), ConditionIndex(rules)
    n_met = n_candidates = 0
    for _ in range(60):
        query = misspelt(rng, str(rng.choice(["chess clock", "clocks", "chess", "boards", "go"])))
        context = {
            "device": str(rng.choice(["mobile", "tablet", "desk"])),
            "time": f"2026-11-{rng.integers(14, 25)}T{rng.integers(24):02}:{rng.integers(60):02}:00+00:00",
            **(
                {"price": rng.integers(0, 40, int(rng.integers(1, 3))).tolist()}
                if rng.random() < 0.8
                else {}
            ),
        }
        day = DAY + datetime.timedelta(int(rng.integers(-5, 6)))
        values = read_context(context, query)
        active = [n for n, rule in enumerate(rules) if not rule.reason_off(query, day, values)]
        candidates = index.candidates(values)
        assert set(active) <= set(candidates)
        assert store.active_numbers(query, day, values) == active
        n_met, n_candidates = n_met + len(active), n_candidates + len(candidates)
    assert 60 * 5 < n_met <= n_candidates < 60 * len(rules)


@pytest.mark.parametrize(
    ("whens", "context", "expected"),
    [
        ([{"price": {"at-least": n, "at-most": n + 1}} for n in range(99)], {"price": 7.5}, [7]),
        ([{"price": {"at-least": n, "at-most": n + 1}} for n in range(99)], {"price": 7}, [6, 7]),
        ([{"not": {"price": {"at-most": n}}} for n in range(99)], {"price": 2}, [0, 1, 2]),
        ([{"not": {"price": {"at-most": n}}} for n in range(3)], {}, [0, 1, 2]),
        ([{"time": {"hours": f"{n:02}:30 to {n + 1:02}:30"}} for n in range(23)], {"time": NOON}, [11]),
        ([{"not": {"time": {"hours": f"00:00 to {n:02}:00"}}} for n in (9, 12, 13)], {"time": NOON}, [0, 1]),
        ([{"time": {"dates": f"2026-11-{n:02}"}} for n in range(1, 31)], {"time": NOON}, [18]),
        ([{"not": {"device": ["mobile", f"d{n}"]}} for n in range(99)], {"device": "mobile"}, []),
        ([{"not": {"device": ["mobile", "desk"][n == 3 :]}} for n in range(9)], {"device": "mobile"}, [3]),
        ([{"not": {"query": {"words": "go"}}}] * 3, {}, [0, 1, 2]),
        ([{"a": "x", "b": n % 9, "c": n % 7} for n in range(63)], {"a": "x", "b": "4", "c": 4}, [4]),
    ],
)  # fmt: skip
def test_a_request_looks_only_at_rules_that_it_may_meet(whens, context, expected):
    index = ConditionIndex([Hide("a", when=when) for when in whens])
    assert index.candidates(read_context(context, "chess")) == expected


def test_similar_words_share_a_shortened_word():
    rng = np.random.default_rng(3)
    n_similar = 0
    for _ in range(3000):
        word = "".join(rng.choice(list("abc"), int(rng.integers(3, 12))))
        edits = 1 + (len(word) > 5) * int(rng.integers(2))
        other = word
        for _ in range(edits):
            other = misspelt(rng, other)
        if are_similar(word, other, edits):
            n_similar += 1
            assert shortened_words(word, edits) & shortened_words(other, edits)
    assert n_similar > 2000


def test_a_store_is_indexed_by_what_few_rules_share():
    rules = [TopK("a", 1, when={"device": "mobile", "query": f"query {n}"}) for n in range(100)] + [
        TopK("b", 1, when={"query": {"words": f"clock{n}", "edits": 1}}) for n in range(100)
    ]
    index = ConditionIndex(rules)
    assert index.candidates(read_context({"device": "mobile"}, "query 7")) == [7]
    assert 142 in index.candidates(read_context({}, "a clcok42"))
    assert len(index.candidates(read_context({"device": "mobile"}, "nothing"))) == 0


def test_rules_with_conditions_survive_files_and_reprs():
    rng = np.random.default_rng(7)
    rules = tuple(Pin("a", 1, when=drawn_when(rng), class_="legal") for _ in range(40))
    assert parse_rules(rules_text(rules)) == rules
    assert rules_from({"version": 1, "rules": rule_records(rules)}) == rules
    assert [eval(repr(rule), {"Pin": Pin}) for rule in rules] == [*rules]


def test_a_rule_that_is_off_says_for_which_requests_it_is():
    result = postrank(
        ["a", "b"], [Hide("a", when={"device": "mobile"})], context={"device": "desk"}
    )
    assert result.rules[0].note == "is for requests where device is mobile"
    assert not result.rules[0].acted


def test_the_time_of_a_request_is_its_day_unless_another_is_set():
    rule = Hide("a", hard=True, starts=DAY, ends=DAY)
    context = {"time": "2026-11-19T12:00:00+00:00"}
    assert postrank(["a", "b"], [rule], context=context).order == ("b",)
    other = datetime.date(2026, 11, 20)
    assert postrank(["a", "b"], [rule], context=context, today=other).order == ("a", "b")


def test_words_have_no_accents_and_no_case():
    assert split_words("Größe, CAFÉ; 2x") == ("grosse", "cafe", "2x")


def test_a_set_of_queries_comes_from_a_file_beside_the_rules(tmp_path):
    (tmp_path / "gifts.txt").write_text("Chess clock\n\nchess set\n")
    path = tmp_path / "rules.yaml"
    path.write_text(FILE % "{file: gifts.txt}")
    (rule,) = read_rules(path)
    assert rule == Hide("a", when={"query": ["Chess clock", "chess set"]})
    path.write_text(FILE % "{file: gifts.txt, edits: 1}")
    assert read_rules(path)[0].when.is_met(read_context({}, "ches clock"))
    for name, message in (("../gifts.txt", "beside the rule file"), ("no.txt", "no such file")):
        path.write_text(FILE % f"{{file: {name}}}")
        with pytest.raises(DataError, match=message):
            read_rules(path)


def test_rules_of_a_request_read_no_files():
    with pytest.raises(DataError, match="files of values are for rules in a file"):
        rules_from(
            {
                "version": 1,
                "rules": [{"rule": "hide", "docs": "a", "when": {"query": {"file": "x"}}}],
            }
        )


def test_conflicts_of_rules_for_different_requests_are_none_and_others_are_warnings():
    mobile, desk, vip = (
        Pin(doc, 1, hard=True, when=when)
        for doc, when in (
            ("a", {"device": "mobile"}),
            ("b", {"device": "desk"}),
            ("c", {"segment": "vip"}),
        )
    )
    assert examine_rules([mobile, desk]) == ()
    (finding,) = examine_rules([mobile, vip])
    assert finding.level == "warning"
    assert finding.gives_way
    assert "for requests where device is mobile and segment is vip" in finding.message


def test_a_batch_takes_the_context_of_all_its_requests():
    rules = [Pin("b", 1, hard=True, when={"device": "mobile", "query": "clock"})]
    lists = {"clock": ["a", "b"], "board": ["a", "b"]}
    ruled = postrank_batch(lists, rules, context={"device": "mobile"})
    assert [ruled[query].order for query in lists] == [("b", "a"), ("a", "b")]
    assert postrank_batch(lists, rules)["clock"].order == ("a", "b")
    assert "no request with its documents" in postrank_batch(lists, rules).rules[0].note
