"""What is wrong with a request is said as JSON with a code, and names what it means."""

import json

import pytest

from podium.apps.serving import routes
from tests.support.ranking_service import NAMES, TOKEN, ask, error, get, post, rows, service


@pytest.fixture(scope="module")
def app(path):
    return service(path)


def document(**changes):
    features = dict.fromkeys(NAMES, 1.0) | changes
    return {"features": {name: v for name, v in features.items() if v != "gone"}}


@pytest.mark.parametrize(
    ("documents", "missing", "extra", "at"),
    [
        ([document(price="gone")], ["price"], [], "documents[0].features"),
        ([document(), document(colour=2)], [], ["colour"], "documents[1].features"),
        ([document(bm25="gone", BM25=1)], ["bm25"], ["BM25"], "documents[0].features"),
        ([{"features": {}}], list(NAMES), [], "documents[0].features"),
    ],
)
def test_missing_extra_and_renamed_features_are_named(app, documents, missing, extra, at):
    told = error(post(app, "/v1/rank", {"documents": documents}), 422, "wrong_features")
    assert (told.get("missing", []), told.get("extra", []), told["at"]) == (missing, extra, at)
    assert all(name in told["message"] for name in missing + extra)


def test_columns_that_are_named_otherwise_are_named(app):
    request = {"features": rows(1).tolist(), "feature_names": ["bm25", "price", "clicks", "weight"]}
    told = error(post(app, "/v1/rank", request), 422, "wrong_features")
    assert (told["missing"], told["extra"]) == (["age"], ["weight"])
    request["feature_names"][3] = "bm25"
    told = error(post(app, "/v1/rank", request), 422, "wrong_features")
    assert "'bm25' twice" in told["message"]


@pytest.mark.parametrize("rows_", [[[1, 2, 3]], [[1, 2, 3, 4], [1, 2, 3, 4, 5]], [[]]])
def test_rows_of_another_length_are_found(app, rows_):
    told = error(post(app, "/v1/rank", {"features": rows_}), 422, "wrong_features")
    assert told["at"] == f"features[{len(rows_) - 1}]"


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"nan"])
def test_nan_is_not_json(app, value):
    told = error(post(app, "/v1/rank", b'{"features": [[1, 2, 3, %s]]}' % value), 400, "not_json")
    assert ("null" in told["message"]) == (value != b"nan")


def test_a_missing_value_is_found_where_the_model_takes_none(app):
    told = error(
        post(app, "/v1/rank", {"features": [[1, 2, 3, 4], [1, None, 3, 4]]}), 422, "not_finite"
    )
    assert "'price' of document 1" in told["message"]
    told = error(post(app, "/v1/rank", {"documents": [document(age=None)]}), 422, "not_finite")
    assert "'age' of document 0" in told["message"]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"features": [[1, 2, 3, "4"]]}, "features[0][3]"),
        ({"features": [1, 2]}, "features[0]"),
        ({"features": [], "k": 0}, "k"),
        ({"features": [], "k": 1.5}, "k"),
        ({"features": [], "k": True}, "k"),
        ({"features": [], "explain": 1}, "explain"),
        ({"features": [], "model": 7}, "model"),
        ({"features": [], "ids": [1]}, "ids[0]"),
        ({"features": [], "today": "yesterday"}, "today"),
        ({"documents": [{"id": "a"}]}, "documents[0]"),
        ({"documents": [{"features": [1]}]}, "documents[0].features"),
        ([], ""),
        (None, ""),
        ("features", ""),
    ],
)
def test_wrong_types_are_told_with_their_place(app, body, at):
    told = error(post(app, "/v1/rank", json.dumps(body).encode()), 422, "wrong_type")
    assert told.get("at", "") == at


@pytest.mark.parametrize(
    ("operation", "body", "said"),
    [
        ("rank", [], "expected an object, got a list"),
        ("postrank", {}, "Object missing required field documents"),
        ("rank", {"documents": [3]}, "documents[0]: expected an object, got a whole number"),
        ("rank/batch", {"queries": [3]}, "queries[0]: expected an object, got a whole number"),
    ],
)
def test_what_else_is_wrong_is_told_as_it_is(app, operation, body, said):
    told = error(post(app, f"/v1/{operation}", json.dumps(body).encode()), 422, "wrong_type")
    assert told["message"] == said


def test_a_number_beyond_doubles_is_refused(app):
    error(post(app, "/v1/rank", b'{"features": [[1, 2, 3, 1e999]]}'), 422, "wrong_type")


