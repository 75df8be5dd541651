"""``podium aggregate``: many rankings in, one ranking out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    busy,
    print_json,
    print_table,
    read_files,
    reading,
    reports_errors,
)
from podium.apps.cli.predict import FileFormat, choose_format, write_predictions
from podium.apps.cli.settings import parse_settings, settings_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from podium.aggregation import Aggregator, Consensus, LearnedWeights, Rankings
    from podium.data import Qrels, RankingData

EXAMPLE = """Example: podium aggregate bm25.run dense.run listnet.run --method rrf --set k=20 -o fused.run

Runs are joined on query and document. Queries and documents are those of any run; a run that says
nothing about a query ranks none of its documents, and equal scores are ties.

Learned weights: --weights measured (each ranker's own metric) or optimised (the aggregate's
metric), from judged queries: --qrels for queries of the input, --valid for other ones. To use them
on runs of other queries, give the weights that were printed: --weights 0.3,0.5,0.2.

With --depth 10, the first ten of each ranker count; all documents are ranked, and --top cuts.

With --places, scores follow the order of FILE's lines, and OUT's ending says the format, as in
podium predict."""


@dataclass(frozen=True)
class _Input:
    """What is aggregated, what the rankers are called, and the data that places came from."""

    rankings: Rankings
    names: list[str]
    data: RankingData | None = None
    start: NDArray[np.float64] | None = None


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
    given = _read_places(places) if places else _read_runs(runs or [], initial)
    rankings = given.rankings.top(depth)
    started = time.perf_counter()
    with busy("aggregating"):
        found = _weights(weights, given, depth, qrels, valid, metric, aggregator)
        consensus = aggregator(rankings, found, given.start)
    seconds = time.perf_counter() - started
    if explain is not None:
        _explain(given.names, rankings, consensus, explain, top, json)
        if out is None:
            return
    if out is not None:
        with busy(f"writing {out}"):
            _write(given, consensus, out, chosen, top)
    elif not json:
        _print(given, consensus, top)
        return
    facts = _facts(aggregator, given, consensus, found, seconds)
    if json and explain is None:
        told = (
            {"file": str(out)} if out is not None else {"ranking": _ranking(given, consensus, top)}
        )
        print_json({**told, **facts})
    elif not json:
        if len(set(facts["weights"].values())) == 1:
            facts["weights"] = "equal"
        rows = [[name.replace("_", " "), _text(value)] for name, value in facts.items()]
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


def _ranking(given: _Input, consensus: Consensus, top: int | None) -> dict[str, list[Any]]:
    """Documents best first, query by query, with their scores."""
    import numpy as np

    rankings = given.rankings
    order = rankings.groups.order(consensus.scores)
    names = [str(q) for q in np.arange(len(rankings.groups))]
    if rankings.qids is not None:
        names = rankings.qids.tolist()
    return {
        name: [
            [row if rankings.docids is None else rankings.docids[row], float(consensus.scores[row])]
            for row in order[rows][:top].tolist()
        ]
        for name, rows in zip(names, rankings.groups.slices(), strict=True)
    }


def _build(method: str, settings: dict[str, Any]) -> Aggregator:
    from podium.aggregation import make_aggregator

    aggregator = make_aggregator(method, **settings)
    if settings:
        from podium.rankers.parameters import check_parameters

        check_parameters(aggregator, method)
    return aggregator


LEARNED = ("measured", "optimised")


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


def _read_places(paths: Sequence[Path]) -> _Input:
    from podium.aggregation import Rankings

    data = read_files(paths, "nan", labelled=False)
    return _Input(Rankings.from_data(data), list(data.names()), data)


def _read_runs(paths: Sequence[Path], initial: Path | None) -> _Input:
    from dataclasses import replace

    import numpy as np

    from podium.aggregation import Rankings
    from podium.data import Run, read_run

    given = [*paths, *([] if initial is None else [initial])]
    with reading(given) as progress:
        read = [read_run(path, progress) for path in given]
    names = [path.name for path in paths]
    names = names if len(set(names)) == len(names) else [str(path) for path in paths]
    if initial is None:
        return _Input(Rankings.from_runs(read), names)
    *runs, first = read
    order = first.groups.order(first.values)  # rows in this order: what is tied keeps it
    first = Run(first.qids, first.groups, first.docids.take(order), first.values[order])
    joined = Rankings.from_runs([first, *runs])
    assert joined.scores is not None
    start = -joined.filled[:, 0]
    without = replace(joined, places=joined.places[:, 1:], scores=joined.scores[:, 1:])
    return _Input(without, names, start=np.ascontiguousarray(start))


def _weights(
    wanted: str | None, given: _Input, depth: int | None, qrels: Path | None,
    valid: Sequence[Path] | None, metric: str, aggregator: Aggregator,
) -> NDArray[np.float64] | LearnedWeights:  # fmt: skip
    from podium.aggregation import Rankings, check_weights, measured_weights, optimised_weights
    from podium.errors import LengthMismatchError, UsageError

    if wanted not in LEARNED:
        try:
            values = None if wanted is None else [float(word) for word in wanted.split(",")]
            return check_weights(values, given.rankings)
        except (LengthMismatchError, ValueError) as error:
            if isinstance(error, UsageError | LengthMismatchError):
                raise UsageError(str(error)) from None
            raise UsageError(
                f"expected --weights as numbers, measured or optimised, got {wanted!r}"
            ) from None
    if valid:
        judged: RankingData | Qrels = read_files(valid, "nan")
        rankings = Rankings.from_data(judged)  # type: ignore[arg-type]
        _same_rankers(rankings, given)
    else:
        assert qrels is not None
        judged, rankings = _read_qrels(qrels), given.rankings
    rankings = rankings.top(depth)
    if wanted == "measured":
        return measured_weights(rankings, judged, metric)
    return optimised_weights(rankings, judged, aggregator, metric)


def _same_rankers(valid: Rankings, given: _Input) -> None:
    from podium.errors import DataError

    if valid.n_rankers != given.rankings.n_rankers:
        raise DataError(
            f"expected --valid with the {given.rankings.n_rankers} rankers of --places, "
            f"got {valid.n_rankers}"
        )


def _read_qrels(path: Path) -> Qrels:
    from podium.data import Qrels, read_judged

    with reading([path]) as progress:
        judged = read_judged(path, missing="nan", progress=progress)
    return judged if isinstance(judged, Qrels) else Qrels.from_data(judged)


def _write(
    given: _Input, consensus: Consensus, out: Path, file_format: FileFormat, top: int | None
) -> None:
    from podium.data import write_run

    if given.data is None:
        write_run(given.rankings.run(consensus.scores, top), out)
    else:
        write_predictions(given.data, consensus.scores, out, file_format, top)


def _print(given: _Input, consensus: Consensus, top: int | None) -> None:
    from podium.data.formats import score_lines
    from podium.data.trec import run_lines

    if given.data is None:
        typer.echo("".join(run_lines(given.rankings.run(consensus.scores, top))), nl=False)
    else:
        typer.echo(score_lines(given.data.restore(consensus.scores)), nl=False)


def _facts(
    aggregator: Aggregator, given: _Input, consensus: Consensus, weights: Any, seconds: float
) -> dict[str, Any]:
    from dataclasses import asdict

    import numpy as np

    rankings, p = given.rankings, np.asarray(weights).tolist()
    facts: dict[str, Any] = {
        "method": aggregator.name,
        "settings": asdict(aggregator),
        "rankers": len(given.names),
        "queries": len(rankings.groups),
        "documents": rankings.groups.n_rows,
        "listed_share": round(float(rankings.ranked.mean()), 4),
        "weights": dict(zip(given.names, p, strict=True)),
    }
    if hasattr(weights, "metric"):
        facts["metric"] = str(weights.metric)
        facts["start"] = weights.start
        facts["in_sample_with_equal_weights"] = weights.equal
        facts["in_sample"] = weights.value
    if consensus.optimal is not None:
        facts["proved_optimal"] = int(consensus.optimal.sum())
    return {**facts, "seconds": round(seconds, 3)}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return settings_text(
            {k: round(v, 4) if isinstance(v, float) else v for k, v in value.items()}
        )
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _explain(
    names: Sequence[str], rankings: Rankings, consensus: Consensus, query: str, top: int | None,
    json: bool,
) -> None:  # fmt: skip
    """One query's documents in the order of the result: their places by each ranker."""
    import numpy as np

    from podium.errors import DataError

    assert rankings.qids is not None
    found = np.flatnonzero(rankings.qids == query)
    if len(found) == 0:
        raise DataError(f"expected a query of the input, got {query!r}")
    rows = np.arange(*rankings.groups.offsets[found[0] : found[0] + 2])
    rows = rows[np.argsort(-consensus.scores[rows], kind="stable")][:top]
    table: list[dict[str, Any]] = [
        {
            "document": str(row) if rankings.docids is None else rankings.docids[row],
            "place": place,
            "score": float(consensus.scores[row]),
            "places": dict(zip(names, _listed(rankings.listed_at[row]), strict=True)),
        }
        for place, row in enumerate(rows.tolist(), start=1)
    ]
    if json:
        print_json({"query": query, "documents": table})
        return
    cells = [
        [
            str(entry["document"]), str(entry["place"]), f"{entry['score']:.6g}",
            *("-" if place is None else f"{place:g}" for place in entry["places"].values()),
        ]
        for entry in table
    ]  # fmt: skip
    print_table(f"Query {query}", ["document", "place", "score", *names], cells)


def _listed(places: NDArray[np.float64]) -> list[float | None]:
    return [None if place != place else place for place in places.tolist()]
