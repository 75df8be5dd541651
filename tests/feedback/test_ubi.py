"""Reading UBI logs: factors as arithmetic, whatever the order, the form and the faults of a log."""

import contextlib
import gzip
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import (
    EmptyDataError,
    MalformedLineError,
    PodiumError,
    UnknownNameError,
    UsageError,
)
from podium.feedback import (
    ACTIONS,
    FACTORS,
    UbiReader,
    make_log,
    parse_ubi,
    read_classes,
    read_ubi,
)
from podium.feedback.ubi_fields import number_of
from tests.support.case_counts import soak_cases

NAN = float("nan")
T0 = 1_741_000_000_000


def query(query_id="1", hits=None, **more):
    record = {"query_id": query_id, "user_query": "shoes", "timestamp": T0, **more}
    return record if hits is None else {**record, "query_response_hit_ids": hits}


def event(action, document=None, place=None, at=0, query_id="1", more=None, **top):
    """An event `at` milliseconds after the query."""
    attributes = dict(more or {})
    if document is not None:
        attributes["object"] = {"object_id": document}
    if place is not None:
        attributes["position"] = {"ordinal": place}
    return {
        "action_name": action, "query_id": query_id, "timestamp": T0 + at,
        "event_attributes": attributes, **top,
    }  # fmt: skip


def parse(*records, **options):
    return parse_ubi([r if isinstance(r, str) else json.dumps(r) for r in records], **options)


def shown(*documents, query_id="1"):
    return [event("impression", d, i, i, query_id) for i, d in enumerate(documents, start=1)]


def factor(feedback, name, row=0):
    return feedback.factors[row, FACTORS.index(name)]


def same(a, b):
    assert a.query_ids.tolist() == b.query_ids.tolist()
    assert a.docids.tolist() == b.docids.tolist()
    assert a.queries.tolist() == b.queries.tolist()
    assert a.user_classes.tolist() == b.user_classes.tolist()
    for name in ("factors", "alphas", "gains", "positions", "reactions"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_all_eight_factors_of_a_list():
    feedback = parse(
        query(), *shown("a", "b", "c", "d", "e"),
        event("click", "b", 2, 1000), event("view", "b", 2, 1100), event("page_exit", "b", 2, 4100),
        event("serp_return", "b", 2, 4200),
        event("click", "d", 4, 5000), event("page_exit", "d", 4, 65_000, more={"dwell_ms": 45_000}),
        event("click", "d", 4, 66_000), event("page_exit", "d", 4, 76_000),
        event("bookmark", "d", 4, 20_000), event("download", "d", 4, 21_000),
        event("download", "d", 4, 22_000), event("share", "d", 4, 23_000),
    )  # fmt: skip
    # b was open for 3 s and closed at once; d for 45 s as its exit says, and for 10 s.
    # Above d, the lowest click, a and c were left alone.
    expected = [3 / 5, 1 / 5, (3 + 45 + 10) / 5, 2 / 5, 1 / 5, 2 / 5, 1 / 5, 1 / 5]
    assert feedback.factors[0].tolist() == expected
    assert feedback.carried.all()
    assert feedback.docids.tolist() == ["a", "b", "c", "d", "e"]
    assert feedback.positions.tolist() == [1, 2, 3, 4, 5]
    assert feedback.reactions[3].tolist() == [2, 1, 55, 2, 1, 0, 0, 0]
    assert feedback.counts.problems == {}


def test_what_a_log_never_carries_is_not_zero():
    feedback = parse(query(), *shown("a", "b"), event("click", "b", 2, 10))
    np.testing.assert_array_equal(feedback.factors, [[1 / 2, NAN, NAN, NAN, NAN, 1 / 2, NAN, NAN]])
    silent = parse(query(), *shown("a", "b"))
    assert np.isnan(silent.factors).all()
    assert silent.alphas.tolist() == [0.5]


def test_a_factor_carried_by_one_list_counts_in_all():
    feedback = parse(
        query(), *shown("a"), event("bookmark", "a"), query("2"), *shown("a", query_id="2")
    )
    assert feedback.factors[:, 1].tolist() == [1, 0]


def test_documents_are_those_shown_or_else_those_found():
    found = parse(query(hits=["a", "b", "c", "d"]), event("click", "c", 3))
    assert found.docids.tolist() == ["a", "b", "c", "d"]
    assert factor(found, "ignored") == 2 / 4
    seen = parse(query(hits=["a", "b", "c", "d"]), *shown("b", "c"), event("click", "c", 3))
    assert seen.docids.tolist() == ["b", "c"]
    assert factor(seen, "ignored") == 1 / 2
    assert factor(seen, "clicks") == 1 / 2
    # A document that was used was there, also where no impression says so.
    used = parse(query(), *shown("b"), event("download", "z", 9))
    assert used.docids.tolist() == ["b", "z"]


@pytest.mark.parametrize("reaction", ["bookmark", "download", "share"])
def test_a_document_that_was_used_was_not_ignored(reaction):
    feedback = parse(*shown("a", "b", "c"), event("click", "c", 3), event(reaction, "a", 1))
    assert factor(feedback, "ignored") == 1 / 3


def test_ignored_needs_positions():
    feedback = parse(event("impression", "a"), event("impression", "b"), event("click", "b"))
    assert np.isnan(factor(feedback, "ignored"))
    assert feedback.counts.missing_position == 2


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({"dwell_ms": 2500}, 2.5),
        ({"dwell_time": 7.25}, 7.25),
        ({"dwell_ms": "1500"}, 1.5),
        ({}, 60),
    ],
)
def test_dwell_is_said_or_measured(more, seconds):
    opened, left = event("view", "a", 1, 0), event("page_exit", "a", 1, 60_000, more=more)
    feedback = parse(opened, left)
    assert factor(feedback, "dwell") == seconds
    assert factor(feedback, "closed") == (seconds <= 5)


