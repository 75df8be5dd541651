"""The data of the top-k paper's reproduction: graded folds, and where their top-k truth is from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from podium.data import Fold, concatenate
from podium.experiments import read_folds
from podium_papers.data_sets import PaperSource, read_rankings
from podium_papers.topk.claims import TopkReproduction
from podium_papers.topk.data import consensus_folds, listed_folds
from podium_papers.topk.experiments import RANDOM, Truths, reproduce


class TopkProblem(NamedTuple):
    """Graded folds and their truths: see `topk.reproduce`."""

    folds: list[Fold]
    truths: Truths


def graded_problem(folder: Path) -> TopkProblem:
    """Grades alone: the top-k truth is drawn at random."""
    return TopkProblem(read_folds(folder), {RANDOM: None})


def listed_problem(folder: Path, lists: Path | None) -> TopkProblem:
    """The truth is that of a ``-list`` set, on the documents that both have."""
    if lists is None:
        return graded_problem(folder)
    listed = listed_folds(read_folds(folder), read_folds(lists))
    return TopkProblem(listed.graded, {"list": listed.orders})


def agreed_problem(folder: Path, places: Path | None) -> TopkProblem:
    """The truth is by the consensus of the rankers of an ``-agg`` set, and at random."""
    if places is None:
        return graded_problem(folder)
    folds = read_folds(folder)
    consensus = consensus_folds(folds, concatenate(read_rankings(places)))
    return TopkProblem(folds, {"Borda": consensus, RANDOM: None})


SOURCES = (
    PaperSource("MQ2007", ("MQ2007",), listed_problem, own=True, also=("MQ2007-list",)),
    PaperSource("MQ2008", ("MQ2008",), agreed_problem, also=("MQ2008-agg",)),
    PaperSource("OHSUMED", ("OHSUMED",), graded_problem),
    PaperSource("TD2003", ("TD2003",), graded_problem),
)
"""The paper's other set is TD2003 as its own assessors graded it, which is not LETOR's."""


def any_source(name: str) -> PaperSource:
    """A data set that the paper does not speak of."""
    return PaperSource(name, (name,), graded_problem)


def run(data: Mapping[str, TopkProblem], **settings: Any) -> TopkReproduction:
    """The experiments on what was read."""
    return reproduce(
        {name: own.folds for name, own in data.items()},
        truths={name: own.truths for name, own in data.items()},
        **settings,
    )
