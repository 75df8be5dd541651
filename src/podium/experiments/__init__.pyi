"""The public names of this room, each named once; `__init__.py` loads a name on first use."""

from .contestants import (
    Contestant as Contestant,
    Grid as Grid,
)
from .figures import (
    PALETTE as PALETTE,
    save_figure as save_figure,
    tidy_axes as tidy_axes,
)
from .folds import (
    data_fingerprint as data_fingerprint,
    fold_files as fold_files,
    read_folds as read_folds,
    shorten_fold as shorten_fold,
)
from .checkpoints import (
    RunProgress as RunProgress,
    CheckpointStore as CheckpointStore,
    ProgressCallback as ProgressCallback,
    fingerprint as fingerprint,
    run_or_load as run_or_load,
    cache_key as cache_key,
)
from .comparison_result import DataFacts as DataFacts
from .report import Report as Report
from .reproductions import (
    REPRODUCTIONS as REPRODUCTIONS,
    MissingData as MissingData,
    PreparedReproduction as PreparedReproduction,
    ReproductionResult as ReproductionResult,
)
