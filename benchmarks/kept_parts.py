"""Kept parts of a long run: each finished part is a file, so that an interrupted run can continue."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Report, Row


@dataclass
class Part:
    """What one part adds to a report."""

    rows: list[Row] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class KeptParts:
    """Parts by name, as files of a folder if there is one; remove a file to measure its part anew.

    With `wanted`, only parts whose name begins so are measured, and others are read if they are there: so
    two processes can measure one report.
    """

    folder: Path | None
    wanted: str = ""

    def add(self, report: Report, name: str, measure: Callable[[], Part]) -> None:
        """Add a part to a report; measure it unless it is kept."""
        kept = self._load(name)
        if kept is None and not name.startswith(self.wanted):
            return
        if kept is None:
            start = time.process_time()
            kept = asdict(measure())
            print(f"{name}: {time.process_time() - start:.0f} processor seconds", file=sys.stderr)
            self._save(name, kept)
        report.rows += [Row(**row) for row in kept["rows"]]
        for table in kept["tables"]:
            if report.tables and report.tables[-1][0] == table[0]:
                report.tables[-1] = [*report.tables[-1], *table[1:]]  # parts of one table
            else:
                report.tables.append(table)
        report.notes += [note for note in kept["notes"] if note not in report.notes]

    def _load(self, name: str) -> dict[str, Any] | None:
        path = None if self.folder is None else self.folder / f"{name}.json"
        if path is None or not path.exists():
            return None
        kept: dict[str, Any] = json.loads(path.read_text())
        return kept

    def _save(self, name: str, kept: dict[str, Any]) -> None:
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True, parents=True)
            (self.folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
