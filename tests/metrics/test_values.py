"""Every metric on lists small enough to work out by hand."""

import math
from math import log2, sqrt

import numpy as np
import pytest

from podium.data import Groups, Qrels, RankingData, Run, Strings, draw_truth, position_labels
from podium.errors import (
    DataError,
    GainOverflowError,
    LengthMismatchError,
    MissingDocidsError,
    MissingTruthError,
    NonFiniteError,
    UsageError,
)
from podium.metrics import ERR, NDCG, RBP, Hit, P, evaluate, mean_over_queries
from podium.metrics.ranked_lists import RankedLists


def ranked(*lists, **options):
    """Queries whose labels are given best place first, and scores that rank them so."""
    y = np.concatenate([np.asarray(labels, dtype=float) for labels in lists])
    qid = np.repeat(np.arange(len(lists)), [len(labels) for labels in lists])
    data = RankingData.from_arrays(np.zeros((len(y), 1)), y, qid=qid, **options)
    return data, -np.arange(len(y), dtype=float)


def per_query(metric, *lists, **options):
    data, scores = ranked(*lists, **options)
    return evaluate(data, scores, metric)[metric].per_query.tolist()


def value(metric, labels, **options):
    return per_query(metric, labels, **options)[0]


def mean(metric, *lists, **options):
    data, scores = ranked(*lists, **options)
    return evaluate(data, scores, metric)[metric].mean


def judged(rows, cls):
    """Qrels or a run from (query, document, number) triples, queries in order."""
    qids = list(dict.fromkeys(q for q, _, _ in rows))
    ids = np.empty(len(qids), dtype=object)
    ids[:] = qids
    sizes = [sum(q == qid for q, _, _ in rows) for qid in qids]
    docids = Strings.of(d for _, d, _ in rows)
    return cls(ids, Groups.from_sizes(sizes), docids, np.array([float(v) for _, _, v in rows]))


def exactly(expected):
    return pytest.approx(expected, rel=1e-13, abs=1e-15, nan_ok=True)


# DCG and NDCG


def test_dcg_sums_gain_times_discount():
    expected = (2**2 - 1) / log2(2) + 0 / log2(3) + (2**1 - 1) / log2(4)
    assert value("DCG", [2, 0, 1]) == exactly(expected)


def test_dcg_stops_at_the_cutoff():
    assert value("DCG@1", [2, 0, 1]) == exactly(3 / log2(2))
    assert value("DCG@2", [0, 1, 2]) == exactly(1 / log2(3))


def test_dcg_of_a_list_without_gain_is_0_and_counts():
    assert per_query("DCG@2", [0, 0], [1, 0]) == exactly([0, 1])
    assert mean("DCG@2", [0, 0], [1, 0]) == exactly(1 / 2)


def test_dcg_counts_short_lists_0_if_asked():
    assert per_query("DCG(short='zero')@3", [1, 1], [1, 1, 0]) == exactly([0, 1 + 1 / log2(3)])


def test_ndcg_divides_by_the_best_order():
    expected = (3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 1 / log2(3))
    assert value("NDCG", [2, 0, 1]) == exactly(expected)


def test_ndcg_cuts_the_ideal_too():
    assert value("NDCG@1", [1, 0, 2]) == exactly(1 / 3)
    assert value("NDCG@2", [1, 0, 2]) == exactly((1 / log2(2)) / (3 / log2(2) + 1 / log2(3)))


def test_ndcg_of_a_perfect_order_is_1():
    assert value("NDCG@10", [3, 2, 2, 1, 0]) == 1.0
    assert value("NDCG@2", [3, 2, 2, 1, 0]) == 1.0


def test_ndcg_goes_by_scores_not_by_rows():
    data, _ = ranked([0, 2, 1])
    best = evaluate(data, [0.1, 0.3, 0.2], "NDCG")["NDCG"].mean
    worst = evaluate(data, [0.3, 0.1, 0.2], "NDCG")["NDCG"].mean
    assert best == 1.0
    assert worst == exactly((1 / log2(3) + 3 / log2(4)) / (3 / log2(2) + 1 / log2(3)))


