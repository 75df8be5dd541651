"""The report of a search for a ranker: what was tried, its cost, the members and their weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import msgspec

from podium.counted_nouns import count_texts
from podium.html_tables import html_table


@dataclass(frozen=True)
class CandidateResult:
    """One ranker that a search tried, and its metric on queries that it did not see.

    Parameters
    ----------
    value, low, high
        The mean metric, and its 95% interval; None if no fit succeeded.
    fits, seconds
        What it cost.
    weight
        Its share in the final model; 0: it is not part of it.
    outcome
        What became of it.
    """

    label: str
    family: str
    settings: str
    value: float | None
    low: float | None
    high: float | None
    fits: int
    seconds: float | None
    weight: float
    outcome: str


@dataclass(frozen=True)
class CombinationResult:
    """One way to combine the finalists, and its metric by nested validation.

    Parameters
    ----------
    behind
        How far its mean is behind the best combination.
    standard_error
        The standard error of that difference.
    """

    name: str
    value: float
    behind: float
    standard_error: float
    is_chosen: bool


@dataclass(frozen=True, repr=False)
class SelectionReport:
    """What a search for a ranker tried, what it cost, and what it chose.

    Parameters
    ----------
    fits, seconds
        The number of fits, and the time by the budget's clock; None in the file of a search that counted
        fits, because the file must not depend on the speed of a machine.
    left_out
        What the budget did not allow, in words.
    """

    metric: str
    budget: str
    folds: int
    repeats: int
    fits: int
    seconds: float | None
    counts_fits: bool
    candidates: tuple[CandidateResult, ...]
    combinations: tuple[CombinationResult, ...]
    left_out: tuple[str, ...] = ()

    @property
    def members(self) -> list[CandidateResult]:
        """The candidates with a weight, the largest first."""
        used = [candidate for candidate in self.candidates if candidate.weight > 0]
        return sorted(used, key=lambda candidate: -candidate.weight)

    @property
    def combination(self) -> str:
        """The name of the chosen combination; empty if there was nothing to combine."""
        return next((c.name for c in self.combinations if c.is_chosen), "")

    def title(self) -> str:
        """Return the cost of the search in words."""
        time = "" if self.seconds is None else f", {self.seconds:.1f} s"
        return (
            f"{count_texts(candidate=len(self.candidates), fit=self.fits)} of {self.folds} folds{time} "
            f"(budget {self.budget})"
        )

    def candidate_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and rows of text: the candidates that were fitted, members first."""
        headers = ["candidate", "outcome", "weight", self.metric, "95% interval", "fits", "seconds"]
        tried = sorted(
            (candidate for candidate in self.candidates if candidate.fits > 0),
            key=lambda c: (-c.weight, -c.fits, float("inf") if c.value is None else -c.value),
        )
        return headers, [_candidate_row(candidate) for candidate in tried]

    def combination_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and rows of text: the combinations, the simplest first."""
        headers = ["combination", "chosen", self.metric, "behind the best", "standard error"]
        rows = [
            [c.name, "yes" if c.is_chosen else "", f"{c.value:.4f}", f"{c.behind:.4f}",
             f"{c.standard_error:.4f}"]
            for c in self.combinations
        ]  # fmt: skip
        return headers, rows

    def __repr__(self) -> str:
        members = ", ".join(f"{m.label} {m.weight:.3f}" for m in self.members)
        return f"SelectionReport({self.title()}; {self.combination or 'one fit'}: {members})"

    def _repr_html_(self) -> str:
        """Return the candidates as a table for notebooks."""
        headers, rows = self.candidate_table()
        return html_table(self.title(), headers, len(rows), rows.__getitem__)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file; without times if the budget counted fits."""
        report = self.without_times() if self.counts_fits else self
        return asdict(report)

    def without_times(self) -> Self:
        """Return the report without times."""
        candidates = tuple(replace(c, seconds=None) for c in self.candidates)
        return replace(self, seconds=None, candidates=candidates)

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """Return the report of a file; raise ValueError if it is damaged."""
        try:
            return msgspec.convert(stored, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"a damaged report of the search ({error})") from None


def _candidate_row(candidate: CandidateResult) -> list[str]:
    interval = (
        ""
        if candidate.low is None or candidate.high is None
        else f"{candidate.low:.4f} to {candidate.high:.4f}"
    )
    return [
        candidate.label,
        candidate.outcome,
        f"{candidate.weight:.3f}" if candidate.weight > 0 else "",
        "" if candidate.value is None else f"{candidate.value:.4f}",
        interval,
        f"{candidate.fits}",
        "" if candidate.seconds is None else f"{candidate.seconds:.1f}",
    ]
