"""What the playground asks the service for: samples, rules as records and files, conflicts by number."""

import json
import re
import threading

import httpx
import pytest

from podium.apps.serving import rule_checking
from podium.apps.serving.jsonl_filter import filter_lines
from podium.apps.serving.pages import read_pages
from podium.apps.serving.samples import DEMO_SAMPLES, read_samples
from podium.errors import DataError
from podium.postranking import AtMost, Each, Pin, TopK, examine_rules, read_rules, rules_from
from podium.postranking.rules.files import parse_rules
from tests.support.ranking_service import (
    NAMES,
    TOKEN,
    error,
    eventually,
    get,
    lines,
    post,
    replace,
    rows,
    running,
    save,
    service,
)

RULES = """\
version: 1
rules:
  - {rule: top-k, docs: b, k: 1, weight: 50, starts: 2026-01-01, query: clocks}
  - {rule: at-most, each: brand, m: 1, k: 3, weight: 5}
  - {rule: hide, where: stock == 0, hard: true}
"""


def query(id_="q1", **more):
    """A line of a sample, which is also one of podium rank."""
    documents = [
        {"id": f"{id_}-{at}", "features": dict(zip(NAMES, row, strict=True)), "fields": {"at": at}}
        for at, row in enumerate(rows().tolist())
    ]
    return {"id": id_, "query": f"about {id_}", "documents": documents, **more}


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


# Samples


def test_without_a_sample_there_is_the_demo(tmp_path):
    app = service()
    told = get(app, "/v1/samples").json()
    assert told["demo"] is True
    assert len(told["queries"]) == 12
    assert {one["documents"] for one in told["queries"]} == {20}
    for one in told["queries"]:
        sample = post(app, "/v1/samples/one", {"id": one["id"]}).json()
        assert sample["query"] == one["query"]
        scores = [doc["score"] for doc in sample["documents"]]
        assert scores == sorted(scores, reverse=True)
        assert {*sample["documents"][0]["fields"]} == {"kind", "module", "removed"}


def test_the_demos_sample_is_small():
    assert DEMO_SAMPLES.stat().st_size < 40_000


def test_a_sample_is_what_podium_rank_reads(tmp_path):
    _, model = save(tmp_path)
    path = write(tmp_path / "samples.jsonl", query(), query("q2", k=2))
    app = service(model, samples=path)
    told = get(app, "/v1/samples").json()
    assert told == {
        "demo": False,
        "queries": [
            {"id": "q1", "query": "about q1", "documents": 5},
            {"id": "q2", "query": "about q2", "documents": 5},
        ],
    }
    answers = filter_lines((tmp_path / "samples.jsonl").read_bytes().splitlines(), app.files.state)
    for line, (answer, refusal) in zip((query(), query("q2")), answers, strict=True):
        assert refusal is None
        sample = post(app, "/v1/samples/one", {"id": line["id"]}).json()
        assert sample == line
        ranked = post(app, "/v1/rank", {"documents": sample["documents"]}).json()
        kept = json.loads(answer)["ids"]
        assert ranked["ids"][: len(kept)] == kept


def test_documents_of_a_sample_have_the_services_fields(tmp_path):
    docs = write(tmp_path / "docs.jsonl", {"id": "a", "brand": "DGT"}, {"id": "b", "brand": "Leap"})
    listed = ["a", {"id": "b", "fields": {"brand": "mine"}}, {"id": "c", "fields": {"x": 1}}]
    path = write(tmp_path / "samples.jsonl", {"documents": listed})
    app = service(docs=docs, samples=path)
    sample = post(app, "/v1/samples/one", {"id": "1"}).json()
    assert sample == {
        "id": "1", "query": "1",
        "documents": [
            {"id": "a", "fields": {"brand": "DGT"}}, {"id": "b", "fields": {"brand": "mine"}},
            {"id": "c", "fields": {"x": 1}},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "expected at least one query"),
        ([{"query": "x"}], ":1: Object missing required field documents"),
        (
            [query(), {"documents": [{"id": "a", "feature": {}}]}],
            r":2: documents\[0\]: unknown field 'feature'; did you mean features",
        ),
        ([{"documents": ["a", "a"]}], ":1: expected each document once, got 'a' twice"),
        ([{"documents": [{"id": "a", "score": 1}, "b"]}], ":1: expected a score for every"),
        ([{"documents": [{"id": "a", "score": float("inf")}]}], ":1: expected finite scores"),
        ([query(), query()], ":2: expected each id once, got 'q1' again"),
        (["x"], ":1: expected a JSON object"),
    ],
)
def test_a_sample_that_is_none_says_where(tmp_path, records, said):
    path = write(tmp_path / "samples.jsonl", *records)
    with pytest.raises(DataError, match=re.escape("samples.jsonl") + f".*{said}"):
        read_samples(path)


