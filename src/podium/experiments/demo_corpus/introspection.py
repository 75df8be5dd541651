"""Introspection of modules without a source (written in C), if they are safe to import."""

from __future__ import annotations

import builtins
import importlib
import re
import sys
from functools import cache
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
)

from podium.experiments.demo_corpus.definitions import Definition, DefinitionKind, clean_docstring

# Importing one of these opens nothing, prints nothing and changes no state of the process. Left
# out: readline (takes the terminal), _tkinter, _curses, _ssl (imports socket), _ctypes. re and
# types have sources; they are here for types that expressions create: re.Pattern,
# types.SimpleNamespace.
SAFE_MODULES = frozenset({
    "_bisect", "_blake2", "_bz2", "_codecs", "_collections", "_contextvars", "_csv", "_functools",
    "_hashlib", "_heapq", "_imp", "_io", "_locale", "_lzma", "_md5", "_operator", "_pickle", "_queue",
    "_random", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512", "_signal", "_socket", "_sqlite3",
    "_stat", "_string", "_struct", "_symtable", "_thread", "_tracemalloc", "_typing", "_warnings",
    "_weakref", "array", "atexit", "binascii", "builtins", "cmath", "errno", "faulthandler", "fcntl",
    "gc", "grp", "itertools", "marshal", "math", "mmap", "nt", "posix", "pwd", "re", "resource",
    "select", "sys", "syslog", "termios", "time", "types", "unicodedata", "zlib",
})  # fmt: skip

_METHODS = (MethodDescriptorType, ClassMethodDescriptorType, BuiltinFunctionType, staticmethod)
_PROPERTIES = (GetSetDescriptorType, MemberDescriptorType)


@cache
def inspect_module(name: str) -> ModuleType | None:
    """Return the module, if it is safe to import and this Python has it."""
    if name not in SAFE_MODULES:
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def inspect_definitions(module: ModuleType) -> dict[str, Definition]:
    """Return the functions and classes of a module by name, including private ones.

    Only names that the interpreter defines count. Other code may add more: ``site`` adds ``exit``
    to the builtins, and a debugger replaces ``sys.excepthook``.

    Examples
    --------
    >>> import itertools
    >>> inspect_definitions(itertools)["chain"].members["from_iterable"].arguments
    'iterable, /'
    """
    definitions = {}
    for name in dir(module):
        if name.startswith("__"):
            continue
        thing = getattr(module, name)
        if module is sys:  # sys.__excepthook__ is the original hook
            thing = getattr(module, f"__{name}__", thing)
        if module is builtins and getattr(thing, "__name__", "") != name:
            continue
        if isinstance(thing, BuiltinFunctionType):
            home = (thing.__module__ or module.__name__, name)
            definitions[name] = _inspect_function(thing, home, "function")
        elif isinstance(thing, type) and thing.__module__ in sys.stdlib_module_names:
            definitions[name] = _inspect_class(thing)
    return definitions


def _inspect_class(cls: type) -> Definition:
    home, members = cls.__module__, {}
    for name, part in vars(cls).items():
        origin = (home, f"{cls.__qualname__}.{name}")
        if name.startswith("_"):
            continue
        if isinstance(part, _METHODS):
            members[name] = _inspect_function(part, origin, "method")
        elif isinstance(part, _PROPERTIES):
            members[name] = Definition(origin, "property", clean_docstring(part.__doc__))
    arguments, body = _signature(cls, cls.__qualname__)
    return Definition((home, cls.__qualname__), "class", body, arguments, members=members)


def _inspect_function(thing: object, origin: tuple[str, str], kind: DefinitionKind) -> Definition:
    arguments, body = _signature(thing, origin[1].rpartition(".")[2])
    return Definition(origin, kind, body, arguments)


def _signature(thing: object, name: str) -> tuple[str, str]:
    """Return arguments and docstring; some arguments are only in the first lines of the docstring."""
    body = clean_docstring(thing.__doc__)
    text = getattr(thing, "__text_signature__", None)
    if text:
        parts = text[1:-1].split(", ")
        if parts[0].startswith("$"):  # the module, self or the type
            parts = parts[2:] if parts[1:2] == ["/"] else parts[1:]
        return " ".join(", ".join(parts).split()), body
    first = body.partition("\n\n")[0]
    line = re.search(rf"\b{name}\(([^()]*)\)", first)
    return " ".join(line[1].split()) if line else "", body
