"""Sessions from logs: columns by hand, any order, and a count for everything that is wrong."""

import csv
import json

import numpy as np
import pytest

import podium
from podium.clicks import SessionChecks, read_sessions, save_sessions, simulate
from podium.errors import CorruptFileError, MalformedLineError, UnknownNameError, UsageError
from podium.feedback import make_log

T0 = 1_741_000_000_000


def query(query_id="1", hits=None, text="shoes", user="u", at=0, **attributes):
    record = {"query_id": query_id, "user_query": text, "client_id": user, "timestamp": T0 + at,
              "query_attributes": attributes}  # fmt: skip
    return record if hits is None else {**record, "query_response_hit_ids": hits}


def event(action, document, place=None, at=0, query_id="1", **top):
    attributes = {"object": {"object_id": document}}
    if place is not None:
        attributes["position"] = {"ordinal": place}
    return {"action_name": action, "query_id": query_id, "timestamp": T0 + at,
            "event_attributes": attributes, **top}  # fmt: skip


def shown(*documents, query_id="1", first=1):
    return [event("impression", d, i, i, query_id) for i, d in enumerate(documents, start=first)]


def read(tmp_path, *records, **options):
    path = tmp_path / "log.ndjson"
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return read_sessions(path, **options)


def rows(sessions, session=0):
    part = slice(*sessions.groups.offsets[session : session + 2])
    docs = [sessions.doc.table[c] for c in sessions.doc.codes[part]]
    return list(zip(docs, sessions.click_order[part].tolist(), strict=True))


def same(a, b):
    assert a.counts.set_aside == b.counts.set_aside
    assert a.groups == b.groups
    for name in ("query", "doc", "variant", "user_class"):
        assert getattr(a, name).table == getattr(b, name).table
        assert (getattr(a, name).codes == getattr(b, name).codes).all()
    assert a.click_order.tobytes() == b.click_order.tobytes()
    assert a.time.tobytes() == b.time.tobytes()


def test_a_session_is_its_events(tmp_path):
    sessions = read(
        tmp_path, query(variant="new", user_class="novice"), *shown("a", "b", "c"),
        event("click", "c", 3, 900), event("click", "a", 1, 2000), event("click", "c", 3, 5000),
        event("page_exit", "c", 3, 6000),
    )  # fmt: skip
    assert rows(sessions) == [("a", 2), ("b", 0), ("c", 1)]
    assert sessions.query.table == ("shoes",)
    assert (sessions.variant.table, sessions.user_class.table) == (("new",), ("novice",))
    assert sessions.time.tolist() == [T0 / 1000]
    assert sessions.counts.set_aside == {}


def test_positions_may_count_from_zero(tmp_path):
    assert rows(read(tmp_path, query(), *shown("a", "b", first=0))) == [("a", 0), ("b", 0)]


def test_hits_fill_lists(tmp_path):
    only_hits = read(tmp_path, query(hits=["a", "b", "c"]), event("click", "b", 2))
    assert rows(only_hits) == [("a", 0), ("b", 1), ("c", 0)]
    # Impressions of a and c were logged, and d was clicked: e may not have been seen.
    some = read(tmp_path, query(hits=[*"abcde"]), event("impression", "a", 1), event("impression", "c", 3),
                event("click", "d", 4))  # fmt: skip
    assert rows(some) == [("a", 0), ("b", 0), ("c", 0), ("d", 1)]


def test_base_positions(tmp_path):
    records = [query(), *shown("b", "a")]
    for record, base in zip(records[1:], (2, 1), strict=True):
        record["event_attributes"]["position"]["base"] = base
    assert read(tmp_path, *records).base_positions.tolist() == [2, 1]


