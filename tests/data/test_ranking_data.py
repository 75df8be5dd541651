"""Ranking data: how it is made, checked, cut, scaled, split, labelled, and carried about."""

import copy
import dataclasses
import json
import math
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import data as room
from podium import errors, evaluate
from podium.data import (
    Groups,
    RankingData,
    Strings,
    concatenate,
    draw_order,
    draw_truth,
    kfold,
    make_synthetic,
    position_labels,
    read_parquet,
    rotate,
    scale_by_query,
    shuffled_queries,
    split,
    top_k,
)


def small(**options):
    """Two queries, five documents, two features."""
    given = {"qid": ["a", "a", "b", "b", "b"], **options}
    X = given.pop("X", [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])
    return RankingData.from_arrays(X, given.pop("y", [0, 1, 2, 0, 1]), **given)


def full(dtype=np.float64):
    """Data with every optional part."""
    X = np.array([[1, np.nan], [3, 4], [5, 6], [7, 8], [9, 0.1]], dtype=dtype)
    data = small(
        X=X, y=[2, 1, 3, 0, 0], docid=list("vwxyz"), query_weight=[0.5, 2], query_text=["one", "é"],
        doc_text={"title": list("VWXYZ"), "body": ["", "b", "two\nlines", '"', "e"]},
        feature_names=["bm25", "length"], topk=3, scaled="zscore", missing="nan",
    )  # fmt: skip
    comments = Strings.of([f"docid = {d} inc = 1" for d in "vwxyz"])
    values = {name: getattr(data, name) for name in RankingData.__dataclass_fields__}
    return RankingData(**{**values, "comment_column": comments})


def ranking_of(data, per_row):
    """{(query, document): value}, which does not depend on the order of rows."""
    qids = data.groups.spread(data.qids).tolist()
    return dict(zip(zip(qids, data.docids.tolist(), strict=True), per_row.tolist(), strict=True))


# Groups.


def test_groups_know_their_rows():
    groups = Groups.from_sizes([2, 0, 3])
    assert len(groups) == 3
    assert groups.n_rows == 5
    assert groups.offsets.tolist() == [0, 2, 2, 5]
    assert groups.sizes.tolist() == [2, 0, 3]
    assert groups.codes.tolist() == [0, 0, 2, 2, 2]
    assert groups.places.tolist() == [0, 1, 0, 1, 2]
    assert list(groups.slices()) == [slice(0, 2), slice(2, 2), slice(2, 5)]
    assert [part.tolist() for part in groups.split(np.arange(5))] == [[0, 1], [], [2, 3, 4]]
    assert groups.spread(np.array([10, 20, 30])).tolist() == [10, 10, 30, 30, 30]
    assert repr(groups) == "Groups(3 queries, 5 rows)"


def test_groups_are_equal_by_value():
    assert Groups.from_sizes([2, 3]) == Groups(np.array([0, 2, 5]))
    assert Groups.from_sizes([2, 3]) != Groups.from_sizes([3, 2])
    assert Groups.from_sizes([2]) != [0, 2]


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 3, 2], [[0, 1]], [0, -1]])
def test_offsets_must_rise_from_zero(offsets):
    with pytest.raises(errors.DataError, match="starts at 0 and never falls"):
        Groups(np.array(offsets, dtype=np.int64))


def test_groups_leave_the_callers_array_writable():
    offsets = np.array([0, 2, 5])
    groups = Groups(offsets)
    assert not groups.offsets.flags.writeable
    offsets[1] = 1
    assert offsets.flags.writeable


def test_groups_from_codes():
    groups, rows = Groups.from_codes(np.array([0, 0, 1, 2]), 3)
    assert (groups, rows) == (Groups.from_sizes([2, 1, 1]), None)
    groups, rows = Groups.from_codes(np.array([1, 0, 1, 0]), 2)
    assert groups == Groups.from_sizes([2, 2])
    assert rows.tolist() == [1, 3, 0, 2]


def test_groups_reduce():
    groups, values = Groups.from_sizes([2, 0, 1]), np.array([1.0, 3.0, -2.0])
    assert groups.reduce(np.add, values).tolist() == [4, 0, -2]
    assert groups.reduce(np.maximum, values, empty=-1).tolist() == [3, -1, -2]
    table = np.array([[1, 2], [3, 4], [5, 6]])
    assert groups.reduce(np.add, table).tolist() == [[1 + 3, 2 + 4], [0, 0], [5, 6]]
    assert Groups.from_sizes([]).reduce(np.add, np.zeros(0)).tolist() == []
    assert Groups.from_sizes([3]).reduce(np.add, values).tolist() == [2]


def test_groups_take():
    groups, rows = Groups.from_sizes([2, 1, 3]).take([2, 0])
    assert groups == Groups.from_sizes([3, 2])
    assert rows.tolist() == [3, 4, 5, 0, 1]


def test_groups_order_and_ranks():
    groups, scores = Groups.from_sizes([3, 2]), np.array([1.0, 2.0, 2.0, 0.0, 5.0])
    assert groups.order(scores).tolist() == [1, 2, 0, 4, 3]
    assert groups.order(scores, np.array([0, 9.0, 1, 0, 0])).tolist() == [2, 1, 0, 4, 3]
    assert groups.ranks(scores).tolist() == [3, 1, 2, 2, 1]


@pytest.mark.parametrize(("values", "got"), [(np.zeros(4), "4"), (np.float64(1), "a single value")])
def test_groups_check_lengths(values, got):
    message = f"expected 5 scores, one for each document, got {got}"
    with pytest.raises(errors.LengthMismatchError, match=message):
        Groups.from_sizes([2, 3]).check(np.asarray(values), "scores")
    with pytest.raises(errors.LengthMismatchError):
        Groups.from_sizes([2, 3]).split(np.asarray(values))


# Strings.

TEXTS = st.lists(st.text(max_size=5) | st.sampled_from(["", "é", "\udcff", "日本"]), max_size=8)


@given(TEXTS, st.data())
def test_strings_are_a_sequence_of_strings(texts, data):
    column = Strings.of(texts)
    assert len(column) == len(texts)
    assert list(column) == [column[i] for i in range(len(texts))] == texts
    assert column.to_array().tolist() == texts
    assert column.lengths.tolist() == [len(t.encode("utf-8", "surrogateescape")) for t in texts]
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=9)) if texts else []
    assert list(column.take(rows)) == [texts[row] for row in rows]
    assert list(column[1:]) == texts[1:]
    assert list(column[::-1]) == texts[::-1]
    assert list(Strings.concatenate([column, column.take(rows)])) == texts + [
        texts[r] for r in rows
    ]
    assert [bool(t in column) for t in texts] == [True] * len(texts)


def test_strings_compare_by_value():
    assert Strings.of(["ab", "c"]) == Strings.of(["ab", "c"])
    assert Strings.of(["ab", "c"]) != Strings.of(["a", "bc"])
    assert Strings.of(["ab"]) != ["ab"]
    assert Strings.of(["a", "b"])[-1] == "b"
    with pytest.raises(IndexError):
        Strings.of(["a"])[1]


def test_strings_hash_by_content():
    hashes = Strings.of(["a", "b", "a", ""]).hash(1)
    assert hashes.dtype == np.uint64
    assert hashes[0] == hashes[2]
    assert len(set(hashes.tolist())) == 3
    assert hashes[0] != Strings.of(["a"]).hash(2)[0]
    assert hashes[1] == Strings.of(["zz", "b"]).hash(1)[1]


