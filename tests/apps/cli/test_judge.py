"""The command judge simulate."""

from podium.labelling import simulate
from tests.support.cli import answer, flat, run


def test_a_table_of_all_strategies():
    out = flat(run("judge", "simulate", "--runs", "5").stdout)
    assert "Judgments for the top 10 of 50 documents, 5 runs" in out
    for strategy in ("tournament", "heap", "sort"):
        found = simulate(strategy, 50, 10, runs=5)
        assert f"{strategy} {found.mean:.1f} {found.quantiles[0.05]:.0f}" in out
        assert f"{found.judgments.max()} {found.bound} 1.0000" in out


def test_json_has_every_race():
    options = ["-n", 20, "-k", 5, "--noise", 0.1, "--ties", 0.2, "--prior-tau", 0.5, "--runs", 7]
    told = answer(
        "judge", "simulate", "heap", "sort", "heap", *options, "--ask-implied", "--seed", 3
    )
    assert [one["strategy"] for one in told] == ["heap", "sort"]
    found = simulate("heap", 20, 5, 0.1, 0.2, 3, skip_implied=False, runs=7, prior_tau=0.5)
    assert told[0]["judgments"] == found.judgments.tolist()
    assert told[0]["mean"] == found.mean
    assert told[0]["recall"] == found.recall < 1
    assert told[0]["quantiles"]["0.5"] == found.quantiles[0.5]
    assert told[0]["skip_implied"] is False


def test_wrong_options_are_named():
    assert "did you mean tournament?" in run("judge", "simulate", "turnament", code=2).stderr
    run("judge", "simulate", "--noise", "2", code=2)
    run("judge", "simulate", "-n", "0", code=2)


def test_help_shows_an_example():
    assert "podium judge simulate tournament heap" in flat(
        run("judge", "simulate", "--help").stdout
    )
