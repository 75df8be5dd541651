"""List voters: what is no ranker of features, such as a machine, votes on the heads of a fitted TopRank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.ensemble.toprank.heads import Heads
from podium.ensemble.toprank.reranked_model import RerankedModel, aggregate_heads
from podium.errors import DataError, UsageError
from podium.typing import Floats


class ListVoter(Protocol):
    """Orders documents of a query by their ids; `podium.labelling.machines.MachineVoter` is one."""

    @property
    def name(self) -> str:
        """The name of the vote."""
        ...

    def order(self, query: str, documents: Sequence[str]) -> Sequence[str]:
        """Return documents of a query, the best first."""
        ...


@dataclass(frozen=True)
class VotedTopRank:
    """A fitted TopRank with one more voter, which is asked about the head of each predicted list.

    Parameters
    ----------
    model
        The fitted model.
    features
        Checks data, and returns its features in the order of the model.
    voter
        The voter.
    weight
        Its share of all votes.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.ensemble import TopRank
    >>> data = make_synthetic(n_queries=20, n_docs=4, seed=0)
    >>> ranker = TopRank(base="ranksvm", rankers=("regression",), t=4, tuned=False).fit(data)
    >>> class Alphabet:
    ...     name = "alphabet"
    ...     def order(self, query, documents):
    ...         return sorted(documents)
    >>> ranker.with_voter(Alphabet(), weight=0.9).predict(data)[:4].tolist()
    [-1.0, -2.0, -3.0, -4.0]
    """

    model: RerankedModel
    features: Callable[[RankingData], NDArray[Any]]
    voter: ListVoter
    weight: float

    def __post_init__(self) -> None:
        if not 0 < self.weight < 1:
            raise UsageError(f"expected a weight between 0 and 1, got {self.weight}")

    def predict(self, data: RankingData) -> Floats:
        """Return minus the place of each row in its query; the data needs document ids."""
        model, X = self.model, self.features(data)
        base = model.base.model.scores(X, data.groups)
        heads = Heads.of(data.groups, base, model.t)
        others = model.voter_scores(X, base, heads)
        votes = np.column_stack([others, self._vote(data, heads)])
        weights = [(1 - self.weight) * model.weights[a] for a in model.voters]
        return aggregate_heads(
            data.groups, base, heads, votes, [*weights, self.weight], model.aggregator,
            model.depth, model.from_base,
        )  # fmt: skip

    def _vote(self, data: RankingData, heads: Heads) -> Floats:
        """Return minus the place of each document of the heads in the voter's order."""
        docids = data.require_docids(f"the vote of {self.voter.name}")
        votes = np.empty(len(heads.rows))
        for qid, rows in zip(data.qids.tolist(), heads.groups.slices(), strict=True):
            names = [docids[row] for row in heads.rows[rows].tolist()]
            order = list(self.voter.order(str(qid), names)) if len(names) > 1 else names
            if sorted(order) != sorted(names):
                raise DataError(
                    f"the voter {self.voter.name!r:.60} returned other documents of query {qid!r:.60} than "
                    f"it was given; expected an order of the same {len(names):,} documents"
                )
            place = {name: at for at, name in enumerate(order)}
            votes[rows] = [-1.0 - place[name] for name in names]
        return votes