def test_letor_discount_is_1_at_two_places():
    got = value("NDCG(discount='letor')", [0, 2, 1, 1])
    dcg = 3 / 1 + 1 / log2(3) + 1 / log2(4)
    ideal = 3 / 1 + 1 / 1 + 1 / log2(3)
    assert got == exactly(dcg / ideal)


def test_letor_rule_counts_short_lists_0():
    got = per_query("NDCG(rule='letor')@3", [0, 1], [0, 1, 0])
    assert got == exactly([0, 1])


def test_linear_gain():
    expected = (2 / log2(2) + 1 / log2(4)) / (2 / log2(2) + 1 / log2(3))
    assert value("NDCG(gain='linear')", [2, 0, 1]) == exactly(expected)


def test_rank_gain_is_where_the_label_stands():
    # labels 2, 0, 7: ranks 2, 3, 1 of 3, so (3 - rank) / 2
    expected = (1 / 2) / log2(2) + 0 / log2(3) + 1 / log2(4)
    assert value("DCG(gain='rank')", [2, 0, 7]) == exactly(expected)


def test_rank_gain_of_equal_labels_is_shared():
    # labels 1, 1, 0, 0: ranks 1.5, 1.5, 3.5, 3.5 of 4
    top, low = (4 - 1.5) / 3, (4 - 3.5) / 3
    expected = low / log2(2) + top / log2(3) + top / log2(4) + low / log2(5)
    assert value("DCG(gain='rank')", [0, 1, 1, 0]) == exactly(expected)


def test_rank_gain_of_a_single_document_is_1():
    assert value("DCG(gain='rank')", [5]) == exactly(1)
    assert value("DCG(gain='rank-exp2')", [5]) == exactly(2**1 - 1)


def test_rank_exp2_gain():
    expected = (2 ** (1 / 2) - 1) / log2(2) + (2**0 - 1) / log2(3) + (2**1 - 1) / log2(4)
    assert value("DCG(gain='rank-exp2')", [2, 0, 7]) == exactly(expected)


@pytest.mark.parametrize("gain", ["rank", "rank-exp2"])
def test_rank_gains_take_any_label(gain):
    assert value(f"NDCG(gain='{gain}')", [5000, 1024, 0]) == 1.0


def test_fractional_labels_have_fractional_gain():
    assert value("DCG", [0.5, 1.5]) == exactly((2**0.5 - 1) + (2**1.5 - 1) / log2(3))


@pytest.mark.parametrize("metric", ["NDCG", "DCG", "ERR", "NDCG@1"])
def test_labels_above_1023_are_an_error(metric):
    with pytest.raises(GainOverflowError, match="1024"):
        value(metric, [0, 1024])


def test_the_largest_label_still_has_a_gain():
    assert value("DCG@1", [1023, 0]) == 2.0**1023
    assert value("NDCG", [0, 1023]) == exactly(1 / log2(3))


@pytest.mark.parametrize("metric", ["NDCG", "DCG"])
def test_gains_whose_sum_does_not_fit_a_double_are_an_error(metric):
    with pytest.raises(GainOverflowError):
        value(metric, [1023, 1023, 1023])


# ERR


def test_err_is_a_cascade():
    stop = [(2**1 - 1) / 2**2, (2**2 - 1) / 2**2, 0]
    expected = stop[0] / 1 + (1 - stop[0]) * stop[1] / 2
    assert value("ERR", [1, 2, 0]) == exactly(expected)
    assert value("ERR@1", [1, 2, 0]) == exactly(stop[0])


def test_err_scale_is_the_largest_label_of_the_data():
    got = per_query("ERR", [1, 0], [3, 0])
    assert got == exactly([(2**1 - 1) / 2**3, (2**3 - 1) / 2**3])


def test_err_scale_of_each_query():
    got = per_query("ERR(r_max='query')", [1, 0], [3, 0])
    assert got == exactly([(2**1 - 1) / 2**1, (2**3 - 1) / 2**3])


def test_err_scale_as_a_number():
    got = per_query("ERR(r_max=4)", [1, 0], [3, 0])
    assert got == exactly([(2**1 - 1) / 2**4, (2**3 - 1) / 2**4])
    assert per_query("ERR(rule='ranklib')", [1, 0], [3, 0]) == got


