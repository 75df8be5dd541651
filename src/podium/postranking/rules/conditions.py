"""Conditions on a document's fields: a small language, read by Python's grammar and never executed.

Fields and constants compared with == != < <= > >= in, not in; and, or, not; lists of constants.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, NoReturn, TypeGuard

import numpy as np

from podium.errors import DataError, UsageError
from podium.postranking.work_budget import check_time, spend

Fields = Mapping[str, Any]
Term = Callable[[Fields], Any]
Truth = Callable[[Fields], bool]
Compare = Callable[[Any, Any], bool]
Many = list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any]

LONGEST, DEEPEST = 2000, 50
"""Characters and levels of a condition; more is taken for an attack."""

CHARACTERS_A_STEP = 16
"""Of texts that are compared, for a step of `spend`."""

ABSENT = object()
"""The value of a field that a document does not have."""

_WORDS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`([^`]*)`|\s+""")
_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types whose equal values have equal hashes."""
_WARNINGS = Lock()  # filters are the process's, and conditions may be read in threads


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition that was read: the fields it speaks of, and whether a document meets it.

    `compared` are those that another field is compared with, which may be text without its quotes.
    """

    names: tuple[str, ...]
    meets: Truth
    compared: frozenset[str] = frozenset()
    size: int = 1
    """How many comparisons and connections it has."""
    numeric: frozenset[str] = frozenset()
    """The fields that are compared with a number."""


@lru_cache(maxsize=4096)
def read_condition(text: str) -> Condition:
    """Read a condition; anything that is not one is a `UsageError`.

    Examples
    --------
    >>> cheap = read_condition('brand == "acme" and price < 10')
    >>> cheap.names, cheap.meets({"brand": "acme", "price": 8}), cheap.meets({"brand": "acme"})
    (('brand', 'price'), True, False)
    """
    return _ConditionParser(text).condition()


class _ConditionParser:
    """One condition, from its text to functions of a document's fields."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, None] = {}
        self.quoted: list[str] = []
        self.compared: set[str] = set()
        self.numeric: set[str] = set()
        self.size = 0

    def condition(self) -> Condition:
        check_time()
        if len(self.text) > LONGEST:
            self.refuse(f"at most {LONGEST} characters", f"{len(self.text)}")
        self.source = _WORDS.sub(self.word, self.text).strip()
        meets = self.truth(self.parse(), DEEPEST)
        if not self.names:
            self.refuse("a field", "none")
        return Condition(
            tuple(self.names), meets, frozenset(self.compared), self.size, frozenset(self.numeric)
        )

    def word(self, match: re.Match[str]) -> str:
        """A field in backquotes as a name that Python's grammar takes; it may run over lines."""
        if match[1] is None:
            return " " if match[0].isspace() else match[0]
        self.quoted.append(match[1])
        return f" quoted_field_{len(self.quoted) - 1} "

    def parse(self) -> ast.expr:
        try:
            with _WARNINGS, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on "\d" and 1and
                return ast.parse(self.source, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else "not read"
            raise UsageError(
                'expected a condition such as brand == "acme" and price < 10 (names that are not '
                f"one word stand in backquotes), got {self.shown()} ({reason.split('. ')[0]})"
            ) from None

    def truth(self, node: ast.expr, depth: int) -> Truth:
        """Whether a document is as a node says."""
        self.size += 1
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self.truth(value, self.below(depth)) for value in values]
                return _every(parts) if isinstance(op, ast.And) else _some(parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand, self.below(depth))
                return lambda fields: not inner(fields)
            case ast.Compare(left=left, ops=ops, comparators=others):
                nodes = [left, *others]
                pairs = zip(ops, nodes, others, strict=False)
                parts = [self.comparison(op, a, b, self.below(depth)) for op, a, b in pairs]
                return parts[0] if len(parts) == 1 else _every(parts)
        term = self.term(node, depth)
        return lambda fields: _truth(term(fields))

    def comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr, depth: int) -> Truth:
        self.size += 1
        if type(op) not in _COMPARE:
            self.refuse("== != < <= > >= in, not in", "is")
        compare, a, b = _COMPARE[type(op)], self.term(left, depth), self.term(right, depth)
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            self.compared.add(self.name(right.id))
        if isinstance(left, ast.Name) and isinstance(right, ast.Constant):
            if isinstance(right.value, int | float):
                self.numeric.add(self.name(left.id))
            if isinstance(op, ast.Eq):
                return _equals(self.name(left.id), right.value)
            constant = right.value
            return lambda fields: compare(a(fields), constant)
        return lambda fields: compare(a(fields), b(fields))

    def term(self, node: ast.expr, depth: int) -> Term:
        """A value: a field's, a constant, or a truth to compare."""
        match node:
            case ast.Name(id=name):
                field = self.name(name)
                self.names[field] = None
                return lambda fields: _value(fields, field)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self.truth(node, self.below(depth))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                many = tuple(self.constant(part) for part in parts)
                return lambda fields: many
        constant = self.constant(node)
        return lambda fields: constant

    def name(self, name: str) -> str:
        """A field's name, as it stood in backquotes."""
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

    def below(self, depth: int) -> int:
        if depth == 0:
            self.refuse(f"at most {DEEPEST} levels", "more")
        return depth - 1

    def shown(self) -> str:
        return repr(self.text if len(self.text) <= 80 else self.text[:77] + "...")

    def refuse(self, expected: str, got: str) -> NoReturn:
        raise UsageError(f"expected {expected} in a condition, got {got} in {self.shown()}")


