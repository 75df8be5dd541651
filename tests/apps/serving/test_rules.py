"""Lists under rules over HTTP: what postrank says, with ids, reasons and conflicts."""

import numpy as np
import pytest

from podium.postranking import TopK, postrank, read_fields, read_rules
from tests.support.ranking_service import NAMES, error, get, post, rows, save, service

RULES = """\
version: 1
rules:
  - {rule: top-k, docs: e, k: 1, weight: 50}
  - {rule: hide, where: stock == 0, hard: true}
  - {rule: pin, docs: c, position: 2, query: clocks, hard: true}
"""
IDS = list("abcdef")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    (folder / "rules.yaml").write_text(RULES)
    (folder / "docs.csv").write_text("id,stock\n" + "".join(f"{i},{int(i != 'b')}\n" for i in IDS))
    ranker, path = save(folder)
    return ranker, path, str(folder / "rules.yaml"), str(folder / "docs.csv")


@pytest.fixture(scope="module")
def app(files):
    _, path, rules, docs = files
    return service(path, rules=rules, docs=docs)


def put(app, **request):
    response = post(app, "/v1/postrank", request)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_list_is_what_postrank_makes_of_it(app, files):
    found = postrank(IDS, read_rules(files[2]), fields=read_fields(files[3]), missing="report")
    answer = put(app, documents=IDS)
    assert answer["ids"] == list(found.order) == ["e", "a", "c", "d", "f"]
    assert answer["order"] == [IDS.index(id_) for id_ in found.order]
    assert answer["hidden"] == ["b"]
    assert "moves" not in answer


def test_rules_for_a_query_are_on_for_it(app):
    assert put(app, documents=IDS, query="Clocks")["ids"][1] == "c"
    assert put(app, documents=IDS, query="boards")["ids"][1] == "a"


def test_scores_give_the_order_first(app):
    documents = [{"id": id_, "score": at} for at, id_ in enumerate(IDS)]
    assert put(app, documents=documents, rules=[])["ids"] == IDS[::-1]


def test_fields_of_the_request_come_before_the_catalogue(app):
    documents = [{"id": id_, "fields": {"stock": int(id_ != "a")}} for id_ in IDS]
    assert put(app, documents=documents)["hidden"] == ["a"]


def test_moves_have_reasons(app, files):
    answer = put(app, documents=IDS, explain=True)
    first = next(move for move in answer["moves"] if move["id"] == "e")
    assert first == {"id": "e", "from": 5, "to": 1, "because": [0]}
    gone = next(move for move in answer["moves"] if move["id"] == "b")
    assert (gone["from"], gone["to"], gone["because"]) == (2, None, [1])
    assert [told["rule"] for told in answer["rules"]] == [
        rule.label for rule in read_rules(files[2])
    ]
    assert answer["rules"][2]["note"] == "is for the query 'clocks'"


def test_rules_may_come_with_the_request(app):
    rules = [{"rule": "top-k", "docs": "f", "k": 2, "weight": 30}]
    answer = put(app, documents=IDS, rules=rules, k=3)
    assert answer["ids"] == list(postrank(IDS, [TopK("f", 2, weight=30)]).order[:3])


def test_documents_that_are_not_in_the_list_do_no_harm(app):
    assert put(app, documents=["x", "y"], explain=True)["ids"] == ["x", "y"]
    assert put(app, documents=[])["ids"] == []


CONFLICT = [
    {"rule": "pin", "docs": "a", "position": 1, "hard": True, "priority": 2},
    {"rule": "pin", "docs": "b", "position": 1, "hard": True, "priority": 1},
]


def test_hard_rules_that_conflict_yield_or_are_named(app):
    answer = put(app, documents=IDS, rules=CONFLICT, explain=True)
    assert answer["ids"][0] == "a"
    assert [told.get("yielded", False) for told in answer["rules"]] == [False, True]
    request = {"documents": IDS, "rules": CONFLICT, "conflicts": "error"}
    told = error(post(app, "/v1/postrank", request), 409, "conflict")
    assert told["rules"] == ["Pin('a', 1)", "Pin('b', 1)"]
    why = "its priority is the lowest"
    assert answer["yielded"] == [{"number": 1, "rule": "Pin('b', 1)", "to": [0], "why": why}]


