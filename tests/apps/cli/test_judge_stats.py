"""podium judge import, stats and export as commands."""

import csv
import json

import numpy as np
import pytest

import podium
from podium.labelling import make_judgments, read_pool, write_pool
from podium.labelling.store import Store
from tests.support import judged_stores
from tests.support.cli import answer, flat, run

DOCUMENTS = [f"d{i}" for i in range(8)]
NOTES = [
    "6 queries with no more documents than places, such as 'q1' (8 documents, --top 10): all of them are put "
    "in order"
]
FIVE = [part for name in "abcde" for part in ("-a", name)]


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.jsonl"
    write_pool(judged_stores.pool_of([f"q{i}" for i in range(6)], DOCUMENTS), path)
    return path


@pytest.fixture
def store(tmp_path, pool):
    path = tmp_path / "judgments.db"
    run("judge", "import", path, "--pool", pool, *FIVE, "--design", "crossover", "--top", 3)
    with Store.open(path) as opened:
        make_judgments(opened)
    return path


def test_import_says_what_is_new_and_twice_is_once(tmp_path, pool):
    path = tmp_path / "judgments.db"
    arguments = ("judge", "import", path, "--pool", pool, *FIVE, "--design", "crossover")
    assert answer(*arguments) == {
        "store": str(path),
        "queries": 6,
        "assessors": 5,
        "tasks": 24,
        "notes": NOTES,
    }
    assert answer(*arguments) == {
        "store": str(path),
        "queries": 0,
        "assessors": 0,
        "tasks": 0,
        "notes": [],
    }
    assert "tasks 0" in flat(run(*arguments).stdout)


def test_import_passes_settings_on(tmp_path, pool):
    path = tmp_path / "judgments.db"
    heap = ("-k", 2, "--strategy", "heap", "--ask-implied")
    run("judge", "import", path, "--pool", pool, "-a", "ann", *heap)
    run(
        "judge",
        "import",
        path,
        "--pool",
        pool,
        "-a",
        "bob",
        "--tool",
        "grade",
        "--grades",
        "No, Yes",
    )
    with Store.open(path) as opened:
        tasks = [state.task for state in opened.session_states()]
    heap, grade = tasks[0], tasks[-1]
    assert (heap.k, heap.strategy, heap.skip_implied) == (2, "heap", False)
    assert grade.grades == ("No", "Yes")
    assert len(tasks) == 12


def test_import_by_overlap_and_by_file(tmp_path, pool):
    told = answer("judge", "import", tmp_path / "a.db", "--pool", pool, *FIVE, "--design", "overlap",
                  "--overlap", 3)  # fmt: skip
    assert told["tasks"] == 18
    plan = tmp_path / "plan.csv"
    plan.write_text("assessor,query,tool\nzoe,q1,grade\n")
    told = answer("judge", "import", tmp_path / "b.db", "--pool", pool, "--assign", plan)
    assert (told["assessors"], told["tasks"]) == (1, 1)
    plan.write_text("assessor,query,tool\nzoe,q1,guess\n")
    wrong = run("judge", "import", tmp_path / "b.db", "--pool", pool, "--assign", plan, code=1)
    assert f"{plan}:2: expected tool" in wrong.stderr


def test_import_of_a_run(tmp_path):
    (tmp_path / "run.txt").write_text("7 Q0 x 1 2.0 t\n7 Q0 y 2 1.0 t\n7 Q0 z 3 0.5 t\n")
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"id": d, "text": d}) + "\n" for d in "xyz")
    )
    told = answer("judge", "import", tmp_path / "a.db", "--run", tmp_path / "run.txt", "--documents",
                  tmp_path / "docs.jsonl", "--depth", 2, "-a", "ann", "--prior")  # fmt: skip
    assert told["queries"] == 1
    with Store.open(tmp_path / "a.db") as opened:
        (state,) = opened.session_states()
    assert state.task.prior == ("x", "y")


