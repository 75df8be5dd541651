"""Documents to places within windows, none before one that it must follow."""

from __future__ import annotations

from heapq import heappop, heappush

from podium.postranking.places.demands import Demands
from podium.postranking.places.windows import Precedence, Windows


def fill_precedences(demands: Demands, windows: Windows, n: int) -> list[int] | None:
    """The places of the named documents; None where windows leave no room.

    Place by place the document that must come soonest; where nothing is urgent, the best that nothing
    must precede. Windows that follow from the precedences make earliest-deadline-first meet them
    (Jackson 1955; Lageweg, Lenstra 1976).
    """
    m = len(demands.named)
    precedences = [demand for demand in demands.demands if isinstance(demand, Precedence)]
    opens: list[list[int]] = [[] for _ in range(m)]
    waits = [0] * m
    for number, precedence in enumerate(precedences):
        for i in precedence.above:
            opens[i].append(number)
        for i in precedence.below:
            waits[i] += 1
    missing = [len(precedence.above) for precedence in precedences]
    first, last, named = windows.first, windows.last, demands.named
    urgent_from = _urgent_from(last, n)
    released = sorted(range(m), key=first.__getitem__)
    place = [0] * m
    by_deadline: list[tuple[int, int]] = []
    by_score: list[int] = []
    coming, free, taken = 0, 0, set(named)

    def ready(i: int) -> None:
        heappush(by_deadline, (last[i], i))
        heappush(by_score, i)

    for p in range(1, n + 1):
        while coming < m and first[released[coming]] <= p:
            if not waits[released[coming]]:
                ready(released[coming])
            coming += 1
        while by_deadline and place[by_deadline[0][1]]:
            heappop(by_deadline)
        while by_score and place[by_score[0]]:
            heappop(by_score)
        while free in taken:
            free += 1
        if by_deadline and urgent_from[by_deadline[0][1]] <= p:
            i = by_deadline[0][1]
        elif by_score and (free >= n or named[by_score[0]] < free):
            i = by_score[0]
        elif free < n:
            free += 1
            continue
        else:
            return None
        if last[i] < p:
            return None
        place[i] = p
        for number in opens[i]:
            missing[number] -= 1
            if not missing[number]:
                for j in precedences[number].below:
                    waits[j] -= 1
                    if not waits[j] and first[j] <= p:
                        ready(j)
    return place


def _urgent_from(last: list[int], n: int) -> list[int]:
    """The place from which on each is urgent: later, it and those due with it or before fill the rest."""
    urgent = [n] * len(last)
    start = n + 1
    for i in sorted(range(len(last)), key=lambda i: -last[i]):
        start = min(last[i], start - 1) if last[i] < n else start
        urgent[i] = start if last[i] < n else n
    return urgent
