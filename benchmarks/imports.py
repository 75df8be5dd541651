"""Import time of podium in a fresh interpreter."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

from benchmarks.measure import Contender, Report, Row, Timing

HEAVY = ("lightgbm", "sklearn", "matplotlib", "pandas", "fastapi", "scipy.stats")
"""Slow modules that `import podium` must not import."""

IMPORT = "import podium"
USE = "import podium; podium.read_letor, podium.evaluate"
VERSION = "from podium.apps.cli import main; main()"


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    repeats = 3 if quick else 15
    report = Report("imports", "Import time", {"fresh interpreters for each figure": repeats})
    programs = {"python -c pass": ("pass",), IMPORT: (IMPORT,), USE: (USE,)}
    if _has_cli():
        programs["podium --version"] = (VERSION, "--version")
    t = report.time_in_turn(
        [
            Contender(name, lambda p=program: _python(*p), repeats)
            for name, program in programs.items()
        ]
    )
    bare = t.pop("python -c pass")
    report.rows += [_row(timing, bare, name == IMPORT) for name, timing in t.items()]
    report.notes += [_loaded(IMPORT), _loaded(USE)]
    if not _has_cli():
        report.notes.append("`podium --version` is not measured: there is no command line yet.")
    return report


def _row(timing: Timing, bare: Timing, has_target: bool) -> Row:
    return Row(
        f"`{timing.name}`", timing.median, peer=bare.name, theirs=bare.median,
        at_most=0.3 if has_target else None, floor="an interpreter that does nothing",
        floor_value=bare.median,
    )  # fmt: skip


def _has_cli() -> bool:
    try:
        return importlib.util.find_spec("podium.apps.cli") is not None
    except ModuleNotFoundError:
        return False


def _python(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _loaded(program: str) -> str:
    """Return a sentence that says which of the heavy modules a program imports."""
    check = f"import json, sys; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    loaded = json.loads(_python(f"{program}; {check}"))
    spared = ", ".join(m for m in HEAVY if m not in loaded)
    return f"`{program}` imports {', '.join(loaded) or 'none of these'}; not imported: {spared}."
