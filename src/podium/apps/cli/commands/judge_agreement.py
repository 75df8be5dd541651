"""``podium judge agreement``: a machine assessor held against people."""

from __future__ import annotations

from pathlib import Path

import typer

from podium.apps.cli.inputs.compared_systems import check_systems, measure_systems
from podium.apps.cli.inputs.judgment_store import choose_store, open_store
from podium.apps.cli.options.judge_agreement import JudgeAgreementOptions
from podium.apps.cli.outputs.printing import print_json, print_table, printable
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data.atomic_files import atomic_writer, check_target
from podium.errors import UsageError, require
from podium.experiments.agreement_page import count_text_columns, render_agreement
from podium.labelling.machine_agreement.agreement_tables import agreement_tables
from podium.labelling.machine_agreement.agreement_with_people import machine_agreement


def run_judge_agreement(options: JudgeAgreementOptions) -> None:
    """Print how far a machine judges as people do, and write the page."""
    name = choose_store(options.store, options.store_)
    check_systems(options)
    _check_page(options.out, options)
    with open_store(name) as store:
        systems = measure_systems(options, store)
        with spinner("reading judgments"):
            report = machine_agreement(
                store, options.machine, half_width=options.half_width, systems=systems,
                resamples=options.resamples, seed=options.seed,
            )  # fmt: skip
    if options.out is not None:
        page = render_agreement(report).encode("utf-8", "backslashreplace")
        with atomic_writer(options.out) as write:
            write(page)
    if options.json:
        print_json(report.to_dict())
        return
    typer.echo(printable(report.verdict()))
    typer.echo()
    for table in agreement_tables(report):
        print_table(table.title, table.headers, table.rows, text_columns=count_text_columns(table))
        if table.note:
            typer.echo(printable(table.note))
        typer.echo()
    if options.out is not None:
        typer.echo(f"Written: {options.out}")


def _check_page(out: Path | None, options: JudgeAgreementOptions) -> None:
    if out is None:
        return
    if out.suffix != ".html":
        raise UsageError(f"expected --out with a file that ends in .html, got {out}")
    for library in ("jinja2", "matplotlib.figure"):
        require(library, "report", "writing the page")
    check_target(out, *(options.run or ()), *(options.features or ()))
    check_not_replaced([out], options.force)
