"""Papers' sections of docs/results.md and their figures: ``python -m benchmarks.papers [OUT ...]``.

OUT are folders that `podium reproduce` has written. Their results are copied into results/papers/.
Without OUT, figures and page are made from the saved results.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from benchmarks.quality import HERE, write_page
from podium_papers.pages import FIGURES, read_record, section
from podium_papers.registry import PAPERS

KEPT_RESULTS = HERE / "results" / "papers"
DOCS = HERE.parent / "docs"


def sections() -> list[str]:
    """Return a section for each paper whose results are saved."""
    return [line for name in kept_papers() for line in section(*read_record(name, KEPT_RESULTS))]


def kept_papers() -> list[str]:
    return [name for name in PAPERS if (KEPT_RESULTS / f"{name}.json").exists()]


def keep_results(folder: Path) -> None:
    """Save the results of a run, which must not be a quick one."""
    names = [name for name in PAPERS if (folder / f"{name}.json").exists()]
    if not names:
        raise SystemExit(f"expected what podium reproduce writes in {folder}, got none")
    for name in names:
        if read_record(name, folder)[0].quick:
            raise SystemExit(f"expected a whole run in {folder}, got a quick one of {name}")
        for file in (f"{name}.json", f"{name}-run.json"):
            shutil.copyfile(folder / file, KEPT_RESULTS / file)


def main() -> None:
    """Save results, draw figures and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("out", type=Path, nargs="*", help="folders of podium reproduce")
    for folder in parser.parse_args().out:
        keep_results(folder)
    (DOCS / FIGURES).mkdir(exist_ok=True)
    for name in kept_papers():
        PAPERS[name].draw(read_record(name, KEPT_RESULTS)[0].found, DOCS / FIGURES)
    write_page()


if __name__ == "__main__":
    main()
