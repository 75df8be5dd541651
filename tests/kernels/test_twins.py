"""The native kernels compute what their NumPy twins compute, to the bit."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.kernels import reference
from tests.support.case_counts import soak_cases


def assert_same(a, b):
    """Equal to the bit: values, shapes, types, NaN and -0.0 included."""
    assert type(a) is type(b)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    else:
        assert a == b


def bytes_array(text):
    return np.frombuffer(text, dtype=np.uint8)


def packed(strings):
    offsets = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return bytes_array(b"".join(strings)), offsets


def test_both_backends_have_the_same_functions(native):
    native_functions = {name for name in vars(native) if not name.startswith("_")}
    assert native_functions == set(kernels.KERNELS)
    assert all(callable(getattr(kernels, name)) for name in kernels.KERNELS)


# Lists of documents. Few different values, so that there are ties.

SIZES = st.lists(st.integers(0, 12), max_size=8)
FINITE = st.floats(-1e6, 1e6) | st.sampled_from([-0.0, 0.0, 1.0, 1.0, 2.5, -3.0, 1e300, 5e-324])
ANY_SCORE = FINITE | st.sampled_from([np.inf, -np.inf])
DEPTH = st.integers(1, 15)
PROBABILITY = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])


@st.composite
def lists(draw, *columns):
    """Offsets, and a column of values for each strategy."""
    sizes = draw(SIZES)
    n = sum(sizes)
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    drawn = [np.array(draw(st.lists(c, min_size=n, max_size=n))) for c in columns]
    return offsets, *[v.astype(np.float64) if v.dtype != bool else v for v in drawn]


@given(lists(ANY_SCORE))
def test_order(native, data):
    offsets, scores = data
    assert_same(native.order(scores, None, offsets), reference.order(scores, None, offsets))


@given(lists(st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf]), ANY_SCORE))
def test_order_with_tie_keys(native, data):
    offsets, scores, ties = data
    assert_same(native.order(scores, ties, offsets), reference.order(scores, ties, offsets))


@given(lists(st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, 2.5])), st.integers(0, 2**32))
def test_only_the_order_itself_is_the_order(native, data, seed):
    offsets, scores = data
    order = reference.order(scores, None, offsets)
    other = order.copy()
    rng = np.random.default_rng(seed)
    for a, b in itertools.pairwise(offsets):
        if rng.random() < 0.5:
            rng.shuffle(other[a:b])
    for twin in (native, reference):
        assert twin.is_order(scores, order, offsets)
        assert twin.is_order(scores, other, offsets) == np.array_equal(order, other)
        if len(scores) > 1 and offsets[-1] - offsets[-2] > 1:
            assert not twin.is_order(np.full(len(scores), np.nan), order, offsets)


def test_order_is_what_it_says(native):
    scores = np.array([0.0, -0.0, np.inf, -np.inf, 0.0, 2.0])
    for twin in (native, reference):
        assert twin.order(scores, None, np.array([0, 6])).tolist() == [2, 5, 0, 1, 4, 3]
        assert twin.order(scores, None, np.array([0, 0, 3, 3, 6, 6])).tolist() == [2, 0, 1, 5, 4, 3]
        ties = np.array([3.0, 2.0, 0.0, 0.0, 1.0, 0.0])
        assert twin.order(scores, ties, np.array([0, 6])).tolist() == [2, 5, 4, 1, 0, 3]
        assert twin.order(scores[:0], None, np.array([0])).tolist() == []


@given(lists(FINITE, FINITE), st.lists(st.floats(0, 1), max_size=15))
def test_discounted_sum(native, data, discount):
    offsets, values, scores = data
    order, discount = reference.order(scores, None, offsets), np.array(discount, dtype=np.float64)
    assert_same(
        native.discounted_sum(values, order, offsets, discount),
        reference.discounted_sum(values, order, offsets, discount),
    )


@given(lists(FINITE), st.lists(st.floats(0, 1), max_size=15))
def test_ideal_sum(native, data, discount):
    offsets, values = data
    discount = np.array(discount, dtype=np.float64)
    assert_same(
        native.ideal_sum(values, offsets, discount),
        reference.ideal_sum(values, offsets, discount),
    )


GRADES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.0, 7.0, -1.0, np.inf, -np.inf])


@given(st.lists(GRADES | FINITE, max_size=60), st.integers(0, 70))
def test_ideal_sum_of_few_and_many_grades(native, values, depth):
    values, offsets = np.array(values, dtype=np.float64), np.array([0, len(values)])
    discount = np.ldexp(1.0, -np.arange(depth))
    with np.errstate(invalid="ignore"):
        expected = reference.ideal_sum(values, offsets, discount)
    ideal = native.ideal_sum(values, offsets, discount)
    assert np.isnan(ideal[0]) if np.isnan(expected[0]) else ideal.tobytes() == expected.tobytes()


@given(lists(GRADES, FINITE), st.lists(st.floats(0, 1), max_size=15))
def test_hits(native, data, discount):
    offsets, labels, scores = data
    order, discount = reference.order(scores, None, offsets), np.array(discount, dtype=np.float64)
    n_relevant = [int((labels[a:b] >= 1).sum()) for a, b in itertools.pairwise(offsets.tolist())]
    for twin in (native, reference):
        relevant, counts = twin.find_relevant(labels, 1.0, offsets)
        assert_same(relevant, labels >= 1)
        assert_same(counts, np.array(n_relevant, dtype=np.int64))
        assert_same(
            twin.discounted_sum(relevant, order, offsets, discount),
            reference.discounted_sum(relevant.astype(np.float64), order, offsets, discount),
        )


@given(lists(GRADES))
@example((np.array([0, 4, 4, 5]), np.array([0.5, 7.0, 0.5, -2.0, 1.0])))
def test_label_levels(native, data):
    offsets, labels = data
    order = reference.order(labels, None, offsets)
    for twin in (native, reference):
        levels, pairs = twin.label_levels(labels, order, offsets)
        for q, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
            own = labels[a:b].tolist()
            assert levels[a:b].tolist() == [len({v for v in own if v < u}) for u in own]
            assert pairs[q] == sum(v < u for u in own for v in own)


@given(lists(st.booleans(), FINITE), DEPTH)
def test_precision_sum(native, data, depth):
    offsets, relevant, scores = data
    relevant, order = relevant.astype(bool), reference.order(scores, None, offsets)
    assert_same(
        native.precision_sum(relevant, order, offsets, depth),
        reference.precision_sum(relevant, order, offsets, depth),
    )


@given(lists(st.booleans(), FINITE), DEPTH)
def test_first_place(native, data, depth):
    offsets, relevant, scores = data
    relevant, order = relevant.astype(bool), reference.order(scores, None, offsets)
    assert_same(
        native.first_place(relevant, order, offsets, depth),
        reference.first_place(relevant, order, offsets, depth),
    )


@given(lists(PROBABILITY, FINITE), DEPTH)
def test_cascade(native, data, depth):
    offsets, stop, scores = data
    order = reference.order(scores, None, offsets)
    assert_same(
        native.cascade(stop, order, offsets, depth),
        reference.cascade(stop, order, offsets, depth),
    )


@given(lists(ANY_SCORE, st.sampled_from([-0.0, 0.0, 1.0, 2.0, np.inf, -np.inf])))
def test_pair_counts(native, data):
    offsets, a, b = data
    counts = native.pair_counts(a, b, offsets)
    assert_same(counts, reference.pair_counts(a, b, offsets))
    # What is left of all pairs are those tied in both.
    sizes = np.diff(offsets)
    assert (counts.sum(axis=1) <= sizes * (sizes - 1) // 2).all()


def test_pair_counts_are_what_they_say(native):
    a, b = np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0, 5.0])
    for twin in (native, reference):
        # (0,3) (1,3) (2,3) agree, (0,2) disagree, (1,2) tied in a, (0,1) tied in b.
        assert twin.pair_counts(a, b, np.array([0, 4])).tolist() == [[3, 1, 1, 1]]


@given(st.lists(st.integers(0, 1023) | st.floats(0, 1023), max_size=40))
@example([0, 1, 2, 10, 52, 53, 54, 100, 1023])
def test_exp2_gain(native, labels):
    labels = np.array(labels, dtype=np.float64)
    gains = native.exp2_gain(labels)
    assert gains.dtype == np.float64
    whole = labels == np.floor(labels)
    assert gains[whole].tolist() == [float(2 ** int(y) - 1) for y in labels[whole]]
    assert_same(gains[whole], reference.exp2_gain(labels)[whole])
    # 2^0.3 comes from two libraries (libm, NumPy's vector code): within an ulp or two of 2^y.
    room = 4 * np.finfo(np.float64).eps * np.exp2(labels)
    assert (np.abs(gains - reference.exp2_gain(labels)) <= room).all()


def big_lists(n_queries=500):
    """Lists of 0 to 59 documents, and one of 5,000, which is sorted in another way."""
    rng = np.random.default_rng(5)
    offsets = np.cumsum([0, *rng.integers(0, 60, n_queries), 5000])
    n = offsets[-1]
    return {
        "offsets": offsets,
        "scores": rng.integers(0, 30, n) / 7,
        "ties": rng.random(n),
        "values": rng.random(n),
        "relevant": rng.random(n) < 0.3,
        "discount": 1 / np.log2(2 + np.arange(10)),
        "ids": packed([b"d%d" % i for i in rng.integers(0, 40, n)]),
    }


def run_all(twin, n_queries=500):
    """Every kernel that works query by query."""
    d = big_lists(n_queries)
    offsets, order = d["offsets"], twin.order(d["scores"], None, d["offsets"])
    return (
        order,
        twin.order(d["scores"], d["ties"], offsets),
        twin.discounted_sum(d["values"], order, offsets, d["discount"]),
        twin.ideal_sum(d["values"], offsets, d["discount"]),
        twin.ideal_sum(d["relevant"].astype(np.float64), offsets, d["discount"]),
        twin.discounted_sum(d["relevant"], order, offsets, d["discount"]),
        *twin.find_relevant(d["values"], 0.5, offsets),
        *twin.label_levels(d["scores"], order, offsets),
        twin.precision_sum(d["relevant"], order, offsets, 10),
        twin.precision_sum(d["relevant"], order, offsets, 4000),
        twin.trec_order(d["scores"].astype(np.float32), *d["ids"], offsets),
        twin.match_strings(*d["ids"], offsets, *d["ids"], offsets),
        twin.first_place(d["relevant"], order, offsets, 10),
        twin.cascade(d["values"], order, offsets, 10),
        twin.pair_counts(d["scores"], d["values"], offsets),
    )


def test_lists_of_every_length_and_nearly_equal_scores(native):
    rng = np.random.default_rng(7)
    sizes = [*range(300), 1000, 4095, 4096, 4097]
    offsets = np.cumsum([0, *sizes])
    n = offsets[-1]
    for scores in (
        rng.normal(size=n),
        1 + rng.integers(0, 5000, n) * 2.0**-52,  # differ in the last bits only
        rng.choice([-np.inf, -1.0, -0.0, 0.0, 1e-310, 1.0, np.inf], n),
    ):
        assert_same(native.order(scores, None, offsets), reference.order(scores, None, offsets))


@given(st.lists(st.lists(st.binary(max_size=3), max_size=8), max_size=5))
def test_string_places(native, lists):
    strings = [s for query in lists for s in query]
    bounds = np.cumsum([0, *map(len, strings)]).astype(np.int64)
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    packed = np.frombuffer(b"".join(strings), dtype=np.uint8)
    found = native.string_places(packed, bounds, offsets)
    assert_same(found, reference.string_places(packed, bounds, offsets))
    for query, a in zip(lists, offsets.tolist(), strict=False):
        ranked = sorted(zip(found[a : a + len(query)].tolist(), query, strict=True))
        assert [s for _, s in ranked] == sorted(query, reverse=True)


DOCUMENT_IDS = st.text("ab\x00é", max_size=4) | st.integers(0, 9).map("document-{:030d}".format)


@st.composite
def columns_of_ids(draw, n_queries=3):
    """Packed document ids, with offsets of queries."""
    queries = [draw(st.lists(DOCUMENT_IDS, max_size=12)) for _ in range(n_queries)]
    ids = [docid.encode() for query in queries for docid in query]
    return *packed(ids), np.cumsum([0, *map(len, queries)], dtype=np.int64)


@given(columns_of_ids(), columns_of_ids())
def test_match_strings(native, column, others):
    matched = native.match_strings(*column, *others)
    assert_same(matched, reference.match_strings(*column, *others))
    itself = native.match_strings(*column, *column)
    assert (itself <= np.arange(len(itself))).all()
    assert (itself >= 0).all()


@pytest.mark.parametrize("form", [b"document-%05d", b"d%06d", b"a rather long document id %06d"])
def test_many_ids_that_differ_at_their_end_are_told_apart(native, form):
    ids = [form % i for i in range(50_000)]
    column = *packed(ids), np.array([0, len(ids)])
    assert (native.match_strings(*column, *column) == np.arange(len(ids))).all()


ODD, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix_word(state, word):
    """One step of the hash of the kernel's table, which takes eight bytes."""
    state = (state ^ int.from_bytes(word, "little")) * ODD & MASK
    return state ^ state >> 29


