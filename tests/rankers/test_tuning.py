"""Tuning on validation queries, learning curves, callbacks and interruptions."""

import matplotlib as mpl
import numpy as np
import pytest

from podium.data import make_synthetic, split
from podium.errors import NotConvergedWarning, UnknownNameError, UsageError
from podium.metrics import evaluate
from podium.rankers import MLP, History, ListNet, RankNet, RankSVM, Regression, tune
from tests.support.small_rankers import NAMES, cheap, small

mpl.use("Agg")
TRAIN, VALID = split(small(24, seed=6), [0.6, 0.4])
# In closed form, or one step.
ITERATIVE = [name for name in NAMES if name not in ("regression", "least-squares", "cfbrs", "auto")]


def ndcg(ranker, data=VALID):
    return evaluate(data, ranker.predict(data), "NDCG@10")["NDCG@10"].mean


# --- tune ---


def test_the_trace_has_every_setting_with_its_value():
    grid = {"C": [1e-4, 1e-2, 1.0], "power": [1, 2]}
    seen = []
    found = tune(
        RankSVM(),
        TRAIN,
        VALID,
        grid=grid,
        trial_callback=lambda trial, total: seen.append((trial, total)),
    )
    settings = [trial.settings for trial in found.trace]
    assert settings == [{"power": p, "C": C} for p in (1, 2) for C in grid["C"]]
    assert seen == [(trial, 6) for trial in found.trace]
    values = [trial.value for trial in found.trace]
    assert found.value == max(values)
    assert found.settings == settings[int(np.argmax(values))]
    assert found.ranker.get_params()["C"] == found.settings["C"]
    assert ndcg(found.ranker) == found.value
    assert all(trial.converged and trial.iterations > 0 for trial in found.trace)
    assert repr(found).startswith("Tuning(ranksvm: ")


@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_tunes_its_own_grid(name):
    few = {k: v[:2] for k, v in cheap(name).grid.items()}
    found = tune(cheap(name), TRAIN, VALID, grid=few)
    assert len(found.trace) == np.prod([len(v) for v in few.values()])
    assert found.value == max(trial.value for trial in found.trace)
    assert len(tune(Regression(), TRAIN, VALID).trace) == len(Regression.grid["l2"])


def test_a_warm_start_ends_where_a_cold_one_does():
    data = make_synthetic(n_queries=60, n_features=12, seed=0)
    train, valid = split(data, [0.7, 0.3])
    path = [10.0**e for e in range(-4, 2)]
    found = tune(RankSVM(tol=1e-9), train, valid, grid={"C": path})
    cold = [RankSVM(tol=1e-9, C=C).fit(train) for C in path]
    for C, alone in zip(path, cold, strict=True):
        end = tune(RankSVM(tol=1e-9), train, valid, grid={"C": path[: path.index(C) + 1]})
        assert end.trace == found.trace[: len(end.trace)]
        warm = RankSVM(tol=1e-9, C=C).fit_data(train, None, None, cold[0].model_)
        np.testing.assert_allclose(warm.model_.weights, alone.model_.weights, atol=1e-5, rtol=1e-5)
        value = alone.certificate_.value
        assert abs(warm.certificate_.value - value) <= 1e-5 * value
    assert sum(t.iterations for t in found.trace) < sum(len(r.history_) for r in cold)


@pytest.mark.parametrize(("ranker", "path"), [
    (RankNet(tol=1e-9), {"l2": [1.0, 0.1, 0.01]}),
    (ListNet(tol=1e-9), {"l2": [1.0, 0.1, 0.01]}),
    (cheap("focused-net", tol=1e-9), {"beta": [0.2, 0.5, 0.8]}),
])  # fmt: skip
def test_warm_starts_of_smooth_losses_end_at_the_same_objective(ranker, path):
    (name, values), start = next(iter(path.items())), None
    for value in values:
        cold = type(ranker)(**{**ranker.get_params(), name: value}).fit(TRAIN)
        warm = type(ranker)(**{**ranker.get_params(), name: value}).fit_data(TRAIN, start=start)
        start = warm.model_
        np.testing.assert_allclose(warm.predict(VALID), cold.predict(VALID), atol=1e-5)


