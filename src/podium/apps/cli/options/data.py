"""Options of ``podium data``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import (
    Force,
    Json,
    MissingOption,
    SeedOption,
    data_argument,
    file_argument,
)
from podium.apps.cli.options.tables import TableOptions

Inputs = Annotated[
    list[Path],
    data_argument(
        "IN...",
        "LETOR text, tables (CSV, TSV, JSON lines, Parquet, Arrow), or the folder of a collection.",
    ),
]


@dataclass(frozen=True)
class DataInfoOptions(TableOptions):
    """Show what is in ranking data: counts, labels, list lengths, odd features.

    Example: podium data info Fold1/train.txt.gz

    A folder of folds (S1.txt ..., or Fold1 ... with train.txt, vali.txt and test.txt) is read as one
    data set.
    """

    inputs: Annotated[
        list[Path],
        data_argument(
            "IN...",
            "LETOR text, or tables (CSV, TSV, JSON lines, Parquet, Arrow); or the folder of a collection, "
            "or of folds.",
        ),
    ]
    missing: MissingOption = "nan"
    write_columns: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what each column of a table is as YAML, to be edited and used with --columns.",
        ),
    ] = None
    force: Force = False
    json: Json = False


@dataclass(frozen=True)
class DataConvertOptions(TableOptions):
    """Convert LETOR text or a table to LETOR text (.txt), CSV (.csv, .tsv; text also .gz .xz .bz2
    .zst), Parquet or qrels.

    Example: podium data convert train.txt.gz train.parquet --scale minmax
    """

    inputs: Inputs
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The file to write; its ending decides the format."),
    ]
    scale: Annotated[str | None, typer.Option(help="Scale within queries: minmax or zscore.")] = (
        None
    )
    scaled: Annotated[
        str | None,
        typer.Option(
            help="How features are already scaled within queries: minmax (LETOR's), zscore or none."
        ),
    ] = None
    topk: Annotated[
        int | None, typer.Option(help="Turn grades into top-k truth; ties are broken at random.")
    ] = None
    missing: MissingOption = "error"
    seed: SeedOption = 0
    force: Force = False
    json: Json = False


@dataclass(frozen=True)
class DataPartitionOptions(TableOptions):
    """Write ranking data as a collection: a folder of parts with whole queries, for data that does not
    fit into memory.

    Example: podium data partition train.txt.gz -o train.parts --rows 500000

    Parts are Parquet files, which other tools can read. Files whose queries are scattered are put in
    order. The folder appears when it is complete; an interrupted call goes on where it stopped.
    """

    inputs: Annotated[
        list[Path],
        file_argument("IN...", "LETOR text, or tables (CSV, TSV, JSON lines, Parquet, Arrow)."),
    ]
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make.")]
    rows: Annotated[int, typer.Option(min=1, help="The maximum number of documents per part.")] = (
        500_000
    )
    dtype: Annotated[
        Literal["float32", "float64"] | None,
        typer.Option(help="The type of the features; float32 takes half the space."),
    ] = None
    missing: MissingOption = "error"
    force: Annotated[bool, typer.Option("--force", help="Replace a collection that is there.")] = (
        False
    )
    json: Json = False


@dataclass(frozen=True)
class DataSampleOptions(TableOptions):
    """Write random queries of ranking data, all with the same chance.

    Example: podium data sample train.parts -o sample.parquet --queries 1000

    The same seed chooses the same queries from any file or collection that has them. A collection is
    read block by block.
    """

    inputs: Inputs
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="OUT", help="The file to write; its ending decides the format."
        ),
    ]
    queries: Annotated[int, typer.Option(min=1, help="The number of queries.")] = 1_000
    missing: MissingOption = "nan"
    seed: SeedOption = 0
    force: Force = False
    json: Json = False


@dataclass(frozen=True)
class DataSplitOptions(TableOptions):
    """Split data by query into folds, or into train, validation and test.

    Example: podium data split all.txt folds --folds 5
    """

    inputs: Inputs
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")]
    folds: Annotated[
        int | None,
        typer.Option(help="Folds 1..k, each with train, vali and test, rotated as in LETOR."),
    ] = None
    fractions: Annotated[
        str | None,
        typer.Option(
            help="The shares of queries for train, vali and test, or for train and test: 0.6,0.2,0.2"
        ),
    ] = None
    parts: Annotated[
        bool, typer.Option("--parts", help="The inputs are the parts S1..Sk to rotate.")
    ] = False
    ending: Annotated[
        str | None,
        typer.Option(
            help="The ending of the files, which decides the format; by default that of a CSV, TSV or "
            "Parquet input, else .txt."
        ),
    ] = None
    missing: MissingOption = "nan"
    seed: SeedOption = 0
    force: Force = False
    json: Json = False
