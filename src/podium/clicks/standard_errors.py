"""Standard errors of a click model's parameters, by bootstrap over sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.clicks.click_model import ClickModel, FitSettings
from podium.clicks.click_models import fit_click_model
from podium.clicks.click_sessions import ClickSessions
from podium.data import check_seed
from podium.errors import UsageError
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors: of the attraction of each pair of the log, and of each other parameter by name."""

    attraction: Floats
    parameters: dict[str, Floats]
    resamples: int


def bootstrap_errors(
    sessions: ClickSessions,
    model: str = "pbm",
    *,
    resamples: int = 50,
    seed: int = 0,
    settings: FitSettings | None = None,
) -> StandardErrors:
    """Fit a model to sessions drawn with replacement; return the standard deviations of the parameters.

    In pbm, examination is that relative to rank 1.

    Examples
    --------
    >>> sessions = ClickSessions.from_lists(["q"] * 100, [["a"]] * 100, [["a"]] * 50 + [[]] * 50)
    >>> errors = bootstrap_errors(sessions, "rank-rates", resamples=200)
    >>> errors.parameters["by_rank"].round(2).tolist()              # sqrt(0.5 * 0.5 / 100)
    [0.05]
    """
    check_seed(seed)
    if resamples < 2:
        raise UsageError(f"expected 2 resamples or more, got {resamples}")
    rng, n, pairs = np.random.default_rng(seed), len(sessions), sessions.pairs[0]
    fits: list[tuple[Floats, dict[str, Floats]]] = []
    for _ in range(resamples):
        weight = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        fitted = fit_click_model(sessions, model, weight=weight, settings=settings)
        fits.append((fitted.attraction.of(pairs), _relative(fitted)))
    names = fits[0][1]
    return StandardErrors(
        np.std([attraction for attraction, _ in fits], axis=0, ddof=1),
        {name: np.std([p[name] for _, p in fits], axis=0, ddof=1) for name in names},
        resamples,
    )


def _relative(model: ClickModel) -> dict[str, Floats]:
    values = {name: np.asarray(v, dtype=np.float64) for name, v in model.parameters().items()}
    return {n: v / v[0] if model.name == "pbm" else v for n, v in values.items()}
