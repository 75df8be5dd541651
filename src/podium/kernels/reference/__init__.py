"""The kernels in plain NumPy: slow, obvious, and what the native ones are held equal to.

Conventions shared by all of them: a query is the rows ``offsets[q]:offsets[q + 1]``;
``order`` holds row numbers, best first, query by query; strings are *packed*, a
pair (bytes, offsets) with string i in ``bytes[offsets[i]:offsets[i + 1]]``.
"""

from podium.kernels.reference.hashing import hash_strings
from podium.kernels.reference.letor import format_letor, parse_letor
from podium.kernels.reference.linear import matvec, rmatvec
from podium.kernels.reference.lines import count_lines
from podium.kernels.reference.ranking import (
    cascade,
    discounted_sum,
    exp2_gain,
    first_place,
    ideal_sum,
    order,
    pair_counts,
    precision_sum,
    string_places,
)
from podium.kernels.reference.table import parse_table

__all__ = [
    "cascade",
    "count_lines",
    "discounted_sum",
    "exp2_gain",
    "first_place",
    "format_letor",
    "hash_strings",
    "ideal_sum",
    "matvec",
    "order",
    "pair_counts",
    "parse_letor",
    "parse_table",
    "precision_sum",
    "rmatvec",
    "string_places",
]
