"""Entries of rule files: from the keys of one entry to a rule, and back."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, NoReturn

from podium.errors import PodiumError, UnknownNameError, UsageError
from podium.postranking.rules.field_conditions import cut_text, short_repr
from podium.postranking.rules.plain_yaml import UnquotedScalar, YamlMapping
from podium.postranking.rules.request_conditions import When
from podium.postranking.rules.rule import Rule, counts, measures
from podium.postranking.rules.rule_kinds import RULES
from podium.postranking.rules.selectors import Each, Selector, Where
from podium.postranking.rules.value_files import with_file_values
from podium.postranking.rules.when_entries import read_when
from podium.typing import Document

PARTS = ("first", "second")
"""The keys of the documents of a rule with two roles."""
CHOOSERS = ("docs", "where", "each")
"""The keys that select the documents of other rules."""
COMMON = tuple(own.name.rstrip("_") for own in fields(Rule))
"""The keys that every rule may have."""
TEXTS, DATES = ("query", "pattern", "name", "class"), ("starts", "ends")
PARAMETERS = {"class": "class_"}
"""The keys that are other words in Python."""

_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TRUTHS = {
    word: word.lower() == "true" for word in ["true", "True", "TRUE", "false", "False", "FALSE"]
}

_WORDS_BY_RULE = {
    "top-k": "promote",
    "boost": "raise up rank-up upweight favour favor prefer multiply",
    "pin": "elevate curate sponsor pin-to-top first position fix place promoted",
    "not-top-k": "demote",
    "bury": "down rank-down lower downweight sink",
    "insert": "add include inject includes",
    "mix": "ratio blend interleave mixing",
    "take-turns": "round-robin rotate alternate",
    "fair-share": "fair fa*ir fairness",
    "hide": "exclude remove block filter delete ban suppress blacklist drop",
    "at-most": "limit max maximum cap diversity diversify diverse spread",
    "at-least": "min minimum ensure quota guarantee",
    "together": "group cluster bundle adjacent",
    "apart": "separate distance space dedupe",
    "before": "above order prefer-over ahead after below",
}
FAMILIAR_RULES = {word: rule for rule, words in _WORDS_BY_RULE.items() for word in words.split()}
"""Names of rules that people know from other tools, and the rule here."""

Ids = Callable[[str], Document]


class RuleEntryError(Exception):
    """An error in the entry of a rule, and its line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(message)


def read_entry(entry: Any, ids: Ids, folder: str | None = None) -> Rule:
    """Return the rule of one entry; raise `RuleEntryError` if it is not a valid rule.

    Files of values for its condition are read from `folder`.
    """
    return _RuleEntryReader(entry, ids, folder).rule()


