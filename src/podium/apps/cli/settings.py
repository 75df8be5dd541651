"""``--set name=value``: text from a command line as a ranker's parameters."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

if TYPE_CHECKING:
    from podium.rankers import Ranker

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the ranker, as in C=0.1, scorer=mlp, scorer.hidden=64,32; "
        "may be given several times.",
    ),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=V1,V2,...",
        help="Values to try, as in C=0.01,0.1,1 (values that are lists themselves: 64,32;128); "
        "may be given several times. The ranker's own grid without it.",
    ),
]

_WORDS = {"true": True, "false": False, "none": None}
# Commas and semicolons inside NDCG(gain='linear', empty='skip')@10 are the metric's own.
_COMMA, _SEMICOLON = (re.compile(rf"{mark}(?![^()]*\))") for mark in ",;")


def parse_settings(texts: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Numbers, true, false, none, text and comma lists by name.

    Examples
    --------
    >>> parse_settings(["C=1e-2", "scorer=mlp", "scorer.hidden=64,32", "metric=NDCG(gain='linear')@5"])
    {'C': 0.01, 'scorer': 'mlp', 'scorer.hidden': (64, 32), 'metric': "NDCG(gain='linear')@5"}
    """
    return {name: _value(text) for name, text in _pairs(texts, option).items()}


def parse_grid(texts: Sequence[str] | None) -> dict[str, tuple[Any, ...]]:
    """Values to try by name.

    Examples
    --------
    >>> parse_grid(["C=0.1,1", "scorer.hidden=64,32;128"])
    {'C': (0.1, 1), 'scorer.hidden': ((64, 32), 128)}
    """
    grid = {}
    for name, text in _pairs(texts, "--grid").items():
        marks = _SEMICOLON if _SEMICOLON.search(text) else _COMMA
        grid[name] = tuple(_value(value) for value in marks.split(text))
    return grid


def _pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    from podium.errors import UsageError

    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UsageError(f"expected {option} NAME=VALUE, got {text!r}")
        if name in found:
            raise UsageError(f"expected {option} {name} once, got it twice")
        found[name] = value
    return found


def _value(text: str) -> Any:
    if _COMMA.search(text):
        return tuple(_value(part) for part in _COMMA.split(text) if part.strip())
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def build_ranker(name: str, settings: Mapping[str, Any]) -> Ranker:
    """A ranker with these settings, every one checked: nothing wrong should wait for the data."""
    from podium.metrics.naming import parse
    from podium.rankers.mlp import MLP
    from podium.rankers.parameters import check_parameters
    from podium.registry import make_ranker

    plain = {key: value for key, value in settings.items() if "." not in key}
    make_ranker(name, **dict.fromkeys(key.partition(".")[0] for key in settings))  # known names
    for owner, fields in _dotted(settings).items():
        plain[owner] = _part(name, owner, plain.get(owner), fields)
    types = types_of(name)
    ranker = make_ranker(name, **{key: _shaped(value, types[key]) for key, value in plain.items()})
    check_parameters(ranker, name)
    ranker.check_settings()
    for value in plain.values():
        if isinstance(value, MLP):
            value.check()
    if "metric" in plain:
        parse(plain["metric"]).check_cutoff()
    return ranker


def build_grid(
    name: str, settings: Mapping[str, Any], grid: Mapping[str, tuple[Any, ...]]
) -> dict[str, tuple[Any, ...]]:
    """The values of each parameter as the ranker takes them; dotted ones make whole scorers."""
    types = types_of(name)
    built: dict[str, tuple[Any, ...]] = {}
    for key, values in grid.items():
        for value in values:
            build_ranker(name, {**settings, key: value})
        if "." not in key:
            built[key] = tuple(_shaped(value, types[key]) for value in values)
    for owner, fields in _dotted(grid).items():
        rankers = (
            build_ranker(name, {**settings, **dict(zip(fields, values, strict=True))})
            for values in itertools.product(*fields.values())
        )
        built[owner] = tuple(getattr(ranker, owner) for ranker in rankers)
    return built


