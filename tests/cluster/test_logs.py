"""Feedback logs on workers: the feedback that one process reads, whichever files its lists are in."""

import json

import numpy as np
import pytest

import podium
from podium.errors import EmptyDataError, MalformedLineError
from podium.feedback import make_log, read_ubi
from podium.feedback.logs_on_workers import _leave_out
from tests.support.cli import answer, run


def write_files(folder, lines, ends):
    """Write lines into files that end before these numbers of lines."""
    paths = []
    for number, own in enumerate(np.split(np.array(lines, dtype=object), ends)):
        paths.append(folder / f"day{number}.ndjson")
        paths[-1].write_text("".join(f"{line}\n" for line in own))
    return paths


def log_lines(bulk=False, seed=0):
    """The records of a log in the order of their times, with lines that are wrong."""
    lines = list(make_log(n_lists=40, seed=seed).lines(bulk=bulk))
    return [
        *lines[:30],
        "no JSON",
        json.dumps({"action_name": "hover", "query_id": "7"}),
        *lines[30:],
    ]


def assert_same(one, other):
    assert list(one.query_ids) == list(other.query_ids)
    assert list(one.docids) == list(other.docids)
    assert one.list_sums.sums.tobytes() == other.list_sums.sums.tobytes()
    assert one.list_sums.places.tobytes() == other.list_sums.places.tobytes()
    assert one.alphas.tobytes() == other.alphas.tobytes()
    assert one.counts == other.counts


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_lists_may_be_in_several_files(client, tmp_path, bulk, seed):
    lines = log_lines(bulk, seed)
    ends = np.sort(np.random.default_rng(seed).choice(np.arange(2, len(lines)), 3, replace=False))
    ends -= [bulk and lines[end - 1].startswith('{"index"') for end in ends]  # with its record
    # Some lines are there twice: duplicates, also across files.
    paths = write_files(tmp_path, [*lines, *lines[20:24]], ends)
    seen = []
    with podium.use(client):
        there = read_ubi(paths, progress=seen.append)
    here = read_ubi(paths)
    assert there.counts.duplicates > 0
    assert_same(there, here)
    assert sum(seen) == sum(path.stat().st_size for path in paths)


def test_user_classes_count_across_files(client, tmp_path):
    paths = write_files(tmp_path, log_lines(), [101, 202])
    classes = {f"u{number}": "novice" for number in range(30)}
    with podium.use(client):
        there = read_ubi(paths, user_class=classes)
    assert_same(there, read_ubi(paths, user_class=classes))


def test_queries_and_events_in_files_of_their_own_are_read_here(client, tmp_path):
    lines = log_lines()
    queries = [line for line in lines if "action_name" not in line]
    events = [line for line in lines if "action_name" in line]
    paths = write_files(tmp_path, [*queries, *events], [len(queries)])
    seen = []
    with podium.use(client):
        there = read_ubi(paths, progress=seen.append)
    assert_same(there, read_ubi(paths))
    assert sum(seen) == sum(path.stat().st_size for path in paths)


def test_the_first_error_is_that_of_one_process(client, tmp_path):
    lines = log_lines()
    paths = write_files(tmp_path, [*lines, "{", *lines[:40], "["], [5, 31, 90])
    with podium.use(client), pytest.raises(MalformedLineError) as there:
        read_ubi(paths, strict=True)
    with pytest.raises(MalformedLineError) as here:
        read_ubi(paths, strict=True)
    assert str(there.value) == str(here.value)
    assert "day1.ndjson:26" in str(here.value)


def test_a_log_without_records_is_the_same_error(client, tmp_path):
    paths = write_files(tmp_path, ["no", "JSON"], [1])
    with podium.use(client), pytest.raises(EmptyDataError) as there:
        read_ubi(paths)
    with pytest.raises(EmptyDataError) as here:
        read_ubi(paths)
    assert str(there.value) == str(here.value)


def test_lines_of_shared_lists_are_taken_with_their_action_lines():
    action, last = '{"index": {"_index": "ubi_events", "_id": "1"}}', '{"index": {"_index": "x"}}'
    hit = '{"_index": "ubi_queries", "_source": {"query_id": "b", "user_query": "x"}}'
    lines = [
        action, '{"query_id": "a"}', "", None, action, '{"query_id": "b"}', hit, "?",
        '{"action_name": "click", "query_id": 3}', last,
    ]  # fmt: skip
    taken = []
    left = list(_leave_out({"b", "3"}, lines, taken))
    assert taken == [action, '{"query_id": "b"}', hit, '{"action_name": "click", "query_id": 3}']
    assert left == [action, '{"query_id": "a"}', "", None, "?", last]


def test_the_command_summarises_files_on_a_cluster(client, tmp_path):
    paths = write_files(tmp_path, log_lines(), [60, 190])
    there = answer("feedback", "summarise", *paths, "--cluster", client.scheduler.address)
    assert there == answer("feedback", "summarise", *paths)
    result = run("feedback", "summarise", paths[0], "--cluster", "local:1", code=2)
    assert "expected several files with --cluster" in result.stderr
