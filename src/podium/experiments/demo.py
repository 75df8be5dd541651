"""The demo: every ranker on a search of Python's standard library, with rules and a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Fold, RankingData, kfold, scale_by_query
from podium.data.atomic_files import atomic_writer, make_folder
from podium.experiments.compare import ComparisonProgress, compare
from podium.experiments.compared_metrics import DEFAULT_METRICS
from podium.experiments.demo_corpus import (
    LibraryEntry,
    SearchProblem,
    library_index,
    search_problem,
)
from podium.experiments.report import Report
from podium.experiments.single_feature import SingleFeature
from podium.features import make_features
from podium.postranking import AtMost, Each, Hide, PostRanking, Rule, Where, postrank, write_rules
from podium.rankers import Ranker
from podium.registry import compared_rankers, make_ranker

CANDIDATES = 50
"""The number of documents per query that BM25 retrieves for the rankers."""

FIRST_STAGE_FEATURE = "bm25(whole)"
KINDS = ("module", "class", "function", "method", "property")
PLACES_SHOWN = 5
"""The number of documents in each list of an example."""

FAST_SETTINGS: dict[str, dict[str, Any]] = {
    "coordinate-ascent": {"restarts": 1, "steps": 8},
    "lambdamart": {"trees": 100, "learning_rate": 0.1},
    "toprank": {"tuned": False},
    "cfbrs": {"base": "least-squares", "min_block": 10},
    "rpc-mtl": {"n_clusters": 2, "l2": 0.1, "k": 10, "max_iter": 100},
}
"""Settings with which slow rankers take seconds; other rankers have their defaults."""

REMOVED_MODULES = frozenset(
    (
        "aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "mailcap", "msilib", "nis",
        "nntplib", "ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib",
    )
)  # fmt: skip
"""Modules that Python 3.13 no longer has (PEP 594)."""

RULES: tuple[Rule, ...] = (
    Hide(Where("removed == 1"), hard=True),
    AtMost(Each("module"), 2, PLACES_SHOWN, hard=True),
)
"""The rules of an editor: hide modules that Python removed, and let no module fill the page."""

Stage = Callable[[str], object]


@dataclass(frozen=True, eq=False)
class QueryExample:
    """One query in three orders: by BM25, by the learned ranker, and after the rules.

    Each place has a name and its grade.
    """

    query: str
    why: str
    gain: float
    first_stage: tuple[tuple[str, int], ...]
    learned: tuple[tuple[str, int], ...]
    ruled: tuple[tuple[str, int], ...]
    outcome: PostRanking = field(repr=False)


@dataclass(frozen=True, eq=False)
class Demo:
    """The standard library as ranking data in five folds: BM25 retrieves documents, rankers order them.

    Features are LETOR's features of name, signature and docstring, and the kind of document; they
    are scaled within queries. Documents that BM25 does not retrieve are not ranked, so the numbers
    measure re-ranking.
    """

    problem: SearchProblem
    data: RankingData
    folds: list[Fold] = field(repr=False)
    seed: int = 0

    @classmethod
    def prepare(cls, n_queries: int | None = None, seed: int = 0, stage: Stage = str) -> Demo:
        """Read the library, index it, and compute features of the documents that BM25 retrieves."""
        stage("reading the standard library")
        problem = search_problem()
        stage("counting its words")
        index = library_index(problem.documents)
        stage("making features")
        judged = problem.queries[:n_queries]
        text_features = make_features(
            index, {q.id: q.text for q in judged}, CANDIDATES, {q.id: q.grades for q in judged}
        )
        data = scale_by_query(_with_kinds(text_features, problem.documents), "zscore")
        return cls(problem, data, kfold(data, 5, seed=seed), seed)

    @property
    def first_stage_recall(self) -> float:
        """The share of good answers (grade 2 or more) that BM25 retrieves."""
        docids = self.data.docids
        assert docids is not None
        ids = {qid: set(docids[rows]) for qid, rows in self.data.queries()}
        good = {q.id: set().union(*q.order) for q in self.problem.queries if q.id in ids}
        return sum(len(names & ids[q]) for q, names in good.items()) / sum(map(len, good.values()))

    def rankers(self) -> dict[str, Ranker]:
        """Return BM25 and every ranker that podium alone can fit."""
        learned = {
            name: make_ranker(name, **FAST_SETTINGS.get(name, {})) for name in compared_rankers()
        }
        for ranker in learned.values():
            if "seed" in ranker.get_params():
                ranker.set_params(seed=self.seed)
        return {"bm25": SingleFeature(feature=FIRST_STAGE_FEATURE), **learned}

    def compare(
        self, progress: Callable[[ComparisonProgress], object] | None = None, n_jobs: int = 1
    ) -> Report:
        """Compare all rankers with BM25 on the test queries of five folds."""
        return compare(
            self.folds, self.rankers(), DEFAULT_METRICS, tune=False, baseline="bm25", seed=self.seed,
            n_jobs=n_jobs, progress=progress, name="the standard library",
        )  # fmt: skip

    def examples(self, report: Report) -> list[QueryExample]:
        """Return three queries ordered by the best ranker: the largest gain, the median, the largest loss."""
        best = report.ranking()[0]
        gains = report.per_query(best) - report.per_query("bm25")
        order = np.argsort(-gains, kind="stable")
        places = [(fold, q) for fold in self.folds for q in range(fold.test.n_queries)]
        positions = {"gained most": 0, "in the middle": len(order) // 2, "lost most": -1}
        examples = []
        for why, i in positions.items():
            fold, q = places[order[i]]
            ranker = self.rankers()[best].fit(fold.train, valid=fold.valid)
            gain = float(gains[order[i]])
            examples.append(self._make_example(why, gain, ranker, fold.test.subset([q])))
        return examples

    def save(self, report: Report, folder: Path) -> Path:
        """Write the files for `podium serve`: a model, queries outside its training data, and rules.

        The model is the best ranker, trained on the first fold; the queries are the test queries of
        that fold.
        """
        fold, best = self.folds[0], next(name for name in report.ranking() if name != "bm25")
        make_folder(folder)
        self.rankers()[best].fit(fold.train, valid=fold.valid).save(folder / "model.podium")
        write_rules(RULES, folder / "rules.yaml")
        with atomic_writer(folder / "samples.jsonl") as write:
            for sample in self.samples(fold.test):
                write(json.dumps(sample).encode() + b"\n")
        return folder

    def samples(self, data: RankingData) -> Iterator[dict[str, Any]]:
        """Yield queries as requests to rank; each document has its features, and fields for rules."""
        text = {query.id: query.text for query in self.problem.queries}
        about = {document.id: _rule_fields(document) for document in self.problem.documents}
        names, docids = data.names(), data.docids
        assert docids is not None
        for qid, rows in data.queries():
            X = [[float(f"{value:.6g}") for value in row] for row in data.X[rows].tolist()]
            documents = [
                {"id": doc, "fields": {k: v for k, v in about[doc].items() if k != "id"},
                 "features": dict(zip(names, row, strict=True))}
                for doc, row in zip(docids[rows], X, strict=True)
            ]  # fmt: skip
            yield {"id": str(qid), "query": text[str(qid)], "documents": documents}

    def _make_example(
        self, why: str, gain: float, ranker: Ranker, one: RankingData
    ) -> QueryExample:
        before, scores = one.X[:, list(one.names()).index(FIRST_STAGE_FEATURE)], ranker.predict(one)
        orders = [np.argsort(-s, kind="stable") for s in (before, scores)]
        about = {d.id: _rule_fields(d) for d in self.problem.documents}
        docids = one.docids
        assert docids is not None
        listed = [about[docids[i]] for i in orders[1]]
        outcome = postrank(listed, RULES)
        grades = dict(zip(docids, one.y.astype(int).tolist(), strict=True))
        heads = [tuple((docids[i], grades[docids[i]]) for i in o[:PLACES_SHOWN]) for o in orders]
        ruled = tuple((str(doc), grades[doc]) for doc in outcome.order[:PLACES_SHOWN])
        text = next(query.text for query in self.problem.queries if query.id == one.qids[0])
        return QueryExample(text, why, gain, heads[0], heads[1], ruled, outcome)


def _rule_fields(document: LibraryEntry) -> dict[str, Any]:
    """Return the fields of a document for rules."""
    module = document.id.split(".")[0]
    return {
        "id": document.id,
        "kind": document.kind,
        "module": module,
        "removed": int(module in REMOVED_MODULES),
    }


def _with_kinds(data: RankingData, documents: tuple[LibraryEntry, ...]) -> RankingData:
    """Add features that do not come from the text: the kind of a document and the depth of its name."""
    kind = {document.id: document.kind for document in documents}
    docids = data.docids
    assert docids is not None
    own: NDArray[np.float64] = np.array(
        [[*(kind[doc] == k for k in KINDS), doc.count(".")] for doc in docids], dtype=np.float64
    )
    names = (*data.names(), *(f"is a {k}" for k in KINDS), "depth of the name")
    return data.with_features(np.hstack([data.X, own]), names)