def short(value: object) -> str:
    """A value as errors show it, however long it is.

    Examples
    --------
    >>> short("a b"), short("a" * 1000)[-5:], short(10**5000)
    ("'a b'", 'aa...', 'a huge number')
    """
    if isinstance(value, int) and abs(value) > 10**20:
        return "a huge number"
    try:
        return cut(repr(value).replace("\n", " "))
    except ValueError:  # Python does not print numbers of more than 4,300 digits
        return f"a {type(value).__name__} with huge numbers"


def cut(text: str) -> str:
    """The beginning of a text, where it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def _value(fields: Fields, name: str) -> Any:
    value = fields.get(name, ABSENT)
    if isinstance(value, np.ndarray):
        raise DataError(
            f"expected text, numbers or lists in the field {name!r}, got the array {short(value)}"
        )
    return ABSENT if isinstance(value, float) and value != value else value  # NaN of data frames


def _truth(value: Any) -> bool:
    try:
        return value is not ABSENT and bool(value)
    except (TypeError, ValueError):
        raise DataError(f"expected a field that is true or false, got {short(value)}") from None


def _every(parts: Sequence[Truth]) -> Truth:
    if len(parts) == 2:  # as most do, at half the time
        one, other = parts
        return lambda fields: one(fields) and other(fields)
    return lambda fields: all(part(fields) for part in parts)


def _some(parts: Sequence[Truth]) -> Truth:
    return lambda fields: any(part(fields) for part in parts)


def _is_many(value: Any) -> TypeGuard[Many]:
    return isinstance(value, list | tuple | set | frozenset)


def _equals(name: str, constant: Any) -> Truth:
    """The most frequent comparison."""

    def meets(fields: Fields) -> bool:
        value = fields.get(name, ABSENT)
        return value == constant if type(value) is str else _equal(_value(fields, name), constant)

    return meets


def _comparing(compare: Callable[[Any, Any], Any]) -> Compare:
    """A comparison that an absent value never meets, and one of several values is enough to."""

    def one(a: Any, b: Any) -> bool:
        if a is ABSENT or b is ABSENT:
            return False
        if _is_many(a) and _is_many(b):
            spend(len(a) + len(b))
            a, b = list(a), list(b)
        elif _is_many(a):
            return any(one(x, b) for x in _single_values(a))
        elif _is_many(b):
            return any(one(a, x) for x in _single_values(b))
        try:
            return bool(compare(a, b))
        except (TypeError, ValueError):  # text with a number
            return False
        except RecursionError:
            raise DataError(
                "expected fields with few lists in lists, got too many in each other"
            ) from None

    return one


_equal = _comparing(operator.eq)


def _is_in(a: Any, b: Any) -> bool:
    """One of a's values is one of b's; text is in text that contains it."""
    if a is ABSENT or b is ABSENT:
        return False
    if _is_many(a) and _is_many(b):
        return _share_a_value(a, b)
    if _is_many(a):
        return any(_is_in(x, b) for x in _single_values(a))
    if isinstance(a, str) and isinstance(b, str):
        spend((len(a) + len(b)) // CHARACTERS_A_STEP)
        return a in b
    return _equal(a, b)


def _share_a_value(a: Many, b: Many) -> bool:
    """Whether a value of a equals one of b; lists in lists are taken apart.

    Plain values are compared by their hashes, which agree where values are equal (1, 1.0 and True);
    others, such as mappings, one by one.
    """
    plain_a, odd_a = _plain_and_odd(a)
    plain_b, odd_b = _plain_and_odd(b)
    if not plain_a.isdisjoint(plain_b):
        return True
    spend(len(odd_a) * (len(plain_b) + len(odd_b)) + len(plain_a) * len(odd_b))
    return any(_equal(x, y) for x in odd_a for y in (*plain_b, *odd_b)) or any(
        _equal(x, y) for x in plain_a for y in odd_b
    )


def _plain_and_odd(many: Many) -> tuple[set[Any], list[Any]]:
    """The values of a list, and of lists in it: those of plain types, and the others."""
    plain: set[Any] = set()
    odd: list[Any] = []
    for value in _single_values(many):
        if type(value) not in _PLAIN:
            odd.append(value)
        elif value == value:  # NaN equals nothing
            plain.add(value)
    return plain, odd


def _single_values(many: Many) -> Iterator[Any]:
    """The values of a list, and of lists in it, however deep they are."""
    todo = [many]
    while todo:
        values = todo.pop()
        spend(len(values))
        for value in values:
            if _is_many(value):
                todo.append(value)
            else:
                yield value


def _opposite(compare: Compare) -> Compare:
    return lambda a, b: a is not ABSENT and b is not ABSENT and not compare(a, b)


_COMPARE: dict[type[ast.cmpop], Compare] = {
    ast.Eq: _equal,
    ast.NotEq: _opposite(_equal),
    ast.Lt: _comparing(operator.lt),
    ast.LtE: _comparing(operator.le),
    ast.Gt: _comparing(operator.gt),
    ast.GtE: _comparing(operator.ge),
    ast.In: _is_in,
    ast.NotIn: _opposite(_is_in),
}
