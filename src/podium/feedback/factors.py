"""The eight factors mu_1..mu_8 of CFBRS (Definition 4): users' reactions to a list and its documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.feedback.list_sums import ListSums
from podium.typing import Bools, Floats

FACTORS = (
    "clicks", "bookmarks", "dwell", "downloads", "shares", "ignored", "back", "closed",
)  # fmt: skip
"""The names of mu_1..mu_8: five positive, three negative. Dwell is in seconds; closed
means within CLOSED_WITHIN_SECONDS (`dwell_time`)."""

N_POSITIVE = 5
"""The first five factors are positive."""


def carried_factors(list_sums: ListSums) -> Bools:
    """Return which factors a log carries: the factors with at least one event."""
    clicked = list_sums["clicks"] > 0
    opened = bool(list_sums["openings"].any())
    special = {
        "dwell": opened,
        "closed": opened,
        "ignored": bool((clicked & np.isfinite(list_sums.positions)).any()),
        "back": bool(list_sums["back"].any() or list_sums.returns.any()),
    }
    return np.array(
        [special[f] if f in special else bool(list_sums[f].any()) for f in FACTORS], dtype=bool
    )


def document_reactions(
    list_sums: ListSums, carried: Bools, propensities: Sequence[float] | None = None
) -> Floats:
    """Return the reactions to each document: (documents, 8), NaN in columns that the log lacks.

    With propensities by rank, all reactions but `ignored` are divided by that of the document's rank: users
    react to what they look at. An ignored document has been looked at, because one below it was clicked.
    """
    columns = [
        list_sums.ignored if factor == "ignored" else list_sums[factor] for factor in FACTORS
    ]
    reactions = np.stack(columns, axis=1).astype(np.float64)
    if propensities is not None:
        looks = np.asarray(propensities, dtype=np.float64)
        looks = looks[np.clip(list_sums.ranks - 1, 0, len(looks) - 1)][:, None]
        reactions = np.where(np.array(FACTORS) == "ignored", reactions, reactions / looks)
    return np.where(carried, reactions, np.nan)


def list_factors(list_sums: ListSums, reactions: Floats) -> Floats:
    """Return mu_1..mu_8 of each list: the mean reaction over its documents."""
    mu = list_sums.groups.reduce(np.add, reactions)
    mu[:, FACTORS.index("back")] += list_sums.returns  # returns without a document
    return np.asarray(mu / list_sums.groups.sizes[:, None])
