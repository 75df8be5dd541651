"""``podium doctor``: check the installation, and say what to do about each finding."""

from __future__ import annotations

from dataclasses import asdict

import typer

from podium.apps.cli.inputs.installation import inspect_installation, installed_packages
from podium.apps.cli.options.doctor import DoctorOptions
from podium.apps.cli.outputs.printing import print_json, print_table


def run_doctor(options: DoctorOptions) -> None:
    """Print the findings; exit with 1 if one is a problem."""
    findings = inspect_installation()
    if options.json:
        print_json({"findings": [asdict(f) for f in findings], "packages": installed_packages()})
    else:
        rows = [
            [f.subject, f.state, f.text + (f"; {f.advice}" if f.advice else "")] for f in findings
        ]
        print_table("Installation", ["what", "state", "finding"], rows, text_columns=3)
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)
