"""Documents to features: building, search next to bm25s, features next to a plain loop."""

from __future__ import annotations

from collections import Counter
from math import log

import bm25s
import numpy as np

from benchmarks.measure import Contender, Report, Row, speedup
from podium.features import FormulaParameters, Index, make_features

N_DOCUMENTS, N_WORDS, LENGTH = 50_000, 50_000, 100
N_QUERIES, K = 500, 100
N_LOOPED = 20
"""Number of queries of the plain loop, which is too slow for all."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    n = 1_000 if quick else N_DOCUMENTS
    texts, queries = _texts(n, LENGTH, seed=0), _texts(N_QUERIES, 4, seed=1)
    setting = {
        "documents": n,
        "words a document": LENGTH,
        "queries": N_QUERIES,
        "words a query": 4,
        "k": K,
    }
    report = Report("features", "Features: documents in words", setting)
    documents = [{"id": i, "title": text[:60], "body": text} for i, text in enumerate(texts)]
    index = Index.build(documents)
    queries_by_id = {str(i): text for i, text in enumerate(queries)}
    _measure_search(report, texts, index, queries_by_id, 3 if quick else 7)
    _measure_features(report, documents, index, queries_by_id, 3 if quick else 7)
    return report


def _texts(n: int, length: int, seed: int) -> list[str]:
    """Draw words by Zipf's law: the r-th most frequent has a chance of about 1/r."""
    rng = np.random.default_rng(seed)
    ranks = np.minimum(np.exp(rng.random((n, length)) * log(N_WORDS)), N_WORDS).astype(int)
    return [" ".join(f"w{r}" for r in row) for row in ranks.tolist()]


def _measure_search(
    report: Report, texts: list[str], index: Index, queries: dict[str, str], repeats: int
) -> None:
    def build_peer() -> bm25s.BM25:
        model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        model.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        return model

    def search_peer() -> object:
        words = bm25s.tokenize([*queries.values()], stopwords=None, show_progress=False)
        return model.retrieve(words, k=K, show_progress=False)

    model = build_peer()
    one = Index.build({"id": i, "body": text} for i, text in enumerate(texts))
    _check_same(one, model, [*queries.values()])
    builds = report.time_in_turn(
        [
            Contender(
                "podium, build",
                lambda: Index.build({"id": i, "body": t} for i, t in enumerate(texts)),
                3,
            ),
            Contender("bm25s, build", build_peer, 3),
        ]
    )
    searches = report.time_in_turn(
        [
            Contender("podium, search", lambda: one.retrieve(queries, K), repeats),
            Contender("bm25s, search", search_peer, repeats),
        ]
    )
    report.rows += [
        speedup("build an index of one field", builds["podium, build"], builds["bm25s, build"]),
        speedup("search, all queries", searches["podium, search"], searches["bm25s, search"]),
    ]
    seconds = searches["podium, search"].median / len(queries)
    report.rows.append(Row("search, one query", seconds))
    report.notes.append(
        "bm25s by its default backend, NumPy, on one thread, with float32 weights that its building counts "
        "in; ours are float64, and computed in the first search (the warm-up)."
    )


def _check_same(index: Index, model: bm25s.BM25, queries: list[str]) -> None:
    """Check that both give the same scores, up to bm25s's single precision."""
    for text in queries[:20]:
        theirs = np.sort(model.get_scores(text.split()))[::-1][:K]
        ours = index.search(text, K).scores
        if not np.allclose(ours, theirs[: len(ours)], rtol=1e-4):
            raise AssertionError(f"bm25s finds other scores for {text!r}")


