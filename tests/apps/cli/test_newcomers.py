"""What a newcomer meets on the command line: names that stay, files that stay, words that help."""

import bz2
import gzip
import json
import lzma
import zipfile
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
from rich.emoji import Emoji
from rich.text import Text
from typer.testing import CliRunner

import podium
from podium.apps.cli.command_table import COMMANDS
from podium.apps.cli.usage_advice import AdvisingCommand, literal
from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.samples import read_samples
from podium.apps.serving.settings import ServingSettings
from podium.data import Columns, read_table
from podium.data.csv_text import check_utf8
from podium.errors import MalformedLineError
from podium.postranking import read_fields
from tests.support.cli import answer, flat, run

SHOP = (
    "search_id;product_id;grade;title;price\n"
    "1;a;good;Schöne Schuhe;9,5\n1;b;bad;Hut;12,25\n2;a;good;Schuhe;3\n2;c;bad;Rock;4\n"
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    write("shop.csv", SHOP)
    return write


def error_of(*arguments, code):
    return run(*arguments, code=code).stderr.strip().splitlines()[-1]


# --- columns


def test_split_keeps_names_words_and_marks_so_that_columns_fit(write):
    run("data", "info", "shop.csv", "--grades", "good=2,bad=0", "--decimal", ",",
        "--write-columns", "columns.yaml")  # fmt: skip
    run("data", "split", "shop.csv", "parts", "--fractions", "0.5,0.5", "--ending", ".csv",
        "--columns", "columns.yaml")  # fmt: skip
    for part in ("train", "test"):
        assert run("data", "info", f"parts/{part}.csv", "--columns", "columns.yaml")
    lines = "".join(Path(f"parts/{part}.csv").read_text() for part in ("train", "test"))
    assert "search_id;product_id;title;grade;price\n" in lines
    assert "1;b;Hut;bad;12,25\n" in lines


def test_a_rating_may_be_a_feature(write):
    write("shop.csv", "search_id,sku,rating,price\n1,a,3,2\n1,b,2,1\n")
    assert "label as rating (or is it a feature?)" in run("data", "info", "shop.csv").stderr


@pytest.mark.parametrize(
    "command",
    [
        ["train", "regression", "shop.csv", "-o", "m.podium"],
        ["tune", "regression", "shop.csv", "--valid", "shop.csv", "--grid", "l2=1,2", "-o", "m.podium"],
        ["compare", "shop.csv", "--rankers", "regression", "--folds", "2", "--out", "report"],
    ],
)  # fmt: skip
def test_nothing_is_learned_from_a_rating_that_is_only_guessed_to_be_the_label(write, command):
    rows = "".join(f"{q},{d},{s},{s + q}\n" for q in range(8) for d, s in (("a", 3), ("b", 2)))
    write("shop.csv", f"search_id,sku,rating,price\n{rows}")
    assert error_of(*command, code=2) == (
        "podium: shop.csv: expected a column named label, grade or relevance, got only rating, which may "
        "be a feature; give --label rating if it is the label, or name the column of labels with "
        "--label COLUMN"
    )
    assert not Path("m.podium").exists()
    run(*command, "--label", "rating")


def test_an_empty_rating_says_that_it_was_guessed_to_be_the_label(write):
    write("shop.csv", "search_id,sku,rating,price\n1,a,3,2\n1,b,,1\n")
    for missing in ("nan", "error"):
        assert error_of("data", "info", "shop.csv", "--missing", missing, code=1).endswith(
            "leave the row out; rating is only guessed to be the label, --label names another column"
        )


def test_missing_values_name_the_ranker_that_does_not_take_them(write):
    write("gaps.csv", "qid,docid,label,price,brand\n1,a,1,,x\n1,b,0,1,y\n")
    assert "which ranksvm does not take; train with --impute median" in error_of(
        "train", "ranksvm", "gaps.csv", "--missing", "nan", "--categories", "brand", "-o", "m.podium",
        code=1,
    )  # fmt: skip
    run(
        "train",
        "ranksvm",
        "gaps.csv",
        "--impute",
        "median",
        "--categories",
        "brand",
        "-o",
        "m.podium",
    )


# --- text that is not UTF-8


def test_other_encodings_are_told_with_file_line_byte_and_remedy(write):
    write("latin.csv", SHOP.encode("latin1"))
    assert error_of("data", "info", "latin.csv", code=1) == (
        "podium: latin.csv:2: expected text in UTF-8, got the byte 0xf6; save the file as CSV in UTF-8, "
        "or convert it, as in: iconv -f latin1 -t utf-8 latin.csv > utf8.csv"
    )


def test_the_line_is_right_in_later_blocks(tmp_path):
    rows = [f"{q},{d},0,a" for q in range(30_000) for d in range(5)]
    rows[140_000] = "q,1,0,\xe9"
    path = tmp_path / "large.csv"
    path.write_bytes("\n".join(["qid,sku,label,title", *rows]).encode("latin1"))
    with pytest.raises(MalformedLineError, match=r"large\.csv:140002: .*0xe9"):
        read_table(path, features=[])
    check_utf8(np.frombuffer("é".encode(), np.uint8), "x", 0)


# --- documents and rules


@pytest.mark.parametrize("column", ["id", "product_id", "SKU", "url"])
def test_fields_take_the_usual_names_of_documents(write, column):
    write("docs.csv", f"brand,{column}\nAcme,a\n")
    assert read_fields("docs.csv") == {"a": {"brand": "Acme", column: "a"}}
    write("docs.jsonl", json.dumps({"brand": "Acme", column: "a"}) + "\n")
    assert read_fields("docs.jsonl") == {"a": {"brand": "Acme", column: "a"}}


def test_fields_without_ids_name_what_is_there(write):
    write("docs.csv", "brand,colour\nAcme,red\n")
    with pytest.raises(
        MalformedLineError, match=r"docs\.csv:1: expected a column of document ids \(id, "
    ):
        read_fields("docs.csv")


def test_fields_may_repeat_a_document_with_equal_fields(write):
    write("docs.csv", "sku,brand,price\na,Acme,2\nb,Bolt,3\na,Acme,2\n")
    assert read_fields("docs.csv") == {
        "a": {"sku": "a", "brand": "Acme", "price": 2},
        "b": {"sku": "b", "brand": "Bolt", "price": 3},
    }
    record = json.dumps({"id": 1, "brand": "Acme"}) + "\n"
    write("docs.jsonl", record + record)
    assert read_fields("docs.jsonl") == {"1": {"id": 1, "brand": "Acme"}}


def test_documents_with_different_fields_name_both_lines_and_the_field(write):
    write("docs.csv", "sku,brand,price,size\na,Acme,2,S\nb,Bolt,3,S\na,Acme,4,\n")
    write("rules.yaml", "version: 1\nrules:\n  - {rule: hide, docs: a}\n")
    assert error_of("rules", "check", "rules.yaml", "--docs", "docs.csv", code=1) == (
        "podium: docs.csv:4: expected equal fields wherever sku is 'a', got price 2 on line 2 and 4 on "
        "line 4 (also different: size); keep one line per sku, or leave the columns that differ out of "
        "the file"
    )


def test_rank_checks_rules_against_the_fields(write):
    write("data.csv", "qid,docid,label,price\n1,a,1,2\n1,b,0,1\n")
    run("train", "regression", "data.csv", "-o", "m.podium")
    write("docs.csv", "product_id,brand\na,Acme\nb,Bolt\n")
    write(
        "rules.yaml",
        "version: 1\nrules:\n  - {rule: top-k, where: \"brnd == 'Acme'\", k: 1, weight: 2}\n",
    )
    result = run("rank", "m.podium", "--rules", "rules.yaml", "--docs", "docs.csv", input="")
    checked = run("rules", "check", "rules.yaml", "--docs", "docs.csv", code=1).stdout
    assert "rules.yaml:3: " in result.stderr
    assert "brnd" in result.stderr
    assert result.stderr.strip().removeprefix("podium: warning: ").split(": ", 1)[
        1
    ] in checked.replace("error: ", "")


def test_thousands_marks_in_documents_are_warned_of_before_a_hard_rule_misses_them(write):
    write("docs.csv", 'sku,price\na,"1,788.30"\nb,295.59\nc,"2,000"\n')
    write("rules.yaml", "version: 1\nrules:\n  - {rule: hide, where: price > 1000, hard: true}\n")
    write("test.run", "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 1 x\n")
    note = (
        'price is text in 2 of 3 documents, for example "1,788.30", and the rule compares it with a number; '
        "write 1788.30 there, without thousands marks and with a decimal point"
    )
    checked = run("rules", "check", "rules.yaml", "--docs", "docs.csv").stdout
    assert "rules.yaml:3: warning: " in checked
    assert note in checked
    warned = run("postrank", "test.run", "--rules", "rules.yaml", "--docs", "docs.csv").stderr
    assert warned.startswith("podium: warning: rules.yaml:3: ")
    assert note in warned
    (served,) = ServedFiles(ServingSettings((), rules="rules.yaml", docs="docs.csv")).state.warnings
    assert served.startswith("rules.yaml:3: ")
    assert note in served
    write("plain.csv", "sku,price\na,1788.30\nb,295.59\nc,2000\n")
    assert not run("postrank", "test.run", "--rules", "rules.yaml", "--docs", "plain.csv").stderr


def test_predict_makes_samples_of_a_table(write):
    write(
        "shop.csv",
        "search_id,sku,grade,title,brand,price\nhat,a,1,Cap,Acme,2.5\nhat,b,0,Fez,Bolt,\nshoe,a,1,Cap,Acme,1\n",
    )
    columns = ("--categories", "brand", "--text-columns", "title", "--missing", "nan")
    run("train", "regression", "shop.csv", *columns, "--impute", "mean", "-o", "m.podium")
    run("predict", "m.podium", "shop.csv", "--text-columns", "title", "-o", "samples.jsonl")
    features = [
        {"brand": "Acme", "price": 2.5},
        {"brand": "Bolt", "price": None},
        {"brand": "Acme", "price": 1.0},
    ]
    first, second, third = (
        {"id": id_, "features": own, "fields": {"title": title}}
        for id_, own, title in zip("aba", features, ("Cap", "Fez", "Cap"), strict=True)
    )
    lines = Path("samples.jsonl").read_text()
    assert list(map(json.loads, lines.splitlines())) == [
        {"id": "hat", "query": "hat", "documents": [first, second]},
        {"id": "shoe", "query": "shoe", "documents": [third]},
    ]
    assert list(read_samples("samples.jsonl").queries) == ["hat", "shoe"]
    assert error_of("serve", "m.podium", "--samples", "shop.csv", "--port", "0", code=1) == (
        "podium: shop.csv: expected JSON lines, got a table; podium predict MODEL shop.csv -o samples.jsonl "
        "makes them of a table"
    )
    answers = run("rank", "m.podium", input=lines).stdout.splitlines()
    scores = [score for line in answers for score in json.loads(line)["scores"]]
    expected = podium.load("m.podium").predict(
        read_table("shop.csv", categories=["brand"], text=["title"], missing="nan")
    )
    np.testing.assert_allclose(sorted(scores), sorted(expected), rtol=1e-12)


def test_samples_need_ids_that_occur_once(write):
    write("data.csv", "qid,label,price\n1,1,2\n1,0,1\n")
    run("train", "regression", "data.csv", "-o", "m.podium")
    assert "needs document ids" in error_of(
        "predict", "m.podium", "data.csv", "-o", "s.jsonl", code=1
    )
    write("twice.csv", "qid,docid,price\n1,a,2\n1,a,1\n")
    assert "got 'a' twice in query '1'" in error_of(
        "predict", "m.podium", "twice.csv", "-o", "s.jsonl", code=1
    )
    assert not Path("s.jsonl").exists()


# --- files that are there


def test_predict_keeps_a_file_that_is_there(write):
    write("data.csv", "qid,docid,label,price\n1,a,1,2\n1,b,0,1\n")
    run("train", "regression", "data.csv", "-o", "m.podium")
    run("predict", "m.podium", "data.csv", "-o", "data.scores")
    assert error_of("predict", "m.podium", "data.csv", "-o", "data.scores", code=2) == (
        "podium: expected a new file, but data.scores already exists; --force replaces it"
    )
    run("predict", "m.podium", "data.csv", "-o", "data.scores", "--force")


WRITES = ("out", "plot", "figure", "write_columns")
REPLACES = {("reproduce",): "the same command continues an earlier run"}


def option_classes():
    """Yield the path of each command and the class of its options."""
    for name, entry in COMMANDS.items():
        inner = (
            {(name, n): e for n, e in entry.commands.items()}
            if hasattr(entry, "commands")
            else {(name,): entry}
        )
        for path, command in inner.items():
            module = import_module(f"podium.apps.cli.options.{command.module}")
            words = "-".join(path).split("-")
            yield path, getattr(module, "".join(map(str.capitalize, words)) + "Options")


def test_every_command_that_writes_files_has_force():
    writing = {
        path: own for path, kind in option_classes()
        if (own := {field.name for field in fields(kind)}) & {*WRITES}
    }  # fmt: skip
    assert len(writing) > 15
    assert {path for path, own in writing.items() if "force" not in own} == {*REPLACES}


def test_pictures_that_are_there_stay(shop):
    shop("curve.svg", "mine")
    arguments = ("train", "listnet", "data.csv", "-o", "new.podium", "--plot", "curve.svg")
    assert error_of(*arguments, code=2) == (
        "podium: expected a new file, but curve.svg already exists; --force replaces it"
    )
    assert Path("curve.svg").read_text() == "mine"
    assert not Path("new.podium").exists()


def test_write_csv_with_columns(write, tmp_path):
    columns = Columns(query="s", doc="sku", label="stars", text=("title",))
    data = podium.RankingData.from_arrays(
        [[1.5]], [1], qid=["q"], docid=["a"], doc_text={"title": ["Hat"]}, feature_names=["price"]
    )
    podium.data.write_csv(data, tmp_path / "out.csv", columns)
    assert (tmp_path / "out.csv").read_text() == "s,sku,title,stars,price\nq,a,Hat,1,1.5\n"


# --- messages

DATA = "qid,docid,label,price\n1,a,1,2\n1,b,0,1\n1,c,0,3\n"


@pytest.fixture
def shop(write):
    write("data.csv", DATA)
    run("train", "regression", "data.csv", "-o", "m.podium")
    return write


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("train", "xgboost", "data.csv", "-o", "x.podium"), 2, ["did you mean lambdamart?"]),
        (("train", "YetiRank", "data.csv", "-o", "x.podium"), 2, ["did you mean catboost?"]),
        (("train", "svmrank", "data.csv", "-o", "x.podium"), 2, ["did you mean ranksvm?"]),
        (("evaluate", "data.csv", "x", "-m", "NDCG10"), 2, ["did you mean NDCG@10?"]),
        (("evaluate", "data.csv", "x", "-m", "ndcg_5"), 2, ["did you mean NDCG@5?"]),
        (
            ("predict", "data.csv", "m.podium"),
            1,
            ["data.csv: ", "the model comes first"],
        ),
        (("serve", "data.csv"), 1, ["data.csv: ", "podium train makes a model"]),
        (
            ("data", "info", "m.podium"),
            1,
            ["m.podium: ", "got a podium model; a model comes before the data"],
        ),
    ],
)
def test_a_wrong_name_or_order_is_told_with_the_right_one(shop, arguments, code, parts):
    shop("x", "1\n2\n3\n")
    line = error_of(*arguments, code=code)
    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("option", "wrong", "nearest"),
    [("--label", "lable", "label"), ("--query", "quid", "qid"), ("--doc", "doc", "docid"),
     ("--features", "prise", "price"), ("--ignore", "prices", "price")],
)  # fmt: skip
def test_an_unknown_column_lists_those_of_the_table(shop, option, wrong, nearest):
    assert error_of("data", "info", "data.csv", option, wrong, code=2) == (
        f"podium: data.csv: unknown column '{wrong}'; did you mean {nearest}? "
        "The table has qid, docid, label, price" + "; --ignore names it" * (option == "--ignore")
    )


