"""Text files, compressed or not: read in blocks of whole lines, written all or nothing."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

from podium.data.durability import reserve_temporary, sync_file, sync_folder
from podium.errors import CorruptFileError, MalformedLineError, TruncatedFileError

Path_ = str | os.PathLike[str]
Progress = Callable[[int], object]
"""Called with the number of bytes of text read since the last call."""

BLOCK = 1 << 20
"""Bytes of text handed to a parser at a time: it should still be in the cache when parsed."""

MAX_LINE = 256 << 20
"""Bytes in a line; a longer one is taken for a mistake."""

_BOM = b"\xef\xbb\xbf"  # some editors begin UTF-8 text with it
# Compressed bytes at a time. A hostile file makes at most a few 100 MB of them: gzip packs 1,000 to 1,
# the others more.
_CHUNK = {".gz": 64 << 10, ".bz2": 16 << 10, ".xz": 16 << 10, ".zst": 16 << 10}


class Decompressor(Protocol):
    """What zlib, bz2, lzma and zstandard have in common."""

    @property
    def eof(self) -> bool:
        """Whether the compressed stream has ended."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What stood behind the end of the stream."""
        ...

    def decompress(self, data: bytes, /) -> bytes:
        """More text."""
        ...


_DECOMPRESSORS: dict[str, Callable[[], Decompressor]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".bz2": bz2.BZ2Decompressor,
    ".xz": lzma.LZMADecompressor,
    ".zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
}

_COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    # mtime=0 and no file name: the same data gives the same bytes.
    ".gz": lambda raw: gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0),
    ".bz2": lambda raw: bz2.BZ2File(raw, "wb"),
    ".xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115 - closed by the writer
    ".zst": lambda raw: zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False),
}

COMPRESSIONS = tuple(_COMPRESSORS)
"""File name endings that mean compressed text."""

_CORRUPT = (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, ValueError)


def stem(path: Path_) -> str:
    """The file name without its compression ending.

    Examples
    --------
    >>> stem("fold1/train.txt.gz")
    'train.txt'
    """
    path = Path(path)
    return path.stem if path.suffix in COMPRESSIONS else path.name


def decompress(path: str, file: IO[bytes], suffix: str) -> Iterator[bytes]:
    """The text of a compressed file, piece by piece; several streams in a row are one text."""
    engine: Decompressor | None = None
    while data := file.read(_CHUNK[suffix]):
        while data:
            if engine is None or engine.eof:
                if engine is not None and not (data := data.lstrip(b"\0")):  # padding
                    break
                engine = _DECOMPRESSORS[suffix]()
            try:
                yield engine.decompress(data)
            except _CORRUPT as error:
                raise CorruptFileError(
                    f"expected {suffix} compressed text, got something else ({error})", path=path
                ) from error
            data = engine.unused_data if engine.eof else b""
    if engine is None or not engine.eof:
        raise TruncatedFileError(
            f"expected a complete {suffix} file, got one that ends too early; is the download whole?",
            path=path,
        )


