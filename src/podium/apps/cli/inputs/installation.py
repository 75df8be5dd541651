"""The installation: what is installed, and what would not work here and how to mend it."""

from __future__ import annotations

import importlib.metadata
import operator
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import podium
from podium import kernels
from podium.aggregation import AGGREGATORS
from podium.data.free_memory import free_memory
from podium.errors import PluginWarning, PodiumError
from podium.exchange import EXPORTERS
from podium.labelling import STRATEGIES
from podium.losses import LOSSES
from podium.metrics import METRICS
from podium.plugins import Registry
from podium.postranking import RULES
from podium.rankers.tree_model import lightgbm
from podium.registry import RANKERS

DISTRIBUTION = "podium-ltr"
USER_EXTRAS = ("arrow", "report", "web", "export", "dask", "catboost")
"""The extras that add something for users; the others are for developers, or made of these."""
MIN_FREE_MEMORY, MIN_FREE_DISK = 512 << 20, 512 << 20

FindingState = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class InstallationFinding:
    """A finding about the installation: `advice` says what to do unless all is well.

    A problem keeps something from working; a note says what is left out.
    """

    subject: str
    state: FindingState
    text: str
    advice: str = ""


def installed_packages() -> dict[str, str | None]:
    """Return the version of each package that podium or an extra of users needs; None: not installed."""
    names = sorted({name for names in _requirements().values() for name in names}, key=str.lower)
    return {name: _version(name) for name in names}


def inspect_installation() -> list[InstallationFinding]:
    """Return all findings, in the order in which people would mend them."""
    checks: tuple[Callable[[], Iterator[InstallationFinding]], ...] = (
        _check_versions, _check_kernels, _check_threads, _check_packages, _check_extras,
        _check_lightgbm, _check_plugins, _check_folders, _check_memory, _check_clock, _check_encoding,
    )  # fmt: skip
    return [finding for check in checks for finding in check()]


def _check_versions() -> Iterator[InstallationFinding]:
    system = f"{platform.system()} {platform.machine()}"
    text = f"podium {podium.__version__}, Python {platform.python_version()}, {system}"
    yield InstallationFinding("version", "ok", f"{text}; {sys.prefix}")


def _check_kernels() -> Iterator[InstallationFinding]:
    if kernels.BACKEND == "native":
        yield InstallationFinding("kernels", "ok", "native")
    elif os.environ.get("PODIUM_BACKEND") == "reference":
        yield InstallationFinding(
            "kernels", "note", "reference (NumPy, slow), as PODIUM_BACKEND says",
            "unset PODIUM_BACKEND for the native kernels",
        )  # fmt: skip
    else:
        yield InstallationFinding(
            "kernels", "problem", "reference (NumPy): everything works, many times slower",
            "install g++ and install podium again; pip install -v shows why they were not built",
        )  # fmt: skip


def _check_threads() -> Iterator[InstallationFinding]:
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS")
    if limit is None or limit == str(n_cores):
        yield InstallationFinding("threads", "ok", f"{n_cores} cores")
    else:
        yield InstallationFinding(
            "threads", "note", f"OMP_NUM_THREADS={limit} on {n_cores} cores",
            "unset OMP_NUM_THREADS to use all cores",
        )  # fmt: skip


def _requirements() -> dict[str, list[str]]:
    """Return the packages that each extra of users needs; those of podium itself have the extra ''."""
    packages: dict[str, list[str]] = {extra: [] for extra in ("", *USER_EXTRAS)}
    for line in importlib.metadata.requires(DISTRIBUTION) or ():
        match = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        key = "" if extra is None else extra[1]
        if match is not None and key in packages and _is_for_this_system(line):
            packages[key].append(match[0])
    return packages


def _is_for_this_system(requirement: str) -> bool:
    """Whether the markers of a requirement, such as ``python_version < "3.13"``, are true here.

    Only markers joined by "and" are read; others count as true.
    """
    _, _, markers = requirement.partition(";")
    if re.search(r"\bor\b|\(", markers):
        return True
    return all(_is_true(marker.strip()) for marker in re.split(r"\band\b", markers))


