"""Minimisers. They know functions and matrices, nothing of ranking."""

from podium.optim.adam import Adam
from podium.optim.block_planes import BlockProblem, Planes, block_planes
from podium.optim.coordinates import CoordinateAscent, LinearCoordinateAscent
from podium.optim.cutting_planes import cutting_planes
from podium.optim.lbfgs import lbfgs
from podium.optim.linear import Each, LinearProblem, Minimum
from podium.optim.newton import newton_cg
from podium.optim.stopping import Patience, SmallGradient
from podium.optim.threads import is_forked_child, one_blas_thread, openmp_after_fork

__all__ = [
    "Adam",
    "BlockProblem",
    "CoordinateAscent",
    "Each",
    "LinearCoordinateAscent",
    "LinearProblem",
    "Minimum",
    "Patience",
    "Planes",
    "SmallGradient",
    "block_planes",
    "cutting_planes",
    "is_forked_child",
    "lbfgs",
    "newton_cg",
    "one_blas_thread",
    "openmp_after_fork",
]
