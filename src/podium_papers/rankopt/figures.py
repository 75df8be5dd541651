"""Figures 3 to 6 and 8 to 11 of the post-ranking paper, and one of wrong rules.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.errors import require
from podium.experiments import PALETTE
from podium_papers.bar_figures import BarFigure
from podium_papers.comparisons import MeanScore, PairedComparison
from podium_papers.curve_figures import CurveFigure, Panel
from podium_papers.rankopt.claims import (
    BASE,
    DEPTHS,
    HEURISTICS,
    NAMES,
    WEIGHT_GRID,
    WRONG_SHARES,
    ExampleList,
    weight_case,
    wrong_cases,
)
from podium_papers.rankopt.drawn_rules import RuleCase
from podium_papers.rankopt.lists_under_rules import MEASURES

BAR_METHODS = (BASE, *HEURISTICS, "algorithm-1", "uniform", "margin")
CURVE_METHODS = (BASE, *HEURISTICS, "uniform", "margin")
BLACK = "#000000"
COLOURS = {
    **dict(zip((BASE, *HEURISTICS), PALETTE, strict=False)),
    "algorithm-1": BLACK,
    "uniform": PALETTE[5],
    "margin": PALETTE[6],
}
"""The same method has the same colour in all figures."""
SHORT_NAMES = {"uniform": "Uniform", "margin": "Margin"}
RULE_TYPE_NAMES = {
    "none": "No rules",
    "not-top-10": "Not-top-10 rule",
    "top-5": "Top-5 rule",
    "both": "Both rules",
}

Means = Mapping[str, Sequence[MeanScore]]
"""Case -> the means of its methods; the base ranker's case is empty."""


def combination_figure(
    case: RuleCase, means: Sequence[MeanScore], tests: Sequence[PairedComparison]
) -> BarFigure:
    """Return a figure of 3 to 6: every method under one combination of rules."""
    return BarFigure(
        title=f"Ranking optimization, {case}",
        names={
            m: SHORT_NAMES.get(m, NAMES[m])
            for m in BAR_METHODS
            if any(s.ranker == m for s in means)
        },
        measures=MEASURES,
        bars=tuple(s for s in means if s.ranker in BAR_METHODS),
        comparisons=tuple(tests),
        colours={m: COLOURS[m] for m in BAR_METHODS},
    )


def types_figure(means: Sequence[MeanScore], tests: Sequence[PairedComparison]) -> BarFigure:
    """Return Figure 10: no rule, either and both, named as in `RULE_TYPE_NAMES`."""
    colours = dict(
        zip(RULE_TYPE_NAMES, (PALETTE[0], PALETTE[2], PALETTE[1], PALETTE[6]), strict=True)
    )
    return BarFigure(
        "Figure 10: types of rules (RankOpt, margin)", RULE_TYPE_NAMES, MEASURES, tuple(means), tuple(tests),
        colours,
    )  # fmt: skip


def depths_figure(means: Means) -> CurveFigure:
    """Return Figure 9: NDCG@1 along k, for each rule alone."""
    panels = [
        Panel(f"{data}, {kind} rule", "k", tuple(map(float, DEPTHS)),
              _curves(means, data, cases, "NDCG@1"))
        for kind, cases in (
            ("top-k", [str(RuleCase(k, None)) for k in DEPTHS]),
            ("not-top-k", [str(RuleCase(None, k)) for k in DEPTHS]),
        )
        for data in _data(means)
    ]  # fmt: skip
    return _method_curves("Figure 9: the place k that rules name", "NDCG@1", panels)


def wrong_figure(means: Means) -> CurveFigure:
    """Return NDCG@1 and NDCG@5 along the share of wrong rules."""
    panels = [
        Panel(f"{data}, {measure}", "share of wrong rules", WRONG_SHARES,
              _curves(means, data, wrong_cases(), measure))
        for measure in ("NDCG@1", "NDCG@5")
        for data in _data(means)
    ]  # fmt: skip
    return _method_curves("Wrong rules (top-3, not-top-5)", "mean over queries", panels)


