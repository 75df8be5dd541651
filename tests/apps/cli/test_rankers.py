"""The rankers' commands: train, tune, predict, explain, rankers."""

import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import podium
from podium.apps.cli.commands import train as train_command
from podium.apps.cli.commands import tune as tune_command
from podium.apps.cli.inputs import ranker_settings, set_option
from podium.data import read_scores, split
from podium.errors import DataError, UnknownNameError, UsageError
from podium.losses import FocusedLoss, ListMLELoss
from podium.rankers import MLP, RankSVM, feature_weights, permutation_importance
from podium.rankers.parameters import describe_type, parameter_docs, parameter_types
from podium.registry import RANKERS, load, make_ranker
from tests.support.cli import answer, flat, run
from tests.support.forked_code import ForkedCode

MODELS = {
    "linear": ["ranksvm", "--set", "C=0.01"],
    "stumps": ["rankboost", "--set", "rounds=5"],
    "trees": ["lambdamart", "--set", "trees=3", "--set", "threads=1"],
    "mlp": ["listnet", "--set", "scorer=mlp", "--set", "scorer.hidden=4", "--set", "scorer.epochs=2"],
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    whole = podium.make_synthetic(n_queries=60, n_features=4, seed=3)
    return dict(zip(("train", "vali", "test"), split(whole, [0.5, 0.25, 0.25]), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("rankers")
    for name, part in data.items():
        podium.write_letor(part, path / f"{name}.txt")
    for kind, arguments in MODELS.items():
        run("train", *arguments, path / "train.txt", "-o", path / f"{kind}.podium")
    return path


@pytest.fixture
def files(folder, tmp_path, monkeypatch):
    """The data and the models in a folder of the test's own, which it stands in."""
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-3", -3), ("1e-3", 1e-3), ("0.50", 0.5), ("true", True), ("False", False),
        ("none", None), ("relu", "relu"), ("64,32", (64, 32)), ("1,", (1,)), ("a,b", ("a", "b")),
        ("NDCG@10", "NDCG@10"), ("a=b", "a=b"),
        ("NDCG(gain='linear', empty='skip')@10", "NDCG(gain='linear', empty='skip')@10"),
    ],
)  # fmt: skip
def test_a_value_is_read_as_what_it_looks_like(text, value):
    (found,) = set_option.parse_settings([f"x={text}"]).values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["x", "x=", "=1", ""])
def test_a_setting_needs_a_name_and_a_value(text):
    with pytest.raises(UsageError, match="NAME=VALUE"):
        set_option.parse_settings([text])


def test_dotted_settings_reach_the_scorer_the_loss_and_single_features():
    net = ranker_settings.build_ranker("listnet", {"scorer.hidden": 8, "scorer.epochs": 3})
    assert net.scorer == MLP(hidden=(8,), epochs=3)
    trees = ranker_settings.build_ranker(
        "lambdamart", {"loss": "focused", "loss.k": 5, "loss.list": "listmle", "monotone.f2": -1}
    )
    assert trees.loss == FocusedLoss(k=5, list=ListMLELoss())
    assert trees.monotone == {"f2": -1}
    assert ranker_settings.build_ranker("lambdamart", {"monotone": 1}).monotone == (1,)
    for ranker in (net, trees):
        changed = {
            name: value
            for name, value in ranker.get_params(deep=False).items()
            if value != type(ranker)().get_params(deep=False)[name]
        }
        again = set_option.parse_settings(set_option.settings_text(changed).split())
        assert ranker_settings.build_ranker(ranker.name, again).get_params() == ranker.get_params()


def test_dotted_settings_reach_the_voters_and_the_base_of_toprank():
    texts = [
        "rankers=ranksvm,listnet,lambdamart,lambdamart", "rankers.ranksvm.C=0.1",
        "rankers.listnet.scorer.hidden=8", "rankers.lambdamart.trees=7", "rankers.4.loss=lambdarank",
        "base=ranksvm", "base.C=3", "metric=NDCG@5", "seed=4",
    ]  # fmt: skip
    built = ranker_settings.build_ranker("toprank", set_option.parse_settings(texts))
    svm, net, first, second = built.rankers
    assert (svm.C, net.scorer, built.base.C) == (0.1, MLP(hidden=(8,)), 3)
    assert (first.trees, first.loss, second.trees, second.loss) == (7, None, 7, "lambdarank")
    assert [(r.metric, r.seed) for r in (net, first, second)] == [("NDCG@5", 4)] * 3
    mixed = {"rankers": ("ranksvm", "listnet"), "rankers.listnet.l2": 0.5}
    assert ranker_settings.build_ranker("toprank", mixed).rankers[0] == "ranksvm"
    one = ranker_settings.build_ranker("toprank", {"rankers": "listnet", "rankers.1.l2": 0.5})
    assert one.rankers[0].l2 == 0.5
    settings = {"rankers": built.rankers, "base": built.base, "metric": "NDCG@5", "seed": 4}
    again = set_option.parse_settings(set_option.settings_text(settings).split())
    assert repr(ranker_settings.build_ranker("toprank", again)) == repr(built)