@pytest.mark.parametrize("odd", ["1_000", "\u0661", "nan", "inf", "1e999", "1\u00a0"])
def test_a_number_as_text_has_ascii_digits(odd):
    assert np.isnan(number_of(odd))
    assert number_of(" 1.5e3 ") == 1500.0


def test_a_view_may_say_its_dwell():
    feedback = parse(event("click", "a", 1, 0), event("view", "a", 1, 1, more={"dwell_ms": 9000}))
    assert factor(feedback, "dwell") == 9
    both = parse(
        event("view", "a", 1, 1, more={"dwell_ms": 9000}), event("page_exit", "a", 1, 9501)
    )
    assert factor(both, "dwell") == 9.5  # one opening, not two


def test_a_view_says_what_its_exit_does_not():
    opened = event("view", "a", 1, 0, more={"dwell_time": 30})
    left = {**event("page_exit", "a", 1), "timestamp": None}
    feedback = parse(opened, left)
    assert factor(feedback, "dwell") == 30
    assert feedback.list_sums["openings"].tolist() == [1]
    assert feedback.counts.exit_without_view == 0
    said = parse(
        opened, {**left, "event_attributes": {**left["event_attributes"], "dwell_ms": 7000}}
    )
    assert factor(said, "dwell") == 7
    silent = parse(event("view", "a", 1), left, event("view", "b", 2, 0, more={"dwell_time": 4}))
    assert silent.reactions[:, FACTORS.index("dwell")].tolist() == [0, 4]
    assert silent.counts.exit_without_view == 1


