"""Images of documents: files of one folder, at addresses that nobody can make up."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urlsplit

ImageAddress = Callable[[str], str | None]
"""From how a document names an image to where it is on this server; None for one that is not."""

IMAGES = "/images/"
IMAGE_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".webp": "image/webp", ".avif": "image/avif", ".svg": "image/svg+xml",
}  # fmt: skip
"""What a browser shows as an image, by the ending of its name."""


class Images:
    """The images of a folder: to know the address of one is to have been shown it.

    An address has a proof in it. Assessors see those of their own documents, and can make no other.

    Parameters
    ----------
    folder
        Where the files are.
    key
        Makes the proofs.

    Examples
    --------
    >>> images = Images(Path("."), b"a key")
    >>> address = images.address("cats/a.png")
    >>> address.endswith("/cats/a.png"), images.address("../a.png")
    (True, None)
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder, self._key = folder, key

    def address(self, path: str) -> str | None:
        """Where an image of a document is; None for one elsewhere, or a way out of the folder."""
        plain = image_address(path)
        if plain is None:
            return None
        inside = plain.removeprefix(IMAGES)
        return f"{IMAGES}{self._proof(unquote(inside))}/{inside}"

    def file(self, address: str) -> tuple[Path, str] | None:
        """The file at an address (without IMAGES) and its type; None where there is none."""
        proof, _, path = address.partition("/")
        if not hmac.compare_digest(proof.encode("utf-8", "replace"), self._proof(path).encode()):
            return None
        return image_file(self._folder, path)

    def _proof(self, path: str) -> str:
        return hmac.new(self._key, path.encode("utf-8", "replace"), "sha256").hexdigest()[:24]


def image_address(path: str) -> str | None:
    """The address of an image on this server; None for one elsewhere, or a way out of the folder.

    Examples
    --------
    >>> image_address("cats/a b.png"), image_address("https://x.example/a.png"), image_address("../a.png")
    ('/images/cats/a%20b.png', None, None)
    """
    try:
        parts = urlsplit(path)
    except ValueError:
        return None
    if parts.scheme or parts.netloc:
        return None
    inside = unquote(parts.path).removeprefix(IMAGES)
    place = PurePosixPath(inside)
    hidden = any(part.startswith(".") for part in place.parts)
    if place.is_absolute() or hidden or "\\" in inside or not inside.isprintable():
        return None
    if place.suffix.lower() not in IMAGE_TYPES:
        return None
    return IMAGES + quote(str(place))


def image_file(folder: Path, path: str) -> tuple[Path, str] | None:
    """The file of an image and its type; None where there is none in the folder.

    Whatever the path says, links in the folder included, the file is inside it.
    """
    if image_address(quote(path, safe="/")) is None:
        return None
    try:
        root = folder.resolve(strict=True)
        file = (root / path).resolve(strict=True)
        inside = file.is_relative_to(root) and file.is_file()
    except (OSError, ValueError, RuntimeError):
        return None
    kind = IMAGE_TYPES.get(file.suffix.lower())
    return (file, kind) if inside and kind is not None else None
