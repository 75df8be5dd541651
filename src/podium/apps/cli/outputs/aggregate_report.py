"""What ``podium aggregate`` prints: the ranking, one query of it, and the facts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
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


@dataclass
class AggregateResult:
    """What was aggregated so far, with which weights, and what is proved.

    Parameters
    ----------
    aggregator
        The method.
    weights
        The weights of the rankers, with how they were learned.
    top
        How many documents of each query are kept; None: all.
    keeps_lists
        Whether the ranked documents are kept, to be printed as JSON.
    """

    aggregator: Aggregator
    weights: Any
    top: int | None
    keeps_lists: bool
    names: list[str] = field(default_factory=list)
    queries: int = 0
    documents: int = 0
    n_listed: int = 0
    proved_optimal: int | None = None
    lists: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, pooled: PooledRankings, consensus: Consensus) -> None:
        """Add the result of some queries."""
        rankings = pooled.rankings
        self.names = pooled.names
        self.queries += len(rankings.groups)
        self.documents += rankings.groups.n_rows
        self.n_listed += int(rankings.ranked.sum())
        if consensus.optimal is not None:
            self.proved_optimal = (self.proved_optimal or 0) + int(consensus.optimal.sum())
        if self.keeps_lists:
            self.lists |= _list_documents(pooled, consensus, self.top)

    def facts(self, seconds: float) -> dict[str, Any]:
        """Return the facts for a table or JSON."""
        values = np.asarray(self.weights).tolist()
        facts: dict[str, Any] = {
            "method": self.aggregator.name,
            "settings": asdict(self.aggregator),
            "rankers": len(self.names),
            "queries": self.queries,
            "documents": self.documents,
            "listed_share": round(self.n_listed / (self.documents * len(self.names)), 4),
            "weights": dict(zip(self.names, values, strict=True)),
        }
        if hasattr(self.weights, "metric"):
            facts["metric"] = str(self.weights.metric)
            facts["start"] = self.weights.start
            facts["in_sample_with_equal_weights"] = self.weights.equal
            facts["in_sample"] = self.weights.value
        if self.proved_optimal is not None:
            facts["proved_optimal"] = self.proved_optimal
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


def report_facts(result: AggregateResult, seconds: float, options: AggregateOptions) -> None:
    """Print the facts as JSON, or as a table if the ranking went to a file."""
    facts = result.facts(seconds)
    if options.json and options.explain is None:
        first: dict[str, Any] = {"file": str(options.out)}
        if options.out is None:
            first = {"ranking": result.lists}
        print_json({**first, **facts})
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
