"""Parallel tasks by joblib, or on a cluster; a task whose process is killed does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from podium.errors import PodiumError
from podium.task_runner import current_runner

KILLED_MESSAGE = "its process was killed, perhaps out of memory"


def run_tasks(
    tasks: Mapping[str, Any],
    n_jobs: int,
    on_start: Callable[[str], object] | None = None,
    on_killed: Callable[[str], Any] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield (name, result) of joblib's delayed tasks as they finish, in any order.

    `on_start` gets the name of each task that starts. If a process is killed (by a user, or for
    lack of memory), the remaining tasks run one at a time, each in its own process. If that process
    is killed too, `on_killed` gives the result of the task, or an error is raised. On a cluster, a task
    whose worker is killed runs on another one first.

    Examples
    --------
    >>> from joblib import delayed
    >>> sorted(run_tasks({"two": delayed(abs)(-2), "three": delayed(abs)(-3)}, n_jobs=1))
    [('three', 3), ('two', 2)]
    """
    remaining = dict(tasks)

    def start_tasks() -> Iterator[Any]:
        for name, task in tasks.items():
            if on_start is not None:
                on_start(name)
            yield delayed(_run_named)(name, task)

    if (runner := current_runner()) is not None:
        yield from runner.run(
            start_tasks(), in_order=False, on_killed=_by_number(list(tasks), on_killed)
        )
        return
    try:
        # One task per process: a task starts only when a process is free.
        answers: Iterable[tuple[str, Any]] = _make_parallel(n_jobs)(start_tasks())
        for name, result in answers:
            del remaining[name]
            yield name, result
    except TerminatedWorkerError:
        for name, task in remaining.items():
            if on_start is not None:
                on_start(name)
            yield name, _run_alone(name, task, on_killed)


def _by_number(
    names: Sequence[str], on_killed: Callable[[str], Any] | None
) -> Callable[[int], tuple[str, Any]] | None:
    """Return a function that gives the name and the result of a task by its number."""
    if on_killed is None:
        return None
    return lambda number: (names[number], on_killed(names[number]))


def _run_alone(name: str, task: Any, on_killed: Callable[[str], Any] | None) -> Any:
    """Return the result of a task, run in its own process."""
    with ProcessPoolExecutor(max_workers=1) as process:
        try:
            return process.submit(_run_named, name, task).result()[1]
        except TerminatedWorkerError:
            if on_killed is None:
                raise PodiumError(
                    f"{name} has no result: {KILLED_MESSAGE}; finished results are kept"
                ) from None
            return on_killed(name)


def _run_named(name: str, task: Any) -> tuple[str, Any]:
    function, args, kwargs = task
    return name, function(*args, **kwargs)


def _make_parallel(n_jobs: int) -> Any:
    settings = {"n_jobs": n_jobs, "batch_size": 1, "pre_dispatch": "n_jobs"}
    try:
        return Parallel(**settings, return_as="generator_unordered")
    except ValueError:  # a backend that returns all results at once
        return Parallel(**settings)