# From arrays.


def test_from_arrays_with_everything():
    data = full()
    assert data.X[1:].tolist() == [[3, 4], [5, 6], [7, 8], [9, 0.1]]
    assert math.isnan(data.X[0, 1])
    assert data.qids.tolist() == ["a", "b"]
    assert data.groups == Groups.from_sizes([2, 3])
    assert data.docids.tolist() == list("vwxyz")
    assert data.comments[4] == "docid = z inc = 1"
    assert data.query_weight.tolist() == [0.5, 2]
    assert list(data.query_text) == ["one", "é"]
    assert list(data.doc_text["title"]) == list("VWXYZ")
    assert data.names() == ("bm25", "length")
    assert (data.topk, data.scaled, data.missing) == (3, "zscore", "nan")
    assert (len(data), data.n_queries, data.n_features) == (5, 2, 2)
    assert repr(data) == "RankingData(2 queries, 5 documents, 2 features, top-3 truth)"
    assert list(data.queries()) == [("a", slice(0, 2)), ("b", slice(2, 5))]


def test_from_arrays_with_nothing():
    data = RankingData.from_arrays([[1]], [2], qid=[7])
    assert data.docids is data.comments is data.query_weight is data.query_text is None
    assert data.feature_names is data.topk is data.scaled is data.source_rows is None
    assert dict(data.doc_text) == {}
    assert data.names() == ("f1",)
    assert repr(data) == "RankingData(1 query, 1 document, 1 feature, labels 2..2)"


def test_rows_of_a_query_may_lie_apart():
    data = RankingData.from_arrays(
        np.arange(5)[:, None], [0, 1, 2, 3, 4], qid=["b", "a", "b", "c", "a"], docid=list("01234"),
        query_weight=[1, 2, 3], query_text=["B", "A", "C"], doc_text={"t": list("vwxyz")},
    )  # fmt: skip
    assert data.qids.tolist() == ["b", "a", "c"]
    assert data.y.tolist() == data.X.ravel().tolist() == [0, 2, 1, 4, 3]
    assert data.docids.tolist() == list("02143")
    assert list(data.doc_text["t"]) == list("vxwzy")
    assert data.query_weight.tolist() == [1, 2, 3]
    assert list(data.query_text) == ["B", "A", "C"]
    assert data.source_rows.tolist() == [0, 2, 1, 4, 3]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_regroup_and_restore_are_inverse(qid):
    data = RankingData.from_arrays(np.zeros((len(qid), 1)), np.arange(len(qid)), qid=qid)
    rows = np.arange(len(qid))
    assert data.restore(data.y).tolist() == rows.tolist()
    assert data.regroup(rows).tolist() == data.y.tolist()
    assert data.regroup(data.restore(rows)).tolist() == rows.tolist()
    assert data.regroup(qid).tolist() == [int(q) for q in data.groups.spread(data.qids)]
    for method in (data.regroup, data.restore):
        with pytest.raises(errors.LengthMismatchError):
            method(np.arange(len(qid) + 1))


@pytest.mark.parametrize(
    ("qid", "qids"),
    [
        ([3, 3, 1], ["3", "1"]),
        (np.array([3, 3, 1], dtype=np.uint8), ["3", "1"]),
        ([3.0, 3.0, -1.0], ["3", "-1"]),
        (["x", "x", "1"], ["x", "1"]),
        (np.array(["x", "x", "1"], dtype=object), ["x", "1"]),
        ([b"x", b"x", "é".encode()], ["x", "é"]),
        (np.array([b"x", b"x", "é"], dtype=object), ["x", "é"]),
        (np.array([1, "1", 2], dtype=object), ["1", "2"]),
        ([b"\xff", b"\xff", b"\xfe"], ["\udcff", "\udcfe"]),
        (np.array([True, True, False], dtype=object), ["True", "False"]),
    ],
)
def test_query_ids_become_text(qid, qids):
    data = RankingData.from_arrays(np.zeros((3, 1)), [0, 1, 2], qid=qid)
    assert data.qids.tolist() == qids
    assert data.groups == Groups.from_sizes([2, 1])


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([1.5, 1.5, 2.0], "whole numbers"),
        ([np.nan, 1.0, 1.0], "whole numbers"),
        ([np.inf, 1.0, 1.0], "whole numbers"),
        ([1e30, 2e30, 1.0], "whole numbers"),
        ([True, True, False], "text or whole numbers, got dtype bool"),
        ([1j, 1j, 2j], "text or whole numbers, got dtype complex"),
        (np.array(["a", None, "b"], dtype=object), "a query id for every row"),
        (np.array(["a", np.nan, "b"], dtype=object), "a query id for every row"),
        ([[1], [2], [3]], "one query id per row, got an array of shape"),
    ],
)
def test_bad_query_ids(qid, message):
    with pytest.raises(errors.DataError, match=message):
        RankingData.from_arrays(np.zeros((3, 1)), [0, 1, 2], qid=qid)


@pytest.mark.parametrize("weights", [[0.5, 2], [0.5, 0.5, 2, 2, 2]])
def test_query_weights_per_query_or_per_row(weights):
    data = small(query_weight=weights)
    assert data.query_weight.tolist() == [0.5, 2]
    apart = small(qid=["b", "a", "b", "a", "b"], query_weight=[2, 0.5, 2, 0.5, 2])
    assert apart.query_weight.tolist() == [2, 0.5]


@pytest.mark.parametrize("texts", [["A", "B"], ["A", "A", "B", "B", "B"], Strings.of(["A", "B"])])
def test_query_text_per_query_or_per_row(texts):
    assert list(small(query_text=texts).query_text) == ["A", "B"]


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (
            "feature_names",
            5,
            "expected feature_names as a list of names, one for each feature, got 5",
        ),
        ("doc_text", 5, "expected doc_text as texts by field name, .*, got 5"),
        (
            "doc_text",
            [["a", "b"]],
            r"expected doc_text as texts by field name, .*, got \[\['a', 'b'\]\]",
        ),
    ],
)
def test_bad_names_and_texts_name_their_parameter(parameter, value, message):
    with pytest.raises(errors.UsageError, match=message):
        small(**{parameter: value})
    columns = {"X": np.eye(2), "y": [0, 1], "groups": Groups.from_sizes([2]), "qids": ["a"]}
    with pytest.raises(errors.UsageError, match=message):
        RankingData(**columns, **{parameter: value})


def test_bad_feature_names_of_new_features():
    with pytest.raises(errors.UsageError, match="expected feature_names as a list of names"):
        small().with_features(np.eye(5), 5)


def test_docids_are_text():
    assert small(docid=[1, 2, 3, 4, 5]).docids.tolist() == list("12345")
    assert small(docid=np.arange(5)).docids.tolist() == list("01234")
    assert small(docid=Strings.of("abcde")).docids.tolist() == list("abcde")


