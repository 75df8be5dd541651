"""What the RPC-MTL paper says, and what the numbers say of that.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from podium.experiments import PALETTE
from podium.multitask import Combine
from podium_papers.curves import CurveFigure, Panel
from podium_papers.outcomes import MeanScore, PairedComparison
from podium_papers.records import from_json
from podium_papers.rpc_mtl.clusters import ClusterFigure
from podium_papers.rpc_mtl.fits import (
    CHOICE,
    COMBINES,
    DEPTHS,
    MEASURES,
    RIVALS,
    Special,
    Variant,
)

KS, MAIN_KS = tuple(range(1, 9)), (3, 5)
"""Numbers of clusters: those of Figures 5 and 7, and of the others."""
STRICT, LEVEL = 0.01, 0.05
"""The paper's p-values: of rankers, and of metric learning."""
ABLATED_MEASURES = (MEASURES[0], MEASURES[4])
"""NDCG@1 and NDCG@5."""
PAPER_RIVALS = ("listmle", "listnet")
COMPARED = (*RIVALS, *(str(Variant(K, combine)) for K in MAIN_KS for combine in COMBINES))
"""The rankers of Figures 4, 6 and 8."""
COLOURS = dict(zip(COMPARED, (*PALETTE, "#000000"), strict=True))
STABLE = 0.005
"""Values of NDCG that differ by no more are called stable."""


@dataclass(frozen=True)
class RpcMtlClaim:
    """What the paper says, on which data, whether it holds, and the numbers."""

    text: str
    data: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class RpcMtlChoice:
    """What validation gave a ranker, fold by fold, and fits that stopped early."""

    data: str
    ranker: str
    settings: str
    reason: str


def ablation_pairs(ks: Sequence[int]) -> list[tuple[str, str]]:
    """RPC-MTL against itself without metric, without multi-task learning, for each K above 1."""
    pairs = []
    for combine in COMBINES:
        for K in ks:
            whole = Variant(K, combine)
            pairs += [
                (str(whole), str(whole._replace(metric=False))),
                (str(whole), str(whole._replace(tasks=False))),
            ]
    return pairs


