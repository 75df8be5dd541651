"""Work on lists, texts and requests: workers give the bytes that one process gives."""

import json

import numpy as np
import pytest

import podium
from podium.apps.serving.jsonl_filter import filter_lines
from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.settings import ServingSettings
from podium.data import IndexedRun, Run, make_synthetic, partition, write_run
from podium.data.indexed_runs import chunks_of_queries
from podium.errors import ConflictError, EmptyDataError
from podium.features import Index, stream_features
from podium.postranking import Pin, PostRanker, TopK, postrank_stream, read_rules
from tests.support.cli import run

DATA = make_synthetic(n_queries=40, n_features=5, seed=0)
RULES = """version: 1
rules:
- {rule: top-k, docs: q3-d1, k: 1, weight: 30}
- {rule: pin, docs: q5-d2, position: 2}
- {rule: top-k, docs: nowhere, k: 1}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs, rules, and a collection with a model."""
    folder = tmp_path_factory.mktemp("lists")
    for name in range(3):
        write_run(Run.from_scores(DATA, DATA.X[:, name]), folder / f"{name}.run")
    (folder / "rules.yaml").write_text(RULES)
    DATA.to_parquet(folder / "data.parquet")
    partition([folder / "data.parquet"], folder / "parts", rows=200)
    podium.RankSVM().fit(DATA).save(folder / "model.podium")
    return folder


@pytest.fixture
def small_chunks(monkeypatch):
    """Read runs in chunks of few documents, so that there are many calls."""
    monkeypatch.setattr(IndexedRun.chunks, "__defaults__", (150,))
    monkeypatch.setattr(chunks_of_queries, "__defaults__", (150,))


def test_lists_after_rules_are_the_same(client, folder, small_chunks):
    run_, rules = IndexedRun(folder / "0.run"), read_rules(folder / "rules.yaml")
    chunks = list(run_.chunks(documents=150))
    assert len(chunks) > 3
    seen = []
    with podium.use(client):
        there = list(postrank_stream(chunks, rules, progress=seen.append))
    here = list(postrank_stream(chunks, rules))
    assert [usage.lists for usage in there[-1].rules] == [1, 1, 0]
    for one, other in zip(there, here, strict=True):
        assert one.rules == other.rules
        assert [one[qid] == other[qid] for qid in other] == [True] * len(one)
    assert sum(seen) == DATA.n_queries


def test_rules_that_clash_are_the_same_error(client):
    lists = [{"q1": ["a", "b"]}, {"q2": ["b", "a"]}]
    rules = [Pin("b", 1, hard=True), Pin("a", 1, hard=True)]
    with podium.use(client), pytest.raises(ConflictError) as there:
        list(postrank_stream(lists, rules))
    with pytest.raises(ConflictError) as here:
        list(postrank_stream(lists, rules))
    assert str(there.value) == str(here.value)
    assert there.value.rules == here.value.rules


@pytest.mark.parametrize("k", [None, 3])
def test_ranked_lists_are_the_same(client, folder, k):
    collection = podium.open_collection(folder / "parts")
    ranker = podium.load(folder / "model.podium")
    for own in (ranker, PostRanker(ranker, [TopK("q3-d1", 1, weight=30)])):
        with podium.use(client):
            there = list(own.rank(collection, k=k))
        here = list(own.rank(collection, k=k))
        assert [one.qid for one in there] == [one.qid for one in here]
        for one, other in zip(there, here, strict=True):
            assert one.rows.tolist() == other.rows.tolist()
            assert one.scores.tolist() == other.scores.tolist()
            assert one.docids == other.docids


@pytest.mark.parametrize(
    "command",
    [
        ["postrank", "0.run", "--rules", "rules.yaml"],
        ["aggregate", "0.run", "1.run", "2.run", "--method", "kemeny-local"],
        ["aggregate", "0.run", "1.run", "--method", "borda", "--initial", "2.run", "--top", "4"],
    ],
    ids=lambda command: " ".join(command[:1] + command[-3:]),
)
def test_commands_on_runs_write_the_same_bytes(client, folder, small_chunks, tmp_path, command):
    own = [str(folder / word) if (folder / word).exists() else word for word in command]
    run(*own, "-o", tmp_path / "here.run")
    run(*own, "-o", tmp_path / "there.run", "--cluster", client.scheduler.address)
    assert (tmp_path / "here.run").stat().st_size > 100
    assert (tmp_path / "here.run").read_bytes() == (tmp_path / "there.run").read_bytes()


