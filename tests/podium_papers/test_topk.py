"""The top-k paper's tables and curves: the printed values, the protocol, tests, claims, the page."""

import json
import re
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from podium.data import Fold, RankingData, draw_truth, kfold, make_synthetic
from podium.errors import DataError, UnknownNameError, UsageError
from podium.experiments.checkpoints import RunProgress
from podium.metrics import correct, evaluate, paired_test
from podium.rankers import tune
from podium_papers.comparisons import RankerScores
from podium_papers.topk import page as topk_page
from podium_papers.topk.claims import (
    AHEAD_OF_PARENTS_CLAIM,
    AHEAD_OF_RIVAL_CLAIM,
    BEST_CLAIM,
    BETTER_CLAIM,
    CLAIMS,
    COMPARABLE_CLAIM,
    PARENTS,
    RISING_CURVE_CLAIM,
    RIVAL_CLAIM,
    RIVALS,
    STABLE_CURVE_CLAIM,
    BetaCurve,
    TopkReproduction,
    case_claims,
    make_case,
    printed_ahead,
    printed_share,
)
from podium_papers.topk.data_sets import listed_folds
from podium_papers.topk.experiments import reproduce
from podium_papers.topk.printed_tables import (
    FAMILIES,
    MEASURES,
    NAMES,
    is_papers_own,
    printed_tables,
    printed_value,
)
from podium_papers.topk.rankers import (
    BETAS,
    CHOICE_METRIC,
    CURVE_MEASURES,
    QUICK_BETAS,
    contestants,
    run_fold,
)
from podium_papers.total_orders import consensus_folds

GENERATED = make_synthetic(n_queries=15, n_docs=14, n_features=4, noise=0.5, seed=0)
FOLDS = kfold(GENERATED, 3)
FINER = [
    Fold(*(part.with_labels(part.y + 0.1 * (part.X[:, 0] > 0)) for part in fold)) for fold in FOLDS
]
PAPER_TRUTHS = {"one": {"finer": FINER, "random": None}}
STEPS: list[RunProgress] = []


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    STEPS.clear()
    return reproduce(
        {"one": FOLDS}, truths=PAPER_TRUTHS, draws=2, quick=True, callback=STEPS.append,
        keep=tmp_path_factory.getbasetemp() / "topk-kept",
    )  # fmt: skip


def made_up(truth="random", data="made up", grades=3, curves=(), **values):
    """A case in which every ranker has one value a query, the same under all measures."""
    measures = MEASURES["graded" if truth == "graded" else "top-k"]
    outcomes = [
        RankerScores(data, truth, ranker, dict.fromkeys(measures, tuple(own)), {}, {})
        for ranker in NAMES
        for own in [values.get(ranker.replace("-", "_"), [0.5] * 16)]
    ]
    return make_case(truth, 0 if truth == "graded" else 10, grades, outcomes, curves)


HIGH, LOW = [0.9 + i / 1000 for i in range(16)], [0.1 + i / 1000 for i in range(16)]


def told(case):
    return {claim.text: claim for claim in case_claims(case)}


# --- the printed tables ---


def test_both_tables_have_ten_rankers_under_eleven_measures_twice():
    assert list(printed_tables()) == [
        (d, k) for d in ("MQ2007", "TD2003") for k in ("graded", "top-k")
    ]
    for table in printed_tables().values():
        assert list(table) == list(NAMES)
        assert {len(values) for values in table.values()} == {11}
    values = [v for table in printed_tables().values() for row in table.values() for v in row]
    assert len(values) == 440
    assert all(v == round(v, 4) and 0.2 < v < 0.7 for v in values)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (("MQ2007", "graded", "svm-map", "NDCG@1"), 0.4006),
        (("MQ2007", "graded", "topk-listmle", "ERR(r_max='query')"), 0.3168),
        (("MQ2007", "top-k", "adarank", "kNDCG@10"), 0.6190),
        (("TD2003", "graded", "focused-boost", "NDCG@1"), 0.5486),
        (("TD2003", "graded", "focused-net", "ERR(r_max='query')"), 0.5660),
        (("TD2003", "top-k", "focused-boost", "kNDCG@10"), 0.3980),
        (("TD2003", "top-k", "topk-listmle", "kERR"), 0.4028),
    ],
)
def test_values_are_as_printed(cell, value):
    assert printed_value(*cell) == value


