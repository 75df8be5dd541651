"""Pictures of a report: for each question, one picture or one per ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.experiments import svg_drawings
from podium.experiments.comparison_result import ComparisonResult
from podium.experiments.fold_results import FoldResult, TriedSetting
from podium.experiments.svg_drawings import Drawing, RankerCurve

MAX_FEATURES_SHOWN = 12
MAX_CLEAR_CURVES = 8
"""The number of curves that readers can distinguish; with more, only the best and the baseline stand out."""
N_FRONT_RANKERS = 3


@dataclass(frozen=True)
class Picture:
    """A drawing with a title and a note."""

    title: str
    drawing: Drawing
    note: str = ""


@dataclass(frozen=True)
class ReportPictures:
    """The pictures of a report."""

    report: ComparisonResult

    def _name(self, kind: str, ranker: str = "") -> str:
        return f"{kind}{self.report.rankers.index(ranker) if ranker else ''}"

    def intervals(self) -> Picture:
        """Draw the means of the first metric and their intervals."""
        report = self.report
        order = [r for r in report.ranking() if report.standing(r).mean is not None]
        summaries = [report.standing(ranker) for ranker in order]
        alt = f"{report.main} with 95% intervals: " + ", ".join(
            f"{s.ranker} {s.mean:.3f} ({s.low:.3f} to {s.high:.3f})" for s in summaries
        )
        drawing = svg_drawings.intervals(
            order, [report.rankers.index(r) for r in order], [s.mean for s in summaries],
            [s.low for s in summaries], [s.high for s in summaries], report.standing(report.baseline).mean,
            report.main, alt, self._name("intervals"),
        )  # fmt: skip
        return Picture(f"{report.main}, mean and 95% interval", drawing)

    def curves(self) -> Picture:
        """Draw NDCG at 1 to 10 places."""
        report = self.report
        values = {ranker: report.curve_of(ranker) for ranker in report.rankers}
        drawn = {ranker: curve for ranker, curve in values.items() if curve}
        places = range(1, max(map(len, drawn.values())) + 1)
        curves = [
            RankerCurve(
                report.rankers.index(ranker),
                list(places),
                curve,
                dots=True,
                title=f"{ranker}, {report.curve}",
                is_dim=ranker not in front_rankers(report),
            )
            for ranker, curve in drawn.items()
        ]
        ends = ", ".join(
            f"{ranker} {curve[0]:.3f} to {curve[-1]:.3f}"
            for ranker, curve in drawn.items()
            if curve[0] is not None and curve[-1] is not None
        )
        alt = f"{report.curve} from the first place to the first {len(places)}: {ends}"
        drawing = svg_drawings.lines(
            curves, "places k", f"{report.curve}@k", alt, self._name("curves"), whole=True
        )
        return Picture(f"{report.curve}@1 to @{len(places)}", drawing)

    def differences(self) -> Iterator[Picture]:
        """Draw the differences from the baseline, query by query."""
        report = self.report
        base = report.per_query(report.baseline)
        for ranker in report.rankers:
            difference = report.standing(ranker).difference
            if difference is None:
                continue
            alt = (
                f"{ranker} minus {report.baseline} in {report.main}, query by query: "
                f"{difference.wins} better, {difference.ties} equal, {difference.losses} worse"
            )
            drawing = svg_drawings.differences(
                report.per_query(ranker) - base, "difference", alt, self._name("gains", ranker)
            )
            note = f"{difference.wins} better, {difference.ties} equal, {difference.losses} worse"
            yield Picture(ranker, drawing, note)

    def learning(self) -> Iterator[Picture]:
        """Draw the validation metric by iteration, one line per fold; a dot marks the best iteration."""
        for ranker in self.report.rankers:
            curves, marks = [], []
            series = self.report.rankers.index(ranker)
            for cell in self.report.cells_of(ranker):
                learning = cell.learning
                points = dict(zip(learning.iteration, learning.valid, strict=True))
                if sum(value is not None for value in points.values()) < 2:
                    continue
                curves.append(RankerCurve(series, list(points), list(points.values()), thin=True))
                best = learning.best
                value = None if best is None else points.get(best)
                if best is not None and value is not None:
                    marks.append((series, float(best), value))
            if curves:
                most = max(max(curve.x) for curve in curves)
                alt = (
                    f"{ranker}: the metric on validation queries over {most:,} iterations, by fold"
                )
                drawing = svg_drawings.lines(
                    curves, "iteration", "validation", alt, self._name("learning", ranker),
                    small=True, marks=marks, whole=True,
                )  # fmt: skip
                yield Picture(ranker, drawing)

    def tuning(self) -> Iterator[Picture]:
        """Draw the validation metric by the setting with the most values, such as beta, C or l2."""
        for ranker in self.report.rankers:
            cells = [cell for cell in self.report.cells_of(ranker) if cell.tried]
            setting = _finest_setting(cells)
            if setting is None:
                continue
            series = self.report.rankers.index(ranker)
            by_fold = [_best_values(cell.tried, setting) for cell in cells]
            x = sorted(set.intersection(*map(set, by_fold)))
            folds = [RankerCurve(series, x, [best[v] for v in x], thin=True) for best in by_fold]
            mean = [float(np.mean([best[v] for best in by_fold])) for v in x]
            best = int(np.argmax(mean))
            alt = (
                f"{ranker}: {self.report.main} on validation queries by {setting} from "
                f"{x[0]:g} to {x[-1]:g}; the mean over folds is best at {x[best]:g}, "
                f"{mean[best]:.3f}"
            )
            drawing = svg_drawings.lines(
                [*folds, RankerCurve(series, x, mean)], setting, "validation", alt,
                self._name("tuning", ranker), small=True, marks=[(series, x[best], mean[best])],
                log=x[0] > 0 and x[-1] / x[0] >= 100,
            )  # fmt: skip
            note = f"best mean: {setting} = {x[best]:g}"
            yield Picture(f"{ranker}: {setting}", drawing, note)

    def features(self) -> Iterator[Picture]:
        """Draw the features that models use most: weights of linear models, importances of others."""
        for ranker in self.report.rankers:
            cells = [cell for cell in self.report.cells_of(ranker) if cell.features]
            if not cells:
                continue
            names = dict.fromkeys(name for cell in cells for name in cell.features)
            table = {name: [cell.features.get(name, 0.0) for cell in cells] for name in names}
            mean = {name: float(np.mean(values)) for name, values in table.items()}
            top = sorted(mean, key=lambda name: -abs(mean[name]))[:MAX_FEATURES_SHOWN]
            quantity = "weight" if cells[0].signed else "importance"
            alt = f"{ranker}: mean {quantity} over folds: " + ", ".join(
                f"{name} {mean[name]:.3g}" for name in top[:6]
            )
            drawing = svg_drawings.bars(
                top, [mean[n] for n in top], [min(table[n]) for n in top],
                [max(table[n]) for n in top], quantity, alt, self._name("features", ranker),
            )  # fmt: skip
            yield Picture(ranker, drawing)


def front_rankers(report: ComparisonResult) -> tuple[str, ...]:
    """Return the rankers whose curves stand out: all if there are few, else the baseline and the best."""
    if len(report.rankers) <= MAX_CLEAR_CURVES:
        return report.rankers
    return (report.baseline, *report.ranking()[:N_FRONT_RANKERS])


def _finest_setting(cells: Sequence[FoldResult]) -> str | None:
    """Return the numeric setting with the most values, if it has at least three."""
    values: dict[str, set[float]] = {}
    for tried in (trial for cell in cells for trial in cell.tried):
        for name, value in tried.settings.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, set()).add(value)
    enough = {name: len(own) for name, own in values.items() if len(own) > 2}
    return max(enough, key=lambda name: enough[name]) if enough else None


def _best_values(tried: Sequence[TriedSetting], setting: str) -> Mapping[float, float]:
    """Return the best metric for each value of a setting, over the values of other settings."""
    best: dict[float, float] = {}
    for trial in tried:
        at = trial.settings.get(setting)
        if isinstance(at, int | float) and trial.value is not None:
            best[at] = max(best.get(at, -np.inf), trial.value)
    return best
