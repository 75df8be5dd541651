"""Concatenation: several data sets as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.categories import Category
from podium.data.groups import Groups
from podium.data.judged_by import join_judges
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.errors import DataError, UsageError
from podium.typing import Matrix


def concatenate(parts: Sequence[RankingData]) -> RankingData:
    """Return the queries of several data sets as one; raises DataError if a query is in two of them.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=4, seed=0)
    >>> concatenate([data.subset([0, 1]), data.subset([2, 3])]).n_queries
    4
    """
    if not parts:
        raise UsageError("expected at least one data set to concatenate, got none")
    first = parts[0]
    for part in parts[1:]:
        _check_alike(first, part)
    columns = _joined_columns(parts)
    return RankingData(
        **columns,
        groups=Groups.from_sizes(np.concatenate([p.groups.sizes for p in parts])),
        qids=np.concatenate([p.qids for p in parts]),
        query_weight=_concatenate_weights(parts),
        query_text=_concatenate_texts([p.query_text for p in parts]),
        source_rows=_concatenate_source_rows(parts),
    )


def merge_queries(parts: Sequence[RankingData]) -> RankingData:
    """Return several data sets as one; the rows of a query may be in several of them.

    Queries keep the order of their first row, rows their order within the query. The weight and the
    text of a query are those of its first data set.

    Examples
    --------
    >>> first = RankingData.from_arrays([[1.0], [2.0]], [0, 1], qid=["a", "b"])
    >>> second = RankingData.from_arrays([[3.0]], [2], qid=["a"])
    >>> data = merge_queries([first, second])
    >>> data.qids.tolist(), data.y.tolist()
    (['a', 'b'], [0.0, 2.0, 1.0])
    """
    for part in parts[1:]:
        _check_alike(parts[0], part)
    qids = np.concatenate([p.qids for p in parts]).tolist()
    numbers = {qid: number for number, qid in enumerate(dict.fromkeys(qids))}
    codes = np.array([numbers[qid] for qid in qids], dtype=np.int64)
    _, first = np.unique(codes, return_index=True)
    sizes = np.concatenate([p.groups.sizes for p in parts])
    groups, rows = Groups.from_codes(np.repeat(codes, sizes), len(numbers))
    columns = _joined_columns(parts)
    weight, text = _concatenate_weights(parts), _concatenate_texts([p.query_text for p in parts])
    if rows is not None:
        columns = {name: _take(column, rows) for name, column in columns.items()}
    return RankingData(
        **columns,
        groups=groups,
        qids=np.array(list(numbers), dtype=object),
        query_weight=None if weight is None else weight[first],
        query_text=None if text is None else text.take(first),
    )


def _joined_columns(parts: Sequence[RankingData]) -> dict[str, Any]:
    """Return the columns with one value per document, one data set after the other; and what all share."""
    first = parts[0]
    categories = {
        name: join_words(name, [p.categories[name] for p in parts]) for name in first.categories
    }
    return {
        "X": np.concatenate([_with_words(p, categories) for p in parts]),
        "y": np.concatenate([p.y for p in parts]),
        "docid_column": _concatenate_texts([p.docid_column for p in parts]),
        "comment_column": _concatenate_texts([p.comment_column for p in parts]),
        "doc_text": {
            name: Strings.concatenate([p.doc_text[name] for p in parts])
            for name in first.doc_text
            if all(name in p.doc_text for p in parts)
        },
        "categories": categories,
        "feature_names": first.feature_names,
        "topk": first.topk,
        "scaled": first.scaled,
        "judged_by": join_judges(p.judged_by for p in parts),
        "missing": "nan" if any(p.missing == "nan" for p in parts) else "error",
    }


def _take(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return a column of documents in this order; anything else as it is."""
    if isinstance(column, np.ndarray):
        return column[rows]
    if isinstance(column, Strings):
        return column.take(rows)
    if isinstance(column, dict):
        return {name: _take(value, rows) for name, value in column.items()}
    return column


def _check_alike(first: RankingData, part: RankingData) -> None:
    """Raise unless features and labels of both parts mean the same."""
    if part.scaled != first.scaled:
        scalings = [p.scaled or "not said to be" for p in (first, part)]
        raise DataError(
            f"expected data sets scaled alike within queries, got one that is {scalings[0]} and one that "
            f"is {scalings[1]}"
        ).advise(
            python="see scale_by_query, and scaled= of the data",
            command_line="see podium data convert --scale and --scaled",
        )
    if part.categories.keys() != first.categories.keys():
        names = [", ".join(p.categories) or "none" for p in (first, part)]
        raise DataError(
            f"expected data sets with the same categories, got {names[0]} and {names[1]}"
        )
    for name in ("n_features", "feature_names", "topk"):
        if getattr(part, name) != getattr(first, name):
            raise DataError(
                f"expected data sets with the same {name}, "
                f"got {getattr(first, name)} and {getattr(part, name)}"
            )


def join_words(name: str, categories: Sequence[Category]) -> Category:
    """Return the words of all these categories of one name; raise if their orders differ."""
    if any(category.is_ordered for category in categories):
        if len(set(categories)) > 1:
            raise DataError(f"expected one order of the words of {name!r:.80}, got two")
        return categories[0]
    return Category(tuple(sorted({word for category in categories for word in category.words})))


def _with_words(part: RankingData, categories: Mapping[str, Category]) -> Matrix:
    """Return features whose categories are places among all words."""
    if not categories:
        return part.X
    X: Matrix = np.array(part.X)  # type: ignore[assignment]
    names = part.names()
    for name, category in categories.items():
        j = names.index(name)
        X[:, j] = part.categories[name].translate(X[:, j], category)
    return X


def _concatenate_weights(parts: Sequence[RankingData]) -> NDArray[np.float64] | None:
    """Weights of all queries; 1 for parts without weights, None if no part has any."""
    if all(p.query_weight is None for p in parts):
        return None
    weights = [np.ones(p.n_queries) if p.query_weight is None else p.query_weight for p in parts]
    return np.concatenate(weights)


def _concatenate_source_rows(parts: Sequence[RankingData]) -> NDArray[np.int64] | None:
    """Input rows, if the inputs of all parts followed one another."""
    if all(p.source_rows is None for p in parts):
        return None
    starts = np.cumsum([0] + [len(p) for p in parts])
    rows = [np.arange(len(p)) if p.source_rows is None else p.source_rows for p in parts]
    return np.concatenate([r + start for r, start in zip(rows, starts, strict=False)])


def _concatenate_texts(columns: Sequence[Strings | None]) -> Strings | None:
    """One column, or None if a part has none."""
    present = [c for c in columns if c is not None]
    return Strings.concatenate(present) if len(present) == len(columns) else None
