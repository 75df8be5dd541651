"""Certificates of optimality: how far a fit is from the optimum, kept with the ranker and in its file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from podium.html_tables import html_table
from podium.optim import Minimum


@dataclass(frozen=True)
class Certificate:
    """The point where the optimiser stopped, and its proved distance from the optimum, if there is one.

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
    """An upper bound on the difference between the value and the minimum."""

    @classmethod
    def from_minimum(cls, minimum: Minimum | None) -> Certificate | None:
        """Return the certificate of a minimiser's result."""
        if minimum is None:
            return None
        names = [field.name for field in fields(Certificate)]
        return Certificate(**{name: getattr(minimum, name) for name in names})

    @property
    def bound(self) -> float | None:
        """A lower bound on the minimum."""
        return None if self.gap is None else self.value - self.gap

    def _repr_html_(self) -> str:
        """Return the fields as a table for notebooks."""
        values = {**asdict(self), "bound": self.bound}
        rows = [(name.replace("_", " "), value) for name, value in values.items() if value != ""]
        return html_table(
            "Certificate of optimality", ("field", "value"), len(rows), rows.__getitem__
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for a file."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Build a certificate from a file's fields; raise ValueError or TypeError if they are wrong."""
        values = {name: value for name, value in stored.items() if name != "kind"}
        for field in fields(cls):
            if field.name in values:
                _check_field(field.name, values[field.name], str(field.type))
        return cls(**values)


@dataclass(frozen=True)
class HeadCertificate(Certificate):
    """The certificate of TopSlack and TopMargin, for the ideal ranking of the last round.

    `value` is the objective with that ideal. `gap` bounds its distance from the minimum of the
    convex problem with that ideal. If `converged`, w itself gives that ideal, or w = 0 is optimal
    within the gap (`value >= at_zero`). Another start may end at another w with a higher or lower
    value.
    """

    kind: ClassVar[str] = "head"

    relaxation_gap: float = 0.0
    """An upper bound on the part of the value that mixtures of rankings add."""
    rounds: int = 1
    """The number of convex problems that were solved."""
    at_zero: float = 0.0
    """The objective at w = 0, where nothing is ranked."""

    @property
    def passes(self) -> int:
        """The number of passes over all queries."""
        return self.iterations


CERTIFICATES: dict[str, type[Certificate]] = {
    "minimum": Certificate,
    "head": HeadCertificate,
}
"""Every kind of certificate by its name in files."""

_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
}


def _check_field(name: str, value: object, annotation: str) -> None:
    allowed = _FIELD_TYPES[annotation]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise TypeError(f"{name}={value!r:.80} in a certificate")
