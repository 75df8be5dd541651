"""A model as an engine takes it: the content of a file, and what to know before it is served."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.data.atomic_files import atomic_path
from podium.typing import Path_


@dataclass(frozen=True)
class ExportedModel:
    """A model as an engine takes it.

    Parameters
    ----------
    target
        The engine.
    kind
        The engine's name for such a model.
    name
        The name of the model in the engine.
    features
        The features that it needs, in the order of the model's features.
    content
        The content of the file, as text or bytes.
    notes
        What to know before it is served.
    """

    target: str
    kind: str
    name: str
    features: tuple[str, ...]
    content: str | bytes = field(repr=False)
    notes: tuple[str, ...] = ()

    def save(self, path: Path_) -> None:
        """Write the file whole or not at all."""
        content = self.content
        with atomic_path(path) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
