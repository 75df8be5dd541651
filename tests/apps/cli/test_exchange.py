"""``podium export`` and ``podium import``."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from podium.data import scale_by_query
from podium.exchange import EXPORTERS, IMPORTERS
from podium.registry import load
from tests.support.cli import answer, flat, run
from tests.support.small_rankers import cheap, small

DATA = small(15, n_features=3, seed=2)


@pytest.fixture
def models(tmp_path):
    for name in ("ranksvm", "lambdamart", "toprank"):
        cheap(name).fit(DATA).save(tmp_path / f"{name}.podium")
    return tmp_path


@pytest.mark.parametrize("target", sorted(EXPORTERS))
def test_export_to_a_file(models, target):
    out = models / "out"
    options = ("--name", "shop", "--feature-names", "a, b,c")
    model = models / ("lambdamart.podium" if target == "lightgbm" else "ranksvm.podium")
    told = answer("export", model, "--to", target, "-o", out, *options)
    assert (told["target"], told["name"], told["features"]) == (target, "shop", ["a", "b", "c"])
    assert told["file"] == str(out)
    assert out.stat().st_size > 100


def test_export_to_stdout(models):
    text = run("export", models / "lambdamart.podium", "--to", "solr").stdout
    assert json.loads(text)["class"].endswith("MultipleAdditiveTreesModel")
    error = run("export", models / "ranksvm.podium", "--to", "onnx", code=2).stderr
    assert "expected -o FILE to write onnx" in error
    error = run("export", models / "ranksvm.podium", "--to", "solr", "--json", code=2).stderr
    assert "expected -o FILE with --json" in error


def test_export_with_normalizers_and_names_from_files(models):
    names = models / "names.txt"
    names.write_text("title\nclicks\nyear\n")
    told = models / "scale.json"
    told.write_text('{"year": {"standard": {"mean": 1970, "standard_deviation": 30}}}')
    out = run(
        "export", models / "ranksvm.podium", "--to", "elasticsearch", "--feature-names", names,
        "--normalizers", told,
    ).stdout  # fmt: skip
    normalizers = json.loads(out)["model"]["model"]["feature_normalizers"]
    assert normalizers == {"year": {"standard": {"mean": 1970.0, "standard_deviation": 30.0}}}
    told.write_text("{")
    error = run(
        "export", models / "ranksvm.podium", "--to", "solr", "--normalizers", told, code=1
    ).stderr
    assert "scale.json: expected JSON" in error


def test_what_cannot_be_expressed(models):
    error = run("export", models / "toprank.podium", "--to", "solr", code=2).stderr
    assert "nearest: one of its rankers, member='ranksvm'" in " ".join(error.split())
    run("export", models / "toprank.podium", "--to", "solr", "--member", "ranksvm")
    error = run("export", models / "ranksvm.podium", "--to", "sol", code=2).stderr
    assert "did you mean solr" in error
    error = run("export", models / "ranksvm.podium", "--to", "solr", "--user-class", "x", code=2)
    assert "user_class= is for cfbrs" in error.stderr


def test_features_scaled_by_query_are_told(tmp_path):
    path = tmp_path / "m.podium"
    cheap("ranksvm").fit(scale_by_query(DATA)).save(path)
    told = run("export", path, "--to", "solr", "-o", tmp_path / "m.json", code=2).stderr
    assert "scaling by query (minmax) needs all documents of a query" in flat(told)
    assert not (tmp_path / "m.json").exists()
    told = run("export", path, "--to", "json", "-o", tmp_path / "m.json").stderr
    assert "note: scale the features of each query first (minmax)" in flat(told)
    assert "features scaled by query (minmax)" in flat(run("explain", path).output)


def test_a_missing_package_is_named(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    out = models / "m.onnx"
    error = run("export", models / "ranksvm.podium", "--to", "onnx", "-o", out, code=2).stderr
    assert "pip install 'podium-ltr[export]'" in error
    assert not out.exists()


def test_the_model_is_not_written_over(models):
    model = models / "ranksvm.podium"
    before = model.read_bytes()
    run("export", model, "--to", "solr", "-o", model, code=1)
    assert model.read_bytes() == before


def test_missing_values_are_noted(tmp_path):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 3)) < 0.3, np.nan, rng.standard_normal((200, 3)))
    ranker = cheap("lambdamart").fit(X, rng.integers(0, 3, 200), qid=np.arange(200) // 10)
    ranker.save(tmp_path / "m.podium")
    done = run("export", tmp_path / "m.podium", "--to", "solr")
    assert "podium: note: the model was trained on missing values" in done.stderr
    assert json.loads(done.stdout)["params"]["isNullSameAsZero"] is False


def test_versions_of_opensearch_that_score_missing_values_wrong_are_noted(models):
    out = models / "out.json"
    told = answer("export", models / "lambdamart.podium", "--to", "opensearch", "-o", out)
    assert [note[:22] for note in told["notes"]] == ["OpenSearch 3.2 to 3.7 "]
    command = ["export", models / "lambdamart.podium", "--to", "opensearch", "-o", out]
    assert "out.json already exists; --force replaces it" in run(*command, code=2).stderr
    done = run(*command, "--force")
    assert "podium: note: OpenSearch 3.2 to 3.7 sends a document that lacks a feature" in flat(
        done.stderr
    )


def test_import(tmp_path):
    path, out = tmp_path / "ca.txt", tmp_path / "ca.podium"
    path.write_text("## Coordinate Ascent\n1:0.5 3:-0.5\n")
    done = run("import", path, "--from", "ranklib", "-o", out)
    assert "linear model of 3 features, ranklib Coordinate Ascent" in done.stdout
    assert "warning" not in done.stderr
    assert load(out).predict([[2.0, 9.0, 4.0]]).tolist() == [0.5 * 2.0 - 0.5 * 4.0]
    again = ["import", path, "--from", "ranklib", "-o", out, "--feature-names", "a,b,c,d"]
    assert "ca.podium already exists; --force replaces it" in run(*again, code=2).stderr
    told = answer(*again, "--force")
    assert told == {
        "file": str(out), "source": "ranklib Coordinate Ascent", "model": "linear", "features": 4,
    }  # fmt: skip
    assert load(out).feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_import_of_a_file_that_may_be_cut_off(tmp_path):
    path, out = tmp_path / "ca.txt", tmp_path / "ca.podium"
    path.write_text("## Coordinate Ascent\n1:0.5 3:-0.25\n")
    done = run("import", path, "--from", "ranklib", "-o", out)
    assert "podium: warning: " in done.stderr
    assert "the absolute weights add up to 0.75" in flat(done.stderr)
    assert load(out).predict([[2.0, 9.0, 4.0]]).tolist() == [0.0]


def test_import_of_what_is_none(tmp_path):
    path, out = tmp_path / "m.txt", tmp_path / "m.podium"
    path.write_text("## AdaRank\n1:x\n")
    error = run("import", path, "--from", "ranklib", "-o", out, code=1).stderr
    assert "m.txt:2: expected a finite number, got 'x'" in " ".join(error.split())
    assert not out.exists()
    error = run("import", path, "--from", "rank", "-o", out, code=2).stderr
    assert "ranklib?" in error


def test_programs_and_targets_are_in_the_help():
    for command, names in (("export", EXPORTERS), ("import", IMPORTERS)):
        text = " ".join(run(command, "--help").stdout.split())
        assert [name for name in names if name not in text] == []


@pytest.mark.parametrize(("names", "n_notes"), [(["price", "bm25", "in_stock"], 1), (None, 0)])
def test_models_of_tables_note_that_yes_is_1(tmp_path, names, n_notes):
    table = replace(DATA, feature_names=names)
    cheap("ranksvm").fit(table).save(tmp_path / "m.podium")
    out = run("export", tmp_path / "m.podium", "--to", "solr")
    note = "training reads yes and true in a column as 1, no and false as 0"
    assert flat(out.stderr).count(note) == n_notes
