"""``podium train``: labelled queries in, a model file out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    fail,
    print_json,
    print_table,
    read_files,
    reports_errors,
    training,
    warnings_in_one_line,
)
from podium.apps.cli.feedback import print_joined, read_feedback
from podium.apps.cli.feedback_options import (
    Alpha,
    FeedbackClasses,
    FeedbackLogs,
    PhiScale,
    PhiWeight,
    check_needs_log,
    make_phi,
    make_source,
)
from podium.apps.cli.settings import (
    Set,
    build_ranker,
    flatten,
    parse_settings,
    settings_text,
    types_of,
)

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.feedback import Phi
    from podium.rankers import History, Ranker

EXAMPLE = """Example: podium train listnet train.txt --valid vali.txt -o listnet.podium --set l2=0.01

Ctrl-C ends training and keeps the best model so far (exit code 130), where there is one:
rpc-mtl has one from its last stage, tasks, on."""

RankerName = Annotated[str, typer.Argument(metavar="RANKER", help="See podium rankers.")]
TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        exists=True, dir_okay=False, metavar="TRAIN...", help="LETOR text or Parquet files."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The model file to write.", metavar="MODEL")]


@reports_errors
def train(
    ranker: RankerName,
    inputs: TrainFiles,
    out: Out,
    valid: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="Validation data; it chooses iterations."),
    ] = None,
    setting: Set = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="What is measured on the validation data."),
    ] = None,
    missing: Missing = "error",
    seed: Annotated[
        int | None, typer.Option(help="Same seed, same model.", min=0, max=2**63 - 1)
    ] = None,
    feedback: FeedbackLogs = None,
    classes: FeedbackClasses = None,
    phi_weight: PhiWeight = None,
    phi_scale: PhiScale = None,
    alpha: Alpha = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the learning curve (.png, .svg or .pdf).")
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a ranker and write it to a model file."""
    from podium.data.files import check_target

    learner = build_ranker(ranker, _settings(ranker, setting, metric, seed))
    measure = metric or str(getattr(learner, "metric", "NDCG@10"))
    check_measure(measure)
    measure = averaging_ties(measure)
    check_target(out, *inputs, *(valid or ()), *(feedback or ()))
    phi = make_phi(phi_weight, phi_scale)
    _check_feedback(learner, feedback, classes, phi, alpha)
    if plot is not None:
        _check_plot(plot)
    data = read_files(inputs, missing)
    held_out = read_files(valid, missing) if valid else None
    users: dict[str, Any] = {}
    if feedback:
        users["feedback"] = read_feedback(feedback, classes, phi=phi)
        print_joined(users["feedback"], data)
    elif alpha is not None:
        users["feedback"] = make_source(alpha, seed)
    started = time.perf_counter()
    with warnings_in_one_line(), training(ranker) as (advance, _):
        learner.fit(data, valid=held_out, callback=advance, **users)
    seconds = time.perf_counter() - started
    learner.save(out)
    if plot is not None:
        _draw(learner.history_, plot)
    facts = _facts(learner, data, held_out, measure, seconds)
    if json:
        print_json({"model": str(out), **facts})
    else:
        rows = [[name.replace("_", " "), _text(value)] for name, value in facts.items()]
        print_table(str(out), ["what", "value"], rows, text_columns=2)
    if learner.stopped_ == "interrupted":
        fail(f"interrupted; the best model so far is in {out}", 130)


def _settings(
    ranker: str, setting: list[str] | None, metric: str | None, seed: int | None
) -> dict[str, Any]:
    """--set, with --metric and --seed where the ranker has such parameters."""
    from podium.errors import UsageError
    from podium.registry import RANKERS

    settings = parse_settings(setting)
    for name, value in (("metric", metric), ("seed", seed)):
        if value is None:
            continue
        if name in settings:
            raise UsageError(f"expected --{name} or --set {name}, got both")
        if ranker in RANKERS and name in types_of(ranker):
            settings[name] = value
    return settings


