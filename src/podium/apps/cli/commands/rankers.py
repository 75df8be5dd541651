"""``podium rankers``: list the rankers, or describe one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from podium.apps.cli.inputs.set_option import flatten, value_text
from podium.apps.cli.options.rankers import RankersOptions
from podium.apps.cli.outputs.printing import first_line, print_json, print_table
from podium.rankers import Ranker
from podium.rankers.mlp import MLP
from podium.rankers.parameters import describe_type, parameter_docs, parameter_types
from podium.registry import RANKERS, make_ranker

USUAL_MEANINGS = {"seed": "Same seed, same model."}


def run_rankers(options: RankersOptions) -> None:
    """List the rankers, or describe one: its paper, its parameters and what they may be."""
    if options.name is not None:
        _describe(type(make_ranker(options.name)), options.json)
        return
    if options.json:
        print_json({key: _summary(cls) for key, cls in RANKERS.items()})
        return
    rows = [[key, first_line(cls), cls.paper, _grid_text(cls.grid)] for key, cls in RANKERS.items()]
    print_table("Rankers", ["name", "what it is", "paper", "tune tries"], rows, text_columns=4)


def _describe(cls: type[Ranker], json: bool) -> None:
    parameters = _parameters(cls)
    if json:
        print_json({"name": cls.name, **_summary(cls), "parameters": parameters})
        return
    typer.echo(f"{cls.name}: {first_line(cls)}")
    typer.echo(f"Paper: {cls.paper}")
    typer.echo(f"podium tune tries: {_grid_text(cls.grid)}")
    rows = [
        [name, value_text(entry["default"]), entry["may_be"], entry["meaning"]]
        for name, entry in parameters.items()
    ]
    print_table(
        "Parameters (--set name=value)", ["name", "default", "may be", "meaning"], rows,
        text_columns=4,
    )  # fmt: skip


def _summary(cls: type[Ranker]) -> dict[str, Any]:
    return {"summary": first_line(cls), "paper": cls.paper, "grid": flatten(cls.grid)}


def _parameters(cls: type) -> dict[str, dict[str, Any]]:
    """Return the default, type and meaning of each parameter; an mlp scorer's have dotted names."""
    meanings, parameters = parameter_docs(cls), {}
    defaults = flatten({name: getattr(cls(), name) for name in parameter_types(cls)})
    for name, hint in parameter_types(cls).items():
        parameters[name] = {
            "default": defaults[name],
            "may_be": describe_type(hint),
            "meaning": meanings[name] or USUAL_MEANINGS.get(name, ""),
        }
    if "scorer" in parameters:
        parameters |= {f"scorer.{name}": entry for name, entry in _parameters(MLP).items()}
    return parameters


def _grid_text(grid: Mapping[str, Sequence[Any]]) -> str:
    return (
        "; ".join(f"{name}={_values_text(values)}" for name, values in grid.items())
        or "one setting"
    )


def _values_text(values: Sequence[Any]) -> str:
    """Return all values, or the first and the last of many."""
    texts = [value_text(value) for value in values]
    return ",".join(texts if len(texts) <= 7 else [*texts[:2], "...", texts[-1]])
