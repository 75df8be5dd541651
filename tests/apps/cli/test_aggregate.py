"""The commands aggregate and aggregators."""

import numpy as np
import pytest

import podium
from podium.aggregation import AGGREGATORS, Rankings, make_aggregator, measured_weights
from podium.aggregation import optimised_weights as optimised
from podium.data import read_scores
from tests.support.cli import answer, flat, run


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=24, n_features=4, seed=3)


@pytest.fixture
def folder(tmp_path, data, monkeypatch):
    """Three runs (the third without the first query), qrels, and places with gaps."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = data.truth(data.X)
    for name, noise in (("good", 0.2), ("fair", 2.0), ("poor", 9.0)):
        scores = truth + noise * rng.standard_normal(len(data))
        part, kept = data, scores
        if name == "poor":
            part = data.subset(np.arange(1, data.n_queries))
            kept = scores[data.groups.sizes[0] :]
        podium.write_run(podium.Run.from_scores(part, kept, k=8), f"{name}.run")
    podium.write_qrels(data, "data.qrels")
    places = np.stack(
        [data.groups.ranks(truth + s * rng.standard_normal(len(data))) for s in (0.2, 3.0)], axis=1
    ).astype(float)
    places[rng.random(places.shape) < 0.3] = np.nan
    tabled = podium.RankingData.from_arrays(
        places * 3, data.y, qid=np.repeat(data.qids, data.groups.sizes), docid=data.docids,
        missing="nan",
    )  # fmt: skip
    podium.write_letor(tabled.subset(np.arange(12)), "old.txt")
    podium.write_letor(tabled.subset(np.arange(12, 24)), "new.txt")
    return tmp_path


RUNS = ["good.run", "fair.run", "poor.run"]


def joined():
    return Rankings.from_runs([podium.read_run(name) for name in RUNS])


@pytest.mark.parametrize("method", sorted(AGGREGATORS))
def test_runs_become_one_run(folder, method):
    out = run("aggregate", *RUNS, "--method", method, "-o", "fused.run").stdout
    rankings = joined()
    expected = rankings.run(make_aggregator(method)(rankings).scores)
    found = podium.read_run("fused.run")
    assert list(found.docids) == list(expected.docids)
    assert found.values.tolist() == expected.values.tolist()
    assert method in out
    assert "24" in out


def test_without_a_file_the_run_goes_to_stdout(folder):
    run("aggregate", *RUNS, "--method", "rrf", "-o", "fused.run")
    out = run("aggregate", *RUNS, "--method", "rrf").stdout
    assert out == (folder / "fused.run").read_text()


def test_settings_weights_depth_and_top(folder):
    run(
        "aggregate", *RUNS, "--method", "rrf", "--set", "k=5", "--weights", "3,1,0",
        "--depth", "4", "--top", "3", "-o", "fused.run",
    )  # fmt: skip
    rankings = joined()
    scores = make_aggregator("rrf", k=5)(rankings.top(4), [3, 1, 0]).scores
    expected = rankings.run(scores, 3)
    found = podium.read_run("fused.run")
    assert list(found.docids) == list(expected.docids)
    assert found.groups.sizes.max() == 3


@pytest.mark.parametrize("odd", ["1_0", "\u0661", "nan", "inf", "0x1"])
def test_weights_are_decimal_numbers(folder, odd):
    told = run("aggregate", *RUNS, "--method", "rrf", "--weights", f"3,{odd},0", code=2).stderr
    assert "expected --weights as numbers" in flat(told)


def test_measured_and_optimised_weights_from_qrels(folder):
    qrels, rankings = podium.read_qrels("data.qrels"), joined()
    facts = answer("aggregate", *RUNS, "--method", "rrf", "--weights", "measured",
                   "--qrels", "data.qrels", "-m", "MAP", "-o", "a.run")  # fmt: skip
    assert list(facts["weights"]) == RUNS
    assert list(facts["weights"].values()) == measured_weights(rankings, qrels, "MAP").tolist()
    facts = answer("aggregate", *RUNS, "--method", "rrf", "--weights", "optimised",
                   "--qrels", "data.qrels", "-o", "b.run")  # fmt: skip
    found = optimised(rankings, qrels, "rrf")
    assert list(facts["weights"].values()) == found.weights.tolist()
    assert (facts["metric"], facts["in_sample_with_equal_weights"]) == (
        str(found.metric),
        found.equal,
    )
    assert facts["in_sample"] == found.value > found.equal


def test_labelled_data_may_stand_in_for_qrels(folder, data):
    podium.write_letor(data, "data.txt")
    one, other = (
        answer("aggregate", *RUNS, "--weights", "measured", "--qrels", file, "-o", f"{file}.run")[
            "weights"
        ]
        for file in ("data.qrels", "data.txt")
    )
    assert one == other


@pytest.mark.parametrize("out", ["x.scores", "x.npy"])
def test_places_become_scores_in_the_order_of_lines(folder, out):
    run("aggregate", "--places", "new.txt", "--method", "borda", "-o", out)
    places = podium.read_letor("new.txt", missing="nan")
    expected = make_aggregator("borda")(Rankings.from_data(places)).scores
    assert read_scores(out).tolist() == places.restore(expected).tolist()


def test_places_become_a_run_and_learn_from_other_queries(folder):
    arguments = ["aggregate", "--places", "new.txt", "--method", "rrf"]
    facts = answer(*arguments, "--weights", "optimised", "--valid", "old.txt", "-o", "x.run")
    new, old = (podium.read_letor(f, missing="nan") for f in ("new.txt", "old.txt"))
    weights = optimised(Rankings.from_data(old), old, "rrf").weights
    assert list(facts["weights"].values()) == weights.tolist()
    scores = make_aggregator("rrf")(Rankings.from_data(new), weights).scores
    assert list(podium.read_run("x.run").docids) == list(podium.Run.from_scores(new, scores).docids)
    assert len(run(*arguments).stdout.splitlines()) == len(new)


def test_the_initial_order_decides_among_equals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, order in {"a": "xyz", "b": "yxz", "start": "yxzw", "tsart": "xyzw"}.items():
        lines = [f"q Q0 {d} {i} {-i} t\n" for i, d in enumerate(order, start=1)]
        (tmp_path / f"{name}.run").write_text("".join(reversed(lines)))
    for method in ("borda", "footrule", "mc4"):
        for start, expected in (("start", "yxzw"), ("tsart", "xyzw")):
            out = run(
                "aggregate", "a.run", "b.run", "--method", method, "--initial", f"{start}.run"
            ).stdout
            assert [line.split()[2] for line in out.splitlines()] == list(expected), method


def test_explain_shows_one_query(folder):
    out = run("aggregate", *RUNS, "--method", "borda", "--explain", "q2").stdout
    assert "Query q2" in out
    assert all(name in out for name in RUNS)
    entry = answer("aggregate", *RUNS, "--method", "borda", "--explain", "q2")
    rankings = joined()
    rows = rankings.groups.codes == rankings.qids.tolist().index("q2")
    scores = make_aggregator("borda")(rankings).scores[rows]
    shown = entry["documents"]
    assert [d["place"] for d in shown] == list(range(1, rows.sum() + 1))
    assert [d["score"] for d in shown] == sorted(scores, reverse=True)
    assert shown[0]["places"]["good.run"] in (*range(1, 9), None)
    first = answer("aggregate", *RUNS, "--explain", "q1")["documents"]
    assert {d["places"]["poor.run"] for d in first} == {None}  # the run has not this query


def test_explain_shows_positions_in_whole_lists(folder):
    entry = answer("aggregate", "--places", "new.txt", "--explain", "q13", "--method", "borda")
    places = [p for d in entry["documents"] for p in d["places"].values() if p is not None]
    assert places
    assert all(place % 3 == 0 for place in places)
    first = answer(
        "aggregate", "--places", "new.txt", "--explain", "q13", "--method", "borda", "-k", 2
    )
    assert first["documents"] == entry["documents"][:2]


def test_footrule_says_how_many_are_proved(folder):
    arguments = ["aggregate", *RUNS, "--method", "footrule", "-o", "x.run"]
    facts = answer(*arguments)
    assert (facts["proved_optimal"], facts["queries"]) == (24, 24)
    assert "x.run already exists; --force replaces it" in run(*arguments, code=2).stderr
    assert "proved optimal" in run(*arguments, "--force").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["good.run"], 2, "at least two runs"),
        ([], 2, "neither"),
        (["good.run", "good.run"], 2, "twice"),
        (["good.run", "fair.run", "--places", "new.txt"], 2, "both"),
        ([*RUNS, "--method", "brda"], 2, "did you mean borda"),
        ([*RUNS, "--method", "rrf", "--set", "q=1"], 2, "'q'"),
        ([*RUNS, "--method", "rrf", "--set", "k=x"], 2, "k of rrf"),
        ([*RUNS, "--method", "combsum", "--set", "normalisation=x"], 2, "min-max"),
        ([*RUNS, "--method", "borda", "--set", "k=1"], 2, "borda takes no options"),
        ([*RUNS, "--weights", "1,2"], 2, "expected 3 weights"),
        ([*RUNS, "--weights", "1,2,-1"], 2, "0 or more"),
        ([*RUNS, "--weights", "0,0,0"], 2, "above 0"),
        ([*RUNS, "--weights", "best"], 2, "measured or optimised"),
        ([*RUNS, "--weights", "measured"], 2, "--qrels"),
        ([*RUNS, "--qrels", "data.qrels"], 2, "--weights measured"),
        ([*RUNS, "--weights", "measured", "--valid", "old.txt"], 2, "--qrels"),
        ([*RUNS, "--weights", "measured", "--qrels", "data.qrels", "-m", "NDGC"], 2, "NDCG"),
        ([*RUNS, "--weights", "measured", "--qrels", "data.qrels", "-m", "P"], 2, "P@10"),
        ([*RUNS, "--depth", "0"], 2, "depth"),
        ([*RUNS, "-o", "good.run"], 1, "cannot write good.run"),
        ([*RUNS, "missing.run"], 2, "missing.run"),
        (["--places", "new.txt", "--initial", "good.run"], 2, "--initial"),
        (["--places", "new.txt", "--top", "3", "-o", "x.scores"], 2, "TREC run"),
        ([*RUNS, "--explain", "nothing"], 1, "'nothing'"),
        ([*RUNS, "data.qrels"], 1, "data.qrels:1"),
        ([*RUNS, "--weights", "measured", "--qrels", "other.qrels"], 1, "no query in common"),
        (["--places", "zero.txt"], 1, "places from 1"),
        (["--places", "new.txt", "--weights", "measured", "--valid", "three.txt"], 1, "2 rankers"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, arguments, code, message):
    (folder / "other.qrels").write_text("elsewhere 0 d 1\n")
    (folder / "zero.txt").write_text("0 qid:1 1:0 2:1\n1 qid:1 1:1 2:2\n")
    (folder / "three.txt").write_text("0 qid:1 1:1 2:1 3:1\n1 qid:1 1:2 2:2 3:2\n")
    result = run("aggregate", *arguments, code=code)
    assert message in result.output.replace("\n", " ")
    if code == 1:
        assert result.stderr.count("\n") == 1


def test_aggregators_are_listed_and_described(folder):
    listed = answer("aggregators")
    assert list(listed) == list(AGGREGATORS)
    out = flat(run("aggregators").stdout)
    assert all(name in out for name in AGGREGATORS)
    described = answer("aggregators", "mc4")
    assert described["settings"]["alpha"]["default"] == 0.05
    assert "jump" in described["settings"]["alpha"]["meaning"]
    assert "min-max" in flat(run("aggregators", "combmnz").stdout)
    assert "Borda" in run("aggregators", "borda").stdout
    assert "did you mean footrule" in run("aggregators", "fotrule", code=2).stderr


def test_every_aggregator_and_setting_has_a_text():
    for name in AGGREGATORS:
        described = answer("aggregators", name)
        assert described["summary"]
        assert described["paper"]
        assert all(entry["meaning"] for entry in described["settings"].values()), name


@pytest.mark.parametrize("asked", [["-o", "x.parquet"], ["--format", "npy", "-o", "x.run"]])
def test_runs_become_a_run_and_nothing_else(folder, asked):
    out = run("aggregate", *RUNS, *asked, code=2)
    assert "expected a TREC run as the result of runs" in flat(out.stderr)
    assert not (folder / asked[-1]).exists()


def test_json_without_a_file_has_the_ranking(folder):
    rankings = joined()
    expected = rankings.run(make_aggregator("rrf")(rankings).scores, 3)
    found = answer("aggregate", *RUNS, "--method", "rrf", "--top", "3")["ranking"]
    assert list(found) == expected.qids.tolist()
    assert [doc for query in found.values() for doc, _ in query] == list(expected.docids)


def test_settings_are_told_as_they_are(folder):
    out = run("aggregate", *RUNS, "--method", "kemeny-local", "-o", "fused.run").stdout
    assert "settings restarts=0 seed=0" in flat(out)
    assert "weights equal" in flat(out)
