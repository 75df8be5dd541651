"""Rules saved over HTTP: who may, what is kept, what is served, and what another site cannot do."""

import asyncio
import json

import pytest

from podium.apps.http.refusals import Refusal
from podium.apps.serving.editing.editors_file import add_editor, read_editors
from podium.apps.serving.editing.sign_in import check_same_site, find_editor
from podium.errors import DataError, UsageError
from podium.rule_history import RuleFolder
from tests.support.ranking_service import (
    TOKEN,
    error,
    eventually,
    get,
    post,
    running,
    save,
    service,
)

HIDE = {"rule": "hide", "docs": "b", "hard": True}
PIN = {"rule": "pin", "docs": "c", "position": 1, "hard": True}
IDS = list("abc")


@pytest.fixture
def site(tmp_path):
    """A service, and the tokens of two editors."""
    editors = tmp_path / "editors.yaml"
    tokens = {name: add_editor(editors, name) for name in ("Ann", "Bob")}
    app = service(rules=str(tmp_path / "rules"), editors=str(editors))
    return app, tokens, tmp_path


def call(site, path, body, who="Ann", **headers):
    app, tokens, _ = site
    return post(
        app,
        f"/v1/editing/{path}",
        body,
        headers={"Authorization": f"Bearer {tokens[who]}", **headers},
    )


def status(site, who="Ann"):
    app, tokens, _ = site
    return get(app, "/v1/editing", headers={"Authorization": f"Bearer {tokens[who]}"}).json()


def save_rules(site, rules, who="Ann", base=None, **more):
    base = base or status(site)["revision"]
    return call(site, "save", {"base": base, "rules": rules, **more}, who)


def served(site):
    return post(site[0], "/v1/postrank", {"documents": IDS}).json()["ids"]


def test_a_save_is_served_at_once_and_logged(site):
    answer = save_rules(site, [HIDE], reason="sold out").json()
    assert answer["version"]["number"] == 1
    assert answer["changes"] == [{"change": "added", "number": 0, "after": HIDE}]
    assert served(site) == ["a", "c"]
    (entry,) = call(site, "audit", {}).json()["entries"]
    assert (entry["editor"], entry["reason"], entry["changes"]) == (
        "Ann",
        "sold out",
        answer["changes"],
    )
    (version,) = call(site, "history", {}).json()["versions"]
    assert version == answer["version"]
    assert version["changes"] == {"added": 1}


def test_a_file_as_text_is_kept_as_it_is(site):
    text = "# why\nversion: 1\nrules: [{rule: hide, docs: b, hard: true}]\n"
    call(site, "save", {"base": status(site)["revision"], "yaml": text})
    version = call(site, "version", {"number": 1}).json()
    assert (version["yaml"], version["rules"], version["editor"]) == (text, [HIDE], "Ann")


def test_who_is_no_editor_changes_and_reads_nothing(site):
    app, _, folder = site
    assert get(app, "/v1/editing").json() == {"enabled": True}
    for path, body in (
        ("save", {"base": status(site)["revision"], "rules": [HIDE]}), ("history", {}), ("audit", {}),
        ("draft/save", {"name": "a", "base": "0-0", "rules": []}), ("rollback", {"number": 0, "base": "0"}),
        ("preview", {"rules": []}),
    ):  # fmt: skip
        error(post(app, f"/v1/editing/{path}", body), 401, "bad_token")
        wrong = {"Authorization": "Bearer wrong"}
        error(post(app, f"/v1/editing/{path}", body, headers=wrong), 401, "bad_token")
    assert RuleFolder(folder / "rules").numbers() == []


def test_without_editors_nothing_can_be_edited(tmp_path):
    app = service(rules=None)
    assert get(app, "/v1/editing").json() == {"enabled": False}
    error(post(app, "/v1/editing/history", {}), 404, "no_editing")


