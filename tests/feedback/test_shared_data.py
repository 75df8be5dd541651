"""The real sample of UBI logs: what is in it, and what is wrong with it."""

import numpy as np
import pytest

from podium.feedback import FACTORS, read_ubi
from tests.conftest import absent

pytestmark = pytest.mark.needs("shared data")


@pytest.fixture(scope="module")
def sample(shared_data):
    path = shared_data / "ubi" / "ubi_queries_events.ndjson.xz"
    if not path.exists():
        absent(f"no file {path}")
    return path


def test_the_sample_has_what_it_is_known_to_have(sample):
    counts = read_ubi(sample).counts
    assert (counts.lines, counts.queries, counts.events) == (7842, 473, 3448)
    expected = {
        "impression": 1999,
        "search": 506,
        "click": 287,
        "add_to_cart": 234,
        "on_search": 86,
    }
    assert {name: counts.actions[name] for name in expected} == expected
    assert counts.problems == {
        "unknown_actions": 495, "missing_query_id": 2, "before_query": 39, "exit_before_view": 2,
        "lists_without_query": 480, "lists_without_documents": 469,
    }  # fmt: skip


def test_the_sample_carries_some_factors_only(sample):
    feedback = read_ubi(sample, strict=True)
    carried = [f for f, c in zip(FACTORS, feedback.carried, strict=True) if c]
    assert carried == ["clicks", "dwell", "ignored", "closed"]
    assert feedback.reactions[:, 0].sum() == 287 + 11  # click and item_click
    assert np.nansum(feedback.reactions[:, 2]) == pytest.approx(
        17.188480451236742 + 11.01278584449532
    )
    assert ((feedback.alphas >= 0) & (feedback.alphas <= 1)).all()


def test_users_can_be_classes(sample):
    feedback = read_ubi(sample, user_class="application")
    assert {"Chorus", "esci_ubi_sample"} <= set(feedback.classes)
    assert sum(len(part) for part in feedback.by_class().values()) == len(feedback)
