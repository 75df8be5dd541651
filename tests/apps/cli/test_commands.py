"""The command line: what it prints, writes and refuses."""

import json
import signal
import subprocess
import sys
import time
from itertools import chain

import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner

import podium
from podium.apps.cli import app
from podium.data import draw_truth, scale_by_query
from tests.support.forked_code import ForkedCode

runner = CliRunner()


def run(*arguments, code=0):
    result = runner.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def data():
    return podium.make_synthetic(n_queries=12, n_features=4, blank=0.2, seed=3)


@pytest.fixture
def folder(tmp_path, data):
    podium.write_letor(data, tmp_path / "data.txt")
    np.savetxt(tmp_path / "good.txt", data.truth(data.X), fmt="%.17g")
    np.savetxt(tmp_path / "bad.txt", data.X[:, 0], fmt="%.17g")
    np.save(tmp_path / "good.npy", data.truth(data.X))
    podium.write_qrels(data, tmp_path / "data.qrels")
    podium.write_run(podium.Run.from_scores(data, data.truth(data.X)), tmp_path / "good.run")
    return tmp_path


def test_version_names_the_backend():
    out = run("--version").stdout
    assert out.startswith(f"podium {podium.__version__} ({podium.kernels.BACKEND} kernels")


@pytest.mark.parametrize("scores", ["good.txt", "good.npy", "good.run"])
def test_evaluate_prints_the_means(folder, data, scores):
    means = podium.evaluate(data, data.truth(data.X), ["NDCG@10", "MAP"])
    out = run("evaluate", folder / "data.txt", folder / scores, "-m", "NDCG@10", "-m", "MAP").stdout
    for name in ("NDCG@10", "MAP"):
        assert name in out
        assert f"{means[name].mean:.4f}" in out


def test_evaluate_a_run_by_qrels(folder, data):
    mean = podium.evaluate(data, data.truth(data.X), "P@5")["P@5"].mean
    out = run("evaluate", folder / "data.qrels", folder / "good.run", "-m", "P@5", "--json").stdout
    assert json.loads(out)[str(folder / "good.run")]["mean"]["P@5"] == pytest.approx(
        mean, abs=1e-12
    )


def test_evaluate_follows_the_order_of_lines_even_where_queries_lie_apart(tmp_path):
    (tmp_path / "d.txt").write_text("0 qid:a 1:1\n1 qid:b 1:1\n2 qid:a 1:1\n0 qid:b 1:1\n")
    (tmp_path / "s.txt").write_text("1\n9\n5\n2\n")
    out = run("evaluate", tmp_path / "d.txt", tmp_path / "s.txt", "-m", "MRR", "--json").stdout
    assert json.loads(out)[str(tmp_path / "s.txt")]["mean"]["MRR"] == 1.0


def test_evaluate_compares_with_the_first(folder, data):
    files = (folder / "bad.txt", folder / "good.txt")
    entry = json.loads(
        run("evaluate", folder / "data.txt", *files, "-m", "NDCG", "--json", "--per-query").stdout
    )
    found = entry[str(folder / "good.txt")]
    values = [podium.evaluate(data, s, "NDCG")["NDCG"] for s in (data.X[:, 0], data.truth(data.X))]
    expected = podium.metrics.paired_test(values[1].per_query, values[0].per_query)
    assert found["against_first"]["NDCG"]["p_value"] == expected.p_value
    assert found["per_query"]["NDCG"][data.qids[0]] == values[1].per_query[0]
    assert "▲" in run("evaluate", folder / "data.txt", *files, "-m", "NDCG").stdout


