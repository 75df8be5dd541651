"""Options of ``podium import``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Force, Json, file_argument
from podium.apps.cli.options.export import FeatureNames


@dataclass(frozen=True)
class ImportOptions:
    """Convert a model of another program to a .podium file.

    Example: podium import lambdamart.txt --from ranklib -o lambdamart.podium

    Programs: ranklib, lightgbm (text), xgboost (JSON), catboost (JSON), svmrank.
    """

    file: Annotated[Path, file_argument("FILE", "The model of the other program.")]
    source: Annotated[
        str, typer.Option("--from", metavar="PROGRAM", help="The program that wrote it.")
    ]
    out: Annotated[Path, typer.Option("--out", "-o", help="The .podium file to write.")]
    n_features: Annotated[
        int | None,
        typer.Option("--features", min=1, help="The number of features, if FILE does not say it."),
    ] = None
    feature_names: FeatureNames = None
    force: Force = False
    json: Json = False
