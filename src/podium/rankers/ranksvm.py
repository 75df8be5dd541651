"""RankSVM: a hinge loss of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from podium.losses import Loss, PairHinge
from podium.optim import LinearProblem, Minimum, newton_cg
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.parameters import Positive
from podium.rankers.svm import SVM
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVM(SVM):
    """Pairs, the better document ahead by a margin: 1/2 |w|^2 + C sum max(0, 1 - (s_u - s_v))^p.

    Over pairs of a query with y_u > y_v; p = 1 (hinge) or 2 (squared hinge). No pair is ever
    built: a pass costs O(n log n) for a query of n documents. Herbrich, Graepel, Obermayer, 2000;
    Joachims, KDD 2002; Chapelle and Keerthi, Information Retrieval 2010.

    Parameters
    ----------
    C
        The weight of a violated pair against |w|^2.
    power
        2: squared hinge, by truncated Newton; 1: hinge, by cutting planes with a proved gap.
    tol
        Squared hinge: stop at this norm of the gradient, as a share of the norm at w = 0.
    eps
        Hinge: the proved gap, as a share of the objective.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(RankSVM(C=0.01).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "ranksvm"
    paper: ClassVar[str] = "Joachims, KDD 2002; Chapelle and Keerthi, 2010"
    grid: ClassVar[dict[str, Any]] = {"C": tuple(10.0**e for e in range(-5, 2))}

    C: Positive = 1e-3
    power: Literal[1, 2] = 2
    tol: Positive = 1e-4
    eps: Positive = 1e-3

    def loss(self) -> Loss:
        """Return the hinge of pairs."""
        return PairHinge(power=self.power)

    def fits_on_workers(self) -> bool:
        """Whether rows may stay on workers: with the squared hinge; cutting planes need every score."""
        return self.power == 2

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return self.power == 1

    def _minimise(self, problem: LinearProblem, start: Floats, monitor: FitMonitor) -> Minimum:
        if self.power == 1:
            return super()._minimise(problem, start, monitor)
        return newton_cg(
            problem, start, tol=self.tol, max_iter=self.max_iter,
            callback=monitor.record_weights,
        )  # fmt: skip
