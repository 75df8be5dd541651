"""Duplicates: the key that identifies a repeated record."""

from __future__ import annotations


def duplicate_key(
    record_id: object, session: object, client: object, query_id: str, name: str | None,
    document: str | None, ordinal: float, time: float, dwell: float,
) -> int | None:  # fmt: skip
    """Return the key of a record, equal for duplicates; None if nothing identifies the record."""
    if type(record_id) is str or type(record_id) is int:
        # Hash the text, since the integers -1 and -2 have the same hash.
        return hash(("event" if name else "query", str(record_id)))
    if time != time:
        return None
    # NaN is not equal to itself, so None replaces it.
    place, stay = None if ordinal != ordinal else ordinal, None if dwell != dwell else dwell
    return hash((query_id, name, document, place, time, stay, str(session), str(client)))


def first_id(*ids: object) -> object:
    """Return the first valid id. The last resort is the id of the index, which differs for duplicates."""
    for record_id in ids:
        if (type(record_id) is str and record_id) or type(record_id) is int:
            return record_id
    return None
