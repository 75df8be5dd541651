"""The study of auto beside tuned libraries: searches that continue, generated problems, tables."""

import numpy as np
import pytest

from benchmarks import quality_auto, quality_auto_tables, tuned_peers
from benchmarks.generated_problems import GENERATED, make_web_search
from benchmarks.quality_auto import CONTENDERS, SETS, StudyCell
from benchmarks.tuned_peers import Peer, PeerFit, PeerSearch
from podium.data import Fold, make_synthetic
from podium.metrics import evaluate

DATA = make_synthetic(n_queries=6, n_docs=8, n_features=3, seed=0)


class CountingPeer(Peer):
    """A peer whose fits take one second of a clock of its own; the better one has the larger draw."""

    name = "counting"
    defaults = {"share": 0.0}  # noqa: RUF012 - never changed

    def __init__(self, clock):
        super().__init__(Fold(DATA, DATA, DATA))
        self.clock, self.fitted = clock, []

    def draw(self, rng):
        return {"share": float(rng.random())}

    def fit(self, settings, timer, seed):
        self.clock[0] += 1.0
        self.fitted.append((settings["share"], seed))
        scores = scores_of(settings["share"])
        return PeerFit(scores, scores, rounds=7)


def scores_of(share):
    noise = np.random.default_rng(0).standard_normal(len(DATA))
    return share * DATA.y + (1 - share) * noise


@pytest.fixture
def clock(monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr(tuned_peers.time, "process_time", lambda: seconds[0])
    return seconds


def test_a_larger_budget_continues_the_search_of_a_smaller_one(clock):
    def timed(seconds, begin=None):
        peer = CountingPeer(clock)
        return *(begin or PeerSearch()).run(peer, seconds, seed=5), peer.fitted

    whole, scores, fits = timed(9)
    first, _, begun = timed(4)
    rest, _, continued = timed(9, first)
    assert (first.trials, first.seconds) == (4, 4.0)
    assert begun + continued == fits
    assert rest == whole
    assert len(fits) == whole.trials == 9
    assert fits[0] == (0.0, 5)  # the defaults come first
    values = [evaluate(DATA, scores_of(share), "NDCG@10")["NDCG@10"].mean for share, _ in fits]
    best = int(np.argmax(values))  # of equal trials, the first
    assert (whole.settings, whole.valid) == ({"share": fits[best][0]}, values[best])
    assert scores.tolist() == scores_of(fits[best][0]).tolist()
    assert (whole.rounds, whole.fit_seconds) == (7, 1.0)


def test_cells_are_kept_and_a_larger_budget_begins_with_the_largest_smaller_one(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(quality_auto, "CELLS", tmp_path)
    for seconds in (10.0, 40.0, 100.0):
        StudyCell("MQ2008", 0, "CatBoost YetiRank", seconds).save({"mark": seconds})
    cell = StudyCell("MQ2008", 0, "CatBoost YetiRank", 60.0)
    assert cell.load() is None
    assert cell.smaller()["mark"] == 40.0
    assert StudyCell("MQ2008", 0, "CatBoost YetiRank", 10.0).smaller() is None
    assert StudyCell("MQ2008", 1, "CatBoost YetiRank", 60.0).smaller() is None


def test_generated_problems_share_their_truth_but_not_their_queries():
    for problem in GENERATED.values():
        fold = problem.fold(0)
        sizes = [part.n_queries for part in fold]
        assert sizes == [problem.n_train, problem.n_train // 2, problem.n_test]
        assert set(fold.train.qids).isdisjoint(fold.test.qids)
        assert sorted(np.unique(fold.test.y)) in ([0, 1, 2], [0, 1, 2, 3, 4])
    one, again = (make_web_search(4, 9, seed=3) for _ in range(2))
    assert one.X.tobytes() == again.X.tobytes()
    assert one.X.shape[1] == 9
    scaled = make_web_search(4, 9, seed=3, n_docs=(5, 6), is_normalised=True)
    assert set(scaled.groups.sizes) <= {5, 6}
    assert (scaled.groups.reduce(np.minimum, scaled.X) == 0).all()
    highest = scaled.groups.reduce(np.maximum, scaled.X)
    assert set(np.unique(highest)) <= {0.0, 1.0}


def test_tables_state_paired_differences(monkeypatch, tmp_path):
    monkeypatch.setattr(quality_auto, "CELLS", tmp_path)
    monkeypatch.setattr(quality_auto_tables, "CELLS", tmp_path)
    assert quality_auto_tables.whole_budget(SETS) is None
    for number, name in enumerate(CONTENDERS):
        for problem in SETS:
            for fold in range(5):
                values = np.array([0.5, 0.75]) - 0.1 * number
                facts = {"search": {"trials": 3}, "report": {"fits": 4, "combinations": []}}
                per_query = {"NDCG@10": values.tolist(), "MAP": values.tolist()}
                StudyCell(problem, fold, name, 20.0).save({**facts, "per_query": per_query})
    seconds, results = quality_auto_tables.whole_budget(SETS)
    assert seconds == 20.0
    lines = quality_auto_tables.comparison(results)
    auto = list(CONTENDERS).index("auto")
    # Every query differs by the same amount, so that the interval has no width.
    ahead = f"{-0.1 * auto:+.4f} ({-0.1 * auto:+.4f} to {-0.1 * auto:+.4f})"
    catboost = next(line for line in lines if line.startswith("| CatBoost"))
    assert f"| {(0.5 + 0.75) / 2:.4f} |" in catboost
    assert ahead in catboost
    page = f"a\n{quality_auto_tables.BEGIN}former\n{quality_auto_tables.END}\nb\n"
    written = quality_auto_tables.insert_table(page)
    assert "former" not in written
    assert ahead in written
    assert quality_auto_tables.insert_table(written) == written
