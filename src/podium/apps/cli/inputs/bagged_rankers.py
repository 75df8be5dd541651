"""Bagged rankers of the command line: the options --bag, --bag-queries and --bag-features."""

from __future__ import annotations

from typing import Any

from podium.apps.cli.options.bagging import BaggingOptions
from podium.ensemble import Bagged
from podium.errors import UsageError
from podium.rankers import Ranker
from podium.rankers.parameters import check_parameters


def bag_ranker(
    ranker: Ranker, options: BaggingOptions, *, seed: int | None = None, jobs: int = 1
) -> Ranker:
    """Return the ranker in the bags of the options; without --bag, the ranker itself."""
    shares: dict[str, Any] = {
        "query_fraction": options.bag_queries,
        "feature_fraction": options.bag_features,
    }
    fractions = {name: share for name, share in shares.items() if share is not None}
    if options.bag is None:
        if fractions:
            raise UsageError("expected --bag N with --bag-queries and --bag-features, got none")
        return ranker
    bagged = Bagged(ranker, bags=options.bag, n_jobs=jobs, seed=seed or 0, **fractions)
    check_parameters(bagged, bagged.name)
    bagged.check_settings()
    return bagged