@dataclass(frozen=True)
class RpcMtlReproduction:
    """Everything that was measured, and the figures and claims made of it.

    Parameters
    ----------
    data, tables, ablated
        Names: data sets of lists, scored tables, and those on which parts are left out.
    ks
        Numbers of clusters there.
    scores, tests
        NDCG@1 to @10 of linear gain and of 2^r - 1; paired t-tests over lists (of a table: over the
        means of repeats), linear gain, Holm's correction for all of a data set.
    left_out, left_out_tests
        NDCG@1 and @5 of every variant, and such tests.
    bands, bands_tests
        NDCG@10 where lists are cut into equal bands, without a search for clusters, and tests against
        ListMLE.
    median_lengths
        The median number of documents in a training list, by data set.
    mixes
        NDCG@10 of the soft form by c.
    specials
        K = 1 beside ListMLE.
    clusters
        Pictures of the clusters.
    """

    quick: bool
    seed: int
    data: tuple[str, ...]
    tables: tuple[str, ...]
    ablated: tuple[str, ...]
    ks: tuple[int, ...]
    scores: tuple[MeanScore, ...]
    tests: tuple[PairedComparison, ...]
    left_out: tuple[MeanScore, ...]
    left_out_tests: tuple[PairedComparison, ...]
    bands: tuple[MeanScore, ...]
    bands_tests: tuple[PairedComparison, ...]
    median_lengths: Mapping[str, float]
    mixes: tuple[MeanScore, ...]
    chosen: tuple[RpcMtlChoice, ...]
    specials: tuple[Special, ...]
    clusters: tuple[ClusterFigure, ...]

    def mean(self, data: str, ranker: str, measure: str = CHOICE) -> float:
        """The mean over all test lists."""
        wanted = (data, ranker, measure)
        all_scores = (*self.scores, *self.left_out, *self.bands, *self.mixes)
        return next(s.mean for s in all_scores if (s.data, s.ranker, s.measure) == wanted)

    def comparisons_of(self, data: str, ranker: str, other: str) -> list[PairedComparison]:
        """A ranker less another one, measure by measure."""
        all_tests = (*self.tests, *self.left_out_tests, *self.bands_tests)
        return [c for c in all_tests if (c.data, c.ranker, c.other) == (data, ranker, other)]

    # --- figures ---

    def figures(self) -> dict[str, CurveFigure | ClusterFigure]:
        """Every figure by its name."""
        drawn: dict[str, CurveFigure | ClusterFigure] = {"ndcg": self._figure_4()}
        for i, name in enumerate(self.ablated, start=1):
            drawn[f"parts-{i}"] = self._figure_5(name)
        for i, picture in enumerate(self.clusters, start=1):
            drawn[f"clusters-{i}"] = picture
        return drawn

    def _figure_4(self) -> CurveFigure:
        panels = tuple(
            Panel(name, "n", tuple(float(k) for k in DEPTHS), {
                ranker: tuple(self.mean(name, ranker, m) for m in MEASURES) for ranker in COMPARED
            })
            for name in (*self.data, *self.tables)
        )  # fmt: skip
        names = {ranker: RIVALS.get(ranker, ranker) for ranker in COMPARED}
        title = "RPC-MTL and linear rankers (Figures 4, 6 and 8 of the paper)"
        return CurveFigure(title, "NDCG@n, linear gain", names, COLOURS, panels)

    def _figure_5(self, data: str) -> CurveFigure:
        """NDCG@1 and @5 by K: whole, without metric learning, without multi-task learning."""
        names = {
            "whole": "RPC-MTL", "metric": "without metric learning",
            "tasks": "without multi-task learning", "listmle": "K = 1: ListMLE",
        }  # fmt: skip
        panels = []
        for combine in COMBINES:
            for measure, k in zip(ABLATED_MEASURES, (1, 5), strict=True):
                curves = {
                    name: self._by_k(data, measure, combine, name) for name in tuple(names)[:3]
                }
                one = self.mean(data, str(Variant(1, metric=False)), measure)
                curves["listmle"] = (one,) * len(self.ks)
                x = tuple(float(K) for K in self.ks)
                panels.append(Panel(f"{combine}, NDCG@{k}", "K", x, curves))
        title = f"{data}: parts left out, and the number of clusters (Figures 5 and 7 of the paper)"
        colours = dict(zip(names, ("#0072B2", "#E69F00", "#009E73", "#999999"), strict=True))
        return CurveFigure(title, "linear gain", names, colours, tuple(panels))

    def _by_k(self, data: str, measure: str, combine: Combine, left_out: str) -> tuple[float, ...]:
        one = Variant(1, metric=False)
        own = [
            one if K == 1 else Variant(K, combine, left_out != "metric", left_out != "tasks")
            for K in self.ks
        ]
        return tuple(self.mean(data, str(variant), measure) for variant in own)

    # --- claims ---

    def claims(self) -> tuple[RpcMtlClaim, ...]:
        """What the paper says, one after the other, data set by data set."""
        return (
            *(c for name in self.data for c in self._better(name)),
            *(c for name in self.ablated for c in self._parts(name)),
            *(c for name in self.tables for c in self._table(name)),
            *self._special(),
        )

    def _better(self, data: str) -> Iterator[RpcMtlClaim]:
        for combine in COMBINES:
            tests = [t for K in MAIN_KS for t in self._rivals(data, K, combine)]
            yield RpcMtlClaim(
                "RPC-MTL with 3 and with 5 clusters outperforms ListMLE and ListNet significantly "
                f"(p < 0.01; {_named(combine)})",
                data,
                _all_real(tests, STRICT),
                "; ".join(
                    _counted([t for t in tests if t.other == rival], STRICT, RIVALS[rival])
                    for rival in PAPER_RIVALS
                )
                + self._loss(data, combine),
            )

    def _loss(self, data: str, combine: Combine) -> str:
        """Say what the hard form loses with the cluster search and with equal bands."""
        if combine == "soft":
            return ""
        searched, equal = (
            " and ".join(
                f"{self.less_listmle(data, Variant(K, combine, search=search)).difference:+.4f}"
                for K in MAIN_KS
            )
            for search in (True, False)
        )
        ks = " and ".join(map(str, MAIN_KS))
        return (
            f"; NDCG@10 less ListMLE for K = {ks}: {searched} with the search for clusters, {equal} with "
            "equal bands"
        )

    def less_listmle(self, data: str, variant: Variant) -> PairedComparison:
        """Return a variant less ListMLE in NDCG@10."""
        return next(
            t for t in self.comparisons_of(data, str(variant), "listmle") if t.measure == CHOICE
        )

    def _rivals(self, data: str, K: int, combine: Combine) -> list[PairedComparison]:
        return [
            t
            for rival in PAPER_RIVALS
            for t in self.comparisons_of(data, str(Variant(K, combine)), rival)
        ]

    def _parts(self, data: str) -> Iterator[RpcMtlClaim]:
        for combine in COMBINES:
            form = _named(combine)
            yield self._rising(data, combine)
            metric = [t for K in self.ks[1:] for t in self._without(data, K, combine, "metric")]
            yield RpcMtlClaim(
                f"with the learned metric NDCG is higher (p < 0.05; {form})", data,
                _all_real(metric, LEVEL), _counted(metric, LEVEL, "no metric"),
            )  # fmt: skip
            large = [K for K in self.ks if K > 5] or list(self.ks[-1:])
            tasks = [t for K in large for t in self._without(data, K, combine, "tasks")]
            yield RpcMtlClaim(
                f"for K above 5 multi-task learning is better than none (p < 0.01; {form})", data,
                _all_real(tasks, STRICT), _counted(tasks, STRICT, "lambda = 0"),
            )  # fmt: skip

    def _without(self, data: str, K: int, combine: Combine, part: str) -> list[PairedComparison]:
        return self.comparisons_of(
            data,
            str(Variant(K, combine)),
            str(Variant(K, combine, part != "metric", part != "tasks")),
        )

    def _rising(self, data: str, combine: Combine) -> RpcMtlClaim:
        rows = [self._by_k(data, measure, combine, "whole") for measure in ABLATED_MEASURES]
        low = [i for i, K in enumerate(self.ks) if K <= 4]
        high = [i for i, K in enumerate(self.ks) if K > 4]
        rises = all(row[i] <= row[j] for row in rows for i, j in itertools.pairwise(low))
        stable = all(np.ptp([row[i] for i in high]) <= STABLE for row in rows)
        text = (
            f"NDCG@{k} " + ", ".join(f"{v:.4f}" for v in row)
            for k, row in zip((1, 5), rows, strict=True)
        )
        return RpcMtlClaim(
            f"NDCG rises with K and is stable from K = 5 on ({_named(combine)})", data,
            rises and stable,
            f"for K = {self.ks[0]} to {self.ks[-1]}: {'; '.join(text)}; {'' if rises else 'not '}rising up "
            f"to 4, {'' if stable else 'not '}within {STABLE:g} from 5 on",
        )  # fmt: skip

    def _table(self, data: str) -> Iterator[RpcMtlClaim]:
        for K, most, text in (
            (3, 10, "RPC-MTL with 3 clusters is significantly better than ListMLE and ListNet"),
            (5, 4, "RPC-MTL with 5 clusters is better than both for n up to 4"),
        ):
            for combine in COMBINES:
                tests = [
                    t for t in self._rivals(data, K, combine) if MEASURES.index(t.measure) < most
                ]
                yield RpcMtlClaim(
                    f"{text} on lists of 15 scored items (p < 0.01; {_named(combine)})", data,
                    _all_real(tests, STRICT),
                    "; ".join(
                        _counted([t for t in tests if t.other == rival], STRICT, RIVALS[rival])
                        for rival in PAPER_RIVALS
                    )
                    + self._loss(data, combine),
                )  # fmt: skip

    def _special(self) -> Iterator[RpcMtlClaim]:
        yield RpcMtlClaim(
            "ListMLE is RPC-MTL with one cluster", "all data",
            all(s.gap < 1e-3 for s in self.specials),
            "; ".join(
                f"{s.data}: weights apart by {s.gap:.0e} of the largest, "
                f"{'the same order' if s.same_order else 'orders differ'}"
                for s in self.specials
            ),
        )  # fmt: skip
        worst = [t for t in self.tests if t.other == "listmle" and t.sign < 0 and t.significant]
        most = min(worst, key=lambda t: t.difference, default=None)
        yield RpcMtlClaim(
            "which guarantees that RPC-MTL is not inferior to ListMLE", "all data", not worst,
            "no variant is significantly below it" if most is None else
            f"{len(worst)} of {sum(t.other == 'listmle' for t in self.tests)} differences are real and "
            f"negative, the most {most.difference:+.4f} ({most.data}, {most.ranker}, "
            f"{_depth(most.measure)})",
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """What `to_dict` gave, before or after JSON."""
        return from_json(cls, content)


def _named(combine: Combine) -> str:
    return "the paper's hard form" if combine == "hard" else "the soft form"


def _depth(measure: str) -> str:
    return f"NDCG@{measure.rsplit('@', 1)[1]}"


def _real(test: PairedComparison, level: float) -> bool:
    return test.sign > 0 and test.adjusted < level


def _all_real(tests: Sequence[PairedComparison], level: float) -> bool:
    return bool(tests) and all(_real(t, level) for t in tests)


def _counted(tests: Sequence[PairedComparison], level: float, other: str) -> str:
    """How many differences are real, either way, and how large they are."""
    above = sum(_real(t, level) for t in tests)
    below = sum(t.sign < 0 and t.adjusted < level for t in tests)
    least, most = (f(t.difference for t in tests) for f in (min, max))
    return (
        f"less {other} {least:+.4f} to {most:+.4f}; really above at {above} of {len(tests)} points, "
        f"really below at {below}"
    )
