"""Stores of older versions, of newer ones, and of something else."""

import sqlite3

import sqlalchemy as sa

from podium.labelling import (
    JudgedTopK,
    JudgingEvent,
    Judgment,
)
from podium.labelling.store import Store, StoreAdmin, tables
from podium.labelling.store.database import Database
from podium.labelling.store.migrations import MIGRATIONS, VERSION
from tests.support.stores import (
    ANN,
    assert_is_its_replay,
    furnish,
    judge_all,
    refuses,
    rows,
    run_processes,
)

FIRST_LAYOUT = [
    "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, what TEXT NOT NULL, applied BIGINT NOT NULL)",
    "INSERT INTO schema_versions VALUES (1, 'queries, documents, members, tasks, events', 1700000000000)",
    """CREATE TABLE queries (id TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL,
    description TEXT NOT NULL)""",
    """CREATE TABLE documents (query TEXT NOT NULL REFERENCES queries (id), id TEXT NOT NULL,
    place INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
    score DOUBLE PRECISION, PRIMARY KEY (query, id))""",
    "CREATE TABLE members (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL)",
    """CREATE TABLE tasks (number INTEGER PRIMARY KEY NOT NULL, id TEXT NOT NULL UNIQUE,
    query TEXT NOT NULL REFERENCES queries (id), assessor TEXT NOT NULL REFERENCES members (id),
    tool TEXT NOT NULL, documents TEXT NOT NULL, settings TEXT NOT NULL, UNIQUE (assessor, query, tool))""",
    """CREATE TABLE events (task INTEGER NOT NULL REFERENCES tasks (number), place INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, at BIGINT NOT NULL, received BIGINT NOT NULL,
    data TEXT NOT NULL, PRIMARY KEY (task, place))""",
    "INSERT INTO queries VALUES ('q', 0, 'jazz', '')",
    "INSERT INTO documents VALUES ('q', 'x', 0, 'text', '', 'Miles', NULL)",
    "INSERT INTO documents VALUES ('q', 'y', 1, 'text', '', 'Duke', 0.5)",
    "INSERT INTO documents VALUES ('q', 'z', 2, 'text', '', 'Bird', NULL)",
    "INSERT INTO members VALUES ('ann', '', 'assessor')",
    """INSERT INTO tasks VALUES (1, 's1', 'q', 'ann', 'preference', '["x","y","z"]',
    '{"k":1,"prior":null,"skip_implied":true,"strategy":"tournament"}')""",
    """INSERT INTO tasks VALUES (2, 's2', 'q', 'ann', 'grade', '["x","y","z"]',
    '{"grades":["Bad","Good"]}')""",
    """INSERT INTO events VALUES (1, 1, 'e1', 'judgment', 1000, 1001,
    '{"a":"x","answer":"<","b":"y","segments":[[0,900]]}')""",
    "INSERT INTO events VALUES (1, 2, 'e2', 'undo', 2000, 2001, '{}')",
    """INSERT INTO events VALUES (1, 3, 'e3', 'judgment', 3000, 3001,
    '{"a":"x","answer":">","b":"y","segments":[[2000,2700],[2600,2800]]}')""",
    """INSERT INTO events VALUES (1, 4, 'e4', 'judgment', 4000, 4001,
    '{"a":"z","answer":">","b":"x","segments":[[3000,3100]]}')""",
]


def in_first_layout(url):
    database = Database(url)
    with database.writing("the first layout") as connection:
        for statement in FIRST_LAYOUT:
            connection.exec_driver_sql(statement)
    database.close()