def test_printed_values_give_the_improvements_that_the_text_speaks_of():
    def gain(other, measure):
        own, less = (printed_value("MQ2007", "top-k", r, measure) for r in ("focused-boost", other))
        return round(100 * (own / less - 1), 2)

    assert [gain("adarank", "kNDCG@10"), gain("rankboost", "kNDCG@10")] == [7.08, 0.87]
    assert [gain("adarank", "kERR"), gain("rankboost", "kERR")] == [9.76, 0.91]


def test_focused_rankers_are_counted_against_their_parents_as_printed():
    # Of Table 4's lower half only FocusedSVM at 1 (.4539) is below a parent (RankSVM, .4545).
    assert printed_ahead("MQ2007", "top-k") == "65 of 66"
    # FocusedNet is ahead of top-k ListMLE everywhere, FocusedBoost nowhere, FocusedSVM but for 1.
    assert printed_ahead("MQ2007", "top-k", RIVALS) == "21 of 33"
    assert printed_ahead("MQ2007", "top-k", RIVALS[2:]) == "11 of 11"


def test_only_the_papers_own_data_has_a_difference():
    assert is_papers_own("MQ2007", "graded", 0, 3)
    assert is_papers_own("TD2003", "judged", 10, 5)
    others = [
        ("MQ2008", "graded", 0, 3), ("MQ2008", "list", 10, 3), ("MQ2007", "list", 5, 3),
        ("MQ2007", "random", 10, 3), ("TD2003", "graded", 0, 2), ("OHSUMED", "judged", 10, 5),
    ]  # fmt: skip
    assert not any(is_papers_own(*other) for other in others)


def test_differences_are_ours_less_the_printed():
    case = made_up("list", "MQ2007", ranksvm=[0.6, 0.8] * 8)
    assert case.is_papers_own
    assert case.difference("ranksvm", "kNDCG@10") == pytest.approx(0.7 - 0.6655)
    assert case.difference("focused-net", "kERR") == pytest.approx(0.5 - 0.6336)
    assert made_up("random", "MQ2007").difference("ranksvm", "kNDCG@10") is None
    assert made_up("graded", "MQ2008").difference("ranksvm", "NDCG@10") is None
    graded = made_up("graded", "MQ2007").difference("ranksvm", "NDCG@1")
    assert graded == pytest.approx(0.5 - 0.4118)


# --- tests and claims ---


def test_tests_are_paired_and_corrected_for_all_points_of_a_case():
    rng = np.random.default_rng(0)
    values = {name.replace("-", "_"): rng.random(16) for name in NAMES}
    case = made_up(**values)
    cases = [(m, a, b) for m in MEASURES["top-k"] for a, b in PARENTS]
    p = [
        paired_test(values[a.replace("-", "_")], values[b.replace("-", "_")], "t").p_value
        for _, a, b in cases
    ]
    assert len(cases) == 66
    first = case.tests[:66]
    assert [(c.measure, c.ranker, c.other) for c in first] == cases
    assert [c.p_value for c in first] == p
    assert [c.adjusted for c in first] == correct(p, "holm")
    assert [c.other for c in case.tests[66:]] == ["topk-listmle"] * 33


def test_better_at_every_point_is_better():
    focused = {name.replace("-", "_"): HIGH for name in FAMILIES}
    claims = told(made_up(**focused))
    assert claims[BETTER_CLAIM].holds
    assert claims[BETTER_CLAIM].numbers == "66 of 66 (+66, -0)"
    assert claims[AHEAD_OF_PARENTS_CLAIM].holds
    assert claims[BEST_CLAIM].holds
    assert claims[BEST_CLAIM].numbers == "11 of 11 measures"
    assert claims[RIVAL_CLAIM].numbers == "33 of 33 (+33, -0)"
    assert claims[AHEAD_OF_RIVAL_CLAIM].holds
    assert COMPARABLE_CLAIM not in claims


def test_one_parent_that_is_as_good_is_enough_against_better():
    focused = {name.replace("-", "_"): HIGH for name in FAMILIES}
    claims = told(made_up(**focused, ranknet=HIGH))
    assert not claims[BETTER_CLAIM].holds
    assert claims[BETTER_CLAIM].numbers == "55 of 66 (+55, -0)"  # 5 of 6 pairs, 11 measures
    assert not claims[AHEAD_OF_PARENTS_CLAIM].holds  # 55 < 60, the count of the paper's Table 5
    assert claims[AHEAD_OF_PARENTS_CLAIM].numbers == "55 of 66"
    assert not claims[BEST_CLAIM].holds  # RankNet shares the first place


