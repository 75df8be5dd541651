"""RankLib's text models: weighted sums, RankBoost's stumps, and trees between <ensemble> tags.

Files are read as RankLib 2.10 reads them (RankerFactory, KeyValuePair, RankBoost, Ensemble,
ModelLineProducer and Java's own numbers), with two exceptions. Scores must be finite, so weights
and outputs are. White space and comments may be between any two tags, although RankLib fails on
some.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium.data.number_parsing import whole_of
from podium.exchange.importers.foreign_model import (
    ForeignModel,
    linear_model,
    read_finite,
    read_pairs,
)
from podium.exchange.java_numbers import JAVA_WHITESPACE, parse_java_number
from podium.exchange.model_text_lines import MAX_FEATURES, ModelLines, count_features
from podium.rankers.float32 import floor32, largest_rounding_to
from podium.rankers.forest import Forest, Tree
from podium.rankers.forest_text import model_from_forest
from podium.rankers.lightgbm_checks import MAX_TREE_LEVELS
from podium.rankers.models import Stumps

_SUMS = ("Linear Regression", "Coordinate Ascent", "AdaRank")
_TREES = ("LambdaMART", "MART", "Random Forests")
_NETWORKS = ("RankNet", "LambdaRank", "ListNet")
# Possessive (++), so that a name without a tag is read once, not once per letter.
_TAG = re.compile(r"<(/?)(\w++)([^<>]*+)>|[^<>\s]++(?:[^<>]*[^<>\s])?|[<>]", re.ASCII)
_WEIGHT = re.compile(r"""\sweight\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.ASCII)
_POSITION = re.compile(r"""\spos\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.ASCII)
_ROUNDING = 1e-6
"""The tolerance for the sum of the absolute weights of coordinate ascent, which is 1."""


def read_ranklib(lines: ModelLines, n_features: int | None = None) -> ForeignModel:
    """Read a file from ``-save``; its first line names the algorithm.

    The constant of a linear regression is left out: it is the same for all documents.
    """
    algorithm = _algorithm(lines)
    if algorithm in _NETWORKS:
        raise lines.error(
            1,
            f"{algorithm} is a network, which podium cannot import; expected a weighted sum, "
            f"stumps or trees ({', '.join((*_SUMS, 'RankBoost', *_TREES))})",
        )
    if algorithm in _TREES:
        several = algorithm == "Random Forests"
        return ForeignModel(
            model_from_forest(_forest(lines, n_features, several=several)), algorithm
        )
    if algorithm == "RankBoost":
        return _rankboost(lines, n_features)
    return _weighted_sum(lines, n_features, algorithm)


def _algorithm(lines: ModelLines) -> str:
    """Return the name on the first line, which may be in upper or lower case."""
    name = lines[0].removeprefix("## ").strip()
    if not lines[0].startswith("## ") or not name:
        raise lines.error(1, "expected RankLib's '## ALGORITHM' first, as in '## LambdaMART'")
    readable = (*_SUMS, "RankBoost", *_TREES)
    by_upper_name = {algorithm.upper(): algorithm for algorithm in (*readable, *_NETWORKS)}
    if name.upper() not in by_upper_name:
        raise lines.error(1, f"expected one of {', '.join(readable)}, got {name[:40]!r}")
    return by_upper_name[name.upper()]


def _first_words(lines: ModelLines) -> tuple[int, list[str]]:
    """Return the number and the words of the first line that is not a comment, without its comment."""
    for number, line in enumerate(lines, start=1):
        line = line.strip(JAVA_WHITESPACE)
        if line and not line.startswith("##"):
            text, sign, _ = line.rpartition("#")
            return number, [word for word in (text if sign else line).split(" ") if word]
    raise lines.error(len(lines), "the file ends after its comments; expected weights")


def _setting(lines: ModelLines, name: str) -> int | None:
    """Return a whole number that the comments state, as in "## Iteration = 300"."""
    for line in lines:
        key, _, value = line.removeprefix("##").partition("=")
        if line.startswith("##") and key.strip() == name:
            return whole_of(value.strip())
    return None


# --- weighted sums and stumps ---


def _weighted_sum(lines: ModelLines, n_features: int | None, algorithm: str) -> ForeignModel:
    number, words = _first_words(lines)
    pairs = read_pairs(lines, number, words, parse_java_number)
    weights = [(feature, weight) for feature, weight in pairs if feature > 0]
    if not weights:
        raise lines.error(number, "expected feature:weight pairs, got none")
    constants = len(pairs) - len(weights)
    if constants != (algorithm == "Linear Regression"):
        raise lines.error(
            number,
            "expected a constant (0:...) once in a linear regression, and features from 1 on in others, "
            f"got feature 0 {constants} times",
        )
    model = linear_model(lines, weights, n_features)
    if algorithm != "Coordinate Ascent":
        return ForeignModel(model, algorithm)
    size = math.fsum(abs(weight) for _, weight in weights)
    warning = (
        f"the absolute weights add up to {size:.6g}, but RankLib writes weights that add up "
        "to 1; if RankLib wrote this file, it is truncated or was changed"
    )
    return ForeignModel(model, algorithm, warning=warning if abs(size - 1) > _ROUNDING else None)


def _rankboost(lines: ModelLines, n_features: int | None) -> ForeignModel:
    """Read words feature:threshold:alpha; alpha counts if the feature, a float32, is above."""
    number, words = _first_words(lines)
    features, thresholds, alphas = [], [], []
    for word in words:
        parts = word.split(":")
        if len(parts) != 3:
            raise lines.error(number, f"expected feature:threshold:weight, got {word[:40]!r}")
        features.append(_feature(lines, number, parts[0]))
        thresholds.append(_threshold(lines, number, parts[1]))
        alphas.append(read_finite(lines, number, parts[2], parse_java_number))
    width = count_features(lines, features, n_features)
    edges = np.minimum(largest_rounding_to(floor32(thresholds)), sys.float_info.max)
    model = Stumps(width, np.array(features, dtype=np.int64) - 1, edges, np.array(alphas))
    return ForeignModel(model, "RankBoost", warning=_rounds_warning(lines, number, len(words)))


def _rounds_warning(lines: ModelLines, number: int, n: int) -> str | None:
    """Return a warning if the file has fewer rounds than it states; raise if it has more."""
    stated = _setting(lines, "Iteration")
    if stated is None or n == stated:
        return None
    if n > stated:
        raise lines.error(number, f"expected {stated} rounds, as the file states, got {n}")
    return (
        f"the file states {stated} rounds but has {n}; RankLib keeps only the best rounds if "
        "it has validation data; otherwise the file is truncated"
    )


def _threshold(lines: ModelLines, number: int, text: str) -> float:
    """Return a number; it may be infinite, so that all features or none exceed it."""
    if (value := parse_java_number(text)) is None:
        raise lines.error(number, f"expected a number as threshold, got {text[:40]!r}")
    return value


def _feature(lines: ModelLines, number: int, text: str) -> int:
    feature = whole_of(text)
    if feature is None or not 1 <= feature <= MAX_FEATURES:
        raise lines.error(number, f"expected a feature of 1 to {MAX_FEATURES:,}, got {text[:40]!r}")
    return feature


# --- trees ---


@dataclass(frozen=True)
class _Token:
    line: int
    kind: str
    """"open", "close" or "text"."""
    text: str
    attributes: str = ""


def _without_comments(lines: ModelLines) -> Iterator[tuple[int, str]]:
    """Yield lines by number without XML's comments; lines that begin with # are dropped first."""
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.lstrip(JAVA_WHITESPACE).startswith("#"):
            continue
        parts, at = [], 0
        while at < len(line):
            end = line.find("-->" if inside else "<!--", at)
            if not inside:
                parts.append(line[at:] if end < 0 else line[at:end])
            if end < 0:
                break
            at = end + (3 if inside else 4)
            inside = not inside
        yield number, " ".join(parts)
    if inside:
        raise lines.error(len(lines), "the file ends inside a comment; expected -->")


def _tokens(lines: ModelLines) -> Iterator[_Token]:
    for number, line in _without_comments(lines):
        for match in _TAG.finditer(line):
            if match[2] is not None:
                yield _Token(number, "close" if match[1] else "open", match[2], match[3])
            elif match[0] in "<>":
                raise lines.error(number, f"expected tags as in <split>, got {match[0]!r}")
            else:
                yield _Token(number, "text", match[0])


class _Reader:
    """Reads tokens in order, and raises for an unexpected token."""

    def __init__(self, lines: ModelLines) -> None:
        self.lines = lines
        self.tokens = list(_tokens(lines))
        self.at = 0

    def has_more(self) -> bool:
        return self.at < len(self.tokens)

    def is_next(self, kind: str, text: str) -> bool:
        token = self.tokens[self.at] if self.has_more() else None
        return token is not None and (token.kind, token.text) == (kind, text)

    def take(self, kind: str, text: str | None = None) -> _Token:
        expected = {"open": f"<{text}>", "close": f"</{text}>", "text": "a number"}[kind]
        if not self.has_more():
            raise self.lines.error(len(self.lines), f"expected {expected}, got the end of the file")
        token = self.tokens[self.at]
        if token.kind != kind or text not in (None, token.text):
            raise self.lines.error(token.line, f"expected {expected}, got {token.text[:40]!r}")
        self.at += 1
        return token

    def field(self, name: str) -> _Token:
        self.take("open", name)
        text = self.take("text")
        self.take("close", name)
        return text


def _forest(lines: ModelLines, n_features: int | None, *, several: bool) -> Forest:
    """Read one ensemble, or several, whose scores are averaged."""
    reader = _Reader(lines)
    trees: list[Tree] = []
    ensembles = 0
    while reader.has_more():
        opened = reader.take("open", "ensemble")
        if ensembles and not several:
            raise lines.error(opened.line, "expected one <ensemble>, got another one")
        while reader.is_next("open", "tree"):
            trees.append(_tree(reader))
        reader.take("close", "ensemble")
        ensembles += 1
    if not trees:
        raise lines.error(len(lines), "expected an <ensemble> of trees, got none")
    bags = _setting(lines, "No. of bags") if several else None
    if bags not in (None, ensembles):
        raise lines.error(
            len(lines), f"expected {bags} ensembles, as the file states, got {ensembles}"
        )
    used = [int(f) + 1 for tree in trees for f in tree.feature]
    return Forest(count_features(lines, used, n_features), tuple(trees)).scale(1 / ensembles)


def _tree(reader: _Reader) -> Tree:
    opened = reader.take("open", "tree")
    weight = _WEIGHT.search(opened.attributes)
    if weight is None:
        raise reader.lines.error(opened.line, "expected the weight of the tree, got none")
    factor = _single(reader.lines, opened.line, weight[1] or weight[2] or "")
    feature: list[int] = []
    threshold: list[np.float32] = []
    children: list[list[int]] = []
    value: list[float] = []
    open_nodes: list[int] = []  # nodes that lack a child; no recursion, because nesting may be deep

    def add_child(child: int) -> None:
        if open_nodes:
            children[open_nodes[-1]].append(child)

    reader.take("open", "split")
    while True:
        if reader.is_next("open", "output"):
            add_child(~len(value))
            output = reader.field("output")
            value.append(factor * _single(reader.lines, output.line, output.text))
            reader.take("close", "split")
            while open_nodes and len(children[open_nodes[-1]]) == 2:
                open_nodes.pop()
                reader.take("close", "split")
            if not open_nodes:
                break
        else:
            add_child(len(feature))
            open_nodes.append(len(feature))
            feature.append(_split_feature(reader, len(open_nodes)))
            edge = reader.field("threshold")
            threshold.append(_float32(_threshold(reader.lines, edge.line, edge.text)))
            children.append([])
        _check_position(reader, reader.take("open", "split"), len(children[open_nodes[-1]]))
    reader.take("close", "tree")
    # RankLib keeps features and thresholds in float32.
    edges = largest_rounding_to(np.array(threshold, dtype=np.float32)).tolist()
    return Tree.of(feature, edges, [(a, b) for a, b in children], value)


def _split_feature(reader: _Reader, n_levels: int) -> int:
    """Return the feature of a split, counted from 0; raise if the split is on too deep a level."""
    token = reader.field("feature")
    if n_levels > MAX_TREE_LEVELS:
        raise reader.lines.error(
            token.line, f"expected at most {MAX_TREE_LEVELS} splits inside each other, got more"
        )
    return _feature(reader.lines, token.line, token.text) - 1


def _check_position(reader: _Reader, split: _Token, place: int) -> None:
    """Raise unless the split says that it is the left child first, then the right; RankLib goes by place."""
    stated, expected = _POSITION.search(split.attributes), ("left", "right")[place]
    position = expected if stated is None else stated[1] or stated[2] or ""
    if position != expected:
        got = f"got pos={position[:40]!r}; the first split is the left child, the second the right"
        raise reader.lines.error(split.line, f'expected pos="{expected}", {got}')


def _float32(value: float) -> np.float32:
    """Return the nearest float32 as Java's parseFloat does: infinite beyond the largest number."""
    with np.errstate(over="ignore"):
        return np.float32(value)


def _single(lines: ModelLines, number: int, text: str) -> float:
    """Return a finite number that RankLib keeps in float32."""
    value = _float32(read_finite(lines, number, text, parse_java_number))
    if not np.isfinite(value):
        raise lines.error(number, f"expected a finite float32 number, got {text[:40]!r}")
    return float(value)
