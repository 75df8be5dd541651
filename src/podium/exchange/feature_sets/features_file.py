"""The file of declared features, ``features.yaml``: the name of each feature and its definition."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.data.number_parsing import decimal_of
from podium.errors import DataError, MalformedLineError
from podium.exchange.feature_sets.declared_features import (
    EngineTemplates,
    FeatureDefinition,
    FeatureFormula,
    FeatureSet,
    FieldNumber,
    FieldWord,
    RequestNumber,
    TextScore,
)
from podium.postranking.rules.plain_yaml import (
    UnquotedScalar,
    YamlList,
    YamlMapping,
    parse_yaml,
)
from podium.typing import Path_

FEATURE_ENGINES = ("elasticsearch", "opensearch", "solr", "vespa")
"""The engines that feature sets are written for."""
MAX_FEATURES_DEPTH = 24
"""The maximum depth of a file: queries of Elasticsearch are nested deeply."""

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_FIELD = re.compile(r"[A-Za-z_][\w.-]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMULA = re.compile(r"[\w\s.+\-*/%(),<>=!&|?:]+")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}


def read_features(path: Path_) -> FeatureSet:
    """Read declared features from a YAML file.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "features.yaml")
    >>> _ = file.write_text("name: shop\\nfeatures:\\n  title_score: {match: title}\\n")
    >>> read_features(file)
    FeatureSet(name='shop', features={'title_score': TextScore(fields=('title',))})
    """
    name = os.fspath(path)
    return _FeaturesReader(name).read(parse_yaml(Path(name).read_bytes(), name, MAX_FEATURES_DEPTH))


class _FeaturesReader:
    """Turns a YAML tree into a feature set; errors name the line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.kinds: dict[str, Callable[[YamlMapping], FeatureDefinition]] = {
            "match": self.text_score,
            "number": self.field_number,
            "word": self.field_word,
            "request": self.request_number,
            "expression": self.formula,
        }

    def error(self, message: str, line: int) -> DataError:
        return MalformedLineError(message, path=self.path, line=line)

    def read(self, tree: Any) -> FeatureSet:
        if not isinstance(tree, YamlMapping) or not isinstance(tree.get("features"), YamlMapping):
            raise self.error("expected the key features, with a definition for each name", 1)
        self.check_keys(tree, ("name", "features"))
        name, declared = tree.get("name", "podium_features"), tree["features"]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            line = tree.lines.get("name", 1)
            raise self.error(f"expected a name of letters, digits, _ and -, got {name!r:.60}", line)
        if not declared:
            raise self.error("expected at least one feature, got none", tree.lines["features"])
        features = {}
        for feature, definition in declared.items():
            line = declared.lines[feature]
            if not re.fullmatch(r"[^\s,\"'\\{}\[\]]+", feature):
                raise self.error(
                    f"expected a feature's name without spaces, commas, quotes and brackets, got "
                    f"{feature!r:.60}",
                    line,
                )
            features[feature] = self.definition(definition, line)
        self.check_formulas(features, declared)
        return FeatureSet(str(name), features)

    def definition(self, entry: Any, line: int) -> FeatureDefinition:
        kinds = [*self.kinds, *FEATURE_ENGINES]
        if not isinstance(entry, YamlMapping):
            raise self.error(f"expected one of {', '.join(kinds)}, got {entry!r:.60}", line)
        for kind, read in self.kinds.items():
            if kind in entry:
                return read(entry)
        if not entry or not set(entry) <= set(FEATURE_ENGINES):
            got = ", ".join(entry) or "nothing"
            raise self.error(f"expected one of {', '.join(kinds)}, got {got:.60}", line)
        return EngineTemplates({engine: _plain_value(value) for engine, value in entry.items()})

    def text_score(self, entry: YamlMapping) -> TextScore:
        self.check_keys(entry, ("match",))
        names = entry["match"] if isinstance(entry["match"], YamlList) else [entry["match"]]
        if not names:
            raise self.error("expected a field to match, got none", entry.lines["match"])
        return TextScore(tuple(self.field(name, entry.lines["match"]) for name in names))

    def field_number(self, entry: YamlMapping) -> FieldNumber:
        self.check_keys(entry, ("number", "default"))
        field = self.field(entry["number"], entry.lines["number"])
        if "default" not in entry:
            return FieldNumber(field)
        default = decimal_of(entry["default"]) if isinstance(entry["default"], str) else None
        if default is None or not math.isfinite(default):
            line = entry.lines["default"]
            raise self.error(f"expected a number as default, got {entry['default']!r:.60}", line)
        return FieldNumber(field, default)

    def field_word(self, entry: YamlMapping) -> FieldWord:
        self.check_keys(entry, ("word", "field"))
        if not isinstance(entry["word"], str) or re.search(r'["\\\s]', entry["word"]):
            raise self.error(
                f"expected one word without quotes, got {entry['word']!r:.60}", entry.lines["word"]
            )
        if "field" not in entry:
            raise self.error("expected the key field beside word", entry.line)
        return FieldWord(self.field(entry["field"], entry.lines["field"]), str(entry["word"]))

    def request_number(self, entry: YamlMapping) -> RequestNumber:
        self.check_keys(entry, ("request",))
        parameter, line = entry["request"], entry.lines["request"]
        if not isinstance(parameter, str) or not _PARAMETER.fullmatch(parameter):
            raise self.error(
                f"expected a name of letters, digits and _, got {parameter!r:.60}", line
            )
        return RequestNumber(str(parameter))

    def formula(self, entry: YamlMapping) -> FeatureFormula:
        self.check_keys(entry, ("expression",))
        text = entry["expression"]
        if not isinstance(text, str) or not _FORMULA.fullmatch(text):
            raise self.error(
                "expected an expression of names, numbers and operators, got "
                f"{text!r:.60}; write others for one engine, as in vespa: ...",
                entry.lines["expression"],
            )
        return FeatureFormula(str(text))

    def check_formulas(self, features: dict[str, FeatureDefinition], declared: YamlMapping) -> None:
        """Check that formulas name features of the set, and no function apart from those engines share."""
        for name, feature in features.items():
            if not isinstance(feature, FeatureFormula):
                continue
            for word, call in re.findall(r"([A-Za-z_]\w*)\s*(\(?)", feature.expression):
                if call and word not in (
                    "abs",
                    "ceil",
                    "exp",
                    "floor",
                    "max",
                    "min",
                    "pow",
                    "sqrt",
                ):
                    advice = "write it for one engine, as in vespa: ..."
                    raise self.error(
                        f"engines do not share {word}(); {advice}", declared.lines[name]
                    )
                if not call and (word not in features or word == name):
                    raise self.error(
                        f"expected names of other features in the expression, got {word!r}",
                        declared.lines[name],
                    )

    def field(self, value: Any, line: int) -> str:
        if not isinstance(value, str) or not _FIELD.fullmatch(value):
            raise self.error(f"expected the name of a field, got {value!r:.60}", line)
        return str(value)

    def check_keys(self, entry: YamlMapping, keys: tuple[str, ...]) -> None:
        for key, line in entry.lines.items():
            if key not in keys:
                raise self.error(f"expected {' and '.join(keys)}, got the key {key!r:.60}", line)


def _plain_value(value: Any) -> Any:
    """Return a YAML value with numbers, true, false and null as in JSON; quoted text stays text."""
    if isinstance(value, YamlMapping):
        return {key: _plain_value(entry) for key, entry in value.items()}
    if isinstance(value, YamlList):
        return [_plain_value(entry) for entry in value]
    if not isinstance(value, UnquotedScalar):
        return value
    if value in _CONSTANTS:
        return _CONSTANTS[value]
    if re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    number = decimal_of(value)
    return str(value) if number is None or not math.isfinite(number) else number
