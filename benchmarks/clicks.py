"""Clicks: events read per second, EM against plain Python, and how well the truth is recovered.

``python -m benchmarks clicks --processor`` takes about fifteen minutes of processor time. Each finished part
is kept in build/clicks-parts, so that an interrupted run continues; remove the folder to measure anew. The
variable PODIUM_CLICKS_PARTS ("coverage") limits what is measured to parts whose name begins so.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import podium
from benchmarks import click_coverage, click_experiments, memory
from benchmarks.kept_parts import KeptParts, Part
from benchmarks.measure import Report, Row, Timing, speedup
from podium.clicks import (
    ClickSessions,
    FitSettings,
    estimate_propensities,
    fit_click_model,
    load_sessions,
    read_sessions,
    save_sessions,
    simulate,
)
from podium.feedback import make_log
from podium.kernels import reference

TARGET_RATE = 300_000
"""Events per second on one thread."""
TARGET_SPEEDUP = 50
DRAWS = 1000
PARTS = memory.ROOT / "build" / "clicks-parts"


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    draws, n_sessions = (4, 20_000) if quick else (DRAWS, 1_000_000)
    report = Report(
        "clicks", "Clicks: sessions, click models, propensities, experiments", {"draws": draws}
    )
    parts = KeptParts(None if quick else PARTS, os.environ.get("PODIUM_CLICKS_PARTS", ""))
    parts.add(report, "reading", partial(_reading, 500 if quick else 20_000, 3))
    parts.add(report, "large log", partial(_large_log, n_sessions))
    for name, plain in (("pbm", plain_pbm), ("dbn", plain_dbn)):
        parts.add(report, f"fit {name}", partial(_fit, name, plain, 300 if quick else 20_000))
    for name, measure in (click_coverage.parts(draws) | click_experiments.parts(draws)).items():
        parts.add(report, name, measure)
    return report


def _reading(n_lists: int, repeats: int) -> Part:
    part, log = Part(), make_log(n_lists=n_lists, seed=0)
    n_events = sum("action_name" in record for record in log.records)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        for name, bulk in (("plain", False), ("bulk", True)):
            path = Path(folder) / f"{name}.ndjson"
            log.write(path, bulk=bulk)
            seconds = [_timed(partial(read_sessions, path))[1] for _ in range(repeats)]
            rate = n_events / float(np.median(seconds))
            unit = "events per processor second"
            part.rows.append(Row(f"read UBI, {name}", rate, unit=unit, at_least=TARGET_RATE))
    return part


def _large_log(n_sessions: int) -> Part:
    """Measure the steps on 10^6 sessions by processor time, once."""
    data = podium.make_synthetic(n_queries=784, n_docs=(8, 14), n_features=6, seed=1)
    sessions, seconds = _timed(lambda: simulate(data, 0, "pbm", n_sessions, swap=0.05, seed=1))
    what = f"{n_sessions:,} sessions, {sessions.groups.n_rows:,} impressions"
    rows = {"simulate": seconds}
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        path = Path(folder) / "log.clicks"
        rows["save"] = _timed(lambda: save_sessions(sessions, path))[1]
        rows["load"] = _timed(lambda: load_sessions(path))[1]
    for model in ("pbm", "ubm", "dbn"):
        rows[f"fit {model}"] = _timed(partial(fit_click_model, sessions, model))[1]
    for name, method in (("from swaps", "swaps"), ("by harvesting", "harvest")):
        rows[f"propensities {name}"] = _timed(partial(estimate_propensities, sessions, method))[1]
    table = [["step", "processor seconds"], *([name, f"{s:.2f}"] for name, s in rows.items())]
    return Part(tables=[table], notes=[f"The table of steps: {what}."])


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


# --- EM in plain Python


def plain_pbm(sessions: ClickSessions, goal: float, max_steps: int = 2000) -> tuple[float, int]:
    """Fit the position-based model as a loop over sessions and documents.

    The start is podium's, and there is no prior. It stops at a log-likelihood of `goal`; return the
    log-likelihood and the number of steps.
    """
    lists = _plain_lists(sessions)
    rate = float(sessions.clicked.mean())
    attraction = defaultdict(lambda: min(0.5, math.sqrt(rate)))
    examination = _plain_rank_rates(lists)
    value, steps = -math.inf, 0
    while value < goal and steps < max_steps:
        drawn, times = defaultdict(float), defaultdict(int)
        looked, shown_at = defaultdict(float), defaultdict(int)
        value, steps = 0.0, steps + 1
        for query, documents, clicks in lists:
            for rank, (document, clicked) in enumerate(zip(documents, clicks, strict=True)):
                pair = query, document
                a, e = attraction[pair], examination[rank]
                times[pair] += 1
                shown_at[rank] += 1
                if clicked:
                    drawn[pair] += 1
                    looked[rank] += 1
                    value += math.log(a * e)
                else:
                    missed = 1 - a * e
                    drawn[pair] += a * (1 - e) / missed
                    looked[rank] += e * (1 - a) / missed
                    value += math.log(missed)
        for pair, n in times.items():
            attraction[pair] = min(max(drawn[pair] / n, 1e-9), 1 - 1e-9)
        for rank, n in shown_at.items():
            examination[rank] = min(max(looked[rank] / n, 1e-9), 1 - 1e-9)
    return value, steps


def _plain_rank_rates(lists: list[tuple[int, list[int], list[bool]]]) -> dict[int, float]:
    """Return .9 times the click rate of each rank, over the greatest rate."""
    clicks, shown_at = defaultdict(int), defaultdict(int)
    for _, _, clicked in lists:
        for rank, is_clicked in enumerate(clicked):
            clicks[rank] += is_clicked
            shown_at[rank] += 1
    rates = {rank: (clicks[rank] + 0.1) / (n + 1) for rank, n in shown_at.items()}
    return {rank: 0.9 * rate / max(rates.values()) for rank, rate in rates.items()}


def plain_dbn(sessions: ClickSessions, goal: float, max_steps: int = 2000) -> tuple[float, int]:
    """Fit the DBN by EM over the kernel's twin, a loop over sessions and documents; without a prior."""
    by_query, queries = sessions.by_query()
    pairs, pair = by_query.pairs
    n, rate = len(pairs), float(by_query.clicked.mean())
    clicks = np.bincount(pair, weights=by_query.clicked, minlength=n)
    attraction, stopping, continuation = np.full(n, rate), np.full(n, 0.5), 0.5
    value, steps = -math.inf, 0
    while value < goal and steps < max_steps:
        examined, stopped, went_on, value = reference.click_chain_pass(
            pair, by_query.clicked, np.ones(len(by_query)), by_query.groups.offsets, queries.offsets,
            attraction, stopping, continuation, False,
        )  # fmt: skip
        steps += 1
        attraction = np.clip(clicks / np.maximum(examined, 1e-300), 1e-9, 1 - 1e-9)
        stopping = np.clip(stopped / np.maximum(clicks, 1e-300), 1e-9, 1 - 1e-9)
        continuation = float(went_on[0] / went_on[1])
    return value, steps


