"""Text to features: terms, counts, every formula by hand, by a slow twin and by bm25s."""

import json
from collections import Counter
from math import log

import bm25s
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium import errors
from podium.data import (
    Groups,
    IndexedRun,
    Qrels,
    Run,
    Strings,
    concatenate,
    write_run,
)
from podium.features import (
    FORMULAS,
    STEMMERS,
    Document,
    FormulaParameters,
    Index,
    Tokenizer,
    make_features,
    read_documents,
    stream_features,
)

DOCS = [
    {"id": "d1", "title": "wing lift", "body": "the lift of a wing and the drag of a wing"},
    {"id": "d2", "title": "heat", "body": "heat of a slab"},
    {"id": "d3", "title": "slab slab", "body": ""},
]
# Lengths: title 2 1 2, body 11 4 0, whole 13 5 2.


def values(index, query, docids, *names):
    data = make_features(index, {"q": query}, {"q": docids})
    return [data.X[:, data.feature_names.index(name)].tolist() for name in names]


@pytest.fixture(scope="module")
def index():
    return Index.build(DOCS)


# Tokenizer and stemmers


@pytest.mark.parametrize(
    ("settings", "text", "terms"),
    [
        ({}, "Don't panic: 42 wings!", ["don", "t", "panic", "42", "wings"]),
        ({}, "", []),
        ({}, " \n\t.,;", []),
        ({}, "Straße ΣΊΣΥΦΟΣ 東京", ["straße", "σίσυφος", "東京"]),
        ({}, "cafe\u0301 ﬁn", ["café", "fin"]),  # composed and decomposed are one word
        ({}, "read_csv CamelCase", ["read_csv", "camelcase"]),
        ({"stop_words": "english"}, "What is the lift of a wing", ["lift", "wing"]),
        ({"stemmer": "s"}, "queries wings shoes glass bus", ["query", "wing", "shoe", "glass", "bus"]),
        ({"stemmer": "porter"}, "relational databases", ["relat", "databas"]),
        (
            {"identifiers": "split"},
            "os.path.join snake_case CamelCase HTTPServer getURL utf8 __init__ X",
            ["os", "path", "join", "snake", "case", "camel", "case", "http", "server", "get", "url",
             "utf8", "init", "x"],
        ),
        (
            {"identifiers": "both"},
            "Use os.path.join or DictReader. End.",
            ["use", "os", "path", "join", "os.path.join", "or", "dict", "reader", "dictreader", "end"],
        ),
    ],
)  # fmt: skip
def test_tokenizer(settings, text, terms):
    assert Tokenizer(**settings)(text) == terms


@pytest.mark.parametrize("setting", ["stop_words", "stemmer", "identifiers"])
def test_unknown_settings_are_named(setting):
    with pytest.raises(errors.UnknownNameError, match="englsh"):
        Tokenizer(**{setting: "englsh"})


def test_the_plural_rules_of_harman():
    pairs = {"ties": "ty", "eaies": "eaie", "shoes": "shoe", "trees": "tree", "boxes": "boxe",
             "gas": "gas", "class": "class", "status": "status", "is": "is", "cats": "cat"}  # fmt: skip
    assert {word: STEMMERS["s"](word) for word in pairs} == pairs


# Words of the article's own examples, each through all five steps.
PORTER = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "plastered": "plaster",
    "motoring": "motor", "conflated": "conflat", "troubled": "troubl", "sized": "size",
    "hopping": "hop", "falling": "fall", "hissing": "hiss", "filing": "file", "happy": "happi",
    "sky": "sky", "relational": "relat", "conditional": "condit", "triplicate": "triplic",
    "formative": "form", "electrical": "electr", "hopefulness": "hope", "goodness": "good",
    "revival": "reviv", "allowance": "allow", "adjustment": "adjust", "adoption": "adopt",
    "probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll",
}  # fmt: skip


