"""Files of another kind where data is read: errors that name the kind and the remedy."""

from __future__ import annotations

import os
import zipfile

from podium.errors import CorruptFileError, DataError, MalformedLineError

RANKING_DATA = "LETOR text or a table"
_COMPRESSED_STARTS = {
    b"\x1f\x8b": (".gz", "gzip"),
    b"\xfd7zXZ": (".xz", "xz"),
    b"BZh": (".bz2", "bzip2"),
    b"\x28\xb5\x2f\xfd": (".zst", "Zstandard"),
}
_OTHER_STARTS = {
    b"\xd0\xcf\x11\xe0": ("a spreadsheet", "save it as CSV in UTF-8"),
    b"PAR1": ("Parquet", "rename the file so that it ends in .parquet"),
    b"%PDF": ("PDF", "save the table as CSV in UTF-8"),
}
_ZIP_START = b"PK\x03\x04"
_UTF16_STARTS = (b"\xff\xfe", b"\xfe\xff")


def foreign_file(start: bytes, path: str, expected: str = RANKING_DATA) -> DataError | None:
    """Return the error for a file that is compressed, a model, or anything but text; None for text.

    `start` are its first bytes; `expected` is what should be there.
    """
    if start.startswith(_ZIP_START):
        return _zip_archive(path, expected)
    for magic, (ending, name) in _COMPRESSED_STARTS.items():
        if start.startswith(magic):
            remedy = f"rename it to {os.path.basename(path)}{ending}"
            return _foreign(path, f"{name} data", remedy, expected)
    for magic, (name, remedy) in _OTHER_STARTS.items():
        if start.startswith(magic):
            return _foreign(path, name, remedy, expected)
    if start.startswith(_UTF16_STARTS):
        remedy = (
            f"save it as UTF-8, or convert it, as in: iconv -f utf-16 -t utf-8 {path} > utf8.csv"
        )
        return _foreign(path, "text in UTF-16", remedy, expected)
    if b"\0" in start[:4096]:
        return _foreign(path, "binary data", "save a spreadsheet as CSV in UTF-8", expected)
    return None


def json_array(path: str, line: int = 1) -> MalformedLineError:
    """Return the error for a JSON array where JSON lines are read."""
    remedy = f"write it as lines, as in: jq -c '.[]' {path} > lines.jsonl"
    return MalformedLineError(
        "expected JSON lines, one object per line, got a JSON array", path=path, line=line
    ).advise(python=remedy, command_line=remedy)


def _zip_archive(path: str, expected: str) -> CorruptFileError:
    """Return the error for a zip archive: a model, a spreadsheet, or files to unpack."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        names = []
    if "manifest.json" in names:
        if expected != RANKING_DATA:
            return CorruptFileError(f"expected {expected}, got a podium model", path=path)
        return CorruptFileError("expected data, got a podium model", path=path).advise(
            python="podium.load reads a model",
            command_line="a model comes before the data, as in: podium predict MODEL DATA",
        )
    if "xl/workbook.xml" in names:
        return _foreign(path, "a spreadsheet", "save it as CSV in UTF-8", expected)
    if not names:
        return _foreign(path, "binary data", "save a spreadsheet as CSV in UTF-8", expected)
    return _foreign(path, "a zip archive", f"unpack it first, as in: unzip {path}", expected)


def _foreign(path: str, kind: str, remedy: str, expected: str) -> CorruptFileError:
    error = CorruptFileError(f"expected {expected}, got {kind}", path=path)
    return error.advise(python=remedy, command_line=remedy)