def test_of_equal_values_the_first_one_wins():
    found = tune(Regression(), TRAIN, VALID, grid={"l2": [1e-9, 2e-9, 3e-9]})
    assert len({trial.value for trial in found.trace}) == 1
    assert found.settings == {"l2": 1e-9}


def test_the_ranker_passed_in_is_not_changed():
    ranker = RankNet(l2=0.5)
    tune(ranker, TRAIN, VALID, "MAP", grid={"l2": [0.1]})
    assert ranker.get_params() == RankNet(l2=0.5).get_params()
    assert not hasattr(ranker, "model_")


def test_iterations_are_chosen_by_the_metric_that_is_tuned():
    found = tune(ListNet(), TRAIN, VALID, "MAP", grid={"l2": [1e-3]})
    assert found.ranker.metric == "MAP"
    assert found.metric == "MAP(ties='average')"
    assert found.ranker.history_.steps[0].metric == "MAP(ties='average')"
    assert found.value == max(found.ranker.history_.valid)


def test_arrays_will_do():
    parts = [(d.X, d.y, np.repeat(d.qids, d.groups.sizes)) for d in (TRAIN, VALID)]
    found = tune(RankSVM(), *parts, grid={"C": np.array([1e-3, 1e-2])})
    assert found.trace == tune(RankSVM(), TRAIN, VALID, grid={"C": [1e-3, 1e-2]}).trace


def test_wrong_grids():
    with pytest.raises(UnknownNameError, match=r"unknown parameter of ranksvm 'c'; did you mean C"):
        tune(RankSVM(), TRAIN, VALID, grid={"c": [1.0]})
    with pytest.raises(UsageError, match="values to try for C, got \\[\\]"):
        tune(RankSVM(), TRAIN, VALID, grid={"C": []})
    with pytest.raises(UsageError, match="values to try for power, got 'all'"):
        tune(RankSVM(), TRAIN, VALID, grid={"power": "all"})
    with pytest.raises(UsageError, match="C of ranksvm to be a number above 0"):
        tune(RankSVM(), TRAIN, VALID, grid={"C": [-1.0]})


# --- history ---


@pytest.mark.parametrize("name", ITERATIVE)
def test_history_has_objective_and_metric_of_each_iteration(name):
    steps = []
    ranker = cheap(name).fit(TRAIN, valid=VALID, callback=steps.append)
    history = ranker.history_
    steps = [step for step in steps if step.iteration]  # the others say that a stage begins
    assert list(history) == steps
    assert len(history) >= 2
    assert history.iteration == list(range(1, len(steps) + 1))
    assert np.isfinite(history.objective).all()
    assert all(0 <= value <= 1 for value in history.valid)
    assert {step.ranker for step in steps} == {name}
    assert {step.metric for step in steps} == {"NDCG(ties='average')@10"}
    if name != "adarank":  # whose weights follow the loss without bounding it
        assert history.objective[-1] <= history.objective[0] + 1e-12
    if ranker.keeps_best:  # the first of the best iterations
        assert history.best == 1 + int(np.argmax(history.valid))
    else:
        assert history.best == len(history)
    if ranker.model_.kind == "linear":  # others have equal scores, which are ranked as shuffled
        assert abs(history.valid[history.best - 1] - ndcg(ranker)) < 1e-9


@pytest.mark.parametrize("name", ["rankboost", "adarank", "focused-boost", "lambdamart"])
def test_the_number_of_steps_to_come_is_known(name):
    steps = []
    settings = {"beta": 0.5} if name == "focused-boost" else {}  # without it, several are tried
    ranker = cheap(name, **settings).fit(TRAIN, valid=VALID, callback=steps.append)
    assert {step.total for step in steps} == {getattr(ranker, "rounds", None) or ranker.trees}


def test_without_validation_there_is_no_metric():
    history = cheap("ranknet").fit(TRAIN).history_
    assert history.valid == [None] * len(history)
    assert history.best == len(history)
    assert len(Regression().fit(TRAIN).history_) == 0