def _check_feedback(
    learner: Ranker, feedback: list[Path] | None, classes: str | None, phi: Phi | None,
    alpha: str | None,
) -> None:  # fmt: skip
    from podium.ensemble import CFBRS
    from podium.errors import UsageError

    if (feedback or alpha is not None) and not isinstance(learner, CFBRS):
        option = "--feedback" if feedback else "--alpha"
        raise UsageError(f"expected {option} with cfbrs, which learns from it, got {learner.name}")
    check_needs_log(feedback, classes, phi)
    if alpha is not None:
        if feedback:
            raise UsageError("expected --feedback or --alpha, got both")
        make_source(alpha, 0)  # a wrong word must not wait for the data


def check_measure(metric: str) -> None:
    """Raise where a metric's name is wrong: it should not wait for the data."""
    from podium.metrics.naming import parse

    parse(metric).check_cutoff()


def averaging_ties(metric: str) -> str:
    """The name of the metric as rankers use it on validation data."""
    from podium.metrics.naming import parse

    return str(parse(metric).averaging_ties())


def _facts(
    ranker: Ranker, data: RankingData, valid: RankingData | None, measure: str, seconds: float
) -> dict[str, Any]:
    from podium.ensemble import CFBRS, Reranked

    history = ranker.history_
    kept = None if history.best is None else history.steps[history.best - 1]
    facts: dict[str, Any] = {
        "ranker": ranker.name,
        "settings": flatten(_changed(ranker)),
        "queries": data.n_queries,
        "documents": len(data),
        "features": data.n_features,
        "iterations": len(history),
        "kept_iteration": history.best,
        "objective": None if kept is None else kept.objective,
        "metric": measure,
        "validation": None if kept is None else kept.valid,
        "converged": ranker.converged_,
        "stopped": ranker.stopped_ or None,
        "seconds": round(seconds, 3),
    }
    if isinstance(ranker.model_, Reranked):
        facts["vote"] = ranker.model_.told()
    if isinstance(ranker, CFBRS):
        facts["ensemble"] = ranker.told()
    if valid is not None:
        import warnings

        from podium.errors import ScalingWarning
        from podium.metrics import evaluate

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScalingWarning)  # it was told while training
            scores = ranker.predict(valid)
        # Of the model that was kept; a ranker without a metric of its own has measured another.
        facts["validation"] = evaluate(valid, scores, measure)[measure].mean
    return {name: finite(value) for name, value in facts.items()}


def _changed(ranker: Ranker) -> dict[str, Any]:
    """The parameters that differ from their defaults."""
    defaults = type(ranker)().get_params(deep=False)
    given = ranker.get_params(deep=False)
    return {name: value for name, value in given.items() if value != defaults[name]}


def finite(value: Any) -> Any:
    """JSON has no NaN."""
    import math

    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return settings_text(value)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


_PLOTS = (".png", ".svg", ".pdf")


def _check_plot(path: Path) -> None:
    from podium.data.files import check_target
    from podium.errors import UsageError, require

    if path.suffix.lower() not in _PLOTS:
        raise UsageError(f"expected --plot with a file that ends in {' '.join(_PLOTS)}, got {path}")
    check_target(path)
    require("matplotlib.figure", "report", "drawing a learning curve")


def _draw(history: History, path: Path) -> None:
    from podium.data.files import atomic_path
    from podium.errors import require

    if len(history) == 0:
        typer.echo("podium: warning: solved in one step, no learning curve to draw", err=True)
        return
    purpose = "drawing a learning curve"
    matplotlib = require("matplotlib", "report", purpose)
    figure = require("matplotlib.figure", "report", purpose).Figure((7, 4), layout="constrained")
    history.plot(figure.subplots())
    kind = path.suffix.lower().removeprefix(".")
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    # Without dates and random ids the same curve gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "podium"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, metadata=dated)
