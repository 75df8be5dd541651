"""Nested model files: numbered models inside the file of an ensemble; no part is trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from podium.aggregation import AGGREGATORS, Aggregator
from podium.errors import ModelFileError
from podium.rankers.models import Model, Part
from podium.rankers.parameters import check_parameters

MAX_NESTED_MODELS = 4
"""How deep models may be nested in a file; a deeper file could be an attack."""
MAX_MEMBERS = 256
"""The maximum number of members in a model file; more could be an attack."""


def number_parts(models: Iterable[Model]) -> dict[str, Part]:
    """Return the parts of models; each name begins with the number of its model."""
    return {
        f"{number}/{name}": part
        for number, model in enumerate(models)
        for name, part in model.parts().items()
    }


def parts_by_model(parts: Mapping[str, Part]) -> dict[int, dict[str, Part]]:
    """Return the parts of every nested model by its number.

    It takes one pass over all parts, because a file may have many models.

    Examples
    --------
    >>> parts_by_model({"vote": "{}", "0/trees": "tree", "1/0/loss": "hinge"})
    {0: {'trees': 'tree'}, 1: {'0/loss': 'hinge'}}
    """
    models: dict[int, dict[str, Part]] = {}
    for name, part in parts.items():
        number, slash, rest = name.partition("/")
        if slash and number.isdecimal() and number.isascii() and len(number) < 10:
            models.setdefault(int(number), {})[rest] = part
    return models


def check_nesting(parts: Mapping[str, Part]) -> None:
    """Raise if models are nested more than MAX_NESTED_MODELS levels deep."""
    if any(name.count("/") > MAX_NESTED_MODELS for name in parts):
        raise ModelFileError(f"models may be nested at most {MAX_NESTED_MODELS} levels deep")


def read_nested_model(
    kind: object, parts: dict[str, Part], kinds: Mapping[str, type[Model]]
) -> Model:
    """Return a nested model from its parts; `kinds` has the classes of models by kind."""
    if not isinstance(kind, str) or kind not in kinds:
        raise ModelFileError(f"unknown kind of model of a member: {kind!r:.80}")
    return kinds[kind].read(parts, kinds)


def read_aggregator(name: object, options: Any) -> Aggregator:
    """Return the aggregator of this name in a file; raise ModelFileError if there is none."""
    if not isinstance(name, str) or name not in AGGREGATORS:
        raise ModelFileError(f"unknown aggregator in the model file: {name!r:.80}")
    aggregator = AGGREGATORS[name](**options)
    check_parameters(aggregator, name)
    return aggregator


def read_number(value: object, least: float = -math.inf) -> float:
    """Return a finite number of at least `least`; raise ValueError if it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80} is not a number")
    if value < least:
        raise ValueError(f"{value!r:.80} is below {least:g}")
    return float(value)
