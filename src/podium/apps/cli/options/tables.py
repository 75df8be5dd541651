"""Options of every command that reads tables: what each column is, and how numbers are written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

TABLE_PANEL = "Columns of tables (CSV, TSV, JSON lines, Parquet, Arrow)"

RepeatedChoice = Literal["keep", "first", "error"]


def column_option(*names: str, metavar: str, help_text: str) -> Any:
    """Return an option about the columns of a table."""
    return typer.Option(*names, metavar=metavar, help=help_text, rich_help_panel=TABLE_PANEL)


ColumnsFile = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        exists=True,
        dir_okay=False,
        metavar="FILE",
        help="A YAML file with all of these, as podium data info --write-columns writes it; "
        "other options override it.",
        rich_help_panel=TABLE_PANEL,
    ),
]
"""A file that says what the columns of a table are."""


Categories = Annotated[
    str | None,
    column_option(
        "--categories",
        metavar="A,B=X:Y:Z,...",
        help_text="Features that are words: brand makes one feature per word; size=small:medium:large "
        "makes the numbers 0, 1, 2.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options that say what the columns of a table are; by default their names decide."""

    query_option: ClassVar[str] = "--query"
    """The option that names the column of query ids."""

    query_column: Annotated[
        str | None,
        column_option(
            "--query",
            "--query-column",
            metavar="COLUMN",
            help_text="The column of query ids; by default qid, query_id, search_id or query.",
        ),
    ] = None
    doc_column: Annotated[
        str | None,
        column_option(
            "--doc",
            metavar="COLUMN",
            help_text="The column of document ids; by default docid, doc_id, product_id, sku, url ...",
        ),
    ] = None
    label_column: Annotated[
        str | None,
        column_option(
            "--label",
            metavar="COLUMN",
            help_text="The column of labels; by default label, grade, relevance, rating or judgment.",
        ),
    ] = None
    query_text_column: Annotated[
        str | None,
        column_option(
            "--query-text",
            metavar="COLUMN",
            help_text="The column of what users typed; by default query_text, query, search_term, "
            "user_query ...",
        ),
    ] = None
    weight_column: Annotated[
        str | None,
        column_option(
            "--weight", metavar="COLUMN", help_text="The column of weights, one per query."
        ),
    ] = None
    feature_columns: Annotated[
        str | None,
        column_option(
            "--features",
            metavar="A,B,...|all",
            help_text="The columns of features; by default all other columns of numbers.",
        ),
    ] = None
    ignored_columns: Annotated[
        str | None,
        column_option("--ignore", metavar="A,B,...", help_text="Columns to leave out."),
    ] = None
    text_columns: Annotated[
        str | None,
        column_option(
            "--text-columns",
            metavar="A,B,...",
            help_text="Columns that people read: title, description.",
        ),
    ] = None
    categories: Categories = None
    grades: Annotated[
        str | None,
        column_option(
            "--grades",
            metavar="WORD=N,...",
            help_text="The numbers of labels that are words, as in good=2,fair=1,bad=0.",
        ),
    ] = None
    separator: Annotated[
        str | None,
        column_option(
            "--separator",
            metavar="CHARACTER",
            help_text="The character between the fields of CSV; detected by default. tab means a tab.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        column_option(
            "--decimal", metavar="CHARACTER", help_text="The decimal mark of numbers: , in 12,99."
        ),
    ] = None
    thousands: Annotated[
        str | None,
        column_option(
            "--thousands",
            metavar="CHARACTER",
            help_text="The mark between thousands: . in 1.299,50.",
        ),
    ] = None
    repeated: Annotated[
        RepeatedChoice | None,
        typer.Option(
            help="What to do with rows that repeat a document of a query: keep them, with a warning (the "
            "default); keep only the first row; or stop with an error.",
            rich_help_panel=TABLE_PANEL,
        ),
    ] = None
    columns_file: ColumnsFile = None
