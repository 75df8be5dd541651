"""MMR and xQuAD against a twin that looks at every pair at every step, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
from podium.postranking import METHODS, MMR, Hide, TopK, XQuAD, postrank
from podium.postranking.listing import Listing
from podium.postranking.methods.mmr_xquad import relevance
from podium.postranking.methods.problem import PostRankingProblem

SHOES = [
    {"id": "a", "brand": "x", "colour": ["red", "blue"]},
    {"id": "b", "brand": "x", "colour": ["red"]},
    {"id": "c", "brand": "y", "colour": ["blue"]},
    {"id": "d"},
]


def mmr_twin(rel, sim, trade_off, k):
    """Carbonell and Goldstein's formula, as it stands."""
    left, chosen = list(range(len(rel))), []
    while left and len(chosen) < k:

        def value(d):
            near = max((sim[d][e] for e in chosen), default=0.0)
            return trade_off * rel[d] - (1 - trade_off) * near

        best = max(value(d) for d in left)
        chosen.append(next(d for d in left if value(d) == best))
        left.remove(chosen[-1])
    return chosen + left


def xquad_twin(rel, covers, weights, trade_off, k):
    """Santos, Macdonald and Ounis' formula, as it stands."""
    left, chosen = list(range(len(rel))), []
    while left and len(chosen) < k:

        def value(d):
            new = np.array(weights, dtype=np.float64)
            for e in chosen:
                new = new * (1 - covers[e])
            return (1 - trade_off) * rel[d] + trade_off * (covers[d] * new).sum()

        best = max(value(d) for d in left)
        chosen.append(next(d for d in left if value(d) == best))
        left.remove(chosen[-1])
    return chosen + left


@st.composite
def lists(draw):
    """n, scores, quarters (sums of which are exact), a trade-off and k."""
    n = draw(st.integers(1, 9))
    scores = draw(st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n))
    quarters = st.integers(0, 4).map(lambda q: q / 4)
    width = draw(st.integers(1, 4))
    matrix = np.array(
        draw(st.lists(quarters, min_size=n * max(n, width), max_size=n * max(n, width)))
    )
    return (
        n,
        scores,
        matrix,
        width,
        draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        draw(st.integers(1, 10)),
    )


@given(lists())
def test_mmr_is_its_formula(case):
    n, scores, matrix, _, trade_off, k = case
    sim = matrix[: n * n].reshape(n, n)
    sim = (sim + sim.T) / 2
    got = postrank(list(range(n)), [], scores=scores, method=MMR(sim, trade_off, k))
    order = np.argsort(-np.array(scores), kind="stable")
    rel = relevance(PostRankingProblem(Listing.of(range(n)), np.array(scores)[order], ()))
    rows = mmr_twin(rel, sim[np.ix_(order, order)], trade_off, k)
    assert list(got) == order[rows].tolist()


@given(lists())
def test_xquad_is_its_formula(case):
    n, scores, matrix, width, trade_off, k = case
    covers = matrix[: n * width].reshape(n, width)
    weights = [1 / 4, 1 / 2, 1 / 4, 1][:width]
    share = np.array(weights) / sum(weights)
    method = XQuAD(covers, trade_off, k, weights)
    got = postrank(list(range(n)), [], scores=scores, method=method)
    order = np.argsort(-np.array(scores), kind="stable")
    rel = relevance(PostRankingProblem(Listing.of(range(n)), np.array(scores)[order], ()))
    assert list(got) == order[xquad_twin(rel, covers[order], share, trade_off, k)].tolist()


def test_mmr_by_hand():
    # rel 1, 0.9, 0.5, 0; brand alike: a b. After a: b 0.45 - 0.5, c 0.25, d 0. After c: b -0.05, d 0.
    result = postrank(SHOES, [], scores=[2.0, 1.9, 1.5, 1.0], method=MMR("brand"))
    assert "".join(result) == "acdb"
    assert result.scores == (4.0, 3.0, 2.0, 1.0)
    # Two places chosen, the others in order.
    assert "".join(postrank(SHOES, [], [2.0, 1.9, 1.5, 1.0], method=MMR("brand", k=2))) == "acbd"


