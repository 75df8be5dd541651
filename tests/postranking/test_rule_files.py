"""Rule files: what is written is read again, what is wrong is told with its line, nothing is executed."""

import datetime
import json
import random
import time
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import DataError, MalformedLineError, PodiumError, UsageError
from podium.postranking import (
    RULES,
    Apart,
    AtLeast,
    AtMost,
    Before,
    Boost,
    Bury,
    Each,
    Exposure,
    FairShare,
    Hide,
    Insert,
    Mix,
    NotTopK,
    Pin,
    TakeTurns,
    Together,
    TopK,
    Where,
    postrank,
    read_rules,
    rules_from,
    schema,
    write_rules,
)
from podium.postranking.rules.entries import COMMON, choosers_of, keys_of
from podium.postranking.rules.files import read_rule_file
from podium.postranking.rules.plain_yaml import MAX_YAML_BYTES, parse_yaml
from podium.postranking.rules.rule import counts, measures
from tests.support.case_counts import soak_cases

EXAMPLE = """\
# What the shop wants
version: 1
rules:
  - rule: top-k
    docs: stockfish
    k: 3
    weight: 10
    query: chess engine
    starts: 2026-11-01
    ends: "2026-12-01"
    priority: 5
    name: Stockfish on the first page
  - rule: not-top-k
    docs: [007, no, 1e3, 12:30:00, 2026-11-01, "null"]
    k: 10
    pattern: "*engine*"
    weight: 2.5e-1
  - {rule: pin, where: 'brand == "acme" and price < 10', position: 2, hard: true}
  - {rule: before, first: a, second: {where: stock == 0}}
  - {rule: together, each: series}
  - {rule: apart, docs: [a, b]}
  - {rule: apart, each: brand, gap: 2}
  - {rule: at-most, each: brand, m: 0, k: 10, hard: True}
  - {rule: at-least, where: own, m: 3, k: 10}
  - {rule: hide, docs: 1001, query: 300}
  - {rule: boost, docs: a, factor: 1.5, class: campaign}
  - {rule: bury, where: stock == 0, percentile: 50}
  - {rule: insert, docs: [new, newer], position: 2, to: 5, when: {device: mobile}}
  - {rule: mix, where: own, m: 2, of: 3, k: 12}
  - {rule: take-turns, each: brand, k: 8}
  - {rule: fair-share, where: young, share: 0.4, k: 20, significance: 0.05}
  - {rule: exposure, docs: [a, b], k: 10, least: 0.25, hard: true}
"""
EXAMPLE_RULES = (
    TopK(
        "stockfish", 3, weight=10, query="chess engine", starts=datetime.date(2026, 11, 1),
        ends=datetime.date(2026, 12, 1), priority=5, name="Stockfish on the first page",
    ),
    NotTopK(
        ["007", "no", "1e3", "12:30:00", "2026-11-01", "null"], 10, pattern="*engine*", weight=0.25
    ),
    Pin(Where('brand == "acme" and price < 10'), 2, hard=True),
    Before("a", Where("stock == 0")),
    Together(Each("series")),
    Apart(["a", "b"]),
    Apart(Each("brand"), 2),
    AtMost(Each("brand"), 0, 10, hard=True),
    AtLeast(Where("own"), 3, 10),
    Hide("1001", query="300"),
    Boost("a", 1.5, class_="campaign"),
    Bury(Where("stock == 0"), percentile=50),
    Insert(["new", "newer"], 2, 5, when={"device": "mobile"}),
    Mix(Where("own"), 2, 3, 12),
    TakeTurns(Each("brand"), 8),
    FairShare(Where("young"), 0.4, 20, 0.05),
    Exposure(["a", "b"], 10, least=0.25, hard=True),
)  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "rules.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_file_is_read(file):
    assert read_rules(file(EXAMPLE)) == EXAMPLE_RULES
    assert read_rule_file(file(EXAMPLE)).lines == (4, 13, *range(18, 33))
    assert {rule.kind for rule in EXAMPLE_RULES} == set(RULES)


