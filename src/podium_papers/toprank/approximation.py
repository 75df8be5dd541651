"""Approximation of Kemeny's order by Supervised Kemeny: instances that break the bound of 2.

Section 3.2 of the TopRank paper claims the bound for Algorithm 2 with any initial order mu. The small
instances come from simulated annealing over rankings, weights and mu, against all orders of the
documents. Here they are measured again, against the proved optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from podium.aggregation import Kemeny, SupervisedKemeny, aggregate
from podium.errors import UsageError

PAPER_BOUND = 2.0
"""Largest ratio that the paper claims to be possible."""
DEFAULT, LITERAL = "insertion (Podium's default)", "as printed (quicksort)"


@dataclass(frozen=True)
class KemenyInstance:
    """Rankings of documents, best first, their weights and the initial order; "" is weighted Borda's."""

    name: str
    rankings: tuple[str, ...]
    weights: tuple[float, ...]
    initial: str = ""


EQUAL_5 = KemenyInstance(
    "three rankers of equal weight, 5 documents", ("dbaec", "acdbe", "baecd"), (1, 1, 1), "ecdba"
)
EQUAL_6 = KemenyInstance(
    "three rankers of equal weight, 6 documents",
    ("abefdc", "bedcaf", "ecabfd"),
    (1, 1, 1),
    "fdcabe",
)
BORDA_5 = KemenyInstance(
    "Borda's order as mu, 5 documents", ("edcab", "cabed", "bedca"), (0.499, 0.002, 0.499)
)
BORDA_6 = KemenyInstance(
    "Borda's order as mu, 6 documents",
    ("bfcead", "cbafed", "beadcf", "cfdbae", "cafedb"),
    (0.000623, 0.499285, 0.000029, 0.263856, 0.236207),
)


def blocks_instance(m: int, weight: float = 0.01) -> KemenyInstance:
    """Return an instance of 2m + 1 documents whose ratio grows with m, to (1 - weight) / weight.

    The ratio has no bound as the weight goes to 0. One ranker says v A B, one A B v, and a light one,
    whose order is mu, says B v A. Nearly all weight puts A above B. But v is just above A and just below
    B, so no document of A ever passes v.

    Examples
    --------
    >>> blocks_instance(2).rankings
    ('vabAB', 'abABv', 'ABvab')
    """
    letters = "abcdefghij"
    if not 1 <= m <= len(letters):
        raise UsageError(f"expected m from 1 to {len(letters)}, got {m}")
    a, b = letters[:m], letters[:m].upper()
    heavy = (1 - weight) / 2
    mu = f"{b}v{a}"
    return KemenyInstance(
        f"mu is one of the rankers, {2 * m + 1} documents", (f"v{a}{b}", f"{a}{b}v", mu),
        (heavy, heavy, weight), mu,
    )  # fmt: skip


INSTANCES = (
    EQUAL_5,
    EQUAL_6,
    blocks_instance(2),
    blocks_instance(5),
    blocks_instance(10),
    BORDA_5,
    BORDA_6,
)


@dataclass(frozen=True)
class Approximation:
    """Weighted Kendall distance of an algorithm's order, and the least of any order."""

    name: str
    algorithm: str
    distance: float
    least: float

    @property
    def ratio(self) -> float:
        """Distance divided by the least distance."""
        return self.distance / self.least


def approximations(instances: Sequence[KemenyInstance] = INSTANCES) -> tuple[Approximation, ...]:
    """Measure both forms of Supervised Kemeny on every instance.

    Examples
    --------
    >>> default, literal = approximations([blocks_instance(2)])
    >>> round(default.ratio, 2), round(literal.ratio, 2)
    (2.91, 2.91)
    """
    return tuple(ratio for instance in instances for ratio in _measure(instance))


def _measure(instance: KemenyInstance) -> Iterator[Approximation]:
    rankings, weights = list(map(list, instance.rankings)), instance.weights
    best = aggregate(rankings, Kemeny(time_limit=None), weights)
    assert best.optimal
    for algorithm, literal in ((DEFAULT, False), (LITERAL, True)):
        method = SupervisedKemeny(literal=literal)
        reached = aggregate(rankings, method, weights, initial=list(instance.initial) or None)
        yield Approximation(instance.name, algorithm, reached.distance, best.distance)
