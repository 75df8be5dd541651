"""Zip archives of a manifest and its parts, which models and indexes are kept in.

manifest.json     {"format": ..., "version": 1, "podium": "0.1.0", ..., "parts": {"NAME": "<sha256>"},
                   "digest": "<sha256 of all the rest>"}
NAME.npy, .txt    the parts, arrays and texts

Data, never code: reading one runs nothing. Parts are stored as they are, and the same contents give the
same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.files import Path_, atomic_path

MANIFEST = "manifest.json"


def write_archive(path: Path_, about: Mapping[str, Any], parts: Mapping[str, bytes]) -> None:
    """Write a manifest and its parts, all or nothing.

    Parameters
    ----------
    about
        What the manifest says: ``format`` and ``version`` first. Podium's version, the parts with their
        SHA-256 and a digest of all that are added.
    parts
        File name -> bytes.
    """
    kind, number, *_ = about.values()
    manifest = {
        "format": kind, "version": number, "podium": _podium_version(), **about,
        "parts": {name: _sha256(data) for name, data in parts.items()},
    }  # fmt: skip
    text = json.dumps({**manifest, "digest": digest(manifest)}, indent=1, allow_nan=False)
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, data in {MANIFEST: text.encode(), **parts}.items():
            # A fixed date: the same contents give the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def read_manifest(data: bytes, kind: str, newest: int) -> dict[str, Any]:
    """The manifest of an archive of this kind and of a version up to the newest; ValueError otherwise."""
    try:
        manifest = json.loads(data)
    except ValueError as error:
        raise ValueError(f"a manifest that is no JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != kind:
        raise ValueError("another kind of zip")
    found = manifest.get("version")
    if type(found) is not int or not 1 <= found <= newest:
        raise ValueError(
            f"format version {found!r} instead of 1 to {newest}, written by podium "
            f"{manifest.get('podium')}; a newer podium reads it"
        )
    if manifest.get("digest") != digest(manifest):
        raise ValueError("a changed manifest")
    return manifest


def check_part(name: str, data: bytes, expected: object) -> None:
    """Raise ValueError unless a part has the SHA-256 that the manifest names."""
    if _sha256(data) != expected:
        raise ValueError(f"a changed {name}")


def digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of all the manifest says but the digest itself."""
    rest = {name: value for name, value in manifest.items() if name != "digest"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


def array_bytes(array: NDArray[Any]) -> bytes:
    """An array as an npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read_array(data: bytes, kinds: str) -> NDArray[Any]:
    """The array of an npy file, of a dtype of these kinds; ValueError for anything else.

    What its header asks for is never allocated, only found there: the array is a view of the bytes.

    Examples
    --------
    >>> read_array(array_bytes(np.array([1, 2, 3])), "iu")
    array([1, 2, 3])
    """
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("not version 1.0 of npy")
    try:
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except (SyntaxError, TokenError) as error:  # NumPy reads headers as Python
        raise ValueError(f"a header that is none ({error})") from None
    held = len(data) - stream.tell()
    if dtype.kind not in kinds or held != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{dtype} numbers of shape {shape}, in {held} bytes")
    values = np.frombuffer(data, dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _podium_version() -> str:
    try:
        return version("podium-ltr")
    except PackageNotFoundError:  # run from a folder, not installed
        return "unknown"
