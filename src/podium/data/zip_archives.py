"""Zip archives of models and indexes: a manifest and its parts.

manifest.json     {"format": ..., "version": 1, "podium": "0.1.0", ..., "parts": {"NAME": "<sha256>"},
                   "digest": "<sha256 of all the rest>"}
NAME.npy, .txt    the parts: arrays and texts

An archive is data, never code: reading it runs nothing. Parts are stored without compression, and the same
contents give the same bytes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.atomic_files import atomic_path
from podium.data.strict_json import read_json
from podium.data.text_files import open_regular
from podium.errors import PodiumError, UsageError
from podium.typing import Path_

MANIFEST = "manifest.json"
ARCHIVE_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, MemoryError,
)  # fmt: skip
"""The errors of zipfile for a damaged file, and the errors for values that are too large."""
CONTENT_DAMAGE_ERRORS = (
    *ARCHIVE_DAMAGE_ERRORS, PodiumError, KeyError, TypeError, AttributeError, IndexError,
)  # fmt: skip
"""The errors of a damaged archive, and those of values that have another form than expected."""
MAX_MANIFEST_BYTES = 16 << 20
"""A manifest holds settings and a learning curve, never the model or the index itself."""

_NPY_START = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(
    rb"\{'descr': '([<>|][a-z][0-9]{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n"
)
"""The header that NumPy writes. Matching it avoids np.load, which evaluates headers as Python."""


def write_archive(path: Path_, about: Mapping[str, Any], parts: Mapping[str, bytes]) -> None:
    """Write a manifest and its parts, all or nothing.

    Parameters
    ----------
    about
        Entries of the manifest, with ``format`` and ``version``. This function adds podium's version,
        the SHA-256 of each part and a digest of the whole manifest.
    parts
        File name -> bytes.
    """
    manifest = {
        "format": about["format"], "version": about["version"], "podium": _podium_version(), **about,
        "parts": {name: _sha256(data) for name, data in parts.items()},
    }  # fmt: skip
    text = json.dumps({**manifest, "digest": digest(manifest)}, indent=1, allow_nan=False)
    if len(text) > MAX_MANIFEST_BYTES:
        raise UsageError(
            f"expected settings and names of at most {MAX_MANIFEST_BYTES >> 20} MiB to save, got "
            f"{len(text):,} bytes"
        )
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, data in {MANIFEST: text.encode(), **parts}.items():
            # A fixed date: the same contents give the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


@contextlib.contextmanager
def open_archive(path: Path_, max_bytes: int | None = None) -> Iterator[zipfile.ZipFile]:
    """Open an archive whose parts are stored without compression, each within the file.

    So no part needs more memory than the file has bytes. Raises ValueError, or what zipfile raises, if
    the file is no such archive.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if max_bytes is not None and size > max_bytes:
            raise ValueError(f"{size:,} bytes instead of at most {max_bytes:,}")
        try:
            with zipfile.ZipFile(file) as archive:
                _check_members(archive, size)
                yield archive
        except OSError as error:
            if error.errno != errno.EINVAL:  # a failing disk reports another error
                raise
            raise ValueError("a part outside the file") from error


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Raise ValueError for parts that unpack to more than the file: compressed or overlapping ones."""
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("compressed parts; podium stores parts without compression")
    if sum(member.file_size for member in members) > size:
        raise ValueError("parts larger than the file")


def read_part(archive: zipfile.ZipFile, name: str, max_bytes: int | None = None) -> bytes:
    """Return the bytes of a part; raises KeyError if there is none, ValueError if it is damaged."""
    size = archive.getinfo(name).file_size
    if max_bytes is not None and size > max_bytes:
        raise ValueError(f"{size:,} bytes in {name} instead of at most {max_bytes:,}")
    with archive.open(name) as member:
        data = member.read(size + 1)
    if len(data) != size:
        raise ValueError(f"{len(data):,} bytes in {name} instead of {size:,}")
    return data


def read_manifest(archive: zipfile.ZipFile, kind: str, newest: int) -> dict[str, Any]:
    """Return the manifest of an archive of this kind, of a version up to the newest.

    Raises KeyError if there is no manifest, ValueError if kind, version or digest is wrong.
    """
    data = read_part(archive, MANIFEST, MAX_MANIFEST_BYTES)
    try:
        manifest = read_json(data)
    except ValueError as error:
        raise ValueError(f"a manifest that is not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != kind:
        raise ValueError("another kind of zip")
    number = manifest.get("version")
    if type(number) is not int or not 1 <= number <= newest:
        raise ValueError(
            f"format version {number!r:.40} instead of 1 to {newest}, written by podium "
            f"{manifest.get('podium')!s:.40}; a newer podium reads it"
        )
    if manifest.get("digest") != digest(manifest):
        raise ValueError("a changed manifest")
    return manifest


def check_part(name: str, data: bytes, expected: object) -> None:
    """Raise ValueError unless a part has the SHA-256 that the manifest expects."""
    if _sha256(data) != expected:
        raise ValueError(f"a changed {name}")


def digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of all entries of the manifest but the digest itself."""
    rest = {name: value for name, value in manifest.items() if name != "digest"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


def array_bytes(array: NDArray[Any]) -> bytes:
    """Return the bytes of an npy file that holds the array."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read_array(data: bytes, kinds: str) -> NDArray[Any]:
    """Return the array of an npy file; raises ValueError unless its dtype is of these kinds.

    The array is a view of the bytes: a header that asks for more memory gets none.

    Examples
    --------
    >>> read_array(array_bytes(np.array([1, 2, 3])), "iu")
    array([1, 2, 3])
    """
    if not data.startswith(_NPY_START) or len(data) < len(_NPY_START) + 2:
        raise ValueError("not version 1.0 of npy")
    start = len(_NPY_START) + 2
    (length,) = struct.unpack("<H", data[start - 2 : start])
    header = _NPY_HEADER.fullmatch(data[start : start + length])
    if header is None:
        raise ValueError("a header that NumPy does not write")
    try:
        dtype = np.dtype(header[1].decode())
    except TypeError:
        raise ValueError(f"numbers of the unknown type {header[1].decode()!r}") from None
    shape = tuple(int(number) for number in header[3].replace(b",", b" ").split())
    n_bytes = len(data) - start - length
    if dtype.kind not in kinds or n_bytes != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{dtype} numbers of shape {shape!s:.80}, in {n_bytes} bytes")
    values = np.frombuffer(data, dtype, offset=start + length)
    return values.reshape(shape, order="F" if header[2] == b"True" else "C")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _podium_version() -> str:
    try:
        return version("podium-ltr")
    except PackageNotFoundError:  # not installed, but run from a folder
        return "unknown"