def test_likeness_of_fields_is_the_mean_of_shares():
    # a and b: brand 1, colour 1/2; a and c: brand 0, colour 1/2. rel 1, 2/3, 1/3, 0, lambda = 0.6:
    # b 0.4 - 0.4 * 3/4 = 0.1, c 0.2 - 0.4 * 1/4 = 0.1, d 0 - 0: b and c equal but for rounding.
    near = {0.59: "c", 0.61: "b"}
    for trade_off, second in near.items():
        result = postrank(SHOES, [], method=MMR(("brand", "colour"), trade_off))
        assert result[:2] == ("a", second)
    assert postrank(SHOES, [], method="mmr").order == postrank(SHOES, [], method=MMR()).order
    assert postrank(SHOES, [], method=MMR()).order == (
        postrank(SHOES, [], method=MMR(["brand", "colour"])).order
    )


def test_xquad_by_hand():
    # Aspects x, y, P = 1/2 each; lambda = 0.5. rel 1, 2/3, 1/3, 0.
    # First a: 0.5 + 0.25. Then b: 1/3 + 0; c: 1/6 + 0.25 = 0.4167. Then b 1/3, d 0.
    assert "".join(postrank(SHOES, [], method=XQuAD("brand"))) == "acbd"
    # With y of no weight, c brings nothing new.
    assert "".join(postrank(SHOES, [], method=XQuAD("brand", weights={"x": 2}))) == "abcd"
    # y alone counts, and nothing else: c, then equal ones in their order.
    only = XQuAD("brand", 1.0, weights={"y": 1})
    assert "".join(postrank(SHOES, [], method=only)) == "cabd"


@pytest.mark.parametrize("method", [MMR("brand", 1.0), XQuAD("brand", 0.0)])
def test_relevance_alone_is_the_original_order(method):
    assert "".join(postrank(SHOES, [], scores=[1.0, 4.0, 2.0, 3.0], method=method)) == "bdca"


def test_equal_documents_keep_their_order():
    same = [{"id": i, "brand": "x"} for i in range(6)]
    for method in (MMR("brand"), XQuAD("brand")):
        assert list(postrank(same, [], scores=[1.0] * 6, method=method)) == list(range(6))


def test_vectors_functions_and_matrices_agree():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(8, 3))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    scores = rng.random(8)
    docs = list("abcdefgh")
    ways = [
        dict(zip(docs, 7.0 * vectors, strict=True)),
        cosine,
        lambda a, b: cosine[docs.index(a), docs.index(b)],
    ]
    found = {postrank(docs, [], scores=scores, method=MMR(way)).order for way in ways}
    assert len(found) == 1
    assert found != {postrank(docs, [], scores=scores).order}
    huge = {doc: vector * 1e200 for doc, vector in ways[0].items()}
    assert postrank(docs, [], scores=scores, method=MMR(huge)).order in found


def test_a_function_sees_documents_as_given():
    seen = []

    def alike(a, b):
        seen.append((a, b))
        return float(a.get("brand") == b.get("brand"))

    assert "".join(postrank(SHOES, [], [2.0, 1.9, 1.5, 1.0], method=MMR(alike))) == "acdb"
    assert all(a in SHOES and b in SHOES for a, b in seen)


def test_matrices_follow_hidden_documents_and_scores():
    covers = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    rules = [Hide("a", hard=True)]
    # Without a, by score: d (aspect 0), c (1), b (1).
    result = postrank(list("abcd"), rules, scores=[9.0, 1.0, 2.0, 3.0], method=XQuAD(covers, 0.9))
    assert "".join(result) == "dcb"
    alike = covers @ covers.T
    result = postrank(list("abcd"), rules, scores=[9.0, 2.0, 1.9, 3.0], method=MMR(alike, 0.5))
    assert "".join(result) == "dbc"


