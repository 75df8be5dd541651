"""``python -m benchmarks [SUBJECT ...] [OPTIONS]``: measure, print and save the figures."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

from benchmarks import measure, render

SUBJECTS = (
    "imports", "letor", "tables", "evaluation", "ranksvm", "rankers", "trees", "topslack",
    "aggregation", "postranking", "feedback", "clicks", "cfbrs", "multitask", "features", "labelling",
    "judging", "serving",
    "durability", "scale", "beyond_memory", "cluster",
)  # fmt: skip
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main() -> None:
    """Run the chosen subjects; all of them by default."""
    options = _options()
    if options.processor:
        measure.count_processor_time()
    if not options.docs:
        for subject in options.subjects or SUBJECTS:
            _measure(subject, options.quick)
    if not options.quick:
        PAGE.write_text(render.markdown(measure.load(SUBJECTS)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing is written")
    parser.add_argument(
        "--processor", action="store_true",
        help="count processor time of one thread, where other work on the machine disturbs the clock",
    )  # fmt: skip
    parser.add_argument("--docs", action="store_true", help="only write the page from the results")
    options = parser.parse_args()
    unknown = [subject for subject in options.subjects if subject not in SUBJECTS]
    if unknown:
        parser.error(f"expected subjects among {', '.join(SUBJECTS)}, got {', '.join(unknown)}")
    return options


def _measure(subject: str, quick: bool) -> None:
    start = time.perf_counter()
    report = importlib.import_module(f"benchmarks.{subject}").run(quick)
    print(f"{subject}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    if quick:
        report.title += " (quick: too small for the targets to mean anything)"
    render.print_report(json.loads(json.dumps(report.to_dict())))
    if not quick:
        measure.save(report)


if __name__ == "__main__":
    main()