def test_porter_is_the_published_algorithm():
    assert {word: STEMMERS["porter"](word) for word in PORTER} == PORTER


@given(st.text(max_size=2))
def test_porter_leaves_words_of_two_letters(word):
    assert STEMMERS["porter"](word) == word


@pytest.mark.parametrize(
    ("language", "one", "many"), [("german", "haus", "hauses"), ("french", "avion", "avions")]
)
def test_languages_have_stemmers(language, one, many):
    assert STEMMERS[language](one) == STEMMERS[language](many) != many


# Documents


def test_documents_from_json_lines(tmp_path):
    path = tmp_path / "docs.jsonl.gz"
    import gzip

    lines = [json.dumps(doc) for doc in DOCS]
    path.write_bytes(gzip.compress("\n\n".join(lines).encode()))
    seen = []
    assert list(read_documents(path, progress=seen.append)) == [Document.of(doc) for doc in DOCS]
    assert sum(seen) == len("\n\n".join(lines))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"id": "a", "title": "x"}\n{"title": "y"}\n',
            "docs.jsonl:2: expected 'id' of each document",
        ),
        ('{"id": true}\n', "docs.jsonl:1: expected 'id' of each document to be text"),
        ('{"id": "a"\n', "docs.jsonl:1: expected JSON, one JSON object per line, got"),
        ("[1]\n", "docs.jsonl:1: expected JSON lines, one object per line, got a JSON array"),
        ("", "docs.jsonl: the file has no documents"),
        (b'{"id": "\xff"}', "docs.jsonl:1: expected UTF-8 text, got byte 0xff"),
    ],
)
def test_wrong_lines_are_named(tmp_path, text, message):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(errors.DataError) as error:
        Index.build(read_documents(path))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("documents", "settings", "message"),
    [
        ([], {}, "expected at least one"),
        ([{"id": 1}], {}, "no document has a field of text"),
        ([{"id": 1, "n": 5}], {}, "no document has a field of text"),
        ([{"id": 1, "t": "a"}, {"id": "1", "t": "b"}], {}, "document '1' occurs twice"),
        (
            [{"id": 1, "t": "a"}, {"id": 2, "t": 1984}],
            {},
            "text in field 't', got 1984 in document '2'",
        ),
        ([{"id": 1, "whole": "a"}], {}, "the field name 'whole' is reserved"),
        ([{"id": 1, "title": "a"}], {"fields": ["titel"]}, "did you mean title"),
        ([{"id": 1, "title": "a"}], {"keep": ["titel"]}, "did you mean title"),
        ([{"id": 1, "title": "a"}], {"fields": "title"}, "names of fields"),
        ([{"id": 1, "title": "a"}], {"keep": "title"}, "names of fields"),
        (["text"], {}, "documents as records"),
    ],
)
def test_what_makes_no_index(documents, settings, message):
    with pytest.raises(errors.PodiumError, match=message):
        Index.build(documents, **settings)


def test_fields_are_those_with_text_in_the_order_they_are_met():
    docs = [{"id": 1, "a": "x", "n": 3}, {"id": 2, "b": "y z", "a": None}, {"id": 3, "a": "z"}]
    index = Index.build(docs)
    assert index.fields == ("a", "b")
    assert index.postings["b"].length.tolist() == [0, 2, 0]
    assert index.postings["a"].length.tolist() == [1, 0, 1]
    chosen = Index.build(docs, fields=["b"], keep=["a"])
    assert chosen.fields == ("b",)
    assert list(chosen.texts["a"]) == ["x", "", "z"]


# Formulas, by hand