def test_strings_with_one_hash_are_not_taken_for_each_other(native):
    """Two strings of 16 bytes: the last eight undo the difference of the first eight."""
    heads, tail = (b"document", b"other---"), b"--one---"
    state, other_state = (mix_word(16 * ODD & MASK, head) for head in heads)
    other_tail = int.from_bytes(tail, "little") ^ state ^ other_state
    one, two = heads[0] + tail, heads[1] + other_tail.to_bytes(8, "little")
    assert mix_word(state, one[8:]) == mix_word(other_state, two[8:])
    offsets = np.array([0, 2])
    both = (*packed([one, two]), offsets)
    for others, rows in ([[one, two], [0, 1]], [[two, one], [1, 0]], [[two, b"x"], [-1, 0]]):
        assert native.match_strings(*both, *packed(others), offsets).tolist() == rows


@given(columns_of_ids(), st.data())
def test_trec_order(native, column, data):
    n = len(column[1]) - 1
    values = st.sampled_from([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, 1e-45])
    scores = np.array(data.draw(st.lists(values, min_size=n, max_size=n)), dtype=np.float32)
    order = native.trec_order(scores, *column)
    assert_same(order, reference.trec_order(scores, *column))


def test_trec_order_is_what_it_says(native):
    scores = np.array([1.0, 2.0, 1.0, 1.0], dtype=np.float32)
    column = (*packed([b"a", b"a", b"c", b"b"]), np.array([0, 4]))
    for twin in (native, reference):
        assert twin.trec_order(scores, *column).tolist() == [1, 2, 3, 0]