def test_comparable_is_nowhere_significantly_below():
    claims = told(made_up("graded", focused_svm=LOW, listnet=HIGH))
    assert not claims[COMPARABLE_CLAIM].holds
    # FocusedSVM is behind both parents, FocusedNet behind ListNet, FocusedBoost equal to its own.
    assert claims[COMPARABLE_CLAIM].numbers == "0 of 66 (+0, -33)"
    assert claims[RIVAL_CLAIM].numbers == "0 of 33 (+0, -11)"
    assert told(made_up("graded"))[COMPARABLE_CLAIM].holds
    assert not {BETTER_CLAIM, AHEAD_OF_PARENTS_CLAIM, BEST_CLAIM, AHEAD_OF_RIVAL_CLAIM} & set(
        claims
    )


def test_curves_rise_and_fall_between_their_ends():
    betas = (0.0, 0.5, 1.0)
    up = BetaCurve("focused-net", "kERR", betas, (0.5, 0.52, 0.51))
    flat = BetaCurve("focused-svm", "kERR", betas, (0.5, 0.5 + 1e-12, 0.5))
    falling = BetaCurve("focused-boost", "kNDCG@5", betas, (0.54, 0.5, 0.46))
    assert [c.peaks_inside for c in (up, flat, falling)] == [True, False, False]
    assert up.variation == pytest.approx(0.02 / 0.51)
    one = told(made_up(curves=[up]))
    assert one[RISING_CURVE_CLAIM].holds
    assert one[STABLE_CURVE_CLAIM].holds
    both = told(made_up(curves=[up, falling]))
    assert both[RISING_CURVE_CLAIM].numbers == "1 of 2 curves"
    assert not both[RISING_CURVE_CLAIM].holds
    assert both[STABLE_CURVE_CLAIM].numbers == "16.0% (FocusedBoost, κ-N@5)"  # .08 / .5
    assert not both[STABLE_CURVE_CLAIM].holds


# --- the protocol ---


def test_every_case_has_its_rankers_measures_and_folds(found):
    titles = [case.title for case in found.cases]
    assert titles == ["graded labels", "finer truth, k = 10", "random truth, k = 10"]
    for case in found.cases:
        assert [(s.ranker, s.measure) for s in case.scores] == [
            (r, m) for r in NAMES for m in MEASURES[case.kind]
        ]
        assert case.queries == 15
        assert case.grades == len(np.unique(GENERATED.y))
        assert all(0 < s.mean <= 1 for s in case.scores)
        assert [(c.ranker, c.measure) for c in case.curves] == [
            (r, m) for r in FAMILIES for m in CURVE_MEASURES[case.kind]
        ]
        assert {c.betas for c in case.curves} == {QUICK_BETAS}
        folds = 6 if case.truth == "random" else 3
        assert {len(c.settings) for c in case.chosen} == {folds}


def test_progress_is_told_fold_by_fold(found):
    assert [(s.done, s.total) for s in STEPS] == [(i, 12) for i in range(1, 13)]
    assert {s.what for s in STEPS} >= {
        "one, graded, fold 1", "one, finer truth, k = 10, fold 3",
        "one, random truth, k = 10, draw 2, fold 1",
    }  # fmt: skip


def test_means_are_those_of_rankers_tuned_alone(found):
    values = []
    for fold in FOLDS:
        drawn = Fold(*(draw_truth(part, 10, 0) for part in FINER[FOLDS.index(fold)]))
        contestant = contestants("top-k", 10, quick=True)["focused-net"]
        best = tune(contestant.ranker, drawn.train, drawn.valid, "kNDCG@10", contestant.grid).ranker
        values += evaluate(drawn.test, best.predict(drawn.test), "kERR")["kERR"].per_query.tolist()
    assert found.case("one", "finer").mean("focused-net", "kERR") == pytest.approx(np.mean(values))


def test_a_query_counts_once_however_often_its_truth_is_drawn(found):
    single = [reproduce({"one": FOLDS}, draws=1, quick=True, seed=seed) for seed in (0, 1)]
    # The rankers' own seed does not enter in RankSVM.
    means = [one.case("one", "random").mean("ranksvm", "kERR") for one in single]
    case = found.case("one", "random")
    assert case.mean("ranksvm", "kERR") == pytest.approx(np.mean(means))
    assert means[0] != means[1]
    test = case.comparisons_of("focused-net", "ranknet")[0]
    assert test.wins + test.ties + test.losses == 15