def test_counts_by_hand(index):
    # "wing", "slab" and a word that no document has: three distinct words, "wing" twice.
    query = "wing wing slab zebra"
    names = ["covered(body)", "covered.ratio(body)", "length(body)", "tf.sum(body)", "tf.min(body)",
             "tf.max(body)", "tf.mean(body)"]  # fmt: skip
    assert values(index, query, ["d1", "d2", "d3"], *names) == [
        [1, 1, 0],
        [1 / 3, 1 / 3, 0],
        [11, 4, 0],
        [2, 1, 0],
        [0, 0, 0],
        [2, 1, 0],
        [2 / 3, 1 / 3, 0],
    ]
    whole = values(index, "wing of", ["d1"], "tf.min(whole)", "tf.max(whole)", "tf.sum(whole)")
    assert whole == [[2], [3], [5]]  # wing: 1 in the title, 2 in the body


def test_idf_and_tfidf_by_hand(index):
    # In the body 1 of 3 documents has "wing", 2 have "of".
    wing, of = log(3 / 1), log(3 / 2)
    names = ["idf(body)", *(f"tfidf.{how}(body)" for how in ("sum", "min", "max", "mean"))]
    found = values(index, "wing of", ["d1", "d2"], *names)
    np.testing.assert_allclose(
        found,
        [
            [wing + of, of],
            [2 * wing + 2 * of, of],
            [2 * of, 0],
            [2 * wing, of],
            [(2 * wing + 2 * of) / 2, of / 2],
        ],
        rtol=1e-15,
    )


def test_bm25_by_hand(index):
    # wing: 2 in d1's body of 11 words, slab: 1 in d2's of 4; 5 words in the mean.
    idf = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    d1 = 2 * idf * 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 11 / 5))  # "wing" twice in the query
    d2 = idf * 1 / (1 + 1.2 * (1 - 0.75 + 0.75 * 4 / 5))
    [found] = values(index, "wing slab wing", ["d1", "d2", "d3"], "bm25(body)")
    assert found == pytest.approx([d1, d2, 0], rel=1e-15)


def test_language_models_by_hand():
    parameters = FormulaParameters(mu=10, jm=0.2, delta=0.5)
    index = Index.build(DOCS, parameters=parameters)
    # Body: 15 words in all; wing 2, slab 1. d1: 11 words, 7 distinct; d2: 4 and 4; d3 is empty.
    wing, slab = 2 / 15, 1 / 15
    found = values(
        index, "wing slab wing zebra", ["d1", "d2", "d3"],
        "lmir.abs(body)", "lmir.dir(body)", "lmir.jm(body)",
    )  # fmt: skip
    expected = [
        [
            2 * log((2 - 0.5) / 11 + 0.5 * 7 / 11 * wing) + log(0.5 * 7 / 11 * slab),
            2 * log(0.5 * 4 / 4 * wing) + log((1 - 0.5) / 4 + 0.5 * 4 / 4 * slab),
            2 * log(0.5 * wing) + log(0.5 * slab),
        ],
        [
            2 * log((2 + 10 * wing) / (11 + 10)) + log(10 * slab / (11 + 10)),
            2 * log(10 * wing / (4 + 10)) + log((1 + 10 * slab) / (4 + 10)),
            2 * log(wing) + log(slab),
        ],
        [
            2 * log(0.8 * 2 / 11 + 0.2 * wing) + log(0.2 * slab),
            2 * log(0.2 * wing) + log(0.8 * 1 / 4 + 0.2 * slab),
            2 * log(0.2 * wing) + log(0.2 * slab),
        ],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "wrong", [{"k1": -1}, {"b": 1.5}, {"mu": 0}, {"jm": 0}, {"delta": 2}, {"k1": float("nan")}]
)
def test_wrong_parameters(wrong):
    with pytest.raises(errors.UsageError, match=f"expected {next(iter(wrong))}"):
        FormulaParameters(**wrong)


# Formulas, by a slow twin


