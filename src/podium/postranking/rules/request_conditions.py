"""Conditions on requests: tests of texts, numbers and times, connected by all, any and not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from podium.postranking.rules.context_values import TIME, ContextValues, context_text
from podium.postranking.rules.dates_and_queries import matches_pattern
from podium.postranking.rules.index_keys import (
    IndexKey,
    KeySet,
    Span,
    other_time_keys,
    time_keys,
)
from podium.postranking.rules.request_times import TimeSpans
from podium.postranking.rules.text_matching import (
    allowed_edits,
    are_similar,
    piece_of_pattern,
    shortened_words,
    split_words,
    stem_words,
)
from podium.work_budget import spend

MAX_SHOWN_VALUES = 3
"""The number of values of a test in a sentence."""


class When(ABC):
    """A condition on requests. A rule with a condition is on if the request meets it."""

    @abstractmethod
    def is_met(self, values: ContextValues) -> bool:
        """Whether a request meets the condition."""

    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """Return the condition as a rule file has it."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the condition in words."""

    def index_keys(self) -> list[KeySet]:
        """Return key sets: a request that meets the condition has a key of each set."""
        return []

    def other_keys(self) -> list[KeySet]:
        """Return key sets: a request that does not meet the condition has a key of each set."""
        return []

    def excluded_texts(self) -> tuple[str, frozenset[str]] | None:
        """Return a name and texts with one of which no request meets the condition, if that is all."""
        return None

    def example(self) -> dict[str, Any] | None:
        """Return a context that often meets the condition, with its query; None if none is known."""
        return {}

    def tests(self) -> Iterator[When]:
        """Yield the tests that the condition connects."""
        yield self

    def __repr__(self) -> str:
        return repr(self.entry())


@dataclass(frozen=True, repr=False)
class AllOf(When):
    """A condition that is met if each of its parts is."""

    parts: tuple[When, ...]

    def is_met(self, values: ContextValues) -> bool:
        """Whether a request meets each part."""
        return all(part.is_met(values) for part in self.parts)

    def entry(self) -> dict[str, Any]:
        """Return one mapping if all keys differ, else a list under ``all``."""
        entries = [part.entry() for part in self.parts]
        joined = {key: value for entry in entries for key, value in entry.items()}
        return joined if len(joined) == sum(map(len, entries)) else {"all": entries}

    def __str__(self) -> str:
        return " and ".join(
            f"({part})" if isinstance(part, AnyOf) else str(part) for part in self.parts
        )

    def index_keys(self) -> list[KeySet]:
        """Return the sets of all parts."""
        return [keys for part in self.parts for keys in part.index_keys()]

    def other_keys(self) -> list[KeySet]:
        """Return the union of one set of each part."""
        return _union([part.other_keys() for part in self.parts])

    def excluded_texts(self) -> tuple[str, frozenset[str]] | None:
        """Return the texts of the part that has the most."""
        own = [texts for part in self.parts if (texts := part.excluded_texts())]
        return max(own, key=lambda texts: len(texts[1]), default=None)

    def example(self) -> dict[str, Any] | None:
        """Return a context with the values of every part; None if two parts differ."""
        return merge_examples([part.example() for part in self.parts])

    def tests(self) -> Iterator[When]:
        """Yield the tests of all parts."""
        for part in self.parts:
            yield from part.tests()


@dataclass(frozen=True, repr=False)
class AnyOf(When):
    """A condition that is met if one of its parts is."""

    parts: tuple[When, ...]

    def is_met(self, values: ContextValues) -> bool:
        """Whether a request meets a part."""
        return any(part.is_met(values) for part in self.parts)

    def entry(self) -> dict[str, Any]:
        """Return a list under ``any``."""
        return {"any": [part.entry() for part in self.parts]}

    def __str__(self) -> str:
        return " or ".join(
            f"({part})" if isinstance(part, AllOf) else str(part) for part in self.parts
        )

    def index_keys(self) -> list[KeySet]:
        """Return the union of one set of each part."""
        return _union([part.index_keys() for part in self.parts])

    def other_keys(self) -> list[KeySet]:
        """Return the sets of all parts."""
        return [keys for part in self.parts for keys in part.other_keys()]

    def example(self) -> dict[str, Any] | None:
        """Return the context of the first part that has one."""
        return next((e for part in self.parts if (e := part.example()) is not None), None)

    def tests(self) -> Iterator[When]:
        """Yield the tests of all parts."""
        for part in self.parts:
            yield from part.tests()


