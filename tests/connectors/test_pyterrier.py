"""podium inside PyTerrier: retrieval, features, rankers, aggregation and rules in pipelines; measures."""

from dataclasses import replace

import numpy as np
import pytest

from podium.aggregation import aggregate
from podium.data import Qrels, Run
from podium.errors import UsageError
from podium.features import Index, make_features
from podium.metrics import evaluate
from podium.postranking import Hide, NotTopK, Pin, Where, postrank
from podium.rankers import LambdaMART, RankSVM

WORDS = ["lift", "wing", "heat", "slab", "flow", "plate", "drag", "jet"]
pytestmark = pytest.mark.filterwarnings("default")  # other packages use what they give up


@pytest.fixture(scope="module")
def pt(load):
    return load("pyterrier")


@pytest.fixture(scope="module")
def pd(load):
    return load("pandas")


@pytest.fixture(scope="module")
def own(load):
    return load("podium.connectors.pyterrier_transformers")


@pytest.fixture(scope="module")
def index():
    rng = np.random.default_rng(5)
    return Index.build(
        {"id": f"d{i}", "title": " ".join(rng.choice(WORDS, 2)), "body": " ".join(rng.choice(WORDS, 9))}
        for i in range(120)
    )  # fmt: skip


@pytest.fixture(scope="module")
def topics(pd):
    pairs = [(a, b) for i, a in enumerate(WORDS) for b in WORDS[i + 1 :]]
    return pd.DataFrame([{"qid": f"q{i}", "query": f"{a} {b}"} for i, (a, b) in enumerate(pairs)])


@pytest.fixture(scope="module")
def qrels(pd, index, topics):
    """A document is relevant by how often its title has the first word of the query."""
    column = index.feature_names.index("tf.sum(title)")
    first = {row.qid: row.query.split()[0] for row in topics.itertuples()}
    data = make_features(index, first, 120)
    rows = zip(np.repeat(data.qids, data.groups.sizes), data.docids, data.X[:, column], strict=True)
    return pd.DataFrame(
        [{"qid": q, "docno": d, "label": int(label)} for q, d, label in rows if label > 0]
    )


def lists(results):
    """Document ids by query, best first."""
    ranked = results.sort_values(["qid", "rank"])
    return {qid: own.docno.tolist() for qid, own in ranked.groupby("qid")}


def test_retrieval_is_that_of_the_index(own, index, topics):
    results = own.IndexRetriever(index, k=7)(topics)
    run = index.retrieve(dict(zip(topics.qid, topics["query"], strict=True)), k=7)
    expected = [list(run.docids)[rows] for rows in run.groups.slices()]
    assert [*lists(results).values()] == [
        dict(zip(run.qids, expected, strict=True))[q] for q in lists(results)
    ]
    assert results["rank"].tolist()[:7] == list(range(7))
    assert results.score.tolist() == pytest.approx(run.values.tolist())


def test_features_are_those_of_the_index_in_any_order_of_rows(own, index, topics):
    results = own.IndexRetriever(index, k=5)(topics).sample(frac=1, random_state=0)
    found = own.IndexFeatures(index)(results)
    assert found.docno.tolist() == results.docno.tolist()
    for row in (0, 3, len(found) - 1):
        one = found.iloc[row]
        expected = make_features(index, {one.qid: one["query"]}, {one.qid: [one.docno]}).X[0]
        np.testing.assert_array_equal(one.features, expected)


def test_a_pipeline_learns_in_an_experiment(pt, own, index, topics, qrels):
    names = index.feature_names
    features = own.IndexRetriever(index, k=40) >> own.IndexFeatures(index)
    ranker = own.RankerTransformer(RankSVM(), names)
    pipeline = features >> ranker
    train, test = topics.iloc[::2], topics.iloc[1::2]
    pipeline.fit(train, qrels, test, qrels)
    assert ranker.ranker.feature_names_in_.tolist() == list(names)
    table = pt.Experiment(
        [own.IndexRetriever(index, k=40), pipeline], test, qrels,
        ["ndcg_cut_5", own.as_measure("NDCG(gain='linear')@5")], names=["BM25", "RankSVM"],
    ).set_index("name")  # fmt: skip
    assert table.loc["RankSVM", "ndcg_cut_5"] > table.loc["BM25", "ndcg_cut_5"] + 0.05
    # trec_eval's NDCG has linear gains, too; it orders equal scores by document id.
    assert table.loc["RankSVM"].iloc[0] == pytest.approx(table.loc["RankSVM"].iloc[1], abs=0.02)


def test_scores_are_those_of_the_ranker(own, index, topics, qrels):
    features = (own.IndexRetriever(index, k=9) >> own.IndexFeatures(index))(topics)
    transformer = own.RankerTransformer(LambdaMART(trees=5, min_leaf=2, threads=1))
    transformer.fit(features, qrels)
    mixed = features.sample(frac=1, random_state=1)
    found = transformer(mixed)
    expected = transformer.ranker.predict(np.vstack(mixed.features.tolist()))
    np.testing.assert_array_equal(found.score, expected)
    best = found[found["rank"] == 0].set_index("qid").score
    assert found.groupby("qid").score.max().to_dict() == best.to_dict()


