"""Hard rules that do not see documents of a list, because these lack a field that a rule names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.apps.serving.body_types import UnappliedRule
from podium.postranking import Rule
from podium.postranking.rule_index import field_names, selects_by_field
from podium.postranking.rules.field_conditions import Fields
from podium.work_budget import spend

DocumentRecord = Mapping[str, Any]
"""A document as rules see it: its id and its fields."""


@dataclass(frozen=True, eq=False)
class FieldSources:
    """Where the fields of documents come from: a catalogue by ids, and the names of its fields.

    `feature_names` are features of the request; they are no fields, so a note tells them apart.
    """

    catalogue: Mapping[str, Fields] | None
    catalogue_names: Container[str]
    feature_names: Container[str] = ()

    def lacking(self, name: str, documents: Sequence[DocumentRecord]) -> list[DocumentRecord]:
        """Return the documents that lack a field and should have it.

        A field that some document has may be absent in others on purpose. But a document that the
        catalogue lacks, or that has no fields at all while others have some, is one that rules do not see.
        """
        without = [document for document in documents if name not in document]
        if len(without) == len(documents) and name not in self.catalogue_names:
            return without
        if self.catalogue is None:
            return [document for document in without if len(document) == 1]  # only its id
        return [document for document in without if document["id"] not in self.catalogue]


def find_unapplied_rules(
    documents: Sequence[DocumentRecord],
    numbered_rules: Iterable[tuple[int, Rule]],
    sources: FieldSources,
) -> list[UnappliedRule]:
    """Return the hard rules among those that are on that do not see all documents."""
    unapplied_rules = []
    lacking: dict[str, list[DocumentRecord]] = {}
    for number, rule in numbered_rules:
        if not rule.hard or not selects_by_field(rule):
            continue
        names = []
        for name in dict.fromkeys(field_names(rule)):
            if name not in lacking:
                spend(len(documents))
                lacking[name] = sources.lacking(name, documents)
            names += [name] if lacking[name] else []
        if names:
            count = len({document["id"] for name in names for document in lacking[name]})
            unapplied_rules.append(
                UnappliedRule(
                    number=number,
                    rule=rule.label,
                    fields=names,
                    documents=count,
                    note=_note(names, count, len(documents), sources.feature_names),
                )
            )
    return unapplied_rules


def _note(names: Sequence[str], count: int, total: int, feature_names: Container[str]) -> str:
    quoted = f"the {'field' if len(names) == 1 else 'fields'} {', '.join(map(repr, names))}"
    lack = (
        f"{count:,} of {total:,} documents lack {quoted}, so the rule does not see them"
        if count < total
        else f"the documents lack {quoted}, so the rule does nothing"
    )
    features = [name for name in names if name in feature_names]
    remedy = "put it into the fields of each document, or start with --docs FILE that has it"
    if features:
        remedy = (
            "a feature is not a field: put it into the fields of each document as well, as in "
            f'"fields": {{"{features[0]}": ...}}'
        )
    return f"{lack}; {remedy}"
