"""Documents in order: the sequence that aggregates and post-rankings share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

MAX_REPR_DOCUMENTS = 10
"""The number of documents in a repr."""


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
        """Return the first documents in brackets, and the number of documents if there are more."""
        names = [repr(document) for document in self.order[:MAX_REPR_DOCUMENTS]]
        if len(self.order) > MAX_REPR_DOCUMENTS:
            names.append(f"... {len(self.order)} documents")
        return f"[{', '.join(names)}]"
