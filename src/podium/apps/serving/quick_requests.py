"""Quick requests: those answered in no time, on the event loop; all others take a thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from podium.apps.serving.body_types import PostrankRequest, RankRequest
from podium.apps.serving.postranking import CONTAINERS, ServedRules
from podium.apps.serving.reloaded_files import ServedState
from podium.apps.serving.rule_checking import has_answer
from podium.apps.serving.served_models import LoadedModel
from podium.postranking import Hide
from podium.rankers.models import Stumps
from podium.rankers.tree_model import Trees

INLINE_BODY_BYTES = 1 << 18
"""Size of a body that is decoded in no time."""
MAX_QUICK_QUERY_LENGTH = 200
"""Characters of a query that patterns are compared with in no time."""
MAX_QUICK_RULES = 50
"""Rules that are applied, or written as a file, in no time."""
MAX_QUICK_DOCUMENTS = 200
"""Documents of a list that soft rules order in no time."""
MAX_QUICK_FIELD_VALUES = 20_000
"""Values of lists and characters of texts that rules read in no time."""
MAX_QUICK_STUMPS = 10_000
"""Stumps of a model that scores documents in no time."""
MAX_QUICK_TREE_STEPS = 1_000_000
"""Steps down trees, of all documents together: about a millisecond."""
QUICK_MODEL_KINDS = ("linear", "stumps")
"""Kinds of models, beside small trees, that score any list in no time."""


def is_quick_rank(request: RankRequest, state: ServedState) -> bool:
    """Return whether documents are ranked in no time."""
    model = state.models.get(request.model)
    if model is None:
        return True  # to refuse it takes no time
    if request.user_class is not None:
        return False
    if not is_quick_model(model, request.n_documents, request.explain):
        return False
    return request.rules is False or (
        _has_quick_rules(request, state.rules, request.n_documents)
        and has_small_fields(request.documents or ())
    )


def is_quick_postrank(request: PostrankRequest, state: ServedState) -> bool:
    """Return whether rules are applied to a list in no time."""
    return _has_quick_rules(request, state.rules, len(request.documents)) and has_small_fields(
        request.documents
    )


def is_quick_rules_answer(served_rules: ServedRules) -> bool:
    """Return whether the service's rules are few, or written before."""
    return len(served_rules.rules or ()) <= MAX_QUICK_RULES or has_answer(served_rules)


def is_quick_model(model: LoadedModel, n_documents: int, explain: bool = False) -> bool:
    """Return whether a model scores so many documents in no time."""
    scoring_model = model.scoring_model
    if isinstance(scoring_model, Trees):
        n_steps = n_documents * int(scoring_model.arrays.depths.sum())
        return n_steps <= MAX_QUICK_TREE_STEPS and not explain
    if isinstance(scoring_model, Stumps) and len(scoring_model.alphas) > MAX_QUICK_STUMPS:
        return False
    return scoring_model.kind in QUICK_MODEL_KINDS


def _has_quick_rules(
    request: RankRequest | PostrankRequest, served_rules: ServedRules, n_documents: int
) -> bool:
    """Return whether rules take no time: rules of a request must be read, hard rules need a search."""
    if isinstance(request.rules, list) or len(request.query or "") > MAX_QUICK_QUERY_LENGTH:
        return False
    rules = served_rules.rules
    if rules is None:
        return True  # to refuse the request takes no time
    if len(rules) > MAX_QUICK_RULES or n_documents > MAX_QUICK_DOCUMENTS:
        return False
    return not any(rule.hard and not isinstance(rule, Hide) for rule in rules)


def has_small_fields(documents: Sequence[Any]) -> bool:
    """Return whether rules read a request's fields in no time: short texts, and lists of plain values."""
    size = 0.0
    for document in documents:
        fields = None if isinstance(document, str) else document.fields
        if fields:
            for value in fields.values():
                if isinstance(value, str):
                    size += len(value)
                elif isinstance(value, CONTAINERS):
                    size += _container_size(value)
    return size <= MAX_QUICK_FIELD_VALUES


def _container_size(value: Any) -> float:
    """Return the values and characters of a list or mapping; infinity if it has others in it."""
    parts = value.values() if isinstance(value, dict) else value
    if any(isinstance(part, CONTAINERS) for part in parts):
        return math.inf
    return len(value) + sum(len(part) for part in parts if isinstance(part, str))
