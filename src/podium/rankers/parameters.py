"""Parameters of rankers: their types and ranges, checked when a fit begins."""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import TransformerMixin

from podium.errors import UsageError


@dataclass(frozen=True)
class Range:
    """Numbers from low to high; `open` excludes low."""

    low: float = -math.inf
    high: float = math.inf
    open: bool = False

    def __contains__(self, value: float) -> bool:
        is_high_enough = self.low < value if self.open else self.low <= value
        return is_high_enough and value <= self.high and math.isfinite(value)

    def __str__(self) -> str:
        if self.high > 2**30:
            return f"above {self.low:g}" if self.open else f"of {self.low:g} or more"
        return f"from {self.low:g} to {self.high:g}" + (f", {self.low:g} excluded" * self.open)


Positive = Annotated[float, Range(0, open=True)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, 2**31 - 1024)]
"""The largest count that LightGBM and index arithmetic can hold."""
CountOrNone = Annotated[int, Range(0, 2**31 - 1024)]
Seed = Annotated[int, Range(0, 2**63 - 1)]


@cache
def parameter_types(owner: type) -> dict[str, Any]:
    """Return the types of a dataclass's parameters, ranges included."""
    types_by_name = get_type_hints(owner, include_extras=True)
    return {field.name: types_by_name[field.name] for field in fields(owner)}


def parameter_docs(owner: type) -> dict[str, str]:
    """Return the description of each parameter in the docstrings of a class and its bases.

    Examples
    --------
    >>> from podium.rankers import RankSVM
    >>> parameter_docs(RankSVM)["C"], parameter_docs(RankSVM)["max_iter"]
    ('The weight of a violated pair against |w|^2.', 'The maximum number of iterations.')
    """
    docs: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        docs |= _parameters_section(inspect.cleandoc(base.__doc__ or ""))
    return {name: docs.get(name, "") for name in parameter_types(owner)}


def _parameters_section(doc: str) -> dict[str, str]:
    """Return the entries of a numpydoc section Parameters; several names may share one description."""
    _, heading, rest = doc.partition("Parameters\n----------\n")
    section = re.split(r"\n\n(?=\S)", rest)[0] if heading else ""
    entries = re.findall(r"^(\S.*)\n((?:[ ]+.*\n?|\n)+)", section, re.MULTILINE)
    return {
        name.strip(): " ".join(text.replace("``", "").split())
        for names, text in entries
        for name in names.split(",")
    }


def check_parameters(owner: Any, name: str) -> None:
    """Raise a UsageError that names the first parameter with a wrong value.

    Examples
    --------
    >>> @dataclass
    ... class Settings:
    ...     k: Count = 10
    >>> check_parameters(Settings(k=0), "settings")
    Traceback (most recent call last):
    podium.errors.UsageError: expected k of settings to be a whole number of 1 or more, got 0
    """
    owner_type: type = type(owner)
    for parameter, hint in parameter_types(owner_type).items():
        value = getattr(owner, parameter)
        if not _fits(value, hint):
            raise UsageError(
                f"expected {parameter} of {name} to be {describe_type(hint)}, got {value!r:.200}"
            )


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *ranges = get_args(hint)
        return _fits(value, inner) and all(value in r for r in ranges if isinstance(r, Range))
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if isinstance(hint, type):
        return isinstance(value, hint)
    return True  # other types are checked where the parameter is used


def describe_type(hint: Any) -> str:
    """Return a parameter's type in words.

    Examples
    --------
    >>> describe_type(Positive), describe_type(Literal["hinge", "squared-hinge"])
    ('a number above 0', "'hinge' or 'squared-hinge'")
    >>> describe_type(tuple[int, ...]), describe_type(Sequence[Sequence[int]])
    ('a list of whole numbers', 'a list of lists of whole numbers')
    """
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *ranges = get_args(hint)
        return " ".join([describe_type(inner), *(str(r) for r in ranges if isinstance(r, Range))])
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(part) for part in get_args(hint))
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin in (tuple, Sequence):
        inner = describe_type(get_args(hint)[0]).removeprefix("a ")
        return f"a list of lists{inner[4:]}" if inner.startswith("list") else f"a list of {inner}s"
    if origin is Mapping:
        return "{}: {}".format(*map(describe_type, get_args(hint)))
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    words[TransformerMixin] = "a transformer of scikit-learn"
    if hint in words:
        return words[hint]
    return "none" if hint is type(None) else str(getattr(hint, "__name__", hint))