def slow_features(documents, query, p):
    """Every feature of every document of one field, from lists of words alone."""
    N = len(documents)
    counts = [Counter(words) for words in documents]
    collection = Counter(word for words in documents for word in words)
    C = sum(collection.values())
    mean = C / N if C else 1
    for words, tf in zip(documents, counts, strict=True):
        n, q = len(words), Counter(query)
        df = {t: sum(t in other for other in counts) for t in q}
        idf = {t: log(N / df[t]) if df[t] else 0 for t in q}
        weighted = {t: tf[t] * idf[t] for t in q}
        likely = {"abs": 0.0, "dir": 0.0, "jm": 0.0}
        for t in q:
            if collection[t]:
                pc = collection[t] / C
                share, unique = (tf[t] / n, len(tf) / n) if n else (0, 1)
                discounted = max(tf[t] - p.delta, 0) / n if n else 0
                likely["abs"] += q[t] * log(discounted + p.delta * unique * pc)
                likely["dir"] += q[t] * log((tf[t] + p.mu * pc) / (n + p.mu))
                likely["jm"] += q[t] * log((1 - p.jm) * share + p.jm * pc)
        bm25 = 0.0
        for t in q:
            if tf[t]:
                weight = log(1 + (N - df[t] + 0.5) / (df[t] + 0.5))
                bm25 += q[t] * weight * tf[t] / (tf[t] + p.k1 * (1 - p.b + p.b * n / mean))
        yield {
            "covered": sum(tf[t] > 0 for t in q),
            "covered.ratio": sum(tf[t] > 0 for t in q) / len(q) if q else 0,
            "length": n,
            "idf": sum(idf[t] for t in q if tf[t]),
            "tf.sum": sum(tf[t] for t in q),
            "tf.min": min((tf[t] for t in q), default=0),
            "tf.max": max((tf[t] for t in q), default=0),
            "tf.mean": sum(tf[t] for t in q) / len(q) if q else 0,
            "tfidf.sum": sum(weighted.values()),
            "tfidf.min": min(weighted.values(), default=0),
            "tfidf.max": max(weighted.values(), default=0),
            "tfidf.mean": sum(weighted.values()) / len(q) if q else 0,
            "bm25": bm25,
            **{f"lmir.{name}": value for name, value in likely.items()},
        }


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "ö"]), max_size=8)
UNIT = st.floats(0.01, 1)
PARAMETERS = st.builds(
    FormulaParameters,
    k1=st.floats(0, 5),
    b=st.floats(0, 1),
    mu=st.floats(0.1, 5000),
    jm=UNIT,
    delta=UNIT,
)


@given(
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6),
    st.lists(WORDS.map(lambda words: [*words, *words[:1]]), min_size=1, max_size=4),
    PARAMETERS,
)
@example([(["a"], [])], [["a"], []], FormulaParameters())
@example([([], [])], [["zebra"]], FormulaParameters(k1=0))
def test_features_are_what_the_slow_twin_says(texts, queries, parameters):
    index = Index.build(
        [{"id": i, "title": " ".join(t), "body": " ".join(b)} for i, (t, b) in enumerate(texts)],
        parameters=parameters,
    )
    docids = [str(i) for i in range(len(texts))]
    data = make_features(
        index,
        {str(i): " ".join(query) for i, query in enumerate(queries)},
        {str(i): docids for i in range(len(queries))},
    )
    fields = {
        "title": [t for t, _ in texts],
        "body": [b for _, b in texts],
        "whole": [t + b for t, b in texts],
    }
    expected = []
    for query in queries:
        by_field = {f: list(slow_features(d, query, parameters)) for f, d in fields.items()}
        expected += [
            [by_field[f][i][name] for f in fields for name in FORMULAS] for i in range(len(texts))
        ]
    assert data.feature_names == tuple(f"{name}({f})" for f in fields for name in FORMULAS)
    np.testing.assert_allclose(data.X, expected, rtol=1e-11, atol=1e-12)


def test_blocks_change_nothing(index, monkeypatch):
    queries = {
        str(i): text for i, text in enumerate(["wing lift", "of a slab", "heat", "the wing"])
    }
    whole = make_features(index, queries, 3)
    monkeypatch.setattr("podium.features.letor_features.PAIRS_PER_BLOCK", 1)
    done = []
    assert make_features(index, queries, 3, progress=lambda *at: done.append(at)).equals(whole)
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]


