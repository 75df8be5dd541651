"""Agreement of assessors: against loops over every pair, scikit-learn, and printed examples."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.metrics import cohen_kappa_score

from podium.errors import DataError, LengthMismatchError, UnknownNameError, UsageError
from podium.labelling import (
    AssessorAgreement,
    JudgedTopK,
    Opinion,
    agreement,
    chi_square,
    cohen_kappa,
    coincidences,
    compare_tools,
    krippendorff_alpha,
)
from podium.labelling.judging_statistics.agreement import PREFERENCES
from podium.labelling.judging_statistics.kappa_alpha import same_units
from podium.labelling.judging_statistics.reliability import top_k_overlap
from podium.labelling.judging_statistics.tool_comparison import permutation_test

ALL_LABELS = st.lists(
    st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=2, max_size=4),
    min_size=1,
    max_size=4,
)


def opinions_of(queries):
    return [
        Opinion(f"q{i}", f"u{j}", {f"d{n}": y for n, y in enumerate(labels)})
        for i, of_query in enumerate(queries)
        for j, labels in enumerate(of_query)
    ]


def said(labels, a, b):
    return ">" if labels[a] > labels[b] else "<" if labels[a] < labels[b] else "~"


def pair_answers(opinions):
    """(query, pair) -> {assessor: answer}, by loops."""
    found = {}
    for query, assessor, labels in opinions:
        for a, b in itertools.combinations(sorted(labels), 2):
            found.setdefault((query, a, b), {})[assessor] = said(labels, a, b)
    return found


def naive_table(opinions):
    """Counts of what two assessors said, in both orders."""
    table = dict.fromkeys(itertools.product(PREFERENCES, repeat=2), 0)
    for answers in pair_answers(opinions).values():
        for u, v in itertools.permutations(answers, 2):
            table[answers[u], answers[v]] += 1
    return np.array([[table[r, c] for c in PREFERENCES] for r in PREFERENCES])


def naive_alpha(units, distance):
    """Krippendorff's alpha from its definition, value by value."""
    units = [values for values in units if len(values) >= 2]
    n = sum(map(len, units))
    flat = [value for values in units for value in values]
    observed = sum(
        distance(a, b) / (len(values) - 1)
        for values in units
        for a, b in itertools.permutations(values, 2)
    )
    expected = sum(distance(a, b) for a, b in itertools.permutations(flat, 2)) / (n - 1)
    return math.nan if expected == 0 else 1 - observed / expected


@given(ALL_LABELS)
def test_the_matrix_is_what_loops_over_all_pairs_count(queries):
    opinions = opinions_of(queries)
    found, table = agreement(opinions), naive_table(opinions)
    assert found.table.tolist() == table.tolist()
    assert found.n_pairs == table.sum() / 2
    assert found.overall == pytest.approx(np.trace(table) / table.sum())
    strict = table[np.ix_([0, 2], [0, 2])]
    if strict.sum():
        assert found.without_ties == pytest.approx(np.trace(strict) / strict.sum())
    else:
        assert math.isnan(found.without_ties)
    rows = table.sum(axis=1)
    for row in range(3):
        if rows[row]:
            assert found.matrix[row] == pytest.approx(table[row] / rows[row])
        else:
            assert np.isnan(found.matrix[row]).all()


@given(ALL_LABELS)
def test_alpha_of_preferences_is_its_definition(queries):
    opinions = opinions_of(queries)
    units = [list(answers.values()) for answers in pair_answers(opinions).values()]
    expected = naive_alpha(units, lambda a, b: float(a != b))
    assert agreement(opinions).alpha == pytest.approx(expected, nan_ok=True)


@given(ALL_LABELS)
def test_kappa_is_the_mean_of_two_assessors_at_a_time(queries):
    opinions = opinions_of(queries)
    answers, total, weight = pair_answers(opinions), 0.0, 0
    for u, v in itertools.combinations(sorted({o.assessor for o in opinions}), 2):
        both = [(a[u], a[v]) for a in answers.values() if u in a and v in a]
        left, right = zip(*both, strict=True) if both else ((), ())
        if len(set(left + right)) > 1:
            total += len(both) * cohen_kappa_score(left, right)
            weight += len(both)
    expected = total / weight if weight else math.nan
    assert agreement(opinions).kappa == pytest.approx(expected, nan_ok=True)


def test_two_documents_outside_the_top_k_are_a_tie():
    documents = [f"d{i:02d}" for i in range(50)]
    ann = JudgedTopK(tuple((d,) for d in documents[:10]), 10, 0).labels(documents)
    bob = JudgedTopK(tuple((d,) for d in documents[10:20]), 10, 0).labels(documents)
    found = agreement([Opinion("q", "ann", ann), Opinion("q", "bob", bob)])
    pairs = 50 * 49 // 2
    assert found.n_pairs == pairs
    # Both say tie of two of the 30 that neither has; ann also of those that bob has, and vice versa.
    assert found.counts[0, 1, 1] == 30 * 29 // 2
    assert found.counts[0, 1].sum() == 40 * 39 // 2  # the paper's 63 % of ties: C(40,2) / C(50,2)
    assert found.agreed == 30 * 29 // 2
    assert found.strict == (0, 10 * 10)


