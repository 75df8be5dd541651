"""CLICK_MODELS: every click model by name; fit one by its name."""

from __future__ import annotations

import warnings

from podium.clicks.chain_models import (
    CascadeModel,
    DependentClickModel,
    DynamicBayesianModel,
    SimplifiedBayesianModel,
)
from podium.clicks.click_model import ClickModel, FitSettings
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.examination_models import (
    DocumentClickRates,
    PositionBasedModel,
    RankClickRates,
    UserBrowsingModel,
)
from podium.errors import NotConvergedWarning, UnknownNameError
from podium.typing import Floats

CLICK_MODELS: dict[str, type[ClickModel]] = {
    "rank-rates": RankClickRates,
    "document-rates": DocumentClickRates,
    "pbm": PositionBasedModel,
    "cascade": CascadeModel,
    "dcm": DependentClickModel,
    "ubm": UserBrowsingModel,
    "sdbn": SimplifiedBayesianModel,
    "dbn": DynamicBayesianModel,
}
"""Name -> class of every click model."""


def fit_click_model(
    sessions: ClickSessions,
    model: str = "pbm",
    *,
    weight: Floats | None = None,
    settings: FitSettings | None = None,
) -> ClickModel:
    """Fit a click model by its name; warns if EM did not converge.

    Examples
    --------
    >>> sessions = ClickSessions.from_lists(["q"] * 4, [["a", "b"]] * 4, [["a"], ["a"], ["b"], []])
    >>> model = fit_click_model(sessions, "cascade", settings=FitSettings(smoothing=0))
    >>> model.click_probabilities(sessions)[:2].round(3).tolist()   # 2 of 4; then 1 of the other 2
    [0.5, 0.25]
    """
    if model not in CLICK_MODELS:
        raise UnknownNameError("click model", str(model), CLICK_MODELS)
    fitted = CLICK_MODELS[model].fit(sessions, weight=weight, settings=settings)
    if fitted.summary is not None and not fitted.summary.converged:
        warnings.warn(
            f"the EM of {model} stopped after {fitted.summary.steps} steps before it converged; "
            "raise max_steps or tolerance",
            NotConvergedWarning,
            stacklevel=2,
        )
    return fitted