def test_skipped_queries_are_null_in_json(folder, data):
    out = run(
        "evaluate", folder / "data.txt", folder / "good.txt",
        "-m", "NDCG(empty='skip')", "--json", "--per-query",
    ).stdout  # fmt: skip
    values = json.loads(out)[str(folder / "good.txt")]["per_query"]["NDCG(empty='skip')"]
    blank = data.groups.reduce(np.maximum, data.y) == 0
    assert [v is None for v in values.values()] == blank.tolist()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["evaluate", "data.txt", "good.txt", "-m", "NDGC@10"], 2, "did you mean NDCG"),
        (["evaluate", "data.txt", "good.txt", "-m", "NDCG(gian='exp2')"], 2, "gain"),
        (["evaluate", "data.txt", "good.txt", "-m", "P"], 2, "P@10"),
        (["evaluate", "data.txt", "good.txt", "--test", "z"], 2, "permutation"),
        (["evaluate", "data.txt", "good.txt", "good.txt"], 2, "twice"),
        (["evaluate", "data.txt", "good.txt", "--seed", "-1"], 2, "seed"),
        (["evaluate", "data.txt", "bad.txt", "good.txt", "--correction", "x"], 2, "correction"),
        (["evaluate", "data.txt", "missing.txt"], 2, "missing.txt"),
        (["evaluate", "data.qrels", "good.txt"], 2, "a TREC run"),
        (["evaluate", "data.txt", "short.txt"], 1, "short.txt: expected"),
        (["evaluate", "data.txt", "words.txt"], 1, "words.txt:2: expected one score per line"),
        (["evaluate", "broken.txt", "good.txt"], 1, "broken.txt:2: expected a label"),
        (["evaluate", "data.txt", "good.txt", "-m", "kNDCG@10"], 1, "top-k truth"),
        (["data", "info", "broken.txt"], 1, "broken.txt:2: expected a label"),
        (["data", "info", "good.run"], 1, "looks like a TREC run"),
        (["data", "info", "empty.txt"], 1, "empty.txt: expected"),
        (["data", "convert", "data.txt", "data.qrels"], 2, "--force"),
        (["data", "convert", "data.txt", "new.txt", "--scale", "x"], 2, "minmax"),
        (["data", "convert", "data.txt", "new.txt", "--scaled", "x"], 2, "minmax, none, zscore"),
        (
            ["data", "convert", "data.txt", "new.txt", "--scaled", "minmax", "--scale", "minmax"],
            2,
            "got both",
        ),
        (["data", "convert", "data.txt", "new.txt", "--missing", "x"], 2, "missing"),
        (["data", "split", "data.txt", "out"], 2, "--folds"),
        (["data", "split", "data.txt", "out", "--folds", "1"], 2, "at least 2"),
        (["data", "split", "data.txt", "out", "--folds", "99"], 1, "99 parts"),
        (["data", "split", "data.txt", "out", "--fractions", "a,b"], 2, "0.6,0.2,0.2"),
        (["data", "split", "data.txt", "out", "--fractions", ".5,.6"], 2, "add up to 1"),
        (["data", "convert", "data.txt", "new.run"], 2, ".parquet"),
        (["data", "convert", "data.txt", "new.TXT.GZ"], 2, "new.TXT.GZ"),
        (["data", "convert", "data.txt", "nowhere/new.txt"], 1, "no folder"),
        (["data", "split", "data.txt", "data.txt", "data.txt", "out", "--parts"], 1, "in one part"),
        (["metrics", "--value", "0.5"], 2, "--explain"),
        (["metrics", "-e", "NDCG@10", "--value", "0.5", "--blank", "1.5"], 2, "from 0 to 1"),
        (
            ["metrics", "-e", "NDCG@10", "--value", "0.9", "--blank", "0.5"],
            1,
            "NDCG@10 cannot be 0.9",
        ),
        (["metrics", "--explain", "foo"], 2, "unknown metric 'foo'"),
        (["demo", "--queries", "3"], 2, "queries"),
    ],
)
def test_errors_are_one_line_with_an_exit_code(folder, monkeypatch, arguments, code, message):
    monkeypatch.chdir(folder)
    (folder / "short.txt").write_text("1\n2\n")
    (folder / "words.txt").write_text("1\ntwo\n")
    (folder / "broken.txt").write_text("0 qid:1 1:1\nx qid:1 1:1\n")
    (folder / "empty.txt").write_text("")
    before = sorted(folder.rglob("*"))
    result = run(*arguments, code=code)
    flat = " ".join(result.stderr.replace("│", " ").split())
    assert message in flat
    assert "Traceback" not in result.output
    assert sorted(folder.rglob("*")) == before, "nothing may be written"
    if "Usage:" not in result.stderr:
        assert result.stderr.startswith("podium: ")
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


def test_one_query_is_evaluated_but_not_tested(tmp_path):
    (tmp_path / "d.txt").write_text("0 qid:a 1:1\n1 qid:a 1:1\n")
    for name, text in (("s", "1\n2\n"), ("t", "2\n1\n")):
        (tmp_path / name).write_text(text)
    out = run("evaluate", tmp_path / "d.txt", tmp_path / "s", tmp_path / "t", "-m", "MRR").stdout
    assert "1.0000" in out
    assert "0.5000" in out
    assert "Not compared" in out


