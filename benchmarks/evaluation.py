"""NDCG@10, P@10 and MAP of many lists: podium next to pytrec_eval and ranx."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytrec_eval
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.measure import Contender, Report, Row, Timing, floor_of, speedup, time_in_turn
from podium import Qrels, RankingData, Run, evaluate, kernels, read_qrels, read_run
from podium.data import write_qrels, write_run

Floats = NDArray[np.float64]

METRICS = ("NDCG@10", "P@10", "MAP")
TREC = ("NDCG(rule='trec')@10", "P(rule='trec')@10", "MAP(rule='trec')")
PYTREC = ("ndcg_cut_10", "P_10", "map")
RANX = ("ndcg@10", "precision@10", "map")
TOLERANCE = 1e-9

_OPENMP = ThreadpoolController()


@dataclass(frozen=True)
class Problem:
    """Labels and scores of lists of one length, in the form of each contender."""

    labels: Floats
    scores: Floats

    @classmethod
    def draw(cls, n_queries: int, n_docs: int, seed: int = 0) -> Problem:
        """Draw graded labels, and scores that correlate with them."""
        rng = np.random.default_rng(seed)
        labels = rng.choice(3, (n_queries, n_docs), p=(0.8, 0.15, 0.05)).astype(np.float64)
        return cls(labels, labels + rng.standard_normal(labels.shape))

    def head(self, n_queries: int) -> Problem:
        """Return the first queries."""
        return Problem(self.labels[:n_queries], self.scores[:n_queries])

    @cached_property
    def flat_scores(self) -> Floats:
        """One score per document."""
        return self.scores.ravel()

    @cached_property
    def qid(self) -> NDArray[np.int64]:
        """One query number per document."""
        return np.repeat(np.arange(len(self.labels)), self.labels.shape[1])

    @cached_property
    def features(self) -> Floats:
        """Features, which evaluation ignores."""
        return np.zeros((self.labels.size, 1))

    @cached_property
    def data(self) -> RankingData:
        """Data without document ids."""
        return self.build()

    @cached_property
    def named_data(self) -> RankingData:
        """Data with document ids."""
        docids = [f"d{i}" for i in range(self.labels.shape[1])] * len(self.labels)
        return RankingData.from_arrays(
            self.features, self.labels.ravel(), qid=self.qid, docid=docids
        )

    def build(self) -> RankingData:
        """Make ranking data from bare arrays."""
        return RankingData.from_arrays(self.features, self.labels.ravel(), qid=self.qid)

    def qrels_dict(self) -> dict[str, dict[str, int]]:
        """Return labels by query and document."""
        return _nested(self.labels.astype(np.int64))

    def run_dict(self) -> dict[str, dict[str, float]]:
        """Return scores by query and document."""
        return _nested(self.scores)


def _nested(values: NDArray[Any]) -> dict[str, dict[str, Any]]:
    docids = [f"d{i}" for i in range(values.shape[1])]
    return {str(q): dict(zip(docids, row, strict=True)) for q, row in enumerate(values.tolist())}


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    n_queries, n_docs = (200, 120) if quick else (10_000, 120)
    problem = Problem.draw(n_queries, n_docs)
    setting = {"queries": n_queries, "documents a query": n_docs, "metrics": ", ".join(METRICS)}
    report = Report("evaluation", "Evaluation", setting)
    qrels, scores = problem.qrels_dict(), problem.run_dict()
    _check_pytrec(report, problem)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as cache:
        if not quick:
            os.environ["NUMBA_CACHE_DIR"] = cache  # empty, so that ranx compiles everything
        ranx, first_call = _load_ranx(qrels, scores)
        _check_ranx(report, problem, ranx, qrels, scores)
        _compare(report, problem, ranx, first_call, qrels, scores)
        _from_files(report, problem, Path(cache))
    _threads(report, problem)
    _doubling(report, problem, quick)
    return report


def _load_ranx(qrels: Any, scores: Any) -> tuple[ModuleType, float]:
    """Return ranx and the seconds of its first call, which compiles."""
    warnings.filterwarnings("ignore", module="numba")
    warnings.filterwarnings("ignore", message=".*unsafe cast.*")
    import ranx

    start = time.perf_counter()
    _ranx_total(ranx, qrels, scores)
    return ranx, time.perf_counter() - start


def _ranx_total(ranx: ModuleType, qrels: Any, scores: Any) -> Any:
    return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(scores), list(RANX))


def _pytrec_total(qrels: Any, scores: Any) -> Any:
    return pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC)).evaluate(scores)


def _check_pytrec(report: Report, problem: Problem) -> None:
    """Check that every query's values agree, with and without tied scores."""
    tied = problem.head(1_000)
    tied = Problem(tied.labels, tied.scores.round(1))
    worst = max(_worst_difference(problem), _worst_difference(tied))
    if not worst <= TOLERANCE:
        raise AssertionError(f"podium and pytrec_eval differ by {worst}")
    report.notes.append(
        f"Checked in the same run: by the rule 'trec' every query's values equal pytrec_eval's, "
        f"with tied scores too (largest difference {worst:.1e}, allowed {TOLERANCE:.0e})."
    )


