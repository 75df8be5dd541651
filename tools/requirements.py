"""Requirements of podium: those of pyproject.toml, and the installed distributions they need."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
OWN = "podium-ltr"
CORE = "core"
"""Name for the requirements without an extra."""
CONNECTORS = ("torch", "pyterrier", "ir-datasets", "mlflow", "connectors")
"""Extras for other packages, with an environment and pins of their own (`make connectors`)."""


def requirements() -> dict[str, list[Requirement]]:
    """Return by extra its requirements, "core" for those without one; podium's own extras are left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups: Mapping[str, list[str]] = {
        CORE: project["dependencies"],
        **project["optional-dependencies"],
    }
    return {
        extra: [
            requirement
            for requirement in map(Requirement, texts)
            if canonicalize_name(requirement.name) != OWN
        ]
        for extra, texts in groups.items()
    }


def installed(roots: Iterable[Requirement], skips_missing: bool = False) -> dict[str, Distribution]:
    """Return by name the distributions of requirements, direct or indirect, that are for this system.

    A distribution that is not installed raises a LookupError, or is left out if `skips_missing`.
    """
    reached: dict[str, Distribution] = {}
    visited: set[tuple[str, frozenset[str]]] = set()
    left = [
        requirement
        for requirement in roots
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    while left:
        requirement = left.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in visited:
            continue
        visited.add((name, extras))
        try:
            reached[name] = distribution(name)
        except PackageNotFoundError:
            if skips_missing:
                continue
            raise LookupError(f"{name} is not installed; run: make check") from None
        for text in reached[name].requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            ):
                left.append(needed)
    return reached