def test_a_column_that_is_near_to_none_lists_those_of_the_table(shop):
    assert error_of("data", "info", "data.csv", "--label", "zzzz", code=2) == (
        "podium: data.csv: unknown column 'zzzz'; the table has qid, docid, label, price"
    )


def test_explain_takes_data_with_and_without_its_option(shop):
    by_option = run("explain", "m.podium", "--data", "data.csv", "--query", "1").stdout
    assert run("explain", "m.podium", "data.csv", "--query", "1").stdout == by_option
    assert "expected --data DATA together with --query Q" in error_of(
        "explain", "m.podium", "data.csv", code=2
    )


SCORES_ORDER = "the labelled data comes first, then scores: podium evaluate DATA SCORES"


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ("train data.csv regression -o x.podium", 2,
         "The ranker comes first, then the data: podium train regression data.csv"),
        ("tune data.csv regression --valid data.csv -o x.podium", 2,
         "The ranker comes first, then the data: podium tune regression data.csv"),
        ("train data.csv -o x.podium", 2,
         "Missing argument 'TRAIN...'. The ranker comes first, then the data: podium train RANKER data.csv"),
        ("train data.csv data.csv -o x.podium", 2,
         "expected a ranker, such as listnet, got the file data.csv"),
        ("train regression datas.csv -o x.podium", 2, "'datas.csv' does not exist. Did you mean data.csv?"),
        ("train regression no/data.csv -o x.podium", 2, "There is no folder no."),
        ("evaluate x data.csv", 1, f"x: expected LETOR text or a table (CSV, Parquet), got what looks like "
         f"scores; {SCORES_ORDER}"),
        ("evaluate data.csv data.csv", 1, SCORES_ORDER),
        ("evaluate data.csv m.podium", 1, f"m.podium: expected data, got a podium model; {SCORES_ORDER}"),
        ("postrank rules.yaml --rules a.run", 1, "a.run:1: this is not a rule file; expected version: 1"),
        ("postrank a.run --rules a.run", 1, "the run comes first, as in: podium postrank RUN --rules RULES"),
        ("postrank rules.yaml --rules rules.yaml", 1, "podium predict MODEL DATA -o name.run writes one"),
    ],
)  # fmt: skip
def test_swapped_arguments_are_told_which_is_which(shop, arguments, code, part):
    shop("x", "1\n2\n3\n")
    shop("a.run", "1 Q0 a 1 0.5 t\n")
    shop("rules.yaml", "version: 1\nrules:\n  - {rule: hide, docs: a}\n")
    assert part in flat(run(*arguments.split(), code=code).stderr)