@pytest.mark.parametrize(
    ("operation", "body", "said"),
    [
        ("rank", {"features": [], "feature": []}, "unknown field 'feature'; did you mean features"),
        ("rank", {"xyz": 1}, "unknown field 'xyz'; known: conflicts, context, documents, "),
        (
            "rank/batch",
            {"queries": [{"features": []}, {"documents": [{"features": {}, "docid": "a"}]}]},
            "queries[1].documents[0]: unknown field 'docid'; did you mean id",
        ),
        (
            "rank",
            {"documents": [{"id": "a", "price": 1}]},
            "documents[0]: unknown field 'price'; known: features, fields, id; if the model ranks by it, put "
            'it into features: {"features": {"price": ...}}; if rules use it, into fields: {"fields": '
            '{"price": ...}}',
        ),
        (
            "postrank",
            {"documents": ["a", {"id": "b", "XY": 1}]},
            "documents[1]: unknown field 'XY'; known: fields, id, score; put it into fields: "
            '{"fields": {"XY": ...}}',
        ),
        (
            "postrank/batch",
            {"queries": [{"documents": [], "conflicts": "yeild"}]},
            "queries[0].conflicts: expected error or yield, got 'yeild'",
        ),
    ],
)  # fmt: skip
def test_a_field_that_nobody_knows_is_a_mistake(app, operation, body, said):
    told = error(post(app, f"/v1/{operation}", body), 422, "wrong_type")
    assert told["message"].startswith(said)


@pytest.mark.parametrize(
    "name",
    [
        "x` - at `$.k",
        "x` - at `$[[",
        "`",
        "",
        " - at `$",
        "y" * 100_000,
        "x` - at `$" + "[" * 100_000,
    ],
)
def test_names_of_fields_cannot_break_what_is_told(app, name):
    told = error(post(app, "/v1/rank", {name: 1}), 422, "wrong_type")
    assert "unknown field" in told["message"]
    assert len(told["message"]) < 500


@pytest.mark.parametrize("body", [{}, {"features": [], "documents": []}])
def test_one_of_documents_and_features_is_needed(app, body):
    error(post(app, "/v1/rank", body), 422, "bad_request")


def test_ids_are_for_all_documents_or_for_none(app):
    error(post(app, "/v1/rank", {"features": rows(2).tolist(), "ids": ["a"]}), 422, "wrong_ids")
    documents = [document() | {"id": "a"}, document()]
    told = error(post(app, "/v1/rank", {"documents": documents}), 422, "wrong_ids")
    assert told["at"] == "documents[1]"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b'{"features": [}', b'{"id": "\\ud800"}', b"{'a': 1}"],
)
def test_what_is_no_json_is_refused(app, body):
    error(post(app, "/v1/rank", body), 400, "not_json")


def test_brackets_without_end_are_refused(app):
    error(post(app, "/v1/rank", b"[" * 100_000), 422, "too_deep")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_kinds_of_bodies_are_refused(app, kind):
    response = ask(app, "POST", "/v1/rank", content=b"{}", headers={"content-type": kind})
    assert error(response, 415, "not_json")["message"].endswith(f"got {kind or 'none'}")


def test_compressed_bodies_are_refused(app):
    headers = {"content-encoding": "gzip"}
    told = error(post(app, "/v1/rank", b"{}", headers=headers), 415, "encoded")
    assert told["message"].endswith("got gzip")


def test_large_bodies_are_refused_with_or_without_a_length(path):
    app = service(path, max_body=1000)
    error(post(app, "/v1/rank", b" " * 1001), 413, "too_large")

    async def chunks():
        for _ in range(11):
            yield b" " * 100

    response = ask(
        app, "POST", "/v1/rank", content=chunks(), headers={"content-type": "application/json"}
    )
    error(response, 413, "too_large")
    assert post(app, "/v1/rank", b'{"features": []}' + b" " * 984).status_code == 200


def test_slow_bodies_are_refused(path):
    import asyncio

    app = service(path, body_seconds=0.05)

    async def forever():
        yield b"{"
        await asyncio.sleep(20)

    response = ask(
        app, "POST", "/v1/rank", content=forever(), headers={"content-type": "application/json"}
    )
    error(response, 408, "too_slow")


def test_answers_that_take_too_long_are_refused(path, monkeypatch):
    import time

    app = service(path, seconds=0.05)
    monkeypatch.setattr(routes, "rank_answer", lambda *_: time.sleep(0.3))
    response = post(app, "/v1/rank/batch", {"queries": [{"features": []}]})
    error(response, 503, "too_slow")
    assert response.headers["retry-after"] == "1"


