"""Read sessions from UBI logs: blocks of lines are decoded in one call, and kept as columns."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import msgspec
import numpy as np

from podium.clicks.event_rows import CLICK, HIT, IMPRESSION, EventRows
from podium.data.text_files import Progress, read_blocks
from podium.feedback.actions import KIND_CODES, kind_codes
from podium.feedback.ubi_events import UbiId, UbiNumber
from podium.feedback.ubi_fields import identifier_of, number_of, seconds_of
from podium.typing import Floats, Path_


class _Object(msgspec.Struct, gc=False):
    object_id: UbiId = None


class _Position(msgspec.Struct, gc=False):
    ordinal: UbiNumber = None
    base: UbiNumber = None


class _Attributes(msgspec.Struct, gc=False):
    object: _Object | None = None
    position: _Position | None = None
    event_id: UbiId = None


class _BulkTarget(msgspec.Struct, gc=False):
    record_id: UbiId = msgspec.field(default=None, name="_id")


class UbiLine(msgspec.Struct, gc=False):
    """A line of a UBI log: an event, the record of a query, or an action line of the bulk form."""

    action_name: str | None = None
    query_id: UbiId = None
    timestamp: str | int | float | None = None
    event_attributes: _Attributes | None = None
    event_id: UbiId = None
    user_query: str | None = None
    session_id: UbiId = None
    client_id: UbiId = None
    query_attributes: dict[str, Any] | None = None
    query_response_hit_ids: list[str | int] | None = None
    index: _BulkTarget | None = None
    create: _BulkTarget | None = None
    source: dict[str, Any] | None = msgspec.field(default=None, name="_source")


_decoder = msgspec.json.Decoder(UbiLine)
_NO_ATTRIBUTES, _NO_OBJECT, _NO_POSITION = _Attributes(), _Object(), _Position()
_DECODE_ERRORS = (msgspec.MsgspecError, UnicodeError, ValueError, TypeError, RecursionError)


def read_ubi_rows(
    paths: Sequence[Path_],
    rows: EventRows,
    actions: Mapping[str, str],
    *,
    variant: str,
    user_class: str,
    progress: Progress | None = None,
) -> None:
    """Add the impressions, clicks and hits of UBI logs to rows; other events are left out.

    Parameters
    ----------
    variant, user_class
        Names of query attributes.
    """
    reader = _UbiRows(rows, actions, variant, user_class)
    for path in paths:
        for block in read_blocks(os.fspath(path)):
            reader.add_block(block.tobytes())
            if progress is not None:
                progress(len(block))


class _UbiRows:
    """Adds blocks of lines to rows."""

    def __init__(
        self, rows: EventRows, actions: Mapping[str, str], variant: str, user_class: str
    ) -> None:
        self.rows, self.variant, self.user_class = rows, variant, user_class
        kinds = kind_codes(actions)
        self.kinds = {
            name: IMPRESSION if code == KIND_CODES["impression"] else CLICK
            for name, code in kinds.items()
            if code in (KIND_CODES["impression"], KIND_CODES["click"])
        }
        self.bulk_id: UbiId = None

    def add_block(self, text: bytes) -> None:
        """Add the lines of a block, which ends at a line end."""
        lines = self._decode(text)
        self.rows.counts["records"] += len(lines)
        ids: list[Any] | None = None
        if self.bulk_id is not None or any(line.index or line.create for line in lines):
            lines, ids = self._join_bulk(lines)
        kind_of = self.kinds.get
        kinds = [kind_of(line.action_name, -1) for line in lines]  # type: ignore[arg-type]
        if None in (names := {line.action_name for line in lines}):
            self._add_queries([line for line in lines if line.action_name is None])
        if any(name not in self.kinds for name in names):
            used = [i for i, kind in enumerate(kinds) if kind >= 0]
            lines, kinds = [lines[i] for i in used], [kinds[i] for i in used]
            ids = None if ids is None else [ids[i] for i in used]
        self._add_events(lines, kinds, ids)

    def _decode(self, text: bytes) -> list[UbiLine]:
        try:
            return _decoder.decode_lines(text)
        except _DECODE_ERRORS:
            lines = (self._decode_line(line) for line in text.split(b"\n") if line.strip())
            return [line for line in lines if line is not None]

    def _decode_line(self, line: bytes) -> UbiLine | None:
        """Return a line with unusual types, such as text for a number; count malformed ones."""
        try:
            return _decoder.decode(line)
        except _DECODE_ERRORS:
            pass
        try:
            record = json.loads(line)
            return _lenient_line(record)
        except _DECODE_ERRORS:
            self.rows.counts["malformed"] += 1
            self.rows.counts["records"] += 1
            return None

    def _join_bulk(self, lines: list[UbiLine]) -> tuple[list[UbiLine], list[Any]]:
        """Return the lines without action lines, and the id of each from its action line."""
        records, ids = [], []
        for line in lines:
            target = line.index or line.create
            if target is not None:
                self.bulk_id = target.record_id
                self.rows.counts["records"] -= 1
                continue
            records.append(line)
            ids.append(self.bulk_id)
            self.bulk_id = None
        return records, ids

    def _add_queries(self, lines: list[UbiLine]) -> None:
        hits: list[tuple[int, list[Any]]] = []
        bases: list[float] = []
        for line in lines:
            query = line if line.source is None else self._add_search_hit(line.source)
            if query is None:
                continue
            query_id = identifier_of(query.query_id)
            if query_id is None:
                self.rows.counts["malformed"] += 1
                continue
            number = self.rows.lists[query_id]
            self._add_query(number, query)
            if query.query_response_hit_ids:
                hits.append((number, query.query_response_hit_ids))
                bases += _base_positions(query, len(query.query_response_hit_ids))
        docs = self.rows.docs
        self.rows.add(
            sum(len(names) for _, names in hits),
            list_number=[number for number, names in hits for _ in names],
            doc=[docs[d if type(d) is str else str(d)] for _, names in hits for d in names],
            position=[place for _, names in hits for place in range(1, len(names) + 1)], kind=HIT,
            base=bases,
        )  # fmt: skip

    def _add_search_hit(self, source: dict[str, Any]) -> UbiLine | None:
        """Return the record of a query in the form of a search hit, or add an event."""
        line = _lenient_line(source)
        if line.action_name is None:
            return line
        self._add_events([line], [self.kinds.get(line.action_name, -1)], None)
        return None

    def _add_query(self, number: int, line: UbiLine) -> None:
        facts, attributes = self.rows.facts, line.query_attributes or {}
        if line.user_query:
            facts.text[number] = line.user_query
        _add_user(facts.user, number, line)
        for table, name in ((facts.variant, self.variant), (facts.user_class, self.user_class)):
            value = identifier_of(attributes.get(name))
            if value is not None:
                table[number] = value
        time = seconds_of(line.timestamp)
        if time == time:
            facts.time[number] = min(time, facts.time.get(number, time))
        n_hits = len(line.query_response_hit_ids or ())
        if n_hits:
            facts.n_hits[number] = max(n_hits, facts.n_hits.get(number, 0))

    def _add_events(self, lines: list[UbiLine], kinds: list[int], ids: list[Any] | None) -> None:
        """Add impressions and clicks; those without a list or a document are malformed."""
        attributes = [line.event_attributes or _NO_ATTRIBUTES for line in lines]
        names = [(a.object or _NO_OBJECT).object_id for a in attributes]
        query_ids = [line.query_id for line in lines]
        if None in names or None in query_ids or -1 in kinds:
            whole = [
                i for i, (name, query, kind) in enumerate(zip(names, query_ids, kinds, strict=True))
                if name is not None and query is not None and kind >= 0
            ]  # fmt: skip
            self.rows.counts["malformed"] += sum(kind >= 0 for kind in kinds) - len(whole)
            lines, kinds = [lines[i] for i in whole], [kinds[i] for i in whole]
            attributes, names = [attributes[i] for i in whole], [names[i] for i in whole]
            query_ids = [query_ids[i] for i in whole]
            ids = None if ids is None else [ids[i] for i in whole]
        lists, docs, facts = self.rows.lists, self.rows.docs, self.rows.facts
        numbers = [lists[q if type(q) is str else str(q)] for q in query_ids]
        positions = [a.position or _NO_POSITION for a in attributes]
        self.rows.add(
            len(lines), list_number=numbers,
            doc=[docs[d if type(d) is str else str(d)] for d in names], kind=kinds,
            position=[nan if p.ordinal is None else p.ordinal for p in positions],
            base=[nan if p.base is None else p.base for p in positions],
            time=_times([line.timestamp for line in lines]),
            record_key=_record_keys(attributes, lines, ids),
        )  # fmt: skip
        unnamed = set(numbers) - (facts.user.keys() & facts.text.keys())
        for number, line in zip(numbers, lines, strict=True) if unnamed else ():
            if number in unnamed:
                if number not in facts.user:
                    _add_user(facts.user, number, line)
                if line.user_query:
                    facts.text.setdefault(number, line.user_query)


def _record_keys(
    attributes: list[_Attributes], lines: list[UbiLine], bulk_ids: list[Any] | None
) -> list[int] | float:
    """Return the hash of the id of each record, 0 without one."""
    ids: list[Any] = [a.event_id for a in attributes]
    for others in ([line.event_id for line in lines], bulk_ids or []):
        if any(others):
            ids = [one or other for one, other in zip(ids, others, strict=True)]
    if not any(ids):
        return 0.0
    return [hash(str(i)) if i else 0 for i in ids]


def _base_positions(query: UbiLine, n: int) -> list[float]:
    """Return the positions of the hits of a query before the swaps of the service; NaN without."""
    bases = (query.query_attributes or {}).get("base_positions")
    if not isinstance(bases, list) or len(bases) != n:
        return [nan] * n
    return [number_of(base) for base in bases]


def _add_user(users: dict[int, Any], number: int, line: UbiLine) -> None:
    user = line.client_id if line.client_id is not None else line.session_id
    if user is not None:
        users[number] = user


def _times(stamps: list[Any]) -> Floats:
    """Return seconds since 1970; ISO times in UTC are converted in one call."""
    text = "".join([s for s in stamps if type(s) is str and len(s) == 24 and s[-1] == "Z"])
    if len(text) == 24 * len(stamps) and stamps:
        try:
            moments = np.array(text.replace("Z", " ").split(), dtype="datetime64[ms]")
            return np.asarray(moments.astype(np.int64) / 1e3)
        except ValueError:
            pass
    return np.array([seconds_of(stamp) for stamp in stamps], dtype=np.float64)


def _lenient_line(record: Any) -> UbiLine:
    """Return a line from a parsed record whose fields may have unusual types; ValueError if it is none."""
    if not isinstance(record, dict):
        raise ValueError("a JSON object is expected")
    if isinstance(record.get("_source"), dict):
        record = record["_source"]
    attributes = record.get("event_attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    parts = [attributes.get(name) for name in ("object", "position")]
    item, position = (part if isinstance(part, dict) else {} for part in parts)
    ordinal, base = (number_of(position.get(name)) for name in ("ordinal", "base"))
    hits = record.get("query_response_hit_ids")
    query_attributes = record.get("query_attributes")
    action, text = record.get("action_name"), record.get("user_query")
    return UbiLine(
        action_name=action if isinstance(action, str) else None,
        query_id=identifier_of(record.get("query_id")),
        timestamp=record.get("timestamp"),
        event_attributes=_Attributes(
            _Object(identifier_of(item.get("object_id"))), _Position(ordinal, base),
            identifier_of(attributes.get("event_id")),
        ),
        event_id=identifier_of(record.get("event_id")),
        user_query=text if isinstance(text, str) else None,
        session_id=identifier_of(record.get("session_id")),
        client_id=identifier_of(record.get("client_id")),
        query_attributes=query_attributes if isinstance(query_attributes, dict) else None,
        query_response_hit_ids=[i for h in hits if (i := identifier_of(h))]
        if isinstance(hits, list) else None,
    )  # fmt: skip