def test_the_papers_figures_follow_from_its_tables():
    """Row-normalised Tables 2 and 3 with the shares of rows that symmetry gives, against the text."""
    tables = (
        ([[0.6749, 0.2766, 0.0485], [0.1138, 0.8198, 0.0664], [0.1047, 0.3779, 0.5174]], 0.745, 0.897),
        ([[0.6272, 0.2913, 0.0815], [0.2825, 0.5232, 0.1944], [0.1534, 0.3826, 0.4640]], 0.547, 0.831),
    )  # fmt: skip
    for printed, overall, without_ties in tables:
        matrix = np.array(printed)
        shares = np.array([matrix[1, 0] / matrix[0, 1], 1.0, matrix[1, 2] / matrix[2, 1]])
        counts = np.rint(1e6 * shares[:, None] * matrix).astype(np.int64)
        found = AssessorAgreement(
            ("q",),
            ("u", "v"),
            np.zeros(1, int),
            np.array([[0, 1]]),
            counts[None],
            counts + counts.T,
        )
        assert found.overall == pytest.approx(overall, abs=0.006)
        assert found.without_ties == pytest.approx(without_ties, abs=0.013)


def test_only_documents_that_all_assessors_had_are_compared():
    found = agreement(
        [
            Opinion("q", "ann", {"x": 2, "y": 1, "z": 0}),
            Opinion("q", "bob", {"x": 1, "y": 2}),
            Opinion("q2", "ann", {"x": 1, "y": 2}),
        ]
    )
    assert found.n_pairs == 1
    assert found.by_query() == {"q": (0, 1)}
    assert found.counts.tolist() == [[[0, 0, 1], [0, 0, 0], [0, 0, 0]]]


def test_who_comes_first_does_not_matter():
    opinions = opinions_of([[[0, 1, 2, 3, 1], [3, 0, 1, 2, 2], [1, 1, 0, 0, 3]]])
    one, other = agreement(opinions), agreement(opinions[::-1])
    assert one.counts.tolist() == other.counts.tolist()
    assert one.to_dict() == other.to_dict()


def test_an_assessor_has_one_opinion_of_a_query():
    with pytest.raises(DataError, match="'u' has two opinions on query 'q'"):
        agreement([Opinion("q", "u", {"x": 1, "y": 0})] * 2)


def test_nothing_to_compare_is_nan_and_none():
    found = agreement([Opinion("q", "ann", {"x": 1, "y": 0})])
    assert found.n_pairs == 0
    assert math.isnan(found.overall)
    assert math.isnan(found.kappa)
    told = found.to_dict()
    assert told["overall"] is None
    assert told["matrix"][">"] == {">": None, "~": None, "<": None}


# Kappa and alpha


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_kappa_is_that_of_scikit_learn(both):
    left, right = (list(side) for side in zip(*both, strict=True))
    table = np.zeros((4, 4))
    np.add.at(table, (left, right), 1)
    if len(set(left + right)) == 1:
        assert math.isnan(cohen_kappa(table))
    else:
        assert cohen_kappa(table) == pytest.approx(cohen_kappa_score(left, right))


def test_kappa_of_nothing_is_nan():
    assert math.isnan(cohen_kappa(np.zeros((3, 3))))


KRIPPENDORFF = [  # four observers, twelve units, "Computing Krippendorff's alpha-reliability" (2011), C
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


@pytest.mark.parametrize(
    ("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_own_example(level, printed):
    judged = [(u, row[u] - 1) for row in KRIPPENDORFF for u in range(12) if row[u] is not None]
    unit, value = zip(*judged, strict=True)
    o = coincidences(unit, value, 5)
    # The matrix as printed there: unit 12 has one value only and takes no part.
    assert o == pytest.approx(np.array([
        [7, 4/3, 1/3, 1/3, 0], [4/3, 10, 4/3, 1/3, 0], [1/3, 4/3, 8, 1/3, 0], [1/3, 1/3, 1/3, 4, 0],
        [0, 0, 0, 0, 3],
    ]))  # fmt: skip
    assert krippendorff_alpha(o, level) == pytest.approx(printed, abs=5e-4)


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=8))
def test_alpha_is_its_definition(units):
    judged = [(u, value) for u, values in enumerate(units) for value in values]
    unit, value = zip(*judged, strict=True) if judged else ((), ())
    o = coincidences(unit, value, 5)
    n = [sum(v == c for values in units if len(values) > 1 for v in values) for c in range(5)]

    def ordinal(a, b):
        low, high = min(a, b), max(a, b)
        return (sum(n[low : high + 1]) - (n[low] + n[high]) / 2) ** 2

    distances = {
        "nominal": lambda a, b: float(a != b),
        "ordinal": ordinal,
        "interval": lambda a, b: float((a - b) ** 2),
    }
    for level, distance in distances.items():
        expected = naive_alpha(units, distance)
        assert krippendorff_alpha(o, level) == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.integers(0, 4), max_size=12))
