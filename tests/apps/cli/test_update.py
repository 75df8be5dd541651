"""The command update, and training cfbrs with feedback that needs no log."""

import numpy as np
import pytest

import podium
from podium.ensemble import CFBRS, FeedbackBatch
from podium.feedback import Phi, SimulatedFeedback, UniformFeedback, make_log, read_ubi
from podium.registry import load
from tests.support.cli import answer, flat, run

DATA = podium.make_synthetic(n_queries=40, n_docs=8, n_features=8, noise=0.5, seed=4)
SETTINGS = ["--set", "base=least-squares", "--set", "min_block=2"]
CLASSES = ["--classes", "query_attributes.user_class"]


def fitted(**settings):
    return CFBRS(base="least-squares", min_block=2, **settings)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("update")
    podium.write_letor(DATA, folder / "data.txt")
    for day, seed in (("monday", 1), ("tuesday", 2), ("friday", 3)):
        make_log(DATA, n_lists=60, user_class="novice", seed=seed).write(folder / f"{day}.ndjson")
    run("train", "cfbrs", folder / "data.txt", "-o", folder / "cfbrs.podium", *SETTINGS)
    run("train", "regression", folder / "data.txt", "-o", folder / "plain.podium")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    for file in made.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*days, phi=None):
    return read_ubi([f"{day}.ndjson" for day in days], user_class=CLASSES[1], phi=phi)


def test_update_learns_what_the_library_learns(folder):
    run("update", "cfbrs.podium", "data.txt", "-o", "new.podium", "--feedback", "monday.ndjson",
        "--feedback", "tuesday.ndjson", *CLASSES)  # fmt: skip
    data = podium.read_letor("data.txt")
    want = load("cfbrs.podium").update(data, feedback=read("monday", "tuesday"))
    new = load("new.podium")
    assert (new.predict(data, user_class="novice") == want.predict(data, user_class="novice")).all()
    assert (new.predict(data, user_class="novice") != new.predict(data)).any()


def test_weights_of_phi_reach_the_update(folder):
    weights = ["--phi-weight", "dwell=0", "--phi-scale", "clicks=0.5"]
    run("update", "cfbrs.podium", "data.txt", "-o", "new.podium", "--feedback", "monday.ndjson",
        *CLASSES, *weights)  # fmt: skip
    phi = Phi(weights=(1, 1, 0, 1, 1, 1, 1, 1), scales=(0.5, 0.1, 10.0, 0.1, 0.1, 1.0, 0.1, 0.1))
    data = podium.read_letor("data.txt")
    want = load("cfbrs.podium").update(data, feedback=read("monday", phi=phi))
    scores = load("new.podium").predict(data, user_class="novice")
    assert (scores == want.predict(data, user_class="novice")).all()
    other = load("cfbrs.podium").update(data, feedback=read("monday"))
    assert (scores != other.predict(data, user_class="novice")).any()


def test_until_converged_takes_each_log_as_a_batch(folder):
    days = ("monday", "tuesday", "friday")
    logs = [word for day in days for word in ("--feedback", f"{day}.ndjson")]
    told = answer("update", "cfbrs.podium", "data.txt", "-o", "new.podium", *logs, *CLASSES,
                  "--until-converged", "--tol", "1", "--patience", "1")  # fmt: skip
    assert told["batches"] == 2  # the second value is within 1 of the first
    assert told["converged"]
    data = podium.read_letor("data.txt")
    want = load("cfbrs.podium").learn_until_converged(
        [FeedbackBatch(data, read(day)) for day in days], tol=1, patience=1
    )
    assert told["values"] == list(want.values)
    out = run("update", "cfbrs.podium", "data.txt", "-o", "new.podium", *logs, *CLASSES,
              "--until-converged", "--valid", "data.txt", "--tol", "0", "--force").stdout  # fmt: skip
    assert "no more batches" in flat(out)
    assert "batches 3" in flat(out)