def test_import_of_a_sample(tmp_path):
    pool = tmp_path / "pool.csv"
    pool.write_text("query,document,text\n" + "".join(f"q1,d{i},text {i}\n" for i in range(40)))
    import_ = ("judge", "import", tmp_path / "a.db", "--pool", pool, "-a", "ann", "--top", 3)
    sampled = (*import_, "--sample", 10, "--seed", 7)
    told = answer(*sampled)
    assert told["queries"] == 1
    note = "a sample of 10 documents of each query (--seed 7): 10 of 40 stayed"
    assert told["notes"][0] == note
    assert note in flat(run(*sampled).stderr)
    with Store.open(tmp_path / "a.db") as opened:
        assert opened.pool() == read_pool(pool).sample(10, seed=7)
        (state,) = opened.session_states()
    assert len(state.task.documents) == 10
    assert (answer(*sampled)["queries"], answer(*sampled)["tasks"]) == (0, 0)
    for other in ((), ("--sample", 10, "--seed", 8)):
        stderr = flat(run(*import_, *other, code=1).stderr)
        assert "'q1'" in stderr
        assert "repeat the --sample and --seed of its first import" in stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "expected --pool or --run with queries to judge, got neither"),
        (["-a", "ann", "--sample", "3"], "expected --sample with --pool or --run, got neither"),
        (["--pool", "POOL", "--seed", "3"], "expected --seed with --sample or --assessors"),
        (["--pool", "POOL", "--run", "POOL"], "expected --pool or --run, got both"),
        (["-a", "ann"], "got neither, and the store has none"),
        (["--pool", "POOL", "--depth", "3"], "expected --depth with --run"),
        (["--run", "POOL"], "--documents beside --run"),
        (["--pool", "POOL", "--design", "overlap"], "expected --assessors for --design overlap"),
        (["--pool", "POOL", "--assign", "overlap"], "did you mean --design overlap?"),
        (
            ["--pool", "POOL", "--assign", "POOL", "--design", "all"],
            "--assign or --design, got both",
        ),
        (
            ["--pool", "POOL", "-a", "x", "--design", "overlap"],
            "overlap m of 1 assessor per query, got 2",
        ),
        (["--pool", "POOL", "-a", "ann,admin"], "other names than 'admin', which is the admin's"),
        (["--pool", "POOL", "-a", "a\tb"], "printable characters"),
        (
            ["--pool", "POOL", "-a", "a", "--design", "crossover"],
            "expected 2 assessors or more for 1 round",
        ),
        (["--pool", "POOL", "-a", "x", "--strategy", "heaps"], "heap"),
    ],
)
def test_import_that_cannot_be(tmp_path, pool, arguments, told):
    arguments = [str(pool) if part == "POOL" else part for part in arguments]
    assert told in run("judge", "import", tmp_path / "a.db", *arguments, code=2).stderr
    assert not (tmp_path / "a.db").exists()


def test_a_corrupt_pool_line_is_named(tmp_path, pool):
    pool.write_text(pool.read_text() + "{not json\n")
    assert f"{pool}:7:" in run("judge", "import", tmp_path / "a.db", "--pool", pool, code=1).stderr


def test_statistics_as_tables_and_as_json(store, tmp_path):
    told = answer("judge", "stats", store)
    assert [times["name"] for times in told["methods"]] == ["tournament", "grade"]
    assert told["agreement"]["preferences"]["pairs"] == 6 * 28
    assert told["tools"]["permutation"]["method"] == "paired"
    text = flat(run("judge", "stats", store, "--figure", tmp_path / "f.svg").stdout)
    assert "Costs by method" in text
    assert "168 pairs on 6 queries" in text
    assert f"{told['agreement']['preferences']['overall']:.4f} agreed" in text
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")


