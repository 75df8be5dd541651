"""An exported model: the content of a file for an engine, and notes for its users."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.data.atomic_files import atomic_path
from podium.typing import Path_


@dataclass(frozen=True)
class ExportedModel:
    """A model in the format of an engine.

    Parameters
    ----------
    target
        The engine.
    kind
        The engine's name of this kind of model.
    name
        The name of the model in the engine.
    features
        The features that it needs, in the order of the model's features.
    content
        The content of the file, as text or bytes.
    notes
        Notes to read before the model is served.
    version
        The version of the engine; None: the newest that podium knows.
    """

    target: str
    kind: str
    name: str
    features: tuple[str, ...]
    content: str | bytes = field(repr=False)
    notes: tuple[str, ...] = ()
    version: str | None = field(default=None, repr=False)

    def save(self, path: Path_) -> None:
        """Write the file, all or nothing."""
        content = self.content
        with atomic_path(path) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
