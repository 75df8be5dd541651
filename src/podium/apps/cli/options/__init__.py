"""The options of each command, one dataclass per command; the options that many commands share.

``--help`` needs nothing but an options class, so these modules import nothing of the library.
The first paragraph of its docstring is the help of the command; the others stand below the options.
"""

from typing import Annotated, Any, Literal

import typer


def file_option(help_text: str, metavar: str | None = None) -> Any:
    """Return an option that names a file, or several; each must exist."""
    return typer.Option(exists=True, dir_okay=False, metavar=metavar, help=help_text)


def file_argument(metavar: str, help_text: str) -> Any:
    """Return an argument that names a file, or several; each must exist."""
    return typer.Argument(exists=True, dir_okay=False, metavar=metavar, help=help_text)


def data_argument(metavar: str, help_text: str) -> Any:
    """Return an argument that names ranking data: files, or the folder of a collection."""
    return typer.Argument(exists=True, metavar=metavar, help=help_text)


def data_option(help_text: str) -> Any:
    """Return an option that names ranking data: files, or the folder of a collection."""
    return typer.Option(exists=True, help=help_text)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
MissingChoice = Literal["error", "nan"]
MissingOption = Annotated[
    MissingChoice,
    typer.Option(
        help="What NULL in LETOR text, or an empty field of a table means: an error, or a missing "
        "value that is kept."
    ),
]
MissingByRanker = Annotated[
    MissingChoice | None,
    typer.Option(
        help="What NULL in LETOR text, or an empty field of a table means: an error, or a missing "
        "value that is kept. By default it is kept if the ranker takes missing values (lambdamart, "
        "catboost, auto, and all with --impute)."
    ),
]
SeedOption = Annotated[int, typer.Option(help="Same seed, same result.", min=0, max=2**63 - 1)]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="CLUSTER",
        help="Work on a Dask cluster: local:N (N workers on this machine), tcp://HOST:PORT (a scheduler), or "
        "dask (the scheduler of Dask's configuration).",
    ),
]
