"""``podium judge export``: judgments as training data, truth or tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.inputs.judgment_store import choose_store, open_store, store_name
from podium.apps.cli.inputs.table_columns import without_column_options
from podium.apps.cli.options.judge_export import FormatName, JudgeExportOptions
from podium.apps.cli.options.tables import TableOptions
from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.counted_nouns import count_text
from podium.data.atomic_files import check_target
from podium.data.judged_by import judges_text
from podium.data.text_files import stem
from podium.errors import UsageError
from podium.labelling.export import export as write


def run_judge_export(options: JudgeExportOptions) -> None:
    """Write top-k truth, labels, grades or preferences to a file."""
    store = choose_store(options.store, options.store_)
    file_format = _choose_format(options.out, options.format, bool(options.features))
    check_target(options.out, *(options.features or ()))
    check_not_replaced([options.out], options.force)
    columns = TableOptions(categories=options.categories, columns_file=options.columns_file)
    files = InputFiles(options.missing, columns, is_quiet=options.json)
    with without_column_options(takes_file=True):
        data = files.read(options.features, labelled=False) if options.features else None
    with spinner(f"writing {options.out}"), open_store(store) as opened:
        written = write(
            opened, options.out, options.what, file_format,
            merge=None if options.merge == "none" else options.merge, ties=options.ties,
            k=options.top, features=data, unjudged=options.unjudged,
            judged_by=options.judged_by,
        )  # fmt: skip
    facts: dict[str, Any] = {"file": str(options.out), **asdict(written)}
    if options.json:
        print_json(facts)
        return
    rows = [
        [name, f"{value:,}" if isinstance(value, int) else value] for name, value in facts.items()
    ]
    print_table(store_name(store), ["what", "value"], rows, text_columns=2)
    if written.judged_by != "people":
        print_notes([f"judged by {judges_text(written.judged_by)}"])
    if written.unjudged:
        treatment = "left out" if options.unjudged == "drop" else "in with label 0"
        unjudged = count_text(written.unjudged, "document")
        print_notes([f"no judgment for {unjudged} with features: {treatment}"])
    if written.unfinished:
        print_notes([f"{count_text(written.unfinished, 'unfinished session')}: left out"])


FORMAT_BY_ENDING: dict[str, FormatName] = {
    ".csv": "csv", ".parquet": "parquet", ".qrels": "qrels", ".letor": "letor", ".svmlight": "letor",
}  # fmt: skip


def _choose_format(out: Path, option: FormatName | None, has_features: bool) -> FormatName:
    """Return the format of the option or of the ending; raise if they contradict each other."""
    ending = Path(stem(str(out))).suffix.lower()
    by_ending = "letor" if ending == ".txt" and has_features else FORMAT_BY_ENDING.get(ending)
    if option is None:
        if by_ending is None:
            endings = ", ".join(FORMAT_BY_ENDING)
            raise UsageError(
                f"expected --format, or a file that ends in {endings} (with features also .txt), got {out}"
            )
        return by_ending
    if ending in FORMAT_BY_ENDING and by_ending != option:
        raise UsageError(
            f"expected a file for {option}, got {out}, whose name says {by_ending}; leave --format out, or "
            "name the file otherwise"
        )
    return option