def test_err_refuses_labels_above_its_scale():
    with pytest.raises(DataError, match="got 3"):
        value("ERR(r_max=2)", [3, 0])


def test_err_scale_must_be_a_scale():
    with pytest.raises(UsageError, match="r_max"):
        ERR(r_max=-1)
    with pytest.raises(UsageError, match="r_max"):
        ERR(r_max="largest")


# relevant or not


def test_precision_counts_hits_over_k():
    assert value("P@3", [1, 0, 2, 1]) == exactly(2 / 3)
    assert value("P@1", [0, 1]) == 0.0


def test_precision_of_short_lists():
    lists = [1, 1], [1, 0, 1, 0]
    assert per_query("P@4", *lists) == exactly([2 / 4, 2 / 4])
    assert per_query("P(short='length')@4", *lists) == exactly([2 / 2, 2 / 4])
    assert per_query("P(short='zero')@4", *lists) == exactly([0, 2 / 4])
    assert per_query("P(short='length')@1", *lists) == exactly([1, 1])


@pytest.mark.parametrize("metric", ["P", "P(rel=2)", "Hit", "Hit(ties='average')"])
def test_some_metrics_need_a_cutoff(metric):
    with pytest.raises(UsageError, match="cutoff"):
        value(metric, [1, 0])


def test_average_precision():
    assert value("MAP", [0, 1, 0, 1]) == exactly((1 / 2 + 2 / 4) / 2)
    assert value("MAP", [1, 1, 0]) == 1.0


def test_average_precision_divides_by_all_relevant_or_by_those_that_fit():
    assert value("MAP@2", [1, 0, 1, 1]) == exactly((1 / 1) / 3)
    assert value("MAP(norm='cut')@2", [1, 0, 1, 1]) == exactly((1 / 1) / 2)
    assert value("MAP(norm='cut')@3", [1, 1, 0, 0]) == exactly((1 / 1 + 2 / 2) / 2)


def test_reciprocal_rank():
    assert value("MRR", [0, 0, 1, 1]) == exactly(1 / 3)
    assert value("MRR@2", [0, 0, 1, 1]) == 0.0
    assert value("MRR@3", [0, 0, 1, 1]) == exactly(1 / 3)


def test_recall():
    assert value("Recall@2", [1, 0, 1, 1]) == exactly(1 / 3)
    assert value("Recall", [0, 0, 1]) == 1.0


def test_hit():
    assert value("Hit@2", [0, 1, 0]) == 1.0
    assert value("Hit@1", [0, 1, 0]) == 0.0


def test_rank_biased_precision():
    assert value("RBP", [1, 0, 1]) == exactly((1 - 0.8) * (0.8**0 + 0.8**2))
    assert value("RBP(p=0.5)", [1, 0, 1]) == exactly(0.5 * (1 + 0.5**2))
    assert value("RBP(p=0.5)@2", [1, 0, 1]) == exactly(0.5 * 1)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5, float("nan"), "0.5"])
def test_persistence_lies_between_0_and_1(p):
    with pytest.raises(UsageError, match="p between 0 and 1"):
        RBP(p=p)


def test_relevant_means_at_least_rel():
    labels = [1, 2, 0, 3]
    assert value("P(rel=2)@2", labels) == exactly(1 / 2)
    assert value("MAP(rel=2)", labels) == exactly((1 / 2 + 2 / 4) / 2)
    assert value("MRR(rel=3)", labels) == exactly(1 / 4)
    assert value("Recall(rel=2)@2", labels) == exactly(1 / 2)
    assert value("Hit(rel=2)@1", labels) == 0.0
    assert value("RBP(rel=3, p=0.5)", labels) == exactly(0.5 * 0.5**3)
    assert value("P(rel=0.5)@2", [0.5, 0.4]) == exactly(1 / 2)


@pytest.mark.parametrize("rel", [0, -1, float("nan"), True, "1"])
def test_rel_is_above_0(rel):
    with pytest.raises(UsageError, match="rel"):
        P(rel=rel, k=5)


# top-k truth


