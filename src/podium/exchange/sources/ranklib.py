"""RankLib's text models: weighted sums, RankBoost's stumps, and trees between <ensemble> tags.

Files are read as RankLib 2.10 reads them (RankerFactory, KeyValuePair, RankBoost, Ensemble,
ModelLineProducer and Java's own numbers), with two exceptions. Scores must be finite, so weights and
outputs are. White space and comments may stand between any two tags, where RankLib fails on some.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium.data.decimals import whole_of
from podium.exchange.floats import JAVA_SPACE, floor32, java_number, largest_rounding_to
from podium.exchange.forest import Forest, Tree
from podium.exchange.lightgbm_text import trees_model
from podium.exchange.lines import MOST_FEATURES, Lines, width_of
from podium.exchange.sources.content import Found, finite, linear, pairs
from podium.rankers.models import Stumps

_SUMS = ("Linear Regression", "Coordinate Ascent", "AdaRank")
_TREES = ("LambdaMART", "MART", "Random Forests")
_NETWORKS = ("RankNet", "LambdaRank", "ListNet")
# Possessive (++): a name that does not end in a tag is looked at once, not once a letter.
_TAG = re.compile(r"<(/?)(\w++)([^<>]*+)>|[^<>\s]++(?:[^<>]*[^<>\s])?|[<>]", re.ASCII)
_WEIGHT = re.compile(r"""\sweight\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.ASCII)
_ROUNDING = 1e-6
"""How far the sizes of coordinate ascent's weights may be from adding up to 1."""


def ranklib(lines: Lines, n_features: int | None = None) -> Found:
    """A file of ``-save``; its first line says the algorithm.

    A constant that linear regression adds is the same for all documents and is left out.
    """
    algorithm = _algorithm(lines)
    if algorithm in _NETWORKS:
        raise lines.wrong(
            1,
            f"expected a weighted sum, stumps or trees ({', '.join((*_SUMS, 'RankBoost', *_TREES))}), "
            f"got the network {algorithm}",
        )
    if algorithm in _TREES:
        several = algorithm == "Random Forests"
        return Found(trees_model(_forest(lines, n_features, several=several)), algorithm)
    if algorithm == "RankBoost":
        return _rankboost(lines, n_features)
    return _weighted_sum(lines, n_features, algorithm)


def _algorithm(lines: Lines) -> str:
    """The name on the first line, in upper or lower case."""
    name = lines[0].removeprefix("## ").strip()
    if not lines[0].startswith("## ") or not name:
        raise lines.wrong(1, "expected RankLib's '## ALGORITHM' first, as in '## LambdaMART'")
    readable = (*_SUMS, "RankBoost", *_TREES)
    every = {algorithm.upper(): algorithm for algorithm in (*readable, *_NETWORKS)}
    if name.upper() not in every:
        raise lines.wrong(1, f"expected one of {', '.join(readable)}, got {name[:40]!r}")
    return every[name.upper()]


def _words(lines: Lines) -> tuple[int, list[str]]:
    """The first line that is no comment, without a comment at its end."""
    for number, line in enumerate(lines, start=1):
        line = line.strip(JAVA_SPACE)
        if line and not line.startswith("##"):
            kept, sign, _ = line.rpartition("#")
            return number, [word for word in (kept if sign else line).split(" ") if word]
    raise lines.wrong(len(lines), "expected weights behind the comments, got the end of the file")


def _setting(lines: Lines, name: str) -> int | None:
    """A whole number that the comments state, as in "## Iteration = 300"."""
    for line in lines:
        key, _, value = line.removeprefix("##").partition("=")
        if line.startswith("##") and key.strip() == name:
            return whole_of(value.strip())
    return None


# --- weighted sums and stumps ---


def _weighted_sum(lines: Lines, n_features: int | None, algorithm: str) -> Found:
    number, words = _words(lines)
    every = pairs(lines, number, words, java_number)
    weights = [(feature, weight) for feature, weight in every if feature > 0]
    if not weights:
        raise lines.wrong(number, "expected feature:weight pairs, got none")
    constants = len(every) - len(weights)
    if constants != (algorithm == "Linear Regression"):
        raise lines.wrong(
            number,
            "expected a constant (0:...) once in a linear regression, and features from 1 on in others, "
            f"got feature 0 {constants} times",
        )
    model = linear(lines, weights, n_features)
    if algorithm != "Coordinate Ascent":
        return Found(model, algorithm)
    size = math.fsum(abs(weight) for _, weight in weights)
    doubt = (
        f"the sizes of the weights add up to {size:.6g}, and RankLib writes weights that add up to 1; "
        "if RankLib wrote this file, it is cut off or was changed"
    )
    return Found(model, algorithm, doubt=doubt if abs(size - 1) > _ROUNDING else None)


