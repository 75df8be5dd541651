"""Feature sets: declared features for each engine, the calls of its script, and logs read back."""

import json
import os
import subprocess

import numpy as np
import pytest

from podium.data import RankingData, read_letor, read_qrels
from podium.errors import (
    CannotExpressError,
    DataError,
    EmptyDataError,
    MalformedLineError,
    UnknownNameError,
    UsageError,
)
from podium.exchange import (
    export_features,
    export_model,
    read_feature_logs,
    read_features,
)
from podium.exchange.feature_sets.declared_features import FeatureSet, FieldNumber, TextScore
from podium.rankers import LambdaMART, RankSVM
from tests.support.cli import answer, run
from tests.support.fake_engine import fake_engine
from tests.support.small_rankers import small

DECLARED = """
name: shop_features
features:
  title_score: {match: title}
  text_score: {match: [title, text]}
  price: {number: price, default: 0}
  stars: {number: stars}
  acme: {word: Acme, field: brand}
  mobile: {request: mobile}
  value: {expression: price / (1 + stars)}
  phrase:
    elasticsearch: {bool: {should: [{match_phrase: {title: "{{keywords}}"}}], boost: 1.5}}
    solr: {class: org.apache.solr.ltr.feature.SolrFeature, params: {q: "{!field f=title}${keywords}"}}
    vespa: fieldMatch(title).proximity
"""
COMPLETE = {
    "title_score": TextScore(("title",)), "price": FieldNumber("price", 0.0), "age": FieldNumber("age", 1.0)
}  # fmt: skip
QUERY = """shoes "44" \\ it's"""
"""Words that must be quoted in JSON, in the shell and in Solr."""


@pytest.fixture
def declared(tmp_path):
    path = tmp_path / "features.yaml"
    path.write_text(DECLARED)
    return read_features(path)


def without_formula(features):
    kept = {name: feature for name, feature in features.features.items() if name != "value"}
    return FeatureSet(features.name, kept)


def template(entries, name):
    return next(entry for entry in entries if entry["name"] == name)


# --- formats ---


def test_elasticsearch_templates(declared):
    entries = json.loads(export_features(declared, "elasticsearch").content)["featureset"][
        "features"
    ]
    assert [entry["name"] for entry in entries] == list(declared.features)
    title = template(entries, "title_score")
    assert title["params"] == ["keywords"]
    # The filter matches every document, so that one without the words scores 0 and is not missing.
    assert title["template"]["bool"] == {
        "filter": [{"match_all": {}}], "should": [{"match": {"title": "{{keywords}}"}}]
    }  # fmt: skip
    assert template(entries, "text_score")["template"]["bool"]["should"] == [
        {"multi_match": {"query": "{{keywords}}", "fields": ["title", "text"]}}
    ]
    price = template(entries, "price")["template"]["function_score"]
    assert price["functions"] == [{"field_value_factor": {"field": "price", "missing": 0.0}}]
    stars = template(entries, "stars")["template"]["function_score"]
    assert stars["query"] == {"exists": {"field": "stars"}}  # documents without it lack the feature
    assert [
        f["weight"] for f in template(entries, "acme")["template"]["function_score"]["functions"]
    ] == [1, 0]
    assert template(entries, "value") == {
        "name": "value", "params": ["mobile"], "template_language": "derived_expression",
        "template": "price / (1 + stars)",
    }  # fmt: skip
    assert template(entries, "phrase")["template"]["bool"]["boost"] == 1.5
    # OpenSearch takes the templates of Elasticsearch.
    assert (
        json.loads(export_features(declared, "opensearch").content)["featureset"]["features"]
        == entries
    )


def test_solr_features(declared):
    with pytest.raises(UsageError, match="Solr has no formulas"):
        export_features(declared, "solr")
    features = without_formula(declared)
    store = {
        entry["name"]: entry for entry in json.loads(export_features(features, "solr").content)
    }
    assert {entry["store"] for entry in store.values()} == {"shop_features"}
    assert store["text_score"]["params"] == {"q": "{!edismax qf='title text'}${keywords}"}
    assert store["price"]["params"] == {"field": "price", "defaultValue": "0.0"}
    assert store["stars"]["params"]["defaultValue"] == "NaN"
    assert store["acme"]["params"] == {"fq": ["{!term f=brand}Acme"]}
    assert store["mobile"]["params"] == {"value": "${mobile}", "required": True}
    older = json.loads(export_features(features, "solr@9.1").content)
    assert (
        template(older, "stars")["params"]["defaultValue"] == "0"
    )  # older models take NaN for a number