@pytest.mark.parametrize("again", ["click", "view"])
def test_a_document_may_be_left_and_opened_at_the_same_time(again):
    records = [
        event(again, "a", 1, 0), event("page_exit", "a", 1, 20_000),
        event(again, "a", 1, 20_000), event("page_exit", "a", 1, 60_000),
        event(again, "b", 2, 20_000), event("page_exit", "b", 2, 20_000),  # opened for no time
        event(again, "b", 2, 30_000), event("page_exit", "b", 2, 37_000),
    ]  # fmt: skip
    for order in (records, records[::-1]):
        feedback = parse(*order)
        expected = [(20 + (60 - 20)), 0 + (37 - 30)]
        assert feedback.reactions[:, FACTORS.index("dwell")].tolist() == expected
        assert feedback.reactions[:, FACTORS.index("closed")].tolist() == [0, 1]
        assert feedback.list_sums["openings"].tolist() == [2, 2]
        assert feedback.counts.exit_before_view + feedback.counts.exit_without_view == 0


OPENINGS = st.tuples(
    st.sampled_from("ab"), st.sampled_from(["click", "view", "page_exit"]), st.integers(0, 4)
)


@given(st.lists(OPENINGS, min_size=1, max_size=14, unique=True))
def test_openings_are_as_a_walk_through_the_moments_finds_them(moves):
    records = [event(action, document, 1, 1000 * at) for document, action, at in moves]
    feedback = parse(*records, event("click", "z", 1))
    for document in {d for d, _, _ in moves}:
        since, stays = None, []
        for now in range(5):
            ways = {a for d, a, at in moves if (d, at) == (document, now)}
            comes, goes = bool(ways - {"page_exit"}), "page_exit" in ways
            steps = ["go", "come"] if since is not None else ["come", "go"]
            for step in steps:
                if step == "come" and comes:
                    since = now
                elif step == "go" and goes:
                    stays += [] if since is None else [now - since]
                    since = None
        row = feedback.docids.tolist().index(document)
        assert feedback.list_sums["dwell"][row] == sum(stays)
        assert feedback.list_sums["openings"][row] == len(stays)


def test_a_dwell_beyond_all_time_is_none():
    endless = {"dwell_time": 1e308}
    feedback = parse(
        event("page_exit", "a", 1, 0, more=endless), event("page_exit", "a", 1, 1, more=endless),
        {**event("view", "b", 2), "timestamp": -1e308},
        {**event("page_exit", "b", 2), "timestamp": 1e308},
        event("view", "c", 3, 0), event("page_exit", "c", 3, 9000),
    )  # fmt: skip
    assert feedback.reactions[:, FACTORS.index("dwell")].tolist() == [0, 0, 9]
    assert feedback.counts.negative_dwell == 2
    assert feedback.counts.exit_without_view == 3


def test_places_in_a_list_are_counted_alike():
    hits = query(hits=["a", "b", "c"])
    for first in (0, 1):
        places = [first, first + 1, first + 2]
        partly = [event("impression", "a", first), event("impression", "c", first + 2)]
        feedback = parse(hits, *partly, event("click", "b", first + 1))
        assert feedback.positions.tolist() == places
        assert feedback.docids.tolist() == ["a", "b", "c"]
        assert factor(feedback, "ignored") == 1 / 3
        # The first document is not among the impressions: they stay 1 behind, or do not.
        late = [event("impression", "b", first + 1), event("impression", "c", first + 2)]
        assert parse(hits, *late, event("click", "a")).positions.tolist() == places
    other = query("2", hits=["a", "b"])
    both = parse(hits, event("click", "a", 0), other, event("click", "b", 2, query_id="2"))
    assert both.positions.tolist() == [0, 1, 2, 1, 2]


def test_other_events_do_not_say_dwell():
    feedback = parse(event("click", "a", 1, more={"dwell_time": 30.0}))
    assert np.isnan(factor(feedback, "dwell"))


def test_closed_within_is_a_parameter():
    records = [event("view", "a", 1, 0), event("page_exit", "a", 1, 7000)]
    assert factor(parse(*records), "closed") == 0
    assert factor(parse(*records, closed_within=7), "closed") == 1


