"""The public names of this room, each named once; `__init__.py` loads a name on first use."""

from .entrants import (
    Entrant as Entrant,
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
    shortened as shortened,
)
from .pieces import (
    Progress as Progress,
    Shelf as Shelf,
    Told as Told,
    fingerprint as fingerprint,
    finished as finished,
    made_of as made_of,
)
from .report import (
    DataFacts as DataFacts,
    Report as Report,
)
from .reproductions import (
    REPRODUCTIONS as REPRODUCTIONS,
    MissingData as MissingData,
    PreparedReproduction as PreparedReproduction,
    ReproductionResult as ReproductionResult,
)
