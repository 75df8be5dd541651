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
from types import ModuleType
from typing import Any

import numpy as np
import pytrec_eval
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.measure import Contender, Report, Row, floor_of, speedup
from podium import Qrels, RankingData, Run, evaluate, kernels

Floats = NDArray[np.float64]

METRICS = ("NDCG@10", "P@10", "MAP")
TREC = ("NDCG(rule='trec')@10", "P(rule='trec')@10", "MAP(rule='trec')")
PYTREC = ("ndcg_cut_10", "P_10", "map")
RANX = ("ndcg@10", "precision@10", "map")
TOLERANCE = 1e-9

_ONE_THREAD = ThreadpoolController()


@dataclass(frozen=True)
class Problem:
    """Labels and scores of lists of one length, as each contender wants them."""

    labels: Floats
    scores: Floats

    @classmethod
    def draw(cls, n_queries: int, n_docs: int, seed: int = 0) -> Problem:
        """Graded labels and scores that lean towards them."""
        rng = np.random.default_rng(seed)
        labels = rng.choice(3, (n_queries, n_docs), p=(0.8, 0.15, 0.05)).astype(np.float64)
        return cls(labels, labels + rng.standard_normal(labels.shape))

    def head(self, n_queries: int) -> Problem:
        """The first queries."""
        return Problem(self.labels[:n_queries], self.scores[:n_queries])

    @cached_property
    def flat_scores(self) -> Floats:
        """One score a document."""
        return self.scores.ravel()

    @cached_property
    def qid(self) -> NDArray[np.int64]:
        """One query number a document."""
        return np.repeat(np.arange(len(self.labels)), self.labels.shape[1])

    @cached_property
    def features(self) -> Floats:
        """Evaluation does not look at them."""
        return np.zeros((self.labels.size, 1))

    @cached_property
    def data(self) -> RankingData:
        """Without document ids, as arrays have none."""
        return self.build()

    @cached_property
    def named(self) -> RankingData:
        """With document ids."""
        docids = [f"d{i}" for i in range(self.labels.shape[1])] * len(self.labels)
        return RankingData.from_arrays(
            self.features, self.labels.ravel(), qid=self.qid, docid=docids
        )

    def build(self) -> RankingData:
        """Ranking data from bare arrays."""
        return RankingData.from_arrays(self.features, self.labels.ravel(), qid=self.qid)

    def qrels_dict(self) -> dict[str, dict[str, int]]:
        """Labels by query and document."""
        return _nested(self.labels.astype(np.int64))

    def run_dict(self) -> dict[str, dict[str, float]]:
        """Scores by query and document."""
        return _nested(self.scores)


def _nested(values: NDArray[Any]) -> dict[str, dict[str, Any]]:
    docids = [f"d{i}" for i in range(values.shape[1])]
    return {str(q): dict(zip(docids, row, strict=True)) for q, row in enumerate(values.tolist())}


def run(quick: bool = False) -> Report:
    """All figures of the subject."""
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
    _doubling(report, problem, quick)
    return report


def _load_ranx(qrels: Any, scores: Any) -> tuple[ModuleType, float]:
    """ranx, and the seconds of its first call, in which it compiles."""
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
    """Every query's values must agree, with and without tied scores."""
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
    ours = evaluate(problem.named, problem.flat_scores, TREC)
    theirs = _pytrec_total(problem.qrels_dict(), problem.run_dict())
    differences = []
    for our_name, their_name in zip(TREC, PYTREC, strict=True):
        expected = [theirs[qid][their_name] for qid in problem.named.qids]
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
    t = report.race([*_our_contenders(problem), *_their_contenders(problem, ranx, qrels, scores)])
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
            "evaluate Qrels and Run that are ready", t["evaluate, Qrels and Run"], pytrec, **floor
        ),
        speedup("evaluate, data ready", ready, t["pytrec_eval, evaluate only"], **floor),
        speedup("evaluate from bare arrays", arrays, t["pytrec_eval, with dicts"], **floor),
        speedup("evaluate, data ready", ready, ranx_total, at_least=50, **floor),
        speedup("evaluate from bare arrays", arrays, ranx_total, at_least=50, **floor),
        speedup("evaluate, data ready", ready, t["ranx, evaluate only"], **floor),
        Row("the sort alone (kernels.order)", t["kernels.order"].median, **floor),
    ]
    report.notes += [
        "pytrec_eval, total: the evaluator built and evaluated on dictionaries that are ready. "
        "ranx, total: Qrels and Run built of the same dictionaries, then evaluated.",
        f"ranx's first call took {first_call:.1f} s, {first_call - ranx_total.median:.1f} s of it "
        "compiling; not counted above.",
        "podium and ranx use all cores, pytrec_eval and NumPy's argsort one.",
    ]


def _our_contenders(problem: Problem) -> list[Contender]:
    data, named, scores = problem.data, problem.named, problem.flat_scores
    qrels, ranked, tied = Qrels.from_data(named), Run.from_scores(named, scores), scores.round(1)

    def on_one_thread() -> Any:
        with _ONE_THREAD.limit(limits=1, user_api="openmp"):
            return evaluate(data, scores, METRICS)

    contenders: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: evaluate(data, scores, METRICS),
        "from_arrays + evaluate": lambda: evaluate(problem.build(), scores, METRICS),
        "evaluate, one thread": on_one_thread,
        "evaluate, trec": lambda: evaluate(named, scores, TREC),
        "evaluate, trec, ties": lambda: evaluate(named, tied, TREC),
        "evaluate, Qrels and Run": lambda: evaluate(qrels, ranked, TREC),
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
    """Twice the queries should take twice the time."""
    sizes = [50, 100, 200] if quick else [5_000, 10_000, 20_000, 40_000]
    problems = [Problem.draw(n, problem.labels.shape[1], seed=1) for n in sizes]
    contenders = [_evaluation_of(p, n) for p, n in zip(problems, sizes, strict=True)]
    timings = list(report.race(contenders).values())
    steps = [
        f"{a:,} to {b:,} queries {u.median * 1e3:.1f} to {v.median * 1e3:.1f} ms, "
        f"{v.median / u.median:.2f}x"
        for (a, u), (b, v) in itertools.pairwise(zip(sizes, timings, strict=True))
    ]
    report.notes.append(f"Doubling the queries: {'; '.join(steps)}.")


def _evaluation_of(problem: Problem, n: int) -> Contender:
    data, scores = problem.data, problem.flat_scores
    return Contender(f"evaluate {n} queries", lambda: evaluate(data, scores, METRICS), 9)
