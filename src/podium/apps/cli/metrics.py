"""``podium metrics``: what there is, what a name means, and what it may be compared with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import Json, print_json, print_table, reading, reports_errors

if TYPE_CHECKING:
    from podium.metrics import Explanation, Facts, Metric

EXAMPLE = "Example: podium metrics --explain 'NDCG@10' --value 0.502 --blank 0.28"


@reports_errors
def metrics(
    explain: Annotated[
        str | None, typer.Option("--explain", "-e", help="A metric to explain.", metavar="METRIC")
    ] = None,
    value: Annotated[
        float | None, typer.Option(help="A mean of that metric, to convert to other conventions.")
    ] = None,
    blank: Annotated[
        float | None, typer.Option(help="The share of queries without a relevant document.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Take the share of such queries from this data."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the metrics, or explain one: its convention, and the tables it may be compared with."""
    from podium.errors import UsageError
    from podium.metrics import Facts
    from podium.metrics import explain as explain_metric

    if explain is None:
        if value is not None or blank is not None or data is not None:
            raise UsageError("expected --explain METRIC with --value, --blank and --data")
        _list_metrics(json)
        return
    if blank is not None and data is not None:
        raise UsageError("expected --blank or --data, got both")
    explanation = explain_metric(explain)
    facts = Facts(blank=blank)
    if data is not None:
        from podium.data import read_data

        with reading([data]) as progress:
            labelled = read_data([data], missing="nan", progress=progress)
        facts = Facts.of(labelled, explanation.metric)
    converted = _converted(value, explanation.metric, facts)
    if json:
        print_json(_as_json(explanation, facts, converted))
    else:
        _print_explanation(explanation, value, facts, converted)


def _list_metrics(json: bool) -> None:
    from podium.metrics import METRICS

    listed = {
        name: {
            "formula": cls.formula,
            "parameters": cls.defaults(),
            "aliases": list(cls.aliases),
            "cutoff": "needed" if cls.needs_cutoff else "optional" if cls.takes_cutoff else "none",
        }
        for name, cls in METRICS.items()
    }
    if json:
        print_json(listed)
        return
    rows = [
        [
            ", ".join([_with_cutoff(name, str(entry["cutoff"])), *METRICS[name].aliases]),
            str(entry["formula"]),
            ", ".join(f"{p}={v!r}" for p, v in METRICS[name].defaults().items()),
        ]
        for name, entry in listed.items()
    ]
    print_table("Metrics", ["name", "what it is", "parameters"], rows, text_columns=3)
    typer.echo(
        "Rules of other tools: letor, lightgbm, trec, sklearn, ranklib, as in NDCG(rule=letor)@10"
    )


def _with_cutoff(name: str, cutoff: str) -> str:
    return {"needed": f"{name}@k", "optional": f"{name}[@k]", "none": name}[cutoff]


def _converted(value: float | None, metric: Metric, facts: Facts) -> dict[str, float]:
    from podium.metrics import conversions

    if value is None:
        return {}
    return {str(m): v for m, v in conversions(value, metric, facts).items()}


def _print_explanation(
    explanation: Explanation, value: float | None, facts: Facts, converted: dict[str, float]
) -> None:
    metric = explanation.metric
    typer.echo(f"{metric}: {metric.formula}")
    for words in explanation.words:
        typer.echo(f"  - {words}")
    typer.echo("May be compared with:")
    for same in explanation.same:
        typer.echo(f"  - {same.rule}: {same.tables}")
    if not explanation.same:
        typer.echo("  - none of the tools podium knows")
    for other in explanation.other:
        typer.echo(f"Not with {other.rule} ({other.tables}): differs in {', '.join(other.differs)}")
    if facts.blank is not None:
        typer.echo(f"Share of queries without answer: {facts.blank:.4f}")
    if value is None:
        return
    typer.echo(f"{value:.4f} under other conventions:")
    for name, number in converted.items():
        typer.echo(f"  {number:.4f}  {name}")
    if not converted:
        typer.echo("  none exactly (give --blank or --data; else evaluate the scores again)")


def _as_json(explanation: Explanation, facts: Facts, converted: dict[str, float]) -> dict[str, Any]:
    return {
        "metric": str(explanation.metric),
        "formula": explanation.metric.formula,
        "convention": explanation.metric.convention(),
        "comparable_with": {c.rule: c.tables for c in explanation.same},
        "not_comparable_with": {c.rule: list(c.differs) for c in explanation.other},
        "blank": facts.blank,
        "converted": converted,
    }
