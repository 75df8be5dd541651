"""Base rankers: the rankers that an ensemble fits, passed by name or as objects."""

from __future__ import annotations

from typing import Any

from podium.errors import UnknownNameError
from podium.rankers import RANKERS, Ranker


def make_base_ranker(name: str, *, metric: str, seed: int, **fixed: Any) -> Ranker:
    """Return the ranker of this name, with the ensemble's metric and seed if it has such parameters.

    Parameters
    ----------
    fixed
        Other parameters of the ranker.

    Examples
    --------
    >>> make_base_ranker("listnet", metric="NDCG@5", seed=1, l2=0.1)
    ListNet(l2=0.1, metric='NDCG@5', seed=1)
    """
    if name not in RANKERS:
        raise UnknownNameError("ranker", name, RANKERS)
    ranker = RANKERS[name](**fixed)
    parameters = ranker.get_params(deep=False)
    shared = {"metric": metric, "seed": seed}
    ranker.set_params(**{key: value for key, value in shared.items() if key in parameters})
    return ranker
