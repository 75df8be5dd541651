"""The commands postrank and rules."""

import datetime
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import podium
from podium.errors import DataError, EmptyDataError, MalformedLineError
from podium.postranking import (
    RULES,
    Hide,
    NotTopK,
    Pin,
    TopK,
    Where,
    examine_rules,
    postrank_batch,
    read_fields,
    read_queries,
    read_rules,
    schema,
)
from tests.support.cli import answer, flat, run

RULES_FILE = """\
version: 1
rules:
  - {rule: top-k, docs: q1-d3, k: 1, weight: 30, name: Three first}
  - {rule: at-most, each: brand, m: 2, k: 5, weight: 3}
  - {rule: hide, where: price > 1000, hard: true, query: query q2}
  - {rule: not-top-k, docs: nobody, k: 3}
  - {rule: not-top-k, docs: q1-d3, k: 3, ends: 2020-01-01}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run, rules, documents with fields as JSON lines and as a table, and queries."""
    monkeypatch.chdir(tmp_path)
    data = podium.make_synthetic(n_queries=6, n_docs=(8, 15), seed=3)
    podium.write_run(podium.Run.from_scores(data, data.X[:, 0]), "a.run")
    docs = [
        {"id": doc, "brand": "xyz"[at % 3], "price": 2000 if doc == "q2-d1" else at}
        for at, doc in enumerate(data.docids)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    rows = [f"{doc['id']},{doc['brand']},{doc['price']}\n" for doc in docs]
    (tmp_path / "docs.csv").write_text("id,brand,price\n" + "".join(rows))
    (tmp_path / "queries.tsv").write_text("".join(f"{qid}\tQuery {qid}\n" for qid in data.qids))
    texts = [json.dumps({"qid": qid, "text": f"Query {qid}"}) for qid in data.qids]
    (tmp_path / "queries.jsonl").write_text("\n".join(texts))
    (tmp_path / "rules.yaml").write_text(RULES_FILE)
    return tmp_path


ALL = ["a.run", "--rules", "rules.yaml", "--docs", "docs.jsonl", "--queries", "queries.tsv"]


def test_a_run_under_rules(folder):
    out = run("postrank", *ALL, "-o", "new.run").stdout
    expected = postrank_batch(
        podium.read_run("a.run"), read_rules("rules.yaml"), queries=read_queries("queries.tsv"),
        fields=read_fields("docs.jsonl"),
    )  # fmt: skip
    found = podium.read_run("new.run")
    assert list(found.docids) == list(expected.run.docids)
    assert found.values.tolist() == expected.run.values.tolist()
    assert "new.run, queries: 6, changed: " in out
    assert "documents hidden: 1" in out
    assert "Three first │ 1 │ 1 │ 0" in " ".join(out.split())
    assert "ended on 2020-01-01" in out
    assert "q2-d1" not in list(found.docids)


def test_without_a_file_the_run_goes_to_stdout(folder):
    run("postrank", *ALL, "-o", "new.run")
    assert run("postrank", *ALL).stdout == (folder / "new.run").read_text()


def test_tables_and_json_lines_say_the_same(folder):
    assert read_fields("docs.csv") == {
        doc: {**values, "id": doc} for doc, values in read_fields("docs.jsonl").items()
    }
    assert read_queries("queries.tsv") == read_queries("queries.jsonl")
    other = [
        word.replace("docs.jsonl", "docs.csv").replace("queries.tsv", "queries.jsonl")
        for word in ALL
    ]
    assert run("postrank", *other).stdout == run("postrank", *ALL).stdout


def test_fields_and_queries_come_from_parquet_and_arrow(folder):
    rows = [
        {"id": "a", "price": 9.5, "since": datetime.date(2026, 2, 1), "stock": None},
        {"id": "b", "price": math.nan, "since": None, "stock": 3},
    ]
    pq.write_table(pa.Table.from_pylist(rows), "docs.parquet")
    feather.write_feather(pa.Table.from_pylist(rows), "docs.arrow")
    expected = {
        "a": {"id": "a", "price": 9.5, "since": "2026-02-01"},
        "b": {"id": "b", "stock": 3},
    }
    assert read_fields("docs.parquet") == read_fields("docs.arrow") == expected
    texts = read_queries("queries.tsv")
    feather.write_feather(pa.table({"qid": list(texts), "text": list(texts.values())}), "q.arrow")
    assert read_queries("q.arrow") == texts


def test_settings_reach_the_solver(folder):
    options = {
        "base": "margin", "prior": 0.5, "pairs": "printed", "scale": "pair", "method": "bradley-terry",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    day = datetime.date(2019, 5, 1)
    found = run("postrank", *ALL, *words, "--today", "2019-05-01").stdout
    expected = postrank_batch(
        podium.read_run("a.run"), read_rules("rules.yaml"), queries=read_queries("queries.tsv"),
        fields=read_fields("docs.jsonl"), today=day, **options,
    )  # fmt: skip
    assert [line.split()[2] for line in found.splitlines()] == list(expected.run.docids)
    assert expected.rules[4].lists == 1


def test_one_query_is_explained(folder):
    text = run("postrank", *ALL, "--explain", "q1").stdout
    assert flat(text).startswith("Query q1, documents: ")
    assert "┃ document ┃ from ┃ to ┃ why ┃" in " ".join(text.split())
    told = answer("postrank", *ALL, "--explain", "q1")
    first = told["documents"][0]
    assert first["document"] == "q1-d3"
    assert first["to"] == 1
    assert first["because"] == [{"rule": "Three first", "index": 0, "line": 3}]
    assert told["rules"][0] == {
        "rule": "Three first", "index": 0, "line": 3, "satisfied": True, "slack": 0, "note": "",
        "yielded": False,
        "undecided": False,
        "yielded_to": [],
    }  # fmt: skip
    assert "AtMost(each brand, 2, 5)" in text
    hidden = answer("postrank", *ALL, "--explain", "q2")["documents"][-1]
    assert (hidden["document"], hidden["to"]) == ("q2-d1", None)
    assert "hidden" in run("postrank", *ALL, "--explain", "q2").stdout
    assert "(its id: q1, q2, q3, q4, q5, ...), got 'nothing'" in (
        run("postrank", *ALL, "--explain", "nothing", code=1).stderr
    )
    assert run("postrank", *ALL, "--explain", "query  Q1").stdout == text
    assert "with --queries" in run("postrank", *ALL[:3], "--explain", "query q1", code=1).stderr
    (folder / "queries.tsv").write_text("q1\tchess\nq2\tChess\n")
    assert "got 'chess', which is the text of 2 queries; name one by its id: q1, q2" in flat(
        run("postrank", *ALL, "--explain", "chess", code=1).stderr
    )


def test_many_reasons_are_cut_short_and_told_apart_in_json(folder):
    entry = "  - {rule: top-k, docs: q1-d3, k: 1, weight: 9, name: Up}\n"
    (folder / "rules.yaml").write_text("version: 1\nrules:\n" + entry * 5)
    text = run("postrank", *ALL, "--explain", "q1").stdout
    assert "Up; Up; Up; and 2 more" in text
    first = answer("postrank", *ALL, "--explain", "q1")["documents"][0]
    assert [(one["index"], one["line"]) for one in first["because"]] == [
        (at, at + 3) for at in range(5)
    ]


@pytest.mark.parametrize("method", ["mmr", "xquad"])
def test_lists_that_differ(folder, method):
    from podium.postranking import MMR, XQuAD

    (folder / "rules.yaml").write_text(
        "version: 1\nrules:\n  - {rule: pin, docs: q1-d3, position: 2, hard: true}\n"
    )
    words = [*ALL, "--method", method, "--field", "brand"]
    found = run("postrank", *words, "--trade-off", "0.3").stdout
    expected = postrank_batch(
        podium.read_run("a.run"), read_rules("rules.yaml"), fields=read_fields("docs.jsonl"),
        method={"mmr": MMR, "xquad": XQuAD}[method]("brand", 0.3),
    )  # fmt: skip
    assert [line.split()[2] for line in found.splitlines()] == list(expected.run.docids)
    assert expected["q1"][1] == "q1-d3"
    assert "got no --field; vectors" in run("postrank", *ALL, "--method", method, code=2).stderr
    few = [word for word in words if word not in ("--docs", "docs.jsonl")]
    assert "got no --docs" in run("postrank", *few, code=2).stderr
    error = run("postrank", *ALL, "--field", "brand", code=2).stderr
    assert "expected --method mmr or xquad with --field" in error


def test_facts_for_machines(folder):
    facts = answer("postrank", *ALL, "-o", "new.run")
    assert (facts["file"], facts["queries"], facts["hidden"]) == ("new.run", 6, 1)
    assert [rule["lists"] for rule in facts["rules"]] == [1, 6, 1, 0, 0]
    assert facts["rules"][3]["note"] == "names nothing in any list"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--base", "even"], 2, "unknown base 'even'"),
        (["--method", "newton"], 2, "unknown method"),
        (["--prior", "-1"], 2, "expected a prior of 0 to"),
        (["--conflicts", "ignore"], 2, "unknown conflicts"),
        (["-o", "a.run"], 1, "one of the files to be read"),
        (["-o", "rules.yaml"], 1, "one of the files to be read"),
        (["--today", "tomorrow"], 2, "today"),
    ],
)
def test_a_wrong_command_line(folder, words, code, message):
    assert message in flat(run("postrank", *ALL, *words, code=code).stderr)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("version: 1\nrules:\n  - {rule: topk}\n", "rules.yaml:3: unknown rule 'topk'"),
        ("version: 1\nrules:\n  - {rule: hide, where: brnad == 1}\n", "rules.yaml:3: unknown field 'brnad'"),
        (
            "version: 1\nrules:\n  - {rule: hide, docs: a}\n  - {rule: hide, where: brand == acme}\n",
            "rules.yaml:4: unknown field 'acme'; put text in quotes: \"acme\"",
        ),
        ("a: b: c", "rules.yaml:1: this is not valid YAML"),
    ],
)  # fmt: skip
def test_wrong_rules_end_with_code_1_and_one_line(folder, rules, message):
    (folder / "rules.yaml").write_text(rules)
    error = run("postrank", *ALL, code=1).stderr
    assert message in error
    assert len(error.splitlines()) == 1


