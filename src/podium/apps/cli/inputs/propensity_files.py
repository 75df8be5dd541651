"""Files of propensities, as ``podium clicks propensity --json`` writes them."""

from __future__ import annotations

import json
from pathlib import Path

from podium.errors import DataError


def read_propensities(path: Path) -> list[float]:
    """Read the propensities of a JSON file; from the first missing one on, places are not looked at."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))["values"]
        missing = next((place for place, value in enumerate(values) if value is None), len(values))
        return [min(1.0, float(value)) for value in values[:missing]]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise DataError(
            f"{path}: expected the JSON of podium clicks propensity --json, with a list of values"
        ) from None
