"""``podium data from-log``: features that a search engine logged as ranking data."""

from __future__ import annotations

import typer

from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.options.data_from_log import DataFromLogOptions
from podium.apps.cli.outputs.printing import print_json, print_notes
from podium.apps.cli.outputs.ranking_data_files import (
    check_ranking_data_targets,
    write_ranking_data,
)
from podium.data import read_qrels
from podium.data.atomic_files import check_target
from podium.exchange import read_feature_logs, read_features


def run_data_from_log(options: DataFromLogOptions) -> None:
    """Write logged features as ranking data."""
    check_ranking_data_targets([options.out], options.force)
    check_target(options.out, *options.inputs)
    declared = None if options.features is None else read_features(options.features)
    qrels = None if options.qrels is None else read_qrels(options.qrels)
    with reading_bar(options.inputs) as progress:
        data, totals = read_feature_logs(
            options.inputs, qrels=qrels, features=None if declared is None else list(declared.features),
            unjudged=options.unjudged, progress=progress,
        )  # fmt: skip
    write_ranking_data(data, options.out)
    notes = totals.notes()
    if qrels is None:
        notes.append("all labels are 0, because --qrels has no judgments")
    if options.json:
        facts = {"file": str(options.out), "queries": data.n_queries, "documents": len(data)}
        print_json(facts | {"features": data.names(), "notes": notes})
        return
    print_notes(notes)
    typer.echo(f"{options.out}: {data}", err=True)