def test_documents_without_the_field_are_like_none_and_cover_nothing():
    docs = [{"id": 1}, {"id": 2}, {"id": 3, "brand": "x"}]
    assert list(postrank(docs, [], method=MMR("brand", 0.1))) == [1, 2, 3]
    assert list(postrank(docs, [], method=XQuAD("brand", 1.0))) == [3, 1, 2]
    one = [{"id": 1, "brand": None}, {"id": 2, "brand": "x"}]
    assert list(postrank(one, [], method=XQuAD("brand", 1.0))) == [2, 1]


def test_relevance_of_huge_scores():
    found = relevance(PostRankingProblem(Listing.of("abc"), np.array([1e308, 0.0, -1e308]), ()))
    assert found.tolist() == [1.0, 0.5, 0.0]


def test_a_single_document_stays():
    assert list(postrank([SHOES[0]], [], method=MMR("brand"))) == ["a"]
    assert list(postrank([SHOES[0]], [], scores=[3.0], method=XQuAD("brand"))) == ["a"]


def test_they_are_methods_by_name():
    assert (METHODS["mmr"], METHODS["xquad"]) == (MMR, XQuAD)
    with pytest.raises(UsageError, match="expected aspects"):
        postrank(SHOES, [], method="xquad")


@pytest.mark.parametrize("method", [MMR("brand"), XQuAD("brand")])
def test_soft_rules_are_refused(method):
    with pytest.raises(
        UsageError, match=f"{method.name} takes hard rules only, got the soft rule TopK"
    ):
        postrank(SHOES, [TopK("c", 1)], method=method)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: MMR("brand", 1.5), UsageError, "from 0 to 1"),
        (lambda: MMR("brand", k=0), UsageError, "k of 1 or more"),
        (lambda: XQuAD("brand", float("nan")), UsageError, "from 0 to 1"),
        (lambda: MMR("bran"), UnknownNameError, "bran"),
        (lambda: XQuAD("bran"), UnknownNameError, "bran"),
        (lambda: MMR(np.eye(3)), LengthMismatchError, "4 documents"),
        (lambda: MMR(np.ones((4, 5))), LengthMismatchError, "square"),
        (lambda: MMR(np.full((4, 4), np.nan)), NonFiniteError, "similarities"),
        (lambda: MMR(lambda a, b: float("inf")), NonFiniteError, "similarities"),
        (lambda: MMR({"a": [1.0]}), UsageError, "vector for each document"),
        (
            lambda: MMR({"a": [1.0], "b": [1.0, 2.0], "c": [1.0], "d": [1.0]}),
            LengthMismatchError,
            "same length",
        ),
        (lambda: XQuAD(np.full((4, 2), 1.5)), UsageError, "probabilities"),
        (lambda: XQuAD(np.ones((4, 2)), weights=[1.0]), UsageError, "each of 2 aspects"),
        (lambda: XQuAD(np.ones((4, 2)), weights=[1.0, -1.0]), UsageError, "0 or more"),
        (lambda: XQuAD("brand", weights=[1.0, 2.0]), UsageError, "mapping"),
    ],
)
def test_bad_input_is_told(make, error, text):
    with pytest.raises(error, match=text):
        postrank(SHOES, [], method=make())


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: MMR(trade_off="x"), UsageError, "from 0 to 1 for mmr, got 'x'"),
        (lambda: XQuAD("brand", None), UsageError, "from 0 to 1 for xquad, got None"),
        (lambda: MMR(trade_off=10**5000), UsageError, "from 0 to 1 for mmr, got a huge number"),
        (lambda: MMR(k="x"), UsageError, "k of 1 or more for mmr, got 'x'"),
        (lambda: MMR([[1], [1, 2]]), UsageError, r"numbers as similarities, got \[\[1\], \[1, 2"),
        (lambda: MMR([["x"] * 4] * 4), UsageError, "numbers as similarities"),
        (lambda: MMR([[10**400] * 4] * 4), NonFiniteError, "finite similarities"),
        (lambda: MMR(3), LengthMismatchError, "similarities for each of 4 documents"),
        (lambda: MMR(["brand", 3]), UsageError, "numbers as similarities"),
        (lambda: MMR(dict.fromkeys("abcd", "x")), UsageError, "numbers as vectors, got 'x'"),
        (lambda: MMR({doc: [[1], [1, 2]] for doc in "abcd"}), UsageError, "numbers as vectors"),
        (lambda: MMR(dict.fromkeys("abcd", 1.0)), LengthMismatchError, "same length"),
        (lambda: MMR(lambda a, b: "x"), UsageError, "numbers as similarities, got"),
        (lambda: MMR(lambda a, b: None), NonFiniteError, "finite similarities, got nan"),
        (lambda: MMR(lambda a, b: [1.0]), UsageError, r"a number as similarity, got \[1.0\]"),
        (lambda: MMR(lambda a, b: [1] * (1 + (a is b))), UsageError, "numbers as similarities"),
        (lambda: XQuAD([[1], [1, 2]]), UsageError, "numbers as aspects"),
        (lambda: XQuAD([["x"]] * 4), UsageError, "numbers as aspects"),
        (lambda: XQuAD(np.ones((4, 2)), weights=["x", "y"]), UsageError, "numbers as weights"),
        (lambda: XQuAD(np.ones((4, 2)), weights=[[1], [1, 2]]), UsageError, "numbers as weights"),
        (lambda: XQuAD(np.ones((4, 2)), weights=[[1], [2]]), UsageError, "each of 2 aspects"),
        (lambda: XQuAD(np.ones((4, 2)), weights=3), UsageError, "each of 2 aspects"),
        (lambda: XQuAD(np.ones((4, 2)), weights={"x": 1}), UsageError, "each of 2 aspects"),
        (lambda: XQuAD("brand", weights={"x": "y"}), UsageError, "numbers as weights"),
    ],
)
def test_what_is_no_number_is_told(make, error, text):
    with pytest.raises(error, match=text):
        postrank(SHOES, [], method=make())


