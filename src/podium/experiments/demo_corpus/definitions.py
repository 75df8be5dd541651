"""Definitions of a library: functions, classes with their members, and the text of their signatures."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

DefinitionKind = Literal["module", "class", "function", "method", "property"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_PROPERTIES = {"property", "cached_property", "abstractproperty", "DynamicClassAttribute"}


@dataclass(frozen=True, eq=False)
class Definition:
    """The definition of a function, class or property; `origin` is its module and its path in the module."""

    origin: tuple[str, str]
    kind: DefinitionKind
    body: str
    arguments: str | ast.arguments = ""  # unparsed at first use, because most are never used
    bound: bool = False  # the first argument is self or cls
    bases: tuple[str, ...] = ()
    members: Mapping[str, Definition] = field(default_factory=lambda: MappingProxyType({}))


def read_definition(
    node: FunctionNode | ast.ClassDef, module: str, owner: str = ""
) -> Definition:  # fmt: skip
    """Return the definition of a node of a module's syntax tree."""
    path = f"{owner}.{node.name}" if owner else node.name
    body = ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef):
        members = {
            part.name: read_definition(part, module, path)
            for part in reversed(node.body)  # the first of several overloads is kept
            if isinstance(part, FunctionNode)
        }
        bases = tuple(ast.unparse(base) for base in node.bases)
        return Definition((module, path), "class", body, bases=bases, members=members)
    marks = {_last_name(mark) for mark in node.decorator_list}
    if owner and marks & _PROPERTIES:
        return Definition((module, path), "property", body)
    kind: DefinitionKind = "method" if owner else "function"
    bound = bool(owner) and "staticmethod" not in marks
    return Definition((module, path), kind, body, node.args, bound)


def argument_text(definition: Definition) -> str:
    """Return the arguments as a caller writes them, without self and annotations.

    Examples
    --------
    >>> import ast
    >>> node = ast.parse("def mean(self, data: list, *, weights=None) -> float: ...").body[0]
    >>> argument_text(read_definition(node, "statistics", "Summary"))
    'data, *, weights=None'
    """
    arguments = definition.arguments
    if isinstance(arguments, str):
        return arguments
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    parts = ast.unparse(arguments).split(", ")
    if definition.bound and not parts[0].startswith("*"):
        parts = parts[2:] if parts[1:2] == ["/"] else parts[1:]
    return ", ".join(parts)


def clean_docstring(text: object) -> str:
    """Return a docstring without its indentation; "" for anything else."""
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def _last_name(mark: ast.expr) -> str:
    if isinstance(mark, ast.Call):
        mark = mark.func
    return mark.attr if isinstance(mark, ast.Attribute) else getattr(mark, "id", "")
