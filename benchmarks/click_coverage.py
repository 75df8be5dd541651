"""Recovery and coverage: propensities and counterfactual estimates against the truth of simulations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import podium
from benchmarks.kept_parts import Part
from podium.clicks import (
    ClickModel,
    PolicyEstimate,
    PolicySettings,
    PropensityEstimate,
    compare_policies,
    estimate_propensities,
    evaluate_policy,
    fit_click_model,
    policy_lists,
    simulate,
    true_model,
)
from podium.errors import PodiumError

TARGET_RMS = 0.03
SOURCES: dict[str, tuple[Any, float, str]] = {
    "swaps of .05": (0, 0.05, "swaps"),
    "swaps of .05, harvested": (0, 0.05, "harvest"),
    "two rankers, harvested": ({"a": 0, "b": 1}, 0.0, "harvest"),
}
"""Where propensities come from: logger, probability of a swap, method."""
QUERIES_OF_LOG, SESSIONS_OF_LOG = 200, 3000


def parts(draws: int) -> dict[str, Callable[[], Part]]:
    """Return the parts by name."""
    measured: dict[str, Callable[[], Part]] = {
        "recovery": partial(_recovery, min(draws, 30)),
        "coverage of propensities": partial(_coverage_of_propensities, draws),
    }
    for users, examination, most in (
        ("pbm", "the truth", draws), ("pbm", "harvested", draws), ("dbn", "the truth", draws),
        ("dbn", "fitted dbn", 300), ("dbn", "harvested", 300), ("cascade", "the truth", 300),
    ):  # fmt: skip
        name = f"coverage of values, {users}, {examination}"
        measured[name] = partial(_coverage_of_values, users, examination, min(draws, most))
    return measured


def _recovery(draws: int) -> Part:
    """Measure root mean square errors over ranks 1 to 10 from 10^5 sessions."""
    data = podium.make_synthetic(n_queries=784, n_docs=(8, 14), n_features=6, seed=1)
    truth, rows = 1 / np.arange(1, 11), []
    for name, (logger, swap, method) in SOURCES.items():
        errors = []
        for seed in range(draws):
            sessions = simulate(data, logger, "pbm", 100_000, swap=swap, seed=seed)
            values = estimate_propensities(sessions, method).values[:10]
            errors.append(float(np.sqrt(np.mean((values - truth) ** 2))))
        within = np.mean(np.array(errors) <= TARGET_RMS)
        figures = [f"{np.mean(errors):.4f}", f"{max(errors):.4f}", f"{within:.0%}"]
        rows.append([name, f"{draws}", *figures])
    what = "propensities from 100,000 sessions"
    head = [what, "draws", "mean RMS error", "largest", "at most .03"]
    return Part(tables=[[head, *rows]])


def _coverage_of_propensities(draws: int) -> Part:
    data = podium.make_synthetic(n_queries=100, n_docs=6, n_features=4, seed=3)
    truth, rows = 1 / np.arange(1, 7), []
    for name, (logger, swap, method) in SOURCES.items():
        covers = []
        for seed in range(draws):
            sessions = simulate(data, logger, "pbm", 20_000, swap=2 * swap, seed=seed)
            estimate = estimate_propensities(sessions, method)
            covers.append((estimate.low <= truth) & (truth <= estimate.high))
        shares = np.mean(covers, axis=0)[1:]
        name = name.replace(".05", ".10")
        rows.append([name, f"{shares.mean():.3f}", *(f"{share:.3f}" for share in shares)])
    head = ["coverage of 95% intervals of propensities, 20,000 sessions", "mean",
            *(f"rank {r}" for r in range(2, 7))]  # fmt: skip
    return Part(tables=[[head, *rows]])


def _coverage_of_values(users: str, examination: str, draws: int) -> Part:
    """Count how often intervals cover the value over a population of queries, of which each log has 2%."""
    data = podium.make_synthetic(n_queries=10_000, n_docs=8, n_features=4, seed=1)
    policy, other = np.asarray(data.truth(data.X)), np.asarray(data.X[:, 0])
    model = true_model(data, users)
    truths = {m: _values(data, [policy, other], model, m) for m in ("clicks", "dcg")}
    cells: dict[tuple[str, str, str], list[tuple[bool, float, float]]] = {}
    for seed in range(draws):
        _add_draw(cells, data, (policy, other), model, examination, truths, seed)
    rows = []
    for names, results in cells.items():
        covers, width, effective = np.mean(results, axis=0).tolist()
        rows.append([
            users, examination, *names, f"{draws:,}", f"{len(results) / draws:.0%}", f"{covers:.3f}",
            f"{width:.4f}", f"{effective:.0f}",
        ])  # fmt: skip
    head = [
        "users", "examination", "value of", "metric", "estimator", "draws", "estimated", "coverage",
        "mean width", "effective queries",
    ]  # fmt: skip
    note = (
        f"Coverage of values by 95% intervals: each log has {SESSIONS_OF_LOG:,} sessions "
        f"of two rankers for {QUERIES_OF_LOG} of 10,000 queries; the truth is the mean over all of these "
        "queries. The examination is that of the simulation (the truth), or estimated from the same log. "
        "The assumed model is wrong where users are of dbn and propensities are harvested."
    )
    return Part(tables=[[head, *rows]], notes=[note])


def _values(data: Any, policies: list[Any], model: ClickModel, metric: str) -> list[float]:
    """Return the true value of each policy per session."""
    log = simulate(data, 0, model, data.n_queries)
    values = []
    for policy in policies:
        lists = policy_lists(data, policy, log, 10)
        by_rank = 1 / np.log2(lists.positions + 1)
        weight = model.examination(lists) if metric == "clicks" else by_rank
        values.append(float((weight * model.row_attraction(lists)).sum() / data.n_queries))
    return values


def _add_draw(
    cells: dict[tuple[str, str, str], list[tuple[bool, float, float]]], data: Any,
    policies: tuple[Any, Any], model: ClickModel, examination: str, truths: dict[str, list[float]],
    seed: int,
) -> None:  # fmt: skip
    """Add one log's intervals, unless the log does not say how users examine lists."""
    queries = np.random.default_rng(seed).choice(data.n_queries, QUERIES_OF_LOG, replace=False)
    part, rows = data.subset(queries), data.groups.take(queries)[1]
    sessions = simulate(part, {"a": 0, "b": 1}, model, SESSIONS_OF_LOG, seed=seed)
    try:
        users = _examination(examination, sessions, model)
    except PodiumError:
        return
    policy, other = (values[rows] for values in policies)
    for metric, (truth, less) in truths.items():
        for estimator in ("ips", "doubly-robust"):
            settings = PolicySettings(metric=metric, estimator=estimator, resamples=400)
            one = evaluate_policy(sessions, part, policy, users, settings)
            cells.setdefault(("a ranking", metric, estimator), []).append(_checked(one, truth))
            if estimator == "doubly-robust":
                both = compare_policies(sessions, part, policy, other, users, settings)
                differences = cells.setdefault(("a difference", metric, estimator), [])
                differences.append(_checked(both, truth - less))


def _examination(name: str, sessions: Any, model: ClickModel) -> ClickModel | PropensityEstimate:
    if name == "the truth":
        return model
    if name == "harvested":
        return estimate_propensities(sessions, "harvest")
    return fit_click_model(sessions, name.removeprefix("fitted "))


def _checked(estimate: PolicyEstimate, truth: float) -> tuple[bool, float, float]:
    """Return whether the interval covers the truth, its width, and the effective sample size."""
    interval = estimate.interval
    return (
        interval.low <= truth <= interval.high, interval.high - interval.low, estimate.effective_queries
    )  # fmt: skip