def test_many_queries(native):
    assert_same(run_all(native), run_all(reference))


def test_threads_change_nothing(native):
    def output(threads):
        with threadpool_limits(threads):
            gains = native.exp2_gain(np.linspace(0, 60, 1_000_001))
            return [array.tobytes() for array in (*run_all(native, 20_000), gains)]

    assert output(1) == output(2)


# Strings and lines.


@given(st.lists(st.binary(max_size=30), max_size=10), st.integers(0, 2**64 - 1))
def test_hash_strings(native, strings, seed):
    text, offsets = packed(strings)
    assert_same(
        native.hash_strings(text, offsets, seed), reference.hash_strings(text, offsets, seed)
    )


@given(st.integers(30, 70), st.integers(0, 40), st.integers(0, 3), st.integers(0, 2**64 - 1))
def test_hash_strings_of_one_length(native, n, length, n_longer, seed):
    text = np.random.default_rng(length).integers(0, 256, n * length + n_longer).astype(np.uint8)
    offsets = np.append(np.arange(n) * length, len(text)).astype(np.int64)
    assert_same(
        native.hash_strings(text, offsets, seed), reference.hash_strings(text, offsets, seed)
    )


@given(st.integers(0, 11), st.integers(1, 300), st.integers(0, 2**64 - 1))
def test_hash_rows(native, n, width, seed):
    rows = np.random.default_rng(width).integers(0, 256, (n, width)).astype(np.uint8)
    assert_same(native.hash_rows(rows, seed), reference.hash_rows(rows, seed))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hash_rows_of_few_different_numbers(native, dtype):
    digits = (
        np.arange(2**12)[:, None] >> np.arange(12) & 1
    )  # doubles that differ in their upper bits only
    for columns in (12, 13, 40):
        X = np.zeros((len(digits), columns), dtype=dtype)
        X[:, :12] = digits
        X[:, -1] += X[:, 0]
        assert len(np.unique(native.hash_rows(X.view(np.uint8), 0))) == len(X)