def test_a_grid_of_dotted_settings_makes_whole_scorers():
    grid = set_option.parse_grid(["l2=0.1,1", "scorer.hidden=8,4;16"])
    built = ranker_settings.build_grid("listnet", {"scorer.epochs": 3}, grid)
    assert built == {
        "l2": (0.1, 1),
        "scorer": (MLP(hidden=(8, 4), epochs=3), MLP(hidden=(16,), epochs=3)),
    }


@pytest.mark.parametrize(
    ("ranker", "given", "error", "message"),
    [
        ("ranksvn", {}, UnknownNameError, "did you mean ranksvm"),
        ("ranksvm", {"c": 1}, UnknownNameError, "parameter of ranksvm 'c'; did you mean C"),
        ("ranksvm", {"scorer.hidden": 1}, UnknownNameError, "parameter of ranksvm 'scorer'"),
        ("listnet", {"scorer.hiden": 1}, UnknownNameError, "did you mean hidden"),
        ("listnet", {"scorer": "linear", "scorer.hidden": 1}, UsageError, "got 'linear'"),
        ("listnet", {"scorer.hidden": 0}, UsageError, "1 unit or more"),
        ("listnet", {"l2.x": 1}, UsageError, "expected l2 of listnet"),
        ("lambdamart", {"loss": "focused", "loss.beta": "x"}, UsageError, "beta"),
        ("ranksvm", {"C": 0}, UsageError, "a number above 0, got 0"),
        ("ranksvm", {"C": float("inf")}, UsageError, "a number above 0, got inf"),
        ("ranknet", {"metric": "NDGC@10"}, UnknownNameError, "did you mean NDCG"),
        ("ranknet", {"metric": "P"}, UsageError, "P@10"),
        ("toprank", {"rankers.ranksvm.C": 1}, UsageError, "--set rankers=listnet,ranksvm"),
        (
            "toprank",
            {"rankers": "ranksvm", "rankers.ranksvn.C": 1},
            UnknownNameError,
            "voter in rankers.ranksvn.C 'ranksvn'; did you mean ranksvm",
        ),
        (
            "toprank",
            {"rankers": "ranksvm", "rankers.ranksvm.c": 1},
            UnknownNameError,
            "parameter of ranksvm 'c'; did you mean C",
        ),
        ("toprank", {"rankers": "ranksvm", "rankers.ranksvm": 1}, UnknownNameError, "voter in"),
        (
            "toprank",
            {"rankers": "cfbrs", "rankers.cfbrs.seed": 1},
            UnknownNameError,
            "ranker 'cfbrs'",
        ),
        ("toprank", {"base": "ranksvm", "base.c": 1}, UnknownNameError, "did you mean C"),
        ("toprank", {"base.C": 1}, UsageError, "expected base of toprank"),
    ],
)
def test_wrong_settings_are_refused_before_any_data_is_read(ranker, given, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        ranker_settings.build_ranker(ranker, given)


# Training


@pytest.mark.parametrize("kind", MODELS)
def test_train_writes_what_the_library_fits(folder, data, kind):
    ranker = load(folder / f"{kind}.podium")
    assert ranker.model_.kind == kind
    same = type(ranker)(**ranker.get_params(deep=False)).fit(data["train"])
    assert np.array_equal(ranker.predict(data["test"]), same.predict(data["test"]))


def test_train_says_what_it_did(files, data):
    found = answer(
        "train", "rankboost", "train.txt", "--valid", "vali.txt", "-o", "m.podium",
        "--set", "rounds=20", "-m", "MAP",
    )  # fmt: skip
    ranker = load("m.podium")
    assert (found["queries"], found["documents"]) == (30, len(data["train"]))
    assert found["settings"] == {"rounds": 20, "metric": "MAP"}
    assert found["iterations"] == len(ranker.history_)
    assert found["kept_iteration"] == ranker.history_.best
    assert found["objective"] == ranker.history_.objective[ranker.history_.best - 1]
    assert found["validation"] == max(ranker.history_.valid)
    name = "MAP(ties='average')"  # equal scores are averaged over: the order of the rows must not choose
    result = podium.evaluate(data["vali"], ranker.predict(data["vali"]), name)
    assert found["validation"] == pytest.approx(result[name].mean, abs=1e-12)
    assert found["metric"] == name
    result = run("train", "rankboost", "train.txt", "-o", "m2.podium", "--set", "rounds=7")
    assert "rounds=7" in result.stdout
    assert result.stderr == ""


def test_a_ranker_without_a_metric_is_measured_by_the_one_asked_for(files, data):
    found = answer(
        "train", "regression", "train.txt", "--valid", "vali.txt", "-o", "m.podium", "-m", "P@5",
        "--seed", 7,
    )  # fmt: skip
    scores = load("m.podium").predict(data["vali"])
    assert found["validation"] == podium.evaluate(data["vali"], scores, "P@5")["P@5"].mean


def test_the_seed_is_the_ranker_s(files):
    for seed in (1, 2, 1):
        run(
            "train", "listnet", "train.txt", "-o", f"{seed}.podium", "--seed", seed,
            "--set", "scorer.epochs=1", "--set", "scorer.hidden=3", "--force",
        )  # fmt: skip
    assert load("1.podium").seed == 1
    first, second = (read_scores_of(f"{seed}.podium") for seed in (1, 2))
    assert (first != second).any()


def read_scores_of(model):
    return np.array([float(s) for s in run("predict", model, "test.txt").stdout.split()])


def test_several_files_are_one_set(files, data):
    run("train", "regression", "train.txt", "vali.txt", "-o", "m.podium")
    assert load("m.podium").trained_.n_queries == data["train"].n_queries + data["vali"].n_queries


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_learning_curve_is_drawn(files, ending):
    pytest.importorskip("matplotlib")
    name = f"curve.{ending}"
    arguments = (
        "train", "ranknet", "train.txt", "--valid", "vali.txt", "-o", "m.podium", "--force", "--plot"
    )  # fmt: skip
    drawn = [(run(*arguments, name), (files / name).read_bytes())[1] for _ in range(2)]
    assert drawn[0] == drawn[1], "the same curve, the same bytes"
    assert drawn[0].startswith(b"\x89PNG" if ending == "png" else b"<?xml")


def test_a_closed_form_has_no_curve(files):
    pytest.importorskip("matplotlib")
    result = run("train", "regression", "train.txt", "-o", "m.podium", "--plot", "c.svg")
    assert "no learning curve" in result.stderr
    assert not (files / "c.svg").exists()


def test_not_converging_is_one_line_on_stderr(files):
    result = run("train", "ranknet", "train.txt", "-o", "m.podium", "--set", "max_iter=2")
    assert result.stderr.startswith(
        "podium: warning: ranknet stopped after 2 iterations before it converged"
    )
    assert result.stderr.count("\n") == 1
    assert load("m.podium").converged_ is False


def test_missing_values_are_kept_for_trees(files):
    text = (files / "train.txt").read_text().replace(" 1:", " 1:NULL #", 1).splitlines()
    first = text[0].split(" 1:")[0] + " 1:NULL 2:1 3:1 4:1"
    (files / "null.txt").write_text("\n".join([first, *text[1:]]) + "\n")
    trees = ("--set", "trees=2", "-o", "m.podium")
    assert (
        "NULL"
        in run("train", "lambdamart", "null.txt", *trees, "--missing", "error", code=1).stderr
    )
    assert "NULL" in run("train", "ranksvm", "null.txt", "-o", "svm.podium", code=1).stderr
    run("train", "lambdamart", "null.txt", *trees)
    assert "NULL" in run("predict", "m.podium", "null.txt", "--missing", "error", code=1).stderr
    lines = run("predict", "m.podium", "null.txt").stdout.splitlines()
    assert len(lines) == len(text)


# Interrupted


def stop_at(module, iteration):
    """A progress bar during which someone presses ctrl-C."""
    real = module.training_bar

    @contextmanager
    def interrupted(what):
        def press(step):
            if step.iteration == iteration:
                raise KeyboardInterrupt

        with real(what) as (_, say):
            yield press, say

    return interrupted


def test_a_ranker_is_built_and_checked_once(monkeypatch):
    built, checked = [], []
    real = RankSVM.__init__

    def build(self, **parameters):
        built.append(parameters)
        real(self, **parameters)

    monkeypatch.setattr(RankSVM, "__init__", build)
    monkeypatch.setattr(ranker_settings, "check_parameters", lambda *named: checked.append(named))
    ranker = ranker_settings.build_ranker("ranksvm", {"C": 0.1})
    assert built == [{"C": 0.1}]
    assert checked == [(ranker, "ranksvm")]


def test_ctrl_c_keeps_the_best_model_so_far(files, monkeypatch):
    monkeypatch.setattr(train_command, "training_bar", stop_at(train_command, 3))
    result = run("train", "rankboost", "train.txt", "-o", "m.podium", code=130)
    assert result.stderr.splitlines() == [
        "podium: warning: rankboost stopped after 3 iterations before it converged (interrupted)",
        "podium: interrupted; the best model so far is in m.podium",
    ]
    ranker = load("m.podium")
    assert (len(ranker.history_), ranker.converged_) == (3, False)


def test_ctrl_c_before_the_first_iteration_writes_nothing(files, monkeypatch):
    def learn(self, train, monitor, start):
        raise KeyboardInterrupt

    monkeypatch.setattr(RANKERS["rankboost"], "learn", learn)
    before = sorted(files.iterdir())
    for arguments in (["train"], ["tune", "--valid", "vali.txt"]):
        name, *rest = arguments
        result = run(name, "rankboost", "train.txt", "-o", "m.podium", *rest, code=130)
        assert result.stderr == "podium: interrupted\n"
    assert sorted(files.iterdir()) == before


def test_ctrl_c_ends_tuning_with_the_best_setting_so_far(files, monkeypatch):
    monkeypatch.setattr(tune_command, "training_bar", stop_at(tune_command, 4))
    result = run(
        "tune", "rankboost", "train.txt", "--valid", "vali.txt", "-o", "m.podium",
        "--grid", "rounds=3,5,6", code=130,
    )  # fmt: skip
    assert (
        "interrupted after 2 of 3 settings; the best model so far is in m.podium" in result.stderr
    )
    assert len(load("m.podium").history_) <= 4


@pytest.mark.parametrize(
    "ranker",
    [
        ["lambdamart", "--set", "trees=100000", "--set", "patience=100000"],
        ["listnet", "--set", "scorer.epochs=1000000", "--set", "scorer.patience=1000000"],
    ],
)
def test_a_signal_ends_long_training_with_a_model(folder, tmp_path, ranker):
    code = (
        "import sys\nfrom contextlib import contextmanager\n"
        "from podium.apps.cli import main\nfrom podium.apps.cli.commands import train\n"
        "real = train.training_bar\n"
        "@contextmanager\n"
        "def telling(what):\n"
        "    with real(what) as (advance, say):\n"
        "        yield (lambda step: print('step', flush=True)), say\n"
        "train.training_bar = telling\nsys.argv[0] = 'podium'\nmain()\n"
    )
    words = ("train", *ranker, str(folder / "train.txt"), "-o", "m.podium")
    process = ForkedCode(code, *words, cwd=tmp_path)
    for _ in range(3):
        assert process.stdout.readline() == "step\n", process.stderr.read()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.endswith("podium: interrupted; the best model so far is in m.podium\n")
    assert "Traceback" not in errors
    assert len(load(tmp_path / "m.podium").history_) >= 3


# Tuning


def test_tune_keeps_the_best_setting(files, data):
    arguments = (
        "tune", "ranksvm", "train.txt", "--valid", "vali.txt", "-o", "m.podium",
        "--grid", "C=1e-6,0.01,1", "-m", "MAP",
    )  # fmt: skip
    found = answer(*arguments)
    grid = {"C": [1e-6, 0.01, 1]}
    expected = podium.rankers.tune(RankSVM(), data["train"], data["vali"], "MAP", grid)
    assert [t["validation"] for t in found["trace"]] == [t.value for t in expected.trace]
    assert found["settings"] == expected.settings
    assert load("m.podium").get_params()["C"] == expected.settings["C"]
    table = run(*arguments, "--force").stdout
    assert table.count("*") == 2  # in the title, and at the best
    assert f"C={expected.settings['C']:g} {expected.value:.4f}*" in flat(table)


def test_tune_without_a_grid_tries_the_ranker_s_own(files):
    found = answer(
        "tune", "rankboost", "train.txt", "--valid", "vali.txt", "-o", "m.podium",
        "--set", "rounds=4",
    )  # fmt: skip
    own = RANKERS["rankboost"].grid
    assert [t["settings"] for t in found["trace"]] == [
        {"thresholds": value} for value in own["thresholds"]
    ]
    assert load("m.podium").rounds == 4


def test_what_is_set_is_not_tried(files):
    found = answer(
        "tune", "coordinate-ascent", "train.txt", "--valid", "vali.txt", "-o", "m.podium",
        "--set", "metric=P@5", "--set", "restarts=1", "-m", "MAP",
    )  # fmt: skip
    assert (found["metric"], found["settings"]) == (
        "MAP(ties='average')",
        {"metric": "P@5"},
    )
    assert load("m.podium").metric == "P@5"


# Scores


@pytest.fixture
def scores(folder, data):
    return load(folder / "linear.podium").predict(data["test"])


@pytest.mark.parametrize("name", ["s.txt", "s.scores.gz", "s", "s.npy"])
def test_predict_writes_scores_that_read_back_exactly(files, scores, name):
    run("predict", "linear.podium", "test.txt", "-o", name)
    assert np.array_equal(read_scores(name), scores)


def test_predict_to_stdout_and_as_json(files, data, scores):
    out = run("predict", "linear.podium", "test.txt").stdout
    assert [float(line) for line in out.splitlines()] == scores.tolist()
    assert answer("predict", "linear.podium", "test.txt")["scores"] == scores.tolist()
    found = answer("predict", "linear.podium", "test.txt", "-o", "s.npy")
    assert (found["format"], found["documents"]) == ("npy", len(data["test"]))


def test_predict_writes_a_run(files, data, scores):
    run("predict", "linear.podium", "test.txt", "-o", "s.run.gz")
    assert np.array_equal(
        podium.read_run("s.run.gz").values, podium.Run.from_scores(data["test"], scores).values
    )
    run("predict", "linear.podium", "test.txt", "-o", "s.txt", "--format", "run", "-k", 3)
    top = podium.read_run("s.txt")
    assert (top.groups.sizes == np.minimum(data["test"].groups.sizes, 3)).all()
    assert top.docids[0] == data["test"].docids[data["test"].groups.order(scores)[0]]


def test_predict_writes_parquet(files, data, scores):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("predict", "linear.podium", "test.txt", "-o", "s.parquet")
    table = parquet.read_table("s.parquet").to_pydict()
    assert list(table) == ["qid", "docid", "score"]
    assert table["score"] == scores.tolist()
    assert table["docid"] == data["test"].docids.tolist()
    assert table["qid"] == data["test"].groups.spread(data["test"].qids).tolist()


APART = ["0 qid:a 1:1 2:0 3:0 4:0", "1 qid:b 1:2 2:0 3:0 4:0", "2 qid:a 1:3 2:0 3:0 4:0"]


@pytest.mark.parametrize("name", ["s.txt", "s.npy", "s.parquet", None])
def test_scores_follow_the_lines_even_where_queries_lie_apart(files, name):
    (files / "apart.txt").write_text("\n".join(APART) + "\n")
    weight = feature_weights(load("linear.podium"))["f1"]
    expected = [weight * x for x in (1, 2, 3)]
    if name is None:
        found = [float(s) for s in run("predict", "linear.podium", "apart.txt").stdout.split()]
    elif name == "s.parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        run("predict", "linear.podium", "apart.txt", "-o", name)
        table = parquet.read_table(name).to_pydict()
        assert (list(table), table["qid"]) == (["qid", "score"], ["a", "b", "a"])
        found = table["score"]
    else:
        run("predict", "linear.podium", "apart.txt", "-o", name)
        found = read_scores(name).tolist()
    assert found == pytest.approx(expected, rel=1e-12)


# Explaining


def test_explain_a_linear_model_by_its_weights(files):
    weights = feature_weights(load("linear.podium"))
    found = answer("explain", "linear.podium", "-n", 2)
    assert list(found["features"].items()) == list(weights.items())[:2]
    assert found["measure"] == "weight"
    out = run("explain", "linear.podium").stdout
    assert all(f"{value:+.6g}" in out for value in weights.values())


@pytest.mark.parametrize("kind", ["stumps", "trees"])
def test_explain_boosted_models_by_what_they_use(files, kind):
    model = load(f"{kind}.podium").model_
    features = answer("explain", f"{kind}.podium")["features"]
    values = list(features.values())
    assert values == sorted(values, reverse=True)
    assert features == {f"f{j + 1}": value for j, value in enumerate(model.importance().tolist())}
    if kind == "stumps":
        assert sum(values) == pytest.approx(np.abs(model.alphas).sum())
    else:
        assert min(values) >= 0 < max(values)
    assert all(name in run("explain", f"{kind}.podium").stdout for name in features)


@pytest.mark.parametrize("kind", ["linear", "stumps", "trees"])
def test_explain_a_query(files, data, kind):
    arguments = ("explain", f"{kind}.podium", "--data", "test.txt", "--query", data["test"].qids[1])
    found = answer(*arguments, "-n", 4)
    ranked = load(f"{kind}.podium").rank(data["test"])[1]
    assert [d["docid"] for d in found["documents"]] == list(ranked.docids)
    assert [d["score"] for d in found["documents"]] == ranked.scores.tolist()
    assert [d["row"] - 1 for d in found["documents"]] == ranked.rows.tolist()
    # What the features add and a constant make the score.
    rest = [d["score"] - sum(d["contributions"].values()) for d in found["documents"]]
    assert rest == pytest.approx([rest[0]] * len(rest), abs=1e-9)
    first = found["documents"][0]
    out = flat(run(*arguments).stdout)
    name, value = next(iter(first["contributions"].items()))
    assert f"{first['docid']} {name} {value:+.4g}" in out


def test_a_document_without_an_id_is_told_by_its_line(files):
    (files / "apart.txt").write_text("\n".join(APART) + "\n")
    arguments = ("explain", "linear.podium", "--data", "apart.txt", "--query", "a")
    assert {d["row"] for d in answer(*arguments)["documents"]} == {1, 3}
    assert "line 3" in run(*arguments).stdout


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_permutation_importance(files, data, kind):
    arguments = ("--data", "test.txt", "--importance", "-m", "MAP", "--repeats", 2, "-n", 2)
    found = answer("explain", f"{kind}.podium", *arguments)
    expected = permutation_importance(load(f"{kind}.podium"), data["test"], "MAP", repeats=2)
    assert {n: f["fall"] for n, f in found["features"].items()} == dict(expected.top(2))
    assert found["value"] == expected.value
    assert f"{expected.top(1)[0][1]:+.4f}" in run("explain", f"{kind}.podium", *arguments).stdout


# What there is


def test_rankers_lists_every_one_with_its_paper():
    listed = answer("rankers")
    assert list(listed) == list(RANKERS)
    assert all(entry["summary"] and entry["paper"] for entry in listed.values())
    assert listed["ranksvm"]["grid"] == {"C": list(RANKERS["ranksvm"].grid["C"])}
    table = run("rankers").stdout
    assert all(name in table and cls.paper in table for name, cls in RANKERS.items())


@pytest.mark.parametrize("name", RANKERS)
def test_rankers_describes_every_parameter(name):
    found = answer("rankers", name)
    own = {key: entry for key, entry in found["parameters"].items() if "." not in key}
    assert own.keys() == make_ranker(name).get_params(deep=False).keys()
    for key, entry in own.items():
        assert entry["may_be"] == describe_type(parameter_types(RANKERS[name])[key])
        assert entry["meaning"], f"{name} does not say what {key} is"
    if "scorer" in own:
        assert "scorer.hidden" in found["parameters"]
    out = run("rankers", name).stdout
    assert all(key in out for key in found["parameters"])


def test_texts_of_parameters_come_from_the_nearest_class():
    assert parameter_docs(RANKERS["ranksvm"])["C"] == "The weight of a violated pair against |w|^2."
    assert parameter_docs(RANKERS["svm-map"])["C"] == "The weight of a query's loss against |w|^2."
    assert parameter_docs(RANKERS["listnet"])["tol"].startswith("The fit has converged if")


# What is refused


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "ranksvn", "train.txt", "-o", "m"], 2, "did you mean ranksvm"),
        (["train", "ranksvm", "train.txt", "-o", "m", "--set", "c=1"], 2, "did you mean C"),
        (["train", "ranksvm", "train.txt", "-o", "m", "--set", "C"], 2, "NAME=VALUE"),
        (["train", "ranksvm", "train.txt", "-o", "m", "--set", "C=1", "--set", "C=2"], 2, "twice"),
        (["train", "ranksvm", "train.txt", "-o", "m", "--set", "C=-1"], 2, "above 0, got -1"),
        (["train", "ranknet", "train.txt", "-o", "m", "-m", "NDGC@5"], 2, "did you mean NDCG"),
        (["train", "ranksvm", "train.txt", "-o", "m", "-m", "P"], 2, "P@10"),
        (["train", "ranknet", "train.txt", "-o", "m", "--seed", "1", "--set", "seed=2"], 2, "both"),
        (["train", "ranknet", "train.txt", "-o", "m", "--seed", "-1"], 2, "seed"),
        (["train", "ranknet", "train.txt", "-o", "m", "--plot", "c.gif"], 2, ".png .svg .pdf"),
        (["train", "ranknet", "train.txt"], 2, "--out"),
        (["train", "lambdamart", "train.txt", "-o", "m", "--set", "loss=x"], 2, "unknown loss 'x'"),
        (["train", "ranknet", "train.txt", "-o", "no/m"], 1, "no folder"),
        (["train", "ranknet", "train.txt", "-o", "."], 1, "not a file"),
        (["train", "ranknet", "missing.txt", "-o", "m"], 2, "missing.txt"),
        (["train", "ranknet", "broken.txt", "-o", "m"], 1, "broken.txt:2: expected a label"),
        (["train", "ranknet", "equal.txt", "-o", "m"], 1, "all documents have the same label"),
        (["train", "ranknet", "train.txt", "-o", "m", "--valid", "wide.txt"], 1, "4 features"),
        (["tune", "ranksvm", "train.txt", "-o", "m"], 2, "--valid"),
        (["tune", "ranksvm", "train.txt", "--valid", "vali.txt", "-o", "m", "--grid", "c=1"], 2, "C?"),
        (["tune", "ranksvm", "train.txt", "--valid", "vali.txt", "-o", "m", "--grid", "C=1,x"], 2, "'x'"),
        (["tune", "ranksvm", "train.txt", "--valid", "vali.txt", "-o", "m", "-m", "x"], 2, "metric"),
        (["predict", "train.txt", "test.txt"], 1, "train.txt: this is not a podium model file"),
        (["predict", "cut.podium", "test.txt"], 1, "cut.podium: this is not a podium model file"),
        (["predict", "linear.podium", "wide.txt"], 1, "expected 4 features, as in training, got 5"),
        (["predict", "linear.podium", "test.txt", "-k", "3"], 2, "-k with a TREC run"),
        (["predict", "linear.podium", "test.txt", "--format", "npy"], 2, "-o OUT"),
        (["predict", "linear.podium", "test.txt", "-o", "s.npy.gz"], 2, "without .gz"),
        (["predict", "linear.podium", "test.txt", "-o", "s.run", "-k", "0"], 2, "-k"),
        (["predict", "linear.podium", "equal.txt", "-o", "s.run"], 1, "needs document ids"),
        (["explain", "linear.podium", "--query", "q1"], 2, "explain linear.podium DATA --query q1"),
        (["explain", "linear.podium", "--data", "test.txt"], 2, "--importance"),
        (["explain", "linear.podium", "--data", "test.txt", "--query", "x"], 2, "unknown query 'x'"),
        (["explain", "linear.podium", "--data", "test.txt", "--query", "q", "--importance"], 2, "both"),
        (["explain", "mlp.podium"], 2, "--data D --importance"),
        (["explain", "mlp.podium", "--data", "test.txt", "--query", "{q}"], 2, "an mlp has no"),
        (["rankers", "lambdamrt"], 2, "did you mean lambdamart"),
    ],
)  # fmt: skip
def test_errors_are_one_line_with_an_exit_code(files, data, arguments, code, message):
    (files / "broken.txt").write_text("0 qid:1 1:1\nx qid:1 1:1\n")
    (files / "equal.txt").write_text("1 qid:1 1:1 4:1\n1 qid:1 1:2 4:1\n")
    (files / "wide.txt").write_text("1 qid:1 1:1 5:1\n0 qid:1 1:2 5:1\n")
    (files / "cut.podium").write_bytes((files / "linear.podium").read_bytes()[:-40])
    before = sorted(files.rglob("*"))
    result = run(*(a.replace("{q}", data["test"].qids[0]) for a in arguments), code=code)
    assert message in flat(result.stderr)
    assert "Traceback" not in result.output
    assert sorted(files.rglob("*")) == before, "nothing may be written"
    if "Usage:" not in result.stderr:
        assert result.stderr.startswith("podium: ")
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