def test_types_of_numbers():
    assert small(X=np.ones((5, 2), dtype=np.float32)).X.dtype == np.float32
    assert small(X=np.ones((5, 2), dtype=np.int8)).X.dtype == np.float64
    assert small(X=np.ones((5, 2)), dtype=np.float32).X.dtype == np.float32
    assert small(X=np.ones((5, 2), dtype=np.float32), dtype="float64").X.dtype == np.float64
    assert small(y=np.arange(5, dtype=np.int8)).y.dtype == np.float64
    assert small(X=np.asfortranarray(np.ones((5, 2)))).X.flags.c_contiguous


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_features_become_dense(form):
    X = np.array([[0, 1.5], [0, 0], [2, 0], [0, 0], [0, 3]])
    sparse = getattr(scipy.sparse, form)(X)
    assert small(X=sparse, max_bytes=5 * 2 * 8).X.tolist() == X.tolist()
    assert small(X=sparse, max_bytes=5 * 2 * 4, dtype=np.float32).X.dtype == np.float32
    with pytest.raises(errors.MemoryLimitError, match="5 rows x 2 features"):
        small(X=sparse, max_bytes=5 * 2 * 8 - 1)


def test_a_huge_sparse_matrix_is_refused_before_it_is_made():
    X = scipy.sparse.csr_array((1_000_000, 1_000_000), dtype=np.float64)
    with pytest.raises(errors.MemoryLimitError, match="1,000,000 features"):
        RankingData.from_arrays(X, np.zeros(1_000_000), qid=np.zeros(1_000_000, dtype=int))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"y": [1, 2]}, errors.LengthMismatchError, "expected 5 labels, one for each row of X"),
        ({"y": [[1]] * 5}, errors.LengthMismatchError, "expected 5 labels"),
        ({"qid": [1, 2]}, errors.LengthMismatchError, "expected 5 query ids"),
        ({"docid": ["a"]}, errors.LengthMismatchError, "expected 5 values in docid"),
        (
            {"query_weight": [1, 2, 3]},
            errors.LengthMismatchError,
            r"2 values .* or 5 .* got \(3,\)",
        ),
        ({"query_weight": [1, 1, 2, 2, 3]}, errors.DataError, "one query_weight for all rows"),
        (
            {"query_weight": [1, -1]},
            errors.DataError,
            "finite, 0 or more .* got -1.0 for query 'b'",
        ),
        ({"query_weight": [1, np.nan]}, errors.DataError, "finite, 0 or more .* got nan"),
        ({"query_weight": [np.inf, 1]}, errors.DataError, "finite, 0 or more .* got inf"),
        ({"query_weight": [0, 0]}, errors.DataError, "not all 0"),
        ({"query_text": ["a"]}, errors.LengthMismatchError, "2 texts .* or 5 .* got 1"),
        ({"doc_text": {"t": ["a"]}}, errors.LengthMismatchError, r"5 values in doc_text\['t'\]"),
        ({"feature_names": ["a"]}, errors.LengthMismatchError, "expected 2 feature names, got 1"),
        ({"X": [1.0, 2, 3, 4, 5]}, errors.DataError, "2 dimensions"),
        ({"X": np.zeros((5, 2, 2))}, errors.DataError, "2 dimensions"),
        ({"X": np.zeros((0, 2)), "y": [], "qid": []}, errors.DataError, "document|query ids"),
        ({"dtype": np.int32}, errors.UsageError, "expected dtype float32 or float64"),
        ({"dtype": "float16"}, errors.UsageError, "expected dtype float32 or float64"),
        ({"missing": "zero"}, errors.UsageError, "missing='error' or 'nan', got 'zero'"),
        (
            {"y": [0, 1, np.nan, 0, 0]},
            errors.NonFiniteError,
            r"labels, got nan in row 2 \(query 'b'",
        ),
        (
            {"y": [0, np.inf, 0, 0, 0]},
            errors.NonFiniteError,
            r"labels, got inf in row 1 \(query 'a'",
        ),
        ({"y": [0, 1, 0, -2, 0]}, errors.NegativeLabelError, r"got -2 in row 3 \(query 'b'"),
        ({"topk": 1}, errors.DataError, "position labels 0..1 for top-1 truth"),
        ({"topk": 0}, errors.DataError, "position labels"),
        ({"scaled": 1}, errors.UsageError, "name of a scaling or none, got scaled=1"),
    ],
)
def test_bad_arrays(options, error, message):
    with pytest.raises(error, match=message):
        small(**options)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_features(value):
    X = np.ones((5, 2))
    X[3, 1] = value
    message = rf"expected finite features, got {value} in feature f2 of row 3 \(query 'b'\)"
    with pytest.raises(errors.NonFiniteError, match=re.escape(message).replace("\\\\", "")):
        small(X=X)
    if np.isnan(value):
        assert np.isnan(small(X=X, missing="nan").X[3, 1])
    else:
        with pytest.raises(errors.NonFiniteError):
            small(X=X, missing="nan")


def test_large_features_are_fine():
    X = np.full((5, 2), np.finfo(np.float64).max)
    assert small(X=X).X.max() == X.max()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"groups": Groups.from_sizes([2, 2])},
            errors.LengthMismatchError,
            "expected 4 values in X",
        ),
        ({"groups": Groups.from_sizes([2, 0, 3])}, errors.LengthMismatchError, "3 values in qids"),
        ({"qids": ["a", "a"]}, errors.DataError, "every query once"),
        (
            {"groups": Groups.from_sizes([2, 3, 0]), "qids": ["a", "b", "c"]},
            errors.EmptyDataError,
            "documents for every query, got none for query 'c'",
        ),
        ({"source_rows": np.arange(3)}, errors.LengthMismatchError, "5 values in source_rows"),
    ],
)
def test_the_class_itself_checks(changes, error, message):
    parts = {"X": np.ones((5, 2)), "y": np.ones(5), "groups": Groups.from_sizes([2, 3])}
    with pytest.raises(error, match=message):
        RankingData(**{**parts, "qids": ["a", "b"], **changes})


# Frozen.


