"""``podium metrics``: list the metrics, or explain the name of one."""

from __future__ import annotations

from typing import Any

import typer

from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.options.metrics import MetricsOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.errors import UsageError
from podium.metrics import METRICS, ConventionExplanation, ConversionFacts, Metric, conversions
from podium.metrics import explain as explain_metric


def run_metrics(options: MetricsOptions) -> None:
    """List the metrics, or explain one: its convention, and the tables it may be compared with."""
    if options.explain is None:
        if options.value is not None or options.blank is not None or options.data is not None:
            raise UsageError("expected --explain METRIC with --value, --blank and --data")
        _list_metrics(options.json)
        return
    if options.blank is not None and options.data is not None:
        raise UsageError("expected --blank or --data, got both")
    explanation = explain_metric(options.explain)
    facts = ConversionFacts(blank=options.blank)
    if options.data is not None:
        labelled = InputFiles("nan", options, is_quiet=options.json).read([options.data])
        facts = ConversionFacts.of(labelled, explanation.metric)
    converted = _converted(options.value, explanation.metric, facts)
    if options.json:
        print_json(_as_json(explanation, facts, converted))
    else:
        _print_explanation(explanation, options.value, facts, converted)


def _list_metrics(json: bool) -> None:
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


def _converted(value: float | None, metric: Metric, facts: ConversionFacts) -> dict[str, float]:
    if value is None:
        return {}
    return {str(m): v for m, v in conversions(value, metric, facts).items()}


def _print_explanation(
    explanation: ConventionExplanation,
    value: float | None,
    facts: ConversionFacts,
    converted: dict[str, float],
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


def _as_json(
    explanation: ConventionExplanation, facts: ConversionFacts, converted: dict[str, float]
) -> dict[str, Any]:
    return {
        "metric": str(explanation.metric),
        "formula": explanation.metric.formula,
        "convention": explanation.metric.convention(),
        "comparable_with": {c.rule: c.tables for c in explanation.same},
        "not_comparable_with": {c.rule: list(c.differs) for c in explanation.other},
        "blank": facts.blank,
        "converted": converted,
    }
