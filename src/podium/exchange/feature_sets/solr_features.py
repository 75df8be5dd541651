"""Feature stores of Solr's LTR module."""

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

_CLASS = "org.apache.solr.ltr.feature."


def solr_feature_store(features: FeatureSet, keeps_missing: bool) -> list[dict[str, Any]]:
    """Return the body for ``PUT /schema/feature-store``.

    Parameters
    ----------
    features
        The declared features.
    keeps_missing
        Whether models may see NaN for a number that a document lacks (Solr 9.2 and later), or 0.
    """
    return [
        {"store": features.name, "name": name, **_definition(name, feature, keeps_missing)}
        for name, feature in features.features.items()
    ]


def _definition(name: str, feature: FeatureDefinition, keeps_missing: bool) -> dict[str, Any]:
    if isinstance(feature, TextScore):
        # The words stand behind the local parameters, where spaces and quotes are no syntax.
        return _solr_query({"q": f"{{!edismax qf='{' '.join(feature.fields)}'}}${{keywords}}"})
    if isinstance(feature, FieldNumber):
        missing = "NaN" if keeps_missing else "0"
        default = missing if feature.default is None else repr(feature.default)
        params = {"field": feature.field, "defaultValue": default}
        return {"class": _CLASS + "FieldValueFeature", "params": params}
    if isinstance(feature, FieldWord):
        return _solr_query({"fq": [f"{{!term f={feature.field}}}{feature.word}"]})
    if isinstance(feature, RequestNumber):
        value = {"value": f"${{{feature.parameter}}}", "required": True}
        return {"class": _CLASS + "ValueFeature", "params": value}
    if isinstance(feature, FeatureFormula):
        raise UsageError(
            f"Solr has no formulas of features, as {name!r} is one; write it with functions of fields, as in "
            'solr: {class: ...SolrFeature, params: {q: "{!func}div(price,sum(1,stars))"}}'
        )
    return _template(name, feature)


def _template(name: str, feature: EngineTemplates) -> dict[str, Any]:
    template = feature.templates.get("solr")
    if not isinstance(template, dict) or set(template) != {"class", "params"}:
        raise UsageError(f"feature {name!r} needs solr: {{class: ..., params: {{...}}}}")
    return dict(template)


def _solr_query(params: dict[str, Any]) -> dict[str, Any]:
    return {"class": _CLASS + "SolrFeature", "params": params}
