"""``podium explain``: which features a model uses, and why a document stands where it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.inputs.input_files import InputFiles, pick_features
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.prepared_rankers import (
    categories_of,
    missing_for,
    with_scaling,
)
from podium.apps.cli.options.explain import ExplainOptions
from podium.apps.cli.outputs.printing import finite_or_none, print_json, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.search_report import print_report
from podium.counted_nouns import count_text
from podium.data import RankingData
from podium.data.collections.manifest import is_collection
from podium.data.query_lookup import find_block
from podium.ensemble import HeadExplanation, RerankedModel
from podium.errors import UsageError
from podium.rankers import (
    Ranker,
    feature_importance,
    feature_weights,
    innermost_ranker,
    permutation_importance,
)
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.prepared_model import PreparedModel
from podium.registry import load

MEASURE_BY_MODEL = {
    "linear": "weight",
    "stumps": "sum of |alpha|",
    "trees": "gain",
    "ordinal": "weight",
    "composed-linear": "weight",
    "composed": "share in the blocks",
    "combined": "use by degrees and tasks",
    "score-sum": "share in the members",
}
SIGNED_MODELS = ("linear", "ordinal", "composed-linear")


def _incomplete(options: ExplainOptions, has_data: bool) -> str:
    """Return what lacks: the data, or what to explain of it."""
    if has_data:
        return (
            "expected --data DATA together with --query Q (one query's list) or --importance (the features "
            "that a metric depends on), got data alone"
        )
    wish = "--importance" if options.importance else f"--query {options.query}"
    return f"expected data with {wish}, got none; as in: podium explain {options.model} DATA {wish}"


def run_explain(options: ExplainOptions) -> None:
    """Explain a model by its features, one query's list, or what a metric needs."""
    if options.query is not None and options.importance:
        raise UsageError("expected --query or --importance, got both")
    data_files = [*(options.data_files or ()), *(options.data or ())]
    if bool(data_files) != (options.query is not None or options.importance):
        raise UsageError(_incomplete(options, bool(data_files)))
    check_metric(options.metric)
    ranker = load(options.model)
    if not data_files:
        _explain_model(ranker, options.model, options.n or 10, options.json)
        return
    missing = missing_for(options.missing, ranker)
    files = InputFiles(missing, options, is_quiet=options.json, maps_rows=True)
    first, table = _read(files, data_files, ranker, options)
    if options.ignore_scaling:
        table = with_scaling(table, ranker.trained_.scaled)
    with warnings_in_one_line():
        if options.query is not None:
            is_labelled = files.resolved_columns is None or files.resolved_columns.label is not None
            _explain_query(ranker, table, options, is_labelled, first)
        else:
            _explain_importance(ranker, table, options)


def _read(
    files: InputFiles, paths: list[Path], ranker: Ranker, options: ExplainOptions
) -> tuple[int, RankingData]:
    """Return the data and its first row; of a collection only the block with the query, if there is one."""
    features = ranker.trained_.feature_names
    if options.query is not None and any(is_collection(path) for path in paths):
        first, block = find_block(files.open_collection(paths), options.query)
        return first, pick_features(block, features)
    return 0, files.read(
        paths, labelled=options.importance, features=features, categories=categories_of(ranker)
    )


def _explain_model(ranker: Ranker, path: Path, n: int, json: bool) -> None:
    model = ranker.model_
    if ranker.report_ is not None:
        _explain_search(ranker, path, json)
        return
    kind = model.model.kind if isinstance(model, PreparedModel) else model.kind
    if model.kind == "reranked":
        _explain_vote(ranker, path, json)
        return
    if kind not in MEASURE_BY_MODEL:
        raise UsageError(f"expected --data D --importance to explain a model of kind {kind}")
    is_signed = kind in SIGNED_MODELS
    weights = feature_weights(ranker) if is_signed else feature_importance(ranker)
    measure = MEASURE_BY_MODEL[kind]
    features = dict(list(weights.items())[:n])
    if json:
        print_json(
            {"ranker": innermost_ranker(ranker).name, "model": kind,
             "scaled_by_query": ranker.trained_.scaled, "preparation": _steps(ranker),
             "measure": measure, "features": features}
        )  # fmt: skip
        return
    rows = [
        [name, f"{value:+.6g}" if is_signed else f"{value:.6g}"] for name, value in features.items()
    ]
    title = f"{path}: {_origin(ranker)}; {len(features)} of {count_text(len(weights), 'feature')}"
    print_table(title, ["feature", measure], rows)


def _origin(ranker: Ranker) -> str:
    if isinstance(ranker, ImportedRanker):
        return f"imported from {ranker.source}"
    trained = ranker.trained_
    scaled = "" if trained.scaled is None else f", features scaled by query ({trained.scaled})"
    steps = _steps(ranker)
    return (
        f"{innermost_ranker(ranker).name}, trained on {count_text(trained.n_queries, 'query')}, "
        f"{count_text(trained.n_documents, 'document')}{scaled}{'' if steps is None else f', {steps}'}"
    )


def _steps(ranker: Ranker) -> str | None:
    """Return the preparation of a model in words, None without one."""
    model = ranker.model_
    return model.describe() if isinstance(model, PreparedModel) else None


def _explain_search(ranker: Ranker, path: Path, json: bool) -> None:
    """Print the members and their weights, and what a search tried."""
    report = ranker.report_
    assert report is not None
    if json:
        print_json(
            {"ranker": innermost_ranker(ranker).name, "model": ranker.model_.kind,
             "report": report.to_dict()}
        )  # fmt: skip
        return
    typer.echo(f"{path}: {_origin(ranker)}; a model of kind {ranker.model_.kind}")
    print_report(report)