def test_data_cannot_be_changed():
    data = full()
    for array in (data.X, data.y, data.qids, data.query_weight, data.groups.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    with pytest.raises(AttributeError):
        data.y = data.y
    with pytest.raises(TypeError):
        data.doc_text["title"] = Strings.of([])


def test_the_callers_arrays_stay_writable():
    X, y = np.ones((5, 2)), np.ones(5)
    weight, names = np.ones(2), np.array(["a", "b"], dtype=object)
    data = RankingData(X=X, y=y, groups=Groups.from_sizes([2, 3]), qids=names, query_weight=weight)
    for array in (X, y, names, weight):
        assert array.flags.writeable
        array[0] = array[0]
    assert not data.X.flags.writeable


# Equality, subsets, concatenation, other labels and features.


def test_equals_sees_every_part():
    data = full()
    assert data.equals(full())
    values = {name: getattr(data, name) for name in RankingData.__dataclass_fields__}
    changes = {
        "X": data.X + np.array([[0, 0], [1, 0], [0, 0], [0, 0], [0, 0]]),
        "y": [1, 1, 3, 0, 0],
        "groups": Groups.from_sizes([3, 2]),
        "qids": ["a", "c"],
        "docid_column": None,
        "comment_column": Strings.of("abcde"),
        "query_weight": [0.5, 1],
        "query_text": None,
        "doc_text": {"title": data.doc_text["title"]},
        "feature_names": ("bm25", "other"),
        "topk": None,
        "scaled": "minmax",
    }
    for name, value in changes.items():
        assert not data.equals(RankingData(**{**values, name: value})), name
    assert not data.equals(full(np.float32))
    assert data.equals(RankingData(**{**values, "source_rows": np.arange(5)}))
    assert not data.equals("something else")


def test_subset_takes_every_part_along():
    part = full().subset([1])
    assert part.equals(full().subset(np.array([False, True])))
    assert part.qids.tolist() == ["b"]
    assert part.y.tolist() == [3, 0, 0]
    assert part.docids.tolist() == list("xyz")
    assert part.comments[0] == "docid = x inc = 1"
    assert part.query_weight.tolist() == [2]
    assert list(part.query_text) == ["é"]
    assert list(part.doc_text["body"]) == ["two\nlines", '"', "e"]
    assert (part.names(), part.topk, part.missing) == (("bm25", "length"), 3, "nan")
    assert part.scaled == "zscore"
    assert full().subset([1, 0]).qids.tolist() == ["b", "a"]


def test_bad_subsets():
    for nothing in ([], [False, False]):
        with pytest.raises(errors.EmptyDataError, match="at least one query in a subset"):
            small().subset(nothing)
    with pytest.raises(errors.DataError, match="every query once"):
        small().subset([0, 0])


def test_concatenate_is_the_inverse_of_subset():
    for data in (full(), full(np.float32), make_synthetic(5, seed=3)):
        parts = [data.subset([q]) for q in range(data.n_queries)]
        assert concatenate(parts).equals(data)
        assert concatenate([data]).equals(data)


def test_concatenate_fills_and_drops():
    a = small(query_weight=[2, 3], docid="abcde", doc_text={"t": "abcde", "u": "abcde"})
    b = small(qid=[1, 1, 2, 2, 2], doc_text={"t": "vwxyz"}, missing="nan")
    both = concatenate([a, b])
    assert both.query_weight.tolist() == [2, 3, 1, 1]
    assert both.docids is None
    assert list(both.doc_text) == ["t"]
    assert list(both.doc_text["t"]) == list("abcdevwxyz")
    assert both.missing == "nan"
    assert both.groups == Groups.from_sizes([2, 3, 2, 3])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"X": np.ones((5, 3))}, "same n_features, got 2 and 3"),
        ({"feature_names": ["a", "b"]}, "same feature_names"),
        ({"topk": 2}, "same topk, got None and 2"),
        ({"scaled": "minmax"}, "one that is not said to be and one that is minmax"),
        ({"qid": ["b", "b", "c", "c", "c"]}, "every query once"),
    ],
)
def test_bad_concatenations(other, message):
    with pytest.raises(errors.DataError, match=message):
        concatenate([small(), small(**{"qid": [1, 1, 2, 2, 2], **other})])


def test_nothing_to_concatenate():
    with pytest.raises(errors.UsageError, match="at least one data set"):
        concatenate([])


def test_with_labels_and_with_features():
    data = full()
    graded = data.with_labels([4, 0, 1, 2, 3])
    assert (graded.y.tolist(), graded.topk) == ([4, 0, 1, 2, 3], None)
    assert graded.with_labels(data.y, topk=3).equals(data)
    assert data.with_labels([1, 0, 0, 0, 0], topk=1).topk == 1
    assert graded.scaled == data.with_features(data.X[:, :1], ["bm25"]).scaled == "zscore"
    assert data.with_features(data.X, scaled="rank").scaled == "rank"
    assert dataclasses.replace(data, X=data.X, scaled=None).scaled is None
    wide = data.with_features(np.ones((5, 3)), ["a", "b", "c"])
    assert (wide.names(), wide.X.shape, wide.docids.tolist()) == (
        ("a", "b", "c"),
        (5, 3),
        list("vwxyz"),
    )
    assert data.with_features(data.X.astype(np.float32)).X.dtype == np.float32
    assert data.with_features(data.X).equals(data)


def test_bad_labels_and_features():
    with pytest.raises(errors.LengthMismatchError):
        full().with_labels([1, 2])
    with pytest.raises(errors.NegativeLabelError):
        full().with_labels([-1, 0, 0, 0, 0])
    with pytest.raises(errors.DataError, match="top-1 truth"):
        full().with_labels([2, 0, 0, 0, 0], topk=1)
    with pytest.raises(errors.LengthMismatchError, match="expected 1 feature names, got 2"):
        full().with_features(np.ones((5, 1)))
    with pytest.raises(errors.NonFiniteError):
        small().with_features(np.full((5, 2), np.nan))


def test_synthetic_data_becomes_plain_when_changed():
    data = make_synthetic(3, seed=0)
    for other in (data.subset([0]), data.with_labels(data.y), data.with_features(data.X)):
        assert type(other) is RankingData


def test_docids_are_missed_by_name():
    with pytest.raises(errors.MissingDocidsError, match="a run needs document ids"):
        small().require_docids("a run")
    assert list(full().require_docids("a run")) == list("vwxyz")


# Data frames.

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
COLUMNS = {
    "qid": ["b", "a", "b"],
    "label": [1, 0, 2],
    "bm25": [0.5, 1.5, 2.5],
    "clicks": [3, 4, 5],
    "fresh": [True, False, True],
    "id": ["x", "y", "z"],
    "weight": [2.0, 1.0, 2.0],
    "text": ["B", "A", "B"],
    "title": ["T1", "T2", "T3"],
}
ROLES = {"doc": "id", "weight": "weight", "query_text": "text", "doc_text": ["title"]}


@pytest.mark.parametrize("kind", FRAMES)
def test_from_frame(kind):
    data = RankingData.from_frame(FRAMES[kind](COLUMNS), **ROLES)
    assert data.names() == ("bm25", "clicks", "fresh")
    assert data.X.tolist() == [[0.5, 3, 1], [2.5, 5, 1], [1.5, 4, 0]]
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [1, 2, 0]
    assert data.qids.tolist() == ["b", "a"]
    assert data.docids.tolist() == ["x", "z", "y"]
    assert data.query_weight.tolist() == [2, 1]
    assert list(data.query_text) == ["B", "A"]
    assert list(data.doc_text["title"]) == ["T1", "T3", "T2"]
    assert data.source_rows.tolist() == [0, 2, 1]


