"""Learning from clicks, beside click rates and true labels: ``python -m benchmarks.click_learning``.

A cell is a data set, a logger, a model of users, a number of sessions per query and a draw. ListNet learns
from the simulated clicks; NDCG@10 is that of the true labels of the test queries, which choose nothing.
Finished cells are kept in results/click_learning.jsonl, one line each; a run measures those that are
missing until --minutes of processor time have passed, a draw of all settings before the next. --docs only
prints the section of docs/results.md. --quick measures two small cells on generated data, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp
from threadpoolctl import threadpool_limits

import podium
from benchmarks.quality import DATA, HERE
from podium.clicks import ClickSessions, simulate
from podium.data import Fold, make_synthetic, sample, split
from podium.errors import DataError, DivergedError
from podium.experiments.folds import read_folds
from podium.metrics.multiple_testing import correct
from podium.rankers import ClickLearning, GuardReport, choose_debiasing, fit_to_clicks
from podium.typing import Floats

CELLS = HERE / "results" / "click_learning.jsonl"
SETS = ("MQ2008", "OHSUMED")
LOGGERS = ("one feature", "20 judged queries", "200 judged queries")
USERS = ("pbm", "cascade", "dbn")
SESSIONS = (1, 5, 20)
DRAWS = 10
SWAP = 0.05
CANDIDATES = ("ips", "dr", "dual")
"""What the guard chooses from."""
COLUMNS = ("production", "none", *CANDIDATES, "best", "guard", "labels")
QUICK = "generated"


@dataclass(frozen=True)
class ClickCell:
    """One setting and one draw."""

    problem: str
    logger: str
    users: str
    sessions: int
    draw: int

    def measure(self) -> dict[str, Any]:
        """Return NDCG@10 of each way to learn, what was chosen, and the processor seconds."""
        start = time.process_time()
        fold = _folds(self.problem)[self.draw % len(_folds(self.problem))]
        scorer = _logger(fold, self.logger, self.draw)
        log = simulate(
            fold.train, scorer(fold.train), self.users, self.sessions * fold.train.n_queries,
            swap=SWAP, seed=self.draw,
        )  # fmt: skip
        values = {
            "production": _quality(fold, scorer(fold.test)),
            "labels": _quality(fold, podium.ListNet().fit(fold.train).predict(fold.test)),
        }
        for name in ("none", *CANDIDATES):
            values[name] = _learned(fold, log, name)
        report = choose_debiasing(
            podium.ListNet(), fold.train, log, [ClickLearning(c) for c in CANDIDATES]
        )
        best = _best(report)
        values |= {"best": values[best], "guard": values[report.chosen]}
        return {"values": values, "best": best, "chosen": report.chosen,
                "seconds": round(time.process_time() - start, 2)}  # fmt: skip


def _learned(fold: Fold, log: ClickSessions, debias: str) -> float | None:
    """Return NDCG@10 of ListNet from clicks; None if the log cannot tell P(examined)."""
    try:
        ranker = fit_to_clicks(podium.ListNet(), fold.train, log, ClickLearning(debias))
    except (DataError, DivergedError):
        return None
    return _quality(fold, ranker.predict(fold.test))


def _best(report: GuardReport) -> str:
    """Return the candidate with the greatest estimate on held-out sessions, as if there were no guard."""
    values = {name: e.value for name, e in report.differences.items()}
    return max(values, key=lambda name: values[name], default="none")


def _quality(fold: Fold, scores: Floats) -> float:
    return round(podium.evaluate(fold.test, scores, "NDCG@10")["NDCG@10"].mean, 6)


@cache
def _folds(problem: str) -> list[Fold]:
    if problem == QUICK:
        data = make_synthetic(n_queries=90, n_features=5, noise=1.0, seed=0)
        return [Fold(*split(data, [0.6, 0.2, 0.2]))]
    return read_folds(DATA / problem)


def _logger(fold: Fold, name: str, draw: int) -> Any:
    """Return what ranks: the feature with the median quality in training, or RankSVM on few queries."""
    if name == "one feature":
        quality = [
            podium.evaluate(fold.train, fold.train.X[:, f], "NDCG@10")["NDCG@10"].mean
            for f in range(fold.train.n_features)
        ]
        feature = int(np.argsort(quality, kind="stable")[len(quality) // 2])
        return lambda data: np.asarray(data.X[:, feature], dtype=np.float64)
    n = min(int(name.split()[0]), fold.train.n_queries)
    return podium.RankSVM().fit(sample(fold.train, n, seed=draw)).predict


def cells(problems: Sequence[str] = SETS) -> Iterator[ClickCell]:
    """Yield all cells, draw by draw."""
    for draw in range(DRAWS):
        for setting in product(problems, LOGGERS, USERS, reversed(SESSIONS)):
            yield ClickCell(*setting, draw)


def kept() -> dict[ClickCell, dict[str, Any]]:
    """Return the results of finished cells; a line that a killed run left unfinished does not count."""
    results = {}
    for line in CELLS.read_text().splitlines() if CELLS.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        results[ClickCell(**row["cell"])] = row["result"]
    return results


def run(minutes: float) -> None:
    """Measure missing cells until the processor time has passed, and keep each as it is finished."""
    done = kept()
    for cell in cells():
        if time.process_time() > 60 * minutes:
            break
        if cell in done:
            continue
        row = {"cell": asdict(cell), "podium": podium.__version__, "result": cell.measure()}
        with CELLS.open("a") as file:
            file.write(json.dumps(row) + "\n")


def section() -> list[str]:
    """Return the section of docs/results.md."""
    results = kept()
    draws = {setting: _of_setting(results, setting) for setting in _settings(results)}
    lines = [*_introduction(results), *_table(draws), "", *_guard_lines(draws)]
    return ["## Learning from clicks", "", *lines, ""]


def _settings(results: dict[ClickCell, dict[str, Any]]) -> list[tuple[Any, ...]]:
    present = {_setting(cell) for cell in results}
    return [s for s in product(SETS, LOGGERS, USERS, reversed(SESSIONS)) if s in present]


def _setting(cell: ClickCell) -> tuple[Any, ...]:
    return cell.problem, cell.logger, cell.users, cell.sessions


def _of_setting(
    results: dict[ClickCell, dict[str, Any]], setting: tuple[Any, ...]
) -> list[dict[str, Any]]:
    return [
        results[cell] for cell in sorted(results, key=lambda c: c.draw) if _setting(cell) == setting
    ]


def _introduction(results: dict[ClickCell, dict[str, Any]]) -> list[str]:
    planned = len(list(cells()))
    seconds = sum(result["seconds"] for result in results.values())
    return [
        f"`python -m benchmarks.click_learning` has measured {len(results)} of {planned} planned cells "
        f"({seconds / 60:.0f} minutes of processor time; draws: how many of {DRAWS}). ListNet learns from "
        f"simulated clicks on the training queries of a fold, the next fold for each draw. The logger swaps "
        f"adjacent documents with probability {SWAP}. `ips` and `dr` estimate propensities from these swaps: "
        "they assume users of `pbm`, whoever clicks. NDCG@10 is that of the true labels of the test queries, "
        "the mean of the draws. `production` is the logger, `none` learns from click rates, `labels` from "
        "all training labels. `best` is the candidate with the highest counterfactual estimate on held-out "
        "sessions, without the guard; `guard` is what the guard takes. A dash: the swaps were too few to "
        "estimate propensities in some draw. Way: the share of the way from production to labels that `best` "
        "goes (below 0: it is worse than production). p: t-test over draws of guard less none, not "
        "corrected.",
        "",
    ]


def _table(draws: dict[tuple[Any, ...], list[dict[str, Any]]]) -> list[str]:
    names = [
        "data",
        "logger",
        "users",
        "sessions a query",
        "draws",
        *COLUMNS,
        "way",
        "debiased",
        "p",
    ]
    lines = [f"| {' | '.join(names)} |", f"| --- | --- | --- |{' ---: |' * (len(names) - 3)}"]
    for setting, rows in draws.items():
        means = {name: _mean(rows, name) for name in COLUMNS}
        n_debiased = sum(row["chosen"] != "none" for row in rows)
        fields = [
            *map(str, setting), str(len(rows)), *(_number(means[name]) for name in COLUMNS), _way(means),
            f"{n_debiased} of {len(rows)}", _p_text(_p_value(rows)),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(fields)} |")
    return lines


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    values = [row["values"][name] for row in rows]
    return None if None in values else float(np.mean(values))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _way(means: dict[str, float | None]) -> str:
    start, best, end = means["production"], means["best"], means["labels"]
    if start is None or best is None or end is None or end <= start:
        return "-"
    return f"{(best - start) / (end - start):.0%}"


def _differences(rows: list[dict[str, Any]]) -> Floats:
    return np.array([row["values"]["guard"] - row["values"]["none"] for row in rows])


def _p_value(rows: list[dict[str, Any]]) -> float | None:
    """Return the two-sided p of the mean difference; None for fewer than two draws, or if none differs."""
    gaps = _differences(rows)
    if len(gaps) < 2 or not gaps.any():
        return None
    return float(ttest_1samp(gaps, 0.0).pvalue)


def _p_text(p: float | None) -> str:
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _guard_lines(draws: dict[tuple[Any, ...], list[dict[str, Any]]]) -> list[str]:
    """Say where the guard lost, and where the best candidate went 70% of the way with the weakest logger."""
    gaps = {s: float(_differences(rows).mean()) for s, rows in draws.items()}
    lost = [s for s, gap in gaps.items() if gap < 0]
    tested = {s: p for s, rows in draws.items() if (p := _p_value(rows)) is not None}
    corrected = dict(zip(tested, correct(list(tested.values())), strict=True))
    below = [s for s in lost if corrected.get(s, 1.0) < 0.05]
    weak = [s for s in draws if s[1] == LOGGERS[0] and s[3] == max(SESSIONS)]
    ways = [f"{s[0]} {s[2]} {_way({n: _mean(draws[s], n) for n in COLUMNS})}" for s in weak]
    return [
        f"- Guard less `none`: above in {sum(g > 0 for g in gaps.values())}, equal in "
        f"{sum(g == 0 for g in gaps.values())}, below in {len(lost)} of {len(gaps)} settings; significantly "
        f"below (5%, Holm over the {len(tested)} settings that can be tested) in {len(below)}.",
        f"- Weakest logger, {max(SESSIONS)} sessions a query, the way of `best` (target: 70%): "
        f"{'; '.join(ways)}.",
    ]


def main() -> None:
    """Measure cells, or print the section."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.click_learning", description=__doc__
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="processor time of this run")
    parser.add_argument("--quick", action="store_true", help="two small cells; nothing is written")
    parser.add_argument("--docs", action="store_true", help="only print the section")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.quick:
            for users in ("pbm", "dbn"):
                cell = ClickCell(QUICK, "one feature", users, 20, 0)
                print(json.dumps({"cell": asdict(cell), "result": cell.measure()}))
        elif not options.docs:
            run(options.minutes)
    if not options.quick:
        print("\n".join(section()))


if __name__ == "__main__":
    main()
