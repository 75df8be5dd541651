"""Generated UBI logs that carry all eight factors, and the true factors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Groups, RankingData, check_seed, make_synthetic
from podium.data.atomic_files import atomic_writer
from podium.errors import UsageError
from podium.feedback.dwell_time import CLOSED_WITHIN_SECONDS
from podium.feedback.factors import FACTORS
from podium.typing import Floats, Path_

START_MS = 1_740_000_000_000
"""The start of generated logs, in milliseconds since 1970."""

CLICK_CHANCES = (0.05, 0.4, 0.8)
"""The probability of a click on a document with label 0, 1, 2."""

_CHANCES_AFTER_CLICK = {"bookmark": 0.15, "download": 0.1, "share": 0.1}
"""The probability of each action after a click on a relevant document."""


@dataclass(frozen=True, eq=False)
class GeneratedLog:
    """The records of a log in the order of their times, and the true factors.

    `reactions` has the reactions to each document, in the order of ``FACTORS``, and `factors` has
    their means by list. Both come from the random draws, not from reading the log.
    """

    records: tuple[dict[str, Any], ...]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    groups: Groups
    docids: tuple[str, ...]
    reactions: Floats

    @property
    def factors(self) -> Floats:
        """mu_1..mu_8 of each list."""
        return np.asarray(self.groups.reduce(np.add, self.reactions) / self.groups.sizes[:, None])

    def lines(self, *, bulk: bool = False) -> Iterator[str]:
        """Yield the log as NDJSON; in bulk form with action lines and ids."""
        for number, record in enumerate(self.records):
            if bulk:
                index = "ubi_events" if "action_name" in record else "ubi_queries"
                record_id = f"{self.query_ids[0]}-{number}"
                yield json.dumps({"index": {"_index": index, "_id": record_id}})
            yield json.dumps(record, ensure_ascii=False)

    def write(self, path: Path_, *, bulk: bool = False) -> None:
        """Write the log to a file, compressed according to its ending."""
        with atomic_writer(path) as write:
            for line in self.lines(bulk=bulk):
                write(line.encode("utf-8", "backslashreplace") + b"\n")


def make_log(
    data: RankingData | None = None,
    *,
    n_lists: int = 100,
    depth: int = 10,
    user_class: str | None = None,
    clicks: Sequence[float] = CLICK_CHANCES,
    closed_within: float = CLOSED_WITHIN_SECONDS,
    start: int = START_MS,
    seed: int = 0,
) -> GeneratedLog:
    """Generate a log of users who see lists in random order and click relevant documents.

    Each list is a random query of `data` with `depth` of its documents. The label of a document
    determines the probability of a click. A click opens the page (view); the user leaves it
    (page_exit) after a dwell time that is long for relevant documents and mostly short for others.
    A return to the list, a bookmark, a download or a share may follow. The text of a list is the
    query's text, or its qid.

    Parameters
    ----------
    data
        Queries, document ids and labels; ``make_synthetic(20, seed=seed)`` by default.
    user_class
        The value of ``query_attributes.user_class``.
    clicks
        The probability of a click by label 0, 1, 2, ...; higher labels use the last one.
    start
        Milliseconds since 1970 of the first query; lists are a minute apart.

    Examples
    --------
    >>> log = make_log(n_lists=3, seed=1)
    >>> log.factors.shape, len(log.records)
    ((3, 8), 53)
    >>> next(log.lines())[:65]
    '{"query_id": "l1-1", "user_query": "q10", "client_id": "u1", "tim'
    """
    check_seed(seed)
    chance = np.asarray(clicks, dtype=np.float64)
    if n_lists < 1 or depth < 1:
        raise UsageError(
            f"expected 1 list or more of 1 document or more, got {n_lists} and {depth}"
        )
    if chance.ndim != 1 or len(chance) == 0 or not ((chance >= 0) & (chance <= 1)).all():
        raise UsageError(
            f"expected probabilities of a click in [0, 1], one per label, got {clicks}"
        )
    data = make_synthetic(20, seed=seed) if data is None else data
    docids = data.require_docids("a generated log")
    rng = np.random.default_rng(seed)
    texts = data.qids.tolist() if data.query_text is None else list(data.query_text)
    records: list[dict[str, Any]] = []
    sizes, documents, reactions, queries = [], [], [], []
    for number in range(1, n_lists + 1):
        q = int(rng.integers(data.n_queries))
        rows = np.arange(*data.groups.offsets[q : q + 2])
        rows = rng.permutation(rows)[:depth]
        names = [docids[row] for row in rows.tolist()]
        labels = np.minimum(data.y[rows].astype(np.int64), len(chance) - 1)
        user = _User(f"l{seed}-{number}", texts[q], start + 60_000 * number, closed_within, rng)
        user.search(names, user_class)
        reactions.append(user.browse(names, labels, chance[labels]))
        records += sorted(user.records, key=lambda record: str(record["timestamp"]))
        sizes.append(len(names))
        documents += names
        queries.append(texts[q])
    return GeneratedLog(
        tuple(records), tuple(f"l{seed}-{n}" for n in range(1, n_lists + 1)), tuple(queries),
        Groups.from_sizes(sizes), tuple(documents), np.concatenate(reactions),
    )  # fmt: skip


class _User:
    """The user of one list, and the records of the user's actions."""

    def __init__(
        self, query_id: str, text: str, now: int, closed_within: float, rng: np.random.Generator
    ) -> None:
        self.query_id, self.text, self.now = query_id, text, now
        self.closed_within, self.rng = closed_within, rng
        self.client = f"u{query_id.rpartition('-')[2]}"
        self.records: list[dict[str, Any]] = []

    def search(self, names: list[str], user_class: str | None) -> None:
        """Record the query and the impressions."""
        attributes = {} if user_class is None else {"user_class": user_class}
        self.records.append(
            {
                "query_id": self.query_id, "user_query": self.text, "client_id": self.client,
                "timestamp": _iso(self.now), "query_attributes": attributes,
                "query_response_hit_ids": names,
            }
        )  # fmt: skip
        for place, name in enumerate(names, start=1):
            self.now += 1
            self.event("impression", name, place)

    def event(self, action: str, document: str | None, place: int, **attributes: Any) -> None:
        """Record one event on a document or on the list."""
        event_attributes: dict[str, Any] = {"position": {"ordinal": place}, **attributes}
        if document is not None:
            event_attributes["object"] = {"object_id": document, "object_id_field": "id"}
        self.records.append(
            {
                "action_name": action, "query_id": self.query_id, "client_id": self.client,
                "user_query": self.text, "timestamp": _iso(self.now),
                "event_attributes": event_attributes,
            }
        )  # fmt: skip

    def browse(self, names: list[str], labels: NDArray[np.int64], chance: Floats) -> Floats:
        """Click down the list; return the reactions to each document."""
        clicked = np.flatnonzero(self.rng.random(len(names)) < chance).tolist()
        reactions = np.zeros((len(names), len(FACTORS)))
        reactions[: max(clicked, default=0), FACTORS.index("ignored")] = 1.0
        reactions[clicked, FACTORS.index("ignored")] = 0.0
        for i in clicked:
            self.now += int(self.rng.integers(500, 3000))
            self._open(names[i], i + 1, bool(labels[i] > 0), reactions[i])
        return reactions

    def _open(self, name: str, place: int, good: bool, reactions: Floats) -> None:
        """Click a document, stay, perhaps use it, leave it, perhaps go back."""
        rng, count = self.rng, {factor: j for j, factor in enumerate(FACTORS)}
        self.event("click", name, place)
        reactions[count["clicks"]] += 1
        self.now += 50
        self.event("view", name, place)
        opened = self.now
        stay = 1 + int(rng.exponential(40_000 if good or rng.random() < 0.3 else 2_500))
        for action, share in _CHANCES_AFTER_CLICK.items():
            if good and rng.random() < share:
                self.now = opened + int(rng.integers(stay))
                self.event(action, name, place)
                reactions[count[f"{action}s"]] += 1
        self.now = opened + stay
        stated = {"dwell_ms": stay} if rng.random() < 0.5 else {}
        self.event("page_exit", name, place, **stated)
        reactions[count["dwell"]] += stay / 1e3
        reactions[count["closed"]] += stay / 1e3 <= self.closed_within
        if rng.random() < (0.3 if good else 0.8):
            self.now += 100
            self.event("serp_return", name, place)
            reactions[count["back"]] += 1


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