def test_a_file_that_is_missing_is_no_ranker(shop):
    told = flat(
        run("train", "regression", "nothing", "--valid", "data.csv", "-o", "x", code=2).stderr
    )
    assert "'nothing' does not exist" in told
    assert "The ranker comes first" not in told


ARRAY = json.dumps([{"qid": 1, "label": 1, "price": 2}])


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("x.csv", gzip.compress(DATA.encode(), mtime=0), "got gzip data; rename it to x.csv.gz"),
        ("x.txt", lzma.compress(DATA.encode()), "got xz data; rename it to x.txt.xz"),
        ("x.csv", bz2.compress(DATA.encode()), "got bzip2 data; rename it to x.csv.bz2"),
        ("x.csv", DATA.encode("utf-16"), "got text in UTF-16; save it as UTF-8, or convert it, as in: "
         "iconv -f utf-16 -t utf-8 x.csv > utf8.csv"),
        ("x.csv", b"\xd0\xcf\x11\xe0\0\0", "got a spreadsheet; save it as CSV in UTF-8"),
        ("x.jsonl", ARRAY, "x.jsonl:1: expected JSON lines, one object per line, got a JSON array; write it "
         "as lines, as in: jq -c '.[]' x.jsonl > lines.jsonl"),
        ("x.jsonl", ARRAY.replace("{", "{\n"), "got a JSON array"),
        ("x.json", ARRAY, "got a JSON array"),
        ("x.jsonl", gzip.compress(ARRAY.encode(), mtime=0), "got gzip data; rename it to x.jsonl.gz"),
    ],
)  # fmt: skip
def test_files_of_another_kind_are_named_with_the_remedy(write, name, content, part):
    write(name, content)
    assert part in error_of("data", "info", name, code=1)