def test_hash_rows_is_uniform(native):
    rows = np.arange(2**14, dtype=np.float64)[:, None].repeat(33, axis=1).view(np.uint8)
    hashes = native.hash_rows(rows, 7)
    for shift in (0, 30, 56):
        counts = np.bincount((hashes >> np.uint64(shift)).astype(np.uint8), minlength=256)
        # 256 cells of 64 on average: 99.9999% of chi-squares with 255 degrees are below 380.
        assert ((counts - 64) ** 2 / 64).sum() < 380
    assert (native.hash_rows(rows, 8) != hashes).all()
    assert (native.hash_rows(rows[:, :-1].copy(), 7) != hashes).all()


def test_hash_is_the_same_on_every_machine(native):
    text, offsets = packed([b"", b"a", b"GX008-86-4444840"])
    mask = 2**64 - 1

    def spread(h):
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
        return h ^ (h >> 31)

    fnv_of_a = 0xAF63DC4C8601EC8C  # the published FNV-1a test vector
    for twin in (native, reference):
        hashes = twin.hash_strings(text, offsets, 0).tolist()
        assert hashes[:2] == [spread(0xCBF29CE484222325), spread(fnv_of_a)]
        assert len(set(hashes)) == 3


@given(st.binary(max_size=200) | st.text("ab\n\r", max_size=60).map(str.encode))
@example(b"")
@example(b"\n")
@example(b"a\n\nb")
def test_count_lines(native, text):
    lines = native.count_lines(bytes_array(text))
    assert_same(lines, reference.count_lines(bytes_array(text)))
    assert lines == text.count(b"\n") + (not text.endswith(b"\n") and text != b"")


