"""``podium export`` and ``podium import``: models to engines, and from other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import Json, print_json, reports_errors, warnings_in_one_line

if TYPE_CHECKING:
    from podium.exchange import Exported

EXPORT_EXAMPLE = """Example: podium export listnet.podium --to elasticsearch --name shop -o shop.json

Targets: elasticsearch, opensearch, solr, vespa, onnx, json. What a target cannot express is refused,
with the reason and the nearest thing it can."""
IMPORT_EXAMPLE = """Example: podium import lambdamart.txt --from ranklib -o lambdamart.podium

Programs: ranklib, lightgbm (text), xgboost (JSON), svmrank."""

FeatureNames = Annotated[
    str | None,
    typer.Option(
        "--feature-names",
        metavar="NAMES",
        help="The features' names, in order: with commas between them, or a file with one a line.",
    ),
]


@reports_errors
def export(
    model: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A .podium file.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help="The engine.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the file goes; else to stdout.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the model is called there; else as its ranker.")
    ] = None,
    feature_names: FeatureNames = None,
    normalizers: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="A file that says how features were scaled before training, as JSON: "
            '{"clicks": {"standard": {"mean": 3, "standard_deviation": 2}}, '
            '"price": {"min_max": {"minimum": 0, "maximum": 10}}}.',
        ),
    ] = None,
    member: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a toprank: the ranker to export.")
    ] = None,
    user_class: Annotated[
        str | None,
        typer.Option("--user-class", metavar="CLASS", help="Of a cfbrs: whose weights to export."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a model in the form a search engine takes."""
    from podium.data.files import check_target
    from podium.errors import UsageError
    from podium.exchange import export_model
    from podium.registry import load

    if out is not None:
        check_target(out, model)
    if json and out is None:
        raise UsageError("expected -o FILE with --json, got none")
    exported = export_model(
        load(model), to, name=name, feature_names=_names(feature_names),
        normalizers=_normalizers(normalizers), member=member, user_class=user_class,
    )  # fmt: skip
    for note in exported.notes:
        typer.echo(f"podium: note: {note}", err=True)
    if out is not None:
        exported.save(out)
    elif isinstance(exported.content, bytes):
        raise UsageError(f"expected -o FILE to write {to}, which is no text, got none")
    else:
        typer.echo(exported.content, nl=False)
    if json:
        print_json(_told(exported, out))


def _told(exported: Exported, out: Path | None) -> dict[str, Any]:
    return {
        "file": str(out),
        "target": exported.target,
        "kind": exported.kind,
        "name": exported.name,
        "features": list(exported.features),
        "notes": list(exported.notes),
    }


@reports_errors
def import_(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="The other's model."),
    ],
    source: Annotated[
        str, typer.Option("--from", metavar="PROGRAM", help="The program that wrote it.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .podium file to write.")],
    n_features: Annotated[
        int | None,
        typer.Option("--features", min=1, help="Features of a row, where FILE does not say it."),
    ] = None,
    feature_names: FeatureNames = None,
    json: Json = False,
) -> None:
    """Make a model of another program a .podium file."""
    from podium.data.files import check_target
    from podium.exchange import import_model

    check_target(out, file)
    names = _names(feature_names)
    with warnings_in_one_line():
        ranker = import_model(file, source, n_features=n_features, feature_names=names)
    ranker.save(out)
    told = {
        "file": str(out),
        "source": ranker.source,
        "model": ranker.model_.kind,
        "features": ranker.n_features_in_,
    }
    if json:
        print_json(told)
    else:
        typer.echo(f"{out}: {told['model']} model of {told['features']} features, {told['source']}")


def _names(given: str | None) -> list[str] | None:
    if given is None:
        return None
    path = Path(given)
    if "," not in given and path.is_file():
        return path.read_text(encoding="utf-8").splitlines()
    return [name.strip() for name in given.split(",")]


def _normalizers(path: Path | None) -> Any:
    import json

    from podium.errors import DataError

    if path is None:
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON ({error})", path=str(path)) from None
    if not isinstance(told, dict):
        raise DataError("expected JSON with a normalizer by feature", path=str(path))
    return told
