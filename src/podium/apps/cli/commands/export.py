"""``podium export``: a model or a feature set in the form that a search engine takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from podium.exchange import FeatureSet, export_features, export_model, read_features
from podium.exchange.exporters.exported_model import ExportedModel
from podium.registry import load

TRUTH_NOTE = (
    "training reads yes and true in a column as 1, no and false as 0; the engine must compute such a "
    "feature as 1 or 0"
)


def run_export(options: ExportOptions) -> None:
    """Write a model, a feature set, or both in the form a search engine takes."""
    if options.json and options.out is None:
        raise UsageError("expected -o FILE with --json, got none")
    if options.features is not None:
        _export_features(options, read_features(options.features))
        return
    if options.model is None:
        raise UsageError("expected MODEL, a .podium file, or --features FILE, got neither")
    if options.out is not None:
        check_target(options.out, options.model)
        check_not_replaced([options.out], options.force)
    exported = _export_model(options.model, options)
    _print_notes(exported.notes)
    if options.out is not None:
        exported.save(options.out)
    elif isinstance(exported.content, bytes):
        raise UsageError(f"expected -o FILE to write {options.to}, which is not text, got none")
    else:
        typer.echo(exported.content, nl=False)
    if options.json:
        print_json(_facts(exported, options.out))


def _export_model(path: Path, options: ExportOptions, complete: bool = False) -> ExportedModel:
    ranker = load(path)
    exported = export_model(
        ranker, options.to, name=options.name,
        feature_names=read_feature_names(options.feature_names),
        normalizers=_read_normalizers(options.normalizers), member=options.member,
        user_class=options.user_class, complete_features=options.complete_features or complete,
    )  # fmt: skip
    if ranker.trained_.feature_names is not None:  # a table may have columns of yes and no
        exported = replace(exported, notes=(*exported.notes, TRUTH_NOTE))
    return exported


def _export_features(options: ExportOptions, features: FeatureSet) -> None:
    """Write declared features, the calls of the engine, and a model if there is one."""
    model = None
    if options.model is not None:
        model = _export_model(options.model, options, complete=not features.lacking())
    exported = export_features(features, options.to, model)
    files = [] if options.out is None else [options.out / name for name in exported.files]
    check_not_replaced(files, options.force)
    _print_notes((*exported.notes, *(() if model is None else model.notes)))
    if options.out is None:
        typer.echo(exported.content, nl=False)
        return
    exported.save(options.out)
    if options.json:
        facts = {"folder": str(options.out), "target": exported.target, "name": exported.name}
        print_json(facts | {"features": list(exported.features), "files": list(exported.files)})
        return
    for path in files:
        typer.echo(str(path), err=True)


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        typer.echo(f"podium: note: {note}", err=True)


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