def test_vespa_functions(declared):
    profile = export_features(declared, "vespa").content
    assert "query(mobile) double: 0" in profile
    assert "expression: max(bm25(title), bm25(text))" in profile
    assert "if (isNan(attribute(price)) == 1, 0.0, attribute(price))" in profile
    assert 'if (attribute(brand) == "Acme", 1, 0)' in profile
    listed = profile.split("match-features {")[1].split("}")[0].split()
    assert listed == list(declared.features)
    with pytest.raises(UsageError, match="'brand_Acme'"):
        export_features(FeatureSet("shop", {"brand=Acme": FieldNumber("x", 0.0)}), "vespa")


def test_features_that_documents_may_lack_are_noted(declared):
    assert declared.lacking() == ["stars", "phrase"]
    assert "documents may lack stars, phrase" in export_features(declared, "vespa").notes[0]
    assert export_features(FeatureSet("shop", COMPLETE), "vespa").notes == ()


def test_an_unknown_engine_is_named(declared):
    with pytest.raises(UnknownNameError, match="did you mean solr"):
        export_features(declared, "sol")
    with pytest.raises(UsageError, match=r"expected a version such as"):
        export_features(declared, "opensearch@x")


# --- models beside features ---


@pytest.fixture(scope="module")
def models():
    data = small(20, n_features=3, seed=1)
    return {"sum": RankSVM().fit(data), "trees": LambdaMART(trees=3, leaves=3, threads=1).fit(data)}


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch", "solr", "vespa"])
@pytest.mark.parametrize("kind", ["sum", "trees"])
def test_a_model_stands_beside_its_features(models, engine, kind):
    features = FeatureSet("shop_features", COMPLETE)
    exported = export_model(models[kind], engine, name="shop", feature_names=list(COMPLETE))
    files = export_features(features, engine, exported).files
    assert "shop" in files["calls.sh"]
    if engine == "vespa":
        profile = files["shop.profile"]
        assert profile.startswith("rank-profile shop inherits shop_features {")
        assert profile.count("{") == profile.count("}")
        assert ('lightgbm("shop.json")' in profile) == (kind == "trees") == ("shop.json" in files)
        if kind == "sum":
            assert " * title_score" in profile
        return
    document = json.loads(files["model.json"])
    assert document.get("store") == ("shop_features" if engine == "solr" else None)
    with pytest.raises(UsageError, match="expected a model exported to"):
        export_features(features, "vespa" if engine == "solr" else "solr", exported)


def test_a_model_of_other_features_is_refused(models):
    exported = export_model(models["sum"], "solr", feature_names=["title_score", "clicks", "age"])
    with pytest.raises(
        UsageError, match="the model needs clicks, but the feature set shop has title_score"
    ):
        export_features(FeatureSet("shop", COMPLETE), "solr", exported)
    named = export_model(models["sum"], "solr", name="it's", feature_names=list(COMPLETE))
    with pytest.raises(UsageError, match="expected a name of letters"):
        export_features(FeatureSet("shop", COMPLETE), "solr", named)


def test_complete_features_make_an_export_for_a_version_right(models, tmp_path):
    model, path = tmp_path / "m.podium", tmp_path / "features.yaml"
    models["trees"].save(model)
    with pytest.raises(CannotExpressError, match="to the right at every split"):
        export_model(models["trees"], "opensearch@3.5")
    lines = "features:\n  a: {match: title}\n  b: {number: price, default: 0}\n  c: {number: age"
    path.write_text(lines + ", default: 0}\n")
    options = (
        "export",
        model,
        "--to",
        "opensearch@3.5",
        "--feature-names",
        "a,b,c",
        "--features",
        path,
    )
    facts = answer(*options, "-o", tmp_path / "engine")
    assert facts["files"] == ["features.json", "model.json", "calls.sh"]
    path.write_text(lines + "}\n")
    error = run(*options, "-o", tmp_path / "other", code=2).stderr
    assert "to the right at every split" in " ".join(error.split())
    assert not (tmp_path / "other").exists()


