"""``podium aggregators``: what there is, where it comes from, and what can be set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import Json, print_json, print_table, reports_errors
from podium.apps.cli.settings import settings_text, shown

if TYPE_CHECKING:
    from podium.aggregation import Aggregator

EXAMPLE = "Example: podium aggregators mc4"


@reports_errors
def aggregators(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An aggregator to describe.")
    ] = None,
    json: Json = False,
) -> None:
    """List the aggregators, or describe one: its paper and its settings."""
    from podium.aggregation import AGGREGATORS
    from podium.errors import UnknownNameError

    if name is not None and name not in AGGREGATORS:
        raise UnknownNameError("aggregator", name, AGGREGATORS)
    if name is not None:
        _describe(AGGREGATORS[name], json)
    elif json:
        print_json({key: _summary(kind) for key, kind in AGGREGATORS.items()})
    else:
        rows = [
            [key, line(kind), kind.paper, settings_text(_defaults(kind)) if _defaults(kind) else ""]
            for key, kind in AGGREGATORS.items()
        ]
        print_table(
            "Aggregators", ["name", "what it is", "paper", "settings"], rows, text_columns=4
        )


def line(kind: type) -> str:
    """The first line of a class's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0]


def _describe(kind: type[Aggregator], json: bool) -> None:
    from podium.rankers.parameters import describe, hints, texts

    meaning = texts(kind)
    settings = {
        name: {
            "default": _defaults(kind)[name],
            "may_be": describe(hint),
            "meaning": meaning[name],
        }
        for name, hint in hints(kind).items()
    }
    if json:
        print_json({"name": kind.name, **_summary(kind), "settings": settings})
        return
    typer.echo(f"{kind.name}: {line(kind)}")
    typer.echo(f"Paper: {kind.paper}")
    rows = [
        [name, shown(entry["default"]), entry["may_be"], entry["meaning"]]
        for name, entry in settings.items()
    ]
    if rows:
        print_table(
            "Settings (--set name=value)", ["name", "default", "may be", "meaning"], rows,
            text_columns=4,
        )  # fmt: skip


def _summary(kind: type[Aggregator]) -> dict[str, Any]:
    return {"summary": line(kind), "paper": kind.paper}


def _defaults(kind: type[Aggregator]) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(kind())
