"""Feature sets of the LTR plug-ins of Elasticsearch and OpenSearch: query templates in Mustache.

Each template of podium matches every document, so that each feature has a value: OpenSearch 3.2 and
later give NaN to a feature whose query does not match. A number without a default matches only the
documents that have it.
"""

from __future__ import annotations

from typing import Any

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

KEYWORDS = "keywords"
"""The parameter with the words of the query."""


def elasticsearch_feature_set(features: FeatureSet, engine: str) -> dict[str, Any]:
    """Return the body for ``POST _ltr/_featureset/NAME``."""
    entries = [
        _entry(name, feature, engine, features) for name, feature in features.features.items()
    ]
    return {"featureset": {"name": features.name, "features": entries}}


def _entry(
    name: str, feature: FeatureDefinition, engine: str, features: FeatureSet
) -> dict[str, Any]:
    numbers = features.request_parameters()
    if isinstance(feature, RequestNumber):
        return _feature(name, [feature.parameter], "derived_expression", feature.parameter)
    if isinstance(feature, FeatureFormula):
        return _feature(name, numbers, "derived_expression", feature.expression)
    template = _template(name, feature, engine)
    params = [p for p in (KEYWORDS, *numbers) if f"{{{{{p}}}}}" in str(template)]
    return _feature(name, params, "mustache", template)


def _feature(name: str, params: list[str], language: str, template: Any) -> dict[str, Any]:
    return {
        "name": name, "params": params, "template_language": language, "template": template,
    }  # fmt: skip


def _template(name: str, feature: FeatureDefinition, engine: str) -> Any:
    if isinstance(feature, TextScore):
        return {"bool": {"filter": [{"match_all": {}}], "should": [text_query(feature.fields)]}}
    if isinstance(feature, FieldNumber):
        return _number(feature)
    if isinstance(feature, FieldWord):
        term = {"term": {feature.field: feature.word}}
        functions = [
            {"filter": term, "weight": 1},
            {"filter": {"bool": {"must_not": [term]}}, "weight": 0},
        ]
        return _function_score({"match_all": {}}, functions)
    assert isinstance(feature, EngineTemplates)
    templates = feature.templates
    for source in (engine, "elasticsearch" if engine == "opensearch" else engine):
        if source in templates:
            return templates[source]
    raise UsageError(
        f"feature {name!r} has no template for {engine}; it has {', '.join(templates)}"
    )


def text_query(fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the query that scores the best of these fields."""
    words = f"{{{{{KEYWORDS}}}}}"
    if len(fields) == 1:
        return {"match": {fields[0]: words}}
    return {"multi_match": {"query": words, "fields": list(fields)}}


def _number(feature: FieldNumber) -> dict[str, Any]:
    value: dict[str, Any] = {"field": feature.field}
    query: dict[str, Any] = {"exists": {"field": feature.field}}
    if feature.default is not None:
        value, query = value | {"missing": feature.default}, {"match_all": {}}
    return _function_score(query, [{"field_value_factor": value}])


def _function_score(query: dict[str, Any], functions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"function_score": {"query": query, "functions": functions, "boost_mode": "replace"}}