def test_a_clash_names_its_lines_on_a_cluster_too(client, folder, tmp_path):
    rules = tmp_path / "rules.yaml"
    pins = [f"- {{rule: pin, docs: q3-d{i}, position: 1, hard: true}}\n" for i in (1, 2)]
    rules.write_text("version: 1\nrules:\n" + "".join(pins))
    command = ["postrank", folder / "0.run", "--rules", rules, "-o", tmp_path / "o.run"]
    here = run(*command, code=1)
    there = run(*command, "--cluster", client.scheduler.address, code=1)
    assert "rules.yaml:3" in here.stderr
    assert here.stderr.splitlines()[-1] == there.stderr.splitlines()[-1]
    assert not (tmp_path / "o.run").exists()


def test_places_do_not_go_to_a_cluster(client, folder, tmp_path):
    command = ["aggregate", "--places", folder / "data.parquet", "-o", tmp_path / "o.scores"]
    result = run(*command, "--cluster", "local:1", code=2)
    assert "expected --cluster with runs" in result.stderr


REQUESTS = [
    json.dumps({"features": rows, "ids": ["a", "b", "c"]})
    for rows in np.random.default_rng(0).normal(size=(600, 3, 5)).round(3).tolist()
]
LINES = [*REQUESTS[:300], "", "{no JSON", *REQUESTS[300:]]


def test_requests_as_lines_have_the_same_answers(client, folder):
    settings = ServingSettings((str(folder / "model.podium"),), rules=str(folder / "rules.yaml"))
    state = ServedFiles(settings).state
    lines = [line.encode() + b"\n" for line in LINES]
    with podium.use(client):
        there = list(filter_lines(lines, state))
    here = list(filter_lines(lines, state))
    assert [answer for answer, _ in there] == [answer for answer, _ in here]
    refusals = [[number for number, (_, r) in enumerate(one) if r] for one in (there, here)]
    assert refusals == [[301], [301]]
    assert there[301][1].message == here[301][1].message
    assert there[301][1].status == here[301][1].status


WORDS = ["lift", "wing", "heat", "slab", "flow", "shock", "wave", "layer", "plate", "drag"]


def documents(n):
    rng = np.random.default_rng(1)
    return [
        {"id": f"d{i}", "title": " ".join(rng.choice(WORDS, 2)), "body": " ".join(rng.choice(WORDS, 9))}
        for i in range(n)
    ]  # fmt: skip


def queries(n):
    rng = np.random.default_rng(2)
    return {f"q{i}": " ".join([*rng.choice(WORDS, 2), *["zebra"] * (i % 7 == 0)]) for i in range(n)}


@pytest.mark.parametrize("size", [1, 70, 100_000])
def test_features_come_in_the_same_blocks(client, monkeypatch, size):
    monkeypatch.setattr("podium.features.letor_features.QUERIES_PER_CALL", 5)
    index, texts = Index.build(documents(60)), queries(23) | {"none": "zebra"}
    judged = {"q1": {"d3": 2.0, "d4": 1.0}, "q9": {"d5": 1.0}}
    seen = []
    with podium.use(client):
        there = list(
            stream_features(
                index, texts, 9, judged, documents=size, progress=lambda *now: seen.append(now)
            )
        )
    here = list(stream_features(index, texts, 9, judged, documents=size))
    assert [len(block) for block in there] == [len(block) for block in here]
    for one, other in zip(there, here, strict=True):
        assert one.X.tobytes() == other.X.tobytes()
        assert one.y.tolist() == other.y.tolist()
        assert one.docids.tolist() == other.docids.tolist()
        assert list(one.query_text) == list(other.query_text)
    assert sum(block.y.sum() for block in there) > 0
    assert seen[-1] == (24, 24)


def test_texts_without_candidates_are_the_same_error(client):
    index = Index.build(documents(5))
    with podium.use(client), pytest.raises(EmptyDataError, match="no query has candidates"):
        list(stream_features(index, {"q": "zebra"}, 5))


def test_the_command_makes_the_same_features(client, tmp_path):
    lines = [json.dumps(document) for document in documents(40)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    texts = [json.dumps({"id": qid, "text": text}) for qid, text in queries(12).items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(texts) + "\n")
    run("features", "build", tmp_path / "docs.jsonl", "-o", tmp_path / "docs.index")
    make = ["features", "make", tmp_path / "docs.index", tmp_path / "queries.jsonl", "-o"]
    run(*make, tmp_path / "here.parquet")
    run(*make, tmp_path / "there.parquet", "--cluster", client.scheduler.address)
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()
