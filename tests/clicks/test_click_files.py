"""Saved sessions and models: what was written is read, and damage is an error."""

import contextlib
import json

import numpy as np
import pytest

import podium
from podium.clicks import (
    CLICK_MODELS,
    ClickSessions,
    PairValues,
    PositionBasedModel,
    bootstrap_errors,
    estimate_propensities,
    fit_click_model,
    load_click_model,
    load_sessions,
    save_click_model,
    save_sessions,
    simulate,
)
from podium.errors import CorruptFileError, EmptyDataError, UsageError
from tests.support.paths import GOLDEN


@pytest.fixture(scope="module")
def sessions():
    data = podium.make_synthetic(n_queries=15, n_docs=5, n_features=3, seed=1)
    return simulate(data, {"a": 0, "b": 1}, {"x": "dbn", "y": "pbm"}, 400, seed=1, swap=0.1)


def test_sessions_come_back(sessions, tmp_path):
    save_sessions(sessions, tmp_path / "log.clicks")
    again = load_sessions(tmp_path / "log.clicks")
    for name in ("click_order", "time", "base_positions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sessions, name))
    for name in ("query", "doc", "variant", "user_class"):
        one, other = getattr(again, name), getattr(sessions, name)
        assert one.table == other.table
        assert (one.codes == other.codes).all()
    assert again.groups == sessions.groups
    assert again.counts == sessions.counts
    save_sessions(again, tmp_path / "again.clicks")
    assert (tmp_path / "again.clicks").read_bytes() == (tmp_path / "log.clicks").read_bytes()


@pytest.mark.parametrize("name", CLICK_MODELS)
def test_models_come_back(sessions, tmp_path, name):
    model = fit_click_model(sessions, name)
    save_click_model(model, tmp_path / "m.model")
    again = load_click_model(tmp_path / "m.model")
    assert type(again) is type(model)
    assert again.summary == model.summary
    np.testing.assert_array_equal(again.log_likelihood(sessions), model.log_likelihood(sessions))


def test_files_of_version_1_are_read():
    """How the files were made is in golden/make.py."""
    sessions = load_sessions(GOLDEN / "click-sessions-v1.clicks")
    expected = json.loads((GOLDEN / "click-sessions-v1.json").read_text())
    assert sessions.click_order.tolist() == expected["click_order"]
    assert sessions.time.tolist() == expected["time"]
    assert sessions.doc.to_array().tolist() == expected["docs"]
    assert sessions.query.to_array().tolist() == expected["queries"]
    assert sessions.base_positions.tolist() == expected["base_positions"]
    model = load_click_model(GOLDEN / "click-model-v1.model")
    expected = json.loads((GOLDEN / "click-model-v1.json").read_text())
    np.testing.assert_allclose(
        model.log_likelihood(sessions), expected["log_likelihood"], rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["sessions", "model"])
def test_damaged_files_are_refused(sessions, tmp_path, kind):
    path = tmp_path / "file"
    if kind == "sessions":
        save_sessions(sessions.take(range(20)), path)
    else:
        save_click_model(fit_click_model(sessions.take(range(20)), "dbn"), path)
    load = load_sessions if kind == "sessions" else load_click_model
    good = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(60):
        damaged = bytearray(good)
        for place in rng.integers(0, len(good), 3):
            damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(CorruptFileError):  # a comment of the zip may change
            load(path)
    for cut in (0, 10, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:cut])
        with pytest.raises(CorruptFileError):
            load(path)
    other = load_click_model if kind == "sessions" else load_sessions
    path.write_bytes(good)
    with pytest.raises(CorruptFileError, match="another kind"):
        other(path)


def test_standard_errors_are_those_of_repeated_logs(sessions):
    data = podium.make_synthetic(n_queries=10, n_docs=5, n_features=3, seed=1)
    logs = [simulate(data, 0, "pbm", 4000, seed=seed, shuffle=5) for seed in range(40)]
    spread = np.std([fit_click_model(s, "pbm").propensities for s in logs], axis=0, ddof=1)
    errors = bootstrap_errors(logs[0], "pbm", resamples=40, seed=1)
    np.testing.assert_allclose(errors.parameters["by_rank"], spread, rtol=0.6)
    assert errors.parameters["by_rank"][0] == 0
    assert len(errors.attraction) == len(logs[0].pairs[0])
    with pytest.raises(UsageError, match="2 resamples"):
        bootstrap_errors(sessions, resamples=1)


def test_examination_above_that_of_rank_1_comes_back(tmp_path):
    model = PositionBasedModel(attraction=PairValues.constant(0.5), by_rank=np.array([1.0, 1.05]))
    save_click_model(model, tmp_path / "m.model")
    assert load_click_model(tmp_path / "m.model").by_rank.tolist() == [1.0, 1.05]


def test_empty_lists_are_no_sessions():
    sessions = ClickSessions.from_lists(["q"], [[]], [[]])
    for use in (estimate_propensities, fit_click_model):
        with pytest.raises(EmptyDataError, match="empty lists only"):
            use(sessions)
    some = ClickSessions.from_lists(["q", "q"], [["a", "b"], []], [["a"], []])
    for name in CLICK_MODELS:
        assert np.isfinite(fit_click_model(some, name).log_likelihood(some)).all()
