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
    import numpy as np
    from numpy.typing import NDArray

    from podium.data import RankingData
    from podium.rankers import Ranker

EXAMPLE = """Example: podium predict listnet.podium test.txt -o test.scores

Scores follow the order of DATA's lines. OUT's ending says the format: .npy, .run (TREC, needs
document ids), .parquet, any other: text, one score a line."""

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
    missing: Missing = "error",
    json: Json = False,
) -> None:
    """Score documents with a model."""
    from podium.data.files import check_target
    from podium.data.formats import score_lines
    from podium.registry import load

    chosen = choose_format(out, file_format, k)
    if out is not None:
        check_target(out, model, *inputs)
    ranker = load(model)
    data = read_files(inputs, missing, labelled=False)
    with busy("scoring"), warnings_in_one_line():
        scores = _scores(ranker, data, user_class)
    if out is not None:
        with busy(f"writing {out}"):
            write_predictions(data, scores, out, chosen, k)
        if json:
            print_json(
                {"file": str(out), "format": chosen, "ranker": ranker.name,
                 "queries": data.n_queries, "documents": len(data)}
            )  # fmt: skip
    elif json:
        print_json({"ranker": ranker.name, "scores": data.restore(scores).tolist()})
    else:
        typer.echo(score_lines(data.restore(scores)), nl=False)


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
    scores: NDArray[np.float64],
    path: Path,
    file_format: FileFormat,
    k: int | None,
) -> None:
    """Scores of the data's rows, in the format chosen."""
    from podium.data import Run, write_run, write_scores, write_scores_parquet

    if file_format == "run":
        write_run(Run.from_scores(data, scores, k), path)
    elif file_format == "parquet":
        write_scores_parquet(data, scores, path)
    else:
        write_scores(data.restore(scores), path, "npy" if file_format == "npy" else "scores")