def _measure_features(
    report: Report, documents: list[dict[str, object]], index: Index, queries: dict[str, str], repeats: int
) -> None:  # fmt: skip
    few = {qid: queries[qid] for qid in [*queries][:N_LOOPED]}
    candidates = {qid: list(index.search(text, K).docids) for qid, text in few.items()}
    table = {str(d["id"]): d for d in documents}
    loop = _PlainLoop(table, index.parameters)
    t = report.time_in_turn(
        [
            Contender("podium, features", lambda: make_features(index, few, candidates), repeats),
            Contender("plain loop, features", lambda: loop(few, candidates), min(3, repeats)),
            Contender(
                "podium, features of all queries", lambda: make_features(index, queries, K), 3
            ),
        ]
    )
    ours, theirs = t["podium, features"], t["plain loop, features"]
    column = [f"bm25({f})" for f in ("title", "body", "whole")]
    data = make_features(index, few, candidates)
    columns = [data.feature_names.index(name) for name in column]
    if not np.allclose(data.X[:, columns], [row[12::16] for row in loop(few, candidates)]):
        raise AssertionError("the plain loop finds other features")
    rows = sum(map(len, candidates.values()))
    report.rows += [
        speedup(f"48 features of {rows:,} candidates", ours, theirs, at_least=10),
        Row(
            f"search and features, {len(queries)} queries",
            t["podium, features of all queries"].median,
        ),
    ]
    report.notes.append(
        "The plain loop counts words with dictionaries, document by document; what it knows of the "
        "collection (df, cf, lengths) is counted beforehand and not timed."
    )


def _fields(document: dict[str, object]) -> dict[str, list[str]]:
    title, body = str(document["title"]).split(), str(document["body"]).split()
    return {"title": title, "body": body, "whole": title + body}


class _PlainLoop:
    """Features by a plain loop over queries, documents and words."""

    def __init__(
        self, documents: dict[str, dict[str, object]], parameters: FormulaParameters
    ) -> None:
        self.p, self.N = parameters, len(documents)
        self.words = {docid: _fields(document) for docid, document in documents.items()}
        self.df = {f: Counter() for f in ("title", "body", "whole")}
        self.cf = {f: Counter() for f in self.df}
        for fields in self.words.values():
            for f, words in fields.items():
                self.df[f].update(set(words))
                self.cf[f].update(words)
        self.total = {f: sum(counts.values()) for f, counts in self.cf.items()}

    def __call__(
        self, queries: dict[str, str], candidates: dict[str, list[str]]
    ) -> list[list[float]]:
        rows = []
        for qid, text in queries.items():
            q = Counter(text.split())
            for docid in candidates[qid]:
                row: list[float] = []
                for f, words in self.words[docid].items():
                    row += self._field(f, q, words)
                rows.append(row)
        return rows

    def _field(self, f: str, q: Counter[str], words: list[str]) -> list[float]:
        p, tf, n, mean = self.p, Counter(words), len(words), self.total[f] / self.N
        df, cf, total = self.df[f], self.cf[f], self.total[f]
        tfs = [tf[t] for t in q]
        idfs = [log(self.N / df[t]) if df[t] else 0.0 for t in q]
        weighted = [a * b for a, b in zip(tfs, idfs, strict=True)]
        covered = sum(a > 0 for a in tfs)
        bm25 = absolute = dirichlet = jm = 0.0
        for t, k in q.items():
            idf = log(1 + (self.N - df[t] + 0.5) / (df[t] + 0.5))
            bm25 += k * idf * tf[t] / (tf[t] + p.k1 * (1 - p.b + p.b * n / mean))
            if cf[t]:
                pc = cf[t] / total
                absolute += k * log(max(tf[t] - p.delta, 0) / n + p.delta * len(tf) / n * pc)
                dirichlet += k * log((tf[t] + p.mu * pc) / (n + p.mu))
                jm += k * log((1 - p.jm) * tf[t] / n + p.jm * pc)
        return [
            covered, covered / len(q), n, sum(i for i, a in zip(idfs, tfs, strict=True) if a),
            sum(tfs), min(tfs), max(tfs), sum(tfs) / len(q),
            sum(weighted), min(weighted), max(weighted), sum(weighted) / len(q),
            bm25, absolute, dirichlet, jm,
        ]  # fmt: skip
