"""The kernels in plain NumPy: slow and obvious, and the reference for the native ones.

All kernels share these conventions: a query is the rows ``offsets[q]:offsets[q + 1]``;
``order`` holds row numbers, best first, query by query; strings are *packed*, a
pair (bytes, offsets) with string i in ``bytes[offsets[i]:offsets[i + 1]]``.

This package has the only list of kernels. `podium.kernels` and the tests of the twins read it.
"""

from podium.kernels.reference.majority_votes import (
    best_order as best_order,
    disagreements as disagreements,
    kemeny_search as kemeny_search,
    local_kemenisation as local_kemenisation,
    majority_quicksort as majority_quicksort,
    majority_tables as majority_tables,
)
from podium.kernels.reference.block_ascent import (
    block_ascent as block_ascent,
)
from podium.kernels.reference.boosting import (
    bin_features as bin_features,
    rankboost_potentials as rankboost_potentials,
    stump_dcg as stump_dcg,
    stump_sums as stump_sums,
)
from podium.kernels.reference.bradley_terry import (
    bradley_terry as bradley_terry,
)
from podium.kernels.reference.click_models import (
    click_cells_pass as click_cells_pass,
    click_chain_pass as click_chain_pass,
)
from podium.kernels.reference.rank_preserving_clusters import (
    rank_clusters as rank_clusters,
)
from podium.kernels.reference.csv import (
    csv_end as csv_end,
    parse_csv as parse_csv,
)
from podium.kernels.reference.string_hashes import (
    hash_rows as hash_rows,
    hash_strings as hash_strings,
)
from podium.kernels.reference.letor import (
    format_letor as format_letor,
    parse_letor as parse_letor,
)
from podium.kernels.reference.linear_passes import (
    hinge_pairs_product_pass as hinge_pairs_product_pass,
    logistic_pairs_pass as logistic_pairs_pass,
    plackett_luce_pass as plackett_luce_pass,
    softmax_and_logistic_pass as softmax_and_logistic_pass,
    softmax_cross_entropy_pass as softmax_cross_entropy_pass,
)
from podium.kernels.reference.matrix_products import (
    matvec as matvec,
    rmatvec as rmatvec,
    rmatvec_by_query as rmatvec_by_query,
)
from podium.kernels.reference.lines import (
    count_lines as count_lines,
)
from podium.kernels.reference.losses import (
    exchanged_pairs as exchanged_pairs,
    hinge_pairs as hinge_pairs,
    hinge_pairs_product as hinge_pairs_product,
    hinge_pairs_products as hinge_pairs_products,
    lambda_pairs as lambda_pairs,
    logistic_pairs as logistic_pairs,
    logistic_pairs_product as logistic_pairs_product,
    plackett_luce as plackett_luce,
    plackett_luce_product as plackett_luce_product,
    softmax_cross_entropy as softmax_cross_entropy,
    softmax_cross_entropy_product as softmax_cross_entropy_product,
    top_cross_entropy as top_cross_entropy,
    top_cross_entropy_product as top_cross_entropy_product,
)
from podium.kernels.reference.most_violated_order import (
    violated_ap as violated_ap,
    violated_cuts as violated_cuts,
    violated_order as violated_order,
)
from podium.kernels.reference.move_reasons import (
    sets_of_movers as sets_of_movers,
)
from podium.kernels.reference.ranking import (
    cascade as cascade,
    discounted_sum as discounted_sum,
    exp2_gain as exp2_gain,
    find_relevant as find_relevant,
    first_place as first_place,
    ideal_sum as ideal_sum,
    is_order as is_order,
    label_levels as label_levels,
    match_strings as match_strings,
    order as order,
    pair_counts as pair_counts,
    precision_sum as precision_sum,
    string_places as string_places,
    tied_discounted_sum as tied_discounted_sum,
    tied_precision_sum as tied_precision_sum,
    trec_order as trec_order,
)
from podium.kernels.reference.simplex_qp import (
    simplex_qp as simplex_qp,
)
from podium.kernels.reference.most_violated_head import (
    violated_head as violated_head,
)
from podium.kernels.reference.trec import (
    parse_trec as parse_trec,
)
from podium.kernels.reference.trees import (
    predict_stumps as predict_stumps,
    predict_trees as predict_trees,
)
from podium.kernels.reference.place_windows import (
    fill_windows as fill_windows,
)
from podium.kernels.reference.place_beliefs import (
    judged_pair_information as judged_pair_information,
    members_by_count as members_by_count,
    pair_information as pair_information,
    sweep_places as sweep_places,
)
