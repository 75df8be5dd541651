"""Labels beyond 31: the library warns where data is made, the command line notes its options."""

import warnings

import numpy as np
import pandas as pd
import pytest

import podium
from podium.errors import LargeLabelsWarning

QID = np.repeat([1, 2], 2)
PERCENT = [0.0, 100.0, 50.0, 0.0]
MESSAGE = r"labels are up to 100, .*use small grades, or measure with 'NDCG\(gain=linear\)@10'"


def make_arrays(y, **options):
    return podium.RankingData.from_arrays(np.eye(4), y, qid=QID, **options)


def make_frame(y):
    return podium.RankingData.from_frame(pd.DataFrame({"qid": QID, "label": y, "f": [1, 2, 3, 4]}))


def read_back(y, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeLabelsWarning)
        podium.write_letor(make_arrays(y), tmp_path / "d.txt")
    return podium.read_letor(tmp_path / "d.txt")


def test_large_labels_warn_in_every_way_to_make_data(tmp_path):
    with pytest.warns(LargeLabelsWarning, match=MESSAGE):
        make_arrays(PERCENT)
    with pytest.warns(LargeLabelsWarning, match=MESSAGE):
        make_frame(PERCENT)
    with pytest.warns(LargeLabelsWarning, match=MESSAGE):
        read_back(PERCENT, tmp_path)
    with pytest.warns(LargeLabelsWarning, match=MESSAGE):
        podium.RankSVM().fit(np.eye(4), PERCENT, qid=QID)


def test_usual_grades_and_positions_do_not_warn(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LargeLabelsWarning)
        make_arrays([0.0, 31.0, 1.0, 0.0])
        make_arrays([0.0, 40.0, 1.0, 0.0], topk=40)
        read_back([0.0, 4.0, 1.0, 0.0], tmp_path)
