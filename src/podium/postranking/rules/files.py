"""Rules in files: YAML that people write, read without executing any of it."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import yaml

from podium.data.files import Path_, atomic_writer, read_blocks
from podium.errors import DataError, PodiumError, UnknownNameError, UsageError
from podium.postranking.rules.conditions import cut, short
from podium.postranking.rules.kinds import RULES
from podium.postranking.rules.plain_yaml import (
    LARGEST,
    UnquotedScalar,
    YamlList,
    YamlMapping,
    parse_yaml,
)
from podium.postranking.rules.rule import Rule, counts
from podium.postranking.rules.selectors import Document, Each, Selector, Where
from podium.postranking.settings import check_rules
from podium.postranking.work_budget import check_time

VERSION = 1
PARTS = ("first", "second")
"""What the documents of a rule with two roles are called."""
CHOOSERS = ("docs", "where", "each")
"""How the documents of the other rules are chosen."""
COMMON = tuple(own.name for own in fields(Rule))
"""What every rule may have."""
TEXTS, DATES = ("query", "pattern", "name"), ("starts", "ends")

_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TRUTHS = {
    word: word.lower() == "true" for word in ["true", "True", "TRUE", "false", "False", "FALSE"]
}

Ids = Callable[[str], Document]


@dataclass(frozen=True)
class RuleFile:
    """The rules of a file, and the line each starts on."""

    rules: tuple[Rule, ...]
    lines: tuple[int, ...]
    errors: tuple[DataError, ...] = ()
    """What is wrong with the entries that are no rules."""
    entries: int = 0
    """How many there are, of rules and others."""


def read_rules(path: Path_, *, ids: Ids = str) -> tuple[Rule, ...]:
    """The rules of a YAML file; see the page on post-ranking for its format.

    Ids are text as it is written: ``docs: 007`` is the document "007".

    Parameters
    ----------
    path
        Such as ``rules.yaml``.
    ids
        What makes a document of the text of an id, such as ``int`` where documents are numbers.
    """
    return _all_of(read_rule_file(path, ids=ids))


def read_rule_file(path: Path_, *, ids: Ids = str) -> RuleFile:
    """The rules of a file with their lines, and everything that is wrong with the others."""
    name, data = os.fspath(path), b""
    try:
        for block in read_blocks(name):
            data += block.tobytes()
            if len(data) > LARGEST:
                break
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot read {name}: there is no such file") from None
    return _read(parse_yaml(data, name), ids, name)


def rules_from(mapping: Mapping[str, Any], *, ids: Ids = str) -> tuple[Rule, ...]:
    """The rules of a mapping as a rule file has it, such as JSON from elsewhere.

    Examples
    --------
    >>> rules_from({"version": 1, "rules": [{"rule": "top-k", "docs": "a", "k": 3, "weight": 10}]})
    (TopK('a', 3, weight=10),)
    """
    return _all_of(_read(mapping, ids, None))


def parse_rules(text: str, name: str | None = None, *, ids: Ids = str) -> tuple[Rule, ...]:
    """The rules of a file's text; errors call it by its name.

    Examples
    --------
    >>> parse_rules("version: 1\\nrules: [{rule: hide, docs: 007, hard: true}]")
    (Hide('007', hard=True),)
    """
    return _all_of(_read(parse_yaml(_encoded(text), name), ids, name))


def rule_records(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Rules as the records of a file, which `rules_from` reads; what is as usual is left out."""
    return [_entry(rule) for rule in check_rules(rules)]


def rules_text(rules: Iterable[Rule]) -> str:
    """Rules as the text of a YAML file."""
    records = rule_records(rules)
    if not records:
        return _dumped({"version": VERSION, "rules": []})
    # A rule at a time: a service that has no time left can stop in between.
    return _dumped({"version": VERSION}) + "rules:\n" + "".join(_dumped([one]) for one in records)


def _dumped(tree: Any) -> str:
    check_time()
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def write_rules(rules: Iterable[Rule], path: Path_) -> None:
    """Write rules as a YAML file, which `read_rules` reads as the same rules; ids must be text."""
    data = _encoded(rules_text(rules))
    with atomic_writer(path) as write:
        write(data)


def _all_of(found: RuleFile) -> tuple[Rule, ...]:
    """The rules of a file with nothing wrong in it."""
    if found.errors:
        raise found.errors[0]
    return found.rules


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"expected text that UTF-8 has, got {error.object[error.start]!r}"
        ) from None


class _Dumper(yaml.SafeDumper):
    """Text with line breaks and the like in double quotes, the only ones that keep it."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Text as a scalar."""
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def _read(tree: Any, ids: Ids, path: str | None) -> RuleFile:
    entries = _entries(tree, path)
    rules, lines, errors = [], [], []
    for number, entry in enumerate(entries):
        check_time()
        line = entry.line if isinstance(entry, YamlMapping) else _line(entries, number)
        try:
            rules.append(_RuleEntryReader(entry, ids).rule())
            lines.append(line or 0)
        except _Wrong as wrong:
            where = "" if path is not None else f"rules[{number}]: "
            errors.append(DataError(where + str(wrong), path=path, line=wrong.line or line))
    return RuleFile(tuple(rules), tuple(lines), tuple(errors), len(entries))


