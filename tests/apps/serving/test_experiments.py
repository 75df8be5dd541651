"""Experiments in the service: interleaved lists, arms, swaps, their log, and files that change."""

import asyncio
import json
import signal
from collections import Counter

import httpx
import numpy as np
import pytest

from podium.apps.serving.experiment_file import read_experiment_file
from podium.apps.serving.list_log import ListLog, list_log_path
from podium.clicks import experiment_result, read_experiment, read_sessions, rule_results
from podium.clicks.experiment_records import ListRecord
from podium.errors import DataError, UsageError
from tests.support.cli import run as run_podium
from tests.support.ranking_service import (
    error,
    get,
    lines,
    post,
    replace,
    rows,
    running,
    save,
    service,
)

IDS = [f"d{i}" for i in range(8)]
FILE = "version: 1\nname: newer\nmodels: {old: shop, new: other}\n"


@pytest.fixture
def folder(tmp_path):
    save(tmp_path)
    save(tmp_path, "listnet", "other.podium")
    (tmp_path / "x.yaml").write_text(FILE + "method: team-draft\n")
    return tmp_path


def start(folder, text=None, **settings):
    if text is not None:
        (folder / "x.yaml").write_text(FILE + text)
    settings.setdefault("experiment", str(folder / "x.yaml"))
    models = folder / "shop.podium", folder / "other.podium"
    return service(*models, events=str(folder / "events.ndjson"), **settings)


def ask(app, request=0, n=8, **other):
    body = {"features": rows(n, seed=other.pop("seed", 0)).tolist(), "ids": IDS[:n], "query": "tea"}
    response = post(app, "/v1/rank", {**body, "id": f"q{request}", **other})
    assert response.status_code == 200, response.text
    return response.json()


def records(folder):
    return lines((folder / "events-lists.ndjson").read_text())


def plain(app, model=None):
    return ask(app, id=None, model=model)["ids"]


@pytest.mark.parametrize("method", ["team-draft", "balanced", "optimised"])
def test_lists_are_interleaved_and_logged(folder, method):
    app = start(folder, f"method: {method}\ndepth: 6\n")
    old, new = plain(app), plain(app, "other")
    assert old != new
    seen = Counter()
    for request in range(30):
        answer = ask(app, request)
        assert sorted(answer["ids"]) == IDS
        assert answer["ids"] == [IDS[row] for row in answer["order"]]
        assert answer["experiment"]["method"] == method
        teams = answer["experiment"]["teams"]
        assert teams[6:] == [None, None]
        assert answer["ids"][0] in (old[0], new[0])
        assert answer["ids"][6:] == [doc for doc in old if doc not in answer["ids"][:6]]
        seen[tuple(answer["ids"])] += 1
        attributes = records(folder)[-1]["query_attributes"]
        names = [["old", "new", None][team] for team in attributes["teams"]]
        assert names == teams[: len(names)]
        assert set(teams[len(names) :]) <= {None}
        assert records(folder)[-1]["query_response_hit_ids"] == answer["ids"]
    assert len(seen) > 1
    log = read_experiment(folder / "events-lists.ndjson")
    assert (len(log), log.method, log.models) == (30, method, ("old", "new"))


def test_a_repeated_request_gets_the_same_list_from_another_process_too(folder):
    app, again = start(folder, swap=0.3), start(folder, swap=0.3)
    answers = [ask(app, request) for request in range(20)]
    assert answers == [ask(again, request) for request in range(20)]
    assert len({tuple(answer["ids"]) for answer in answers}) > 3
    by_session = [ask(app, request, session="s")["ids"] for request in range(5)]
    assert by_session == by_session[:1] * 5  # the same query of the same session


def test_repeats_in_different_units_are_drawn_separately(folder):
    for unit, who in (("list", {"session": "s"}), ("session", {"user": "u"})):
        app = start(folder, f"unit: {unit}\nswap: 0.3\n")
        lists = {tuple(ask(app, request, **who)["ids"]) for request in range(20)}
        assert len(lists) > 3
    app = start(folder, "unit: user\nswap: 0.3\n")
    by_user = [ask(app, i, user="u", session=f"s{i}")["ids"] for i in range(5)]
    assert by_user == by_user[:1] * 5


