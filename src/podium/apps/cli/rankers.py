"""``podium rankers``: what there is, where it comes from, and what can be set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import Json, print_json, print_table, reports_errors
from podium.apps.cli.settings import flatten, shown

if TYPE_CHECKING:
    from podium.rankers import Ranker

EXAMPLE = "Example: podium rankers focused-net"

_USUAL = {"seed": "Same seed, same model."}


@reports_errors
def rankers(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A ranker to describe.")
    ] = None,
    json: Json = False,
) -> None:
    """List the rankers, or describe one: its paper, its parameters and what they may be."""
    from podium.registry import RANKERS, make_ranker

    if name is not None:
        _describe(type(make_ranker(name)), json)
        return
    if json:
        print_json({key: _summary(cls) for key, cls in RANKERS.items()})
        return
    rows = [[key, _line(cls), cls.paper, _grid(cls.grid)] for key, cls in RANKERS.items()]
    print_table("Rankers", ["name", "what it is", "paper", "tune tries"], rows, text_columns=4)


def _describe(cls: type[Ranker], json: bool) -> None:
    parameters = _parameters(cls)
    if json:
        print_json({"name": cls.name, **_summary(cls), "parameters": parameters})
        return
    typer.echo(f"{cls.name}: {_line(cls)}")
    typer.echo(f"Paper: {cls.paper}")
    typer.echo(f"podium tune tries: {_grid(cls.grid)}")
    rows = [
        [name, shown(entry["default"]), entry["may_be"], entry["meaning"]]
        for name, entry in parameters.items()
    ]
    print_table(
        "Parameters (--set name=value)", ["name", "default", "may be", "meaning"], rows,
        text_columns=4,
    )  # fmt: skip


def _summary(cls: type[Ranker]) -> dict[str, Any]:
    return {"summary": _line(cls), "paper": cls.paper, "grid": flatten(cls.grid)}


def _line(cls: type[Ranker]) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]


def _parameters(cls: type) -> dict[str, dict[str, Any]]:
    """Each parameter's default, type and text; those of an mlp scorer with dotted names."""
    from podium.rankers.mlp import MLP
    from podium.rankers.parameters import describe, hints, texts

    meaning, found = texts(cls), {}
    defaults = flatten({name: getattr(cls(), name) for name in hints(cls)})
    for name, hint in hints(cls).items():
        found[name] = {
            "default": defaults[name],
            "may_be": describe(hint),
            "meaning": meaning[name] or _USUAL.get(name, ""),
        }
    if "scorer" in found:
        found |= {f"scorer.{name}": entry for name, entry in _parameters(MLP).items()}
    return found


def _grid(grid: Mapping[str, Sequence[Any]]) -> str:
    return "; ".join(f"{name}={_some(values)}" for name, values in grid.items()) or "one setting"


def _some(values: Sequence[Any]) -> str:
    """All values, or the first and the last of many."""
    texts = [shown(value) for value in values]
    return ",".join(texts if len(texts) <= 7 else [*texts[:2], "...", texts[-1]])