@pytest.mark.parametrize(
    ("inner", "part"),
    [("shop.csv", "got a zip archive; unpack it first, as in: unzip x.csv"),
     ("xl/workbook.xml", "got a spreadsheet; save it as CSV in UTF-8")],
)  # fmt: skip
def test_zip_archives_are_named_with_the_remedy(write, inner, part):
    with zipfile.ZipFile("x.csv", "w") as archive:
        archive.writestr(inner, DATA)
    assert part in error_of("data", "info", "x.csv", code=1)


def rules_of(entry):
    return f"version: 1\nrules:\n  - {entry}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (
            "compare data.csv --rankers listnet --out o",
            1,
            "got 1 query; use fewer --folds, or larger --fractions, or data with more queries",
        ),
        (
            "train lambdamart data.csv -o x.podium",
            1,
            "use a smaller one, as in --set min_leaf=1, or more data",
        ),
        (
            "train listnet data.csv --query docid -o x.podium",
            1,
            "in each of the 3 queries there is one document only; listnet needs at least one query "
            "with different labels; is the column of queries right? "
            "--query names another one",
        ),
        (
            "train listnet same.csv -o x.podium",
            1,
            "in the only query all documents have the same label",
        ),
        (
            "train listnet data.csv --ignore price -o x.podium",
            1,
            "data.csv: expected feature columns, got none beside "
            "qid, docid, label, price; name them with --features, or columns of words with --categories",
        ),
        (
            "train listnet empty.csv -o x.podium",
            1,
            "empty.csv:2: column 'price': expected a number, got an empty field; "
            "--impute median fills it in; lambdamart, catboost and auto take missing values as they are",
        ),
        (
            "train listnet words.csv --grades good=1 -o x.podium",
            1,
            "words.csv:3: column 'label': expected one of the grades good=1, got 'bad'; add bad=N to",
        ),
        (
            "data info data.csv --columns data.csv",
            1,
            "podium data info DATA --write-columns columns.yaml writes such a file",
        ),
        ("predict m.podium data.csv -o q.foo", 2, ".scores, got q.foo; or name the format with"),
        (
            "predict m.podium data.csv -o x.xlsx",
            2,
            "expected -o OUT with a name for scores that ends in .npy .run .parquet .pq .jsonl .ndjson .txt "
            ".scores, got x.xlsx; or name the format with --format",
        ),
        (
            "aggregate data.csv a.run",
            1,
            "data.csv:1: expected 6 columns: query Q0 document rank score tag, got "
            "'qid,docid,label,price'; podium predict MODEL DATA -o name.run writes a run",
        ),
        (
            "postrank a.run --rules fields.yaml",
            2,
            "the documents are ids without fields; give a file with the fields of documents: --docs FILE",
        ),
        (
            "rules check list.yaml",
            1,
            "list.yaml:1: error: this is not a rule file; it is a list alone; "
            "put it below the lines version: 1 and rules:",
        ),
        ("rules check unequal.yaml", 1, "unequal.yaml:3: error: expected a condition such as"),
        ("rules check unequal.yaml", 1, "got 'price <> 3' (write != instead of <>)"),
        ("rules check both.yaml", 1, "(write and instead of &&)"),
        ("rules check kind.yaml", 1, "unknown rule 'boots'; did you mean boost? Podium has"),
    ],
)
def test_mistakes_say_what_to_do(shop, arguments, code, part):
    shop("a.run", "1 Q0 a 1 0.5 t\n1 Q0 b 2 0.4 t\n")
    shop("same.csv", DATA.replace(",1,", ",0,"))
    shop("empty.csv", DATA.replace("a,1,2", "a,1,"))
    shop("words.csv", "qid,docid,label,price\n1,a,good,2\n1,b,bad,1\n")
    shop("list.yaml", "- {rule: hide, docs: a}\n")
    shop("fields.yaml", rules_of("{rule: hide, where: price > 3}"))
    shop("unequal.yaml", rules_of("{rule: hide, where: price <> 3}"))
    shop("both.yaml", rules_of("{rule: hide, where: \"price > 3 && brand == 'a'\"}"))
    shop("kind.yaml", rules_of("{rule: boots, docs: a}"))
    result = run(*arguments.split(), code=code)
    assert part in flat(result.stdout + result.stderr)


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
def test_fields_may_have_other_separators_and_a_byte_order_mark(write, separator):
    text = "id,brand,price\na,Acme,2\n".replace(",", separator)
    write("docs.csv", b"\xef\xbb\xbf" + text.encode())
    assert read_fields("docs.csv") == {"a": {"id": "a", "brand": "Acme", "price": 2}}


@pytest.mark.parametrize("price", ["$9.99", "9.99 EUR", "€ 9", "-$3"])
def test_a_currency_sign_is_named(shop, price):
    shop("data.csv", DATA.replace("1,c,0,3", f"1,c,0,{price}"))
    assert error_of("data", "info", "data.csv", code=1) == (
        f"podium: data.csv:4: column 'price': expected a number, got '{price}'; a number with a currency "
        "sign: remove the sign first, or --ignore price"
    )


def test_doubled_carriage_returns_are_named(shop):
    shop("data.csv", DATA.replace("\n", "\r\r\n"))
    line = error_of("data", "info", "data.csv", code=1)
    assert "data.csv:1: expected lines that end in a line feed, got two carriage returns" in line
    assert "tr -d '\\r' < data.csv > repaired.csv" in line


