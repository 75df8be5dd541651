"""Who judged: files, parts and joined data keep the mark of labels that machines made."""

import json

import numpy as np
import pytest

from podium.data import (
    RankingData,
    open_collection,
    partition,
    read_letor,
    read_parquet,
    write_letor,
)
from podium.data.concatenation import concatenate
from podium.data.trec import Qrels, qrels_lines, read_qrels, write_qrels
from podium.errors import CorruptFileError, UnknownNameError


def judged(judged_by, first=0, topk=None):
    return RankingData.from_arrays(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1, 0, 2], qid=[first, first, first + 1],
        docid=["a", "b", "c"], judged_by=judged_by, topk=topk,
    )  # fmt: skip


@pytest.mark.parametrize("judged_by", ["people", "machines", "both", None])
def test_files_keep_who_judged(tmp_path, judged_by):
    data = judged(judged_by)
    write_letor(data, tmp_path / "data.txt")
    data.to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.txt"], tmp_path / "parts", rows=2)
    for copy in (
        read_letor(tmp_path / "data.txt"), read_parquet(tmp_path / "data.parquet"),
        *open_collection(tmp_path / "parts").blocks(), data.subset([1]), data.with_labels([0, 1, 0]),
        data.with_features(np.ones((3, 1))),
    ):  # fmt: skip
        assert copy.judged_by == judged_by
    assert collection.manifest.layout.judged_by == judged_by
    stored = json.loads((tmp_path / "parts" / "collection.json").read_text())["layout"]
    assert stored.get("judged_by") == judged_by
    first = (tmp_path / "data.txt").read_text().splitlines()[0]
    assert ("judged_by" in first) == (judged_by is not None)


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("people", "people"), "people"), (("machines", "machines"), "machines"),
        (("machines", None), "both"), (("people", "machines"), "both"), (("people", None), None),
        (("both", "both"), "both"), ((None, None), None),
    ],
)  # fmt: skip
def test_joined_data_never_forgets_machines(tmp_path, parts, joined):
    data = [judged(judged_by, 10 * i) for i, judged_by in enumerate(parts)]
    assert concatenate(data).judged_by == joined
    paths = [tmp_path / f"{i}.txt" for i in range(2)]
    for one, path in zip(data, paths, strict=True):
        write_letor(one, path)
    assert read_letor(paths).judged_by == joined
    assert partition(paths, tmp_path / "parts", rows=2).manifest.layout.judged_by == joined


def test_it_is_shown_and_checked(tmp_path):
    assert "top-3 truth judged by machines" in repr(judged("machines", topk=3))
    assert "labels 0..2 judged by people and machines" in repr(judged("both"))
    assert "judged" not in repr(judged("people"))
    with pytest.raises(UnknownNameError, match="robots"):
        judged("robots")
    write_letor(judged("machines"), tmp_path / "data.txt")
    text = (tmp_path / "data.txt").read_text()
    (tmp_path / "data.txt").write_text(text.replace('"machines"', '"robots"'))
    with pytest.raises(CorruptFileError, match="robots"):
        read_letor(tmp_path / "data.txt")


def test_qrels_have_the_mark_in_the_column_that_nobody_reads(tmp_path):
    assert next(qrels_lines(judged("machines"))) == "0 machines a 1\n"
    assert next(qrels_lines(judged("both"))) == "0 both a 1\n"
    assert next(qrels_lines(judged("people"))) == next(qrels_lines(judged(None))) == "0 0 a 1\n"
    write_qrels(judged("machines"), tmp_path / "truth.qrels")
    assert len(read_qrels(tmp_path / "truth.qrels")) == 3
    assert Qrels.from_data(judged("both")).select(["1"]).judged_by == "both"
