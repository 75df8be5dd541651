"""Files as people have them: decimal commas, texts of queries, catalogues, runs of other queries."""

import json
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.settings import ServingSettings
from podium.data import read_fields, read_queries, read_table, scale_by_query
from podium.data.columns import Columns
from podium.data.csv_advice import mark_advice
from podium.errors import (
    DataError,
    DuplicateDocumentWarning,
    LeftOutColumnsWarning,
    MalformedLineError,
)
from tests.support.cli import run


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        Path(name).write_text(text)
        return name

    return write


# --- numbers with marks


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,299", 1299.0), ("12,345.60", 12345.6), ("-1,234,567", -1234567.0), ("144.5", 144.5)],
)
def test_thousands_marks_stand_before_three_digits(write, text, value):
    write("a.csv", f'qid,label,f\n1,1,"{text}"\n')
    assert read_table("a.csv", thousands=",").X.tolist() == [[value]]


@pytest.mark.parametrize(
    "text", ["144,13", "4,7", "0,1089", "0,248", "1234,567", "1,2345", "1.5,000"]
)
def test_other_marks_are_no_thousands(write, text):
    write("a.csv", f'qid,label,f\n1,1,"{text}"\n')
    with pytest.raises(MalformedLineError, match=f"column 'f': expected a number, got '{text}'"):
        read_table("a.csv", thousands=",")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("144,13", 'numbers with a decimal comma: --decimal ","'),
        ("0,248", 'numbers with a decimal comma: --decimal ","'),
        ("4,406", 'if it means 4406: --thousands ","; if it means 4.406: --decimal ","'),
        ("1,299.50", 'numbers with thousands marks: --thousands ","'),
        ("1,299,000", 'numbers with thousands marks: --thousands ","'),
        ("1 299", 'numbers with thousands marks: --thousands " "'),
    ],
)
def test_advice_on_marks_is_true_for_the_number(text, advice):
    assert mark_advice(text, Columns())[1] == advice


def test_a_wrong_mark_leads_to_the_right_one(write):
    write("a.csv", "qid;label;f\n1;1;144,13\n")
    error = run("data", "info", "a.csv", "--thousands", ",", code=1).stderr
    assert 'numbers with a decimal comma: --decimal "," instead of --thousands ","' in error


@pytest.mark.parametrize(
    ("decimal", "thousands", "cell", "value"),
    [(",", "", "12,99", 12.99), (",", ".", "1.299,50", 1299.5), (".", ",", "1,788", 1788),
     (",", ".", "9", 9), (",", ".", "1.29", "1.29"), (".", ",", "12,5", "12,5"), (".", "", "1,5", "1,5")],
)  # fmt: skip
def test_fields_of_documents_have_marks(write, decimal, thousands, cell, value):
    write("docs.csv", f"id;price\na;{cell}\n")
    assert read_fields("docs.csv", decimal=decimal, thousands=thousands)["a"]["price"] == value


def test_rules_see_prices_with_marks(write):
    write("docs.csv", "id;price\na;1.299,50\nb;9,00\n")
    write("a.run", "1 Q0 a 1 0.5 t\n1 Q0 b 2 0.4 t\n")
    write("rules.yaml", "version: 1\nrules:\n  - {rule: hide, where: price > 1000, hard: true}\n")
    files = ("--rules", "rules.yaml", "--docs", "docs.csv", "--decimal", ",", "--thousands", ".")
    assert run("postrank", "a.run", *files).stdout.split()[2] == "b"
    run("rules", "check", "rules.yaml", *files[2:])
    settings = ServingSettings((), rules="rules.yaml", docs="docs.csv", decimal=",", thousands=".")
    assert ServedFiles(settings).state.rules.fields["a"]["price"] == 1299.5


# --- queries


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "search_id,query,sku\n1,red shoes,a\n1,red shoes,b\n2,hat,a\n"),
        ("q.csv", "Query Text;query id\nred shoes;1\nhat;2\n"),
        ("q.tsv", "qid\ttext\n1\tred shoes\n2\that\n"),
        ("q.tsv", "1\tred shoes\n2\that\n"),
        ("q.txt", "1\tred shoes\n2\that\n"),
        (
            "q.jsonl",
            '{"query_id": 1, "user_query": "red shoes"}\n{"query_id": 2, "user_query": "hat"}\n',
        ),
        ("q.jsonl", '{"qid": "1", "text": "red shoes"}\n{"qid": "2", "text": "hat"}\n'),
    ],
)
def test_queries_come_from_any_table(write, name, text):
    assert read_queries(write(name, text)) == {"1": "red shoes", "2": "hat"}