def test_a_service_whose_threads_are_taken_is_busy(path, monkeypatch):
    app = service(path)
    monkeypatch.setattr(app._threads, "_n_free", 0)
    error(post(app, "/v1/rank/batch", {"queries": []}), 503, "busy")
    assert post(app, "/v1/rank", {"features": []}).status_code == 200


def test_a_mistake_of_ours_says_nothing_of_itself(path, monkeypatch, caplog):

    app = service(path)

    def broken(*_):
        raise KeyError("a secret")

    monkeypatch.setattr(routes, "rank_answer", broken)
    response = post(app, "/v1/rank", {"features": []})
    error(response, 500, "failed")
    assert "secret" not in response.text
    assert "a secret" in caplog.text


# --- who may ask, and how ---


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        TOKEN,
        f"Basic {TOKEN}",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer é",
    ],
)
@pytest.mark.parametrize("path_", ["/v1/rank", "/v1/models", "/metrics", "/v1/events"])
def test_without_the_token_nothing_is_told(path, header, path_):
    app = service(path, token=TOKEN)
    method = "POST" if path_ in ("/v1/rank", "/v1/events") else "GET"
    headers = {} if header is None else {"authorization": header.encode()}
    response = ask(app, method, path_, headers=headers)
    error(response, 401, "bad_token")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_with_the_token_all_is_open(path, scheme):
    app = service(path, token=TOKEN)
    headers = {"authorization": f"{scheme} {TOKEN}"}
    assert post(app, "/v1/rank", {"features": []}, headers=headers).status_code == 200
    assert get(app, "/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize("open_", ["/", "/healthz", "/openapi.json", "/static/playground.css"])
def test_some_pages_are_open_to_all(path, open_):
    assert get(service(path, token=TOKEN), open_).status_code == 200


def test_the_token_is_compared_in_constant_time(path, monkeypatch):
    import hmac

    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))
    app = service(path, token=TOKEN)
    get(app, "/v1/models", headers={"authorization": "Bearer x"})
    get(app, "/v1/models")
    assert [(len(a), len(b)) for a, b in compared] == [(32, 32), (32, 32)]  # never the token itself


@pytest.mark.parametrize(
    ("method", "path_", "allowed"),
    [("GET", "/v1/rank", "POST"), ("POST", "/healthz", "GET"), ("DELETE", "/metrics", "GET"),
     ("PUT", "/", "GET"), ("OPTIONS", "/v1/models", "GET")],
)  # fmt: skip
def test_other_methods_are_refused(app, method, path_, allowed):
    response = ask(app, method, path_)
    error(response, 405, "method_not_allowed")
    assert response.headers["allow"] == allowed


@pytest.mark.parametrize(
    "path_", ["/v1", "/v1/rank/", "/docs", "/static/", "/static/../app.py", "/static/%2e%2e/app.py"]
)
def test_other_paths_are_not_found(app, path_):
    error(get(app, path_), 404, "not_found")


@pytest.mark.parametrize(
    "path_", ["/", "/healthz", "/nothing", "/v1/rank", "/static/playground.css"]
)
def test_every_answer_has_the_headers(app, path_):
    headers = get(app, path_).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_the_page_needs_nothing_from_elsewhere(app):
    page = get(app, "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "style=" not in page.text


@pytest.mark.parametrize(
    "settings",
    [{"token": "short"}, {"token": "ä" * 20}, {"seconds": 0}, {"max_body": 0}, {"max_log": -1}],
)
def test_settings_that_cannot_be_are_refused(path, settings):
    from podium.errors import UsageError

    with pytest.raises(UsageError, match="expected"):
        service(path, **settings)


@pytest.mark.parametrize(
    ("path_", "message"),
    [
        ("/rank", "there is no path /rank; did you mean /v1/rank? /openapi.json lists all paths"),
        (
            "/v1/rnak",
            "there is no path /v1/rnak; did you mean /v1/rank? /openapi.json lists all paths",
        ),
        (
            "/rank/",
            "there is no path /rank/; did you mean /v1/rank? /openapi.json lists all paths",
        ),
        ("/admin.php", "there is no such path; /openapi.json lists all paths"),
    ],
)
def test_an_unknown_path_is_named_with_the_nearest_one(app, path_, message):
    assert error(post(app, path_, {}), 404, "not_found")["message"] == message
