"""PairAnswers: the answers about each pair of documents in arrays; tied documents count as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from podium.labelling.judgments import DocumentId, Judgment
from podium.typing import Bools, Ints, Rows


@dataclass(frozen=True, eq=False)
class PairAnswers:
    """Answers by pair.

    Parameters
    ----------
    tied
        Documents by number, in groups: two documents with more ties than preferences between them share
        a group. Groups are in the order of their first documents.
    group
        The group of each document.
    first, second
        The groups of each judged pair, ``first < second``.
    pair, is_first
        Per preference: its pair, and whether it prefers the first group.
    side
        Per preference: 1 if the preferred document was left, -1 if it was right, 0 if nobody recorded it.
    assessor
        Per preference: the number of its assessor.
    n_assessors
        How many assessors there are, at least 1.
    """

    tied: tuple[tuple[int, ...], ...]
    group: Rows
    first: Rows
    second: Rows
    pair: Rows
    is_first: Bools
    side: Ints
    assessor: Rows
    n_assessors: int


def collect_answers(documents: Sequence[DocumentId], judgments: Iterable[Judgment]) -> PairAnswers:
    """Return the preferences among judgments, by pair of tied groups.

    Examples
    --------
    >>> answers = collect_answers("abc", [Judgment("a", "b", "~"), Judgment("c", "b", ">")])
    >>> answers.tied, answers.first, answers.second, answers.is_first
    (((0, 1), (2,)), array([0]), array([1]), array([False]))
    """
    number = {document: i for i, document in enumerate(documents)}
    logged = list(judgments)
    tied = _tied_groups(len(documents), number, logged)
    group = np.empty(len(documents), dtype=np.int64)
    for g, members in enumerate(tied):
        group[list(members)] = g
    pairs: dict[tuple[int, int], int] = {}
    assessors: dict[str | None, int] = {}
    rows = []
    for judgment in logged:
        if judgment.answer not in (">", "<"):
            continue
        winner, loser = judgment.a, judgment.b
        if judgment.answer == "<":
            winner, loser = loser, winner
        one, two = int(group[number[winner]]), int(group[number[loser]])
        if one == two:
            continue
        pair = pairs.setdefault((min(one, two), max(one, two)), len(pairs))
        side = 0 if judgment.left is None else 1 if judgment.left == winner else -1
        assessor = assessors.setdefault(judgment.assessor, len(assessors))
        rows.append((pair, one < two, side, assessor))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
    ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T.copy()
    return PairAnswers(
        tied, group, ends[0], ends[1], columns[0], columns[1].astype(bool), columns[2], columns[3],
        max(1, len(assessors)),
    )  # fmt: skip


def _tied_groups(
    n: int, number: dict[DocumentId, int], judgments: Sequence[Judgment]
) -> tuple[tuple[int, ...], ...]:
    """Return documents in groups: a tie joins two documents if most answers about them are ties."""
    if all(judgment.answer != "~" for judgment in judgments):
        return tuple((i,) for i in range(n))
    lead: Counter[tuple[int, int]] = Counter()
    for judgment in judgments:
        if judgment.answer != "bad":
            i, j = sorted((number[judgment.a], number[judgment.b]))
            lead[i, j] += 1 if judgment.answer == "~" else -1
    head = list(range(n))
    for (i, j), ties in lead.items():
        if ties > 0 and head[i] != head[j]:
            low, high = sorted((head[i], head[j]))
            head = [low if h == high else h for h in head]
    groups: dict[int, list[int]] = {}
    for i, h in enumerate(head):
        groups.setdefault(h, []).append(i)
    return tuple(map(tuple, groups.values()))