SOLD_OUT = [
    {"rule": "pin", "docs": "a", "position": 1, "hard": True, "name": "a first"},
    {"rule": "hide", "where": "stock == 0", "hard": True},
]


def test_lists_in_which_a_rule_gave_way_say_so_and_are_counted(app):
    before = get(app, "/healthz").json().get("degraded_lists", 0)
    clash = {"documents": IDS, "rules": CONFLICT}
    answer = put(app, **clash)
    assert answer["degraded"] is True
    assert "degraded" not in put(app, documents=IDS, rules=CONFLICT[:1])
    post(app, "/v1/postrank/batch", {"queries": [clash, clash]})
    health = get(app, "/healthz").json()
    assert health["status"] == "ok"
    assert health["degraded_lists"] - before == 1 + 2
    assert 'podium_degraded_lists_total{path="/v1/postrank"}' in get(app, "/metrics").text


def test_a_pinned_product_that_sells_out_is_hidden_and_the_rule_that_gave_way_is_named(app):
    documents = [{"id": id_, "fields": {"stock": int(id_ != "a")}} for id_ in IDS]
    query = {"documents": documents, "rules": SOLD_OUT}
    answer = put(app, **query)
    assert answer["ids"] == IDS[1:]
    gave_way = {"number": 0, "rule": "a first", "to": [1], "why": "a pin gives way to a hide"}
    assert answer["yielded"] == [gave_way]
    batch = post(app, "/v1/postrank/batch", {"queries": [query, {"documents": IDS, "rules": []}]})
    assert [result.get("yielded") for result in batch.json()["results"]] == [
        answer["yielded"],
        None,
    ]
    ranked = [dict(doc, features=dict(zip(NAMES, row, strict=True)))
              for doc, row in zip(documents, rows(6).tolist(), strict=True)]  # fmt: skip
    for path, body in (
        ("/v1/rank", {"documents": ranked, "rules": SOLD_OUT}),
        ("/v1/rank/batch", {"queries": [{"documents": ranked, "rules": SOLD_OUT}]}),
    ):
        answer = post(app, path, body).json()
        answer = answer["results"][0] if "results" in answer else answer
        assert sorted(answer["ids"]) == IDS[1:]
        assert answer["yielded"] == [gave_way]
    told = error(post(app, "/v1/postrank", {**query, "conflicts": "error"}), 409, "conflict")
    assert told["numbers"] == [0, 1]
    assert told["rules"] == ["a first", "Hide(stock == 0)"]  # names, as in `yielded`


COSTLY = """\
version: 1
rules:
  - {rule: hide, where: stock == 0, hard: true}
  - {rule: top-k, where: "n < 200", k: 3, query: many}
  - {rule: boost, where: odd, factor: 2, query: odd}
  - {rule: top-k, where: "n >= 1", k: 2, query: many}
"""


