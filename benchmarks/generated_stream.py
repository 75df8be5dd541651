"""Generated ranking data in the shape of WEB30K, some queries at a time, with a known truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import Groups, RankingData, Strings
from podium.data.parallel import map_in_parallel
from podium.typing import Floats, Singles

N_FEATURES, N_COUNTS = 136, 45
"""Features, of which the last ones are counts: small whole numbers, as WEB30K's are."""
QUERIES_PER_BLOCK, MAX_DOCUMENTS = 256, 1_251
GRADE_SHARES = (0.52, 0.84, 0.97, 0.99)
"""The share of documents below each grade from 1 to 4."""
NORMAL_QUANTILES = (0.0502, 0.9945, 1.8808, 2.3263)
"""The quantiles of the standard normal distribution at these shares."""
NOISE = 1.0


@dataclass(frozen=True)
class GeneratedStream:
    """Queries with 1 to 1,251 documents (119 on average), 136 features in float32 and grades 0 to 4.

    Each block depends on the seed and its number alone. The utility of a document is a weighted sum of
    its features; with noise, and cut at fixed thresholds, it becomes the grade.

    Parameters
    ----------
    rows
        The number of documents.
    seed
        The seed of all blocks and of the truth.
    """

    rows: int
    seed: int = 0

    @cached_property
    def weights(self) -> Singles:
        """The true weights: of length 1, and 0 for counts."""
        weights = np.random.default_rng([self.seed, 0]).standard_normal(N_FEATURES)
        weights[N_FEATURES - N_COUNTS :] = 0
        return (weights / np.linalg.norm(weights)).astype(np.float32)

    def blocks(self) -> Iterator[RankingData]:
        """Yield all documents in blocks of whole queries."""
        return map_in_parallel(self._draw, self._plan())

    def labels_and_scores(self) -> Iterator[tuple[RankingData, Floats]]:
        """Yield blocks with labels and the true utility as scores; features are not drawn."""
        return map_in_parallel(self._draw_labels, self._plan())

    def _plan(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the number of each block, and the documents of its queries."""
        left, number = self.rows, 0
        while left > 0:
            rng = np.random.default_rng([self.seed, 1, number])
            sizes = rng.lognormal(4.5, 0.75, QUERIES_PER_BLOCK).astype(np.int64)
            sizes = np.clip(sizes, 1, MAX_DOCUMENTS)
            ends = np.minimum(np.cumsum(sizes), left)
            sizes = np.diff(ends, prepend=0)
            yield number, sizes[sizes > 0]
            left, number = left - int(ends[-1]), number + 1

    def _draw(self, block: tuple[int, NDArray[np.int64]]) -> RankingData:
        number, sizes = block
        rng = np.random.default_rng([self.seed, 2, number])
        X = rng.standard_normal((int(sizes.sum()), N_FEATURES), dtype=np.float32)
        counts = X[:, N_FEATURES - N_COUNTS :]
        np.floor(np.abs(counts * 4), out=counts)
        np.round(X, 3, out=X)
        utility = (X * self.weights).sum(axis=1)
        return self._with_grades(X, utility, number, sizes, rng)

    def _draw_labels(self, block: tuple[int, NDArray[np.int64]]) -> tuple[RankingData, Floats]:
        number, sizes = block
        rng = np.random.default_rng([self.seed, 3, number])
        utility = rng.standard_normal(int(sizes.sum()), dtype=np.float32)
        X = np.empty((len(utility), 0))
        return self._with_grades(X, utility, number, sizes, rng), utility.astype(np.float64)

    def _with_grades(
        self,
        X: NDArray[np.floating],
        utility: Singles,
        number: int,
        sizes: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> RankingData:
        noise = NOISE * rng.standard_normal(len(utility), dtype=np.float32)
        thresholds = np.sqrt(1 + NOISE**2) * np.array(NORMAL_QUANTILES)
        first = number * QUERIES_PER_BLOCK
        qids = np.array([str(first + q) for q in range(len(sizes))], dtype=object)
        grades = np.searchsorted(thresholds, utility + noise).astype(np.float64)
        return RankingData(X=X, y=grades, groups=Groups.from_sizes(sizes), qids=qids)


def write_text(stream: GeneratedStream, path: Path) -> None:
    """Write the stream as LETOR text, a block at a time."""

    def format_block(data: RankingData) -> bytes:
        qids, none = Strings.of(data.qids.tolist()), Strings.of([""] * len(data))
        return kernels.format_letor(
            data.X, data.y, data.groups.offsets, 0, data.n_queries,
            qids.bytes, qids.offsets, none.bytes, none.offsets,
        ).tobytes()  # fmt: skip

    with path.open("wb") as file:
        for text in map_in_parallel(format_block, stream.blocks()):
            file.write(text)