def test_one_equals_sign_in_a_condition(shop):
    shop(
        "rules.yaml", 'version: 1\nrules:\n  - {rule: top-k, where: "price = 3", k: 1, weight: 2}\n'
    )
    assert "(write == to compare)" in run("rules", "check", "rules.yaml", code=1).stdout
    shop(
        "rules.yaml", 'version: 1\nrules:\n  - {rule: top-k, where: "price ==", k: 1, weight: 2}\n'
    )
    assert "write ==" not in run("rules", "check", "rules.yaml", code=1).stdout


def test_a_parameter_in_other_case_is_suggested():
    with pytest.raises(TypeError, match=r"unknown parameter of ranksvm 'c'; did you mean C\?"):
        podium.RankSVM(c=1)


@pytest.mark.parametrize(
    ("options", "python", "command_line"),
    [
        (("--scale", "query-zscore"), "scale='zscore'", "--scale zscore or minmax"),
        (("--log1p", "price"), "train without log1p=", "train without --log1p"),
        (("--clip", "price=0:9"), "train without clip=", "train without --clip"),
    ],
)
def test_exports_advise_in_words_of_the_command_line(shop, options, python, command_line):
    run("train", "regression", "data.csv", "-o", "p.podium", *options)
    line = error_of("export", "p.podium", "--to", "solr", code=2)
    assert command_line in line
    assert python not in line
    with pytest.raises(podium.errors.CannotExpressError, match=python):
        podium.exchange.export_model(podium.load("p.podium"), "solr")


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_values_beyond_scaling_are_named(shop, scale):
    shop("huge.csv", DATA.replace("a,1,2", "a,1,1e308").replace("b,0,1", "b,0,-1e308"))
    line = error_of("train", "regression", "huge.csv", "--scale", scale, "-o", "h.podium", code=1)
    assert "the values of feature 'price' are too large to scale (-1e+308 to 1e+308)" in line
    assert line.endswith("clip the feature, as in --clip price=0:1000000")


def test_more_commands_take_names_of_columns(shop):
    shop("places.csv", "session;sku;bm25;dense\n1;a;1;2\n1;b;2;1\n1;c;3;3\n")
    command = ("aggregate", "--places", "places.csv", "--query", "session", "--method", "borda")
    assert run(*command).stdout.split() == ["1.5", "1.5", "0.0"]  # places 1 2, 2 1 and 3 3
    shop("stars.csv", "session,sku,stars,price\n1,a,0,2\n2,b,1,2\n")
    told = json.loads(
        run("metrics", "--explain", "NDCG@10", "--value", 0.5, "--data", "stars.csv", "--query",
            "session", "--label", "stars", "--json").stdout
    )  # fmt: skip
    assert told["blank"] == 0.5


def test_labels_that_are_not_read_are_left_empty(write):
    train = ["--decimal", ",", "--grades", "good=1,bad=0", "-o", "m.podium"]
    run("train", "regression", "shop.csv", *train)
    told = run("explain", "m.podium", "--data", "shop.csv", "--decimal", ",", "--query", "1")
    rows = [flat(line).split() for line in told.stdout.splitlines() if "price" in line]
    assert [row[-2] for row in rows] == ["1", "2"]  # no label before the score
    arguments = ["explain", "m.podium", "--data", "shop.csv", "--decimal", ",", "--query", "1"]
    documents = answer(*arguments)["documents"]
    assert [d["label"] for d in documents] == [None, None]
    documents = answer(*arguments, "--grades", "good=1,bad=0")["documents"]
    assert {d["docid"]: d["label"] for d in documents} == {"a": 1.0, "b": 0.0}


def test_notes_name_each_option_once_and_as_the_command_has_it(write):
    write("words.csv", "qid,docid,label,price,title,brand\n1,a,1,2,x,u\n1,b,0,1,y,v\n")
    run("train", "regression", "words.csv", "-o", "m.podium")
    note = run("data", "info", "words.csv").stderr
    assert note.strip().endswith(
        "with --query --label --doc --text-columns --categories --query-text"
    )
    note = run("explain", "m.podium", "--data", "words.csv", "--query", "1").stderr
    assert "name others with --query-column --label" in note


def test_a_row_with_too_few_fields_is_named_as_such(write):
    write("n.csv", 'qid,docid,label,ctr,title\n1,"a, b",1,2,x\n1,b,0,Café Noir\n')
    told = error_of("data", "info", "n.csv", code=1)
    assert "n.csv:3: expected 5 columns, as in the first line, got 4" in told
    assert "--categories" not in told
    write("n.csv", 'qid,docid,label,ctr,title\n1,a,1,2,"x\ny"\n1,b,0,Noir,z\n')
    assert "n.csv:4: column 'ctr': expected a number" in error_of(
        "data", "info", "n.csv", "--features", "ctr", code=1
    )


def test_emoji_codes_are_shown_as_they_are(write):
    code = ":smile:"
    assert Emoji.replace(code) != code
    assert literal(f"a{code}b") != f"a{code}b"
    assert Text.from_markup(literal(f"a{code}b")).plain == f"a{code}b"
    app = typer.Typer(rich_markup_mode="rich", add_completion=False)

    @app.command(cls=AdvisingCommand, help=f"Make {code}.", epilog=f"And {code}.")
    def make(size: Annotated[str, typer.Option(help=f"As in {code}.")] = "") -> None:
        pass

    assert CliRunner().invoke(app, ["--help"]).stdout.count(code) == 3
    write("shop.csv", f"qid,docid,label,{code}\n1,{code},1,2\n1,b,0,1\n")
    run("train", "regression", "shop.csv", "-o", "m.podium")
    assert code in run("explain", "m.podium").stdout
    assert code in run("explain", "m.podium", "shop.csv", "--query", "1").stdout
    assert code in run("data", "info", f"{code}.csv", code=2).stderr


def test_help_has_no_emoji():
    told = run("train", "--help").stdout
    assert "size=small:medium:large" in flat(told)
    assert Emoji.replace(told) == told
    assert "Ⓜ" not in told


def test_missing_values_are_filled_in_by_an_option(write):
    write("gaps.csv", "qid,docid,label,price\n1,a,1,\n1,b,0,1\n")
    command = ["train", "ranksvm", "gaps.csv", "--missing", "nan", "-o", "m.podium"]
    assert (
        "missing values (NaN), which ranksvm does not take; train with --impute median"
        in error_of(*command, code=1)
    )
    run(*command, "--impute", "median")


# --- missing values