def test_neither_order_nor_form_nor_repeats_matter(tmp_path):
    log = make_log(n_lists=60, user_class="x", seed=3)
    (tmp_path / "again").mkdir()
    plain = read(tmp_path, *log.lines())
    same(plain, read(tmp_path, *reversed(list(log.lines()))))
    same(plain, read(tmp_path, *log.lines(bulk=True)))
    lines = list(log.lines())
    repeated = read(tmp_path, *lines, *lines[:50])
    same(plain, repeated)
    repeats = sum("impression" in line or '"click"' in line for line in lines[:50])
    assert repeated.counts.duplicates == repeats
    hits = [
        json.dumps({"_id": str(i), "_source": json.loads(line)}) for i, line in enumerate(lines)
    ]
    same(plain, read(tmp_path, *hits))
    # Values as text, and broken lines, are read line by line.
    text = [
        json.dumps(json.loads(line) | {"timestamp": json.loads(line)["timestamp"]})
        for line in lines
    ]
    broken = read(tmp_path, *text, "{not json", '{"action_name": "click"}', "[1]")
    same(plain, broken)
    assert broken.counts.malformed == 3
    assert len(plain) == 60
    assert plain.counts.records == len(lines)


@pytest.mark.parametrize(
    ("reason", "records"),
    [
        ("missing_positions", [query(), event("impression", "a"), event("impression", "b")]),
        ("missing_positions", [query(), event("click", "a", 1)]),
        ("repeated_positions", [query(), event("impression", "a", 1), event("impression", "b", 1)]),
        ("repeated_positions", [query(), *shown("a", "b"), event("impression", "a", 2)]),
        ("position_gaps", [query(), event("impression", "a", 1), event("impression", "b", 3)]),
        ("positions_beyond_list", [query(hits=["a", "b"]), event("impression", "b", 57)]),
        ("positions_beyond_list", [query(), event("impression", "b", 10_000)]),
        ("unshown_clicks", [query(), *shown("a"), event("click", "z", 2)]),
        ("clock_errors", [query(at=60_000), *shown("a"), event("click", "a", 1, 2000)]),
        ("missing_query", [query(text=None), *shown("a")]),
        ("clicks_on_everything", [query(), *shown(*"abcde"), *(event("click", d, 1) for d in "abcde")]),
    ],
)  # fmt: skip
def test_impossible_sessions_are_set_aside(tmp_path, reason, records):
    good = [
        query("2", text="tea"),
        *shown("x", "y", query_id="2"),
        event("click", "y", 2, query_id="2"),
    ]
    sessions = read(tmp_path, *records, *good)
    assert sessions.counts.set_aside == {reason: 1}
    assert rows(sessions) == [("x", 0), ("y", 1)]
    assert sessions.counts.messages[0].startswith("1 session set aside: ")
    assert "50% of the sessions were set aside" in sessions.counts.messages[1]


def test_bots_are_set_aside(tmp_path):
    log = [r for i in range(30) for r in
           (query(str(i), user="bot", at=i * 1000), *shown("a", query_id=str(i)))]  # fmt: skip
    log += [query("x", user="ann", text="tea"), *shown("a", query_id="x")]
    sessions = read(tmp_path, *log, checks=SessionChecks(max_user_sessions=20))
    assert sessions.counts.set_aside == {"busy_users": 30}
    assert len(sessions) == 1


def test_sessions_under_two_ids_count_once(tmp_path):
    one = [query("1"), *shown("a", "b"), event("click", "b", 2, 500)]
    two = [json.loads(json.dumps(r).replace('"query_id": "1"', '"query_id": "2"')) for r in one]
    other = [
        query("3", user="ann"),
        *shown("a", "b", query_id="3"),
        event("click", "b", 2, 500, "3"),
    ]
    sessions = read(tmp_path, *one, *two, *other)
    assert (len(sessions), sessions.counts.set_aside) == (2, {"duplicate_sessions": 1})


def test_a_dominant_query_is_reported(tmp_path):
    log = [r for i in range(10) for r in (query(str(i), text="tea" if i else "shoes", user=str(i), at=i),
                                          *shown("a", query_id=str(i)))]  # fmt: skip
    message = "the query 'tea' has 90% of the sessions"
    assert any(m.startswith(message) for m in read(tmp_path, *log).counts.messages)


# --- tables


@pytest.fixture(scope="module")
def simulated():
    data = podium.make_synthetic(n_queries=9, n_docs=(2, 7), n_features=3, seed=1)
    return simulate(data, {"a": 0, "b": 1}, {"x": "dbn", "y": "pbm"}, 150, seed=1, swap=0.1)


