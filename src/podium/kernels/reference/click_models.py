"""Click models: one EM step of the two families, over counts by context and over whole sessions."""

from __future__ import annotations

import itertools
from math import log

import numpy as np

from podium.typing import Bools, Floats, Rows


def click_cells_pass(
    pair_offsets: Rows, context: Rows, impressions: Floats, clicks: Floats, attraction: Floats,
    examination: Floats,
) -> tuple[Floats, Floats, float]:  # fmt: skip
    """Return expected attractions by pair, expected examinations by context, and the log-likelihood.

    A cell is a pair (its cells are ``pair_offsets[p]:pair_offsets[p + 1]``) in a context, with
    P(click) = examination[context] * attraction[pair]. Without a click, P(attracted) = a (1 - e) / (1 - e a),
    and P(examined) = e (1 - a) / (1 - e a).
    """
    attracted, examined = np.zeros(len(attraction)), np.zeros(len(examination))
    log_likelihood = 0.0
    for pair, (first, last) in enumerate(itertools.pairwise(pair_offsets.tolist())):
        a = float(attraction[pair])
        for cell in range(first, last):
            e = float(examination[context[cell]])
            clicked, skipped = float(clicks[cell]), float(impressions[cell] - clicks[cell])
            missed = max(1 - e * a, 1e-300)
            attracted[pair] += clicked + skipped * (a * (1 - e) / missed)
            examined[context[cell]] += clicked + skipped * (e * (1 - a) / missed)
            log_likelihood += clicked * log(max(e * a, 1e-300)) if clicked else 0.0
            log_likelihood += skipped * log(missed) if skipped else 0.0
    return attracted, examined, log_likelihood


def click_chain_pass(
    pair: Rows, clicked: Bools, weight: Floats, offsets: Rows, query_offsets: Rows,
    attraction: Floats, stopping: Floats, continuation: float, by_rank: bool,
) -> tuple[Floats, Floats, Floats, float]:  # fmt: skip
    """Return expected examinations by pair, stops by code, [continuations, chances] and the log-likelihood.

    A user examines the list from the top. After a click the user stops with probability
    ``stopping[code]``; else, and after a skip, the user goes on with probability `continuation`.
    The code is the place of the document (`by_rank`) or its pair. ``query_offsets`` are the sessions of
    each query; a pair occurs in one query only.
    """
    examined, stopped = np.zeros(len(attraction)), np.zeros(len(stopping))
    went_on, log_likelihood = np.zeros(2), 0.0
    for session, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        rows = pair[first:last]
        codes = np.arange(last - first) if by_rank else rows
        log_likelihood += float(weight[session]) * _add_session(
            rows, codes, clicked[first:last].tolist(), float(weight[session]), attraction, stopping,
            continuation, (examined, stopped, went_on),
        )  # fmt: skip
    return examined, stopped, went_on, log_likelihood


def _add_session(
    rows: Rows, codes: Rows, clicked: list[bool], weight: float, attraction: Floats, stopping: Floats,
    continuation: float, sums: tuple[Floats, Floats, Floats],
) -> float:  # fmt: skip
    """Add the expectations of one session to the sums; return its log-likelihood."""
    examined, stopped, went_on = sums
    n = len(rows)
    end = n - clicked[::-1].index(True) if True in clicked else 0  # the rows up to the last click
    # quiet[i]: the probability of no click from row i on, if row i is examined
    quiet = np.ones(n + 1)
    for i in range(n - 1, end - 1, -1):
        after = quiet[i + 1] if i + 1 == n else 1 - continuation + continuation * quiet[i + 1]
        quiet[i] = (1 - attraction[rows[i]]) * after
    log_likelihood = 0.0
    for i in range(end):
        examined[rows[i]] += weight
        log_likelihood += log(
            max(attraction[rows[i]] if clicked[i] else 1 - attraction[rows[i]], 1e-300)
        )
        if i + 1 < end:
            log_likelihood += log(max(continuation * (1 - stopping[codes[i]] * clicked[i]), 1e-300))
            went_on += weight
    probability = 1.0  # of examining row `end`
    if end == n:  # after the last row nothing can be observed: the stop keeps its probability
        if n:
            stopped[codes[n - 1]] += weight * stopping[codes[n - 1]]
        return log_likelihood
    if end:
        stop = stopping[codes[end - 1]]
        silence = stop + (1 - stop) * (1 - continuation + continuation * quiet[end])
        log_likelihood += log(max(silence, 1e-300))
        share = 1 / max(silence, 1e-300)
        stopped[codes[end - 1]] += weight * (stop * share)
        probability = (1 - stop) * continuation * quiet[end] * share
        went_on += weight * np.array([probability, 1 - stop * share])
    else:
        log_likelihood += log(max(quiet[0], 1e-300))
    for i in range(end, n):
        examined[rows[i]] += weight * probability
        if i + 1 < n:
            chance = probability
            total = max(1 - continuation + continuation * quiet[i + 1], 1e-300)
            probability *= continuation * quiet[i + 1] / total
            went_on += weight * np.array([probability, chance])
    return log_likelihood