@pytest.fixture(scope="module")
def costly(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("costly") / "rules.yaml"
    path.write_text(COSTLY)
    return service(files[1], rules=str(path), docs=files[3])


def costly_list(n, **fields):
    return [{"id": f"{at}", "fields": {"n": at, "stock": at % 2, **fields}} for at in range(n)]


LIMITS = "podium.apps.serving.postranking."


def test_rules_of_the_service_that_take_too_much_work_leave_a_list(costly, monkeypatch):
    documents = costly_list(400)
    sold = [str(at) for at in range(0, 400, 2)]
    assert "reason" not in put(costly, documents=documents, query="few")
    before = get(costly, "/healthz").json().get("degraded_lists", 0)
    monkeypatch.setattr(LIMITS + "MAX_STEPS", 5_000)
    answer = put(costly, documents=documents, query="many")
    # The rule that hides costs little, so it still holds.
    assert (answer["degraded"], answer["hidden"]) == (True, sold)
    assert answer["ids"] == [str(at) for at in range(1, 400, 2)]
    assert (answer["reason"]["code"], answer["reason"]["rules"]) == ("too_much_work", 2)
    assert "more than the allowed 5,000 steps" in answer["reason"]["message"]
    monkeypatch.setattr(LIMITS + "MAX_STEPS", 100)
    answer = put(costly, documents=documents, query="many")
    assert answer["ids"] == [str(at) for at in range(400)]
    assert answer["reason"]["rules"] == 3
    assert get(costly, "/healthz").json()["degraded_lists"] - before == 2
    # Rules of a request are its own work.
    mine = {"documents": documents, "rules": [{"rule": "top-k", "where": "n < 200", "k": 3}]}
    error(post(costly, "/v1/postrank", mine), 413, "too_much_work")


def test_rules_of_the_service_that_are_too_many_leave_a_list(costly, monkeypatch):
    documents = costly_list(20)
    monkeypatch.setattr(LIMITS + "MAX_RULE_DOCUMENT_PAIRS", 30)
    answer = put(costly, documents=documents, query="many", explain=True)
    assert answer["ids"] == [str(at) for at in range(1, 20, 2)]
    assert answer["reason"] == {
        "code": "too_many", "rules": 2,
        "message": "expected at most 30 documents times rules, got 20 times 3",
    }  # fmt: skip
    notes = [told.get("note", "") for told in answer["rules"]]
    assert notes == ["", "was left out", "is for the query 'odd'", "was left out"]
    monkeypatch.setattr(LIMITS + "MAX_DOCUMENTS", 10)
    answer = put(costly, documents=documents, query="many")
    assert (len(answer["ids"]), answer["reason"]["rules"]) == (20, 3)
    error(post(costly, "/v1/postrank", {"documents": documents, "rules": []}), 413, "too_many")


def test_rules_of_the_service_that_take_too_long_leave_a_list(files, tmp_path):
    rules = tmp_path / "rules.yaml"
    ids = "[" + ", ".join(f'"{at}"' for at in range(0, 3000, 2)) + "]"
    mixes = [f"  - {{rule: mix, docs: {ids}, m: 1, of: {2 + at}, k: 900}}\n" for at in range(40)]
    rules.write_text("version: 1\nrules:\n  - {rule: hide, docs: x, hard: true}\n" + "".join(mixes))
    app = service(files[1], rules=str(rules), seconds=2)
    documents = ["x", *map(str, range(3000))]
    answer = put(app, documents=documents)
    assert answer["ids"] == documents[1:]
    assert answer["reason"]["rules"] == 40
    assert answer["reason"]["code"] in ("too_slow", "too_much_work")


def test_finding_the_rules_that_are_on_may_take_too_much_work_too(files, tmp_path, monkeypatch):
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {rule: pin, docs: a, position: 1, pattern: '*a*'}\n")
    app = service(files[1], rules=str(rules))
    monkeypatch.setattr(LIMITS + "MAX_STEPS", 1_000)
    answer = put(app, documents=IDS, query="a" * 9_000)
    assert (answer["ids"], answer["reason"]["code"]) == (IDS, "too_much_work")


def test_wrong_values_of_fields_leave_a_list(costly):
    documents = costly_list(6, odd="text")
    assert put(costly, documents=documents, query="odd")["ids"] == ["1", "3", "5"]
    documents = costly_list(6, odd=[[]] * 3)
    assert put(costly, documents=documents, query="odd")["ids"] == ["1", "3", "5"]


def test_a_request_for_errors_still_gets_its_conflict(files, tmp_path):
    rules = tmp_path / "rules.yaml"
    lines = [
        f"  - {{rule: pin, where: {name}, position: 1, hard: true}}\n" for name in ("one", "two")
    ]
    rules.write_text("version: 1\nrules:\n" + "".join(lines))
    app = service(files[1], rules=str(rules))
    documents = [{"id": "a", "fields": {"one": 1}}, {"id": "b", "fields": {"two": 1}}]
    assert put(app, documents=documents)["degraded"] is True
    request = {"documents": documents, "conflicts": "error"}
    error(post(app, "/v1/postrank", request), 409, "conflict")


@pytest.mark.parametrize(
    ("request_", "code", "what"),
    [
        ({"documents": ["a", "a"]}, "duplicate_id", "'a' twice"),
        ({"documents": [{"id": "a", "score": 1}, {"id": "b"}]}, "missing_score", "documents[1]"),
        ({"documents": IDS, "rules": [{"rule": "topk"}]}, "bad_request", "rules[0]: unknown rule"),
        (
            {"documents": IDS, "rules": [{"rule": "top-k", "docs": "a"}]},
            "bad_request",
            "rules[0]: a top-k rule needs k",
        ),
        ({"documents": IDS, "rules": [{}]}, "bad_request", "expected rule:"),
        (
            {"documents": IDS, "rules": [], "base": "margin"},
            "missing_score",
            '"base": "uniform" needs no scores',
        ),
        ({"documents": IDS, "rules": "x"}, "wrong_type", "expected a list or null, got text"),
        ({"documents": [""]}, "wrong_type", "length"),
        ({"documents": IDS, "prior": -1}, "wrong_type", ">= 0"),
        ({}, "wrong_type", "documents"),
    ],
)
def test_what_is_wrong_is_said(app, request_, code, what):
    assert what in error(post(app, "/v1/postrank", request_), 422, code)["message"]


def test_a_service_without_rules_says_so(files):
    app = service(files[1])
    error(post(app, "/v1/postrank", {"documents": IDS}), 422, "no_rules")
    error(post(app, "/v1/rank", {"features": [], "rules": True}), 422, "no_rules")
    assert put(app, documents=IDS, rules=[])["ids"] == IDS
    assert get(app, "/v1/models").json()["rules"] is None


def test_several_lists_at_once(app):
    lists = [{"documents": IDS, "query": query} for query in ("clocks", "boards")]
    response = post(app, "/v1/postrank/batch", {"queries": lists})
    assert response.json()["results"] == [put(app, **one) for one in lists]
    lists[1]["documents"] = ["a", "a"]
    told = error(post(app, "/v1/postrank/batch", {"queries": lists}), 422, "duplicate_id")
    assert told["at"] == "queries[1]"


def test_ranking_and_rules_in_one_call(app, files):
    ranker, _, rules, docs = files
    X = rows(6)
    scores = ranker.predict(X)
    found = postrank(
        IDS, read_rules(rules), scores, fields=read_fields(docs), missing="report", query="clocks"
    )
    request = {
        "features": X.tolist(),
        "ids": IDS,
        "rules": True,
        "query": "clocks",
        "explain": True,
    }
    answer = post(app, "/v1/rank", request).json()
    assert answer["ids"] == list(found.order)
    assert answer["scores"] == [float(scores[IDS.index(id_)]) for id_ in found.order]
    assert answer["order"] == [IDS.index(id_) for id_ in found.order]
    assert answer["hidden"] == ["b"]
    assert len(answer["contributions"]) == 5
    origin = {move["id"]: move["from"] for move in answer["moves"]}
    best = [IDS[row] for row in np.argsort(-scores, kind="stable")]
    assert all(best[place - 1] == id_ for id_, place in origin.items())
    assert [told["rule"] for told in answer["rules"]] == [rule.label for rule in read_rules(rules)]


def test_two_calls_are_one(app):
    X = rows(6).tolist()
    model = post(app, "/v1/rank", {"features": X, "ids": IDS}).json()
    documents = [
        {"id": id_, "score": score}
        for id_, score in zip(model["ids"], model["scores"], strict=True)
    ]
    both = post(app, "/v1/rank", {"features": X, "ids": IDS, "rules": True}).json()
    assert put(app, documents=documents)["ids"] == both["ids"]


def test_rules_need_ids(app):
    error(post(app, "/v1/rank", {"features": rows(2).tolist(), "rules": True}), 422, "wrong_ids")
    request = {"features": rows(2).tolist(), "ids": ["a", "a"], "rules": True}
    error(post(app, "/v1/rank", request), 422, "duplicate_id")


def test_a_list_with_too_many_rules_is_refused(tmp_path):
    app = service()
    rules = [{"rule": "top-k", "docs": f"d{i}", "k": 1, "weight": 1} for i in range(1_000)]
    body = {"documents": [f"d{i}" for i in range(5_001)], "rules": rules}
    told = error(post(app, "/v1/postrank", body), 413, "too_many")
    assert "5,001 times 1,000" in told["message"]


HIDE = {"rule": "hide", "where": "stock == 0", "hard": True}


def test_a_hard_rule_on_a_field_that_no_document_has_is_noted(files):
    """The sold-out document stays on top, so the answer must say that the rule did nothing."""
    plain = service(files[1])
    (rule,) = put(plain, documents=["a", "b"], rules=[HIDE])["unapplied"]
    assert (rule["number"], rule["fields"], rule["documents"]) == (0, ["stock"], 2)
    assert rule["rule"] == "Hide(stock == 0)"
    assert rule["note"].startswith(
        "the documents lack the field 'stock', so the rule does nothing; put it into the fields of each"
    )


def test_a_feature_is_not_a_field_and_the_note_says_so(files):
    features = [dict(zip(NAMES, row, strict=True)) for row in rows(2).tolist()]
    documents = [{"id": id_, "features": own} for id_, own in zip("ab", features, strict=True)]
    rule = {**HIDE, "where": "price < 1e9"}
    answer = post(service(files[1]), "/v1/rank", {"documents": documents, "rules": [rule]}).json()
    assert answer["unapplied"][0]["note"].endswith(
        "a feature is not a field: put it into the fields of each document as well, as in "
        '"fields": {"price": ...}'
    )
    assert sorted(answer["ids"]) == ["a", "b"]


def test_documents_that_the_catalogue_lacks_are_counted(app):
    documents = ["a", "b", "new", {"id": "newer", "fields": {"title": "Clock"}}]
    (rule,) = put(app, documents=documents)["unapplied"]
    assert (rule["number"], rule["documents"]) == (1, 2)
    assert rule["note"].startswith(
        "2 of 4 documents lack the field 'stock', so the rule does not see"
    )
    # Nothing is missing: the request brings the field, or the catalogue has the document.
    documents = ["a", {"id": "new", "fields": {"stock": 3}}]
    assert "unapplied" not in put(app, documents=documents)


@pytest.mark.parametrize(
    "change",
    [{"hard": False}, {"query": "clocks"}, {"ends": "2020-01-01"}, {"where": 'id == "a"'}],
)
def test_rules_that_are_soft_or_off_or_see_their_field_have_no_note(files, change):
    answer = put(service(files[1]), documents=["a", "b"], rules=[{**HIDE, **change}])
    assert "unapplied" not in answer


def test_a_field_that_only_some_documents_have_is_no_mistake(files):
    documents = [{"id": "a", "fields": {"stock": 0}}, {"id": "b", "fields": {"brand": "x"}}]
    answer = put(service(files[1]), documents=documents, rules=[HIDE])
    assert answer["hidden"] == ["a"]
    assert "unapplied" not in answer


def warnings(files, **options):
    return list(service(files[1], rules=files[2], **options).files.state.warnings)


def test_the_start_warns_of_fields_that_no_file_has(files, tmp_path):
    (line,) = warnings(files)
    assert line.startswith(
        "rules.yaml:4: Hide(stock == 0): uses the field 'stock', and there is no --docs; "
    )
    bare, full = tmp_path / "bare.jsonl", tmp_path / "full.jsonl"
    bare.write_text('{"documents": ["a"]}\n')
    full.write_text('{"documents": [{"id": "a", "fields": {"stock": 1}}]}\n')
    assert "neither --docs nor --samples has it" in warnings(files, samples=str(bare))[0]
    assert warnings(files, samples=str(full)) == []
    assert warnings(files, docs=files[3]) == []


def test_the_start_warns_of_sample_documents_that_docs_lacks(files, tmp_path):
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"documents": ["a", "x"]}\n{"documents": ["a", "y"]}\n')
    assert warnings(files, docs=files[3], samples=str(samples)) == [
        "2 of 3 documents of --samples are not in --docs, such as 'x'; rules on fields do not see them"
    ]
