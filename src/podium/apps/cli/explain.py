"""``podium explain``: which features a model uses, and why a document stands where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    Seed,
    busy,
    print_json,
    print_table,
    read_files,
    reports_errors,
    warnings_in_one_line,
)
from podium.apps.cli.train import check_measure, finite

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.ensemble import HeadExplanation
    from podium.rankers import Ranker

EXAMPLE = """Example: podium explain listnet.podium --data test.txt --query 18219

Without data: the features the model uses most, by weight (linear), by the sum of its stumps or by
the gain of its trees. With --query: that query's list and what adds most to each score. With
--importance: how much a metric falls where one feature is shuffled. Of a toprank model: its members
and what their votes count; with --query each one's order of the head, and the final one."""

_MEASURES = {
    "linear": "weight",
    "stumps": "sum of |alpha|",
    "trees": "gain",
    "ordinal": "weight",
    "composed-linear": "weight",
    "composed": "share in the blocks",
    "combined": "use by degrees and tasks",
}
_SIGNED = ("linear", "ordinal", "composed-linear")


@reports_errors
def explain(
    model: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A .podium file.")
    ],
    data: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="LETOR text or Parquet to explain."),
    ] = None,
    query: Annotated[str | None, typer.Option(help="The query whose list to explain.")] = None,
    importance: Annotated[
        bool, typer.Option("--importance", help="Permutation importance on the data.")
    ] = False,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="What is measured for --importance.")
    ] = "NDCG@10",
    repeats: Annotated[
        int, typer.Option(min=1, help="Times a feature is shuffled for --importance.")
    ] = 5,
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, help="Features to show: 10, or 3 for each document of a query."),
    ] = None,
    missing: Missing = "error",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Explain a model by its features, one query's list, or what a metric needs."""
    from podium.errors import UsageError
    from podium.registry import load

    if query is not None and importance:
        raise UsageError("expected --query or --importance, got both")
    if (data is None) != (query is None and not importance):
        raise UsageError("expected --data together with --query Q or --importance")
    check_measure(metric)
    ranker = load(model)
    if data is None:
        _explain_model(ranker, model, n or 10, json)
        return
    table = read_files(data, missing)
    with warnings_in_one_line():
        if query is not None:
            _explain_query(ranker, table, query, n or 3, json)
        else:
            _explain_importance(ranker, table, (metric, repeats, seed), n or 10, json)


def _explain_model(ranker: Ranker, path: Path, n: int, json: bool) -> None:
    from podium.errors import UsageError
    from podium.rankers import feature_importance, feature_weights

    kind = ranker.model_.kind
    if kind == "reranked":
        _explain_vote(ranker, path, json)
        return
    if kind not in _MEASURES:
        raise UsageError(f"expected --data D --importance to explain a model of kind {kind}")
    weights = feature_weights(ranker) if kind in _SIGNED else feature_importance(ranker)
    measure = _MEASURES[kind]
    shown = dict(list(weights.items())[:n])
    if json:
        print_json(
            {"ranker": ranker.name, "model": kind, "scaled_by_query": ranker.trained_.scaled,
             "measure": measure, "features": shown}
        )  # fmt: skip
        return
    rows = [
        [name, f"{value:+.6g}" if kind in _SIGNED else f"{value:.6g}"]
        for name, value in shown.items()
    ]
    title = f"{path}: {_origin(ranker)}; {len(shown)} of {ranker.n_features_in_} features"
    print_table(title, ["feature", measure], rows)


def _origin(ranker: Ranker) -> str:
    from podium.rankers.imported import Imported

    if isinstance(ranker, Imported):
        return f"imported from {ranker.source}"
    trained = ranker.trained_
    scaled = "" if trained.scaled is None else f", features scaled by query ({trained.scaled})"
    return (
        f"{ranker.name}, trained on {trained.n_queries:,} queries, {trained.n_documents:,} documents"
        f"{scaled}"
    )


