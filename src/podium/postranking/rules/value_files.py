"""Files of values for conditions, such as a list of queries: they lie beside the rule file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from podium.data.text_files import read_blocks
from podium.errors import UsageError
from podium.postranking.rules.field_conditions import short_repr
from podium.postranking.rules.when_entries import MAX_TEST_VALUES, MAX_VALUE_LENGTH

MAX_FILE_BYTES = 4 << 20
"""The largest file of values."""


def with_file_values(when: Any, folder: str | None) -> Any:
    """Return a condition in which ``file: NAME`` became ``is:`` and the lines of the file.

    Raise `UsageError` if the rules do not come from a file, or the name leads out of its folder.
    """
    if isinstance(when, list | tuple):
        return [with_file_values(one, folder) for one in when]
    if not isinstance(when, Mapping):
        return when
    entry = {key: with_file_values(value, folder) for key, value in when.items()}
    if not isinstance(entry.get("file"), str) or len(set(entry) - {"file", "stem", "edits"}):
        return entry
    return {
        **{k: v for k, v in entry.items() if k != "file"},
        "is": _read_lines(entry["file"], folder),
    }


def _read_lines(name: str, folder: str | None) -> list[str]:
    if folder is None:
        raise UsageError(
            f"expected values in the rule itself, got the file {short_repr(str(name))}; files of "
            "values are for rules in a file"
        )
    if name != os.path.basename(name) or name in ("", ".", ".."):
        raise UsageError(
            f"expected the name of a file beside the rule file, got {short_repr(str(name))}"
        )
    data = b""
    try:
        for block in read_blocks(os.path.join(folder, name)):
            data += block.tobytes()
            if len(data) > MAX_FILE_BYTES:
                raise UsageError(f"expected at most {MAX_FILE_BYTES >> 20} MB in {name}, got more")
        lines = [line.strip() for line in data.decode("utf-8-sig").splitlines()]
    except OSError:
        raise UsageError(
            f"cannot read {name} beside the rule file: there is no such file"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"expected UTF-8 text in {name}, got other bytes") from None
    values = list(dict.fromkeys(line for line in lines if line))
    if not values or len(values) > MAX_TEST_VALUES or max(map(len, values)) > MAX_VALUE_LENGTH:
        raise UsageError(
            f"expected 1 to {MAX_TEST_VALUES:,} lines of at most {MAX_VALUE_LENGTH:,} characters in "
            f"{name}, got {len(values):,} lines"
        )
    return values
