"""``podium predict``: a model and data in, scores out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

import numpy as np
import typer

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.inputs.chosen_cluster import check_is_collection
from podium.apps.cli.inputs.input_files import InputFiles, pick_features, reading_bar
from podium.apps.cli.inputs.prepared_rankers import (
    categories_of,
    missing_for,
    unseen_words,
    with_scaling,
)
from podium.apps.cli.options.predict import PredictionFormat, PredictOptions
from podium.apps.cli.outputs.prediction_files import (
    choose_format,
    prediction_table,
    prediction_writer,
    spooled_scores,
    write_predictions,
)
from podium.apps.cli.outputs.printing import print_json, print_notes
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data import RankingData
from podium.data.atomic_files import check_target
from podium.data.score_files import score_lines
from podium.ensemble import CFBRS
from podium.errors import UsageError
from podium.multitask import RPCMTL
from podium.rankers import Ordinal, Ranker
from podium.rankers.collection_work import map_collection
from podium.registry import load
from podium.typing import Floats

PredictionKind = Literal["scores", "degrees", "probabilities"]


def run_predict(options: PredictOptions) -> None:
    """Score documents with a model."""
    if options.cluster is not None:
        check_is_collection(options.inputs)
    file_format = choose_format(options.out, options.file_format, options.k)
    kind = _choose_kind(options, file_format)
    if options.out is not None:
        check_target(options.out, options.model, *options.inputs)
        check_not_replaced([options.out], options.force)
    ranker = load(options.model)
    if kind != "scores":
        _check_has_degrees(ranker, kind)
    missing = missing_for(options.missing, ranker)
    files = InputFiles(missing, options, is_quiet=options.json)
    is_folder = any(path.is_dir() for path in options.inputs)
    if is_folder and files.repeated == "keep" and (options.out or not options.json):
        _write_blocks(ranker, files, options, kind, file_format)
        return
    data = files.read(
        options.inputs, labelled=False, features=ranker.trained_.feature_names,
        categories=categories_of(ranker),
    )  # fmt: skip
    if not options.json:
        print_notes(unseen_words(ranker, data))
    if options.ignore_scaling:
        data = with_scaling(data, ranker.trained_.scaled)
    with spinner("scoring"), warnings_in_one_line():
        columns = _predict_columns(ranker, data, kind, options.user_class)
    if options.out is not None:
        with spinner(f"writing {options.out}"):
            write_predictions(data, columns, options.out, file_format, options.k)
        if options.json:
            print_json(
                {"file": str(options.out), "format": file_format, "ranker": ranker.name,
                 "queries": data.n_queries, "documents": len(data), **_column_names(columns)}
            )  # fmt: skip
    elif options.json:
        values = data.restore(prediction_table(columns)).tolist()
        print_json({"ranker": ranker.name, kind: values, **_column_names(columns)})
    else:
        typer.echo(score_lines(data.restore(prediction_table(columns))), nl=False)


def _write_blocks(
    ranker: Ranker,
    files: InputFiles,
    options: PredictOptions,
    kind: PredictionKind,
    file_format: PredictionFormat,
) -> None:
    """Score a collection and write one block after the other."""
    collection = files.open_collection(options.inputs)
    columns: dict[str, Floats] = {}
    n_queries = n_documents = 0
    target = (
        spooled_scores()
        if options.out is None
        else prediction_writer(options.out, file_format, options.k, len(collection))
    )
    score = _score_on_cluster if options.cluster else _score_here
    with warnings_in_one_line(), target as write:
        for data, columns in score(ranker, files, options, kind, file_format):
            write(data, columns)
            n_queries, n_documents = n_queries + data.n_queries, n_documents + len(data)
    if options.json:
        print_json(
            {"file": str(options.out), "format": file_format, "ranker": ranker.name,
             "queries": n_queries, "documents": n_documents, **_column_names(columns)}
        )  # fmt: skip


def _score_here(
    ranker: Ranker,
    files: InputFiles,
    options: PredictOptions,
    kind: PredictionKind,
    file_format: PredictionFormat,
) -> Iterator[tuple[RankingData, dict[str, Floats]]]:
    """Yield each block of a collection with its predictions."""
    for data in files.blocks(options.inputs, features=ranker.trained_.feature_names):
        if options.ignore_scaling:
            data = with_scaling(data, ranker.trained_.scaled)
        yield data, _predict_columns(ranker, data, kind, options.user_class)


def _score_on_cluster(
    ranker: Ranker,
    files: InputFiles,
    options: PredictOptions,
    kind: PredictionKind,
    file_format: PredictionFormat,
) -> Iterator[tuple[RankingData, dict[str, Floats]]]:
    """Yield each block with its predictions: workers read features, and this process reads ids."""
    collection = files.open_collection(options.inputs)
    work = partial(
        _predict_block, kind=kind, user_class=options.user_class,
        ignore_scaling=options.ignore_scaling,
    )  # fmt: skip
    needs_features = file_format == "jsonl"
    names = ranker.trained_.feature_names if needs_features else None
    blocks = collection.blocks(with_features=needs_features)
    with reading_bar(options.inputs, collection.n_bytes) as progress:
        predictions = map_collection(work, ranker, collection, progress)
        for block, columns in zip(blocks, predictions, strict=True):
            yield pick_features(block, names), columns


def _predict_block(
    ranker: Ranker, block: RankingData, *, kind: PredictionKind, user_class: str | None, ignore_scaling: bool
) -> dict[str, Floats]:  # fmt: skip
    """Return the columns of one block of a collection, which a worker of a cluster may score."""
    data = pick_features(block, ranker.trained_.feature_names)
    if ignore_scaling:
        data = with_scaling(data, ranker.trained_.scaled)
    return _predict_columns(ranker, data, kind, user_class)


def _choose_kind(options: PredictOptions, file_format: PredictionFormat) -> PredictionKind:
    """Return what to predict; raise if other options do not go with it."""
    if not (options.degrees or options.probabilities):
        return "scores"
    if options.degrees and options.probabilities:
        raise UsageError("expected --degrees or --probabilities, got both")
    kind: PredictionKind = "degrees" if options.degrees else "probabilities"
    if options.user_class is not None:
        raise UsageError(f"expected --{kind} or --user-class, got both")
    if file_format in ("run", "jsonl"):
        got = "a TREC run, which has scores only" if file_format == "run" else "a file of queries"
        raise UsageError(f"expected --{kind} with text, .npy or .parquet, got {got}")
    return kind


def _check_has_degrees(ranker: Ranker, kind: PredictionKind) -> None:
    if not isinstance(ranker, Ordinal | RPCMTL):
        raise UsageError(
            f"expected --{kind} with a model of ordinal or rpc-mtl, got one of {ranker.name}, which "
            "has scores only"
        )


def _predict_columns(
    ranker: Ranker, data: RankingData, kind: PredictionKind, user_class: str | None
) -> dict[str, Floats]:
    """Return scores, degrees, or one column of probabilities per degree, the worst degree first."""
    if kind == "scores":
        return {"score": _predict_scores(ranker, data, user_class)}
    assert isinstance(ranker, Ordinal | RPCMTL)
    if kind == "degrees":
        return {"degree": np.asarray(ranker.predict_degree(data), dtype=np.float64)}
    table = ranker.predict_proba(data)
    labels = ranker.degrees_ if isinstance(ranker, Ordinal) else np.arange(table.shape[1])
    names = [f"probability_{_label_text(float(label))}" for label in labels.tolist()]
    return dict(zip(names, table.T, strict=True))


def _label_text(label: float) -> str:
    """Return all digits of a label, so that different labels have different names."""
    return str(int(label)) if label.is_integer() else repr(label)


def _column_names(columns: Mapping[str, Floats]) -> dict[str, list[str]]:
    """Return the names of columns that are not scores."""
    return {} if "score" in columns else {"columns": list(columns)}


def _predict_scores(ranker: Ranker, data: RankingData, user_class: str | None) -> Floats:
    if user_class is None:
        return ranker.predict(data)
    if not isinstance(ranker, CFBRS):
        raise UsageError(f"expected --user-class with a model of cfbrs, got one of {ranker.name}")
    return ranker.predict(data, user_class=user_class)
