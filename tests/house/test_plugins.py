"""Other packages' rankers, aggregators and the rest: by entry points, and never breaking podium."""

import json
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from podium.data import make_synthetic, write_letor
from podium.errors import PluginWarning
from podium.plugins import Registry, check_function, subclasses_of
from tests.support.forked_code import run_code

MODULE = """
from dataclasses import dataclass
import numpy as np
from podium.aggregation import PointAggregator
from podium.labelling import Strategy
from podium.metrics import Metric
from podium.postranking import Rule, WindowConstraint
from podium.rankers import FitResult, Linear, Ranker, RankSVM
from podium.losses import QueryLoss

@dataclass(frozen=True)
class LastIsFirst(PointAggregator):
    name = "last-is-first"
    paper = "none"
    def points(self, rankings):
        return np.nan_to_num(rankings.places)

@dataclass(eq=False)
class StiffSVM(RankSVM):
    '''RankSVM with a small C.'''
    name = "stiff-svm"
    C: float = 1e-3

@dataclass(frozen=True, eq=False)
class Signs(Linear):
    kind = "signs"

@dataclass(eq=False)
class SignRanker(Ranker):
    '''The signs of covariances, scaled.'''
    name = "sign-ranker"
    paper = "none"
    grid = {"scale": (0.5, 2.0)}
    scale: float = 1.0
    def learn(self, train, monitor, start):
        gap = train.X.T @ (train.y - train.y.mean())
        return FitResult(Signs(self.scale * np.sign(gap)))

@dataclass(frozen=True, repr=False)
class OnFirstPlaces(Rule):
    kind = "on-first-places"
    roles = ("doc",)
    wishes = (-1,)
    doc: str
    places: int
    def slack(self, bound_rule, place):
        return max((max(place[row] - self.places, 0) for row in bound_rule.rows), default=0)
    def constraints(self, bound_rule):
        for row in bound_rule.rows:
            yield WindowConstraint(row, 1, self.places)
    def prefer(self, bound_rule, preferences):
        preferences.promote(bound_rule.rows, self.places, self.weight)

class Selection(Strategy):
    name = "selection"
    def find_top_k(self):
        left, top = list(self.order), []
        while left and len(top) < self.k:
            best = left[0]
            for other in left[1:]:
                if (yield other, best) > 0:
                    best = other
            left.remove(best)
            top.append(best)
        return top
    def remaining(self, gone, skip_implied):
        return float(self.bound(len(self.order), self.k))
    @staticmethod
    def _bound(n, k, prior):
        return sum(n - 1 - i for i in range(k))

@dataclass(frozen=True, kw_only=True)
class Always(Metric):
    name = "Always"
    aliases = ("one",)
    formula = "1"
    def values(self, lists):
        return np.ones(len(lists.lengths()))
    def blank(self, lists):
        return np.zeros(len(lists.lengths()), dtype=bool)

class Gap(QueryLoss):
    name = "gap"
    def query(self, scores, labels):
        return 0.0, np.zeros(len(scores))

def shout(portable, name):
    raise ValueError
"""
ENTRY_POINTS = """
[podium.aggregators]
last-is-first = strangers:LastIsFirst
borda = strangers:LastIsFirst
broken = strangers:Nothing
[podium.rankers]
stiff-svm = strangers:StiffSVM
wrong = strangers:LastIsFirst
missing = no_such_module:Ranker
imported = strangers:StiffSVM
quits = quitter:Ranker
sign-ranker = strangers:SignRanker
[podium.models]
signs = strangers:Signs
[podium.rules]
on-first-places = strangers:OnFirstPlaces
[podium.strategies]
selection = strangers:Selection
[podium.metrics]
Always = strangers:Always
[podium.losses]
gap = strangers:Gap
[podium.exporters]
shout = strangers:shout
"""


@pytest.fixture
def strangers(tmp_path):
    """A folder with an installed package, as pip leaves one."""
    (tmp_path / "strangers.py").write_text(MODULE)
    (tmp_path / "quitter.py").write_text("import sys\nsys.exit(3)\n")
    info = tmp_path / "strangers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


