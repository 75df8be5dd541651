"""``podium aggregate``: many rankings in, one ranking out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.aggregate_inputs import LEARNED, Input, find_weights, read_places, read_runs
from podium.apps.cli.aggregate_report import explain_query, fact_text, facts_of, ranking_of
from podium.apps.cli.console import Json, busy, print_json, print_table, reports_errors
from podium.apps.cli.predict import FileFormat, choose_format, write_predictions
from podium.apps.cli.settings import parse_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.aggregation import Aggregator, Consensus

EXAMPLE = """Example: podium aggregate bm25.run dense.run listnet.run --method rrf --set k=20 -o fused.run

Runs are joined on query and document. Queries and documents are those of any run; a run that says
nothing about a query ranks none of its documents, and equal scores are ties.

Learned weights: --weights measured (each ranker's own metric) or optimised (the aggregate's
metric), from judged queries: --qrels for queries of the input, --valid for other ones. To use them
on runs of other queries, give the weights that were printed: --weights 0.3,0.5,0.2.

With --depth 10, the first ten of each ranker count; all documents are ranked, and --top cuts.

With --places, scores follow the order of FILE's lines, and OUT's ending says the format, as in
podium predict."""


@reports_errors
def aggregate(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            exists=True, dir_okay=False, metavar="RUN...", help="TREC runs, two or more."
        ),
    ] = None,
    places: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="FILE",
            help="Instead of runs: LETOR text or Parquet whose features are places, one a ranker; "
            "NULL is not ranked. May be given several times.",
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="See podium aggregators.")] = "supervised-kemeny",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE",
            help="A setting of the method, as in k=20; may be given several times.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="W1,W2,...|measured|optimised",
            help="How much each ranker counts, or how that is learned; equal without it.",
        ),
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False,
            help="Judgments of queries in the input, to learn weights from: TREC qrels, or LETOR "
            "text or Parquet with document ids.",
        ),
    ] = None,
    valid: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="FILE",
            help="Labelled places of other queries, to learn weights from (with --places).",
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="What weights are learned for.")
    ] = "NDCG@10",
    depth: Annotated[
        int | None, typer.Option(min=1, help="Use the first DEPTH of each ranker only.")
    ] = None,
    initial: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="RUN",
            help="The order to start from, and among equals; its queries and documents are ranked, too.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the result goes; else to stdout.")
    ] = None,
    file_format: Annotated[
        FileFormat, typer.Option("--format", help="Of OUT with --places; auto: by its ending.")
    ] = "auto",
    top: Annotated[
        int | None, typer.Option("--top", "-k", min=1, help="Keep the top k of each query (run, --explain).")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Show the places of one query's documents instead."),
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Make one ranking of many."""
    aggregator = _build(method, parse_settings(setting))
    _check(runs, places, weights, qrels, valid, metric, initial)
    cut = None if out is None and explain is not None else top  # a table can always be cut
    if runs:
        _check_run(out, file_format)
    chosen = choose_format(out, file_format, cut) if places else "run"
    files = [*(runs or ()), *(places or ())]
    if out is not None:
        from podium.data.files import check_target

        extra = [path for path in (qrels, initial) if path is not None]
        check_target(out, *files, *extra, *(valid or ()))
    given = read_places(places) if places else read_runs(runs or [], initial)
    rankings = given.rankings.top(depth)
    started = time.perf_counter()
    with busy("aggregating"):
        found = find_weights(weights, given, depth, qrels, valid, metric, aggregator)
        consensus = aggregator(rankings, found, given.start)
    seconds = time.perf_counter() - started
    if explain is not None:
        explain_query(given.names, rankings, consensus, explain, top, json)
        if out is None:
            return
    if out is not None:
        with busy(f"writing {out}"):
            _write(given, consensus, out, chosen, top)
    elif not json:
        _print(given, consensus, top)
        return
    facts = facts_of(aggregator, given, consensus, found, seconds)
    if json and explain is None:
        told = (
            {"file": str(out)}
            if out is not None
            else {"ranking": ranking_of(given, consensus, top)}
        )
        print_json({**told, **facts})
    elif not json:
        if len(set(facts["weights"].values())) == 1:
            facts["weights"] = "equal"
        rows = [[name.replace("_", " "), fact_text(value)] for name, value in facts.items()]
        print_table(str(out), ["what", "value"], rows, text_columns=2)


def _check_run(out: Path | None, file_format: FileFormat) -> None:
    """Runs in, a run out."""
    from podium.errors import UsageError

    by_ending = choose_format(out, file_format, None)
    if by_ending not in ("run", "scores") or file_format == "scores":
        raise UsageError(
            f"expected a TREC run as the result of runs, as in -o fused.run, got {by_ending}"
            + ("" if out is None else f" ({out})")
        )


def _build(method: str, settings: dict[str, Any]) -> Aggregator:
    from podium.aggregation import make_aggregator

    aggregator = make_aggregator(method, **settings)
    if settings:
        from podium.rankers.parameters import check_parameters

        check_parameters(aggregator, method)
    return aggregator


def _check(
    runs: Sequence[Path] | None, places: Sequence[Path] | None, weights: str | None,
    qrels: Path | None, valid: Sequence[Path] | None, metric: str, initial: Path | None,
) -> None:  # fmt: skip
    """Raise where options do not go together: it should not wait for the data."""
    from podium.errors import UsageError
    from podium.metrics.naming import parse

    parse(metric).check_cutoff()
    if bool(runs) == bool(places):
        raise UsageError(f"expected runs or --places FILE, got {'both' if runs else 'neither'}")
    if runs and len(runs) < 2:
        raise UsageError("expected at least two runs, got one")
    if runs and len({path.resolve() for path in runs}) < len(runs):
        raise UsageError("expected different runs, got one of them twice")
    if places and initial is not None:
        raise UsageError("expected --initial with runs, got it with --places")
    if runs and valid:
        raise UsageError("expected --qrels to learn weights of runs from, got --valid")
    if qrels is not None and valid:
        raise UsageError("expected --qrels or --valid, got both")
    judged = qrels is not None or bool(valid)
    if weights in LEARNED and not judged:
        raise UsageError(
            f"expected --qrels or --valid to learn weights from, got --weights {weights}"
        )
    if weights not in LEARNED and judged:
        raise UsageError(
            f"expected --weights measured or optimised with judgments, got {weights or 'none'}"
        )


def _write(
    given: Input, consensus: Consensus, out: Path, file_format: FileFormat, top: int | None
) -> None:
    from podium.data import write_run

    if given.data is None:
        write_run(given.rankings.run(consensus.scores, top), out)
    else:
        write_predictions(given.data, {"score": consensus.scores}, out, file_format, top)


def _print(given: Input, consensus: Consensus, top: int | None) -> None:
    from podium.data.formats import score_lines
    from podium.data.trec import run_lines

    if given.data is None:
        typer.echo("".join(run_lines(given.rankings.run(consensus.scores, top))), nl=False)
    else:
        typer.echo(score_lines(given.data.restore(consensus.scores)), nl=False)
