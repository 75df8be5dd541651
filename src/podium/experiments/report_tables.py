"""Tables of a report: plain text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence

from podium.counted_nouns import count_text, count_texts
from podium.data.judged_by import has_machine_labels, judges_text
from podium.experiments.comparison_result import ComparisonResult
from podium.experiments.summary import SIGNIFICANCE_LEVEL, RankerSummary
from podium.metrics.naming import parse

Row = list[str]
NO_VALUE = "-"


def headline(report: ComparisonResult) -> str:
    """Return a line that describes the data."""
    facts = report.data
    name = f"{facts.name}: " if facts.name else ""
    sizes = count_texts(
        query=facts.n_queries, document=facts.n_documents, feature=facts.n_features,
        fold=len(report.folds),
    )  # fmt: skip
    return f"{name}{sizes}"


def notes(report: ComparisonResult) -> list[str]:
    """Return the notes that a reader of the table needs."""
    lines = [
        f"Means over test queries with 95% bootstrap intervals; settings "
        f"{'chosen by ' + report.main + ' on validation queries' if report.tuned else 'not tuned'}; "
        f"seed {report.seed}, podium {report.version}."
    ]
    if has_machine_labels(report.judged_by):
        lines.append(f"{machine_note(report)}.")
    averaged = [metric for metric in report.metrics if _averages_ties(report, metric)]
    if averaged:
        where = "" if len(averaged) == len(report.metrics) else f" in {', '.join(averaged)}"
        lines.append(f"Metrics are means over the orders of equal scores{where} (ties='average').")
    if len(report.rankers) > 1:
        lines.append(
            f"▲ ▼: better, worse than {report.baseline}, p < {SIGNIFICANCE_LEVEL:g} "
            f"(paired permutation test, correction: {report.correction})."
        )
        if all(cell.error is not None for cell in report.cells_of(report.baseline)):
            lines.append(
                f"{report.baseline} failed in every fold, so there are no tests against it; "
                "choose another baseline."
            )
    lines += [
        f"{ranker}: every query is perfect ({report.main} = 1). Does a feature hold the label?"
        for ranker in report.rankers
        if _is_perfect(report.standing(ranker, report.main))
    ]
    return lines


def machine_note(report: ComparisonResult) -> str:
    """Return that machines judged the test data, and what follows."""
    return (
        f"{judges_text(report.judged_by).capitalize()} judged the test data: the result tells which ranker "
        "the machine prefers; podium judge agreement measures how far people agree"
    )


def _is_perfect(standing: RankerSummary) -> bool:
    """Whether the metric is 1 in every query; the bootstrap's interval is a point then."""
    return standing.mean is not None and standing.mean == standing.low == standing.high == 1.0


def _averages_ties(report: ComparisonResult, metric: str) -> bool:
    measured = parse(report.measured.get(metric, metric))
    return measured.convention().get("ties") == "average"


def failures(report: ComparisonResult) -> list[str]:
    """Return the failures: the ranker, the fold and the reason; once if all folds have the same reason."""
    lines: list[str] = []
    for ranker in dict.fromkeys(cell.ranker for cell in report.failed):
        cells = [cell for cell in report.failed if cell.ranker == ranker]
        if len(cells) == len(report.folds) > 1 and len({cell.error for cell in cells}) == 1:
            lines.append(f"{ranker} failed in all {len(cells)} folds: {cells[0].error}")
        else:
            lines += [f"{ranker} failed in fold {cell.fold}: {cell.error}" for cell in cells]
    return lines


def means(report: ComparisonResult) -> tuple[Row, list[Row]]:
    """Return headers and rows: rankers by metrics, with times if there are any."""
    headers = ["ranker", *report.metrics]
    rows = [
        [
            ranker_label(report, ranker),
            *(mean_and_interval(report, report.standing(ranker, m)) for m in report.metrics),
        ]
        for ranker in report.rankers
    ]
    if report.times:
        headers += ["training", "prediction"]
        for ranker, row in zip(report.rankers, rows, strict=True):
            took = report.seconds(ranker)
            row += (
                [NO_VALUE, NO_VALUE]
                if took is None
                else [f"{duration(took[0])}/fold", duration(took[1])]
            )
    return headers, rows


def tests(report: ComparisonResult) -> tuple[Row, list[Row]]:
    """Return headers and rows: every ranker against the baseline in every metric."""
    headers = ["ranker", "metric", "difference", "p", "p corrected", "wins/ties/losses"]
    rows = [
        [
            summary.ranker, summary.metric, f"{d.mean:+.4f}{d.mark}", f"{d.p_value:.4f}",
            f"{d.adjusted:.4f}", f"{d.wins}/{d.ties}/{d.losses}",
        ]
        for summary in report.standings
        if (d := summary.difference) is not None
    ]  # fmt: skip
    return headers, rows


