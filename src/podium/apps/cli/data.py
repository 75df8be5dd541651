"""``podium data``: look at ranking data, convert it, split it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    Seed,
    busy,
    print_json,
    print_table,
    read_files,
    reports_errors,
)

if TYPE_CHECKING:
    from podium.data import RankingData

app = typer.Typer(help="Look at ranking data, convert it, split it.", no_args_is_help=True)

Inputs = Annotated[
    list[Path],
    typer.Argument(
        exists=True, dir_okay=False, metavar="IN...", help="LETOR text or Parquet files."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


@app.command("info", epilog="Example: podium data info Fold1/train.txt.gz")
@reports_errors
def info(inputs: Inputs, missing: Missing = "nan", json: Json = False) -> None:
    """Say what is in ranking data: counts, labels, list lengths, odd features."""
    facts = _facts(read_files(inputs, missing))
    if json:
        print_json(facts)
        return
    facts["scaled_by_query"] = facts["scaled_by_query"] or "not said"
    rows = [[name.replace("_", " "), _text(value)] for name, value in facts.items()]
    print_table(" ".join(map(str, inputs)), ["what", "value"], rows, text_columns=2)


@app.command(
    "convert", epilog="Example: podium data convert train.txt.gz train.parquet --scale minmax"
)
@reports_errors
def convert(
    inputs: Inputs,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The ending says the format.")],
    scale: Annotated[
        str | None, typer.Option(help="Scale within queries: minmax or zscore.")
    ] = None,
    scaled: Annotated[
        str | None,
        typer.Option(
            help="Say how they are scaled within queries already: minmax (LETOR's), zscore or none."
        ),
    ] = None,
    topk: Annotated[
        int | None, typer.Option(help="Turn grades into top-k truth, ties drawn at random.")
    ] = None,
    missing: Missing = "error",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert LETOR text or Parquet to LETOR text (.txt, also .txt.gz .xz .bz2 .zst), Parquet or qrels."""
    from dataclasses import replace

    from podium.data import draw_truth, scale_by_query
    from podium.data.scaling import SCALERS
    from podium.errors import UnknownNameError, UsageError

    check_free([out], force)
    if scale is not None and scaled is not None:
        raise UsageError("expected --scale to scale, or --scaled to say that it is done, got both")
    if scaled not in (None, "none", *SCALERS):
        raise UnknownNameError("scaling", scaled or "", [*SCALERS, "none"])
    data = read_files(inputs, missing)
    with busy("working"):
        if scaled is not None:
            data = replace(data, scaled=None if scaled == "none" else scaled)
        data = data if scale is None else scale_by_query(data, scale)
        data = data if topk is None else draw_truth(data, topk, seed)
    write_ranking_data(data, out)
    if json:
        print_json(_written({out: data})[0] | {"regrouped": data.source_rows is not None})
        return
    typer.echo(f"{out}: {data}", err=True)
    if data.source_rows is not None:
        typer.echo("rows of a query lay apart and are together now: score again", err=True)


