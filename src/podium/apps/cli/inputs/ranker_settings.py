"""Rankers with the settings that a command line names, checked before any data is read."""

from __future__ import annotations

import itertools
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from podium.aggregation import AGGREGATORS, Aggregator
from podium.apps.cli.inputs.metric_option import check_metric
from podium.errors import UnknownNameError, UsageError
from podium.losses import LOSSES, Loss, make
from podium.rankers import RANKERS as INNER_RANKERS
from podium.rankers import Ranker
from podium.rankers.mlp import MLP
from podium.rankers.parameters import check_parameters, parameter_types
from podium.registry import RANKERS, unknown_ranker


def build_ranker(name: str, settings: Mapping[str, Any]) -> Ranker:
    """Return a ranker with these settings, checked before any data is read."""
    hints = ranker_parameter_types(name)
    for key in settings:
        if (parameter := key.partition(".")[0]) not in hints:
            raise RANKERS[name].unknown_parameter(parameter)
    plain = {key: value for key, value in settings.items() if "." not in key}
    for owner, fields in _dotted_settings(settings).items():
        build = _build_voters if _takes_rankers(hints[owner]) else _build_part
        plain[owner] = build(name, owner, plain, fields)
    ranker = RANKERS[name](**{key: _as_list(value, hints[key]) for key, value in plain.items()})
    check_parameters(ranker, name)
    ranker.check_settings()
    for value in plain.values():
        if isinstance(value, MLP):
            value.check()
    if "metric" in plain:
        check_metric(plain["metric"])
    return ranker


def build_grid(
    name: str, settings: Mapping[str, Any], grid: Mapping[str, tuple[Any, ...]]
) -> dict[str, tuple[Any, ...]]:
    """Return the values of each parameter as the ranker takes them; dotted ones make whole scorers."""
    hints = ranker_parameter_types(name)
    built: dict[str, tuple[Any, ...]] = {}
    for key, values in grid.items():
        for value in values:
            build_ranker(name, {**settings, key: value})
        if "." not in key:
            built[key] = tuple(_as_list(value, hints[key]) for value in values)
    for owner, fields in _dotted_settings(grid).items():
        candidates = (
            build_ranker(name, {**settings, **dict(zip(fields, values, strict=True))})
            for values in itertools.product(*fields.values())
        )
        built[owner] = tuple(getattr(ranker, owner) for ranker in candidates)
    return built


def _dotted_settings(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the dotted settings of each owner, by their whole names."""
    dotted: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        owner, dot, _ = key.partition(".")
        if dot:
            dotted.setdefault(owner, {})[key] = value
    return dotted


def _build_part(
    ranker: str, owner: str, plain: Mapping[str, Any], fields: Mapping[str, Any]
) -> Any:
    """Return what dotted settings make: an mlp scorer, a loss, a ranker, a mapping by feature name."""
    base: Any = plain.get(owner)
    inner = {key.partition(".")[2]: value for key, value in fields.items()}
    may_be = _alternatives(ranker_parameter_types(ranker)[owner])
    if Mapping in may_be and base is None:
        return inner
    if MLP in may_be and base in (None, "mlp"):
        part_class: Any = MLP
    elif Loss in may_be and base in LOSSES:
        part_class = LOSSES[base]
    elif Ranker in may_be and isinstance(base, str):
        return _build_inner_ranker(base, inner, plain)
    elif Aggregator in may_be and base in AGGREGATORS:
        part_class = AGGREGATORS[base]
    else:
        got = "nothing" if base is None else repr(base)
        raise UsageError(
            f"expected {owner} of {ranker} to be what has {next(iter(fields))}, got {got}"
        )
    hints = parameter_types(part_class)
    for key in inner:
        if key not in hints:
            raise UnknownNameError(f"parameter of {ranker}'s {owner}", key, hints)
    inner = {key: _as_list(value, hints[key]) for key, value in inner.items()}
    for key, value in inner.items():
        if isinstance(hints[key], type) and issubclass(hints[key], Loss):
            inner[key] = make(value)
    try:
        return part_class(**inner)
    except TypeError as error:
        raise UsageError(
            f"expected settings of {ranker}'s {owner}, got {inner} ({error})"
        ) from None


def _takes_rankers(hint: Any) -> bool:
    """Whether a parameter is a list of rankers."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(map(_takes_rankers, get_args(hint)))
    return get_origin(hint) is Sequence and Ranker in _alternatives(get_args(hint)[0])


def _build_voters(
    ranker: str, owner: str, plain: Mapping[str, Any], fields: Mapping[str, Any]
) -> tuple[str | Ranker, ...]:
    """Return voters: rankers if they have settings (rankers.ranksvm.C, rankers.2.C), else names."""
    names = plain.get(owner)
    if names is None:
        key = next(iter(fields))
        raise UsageError(
            f"{key} needs the names of all {owner}; give them, too, as in --set "
            f"{owner}=listnet,{key.split('.')[1]}"
        )
    voters = [names] if isinstance(names, str) else list(names)
    settings: list[dict[str, Any]] = [{} for _ in voters]
    for key, value in fields.items():
        voter, _, parameter = key.partition(".")[2].partition(".")
        places = [
            place for place, name in enumerate(voters) if voter in (str(name), str(place + 1))
        ]
        if not places or not parameter:
            raise UnknownNameError(f"voter in {key}", voter, voters)
        for place in places:
            settings[place][parameter] = value
    return tuple(
        _build_inner_ranker(name, own, plain) if own else name
        for name, own in zip(voters, settings, strict=True)
    )


def _build_inner_ranker(name: str, settings: Mapping[str, Any], outer: Mapping[str, Any]) -> Ranker:
    """Return a ranker of another ranker, with the metric and seed of that one unless it has its own.

    A ranker that takes another one takes those of the room `rankers`, no ensembles.
    """
    if name not in INNER_RANKERS:
        raise UnknownNameError("ranker", name, INNER_RANKERS)
    hints = parameter_types(INNER_RANKERS[name])
    shared: dict[str, Any] = {
        key: outer[key] for key in ("metric", "seed") if key in outer and key in hints
    }
    return build_ranker(name, {**shared, **settings})


def ranker_parameter_types(ranker: str) -> dict[str, Any]:
    """Return the types of a ranker's parameters by name."""
    if ranker not in RANKERS:
        if Path(ranker).is_file():
            raise UsageError(
                f"expected a ranker, such as listnet, got the file {ranker}; the ranker comes first, then "
                "the data, as in: podium train RANKER DATA; podium rankers lists them"
            )
        raise unknown_ranker(ranker)
    return parameter_types(RANKERS[ranker])


def _as_list(value: Any, hint: Any) -> Any:
    """Return a number as a list of one if the parameter takes lists and no numbers."""
    may_be = set(_alternatives(hint))
    takes_lists = {tuple, Sequence} & may_be and not {int, float} & may_be
    return (value,) if takes_lists and isinstance(value, int | float) else value


def _alternatives(hint: Any) -> list[Any]:
    """Return the alternatives of a type, without what is in brackets."""
    if get_origin(hint) in (Union, types.UnionType):
        return [kind for part in get_args(hint) for kind in _alternatives(part)]
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    return [get_origin(hint) or hint]