def by_fold(report: ComparisonResult, metric: str) -> tuple[Row, list[Row]]:
    """Return headers and rows: a metric fold by fold."""
    headers = ["ranker", *(f"fold {part.number}" for part in report.folds), "mean"]
    rows = []
    for ranker in report.rankers:
        summary = report.standing(ranker, metric)
        folds = zip(report.cells_of(ranker), summary.per_fold, strict=True)
        values = ["failed" if cell.error else number(value) for cell, value in folds]
        rows.append([ranker, *values, number(summary.mean)])
    return headers, rows


def ranker_label(report: ComparisonResult, ranker: str) -> str:
    """Return the ranker, with "!" if it failed in a fold."""
    return f"{ranker}!" if any(cell.error for cell in report.cells_of(ranker)) else ranker


def mean_and_interval(report: ComparisonResult, summary: RankerSummary) -> str:
    """Return the mean, half the width of its interval, and the mark."""
    if summary.mean is None or summary.low is None or summary.high is None:
        return missing_value(report, summary.ranker)
    return f"{summary.mean:.4f} ±{(summary.high - summary.low) / 2:.4f}{summary.mark or ' '}"


def missing_value(report: ComparisonResult, ranker: str) -> str:
    """Return why a ranker has no mean: it failed in all folds, or no query counts."""
    return "failed" if all(cell.error for cell in report.cells_of(ranker)) else "no value"


def number(value: float | None) -> str:
    """Return a number with four decimals."""
    return NO_VALUE if value is None else f"{value:.4f}"


def duration(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> duration(0.00042), duration(0.25), duration(3.2), duration(90)
    ('0.42 ms', '250 ms', '3.2 s', '1.5 min')
    """
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 60 else f"{seconds / 60:.3g} min"


def text_table(report: ComparisonResult) -> str:
    """Return the report as plain text for any terminal."""
    headers, rows = means(report)
    lines = [headline(report), *_align(headers, rows), *notes(report), *failures(report)]
    return "\n".join(lines)


def _align(headers: Row, rows: Sequence[Row]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]

    def line(row: Row) -> str:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    return [line(headers), *map(line, rows)]


def markdown(report: ComparisonResult) -> str:
    """Return Markdown: means, tests against the baseline, folds, chosen settings, failures."""
    parts = [
        f"# {_escape_markdown(report.data.name or 'Comparison')}",
        _escape_markdown(headline(report)) + ".",
        _markdown_table(*means(report)),
    ]
    parts += map(_escape_markdown, notes(report))
    if len(report.rankers) > 1:
        parts += [
            f"## Against {_escape_markdown(report.baseline)}",
            _markdown_table(*tests(report), text_columns=2),
        ]
    for metric in report.metrics:
        parts += [f"## {metric} by fold", _markdown_table(*by_fold(report, metric))]
    chosen = [
        [_escape_markdown(c.ranker), f"{c.fold}", _markdown_code(c.chosen)]
        for c in report.cells
        if c.error is None
    ]
    parts += ["## Settings", _join_columns(["ranker", "fold", "settings"], chosen, text_columns=3)]
    if report.failed:
        parts += [
            "## Failed",
            "\n".join(f"- {_escape_markdown(line)}" for line in failures(report)),
        ]
    return "\n\n".join(parts) + "\n"


def _markdown_table(headers: Row, rows: Sequence[Row], text_columns: int = 1) -> str:
    return _join_columns(
        list(map(_escape_markdown, headers)),
        [list(map(_escape_markdown, row)) for row in rows],
        text_columns,
    )


def _join_columns(headers: Row, rows: Sequence[Row], text_columns: int) -> str:
    rule = ["---" if i < text_columns else "---:" for i in range(len(headers))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows))


_MARKDOWN_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|"})


def _escape_markdown(plain: str) -> str:
    """Return text that Markdown shows unchanged, without tags and columns."""
    return " ".join(plain.split()).translate(_MARKDOWN_ESCAPES)


def _markdown_code(plain: str) -> str:
    """Return code in Markdown; the fence is longer than any run of backquotes in the code."""
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    room = " " if len(fence) > 1 else ""
    return f"{fence}{room}{' '.join(plain.split())}{room}{fence}".replace("|", "\\|")


def latex(report: ComparisonResult) -> str:
    r"""Return a LaTeX table: the best of each metric bold, $\uparrow$ $\downarrow$ as marks."""
    best = {metric: report.ranking(metric)[0] for metric in report.metrics}
    rows = [
        " & ".join(
            [
                _latex_first_cell(report, ranker),
                *(
                    _latex_value(report, report.standing(ranker, m), best[m] == ranker)
                    for m in report.metrics
                ),
            ]
        )
        for ranker in report.rankers
    ]
    caption = " ".join([_caption(report), *notes(report), *failures(report)])
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{_escape_latex(caption)}}}",
        f"  \\label{{tab:{_latex_key(report.data.name)}}}",
        f"  \\begin{{tabular}}{{l{'r' * len(report.metrics)}}}",
        "    \\toprule",
        f"    {' & '.join(map(_escape_latex, ['Ranker', *report.metrics]))} \\\\",
        "    \\midrule",
        *(f"    {row} \\\\" for row in rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


PAPER_NAMES = {
    "regression": "Regression", "ranksvm": "RankSVM", "ranknet": "RankNet", "listnet": "ListNet",
    "listmle": "ListMLE", "topk-listmle": "top-k ListMLE", "svm-map": "SVM-MAP",
    "rankboost": "RankBoost", "adarank": "AdaRank", "coordinate-ascent": "Coordinate Ascent",
    "lambdamart": "LambdaMART", "ordinal": "Ordinal regression", "least-squares": "Least squares",
    "focused-svm": "FocusedSVM", "focused-boost": "FocusedBoost", "focused-net": "FocusedNet",
    "topslack": "TopSlack", "topmargin": "TopMargin", "toprank": "TopRank", "cfbrs": "CFBRS",
    "rpc-mtl": "RPC-MTL", "catboost": "CatBoost", "auto": "AutoRanker",
}  # fmt: skip
"""The names of rankers as papers print them."""


def _caption(report: ComparisonResult) -> str:
    """Return what the table shows, as a sentence."""
    facts = report.data
    rankers = count_text(len(report.rankers), "ranker")
    return (
        f"{', '.join(report.metrics)} of {rankers} on {facts.name or 'the data'}: means over the "
        f"{count_text(facts.n_queries, 'test query')} of {count_text(len(report.folds), 'fold')} "
        f"({count_texts(document=facts.n_documents, feature=facts.n_features)})."
    )


def _latex_key(name: str) -> str:
    """Return a name as a key of LaTeX: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "comparison"


_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$",
    "▲": r"$\uparrow$", "▼": r"$\downarrow$", "±": r"$\pm$", "…": r"\ldots{}",
}  # fmt: skip


