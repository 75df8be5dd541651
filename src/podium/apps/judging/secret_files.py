"""The secret of a server: made once, kept beside the store, readable for its owner only."""

from __future__ import annotations

import os
from pathlib import Path

from podium.apps.judging.links import MIN_SECRET, make_secret
from podium.errors import DataError, UsageError
from podium.labelling.store.database import parse_url

VARIABLE = "PODIUM_JUDGING_SECRET"
"""The environment variable that may have the secret instead of a file."""


def secret_of(store: str, file: Path | None = None) -> str:
    """The secret of a store's server: from the environment, from a file, or from that beside the store.

    A file that is not there is made.

    Parameters
    ----------
    store
        The URL or the file of the store.
    file
        Where the secret is; for SQLite ``FILE.secret`` beside the store unless said otherwise.
    """
    if file is None and (told := os.environ.get(VARIABLE)):
        return told
    if file is None:
        url = parse_url(store)
        if url.get_backend_name() != "sqlite" or not url.database:
            raise UsageError(
                f"expected a secret for a store that is no file: give --secret FILE or set {VARIABLE}"
            )
        file = Path(f"{url.database}.secret")
    try:
        # Only for the owner from the first moment on, and never over one that is there.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(file)
    secret = make_secret()
    with os.fdopen(descriptor, "w") as out:
        out.write(f"{secret}\n")
    return secret


def _read(file: Path) -> str:
    secret = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(secret) < MIN_SECRET:
        raise DataError(
            f"expected a secret of {MIN_SECRET} characters or more, got {len(secret)}; remove the file "
            "and a new one is made, with which old links are void",
            path=str(file),
        )
    return secret