def run(strangers, code):
    return run_code(f"import sys\nsys.path.insert(0, {str(strangers)!r})\n{code}")


def test_plugins_are_in_the_registries_and_broken_ones_are_named(strangers):
    code = (
        "import json, warnings, podium\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    names = [list(r)[-1] for r in (podium.AGGREGATORS, podium.RANKERS, podium.METRICS,\n"
        "             podium.LOSSES, podium.EXPORTERS)]\n"
        "print(json.dumps([names, [str(w.message) for w in caught], \n"
        "    [w.category.__name__ for w in caught],\n"
        "    list(podium.aggregate([['a', 'b', 'c']], 'last-is-first')),\n"
        "    str(podium.metrics.parse('one@3')), podium.AGGREGATORS['borda'].__module__]))\n"
    )
    done = run(strangers, code)
    assert done.returncode == 0, done.stderr
    names, messages, kinds, order, metric, borda = json.loads(done.stdout)
    assert names == ["last-is-first", "stiff-svm", "Always", "gap", "shout"]
    assert order == ["c", "b", "a"]
    assert metric == "Always@3"
    assert borda == "podium.aggregation.borda"
    assert set(kinds) == {"PluginWarning"}
    problems = {message.split("'")[1]: message for message in messages}
    assert set(problems) == {"borda", "broken", "wrong", "missing", "imported", "quits"}
    assert problems["borda"] == (
        "left out the plug-in 'borda' of strangers (podium.aggregators, strangers:LastIsFirst): "
        "the name is taken"
    )
    assert problems["imported"].endswith("the name is taken")
    assert problems["quits"].endswith("SystemExit: 3")
    assert "AttributeError" in problems["broken"]
    assert "expected a subclass of podium.rankers.ranker.Ranker" in problems["wrong"]
    assert "ModuleNotFoundError: No module named 'no_such_module'" in problems["missing"]


def run_commands(strangers, commands):
    """Run commands of podium in one process, each of which must succeed."""
    code = (
        "from podium.apps.cli import app\n"
        f"for words in {commands!r}:\n"
        "    assert app(words, standalone_mode=False) in (None, 0)\n"
    )
    done = run(strangers, code)
    assert done.returncode == 0, done.stderr
    return done


def test_a_ranker_of_another_package_is_trained_saved_and_loaded(strangers, tmp_path):
    (tmp_path / "train.txt").write_text("2 qid:1 1:3\n1 qid:1 1:2\n0 qid:1 1:1\n")
    model, data, scores = (str(tmp_path / name) for name in ("m.podium", "train.txt", "scores.txt"))
    done = run_commands(strangers, [
        ["train", "stiff-svm", data, "-o", model], ["predict", model, data, "-o", scores], ["rankers"],
    ])  # fmt: skip
    values = [float(line) for line in Path(scores).read_text().split()]
    assert values[0] > values[1] > values[2]
    assert "stiff-svm" in done.stdout


def test_a_warning_of_a_plugin_is_one_line_of_the_command(strangers):
    lines = run_commands(strangers, [["rankers", "--json"]]).stderr.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("podium: warning: left out the plug-in '") for line in lines)
    assert (
        "podium: warning: left out the plug-in 'missing' of strangers (podium.rankers, " in lines[1]
    )


def test_a_ranker_with_models_of_its_own_is_compared_tuned_and_loaded(strangers, tmp_path):
    train, valid = str(tmp_path / "train.txt"), str(tmp_path / "valid.txt")
    for seed, path in enumerate((train, valid)):
        write_letor(make_synthetic(n_queries=12, seed=seed), path)
    model, scores, report = (str(tmp_path / name) for name in ("m.podium", "s.txt", "report"))
    run_commands(strangers, [
        ["tune", "sign-ranker", train, "--valid", valid, "-o", model],
        ["predict", model, valid, "-o", scores],
        ["compare", train, "--rankers", "regression,sign-ranker", "--folds", "2", "--out", report],
    ])  # fmt: skip
    values = [float(line) for line in Path(scores).read_text().split()]
    assert len(values) == len(make_synthetic(n_queries=12, seed=1))
    assert len(set(values)) > 1
    summary = json.loads((tmp_path / "report" / "report.json").read_text())
    assert "sign-ranker" in json.dumps(summary)


