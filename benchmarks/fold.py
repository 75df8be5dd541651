"""The first fold of MQ2008 where the data is at hand, data of its shape elsewhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from podium import RankingData, make_synthetic, read_letor

QUICK = 40
"""Queries of a quick run."""


@dataclass(frozen=True)
class Fold:
    """Queries to train on and to validate with."""

    name: str
    train: RankingData
    valid: RankingData


def first_fold(quick: bool) -> Fold:
    """Trained on S1 to S3, validated on S4; PODIUM_LETOR names another folder than ../shared/data."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PODIUM_LETOR") or beside) / "MQ2008"
    if folder.is_dir():
        files = [folder / f"S{i}.txt.xz" for i in range(1, 5)]
        fold = Fold("MQ2008, fold 1", read_letor(files[:3]), read_letor(files[3:]))
    else:
        train, valid = (
            make_synthetic(n, "mq2008", grades=(0.74, 0.18, 0.08), noise=1.0, blank=0.28, seed=seed)
            for seed, n in enumerate((471, 157))
        )
        fold = Fold("synthetic, of the shape of MQ2008's fold 1", train, valid)
    if not quick:
        return fold
    return Fold(fold.name, *(data.subset(range(QUICK)) for data in (fold.train, fold.valid)))