def test_the_curve_is_drawn():
    from matplotlib import pyplot

    ranker = cheap("rankboost").fit(TRAIN, valid=VALID)
    ax = ranker.history_.plot()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), ranker.history_.objective)
    other = next(a for a in ax.figure.axes if a is not ax)
    np.testing.assert_array_equal(other.lines[0].get_ydata(), ranker.history_.valid)
    assert other.lines[1].get_xdata()[0] == ranker.history_.best
    assert ax.get_title() == "rankboost"
    ax.figure.canvas.draw()
    assert pyplot.get_fignums() == [], "no global state"
    given = pyplot.figure().subplots()
    assert cheap("ranknet").fit(TRAIN).history_.plot(given) is given
    assert len(given.figure.axes) == 1
    assert History().plot().get_title() == ""
    pyplot.close("all")


def test_a_network_stops_where_validation_no_longer_improves():
    mlp = MLP(hidden=(4,), epochs=60, patience=2, learning_rate=0.05)
    history = ListNet(scorer=mlp).fit(TRAIN, valid=VALID).history_
    best = int(np.argmax(history.valid))
    assert history.best == best + 1
    assert len(history) == min(60, best + 1 + 2) < 60


# --- ctrl-C ---


class Impatient:
    """Presses ctrl-C after so many iterations."""

    def __init__(self, after):
        self.after, self.steps = after, []

    def __call__(self, step):
        if step.iteration:
            self.steps.append(step)
        if len(self.steps) >= self.after:
            raise KeyboardInterrupt


LONG = {
    "ranksvm": {"tol": 1e-12, "C": 1.0}, "coordinate-ascent": {"restarts": 5},
    "svm-map": {"eps": 1e-9}, "focused-svm": {"eps": 1e-9},
}  # fmt: skip


@pytest.mark.parametrize("name", ITERATIVE)
@pytest.mark.parametrize("valid", [None, VALID], ids=["alone", "validated"])
def test_ctrl_c_keeps_the_best_model_so_far(name, valid):
    ranker, press = cheap(name, **LONG.get(name, {})), Impatient(3)
    with pytest.warns(
        NotConvergedWarning, match=f"{name} stopped after 3 iterations .* \\(interrupted"
    ):
        ranker.fit(TRAIN, valid=valid, callback=press)
    assert len(press.steps) == len(ranker.history_) == 3
    assert ranker.converged_ is False
    assert ranker.stopped_ == "interrupted"
    assert np.isfinite(ranker.predict(VALID)).all()
    assert ranker.history_.best in (1, 2, 3)


def test_ctrl_c_keeps_the_iteration_that_validated_best():
    whole = cheap("rankboost").fit(TRAIN, valid=VALID)
    press = Impatient(4)
    with pytest.warns(NotConvergedWarning):
        cut = cheap("rankboost").fit(TRAIN, valid=VALID, callback=press)
    assert cut.history_.steps == whole.history_.steps[:4]
    best = 1 + int(np.argmax(cut.history_.valid))
    np.testing.assert_array_equal(
        cut.predict(VALID), cheap("rankboost", rounds=best).fit(TRAIN).predict(VALID)
    )


@pytest.mark.parametrize("name", ["ranksvm", "ranknet", "lambdamart"])
def test_ctrl_c_before_the_first_iteration_is_ctrl_c(name, monkeypatch):
    ranker = cheap(name)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(ranker), "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(TRAIN)
    assert not hasattr(ranker, "model_")


def test_too_few_iterations_are_told():
    with pytest.warns(
        NotConvergedWarning, match="ranknet stopped after 2 iterations before it converged"
    ):
        ranker = RankNet(max_iter=2, l2=1e-6).fit(TRAIN)
    assert not ranker.converged_
    assert "gradient" in ranker.stopped_


def test_cold_settings_are_those_of_a_fit_by_itself():
    found = tune(cheap("topslack"), TRAIN, VALID, grid={"C": [0.1, 1.0]}, warm=False)
    alone = cheap("topslack", **found.settings).fit(TRAIN)
    assert found.ranker.predict(VALID).tobytes() == alone.predict(VALID).tobytes()
