"""Read sessions from logs: UBI, tables with one row per impression, or files of sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from podium.clicks.click_files import load_sessions
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.event_rows import EventRows
from podium.clicks.session_assembly import SessionChecks, assemble_sessions
from podium.clicks.table_sessions import read_table_rows
from podium.clicks.ubi_sessions import read_ubi_rows
from podium.data.tables import is_csv
from podium.data.text_files import Progress, open_regular, stem
from podium.errors import UsageError
from podium.feedback.actions import ACTIONS
from podium.typing import Path_


def read_sessions(
    paths: Path_ | Sequence[Path_],
    *,
    actions: Mapping[str, str] = ACTIONS,
    variant: str = "variant",
    user_class: str = "user_class",
    columns: Mapping[str, str] | None = None,
    checks: SessionChecks | None = None,
    progress: Progress | None = None,
) -> ClickSessions:
    """Read sessions from logs; impossible sessions and bots are set aside and counted in `counts`.

    A file that ends in .csv, .tsv or .parquet has one row per impression; a file of ``save_sessions`` is read
    as it is; all other files are UBI logs (NDJSON, plain or in bulk form). Text may be compressed. In UBI
    logs, one query_id is one session. Its documents are those with an impression, and the hits of its query
    record down to the last document that was shown or clicked. Positions count from 0 or from 1, which is
    decided by file and variant: from 0 if as many lists begin at 0 as at 1.

    Parameters
    ----------
    actions
        Names of UBI actions -> kinds; only impressions and clicks are used.
    variant, user_class
        Names of attributes of UBI query records.
    columns
        Columns of tables: one of ``TABLE_COLUMNS`` -> its name in the file, if it is not a usual one.
    checks
        Limits beyond which sessions are set aside.
    progress
        Called with the number of bytes of text read since the last call.
    """
    names = [os.fspath(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not names:
        raise UsageError("there is no log; expected at least one file")
    if len(names) == 1 and _is_saved(names[0]):
        return load_sessions(names[0])
    rows = EventRows()
    for name in names:
        if _is_saved(name):
            raise UsageError(f"{name}: expected a saved file of sessions alone, or only logs")
        rows.next_source()
        if is_csv(name) or Path(stem(name)).suffix == ".parquet":
            read_table_rows(name, rows, columns or {}, progress)
        else:
            read_ubi_rows(
                [name], rows, actions, variant=variant, user_class=user_class, progress=progress
            )
    return assemble_sessions(rows, checks or SessionChecks())


def _is_saved(path: str) -> bool:
    """Return whether a file begins as an archive."""
    with open_regular(path) as file:
        return file.read(2) == b"PK"
