"""Explanations: what each feature adds to the score of each document of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Collection, RankingData
from podium.data.query_lookup import find_block, query_number
from podium.errors import UsageError
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.rankers.feature_figures import draw_waterfall
from podium.rankers.importance import feature_names_of
from podium.rankers.ranking_estimator import RankingEstimator
from podium.typing import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """One query's list, best first, and what each feature adds to each document's score.

    A row's contributions add up to its score, except for a constant that all documents share.
    """

    qid: str
    feature_names: tuple[str, ...]
    rows: NDArray[np.int64]
    docids: tuple[str, ...] | None
    scores: Floats
    labels: Floats
    contributions: Floats

    def top(self, place: int, n: int = 5) -> list[tuple[str, float]]:
        """Return the n features that matter most for the document at this place (from 1)."""
        if not 1 <= place <= len(self.rows):
            raise UsageError(f"expected a place from 1 to {len(self.rows)}, got {place!r}")
        row = self.contributions[place - 1]
        strongest = np.argsort(-np.abs(row), kind="stable")[:n]
        return [(self.feature_names[j], float(row[j])) for j in strongest]

    def names(self) -> list[str]:
        """Return the ids of the documents, or their rows if they have no ids."""
        return [str(d) for d in (self.docids or [f"row {row}" for row in self.rows.tolist()])]

    def __repr__(self) -> str:
        n, d = len(self.rows), len(self.feature_names)
        documents, features = f"{n} document{'s' * (n != 1)}", f"{d} feature{'s' * (d != 1)}"
        return f"Explanation(query {self.qid}, {documents}, {features})"

    def _repr_html_(self) -> str:
        """Return the list with the strongest features of each document, for notebooks."""
        names = self.names()

        def cells(i: int) -> tuple[object, ...]:
            strongest = ", ".join(f"{name} {part:+.3g}" for name, part in self.top(i + 1, 3))
            score = float(self.scores[i])
            return (i + 1, names[i], f"{self.labels[i]:g}", score, strongest)

        headers = ("place", "document", "label", "score", "strongest features")
        return html_table(repr(self), headers, len(self.rows), cells)

    def plot(self, ax: Any = None, *, place: int = 1, features: int = 8) -> Any:
        """Draw how the score of one document adds up, as a waterfall; return the axes.

        Parameters
        ----------
        place
            The place of the document, from 1.
        features
            How many features have their own bar; the others share one.
        """
        if features < 1:
            raise UsageError(f"expected 1 feature or more, got {features!r}")
        parts = self.top(place, features)
        others = float(self.contributions[place - 1].sum()) - sum(part for _, part in parts)
        n_others = len(self.feature_names) - len(parts)
        if n_others:
            parts.append((f"{n_others} other feature{'s' * (n_others != 1)}", others))
        ax = new_axes("drawing an explanation") if ax is None else ax
        title = f"place {place} of query {self.qid}: {self.names()[place - 1]}"
        draw_waterfall(ax, parts, float(self.scores[place - 1]), title)
        return ax


def explain_query(
    ranker: RankingEstimator, data: RankingData | Collection, query: str | int | None
) -> Explanation:
    """Return one query's list with the contribution of each feature to each score.

    The blocks of a collection are read until the query comes.

    Parameters
    ----------
    ranker
        A ranker with a linear, boosted or tree model.
    query
        The id of the query, or its text.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> explanation = explain_query(RankSVM().fit(data), data, "q7")
    >>> bool(np.allclose(explanation.contributions.sum(axis=1), explanation.scores))
    True
    """
    if isinstance(data, Collection):
        first, block = find_block(data, query)
        own = explain_query(ranker, block, query)
        return replace(own, rows=own.rows + first)
    number = query_number(data, query)
    part = data.subset([number])
    scores = ranker.predict(part)
    contributions = ranker.model_.query_contributions(ranker.model_.align(part), part.groups)
    order = part.groups.order(scores)
    first_row = int(data.groups.offsets[number])
    return Explanation(
        qid=str(data.qids[number]),
        feature_names=feature_names_of(ranker),
        rows=order + first_row,
        docids=None if part.docids is None else tuple(part.docids[order].tolist()),
        scores=scores[order],
        labels=part.y[order],
        contributions=contributions[order],
    )
