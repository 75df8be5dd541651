"""SVMrank and SVMlight: support vectors of a linear kernel, whose weighted sum is w."""

from __future__ import annotations

from podium.data.number_parsing import whole_of, words_of
from podium.exchange.importers.foreign_model import (
    ForeignModel,
    linear_model,
    read_finite,
    read_pair,
    read_pairs,
)
from podium.exchange.model_text_lines import MAX_FEATURES, ModelLines, check_width

_HEADER_LINES = 10
"""The number of lines between the version and the first support vector."""


def read_svmrank(lines: ModelLines, n_features: int | None = None) -> ForeignModel:
    """Read a model of svm_rank_learn or svm_learn, or a file of feature:weight pairs.

    The threshold b is left out: it is the same for all documents.
    """
    if lines[0].startswith("SVM-light Version"):
        return _svmlight(lines, n_features)
    weights: list[tuple[int, float]] = []
    for number, line in enumerate(lines, start=1):
        weights += read_pairs(lines, number, words_of(line.partition("#")[0]))
    _check_features(lines, weights)
    return ForeignModel(linear_model(lines, weights, n_features), "weights")


def _svmlight(lines: ModelLines, n_features: int | None) -> ForeignModel:
    if len(lines) <= _HEADER_LINES:
        raise lines.error(
            len(lines),
            f"the file ends too early; expected {_HEADER_LINES} lines of settings, then "
            "support vectors",
        )
    if _setting(lines, 2, "kernel type") != "0":
        raise lines.error(
            2, "the kernel is not linear; expected a linear kernel (0), whose weights can be summed"
        )
    highest = _integer(lines, 8, "highest feature index")
    vectors = _integer(lines, 10, "number of support vectors plus 1") - 1
    read_finite(lines, 11, _setting(lines, 11, "threshold b"))
    rows = [(n, line) for n, line in enumerate(lines[11:], start=12) if line.strip()]
    if len(rows) != vectors:
        raise lines.error(
            10, f"this line states {vectors} support vectors, but the file has {len(rows)}"
        )
    weights: list[tuple[int, float]] = []
    for number, line in rows:
        alpha, *words = words_of(line.partition("#")[0]) or [""]
        words = [word for word in words if not word.startswith(("qid:", "sid:", "cost:"))]
        scale = read_finite(lines, number, alpha)
        vector = [read_pair(lines, number, word) for word in words]
        weights += [(feature, scale * value) for feature, value in vector]
    _check_features(lines, weights)
    if n_features is None and 0 < highest <= MAX_FEATURES:
        check_width(lines, highest, n_features)
        n_features = highest
    return ForeignModel(linear_model(lines, weights, n_features), "svmlight")


def _setting(lines: ModelLines, number: int, name: str) -> str:
    """Return the value of a line "value # name"."""
    value, sign, rest = lines[number - 1].partition("#")
    if not sign or not rest.strip().startswith(name):
        raise lines.error(number, f"expected the {name}, got {lines[number - 1][:40]!r}")
    return value.strip(" \t")


def _integer(lines: ModelLines, number: int, name: str) -> int:
    text = _setting(lines, number, name)
    if (value := whole_of(text)) is None:
        raise lines.error(number, f"expected a whole number as the {name}, got {text[:40]!r}")
    return value


def _check_features(lines: ModelLines, weights: list[tuple[int, float]]) -> None:
    if not weights:
        raise lines.error(len(lines), "expected feature:weight pairs, got none")
    if any(feature == 0 for feature, _ in weights):
        raise lines.error(1, "expected features from 1 on, got 0")
