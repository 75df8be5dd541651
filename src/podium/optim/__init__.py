"""Minimisers. They know functions and matrices, nothing of ranking."""

from podium.optim.adam import Adam
from podium.optim.block_planes import BlockProblem, Planes, block_planes
from podium.optim.coordinates import CoordinateAscent, LinearCoordinateAscent
from podium.optim.cutting_planes import cutting_planes
from podium.optim.lbfgs import lbfgs
from podium.optim.linear import Each, LinearProblem, Minimum
from podium.optim.newton import newton_cg
from podium.optim.stopping import Patience, SmallGradient
from podium.optim.threads import one_blas_thread

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
    "lbfgs",
    "newton_cg",
    "one_blas_thread",
]