# LETOR text.

DIGITS = "[0-9]{0,12}"
NUMBERS = (
    st.from_regex(rf"[+-]?([0-9]{DIGITS}\.?{DIGITS}|\.[0-9]{DIGITS})", fullmatch=True)
    | st.from_regex(r"[+-]?[0-9]{1,17}(\.[0-9]{0,25})?([eE][+-]?1?[0-9])?", fullmatch=True)
    | st.floats(-3e38, 3e38).map(repr)
    | st.floats(0, 1, width=32).map(lambda v: f"{v:.6f}")
    | st.sampled_from(["0", "-0", "1e-400", "4.9e-324", "2e-324", "1.17549435e-38", "007", "NULL"])
)
LABELS = st.sampled_from(
    ["0", "1", "2", "0.5", "1e2", "+3", "4.", ".25", "-0", "12345678901234567"]
)
SPACES = st.sampled_from([" ", " ", " ", "\t", "  ", " \t ", "\r "])
WORDS = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n#"), min_size=1, max_size=8)
COMMENTS = st.sampled_from(
    [
        "",
        "",
        "#",
        "# ",
        "#docid = GX1 inc = 1",
        "#one",
        "# two words",
        "#x docid=A#b",
        "#docid",
        "#docid =",
    ]
) | WORDS.map("# docid =\t{} prob = 2".format)
ENDS = st.sampled_from(["\n", "\n", "\r\n", " \n", "\n\n", "\n# a comment\n", "\n \t\r\n"])


