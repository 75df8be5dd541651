"""Rankers, metrics and reports in MLflow: a model comes back as it was, names are allowed ones."""

import json
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.errors import UsageError
from podium.experiments import Report
from podium.rankers import Prepared, RankSVM
from podium.registry import RANKERS
from tests.support.small_rankers import NAMES, arrays, cheap, predict, qid_of, small

DATA = small()
pytestmark = pytest.mark.filterwarnings("default")  # other packages use what they give up


@pytest.fixture
def mlflow(load, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    package = load("mlflow")
    package.set_tracking_uri(f"file://{tmp_path / 'runs'}")
    return package


@pytest.fixture
def own(load, mlflow):
    return load("podium.connectors.mlflow_models")


def frame(pd, data, **columns):
    return pd.DataFrame(data.X, columns=[f"f{i}" for i in range(data.n_features)]).assign(**columns)


@pytest.mark.parametrize("name", [name for name in NAMES if RANKERS[name].extra is None])
def test_every_ranker_comes_back(name, own, tmp_path, load):
    """By the loader alone: MLflow calls it with the path of the file or of its folder."""
    ranker = cheap(name).fit(DATA)
    ranker.save(tmp_path / own.MODEL_FILE)
    rows = frame(load("pandas"), DATA, qid=qid_of(DATA))
    for path in (tmp_path, tmp_path / own.MODEL_FILE):
        found = own._load_pyfunc(str(path)).predict(rows)
        np.testing.assert_array_equal(found, predict(ranker, DATA.X, qid_of(DATA)))


def test_a_logged_model_predicts_what_the_ranker_predicts(own, mlflow, load):
    pd = load("pandas")
    X, y, qid = arrays(DATA)
    columns = pd.DataFrame(X, columns=list("abcd"))
    ranker = Prepared(RankSVM(), scale="zscore").fit(columns, y, qid=qid)
    with mlflow.start_run():
        record = own.log_model(ranker, "shop", input_example=columns.head(3))
    model = mlflow.pyfunc.load_model(record.model_uri)
    np.testing.assert_array_equal(model.predict(columns), ranker.predict(columns))
    mixed = columns[["c", "a", "d", "b"]]
    np.testing.assert_array_equal(model.predict(mixed), ranker.predict(columns))
    assert [column.name for column in model.metadata.signature.inputs] == list("abcd")


def test_a_logged_model_holds_no_code(own, mlflow):
    with mlflow.start_run():
        record = own.log_model(RankSVM().fit(DATA))
    folder = Path(mlflow.artifacts.download_artifacts(record.model_uri))
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    assert own.MODEL_FILE in files
    assert not [name for name in files if name.endswith((".pkl", ".py", ".pickle"))]
    requirements = (folder / "requirements.txt").read_text().split()
    assert f"podium-ltr=={podium.__version__}" in requirements


def test_metrics_and_the_values_of_queries(own, mlflow):
    result = podium.evaluate(DATA, DATA.X[:, 0], ["NDCG@10", "NDCG(empty='skip')@3", "P@5"])
    with mlflow.start_run() as run:
        own.log_evaluation(result, "test/", step=2)
    found = mlflow.get_run(run.info.run_id)
    assert found.data.metrics == pytest.approx(
        {"test/NDCG_10": result["NDCG@10"].mean, "test/P_5": result["P@5"].mean,
         "test/NDCG_empty_skip_3": result["NDCG(empty='skip')@3"].mean}
    )  # fmt: skip
    table = json.loads(mlflow.artifacts.load_text(f"{found.info.artifact_uri}/test/per_query.json"))
    assert table["query"] == DATA.qids.tolist()
    assert table["test/P_5"] == result["P@5"].per_query.tolist()
    values = result["NDCG(empty='skip')@3"].per_query.tolist()
    assert table["test/NDCG_empty_skip_3"] == [None if np.isnan(v) else v for v in values]


def test_a_report_comes_back(own, mlflow):
    report = podium.compare(DATA, ["regression", "ranksvm"], "NDCG@5", folds=2, tune=False)
    with mlflow.start_run() as run:
        own.log_report(report, "tables")
    folder = mlflow.artifacts.download_artifacts(f"runs:/{run.info.run_id}/tables")
    assert Report.load(folder) == report
    found = mlflow.get_run(run.info.run_id).data.metrics
    assert found == {f"{one.ranker}/NDCG_5": pytest.approx(one.mean) for one in report.standings}


def test_what_cannot_be_logged_is_refused(own):
    with pytest.raises(UsageError, match="expected a fitted ranker, got int"):
        own.log_model(3)
    assert own.metric_name("NDCG(gain='linear', empty=1)@10") == "NDCG_gain_linear_empty_1_10"
