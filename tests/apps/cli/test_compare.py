"""``podium compare``: what it writes, how it goes on, how it says what is wrong."""

import io
import json
import os
import signal
import time

import pytest

import podium
from podium.data import make_synthetic, split, write_letor
from podium.experiments.report import Report
from tests.support.cli import answer, flat, run
from tests.support.forked_code import ForkedCode

FILES = ["report.csv", "report.html", "report.json", "report.md", "report.tex", "times.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A LETOR folder of three parts, and all of it in one file."""
    made = tmp_path_factory.mktemp("letor")
    data = make_synthetic(n_queries=30, n_docs=(4, 9), n_features=4, noise=1.0, seed=3)
    for i, part in enumerate(split(data, [1 / 3] * 3), start=1):
        write_letor(part, made / f"S{i}.txt.gz")
    write_letor(data, made / "all.txt")
    return made


QUICK = ("--rankers", "regression,ranksvm", "-m", "NDCG@5", "-m", "MAP", "--no-tune")


def test_a_folder_is_compared_and_written(folder, tmp_path):
    out = tmp_path / "out"
    result = run("compare", folder, *QUICK, "--baseline", "ranksvm", "--out", out)
    assert sorted(path.name for path in out.iterdir()) == ["cells", *FILES]
    report = Report.load(out)
    assert report.baseline == "ranksvm"
    assert report.data.name == folder.name
    assert report == podium.compare(
        folder,
        ["regression", "ranksvm"],
        ["NDCG@5", "MAP"],
        tune=False,
        baseline="ranksvm",
        out=out,
    )
    shown = flat(result.stdout)
    assert f"regression {report.standing('regression').mean:.4f} ±" in shown
    assert "Against ranksvm (paired permutation test, correction: holm)" in shown
    assert "report.html" in shown


def test_a_file_is_cut_into_folds_and_the_same_command_gives_the_same_bytes(folder, tmp_path):
    options = (*QUICK, "--folds", 3, "--seed", 5)
    for name in ("one", "two"):
        run("compare", folder / "all.txt", *options, "--out", tmp_path / name)
    one, two = ((tmp_path / name / "report.json").read_bytes() for name in ("one", "two"))
    assert one == two
    report = Report.from_json(one)
    assert (report.seed, len(report.folds), report.data.name) == (5, 3, "all.txt")


def test_json_for_machines(folder, tmp_path):
    told = answer("compare", folder, *QUICK, "--out", tmp_path)
    report = Report.load(tmp_path)
    assert told["rankers"]["ranksvm"]["MAP"]["mean"] == report.standing("ranksvm", "MAP").mean
    against = told["rankers"]["ranksvm"]["NDCG@5"]["against_baseline"]
    assert against["p_corrected"] == report.standing("ranksvm").difference.adjusted
    assert told["failed"] == []


def test_settings_of_one_ranker_are_its_own(folder, tmp_path):
    options = ("--rankers", "ranksvm,listnet", "-m", "NDCG@5", "--set", "ranksvm.C=0.5")
    run("compare", folder, *options, "--out", tmp_path)
    report = Report.load(tmp_path)
    assert {cell.chosen for cell in report.cells_of("ranksvm")} == {"RankSVM(C=0.5)"}
    assert all(len(cell.tried) == 5 for cell in report.cells_of("listnet"))


def test_a_ranker_that_fails_is_a_warning_unless_all_do(folder, tmp_path):
    # No list is as long as the clusters need.
    options = ("-m", "NDCG@5", "--no-tune", "--set", "rpc-mtl.n_clusters=50")
    result = run("compare", folder, "--rankers", "regression,rpc-mtl", *options, "--out", tmp_path)
    # The longest list differs between the folds, and so do the three reasons.
    assert result.stderr.count("podium: warning: rpc-mtl failed in ") == 3
    result = run(
        "compare", folder, "--rankers", "rpc-mtl", *options, "--out", tmp_path / "x", code=1
    )
    assert "every ranker failed" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rankers", "ranksvn"), "ranksvm"),
        (("--rankers", "ranksvm,ranksvm"), "ranksvm twice"),
        (("--rankers", ","), "each once"),
        (("--rankers", "ranksvm", "-m", "NDGC@5"), "NDCG"),
        (("--rankers", "ranksvm", "-m", "P"), "cutoff"),
        (("--rankers", "ranksvm", "--baseline", "listnet"), "baseline"),
        (("--rankers", "ranksvm", "--jobs", 0), "--jobs"),
        (("--rankers", "ranksvm", "--folds", 1), "folds"),
        (("--rankers", "ranksvm", "--set", "C=1"), "--set"),
        (("--rankers", "ranksvm", "--set", "listnet.l2=1"), "listnet"),
        (("--rankers", "ranksvm", "--set", "ranksvm.D=1"), "D"),
        (("--rankers", "ranksvm", "--set", "ranksvm.C=-1"), "C"),
    ],
)
def test_a_wrong_command_line_is_2(folder, tmp_path, options, message):
    result = run("compare", folder, *options, "--out", tmp_path / "out", code=2)
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".txt"])
def test_a_folder_of_any_format_has_the_same_report(folder, tmp_path, ending):
    (tmp_path / "parts").mkdir()
    for i in (1, 2, 3):
        run("data", "convert", folder / f"S{i}.txt.gz", tmp_path / "parts" / f"S{i}{ending}")
    options = (*QUICK, "--json", "-m", "P@1")
    expected = answer("compare", folder, *options, "--out", tmp_path / "letor")["rankers"]
    assert answer("compare", tmp_path / "parts", *options, "--out", tmp_path / "out")[
        "rankers"
    ] == (expected)


