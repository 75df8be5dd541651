"""The paper's loop: learn as feedback arrives, until the measure changes no more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.ensemble.composed import ensemble_of
from podium.ensemble.users import Batch
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.ensemble.cfbrs import CFBRS


@dataclass(frozen=True)
class Adaptation:
    """What came of feedback that arrived in batches.

    Parameters
    ----------
    metric
        What was measured: each class's queries with its own weights, others with those of all users.
    values
        The metric before the first batch where validation was given, then after each batch; or of
        each batch before it was learned from.
    queries
        Queries in each batch.
    converged
        Whether the metric stopped changing; if not, the batches ended.
    reason
        Why it stopped.
    """

    metric: str
    values: tuple[float, ...]
    queries: tuple[int, ...]
    converged: bool
    reason: str

    def __len__(self) -> int:
        return len(self.queries)


def adapt(
    ranker: CFBRS, batches: Iterable[Any], valid: Any, *, tol: float, patience: int
) -> Adaptation:
    """Update a ranker batch by batch; see `CFBRS.learn_until_converged`."""
    if tol < 0 or patience < 1:
        raise UsageError(f"expected tol >= 0 and patience >= 1, got {tol!r} and {patience!r}")
    held_out = None if valid is None else _batch(ranker, valid)
    values = [] if held_out is None else [measure(ranker, held_out)]
    queries: list[int] = []
    still, reason = 0, "no more batches"
    for given in batches:
        batch = _batch(ranker, given)
        if held_out is None:
            values.append(measure(ranker, batch))
        ranker.update(batch)
        queries.append(batch.data.n_queries)
        if held_out is not None:
            values.append(measure(ranker, held_out))
        if len(values) > 1:
            still = still + 1 if abs(values[-1] - values[-2]) < tol else 0
        if still >= patience:
            reason = f"{ranker.metric} changed by less than {tol:g} in {patience} batches"
            break
    return Adaptation(ranker.metric, tuple(values), tuple(queries), still >= patience, reason)


def measure(ranker: CFBRS, batch: Batch) -> float:
    """The metric of each class's queries under its own weights, in the mean over their queries."""
    evidence = batch.evidence()
    if not evidence:
        raise UsageError("expected a query with documents of different labels, got none")
    named = {name: own for name, own in evidence.items() if name is not None}
    composed = ensemble_of(ranker.model_)
    total = mass = 0.0
    for name, own in (named or evidence).items():
        standing, _ = ranker.class_weights(name)
        weights = standing.weights(composed.prior)
        serving = composed.serving(standing)
        scores = serving.scores_with(weights, own.data.X, own.data.groups)
        share = float(own.alpha.sum())
        total += own.mean(scores, ranker.tie_averaged_metric()) * share
        mass += share
    return total / mass


def _batch(ranker: CFBRS, given: Any) -> Batch:
    batch = given if isinstance(given, Batch) else Batch(ranker.ranking_data(given))
    ranker.check_fitted_on(batch.data)
    return batch
