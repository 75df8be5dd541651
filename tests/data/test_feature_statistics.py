"""Statistics of features: counts, ranges and flags."""

import math

import numpy as np
import pytest

from podium.data import RankingData
from podium.data.categories import Category
from podium.data.feature_statistics import (
    CONSTANT,
    LABEL_ORDER,
    LARGEST_SCALE,
    MAX_SCALE_RATIO,
    MIN_LEAK_QUERIES,
    SMALLEST_SCALE,
    feature_statistics,
    scale_extremes,
)
from podium.errors import UnknownNameError

N = MIN_LEAK_QUERIES
QID = np.repeat(np.arange(N), 3)
Y = np.tile([2.0, 0.0, 1.0], N)


def statistics(*columns, y=Y, qid=QID, **options):
    X = np.column_stack(columns)
    return feature_statistics(RankingData.from_arrays(X, y, qid=qid, **options))


def test_a_feature_has_its_range_and_missing_values():
    values = np.array([1.0, np.nan, 7.0, 3.0, 5.0, np.nan])
    (feature,) = statistics(values, y=[0, 1, 0, 1, 0, 1], qid=[1, 1, 1, 2, 2, 2], missing="nan")
    assert (feature.missing, feature.min, feature.median, feature.max) == (2, 1.0, (3 + 5) / 2, 7.0)
    assert feature.deviation == pytest.approx(math.sqrt((9 + 9 + 1 + 1) / 4))
    assert feature.flags == ()


def test_constant_and_empty_features():
    empty = np.full(len(Y), np.nan)
    features = statistics(np.full(len(Y), 3.0), empty, missing="nan")
    assert [f.flags for f in features] == [(CONSTANT,), (CONSTANT,)]
    assert features[0].deviation == 0
    assert features[1].missing == len(Y)
    assert math.isnan(features[1].median)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_feature_with_the_order_of_the_label_is_flagged(sign):
    leak = sign * (Y + 10.0 * QID)  # its values differ between queries; the order is the label's
    assert statistics(leak)[0].flags == (LABEL_ORDER,)


def test_one_pair_in_another_order_is_no_leak():
    almost = Y.copy()
    almost[1] = 1.0  # equal to a document with a higher label
    assert statistics(almost)[0].flags == ()
    turned = Y * np.where(QID == 0, -1, 1)  # falls in one query, rises in the others
    assert statistics(turned)[0].flags == ()


def test_few_queries_show_no_leak():
    rows = QID < N - 1
    assert statistics(Y[rows], y=Y[rows], qid=QID[rows])[0].flags == ()


def test_rows_of_a_query_may_be_apart():
    order = np.random.default_rng(0).permutation(len(Y))
    assert statistics(Y[order], y=Y[order], qid=QID[order])[0].flags == (LABEL_ORDER,)


def test_scales_far_apart_are_flagged():
    base = np.random.default_rng(0).normal(size=len(Y))
    features = statistics(base, base * MAX_SCALE_RATIO * 1.01, base * 5)
    assert [f.flags for f in features] == [(SMALLEST_SCALE,), (LARGEST_SCALE,), ()]
    assert scale_extremes(features) == features[:2]
    near = statistics(base, base * MAX_SCALE_RATIO * 0.99)
    assert [f.flags for f in near] == [(), ()]
    assert scale_extremes(near) is None


def test_a_category_has_words_and_no_range():
    places = np.tile([0.0, 1.0, 2.0], N)
    category = Category(("red", "green", "blue"))
    (feature,) = statistics(places, feature_names=["colour"], categories={"colour": category})
    assert (feature.name, feature.words, feature.flags) == ("colour", 3, ())
    assert math.isnan(feature.max)


def test_a_description_has_a_line_per_feature_and_one_by_name():
    X = np.column_stack([np.arange(15.0), np.full(15, 5.0)])
    X[3, 0] = np.nan
    data = RankingData.from_arrays(X, Y, qid=QID, feature_names=["price", "shop"], missing="nan")
    description = data.describe()
    assert repr(description).splitlines() == [
        repr(data),
        "feature  missing  min  median  max  note",
        f"price          1    0  {(7 + 8) / 2:>6}   14",
        "shop           0    5       5    5  constant",
    ]
    assert (len(description), description["price"].missing) == (2, 1)
    assert "<td>constant</td>" in description._repr_html_()
    with pytest.raises(UnknownNameError, match="unknown feature 'prise'; did you mean price"):
        description["prise"]
