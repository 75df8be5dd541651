"""Simulated errors have the rates that they say."""

import numpy as np
import pytest

from podium.errors import UnknownNameError, UsageError
from podium.labelling import SimulatedErrors, simulate
from podium.labelling.simulated_errors import expected_gain

DRAWS = 4000


def share(errors, says=">", lead=1, quality_lead=1.0, is_a_left=True, turn=0):
    """The share of an answer."""
    rng = np.random.default_rng(0)
    answers = [errors.answer(lead, quality_lead, is_a_left, turn, rng) for _ in range(DRAWS)]
    return answers.count(says) / DRAWS


def test_uniform_errors_of_assessors_who_take_turns():
    errors = SimulatedErrors("uniform", (0.05, 0.25))
    assert share(errors, "<", turn=0) == pytest.approx(0.05, abs=0.015)
    assert share(errors, "<", turn=3) == pytest.approx(0.25, abs=0.03)


def test_close_documents_are_confused():
    errors = SimulatedErrors("close", (0.5,))
    assert share(errors, quality_lead=0.0) == pytest.approx(0.5, abs=0.03)
    assert share(errors, quality_lead=1.0) == pytest.approx(1 / (1 + np.exp(-2)), abs=0.03)
    assert share(errors, quality_lead=-1000.0) == 0, "and no overflow"


def test_guesses_prefer_a_side():
    errors = SimulatedErrors("side", (0.1,), left_share=0.75)
    assert share(errors, ">", is_a_left=True) == pytest.approx(0.8 + 0.2 * 0.75, abs=0.02)
    assert share(errors, ">", is_a_left=False) == pytest.approx(0.8 + 0.2 * 0.25, abs=0.02)


def test_no_noise_is_no_error_in_every_model():
    for model in ("uniform", "close", "side"):
        assert share(SimulatedErrors(model)) == 1
        assert share(SimulatedErrors(model), "~", lead=0) == 1
        assert simulate("heap", 20, 4, runs=5, errors=model).overlap == 1


def test_the_gain_is_a_share_of_the_best():
    assert expected_gain({"a": 3.0, "b": 2.0, "c": 1.0}, ["c", "a"], 2) == (1 + 3) / (3 + 2)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(UnknownNameError, match="error model"):
        SimulatedErrors("clsoe")
    with pytest.raises(UsageError, match="at least one assessor"):
        SimulatedErrors("uniform", ())
    with pytest.raises(UsageError, match=r"from 0 to 0\.5, got 0\.6"):
        SimulatedErrors("side", (0.6,))
    with pytest.raises(UsageError, match="left_share as a probability"):
        SimulatedErrors("side", (0.1,), 1.5)
