"""``podium train auto``: a search on the command line."""

import io
import re

import pytest
from rich.console import Console

import podium
from podium.apps.cli.outputs import leaderboard
from podium.data import split
from podium.ensemble import LeaderboardRow, SearchStep
from podium.ensemble.auto import fit_runner
from podium.ensemble.auto.fit_store import FitStore
from podium.registry import compared_rankers
from tests.support.cli import answer, flat, run


@pytest.fixture
def files(tmp_path, monkeypatch):
    data = podium.make_synthetic(n_queries=24, n_docs=(3, 8), n_features=3, seed=3)
    for name, part in zip(("train", "vali"), split(data, [0.7, 0.3]), strict=True):
        podium.write_letor(part, tmp_path / f"{name}.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_auto_trains_explains_and_cleans_up(files):
    found = run(
        "train", "auto", "train.txt", "--valid", "vali.txt", "--budget", "6fits", "--jobs", 1,
        "-o", "best.podium", "-m", "MAP",
    )  # fmt: skip
    assert "6 fits" in found.stdout
    assert "by nested validation" in found.stdout
    assert re.search(r"members +│ [\d.]+ x \w+", found.stdout)
    assert "kept iteration" not in found.stdout
    assert sorted(path.name for path in files.iterdir()) == ["best.podium", "train.txt", "vali.txt"]
    model = podium.load("best.podium")
    assert (model.budget, model.metric) == ("6fits", "MAP")
    shown = run("explain", "best.podium")
    assert model.report_.members[0].label.split()[0] in shown.stdout
    members = answer("explain", "best.podium", "--json")["report"]["candidates"]
    assert sum(member["weight"] for member in members) == pytest.approx(1)


def test_auto_as_json(files):
    facts = answer("train", "auto", "train.txt", "--budget", "4fits", "-j", 1, "-o", "m", "--json")
    assert facts["fits"] == 4
    assert sum(facts["members"].values()) == pytest.approx(1, abs=1e-3)
    assert facts["settings"] == {"budget": "4fits"}
    assert not {"iterations", "kept_iteration", "objective"} & facts.keys()


@pytest.mark.parametrize("preparation", [[], ["--scale", "zscore"]])
def test_the_same_command_continues_with_finished_fits(files, monkeypatch, preparation):
    command = ["train", "auto", "train.txt", *preparation, "--budget", "4fits", "-j", 1, "-o", "m"]
    with monkeypatch.context() as unfinished:
        unfinished.setattr(FitStore, "remove", lambda store: None)
        run(*command)
    model = (files / "m").read_bytes()
    assert len(list((files / "m.work").iterdir())) == 4
    monkeypatch.setattr(fit_runner, "fit_fold", lambda *arguments: pytest.fail("a second fit"))
    run(*command, "--force")
    assert (files / "m").read_bytes() == model
    assert not (files / "m.work").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["auto", "--budget", "soon"], "expected a budget, '10m', '90s', '1h', '10m cpu'"),
        (["auto", "--budget", "9fits", "--set", "budget=8fits"], "expected --budget or --set budget"),
        (["ranksvm", "--budget", "9fits"], "--budget is for auto, which searches, and ranksvm does not"),
        (["auto", "--bag", "2"], "auto is a mean of many fits already; leave out --bag"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(files, arguments, message):
    found = run("train", arguments[0], "train.txt", *arguments[1:], "-o", "m.podium", code=2)
    assert message in flat(found.stderr)


def test_a_comparison_of_all_rankers_leaves_auto_out():
    assert set(podium.RANKERS) - set(compared_rankers()) == {"auto", "catboost"}


STEP = SearchStep(
    "auto", 7, 20, 0.4, "NDCG@10", 0.6, "fold 1 of 5",
    leaders=(LeaderboardRow("listnet l2=0.1", 0.6, 0.55, 0.65, 2),), seconds=3.2, seconds_left=56.8,
)  # fmt: skip


def test_the_leaderboard_shows_the_best_so_far(monkeypatch):
    assert leaderboard.search_state(STEP) == "7 fits of 20, 3 s, 57 s left; fold 1 of 5"
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(leaderboard, "stderr_console", lambda: terminal)
    with leaderboard.search_board(60.0) as show:
        show(STEP)
    text = terminal.file.getvalue()
    assert "listnet l2=0.1" in text
    assert "0.5500 to 0.6500" in text