def test_back_may_name_no_document():
    feedback = parse(*shown("a", "b"), event("back", at=50), event("back", "b", at=60))
    assert factor(feedback, "back") == 2 / 2
    assert feedback.reactions[:, FACTORS.index("back")].tolist() == [0, 1]


def test_actions_have_synonyms_and_the_table_can_be_replaced():
    feedback = parse(*shown("a"), event("item_click", "a", 1), event("add_to_cart", "a", 1))
    assert factor(feedback, "clicks") == 1
    assert feedback.counts.unknown_actions == {"add_to_cart": 1}
    other = parse(
        *shown("a"), event("item_click", "a", 1), event("add_to_cart", "a", 1),
        actions={**ACTIONS, "add_to_cart": "bookmark"},
    )  # fmt: skip
    assert factor(other, "bookmarks") == 1
    with pytest.raises(UnknownNameError, match="did you mean bookmark"):
        parse(*shown("a"), actions={"x": "bookmrk"})


def test_times_are_iso_or_numbers():
    for first, last in [
        ("2025-03-03T10:00:00Z", "2025-03-03T10:00:08.250Z"),
        ("2025-03-03T10:00:00.000+0000", "2025-03-03T12:00:08.250+02:00"),
        ("2025-03-03T10:00:00", "2025-03-03T10:00:08.25Z"),
        (1_741_000_000_000, 1_741_000_008_250),
        (1_741_000_000, 1_741_000_008.25),
        ("1741000000000", "1741000008250"),
        ("1712011200000", "1712011208250"),  # no day of January 1712
        ("1712011200000.5", "1712011208250.5"),
        ("1712011200", "1712011208.25"),
        ("20250303T100000Z", "20250303T100008.250Z"),
        ("2025-03-03T10:00:00Z", 1_740_996_008_250),
    ]:
        opened, left = event("view", "a"), event("page_exit", "a")
        feedback = parse({**opened, "timestamp": first}, {**left, "timestamp": last})
        assert factor(feedback, "dwell") == 8.25, (first, last)


def in_bulk(records, ids=None):
    lines = []
    for i, record in enumerate(records):
        index = "ubi_events" if "action_name" in record else "ubi_queries"
        about = {"_index": index, "_id": f"id{i}" if ids is None else ids[i]}
        lines += [json.dumps({"index": about}), json.dumps(record)]
    return lines


def test_plain_bulk_and_hits_are_the_same_log(tmp_path):
    log = make_log(n_lists=20, seed=3)
    plain = parse_ubi(log.lines())
    same(plain, parse_ubi(log.lines(bulk=True)))
    as_hits = [
        json.dumps({"_index": "x", "_id": i, "_source": r}) for i, r in enumerate(log.records)
    ]
    same(plain, parse_ubi(as_hits))
    created = [line.replace('"index"', '"create"') for line in log.lines(bulk=True)]
    same(plain, parse_ubi(created))
    # Query records and events in files of their own, in either order and compressed.
    queries = [json.dumps(r) + "\n" for r in log.records if "action_name" not in r]
    events = [json.dumps(r) + "\n" for r in log.records if "action_name" in r]
    (tmp_path / "queries.ndjson.gz").write_bytes(gzip.compress("".join(queries).encode()))
    (tmp_path / "events.ndjson").write_text("".join(events))
    paths = [tmp_path / "queries.ndjson.gz", tmp_path / "events.ndjson"]
    same(plain, read_ubi(paths))
    same(plain, read_ubi(paths[::-1]))


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_generated_logs_read_back_what_was_drawn(tmp_path, ending):
    log = make_log(n_lists=60, seed=5)
    path = tmp_path / f"log.ndjson{ending}"
    log.write(path, bulk=ending != "")
    feedback = read_ubi(path)
    order = np.argsort(np.array(log.query_ids))
    np.testing.assert_allclose(feedback.factors, log.factors[order], rtol=1e-12)
    assert feedback.counts.problems == {}
    assert feedback.carried.all()
    assert feedback.queries.tolist() == [log.queries[i] for i in order]


