"""Resolve public names to definitions, through re-exports, star imports and aliases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from podium.experiments.demo_corpus.definitions import Definition, clean_docstring
from podium.experiments.demo_corpus.introspection import (
    SAFE_MODULES,
    inspect_definitions,
    inspect_module,
)
from podium.experiments.demo_corpus.module_sources import ModuleSource, is_private, read_source

# Modules that create names at run time, and the places where these names are defined.
_RUNTIME_NAME_SOURCES = {
    "hashlib": ("_md5", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2"),
    "multiprocessing": ("multiprocessing.context.BaseContext", "multiprocessing.context"),
    "turtle": ("turtle.RawTurtle", "turtle.TNavigator", "turtle.TPen", "turtle.TurtleScreen"),
}
# Modules that are public names of another module.
_IMPLEMENTATIONS = {"os.path": os.path.__name__, "collections.abc": "_collections_abc"}
# The (module, name) pairs that are being looked up, because imports may be circular.
Lookups = frozenset[tuple[str, str]]


class Library:
    """The modules of a library by name; each is read once, when it is first needed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = cache(self._read)
        self.inspected = cache(self._inspect)

    def _read(self, name: str) -> ModuleSource | None:
        """Return the module's source, or that of its Python version; None if there is none."""
        for own_name in (_IMPLEMENTATIONS.get(name, name), f"_py{name[1:]}"):
            path = self.root.joinpath(*own_name.split("."))
            for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
                if file.is_file():
                    is_package = file.name == "__init__.py"
                    return read_source(file.read_bytes(), own_name, is_package=is_package)
            if not name.startswith("_") or name in SAFE_MODULES:
                return None
        return None

    def _inspect(self, name: str) -> dict[str, Definition]:
        """Return the definitions of a module in C; none if it is absent or not safe to import."""
        module = inspect_module(name)
        return {} if module is None else inspect_definitions(module)

    def body(self, module: str) -> str:
        """Return the docstring of a module, or of the private module that it re-exports."""
        source = self.source(module)
        if source is None:
            return clean_docstring(getattr(inspect_module(module), "__doc__", ""))
        private = (star for star in source.stars if is_private(star))
        return source.body or next(filter(None, map(self.body, private)), "")

    def exports(self, module: str) -> list[str]:
        """Return the public names: ``__all__``, else the names that the module or its parts define."""
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
        for place in _RUNTIME_NAME_SOURCES.get(source.name, ()):
            owner = self._at(source, place)
            members = {} if owner is None else owner.members
            yield from (name for name, member in members.items() if member.kind == "method")
        yield from self.inspected(source.name)
        if source.name == "multiprocessing":
            yield "Process"

    def find(self, module: str, name: str) -> Definition | None:
        """Return the definition of a name of a module: the first with a docstring, else the first."""
        return self._find(module, name, frozenset())

    def _find(self, module: str, name: str, lookups: Lookups) -> Definition | None:
        source = self.source(module)
        if source is None:
            return self.inspected(module).get(name)
        if (module, name) in lookups:
            return None
        first = None
        for candidate in self._candidates(source, name, lookups | {(module, name)}):
            if candidate is not None and candidate.body:
                return candidate
            first = first or candidate
        if first is not None and name in source.borrowed:
            lender = self._follow(source, source.borrowed[name], lookups)
            return first if lender is None else replace(first, body=lender.body)
        return first

    def _candidates(
        self, source: ModuleSource, name: str, lookups: Lookups
    ) -> Iterator[Definition | None]:
        yield source.definitions.get(name)
        if name in source.imports:
            yield self._find(*source.imports[name], lookups)
        for star in source.stars:
            yield self._find(star, name, lookups)
        if name in source.aliases:
            yield self._follow(source, source.aliases[name], lookups)
        yield self.inspected(source.name).get(name)
        for place in _RUNTIME_NAME_SOURCES.get(source.name, ()):
            owner = self._at(source, place)
            yield self._find(place, name, lookups) if owner is None else owner.members.get(name)
        if source.name == source.package and name in (source.exports or ()):  # a lazy import
            for part in self._parts(source.name):
                yield self._find(part, name, lookups)

    def _at(self, source: ModuleSource, place: str) -> Definition | None:
        """Return the class that _RUNTIME_NAME_SOURCES names; None if it is a module."""
        module, _, name = place.rpartition(".")
        home = source if module == source.name else self.source(module)
        return None if home is None else home.definitions.get(name)

    def _parts(self, package: str) -> list[str]:
        folder = self.root.joinpath(*package.split("."))
        return [f"{package}.{f.stem}" for f in sorted(folder.glob("*.py")) if f.stem != "__init__"]

    def _follow(
        self, source: ModuleSource, dotted: str, lookups: Lookups = frozenset()
    ) -> Definition | None:
        """Return the definition of an expression such as ``_thread.allocate_lock`` or ``_inst.choice``."""
        head, _, rest = dotted.partition(".")
        if not rest:
            return self._find(source.name, head, lookups) or self.inspected("builtins").get(head)
        if head in source.imports:
            module, name = source.imports[head]
            return self._find(f"{module}.{name}" if name else module, rest, lookups)
        class_name = source.aliases.get(head, head).removesuffix("()")
        owner = self._find(source.name, class_name, lookups)
        return None if owner is None else self.member(owner, rest, lookups)

    def bases(self, definition: Definition, lookups: Lookups = frozenset()) -> Iterator[Definition]:
        """Yield the bases of a class that can be resolved."""
        source = self.source(definition.origin[0]) if definition.bases else None
        if source is not None:
            lookups |= {definition.origin}
            yield from filter(None, (self._follow(source, b, lookups) for b in definition.bases))

    def member(
        self, owner: Definition, name: str, lookups: Lookups = frozenset()
    ) -> Definition | None:
        """Return a method or property of a class, its own or inherited."""
        if name in owner.members:
            return owner.members[name]
        lookups |= {owner.origin}
        inherited = (self.member(base, name, lookups) for base in self.bases(owner, lookups))
        return next(filter(None, inherited), None)
