"""What podium judge import and serve make of pools, people and settings, told in the same words."""

import json

import pytest

from podium.apps.cli.servers.store_lock import lock_path, lock_store, server_address
from podium.errors import StoreError
from podium.labelling import make_judgments, write_pool
from podium.labelling.store import Store
from tests.support import judged_stores
from tests.support.cli import answer, flat, run

QUERIES = [f"q{i}" for i in range(6)]
DOCUMENTS = [f"d{i:02d}" for i in range(14)]


@pytest.fixture
def pool(tmp_path):
    write_pool(judged_stores.pool_of(QUERIES, DOCUMENTS), tmp_path / "pool.jsonl")
    return tmp_path / "pool.jsonl"


def tasks_of(path):
    with Store.open(path) as store:
        return [state.task for state in store.session_states()]


def told(*arguments, code=0):
    return run("judge", *arguments, code=code).stderr


def test_ids_and_texts_of_a_csv_are_not_mixed_up(tmp_path):
    """The columns most people have: the text was taken for the id, and found out after judging."""
    (tmp_path / "pool.csv").write_text(
        "query_id,query,doc_id,title,text,url\nq1,chess clock,x,DGT,A clock,u\nq1,chess clock,y,Leap,B,v\n"
    )
    path = tmp_path / "judgments.db"
    new = answer("judge", "import", path, "--pool", tmp_path / "pool.csv", "-a", "ann", "-k", 1)
    assert new["notes"] == ["assessors do not see url; --show url shows fields"]
    with Store.open(path) as store:
        assert store.query_texts() == {"q1": "chess clock"}
        make_judgments(store)
    run("judge", "export", path, "-o", tmp_path / "truth.qrels")
    assert (tmp_path / "truth.qrels").read_text().startswith("q1 0 ")


def test_names_are_repeated_or_have_commas(tmp_path, pool):
    options = ("--pool", pool, "-a", "ann, bob", "--assessors", "cat,ann")
    new = answer("judge", "import", tmp_path / "j.db", *options)
    assert (new["assessors"], new["tasks"]) == (3, 18)


