"""The secret of a server: made once, kept beside the store, readable for its owner only."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from podium.apps.judging.links import MIN_SECRET, make_secret
from podium.data.durability import reserve_temporary, sync_file, sync_folder
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
    if not file.exists():
        _make(file)
    return _read(file)


def _make(file: Path) -> None:
    """A file with a new secret, whole from the first moment on and for its owner only.

    A link takes its place only if nothing is there: of two servers that start at once one is first, and
    both read the same.
    """
    with reserve_temporary(file, mode=0o600) as temporary:
        temporary.write_text(f"{make_secret()}\n")
        sync_file(temporary)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, file)
    sync_folder(file.parent)


def _read(file: Path) -> str:
    secret = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(secret) < MIN_SECRET:
        raise DataError(
            f"expected a secret of {MIN_SECRET} characters or more, got {len(secret)}; remove the file "
            "and a new one is made, with which old links are void",
            path=str(file),
        )
    return secret
