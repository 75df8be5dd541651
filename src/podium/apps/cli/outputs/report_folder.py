"""The folder of a report: what stands there already must not be lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.data.atomic_files import check_target
from podium.errors import UsageError
from podium.experiments.checkpoints import is_checkpoint
from podium.experiments.compare import CELLS_FOLDER
from podium.experiments.report import FILES as REPORT_FILES
from podium.experiments.report import TIMES_FILE


def check_report_folder(out: Path, sources: Sequence[Path], force: bool) -> None:
    """Raise if a report in this folder would replace data, a file without --force, or cells of others."""
    files = [out / name for name in (*REPORT_FILES, TIMES_FILE)]
    for path in files:
        if path.exists():
            check_target(path, *sources)
    written = next((path for path in files if path.exists()), None)
    if written is not None and not force:
        raise UsageError(
            f"expected a folder without a report, but {written} already exists; --force replaces the "
            f"report and keeps finished fits in {out / CELLS_FOLDER}"
        )
    cells = out / CELLS_FOLDER
    if cells.exists() and not cells.is_dir():
        raise UsageError(
            f"expected a folder for the results of each fold, got the file {cells}; choose another --out"
        )
    foreign = [path for path in sorted(cells.glob("*.json")) if not is_checkpoint(path)]
    if foreign:
        raise UsageError(
            f"expected only results of folds in {cells}, got {foreign[0].name}, which podium did not "
            "write; choose another --out"
        )