def test_success_says_nothing_on_stderr(folder):
    assert run("data", "info", folder / "data.txt").stderr == ""
    assert run("evaluate", folder / "data.txt", folder / "good.txt").stderr == ""


def test_converting_rows_that_lay_apart_says_so(tmp_path):
    (tmp_path / "d.txt").write_text("0 qid:a 1:1\n1 qid:b 1:1\n2 qid:a 1:1\n")
    assert (
        "compute scores again"
        in run("data", "convert", tmp_path / "d.txt", tmp_path / "e.txt").stderr
    )


def test_a_weighted_comparison_marks_the_better_mean(tmp_path):
    n = 40
    qid = np.repeat(np.arange(n), 2)
    weight = np.where(np.arange(n) == 0, 1000.0, 1.0)
    y = np.tile([1.0, 0.0], n)
    data = podium.RankingData.from_arrays(np.zeros((2 * n, 1)), y, qid=qid, query_weight=weight)
    podium.write_letor(data, tmp_path / "d.txt")
    first = np.tile([0.0, 1.0], n)
    first[:2] = [1.0, 0.0]  # right on the query that counts, wrong on all others
    np.savetxt(tmp_path / "a", first)
    np.savetxt(tmp_path / "b", -first)
    out = run("evaluate", tmp_path / "d.txt", tmp_path / "a", tmp_path / "b", "-m", "MRR").stdout
    assert "▲" not in out


def test_data_info(folder, data):
    facts = json.loads(run("data", "info", folder / "data.txt", "--json").stdout)
    assert (facts["queries"], facts["documents"], facts["features"]) == (12, len(data), 4)
    assert facts["labels"] == {f"{y:g}": int((data.y == y).sum()) for y in np.unique(data.y)}
    assert facts["queries_without_relevant"] == sum(
        data.y[rows].max() == 0 for _, rows in data.queries()
    )
    assert f"{len(data):,}" in run("data", "info", folder / "data.txt").stdout


def test_data_convert(folder, data):
    run("data", "convert", folder / "data.txt", folder / "new.txt.zst", "--scale", "zscore")
    assert podium.read_letor(folder / "new.txt.zst").equals(scale_by_query(data, "zscore"))
    run("data", "convert", folder / "data.txt", folder / "said.txt", "--scaled", "minmax")
    said = podium.read_letor(folder / "data.txt", scaled="minmax")
    assert podium.read_letor(folder / "said.txt").equals(said)
    told = json.loads(run("data", "info", folder / "said.txt", "--json").stdout)
    assert told["scaled_by_query"] == said.scaled == "minmax"
    run("data", "convert", folder / "said.txt", folder / "raw.txt", "--scaled", "none")
    assert podium.read_letor(folder / "raw.txt").equals(data)
    run("data", "convert", folder / "data.txt", folder / "new.parquet", "--topk", 3, "--seed", 5)
    assert podium.read_parquet(folder / "new.parquet").equals(draw_truth(data, 3, 5))
    run("data", "convert", folder / "new.parquet", folder / "new.txt.zst", "--force")
    assert podium.read_letor(folder / "new.txt.zst").equals(draw_truth(data, 3, 5))
    run("data", "convert", folder / "data.txt", folder / "again.qrels")
    assert (folder / "again.qrels").read_bytes() == (folder / "data.qrels").read_bytes()


def test_data_split_folds_fractions_and_parts(folder, data):
    run("data", "split", folder / "data.txt", folder / "f", "--folds", 3, "--ending", ".txt.gz")
    tests = [podium.read_letor(folder / f"f/Fold{i}/test.txt.gz").qids.tolist() for i in (1, 2, 3)]
    assert sorted(chain(*tests)) == sorted(data.qids.tolist())
    run("data", "split", folder / "data.txt", folder / "p", "--fractions", "0.5,0.25,0.25")
    parts = [folder / f"p/{name}.txt" for name in ("train", "vali", "test")]
    assert [podium.read_letor(p).n_queries for p in parts] == [6, 3, 3]
    run("data", "split", *parts, folder / "r", "--parts")
    for fold, (train, vali, test) in enumerate([(0, 1, 2), (1, 2, 0), (2, 0, 1)], start=1):
        for name, part in zip(("train", "vali", "test"), (train, vali, test), strict=True):
            made = (folder / f"r/Fold{fold}/{name}.txt").read_bytes()
            assert made == parts[part].read_bytes()


