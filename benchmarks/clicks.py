"""Clicks: events read per second, EM against plain Python, and how well the truth is recovered."""

from __future__ import annotations

import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import podium
from benchmarks.measure import Contender, Report, Row, speedup
from podium.clicks import (
    ClickSessions,
    FitSettings,
    PolicySettings,
    estimate_propensities,
    evaluate_policy,
    fit_click_model,
    load_sessions,
    policy_lists,
    read_sessions,
    save_sessions,
    simulate,
    true_model,
)
from podium.feedback import make_log
from podium.kernels import reference

TARGET_RATE = 300_000
"""Events per second on one thread."""
TARGET_SPEEDUP = 50
DRAWS = 1000


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    draws, n_sessions = (20, 20_000) if quick else (DRAWS, 1_000_000)
    report = Report("clicks", "Clicks: sessions, click models, propensities", {"draws": draws})
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        _reading(report, Path(folder), 500 if quick else 20_000, 3)
        _large_log(report, Path(folder), n_sessions)
    _fits(report, 300 if quick else 20_000)
    report.tables.append(_recovery(4 if quick else 10))
    report.tables.append(_coverage_of_propensities(draws))
    report.tables.append(_coverage_of_policies(draws))
    return report


def _reading(report: Report, folder: Path, n_lists: int, repeats: int) -> None:
    log = make_log(n_lists=n_lists, seed=0)
    n_events = sum("action_name" in record for record in log.records)
    for name, bulk in (("plain", False), ("bulk", True)):
        path = folder / f"{name}.ndjson"
        log.write(path, bulk=bulk)
        seconds = [_timed(partial(read_sessions, path))[1] for _ in range(repeats)]
        rate = n_events / float(np.median(seconds))
        report.rows.append(
            Row(f"read UBI, {name}", rate, unit="events per processor second", at_least=TARGET_RATE)
        )


def _large_log(report: Report, folder: Path, n_sessions: int) -> None:
    """Measure the steps on 10^6 sessions by processor time, once."""
    data = podium.make_synthetic(n_queries=784, n_docs=(8, 14), n_features=6, seed=1)
    sessions, seconds = _timed(lambda: simulate(data, 0, "pbm", n_sessions, swap=0.05, seed=1))
    what = f"{n_sessions:,} sessions, {sessions.groups.n_rows:,} impressions"
    rows = {"simulate": seconds}
    rows["save"] = _timed(lambda: save_sessions(sessions, folder / "log.clicks"))[1]
    rows["load"] = _timed(lambda: load_sessions(folder / "log.clicks"))[1]
    for model in ("pbm", "ubm", "dbn"):
        rows[f"fit {model}"] = _timed(partial(fit_click_model, sessions, model))[1]
    rows["propensities from swaps"] = _timed(lambda: estimate_propensities(sessions))[1]
    rows["propensities by harvesting"] = _timed(lambda: estimate_propensities(sessions, "harvest"))[
        1
    ]
    table = [["step", "processor seconds"], *([name, f"{s:.2f}"] for name, s in rows.items())]
    report.tables.append(table)
    report.notes.append(f"The table of steps: {what}.")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


# --- EM in plain Python


def plain_pbm(sessions: ClickSessions, goal: float, max_steps: int = 2000) -> float:
    """Fit the position-based model as a loop over sessions and documents; return the log-likelihood.

    The priors and the start are podium's. It stops at a log-likelihood of `goal`.
    """
    lists = _plain_lists(sessions)
    rate = float(sessions.clicked.mean())
    attraction = defaultdict(lambda: min(0.5, math.sqrt(rate)))
    examination = defaultdict(lambda: 0.5)
    value = -math.inf
    for _ in range(max_steps):
        drawn, times = defaultdict(float), defaultdict(int)
        looked, shown_at = defaultdict(float), defaultdict(int)
        value = 0.0
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
        if value >= goal:
            return value
        for pair, n in times.items():
            attraction[pair] = min(max((drawn[pair] + rate) / (n + 1), 1e-9), 1 - 1e-9)
        for rank, n in shown_at.items():
            examination[rank] = min(max(looked[rank] / n, 1e-9), 1 - 1e-9)
    return value


def plain_dbn(sessions: ClickSessions, goal: float, max_steps: int = 2000) -> float:
    """Fit the DBN by EM over the kernel's twin, a loop over sessions and documents."""
    by_query, queries = sessions.by_query()
    pairs, pair = by_query.pairs
    n, rate = len(pairs), float(by_query.clicked.mean())
    clicks = np.bincount(pair, weights=by_query.clicked, minlength=n)
    attraction, stopping, continuation = np.full(n, rate), np.full(n, 0.5), 0.5
    value = -math.inf
    for _ in range(max_steps):
        examined, stopped, went_on, value = reference.click_chain_pass(
            pair, by_query.clicked, np.ones(len(by_query)), by_query.groups.offsets, queries.offsets,
            attraction, stopping, continuation, False,
        )  # fmt: skip
        if value >= goal:
            return value
        attraction = np.clip((clicks + rate) / (examined + 1), 1e-9, 1 - 1e-9)
        stopping = np.clip((stopped + 0.5) / (clicks + 1), 1e-9, 1 - 1e-9)
        continuation = float(went_on[0] / went_on[1])
    return value


def _plain_lists(sessions: ClickSessions) -> list[tuple[int, list[int], list[bool]]]:
    bounds = sessions.groups.offsets.tolist()
    docs, clicked = sessions.doc.codes.tolist(), sessions.clicked.tolist()
    return [
        (query, docs[a:b], clicked[a:b])
        for query, a, b in zip(sessions.query.codes.tolist(), bounds, bounds[1:], strict=False)
    ]