def test_requests_without_id_with_a_model_or_without_document_ids_are_plain(folder):
    app = start(folder, swap=0.5)
    body = {"features": rows(8).tolist(), "ids": IDS}
    for request in (body, {**body, "model": "other"}, {"features": rows(8).tolist(), "id": "q"}):
        answer = post(app, "/v1/rank", request).json()
        assert not {"experiment", "base_positions"} & set(answer)
    assert records(folder) == []


def test_a_session_keeps_its_arm_and_arms_have_their_shares(folder):
    text = "method: ab\nshares: {old: 3, new: 1}\n"
    app, again = start(folder, text), start(folder)
    arms = {}
    for session in range(300):
        answer = ask(app, session, session=f"s{session}", n=2)
        arms[session] = answer["experiment"]["arm"]
        assert answer["model"] == {"old": "shop", "new": "other"}[arms[session]]
    for session in range(0, 300, 7):
        other = ask(again, 1_000 + session, session=f"s{session}", n=2, query="coffee")
        assert other["experiment"]["arm"] == arms[session]
    share = list(arms.values()).count("new") / 300
    assert abs(share - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 300)
    assert records(folder)[0]["query_attributes"]["share"] == 0.25


def test_a_share_of_the_sessions_is_in_the_experiment_and_stays_when_it_grows(folder):
    inside = {}
    for share in (0.3, 0.6):
        app = start(folder, f"share: {share}\n")
        inside[share] = {i for i in range(200) if "experiment" in ask(app, i, session=f"s{i}", n=2)}
        assert abs(len(inside[share]) / 200 - share) < 4 * np.sqrt(share * (1 - share) / 200)
    assert inside[0.3] < inside[0.6]


def test_swaps_are_logged_with_the_positions_before_them(folder):
    app = start(folder, experiment=None, swap=0.3)
    model = plain(app)
    n_swapped = 0
    for request in range(40):
        answer = ask(app, request)
        base = answer["base_positions"]
        assert [model[place - 1] for place in base] == answer["ids"]
        assert np.abs(np.array(base) - np.arange(1, 9)).max() <= 1
        n_swapped += base[0] == 2
    assert abs(n_swapped / 40 - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 40)
    click = {
        "action_name": "click",
        "query_id": "q3",
        "event_attributes": {"object": {"object_id": "d3"}},
    }
    assert post(app, "/v1/events", click).json() == {"accepted": 1}
    sessions = read_sessions([folder / "events.ndjson", folder / "events-lists.ndjson"])
    assert len(sessions) == 40
    assert sessions.has_base.all()
    assert sessions.clicked.sum() == 1
    bases = {tuple(ask(app, request)["base_positions"]) for request in range(40)}
    rows_of = np.split(sessions.base_positions, sessions.groups.offsets[1:-1])
    assert {tuple(own.tolist()) for own in rows_of} == bases


def test_hard_rules_are_not_swapped_away(folder):
    rules = folder / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {rule: pin, docs: d5, position: 1, hard: true}\n")
    app = start(folder, swap=0.5, rules=str(rules))
    for request in range(20):
        answer = ask(app, request, rules=True)
        assert answer["ids"][0] == "d5"
        assert "base_positions" not in answer
        assert len(answer["experiment"]["teams"]) == 8
    assert "base_positions" in ask(app, 1)


