"""The cluster of --cluster: connected before a command begins, and left when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from podium.errors import UsageError


@contextmanager
def cluster_in_use(address: str | None, *, is_quiet: bool = False) -> Iterator[None]:
    """Let a command work on the cluster at an address, if there is one; print its size and dashboard."""
    if address is None:
        yield
        return
    from podium.apps.cli.outputs.printing import print_notes
    from podium.apps.cli.outputs.progress import spinner
    from podium.cluster import describe_cluster, use

    with ExitStack() as stack:
        with spinner(f"connecting to {address}"):
            runner = stack.enter_context(use(address))
        if not is_quiet:
            print_notes([describe_cluster(runner)], kind="cluster")
        yield


def check_is_collection(paths: Sequence[Path]) -> None:
    """Raise if inputs are no collection: a cluster works on the parts of one."""
    if not any(path.is_dir() for path in paths):
        raise UsageError(
            f"expected the folder of a collection with --cluster, got {paths[0]}; podium data partition "
            "IN... -o DIR makes one, or leave out --cluster"
        )