def test_the_same_seed_gives_the_same_log():
    assert list(make_log(n_lists=5, seed=2).lines()) == list(make_log(n_lists=5, seed=2).lines())
    assert list(make_log(n_lists=5, seed=2).lines()) != list(make_log(n_lists=5, seed=3).lines())


@settings(max_examples=40)
@given(data=st.data(), seed=st.integers(0, 50), bulk=st.booleans())
def test_order_and_duplicates_change_nothing(data, seed, bulk):
    log = make_log(n_lists=4, depth=4, clicks=(0.4, 0.6, 0.9), user_class="c", seed=seed)
    where = {"user_class": "query_attributes.user_class"}
    expected = parse_ubi(log.lines(bulk=bulk), **where)
    lines = list(log.lines(bulk=bulk))
    pairs = [tuple(lines[i : i + 1 + bulk]) for i in range(0, len(lines), 1 + bulk)]
    again = data.draw(st.lists(st.sampled_from(pairs), max_size=20))
    late = data.draw(st.permutations(pairs + again))
    found = parse_ubi([line for pair in late for line in pair], **where)
    same(found, expected)
    assert found.counts.duplicates == len(again)
    assert found.counts.before_query == expected.counts.before_query


def test_duplicates_are_told_by_id_and_else_by_content():
    click = event("click", "a", 1, 5)
    assert factor(parse(click, click), "clicks") == 1
    assert factor(parse_ubi(in_bulk([click, click], ["x", "x"])), "clicks") == 1
    assert factor(parse_ubi(in_bulk([click, click], ["x", "y"])), "clicks") == 2
    assert factor(parse(click, event("click", "a", 1, 6)), "clicks") == 2
    assert factor(parse(click, {**click, "session_id": "other"}), "clicks") == 2
    named = [event("click", "a", 1, 5, more={"event_id": i}) for i in ("x", "y", "x")]
    assert factor(parse(*named), "clicks") == 2
    top = [event("click", "a", 1, 5, event_id=i) for i in (7, 8, 7)]
    assert factor(parse(*top), "clicks") == 2
    for first, second, clicks in [
        ("x", "x", 1),
        ("x", "y", 2),
        (-1, -2, 2),
        ("", "", 2),
        ({}, {}, 2),
    ]:
        twice = [event("click", "a", 1, 5, event_id=i) for i in (first, second)]
        assert factor(parse_ubi(in_bulk(twice, ["auto1", "auto2"])), "clicks") == clicks
        inside = [event("click", "a", 1, 5, more={"event_id": i}) for i in (first, second)]
        hits = [{"_id": f"auto{i}", "_source": click} for i, click in enumerate(inside)]
        assert factor(parse(*hits), "clicks") == clicks
    # Without a time nothing tells one click from the next.
    timeless = {**click, "timestamp": None}
    assert factor(parse(timeless, timeless), "clicks") == 2
    assert parse(query(), query(), *shown("a")).counts.duplicates == 1


def test_clocks_that_differ_are_counted():
    feedback = parse(
        query(), *shown("a"), event("click", "a", 1, -500),
        event("page_exit", "a", 1, 1000), event("view", "a", 1, 2000),
    )  # fmt: skip
    assert feedback.counts.before_query == 1
    assert feedback.counts.exit_before_view == 0  # the click opened it
    skewed = parse(*shown("a"), event("page_exit", "a", 1, 1000), event("view", "a", 1, 2000))
    assert skewed.counts.exit_before_view == 1
    assert np.isnan(factor(skewed, "dwell"))
    said = parse(
        *shown("a"), event("page_exit", "a", 1, 1000, more={"dwell_ms": 9000}),
        event("view", "a", 1, 2000),
    )  # fmt: skip
    assert said.counts.exit_before_view == 1
    assert factor(said, "dwell") == 9
    alone = parse(*shown("a"), event("page_exit", "a", 1, 1000))
    assert alone.counts.exit_without_view == 1
    negative = parse(*shown("a"), event("page_exit", "a", 1, 1, more={"dwell_ms": -3}))
    assert negative.counts.negative_dwell == 1