def table_of(sessions):
    groups = sessions.groups
    for row in range(groups.n_rows):
        s = groups.codes[row]
        yield {
            "session_id": f"s{s}", "query": sessions.query.table[sessions.query.codes[s]],
            "doc_id": sessions.doc.table[sessions.doc.codes[row]], "position": groups.places[row] + 1,
            "clicked": int(sessions.click_order[row]), "timestamp": sessions.time[s],
            "variant": sessions.variant.table[sessions.variant.codes[s]],
            "segment": sessions.user_class.table[sessions.user_class.codes[s]],
            "base_position": sessions.base_positions[row],
        }  # fmt: skip


def write_csv(path, records, separator=","):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(records)


def test_tables_are_read_as_they_were_written(tmp_path, simulated):
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = list(table_of(simulated))
    write_csv(tmp_path / "log.csv", records)
    write_csv(tmp_path / "log.tsv", records[::-1], "\t")
    pq.write_table(pa.Table.from_pylist([{k: getattr(v, "item", lambda v=v: v)() for k, v in r.items()}
                                         for r in records]), tmp_path / "log.parquet")  # fmt: skip
    for name in ("log.csv", "log.tsv", "log.parquet"):
        sessions = read_sessions(tmp_path / name)
        same(simulated, sessions)
        assert (sessions.base_positions == simulated.base_positions).all()
        assert sessions.counts.records == len(records)