def _line(items: Sequence[Any], number: int) -> int | None:
    return items.lines[number] if isinstance(items, YamlList) else None


def _entries(tree: Any, path: str | None) -> Sequence[Any]:
    """The list under ``rules``."""
    if not isinstance(tree, Mapping):
        raise DataError(
            "expected version: 1 and a list of rules, got something else", path=path, line=1
        )
    lines = tree.lines if isinstance(tree, YamlMapping) else {}
    for key in tree:
        if key not in ("version", "rules"):
            text = str(UnknownNameError("key", str(key), ("version", "rules")))
            raise DataError(text, path=path, line=lines.get(key))
    version = tree.get("version")
    if version is None or (version if type(version) is int else str(version)) not in (1, "1"):
        got = "none" if version is None else short(version)
        raise DataError(
            f"expected version: {VERSION}, got {got}", path=path, line=lines.get("version")
        )
    entries = tree.get("rules")
    if not isinstance(entries, list | tuple):
        got = "none" if "rules" not in tree else "something else"
        raise DataError(f"expected a list of rules, got {got}", path=path, line=lines.get("rules"))
    return entries


class _Wrong(Exception):  # noqa: N818 - becomes a DataError with file and line
    """What is wrong with a rule, and on which line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(message)


class _RuleEntryReader:
    """One entry of a rule file, from keys to a rule."""

    def __init__(self, entry: Any, ids: Ids) -> None:
        if not isinstance(entry, Mapping):
            raise _Wrong(
                "expected a rule, such as {rule: top-k, docs: a, k: 3}, got " + _shown(entry)
            )
        self.entry, self.ids = entry, ids
        self.lines = entry.lines if isinstance(entry, YamlMapping) else {}

    def rule(self) -> Rule:
        kind = self.kind()
        known = keys_of(kind)
        for key in self.entry:
            if key == "each" and key not in known:
                self.refuse(f"{_each_only()}, got it in a {kind.kind} rule", key)
            if key not in known:
                self.refuse(
                    str(UnknownNameError(f"key of a {kind.kind} rule", str(key), known)), key
                )
        given: dict[str, Any] = self.documents(kind)
        for key, value in self.entry.items():
            if key not in ("rule", *CHOOSERS, *PARTS):
                given[key] = self.value(kind, key, value)
        for own in fields(kind):
            if own.name not in given and own.name in counts(kind) and type(own.default) is not int:
                self.refuse(f"expected {own.name} in a {kind.kind} rule, got none")
        try:
            return kind(**given)
        except PodiumError as error:
            self.refuse(str(error))

    def kind(self) -> type[Rule]:
        name: Any = self.entry.get("rule")
        if not isinstance(name, str):
            self.refuse(
                f"expected rule: and one of {', '.join(RULES)}, got " + _shown(name), "rule"
            )
        if name not in RULES:
            self.refuse(str(UnknownNameError("rule", name, RULES)), "rule")
        return RULES[name]

    def documents(self, kind: type[Rule]) -> dict[str, Selector]:
        """The selectors by the rule's own names."""
        if len(kind.roles) == 2:
            return {role: self.part(kind, key) for role, key in zip(kind.roles, PARTS, strict=True)}
        allowed = choosers_of(kind)
        given = [key for key in allowed if key in self.entry]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            self.refuse(
                f"expected one of {', '.join(allowed)} in a {kind.kind} rule, got {got}", *given[1:]
            )
        return {kind.roles[0]: self.selector(given[0], self.entry[given[0]])}

    def part(self, kind: type[Rule], key: str) -> Selector:
        """A role of two: ids, or where they are chosen by."""
        value = self.entry.get(key)
        if key not in self.entry:
            self.refuse(f"expected {' and '.join(PARTS)} in a {kind.kind} rule, got no {key}")
        if not isinstance(value, Mapping):
            return self.documents_of(key, value)
        if list(value) != ["where"]:
            also = f" ({_each_only()})" if "each" in value else ""
            got = ", ".join(map(str, value)) or "nothing"
            self.refuse(f"expected ids or where: as {key}, got {got}{also}", key)
        return self.selector("where", value["where"], key)

    def selector(self, chooser: str, value: Any, key: str = "") -> Selector:
        if chooser == "docs":
            return self.documents_of(chooser, value)
        text = self.text(key or chooser, value)
        try:
            return Where(text) if chooser == "where" else Each(text)
        except PodiumError as error:
            self.refuse(str(error), key or chooser)

    def documents_of(self, key: str, value: Any) -> Selector:
        if isinstance(value, list | tuple):
            if not value:
                self.refuse(f"expected documents as {key}, got none", key)
            return tuple(self.document(key, one) for one in value)
        return self.document(key, value)

    def document(self, key: str, value: Any) -> Document:
        text = self.text(key, value, "an id")
        try:
            return self.ids(text)
        except (TypeError, ValueError) as error:
            self.refuse(f"expected an id as {key}, got {text!r} ({error})", key)

    def value(self, kind: type[Rule], key: str, value: Any) -> Any:
        if key in counts(kind) or key == "priority":
            return self.whole(key, value)
        if key in TEXTS:
            return self.text(key, value)
        if key in DATES:
            return self.date(key, value)
        return self.truth(key, value) if key == "hard" else self.number(key, value)

    def text(self, key: str, value: Any, what: str = "text") -> str:
        """Text as it is written; a number or a truth value of a mapping as YAML writes it."""
        if isinstance(value, UnquotedScalar):
            if value in ("", "~", "null", "Null", "NULL"):
                self.refuse(
                    f"expected {what} as {key}, got nothing; put a word like this in quotes", key
                )
            return str(value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 10**100):
            return str(value)
        return self.refuse(f"expected {what} as {key}, got {_shown(value)}", key)

    def number(self, key: str, value: Any) -> float:
        if isinstance(value, UnquotedScalar) and _NUMBER.fullmatch(value):
            return float(value) if set(value) & set(".eE") or len(value) > 20 else int(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        quoted = (
            isinstance(value, str)
            and not isinstance(value, UnquotedScalar)
            and _NUMBER.fullmatch(value)
        )
        hint = "; numbers stand without quotes" if quoted else ""
        return self.refuse(f"expected a number as {key}, got {_shown(value)}{hint}", key)

    def whole(self, key: str, value: Any) -> int:
        huge = isinstance(value, UnquotedScalar) and len(value) > 20
        found = None if huge else self.number(key, value)
        if isinstance(found, int):
            return found
        return self.refuse(f"expected a whole number as {key}, got {_shown(value)}", key)

    def truth(self, key: str, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, UnquotedScalar) and value in _TRUTHS:
            return _TRUTHS[value]
        return self.refuse(f"expected true or false as {key}, got {_shown(value)}", key)

    def date(self, key: str, value: Any) -> datetime.date:
        if isinstance(value, str) and _DATE.fullmatch(value):
            try:
                return datetime.date.fromisoformat(value)
            except ValueError as error:
                self.refuse(f"expected a date as {key}, got {str(value)!r} ({error})", key)
        if type(value) is datetime.date:
            return value
        return self.refuse(f"expected a date such as 2026-11-01 as {key}, got {_shown(value)}", key)

    def refuse(self, message: str, *keys: str) -> NoReturn:
        raise _Wrong(message, next((self.lines[key] for key in keys if key in self.lines), None))


def choosers_of(kind: type[Rule]) -> tuple[str, ...]:
    """The keys that choose the documents of a rule with one role."""
    return CHOOSERS if kind.grouped else CHOOSERS[:2]


def keys_of(kind: type[Rule]) -> list[str]:
    """Every key an entry of this kind may have."""
    own = [f.name for f in fields(kind) if f.name not in kind.roles]
    documents = PARTS if len(kind.roles) == 2 else choosers_of(kind)
    return ["rule", *documents, *own]


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, UnquotedScalar) and not value):
        return "nothing"
    if isinstance(value, UnquotedScalar) and _NUMBER.fullmatch(value):
        return cut(str(value))
    return short(str(value) if isinstance(value, str) else value)