def test_a_perfect_top_10_has_almost_full_kerr():
    truth = position_labels(range(1, 13), k=10)
    expected, reading = 0.0, 1.0
    for place in range(1, 11):
        stop = (2 ** (11 - place) - 1) / 2**10
        expected += reading * stop / place
        reading *= 1 - stop
    assert value("kERR", truth, topk=10) == exactly(expected)
    assert round(expected, 4) == 0.9993


def test_rank_1_holds_65_percent_and_three_ranks_94_percent_of_the_ideal():
    gains = [(2 ** (11 - p) - 1) / log2(1 + p) for p in range(1, 11)]
    truth = position_labels(range(1, 13), k=10)
    assert value("kNDCG", truth, topk=10) == 1.0
    assert value("DCG@1", truth) / value("DCG@10", truth) == exactly(gains[0] / sum(gains))
    assert value("DCG@3", truth) / value("DCG@10", truth) == exactly(sum(gains[:3]) / sum(gains))
    assert round(gains[0] / sum(gains), 2) == 0.65
    assert round(sum(gains[:3]) / sum(gains), 2) == 0.94


def test_kndcg_of_swapped_places():
    # truth positions 2, 1 and an outsider: y = 1, 2, 0
    expected = (1 / log2(2) + 3 / log2(3)) / (3 / log2(2) + 1 / log2(3))
    assert value("kNDCG@2", [1, 2, 0], topk=2) == exactly(expected)


def test_kerr_scale_is_the_query_s_own():
    # two documents only: their top-3 truth has labels 3 and 2
    expected = (3 / 8) / 1 + (1 - 3 / 8) * (7 / 8) / 2
    assert per_query("kERR", [2, 3], [1, 0], topk=3) == exactly([expected, 1 / 2])


@pytest.mark.parametrize("metric", ["kNDCG@10", "kERR@10"])
def test_topk_metrics_need_topk_truth(metric):
    with pytest.raises(MissingTruthError, match=r"kNDCG|kERR"):
        value(metric, [2, 1, 0])


def test_drawn_truth_suits_topk_metrics():
    data, scores = ranked([2, 1, 0, 0], docid=list("abcd"))
    truth = draw_truth(data, k=2)
    assert evaluate(truth, scores, "kNDCG@2")["kNDCG@2"].mean == 1.0


# pairs


def test_tau_without_ties():
    # scores 4 3 2 1 against labels 3 1 2 0: one of 6 pairs is the wrong way round
    assert value("Tau", [3, 1, 2, 0]) == exactly((5 - 1) / 6)
    assert value("Tau", [0, 1, 2, 3]) == exactly(-1)


def test_tau_with_ties_on_both_sides():
    data, _ = ranked([1, 1, 0])
    got = evaluate(data, [2, 1, 1], "Tau")["Tau"].mean
    # of 3 pairs: (0, 2) agrees, (0, 1) is tied by label, (1, 2) by score
    assert got == exactly((1 - 0) / sqrt(2 * 2))


def test_tau_of_equal_scores_is_0():
    data, _ = ranked([1, 0, 2])
    assert evaluate(data, [5, 5, 5], "Tau")["Tau"].per_query.tolist() == [0.0]


def test_tau_at_k_ties_what_lies_below():
    # top 2 by score: labels 3, 1; the two largest labels: 3 and 2. Scores become 4 3 - -,
    # labels 3 - 2 -. Of 6 pairs: 3 agree (first with each), (2nd, 3rd) disagrees,
    # (2nd, 4th) is tied by label, (3rd, 4th) by score.
    assert value("Tau@2", [3, 1, 2, 0]) == exactly((3 - 1) / sqrt(5 * 5))


def test_tau_at_k_beyond_the_list_is_tau():
    assert value("Tau@9", [3, 1, 2, 0]) == value("Tau", [3, 1, 2, 0])


def test_tau_at_1_asks_for_the_best_alone():
    assert value("Tau@1", [2, 0, 1]) == exactly(1)
    # the best document stands last: the pair with the first is wrong, the other is tied by score,
    # and so is the first with the second by label
    assert value("Tau@1", [0, 1, 2]) == exactly(-1 / sqrt(2 * 2))


