"""CSV text: the native kernel equals its twin on whole, odd and damaged text, and Python's csv module."""

import csv
import io
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.kernels import reference
from tests.support.case_counts import soak_cases

SEPARATORS = st.sampled_from([",", ";", "\t", "|"])
NUMBERS = st.sampled_from(
    ["0", "1.5", "-2e3", " 7 ", "1e999", "1e39", "inf", "-nan", "NA", "", "null", "True", "no",
     "12,99", "1.234,5", "1,234.5", "2024-01-31", "0.1234567890123456789", "word", ".5", "5.", "+1"]
)  # fmt: skip
WORDS = st.text("ab \",;\t|\n\r'é", max_size=6)


def as_bytes(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


def parse(kernels, text, roles, *, n_features, n_numbers, n_texts, dtype=np.float64, dialect):
    n_rows = text.tobytes().count(b"\n") + 1
    x = np.zeros((n_rows, n_features), dtype=dtype)
    numbers = np.zeros((n_rows, n_numbers))
    rows, *rest = kernels.parse_csv(text, x, numbers, roles, n_texts, *dialect)
    texts, lines, column, problem = rest
    plain = [(packed.tobytes(), bounds.tolist()) for packed, bounds in texts]
    return rows, plain, lines, column, problem, x[:rows].tobytes(), numbers[:rows].tobytes()


@st.composite
def tables(draw):
    """Roles of columns and text of a table, sometimes with damage."""
    separator = draw(SEPARATORS)
    n_columns = draw(st.integers(1, 5))
    kinds = draw(st.lists(st.sampled_from("xnti"), min_size=n_columns, max_size=n_columns))
    counts = {kind: kinds.count(kind) for kind in "xnti"}
    first = {"x": 0, "n": counts["x"], "t": counts["x"] + counts["n"]}
    roles = []
    for column, kind in enumerate(kinds):
        roles.append(-1 if kind == "i" else first[kind] + kinds[:column].count(kind))
    out = io.StringIO()
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    writer = csv.writer(out, delimiter=separator, lineterminator=ending)
    for _ in range(draw(st.integers(0, 5))):
        width = draw(st.sampled_from([n_columns] * 8 + [n_columns + 1, max(1, n_columns - 1)]))
        writer.writerow(
            [draw(WORDS if kind in "ti" else NUMBERS) for kind in [*kinds, "t"][:width]]
        )
    text = out.getvalue()
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        place = draw(st.integers(0, len(text)))
        text = (
            text[:place] + draw(st.sampled_from(['"', "\n", separator, "\r", "x"])) + text[place:]
        )
    dialect = draw(st.sampled_from([(46, 0), (44, 0), (44, 46), (46, 44), (46, 32)]))
    options = (ord(separator), *dialect, draw(st.booleans()))
    shape = {"n_features": counts["x"], "n_numbers": counts["n"], "n_texts": counts["t"]}
    return as_bytes(text), np.array(roles, dtype=np.int64), shape, options


MARKED_NUMBERS = st.one_of(
    st.from_regex(r"[-+]?[0-9]{1,4}([,. ][0-9]{2,4}){0,3}([,.][0-9]{1,3})?", fullmatch=True),
    st.text("0123456789,. -e", max_size=10),
)


@settings(max_examples=soak_cases(500))
@given(word=MARKED_NUMBERS, marks=st.sampled_from([(46, 44), (44, 46), (46, 32), (44, 0)]))
def test_parse_csv_of_numbers_with_marks(native, word, marks):
    text, roles, dialect = as_bytes(f"{word}\n"), np.zeros(1, np.int64), (ord(";"), *marks, True)
    shape = {"n_features": 1, "n_numbers": 0, "n_texts": 0}
    ours = parse(native, text, roles, **shape, dialect=dialect)
    assert ours == parse(reference, text, roles, **shape, dialect=dialect)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=soak_cases(500))
@given(table=tables())
def test_parse_csv(native, dtype, table):
    text, roles, shape, dialect = table
    ours = parse(native, text, roles, **shape, dtype=dtype, dialect=dialect)
    assert ours == parse(reference, text, roles, **shape, dtype=dtype, dialect=dialect)


@settings(max_examples=soak_cases(500))
@given(table=tables())
def test_csv_end(native, table):
    text, _, _, dialect = table
    for state in range(4):
        end = native.csv_end(text, dialect[0], state)
        assert end == reference.csv_end(text, dialect[0], state)
    # Read in two pieces, a text ends as it does in one.
    cut = len(text) // 2
    first_end, state = native.csv_end(text[:cut], dialect[0], 0)
    second_end, last_state = native.csv_end(text[cut:], dialect[0], state)
    end = cut + second_end if second_end else first_end
    assert (end, last_state) == native.csv_end(text, dialect[0], 0)


@settings(max_examples=soak_cases(300))
@given(
    st.lists(st.lists(st.text('ab ",\n;é', max_size=6), min_size=2, max_size=2), max_size=6),
    st.integers(0, 40),
)
def test_texts_are_those_of_the_csv_module(native, rows, cut):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    text = as_bytes(out.getvalue())
    n, texts, lines, column, problem, *_ = parse(
        native, text, np.array([0, 1]), n_features=0, n_numbers=0, n_texts=2, dialect=(44, 46, 0, True)
    )  # fmt: skip
    assert (n, lines, column, problem) == (len(rows), out.getvalue().count("\n"), -1, None)
    for column, (packed, bounds) in enumerate(texts):
        words = [packed[a:b].decode() for a, b in itertools.pairwise(bounds)]
        assert words == [row[column] for row in rows]
    # A text cut anywhere ends with a whole record.
    end, _ = native.csv_end(text[:cut], 44, 0)
    whole = list(csv.reader(io.StringIO(text[:end].tobytes().decode())))
    assert whole == rows[: len(whole)]


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("1,2\n3,x\n", 1, ("malformed", 1, "a number", "x")),
        ("1,2\n3\n", 0, ("columns", 1, "2", "1")),
        ("1,2,3\n", 2, ("columns", 0, "2", "more")),
        ('1,"2\n', 1, ("malformed", 0, "a closing quote", '"2\n')),
        ('"1"5,2\n', 0, ("malformed", 0, "a separator after the closing quote", '"1"')),
        ("1,\n", 1, ("missing", 0, "a number", "")),
        ("1,-inf\n", 1, ("nonfinite", 0, "a finite number", "-inf")),
        ('\n\n1,2\n"3\n4",1\n', 0, ("malformed", 3, "a number", "3\n4")),
    ],
)
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_problems_name_line_and_column(request, backend, text, column, problem):
    kernels = request.getfixturevalue("native") if backend == "native" else reference
    result = parse(
        kernels, as_bytes(text), np.array([0, 1]), n_features=2, n_numbers=0, n_texts=0,
        dialect=(44, 46, 0, False),
    )  # fmt: skip
    assert result[3:5] == (column, problem)
