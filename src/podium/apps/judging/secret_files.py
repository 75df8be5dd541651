"""The secret of a judging server: a file beside the store that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from podium.apps.judging.links import MIN_SECRET_BYTES, make_secret
from podium.data.atomic_files import create_once
from podium.errors import DataError, UsageError
from podium.labelling.store.database import parse_url

SECRET_VARIABLE = "PODIUM_JUDGING_SECRET"
"""The environment variable that may hold the secret instead of a file."""


def secret_of(store: str, file: Path | None = None) -> str:
    """Return the secret of a store's server: from a file, from the environment, or from beside the store.

    A missing file is made, with a new secret.

    Parameters
    ----------
    store
        The URL or the file of the store.
    file
        The file of the secret; by default ``FILE.secret`` beside a store in SQLite.
    """
    if file is None and (secret := os.environ.get(SECRET_VARIABLE)):
        return secret
    if file is None:
        url = parse_url(store)
        if url.get_backend_name() != "sqlite" or not url.database:
            raise UsageError(
                "expected a secret for a store that is not a file: give --secret FILE or set "
                f"{SECRET_VARIABLE}"
            )
        file = Path(f"{url.database}.secret")
    if not file.exists():
        _make(file)
    return _read(file)


def _make(file: Path) -> None:
    """Write a file with a new secret in one step, for its owner only.

    The hard link fails if the file exists: of two servers that start at once, one is first and both read
    the same secret.
    """
    create_once(file, f"{make_secret()}\n".encode(), mode=0o600)


def _read(file: Path) -> str:
    secret = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(secret) < MIN_SECRET_BYTES:
        raise DataError(
            f"expected a secret of {MIN_SECRET_BYTES} characters or more, got {len(secret)}; remove the file "
            "and a new one is made, with which old links are void",
            path=str(file),
        )
    return secret