@dataclass(frozen=True, repr=False)
class Not(When):
    """A condition that is met if its part is not. A request without the value meets it."""

    part: When

    def is_met(self, values: ContextValues) -> bool:
        """Whether a request does not meet the part."""
        return not self.part.is_met(values)

    def entry(self) -> dict[str, Any]:
        """Return the part under ``not``."""
        return {"not": self.part.entry()}

    def __str__(self) -> str:
        return f"not ({self.part})"

    def index_keys(self) -> list[KeySet]:
        """Return the sets of requests that do not meet the part."""
        return self.part.other_keys()

    def other_keys(self) -> list[KeySet]:
        """Return the sets of the part."""
        return self.part.index_keys()

    def excluded_texts(self) -> tuple[str, frozenset[str]] | None:
        """Return the texts of the part if it compares whole texts."""
        part = self.part
        if isinstance(part, TextTest) and part.match == "is" and not part.is_by_words:
            return part.name, part.whole_texts
        return None

    def tests(self) -> Iterator[When]:
        """Yield the tests of the part."""
        yield from self.part.tests()


@dataclass(frozen=True, repr=False)
class TextTest(When):
    """A test of texts: one of them is a value, is like a pattern, or has the words of a value.

    Parameters
    ----------
    name
        The name of the texts, such as ``query`` or ``device``.
    values
        The values, of which one is enough.
    match
        ``is``, ``glob``, ``words`` (all of them, in any order) or ``phrase`` (next to each other).
    stem
        A stemmer, such as ``english``. With a stemmer or `edits`, also ``is`` compares word by
        word, without accents and punctuation.
    edits
        How many wrong letters a word may have: 0, 1 or 2.
    """

    name: str
    values: tuple[str, ...]
    match: str = "is"
    stem: str = ""
    edits: int = 0

    @property
    def is_by_words(self) -> bool:
        """Whether texts are compared word by word."""
        return self.match in ("words", "phrase") or (
            self.match == "is" and bool(self.stem or self.edits)
        )

    def is_met(self, values: ContextValues) -> bool:
        """Whether one of the request's texts matches a value."""
        texts = values.texts.get(self.name, ())
        spend(1 + len(texts))
        if self.match == "is" and not self.is_by_words:
            return any(text in self.whole_texts for text in texts)
        return any(self._matches(value, text) for text in texts for value in self.values)

    @cached_property
    def whole_texts(self) -> frozenset[str]:
        """The values in the form in which texts of a request are compared."""
        return frozenset(map(context_text, self.values))

    def _matches(self, value: str, text: str) -> bool:
        if self.match == "glob":
            return matches_pattern(value, text)
        pattern, words = self._words(value), self._words(text)
        spend(1 + len(pattern) * len(words) // 4)
        if self.match == "words":
            return all(any(self._same(one, word) for word in words) for one in pattern)
        starts = range(len(words) - len(pattern) + 1) if self.match == "phrase" else range(1)
        return (self.match == "phrase" or len(words) == len(pattern)) and any(
            all(map(self._same, pattern, words[start:])) for start in starts
        )

    def _words(self, text: str) -> tuple[str, ...]:
        return stem_words(self.stem, text) if self.stem else split_words(text)

    def _same(self, one: str, word: str) -> bool:
        return are_similar(one, word, allowed_edits(one, self.edits))

    def index_keys(self) -> list[KeySet]:
        """Return the values, pieces of patterns, or words and their shortened forms."""
        if self.match == "glob":
            pieces = [piece_of_pattern(value) for value in self.values]
            kind = ("piece", self.name)
            return [frozenset(IndexKey(kind, piece) for piece in pieces)] if all(pieces) else []
        if not self.is_by_words:
            return [frozenset(IndexKey(("is", self.name), text) for text in self.whole_texts)]
        words = [self._words(value) for value in self.values]
        if len(words) == 1:
            return [self._word_keys(word) for word in words[0]]
        return _union([[self._word_keys(max(own, key=len))] for own in words])

    def _word_keys(self, word: str) -> KeySet:
        stem, edits = self.stem or "none", allowed_edits(word, self.edits)
        if not edits:
            return frozenset({IndexKey(("stem", self.name, stem), word)})
        kind = ("near", self.name, stem, str(edits))
        return frozenset(IndexKey(kind, short) for short in shortened_words(word, edits))

    def example(self) -> dict[str, Any] | None:
        """Return the first value under its name; a pattern without its wildcards."""
        value = self.values[0]
        return {
            self.name: value.replace("*", "").replace("?", "x") if self.match == "glob" else value
        }

    def entry(self) -> dict[str, Any]:
        """Return a value or a list under the name, with the kind of match unless it is ``is``."""
        value: Any = self.values[0] if len(self.values) == 1 else list(self.values)
        if self.match == "is" and not self.is_by_words:
            return {self.name: value}
        options = {"stem": self.stem, "edits": self.edits}
        return {self.name: {self.match: value, **{k: v for k, v in options.items() if v}}}

    def __str__(self) -> str:
        listed = " or ".join(self.values[:MAX_SHOWN_VALUES])
        more = len(self.values) - MAX_SHOWN_VALUES
        verbs = {"is": "is", "glob": "is like", "words": "has the words", "phrase": "has"}
        return f"{self.name} {verbs[self.match]} {listed}" + (
            f" or {more:,} others" if more > 0 else ""
        )


@dataclass(frozen=True, repr=False)
class NumberTest(When):
    """A test of numbers: one of them is within bounds."""

    name: str
    least: float | None = None
    most: float | None = None

    def is_met(self, values: ContextValues) -> bool:
        """Whether one of the request's numbers is within the bounds."""
        numbers = values.numbers.get(self.name, ())
        spend(1 + len(numbers))
        low = float("-inf") if self.least is None else self.least
        high = float("inf") if self.most is None else self.most
        return any(low <= number <= high for number in numbers)

    def index_keys(self) -> list[KeySet]:
        """Return the span of its numbers."""
        return [frozenset({IndexKey(("number", self.name), Span(self.least, self.most))})]

    def other_keys(self) -> list[KeySet]:
        """Return the spans beside it, and a key for requests without a number."""
        kind = ("number", self.name)
        spans = [Span(None, self.least)] if self.least is not None else []
        spans += [Span(self.most, None)] if self.most is not None else []
        absent = IndexKey(("absent", self.name), "")
        return [frozenset([absent, *(IndexKey(kind, span) for span in spans)])]

    def example(self) -> dict[str, Any] | None:
        """Return a bound under the name."""
        return {self.name: self.most if self.least is None else self.least}

    def entry(self) -> dict[str, Any]:
        """Return the bounds under the name."""
        bounds = {"at-least": self.least, "at-most": self.most}
        return {self.name: {key: value for key, value in bounds.items() if value is not None}}

    def __str__(self) -> str:
        bounds = [f"at least {self.least:g}"] if self.least is not None else []
        bounds += [f"at most {self.most:g}"] if self.most is not None else []
        return f"{self.name} is {' and '.join(bounds)}"


@dataclass(frozen=True, repr=False)
class TimeTest(When):
    """A test of the time of a request."""

    spans: TimeSpans

    def is_met(self, values: ContextValues) -> bool:
        """Whether the request comes within the spans."""
        spend(4)
        return self.spans.has(values.moment)

    def index_keys(self) -> list[KeySet]:
        """Return the minutes of the week and the dates of its spans."""
        return time_keys(self.spans)

    def other_keys(self) -> list[KeySet]:
        """Return the minutes of the week and the dates beside its spans."""
        return other_time_keys(self.spans)

    def example(self) -> dict[str, Any] | None:
        """Return a moment within the spans."""
        moment = self.spans.example()
        return None if moment is None else {TIME: moment.isoformat()}

    def entry(self) -> dict[str, Any]:
        """Return the spans under ``time``."""
        return {TIME: self.spans.entry()}

    def __str__(self) -> str:
        parts = self.spans.entry()
        zone = parts.pop("zone")
        return f"the time is {', '.join(' or '.join(values) for values in parts.values())} ({zone})"


def _union(sets: list[list[KeySet]]) -> list[KeySet]:
    """Return the union of the smallest set of each part; nothing if a part has none."""
    return [frozenset().union(*(min(own, key=len) for own in sets))] if all(sets) else []


def merge_examples(examples: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return one context with the values of all; None if two of them differ in a value.

    Examples
    --------
    >>> merge_examples([{"device": "mobile"}, {"query": "clock"}]), merge_examples([{"a": "x"}, {"a": "y"}])
    ({'device': 'mobile', 'query': 'clock'}, None)
    """
    merged: dict[str, Any] = {}
    for example in examples:
        if example is None or any(
            merged.get(name, value) != value for name, value in example.items()
        ):
            return None
        merged |= example
    return merged