def test_a_sample_that_changes_is_read_again_and_a_wrong_one_changes_nothing(tmp_path):
    path = tmp_path / "samples.jsonl"
    app = service(samples=write(path, query()))
    replace(path, json.dumps(query("q7")))
    assert app.files.refresh() == {"samples": True}
    assert [one["id"] for one in get(app, "/v1/samples").json()["queries"]] == ["q7"]
    replace(path, "{")
    assert app.files.refresh() == {"samples": False}
    assert [one["id"] for one in get(app, "/v1/samples").json()["queries"]] == ["q7"]
    told = get(app, "/healthz").json()
    assert told["status"] == "degraded"
    assert told["reasons"][0].startswith("samples: samples.jsonl:1: expected JSON")


def test_a_query_that_is_not_in_the_sample_is_not_found(tmp_path):
    app = service(samples=write(tmp_path / "s.jsonl", query()))
    told = error(post(app, "/v1/samples/one", {"id": "q2"}), 404, "unknown_sample")
    assert told["known"] == ["q1"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/samples"), ("POST", "/v1/samples/one"), ("GET", "/v1/rules"), ("POST", "/v1/rules/check")],
)  # fmt: skip
def test_only_the_page_is_for_everybody(method, path):
    app = service(token=TOKEN)
    assert get(app, "/").status_code == 200
    told = get(app, path) if method == "GET" else post(app, path, {})
    error(told, 401, "bad_token")


def test_workers_serve_the_sample(tmp_path):
    path = tmp_path / "samples.jsonl"
    write(path, query())
    with running("--samples", path, "--workers", "2", "--reload-seconds", "0.1") as (_, address):

        def ids():  # a connection each, so that both workers come to serve
            told = [httpx.get(f"{address}/v1/samples").json() for _ in range(8)]
            return {one["id"] for answer in told for one in answer["queries"]}

        assert ids() == {"q1"}
        replace(path, json.dumps(query("q2")))
        assert eventually(lambda: ids() == {"q2"})


# Rules


def test_the_services_rules_are_told(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    told = get(service(rules=str(tmp_path / "rules.yaml")), "/v1/rules").json()
    rules = read_rules(tmp_path / "rules.yaml")
    assert rules_from({"version": 1, "rules": told["rules"]}) == rules
    assert parse_rules(told["yaml"]) == rules
    assert "findings" not in told
    assert get(service(), "/v1/rules").json()["rules"] == []


def test_rules_are_checked_in_either_form(tmp_path):
    app = service()
    from_text = post(app, "/v1/rules/check", {"yaml": RULES}).json()
    from_records = post(app, "/v1/rules/check", {"rules": from_text["rules"]}).json()
    assert from_text == from_records
    rules = parse_rules(RULES)
    assert parse_rules(from_text["yaml"]) == rules
    found = [(f.level, list(f.rules), f.message) for f in examine_rules(rules)]
    assert [(f["level"], f["rules"], f["message"]) for f in from_text["findings"]] == found


def test_rules_are_given_in_both_forms_without_findings():
    app = service()
    found = post(app, "/v1/rules/check", {"yaml": RULES}).json()
    told = post(app, "/v1/rules/check", {"yaml": RULES, "findings": False}).json()
    assert told == {"rules": found["rules"], "yaml": found["yaml"]}


def many(count):
    """The text of so many rules, each for a query of its own."""
    records = (f"  - {{rule: top-k, docs: d{i}, k: 2, query: q{i}}}\n" for i in range(count))
    return "version: 1\nrules:\n" + "".join(records)


def test_all_rules_that_are_told_can_be_written(tmp_path):
    (tmp_path / "rules.yaml").write_text(many(1200))
    app = service(rules=str(tmp_path / "rules.yaml"))
    told = get(app, "/v1/rules").json()
    assert len(told["rules"]) == 1200
    body = {"rules": told["rules"], "findings": False}
    assert post(app, "/v1/rules/check", body).json()["yaml"] == told["yaml"]


@pytest.mark.parametrize(("count", "in_threads"), [(50, False), (51, True)])
def test_many_rules_are_written_once_in_a_thread(tmp_path, monkeypatch, count, in_threads):
    path = tmp_path / "rules.yaml"
    path.write_text(many(count))
    app = service(rules=str(path))
    threads = []
    write_text = rule_checking.rules_text
    monkeypatch.setattr(
        rule_checking,
        "rules_text",
        lambda rules: (threads.append(threading.current_thread().name), write_text(rules))[1],
    )
    first = get(app, "/v1/rules").json()
    assert get(app, "/v1/rules").json() == first
    assert [name.startswith("podium") for name in threads] == [in_threads]
    replace(path, many(2))
    assert app.files.refresh() == {"rules": True}
    assert len(get(app, "/v1/rules").json()["rules"]) == 2


def test_rules_that_contradict_each_other_are_found_by_number():
    records = [
        {"rule": "at-most", "each": "x", "m": 1, "k": 3},
        {"rule": "top-k", "docs": "a", "k": 3},
        {"rule": "not-top-k", "docs": "a", "k": 3},
    ]
    told = post(service(), "/v1/rules/check", {"rules": records}).json()["findings"]
    assert [(f["level"], f["message"]) for f in told if f["rules"] == [1, 2]] == [
        ("warning", "cannot hold together")
    ]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "expected rules or yaml, got neither"),
        ({"rules": [], "yaml": ""}, "expected rules or yaml, got both"),
        ({"yaml": "version: 1\nrules:\n  - {rule: topk}"}, "rules.yaml:3: unknown rule 'topk'"),
        ({"yaml": "a: [}"}, "rules.yaml:1: this is not valid YAML"),
        ({"yaml": "\ud800"}, "UTF-8"),
        ({"rules": [{"rule": "hide", "where": "a b"}]}, r"rules\[0\]: expected a condition"),
    ],
)
def test_rules_that_are_none_say_why(body, said):
    data = json.dumps(body).encode()
    response = post(service(), "/v1/rules/check", data)
    assert response.status_code in (400, 422)
    assert re.search(said, response.json()["error"]["message"])