def test_pair_accuracy_counts_ties_half():
    data, _ = ranked([2, 1, 0, 0])
    got = evaluate(data, [3, 1, 1, 2], "PairAccuracy")["PairAccuracy"].mean
    # right: (0,1) (0,2) (0,3); tied: (1,2); wrong: (1,3); equal labels: (2,3)
    assert got == exactly((3 + 1 / 2) / 5)


def test_pair_accuracy_has_no_cutoff():
    with pytest.raises(UsageError, match="takes no cutoff"):
        value("PairAccuracy@5", [1, 0])


# queries without an answer, weights


EMPTY_AWARE = [
    "NDCG", "NDCG@2", "ERR", "P@2", "MAP", "MAP@2", "MRR", "Recall@2", "Hit@1", "RBP@2", "Tau",
    "Tau@2", "PairAccuracy",
]  # fmt: skip


@pytest.mark.parametrize("name", EMPTY_AWARE)
@pytest.mark.parametrize("empty", [0, 1, "skip"])
def test_queries_without_answer(name, empty):
    head, _, cutoff = name.partition("@")
    metric = f"{head}(empty={empty!r})" + (f"@{cutoff}" if cutoff else "")
    answered = per_query(name, [0, 1, 0])[0]
    got = per_query(metric, [0, 0, 0], [0, 1, 0])
    if empty == "skip":
        assert math.isnan(got[0])
        assert mean(metric, [0, 0, 0], [0, 1, 0]) == exactly(answered)
    else:
        assert got[0] == empty
        assert mean(metric, [0, 0, 0], [0, 1, 0]) == exactly((empty + answered) / 2)
    assert got[1] == answered


@pytest.mark.parametrize("name", EMPTY_AWARE)
def test_queries_without_answer_count_0_unless_told(name):
    assert per_query(name, [0, 0, 0], [1, 0, 0])[0] == 0.0


@pytest.mark.parametrize("empty", [0, 1, "skip"])
@pytest.mark.parametrize("metric", ["kNDCG", "kERR"])
def test_topk_truth_without_answer(metric, empty):
    got = per_query(f"{metric}(empty={empty!r})", [0, 0], [2, 1], topk=2)
    assert got[0] == exactly(math.nan if empty == "skip" else empty)
    assert got[1] > 0.5


def test_empty_depends_on_the_threshold():
    assert math.isnan(value("P(rel=2, empty='skip')@1", [1, 1]))
    assert value("P(rel=1, empty='skip')@1", [1, 1]) == 1.0


def test_all_equal_labels_leave_nothing_to_order():
    assert math.isnan(value("Tau(empty='skip')", [1, 1, 1]))
    assert math.isnan(value("PairAccuracy(empty='skip')", [1, 1, 1]))
    assert value("NDCG(empty='skip')", [1, 1, 1]) == 1.0


def test_mean_of_skipped_queries_alone_is_nan():
    assert math.isnan(mean("NDCG(empty='skip')", [0, 0], [0]))


def test_query_weights_weigh_the_mean():
    lists = [1, 0], [0, 1], [0, 0]
    weight = [1.0, 3.0, 4.0]
    assert mean("P@1", *lists, query_weight=weight) == exactly((1 * 1 + 3 * 0) / (1 + 3 + 4))
    assert mean("MRR", *lists, query_weight=weight) == exactly((1 * 1 + 3 * 0.5) / (1 + 3 + 4))
    skip = mean("MRR(empty='skip')", *lists, query_weight=weight)
    assert skip == exactly((1 * 1 + 3 * 0.5) / (1 + 3))


def test_mean_over_queries_leaves_out_nan():
    assert mean_over_queries(np.array([0.5, np.nan, 1.0])) == exactly((0.5 + 1) / 2)
    weighted = mean_over_queries(np.array([0.5, np.nan, 1.0]), np.array([3.0, 5.0, 1.0]))
    assert weighted == exactly((3 * 0.5 + 1) / 4)
    assert math.isnan(mean_over_queries(np.array([0.5]), np.array([0.0])))


# ties


def test_equal_scores_keep_the_order_of_the_rows():
    data, _ = ranked([0, 1, 0, 2])
    got = evaluate(data, [1, 1, 1, 1], ["MRR", "DCG"])
    assert got["MRR"].mean == exactly(1 / 2)
    assert got["DCG"].mean == exactly(1 / log2(3) + 3 / log2(5))