def test_what_is_missing_is_counted():
    good = shown("a")
    cases = {
        "malformed": ["{", '"text"', "[1]", "{} {}", '{"x": NaN}', '{"other": 1}', "null"],
        "missing_query_id": [
            json.dumps({"action_name": "click", "timestamp": T0}),
            json.dumps({**good[0], "query_id": None}),
            json.dumps({**good[0], "query_id": {}}),
            json.dumps({"user_query": "x"}),
        ],
        "missing_timestamp": [
            json.dumps({**good[0], "timestamp": t}) for t in (None, "yesterday", [], 1e999)
        ][:3],
        "missing_object": [json.dumps(event("click")), json.dumps(event("view", ""))],
        "missing_action": [json.dumps({"index": {"_index": "ubi_events"}}) + "\n" + "{}"],
    }
    for name, lines in cases.items():
        fed = [part for line in lines for part in line.split("\n")]
        feedback = parse(*good, *fed)
        assert feedback.counts.to_dict()[name] == len(lines), name
        assert len(feedback) == 1


def test_blank_lines_and_space_around_are_fine():
    line = json.dumps(shown("a")[0])
    feedback = parse_ubi(["", "  ", f"  {line}\r", "\t", json.dumps(event("click", "a")) + " \r"])
    assert factor(feedback, "clicks") == 1
    assert feedback.counts.problems == {"lists_without_query": 1}
    assert feedback.counts.lines == 2


def test_strict_stops_at_the_first_fault_and_says_where(tmp_path):
    good = json.dumps(shown("a")[0])
    for bad, message in [
        ("{]", "expected JSON, got '{]'"),
        ("[]", "expected a JSON object"),
        (json.dumps({**shown("a")[0], "timestamp": "x"}), "a timestamp, got 'x'"),
        (json.dumps(event("click", at=9)), "object_id"),
        (json.dumps({"user_query": "x"}), "query_id"),
        ('{"index": {"_index": "ubi_events"}}\n{"query_id": "1"}', "action_name"),
    ]:
        path = tmp_path / "log.ndjson"
        path.write_text(f"{good}\n\n{bad}\n{good}\n")
        line = 3 + bad.count("\n")
        with pytest.raises(MalformedLineError, match=rf"log\.ndjson:{line}: expected") as caught:
            read_ubi(path, strict=True)
        assert message in str(caught.value)
        assert len(read_ubi(path)) == 1


def test_text_that_is_not_utf8_is_malformed(tmp_path):
    path = tmp_path / "log.ndjson"
    path.write_bytes(json.dumps(shown("a")[0]).encode() + b"\n\xff\xfe\n")
    assert read_ubi(path).counts.malformed == 1
    with pytest.raises(MalformedLineError, match=r":2: expected UTF-8|:2: expected JSON"):
        read_ubi(path, strict=True)


@pytest.mark.parametrize("content", ["", "\n\n", "not json\n", "[\n1\n]\n"])
def test_an_empty_log_is_an_error(tmp_path, content):
    path = tmp_path / "log.ndjson"
    path.write_text(content)
    with pytest.raises(EmptyDataError, match="expected UBI queries and events"):
        read_ubi(path)


def test_a_log_without_documents_is_an_error():
    with pytest.raises(EmptyDataError, match="no document"):
        parse(query())
    with pytest.raises(EmptyDataError, match="no event has a query id"):
        parse({"action_name": "hover"})


