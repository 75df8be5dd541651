"""Classes of users: a table of them, and lists that say for whom they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from podium.ensemble.standing import Standing
from podium.rankers.ranker import RankedList


@dataclass(frozen=True)
class UserClass:
    """A class of users: queries that spoke for it, its training error, whether it is served its own.

    After updates the error is the mean over all queries of what each cost when it came.
    """

    name: str
    queries: int
    error: float
    temperature: float
    served: bool


@dataclass(frozen=True)
class ClassTable(Sequence[UserClass]):
    """The classes a ranker knows, by name."""

    rows: tuple[UserClass, ...]
    metric: str = "NDCG@10"

    @classmethod
    def of(cls, standings: Sequence[Standing], metric: str, max_error: float) -> ClassTable:
        """From what was learned of them."""
        rows = (
            UserClass(str(s.name), s.queries, s.error, s.temperature, s.error <= max_error)
            for s in standings
        )
        return cls(tuple(rows), metric)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: int | str) -> UserClass:  # type: ignore[override]
        if isinstance(which, str):
            found = [row for row in self.rows if row.name == which]
            if not found:
                raise KeyError(which)
            return found[0]
        return self.rows[which]

    def __iter__(self) -> Iterator[UserClass]:
        return iter(self.rows)

    def below(self, max_error: float) -> ClassTable:
        """Those whose training error is at most this."""
        return ClassTable(tuple(r for r in self.rows if r.error <= max_error), self.metric)

    def __repr__(self) -> str:
        lines = [("class", "queries", f"1 - {self.metric}", "T", "served")]
        for row in self.rows:
            own = "own weights" if row.served else "as all users"
            lines.append(
                (row.name, f"{row.queries:,}", f"{row.error:.4f}", f"{row.temperature:g}", own)
            )
        widths = [max(len(line[j]) for line in lines) for j in range(5)]
        return "\n".join(
            "  ".join(
                cell.rjust(w) if 0 < j < 4 else cell.ljust(w)
                for j, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


@dataclass(frozen=True, eq=False, repr=False)
class PersonalList(RankedList):
    """The top of one query's list, for which class it was asked and with whose weights it was made."""

    user_class: str | None = None
    served: str | None = None
    """The class whose weights ranked it; None: those of all users."""

    @classmethod
    def of(cls, one: RankedList, user_class: str | None, served: str | None) -> PersonalList:
        """A list made for a class."""
        return cls(one.qid, one.rows, one.docids, one.scores, user_class, served)