def test_the_store_is_an_argument_or_an_option(tmp_path, pool, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("judge", "import", "--store", "one.db", "--pool", pool, "-a", "ann")
    run("judge", "import", "two.db", "--store", "two.db", "--pool", pool, "-a", "ann")
    run("judge", "import", "--pool", pool, "-a", "ann")
    for name in ("one.db", "two.db", "judgments.db"):
        assert len(tasks_of(name)) == 6
        for given in ([name], ["--store", name]):
            assert "Costs by method" in run("judge", "stats", *given).stdout
            assert "ann" in run("judge", "links", *given).stdout
    assert "got one.db and --store two.db" in told("stats", "one.db", "--store", "two.db", code=2)


def test_designs_have_one_name_in_both_commands(tmp_path, pool):
    five = ("-a", "a,b,c,d,e", "--pool", pool)
    for name in ("crossover", "paper"):
        assert (
            answer("judge", "import", tmp_path / f"{name}.db", *five, "--design", name)["tasks"]
            == 24
        )
    new = answer(
        "judge", "import", tmp_path / "three.db", "-a", "a,b,c", "--pool", pool, "--design", "paper"
    )
    assert new["tasks"] == 12  # one round: three assessors are too few for two


def test_settings_are_those_of_the_store(tmp_path, pool):
    path = tmp_path / "camp.db"
    heap = ("-k", 3, "--strategy", "heap", "--ask-implied")
    run("judge", "import", path, "--pool", pool, "-a", "ann", *heap)
    run("judge", "import", path, "--pool", pool, "-a", "dan")
    found = {(task.k, task.strategy, task.skip_implied) for task in tasks_of(path)}
    assert found == {(3, "heap", False)}
    wrong = told("import", path, "--pool", pool, "-a", "eve", "-k", 10, code=2)
    assert "expected --top as the store's tasks have it (k 3), got 10" in wrong
    assert "--mix" in wrong
    wrong = told("import", path, "--pool", pool, "-a", "eve", "--strategy", "sort", code=2)
    assert "expected --strategy as the store's tasks have it (strategy heap), got sort" in wrong
    assert len(tasks_of(path)) == 12
    run("judge", "import", path, "--pool", pool, "-a", "eve", "-k", 10, "--mix")
    assert {task.k for task in tasks_of(path)} == {3, 10}
    wrong = told("import", path, "--pool", pool, "-a", "fay", code=2)
    assert "expected --top, as the store's tasks have 10 and 3" in wrong


def test_a_task_that_is_there_keeps_its_settings(tmp_path, pool):
    path = tmp_path / "camp.db"
    run("judge", "import", path, "--pool", pool, "-a", "ann", "-k", 3)
    wrong = told("import", path, "--pool", pool, "-a", "ann", "-k", 5, "--mix", code=1)
    assert "expected --top 3 for 'ann' and query 'q0' as the store has it, got 5" in wrong
    # Another seed is another order of documents, in which nobody has an interest.
    assert answer("judge", "import", path, "--pool", pool, "-a", "ann", "--seed", 7)["tasks"] == 0


def test_more_assessors_for_the_queries_of_the_store(tmp_path, pool):
    path = tmp_path / "camp.db"
    new = answer("judge", "import", path, "--pool", pool)
    assert (new["queries"], new["tasks"]) == (6, 0)
    assert new["notes"] == [
        "6 queries without tasks, such as 'q0': name who judges by --assessors or --assign"
    ]
    assert "podium: note: 6 queries without tasks" in told("import", path, "--pool", pool)
    assert answer("judge", "import", path, "-a", "ann")["tasks"] == 6
    assert answer("judge", "import", path, "--pool", pool)["notes"] == []


def test_queries_with_nothing_to_find_are_told(tmp_path):
    sizes = {"one": 1, "few": 3, "many": 9}
    lines = [
        json.dumps({"query": q, "text": q, "documents": [{"id": f"d{i}"} for i in range(n)]})
        for q, n in sizes.items()
    ]
    (tmp_path / "pool.jsonl").write_text("\n".join(lines))
    options = ("--pool", tmp_path / "pool.jsonl", "-a", "ann", "-k", 3)
    assert answer("judge", "import", tmp_path / "j.db", *options)["notes"] == [
        "1 query with one document, such as 'one': nothing to compare",
        "1 query with no more documents than places, such as 'few' (3 documents, --top 3): all of them are "
        "put in order",
    ]
    grades = answer("judge", "import", tmp_path / "g.db", *options, "--tool", "grade")
    assert grades["notes"] == []


def test_a_prior_without_scores_is_an_error(tmp_path, pool):
    wrong = told("import", tmp_path / "j.db", "--pool", pool, "-a", "ann", "--prior", code=1)
    assert "14 documents of query 'q0'" in wrong
    assert not (tmp_path / "j.db").exists()


def test_nobody_is_an_admin_and_an_assessor(tmp_path, pool):
    path = tmp_path / "camp.db"
    run("judge", "import", path, "--pool", pool, "-a", "ann")
    plan = tmp_path / "plan.csv"
    plan.write_text("assessor,query\nadmin,q1\n")
    assert "than 'admin'" in told("import", path, "--pool", pool, "--assign", plan, code=2)
    run("judge", "links", path)  # makes the admin
    assert "than 'admin'" in told("import", path, "--pool", pool, "-a", "admin", code=2)
    assert {task.assessor for task in tasks_of(path)} == {"ann"}


def test_an_empty_store_says_so(tmp_path, pool):
    path = tmp_path / "camp.db"
    run("judge", "import", path, "--pool", pool)
    out = run("judge", "stats", path).stdout
    assert "has no tasks yet: podium judge import" in flat(out)
    run("judge", "import", path, "-a", "ann")
    assert "no tasks" not in run("judge", "stats", path).stdout


def test_a_file_that_is_no_store_is_told_in_our_words(pool):
    wrong = told("stats", pool, code=1)
    assert 'expected a store of judgments, got a file that begins with b\'{"query"' in wrong
    assert "layout" not in wrong
    before = pool.read_bytes()
    assert "expected a store" in told("import", pool, "--pool", pool, "-a", "ann", code=1)
    assert pool.read_bytes() == before


def test_a_database_out_of_reach_is_told_in_our_words():
    wrong = told("stats", "postgresql://ann@127.0.0.1:1/none", code=1)
    assert wrong.startswith("podium: the store cannot be opened: ")


def test_links_are_not_broken(tmp_path, pool, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    path = tmp_path / "camp.db"
    run("judge", "import", path, "--pool", pool, "-a", "ann,bob")
    lines = run("judge", "links", path).stdout.splitlines()
    links = {line.split()[0]: line.split()[-1] for line in lines[1:]}
    assert list(links) == ["admin", "ann", "bob"]
    for link in links.values():
        assert link.startswith("http://127.0.0.1:8400/enter/")
        assert len(link) > 60


def test_links_lead_to_where_the_store_is_served(tmp_path, pool):
    path = tmp_path / "camp.db"
    run("judge", "import", path, "--pool", pool, "-a", "ann")
    with lock_store(str(path), "http://127.0.0.1:8517"):
        assert answer("judge", "links", path)["url"] == "http://127.0.0.1:8517"
        assert (
            answer("judge", "links", path, "--base-url", "https://j.example.org")["url"]
            == "https://j.example.org"
        )
    assert answer("judge", "links", path)["url"] == "http://127.0.0.1:8400"


def test_one_server_for_a_file(tmp_path):
    path = str(tmp_path / "camp.db")
    with lock_store(path, "http://127.0.0.1:8400"):
        with (
            pytest.raises(
                StoreError, match=r"one server for .*camp\.db, got another at http:.*8400"
            ),
            lock_store(path, "http://127.0.0.1:8401"),
        ):
            pass
        assert server_address(path) == "http://127.0.0.1:8400"
    assert not lock_path(path).exists()
    with lock_store(path, "http://127.0.0.1:8401"):
        assert server_address(path) == "http://127.0.0.1:8401"
    lock_path(path).write_text("http://127.0.0.1:8402\n")  # of one that was killed
    with lock_store(path, "http://127.0.0.1:8403"):
        assert server_address(path) == "http://127.0.0.1:8403"


# Exports


@pytest.fixture
def done(tmp_path, pool):
    path = tmp_path / "camp.db"
    run("judge", "import", path, "--pool", pool, "-a", "ann,bob", "-k", 3)
    with Store.open(path) as store:
        make_judgments(store)
    return path


def test_the_format_is_what_the_name_says(done, tmp_path):
    for name, start in (
        ("a.parquet", b"PAR1"),
        ("a.csv", b"query,"),
        ("a.qrels", b"q0 0 "),
        ("a.csv.gz", b"\x1f\x8b"),
    ):
        run("judge", "export", done, "-o", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    wrong = told("export", done, "--format", "csv", "-o", tmp_path / "b.parquet", code=2)
    assert "expected a file for csv" in wrong
    assert "whose name says parquet" in wrong
    assert "expected --format, or a file that ends" in told(
        "export", done, "-o", tmp_path / "b", code=2
    )
    assert not (tmp_path / "b.parquet").exists()
    run("judge", "export", done, "--format", "csv", "-o", tmp_path / "b.labels")


def test_no_more_places_than_were_looked_for(done, tmp_path):
    out = ("-o", tmp_path / "a.csv")
    assert "use --top 3 or less" in told("export", done, "--top", 10, *out, code=2)
    run("judge", "export", done, "--top", 2, *out)
    run("judge", "import", done, "-a", "dan", "-k", 10, "--mix")
    with Store.open(done) as store:
        make_judgments(store)
    assert "a.csv already exists; --force replaces it" in told("export", done, *out, code=2)
    wrong = told("export", done, *out, "--force", code=1)
    assert "different k: 3, 10; set k to at most 3; use --top" in wrong


def test_what_an_export_leaves_out_is_told(done, tmp_path):
    rows = "".join(
        f"0 qid:{q} 1:{i} #docid = {d}\n"
        for q in QUERIES
        for i, d in enumerate([*DOCUMENTS, "new"])
    )
    (tmp_path / "features.txt").write_text(rows)
    options = ("--features", tmp_path / "features.txt", "-o", tmp_path / "train.txt")
    assert "note: no judgment for 6 documents with features: left out" in told(
        "export", done, *options
    )
    run("judge", "import", done, "-a", "cat")
    zero = told("export", done, *options, "--unjudged", "zero", "--force")
    assert "no judgment for 6 documents with features: in with label 0" in zero
    assert "6 unfinished sessions: left out" in zero


@pytest.mark.parametrize(
    "command", ["import", "stats", "export", "serve", "links", "demo", "simulate"]
)
def test_every_command_shows_an_example(command):
    assert f"Example: podium judge {command}" in flat(run("judge", command, "--help").stdout)


def test_the_commands_together_show_the_way():
    text = flat(run("judge", "--help").stdout)
    for command in ("serve --store judgments.db --pool pool.jsonl", "stats", "export", "demo"):
        assert f"podium judge {command}" in text