def test_an_editors_token_opens_a_service_with_a_token(tmp_path):
    editors = tmp_path / "editors.yaml"
    own = add_editor(editors, "Ann")
    app = service(rules=str(tmp_path / "rules"), editors=str(editors), token=TOKEN)
    for token, who in ((own, "Ann"), (TOKEN, None)):
        headers = {"Authorization": f"Bearer {token}"}
        assert get(app, "/v1/rules", headers=headers).status_code == 200
        assert get(app, "/v1/editing", headers=headers).json().get("editor") == who
    service_only = {"Authorization": f"Bearer {TOKEN}"}
    error(post(app, "/v1/editing/history", {}, headers=service_only), 401, "bad_token")
    error(get(app, "/v1/rules"), 401, "bad_token")


def test_guesses_of_tokens_are_limited(site):
    app = site[0]
    wrong = {"Authorization": "Bearer guess"}
    answers = [post(app, "/v1/editing/history", {}, headers=wrong).status_code for _ in range(32)]
    assert answers == [401] * 30 + [429] * 2
    assert call(site, "history", {}).status_code == 200  # the right one is never refused


def test_the_second_editor_sees_the_first_ones_change_and_merges(site):
    base = status(site)["revision"]
    save_rules(site, [HIDE], "Ann", base)
    told = error(save_rules(site, [PIN], "Bob", base), 409, "edit_conflict")
    assert "Ann saved version 1" in told["message"]
    merged = call(site, "merge", {"base": base, "rules": [PIN]}, "Bob").json()
    assert merged["rules"] == [HIDE, PIN]
    assert (merged["editor"], merged.get("conflicts")) == ("Ann", [])
    assert merged["theirs"] == [{"change": "added", "number": 0, "after": HIDE}]
    saved = save_rules(site, merged["rules"], "Bob", merged["revision"]).json()
    assert saved["changes"] == [{"change": "added", "number": 1, "after": PIN}]
    assert served(site) == ["c", "a"]


def test_a_rule_that_both_changed_is_shown_from_both_sides(site):
    save_rules(site, [PIN])
    base = status(site)["revision"]
    save_rules(site, [{**PIN, "position": 2}], "Ann", base)
    merged = call(site, "merge", {"base": base, "rules": [{**PIN, "position": 3}]}, "Bob").json()
    (conflict,) = merged["conflicts"]
    sides = [conflict[side]["position"] for side in ("base", "mine", "theirs")]
    assert (sides, conflict["number"]) == ([1, 3, 2], 0)


def test_a_rollback_is_exact_and_a_version_itself(site):
    save_rules(site, [HIDE])
    first = call(site, "version", {"number": 1}).json()
    save_rules(site, [PIN])
    assert served(site) == ["c", "a", "b"]
    body = {"number": 1, "base": status(site)["revision"], "reason": "too early"}
    answer = call(site, "rollback", body, "Bob").json()
    assert answer["version"]["action"] == "rollback to 1"
    again = call(site, "version", {"number": 3}).json()
    assert again["yaml"] == first["yaml"]
    assert served(site) == ["a", "c"]
    error(call(site, "rollback", body), 409, "edit_conflict")
    error(call(site, "rollback", {**body, "number": 9}), 422, "bad_request")


def test_two_versions_are_compared(site):
    for rules in ([HIDE], [HIDE, PIN], [{**PIN, "position": 2}]):
        save_rules(site, rules)
    changes = call(site, "compare", {"first": 1, "second": 3}).json()["changes"]
    assert [change["change"] for change in changes] == ["removed", "added"]
    (change, other) = call(site, "compare", {"first": 2, "second": 3}).json()["changes"]
    assert (change["before"], other["before"], other["after"]["position"]) == (HIDE, PIN, 2)


@pytest.mark.parametrize(
    "rules",
    [
        [{"rule": "hide"}],
        [{"rule": "no such kind", "docs": "a"}],
        [PIN, {**PIN, "docs": "a"}, {**PIN, "docs": "c", "position": 2}],
    ],
)
def test_rules_that_cannot_be_served_are_not_saved(site, rules):
    error(save_rules(site, rules), 422, "bad_request")
    assert RuleFolder(site[2] / "rules").numbers() == []


