"""The RPC-MTL paper's experiments: total orders, choices by validation, parts left out, claims."""

import json
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from podium.data import Fold, RankingData, make_opposed, rotate, split, write_letor
from podium.errors import DataError, UnknownNameError, UsageError
from podium.experiments import save_figure
from podium.experiments.checkpoints import RunProgress
from podium.metrics import evaluate
from podium.multitask import RPCMTL
from podium.rankers import ListNet
from podium_papers.comparisons import MeanScore, PairedComparison
from podium_papers.pages import read_record
from podium_papers.rpc_mtl.claims import (
    ABLATED_MEASURES,
    COMPARED_RANKERS,
    MAIN_KS,
    RpcMtlReproduction,
    ablation_pairs,
)
from podium_papers.rpc_mtl.cluster_figures import cluster_figure
from podium_papers.rpc_mtl.data_sets import opposed_fold, read_lists
from podium_papers.rpc_mtl.experiments import evaluate_table, reproduce
from podium_papers.rpc_mtl.page import equal_bands
from podium_papers.rpc_mtl.rankers import (
    CHOICE_MEASURE,
    MEASURES,
    OTHER_MEASURES,
    QUICK_GRID,
    STUDIED_MIXES,
    RpcMtlGrid,
    Variant,
    check_single_cluster,
    evaluate_bands,
    evaluate_clusters,
    evaluate_rival,
    join_folds,
    mix_name,
)
from podium_papers.rpc_mtl.rankers import RpcMtlTestResult as Record  # no test of pytest's
from podium_papers.rpc_mtl.scored_tables import ScoredTable, scored_table, table_folds
from podium_papers.rpc_mtl.times import timed_fit
from podium_papers.total_orders import consensus_orders, relevance
from tests.support.paths import ROOT

FOLD = opposed_fold(25, 12)
SMALL = RpcMtlGrid((0.1, 0.01), (0.01,), (0.01, 0.001), (1.0, 5.0))
STEPS: list[RunProgress] = []


def table(rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) * [1, 100, 0.01, 0]  # scales apart, one constant
    return ScoredTable(X, X[:, 0] + 0.1 * rng.normal(size=rows), ("a", "b", "c", "d"))


@pytest.fixture(scope="module")
def found():
    STEPS.clear()
    return reproduce(
        {"opposed": [FOLD], "other": [opposed_fold(20, 10, seed=1)]}, ablated=["opposed"],
        tables={"table": table()}, quick=True, callback=STEPS.append,
    )  # fmt: skip


# --- data ---


def test_relevance_is_by_rank_alone_and_never_overflows():
    data = RankingData.from_arrays(
        np.zeros((6, 1)), [5000, 3, 1200, 7, 1, 0], qid=[1, 1, 1, 2, 2, 3], docid=list("abcdef")
    )
    assert relevance(data).y.tolist() == [1, 0, 0.5, 1, 0, 0]


def test_ties_are_ordered_by_the_tie_break_then_by_seed():
    data = RankingData.from_arrays(
        np.zeros((40, 1)), [1] * 20 + [0] * 20, qid=[1] * 40, docid=range(40)
    )
    wish = np.repeat([0.0, 1.0], 20)
    wish[3] = 9.0
    y = relevance(data, 0, wish).y
    assert y[3] == 1  # the best of the better grade
    assert y[:20].min() > y[20:].max()  # grades come first
    assert sorted(y.tolist()) == pytest.approx([i / 39 for i in range(40)])
    assert (relevance(data, 1, wish).y != y).any()


