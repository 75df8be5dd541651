"""One server for a store in a file: a file beside it, locked while it is served."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def lock_file(store: str) -> Path | None:
    """The file that is locked, which says where the server is; None for a database server."""
    from podium.labelling.store.database import parse_url

    url = parse_url(store)
    return Path(f"{url.database}.serving") if url.get_backend_name() == "sqlite" else None


def served_at(store: str) -> str | None:
    """Where browsers find the server that serves a store, or did last if it was killed."""
    file = lock_file(store)
    try:
        text = file.read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError):
        return None
    return text.strip() or None


@contextmanager
def serving(store: str, address: str) -> Iterator[None]:
    """Be the only one to serve a store in a file until the block ends.

    Every server keeps sessions in memory and takes turns of its own to write; two of them on one file
    would wait for each other. The lock is the system's, so it ends with the process however that ends.
    """
    file = lock_file(store)
    if file is None or sys.platform == "win32":  # there are no such locks there
        yield
        return
    descriptor = _lock(file)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{address}\n".encode())
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(file: Path) -> int:
    import fcntl

    from podium.errors import StoreError

    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            store = str(file).removesuffix(".serving")
            raise StoreError(
                f"expected one server for {store}, got another at {served_at(store) or 'some port'}; stop "
                "that one, or use PostgreSQL, which several can share"
            ) from None
        # Whoever served before takes the file away when it ends: what is locked must be what is there.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                return descriptor
        os.close(descriptor)