def test_columns_by_other_names(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("sid,q,d,pos,c\n1,tea,a,1,no\n1,tea,b,2,yes\n,tea,b,2,0\n")
    names = {"session": "sid", "query": "q", "doc": "d", "position": "pos", "clicked": "c"}
    sessions = read_sessions(path, columns=names)
    assert rows(sessions) == [("a", 0), ("b", 1)]
    assert sessions.counts.malformed == 1
    with pytest.raises(MalformedLineError, match="expected columns session, query"):
        read_sessions(path)
    with pytest.raises(UnknownNameError, match="'sidd'"):
        read_sessions(path, columns={**names, "session": "sidd"})
    with pytest.raises(UnknownNameError, match="'sesion'"):
        read_sessions(path, columns={"sesion": "sid"})


def test_saved_sessions_are_read(tmp_path, simulated):
    save_sessions(simulated, tmp_path / "log.clicks")
    same(simulated, read_sessions(tmp_path / "log.clicks"))


def test_wrong_files_are_refused(tmp_path, simulated):
    with pytest.raises(UsageError, match="there is no log"):
        read_sessions([])
    (tmp_path / "log.parquet").write_bytes(b"no parquet")
    with pytest.raises(CorruptFileError, match="Parquet"):
        read_sessions(tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text("session_id,query,doc,position,clicked\n1,tea,a,1\n")
    with pytest.raises(MalformedLineError, match="expected 5 fields, got 4"):
        read_sessions(tmp_path / "log.csv")
    save_sessions(simulated, tmp_path / "log.clicks")
    with pytest.raises(UsageError, match="alone"):
        read_sessions([tmp_path / "log.clicks", tmp_path / "log.csv"])
    empty = tmp_path / "empty.ndjson"
    empty.write_text("")
    sessions = read_sessions(empty)
    assert len(sessions) == 0
    assert np.asarray(sessions.click_order).tolist() == []
    with pytest.raises(UsageError):
        SessionChecks(max_position=0)


# --- faults of one session


def table(tmp_path, text, name="log.csv"):
    (tmp_path / name).write_text(text)
    return read_sessions(tmp_path / name)


def test_sessions_of_unknown_users_are_no_duplicates(tmp_path):
    rows_of = [f"s{i},tea,d{p},{p},0,2026-03-01" for i in range(5) for p in (1, 2)]
    text = "session,query,doc,position,clicked,time\n" + "\n".join(rows_of) + "\n"
    sessions = table(tmp_path, text)
    assert (len(sessions), sessions.counts.set_aside) == (5, {})
    log = [{k: v for k, v in r.items() if k != "client_id"} for i in range(5)
           for r in (query(str(i)), *shown("a", "b", query_id=str(i)))]  # fmt: skip
    assert len(read(tmp_path, *log)) == 5


def test_a_file_counts_positions_from_zero_not_a_list(tmp_path):
    log = [r for i in range(5) for r in (query(str(i), user=str(i), at=i),
                                         *shown(*"abc", query_id=str(i), first=0))]  # fmt: skip
    lost = [r for r in log if r is not log[1]]  # the impression of a at position 0 in list 0
    sessions = read(tmp_path, *lost)
    assert (len(sessions), sessions.counts.set_aside) == (4, {"position_gaps": 1})
    # A list at 0 among lists from 1 on is wrong. Another file, or variant, may count in another way.
    one = [r for i in range(5, 9) for r in (query(str(i), user=str(i), at=i, variant="new"),
                                            *shown(*"abc", query_id=str(i)))]  # fmt: skip
    odd = [query("9", at=9, variant="new"), *shown("a", "b", query_id="9", first=0)]
    both = read(tmp_path, *log, *one, *odd)
    assert (len(both), both.counts.set_aside) == (9, {"missing_positions": 1})
    (tmp_path / "a.csv").write_text("session,query,doc,position,clicked\n1,q,x,0,0\n1,q,y,1,1\n")
    (tmp_path / "b.csv").write_text("session,query,doc,position,clicked\n2,q,x,1,0\n2,q,y,2,1\n")
    assert len(read_sessions([tmp_path / "a.csv", tmp_path / "b.csv"])) == 2


def test_one_missing_base_position_costs_one_session(tmp_path):
    head = "session,query,doc,position,clicked,base_position\n"
    rows_of = [f"s{i},q{i},a,1,0,2\ns{i},q{i},b,2,0,{'' if i == 2 else 1}\n" for i in range(4)]
    sessions = table(tmp_path, head + "".join(rows_of))
    assert sessions.base_positions.reshape(4, 2).tolist() == [[2, 1], [2, 1], [0, 0], [2, 1]]
    assert sessions.has_base.tolist() == [True, True, False, True]
    assert sessions.counts.without_base_positions == 1
    assert any("of no use to the method swaps: 1" in m for m in sessions.counts.messages)
    save_sessions(sessions, tmp_path / "log.clicks")
    again = read_sessions(tmp_path / "log.clicks")
    assert (again.base_positions == sessions.base_positions).all()
    # Bases that count from 0, of which one list has lost the first.
    zero = [f"s{i},q{i},a,1,0,1\ns{i},q{i},b,2,0,{2 * (i == 2)}\n" for i in range(4)]
    bases = table(tmp_path, head + "".join(zero)).base_positions.reshape(4, 2).tolist()
    assert bases == [[2, 1], [2, 1], [2, 3], [2, 1]]


@pytest.mark.parametrize("bases", [("7", "7"), ("-3", "1"), ("2.5", "1"), ("1e300", "1")])
def test_wrong_base_positions_are_set_aside(tmp_path, bases):
    text = (
        "session,query,doc,position,clicked,base_position\n"
        f"s1,q,a,1,0,{bases[0]}\ns1,q,b,2,0,{bases[1]}\ns2,q,a,1,0,1\ns2,q,b,2,0,2\n"
    )
    sessions = table(tmp_path, text)
    assert sessions.counts.set_aside == {"wrong_base_positions": 1}
    assert sessions.base_positions.tolist() == [1, 2]


@pytest.mark.parametrize("clicked", ["x", "-1", "0.5", "inf"])
def test_malformed_clicks_are_set_aside(tmp_path, clicked):
    text = f"session,query,doc,position,clicked\ns1,q,a,1,{clicked}\ns1,q,b,2,0\ns2,q,a,1,2\n"
    sessions = table(tmp_path, text)
    assert sessions.counts.set_aside == {"malformed_clicks": 1}
    assert rows(sessions) == [("a", 1)]


def test_unknown_users_and_quick_repeats_are_said(tmp_path):
    log = [
        r for i, (user, at) in enumerate([("ann", 0), ("ann", 500), ("ann", 60_000), (None, 0)])
        for r in (query(str(i), user=user, at=at), *shown("a", "b", query_id=str(i)),
                  event("click", "a", at=at + 5, query_id=str(i)))
    ]  # fmt: skip
    counts = read(tmp_path, *log).counts
    assert (counts.sessions, counts.without_user, counts.quick_repeats) == (4, 1, 1)
    text = "; ".join(counts.messages)
    assert "sessions of unknown users: 1; bots among them are not noticed" in text
    assert "within ten seconds: 1; if they are reloads" in text
