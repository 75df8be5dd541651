"""Options of ``podium features``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import ClusterOption, Force, Json, file_argument, file_option

IndexFile = Annotated[Path, file_argument("INDEX", "An index of podium features build.")]
FieldOption = Annotated[str, typer.Option(help="The field that BM25 searches; whole: all of them.")]


@dataclass(frozen=True)
class FeaturesBuildOptions:
    """Count the terms of documents, field by field, and write them as an index.

    Example: podium features build docs.jsonl -o docs.index --stop-words english --stemmer porter

    DOCS are JSON lines, plain or compressed: {"id": "d1", "title": "...", "body": "..."}. Every
    field that is text is counted, unless --field says which.
    """

    docs: Annotated[list[Path], file_argument("DOCS...", "JSON lines.")]
    out: Annotated[Path, typer.Option("--out", "-o", help="The index to write.")]
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A field to count; may be given several times."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A field whose text is kept for display; may be given several times.",
        ),
    ] = None
    id_field: Annotated[
        str, typer.Option("--id", metavar="NAME", help="The field with the ids.")
    ] = "id"
    stop_words: Annotated[Literal["none", "english"], typer.Option(help="Words to leave out.")] = (
        "none"
    )
    stemmer: Annotated[
        str,
        typer.Option(help="Endings to strip: none, s (plurals), porter, or a language, as german."),
    ] = "none"
    identifiers: Annotated[
        Literal["keep", "split", "both"],
        typer.Option(help="snake_case and CamelCase: one word, its parts, or both."),
    ] = "keep"
    k1: Annotated[float, typer.Option(min=0, help="BM25: saturation of counts.")] = 1.2
    b: Annotated[float, typer.Option(min=0, max=1, help="BM25: how much the length counts.")] = 0.75
    mu: Annotated[float, typer.Option(help="LMIR.DIR: Dirichlet's mu, above 0.")] = 2000.0
    jm: Annotated[
        float, typer.Option(max=1, help="LMIR.JM: Jelinek and Mercer's lambda, above 0.")
    ] = 0.1
    delta: Annotated[
        float, typer.Option(max=1, help="LMIR.ABS: what is subtracted from counts, above 0.")
    ] = 0.7
    force: Force = False
    json: Json = False


@dataclass(frozen=True)
class FeaturesSearchOptions:
    """Search an index by BM25.

    Example: podium features search docs.index "lift of a wing" -k 5

    BM25 over all fields together, or over one (--field title). Equal scores keep the order of the
    documents.
    """

    index: IndexFile
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The words to search for.")]
    k: Annotated[int, typer.Option("-k", "--top", min=1, help="How many documents to show.")] = 10
    field: FieldOption = "whole"
    json: Json = False


@dataclass(frozen=True)
class FeaturesMakeOptions:
    """Make ranking data: LETOR's features of every query's candidates.

    Example: podium features make docs.index queries.tsv --qrels docs.qrels -o data.letor

    QUERIES has one qid<TAB>text per line, or JSON lines with "qid" and "text". Candidates are the
    best by BM25 (--candidates), or the documents of a TREC run (--run).

    A feature has a name such as bm25(title). Every field and the whole document have covered,
    covered.ratio, length, idf, tf and tfidf (sum, min, max, mean), bm25, lmir.abs, lmir.dir and
    lmir.jm. They are raw numbers; podium data convert --scale minmax scales them within queries.

    Documents without a judgment get the label 0. OUT's ending decides the format, as in podium data
    convert.
    """

    index: IndexFile
    queries: Annotated[Path, file_argument("QUERIES", "Ids and texts of queries.")]
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")]
    qrels: Annotated[Path | None, file_option("Judgments: TREC qrels, LETOR or Parquet.")] = None
    candidates: Annotated[
        int | None,
        typer.Option(min=1, help="Documents per query, the best by BM25; 100 by default."),
    ] = None
    run: Annotated[
        Path | None, file_option("A TREC run whose documents are the candidates instead.")
    ] = None
    field: FieldOption = "whole"
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False
