"""ExperimentLog: the outcome of each list of an experiment, from event logs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from podium.clicks.experiment_records import ExperimentMethod, ListRecord
from podium.clicks.interleaving import InterleavedList, outcome_of_rows
from podium.data.text_files import Progress, read_blocks
from podium.errors import EmptyDataError, UsageError
from podium.feedback.actions import ACTIONS, KIND_CODES, kind_codes
from podium.feedback.ubi_fields import identifier_of, seconds_of
from podium.typing import Floats, Ints, Path_

OTHER_SETTINGS = "lists of other settings"
"""Lists of an experiment whose models, method, unit, shares or seed are not those of most of its lists."""


class _ClickObject(msgspec.Struct, gc=False):
    object_id: str | int | None = None


class _ClickAttributes(msgspec.Struct, gc=False):
    object: _ClickObject | None = None


class _ClickLine(msgspec.Struct, gc=False):
    action_name: str | None = None
    query_id: str | int | None = None
    event_attributes: _ClickAttributes | None = None


@dataclass(frozen=True, eq=False)
class ExperimentLog:
    """The lists of one experiment, in the order of their times, and what their clicks say.

    Parameters
    ----------
    name, method, models
        Of the experiment; the second model challenges the first.
    unit
        The number of the session, user or list of each list, by first appearance.
    outcome
        For interleaving, the outcome of each list, from -1 to 1 (see `outcome`). For A/B tests, 1 if a
        document was clicked and 0 if none was.
    arm
        For A/B tests, 0 or 1 for each list.
    share
        For A/B tests, the share of arm 1.
    counts
        What was read and what was left out, by name.
    """

    name: str
    method: ExperimentMethod
    models: tuple[str, str]
    unit: Ints
    outcome: Floats
    arm: Ints
    share: float
    counts: Mapping[str, int]
    rules: tuple[tuple[str, ...], ...] = ()
    """The rules that were on for each list, in either arm; empty if no arm was without rules."""

    def lists_of_rule(self, rule: str) -> ExperimentLog:
        """Return the lists for which a rule was on."""
        rows = np.array([at for at, own in enumerate(self.rules) if rule in own], dtype=np.int64)
        numbers: dict[int, int] = {}
        unit = [numbers.setdefault(one, len(numbers)) for one in self.unit[rows].tolist()]
        return replace(
            self, unit=np.array(unit, dtype=np.int64), outcome=self.outcome[rows], arm=self.arm[rows],
            counts={}, rules=(),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.unit)


@dataclass
class _LogRows:
    """Lists of one experiment, as they are read."""

    first: ListRecord
    settings: Counter[tuple[object, ...]] = field(default_factory=Counter)
    unit: list[str] = field(default_factory=list)
    outcome: list[float] = field(default_factory=list)
    arm: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    rules: list[tuple[str, ...]] = field(default_factory=list)


def read_experiment(
    paths: Path_ | Sequence[Path_],
    name: str | None = None,
    *,
    actions: Mapping[str, str] = ACTIONS,
    progress: Progress | None = None,
) -> ExperimentLog:
    """Read the lists of an experiment and their clicks from the event logs of ``podium serve``.

    The order of lines does not matter. A list that was answered several times counts once.

    Parameters
    ----------
    paths
        Logs of events, and of lists (``events-lists.ndjson``).
    name
        The experiment; it may be left out if the logs have only one.
    actions
        Names of actions -> kinds; only clicks are used.
    """
    names = [os.fspath(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    counts: Counter[str] = Counter()
    clicks = _read_clicks(names, actions, counts, progress)
    rows, list_ids = _read_lists(names, clicks, counts, progress)
    experiments = sorted(rows)
    if not rows:
        raise EmptyDataError(
            "expected lists of an experiment, got none; podium serve writes them to a log of its own, "
            "such as events-lists.ndjson: give both logs, or their folder"
        )
    if name is None and len(experiments) > 1:
        raise UsageError(
            f"expected the name of an experiment, got logs of several: {', '.join(experiments)}"
        )
    chosen = experiments[0] if name is None else name
    if chosen not in rows:
        raise UsageError(
            f"expected an experiment of the logs ({', '.join(experiments)}), got {chosen!r}"
        )
    counts[OTHER_SETTINGS] = sum(rows[chosen].settings.values()) - max(
        rows[chosen].settings.values()
    )
    counts["clicks on unknown lists"] = sum(
        len(docs) for q, docs in clicks.items() if q not in list_ids
    )
    return _assemble(chosen, rows[chosen], counts)


def _assemble(name: str, rows: _LogRows, counts: Counter[str]) -> ExperimentLog:
    order = np.argsort(np.nan_to_num(rows.time, nan=np.inf), kind="stable")
    numbers: dict[str, int] = {}
    unit = [numbers.setdefault(rows.unit[i], len(numbers)) for i in order.tolist()]
    attributes = rows.first.query_attributes
    assert attributes.method is not None
    assert attributes.models is not None
    return ExperimentLog(
        name, attributes.method, attributes.models, np.array(unit, dtype=np.int64),
        np.array(rows.outcome)[order], np.array(rows.arm)[order], attributes.share, dict(counts),
        tuple(rows.rules[i] for i in order.tolist()) if any(rows.rules) else (),
    )  # fmt: skip


def _read_clicks(
    paths: Sequence[str],
    actions: Mapping[str, str],
    counts: Counter[str],
    progress: Progress | None,
) -> dict[str, set[str]]:
    """Return the clicked documents of each query id."""
    codes = kind_codes(actions)
    names = {action for action, code in codes.items() if code == KIND_CODES["click"]}
    clicks: dict[str, set[str]] = {}
    for line in _lines(paths, _ClickLine, counts, progress):
        if line.action_name not in names:
            continue
        attributes = line.event_attributes
        item = None if attributes is None or attributes.object is None else attributes.object
        doc, query = identifier_of(item and item.object_id), identifier_of(line.query_id)
        if doc is None or query is None:
            counts["malformed lines"] += 1
            continue
        counts["clicks"] += 1
        clicks.setdefault(query, set()).add(doc)
    return clicks


def _read_lists(
    paths: Sequence[str], clicks: Mapping[str, Collection[str]], counts: Counter[str],
    progress: Progress | None,
) -> tuple[dict[str, _LogRows], set[str]]:  # fmt: skip
    """Return the lists of each experiment, and the ids of all lists."""
    rows: dict[str, _LogRows] = {}
    list_ids: set[str] = set()
    for record in _lines(paths, ListRecord, Counter(), progress, b'"experiment"'):
        attributes = record.query_attributes
        if attributes.experiment is None or attributes.method is None or not attributes.models:
            continue
        if record.query_id in list_ids:
            counts["repeated lists"] += 1
            continue
        list_ids.add(record.query_id)
        own = rows.setdefault(attributes.experiment, _LogRows(record))
        own.settings[attributes.settings] += 1
        clicked = clicks.get(record.query_id, ())
        counts["clicks on documents that the list lacks"] += len(
            set(clicked) - set(record.query_response_hit_ids)
        )
        _add_list(own, record, clicked)
    return rows, list_ids


def _add_list(own: _LogRows, record: ListRecord, clicked: Collection[str]) -> None:
    attributes, docs = record.query_attributes, record.query_response_hit_ids
    at = [row for row, doc in enumerate(docs) if doc in clicked] if clicked else []
    if attributes.method == "ab":
        value = float(bool(at))
    else:
        n = len(docs)
        teams = (attributes.teams or ())[:n]
        teams += (-1,) * (n - len(teams))
        value = outcome_of_rows(
            InterleavedList(docs, teams, attributes.credits, attributes.ranks), at
        )
    identity = {"session": record.session_id, "user": record.client_id}.get(attributes.unit)
    own.unit.append(f"list {record.query_id}" if identity is None else identity)
    own.outcome.append(value)
    own.arm.append(attributes.arm or 0)
    own.rules.append(attributes.rules or ())
    own.time.append(seconds_of(record.timestamp))


def _lines(
    paths: Sequence[str], kind: Any, counts: Counter[str], progress: Progress | None,
    needle: bytes | None = None,
) -> Iterator[Any]:  # fmt: skip
    """Yield the lines of logs, decoded; with a needle, only those that contain it."""
    decoder = msgspec.json.Decoder(kind)
    for path in paths:
        for block in read_blocks(path):
            text = block.tobytes()
            for line in text.split(b"\n"):
                if not line.strip() or (needle is not None and needle not in line):
                    continue
                try:
                    yield decoder.decode(line)
                except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError):
                    counts["malformed lines"] += 1
            if progress is not None:
                progress(len(text))