def test_rankers_that_take_missing_values_need_no_option(write):
    rows = [
        f"{q},d{d},{d % 2},{d + q},{'' if d == 2 else q * d}" for q in range(6) for d in range(4)
    ]
    write("empty.csv", "\n".join(["qid,docid,label,price,clicks", *rows]) + "\n")
    run("train", "lambdamart", "empty.csv", "--set", "min_leaf=1", "-o", "m.podium")
    run("predict", "m.podium", "empty.csv", "-o", "m.run")
    run("evaluate", "empty.csv", "m.run", "-m", "NDCG@2")
    message = "clicks': expected a number, got an empty field"
    assert message in run("train", "listnet", "empty.csv", "-o", "x.podium", code=1).stderr
    wrong = ("train", "lambdamart", "empty.csv", "--missing", "error", "-o", "x.podium")
    assert message in run(*wrong, code=1).stderr


def test_scales_far_apart_are_noted_before_a_fit(write):
    rows = [f"{q},d{d},{d % 2},{100 * d + q},{d / 1000}" for q in range(6) for d in range(4)]
    write("far.csv", "\n".join(["qid,docid,label,price,ctr", *rows]) + "\n")
    note = "price varies 100,000 times as much as ctr; --scale zscore helps listnet"
    train = ("train", "listnet", "far.csv", "-o", "m.podium", "--force")
    compare = (
        "compare",
        "far.csv",
        "--rankers",
        "listnet",
        "--no-tune",
        "--folds",
        "3",
        "--out",
        "c",
    )
    assert note in flat(run(*train).stderr)
    assert note in flat(run(*compare).stderr)
    assert "varies" not in run(*train, "--scale", "zscore").stderr
    trees = ("train", "lambdamart", "far.csv", "--set", "min_leaf=1", "-o", "t.podium")
    assert "varies" not in run(*trees).stderr


def test_a_decimal_point_where_commas_are_said_has_its_own_advice(write):
    write("mixed.csv", "qid;label;price;rating\n1;0;9,5;2.7\n1;1;3,5;4.1\n")
    error = error_of("train", "listnet", "mixed.csv", "--decimal", ",", "-o", "x.podium", code=1)
    assert (
        "mixed.csv:2: column 'rating': expected a number, got '2.7'; this number has a decimal point"
        in error
    )
    assert "--categories" not in error


def test_a_baseline_that_is_a_feature_has_its_option(write):
    write("d.csv", "qid,docid,label,bm25\n1,a,0,2\n1,b,1,3\n")
    error = error_of(
        "compare", "d.csv", "--rankers", "listnet", "--baseline", "bm25", "--out", "c", code=2
    )
    assert "if it is a feature: --baseline-feature bm25" in error


def test_a_file_that_repeats_queries_is_named_with_its_query(write):
    write("d.csv", "qid,docid,label,bm25\n1,a,0,2\n1,b,1,3\n")
    error = error_of("train", "listnet", "d.csv", "d.csv", "-o", "x.podium", code=1)
    assert "expected every query once, got query '1' 2 times; name each file once" in error


def test_a_folder_names_its_own_files_before_those_below_and_no_reports(write):
    for folder in ("shop", "shop/compared"):
        Path(folder).mkdir()
    for name in ("compared/old.csv", "compared/report.csv", "compared/report.json", "z.csv"):
        Path("shop", name).touch()
    error = run("data", "info", "shop", code=2).stderr
    assert "shop has z.csv, compared/old.csv; name those" in flat(error)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("serve", "--port", "abc"), "'--port': expected a whole number"),
        (("train", "listnet", "shop.csv", "--impute", "0", "-o", "m"), "'--impute': '0' is not one of"),
        (("train", "auto", "shop.csv", "--budget", "10", "minutes", "-o", "m"), "--budget 10m."),
        (("train", "auto", "shop.csv", "--budget", "10", "fits", "-o", "m"), "--budget 10fits."),
        (("train", "auto", "shop.csv", "--budget", "10", "paths.csv", "-o", "m"), "does not exist."),
    ],
)  # fmt: skip
def test_wrong_values_of_options_have_plain_advice(write, arguments, advice):
    error = " ".join(run(*arguments, code=2).stderr.replace("│", " ").split())
    assert advice in error
    assert "Value error" not in error
    assert "Input should be" not in error
    assert ("Write a budget" in error) == (advice.startswith("--budget"))


def test_a_run_in_place_of_documents_is_named_as_a_run(write):
    write("shop.run", "s0 Q0 SKU-1 1 2.5 shop\ns0 Q0 SKU-2 2 1.5 shop\n")
    with pytest.raises(
        MalformedLineError, match=r"got s0 Q0 SKU-1 1 2\.5 shop, which is a line of a TREC"
    ):
        read_fields("shop.run")


def test_python_names_how_to_write_a_ranker_and_fill_in_values(write):
    data = podium.make_synthetic(n_queries=4, seed=0)
    assert isinstance(podium.Prepared("listnet").fit(data).ranker, podium.ListNet)
    with pytest.raises(podium.errors.UnknownNameError, match="did you mean listnet"):
        podium.Prepared("listnett")
    write("gaps.csv", "qid,label,price\n1,1,\n1,0,1\n")
    with pytest.raises(
        podium.errors.DataError, match=r"podium.Prepared\(ranker, impute='median'\)"
    ):
        podium.read_table("gaps.csv")


@pytest.mark.parametrize(("name", "n_notes"), [("m.podium", 0), ("m.txt", 1)])
def test_a_model_by_another_name_is_noted(write, name, n_notes):
    write("d.csv", "qid,docid,label,bm25\n1,a,0,2\n1,b,1,3\n")
    out = ("-o", name, "--force")
    for command in (
        ("train", "regression", "d.csv"),
        ("tune", "regression", "d.csv", "--valid", "d.csv", "--grid", "l2=1,2"),
    ):
        note = f"{name} is a podium model, whatever its name says; models usually end in .podium"
        assert flat(run(*command, *out).stderr).count(note) == n_notes


@pytest.mark.parametrize("word", ["NA", "n/a", "NaN", "null", "None", ""])
def test_words_that_data_md_calls_missing_are_missing(write, word):
    write("d.csv", f"qid,docid,label,bm25\n1,a,0,{word}\n1,b,1,3\n")
    assert np.isnan(read_table("d.csv", missing="nan").X[0, 0])


# --- mistakes of a first hour: what is wrong, where, and what to write instead

GRADED = "search_id,sku,grade,price\n" + "".join(
    f"{query},{doc},{grade},{query + grade}\n"
    for query in range(6)
    for doc, grade in (("a", 2), ("b", 0))
)


