"""Model files with other contents and right digests, as an attacker would write them."""

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.data import zip_archives

HOSTILE = (
    10**10, -1, 2**63, 10**40, float("nan"), float("inf"), 1e308, True, None, "x" * 100_000,
    [[[[]]]], [0] * 1000, {"a": {}},
)  # fmt: skip
"""What takes the place of every value of JSON."""
NUMBERS = (10**10, -1, 2**63 - 1, -(2**63), 0, np.nan, np.inf, 1e308)
"""What takes the place of a number of an array."""
SHAPES = ("(True,)", "(-1,)", "(10000000000,)", "(0,)", "(2, 100000)", "()")

Files = dict[str, bytes]


def read(path: Any) -> Files:
    """The parts of an archive by name, its manifest included."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Any, files: Files) -> Any:
    """An archive of these parts with right digests."""
    manifest = json.loads(files["manifest.json"])
    manifest["parts"] = {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name != "manifest.json"
    }
    manifest["digest"] = zip_archives.digest(manifest)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def forgeries(files: Files) -> Iterator[tuple[str, Files]]:
    """Every forgery of a model file, one value changed in each, with what was changed."""
    for name, data in files.items():
        ending = name.rpartition(".")[2]
        if ending == "npy":
            changed = _arrays(data)
        elif data.startswith(b"{"):
            changed = _documents(data, ("parts", "digest") if name == "manifest.json" else ())
        else:
            changed = _texts(data)
        for what, other in changed:
            yield f"{name}: {what}", {**files, name: other}
        if name != "manifest.json":
            yield f"{name}: left out", {n: d for n, d in files.items() if n != name}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of JSON are; of long lists the first and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    if isinstance(value, list):
        for at in sorted({0, len(value) - 1}) if value else ():
            yield from _places(value[at], (*path, at))


def _documents(data: bytes, apart: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    whole = json.loads(data)
    for *path, last in _places(whole):
        if [*path, last][0] in apart:
            continue
        for value in HOSTILE:
            changed = copy.deepcopy(whole)
            inner = changed
            for key in path:
                inner = inner[key]
            inner[last] = value
            yield f"{[*path, last]} = {value!r:.20}", json.dumps(changed).encode()


def _arrays(data: bytes) -> Iterator[tuple[str, bytes]]:
    array = np.load(io.BytesIO(data))
    for value in NUMBERS if array.size else ():
        for at in sorted({0, array.size - 1}):
            changed = array.copy()
            try:
                changed.flat[at] = value
            except (ValueError, OverflowError):  # no such whole number
                continue
            yield f"[{at}] = {value!r}", zip_archives.array_bytes(changed)
    for other in (
        array[:0],
        array.ravel()[:-1],
        np.tile(array, 3),
        array[None],
        array.astype("f4"),
    ):
        yield f"shape {other.shape} {other.dtype}", zip_archives.array_bytes(other)
    shape = f"'shape': {array.shape}".encode()
    for text in SHAPES:
        other = data.replace(shape, f"'shape': {text}".encode())
        length = len(other) - len(data) + int.from_bytes(data[8:10], "little")
        yield f"shape {text}", other[:8] + length.to_bytes(2, "little") + other[10:]


def _texts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """A text with other numbers: the first of each line that has some."""
    for other in (b"", b"\xff", b"x" * 100_000, b"[" * 100_000, data * 3):
        yield f"{other[:10]!r}", other
    lines = data.split(b"\n")
    for at, line in enumerate(lines[:60]):
        name, equals, words = line.partition(b"=")
        for value in (b"9999999999", b"-1", b"nan", b"1e999", b"1e308") if equals else ():
            words = b" ".join([value, *words.split(b" ")[1:]])
            yield (
                f"{name.decode()} = {value.decode()}",
                b"\n".join([*lines[:at], name + equals + words, *lines[at + 1 :]]),
            )
