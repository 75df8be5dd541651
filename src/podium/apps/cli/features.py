"""``podium features``: documents and queries in words -> an index, search, LETOR's features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.apps.cli.console import (
    Json,
    advancing,
    busy,
    print_json,
    print_table,
    printable,
    reading,
    reports_errors,
)
from podium.apps.cli.data import Force, check_free, check_new, write_ranking_data

if TYPE_CHECKING:
    from podium.data import Qrels, RankingData, Run
    from podium.features import Hits, Index

app = typer.Typer(
    help="Documents and queries in words: an index, search, LETOR's features.", no_args_is_help=True
)

BUILD = """Example: podium features build docs.jsonl -o docs.index --stop-words english --stemmer porter

DOCS are JSON lines, plain or compressed: {"id": "d1", "title": "...", "body": "..."}. Every field that is
text is counted, unless --field says which."""

SEARCH = """Example: podium features search docs.index "lift of a wing" -k 5

BM25 over all fields together, or over one (--field title). Equal scores keep the order of the documents."""

MAKE = """Example: podium features make docs.index queries.tsv --qrels docs.qrels -o data.letor

QUERIES are qid<TAB>text a line, or JSON lines with "qid" and "text". Candidates are the best by BM25
(--candidates), or the documents of a TREC run (--run).

Features are named as bm25(title): covered, covered.ratio, length, idf, tf and tfidf (sum, min, max, mean),
bm25, lmir.abs, lmir.dir, lmir.jm of every field and of the whole document. They are raw numbers; podium data
convert --scale minmax scales them within queries.

Documents without a judgment get the label 0. OUT's ending says the format, as in podium data convert."""

IndexFile = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, metavar="INDEX", help="Made by podium features build."
    ),
]
Field = Annotated[str, typer.Option(help="The field that BM25 searches; whole: all of them.")]


@app.command("build", epilog=BUILD)
@reports_errors
def build(
    docs: Annotated[
        list[Path],
        typer.Argument(exists=True, dir_okay=False, metavar="DOCS...", help="JSON lines."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the index goes.")],
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A field to count; may be given several times."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A field whose text is kept, to be shown; several times, too."
        ),
    ] = None,
    id_field: Annotated[str, typer.Option("--id", metavar="NAME", help="Where ids stand.")] = "id",
    stop_words: Annotated[
        Literal["none", "english"], typer.Option(help="Words to leave out.")
    ] = "none",
    stemmer: Annotated[
        str,
        typer.Option(help="Endings to strip: none, s (plurals), porter, or a language, as german."),
    ] = "none",
    identifiers: Annotated[
        Literal["keep", "split", "both"],
        typer.Option(help="snake_case and CamelCase: one word, its parts, or both."),
    ] = "keep",
    k1: Annotated[float, typer.Option(min=0, help="BM25: saturation of counts.")] = 1.2,
    b: Annotated[float, typer.Option(min=0, max=1, help="BM25: evening out of lengths.")] = 0.75,
    mu: Annotated[float, typer.Option(help="LMIR.DIR: Dirichlet's mu, above 0.")] = 2000.0,
    jm: Annotated[
        float, typer.Option(max=1, help="LMIR.JM: Jelinek and Mercer's lambda, above 0.")
    ] = 0.1,
    delta: Annotated[
        float, typer.Option(max=1, help="LMIR.ABS: what is taken off counts, above 0.")
    ] = 0.7,
    force: Force = False,
    json: Json = False,
) -> None:
    """Count the terms of documents, field by field, and write them as an index."""
    from podium.data.files import check_target
    from podium.features import Index, Parameters, Tokenizer, read_documents

    parameters = Parameters(k1=k1, b=b, mu=mu, jm=jm, delta=delta)
    check_target(out, *docs)
    check_new([out], force)
    with reading(docs) as progress:
        index = Index.build(
            read_documents(docs, id_field, progress), fields=field or None, keep=keep or (),
            tokenizer=Tokenizer(stop_words, stemmer, identifiers), parameters=parameters,
        )  # fmt: skip
    with busy(f"writing {out}"):
        index.save(out)
    if json:
        print_json({"file": str(out), **_facts(index)})
    else:
        typer.echo(printable(f"{out}: {index}"), err=True)


