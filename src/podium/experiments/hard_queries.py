"""Hard queries: the queries with the lowest mean over rankers, with the rankers' lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Fold, RankingData
from podium.experiments.fold_results import FoldResult, id_order_key
from podium.experiments.text_escapes import escape_text
from podium.rankers.training_queries import contrasting_queries
from podium.typing import Floats

MAX_HARD_QUERIES, MAX_PLACES, MAX_CHARACTERS = 8, 5, 90
"""The limits of the report: hard queries, documents per list, characters per text."""


@dataclass(frozen=True)
class HeadDocument:
    """A document in a list: its id (or its number within the query), its label, and its text."""

    doc: str
    label: float
    text: str = ""


@dataclass(frozen=True)
class HardQuery:
    """A query, each ranker's value and the head of its list, and the head of the best list."""

    qid: str
    text: str
    fold: int
    n_documents: int
    values: Mapping[str, float | None]
    lists: Mapping[str, tuple[HeadDocument, ...]]
    best: tuple[HeadDocument, ...]


def find_hard_queries(
    cells: Sequence[FoldResult], folds: Sequence[Fold], metric: str
) -> tuple[HardQuery, ...]:
    """Return the queries with the lowest mean over rankers, without those for which all orders are equal."""
    hard_queries = [
        query
        for number, fold in enumerate(folds, start=1)
        for query in _hard_queries_of_fold(
            [c for c in cells if c.fold == number and c.error is None], fold, metric
        )
    ]
    return tuple(
        query for _, query in sorted(hard_queries, key=lambda pair: pair[0])[:MAX_HARD_QUERIES]
    )


def _hard_queries_of_fold(
    cells: Sequence[FoldResult], fold: Fold, metric: str
) -> list[tuple[float, HardQuery]]:
    """Return a fold's hardest queries, each with the mean over rankers."""
    if not cells:
        return []
    values = np.array(
        [[np.nan if v is None else v for v in cell.values[metric]] for cell in cells], np.float64
    )
    has_value = ~np.isnan(values)
    mean = np.where(has_value, values, 0).sum(axis=0) / np.maximum(has_value.sum(axis=0), 1)
    has_contrast = contrasting_queries(fold.test) & has_value.any(axis=0)
    order = [q for q in np.argsort(mean, kind="stable").tolist() if has_contrast[q]][
        :MAX_HARD_QUERIES
    ]
    ties = id_order_key(fold.test)
    return [(float(mean[q]), _make_hard_query(cells, fold.test, q, metric, ties)) for q in order]


def _make_hard_query(
    cells: Sequence[FoldResult], test: RankingData, q: int, metric: str, ties: Floats | None
) -> HardQuery:
    rows = slice(*test.groups.offsets[q : q + 2].tolist())
    quality = test.y[rows]
    if test.topk is not None:  # positions: 1 is the best, 0 is outside the top
        quality = np.where(quality > 0, test.topk + 1 - quality, 0)
    keys = (-quality,) if ties is None else (ties[rows], -quality)
    best = np.lexsort(keys)[:MAX_PLACES].tolist()
    return HardQuery(
        qid=escape_text(test.qids[q]),
        text="" if test.query_text is None else _shorten(test.query_text.to_array()[q]),
        fold=cells[0].fold,
        n_documents=rows.stop - rows.start,
        values={cell.ranker: cell.values[metric][q] for cell in cells},
        lists={
            cell.ranker: tuple(
                _head_document(test, rows.start, i) for i in cell.heads[q][:MAX_PLACES]
            )
            for cell in cells
        },
        best=tuple(_head_document(test, rows.start, i) for i in best),
    )


def _head_document(test: RankingData, start: int, i: int) -> HeadDocument:
    row = start + i
    field = next((name for name in ("title", *test.doc_text) if name in test.doc_text), None)
    return HeadDocument(
        f"document {i + 1}" if test.docids is None else escape_text(test.docids[row]),
        float(test.y[row]),
        "" if field is None else _shorten(test.doc_text[field].take(np.array([row])).to_array()[0]),
    )


def _shorten(text: object) -> str:
    plain = " ".join(escape_text(text).split())
    return plain if len(plain) <= MAX_CHARACTERS else f"{plain[: MAX_CHARACTERS - 1].rstrip()}…"
