"""RankLib's text models: weighted sums, RankBoost's stumps, and trees between <ensemble> tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium.exchange.floats import LARGEST, floor32, largest_rounding_to
from podium.exchange.forest import Forest, Tree
from podium.exchange.lightgbm_text import trees_model
from podium.exchange.lines import MOST_FEATURES, Lines, width_of
from podium.exchange.sources.content import Found, finite, linear, pairs
from podium.rankers.models import Stumps

_SUMS = ("Linear Regression", "Coordinate Ascent", "AdaRank")
_TREES = ("LambdaMART", "MART", "Random Forests")
_NETWORKS = ("RankNet", "LambdaRank", "ListNet")
# Possessive (++): a name that does not end in a tag is looked at once, not once a letter.
_TAG = re.compile(r"<(/?)(\w++)([^<>]*+)>|[^<>\s]++(?:[^<>]*[^<>\s])?|[<>]")


def ranklib(lines: Lines, n_features: int | None = None) -> Found:
    """A file of ``-save``; its first line says the algorithm.

    A constant that linear regression adds is the same for all documents and is left out.
    """
    algorithm = lines[0].removeprefix("##").strip()
    if not lines[0].startswith("##") or not algorithm:
        raise lines.wrong(1, "expected RankLib's '## ALGORITHM' first, as in '## LambdaMART'")
    if algorithm in _NETWORKS:
        raise lines.wrong(
            1,
            f"expected a weighted sum, stumps or trees ({', '.join((*_SUMS, 'RankBoost', *_TREES))}), "
            f"got the network {algorithm}",
        )
    if algorithm in _TREES:
        return Found(trees_model(_forest(lines, n_features)), algorithm)
    if algorithm == "RankBoost":
        return Found(_stumps(lines, n_features), algorithm)
    if algorithm not in _SUMS:
        known = ", ".join((*_SUMS, "RankBoost", *_TREES))
        raise lines.wrong(1, f"expected one of {known}, got {algorithm[:40]!r}")
    number, words = _words(lines)
    found = [(f, weight) for f, weight in pairs(lines, number, words) if f > 0]
    if not found:
        raise lines.wrong(number, "expected feature:weight pairs, got none")
    return Found(linear(lines, found, n_features), algorithm)


def _words(lines: Lines) -> tuple[int, list[str]]:
    """The first line that is no comment."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("##"):
            return number, line.split()
    raise lines.wrong(len(lines), "expected weights behind the comments, got the end of the file")


def _stumps(lines: Lines, n_features: int | None) -> Stumps:
    """feature:threshold:alpha, where alpha counts if the feature, a float32, is above."""
    number, words = _words(lines)
    features, thresholds, alphas = [], [], []
    for word in words:
        parts = word.split(":")
        if len(parts) != 3:
            raise lines.wrong(number, f"expected feature:threshold:weight, got {word[:40]!r}")
        features.append(_feature(lines, number, parts[0]))
        thresholds.append(finite(lines, number, parts[1]))
        alphas.append(finite(lines, number, parts[2]))
    width = width_of(lines, features, n_features)
    edges = largest_rounding_to(floor32(thresholds))
    return Stumps(width, np.array(features, dtype=np.int64) - 1, edges, np.array(alphas))


def _feature(lines: Lines, number: int, text: str) -> int:
    known = text.isascii() and text.isdigit() and len(text) < 10
    if not (known and 1 <= int(text) <= MOST_FEATURES):
        raise lines.wrong(
            number, f"expected a feature of 1 to {MOST_FEATURES:,}, got {text[:40]!r}"
        )
    return int(text)


# --- trees ---


@dataclass(frozen=True)
class _Token:
    line: int
    kind: str
    """"open", "close" or "text"."""
    text: str
    attributes: str = ""


def _tokens(lines: Lines) -> Iterator[_Token]:
    for number, line in enumerate(lines, start=1):
        if line.startswith("##"):
            continue
        for found in _TAG.finditer(line):
            if found[2] is not None:
                yield _Token(number, "close" if found[1] else "open", found[2], found[3])
            elif found[0] in "<>":
                raise lines.wrong(number, f"expected tags as in <split>, got {found[0]!r}")
            else:
                yield _Token(number, "text", found[0])


class _Reader:
    """Tokens in their order; knows what must come next."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.tokens = list(_tokens(lines))
        self.at = 0

    def more(self) -> bool:
        return self.at < len(self.tokens)

    def sees(self, kind: str, text: str) -> bool:
        token = self.tokens[self.at] if self.more() else None
        return token is not None and (token.kind, token.text) == (kind, text)

    def take(self, kind: str, text: str | None = None) -> _Token:
        wanted = {"open": f"<{text}>", "close": f"</{text}>", "text": "a number"}[kind]
        if not self.more():
            raise self.lines.wrong(len(self.lines), f"expected {wanted}, got the end of the file")
        token = self.tokens[self.at]
        if token.kind != kind or text not in (None, token.text):
            raise self.lines.wrong(token.line, f"expected {wanted}, got {token.text[:40]!r}")
        self.at += 1
        return token

    def field(self, name: str) -> _Token:
        self.take("open", name)
        found = self.take("text")
        self.take("close", name)
        return found


def _forest(lines: Lines, n_features: int | None) -> Forest:
    """One ensemble, or the mean of several."""
    reader = _Reader(lines)
    trees: list[Tree] = []
    ensembles = 0
    while reader.more():
        reader.take("open", "ensemble")
        while reader.sees("open", "tree"):
            trees.append(_tree(reader))
        reader.take("close", "ensemble")
        ensembles += 1
    if not trees:
        raise lines.wrong(len(lines), "expected an <ensemble> of trees, got none")
    used = [int(f) + 1 for tree in trees for f in tree.feature]
    return Forest(width_of(lines, used, n_features), tuple(trees)).times(1 / ensembles)


def _tree(reader: _Reader) -> Tree:
    opened = reader.take("open", "tree")
    weight = re.search(r'weight="([^"]*)"', opened.attributes)
    if weight is None:
        raise reader.lines.wrong(opened.line, "expected the weight of the tree, got none")
    factor = finite(reader.lines, opened.line, weight[1])
    feature: list[int] = []
    threshold: list[np.float32] = []
    children: list[list[int]] = []
    value: list[float] = []
    waiting: list[int] = []  # questions with a child to come; nesting may be deep, so no recursion

    def put(child: int) -> None:
        if waiting:
            children[waiting[-1]].append(child)

    reader.take("open", "split")
    while True:
        if reader.sees("open", "output"):
            put(~len(value))
            value.append(factor * _number(reader, "output"))
            reader.take("close", "split")
            while waiting and len(children[waiting[-1]]) == 2:
                waiting.pop()
                reader.take("close", "split")
            if not waiting:
                break
        else:
            put(len(feature))
            waiting.append(len(feature))
            token = reader.field("feature")
            feature.append(_feature(reader.lines, token.line, token.text) - 1)
            threshold.append(np.float32(_number(reader, "threshold")))
            children.append([])
        reader.take("open", "split")
    reader.take("close", "tree")
    # RankLib keeps features and thresholds in float32.
    edges = largest_rounding_to(np.array(threshold, dtype=np.float32)).tolist()
    return Tree.of(feature, edges, [(a, b) for a, b in children], value)


def _number(reader: _Reader, name: str) -> float:
    token = reader.field(name)
    value = finite(reader.lines, token.line, token.text)
    if abs(value) > LARGEST:
        raise reader.lines.wrong(token.line, f"expected a float32 number, got {token.text[:40]!r}")
    return value
