"""Registry of the papers: the experiments, the data and the page of each, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from podium.data import Fold
from podium_papers import cfbrs, rankopt, toprank
from podium_papers.cfbrs import claims as cfbrs_claims
from podium_papers.cfbrs import page as cfbrs_page
from podium_papers.data_sets import PaperSource, graded_source
from podium_papers.rankopt import page as rankopt_page
from podium_papers.rankopt import times as rankopt_times
from podium_papers.rankopt.summary import RankOptSummary, pack_summary, unpack_summary
from podium_papers.rpc_mtl import claims as rpc_mtl_claims
from podium_papers.rpc_mtl import data_sets as rpc_mtl_data
from podium_papers.rpc_mtl import page as rpc_mtl_page
from podium_papers.rpc_mtl import times as rpc_mtl_times
from podium_papers.topk import claims as topk_claims
from podium_papers.topk import data_sets as topk_data
from podium_papers.topk import page as topk_page
from podium_papers.toprank import page as toprank_page
from podium_papers.toprank.summary import TopRankSummary

Data = Mapping[str, Any]
"""Name of a source -> the data that its `read` returns: folds, or a table."""


@dataclass(frozen=True)
class Paper:
    """Experiments of a paper: their data, the function that runs them, and their page.

    Parameters
    ----------
    sources
        Data that the experiments can use, in the order of the tables.
    any_folds
        Makes a source of any other folder of folds, by its name; None if the paper takes no other data.
    single
        Whether the experiments use one data set only, the first that is there.
    run
        Takes the data that is there, and ``quick``, ``n_jobs``, ``keep``, ``callback`` and ``seed``.
        Its result is of the dataclass `result`.
    sections, draw
        Return the page in Markdown; write its figures as SVG files into a folder.
    claims
        Returns for each claim of the paper, in each case, whether it holds.
    times
        Measures the times that the paper reports, from data, ``quick`` and ``seed``, as plain values.
    time_sections
        Returns the sections about these times; the second argument says whether the run was quick.
    pack, unpack
        Turn a result into plain values for JSON, and plain values into those that make a `result`.
    """

    name: str
    title: str
    citation: str
    sources: tuple[PaperSource, ...]
    run: Callable[..., Any]
    result: type
    sections: Callable[[Any], list[str]]
    draw: Callable[[Any, Path], None]
    claims: Callable[[Any], list[bool]]
    any_folds: Callable[[str], PaperSource] | None = None
    single: bool = False
    times: Callable[[Data, bool, int], Any] | None = None
    time_sections: Callable[[Any, bool], list[str]] | None = None
    pack: Callable[[Any], dict[str, Any]] = asdict
    unpack: Callable[[Any], Any] = dict


Folds = Mapping[str, Sequence[Fold]]


def _run_cfbrs(data: Folds, **settings: Any) -> cfbrs_claims.CfbrsReproduction:
    [(name, folds)] = data.items()
    return cfbrs.reproduce(folds, data=name, **settings)


PAPERS: dict[str, Paper] = {
    "toprank": Paper(
        "toprank",
        "TopRank: the paper's figures",
        "Cheng, Sun, Xie, *TopRank: a novel top-k ranking method based on rank aggregation*",
        (
            graded_source("OHSUMED", is_papers_own=True), graded_source("TD2003", is_papers_own=True),
            graded_source("TD2004", is_papers_own=True), graded_source("MQ2008"), graded_source("MQ2007"),
        ),
        lambda data, **settings: TopRankSummary.of(toprank.reproduce(data, **settings)),
        TopRankSummary,
        toprank_page.sections,
        toprank_page.draw,
        lambda result: result.claims,
        any_folds=graded_source,
    ),
    "topk": Paper(
        "topk",
        "Top-k learning to rank: the paper's tables and figures",
        "Niu, Guo, Lan, Cheng, *Top-k learning to rank: labeling, ranking and evaluation* (SIGIR 2012)",
        topk_data.SOURCES,
        topk_data.run,
        topk_claims.TopkReproduction,
        topk_page.sections,
        topk_page.draw,
        lambda result: [c.holds for c in result.claims()],
        any_folds=topk_data.any_source,
    ),
    "cfbrs": Paper(
        "cfbrs",
        "CFBRS: the paper's table and figures",
        "Ahmad, Doja, Ahmad, *Compositional feature subset based ranking system (CFBRS) for learning to "
        "rank with user feedback*",
        (graded_source("MQ2008", is_papers_own=True), graded_source("MQ2007")),
        _run_cfbrs,
        cfbrs_claims.CfbrsReproduction,
        cfbrs_page.sections,
        cfbrs_page.draw,
        lambda result: [c.holds for c in result.claims()],
        single=True,
    ),
    "rankopt": Paper(
        "rankopt",
        "Post-ranking: the paper's experiments",
        "Wu, Xu, Li, Jiang, *Ranking optimization with constraints* (CIKM 2014)",
        (
            graded_source("MQ2008", is_papers_own=True), graded_source("MQ2007", is_papers_own=True),
            graded_source("OHSUMED", is_papers_own=True), graded_source("TD2003", is_papers_own=True),
        ),
        lambda data, **settings: RankOptSummary.of(rankopt.reproduce(data, **settings)),
        RankOptSummary,
        rankopt_page.sections,
        rankopt_page.draw,
        lambda result: [c.holds for c in result.claims],
        any_folds=graded_source,
        times=lambda data, quick, seed: rankopt_times.times(data, quick),
        time_sections=rankopt_times.time_sections,
        pack=pack_summary,
        unpack=unpack_summary,
    ),
    "rpc-mtl": Paper(
        "rpc-mtl",
        "RPC-MTL: the paper's figures",
        "Wu, You, Mao, Xia, Yuan, Hu, *Listwise learning to rank by exploring structure of objects* "
        "(TKDE 2016)",
        rpc_mtl_data.SOURCES,
        rpc_mtl_data.run,
        rpc_mtl_claims.RpcMtlReproduction,
        rpc_mtl_page.sections,
        rpc_mtl_page.draw,
        lambda result: [c.holds for c in result.claims()],
        times=lambda data, quick, seed: rpc_mtl_times.times(quick, seed),
        time_sections=rpc_mtl_times.time_sections,
    ),
}  # fmt: skip
"""Every paper by name."""
