"""The connection to a cluster: ``podium.use`` starts local workers or connects to a scheduler."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from podium.cluster.addresses import DASK_CONFIGURATION, parse_address
from podium.cluster.dask_runner import DaskRunner
from podium.cluster.worker_checks import check_workers, software_record
from podium.errors import ClusterError, UsageError, require
from podium.task_runner import runner_in_use

CONNECT_SECONDS = 15
WORKERS_SECONDS = 60
"""How long a cluster may take to have its first worker."""
LOOPBACK = "127.0.0.1"


@contextmanager
def use(cluster: Any) -> Iterator[DaskRunner]:
    """Let podium work on a Dask cluster within a ``with`` statement.

    Parameters
    ----------
    cluster
        ``"local:2"`` starts two worker processes on this machine, which end with the statement;
        ``"tcp://host:port"`` (or ``tls://``) connects to a scheduler; ``"dask"`` connects to the
        scheduler of Dask's configuration. Or a cluster or client of Dask, as from dask-jobqueue.

    A script that starts local workers needs ``if __name__ == "__main__":``, because each worker imports it::

        if __name__ == "__main__":
            with podium.use("local:2"):
                tuning = podium.tune(podium.LambdaMART(), train, valid)
    """
    distributed = require("distributed", "dask", "work on a cluster")
    with ExitStack() as stack:
        stack.enter_context(_quiet_dask())
        client, name = _connect(distributed, cluster, stack)
        _check(client, name)
        runner = DaskRunner(client, name)
        stack.enter_context(runner_in_use(runner))
        yield runner


def describe_cluster(runner: DaskRunner) -> str:
    """Return the number of workers, and the address of the dashboard or why there is none."""
    n = runner.n_workers()
    workers = f"{runner.name}: {n} worker{'s' * (n != 1)}"
    if not runner.client.run_on_scheduler(_has_bokeh):
        return f"{workers}; no dashboard, which needs bokeh where the scheduler runs"
    return f"{workers}; dashboard: {runner.client.dashboard_link}"


def _connect(distributed: ModuleType, cluster: Any, stack: ExitStack) -> tuple[Any, str]:
    """Return a client and the name of the cluster; the stack closes what was opened here."""
    if isinstance(cluster, distributed.Client):
        return cluster, str(cluster.scheduler.address)
    if hasattr(cluster, "scheduler_address"):
        return stack.enter_context(distributed.Client(cluster)), str(cluster.scheduler_address)
    if not isinstance(cluster, str):
        raise UsageError(
            "expected a cluster as 'local:N', 'tcp://host:port' or 'dask', or a cluster or client of Dask, "
            f"got {cluster!r:.100}"
        )
    address = parse_address(cluster)
    if address.n_local is not None:
        return _start_local(distributed, address.n_local, stack), address.text
    scheduler = address.scheduler or _configured_scheduler()
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"expected a scheduler of Dask at {scheduler}, got no answer in {CONNECT_SECONDS} seconds "
            f"({error!r:.150}); start one with: dask scheduler"
        ) from None
    return stack.enter_context(client), scheduler


def _start_local(distributed: ModuleType, n_workers: int, stack: ExitStack) -> Any:
    """Start a scheduler and workers of one thread each, which only this machine can reach."""
    cluster = stack.enter_context(
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0", silence_logs=logging.CRITICAL,
        )
    )  # fmt: skip
    return stack.enter_context(distributed.Client(cluster, set_as_default=False))


def _configured_scheduler() -> str:
    """Return the address in Dask's configuration."""
    import dask

    address = dask.config.get("scheduler-address", None)
    if not address:
        raise UsageError(
            f"expected the address of a scheduler in Dask's configuration for {DASK_CONFIGURATION!r}, got "
            "none; set scheduler-address there, or the variable DASK_SCHEDULER_ADDRESS"
        )
    return str(address)


def _check(client: Any, name: str) -> None:
    """Raise if there is no worker, or if one has other software than this process."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError:
        raise ClusterError(
            f"the cluster {name} has no worker after {WORKERS_SECONDS} seconds; start some with: dask worker "
            "ADDRESS --nthreads 1"
        ) from None
    answers = dict(client.run(software_record, on_error="return"))
    try:
        answers["the scheduler"] = client.run_on_scheduler(software_record)
    except Exception as error:  # whatever an installation without podium raises
        answers["the scheduler"] = error
    check_workers(answers)


def _has_bokeh() -> bool:
    return find_spec("bokeh") is not None


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """Keep Dask's log off the terminal: podium's errors say what went wrong."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