@app.command("split", epilog="Example: podium data split all.txt folds --folds 5")
@reports_errors
def split(
    inputs: Inputs,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Where the parts go.")],
    folds: Annotated[
        int | None,
        typer.Option(help="Folds 1..k, each with train, vali and test, rotated as in LETOR."),
    ] = None,
    fractions: Annotated[
        str | None, typer.Option(help="Shares of the queries for train, (vali,) test: 0.6,0.2,0.2")
    ] = None,
    parts: Annotated[
        bool, typer.Option("--parts", help="The inputs are the parts S1..Sk to rotate.")
    ] = False,
    ending: Annotated[
        str, typer.Option(help="Ending of the files, which says the format.")
    ] = ".txt",
    missing: Missing = "error",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Split data by query, never within one: into folds, or into train, validation and test."""
    from podium.data import kfold, rotate
    from podium.data import split as split_data
    from podium.data.durability import make_folder
    from podium.errors import UsageError

    if sum([folds is not None, fractions is not None, parts]) != 1:
        raise UsageError("expected one of --folds K, --fractions F,F,F and --parts")
    pieces: dict[str, RankingData]
    if fractions is not None:
        shares = _fractions(fractions)
        found = split_data(read_files(inputs, missing), shares, seed=seed)
        names = ("train", "test") if len(found) == 2 else ("train", "vali", "test")
        pieces = dict(zip(names, found, strict=True))
    else:
        if parts:
            rounds = rotate([read_files([path], missing) for path in inputs])
        else:
            rounds = kfold(read_files(inputs, missing), folds or 0, seed=seed)
        pieces = {
            f"Fold{i}/{name}": piece
            for i, fold in enumerate(rounds, start=1)
            for name, piece in zip(("train", "vali", "test"), fold, strict=True)
        }
    paths = {name: out / f"{name}.{ending.removeprefix('.')}" for name in pieces}
    check_free(list(paths.values()), force)
    if _format(next(iter(paths.values()))) == "qrels":
        next(iter(pieces.values())).require_docids("writing qrels")
    for name, piece in pieces.items():
        make_folder(paths[name].parent)
        write_ranking_data(piece, paths[name])
    if json:
        print_json(_written({paths[name]: piece for name, piece in pieces.items()}))
        return
    rows = [[str(paths[n]), f"{p.n_queries:,}", f"{len(p):,}"] for n, p in pieces.items()]
    print_table(f"{len(rows)} files", ["file", "queries", "documents"], rows)


def _written(files: dict[Path, RankingData]) -> list[dict[str, Any]]:
    return [
        {"file": str(path), "queries": d.n_queries, "documents": len(d), "features": d.n_features}
        for path, d in files.items()
    ]


def _fractions(text: str) -> list[float]:
    from podium.errors import UsageError

    try:
        shares = [float(share) for share in text.split(",")]
    except ValueError:
        raise UsageError(f"expected --fractions such as 0.6,0.2,0.2, got {text!r}") from None
    if len(shares) not in (2, 3):
        raise UsageError(f"expected 2 or 3 fractions, got {len(shares)}")
    return shares


_WRITABLE = {".parquet": "parquet", ".pq": "parquet", ".qrels": "qrels"} | dict.fromkeys(
    (".txt", ".letor", ".svm", ".svmlight", ".dat", ""), "letor"
)


def _format(path: Path) -> str:
    from podium.data.files import stem
    from podium.errors import UsageError

    ending = Path(stem(path)).suffix
    if ending not in _WRITABLE:
        known = " ".join(e for e in _WRITABLE if e)
        raise UsageError(
            f"expected a file name that ends in {known} (text also .gz .xz .bz2 .zst), got {path}"
        )
    return _WRITABLE[ending]


def write_ranking_data(data: RankingData, path: Path) -> None:
    """Write data in the format that the ending says."""
    from podium.data import write_letor, write_qrels

    with busy(f"writing {path}"):
        if _format(path) == "parquet":
            data.to_parquet(path)
        elif _format(path) == "qrels":
            write_qrels(data, path)
        else:
            write_letor(data, path)


def check_free(paths: Sequence[Path], force: bool) -> None:
    """Raise where ranking data cannot be written, or would replace a file that nobody said may go."""
    for path in paths:
        _format(path)
    check_new(paths, force)


def check_new(paths: Sequence[Path], force: bool) -> None:
    """Raise where a file would be replaced that nobody said may go."""
    from podium.errors import UsageError

    for path in paths:
        if path.exists() and not force:
            raise UsageError(f"expected a new file, but {path} is there; --force replaces")


def _facts(data: RankingData) -> dict[str, Any]:
    import numpy as np

    labels, counts = np.unique(data.y, return_counts=True)
    sizes = data.groups.sizes
    varies = np.fmax.reduce(data.X, axis=0) > np.fmin.reduce(data.X, axis=0)
    with_id = 0 if data.docid_column is None else int((data.docid_column.lengths > 0).sum())
    grades = {f"{label:g}": int(n) for label, n in zip(labels, counts, strict=True)}
    return {
        "queries": data.n_queries,
        "documents": len(data),
        "features": data.n_features,
        "labels": grades if len(grades) <= 20 else {f"{labels[0]:g}..{labels[-1]:g}": len(data)},
        "queries_without_relevant": int((data.groups.reduce(np.maximum, data.y) <= 0).sum()),
        "documents_a_query": {
            "least": int(sizes.min()),
            "median": float(np.median(sizes)),
            "mean": round(float(sizes.mean()), 2),
            "most": int(sizes.max()),
        },
        "constant_features": [data.names()[j] for j in np.flatnonzero(~varies)],
        "missing_values": int(np.isnan(data.X).sum()),
        "documents_with_id": with_id,
        "top_k_truth": data.topk,
        "scaled_by_query": data.scaled,
        "megabytes": round(data.X.nbytes / 1e6, 1),
    }


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(v)}" for key, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "no"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)
