"""``podium clicks interleaving``: which of two models users prefer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.options.experiments import ClicksInterleavingOptions
from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.clicks import ExperimentResult, experiment_result, read_experiment, rule_results
from podium.errors import UsageError


def run_clicks_interleaving(options: ClicksInterleavingOptions) -> None:
    """Print the result of an experiment."""
    paths = _files(options.logs)
    with reading_bar([*paths, *paths]) as progress:  # clicks are read first, then lists
        log = read_experiment(paths, options.experiment, progress=progress)
    result = experiment_result(log, level=options.level)
    rules = rule_results(log, level=options.level)
    if options.json:
        own = {rule: one.to_dict() for rule, one in rules.items()}
        print_json({**result.to_dict(), **({"rules": own} if own else {})})
        return
    _print_result(result)
    if rules:
        _print_rules(result, rules)
    print_notes(result.messages)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files, and those of folders."""
    files: list[Path] = []
    for path in paths:
        own = sorted(path.glob("*.ndjson*")) if path.is_dir() else [path]
        if not own:
            raise UsageError(f"expected logs (*.ndjson) in the folder {path}, got none")
        files += own
    return files


def _print_rules(result: ExperimentResult, rules: Mapping[str, ExperimentResult]) -> None:
    """Print a row for each rule, over the lists for which it was on in either arm."""
    rows = []
    for rule, own in rules.items():
        estimate, rates = own.estimate, own.rates or (0.0, 0.0)
        interval = f"{estimate.mean:+.4f} ({estimate.low:+.4f} to {estimate.high:+.4f})"
        rows.append([rule, f"{own.lists:,}", *(f"{rate:.4f}" for rate in rates), interval])
    headers = ["rule", "lists", *(f"clicks, {name}" for name in result.models), "difference"]
    print_table("Lists for which each rule was on", headers, rows)


def _print_result(result: ExperimentResult) -> None:
    estimate, (first, second) = result.estimate, result.models
    rows = [["lists", f"{result.lists:,}"], ["sessions", f"{result.units:,}"]]
    if result.rates is None:
        rows += [
            [f"{second} wins", f"{result.wins:,}"],
            [f"{first} wins", f"{result.losses:,}"],
            ["ties", f"{result.ties:,}"],
        ]
        what = f"mean outcome in favour of {second}"
    else:
        rows += [[f"lists with a click, {name}", f"{rate:.4f}"]
                 for name, rate in zip(result.models, result.rates, strict=True)]  # fmt: skip
        what = f"difference in favour of {second}"
    rows += [
        [what, f"{estimate.mean:+.4f}"],
        [
            f"{estimate.level:.0%} interval, at any time",
            f"{estimate.low:+.4f} to {estimate.high:+.4f}",
        ],
        ["p-value, at any time", f"{estimate.p_value:.2g}"],
    ]
    print_table(
        f"{result.name}: {second} against {first}, {result.method}", ["what", "number"], rows
    )
    typer.echo(str(result))
