"""Features as functions of a rank profile of Vespa, with ``match-features`` that log them."""

from __future__ import annotations

import re

from podium.errors import UsageError
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

_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def vespa_profile(features: FeatureSet) -> str:
    """Return the rank profile, for a file of the schema's folder."""
    lines = [f"rank-profile {features.name.replace('-', '_')} inherits default {{"]
    if parameters := features.request_parameters():
        lines += ["    inputs {", *(f"        query({p}) double: 0" for p in parameters), "    }"]
    for name, feature in features.features.items():
        if not _FUNCTION.fullmatch(name):
            raise UsageError(
                f"{name!r} is not the name of a function in Vespa; expected letters, digits and _, as in "
                f"{re.sub(r'[^A-Za-z0-9_]', '_', name)!r}"
            )
        lines += [
            f"    function {name}() {{",
            f"        expression: {_expression(name, feature)}",
            "    }",
        ]
    fields = features.text_fields()
    first = " + ".join(f"bm25({field})" for field in fields) or "nativeRank"
    lines += ["    first-phase {", f"        expression: {first}", "    }", "    match-features {"]
    lines += [*(f"        {name}" for name in features.features), "    }", "}"]
    return "\n".join(lines) + "\n"


def vespa_model_profile(features: FeatureSet, model: str, kind: str, content: str) -> str:
    """Return the rank profile that ranks again by a model, above that of the features."""
    inherited = features.name.replace("-", "_")
    if kind == "LightGBM dump":
        expression = [f'        expression: lightgbm("{model}.json")']
    else:  # a rank profile whose first phase is the model
        inner = content.split("        expression {\n", 1)[1].rsplit("        }\n    }\n}", 1)[0]
        expression = ["        expression {", inner.rstrip("\n"), "        }"]
    return "\n".join(
        [f"rank-profile {model} inherits {inherited} {{", "    second-phase {",
         "        rerank-count: 100", *expression, "    }", "}", ""]
    )  # fmt: skip


def _expression(name: str, feature: FeatureDefinition) -> str:
    if isinstance(feature, TextScore):
        scores = [f"bm25({field})" for field in feature.fields]
        return scores[0] if len(scores) == 1 else _largest(scores)
    if isinstance(feature, FieldNumber):
        value = f"attribute({feature.field})"
        if feature.default is None:
            return value
        return f"if (isNan({value}) == 1, {feature.default!r}, {value})"
    if isinstance(feature, FieldWord):
        return f'if (attribute({feature.field}) == "{feature.word}", 1, 0)'
    if isinstance(feature, RequestNumber):
        return f"query({feature.parameter})"
    if isinstance(feature, FeatureFormula):
        return feature.expression
    return _template(name, feature)


def _largest(scores: list[str]) -> str:
    """Return the largest of several expressions; max takes two."""
    return scores[0] if len(scores) == 1 else f"max({scores[0]}, {_largest(scores[1:])})"


def _template(name: str, feature: EngineTemplates) -> str:
    expression = feature.templates.get("vespa")
    if not isinstance(expression, str) or not expression.strip() or set("{}\n") & set(expression):
        raise UsageError(
            f"feature {name!r} needs an expression on one line, as in vespa: bm25(title)"
        )
    return expression
