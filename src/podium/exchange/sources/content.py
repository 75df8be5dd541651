"""What all sources share: a model with what is known of it, and features told by number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from podium.data.decimals import decimal_of
from podium.exchange.lines import MOST_FEATURES, Lines, width_of
from podium.rankers.models import Linear, Model

_PAIR = re.compile(r"([0-9]{1,9}):(\S+)")

Parse = Callable[[str], float | None]
"""How a program reads a number; None where the text is none to it."""


@dataclass(frozen=True, eq=False)
class Found:
    """A model, the algorithm that made it, names of the features where the file has them, and a doubt
    that the file is whole."""

    model: Model
    algorithm: str
    names: tuple[str, ...] | None = None
    doubt: str | None = None


def pairs(
    lines: Lines, number: int, words: Iterable[str], parse: Parse = decimal_of
) -> list[tuple[int, float]]:
    """Words feature:number."""
    return [pair(lines, number, word, parse) for word in words]


def pair(lines: Lines, number: int, word: str, parse: Parse = decimal_of) -> tuple[int, float]:
    """A word feature:number."""
    found = _PAIR.fullmatch(word)
    if found is None or int(found[1]) > MOST_FEATURES:
        raise lines.wrong(number, f"expected feature:weight, as in 3:0.25, got {word[:40]!r}")
    return int(found[1]), finite(lines, number, found[2], parse)


def finite(lines: Lines, number: int, text: str, parse: Parse = decimal_of) -> float:
    """A finite number."""
    value = parse(text)
    if value is None or not math.isfinite(value):
        raise lines.wrong(number, f"expected a finite number, got {text[:40]!r}")
    return value


def linear(lines: Lines, found: list[tuple[int, float]], n_features: int | None) -> Linear:
    """Weights of features that are counted from 1; one that comes again adds up."""
    width = width_of(lines, [feature for feature, _ in found], n_features)
    weights = np.zeros(width)
    for feature, weight in found:
        weights[feature - 1] += weight
    return Linear(weights)
