"""One server for a store in a file: a file beside it, locked while it is served."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from podium.errors import StoreError
from podium.labelling.store.database import parse_url

if sys.platform != "win32":
    import fcntl


def lock_path(store: str) -> Path | None:
    """Return the file that is locked, which says where the server is; None for a database server."""
    url = parse_url(store)
    return Path(f"{url.database}.serving") if url.get_backend_name() == "sqlite" else None


def server_address(store: str) -> str | None:
    """Return where browsers find the server of a store, or found it last if it was killed."""
    file = lock_path(store)
    try:
        text = file.read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError):
        return None
    return text.strip() or None


@contextmanager
def lock_store(store: str, address: str) -> Iterator[None]:
    """Lock a store in a file until the block ends, so that one server alone serves it.

    Every server keeps sessions in memory and writes in its own turns; two of them on one file would
    wait for each other. The lock is the system's: it ends with the process, however that ends.
    """
    file = lock_path(store)
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
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            store = str(file).removesuffix(".serving")
            raise StoreError(
                f"expected one server for {store}, got another at "
                f"{server_address(store) or 'some port'}; stop that one, or use PostgreSQL, "
                "which several can share"
            ) from None
        # The last server removes the file when it ends: check that the locked file is still the one on disk.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                return descriptor
        os.close(descriptor)
