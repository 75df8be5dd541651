"""``podium update``: a model of cfbrs learns from new feedback without being trained again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.inputs.feedback_sources import (
    check_joined,
    check_needs_log,
    make_phi,
    print_joined,
    read_feedback,
)
from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.options.update import UpdateOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data import RankingData
from podium.data.atomic_files import check_target
from podium.ensemble import CFBRS, Adaptation, FeedbackBatch
from podium.errors import UsageError
from podium.feedback import Phi
from podium.registry import load


def run_update(options: UpdateOptions) -> None:
    """Update a model of cfbrs with new feedback."""
    phi = make_phi(options.phi_weight, options.phi_scale)
    check_needs_log(options.feedback, options.classes, phi)
    if not options.until_converged:
        _check_not_set(valid=options.valid, tol=options.tol, patience=options.patience)
    check_target(options.out, *options.inputs, *(options.feedback or ()), *(options.valid or ()))
    check_not_replaced([options.out], options.force)
    ranker = _load_cfbrs(options.model)
    files = InputFiles(options.missing, options, is_quiet=options.json)
    features = ranker.trained_.feature_names
    batches = _batches(options, phi, lambda paths: files.read(paths, features=features))
    with spinner("updating"), warnings_in_one_line():
        if options.until_converged:
            held_out = files.read(options.valid, features=features) if options.valid else None
            adaptation = ranker.learn_until_converged(
                batches,
                held_out,
                tol=1e-3 if options.tol is None else options.tol,
                patience=options.patience or 2,
            )
        else:
            adaptation = None
            for batch in batches:
                ranker.update(batch)
    ranker.save(options.out)
    _report(ranker, options.out, adaptation, options.json)


def _check_not_set(**options: object) -> None:
    """Raise if an option is set that needs --until-converged."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"expected --{name} together with --until-converged, got it alone")


def _load_cfbrs(model: Path) -> CFBRS:
    ranker = load(model)
    if not isinstance(ranker, CFBRS):
        raise UsageError(
            f"expected a model of cfbrs, which learns from feedback, got one of {ranker.name}; "
            "podium train cfbrs makes one"
        )
    return ranker


def _batches(
    options: UpdateOptions, phi: Phi | None, read: Callable[[Sequence[Path]], RankingData]
) -> Iterator[FeedbackBatch]:
    """Read one batch with everything, or one per log (without logs: per file of data)."""
    feedback, apart = options.feedback or [], options.until_converged
    if apart and not feedback:
        for path in options.inputs:
            yield FeedbackBatch(read([path]))
        return
    data = read(options.inputs)
    for logs in [[log] for log in feedback] if apart else [feedback]:
        if not logs:
            yield FeedbackBatch(data)
            continue
        users = read_feedback(logs, options.classes, phi=phi)
        print_joined(users, data)
        check_joined(users, data)
        yield FeedbackBatch(data, users)


def _report(ranker: CFBRS, out: Path, adaptation: Adaptation | None, json: bool) -> None:
    facts: dict[str, Any] = {"model": str(out), "ensemble": ranker.describe()}
    if adaptation is not None:
        facts |= {
            "metric": adaptation.metric, "values": list(adaptation.values), "batches": len(adaptation),
            "converged": adaptation.converged, "reason": adaptation.reason,
        }  # fmt: skip
    if json:
        print_json(facts)
        return
    rows = [["ensemble", ranker.describe()]]
    if adaptation is not None:
        rows += [
            ["batches", str(len(adaptation))],
            [adaptation.metric, " ".join(f"{value:.4f}" for value in adaptation.values)],
            ["converged", "yes" if adaptation.converged else "no"],
            ["reason", adaptation.reason],
        ]
    print_table(str(out), ["what", "value"], rows, text_columns=2)
