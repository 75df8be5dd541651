"""True models: parameters of simulated users, from the labels of ranking data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium.clicks.chain_models import (
    CascadeModel,
    DependentClickModel,
    DynamicBayesianModel,
    SimplifiedBayesianModel,
)
from podium.clicks.click_model import ClickModel
from podium.clicks.document_pairs import DocumentPairs, PairValues
from podium.clicks.examination_models import (
    DocumentClickRates,
    PositionBasedModel,
    RankClickRates,
    UserBrowsingModel,
)
from podium.data import RankingData
from podium.errors import DataError, UnknownNameError, UsageError
from podium.feedback.list_sums import StringCodes
from podium.typing import Floats

MAX_SATISFACTION = 0.9
"""P(satisfied | click) of a document with the highest label, in dbn and sdbn."""
DBN_CONTINUATION = 0.9
"""The probability that a user of dbn goes on after a document that does not satisfy."""


def query_names(data: RankingData) -> list[str]:
    """Return the name of each query in logs: its text, or its id if the data has no texts."""
    texts = data.qids.tolist() if data.query_text is None else list(data.query_text)
    return [str(text) for text in texts]


def relevance(data: RankingData, noise: float) -> Floats:
    """Return noise + (1 - noise) (2^y - 1) / (2^max - 1) of each row (Ai et al., SIGIR 2018)."""
    if not 0 <= noise < 1:
        raise UsageError(f"expected noise from 0 to less than 1, got {noise}")
    gain = np.exp2(data.y) - 1
    highest = float(gain.max(initial=0))
    return np.asarray(noise + (1 - noise) * (gain / highest if highest > 0 else gain))


def require_different_documents(data: RankingData, purpose: str) -> None:
    """Raise DataError if a document occurs twice in a query."""
    docs = StringCodes.of([str(d) for d in data.require_docids(purpose)])
    keys = data.groups.codes * max(1, len(docs.table)) + docs.codes
    order = np.argsort(keys, kind="stable")
    repeats = order[1:][keys[order[1:]] == keys[order[:-1]]]
    if len(repeats):
        row = int(repeats[0])
        raise DataError(
            f"document {docs.table[docs.codes[row]]!r} occurs twice in query "
            f"{str(data.qids[data.groups.codes[row]])!r}; expected different documents in a query, as "
            f"{purpose} needs one row per document"
        )


def data_values(data: RankingData, values: Floats, default: float) -> PairValues:
    """Return one value per row of ranking data as values of pairs."""
    require_different_documents(data, "simulated clicks")
    docs = StringCodes.of([str(d) for d in data.require_docids("simulated clicks")])
    pairs, number = DocumentPairs.of(StringCodes.of(query_names(data)), docs, data.groups)
    by_pair = np.empty(len(pairs))
    by_pair[number] = values
    return PairValues(pairs, by_pair, default)


@dataclass(frozen=True)
class _Truth:
    """What the parameters of a true model come from."""

    attraction: PairValues
    satisfaction: PairValues
    ranks: Floats
    eta: float


def _browsing(truth: _Truth) -> ClickModel:
    distance = truth.ranks[:, None] - (truth.ranks[None, :] - 1)
    table = np.maximum(distance, 1.0) ** -truth.eta
    return UserBrowsingModel(attraction=truth.attraction, by_last_click=table)


_MAKERS: dict[str, Callable[[_Truth], ClickModel]] = {
    "rank-rates": lambda t: RankClickRates(
        attraction=PairValues.constant(1.0), by_rank=0.5 * t.ranks**-t.eta
    ),
    "document-rates": lambda t: DocumentClickRates(attraction=t.attraction, by_rank=np.ones(1)),
    "pbm": lambda t: PositionBasedModel(attraction=t.attraction, by_rank=t.ranks**-t.eta),
    "cascade": lambda t: CascadeModel(attraction=t.attraction),
    "dcm": lambda t: DependentClickModel(
        attraction=t.attraction, stopping=1 - 0.8 * 0.9 ** (t.ranks - 1)
    ),
    "ubm": _browsing,
    "sdbn": lambda t: SimplifiedBayesianModel(
        attraction=t.attraction, satisfaction=t.satisfaction
    ),
    "dbn": lambda t: DynamicBayesianModel(
        attraction=t.attraction, satisfaction=t.satisfaction, continuation=DBN_CONTINUATION
    ),
}  # fmt: skip


def true_model(
    data: RankingData,
    model: str = "pbm",
    *,
    noise: float = 0.1,
    eta: float = 1.0,
    depth: int = 10,
) -> ClickModel:
    """Return the model of simulated users: attraction and satisfaction grow with the label.

    attraction = noise + (1 - noise) (2^y - 1) / (2^max - 1). In pbm, rank r is examined with probability
    r^-eta; in ubm with (r - l)^-eta if the last click is at rank l. In dcm, users stop after a click at
    rank r with probability 1 - 0.8 * 0.9^(r - 1). In dbn and sdbn, satisfaction is 0.9 times the
    attraction without noise; in dbn, users go on with probability 0.9.

    Parameters
    ----------
    noise
        The probability of a click on an examined document with label 0.
    eta
        How strongly users prefer the top.
    depth
        The number of ranks.
    """
    if model not in _MAKERS:
        raise UnknownNameError("click model", str(model), _MAKERS)
    if depth < 1 or not eta >= 0:
        raise UsageError(f"expected a depth of 1 or more and eta of 0 or more, got {depth}, {eta}")
    attraction = data_values(data, relevance(data, noise), noise)
    satisfaction = data_values(data, MAX_SATISFACTION * relevance(data, 0.0), 0.0)
    ranks = np.arange(1.0, depth + 1)
    return _MAKERS[model](_Truth(attraction, satisfaction, ranks, eta))