@pytest.mark.parametrize("value", [{"x": 1}, np.array([1, 2]), [{"x": 1}]], ids=repr)
@pytest.mark.parametrize("method", [MMR("t"), MMR(), XQuAD("t")], ids=["field", "all", "aspects"])
def test_values_that_nothing_shares_are_told(method, value):
    with pytest.raises(DataError, match=r"text or numbers in the field 't', got .* for 'a'"):
        postrank([{"id": "a", "t": value}, {"id": "b", "t": "x"}], [], method=method)


def test_missing_values_are_like_none():
    docs = [{"id": at, "t": float("nan")} for at in "ab"] + [{"id": "c", "t": "x"}]
    assert "".join(postrank(docs, [], method=MMR("t", 0.1))) == "abc"
    assert "".join(postrank(docs, [], method=XQuAD("t", 1.0))) == "cab"


@pytest.mark.parametrize(
    "method",
    [MMR("brand"), MMR(), MMR({"a": [1.0]}), MMR(np.eye(4)), MMR(lambda a, b: 1.0), XQuAD("brand"),
     XQuAD(np.ones((4, 2)))],
    ids=["field", "all", "vectors", "matrix", "function", "aspects", "covers"],
)  # fmt: skip
def test_nothing_shown_is_nothing_to_choose(method):
    assert postrank(SHOES, [Hide(list("abcd"), hard=True)], method=method).order == ()
    assert postrank([], [], method=method).order == ()


def test_lists_without_fields_are_told():
    with pytest.raises(UsageError, match="fields"):
        postrank(list("abc"), [], method="mmr")
    with pytest.raises(UsageError, match="brand"):
        postrank(list("abc"), [], method=XQuAD("brand"))
