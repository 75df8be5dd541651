"""What a loss of power leaves: the whole old file or the whole new one, and every acknowledged event."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from podium import Hide, export_model, make_synthetic, write_letor, write_rules
from podium.apps.cli.inputs.judgment_store import open_store
from podium.apps.judging.secret_files import secret_of
from podium.apps.serving.event_log import EventLog
from podium.data.atomic_files import atomic_writer
from podium.data.score_files import write_scores
from podium.experiments import save_figure
from podium.experiments.checkpoints import CheckpointStore
from podium.features import Index
from podium.feedback import make_log, read_ubi
from podium.feedback.feedback_files import save_feedback
from podium.labelling.store import Store
from tests.support.power_loss import watched
from tests.support.ranking_service import lines
from tests.support.small_rankers import cheap, small
from tests.support.stores import ANN, assert_is_its_replay, furnish, judge_all, rows


def save_model(path, n):
    cheap("ranksvm", C=float(n)).fit(small()).save(path)


def save_index(path, n):
    Index.build([{"id": "d1", "title": "chess clock"}, {"id": "d2", "title": "clock " * n}]).save(
        path
    )


def save_letor(path, n):
    write_letor(make_synthetic(n_queries=n, seed=n), path)


def save_parquet(path, n):
    make_synthetic(n_queries=n, seed=n).to_parquet(path)


def save_events(path, n):
    made = make_log(n_lists=n, seed=n)
    made.write(path.parent.parent / "log.ndjson")
    save_feedback(read_ubi(path.parent.parent / "log.ndjson"), path)


def save_rule_file(path, n):
    write_rules([Hide(f"d{n}", hard=True)], path)


def save_checkpoint(path, n):
    CheckpointStore(path.parent, dict[str, float]).save(
        path.stem, f"print {n}", {"NDCG@10": n / 10}
    )


def save_exported(path, n):
    export_model(cheap("ranksvm", C=float(n)).fit(small()), "json").save(path)


def save_plot(path, n):
    from matplotlib.figure import Figure

    figure = Figure((1, 1))
    figure.subplots().plot([0, n])
    save_figure(figure, path)


WRITERS = {
    "model.podium": save_model,
    "flight.index": save_index,
    "train.txt": save_letor,
    "train.txt.gz": save_letor,
    "train.parquet": save_parquet,
    "feedback.npz": save_events,
    "rules.yaml": save_rule_file,
    "cell.json": save_checkpoint,
    "model.json": save_exported,
    "plot.svg": save_plot,
    "scores.npy": lambda path, n: write_scores(np.arange(n), path),
    "scores.txt": lambda path, n: write_scores(np.arange(n), path),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_is_the_old_one_or_the_new_one(folder, monkeypatch, name, is_there):
    path, write = folder / name, WRITERS[name]
    if is_there:
        write(path, 2)
    old = path.read_bytes() if is_there else None
    with watched(folder, monkeypatch) as disk:
        write(path, 3)
        disk.promise("new")
    new, seen = path.read_bytes(), set()
    assert new != old
    for image, promised in disk.images():
        assert image.get(name) in ((new,) if promised else (old, new))
        seen.add(image.get(name))
    assert seen == {old, new}


def test_a_secret_is_whole_and_stays(folder, monkeypatch):
    store = str(folder / "judgments.db")
    with watched(folder, monkeypatch) as disk:
        secret = secret_of(store)
        disk.promise("made")
    for image, promised in disk.images():
        assert image.get("judgments.db.secret") in (
            f"{secret}\n".encode(),
            *(() if promised else (None,)),
        )


def rename_without_a_sync(path):
    path.with_name("new").write_bytes(b"new")
    os.replace(path.with_name("new"), path)


def write_in_place(path):
    descriptor = os.open(path, os.O_RDWR | os.O_TRUNC)
    os.write(descriptor, b"new")
    os.fsync(descriptor)
    os.close(descriptor)


def rename_without_a_sync_of_the_folder(path):
    with atomic_writer(path.with_name("new")) as write:
        write(b"new")
    os.replace(path.with_name("new"), path)


@pytest.mark.parametrize(
    ("write", "left"),
    [
        (rename_without_a_sync, {b"", b"n", b"old", b"new"}),
        (write_in_place, {b"", b"n", b"old", b"new"}),
        (rename_without_a_sync_of_the_folder, {b"old", b"new"}),
    ],
)
def test_the_simulation_sees_what_careless_writers_lose(folder, monkeypatch, write, left):
    path = folder / "file"
    path.write_bytes(b"old")
    with watched(folder, monkeypatch) as disk:
        write(path)
        disk.promise("new")
    images = list(disk.images())
    assert {image["file"] for image, _ in images} == left
    if write is not write_in_place:
        assert {image["file"] for image, promised in images if promised} >= {b"old", b"new"}


# --- events ---


def events_of(image):
    """The events in whole lines of all logs, and what else there is."""
    ends = [text.rpartition(b"\n")[0] for name, text in image.items() if name.endswith(".ndjson")]
    return {event["n"] for text in ends for event in lines(text.decode())}


def crashes(folder, monkeypatch, n=6, **options):
    """(events that are left, events that were acknowledged) of every crash."""
    with watched(folder, monkeypatch) as disk:
        log = EventLog(str(folder / "events.ndjson"), **options)
        for i in range(n):
            log.append([{"n": i, "text": "x" * 20}])
            disk.promise(i)
        log.close()
    return [(events_of(image), set(promised)) for image, promised in disk.images()]


@pytest.mark.parametrize("max_bytes", [0, 100])
def test_every_acknowledged_event_is_left(folder, monkeypatch, max_bytes):
    found = crashes(folder, monkeypatch, max_bytes=max_bytes)
    assert all(left >= acknowledged for left, acknowledged in found)
    assert set(range(6)) in [acknowledged for _, acknowledged in found]
    n_files = len(list(folder.iterdir()))
    assert n_files == (3 if max_bytes else 1)


@pytest.mark.parametrize("max_bytes", [0, 100])
def test_a_batch_loses_no_more_than_it_says(folder, monkeypatch, max_bytes):
    options = {"durability": "batch", "batch_events": 3, "batch_seconds": 1000}
    found = crashes(folder, monkeypatch, max_bytes=max_bytes, **options)
    lost = [len(acknowledged - left) for left, acknowledged in found]
    assert max(lost) == 3 - 1


def test_without_a_sync_events_are_lost(folder, monkeypatch):
    found = crashes(folder, monkeypatch, durability="off")
    assert max(len(acknowledged - left) for left, acknowledged in found) == 6


def test_a_line_that_was_cut_short_is_closed_by_the_next_event(folder, monkeypatch):
    with watched(folder, monkeypatch) as disk:
        EventLog(str(folder / "events.ndjson")).append([{"n": 0, "text": "x" * 20}])
    torn = {image.get("events.ndjson", b"") for image, _ in disk.images()}
    assert any(text and not text.endswith(b"\n") for text in torn)
    for text in torn:
        path = Path(folder / "after.ndjson")
        path.write_bytes(text)
        EventLog(str(path)).append([{"n": 1}])
        assert path.read_bytes().endswith(b'{"n":1}\n')
        assert path.read_bytes().splitlines()[-1] == b'{"n":1}'


# --- the store of judgments, whose files SQLite writes ---


def wal_after_each_event(path, durable, n=4):
    """The database, and its write-ahead log before the first event and after each."""
    with Store.open(path, durable=durable) as store:
        furnish(store)
        with store.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        logs = [b""]
        for _ in range(n):
            judge_all(store, "ann-q1", at_most=1)
            logs.append(path.with_name(f"{path.name}-wal").read_bytes())
        # All is in the log: the database itself is as it was, and its copy is that of every moment.
        return path.read_bytes(), logs


def n_events_left(folder, database, wal):
    path = folder / "after.db"
    path.write_bytes(database)
    path.with_name("after.db-wal").write_bytes(wal)
    with Store.open(path) as store:
        assert rows(store, sa.text("PRAGMA integrity_check")) == [("ok",)]
        assert_is_its_replay(store, ANN)
        return len(store.events("ann-q1"))


def unsynced(before, after):
    """What may be left of a log that grows, where the end is not synced: cut, or zeros instead."""
    for part in (0, 0.3, 0.7):
        end = len(before) + int(part * (len(after) - len(before)))
        yield after[:end]
        yield after[:end] + b"\0" * (len(after) - end)


def test_a_store_that_is_synced_keeps_every_judgment(folder, tmp_path):
    database, logs = wal_after_each_event(folder / "judgments.db", durable=True)
    for n, (before, after) in enumerate(itertools.pairwise(logs)):
        assert after.startswith(before)  # what was synced is not written again
        assert {n_events_left(tmp_path, database, log) for log in unsynced(before, after)} == {n}
        assert n_events_left(tmp_path, database, after) == n + 1


def test_a_store_that_is_not_synced_loses_the_last_judgments_and_is_whole(folder, tmp_path):
    database, logs = wal_after_each_event(folder / "judgments.db", durable=False)
    left = [n_events_left(tmp_path, database, log) for log in unsynced(b"", logs[-1])]
    assert set(left) < set(range(4))
    assert min(left) == 0


def test_the_command_line_opens_stores_that_sync(folder):
    with open_store(str(folder / "judgments.db"), make=True) as store:
        assert rows(store, sa.text("PRAGMA synchronous")) == [(2,)]  # FULL
        assert rows(store, sa.text("PRAGMA journal_mode")) == [("wal",)]
