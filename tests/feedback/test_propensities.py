"""Feedback with propensities: reactions by hand, unbiased means on simulated users, and the option."""

import json

import numpy as np
import pytest

import podium
from podium.errors import UsageError
from podium.feedback import FACTORS, make_log, read_ubi
from tests.support.cli import answer, flat, run

CLICKS, IGNORED, BACK = (FACTORS.index(name) for name in ("clicks", "ignored", "back"))


def write_log(path, lists, first=1):
    """One list per row: (documents, clicked documents)."""
    lines = []
    for i, (docs, clicked) in enumerate(lists):
        lines.append({"query_id": f"q{i}", "user_query": "tea", "query_response_hit_ids": docs})
        for place, doc in enumerate(docs, start=first):
            attributes = {"object": {"object_id": doc}, "position": {"ordinal": place}}
            actions = ["impression", *(["click"] if doc in clicked else [])]
            lines += [{"action_name": action, "query_id": f"q{i}", "event_attributes": attributes}
                      for action in actions]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("first", [0, 1])
def test_reactions_are_divided_by_the_propensity_of_the_rank(tmp_path, first):
    path = write_log(tmp_path / "log.ndjson", [(["a", "b", "c"], ["a", "c"])], first)
    plain = read_ubi(path)
    corrected = plain.with_propensities([1.0, 0.5], clip=0.1)
    assert plain.list_sums.ranks.tolist() == [1, 2, 3]
    assert corrected.reactions[:, CLICKS].tolist() == [1 / 1, 0, 1 / 0.5]  # rank 3 as rank 2
    assert (
        corrected.reactions[:, IGNORED].tolist()
        == plain.reactions[:, IGNORED].tolist()
        == [0, 1, 0]
    )
    assert corrected.factors[0, CLICKS] == pytest.approx((1 + 2) / 3)
    clipped = plain.with_propensities([1.0, 0.01, 0.01], clip=0.25)
    assert clipped.reactions[:, CLICKS].tolist() == [1, 0, 4]


def test_mean_clicks_are_those_of_users_who_look_everywhere(tmp_path):
    rng, docs = np.random.default_rng(0), list("abcdef")
    looks, attraction = 1 / np.arange(1, 7), 0.3
    lists = [
        (docs, [d for d, look in zip(docs, looks, strict=True) if rng.random() < look * attraction])
        for _ in range(3000)
    ]
    feedback = read_ubi(write_log(tmp_path / "log.ndjson", lists))
    corrected = feedback.with_propensities(looks)
    assert corrected.factors[:, CLICKS].mean() == pytest.approx(attraction, abs=0.02)
    assert feedback.factors[:, CLICKS].mean() < 0.15


def test_corrected_labels_prefer_what_stood_low(tmp_path):
    path = write_log(tmp_path / "log.ndjson", [(["a", "b"], ["a"]), (["a", "b"], ["b"])])
    data = podium.RankingData.from_arrays(np.eye(2), [0, 0], qid=["tea"] * 2, docid=["a", "b"])
    feedback = read_ubi(path)
    plain, corrected = feedback.labels(data), feedback.with_propensities([1, 0.2]).labels(data)
    assert plain[0] == pytest.approx(plain[1])
    assert corrected[1] > corrected[0] > 0


def test_classes_and_merges_keep_propensities(tmp_path):
    path = write_log(tmp_path / "log.ndjson", [(["a", "b"], ["b"])])
    corrected = read_ubi(path).with_propensities([1, 0.5])
    assert corrected.of_class(None).propensities == (1.0, 0.5)
    other = read_ubi(write_log(tmp_path / "other.ndjson", [(["a"], ["a"])]))
    merged = corrected.merge(other.with_propensities([1, 0.5]))
    assert merged.propensities == (1.0, 0.5)
    with pytest.raises(UsageError, match="different propensities"):
        corrected.merge(other)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, np.nan], [[1.0]]])
def test_wrong_propensities_are_refused(tmp_path, values):
    feedback = read_ubi(write_log(tmp_path / "log.ndjson", [(["a"], ["a"])]))
    with pytest.raises(UsageError, match="expected propensities above 0"):
        feedback.with_propensities(values)
    with pytest.raises(UsageError, match="clip"):
        feedback.with_propensities([1.0], clip=0)


def test_the_option_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = podium.make_synthetic(n_queries=12, n_docs=5, n_features=6, seed=1)
    podium.write_letor(data, "train.txt")
    make_log(n_lists=40, seed=1).write("events.ndjson")
    (tmp_path / "p.json").write_text(json.dumps({"values": [1.0, 0.5, 0.4, None]}))
    plain = answer("feedback", "summarise", "events.ndjson", "--json")
    looks = answer("feedback", "summarise", "events.ndjson", "--propensities", "p.json", "--json")
    assert plain["factors"]["clicks"] < looks["factors"]["clicks"]
    error = run("train", "cfbrs", "train.txt", "-o", "m.podium", "--propensities", "p.json", code=2)
    assert "expected --propensities together with --feedback" in flat(error.stderr)