def test_drafts_are_kept_scheduled_published_and_removed(site):
    revision = status(site)["revision"]
    body = {"name": "friday", "base": revision, "rules": [HIDE], "reason": "sale"}
    draft = call(site, "draft/save", body).json()["draft"]
    assert (draft["editor"], draft["base"], draft.get("active")) == ("Ann", revision, None)
    assert served(site) == IDS
    timed = {**body, "revision": draft["revision"], "from": "2026-01-01", "until": "2999-01-01"}
    draft = call(site, "draft/save", timed).json()["draft"]
    assert draft["active"] is True
    assert served(site) == ["a", "c"]
    assert [one["name"] for one in status(site)["drafts"]] == ["friday"]
    shown = call(site, "draft", {"name": "friday"}).json()
    assert shown["rules"] == [HIDE]
    save_rules(site, shown["rules"], draft="friday")
    assert status(site)["drafts"] == []
    assert served(site) == ["a", "c"]
    actions = [entry["action"] for entry in call(site, "audit", {}).json()["entries"]]
    assert actions == ["draft removed", "publish draft friday", "draft saved", "draft saved"]
    error(call(site, "draft/remove", {"name": "friday", "revision": "x"}), 409, "edit_conflict")


def test_scheduled_drafts_that_clash_with_the_rules_are_not_served(site):
    save_rules(site, [PIN])
    base = status(site)["revision"]
    clash = {"rule": "pin", "docs": "c", "position": 2, "hard": True}
    call(
        site,
        "draft/save",
        {"name": "x", "base": "0-7f2c4310", "rules": [clash], "from": "2026-01-01"},
    )
    asyncio.run(site[0].refresh(True))
    assert served(site) == ["c", "a", "b"]
    assert any("draft" in warning for warning in site[0].files.state.warnings)
    assert base == status(site)["revision"]


def test_changed_rules_are_tried_on_recent_requests_and_on_the_sample(site):
    for query in ("clock", "board", "clock"):
        post(site[0], "/v1/postrank", {"documents": IDS, "query": query})
    own = {"documents": IDS, "query": "own rules", "rules": [HIDE]}
    post(site[0], "/v1/postrank", own)
    answer = call(site, "preview", {"rules": [PIN | {"query": "clock"}]}).json()
    (one,) = answer["lists"]
    assert answer["tried"] == 2 + 12  # the demo's sample has twelve queries
    assert (one["query"], one["live"], one["before"], one["after"]) == (
        "clock",
        True,
        IDS,
        ["c", "a", "b"],
    )
    assert one["moved"] == 3


def test_requests_to_rank_are_tried_as_their_model_ranks(tmp_path):
    _, model = save(tmp_path)
    editors = tmp_path / "editors.yaml"
    tokens = {"Ann": add_editor(editors, "Ann")}
    app = service(model, rules=str(tmp_path / "rules"), editors=str(editors))
    documents = [
        {"id": i, "features": {f"{n}": float(at) for n in range(4)}} for at, i in enumerate(IDS)
    ]
    names = get(app, "/v1/models").json()["models"][0]["feature_names"]
    for at, document in enumerate(documents):
        document["features"] = {name: float(at) for name in names}
    plain = post(app, "/v1/rank", {"documents": documents}).json()
    post(app, "/v1/rank", {"documents": documents, "rules": True, "query": "clock", "k": 1})
    last = plain["ids"][-1]
    rules = [{"rule": "pin", "docs": last, "position": 1, "hard": True}]
    (one,) = call((app, tokens, tmp_path), "preview", {"rules": rules}).json()["lists"]
    assert one["before"] == plain["ids"]
    assert one["after"] == [last, *plain["ids"][:-1]]


# --- other sites, proxies


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://podium"},
        {"Origin": "http://podium:81"},
    ],
)
def test_the_page_of_another_site_changes_nothing(site, headers):
    body = {"base": status(site)["revision"], "rules": [HIDE]}
    error(call(site, "save", body, **headers), 403, "cross_site")
    assert served(site) == IDS


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://shop.example"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://podium"},
    ],
)
def test_the_services_own_page_may(site, headers):
    assert call(site, "history", {}, **headers).status_code == 200


def test_forms_cannot_send_what_editing_takes(site):
    app, tokens, _ = site
    headers = {"Authorization": f"Bearer {tokens['Ann']}", "content-type": "text/plain"}
    answer = post(app, "/v1/editing/save", b"{}", headers=headers)
    error(answer, 415, "not_json")