def test_a_consensus_orders_documents_within_their_grade():
    graded = RankingData.from_arrays(
        np.eye(4), [0, 1, 1, 0], qid=["q"] * 4, docid=["a", "b", "c", "d"]
    )
    # Two rankers, ranks: d before a, c before b; rows in another order than the grades'.
    ranks = RankingData.from_arrays(
        [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 4.0]], [0] * 4, qid=["q"] * 4,
        docid=["d", "c", "a", "b"],
    )  # fmt: skip
    [part] = consensus_orders([graded], ranks)
    assert part.y.tolist() == pytest.approx([0, 2 / 3, 1, 1 / 3])
    other = RankingData.from_arrays(np.ones((1, 1)), [0], qid=["q"], docid=["d"])
    with pytest.raises(DataError, match="'a' of query 'q'"):
        consensus_orders([graded], other)


def test_documents_without_ids_cannot_be_joined():
    data = RankingData.from_arrays(np.ones((2, 1)), [0, 1], qid=[1, 1])
    with pytest.raises(DataError, match="ids of documents"):
        consensus_orders([data], data)


def test_mq2008_becomes_total_orders_that_keep_its_grades(shared_data):
    import podium

    part = podium.read_letor(shared_data / "MQ2008" / "S1.txt.xz")
    agg = podium.read_letor(shared_data / "MQ2008-agg" / "A1.txt.xz", missing="nan")
    [ordered] = consensus_orders([part], agg)
    assert len(ordered) == len(part) == 2933
    for rows in part.groups.slices():
        y, grade = ordered.y[rows], part.y[rows]
        assert len(np.unique(y)) == len(y)
        assert (np.diff(grade[np.argsort(-y)]) <= 0).all()


def test_a_list_folder_is_read_fold_by_fold(tmp_path):
    parts = [make_opposed(4, 5, seed=s, n_features=3) for s in range(6)]
    for number in (1, 2):
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        for name, part in zip(("train", "vali", "test"), parts[3 * number - 3 :], strict=False):
            # Degrees as LETOR has them: whole numbers, some above 1023.
            write_letor(part.with_labels(np.round(4 * part.y) * 500), folder / f"{name}.txt")
    folds = read_lists(tmp_path)
    assert len(folds) == 2
    assert folds[1].test.y.tolist() == pytest.approx(parts[5].y.tolist())
    (tmp_path / "Fold2" / "vali.txt").unlink()
    with pytest.raises(DataError, match=r"vali\.txt"):
        read_lists(tmp_path)
    with pytest.raises(DataError, match="Fold1, Fold2"):
        read_lists(tmp_path / "Fold1")


