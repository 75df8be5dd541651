"""Assemble sessions from rows of a log; set aside the impossible ones and bots, with counts by reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from podium.clicks.click_sessions import ClickSessions
from podium.clicks.event_rows import CLICK, HIT, IMPRESSION, EventRows
from podium.clicks.session_counts import NO_FAULTS, REASONS, SessionCounts
from podium.data import Groups
from podium.errors import UsageError
from podium.feedback.list_sums import StringCodes
from podium.typing import Bools, Floats, Ints

CLOCK_SLACK_SECONDS = 1.0
"""A click may have a time so much before that of its query."""
MAX_CLICK_DELAY_SECONDS = 86_400.0
"""A click so much later than its query has a wrong time."""
QUICK_SECONDS = 10.0
"""The same list with the same clicks again so soon is a reload or a duplicate, rather than a person."""
MIN_CLICKED_LIST = 5
"""A list of so many documents or more whose documents were all clicked was not read by a person."""


@dataclass(frozen=True)
class SessionChecks:
    """Limits beyond which a session is set aside.

    Parameters
    ----------
    max_position
        The greatest possible position.
    max_user_sessions
        The most sessions that a person has in a day; sessions without a time count as one day.
    visible_positions
        The number of positions that users see at once, for lists of UBI logs without impressions; None: all
        hits of such lists count as shown.
    """

    max_position: int = 1000
    max_user_sessions: int = 200
    visible_positions: int | None = None

    def __post_init__(self) -> None:
        if self.visible_positions is not None and self.visible_positions < 1:
            raise UsageError(
                f"expected visible_positions of 1 or more, got {self.visible_positions}"
            )
        if self.max_position < 1 or self.max_user_sessions < 1:
            raise UsageError(
                "expected max_position and max_user_sessions of 1 or more, got "
                f"{self.max_position} and {self.max_user_sessions}"
            )


@dataclass(frozen=True, eq=False)
class _ListRows:
    """One row per document of a list, sorted by list, then by document."""

    list_number: Ints
    doc: Ints
    position: Floats
    has_impression: Bools
    at_two_positions: Bools
    is_in_list: Bools
    is_invisible: Bools
    is_clicked: Bools
    click_time: Floats
    time: Floats
    base: Floats


def assemble_sessions(rows: EventRows, checks: SessionChecks) -> ClickSessions:
    """Return the sessions of rows; neither the order of rows nor repeated rows change them."""
    n_lists = len(rows.lists)
    merged = _merge(rows, n_lists, checks.visible_positions)
    list_time = _list_times(rows, merged, n_lists)
    reasons = _reasons(rows, merged, list_time, checks, n_lists)
    ids = np.array([*map(str, rows.lists)], dtype=object)
    good = np.flatnonzero(reasons < 0)
    id_order = np.argsort(ids[good].astype(str) if len(good) else np.zeros(0), kind="stable")
    order = good[id_order][np.argsort(list_time[good[id_order]], kind="stable")]
    sessions = _make_sessions(rows, merged, order, list_time)
    users = [rows.facts.user.get(i) for i in order.tolist()]
    is_repeat, is_known = _repeats(sessions, users), np.array([u is not None for u in users], bool)
    counts = np.bincount(reasons[reasons >= 0], minlength=len(REASONS)).tolist()
    more = dict(zip(REASONS, counts, strict=True)) | _counts_of_lists(merged, reasons, checks)
    more["untimed"] = int(np.isnan(list_time).sum())
    more["duplicate_sessions"] = int((is_repeat & is_known).sum())
    more["repeats_without_user"] = int((is_repeat & ~is_known).sum())
    kept_rows = np.flatnonzero(~(is_repeat & is_known))
    if more["duplicate_sessions"]:
        sessions = sessions.take(kept_rows)
    more["without_user"] = int((~is_known[kept_rows]).sum())
    more["quick_repeats"] = _count_quick_repeats(sessions, [users[i] for i in kept_rows.tolist()])
    return replace(sessions, counts=_counts(rows, sessions, more))


def _counts_of_lists(merged: _ListRows, reasons: Ints, checks: SessionChecks) -> dict[str, int]:
    """Count lists without impressions that were kept, and lists with clicks that were set aside."""
    is_kept = reasons < 0
    no_faults = [number for number, reason in enumerate(REASONS) if reason in NO_FAULTS]
    is_faulty = ~is_kept & ~np.isin(reasons, no_faults)
    has_hits_only = _any_row(merged, merged.is_in_list, len(reasons)) & ~_any_row(
        merged, merged.has_impression, len(reasons)
    )
    has_clicks = _any_row(merged, merged.is_clicked, len(reasons))
    unseen_clicks = merged.is_invisible & merged.is_clicked & is_kept[merged.list_number]
    return {
        "without_impressions": int((has_hits_only & is_kept).sum()),
        "visible_positions": checks.visible_positions or 0,
        "clicks_beyond_visible": int(unseen_clicks.sum()),
        "set_aside_with_clicks": int((has_clicks & is_faulty).sum()),
    }


def _any_row(merged: _ListRows, rows: Bools, n_lists: int) -> Bools:
    """Return whether each list has one of these rows."""
    return np.asarray(np.bincount(merged.list_number[rows], minlength=n_lists) > 0)


def _merge(rows: EventRows, n_lists: int, visible: int | None) -> _ListRows:
    """Join the rows of each document of a list."""
    list_number, doc, kind = (rows.column(c) for c in ("list_number", "doc", "kind"))
    position, base = (_from_one(rows, rows.column(c), n_lists) for c in ("position", "base"))
    time = rows.column("time")
    keys, row = np.unique(list_number * max(1, len(rows.docs)) + doc, return_inverse=True)
    row, n = row.reshape(-1), len(keys)
    lists, docs = np.divmod(keys, max(1, len(rows.docs)))
    first = {k: _least(row, position, kind == k, n) for k in (IMPRESSION, CLICK, HIT)}
    last_impression = -_least(row, -position, kind == IMPRESSION, n)
    is_clicked, has_impression, is_hit = (
        np.bincount(row[kind == k], minlength=n) > 0 for k in (CLICK, IMPRESSION, HIT)
    )
    place = np.where(has_impression, first[IMPRESSION], first[HIT])
    # Hits belong to the list down to the last document that was shown or clicked, or all without impressions.
    deepest = np.full(n_lists, -np.inf)
    np.maximum.at(
        deepest,
        lists,
        np.where(has_impression | (is_clicked & is_hit), np.nan_to_num(place), -np.inf),
    )
    has_impressions = np.bincount(lists[has_impression], minlength=n_lists) > 0
    deepest[~has_impressions] = np.inf
    is_in_list = has_impression | (is_hit & (place <= deepest[lists]))
    is_invisible = is_in_list & ~has_impressions[lists] & (place > (visible or np.inf))
    earliest = _least(row, time, kind != CLICK, n)
    return _ListRows(
        lists, docs, place, has_impression, has_impression & (last_impression > first[IMPRESSION]),
        is_in_list & ~is_invisible, is_invisible, is_clicked, _least(row, time, kind == CLICK, n), earliest,
        _bases_of_documents(row, base, kind, n),
    )  # fmt: skip


def _bases_of_documents(row: Ints, base: Floats, kind: Ints, n: int) -> Floats:
    """Return base positions by impressions, else by the record of the query."""
    by_impression = _least(row, base, kind == IMPRESSION, n)
    return np.where(np.isnan(by_impression), _least(row, base, kind == HIT, n), by_impression)


def _from_one(rows: EventRows, positions: Floats, n_lists: int) -> Floats:
    """Return the positions, counted from 1.

    The impressions of a file and variant count from 0 if as many of its lists begin at 0 as at 1: a list may
    have lost its first impression, and a record may be wrong.
    """
    variants = StringCodes.of([rows.facts.variant.get(i) for i in range(n_lists)]).codes + 1
    list_number, kind = rows.column("list_number"), rows.column("kind")
    part = rows.column("source") * (n_lists + 1) + variants[list_number]
    _, part = np.unique(part, return_inverse=True)
    part = part.reshape(-1)
    lists, row = np.unique(part * max(1, n_lists) + list_number, return_inverse=True)
    first = _least(row.reshape(-1), positions, kind == IMPRESSION, len(lists))
    n_parts, part_of_list = int(part.max(initial=-1)) + 1, lists // max(1, n_lists)
    at_zero, at_one = (np.bincount(part_of_list[first == p], minlength=n_parts) for p in (0, 1))
    from_zero = (at_zero > 0) & (at_zero >= at_one)
    return np.where((kind == IMPRESSION) & from_zero[part], positions + 1, positions)


def _least(row: Ints, values: Floats, used: Bools, n: int) -> Floats:
    """Return the least value by row, NaN without one."""
    least = np.full(n, np.inf)
    used = used & ~np.isnan(values)
    np.minimum.at(least, row[used], values[used])
    least[np.isinf(least)] = np.nan
    return least


def _list_times(rows: EventRows, merged: _ListRows, n_lists: int) -> Floats:
    """Return the time of the query of each list, otherwise of its first impression."""
    times = _least(merged.list_number, merged.time, np.ones(len(merged.doc), dtype=bool), n_lists)
    for number, time in rows.facts.time.items():
        times[number] = time
    return times


def _reasons(
    rows: EventRows, merged: _ListRows, list_time: Floats, checks: SessionChecks, n_lists: int
) -> Ints:
    """Return the number of the first reason to set each list aside, -1 if there is none."""

    any_row = partial(_any_row, merged, n_lists=n_lists)
    inside, position = merged.is_in_list, merged.position
    is_position = position >= 1
    is_position &= position == np.floor(position)
    n_docs = np.bincount(merged.list_number[inside], minlength=n_lists)
    length = np.array([rows.facts.n_hits.get(i, checks.max_position) for i in range(n_lists)])
    length = np.minimum(length, checks.max_position)
    order = np.lexsort((position, merged.list_number))
    order = order[inside[order]]
    repeats = np.zeros(len(position), dtype=bool)
    repeats[order[1:]] = (merged.list_number[order[1:]] == merged.list_number[order[:-1]]) & (
        position[order[1:]] == position[order[:-1]]
    )
    n_clicked = np.bincount(merged.list_number[inside & merged.is_clicked], minlength=n_lists)
    delay = merged.click_time - list_time[merged.list_number]
    is_mistimed = (delay < -CLOCK_SLACK_SECONDS) | (delay > MAX_CLICK_DELAY_SECONDS)
    wrong: dict[str, Any] = {
        "missing_positions": any_row(inside & ~is_position) | (n_docs == 0),
        "positions_beyond_list": any_row(inside & (position > length[merged.list_number])),
        "repeated_positions": any_row(inside & (repeats | merged.at_two_positions)),
        "position_gaps": any_row(inside & (position > n_docs[merged.list_number])),
        "unshown_clicks": any_row(~inside & merged.is_clicked & ~merged.is_invisible),
        "clock_errors": any_row(is_mistimed),
        "missing_query": np.array([i not in rows.facts.text for i in range(n_lists)], dtype=bool),
        "malformed_clicks": np.isin(np.arange(n_lists), [*rows.facts.malformed]),
        "wrong_base_positions": any_row(_is_wrong_base(merged, checks.max_position)),
        "busy_users": _is_busy(rows, list_time, checks.max_user_sessions, n_lists),
        "clicks_on_everything": (n_docs >= MIN_CLICKED_LIST) & (n_clicked == n_docs),
    }
    reasons = np.full(n_lists, -1)
    names = list(REASONS)
    for name, is_wrong in wrong.items():
        reasons[(reasons < 0) & is_wrong] = names.index(name)
    return reasons


def _is_wrong_base(merged: _ListRows, max_position: int) -> Bools:
    """Return whether the base position of a document is no whole number from 1 on, or not its own."""
    base, has_base = merged.base, merged.is_in_list & ~np.isnan(merged.base)
    is_wrong = has_base & ~((base >= 1) & (base <= max_position) & (base == np.floor(base)))
    order = np.lexsort((base, merged.list_number))
    order = order[has_base[order]]
    one, other = order[1:], order[:-1]
    is_wrong[one] |= (merged.list_number[one] == merged.list_number[other]) & (
        base[one] == base[other]
    )
    return np.asarray(is_wrong)


def _is_busy(rows: EventRows, list_time: Floats, most: int, n_lists: int) -> Bools:
    """Return whether the user of each list has more lists on its day than a person."""
    users = StringCodes.of(
        [None if (u := rows.facts.user.get(i)) is None else str(u) for i in range(n_lists)]
    ).codes
    day = np.nan_to_num(np.floor(list_time / 86_400.0)).astype(np.int64)
    _, visit, counts = np.unique(
        np.stack([users, day]), axis=1, return_inverse=True, return_counts=True
    )
    return np.asarray((users >= 0) & (counts[visit.reshape(-1)] > most))


def _make_sessions(
    rows: EventRows, merged: _ListRows, order: Ints, list_time: Floats
) -> ClickSessions:
    """Return the sessions of these lists, in this order."""
    place = np.full(len(rows.lists), -1)
    place[order] = np.arange(len(order))
    used = np.flatnonzero(merged.is_in_list & (place[merged.list_number] >= 0))
    session = place[merged.list_number[used]]
    used = used[np.lexsort((merged.position[used], session))]
    session = place[merged.list_number[used]]
    groups = Groups.from_sizes(np.bincount(session, minlength=len(order)))
    clicks = np.flatnonzero(merged.is_clicked[used])
    time = np.nan_to_num(merged.click_time[used[clicks]], nan=np.inf)
    clicks = clicks[np.lexsort((clicks, time, session[clicks]))]
    number = np.zeros(len(used), dtype=np.int16)
    runs = Groups.from_sizes(np.bincount(session[clicks], minlength=len(order)))
    number[clicks] = runs.places + 1
    facts, numbers = rows.facts, order.tolist()
    names = StringCodes.of([*map(str, rows.docs)])
    return ClickSessions(
        groups, StringCodes.of([facts.text[i] for i in numbers]),
        _used_names(StringCodes(names.table, names.codes[merged.doc[used]])), number, list_time[order],
        StringCodes.of([facts.variant.get(i) for i in numbers]),
        StringCodes.of([facts.user_class.get(i) for i in numbers]),
        _bases(groups, merged.base[used]),
    )  # fmt: skip


def _used_names(column: StringCodes) -> StringCodes:
    """Return the column with only the names that occur in its table."""
    used, codes = np.unique(column.codes, return_inverse=True)
    return StringCodes(tuple(column.table[i] for i in used.tolist()), codes.reshape(-1))


def _bases(groups: Groups, base: Floats) -> Ints | None:
    """Return positions before the randomisation, 0 in sessions that lack one; None if all do."""
    is_whole = np.asarray(groups.spread(groups.reduce(np.logical_and, ~np.isnan(base))), dtype=bool)
    return np.where(is_whole, base, 0).astype(np.int64) if is_whole.any() else None


def _repeats(sessions: ClickSessions, users: list[Any]) -> Bools:
    """Return whether an earlier session has the same user, query, time, documents and clicks."""
    offsets, is_repeat = sessions.groups.offsets.tolist(), np.zeros(len(sessions), dtype=bool)
    same_time = np.zeros(len(sessions), dtype=bool)  # sessions are sorted by time
    same_time[1:] = sessions.time[1:] == sessions.time[:-1]
    candidates = np.flatnonzero(same_time | np.append(same_time[1:], False))
    earlier: set[tuple[Any, ...]] = set()
    for i in candidates.tolist():
        rows = slice(offsets[i], offsets[i + 1])
        key = (
            users[i], int(sessions.query.codes[i]), float(sessions.time[i]),
            sessions.doc.codes[rows].tobytes(), sessions.click_order[rows].tobytes(),
        )  # fmt: skip
        is_repeat[i] = key in earlier
        earlier.add(key)
    return is_repeat


def _count_quick_repeats(sessions: ClickSessions, users: list[Any]) -> int:
    """Return how many sessions repeat one of the same user that came less than QUICK_SECONDS before."""
    offsets, times = sessions.groups.offsets.tolist(), sessions.time.tolist()
    clicked_lists = np.unique(sessions.groups.codes[sessions.clicked])
    latest: dict[tuple[Any, ...], float] = {}
    n_repeats = 0
    for i in clicked_lists.tolist():  # in the order of their times
        if users[i] is None or times[i] != times[i]:
            continue
        rows = slice(offsets[i], offsets[i + 1])
        key = (
            users[i], int(sessions.query.codes[i]), sessions.doc.codes[rows].tobytes(),
            sessions.click_order[rows].tobytes(),
        )  # fmt: skip
        n_repeats += times[i] - latest.get(key, -np.inf) < QUICK_SECONDS
        latest[key] = times[i]
    return n_repeats


def _counts(rows: EventRows, sessions: ClickSessions, more: dict[str, int]) -> SessionCounts:
    shares = np.bincount(sessions.query.codes, minlength=1) / max(1, len(sessions))
    largest = int(np.argmax(shares))
    has_base = sessions.has_base
    has_clicks = np.bincount(sessions.groups.codes[sessions.clicked], minlength=len(sessions)) > 0
    return SessionCounts(
        records=rows.counts["records"], sessions=len(sessions), malformed=rows.counts["malformed"],
        duplicates=_count_duplicates(rows), largest_query_share=float(shares[largest]),
        largest_query=sessions.query.table[largest] if len(sessions) else "",
        without_base_positions=int((~has_base).sum()) if has_base.any() else 0,
        with_clicks=int(has_clicks.sum()), **more,
    )  # fmt: skip


def _count_duplicates(rows: EventRows) -> int:
    """Return the number of events that repeat an earlier record: its id, or all its fields."""
    used = rows.column("kind") != HIT
    key = rows.column("record_key")[used].astype(np.uint64)
    fields = np.zeros(len(key), dtype=np.uint64)
    for name in ("list_number", "doc", "kind", "position", "time"):
        values = np.nan_to_num(rows.column(name)[used].astype(np.float64), nan=-1.0)
        fields = (fields ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        fields ^= fields >> np.uint64(29)
    timed = ~np.isnan(rows.column("time")[used]) | (key != 0)
    keys = np.where(key != 0, key, fields)[timed]
    return len(keys) - len(np.unique(keys))
