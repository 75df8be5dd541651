"""Claims of the RPC-MTL paper, and whether the numbers support them.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.experiments import PALETTE
from podium.multitask import Combination
from podium_papers.comparisons import MeanScore, PairedComparison
from podium_papers.curve_figures import CurveFigure, Panel
from podium_papers.rpc_mtl.cluster_figures import ClusterFigure
from podium_papers.rpc_mtl.rankers import (
    CHOICE_MEASURE,
    COMBINES,
    DEPTHS,
    MEASURES,
    RIVALS,
    SingleClusterCheck,
    Variant,
)

KS, MAIN_KS = tuple(range(1, 9)), (3, 5)
"""Numbers of clusters K in Figures 5 and 7, and in the other figures."""
RANKER_LEVEL, METRIC_LEVEL = 0.01, 0.05
"""Significance levels of the paper: for rankers, and for metric learning."""
ABLATED_MEASURES = (MEASURES[0], MEASURES[4])
"""NDCG@1 and NDCG@5."""
PAPER_RIVALS = ("listmle", "listnet")
COMPARED_RANKERS = (*RIVALS, *(str(Variant(K, combine)) for K in MAIN_KS for combine in COMBINES))
"""Rankers of Figures 4, 6 and 8."""
COLOURS = dict(zip(COMPARED_RANKERS, (*PALETTE, "#000000"), strict=True))
STABLE_NDCG = 0.005
"""Values of NDCG that differ by no more count as stable."""


@dataclass(frozen=True)
class RpcMtlClaim:
    """A claim of the paper on a data set, whether it holds, and the numbers."""

    text: str
    data: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class RpcMtlChoice:
    """Settings that validation chose for a ranker, fold by fold, and fits that stopped early."""

    data: str
    ranker: str
    settings: str
    reason: str


def ablation_pairs(ks: Sequence[int]) -> list[tuple[str, str]]:
    """Return the pairs of RPC-MTL and itself without metric or multi-task learning, for each K above 1."""
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
    """Everything that was measured, with the figures and claims that follow from it."""

    quick: bool
    seed: int
    data: tuple[str, ...]
    """Names of the data sets of lists."""
    tables: tuple[str, ...]
    """Names of the scored tables."""
    ablated: tuple[str, ...]
    """Names of the data sets on which parts are left out."""
    ks: tuple[int, ...]
    """Numbers of clusters there."""
    scores: tuple[MeanScore, ...]
    """NDCG@1 to @10 of linear gain and of 2^r - 1."""
    tests: tuple[PairedComparison, ...]
    """Paired t-tests over lists (of a table: over the means of repeats), for linear gain.

    Holm's correction is for all tests of a data set.
    """
    left_out: tuple[MeanScore, ...]
    """NDCG@1 and @5 of every variant."""
    left_out_tests: tuple[PairedComparison, ...]
    """Tests of the variants, as above."""
    bands: tuple[MeanScore, ...]
    """NDCG@10 on lists that are cut into equal bands, without a search for clusters."""
    bands_tests: tuple[PairedComparison, ...]
    """Tests of the equal bands against ListMLE."""
    median_lengths: Mapping[str, float]
    """Median number of documents in a training list, by data set."""
    mixes: tuple[MeanScore, ...]
    """NDCG@10 of the soft form by c."""
    chosen: tuple[RpcMtlChoice, ...]
    specials: tuple[SingleClusterCheck, ...]
    """RPC-MTL with K = 1 beside ListMLE."""
    clusters: tuple[ClusterFigure, ...]

    def mean(self, data: str, ranker: str, measure: str = CHOICE_MEASURE) -> float:
        """Return the mean over all test lists."""
        key = (data, ranker, measure)
        all_scores = (*self.scores, *self.left_out, *self.bands, *self.mixes)
        return next(s.mean for s in all_scores if (s.data, s.ranker, s.measure) == key)

    def comparisons_of(self, data: str, ranker: str, other: str) -> list[PairedComparison]:
        """Return the tests of a ranker minus another one, measure by measure."""
        all_tests = (*self.tests, *self.left_out_tests, *self.bands_tests)
        return [c for c in all_tests if (c.data, c.ranker, c.other) == (data, ranker, other)]

    # --- figures ---

    def figures(self) -> dict[str, CurveFigure | ClusterFigure]:
        """Return every figure by its name."""
        figures: dict[str, CurveFigure | ClusterFigure] = {"ndcg": self._ndcg_figure()}
        for i, name in enumerate(self.ablated, start=1):
            figures[f"parts-{i}"] = self._ablation_figure(name)
        for i, picture in enumerate(self.clusters, start=1):
            figures[f"clusters-{i}"] = picture
        return figures

    def _ndcg_figure(self) -> CurveFigure:
        panels = tuple(
            Panel(name, "n", tuple(float(k) for k in DEPTHS), {
                ranker: tuple(self.mean(name, ranker, m) for m in MEASURES) for ranker in COMPARED_RANKERS
            })
            for name in (*self.data, *self.tables)
        )  # fmt: skip
        names = {ranker: RIVALS.get(ranker, ranker) for ranker in COMPARED_RANKERS}
        title = "RPC-MTL and linear rankers (Figures 4, 6 and 8 of the paper)"
        return CurveFigure(title, "NDCG@n, linear gain", names, COLOURS, panels)

    def _ablation_figure(self, data: str) -> CurveFigure:
        """Return NDCG@1 and @5 by K: whole, without metric learning, without multi-task learning."""
        names = {
            "whole": "RPC-MTL", "metric": "without metric learning",
            "tasks": "without multi-task learning", "listmle": "K = 1: ListMLE",
        }  # fmt: skip
        panels = []
        for combine in COMBINES:
            for measure, k in zip(ABLATED_MEASURES, (1, 5), strict=True):
                curves = {
                    name: self._means_by_k(data, measure, combine, name)
                    for name in tuple(names)[:3]
                }
                listmle = self.mean(data, str(Variant(1, metric=False)), measure)
                curves["listmle"] = (listmle,) * len(self.ks)
                x = tuple(float(K) for K in self.ks)
                panels.append(Panel(f"{combine}, NDCG@{k}", "K", x, curves))
        title = f"{data}: parts left out, and the number of clusters (Figures 5 and 7 of the paper)"
        colours = dict(zip(names, ("#0072B2", "#E69F00", "#009E73", "#999999"), strict=True))
        return CurveFigure(title, "linear gain", names, colours, tuple(panels))

    def _means_by_k(
        self, data: str, measure: str, combine: Combination, left_out: str
    ) -> tuple[float, ...]:
        variants = [
            Variant(1, metric=False)
            if K == 1
            else Variant(K, combine, left_out != "metric", left_out != "tasks")
            for K in self.ks
        ]
        return tuple(self.mean(data, str(variant), measure) for variant in variants)

    # --- claims ---

    def claims(self) -> tuple[RpcMtlClaim, ...]:
        """Return every claim of the paper, data set by data set."""
        return (
            *(c for name in self.data for c in self._rival_claims(name)),
            *(c for name in self.ablated for c in self._part_claims(name)),
            *(c for name in self.tables for c in self._table_claims(name)),
            *self._single_cluster_claims(),
        )

    def _rival_claims(self, data: str) -> Iterator[RpcMtlClaim]:
        for combine in COMBINES:
            tests = [t for K in MAIN_KS for t in self._evaluate_rivals(data, K, combine)]
            yield RpcMtlClaim(
                "RPC-MTL with 3 and with 5 clusters outperforms ListMLE and ListNet significantly "
                f"(p < 0.01; {_form_name(combine)})",
                data,
                _all_significantly_above(tests, RANKER_LEVEL),
                "; ".join(
                    _count_text([t for t in tests if t.other == rival], RANKER_LEVEL, RIVALS[rival])
                    for rival in PAPER_RIVALS
                )
                + self._loss_text(data, combine),
            )

    def _loss_text(self, data: str, combine: Combination) -> str:
        """Return what the hard form loses with the cluster search and with equal bands."""
        if combine == "soft":
            return ""
        searched, equal = (
            " and ".join(
                f"{self.minus_listmle(data, Variant(K, combine, search=search)).difference:+.4f}"
                for K in MAIN_KS
            )
            for search in (True, False)
        )
        ks = " and ".join(map(str, MAIN_KS))
        return (
            f"; NDCG@10 less ListMLE for K = {ks}: {searched} with the search for clusters, {equal} with "
            "equal bands"
        )

    def minus_listmle(self, data: str, variant: Variant) -> PairedComparison:
        """Return the test of a variant minus ListMLE in NDCG@10."""
        return next(
            t
            for t in self.comparisons_of(data, str(variant), "listmle")
            if t.measure == CHOICE_MEASURE
        )

    def _evaluate_rivals(self, data: str, K: int, combine: Combination) -> list[PairedComparison]:
        return [
            t
            for rival in PAPER_RIVALS
            for t in self.comparisons_of(data, str(Variant(K, combine)), rival)
        ]

    def _part_claims(self, data: str) -> Iterator[RpcMtlClaim]:
        for combine in COMBINES:
            form = _form_name(combine)
            yield self._rising_claim(data, combine)
            metric = [t for K in self.ks[1:] for t in self._part_tests(data, K, combine, "metric")]
            yield RpcMtlClaim(
                f"with the learned metric NDCG is higher (p < 0.05; {form})", data,
                _all_significantly_above(metric, METRIC_LEVEL),
                _count_text(metric, METRIC_LEVEL, "no metric"),
            )  # fmt: skip
            large = [K for K in self.ks if K > 5] or list(self.ks[-1:])
            tasks = [t for K in large for t in self._part_tests(data, K, combine, "tasks")]
            yield RpcMtlClaim(
                f"for K above 5 multi-task learning is better than none (p < 0.01; {form})", data,
                _all_significantly_above(tasks, RANKER_LEVEL), _count_text(tasks, RANKER_LEVEL, "lambda = 0"),
            )  # fmt: skip

    def _part_tests(
        self, data: str, K: int, combine: Combination, part: str
    ) -> list[PairedComparison]:
        return self.comparisons_of(
            data,
            str(Variant(K, combine)),
            str(Variant(K, combine, part != "metric", part != "tasks")),
        )

    def _rising_claim(self, data: str, combine: Combination) -> RpcMtlClaim:
        rows = [self._means_by_k(data, measure, combine, "whole") for measure in ABLATED_MEASURES]
        low = [i for i, K in enumerate(self.ks) if K <= 4]
        high = [i for i, K in enumerate(self.ks) if K > 4]
        rises = all(row[i] <= row[j] for row in rows for i, j in itertools.pairwise(low))
        stable = all(np.ptp([row[i] for i in high]) <= STABLE_NDCG for row in rows)
        text = (
            f"NDCG@{k} " + ", ".join(f"{v:.4f}" for v in row)
            for k, row in zip((1, 5), rows, strict=True)
        )
        return RpcMtlClaim(
            f"NDCG rises with K and is stable from K = 5 on ({_form_name(combine)})", data,
            rises and stable,
            f"for K = {self.ks[0]} to {self.ks[-1]}: {'; '.join(text)}; {'' if rises else 'not '}rising up "
            f"to 4, {'' if stable else 'not '}within {STABLE_NDCG:g} from 5 on",
        )  # fmt: skip

    def _table_claims(self, data: str) -> Iterator[RpcMtlClaim]:
        for K, most, text in (
            (3, 10, "RPC-MTL with 3 clusters is significantly better than ListMLE and ListNet"),
            (5, 4, "RPC-MTL with 5 clusters is better than both for n up to 4"),
        ):
            for combine in COMBINES:
                tests = [
                    t
                    for t in self._evaluate_rivals(data, K, combine)
                    if MEASURES.index(t.measure) < most
                ]
                yield RpcMtlClaim(
                    f"{text} on lists of 15 scored items (p < 0.01; {_form_name(combine)})", data,
                    _all_significantly_above(tests, RANKER_LEVEL),
                    "; ".join(
                        _count_text([t for t in tests if t.other == rival], RANKER_LEVEL, RIVALS[rival])
                        for rival in PAPER_RIVALS
                    )
                    + self._loss_text(data, combine),
                )  # fmt: skip

    def _single_cluster_claims(self) -> Iterator[RpcMtlClaim]:
        yield RpcMtlClaim(
            "ListMLE is RPC-MTL with one cluster", "all data",
            all(s.gap < 1e-3 for s in self.specials),
            "; ".join(
                f"{s.data}: weights apart by {s.gap:.0e} of the largest, "
                f"{'the same order' if s.same_order else 'orders differ'}"
                for s in self.specials
            ),
        )  # fmt: skip
        worse = [t for t in self.tests if t.other == "listmle" and t.sign < 0 and t.significant]
        worst = min(worse, key=lambda t: t.difference, default=None)
        yield RpcMtlClaim(
            "which guarantees that RPC-MTL is not inferior to ListMLE", "all data", not worse,
            "no variant is significantly below it" if worst is None else
            f"{len(worse)} of {sum(t.other == 'listmle' for t in self.tests)} differences are real and "
            f"negative, the most {worst.difference:+.4f} ({worst.data}, {worst.ranker}, "
            f"{_depth_name(worst.measure)})",
        )  # fmt: skip


def _form_name(combine: Combination) -> str:
    return "the paper's hard form" if combine == "hard" else "the soft form"


def _depth_name(measure: str) -> str:
    return f"NDCG@{measure.rsplit('@', 1)[1]}"


def _is_significantly_above(test: PairedComparison, level: float) -> bool:
    return test.sign > 0 and test.adjusted < level


def _all_significantly_above(tests: Sequence[PairedComparison], level: float) -> bool:
    return bool(tests) and all(_is_significantly_above(t, level) for t in tests)


def _count_text(tests: Sequence[PairedComparison], level: float, other: str) -> str:
    """Return how many differences are significant, either way, and how large they are."""
    n_above = sum(_is_significantly_above(t, level) for t in tests)
    n_below = sum(t.sign < 0 and t.adjusted < level for t in tests)
    least, most = (f(t.difference for t in tests) for f in (min, max))
    return (
        f"less {other} {least:+.4f} to {most:+.4f}; really above at {n_above} of {len(tests)} points, "
        f"really below at {n_below}"
    )
