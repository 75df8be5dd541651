"""QuestionPrompts: the prompt of each question, with texts of documents that cannot leave their frame."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from podium.errors import DataError, UsageError
from podium.labelling.guidelines import Guidelines
from podium.labelling.machines.answer_schema import (
    AnswerSchema,
    grade_schema,
    pair_schema,
    set_schema,
)
from podium.labelling.machines.prompt_templates import (
    Prompt,
    PromptTemplate,
    QuestionKind,
    builtin_template,
)
from podium.labelling.pools import PoolDocument, PoolQuery

DOCUMENT_CHARACTERS = 6_000
"""The default number of characters of a document that a machine reads."""

MAX_SET_SIZE = 20
"""The most documents in one question."""
_HIDDEN_TAGS = frozenset({"script", "style"})
_INLINE_TAGS = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr",
})  # fmt: skip
"""Tags that browsers show without a gap."""


@dataclass(frozen=True)
class QuestionPrompts:
    """Makes prompts.

    Parameters
    ----------
    templates
        Templates by the kind of question; podium's own by default.
    guidelines
        The guidelines of the project, or None.
    document_characters
        How much of a document is read; the rest is cut off.

    Examples
    --------
    >>> documents = PoolDocument("x", "Leap"), PoolDocument("y", "DGT")
    >>> query = PoolQuery("q1", "chess clock", documents=documents)
    >>> prompt, schema = QuestionPrompts().pair(query, *query.documents)
    >>> "Leap" in prompt.user, schema.values
    (True, ('A', 'B', 'tie', 'bad'))
    """

    templates: Mapping[QuestionKind, PromptTemplate] = field(default_factory=dict)
    guidelines: Guidelines | None = None
    document_characters: int = DOCUMENT_CHARACTERS

    def __post_init__(self) -> None:
        if self.document_characters < 1:
            raise UsageError(
                f"expected at least 1 character of a document, got {self.document_characters}"
            )

    def template(self, kind: QuestionKind) -> PromptTemplate:
        """Return the template of a kind of question."""
        return self.templates.get(kind) or builtin_template(kind)

    def pair(
        self, query: PoolQuery, a: PoolDocument, b: PoolDocument
    ) -> tuple[Prompt, AnswerSchema]:
        """Return the question which of two documents is better."""
        first, second = self._frames(query, [a, b], ["A", "B"])
        texts = {"document_a": first, "document_b": second}
        return self._fill("pair", query, texts, pair_schema())

    def best(
        self, query: PoolQuery, documents: Sequence[PoolDocument]
    ) -> tuple[Prompt, AnswerSchema]:
        """Return the question which of several documents is the best."""
        if not 2 <= len(documents) <= MAX_SET_SIZE:
            raise UsageError(f"expected 2 to {MAX_SET_SIZE} documents, got {len(documents)}")
        names = [str(i + 1) for i in range(len(documents))]
        texts = {"documents": "\n\n".join(self._frames(query, documents, names))}
        return self._fill("set", query, texts, set_schema(len(documents)))

    def grade(
        self, query: PoolQuery, document: PoolDocument, grades: tuple[str, ...]
    ) -> tuple[Prompt, AnswerSchema]:
        """Return the question which grade a document deserves."""
        (frame,) = self._frames(query, [document], ["1"])
        definitions = {} if self.guidelines is None else self.guidelines.grades
        lines = [f"{g}: {definitions[g]}" if g in definitions else g for g in grades]
        texts = {"document": frame, "grades": "; ".join(lines)}
        return self._fill("grade", query, texts, grade_schema(grades))

    def _fill(
        self, kind: QuestionKind, query: PoolQuery, texts: dict[str, str], schema: AnswerSchema
    ) -> tuple[Prompt, AnswerSchema]:
        text = "" if self.guidelines is None else self.guidelines.text.strip()
        texts |= {
            "query": one_line(query.text or query.id),
            "description": one_line(query.description),
            "guidelines": f"The guidelines of this project:\n{text}" if text else "",
            "answer_format": schema.instruction,
        }
        return self.template(kind).fill(texts), schema

    def _frames(
        self, query: PoolQuery, documents: Sequence[PoolDocument], names: Sequence[str]
    ) -> list[str]:
        """Return the documents in frames. A document cannot end its frame: it does not know the mark."""
        texts = [document_text(document, self.document_characters) for document in documents]
        mark = hashlib.sha256("\0".join([query.id, query.text, *texts]).encode()).hexdigest()[:10]
        return [
            f"<document-{mark} {name}>\n{text}\n</document-{mark}>"
            for name, text in zip(names, texts, strict=True)
        ]


def one_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return " ".join(_printable(text).split())


def document_text(document: PoolDocument, characters: int = DOCUMENT_CHARACTERS) -> str:
    """Return the title and the text of a document, cut off after some characters.

    Examples
    --------
    >>> document_text(PoolDocument("x", "<p>Leap<script>x()</script> & co</p>", "html", title="Clock"))
    'Clock\\nLeap & co'
    """
    if document.kind == "image":
        raise DataError(
            f"document {document.id!r:.60} is an image, which machine assessors cannot see"
        )
    content = document.content if document.kind == "text" else _html_text(document.content)
    text = _printable("\n".join(filter(None, (document.title, content)))).strip()
    return text if len(text) <= characters else f"{text[:characters]} [cut off]"


def _printable(text: str) -> str:
    """Return a text without control characters, which could hide instructions from people.

    Unusual blanks become blanks, so that words stay apart.
    """
    return "".join(
        c if c.isprintable() or c in "\n\t" else " " if c.isspace() else "" for c in text
    )


class _TextParser(HTMLParser):
    """Collects the text of HTML; only inline tags can stand within a word."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in _HIDDEN_TAGS
        self._separate_words(tag)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN_TAGS and self._hidden > 0
        self._separate_words(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)

    def _separate_words(self, tag: str) -> None:
        if tag not in _INLINE_TAGS and tag not in _HIDDEN_TAGS:
            self.parts.append(" ")


def _html_text(html: str) -> str:
    parser = _TextParser()
    parser.feed(html)
    parser.close()
    return " ".join("".join(parser.parts).split())
