"""A report as tables: plain text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from podium.experiments.summary import LEVEL, RankerSummary
from podium.metrics.naming import parse

if TYPE_CHECKING:
    from podium.experiments.report import Report

Row = list[str]
DASH = "-"


def headline(report: Report) -> str:
    """What was compared on, in a line."""
    facts = report.data
    where = f"{facts.name}: " if facts.name else ""
    return (
        f"{where}{facts.n_queries:,} queries, {facts.n_documents:,} documents, "
        f"{facts.n_features:,} features, {len(report.folds)} folds"
    )


def notes(report: Report) -> list[str]:
    """What one must know to read the table."""
    lines = [
        f"Means over test queries with 95% bootstrap intervals; settings "
        f"{'chosen by ' + report.main + ' on validation queries' if report.tuned else 'not tuned'}; "
        f"seed {report.seed}, podium {report.version}."
    ]
    averaged = [metric for metric in report.metrics if _averaged(report, metric)]
    if averaged:
        where = "" if len(averaged) == len(report.metrics) else f" in {', '.join(averaged)}"
        lines.append(f"Equal scores count in the mean over their orders{where} (ties='average').")
    if len(report.rankers) > 1:
        lines.append(
            f"▲ ▼: better, worse than {report.baseline}, p < {LEVEL:g} (paired permutation test, "
            f"correction: {report.correction})."
        )
        if all(cell.error is not None for cell in report.cells_of(report.baseline)):
            lines.append(
                f"{report.baseline} failed in every fold, so that nothing is tested against it; "
                "another baseline may be named."
            )
    return lines


def _averaged(report: Report, metric: str) -> bool:
    measured = parse(report.measured.get(metric, metric))
    return measured.convention().get("ties") == "average"


def failures(report: Report) -> list[str]:
    """Which ranker failed where, and why."""
    return [f"{cell.ranker} failed in fold {cell.fold}: {cell.error}" for cell in report.failed]


def means(report: Report) -> tuple[Row, list[Row]]:
    """Rankers by metrics, in the order they were given, and times where they are known."""
    headers = ["ranker", *report.metrics]
    rows = [
        [
            named(report, ranker),
            *(value(report, report.standing(ranker, m)) for m in report.metrics),
        ]
        for ranker in report.rankers
    ]
    if report.times:
        headers += ["training", "prediction"]
        for ranker, row in zip(report.rankers, rows, strict=True):
            took = report.seconds(ranker)
            row += (
                [DASH, DASH] if took is None else [f"{duration(took[0])}/fold", duration(took[1])]
            )
    return headers, rows


def tests(report: Report) -> tuple[Row, list[Row]]:
    """Every ranker against the baseline in every metric."""
    headers = ["ranker", "metric", "difference", "p", "p corrected", "wins/ties/losses"]
    rows = [
        [
            standing.ranker, standing.metric, f"{d.mean:+.4f}{d.mark}", f"{d.p_value:.4f}",
            f"{d.adjusted:.4f}", f"{d.wins}/{d.ties}/{d.losses}",
        ]
        for standing in report.standings
        if (d := standing.difference) is not None
    ]  # fmt: skip
    return headers, rows


def by_fold(report: Report, metric: str) -> tuple[Row, list[Row]]:
    """A metric fold by fold."""
    headers = ["ranker", *(f"fold {part.number}" for part in report.folds), "mean"]
    rows = []
    for ranker in report.rankers:
        standing = report.standing(ranker, metric)
        folds = zip(report.cells_of(ranker), standing.per_fold, strict=True)
        values = ["failed" if cell.error else number(value) for cell, value in folds]
        rows.append([ranker, *values, number(standing.mean)])
    return headers, rows


def named(report: Report, ranker: str) -> str:
    """The ranker, with "!" where a fold is missing."""
    return f"{ranker}!" if any(cell.error for cell in report.cells_of(ranker)) else ranker


def value(report: Report, standing: RankerSummary) -> str:
    """The mean, half the width of its interval, and the mark."""
    if standing.mean is None or standing.low is None or standing.high is None:
        return nothing(report, standing.ranker)
    return f"{standing.mean:.4f} ±{(standing.high - standing.low) / 2:.4f}{standing.mark or ' '}"


def nothing(report: Report, ranker: str) -> str:
    """Why a ranker has no mean: it failed everywhere, or no query counts where it did not."""
    return "failed" if all(cell.error for cell in report.cells_of(ranker)) else "no value"


def number(value: float | None) -> str:
    """To four places."""
    return DASH if value is None else f"{value:.4f}"


def duration(seconds: float) -> str:
    """For people.

    Examples
    --------
    >>> duration(0.00042), duration(0.25), duration(3.2), duration(90)
    ('0.42 ms', '250 ms', '3.2 s', '1.5 min')
    """
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 60 else f"{seconds / 60:.3g} min"


def text(report: Report) -> str:
    """Plain text for any terminal."""
    headers, rows = means(report)
    lines = [headline(report), *_aligned(headers, rows), *notes(report), *failures(report)]
    return "\n".join(lines)


def _aligned(headers: Row, rows: Sequence[Row]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]

    def line(row: Row) -> str:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    return [line(headers), *map(line, rows)]


def markdown(report: Report) -> str:
    """Markdown: means, tests against the baseline, folds, chosen settings, failures."""
    parts = [
        f"# {_marked(report.data.name or 'Comparison')}",
        _marked(headline(report)) + ".",
        _pipes(*means(report)),
    ]
    parts += map(_marked, notes(report))
    if len(report.rankers) > 1:
        parts += [f"## Against {_marked(report.baseline)}", _pipes(*tests(report), text_columns=2)]
    for metric in report.metrics:
        parts += [f"## {metric} by fold", _pipes(*by_fold(report, metric))]
    chosen = [
        [_marked(c.ranker), f"{c.fold}", _code(c.chosen)] for c in report.cells if c.error is None
    ]
    parts += ["## Settings", _grid(["ranker", "fold", "settings"], chosen, text_columns=3)]
    if report.failed:
        parts += ["## Failed", "\n".join(f"- {_marked(line)}" for line in failures(report))]
    return "\n\n".join(parts) + "\n"


def _pipes(headers: Row, rows: Sequence[Row], text_columns: int = 1) -> str:
    return _grid(
        list(map(_marked, headers)), [list(map(_marked, row)) for row in rows], text_columns
    )


def _grid(headers: Row, rows: Sequence[Row], text_columns: int) -> str:
    rule = ["---" if i < text_columns else "---:" for i in range(len(headers))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows))


_MARKED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|"})


def _marked(plain: str) -> str:
    """Text that Markdown shows as it is: no tags, no columns of its own."""
    return " ".join(plain.split()).translate(_MARKED)


def _code(plain: str) -> str:
    """Code in Markdown, where tags are shown as they are anyway; fenced by more than it has itself."""
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    room = " " if len(fence) > 1 else ""
    return f"{fence}{room}{' '.join(plain.split())}{room}{fence}".replace("|", "\\|")


def latex(report: Report) -> str:
    r"""A LaTeX table: the best of each metric bold, $\uparrow$ $\downarrow$ as marks."""
    best = {metric: report.ranking(metric)[0] for metric in report.metrics}
    rows = [
        " & ".join(
            [
                _tex_first(named(report, ranker)),
                *(
                    _tex_value(report, report.standing(ranker, m), best[m] == ranker)
                    for m in report.metrics
                ),
            ]
        )
        for ranker in report.rankers
    ]
    caption = " ".join([headline(report) + ".", *notes(report), *failures(report)])
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{_tex(caption)}}}",
        f"  \\begin{{tabular}}{{l{'r' * len(report.metrics)}}}",
        "    \\toprule",
        f"    {' & '.join(map(_tex, ['Ranker', *report.metrics]))} \\\\",
        "    \\midrule",
        *(f"    {row} \\\\" for row in rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$",
    "▲": r"$\uparrow$", "▼": r"$\downarrow$", "±": r"$\pm$", "…": r"\ldots{}",
}  # fmt: skip


def _tex(plain: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in plain)


def _tex_first(plain: str) -> str:
    """The first cell of a row: the end of the row before takes a [ or * behind it as its own."""
    return f"{{}}{_tex(plain)}" if plain.startswith(("[", "*")) else _tex(plain)


def _tex_value(report: Report, standing: RankerSummary, best: bool) -> str:
    if standing.mean is None or standing.low is None or standing.high is None:
        return nothing(report, standing.ranker)
    mean = f"\\textbf{{{standing.mean:.4f}}}" if best else f"{standing.mean:.4f}"
    mark = {"▲": r"$^{\uparrow}$", "▼": r"$^{\downarrow}$"}.get(standing.mark, "")
    return f"{mean}{mark} {{\\scriptsize$\\pm${(standing.high - standing.low) / 2:.4f}}}"


def csv_lines(report: Report) -> str:
    """CSV, a line for each ranker and metric; numbers in full."""
    out = io.StringIO()
    folds = [f"fold_{part.number}" for part in report.folds]
    headers = [
        "ranker", "metric", "mean", "low", "high", "baseline", "difference", "p_value", "p_corrected",
        "wins", "ties", "losses", "training_seconds_per_fold", "prediction_seconds", "failed_folds",
        "measured", *folds,
    ]  # fmt: skip
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headers)
    for standing in report.standings:
        d = standing.difference
        took = report.seconds(standing.ranker) or (None, None)
        failed = [cell.fold for cell in report.cells_of(standing.ranker) if cell.error is not None]
        tested = (
            [None] * 6 if d is None else [d.mean, d.p_value, d.adjusted, d.wins, d.ties, d.losses]
        )
        cells = [
            standing.mean, standing.low, standing.high, report.baseline, *tested, *took,
            " ".join(map(str, failed)),
            report.measured.get(standing.metric, standing.metric), *standing.per_fold,
        ]  # fmt: skip
        writer.writerow([standing.ranker, standing.metric, *map(_cell, cells)])
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
