"""The ranking of systems by two truths: whether machines' truth ranks rankers as people's does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import DataError
from podium.labelling.machine_agreement.agreement_intervals import (
    Estimate,
    interval_of,
    resample_queries,
)
from podium.typing import Floats


@dataclass(frozen=True)
class SystemAgreement:
    """Systems (rankers) measured with people's truth and with machines' truth, on the same queries.

    Parameters
    ----------
    metric
        The metric.
    systems
        Their names, best first by people's truth.
    people, machine
        The means of the metric by each truth, in the order of `systems`.
    queries
        The number of queries.
    tau
        Kendall's tau-b between the two rankings of systems.
    flips
        Two systems that the truths put in opposite order, the better one by people's truth first.
    """

    metric: str
    systems: tuple[str, ...]
    people: tuple[float, ...]
    machine: tuple[float, ...]
    queries: int
    tau: Estimate
    flips: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        rows = zip(self.systems, self.people, self.machine, strict=True)
        return {
            "metric": self.metric,
            "queries": self.queries,
            "systems": [{"system": s, "people": p, "machine": m} for s, p, m in rows],
            "tau": self.tau.to_dict(),
            "flips": [list(pair) for pair in self.flips],
        }


def system_agreement(
    metric: str,
    people: Mapping[str, ArrayLike],
    machine: Mapping[str, ArrayLike],
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> SystemAgreement:
    """Compare the ranking of systems by two truths.

    Parameters
    ----------
    metric
        The name of the metric.
    people, machine
        By system: the metric of each query, by people's truth and by machines'. Queries without a value
        (nan) in any system are left out.

    Examples
    --------
    >>> by_people = {"a": [0.9, 0.8], "b": [0.5, 0.6], "c": [0.1, 0.2]}
    >>> by_machine = {"a": [0.9, 0.7], "b": [0.2, 0.1], "c": [0.3, 0.2]}
    >>> result = system_agreement("NDCG", by_people, by_machine)
    >>> round(result.tau.value, 3), result.flips
    (0.333, (('b', 'c'),))
    """
    if people.keys() != machine.keys() or len(people) < 2:
        raise DataError(
            f"expected two or more systems with values by both truths, got {sorted(people)} and "
            f"{sorted(machine)}"
        )
    names = list(people)
    values = np.array([[t[n] for n in names] for t in (people, machine)], dtype=np.float64)
    values = values[:, :, ~np.isnan(values).any(axis=(0, 1))]
    n_queries = values.shape[2]
    if n_queries == 0:
        raise DataError("expected queries with a value of every system, got none")
    means = np.round(values.mean(axis=2), 12)
    order = np.argsort(-means[0], kind="stable")
    values, means, names = values[:, order], means[:, order], [names[i] for i in order]
    weights = resample_queries(n_queries, resamples, seed) / n_queries
    drawn = np.round(np.einsum("rq,tsq->trs", weights, values), 12)
    first, second = np.triu_indices(len(names), 1)
    signs = np.sign(means[:, first] - means[:, second])
    flips = np.flatnonzero(signs[0] * signs[1] < 0)
    tau = interval_of(float(_tau(means[:, None])[0]), _tau(drawn))
    return SystemAgreement(
        metric, tuple(names), tuple(means[0].tolist()), tuple(means[1].tolist()), n_queries, tau,
        tuple((names[first[i]], names[second[i]]) for i in flips),
    )  # fmt: skip


def _tau(means: Floats) -> Floats:
    """Return tau-b of each sample; `means` has truths, samples and systems."""
    first, second = np.triu_indices(means.shape[2], 1)
    signs = np.sign(means[:, :, first] - means[:, :, second])
    untied = np.abs(signs).sum(axis=2)
    with np.errstate(invalid="ignore"):
        return np.asarray((signs[0] * signs[1]).sum(axis=1) / np.sqrt(untied[0] * untied[1]))