def _explain_vote(ranker: Ranker, path: Path, json: bool) -> None:
    """Print who votes, how much each vote counts, and the value of each member on validation."""
    model = ranker.model_
    assert isinstance(model, RerankedModel)
    members = [
        {"ranker": m.name, "settings": m.settings, "weight": weight, "validation": m.value}
        for m, weight in zip(model.members, model.weights, strict=True)
    ]
    if json:
        print_json(
            {"ranker": ranker.name, "model": model.kind, "t": model.t, "depth": model.depth,
             "aggregator": model.aggregator.name, "members": members}
        )  # fmt: skip
        return
    rows = [
        [m.name, m.settings, f"{weight:.4f}", "-" if m.value is None else f"{m.value:.4f}"]
        for m, weight in zip(model.members, model.weights, strict=True)
    ]
    title = (
        f"{path}: {ranker.name}, {model.base.name} orders, the first {model.t} by "
        f"{model.aggregator_text} of each voter's first {model.depth}"
    )
    if len(model.voters) == 1:
        title += f"; {model.members[model.voters[0]].name} alone decides"
    print_table(title, ["ranker", "settings", "weight", "validation"], rows, text_columns=2)


def _explain_head(
    explanation: HeadExplanation, ranker: Ranker, data: RankingData, json: bool, first: int
) -> None:
    """Print each ranker's order of a query's head, and the final order."""
    rows = (
        first
        + 1
        + (explanation.rows if data.source_rows is None else data.source_rows[explanation.rows])
    )
    if json:
        documents = [
            {
                "place": i + 1,
                "row": int(rows[i]),
                "docid": None if explanation.docids is None else explanation.docids[i],
                "label": finite_or_none(float(explanation.labels[i])),
                "places": [finite_or_none(float(place)) for place in explanation.places[i]],
            }
            for i in range(len(rows))
        ]
        print_json(
            {"ranker": ranker.name, "query": explanation.qid, "rankers": list(explanation.rankers),
             "weights": list(explanation.weights), "aggregator": explanation.aggregator, "t": explanation.t,
             "depth": explanation.depth, "documents": documents}
        )  # fmt: skip
        return
    headers, table = explanation.table()
    if explanation.docids is None:
        for i in range(explanation.n_head):
            table[1 + i][0] = f"line {rows[i]}"
    print_table(f"{ranker.name}, {explanation.title()}", headers, table)


def _explain_query(
    ranker: Ranker, data: RankingData, options: ExplainOptions, is_labelled: bool, first: int
) -> None:
    """Print one query's list; labels that the data does not have are left empty."""
    explanation = ranker.explain(data, options.query or "")
    if not is_labelled:
        explanation = replace(explanation, labels=np.full(len(explanation.labels), np.nan))
    if isinstance(explanation, HeadExplanation):
        _explain_head(explanation, ranker, data, options.json, first)
        return
    # The number of the document among DATA's lines, from 1.
    rows = (
        first
        + 1
        + (explanation.rows if data.source_rows is None else data.source_rows[explanation.rows])
    )
    documents: list[dict[str, Any]] = [
        {
            "place": place,
            "row": int(rows[place - 1]),
            "docid": None if explanation.docids is None else explanation.docids[place - 1],
            "label": finite_or_none(float(explanation.labels[place - 1])),
            "score": float(explanation.scores[place - 1]),
            "contributions": dict(explanation.top(place, options.n or 3)),
        }
        for place in range(1, len(rows) + 1)
    ]
    if options.json:
        name = innermost_ranker(ranker).name
        print_json({"ranker": name, "query": explanation.qid, "documents": documents})
        return
    table = [
        [
            d["docid"] or f"line {d['row']}",
            " ".join(f"{name} {value:+.4g}" for name, value in d["contributions"].items()),
            f"{d['place']}",
            "" if d["label"] is None else f"{d['label']:g}",
            f"{d['score']:.6g}",
        ]
        for d in documents
    ]
    headers = ["document", "adds most to the score", "place", "label", "score"]
    title = f"query {explanation.qid}, {innermost_ranker(ranker).name}"
    print_table(title, headers, table, text_columns=2)


def _explain_importance(ranker: Ranker, data: RankingData, options: ExplainOptions) -> None:
    """Print how much a metric falls if one feature is shuffled."""
    with spinner("shuffling features"):
        importance = permutation_importance(
            ranker, data, options.metric, repeats=options.repeats, seed=options.seed
        )
    n, name = options.n or 10, innermost_ranker(ranker).name
    spread = dict(zip(importance.feature_names, importance.std.tolist(), strict=True))
    if options.json:
        features = {
            feature: {"fall": finite_or_none(fall), "std": finite_or_none(spread[feature])}
            for feature, fall in importance.top(n)
        }
        print_json(
            {"ranker": name, "metric": importance.metric, "value": finite_or_none(importance.value),
             "repeats": options.repeats, "features": features}
        )  # fmt: skip
        return
    rows = [
        [feature, f"{fall:+.4f}", f"{spread[feature]:.4f}"] for feature, fall in importance.top(n)
    ]
    title = f"{name}: {importance.metric} = {importance.value:.4f}, and how much it falls without"
    print_table(title, ["feature", "fall", "std"], rows)