def test_conflicting_rules_end_with_code_1(folder):
    (folder / "rules.yaml").write_text(
        "version: 1\nrules:\n  - {rule: pin, docs: q1-d1, position: 1, hard: true, name: One}\n"
        "  - {rule: pin, docs: q1-d2, position: 1, hard: true, priority: 2, name: Two}\n"
    )
    error = run("postrank", *ALL, code=1).stderr
    assert "rules.yaml:3: query 'q1': 2 hard rules contradict each other" in error
    assert "--conflicts yield" in error
    assert "(lines 3, 4)" in error
    run("postrank", *ALL, "--conflicts", "yield", "-o", "new.run")
    assert podium.read_run("new.run").docids[0] == "q1-d2"


def test_a_run_is_replaced_only_by_force(folder):
    (folder / "new.run").write_text("mine")
    error = run("postrank", *ALL, "-o", "new.run", code=2).stderr
    assert "new.run already exists; --force replaces it" in error
    assert (folder / "new.run").read_text() == "mine"
    run("postrank", *ALL, "-o", "new.run", "--force")
    assert len(podium.read_run("new.run").docids) > 0


def test_rules_of_equal_priority_give_way_and_are_named(folder):
    (folder / "rules.yaml").write_text(
        "version: 1\nrules:\n  - {rule: pin, docs: q1-d1, position: 1, hard: true, name: One}\n"
        "  - {rule: hide, docs: q1-d1, hard: true, name: Sold out}\n"
    )
    told = run("postrank", *ALL, "--conflicts", "yield", "-o", "new.run").stdout
    assert "gave way on 1" in next(line for line in told.splitlines() if "One" in line)
    assert "q1-d1" not in list(podium.read_run("new.run").docids)