def test_curves_have_every_beta_and_the_chosen_one_is_of_validation():
    fold, kind = FOLDS[0], "graded"
    rankers = contestants(kind, 10, quick=True)
    tested = {t.ranker: t for t in run_fold(fold, kind, rankers)}
    net = tested["focused-net"]
    ranker = rankers["focused-net"].ranker
    along = [
        tune(ranker, fold.train, fold.valid, CHOICE_METRIC[kind], {"beta": [b]})
        for b in QUICK_BETAS
    ]
    best = max(along, key=lambda tuning: tuning.value)
    assert net.settings == f"beta={best.settings['beta']}"
    measured = [
        evaluate(fold.test, t.ranker.predict(fold.test), "NDCG@5")["NDCG@5"].mean for t in along
    ]
    assert net.curves["NDCG@5"] == pytest.approx(measured)
    assert tested["ranksvm"].curves == {}


def test_nothing_is_chosen_by_the_test_labels():
    fold = FOLDS[0]
    turned = replace(fold.test, y=np.random.default_rng(1).permutation(fold.test.y))
    rankers = contestants("graded", 10, quick=True)
    seen = run_fold(fold, "graded", rankers)
    other = run_fold(Fold(fold.train, fold.valid, turned), "graded", rankers)
    assert [t.settings for t in seen] == [t.settings for t in other]
    assert all(a.values != b.values for a, b in zip(seen, other, strict=True))


def test_grids_are_the_papers_where_it_names_them():
    graded, top = contestants("graded", 10), contestants("top-k", 5)
    assert list(graded) == list(NAMES)
    assert all(graded[name].grid["beta"] == BETAS for name in FAMILIES)
    assert np.diff(BETAS) == pytest.approx([0.05] * 20)
    assert list(graded["ranksvm"].grid) == list(graded["svm-map"].grid) == ["C"]
    assert [top[name].ranker.k for name in (*FAMILIES, "topk-listmle")] == [5] * 4
    assert top["adarank"].grid == {"measure": ("MAP", "NDCG@10")}
    assert not top["adarank"].ranker.reverse


def test_the_number_of_processes_does_not_matter(found):
    again = reproduce({"one": FOLDS}, truths=PAPER_TRUTHS, draws=2, quick=True, n_jobs=2)
    assert again == found


def test_a_run_that_was_ended_goes_on(found, tmp_path_factory, tmp_path):
    kept = tmp_path_factory.getbasetemp() / "topk-kept"
    files = sorted(kept.iterdir())
    assert len(files) == 12
    for file in files:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / files[0].name).unlink()
    (tmp_path / files[1].name).write_text(files[1].read_text()[:50])  # cut short
    steps = []
    options = {"truths": PAPER_TRUTHS, "draws": 2, "quick": True, "keep": tmp_path}
    assert reproduce({"one": FOLDS}, **options, callback=steps.append) == found
    assert [(s.done, s.total) for s in steps] == [(11, 12), (12, 12)]
    # Of other data nothing is taken.
    other = [Fold(*(part.with_labels(part.y[::-1]) for part in fold)) for fold in FOLDS]
    steps.clear()
    reproduce({"one": other}, quick=True, keep=tmp_path, callback=steps.append)
    assert len(steps) == 6


def test_what_is_asked_for_must_be_there():
    with pytest.raises(UsageError, match="at least one data set"):
        reproduce({})
    with pytest.raises(UnknownNameError, match="two"):
        reproduce({"one": FOLDS}, truths={"two": {"random": None}})
    with pytest.raises(UsageError, match="3 folds of finer truth of one, got 2"):
        reproduce({"one": FOLDS}, truths={"one": {"finer": FINER[:2]}})
    with pytest.raises(UsageError, match="1 or more"):
        reproduce({"one": FOLDS}, draws=0)


# --- where the truth is from ---


def part(labels, docs, qid="q", X=None):
    n = len(labels)
    X = np.eye(n) if X is None else X
    return RankingData.from_arrays(X, labels, qid=[qid] * n, docid=list(docs))


def test_a_consensus_breaks_ties_within_grades():
    graded = part([0, 1, 1, 0], "abcd")
    ranks = part([0] * 4, "dcab", X=[[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 4.0]])
    [fold] = consensus_folds([Fold(graded, graded, graded)], ranks)
    for own in fold:
        assert draw_truth(own, 3).y.tolist() == [0, 2, 3, 1]


