"""``podium import``: a model of another program as a .podium file."""

from __future__ import annotations

import typer

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.inputs.feature_names import read_feature_names
from podium.apps.cli.options.import_ import ImportOptions
from podium.apps.cli.outputs.printing import print_json
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.counted_nouns import count_text
from podium.data.atomic_files import check_target
from podium.exchange import import_model


def run_import(options: ImportOptions) -> None:
    """Convert a model of another program to a .podium file."""
    check_target(options.out, options.file)
    check_not_replaced([options.out], options.force)
    names = read_feature_names(options.feature_names)
    with warnings_in_one_line():
        ranker = import_model(
            options.file, options.source, n_features=options.n_features, feature_names=names
        )
    ranker.save(options.out)
    facts = {
        "file": str(options.out),
        "source": ranker.source,
        "model": ranker.model_.kind,
        "features": ranker.n_features_in_,
    }
    if options.json:
        print_json(facts)
    else:
        typer.echo(
            f"{options.out}: {facts['model']} model of {count_text(ranker.n_features_in_, 'feature')}, "
            f"{facts['source']}"
        )
