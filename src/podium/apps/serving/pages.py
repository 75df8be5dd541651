"""The service's own page and its files: read once, served from memory, nothing from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FOLDERS = (HERE.parent / "static", HERE / "static")
"""What all pages share, and the service's own."""
KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".json": b"application/json",
    ".png": b"image/png",
}


@dataclass(frozen=True)
class Page:
    """A file as it is served."""

    kind: bytes
    data: bytes


def read_pages() -> dict[str, Page]:
    """Files by path: ``/`` and ``/static/NAME``."""
    found = {
        f"/static/{path.name}": Page(KINDS[path.suffix], path.read_bytes())
        for folder in FOLDERS
        for path in sorted(folder.iterdir())
        if path.suffix in KINDS
    }
    return {"/": found["/static/index.html"], **found}
