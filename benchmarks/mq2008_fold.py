"""First fold of MQ2008, or generated data of its shape if MQ2008 is not there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from podium import RankingData, make_synthetic, read_letor

QUICK_QUERIES = 40


@dataclass(frozen=True)
class TrainingFold:
    """Training and validation queries."""

    name: str
    train: RankingData
    valid: RankingData


def first_fold(quick: bool) -> TrainingFold:
    """Read S1 to S3 for training and S4 for validation, from PODIUM_LETOR or ../shared/data."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PODIUM_LETOR") or beside) / "MQ2008"
    if folder.is_dir():
        files = [folder / f"S{i}.txt.xz" for i in range(1, 5)]
        fold = TrainingFold("MQ2008, fold 1", read_letor(files[:3]), read_letor(files[3:]))
    else:
        train, valid = (
            make_synthetic(n, "mq2008", grades=(0.74, 0.18, 0.08), noise=1.0, blank=0.28, seed=seed)
            for seed, n in enumerate((471, 157))
        )
        fold = TrainingFold("synthetic, of the shape of MQ2008's fold 1", train, valid)
    if not quick:
        return fold
    return TrainingFold(
        fold.name, *(data.subset(range(QUICK_QUERIES)) for data in (fold.train, fold.valid))
    )
