"""Options of ``podium export``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Force, Json, file_argument, file_option

FeatureNames = Annotated[
    str | None,
    typer.Option(
        "--feature-names",
        metavar="NAMES",
        help="The names of the features, in order: with commas between them, or a file with "
        "one per line.",
    ),
]


@dataclass(frozen=True)
class ExportOptions:
    """Write a model in the format of a search engine or of another program.

    Example: podium export listnet.podium --to elasticsearch --name shop -o shop.json

    Targets: elasticsearch, opensearch, solr, vespa (each also with a version, as in opensearch@3.5), onnx,
    lightgbm, xgboost, ranklib, json. If a target cannot express a model, the error gives the reason and the
    nearest model that can be exported.

    --features writes the feature set of a search engine, and a script of its calls, into the folder -o;
    MODEL may be left out.
    """

    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="TARGET",
            help="The search engine, also with its version, or the format.",
        ),
    ]
    model: Annotated[
        Path | None, file_argument("MODEL", "A .podium file; with --features, it may be left out.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The file to write, with --features the folder; stdout by default."
        ),
    ] = None
    features: Annotated[
        Path | None,
        file_option(
            "Declared features as YAML: write the feature set of the engine and its calls.",
            metavar="FILE",
        ),
    ] = None
    name: Annotated[
        str | None, typer.Option(help="The name of the model there; that of its ranker by default.")
    ] = None
    feature_names: FeatureNames = None
    normalizers: Annotated[
        Path | None,
        file_option(
            "A file that says how features were scaled before training, as JSON: "
            '{"clicks": {"standard": {"mean": 3, "standard_deviation": 2}}, '
            '"price": {"min_max": {"minimum": 0, "maximum": 10}}}.',
            metavar="FILE",
        ),
    ] = None
    member: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For models of toprank: the member to export."),
    ] = None
    user_class: Annotated[
        str | None,
        typer.Option(
            "--user-class",
            metavar="CLASS",
            help="For models of cfbrs: the class of users whose weights are exported.",
        ),
    ] = None
    complete_features: Annotated[
        bool,
        typer.Option(
            "--complete-features",
            help="Every document has every feature in the engine: versions that would score documents "
            "that lack one wrongly are then right, too.",
        ),
    ] = False
    force: Force = False
    json: Json = False
