"""What is proved of a fit: kept with the ranker, in memory and in its file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from podium.optim import Minimum


@dataclass(frozen=True)
class Certificate:
    """Where the optimiser stopped and how far from the optimum that is, where it proves that.

    Examples
    --------
    >>> Certificate(value=1.5, iterations=7, converged=True, reason="", gap=0.25).bound
    1.25
    """

    kind: ClassVar[str] = "minimum"

    value: float
    """The objective."""
    iterations: int
    converged: bool
    reason: str
    gradient_norm: float | None = None
    gap: float | None = None
    """The most that the value is above the least one."""

    @classmethod
    def of(cls, minimum: Minimum | None) -> Certificate | None:
        """That of a minimiser, where there was one."""
        if minimum is None:
            return None
        names = [field.name for field in fields(Certificate)]
        return Certificate(**{name: getattr(minimum, name) for name in names})

    @property
    def bound(self) -> float | None:
        """Below which the least value is not."""
        return None if self.gap is None else self.value - self.gap

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """From a file; raises ValueError or TypeError where that is no certificate."""
        values = {name: value for name, value in told.items() if name != "kind"}
        for field in fields(cls):
            if field.name in values:
                _check(field.name, values[field.name], str(field.type))
        return cls(**values)


@dataclass(frozen=True)
class HeadCertificate(Certificate):
    """What is proved of a TopSlack or TopMargin, against the ideal ranking of the last round.

    `value` is the objective there, `gap` the most it is above the least value of the convex problem
    that has that ideal. Where `converged`, it is the ideal that w itself makes; another start may
    end at another w, of a higher or a lower value.
    """

    kind: ClassVar[str] = "head"

    relaxation_gap: float = 0.0
    """The most that mixtures of rankings add to the value."""
    rounds: int = 1
    """Convex problems that were solved."""
    at_zero: float = 0.0
    """The objective at w = 0, which ranks nothing."""

    @property
    def passes(self) -> int:
        """Passes over all queries."""
        return self.iterations


CERTIFICATES: dict[str, type[Certificate]] = {
    "minimum": Certificate,
    "head": HeadCertificate,
}
"""Every kind of certificate by name."""

_TYPES: dict[str, tuple[type, ...]] = {
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
}


def _check(name: str, value: object, annotation: str) -> None:
    allowed = _TYPES[annotation]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise TypeError(f"{name}={value!r:.80} in a certificate")
