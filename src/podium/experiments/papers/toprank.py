"""Figures 2 to 4 of the TopRank paper, with the tests it leaves out.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed

from podium.data import Fold, RankingData, rotate
from podium.ensemble import Reranked, TopRank
from podium.errors import NotConvergedWarning, UnknownNameError, UsageError
from podium.experiments.papers.figures import PALETTE, BarFigure
from podium.experiments.papers.outcomes import DIGITS, Comparison, Outcome, Score, compare, scores
from podium.metrics import evaluate
from podium.rankers import RANKERS, Ranker, TopMargin, tune
from podium.rankers.models import Model
from podium.rankers.topslack import PAPER_PATH

Mode = Literal["paper", "best"]
MODES: tuple[Mode, ...] = ("paper", "best")

NAMES = {
    "regression": "Regression",
    "ranksvm": "Ranking SVM",
    "listnet": "ListNet",
    "topk-listmle": "Top-10 ListMLE",
    "topmargin": "TopMargin",
    "topslack": "TopSlack",
    "toprank": "TopRank",
}
"""Every ranker, and what the paper calls it."""
COLOURS = dict(zip(NAMES, PALETTE, strict=True))
"""The same ranker has the same colour in all figures."""
BASELINES = ("regression", "ranksvm", "listnet", "topk-listmle")
"""Those that are the same in both modes."""

REPORTED = {"P@10": ("P@1", "P@3", "P@10"), "NDCG@10": ("NDCG@1", "NDCG@3", "NDCG@10", "MAP")}
"""What rankers are trained for (equations 12 and 13) -> what is reported of them."""
POINTS = ("P@1", "P@3", "P@10", "NDCG@1", "NDCG@3", "NDCG@10")
"""The six measures of the figures; MAP is ours."""

OTHERS = ("regression", "ranksvm", "listnet", "topmargin")
"""To the paper's text on Figure 4, those that are no top-k rankers."""
FIGURES: dict[int, tuple[tuple[str, str], ...]] = {
    2: (("topslack", "topmargin"),),
    3: (("toprank", "topslack"),),
    4: tuple(("toprank", other) for other in (*OTHERS, "topk-listmle")),
}
"""Figure -> the rankers it compares."""
TITLES = {"paper": "the paper's set-up", "best": "Podium's defaults"}
QUICK_QUERIES = 20


@dataclass(frozen=True)
class Assertion:
    """What the paper says: `ranker` is above `others`, at most or all points, significantly or not."""

    figure: int
    text: str
    ranker: str
    others: tuple[str, ...]
    share: Literal["most", "all"] = "all"
    significantly: bool = False


ASSERTIONS = (
    Assertion(2, "TopSlack is better than TopMargin at most points",
              "topslack", ("topmargin",), "most"),
    Assertion(3, "TopRank is better than TopSlack at all points", "toprank", ("topslack",)),
    Assertion(4, "TopRank is significantly better than all that are no top-k rankers, at all points",
              "toprank", OTHERS, significantly=True),
    Assertion(4, "Top-10 ListMLE is significantly better than all that are no top-k rankers, at all "
              "points", "topk-listmle", OTHERS, significantly=True),
    Assertion(4, "ListNet is significantly better than Regression and Ranking SVM at all points "
              "(said of OHSUMED)", "listnet", ("regression", "ranksvm"), significantly=True),
    Assertion(4, "TopRank is better than Top-10 ListMLE at most points",
              "toprank", ("topk-listmle",), "most"),
)  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """An assertion of the paper on one data set, counted.

    Of `points` comparisons (a measure and one of the others each) the ranker is above in `better`,
    significantly above in `above` and significantly below in `below`.
    """

    figure: int
    text: str
    mode: str
    data: str
    points: int
    better: int
    above: int
    below: int
    holds: bool


@dataclass(frozen=True)
class Standing:
    """At how many of the six measures TopRank is the best and second best of Figure 4's rankers."""

    mode: str
    data: str
    best: int
    second: int


@dataclass(frozen=True)
class Progress:
    """How far a run is: a fold of a data set, trained for one metric, is done."""

    done: int
    total: int
    data: str
    fold: int
    metric: str


