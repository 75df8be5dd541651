"""Pages of the service, with their scripts and styles: read once, served from memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STATIC_FOLDERS = (HERE.parent / "static", HERE / "static")
"""Files that both web apps share, and the service's own."""
CONTENT_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".json": b"application/json",
    ".png": b"image/png",
}


@dataclass(frozen=True)
class Page:
    """A file that is served."""

    content_type: bytes
    data: bytes


def read_pages() -> dict[str, Page]:
    """Return files by path: ``/`` and ``/static/NAME``."""
    pages = {
        f"/static/{path.name}": Page(CONTENT_TYPES[path.suffix], path.read_bytes())
        for folder in STATIC_FOLDERS
        for path in sorted(folder.iterdir())
        if path.suffix in CONTENT_TYPES
    }
    return {"/": pages["/static/index.html"], **pages}
