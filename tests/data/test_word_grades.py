"""Labels that are words: one error with all of them, and a proposal."""

import pandas as pd
import pytest

import podium
from podium.data import Columns
from podium.data.csv_problems import find_csv_problems
from podium.data.word_grades import MAX_GRADE_WORDS, order_grades
from podium.errors import DataError
from tests.support.cli import run


def write(path, words, header="qid,grade,price"):
    rows = [f"{i // 2},{word},{i}" for i, word in enumerate(words)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("words", "ordered"),
    [
        (["Perfect", "Fair", "Bad", "Excellent", "Good"], ["Bad", "Fair", "Good", "Excellent", "Perfect"]),
        (["relevant", "irrelevant"], ["irrelevant", "relevant"]),
        (["E", "I", "S", "C"], ["I", "C", "S", "E"]),
    ],
)  # fmt: skip
def test_usual_scales_are_ordered(words, ordered):
    assert order_grades(words) == (ordered, True)


def test_other_words_keep_their_order():
    assert order_grades(["gold", "tin", "good"]) == (["gold", "tin", "good"], False)


def test_one_error_names_all_words_with_their_counts(tmp_path):
    path = write(tmp_path / "w.csv", ["Good", "Bad", "very good", "Bad"])
    with pytest.raises(DataError) as caught:
        podium.read_table(path)
    told = caught.value.on_command_line()
    assert "column 'grade': expected numbers as labels, got 3 words" in told
    assert "Bad (2), Good (1), very good (1)" in told
    assert told.endswith("--grades 'Bad=0,Good=1,very good=2'")
    assert str(caught.value).endswith("grades={'Bad': 0, 'Good': 1, 'very good': 2}")


def test_the_proposal_can_be_followed(tmp_path):
    path = write(tmp_path / "w.csv", ["Good", "Bad", "Perfect", "Bad"])
    advice = run("data", "info", path, code=1).stderr.split("--grades ")[1].strip()
    assert advice == "Bad=0,Good=1,Perfect=2"
    assert "0: 2, 1: 1, 2: 1" in run("data", "info", path, "--grades", advice).stdout


def test_words_of_no_usual_scale_must_be_ordered(tmp_path):
    path = write(tmp_path / "w.csv", ["tin", "gold"])
    (line,) = run("data", "info", path, code=1).stderr.splitlines()
    assert line.endswith(
        "--grades tin=0,gold=1 (the order is that of the file: correct the numbers)"
    )


def test_other_problems_are_listed_beside_it(tmp_path):
    path = write(tmp_path / "w.csv", ["Good", "Bad"])
    path.write_text(path.read_text() + "1,Bad,cheap\n")
    problems = find_csv_problems(str(path), Columns())
    assert [(error.line, error.column) for error in problems.listed] == [
        (None, "grade"),
        (4, "price"),
    ]
    assert problems.n_others == 0


def test_words_among_numbers_have_lines(tmp_path):
    path = write(tmp_path / "w.csv", ["good", "1", "0"])
    with pytest.raises(DataError) as caught:
        podium.read_table(path)
    assert (caught.value.line, caught.value.column) == (2, "grade")


def test_too_many_words_are_no_grades(tmp_path):
    path = write(tmp_path / "w.csv", [f"w{i}x" for i in range(MAX_GRADE_WORDS + 1)])
    with pytest.raises(
        DataError, match=f"got {MAX_GRADE_WORDS + 1} different words, such as 'w0x'"
    ):
        podium.read_table(path)


def test_a_data_frame_gets_the_same_proposal():
    frame = pd.DataFrame({"qid": [1, 1], "grade": ["yes", "no"], "price": [1.0, 2.0]})
    with pytest.raises(DataError, match=r"grades=\{'no': 0, 'yes': 1\}"):
        podium.read_table(frame)


def test_dates_are_left_out_with_a_note(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("qid,label,price,day\n1,0,2.5,2026-03-15\n1,1,3.5,2026-03-16\n")
    done = run("data", "info", path)
    assert "day left out (no numbers)" in done.stderr
    assert "no document ids, which runs, samples and rules need (--doc)" in done.stderr
