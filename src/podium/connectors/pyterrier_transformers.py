"""PyTerrier: index, features, rankers, aggregators and rules as transformers, metrics as measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.aggregation import Aggregator, aggregate
from podium.connectors.document_columns import qrels_of, run_of
from podium.data import RankingData
from podium.errors import UsageError, require
from podium.features import Index, make_features
from podium.features.term_counter import WHOLE_DOCUMENT
from podium.metrics import Metric, evaluate
from podium.metrics.naming import resolve
from podium.postranking import Rule, RuleStore, postrank
from podium.rankers import Ranker

if TYPE_CHECKING:
    import pandas as pd
    import pyterrier as pt
else:
    pt = require("pyterrier", "pyterrier", "a transformer of PyTerrier")
    pd = require("pandas", "pyterrier", "a transformer of PyTerrier")


class IndexRetriever(pt.Transformer):
    """Retrieves the best documents of an `Index` by BM25; needs no Java and no download.

    Parameters
    ----------
    index
        The documents.
    k
        The number of documents per query.
    field
        The field to search.

    Examples
    --------
    >>> index = Index.build([{"id": "a", "body": "lift of wings"}, {"id": "b", "body": "heat"}])
    >>> IndexRetriever(index).search("wings").docno.tolist()
    ['a']
    """

    def __init__(self, index: Index, k: int = 1000, field: str = WHOLE_DOCUMENT) -> None:
        self.index, self.k, self.field = index, k, field

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the best documents of each query."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        lists = []
        for row in inp.to_dict("records"):
            hits = self.index.search(row["query"], self.k, self.field)
            lists.append(_frame_of(row, list(hits.docids), hits.scores))
        return _join(lists, [*inp.columns, "docno", "score"])


class IndexFeatures(pt.Transformer):
    """Adds the features of `make_features` to results, as the column `features`.

    Parameters
    ----------
    index
        The documents, with all that are in the results.

    Examples
    --------
    >>> index = Index.build([{"id": "a", "body": "lift of wings"}, {"id": "b", "body": "heat"}])
    >>> pipeline = IndexRetriever(index) >> IndexFeatures(index)
    >>> pipeline.search("wings").features[0].shape == (len(index.feature_names),)
    True
    """

    def __init__(self, index: Index) -> None:
        self.index = index

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results with their features."""
        pt.validate.result_frame(inp, extra_columns=["query"])
        out = inp.copy()
        out["features"] = pd.Series([None] * len(inp), index=inp.index, dtype=object)
        if not len(inp):
            return out
        lists = dict(list(inp.groupby("qid", sort=False)))
        texts = {str(qid): own["query"].iloc[0] for qid, own in lists.items()}
        docids = {str(qid): own["docno"].tolist() for qid, own in lists.items()}
        matrix = make_features(self.index, texts, docids).X
        rows = np.concatenate([np.flatnonzero(inp["qid"] == qid) for qid in lists])
        vectors: list[Any] = [None] * len(inp)
        for row, vector in zip(rows.tolist(), np.asarray(matrix), strict=True):
            vectors[row] = vector
        out["features"] = pd.Series(vectors, index=inp.index, dtype=object)
        return out


