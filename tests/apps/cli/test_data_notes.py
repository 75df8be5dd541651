"""Notes about data that can be read, but hardly be learned from."""

import numpy as np
import pytest

import podium
from podium.apps.cli.commands.train import MIN_QUERIES
from podium.data.large_labels import MAX_USUAL_LABEL, large_labels_advice
from tests.support.cli import run


def table(path, grades, n_queries=10):
    rows = [f"{i // 5},{grades[i % len(grades)]},{i % 7}" for i in range(5 * n_queries)]
    path.write_text("\n".join(["qid,label,price", *rows]) + "\n")
    return path


def test_labels_are_large_from_a_bound_on():
    assert large_labels_advice(np.array([0.0, MAX_USUAL_LABEL])) is None
    assert "labels are up to 32" in large_labels_advice(np.array([0.0, MAX_USUAL_LABEL + 1]))
    assert large_labels_advice(np.array([0.0, 50.0]), topk=50) is None
    assert "--grades" not in large_labels_advice(np.arange(100.0))


@pytest.mark.parametrize(
    "command",
    ["data info D", "train regression D -o M", "compare D --rankers regression --no-tune --out O",
     "evaluate D S"],
)  # fmt: skip
def test_large_labels_are_noted_with_what_to_do(tmp_path, command):
    path = table(tmp_path / "d.csv", [0, 25, 50, 75, 100])
    np.savetxt(tmp_path / "s", podium.read_table(path).X[:, 0])
    places = {"D": path, "M": tmp_path / "m.podium", "O": tmp_path / "o", "S": tmp_path / "s"}
    told = run(*(places.get(word, word) for word in command.split())).stderr
    assert told.count("labels are up to 100") == 1
    assert "--grades 0=0,25=1,50=2,75=3,100=4" in told


def test_the_proposed_grades_are_small(tmp_path):
    path = table(tmp_path / "d.csv", [0, 25, 100])
    done = run("data", "info", path, "--grades", "0=0,25=1,100=2")
    assert "labels are up to" not in done.stderr
    assert "0: 17, 1: 17, 2: 16" in done.stdout


@pytest.mark.parametrize(("n", "part"), [(1, "trained on 1 query;"), (4, "trained on 4 queries;")])
def test_training_on_few_queries_is_noted(tmp_path, n, part):
    path = table(tmp_path / "d.csv", [0, 1, 2], n)
    assert part in run("train", "regression", path, "-o", tmp_path / "m.podium").stderr


def test_enough_queries_need_no_note(tmp_path):
    path = table(tmp_path / "d.csv", [0, 1, 2], MIN_QUERIES)
    assert (
        "to be right about others"
        not in run("train", "regression", path, "-o", tmp_path / "m.podium").stderr
    )
