"""``podium aggregators``: list the aggregators, or describe one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from podium.aggregation import AGGREGATORS, Aggregator
from podium.apps.cli.inputs.set_option import settings_text, value_text
from podium.apps.cli.options.aggregators import AggregatorsOptions
from podium.apps.cli.outputs.printing import first_line, print_json, print_table
from podium.errors import UnknownNameError


def run_aggregators(options: AggregatorsOptions) -> None:
    """List the aggregators, or describe one: its paper and its settings."""
    if options.name is not None and options.name not in AGGREGATORS:
        raise UnknownNameError("aggregator", options.name, AGGREGATORS)
    if options.name is not None:
        _describe(AGGREGATORS[options.name], options.json)
    elif options.json:
        print_json({key: _summary(kind) for key, kind in AGGREGATORS.items()})
    else:
        rows = [
            [
                key,
                first_line(kind),
                kind.paper,
                settings_text(_defaults(kind)) if _defaults(kind) else "",
            ]
            for key, kind in AGGREGATORS.items()
        ]
        print_table(
            "Aggregators", ["name", "what it is", "paper", "settings"], rows, text_columns=4
        )


def _describe(kind: type[Aggregator], json: bool) -> None:
    # Not at the top: it imports scikit-learn, which takes most of a second; the list needs none of it.
    from podium.rankers.parameters import describe_type, parameter_docs, parameter_types

    meanings = parameter_docs(kind)
    settings = {
        name: {
            "default": _defaults(kind)[name],
            "may_be": describe_type(hint),
            "meaning": meanings[name],
        }
        for name, hint in parameter_types(kind).items()
    }
    if json:
        print_json({"name": kind.name, **_summary(kind), "settings": settings})
        return
    typer.echo(f"{kind.name}: {first_line(kind)}")
    typer.echo(f"Paper: {kind.paper}")
    rows = [
        [name, value_text(entry["default"]), entry["may_be"], entry["meaning"]]
        for name, entry in settings.items()
    ]
    if rows:
        print_table(
            "Settings (--set name=value)", ["name", "default", "may be", "meaning"], rows,
            text_columns=4,
        )  # fmt: skip


def _summary(kind: type[Aggregator]) -> dict[str, Any]:
    return {"summary": first_line(kind), "paper": kind.paper}


def _defaults(kind: type[Aggregator]) -> dict[str, Any]:
    return asdict(kind())