def test_a_store_of_the_first_version_is_migrated(store_url):
    in_first_layout(store_url)
    with Store.open(store_url) as store:
        versions = rows(store, sa.select(tables.schema_versions).order_by("version"))
        assert [(row.version, row.what) for row in versions] == [
            (i, step.what) for i, step in enumerate(MIGRATIONS, start=1)
        ]
        assert versions[0].applied == 1700000000000
        first, second = store.session_states()
        assert first.result == JudgedTopK((("z",),), 1, 2)
        assert (first.events, first.judged, first.active_ms, first.changed) == (
            4,
            2,
            900 + 800 + 100,
            4001,
        )
        assert (second.events, second.judged, second.remaining, second.result) == (0, 0, 3.0, None)
        log = store.judgments()
        assert log.answer.tolist() == [-1, 1, 1]
        assert log.undone.tolist() == [True, False, False]
        assert log.active_ms.tolist() == [900, 800, 100]
        assert log.flaws.tolist() == [0, 1, 0]
        assert (log.first.tolist(), log.second.tolist()) == ([0, 0, 2], [1, 1, 0])
        assert store.session("s1").judgments == (Judgment("x", "y", ">"), Judgment("z", "x", ">"))
        store.append(JudgingEvent("e5", "s2", "judgment", 0, {"document": "x", "grade": 1}))
        for state in store.session_states():
            assert_is_its_replay(store, state.task)
    with Store.open(store_url) as store:  # nothing more to do
        assert len(rows(store, sa.select(tables.schema_versions))) == VERSION


def undo_administration(store):
    """The statements that make a store of the third version again."""
    yield "DELETE FROM schema_versions WHERE version >= 4"
    yield "ALTER TABLE members DROP COLUMN machine"
    for table in ("guidelines", "settlements", "audit_log"):
        yield f"DROP TABLE {table}"
    if not store.database.is_sqlite:
        yield "DROP FUNCTION podium_refuse_audit_change"
    for table, column in (
        ("members", "disabled"), ("tasks", "priority"), ("tasks", "withdrawn"), ("events", "guidelines"),
    ):  # fmt: skip
        yield f"ALTER TABLE {table} DROP COLUMN {column}"


def test_a_store_of_the_third_version_keeps_everything(store, store_url):
    judge_all(store, "ann-q1")
    kept = (
        store.events("ann-q1"),
        store.results(),
        store.members(),
        store.judgments().answer.tolist(),
    )
    with store.database.writing("the third version") as connection:
        for statement in undo_administration(store):
            connection.exec_driver_sql(statement)
    store.close()
    with Store.open(store_url) as again:
        assert kept == (
            again.events("ann-q1"), again.results(), again.members(), again.judgments().answer.tolist()
        )  # fmt: skip
        assert_is_its_replay(again, ANN)
        assert set(again.judgments(details=True).guidelines.tolist()) == {0}
        assert (again.guidelines().version, again.settlements(), again.audit_log()) == (0, [], [])
        assert [state.priority for state in again.session_states()] == [0, 0, 0]
        StoreAdmin(again, "bob").disable_assessor("ann")
        assert [entry.number for entry in again.audit_log()] == [1]