def _dotted(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """owner -> its dotted settings, under their whole names."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        owner, dot, _ = key.partition(".")
        if dot:
            found.setdefault(owner, {})[key] = value
    return found


def _part(ranker: str, owner: str, base: Any, fields: Mapping[str, Any]) -> Any:
    """What dotted settings make: an mlp scorer, a loss, a ranker, a mapping by feature name."""
    from podium.aggregation import AGGREGATORS, Aggregator
    from podium.errors import UnknownNameError, UsageError
    from podium.losses import LOSSES, Loss, make
    from podium.rankers import RANKERS, Ranker
    from podium.rankers.mlp import MLP
    from podium.rankers.parameters import hints

    inner = {key.partition(".")[2]: value for key, value in fields.items()}
    may_be = _alternatives(types_of(ranker)[owner])
    if Mapping in may_be and base is None:
        return inner
    if MLP in may_be and base in (None, "mlp"):
        made: Any = MLP
    elif Loss in may_be and base in LOSSES:
        made = LOSSES[base]
    elif Ranker in may_be and base in RANKERS:
        made = RANKERS[base]
    elif Aggregator in may_be and base in AGGREGATORS:
        made = AGGREGATORS[base]
    else:
        got = "nothing" if base is None else repr(base)
        raise UsageError(
            f"expected {owner} of {ranker} to be what has {next(iter(fields))}, got {got}"
        )
    types = hints(made)
    for key in inner:
        if key not in types:
            raise UnknownNameError(f"parameter of {ranker}'s {owner}", key, types)
    inner = {key: _shaped(value, types[key]) for key, value in inner.items()}
    for key, value in inner.items():
        if isinstance(types[key], type) and issubclass(types[key], Loss):
            inner[key] = make(value)
    try:
        return made(**inner)
    except TypeError as error:
        raise UsageError(
            f"expected settings of {ranker}'s {owner}, got {inner} ({error})"
        ) from None


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as --set has them: what a scorer or a loss is made of with dotted names.

    Examples
    --------
    >>> from podium.rankers import MLP
    >>> flatten({"l2": 0.1, "scorer": MLP(hidden=(8,), epochs=5)})
    {'l2': 0.1, 'scorer': 'mlp', 'scorer.hidden': [8], 'scorer.epochs': 5}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            flat[name] = getattr(value, "name", type(value).__name__.lower())
            default = type(value)()
            changed = {
                f"{name}.{f.name}": inner
                for f in dataclasses.fields(value)
                if (inner := getattr(value, f.name)) != getattr(default, f.name)
            }
            flat |= flatten(changed)
        elif isinstance(value, Mapping):
            flat |= flatten({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as they are written on the command line.

    Examples
    --------
    >>> settings_text({"C": 0.1, "hidden": (64, 32), "metric": "MAP"})
    'C=0.1 hidden=64,32 metric=MAP'
    """
    flat = flatten(settings)
    return " ".join(f"{name}={shown(value)}" for name, value in flat.items()) or "defaults"


def shown(value: Any) -> str:
    """A value as it is written on the command line.

    Examples
    --------
    >>> shown(1.0), shown(1 / 3), shown(None), shown((64, 32)), shown("MAP")
    ('1', '0.3333333333333333', 'none', '64,32', 'MAP')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(shown, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def types_of(ranker: str) -> dict[str, Any]:
    """The parameters of a ranker and what they may be."""
    from podium.rankers.parameters import hints
    from podium.registry import RANKERS

    cls: Any = RANKERS[ranker]
    return hints(cls)


def _shaped(value: Any, hint: Any) -> Any:
    """A single number where a list is wanted, and a number is not, is a list of one."""
    may_be = set(_alternatives(hint))
    listed = {tuple, Sequence} & may_be and not {int, float} & may_be
    return (value,) if listed and isinstance(value, int | float) else value


def _alternatives(hint: Any) -> list[Any]:
    """A type's alternatives, without what is in brackets."""
    import types
    from typing import Union

    if get_origin(hint) in (Union, types.UnionType):
        return [one for part in get_args(hint) for one in _alternatives(part)]
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    return [get_origin(hint) or hint]
