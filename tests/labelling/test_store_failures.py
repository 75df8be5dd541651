"""A store that cannot be written, read or reached: what is said, and that nothing is half kept."""

import json
import os
import resource
import signal
import sqlite3
import sys

import psycopg
import pytest
import sqlalchemy as sa

from podium.apps.judging.refusals import unavailable
from podium.errors import (
    MissingExtraError,
    StoreError,
    UsageError,
    require,
)
from podium.labelling import (
    JudgingEvent,
)
from podium.labelling.store import Store, tables
from podium.labelling.store.database import parse_url
from tests.support import postgres
from tests.support.stores import (
    ANN,
    assert_is_its_replay,
    furnish,
    judge_all,
    judgment,
    refuses,
    rows,
    run_processes,
)


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/judgments.db"


def test_a_locked_database_says_that_the_judgment_was_not_kept(store, store_url):
    (first,) = judge_all(store, "ann-q1", at_most=1)
    with Store.open(store_url, timeout=0.2) as other:
        event = judgment("ann-q1", other.session("ann-q1").step, 1)
        with store.database.writing("nothing") as connection:
            connection.execute(sa.select(tables.sessions).with_for_update())
            error = refuses(
                lambda: other.append(event),
                f"judgment {event.id!r} was not kept",
                "lock",
                "try again",
            )
            assert error.reason == "locked"
            assert other.events("ann-q1") == [first]  # reading goes on
            assert len(other.session("ann-q1").judgments) == 1
        assert other.append(event).new
        assert other.events("ann-q1") == [first, event]
        assert_is_its_replay(other, ANN)


def test_a_full_disk_says_that_the_judgment_was_not_kept(sqlite_url):
    with Store.open(sqlite_url) as store:
        furnish(store)
        judge_all(store, "ann-q1", at_most=2)
        full = [True]

        @sa.event.listens_for(store.database.engine, "begin")
        def limit(connection):
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if full[0] else 2**30
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        event = JudgingEvent("big", "ann-q1", "comment", 0, {"text": "x" * 60_000})
        error = refuses(
            lambda: store.append(event), "comment 'big' was not kept", "full", "make room"
        )
        assert error.reason == "full"
        assert len(store.events("ann-q1")) == 2
        assert len(store.session("ann-q1").judgments) == 2
        full[0] = False
        assert store.append(event).new
        assert_is_its_replay(store, ANN)


def fill_the_disk(url, told):
    """Append until the file system refuses; then with room again."""
    with Store.open(url) as store, open(told, "w") as log:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = os.path.getsize(parse_url(url).database + "-wal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300_000, resource.RLIM_INFINITY))
        kept = 0
        try:
            for number in range(1000):
                event = JudgingEvent(
                    f"e{number}", "ann-q1", "comment", number, {"text": "x" * 20_000}
                )
                store.append(event)
                kept += 1
        except StoreError as error:
            log.write(json.dumps([kept, str(error)]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert store.append(event).new
        assert len(store.session("ann-q1").comments) == kept + 1


def test_a_file_system_that_refuses_to_write(sqlite_url, tmp_path):
    with Store.open(sqlite_url) as store:
        furnish(store)
        run_processes(fill_the_disk, [(sqlite_url, tmp_path / "told")])
        kept, said = json.loads((tmp_path / "told").read_text())
        assert kept > 0
        assert f"comment 'e{kept}' was not kept" in said
        assert [event.id for event in store.events("ann-q1")] == [f"e{i}" for i in range(kept + 1)]


def test_a_database_that_fails_in_the_middle_keeps_nothing(store):
    """The event is written, where the session stands is not: neither is there afterwards."""
    (first,) = judge_all(store, "ann-q1", at_most=1)
    event = judgment("ann-q1", store.session("ann-q1").step, 1)
    broken = [True]

    @sa.event.listens_for(store.database.engine, "before_cursor_execute")
    def fail(connection, cursor, statement, *_):
        if broken[0] and statement.startswith("UPDATE sessions"):
            raise sa.exc.OperationalError(statement, {}, sqlite3.OperationalError("disk I/O error"))

    refuses(lambda: store.append(event), "was not kept: disk I/O error")
    assert store.events("ann-q1") == [first]
    assert len(store.session("ann-q1").judgments) == 1
    broken[0] = False
    assert store.append(event).new
    assert_is_its_replay(store, ANN)


def test_connections_that_were_cut_are_made_again(postgres_server):
    postgres.create(postgres_server, "cut")
    with Store.open(postgres_server.format(name="cut")) as store:
        furnish(store)
        judge_all(store, "ann-q1", at_most=2)
        with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'"
            )
        judge_all(store, "ann-q1", at_most=1)
        assert len(store.session("ann-q1").judgments) == 3


def test_an_event_that_cannot_be_replayed_is_named(store, store_url):
    judge_all(store, "ann-q1", at_most=2)
    with store.database.writing("a mistake") as connection:
        wrong = json.dumps({"a": "d00", "b": "d00", "answer": ">"})
        where = tables.events.c.place == 2
        connection.execute(sa.update(tables.events).where(where).values(data=wrong))
    with Store.open(store_url) as other:
        refuses(lambda: other.session("ann-q1"), "event 'ann-q1-1' of the store cannot be replayed")
        refuses(lambda: other.append(JudgingEvent("e", "ann-q1", "pause", 0)), "cannot be replayed")


@pytest.mark.parametrize(
    "content", [b"not a database, by any means" * 99, b"SQLite format 3\0" + b"x" * 4096]
)
def test_a_file_that_is_something_else_is_refused(tmp_path, content):
    path = tmp_path / "judgments.db"
    path.write_bytes(content)
    refuses(lambda: Store.open(path), str(path), "the file is not a store")
    assert path.read_bytes() == content


def test_a_path_is_no_reason(tmp_path):
    """Whatever words are in the name of the file."""
    path = tmp_path / "fulltext locked, no space left.db"
    with Store.open(path) as store:
        furnish(store)
        broken = sqlite3.OperationalError("attempt to write a readonly database")

        @sa.event.listens_for(store.database.engine, "before_cursor_execute")
        def fail(connection, cursor, statement, *_):
            if statement.startswith("INSERT INTO events"):
                raise sa.exc.OperationalError(statement, {}, broken)

        event = JudgingEvent("e", "ann-q1", "pause", 0)
        error = refuses(lambda: store.append(event), "readonly", "fulltext", "cannot be written")
        assert error.reason == "failed"
        assert unavailable(error).code == "store_unavailable"
    assert StoreError("the store is gone").reason == "failed"


def test_a_folder_that_is_not_there(tmp_path):
    refuses(lambda: Store.open(tmp_path / "none" / "judgments.db"), "there is no such folder")


def test_a_server_that_is_not_there(tmp_path):
    url = f"postgresql://ann:secret@/judging?host={tmp_path}"
    error = refuses(
        lambda: Store.open(url, timeout=1), "was not kept", "the server cannot be reached"
    )
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "://", "redis://localhost"]
)
def test_urls_that_are_no_store(url):
    with pytest.raises(UsageError, match=r"expected|use a file"):
        Store.open(url)


def test_without_sqlalchemy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"podium-ltr\[web\]"):
        require("sqlalchemy", "web", "a store of judgments")


def test_durable_waits_for_the_disk(tmp_path):
    for durable, level in ((False, 1), (True, 2)):
        with Store.open(tmp_path / f"{durable}.db", durable=durable) as store:
            assert rows(store, sa.text("PRAGMA synchronous")) == [(level,)]
            assert rows(store, sa.text("PRAGMA journal_mode")) == [("wal",)]