USER = "version: 1\neditors:\n- {name: A, user: a}\n"
PROXY = """
proxy: {header: X-Forwarded-User, addresses: [10.0.0.0/8]}
"""


def proxied(tmp_path):
    editors = tmp_path / "editors.yaml"
    editors.write_text("version: 1\neditors:\n" + PROXY)
    add_editor(editors, "Ann", user="ann")
    return read_editors(editors)


@pytest.mark.parametrize(
    ("peer", "headers", "name"),
    [
        ("10.1.2.3", [(b"x-forwarded-user", b"ann")], "Ann"),
        ("10.1.2.3", [(b"x-forwarded-user", b"eve")], None),
        ("10.1.2.3", [(b"x-forwarded-user", b"ann"), (b"x-forwarded-user", b"eve")], None),
        ("10.1.2.3", [], None),
        ("192.0.2.1", [(b"x-forwarded-user", b"ann")], None),
        ("::ffff:10.1.2.3", [(b"x-forwarded-user", b"ann")], "Ann"),
    ],
)
def test_a_proxys_user_is_believed_from_its_addresses_alone(tmp_path, peer, headers, name):
    editors = proxied(tmp_path)
    scope = {"headers": headers, "client": (peer, 1)}
    editor = find_editor(editors, scope, dict(headers))
    assert (editor and editor.author.name) == name


def test_a_forwarded_address_is_not_the_connections(tmp_path):
    """X-Forwarded-For may name the proxy's own address; the connection counts."""
    editors = proxied(tmp_path)
    headers = [(b"x-forwarded-user", b"ann")]
    scope = {"headers": headers, "client": ("10.0.0.7", 0), "podium.peer": "192.0.2.1"}
    assert find_editor(editors, scope, dict(headers)) is None


def test_a_proxys_user_needs_the_header_that_only_the_page_sends(tmp_path):
    editors = tmp_path / "editors.yaml"
    editors.write_text("version: 1\neditors:\n" + PROXY.replace("10.0.0.0/8", "127.0.0.1"))
    add_editor(editors, "Ann", user="ann")
    app = service(rules=str(tmp_path / "rules"), editors=str(editors))
    user = {"X-Forwarded-User": "ann"}
    assert get(app, "/v1/editing", headers=user).json()["editor"] == "Ann"
    error(post(app, "/v1/editing/history", {}, headers=user), 403, "no_editing_header")
    assert (
        post(app, "/v1/editing/history", {}, headers={**user, "X-Podium-Editing": "1"}).status_code
        == 200
    )


def test_hosts_of_origins_are_compared_whole():
    for origin in (
        b"http://shop.example.evil",
        b"http://evil/shop.example",
        b"http://shop.example@evil",
        b"x",
    ):
        with pytest.raises(Refusal):
            check_same_site({b"origin": origin, b"host": b"shop.example"})
    check_same_site({b"origin": b"http://shop.example:8000", b"host": b"shop.example:8000"})


# --- files of editors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("editors: []", "expected version: 1"),
        ("version: 1\neditors: []", ":2: expected a list of 1 to"),
        ("version: 1\neditors:\n- {name: A, token: secret}", ":3: expected token: sha256:"),
        ("version: 1\neditors:\n- {name: A}", "expected a token, or a user"),
        ("version: 1\neditors:\n- {name: A, user: a}", "expected proxy:"),
        ("version: 1\neditors:\n- {name: A, pass: a}", "unknown key 'pass'"),
        (f"{USER}proxy: {{header: 'X Y', addresses: ['::1']}}", "name of a header"),
        (f"{USER}proxy: {{header: X, addresses: [a]}}", "expected an address"),
    ],
)  # fmt: skip
def test_wrong_files_of_editors_are_refused(tmp_path, text, message):
    path = tmp_path / "editors.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_editors(path)