# Search


def bm25s_scores(texts, query, k1, b):
    """The same BM25 by bm25s: its scores of all documents for a list of words."""
    model = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    model.index(texts, show_progress=False)
    return model.get_scores(query)


@given(
    st.lists(WORDS.filter(bool), min_size=1, max_size=12),
    WORDS.filter(bool),
    st.floats(0.1, 3),
    st.floats(0, 1),
    st.integers(1, 15),
)
def test_search_scores_as_bm25s_and_orders_ties_by_document(texts, query, k1, b, k):
    index = Index.build(
        [{"id": i, "body": " ".join(words)} for i, words in enumerate(texts)],
        parameters=FormulaParameters(k1=k1, b=b),
    )
    known = [word for word in query if any(word in words for words in texts)]
    expected = bm25s_scores(texts, known, k1, b) if known else np.zeros(len(texts))
    hits = index.search(" ".join(query), k)
    everything = index.search(" ".join(query), len(texts))
    assert sorted(everything.documents.tolist()) == np.flatnonzero(expected > 0).tolist()
    np.testing.assert_allclose(everything.scores, expected[everything.documents], rtol=1e-12)
    best = sorted(everything.documents, key=lambda d: (-scores_of(everything)[d], d))
    assert hits.documents.tolist() == best[:k]
    assert [docid for docid, _ in hits] == [str(d) for d in best[:k]]


def scores_of(hits):
    return dict(zip(hits.documents.tolist(), hits.scores.tolist(), strict=True))


def test_equal_scores_keep_the_order_of_the_index():
    index = Index.build([{"id": f"d{i}", "body": "same words"} for i in range(50)])
    assert list(index.search("words", 7).docids) == [f"d{i}" for i in range(7)]


def test_search_in_one_field_and_in_all(index):
    assert list(index.search("slab", field="title").docids) == ["d3"]
    assert list(index.search("slab", field="body").docids) == ["d2"]
    assert list(index.search("slab").docids) == ["d3", "d2"]
    one = Index.build([{"id": 1, "body": "x y"}])
    assert one.search("x", field="whole").scores == one.search("x", field="body").scores
    assert make_features(one, {"q": "x"}, 1).feature_names == tuple(f"{f}(body)" for f in FORMULAS)


def test_search_and_feature_agree(index):
    data = make_features(index, {"q": "the wing of a slab"}, 10)
    hits = index.search("the wing of a slab", 10)
    column = data.feature_names.index("bm25(whole)")
    assert data.docids.tolist() == list(hits.docids)
    np.testing.assert_allclose(data.X[:, column], hits.scores, rtol=1e-14)


def test_nothing_is_found_for_nothing(index):
    assert len(index.search("")) == len(index.search("zebra")) == 0
    assert repr(index.search("zebra")) == "Hits()"
    with pytest.raises(errors.UnknownNameError, match="did you mean title"):
        index.search("wing", field="titel")
    for k in (0, -1, 2.5):
        with pytest.raises(errors.UsageError, match="k of 1 or more"):
            index.search("wing", k)


