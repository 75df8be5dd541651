"""What notebooks show: tables of results, escaped and bounded, and pictures without global state."""

import io
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import podium
from podium.data.categories import Category
from podium.errors import (
    DataError,
    LengthMismatchError,
    MissingExtraError,
    UnknownNameError,
    UsageError,
)
from podium.feedback import make_log, parse_ubi
from podium.figure_style import new_axes, plain_label
from podium.html_tables import LAST_ROWS, MAX_CELL_CHARACTERS, MAX_COLUMNS, MAX_ROWS, html_table
from podium.labelling import statistics
from podium.labelling.store import Store
from podium.metrics import QueryDifferences, bootstrap_interval
from podium.rankers.explanation import Explanation
from podium.rankers.importance import Importance, permutation_importance
from podium.rankers.learning_curve import FitStep, History
from podium.rankers.optimality_certificate import Certificate
from podium.rankers.ranked_lists import RankedList
from tests.support.judged_stores import generated

HOSTILE = "<script>alert('x')</script>\"&$\\frac{$\x07\u202e\ud800"
DATA = podium.make_synthetic(n_queries=40, n_features=4, seed=0)
RANKER = podium.RankSVM().fit(DATA)
SCORES = RANKER.predict(DATA)


class Cells(HTMLParser):
    """The text of every cell, row by row, and the tags of a table."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags, self.attributes = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.tags[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def hostile_results():
    """A result of each kind, with hostile names wherever names come from outside."""
    names, valid = (HOSTILE, "b"), HOSTILE.removesuffix("\ud800")
    data = podium.RankingData.from_arrays(
        [[1.0, np.nan], [2.0, 3.0], [0.5, 1.0]], [0, 1, 0], qid=["a", "a", valid],
        docid=[valid, "d2", "d3"], feature_names=[valid, "b"], missing="nan",
    )  # fmt: skip
    rows, scores = np.array([0, 1]), np.array([2.0, 1.0])
    log = make_log(n_lists=20, user_class="novice", seed=1).lines()
    classes = [line.replace("novice", "<script>novice") for line in log]
    step = FitStep(HOSTILE, 1, None, 0.5, HOSTILE, 0.25, HOSTILE)
    yield data
    yield podium.evaluate(DATA, SCORES, ["NDCG@5", "MAP"])
    yield QueryDifferences(HOSTILE, *names, np.array(names, object), np.array([0.5, np.nan]))
    yield Explanation(HOSTILE, names, rows, names, scores, scores, np.ones((2, 2)))
    yield Importance(HOSTILE, 0.5, names, scores, scores)
    yield History((step,), best=1)
    yield Certificate(1.5, 7, True, HOSTILE, gap=0.25)
    yield RankedList(HOSTILE, rows, names, scores)
    yield podium.postrank(
        [HOSTILE, "b", "c"], [podium.Hide("c", hard=True), podium.TopK(HOSTILE, 1)]
    )
    yield parse_ubi(classes, user_class="query_attributes.user_class")


@pytest.mark.parametrize("result", list(hostile_results()), ids=lambda one: type(one).__name__)
def test_tables_are_escaped_and_without_scripts(result):
    html = result._repr_html_()
    html.encode()  # a notebook is UTF-8
    cells = Cells(html)
    assert set(cells.tags) <= {
        "div",
        "style",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
    }
    assert set(cells.attributes) <= {"class"}
    assert len({len(row) for row in cells.rows}) == html.count("<table>") or "Rules" in html
    assert not set(html) & {"\x07", "\u202e"}
    assert "color:inherit" in html
    assert "http" not in html
    assert len(html) < 20_000


def test_a_report_and_judging_statistics_are_tables(tmp_path):
    report = podium.compare(DATA, ["regression", "ranksvm"], ["NDCG@5", "MAP"], folds=3, tune=False)
    rows = Cells(report._repr_html_()).rows
    assert rows[0][:3] == ["ranker", "NDCG@5", "MAP"]
    assert rows[1][1].startswith(f"{report.standing('regression').mean:.4f}"[:5])
    assert len(repr(report)) < 120
    with Store.open(tmp_path / "judgments.db") as store:
        generated(store, n_queries=5, n_documents=6, k=2)
        judged = statistics(store)
        tables = judged.tables()
        assert judged._repr_html_().count("<table>") == len(tables) > 1
        assert Cells(judged._repr_html_()).rows[0] == list(tables[0].headers)
        assert len(repr(judged)) < 120
        own = new_axes("a test")
        assert judged.plot(ax=own) is own
        for what in ("times", "assessors", "preferences", "grades", "judged"):
            assert judged.plot(what=what)._repr_png_().startswith(b"\x89PNG")


def test_values_of_a_table_are_those_of_the_result():
    evaluation = podium.evaluate(DATA, SCORES, ["NDCG@5", "MAP"])
    assert Cells(evaluation._repr_html_()).rows == [
        ["metric", "mean", "95% interval", "queries with a value"],
        *(
            [
                name,
                f"{evaluation[name].mean:.4f}",
                f"{bootstrap_interval(evaluation[name].per_query).low:.4f} to "
                f"{bootstrap_interval(evaluation[name].per_query).high:.4f}",
                "40",
            ]
            for name in ("NDCG@5", "MAP")
        ),
    ]
    certificate = Certificate(1.5, 7, True, "", gap=0.25)
    assert ["bound", "1.2500"] in Cells(certificate._repr_html_()).rows
    assert ["gradient norm", "–"] in Cells(certificate._repr_html_()).rows


def test_of_a_large_table_the_first_and_last_rows_and_columns_are_there():
    asked_rows = []

    def row(i):
        asked_rows.append(i)
        return [i * 1000 + j for j in range(200)]

    cells = Cells(html_table("x", [f"c{j}" for j in range(200)], 10**9, row)).rows
    assert len(asked_rows) == MAX_ROWS, "rows that are left out are not computed"
    assert len(cells) == 1 + MAX_ROWS + 1
    assert {len(line) for line in cells} == {MAX_COLUMNS + 1}
    assert cells[0][0] == "c0"
    assert cells[0][-1] == "c199"
    assert set(cells[1 + MAX_ROWS - LAST_ROWS]) == {"…"}
    assert asked_rows[-1] == 10**9 - 1
    assert Cells(html_table("x", ["a"], 0, row)).rows == [["a"]]


def test_numbers_and_long_texts_in_cells():
    values = [
        0.12345678,
        1e-9,
        123456,
        12345.678,
        True,
        None,
        float("nan"),
        np.float32(0.5),
        "y" * 500,
    ]
    row = Cells(html_table("x", [""] * len(values), 1, lambda i: values)).rows[1]
    assert row[:8] == ["0.1235", "1e-09", "123,456", "1.235e+04", "yes", "–", "–", "0.5000"]
    assert len(row[8]) == MAX_CELL_CHARACTERS


def test_large_data_is_shown_without_its_middle():
    large = podium.make_synthetic(n_queries=500, n_features=60, seed=0)
    rows = Cells(large._repr_html_()).rows
    assert len(rows) == MAX_ROWS + 2
    assert rows[1][:3] == ["q1", large.docids[0], f"{large.y[0]:g}"]
    assert rows[-1][:2] == ["q500", large.docids[-1]]
    assert rows[-1][-1] == f"{large.X[-1, -1]:.4f}"


# --- pictures


FEEDBACK = parse_ubi(
    make_log(n_lists=60, user_class="novice", seed=1).lines(),
    user_class="query_attributes.user_class",
)


def pictures():
    """A picture of each kind, by name."""
    evaluation = podium.evaluate(DATA, SCORES, ["NDCG@1", "NDCG@5", "P@1", "P@5"])
    other = podium.evaluate(DATA, DATA.X[:, 0], ["NDCG@1", "MAP"])
    report = podium.compare(DATA, ["regression", "ranksvm"], "NDCG@5", folds=3, tune=False)
    steps = tuple(FitStep("net", i, None, 1 / i, "NDCG@10", 0.5) for i in (1, 2))
    return {
        "learning curve": History(steps, best=2),
        "cutoffs": evaluation,
        "metrics": other,
        "differences": evaluation.differences(other),
        "explanation": RANKER.explain(DATA, "q3"),
        "importance": permutation_importance(RANKER, DATA, repeats=2),
        "labels": DATA,
        "moves": podium.postrank(["a", "b", "c"], [podium.Pin("c", 1, hard=True)]),
        "report": report,
        "feedback": FEEDBACK,
    }


PICTURES = pictures()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_returns_its_axes_and_touches_nothing_else(name):
    from matplotlib import pyplot, rcParams

    before = {name: rcParams[name] for name in rcParams}
    ax = PICTURES[name].plot()
    image = Image.open(io.BytesIO(ax._repr_png_()))
    assert image.size == (600, 400), "6 x 4 inches at 100 dots"
    assert len(image.getcolors(10**6)) > 10
    own = new_axes("a test")
    assert PICTURES[name].plot(ax=own) is own
    assert pyplot.get_fignums() == []
    assert {name: rcParams[name] for name in rcParams} == before
    assert ax.get_xlabel() or name == "moves"


@pytest.mark.parametrize("name", PICTURES)
def test_labels_of_a_picture_do_not_overlap_and_are_inside(name):
    ax = PICTURES[name].plot()
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    for labels in (ax.get_xticklabels(), ax.get_yticklabels(), ax.texts):
        boxes = [one.get_window_extent(renderer) for one in labels if one.get_text()]
        assert not [
            1 for i, box in enumerate(boxes) for other in boxes[:i] if box.overlaps(other)
        ], "labels overlap"
    box = ax.get_tightbbox(renderer)
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= 601
    assert box.y1 <= 401


@pytest.mark.parametrize("name", PICTURES)
def test_without_matplotlib_a_picture_names_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'podium-ltr\[report\]'"):
        PICTURES[name].plot()


@pytest.mark.parametrize("result", list(hostile_results()), ids=lambda one: type(one).__name__)
def test_hostile_names_are_drawn_as_they_are(result):
    if not hasattr(result, "plot"):
        assert isinstance(result, Certificate | RankedList)
        return
    ax = result.plot()
    assert ax._repr_png_().startswith(b"\x89PNG")
    if isinstance(result, podium.RankingData):
        assert result.plot_feature(result.names()[0])._repr_png_().startswith(b"\x89PNG")
    if isinstance(result, podium.feedback.Feedback):
        assert result.plot(factor="clicks")._repr_png_().startswith(b"\x89PNG")


def test_a_label_is_cut_in_the_middle_and_has_no_formula():
    assert plain_label("abcdefghij", 7) == "abc…hij"
    assert plain_label("cost $5") == r"cost \$5"
    assert len(plain_label("$" * 100, 24).replace("\\", "")) == 24


def test_means_by_cutoff_have_their_bootstrap_intervals():
    evaluation = podium.evaluate(DATA, SCORES, ["NDCG@5", "NDCG@1", "P@1"])
    ax = evaluation.plot()
    line = ax.lines[0]
    assert line.get_xdata().tolist() == [1, 5]
    means = [evaluation[f"NDCG@{k}"].mean for k in (1, 5)]
    np.testing.assert_allclose(line.get_ydata(), means)
    interval = bootstrap_interval(evaluation["NDCG@5"].per_query)
    band = ax.collections[0].get_paths()[0].vertices
    ends = band[band[:, 0] == 5][:, 1]
    assert {ends.min(), ends.max()} == {interval.low, interval.high}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["NDCG@k", "P@k"]


def test_metrics_without_cutoffs_are_dots_in_their_order():
    evaluation = podium.evaluate(DATA, SCORES, ["MAP", "NDCG@5", "NDCG@1"])
    ax = evaluation.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["MAP", "NDCG@5", "NDCG@1"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == [evaluation[name].mean for name in evaluation]


def test_differences_per_query():
    first = podium.evaluate(DATA, SCORES, ["NDCG@5", "MAP"])
    second = podium.evaluate(DATA, DATA.X[:, 0], ["NDCG@5", "MAP"])
    differences = first.differences(second, "MAP", names=("svm", "f1"))
    np.testing.assert_array_equal(
        differences.values, first["MAP"].per_query - second["MAP"].per_query
    )
    assert differences.mean == pytest.approx(first["MAP"].mean - second["MAP"].mean)
    assert repr(differences).startswith("QueryDifferences(MAP: svm - f1 = ")
    assert len(differences) == 40
    with pytest.raises(UsageError, match="same queries"):
        first.differences(podium.evaluate(DATA.subset([0]), DATA.subset([0]).y, "MAP"))
    with pytest.raises(KeyError, match="expected one of"):
        first.differences(second, "P@3")
    with pytest.raises(LengthMismatchError, match="expected 1 differences, one per query, got 2"):
        QueryDifferences("MAP", "a", "b", np.array(["q"], object), np.zeros(2))
    with pytest.raises(DataError, match="no query has a value of MAP"):
        QueryDifferences("MAP", "a", "b", np.array(["q"], object), np.array([np.nan]))


def test_a_mean_of_differences_has_the_weights_of_the_queries():
    qids = np.array(["a", "b"], object)
    weighted = QueryDifferences("MAP", "x", "y", qids, np.array([1.0, 0.0]), np.array([3.0, 1.0]))
    assert weighted.mean == 3 / 4
    assert weighted.plot().get_title() == "1 better, 1 equal, 0 worse"


def test_differences_of_a_report():
    report = PICTURES["report"]
    differences = report.differences("ranksvm")
    assert (differences.first, differences.second) == ("ranksvm", "regression")
    expected = report.standing("ranksvm").mean - report.standing("regression").mean
    assert differences.mean == pytest.approx(expected)
    assert sorted(differences.qids) == sorted(DATA.qids)
    with pytest.raises(UnknownNameError, match="nothing"):
        report.differences("ranksvm", "nothing")


def test_commas_in_names_do_not_blur_a_title():
    rankers = {"svm, C = 1": podium.RankSVM(), "least squares": podium.LeastSquares()}
    report = podium.compare(DATA, rankers, "NDCG@5", folds=3, tune=False)
    assert report.plot().get_title() == "baseline (grey): svm, C = 1"


def test_a_report_is_drawn_with_the_best_on_top():
    report = PICTURES["report"]
    labels = [label.get_text().split()[0] for label in report.plot().get_yticklabels()]
    assert labels == list(report.ranking())
    with pytest.raises(UnknownNameError, match="MAP"):
        report.plot(metric="MAP")


def test_a_waterfall_adds_up_to_the_score():
    explanation = PICTURES["explanation"]
    ax = explanation.plot(place=2, features=2)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [*(name for name, _ in explanation.top(2, 2)), "2 other features", "score"]
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    steps = [part for _, part in explanation.top(2, 2)]
    np.testing.assert_allclose(ends[:2], np.cumsum(steps))
    np.testing.assert_allclose(ends[2:], explanation.scores[1])
    starts = [bar.get_x() for bar in ax.patches]
    np.testing.assert_allclose(starts[1:3], ends[:2])
    with pytest.raises(UsageError, match="place from 1 to"):
        explanation.plot(place=0)
    with pytest.raises(UsageError, match="1 feature or more"):
        explanation.plot(features=0)


def test_a_waterfall_starts_at_the_constant_of_the_model():
    explanation = Explanation(
        "q", ("a",), np.array([0]), None, np.array([5.0]), np.zeros(1), np.array([[2.0]])
    )
    ax = explanation.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["constant", "a", "score"]
    assert [bar.get_width() for bar in ax.patches] == [3.0, 2.0, 5.0]


def test_importance_is_drawn_from_the_top():
    importance = PICTURES["importance"]
    ax = importance.plot(features=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == [n for n, _ in importance.top(2)]
    assert [bar.get_width() for bar in ax.patches] == [fall for _, fall in importance.top(2)]
    with pytest.raises(UsageError, match="1 feature or more"):
        importance.plot(features=0)


def test_labels_are_counted():
    counts = [bar.get_height() for bar in DATA.plot().patches]
    assert counts == [(DATA.y == label).sum() for label in np.unique(DATA.y)]
    many = DATA.with_labels(np.arange(len(DATA), dtype=float))
    heights = [bar.get_height() for bar in many.plot().patches]
    assert len(heights) == 10
    assert sum(heights) == len(DATA)
    assert max(heights) - min(heights) <= 2


def bars_of(ax):
    """Return the heights of the bars for each label, and the words below them."""
    heights = {c.get_label(): [bar.get_height() for bar in c] for c in ax.containers}
    return heights, [tick.get_text() for tick in ax.get_xticklabels()]


def test_categories_are_drawn_as_counts_of_words_by_label():
    codes = [[0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [np.nan, 0.0]]
    data = podium.RankingData.from_arrays(
        codes, [1, 0, 1, 0], qid=[1, 1, 1, 1], feature_names=["brand", "size"], missing="nan",
        categories={"brand": Category(("Acme", "Bolt")), "size": Category(("S", "M", "L"), True)},
    )  # fmt: skip
    # Without an order, the most frequent word comes first.
    assert bars_of(data.plot_feature("brand")) == (
        {"0": [1, 0, 1], "1": [1, 1, 0]},
        ["Bolt", "Acme", "(missing)"],
    )
    assert bars_of(data.plot_feature("size")) == ({"0": [2, 0, 0], "1": [0, 1, 1]}, ["S", "M", "L"])


def test_rare_words_are_one_bar():
    words = tuple(f"w{i:02}" for i in range(20))
    data = podium.RankingData.from_arrays(
        [[float(i)] for i in range(20)], [1, 0] * 10, qid=[1] * 20, feature_names=["brand"],
        categories={"brand": Category(words)},
    )  # fmt: skip
    heights, names = bars_of(data.plot_feature("brand"))
    assert names == [*words[:12], "8 others"]
    assert [a + b for a, b in zip(*heights.values(), strict=True)] == [1] * 12 + [8]


def test_a_feature_is_drawn_by_label():
    ax = DATA.plot_feature("f2")
    top = DATA.X[DATA.y == DATA.y.max(), 1]
    low, high = ax.lines[-3].get_ydata()
    np.testing.assert_allclose([low, high], np.quantile(top, [0.05, 0.95]))
    np.testing.assert_allclose(ax.lines[-2].get_ydata(), np.quantile(top, [0.25, 0.75]))
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), [np.median(top)] * 2)
    with pytest.raises(UnknownNameError, match="unknown feature 'f22'"):
        DATA.plot_feature("f22")
    empty = podium.RankingData.from_arrays([[np.nan]], [1], qid=[1], missing="nan")
    with pytest.raises(DataError, match="missing ones only"):
        empty.plot_feature("f1")


def test_labels_by_score():
    data = podium.RankingData.from_arrays(np.zeros((4, 1)), [0, 1, 1, 2], qid=[1] * 4)
    ax = data.plot_calibration([0.0, 1.0, 2.0, 3.0], bins=2)
    assert ax.lines[0].get_xdata().tolist() == [0.5, 2.5]
    assert ax.lines[0].get_ydata().tolist() == [0.5, 1.5]
    band = ax.collections[0].get_paths()[0].vertices
    deviation = np.std([0, 1], ddof=1)
    half_width = 1.959964 * deviation / 2**0.5
    assert band[:, 1].max() == pytest.approx(1.5 + half_width)
    with pytest.raises(UsageError, match="2 bins or more, got 1"):
        data.plot_calibration([0.0] * 4, bins=1)
    with pytest.raises(LengthMismatchError):
        data.plot_calibration([0.0])


def test_moves_are_lines_from_place_to_place():
    rules = [podium.Pin("c", 1, hard=True), podium.Hide("b", hard=True)]
    ranking = podium.postrank(["a", "b", "c", "d"], rules)
    ax = ranking.plot()
    lines = {tuple(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == 2}
    assert lines == {(3, 1), (1, 2), (4, 3), (2, 2)}
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [line.get_ydata()[0] for line in crosses] == [2]
    assert [text.get_text() for text in ax.texts].count("b") == 1
    assert len(podium.postrank(range(100), []).plot(documents=5).texts) == 10
    with pytest.raises(UsageError, match="1 document or more"):
        ranking.plot(documents=0)


def test_twenty_one_rankers_have_labels_that_do_not_overlap():
    ax = new_axes("a test")
    from podium.figure_style import draw_interval_dots

    names = [f"a-ranker-of-number-{i}" for i in range(21)]
    draw_interval_dots(ax, names, [0.5] * 21, [(0.4, 0.6)] * 21, ["black"] * 21)
    FigureCanvasAgg(ax.figure).draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_plain_reprs_are_short():
    for name, result in PICTURES.items():
        assert len(repr(result)) < 200, name
    assert re.fullmatch(r"History\(2 iterations, kept: 2\)", repr(PICTURES["learning curve"]))