class RankerTransformer(pt.Estimator):
    """Re-ranks results that have features, by a ranker.

    ``fit`` fits the ranker to results and qrels; a fitted ranker, such as one of ``podium.load``, needs none.

    Parameters
    ----------
    ranker
        The ranker.
    feature_names
        The names of the features, for explanations; after `IndexFeatures`, ``index.feature_names``.

    Examples
    --------
    >>> from podium.rankers import RankSVM
    >>> results = pd.DataFrame({
    ...     "qid": ["1"] * 3, "query": ["wings"] * 3, "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0],
    ...     "features": [np.array([0.0]), np.array([1.0]), np.array([2.0])],
    ... })
    >>> qrels = pd.DataFrame({"qid": ["1"], "docno": ["c"], "label": [1]})
    >>> transformer = RankerTransformer(RankSVM())
    >>> transformer.fit(results, qrels)
    >>> transformer(results).sort_values("rank").docno.tolist()
    ['c', 'b', 'a']
    """

    def __init__(self, ranker: Ranker, feature_names: Sequence[str] | None = None) -> None:
        self.ranker, self.feature_names = ranker, feature_names

    def fit(
        self,
        topics_or_res_tr: pd.DataFrame,
        qrels_tr: pd.DataFrame,
        topics_or_res_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
    ) -> None:
        """Fit the ranker; validation results choose iterations. Unjudged documents have label 0."""
        has_validation = topics_or_res_va is not None and qrels_va is not None
        valid = self._data(topics_or_res_va, qrels_va) if has_validation else None
        self.ranker.fit(self._data(topics_or_res_tr, qrels_tr), valid=valid)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results with the scores of the ranker."""
        pt.validate.result_frame(inp, extra_columns=["features"])
        out = inp.copy()
        scores = np.empty(0)
        if len(inp):
            data = self._data(inp)
            scores = data.restore(self.ranker.predict(data))
        return pt.model.add_ranks(out.assign(score=scores))

    def _data(self, results: pd.DataFrame, qrels: pd.DataFrame | None = None) -> RankingData:
        labels = np.zeros(len(results))
        if qrels is not None:
            judged = {(str(q), str(d)): label for q, d, label in _rows(qrels, "label")}
            pairs = zip(results["qid"], results["docno"], strict=True)
            labels = np.array([max(0, judged.get((str(q), str(d)), 0)) for q, d in pairs], float)
        return RankingData.from_arrays(
            np.vstack(results["features"].tolist()), labels, qid=results["qid"].to_numpy(),
            docid=results["docno"].tolist(), feature_names=self.feature_names,
        )  # fmt: skip


class AggregatorTransformer(pt.Transformer):
    """Aggregates the results of pipelines into one list per query.

    Parameters
    ----------
    pipelines
        Transformers from queries to results.
    method
        A name of ``podium.AGGREGATORS``, or an aggregator.
    weights
        One weight per pipeline.
    depth
        How many documents of each list count.
    **options
        Options of the method.

    Examples
    --------
    >>> index = Index.build([
    ...     {"id": "a", "title": "wings", "body": "heat"}, {"id": "b", "title": "heat", "body": "wings"},
    ... ])
    >>> fields = [IndexRetriever(index, field=field) for field in index.fields]
    >>> AggregatorTransformer(*fields, method="borda", weights=[2, 1]).search("wings").docno.tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        *pipelines: Any,
        method: str | Aggregator = "supervised-kemeny",
        weights: Sequence[float] | None = None,
        depth: int | None = None,
        **options: Any,
    ) -> None:
        if len(pipelines) < 2:
            raise UsageError(f"expected two pipelines or more, got {len(pipelines)}")
        self.pipelines, self.method, self.weights = pipelines, method, weights
        self.depth, self.options = depth, options

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the aggregated list of each query; scores fall by one per place."""
        pt.validate.query_frame(inp)
        results = [dict(list(pipeline(inp).groupby("qid"))) for pipeline in self.pipelines]
        lists = []
        for row in inp.to_dict("records"):
            rankings = [_scores(own.get(row["qid"])) for own in results]
            if any(rankings):
                lists.append(_frame_of(row, self._aggregate(rankings)))
        return _join(lists, [*inp.columns, "docno", "score"])

    def _aggregate(self, rankings: list[dict[str, float]]) -> list[Any]:
        weights = np.ones(len(rankings)) if self.weights is None else np.asarray(self.weights)
        if len(weights) != len(rankings):
            raise UsageError(f"expected {len(rankings)} weights, got {len(weights)}")
        listed = [place for place, ranking in enumerate(rankings) if ranking]
        own = [rankings[place] for place in listed]
        return list(aggregate(own, self.method, weights[listed], self.depth, **self.options))


class RulesTransformer(pt.Transformer):
    """Applies rules to the list of each query.

    Parameters
    ----------
    rules
        The rules, or a `RuleStore`.
    fields
        The columns of results that rules select documents by.
    **settings
        Settings of `postrank`, such as ``conflicts="yield"``.

    Examples
    --------
    >>> from podium.postranking import Hide, Pin
    >>> results = pd.DataFrame({
    ...     "qid": ["1"] * 3, "query": ["wings"] * 3, "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0],
    ... })
    >>> RulesTransformer([Pin("c", 1, hard=True), Hide("b", hard=True)])(results).docno.tolist()
    ['c', 'a']
    """

    def __init__(
        self, rules: Iterable[Rule] | RuleStore, fields: Sequence[str] = (), **settings: Any
    ) -> None:
        self.rules = rules if isinstance(rules, RuleStore) else RuleStore(rules)
        self.fields = tuple(fields)
        self.settings = {"missing": "report", **settings}

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the lists after their rules; scores fall by one per place."""
        pt.validate.result_frame(inp, extra_columns=["query", "score", *self.fields])
        lists = [self._apply(own) for _, own in inp.groupby("qid", sort=False)]
        return _join(lists, list(inp.columns))

    def _apply(self, results: pd.DataFrame) -> pd.DataFrame:
        ranked = results.sort_values("score", ascending=False, kind="stable")
        records = ranked.to_dict("records")
        docs = [{"id": row["docno"], **{f: row[f] for f in self.fields}} for row in records]
        order = postrank(
            docs, self.rules, ranked["score"].to_numpy(float), query=records[0]["query"],
            **self.settings,
        )  # fmt: skip
        shared = {"qid": records[0]["qid"], "query": records[0]["query"]}
        rows = {row["docno"]: row for row in records}
        out = pd.DataFrame([rows.get(doc, {**shared, "docno": doc}) for doc in order])
        return out.assign(score=np.arange(len(out), 0, -1.0)) if len(out) else ranked.head(0)