def test_metrics_lists_every_metric_with_its_definition():
    listed = json.loads(run("metrics", "--json").stdout)
    assert set(listed) == set(podium.METRICS)
    assert all(entry["formula"] for entry in listed.values())
    table = run("metrics").stdout
    assert all(name in table for name in podium.METRICS)


def test_metrics_explain_converts(folder, data):
    out = json.loads(
        run("metrics", "-e", "NDCG@10", "--value", 0.5, "--blank", 0.2, "--json").stdout
    )
    assert out["converted"]["NDCG(rule='lightgbm')@10"] == pytest.approx(0.5 + 0.2)
    assert out["converted"]["NDCG(empty='skip')@10"] == pytest.approx(0.5 / (1 - 0.2))
    assert list(out["comparable_with"]) == ["ranklib"]
    out = run("metrics", "-e", "NDCG@10", "--value", 0.5, "--data", folder / "data.txt").stdout
    blank = (data.groups.reduce(np.maximum, data.y) == 0).mean()
    assert f"{0.5 + blank:.4f}" in out


def test_a_narrow_terminal_loses_no_number(folder, data):
    result = runner.invoke(
        app, ["evaluate", str(folder / "data.txt"), str(folder / "good.txt")], env={"COLUMNS": "20"}
    )
    for name in ("NDCG@10", "P@10", "MAP"):
        mean = podium.evaluate(data, data.truth(data.X), name)[name].mean
        assert name in result.stdout
        assert f"{mean:.4f}" in result.stdout


def test_every_command_speaks_json(folder):
    made = json.loads(
        run("data", "convert", folder / "data.txt", folder / "n.txt", "--json").stdout
    )
    assert (made["queries"], made["regrouped"]) == (12, False)
    parts = json.loads(
        run(
            "data", "split", folder / "data.txt", folder / "o", "--fractions", ".5,.5", "--json"
        ).stdout
    )
    assert [part["queries"] for part in parts] == [6, 6]
    for path, command in commands(typer.main.get_command(app)):
        if path != ("rank",):  # JSON lines in, JSON lines out
            assert "--json" in [o for p in command.params for o in p.opts], path


def commands(command, path=()):
    children = getattr(command, "commands", None)
    if children is None:
        return [(path, command)]
    return [found for name in children for found in commands(children[name], (*path, name))]


@pytest.mark.parametrize(("path", "command"), commands(typer.main.get_command(app)))
def test_every_command_has_help_with_an_example(path, command):
    assert command.help
    assert "Example: podium " + " ".join(path) in command.epilog
    out = run(*path, "--help").stdout
    assert "Example:" in out


def test_interrupt_exits_with_130(tmp_path):
    code = (
        "import podium.apps.cli as c, podium.experiments.demo as d, time, sys\n"
        "def prepare(**k):\n    print('ready', flush=True); time.sleep(60)\n"
        "d.Demo.prepare = prepare\nsys.argv = ['podium', 'demo']\nc.main()\n"
    )
    process = ForkedCode(code, cwd=tmp_path)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == "podium: interrupted\n"


def test_a_closed_pipe_is_no_error(folder):
    code = (
        "import io, sys\nfrom podium.apps.cli import main\nsys.argv[0] = 'podium'\n"
        "sys.stdout = io.TextIOWrapper(open(1, 'wb', buffering=0), write_through=True)\nmain()\n"
    )
    process = ForkedCode(code, "evaluate", "data.txt", "good.txt", "--per-query", cwd=folder)
    process.stdout.close()
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def test_progress_bar_appears_on_long_reads(monkeypatch, tmp_path, capsys):
    from podium.apps.cli.inputs import input_files

    ticks = iter([0.0, 0.1, 10.0, 10.1])
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks, 20.0))
    monkeypatch.setenv("FORCE_COLOR", "1")
    path = tmp_path / "x.txt"
    path.write_text("0 qid:1 1:1\n")
    with input_files.reading_bar([path]) as advance:
        advance(6)
        advance(6)
    assert "reading" in capsys.readouterr().err


def test_python_m_podium():
    done = subprocess.run(
        [sys.executable, "-m", "podium", "--version"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "podium" in done.stdout