def test_without_logs_each_file_of_labels_is_a_batch(folder):
    run(
        "train",
        "cfbrs",
        "data.txt",
        "-o",
        "measured.podium",
        *SETTINGS,
        "--set",
        "weights=validation",
    )
    told = answer("update", "measured.podium", "data.txt", "data.txt", "-o", "new.podium",
                  "--until-converged", "--tol", "0")  # fmt: skip
    assert told["batches"] == 2
    data = podium.read_letor("data.txt")
    want = load("measured.podium")
    want.learn_until_converged([data, data], tol=0)
    assert (load("new.podium").predict(data) == want.predict(data)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plain.podium"], "a model of cfbrs, which learns from feedback, got one of regression"),
        (["cfbrs.podium", *CLASSES], "--classes together with --feedback"),
        (["cfbrs.podium", "--phi-weight", "clicks=2"], "--phi-scale together with --feedback"),
        (["cfbrs.podium", "--valid", "data.txt"], "--valid together with --until-converged"),
        (["cfbrs.podium", "--tol", "0"], "--tol together with --until-converged"),
        (["cfbrs.podium", "--patience", "1"], "--patience together with --until-converged"),
    ],
)
def test_what_update_refuses(folder, arguments, message):
    model, *options = arguments
    done = run("update", model, "data.txt", "-o", "new.podium", *options, code=2)
    assert message in flat(done.stderr)
    assert not (folder / "new.podium").exists()


def test_update_says_how_much_of_the_log_it_uses(folder):
    log = ["--feedback", "monday.ndjson"]
    done = run("update", "cfbrs.podium", "data.txt", "-o", "new.podium", *log, *CLASSES)
    labels = read("monday").labels(DATA)
    joined = sum(not np.isnan(own).all() for own in np.split(labels, DATA.groups.offsets[1:-1]))
    assert f"feedback: 60 lists, {joined} of {DATA.n_queries} queries joined" in flat(done.stderr)


def test_a_log_that_joins_nothing_is_an_error_with_its_queries(folder):
    lines = (folder / "data.txt").read_text().replace("qid:", "qid:other")
    (folder / "other.txt").write_text(lines)
    done = run("update", "cfbrs.podium", "other.txt", "-o", "new.podium", "--feedback",
               "monday.ndjson", *CLASSES, code=1)  # fmt: skip
    queries = len(read("monday").summary("query").names)
    assert f"0 of {queries} queries of the log are in the data" in flat(done.stderr)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("uniform=0.5", UniformFeedback(0.5)),
        ("uniform", UniformFeedback()),
        ("simulated=0.02", SimulatedFeedback(variance=0.02, seed=3)),
        ("simulated", SimulatedFeedback(seed=3)),
    ],
)
def test_training_with_feedback_that_needs_no_log(folder, text, source):
    run("train", "cfbrs", "data.txt", "-o", "a.podium", *SETTINGS, "--alpha", text, "--seed", "3")
    data = podium.read_letor("data.txt")
    want = fitted(seed=3).fit(data, feedback=source).predict(data)
    np.testing.assert_array_equal(load("a.podium").predict(data), want)
    plain = fitted(seed=3).fit(data).predict(data)
    assert (want != plain).any() == text.startswith("simulated")


@pytest.mark.parametrize(
    ("ranker", "options", "message"),
    [
        ("ranksvm", ["--alpha", "uniform"], "--alpha with cfbrs"),
        ("cfbrs", ["--alpha", "normal"], "uniform"),
        ("cfbrs", ["--alpha", "uniform=much"], "a number in --alpha uniform=NUMBER, got 'much'"),
        ("cfbrs", ["--alpha", "simulated=1_0"], "in --alpha simulated=NUMBER, got '1_0'"),
        ("cfbrs", ["--alpha", "uniform=2"], "uniform feedback in [0, 1], got 2.0"),
        ("cfbrs", ["--alpha", "uniform", "--feedback", "monday.ndjson"], "--feedback or --alpha"),
        ("cfbrs", ["--phi-weight", "clicks=2"], "--phi-scale together with --feedback"),
        ("cfbrs", ["--phi-weight", "click=2"], "did you mean clicks"),
        ("cfbrs", ["--phi-weight", "clicks=many"], "a number in --phi-weight clicks=NUMBER"),
    ],
)  # fmt: skip
def test_what_training_refuses(folder, ranker, options, message):
    done = run("train", ranker, "data.txt", "-o", "x.podium", *options, code=2)
    assert message in flat(done.stderr)
    assert not (folder / "x.podium").exists()
