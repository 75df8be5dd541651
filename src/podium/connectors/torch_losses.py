"""Losses for PyTorch: podium's losses as modules on ragged batches, computed by podium's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data import Groups, RankingData
from podium.data.packed_strings import Strings
from podium.errors import LengthMismatchError, UsageError, require
from podium.losses import BoundLoss, Loss, make
from podium.typing import Floats

if TYPE_CHECKING:
    import torch
    from torch.autograd.function import once_differentiable
else:
    torch = require("torch", "torch", "a loss of PyTorch")
    once_differentiable = torch.autograd.function.once_differentiable

REDUCTIONS = ("mean", "sum", "none")
"""What RankingLoss makes of the values of the queries."""


class KernelFunction(torch.autograd.Function):
    """The values of queries as a function of scores; podium's kernels compute values and gradient."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, bound: BoundLoss) -> torch.Tensor:
        """Return one value per query, in float32 or more."""
        values, gradient = _evaluate(bound, scores.detach().double().cpu().numpy())
        ctx.sizes = torch.from_numpy(bound.groups.sizes).to(scores.device)
        ctx.save_for_backward(torch.from_numpy(gradient).to(scores))
        wide = torch.promote_types(scores.dtype, torch.float32)
        return torch.from_numpy(values).to(scores.device, wide)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient of the scores."""
        (gradient,) = ctx.saved_tensors
        weight = torch.repeat_interleave(upstream[0], ctx.sizes)
        return (gradient * weight).to(gradient.dtype), None


def _evaluate(bound: BoundLoss, scores: Floats) -> tuple[Floats, Floats]:
    """Return values and gradient; NaN where scores are not finite, so that a scaler of gradients sees it."""
    finite = np.isfinite(scores)
    if finite.all():
        return bound(scores)
    values, gradient = bound(np.where(finite, scores, 0.0))
    broken = bound.groups.reduce(np.maximum, (~finite).astype(np.float64)) > 0
    values[broken], gradient[np.asarray(bound.groups.spread(broken))] = np.nan, np.nan
    return values, gradient


class RankingLoss(torch.nn.Module):
    """A loss of podium as a module of PyTorch, for batches of lists of any lengths.

    ``loss(scores, labels, sizes)`` takes the scores and labels of all documents of a batch, query after
    query, and the number of documents of each query. Value and gradient are those of podium's kernels, in
    float64 on the processor; scores may be anywhere and of any precision. There is no second derivative.

    Parameters
    ----------
    loss
        A name of ``podium.losses.LOSSES``, or a loss.
    reduction
        "mean": the mean over the queries that have something to learn, "sum", or "none": one value per query.
    topk
        The k of labels that are positions, y = k + 1 - position (top-k truth). None: labels are grades.
    seed
        Decides the order of equal labels and what ``yetiloss`` draws. Each call in training makes new draws.
    **settings
        Parameters of the loss, such as k.

    Examples
    --------
    >>> loss = RankingLoss("ranknet")
    >>> scores = torch.tensor([0.0, 0.0, 1.0, 2.0, 3.0], requires_grad=True)
    >>> value = loss(scores, torch.tensor([1, 0, 2, 1, 1]), torch.tensor([2, 3]))
    >>> value.backward()
    >>> scores.grad[:2].tolist()  # a query of two documents at equal scores, one of two queries
    [-0.25, 0.25]
    """

    def __init__(
        self,
        loss: str | Loss = "topk-listmle",
        *,
        reduction: str = "mean",
        topk: int | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise UsageError(f"expected a reduction of {', '.join(REDUCTIONS)}, got {reduction!r}")
        if isinstance(loss, Loss) and settings:
            raise UsageError(f"expected settings with the name of a loss, got {loss!r}")
        self.loss = make(loss if isinstance(loss, Loss) else {"name": loss, **settings})
        self.reduction, self.topk, self.seed, self.calls = reduction, topk, seed, 0

    def extra_repr(self) -> str:
        """Return the loss and its reduction."""
        return f"{self.loss}, reduction={self.reduction!r}"

    def forward(
        self, scores: torch.Tensor, labels: torch.Tensor, sizes: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss of a batch; gradients flow to the scores."""
        bound = self.bind(labels, sizes)
        if scores.shape != (bound.groups.n_rows,):
            raise LengthMismatchError(
                f"expected {bound.groups.n_rows} scores in one dimension, one per document, got the shape "
                f"{tuple(scores.shape)}; scores of the shape (n, 1) need scores.squeeze(1)"
            )
        values = KernelFunction.apply(scores, bound)
        if self.reduction == "none":
            return values
        total = values.sum()
        return total if self.reduction == "sum" else total / max(1, int(bound.active.sum()))

    def bind(self, labels: torch.Tensor, sizes: torch.Tensor) -> BoundLoss:
        """Return podium's loss, bound to the labels of a batch, with the random numbers of this call."""
        groups = Groups.from_sizes(sizes.detach().cpu().numpy())
        y = labels.detach().double().cpu().numpy()
        if y.shape != (groups.n_rows,):
            raise LengthMismatchError(
                f"expected {groups.n_rows} labels in one dimension, the sum of the sizes, got the shape "
                f"{tuple(y.shape)}"
            )
        call = self.calls if self.training else 0
        self.calls += self.training
        names = [np.array([str(i) for i in range(n)], object) for n in (len(groups), len(y))]
        data = RankingData(
            np.zeros((len(y), 1)), y, groups, names[0], docid_column=Strings.of(names[1]),
            topk=self.topk,
        )  # fmt: skip
        return self.loss.bind(data, self.seed + call).redraw(call)