def _rankboost(lines: Lines, n_features: int | None) -> Found:
    """feature:threshold:alpha, where alpha counts if the feature, a float32, is above."""
    number, words = _words(lines)
    features, thresholds, alphas = [], [], []
    for word in words:
        parts = word.split(":")
        if len(parts) != 3:
            raise lines.wrong(number, f"expected feature:threshold:weight, got {word[:40]!r}")
        features.append(_feature(lines, number, parts[0]))
        thresholds.append(_threshold(lines, number, parts[1]))
        alphas.append(finite(lines, number, parts[2], java_number))
    width = width_of(lines, features, n_features)
    edges = np.minimum(largest_rounding_to(floor32(thresholds)), sys.float_info.max)
    model = Stumps(width, np.array(features, dtype=np.int64) - 1, edges, np.array(alphas))
    return Found(model, "RankBoost", doubt=_rounds(lines, number, len(words)))


def _rounds(lines: Lines, number: int, n: int) -> str | None:
    """A doubt where the file has fewer rounds than it states; RankLib never writes more."""
    stated = _setting(lines, "Iteration")
    if stated is None or n == stated:
        return None
    if n > stated:
        raise lines.wrong(number, f"expected {stated} rounds, as the file states, got {n}")
    return (
        f"the file states {stated} rounds and has {n}; RankLib keeps the best rounds if it was given "
        "validation data, and otherwise the file is cut off"
    )


def _threshold(lines: Lines, number: int, text: str) -> float:
    """A number, or an infinite one, which all features or none exceed."""
    if (value := java_number(text)) is None:
        raise lines.wrong(number, f"expected a number as threshold, got {text[:40]!r}")
    return value


def _feature(lines: Lines, number: int, text: str) -> int:
    feature = whole_of(text)
    if feature is None or not 1 <= feature <= MOST_FEATURES:
        raise lines.wrong(
            number, f"expected a feature of 1 to {MOST_FEATURES:,}, got {text[:40]!r}"
        )
    return feature


# --- trees ---


@dataclass(frozen=True)
class _Token:
    line: int
    kind: str
    """"open", "close" or "text"."""
    text: str
    attributes: str = ""


def _without_comments(lines: Lines) -> Iterator[tuple[int, str]]:
    """Lines by number, without XML's comments; lines that begin with # are dropped before those."""
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.lstrip(JAVA_SPACE).startswith("#"):
            continue
        kept, at = [], 0
        while at < len(line):
            end = line.find("-->" if inside else "<!--", at)
            if not inside:
                kept.append(line[at:] if end < 0 else line[at:end])
            if end < 0:
                break
            at = end + (3 if inside else 4)
            inside = not inside
        yield number, " ".join(kept)
    if inside:
        raise lines.wrong(len(lines), "expected --> behind a comment, got the end of the file")


def _tokens(lines: Lines) -> Iterator[_Token]:
    for number, line in _without_comments(lines):
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


def _forest(lines: Lines, n_features: int | None, *, several: bool) -> Forest:
    """One ensemble, or the mean of several."""
    reader = _Reader(lines)
    trees: list[Tree] = []
    ensembles = 0
    while reader.more():
        opened = reader.take("open", "ensemble")
        if ensembles and not several:
            raise lines.wrong(opened.line, "expected one <ensemble>, got another one")
        while reader.sees("open", "tree"):
            trees.append(_tree(reader))
        reader.take("close", "ensemble")
        ensembles += 1
    if not trees:
        raise lines.wrong(len(lines), "expected an <ensemble> of trees, got none")
    bags = _setting(lines, "No. of bags") if several else None
    if bags not in (None, ensembles):
        raise lines.wrong(
            len(lines), f"expected {bags} ensembles, as the file states, got {ensembles}"
        )
    used = [int(f) + 1 for tree in trees for f in tree.feature]
    return Forest(width_of(lines, used, n_features), tuple(trees)).times(1 / ensembles)


def _tree(reader: _Reader) -> Tree:
    opened = reader.take("open", "tree")
    weight = _WEIGHT.search(opened.attributes)
    if weight is None:
        raise reader.lines.wrong(opened.line, "expected the weight of the tree, got none")
    factor = _single(reader.lines, opened.line, weight[1] or weight[2] or "")
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
            output = reader.field("output")
            value.append(factor * _single(reader.lines, output.line, output.text))
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
            edge = reader.field("threshold")
            threshold.append(_float32(_threshold(reader.lines, edge.line, edge.text)))
            children.append([])
        reader.take("open", "split")
    reader.take("close", "tree")
    # RankLib keeps features and thresholds in float32.
    edges = largest_rounding_to(np.array(threshold, dtype=np.float32)).tolist()
    return Tree.of(feature, edges, [(a, b) for a, b in children], value)


def _float32(value: float) -> np.float32:
    """The nearest float32, as Java's parseFloat takes it: infinite for a number beyond the largest."""
    with np.errstate(over="ignore"):
        return np.float32(value)


def _single(lines: Lines, number: int, text: str) -> float:
    """A finite number that RankLib keeps in float32."""
    value = _float32(finite(lines, number, text, java_number))
    if not np.isfinite(value):
        raise lines.wrong(number, f"expected a finite float32 number, got {text[:40]!r}")
    return float(value)
