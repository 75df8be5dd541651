"""Which column is what: by name, by usual names, from a file, and clear errors."""

import pytest

from podium.data.columns import Columns, read_columns, write_columns
from podium.errors import DataError, PodiumError, UnknownNameError, UsageError

SHOP = ["search_id", "product_id", "grade", "price", "title", "brand"]


def is_number(name):
    return name not in ("title", "brand", "query")


def test_usual_names_are_guessed_and_told():
    columns = Columns(ignore=["brand"]).resolve(SHOP, is_number)
    assert (columns.query, columns.doc, columns.label) == ("search_id", "product_id", "grade")
    assert columns.features == ("price",)
    assert columns.text == ("title",)
    assert dict(columns.guesses) == {
        "query": "search_id", "label": "grade", "doc": "product_id", "text": "title",
    }  # fmt: skip


def test_words_without_a_role_are_left_out_and_told():
    columns = Columns().resolve(SHOP, is_number)
    assert (columns.features, columns.ignore) == (("price",), ("brand",))
    assert ("ignore", "brand") in columns.guesses


def test_named_columns_are_no_guesses():
    columns = Columns(query="product_id", label="price", features=["grade"]).resolve(
        SHOP, is_number
    )
    assert (columns.query, columns.label, columns.features) == ("product_id", "price", ("grade",))
    assert columns.guesses == ()
    assert set(columns.ignore) == {"search_id", "title", "brand"}


def test_a_query_beside_its_id_is_the_text_of_the_query():
    columns = Columns().resolve(["query_id", "query", "label", "bm25"], is_number)
    assert (columns.query, columns.query_text, columns.features) == ("query_id", "query", ("bm25",))


def test_names_are_guessed_in_any_case():
    columns = Columns().resolve(["QueryID", "Label", "f1"])
    assert (columns.query, columns.label, columns.features) == ("QueryID", "Label", ("f1",))


def test_documents_to_score_need_no_label():
    columns = Columns().resolve(["qid", "f1"], labelled=False)
    assert (columns.label, columns.features) == (None, ("f1",))


@pytest.mark.parametrize(
    ("columns", "names", "python", "command_line"),
    [
        (Columns(), ["label", "f1"], "query='...'", "--query-column COLUMN"),
        (Columns(), ["qid", "f1"], "label='...'", "--label COLUMN"),
    ],
)
def test_what_cannot_be_guessed_is_an_error_with_advice(columns, names, python, command_line):
    with pytest.raises(UsageError) as caught:
        columns.resolve(names, is_number)
    assert python in str(caught.value)
    assert "--" not in str(caught.value)
    assert command_line in caught.value.on_command_line()


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (Columns(query="serch_id"), SHOP),
        (Columns(features=["prise"]), SHOP),
        (Columns(ignore=["brand", "colour"]), SHOP),
    ],
)
def test_a_column_that_is_not_there_is_named(columns, names):
    with pytest.raises(UnknownNameError, match=r"did you mean|known"):
        columns.resolve(names, is_number)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"features": ["price", "size", "price"]}, "feature 'price' is named twice"),
        (
            {"features": ["qid"], "query": "qid"},
            "'qid' is named twice: as the query and as a feature; take it out of features=",
        ),
        ({"features": ["sku"], "doc": "sku"}, "'sku' is named twice: as the document and as a f"),
        (
            {"features": ["grade"], "label": "grade"},
            "'grade' is named twice: as the label and as a f",
        ),
        (
            {"features": ["title"], "text": ["title"]},
            "'title' is named twice: as a feature and as text",
        ),
    ],
)
def test_a_feature_is_named_once(fields, match):
    with pytest.raises(UsageError, match=match):
        Columns(**fields)


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"query": "id", "label": "id"}, "give --query-column or --label another column"),
        ({"label": "price", "weight": "price"}, "give --label or --weight another column"),
        ({"query": "id", "doc": "id"}, "give --query-column or --doc another column"),
        ({"label": "grade", "ignore": ["grade"]}, "take it out of --ignore"),
        ({"label": "grade", "text": ["grade"]}, "take it out of --text-columns"),
        ({"label": "grade", "categories": {"grade": "onehot"}}, "take it out of --categories"),
        ({"features": ["ctr"], "ignore": ["ctr"]}, "take it out of --features"),
    ],
)
def test_roles_exclude_each_other(fields, advice):
    with pytest.raises(UsageError, match="is named twice: as ") as caught:
        Columns(**fields)
    assert caught.value.on_command_line().endswith(advice)


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "search", "query_text": "search"},
        {"doc": "title", "text": ["title"]},
        {"features": ["brand"], "categories": {"brand": "onehot"}},
    ],
)
def test_roles_that_read_a_column_alike_go_together(fields):
    assert Columns(**fields)


@pytest.mark.parametrize(
    ("fields", "role", "advice"),
    [
        ({"ignore": ["grade"]}, "left out", "take it out of --ignore, or name another"),
        ({"features": ["grade"]}, "a feature", "take it out of --features, or name another"),
        ({"doc": "grade"}, "the document", "give --doc or --label another column"),
        ({"query": "grade"}, "the query", "give --query-column or --label another column"),
    ],
)
def test_a_label_that_has_another_role_is_told(fields, role, advice):
    with pytest.raises(UsageError) as caught:
        Columns(**fields).resolve(["search_id", "sku", "grade", "price"], path="shop.csv")
    message = caught.value.on_command_line()
    assert (
        f"shop.csv: expected a column for the label, got only grade, which is named as {role}"
        in message
    )
    assert advice in message


def test_column_names_must_differ():
    with pytest.raises(DataError, match="f1 twice"):
        Columns().resolve(["qid", "label", "f1", "f1"])


@pytest.mark.parametrize(
    "fields",
    [{"decimal": ",", "thousands": ","}, {"decimal": ""}, {"separator": "ab"}, {"features": "price"},
     {"thousands": '"'}],
)  # fmt: skip
def test_wrong_settings_are_refused(fields):
    with pytest.raises(UsageError, match="expected"):
        Columns(**fields)


def test_a_file_of_columns_reads_back(tmp_path):
    columns = Columns(
        query="search_id", features=["price"], grades={"good": 2.0, "bad": 0.0}, decimal=","
    )
    write_columns(columns, tmp_path / "columns.yaml")
    assert read_columns(tmp_path / "columns.yaml") == columns


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("features: price", "list of column names in features"),
        ("qurey: a", "did you mean query"),
        ("grades: {good: yes please}", "words with their numbers"),
        ("query: [a", "columns.yaml:2: expected YAML"),
        ("- a", "fields such as"),
        ("query: 3", "expected text in query"),
        ("features: [a, a]", "columns.yaml: feature 'a' is named twice"),
    ],
)
def test_a_wrong_file_of_columns_is_refused(tmp_path, text, match):
    path = tmp_path / "columns.yaml"
    path.write_text(text + "\n")
    with pytest.raises(PodiumError, match=match):
        read_columns(path)