def test_a_table_comes_from_a_file_or_a_frame(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("score,x,y\n3,1,2\n4,5,6.5\n")
    read = scored_table(path, "score")
    assert (read.X.tolist(), read.score.tolist(), read.names) == (
        [[1, 2], [5, 6.5]],
        [3, 4],
        ("x", "y"),
    )
    assert scored_table(path).score.tolist() == [2, 6.5]  # the last column

    class Frame:
        columns = ("x", "y", "score")

        def to_numpy(self):
            return np.array([[1, 2, 3], [5, 6.5, 4]])

    framed = scored_table(Frame())
    assert framed.X.tolist() == read.X.tolist()
    assert framed.score.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("a,b\n", DataError, "header and rows"),
        ("a,b\n1,2\n3\n", DataError, "row 3: expected 2 columns, got 1"),
        ("a,b\n1,red\n", DataError, "numbers in all columns"),
        ("a,b\n1,nan\n", DataError, "finite numbers"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, error, match):
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(error, match=match):
        scored_table(path)


def test_an_unknown_column_is_refused(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UnknownNameError, match="score"):
        scored_table(path, "score")


def test_tables_are_cut_into_lists_of_15_in_five_parts():
    folds = table_folds(table(160), seed=3)
    assert [len(part) // 15 for part in folds[0]] == [6, 2, 2]
    assert all((part.groups.sizes == 15).all() for fold in folds for part in fold)
    tested = [docid for fold in folds for docid in fold.test.docids]
    assert len(tested) == len(set(tested)) == 150  # ten left over, every other one tested once
    again = table_folds(table(160), seed=4)
    assert set(again[0].test.docids) != set(folds[0].test.docids)
    with pytest.raises(UsageError, match="at least 75 rows"):
        table_folds(table(74), seed=0)


def test_features_of_tables_are_standardised_by_training_lists():
    fold = table_folds(table(), seed=0)[0]
    assert fold.train.X.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert fold.train.X.std(axis=0) == pytest.approx([1, 1, 1, 0])
    assert np.abs(fold.test.X.mean(axis=0)[:3]).max() > 1e-6


def test_parts_of_an_opposed_fold_are_drawn_apart():
    assert not np.array_equal(FOLD.train.X, FOLD.valid.X)
    assert not np.array_equal(FOLD.valid.X, FOLD.test.X)
    assert not np.array_equal(opposed_fold(25, 12, seed=1).train.X, FOLD.test.X)


# --- fits ---


def test_a_variant_is_what_the_ranker_makes():
    tested = {t.ranker: t for t in evaluate_clusters(FOLD, 3, True, QUICK_GRID, 0)}
    forms = {"RPC-MTL K = 3, soft", "RPC-MTL K = 3, hard"}
    assert set(tested) == forms | {f"RPC-MTL K = 3, soft, c = {c:g}" for c in STUDIED_MIXES}
    for combine in ("soft", "hard"):
        ranker = RPCMTL(n_clusters=3, lam=0.1, l2=0.01, combine=combine, c=0.25).fit(FOLD.train)
        alone = evaluate(FOLD.test, ranker.predict(FOLD.test), CHOICE_MEASURE)[
            CHOICE_MEASURE
        ].per_query
        own = tested[str(Variant(3, combine))]
        assert own.values[CHOICE_MEASURE] == pytest.approx(alone.tolist())
        assert own.settings == "lam=0.1 l2=0.01" + (" c=0.25" if combine == "soft" else "")


def test_a_path_ends_where_fits_alone_do():
    own = {
        t.ranker: t
        for t in evaluate_clusters(
            FOLD, 3, False, RpcMtlGrid((0.1, 0.0), (0.01,), mixes=(0.25,)), 0
        )
    }
    alone = RPCMTL(n_clusters=3, distance=None, lam=0.0, l2=0.01, c=0.25).fit(FOLD.train)
    wanted = evaluate(FOLD.test, alone.predict(FOLD.test), CHOICE_MEASURE)[CHOICE_MEASURE].mean
    without = own[str(Variant(3, "soft", metric=False, tasks=False))]
    assert np.mean(without.values[CHOICE_MEASURE]) == pytest.approx(wanted, abs=1e-3)
    assert without.settings.startswith("lam=0 ")


def test_validation_chooses():
    grid = RpcMtlGrid((2.0, 0.001), (10.0, 0.001), mixes=(0.1, 0.5))
    own = {t.ranker: t for t in evaluate_clusters(FOLD, 3, True, grid, 0)}
    fits = {
        f"lam={lam:g} l2={l2:g} c={c:g}": RPCMTL(n_clusters=3, lam=lam, l2=l2, c=c).fit(FOLD.train)
        for l2 in grid.l2
        for lam in grid.lambdas
        for c in grid.mixes
    }
    values = {
        name: evaluate(FOLD.valid, r.predict(FOLD.valid), CHOICE_MEASURE)[CHOICE_MEASURE].mean
        for name, r in fits.items()
    }
    assert own[str(Variant(3))].settings == max(values, key=values.__getitem__)


def test_nothing_is_chosen_by_the_test_labels():
    turned = FOLD.test.with_labels(np.random.default_rng(0).permutation(FOLD.test.y))
    other = Fold(FOLD.train, FOLD.valid, turned)
    for K in (1, 3):
        a, b = (evaluate_clusters(fold, K, True, SMALL, 0) for fold in (FOLD, other))
        assert [t.settings for t in a] == [t.settings for t in b]
        assert a[0].values != b[0].values
    for name in ("listmle", "listnet", "topk-listmle"):
        a, b = (evaluate_rival(fold, name, SMALL) for fold in (FOLD, other))
        assert a.settings == b.settings
        assert a.values != b.values


def test_listnet_has_a_scale_for_relevance():
    said = evaluate_rival(FOLD, "listnet", replace(SMALL, scales=(5.0,), wide_l2=(0.01,)))
    assert said.settings == "l2=0.01 scale=5"
    ranker = ListNet(l2=0.01, early_stopping=False)
    ranker.fit(FOLD.train.with_labels(5 * FOLD.train.y), valid=FOLD.valid)
    alone = evaluate(FOLD.test, ranker.predict(FOLD.test), CHOICE_MEASURE)[CHOICE_MEASURE].per_query
    assert said.values[CHOICE_MEASURE] == pytest.approx(alone.tolist())


def test_one_cluster_is_listmle():
    special = check_single_cluster("opposed", FOLD)
    assert special.gap < 1e-6
    assert special.same_order


def test_one_cluster_has_one_form():
    [one] = evaluate_clusters(FOLD, 1, False, QUICK_GRID, 0)
    assert one.ranker == str(Variant(1, metric=False))


def test_the_form_is_chosen_after_the_fit():
    tested = {t.ranker: t for t in evaluate_clusters(FOLD, 3, True, QUICK_GRID, 0)}
    for c in (0.0, 0.5):
        alone = RPCMTL(n_clusters=3, lam=0.1, l2=0.01, c=c).fit(FOLD.train)
        wanted = evaluate(FOLD.test, alone.predict(FOLD.test), CHOICE_MEASURE)[
            CHOICE_MEASURE
        ].per_query
        assert tested[mix_name(3, c)].values[CHOICE_MEASURE] == pytest.approx(wanted.tolist())
    assert tested[mix_name(3, 0.25)].values == tested[str(Variant(3))].values


def test_folds_are_joined_list_by_list():
    a, b = (
        Record("r", {"m": v}, s, e) for v, s, e in (((1.0, 0.0), "x", ""), ((0.5,), "y", "late"))
    )
    [one] = join_folds([[a], [b]])
    assert (one.values["m"], one.settings, one.reason) == ((1.0, 0.0, 0.5), "x; y", "late")
    [mean] = join_folds([[a], [b]], means=True)
    assert mean.values["m"] == (0.5,)


def test_both_gains_are_measured():
    values = evaluate_rival(FOLD, "listmle", QUICK_GRID).values
    assert set(values) == {*MEASURES, *OTHER_MEASURES}
    assert np.mean(values[MEASURES[4]]) != np.mean(values[OTHER_MEASURES[4]])


def test_a_fit_is_timed_by_stage():
    timing = timed_fit(20, 10)
    assert {"metric", "clusters", "ordinal", "tasks"} <= set(timing.stages)
    assert timing.seconds == pytest.approx(sum(timing.stages.values()))
    assert timing.seconds > 0
    assert timing.converged
    assert timing.quality > 0.9


def test_rpc_mtl_is_above_listmle_where_the_top_is_opposed():
    fold = opposed_fold(60, 40)
    own = {
        t.ranker: np.mean(t.values[CHOICE_MEASURE])
        for t in evaluate_clusters(fold, 3, True, RpcMtlGrid(l2=(1e-3,)), 0)
    }
    assert min(own[str(Variant(3, combine))] for combine in ("soft", "hard")) > 0.985
    assert own[mix_name(3, 0.0)] < 0.95  # degrees alone do not order the top
    assert np.mean(evaluate_rival(fold, "listmle", SMALL).values[CHOICE_MEASURE]) < 0.88


# --- the whole ---


def test_every_piece_is_told(found):
    assert [s.done for s in STEPS] == list(range(1, STEPS[-1].total + 1))
    assert STEPS[-1].what == "table, 2, equal bands"


def test_everything_is_there(found):
    for data in ("opposed", "other", "table"):
        for ranker in COMPARED_RANKERS:
            assert 0 < found.mean(data, ranker, MEASURES[0]) <= 1
        # Both K, both forms, against both rivals, at ten depths.
        assert sum(t.data == data for t in found.tests) == 2 * 2 * 2 * 10
    assert found.ks == (1, 2, 3, 5)
    assert len(found.mixes) == 3 * len(MAIN_KS) * len(STUDIED_MIXES)
    wanted = {(*pair, m) for pair in ablation_pairs((2, 3, 5)) for m in ABLATED_MEASURES}
    assert {(t.ranker, t.other, t.measure) for t in found.left_out_tests} == wanted
    assert len(found.clusters) == 1


def test_equal_bands_are_the_ranker_without_its_search():
    [soft, hard] = evaluate_bands(FOLD, 3, QUICK_GRID, 0)
    assert [soft.ranker, hard.ranker] == [
        "RPC-MTL K = 3, soft, equal bands",
        "RPC-MTL K = 3, hard, equal bands",
    ]
    alone = RPCMTL(n_clusters=3, lam=0.1, l2=0.01, combine="hard", max_sweeps=0).fit(FOLD.train)
    wanted = evaluate(FOLD.test, alone.predict(FOLD.test), CHOICE_MEASURE)[CHOICE_MEASURE].per_query
    assert hard.values[CHOICE_MEASURE] == pytest.approx(wanted.tolist())


def test_the_loss_of_the_hard_form_is_told_with_and_without_the_search(found):
    for data in ("opposed", "other", "table"):
        for K in MAIN_KS:
            bands = Variant(K, "hard", search=False)
            less = found.mean(data, str(bands)) - found.mean(data, "listmle")
            assert found.minus_listmle(data, bands).difference == pytest.approx(less)
            claim = next(c for c in found.claims() if c.data == data and "hard form" in c.text)
            assert f"{less:+.4f}" in claim.numbers
    assert found.median_lengths == {"opposed": 12.0, "other": 10.0, "table": 15.0}
    assert any(line.startswith("| opposed, K = 3 | 12 |") for line in equal_bands(found))


def test_tables_are_tested_by_repeats(found):
    repeats = [evaluate_table(table(), QUICK_GRID, seed) for seed in (0, 1)]
    by_ranker = [{t.ranker: t.values[CHOICE_MEASURE][0] for t in one} for one in repeats]
    for ranker in COMPARED_RANKERS:
        assert found.mean("table", ranker) == pytest.approx(np.mean([r[ranker] for r in by_ranker]))


def test_results_survive_json(found):
    assert msgspec.convert(json.loads(json.dumps(asdict(found))), RpcMtlReproduction) == found


def test_results_do_not_depend_on_processes_and_a_run_goes_on(tmp_path):
    data = {"opposed": [opposed_fold(10, 8)]}
    one = reproduce(data, quick=True, keep=tmp_path)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 1 + 2 * len(MAIN_KS)
    assert reproduce(data, quick=True, n_jobs=2) == one
    # Kept pieces are taken as they are; the one that is missing is made again.
    kept[0].unlink()
    told = json.loads(kept[1].read_text())
    told["piece"] = [{**one, "settings": "kept"} for one in told["piece"]]
    kept[1].write_text(json.dumps(told))
    steps: list[RunProgress] = []
    again = reproduce(data, quick=True, keep=tmp_path, callback=steps.append)
    assert len(steps) == 1
    assert "kept" in [c.settings for c in again.chosen]
    assert again.scores == one.scores
    # Those of another seed are not.
    steps.clear()
    reproduce(data, quick=True, keep=tmp_path, seed=1, callback=steps.append)
    assert len(steps) == len(kept)


@pytest.mark.parametrize(
    ("given", "error"),
    [({"data": {}}, UsageError), ({"data": {"a": [FOLD]}, "ablated": ["b"]}, UnknownNameError)],
)
def test_bad_input_is_refused(given, error):
    with pytest.raises(error):
        reproduce(given.pop("data"), **given)


def test_figures_are_drawn(found, tmp_path):
    figures = found.figures()
    assert set(figures) == {"ndcg", "parts-1", "clusters-1"}
    for name, figure in figures.items():
        save_figure(figure.plot(), tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000
    panels = figures["ndcg"].panels
    assert [p.title for p in panels] == ["opposed", "other", "table"]
    assert panels[0].curves["listmle"][9] == found.mean("opposed", "listmle")
    parts = figures["parts-1"].panels
    assert (
        parts[0].curves["whole"][0] == parts[0].curves["metric"][0] == parts[0].curves["listmle"][0]
    )
    assert parts[3].curves["tasks"][2] == found.mean(
        "opposed", str(Variant(3, "hard", tasks=False)), ABLATED_MEASURES[1]
    )


def test_the_picture_has_the_clusters_in_the_metric():
    data = make_opposed(30, 12, seed=0, n_features=6)
    figure = cluster_figure("opposed", data)
    assert sum(len(own.x) for own in figure.points) == 360
    assert all(len(path.x) == 12 for path in figure.paths)
    assert len(figure.paths) == 3
    # Degrees are the first feature, which is the first axis: one way or the other.
    assert abs(np.corrcoef(range(3), figure.centres.x)[0, 1]) > 0.99
    means = [np.mean(own.x) for own in figure.points]
    assert means == pytest.approx(list(figure.centres.x), abs=1e-3)
    assert 0.9 < sum(figure.shares) <= 1 + 1e-12
    # A list begins in the best cluster and ends in the worst.
    for path in figure.paths:
        first, last = (np.argmin(np.abs(np.array(figure.centres.x) - path.x[i])) for i in (0, -1))
        assert (first, last) == (2, 0)


def test_short_lists_have_no_path():
    figure = cluster_figure("short", make_opposed(20, 7, seed=0, n_features=3))
    assert figure.paths == ()
    assert len(figure.points) == 3


def test_a_picture_is_of_the_clusters_asked_for():
    data = make_opposed(20, 7, seed=0, n_features=3)
    with pytest.raises(UsageError, match="n_clusters of rpc-mtl must be at most 7"):
        cluster_figure("many", data, n_clusters=99)
    euclid = cluster_figure("Euclid's", data, distance=None)
    assert euclid.shares != cluster_figure("learned", data, kappa_1=1, kappa_2=4).shares
    own = np.linalg.eigvalsh(np.cov(data.X.T))[::-1]
    assert euclid.shares == pytest.approx((own / own.sum())[:2])


# --- claims ---


def better(found, data, difference, p, *, ranker=None):
    """The same results, all tests on a data set (of a ranker) with this difference and p-value."""

    def turned(test):
        if test.data != data or (ranker is not None and test.ranker != ranker):
            return test
        return replace(test, difference=difference, adjusted=p)

    return replace(
        found,
        tests=tuple(turned(t) for t in found.tests),
        left_out_tests=tuple(turned(t) for t in found.left_out_tests),
    )


def verdicts(found, data):
    return {c.text: c.holds for c in found.claims() if c.data == data}


def test_claims_hold_where_all_differences_are_real_and_positive(found):
    good = verdicts(better(found, "opposed", 0.1, 0.001), "opposed")
    assert all(holds for text, holds in good.items() if "rises" not in text)
    for difference, p in ((-0.1, 0.001), (0.1, 0.2), (0.0, 0.001)):
        bad = verdicts(better(found, "opposed", difference, p), "opposed")
        assert not any(holds for text, holds in bad.items() if "rises" not in text)
    # The metric's claim is of p < 0.05, the others' of p < 0.01.
    middle = verdicts(better(found, "opposed", 0.1, 0.03), "opposed")
    assert {text for text, holds in middle.items() if holds and "rises" not in text} == {
        text for text in middle if "metric" in text
    }


def test_one_difference_that_is_not_real_is_enough(found):
    good = better(found, "opposed", 0.1, 0.001)
    one = better(good, "opposed", 0.1, 0.2, ranker=str(Variant(5, "hard")))
    held = {text for text, holds in verdicts(one, "opposed").items() if holds}
    assert any("outperforms" in text and "soft" in text for text in held)
    assert not any("outperforms" in text and "hard" in text for text in held)


def test_figure_8_is_claimed_of_few_places_with_five_clusters(found):
    good = better(found, "table", 0.1, 0.001)
    deep = tuple(
        replace(t, difference=-0.1) if t.data == "table" and MEASURES.index(t.measure) >= 4 else t
        for t in good.tests
    )
    held = {text for text, holds in verdicts(replace(good, tests=deep), "table").items() if holds}
    assert len(held) == 2
    assert all("5 clusters" in text for text in held)


def rising(found, values):
    """With these values of K = 1, 2, 3, 5 (soft, whole)."""
    names = [str(Variant(1, metric=False)), *(str(Variant(K)) for K in (2, 3, 5))]
    new = [
        MeanScore("opposed", name, m, v, 0.0)
        for name, v in zip(names, values, strict=True)
        for m in ABLATED_MEASURES
    ]
    told = {(s.ranker, s.measure): s for s in new}
    out = replace(
        found,
        scores=(),
        left_out=tuple(told.get((s.ranker, s.measure), s) for s in found.left_out),
    )
    return next(h for t, h in verdicts(out, "opposed").items() if "rises" in t and "soft" in t)


def test_rising_is_rising_up_to_four(found):
    assert rising(found, (0.5, 0.6, 0.7, 0.65))
    assert not rising(found, (0.5, 0.7, 0.6, 0.8))


def test_a_variant_below_listmle_refutes_the_guarantee(found):
    def guaranteed(one):
        return next(c for c in one.claims() if "guarantees" in c.text)

    good = found
    for data in ("opposed", "other", "table"):
        good = better(good, data, 0.1, 0.001)
    assert guaranteed(good).holds
    assert guaranteed(better(good, "other", -0.2, 0.5)).holds  # not real
    worse = guaranteed(better(good, "other", -0.2, 0.001))
    assert not worse.holds
    assert "-0.2000 (other" in worse.numbers


def test_comparisons_are_paired_t_tests_by_data_set(found):
    for data in ("opposed", "other"):
        own = [t for t in found.tests if t.data == data]
        assert isinstance(own[0], PairedComparison)
        smallest = min(t.p_value for t in own)
        assert min(t.adjusted for t in own) == pytest.approx(min(1, len(own) * smallest))
    parts = split(make_opposed(15, 6, seed=3), [1 / 3] * 3)
    several = reproduce({"folds": rotate(parts)}, quick=True)
    counts = {t.wins + t.ties + t.losses for t in several.tests}
    assert counts == {15}  # every list is tested once


def test_the_docs_say_what_the_results_have():
    """The time of a whole fit, and what the hard form loses, are those of the kept run."""
    root = ROOT
    record, made = read_record("rpc-mtl", root / "benchmarks" / "results" / "papers")
    text = " ".join((root / "docs" / "multitask.md").read_text().split())
    seconds = next(t["seconds"] for t in made.times if t["n_lists"] * t["n_docs"] == 1_190_000)
    assert f"1,190,000 documents takes {seconds:.0f} seconds" in text
    for search in (True, False):
        losses = [
            record.found.minus_listmle(
                "MQ2008 orders", Variant(K, "hard", search=search)
            ).difference
            for K in MAIN_KS
        ]
        shown = [f"{loss:.4f}".replace("0.", ".", 1) for loss in losses]
        assert f"{shown[0]} and {shown[1]}" in text
    assert f"{record.found.median_lengths['MQ2008 orders']:g} documents in the median list" in text