def test_folds_of_tables(folder, tmp_path):
    run("data", "split", folder / "all.txt", tmp_path / "f", "--folds", 3, "--ending", ".csv")
    told = answer("compare", tmp_path / "f", *QUICK, "--out", tmp_path / "out", "--json",
                  "--features", "f1,f2")  # fmt: skip
    assert (told["queries"], told["folds"]) == (30, 3)


@pytest.mark.parametrize("folds", [2, 4])
def test_a_folder_can_be_cut_anew(folder, tmp_path, folds):
    told = answer("compare", folder, *QUICK, "--out", tmp_path / "out", "--folds", folds, "--json")
    assert (told["queries"], told["folds"]) == (30, folds)
    data = podium.read_letor([folder / f"S{i}.txt.gz" for i in (1, 2, 3)])
    report = podium.compare(data, ["regression"], "NDCG@5", folds=folds, tune=False)
    assert told["rankers"]["regression"]["NDCG@5"]["mean"] == report.standing("regression").mean


def test_all_inputs_are_named_and_nothing_is_replaced(folder, tmp_path):
    files = [folder / f"S{i}.txt.gz" for i in (1, 2)]
    command = ("compare", *files, *QUICK, "--folds", 2, "--out", tmp_path / "out")
    run(*command)
    text = (tmp_path / "out" / "report.tex").read_text()
    assert "NDCG@5, MAP of 2 rankers on S1.txt, S2.txt: means over the 20 test queries" in text
    assert "\\label{tab:s1-txt-s2-txt}" in text
    assert "    RankSVM & " in text
    result = run(*command, code=2)
    assert "--force replaces the report and keeps finished fits in" in result.stderr
    run(*command, "--force")


def test_wrong_data_is_1(folder, tmp_path):
    result = run("compare", tmp_path, *QUICK, "--out", tmp_path / "out", code=1)
    assert "S1.txt" in result.stderr
    both = ("compare", folder, folder / "all.txt", *QUICK, "--out", tmp_path / "out")
    assert "one folder" in run(*both, code=2).stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_or_killed_goes_on(folder, tmp_path, how):
    out = tmp_path / "out"
    # The second ranker never ends by itself.
    code = (
        "import time\nfrom podium.rankers import ListNet\n"
        "def wait(self, train, watch, start):\n    time.sleep(600)\n"
        "ListNet.learn = wait\n"
        "from podium.apps.cli import app\n"
        f"app(['compare', {str(folder)!r}, '--rankers', 'regression,listnet', '-m', 'NDCG@5',"
        f" '--no-tune', '--out', {str(out)!r}])"
    )
    running = ForkedCode(code)
    kept = out / "cells" / "regression.fold1.json"
    deadline = time.monotonic() + 120
    while not kept.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
    os.kill(running.pid, how)
    _, stderr = running.communicate()
    if how == signal.SIGINT:
        assert running.returncode == 130
        assert f"kept in {out}" in stderr
        assert "Traceback" not in stderr
    before = kept.read_bytes()
    run(
        "compare",
        folder,
        "--rankers",
        "regression,listnet",
        "-m",
        "NDCG@5",
        "--no-tune",
        "--out",
        out,
    )
    assert kept.read_bytes() == before
    assert not Report.load(out).failed
    told = json.loads((out / "times.json").read_text())
    assert len(told) == 6


def test_the_table_fills_while_it_runs():
    from rich.console import Console

    from podium.apps.cli.commands.compare import _progress_table
    from podium.experiments.compare import ComparisonProgress

    told = [
        ComparisonProgress("ranksvm", 1, "done", 1, 4, 0.51234),
        ComparisonProgress("ranksvm", 2, "running", 1, 4),
        ComparisonProgress("listnet", 1, "failed", 2, 4),
    ]  # fmt: skip
    table = _progress_table(
        ["ranksvm", "listnet"], 2, "NDCG@10", {(p.ranker, p.fold): p for p in told}
    )
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table)
    text = flat(console.export_text())
    assert "2 of 4 cells, NDCG@10 on test" in text
    assert "ranksvm 0.5123 …" in text
    assert "listnet failed ·" in text


def test_a_model_that_one_has_is_the_baseline(folder, tmp_path):
    """It is measured as it is: a fixed model of all queries, so better than it could be."""
    model = tmp_path / "mine.podium"
    podium.RankSVM().fit(podium.read_letor(folder / "all.txt")).save(model)
    given = ("--rankers", "regression", "-m", "NDCG@5", "--no-tune", "--fixed", model)
    told = answer("compare", folder, *given, "--baseline", "mine", "--out", tmp_path / "out")
    assert list(told["rankers"]) == ["regression", "mine"]
    assert told["baseline"] == "mine"
    assert told["failed"] == []
    twice = (*given, "--fixed", model)
    out = run("compare", folder, *twice, "--out", tmp_path / "out", code=2)
    assert "got mine twice" in flat(out.stderr)