# --- files of fields and queries ---


@pytest.mark.parametrize(
    ("name", "text", "error", "line"),
    [
        ("d.jsonl", '{"id": "a"}\n{"id": "a", "size": 1}\n', DataError, 2),
        ("d.jsonl", '{"name": "a"}\n', DataError, 1),
        ("d.jsonl", '{"id": true}\n', DataError, 1),
        ("d.jsonl", '{"id": "a"}\n[1]\n', MalformedLineError, 2),
        ("d.jsonl", '{"id": "a"\n', MalformedLineError, 1),
        ("d.jsonl", "[" * 100_000, MalformedLineError, 1),
        ("d.jsonl", "\n\n", EmptyDataError, None),
        ("d.csv", "name,price\na,1\n", MalformedLineError, 1),
        ("d.csv", "id,id\na,1\n", MalformedLineError, 1),
        ("d.csv", "id,price\na,1,2\n", MalformedLineError, 2),
        ("d.csv", 'id,price\na,"1\n', MalformedLineError, None),
        ("d.csv", "id,size\na,1\na,2\n", DataError, 3),
        ("d.csv", "", MalformedLineError, 1),
        ("d.csv", b"id\n\xff\n", MalformedLineError, 2),
    ],
)
def test_wrong_files_of_fields(tmp_path, name, text, error, line):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error) as caught:
        read_fields(path)
    assert caught.value.path == str(path)
    assert line is None or caught.value.line == line


