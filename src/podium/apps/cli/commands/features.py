"""``podium features``: index text, search it, and compute LETOR's features."""

from __future__ import annotations

from dataclasses import dataclass
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
    ranking_data_writer,
    writable_format,
    write_ranking_data,
)
from podium.counted_nouns import count_texts
from podium.data import IndexedRun, Qrels, RankingData, concatenate, read_queries
from podium.data.atomic_files import check_target
from podium.data.file_formats import read_judgments
from podium.errors import UsageError
from podium.features import (
    FormulaParameters,
    Hits,
    Index,
    Tokenizer,
    read_documents,
    stream_features,
)


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
    candidates: int | IndexedRun = (
        options.candidates or 100 if options.run is None else IndexedRun(options.run)
    )
    counts = FeatureCounts()
    with counting_bar("features") as progress:
        blocks = stream_features(
            opened, texts, candidates, judged, field=options.field, progress=progress
        )
        if writable_format(options.out) == "letor":  # its first line has the texts of all documents
            data = concatenate([counts.add(block) for block in blocks])
            write_ranking_data(data, options.out)
        else:
            with ranking_data_writer(options.out) as write:
                for block in blocks:
                    write(counts.add(block))
    facts = _describe_data(counts, judged, texts)
    if options.json:
        print_json({"file": str(options.out), **facts})
        return
    sizes = count_texts(query=counts.queries, document=counts.documents, feature=counts.features)
    typer.echo(f"{options.out}: {sizes}", err=True)
    if facts["queries_without_candidates"]:
        typer.echo(f"queries that find nothing: {facts['queries_without_candidates']:,}", err=True)
    if judged is not None:
        relevant = f"{facts['relevant_candidates']:,} of {facts['relevant']:,}"
        typer.echo(f"relevant documents among the candidates: {relevant}", err=True)


def _read_qrels(path: Path) -> Qrels:
    judged = read_judgments(path)
    return judged if isinstance(judged, Qrels) else Qrels.from_data(judged)


def _describe_index(index: Index) -> dict[str, Any]:
    return {
        "documents": len(index),
        "terms": len(index.vocabulary) - 1,
        "fields": {name: postings.total for name, postings in index.postings.items()},
    }


@dataclass
class FeatureCounts:
    """The size of the data that was made so far."""

    queries: int = 0
    documents: int = 0
    features: int = 0
    relevant: int = 0

    def add(self, data: RankingData) -> RankingData:
        """Count a block and return it."""
        self.queries += data.n_queries
        self.documents += len(data)
        self.features = data.n_features
        self.relevant += int((data.y > 0).sum())
        return data


def _describe_data(
    counts: FeatureCounts, judged: Qrels | None, texts: dict[str, str]
) -> dict[str, Any]:
    """Return the size of the data, and how many of the relevant documents are in it."""
    relevant = None
    if judged is not None:
        rows = zip(judged.qids.tolist(), judged.groups.slices(), strict=True)
        relevant = sum(int((judged.values[own] > 0).sum()) for qid, own in rows if qid in texts)
    return {
        "queries": counts.queries,
        "queries_without_candidates": len(texts) - counts.queries,
        "documents": counts.documents,
        "features": counts.features,
        "relevant": relevant,
        "relevant_candidates": None if judged is None else counts.relevant,
    }


def _describe_hits(hits: Hits, texts: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {"document": docid, "score": score, **{name: texts[name][i] for name in texts}}
        for i, (docid, score) in enumerate(hits)
    ]


def _short(text: str, width: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
