"""Checks of workers: each must have the software of this process, because results depend on it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Self

from podium import kernels
from podium.errors import ClusterError

LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm")


@dataclass(frozen=True)
class SoftwareVersions:
    """What results of a process depend on.

    Examples
    --------
    >>> SoftwareVersions.of_this_process().differences(SoftwareVersions.of_this_process())
    []
    """

    podium: str
    python: str
    kernels: str
    libraries: Mapping[str, str]

    @classmethod
    def of_this_process(cls) -> Self:
        """Return the versions of this process."""
        libraries = {name: version(name) for name in LIBRARIES}
        python = ".".join(platform.python_version_tuple()[:2])
        return cls(version("podium-ltr"), python, kernels.BACKEND, libraries)

    def differences(self, worker: SoftwareVersions) -> list[str]:
        """Return how a worker differs from this process, in words."""
        texts = []
        for name in ("podium", "python"):
            own, other = getattr(self, name), getattr(worker, name)
            if own != other:
                texts.append(f"{name} {other}, not {own}")
        if self.kernels != worker.kernels:
            texts.append(f"{worker.kernels} kernels, not {self.kernels} ones")
        for name, own in self.libraries.items():
            if (other := worker.libraries.get(name, "?")) != own:
                texts.append(f"{name} {other}, not {own}")
        return texts


def software_record() -> dict[str, object]:
    """Return the versions of this process as plain values; workers are asked for it."""
    return asdict(SoftwareVersions.of_this_process())


def check_workers(answers: Mapping[str, object]) -> None:
    """Raise an error that names every worker whose software differs; answers are by address.

    An answer is a `software_record`, or the error with which the worker failed to make one.
    """
    own = SoftwareVersions.of_this_process()
    problems = []
    for address, answer in sorted(answers.items()):
        if not isinstance(answer, Mapping):
            problems.append(f"{address} cannot import podium ({answer!r:.150})")
        elif texts := own.differences(SoftwareVersions(**answer)):
            problems.append(f"{address} has {', '.join(texts)}")
    if problems:
        listed = "; ".join(problems[:5]) + (f"; {len(problems) - 5} more" * (len(problems) > 5))
        raise ClusterError(
            f"expected workers with the same software as this process, but {listed}; install the same "
            "versions of podium, Python and its libraries there"
        )