def test_minus_zero_and_zero_are_tied():
    data, _ = ranked([0, 1])
    got = evaluate(data, [-0.0, 0.0], ["MRR", "MRR(ties='average')"])
    assert got["MRR"].mean == exactly(1 / 2)
    assert got["MRR(ties='average')"].mean == exactly((1 + 1 / 2) / 2)


def test_worst_ties_put_the_relevant_last():
    data, _ = ranked([2, 0, 1, 0])
    got = evaluate(data, [5, 5, 5, 1], ["MRR(ties='worst')", "DCG(ties='worst')"])
    assert got["MRR(ties='worst')"].mean == exactly(1 / 2)
    assert got["DCG(ties='worst')"].mean == exactly(1 / log2(3) + 3 / log2(4))


def test_average_ties_are_expectations():
    data, _ = ranked([1, 0, 0])
    wanted = ["MRR(ties='average')", "P(ties='average')@1", "DCG(ties='average')@2", "MAP"]
    got = evaluate(data, [1, 1, 1], wanted)
    assert got[wanted[0]].mean == exactly((1 + 1 / 2 + 1 / 3) / 3)
    assert got[wanted[1]].mean == exactly(1 / 3)
    assert got[wanted[2]].mean == exactly((1 + 1 / log2(3)) / 3)
    assert got["MAP"].mean == 1.0


def test_trec_ties_go_by_document_id_descending():
    data, _ = ranked([0, 1, 0], docid=["d1", "d3", "d2"])
    assert evaluate(data, [1, 1, 1], "MRR(ties='trec')")["MRR(ties='trec')"].mean == 1.0
    data, _ = ranked([0, 1, 0], docid=["d2", "d1", "d3"])
    got = evaluate(data, [1, 1, 1], "MRR(ties='trec')")["MRR(ties='trec')"].mean
    assert got == exactly(1 / 3)


def test_trec_scores_are_single_precision():
    data, _ = ranked([1, 0], docid=["a", "b"])
    scores = [1 + 1e-12, 1.0]
    assert evaluate(data, scores, "MRR")["MRR"].mean == 1.0
    got = evaluate(data, scores, "MRR(ties='trec')")["MRR(ties='trec')"].mean
    assert got == exactly(1 / 2)


def test_trec_ties_need_document_ids():
    with pytest.raises(MissingDocidsError, match="document id"):
        value("NDCG(rule='trec')", [1, 0])


# what evaluate refuses, and infinite scores it takes


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        ([1.0, math.nan, 0.0], NonFiniteError),
        ([1.0, 2.0], LengthMismatchError),
        ([1.0, 2.0, 3.0, 4.0], LengthMismatchError),
        ([[1.0], [2.0], [3.0]], DataError),
        (np.zeros((3, 2)), DataError),
        (1.0, LengthMismatchError),
    ],
)
def test_scores_that_are_not_one_number_a_document(scores, error):
    data, _ = ranked([2, 1, 0])
    with pytest.raises(error, match="expected"):
        evaluate(data, scores, "NDCG@10")


def test_a_nan_score_is_named_with_its_row_and_query():
    data, _ = ranked([1, 0], [1, 0])
    with pytest.raises(NonFiniteError, match=r"row 3 \(query '1'\)"):
        evaluate(data, [1, 2, 3, math.nan], "NDCG")


def test_infinite_scores_rank_first_and_last():
    data, _ = ranked([0, 2, 1])
    assert evaluate(data, [-math.inf, math.inf, 0], "NDCG")["NDCG"].mean == 1.0


def test_at_least_one_metric():
    data, scores = ranked([1, 0])
    with pytest.raises(UsageError, match="there is no metric; expected at least one"):
        evaluate(data, scores, [])


def test_data_goes_with_scores_and_qrels_with_a_run():
    data, scores = ranked([1, 0], docid=["a", "b"])
    with pytest.raises(UsageError, match="qrels need a Run as scores"):
        evaluate(Qrels.from_data(data), scores, "NDCG")
    with pytest.raises(UsageError, match="a Run needs Qrels as data"):
        evaluate(data, Run.from_scores(data, scores), "NDCG")