def test_tokens_are_not_in_the_file_and_names_come_once(tmp_path):
    path = tmp_path / "editors.yaml"
    token = add_editor(path, "Ann O'Hara", "ann@shop.example")
    assert token not in path.read_text()
    assert read_editors(path).with_token(token.encode()).author.email == "ann@shop.example"
    with pytest.raises(DataError, match="expected each name once"):
        add_editor(path, "Ann O'Hara")
    assert len(read_editors(path).editors) == 1


def test_editors_need_a_folder_of_rules(tmp_path):
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: []")
    for rules in (None, str(tmp_path / "rules.yaml")):
        with pytest.raises(UsageError, match="expected --rules FOLDER"):
            service(rules=rules, editors="editors.yaml")


def test_a_removed_editor_loses_the_right_at_the_next_look(site):
    app, tokens, folder = site
    path = folder / "editors.yaml"
    text = path.read_text().replace(path.read_text().split("sha256:")[2][:64], "0" * 64)
    path.write_text(text)
    asyncio.run(app.refresh())
    statuses = {name: call(site, "history", {}, name).status_code for name in tokens}
    assert statuses == {"Ann": 401, "Bob": 200}


# --- several services on one folder


def test_a_save_reaches_other_workers_and_services_within_two_seconds(tmp_path):
    import time

    import httpx

    editors = tmp_path / "editors.yaml"
    token = add_editor(editors, "Ann")
    rules = tmp_path / "rules"
    rules.mkdir()
    with (
        running("--rules", rules, "--editors", editors) as (_, first),
        running("--rules", rules) as (_, other),
        httpx.Client() as client,
    ):
        headers = {"Authorization": f"Bearer {token}"}
        base = client.get(f"{first}/v1/editing", headers=headers).json()["revision"]
        body = {"base": base, "rules": [HIDE]}
        assert (
            client.post(f"{first}/v1/editing/save", json=body, headers=headers).status_code == 200
        )
        saved = time.monotonic()

        def is_live():
            answer = client.post(f"{other}/v1/postrank", json={"documents": IDS})
            assert answer.status_code == 200
            return answer.json()["ids"] == ["a", "c"]

        assert client.post(f"{first}/v1/postrank", json={"documents": IDS}).json()["ids"] == [
            "a",
            "c",
        ]
        eventually(is_live)
        assert time.monotonic() - saved < 2 + 5  # the machine of a test may be busy
        assert json.loads((rules / "audit.ndjson").read_text())["editor"] == "Ann"


def test_a_save_is_live_in_all_workers_of_two_services_without_a_failed_request(tmp_path):
    """Four processes under load: after the bound no answer has the old rules, and none failed."""
    import threading
    import time

    import httpx

    editors = tmp_path / "editors.yaml"
    token = add_editor(editors, "Ann")
    rules = tmp_path / "rules"
    rules.mkdir()
    last_old: dict[str, float] = {}
    statuses: set[int] = set()
    is_over = threading.Event()

    def ask(address):
        while not is_over.is_set():
            with httpx.Client() as client:  # a new connection, which any worker may take
                answer = client.post(f"{address}/v1/postrank", json={"documents": IDS}, timeout=60)
            statuses.add(answer.status_code)
            if answer.status_code != 200 or answer.json()["ids"] != ["a", "c"]:
                last_old[address] = time.monotonic()

    with (
        running("--rules", rules, "--editors", editors, "--workers", "2") as (_, first),
        running("--rules", rules, "--workers", "2") as (_, other),
        httpx.Client(timeout=60) as client,
    ):
        askers = [threading.Thread(target=ask, args=(address,)) for address in (first, other)]
        for asker in askers:
            asker.start()
        headers = {"Authorization": f"Bearer {token}"}
        base = client.get(f"{first}/v1/editing", headers=headers).json()["revision"]
        body = {"base": base, "rules": [HIDE]}
        answer = client.post(f"{first}/v1/editing/save", json=body, headers=headers)
        saved = time.monotonic()
        time.sleep(2 + 5)  # the machine of a test may be busy
        bound = time.monotonic() - 2
        is_over.set()
        for asker in askers:
            asker.join()
    assert answer.status_code == 200
    assert statuses == {200}
    assert set(last_old) == {first, other}
    assert max(last_old.values()) < bound, {at: t - saved for at, t in last_old.items()}
