"""The hot loops on bare arrays, native where a compiler was at hand.

``BACKEND`` says which implementation runs: ``"native"`` (C++) or ``"reference"``
(NumPy, the same functions, slow and obvious). The environment variable
``PODIUM_BACKEND`` chooses; without it native is taken when it is there.

Examples
--------
>>> from podium import kernels
>>> kernels.BACKEND in ("native", "reference")
True
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from podium.errors import BackendError

BACKEND: str

if TYPE_CHECKING:
    from podium.kernels.reference import (
        best_order,
        bin_features,
        block_ascent,
        bradley_terry,
        cascade,
        count_lines,
        disagreements,
        discounted_sum,
        exp2_gain,
        fill_windows,
        first_place,
        format_letor,
        hash_strings,
        hinge_pairs,
        hinge_pairs_product,
        hinge_pairs_products,
        ideal_sum,
        kemeny_search,
        lambda_pairs,
        local_kemenisation,
        logistic_pairs,
        logistic_pairs_product,
        majority_quicksort,
        majority_tables,
        matvec,
        order,
        pair_counts,
        parse_letor,
        parse_table,
        plackett_luce,
        plackett_luce_product,
        precision_sum,
        rank_clusters,
        rankboost_potentials,
        rmatvec,
        rmatvec_by_query,
        sets_of_movers,
        simplex_qp,
        softmax_cross_entropy,
        softmax_cross_entropy_product,
        string_places,
        stump_dcg,
        stump_sums,
        tied_precision_sum,
        top_cross_entropy,
        top_cross_entropy_product,
        violated_ap,
        violated_cuts,
        violated_head,
        violated_order,
    )
else:

    def _choose_backend():
        wanted = os.environ.get("PODIUM_BACKEND", "")
        if wanted not in ("", "native", "reference"):
            raise BackendError(f"PODIUM_BACKEND must be native or reference, got {wanted!r}")
        if wanted != "reference":
            try:
                return "native", importlib.import_module("podium.kernels._native")
            except ImportError as error:
                if wanted == "native":
                    raise BackendError(
                        "PODIUM_BACKEND=native, but the native kernels are not installed "
                        f"({error}); install g++ and reinstall podium-ltr"
                    ) from error
        return "reference", importlib.import_module("podium.kernels.reference")

    BACKEND, _backend = _choose_backend()

__all__ = [
    "BACKEND",
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

if not TYPE_CHECKING:
    globals().update({name: getattr(_backend, name) for name in __all__ if name != "BACKEND"})
