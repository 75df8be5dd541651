"""JSON lines: one JSON object per line, plain or compressed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from podium.data.foreign_files import foreign_file, json_array
from podium.data.text_files import Progress, read_blocks
from podium.errors import MalformedLineError
from podium.typing import Path_


def read_json_lines(
    path: Path_, progress: Progress | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON lines file with their line numbers; never loads the whole file."""
    name, line = os.fspath(path), 0
    for block in read_blocks(name):
        data = block.tobytes()
        for text in data.removesuffix(b"\n").split(b"\n"):
            line += 1
            if text.strip():
                yield line, _parse_object(text, name, line)
        if progress is not None:
            progress(len(data))


def _parse_object(text: bytes, name: str, line: int) -> dict[str, Any]:
    try:
        record = json.loads(text.decode())
    except UnicodeDecodeError as error:
        foreign = foreign_file(text, name) if line == 1 else None
        if foreign is not None:
            raise foreign from None
        raise MalformedLineError(
            f"expected UTF-8 text, got byte {text[error.start]:#04x}", path=name, line=line
        ) from None
    except (ValueError, RecursionError) as error:
        if line == 1 and text.lstrip().startswith(b"["):
            raise json_array(name) from None
        got = f"{text.decode().strip()!r:.60} ({error})"
        raise MalformedLineError(
            f"expected JSON, one JSON object per line, got {got}", path=name, line=line
        ) from None
    if isinstance(record, list):
        raise json_array(name, line)
    if not isinstance(record, dict):
        raise MalformedLineError(
            f"expected a JSON object per line, got {text.decode().strip()!r:.60}",
            path=name,
            line=line,
        )
    return record