def test_queries_come_from_parquet(write):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"search_id": [1, 2], "search_term": ["red", "hat"]}), "q.parquet")
    assert read_queries("q.parquet") == {"1": "red", "2": "hat"}


def test_a_text_may_be_its_own_id(write):
    assert read_queries(write("q.csv", "query,sku\nhat,a\nhat,b\n")) == {"hat": "hat"}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("name,text\na,b\n", 2, "expected a column of query ids"),
        ("qid,words\na,b\n", 2, "and one of texts"),
        ("qid,text\n1,a\n1,b\n", 3, "expected one text for query '1', got 'a' and 'b'"),
        ("qid,text\n1,\n", 2, "expected a text for query '1'"),
        ("qid,text\n,a\n", 2, "expected a query id as 'qid'"),
    ],
)
def test_wrong_tables_of_queries_say_what_is_wrong(write, text, line, part):
    with pytest.raises(DataError, match=part) as caught:
        read_queries(write("q.csv", text))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("column", "options"),
    [
        ("query text", ()),
        ("Search-Term", ()),
        ("user_query", ()),
        ("words", ("--query-text", "words")),
    ],
)
def test_samples_have_the_text_of_the_query(write, column, options):
    write("shop.csv", f"search_id,{column},sku,grade,price\n1,hat,a,1,2\n1,hat,b,0,1\n")
    run("train", "ranksvm", "shop.csv", *options, "-o", "m.podium")
    run("predict", "m.podium", "shop.csv", *options, "-o", "samples.jsonl")
    assert json.loads(Path("samples.jsonl").read_text().splitlines()[0])["query"] == "hat"


# --- rules without fields, runs without queries


def test_a_service_without_fields_says_which_rules_need_them(write):
    write("rules.yaml", "version: 1\nrules:\n  - {rule: hide, where: stock == 0, hard: true}\n")
    (warning,) = ServedFiles(ServingSettings((), rules="rules.yaml")).state.warnings
    assert warning.startswith("rules.yaml:3: ")
    assert "uses the field 'stock', and there is no --docs" in warning


def test_evaluate_warns_of_queries_that_a_run_lacks(write):
    write("a.qrels", "1 0 a 1\n2 0 b 1\n3 0 c 1\n")
    write("a.run", "1 Q0 a 1 0.5 t\n")
    result = run("evaluate", "a.qrels", "a.run", "-m", "P@1")
    assert result.stderr == (
        "podium: warning: a.run has no documents for 2 of 3 judged queries, such as 2; they count as 0\n"
    )
    write("b.run", "".join(f"{q} Q0 {d} 1 0.5 t\n" for q, d in ((1, "a"), (2, "b"), (3, "c"))))
    assert run("evaluate", "a.qrels", "b.run", "-m", "P@1").stderr == ""


# --- Python


@pytest.mark.parametrize("labels", [["good", "bad"], [1, "bad"]])
def test_words_as_labels_are_advised_on(labels):
    with pytest.raises(
        DataError, match=r"got the word '(good|bad)'; give each word its number first"
    ):
        podium.ListNet().fit([[1.0], [2.0]], labels, qid=[1, 1])


def test_an_interval_is_that_of_the_bootstrap():
    data = podium.make_synthetic(n_queries=20, n_features=2, seed=0)
    result = podium.evaluate(data, data.X[:, 0], "NDCG@10")["NDCG@10"]
    assert result.interval() == podium.metrics.bootstrap_interval(result.per_query)
    assert result.interval(0.5).low > result.interval(0.95).low


def test_differences_are_those_of_a_metric_that_both_have():
    data = podium.make_synthetic(n_queries=20, n_features=2, seed=0)
    two = podium.evaluate(data, data.X[:, 0], ["NDCG@1", "NDCG@10"])
    one, other = (podium.evaluate(data, data.X[:, 1], metric) for metric in ("NDCG@10", "MAP"))
    assert two.differences(one).metric == "NDCG@10"
    with pytest.raises(
        podium.errors.UsageError, match="no metric in common: this has NDCG@1, NDCG@10"
    ):
        two.differences(other)


def test_messages_name_the_ranker_that_learns():
    ranker = podium.Prepared(podium.ListNet(), scale="zscore")
    with pytest.raises(DataError, match="listnet needs at least one query with different labels"):
        ranker.fit([[1.0], [2.0]], [1, 1], qid=[1, 1])