def as_measure(metric: str | Metric, topk: int | None = None) -> Any:
    """Return a metric of podium as a measure of ir_measures, for ``pt.Experiment``.

    Parameters
    ----------
    metric
        A name such as "ERR@10", or a metric.
    topk
        The k of qrels whose labels are positions, y = k + 1 - position, as kappa metrics need. None: labels
        are grades.

    Examples
    --------
    >>> as_measure("kNDCG@3", topk=3)
    kNDCG@3
    >>> qrels = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "relevance": [1]})
    >>> run = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["b", "a"], "score": [2.0, 1.0]})
    >>> import ir_measures
    >>> ir_measures.calc_aggregate([as_measure("MRR")], qrels, run)
    {MRR: 0.5}
    """
    own = resolve(metric)

    def values(qrels: pd.DataFrame, run: pd.DataFrame) -> Iterator[tuple[str, float]]:
        qids = set(qrels["query_id"]).intersection(run["query_id"])
        if not qids:
            return
        judged = qrels_of(_rows(qrels[qrels["query_id"].isin(qids)], "relevance"), "the qrels")
        ranked = run_of(_rows(run[run["query_id"].isin(qids)], "score"), "the run")
        result = evaluate(replace(judged, topk=topk), ranked, own)
        yield from zip(result.qids.tolist(), result[own].per_query.tolist(), strict=True)

    import ir_measures

    return ir_measures.define(values, name=str(own), support_cutoff=False)


def _rows(frame: pd.DataFrame, value: str) -> Iterable[tuple[Any, Any, float]]:
    """Return the query ids, document ids and values of a table of PyTerrier or of ir_measures."""
    names = ("qid", "docno") if "qid" in frame else ("query_id", "doc_id")
    return zip(*(frame[name].tolist() for name in (*names, value)), strict=True)


def _scores(results: pd.DataFrame | None) -> dict[str, float]:
    return {} if results is None else dict(zip(results["docno"], results["score"], strict=True))


def _frame_of(row: dict[str, Any], docids: Sequence[Any], scores: Any = None) -> pd.DataFrame:
    """Return one query's documents, best first; without scores they fall by one per place."""
    scores = np.arange(len(docids), 0, -1.0) if scores is None else scores
    return pd.DataFrame({"docno": docids, "score": scores}).assign(**row)


def _join(lists: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return all lists with ranks, in the order of the queries, and the columns also without rows."""
    filled = [own for own in lists if len(own)]
    order = [*dict.fromkeys([*columns, "docno", "score"])]
    if not filled:
        return pt.model.add_ranks(pd.DataFrame({c: np.empty(0) for c in order if c != "rank"}))
    joined = pd.concat(filled, ignore_index=True)
    return pt.model.add_ranks(joined[[c for c in order if c != "rank"]].copy())
