"""MLflow: rankers as models of its pyfunc flavour, metrics and reports of comparisons."""

from __future__ import annotations

import importlib.metadata
import math
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.errors import UsageError, require
from podium.experiments import Report
from podium.metrics.evaluation import Evaluation
from podium.rankers import Ranker
from podium.registry import load
from podium.typing import Floats

if TYPE_CHECKING:
    import mlflow
    import mlflow.pyfunc
else:
    mlflow = require("mlflow", "mlflow", "a model of MLflow")
    require("mlflow.pyfunc", "mlflow", "a model of MLflow")

MODEL_FILE = "ranker.podium"
QUERY_COLUMN = "qid"
_NOT_IN_NAMES = re.compile(r"[^\w.\-:/]+|_+")


class RankerModel:
    """What ``mlflow.pyfunc.load_model`` loads: a ranker that scores the rows of a data frame.

    Parameters
    ----------
    ranker
        A fitted ranker.
    """

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Floats:
        """Return one score per row; the column ``qid`` has the query ids, for rankers that need them."""
        if QUERY_COLUMN not in getattr(model_input, "columns", ()):
            return self.ranker.predict(model_input)
        qid = model_input[QUERY_COLUMN].to_numpy()
        features = model_input.drop(columns=QUERY_COLUMN)
        return self.ranker.predict_by_query(features, qid)


def log_model(ranker: Ranker, name: str = "ranker", **options: Any) -> Any:
    """Log a fitted ranker to the active run, as a model file that holds no code; return MLflow's record.

    Parameters
    ----------
    ranker
        The ranker.
    name
        The name of the model.
    **options
        Options of ``mlflow.pyfunc.log_model``, such as ``input_example`` and ``registered_model_name``.

    Examples
    --------
    >>> import os
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # a folder in place of a server
    >>> mlflow.set_tracking_uri(f"file://{tempfile.mkdtemp()}/runs")
    >>> data = make_synthetic(n_queries=20, n_features=3, seed=0)
    >>> ranker = RankSVM().fit(data)
    >>> with mlflow.start_run():
    ...     record = log_model(ranker)
    >>> model = mlflow.pyfunc.load_model(record.model_uri)
    >>> bool((model.predict(data.X) == ranker.predict(data.X)).all())
    True
    """
    if not isinstance(ranker, Ranker):
        raise UsageError(f"expected a fitted ranker, got {type(ranker).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, MODEL_FILE)
        ranker.save(path)
        settings = {"pip_requirements": [_requirement()], **options}
        if (example := options.get("input_example")) is not None:
            scores = RankerModel(ranker).predict(example)
            settings.setdefault("signature", mlflow.models.infer_signature(example, scores))
        return mlflow.pyfunc.log_model(
            name=name, loader_module=RankerModel.__module__, data_path=str(path), **settings
        )


def _requirement() -> str:
    return f"podium-ltr=={importlib.metadata.version('podium-ltr')}"


def _load_pyfunc(path: str) -> RankerModel:
    """Load the model file; MLflow calls this by its name."""
    folder = Path(path)
    return RankerModel(load(folder / MODEL_FILE if folder.is_dir() else folder))


def log_evaluation(evaluation: Evaluation, prefix: str = "", step: int | None = None) -> None:
    """Log the mean of each metric, and the values per query as a table.

    MLflow allows few signs in names of metrics: NDCG@10 is logged as NDCG_10.

    Parameters
    ----------
    evaluation
        What ``podium.evaluate`` returned.
    prefix
        What names begin with, such as ``test/``.
    step
        The step of the run.
    """
    names = {str(metric): prefix + metric_name(str(metric)) for metric in evaluation}
    if len(set(names.values())) < len(names):
        raise UsageError(
            f"expected metrics that differ in letters or digits, got {', '.join(names)}"
        )
    means = {own: evaluation[metric].mean for metric, own in names.items()}
    mlflow.log_metrics(means, step=step)
    table = {"query": [str(qid) for qid in evaluation.qids]}
    columns = {
        own: [None if math.isnan(v) else v for v in evaluation[metric].per_query.tolist()]
        for metric, own in names.items()
    }
    mlflow.log_dict({**table, **columns}, f"{prefix}per_query.json")


def log_report(report: Report, folder: str = "report") -> None:
    """Log a comparison: the report's files as artifacts, and each ranker's means as metrics."""
    with tempfile.TemporaryDirectory() as temporary:
        report.save(temporary)
        mlflow.log_artifacts(temporary, folder)
    means = {
        metric_name(f"{one.ranker}/{one.metric}"): one.mean
        for one in report.standings
        if one.mean is not None
    }
    mlflow.log_metrics(means)


def metric_name(name: str) -> str:
    """Return the name of a metric in the signs that MLflow allows.

    Examples
    --------
    >>> metric_name("NDCG@10"), metric_name("NDCG(gain='linear')@10")
    ('NDCG_10', 'NDCG_gain_linear_10')
    """
    return _NOT_IN_NAMES.sub("_", name).replace("__", "_").strip("_")
