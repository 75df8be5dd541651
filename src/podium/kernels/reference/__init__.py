"""The kernels in plain NumPy: slow, obvious, and what the native ones are held equal to.

Conventions shared by all of them: a query is the rows ``offsets[q]:offsets[q + 1]``;
``order`` holds row numbers, best first, query by query; strings are *packed*, a
pair (bytes, offsets) with string i in ``bytes[offsets[i]:offsets[i + 1]]``.
"""

from podium.kernels.reference.aggregation import (
    best_order,
    disagreements,
    kemeny_search,
    local_kemenisation,
    majority_quicksort,
    majority_tables,
)
from podium.kernels.reference.block_ascent import block_ascent
from podium.kernels.reference.boosting import (
    bin_features,
    rankboost_potentials,
    stump_dcg,
    stump_sums,
)
from podium.kernels.reference.bradley_terry import bradley_terry
from podium.kernels.reference.clusters import rank_clusters
from podium.kernels.reference.hashing import hash_strings
from podium.kernels.reference.letor import format_letor, parse_letor
from podium.kernels.reference.linear import matvec, rmatvec, rmatvec_by_query
from podium.kernels.reference.lines import count_lines
from podium.kernels.reference.losses import (
    hinge_pairs,
    hinge_pairs_product,
    hinge_pairs_products,
    lambda_pairs,
    logistic_pairs,
    logistic_pairs_product,
    plackett_luce,
    plackett_luce_product,
    softmax_cross_entropy,
    softmax_cross_entropy_product,
    top_cross_entropy,
    top_cross_entropy_product,
)
from podium.kernels.reference.movers import sets_of_movers
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
    tied_precision_sum,
)
from podium.kernels.reference.simplex_qp import simplex_qp
from podium.kernels.reference.structural import (
    violated_ap,
    violated_cuts,
    violated_head,
    violated_order,
)
from podium.kernels.reference.table import parse_table
from podium.kernels.reference.windows import fill_windows

__all__ = [
    "best_order",
    "bin_features",
    "block_ascent",
    "bradley_terry",
    "cascade",
    "count_lines",
    "disagreements",
    "discounted_sum",
    "exp2_gain",
    "fill_windows",
    "first_place",
    "format_letor",
    "hash_strings",
    "hinge_pairs",
    "hinge_pairs_product",
    "hinge_pairs_products",
    "ideal_sum",
    "kemeny_search",
    "lambda_pairs",
    "local_kemenisation",
    "logistic_pairs",
    "logistic_pairs_product",
    "majority_quicksort",
    "majority_tables",
    "matvec",
    "order",
    "pair_counts",
    "parse_letor",
    "parse_table",
    "plackett_luce",
    "plackett_luce_product",
    "precision_sum",
    "rank_clusters",
    "rankboost_potentials",
    "rmatvec",
    "rmatvec_by_query",
    "sets_of_movers",
    "simplex_qp",
    "softmax_cross_entropy",
    "softmax_cross_entropy_product",
    "string_places",
    "stump_dcg",
    "stump_sums",
    "tied_precision_sum",
    "top_cross_entropy",
    "top_cross_entropy_product",
    "violated_ap",
    "violated_cuts",
    "violated_head",
    "violated_order",
]
