"""``podium data``: look at ranking data, convert it, sample it, split it, partition it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from podium.apps.cli.inputs.data_folders import MAX_LISTED_FILES, folder_advice
from podium.apps.cli.inputs.input_files import InputFiles, fold_paths, reading_bar
from podium.apps.cli.options.data import (
    DataConvertOptions,
    DataInfoOptions,
    DataPartitionOptions,
    DataSampleOptions,
    DataSplitOptions,
)
from podium.apps.cli.outputs.collection_files import (
    FileCounts,
    report_split,
    sample_collection,
    split_collection,
    write_blocks,
)
from podium.apps.cli.outputs.feature_table import (
    feature_advice,
    features_as_json,
    print_features,
)
from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.apps.cli.outputs.problem_list import fail_with_problems
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import (
    check_not_replaced,
    check_ranking_data_targets,
    writable_format,
    write_ranking_data,
)
from podium.counted_nouns import count_text, count_texts
from podium.data import (
    Collection,
    RankingData,
    draw_truth,
    kfold,
    partition,
    rotate,
    sample,
    scale_by_query,
    write_columns,
)
from podium.data import split as split_data
from podium.data.atomic_files import check_target, make_folder
from podium.data.collections.manifest import is_collection
from podium.data.feature_statistics import feature_statistics
from podium.data.scaling import SCALERS
from podium.data.text_files import stem
from podium.errors import DataError, UnknownNameError, UsageError


def run_data_info(options: DataInfoOptions) -> None:
    """Print what is in ranking data: counts, labels, list lengths, odd features."""
    files = InputFiles(options.missing, options, is_quiet=options.json)
    if any(is_collection(path) for path in options.inputs):
        _print_facts(options, _collection_facts(files.open_collection(options.inputs)))
        return
    if options.write_columns is not None:
        check_target(options.write_columns, *options.inputs)
        check_not_replaced([options.write_columns], options.force)
    data = _read_inputs(files, options.inputs)
    facts, features = _facts(data), feature_statistics(data)
    if options.write_columns is not None:
        _write_columns(files, options.write_columns)
    if options.json:
        print_json(facts | {"feature_table": features_as_json(features)})
        return
    _print_facts(options, facts)
    print_features(features)
    print_notes(feature_advice(features, data.scaled))


def _print_facts(options: DataInfoOptions, facts: dict[str, Any]) -> None:
    if options.json:
        print_json(facts)
        return
    for name in ("scaled_by_query", "judged_by"):
        facts[name] = facts[name] or "not said"
    rows = [[name.replace("_", " "), _fact_text(value)] for name, value in facts.items()]
    print_table(" ".join(map(str, options.inputs)), ["what", "value"], rows, text_columns=2)


def _collection_facts(collection: Collection) -> dict[str, Any]:
    """Return what the manifest of a collection says; no row is read."""
    manifest, layout = collection.manifest, collection.manifest.layout
    low, high = manifest.labels
    return {
        "queries": collection.n_queries,
        "documents": len(collection),
        "features": collection.n_features,
        "feature_names": layout.has_names,
        "labels": f"{low:g} to {high:g}",
        "parts": len(manifest.parts),
        "documents_per_part": f"{min(p.rows for p in manifest.parts):,} to "
        f"{max(p.rows for p in manifest.parts):,}",
        "document_ids": layout.docids,
        "top_k_truth": layout.topk,
        "scaled_by_query": layout.scaled,
        "judged_by": layout.judged_by,
        "missing_values": layout.missing == "nan",
        "dtype": layout.dtype,
        "megabytes": round(collection.n_bytes / 1e6, 1),
    }


def run_data_partition(options: DataPartitionOptions) -> None:
    """Write ranking data as a collection."""
    files = InputFiles(options.missing, options, is_quiet=options.json)
    with reading_bar(options.inputs) as progress, files.warnings():
        collection = partition(
            options.inputs, options.out, rows=options.rows, missing=options.missing,
            columns=files.named_columns, dtype=options.dtype,
            replace_collection=options.force, tell_columns=files.note_columns,
            progress=progress,
        )  # fmt: skip
    if options.json:
        print_json({"folder": str(options.out), **_collection_facts(collection)})
        return
    typer.echo(f"{options.out}: {collection}", err=True)


def _read_inputs(files: InputFiles, paths: Sequence[Path]) -> RankingData:
    """Read files, or a folder of folds as one data set; problems of tables are printed."""
    folder = next((path for path in paths if path.is_dir()), None)
    if folder is not None:
        return _read_folder(files, folder, len(paths))
    try:
        return files.read(paths)
    except DataError as error:
        fail_with_problems(error, paths, files)


def _read_folder(files: InputFiles, folder: Path, n_paths: int) -> RankingData:
    """Read a folder of folds as one data set; raise with the names of its files if it has no folds."""
    if n_paths > 1:
        raise UsageError(f"expected one folder, or files, got {n_paths} paths with a folder")
    try:
        paths = fold_paths(folder)
    except DataError:
        raise UsageError(f"expected files, or a folder of folds; {folder_advice(folder)}") from None
    data = files.read_folder(folder)
    if not files.is_quiet:
        names = ", ".join(str(path.relative_to(folder)) for path in paths[:MAX_LISTED_FILES])
        more = ", ..." if len(paths) > MAX_LISTED_FILES else ""
        print_notes(
            [f"{folder} has folds, for podium compare {folder} --rankers ...: {names}{more}"]
        )
    return data


def run_data_convert(options: DataConvertOptions) -> None:
    """Convert LETOR text or a table to LETOR text, CSV, Parquet or qrels."""
    check_ranking_data_targets([options.out], options.force)
    if options.scale is not None and options.scaled is not None:
        raise UsageError("expected --scale to scale, or --scaled to say that it is done, got both")
    if options.scaled not in (None, "none", *SCALERS):
        raise UnknownNameError("scaling", options.scaled or "", [*SCALERS, "none"])
    files = InputFiles(options.missing, options, is_quiet=options.json)
    if any(path.is_dir() for path in options.inputs):
        blocks = (_transform(block, options) for block in files.blocks(options.inputs))
        counts = write_blocks(options.out, blocks)
        if options.json:
            print_json(counts.facts(options.out) | {"regrouped": False})
        else:
            typer.echo(
                f"{options.out}: {count_texts(query=counts.queries, document=counts.documents)}",
                err=True,
            )
        return
    data = files.read(options.inputs)
    with spinner("working"):
        data = _transform(data, options)
    write_ranking_data(data, options.out)
    if writable_format(options.out) == "csv" and not options.json:
        print_notes(_lost_in_csv(data))
    if options.json:
        print_json(
            _describe_files({options.out: data})[0] | {"regrouped": data.source_rows is not None}
        )
        return
    typer.echo(f"{options.out}: {data}", err=True)
    if data.source_rows is not None:
        typer.echo(
            "the rows of a query were not adjacent and are together now: compute scores again",
            err=True,
        )


def _transform(data: RankingData, options: DataConvertOptions) -> RankingData:
    """Return the data scaled, or with top-k truth, query by query."""
    if options.scaled is not None:
        data = replace(data, scaled=None if options.scaled == "none" else options.scaled)
    data = data if options.scale is None else scale_by_query(data, options.scale)
    return data if options.topk is None else draw_truth(data, options.topk, options.seed)


def run_data_sample(options: DataSampleOptions) -> None:
    """Write random queries of ranking data."""
    check_ranking_data_targets([options.out], options.force)
    files = InputFiles(options.missing, options, is_quiet=options.json)
    if any(is_collection(path) for path in options.inputs):
        counts = sample_collection(files, options)
    else:
        data = sample(_read_inputs(files, options.inputs), options.queries, seed=options.seed)
        write_ranking_data(data, options.out, files.resolved_columns)
        counts = FileCounts(data.n_queries, len(data), data.n_features)
    if options.json:
        print_json(counts.facts(options.out))
        return
    typer.echo(f"{options.out}: {counts}", err=True)


def run_data_split(options: DataSplitOptions) -> None:
    """Split data by query, never within one: into folds, or into train, validation and test."""
    if sum([options.folds is not None, options.fractions is not None, options.parts]) != 1:
        raise UsageError("expected one of --folds K, --fractions F,F,F and --parts")
    if options.fractions is not None:
        _parse_fractions(options.fractions)
    files = InputFiles(options.missing, options, is_quiet=options.json)
    if any(is_collection(path) for path in options.inputs) and not options.parts:
        report_split(split_collection(files, options), options.json)
        return
    pieces: dict[str, RankingData]
    if options.fractions is not None:
        shares = _parse_fractions(options.fractions)
        parts = split_data(files.read(options.inputs), shares, seed=options.seed)
        names = ("train", "test") if len(parts) == 2 else ("train", "vali", "test")
        pieces = dict(zip(names, parts, strict=True))
    else:
        if options.parts:
            rounds = rotate(_read_parts(files, options.inputs))
        else:
            rounds = kfold(files.read(options.inputs), options.folds or 0, seed=options.seed)
        pieces = {
            f"Fold{i}/{name}": piece
            for i, fold in enumerate(rounds, start=1)
            for name, piece in zip(("train", "vali", "test"), fold, strict=True)
        }
    ending = options.ending or _ending_of(options.inputs[0])
    paths = {name: options.out / f"{name}.{ending.removeprefix('.')}" for name in pieces}
    check_ranking_data_targets(list(paths.values()), options.force)
    if writable_format(next(iter(paths.values()))) == "qrels":
        next(iter(pieces.values())).require_docids("writing qrels")
    for name, piece in pieces.items():
        make_folder(paths[name].parent)
        write_ranking_data(piece, paths[name], files.resolved_columns)
    if options.json:
        print_json(_describe_files({paths[name]: piece for name, piece in pieces.items()}))
        return
    rows = [[str(paths[n]), f"{p.n_queries:,}", f"{len(p):,}"] for n, p in pieces.items()]
    print_table(count_text(len(rows), "file"), ["file", "queries", "documents"], rows)


def _ending_of(path: Path) -> str:
    """Return the ending of the parts of a file: that of a table that podium writes, else .txt."""
    ending = Path(stem(path)).suffix.lower()
    return ending if ending in (".csv", ".tsv", ".parquet") else ".txt"


def _read_parts(files: InputFiles, paths: Sequence[Path]) -> list[RankingData]:
    """Read one part per file; tables have the features of the first one."""
    first = files.read(paths[:1])
    return [first, *(files.read([path], features=first.feature_names) for path in paths[1:])]


def _write_columns(files: InputFiles, path: Path) -> None:
    if files.resolved_columns is None:
        raise UsageError(
            "expected --write-columns with a table (CSV, TSV, JSON lines, Parquet of your own), "
            "got data whose columns are clear"
        )
    write_columns(replace(files.resolved_columns, repeated=files.repeated), path)
    typer.echo(f"{path}: what each column is; use it with --columns {path}", err=True)


def _describe_files(files: dict[Path, RankingData]) -> list[dict[str, Any]]:
    return [
        {"file": str(path), "queries": d.n_queries, "documents": len(d), "features": d.n_features}
        for path, d in files.items()
    ]


def _lost_in_csv(data: RankingData) -> list[str]:
    """Return a warning about the parts of the data that CSV cannot hold."""
    lost = [
        words
        for words, value in (
            ("top-k truth", data.topk),
            ("scaling", data.scaled),
            ("who judged", data.judged_by),
            ("comments", data.comment_column),
        )
        if value is not None
    ]
    return [f"CSV has no place for {' and '.join(lost)}; .parquet keeps everything"] if lost else []


def _parse_fractions(text: str) -> list[float]:
    try:
        shares = [float(share) for share in text.split(",")]
    except ValueError:
        raise UsageError(f"expected --fractions such as 0.6,0.2,0.2, got {text!r}") from None
    if len(shares) not in (2, 3):
        raise UsageError(
            f"expected --fractions for 2 or 3 parts, as in 0.8,0.2 or 0.6,0.2,0.2, got {text}"
        )
    return shares


def _facts(data: RankingData) -> dict[str, Any]:
    labels, counts = np.unique(data.y, return_counts=True)
    sizes = data.groups.sizes
    varies = np.fmax.reduce(data.X, axis=0) > np.fmin.reduce(data.X, axis=0)
    with_id = 0 if data.docid_column is None else int((data.docid_column.lengths > 0).sum())
    grades = {f"{label:g}": int(n) for label, n in zip(labels, counts, strict=True)}
    return {
        "queries": data.n_queries,
        "documents": len(data),
        "features": data.n_features,
        "labels": grades if len(grades) <= 20 else {f"{labels[0]:g}..{labels[-1]:g}": len(data)},
        "queries_without_relevant": int((data.groups.reduce(np.maximum, data.y) <= 0).sum()),
        "documents_per_query": {
            "least": int(sizes.min()),
            "median": float(np.median(sizes)),
            "mean": round(float(sizes.mean()), 2),
            "most": int(sizes.max()),
        },
        "constant_features": [data.names()[j] for j in np.flatnonzero(~varies)],
        "missing_values": int(np.isnan(data.X).sum()),
        "documents_with_id": with_id,
        "top_k_truth": data.topk,
        "scaled_by_query": data.scaled,
        "judged_by": data.judged_by,
        "megabytes": round(data.X.nbytes / 1e6, 1),
    }


def _fact_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_fact_text(v)}" for key, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "no"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)
