"""Pip constraints for the lowest versions that pyproject.toml allows.

python -m tools.lowest > constraints.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Extras that podium runs on; test runners and linters may be new.
RUNTIME = ("arrow", "report", "web", "catboost")
TABLES = ("pandas", "polars")


def lowest() -> list[str]:
    """Return one `name==version` for each lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounds = project["dependencies"] + [d for extra in RUNTIME for d in extras[extra]]
    bounds += [d for d in extras["dev"] if re.match(r"[\w-]+", d)[0] in TABLES]  # type: ignore[index]
    # Constraints name packages without their extras.
    return [re.sub(r"\[.*?\]", "", d).replace(">=", "==") for d in bounds]


if __name__ == "__main__":
    print("\n".join(lowest()))