def open_regular(path: Path_) -> io.BufferedReader:
    """Open a file for reading; raise CorruptFileError for a folder, a pipe or a device.

    Files are opened more than once, so a pipe would lose its beginning; a device may have no end.
    """
    check_regular(path)
    # A pipe that took the file's place in between must not keep us waiting for its writer.
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115
    try:
        _check_mode(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def check_regular(path: Path_) -> None:
    """Raise CorruptFileError where a path is a folder, a pipe or a device."""
    _check_mode(os.stat(path).st_mode, path)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_mode(mode: int, path: Path_) -> None:
    if stat.S_ISREG(mode):
        return
    got = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device"
    hint = "" if stat.S_ISDIR(mode) else "; save its contents to a file first"
    raise CorruptFileError(f"expected a file, got {got}{hint}", path=os.fspath(path))


def read_first_line(path: str, prefix: bytes) -> bytes | None:
    """The first line of a file if it starts with this prefix, else None."""
    suffix = Path(path).suffix
    with open_regular(path) as file:
        if suffix not in COMPRESSIONS:
            begins = file.read(len(prefix)) == prefix
            return prefix + file.readline() if begins else None
        text = b""
        for piece in decompress(path, file, suffix):
            text += piece
            if len(text) >= len(prefix) and not text.startswith(prefix):
                return None
            if b"\n" in text:
                break
        return text.partition(b"\n")[0] if text.startswith(prefix) else None


def read_blocks(path: str, in_flight: int = 1) -> Iterator[NDArray[np.uint8]]:
    """The text of a file in blocks of about 1 MB that end at line ends, the file's last line apart.

    A block stays valid until `in_flight` more have been asked for: buffers are used in turn,
    since fresh memory costs more than filling it.
    """
    suffix = Path(path).suffix
    with open_regular(path) as file:
        fill: Callable[[memoryview], int | None] = file.raw.readinto  # no buffer between
        if suffix in COMPRESSIONS:
            fill = _fill_from(decompress(path, file, suffix))
        buffers = [bytearray(BLOCK) for _ in range(in_flight + 1)]
        rest, ended, turn, at_start = b"", False, 0, True
        while not ended:
            if len(buffers[turn]) < 2 * len(rest):  # a single line longer than a block
                buffers[turn] = bytearray(2 * len(rest))
            buffer = buffers[turn]
            size, ended = _read_block(fill, buffer, rest)
            end = size if ended else buffer.rfind(b"\n", 0, size) + 1
            rest = bytes(memoryview(buffer)[end:size])
            if len(rest) > MAX_LINE:
                raise MalformedLineError(
                    f"expected lines of at most {MAX_LINE >> 20} MB, got a longer one", path=path
                )
            if end:
                block = np.frombuffer(buffer, dtype=np.uint8, count=end)
                yield block[len(_BOM) :] if at_start and buffer.startswith(_BOM) else block
                at_start = False
                turn = (turn + 1) % len(buffers)  # only now: the others may still be in use


def _read_block(
    fill: Callable[[memoryview], int | None], buffer: bytearray, rest: bytes
) -> tuple[int, bool]:
    """Fill the buffer behind what was left over: bytes in it, and whether the file has ended."""
    buffer[: len(rest)] = rest
    size = len(rest)
    with memoryview(buffer) as view:
        while size < len(view):
            got = fill(view[size:])
            if not got:
                return size, True
            size += got
    return size, False


def _fill_from(pieces: Iterator[bytes]) -> Callable[[memoryview], int]:
    """readinto() for an iterator of pieces."""
    rest = memoryview(b"")

    def fill(view: memoryview) -> int:
        nonlocal rest
        while not rest:
            piece = next(pieces, None)
            if piece is None:
                return 0
            rest = memoryview(piece)
        n = min(len(view), len(rest))
        view[:n] = rest[:n]
        rest = rest[n:]
        return n

    return fill


def check_target(path: Path_, *sources: Path_) -> Path:
    """Where a file will really be written; raises where none can be, before hours of work.

    `sources` are files still to be read: none of them may be written over.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    for source in sources:
        if Path(os.path.realpath(source)) == target:
            raise OSError(f"cannot write {path}: it is one of the files to be read")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it is not a file")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write {path}: the folder {target.parent} is read-only")
    return target


@contextlib.contextmanager
def atomic_path(path: Path_) -> Iterator[Path]:
    """A temporary path that becomes `path` on success and vanishes on failure.

    Every file that podium writes whole is written here. After a kill or a loss of power, `path` is the old
    file or the new one, each whole; after the block has ended without an error it is the new one.
    """
    target = check_target(path)
    with contextlib.ExitStack() as stack:
        try:
            temporary = stack.enter_context(reserve_temporary(target))
        except OSError as error:  # which names a file that nobody knows
            raise type(error)(f"cannot write {path}: {error.strerror}") from None
        yield temporary
        sync_file(temporary)
        os.replace(temporary, target)
    sync_folder(target.parent)


@contextlib.contextmanager
def atomic_writer(path: Path_) -> Iterator[Callable[[bytes], object]]:
    """A write function for a file that appears whole or not at all, compressed by its ending."""
    suffix = Path(path).suffix
    with atomic_path(path) as temporary, open(temporary, "wb") as raw:
        if suffix not in COMPRESSIONS:
            yield raw.write
        else:
            with contextlib.closing(_COMPRESSORS[suffix](raw)) as compressed:
                yield compressed.write