def _explain_vote(ranker: Ranker, path: Path, json: bool) -> None:
    """Who votes, how much each vote counts, and what each member came to on validation."""
    from podium.ensemble import Reranked

    model = ranker.model_
    assert isinstance(model, Reranked)
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
        f"{model.how} of each voter's first {model.depth}"
    )
    if len(model.voters) == 1:
        title += f"; {model.members[model.voters[0]].name} alone decides"
    print_table(title, ["ranker", "settings", "weight", "validation"], rows, text_columns=2)


def _explain_head(found: HeadExplanation, ranker: Ranker, data: RankingData, json: bool) -> None:
    """Each ranker's order of a query's head, and the final one."""
    rows = (found.rows if data.source_rows is None else data.source_rows[found.rows]) + 1
    if json:
        documents = [
            {
                "place": i + 1,
                "row": int(rows[i]),
                "docid": None if found.docids is None else found.docids[i],
                "label": float(found.labels[i]),
                "places": [finite(float(place)) for place in found.places[i]],
            }
            for i in range(len(rows))
        ]
        print_json(
            {"ranker": ranker.name, "query": found.qid, "rankers": list(found.rankers),
             "weights": list(found.weights), "aggregator": found.aggregator, "t": found.t,
             "depth": found.depth, "documents": documents}
        )  # fmt: skip
        return
    headers, table = found.table()
    if found.docids is None:
        for i in range(found.n_head):
            table[1 + i][0] = f"line {rows[i]}"
    print_table(f"{ranker.name}, {found.title()}", headers, table)


def _explain_query(ranker: Ranker, data: RankingData, query: str, n: int, json: bool) -> None:
    from podium.ensemble import HeadExplanation

    found = ranker.explain(data, query)
    if isinstance(found, HeadExplanation):
        _explain_head(found, ranker, data, json)
        return
    # The number of the document among DATA's lines, from 1.
    rows = (found.rows if data.source_rows is None else data.source_rows[found.rows]) + 1
    documents: list[dict[str, Any]] = [
        {
            "place": place,
            "row": int(rows[place - 1]),
            "docid": None if found.docids is None else found.docids[place - 1],
            "label": float(found.labels[place - 1]),
            "score": float(found.scores[place - 1]),
            "contributions": dict(found.top(place, n)),
        }
        for place in range(1, len(rows) + 1)
    ]
    if json:
        print_json({"ranker": ranker.name, "query": found.qid, "documents": documents})
        return
    table = [
        [
            d["docid"] or f"line {d['row']}",
            " ".join(f"{name} {value:+.4g}" for name, value in d["contributions"].items()),
            f"{d['place']}",
            f"{d['label']:g}",
            f"{d['score']:.6g}",
        ]
        for d in documents
    ]
    headers = ["document", "adds most to the score", "place", "label", "score"]
    print_table(f"query {found.qid}, {ranker.name}", headers, table, text_columns=2)


def _explain_importance(
    ranker: Ranker, data: RankingData, how: tuple[str, int, int], n: int, json: bool
) -> None:
    from podium.rankers import permutation_importance

    metric, repeats, seed = how
    with busy("shuffling features"):
        found = permutation_importance(ranker, data, metric, repeats=repeats, seed=seed)
    spread = dict(zip(found.feature_names, found.std.tolist(), strict=True))
    if json:
        features = {
            name: {"fall": finite(fall), "std": finite(spread[name])} for name, fall in found.top(n)
        }
        print_json(
            {"ranker": ranker.name, "metric": found.metric, "value": finite(found.value),
             "repeats": repeats, "features": features}
        )  # fmt: skip
        return
    rows = [[name, f"{fall:+.4f}", f"{spread[name]:.4f}"] for name, fall in found.top(n)]
    title = f"{ranker.name}: {found.metric} = {found.value:.4f}, and how much it falls without"
    print_table(title, ["feature", "fall", "std"], rows)