@st.composite
def letor_lines(draw):
    space = draw(SPACES)
    ids = draw(st.lists(st.integers(1, 14), unique=True, max_size=6))
    fields = [draw(LABELS), "qid:" + draw(st.sampled_from(["1", "2", "a:b", "é"]) | WORDS)]
    fields += [f"{draw(st.sampled_from(['', '0', '00']))}{j}:{draw(NUMBERS)}" for j in ids]
    comment = draw(COMMENTS)
    return space.join([*fields, comment] if comment else fields) + draw(ENDS)


LETOR = st.lists(letor_lines(), max_size=6).map("".join).map(str.encode)


def parse_both(native, text, width, dtype, *, max_feature=40, null_is_nan=True):
    """Both twins' answers and matrices; the matrices start with rubbish in them."""
    out = []
    for twin in (native, reference):
        x = np.full((text.count(b"\n") + 1, width), 7, dtype=dtype)
        out.append((*twin.parse_letor(bytes_array(text), x, max_feature, null_is_nan), x))
    return out


@given(LETOR, st.sampled_from([0, 3, 14, 20]), st.sampled_from([np.float64, np.float32]))
def test_parse_letor(native, text, width, dtype):
    a, b = parse_both(native, text, width, dtype)
    assert a[7] is None
    assert_same(a, b)


SPLICES = st.tuples(
    st.integers(0, 300),
    st.integers(0, 6),
    st.binary(max_size=3)
    | st.sampled_from(
        b"|:| |#|\n|\r|NULL|nan|-inf|1e999|-1| 3:1 3:2|qid:| 0:1| 41:1| 99999999999:1|1e39"
        b"|3.4028235677973366e38".split(b"|")
    ),
)


@settings(max_examples=soak_cases(400))
@given(
    LETOR,
    st.lists(SPLICES, min_size=1, max_size=3),
    st.sampled_from([np.float64, np.float32]),
    st.booleans(),
)
def test_parse_letor_mutated(native, text, splices, dtype, null_is_nan):
    for place, length, insert in splices:
        at = place % (len(text) + 1)
        text = text[:at] + insert + text[at + length :]
    a, b = parse_both(native, text, 40, dtype, null_is_nan=null_is_nan)
    assert_same(a, b)


@pytest.mark.parametrize("width", [0, 4, 5, 40])
def test_a_feature_twice_beyond_the_width(native, width):
    a, b = parse_both(native, b"1 qid:1 5:1 5:2\n2 qid:1 1:1\n", width, np.float64)
    assert_same(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "number",
    [
        *[
            "0e999999",
            "0.0e400",
            "1e-99999999999999999999",
            "0e99999999999999999999",
            "1e308",
            "1e309",
        ],
        *["1.7976931348623158e308", "1.7976931348623159e308", "3.4028235677973366e38"],
        *["3.4028236e38", "3.4028235677973362e38", "9007199254740993", "123456789012345"],
        *["1234567890123456", "0.1234567890123456789", "0.12345678", "0.123456789", "0.123456:1"],
        *["1.e5", ".5e-3", "1e", "1e+", ".", "+", "--1", "+-1", "1..2", "0x10"],
        "0." + "0" * 400 + "1e401",
        "1" + "0" * 400 + "e-400",
    ],
)
def test_parse_letor_numbers(native, number, dtype):
    text = f"1 qid:1 1:{number}\n{number} qid:1\n1 qid:1 1:{number}".encode()
    assert_same(*parse_both(native, text, 1, dtype))


# Whole numbers beyond 2^24 and 2^53, where the digits of the shortest text end before the point.
HUGE = st.integers(-(2**90), 2**90).map(float) | st.integers(-(2**40), 2**40).map(float)


def values_of(width):
    return (
        st.floats(width=width, allow_infinity=False)
        | st.floats(-1000, 1000, width=width)
        | HUGE.map(np.float32 if width == 32 else np.float64).map(float)
        | st.sampled_from([0.0, -0.0, 1.0, 0.25, 0.086622, 1e5, 123456.0, -1e22, np.nan]).map(
            np.float32 if width == 32 else np.float64
        )
    )


