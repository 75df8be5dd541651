"""Prompt templates: files with a version, filled with a query, documents and the guidelines."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import yaml

from podium.errors import DataError, UnknownNameError
from podium.typing import Path_

QuestionKind = Literal["pair", "set", "grade"]
"""What a machine is asked: which of two, the best of several, or the grade of one document."""

MAX_TEMPLATE_CHARACTERS = 50_000
"""The longest template."""

_COMMON = {"query", "description", "guidelines", "answer_format"}
PLACEHOLDERS: dict[QuestionKind, frozenset[str]] = {
    "pair": frozenset({*_COMMON, "document_a", "document_b"}),
    "set": frozenset({*_COMMON, "documents"}),
    "grade": frozenset({*_COMMON, "document", "grades"}),
}
"""The names between ``{{`` and ``}}`` that a template of each kind may have."""
_OPTIONAL = {"description", "guidelines"}

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_HEADER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_SECTIONS = re.compile(r"\A\s*(?:## system\n(.*?)\n)?## user\n(.*)\Z", re.DOTALL)


@dataclass(frozen=True)
class Prompt:
    """A filled template: what the system says, and what the user says."""

    system: str
    user: str


@dataclass(frozen=True)
class PromptTemplate:
    """A template of one kind of question.

    Parameters
    ----------
    kind
        The kind of question.
    name, version
        Its name, and its version: a new text needs a new version.
    system, user
        The two parts, with placeholders such as ``{{query}}``.

    Examples
    --------
    >>> template = builtin_template("grade")
    >>> template.name, template.version, len(template.fingerprint)
    ('podium-grade', 1, 12)
    """

    kind: QuestionKind
    name: str
    version: int
    system: str
    user: str

    @property
    def fingerprint(self) -> str:
        """A short hash of the text, so that a changed text with an old version is noticed."""
        return hashlib.sha256(f"{self.system}\0{self.user}".encode()).hexdigest()[:12]

    @property
    def label(self) -> str:
        """The name, the version and the fingerprint."""
        return f"{self.name} {self.version} ({self.fingerprint})"

    def fill(self, values: Mapping[str, str]) -> Prompt:
        """Return the prompt. Placeholders inside a value stay as they are."""

        def replace(match: re.Match[str]) -> str:
            return values[match[1]]

        system, user = (_PLACEHOLDER.sub(replace, text) for text in (self.system, self.user))
        return Prompt(system.strip(), user.strip())


def read_template(path: Path_, kind: QuestionKind | None = None) -> PromptTemplate:
    """Read a template: a YAML header with kind, name and version, then ``## system`` and ``## user``.

    Parameters
    ----------
    path
        The file: UTF-8.
    kind
        The kind that is needed; a template of another kind raises.
    """
    name = os.fspath(path)
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("the template is not UTF-8 text; save it as UTF-8", path=name) from None
    template = parse_template(text, name)
    if kind is not None and template.kind != kind:
        raise DataError(f"expected a template of kind {kind}, got {template.kind}", path=name)
    return template


def builtin_template(kind: QuestionKind) -> PromptTemplate:
    """Return podium's own template of a kind of question."""
    if kind not in get_args(QuestionKind):
        raise UnknownNameError("kind of question", str(kind), get_args(QuestionKind))
    file = files("podium.labelling.machines") / "prompts" / f"{kind}.md"
    return parse_template(file.read_text(encoding="utf-8"), f"{kind}.md")


def parse_template(text: str, path: str) -> PromptTemplate:
    """Return the template of a text; `path` names it in errors."""
    if len(text) > MAX_TEMPLATE_CHARACTERS:
        raise DataError(
            f"expected a template of at most {MAX_TEMPLATE_CHARACTERS:,} characters, got {len(text):,}",
            path=path,
        )
    parts = _HEADER.match(text.replace("\r\n", "\n"))
    if parts is None:
        raise DataError("expected a header between lines of ---", path=path, line=1)
    try:
        header = yaml.safe_load(parts[1])
    except yaml.YAMLError as error:
        raise DataError(" ".join(str(error).split()), path=path) from None
    if not isinstance(header, dict) or set(header) != {"kind", "name", "version"}:
        raise DataError("expected a header with kind, name and version", path=path, line=1)
    kind, version = header["kind"], header["version"]
    if kind not in get_args(QuestionKind) or type(version) is not int or version < 1:
        raise DataError(
            f"expected kind {', '.join(get_args(QuestionKind))} and a version of 1 or more, "
            f"got {kind!r:.40} and {version!r:.40}", path=path,
        )  # fmt: skip
    sections = _SECTIONS.match(parts[2])
    if sections is None:
        raise DataError("expected the sections '## system' and '## user', or '## user'", path=path)
    _check_placeholders(kind, parts[2], path)
    return PromptTemplate(kind, str(header["name"]), version, sections[1] or "", sections[2])


def _check_placeholders(kind: QuestionKind, text: str, path: str) -> None:
    names = set(_PLACEHOLDER.findall(text))
    if unknown := sorted(names - PLACEHOLDERS[kind]):
        raise UnknownNameError("placeholder", unknown[0], PLACEHOLDERS[kind], path=path)
    if lacking := sorted(PLACEHOLDERS[kind] - names - _OPTIONAL):
        raise DataError(
            f"expected the placeholder {{{{{lacking[0]}}}}} in a {kind} template", path=path
        )
