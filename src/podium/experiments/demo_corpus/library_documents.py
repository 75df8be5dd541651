"""Documents of the demo: the public names of the installed standard library."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from podium.errors import DataError
from podium.experiments.demo_corpus.definitions import Definition, argument_text
from podium.experiments.demo_corpus.introspection import SAFE_MODULES
from podium.experiments.demo_corpus.library_entry import LibraryEntry, title_of
from podium.experiments.demo_corpus.name_resolution import Library

# Modules that are left out: tests, applications, jokes, tables, and modules with another public
# name.
_EXCLUDED_MODULES = frozenset({
    "antigravity", "distutils", "encodings", "ensurepip", "genericpath", "idlelib", "lib2to3",
    "msilib", "nt", "ntpath", "nturl2path", "opcode", "posix", "posixpath", "pydoc_data",
    "sre_compile", "sre_constants", "sre_parse", "test", "this", "tkinter.tix", "turtledemo", "venv",
})  # fmt: skip
# Classes with hundreds of small methods that few people look for.
_WITHOUT_METHODS = (
    "ctypes", "pdb", "pydoc", "tkinter", "turtle", "unittest.mock", "xml.dom", "xmlrpc.server.ServerHTML"
)  # fmt: skip
# Types that have a second, internal name.
_SECOND_NAMES = frozenset({"socket.SocketType", "unicodedata.UCD", "weakref.ReferenceType"})
_NOT_SUBMODULES = frozenset(
    {"test", "tests", "__main__", "macholib", "windows_events", "windows_utils"}
)


def documents(folder: str | os.PathLike[str] | None = None) -> list[LibraryEntry]:
    """Return every public module, class, function and method of the installed standard library.

    The library's sources are parsed, not imported. Modules written in C are inspected if importing
    them is safe (``introspection.SAFE_MODULES``). An object with several public names has one
    document, under its shortest name: ``os.path.join``, not ``posixpath.join``. Documents are
    sorted by id.

    Parameters
    ----------
    folder:
        The library's sources; None: those of the running Python.

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
            "this Python was installed without the sources of the standard library (os.py and "
            "the others); the demo needs them",
            path=str(root),
        )
    library = Library(root)
    modules = sorted({*_public_modules(root), "collections.abc", "os.path"})
    definitions = _definitions_by_name(library, modules)
    entries = {name: _document(library, name, d) for name, d in definitions.items()}
    public = {definition.origin for definition in definitions.values()}
    for owner, definition in definitions.items():
        for method in _methods(library, owner, definition, public):
            entries.setdefault(method.id, method)
    for module in modules:
        body = library.body(module)
        if body or library.exports(
            module
        ):  # not a package that only contains others, such as urllib
            document = LibraryEntry(module, title_of(module), "", body, "module")
            entries.setdefault(
                module, document
            )  # unittest.main is a module and a class; callers use the class
    return [entries[name] for name in sorted(entries)]


def _public_modules(root: Path) -> Iterator[str]:
    for name in sorted(sys.stdlib_module_names - _EXCLUDED_MODULES):
        if not name.startswith("_"):
            yield from _submodules(root, name)


def _submodules(root: Path, name: str) -> Iterator[str]:
    path = root.joinpath(*name.split("."))
    if (path / "__init__.py").is_file():
        yield name
        for child in sorted(path.iterdir()):
            inner = f"{name}.{child.stem}"
            if not child.name.startswith("_") and child.stem not in _NOT_SUBMODULES:
                yield from () if inner in _EXCLUDED_MODULES else _submodules(root, inner)
    elif path.with_name(f"{path.name}.py").is_file() or name in SAFE_MODULES:
        yield name


def _definitions_by_name(library: Library, modules: list[str]) -> dict[str, Definition]:
    """Return definitions by public name, each under the shortest of its names.

    A function may have several names of that length, for different uses (random.choice and
    secrets.choice). A class has one name, if possible that of the module that defines it.
    """
    definitions: dict[str, Definition] = {}
    for module in modules:
        for export in library.exports(module):
            name = export if module == "builtins" else f"{module}.{export}"
            definition = None if name in _SECOND_NAMES else library.find(module, export)
            if definition is not None:
                definitions[name] = definition
    names: dict[tuple[str, str], list[str]] = {}
    for name in sorted(definitions, key=lambda name: (name.count("."), name)):
        names.setdefault(definitions[name].origin, []).append(name)
    return {
        name: definitions[name] for same in names.values() for name in _shortest(same, definitions)
    }


def _shortest(names: list[str], definitions: dict[str, Definition]) -> list[str]:
    shortest = [name for name in names if name.count(".") == names[0].count(".")]
    definition = definitions[names[0]]
    if definition.kind != "class":
        return shortest
    own = ".".join(definition.origin).removeprefix("builtins.")
    return [own] if own in shortest else shortest[:1]


def _document(library: Library, name: str, definition: Definition) -> LibraryEntry:
    kind, body, constructor = definition.kind, definition.body, definition
    if kind == "class":
        constructors = (library.member(definition, special) for special in ("__init__", "__new__"))
        constructor = next(filter(None, constructors), definition)
        body = body or constructor.body
    elif kind == "method":  # a method of an instance in the module, such as random.choice
        kind = "function"
    return LibraryEntry(name, title_of(name), _signature(name, constructor), body, kind)


def _methods(
    library: Library, owner: str, definition: Definition, public: set[tuple[str, str]]
) -> Iterator[LibraryEntry]:
    """Yield public methods with a docstring, of a class and of its bases that have no public name."""
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