def test_cells_of_a_table(tmp_path):
    path = tmp_path / "d.tsv"
    path.write_text(
        "id\ta\tb\tc\td\te\n7\t1\t2.5\t007\tTrue\t\n8\t-3\t1e3\ttwo words\tfalse\tx,y\n"
        "9\t1_0\t\u0661\t\uff12.5\tnan\tinf\n"  # text to all but Python
    )
    assert read_fields(path) == {
        "7": {"id": "7", "a": 1, "b": 2.5, "c": "007", "d": True},
        "8": {"id": "8", "a": -3, "b": 1000.0, "c": "two words", "d": False, "e": "x,y"},
        "9": {"id": "9", "a": "1_0", "b": "\u0661", "c": "\uff12.5", "d": "nan", "e": "inf"},
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "q1 chess\n"),
        ("q.tsv", "q1\ta\nq1\tb\n"),
        ("q.tsv", "\n"),
        ("q.jsonl", '{"qid": 1}\n'),
    ],
)
def test_wrong_files_of_queries(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match="expected"):
        read_queries(path)


# --- rules list, schema, check ---


def test_rules_are_listed():
    text = flat(run("rules", "list").stdout)
    assert all(name in text for name in RULES)
    told = answer("rules", "list")
    assert told["rules"]["at-most"]["keys"] == ["docs", "where", "each", "m", "k"]
    assert told["rules"]["before"]["keys"] == ["first", "second"]
    assert told["common"][:2] == ["weight", "hard"]


def test_the_schema_is_printed():
    assert json.loads(run("rules", "schema").stdout) == schema()


SOFT = "version: 1\nrules:\n"


def check(folder, text, *words, code=0):
    (folder / "rules.yaml").write_text(text)
    return run("rules", "check", "rules.yaml", *words, code=code).stdout.splitlines()


def test_everything_wrong_with_the_form_is_told(folder):
    told = check(folder, SOFT + "  - {rule: pin, docs: a}\n  - {rule: hide, docs: []}\n", code=1)
    assert told[0] == "rules.yaml:3: error: a pin rule needs position"
    assert told[1] == "rules.yaml:4: error: docs is empty; expected at least one document"
    assert told[2] == "rules: 2, errors: 2, warnings: 0"
    told = check(folder, "a: b: c", code=1)
    assert told[0].startswith("rules.yaml:1: error: this is not valid YAML")
    assert told[1] == "rules: 0, errors: 1, warnings: 0"
    assert (
        check(folder, "rules: []", code=1)[0] == "rules.yaml: error: expected version: 1, got none"
    )
    facts = answer("rules", "check", "rules.yaml", code=1)
    assert facts["findings"] == [
        {"level": "error", "line": None, "message": "expected version: 1, got none"}
    ]
    told = check(folder, SOFT + "  - rule: hide\n    docs: a\n    docs: b\n", code=1)
    assert told[0] == "rules.yaml:5: error: expected each key once, got 'docs' as on line 4"


def test_rules_that_are_over_or_there_twice_or_weigh_nothing(folder):
    told = check(
        folder,
        SOFT
        + "  - {rule: hide, docs: a, ends: 2020-01-01}\n  - {rule: hide, docs: b, hard: true}\n"
        "  - {rule: hide, docs: b, hard: true, name: again}\n  - {rule: hide, docs: c, weight: 0}\n"
        "  - {rule: hide, where: price > 3}\n",
    )
    assert told == [
        "rules.yaml:3: warning: Hide('a'): never acts: ended on 2020-01-01",
        "rules.yaml:5: warning: again and Hide('b') (line 4): say the same",
        "rules.yaml:6: warning: Hide('c'): never acts: its weight is 0",
        "rules.yaml:7: warning: Hide(price > 3): selects by fields, but no fields are given",
        "rules: 5, errors: 0, warnings: 4",
    ]


