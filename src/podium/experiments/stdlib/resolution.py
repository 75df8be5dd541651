"""From a public name to its definition, through re-exports, star imports and aliases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from podium.experiments.stdlib.definitions import Definition, clean
from podium.experiments.stdlib.introspection import (
    SAFE_MODULES,
    inspect_definitions,
    inspect_module,
)
from podium.experiments.stdlib.sources import ModuleSource, is_private, read_source

# Modules whose names are made while they run: where the definitions of those names stand.
_MADE_FROM = {
    "hashlib": ("_md5", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2"),
    "multiprocessing": ("multiprocessing.context.BaseContext", "multiprocessing.context"),
    "turtle": ("turtle.RawTurtle", "turtle.TNavigator", "turtle.TPen", "turtle.TurtleScreen"),
}
# Modules that are another one under a public name.
_WRITTEN_AS = {"os.path": os.path.__name__, "collections.abc": "_collections_abc"}
# (module, name) that are being looked up: imports may run in circles.
Seen = frozenset[tuple[str, str]]


class Library:
    """The modules of a library by name; each is read once, when it is asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = cache(self._read)
        self.inspected = cache(self._inspect)

    def _read(self, name: str) -> ModuleSource | None:
        """The module's source, or that of its twin in Python; None where it has none."""
        for own_name in (_WRITTEN_AS.get(name, name), f"_py{name[1:]}"):
            path = self.root.joinpath(*own_name.split("."))
            for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
                if file.is_file():
                    is_package = file.name == "__init__.py"
                    return read_source(file.read_bytes(), own_name, is_package=is_package)
            if not name.startswith("_") or name in SAFE_MODULES:
                return None
        return None

    def _inspect(self, name: str) -> dict[str, Definition]:
        """The definitions of a module in C; none where it is not safe to import or not there."""
        module = inspect_module(name)
        return {} if module is None else inspect_definitions(module)

    def body(self, module: str) -> str:
        """The docstring of a module, or of the private module it takes everything from."""
        source = self.source(module)
        if source is None:
            return clean(getattr(inspect_module(module), "__doc__", ""))
        private = (star for star in source.stars if is_private(star))
        return source.body or next(filter(None, map(self.body, private)), "")

    def exports(self, module: str) -> list[str]:
        """The public names: ``__all__``, else what the module defines or takes from parts of its own."""
        source = self.source(module)
        if source is None:
            return [name for name in self.inspected(module) if not name.startswith("_")]
        names = list(source.exports or ())
        for other in source.exports_of:
            names += self.exports(other)
        is_listed = source.exports is not None and not source.computed
        if not is_listed:
            names += self._defined_names(source)
        if not is_listed or source.name == source.package:
            for star in filter(source.owns, source.stars):
                names += self.exports(star)
        return [name for name in dict.fromkeys(names) if not name.startswith("_")]

    def _defined_names(self, source: ModuleSource) -> Iterator[str]:
        yield from source.definitions
        if source.exports is None:
            yield from (name for name, (module, _) in source.imports.items() if source.owns(module))
        for place in _MADE_FROM.get(source.name, ()):
            owner = self._at(source, place)
            members = {} if owner is None else owner.members
            yield from (name for name, member in members.items() if member.kind == "method")
        yield from self.inspected(source.name)
        if source.name == "multiprocessing":
            yield "Process"

    def find(self, module: str, name: str) -> Definition | None:
        """The definition behind a name of a module: the first that says something, else the first."""
        return self._find(module, name, frozenset())

    def _find(self, module: str, name: str, seen: Seen) -> Definition | None:
        source = self.source(module)
        if source is None:
            return self.inspected(module).get(name)
        if (module, name) in seen:
            return None
        first = None
        for candidate in self._candidates(source, name, seen | {(module, name)}):
            if candidate is not None and candidate.body:
                return candidate
            first = first or candidate
        if first is not None and name in source.borrowed:
            lender = self._follow(source, source.borrowed[name], seen)
            return first if lender is None else replace(first, body=lender.body)
        return first

    def _candidates(
        self, source: ModuleSource, name: str, seen: Seen
    ) -> Iterator[Definition | None]:
        yield source.definitions.get(name)
        if name in source.imports:
            yield self._find(*source.imports[name], seen)
        for star in source.stars:
            yield self._find(star, name, seen)
        if name in source.aliases:
            yield self._follow(source, source.aliases[name], seen)
        yield self.inspected(source.name).get(name)
        for place in _MADE_FROM.get(source.name, ()):
            owner = self._at(source, place)
            yield self._find(place, name, seen) if owner is None else owner.members.get(name)
        if source.name == source.package and name in (source.exports or ()):  # a lazy import
            for part in self._parts(source.name):
                yield self._find(part, name, seen)

    def _at(self, source: ModuleSource, place: str) -> Definition | None:
        """The class at a place of _MADE_FROM; None where it is a module."""
        module, _, name = place.rpartition(".")
        home = source if module == source.name else self.source(module)
        return None if home is None else home.definitions.get(name)

    def _parts(self, package: str) -> list[str]:
        folder = self.root.joinpath(*package.split("."))
        return [f"{package}.{f.stem}" for f in sorted(folder.glob("*.py")) if f.stem != "__init__"]

    def _follow(
        self, source: ModuleSource, dotted: str, seen: Seen = frozenset()
    ) -> Definition | None:
        """The definition that an expression such as ``_thread.allocate_lock`` or ``_inst.choice`` means."""
        head, _, rest = dotted.partition(".")
        if not rest:
            return self._find(source.name, head, seen) or self.inspected("builtins").get(head)
        if head in source.imports:
            module, name = source.imports[head]
            return self._find(f"{module}.{name}" if name else module, rest, seen)
        made = source.aliases.get(head, head).removesuffix("()")
        owner = self._find(source.name, made, seen)
        return None if owner is None else self.member(owner, rest, seen)

    def bases(self, definition: Definition, seen: Seen = frozenset()) -> Iterator[Definition]:
        """The bases of a class that can be found."""
        source = self.source(definition.origin[0]) if definition.bases else None
        if source is not None:
            seen |= {definition.origin}
            yield from filter(None, (self._follow(source, b, seen) for b in definition.bases))

    def member(self, owner: Definition, name: str, seen: Seen = frozenset()) -> Definition | None:
        """A method or property of a class, its own or inherited."""
        if name in owner.members:
            return owner.members[name]
        seen |= {owner.origin}
        inherited = (self.member(base, name, seen) for base in self.bases(owner, seen))
        return next(filter(None, inherited), None)
