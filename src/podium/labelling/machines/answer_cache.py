"""AnswerCache: every call and every answer in a file, so that paid work is not done twice."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import Any, Self

from podium.data.atomic_files import lock
from podium.errors import StoreError
from podium.labelling.machines.call_budget import Spending
from podium.typing import Path_

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL, model TEXT NOT NULL, at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS calls (
    number INTEGER PRIMARY KEY NOT NULL, key TEXT NOT NULL, campaign TEXT NOT NULL,
    started INTEGER NOT NULL, outcome TEXT, seconds REAL NOT NULL DEFAULT 0,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_campaign ON calls (campaign);
"""

ANSWERED = "answered"
"""The outcome of a call whose answer is in the cache."""


@dataclass(frozen=True)
class CachedAnswer:
    """The text of an answer, and the model that wrote it."""

    text: str
    model: str


def content_key(body: Mapping[str, Any], repetition: int) -> str:
    """Return the key of a question: a hash of the request's body and the number of the repetition.

    Examples
    --------
    >>> content_key({"model": "m"}, 0) == content_key({"model": "m"}, 1)
    False
    """
    text = json.dumps([dict(body), repetition], sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


class AnswerCache:
    """Answers by content, and a log of calls, in a file that only its owner can read.

    A call is logged before it is made, and its answer is synced to the disk before anybody uses it. So
    after a kill, a logged call without an outcome was on its way; it is counted with its estimate.

    One process uses a cache at a time.

    Examples
    --------
    >>> import tempfile
    >>> with AnswerCache(tempfile.mkdtemp() + "/answers.db") as cache:
    ...     number = cache.begin_call("key", "campaign", Spending(1, 100, 20))
    ...     cache.end_call(number, "answered", 0.5, Spending(1, 90, 9), CachedAnswer("yes", "small"))
    ...     cache.answer("key"), cache.spending("campaign"), cache.outcomes("campaign")
    (CachedAnswer(text='yes', model='small'), Spending(calls=1, tokens_in=90, tokens_out=9), {'answered': 1})
    """

    def __init__(self, path: Path_) -> None:
        self.path = os.fspath(path)
        self._lock = threading.Lock()
        self._lock_file = self._take(f"{self.path}.lock")
        try:
            self._connection = self._open()
        except BaseException:
            os.close(self._lock_file)
            raise

    def _take(self, path: str) -> int:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(
                f"the cache of answers cannot be opened: {error.strerror} ({path})"
            ) from None
        if not lock(descriptor, wait=False) and os.name != "nt":
            os.close(descriptor)
            raise StoreError(
                f"another process uses the cache of answers {self.path}; wait until it ends",
                "locked",
            )
        return descriptor

    def _open(self) -> sqlite3.Connection:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            connection = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, timeout=10
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_TABLES)
        except sqlite3.Error as error:
            raise self._error(error) from error
        return connection

    def _error(self, error: sqlite3.Error) -> StoreError:
        full = "full" in str(error)
        reason = f"{error} ({self.path})" + ("; the disk is full; make room" if full else "")
        return StoreError(f"the cache of answers failed: {reason}", "full" if full else "failed")

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to one thread; all statements of the block are one transaction."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._error(error) from error

    def answer(self, key: str) -> CachedAnswer | None:
        """Return the answer to a question, or None."""
        with self._using() as connection:
            row = connection.execute(
                "SELECT text, model FROM answers WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else CachedAnswer(*row)

    def begin_call(self, key: str, campaign: str, estimate: Spending) -> int:
        """Log a call that is about to be made; return its number."""
        values = (key, campaign, _now(), estimate.tokens_in, estimate.tokens_out)
        with self._using() as connection:
            cursor = connection.execute(
                "INSERT INTO calls (key, campaign, started, tokens_in, tokens_out) "
                "VALUES (?, ?, ?, ?, ?)", values,
            )  # fmt: skip
            return int(cursor.lastrowid or 0)

    def end_call(
        self,
        number: int,
        outcome: str,
        seconds: float,
        spending: Spending,
        answer: CachedAnswer | None = None,
    ) -> None:
        """Log the outcome of a call, and its answer, in one transaction."""
        with self._using() as connection:
            connection.execute(
                "UPDATE calls SET outcome = ?, seconds = ?, tokens_in = ?, tokens_out = ? "
                "WHERE number = ?",
                (outcome, seconds, spending.tokens_in, spending.tokens_out, number),
            )
            if answer is not None:
                connection.execute(
                    "INSERT OR IGNORE INTO answers SELECT key, ?, ?, ? FROM calls WHERE number = ?",
                    (answer.text, answer.model, _now(), number),
                )

    def spending(self, campaign: str) -> Spending:
        """Return what all calls of a campaign took; calls without an outcome with their estimates."""
        with self._using() as connection:
            row = connection.execute(
                "SELECT count(*), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0) "
                "FROM calls WHERE campaign = ?", (campaign,),
            ).fetchone()  # fmt: skip
        return Spending(*row)

    def outcomes(self, campaign: str) -> dict[str, int]:
        """Return the number of calls by outcome; ``"lost"`` are those that a kill interrupted."""
        with self._using() as connection:
            rows = connection.execute(
                "SELECT coalesce(outcome, 'lost'), count(*) FROM calls WHERE campaign = ? GROUP BY 1",
                (campaign,),
            ).fetchall()
        return dict(sorted(Counter(dict(rows)).items()))

    def close(self) -> None:
        """Close the file; other processes may use it then."""
        self._connection.close()
        os.close(self._lock_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        self.close()


def _now() -> int:
    return time.time_ns() // 1_000_000
