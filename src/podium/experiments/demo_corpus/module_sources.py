"""Module sources, read by ``ast``: nothing is imported, nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from podium.experiments.demo_corpus.definitions import (
    Definition,
    FunctionNode,
    clean_docstring,
    read_definition,
)

_BLOCKS = ("body", "orelse", "handlers", "finalbody")
_OS_MODULES = ("posix", "nt")  # the parts of os


@dataclass
class ModuleSource:
    """The names that the top statements of a module bind, and those that it exports.

    ``exports`` is None without ``__all__``. ``computed`` says that a call computes a part of
    ``__all__``, which is then unknown unless the module runs.
    """

    name: str
    package: str
    body: str = ""
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # name -> (module, name there)
    stars: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)  # name -> dotted expression or "Class()"
    borrowed: dict[str, str] = field(
        default_factory=dict
    )  # name -> the object whose docstring it takes
    exports: list[str] | None = None
    exports_of: list[str] = field(
        default_factory=list
    )  # modules whose __all__ is part of the __all__ here
    computed: bool = False
    lists: dict[str, list[str]] = field(default_factory=dict)  # constant lists of strings

    def owns(self, module: str) -> bool:
        """Whether a module is a hidden part of this one: ``_csv``, ``asyncio.events``, ``posix``."""
        return is_private(module) or module.startswith(f"{self.name}.") or module in _OS_MODULES


def is_private(module: str) -> bool:
    """Whether the last part of a module's name begins with an underscore."""
    return module.rpartition(".")[2].startswith("_")


def read_source(text: bytes, name: str, *, is_package: bool) -> ModuleSource:
    """Read the source of a module.

    Examples
    --------
    >>> text = b"from _csv import reader\\n__all__ = ['reader', 'Sniffer']\\nclass Sniffer: 'Guesses.'"
    >>> source = read_source(text, "csv", is_package=False)
    >>> source.exports, source.imports["reader"], source.definitions["Sniffer"].body
    (['reader', 'Sniffer'], ('_csv', 'reader'), 'Guesses.')
    """
    tree = ast.parse(text)
    source = ModuleSource(name, name if is_package else name.rpartition(".")[0])
    source.body = ast.get_docstring(tree) or ""
    for statement in _statements(tree.body):
        _read_statement(source, statement)
    return source


def _statements(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield statements of the top level, including those in if, try and with."""
    for statement in block:
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            for part in _BLOCKS:
                yield from _statements(getattr(statement, part, []))
        else:
            yield statement


def _read_statement(source: ModuleSource, statement: ast.AST) -> None:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            _define(source, statement)
        case ast.ImportFrom():
            _read_import(source, statement)
        case ast.Import(names=names):
            for alias in names:
                bound = alias.asname or alias.name.partition(".")[0]
                source.imports[bound] = (alias.name if alias.asname else bound, "")
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            _read_assignment(source, name, value)
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id=name), attr="__doc__")],
            value=ast.Attribute(value=owner, attr="__doc__"),
        ):
            source.borrowed[name] = ast.unparse(owner)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            _read_assignment(source, name, value)
        case ast.AugAssign(target=ast.Name(id="__all__"), op=ast.Add(), value=value):
            _export(source, value)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="__all__"), attr=method), args=[value]
            )
        ):
            _export(source, ast.List(elts=[value]) if method == "append" else value)


def _define(source: ModuleSource, node: FunctionNode | ast.ClassDef) -> None:
    """Keep the first of several definitions that has a docstring, else the first one."""
    earlier = source.definitions.get(node.name)
    if earlier is None or not earlier.body:
        new = read_definition(node, source.name)
        if earlier is None or new.body:
            source.definitions[node.name] = new


def _read_import(source: ModuleSource, node: ast.ImportFrom) -> None:
    module = absolute_name(node.module or "", node.level, source.package)
    for alias in node.names:
        if alias.name == "*":
            source.stars.append(module)
        elif alias.name == "__all__":
            _export_all_of(source, module)
        else:
            source.imports.setdefault(alias.asname or alias.name, (module, alias.name))


def absolute_name(module: str, level: int, package: str) -> str:
    """Return the full name of a module that is imported from within a package.

    Examples
    --------
    >>> absolute_name("events", 1, "asyncio"), absolute_name("", 2, "email.mime")
    ('asyncio.events', 'email')
    """
    if not level:
        return module
    parts = package.split(".")
    start = ".".join(parts[: len(parts) - level + 1])
    return f"{start}.{module}" if module else start


def _read_assignment(source: ModuleSource, name: str, value: ast.expr) -> None:
    if name == "__all__":
        source.exports, source.exports_of, source.computed = [], [], False
        _export(source, value)
    elif name == "__doc__" and isinstance(value, ast.Constant):
        source.body = source.body or clean_docstring(value.value)
    elif isinstance(value, ast.List | ast.Tuple):
        strings = [e.value for e in value.elts if isinstance(e, ast.Constant)]
        if len(strings) == len(value.elts):
            source.lists[name] = [s for s in strings if isinstance(s, str)]
    elif isinstance(value, ast.BinOp) and (names := _constant_strings(source, value)) is not None:
        source.lists[name] = names
    elif isinstance(value, ast.Name | ast.Attribute):
        source.aliases.setdefault(name, ast.unparse(value))
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute):
        source.aliases.setdefault(name, ast.unparse(value.func) + "()")


def _constant_strings(source: ModuleSource, value: ast.expr) -> list[str] | None:
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            a, b = _constant_strings(source, left), _constant_strings(source, right)
            return None if a is None or b is None else a + b
        case ast.Name(id=name):
            return source.lists.get(name)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            strings = [p.value for p in parts if isinstance(p, ast.Constant)]
            return [str(s) for s in strings] if len(strings) == len(parts) else None
    return None


def _export(source: ModuleSource, value: ast.expr) -> None:
    """Add the value of an expression to the names a module exports."""
    if source.exports is None:
        source.exports = []
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    source.exports.append(part.value)
                elif isinstance(part, ast.Starred):
                    _export(source, part.value)
                else:
                    source.computed = True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            _export(source, left)
            _export(source, right)
        case ast.Name(id=name) if name in source.lists:
            source.exports += source.lists[name]
        case ast.Attribute(value=ast.Name(id=name), attr="__all__"):
            module, inner = source.imports.get(name, (f"{source.package}.{name}", ""))
            _export_all_of(source, f"{module}.{inner}" if inner else module)
        case _:
            source.computed = True


def _export_all_of(source: ModuleSource, module: str) -> None:
    if source.exports is None:
        source.exports = []
    source.exports_of.append(module)