def test_hits_that_are_no_list_are_counted():
    for hits in ("a,b", {"a": 1}, 3):
        feedback = parse(query(hits=hits), *shown("a", "b"))
        assert feedback.counts.problems == {"malformed_hits": 1}
        assert len(feedback.docids) == 2
    assert parse(query(query_response_hit_ids=None), *shown("a")).counts.problems == {}
    with pytest.raises(MalformedLineError, match="events:1: expected query_response_hit_ids that"):
        parse(query(hits="a,b"), *shown("a"), strict=True)


def test_nan_in_a_table_of_users_is_no_class():
    records = [
        event("click", "a", 1, 1, user_id="ann"),
        event("click", "a", 1, 1, "2", user_id="bob"),
    ]
    feedback = parse(*records, user_class={"ann": NAN, "bob": "expert", "eve": None})
    assert feedback.user_classes.tolist() == [None, "expert"]


def test_wrong_requests_are_told():
    for options in (
        {"window": 1},
        {"window": 2.5},
        {"window": "9"},
        {"closed_within": -1},
        {"closed_within": NAN},
    ):
        with pytest.raises(UsageError):
            parse(*shown("a"), **options)
    with pytest.raises(UsageError):
        read_ubi([])
    for lines in ([b'{"query_id": "1"}'], b"{}", [{"query_id": "1"}], [7], ["", b""]):
        with pytest.raises(UsageError, match="expected lines of text, got"):
            parse_ubi(lines)


@pytest.mark.parametrize("window", [2, 7, 50, 400])
def test_a_small_window_gives_the_same_sums(window):
    log = make_log(n_lists=40, seed=7)
    whole, cut = parse_ubi(log.lines()), parse_ubi(log.lines(), window=window)
    assert cut.query_ids.tolist() == whole.query_ids.tolist()
    assert cut.docids.tolist() == whole.docids.tolist()
    unaffected = [FACTORS.index(f) for f in FACTORS if f not in ("dwell", "closed")]
    np.testing.assert_array_equal(cut.factors[:, unaffected], whole.factors[:, unaffected])
    if window >= 100:  # a list with its events fits
        same(cut, whole)
        assert cut.counts.split_lists == 0
    else:
        assert cut.counts.split_lists > 0


def test_late_events_are_added_to_lists_that_were_done():
    others = [r for i in range(50) for r in shown("x", query_id=f"o{i}")]
    late = parse(query(), *shown("a", "b"), *others, event("click", "b", 2, 9), window=10)
    row = late.query_ids.tolist().index("1")
    assert factor(late, "clicks", row) == 1 / 2
    assert factor(late, "ignored", row) == 1 / 2
    assert late.queries[row] == "shoes"
    assert late.counts.split_lists == 1


def test_a_reader_can_be_asked_again_and_again():
    lines = list(make_log(n_lists=12, seed=4).lines(bulk=True))
    reader = UbiReader(window=120)
    reader.start("stream")
    for start in range(0, len(lines), 100):
        reader.feed(lines[start : start + 100])
        found = reader.feedback()
        expected = parse_ubi(lines[: start + 100], window=120)
        same(found, expected)
        assert found.counts == expected.counts
    assert len(found) == 12


def test_memory_does_not_grow_with_the_events():
    def peak(n):
        clicks = (event("click", f"d{i % 40}", 1 + i % 40, i, f"q{i % 25}") for i in range(n))
        lines = (" " * (i % 2) + json.dumps(click) for i, click in enumerate(clicks))
        reader = UbiReader(window=1000)
        tracemalloc.start()
        reader.feed(lines)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert reader.feedback().reactions[:, 0].sum() == n
        return most

    peak(500)  # what is allocated once
    assert peak(20_000) < 1.1 * peak(10_000)