# --- the file ---


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("features: {}", r"features.yaml:1: expected at least one feature"),
        ("name: a b\nfeatures:\n  x: {match: t}", r":1: expected a name of letters"),
        ("rules: []", r":1: expected the key features"),
        ("features:\n  x: {match: t, boost: 2}", r":2: expected match, got the key 'boost'"),
        ("features:\n  x: {mach: t}", r":2: expected one of match, number, .* got mach"),
        ("features:\n  x: 3", r":2: expected one of match"),
        ("features:\n  x: {match: []}", r":2: expected a field to match"),
        ("features:\n  x: {match: 'a b'}", r":2: expected the name of a field"),
        ("features:\n  x: {number: p, default: nan}", r":2: expected a number as default"),
        ("features:\n  x: {number: p, default: 1e999}", r":2: expected a number as default"),
        ("features:\n  x: {word: Acme}", r":2: expected the key field"),
        ("features:\n  x: {word: 'a b', field: f}", r":2: expected one word"),
        ("features:\n  x: {request: 1a}", r":2: expected a name of letters"),
        ("features:\n  x: {expression: y * 2}", r":2: expected names of other features .* 'y'"),
        ("features:\n  x: {expression: x}", r":2: expected names of other features"),
        ("features:\n  x: {expression: 'sin(1)'}", r":2: engines do not share sin\(\)"),
        ("features:\n  x: {expression: '$(ls)'}", r":2: expected an expression"),
        ("features:\n  'a b': {match: t}", r":2: expected a feature's name without spaces"),
        ("features:\n  x: {match: t}\n  x: {match: t}", r":3: expected each key once"),
    ],
)
def test_mistakes_in_the_file_have_their_line(tmp_path, text, message):
    path = tmp_path / "features.yaml"
    path.write_text(text)
    with pytest.raises(MalformedLineError, match=message):
        read_features(path)


# --- calls and logs, from nothing to ranking data ---


def elasticsearch(method, path, query, body):
    if not path.endswith("/_search") or "ext" not in body:
        return {"acknowledged": True}
    entry = body["ext"]["ltr_log"]["log_specs"]["name"]
    values = {"d1": (2.5, 3.0), "d2": (0.0, None)}
    hits = [
        {"_id": doc, "fields": {"_ltrlog": [{entry: [
            {"name": "title_score", "value": score},
            {"name": "price"} if price is None else {"name": "price", "value": price},
        ]}]}}
        for doc, (score, price) in values.items()
    ]  # fmt: skip
    return {"hits": {"hits": hits}}


def solr(method, path, query, body):
    if not path.endswith("/select") or "qid" not in query:
        return {}
    docs = [
        {"id": "d1", "score": 1.0, "[features]": "title_score=2.5,price=3.0"},
        {"id": "d2", "score": 1.0, "[features]": "title_score=0.0,price=NaN"},
    ]
    return {"responseHeader": {"params": {"qid": query["qid"]}}, "response": {"docs": docs}}


def vespa(method, path, query, body):
    children = [
        {"id": "x", "fields": {
            "documentid": "id:shop:product::d1", "matchfeatures": {"title_score": 2.5, "price": 3.0}}},
        {"id": "d2", "fields": {
            "matchfeatures": {"rankingExpression(title_score)": 0.0, "price": None}}},
    ]  # fmt: skip
    return {"root": {"children": children}}


ANSWERS = {
    "elasticsearch": elasticsearch,
    "opensearch": elasticsearch,
    "solr": solr,
    "vespa": vespa,
}