def test_a_file_with_a_mark_and_json_are_read(file):
    assert read_rules(file(b"\xef\xbb\xbf" + EXAMPLE.encode())) == EXAMPLE_RULES
    entry = {"rule": "top-k", "docs": ["a", "b"], "k": 3, "weight": 1.5, "hard": True}
    text = json.dumps({"version": 1, "rules": [entry]})
    assert read_rules(file(text)) == (TopK(["a", "b"], 3, weight=1.5, hard=True),)
    assert read_rules(file("version: 1\nrules: []\n")) == ()


def test_ids_may_be_made_into_something_else(file):
    text = "version: 1\nrules:\n  - {rule: top-k, docs: [1, 2], k: 3}\n"
    assert read_rules(file(text), ids=int) == (TopK([1, 2], 3),)
    with pytest.raises(DataError, match=r"rules.yaml:3: expected an id as docs, got 'a'"):
        read_rules(file(text.replace("1, 2", "1, a")), ids=int)


def test_rules_come_from_mappings_too():
    tree = yaml.safe_load(EXAMPLE)
    tree["rules"][1]["docs"] = list(
        EXAMPLE_RULES[1].doc
    )  # what YAML makes of them is another matter
    assert rules_from(tree) == EXAMPLE_RULES
    with pytest.raises(DataError, match=r"^rules\[0\]: a top-k rule needs k"):
        rules_from({"version": 1, "rules": [{"rule": "top-k", "docs": "a"}]})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("weight", r"a weight of 0 or more \(at most 1e\+09\) in TopK\('a', 3\), got inf"),
        ("k", r"a whole number as k, got 9999+\.\.\.$"),
        ("priority", r"a whole number as priority, got 9999+\.\.\.$"),
    ],
)
def test_numbers_of_thousands_of_digits(file, key, message):
    entry = {"rule": "top-k", "docs": "a", "k": 3, key: "9" * 5000}
    listed = ", ".join(f"{name}: {value}" for name, value in entry.items())
    with pytest.raises(DataError, match=r"rules\.yaml:3: expected " + message):
        read_rules(file("version: 1\nrules:\n  - {" + listed + "}\n"))
    with pytest.raises(DataError, match=rf"rules\[0\]: expected .*{key}.*, got a huge number$"):
        rules_from({"version": 1, "rules": [entry | {key: 10**5000}]})


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"version": 10**5000, "rules": []}, "version: 1, got a huge number"),
        ({"version": 1, "rules": [10**5000]}, "expected a rule, .* got a huge number"),
        ({"version": 1, "rules": [{"rule": 10**5000}]}, "expected rule: .* got a huge number"),
        (
            {"version": 1, "rules": [{"rule": "hide", "docs": 10**5000}]},
            "an id as docs, got a huge",
        ),
        (
            {"version": 1, "rules": [{"rule": "hide", "docs": [[10**5000]]}]},
            "got a list with very large",
        ),
    ],
)
def test_huge_numbers_of_mappings(tree, message):
    with pytest.raises(DataError, match=message):
        rules_from(tree)


# --- there and back ---

text = st.text(min_size=1, max_size=12)
days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
conditions = st.sampled_from(
    ["x == 1", 'brand == "a: b # c"', "`a b` > 3\n and y", "'\u2028' in z"]
)
ids = text | st.lists(text, min_size=1, max_size=4, unique=True)
selectors = {"docs": ids, "where": conditions.map(Where), "each": text.map(Each)}
requests = st.sampled_from([
    {"device": ["mobile", "tablet"]}, {"query": {"words": "red shoe", "stem": "english", "edits": 1}},
    {"not": {"price": {"at-most": 2.5}}}, {"any": [{"time": {"days": "monday"}}, {"a.b": {"glob": "x*"}}]},
])  # fmt: skip


