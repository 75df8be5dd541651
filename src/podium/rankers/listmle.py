"""ListMLE and top-k ListMLE: the likelihood of the true order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.losses import ListMLELoss, Loss, TopkListMLELoss
from podium.rankers.gradient_ranker import GradientRanker
from podium.rankers.parameters import Count


@dataclass(kw_only=True, eq=False, repr=False)
class ListMLE(GradientRanker):
    """Likelihood of the true order: -log prod_i exp(s_i) / sum_{l >= i} exp(s_l).

    Documents with equal labels get a random order, which depends on seed, query and document. Xia,
    Liu, Wang, Zhang, Li, Listwise approach to learning to rank, ICML 2008.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(ListMLE().fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "listmle"
    paper: ClassVar[str] = "Xia et al., ICML 2008"

    def loss(self) -> Loss:
        """Return the likelihood of the whole order."""
        return ListMLELoss()


@dataclass(kw_only=True, eq=False, repr=False)
class TopkListMLE(GradientRanker):
    """Likelihood of the first k places of the true order.

    Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009.

    Parameters
    ----------
    k
        The number of places that count.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(TopkListMLE(k=5).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "topk-listmle"
    paper: ClassVar[str] = "Xia, Liu, Li, NIPS 2009"

    k: Count = 10

    def loss(self) -> Loss:
        """Return the likelihood of the first k places."""
        return TopkListMLELoss(k=self.k)