def test_dates_stop_and_start_an_experiment_and_clicks_are_kept(folder):
    assert "experiment" not in ask(start(folder, "starts: 2999-01-01\n"))
    assert "experiment" not in ask(start(folder, "stops: 2020-01-01T00:00\n"))
    app = start(folder, "starts: 2020-01-01\nstops: 2999-01-01\n")
    first = ask(app, 1)
    replace(folder / "x.yaml", FILE + "stopped: true\n")
    asyncio.run(app.refresh())
    assert "experiment" not in ask(app, 2)
    doc = first["ids"][first["experiment"]["teams"].index("new")]
    click = {
        "action_name": "click",
        "query_id": "q1",
        "event_attributes": {"object": {"object_id": doc}},
    }
    assert post(app, "/v1/events", click).json() == {"accepted": 1}
    log = read_experiment([folder / "events.ndjson", folder / "events-lists.ndjson"])
    assert log.outcome.tolist() == [1.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FILE + "method: best\n", "experiment: x.yaml:4: expected method to be one of team-draft"),
        ("version: 1\nname: y\nmodels: {old: shop, new: nobody}\n", "got 'nobody'"),
        (
            FILE + "method: ab\n",
            "experiment: x.yaml:1: expected the method, models, shares, unit, seed and rules",
        ),
        ("version: [", "experiment: x.yaml:1: this is not valid YAML"),
    ],
)
def test_a_broken_file_keeps_the_old_experiment_and_is_shown(folder, text, said):
    app = start(folder)
    before = ask(app, 1)
    replace(folder / "x.yaml", text)
    asyncio.run(app.refresh())
    assert ask(app, 1) == before
    health = get(app, "/healthz").json()
    assert health["status"] == "degraded"
    assert said in health["reasons"][0]
    replace(folder / "x.yaml", FILE.replace("newer", "newest") + "method: ab\n")
    asyncio.run(app.refresh())
    assert get(app, "/healthz").json()["status"] == "ok"
    assert ask(app, 1)["experiment"]["name"] == "newest"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\nmodels: {a: shop, b: other}\n", "expected a name"),
        ("version: 1\nname: x\nmodels: {a: shop}\n", "expected two models"),
        (FILE + "swap: 0.7\n", "from 0 to 0.5 for swap"),
        (FILE + "share: half\n", "a number from 0 to 1 for share"),
        (FILE + "shares: {old: 1, new: 1}\n", "shares for the method ab only"),
        (FILE + "method: ab\nshares: {old: 1, new: 0}\n", "shares above 0"),
        (FILE + "method: ab\nshares: {old: 1}\n", "a share for old and for new"),
        (FILE + "starts: soon\n", "a date or a time"),
        (FILE + "stop: 2026-01-01\n", "unknown key 'stop'"),
        (FILE + "method: optimised\ndepth: 20\n", "at most 10 for optimised"),
        (FILE + "depth: 2.5\n", "a whole number from 1 to 1000"),
        ("- version\n", "no mapping"),
        ("name: x\n", "expected version: 1"),
    ],
)
def test_wrong_files_say_what_is_expected(tmp_path, text, message):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        read_experiment_file(str(path))
    assert str(raised.value).startswith(str(path))


def test_an_experiment_needs_a_log(folder):
    with pytest.raises(UsageError, match="expected --events together with --experiment"):
        service(folder / "shop.podium", experiment=str(folder / "x.yaml"))
    with pytest.raises(UsageError, match="expected --events together with --swap"):
        service(folder / "shop.podium", swap=0.1)


def test_a_list_that_cannot_be_logged_is_a_plain_one(folder, monkeypatch):
    app = start(folder, swap=0.5)
    before = plain(app)

    def is_full(record):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(app._list_log, "append", is_full)
    answer = ask(app, 1)
    assert answer["ids"] == before
    assert "experiment" not in answer


def test_the_log_of_lists_goes_on_after_half_a_line_and_begins_new_files(tmp_path):
    path = tmp_path / "events-lists.ndjson"
    assert list_log_path(str(tmp_path / "events.ndjson")) == str(path)
    path.write_text('{"query_id": "cut')
    logs = [ListLog(str(path), 400), ListLog(str(path), 400)]  # two processes
    for number in range(40):
        logs[number % 2].append(ListRecord(query_id=f"q{number}"))
    for log in logs:
        log.close()
    files = [*tmp_path.iterdir()]
    assert len(files) > 1
    text = "".join(file.read_text() for file in files).splitlines()
    whole = [json.loads(line)["query_id"] for line in text if line and not line.endswith("cut")]
    assert sorted(whole) == sorted(f"q{number}" for number in range(40))


def test_kill_9_loses_no_click_and_no_list(folder):
    """Each answered list and acknowledged click is there after the service was killed."""
    files = ["--experiment", folder / "x.yaml", "--events", folder / "events.ndjson"]
    models = folder / "shop.podium", folder / "other.podium"
    clicked = {}
    for start_at in (0, 30):
        with (
            running(*models, *files, "--swap", "0.1") as (process, address),
            httpx.Client() as client,
        ):
            for request in range(start_at, start_at + 30):
                body = {
                    "features": rows(8).tolist(),
                    "ids": IDS,
                    "id": f"q{request}",
                    "query": "tea",
                }
                shown = client.post(f"{address}/v1/rank", json=body).json()
                doc = shown["ids"][request % 8]
                event = {"action_name": "click", "query_id": f"q{request}",
                         "event_attributes": {"object": {"object_id": doc}}}  # fmt: skip
                client.post(f"{address}/v1/events", json=event).raise_for_status()
                clicked[f"q{request}"] = shown["experiment"]["teams"][request % 8]
            process.send_signal(signal.SIGKILL)
            process.wait()
    log = read_experiment([folder / "events.ndjson", folder / "events-lists.ndjson"])
    assert len(log) == log.counts["clicks"] == 60
    result = experiment_result(log)
    teams = Counter(clicked.values())
    assert (result.wins, result.losses) == (teams["new"], teams["old"])
    assert log.counts["clicks on unknown lists"] == 0