def drawn_numbers(draw, kind):
    """The numbers of a rule, which must also suit each other."""
    own = {name: draw(st.integers(r.low, r.high)) for name, r in counts(kind).items()}
    own |= {name: draw(st.floats(r.low, r.high)) for name, r in measures(kind).items()}
    if kind in (Boost, Bury, Exposure):  # one of two
        own.pop(draw(st.sampled_from(PAIRS[kind.kind])))
    if kind is Insert:
        own["to"] = draw(st.sampled_from([0, max(own["position"], own["to"])]))
    if kind is Mix:
        own["m"] = min(own["m"], own["of"] - 1)
    return own


PAIRS = {
    "boost": ("factor", "percentile"), "bury": ("factor", "percentile"), "exposure": ("least", "most"),
    "insert": ("position", "to"), "mix": ("m", "of"),
}  # fmt: skip
"""Numbers of a rule that must suit each other."""


@st.composite
def any_rule(draw):
    kind = RULES[draw(st.sampled_from(sorted(RULES)))]
    choosers = choosers_of(kind) if len(kind.roles) == 1 else ("docs", "where")
    roles = {role: draw(st.one_of([selectors[key] for key in choosers])) for role in kind.roles}
    start, end = sorted([draw(days), draw(days)])
    queries = draw(st.sampled_from([{}, {"query": draw(st.text())}, {"pattern": draw(st.text())}]))
    numbers = drawn_numbers(draw, kind)
    try:
        return kind(
            **roles, **numbers, **queries, weight=draw(st.floats(0, 1e9) | st.integers(0, 10**9)),
            hard=draw(st.booleans()), name=draw(st.text()), class_=draw(st.text()),
            starts=draw(st.none() | st.just(start)), ends=draw(st.none() | st.just(end)),
            priority=draw(st.integers(-9, 2**31 - 1)), when=draw(st.none() | requests),
        )  # fmt: skip
    except UsageError:  # a number at its end that says nothing, or one document on both sides
        return Before("a", "b")


@given(st.lists(any_rule(), max_size=4))
@settings(max_examples=soak_cases(200))
def test_what_is_written_is_read_again(tmp_path_factory, rules):
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    write_rules(rules, path)
    assert read_rules(path) == tuple(rules)
    again = path.read_bytes()
    write_rules(read_rules(path), path)
    assert path.read_bytes() == again


def test_what_no_file_can_say_is_not_written(tmp_path):
    path = tmp_path / "rules.yaml"
    with pytest.raises(UsageError, match=r"text as ids in a file, got 3 in TopK\(3, 1\)"):
        write_rules([TopK(3, 1)], path)
    with pytest.raises(UsageError, match="expected a list of rules"):
        write_rules(TopK("a", 1), path)

    class Mine(TopK):
        kind = "mine"

    with pytest.raises(UsageError, match=r"a rule of podium\.postranking\.RULES"):
        write_rules([Mine("a", 1)], path)
    assert not path.exists()


# --- what is wrong is told with file and line ---

