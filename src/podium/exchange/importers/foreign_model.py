"""A model of another program, and the parser of feature:weight pairs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from podium.data.number_parsing import decimal_of
from podium.exchange.model_text_lines import MAX_FEATURES, ModelLines, count_features
from podium.rankers.models import Linear, Model

_PAIR = re.compile(r"([0-9]{1,9}):(\S+)")

Parse = Callable[[str], float | None]
"""A function that reads a number like the program; None if the program refuses the text."""


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """A model from an importer, its algorithm, and the feature names in the file, if any.

    `warning` says why the file may be truncated.
    """

    model: Model
    algorithm: str
    feature_names: tuple[str, ...] | None = None
    warning: str | None = None


def read_pairs(
    lines: ModelLines, number: int, words: Iterable[str], parse: Parse = decimal_of
) -> list[tuple[int, float]]:
    """Return the pairs of words feature:number."""
    return [read_pair(lines, number, word, parse) for word in words]


def read_pair(
    lines: ModelLines, number: int, word: str, parse: Parse = decimal_of
) -> tuple[int, float]:
    """Return the pair of a word feature:number."""
    match = _PAIR.fullmatch(word)
    if match is None or int(match[1]) > MAX_FEATURES:
        raise lines.error(number, f"expected feature:weight, as in 3:0.25, got {word[:40]!r}")
    return int(match[1]), read_finite(lines, number, match[2], parse)


def read_finite(lines: ModelLines, number: int, text: str, parse: Parse = decimal_of) -> float:
    """Return a finite number."""
    value = parse(text)
    if value is None or not math.isfinite(value):
        raise lines.error(number, f"expected a finite number, got {text[:40]!r}")
    return value


def linear_model(
    lines: ModelLines, pairs: list[tuple[int, float]], n_features: int | None
) -> Linear:
    """Return a weighted sum; features count from 1, and repeated weights of one feature are added."""
    width = count_features(lines, [feature for feature, _ in pairs], n_features)
    weights = np.zeros(width)
    for feature, weight in pairs:
        weights[feature - 1] += weight
    return Linear(weights)
