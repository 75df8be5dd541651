"""The papers' sections of docs/results.md and their figures: ``python -m benchmarks.papers [OUT ...]``.

OUT: folders that `podium reproduce` has written, whose results are kept in results/papers/ from now on.
Without any, figures and page are made of the results that are kept.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from benchmarks.quality import HERE, write_page
from podium_papers.pages import FIGURES, read_kept, section
from podium_papers.registry import PAPERS

KEPT = HERE / "results" / "papers"
DOCS = HERE.parent / "docs"


def sections() -> list[str]:
    """A section for each paper whose results are kept."""
    return [line for name in kept() for line in section(*read_kept(name, KEPT))]


def kept() -> list[str]:
    return [name for name in PAPERS if (KEPT / f"{name}.json").exists()]


def take(folder: Path) -> None:
    """Keep the results of a run, which must be a whole one."""
    found = [name for name in PAPERS if (folder / f"{name}.json").exists()]
    if not found:
        raise SystemExit(f"expected what podium reproduce writes in {folder}, got none")
    for name in found:
        if read_kept(name, folder)[0].quick:
            raise SystemExit(f"expected a whole run in {folder}, got a quick one of {name}")
        for file in (f"{name}.json", f"{name}-run.json"):
            shutil.copyfile(folder / file, KEPT / file)


def main() -> None:
    """Keep, draw and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("out", type=Path, nargs="*", help="folders of podium reproduce")
    for folder in parser.parse_args().out:
        take(folder)
    (DOCS / FIGURES).mkdir(exist_ok=True)
    for name in kept():
        PAPERS[name].draw(read_kept(name, KEPT)[0].found, DOCS / FIGURES)
    write_page()


if __name__ == "__main__":
    main()