def test_classes_come_from_paths_tables_and_functions(tmp_path):
    records = [
        query("1", query_attributes={"user_class": "new"}), *shown("a"),
        query("2", client_id="c2"), *shown("a", query_id="2"),
        *[{**r, "user_id": 3} for r in shown("a", query_id="3")],
        *[event("impression", "a", 1, query_id="4", more={"segment": {"name": "vip"}})],
    ]  # fmt: skip
    assert parse(*records).classes == ()
    by_query = parse(*records, user_class="query_attributes.user_class")
    assert by_query.user_classes.tolist() == ["new", None, None, None]
    by_event = parse(*records, user_class="event_attributes.segment.name")
    assert by_event.user_classes.tolist() == [None, None, None, "vip"]
    (tmp_path / "users.csv").write_text('user_id,class\nc2,expert\n\n3,"no, vice"\n')
    table = read_classes(tmp_path / "users.csv")
    assert table == {"c2": "expert", "3": "no, vice"}
    by_table = parse(*records, user_class=table)
    assert by_table.user_classes.tolist() == [None, "expert", "no, vice", None]
    by_function = parse(*records, user_class=lambda record: record.get("query_id"))
    assert by_function.user_classes.tolist() == ["1", "2", "3", "4"]
    for wrong in (7, "a..b", ""):
        with pytest.raises(UsageError):
            parse(*records, user_class=wrong)


def test_a_query_record_decides_on_the_class():
    path = "client_id"
    events = [{**r, "client_id": c} for r, c in zip(shown("a", "b"), "yx", strict=True)]
    assert parse(*events, user_class=path).user_classes.tolist() == ["x"]
    assert parse(*events, user_class=path).counts.class_conflicts == 1
    decided = parse(*events, query(client_id="z"), user_class=path)
    assert decided.user_classes.tolist() == ["z"]


@pytest.mark.parametrize("text", ["", "a\n", "a,b,c\n", ",x\n", 'a,"b\n', "user,class\n"])
def test_a_table_of_classes_that_is_none(tmp_path, text):
    (tmp_path / "users.csv").write_text(text)
    with pytest.raises(PodiumError):
        read_classes(tmp_path / "users.csv")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = (
    "action_name", "query_id", "timestamp", "event_attributes", "user_query", "query_response_hit_ids",
    "session_id", "event_id", "index", "_source", "_id", "_index",
)  # fmt: skip
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "object": JSON | st.fixed_dictionaries({"object_id": JSON}),
        "position": JSON | st.fixed_dictionaries({"ordinal": JSON}),
        "dwell_ms": JSON, "dwell_time": JSON, "event_id": JSON,
    },
)  # fmt: skip
RECORDS = st.dictionaries(
    st.sampled_from(FIELDS), JSON | ATTRIBUTES | st.sampled_from([*ACTIONS, T0]), max_size=8
)


@settings(max_examples=soak_cases(300))
@given(
    lines=st.lists(
        RECORDS.map(json.dumps) | st.text(max_size=30) | JSON.map(json.dumps), max_size=8
    )
)
def test_any_text_is_read_or_refused(lines):
    lines = [*lines, json.dumps(shown("a")[0])]
    feedback = parse_ubi(lines, window=4, user_class="event_attributes.object.object_id")
    assert ((feedback.alphas >= 0) & (feedback.alphas <= 1)).all()
    assert np.isfinite(feedback.reactions[:, feedback.carried]).all()
    with contextlib.suppress(PodiumError):  # and nothing else
        parse_ubi(lines, strict=True)


def test_hostile_lines_are_malformed():
    deep = "[" * 100_000
    lines = [deep, '{"a":' * 50_000, '{"query_id": ' + "9" * 5000 + "}", '{"x": Infinity}']
    assert parse(*shown("a"), *lines).counts.malformed == 4
    odd = parse({**shown("a")[0], "query_id": "\ud800", "user_query": "\udfff"})
    assert odd.query_ids.tolist() == ["\\ud800"]
    many = [event(f"name{i}", "a") for i in range(3000)]
    counts = parse(*many, *shown("a")).counts
    assert len(counts.actions) <= 1002
    assert sum(counts.actions.values()) == 3001
    assert counts.actions["impression"] == 1
