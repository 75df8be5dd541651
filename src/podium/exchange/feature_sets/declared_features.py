"""Declared features: what a search engine computes for a query and a document, one class per kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TextScore:
    """The score of the query's words in the best of these fields; 0 if none of them is there."""

    fields: tuple[str, ...]
    lacks_values = False


@dataclass(frozen=True)
class FieldNumber:
    """The number in a field of the document; without a default, documents may lack it."""

    field: str
    default: float | None = None

    @property
    def lacks_values(self) -> bool:
        """Whether a document may lack this feature."""
        return self.default is None


@dataclass(frozen=True)
class FieldWord:
    """1 if a field of the document has this word, else 0."""

    field: str
    word: str
    lacks_values = False


@dataclass(frozen=True)
class RequestNumber:
    """A number that comes with each request."""

    parameter: str
    lacks_values = False


@dataclass(frozen=True)
class FeatureFormula:
    """A formula of other features of the set."""

    expression: str
    lacks_values = False


@dataclass(frozen=True)
class EngineTemplates:
    """The feature in the words of each engine: a query, a class with params, or an expression."""

    templates: Mapping[str, Any]
    lacks_values = True


FeatureDefinition = (
    TextScore | FieldNumber | FieldWord | RequestNumber | FeatureFormula | EngineTemplates
)


@dataclass(frozen=True)
class FeatureSet:
    """Features by name, in the order of the training data.

    Parameters
    ----------
    name
        The name of the feature set, feature store or rank profile in the engine.
    features
        The definition of each feature.

    Examples
    --------
    >>> features = FeatureSet("shop", {"title": TextScore(("title",)), "price": FieldNumber("price")})
    >>> features.lacking()
    ['price']
    >>> features.text_fields()
    ['title']
    """

    name: str
    features: Mapping[str, FeatureDefinition]

    def lacking(self) -> list[str]:
        """Return the features that a document may lack."""
        return [name for name, feature in self.features.items() if feature.lacks_values]

    def text_fields(self) -> list[str]:
        """Return the fields of the text scores, each once."""
        scores = [f for f in self.features.values() if isinstance(f, TextScore)]
        return list(dict.fromkeys(field for score in scores for field in score.fields))

    def request_parameters(self) -> list[str]:
        """Return the numbers that come with each request, each once."""
        numbers = [f for f in self.features.values() if isinstance(f, RequestNumber)]
        return list(dict.fromkeys(number.parameter for number in numbers))
