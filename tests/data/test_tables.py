"""Tables with columns by any names: every form gives the same data, and every mistake is named."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest

from podium.data.columns import Columns, write_columns
from podium.data.csv_text import read_csv
from podium.data.tables import read_table
from podium.errors import (
    CorruptFileError,
    DataError,
    DuplicateDocumentWarning,
    EmptyDataError,
    LeftOutColumnsWarning,
    MalformedLineError,
    MemoryLimitError,
    MissingValueError,
    NegativeLabelError,
    PodiumError,
    UsageError,
)

SHOP = """search_id,sku,grade,price,in_stock,title
q1,a,2,9.5,true,"Clock, ""digital\"""
q2,b,0,1e2,false,Board
q1,c,1,-3,TRUE,"two
lines"
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="shop.csv"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def assert_is_shop(data):
    assert data.qids.tolist() == ["q1", "q2"]
    assert data.docids.tolist() == ["a", "c", "b"]
    assert data.y.tolist() == [2, 1, 0]
    assert data.feature_names == ("price", "in_stock")
    assert data.X.tolist() == [[9.5, 1], [-3, 1], [100, 0]]
    assert list(data.doc_text["title"]) == ['Clock, "digital"', "two\nlines", "Board"]


@pytest.mark.parametrize("name", ["shop.csv", "shop.csv.gz", "SHOP.CSV"])
def test_csv(write, name):
    assert_is_shop(read_table(write(SHOP, name)))


@pytest.mark.parametrize(
    ("separator", "name"), [("\t", "shop.tsv"), (";", "shop.csv"), ("|", "a.csv")]
)
def test_separators_are_found(write, separator, name):
    text = SHOP.replace(",", separator).replace(f"Clock{separator}", "Clock,")
    assert_is_shop(read_table(write(text, name)))


def test_windows_line_ends_a_mark_at_the_start_and_blank_lines(write):
    text = "\ufeff" + SHOP.replace("\n", "\r\n").replace("two\r\n", "two\n") + "\r\n\r\n"
    assert_is_shop(read_table(write(text)))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library):
    rows = {
        "search_id": ["q1", "q2", "q1"], "sku": ["a", "b", "c"], "grade": [2, 0, 1],
        "price": [9.5, 100.0, -3.0], "in_stock": [True, False, True],
        "title": ['Clock, "digital"', "Board", "two\nlines"],
    }  # fmt: skip
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    module = pytest.importorskip(library)
    assert_is_shop(read_table(getattr(module, make)(rows)))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "jsonl"])
def test_files_of_other_forms(tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"search_id": ["q1", "q2", "q1"], "sku": ["a", "b", "c"], "grade": [2, 0, 1],
         "price": [9.5, 100.0, -3.0], "in_stock": [True, False, True],
         "title": ['Clock, "digital"', "Board", "two\nlines"]}
    )  # fmt: skip
    path = tmp_path / f"shop.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)
    assert_is_shop(read_table(path))


def test_names_may_be_chosen(write):
    data = read_table(
        write(SHOP), query="sku", doc="search_id", label="in_stock", features=["grade"]
    )
    assert (data.qids.tolist(), data.feature_names) == (["a", "b", "c"], ("grade",))


def test_grades_as_words(write):
    path = write("qid,grade,f\n1,good,1\n1,bad,2\n")
    assert read_table(path, grades={"good": 2, "bad": 0}).y.tolist() == [2, 0]
    with pytest.raises(
        DataError, match=r"shop.csv:3: column 'grade': expected one of .* got 'bad'"
    ):
        read_table(path, grades={"good": 2})


def test_numbers_as_they_are_written_elsewhere(write):
    path = write('qid;label;price\n1;1;"1.299,50"\n1;0;12,99\n')
    data = read_table(path, decimal=",", thousands=".")
    assert data.X.tolist() == [[1299.5], [12.99]]


def test_single_precision_and_missing_values(write):
    data = read_table(
        write("qid,label,f\n1,1,\n1,0,0.1\n1,0,NA\n"), missing="nan", dtype=np.float32
    )
    assert data.X.dtype == np.float32
    assert np.isnan(data.X[:, 0]).tolist() == [True, False, True]
    assert data.X[1, 0] == np.float32(0.1)


def test_documents_to_score_need_no_label(write):
    data = read_table(write("qid,f\n1,2\n"), labelled=False)
    assert (data.y.tolist(), data.X.tolist()) == ([0], [[2]])