def test_a_report_of_failures_says_so():
    data = podium.make_synthetic(n_queries=9, n_features=2, seed=0)
    arguments = (data, [podium.RankSVM(C=-1)], "NDCG@10")
    report = podium.compare(*arguments, folds=3, tune=False, failures="report")
    assert "every ranker failed: ranksvm failed in all 3 folds: expected C of ranksvm" in repr(
        report
    )


# --- what newcomers met


def test_yes_and_no_are_numbers_unless_other_words_stand_in_the_column(write):
    rows = ["1,1,Yes,NO", "1,0,no,SE", "2,1,yes,NO", "2,0,,SE"]
    write("a.csv", "qid,label,in_stock,country\n" + "\n".join(rows) + "\n")
    with pytest.warns(LeftOutColumnsWarning, match="country"):
        data = read_table("a.csv", missing="nan")
    assert data.feature_names == ("in_stock",)
    assert data.X[:3, 0].tolist() == [1, 0, 1]
    assert np.isnan(data.X[3, 0])


def test_the_column_of_queries_has_an_option_that_works_in_every_command(write):
    data = podium.make_synthetic(n_queries=6, n_features=2, seed=0)
    podium.RankSVM().fit(data).save("m.podium")
    write("a.csv", "search,label,f1,f2\nq1,1,.5,1\nq1,0,.25,0\n")
    for words in (["explain", "m.podium", "a.csv", "--query", "q1"], ["data", "info", "a.csv"]):
        assert "name it with --query-column COLUMN" in run(*words, code=2).stderr
        assert run(*words, "--query-column", "search").stdout


def test_a_columns_file_keeps_what_to_do_with_repeated_rows(write):
    write("a.csv", "qid,sku,label,f\n1,x,1,.5\n1,x,0,.25\n1,y,0,.5\n")
    run("data", "info", "a.csv", "--repeated", "first", "--write-columns", "c.yaml")
    assert (
        json.loads(run("data", "info", "a.csv", "--columns", "c.yaml", "--json").stdout)[
            "documents"
        ]
        == 2
    )
    assert read_table("a.csv", columns="c.yaml").y.tolist() == [1, 0]
    with pytest.raises(DataError, match=r"'x' twice in query '1'.*keep_first_documents"):
        read_table("a.csv", columns=Columns(repeated="error"))
    with pytest.warns(DuplicateDocumentWarning, match="keep_first_documents") as caught:
        read_table("a.csv")
    assert caught[0].filename == __file__


def test_a_wrong_separator_is_named_with_the_right_one(write):
    write("a.csv", "qid|label|f\n1|1|.5\n")
    error = run("data", "info", "a.csv", "--separator", ";", code=2).stderr
    assert "leave --separator out, or give --separator '|'" in error


def test_training_queries_as_validation_queries_are_a_warning(write):
    data = podium.make_synthetic(n_queries=12, n_features=3, seed=0)
    podium.write_letor(data, "a.txt")
    other = podium.make_synthetic(
        n_queries=12, n_features=3, seed=1
    )  # the same ids, other documents
    podium.write_letor(other, "b.txt")
    same = run("train", "listnet", "a.txt", "--valid", "a.txt", "-o", "m.podium")
    assert "warning: 12 of 12 queries of --valid are training queries" in same.stderr
    others = run("train", "listnet", "a.txt", "--valid", "b.txt", "-o", "m2.podium")
    assert "training queries" not in others.stderr


def test_scaling_scaled_features_again_is_noted(write):
    podium.write_letor(
        scale_by_query(podium.make_synthetic(n_queries=6, seed=0), "zscore"), "a.txt"
    )
    note = "scaled by query already (zscore); --scale minmax scales them again"
    assert note in run("data", "convert", "a.txt", "b.txt", "--scale", "minmax").stderr
    words = ["train", "regression", "a.txt", "--scale", "minmax", "-o", "m.podium"]
    assert note in run(*words).stderr


def test_a_served_rule_on_an_unknown_field_warns_that_it_does_nothing(write):
    write("docs.csv", "sku,in_stock\na,true\n")
    write("r.yaml", "version: 1\nrules:\n  - {rule: hide, where: instock == false, hard: true}\n")
    settings = ServingSettings((), rules="r.yaml", docs="docs.csv")
    (warning,) = ServedFiles(settings).state.warnings
    assert "the rule does nothing: unknown field 'instock'; did you mean in_stock?" in warning


def test_fit_of_a_file_names_the_functions_that_read_it():
    with pytest.raises(podium.errors.UsageError, match=r"got str alone; podium\.read_table and"):
        podium.ListNet().fit("shop.csv")