def weights_figure(means: Means, form: str = "margin") -> CurveFigure:
    """Return Figure 11: NDCG@1, @3 and @5 along one weight, the other as chosen."""
    panels = [
        Panel(
            f"{data}, {weight}", weight, WEIGHT_GRID,
            {
                m: _curves(means, data, [weight_case(weight, v) for v in WEIGHT_GRID], m)[form]
                for m in MEASURES
            },
            log=True,
        )
        for weight in ("rho_t", "rho_n")
        for data in _data(means)
    ]  # fmt: skip
    colours = dict(zip(MEASURES, (PALETTE[6], PALETTE[5], PALETTE[3]), strict=True))
    names = dict(zip(MEASURES, MEASURES, strict=True))
    title = f"Figure 11: weights of the rules ({form}; top-3, not-top-5)"
    return CurveFigure(title, "mean over queries", names, colours, tuple(panels), len(_data(means)))


def _method_curves(title: str, label: str, panels: Sequence[Panel]) -> CurveFigure:
    names = {m: NAMES[m] for m in CURVE_METHODS}
    colours = {m: COLOURS[m] for m in CURVE_METHODS}
    return CurveFigure(title, label, names, colours, tuple(panels), len(panels) // 2)


def _data(means: Means) -> tuple[str, ...]:
    return tuple(dict.fromkeys(score.data for score in means[""]))


def _curves(
    means: Means, data: str, cases: Sequence[str], measure: str
) -> dict[str, tuple[float, ...]]:
    """Return by method its mean in each of the cases."""
    curves: dict[str, list[float]] = {}
    for case in cases:
        for score in (*means[""], *means[case]):
            if score.data == data and score.measure == measure:
                curves.setdefault(score.ranker, []).append(score.mean)
    return {method: tuple(values) for method, values in curves.items()}


def examples_figure(examples: Sequence[ExampleList]) -> Any:
    """Draw Figure 8: lists before and after rules, the best document on the left; a matplotlib Figure.

    Empty blocks are documents that are not relevant, grey ones partially relevant, black ones relevant.
    t marks the document to promote, n the one to demote.
    """
    library = require("matplotlib.figure", "report", "drawing a figure")
    patches = require("matplotlib.patches", "report", "drawing a figure")
    titles = {"helpful": "t is relevant", "wrong": "t is not relevant"}
    height = 0.42 * sum(len(e.rankings) for e in examples) + 0.8 * len(examples)
    figure = library.Figure(figsize=(8.5, max(height, 1.0)), layout="constrained")
    figure.set_facecolor("white")
    axes = figure.subplots(max(len(examples), 1), 1, squeeze=False)[:, 0]
    for example, ax in zip(examples, axes, strict=False):
        for at, ranking in enumerate(example.rankings.values()):
            for place, (label, mark) in enumerate(ranking):
                face = ("white", "#AAAAAA", "#222222")[min(label, 2)]
                ax.add_patch(
                    patches.Rectangle((place, -at), 0.9, 0.75, facecolor=face, edgecolor="#444444")
                )
                ink = "white" if label > 1 else "black"
                ax.text(place + 0.45, 0.36 - at, mark, ha="center", va="center", color=ink)
        n = max(len(r) for r in example.rankings.values())
        names = [NAMES[m] for m in example.rankings]
        ax.set(xlim=(-0.2, n + 0.2), ylim=(0.2 - len(names), 1.0))
        ax.set_yticks([0.36 - at for at in range(len(names))], names, fontsize="small")
        ax.set_xticks([])
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        text = f"{example.data}, query {example.query}, {example.case}: {titles[example.kind]}"
        # matplotlib would read a dollar sign in an id as the start of a formula.
        ax.set_title(text.replace("$", r"\$"), fontsize="medium", loc="left")
    return figure