@pytest.mark.parametrize("k", [0, -1, 2.0, "2"])
def test_cutoffs_are_whole_and_positive(k):
    with pytest.raises(UsageError, match="cutoff of 1 or more"):
        Hit() @ k


# runs and qrels


@pytest.mark.parametrize("scores", [[1.0, math.nan], [[1.0], [2.0]], [1.0]])
def test_a_run_is_made_of_one_number_a_document(scores):
    data, _ = ranked([1, 0], docid=["a", "b"])
    with pytest.raises(DataError, match="expected"):
        evaluate(Qrels.from_data(data), Run.from_scores(data, scores), "NDCG")


def test_negative_labels_are_not_relevant():
    qrels = judged([("q", "a", -2), ("q", "b", 1), ("q", "c", 0)], Qrels)
    run = judged([("q", "a", 3), ("q", "b", 2), ("q", "c", 1)], Run)
    got = evaluate(qrels, run, ["P@1", "MRR", "NDCG", "ERR", "Tau(empty='skip')"])
    assert got["P@1"].mean == 0.0
    assert got["MRR"].mean == exactly(1 / 2)
    assert got["NDCG"].mean == exactly(1 / log2(3))
    assert got["ERR"].mean == exactly((1 / 2) / 2)
    # label -2 counts as 0, so (a, c) is tied by label; (a, b) is wrong, (b, c) right
    assert got["Tau(empty='skip')"].mean == exactly(0)


def test_a_query_of_negative_labels_is_empty():
    qrels = judged([("q", "a", -1), ("r", "a", 1)], Qrels)
    run = judged([("q", "a", 1), ("r", "a", 1)], Run)
    got = evaluate(qrels, run, "NDCG(empty='skip')")["NDCG(empty='skip')"].per_query
    assert got.tolist() == exactly([math.nan, 1])


def test_documents_not_retrieved_count_for_recall_and_the_ideal():
    qrels = judged([("q", "a", 1), ("q", "b", 2), ("q", "c", 1)], Qrels)
    run = judged([("q", "x", 3), ("q", "a", 2)], Run)
    got = evaluate(qrels, run, ["Recall", "MAP", "NDCG", "P@2", "P(short='length')@5"])
    assert got["Recall"].mean == exactly(1 / 3)
    assert got["MAP"].mean == exactly((1 / 2) / 3)
    ideal = 3 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert got["NDCG"].mean == exactly((1 / log2(3)) / ideal)
    assert got["P@2"].mean == exactly(1 / 2)
    assert got["P(short='length')@5"].mean == exactly(1 / 2)
    assert evaluate(qrels, run, "P(short='zero')@2")["P(short='zero')@2"].mean == exactly(1 / 2)
    assert evaluate(qrels, run, "P(short='zero')@3")["P(short='zero')@3"].mean == 0.0


def test_a_query_missing_from_the_run_counts_0():
    qrels = judged([("q", "a", 1), ("r", "a", 1)], Qrels)
    run = judged([("r", "a", 1), ("s", "a", 1)], Run)
    got = evaluate(qrels, run, ["NDCG", "MRR", "P(short='length')@3"])
    assert got.qids.tolist() == ["q", "r"]
    for name in got:
        assert got[name].per_query.tolist() == [0.0, 1.0]
        assert got[name].mean == exactly(1 / 2)


def test_a_run_without_any_judged_query_is_an_error():
    qrels = judged([("q", "a", 1)], Qrels)
    run = judged([("Q", "a", 1)], Run)
    with pytest.raises(DataError, match="no query in common"):
        evaluate(qrels, run, "NDCG")


def test_a_subclass_has_an_ideal_of_its_own():
    class HalfNDCG(NDCG):
        def ideal(self, lists):
            return 2 * super().ideal(lists)

    data = RankingData.from_arrays(np.zeros((3, 1)), [0, 2, 1], qid=[1, 1, 1])
    lists = RankedLists.of_scores(data, [3.0, 2.0, 1.0])
    whole, half = NDCG(k=2).values(lists), HalfNDCG(k=2).values(lists)
    assert half.tolist() == [whole[0] / 2]
    assert whole[0] > 0
