"""Model files on the command line: their names, their versions, and how they are loaded."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from podium.apps.serving.model_check import check_model
from podium.apps.serving.served_models import LoadedModel
from podium.data.text_files import open_regular
from podium.errors import ModelFileError, UsageError
from podium.registry import load

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class ModelFile:
    """A model file, with the name and version that requests use.

    Examples
    --------
    >>> ModelFile.parse("shop@7=models/a.podium")
    ModelFile(name='shop', path='models/a.podium', version='7')
    >>> ModelFile.parse("models/a.podium").name
    'a'
    """

    name: str
    path: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> ModelFile:
        """Read ``PATH``, ``NAME=PATH`` or ``NAME@VERSION=PATH``."""
        left, equals, path = text.partition("=")
        if not equals or "/" in left or Path(text).exists():
            left, path = Path(text).name.removesuffix(".podium"), text
        name, at, version = left.partition("@")
        for part, word in (("name", name), ("version", version if at else "1")):
            if not _NAME.fullmatch(word):
                raise UsageError(
                    f"expected a model's {part} of letters, digits, '.', '_' and '-', got {word!r:.120} "
                    f"in {text!r:.200}; NAME=PATH gives a file another name"
                )
        return cls(name, path, version if at else None)

    def load(self) -> LoadedModel:
        """Return the model, after a trial; without a version it has one from the file's contents."""
        ranker = load(self.path)
        with open_regular(self.path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        loaded = datetime.now(UTC).isoformat(timespec="seconds")
        model = LoadedModel(self.name, self.version or digest[:12], ranker, loaded)
        try:
            check_model(model)
        except ModelFileError as error:
            raise ModelFileError(f"{self.path}: {error.args[0]}").keep_advice(error) from error
        return model


def model_files(texts: Sequence[str]) -> tuple[ModelFile, ...]:
    """Return the models of a command line; raises if a name and version comes twice."""
    files = tuple(map(ModelFile.parse, texts))
    for number, file in enumerate(files):
        for other in files[:number]:
            if file.name == other.name and (file.version is None or file.version == other.version):
                raise UsageError(
                    f"expected each model's name and version once, got {file.name!r} for "
                    f"{other.path} and {file.path}; name their versions as NAME@VERSION=PATH"
                )
    return files