def test_runs(index):
    seen = []
    run = index.retrieve(
        {"1": "wing", "2": "zebra", "3": "slab"}, k=5, progress=lambda *at: seen.append(at)
    )
    assert run.qids.tolist() == ["1", "3"]
    assert list(run.docids) == ["d1", "d3", "d2"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(errors.EmptyDataError, match="none of the 1 queries matches a document"):
        index.retrieve({"2": "zebra"})


# Ranking data


def qrels(**labels):
    pairs = [(q, d, v) for q, own in labels.items() for d, v in own.items()]
    return Qrels(
        np.array([*labels], dtype=object),
        Groups.from_sizes([len(own) for own in labels.values()]),
        Strings.of(d for _, d, _ in pairs),
        np.array([float(v) for *_, v in pairs]),
    )


@pytest.mark.parametrize("form", ["mapping", "qrels"])
def test_labels(index, form):
    labels = {"b": {"d2": 3, "d1": -1, "far": 2}, "other": {"d3": 4}}
    judged = labels if form == "mapping" else qrels(**labels)
    data = make_features(index, {"a": "wing", "b": "of slab", "c": "zebra"}, 10, judged)
    assert data.qids.tolist() == ["a", "b"]  # nothing is found for c
    assert list(data.query_text) == ["wing", "of slab"]
    rows = dict(
        zip(zip(data.qids[data.groups.codes], data.docids, strict=True), data.y, strict=True)
    )
    assert rows == {("a", "d1"): 0, ("b", "d1"): 0, ("b", "d2"): 3, ("b", "d3"): 0}
    with pytest.raises(errors.DataError, match="the judgments have none of these queries"):
        make_features(index, {"a": "wing"}, 10, judged)


def test_candidates_of_a_run_come_by_score(index):
    run = Run(
        np.array(["q"], dtype=object), Groups.from_sizes([2]), Strings.of(["d3", "d1"]),
        np.array([1.0, 2.0]),
    )  # fmt: skip
    assert make_features(index, {"q": "wing", "r": "x"}, run).docids.tolist() == ["d1", "d3"]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ({"q": ["d1", "d9"]}, "the index has no document 'd9' for query 'q'"),
        ({"q": ["d1", "d1"]}, "query 'q' has a candidate twice"),
        ({"r": ["d1"]}, "query 'r' has candidates but no text"),
        ({}, "no query has candidates"),
        (0, "k of 1 or more"),
        ("d1", "a number, a Run or document ids by query, got str"),
    ],
)
def test_wrong_candidates(index, candidates, message):
    with pytest.raises(errors.PodiumError, match=message):
        make_features(index, {"q": "wing"}, candidates)


def test_kept_texts_come_along():
    index = Index.build(DOCS, keep=["title"])
    data = make_features(index, {"q": "slab"}, 10)
    assert list(data.doc_text["title"]) == ["slab slab", "heat"]


def test_ids_may_be_numbers():
    index = Index.build([{"id": 7, "body": "x"}, {"id": 8, "body": "x y"}])
    for candidates in (5, {1: [7, 8]}):
        data = make_features(index, {1: "x"}, candidates, {1: {8: 2}})
        assert dict(zip(data.docids, data.y, strict=True)) == {"7": 0, "8": 2}
    assert index.retrieve({1: "x"}).qids.tolist() == ["1"]


def test_a_stream_of_features_has_the_data_of_all_at_once(tmp_path):
    index = Index.build(
        [{"id": f"d{i}", "body": f"word{i % 5} word{i % 3} lift of wings {i}"} for i in range(40)]
    )
    queries = {f"q{i}": f"word{i % 5} wings" for i in range(9)} | {"none": "zzz"}
    judged = {"q1": {"d1": 2.0}, "q7": {"d7": 1.0}}
    for candidates in (7, {qid: ["d3", "d1"] for qid in ("q1", "q5")}):
        whole = make_features(index, queries, candidates, judged)
        blocks = list(stream_features(index, queries, candidates, judged, documents=15))
        assert concatenate(blocks).equals(whole)
    write_run(Run.from_scores(whole, -np.arange(len(whole), dtype=float)), tmp_path / "a.run")
    from_run = stream_features(index, queries, IndexedRun(tmp_path / "a.run"), judged)
    assert concatenate(list(from_run)).equals(whole)
    with pytest.raises(errors.DataError, match="the judgments have none of these queries"):
        list(stream_features(index, queries, 7, {"other": {"d1": 1.0}}))
    with pytest.raises(errors.EmptyDataError, match="no query has candidates"):
        list(stream_features(index, {"none": "zzz"}, 7))
