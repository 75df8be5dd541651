"""The condition index: which rules can be on for a request, found by what the request has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from podium.postranking.rules.context_values import QUERY, ContextValues
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.rules.request_conditions import IndexKey
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.text_matching import piece_of_pattern, pieces_of_text, stem_words


class NumberedCondition(NamedTuple):
    """The number of a rule and the sets of keys of its conditions."""

    number: int
    key_sets: list[frozenset[IndexKey]]


class ConditionIndex:
    """Rules by keys of their conditions: a request needs to look only at rules that share a key with it.

    A rule has sets of keys, and a request that meets its conditions has a key of each set. The rule
    is kept under the keys of the set that the fewest rules share. A rule without keys, such as one
    whose condition is only a time, is a candidate for every request.

    Examples
    --------
    >>> from podium.postranking import Hide
    >>> index = ConditionIndex([Hide("a", when={"device": "mobile"}), Hide("b", query="chess"), Hide("c")])
    >>> index.candidates(ContextValues({"device": ("mobile",), "query": ("clock",)}))
    [0, 2]
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        entries = [NumberedCondition(at, key_sets_of(rule)) for at, rule in enumerate(rules)]
        shared = Counter(key for entry in entries for keys in entry.key_sets for key in keys)
        self.always = [entry.number for entry in entries if not entry.key_sets]
        self.by_key: dict[IndexKey, list[int]] = {}
        for entry in entries:
            if entry.key_sets:
                best = min(entry.key_sets, key=lambda keys: sum(shared[key] for key in keys))
                for key in best:
                    self.by_key.setdefault(key, []).append(entry.number)
        self.names = {key[1] for key in self.by_key}
        self.stemmers: dict[str, set[str]] = {}
        piece_lengths: dict[tuple[str, ...], set[int]] = {}
        for kind, name, *rest in self.by_key:
            if kind in ("stem", "word piece"):
                self.stemmers.setdefault(name, set()).add(rest[0])
            if kind in ("piece", "word piece"):
                piece_lengths.setdefault((kind, name, *rest[:-1]), set()).add(len(rest[-1]))
        self.piece_lengths = {key: frozenset(sizes) for key, sizes in piece_lengths.items()}

    def candidates(self, values: ContextValues) -> list[int]:
        """Return the numbers of the rules whose conditions a request may meet, in their order."""
        numbers = set(self.always)
        by_key = self.by_key
        for name in self.names.intersection(values.texts):
            for text in values.texts[name]:
                for key in self._keys(name, text):
                    numbers.update(by_key.get(key, ()))
        return sorted(numbers)

    def _keys(self, name: str, text: str) -> Iterator[IndexKey]:
        """Yield the keys of a text that are kept here."""
        yield "is", name, text
        yield from self._pieces(("piece", name), text)
        for stemmer in self.stemmers.get(name, ()):
            words = stem_words(stemmer, text)
            for word in words:
                yield "stem", name, stemmer, word
            yield from self._pieces(("word piece", name, stemmer), " ".join(words))

    def _pieces(self, key: IndexKey, text: str) -> Iterator[IndexKey]:
        lengths = self.piece_lengths.get(key)
        if lengths is not None:
            for piece in pieces_of_text(text, lengths):
                yield *key, piece


def key_sets_of(rule: Rule) -> list[frozenset[IndexKey]]:
    """Return the sets of keys of a rule's query, pattern and condition."""
    sets = [] if rule.condition is None else list(rule.condition.index_keys())
    if rule.query is not None:
        sets.append(frozenset({("is", QUERY, normalise_query(rule.query))}))
    if rule.pattern is not None and piece_of_pattern(rule.pattern):
        sets.append(frozenset({("piece", QUERY, piece_of_pattern(rule.pattern))}))
    return sets