def _is_true(marker: str) -> bool:
    values = {
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "python_full_version": platform.python_version(),
        "sys_platform": sys.platform,
        "platform_system": platform.system(),
        "platform_machine": platform.machine(),
        "os_name": os.name,
        "implementation_name": sys.implementation.name,
    }
    match = re.fullmatch(r"(\w+)\s*(<=|>=|==|!=|<|>)\s*['\"]([^'\"]*)['\"]", marker)
    if match is None or match[1] not in values:
        return True
    name, sign, expected = match.groups()
    own: Any = values[name]
    if "version" in name:
        own, expected = _numbers(own), _numbers(expected)
    compare = {
        "<": operator.lt, "<=": operator.le, "==": operator.eq,
        "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
    }[sign]  # fmt: skip
    return bool(compare(own, expected))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _check_packages() -> Iterator[InstallationFinding]:
    missing = [name for name in _requirements()[""] if _version(name) is None]
    if missing:
        yield InstallationFinding(
            "packages", "problem", f"missing: {', '.join(missing)}", f"pip install {DISTRIBUTION}"
        )
    else:
        yield InstallationFinding("packages", "ok", "all that podium needs")


def _check_extras() -> Iterator[InstallationFinding]:
    for extra in USER_EXTRAS:
        missing = [name for name in _requirements()[extra] if _version(name) is None]
        if missing:
            advice = f"if you need it: pip install '{DISTRIBUTION}[{extra}]'"
            yield InstallationFinding(
                f"extra {extra}", "note", f"missing: {', '.join(missing)}", advice
            )
        else:
            yield InstallationFinding(f"extra {extra}", "ok", "installed")


def _check_lightgbm() -> Iterator[InstallationFinding]:
    try:
        yield InstallationFinding("trees", "ok", f"LightGBM {lightgbm().__version__}")
    except PodiumError as error:
        yield InstallationFinding(
            "trees", "problem", str(error), "lambdamart cannot be trained without it"
        )


def _check_plugins() -> Iterator[InstallationFinding]:
    """Load the plug-ins of every registry; a broken one gives a warning and is left out."""
    registries: tuple[Registry[Any], ...] = (
        RANKERS, LOSSES, METRICS, AGGREGATORS, STRATEGIES, RULES, EXPORTERS,
    )  # fmt: skip
    for registry in registries:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PluginWarning)
            names = sorted(registry.plugins)
        for warning in caught:
            advice = "update the package that has it, or uninstall it"
            yield InstallationFinding("plug-ins", "problem", str(warning.message), advice)
        if names:
            yield InstallationFinding("plug-ins", "ok", f"{registry.group}: {', '.join(names)}")


def _check_folders() -> Iterator[InstallationFinding]:
    # A name is looked up when it is used: this folder may be removed, and no folder may take files.
    folders = (("this folder", os.getcwd), ("temporary files", tempfile.gettempdir))
    for subject, find in folders:
        folder = subject
        try:
            folder = find()
            with tempfile.NamedTemporaryFile(dir=folder) as file:
                file.write(b"podium")
        except OSError as error:
            yield InstallationFinding(
                subject, "problem", f"{folder} cannot be written to ({error.strerror})",
                "set TMPDIR to a folder of yours" if subject == "temporary files" else
                "run podium in a folder of yours",
            )  # fmt: skip
            continue
        free = shutil.disk_usage(folder).free
        state: FindingState = "ok" if free >= MIN_FREE_DISK else "problem"
        text = f"{folder} can be written to; {free / 1e9:,.1f} GB free"
        yield InstallationFinding(
            subject, state, text, "" if state == "ok" else "free some disk space"
        )


def _check_memory() -> Iterator[InstallationFinding]:
    free = free_memory()
    if free is None:
        yield InstallationFinding("memory", "note", "the system does not say how much is free")
        return
    state: FindingState = "ok" if free >= MIN_FREE_MEMORY else "problem"
    advice = "" if state == "ok" else "end other programs, or raise the limit of the container"
    yield InstallationFinding("memory", state, f"{free / 1e9:,.1f} GB free", advice)


def _check_clock() -> Iterator[InstallationFinding]:
    """Compare the clock with the time at which podium was installed, which is in the past."""
    now, installed = time.time(), Path(podium.__file__).stat().st_mtime
    text = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if now >= installed:
        yield InstallationFinding("clock", "ok", text)
    else:
        yield InstallationFinding(
            "clock", "problem", f"{text}, before podium's own files were written",
            "set the clock: rules with days, judgments and events depend on it",
        )  # fmt: skip


def _check_encoding() -> Iterator[InstallationFinding]:
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding == "utf8":
        yield InstallationFinding("terminal", "ok", "UTF-8")
    else:
        yield InstallationFinding(
            "terminal", "note", f"{sys.stdout.encoding}: some characters may show as ?",
            "export PYTHONUTF8=1, and a UTF-8 locale such as LANG=C.UTF-8",
        )  # fmt: skip