def _entry(rule: Rule) -> dict[str, Any]:
    """A rule as a record of a file; what is as usual is left out."""
    if RULES.get(rule.kind) is not type(rule):
        raise UsageError(f"expected a rule of podium.postranking.RULES, got {rule!r}")
    entry: dict[str, Any] = {"rule": rule.kind, **dict(_named(rule))}
    for own in fields(rule):
        value = getattr(rule, own.name)
        if own.name not in rule.roles and (not own.kw_only or value != own.default):
            entry[own.name] = value
    return entry


def _named(rule: Rule) -> Iterator[tuple[str, Any]]:
    if len(rule.roles) == 2:
        for key, selector in zip(PARTS, rule.selectors, strict=True):
            if isinstance(selector, Where):
                yield key, {"where": selector.condition}
            else:
                yield key, _ids(rule, selector)
        return
    (selector,) = rule.selectors
    if isinstance(selector, Where):
        yield "where", selector.condition
    elif isinstance(selector, Each):
        yield "each", selector.field
    else:
        yield "docs", _ids(rule, selector)


def _ids(rule: Rule, selector: Selector) -> Any:
    listed = selector if isinstance(selector, tuple) else (selector,)
    for doc in listed:
        if not isinstance(doc, str):
            raise UsageError(f"expected text as ids in a file, got {doc!r} in {rule}")
    return list(listed) if isinstance(selector, tuple) else selector


def _each_only() -> str:
    return "expected each only in " + ", ".join(n for n, kind in RULES.items() if kind.grouped)