@pytest.mark.parametrize("path", ["/v1/postrank", "/v1/rank"])
def test_hard_rules_that_cannot_hold_are_told_by_number(tmp_path, path):
    _, model = save(tmp_path)
    pins = [{"rule": "pin", "docs": doc, "position": 1, "hard": True} for doc in "ac"]
    same = {"rule": "hide", "docs": "zzz", "hard": True}
    body = {"rules": [pins[0], same, pins[1]], "conflicts": "error"}
    listed = (
        {"documents": list("abcde")}
        if path == "/v1/postrank"
        else {"features": rows().tolist(), "ids": list("abcde")}
    )
    told = error(post(service(model), path, body | listed), 409, "conflict")
    assert told["numbers"] == [0, 2]
    assert told["rules"] == [str(Pin("a", 1, hard=True)), str(Pin("c", 1, hard=True))]


def test_a_service_without_models_has_rules():
    app = service()
    assert get(app, "/v1/models").json()["models"] == []
    told = error(post(app, "/v1/rank", {"features": []}), 404, "unknown_model")
    assert told["message"] == "expected a service of models, got one that was started without any"
    rules = [{"rule": "top-k", "docs": "c", "k": 1, "weight": 30}]
    assert (
        post(app, "/v1/postrank", {"documents": list("abc"), "rules": rules}).json()["ids"][0]
        == "c"
    )


def test_text_of_rules_is_what_files_are():
    rules = (TopK("é\n", 3, weight=0.25), AtMost(Each("b c"), 2, 5, hard=True, priority=3))
    records = post(service(), "/v1/rules/check", {"rules": [
        {"rule": "top-k", "docs": "é\n", "k": 3, "weight": 0.25},
        {"rule": "at-most", "each": "b c", "m": 2, "k": 5, "hard": True, "priority": 3},
    ]}).json()  # fmt: skip
    assert parse_rules(records["yaml"]) == rules


# The page


def test_the_page_runs_only_its_own_files():
    page = get(service(), "/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"\son\w+=|style=|<style|<script(?![^>]*\ssrc=)|//", page.text)
    pages = read_pages()
    named = re.findall(r'(?:src|href)="(/[^"]*)"', page.text)
    assert named
    assert set(named) <= {*pages, "/", "/static/api.html"}


def test_scripts_read_no_html_and_import_only_each_other():
    pages = read_pages()
    scripts = {path: page.data.decode() for path, page in pages.items() if path.endswith(".js")}
    assert "/static/playground.js" in scripts
    for path, text in scripts.items():
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?:", text
        ), path
        for name in re.findall(r'from "\./([^"]+)"', text):
            assert f"/static/{name}" in scripts


def test_the_api_has_a_page_of_its_own():
    text = get(service(), "/static/api.html").text
    for path in ("/v1/rank", "/v1/postrank", "/v1/rules/check", "/v1/samples", "/openapi.json"):
        assert path in text


def test_the_demos_file_is_of_json_lines():
    assert all(
        set(line) == {"id", "query", "documents"} for line in lines(DEMO_SAMPLES.read_text())
    )
