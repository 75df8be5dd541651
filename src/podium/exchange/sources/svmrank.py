"""SVMrank and SVMlight: a linear kernel's support vectors, whose weighted sum is w."""

from __future__ import annotations

from podium.data.decimals import whole_of, words_of
from podium.exchange.lines import Lines
from podium.exchange.sources.content import Found, finite, linear, pair, pairs

_HEADER = 10
"""Lines between the version and the first support vector."""


def svmrank(lines: Lines, n_features: int | None = None) -> Found:
    """A model of svm_rank_learn or svm_learn; or feature:weight pairs alone, on any lines.

    Its threshold b is the same for all documents and is left out.
    """
    if lines[0].startswith("SVM-light Version"):
        return _svmlight(lines, n_features)
    found: list[tuple[int, float]] = []
    for number, line in enumerate(lines, start=1):
        found += pairs(lines, number, words_of(line.partition("#")[0]))
    _check_features(lines, found)
    return Found(linear(lines, found, n_features), "weights")


def _svmlight(lines: Lines, n_features: int | None) -> Found:
    if len(lines) <= _HEADER:
        raise lines.wrong(
            len(lines), f"expected {_HEADER} lines of settings, then support vectors, got the end"
        )
    if _setting(lines, 2, "kernel type") != "0":
        raise lines.wrong(
            2, "expected a linear kernel (0), whose weights can be added up, got another one"
        )
    highest = _whole(lines, 8, "highest feature index")
    vectors = _whole(lines, 10, "number of support vectors plus 1") - 1
    finite(lines, 11, _setting(lines, 11, "threshold b"))
    rows = [(n, line) for n, line in enumerate(lines[11:], start=12) if line.strip()]
    if len(rows) != vectors:
        raise lines.wrong(10, f"expected {vectors} support vectors, as told here, got {len(rows)}")
    found: list[tuple[int, float]] = []
    for number, line in rows:
        alpha, *words = words_of(line.partition("#")[0]) or [""]
        words = [word for word in words if not word.startswith(("qid:", "sid:", "cost:"))]
        scale = finite(lines, number, alpha)
        vector = [pair(lines, number, word) for word in words]
        found += [(feature, scale * value) for feature, value in vector]
    _check_features(lines, found)
    if n_features is None and 0 < highest <= 1 << 20:
        n_features = highest
    return Found(linear(lines, found, n_features), "svmlight")


def _setting(lines: Lines, number: int, name: str) -> str:
    """A line "value # name"."""
    value, sign, rest = lines[number - 1].partition("#")
    if not sign or not rest.strip().startswith(name):
        raise lines.wrong(number, f"expected the {name}, got {lines[number - 1][:40]!r}")
    return value.strip(" \t")


def _whole(lines: Lines, number: int, name: str) -> int:
    text = _setting(lines, number, name)
    if (value := whole_of(text)) is None:
        raise lines.wrong(number, f"expected a whole number as the {name}, got {text[:40]!r}")
    return value


def _check_features(lines: Lines, found: list[tuple[int, float]]) -> None:
    if not found:
        raise lines.wrong(len(lines), "expected feature:weight pairs, got none")
    if any(feature == 0 for feature, _ in found):
        raise lines.wrong(1, "expected features from 1 on, got 0")
