"""The licences of what podium depends on, as installed distributions state them.

python -m tools.licences            prints them; fails on GPL, AGPL, and a licence that is not stated
python -m tools.licences --write    also writes docs/licences.md
python -m tools.licences --check    also fails where the page is stale
python -m tools.licences --write --connectors    the page of the extras of `make connectors`

The page has what podium runs on and what its development needs; the benchmarks' peers are judged where they
are installed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution

from tools.requirements import CONNECTORS, CORE, ROOT, installed, requirements

PAGE = ROOT / "docs" / "licences.md"
CONNECTORS_PAGE = ROOT / "docs" / "connectors" / "licences.md"
RUNTIME = (CORE, "arrow", "report", "web", "export", "dask", "catboost")
DEVELOPMENT = "dev"
OTHERS = "bench"

# From the distribution's own LICENSE file, because its metadata says nothing.
STATED = {"pgserver": "Apache-2.0", "tiktoken": "MIT"}

HEAD = """\
# Licences

Podium is under the MIT licence. `python -m tools.licences --write` makes this page from the metadata of
what is installed. `make check` fails on a stale page, on the GPL and AGPL, and on a package that states no
licence.

The LGPL is allowed. One library has it: `psycopg` with `psycopg-binary` (extra `web`), the driver for
PostgreSQL. Podium imports it unchanged. It is a separate package, which pip installs and anyone can replace
by another version, and the LGPL permits such use by programs under any licence. Podium's own files contain
nothing of it, and a store of judgments in SQLite never loads it.
"""
CONNECTORS_HEAD = """\
# Licences of connectors

Each [connector](index.md) is an extra of its own, and none of these packages is installed without it.
`python -m tools.licences --write --connectors` makes this page, and `make connectors` checks it. What
podium itself needs is on [another page](../licences.md).