def test_names_of_sessions_have_a_longest_length(folder):
    app = start(folder)
    body = {"features": rows(2).tolist(), "ids": IDS[:2], "id": "q", "session": "s" * 10_001}
    error(post(app, "/v1/rank", body), 422, "wrong_type")


RULES = """\
version: 1
rules:
  - {rule: pin, docs: d4, position: 1, hard: true, name: e first}
  - {rule: hide, docs: d0, hard: true, query: coffee, name: no a}
"""
HOLDOUT = (
    "version: 1\nname: no-rules\nmethod: ab\nmodels: {without: shop, with: shop}\n"
    "rules: {without: off, with: on}\nshares: {without: 1, with: 3}\n"
)


def holdout(folder, text=HOLDOUT):
    (folder / "x.yaml").write_text(text)
    (folder / "rules.yaml").write_text(RULES)
    return start(folder, rules=str(folder / "rules.yaml"))


def test_a_share_of_the_sessions_sees_no_rules_and_each_rule_has_its_outcome(folder):
    app = holdout(folder)
    plain = ask(app, id=None, rules=False)["ids"]
    lists, clicks = {"without": 0, "with": 0}, []
    for number in range(60):
        query = ("tea", "coffee")[number % 2]
        answer = ask(app, number, session=f"s{number}", rules=True, query=query)
        arm = answer["experiment"]["arm"]
        lists[arm] += 1
        rest = [
            doc
            for doc in plain
            if doc != "d4" and not (arm == "with" and query == "coffee" and doc == "d0")
        ]
        assert answer["ids"] == (plain if arm == "without" else ["d4", *rest])
        if arm == "with":
            clicks.append({"action_name": "click", "query_id": f"q{number}",
                           "event_attributes": {"object": {"object_id": "d4"}}})  # fmt: skip
    assert lists["with"] > lists["without"] > 0
    post(app, "/v1/events", clicks)
    on = [record["query_attributes"]["rules"] for record in records(folder)]
    assert on == [["e first"], ["e first", "no a"]] * 30
    log = read_experiment([folder / "events.ndjson", folder / "events-lists.ndjson"])
    found = rule_results(log)
    assert {rule: result.lists for rule, result in found.items()} == {"e first": 60, "no a": 30}
    assert all(result.rates == (0.0, 1.0) for result in found.values())
    assert found["e first"].winner == "with"
    out = run_podium("clicks", "interleaving", str(folder), "--json").stdout
    assert json.loads(out)["rules"]["no a"]["lists"] == 30
    assert (
        "Lists for which each rule was on"
        in run_podium("clicks", "interleaving", str(folder)).stdout
    )


def test_rules_of_a_request_act_in_every_arm(folder):
    app = holdout(folder)
    rules = [{"rule": "pin", "docs": "d7", "position": 1, "hard": True}]
    for number in range(20):
        answer = ask(app, number, session=f"s{number}", rules=rules)
        assert answer["ids"][0] == "d7"
    assert all("rules" not in record["query_attributes"] for record in records(folder))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOLDOUT.replace("off", "none"), "expected on or off in rules, got 'none'"),
        (HOLDOUT.replace("with: on", "other: on"), "expected on or off for without and for with"),
        (HOLDOUT.replace("method: ab", "method: team-draft").replace("shares: {without: 1, with: 3}\n", ""),
         "expected rules for the method ab only"),
    ],
)  # fmt: skip
def test_wrong_rules_of_an_experiment_are_named(folder, text, said):
    (folder / "x.yaml").write_text(text)
    with pytest.raises(DataError, match=said):
        read_experiment_file(str(folder / "x.yaml"))
