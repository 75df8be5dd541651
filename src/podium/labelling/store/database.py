"""The database of a store: SQLite or PostgreSQL, its transactions, locks and errors."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from podium.data.atomic_files import atomic_path
from podium.errors import StoreError, StoreReason, UsageError, require

BUSY_SECONDS = 10.0
"""How many seconds a writing transaction waits for another one."""

PRIVATE_MODE = 0o600
"""The mode of a database file: only its owner reads and writes judgments."""

_LOCK = 0x706F6469756D  # "podium" as a number, which other programs will not lock in PostgreSQL


class Database:
    """Transactions on SQLite or PostgreSQL.

    Nobody can change what a writing transaction has read. In SQLite it begins IMMEDIATE, so that no
    other process writes in between; in PostgreSQL it locks the session's row.
    """

    def __init__(
        self, url: str | os.PathLike[str], timeout: float = BUSY_SECONDS, durable: bool = False
    ) -> None:
        self.url = parse_url(url)
        host = self.url.host or self.url.query.get("host", "this machine")
        self.location = f"{self.url.database}" + ("" if self.is_sqlite else f" at {host}")
        self._write_lock = threading.Lock()
        self.engine = (
            _sqlite(self.url, timeout, durable)
            if self.is_sqlite
            else _postgresql(self.url, timeout)
        )

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that only reads; it sees one state of the database throughout."""
        with (
            self._explain_failure("the store could not be read"),
            self.engine.connect() as connection,
        ):
            if not self.is_sqlite:  # by default each statement sees its own state
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def writing(self, what: str, exclusive: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction that writes all or nothing; `what` names the data in error messages.

        With `exclusive` no other such transaction runs at the same time, also in PostgreSQL.
        """
        # Threads of one process wait here in turn, because SQLite's own waiting is unfair.
        turn = self._write_lock if self.is_sqlite else contextlib.nullcontext()
        with (
            self._explain_failure(f"{what} was not kept"),
            turn,
            self.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            if exclusive and not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            yield connection

    def back_up(self, version: int) -> str | None:
        """Copy an SQLite file as ``FILE.version-N.backup``, unless that is there; return its name.

        It has what was committed. A server of PostgreSQL makes its own backups.
        """
        if not self.is_sqlite:
            return None
        name = f"{self.url.database}.version-{version}.backup"
        if os.path.exists(name):
            return name
        with atomic_path(name) as temporary:
            os.chmod(temporary, PRIVATE_MODE)
            source = sqlite3.connect(str(self.url.database), timeout=BUSY_SECONDS)
            copy = sqlite3.connect(temporary)
            with contextlib.closing(source), contextlib.closing(copy):
                source.backup(copy)
        return name

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _explain_failure(self, outcome: str) -> Iterator[None]:
        try:
            yield
        except (exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
            text, reason, advice = _describe_failure(error)
            message = f"{outcome}: {text} ({self.location})" + (f"; {advice}" if advice else "")
            raise StoreError(message, reason) from error


_FAILURES: dict[str, tuple[StoreReason, str]] = {
    "locked": ("locked", "another process holds the database; try again, or close the other one"),
    "lock timeout": ("locked", "another process holds the session; try again"),
    "disk is full": ("full", "the disk is full; make room and send it again"),
    "disk I/O error": ("failed", "the disk cannot be written; it may be full or faulty"),
    "readonly": ("failed", "the file cannot be written; check the permissions of the file and "
                           "its folder"),
    "unable to open": ("failed", "there is no such folder, or the file cannot be opened"),
    "not a database": ("failed", "the file is not a store"),
    "malformed": ("failed", "the file is damaged; restore it from a copy"),
    "No space left": ("full", "the disk of the server is full; make room and send it again"),
    "connection": ("failed", "the server cannot be reached; try again when it is up"),
}  # fmt: skip
"""Part of a database's message -> the reason for programs, and advice for people."""


def _describe_failure(error: Exception) -> tuple[str, StoreReason, str]:
    """Return the database's text of an error, its reason, and what to do."""
    cause = getattr(error, "orig", None) or error
    text = " ".join(str(cause).split()) or type(cause).__name__
    matches = (failure for part, failure in _FAILURES.items() if part.lower() in text.lower())
    return text, *next(matches, ("failed", ""))


def parse_url(url: str | os.PathLike[str]) -> sa.URL:
    """Return the URL of a database; a path is an SQLite file, postgresql:// uses psycopg 3.

    Examples
    --------
    >>> parse_url("judgments.db").get_backend_name()
    'sqlite'
    >>> parse_url("postgresql://ann@db.example.org/judging").drivername
    'postgresql+psycopg'
    """
    text = os.fspath(url)
    if "://" not in text:
        return sa.URL.create("sqlite", database=str(Path(text)))
    try:
        parsed = sa.make_url(text)
    except exc.ArgumentError:
        raise UsageError(
            f"expected a file name, sqlite:///FILE or postgresql://USER@HOST/NAME, got {text!r:.80}"
        ) from None
    backend = {"postgres": "postgresql"}.get(parsed.get_backend_name(), parsed.get_backend_name())
    if backend == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise UsageError("a database in memory would lose judgments; use a file")
        return parsed.set(drivername="sqlite")
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    raise UsageError(f"expected a database of SQLite or PostgreSQL, got {backend!r}")


def _sqlite(url: sa.URL, timeout: float, durable: bool) -> sa.Engine:
    path = str(url.database)
    _make_file(path)
    engine = sa.create_engine(
        url,
        connect_args={"timeout": timeout, "isolation_level": None, "check_same_thread": False},
        pool_size=8,
        max_overflow=64,
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        _use_write_ahead_log(connection, timeout)
        _make_private(path)
        connection.execute("PRAGMA foreign_keys = ON")
        # NORMAL loses nothing if a program dies. FULL waits for the disk, and survives a power failure.
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _make_file(path: str) -> None:
    """Create a database file that only its owner can read; if this fails, SQLite reports why."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))


def _make_private(path: str) -> None:
    """Let only the owner read and write a database; for any other user, the mode does not change.

    SQLite gives new files ``-wal`` and ``-shm`` the mode of the database.
    """
    for name in (path, f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(os.stat(name).st_mode)
            if mode & ~PRIVATE_MODE:
                os.chmod(name, mode & PRIVATE_MODE)


def _use_write_ahead_log(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch a new file to WAL, so that readers and a writer do not wait for each other."""
    until = time.monotonic() + timeout
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:  # SQLite does not wait here by itself
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _postgresql(url: sa.URL, timeout: float) -> sa.Engine:
    require("psycopg", "web", "a store in PostgreSQL")
    milliseconds = round(timeout * 1000)
    settings = f"-c lock_timeout={milliseconds} -c application_name=podium"
    options = " ".join(filter(None, (url.query.get("options"), settings)))  # type: ignore[arg-type]
    arguments = {
        "options": options,
        "connect_timeout": max(2, round(timeout)),
        # A statement that was prepared on an empty table would read the whole table later.
        "prepare_threshold": None,
    }
    return sa.create_engine(
        url,
        connect_args=arguments,
        pool_size=8,
        max_overflow=64,
        pool_pre_ping=True,
    )
