"""Conditions on a document's fields: a small language, read by Python's grammar and never executed.

Fields and constants compared with == != < <= > >= in, not in; and, or, not; lists of constants.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, NoReturn, TypeGuard

import numpy as np

from podium.errors import DataError, UsageError
from podium.work_budget import check_time, spend

Fields = Mapping[str, Any]
Term = Callable[[Fields], Any]
Truth = Callable[[Fields], bool]
Compare = Callable[[Any, Any], bool]
ValueList = list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any]

MAX_CONDITION_LENGTH, MAX_CONDITION_DEPTH = 2000, 50
"""The maximum number of characters and levels of a condition; more could be an attack."""

CHARACTERS_PER_STEP = 16
"""The number of characters of texts that are compared in one step of `spend`."""

ABSENT = object()
"""The value of a field that a document does not have."""

_QUOTED_OR_SPACE = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`([^`]*)`|\s+""")
_LIST_TYPES = (list, tuple, set, frozenset)
"""Types of several values; a union of types would be made again at each use."""
_PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})
"""Types whose equal values have equal hashes."""
_SINGLE_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")
_FOREIGN_OPERATORS = {"<>": "!=", "&&": "and", "||": "or", "===": "=="}
"""Operators of other languages, and what a condition has instead."""
_WARNINGS_LOCK = Lock()
"""Warning filters belong to the process, and conditions may be read in threads."""


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition: the fields that it uses, and whether a document meets it.

    `compared` are fields on the other side of a comparison; they may be text without its quotes.
    """

    names: tuple[str, ...]
    meets: Truth
    compared: frozenset[str] = frozenset()
    size: int = 1
    """The number of comparisons and connectives."""
    constants: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The constants that each field is compared with."""
    ordered: frozenset[str] = frozenset()
    """Fields that are compared by < <= > >=."""


@lru_cache(maxsize=4096)
def read_condition(text: str) -> Condition:
    """Read a condition; raise a `UsageError` for any other text.

    Examples
    --------
    >>> cheap = read_condition('brand == "acme" and price < 10')
    >>> cheap.names, cheap.meets({"brand": "acme", "price": 8}), cheap.meets({"brand": "acme"})
    (('brand', 'price'), True, False)
    """
    return _ConditionParser(text).condition()


