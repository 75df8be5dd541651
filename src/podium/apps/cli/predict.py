"""``podium predict``: a model and data in, scores out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    busy,
    print_json,
    read_files,
    reports_errors,
    warnings_in_one_line,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from podium.data import RankingData
    from podium.rankers import Ranker

EXAMPLE = """Example: podium predict listnet.podium test.txt -o test.scores

Scores follow the order of DATA's lines. OUT's ending says the format: .npy, .run (TREC, needs
document ids), .parquet, any other: text, one score a line.

Models of ordinal and rpc-mtl also know degrees: --degrees writes the degree of each document,
--probabilities the probability of each degree (one line per document, the worst degree first)."""

Wanted = Literal["scores", "degrees", "probabilities"]
FileFormat = Literal["auto", "scores", "npy", "run", "parquet"]
_ENDINGS: dict[str, FileFormat] = {
    ".npy": "npy",
    ".run": "run",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@reports_errors
def predict(
    model: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A .podium file.")
    ],
    inputs: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            dir_okay=False,
            metavar="DATA...",
            help="LETOR text or Parquet files; labels are not needed in the latter.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where scores go; else to stdout.")
    ] = None,
    file_format: Annotated[
        FileFormat, typer.Option("--format", help="Of OUT; auto: by its ending.")
    ] = "auto",
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Keep the top k of each query (TREC run).")
    ] = None,
    user_class: Annotated[
        str | None,
        typer.Option(
            "--user-class", metavar="CLASS", help="Score for a class of users (models of cfbrs)."
        ),
    ] = None,
    degrees: Annotated[
        bool,
        typer.Option("--degrees", help="The degree of each document (models of ordinal, rpc-mtl)."),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="The probability of each degree (models of ordinal, rpc-mtl)."
        ),
    ] = False,
    missing: Missing = "error",
    json: Json = False,
) -> None:
    """Score documents with a model."""
    from podium.data.files import check_target
    from podium.data.formats import score_lines
    from podium.registry import load

    chosen = choose_format(out, file_format, k)
    what = _wanted(degrees, probabilities, user_class, chosen)
    if out is not None:
        check_target(out, model, *inputs)
    ranker = load(model)
    if what != "scores":
        _check_has_degrees(ranker, what)
    data = read_files(inputs, missing, labelled=False)
    with busy("scoring"), warnings_in_one_line():
        columns = _columns(ranker, data, what, user_class)
    if out is not None:
        with busy(f"writing {out}"):
            write_predictions(data, columns, out, chosen, k)
        if json:
            print_json(
                {"file": str(out), "format": chosen, "ranker": ranker.name,
                 "queries": data.n_queries, "documents": len(data), **_named(columns)}
            )  # fmt: skip
    elif json:
        values = data.restore(_table(columns)).tolist()
        print_json({"ranker": ranker.name, what: values, **_named(columns)})
    else:
        typer.echo(score_lines(data.restore(_table(columns))), nl=False)


def _wanted(
    degrees: bool, probabilities: bool, user_class: str | None, chosen: FileFormat
) -> Wanted:
    from podium.errors import UsageError

    if not (degrees or probabilities):
        return "scores"
    if degrees and probabilities:
        raise UsageError("expected --degrees or --probabilities, got both")
    what: Wanted = "degrees" if degrees else "probabilities"
    if user_class is not None:
        raise UsageError(f"expected --{what} or --user-class, got both")
    if chosen == "run":
        raise UsageError(
            f"expected --{what} with text, .npy or .parquet, got a TREC run, which has scores only"
        )
    return what


def _check_has_degrees(ranker: Ranker, what: Wanted) -> None:
    from podium.errors import UsageError
    from podium.multitask import RPCMTL
    from podium.rankers import Ordinal

    if not isinstance(ranker, Ordinal | RPCMTL):
        raise UsageError(
            f"expected --{what} with a model of ordinal or rpc-mtl, got one of {ranker.name}, which "
            "has scores only"
        )


def _columns(
    ranker: Ranker, data: RankingData, what: Wanted, user_class: str | None
) -> dict[str, NDArray[np.float64]]:
    """Scores, degrees, or one column of probabilities per degree, the worst degree first."""
    import numpy as np

    from podium.multitask import RPCMTL
    from podium.rankers import Ordinal

    if what == "scores":
        return {"score": _scores(ranker, data, user_class)}
    assert isinstance(ranker, Ordinal | RPCMTL)
    if what == "degrees":
        return {"degree": np.asarray(ranker.predict_degree(data), dtype=np.float64)}
    table = ranker.predict_proba(data)
    labels = ranker.degrees_ if isinstance(ranker, Ordinal) else np.arange(table.shape[1])
    names = [f"probability_{_exact(float(label))}" for label in labels.tolist()]
    return dict(zip(names, table.T, strict=True))


def _exact(label: float) -> str:
    """Return all digits of a label, so that different labels have different names."""
    return str(int(label)) if label.is_integer() else repr(label)


def _named(columns: Mapping[str, NDArray[np.float64]]) -> dict[str, list[str]]:
    """The names of columns, where they are not scores."""
    return {} if "score" in columns else {"columns": list(columns)}


def _table(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """One column as a vector, several as a matrix."""
    import numpy as np

    values = list(columns.values())
    return values[0] if list(columns) in (["score"], ["degree"]) else np.stack(values, axis=1)


def _scores(ranker: Ranker, data: RankingData, user_class: str | None) -> NDArray[np.float64]:
    from podium.ensemble import CFBRS
    from podium.errors import UsageError

    if user_class is None:
        return ranker.predict(data)
    if not isinstance(ranker, CFBRS):
        raise UsageError(f"expected --user-class with a model of cfbrs, got one of {ranker.name}")
    return ranker.predict(data, user_class=user_class)


def choose_format(out: Path | None, wanted: FileFormat, k: int | None) -> FileFormat:
    """The format of OUT, by its ending unless it is named."""
    from podium.data.files import COMPRESSIONS, stem
    from podium.errors import UsageError

    if wanted == "auto":
        ending = "" if out is None else Path(stem(out)).suffix.lower()
        wanted = _ENDINGS.get(ending, "scores")
    if out is None and wanted != "scores":
        raise UsageError(f"expected -o OUT to write the format {wanted}, got none")
    if out is not None and wanted in ("npy", "parquet") and out.suffix in COMPRESSIONS:
        raise UsageError(f"expected a name without {out.suffix} for the format {wanted}, got {out}")
    if k is not None and wanted != "run":
        raise UsageError(f"expected -k with a TREC run (--format run), got the format {wanted}")
    return wanted


def write_predictions(
    data: RankingData,
    columns: Mapping[str, NDArray[np.float64]],
    path: Path,
    file_format: FileFormat,
    k: int | None,
) -> None:
    """Write columns of the data's rows in the format chosen; a run has scores only."""
    from podium.data import Run, write_columns_parquet, write_run, write_scores

    if file_format == "run":
        write_run(Run.from_scores(data, columns["score"], k), path)
    elif file_format == "parquet":
        write_columns_parquet(data, columns, path)
    else:
        kind: Literal["npy", "scores"] = "npy" if file_format == "npy" else "scores"
        write_scores(data.restore(_table(columns)), path, kind)