class _RuleEntryReader:
    """Turns one entry of a rule file into a rule."""

    def __init__(self, entry: Any, ids: Ids, folder: str | None) -> None:
        if not isinstance(entry, Mapping):
            raise RuleEntryError(
                "expected a rule, such as {rule: top-k, docs: a, k: 3}, got "
                + describe_value(entry)
            )
        self.entry, self.ids, self.folder = entry, ids, folder
        self.lines = entry.lines if isinstance(entry, YamlMapping) else {}

    def rule(self) -> Rule:
        kind = self.kind()
        keys = keys_of(kind)
        for key in self.entry:
            if key == "each" and key not in keys:
                self.refuse(f"{_each_only()}, got it in a {kind.kind} rule", key)
            if key not in keys:
                self.refuse(
                    str(UnknownNameError(f"key of a {kind.kind} rule", str(key), keys)), key
                )
        arguments: dict[str, Any] = self.documents(kind)
        for key, value in self.entry.items():
            if key not in ("rule", *CHOOSERS, *PARTS):
                arguments[PARAMETERS.get(str(key), str(key))] = self.value(kind, key, value)
        for own in fields(kind):
            if (
                own.name not in arguments
                and own.name in {**counts(kind), **measures(kind)}
                and own.default is MISSING
            ):
                self.refuse(f"a {kind.kind} rule needs {own.name}")
        try:
            return kind(**arguments)
        except PodiumError as error:
            self.refuse(str(error))

    def kind(self) -> type[Rule]:
        name: Any = self.entry.get("rule")
        if not isinstance(name, str):
            self.refuse(
                f"expected rule: and one of {', '.join(RULES)}, got " + describe_value(name), "rule"
            )
        if name not in RULES:
            suggestion = FAMILIAR_RULES.get(name.lower().replace("_", "-"), "")
            error = UnknownNameError("rule", name, RULES, suggestion=suggestion, holder="podium")
            self.refuse(str(error), "rule")
        return RULES[name]

    def documents(self, kind: type[Rule]) -> dict[str, Selector]:
        """Return the selectors by the names of the rule's fields."""
        if len(kind.roles) == 2:
            return {role: self.part(kind, key) for role, key in zip(kind.roles, PARTS, strict=True)}
        allowed = choosers_of(kind)
        choosers = [key for key in allowed if key in self.entry]
        if len(choosers) != 1:
            got = " and ".join(choosers) or "none"
            self.refuse(
                f"expected one of {', '.join(allowed)} in a {kind.kind} rule, got {got}",
                *choosers[1:],
            )
        return {kind.roles[0]: self.selector(choosers[0], self.entry[choosers[0]])}

    def part(self, kind: type[Rule], key: str) -> Selector:
        """Return the selector of one of two roles: ids, or where."""
        value = self.entry.get(key)
        if key not in self.entry:
            self.refuse(f"a {kind.kind} rule needs {' and '.join(PARTS)}; {key} is missing")
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
                self.refuse(f"{key} is empty; expected at least one document", key)
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
        if key == "when":
            return self.condition(key, value)
        if key in DATES:
            return self.date(key, value)
        return self.truth(key, value) if key == "hard" else self.number(key, value)

    def condition(self, key: str, value: Any) -> When:
        try:
            return read_when(with_file_values(value, self.folder))
        except PodiumError as error:
            self.refuse(str(error), key)

    def text(self, key: str, value: Any, what: str = "text") -> str:
        """Return text exactly as written; numbers and Booleans of a mapping as YAML writes them."""
        if isinstance(value, UnquotedScalar):
            if value in ("", "~", "null", "Null", "NULL"):
                self.refuse(
                    f"{key} is empty; expected {what}; put a word such as null in quotes", key
                )
            return str(value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 10**100):
            return str(value)
        return self.refuse(f"expected {what} as {key}, got {describe_value(value)}", key)

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
        hint = "; write numbers without quotes" if quoted else ""
        return self.refuse(f"expected a number as {key}, got {describe_value(value)}{hint}", key)

    def whole(self, key: str, value: Any) -> int:
        huge = isinstance(value, UnquotedScalar) and len(value) > 20
        number = None if huge else self.number(key, value)
        if isinstance(number, int):
            return number
        return self.refuse(f"expected a whole number as {key}, got {describe_value(value)}", key)

    def truth(self, key: str, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, UnquotedScalar) and value in _TRUTHS:
            return _TRUTHS[value]
        return self.refuse(f"expected true or false as {key}, got {describe_value(value)}", key)

    def date(self, key: str, value: Any) -> datetime.date:
        if isinstance(value, str) and _DATE.fullmatch(value):
            try:
                return datetime.date.fromisoformat(value)
            except ValueError as error:
                self.refuse(f"expected a date as {key}, got {str(value)!r} ({error})", key)
        if type(value) is datetime.date:
            return value
        return self.refuse(
            f"expected a date such as 2026-11-01 as {key}, got {describe_value(value)}", key
        )

    def refuse(self, message: str, *keys: str) -> NoReturn:
        raise RuleEntryError(
            message, next((self.lines[key] for key in keys if key in self.lines), None)
        )


def choosers_of(kind: type[Rule]) -> tuple[str, ...]:
    """Return the keys that select the documents of a rule with one role."""
    if kind.joint or kind.inserts:
        return CHOOSERS[2:] if kind.joint else CHOOSERS[:1]
    return CHOOSERS if kind.grouped else CHOOSERS[:2]


def keys_of(kind: type[Rule]) -> list[str]:
    """Return every key that an entry of this kind may have."""
    own = [f.name.rstrip("_") for f in fields(kind) if f.name not in kind.roles]
    documents = PARTS if len(kind.roles) == 2 else choosers_of(kind)
    return ["rule", *documents, *own]


def describe_value(value: Any) -> str:
    """Return a value of a rule file as text for errors."""
    if value is None or (isinstance(value, UnquotedScalar) and not value):
        return "nothing"
    if isinstance(value, UnquotedScalar) and _NUMBER.fullmatch(value):
        return cut_text(str(value))
    return short_repr(str(value) if isinstance(value, str) else value)


def rule_entry(rule: Rule) -> dict[str, Any]:
    """Return a rule as a record of a file; defaults are left out."""
    if RULES.get(rule.kind) is not type(rule):
        raise UsageError(f"expected a rule of podium.postranking.RULES, got {rule!r}")
    entry: dict[str, Any] = {"rule": rule.kind, **dict(_document_keys(rule))}
    for own in fields(rule):
        value = getattr(rule, own.name)
        if own.name not in rule.roles and (not own.kw_only or value != own.default):
            entry[own.name.rstrip("_")] = value.entry() if isinstance(value, When) else value
    return entry


def _document_keys(rule: Rule) -> Iterator[tuple[str, Any]]:
    if len(rule.roles) == 2:
        for key, selector in zip(PARTS, rule.selectors, strict=True):
            if isinstance(selector, Where):
                yield key, {"where": selector.condition}
            else:
                yield key, _text_ids(rule, selector)
        return
    (selector,) = rule.selectors
    if isinstance(selector, Where):
        yield "where", selector.condition
    elif isinstance(selector, Each):
        yield "each", selector.field
    else:
        yield "docs", _text_ids(rule, selector)


def _text_ids(rule: Rule, selector: Selector) -> Any:
    listed = selector if isinstance(selector, tuple) else (selector,)
    for doc in listed:
        if not isinstance(doc, str):
            raise UsageError(f"expected text as ids in a file, got {doc!r} in {rule}")
    return list(listed) if isinstance(selector, tuple) else selector


def _each_only() -> str:
    return "expected each only in " + ", ".join(n for n, kind in RULES.items() if kind.grouped)