def test_features_join_others_in_a_union(pt, own, index, topics):
    features = own.IndexRetriever(index, k=5) >> (
        own.IndexFeatures(index) ** pt.apply.doc_score(lambda row: float(len(row["docno"])))
    )
    found = features(topics.head(2))
    assert {len(vector) for vector in found.features} == {len(index.feature_names) + 1}
    assert found.features.iloc[0][-1] == len(found.docno.iloc[0])


def test_aggregation_is_that_of_podium(own, index, topics):
    title, body = (own.IndexRetriever(index, 10, field) for field in ("title", "body"))
    combined = own.AggregatorTransformer(title, body, method="rrf", weights=[2, 1], k=20)
    found, one, other = (lists(pipeline(topics)) for pipeline in (combined, title, body))
    scores = [title(topics), body(topics)]
    for qid in ("q0", "q9"):
        rankings = [
            dict(zip(own_.docno, own_.score, strict=True))
            for own_ in (results[results.qid == qid] for results in scores)
        ]
        assert found[qid] == list(aggregate(rankings, "rrf", [2, 1], k=20))
        assert set(found[qid]) == {*one[qid], *other[qid]}


def test_a_query_without_results_in_one_pipeline(pd, own, index):
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["unheard", "wing"]})
    title, body = (own.IndexRetriever(index, 3, field) for field in ("title", "body"))
    pair = own.AggregatorTransformer(title, body, method="borda", weights=[1, 2])
    assert set(pair(topics).qid) == {"2"}
    assert pair(topics.head(1)).empty
    nothing = own.RulesTransformer([Hide(docno, hard=True) for docno in title.search("wing").docno])
    found = own.AggregatorTransformer(title >> nothing, body, method="borda", weights=[1, 2])(
        topics
    )
    assert found.docno.tolist() == body.search("wing").docno.tolist()


def test_rules_are_those_of_postrank(own, index, topics):
    results = own.IndexRetriever(index, k=8)(topics.head(3)).assign(stock=lambda r: r["rank"] % 2)
    rules = [Pin("d3", 1), NotTopK(Where("stock == 1"), 4, weight=30)]
    found = own.RulesTransformer(rules, fields=["stock"])(results)
    for qid, after in lists(found).items():
        before = results[results.qid == qid]
        docs = [{"id": row.docno, "stock": row.stock} for row in before.itertuples()]
        expected = postrank(
            docs, rules, before.score.to_numpy(), query=before["query"].iloc[0], missing="report"
        )
        assert after == list(expected)
    assert (found.groupby("qid").score.max() == 8).all()


def test_rules_may_hide_everything(own, index, topics):
    results = own.IndexRetriever(index, k=2)(topics.head(1))
    rules = [Hide(docno, hard=True) for docno in results.docno]
    found = own.RulesTransformer(rules)(results)
    assert found.empty
    assert {"qid", "query", "docno", "score", "rank"} <= set(found.columns)


@pytest.mark.parametrize("name", ["kNDCG@5", "kERR@5", "NDCG@10", "P@3", "MRR", "ERR@5"])
def test_measures_are_the_metrics(name, load, own, index, topics, qrels):
    ir_measures = load("ir_measures")
    results = own.IndexRetriever(index, k=20)(topics)
    judged = qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
    ranked = results.rename(columns={"qid": "query_id", "docno": "doc_id"})
    own_qrels = own.qrels_of(own._rows(qrels, "label"), "qrels")
    own_run = own.run_of(own._rows(results, "score"), "run")
    assert isinstance(own_qrels, Qrels)
    assert isinstance(own_run, Run)
    topk = 3 if name.startswith("k") else None
    expected = evaluate(replace(own_qrels, topk=topk), own_run, name)[name]
    measure = own.as_measure(name, topk)
    assert ir_measures.calc_aggregate([measure], judged, ranked)[measure] == pytest.approx(
        expected.mean
    )
    found = {one.query_id: one.value for one in ir_measures.iter_calc([measure], judged, ranked)}
    assert found == pytest.approx(dict(zip(own_qrels.qids, expected.per_query, strict=True)))


def test_pipelines_can_be_inspected(pt, own, index):
    pipeline = (
        own.IndexRetriever(index) >> own.IndexFeatures(index) >> own.RankerTransformer(RankSVM())
        >> own.RulesTransformer([])
    )  # fmt: skip
    columns = pt.inspect.transformer_outputs(pipeline, ["qid", "query"])
    assert {"qid", "query", "docno", "score", "rank", "features"} == set(columns)


def test_wrong_pipelines_are_refused(pt, pd, own, index):
    with pytest.raises(UsageError, match="two pipelines or more, got 1"):
        own.AggregatorTransformer(own.IndexRetriever(index))
    pair = own.AggregatorTransformer(*[own.IndexRetriever(index)] * 2, weights=[1, 2, 3])
    with pytest.raises(UsageError, match="expected 2 weights, got 3"):
        pair.search("wing")
    with pytest.raises(pt.validate.InputValidationError):
        own.RankerTransformer(RankSVM())(pd.DataFrame({"qid": ["1"], "docno": ["a"]}))
