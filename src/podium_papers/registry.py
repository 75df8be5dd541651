"""The papers that can be run anew, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.data import Fold
from podium_papers import cfbrs, rankopt, toprank
from podium_papers.cfbrs import claims as cfbrs_claims
from podium_papers.cfbrs import page as cfbrs_page
from podium_papers.data_sets import PaperSource, graded
from podium_papers.rankopt import page as rankopt_page
from podium_papers.rankopt import summary as rankopt_summary
from podium_papers.rankopt import times as rankopt_times
from podium_papers.rpc_mtl import claims as rpc_mtl_claims
from podium_papers.rpc_mtl import page as rpc_mtl_page
from podium_papers.rpc_mtl import sources as rpc_mtl_sources
from podium_papers.rpc_mtl import times as rpc_mtl_times
from podium_papers.topk import claims as topk_claims
from podium_papers.topk import page as topk_page
from podium_papers.topk import sources as topk_sources
from podium_papers.toprank import page as toprank_page
from podium_papers.toprank import summary as toprank_summary

Data = Mapping[str, Any]
"""Source -> what its `read` gave: folds, or a table."""


@dataclass(frozen=True)
class Paper:
    """A paper's experiments: what they run on, how they are run, and the page made of them.

    Parameters
    ----------
    sources
        What it can run on, in the order of tables.
    any_folds
        Where any other folder of folds will do: the source that it is, by name.
    single
        Whether it runs on one data set, the first that is there.
    run
        Called with the data that is there, and ``quick``, ``n_jobs``, ``keep``, ``callback`` and
        ``seed``; its result has ``to_dict``.
    read
        The inverse of ``to_dict``.
    sections, draw
        The page in Markdown, and its figures as SVG files in a folder.
    claims
        For each claim of the paper, in each case, whether it holds.
    times
        Of papers that speak of time: measures it, given data, ``quick`` and ``seed``, as plain values.
    time_sections
        The page of that, given whether the run was quick.
    """

    name: str
    title: str
    citation: str
    sources: tuple[PaperSource, ...]
    run: Callable[..., Any]
    read: Callable[[Any], Any]
    sections: Callable[[Any], list[str]]
    draw: Callable[[Any, Path], None]
    claims: Callable[[Any], list[bool]]
    any_folds: Callable[[str], PaperSource] | None = None
    single: bool = False
    times: Callable[[Data, bool, int], Any] | None = None
    time_sections: Callable[[Any, bool], list[str]] | None = None


Folds = Mapping[str, Sequence[Fold]]


def _run_toprank(data: Folds, **settings: Any) -> toprank_summary.TopRankSummary:
    return toprank_summary.TopRankSummary.of(toprank.reproduce(data, **settings))


def _run_rankopt(data: Folds, **settings: Any) -> rankopt_summary.RankOptSummary:
    return rankopt_summary.RankOptSummary.of(rankopt.reproduce(data, **settings))


def _run_cfbrs(data: Folds, **settings: Any) -> cfbrs_claims.CfbrsReproduction:
    [(name, folds)] = data.items()
    return cfbrs.reproduce(folds, data=name, **settings)


PAPERS: dict[str, Paper] = {
    "toprank": Paper(
        "toprank",
        "TopRank: the paper's figures",
        "Cheng, Sun, Xie, *TopRank: a novel top-k ranking method based on rank aggregation*",
        (
            graded("OHSUMED", own=True), graded("TD2003", own=True), graded("TD2004", own=True),
            graded("MQ2008"), graded("MQ2007"),
        ),
        _run_toprank,
        toprank_summary.TopRankSummary.from_dict,
        toprank_page.sections,
        toprank_page.draw,
        lambda found: found.claims,
        any_folds=graded,
    ),
    "topk": Paper(
        "topk",
        "Top-k learning to rank: the paper's tables and figures",
        "Niu, Guo, Lan, Cheng, *Top-k learning to rank: labeling, ranking and evaluation* (SIGIR 2012)",
        topk_sources.SOURCES,
        topk_sources.run,
        topk_claims.TopkReproduction.from_dict,
        topk_page.sections,
        topk_page.draw,
        lambda found: [c.holds for c in found.claims()],
        any_folds=topk_sources.any_source,
    ),
    "cfbrs": Paper(
        "cfbrs",
        "CFBRS: the paper's table and figures",
        "Ahmad, Doja, Ahmad, *Compositional feature subset based ranking system (CFBRS) for learning to "
        "rank with user feedback*",
        (graded("MQ2008", own=True), graded("MQ2007")),
        _run_cfbrs,
        cfbrs_claims.CfbrsReproduction.from_dict,
        cfbrs_page.sections,
        cfbrs_page.draw,
        lambda found: [c.holds for c in found.claims()],
        single=True,
    ),
    "rankopt": Paper(
        "rankopt",
        "Post-ranking: the paper's experiments",
        "Wu, Xu, Li, Jiang, *Ranking optimization with constraints* (CIKM 2014)",
        (
            graded("MQ2008", own=True), graded("MQ2007", own=True), graded("OHSUMED", own=True),
            graded("TD2003", own=True),
        ),
        _run_rankopt,
        rankopt_summary.RankOptSummary.from_dict,
        rankopt_page.sections,
        rankopt_page.draw,
        lambda found: [c.holds for c in found.claims],
        any_folds=graded,
        times=lambda data, quick, seed: rankopt_times.times(data, quick),
        time_sections=rankopt_times.time_sections,
    ),
    "rpc-mtl": Paper(
        "rpc-mtl",
        "RPC-MTL: the paper's figures",
        "Wu, You, Mao, Xia, Yuan, Hu, *Listwise learning to rank by exploring structure of objects* "
        "(TKDE 2016)",
        rpc_mtl_sources.SOURCES,
        rpc_mtl_sources.run,
        rpc_mtl_claims.RpcMtlReproduction.from_dict,
        rpc_mtl_page.sections,
        rpc_mtl_page.draw,
        lambda found: [c.holds for c in found.claims()],
        times=lambda data, quick, seed: rpc_mtl_times.times(quick, seed),
        time_sections=rpc_mtl_times.time_sections,
    ),
}  # fmt: skip
"""Every paper by name."""
