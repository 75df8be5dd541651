"""The commands judge serve, links and demo."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from podium.apps.judging import Links
from podium.apps.judging.demo import (
    DEMO_DEPTH,
    DEMO_GUIDELINES,
    DEMO_K,
    DEMO_QUERIES,
    demo_assignments,
    demo_pool,
)
from podium.apps.judging.secret_files import secret_of
from podium.errors import DataError, UsageError
from podium.experiments.demo_corpus import queries
from podium.labelling import Guidelines, JudgingEvent, make_tasks, write_pool
from podium.labelling.store import Store, StoreAdmin, StoreMember
from podium.labelling.tasks import FIVE_GRADES
from tests.support.cli import answer, flat, run
from tests.support.judging_client import POOL, form_token
from tools.forks import ForkedCommand


@pytest.fixture
def pool(tmp_path):
    write_pool(POOL, tmp_path / "pool.jsonl")
    return tmp_path / "pool.jsonl"


@pytest.fixture(scope="module")
def documented():
    """The demo's pool: to make it takes seconds."""
    return demo_pool()


@contextmanager
def server(*arguments):
    """A server in another process: the process and what it says."""
    words = ["judge", *map(str, arguments), "--port", "0", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "stderr"
        process = ForkedCommand(words, dict(os.environ), log)
        try:
            text = ""
            while (line := process.stdout.readline()) not in ("}\n", ""):
                text += line
            assert line, log.read_text()
            yield process, json.loads(text + line)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def link(told, member):
    return next(one["link"] for one in told["links"] if one["member"] == member)


@contextmanager
def browsing(url):
    with httpx.Client(follow_redirects=True, trust_env=False) as client:
        page = client.get(url)
        page = client.post(url, data={"form_token": form_token(page.text)})
        assert page.status_code == 200, page.text
        client.base_url = httpx.URL(url).join("/")
        yield client, page.text


def judge(client, task, n, name):
    """n judgments; the last that was sent."""
    page = client.get(f"/judge/{task}").text
    headers = {"X-Podium-Token": re.search(r'podium-token" content="(\w+)"', page)[1]}
    state = client.get(f"/api/tasks/{task}").json()
    for i in range(n):
        told = {"question": state["step"]["question"], "answer": "left", "segments": [[0, 1000]]}
        sent = {"events": [{"id": f"{name}{i}", "kind": "judgment", "at": i, "data": told}]}
        state = client.post(f"/api/tasks/{task}/events", json=sent, headers=headers).json()
        assert state["accepted"] == [f"{name}{i}"]
    return sent, headers


def test_a_killed_server_loses_nothing_and_old_links_work(tmp_path, pool):
    store = tmp_path / "judgments.db"
    given = ("serve", "--store", store, "--pool", pool, "--assessors", "ann, bob", "--top", 3)
    with server(*given) as (process, told):
        with browsing(link(told, "ann")) as (client, page):
            task = re.search(r'href="/judge/([^"]+)"', page)[1]
            sent, headers = judge(client, task, 4, "a")
            cookies = dict(client.cookies)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with server("serve", "--store", store) as (process, again):
        path = httpx.URL(link(told, "ann")).path
        with browsing(again["url"] + path) as (client, _):
            client.cookies.update(cookies)
            # The answer to the last one got lost, as far as the page knows.
            state = client.post(f"/api/tasks/{task}/events", json=sent, headers=headers).json()
            assert state["accepted"] == ["a3"]
            assert state["progress"]["done"] == 4
            judge(client, task, 2, "b")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    with Store.open(store) as opened:
        assert [e.id for e in opened.events(task)] == ["a0", "a1", "a2", "a3", "b0", "b1"]


def test_without_assessors_there_is_one_and_that_is_told(tmp_path, pool):
    with server("serve", "--store", tmp_path / "j.db", "--pool", pool) as (_, told):
        assert [(one["member"], one["role"]) for one in told["links"]] == [
            ("admin", "admin"), ("assessor", "assessor"),
        ]  # fmt: skip
        assert (
            "all queries go to one called 'assessor'; name them by --assessors" in told["notes"][0]
        )
        with browsing(link(told, "admin")) as (client, page):
            assert "By assessor" in page
            assert client.get("/admin/progress.json").json()["total"]["tasks"] == 2


def test_a_pool_again_gives_nobody_more_to_do(tmp_path, pool):
    store = tmp_path / "j.db"
    run(
        "judge",
        "import",
        store,
        "--pool",
        pool,
        "-a",
        "ann,bob",
        "--design",
        "overlap",
        "--overlap",
        1,
    )
    with server("serve", "--store", store, "--pool", pool):
        pass
    with Store.open(store) as opened:
        assert len(opened.session_states()) == 2


def test_a_store_without_tasks_is_told(tmp_path, pool):
    run("judge", "import", tmp_path / "j.db", "--pool", pool)
    with server("serve", "--store", tmp_path / "j.db") as (_, told):
        assert told["notes"] == [
            "the store has no tasks yet: name --pool and --assessors to make them"
        ]


def test_a_second_server_of_a_file_is_refused(tmp_path, pool):
    store = tmp_path / "j.db"
    with server("serve", store, "--pool", pool, "-a", "ann") as (_, told):
        out = run("judge", "serve", store, "--port", 0, code=1)
        assert f"expected one server for {store}, got another at {told['url']}" in out.stderr
        assert "enter" not in out.stdout
        assert answer("judge", "links", store)["url"] == told["url"]
    with server("serve", store):  # the first one was killed: its lock went with it
        pass


def test_what_people_see_of_a_server(tmp_path, pool):
    command = [sys.executable, "-m", "podium", "judge", "serve", tmp_path / "j.db", "--pool", pool,
               "--port", "0", "-a", "ann,bob"]  # fmt: skip
    environment = {**os.environ, "COLUMNS": "60"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            lines = [process.stdout.readline() for _ in range(5)]
        finally:
            process.kill()
    assert [line.split()[0] for line in lines[1:4]] == ["admin", "ann", "bob"]
    assert all(line.split()[-1].startswith("http://127.0.0.1:") for line in lines[1:4])
    assert "open a link in a browser. Ctrl-C stops" in lines[4]


def test_a_file_says_who_judges_what(tmp_path, pool):
    (tmp_path / "plan.csv").write_text("assessor,query,tool\ncat,q1,grade\nann,q2,preference\n")
    given = (
        "serve",
        "--store",
        tmp_path / "j.db",
        "--pool",
        pool,
        "--assign",
        tmp_path / "plan.csv",
    )
    with server(*given, "--base-url", "https://judge.example.org") as (_, told):
        assert {one["member"] for one in told["links"]} == {"admin", "ann", "cat"}
        assert link(told, "cat").startswith("https://judge.example.org/enter/")


def test_links_of_a_store(tmp_path, documented):
    store = tmp_path / "judgments.db"
    with Store.open(store) as opened:
        plan = demo_assignments("ann")
        opened.add_pool(documented)
        opened.add_members([StoreMember("ann")])
        opened.add_tasks(make_tasks(plan, documented))
    told = answer("judge", "links", "--store", store, "--base-url", "https://j.example.org/")
    links = Links(secret_of(str(store)))
    token = link(told, "ann").removeprefix("https://j.example.org/enter/")
    assert links.read(token).member == "ann"
    assert links.read(link(told, "admin").rpartition("/")[2]).role == "admin"
    out = run("judge", "links", "--store", store).stdout
    assert "personal links" in flat(out)
    assert "http://127.0.0.1:8400/enter/" in out


def test_the_secret_is_made_once_for_its_owner(tmp_path, monkeypatch):
    store = str(tmp_path / "judgments.db")
    secret = secret_of(store)
    file = tmp_path / "judgments.db.secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret_of(store) == secret == file.read_text().strip()
    assert secret_of(store, tmp_path / "other") != secret
    monkeypatch.setenv("PODIUM_JUDGING_SECRET", "from the environment")
    assert secret_of(store) == "from the environment"
    monkeypatch.delenv("PODIUM_JUDGING_SECRET")
    file.write_text("short")
    with pytest.raises(DataError, match="16 characters or more, got 5"):
        secret_of(store)
    with pytest.raises(UsageError, match="--secret FILE or set PODIUM_JUDGING_SECRET"):
        secret_of("postgresql://ann@db.example.org/judging")


def test_wrong_commands_are_one_line(tmp_path, pool):
    store = tmp_path / "judgments.db"
    assert "no such file" in run("judge", "serve", "--store", store, code=1).stderr
    assert not store.exists()
    assert "no such file" in run("judge", "links", "--store", store, code=1).stderr
    given = ["judge", "serve", "--store", store, "--pool", pool]
    assert "expected --pool" in run(*given[:4], "--assessors", "ann", code=2).stderr
    assert "got none" in run(*given, "--design", "overlap", code=2).stderr
    assert (
        "at least 4 assessors"
        in run(*given, "-a", "x,y", "--design", "paper", "--rounds", 2, code=2).stderr
    )
    assert not store.exists()
    assert "https://judge.example.org" in run(*given, "--base-url", "nonsense", code=2).stderr
    assert "did you mean" in run(*given, "--strategy", "turnament", code=2).stderr
    assert "other names than 'admin'" in run(*given, "--assessors", "admin", code=2).stderr
    (tmp_path / "bad.jsonl").write_text('{"query": "q", "documents": [{"id": "x"}]}\nnonsense\n')
    bad = run(
        "judge", "serve", "--store", tmp_path / "b.db", "--pool", tmp_path / "bad.jsonl", code=1
    )
    assert "bad.jsonl:2:" in bad.stderr


def test_a_port_in_use_is_named(tmp_path, pool):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        out = run(
            "judge", "serve", "--store", tmp_path / "j.db", "--pool", pool, "--port", port, code=1
        )
    assert f"127.0.0.1 port {port}" in out.stderr
    assert "enter" not in out.stdout


def test_the_demo_is_ready(tmp_path, documented):
    with server("demo") as (process, told):
        with browsing(link(told, "assessor")) as (client, page):
            tasks = re.findall(r'href="/judge/([^"]+)"', page)
            assert len(set(tasks)) == len(DEMO_QUERIES)
            for query in documented:
                assert query.text in page
            judge(client, tasks[0], 3, "x")
        folder = os.path.dirname(told["store"])
        assert os.path.isdir(folder)
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert not os.path.exists(folder)


def test_the_demo_has_guidelines_that_define_every_grade(monkeypatch, tmp_path):
    assert list(DEMO_GUIDELINES.grades) == list(FIVE_GRADES)
    path = tmp_path / "demo.db"
    monkeypatch.setattr("podium.apps.cli.commands.judge_demo.serve_store", lambda *_, **__: None)
    run("judge", "demo", "--store", path)
    with Store.open(path) as store:
        assert store.guidelines().version == 1
        assert (store.guidelines().text, store.guidelines().grades) == (
            DEMO_GUIDELINES.text, DEMO_GUIDELINES.grades
        )  # fmt: skip


def test_the_demo_s_pool_has_answers(documented):
    pool = documented
    found = {query.id: [document.id for document in query.documents] for query in pool}
    assert {"shutil.copy", "shutil.copy2"} <= set(found["copy-file"])
    assert {"random.choice", "random.sample"} <= set(found["random-choice"])
    assert "glob.glob" in found["glob-recursive"]
    assert all(len(documents) == DEMO_DEPTH > DEMO_K for documents in found.values())
    judged = {query.id: query for query in queries()}
    for name, documents in found.items():
        grades = [judged[name].grades.get(doc, 0) for doc in documents]
        assert sum(grade >= 2 for grade in grades) >= DEMO_K, name
        assert min(grades) == 0, name
    assert demo_pool() == pool


def test_events_of_other_programs_are_seen(tmp_path, pool):
    store = tmp_path / "judgments.db"
    with (
        server("serve", "--store", store, "--pool", pool, "--assessors", "ann") as (_, told),
        browsing(link(told, "ann")) as (client, page),
        Store.open(store) as opened,
    ):
        task = re.search(r'href="/judge/([^"]+)"', page)[1]
        judge(client, task, 1, "x")
        opened.append(JudgingEvent("elsewhere", task, "pause", 1))
        assert client.get(f"/api/tasks/{task}").json()["events"] == 2
        judge(client, task, 1, "y")
        assert [e.id for e in opened.events(task)] == ["x0", "elsewhere", "y0"]


def test_a_server_that_ends_answers_the_judgment_that_is_on_its_way(tmp_path, pool):
    store = tmp_path / "judgments.db"
    options = ("serve", "--store", store, "--pool", pool, "--assessors", "ann", "--top", 3)
    with server(*options) as (process, told), browsing(link(told, "ann")) as (client, page):
        task = re.search(r'href="/judge/([^"]+)"', page)[1]
        _, headers = judge(client, task, 1, "a")
        state = client.get(f"/api/tasks/{task}").json()
        data = {"question": state["step"]["question"], "answer": "left"}
        events = {"events": [{"id": "last", "kind": "judgment", "at": 9, "data": data}]}
        process.send_signal(signal.SIGTERM)
        address = httpx.URL(told["url"])
        while not is_closed(address):  # the end has begun; the open connection is still served
            assert process.poll() is None
        answer = client.post(f"/api/tasks/{task}/events", json=events, headers=headers)
        assert answer.json()["accepted"] == ["last"]
        assert answer.headers["connection"] == "close"
        assert process.wait(20) == 128 + signal.SIGTERM
    with Store.open(store) as opened:
        assert [event.id for event in opened.events(task)] == ["a0", "last"]


def is_closed(address):
    """Whether nobody new gets in."""
    try:
        socket.create_connection((address.host, address.port), timeout=0.1).close()
    except OSError:
        return True
    return False


def test_guidelines_come_from_a_file_and_edits_stay(tmp_path, pool):
    store, file = tmp_path / "judgments.db", tmp_path / "guidelines.md"
    file.write_text("---\ngrades:\n  Bad: Off topic.\n---\nRead **both**.")
    told = answer("judge", "import", store, "--pool", pool, "-a", "ann", "--guidelines", file)
    assert told["guidelines"] == 1
    with Store.open(store) as opened:
        assert (opened.guidelines().text, opened.guidelines().author) == (
            "Read **both**.",
            "command line",
        )
        StoreAdmin(opened, "admin").save_guidelines(Guidelines("Edited."))
    assert answer("judge", "import", store, "--guidelines", file)["guidelines"] == 0
    with (
        server("serve", store, "--guidelines", file) as (_, told),
        browsing(link(told, "ann")) as (client, _),
    ):
        assert "Edited." in client.get("/guidelines").text
        assert "<strong>both</strong>" in client.get("/guidelines?version=1").text
    file.write_text("---\ngrades: 3\n---\n")
    assert "guidelines.md" in run("judge", "import", store, "--guidelines", file, code=1).stderr