def test_statistics_of_what_is_not_there(tmp_path):
    wrong = run("judge", "stats", tmp_path / "none.db", code=1)
    assert "expected a store of judgments, got no such file" in wrong.stderr
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("This is no database. " * 99)
    assert "podium:" in run("judge", "stats", tmp_path / "text.db", code=1).stderr


def test_a_figure_that_is_there_is_replaced_only_on_demand(store, tmp_path):
    pytest.importorskip("matplotlib")
    figure = tmp_path / "f.svg"
    figure.write_text("mine")
    error = run("judge", "stats", store, "--figure", figure, code=2).stderr
    assert f"{figure} already exists; --force replaces it" in flat(error)
    assert figure.read_text() == "mine"
    run("judge", "stats", store, "--figure", figure, "--force")
    assert figure.read_text() != "mine"


def test_a_figure_needs_an_ending(store):
    assert ".svg, .png or .pdf" in run("judge", "stats", store, "--figure", "f.txt", code=2).stderr


def test_export_of_labels_grades_and_preferences(store, tmp_path):
    told = answer(
        "judge", "export", store, "--what", "labels", "--format", "qrels", "-o", tmp_path / "q"
    )
    assert told == {
        "file": str(tmp_path / "q"), "what": "labels", "format": "qrels", "queries": 6, "rows": 48,
        "sessions": 12, "unfinished": 0, "unjudged": 0, "settlements": 0,
        "judged_by": "people",
    }  # fmt: skip
    assert len(podium.read_qrels(tmp_path / "q")) == 48
    run("judge", "export", store, "--what", "grades", "--merge", "median", "-o", tmp_path / "g.csv")
    with open(tmp_path / "g.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 48
    text = flat(
        run("judge", "export", store, "--what", "preferences", "-o", tmp_path / "p.csv").stdout
    )
    assert "format csv" in text
    run("judge", "export", store, "--merge", "none", "-o", tmp_path / "own.csv")
    assert (tmp_path / "own.csv").read_text().startswith("assessor,query,document,label\na,")


def test_export_joins_features_from_a_file(store, tmp_path):
    rows = [(f"q{i}", d) for i in range(6) for d in DOCUMENTS]
    qid, docid = zip(*rows, strict=True)
    data = podium.RankingData.from_arrays(np.eye(48), np.zeros(48), qid=qid, docid=docid)
    podium.write_letor(data, tmp_path / "features.txt")
    run("judge", "export", store, "--format", "letor", "--merge", "bradley-terry", "--features",
        tmp_path / "features.txt", "-o", tmp_path / "train.txt")  # fmt: skip
    train = podium.read_letor(tmp_path / "train.txt")
    assert (train.n_queries, len(train), train.topk) == (6, 48, 3)
    assert "is one of the files" in run(
        "judge", "export", store, "--format", "letor", "--features", tmp_path / "features.txt",
        "-o", tmp_path / "features.txt", code=1,
    ).stderr  # fmt: skip


def test_export_takes_a_table_with_a_columns_file(store, tmp_path):
    lines = [f"q{i},{d},{i}" for i in range(6) for d in DOCUMENTS]
    (tmp_path / "features.csv").write_text("\n".join(["session,thing,price", *lines]))
    (tmp_path / "columns.yaml").write_text("query: session\ndoc: thing\n")
    run("judge", "export", store, "--format", "letor", "--features", tmp_path / "features.csv",
        "--columns", tmp_path / "columns.yaml", "-o", tmp_path / "train.txt")  # fmt: skip
    train = podium.read_letor(tmp_path / "train.txt")
    assert (train.n_queries, len(train), train.feature_names) == (6, 48, ("price",))


def test_export_that_cannot_be(store, tmp_path):
    out = ("-o", tmp_path / "x.csv")
    assert (
        "LETOR rows need features"
        in run("judge", "export", store, "-o", tmp_path / "x.letor", code=2).stderr
    )
    assert "way to merge" in run("judge", "export", store, "--merge", "bordas", *out, code=2).stderr
    assert not list(tmp_path.glob("x.*"))
