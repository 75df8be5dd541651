"""The weights of ``podium aggregate``: as the command line has them, or learned from judgments."""

from __future__ import annotations

from pathlib import Path

from podium.aggregation import (
    Aggregator,
    LearnedWeights,
    Rankings,
    check_weights,
    measured_weights,
    optimised_weights,
)
from podium.apps.cli.inputs.aggregate_runs import PooledRankings
from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.inputs.table_columns import without_column_options
from podium.apps.cli.options.aggregate import AggregateOptions
from podium.data import Qrels, RankingData
from podium.data.number_parsing import decimal_of
from podium.errors import DataError, LengthMismatchError, UsageError
from podium.typing import Floats


def choose_weights(
    options: AggregateOptions, pooled: PooledRankings, aggregator: Aggregator
) -> Floats | LearnedWeights:
    """Return the weights that the options list, or learn them from judgments."""
    if options.weights not in LEARNED_WEIGHTS:
        return _listed_weights(options.weights, pooled.rankings)
    if options.valid:
        judged: RankingData | Qrels = InputFiles("nan", options).read(options.valid)
        rankings = Rankings.from_data(judged)  # type: ignore[arg-type]
        _check_same_rankers(rankings, pooled.rankings)
    else:
        assert options.qrels is not None
        judged, rankings = read_qrels_file(options.qrels), pooled.rankings
    rankings = rankings.top(options.depth)
    if options.weights == "measured":
        return measured_weights(rankings, judged, options.metric)
    return optimised_weights(rankings, judged, aggregator, options.metric)


def _listed_weights(text: str | None, rankings: Rankings) -> Floats:
    """Return one weight per ranker; without a text all are equal."""
    try:
        values = None if text is None else [_parse_weight(word) for word in text.split(",")]
        return check_weights(values, rankings)
    except (LengthMismatchError, ValueError) as error:
        if isinstance(error, UsageError | LengthMismatchError):
            raise UsageError(str(error)) from None
        raise UsageError(
            f"expected --weights as numbers, measured or optimised, got {text!r}"
        ) from None


def _check_same_rankers(valid: Rankings, places: Rankings) -> None:
    if valid.n_rankers != places.n_rankers:
        raise DataError(
            f"expected --valid with the {places.n_rankers} rankers of --places, "
            f"got {valid.n_rankers}"
        )


def read_qrels_file(path: Path) -> Qrels:
    """Read judgments: qrels, or ranking data with document ids."""
    with without_column_options():
        judged = InputFiles("nan").read_judgments(path)
    return judged if isinstance(judged, Qrels) else Qrels.from_data(judged)


def _parse_weight(word: str) -> float:
    if (weight := decimal_of(word.strip())) is None:
        raise ValueError(word)
    return weight


LEARNED_WEIGHTS = ("measured", "optimised")
"""The ways to learn weights."""
