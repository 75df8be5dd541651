"""The queries that every ranker finds hard, with the lists they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Fold, RankingData
from podium.experiments.checkpoints import readable
from podium.experiments.fold_results import Floats, FoldResult, by_id
from podium.rankers.inputs import contrasting_queries

N_QUERIES, N_PLACES, N_LETTERS = 8, 5, 90


@dataclass(frozen=True)
class HeadDocument:
    """A document in a list: its id, or its number among the query's, its label, and its text."""

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


def hardest(
    cells: Sequence[FoldResult], folds: Sequence[Fold], metric: str
) -> tuple[HardQuery, ...]:
    """The queries with the lowest mean over rankers; those that no order can please are left out."""
    hard_queries = [
        one
        for number, fold in enumerate(folds, start=1)
        for one in _of_fold(
            [c for c in cells if c.fold == number and c.error is None], fold, metric
        )
    ]
    return tuple(query for _, query in sorted(hard_queries, key=lambda one: one[0])[:N_QUERIES])


def _of_fold(cells: Sequence[FoldResult], fold: Fold, metric: str) -> list[tuple[float, HardQuery]]:
    """A fold's hardest queries, each with the mean over rankers."""
    if not cells:
        return []
    values = np.array(
        [[np.nan if v is None else v for v in cell.values[metric]] for cell in cells], np.float64
    )
    has_value = ~np.isnan(values)
    mean = np.where(has_value, values, 0).sum(axis=0) / np.maximum(has_value.sum(axis=0), 1)
    askable = contrasting_queries(fold.test) & has_value.any(axis=0)
    order = [q for q in np.argsort(mean, kind="stable").tolist() if askable[q]][:N_QUERIES]
    ties = by_id(fold.test)
    return [(float(mean[q]), _query(cells, fold.test, q, metric, ties)) for q in order]


def _query(
    cells: Sequence[FoldResult], test: RankingData, q: int, metric: str, ties: Floats | None
) -> HardQuery:
    rows = slice(*test.groups.offsets[q : q + 2].tolist())
    quality = test.y[rows]
    if test.topk is not None:  # positions: 1 is the best, 0 none of the top
        quality = np.where(quality > 0, test.topk + 1 - quality, 0)
    keys = (-quality,) if ties is None else (ties[rows], -quality)
    best = np.lexsort(keys)[:N_PLACES].tolist()
    return HardQuery(
        qid=readable(test.qids[q]),
        text="" if test.query_text is None else _short(test.query_text.to_array()[q]),
        fold=cells[0].fold,
        n_documents=rows.stop - rows.start,
        values={cell.ranker: cell.values[metric][q] for cell in cells},
        lists={
            cell.ranker: tuple(_listed(test, rows.start, i) for i in cell.heads[q][:N_PLACES])
            for cell in cells
        },
        best=tuple(_listed(test, rows.start, i) for i in best),
    )


def _listed(test: RankingData, start: int, i: int) -> HeadDocument:
    row = start + i
    field = next((name for name in ("title", *test.doc_text) if name in test.doc_text), None)
    return HeadDocument(
        f"document {i + 1}" if test.docids is None else readable(test.docids[row]),
        float(test.y[row]),
        "" if field is None else _short(test.doc_text[field].take(np.array([row])).to_array()[0]),
    )


def _short(text: object) -> str:
    plain = " ".join(readable(text).split())
    return plain if len(plain) <= N_LETTERS else f"{plain[: N_LETTERS - 1].rstrip()}…"
