"""``podium export``: a model in the form that a search engine takes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.inputs.feature_names import read_feature_names
from podium.apps.cli.options.export import ExportOptions
from podium.apps.cli.outputs.printing import print_json
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data.atomic_files import check_target
from podium.errors import DataError, UsageError
from podium.exchange import export_model
from podium.exchange.exporters.exported_model import ExportedModel
from podium.registry import load

TRUTH_NOTE = (
    "training reads yes and true in a column as 1, no and false as 0; the engine must compute such a "
    "feature as 1 or 0"
)


def run_export(options: ExportOptions) -> None:
    """Write a model in the form a search engine takes."""
    if options.out is not None:
        check_target(options.out, options.model)
        check_not_replaced([options.out], options.force)
    if options.json and options.out is None:
        raise UsageError("expected -o FILE with --json, got none")
    ranker = load(options.model)
    exported = export_model(
        ranker, options.to, name=options.name,
        feature_names=read_feature_names(options.feature_names),
        normalizers=_read_normalizers(options.normalizers), member=options.member,
        user_class=options.user_class, complete_features=options.complete_features,
    )  # fmt: skip
    if ranker.trained_.feature_names is not None:  # a table may have columns of yes and no
        exported = replace(exported, notes=(*exported.notes, TRUTH_NOTE))
    for note in exported.notes:
        typer.echo(f"podium: note: {note}", err=True)
    if options.out is not None:
        exported.save(options.out)
    elif isinstance(exported.content, bytes):
        raise UsageError(f"expected -o FILE to write {options.to}, which is not text, got none")
    else:
        typer.echo(exported.content, nl=False)
    if options.json:
        print_json(_facts(exported, options.out))


def _facts(exported: ExportedModel, out: Path | None) -> dict[str, Any]:
    return {
        "file": str(out),
        "target": exported.target,
        "version": exported.version,
        "kind": exported.kind,
        "name": exported.name,
        "features": list(exported.features),
        "notes": list(exported.notes),
    }


def _read_normalizers(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        normalizers = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON ({error})", path=str(path)) from None
    if not isinstance(normalizers, dict):
        raise DataError("expected JSON with a normalizer by feature", path=str(path))
    return normalizers