def test_features_in_another_order_are_refused(data):
    names = ["a", "b", "c", "d"]
    train = data["train"].with_features(data["train"].X, names)
    ranker = RankSVM().fit(train)
    assert len(ranker.predict(data["test"])) == len(data["test"]), "no names, no check"
    test = data["test"].with_features(data["test"].X, names[::-1])
    with pytest.raises(DataError, match=r"expected a, b, c, d, got d, c, b, a"):
        ranker.predict(test)
    with pytest.raises(DataError, match="validation data"):
        RankSVM().fit(train, valid=test)


def test_help_starts_without_scikit_learn():
    code = (
        "import sys\nfrom podium.apps.cli import main\nsys.argv = ['podium', 'train', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
    assert "Example: podium train" in done.stdout


def test_a_terminal_shows_how_training_goes(monkeypatch, capsys):
    from podium.apps.cli.outputs import progress
    from podium.rankers import FitStep

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.training_bar("listnet 1/2") as (advance, say):
        advance(FitStep("listnet", 3, 10, 0.25, "NDCG@10", 0.5))
        say("listnet 2/2")
        advance(FitStep("listnet", 4, 10, 0.125, "NDCG@10", 0.75))
    shown = capsys.readouterr().err
    assert "listnet 2/2" in shown
    assert "4/10" in shown
    assert "objective 0.125  NDCG@10 0.7500" in shown


# What production has: documents without labels, scores in a table


def test_parquet_without_labels_is_scored_and_its_scores_are_evaluated(files, data):
    run("train", "ranksvm", "train.txt", "-o", "m.podium")
    frame = data["test"].to_frame()
    frame.drop(columns=["label"]).to_parquet("bare.parquet")
    run("predict", "m.podium", "bare.parquet", "-o", "bare.scores")
    run("predict", "m.podium", "test.txt", "-o", "scores.parquet")
    assert (np.loadtxt("bare.scores") == load("m.podium").predict(data["test"])).all()
    found = answer("evaluate", "test.txt", "scores.parquet", "-m", "NDCG@10")["scores.parquet"]
    want = podium.evaluate(data["test"], load("m.podium").predict(data["test"]), "NDCG@10")
    assert found["mean"]["NDCG@10"] == want["NDCG@10"].mean
    result = run("evaluate", "test.txt", "bare.parquet", code=1)
    assert "expected a column score" in result.stderr


@pytest.mark.parametrize("command", ["train", "tune", "predict"])
def test_no_input_is_written_over(files, command):
    run("train", "ranksvm", "train.txt", "-o", "m.podium")
    before = (files / "train.txt").read_bytes()
    arguments = {
        "train": ["ranksvm", "train.txt"],
        "tune": ["ranksvm", "train.txt", "--valid", "vali.txt"],
        "predict": ["m.podium", "train.txt"],
    }[command]
    result = run(command, *arguments, "-o", "train.txt", code=1)
    assert "it is one of the files to be read" in result.stderr
    assert (files / "train.txt").read_bytes() == before


# Degrees


@pytest.fixture(scope="module")
def graded(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("degrees")
    podium.write_letor(data["train"], path / "train.txt")
    podium.write_letor(data["test"], path / "test.txt")
    run("train", "ordinal", path / "train.txt", "-o", path / "ordinal.podium")
    clusters = ["--set", "n_clusters=2"]
    run("train", "rpc-mtl", path / "train.txt", "-o", path / "rpc-mtl.podium", *clusters)
    run("train", "regression", path / "train.txt", "-o", path / "plain.podium")
    return path


@pytest.mark.parametrize("name", ["ordinal", "rpc-mtl"])
def test_predict_writes_degrees_and_probabilities(graded, tmp_path, name):
    model, test = graded / f"{name}.podium", graded / "test.txt"
    ranker, rows = load(model), podium.read_letor(graded / "test.txt")
    run("predict", model, test, "--degrees", "-o", tmp_path / "degrees.txt")
    assert read_scores(tmp_path / "degrees.txt").tolist() == ranker.predict_degree(rows).tolist()
    run("predict", model, test, "--probabilities", "-o", tmp_path / "p.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), ranker.predict_proba(rows))
    text = run("predict", model, test, "--probabilities").stdout
    lines = [[float(word) for word in line.split()] for line in text.splitlines()]
    np.testing.assert_array_equal(lines, ranker.predict_proba(rows))
    told = answer("predict", model, test, "--probabilities")
    degrees = ranker.degrees_ if name == "ordinal" else range(2)
    assert told["columns"] == [f"probability_{degree:g}" for degree in degrees]
    assert told["probabilities"] == ranker.predict_proba(rows).tolist()
    assert (
        answer("predict", model, test, "--degrees")["degrees"][0] == ranker.predict_degree(rows)[0]
    )


def test_columns_of_probabilities_have_exact_labels(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.tile([0.5, 1_000_000, 1_000_001], 10)
    data = podium.RankingData.from_arrays(rng.random((30, 2)), labels, qid=np.repeat(range(3), 10))
    podium.write_letor(data, tmp_path / "data.txt")
    run("train", "ordinal", tmp_path / "data.txt", "-o", tmp_path / "m.podium")
    told = answer("predict", tmp_path / "m.podium", tmp_path / "data.txt", "--probabilities")
    assert told["columns"] == [f"probability_{label}" for label in ("0.5", "1000000", "1000001")]


def test_predict_writes_probabilities_to_parquet(graded, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    model, test = graded / "ordinal.podium", graded / "test.txt"
    run("predict", model, test, "--probabilities", "-o", tmp_path / "p.parquet")
    table = parquet.read_table(tmp_path / "p.parquet").to_pydict()
    want = load(model).predict_proba(podium.read_letor(test))
    assert list(table)[-3:] == ["probability_0", "probability_1", "probability_2"]
    assert table["probability_2"] == want[:, 2].tolist()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            "plain",
            ["--degrees"],
            "--degrees with a model of ordinal or rpc-mtl, got one of regression",
        ),
        ("ordinal", ["--degrees", "--probabilities"], "--degrees or --probabilities, got both"),
        ("ordinal", ["--degrees", "--user-class", "a"], "--degrees or --user-class, got both"),
        ("ordinal", ["--probabilities", "-o", "x.run"], "got a TREC run, which has scores only"),
    ],
)
def test_what_degrees_refuse(graded, tmp_path, monkeypatch, model, options, message):
    monkeypatch.chdir(tmp_path)
    done = run("predict", graded / f"{model}.podium", graded / "test.txt", *options, code=2)
    assert message in flat(done.stderr)
