"""Minimisers of functions of matrices; they contain nothing about ranking."""

from podium.optim.accelerated_em import EmMaximum, accelerated_em
from podium.optim.adam import Adam
from podium.optim.block_cutting_planes import BlockPlanes, BlockProblem, block_cutting_planes
from podium.optim.coordinate_search import CoordinateSearch, LinearCoordinateSearch
from podium.optim.cutting_planes import cutting_planes
from podium.optim.early_stopping import Patience
from podium.optim.lbfgs import lbfgs
from podium.optim.linear_problem import (
    BlockLosses,
    IterationCallback,
    LinearProblem,
    LossOfLinearScores,
    Minimum,
    ProductPass,
)
from podium.optim.newton import newton_cg
from podium.optim.small_gradient import SmallGradient
from podium.optim.threads import is_forked_child, one_blas_thread, openmp_after_fork

__all__ = [
    "Adam",
    "BlockLosses",
    "BlockPlanes",
    "BlockProblem",
    "CoordinateSearch",
    "EmMaximum",
    "IterationCallback",
    "LinearCoordinateSearch",
    "LinearProblem",
    "LossOfLinearScores",
    "Minimum",
    "Patience",
    "ProductPass",
    "SmallGradient",
    "accelerated_em",
    "block_cutting_planes",
    "cutting_planes",
    "is_forked_child",
    "lbfgs",
    "newton_cg",
    "one_blas_thread",
    "openmp_after_fork",
]
