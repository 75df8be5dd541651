"""``podium features``: index text, search it, and compute LETOR's features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.options.features import (
    FeaturesBuildOptions,
    FeaturesMakeOptions,
    FeaturesSearchOptions,
)
from podium.apps.cli.outputs.printing import print_json, print_table, printable
from podium.apps.cli.outputs.progress import counting_bar, spinner
from podium.apps.cli.outputs.ranking_data_files import (
    check_not_replaced,
    check_ranking_data_targets,
    write_ranking_data,
)
from podium.data import Qrels, RankingData, Run, read_queries, read_run
from podium.data.atomic_files import check_target
from podium.data.file_formats import read_judgments
from podium.errors import UsageError
from podium.features import FormulaParameters, Hits, Index, Tokenizer, make_features, read_documents


def run_features_build(options: FeaturesBuildOptions) -> None:
    """Count the terms of documents, field by field, and write them as an index."""
    parameters = FormulaParameters(
        k1=options.k1, b=options.b, mu=options.mu, jm=options.jm, delta=options.delta
    )
    check_target(options.out, *options.docs)
    check_not_replaced([options.out], options.force)
    with reading_bar(options.docs) as progress:
        index = Index.build(
            read_documents(options.docs, options.id_field, progress),
            fields=options.field or None, keep=options.keep or (),
            tokenizer=Tokenizer(options.stop_words, options.stemmer, options.identifiers),
            parameters=parameters,
        )  # fmt: skip
    with spinner(f"writing {options.out}"):
        index.save(options.out)
    if options.json:
        print_json({"file": str(options.out), **_describe_index(index)})
    else:
        typer.echo(printable(f"{options.out}: {index}"), err=True)


def run_features_search(options: FeaturesSearchOptions) -> None:
    """Search an index by BM25."""
    opened = Index.load(options.index)
    hits = opened.search(options.query, options.k, options.field)
    texts = {name: list(column.take(hits.documents)) for name, column in opened.texts.items()}
    if options.json:
        print_json(
            {"query": options.query, "field": options.field, "hits": _describe_hits(hits, texts)}
        )
        return
    if not len(hits.documents):
        typer.echo(printable(f"No document has a word of {options.query!r} in {options.field}"))
        return
    rows = [
        [f"{place}", docid, *(_short(column[place - 1]) for column in texts.values()), f"{score:.4f}"]
        for place, (docid, score) in enumerate(hits, start=1)
    ]  # fmt: skip
    headers = ["place", "document", *texts, f"bm25({options.field})"]
    print_table(options.query, headers, rows, text_columns=2 + len(texts))


def run_features_make(options: FeaturesMakeOptions) -> None:
    """Make ranking data: LETOR's features of every query's candidates."""
    if options.candidates is not None and options.run is not None:
        raise UsageError("expected --candidates or --run, whose documents are taken, got both")
    check_ranking_data_targets([options.out], options.force)
    check_target(
        options.out,
        options.index,
        options.queries,
        *(path for path in (options.qrels, options.run) if path is not None),
    )
    opened, texts = Index.load(options.index), read_queries(options.queries)
    judged = None if options.qrels is None else _read_qrels(options.qrels)
    candidates: int | Run = (
        options.candidates or 100 if options.run is None else read_run(options.run)
    )
    with counting_bar("features") as progress:
        data = make_features(
            opened, texts, candidates, judged, field=options.field, progress=progress
        )
    write_ranking_data(data, options.out)
    facts = _describe_data(data, judged, texts)
    if options.json:
        print_json({"file": str(options.out), **facts})
        return
    typer.echo(f"{options.out}: {data}", err=True)
    if facts["queries_without_candidates"]:
        typer.echo(f"queries that find nothing: {facts['queries_without_candidates']:,}", err=True)
    if judged is not None:
        counts = f"{facts['relevant_candidates']:,} of {facts['relevant']:,}"
        typer.echo(f"relevant documents among the candidates: {counts}", err=True)


def _read_qrels(path: Path) -> Qrels:
    judged = read_judgments(path)
    return judged if isinstance(judged, Qrels) else Qrels.from_data(judged)


def _describe_index(index: Index) -> dict[str, Any]:
    return {
        "documents": len(index),
        "terms": len(index.vocabulary) - 1,
        "fields": {name: postings.total for name, postings in index.postings.items()},
    }


def _describe_data(
    data: RankingData, judged: Qrels | None, texts: dict[str, str]
) -> dict[str, Any]:
    """Return the size of the data, and how many of the relevant documents are in it."""
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


def _describe_hits(hits: Hits, texts: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {"document": docid, "score": score, **{name: texts[name][i] for name in texts}}
        for i, (docid, score) in enumerate(hits)
    ]


def _short(text: str, width: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