def test_rows_of_the_same_unit_are_paired(unit):
    a, b = same_units(np.array(unit, dtype=np.int64))
    expected = {
        (i, j) for i, j in itertools.combinations(range(len(unit)), 2) if unit[i] == unit[j]
    }
    assert sorted(zip(a.tolist(), b.tolist(), strict=True)) == sorted(expected)


def test_bad_requests_are_named():
    with pytest.raises(UnknownNameError, match="level"):
        krippendorff_alpha(np.eye(2), "ratio")
    with pytest.raises(LengthMismatchError, match="as many units as values"):
        coincidences([1, 2], [1], 2)
    with pytest.raises(DataError, match="agreed pairs must not exceed the total"):
        chi_square((3, 1), (2, 2))
    one = agreement(opinions_of([[[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]]))
    with pytest.raises(UsageError, match="resamples"):
        permutation_test(one, one, resamples=0)


# Between the tools


@given(st.tuples(*[st.integers(1, 500)] * 4))
def test_chi_square_is_that_of_scipy(cells):
    a, b, c, d = cells
    expected = chi2_contingency([[a, b], [c, d]], correction=False)
    found = chi_square((a, c), (a + b, c + d))
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)


def test_chi_square_without_a_difference_to_see_is_nan():
    assert math.isnan(chi_square((5, 5), (5, 5)).statistic)


def by_query(shares, prefix="q"):
    """Agreement of ten pairs a query, this many of them agreed."""
    counts = np.array([[[n, 10 - n, 0], [0, 0, 0], [0, 0, 0]] for n in shares])
    queries = tuple(f"{prefix}{i}" for i in range(len(shares)))
    between = np.tile([0, 1], (len(shares), 1))
    return AssessorAgreement(
        queries, ("u", "v"), np.arange(len(shares)), between, counts, np.eye(3)
    )


def test_queries_with_both_tools_are_exchanged_in_all_ways():
    first, second = [9, 8, 9, 7, 8, 9, 6], [5, 8, 6, 7, 4, 7, 7]
    difference = (np.array(first) - second) / 10
    signs = np.array(list(itertools.product([1, -1], repeat=7)))
    extreme = np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12
    test = permutation_test(by_query(first), by_query(second))
    assert test.method == "paired"
    assert test.queries == 7
    assert test.difference == pytest.approx(difference.mean())
    assert test.p_value == pytest.approx(extreme.mean())


def test_other_queries_are_shuffled():
    first, second = [9, 9, 8], [5, 6, 7]
    values = np.array(first + second) / 10
    observed = abs(values[:3].mean() - values[3:].mean())
    ways = [set(way) for way in itertools.combinations(range(6), 3)]
    extreme = [
        abs(values[list(w)].mean() - values[[i for i in range(6) if i not in w]].mean())
        >= observed - 1e-12
        for w in ways
    ]
    test = permutation_test(by_query(first), by_query(second, "r"), resamples=20_000, seed=1)
    assert test.method == "unpaired"
    assert test.p_value == pytest.approx(np.mean(extreme), abs=0.01)
    assert test == permutation_test(
        by_query(first), by_query(second, "r"), resamples=20_000, seed=1
    )


def test_too_few_queries_have_no_test():
    assert permutation_test(by_query([9]), by_query([5])) is None
    assert compare_tools(by_query([9]), by_query([5])).to_dict()["permutation"] is None


def test_the_chi_square_counts_each_pair_of_documents_once():
    test = compare_tools(by_query([9, 8]), by_query([5, 5]))
    assert test.overall == chi_square((17, 10), (20, 20))
    assert math.isnan(test.without_ties.statistic)  # all who prefer at all agree
    assert test.to_dict()["without_ties"]["statistic"] is None


# The top k


def top(*levels, k=3):
    return JudgedTopK(tuple(map(tuple, levels)), k, 0)


def test_overlap_is_the_share_that_both_have():
    found = top_k_overlap(
        [("q", top("a", "b", "c")), ("q", top("a", "d", "c")), ("r", top("a")), ("s", top("xy", "z")),
         ("s", top("y", "x"))]
    )  # fmt: skip
    assert found.pairs == 2
    assert found.mean == pytest.approx((2 / 3 + 2 * 2 / 5) / 2)
    assert found.least == pytest.approx(2 / 3)
    assert found.first == 1.0  # a and a; y is among x, y


def test_overlap_where_nothing_was_good():
    assert top_k_overlap([("q", top()), ("q", top())]).mean == 1.0
    half = top_k_overlap([("q", top()), ("q", top("a"))])
    assert (half.mean, half.first) == (0.0, 0.0)
    assert top_k_overlap([]).to_dict() == {"pairs": 0, "mean": None, "least": None, "first": None}
