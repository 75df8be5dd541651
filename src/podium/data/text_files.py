"""Text files, plain or compressed (gzip, bzip2, xz, zstd): read in blocks of whole lines."""

from __future__ import annotations

import bz2
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

from podium.errors import CorruptFileError, MalformedLineError, TruncatedFileError
from podium.typing import Path_

Progress = Callable[[int], object]
"""Called with the number of bytes of text read since the last call."""

BLOCK_BYTES = 1 << 20
"""Bytes of text that a parser gets at a time: few enough to be in the cache when parsed."""

MAX_LINE_BYTES = 256 << 20
"""A longer line is taken for a mistake."""

_BOM = b"\xef\xbb\xbf"  # some editors begin UTF-8 text with it
# Compressed bytes that are read at a time. Even a hostile file expands them to at most a few 100 MB: gzip
# packs 1,000 to 1, the others more.
_CHUNK_BYTES = {".gz": 64 << 10, ".bz2": 16 << 10, ".xz": 16 << 10, ".zst": 16 << 10}


class Decompressor(Protocol):
    """The interface that zlib, bz2, lzma and zstandard share."""

    @property
    def eof(self) -> bool:
        """Whether the compressed stream has ended."""
        ...

    @property
    def unused_data(self) -> bytes:
        """The bytes behind the end of the stream."""
        ...

    def decompress(self, data: bytes, /) -> bytes:
        """Return more text."""
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
    ".xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115 - closed by the caller
    ".zst": lambda raw: zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False),
}

COMPRESSIONS = tuple(_COMPRESSORS)
"""File name endings that mean compressed text."""

_DAMAGE = (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, ValueError)


def open_compressor(suffix: str, raw: IO[bytes]) -> Any:
    """Return a file that compresses what is written to it into `raw`, by one of COMPRESSIONS."""
    return _COMPRESSORS[suffix](raw)


def stem(path: Path_) -> str:
    """Return the file name without its compression ending.

    Examples
    --------
    >>> stem("fold1/train.txt.gz")
    'train.txt'
    """
    path = Path(path)
    return path.stem if path.suffix in COMPRESSIONS else path.name


def decompress(path: str, file: IO[bytes], suffix: str) -> Iterator[bytes]:
    """Yield the text of a compressed file, piece by piece; several streams in a row are one text."""
    decompressor: Decompressor | None = None
    while data := file.read(_CHUNK_BYTES[suffix]):
        while data:
            if decompressor is None or decompressor.eof:
                if decompressor is not None and not (data := data.lstrip(b"\0")):  # padding
                    break
                decompressor = _DECOMPRESSORS[suffix]()
            try:
                yield decompressor.decompress(data)
            except _DAMAGE as error:
                raise CorruptFileError(
                    f"expected {suffix} compressed text, got something else ({error})", path=path
                ) from error
            data = decompressor.unused_data if decompressor.eof else b""
    if decompressor is None or not decompressor.eof:
        raise TruncatedFileError(
            f"expected a complete {suffix} file, got one that ends too early; is the download whole?",
            path=path,
        )


def open_regular(path: Path_) -> io.BufferedReader:
    """Open a file for reading; raises CorruptFileError for a folder, a pipe or a device.

    Podium opens files more than once, so a pipe would lose its beginning. A device may have no end.
    """
    check_regular(path)
    # If a pipe has replaced the file since the check, opening it must not wait for its writer.
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115
    try:
        _check_mode(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def check_regular(path: Path_) -> None:
    """Raise CorruptFileError if a path is a folder, a pipe or a device."""
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
    """Return the first line of a file if it starts with this prefix, else None."""
    suffix = Path(path).suffix
    with open_regular(path) as file:
        if suffix not in COMPRESSIONS:
            has_prefix = file.read(len(prefix)) == prefix
            return prefix + file.readline() if has_prefix else None
        text = b""
        for piece in decompress(path, file, suffix):
            text += piece
            if len(text) >= len(prefix) and not text.startswith(prefix):
                return None
            if b"\n" in text:
                break
        return text.partition(b"\n")[0] if text.startswith(prefix) else None


def read_blocks(path: str, in_flight: int = 1) -> Iterator[NDArray[np.uint8]]:
    """Yield the text of a file in blocks of about 1 MB that end at line ends (the last: at the file's end).

    A block stays valid until `in_flight` more have been requested: buffers are used in turn, because
    fresh memory costs more than filling it.
    """
    suffix = Path(path).suffix
    with open_regular(path) as file:
        fill: Callable[[memoryview], int | None] = file.raw.readinto  # no buffer between
        if suffix in COMPRESSIONS:
            fill = _fill_from(decompress(path, file, suffix))
        buffers = [bytearray(BLOCK_BYTES) for _ in range(in_flight + 1)]
        rest, ended, buffer_index, at_start = b"", False, 0, True
        while not ended:
            if len(buffers[buffer_index]) < 2 * len(rest):  # a single line longer than a block
                buffers[buffer_index] = bytearray(2 * len(rest))
            buffer = buffers[buffer_index]
            size, ended = _read_block(fill, buffer, rest)
            end = size if ended else buffer.rfind(b"\n", 0, size) + 1
            rest = bytes(memoryview(buffer)[end:size])
            if len(rest) > MAX_LINE_BYTES:
                raise MalformedLineError(
                    f"expected lines of at most {MAX_LINE_BYTES >> 20} MB, got a longer one",
                    path=path,
                )
            if end:
                block = np.frombuffer(buffer, dtype=np.uint8, count=end)
                yield block[len(_BOM) :] if at_start and buffer.startswith(_BOM) else block
                at_start = False
                # Only now: the other buffers may still be in use.
                buffer_index = (buffer_index + 1) % len(buffers)


def _read_block(
    fill: Callable[[memoryview], int | None], buffer: bytearray, rest: bytes
) -> tuple[int, bool]:
    """Fill the buffer behind the rest of the last block; return its bytes and whether the file ended."""
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
    """Return a function like readinto() for an iterator of pieces."""
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


def no_utf8(byte: int, path: str, line: int) -> MalformedLineError:
    """Return the error for a byte that is not UTF-8, with what to do."""
    return MalformedLineError(
        f"expected text in UTF-8, got the byte 0x{byte:02x}; save the file as CSV in UTF-8, or convert "
        f"it, as in: iconv -f latin1 -t utf-8 {os.path.basename(path)} > utf8.csv",
        path=path, line=line,
    )  # fmt: skip
