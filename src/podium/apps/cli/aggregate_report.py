"""What ``podium aggregate`` tells: the ranking, one query of it, and the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.apps.cli.console import print_json, print_table
from podium.apps.cli.settings import settings_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from podium.aggregation import Aggregator, Consensus, Rankings
    from podium.apps.cli.aggregate_inputs import Input


def ranking_of(given: Input, consensus: Consensus, top: int | None) -> dict[str, list[Any]]:
    """Documents best first, query by query, with their scores."""
    import numpy as np

    rankings = given.rankings
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


def facts_of(
    aggregator: Aggregator, given: Input, consensus: Consensus, weights: Any, seconds: float
) -> dict[str, Any]:
    """What was done, with which weights, and what is proved."""
    from dataclasses import asdict

    import numpy as np

    rankings, p = given.rankings, np.asarray(weights).tolist()
    facts: dict[str, Any] = {
        "method": aggregator.name,
        "settings": asdict(aggregator),
        "rankers": len(given.names),
        "queries": len(rankings.groups),
        "documents": rankings.groups.n_rows,
        "listed_share": round(float(rankings.ranked.mean()), 4),
        "weights": dict(zip(given.names, p, strict=True)),
    }
    if hasattr(weights, "metric"):
        facts["metric"] = str(weights.metric)
        facts["start"] = weights.start
        facts["in_sample_with_equal_weights"] = weights.equal
        facts["in_sample"] = weights.value
    if consensus.optimal is not None:
        facts["proved_optimal"] = int(consensus.optimal.sum())
    return {**facts, "seconds": round(seconds, 3)}


def fact_text(value: Any) -> str:
    """A fact as a cell of a table."""
    if isinstance(value, dict):
        return settings_text(
            {k: round(v, 4) if isinstance(v, float) else v for k, v in value.items()}
        )
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def explain_query(
    names: Sequence[str], rankings: Rankings, consensus: Consensus, query: str, top: int | None,
    json: bool,
) -> None:  # fmt: skip
    """One query's documents in the order of the result: their places by each ranker."""
    import numpy as np

    from podium.errors import DataError

    assert rankings.qids is not None
    found = np.flatnonzero(rankings.qids == query)
    if len(found) == 0:
        raise DataError(f"expected a query of the input, got {query!r}")
    rows = np.arange(*rankings.groups.offsets[found[0] : found[0] + 2])
    rows = rows[np.argsort(-consensus.scores[rows], kind="stable")][:top]
    table: list[dict[str, Any]] = [
        {
            "document": str(row) if rankings.docids is None else rankings.docids[row],
            "place": place,
            "score": float(consensus.scores[row]),
            "places": dict(zip(names, _listed(rankings.listed_at[row]), strict=True)),
        }
        for place, row in enumerate(rows.tolist(), start=1)
    ]
    if json:
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


def _listed(places: NDArray[np.float64]) -> list[float | None]:
    return [None if place != place else place for place in places.tolist()]