def _worst_difference(problem: Problem) -> float:
    ours = evaluate(problem.named_data, problem.flat_scores, TREC)
    theirs = _pytrec_total(problem.qrels_dict(), problem.run_dict())
    differences = []
    for our_name, their_name in zip(TREC, PYTREC, strict=True):
        expected = [theirs[qid][their_name] for qid in problem.named_data.qids]
        differences.append(np.abs(ours[our_name].per_query - expected).max())
    return float(max(differences))


def _check_ranx(
    report: Report, problem: Problem, ranx: ModuleType, qrels: Any, scores: Any
) -> None:
    ours = evaluate(problem.data, problem.flat_scores, ("NDCG(gain='linear')@10", *METRICS[1:]))
    theirs = _ranx_total(ranx, qrels, scores)
    pairs = zip(ours.values(), RANX, strict=True)
    worst = max(abs(result.mean - theirs[name]) for result, name in pairs)
    if not worst <= TOLERANCE:
        raise AssertionError(f"podium and ranx differ by {worst}")
    report.notes.append(f"Means equal ranx's (largest difference {worst:.1e}).")


def _compare(
    report: Report, problem: Problem, ranx: ModuleType, first_call: float, qrels: Any, scores: Any
) -> None:
    t = report.time_in_turn(
        [*_our_contenders(problem), *_their_contenders(problem, ranx, qrels, scores)]
    )
    sort = f"order {problem.labels.size:,} documents: NumPy's argsort of each dense row"
    floor = floor_of(sort, t["NumPy argsort"])
    pytrec, ranx_total = t["pytrec_eval, total"], t["ranx, total"]
    ready, arrays, one = t["evaluate"], t["from_arrays + evaluate"], t["evaluate, one thread"]
    report.rows += [
        speedup("evaluate, data ready", ready, pytrec, at_least=10, **floor),
        speedup("evaluate from bare arrays", arrays, pytrec, at_least=10, **floor),
        speedup("evaluate, data ready, one thread", one, pytrec, **floor),
        speedup("evaluate by the rule 'trec', data ready", t["evaluate, trec"], pytrec, **floor),
        speedup(
            "evaluate by the rule 'trec', scores rounded to 0.1 (ties)",
            t["evaluate, trec, ties"],
            pytrec,
            **floor,
        ),
        speedup(
            "evaluate Qrels and Run that are ready",
            t["evaluate, Qrels and Run"],
            pytrec,
            at_least=10,
            **_join_floor(problem, t),
        ),
        speedup(
            "evaluate Qrels and Run that are ready, one thread",
            t["evaluate, Qrels and Run, one thread"],
            pytrec,
            **_join_floor(problem, t),
        ),
        speedup("evaluate, data ready", ready, t["pytrec_eval, evaluate only"], **floor),
        speedup("evaluate from bare arrays", arrays, t["pytrec_eval, with dicts"], **floor),
        speedup("evaluate, data ready", ready, ranx_total, at_least=50, **floor),
        speedup("evaluate from bare arrays", arrays, ranx_total, at_least=50, **floor),
        speedup("evaluate, data ready", ready, t["ranx, evaluate only"], **floor),
        Row("the sort alone (kernels.order)", t["kernels.order"].median, **floor),
    ]
    report.notes += [
        "pytrec_eval, total: the evaluator built and evaluated on dictionaries that are ready; "
        "Qrels and Run are podium's own objects, ready likewise, and joining their ids is counted. "
        "ranx, total: Qrels and Run built of the same dictionaries, then evaluated.",
        f"ranx's first call took {first_call:.1f} s, {first_call - ranx_total.median:.1f} s of it "
        "compiling; not counted above.",
        "podium and ranx use all cores, pytrec_eval and NumPy's argsort one.",
    ]


def _join_floor(problem: Problem, t: dict[str, Timing]) -> dict[str, Any]:
    """Return the floor of a join: every id read twice, and the sort."""
    qrels = Qrels.from_data(problem.named_data)
    n_bytes = 2 * (qrels.docids.bytes.nbytes + qrels.docids.offsets.nbytes + qrels.values.nbytes)
    seconds = n_bytes / _bytes_per_second() + t["NumPy argsort"].median
    what = f"the sort, and {n_bytes / 1e6:.0f} MB of ids and values at the bandwidth of a copy"
    return {"floor": what, "floor_value": seconds}


def _bytes_per_second() -> float:
    """Return the bandwidth of one core, from copies of 64 MB (read and written)."""
    source = np.ones(1 << 23)
    target = np.empty_like(source)
    timing = time_in_turn([Contender("copy", lambda: np.copyto(target, source), 5)])["copy"]
    return 2 * source.nbytes / timing.median


