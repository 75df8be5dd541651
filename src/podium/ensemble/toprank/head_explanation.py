"""Explanation of a head: the order of each ranker, the weights of their votes, and the final order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.aggregation import Rankings
from podium.data import RankingData
from podium.data.groups import Groups
from podium.ensemble.toprank.heads import Heads
from podium.ensemble.toprank.reranked_model import RerankedModel
from podium.figure_style import new_axes, plain_label, tidy_axes
from podium.html_tables import html_table
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class HeadExplanation:
    """One query's list, best first, and the place of each document of its head by each ranker.

    Parameters
    ----------
    weights
        The weight of each ranker's vote; 0: it has no vote.
    places
        One column per ranker, the base first. NaN marks a document below the head, which only the
        base places.
    """

    qid: str
    rankers: tuple[str, ...]
    settings: tuple[str, ...]
    weights: tuple[float, ...]
    aggregator: str
    t: int
    depth: int
    rows: NDArray[np.int64]
    docids: tuple[str, ...] | None
    scores: Floats
    labels: Floats
    places: Floats

    @property
    def n_head(self) -> int:
        """The number of documents in the vote."""
        return int((~np.isnan(self.places[:, 1:])).all(axis=1).sum())

    def order(self, ranker: int) -> NDArray[np.int64]:
        """Return the rows of the head as one ranker orders them, its ties in the final order."""
        head = self.places[: self.n_head, ranker]
        return self.rows[: self.n_head][np.argsort(head, kind="stable")]

    def names(self) -> list[str]:
        """Return the ids of the documents, or their rows if they have no ids."""
        return [str(d) for d in (self.docids or [f"row {r}" for r in self.rows.tolist()])]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and rows of text: the head in its final order, and the place by each ranker."""
        headers = ["document", "place", "label", *self.rankers]
        names = self.names()
        labels = ["" if np.isnan(label) else f"{label:g}" for label in self.labels]
        rows = [
            [names[i], f"{i + 1}", labels[i], *map(self._format_place, self.places[i])]
            for i in range(self.n_head)
        ]
        return headers, [["weight", "", "", *(f"{w:.3f}" for w in self.weights)], *rows]

    def _format_place(self, place: float) -> str:
        """Return a place, in brackets if it is beyond the first `depth` and does not count."""
        return f"{place:g}" if place <= self.depth else f"({place:g})"

    def title(self) -> str:
        """Return a title: the documents of the vote, the aggregator, and whether one ranker decides."""
        text = (
            f"query {self.qid}: the first {self.n_head} of {len(self.rows)} documents by "
            f"{self.aggregator}"
        )
        if self.depth < self.t:
            text += f", of each voter's first {self.depth}"
        if sum(weight > 0 for weight in self.weights) == 1:
            voter = self.rankers[int(np.argmax(self.weights))]
            text += f"; {voter} alone decides"
        return text

    def __repr__(self) -> str:
        headers, rows = self.table()
        lines = [headers, *rows]
        widths = [max(len(line[j]) for line in lines) for j in range(len(headers))]
        text = "\n".join(
            "  ".join(
                cell.ljust(w) if j == 0 else cell.rjust(w)
                for j, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )
        n_below = len(self.rows) - self.n_head
        return f"{self.title()}\n{text}\nbelow, in the order of {self.rankers[0]}: {n_below}"

    def _repr_html_(self) -> str:
        """Return the head as a table for notebooks."""
        headers, rows = self.table()
        return html_table(self.title(), headers, len(rows), rows.__getitem__)

    def plot(self, ax: Any = None) -> Any:
        """Draw the head's documents as lines from ranker to ranker to the final order; return the axes."""
        ax = new_axes("drawing the orders of a head") if ax is None else ax
        final = np.arange(1, self.n_head + 1)
        for i, name in enumerate(self.names()[: self.n_head]):
            ax.plot(range(len(self.rankers) + 1), [*self.places[i], final[i]], marker="o", lw=1)
            ax.annotate(
                f" {plain_label(name)}",
                (len(self.rankers), final[i]),
                va="center",
                fontsize="small",
            )
        labels = [f"{n}\n{w:.3f}" for n, w in zip(self.rankers, self.weights, strict=True)]
        ax.set_xticks(range(len(self.rankers) + 1), [*labels, self.aggregator])
        ax.set_ylabel("place")
        ax.set_title(plain_label(f"query {self.qid}", 60), fontsize="medium")
        ax.invert_yaxis()
        tidy_axes(ax)
        return ax


def explain_head(
    model: RerankedModel, query: RankingData, scores: Floats, first_row: int = 0
) -> HeadExplanation:
    """Explain the head of one query; see `TopRank.explain`.

    Parameters
    ----------
    query
        The documents of one query.
    scores
        The model's scores of them.
    first_row
        The row of the query's first document in its data.
    """
    base = model.base.model.scores(query.X, query.groups)
    heads = Heads.of(query.groups, base, model.t)
    places = np.full((len(query), len(model.members)), np.nan)
    places[:, 0] = _places(query.groups, base)
    for a, member in enumerate(model.members[1:], start=1):
        member_scores = member.model.scores(query.X[heads.rows], heads.groups)
        places[heads.rows, a] = _places(heads.groups, member_scores)
    order = query.groups.order(scores, places[:, 0])
    return HeadExplanation(
        qid=str(query.qids[0]),
        rankers=tuple(member.name for member in model.members),
        settings=tuple(member.settings for member in model.members),
        weights=model.weights,
        aggregator=model.aggregator_text,
        t=model.t,
        depth=model.depth,
        rows=order + first_row,
        docids=None if query.docids is None else tuple(query.docids[order].tolist()),
        scores=scores[order],
        labels=query.y[order],
        places=places[order],
    )


def _places(groups: Groups, scores: Floats) -> Floats:
    return Rankings.from_scores(groups, scores[:, None]).places[:, 0]