@st.composite
def tables(draw):
    dtype, width = draw(st.sampled_from([(np.float64, 64), (np.float32, 32)]))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    n, d = sum(sizes), draw(st.integers(0, 4))
    x = draw(st.lists(values_of(width), min_size=n * d, max_size=n * d))
    y = draw(st.lists(st.floats(0, 1e300) | st.integers(0, 4), min_size=n, max_size=n))
    qids = draw(st.lists(WORDS.map(str.encode), min_size=len(sizes), max_size=len(sizes)))
    tails = draw(st.lists(st.sampled_from([b"", b"#docid = A", b"#\xff"]), min_size=n, max_size=n))
    last = draw(st.integers(0, len(sizes)))
    return (
        np.array(x, dtype=dtype).reshape(n, d),
        np.array(y, dtype=np.float64),
        np.cumsum([0, *sizes], dtype=np.int64),
        draw(st.integers(0, last)),
        last,
        *packed(qids),
        *packed(tails),
    )


@settings(max_examples=soak_cases(300))
@given(tables())
def test_format_letor(native, table):
    assert native.format_letor(*table).tobytes() == reference.format_letor(*table).tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "value",
    [
        *(0.0, -0.0, 1.0, -2.5, 0.1, 1e-5, 1e5, 1e6, 123456.0, 5e-324, 1e-45, 123456789.0),
        *(2.0**24 + 2, 2.0**60, -(2.0**70), 2.0**100, 1e22, 1e23, 3.4e38),
        *(1.7976931348623157e308, 2.2250738585e-308),
    ],
)
def test_format_letor_reads_back(native, value, dtype):
    with np.errstate(over="ignore"):
        x = np.array([[value, np.nan]], dtype=dtype)
    x[np.isinf(x)] = np.finfo(dtype).max
    one = np.array([0, 1], dtype=np.int64)
    table = (
        x,
        np.array([value if value >= 0 else 0.0]),
        one,
        0,
        1,
        *packed([b"q"]),
        *packed([b""]),
    )
    text = native.format_letor(*table)
    assert text.tobytes() == reference.format_letor(*table).tobytes()
    again = np.empty_like(x)
    labels = reference.parse_letor(text, again, 2, True)[0]
    assert again.tobytes() == x.tobytes()
    assert labels.tobytes() == table[1].tobytes()


# TREC text.

TREC_NUMBERS = st.sampled_from(["0", "1", "-1", "2.5", "nan", "inf", "1e999", "x", "1e-400"])
TREC_WORDS = TREC_NUMBERS | WORDS | st.sampled_from(["Q0", "q1", "q1", "d1", "d#2", "0"])


@st.composite
def trec_lines(draw):
    n = draw(st.sampled_from([4, 4, 4, 6, 6, 6, 3, 5, 7]))
    words = draw(st.lists(TREC_WORDS, min_size=n, max_size=n))
    words[3 if n == 4 else min(4, n - 1)] = draw(NUMBERS | TREC_NUMBERS)
    return draw(SPACES).join(words) + draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n", ""]))


@pytest.mark.parametrize("n_columns", [4, 6])
@settings(max_examples=soak_cases(200))
@given(lines=st.lists(trec_lines(), max_size=5), junk=st.binary(max_size=4))
def test_parse_table(native, n_columns, lines, junk):
    text = bytes_array("".join(lines).encode() + junk)
    assert_same(native.parse_trec(text, n_columns), reference.parse_trec(text, n_columns))


@pytest.mark.parametrize(("n_columns", "line"), [(4, "q 0 d{} {}"), (6, "q Q0 d{} 1 {} tag")])
@given(numbers=st.lists(NUMBERS.filter(lambda n: n != "NULL"), min_size=1, max_size=5))
def test_parse_table_numbers(native, n_columns, line, numbers):
    text = "\n".join(line.format(i, number) for i, number in enumerate(numbers)).encode()
    block = native.parse_trec(bytes_array(text), n_columns)
    assert_same(block, reference.parse_trec(bytes_array(text), n_columns))
    assert block[0].tolist() == [0]
    assert_same(block[1], packed([b"q"]))
    assert block[3].tolist() == [float(n) for n in numbers]
    assert block[4:] == (len(numbers), None)
