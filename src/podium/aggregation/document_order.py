"""Documents in order: the sequence that aggregates and post-rankings share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

MAX_REPR_DOCUMENTS = 10
"""Documents that a repr lists."""


@dataclass(frozen=True, repr=False)
class DocumentOrder(Sequence[Any]):
    """Documents, best first, as a sequence."""

    order: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.order[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)

    def preview(self) -> str:
        """The first documents in brackets, and how many there are if that is not all."""
        names = [repr(document) for document in self.order[:MAX_REPR_DOCUMENTS]]
        if len(self.order) > MAX_REPR_DOCUMENTS:
            names.append(f"... {len(self.order)} documents")
        return f"[{', '.join(names)}]"
