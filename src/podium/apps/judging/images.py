"""Images of documents: files of one folder, at signed addresses."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urlsplit

ImageAddress = Callable[[str], str | None]
"""The name of an image in a document -> its address on this server; None if it is not there."""

IMAGES_PATH = "/images/"
IMAGE_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".webp": "image/webp", ".avif": "image/avif", ".svg": "image/svg+xml",
}  # fmt: skip
"""The media types of images, by the ending of the file name."""


class ImageFolder:
    """The images of a folder, at addresses that nobody can guess.

    An address contains a proof. Assessors see the addresses of their own documents and can make no others.

    Parameters
    ----------
    folder
        The folder of the files.
    key
        Signs the proofs.

    Examples
    --------
    >>> images = ImageFolder(Path("."), b"a key")
    >>> address = images.address("cats/a.png")
    >>> address.endswith("/cats/a.png"), images.address("../a.png")
    (True, None)
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder, self._key = folder, key

    def address(self, path: str) -> str | None:
        """Return the signed address of an image; None if it is on another server or outside the folder."""
        unsigned = image_address(path)
        if unsigned is None:
            return None
        inside = unsigned.removeprefix(IMAGES_PATH)
        return f"{IMAGES_PATH}{self._proof(unquote(inside))}/{inside}"

    def file(self, address: str) -> tuple[Path, str] | None:
        """Return the file at an address (without IMAGES_PATH) and its media type, or None."""
        proof, _, path = address.partition("/")
        if not hmac.compare_digest(proof.encode("utf-8", "replace"), self._proof(path).encode()):
            return None
        return image_file(self._folder, path)

    def _proof(self, path: str) -> str:
        return hmac.new(self._key, path.encode("utf-8", "replace"), "sha256").hexdigest()[:24]


def image_address(path: str) -> str | None:
    """Return the unsigned address of an image; None if it is on another server or outside the folder.

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
    inside = unquote(parts.path).removeprefix(IMAGES_PATH)
    file = PurePosixPath(inside)
    is_hidden = any(part.startswith(".") for part in file.parts)
    if file.is_absolute() or is_hidden or "\\" in inside or not inside.isprintable():
        return None
    if file.suffix.lower() not in IMAGE_TYPES:
        return None
    return IMAGES_PATH + quote(str(file))


def image_file(folder: Path, path: str) -> tuple[Path, str] | None:
    """Return the file of an image and its media type; None if the folder has no such image.

    The file is always inside the folder, also if the path or a symbolic link points elsewhere.
    """
    if image_address(quote(path, safe="/")) is None:
        return None
    try:
        root = folder.resolve(strict=True)
        file = (root / path).resolve(strict=True)
        is_inside = file.is_relative_to(root) and file.is_file()
    except (OSError, ValueError, RuntimeError):
        return None
    media_type = IMAGE_TYPES.get(file.suffix.lower())
    return (file, media_type) if is_inside and media_type is not None else None