def test_unknown_documents_and_fields_are_errors(folder):
    text = SOFT + "  - {rule: hide, docs: [q1-d1, q9-d9]}\n  - {rule: hide, where: brnad == 'x'}\n"
    told = check(folder, text, "--docs", "docs.jsonl", code=1)
    assert (
        told[0] == "rules.yaml:3: error: Hide(['q1-d1', 'q9-d9']): names unknown documents: 'q9-d9'"
    )
    assert "rules.yaml:4: error: " in told[1]
    assert "unknown field 'brnad'; did you mean brand?" in told[1]


def test_rules_that_never_act_on_a_run(folder):
    text = SOFT + (
        "  - {rule: hide, docs: q1-d1, hard: true}\n  - {rule: hide, docs: q1-d2, hard: true, query: ludo}\n"
        "  - {rule: hide, docs: nobody, hard: true}\n  - {rule: hide, where: price > 9e9, hard: true}\n"
    )
    words = ["--run", "a.run", "--queries", "queries.tsv"]
    assert check(folder, text, *words) == [
        "rules.yaml:4: warning: Hide('q1-d2'): never acts: no query is 'ludo'",
        "rules.yaml:5: warning: Hide('nobody'): never acts: names nothing in any list",
        "rules.yaml:6: warning: Hide(price > 9e9): selects by fields, but no fields are given",
        "rules: 4, errors: 0, warnings: 3",
    ]
    found = answer("rules", "check", "rules.yaml", *words, "--docs", "docs.jsonl", code=1)[
        "findings"
    ]
    assert [(one["line"], one["level"]) for one in found] == [
        (4, "warning"),
        (5, "error"),
        (6, "warning"),
    ]
    assert "names nothing in the list" in found[2]["message"]


CONFLICTS = SOFT + (
    "  - {rule: pin, docs: a, position: 1, hard: true, name: A first}\n"
    "  - {rule: pin, docs: b, position: 1, hard: true, query: Chess}\n"
    "  - {rule: hide, docs: a, hard: true, pattern: '*go*'}\n"
    "  - {rule: top-k, docs: c, k: 3}\n"
    "  - {rule: not-top-k, docs: c, k: 3}\n"
    "  - {rule: before, first: c, second: d, hard: true, starts: 2030-01-01}\n"
    "  - {rule: before, first: d, second: c, hard: true}\n"
)


def test_conflicts_are_found_without_a_run(folder):
    told = check(folder, CONFLICTS, "--today", "2026-11-15", code=1)
    assert told == [
        "rules.yaml:3: error: A first and Pin('b', 1) (line 4): cannot hold together, for query 'chess'",
        "rules.yaml:3: error: A first and Hide('a') (line 5): cannot hold together, for query '*go*'",
        "rules.yaml:6: warning: TopK('c', 3) and NotTopK('c', 3) (line 7): cannot hold together",
        "rules.yaml:8: error: Before('c', 'd') and Before('d', 'c') (line 9): cannot hold together",
        "rules: 7, errors: 3, warnings: 1",
    ]


def test_conflicts_are_found_on_the_lists_of_a_run(folder):
    text = SOFT + (
        "  - {rule: pin, docs: q1-d1, position: 1, hard: true}\n"
        "  - {rule: pin, docs: q1-d2, position: 1, hard: true, query: query q1}\n"
        "  - {rule: not-top-k, docs: q2-d1, k: 15, hard: true}\n"
    )
    told = check(folder, text, "--run", "a.run", "--queries", "queries.tsv", code=1)
    assert told[0].endswith(
        "error: Pin('q1-d1', 1) and Pin('q1-d2', 1) (line 4): cannot hold together, for query 'q1'"
    )
    assert told[1].endswith(
        "warning: NotTopK('q2-d1', 15): cannot hold on this list, for query 'q2'; it gives way when "
        "the list is served"
    )


PIN = "  - {rule: pin, docs: q1-d1, position: 1, hard: true%s}\n"


