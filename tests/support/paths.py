"""Where the repository, its golden files and its docs are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
DOCS = ROOT / "docs"