@pytest.fixture
def graded(write):
    write("g.csv", GRADED)
    return write


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["train", "regression", "g.csv"], "As in: podium train listnet train.txt --valid vali.txt"),
        (["evaluate", "g.csv"], "Missing argument 'SCORES...'. As in: podium evaluate test.txt"),
        (["predict", "m.podium"], "Missing argument 'DATA...'. As in: podium predict listnet.podium"),
        (["data", "convert", "g.csv"], "Missing argument 'OUT'. As in: podium data convert train"),
        (["data", "split", "g.csv"], "Missing argument 'DIR'. As in: podium data split all.txt"),
        (["compare", "g.csv", "--rankers", "listnet", "ranksvm", "--out", "r"],
         "Values of --rankers have commas between them: --rankers listnet,ranksvm"),
        (["train", "regression", "--features", "price", "ctr", "g.csv", "-o", "m"],
         "Values of --features have commas between them: --features price,ctr"),
        (["evaluate", "g.csv", "-m", "NDCG@10", "MAP"], "Repeat -m for each value: -m NDCG@10 -m MAP"),
        (["compare", "g.csv", "--rankers", "listnet", "--out", "r", "--folds", "1"],
         "Invalid value for '--folds': expected 2 or more"),
        (["serve", "m.podium", "--port", "99999"], "'--port': expected 65535 or less"),
        (["auto", "g.csv"], "auto is a ranker: podium train auto DATA -o MODEL"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_shows_what_to_write(graded, arguments, advice):
    graded("m.podium", "")
    assert advice in flat(run(*arguments, code=2).stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["data", "info", "g.csv", "--query", "sku", "--label", "sku"], 2,
         "column 'sku' is named twice: as the query and as the label; give --query-column or --label "
         "another column"),
        (["data", "info", "g.csv", "--ignore", "grade"], 2,
         "g.csv: expected a column for the label, got only grade, which is named as left out; take it "
         "out of --ignore, or name another column with --label COLUMN"),
        (["train", "ranksvm", "g.csv", "--features", "grade", "--label", "price", "--budget", "1m",
          "-o", "m.podium"], 2,
         "--budget is for auto, which searches, and ranksvm does not; leave --budget out, or train auto"),
    ],
)  # fmt: skip
def test_a_column_or_option_out_of_place_is_told(graded, arguments, code, message):
    assert error_of(*arguments, code=code) == f"podium: {message}"


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("rules.yaml", "version: 1\n", 1,
         "rules.yaml: expected LETOR text or a table, got YAML; rules follow --rules, and names of columns "
         "--columns"),
        ("g.tsv", GRADED, 2,
         "g.tsv: expected fields with '\\t' between them, got a first line with ','; rename the file so that "
         "it ends in .csv, or give --separator ','"),
        ("noquery.csv", "sku,grade,price\na,1,2\n", 2,
         "; a table without one needs a new column that says to which query each row belongs"),
        ("weights.csv", "qid,grade,query_weight,price\nq,1,2,1\nq,0,3,1\n", 1,
         "weights.csv:3: column 'query_weight': expected one weight per query, got 3 after 2 for query 'q'; "
         "--weight names a column with one number per query"),
        ("empty.csv", "qid,grade,price\n,1,2\n", 1,
         "empty.csv:2: column 'qid': expected a query id, got an empty field; fill it in, or leave the row "
         "out"),
        ("below.csv", "qid,grade,price\nq,-1,2\n", 1,
         "below.csv:2: column 'grade': expected labels of 0 or more, got -1; 0 means not relevant: add a "
         "number to all labels, or leave such rows out"),
        ("inf.csv", "qid,grade,price\nq,1,inf\n", 1,
         "write a number, or leave the field empty and give --missing nan or --impute median"),
    ],
)  # fmt: skip
def test_a_wrong_file_says_what_to_do_with_it(write, name, content, code, message):
    write(name, content)
    assert message in flat(run("data", "info", name, code=code).stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "regression", "g.csv", "-o", "new/m.podium"], 1, "make it first, or correct the name"),
        (["data", "split", "g.csv", "parts", "--fractions", "0.8"], 2,
         "expected --fractions for 2 or 3 parts, as in 0.8,0.2 or 0.6,0.2,0.2, got 0.8"),
        (["data", "split", "g.csv", "parts", "--fractions", "0.8,0.3"], 2, "add up to 1, got 0.8, 0.3"),
        (["data", "split", "g.csv", "parts", "--folds", "9"], 1,
         "expected at least one query in each of 9 parts, got 6 queries; use fewer --folds"),
        (["compare", "g.csv", "--rankers", "regression", "--baseline", "ranksvm", "--out", "r"], 2,
         "a baseline is one of --rankers; if it is a feature: --baseline-feature ranksvm"),
        (["rules", "check", "r.yaml", "--docs", "names.csv"], 1,
         "got name, brand; rename the column that has them to id"),
    ],
)  # fmt: skip
def test_other_mistakes_say_what_to_do(graded, arguments, code, message):
    graded("names.csv", "name,brand\nx,y\n")
    graded("r.yaml", "version: 1\nrules: []\n")
    assert message in error_of(*arguments, code=code)


def test_equal_labels_name_the_file_and_the_option(write):
    write("same.csv", "search_id,sku,grade,price\n1,a,1,2\n1,b,1,1\n")
    assert error_of("train", "ranksvm", "same.csv", "-o", "m.podium", code=1) == (
        "podium: training on same.csv: in the only query all documents have the same label; ranksvm needs "
        "at least one query with different labels; is the column of labels right? --label names another one"
    )


def test_a_model_in_the_place_of_other_files_is_told(graded):
    run("train", "regression", "g.csv", "-o", "m.podium")
    run("predict", "m.podium", "g.csv", "-o", "g.run")
    graded("rules.yaml", "version: 1\nrules: []\n")
    assert error_of(
        "postrank", "g.run", "--rules", "rules.yaml", "--docs", "m.podium", "-o", "new.run", code=1
    ) == (
        "podium: m.podium: expected documents as a table or JSON lines, one per row, got a podium model"
    )
    assert error_of("explain", "m.podium", "--query", "1", code=2) == (
        "podium: expected data with --query 1, got none; as in: podium explain m.podium DATA --query 1"
    )
    run("predict", "m.podium", "g.csv", "-o", "g.scores")
    Path("short.scores").write_text("1\n2\n")
    assert error_of("evaluate", "g.csv", "short.scores", code=1).endswith(
        "got 2; score the same data again, as in: podium predict MODEL DATA -o short.scores"
    )