def call(folder, address, *arguments):
    environment = {
        "PATH": os.environ["PATH"], "ENGINE": address, "INDEX": "products", "REQUEST_mobile": "1", "SIZE": "7"
    }  # fmt: skip
    done = subprocess.run(
        ["sh", folder / "calls.sh", *arguments], env=environment, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("engine", ANSWERS)
def test_logged_features_become_ranking_data(declared, engine, tmp_path):
    export_features(without_formula(declared), engine).save(tmp_path)
    (tmp_path / "queries.tsv").write_text(f"q1\t{QUERY}\nq2\tboots")
    with fake_engine(ANSWERS[engine]) as (address, requests):
        log = call(tmp_path, address, "log-all", tmp_path / "queries.tsv")
    assert len(log.splitlines()) == len(requests) == 2
    assert QUERY in words_of(requests[0], engine)
    (tmp_path / "log.jsonl").write_text(log)
    (tmp_path / "truth.qrels").write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d2 1\nq2 0 d9 1\n")
    out = tmp_path / "train.txt"
    facts = answer(
        "data", "from-log", tmp_path / "log.jsonl", "--qrels", tmp_path / "truth.qrels", "-o", out
    )
    assert facts["notes"] == [
        "1 documents have no judgment and are left out", "1 judged documents are not in the logs"
    ]  # fmt: skip
    data = read_letor(out, missing="nan")
    assert data.names() == ("title_score", "price")
    assert data.qids.tolist() == ["q1", "q2"]
    assert (list(data.docids), data.y.tolist()) == (["d1", "d2", "d2"], [2.0, 0.0, 1.0])
    np.testing.assert_array_equal(data.X, [[2.5, 3.0], [0.0, np.nan], [0.0, np.nan]])


def words_of(request, engine):
    """The words of the query, and the number of the request, as the engine reads them."""
    _, _, query, body = request
    if engine == "solr":
        assert query["fl"].endswith('efi.keywords="shoes \\"44\\" \\\\ it\'s" efi.mobile=1]')
        assert (query["rows"], query["qf"]) == ("7", "title text")
        return query["q"]
    if engine == "vespa":
        assert (query["input.query(mobile)"], query["ranking.profile"]) == ("1", "shop_features")
        return query["query"]
    condition = body["query"]["bool"]
    assert condition["filter"][0]["sltr"]["params"] == {"keywords": QUERY, "mobile": 1}
    assert (
        condition["filter"][0]["sltr"]["_name"]
        == body["ext"]["ltr_log"]["log_specs"]["named_query"]
    )
    assert body["size"] == 7
    return condition["must"]["multi_match"]["query"]


@pytest.mark.parametrize("engine", ["opensearch", "solr"])
def test_features_and_models_are_uploaded_and_used(models, engine, tmp_path):
    features = FeatureSet("shop_features", COMPLETE)
    exported = export_model(models["sum"], engine, name="shop", feature_names=list(COMPLETE))
    export_features(features, engine, exported).save(tmp_path)
    with fake_engine(ANSWERS[engine]) as (address, requests):
        for step in (["features"], ["model"], ["log", "q1", QUERY, "d1", "d2"], ["search", QUERY]):
            call(tmp_path, address, *step)
    bodies = [body for _, _, _, body in requests if body is not None]
    paths = [path for _, path, _, _ in requests]
    assert json.loads((tmp_path / "features.json").read_text()) in bodies
    assert json.loads((tmp_path / "model.json").read_text()) in bodies
    if engine == "solr":
        assert paths == [
            f"/products/{p}"
            for p in ("schema/feature-store", "schema/model-store", "select", "select")
        ]
        assert requests[2][2]["fq"] == "{!terms f=id}d1,d2"
        assert requests[3][2]["rq"].startswith("{!ltr model=shop reRankDocs=100 efi.keywords=")
        return
    assert paths[-1] == "/products/_search"
    assert bodies[-2]["query"]["bool"]["must"] == {"ids": {"values": ["d1", "d2"]}}
    rescore = bodies[-1]["rescore"]["query"]
    assert rescore["rescore_query"]["sltr"] == {"model": "shop", "params": {"keywords": QUERY}}


# --- logs ---


def write_log(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def hit(doc, **values):
    entries = [{"name": name, "value": value} for name, value in values.items()]
    return {"_id": doc, "fields": {"_ltrlog": [{"q1": entries}]}}


def test_several_answers_on_a_line(tmp_path):
    answers = [{"hits": {"hits": [hit("d1", x=1.0)]}}, {"hits": {"hits": [hit("d2", x=2.0)]}}]
    data, totals = read_feature_logs([write_log(tmp_path / "log", {"responses": answers})])
    assert (data.X[:, 0].tolist(), totals.queries, totals.documents) == ([1.0, 2.0], 1, 2)


def test_the_first_of_two_logs_of_a_document_counts(tmp_path):
    record = {"hits": {"hits": [hit("d1", x=1.0), hit("d1", x=2.0)]}}
    data, totals = read_feature_logs([write_log(tmp_path / "log", record)])
    assert data.X.tolist() == [[1.0]]
    assert totals.notes() == ["1 documents are logged twice for a query; the first counts"]


def test_documents_without_a_judgment_may_count_as_zero(tmp_path):
    (tmp_path / "q").write_text("q1 0 d1 3\nq1 0 d3 -1\n")
    record = {"hits": {"hits": [hit("d1", x=1.0), hit("d2", x=2.0), hit("d3", x=0.5)]}}
    path, qrels = write_log(tmp_path / "log", record), read_qrels(tmp_path / "q")
    assert read_feature_logs([path], qrels=qrels)[0].y.tolist() == [3.0, 0.0]
    assert read_feature_logs([path], qrels=qrels, unjudged="zero")[0].y.tolist() == [3.0, 0.0, 0.0]
    (tmp_path / "q").write_text("q2 0 d1 3\n")
    with pytest.raises(EmptyDataError, match="none of them is judged"):
        read_feature_logs([path], qrels=read_qrels(tmp_path / "q"))


def test_features_have_the_declared_order(tmp_path):
    path = write_log(tmp_path / "log", {"hits": {"hits": [hit("d1", x=1.0, y=2.0)]}})
    data, _ = read_feature_logs([path], features=["y", "x"])
    assert isinstance(data, RankingData)
    assert (data.names(), data.X.tolist()) == (("y", "x"), [[2.0, 1.0]])
    with pytest.raises(DataError, match="no document has z; the log has x, y"):
        read_feature_logs([path], features=["x", "z"])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"error": {"type": "parsing"}, "status": 400}, r"log:2: the engine answered with an error"),
        ({"took": 3}, r"log:2: expected the answer of an engine with hits, response or root, got 'took'"),
        ({"hits": {"hits": [{"_id": "d"}]}}, r"log:2: expected fields._ltrlog"),
        ({"hits": {"hits": [hit("d", x="high")]}}, r"log:2: expected a number as a feature, got 'high'"),
        ({"hits": {"hits": [hit("d", x="Infinity")]}}, r"log:2: expected a finite number"),
        ({"hits": {"hits": 3}}, r"log:2: expected a list of objects in hits"),
        ({"response": {"docs": []}}, r"log:2: expected the id of the query"),
        ({"qid": "q", "response": {"response": {"docs": [{"id": "d"}]}}}, r"log:2: expected id and \[feat"),
        ({"qid": "q", "response": {"root": {"children": [{"id": "d"}]}}}, r"log:2: expected matchfeatures"),
        ({"qid": "q", "response": 3}, r"log:2: expected the answer of an engine, got 3"),
    ],
)  # fmt: skip
def test_odd_answers_have_their_line(tmp_path, record, message):
    path = write_log(tmp_path / "log", {"hits": {"hits": [hit("d1", x=1.0)]}}, record)
    with pytest.raises(MalformedLineError, match=message):
        read_feature_logs([path])