@dataclass(frozen=True)
class Reproduction:
    """What every ranker came to on every query, and the figures, tests and claims made of it."""

    modes: tuple[Mode, ...]
    quick: bool
    seed: int
    outcomes: tuple[Outcome, ...]

    def of(self, mode: str) -> list[Outcome]:
        """The outcomes of one mode."""
        if mode not in self.modes:
            raise UnknownNameError("mode of this reproduction", mode, self.modes)
        return [outcome for outcome in self.outcomes if outcome.mode == mode]

    def scores(self, mode: str) -> tuple[Score, ...]:
        """Means of the six measures and MAP, and their standard errors."""
        return scores(self.of(mode), (*POINTS, "MAP"))

    def comparisons(self, mode: str, pairs: Sequence[tuple[str, str]]) -> tuple[Comparison, ...]:
        """Paired tests in the six measures, corrected for all of them."""
        return compare(self.of(mode), pairs, POINTS, seed=self.seed)

    def figure(self, number: int, mode: str) -> BarFigure:
        """Figure 2, 3 or 4; call its plot()."""
        if number not in FIGURES:
            raise UsageError(f"expected figure 2, 3 or 4 of the TopRank paper, got {number!r}")
        tests = self.comparisons(mode, FIGURES[number])
        return bar_figure(number, mode, self.scores(mode), tests)

    def claims(self, mode: str) -> tuple[Claim, ...]:
        """What the paper says, data set by data set."""
        return tuple(claim for said in ASSERTIONS for claim in self._counted(said, mode))

    def _counted(self, said: Assertion, mode: str) -> Iterator[Claim]:
        drawn = any((said.ranker, other) in FIGURES[said.figure] for other in said.others)
        pairs = FIGURES[said.figure] if drawn else [(said.ranker, o) for o in said.others]
        tests = [c for c in self.comparisons(mode, pairs) if c.other in said.others]
        for data in dict.fromkeys(c.data for c in tests):
            here = [c for c in tests if c.data == data]
            better = sum(c.sign > 0 for c in here)
            above = sum(c.significant and c.sign > 0 for c in here)
            below = sum(c.significant and c.sign < 0 for c in here)
            reached = above if said.significantly else better
            holds = reached == len(here) if said.share == "all" else 2 * reached > len(here)
            yield Claim(
                said.figure, said.text, mode, data, len(here), better, above, below, bool(holds)
            )

    def standings(self, mode: str) -> tuple[Standing, ...]:
        """Where TopRank stands in Figure 4; who is equal to it is not above it."""
        means = {(s.data, s.ranker, s.measure): round(s.mean, DIGITS) for s in self.scores(mode)}
        rivals = [other for _, other in FIGURES[4]]

        def place(data: str, measure: str) -> int:
            own = means[data, "toprank", measure]
            return 1 + sum(means[data, rival, measure] > own for rival in rivals)

        places = {d: [place(d, m) for m in POINTS] for d in dict.fromkeys(d for d, _, _ in means)}
        return tuple(
            Standing(mode, d, found.count(1), found.count(2)) for d, found in places.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
        outcomes = tuple(Outcome.from_dict(outcome) for outcome in told["outcomes"])
        return cls(tuple(told["modes"]), told["quick"], told["seed"], outcomes)


def bar_figure(
    number: int, mode: str, means: Sequence[Score], tests: Sequence[Comparison]
) -> BarFigure:
    """Figure 2, 3 or 4 of these means and tests."""
    shown = {ranker for pair in FIGURES[number] for ranker in pair}
    return BarFigure(
        title=f"TopRank, Figure {number}, {TITLES[mode]}",
        names={ranker: name for ranker, name in NAMES.items() if ranker in shown},
        measures=POINTS,
        bars=tuple(s for s in means if s.ranker in shown and s.measure in POINTS),
        comparisons=tuple(tests),
        colours={ranker: colour for ranker, colour in COLOURS.items() if ranker in shown},
    )


def reproduce(
    data: Mapping[str, Sequence[RankingData]],
    *,
    modes: Sequence[Mode] = MODES,
    quick: bool = False,
    n_jobs: int = 1,
    callback: Callable[[Progress], object] | None = None,
    seed: int = 0,
) -> Reproduction:
    """Train and test the paper's seven rankers on the folds of LETOR.

    Every choice is made on a fold's validation queries: by P@10 where precision is reported, by
    NDCG@10 where NDCG is (MAP is reported of the latter). ``"paper"``: TopSlack with the paper's
    search and TopMargin, both for the first 10 places with C from 1e-5 to 1e5, and
    ``TopRank(mode="paper")``; ``"best"``: the same rankers with Podium's own grids and ``TopRank()``.
    Regression, Ranking SVM, ListNet and top-10 ListMLE are the same in both.

    Parameters
    ----------
    data
        Name of the data set -> its parts S1 to S5, which are rotated as LETOR does.
    modes
        "paper", "best" or both.
    quick
        A few queries of each part and no grids: to see that it works, not what comes out.
    n_jobs
        Processes; the result does not depend on it.
    callback
        Called after each fold and metric.

    Examples
    --------
    >>> from podium.data import make_synthetic, split
    >>> parts = split(make_synthetic(n_queries=60, n_docs=12, seed=0), [0.2] * 5)
    >>> found = reproduce({"generated": parts}, modes=["paper"], quick=True)
    >>> [claim.text for claim in found.claims("paper")][:1]
    ['TopSlack is better than TopMargin at most points']
    >>> found.figure(3, "paper").rankers
    ('topslack', 'toprank')
    """
    asked = _modes(modes)
    work = [
        (name, number, metric, fold)
        for name, parts in data.items()
        for number, fold in enumerate(rotate(_shortened(parts) if quick else parts), start=1)
        for metric in REPORTED
    ]
    if not work:
        raise UsageError("expected at least one data set, got none")
    cells = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(
        delayed(run_fold)(fold, metric, asked, tuned=not quick, seed=seed)
        for _, _, metric, fold in work
    )
    found: list[Cell] = []
    for (name, number, metric, _), cell in zip(work, cells, strict=True):
        found.append(cell)
        if callback is not None:
            callback(Progress(len(found), len(work), name, number, metric))
    keys = [(name, metric) for name, _, metric, _ in work]
    outcomes = tuple(
        _outcome(name, mode, ranker, keys, found)
        for name in data
        for mode in asked
        for ranker in NAMES
    )
    return Reproduction(asked, quick, seed, outcomes)


def _modes(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    for mode in modes:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    return tuple(dict.fromkeys(modes))


def _shortened(parts: Sequence[RankingData]) -> list[RankingData]:
    return [part.subset(np.arange(min(QUICK_QUERIES, part.n_queries))) for part in parts]


class Fitted(NamedTuple):
    """A model, how it was made, and why its fit stopped, where that was too early."""

    model: Model
    settings: str
    reason: str


class Tested(NamedTuple):
    """What a model came to on the test queries, by measure."""

    values: dict[str, list[float]]
    settings: str
    reason: str


Cell = dict[tuple[Mode, str], Tested]


def run_fold(
    fold: Fold, metric: str, modes: Sequence[Mode] = MODES, *, tuned: bool = True, seed: int = 0
) -> Cell:
    """Every ranker of every mode on one fold: chosen on validation, measured on test."""
    fitted = fit_rankers(fold.train, fold.valid, metric, modes, tuned=tuned, seed=seed)
    # A ranker that both modes have is measured once.
    tested = {id(found): _tested(found, fold.test, metric) for found in fitted.values()}
    return {key: tested[id(found)] for key, found in fitted.items()}


def fit_rankers(
    train: RankingData,
    valid: RankingData,
    metric: str,
    modes: Sequence[Mode] = MODES,
    *,
    tuned: bool = True,
    seed: int = 0,
) -> dict[tuple[Mode, str], Fitted]:
    """(mode, ranker) -> its model, settings chosen on the validation queries.

    TopRank fits TopSlack and voters on its way, as they would be tuned alone: those are taken.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # told in the results
        votes = {
            mode: TopRank(mode=mode, metric=metric, tuned=tuned, seed=seed).fit(train, valid=valid)
            for mode in modes
        }
        known = {
            (mode, m.name): Fitted(m.model, m.settings, m.reason)
            for mode, vote in votes.items()
            for m in vote.model_.members  # type: ignore[attr-defined]
        }
        shared = {name: found for (_, name), found in known.items() if name in BASELINES}
        for name in BASELINES:
            if name not in shared:
                shared[name] = _tuned(RANKERS[name](), train, valid, metric, tuned, seed)
        out: dict[tuple[Mode, str], Fitted] = {}
        for mode, vote in votes.items():
            margin, grid = _margin(mode, metric)
            out |= {(mode, name): found for name, found in shared.items()}
            out[mode, "topmargin"] = _tuned(margin, train, valid, metric, tuned, seed, grid)
            out[mode, "topslack"] = known[mode, "topslack"]
            out[mode, "toprank"] = Fitted(vote.model_, _described(vote.model_), vote.stopped_)
    return out


def _margin(mode: Mode, metric: str) -> tuple[Ranker, Mapping[str, Sequence[Any]]]:
    """TopMargin with what TopRank's base has in this mode."""
    if mode == "paper":
        return TopMargin(measure=metric), {"C": PAPER_PATH}
    return TopMargin(), TopMargin.grid


def _tuned(
    ranker: Ranker,
    train: RankingData,
    valid: RankingData,
    metric: str,
    tuned: bool,
    seed: int,
    grid: Mapping[str, Sequence[Any]] | None = None,
) -> Fitted:
    if "seed" in ranker.get_params(deep=False):
        ranker.set_params(seed=seed)
    found = tune(ranker, train, valid, metric, grid if tuned else {}).ranker
    return Fitted(found.model_, repr(found), "" if found.converged_ else found.stopped_)


def _described(model: Model) -> str:
    assert isinstance(model, Reranked)
    votes = ", ".join(f"{model.members[a].name} {model.weights[a]:.3f}" for a in model.voters)
    return f"t={model.t}, depth={model.depth}; votes: {votes}"


def _tested(found: Fitted, test: RankingData, metric: str) -> Tested:
    result = evaluate(test, found.model.scores(test.X, test.groups), REPORTED[metric])
    values = {m: result[m].per_query.tolist() for m in REPORTED[metric]}
    return Tested(values, found.settings, found.reason)


def _outcome(
    name: str, mode: Mode, ranker: str, keys: Sequence[tuple[str, str]], cells: Sequence[Cell]
) -> Outcome:
    """A ranker's folds put together, query by query."""
    values, settings, unfinished = {}, {}, {}
    for metric, measures in REPORTED.items():
        key = (name, metric)
        own = [c[mode, ranker] for k, c in zip(keys, cells, strict=True) if k == key]
        settings[metric] = tuple(t.settings for t in own)
        unfinished[metric] = tuple(t.reason for t in own if t.reason)
        for measure in measures:
            values[measure] = tuple(v for t in own for v in t.values[measure])
    return Outcome(name, mode, ranker, values, settings, unfinished)