def _fits(report: Report, n_sessions: int) -> None:
    data = podium.make_synthetic(n_queries=100, n_docs=10, n_features=4, seed=1)
    tight = FitSettings(tolerance=1e-7)
    for name, plain in (("pbm", plain_pbm), ("dbn", plain_dbn)):
        sessions = simulate(data, 0, name, n_sessions, swap=0.2, seed=1)
        value = fit_click_model(sessions, name, settings=tight).summary.log_likelihood
        goal = value - 1e-5 * abs(value)
        reached = plain(sessions, goal)
        fit = partial(fit_click_model, sessions, name, settings=tight)
        t = report.time_in_turn([
            Contender(f"fit {name}", fit, 7),
            Contender(f"plain Python, {name}", partial(plain, sessions, goal), 1),
        ])  # fmt: skip
        ours, theirs = t.values()
        report.rows.append(
            speedup(f"EM of {name}, {n_sessions:,} sessions", ours, theirs, at_least=TARGET_SPEEDUP)
        )
        report.notes.append(
            f"{name}: log-likelihood {value:.2f}, plain Python stopped at {reached:.2f}."
        )


# --- recovery and coverage


def _recovery(n_draws: int) -> list[list[str]]:
    """Return root mean square errors over ranks 1 to 10 from 10^5 sessions."""
    data = podium.make_synthetic(n_queries=784, n_docs=(8, 14), n_features=6, seed=1)
    sources = {
        "swaps of .05": (0, 0.05, "swaps"), "swaps of .05, harvested": (0, 0.05, "harvest"),
        "two rankers, harvested": ({"a": 0, "b": 1}, 0.0, "harvest"),
    }  # fmt: skip
    truth, rows = 1 / np.arange(1, 11), []
    for name, (logger, swap, method) in sources.items():
        errors = []
        for seed in range(n_draws):
            sessions = simulate(data, logger, "pbm", 100_000, swap=swap, seed=seed)
            values = estimate_propensities(sessions, method).values[:10]
            errors.append(float(np.sqrt(np.mean((values - truth) ** 2))))
        within = np.mean(np.array(errors) <= 0.03)
        rows.append([name, f"{np.mean(errors):.4f}", f"{max(errors):.4f}", f"{within:.0%}"])
    return [
        ["propensities from 100,000 sessions", "mean RMS error", "largest", "at most .03"],
        *rows,
    ]


def _coverage_of_propensities(draws: int) -> list[list[str]]:
    data = podium.make_synthetic(n_queries=100, n_docs=6, n_features=4, seed=3)
    truth, rows = 1 / np.arange(1, 7), []
    sources = {"swaps": (0, 0.1), "harvest": (0, 0.1), "two rankers": ({"a": 0, "b": 1}, 0.0)}
    for name, (logger, swap) in sources.items():
        method = "swaps" if name == "swaps" else "harvest"
        draw = partial(_propensities_cover, data, logger, swap, method, truth)
        covers = Parallel(n_jobs=-1)(delayed(draw)(seed) for seed in range(draws))
        shares = np.mean(covers, axis=0)[1:]
        rows.append([name, f"{shares.mean():.3f}", *(f"{share:.3f}" for share in shares)])
    head = [
        "coverage of 95% intervals of propensities",
        "mean",
        *(f"rank {r}" for r in range(2, 7)),
    ]
    return [head, *rows]


def _propensities_cover(
    data: Any, logger: Any, swap: float, method: str, truth: Any, seed: int
) -> Any:
    sessions = simulate(data, logger, "pbm", 20_000, swap=swap, seed=seed)
    estimate = estimate_propensities(sessions, method)
    return (estimate.low <= truth) & (truth <= estimate.high)


def _coverage_of_policies(draws: int) -> list[list[str]]:
    """Return how often intervals cover the value over a population of queries, of which each log has 2%."""
    data = podium.make_synthetic(n_queries=10_000, n_docs=8, n_features=4, seed=1)
    policy, rows = np.asarray(data.truth(data.X)), []
    for users in ("pbm", "dbn"):
        model = true_model(data, users)
        lists = policy_lists(data, policy, simulate(data, 0, model, 10_000), 10)
        attraction = model.row_attraction(lists)
        for metric in ("clicks", "dcg"):
            weight = (
                model.examination(lists) if metric == "clicks" else 1 / np.log2(lists.positions + 1)
            )
            for estimator in ("ips", "doubly-robust"):
                settings = PolicySettings(metric=metric, estimator=estimator, resamples=400)
                truth = float((weight * attraction).sum() / data.n_queries)
                rows.append(
                    [users, metric, estimator, *_cover(data, policy, model, settings, truth, draws)]
                )
    return [["users", "metric", "estimator", "coverage", "mean width", "effective queries"], *rows]


def _cover(
    data: Any, policy: Any, model: Any, settings: PolicySettings, truth: float, draws: int
) -> list[str]:
    def draw(seed: int) -> tuple[bool, float, float]:
        queries = np.random.default_rng(seed).choice(data.n_queries, 200, replace=False)
        part, rows = data.subset(queries), data.groups.take(queries)[1]
        sessions = simulate(part, {"a": 0, "b": 1}, model, 3000, seed=seed)
        estimate = evaluate_policy(sessions, part, policy[rows], model, settings)
        interval = estimate.interval
        covers = interval.low <= truth <= interval.high
        return covers, interval.high - interval.low, estimate.effective_queries

    results = Parallel(n_jobs=-1)(delayed(draw)(seed) for seed in range(draws))
    covers, widths, effective = np.mean(results, axis=0).tolist()
    return [f"{covers:.3f}", f"{widths:.4f}", f"{effective:.0f}"]