def _plain_lists(sessions: ClickSessions) -> list[tuple[int, list[int], list[bool]]]:
    bounds = sessions.groups.offsets.tolist()
    docs, clicked = sessions.doc.codes.tolist(), sessions.clicked.tolist()
    return [
        (query, docs[a:b], clicked[a:b])
        for query, a, b in zip(sessions.query.codes.tolist(), bounds, bounds[1:], strict=False)
    ]


def _fit(name: str, plain: Callable[..., tuple[float, int]], n_sessions: int) -> Part:
    """Time a fit against plain Python that stops at the same log-likelihood, to 10^-5 of it."""
    data = podium.make_synthetic(n_queries=100, n_docs=10, n_features=4, seed=1)
    settings = FitSettings(smoothing=0)
    sessions = simulate(data, 0, name, n_sessions, swap=0.2, seed=1)
    summary = fit_click_model(sessions, name, settings=settings).summary
    assert summary is not None
    value = summary.log_likelihood
    goal = value - 1e-5 * abs(value)
    (reached, steps), seconds = _timed(lambda: plain(sessions, goal))
    ours = [
        _timed(partial(fit_click_model, sessions, name, settings=settings))[1] for _ in range(7)
    ]
    theirs = Timing(f"plain Python, {name}", seconds, (seconds,))
    what = f"EM of {name}, {n_sessions:,} sessions"
    own = Timing(f"fit {name}", ours[0], tuple(ours))
    row = speedup(what, own, theirs, at_least=TARGET_SPEEDUP)
    note = (
        f"{name}: log-likelihood {value:.2f} after {summary.steps} accelerated steps; plain Python stopped "
        f"at {reached:.2f} after {steps:,} steps. Seconds are those of a processor."
    )
    return Part([row], notes=[note])
