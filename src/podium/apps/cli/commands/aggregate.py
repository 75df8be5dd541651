"""``podium aggregate``: many rankings in, one ranking out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from podium.aggregation import Aggregator, Consensus, make_aggregator
from podium.apps.cli.inputs.aggregate_runs import PooledRankings, read_places, read_runs
from podium.apps.cli.inputs.aggregate_weights import LEARNED_WEIGHTS, choose_weights
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.set_option import parse_settings
from podium.apps.cli.options.aggregate import AggregateOptions
from podium.apps.cli.options.predict import PredictionFormat
from podium.apps.cli.outputs.aggregate_report import describe_result, explain_query, report_facts
from podium.apps.cli.outputs.prediction_files import choose_format, write_predictions
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data import write_run
from podium.data.atomic_files import check_target
from podium.data.score_files import score_lines
from podium.data.trec import run_lines
from podium.errors import UsageError


def run_aggregate(options: AggregateOptions) -> None:
    """Combine several rankings into one."""
    aggregator = _build_aggregator(options.method, parse_settings(options.setting))
    _check_options(options)
    file_format = _choose_file_format(options)
    if options.out is not None:
        others = [path for path in (options.qrels, options.initial) if path is not None]
        inputs = (*(options.runs or ()), *(options.places or ()), *(options.valid or ()))
        check_target(options.out, *inputs, *others)
        check_not_replaced([options.out], options.force)
    pooled = (
        read_places(options.places, options)
        if options.places
        else read_runs(options.runs or [], options.initial)
    )
    started = time.perf_counter()
    with spinner("aggregating"):
        weights = choose_weights(options, pooled, aggregator)
        consensus = aggregator(pooled.rankings.top(options.depth), weights, pooled.start)
    seconds = time.perf_counter() - started
    if options.explain is not None:
        explain_query(pooled, consensus, options)
    elif options.out is None and not options.json:
        _print_ranking(pooled, consensus, options.top)
    if options.out is not None:
        with spinner(f"writing {options.out}"):
            _write(pooled, consensus, options.out, file_format, options.top)
    facts = describe_result(aggregator, pooled, consensus, weights, seconds)
    report_facts(facts, options, pooled, consensus)


def _choose_file_format(options: AggregateOptions) -> PredictionFormat:
    """Return the format of the result: that of scores with --places, else a run."""
    if options.places:
        is_table = options.out is None and options.explain is not None  # it can always be cut
        return choose_format(options.out, options.file_format, None if is_table else options.top)
    file_format = choose_format(options.out, options.file_format, None)
    if file_format not in ("run", "scores") or options.file_format == "scores":
        raise UsageError(
            f"expected a TREC run as the result of runs, as in -o fused.run, got {file_format}"
            + ("" if options.out is None else f" ({options.out})")
        )
    return "run"


def _build_aggregator(method: str, settings: dict[str, Any]) -> Aggregator:
    aggregator = make_aggregator(method, **settings)
    if settings:
        # Not at the top: it imports scikit-learn, which takes most of a second.
        from podium.rankers.parameters import check_parameters

        check_parameters(aggregator, method)
    return aggregator


def _check_options(options: AggregateOptions) -> None:
    """Raise if options do not go together, before any data is read."""
    runs, places, weights = options.runs, options.places, options.weights
    check_metric(options.metric)
    if bool(runs) == bool(places):
        raise UsageError(f"expected runs or --places FILE, got {'both' if runs else 'neither'}")
    if runs and len(runs) < 2:
        raise UsageError("expected at least two runs, got one")
    if runs and len({path.resolve() for path in runs}) < len(runs):
        raise UsageError("expected different runs, got one of them twice")
    if places and options.initial is not None:
        raise UsageError("expected --initial with runs, got it with --places")
    if runs and options.valid:
        raise UsageError("expected --qrels to learn weights of runs from, got --valid")
    if options.qrels is not None and options.valid:
        raise UsageError("expected --qrels or --valid, got both")
    has_judgments = options.qrels is not None or bool(options.valid)
    if weights in LEARNED_WEIGHTS and not has_judgments:
        raise UsageError(
            f"expected --qrels or --valid to learn weights from, got --weights {weights}"
        )
    if weights not in LEARNED_WEIGHTS and has_judgments:
        raise UsageError(
            f"expected --weights measured or optimised with judgments, got {weights or 'none'}"
        )


def _write(
    pooled: PooledRankings,
    consensus: Consensus,
    out: Path,
    file_format: PredictionFormat,
    top: int | None,
) -> None:
    if pooled.data is None:
        write_run(pooled.rankings.run(consensus.scores, top), out)
    else:
        write_predictions(pooled.data, {"score": consensus.scores}, out, file_format, top)


def _print_ranking(pooled: PooledRankings, consensus: Consensus, top: int | None) -> None:
    if pooled.data is None:
        typer.echo("".join(run_lines(pooled.rankings.run(consensus.scores, top))), nl=False)
    else:
        typer.echo(score_lines(pooled.data.restore(consensus.scores)), nl=False)