class _ConditionParser:
    """Parses the text of one condition into functions of a document's fields."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, None] = {}
        self.quoted: list[str] = []
        self.compared: set[str] = set()
        self.constants: dict[str, tuple[Any, ...]] = {}
        self.ordered: set[str] = set()
        self.size = 0

    def condition(self) -> Condition:
        check_time()
        if len(self.text) > MAX_CONDITION_LENGTH:
            self.refuse(f"at most {MAX_CONDITION_LENGTH} characters", f"{len(self.text)}")
        self.source = _QUOTED_OR_SPACE.sub(self.word, self.text).strip()
        meets = self.truth(self.parse(), MAX_CONDITION_DEPTH)
        if not self.names:
            self.refuse("a field", "none")
        return Condition(
            tuple(self.names), meets, frozenset(self.compared), self.size, self.constants,
            frozenset(self.ordered),
        )  # fmt: skip

    def word(self, match: re.Match[str]) -> str:
        """Replace a field in backquotes by a Python name, and several spaces by one."""
        if match[1] is None:
            return " " if match[0].isspace() else match[0]
        self.quoted.append(match[1])
        return f" quoted_field_{len(self.quoted) - 1} "

    def parse(self) -> ast.expr:
        try:
            with _WARNINGS_LOCK, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python warns about "\d" and 1and
                tree: ast.Expression = _TruthNames().visit(ast.parse(self.source, mode="eval"))
                return tree.body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else "not read"
            if _SINGLE_EQUALS.search(self.source):
                reason = "write == to compare"
            for foreign, own in _FOREIGN_OPERATORS.items():
                if foreign in _QUOTED_OR_SPACE.sub(" ", self.text):
                    reason = f"write {own} instead of {foreign}"
            raise UsageError(
                'expected a condition such as brand == "acme" and price < 10 (put names that are not '
                f"one word in backquotes), got {self.preview()} ({reason.split('. ')[0]})"
            ) from None

    def truth(self, node: ast.expr, depth: int) -> Truth:
        """Return whether a document meets a node, as a function of its fields."""
        self.size += 1
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self.truth(value, self.next_depth(depth)) for value in values]
                return _all(parts) if isinstance(op, ast.And) else _any(parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand, self.next_depth(depth))
                return lambda fields: not inner(fields)
            case ast.Compare(left=left, ops=ops, comparators=others):
                nodes = [left, *others]
                pairs = zip(ops, nodes, others, strict=False)
                parts = [self.comparison(op, a, b, self.next_depth(depth)) for op, a, b in pairs]
                return parts[0] if len(parts) == 1 else _all(parts)
        term = self.term(node, depth)
        return lambda fields: _is_true(term(fields))

    def comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr, depth: int) -> Truth:
        self.size += 1
        if type(op) not in _COMPARE:
            self.refuse("== != < <= > >= in, not in", "is")
        compare, a, b = _COMPARE[type(op)], self.term(left, depth), self.term(right, depth)
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            self.compared.add(self.name(right.id))
        if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            names = (part.id for part in (left, right) if isinstance(part, ast.Name))
            self.ordered.update(map(self.name, names))
        if isinstance(left, ast.Name) and not isinstance(right, ast.Name):
            self.note_constants(left.id, right)
        elif isinstance(right, ast.Name) and not isinstance(op, ast.In | ast.NotIn):
            self.note_constants(right.id, left)
        if isinstance(left, ast.Name) and isinstance(right, ast.Constant):
            if isinstance(op, ast.Eq):
                return _equals(self.name(left.id), right.value)
            constant = right.value
            return lambda fields: compare(a(fields), constant)
        return lambda fields: compare(a(fields), b(fields))

    def note_constants(self, name: str, node: ast.expr) -> None:
        """Keep the constants of a node as those that a field is compared with."""
        nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        values = tuple(part.value for part in nodes if isinstance(part, ast.Constant))
        own = self.name(name)
        self.constants[own] = (*self.constants.get(own, ()), *values)

    def term(self, node: ast.expr, depth: int) -> Term:
        """Return the value of a node, as a function of a document's fields."""
        match node:
            case ast.Name(id=name):
                field = self.name(name)
                self.names[field] = None
                return lambda fields: _value(fields, field)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self.truth(node, self.next_depth(depth))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                many = tuple(self.constant(part) for part in parts)
                return lambda fields: many
        constant = self.constant(node)
        return lambda fields: constant

    def name(self, name: str) -> str:
        """Return a field's name as it stood in backquotes."""
        number = name.removeprefix("quoted_field_")
        is_quoted = number != name and number.isdecimal() and int(number) < len(self.quoted)
        return self.quoted[int(number)] if is_quoted else name

    def constant(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=str() | int() | float() | None as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
        part = ast.get_source_segment(self.source, node) or type(node).__name__
        grammar = "fields, constants, comparisons, and, or, not, lists of constants"
        return self.refuse(grammar, repr(part[:40]))

    def next_depth(self, depth: int) -> int:
        if depth == 0:
            self.refuse(f"at most {MAX_CONDITION_DEPTH} levels", "more")
        return depth - 1

    def preview(self) -> str:
        return repr(self.text if len(self.text) <= 80 else self.text[:77] + "...")

    def refuse(self, expected: str, got: str) -> NoReturn:
        raise UsageError(f"expected {expected} in a condition, got {got} in {self.preview()}")


def short_repr(value: object) -> str:
    """Return a value as text for errors, cut if it is long.

    Examples
    --------
    >>> short_repr("a b"), short_repr("a" * 1000)[-5:], short_repr(10**5000)
    ("'a b'", 'aa...', 'a huge number')
    """
    if isinstance(value, int) and abs(value) > 10**20:
        return "a huge number"
    try:
        return cut_text(repr(value).replace("\n", " "))
    except ValueError:  # Python does not print numbers of more than 4,300 digits
        return f"a {type(value).__name__} with very large numbers"


def cut_text(text: str) -> str:
    """Return a text, cut if it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def _value(fields: Fields, name: str) -> Any:
    value = fields.get(name, ABSENT)
    if isinstance(value, np.ndarray):
        raise DataError(
            f"expected text, numbers or lists in the field {name!r}, got the array {short_repr(value)}"
        )
    return ABSENT if isinstance(value, float) and value != value else value  # NaN of data frames


class _TruthNames(ast.NodeTransformer):
    """Reads true and false as YAML and JSON write them."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return a constant for true and false, and other names unchanged."""
        is_truth_value = node.id in ("true", "false")
        return ast.copy_location(ast.Constant(node.id == "true"), node) if is_truth_value else node


def _is_true(value: Any) -> bool:
    try:
        return value is not ABSENT and bool(value)
    except (TypeError, ValueError):
        raise DataError(
            f"expected a field that is true or false, got {short_repr(value)}"
        ) from None


def _all(parts: Sequence[Truth]) -> Truth:
    if len(parts) == 2:  # the usual case, in half the time
        one, other = parts
        return lambda fields: one(fields) and other(fields)
    return lambda fields: all(part(fields) for part in parts)


def _any(parts: Sequence[Truth]) -> Truth:
    return lambda fields: any(part(fields) for part in parts)


def _is_list(value: Any) -> TypeGuard[ValueList]:
    return isinstance(value, _LIST_TYPES)


def _equals(name: str, constant: Any) -> Truth:
    """Return a fast comparison of a field with a constant, the most frequent case."""

    def meets(fields: Fields) -> bool:
        value = fields.get(name, ABSENT)
        is_plain = type(value) is str or type(value) is int
        return value == constant if is_plain else _equal(_value(fields, name), constant)

    return meets


def _make_comparison(compare: Callable[[Any, Any], Any]) -> Compare:
    """Return a comparison. An absent value never meets it; of several values, one is enough."""

    def one(a: Any, b: Any) -> bool:
        if a is ABSENT or b is ABSENT:
            return False
        if _is_list(a) and _is_list(b):
            spend(len(a) + len(b))
            a, b = list(a), list(b)
        elif _is_list(a):
            return any(one(x, b) for x in _single_values(a))
        elif _is_list(b):
            return any(one(a, x) for x in _single_values(b))
        try:
            return bool(compare(a, b))
        except (TypeError, ValueError):  # text with a number
            return False
        except RecursionError:
            raise DataError(
                "a field has too many nested lists; expected only a few levels"
            ) from None

    return one


_equal = _make_comparison(operator.eq)


def _is_in(a: Any, b: Any) -> bool:
    """Whether a value of a is a value of b; a text is in a text that contains it."""
    if a is ABSENT or b is ABSENT:
        return False
    if _is_list(a) and _is_list(b):
        return _have_common_value(a, b)
    if _is_list(a):
        return any(_is_in(x, b) for x in _single_values(a))
    if isinstance(a, str) and isinstance(b, str):
        spend((len(a) + len(b)) // CHARACTERS_PER_STEP)
        return a in b
    return _equal(a, b)


def _have_common_value(a: ValueList, b: ValueList) -> bool:
    """Whether a value of a equals a value of b; nested lists are flattened.

    Plain values are compared by their hashes, which are equal if the values are (1, 1.0 and True).
    Others, such as mappings, are compared one by one.
    """
    plain_a, odd_a = _split_by_hashability(a)
    plain_b, odd_b = _split_by_hashability(b)
    if not plain_a.isdisjoint(plain_b):
        return True
    spend(len(odd_a) * (len(plain_b) + len(odd_b)) + len(plain_a) * len(odd_b))
    return any(_equal(x, y) for x in odd_a for y in (*plain_b, *odd_b)) or any(
        _equal(x, y) for x in plain_a for y in odd_b
    )


def _split_by_hashability(many: ValueList) -> tuple[set[Any], list[Any]]:
    """Return the values of a list and of nested lists: those of plain types, and the others."""
    plain: set[Any] = set()
    odd: list[Any] = []
    for value in _single_values(many):
        if type(value) not in _PLAIN_TYPES:
            odd.append(value)
        elif value == value:  # NaN equals nothing
            plain.add(value)
    return plain, odd


def _single_values(many: ValueList) -> Iterator[Any]:
    """Yield the values of a list and of nested lists at any depth."""
    todo = [many]
    while todo:
        values = todo.pop()
        spend(len(values))
        for value in values:
            if _is_list(value):
                todo.append(value)
            else:
                yield value


def _negate(compare: Compare) -> Compare:
    return lambda a, b: a is not ABSENT and b is not ABSENT and not compare(a, b)


_COMPARE: dict[type[ast.cmpop], Compare] = {
    ast.Eq: _equal,
    ast.NotEq: _negate(_equal),
    ast.Lt: _make_comparison(operator.lt),
    ast.LtE: _make_comparison(operator.le),
    ast.Gt: _make_comparison(operator.gt),
    ast.GtE: _make_comparison(operator.ge),
    ast.In: _is_in,
    ast.NotIn: _negate(_is_in),
}
