"""What ``podium aggregate`` is given: runs or places, and weights, given or learned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.apps.cli.console import read_files, reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from podium.aggregation import Aggregator, LearnedWeights, Rankings
    from podium.data import Qrels, RankingData

LEARNED = ("measured", "optimised")
"""Ways to learn weights."""


@dataclass(frozen=True)
class Input:
    """What is aggregated, what the rankers are called, and the data that places came from."""

    rankings: Rankings
    names: list[str]
    data: RankingData | None = None
    start: NDArray[np.float64] | None = None


def read_places(paths: Sequence[Path]) -> Input:
    """Files whose features are places."""
    from podium.aggregation import Rankings

    data = read_files(paths, "nan", labelled=False)
    return Input(Rankings.from_data(data), list(data.names()), data)


def read_runs(paths: Sequence[Path], initial: Path | None) -> Input:
    """TREC runs, and the one to start from."""
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
        return Input(Rankings.from_runs(read), names)
    *runs, first = read
    order = first.groups.order(first.values)  # rows in this order: what is tied keeps it
    first = Run(first.qids, first.groups, first.docids.take(order), first.values[order])
    joined = Rankings.from_runs([first, *runs])
    assert joined.scores is not None
    start = -joined.filled[:, 0]
    without = replace(joined, places=joined.places[:, 1:], scores=joined.scores[:, 1:])
    return Input(without, names, start=np.ascontiguousarray(start))


def find_weights(
    wanted: str | None, given: Input, depth: int | None, qrels: Path | None,
    valid: Sequence[Path] | None, metric: str, aggregator: Aggregator,
) -> NDArray[np.float64] | LearnedWeights:  # fmt: skip
    """The weights that were given, or learned from judgments."""
    from podium.aggregation import Rankings, check_weights, measured_weights, optimised_weights
    from podium.errors import LengthMismatchError, UsageError

    if wanted not in LEARNED:
        try:
            values = None if wanted is None else [_weight(word) for word in wanted.split(",")]
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


def _same_rankers(valid: Rankings, given: Input) -> None:
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


def _weight(word: str) -> float:
    from podium.data.decimals import decimal_of

    if (weight := decimal_of(word.strip())) is None:
        raise ValueError(word)
    return weight