`connectors` installs what the recipes and the tests need.
"""
_GPL = re.compile(r"\b(A?GPL)|(General Public License)|(Affero)", re.IGNORECASE)
_LESSER = re.compile(
    r"\bLGPL[\w.+-]*|(Library or )?Lesser General Public License(?:(?! (?:AND|OR)\b)[\w .()+])*",
    re.IGNORECASE,
)
# A program that links such code may have any licence.
_EXCEPTIONS = re.compile(r"\S+ WITH (GCC-exception-3\.1|Classpath-exception-2\.0)")


@dataclass(frozen=True)
class Dependency:
    """A distribution, its licence as it states it, and the extras that need it."""

    name: str
    licence: str
    statements: tuple[str, ...]
    extras: tuple[str, ...]

    @property
    def fault(self) -> str | None:
        """Reason why podium must not depend on it; None if it may."""
        if not self.licence:
            return f"{self.name} states no licence; read its LICENSE file and add it to STATED"
        refused = [text for text in self.statements if not is_allowed(text)]
        return f"{self.name} is under {refused[0]}" if refused else None


def is_allowed(statement: str) -> bool:
    """Whether a statement allows a choice without the GPL and AGPL.

    Examples
    --------
    >>> is_allowed("LGPL-3.0-only"), is_allowed("MIT AND (GPL-2.0-only OR BSD-3-Clause)")
    (True, True)
    >>> is_allowed("GPL-3.0-or-later"), is_allowed("GPL-2.0-only AND (MIT OR BSD-3-Clause)")
    (False, False)
    """
    plain = _EXCEPTIONS.sub("linked", _LESSER.sub("lesser", statement))
    while inner := re.search(r"\(([^()]*)\)", plain):  # innermost brackets first
        word = "allowed" if _without_brackets(inner[1]) else "GPL"
        plain = f"{plain[: inner.start()]} {word} {plain[inner.end() :]}"
    return _without_brackets(plain)


def _without_brackets(text: str) -> bool:
    """Judge a statement without brackets; OR binds less than AND."""
    return any(not _GPL.search(choice) for choice in re.split(r"\bOR\b", text))


def dependencies(extras: Iterable[str], skips_missing: bool = False) -> list[Dependency]:
    """Return the dependencies of some extras, by name; `skips_missing` leaves out what is not installed."""
    by_extra = requirements()
    reached = {extra: installed(by_extra[extra], skips_missing) for extra in extras}
    everything = {name: package for group in reached.values() for name, package in group.items()}
    return [
        _dependency(everything[name], tuple(extra for extra in reached if name in reached[extra]))
        for name in sorted(everything)
    ]


def _dependency(package: Distribution, extras: tuple[str, ...]) -> Dependency:
    name, statements = package.metadata["Name"], tuple(_statements(package))
    listed_extras = (CORE,) if CORE in extras else extras
    return Dependency(name, statements[0] if statements else "", statements, listed_extras)


def _statements(package: Distribution) -> Iterator[str]:
    """Yield all statements of the metadata about the licence, the most exact first."""
    about = package.metadata
    yield from about.get_all("License-Expression", ())
    for text in map(str.strip, about.get_all("License", ())):
        is_the_licence_itself = "\n" in text or len(text) > 60
        if text not in ("", "UNKNOWN") and not is_the_licence_itself:
            yield text
    classes = [text for text in about.get_all("Classifier", ()) if text.startswith("License ::")]
    yield from (text.rpartition(" :: ")[2] for text in classes)
    if about["Name"] in STATED:
        yield STATED[about["Name"]]


def page(listed: Iterable[Dependency]) -> str:
    """Return the page docs/licences.md."""
    runtime = [d for d in listed if set(d.extras) & set(RUNTIME)]
    rest = [d for d in listed if not set(d.extras) & set(RUNTIME)]
    lines = [HEAD, "## What podium runs on\n", *_table(runtime, with_extras=True)]
    lines += ["\n## What only its development needs\n", "None of it is installed with podium.\n"]
    lines += [*_table(rest, with_extras=False), ""]
    return "\n".join(lines)


def connectors_page(listed: Iterable[Dependency]) -> str:
    """Return the page of the connectors: what they need beyond podium's core."""
    rest = [dependency for dependency in listed if CORE not in dependency.extras]
    return "\n".join([CONNECTORS_HEAD, *_table(rest, with_extras=True), ""])


def _table(listed: Iterable[Dependency], with_extras: bool) -> Iterator[str]:
    yield "| package | licence |" + (" extra |" if with_extras else "")
    yield "| --- | --- |" + (" --- |" if with_extras else "")
    for dependency in listed:
        extras = ", ".join(extra for extra in dependency.extras if extra in (*RUNTIME, *CONNECTORS))
        yield f"| {dependency.name} | {dependency.licence} |" + (
            f" {extras} |" if with_extras else ""
        )


def _peers() -> list[Dependency]:
    """Return those of the benchmarks' peers that are installed, with what they depend on."""
    return dependencies([OTHERS], skips_missing=True)


def main() -> None:
    """Print and check the licences; write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--connectors", action="store_true")
    options = parser.parse_args()
    if options.connectors:
        listed, others = dependencies([CORE, *CONNECTORS]), []
        file, text = CONNECTORS_PAGE, connectors_page(listed)
    else:
        listed, others = dependencies([*RUNTIME, DEVELOPMENT]), _peers()
        file, text = PAGE, page(listed)
    if not options.check:
        for dependency in [*listed, *others]:
            print(f"{dependency.name:28} {dependency.licence:45} {', '.join(dependency.extras)}")
    if faults := [dependency.fault for dependency in [*listed, *others] if dependency.fault]:
        sys.exit(f"licences: {'; '.join(faults)}")
    if options.write:
        file.write_text(text)
    elif options.check and (not file.exists() or file.read_text() != text):
        sys.exit(f"{file.relative_to(ROOT)} is stale; run: python -m tools.licences --write")


if __name__ == "__main__":
    main()
