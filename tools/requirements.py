"""What podium depends on: pyproject.toml's requirements, and the installed distributions they lead to."""

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
"""What is installed without an extra."""


def requirements() -> dict[str, list[Requirement]]:
    """Extra -> its requirements, "core" for those without one; podium's own extras are left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups: Mapping[str, list[str]] = {
        CORE: project["dependencies"],
        **project["optional-dependencies"],
    }
    return {
        extra: [one for one in map(Requirement, texts) if canonicalize_name(one.name) != OWN]
        for extra, texts in groups.items()
    }


def installed(
    wanted: Iterable[Requirement], skips_missing: bool = False
) -> dict[str, Distribution]:
    """Name -> distribution of requirements, and of all they require in turn, that are for this system.

    One that is not installed is a LookupError, or left out if `skips_missing`.
    """
    reached: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    left = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    while left:
        one = left.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
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
