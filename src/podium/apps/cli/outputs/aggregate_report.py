"""What ``podium aggregate`` prints: the ranking, one query of it, and the facts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from podium.aggregation import Aggregator, Consensus
from podium.apps.cli.inputs.aggregate_runs import PooledRankings
from podium.apps.cli.inputs.set_option import settings_text
from podium.apps.cli.options.aggregate import AggregateOptions
from podium.apps.cli.outputs.printing import finite_or_none, print_json, print_table
from podium.errors import DataError


def _list_documents(
    pooled: PooledRankings, consensus: Consensus, top: int | None
) -> dict[str, list[Any]]:
    """Return the documents of each query, best first, with their scores."""
    rankings = pooled.rankings
    order = rankings.groups.order(consensus.scores)
    names = [str(q) for q in np.arange(len(rankings.groups))]
    if rankings.qids is not None:
        names = rankings.qids.tolist()
    return {
        name: [
            [row if rankings.docids is None else rankings.docids[row], float(consensus.scores[row])]
            for row in order[rows][:top].tolist()
        ]
        for name, rows in zip(names, rankings.groups.slices(), strict=True)
    }


def describe_result(
    aggregator: Aggregator,
    pooled: PooledRankings,
    consensus: Consensus,
    weights: Any,
    seconds: float,
) -> dict[str, Any]:
    """Return what was done, with which weights, and what is proved."""
    rankings, values = pooled.rankings, np.asarray(weights).tolist()
    facts: dict[str, Any] = {
        "method": aggregator.name,
        "settings": asdict(aggregator),
        "rankers": len(pooled.names),
        "queries": len(rankings.groups),
        "documents": rankings.groups.n_rows,
        "listed_share": round(float(rankings.ranked.mean()), 4),
        "weights": dict(zip(pooled.names, values, strict=True)),
    }
    if hasattr(weights, "metric"):
        facts["metric"] = str(weights.metric)
        facts["start"] = weights.start
        facts["in_sample_with_equal_weights"] = weights.equal
        facts["in_sample"] = weights.value
    if consensus.optimal is not None:
        facts["proved_optimal"] = int(consensus.optimal.sum())
    return {**facts, "seconds": round(seconds, 3)}


def _fact_text(value: Any) -> str:
    """Return a fact as a cell of a table."""
    if isinstance(value, dict):
        return settings_text(
            {k: round(v, 4) if isinstance(v, float) else v for k, v in value.items()}
        )
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def report_facts(
    facts: dict[str, Any], options: AggregateOptions, pooled: PooledRankings, consensus: Consensus
) -> None:
    """Print the facts as JSON, or as a table if the ranking went to a file."""
    if options.json and options.explain is None:
        result: dict[str, Any] = {"file": str(options.out)}
        if options.out is None:
            result = {"ranking": _list_documents(pooled, consensus, options.top)}
        print_json({**result, **facts})
    elif options.out is not None and not options.json:
        if len(set(facts["weights"].values())) == 1:
            facts = {**facts, "weights": "equal"}
        rows = [[name.replace("_", " "), _fact_text(value)] for name, value in facts.items()]
        print_table(str(options.out), ["what", "value"], rows, text_columns=2)


def explain_query(pooled: PooledRankings, consensus: Consensus, options: AggregateOptions) -> None:
    """Print the documents of one query in the order of the result, with their places by each ranker."""
    names, rankings, query = pooled.names, pooled.rankings.top(options.depth), options.explain
    assert rankings.qids is not None
    numbers = np.flatnonzero(rankings.qids == query)
    if len(numbers) == 0:
        raise DataError(f"expected a query of the input, got {query!r}")
    rows = np.arange(*rankings.groups.offsets[numbers[0] : numbers[0] + 2])
    rows = rows[np.argsort(-consensus.scores[rows], kind="stable")][: options.top]
    table: list[dict[str, Any]] = [
        {
            "document": str(row) if rankings.docids is None else rankings.docids[row],
            "place": place,
            "score": float(consensus.scores[row]),
            "places": dict(
                zip(names, map(finite_or_none, rankings.listed_at[row].tolist()), strict=True)
            ),
        }
        for place, row in enumerate(rows.tolist(), start=1)
    ]
    if options.json:
        print_json({"query": query, "documents": table})
        return
    cells = [
        [
            str(entry["document"]), str(entry["place"]), f"{entry['score']:.6g}",
            *("-" if place is None else f"{place:g}" for place in entry["places"].values()),
        ]
        for entry in table
    ]  # fmt: skip
    print_table(f"Query {query}", ["document", "place", "score", *names], cells)