@pytest.mark.parametrize(
    ("other", "rule", "says"),
    [
        (
            "hide, where: stock == 0",
            "Hide(stock == 0)",
            "Pin('q1-d1', 1): a pin gives way to a hide",
        ),
        (
            "not-top-k, where: stock == 0, k: 1",
            "NotTopK(stock == 0, 1)",
            "Pin('q1-d1', 1): its name sorts last",
        ),
        (
            "pin, docs: q1-d2, position: 1, query: query q1, priority: 5",
            "Pin('q1-d2', 1)",
            "Pin('q1-d1', 1): its priority is the lowest",
        ),
    ],
)
def test_a_clash_that_the_service_resolves_is_a_warning(folder, other, rule, says):
    (folder / "sold.jsonl").write_text(
        "".join(f'{{"id": "q1-d{n}", "stock": {n - 1}}}\n' for n in range(1, 4))
    )
    text = SOFT + PIN % "" + f"  - {{rule: {other}, hard: true}}\n"
    name, reason = says.split(": ")
    options = ["--run", "a.run", "--queries", "queries.tsv", "--docs", "sold.jsonl"]
    told = check(folder, text, *options)
    assert told[0].endswith(
        f"warning: Pin('q1-d1', 1) and {rule} (line 4): cannot hold together, for query 'q1'; "
        f"{name} gives way when the list is served: {reason}"
    )
    assert told[-1].startswith("rules: 2, errors: 0, ")
    assert told[-2].endswith(
        "podium postrank does so with --conflicts yield, and else stops at such rules"
    )


def test_the_check_says_why_rules_clash_on_a_list(folder):
    """Two brands, at most 1 of each: 2 documents for 3 places."""
    (folder / "brands.jsonl").write_text(
        "".join(
            f'{{"id": "{doc}", "brand": "{"ab"[n % 2]}"}}\n'
            for n, doc in enumerate(sorted(set(podium.read_run("a.run").docids)))
        )
    )
    text = "version: 1\nrules:\n  - {rule: at-most, each: brand, m: 1, k: 3, hard: true}\n"
    told = check(folder, text, "--run", "a.run", "--docs", "brands.jsonl")
    assert any(
        "2 values of brand" in line
        and "may be in the top 3: 2 documents for 3 places; k: 2 would fit" in line
        for line in told
    ), told


def test_rules_that_are_well_leave_nothing_to_say(folder):
    rules = [TopK("a", 3), NotTopK("b", 3), Pin("c", 5, hard=True), Hide(["x", "y"], hard=True)]
    assert examine_rules(rules) == ()
    text = SOFT + "  - {rule: top-k, docs: q1-d1, k: 3, hard: true}\n"
    assert check(folder, text, "--run", "a.run", "--docs", "docs.csv") == [
        "rules: 1, errors: 0, warnings: 0"
    ]
    assert examine_rules([Hide(Where("x > 3"), hard=True)], fields={"a": {"x": 5}}) == ()


def test_documents_of_the_run_that_docs_lacks_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n2 Q0 b 1 1 x\n")
    Path("half.csv").write_text("id,stock\na,0\n")
    Path("rules.yaml").write_text(
        "version: 1\nrules:\n  - {rule: hide, where: stock == 0, hard: true}\n"
    )
    warning = "1 of 2 documents of a.run are not in half.csv, such as 'b'; rules on fields do not see them"
    files = ("--docs", "half.csv")
    checked = run("rules", "check", "rules.yaml", *files, "--run", "a.run").stdout
    assert checked.startswith(f"rules.yaml: warning: {warning}\n")
    ruled = run("postrank", "a.run", "--rules", "rules.yaml", *files)
    assert ruled.stderr == f"podium: warning: {warning}\n"
    Path("rules.yaml").write_text("version: 1\nrules:\n  - {rule: hide, docs: a, hard: true}\n")
    assert not run("postrank", "a.run", "--rules", "rules.yaml", *files).stderr


def test_rules_for_a_query_need_the_texts_of_queries(folder):
    (folder / "pin.yaml").write_text(
        "version: 1\nrules:\n  - {rule: pin, docs: q2-d1, position: 1, query: query q2}\n"
    )
    reason = (
        "no query is 'query q2', compared with ids such as 'q6', because the texts of queries are "
    )
    reason += "not known"
    advice = "--queries FILE gives the text of each query"
    for arguments in (
        ("rules", "check", "pin.yaml", "--run", "a.run"),
        ("postrank", "a.run", "--rules", "pin.yaml", "-o", "b.run"),
    ):
        shown = flat(run(*arguments).output)
        assert f"never acts: {reason}; {advice}" in shown
        assert reason not in flat(
            run(*arguments, "--queries", "queries.tsv", *FORCE[arguments[0]]).output
        )


FORCE = {"rules": (), "postrank": ("--force",)}