@pytest.mark.parametrize("kind", FRAMES)
def test_from_frame_with_other_names(kind):
    names = {"qid": "query", "label": "grade"}
    frame = FRAMES[kind]({names.get(name, name): values for name, values in COLUMNS.items()})
    data = RankingData.from_frame(frame, label="grade", query="query", features=["clicks"])
    assert data.names() == ("clicks",)
    assert data.X.ravel().tolist() == [3, 5, 4]
    assert data.docids is None


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_frames_read_back_the_same(kind, dtype):
    data = make_synthetic(6, n_features=3, seed=1)
    data = data.with_features(data.X.astype(dtype), ["a", "b", "c"])
    frame = data.to_frame(kind)
    assert isinstance(frame, pa.Table if kind == "pyarrow" else FRAMES[kind])
    assert RankingData.from_frame(frame, doc="docid").equals(data)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_plain_data(kind):
    frame = small().to_frame(kind)
    columns = frame.column_names if kind == "pyarrow" else list(frame.columns)
    assert columns == ["qid", "label", "f1", "f2"]
    again = RankingData.from_frame(frame)
    assert again.X.tolist() == small().X.tolist()
    assert again.names() == ("f1", "f2")


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_values_in_frames(kind):
    values = {"qid": [1, 1], "label": [0, 1], "x": [0.5, None], "n": [None, 2]}
    data = RankingData.from_frame(FRAMES[kind](values), missing="nan")
    np.testing.assert_array_equal(data.X, [[0.5, np.nan], [np.nan, 2]])
    with pytest.raises(errors.NonFiniteError, match="in feature x of row 1"):
        RankingData.from_frame(FRAMES[kind](values), features=["x"])


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])  # pandas' plain columns know no such thing
def test_missing_truth_values_in_frames(kind):
    values = {"qid": [1, 1, 1], "label": [0, 1, 0], "x": [None, True, False]}
    data = RankingData.from_frame(FRAMES[kind](values), missing="nan")
    np.testing.assert_array_equal(data.X, [[np.nan], [1], [0]])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_missing_values_in_pandas_own_types(dtype):
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": pd.array([1, None], dtype=dtype)})
    np.testing.assert_array_equal(RankingData.from_frame(frame, missing="nan").X, [[1], [np.nan]])


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_texts_in_frames(kind):
    values = {"qid": ["a", "a"], "label": [0, 1], "x": [1, 2], "id": ["d", None]}
    data = RankingData.from_frame(FRAMES[kind](values), doc="id")
    assert data.docids.tolist() == ["d", ""]


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_missing_texts_in_pandas_own_types(dtype):
    texts = pd.Series(["d", None], dtype=dtype)
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": [1, 2], "id": texts})
    assert RankingData.from_frame(frame, doc="id").docids.tolist() == ["d", ""]
    with pytest.raises(errors.DataError, match="a query id for every row"):
        RankingData.from_frame(frame, query="id", features=["x"])


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_query_ids_in_frames(kind):
    for ids in ([1, None], ["a", None]):
        frame = FRAMES[kind]({"qid": ids, "label": [0, 1], "x": [1, 2]})
        with pytest.raises(errors.DataError, match="query id"):
            RankingData.from_frame(frame)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("ids", [[1, 2], [1.0, 2.0], ["1", "2"]])
def test_query_ids_in_frames_are_those_of_arrays(kind, ids):
    frame = FRAMES[kind]({"qid": ids, "label": [0, 1], "x": [1, 2]})
    assert RankingData.from_frame(frame).qids.tolist() == ["1", "2"]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "grade"}, "expected columns grade; the table has qid, label, bm25"),
        ({"query": "query", "doc": "nr"}, "expected columns query, nr;"),
        ({"features": ["bm25", "bm26"]}, "expected columns bm26;"),
        ({}, "numbers, got text or dates in id, text, title; name the feature columns"),
        ({"features": ["id"]}, "numbers, got text or dates in id"),
        ({"features": []}, "expected feature columns beside label, qid, got none"),
    ],
)
def test_bad_frames(kind, options, message):
    with pytest.raises(errors.DataError, match=message):
        RankingData.from_frame(FRAMES[kind](COLUMNS), **options)


def test_feature_names_that_do_not_fit_a_frame():
    with pytest.raises(errors.DataError, match="features not called label; rename"):
        small(feature_names=["label", "x"]).to_frame()
    with pytest.raises(errors.DataError, match="features not called docid"):
        small(feature_names=["docid", "x"], docid="abcde").to_frame()
    with pytest.raises(errors.DataError):
        small(feature_names=["x", "x"]).to_frame()


def test_unknown_frames():
    with pytest.raises(errors.UsageError, match="backend pandas, polars, pyarrow, got 'dask'"):
        small().to_frame("dask")


