"""Why a head is ordered as it is: each ranker's order of it, the weights, and the final one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium.aggregation import Rankings
from podium.data import RankingData
from podium.data.groups import Groups
from podium.ensemble.heads import Heads
from podium.ensemble.reranked import Reranked
from podium.errors import UnknownNameError, require
from podium.rankers.models import Floats

if TYPE_CHECKING:
    from podium.ensemble.toprank import TopRank


@dataclass(frozen=True, eq=False)
class HeadExplanation:
    """One query's list, best first, and the place each ranker gives to the documents of its head.

    `places` has a column for each ranker, the base first; NaN is a document below the head, which
    the base alone has placed. `weights` are what the votes count; 0 is no vote.
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
        """Documents that were voted on."""
        return int((~np.isnan(self.places[:, 1:])).all(axis=1).sum())

    def order(self, ranker: int) -> NDArray[np.int64]:
        """The rows of the head as one of the rankers orders them, ties as they stand in the end."""
        head = self.places[: self.n_head, ranker]
        return self.rows[: self.n_head][np.argsort(head, kind="stable")]

    def names(self) -> list[str]:
        """The documents, by id or by row."""
        return [str(d) for d in (self.docids or [f"row {r}" for r in self.rows.tolist()])]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and rows of text: the documents of the head as they stand, and who put them where."""
        headers = ["document", "place", "label", *self.rankers]
        names = self.names()
        rows = [
            [names[i], f"{i + 1}", f"{self.labels[i]:g}", *map(self._vote, self.places[i])]
            for i in range(self.n_head)
        ]
        return headers, [["weight", "", "", *(f"{w:.3f}" for w in self.weights)], *rows]

    def _vote(self, place: float) -> str:
        """A place; in brackets beyond the first `depth`, which alone count."""
        return f"{place:g}" if place <= self.depth else f"({place:g})"

    def title(self) -> str:
        """What was voted on, how, and whether the votes count."""
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
        below = len(self.rows) - self.n_head
        return f"{self.title()}\n{text}\nbelow, as {self.rankers[0]} has them: {below}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the head's documents as lines from ranker to ranker to the final order; the axes."""
        if ax is None:
            pyplot = require("matplotlib.pyplot", "report", "drawing the orders of a head")
            _, ax = pyplot.subplots(figsize=(7, 5), layout="constrained")
        final = np.arange(1, self.n_head + 1)
        for i, name in enumerate(self.names()[: self.n_head]):
            ax.plot(range(len(self.rankers) + 1), [*self.places[i], final[i]], marker="o", lw=1)
            ax.annotate(f" {name}", (len(self.rankers), final[i]), va="center", fontsize="small")
        labels = [f"{n}\n{w:.3f}" for n, w in zip(self.rankers, self.weights, strict=True)]
        ax.set_xticks(range(len(self.rankers) + 1), [*labels, self.aggregator])
        ax.set_ylabel("place")
        ax.set_title(f"query {self.qid}")
        ax.invert_yaxis()
        return ax


def explain_head(ranker: TopRank, data: RankingData, query: str | int) -> HeadExplanation:
    """One query's head as each ranker orders it, what their votes count, and the final order.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.ensemble import TopRank
    >>> data = make_synthetic(n_queries=40, n_docs=6, seed=0)
    >>> rankers = ("regression", "listnet")
    >>> ranker = TopRank(base="ranksvm", rankers=rankers, aggregator="borda", t=3, weights="equal")
    >>> explain_head(ranker.fit(data), data, "q2")
    query q2: the first 3 of 6 documents by borda
    document  place  label  ranksvm  regression  listnet
    weight                    0.333       0.333    0.333
    q2-d4         1      1        1           1        1
    q2-d5         2      0        3           2        2
    q2-d6         3      0        2           3        3
    below, as ranksvm has them: 3
    """
    check_is_fitted(ranker, "model_")
    numbers = {qid: q for q, qid in enumerate(data.qids.tolist())}
    if str(query) not in numbers:
        raise UnknownNameError("query", str(query), numbers)
    part, model = data.subset([numbers[str(query)]]), ranker.model_
    assert isinstance(model, Reranked)
    scores = ranker.predict(part)
    base = model.base.model.scores(part.X, part.groups)
    heads = Heads.of(part.groups, base, model.t)
    places = np.full((len(part), len(model.members)), np.nan)
    places[:, 0] = _places(part.groups, base)
    for a, member in enumerate(model.members[1:], start=1):
        votes = member.model.scores(part.X[heads.rows], heads.groups)
        places[heads.rows, a] = _places(heads.groups, votes)
    order = part.groups.order(scores, places[:, 0])
    return HeadExplanation(
        qid=str(query),
        rankers=tuple(member.name for member in model.members),
        settings=tuple(member.settings for member in model.members),
        weights=model.weights,
        aggregator=model.how,
        t=model.t,
        depth=model.depth,
        rows=order + int(data.groups.offsets[numbers[str(query)]]),
        docids=None if part.docids is None else tuple(part.docids[order].tolist()),
        scores=scores[order],
        labels=part.y[order],
        places=places[order],
    )


def _places(groups: Groups, scores: Floats) -> Floats:
    return Rankings.from_scores(groups, scores[:, None]).places[:, 0]