HEAD = "version: 1\nrules:\n"


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("", 1, "the file is empty; expected YAML"),
        ("# nothing\n", 1, "the file is empty"),
        ("- a\n", 1, "it is a list alone; put it below the lines version: 1 and rules:"),
        ("rules: []\n", None, "expected version: 1, got none"),
        ("version: 2\nrules: []\n", 1, "expected version: 1, got '2'"),
        ("version: 1\n", None, "expected a list of rules, got none"),
        ("version: 1\nrules:\n", 2, "expected a list of rules"),
        ("version: 1\nrule: []\n", 2, "unknown key 'rule'; did you mean rules"),
        (HEAD + "  - a\n", 3, "expected a rule, such as .*, got 'a'"),
        (HEAD + "  - docs: a\n", 3, "expected rule: and one of top-k, .*, got nothing"),
        (HEAD + "  - rule: topk\n", 3, "unknown rule 'topk'; did you mean top-k"),
        (HEAD + "  - rule: hide\n    dosc: a\n", 4, "unknown key of a hide rule 'dosc'; did you mean docs"),
        (HEAD + "  - rule: hide\n", 3, "expected one of docs, where in a hide rule, got none"),
        (HEAD + "  - rule: hide\n    docs: a\n    where: x\n", 5, "got docs and where"),
        (HEAD + "  - rule: hide\n    docs:\n", 4, "docs is empty; expected an id"),
        (HEAD + "  - rule: hide\n    docs: []\n", 4, "docs is empty; expected at least one document"),
        (HEAD + "  - rule: hide\n    docs: [a, {b: c}]\n", 4, "expected an id as docs"),
        (HEAD + "  - rule: hide\n    docs: [a, a]\n", 3, "expected each document once"),
        (HEAD + "  - rule: hide\n    where: x =\n", 4, "expected a condition such as"),
        (HEAD + "  - rule: before\n    first: a\n", 3, "needs first and second; second is missing"),
        (HEAD + "  - rule: before\n    first: {each: a}\n", 4, "as first, got each .expected each only in"),
        (HEAD + "  - rule: top-k\n    docs: a\n", 3, "a top-k rule needs k"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: three\n", 5, "expected a number as k, got 'three'"),
        (HEAD + '  - rule: top-k\n    docs: a\n    k: "3"\n', 5, "got '3'; write numbers without quotes"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: 3.0\n", 5, "expected a whole number as k, got 3.0"),
        (HEAD + "  - rule: hide\n    each: x\n", 4, "only in together, .*, at-least, take-turns, got it"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: 3.5\n", 5, "expected a whole number as k"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: 010\n", 5, "expected a number as k, got '010'"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: 1_0\n", 5, "expected a number as k, got '1_0'"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: \u0663\n", 5, "expected a number as k, got '\u0663'"),
        (HEAD + "  - {rule: hide, docs: a, weight: 1.\uff15}\n", 3, "a number as weight"),
        (HEAD + "  - {rule: hide, docs: a, starts: 2026-11-0\u0661}\n", 3, "a date such as"),
        (HEAD + "  - rule: top-k\n    docs: a\n    k: 0\n", 3, "k of 1 or more"),
        (HEAD + "  - {rule: hide, docs: a, weight: .nan}\n", 3, "a number as weight, got '.nan'"),
        (HEAD + "  - {rule: hide, docs: a, weight: 1e999}\n", 3, "weight of 0 or more"),
        (HEAD + "  - {rule: hide, docs: a, weight: -1}\n", 3, "weight of 0 or more"),
        (HEAD + "  - {rule: hide, docs: a, hard: yes}\n", 3, "true or false as hard, got 'yes'"),
        (HEAD + "  - {rule: hide, docs: a, starts: tomorrow}\n", 3, "a date such as 2026-11-01 as starts"),
        (HEAD + "  - {rule: hide, docs: a, ends: 2026-02-30}\n", 3, "a date as ends, got '2026-02-30'"),
        (HEAD + "  - {rule: hide, docs: a, query: x, pattern: y}\n", 3, "a query or a pattern"),
        (HEAD + "  - rule: hide\n    docs: a\n    docs: b\n", 5, "each key once, got 'docs' as on line 4"),
        ("a: 1\nb: [\n", 2, "this is not valid YAML"),
        (HEAD + "  - {rule: pin,\n    docs: a\n", 3, r"is a \[ or a \{ closed"),
        (HEAD + "  - {rule: pin, docs: 'a}\n", 3, "is a quote closed"),
        ("a: [b\nc: d\n", 2, "is a . or a . closed"),
        ("a: b: c\n", 1, "put text with a colon and a space in quotes"),
        ("a:\n\t- b\n", 2, "indent with spaces, not tabs"),
        ("version: 1\n---\nrules: []\n", 3, "expected one document"),
        ("a: &x [1]\nb: *x\n", 1, "no anchors and aliases"),
        ("b: *x\n", 1, "no anchors and aliases"),
        ("!!python/object/apply:os.system ['true']\n", 1, "no tags"),
        ("? [a]\n: b\n", 1, "text as a key"),
        ("[" * 20 + "]" * 20, 1, "at most 16 levels, got more"),
        (b"version: 1\nrules: [\xff]\n", 2, "UTF-8 text"),
    ],
)  # fmt: skip
def test_errors_have_file_and_line(file, body, line, message):
    path = file(body)
    with pytest.raises(DataError, match=message) as caught:
        read_rules(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_every_wrong_rule_is_found(file):
    found = read_rule_file(file(HEAD + "  - {rule: pin}\n  - {rule: hide, docs: a}\n  - 3\n"))
    assert [error.line for error in found.errors] == [3, 5]
    assert found.rules == (Hide("a"),)
    assert found.lines == (4,)


def test_bombs_are_refused_at_once(file):
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for text in (laughs, "[" * 1_000_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000):
        started = time.process_time()
        with pytest.raises(DataError):
            read_rules(file(text))
        assert time.process_time() - started < 5
    with pytest.raises(DataError, match="at most 8 MB"):
        read_rules(file(b" " * (MAX_YAML_BYTES + 1)))


def test_ten_thousand_rules_are_read_in_a_moment(file):
    rules = [TopK(f"d{at}", 3, query=f"query {at}", weight=at / 7) for at in range(10_000)]
    path = file("")
    write_rules(rules, path)
    started = time.process_time()
    assert read_rules(path) == tuple(rules)
    assert time.process_time() - started < 15


GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize("number", range(24))
def test_a_file_of_version_0_1_keeps_its_meaning(number):
    """The results were made by podium 0.1, before rules had conditions, classes and new kinds."""
    rules = read_rules(GOLDEN / "rules-v1.yaml")
    case = json.loads((GOLDEN / "rules-v1.json").read_text())["cases"][number]
    result = postrank(
        case["documents"], rules, query=case["query"], today=datetime.date.fromisoformat(case["today"]),
        missing="report", conflicts="yield",
    )  # fmt: skip
    assert [*result.order] == case["order"]
    assert [*result.hidden] == case["hidden"]
    for name in ("satisfied", "yielded", "acted"):
        assert [getattr(outcome, name) for outcome in result.rules] == case[name]


# --- damaged text ---

SPICES = [
    "&a ", "*a", "!!int ", "!x ", "? ", ": ", "- ", "[", "]", "{", "}", "#", "|", ">", "'", '"', "---\n",
    "%YAML 9.9\n", "...\n", "\t", "\n", "\x00", "\x85", "\u2028", "\ufeff", "\\x", '"\\U99999999"', "null",
    "~", "<<: ", "1e999", "0x1F", "-", "version: 1\n", "rules:\n", "  ", "where: ", "each: ",
    "k: 0\n", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("chunk", range(10))
def test_damaged_files_give_clear_errors_only(chunk):
    rng = random.Random(chunk)
    read, told = 0, []
    for _ in range(300):
        text = EXAMPLE
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            cut = rng.choice([0, 0, 1, 5, 40])
            text = text[:at] + rng.choice([*SPICES, ""]) + text[at + cut :]
        data = text.encode("utf-8", "surrogatepass")
        try:
            assert isinstance(parse_yaml(data), dict | list | str)
            rules_from(parse_yaml(data))
            read += 1
        except PodiumError as error:
            told.append(str(error))
    assert read > 0
    words = ("expected", "unknown", " needs ", "not valid YAML", "not UTF-8")
    assert all(any(word in text for word in words) for text in told)


@given(st.binary(max_size=200))
def test_any_bytes_are_yaml_or_a_clear_error(data):
    try:
        found = parse_yaml(data)
    except MalformedLineError:
        return
    assert isinstance(found, dict | list | str)


# --- the schema ---

SCHEMA = jsonschema.Draft202012Validator(schema(), format_checker=jsonschema.FormatChecker())


def is_valid(tree):
    return SCHEMA.is_valid(tree)


def is_read(tree):
    try:
        rules_from(tree)
    except DataError:
        return False
    return True


def as_json(rules, path):
    """The file of rules, as an editor sees it."""
    write_rules(rules, path)
    return json.loads(json.dumps(yaml.safe_load(path.read_text()), default=str))


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())
    assert set(schema()["$defs"]) == {"rule", "when", "when-test", *RULES}
    for name, kind in RULES.items():
        assert set(schema()["$defs"][name]["properties"]) == set(keys_of(kind))
        assert set(COMMON) < set(keys_of(kind))


@given(st.lists(any_rule(), max_size=3))
def test_the_schema_takes_what_is_written(tmp_path_factory, rules):
    assert is_valid(as_json(rules, tmp_path_factory.mktemp("rules") / "rules.yaml"))


VALUES = st.sampled_from([
    None, True, False, 0, 1, 3, -1, 2.5, 2**31, 1e12, "", "a", "3", "2026-11-01", "2026-02-30", "01-01-2026",
    [], ["a"], ["a", "b"], [["a"]], [1, 2], {}, {"where": "x == 1"}, {"each": "x"}, "top-k", "pin",
])  # fmt: skip
KEYS = st.sampled_from([
    "rule", "docs", "where", "each", "first", "second", "k", "m", "gap", "position", "weight", "hard",
    "name", "query", "pattern", "starts", "ends", "priority", "wieght", "class", "share", "significance",
    *{name for pair in PAIRS.values() for name in pair},
])  # fmt: skip


@given(any_rule(), st.lists(st.tuples(KEYS, st.just("drop") | VALUES), max_size=2))
@settings(max_examples=soak_cases(300))
def test_the_schema_and_the_reader_agree(tmp_path_factory, rule, changes):
    tree = as_json([rule], tmp_path_factory.mktemp("rules") / "rules.yaml")
    (entry,) = tree["rules"]
    for key, value in changes:
        if value == "drop":
            entry.pop(key, None)
        else:
            entry[key] = value
    # Conditions, dates that end before they start, a document on both sides, numbers that do not suit
    # each other: for the reader alone.
    unchecked = {"where", "starts", "ends", "first", "second", "each", *PAIRS.get(rule.kind, ())}
    if any(key in unchecked for key, _ in changes):
        assert not is_read(tree) or is_valid(tree)
    else:
        assert is_read(tree) == is_valid(tree)


@pytest.mark.parametrize(
    "tree",
    [
        {}, [], {"version": 1}, {"rules": []}, {"version": 2, "rules": []}, {"version": 1, "rules": {}},
        {"version": 1, "rules": [3]}, {"version": 1, "rules": [], "more": 1}, {"version": 1, "rules": []},
        {"version": 1, "rules": [{"rule": "before", "first": "a", "second": {"where": "x == 1"}}]},
        {"version": 1, "rules": [{"rule": "before", "first": "a", "second": {"each": "x"}}]},
        {"version": 1, "rules": [{"rule": "hide", "each": "x"}]},
        {"version": 1, "rules": [{"rule": "apart", "each": "x"}]},
    ],
    ids=str,
)  # fmt: skip
def test_the_schema_and_the_reader_agree_on_the_frame(tree):
    assert is_read(tree) == is_valid(tree)


def test_a_file_that_is_not_there_or_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot read nope\.yaml: there is no such file"):
        read_rules("nope.yaml")
    with pytest.raises(DataError, match="expected a file, got a folder"):
        read_rules(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"cannot write .*rules\.yaml: there is no folder"):
        write_rules([], tmp_path / "no" / "rules.yaml")
    name = tmp_path / ("a" * 253)  # no room for what a temporary name has more
    with pytest.raises(OSError, match=r"cannot write .*aaa: File name too long") as caught:
        write_rules([], name)
    assert f".{name.name}" not in str(caught.value)
