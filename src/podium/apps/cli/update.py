"""``podium update``: a model of cfbrs learns from new feedback without being trained again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    busy,
    print_json,
    print_table,
    read_files,
    reports_errors,
    warnings_in_one_line,
)
from podium.apps.cli.feedback import check_joined, print_joined, read_feedback
from podium.apps.cli.feedback_options import (
    FeedbackClasses,
    FeedbackLogs,
    PhiScale,
    PhiWeight,
    check_needs_log,
    make_phi,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.ensemble import CFBRS, Adaptation, Batch
    from podium.feedback import Phi

EXAMPLE = """Example: podium update cfbrs.podium data.txt --feedback today.ndjson -o new.podium

Weights of blocks change, no block is trained again. DATA has the queries whose lists were shown; without
--feedback its labels count. With --until-converged every log (without logs: every file of DATA) is a batch of
its own, and updating ends when the metric stops changing."""


@reports_errors
def update(
    model: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A model of cfbrs."),
    ],
    inputs: Annotated[
        list[Path],
        typer.Argument(
            exists=True, dir_okay=False, metavar="DATA...", help="LETOR text or Parquet files."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="The model file to write.")
    ],
    feedback: FeedbackLogs = None,
    classes: FeedbackClasses = None,
    phi_weight: PhiWeight = None,
    phi_scale: PhiScale = None,
    until_converged: Annotated[
        bool,
        typer.Option("--until-converged", help="Update batch by batch until the metric settles."),
    ] = False,
    valid: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, dir_okay=False,
            help="Measure on this labelled data; else on each batch before it is learned from.",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(min=0, help="A change of the metric below this is none; 0.001 by default."),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, help="Batches in a row without a change that end the updates; 2 by default."
        ),
    ] = None,
    missing: Missing = "error",
    json: Json = False,
) -> None:  # fmt: skip
    """Update a model of cfbrs with new feedback."""
    from podium.data.files import check_target

    phi = make_phi(phi_weight, phi_scale)
    check_needs_log(feedback, classes, phi)
    if not until_converged:
        _check_goes_on(valid=valid, tol=tol, patience=patience)
    check_target(out, *inputs, *(feedback or ()), *(valid or ()))
    ranker = _load(model)
    batches = _batches(inputs, feedback or [], classes, phi, missing, apart=until_converged)
    with busy("updating"), warnings_in_one_line():
        if until_converged:
            held_out = read_files(valid, missing) if valid else None
            done = ranker.learn_until_converged(
                batches, held_out, tol=1e-3 if tol is None else tol, patience=patience or 2
            )
        else:
            done = None
            for batch in batches:
                ranker.update(batch)
    ranker.save(out)
    _report(ranker, out, done, json)


def _check_goes_on(**options: object) -> None:
    """Raise if an option of --until-converged is set; it was called without that."""
    from podium.errors import UsageError

    for name, value in options.items():
        if value is not None:
            raise UsageError(f"expected --{name} together with --until-converged, got it alone")


def _load(model: Path) -> CFBRS:
    from podium.ensemble import CFBRS
    from podium.errors import UsageError
    from podium.registry import load

    ranker = load(model)
    if not isinstance(ranker, CFBRS):
        raise UsageError(
            f"expected a model of cfbrs, which learns from feedback, got one of {ranker.name}; "
            "podium train cfbrs makes one"
        )
    return ranker


def _batches(
    inputs: list[Path], feedback: list[Path], classes: str | None, phi: Phi | None,
    missing: Any, *, apart: bool,
) -> Iterator[Batch]:  # fmt: skip
    """Read one batch with everything, or one per log (without logs: per file of data)."""
    from podium.ensemble import Batch

    if apart and not feedback:
        for path in inputs:
            yield Batch(read_files([path], missing))
        return
    data = read_files(inputs, missing)
    for logs in [[log] for log in feedback] if apart else [feedback]:
        if not logs:
            yield Batch(data)
            continue
        read = read_feedback(logs, classes, phi=phi)
        print_joined(read, data)
        check_joined(read, data)
        yield Batch(data, read)


def _report(ranker: CFBRS, out: Path, done: Adaptation | None, json: bool) -> None:
    facts: dict[str, Any] = {"model": str(out), "ensemble": ranker.told()}
    if done is not None:
        facts |= {
            "metric": done.metric, "values": list(done.values), "batches": len(done),
            "converged": done.converged, "reason": done.reason,
        }  # fmt: skip
    if json:
        print_json(facts)
        return
    rows = [["ensemble", ranker.told()]]
    if done is not None:
        rows += [
            ["batches", str(len(done))],
            [done.metric, " ".join(f"{value:.4f}" for value in done.values)],
            ["converged", "yes" if done.converged else "no"],
            ["reason", done.reason],
        ]
    print_table(str(out), ["what", "value"], rows, text_columns=2)
