"""``--metric NAME``: the names of metrics, checked before any data is read."""

from __future__ import annotations

from podium.errors import UsageError
from podium.metrics import Metric
from podium.metrics.naming import parse


def check_metric(name: str, *, takes_several: bool = False) -> Metric:
    """Return the metric of this name; raise if the name is wrong or lacks a cutoff.

    `takes_several` says that the command takes the option several times.
    """
    try:
        metric = parse(name)
    except UsageError as error:
        if takes_several and "," in name and error.command_line_advice:
            error.advise(python=error.python_advice, command_line="repeat -m for several")
        raise
    metric.check_cutoff()
    return metric
