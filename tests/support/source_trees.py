"""The syntax trees of the source files, which many house tests read: each is parsed and walked once."""

import ast
from functools import cache
from pathlib import Path


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file; nobody changes it."""
    return ast.parse(path.read_text())


@cache
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a syntax tree."""
    return tuple(ast.walk(tree))
