"""Learning from clicks: any ranker and any loss, without position bias."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.clicks import (
    LABEL_METHODS,
    ClickModel,
    ClickSessions,
    LabelSettings,
    PropensityEstimate,
    ShownDocuments,
    click_labels,
    estimate_propensities,
    fit_click_model,
)
from podium.data import RankingData
from podium.errors import UnknownNameError
from podium.rankers.click_lists import fit_to_labels
from podium.rankers.dual_learning import learn_dual
from podium.rankers.learning_curve import Callback
from podium.rankers.position_debiasing import learn_with_positions
from podium.rankers.ranker import Ranker

DEBIAS_METHODS = {
    **LABEL_METHODS,
    "position": "LightGBM estimates the effect of each position together with the trees (lambdamart)",
    "dual": "propensities and a linear or network ranker are learned in turn, each from the other",
}
"""Ways to learn from clicks."""


@dataclass(frozen=True)
class ClickLearning:
    """How a ranker learns from clicks.

    Parameters
    ----------
    debias
        One of ``DEBIAS_METHODS``.
    examination
        Propensities or a click model. None: ips and dr estimate propensities from swaps or several
        rankers, and model fits a position-based model.
    labels
        Settings of the click labels.
    """

    debias: str = "ips"
    examination: ClickModel | PropensityEstimate | None = None
    labels: LabelSettings = field(default_factory=LabelSettings)

    def __post_init__(self) -> None:
        if self.debias not in DEBIAS_METHODS:
            raise UnknownNameError("debiasing method", str(self.debias), DEBIAS_METHODS)


def fit_to_clicks(
    ranker: Ranker,
    data: RankingData,
    sessions: ClickSessions,
    learning: ClickLearning | None = None,
    *,
    valid: RankingData | None = None,
    callback: Callback | None = None,
) -> Ranker:
    """Fit a ranker to the clicks of a log, and return it.

    Parameters
    ----------
    data
        The documents of each query, with features and ids; labels are not used.
    learning
        How; ips by default.
    valid
        Judged queries that choose the number of iterations. None: a ranker that needs them holds out
        queries of the log, with click labels.

    Examples
    --------
    >>> import podium
    >>> from podium.clicks import simulate
    >>> data = podium.make_synthetic(n_queries=100, n_features=4, seed=1)
    >>> log = simulate(data, 0, "pbm", sessions=10_000, swap=0.1, seed=1)
    >>> ranker = fit_to_clicks(podium.ListNet(), data, log, ClickLearning("dr"))
    >>> bool(ranker.score(data) > 0.9)
    True
    """
    learning = learning or ClickLearning()
    if learning.debias == "dual":
        join = ShownDocuments.of(sessions, data)
        return learn_dual(ranker, join, learning.labels, valid=valid, callback=callback)[0]
    if learning.debias == "position":
        join = ShownDocuments.of(sessions, data)
        labels = click_labels(sessions, data, "none")
        return learn_with_positions(ranker, join, labels, valid=valid, callback=callback)
    examination = learning.examination or default_examination(sessions, learning.debias)
    labels = click_labels(sessions, data, learning.debias, examination, learning.labels)
    return fit_to_labels(ranker, labels, valid=valid, callback=callback)


def default_examination(
    sessions: ClickSessions, debias: str
) -> ClickModel | PropensityEstimate | None:
    """Return what a method takes P(examined) from if nobody says so; None if it needs none."""
    if debias in ("ips", "dr"):
        return estimate_propensities(sessions)
    return fit_click_model(sessions, "pbm") if debias == "model" else None