def test_a_rule_of_another_package_is_read_checked_and_applied(strangers, tmp_path):
    rules, ranked, ruled = (str(tmp_path / name) for name in ("rules.yaml", "run.txt", "ruled.txt"))
    Path(rules).write_text(
        "version: 1\nrules:\n- {rule: on-first-places, docs: c, places: 1, hard: true}\n"
    )
    Path(ranked).write_text(
        "".join(f"1 Q0 {doc} {at} {9 - at} run\n" for at, doc in enumerate("abc", start=1))
    )
    run_commands(strangers, [
        ["rules", "check", rules], ["postrank", ranked, "--rules", rules, "-o", ruled],
    ])  # fmt: skip
    assert [line.split()[2] for line in Path(ruled).read_text().splitlines()] == ["c", "a", "b"]


def test_a_strategy_of_another_package_is_simulated(strangers):
    done = run_commands(strangers, [
        ["judge", "simulate", "selection", "-n", "6", "-k", "2", "--runs", "3", "--ask-implied",
         "--json"],
    ])  # fmt: skip
    (row,) = json.loads(done.stdout)
    # The best of six takes 5 questions, the best of the other five 4.
    assert row["strategy"] == "selection"
    assert row["judgments"] == [5 + 4] * 3


def test_names_of_podium_ask_for_no_plugins(monkeypatch):
    monkeypatch.setattr("podium.plugins.entry_points", lambda group: pytest.fail("asked"))
    registry = Registry("podium.nothing", {"a": 1}, check_function)
    assert registry["a"] == 1
    assert "a" in registry


def test_a_plugin_may_ask_for_all_names_while_it_is_loaded(monkeypatch):
    class Entry:
        name, value, dist = "b", "x:y", None

        def load(self):
            assert list(registry) == ["a"]
            return abs

    monkeypatch.setattr("podium.plugins.entry_points", lambda group: [Entry()])
    registry = Registry("podium.nothing", {"a": max}, check_function)
    assert dict(registry) == {"a": max, "b": abs}
    assert repr(registry) == "Registry('podium.nothing': a, b)"


def test_what_is_no_class_or_function_is_left_out(monkeypatch):
    class Entry:
        name, value, dist = "b", "x:y", None

        def load(self):
            return 3

    monkeypatch.setattr("podium.plugins.entry_points", lambda group: [Entry()])
    for check in (check_function, subclasses_of(int)):
        registry = Registry("podium.nothing", {"a": max}, check)
        with pytest.warns(PluginWarning, match="of an unnamed package .*: expected"):
            assert list(registry) == ["a"]


def test_two_threads_that_load_at_once_do_not_wait_for_each_other(monkeypatch):
    """One thread imports a plug-in that lists the registry, while another lists it."""
    both_load = threading.Barrier(2, timeout=30)

    class Entry:
        name, value, dist = "b", "x:y", None

        def load(self):
            both_load.wait()
            assert "a" in list(registry)
            return abs

    monkeypatch.setattr("podium.plugins.entry_points", lambda group: [Entry()])
    registry = Registry("podium.nothing", {"a": max}, check_function)
    with ThreadPoolExecutor(2) as threads:
        lists = [threads.submit(list, registry) for _ in range(2)]
        assert [one.result(timeout=60) for one in lists] == [["a", "b"]] * 2


def test_a_warning_that_is_an_error_leaves_the_other_plugins(monkeypatch):
    class Entry:
        value, dist = "x:y", None

        def __init__(self, name, target):
            self.name, self.load = name, lambda: target

    entries = [Entry("bad", 3), Entry("good", abs)]
    monkeypatch.setattr("podium.plugins.entry_points", lambda group: entries)
    registry = Registry("podium.nothing", {}, check_function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PluginWarning)
        with pytest.raises(PluginWarning, match="'bad'"):
            list(registry)
    assert list(registry) == ["good"]
