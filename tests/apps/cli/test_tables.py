"""Tables on the command line: columns by any names, guesses that are told, and 30 mistakes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data import Columns, keep_first_documents, read_columns
from podium.data.csv_problems import find_csv_problems
from podium.errors import DuplicateDocumentWarning
from tests.support.cli import answer, run
from tests.support.forked_code import run_code

SHOP = (
    "search_id,product_id,grade,price,ctr\n"
    "1,a,2,9.5,0.1\n1,b,0,12,0.2\n2,a,1,3,0.5\n2,c,0,4,0.1\n3,a,0,7,0.3\n3,b,1,5,0.4\n"
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        return name

    write("shop.csv", SHOP)
    return write


def error_of(*arguments, code):
    """The last line on stderr of a command that fails; before "and N more", where problems are listed."""
    lines = run(*arguments, code=code).stderr.strip().splitlines()
    listed = [line for line in lines if not re.search(r": and [0-9,]+ more$", line)]
    first_problem = [line for line in listed if re.search(r":2: column", line)]
    return (first_problem or listed)[0 if first_problem else -1]


# --- what works


def test_every_command_takes_a_table(write):
    write("valid.csv", "ctr,price,grade,search_id\n0.1,2,1,8\n0.3,9,0,8\n")
    run("data", "info", "shop.csv")
    run("data", "split", "shop.csv", "parts", "--fractions", "0.5,0.5", "--ending", ".csv")
    run("train", "regression", "shop.csv", "--valid", "valid.csv", "-o", "m.podium")
    run("tune", "ranksvm", "shop.csv", "--valid", "valid.csv", "-o", "t.podium", "--grid", "C=1")
    run("predict", "m.podium", "shop.csv", "-o", "shop.scores")
    assert answer("evaluate", "shop.csv", "shop.scores", "-m", "P@1")
    assert "price" in run("explain", "m.podium", "--data", "shop.csv", "--query", "2").stdout
    run("explain", "m.podium", "--data", "shop.csv", "--importance")
    run("compare", "shop.csv", "--rankers", "regression", "--folds", 3, "--out", "report")
    assert podium.load("m.podium").trained_.feature_names == ("price", "ctr")


def test_guesses_are_told_on_stderr_and_never_in_json(write):
    result = run("data", "info", "shop.csv")
    assert result.stderr == (
        "podium: note: shop.csv: query taken as search_id, label as grade, document as product_id, "
        "features: price, ctr; name others with --query --label --doc\n"
    )
    quiet = run("data", "info", "shop.csv", "--json")
    assert quiet.stderr == ""
    assert json.loads(quiet.stdout)["queries"] == 3
    named = run(
        "data",
        "info",
        "shop.csv",
        "--query",
        "search_id",
        "--label",
        "grade",
        "--doc",
        "product_id",
    )
    assert named.stderr == ""


def test_columns_can_be_named(write):
    write(
        "own.tsv",
        "kunde\tartikel\tnote\tpreis\tname\n7\tx\tgut\t1.299,5\tSchuh\n7\ty\tmies\t2,25\tHut\n",
    )
    run(
        "data", "convert", "own.tsv", "out.parquet", "--query", "kunde", "--doc", "artikel",
        "--label", "note",
        "--grades", "gut=2, mies=0", "--decimal", ",", "--thousands", ".", "--features", "preis",
        "--text-columns", "name", "--separator", "tab",
    )  # fmt: skip
    data = podium.read_parquet("out.parquet")
    assert data.X.tolist() == [[1299.5], [2.25]]
    assert data.y.tolist() == [2.0, 0.0]
    assert (data.qids.tolist(), data.docids.tolist()) == (["7"], ["x", "y"])
    assert list(data.doc_text["name"]) == ["Schuh", "Hut"]


def test_features_all_and_ignore(write):
    facts = answer("data", "info", "shop.csv", "--features", "all", "--ignore", "ctr")
    assert facts["features"] == 1


def test_a_columns_file_is_written_and_used(write):
    result = run("data", "info", "shop.csv", "--label", "grade", "--write-columns", "columns.yaml")
    assert "use it with --columns columns.yaml" in result.stderr
    assert read_columns("columns.yaml") == Columns(
        query="search_id", doc="product_id", label="grade", features=["price", "ctr"], separator=","
    )
    assert run("data", "info", "shop.csv", "--columns", "columns.yaml").stderr == ""
    facts = answer("data", "info", "shop.csv", "--columns", "columns.yaml", "--features", "ctr")
    assert facts["features"] == 1
    again = ("data", "info", "shop.csv", "--write-columns", "columns.yaml")
    assert "columns.yaml already exists; --force replaces" in error_of(*again, code=2)
    run(*again, "--force")
    write("train.txt", "1 qid:1 1:2\n0 qid:1 1:1\n")
    line = error_of("data", "info", "train.txt", "--write-columns", "x.yaml", code=2)
    assert "expected --write-columns with a table" in line


def test_a_model_picks_its_features_by_name(write):
    run("train", "regression", "shop.csv", "-o", "m.podium")
    lines = [line.split(",") for line in SHOP.splitlines()]
    # ctr first, a column of words between, no label
    other = "\n".join(f"{r[4]},{r[1]},{r[0]},{r[3]},word" for r in lines)
    write("other.csv", other.replace("word", "brand", 1) + "\n")
    expected = run("predict", "m.podium", "shop.csv").stdout
    assert run("predict", "m.podium", "other.csv").stdout == expected
    run("data", "convert", "shop.csv", "shop.txt", "--features", "ctr,price")
    assert run("predict", "m.podium", "shop.txt").stdout == expected
    write("labelled.csv", SHOP.replace(",2,", ",good,").replace("grade", "label"))
    assert run("predict", "m.podium", "labelled.csv").stdout == expected


def test_several_tables_may_have_their_columns_in_any_order(write):
    write("more.csv", "ctr,price,grade,search_id,product_id\n0.75,20,1,9,z\n")
    run("data", "convert", "shop.csv", "more.csv", "all.csv")
    data = podium.read_table("all.csv")
    assert (data.feature_names, data.X[-1].tolist()) == (("price", "ctr"), [20.0, 0.75])


def test_judgments_need_no_features(write):
    write("judged.csv", "query_id,doc_id,grade\n1,a,1\n1,b,0\n")
    write("system.run", "1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n")
    scores = answer("evaluate", "judged.csv", "system.run", "-m", "P@1")
    assert scores["system.run"]["mean"]["P@1"] == 1.0


def test_podium_s_own_parquet_is_read_as_before(write):
    data = podium.make_synthetic(n_queries=4, n_features=3, seed=0)
    data.to_parquet("own.parquet")
    result = run("data", "convert", "own.parquet", "own.txt")
    assert "taken as" not in result.stderr
    assert podium.read_letor("own.txt").equals(data)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz"])
def test_csv_is_written_and_reads_back_exactly(write, name):
    data = podium.make_synthetic(n_queries=5, n_features=3, seed=1)
    podium.write_letor(data, "in.txt")
    run("data", "convert", "in.txt", name)
    again = podium.read_table(name)
    assert np.array_equal(again.X, data.X)
    assert np.array_equal(again.y, data.y)
    assert again.qids.tolist() == data.qids.tolist()
    assert again.docids.tolist() == data.docids.tolist()
    assert again.feature_names == ("f1", "f2", "f3")


def test_convert_names_what_csv_cannot_keep(write):
    write("in.txt", "1 qid:1 1:2 #docid = a rest\n0 qid:1 1:1 #docid = b\n")
    note = run("data", "convert", "in.txt", "out.csv", "--scaled", "minmax").stderr
    assert "CSV has no place for scaling and comments; .parquet keeps everything" in note


def test_documents_of_a_query_twice_are_told_once(write):
    write("twice.txt", "1 qid:1 1:0.5 #docid = x\n0 qid:1 1:0.2 #docid = x\n")
    for name, text in (("twice.txt", None), ("twice.csv", SHOP.replace("1,b", "1,a"))):
        if text is not None:
            write(name, text)
        stderr = run("data", "info", name).stderr
        assert stderr.count("1 row repeats a document of a query") == 1
        assert f"warning: {name}: " in stderr


def test_train_and_tune_keep_a_model_that_is_there(write):
    run("train", "regression", "shop.csv", "-o", "m.podium")
    before = (podium.load("m.podium")).trained_
    for command in (
        ["train", "listnet", "shop.csv", "-o", "m.podium"],
        ["tune", "ranksvm", "shop.csv", "--valid", "shop.csv", "-o", "m.podium", "--grid", "C=1"],
    ):
        assert "m.podium already exists; --force replaces" in error_of(*command, code=2)
        assert podium.load("m.podium").trained_ == before
    run("train", "listnet", "shop.csv", "-o", "m.podium", "--force")
    assert podium.load("m.podium").name == "listnet"


# --- what goes wrong


INFO = ("data", "info")
MISTAKES = {
    "a wrong column name": (SHOP, (*INFO, "FILE", "--query", "serch_id"), 2,
        ["FILE: ", "'serch_id'", "did you mean search_id"]),
    "a wrong name of a feature": (SHOP, (*INFO, "FILE", "--features", "prise"), 2,
        ["FILE: ", "'prise'", "did you mean price"]),
    "words as grades": (SHOP.replace(",2,", ",good,"), (*INFO, "FILE"), 1,
        ["FILE:2: column 'grade'", "'good'", "--grades 'good=1,...'"]),
    "a grade that is not listed": (SHOP, (*INFO, "FILE", "--grades", "0=0,1=1"), 1,
        ["FILE:2: column 'grade'", "0=0, 1=1", "got '2'"]),
    "grades without numbers": (SHOP, (*INFO, "FILE", "--grades", "good,bad"), 2,
        ["--grades such as good=2,fair=1,bad=0", "'good'"]),
    "decimal commas": (SHOP.replace(",", ";").replace(".", ","), (*INFO, "FILE"), 1,
        ["FILE:2: column 'price'", "'9,5'", '--decimal ","']),
    "thousands marks": (SHOP.replace(",", ";").replace("9.5", "1,299.50"), (*INFO, "FILE"), 1,
        ["FILE:2: column 'price'", "'1,299.50'", '--thousands ","']),
    "no header": (SHOP.partition("\n")[2], (*INFO, "FILE"), 2,
        ["FILE: ", "is the first line missing?"]),
    "no header, only numbers": ("1,2,9.5\n1,0,12\n", (*INFO, "FILE"), 1,
        ["FILE:1: ", "column names", "into the first line"]),
    "mixed separators": (SHOP.replace("2,a,1,3,0.5", "2;a;1;3;0.5"), (*INFO, "FILE"), 1,
        ["FILE:4: ", "expected 5 columns", "got 1", "--separator"]),
    "too many fields": (SHOP.replace("9.5", "9,5"), (*INFO, "FILE"), 1,
        ["FILE:2: ", "expected 5 columns", "belongs in quotes"]),
    "an empty file": ("", (*INFO, "FILE"), 1, ["FILE: ", "column names", "empty file"]),
    "only a header": ("qid,label,f\n", (*INFO, "FILE"), 1, ["FILE: ", "at least one record"]),
    "LETOR text in .csv": ("1 qid:1 1:2\n", (*INFO, "FILE"), 1, ["FILE: ", "LETOR", "ends in .txt"]),
    "a spreadsheet in .csv": (b"PK\x03\x04\x00\x00,\n", (*INFO, "FILE"), 1,
        ["FILE: ", "binary data", "save a spreadsheet as CSV"]),
    "another encoding": (SHOP.replace("price", "pre\xe7o").encode("latin-1"), (*INFO, "FILE"), 1,
        ["FILE:1: ", "the byte 0xe7", "UTF-8"]),
    "a column twice": (SHOP.replace("ctr", "price"), (*INFO, "FILE"), 1,
        ["FILE: ", "price twice", "rename"]),
    "no label": (SHOP.replace("grade", "stars"), (*INFO, "FILE"), 2,
        ["FILE: ", "column for the label", "stars", "--label COLUMN"]),
    "no query": (SHOP.replace("search_id", "session"), (*INFO, "FILE"), 2,
        ["FILE: ", "column for the query", "session", "--query-column COLUMN"]),
    "an empty field": (SHOP.replace("9.5", ""), ("train", "listnet", "FILE", "-o", "m.podium"), 1,
        ["FILE:2: column 'price'", "an empty field", "--impute median fills it in; lambdamart"]),
    "an empty label": (SHOP.replace("a,2,", "a,,"), (*INFO, "FILE", "--missing", "error"), 1,
        ["FILE:2: column 'grade'", "an empty field", "fill it in"]),
    "an empty query id": (SHOP.replace("2,a", ",a"), (*INFO, "FILE"), 1,
        ["FILE:4: column 'search_id'", "query id", "an empty field"]),
    "a negative label": (SHOP.replace("a,2,", "a,-1,"), (*INFO, "FILE"), 1,
        ["FILE:2: column 'grade'", "0 or more", "-1"]),
    "a word among numbers": (SHOP.replace(",3,", ",cheap,"), (*INFO, "FILE"), 1,
        ["FILE:4: column 'price'", "'cheap'", "--ignore price"]),
    "a date among numbers": (SHOP.replace(",3,", ",2024-01-02,"), (*INFO, "FILE"), 1,
        ["FILE:4: column 'price'", "'2024-01-02'", "--ignore price"]),
    "an open quote": (SHOP.replace("2,a", '2,"a'), (*INFO, "FILE"), 1,
        ["FILE:4: column 'product_id'", "closing quote", "written twice"]),
    "a separator of two characters": (SHOP, (*INFO, "FILE", "--separator", ";;"), 2,
        ["expected one of", "';;'"]),
    "a hole in a list of names": (SHOP, (*INFO, "FILE", "--features", "price,,ctr"), 2,
        ["--features", "'price,,ctr'"]),
}  # fmt: skip


def test_a_column_of_words_is_left_out_with_a_note(write):
    result = run(*INFO, write("mine.csv", SHOP.replace("9.5", "Nike")))
    assert "price left out (no numbers)" in result.stderr
    assert "--text-columns" in result.stderr


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_csv_file(write, mistake):
    content, arguments, code, parts = MISTAKES[mistake]
    name = write("mine.csv", content)
    line = error_of(*(name if a == "FILE" else a for a in arguments), code=code)
    assert line.startswith("podium: ")
    for part in parts:
        assert part.replace("FILE", name) in line
    assert not any(python in line for python in ("=[", "='", "from_arrays", "=None"))


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("mine.txt", SHOP, ["mine.txt: ", "like that of a CSV file", "ends in .csv"]),
        ("mine.json", '{"qid": 1}\n', ["mine.json: ", "JSON lines", "ends in .jsonl"]),
        ("mine.xlsx", b"PK\x03\x04", ["mine.xlsx: ", "spreadsheet", "save it as CSV"]),
        (
            "mine.jsonl",
            '{"qid": 1, "label": 1, "f": 2}\n{"qid": 1, "label": 0, "f": "x"}\n',
            ["mine.jsonl:2: column 'f'", "expected a number", "'x'"],
        ),
        ("mine.jsonl", '{"qid": 1, "lab\n', ["mine.jsonl:1: ", "expected JSON"]),
    ],
)
def test_a_file_with_a_wrong_ending(write, name, content, parts):
    line = error_of(*INFO, write(name, content), code=1)
    for part in parts:
        assert part in line


def test_options_about_columns_need_a_table(write):
    write("train.txt", "1 qid:1 1:2\n0 qid:1 1:1\n")
    line = error_of(*INFO, "train.txt", "--query", "search_id", code=2)
    assert "got LETOR text in train.txt; leave out the options about columns" in line


def test_a_model_names_the_features_that_a_table_lacks(write):
    run("train", "regression", "shop.csv", "-o", "m.podium")
    write("one.csv", SHOP.replace("ctr", "clicks"))
    line = error_of("predict", "m.podium", "one.csv", code=2)
    assert line.endswith(
        "one.csv: the model needs feature ctr; the table has clicks, grade, price, product_id, search_id"
    )
    write("typo.csv", SHOP.replace("price", "prise"))
    line = error_of("predict", "m.podium", "typo.csv", code=2)
    assert line.endswith("search_id; is it prise for price? Rename the column")
    write("both.csv", SHOP.replace("ctr", "clicks").replace("price", "cost"))
    line = error_of("predict", "m.podium", "both.csv", code=2)
    assert "both.csv: the model needs features price, ctr; the table has clicks, cost," in line


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("query: [a", ["bad.yaml:", "expected YAML"]),
        ("qurey: a", ["bad.yaml: unknown field 'qurey'; did you mean query"]),
        ("features: price", ["bad.yaml: expected a list of column names in features"]),
    ],
)
def test_a_wrong_columns_file(write, text, parts):
    write("bad.yaml", text)
    result = run(*INFO, "shop.csv", "--columns", "bad.yaml", code=2 if "unknown" in parts[0] else 1)
    for part in parts:
        assert part in result.stderr


def test_query_ids_with_spaces_cannot_become_letor_text(write):
    write("words.csv", "qid,doc,grade,f\nred shoes,a,1,2\nred shoes,b,0,1\n")
    line = error_of("data", "convert", "words.csv", "words.txt", code=1)
    assert "got 'red shoes'; Parquet (.parquet) and CSV (.csv) keep any id" in line
    run("data", "convert", "words.csv", "words2.csv")
    assert podium.read_table("words2.csv").qids.tolist() == ["red shoes"]


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["data", "info", "some.parquet"], "arrow"),
        (["serve", "m.podium"], "web"),
        (["judge", "stats", "judgments.db"], "web"),
        (["compare", "shop.csv", "--rankers", "listnet", "--out", "report"], "report"),
        (["export", "m.podium", "--to", "onnx", "-o", "m.onnx"], "export"),
    ],
)
def test_without_an_extra_a_command_names_it_in_one_line(write, arguments, extra):
    run("train", "regression", "shop.csv", "-o", "m.podium")
    for name in ("some.parquet", "judgments.db"):
        write(name, "x")
    code = (
        "import sys\n"
        "for name in ('pyarrow', 'uvicorn', 'fastapi', 'sqlalchemy', 'jinja2', 'matplotlib', 'onnx'):\n"
        "    sys.modules[name] = None\n"
        f"from podium.apps.cli import app\napp({arguments!r})\n"
    )
    done = run_code(code)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"pip install 'podium-ltr[{extra}]'" in done.stderr


# --- all problems of a file


def test_data_info_lists_the_problems_of_a_table(write):
    """Each with its file, line, column and remedy; lines are counted also after blank ones."""
    write(
        "bad.csv",
        'search_id,product_id,grade,price\n1,a,2,"12,99"\n1,b,good,cheap\n\n,c,1,1\n2,"d\ne",-1,5\n'
        "2,f,1\n2,g,,7\n2,h,0,1\n",
    )
    lines = run("data", "info", "bad.csv", code=1).stderr.splitlines()
    starts = [
        "podium: bad.csv:2: column 'price': expected a number, got '12,99'; numbers with a decimal comma",
        "podium: bad.csv:3: column 'grade': expected a number, got 'good'; grades as words",
        "podium: bad.csv:3: column 'price': expected a number, got 'cheap'",
        "podium: bad.csv:5: column 'search_id': expected a query id, got an empty field",
        "podium: bad.csv:6: column 'grade': expected labels of 0 or more, got -1",
        "podium: bad.csv:8: expected 4 columns, as in the first line, got 3",
        "podium: bad.csv:9: column 'grade': expected a label, got an empty field",
    ]
    assert len(lines) == len(starts)
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True)), lines


def test_data_info_counts_the_problems_that_it_does_not_list(write):
    """A column that is wrong in every row does not hide another problem."""
    rows = [f'{i},1,"1{i % 10},5",1' for i in range(100)] + ["7,-1,2,1"]
    write("bad.csv", "qid,label,price,ctr\n" + "\n".join(rows) + "\n")
    lines = run("data", "info", "bad.csv", code=1).stderr.splitlines()
    assert [line.split(":")[2] for line in lines[:-1]] == ["2", "3", "4", "102"]
    assert lines[-1] == "podium: bad.csv: and 97 more"


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ('1,2,5\n1,"2"x,4\n1,x,4\n', [(3, "label"), (4, "label")]),
        ('1,2,5\n1,x,"4\n1,y,4\n', [(3, "label"), (3, "price")]),
        ('1,2,"4\n\n5"\n1,1,4\n1,x,4', [(2, "price"), (6, "label")]),
        ("1,2,inf\n1,x,4\n\n\n1,1,4\n1,x,y\n", [(2, "price"), (3, "label"), (7, "label"), (7, "price")]),
    ],
)  # fmt: skip
def test_problems_around_quotes_and_blank_lines(write, rows, places):
    path = write("bad.csv", "qid,label,price\n" + rows)
    listed = find_csv_problems(path, Columns()).listed
    assert [(error.line, error.column) for error in listed] == places


def test_problems_of_grades_and_categories(write):
    path = write("bad.csv", "qid,label,size\n1,good,S\n1,fair,XXL\n1,bad,\n")
    columns = Columns(grades={"good": 2, "bad": 0}, categories={"size": ("S", "M")})
    listed = find_csv_problems(path, columns).listed
    assert [(error.line, error.column) for error in listed] == [
        (3, "label"), (3, "size"), (4, "size"),
    ]  # fmt: skip
    kept = find_csv_problems(path, columns, missing="nan").listed
    assert [(error.line, error.column) for error in kept] == [(3, "label"), (3, "size")]


def test_the_problems_of_several_files_and_the_first_of_other_kinds(write):
    write("a.csv", "qid,label,price\n1,x,5\n")
    write("b.csv", "qid,label,price\n1,1,5\n1,y,5\n")
    lines = run("data", "info", "a.csv", "b.csv", code=1).stderr.splitlines()
    assert [line.split()[1] for line in lines] == ["a.csv:", "b.csv:3:"]
    write("c.csv", "qid,label\n1,x\n")
    assert "c.csv: unknown column 'price'" in run("data", "info", "a.csv", "c.csv", code=1).stderr
    write("bad.jsonl", '{"qid": 1, "label": 1, "price": 2}\n{"qid"\n')
    assert "bad.jsonl:2: expected JSON" in run("data", "info", "bad.jsonl", code=1).stderr


def test_counting_ends_at_a_limit(write, monkeypatch):
    monkeypatch.setattr("podium.data.csv_problems.MAX_COUNTED_PROBLEMS", 10)
    write("bad.csv", "qid,label,price\n" + '1,1,"1,5"\n' * 50)
    assert "bad.csv: and at least 7 more" in run("data", "info", "bad.csv", code=1).stderr


# --- repeated documents and missing values


def test_repeated_rows_can_be_left_out_everywhere(write):
    """The warning and the refusal of a run name the option; scores are those of the rows that stay."""
    write("twice.csv", SHOP + "1,a,0,1,0.9\n2,c,1,2,0.7\n1,a,0,1,0.9\n")
    warning = run("train", "regression", "twice.csv", "-o", "all.podium").stderr
    assert "--repeated first keeps the first row of each" in warning
    error = error_of("predict", "all.podium", "twice.csv", "-o", "x.run", code=1)
    assert error.endswith("--repeated first keeps the first row of each")
    error = error_of("predict", "all.podium", "twice.csv", "-o", "x.jsonl", code=1)
    assert error.endswith("--repeated first keeps the first row of each")
    for name, table in (("first", "twice.csv"), ("plain", "shop.csv")):
        command = ["train", "regression", table, "-o", f"{name}.podium", "--repeated", "first"]
        notes = run(*command).stderr
        assert ("3 of 9 rows repeat a document and are left out" in notes) == (name == "first")
        assert "warning" not in notes
        run("predict", f"{name}.podium", table, "--repeated", "first", "-o", f"{name}.run")
    assert (kept := Path("first.run").read_text()) == Path("plain.run").read_text()
    assert len(kept.splitlines()) == 6
    error = error_of("data", "info", "twice.csv", "--repeated", "error", code=1)
    assert "got 'a' twice in query '1', and 3 repeated rows in all" in error


def test_the_first_row_is_that_of_the_input(write):
    rows = "1,a,2,1\n2,a,0,2\n1,b,1,3\n1,a,0,4\n2,b,1,5\n1,,1,6\n1,,1,7\n"
    path = write("mixed.csv", "qid,docid,label,x\n" + rows)
    with pytest.warns(DuplicateDocumentWarning, match="1 row repeats"):
        data = keep_first_documents(podium.read_table(path))
    assert data.restore(data.X[:, 0]).tolist() == [1, 2, 3, 5, 6, 7]
    assert data.groups.sizes.tolist() == [4, 2]


@pytest.mark.parametrize("ending", [".csv", ".txt", ".parquet"])
def test_a_split_passes_missing_values_through(write, ending):
    write("gaps.csv", SHOP.replace("9.5", ""))
    run("data", "split", "gaps.csv", "parts", "--fractions", "0.67,0.33", "--ending", ending)
    facts = [
        answer("data", "info", f"parts/{part}{ending}", "--json") for part in ("train", "test")
    ]
    assert sum(f["missing_values"] for f in facts) == 1
    assert "empty field" in error_of(
        "data", "split", "gaps.csv", "p2", "--folds", "2", "--missing", "error", code=1
    )


@pytest.mark.parametrize("missing", ["error", "nan"])
def test_documents_to_be_scored_may_have_empty_labels(write, missing):
    run("train", "regression", "shop.csv", "-o", "m.podium")
    write("new.csv", SHOP.replace("a,2,", "a,,"))
    scores = run("predict", "m.podium", "new.csv", "--missing", missing).stdout
    assert scores == run("predict", "m.podium", "shop.csv").stdout
    explained = answer("explain", "m.podium", "new.csv", "--query", "1", "--json")
    assert [document["label"] for document in explained["documents"]] == [None, None]
