"""``--feature-names NAMES``: names with commas between them, or a file with one name per line."""

from __future__ import annotations

from pathlib import Path


def read_feature_names(text: str | None) -> list[str] | None:
    """Return the names that the option lists, or those of the file that it names."""
    if text is None:
        return None
    path = Path(text)
    if "," not in text and path.is_file():
        return path.read_text(encoding="utf-8").splitlines()
    return [name.strip() for name in text.split(",")]
