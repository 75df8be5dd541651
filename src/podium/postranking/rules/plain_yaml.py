"""Plain YAML: text, lists and mappings with the line of each; no tags, no anchors, no types.

The reader of each key decides the type of its scalar: the id 007 stays 007, and the query no stays
no.
"""

from __future__ import annotations

from typing import Any

import yaml

from podium.errors import DataError, MalformedLineError
from podium.work_budget import check_time

MAX_YAML_BYTES, MAX_YAML_DEPTH = 8 << 20, 16
"""The maximum number of bytes and levels of a file; more must be a mistake."""

HINTS = {
    "mapping values are not allowed": "put text with a colon and a space in quotes, and "
    "indent all lines of a rule equally",
    "expected ',' or": "is a [ or a { closed?",
    "cannot start any token": "put text that starts with this character in quotes, and indent "
    "with spaces, not tabs",
    "end of stream": "is a quote closed?",
    "expected key": "indent all lines of a rule equally",
    "expected '-' indicator": "indent all lines of a rule equally",
    "expected <block end>": "indent all lines of a rule equally",
    "expected ':'": "write every line of a rule as key: value",
    "expected alphabetic": "put text that starts with & or * in quotes",
}
"""Hints by the message of the YAML parser."""

# libyaml, if PyYAML was built with it, is ten times as fast.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnquotedScalar(str):
    """A scalar without quotes: text, a number, a date, true or false."""

    __slots__ = ()


class YamlMapping(dict[str, Any]):
    """A mapping, the line it starts on, and the line of each key."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class YamlList(list[Any]):
    """A list, and the line of each entry."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def parse_yaml(data: bytes, path: str | None = None, max_depth: int = MAX_YAML_DEPTH) -> Any:
    """Return the one document of a YAML text.

    Examples
    --------
    >>> tree = parse_yaml(b"rules:\\n  - docs: [007, no]\\n    k: 3\\n")
    >>> tree
    {'rules': [{'docs': ['007', 'no'], 'k': '3'}]}
    >>> tree["rules"][0].lines
    {'docs': 2, 'k': 3}
    """
    if len(data) > MAX_YAML_BYTES:
        raise DataError(
            f"expected at most {MAX_YAML_BYTES >> 20} MB of YAML, got {len(data):,} bytes",
            path=path,
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedLineError(
            "the file is not UTF-8 text; save it as UTF-8", path=path, line=line
        ) from None
    try:
        return _YamlBuilder(path, max_depth).build(text)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
        hint = next((f"; {hint}" for message, hint in HINTS.items() if message in problem), "")
        raise MalformedLineError(
            f"this is not valid YAML ({problem}){hint}",
            path=path,
            line=_error_line(error, len(text.splitlines())),
        ) from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise MalformedLineError(f"this is not valid YAML ({error})", path=path) from None


def _error_line(error: yaml.YAMLError, n_lines: int) -> int | None:
    """Return the line of an error; at the end of the text, the line where the open part begins."""
    problem = getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None)
    mark = problem or context
    if problem is not None and problem.line >= n_lines and context is not None:
        mark = context
    return None if mark is None else min(int(mark.line) + 1, max(n_lines, 1))


class _YamlBuilder:
    """Builds records from events without recursion, so that deep nesting is an error and not a crash."""

    def __init__(self, path: str | None, max_depth: int) -> None:
        self.path, self.max_depth = path, max_depth
        self.open: list[YamlMapping | YamlList] = []
        self.keys: list[str | None] = []
        self.roots: list[Any] = []

    def build(self, text: str) -> Any:
        for event in yaml.parse(text, Loader=_LOADER):
            check_time()
            self.take(event, event.start_mark.line + 1)
        if not self.roots:
            raise MalformedLineError("the file is empty; expected YAML", path=self.path, line=1)
        return self.roots[0]

    def take(self, event: yaml.Event, line: int) -> None:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.error("no anchors and aliases (& and *)", "one", line)
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            raise self.error("no tags", tag, line)
        if isinstance(event, yaml.ScalarEvent):
            self.put(UnquotedScalar(event.value) if event.implicit[0] else event.value, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(self.open) == self.max_depth:
                raise self.error(f"at most {self.max_depth} levels", "more", line)
            kind = YamlMapping if isinstance(event, yaml.MappingStartEvent) else YamlList
            opened = kind(line)
            self.put(opened, line)
            self.open.append(opened)
            self.keys.append(None)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self.open.pop()
            self.keys.pop()

    def put(self, value: Any, line: int) -> None:
        """Put a value where it belongs: at the top, in a list, as a key or as the value of a key."""
        if not self.open:
            if self.roots:
                raise self.error("one document", "another one", line)
            self.roots.append(value)
            return
        holder, key = self.open[-1], self.keys[-1]
        if isinstance(holder, YamlList):
            holder.append(value)
            holder.lines.append(line)
        elif key is not None:
            holder[key] = value
            self.keys[-1] = None
        elif not isinstance(value, str):
            raise self.error("text as a key", "a list or a mapping", line)
        elif value in holder:
            first = holder.lines[value]
            raise self.error("each key once", f"{str(value)!r} as on line {first}", line)
        else:
            holder.lines[str(value)] = line
            self.keys[-1] = str(value)

    def error(self, expected: str, got: str, line: int) -> DataError:
        return MalformedLineError(f"expected {expected}, got {got}", path=self.path, line=line)