def _from_files(report: Report, problem: Problem, folder: Path) -> None:
    """Measure from two TREC files to numbers, reading counted on both sides."""
    qrels_path, run_path = folder / "qrels.txt", folder / "run.txt"
    write_qrels(problem.named_data, qrels_path)
    write_run(Run.from_scores(problem.named_data, problem.flat_scores), run_path)

    def podium_from_files() -> Any:
        return evaluate(read_qrels(qrels_path), read_run(run_path), TREC)

    def pytrec_from_files() -> Any:
        with qrels_path.open() as qrels, run_path.open() as run:
            return _pytrec_total(pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run))

    t = report.time_in_turn(
        [
            Contender("podium, from files", podium_from_files, 5),
            Contender("pytrec_eval, from files", pytrec_from_files, 3),
        ]
    )
    n_bytes = qrels_path.stat().st_size + run_path.stat().st_size
    floor = {
        "floor": f"{n_bytes / 1e6:.0f} MB of text at the bandwidth of a copy",
        "floor_value": n_bytes / _bytes_per_second(),
    }
    ours, theirs = t["podium, from files"], t["pytrec_eval, from files"]
    what = "from two TREC files to numbers"
    report.rows.append(speedup(what, ours, theirs, **floor))


def _on_threads(n: int, *arguments: Any) -> Callable[[], Any]:
    def run() -> Any:
        with _OPENMP.limit(limits=n, user_api="openmp"):
            return evaluate(*arguments)

    return run


def _threads(report: Report, problem: Problem) -> None:
    """Measure what a second thread brings."""
    calls = {n: _on_threads(n, problem.data, problem.flat_scores, METRICS) for n in (1, 2)}
    if calls[1]()["MAP"].per_query.tobytes() != calls[2]()["MAP"].per_query.tobytes():
        raise AssertionError("one thread and two threads give different values")
    names = {1: "evaluate, one thread of two", 2: "evaluate, two threads"}
    t = report.time_in_turn([Contender(name, calls[n], 31) for n, name in names.items()])
    floor = {"floor": "half of one thread's time", "floor_value": t[names[1]].median / 2}
    report.rows.append(
        speedup(
            "evaluate, data ready, two threads", t[names[2]], t[names[1]], at_least=1.8, **floor
        )
    )


def _our_contenders(problem: Problem) -> list[Contender]:
    data, named_data, scores = problem.data, problem.named_data, problem.flat_scores
    qrels, ranked, tied = (
        Qrels.from_data(named_data),
        Run.from_scores(named_data, scores),
        scores.round(1),
    )

    contenders: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: evaluate(data, scores, METRICS),
        "from_arrays + evaluate": lambda: evaluate(problem.build(), scores, METRICS),
        "evaluate, one thread": _on_threads(1, data, scores, METRICS),
        "evaluate, trec": lambda: evaluate(named_data, scores, TREC),
        "evaluate, trec, ties": lambda: evaluate(named_data, tied, TREC),
        "evaluate, Qrels and Run": lambda: evaluate(qrels, ranked, TREC),
        "evaluate, Qrels and Run, one thread": _on_threads(1, qrels, ranked, TREC),
        "kernels.order": lambda: kernels.order(scores, None, data.groups.offsets),
        "NumPy argsort": lambda: np.argsort(-problem.scores, axis=1),
    }
    return [Contender(name, call, 15) for name, call in contenders.items()]


def _their_contenders(
    problem: Problem, ranx: ModuleType, qrels: Any, scores: Any
) -> list[Contender]:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC))
    ranx_qrels, ranx_run = ranx.Qrels(qrels), ranx.Run(scores)
    contenders: dict[str, Callable[[], Any]] = {
        "pytrec_eval, evaluate only": lambda: evaluator.evaluate(scores),
        "pytrec_eval, total": lambda: _pytrec_total(qrels, scores),
        "pytrec_eval, with dicts": lambda: _pytrec_total(problem.qrels_dict(), problem.run_dict()),
        "ranx, evaluate only": lambda: ranx.evaluate(ranx_qrels, ranx_run, list(RANX)),
        "ranx, total": lambda: _ranx_total(ranx, qrels, scores),
    }
    return [Contender(name, call, 5) for name, call in contenders.items()]


def _doubling(report: Report, problem: Problem, quick: bool) -> None:
    """Measure how time grows when the queries double."""
    sizes = [50, 100, 200] if quick else [5_000, 10_000, 20_000, 40_000]
    problems = [Problem.draw(n, problem.labels.shape[1], seed=1) for n in sizes]
    contenders = [_evaluation_of(p, n) for p, n in zip(problems, sizes, strict=True)]
    timings = list(report.time_in_turn(contenders).values())
    steps = [
        f"{a:,} to {b:,} queries {u.median * 1e3:.1f} to {v.median * 1e3:.1f} ms, "
        f"{v.median / u.median:.2f}x"
        for (a, u), (b, v) in itertools.pairwise(zip(sizes, timings, strict=True))
    ]
    report.notes.append(f"Doubling the queries: {'; '.join(steps)}.")


def _evaluation_of(problem: Problem, n: int) -> Contender:
    data, scores = problem.data, problem.flat_scores
    return Contender(f"evaluate {n} queries", lambda: evaluate(data, scores, METRICS), 9)