@app.command("search", epilog=SEARCH)
@reports_errors
def search(
    index: IndexFile,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is looked for.")],
    k: Annotated[int, typer.Option("-k", "--top", min=1, help="Documents shown.")] = 10,
    field: Field = "whole",
    json: Json = False,
) -> None:
    """Search an index by BM25."""
    from podium.features import Index

    opened = Index.load(index)
    hits = opened.search(query, k, field)
    texts = {name: list(column.take(hits.documents)) for name, column in opened.texts.items()}
    if json:
        print_json({"query": query, "field": field, "hits": _told(hits, texts)})
        return
    if not len(hits.documents):
        typer.echo(printable(f"No document has a word of {query!r} in {field}"))
        return
    rows = [
        [f"{place}", docid, *(_short(column[place - 1]) for column in texts.values()), f"{score:.4f}"]
        for place, (docid, score) in enumerate(hits, start=1)
    ]  # fmt: skip
    headers = ["place", "document", *texts, f"bm25({field})"]
    print_table(query, headers, rows, text_columns=2 + len(texts))


@app.command("make", epilog=MAKE)
@reports_errors
def make(
    index: IndexFile,
    queries: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, metavar="QUERIES", help="Ids and texts of queries."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the data goes.")],
    qrels: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Judgments: TREC qrels, LETOR or Parquet."),
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(min=1, help="Documents a query: the best by BM25; 100 without it.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A TREC run whose documents to take instead."
        ),
    ] = None,
    field: Field = "whole",
    force: Force = False,
    json: Json = False,
) -> None:
    """Make ranking data: LETOR's features of every query's candidates."""
    from podium.data import read_queries, read_run
    from podium.data.files import check_target
    from podium.errors import UsageError
    from podium.features import Index, make_features

    if candidates is not None and run is not None:
        raise UsageError("expected --candidates or --run, whose documents are taken, got both")
    check_free([out], force)
    check_target(out, index, queries, *(path for path in (qrels, run) if path is not None))
    opened, texts = Index.load(index), read_queries(queries)
    judged = None if qrels is None else _read_qrels(qrels)
    given: int | Run = candidates or 100 if run is None else read_run(run)
    with advancing("features") as progress:
        data = make_features(opened, texts, given, judged, field=field, progress=progress)
    write_ranking_data(data, out)
    facts = _counts(data, judged, texts)
    if json:
        print_json({"file": str(out), **facts})
        return
    typer.echo(f"{out}: {data}", err=True)
    if facts["queries_without_candidates"]:
        typer.echo(f"queries that find nothing: {facts['queries_without_candidates']:,}", err=True)
    if judged is not None:
        found, there = facts["relevant_candidates"], facts["relevant"]
        typer.echo(f"relevant documents among the candidates: {found:,} of {there:,}", err=True)


def _read_qrels(path: Path) -> Qrels:
    from podium.data import Qrels, read_judged

    judged = read_judged(path)
    return judged if isinstance(judged, Qrels) else Qrels.from_data(judged)


def _facts(index: Index) -> dict[str, Any]:
    return {
        "documents": len(index),
        "terms": len(index.vocabulary) - 1,
        "fields": {name: postings.total for name, postings in index.postings.items()},
    }


def _counts(data: RankingData, judged: Qrels | None, texts: dict[str, str]) -> dict[str, Any]:
    """What was made, and how many of the relevant documents are in it."""
    relevant = None
    if judged is not None:
        rows = zip(judged.qids.tolist(), judged.groups.slices(), strict=True)
        relevant = sum(int((judged.values[own] > 0).sum()) for qid, own in rows if qid in texts)
    return {
        "queries": data.n_queries,
        "queries_without_candidates": len(texts) - data.n_queries,
        "documents": len(data),
        "features": data.n_features,
        "relevant": relevant,
        "relevant_candidates": None if judged is None else int((data.y > 0).sum()),
    }


def _told(hits: Hits, texts: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {"document": docid, "score": score, **{name: texts[name][i] for name in texts}}
        for i, (docid, score) in enumerate(hits)
    ]


def _short(text: str, width: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
