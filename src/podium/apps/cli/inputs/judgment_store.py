"""The store of judgments that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium.apps.cli.options.judge import DEFAULT_STORE
from podium.errors import DataError, StoreError, UsageError
from podium.labelling.store import Store
from podium.labelling.store.database import parse_url


def choose_store(argument: str | None, option: str | None) -> str:
    """Return the name of the store: the argument, else --store, else the default."""
    if argument and option and argument != option:
        raise UsageError(f"expected one store, got {argument} and --store {option}")
    return argument or option or DEFAULT_STORE


def store_exists(store: str) -> bool:
    """Return whether a store is a database on a server, or a file that exists."""
    url = parse_url(store)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()


def open_store(store: str, *, make: bool = False, **options: Any) -> Store:
    """Open a store. It must exist, unless `make` allows to make it: reading must not make one.

    What commands write, and what assessors send to the server, is synced before it is acknowledged.
    """
    if not store_exists(store):
        if not make:
            raise DataError(
                "expected a store of judgments, got no such file; podium judge import makes one",
                path=parse_url(store).database,
            )
    else:
        _check_kind(store)
    try:
        return Store.open(store, durable=True, **options)
    except StoreError as error:
        # Opening checks the layout first; its error speaks of a write that nobody asked for.
        _, _, reason = str(error).partition("was not kept: ")
        raise StoreError(
            f"the store cannot be opened: {reason}" if reason else str(error)
        ) from error


def _check_kind(store: str) -> None:
    """Raise if a file is not a database, before SQLite says so in its own words."""
    url = parse_url(store)
    if url.get_backend_name() != "sqlite":
        return
    with open(url.database or "", "rb") as file:
        start = file.read(16)
    if start and start != b"SQLite format 3\0":
        raise DataError(
            f"expected a store of judgments, got a file that begins with {start!r}",
            path=url.database,
        )


def store_name(store: str) -> str:
    """Return the name of a store without the password."""
    url = parse_url(store)
    return url.database or "" if url.get_backend_name() == "sqlite" else repr(url)
