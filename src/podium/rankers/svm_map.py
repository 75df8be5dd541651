"""SVM-MAP: a structural SVM on average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from podium.losses import APHinge, Loss
from podium.rankers.parameters import Positive
from podium.rankers.svm import SVM


@dataclass(kw_only=True, eq=False, repr=False)
class SVMMAP(SVM):
    """A structural SVM on average precision: the true ranking leads every other by its loss in AP.

    1/2 |w|^2 + C sum_q max_z [1 - AP(z) + w.Psi(z) - w.Psi(y)], where the most violated ranking z
    is found exactly. Yue, Finley, Radlinski, Joachims, A support vector method for optimizing
    average precision, SIGIR 2007.

    Parameters
    ----------
    C
        The weight of a query's loss against |w|^2.
    rel
        The lowest label that counts as relevant.
    eps
        The proved gap to the optimum, as a share of the objective.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> ranker = SVMMAP(C=1.0).fit(data)
    >>> bool(ranker.score(data) > 0.8), ranker.converged_
    (True, True)
    """

    name: ClassVar[str] = "svm-map"
    paper: ClassVar[str] = "Yue, Finley, Radlinski, Joachims, SIGIR 2007"
    grid: ClassVar[dict[str, Any]] = {"C": tuple(10.0**e for e in range(-2, 3))}

    rel: Positive = 1.0
    eps: Positive = 1e-3

    def loss(self) -> Loss:
        """Return the structural hinge of AP."""
        return APHinge(rel=self.rel)
