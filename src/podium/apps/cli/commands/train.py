"""``podium train``: labelled queries in, a model file out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.error_reports import fail, warnings_in_one_line
from podium.apps.cli.inputs.argument_order import names_files
from podium.apps.cli.inputs.bagged_rankers import bag_ranker
from podium.apps.cli.inputs.chosen_cluster import check_is_collection
from podium.apps.cli.inputs.click_logs import (
    check_click_options,
    click_learning,
    guard_settings,
    read_clicks,
)
from podium.apps.cli.inputs.feedback_sources import (
    check_needs_log,
    make_alpha_source,
    make_phi,
    print_joined,
    read_feedback,
)
from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.prepared_rankers import (
    encode_categories,
    missing_for,
    prepare_ranker,
    with_scaling,
)
from podium.apps.cli.inputs.ranker_settings import build_ranker, ranker_parameter_types
from podium.apps.cli.inputs.set_option import flatten, parse_settings, settings_text
from podium.apps.cli.options.train import TrainOptions
from podium.apps.cli.outputs.feature_table import scale_advice
from podium.apps.cli.outputs.guard_report import print_guard_report
from podium.apps.cli.outputs.leaderboard import search_board
from podium.apps.cli.outputs.printing import finite_or_none, print_json, print_notes, print_table
from podium.apps.cli.outputs.progress import training_bar
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced, model_name_note
from podium.apps.cli.outputs.search_report import print_report, report_facts
from podium.clicks import ShownDocuments
from podium.counted_nouns import count_text
from podium.data import RankingData
from podium.data.atomic_files import atomic_path, check_target
from podium.ensemble import CFBRS, AutoRanker, Bagged, Budget, RerankedModel, TopRank
from podium.errors import UsageError, require
from podium.feedback import Phi
from podium.metrics import evaluate
from podium.rankers import (
    Callback,
    FitStep,
    GuardReport,
    History,
    Prepared,
    Ranker,
    fit_to_clicks,
    fit_with_guard,
    innermost_ranker,
)
from podium.rankers.fit_result import Learner
from podium.rankers.prepared_model import PreparedModel
from podium.registry import RANKERS


def run_train(options: TrainOptions) -> None:
    """Train a ranker and write it to a model file."""
    ranker = build_ranker(options.ranker, _ranker_settings(options))
    metric = check_metric(options.metric or ranker.validation_metric())
    measure = str(metric.averaging_ties())  # as rankers measure on validation data
    logs = [*(options.feedback or ()), *(options.clicks or ())]
    check_target(options.out, *options.inputs, *(options.valid or ()), *logs)
    check_not_replaced([path for path in (options.out, options.plot) if path], options.force)
    phi = make_phi(options.phi_weight, options.phi_scale)
    _check_feedback(ranker, options, phi)
    check_click_options(options, ranker)
    jobs = 1 if options.jobs is None else options.jobs
    ranker = prepare_ranker(bag_ranker(ranker, options, seed=options.seed, jobs=jobs), options)
    _check_plot(options.plot)
    _check_cluster_work(options, ranker)
    data, valid = _read_data(options, ranker)
    ranker = encode_categories(ranker, data)
    if not options.json:
        print_notes(scale_advice(data, [ranker]))
    fit_arguments = _feedback_argument(options, data, phi)
    started = time.perf_counter()
    report = _fit(ranker, options, data, valid, fit_arguments)
    seconds = time.perf_counter() - started
    ranker.save(options.out)
    if options.plot is not None:
        _draw_learning_curve(ranker.history_, options.plot)
    facts = _facts(ranker, data, valid, measure, seconds)
    if options.clicks:
        facts |= {"debias": _debiasing(options, report)}
    if options.json:
        guard = {} if report is None else {"guard": report.to_dict()}
        print_json({"model": str(options.out), **facts, **guard})
    else:
        _print_facts(options.out, ranker, facts)
        if report is not None:
            print_guard_report(report)
        print_notes([*_few_queries(data), *model_name_note(options.out)])
    if ranker.stopped_ == "interrupted":
        fail(f"interrupted; the best model so far is in {options.out}", 130)


def _print_facts(out: Path, ranker: Ranker, facts: dict[str, Any]) -> None:
    """Print what was learned, and the report of a search."""
    if ranker.report_ is not None:
        members = [f"{weight:g} x {label}" for label, weight in facts["members"].items()]
        facts["members"] = "\n".join(members)
    rows = [[name.replace("_", " "), _fact_text(value)] for name, value in facts.items()]
    print_table(str(out), ["what", "value"], rows, text_columns=2)
    if ranker.report_ is not None:
        print_report(ranker.report_)


def _check_cluster_work(options: TrainOptions, ranker: Ranker) -> None:
    """Raise if the fit would leave the cluster idle."""
    if options.cluster is None:
        return
    is_many = isinstance(innermost_ranker(ranker), AutoRanker | CFBRS | TopRank)
    if is_many or options.bag is not None:
        return  # many independent fits, which take any data
    if isinstance(ranker, Prepared):
        raise UsageError(
            "a fit with prepared features (--impute, --scale ...) does not use a cluster yet; leave out "
            "--cluster"
        )
    if not ranker.fits_on_workers():
        raise UsageError(
            f"a fit of {ranker.name} does not use a cluster; leave out --cluster, or run podium tune or "
            "podium compare on it"
        )
    check_is_collection(options.inputs)


def _few_queries(data: RankingData) -> list[str]:
    """Return a note if there are too few queries to learn from."""
    n = data.n_queries
    if n >= MIN_QUERIES:
        return []
    return [
        f"trained on {count_text(n, 'query')}; a model needs dozens of queries to be right about others"
    ]


def _read_data(options: TrainOptions, ranker: Ranker) -> tuple[RankingData, RankingData | None]:
    """Read the data to train on, and the validation data if there is any."""
    files = InputFiles(
        missing_for(options.missing, ranker),
        options,
        is_quiet=options.json,
        learns=not options.clicks,
        ranker=ranker,
    )
    data = files.read(options.inputs, labelled=not options.clicks)
    if data.categories and (options.feedback or options.alpha is not None):
        raise UsageError("expected feedback or --categories, got both; leave the categories out")
    if not options.valid:
        return data, None
    valid = files.read_validation(options.valid, data)
    return data, with_scaling(valid, data.scaled) if options.ignore_scaling else valid


def _ranker_settings(options: TrainOptions) -> dict[str, Any]:
    """Return the settings of --set, with the options that are parameters of the ranker."""
    settings = parse_settings(options.setting)
    is_search = options.ranker in RANKERS and RANKERS[options.ranker].is_search
    if options.budget is not None and not is_search:
        raise UsageError(
            f"--budget is for auto, which searches, and {options.ranker} does not; leave --budget out, or "
            "train auto"
        )
    if options.bag is not None and is_search:
        raise UsageError("auto is a mean of many fits already; leave out --bag")
    if is_search and "n_jobs" not in settings and options.jobs is None:
        settings["n_jobs"] = -1
    for option, name, value in (
        ("metric", "metric", options.metric), ("seed", "seed", options.seed),
        ("budget", "budget", options.budget),
        ("jobs", "n_jobs", options.jobs if is_search else None),
    ):  # fmt: skip
        if value is None:
            continue
        if name in settings:
            raise UsageError(f"expected --{option} or --set {name}, got both")
        if options.ranker in RANKERS and name in ranker_parameter_types(options.ranker):
            settings[name] = value
    return settings


@contextmanager
def _progress(ranker: Ranker, options: TrainOptions) -> Iterator[Callback]:
    """Show a progress bar, or the leaderboard of a search; yield what takes the steps."""
    search = innermost_ranker(ranker)
    if isinstance(search, AutoRanker):
        with search_board(Budget.parse(search.budget).seconds) as show:
            yield show
    else:
        with training_bar(options.ranker) as (advance, _):
            yield advance


def _checkpoints(options: TrainOptions) -> Path:
    """Return the folder of finished fits for a search: next to the model file."""
    return options.out.with_name(f"{options.out.name}.work")


def _fit_search(
    ranker: Ranker,
    learn: Learner,
    data: RankingData,
    valid: RankingData | None,
    callback: Callback,
) -> None:
    """Fit a search, or a ranker that prepares features for it; `learn` keeps the finished fits."""
    train = ranker.ranking_data(data)
    validation = None if valid is None else ranker.ranking_data(valid, scaled=train.scaled)
    ranker.fit_data(train, validation, callback, learn=learn)


def _fit(
    ranker: Ranker, options: TrainOptions, data: RankingData, valid: RankingData | None,
    fit_arguments: dict[str, Any],
) -> GuardReport | None:  # fmt: skip
    """Fit a ranker with a progress bar; return what the guard measured, if it was on."""
    with warnings_in_one_line(), _progress(ranker, options) as advance:
        if options.clicks:
            return _fit_clicks(ranker, options, data, valid, advance)
        if isinstance(search := innermost_ranker(ranker), AutoRanker):
            _fit_search(ranker, search.learner(_checkpoints(options)), data, valid, advance)
        else:
            with names_files("training on", options.inputs):
                ranker.fit(data, valid=valid, callback=advance, **fit_arguments)
    return None


def _fit_clicks(
    ranker: Ranker, options: TrainOptions, data: RankingData, valid: RankingData | None,
    callback: Callback,
) -> GuardReport | None:  # fmt: skip
    """Fit a ranker to the clicks of logs; return what the guard measured, if it is on."""
    sessions = read_clicks(options.clicks or ())
    print_notes(ShownDocuments.of(sessions, data).messages())
    ways = click_learning(options, sessions, data)
    if not options.guard or {way.debias for way in ways} == {"none"}:
        if len(ways) > 1:
            raise UsageError("expected one --debias with --no-guard, got several")
        fit_to_clicks(ranker, data, sessions, ways[0], valid=valid, callback=callback)
        return None
    settings = guard_settings(options)
    return fit_with_guard(
        ranker, data, sessions, ways, settings, valid=valid, callback=callback
    )[1]  # fmt: skip


def _debiasing(options: TrainOptions, report: GuardReport | None) -> str:
    """Return the debiasing method of the model."""
    return (options.debias or ["ips"])[0] if report is None else report.chosen


def _check_feedback(ranker: Ranker, options: TrainOptions, phi: Phi | None) -> None:
    """Raise if the options about feedback do not fit the ranker or each other."""
    has_feedback = options.feedback or options.alpha is not None
    if has_feedback and not isinstance(ranker, CFBRS):
        option = "--feedback" if options.feedback else "--alpha"
        raise UsageError(f"expected {option} with cfbrs, which learns from it, got {ranker.name}")
    if has_feedback and options.bag is not None:
        raise UsageError("expected feedback or --bag, got both")
    if has_feedback and isinstance(prepare_ranker(ranker, options), Prepared):
        raise UsageError("expected feedback, or options that prepare features, got both")
    check_needs_log(options.feedback, options.classes, phi, options.propensities)
    if options.alpha is not None:
        if options.feedback:
            raise UsageError("expected --feedback or --alpha, got both")
        make_alpha_source(options.alpha, 0)  # raises on a wrong word before the data is read


def _feedback_argument(options: TrainOptions, data: RankingData, phi: Phi | None) -> dict[str, Any]:
    """Return the argument `feedback` of `fit`: a log, a source of alpha, or none."""
    if options.feedback:
        feedback = read_feedback(
            options.feedback, options.classes, phi=phi, propensities=options.propensities
        )
        print_joined(feedback, data)
        return {"feedback": feedback}
    if options.alpha is not None:
        return {"feedback": make_alpha_source(options.alpha, options.seed)}
    return {}


def _facts(
    ranker: Ranker, data: RankingData, valid: RankingData | None, measure: str, seconds: float
) -> dict[str, Any]:
    history, is_search = ranker.history_, innermost_ranker(ranker).is_search
    kept_step = None if history.best is None else history.steps[history.best - 1]
    facts: dict[str, Any] = {
        "ranker": innermost_ranker(ranker).name,
        "settings": flatten(_changed_parameters(innermost_ranker(ranker))),
        "queries": data.n_queries,
        "documents": len(data),
        "features": data.n_features,
        **({} if is_search else _iteration_facts(history, kept_step)),
        "metric": measure,
        "validation": _validation_value(ranker, kept_step, valid, measure),
        "converged": ranker.converged_,
        "stopped": ranker.stopped_ or None,
        "seconds": round(seconds, 3),
    }
    if (bags := _bags(ranker)) is not None:
        facts["bags"] = bags
    if isinstance(ranker.model_, PreparedModel):
        facts["preparation"] = ranker.model_.describe()
    if ranker.report_ is not None:
        facts |= report_facts(ranker.report_)
    if isinstance(ranker.model_, RerankedModel):
        facts["vote"] = ranker.model_.describe()
    if isinstance(ranker, CFBRS):
        facts["ensemble"] = ranker.describe()
    return {name: finite_or_none(value) for name, value in facts.items()}


def _iteration_facts(history: History, kept_step: FitStep | None) -> dict[str, Any]:
    return {
        "iterations": len(history),
        "kept_iteration": history.best,
        "objective": None if kept_step is None else kept_step.objective,
    }


def _bags(ranker: Ranker) -> str | None:
    """Return the bags of a ranker, and the kind of model that they make; None without bags."""
    bagged = ranker.ranker if isinstance(ranker, Prepared) else ranker
    if not isinstance(bagged, Bagged):
        return None
    model = ranker.model_.model if isinstance(ranker.model_, PreparedModel) else ranker.model_
    return f"{bagged.bags}, in one model ({model.kind})"


def _validation_value(
    ranker: Ranker, kept_step: FitStep | None, valid: RankingData | None, measure: str
) -> float | None:
    """Return the metric of the kept model on --valid, or on the queries that the ranker held out.

    A search may have learned from --valid. It measures its result on queries that fits did not see.
    """
    if valid is not None and not innermost_ranker(ranker).is_search:
        # Not the value of the kept step: a ranker without a metric of its own measured another one.
        return evaluate(valid, ranker.predict(valid), measure)[measure].mean
    return None if kept_step is None else kept_step.valid


def _changed_parameters(ranker: Ranker) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    defaults = type(ranker)().get_params(deep=False)
    parameters = ranker.get_params(deep=False).items()
    return {
        name: value
        for name, value in parameters
        if value != defaults[name] and name not in ranker.machine_parameters
    }


def _fact_text(value: Any) -> str:
    if isinstance(value, dict):
        return settings_text(value)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


MIN_QUERIES = 5
"""With fewer queries to learn from, `podium train` prints a note."""
PLOT_ENDINGS = (".png", ".svg", ".pdf")


def _check_plot(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() not in PLOT_ENDINGS:
        raise UsageError(
            f"expected --plot with a file that ends in {' '.join(PLOT_ENDINGS)}, got {path}"
        )
    check_target(path)
    require("matplotlib.figure", "report", "drawing a learning curve")


def _draw_learning_curve(history: History, path: Path) -> None:
    if len(history) == 0:
        typer.echo("podium: warning: solved in one step, no learning curve to draw", err=True)
        return
    purpose = "drawing a learning curve"
    matplotlib = require("matplotlib", "report", purpose)
    figure = require("matplotlib.figure", "report", purpose).Figure((7, 4), layout="constrained")
    history.plot(figure.subplots())
    kind = path.suffix.lower().removeprefix(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    # Without dates and random ids the same curve gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "podium"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)