def test_a_line_that_is_no_request_shows_one(graded):
    run("train", "regression", "g.csv", "-o", "m.podium")
    result = run("rank", "m.podium", input="hello\n", code=1)
    assert (
        "line 1: expected a request as JSON in UTF-8, got text that is not JSON: invalid character (byte 0); "
        'as in {"documents": ['
    ) in result.stderr


# --- a file of columns, and advice that fits the command

OWN = (
    "search,sku,added on,views 30d,lucene,stars\n"
    "1,a,new,5,2,1\n1,b,old,3,9,0\n2,a,new,4,1,1\n2,b,old,1,2,0\n"
)
OWN_COLUMNS = (
    "query: search\ndoc: sku\nlabel: stars\nfeatures: [views 30d, lucene]\n"
    "ignore: [added on]\ntext: [title]\nquery_text: typed\n"
)


@pytest.fixture
def own(write):
    write("own.csv", OWN)
    write("columns.yaml", OWN_COLUMNS)
    return write


def test_a_table_may_lack_what_a_file_of_columns_leaves_out_or_keeps_as_text(own):
    run("train", "regression", "own.csv", "--columns", "columns.yaml", "-o", "m.podium")
    own("later.csv", "search,sku,views 30d,lucene\n1,a,5,2\n1,b,3,9\n")
    run("predict", "m.podium", "later.csv", "--columns", "columns.yaml", "-o", "later.run")
    assert len(Path("later.run").read_text().splitlines()) == 2
    data = read_table("later.csv", columns="columns.yaml", labelled=False)
    assert data.feature_names == ("views 30d", "lucene")
    for option in ("--ignore", "--text-columns"):
        command = ["predict", "m.podium", "later.csv", "--columns", "columns.yaml", "-o", "new.run"]
        assert error_of(*command, option, "added on", code=2) == (
            "podium: later.csv: unknown column 'added on'; the table has search, sku, views 30d, lucene; "
            f"{option} names it"
        )


def test_a_file_of_columns_still_needs_its_features(own):
    own("later.csv", "search,sku,stars,lucene\n1,a,5,2\n1,b,3,9\n")
    message = error_of("data", "info", "later.csv", "--columns", "columns.yaml", code=2)
    assert "unknown column 'views 30d'" in message


def test_an_option_against_the_file_of_columns_names_the_file(own):
    assert error_of(
        "data", "info", "own.csv", "--columns", "columns.yaml", "--label", "lucene", code=2
    ) == (
        "podium: column 'lucene' is named twice: as the label and as a feature; columns.yaml names "
        "columns, too: correct that file, or leave the option out"
    )


def test_advice_on_a_missing_column_fits_the_command(own):
    own("own.run", "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n")
    own("rules.yaml", "version: 1\nrules:\n  - {rule: pin, docs: b, position: 1}\n")
    own("pool.jsonl", '{"id": "1", "query": "x", "documents": [{"id": "a", "text": "x"}]}\n')
    run("judge", "import", "k.db", "--pool", "pool.jsonl", "--assessors", "ann")
    report = error_of(
        "rules", "report", "rules.yaml", "--run", "own.run", "--judged", "own.csv", code=2
    )
    assert "stars; rename the column to one of these names; a table without" in report
    export = error_of("judge", "export", "k.db", "--features", "own.csv", "-o", "t.txt", code=2)
    assert "stars; name it in a file for --columns, or rename the column to one of" in export
    assert "--query-column" not in report + export


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "g.csv", "--rankers", "regression", "-m", "NDCG@10,MAP", "--out", "r"],
         "or P(rel=2)@5, got 'NDCG@10,MAP'; repeat -m for several"),
        (["train", "lambdamart", "g.csv", "-m", "NDCG@10,MAP", "-o", "m.podium"],
         "or P(rel=2)@5, got 'NDCG@10,MAP'; give one name"),
        (["judge", "import", "k.db", "--pool", "pool.jsonl", "--assessors", "ann", "--design", "overlap"],
         "1 assessor with 1 tool; name 2 or more with --assessors, or --overlap 1"),
    ],
)  # fmt: skip
def test_advice_names_what_the_command_takes(graded, arguments, message):
    graded("pool.jsonl", '{"id": "1", "query": "x", "documents": [{"id": "a", "text": "x"}]}\n')
    assert error_of(*arguments, code=2).endswith(message)


@pytest.mark.parametrize("engine", ["vespa", "xgboost"])
def test_a_name_that_an_engine_refuses_is_renamed_by_an_option(own, engine):
    own("odd.csv", OWN.replace("views 30d", "views [30"))
    run("train", "regression", "odd.csv", "--query", "search", "--label", "stars", "--ignore",
        "added on", "-o", "m.podium")  # fmt: skip
    message = error_of("export", "m.podium", "--to", engine, code=2)
    assert message.endswith("; rename it with --feature-names")


@pytest.mark.parametrize(
    ("first", "second", "advice"),
    [
        ("4", "-", "if it stands for a missing value, leave such fields empty or write NA, and give "
         "--missing nan or --impute median; or --ignore 'views 30d'"),
        ("4", "sold", "if it stands for a missing value, leave such fields empty or write NA, and give "
         "--missing nan or --impute median; or --ignore 'views 30d'"),
        ("red", "blue", "a column of words: --categories 'views 30d' makes numbers of them; or --ignore "
         "'views 30d'"),
    ],
)  # fmt: skip
def test_a_gap_is_not_a_word_and_names_with_spaces_are_quoted(own, first, second, advice):
    own("gap.csv", f"search_id,label,views 30d\n1,1,{first}\n1,0,{first}\n1,0,{second}\n")
    message = error_of(
        "train", "regression", "gap.csv", "--features", "views 30d", "-o", "m", code=1
    )
    assert message.endswith(advice)


def test_a_soft_rule_that_is_violated_is_told_to_be_too_light(write):
    write("own.run", "".join(f"1 Q0 d{i} {i} {9 - i} x\n" for i in range(1, 9)))
    for hard, note in (("false", "soft: raise its weight, or set hard: true"), ("true", "")):
        write(
            "rules.yaml",
            f"version: 1\nrules:\n  - {{rule: pin, docs: d7, position: 1, name: P, hard: {hard}}}\n",
        )
        result = run("postrank", "own.run", "--rules", "rules.yaml", "-o", "new.run", "--force")
        row = next(line for line in result.stdout.splitlines() if line.startswith("│ P "))
        assert row.split("│")[-2].strip() == note
