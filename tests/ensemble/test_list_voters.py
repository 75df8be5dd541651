"""A voter that is no ranker, such as a machine, votes on the heads of a fitted TopRank."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from podium.data import RankingData, make_synthetic
from podium.ensemble import TopRank
from podium.errors import DataError, MissingDocidsError, UsageError


@dataclass
class Backwards:
    """Turns every list around, and remembers what it was asked."""

    name: str = "backwards"
    asked: dict = field(default_factory=dict)

    def order(self, query, documents):
        self.asked[query] = list(documents)
        return documents[::-1]


DATA = make_synthetic(n_queries=12, n_docs=7, seed=3)


@pytest.fixture(scope="module")
def ranker():
    return TopRank(base="ranksvm", rankers=("regression",), t=4, tuned=False).fit(DATA)


def places(scores, rows):
    return np.argsort(-scores[rows], kind="stable")


def test_a_heavy_vote_decides_about_the_head_and_nothing_below(ranker):
    voter = Backwards()
    alone, voted = ranker.predict(DATA), ranker.with_voter(voter, 0.999).predict(DATA)
    base = ranker.model_.base.model.scores(DATA.X, DATA.groups)
    assert len(voter.asked) == 12
    for qid, rows in zip(DATA.qids, DATA.groups.slices(), strict=True):
        by_base = places(base, rows)
        names = DATA.docids[rows][by_base[:4]]
        assert voter.asked[str(qid)] == names.tolist(), "the head in the order of the base"
        assert places(voted, rows)[:4].tolist() == by_base[:4][::-1].tolist()
        assert places(voted, rows)[4:].tolist() == places(alone, rows)[4:].tolist()


def test_a_light_vote_changes_nothing(ranker):
    voted = ranker.with_voter(Backwards(), 1e-6).predict(DATA)
    assert voted.tolist() == ranker.predict(DATA).tolist()


def test_what_a_voter_must_not_do_is_named(ranker):
    class Loses(Backwards):
        def order(self, query, documents):
            return documents[1:]

    with pytest.raises(DataError, match="expected an order of the same 4 documents"):
        ranker.with_voter(Loses(), 0.5).predict(DATA)
    for weight in (0, 1, float("nan")):
        with pytest.raises(UsageError, match="between 0 and 1"):
            ranker.with_voter(Backwards(), weight)
    nameless = RankingData.from_arrays(DATA.X, DATA.y, qid=np.repeat(np.arange(12), 7))
    with pytest.raises(MissingDocidsError):
        ranker.with_voter(Backwards(), 0.5).predict(nameless)
    few = RankingData.from_arrays(DATA.X[:, :2], DATA.y, qid=np.repeat(np.arange(12), 7))
    with pytest.raises(DataError, match="expected 46 features"):
        ranker.with_voter(Backwards(), 0.5).predict(few)
