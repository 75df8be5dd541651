"""The systems that ``podium judge agreement`` ranks by two truths: runs, or rankers that it trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.apps.cli.inputs.input_files import InputFiles
from podium.apps.cli.inputs.metric_option import check_metric
from podium.apps.cli.inputs.postrank_inputs import read_run_file
from podium.apps.cli.inputs.table_columns import without_column_options
from podium.apps.cli.options.judge_agreement import JudgeAgreementOptions
from podium.apps.cli.outputs.progress import spinner
from podium.errors import UnknownNameError, UsageError
from podium.experiments.truth_effect import read_truths, systems_of_rankers, systems_of_runs
from podium.labelling.machine_agreement.system_ranking import SystemAgreement
from podium.registry import RANKERS

if TYPE_CHECKING:
    from podium.labelling.store import Store


def check_systems(options: JudgeAgreementOptions) -> None:
    """Raise if the options name no or only one system, or two kinds of systems."""
    check_metric(options.metric)
    if options.run is not None and (options.features or options.rankers):
        raise UsageError("expected --run, or --features with --rankers, got both")
    if (options.features is None) != (options.rankers is None):
        raise UsageError("expected --features with --rankers, got one of them")
    if options.run is not None:
        stems = [path.stem for path in options.run]
        if len(set(stems)) < max(2, len(stems)):
            raise UsageError(
                f"expected two or more runs with different names, got {', '.join(stems)}"
            )
    names = _ranker_names(options)
    for name in names:
        if name not in RANKERS:
            raise UnknownNameError("ranker", name, RANKERS)
    if options.rankers is not None and len(set(names)) < max(2, len(names)):
        raise UsageError(f"expected --rankers a,b,... each once, got {options.rankers!r}")


def measure_systems(options: JudgeAgreementOptions, store: Store) -> SystemAgreement | None:
    """Return how both truths rank the systems; None without systems."""
    if options.run is None and options.features is None:
        return None
    truths = read_truths(store, options.machine)
    settings = {"resamples": options.resamples, "seed": options.seed}
    if options.run is not None:
        runs = {path.stem: read_run_file(path) for path in options.run}
        return systems_of_runs(truths, runs, options.metric, **settings)
    assert options.features is not None
    with without_column_options():
        data = InputFiles("nan", is_quiet=options.json).read(options.features, labelled=False)
    with spinner("training with both truths"):
        return systems_of_rankers(
            truths, data, _ranker_names(options), options.metric, folds=options.folds, **settings
        )


def _ranker_names(options: JudgeAgreementOptions) -> list[str]:
    return [name.strip() for name in (options.rankers or "").split(",") if name.strip()]
