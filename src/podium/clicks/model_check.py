"""A check of the assumed click model: whether clicks above change clicks below as the model says.

Under a position-based model, clicks at different ranks are independent. Users who stop after a click, or who
click much or little, make them depend on each other. So the clicks below a click are compared with those that
the model expects there, beside the clicks of all other rows. Users of a DBN who are rarely satisfied come too
near to a position-based model to be noticed.
"""

from __future__ import annotations

import numpy as np

from podium.clicks.click_model import LEAST_PROBABILITY, ClickModel
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.examination_models import DocumentClickRates, PositionBasedModel
from podium.clicks.fit_tables import sums_by_code
from podium.typing import Bools, Floats

MIN_DEVIATION = 0.1
"""Smaller deviations of the clicks below a click, as a share, are not worth a message."""
MIN_STANDARD_ERRORS = 5.0
"""Deviations of fewer standard errors may be chance."""


def dependence_message(sessions: ClickSessions, model: ClickModel) -> str | None:
    """Return what is wrong with the clicks below a click; None if the model explains them.

    Models in which examination depends on more than the rank are not checked.

    Examples
    --------
    >>> import podium
    >>> from podium.clicks import simulate, true_model
    >>> data = podium.make_synthetic(n_queries=50, n_docs=6, seed=1)
    >>> log = simulate(data, 0, "cascade", 5000, seed=1)
    >>> print(dependence_message(log, true_model(data, "pbm"))[:45])
    below a click users click 100% less often tha
    """
    if not isinstance(model, PositionBasedModel | DocumentClickRates):
        return None
    expected = expected_clicks(sessions, model)
    after = _is_after_click(sessions)
    clicks = sessions.clicked.astype(np.float64)
    others = float(expected[~after].sum())
    if not after.any() or others <= 0:
        return None
    expected = expected * float(clicks[~after].sum()) / others  # the level is not what is checked
    here, observed = float(expected[after].sum()), float(clicks[after].sum())
    error = float(np.sqrt((expected * np.maximum(1 - expected, 0.0))[after].sum()))
    if abs(observed - here) <= max(MIN_STANDARD_ERRORS * error, MIN_DEVIATION * here):
        return None
    change = "more" if observed > here else "less"
    size = f"{abs(observed / here - 1):.0%} " if here > 0 else ""
    return (
        f"below a click users click {size}{change} often than the click model says: examination does not "
        "depend on what the model assumes, and the interval may miss the truth; compare models "
        "(podium clicks fit) and use the best"
    )


def expected_clicks(sessions: ClickSessions, model: ClickModel) -> Floats:
    """Return P(examined) times the rate of the document in the log itself, for each row."""
    examined = np.maximum(model.examination(sessions), LEAST_PROBABILITY)
    pairs, pair = sessions.pairs
    clicks = sums_by_code(pair, sessions.clicked.astype(np.float64), len(pairs))
    return np.asarray(examined * (clicks / sums_by_code(pair, examined, len(pairs)))[pair])


def _is_after_click(sessions: ClickSessions) -> Bools:
    """Return whether a document above was clicked, for each row."""
    total = np.concatenate([[0], np.cumsum(sessions.clicked)])
    return np.asarray(total[:-1] > sessions.groups.spread(total[sessions.groups.offsets[:-1]]))