# Parquet.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parquet_keeps_everything(tmp_path, dtype):
    data = full(dtype)
    data.to_parquet(tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet").equals(data)


def test_parquet_keeps_little(tmp_path):
    for data in (small(), make_synthetic(40, seed=2), small(query_text=["same", "same"])):
        data.to_parquet(tmp_path / "data.parquet")
        assert read_parquet(tmp_path / "data.parquet").equals(data)


def test_parquet_in_several_row_groups(tmp_path):
    data = make_synthetic(60, n_docs=5, n_features=3, seed=2)
    data.to_parquet(tmp_path / "data.parquet")
    pq.write_table(
        pq.read_table(tmp_path / "data.parquet"), tmp_path / "cut.parquet", row_group_size=7
    )
    assert pq.ParquetFile(tmp_path / "cut.parquet").num_row_groups == math.ceil(60 * 5 / 7)
    assert read_parquet(tmp_path / "cut.parquet").equals(data)


def test_parquet_without_features(tmp_path):
    data = small(X=np.empty((5, 0)))
    data.to_parquet(tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet").equals(data)


@pytest.mark.parametrize("part", ["qid", "docid", "query_text"])
def test_parquet_keeps_or_refuses_other_bytes(tmp_path, part):
    values = {"qid": ["\udcff", "\udcff", *"bbb"], "docid": ["\udcff", *"bcde"]}
    data = small(**{part: values.get(part, ["\udcff", "b"])})
    path = tmp_path / "data.parquet"
    try:
        data.to_parquet(path)
    except errors.DataError:
        assert not path.exists()
    else:
        assert read_parquet(path).equals(data)


def test_parquet_of_others(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    data = read_parquet(path, **ROLES)
    assert data.equals(RankingData.from_frame(pa.table(COLUMNS), **ROLES))
    assert read_parquet(path, features=["bm25"]).X.ravel().tolist() == [0.5, 2.5, 1.5]
    with pytest.raises(errors.DataError, match="got text or dates"):
        read_parquet(path)


def test_parquet_can_be_read_by_others(tmp_path):
    full().to_parquet(tmp_path / "data.parquet")
    frame = pd.read_parquet(tmp_path / "data.parquet")
    assert frame["qid"].tolist() == ["a", "a", "b", "b", "b"]
    assert frame["length"].tolist()[1:] == [4, 6, 8, 0.1]
    chosen = read_parquet(tmp_path / "data.parquet", features=["bm25"], doc="docid")
    assert chosen.X.ravel().tolist() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize(
    "names", [["label", "x"], ["x", "x"], ["qid", "x"], ["comment", "x"], ["docid", "x"]]
)
def test_feature_names_that_do_not_fit_parquet(tmp_path, names):
    with pytest.raises(errors.DataError, match="feature names that are unique and not qid, label"):
        small(feature_names=names).to_parquet(tmp_path / "data.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["query_weight", "query_text", "comment", "docid", "text:title"])
def test_a_feature_is_never_taken_for_something_else(tmp_path, name):
    data = small(feature_names=[name, "x"])
    path = tmp_path / "data.parquet"
    try:
        data.to_parquet(path)
    except errors.DataError:
        assert not path.exists()
    else:
        assert read_parquet(path).equals(data)


def damaged_parquet(data, path):
    """Ways in which a Parquet file can be broken."""
    data.to_parquet(path)
    whole = path.read_bytes()
    yield b""
    yield b"1 qid:1 1:1\n" * 10
    yield whole[: len(whole) // 2]
    yield whole[:-1]
    yield whole[4:]
    yield whole[:40] + bytes(200) + whole[240:]


def test_corrupt_parquet(tmp_path):
    path = tmp_path / "data.parquet"
    for content in damaged_parquet(make_synthetic(20, seed=0), path):
        path.write_bytes(content)
        with pytest.raises(errors.CorruptFileError, match=re.escape(f"{path}: expected a Parquet")):
            read_parquet(path)


def test_missing_parquet(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "none.parquet")


def test_parquet_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    path.write_bytes(b"precious")

    def fails(writer, table, **_):
        raise OSError("disk full")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fails)
    with pytest.raises(OSError, match="disk full"):
        small().to_parquet(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"precious"]


# Scaling.


def naive_minmax(values):
    known = [v for v in values if not math.isnan(v)]
    low, high = min(known, default=0), max(known, default=0)
    return [v if math.isnan(v) else (v - low) / (high - low) if high > low else 0.0 for v in values]


def naive_zscore(values):
    known = [v for v in values if not math.isnan(v)]
    mean = sum(known) / len(known) if known else 0
    sd = math.sqrt(sum((v - mean) ** 2 for v in known) / len(known)) if known else 0
    constant = len(set(known)) < 2
    return [v if math.isnan(v) else 0.0 if constant else (v - mean) / sd for v in values]


VALUES = st.floats(-1e3, 1e3).map(lambda v: round(v, 3)) | st.sampled_from(
    [0.0, 0.1, 1.0, math.nan]
)


@pytest.mark.parametrize(("method", "naive"), [("minmax", naive_minmax), ("zscore", naive_zscore)])
@given(st.data())
def test_scaling_against_a_loop(method, naive, data):
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    n = sum(sizes)
    X = np.array(data.draw(st.lists(VALUES, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    ranking = RankingData.from_arrays(X, np.zeros(n), qid=qid, missing="nan")
    expected = np.empty_like(X)
    for rows in ranking.groups.slices():
        for j in range(2):
            expected[rows, j] = naive(X[rows, j].tolist())
    scaled = scale_by_query(ranking, method)
    np.testing.assert_allclose(scaled.X, expected, rtol=1e-9, atol=1e-9)
    assert scaled.qids.tolist() == ranking.qids.tolist()
    if method == "minmax":
        known = scaled.X[~np.isnan(scaled.X)]
        assert known.min(initial=0) >= 0
        assert known.max(initial=0) <= 1


@pytest.mark.parametrize("method", ["minmax", "zscore"])
def test_scaling_keeps_float32_and_constants_become_zero(method):
    X = np.array([[1, 0.1], [2, 0.1], [3, 0.1], [1, 7], [1, 8]], dtype=np.float32)
    scaled = scale_by_query(small(X=X, qid=["a", "a", "a", "b", "b"]), method)
    assert scaled.X.dtype == np.float32
    assert scaled.X[:3, 1].tolist() == [0, 0, 0]
    assert scaled.X[3:, 0].tolist() == [0, 0]
    assert scaled.X[:3, 0] == pytest.approx(
        [0, 0.5, 1] if method == "minmax" else [-math.sqrt(1.5), 0, math.sqrt(1.5)]
    )


def test_scaling_is_the_same_when_repeated():
    data = scale_by_query(make_synthetic(20, seed=4))
    np.testing.assert_allclose(scale_by_query(data).X, data.X, atol=1e-12)


def test_unknown_scaling():
    with pytest.raises(errors.UnknownNameError, match="did you mean minmax"):
        scale_by_query(small(), "min-max")
    assert set(room.SCALERS) == {"minmax", "zscore"}


# Splitting.


def qid_sets(parts):
    return [set(part.qids.tolist()) for part in parts]


@pytest.mark.parametrize("n", [10, 11, 57])
def test_every_query_is_in_one_part(n):
    data = make_synthetic(n, n_features=2, seed=n)
    for parts in (split(data, [0.6, 0.2, 0.2]), [fold.test for fold in kfold(data, 5)]):
        sets = qid_sets(parts)
        assert sum(map(len, sets)) == n
        assert set.union(*sets) == set(data.qids)
        assert sum(len(part) for part in parts) == len(data)
    sizes = [part.n_queries for part in split(data, [0.6, 0.2, 0.2])]
    assert sizes == [round(0.6 * n), round(0.8 * n) - round(0.6 * n), n - round(0.8 * n)]


def test_a_fold_has_every_query_once():
    data = make_synthetic(23, n_features=2, seed=1)
    for fold in kfold(data, 4, seed=9):
        assert concatenate(list(fold)).n_queries == 23
        assert set.union(*qid_sets(fold)) == set(data.qids)
    tests = qid_sets([fold.test for fold in kfold(data, 4, seed=9)])
    assert sorted(map(len, tests)) == [5, 6, 6, 6]


def test_letors_rotation():
    parts = [RankingData.from_arrays([[0.0]], [1], qid=[f"S{i}"]) for i in range(1, 6)]
    folds = [[part.qids.tolist() for part in fold] for fold in rotate(parts)]
    assert folds == [
        [["S1", "S2", "S3"], ["S4"], ["S5"]],
        [["S2", "S3", "S4"], ["S5"], ["S1"]],
        [["S3", "S4", "S5"], ["S1"], ["S2"]],
        [["S4", "S5", "S1"], ["S2"], ["S3"]],
        [["S5", "S1", "S2"], ["S3"], ["S4"]],
    ]
    assert rotate(parts)[0]._fields == ("train", "valid", "test")


@given(st.permutations(range(12)), st.integers(0, 5))
@settings(max_examples=20)
def test_the_order_of_queries_does_not_matter(order, seed):
    data = make_synthetic(12, n_docs=2, n_features=1, seed=0)
    turned = data.subset(order)
    assert qid_sets(split(turned, [0.5, 0.5], seed=seed)) == qid_sets(
        split(data, [0.5, 0.5], seed=seed)
    )
    for a, b in zip(kfold(data, 3, seed=seed), kfold(turned, 3, seed=seed), strict=True):
        assert qid_sets(a) == qid_sets(b)


def test_parts_keep_the_order_of_the_data():
    data = make_synthetic(30, n_docs=2, n_features=1, seed=0)
    place = {qid: q for q, qid in enumerate(data.qids.tolist())}
    for part in split(data, [0.5, 0.3, 0.2]):
        places = [place[qid] for qid in part.qids.tolist()]
        assert places == sorted(places)


def test_seeds_give_other_parts():
    data = make_synthetic(30, n_docs=2, n_features=1, seed=0)
    assert sorted(shuffled_queries(data, 0).tolist()) == list(range(30))
    assert shuffled_queries(data, 0).tolist() == shuffled_queries(data, 0).tolist()
    assert shuffled_queries(data, 0).tolist() != shuffled_queries(data, 1).tolist()
    assert qid_sets(split(data, [0.5, 0.5])) != qid_sets(split(data, [0.5, 0.5], seed=1))


@pytest.mark.parametrize("fractions", [[], [0.5, 0.6], [1.5, -0.5], [0.5, 0.5, 0.0]])
def test_bad_fractions(fractions):
    with pytest.raises(errors.UsageError, match="fractions above 0 that add up to 1"):
        split(small(), fractions)


def test_too_few_queries_or_parts():
    with pytest.raises(errors.DataError, match=r"one query in each of 3 parts, got 2 queries; use"):
        split(small(), [0.4, 0.3, 0.3])
    with pytest.raises(errors.DataError, match="of 2 parts, got 2 queries cut as 2/0"):
        split(small(), [0.9, 0.1])
    with pytest.raises(errors.DataError, match="one query in each of 5 parts"):
        kfold(small(), 5)
    with pytest.raises(errors.UsageError, match="at least 2 folds"):
        kfold(small(), 1)
    with pytest.raises(errors.UsageError, match="at least 3 parts"):
        rotate([small(), small()])


def test_two_folds_hold_validation_queries_out_of_the_training_fold():
    data = make_synthetic(n_queries=16, seed=0)
    folds = kfold(data, 2, seed=3)
    # 8 queries are tested; of the other 8 a quarter validates.
    assert [[part.n_queries for part in fold] for fold in folds] == [[6, 2, 8], [6, 2, 8]]
    for fold in folds:
        assert sorted(q for part in fold for q in part.qids) == sorted(data.qids)
    assert sorted(q for fold in folds for q in fold.test.qids) == sorted(data.qids)


# Top-k truth.


@given(st.permutations(range(1, 8)), st.integers(1, 10))
def test_positions_to_labels_and_back(positions, k):
    labels = position_labels(positions, k)
    assert labels.tolist() == [max(0, k + 1 - p) for p in positions]
    data = RankingData.from_arrays(np.zeros((7, 1)), labels, qid=[1] * 7, topk=k)
    (rows,) = top_k(data)
    assert rows.tolist() == [positions.index(p) for p in range(1, min(k, 7) + 1)]
    assert position_labels(data.groups.ranks(data.y), k).tolist() == labels.tolist()


def test_top_k_of_several_queries():
    data = small(y=[1, 2, 0, 2, 1], topk=2)
    assert [rows.tolist() for rows in top_k(data)] == [[1, 0], [3, 4]]
    with pytest.raises(errors.MissingTruthError, match="top-k truth, got graded labels"):
        top_k(small())
    with pytest.raises(errors.UsageError, match="k of 1 or more, got 0"):
        position_labels([1], 0)


@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=30)
def test_a_drawn_order_follows_the_grades(seed, k):
    data = make_synthetic(8, n_docs=(1, 9), n_features=2, grades=(0.5, 0.3, 0.2), seed=seed % 100)
    positions = draw_order(data, seed)
    truth = draw_truth(data, k, seed)
    assert truth.topk == k
    for rows, best in zip(data.groups.slices(), top_k(truth), strict=True):
        order = np.argsort(positions[rows])
        assert sorted(positions[rows].tolist()) == list(range(1, rows.stop - rows.start + 1))
        assert (np.diff(data.y[rows][order]) <= 0).all()
        assert best.tolist() == (rows.start + order[:k]).tolist()


@pytest.mark.parametrize("docids", [True, False])
def test_a_drawn_order_does_not_depend_on_where_documents_stand(docids):
    data = make_synthetic(10, n_features=3, seed=5)
    qid, rng = data.groups.spread(data.qids), np.random.default_rng(0)
    rows = rng.permutation(len(data))

    def positions(order):
        names = data.docids[order] if docids else None
        moved = RankingData.from_arrays(data.X[order], data.y[order], qid=qid[order], docid=names)
        drawn = moved.restore(draw_order(moved, seed=3))
        return dict(zip(order.tolist(), drawn.tolist(), strict=True))

    assert positions(rows) == positions(np.arange(len(data)))


def test_a_draw_depends_on_the_document_not_on_the_others():
    data = make_synthetic(10, n_docs=6, seed=5)
    whole = ranking_of(data, draw_order(data, seed=1))
    part = data.subset([7, 2])
    assert ranking_of(part, draw_order(part, seed=1)).items() <= whole.items()


def test_tie_break_comes_before_chance():
    data = make_synthetic(20, n_docs=12, grades=(0.5, 0.5), seed=6)
    wish = np.random.default_rng(1).integers(0, 4, len(data))
    for seed in range(3):
        positions = draw_order(data, seed, tie_break=wish)
        for rows in data.groups.slices():
            keys = list(zip(data.y[rows], wish[rows], strict=True))
            ranked = [keys[i] for i in np.argsort(positions[rows])]
            assert ranked == sorted(keys, reverse=True)
    distinct = np.arange(len(data))
    assert (draw_order(data, 0, distinct) == draw_order(data, 1, distinct)).all()
    assert draw_truth(data, 3, 0, distinct).equals(draw_truth(data, 3, 1, distinct))
    with pytest.raises(errors.LengthMismatchError, match="values in tie_break"):
        draw_order(data, tie_break=[1, 2])


def test_seeds_draw_other_orders():
    data = make_synthetic(20, seed=6)
    assert (draw_order(data, 1) == draw_order(data, 1)).all()
    assert (draw_order(data, 1) != draw_order(data, 2)).any()


def test_draws_are_fair():
    data = RankingData.from_arrays(np.zeros((3, 1)), [1, 1, 1], qid=["q"] * 3, docid=list("abc"))
    n = 1500
    firsts = np.bincount([int(np.argmin(draw_order(data, seed))) for seed in range(n)], minlength=3)
    assert (np.abs(firsts - n / 3) < 5 * math.sqrt(n * 1 / 3 * 2 / 3)).all()


# Synthetic data.


def test_same_seed_same_bytes():
    for options in ({}, {"truth": "nonlinear"}, {"n_docs": "mq2008"}, {"n_docs": 7, "noise": 0.5}):
        a, b, c = (make_synthetic(20, seed=seed, **options) for seed in (1, 1, 2))
        assert a.equals(b)
        assert (a.X.tobytes(), a.y.tobytes()) == (b.X.tobytes(), b.y.tobytes())
        assert (a.weights == b.weights).all()
        assert not a.equals(c)


def test_sizes():
    data = make_synthetic(300, n_docs=(3, 6), n_features=4, seed=0)
    assert (data.n_queries, data.n_features, len(data.weights)) == (300, 4, 4)
    assert sorted(set(data.groups.sizes.tolist())) == [3, 4, 5, 6]
    assert set(make_synthetic(5, n_docs=9, seed=0).groups.sizes.tolist()) == {9}
    assert data.qids[:2].tolist() == ["q1", "q2"]
    assert data.docids[:2].tolist() == ["q1-d1", "q1-d2"]
    assert len(set(data.docids)) == len(data)


def test_sizes_like_mq2008():
    sizes = make_synthetic(3000, n_docs="mq2008", n_features=1, seed=0).groups.sizes
    assert sizes.min() == 5
    assert 60 < sizes.max() <= 121
    assert np.median(sizes) == 8
    assert sizes.mean() == pytest.approx(15211 / 784, rel=0.1)


@pytest.mark.parametrize("grades", [(0.8, 0.15, 0.05), (0.5, 0.5), (0.2, 0.2, 0.2, 0.2, 0.2)])
@pytest.mark.parametrize("n_docs", [3, 17])
def test_shares_of_grades(grades, n_docs):
    data = make_synthetic(4000, n_docs=n_docs, n_features=1, grades=grades, seed=0)
    shares = np.bincount(data.y.astype(int), minlength=len(grades)) / len(data)
    assert len(shares) == len(grades)
    # Each query's share is off by less than 1/n, independently of the others'.
    assert (np.abs(shares - grades) < 5 / n_docs / math.sqrt(4000)).all()


@pytest.mark.parametrize("truth", ["linear", "nonlinear"])
def test_without_noise_the_truth_ranks_perfectly(truth):
    data = make_synthetic(200, truth=truth, noise=0, seed=1)
    for metric in ("NDCG(empty='skip')@10", "NDCG(empty='skip')", "PairAccuracy"):
        values = evaluate(data, data.truth(data.X), metric)[metric].per_query
        assert np.nanmin(values) == np.nanmax(values) == 1


def test_noise_and_bends_hurt_a_linear_ranker():
    def quality(**options):
        data = make_synthetic(200, seed=1, **options)
        return evaluate(data, data.X @ data.weights, "NDCG(empty='skip')@10")[
            "NDCG(empty='skip')@10"
        ]

    assert quality(noise=0).mean == 1
    assert 1 > quality(noise=0.1).mean > quality(noise=2.0).mean
    assert quality(truth="nonlinear", noise=0).mean < 0.9


def test_the_truth_is_the_stated_formula():
    data = make_synthetic(3, truth="nonlinear", seed=1)
    x, w = data.X[4], data.weights
    by_hand = (
        sum(a * b for a, b in zip(x, w, strict=True)) + 2 * math.sin(3 * x[0]) + 2 * x[1] * x[2]
    )
    assert data.truth(data.X)[4] == pytest.approx(by_hand)


@pytest.mark.parametrize(
    "options",
    [
        {"n_queries": 0},
        {"n_features": 0},
        {"grades": (1.0,)},
        {"grades": (0.5, 0.6)},
        {"grades": (1.5, -0.5)},
        {"truth": "quadratic"},
        {"truth": "nonlinear", "n_features": 2},
        {"n_docs": "mq2007"},
        {"n_docs": 0},
        {"n_docs": (5, 4)},
    ],
)
def test_bad_synthetic_data(options):
    with pytest.raises(errors.UsageError, match="expected"):
        make_synthetic(**options)


# What must survive, and what must not be possible.


def test_pickle_and_deepcopy_give_the_same_data():
    data = make_synthetic(3, seed=0)
    full = RankingData.from_arrays(
        [[1.0], [np.nan]], [2, 1], qid=["a", "a"], docid=["x", "y"], query_weight=[2.0],
        query_text=["q"], doc_text={"title": ["t", "u"]}, topk=2, scaled="minmax",
        missing="nan",
    )  # fmt: skip
    for original in (data, full):
        for copied in (pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
            assert type(copied) is type(original)
            assert copied.equals(original)
            assert not copied.X.flags.writeable


@pytest.mark.parametrize("scaled", [1, "", ["minmax"]])
def test_parquet_with_an_odd_scaling_is_told_with_its_path(tmp_path, scaled):
    path = tmp_path / "odd.parquet"
    make_synthetic(3, seed=0).to_parquet(path)
    table = pq.read_table(path)
    kept = json.loads(table.schema.metadata[b"podium"])
    told = {b"podium": json.dumps({**kept, "scaled": scaled})}
    pq.write_table(table.replace_schema_metadata(told), path)
    with pytest.raises(errors.CorruptFileError, match=r"odd\.parquet.*scaled="):
        read_parquet(path)


def test_negative_query_numbers_count_from_the_end():
    data = make_synthetic(5, seed=0)
    assert data.subset([-2]).equals(data.subset([3]))
    with pytest.raises(errors.UsageError, match="from 0 to 4"):
        data.subset([5])
    with pytest.raises(errors.LengthMismatchError, match="mask of 5"):
        data.subset([True, False])


def test_concatenated_data_knows_its_input_rows():
    parts = [RankingData.from_arrays([[1.0]] * 3, [0, 1, 2], qid=[q, q + 1, q]) for q in (1, 3)]
    joined = concatenate(parts)
    assert joined.regroup(np.arange(6)).tolist() == [0, 2, 1, 3, 5, 4]


def test_later_changes_of_labels_do_not_reach_the_data():
    y, offsets = np.array([0.0, 1.0]), np.array([0, 2])
    data = RankingData(np.ones((2, 1)), y, Groups(offsets), np.array(["a"], dtype=object))
    y[0], offsets[1] = 7, 9
    assert data.y.tolist() == [0, 1]
    assert len(data) == 2


def test_errors_count_rows_as_the_input_does():
    with pytest.raises(errors.NegativeLabelError, match=r"in row 1 \(query 'b'\)"):
        RankingData.from_arrays([[0.0]] * 3, [0, -1, 0], qid=["a", "b", "a"])


def test_order_wants_a_score_for_each_row():
    with pytest.raises(errors.LengthMismatchError, match="expected 3 scores"):
        Groups.from_sizes([3]).order(np.array([1.0]))


def test_position_labels_are_whole():
    with pytest.raises(errors.DataError, match="whole position labels"):
        RankingData.from_arrays([[0.0]] * 2, [2, 0.5], qid=[1, 1], topk=2)


def test_seeds_shuffle_independently():
    data = RankingData.from_arrays([[0.0]] * 10, np.zeros(10), qid=np.arange(10))
    first, second = shuffled_queries(data, 0), shuffled_queries(data, 1)
    assert (second ^ 1).tolist() != first.tolist()
    positions = np.array([np.argsort(shuffled_queries(data, seed)) for seed in range(2000)])
    # The correlation of two queries' places is -1/9 in random orders of ten.
    correlation = np.corrcoef(positions.T)[~np.eye(10, dtype=bool)]
    assert np.abs(correlation + 1 / 9).max() < 5 / np.sqrt(2000)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5])
def test_bad_seeds(seed):
    for draw in (
        lambda: make_synthetic(3, seed=seed),
        lambda: split(make_synthetic(4), [0.5, 0.5], seed=seed),
        lambda: draw_order(make_synthetic(4), seed),
    ):
        with pytest.raises(errors.UsageError, match="expected a seed"):
            draw()


def test_parts_that_share_a_query_do_not_rotate():
    data = make_synthetic(6, seed=0)
    with pytest.raises(errors.DataError, match="query 'q2' in part 1 and in part 3"):
        rotate([data.subset([0, 1]), data.subset([2]), data.subset([1])])


def test_a_row_slice_of_a_podium_parquet_table(tmp_path):
    data = make_synthetic(4, seed=0)
    data.to_parquet(tmp_path / "all.parquet")
    table = pq.read_table(tmp_path / "all.parquet").slice(len(data) - int(data.groups.sizes[-1]))
    pq.write_table(table, tmp_path / "last.parquet")
    assert room.read_parquet(tmp_path / "last.parquet").equals(data.subset([3]))
    pq.write_table(table.drop_columns(["f2"]), tmp_path / "odd.parquet")
    with pytest.raises(errors.CorruptFileError, match="f2"):
        room.read_parquet(tmp_path / "odd.parquet")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_yes_and_no_in_frames_are_numbers_as_in_files(tmp_path, backend):
    text = "qid,label,stock,sale,f\n1,1,yes,TRUE,2\n1,0,No,false,1\n2,1,yes,,4\n2,0,no,true,3\n"
    (tmp_path / "d.csv").write_text(text)
    from_file = podium.read_table(tmp_path / "d.csv", missing="nan")
    columns = {"stock": ["yes", "No", "yes", "no"], "sale": ["TRUE", "false", None, "true"]}
    frame = make_native(
        backend, {"qid": [1, 1, 2, 2], "label": [1, 0, 1, 0], **columns, "f": [2, 1, 4, 3]}
    )
    data = podium.RankingData.from_frame(frame, missing="nan")
    np.testing.assert_array_equal(data.X, from_file.X)
    model = podium.Prepared(podium.RankSVM(), impute="median").fit(from_file)
    np.testing.assert_array_equal(model.predict(frame), model.predict(from_file))


def make_native(backend, columns):
    return pd.DataFrame(columns) if backend == "pandas" else pl.DataFrame(columns)