def test_logs_without_documents(tmp_path):
    with pytest.raises(EmptyDataError, match="no answer has any"):
        read_feature_logs([write_log(tmp_path / "log", {"hits": {"hits": []}})])


# --- the command line ---


def test_export_of_features_alone(declared, tmp_path):
    path = tmp_path / "features.yaml"
    done = run("export", "--features", path, "--to", "opensearch")
    assert json.loads(done.stdout)["featureset"]["name"] == "shop_features"
    assert "documents may lack stars, phrase" in done.stderr
    done = run("export", "--features", path, "--to", "vespa", "-o", tmp_path / "v")
    assert sorted(p.name for p in (tmp_path / "v").iterdir()) == [
        "calls.sh",
        "shop_features.profile",
    ]
    error = run("export", "--features", path, "--to", "vespa", "-o", tmp_path / "v", code=2).stderr
    assert "--force replaces it" in " ".join(error.split())
    error = run("export", "--to", "vespa", code=2).stderr
    assert "expected MODEL" in error


def test_logs_without_judgments_have_label_0(tmp_path):
    path = write_log(tmp_path / "log", {"hits": {"hits": [hit("d1", x=1.0)]}})
    done = run("data", "from-log", path, "-o", tmp_path / "t.txt")
    assert "all labels are 0, because --qrels has no judgments" in " ".join(done.stderr.split())
    assert read_letor(tmp_path / "t.txt").y.tolist() == [0.0]
