"""Rule files: YAML written by people; nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from podium.data.atomic_files import atomic_writer
from podium.data.text_files import read_blocks
from podium.errors import DataError, MalformedLineError, UnknownNameError, UsageError
from podium.postranking.rules.entries import (
    Ids,
    RuleEntryError,
    read_entry,
    rule_entry,
)
from podium.postranking.rules.field_conditions import short_repr
from podium.postranking.rules.plain_yaml import (
    MAX_YAML_BYTES,
    YamlList,
    YamlMapping,
    parse_yaml,
)
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import check_rules
from podium.typing import Path_
from podium.work_budget import check_time

VERSION = 1


@dataclass(frozen=True)
class RuleFile:
    """The rules of a file, and the line each starts on."""

    rules: tuple[Rule, ...]
    lines: tuple[int, ...]
    errors: tuple[DataError, ...] = ()
    """The errors of the invalid entries."""
    entries: int = 0
    """The number of entries, including invalid ones."""


def read_rules(path: Path_, *, ids: Ids = str) -> tuple[Rule, ...]:
    """Read the rules of a YAML file; see the page on post-ranking for its format.

    Ids are text exactly as written: ``docs: 007`` is the document "007".

    Parameters
    ----------
    path
        The file, such as ``rules.yaml``.
    ids
        A function from the text of an id to a document, such as ``int`` if documents are numbers.
    """
    return _require_rules(read_rule_file(path, ids=ids))


def read_rule_file(path: Path_, *, ids: Ids = str) -> RuleFile:
    """Read the rules of a file with their lines, and the errors of all other entries."""
    name, data = os.fspath(path), b""
    try:
        for block in read_blocks(name):
            data += block.tobytes()
            if len(data) > MAX_YAML_BYTES:
                break
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot read {name}: there is no such file") from None
    return _read_tree(parse_yaml(data, name), ids, name, os.path.dirname(name) or ".")


def rules_from(mapping: Mapping[str, Any], *, ids: Ids = str) -> tuple[Rule, ...]:
    """Return the rules of a mapping in the form of a rule file, such as JSON.

    Examples
    --------
    >>> rules_from({"version": 1, "rules": [{"rule": "top-k", "docs": "a", "k": 3, "weight": 10}]})
    (TopK('a', 3, weight=10),)
    """
    return _require_rules(_read_tree(mapping, ids, None))


def parse_rules(text: str, name: str | None = None, *, ids: Ids = str) -> tuple[Rule, ...]:
    """Return the rules of a file's text; errors use the name of the file.

    Examples
    --------
    >>> parse_rules("version: 1\\nrules: [{rule: hide, docs: 007, hard: true}]")
    (Hide('007', hard=True),)
    """
    return _require_rules(parse_rule_file(text, name, ids=ids))


def parse_rule_file(
    text: str, name: str | None = None, *, ids: Ids = str, folder: str | None = None
) -> RuleFile:
    """Return the rules of a file's text with their lines, and the errors of all other entries.

    Files of values are read from `folder`.
    """
    return _read_tree(parse_yaml(_encode(text), name), ids, name, folder)


def rule_records(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Return rules as records for `rules_from`; defaults are left out."""
    return [rule_entry(rule) for rule in check_rules(rules)]


def rules_text(rules: Iterable[Rule]) -> str:
    """Return rules as the text of a YAML file."""
    records = rule_records(rules)
    if not records:
        return _dump({"version": VERSION, "rules": []})
    # One rule at a time, so that a service that runs out of time can stop in between.
    return _dump({"version": VERSION}) + "rules:\n" + "".join(_dump([one]) for one in records)


def _dump(tree: Any) -> str:
    check_time()
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def write_rules(rules: Iterable[Rule], path: Path_) -> None:
    """Write rules to a YAML file, from which `read_rules` reads the same rules; ids must be text."""
    data = _encode(rules_text(rules))
    with atomic_writer(path) as write:
        write(data)


def _require_rules(file: RuleFile) -> tuple[Rule, ...]:
    """Return the rules of a file; raise its first error, if any."""
    if file.errors:
        raise file.errors[0]
    return file.rules


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"a rule contains {error.object[error.start]!r}, which UTF-8 cannot encode; remove it"
        ) from None


class _Dumper(yaml.SafeDumper):
    """Writes text with line breaks or control characters in double quotes, which alone preserve it."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Return text as a scalar."""
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def _read_tree(tree: Any, ids: Ids, path: str | None, folder: str | None = None) -> RuleFile:
    entries = _entries(tree, path)
    rules, lines, errors = [], [], []
    for number, entry in enumerate(entries):
        check_time()
        line = entry.line if isinstance(entry, YamlMapping) else _line(entries, number)
        try:
            rules.append(read_entry(entry, ids, folder))
            lines.append(line or 0)
        except RuleEntryError as wrong:
            where = "" if path is not None else f"rules[{number}]: "
            errors.append(DataError(where + str(wrong), path=path, line=wrong.line or line))
    return RuleFile(tuple(rules), tuple(lines), tuple(errors), len(entries))


def _line(items: Sequence[Any], number: int) -> int | None:
    return items.lines[number] if isinstance(items, YamlList) else None


def _entries(tree: Any, path: str | None) -> Sequence[Any]:
    """Return the list under ``rules``."""
    if not isinstance(tree, Mapping):
        is_list = isinstance(tree, list | tuple)
        reason = (
            "it is a list alone; put it below the lines version: 1 and rules:"
            if is_list
            else "expected version: 1 and a list under rules:"
        )
        raise MalformedLineError(f"this is not a rule file; {reason}", path=path, line=1)
    lines = tree.lines if isinstance(tree, YamlMapping) else {}
    for key in tree:
        if key not in ("version", "rules"):
            text = str(UnknownNameError("key", str(key), ("version", "rules")))
            raise DataError(text, path=path, line=lines.get(key))
    version = tree.get("version")
    if version is None or (version if type(version) is int else str(version)) not in (1, "1"):
        got = "none" if version is None else short_repr(version)
        raise DataError(
            f"expected version: {VERSION}, got {got}", path=path, line=lines.get("version")
        )
    entries = tree.get("rules")
    if not isinstance(entries, list | tuple):
        got = "none" if "rules" not in tree else "something else"
        raise DataError(f"expected a list of rules, got {got}", path=path, line=lines.get("rules"))
    return entries