def test_a_store_is_copied_before_it_is_migrated(tmp_path):
    path = tmp_path / "judgments.db"
    with Store.open(path) as store:
        furnish(store)
        judge_all(store, "ann-q1")
        kept = store.events("ann-q1")
        with store.database.writing("the third version") as connection:
            for statement in undo_administration(store):
                connection.exec_driver_sql(statement)
    assert not list(tmp_path.glob("*.backup"))
    with Store.open(path):
        pass
    copy = tmp_path / "judgments.db.version-3.backup"
    assert [file.name for file in tmp_path.glob("*.backup")] == [copy.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(copy) as old:
        assert old.execute("SELECT MAX(version) FROM schema_versions").fetchone() == (3,)
        assert old.execute("SELECT count(*) FROM events").fetchone() == (len(kept),)
    bytes_before = copy.read_bytes()
    with Store.open(path) as store:  # nothing to migrate, nothing to copy
        assert store.events("ann-q1") == kept
    assert copy.read_bytes() == bytes_before
    with Store.open(copy) as store:  # the copy is a store itself
        assert store.events("ann-q1") == kept


def test_times_of_the_second_version_are_bounded(store_url):
    with Store.open(store_url) as store:
        furnish(store)
        events = judge_all(store, "ann-q1", at_most=3)
        with store.database.writing("the second version") as connection:
            for statement in (
                *undo_administration(store),
                "DELETE FROM schema_versions WHERE version = 3",
                "DROP INDEX events_comments",
                "ALTER TABLE members DROP COLUMN generation",
                "UPDATE events SET active_ms = 1260000000",
                "UPDATE sessions SET active_ms = 3780000000",
            ):
                connection.exec_driver_sql(statement)
    with Store.open(store_url) as store:
        assert store.judgments().active_ms.tolist() == [250] * 3
        assert store.events("ann-q1") == events
        assert_is_its_replay(store, ANN)
        assert [member.generation for member in store.members()] == [0, 0, 0]


def test_a_new_store_has_the_tables_that_we_think(store_url):
    with Store.open(store_url) as store, store.database.reading() as connection:
        inspector = sa.inspect(connection)
        assert set(inspector.get_table_names()) == set(tables.metadata.tables)
        for name, table in tables.metadata.tables.items():
            columns = {c["name"]: c for c in inspector.get_columns(name)}
            assert list(columns) == [c.name for c in table.columns], name
            for column in table.columns:
                found = columns[column.name]
                assert found["nullable"] == (column.nullable and not column.primary_key) or (
                    name == "schema_versions"
                ), (name, column.name)
                assert found["type"]._type_affinity is column.type._type_affinity, (
                    name,
                    column.name,
                )
            key = inspector.get_pk_constraint(name)["constrained_columns"]
            assert key == [c.name for c in table.primary_key], name
            foreign = {tuple(k["constrained_columns"]) for k in inspector.get_foreign_keys(name)}
            assert foreign == {tuple(k.column_keys) for k in table.foreign_key_constraints}, name


def test_a_newer_store_is_refused_and_left_alone(store, store_url):
    with store.database.writing("the future") as connection:
        connection.execute(
            sa.insert(tables.schema_versions).values(version=VERSION + 1, what="more", applied=0)
        )
    refuses(
        lambda: Store.open(store_url),
        f"has version {VERSION + 1}, written by a newer podium; this podium reads up to version {VERSION}",
        "update",
    )
    assert len(rows(store, sa.select(tables.schema_versions))) == VERSION + 1


def test_tables_of_something_else_are_left_alone(store_url):
    database = Database(store_url)
    with database.writing("a foreign table") as connection:
        connection.exec_driver_sql("CREATE TABLE events (x INTEGER)")
    refuses(lambda: Store.open(store_url), "tables of another program", "events")
    with database.reading() as connection:
        assert sa.inspect(connection).get_table_names() == ["events"]
    database.close()


def test_a_migration_that_fails_changes_nothing(store_url):
    in_first_layout(store_url)
    database = Database(store_url)
    with database.writing("a mistake") as connection:
        connection.exec_driver_sql("UPDATE events SET data = '{}' WHERE id = 'e4'")
    refuses(lambda: Store.open(store_url), "event 'e4' of the store cannot be replayed")
    with database.writing("its repair") as connection:
        names = [c["name"] for c in sa.inspect(connection).get_columns("events")]
        assert names == ["task", "place", "id", "kind", "at", "received", "data"]
        connection.exec_driver_sql("DELETE FROM events WHERE id = 'e4'")
    database.close()
    with Store.open(store_url) as store:
        assert len(store.session("s1").judgments) == 1


def open_and_close(url):
    Store.open(url, timeout=60).close()


def test_processes_that_open_a_new_store_at_once(store_url):
    run_processes(open_and_close, [(store_url,)] * 3)
    with Store.open(store_url) as store:
        assert len(rows(store, sa.select(tables.schema_versions))) == VERSION
