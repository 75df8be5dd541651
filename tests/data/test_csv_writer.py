"""CSV writing: every value reads back the same, and what has no place is refused."""

import numpy as np
import pytest

from podium.data import RankingData, read_letor, read_table, write_csv
from podium.errors import DataError, DuplicateDocumentWarning

VALUES = [0.1, -0.0, 1e300, 5e-324, 2.0**53, 2.0**53 + 2, 1 / 3, -7.0, np.nan, 123456.789]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.zst"])
def test_all_values_read_back(tmp_path, name):
    data = RankingData.from_arrays(
        np.array(VALUES).reshape(5, 2), [2, 0.5, 0, 1, 3], qid=["red, shoes", "b", "b", 'c "x"', "b"],
        docid=["1", "2\t2", "3", "line\nend", ""], query_weight=[2.0, 0.25, 0.25, 1.0, 0.25],
        query_text=["Red", "B", "B", "C", "B"], feature_names=["price", "ctr"], missing="nan",
        doc_text={"anchor": ["a", "b,c", "", '"', "é"]},
    )  # fmt: skip
    path = tmp_path / name
    write_csv(data, path)
    again = read_table(path, missing="nan")
    assert again.X.tobytes() == data.X.tobytes()
    assert np.array_equal(again.y, data.y)
    assert again.qids.tolist() == data.qids.tolist()
    assert again.docids.tolist() == data.docids.tolist()
    assert again.query_weight.tolist() == data.query_weight.tolist()
    assert list(again.query_text) == list(data.query_text)
    assert list(again.doc_text["anchor"]) == list(data.doc_text["anchor"])
    assert again.feature_names == ("price", "ctr")


def test_single_precision_reads_back(tmp_path):
    X = np.array([[0.1], [1 / 3]], dtype=np.float32)
    data = RankingData.from_arrays(X, [1, 0], qid=[1, 1], dtype=np.float32)
    write_csv(data, tmp_path / "out.csv")
    assert np.array_equal(read_table(tmp_path / "out.csv", dtype="float32").X, data.X)


def test_a_feature_with_the_name_of_another_column_is_refused(tmp_path):
    data = RankingData.from_arrays([[1.0], [2.0]], [1, 0], qid=[1, 1], feature_names=["label"])
    with pytest.raises(DataError, match="got label twice; rename them first"):
        write_csv(data, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_letor_text_tells_of_documents_twice(tmp_path):
    path = tmp_path / "twice.txt"
    path.write_text("1 qid:1 1:2 #docid = x\n0 qid:1 1:1 #docid = x\n0 qid:2 1:1 #docid = x\n")
    with pytest.warns(
        DuplicateDocumentWarning, match=r"1 row repeats .* 'x' of query '1'"
    ) as caught:
        read_letor(path)
    assert len(caught) == 1
