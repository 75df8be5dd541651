"""Constraints: constraints.txt holds versions that were tested together, for make's targets.

python -m tools.constraints --write    pins what is installed now; install '.[dev,bench]' first
python -m tools.constraints --check    fails where a dependency has no pin, or one outside its range
python -m tools.constraints --write --connectors    writes constraints-connectors.txt of '.[connectors]'

`pip install .` does not read the file: users have the ranges of pyproject.toml.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.requirements import CONNECTORS, CORE, ROOT, installed, requirements

FILE = ROOT / "constraints.txt"
CONNECTORS_FILE = ROOT / "constraints-connectors.txt"
HEAD = """\
# Versions that were tested together (Python 3.11), for make's targets and CI.
# Made by: python -m tools.constraints --write
"""
_PIN = re.compile(r"([a-z0-9-]+)==([0-9][\w.!]*)")


def groups(for_connectors: bool = False) -> dict[str, list[Requirement]]:
    """Return the requirements by extra that a file pins."""
    by_extra = requirements()
    connectors = {extra: by_extra.pop(extra) for extra in CONNECTORS}
    return {CORE: by_extra[CORE], **connectors} if for_connectors else by_extra


def pins(for_connectors: bool = False) -> str:
    """Return the file's text: the installed version of every dependency, direct or indirect."""
    listed = [requirement for group in groups(for_connectors).values() for requirement in group]
    # The local part of a version, as in 2.0+cpu, names a build that other indexes lack.
    lines = (
        f"{name}=={distribution.version.partition('+')[0]}\n"
        for name, distribution in sorted(installed(listed).items())
    )
    return HEAD + "".join(lines)


def faults(text: str, for_connectors: bool = False) -> Iterator[str]:
    """Yield the faults of the file's text."""
    pinned: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        match = _PIN.fullmatch(line)
        if match is None:
            yield f"line {number}: expected name==version, got {line!r}"
        elif match[1] in pinned:
            yield f"line {number}: {match[1]} has a second pin"
        else:
            pinned[match[1]] = match[2]
    for extra, group in groups(for_connectors).items():
        for requirement in group:
            yield from _faults_of(requirement, extra, pinned)


def _faults_of(requirement: Requirement, extra: str, pinned: dict[str, str]) -> Iterator[str]:
    version = pinned.get(canonicalize_name(requirement.name))
    if version is None:
        yield f"{requirement.name} ({extra}) has no pin"
    elif version not in requirement.specifier:
        yield f"{requirement.name} ({extra}) is pinned to {version}, outside {requirement.specifier}"


def main() -> None:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--connectors", action="store_true")
    options = parser.parse_args()
    if options.write:
        file = CONNECTORS_FILE if options.connectors else FILE
        file.write_text(pins(options.connectors))
    for file, for_connectors in ((FILE, False), (CONNECTORS_FILE, True)):
        if wrong := list(faults(file.read_text(), for_connectors)):
            sys.exit(f"{file.name}: {'; '.join(wrong)}; run: python -m tools.constraints --write")


if __name__ == "__main__":
    main()