def test_lists_are_joined_on_the_documents_both_have():
    graded = Fold(part([2, 0, 1], "abc", "p"), part([1, 0], "ab", "q"), part([0, 1], "ab", "r"))
    lists = Fold(  # other parts, other rows, a document more and one less
        part([5, 900, 7], "cax", "p"), part([1, 2], "ba", "r"), part([3, 4], "ab", "q")
    )
    found = listed_folds([graded], [lists])
    train, valid, test = found.graded[0]
    assert (train.y.tolist(), train.docids.tolist()) == ([2, 1], ["a", "c"])
    assert found.orders[0].train.y.tolist() == [900, 5]
    assert train.X.tolist() == found.orders[0].train.X.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (valid.y.tolist(), found.orders[0].valid.y.tolist()) == ([1, 0], [3, 4])
    assert (test.qids.tolist(), found.orders[0].test.y.tolist()) == (["r"], [2, 1])
    with pytest.raises(DataError, match="same queries"):
        listed_folds([graded], [Fold(*[part([1], "z", "other")] * 3)])


# --- the page ---


def test_json_keeps_everything(found):
    assert msgspec.convert(json.loads(json.dumps(asdict(found))), TopkReproduction) == found


def test_a_case_that_is_not_there_is_named(found):
    with pytest.raises(UsageError, match="one, finer truth, k = 10"):
        found.case("one", "finer", 5)


def test_the_papers_own_tables_pass_the_count_that_is_the_papers():
    """Claim 2 asks for every point, which neither printed table has; claim 3 holds on both."""
    for data, ahead in (("MQ2007", 65), ("TD2003", 60)):
        assert printed_ahead(data, "top-k") == f"{ahead} of 66"
        assert 60 / 66 == printed_share("top-k") <= ahead / 66 < 1


def test_the_page_has_the_tables_the_claims_and_the_printed_values(found):
    lines = topk_page.sections(found)
    text = "\n".join(lines)
    for case in found.cases:
        rows = [line for line in lines if line.startswith("| FocusedNet |")]
        cells = " | ".join(f"{case.mean('focused-net', m):.4f}" for m in MEASURES[case.kind])
        assert f"| FocusedNet | {cells} |" in rows
    assert "| Table 4: MQ2007, top-k truth | κ-N@1 |" in text
    assert "| 0.4623 | 0.5108 | 0.5460 |" in text  # FocusedNet, as printed
    assert "65 of 66 on MQ2007" in text
    for claim in found.claims():
        assert f"{claim.numbers}" in text
    assert [line[:2] for line in lines if re.match(r"\d\. ", line)] == [
        f"{i}." for i in range(1, len(CLAIMS) + 1)
    ]
    assert not re.search(r"\(0\.\d{4}, [+-]0\.\d{4}\)", text)  # no difference: not the paper's data


def test_the_page_has_differences_of_the_papers_own_data():
    curves = [
        BetaCurve(r, m, QUICK_BETAS, (0.5,) * 5) for r in FAMILIES for m in CURVE_MEASURES["top-k"]
    ]  # fmt: skip
    case = made_up("list", "MQ2007", ranksvm=[0.6, 0.8] * 8, curves=curves)
    smaller_k = replace(case, truth="list", k=5)
    lines = topk_page.sections(TopkReproduction(False, 0, 1, (case, smaller_k)))
    [row] = [line for line in lines if line.startswith("| RankSVM | 0.7000 (")]
    assert row.split(" | ")[10] == "0.7000 (0.6655, +0.0345)"  # .7 - .6655
    assert "| κ-N@10 | MQ2007, list, k = 5 |" in lines
    assert "In brackets: as Table 4 prints it, and ours less that." in lines
    quick = topk_page.sections(TopkReproduction(True, 0, 1, (case, smaller_k)))
    assert not any(line.startswith(("In brackets", "| RankSVM | 0.7000 (")) for line in quick)


def test_figures_are_the_same_bytes_each_time(found, tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        topk_page.draw(found, tmp_path / name)
    first, second = ((tmp_path / name / "topk-beta-1.svg") for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    text = first.read_text()
    assert "FocusedBoost, random truth, k = 10" in text
    assert [p.name for p in (tmp_path / "first").iterdir()] == ["topk-beta-1.svg"]
