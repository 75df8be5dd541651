"""The installed standard library as documents: its public names, where a program finds them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from podium.errors import DataError
from podium.experiments.stdlib.definitions import Definition, argument_text
from podium.experiments.stdlib.document import LibraryEntry, title_of
from podium.experiments.stdlib.introspection import SAFE_MODULES
from podium.experiments.stdlib.resolution import Library

# Not a library to search: tests, applications, jokes, tables, and what is public by another name.
_LEFT_OUT = frozenset({
    "antigravity", "distutils", "encodings", "ensurepip", "genericpath", "idlelib", "lib2to3",
    "msilib", "nt", "ntpath", "nturl2path", "opcode", "posix", "posixpath", "pydoc_data",
    "sre_compile", "sre_constants", "sre_parse", "test", "this", "tkinter.tix", "turtledemo", "venv",
})  # fmt: skip
# Hundreds of small methods that say little of use to anyone who does not look for them.
_WITHOUT_METHODS = (
    "ctypes", "pdb", "pydoc", "tkinter", "turtle", "unittest.mock", "xml.dom", "xmlrpc.server.ServerHTML"
)  # fmt: skip
# Types that have a second, internal name.
_SECOND_NAMES = frozenset({"socket.SocketType", "unicodedata.UCD", "weakref.ReferenceType"})
_NOT_SUBMODULES = frozenset(
    {"test", "tests", "__main__", "macholib", "windows_events", "windows_utils"}
)


def documents(folder: str | os.PathLike[str] | None = None) -> list[LibraryEntry]:
    """Every public module, class, function and method of the installed standard library.

    The library's sources are parsed, not imported; modules written in C are inspected where importing
    them is safe (``introspection.SAFE_MODULES``). What is exported at several places has one document,
    under its shortest name: ``os.path.join``, not ``posixpath.join``. Sorted by id.

    Parameters
    ----------
    folder:
        The library's sources; those of the running Python unless given.

    Examples
    --------
    >>> corpus = {document.id: document for document in documents()}
    >>> corpus["os.path.join"].signature, corpus["str.split"].kind
    ('join(a, *p)', 'method')
    >>> corpus["textwrap.fill"].body.splitlines()[0]
    'Fill a single paragraph of text, returning a new string.'
    """
    root = Path(os.__file__).parent if folder is None else Path(folder)
    if not (root / "os.py").is_file():
        raise DataError(
            "expected the sources of the standard library (os.py and the others), found none: this "
            "Python was installed without them",
            path=str(root),
        )
    library = Library(root)
    modules = sorted({*_public_modules(root), "collections.abc", "os.path"})
    homes = _homes(library, modules)
    entries = {name: _document(library, name, d) for name, d in homes.items()}
    public = {definition.origin for definition in homes.values()}
    for owner, definition in homes.items():
        for method in _methods(library, owner, definition, public):
            entries.setdefault(method.id, method)
    for module in modules:
        body = library.body(module)
        if body or library.exports(module):  # not a package that only holds others, such as urllib
            document = LibraryEntry(module, title_of(module), "", body, "module")
            entries.setdefault(
                module, document
            )  # unittest.main is both: the class is what is called
    return [entries[name] for name in sorted(entries)]


def _public_modules(root: Path) -> Iterator[str]:
    for name in sorted(sys.stdlib_module_names - _LEFT_OUT):
        if not name.startswith("_"):
            yield from _modules_below(root, name)


def _modules_below(root: Path, name: str) -> Iterator[str]:
    path = root.joinpath(*name.split("."))
    if (path / "__init__.py").is_file():
        yield name
        for child in sorted(path.iterdir()):
            inner = f"{name}.{child.stem}"
            if not child.name.startswith("_") and child.stem not in _NOT_SUBMODULES:
                yield from () if inner in _LEFT_OUT else _modules_below(root, inner)
    elif path.with_name(f"{path.name}.py").is_file() or name in SAFE_MODULES:
        yield name


def _homes(library: Library, modules: list[str]) -> dict[str, Definition]:
    """Public name -> definition, under the shortest of its names.

    A function may have several names of that length, for different uses (random.choice and
    secrets.choice); a class has one, the one of the module that defines it if it can be.
    """
    homes: dict[str, Definition] = {}
    for module in modules:
        for export in library.exports(module):
            name = export if module == "builtins" else f"{module}.{export}"
            definition = None if name in _SECOND_NAMES else library.find(module, export)
            if definition is not None:
                homes[name] = definition
    names: dict[tuple[str, str], list[str]] = {}
    for name in sorted(homes, key=lambda name: (name.count("."), name)):
        names.setdefault(homes[name].origin, []).append(name)
    return {name: homes[name] for same in names.values() for name in _shortest(same, homes)}


def _shortest(names: list[str], definitions: dict[str, Definition]) -> list[str]:
    shortest = [name for name in names if name.count(".") == names[0].count(".")]
    definition = definitions[names[0]]
    if definition.kind != "class":
        return shortest
    own = ".".join(definition.origin).removeprefix("builtins.")
    return [own] if own in shortest else shortest[:1]


def _document(library: Library, name: str, definition: Definition) -> LibraryEntry:
    kind, body, maker = definition.kind, definition.body, definition
    if kind == "class":
        makers = (library.member(definition, special) for special in ("__init__", "__new__"))
        maker = next(filter(None, makers), definition)
        body = body or maker.body
    elif kind == "method":  # of an instance that the module holds, such as random.choice
        kind = "function"
    return LibraryEntry(name, title_of(name), _signature(name, maker), body, kind)


def _methods(
    library: Library, owner: str, definition: Definition, public: set[tuple[str, str]]
) -> Iterator[LibraryEntry]:
    """Public methods that say something: those of a class and of its bases without a public name."""
    if definition.kind != "class" or owner.startswith(_WITHOUT_METHODS):
        return
    for name, member in definition.members.items():
        if member.body and not name.startswith("_") and member.origin not in public:
            path = f"{owner}.{name}"
            yield LibraryEntry(
                path, title_of(path), _signature(path, member), member.body, member.kind
            )
    for base in library.bases(definition):
        if base.origin not in public:
            yield from _methods(library, owner, base, public)


def _signature(name: str, definition: Definition) -> str:
    if definition.kind == "property":
        return ""
    return f"{name.rpartition('.')[2]}({argument_text(definition)})"
