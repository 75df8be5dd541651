"""``podium aggregate``: many rankings in, one ranking out."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import typer

from podium.aggregation import Aggregator, Consensus, make_aggregator
from podium.apps.cli.inputs.aggregate_runs import PooledRankings, RunPool, open_runs, read_places
from podium.apps.cli.inputs.aggregate_weights import (
    LEARNED_WEIGHTS,
    choose_weights,
    read_qrels_file,
)
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.set_option import parse_settings
from podium.apps.cli.options.aggregate import AggregateOptions
from podium.apps.cli.options.predict import PredictionFormat
from podium.apps.cli.outputs.aggregate_report import AggregateResult, explain_query, report_facts
from podium.apps.cli.outputs.prediction_files import choose_format, write_predictions
from podium.apps.cli.outputs.progress import counting_bar, spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.apps.cli.outputs.spooled_output import spooled_stdout
from podium.data.atomic_files import atomic_writer, check_target
from podium.data.score_files import score_lines
from podium.data.trec import run_lines
from podium.errors import UsageError
from podium.task_runner import map_items


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
    if options.places:
        _aggregate_places(options, aggregator, file_format)
    else:
        _aggregate_runs(options, aggregator)


def _aggregate_places(
    options: AggregateOptions, aggregator: Aggregator, file_format: PredictionFormat
) -> None:
    """Aggregate the rankers of files of places, which are read whole."""
    pooled = read_places(options.places or [], options)
    started = time.perf_counter()
    with spinner("aggregating"):
        weights = choose_weights(options, pooled, aggregator)
        consensus = _aggregate_chunk(aggregator, weights, options.depth, pooled)
    assert pooled.data is not None
    if options.explain is not None:
        explain_query(pooled, consensus, options)
    elif options.out is None and not options.json:
        typer.echo(score_lines(pooled.data.restore(consensus.scores)), nl=False)
    if options.out is not None:
        columns = {"score": consensus.scores}
        with spinner(f"writing {options.out}"):
            write_predictions(pooled.data, columns, options.out, file_format, options.top)
    result = AggregateResult(aggregator, weights, options.top, keeps_lists=options.out is None)
    result.add(pooled, consensus)
    report_facts(result, time.perf_counter() - started, options)


def _aggregate_runs(options: AggregateOptions, aggregator: Aggregator) -> None:
    """Aggregate runs some queries at a time, and write each result before the next is read."""
    pool = open_runs(options.runs or [], options.initial)
    started = time.perf_counter()
    with spinner("learning weights"):
        weights = choose_weights(options, _weighted_rankings(pool, options.qrels), aggregator)
    if options.explain is not None:
        pooled = pool.read([options.explain])
        consensus = _aggregate_chunk(aggregator, weights, options.depth, pooled)
        explain_query(pooled, consensus, options)
    result = AggregateResult(
        aggregator, weights, options.top, keeps_lists=options.out is None and options.json
    )
    is_shown = not options.json and options.explain is None
    target = spooled_stdout(is_shown=is_shown)
    if options.out is not None:
        target = atomic_writer(options.out)
    elif options.explain is not None:
        return
    with counting_bar("aggregating") as progress, target as write:
        chunks, sent = itertools.tee(pool.chunks())
        each = map_items(_aggregate_chunk, [aggregator, weights, options.depth], sent)
        for pooled, consensus in zip(chunks, each, strict=True):
            for line in run_lines(pooled.rankings.run(consensus.scores, options.top)):
                write(line.encode("utf-8", "surrogateescape"))
            result.add(pooled, consensus)
            progress(result.queries, len(pool.qids))
    report_facts(result, time.perf_counter() - started, options)


def _aggregate_chunk(
    aggregator: Aggregator, weights: Any, depth: int | None, pooled: PooledRankings
) -> Consensus:
    """Aggregate the rankings of some queries, here or on a worker of a cluster."""
    return aggregator(pooled.rankings.top(depth), weights, pooled.start)


def _weighted_rankings(pool: RunPool, qrels: Path | None) -> PooledRankings:
    """Return the rankings that weights are learned from: those of judged queries."""
    judged = set() if qrels is None else set(read_qrels_file(qrels).qids.tolist())
    return pool.read([qid for qid in pool.qids if qid in judged] or pool.qids[:1])


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
    if places and options.cluster is not None:
        raise UsageError("expected --cluster with runs, got it with --places")
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