def _escape_latex(plain: str) -> str:
    return "".join(_LATEX_ESCAPES.get(letter, letter) for letter in plain)


def _latex_first_cell(report: ComparisonResult, ranker: str) -> str:
    """Return the first cell of a row; the end of the row before would take a [ or * as its own."""
    plain = ranker_label(report, ranker).replace(ranker, PAPER_NAMES.get(ranker, ranker), 1)
    return f"{{}}{_escape_latex(plain)}" if plain.startswith(("[", "*")) else _escape_latex(plain)


def _latex_value(report: ComparisonResult, summary: RankerSummary, best: bool) -> str:
    if summary.mean is None or summary.low is None or summary.high is None:
        return missing_value(report, summary.ranker)
    mean = f"\\textbf{{{summary.mean:.4f}}}" if best else f"{summary.mean:.4f}"
    mark = {"▲": r"$^{\uparrow}$", "▼": r"$^{\downarrow}$"}.get(summary.mark, "")
    return f"{mean}{mark} {{\\scriptsize$\\pm${(summary.high - summary.low) / 2:.4f}}}"


def csv_text(report: ComparisonResult) -> str:
    """Return CSV, one line per ranker and metric, with all digits."""
    out = io.StringIO()
    folds = [f"fold_{part.number}" for part in report.folds]
    headers = [
        "ranker", "metric", "mean", "low", "high", "baseline", "difference", "p_value", "p_corrected",
        "wins", "ties", "losses", "training_seconds_per_fold", "prediction_seconds", "failed_folds",
        "measured", *folds,
    ]  # fmt: skip
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headers)
    for summary in report.standings:
        d = summary.difference
        took = report.seconds(summary.ranker) or (None, None)
        failed = [cell.fold for cell in report.cells_of(summary.ranker) if cell.error is not None]
        tested = (
            [None] * 6 if d is None else [d.mean, d.p_value, d.adjusted, d.wins, d.ties, d.losses]
        )
        cells = [
            summary.mean, summary.low, summary.high, report.baseline, *tested, *took,
            " ".join(map(str, failed)),
            report.measured.get(summary.metric, summary.metric), *summary.per_fold,
        ]  # fmt: skip
        writer.writerow([summary.ranker, summary.metric, *map(_csv_value, cells)])
    return out.getvalue()


def _csv_value(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