def test_many_blocks_equal_python(tmp_path):
    """Quoted line ends lie across the blocks in which the file is read."""
    random = np.random.default_rng(0)
    X = random.random((30_000, 3)).round(6)
    queries = np.sort(random.integers(0, 500, len(X)))
    path = tmp_path / "big.csv"
    with open(path, "w", newline="") as file:
        file.write("qid,doc,label,f0,title,f1,f2\n")
        for i, (q, (a, b, c)) in enumerate(zip(queries, X, strict=True)):
            file.write(f'q{q},d{i},{i % 3},{a},"line {i}\nand ""more""{" " * (i % 97)}",{b},{c}\n')
    data = read_table(path)
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tolist() == [i % 3 for i in range(len(X))]
    assert data.groups.spread(data.qids).tolist() == [f"q{q}" for q in queries]
    assert data.docids.tolist() == [f"d{i}" for i in range(len(X))]
    assert data.doc_text["title"][77] == f'line 77\nand "more"{" " * 77}'


@pytest.mark.parametrize(
    ("text", "error", "match", "command_line"),
    [
        ("qid,label,f\n1,1,12,99\n", MalformedLineError, r":2: expected 3 columns", "--separator"),
        ('qid,label,f\n1,1,2\n1,0,"2,9"\n', MalformedLineError, "column 'f'.*decimal=','", '--decimal ","'),
        ('qid,label,f\n1,1,2\n1,0,"1,299.50"\n', MalformedLineError, "thousands=','", "--thousands"),
        ("qid,label,f\n1,1,2\n1,0,2024-05-01\n", MalformedLineError, "dates", "--ignore f"),
        ("qid,label,f\n1,1,2\n1,0,red\n", MalformedLineError, "categories=", "--categories f"),
        ("qid,label,f\n1,good,2\n", MalformedLineError, "grades=", "--grades good=0"),
        ("qid,label,f\n1,1,2\n1,0,\n", MissingValueError, ":3: column 'f'.*missing='nan'", "--missing nan"),
        ("qid,label,f\n1,1,inf\n", DataError, "finite", ""),
        ("qid,label,f\n1,1,2\n,1,2\n", DataError, ":3: column 'qid': expected a query id", ""),
        ("qid,label,f\n1,1,2\n1,-1,2\n", NegativeLabelError, ":3: column 'label'", ""),
        ('qid,label,f\n1,1,"2\n', MalformedLineError, "closing quote", ""),
        ("qid,label,f\n", EmptyDataError, "at least one record", ""),
        ("", EmptyDataError, "empty file", ""),
        ("1,2,3\n4,5,6\n", MalformedLineError, ":1: .*column names", ""),
        ("a,b\n1,2\n", UsageError, "query='...'", "--query-column COLUMN"),
        ("qid,label,brand\n1,2,DGT\n", DataError, "expected feature columns, got none", ""),
        ("qid,label,f\r1,2,3\r1,0,4\r", MalformedLineError, ":1: .*carriage returns", ""),
        ("qid,label,f,f\n1,2,3,4\n", DataError, "f twice", ""),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_what_to_do(write, text, error, match, command_line):
    with pytest.raises(error, match=match) as caught:
        read_table(write(text))
    assert command_line in caught.value.on_command_line()
    assert "--" not in str(caught.value)


def test_the_line_of_a_mistake_far_down(tmp_path):
    path = tmp_path / "big.csv"
    lines = [f"q{i // 10},1,{i}.25" for i in range(200_000)]
    lines[150_000] = "q15000,1,wrong"
    path.write_text("qid,label,f\n" + "\n".join(lines) + "\n")
    with pytest.raises(MalformedLineError, match=r"big.csv:150002: column 'f': .* got 'wrong'"):
        read_table(path)
    lines[150_000] = "q15000,-1,1"
    path.write_text("qid,label,f\n" + "\n".join(lines) + "\n")
    with pytest.raises(NegativeLabelError, match=r"big.csv:150002: column 'label'"):
        read_table(path)


def test_a_document_twice_is_told(write):
    path = write("qid,doc,label,f\n1,a,1,1\n1,b,0,2\n2,a,1,3\n1,a,0,4\n")
    with pytest.warns(DuplicateDocumentWarning, match=r"1 row repeats .* 'a' of query '1'"):
        read_table(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(write("qid,doc,label,f\n1,a,1,1\n1,b,0,2\n2,a,1,3\n"))


@pytest.mark.parametrize("name", ["shop.xlsx", "shop"])
def test_other_files_are_refused(write, name):
    with pytest.raises(UsageError, match="ends in"):
        read_table(write(SHOP, name))


@pytest.mark.parametrize("name", ["shop.parquet", "shop.arrow"])
def test_files_that_are_something_else_are_refused(write, name):
    with pytest.raises(CorruptFileError, match="shop"):
        read_table(write(SHOP, name))


def test_random_damage_gives_podium_errors(write):
    random = np.random.default_rng(1)
    alphabet = b'",\n\r;x\xff\x00'
    outcomes = {"read": 0, "refused": 0}
    for _ in range(400):
        text = bytearray(SHOP.encode())
        for _ in range(random.integers(1, 4)):
            text[random.integers(0, len(text))] = alphabet[random.integers(0, len(alphabet))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DuplicateDocumentWarning)
            warnings.simplefilter("ignore", LeftOutColumnsWarning)
            try:
                read_table(write(bytes(text)))
                outcomes["read"] += 1
            except PodiumError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 20


def test_the_csv_table_knows_its_lines(write):
    table = read_csv(str(write("qid,label,f\n1,1,1\n1,0,2\n")), Columns())
    assert [table.line_of(row) for row in (0, 1)] == [2, 3]
    table = read_csv(str(write('qid,label,f,title\n1,1,1,"a\nb"\n1,0,2,c\n')), Columns())
    assert table.line_of(1) is None


@pytest.mark.parametrize(
    "text",
    ['qid,label,"a\rb"\n1,0,10\n1,1,20\n', '\r\n\nqid,label,"a\n""b"""\n1,0,10\n1,1,20\n'],
)
def test_line_ends_in_the_names_of_columns_cost_no_record(write, text):
    assert read_table(write(text)).X.tolist() == [[10], [20]]


def test_two_quotes_in_a_plain_field_open_nothing(tmp_path):
    """The second block of the file begins within quotes, the first does not end in any."""
    path = tmp_path / "screens.csv"
    lines = [f"1,{i % 2},{i},plain" for i in range(120_000)]
    lines[1] = '1,1,1,TV 5"" wide'
    lines[-1] = f'1,0,{len(lines) - 1},"' + "two\nlines" * 200_000 + '"'
    path.write_text("qid,label,f,title\n" + "\n".join(lines) + "\n")
    data = read_table(path)
    assert data.X[:, 0].tolist() == list(range(len(lines)))
    assert data.doc_text["title"][1] == 'TV 5"" wide'


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_the_limit_of_memory_and_the_type_of_numbers_hold_for_every_form(tmp_path, name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"qid": [1] * 5000, "label": [0.0, 1.0] * 2500, "f": np.arange(5000.0)}
    )
    path = tmp_path / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    with pytest.raises(MemoryLimitError, match="at most"):
        read_table(path, max_bytes=1000)
    assert read_table(path, dtype=np.float32).X.dtype == np.float32


@pytest.mark.parametrize(
    "settings", [{"thousands": "-"}, {"thousands": "5"}, {"separator": " "}, {"decimal": "e"}]
)
def test_marks_that_numbers_are_made_of_are_refused(write, settings):
    with pytest.raises(UsageError, match="expected one of"):
        read_table(write(SHOP), **settings)


def test_columns_of_words_that_are_left_out_are_a_warning(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("qid,label,brand,colour,price\n1,1,Acme,red,2\n1,0,Bolt,blue,3\n")
    message = (
        f"{path}: columns of words are left out: brand, colour; use them as features with "
        "categories=['brand', 'colour'], as text with text=['brand', 'colour'], or leave them out with "
        "ignore=['brand', 'colour']"
    )
    with pytest.warns(LeftOutColumnsWarning) as caught:
        assert read_table(path).feature_names == ("price",)
    assert [str(warning.message) for warning in caught] == [message]
    assert caught[0].filename == __file__
    frame = pd.read_csv(path)
    with pytest.warns(
        LeftOutColumnsWarning, match="^columns of words are left out: brand, colour; use"
    ):
        read_table(frame)
    # What is named is no surprise: no warning, which would be an error here.
    read_table(path, categories=["brand"], ignore=["colour"])
    read_table(path, text=["brand", "colour"])
    read_table(path, features=["price"])


def test_columns_may_be_a_file(tmp_path):
    path, file = tmp_path / "shop.csv", tmp_path / "columns.yaml"
    path.write_text("search_id,stars,price\n1,2,9.5\n1,0,12\n")
    columns = Columns(label="stars")
    write_columns(columns, file)
    want = read_table(path, columns=columns)
    assert want.y.tolist() == [2, 0]
    for own in (file, str(file)):
        assert read_table(path, columns=own).equals(want)
