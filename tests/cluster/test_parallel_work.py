"""Independent work on a cluster: the same results as without, to the byte."""

import time

import numpy as np
import pytest
from joblib import delayed

import podium
from podium.data import make_synthetic, split
from podium.errors import NotConvergedWarning, UsageError
from podium.rankers import tune


@pytest.fixture(scope="module")
def parts():
    return split(make_synthetic(n_queries=80, n_features=12, seed=0), [0.6, 0.4])


def parameters(model):
    return {name: np.asarray(part).tolist() for name, part in model.parts().items()}


def assert_same_tuning(tuning, other):
    assert tuning.trace == other.trace
    assert (tuning.settings, tuning.value) == (other.settings, other.value)
    assert parameters(tuning.ranker.model_) == parameters(other.ranker.model_)


@pytest.mark.parametrize(
    ("ranker", "grid"),
    [
        (podium.LambdaMART(trees=8), {"leaves": [3, 7], "learning_rate": [0.05, 0.2]}),
        (podium.RankSVM(), {"C": [1e-4, 1e-3, 1e-2], "power": [1, 2]}),
        (podium.FocusedNet(), {"beta": [0.0, 0.5, 1.0]}),
    ],
    ids=str,
)
def test_tuning_has_the_same_trace_and_model(client, parts, ranker, grid):
    seen = []
    with podium.use(client):
        tuning = tune(
            ranker, *parts, grid=grid, trial_callback=lambda trial, total: seen.append(total)
        )
    assert_same_tuning(tuning, tune(ranker, *parts, grid=grid))
    assert seen == [len(tuning.trace)] * np.prod([len(values) for values in grid.values()])


def test_an_interrupted_search_returns_the_best_so_far(client, parts):
    steps, trials = [], []

    def interrupt(trial, total):
        trials.append(trial)
        if len(trials) == 2:
            raise KeyboardInterrupt

    grid = {"learning_rate": [0.05, 0.1, 0.2]}
    with podium.use(client):
        tuning = tune(
            podium.LambdaMART(trees=4), *parts, grid=grid, callback=steps.append,
            trial_callback=interrupt,
        )  # fmt: skip
    assert not tuning.finished
    assert list(tuning.trace) == trials
    assert tuning.value == max(trial.value for trial in trials)
    assert len(steps) == sum(trial.iterations for trial in trials)


def test_an_interrupt_before_the_first_result_ends_the_search(client, parts):
    def interrupt(step):
        raise KeyboardInterrupt

    with podium.use(client), pytest.raises(KeyboardInterrupt):
        tune(podium.LambdaMART(trees=2), *parts, grid={"leaves": [4]}, callback=interrupt)


def test_a_comparison_gives_the_same_report(client, parts, tmp_path):
    settings = {
        "rankers": ["regression", "ranksvm"],
        "metrics": ["NDCG@5", "MAP"],
        "folds": 3,
        "tune": False,
    }
    states = []
    with podium.use(client):
        report = podium.compare(
            parts[0], **settings, out=tmp_path, progress=lambda p: states.append(p.state)
        )
    alone = podium.compare(parts[0], **settings)
    assert report.standings == alone.standings
    assert report.cells == alone.cells
    assert sorted(states) == ["done"] * 6 + ["running"] * 6
    states.clear()
    podium.compare(parts[0], **settings, out=tmp_path, progress=lambda p: states.append(p.state))
    assert states == ["kept"] * 6


@pytest.mark.parametrize(
    "ranker",
    [
        podium.Bagged(podium.Regression(), bags=3),
        podium.TopRank(base="ranksvm", rankers=("regression", "listnet"), aggregator="borda", t=3),
        podium.CFBRS(base="ranksvm"),
        podium.AutoRanker(budget="3fits"),
    ],
    ids=lambda ranker: ranker.name,
)
@pytest.mark.filterwarnings("ignore::podium.errors.NotConvergedWarning")
def test_ensembles_are_the_same(client, parts, ranker):
    with podium.use(client):
        fitted = ranker.fit(parts[0], valid=parts[1])
        scores = fitted.predict(parts[1])
    assert scores.tolist() == ranker.fit(parts[0], valid=parts[1]).predict(parts[1]).tolist()


def test_an_error_of_a_call_is_that_error(client, parts):
    def fail(message):
        raise UsageError(message)

    with podium.use(client) as runner, pytest.raises(UsageError, match="no such thing"):
        list(runner.run([delayed(fail)("no such thing")]))


def test_warnings_of_workers_are_given_again(client, parts):
    with podium.use(client), pytest.warns(NotConvergedWarning, match="ranksvm"):
        tune(podium.RankSVM(max_iter=1, C=10.0), *parts, grid={"C": [1.0, 10.0]}, warm=False)


def test_results_come_in_order_or_as_they_finish(client, tmp_path):
    calls = [delayed(_wait_or_write)(number, tmp_path / "last") for number in range(3)]
    with podium.use(client) as runner:
        assert list(runner.run(calls)) == [0, 1, 2]
        (tmp_path / "last").unlink()
        as_finished = []
        for number in runner.run([calls[0], delayed(abs)(1), delayed(abs)(2)], in_order=False):
            as_finished.append(number)
            if number == 2:
                (tmp_path / "last").touch()
    assert as_finished == [1, 2, 0]


def _wait_or_write(number, path):
    """Call 0 waits for what call 2 writes."""
    if number == 2:
        path.touch()
    while number == 0 and not path.exists():
        time.sleep(0.01)
    return number


def test_sums_do_not_depend_on_workers(client):
    values = np.random.default_rng(0).normal(size=(40, 3))
    with podium.use(client) as runner:
        kept = [runner.keep(delayed(np.array)(row)) for row in values]
        total, count = runner.add_up([delayed(_row_and_one)(row) for row in kept])
    groups = [sum(values[i + 1 : i + 8], values[i]) for i in range(0, 40, 8)]
    assert total.tolist() == sum(groups[1:], groups[0]).tolist()
    assert count == 40


def _row_and_one(row):
    return row, 1


def test_large_data_is_sent_once(client, parts):
    with podium.use(client) as runner:
        assert list(runner.run([delayed(len)(parts[0]) for _ in range(4)])) == [len(parts[0])] * 4
        assert len(runner._shared) == 1


def test_arrays_are_aligned_here_and_there(client, parts):
    with podium.use(client) as runner:
        results = list(
            runner.run([delayed(_is_aligned)(parts[0], np.arange(40_000.0)) for _ in range(4)])
        )
    assert all(flags == (True, True) and column.flags.aligned for flags, column in results)


def _is_aligned(data, column):
    return (data.X.flags.aligned, column.flags.aligned), column
