"""The origin of truth: exports of machines' judgments are marked, and mixing them needs a choice."""

import csv
from dataclasses import asdict

import numpy as np
import pytest

from podium.data import RankingData, read_letor, read_parquet, read_qrels
from podium.errors import EmptyDataError, UnknownNameError, UsageError
from podium.labelling import export, statistics
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from podium.labelling.store import Store
from podium.labelling.truth_origin import origin_of
from tests.support.judged_by_machines import let_people_judge
from tests.support.machines import assess, client_of, judge_numbers, numbered_pool


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Ann judges two of three queries, a machine all of them."""
    folder = tmp_path_factory.mktemp("origin")
    pool = numbered_pool(3, 6)
    with Store.open(folder / "judgments.db") as opened:
        opened.add_pool(pool)
        let_people_judge(opened, pool, names=("ann",), queries=2)
        with SimulatedEndpoint(judge_numbers()) as server, client_of(server.url, folder) as client:
            assess(opened, client)
        yield opened


def features():
    qid = [f"q{q}" for q in range(3) for _ in range(6)]
    return RankingData.from_arrays(
        np.arange(18.0).reshape(-1, 1), np.zeros(18), qid=qid, docid=[f"d{i}" for i in range(6)] * 3
    )


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_origins():
    assert origin_of([], {"m"}) is None
    assert origin_of(["m"], {"m"}) == "machines"
    assert origin_of(["m", "ann"], {"m"}) == "both"


@pytest.mark.parametrize("what", ["labels", "topk"])
def test_truth_of_people_and_machines_is_mixed_only_on_request(store, tmp_path, what):
    path = tmp_path / "truth.csv"
    with pytest.raises(UsageError, match=r"'ann'.*'m'") as error:
        export(store, path, what, "csv")
    assert "--judged-by" in error.value.on_command_line()
    assert not path.exists()
    expected = {"people": (2, "people"), "machines": (3, "machines"), "both": (3, "both")}
    for judged_by, (queries, origin) in expected.items():
        summary = export(store, path, what, "csv", judged_by=judged_by)
        assert (summary.queries, summary.judged_by) == (queries, origin)
        marks = {row.get("judged_by") for row in rows_of(path)}
        assert marks == ({None} if judged_by == "people" else {origin})
    with pytest.raises(UnknownNameError, match="robots"):
        export(store, path, what, "csv", judged_by="robots")


@pytest.mark.parametrize("form", ["letor", "parquet"])
def test_headers_of_training_data_are_marked(store, tmp_path, form):
    path = tmp_path / f"train.{form}"
    read = read_letor if form == "letor" else read_parquet
    for judged_by, mark in (("people", None), ("machines", "machines"), ("both", "both")):
        export(store, path, "labels", form, features=features(), judged_by=judged_by)
        assert read(path).judged_by == mark
        if form == "letor":
            assert ('"judged_by"' in path.read_text().splitlines()[0]) == (mark is not None)


def test_qrels_are_marked_in_their_second_column(store, tmp_path):
    path = tmp_path / "truth.qrels"
    export(store, path, "labels", "qrels", judged_by="machines")
    assert {line.split()[1] for line in path.read_text().splitlines()} == {"machines"}
    assert len(read_qrels(path)) == 18
    export(store, path, "labels", "qrels", judged_by="people")
    assert {line.split()[1] for line in path.read_text().splitlines()} == {"0"}


@pytest.mark.parametrize("what", ["preferences", "judgments"])
def test_every_judgment_says_whether_a_machine_made_it(store, tmp_path, what):
    path = tmp_path / "rows.csv"
    summary = export(store, path, what, "csv")
    rows = rows_of(path)
    assert summary.judged_by == "both"
    assert {(row["assessor"], row["machine"]) for row in rows} == {("ann", "False"), ("m", "True")}
    export(store, path, what, "csv", judged_by="people")
    people = rows_of(path)
    assert [row for row in rows if row["assessor"] == "ann"] == [
        row | {"machine": "False"} for row in people
    ]
    assert "machine" not in people[0]
    assert export(store, path, what, "csv", judged_by="machines").rows == len(rows) - len(people)


def test_assessors_kept_apart_are_marked(store, tmp_path):
    path = tmp_path / "apart.csv"
    summary = export(store, path, "labels", "csv", merge=None)
    assert summary.sessions == 5
    marks = {(row["assessor"], row["machine"]) for row in rows_of(path)}
    assert marks == {("ann", "False"), ("m", "True")}


def test_one_kind_of_judges_needs_no_choice(tmp_path):
    pool = numbered_pool(2, 5)
    with Store.open(tmp_path / "judgments.db") as opened:
        opened.add_pool(pool)
        let_people_judge(opened, pool, names=("ann",), queries=1)
        assert export(opened, tmp_path / "people.csv", "labels", "csv").judged_by == "people"
        with pytest.raises(EmptyDataError, match="finished by machines"):
            export(opened, tmp_path / "none.csv", "labels", "csv", judged_by="machines")
    with Store.open(tmp_path / "machine.db") as opened:
        opened.add_pool(pool)
        with (
            SimulatedEndpoint(judge_numbers()) as server,
            client_of(server.url, tmp_path) as client,
        ):
            assess(opened, client)
        summary = export(opened, tmp_path / "machine.csv", "labels", "csv")
    assert asdict(summary)["judged_by"] == "machines"
    assert rows_of(tmp_path / "machine.csv")[0]["judged_by"] == "machines"


def test_statistics_name_machines(store):
    stats = statistics(store, resamples=10)
    assert stats.to_dict()["machines"] == ["m"]
    table = next(table for table in stats.tables() if table.title == "Costs by assessor")
    assert [row[0] for row in table.rows] == ["ann", "m (machine)"]
