"""The two ways to an event's fields are one: decoded at once, or by Python's parser."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from podium.feedback import parse_ubi
from podium.feedback.ubi_events import (
    DECODE_ERRORS,
    UbiAttributes,
    UbiEvent,
    decode_event,
    event_of,
)
from tests.support.case_counts import soak_cases

SCALARS = st.one_of(
    st.none(), st.booleans(), st.text(max_size=3), st.integers(),
    st.sampled_from([0, -0.0, 1.0, 2**63, 2**64, -(2**63) - 1, 10**30, 1e300]), st.floats(allow_nan=False),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["object_id", "ordinal", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def record_with(values):
    """Some of the fields, and one of no use; objects and positions mostly as they should be."""
    inside = {
        "object": st.fixed_dictionaries({}, optional={"object_id": values, "name": values}),
        "position": st.fixed_dictionaries({}, optional={"ordinal": values, "x": values}),
    }
    attributes = {
        name: inside.get(name, values) | values for name in UbiAttributes.__struct_fields__
    } | {"other": values}
    top = dict.fromkeys(UbiEvent.__struct_fields__, values) | {"other": values}
    top["event_attributes"] = st.fixed_dictionaries({}, optional=attributes) | values
    top["action_name"] = st.sampled_from(["click", "view", ""]) | values
    return st.fixed_dictionaries({}, optional=top)


def by_parser(line):
    return event_of(json.loads(line))


def same(one, other):
    """Equal, also in the types of what they hold: 1 is not 1.0, and an id of 1 is not True."""
    return repr(one) == repr(other)


@settings(max_examples=soak_cases(500))
@given(record_with(VALUES))
def test_a_usual_line_has_the_fields_the_parser_finds(record):
    line = json.dumps(record)
    try:
        event = decode_event(line)
    except DECODE_ERRORS:
        return
    assert same(event, by_parser(line))


@settings(max_examples=soak_cases(500))
@given(record_with(SCALARS), st.data())
@example({"action_name": "click", "other": 0}, None)
def test_what_is_no_json_is_never_usual(record, data):
    """Characters replaced, left out or put in, also in fields of no use."""
    line = json.dumps(record, ensure_ascii=False)
    if data is not None:
        at = data.draw(st.integers(0, len(line)))
        line = (
            line[:at] + data.draw(st.text('"\\{}[],:0.-eEn\t\x00 é', max_size=2)) + line[at + 1 :]
        )
    try:
        event = decode_event(line)
    except DECODE_ERRORS:
        return
    assert same(event, by_parser(line))


def test_usual_lines_are_decoded_at_once():
    line = json.dumps(
        {
            "action_name": "click", "query_id": "1", "timestamp": "2025-03-03T10:00:02Z",
            "event_attributes": {"object": {"object_id": 7, "x": []}, "position": {"ordinal": 2}},
        }
    )  # fmt: skip
    event = decode_event(line)
    assert (event.query_id, event.event_attributes.object.object_id) == ("1", 7)


@pytest.mark.parametrize("number", [2**63, 10**30, -(10**30)])
def test_numbers_beyond_64_bits_are_ids_all_the_same(number):
    line = json.dumps(
        {
            "action_name": "click", "query_id": number, "timestamp": 1_741_000_000_000,
            "event_attributes": {"object": {"object_id": "a"}},
        }
    )  # fmt: skip
    assert parse_ubi([line]).query_ids.tolist() == [str(number)]


def test_half_characters_in_a_line_of_text_stop_nothing():
    """Files cannot hold them, lines at hand can."""
    with pytest.raises(DECODE_ERRORS):
        decode_event('{"action_name": "\ud800"}')
    line = '{"action_name": "click", "query_id": "1", "timestamp": 1741000000000, "event_attributes": %s}'
    feedback = parse_ubi([line % '{"object": {"object_id": "\ud800"}}'])
    assert len(feedback) == 1
