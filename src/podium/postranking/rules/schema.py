"""The JSON Schema of rule files, made from the rules themselves."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from podium.features.stemmers import STEMMERS
from podium.postranking.rules.entries import DATES, PARTS, choosers_of
from podium.postranking.rules.files import VERSION
from podium.postranking.rules.rule import MAX_NUMBER, MAX_WEIGHT, Rule, counts, measures
from podium.postranking.rules.rule_kinds import RULES
from podium.postranking.rules.text_matching import MAX_EDITS
from podium.postranking.rules.when_entries import BOUNDS, MATCHES

RuleSchema = dict[str, Any]

# Podium reads text exactly as written, but editors read 300 and true as other types.
_TEXT: RuleSchema = {"type": ["string", "number", "boolean"]}
_IDS: RuleSchema = {
    "anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True}]
}
_WHERE: RuleSchema = {**_TEXT, "description": 'A condition on fields, such as brand == "acme".'}
_CHOOSERS: dict[str, RuleSchema] = {
    "docs": {**_IDS, "description": "An id, or a list of ids."},
    "where": _WHERE,
    "each": {**_TEXT, "description": "A field: the rule applies to each of its values separately."},
}
_PART: RuleSchema = {
    "anyOf": [
        *_IDS["anyOf"],
        {
            "type": "object",
            "properties": {"where": _WHERE},
            "required": ["where"],
            "additionalProperties": False,
        },
    ],
    "description": "An id, a list of ids, or where: and a condition.",
}
_WHEN: RuleSchema = {
    "type": "object",
    "minProperties": 1,
    "properties": {
        **{
            key: {"type": "array", "items": {"$ref": "#/$defs/when"}, "minItems": 1}
            for key in ("all", "any")
        },
        "not": {"$ref": "#/$defs/when"},
        "time": {
            "type": "object",
            "properties": {
                "zone": {"type": "string", "description": "Such as Europe/Berlin; UTC by default."},
                "days": {**_IDS, "description": "Such as monday to friday."},
                "hours": {**_IDS, "description": "Such as 08:00 to 20:00."},
                "dates": {**_IDS, "description": "Such as 2026-11-27 to 2026-11-30."},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": {"$ref": "#/$defs/when-test"},
}
_WHEN_TEST: RuleSchema = {
    "anyOf": [
        *_IDS["anyOf"],
        {
            "type": "object",
            "properties": {
                **dict.fromkeys(MATCHES, _IDS),
                "file": {
                    "type": "string",
                    "description": "A file beside this one, a value per line.",
                },
                "stem": {"enum": list(STEMMERS)},
                "edits": {"type": "integer", "minimum": 0, "maximum": MAX_EDITS},
            },
            "additionalProperties": False,
            "oneOf": [{"required": [key]} for key in (*MATCHES, "file")],
        },
        {
            "type": "object",
            "properties": {key: {"type": "number"} for key in BOUNDS},
            "additionalProperties": False,
            "minProperties": 1,
        },
    ],
    "description": "A value, a list of values, or a mapping with is, glob, words or phrase.",
}
_COMMON: dict[str, RuleSchema] = {
    "weight": {
        "type": "number", "minimum": 0, "maximum": MAX_WEIGHT,
        "description": "How much the rule counts against the original order.",
    },
    "hard": {"type": "boolean", "description": "Whether the rule must hold."},
    "name": {**_TEXT, "description": "The name of the rule in reports."},
    "query": {**_TEXT, "description": "The text of the query for which the rule is."},
    "pattern": {**_TEXT, "description": "Alternatively a pattern of queries, with * and ?."},
    "starts": {"description": "The first day on which it holds."},
    "ends": {"description": "The last day on which it holds."},
    "priority": {
        "type": "integer", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER,
        "description": "If hard rules conflict and may yield, the rule of lowest priority "
                       "gives way.",
    },
    "when": {
        "$ref": "#/$defs/when",
        "description": "A condition on what a request carries, such as {device: mobile}.",
    },
    "class": {
        **_TEXT,
        "description": "The class of the rule, such as legal, stock or campaign: a rule of a weaker "
                       "class gives way.",
    },
}  # fmt: skip
for _date in DATES:
    _COMMON[_date] |= {"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"}


def schema() -> RuleSchema:
    """Return the JSON Schema (draft 2020-12) of rule files, for editors.

    It cannot check everything: only `read_rules` reads conditions and compares dates.

    Examples
    --------
    >>> schema()["properties"]["version"]
    {'const': 1}
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Podium rules",
        "description": "Rules that podium postrank applies to ranked lists.",
        "type": "object",
        "properties": {
            "version": {"const": VERSION},
            "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}},
        },
        "required": ["version", "rules"],
        "additionalProperties": False,
        "$defs": {
            "rule": {
                "type": "object",
                "properties": {"rule": {"enum": list(RULES)}},
                "required": ["rule"],
                "not": {"required": ["query", "pattern"]},
                "allOf": [
                    {
                        "if": {"properties": {"rule": {"const": name}}},
                        "then": {"$ref": f"#/$defs/{name}"},
                    }
                    for name in RULES
                ],
            },
            **{name: _rule(kind) for name, kind in RULES.items()},
            "when": _WHEN,
            "when-test": _WHEN_TEST,
        },
    }


def _rule(kind: type[Rule]) -> RuleSchema:
    """Return the schema of one kind of rule."""
    own: RuleSchema = {
        name: {"type": "integer", "minimum": whole.low, "maximum": whole.high}
        for name, whole in counts(kind).items()
    } | {
        name: {"type": "number", "minimum": real.low, "maximum": real.high}
        for name, real in measures(kind).items()
    }
    needed = [f.name for f in fields(kind) if f.name in own and f.default is MISSING]
    two = len(kind.roles) == 2
    choosers = PARTS if two else choosers_of(kind)
    documents = dict.fromkeys(PARTS, _PART) if two else {key: _CHOOSERS[key] for key in choosers}
    entry: RuleSchema = {
        "description": (kind.__doc__ or "").partition("\n")[0],
        "properties": {"rule": {"const": kind.kind}, **documents, **own, **_COMMON},
        "required": ["rule", *(PARTS if two else ()), *needed],
        "additionalProperties": False,
    }
    return entry if two else entry | {"oneOf": [{"required": [key]} for key in choosers]}
